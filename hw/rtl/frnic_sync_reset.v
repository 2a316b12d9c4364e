// SPDX-License-Identifier: BSD-2-Clause
//
// Reset synchroniser: the reset begins at once, also without a clock, and ends on an edge of this clock, so that all flip-flops of the
// domain leave it in the same cycle.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_sync_reset #(
    // Flip-flops in the chain; the reset lasts at least as many cycles
    parameter STAGES = 4
) (
    // Clock of the domain that is reset
    input  wire clk,
    // Reset from anywhere, active high
    input  wire async_rst,
    // Reset of the domain, active high
    output wire rst
);

    initial begin
        if (STAGES < 2) begin
            $display("frnic_sync_reset: STAGES must be at least 2 (%m)");
            $finish;
        end
    end

    (* ASYNC_REG = "TRUE", SHREG_EXTRACT = "NO" *)
    reg [STAGES-1:0] chain_reg = {STAGES{1'b1}};

    assign rst = chain_reg[STAGES-1];

    always @(posedge clk or posedge async_rst) begin
        if (async_rst) begin
            chain_reg <= {STAGES{1'b1}};
        end else begin
            chain_reg <= {chain_reg[STAGES-2:0], 1'b0};
        end
    end

endmodule

`resetall
