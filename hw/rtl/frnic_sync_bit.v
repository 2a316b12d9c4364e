// SPDX-License-Identifier: BSD-2-Clause
//
// Synchroniser for one level that comes from another clock. Several bits of one number must not cross here: each settles by itself
// (Gray code, frnic_async_fifo, or frnic_sync_handshake for those).

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_sync_bit #(
    // Flip-flops in the chain
    parameter STAGES = 2,
    // Value after reset
    parameter [0:0] RESET = 1'b0
) (
    // Destination clock and its reset
    input  wire clk,
    input  wire rst,
    // Level from another clock, and the same in this one
    input  wire d,
    output wire q
);

    initial begin
        if (STAGES < 2) begin
            $display("frnic_sync_bit: STAGES must be at least 2 (%m)");
            $finish;
        end
    end

    (* ASYNC_REG = "TRUE", SHREG_EXTRACT = "NO" *)
    reg [STAGES-1:0] chain_reg = {STAGES{RESET}};

    assign q = chain_reg[STAGES-1];

    always @(posedge clk) begin
        chain_reg <= {chain_reg[STAGES-2:0], d};
        if (rst) begin
            chain_reg <= {STAGES{RESET}};
        end
    end

endmodule

`resetall
