// SPDX-License-Identifier: BSD-2-Clause
//
// Watches streams for the trigger unit (R1.12): a stream that stands still, valid without ready, for so many cycles is one stall, however long it lasts.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_stall #(
    // Streams, at most 15
    parameter STREAMS = 4
) (
    input  wire               clk,
    input  wire               rst,
    // Streams
    input  wire [STREAMS-1:0] valid,
    input  wire [STREAMS-1:0] ready,
    // Cycles that make a stall; 0: none do
    input  wire [31:0]        cycles,
    // Stalls that began to count in this cycle
    output reg  [3:0]         stalls
);

    reg [STREAMS*32-1:0] count_reg = {(STREAMS*32){1'b0}};
    reg [STREAMS-1:0] hit;
    integer i;

    always @* begin
        for (i = 0; i < STREAMS; i = i + 1) begin
            hit[i] = valid[i] && !ready[i] && count_reg[i*32 +: 32] + 1'b1 == cycles;
        end
    end

    always @(posedge clk) begin
        stalls <= 4'd0;
        for (i = 0; i < STREAMS; i = i + 1) begin
            if (!valid[i] || ready[i]) begin
                count_reg[i*32 +: 32] <= 32'd0;
            end else if (count_reg[i*32 +: 32] != 32'hffffffff) begin
                count_reg[i*32 +: 32] <= count_reg[i*32 +: 32] + 1'b1;
            end
        end
        stalls <= sum(hit);
        if (rst) begin
            count_reg <= {(STREAMS*32){1'b0}};
            stalls <= 4'd0;
        end
    end

    function [3:0] sum(input [STREAMS-1:0] bits);
        integer k;
        begin
            sum = 4'd0;
            for (k = 0; k < STREAMS; k = k + 1) begin
                sum = sum + {3'd0, bits[k]};
            end
        end
    endfunction

endmodule

`resetall
