// SPDX-License-Identifier: BSD-2-Clause
//
// frnic_tx_build with frnic_icrc_insert behind it: whole frames, as the model makes them.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module tb_top (
    input  wire         clk,
    input  wire         rst,
    input  wire [738:0] desc,
    input  wire         desc_valid,
    output wire         desc_ready,
    input  wire [511:0] s_axis_tdata,
    /* verilator lint_off UNUSED */
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tlast,
    /* verilator lint_on UNUSED */
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tuser,
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire [1:0]   m_axis_tuser
);

    wire [511:0] data;
    wire [63:0] keep;
    wire valid, ready, last;
    wire [1:0] user;

    frnic_tx_build dut (
        .clk(clk), .rst(rst), .desc(desc), .desc_valid(desc_valid), .desc_ready(desc_ready), .s_axis_tdata(s_axis_tdata),
        .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready), .s_axis_tuser(s_axis_tuser), .m_axis_tdata(data), .m_axis_tkeep(keep),
        .m_axis_tvalid(valid), .m_axis_tready(ready), .m_axis_tlast(last), .m_axis_tuser(user)
    );

    frnic_icrc_insert #(
        .USER_W(2)
    ) seal (
        .clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tkeep(keep), .s_axis_tvalid(valid), .s_axis_tready(ready), .s_axis_tlast(last),
        .s_axis_tuser(user), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready), .m_axis_tlast(m_axis_tlast), .m_axis_tuser(m_axis_tuser)
    );

    frnic_axis_assert #(.USER_W(2)) assert_m (
        .clk(clk), .rst(rst), .tdata(m_axis_tdata), .tkeep(m_axis_tkeep), .tvalid(m_axis_tvalid), .tready(m_axis_tready),
        .tlast(m_axis_tlast), .tuser(m_axis_tuser)
    );

endmodule

`resetall
