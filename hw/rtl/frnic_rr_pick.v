// SPDX-License-Identifier: BSD-2-Clause
//
// Chooses one of several requests: those below HIGH first, round robin within a class. Combinational but for the memory of the last choice.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rr_pick #(
    // Number of requests
    parameter PORTS = 4,
    // The first HIGH requests go before the others
    parameter HIGH = 0,
    // Bits of a request's number
    parameter SEL_W = PORTS > 1 ? $clog2(PORTS) : 1
) (
    input  wire             clk,
    input  wire             rst,
    // Requests
    input  wire [PORTS-1:0] req,
    // The choice; take makes it the last one served
    output reg  [SEL_W-1:0] sel,
    output wire             any,
    input  wire             take
);

    // Ports above the last one served in their class.
    reg [PORTS-1:0] prefer_reg = {PORTS{1'b0}};

    localparam [PORTS-1:0] ALL_HIGH = (1 << HIGH) - 1;
    wire [PORTS-1:0] high = ALL_HIGH;

    assign any = req != {PORTS{1'b0}};

    integer i;

    // Lowest number wins within a group; later groups override earlier ones.
    always @* begin
        sel = {SEL_W{1'b0}};
        for (i = PORTS - 1; i >= 0; i = i - 1) begin
            if (req[i]) begin
                sel = i[SEL_W-1:0];
            end
        end
        for (i = PORTS - 1; i >= 0; i = i - 1) begin
            if (req[i] && prefer_reg[i]) begin
                sel = i[SEL_W-1:0];
            end
        end
        if (HIGH != 0) begin
            for (i = PORTS - 1; i >= 0; i = i - 1) begin
                if (req[i] && high[i]) begin
                    sel = i[SEL_W-1:0];
                end
            end
            for (i = PORTS - 1; i >= 0; i = i - 1) begin
                if (req[i] && high[i] && prefer_reg[i]) begin
                    sel = i[SEL_W-1:0];
                end
            end
        end
    end

    always @(posedge clk) begin
        if (take && any) begin
            for (i = 0; i < PORTS; i = i + 1) begin
                if (high[i] == high[sel]) begin
                    prefer_reg[i] <= i[SEL_W-1:0] > sel;
                end
            end
        end
        if (rst) begin
            prefer_reg <= {PORTS{1'b0}};
        end
    end

endmodule

`resetall
