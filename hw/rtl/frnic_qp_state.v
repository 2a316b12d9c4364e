// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a QP's state for frnic_rx_class: one of the clients of the live words, which changes nothing.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_qp_state #(
    // log2 of the QPs
    parameter LOG_QPS = 12
) (
    input  wire               clk,
    input  wire               rst,
    // A pulse asks, a pulse answers; failing: the words cannot be read
    input  wire               st_rd_valid,
    input  wire [LOG_QPS-1:0] st_rd_index,
    output wire               st_rd_done,
    output wire [2:0]         st_rd_state,
    output wire               st_rd_failing,
    // Client of the live words
    output wire               lw_valid,
    output wire [23:0]        lw_qpn,
    input  wire               lw_done,
    input  wire               lw_err,
    /* verilator lint_off UNUSED */
    input  wire [511:0]       lw_rdata
    /* verilator lint_on UNUSED */
);

    reg busy_reg = 1'b0;
    reg [LOG_QPS-1:0] index_reg = {LOG_QPS{1'b0}};

    assign lw_valid = busy_reg || st_rd_valid;
    assign lw_qpn = {{(24-LOG_QPS){1'b0}}, busy_reg ? index_reg : st_rd_index};
    assign st_rd_done = lw_done;
    assign st_rd_state = lw_rdata[`FRNIC_CMD_QP_LIVE0_STATE_LSB - 1024 +: 3];
    assign st_rd_failing = lw_err;

    always @(posedge clk) begin
        if (st_rd_valid) begin
            busy_reg <= 1'b1;
            index_reg <= st_rd_index;
        end else if (lw_done) begin
            busy_reg <= 1'b0;
        end
        if (rst) begin
            busy_reg <= 1'b0;
        end
    end

endmodule

`resetall
