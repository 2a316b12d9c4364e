// SPDX-License-Identifier: BSD-2-Clause
//
// The QPs whose requester found the pool of packet buffers empty (R1.4): when a buffer comes back, all of them are woken; who finds none again waits
// again. Documentation/microarchitecture.md, 3.5.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_buf_wait #(
    // log2 of the QPs
    parameter LOG_QPS = 12
) (
    input  wire               clk,
    input  wire               rst,
    // Level: all is forgotten. Bits stay behind: a QP that is woken for nothing finds nothing to do
    input  wire               sweep,
    // Pulse: this QP waits
    input  wire               set_valid,
    input  wire [LOG_QPS-1:0] set_index,
    // Pulse: a buffer came back
    input  wire               back,
    // Each that waited before it, once
    output wire               wake_valid,
    input  wire               wake_ready,
    output wire [LOG_QPS-1:0] wake_index,
    output wire               idle
);

    reg wait_mem [0:(1 << LOG_QPS)-1];
    // Somebody waits whom the round that is under way may have passed
    reg any_reg = 1'b0;
    // A round begins where the last one ended: nobody is always the last.
    reg [LOG_QPS-1:0] at_reg = {LOG_QPS{1'b0}};
    reg [LOG_QPS:0] left_reg = {(LOG_QPS+1){1'b0}};

    wire looking = left_reg != {(LOG_QPS+1){1'b0}};
    wire waits = wait_mem[at_reg];
    // One write a cycle: who comes to wait goes first.
    wire pass = looking && !set_valid && (!waits || wake_ready);

    assign wake_valid = looking && !set_valid && waits;
    assign wake_index = at_reg;
    assign idle = !looking;

    always @(posedge clk) begin
        if (set_valid || pass) begin
            wait_mem[set_valid ? set_index : at_reg] <= set_valid;
        end
        if (pass) begin
            at_reg <= at_reg + 1'b1;
            left_reg <= left_reg - 1'b1;
        end
        if (set_valid) begin
            any_reg <= 1'b1;
        end
        if (back && (any_reg || set_valid)) begin
            any_reg <= 1'b0;
            left_reg <= {1'b1, {LOG_QPS{1'b0}}};
        end
        if (rst || sweep) begin
            any_reg <= 1'b0;
            left_reg <= {(LOG_QPS+1){1'b0}};
        end
    end

endmodule

`resetall
