// SPDX-License-Identifier: BSD-2-Clause
//
// From packet descriptor and payload to a whole frame: headers, iCRC, and a FIFO in which packets of failed payload reads vanish.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_roce_tx #(
    // log2 of the beats of the frame FIFO
    parameter LOG_DEPTH = 8,
    // Bits of a descriptor (TXD_W)
    parameter DESC_BITS = 739
) (
    input  wire                 clk,
    input  wire                 rst,
    // One descriptor a packet
    input  wire [DESC_BITS-1:0] desc,
    input  wire                 desc_valid,
    output wire                 desc_ready,
    // Payload, as frnic_tx_build wants it
    input  wire [511:0]         s_axis_tdata,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tuser,
    // Frames to frnic_net_tx
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    // A packet went on, or was dropped for its payload's sake
    output wire                 ev_sent,
    output wire                 ev_poisoned
);

    wire [511:0] b_data, i_data;
    wire [63:0] b_keep, i_keep;
    wire b_valid, b_ready, b_last, i_valid, i_ready, i_last;
    wire [1:0] b_user;
    /* verilator lint_off UNUSED */
    wire [1:0] i_user;
    wire f_user, f_full;
    /* verilator lint_on UNUSED */

    frnic_tx_build #(
        .DESC_BITS(DESC_BITS)
    ) build (
        .clk(clk), .rst(rst), .desc(desc), .desc_valid(desc_valid), .desc_ready(desc_ready), .s_axis_tdata(s_axis_tdata),
        .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready), .s_axis_tuser(s_axis_tuser), .m_axis_tdata(b_data), .m_axis_tkeep(b_keep),
        .m_axis_tvalid(b_valid), .m_axis_tready(b_ready), .m_axis_tlast(b_last), .m_axis_tuser(b_user)
    );

    frnic_icrc_insert #(
        .USER_W(2)
    ) seal (
        .clk(clk), .rst(rst), .s_axis_tdata(b_data), .s_axis_tkeep(b_keep), .s_axis_tvalid(b_valid), .s_axis_tready(b_ready), .s_axis_tlast(b_last),
        .s_axis_tuser(b_user), .m_axis_tdata(i_data), .m_axis_tkeep(i_keep), .m_axis_tvalid(i_valid), .m_axis_tready(i_ready),
        .m_axis_tlast(i_last), .m_axis_tuser(i_user)
    );

    frnic_axis_frame_fifo #(
        .LOG_DEPTH(LOG_DEPTH)
    ) fifo (
        .clk(clk), .rst(rst), .s_axis_tdata(i_data), .s_axis_tkeep(i_keep), .s_axis_tvalid(i_valid), .s_axis_tready(i_ready),
        .s_axis_tlast(i_last), .s_axis_tuser(1'b0), .s_bad(i_user[1]), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tlast(m_axis_tlast), .m_axis_tuser(f_user),
        .committed(ev_sent), .dropped_bad(ev_poisoned), .dropped_full(f_full)
    );

endmodule

`resetall
