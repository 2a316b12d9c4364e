// SPDX-License-Identifier: BSD-2-Clause
//
// frnic_eth with the DMA engines it is made for; the bench is host, MAC and doorbells.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module tb_top (
    input  wire         clk,
    input  wire         rst,
    input  wire         clear,
    output wire         idle,
    input  wire         rx_en,
    input  wire         tx_en,
    input  wire         slot_valid,
    output wire         slot_ready,
    input  wire [1:0]   slot_op,
    input  wire [383:0] slot_wdata,
    output wire         slot_done,
    output wire [511:0] slot_rdata,
    input  wire         db_valid,
    input  wire [7:0]   db_type,
    input  wire [23:0]  db_number,
    input  wire [23:0]  db_index,
    output wire         db_bad,
    output wire         ev_valid,
    input  wire         ev_ready,
    output wire [5:0]   ev_eqn,
    output wire [7:0]   ev_subtype,
    output wire [31:0]  ev_data,
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    input  wire [2:0]   s_axis_tuser,
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser,
    output wire         cnt_tx,
    output wire [13:0]  cnt_tx_bytes,
    output wire         cnt_tx_err,
    output wire         cnt_rx,
    output wire [13:0]  cnt_rx_bytes,
    output wire         cnt_nobuf,
    output wire [5:0]   m_axi_arid,
    output wire [63:0]  m_axi_araddr,
    output wire [7:0]   m_axi_arlen,
    output wire         m_axi_arvalid,
    input  wire         m_axi_arready,
    input  wire [5:0]   m_axi_rid,
    input  wire [511:0] m_axi_rdata,
    input  wire [1:0]   m_axi_rresp,
    input  wire         m_axi_rlast,
    input  wire         m_axi_rvalid,
    output wire         m_axi_rready,
    output wire [5:0]   m_axi_awid,
    output wire [63:0]  m_axi_awaddr,
    output wire [7:0]   m_axi_awlen,
    output wire         m_axi_awvalid,
    input  wire         m_axi_awready,
    output wire [511:0] m_axi_wdata,
    output wire [63:0]  m_axi_wstrb,
    output wire         m_axi_wlast,
    output wire         m_axi_wvalid,
    input  wire         m_axi_wready,
    input  wire [5:0]   m_axi_bid,
    input  wire [1:0]   m_axi_bresp,
    input  wire         m_axi_bvalid,
    output wire         m_axi_bready
);

    wire [2:0] rq_v, rq_r, rs_v, rs_r, c_v, c_r, d_v, d_r, st_v;
    wire [191:0] rq_a, c_a;
    wire [38:0] rq_l, c_l;
    wire [511:0] rs_d;
    wire [1535:0] d_d;
    wire rs_last, rs_err, st_err;
    /* verilator lint_off UNUSED */
    wire [7:0] rs_tag, st_tag, slot_status, ev_type;
    wire [23:0] ev_number;
    wire [2:0] arsize, awsize;
    wire [1:0] arburst, awburst;
    wire rbusy, wbusy, re, rt, we, wt, db_ready;
    /* verilator lint_on UNUSED */

    assign m_axis_tuser = 1'b0;

    frnic_eth dut (
        .clk(clk), .rst(rst), .clear(clear), .idle(idle), .rx_en(rx_en), .tx_en(tx_en),
        .slot_valid(slot_valid), .slot_ready(slot_ready), .slot_op(slot_op), .slot_wdata(slot_wdata), .slot_done(slot_done),
        .slot_status(slot_status), .slot_rdata(slot_rdata),
        .db_valid(db_valid), .db_ready(db_ready), .db_type(db_type), .db_number(db_number), .db_index(db_index), .db_bad(db_bad),
        .ev_valid(ev_valid), .ev_ready(ev_ready), .ev_eqn(ev_eqn), .ev_type(ev_type), .ev_subtype(ev_subtype), .ev_number(ev_number),
        .ev_data(ev_data),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
        .s_axis_tlast(s_axis_tlast), .s_axis_tuser(s_axis_tuser),
        .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready),
        .m_axis_tlast(m_axis_tlast),
        .rd_req_valid(rq_v), .rd_req_ready(rq_r), .rd_req_addr(rq_a), .rd_req_len(rq_l), .rd_resp_valid(rs_v), .rd_resp_ready(rs_r),
        .rd_resp_data(rs_d), .rd_resp_last(rs_last), .rd_resp_error(rs_err),
        .wr_cmd_valid(c_v), .wr_cmd_ready(c_r), .wr_cmd_addr(c_a), .wr_cmd_len(c_l), .wr_data_valid(d_v), .wr_data_ready(d_r),
        .wr_data(d_d), .wr_st_valid(st_v), .wr_st_error(st_err),
        .cnt_tx(cnt_tx), .cnt_tx_bytes(cnt_tx_bytes), .cnt_tx_err(cnt_tx_err), .cnt_rx(cnt_rx), .cnt_rx_bytes(cnt_rx_bytes),
        .cnt_nobuf(cnt_nobuf)
    );

    /* verilator lint_off UNUSED */
    wire ractive, wactive;
    /* verilator lint_on UNUSED */
    frnic_dma_rd #(
        .CLIENTS(3)
    ) rd (
        .clk(clk), .rst(rst), .req_valid(rq_v), .req_ready(rq_r), .req_addr(rq_a), .req_len(rq_l), .req_tag(24'd0),
        .resp_valid(rs_v), .resp_ready(rs_r), .resp_data(rs_d), .resp_last(rs_last), .resp_error(rs_err), .resp_tag(rs_tag),
        .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen), .m_axi_arsize(arsize), .m_axi_arburst(arburst),
        .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata),
        .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready),
        .active(ractive), .busy(rbusy), .ev_error(re), .ev_timeout(rt)
    );

    frnic_dma_wr #(
        .CLIENTS(3)
    ) wr (
        .clk(clk), .rst(rst), .cmd_valid(c_v), .cmd_ready(c_r), .cmd_addr(c_a), .cmd_len(c_l), .cmd_src_off(18'd0), .cmd_tag(24'd0),
        .data_valid(d_v), .data_ready(d_r), .data(d_d), .st_valid(st_v), .st_tag(st_tag), .st_error(st_err),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(awsize), .m_axi_awburst(awburst),
        .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready), .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid),
        .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid), .m_axi_bready(m_axi_bready), .active(wactive), .busy(wbusy), .ev_error(we), .ev_timeout(wt)
    );

    frnic_axis_assert assert_m (
        .clk(clk), .rst(rst), .tdata(m_axis_tdata), .tkeep(m_axis_tkeep), .tvalid(m_axis_tvalid), .tready(m_axis_tready),
        .tlast(m_axis_tlast), .tuser(1'b0)
    );

endmodule

`resetall
