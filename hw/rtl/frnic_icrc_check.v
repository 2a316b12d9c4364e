// SPDX-License-Identifier: BSD-2-Clause
//
// Checks the iCRC of each frame of a stream: the frame leaves 6 beats' time later, unchanged, with the verdict on its last beat. The frame ends
// with its iCRC; Ethernet padding has been cut off before (frnic_rx_parse). The verdict on other than RoCE v2 frames has no meaning.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_icrc_check #(
    // Bits of tuser that travel along
    parameter USER_W = 1
) (
    input  wire              clk,
    input  wire              rst,
    // Stream in
    input  wire [511:0]      s_axis_tdata,
    input  wire [63:0]       s_axis_tkeep,
    input  wire              s_axis_tvalid,
    output wire              s_axis_tready,
    input  wire              s_axis_tlast,
    input  wire [USER_W-1:0] s_axis_tuser,
    // Stream out; m_icrc_ok counts on the last beat
    output wire [511:0]      m_axis_tdata,
    output wire [63:0]       m_axis_tkeep,
    output wire              m_axis_tvalid,
    input  wire              m_axis_tready,
    output wire              m_axis_tlast,
    output wire [USER_W-1:0] m_axis_tuser,
    output wire              m_icrc_ok
);

    localparam WIDTH = USER_W + 1 + 64 + 512;
    // State behind any message that is followed by its own CRC (the polynomial's residue, before the final inversion).
    localparam [31:0] RESIDUE = 32'hdebb20e3;

    wire [31:0] state;
    wire state_valid;
    wire [WIDTH-1:0] end_word;
    wire end_valid;
    wire end_ready;
    wire end_last = end_word[512 + 64];
    wire ce = end_ready || !end_valid;

    assign s_axis_tready = ce && !rst;

    frnic_icrc_line #(.WIDTH(WIDTH)) line (
        .clk(clk), .rst(rst), .ce(ce), .s_valid(s_axis_tvalid), .s_word({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
        .m_valid(end_valid), .m_word(end_word)
    );

    frnic_icrc_core #(
        .TAIL(0)
    ) core (
        .clk(clk),
        .rst(rst),
        .ce(ce),
        .s_data(s_axis_tdata),
        .s_keep(s_axis_tkeep),
        .s_valid(s_axis_tvalid),
        .s_last(s_axis_tlast),
        .m_state(state),
        .m_valid(state_valid)
    );

    // The skid buffer makes ready a register: it drives the enable of all stages.
    frnic_axis_reg #(
        .DATA_W(512),
        .KEEP_W(64),
        .USER_W(USER_W + 1)
    ) out (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(end_word[511:0]),
        .s_axis_tkeep(end_word[512 +: 64]),
        .s_axis_tvalid(end_valid),
        .s_axis_tready(end_ready),
        .s_axis_tlast(end_last),
        .s_axis_tuser({end_word[WIDTH-1 -: USER_W], end_last && state_valid && state == RESIDUE}),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready),
        .m_axis_tlast(m_axis_tlast),
        .m_axis_tuser({m_axis_tuser, m_icrc_ok})
    );

endmodule

`resetall
