// SPDX-License-Identifier: BSD-2-Clause
//
// The three synchronisers side by side: bench only.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module tb_top (
    input  wire        s_clk,
    input  wire        m_clk,
    input  wire        async_rst,
    output wire        s_rst,
    output wire        m_rst,
    input  wire        level,
    output wire        level_q,
    input  wire [31:0] s_data,
    input  wire        s_valid,
    output wire        s_ready,
    output wire [31:0] m_data,
    output wire        m_valid
);

    frnic_sync_reset #(.STAGES(4)) reset_s (.clk(s_clk), .async_rst(async_rst), .rst(s_rst));
    frnic_sync_reset #(.STAGES(4)) reset_m (.clk(m_clk), .async_rst(async_rst), .rst(m_rst));
    frnic_sync_bit #(.STAGES(2), .RESET(1'b0)) sync_bit (.clk(m_clk), .rst(m_rst), .d(level), .q(level_q));
    frnic_sync_handshake #(.WIDTH(32)) handshake (
        .s_clk(s_clk), .s_rst(s_rst), .s_data(s_data), .s_valid(s_valid), .s_ready(s_ready),
        .m_clk(m_clk), .m_rst(m_rst), .m_data(m_data), .m_valid(m_valid)
    );

endmodule

`resetall
