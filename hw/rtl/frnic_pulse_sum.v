// SPDX-License-Identifier: BSD-2-Clause
//
// Pulses of several sources, one after the other on one wire: what counts them sees none twice and misses none.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_pulse_sum #(
    // Sources
    parameter SOURCES = 2,
    // Bits of what may be owed
    parameter OWED_W = 8
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [SOURCES-1:0] in,
    output wire               out,
    output wire               idle
);

    reg [OWED_W-1:0] owed_reg = {OWED_W{1'b0}};
    reg [OWED_W-1:0] sum;
    integer i;

    assign out = owed_reg != {OWED_W{1'b0}};
    assign idle = !out;

    always @* begin
        sum = owed_reg - {{(OWED_W-1){1'b0}}, out};
        for (i = 0; i < SOURCES; i = i + 1) begin
            sum = sum + {{(OWED_W-1){1'b0}}, in[i]};
        end
    end

    always @(posedge clk) begin
        owed_reg <= sum;
        if (rst) begin
            owed_reg <= {OWED_W{1'b0}};
        end
    end

endmodule

`resetall
