// SPDX-License-Identifier: BSD-2-Clause
//
// AXI-Stream between two clocks: frnic_async_fifo with the stream's signals packed into one word. Knows nothing of frames.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axis_async_fifo #(
    // Bits of tdata
    parameter DATA_W = 512,
    // Bits of tkeep, one a byte
    parameter KEEP_W = DATA_W / 8,
    // Bits of tuser
    parameter USER_W = 1,
    // log2 of the beats
    parameter LOG_DEPTH = 5
) (
    // Write side
    input  wire              s_clk,
    input  wire              s_rst,
    input  wire [DATA_W-1:0] s_axis_tdata,
    input  wire [KEEP_W-1:0] s_axis_tkeep,
    input  wire              s_axis_tvalid,
    output wire              s_axis_tready,
    input  wire              s_axis_tlast,
    input  wire [USER_W-1:0] s_axis_tuser,
    // Beats that the write side knows to be stored (never too few)
    output wire [LOG_DEPTH:0] s_level,
    // Read side
    input  wire              m_clk,
    input  wire              m_rst,
    output wire [DATA_W-1:0] m_axis_tdata,
    output wire [KEEP_W-1:0] m_axis_tkeep,
    output wire              m_axis_tvalid,
    input  wire              m_axis_tready,
    output wire              m_axis_tlast,
    output wire [USER_W-1:0] m_axis_tuser
);

    localparam WIDTH = USER_W + 1 + KEEP_W + DATA_W;

    frnic_async_fifo #(
        .WIDTH(WIDTH),
        .LOG_DEPTH(LOG_DEPTH)
    ) fifo (
        .s_clk(s_clk),
        .s_rst(s_rst),
        .s_data({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
        .s_valid(s_axis_tvalid),
        .s_ready(s_axis_tready),
        .s_level(s_level),
        .m_clk(m_clk),
        .m_rst(m_rst),
        .m_data({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
        .m_valid(m_axis_tvalid),
        .m_ready(m_axis_tready)
    );

`ifdef FRNIC_SIM
    frnic_axis_assert #(.DATA_W(DATA_W), .KEEP_W(KEEP_W), .USER_W(USER_W)) assert_s (
        .clk(s_clk), .rst(s_rst), .tdata(s_axis_tdata), .tkeep(s_axis_tkeep), .tvalid(s_axis_tvalid), .tready(s_axis_tready),
        .tlast(s_axis_tlast), .tuser(s_axis_tuser)
    );
    frnic_axis_assert #(.DATA_W(DATA_W), .KEEP_W(KEEP_W), .USER_W(USER_W)) assert_m (
        .clk(m_clk), .rst(m_rst), .tdata(m_axis_tdata), .tkeep(m_axis_tkeep), .tvalid(m_axis_tvalid), .tready(m_axis_tready),
        .tlast(m_axis_tlast), .tuser(m_axis_tuser)
    );
`endif

endmodule

`resetall
