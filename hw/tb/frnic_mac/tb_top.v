// SPDX-License-Identifier: BSD-2-Clause
//
// Both MAC sides, each with a CMAC's and a user's clock.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module tb_top (
    input  wire         clk,
    input  wire         rst,
    input  wire         cmac_clk,
    input  wire         cmac_rst,
    input  wire [511:0] rx_tdata,
    input  wire [63:0]  rx_tkeep,
    input  wire         rx_tvalid,
    input  wire         rx_tlast,
    input  wire         rx_tuser,
    output wire [511:0] rxm_tdata,
    output wire [63:0]  rxm_tkeep,
    output wire         rxm_tvalid,
    input  wire         rxm_tready,
    output wire         rxm_tlast,
    output wire         rxm_tuser,
    output wire         ev_lost,
    input  wire [511:0] tx_tdata,
    input  wire [63:0]  tx_tkeep,
    input  wire         tx_tvalid,
    output wire         tx_tready,
    input  wire         tx_tlast,
    output wire [511:0] txm_tdata,
    output wire [63:0]  txm_tkeep,
    output wire         txm_tvalid,
    input  wire         txm_tready,
    output wire         txm_tlast,
    output wire         txm_tuser
);

    frnic_mac_rx #(
        .LOG_DEPTH(4)
    ) rx (
        .cmac_clk(cmac_clk), .cmac_rst(cmac_rst), .s_axis_tdata(rx_tdata), .s_axis_tkeep(rx_tkeep), .s_axis_tvalid(rx_tvalid),
        .s_axis_tlast(rx_tlast), .s_axis_tuser(rx_tuser), .clk(clk), .rst(rst), .m_axis_tdata(rxm_tdata), .m_axis_tkeep(rxm_tkeep),
        .m_axis_tvalid(rxm_tvalid), .m_axis_tready(rxm_tready), .m_axis_tlast(rxm_tlast), .m_axis_tuser(rxm_tuser), .ev_lost(ev_lost)
    );

    frnic_mac_tx #(
        .LOG_DEPTH(5)
    ) tx (
        .clk(clk), .rst(rst), .s_axis_tdata(tx_tdata), .s_axis_tkeep(tx_tkeep), .s_axis_tvalid(tx_tvalid), .s_axis_tready(tx_tready),
        .s_axis_tlast(tx_tlast), .cmac_clk(cmac_clk), .cmac_rst(cmac_rst), .m_axis_tdata(txm_tdata), .m_axis_tkeep(txm_tkeep),
        .m_axis_tvalid(txm_tvalid), .m_axis_tready(txm_tready), .m_axis_tlast(txm_tlast), .m_axis_tuser(txm_tuser)
    );

    frnic_axis_assert assert_rx (
        .clk(clk), .rst(rst), .tdata(rxm_tdata), .tkeep(rxm_tkeep), .tvalid(rxm_tvalid), .tready(rxm_tready), .tlast(rxm_tlast),
        .tuser(rxm_tuser)
    );
    frnic_axis_assert assert_tx (
        .clk(cmac_clk), .rst(cmac_rst), .tdata(txm_tdata), .tkeep(txm_tkeep), .tvalid(txm_tvalid), .tready(txm_tready), .tlast(txm_tlast),
        .tuser(txm_tuser)
    );

endmodule

`resetall
