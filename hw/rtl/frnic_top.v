// SPDX-License-Identifier: BSD-2-Clause
//
// The card: everything between the PCIe bridge and the CMAC. Instances and wires only; what a board adds is bridge, CMAC, clocks and straps.
// Documentation/microarchitecture.md, 1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_top #(
    // log2 of the tables
    parameter LOG_QPS = 12,
    parameter LOG_CQS = 12,
    parameter LOG_EQS = 6,
    parameter LOG_SRQS = 10,
    parameter LOG_MRS = 16,
    parameter LOG_UARS = 10
) (
    // User clock, 250 MHz; reset from anywhere, active high
    input  wire         clk,
    input  wire         rst,
    // CMAC clocks, 322.265625 MHz
    input  wire         cmac_tx_clk,
    input  wire         cmac_rx_clk,
    // Device time in ns, from the board's clock
    input  wire [63:0]  time_ns,
    // Straps: MAC address (byte 0 in bits 7:0), bytes worth pushing, MSI-X vectors
    input  wire [47:0]  cfg_mac,
    input  wire [15:0]  cfg_push_bytes,
    input  wire [11:0]  cfg_msix_vectors,
    // Levels from anywhere: MSI-X enabled and not masked as a whole; link; MAC ready to send
    input  wire         msix_enable,
    input  wire         link_up,
    input  wire         mac_ready,
    // BAR0
    input  wire [15:0]  s_axil_awaddr,
    input  wire         s_axil_awvalid,
    output wire         s_axil_awready,
    input  wire [31:0]  s_axil_wdata,
    input  wire [3:0]   s_axil_wstrb,
    input  wire         s_axil_wvalid,
    output wire         s_axil_wready,
    output wire [1:0]   s_axil_bresp,
    output wire         s_axil_bvalid,
    input  wire         s_axil_bready,
    input  wire [15:0]  s_axil_araddr,
    input  wire         s_axil_arvalid,
    output wire         s_axil_arready,
    output wire [31:0]  s_axil_rdata,
    output wire [1:0]   s_axil_rresp,
    output wire         s_axil_rvalid,
    input  wire         s_axil_rready,
    // DMA
    output wire [5:0]   m_axi_awid,
    output wire [63:0]  m_axi_awaddr,
    output wire [7:0]   m_axi_awlen,
    output wire [2:0]   m_axi_awsize,
    output wire [1:0]   m_axi_awburst,
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
    output wire         m_axi_bready,
    output wire [5:0]   m_axi_arid,
    output wire [63:0]  m_axi_araddr,
    output wire [7:0]   m_axi_arlen,
    output wire [2:0]   m_axi_arsize,
    output wire [1:0]   m_axi_arburst,
    output wire         m_axi_arvalid,
    input  wire         m_axi_arready,
    input  wire [5:0]   m_axi_rid,
    input  wire [511:0] m_axi_rdata,
    input  wire [1:0]   m_axi_rresp,
    input  wire         m_axi_rlast,
    input  wire         m_axi_rvalid,
    output wire         m_axi_rready,
    // Doorbells: BAR2, writes
    input  wire [3:0]   s_axi_db_awid,
    input  wire [LOG_UARS+13:0] s_axi_db_awaddr,
    input  wire [7:0]   s_axi_db_awlen,
    input  wire         s_axi_db_awvalid,
    output wire         s_axi_db_awready,
    input  wire [511:0] s_axi_db_wdata,
    input  wire [63:0]  s_axi_db_wstrb,
    input  wire         s_axi_db_wlast,
    input  wire         s_axi_db_wvalid,
    output wire         s_axi_db_wready,
    output wire [3:0]   s_axi_db_bid,
    output wire [1:0]   s_axi_db_bresp,
    output wire         s_axi_db_bvalid,
    input  wire         s_axi_db_bready,
    input  wire [3:0]   s_axi_db_arid,
    input  wire [7:0]   s_axi_db_arlen,
    input  wire         s_axi_db_arvalid,
    output wire         s_axi_db_arready,
    output wire [3:0]   s_axi_db_rid,
    output wire [511:0] s_axi_db_rdata,
    output wire [1:0]   s_axi_db_rresp,
    output wire         s_axi_db_rlast,
    output wire         s_axi_db_rvalid,
    input  wire         s_axi_db_rready,
    // MSI-X requests
    output wire         msix_valid,
    input  wire         msix_ready,
    output wire [10:0]  msix_vector,
    // CMAC, transmit; tuser 0
    output wire [511:0] m_axis_tx_tdata,
    output wire [63:0]  m_axis_tx_tkeep,
    output wire         m_axis_tx_tvalid,
    input  wire         m_axis_tx_tready,
    output wire         m_axis_tx_tlast,
    output wire         m_axis_tx_tuser,
    // CMAC, receive; tuser on the last beat: bad frame
    input  wire [511:0] s_axis_rx_tdata,
    input  wire [63:0]  s_axis_rx_tkeep,
    input  wire         s_axis_rx_tvalid,
    input  wire         s_axis_rx_tlast,
    input  wire         s_axis_rx_tuser,
    // Fault injection (R7.3): contexts of QPs that are written now get wrong parity. Tied low on a board.
    input  wire         flip_qp,
    // Nothing is under way: the clocks could stand still until something comes in, or until timer_ns if timer_valid
    output wire         idle,
    output wire         timer_valid,
    output wire [63:0]  timer_ns
);

`include "frnic_hw.vh"

    // What the data path has so far
    localparam [31:0] FEATURES = 32'd1 << `FRNIC_REG_FEATURES_RC_LSB | 32'd1 << `FRNIC_REG_FEATURES_UC_LSB | 32'd1 << `FRNIC_REG_FEATURES_UD_LSB |
        32'd1 << `FRNIC_REG_FEATURES_SRQ_LSB | 32'd1 << `FRNIC_REG_FEATURES_PUSH_LSB | 32'd1 << `FRNIC_REG_FEATURES_VLAN_LSB |
        32'd1 << `FRNIC_REG_FEATURES_IPV6_LSB | 32'd1 << `FRNIC_REG_FEATURES_RESIZE_CQ_LSB | 32'd1 << `FRNIC_REG_FEATURES_TRIGGER_LSB |
        32'd1 << `FRNIC_REG_FEATURES_ETH_LSB | 32'd1 << `FRNIC_REG_FEATURES_READ_LSB | 32'd1 << `FRNIC_REG_FEATURES_ATOMIC_LSB |
        32'd1 << `FRNIC_REG_FEATURES_LOOPBACK_LSB | 32'd1 << `FRNIC_REG_FEATURES_MCAST_LSB |
        32'd1 << `FRNIC_REG_FEATURES_MIRROR_LSB;

    // Clients of the DMA engines; the first ones of each are small and go before payload
    localparam RD_CONTROL = 0, RD_CQ = 2, RD_WQE = 3, RD_RQ = 4, RD_XL_REQ = 5, RD_XL_RESP = 6, RD_ETH = 7, RD_RESP = 10, RD_REQ = 11,
        RD_REQ_WQE = 12, RDS = 13;
    localparam WR_CONTROL = 0, WR_EQ = 1, WR_CQ = 2, WR_ETH = 3, WR_RESP = 6, WR_ATOMIC = 7, WR_REQ = 8, WRS = 9;
    // Sources of events, units behind the doorbells
    localparam EV_CONTROL = 0, EV_CQ = 1, EV_ETH = 2, EV_RQ = 3, EVS = 4;
    localparam DB_CONTROL = 0, DB_EQ = 1, DB_CQ = 2, DB_ETH = 3, DBS = 4;
    // Readers of contexts, clients of the live words, sweeps outside frnic_control
    localparam QR_RQ = 0, QR_CLASS = 1, QR_RESP = 2, QR_REQ = 3, QRS = 6;
    localparam MR_XL_REQ = 0, MR_XL_RESP = 1, MRS = 2;
    localparam LW_RQ = 0, LW_CLASS = 1, LW_RESP = 2, LW_REQ = 4, LWS = 7;
    // Sources of completions
    localparam CQ_REQ = 0, CQ_RESP = 1, CQ_SOURCES = 2;
    localparam SWEEPS = 4;
    localparam LOG_CQE = 18;
    localparam TAG_W = 8;

    // ---- Resets, levels from other domains ----
    wire user_rst;
    wire tx_rst;
    wire rx_rst;
    wire link;
    wire mac;
    wire msix_on;

    frnic_sync_reset user_reset (.clk(clk), .async_rst(rst), .rst(user_rst));
    frnic_sync_reset tx_reset (.clk(cmac_tx_clk), .async_rst(rst), .rst(tx_rst));
    frnic_sync_reset rx_reset (.clk(cmac_rx_clk), .async_rst(rst), .rst(rx_rst));
    frnic_sync_bit link_sync (.clk(clk), .rst(user_rst), .d(link_up), .q(link));
    frnic_sync_bit mac_sync (.clk(clk), .rst(user_rst), .d(mac_ready), .q(mac));
    frnic_sync_bit msix_sync (.clk(clk), .rst(user_rst), .d(msix_enable), .q(msix_on));

    // ---- DMA engines ----
    wire [RDS-1:0] rd_req_valid;
    wire [RDS-1:0] rd_req_ready;
    wire [RDS*64-1:0] rd_req_addr;
    wire [RDS*13-1:0] rd_req_len;
    wire [RDS*TAG_W-1:0] rd_req_tag;
    wire [RDS-1:0] rd_resp_valid;
    wire [RDS-1:0] rd_resp_ready;
    wire [511:0] rd_resp_data;
    wire rd_resp_last;
    wire rd_resp_error;
    /* verilator lint_off UNUSED */
    wire [TAG_W-1:0] rd_resp_tag;
    /* verilator lint_on UNUSED */
    wire rd_busy, rd_active;
    wire rd_error;
    wire [WRS-1:0] wr_cmd_valid;
    wire [WRS-1:0] wr_cmd_ready;
    wire [WRS*64-1:0] wr_cmd_addr;
    wire [WRS*13-1:0] wr_cmd_len;
    wire [WRS*6-1:0] wr_cmd_src_off;
    wire [WRS-1:0] wr_data_valid;
    wire [WRS-1:0] wr_data_ready;
    wire [WRS*512-1:0] wr_data;
    wire [WRS-1:0] wr_st_valid;
    wire wr_st_error;
    wire wr_busy, wr_active;
    wire wr_error;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_dma_rd #(.CLIENTS(RDS), .HIGH(RD_ETH), .TAG_W(TAG_W)) dma_rd (
        .clk(clk), .rst(user_rst),
        .req_valid(rd_req_valid), .req_ready(rd_req_ready), .req_addr(rd_req_addr), .req_len(rd_req_len), .req_tag(rd_req_tag),
        .resp_valid(rd_resp_valid), .resp_ready(rd_resp_ready), .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error),
        .resp_tag(rd_resp_tag),
        .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen), .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst), .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready),
        .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid),
        .m_axi_rready(m_axi_rready), .active(rd_active), .busy(rd_busy), .ev_error(rd_error), .ev_timeout()
    );

    frnic_dma_wr #(.CLIENTS(WRS), .TAG_W(TAG_W)) dma_wr (
        .clk(clk), .rst(user_rst),
        .cmd_valid(wr_cmd_valid), .cmd_ready(wr_cmd_ready), .cmd_addr(wr_cmd_addr), .cmd_len(wr_cmd_len), .cmd_src_off(wr_cmd_src_off),
        .cmd_tag({(WRS*TAG_W){1'b0}}), .data_valid(wr_data_valid), .data_ready(wr_data_ready), .data(wr_data),
        .st_valid(wr_st_valid), .st_tag(), .st_error(wr_st_error),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready), .active(wr_active), .busy(wr_busy), .ev_error(wr_error), .ev_timeout()
    );
    /* verilator lint_on PINCONNECTEMPTY */

`ifdef FRNIC_SIM
    frnic_axi_assert #(.DATA_W(512), .ADDR_W(64), .ID_W(6)) assert_m_axi (
        .clk(clk), .rst(user_rst),
        .awid(m_axi_awid), .awaddr(m_axi_awaddr), .awlen(m_axi_awlen), .awsize(m_axi_awsize), .awburst(m_axi_awburst),
        .awvalid(m_axi_awvalid), .awready(m_axi_awready),
        .wdata(m_axi_wdata), .wstrb(m_axi_wstrb), .wlast(m_axi_wlast), .wvalid(m_axi_wvalid), .wready(m_axi_wready),
        .bid(m_axi_bid), .bresp(m_axi_bresp), .bvalid(m_axi_bvalid), .bready(m_axi_bready),
        .arid(m_axi_arid), .araddr(m_axi_araddr), .arlen(m_axi_arlen), .arsize(m_axi_arsize), .arburst(m_axi_arburst),
        .arvalid(m_axi_arvalid), .arready(m_axi_arready),
        .rid(m_axi_rid), .rdata(m_axi_rdata), .rresp(m_axi_rresp), .rlast(m_axi_rlast), .rvalid(m_axi_rvalid), .rready(m_axi_rready)
    );
    frnic_axis_assert #(.DATA_W(512), .KEEP_W(64), .USER_W(1)) assert_tx (
        .clk(cmac_tx_clk), .rst(tx_rst), .tdata(m_axis_tx_tdata), .tkeep(m_axis_tx_tkeep), .tvalid(m_axis_tx_tvalid), .tready(m_axis_tx_tready),
        .tlast(m_axis_tx_tlast), .tuser(m_axis_tx_tuser)
    );
`endif

    // ---- Doorbells ----
    wire refuse;
    wire sq_valid, sq_ready, rq_valid, rq_ready, eq_db_valid, eq_db_ready;
    wire cq_db_valid, cq_db_ready, eth_db_valid, eth_db_ready;
    wire [7:0] db_type;
    wire [23:0] db_number;
    wire [23:0] db_index;
    wire [7:0] db_flags;
    wire [15:0] db_uar;
    wire control_bad, control_denied, eq_bad, cq_bad, cq_denied, eth_bad;
    wire [DBS-1:0] unit_bad;
    wire [DBS-1:0] unit_denied;
    wire [3:0] db_dropped;
    wire dbs_req, dbs_valid;
    wire [15:0] dbs_addr;
    wire [31:0] dbs_data;
    wire db_idle;
    wire sq_push;
    wire [2:0] sq_units;
    wire [2559:0] sq_data;
    wire wqe_pushed;

    assign unit_bad[DB_CONTROL] = control_bad;
    assign unit_bad[DB_EQ] = eq_bad;
    assign unit_bad[DB_CQ] = cq_bad;
    assign unit_denied[DB_CONTROL] = control_denied;
    assign unit_denied[DB_CQ] = cq_denied;
    assign unit_bad[DB_ETH] = eth_bad;
    assign unit_denied[DB_ETH] = 1'b0;
    assign unit_denied[DB_EQ] = 1'b0;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_db #(.LOG_UARS(LOG_UARS), .UNITS(DBS)) db (
        .clk(clk), .rst(user_rst),
        .s_axi_db_awid(s_axi_db_awid), .s_axi_db_awaddr(s_axi_db_awaddr), .s_axi_db_awlen(s_axi_db_awlen), .s_axi_db_awvalid(s_axi_db_awvalid),
        .s_axi_db_awready(s_axi_db_awready), .s_axi_db_wdata(s_axi_db_wdata), .s_axi_db_wstrb(s_axi_db_wstrb), .s_axi_db_wlast(s_axi_db_wlast),
        .s_axi_db_wvalid(s_axi_db_wvalid), .s_axi_db_wready(s_axi_db_wready), .s_axi_db_bid(s_axi_db_bid), .s_axi_db_bresp(s_axi_db_bresp),
        .s_axi_db_bvalid(s_axi_db_bvalid), .s_axi_db_bready(s_axi_db_bready),
        .s_axi_db_arid(s_axi_db_arid), .s_axi_db_arlen(s_axi_db_arlen), .s_axi_db_arvalid(s_axi_db_arvalid),
        .s_axi_db_arready(s_axi_db_arready), .s_axi_db_rid(s_axi_db_rid), .s_axi_db_rdata(s_axi_db_rdata), .s_axi_db_rresp(s_axi_db_rresp),
        .s_axi_db_rlast(s_axi_db_rlast), .s_axi_db_rvalid(s_axi_db_rvalid), .s_axi_db_rready(s_axi_db_rready),
        .refuse(refuse), .sq_valid(sq_valid), .sq_ready(sq_ready), .rq_valid(rq_valid), .rq_ready(rq_ready),
        .cq_valid(cq_db_valid), .cq_ready(cq_db_ready), .eq_valid(eq_db_valid), .eq_ready(eq_db_ready),
        .eth_valid(eth_db_valid), .eth_ready(eth_db_ready),
        .db_type(db_type), .db_number(db_number), .db_index(db_index), .db_flags(db_flags), .db_uar(db_uar),
        .sq_push(sq_push), .sq_units(sq_units), .sq_data(sq_data), .unit_bad(unit_bad), .unit_denied(unit_denied), .unit_pushed(wqe_pushed), .ev_dropped(db_dropped),
        .rq_req(dbs_req), .rq_addr(dbs_addr), .rs_valid(dbs_valid), .rs_data(dbs_data), .idle(db_idle)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    // ---- Events and interrupts ----
    wire clear;
    wire [EVS-1:0] ev_valid;
    wire [EVS-1:0] ev_ready;
    wire ev_lost;
    wire recover_valid;
    wire [LOG_EQS-1:0] recover_eqn;
    wire [EVS*LOG_EQS-1:0] ev_eqn;
    wire [EVS*8-1:0] ev_type;
    wire [EVS*8-1:0] ev_subtype;
    wire [EVS*24-1:0] ev_number;
    wire [EVS*32-1:0] ev_data;
    wire eq_slot_valid, eq_slot_ready, eq_slot_done;
    wire [1:0] eq_slot_op;
    wire [LOG_EQS-1:0] eq_slot_index;
    wire [159:0] eq_slot_wdata;
    wire [7:0] eq_slot_status;
    wire [287:0] eq_slot_rdata;
    wire irq_valid, eq_cfg_valid;
    wire [LOG_EQS-1:0] irq_eqn;
    wire [LOG_EQS-1:0] eq_cfg_eqn;
    wire [10:0] eq_cfg_vector;
    wire [31:0] eq_cfg_mod_ns;
    wire [LOG_EQS-1:0] irqs_eqn;
    wire [31:0] irqs;
    wire [31:0] eq_overflow_set;
    wire eq_fatal_valid;
    wire [LOG_EQS-1:0] eq_fatal_eqn;
    wire eq_idle, msix_idle;
    wire cnt_eqe, cnt_eq_overflow, cnt_irq;

    frnic_eq #(.SOURCES(EVS), .LOG_EQS(LOG_EQS)) eq (
        .clk(clk), .rst(user_rst), .clear(clear),
        .ev_valid(ev_valid), .ev_ready(ev_ready), .ev_lost(ev_lost), .ev_eqn(ev_eqn), .ev_type(ev_type), .ev_subtype(ev_subtype),
        .ev_number(ev_number), .ev_data(ev_data),
        .db_valid(eq_db_valid), .db_ready(eq_db_ready), .db_number(db_number), .db_index(db_index), .db_flags(db_flags), .db_bad(eq_bad),
        .slot_valid(eq_slot_valid), .slot_ready(eq_slot_ready), .slot_op(eq_slot_op), .slot_index(eq_slot_index),
        .slot_wdata(eq_slot_wdata), .slot_done(eq_slot_done), .slot_status(eq_slot_status), .slot_rdata(eq_slot_rdata),
        .cmd_valid(wr_cmd_valid[WR_EQ]), .cmd_ready(wr_cmd_ready[WR_EQ]), .cmd_addr(wr_cmd_addr[WR_EQ*64 +: 64]),
        .cmd_len(wr_cmd_len[WR_EQ*13 +: 13]), .cmd_src_off(wr_cmd_src_off[WR_EQ*6 +: 6]), .data_valid(wr_data_valid[WR_EQ]),
        .data_ready(wr_data_ready[WR_EQ]), .data(wr_data[WR_EQ*512 +: 512]), .st_valid(wr_st_valid[WR_EQ]), .st_error(wr_st_error),
        .irq_valid(irq_valid), .irq_eqn(irq_eqn), .cfg_valid(eq_cfg_valid), .cfg_eqn(eq_cfg_eqn), .cfg_vector(eq_cfg_vector),
        .cfg_mod_ns(eq_cfg_mod_ns), .irqs_eqn(irqs_eqn), .irqs(irqs), .recover_valid(recover_valid), .recover_eqn(recover_eqn),
        .overflow_set(eq_overflow_set), .fatal_valid(eq_fatal_valid), .fatal_eqn(eq_fatal_eqn), .idle(eq_idle),
        .ev_eqe(cnt_eqe), .ev_overflow(cnt_eq_overflow)
    );

    frnic_msix #(.LOG_EQS(LOG_EQS)) msix (
        .clk(clk), .rst(user_rst), .clear(clear), .time_ns(time_ns), .irq_valid(irq_valid), .irq_eqn(irq_eqn), .cfg_valid(eq_cfg_valid),
        .cfg_eqn(eq_cfg_eqn), .cfg_vector(eq_cfg_vector), .cfg_mod_ns(eq_cfg_mod_ns), .irqs_eqn(irqs_eqn), .irqs(irqs), .msix_enable(msix_on),
        .msix_valid(msix_valid), .msix_ready(msix_ready), .msix_vector(msix_vector), .idle(msix_idle), .ev_irq(cnt_irq)
    );

    // ---- Completion queues ----
    wire sweep, cq_sweep_done;
    wire cq_slot_valid, cq_slot_ready, cq_slot_done;
    wire [1:0] cq_slot_op;
    wire [LOG_CQS-1:0] cq_slot_index;
    wire [319:0] cq_slot_wdata;
    wire [7:0] cq_slot_status;
    wire [639:0] cq_slot_rdata;
    wire cqerr_valid, cqerr_ready;
    wire [23:0] cqerr_cqn;
    wire cq_idle, cq_timer;
    wire cnt_cqe, cnt_cq_overflow, cq_parity;

    wire [CQ_SOURCES-1:0] cqe_valid;
    wire [CQ_SOURCES-1:0] cqe_ready;
    wire [CQ_SOURCES*24-1:0] cqe_cqn;
    wire [CQ_SOURCES*256-1:0] cqe_data;
    wire [CQ_SOURCES-1:0] cqe_solicited;

    assign cqe_solicited[CQ_REQ] = 1'b0;

    frnic_cq #(.SOURCES(CQ_SOURCES), .LOG_CQS(LOG_CQS), .LOG_EQS(LOG_EQS), .LOG_CQE(LOG_CQE)) cq (
        .clk(clk), .rst(user_rst), .sweep(sweep), .sweep_done(cq_sweep_done), .time_ns(time_ns),
        .cqe_valid(cqe_valid), .cqe_ready(cqe_ready), .cqe_cqn(cqe_cqn), .cqe_data(cqe_data), .cqe_solicited(cqe_solicited),
        .db_valid(cq_db_valid), .db_ready(cq_db_ready), .db_number(db_number), .db_index(db_index), .db_flags(db_flags), .db_uar(db_uar),
        .db_bad(cq_bad), .db_denied(cq_denied),
        .slot_valid(cq_slot_valid), .slot_ready(cq_slot_ready), .slot_op(cq_slot_op), .slot_index(cq_slot_index),
        .slot_wdata(cq_slot_wdata), .slot_done(cq_slot_done), .slot_status(cq_slot_status), .slot_rdata(cq_slot_rdata),
        .ev_valid(ev_valid[EV_CQ]), .ev_ready(ev_ready[EV_CQ]), .ev_lost(ev_lost), .ev_eqn(ev_eqn[EV_CQ*LOG_EQS +: LOG_EQS]),
        .ev_type(ev_type[EV_CQ*8 +: 8]), .ev_subtype(ev_subtype[EV_CQ*8 +: 8]), .ev_number(ev_number[EV_CQ*24 +: 24]),
        .ev_data(ev_data[EV_CQ*32 +: 32]), .recover_valid(recover_valid), .recover_eqn(recover_eqn),
        .req_valid(rd_req_valid[RD_CQ]), .req_ready(rd_req_ready[RD_CQ]), .req_addr(rd_req_addr[RD_CQ*64 +: 64]),
        .req_len(rd_req_len[RD_CQ*13 +: 13]), .resp_valid(rd_resp_valid[RD_CQ]), .resp_ready(rd_resp_ready[RD_CQ]),
        .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error),
        .cmd_valid(wr_cmd_valid[WR_CQ]), .cmd_ready(wr_cmd_ready[WR_CQ]), .cmd_addr(wr_cmd_addr[WR_CQ*64 +: 64]),
        .cmd_len(wr_cmd_len[WR_CQ*13 +: 13]), .cmd_src_off(wr_cmd_src_off[WR_CQ*6 +: 6]), .data_valid(wr_data_valid[WR_CQ]),
        .data_ready(wr_data_ready[WR_CQ]), .data(wr_data[WR_CQ*512 +: 512]), .st_valid(wr_st_valid[WR_CQ]), .st_error(wr_st_error),
        .cqerr_valid(cqerr_valid), .cqerr_ready(cqerr_ready), .cqerr_cqn(cqerr_cqn), .idle(cq_idle), .timer_wait(cq_timer),
        .ev_cqe(cnt_cqe), .ev_overflow(cnt_cq_overflow), .ev_parity(cq_parity)
    );

    // ---- Control plane ----
    wire ethq_slot_valid, ethq_slot_ready, ethq_slot_done;
    wire [1:0] ethq_slot_op;
    wire [383:0] ethq_slot_wdata;
    wire [7:0] ethq_slot_status;
    wire [511:0] ethq_slot_rdata;
    wire eth_idle;
    wire dev_enable;
    wire [4:0] eth_ctrl;
    wire [15:0] eth_maxframe;
    wire [63:0] eth_mcast;
    wire upd_valid;
    wire [1:0] upd_table;
    wire [7:0] upd_index;
    wire [255:0] upd_data;
    reg [68:0] cnt_pulse;
    wire [83:0] cnt_bytes;
    wire control_quiet;
    wire [8:0] used_mcasts;
    wire mcast_en = used_mcasts != 9'd0;
    wire mc_rd_valid, mc_rd_ready, mc_rd_done, mc_rd_live, mc_rd_err;
    wire [7:0] mc_rd_index;
    wire [255:0] mc_rd_data;

    // Contexts, live words
    wire [QRS-1:0] qp_rd_valid;
    wire [QRS-1:0] qp_rd_ready;
    wire [QRS*LOG_QPS-1:0] qp_rd_index;
    wire [QRS-1:0] qp_rd_done;
    wire qp_rd_live, qp_rd_err;
    wire [1023:0] qp_rd_data;
    wire [MRS-1:0] mr_rd_valid;
    wire [MRS-1:0] mr_rd_ready;
    wire [MRS*LOG_MRS-1:0] mr_rd_index;
    wire [MRS-1:0] mr_rd_done;
    wire mr_rd_live, mr_rd_err;
    wire [383:0] mr_rd_data;
    wire [LWS-1:0] lw_valid;
    wire [LWS*24-1:0] lw_qpn;
    wire [LWS*2-1:0] lw_op;
    wire [LWS*8-1:0] lw_mask;
    wire [LWS*8-1:0] lw_event;
    wire [LWS*4-1:0] lw_inc;
    wire [LWS-1:0] lw_buf;
    wire buf_back;
    wire [LWS*512-1:0] lw_data;
    wire [LWS-1:0] lw_done;
    wire lw_err;
    wire [511:0] lw_rdata;
    wire chg_valid, chg_clear, chg_resp, chg_req;
    wire [2:0] chg_state;
    wire rqdb_valid;
    wire [LOG_QPS-1:0] rqdb_index;
    wire psn_gap;
    wire [23:0] psn_gap_qpn;
    wire resp_idle, req_idle, resp_halted, req_halted, fence;
    wire granted_valid, granted_ready, resp_rx_valid, resp_rx_ready;
    wire [LOG_QPS-1:0] chg_index;
    wire sqdb_valid;
    wire [LOG_QPS-1:0] sqdb_index;
    wire srq_lock, srq_locked, srq_changed, srq_slot_valid, srq_slot_ready, srq_slot_write, srq_slot_done, srq_slot_live, srq_slot_err;
    wire [LOG_SRQS-1:0] srq_slot_index;
    wire [383:0] srq_slot_wdata;
    wire [383:0] srq_slot_rdata;
    wire mr_inv_valid;
    wire [LOG_MRS-1:0] mr_inv_index;
    wire sched_sweep_done, xl_req_sweep_done, xl_resp_sweep_done;
    wire sched_idle, wqe_idle, rq_fetch_idle, xl_req_idle, xl_resp_idle;
    wire cnt_rqe;
    // All is answered, and nobody has begun anything
    wire served_idle = wqe_idle && rq_fetch_idle && xl_req_idle && xl_resp_idle && resp_idle && req_idle;
    wire fetch_idle = sched_idle && served_idle;

    assign rd_req_tag[RD_WQE*TAG_W-1:0] = {(RD_WQE*TAG_W){1'b0}};
    assign rd_req_tag[RD_WQE*TAG_W+1 +: TAG_W-1] = {(TAG_W-1){1'b0}};
    assign rd_req_tag[RD_REQ_WQE*TAG_W-1:(RD_WQE+1)*TAG_W] = {((RD_REQ_WQE-RD_WQE-1)*TAG_W){1'b0}};
    assign rd_req_tag[RD_REQ_WQE*TAG_W+1 +: TAG_W-1] = {(TAG_W-1){1'b0}};

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_control #(
        .LOG_QPS(LOG_QPS), .LOG_CQS(LOG_CQS), .LOG_EQS(LOG_EQS), .LOG_SRQS(LOG_SRQS), .LOG_MRS(LOG_MRS), .LOG_UARS(LOG_UARS),
        .LOG_CQE(LOG_CQE), .FEATURES(FEATURES), .QP_READERS(QRS), .MR_READERS(MRS), .LW_CLIENTS(LWS), .SWEEPS(SWEEPS)
    ) control (
        .clk(clk), .rst(user_rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .time_ns(time_ns), .cfg_mac(cfg_mac), .cfg_push_bytes(cfg_push_bytes), .cfg_msix_vectors(cfg_msix_vectors),
        .link_up(link), .mac_ready(mac),
        .dev_enable(dev_enable), .eth_ctrl(eth_ctrl), .eth_maxframe(eth_maxframe), .eth_mcast(eth_mcast), .refuse(refuse),
        .used_mcasts(used_mcasts), .mc_rd_valid(mc_rd_valid), .mc_rd_ready(mc_rd_ready), .mc_rd_index(mc_rd_index), .mc_rd_done(mc_rd_done),
        .mc_rd_live(mc_rd_live), .mc_rd_err(mc_rd_err), .mc_rd_data(mc_rd_data),
        .drain(), .idle(!rd_active && !wr_active && db_idle && eq_idle && cq_idle && eth_idle && served_idle &&
            !roce_rx_tvalid && !mc_tvalid && mc_idle && !cl_tvalid), .clear(clear), .sweep(sweep),
        .sweep_done_in({xl_resp_sweep_done, xl_req_sweep_done, sched_sweep_done, cq_sweep_done}),
        .eq_slot_valid(eq_slot_valid), .eq_slot_ready(eq_slot_ready), .eq_slot_op(eq_slot_op), .eq_slot_index(eq_slot_index),
        .eq_slot_wdata(eq_slot_wdata), .eq_slot_done(eq_slot_done), .eq_slot_status(eq_slot_status), .eq_slot_rdata(eq_slot_rdata),
        .cq_slot_valid(cq_slot_valid), .cq_slot_ready(cq_slot_ready), .cq_slot_op(cq_slot_op), .cq_slot_index(cq_slot_index),
        .cq_slot_wdata(cq_slot_wdata), .cq_slot_done(cq_slot_done), .cq_slot_status(cq_slot_status), .cq_slot_rdata(cq_slot_rdata),
        .ethq_slot_valid(ethq_slot_valid), .ethq_slot_ready(ethq_slot_ready), .ethq_slot_op(ethq_slot_op),
        .ethq_slot_wdata(ethq_slot_wdata), .ethq_slot_done(ethq_slot_done), .ethq_slot_status(ethq_slot_status),
        .ethq_slot_rdata(ethq_slot_rdata),
        .rd_req_valid(rd_req_valid[RD_CONTROL +: 2]), .rd_req_ready(rd_req_ready[RD_CONTROL +: 2]),
        .rd_req_addr(rd_req_addr[RD_CONTROL*64 +: 128]), .rd_req_len(rd_req_len[RD_CONTROL*13 +: 26]),
        .rd_resp_valid(rd_resp_valid[RD_CONTROL +: 2]), .rd_resp_ready(rd_resp_ready[RD_CONTROL +: 2]), .rd_resp_data(rd_resp_data),
        .rd_resp_last(rd_resp_last), .rd_resp_error(rd_resp_error),
        .wr_cmd_valid(wr_cmd_valid[WR_CONTROL]), .wr_cmd_ready(wr_cmd_ready[WR_CONTROL]), .wr_cmd_addr(wr_cmd_addr[WR_CONTROL*64 +: 64]),
        .wr_cmd_len(wr_cmd_len[WR_CONTROL*13 +: 13]), .wr_cmd_src_off(wr_cmd_src_off[WR_CONTROL*6 +: 6]),
        .wr_data_valid(wr_data_valid[WR_CONTROL]), .wr_data_ready(wr_data_ready[WR_CONTROL]), .wr_data(wr_data[WR_CONTROL*512 +: 512]),
        .wr_st_valid(wr_st_valid[WR_CONTROL]), .wr_st_error(wr_st_error),
        .ev_valid(ev_valid[EV_CONTROL]), .ev_ready(ev_ready[EV_CONTROL]), .ev_eqn(ev_eqn[EV_CONTROL*LOG_EQS +: LOG_EQS]),
        .ev_type(ev_type[EV_CONTROL*8 +: 8]), .ev_subtype(ev_subtype[EV_CONTROL*8 +: 8]), .ev_number(ev_number[EV_CONTROL*24 +: 24]),
        .ev_data(ev_data[EV_CONTROL*32 +: 32]),
        .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .cnt_pulse(cnt_pulse), .cnt_bytes(cnt_bytes),
        .dbs_req(dbs_req), .dbs_addr(dbs_addr), .dbs_valid(dbs_valid), .dbs_data(dbs_data),
        .stall_valid({m_axi_rvalid, m_axi_arvalid, m_axi_wvalid, m_axi_awvalid}),
        .stall_ready({m_axi_rready, m_axi_arready, m_axi_wready, m_axi_awready}),
        .psn_gap(psn_gap), .psn_gap_qpn(psn_gap_qpn),
        .eq_overflow_set(eq_overflow_set), .eq_fatal_valid(eq_fatal_valid), .eq_fatal_eqn(eq_fatal_eqn), .parity_fatal(cq_parity),
        .qp_rd_valid(qp_rd_valid), .qp_rd_ready(qp_rd_ready), .qp_rd_index(qp_rd_index), .qp_rd_done(qp_rd_done), .qp_rd_live(qp_rd_live),
        .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .mr_rd_valid(mr_rd_valid), .mr_rd_ready(mr_rd_ready), .mr_rd_index(mr_rd_index), .mr_rd_done(mr_rd_done), .mr_rd_live(mr_rd_live),
        .mr_rd_err(mr_rd_err), .mr_rd_data(mr_rd_data),
        .lw_valid(lw_valid), .lw_qpn(lw_qpn), .lw_op(lw_op), .lw_mask(lw_mask), .lw_event(lw_event), .lw_inc(lw_inc), .lw_buf(lw_buf),
        .lw_data(lw_data), .lw_done(lw_done), .lw_err(lw_err), .lw_rdata(lw_rdata),
        .chg_valid(chg_valid), .chg_index(chg_index), .chg_state(chg_state), .chg_resp(chg_resp), .chg_req(chg_req),
        .chg_clear(chg_clear), .buf_back(buf_back),
        .sqdb_valid(sqdb_valid), .sqdb_index(sqdb_index), .rqdb_valid(rqdb_valid), .rqdb_index(rqdb_index),
        .srq_lock(srq_lock), .srq_locked(srq_locked), .srq_changed(srq_changed), .srq_valid(srq_slot_valid), .srq_ready(srq_slot_ready),
        .srq_write(srq_slot_write), .srq_index(srq_slot_index), .srq_wdata(srq_slot_wdata), .srq_done(srq_slot_done),
        .srq_live(srq_slot_live), .srq_err(srq_slot_err), .srq_rdata(srq_slot_rdata),
        .fence(fence), .fence_ok(resp_halted && req_halted && xl_req_idle && xl_resp_idle),
        .mr_inv_valid(mr_inv_valid), .mr_inv_index(mr_inv_index),
        .sq_valid(sq_valid), .sq_ready(sq_ready), .rq_valid(rq_valid), .rq_ready(rq_ready), .db_type(db_type), .db_number(db_number),
        .db_index(db_index), .db_uar(db_uar), .db_bad(control_bad), .db_denied(control_denied),
        .cqerr_valid(cqerr_valid), .cqerr_ready(cqerr_ready), .cqerr_cqn(cqerr_cqn), .flip_qp(flip_qp), .quiet(control_quiet)
    );

    // ---- Scheduler, WQEs, receive entries, translation ----
    wire sched_valid, sched_ready, done_valid, wake_valid, wake_ready;
    wire [LOG_QPS-1:0] sched_index;
    wire [LOG_QPS-1:0] done_index;
    wire [LOG_QPS-1:0] wake_index;
    wire g_valid, g_ready, g_listed, w_valid, w_ready, w_first, w_last, e_valid, bump_valid;
    wire [23:0] g_qpn;
    wire [23:0] g_index;
    wire [23:0] g_avail;
    wire [63:0] g_base;
    wire [4:0] g_log;
    wire [4:0] g_shift;
    wire [23:0] w_qpn;
    wire [23:0] w_index;
    wire [7:0] w_code;
    wire [511:0] w_data;
    wire [23:0] e_qpn;
    wire [LOG_QPS-1:0] bump_index;
    wire q_valid, q_ready, r_valid, r_ready, r_first, r_last, r_srq;
    wire [23:0] q_qpn;
    wire [2:0] r_result;
    wire [23:0] r_pd;
    wire [4:0] r_num;
    wire [511:0] r_line;
    frnic_sched #(.LOG_QPS(LOG_QPS)) sched (
        .clk(clk), .rst(user_rst), .sweep(sweep), .sweep_done(sched_sweep_done), .sqdb_valid(sqdb_valid), .sqdb_index(sqdb_index),
        .wake_valid(wake_valid), .wake_ready(wake_ready), .wake_index(wake_index), .sched_valid(granted_valid), .sched_ready(granted_ready),
        .sched_index(sched_index), .done_valid(done_valid), .done_index(done_index), .idle(sched_idle)
    );

    // A grant that was offered is taken back by a sweep alone.
    frnic_gate grant_gate (
        .clk(clk), .rst(user_rst || sweep), .close(fence || refuse), .s_valid(granted_valid), .s_ready(granted_ready), .s_last(1'b1),
        .m_valid(sched_valid), .m_ready(sched_ready)
    );

    frnic_wqe_fetch #(.LOG_QPS(LOG_QPS)) wqe_fetch (
        .clk(clk), .rst(user_rst),
        .g_valid(g_valid), .g_ready(g_ready), .g_qpn(g_qpn), .g_index(g_index), .g_avail(g_avail), .g_base(g_base), .g_log(g_log),
        .g_listed(g_listed), .g_shift(g_shift),
        .w_valid(w_valid), .w_ready(w_ready), .w_qpn(w_qpn), .w_index(w_index), .w_first(w_first), .w_last(w_last), .w_code(w_code),
        .w_data(w_data), .e_valid(e_valid), .e_qpn(e_qpn), .e_next(), .e_stale(), .bump_valid(bump_valid), .bump_index(bump_index),
        .pu_valid(sqdb_valid && sq_push), .pu_qpn(db_number), .pu_index(db_index - {21'd0, sq_units}), .pu_units(sq_units), .pu_data(sq_data),
        .req_valid(rd_req_valid[RD_WQE]), .req_ready(rd_req_ready[RD_WQE]), .req_addr(rd_req_addr[RD_WQE*64 +: 64]),
        .req_len(rd_req_len[RD_WQE*13 +: 13]), .req_tag(rd_req_tag[RD_WQE*TAG_W]), .resp_valid(rd_resp_valid[RD_WQE]),
        .resp_ready(rd_resp_ready[RD_WQE]), .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error),
        .resp_tag(rd_resp_tag[0]), .idle(wqe_idle), .ev_pushed(wqe_pushed)
    );

    assign lw_event[LW_RQ*8 +: 8] = 8'd0;
    assign lw_inc[LW_RQ*4 +: 4] = 4'd0;
    assign lw_buf[LW_RQ] = 1'b0;
    assign ev_type[EV_RQ*8 +: 8] = `FRNIC_EQE_TYPE_SRQ;
    assign ev_data[EV_RQ*32 +: 32] = 32'd0;

    frnic_rq_fetch #(.LOG_QPS(LOG_QPS), .LOG_SRQS(LOG_SRQS), .LOG_EQS(LOG_EQS)) rq_fetch (
        .clk(clk), .rst(user_rst),
        .q_valid(q_valid), .q_ready(q_ready), .q_qpn(q_qpn), .r_valid(r_valid), .r_ready(r_ready), .r_first(r_first), .r_last(r_last),
        .r_result(r_result), .r_srq(r_srq), .r_pd(r_pd), .r_tag(), .r_num(r_num), .r_length(), .r_line(r_line),
        .qp_rd_valid(qp_rd_valid[QR_RQ]), .qp_rd_ready(qp_rd_ready[QR_RQ]), .qp_rd_index(qp_rd_index[QR_RQ*LOG_QPS +: LOG_QPS]),
        .qp_rd_done(qp_rd_done[QR_RQ]), .qp_rd_live(qp_rd_live), .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .lw_valid(lw_valid[LW_RQ]), .lw_qpn(lw_qpn[LW_RQ*24 +: 24]), .lw_op(lw_op[LW_RQ*2 +: 2]), .lw_mask(lw_mask[LW_RQ*8 +: 8]),
        .lw_data(lw_data[LW_RQ*512 +: 512]), .lw_done(lw_done[LW_RQ]), .lw_err(lw_err), .lw_rdata(lw_rdata),
        .chg_valid(chg_valid), .chg_index(chg_index), .chg_clear(chg_clear),
        .srq_lock(srq_lock), .srq_locked(srq_locked), .srq_changed(srq_changed), .srq_valid(srq_slot_valid), .srq_ready(srq_slot_ready),
        .srq_write(srq_slot_write), .srq_index(srq_slot_index), .srq_wdata(srq_slot_wdata), .srq_done(srq_slot_done),
        .srq_live(srq_slot_live), .srq_err(srq_slot_err), .srq_rdata(srq_slot_rdata),
        .ev_valid(ev_valid[EV_RQ]), .ev_ready(ev_ready[EV_RQ]), .ev_eqn(ev_eqn[EV_RQ*LOG_EQS +: LOG_EQS]),
        .ev_subtype(ev_subtype[EV_RQ*8 +: 8]), .ev_number(ev_number[EV_RQ*24 +: 24]),
        .req_valid(rd_req_valid[RD_RQ]), .req_ready(rd_req_ready[RD_RQ]), .req_addr(rd_req_addr[RD_RQ*64 +: 64]),
        .req_len(rd_req_len[RD_RQ*13 +: 13]), .resp_valid(rd_resp_valid[RD_RQ]), .resp_ready(rd_resp_ready[RD_RQ]),
        .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error), .sweep(sweep), .idle(rq_fetch_idle), .ev_rqe(cnt_rqe)
    );

    wire xq_valid, xq_ready, xq_kernel, xq_check, xq_v_valid, xq_p_valid, xq_p_ready, xq_p_last, xq_p_error;
    wire [31:0] xq_key;
    wire [23:0] xq_pd;
    wire [23:0] xq_qpn;
    wire [7:0] xq_access;
    wire [63:0] xq_va;
    wire [31:0] xq_len;
    wire [7:0] xq_v_code;
    wire [63:0] xq_p_addr;
    wire [12:0] xq_p_len;

    frnic_xlate #(.LOG_MRS(LOG_MRS)) xlate_req (
        .clk(clk), .rst(user_rst), .sweep(sweep), .sweep_done(xl_req_sweep_done),
        .rq_valid(xq_valid), .rq_ready(xq_ready), .rq_key(xq_key), .rq_pd(xq_pd), .rq_qpn(xq_qpn), .rq_kernel(xq_kernel),
        .rq_access(xq_access), .rq_va(xq_va), .rq_len(xq_len), .rq_check(xq_check), .v_valid(xq_v_valid), .v_code(xq_v_code),
        .p_valid(xq_p_valid), .p_ready(xq_p_ready), .p_addr(xq_p_addr), .p_len(xq_p_len), .p_last(xq_p_last), .p_error(xq_p_error),
        .mr_rd_valid(mr_rd_valid[MR_XL_REQ]), .mr_rd_ready(mr_rd_ready[MR_XL_REQ]), .mr_rd_index(mr_rd_index[MR_XL_REQ*LOG_MRS +: LOG_MRS]),
        .mr_rd_done(mr_rd_done[MR_XL_REQ]), .mr_rd_live(mr_rd_live), .mr_rd_err(mr_rd_err), .mr_rd_data(mr_rd_data),
        .inv_valid(mr_inv_valid), .inv_index(mr_inv_index),
        .req_valid(rd_req_valid[RD_XL_REQ]), .req_ready(rd_req_ready[RD_XL_REQ]), .req_addr(rd_req_addr[RD_XL_REQ*64 +: 64]),
        .req_len(rd_req_len[RD_XL_REQ*13 +: 13]), .resp_valid(rd_resp_valid[RD_XL_REQ]), .resp_ready(rd_resp_ready[RD_XL_REQ]),
        .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error), .idle(xl_req_idle), .ev_hit(), .ev_miss()
    );

    wire xs_valid, xs_ready, xs_kernel, xs_check, xs_v_valid, xs_p_valid, xs_p_ready, xs_p_last, xs_p_error;
    wire [31:0] xs_key;
    wire [23:0] xs_pd;
    wire [23:0] xs_qpn;
    wire [7:0] xs_access;
    wire [63:0] xs_va;
    wire [31:0] xs_len;
    wire [7:0] xs_v_code;
    wire [63:0] xs_p_addr;
    wire [12:0] xs_p_len;

    frnic_xlate #(.LOG_MRS(LOG_MRS)) xlate_resp (
        .clk(clk), .rst(user_rst), .sweep(sweep), .sweep_done(xl_resp_sweep_done),
        .rq_valid(xs_valid), .rq_ready(xs_ready), .rq_key(xs_key), .rq_pd(xs_pd), .rq_qpn(xs_qpn), .rq_kernel(xs_kernel),
        .rq_access(xs_access), .rq_va(xs_va), .rq_len(xs_len), .rq_check(xs_check), .v_valid(xs_v_valid), .v_code(xs_v_code),
        .p_valid(xs_p_valid), .p_ready(xs_p_ready), .p_addr(xs_p_addr), .p_len(xs_p_len), .p_last(xs_p_last), .p_error(xs_p_error),
        .mr_rd_valid(mr_rd_valid[MR_XL_RESP]), .mr_rd_ready(mr_rd_ready[MR_XL_RESP]),
        .mr_rd_index(mr_rd_index[MR_XL_RESP*LOG_MRS +: LOG_MRS]),
        .mr_rd_done(mr_rd_done[MR_XL_RESP]), .mr_rd_live(mr_rd_live), .mr_rd_err(mr_rd_err), .mr_rd_data(mr_rd_data),
        .inv_valid(mr_inv_valid), .inv_index(mr_inv_index),
        .req_valid(rd_req_valid[RD_XL_RESP]), .req_ready(rd_req_ready[RD_XL_RESP]), .req_addr(rd_req_addr[RD_XL_RESP*64 +: 64]),
        .req_len(rd_req_len[RD_XL_RESP*13 +: 13]), .resp_valid(rd_resp_valid[RD_XL_RESP]), .resp_ready(rd_resp_ready[RD_XL_RESP]),
        .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error), .idle(xl_resp_idle), .ev_hit(), .ev_miss()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    // ---- From the MAC ----
`include "frnic_rx_meta.vh"
    wire [511:0] rx_tdata;
    wire [63:0] rx_tkeep;
    wire rx_tvalid, rx_tready, rx_tlast, rx_tuser;
    wire rx_lost;
    wire cnt_rx, cnt_rx_bad, cnt_rx_filtered, cnt_icrc, cnt_malformed, cnt_ecn, cnt_roce_rx;
    wire [13:0] cnt_rx_bytes;
    wire [13:0] cnt_roce_rx_bytes;
    wire rx_fifo_full, cnt_no_room;
    wire [511:0] eth_rx_tdata;
    wire [63:0] eth_rx_tkeep;
    wire eth_rx_tvalid, eth_rx_tready, eth_rx_tlast;
    wire [2:0] eth_rx_tuser;
    wire [511:0] roce_rx_tdata;
    wire [63:0] roce_rx_tkeep;
    wire roce_rx_tvalid, roce_rx_tready, roce_rx_tlast;
    wire [META_W-1:0] roce_rx_meta;
    wire roce_rx_meta_valid, roce_rx_meta_ready;
    wire loop_live = dev_enable && !refuse;
    wire live = loop_live && link;
    wire [511:0] loop_tdata;
    wire [63:0] loop_tkeep;
    wire loop_tvalid, loop_tready, loop_tlast;
    wire [1:0] loop_tuser;
    wire cnt_loop;

    frnic_mac_rx mac_rx (
        .cmac_clk(cmac_rx_clk), .cmac_rst(rx_rst), .s_axis_tdata(s_axis_rx_tdata), .s_axis_tkeep(s_axis_rx_tkeep),
        .s_axis_tvalid(s_axis_rx_tvalid), .s_axis_tlast(s_axis_rx_tlast), .s_axis_tuser(s_axis_rx_tuser),
        .clk(clk), .rst(user_rst), .m_axis_tdata(rx_tdata), .m_axis_tkeep(rx_tkeep), .m_axis_tvalid(rx_tvalid), .m_axis_tready(rx_tready),
        .m_axis_tlast(rx_tlast), .m_axis_tuser(rx_tuser), .ev_lost(rx_lost)
    );

    frnic_net_rx #(.META_BITS(META_W)) net_rx (
        .clk(clk), .rst(user_rst), .s_axis_tdata(rx_tdata), .s_axis_tkeep(rx_tkeep), .s_axis_tvalid(rx_tvalid), .s_axis_tready(rx_tready),
        .s_axis_tlast(rx_tlast), .s_axis_tuser(rx_tuser), .l_axis_tdata(loop_tdata), .l_axis_tkeep(loop_tkeep), .l_axis_tvalid(loop_tvalid),
        .l_axis_tready(loop_tready), .l_axis_tlast(loop_tlast), .l_axis_tuser(loop_tuser),
        .dev_enable(live), .loop_enable(loop_live), .eth_ctrl(eth_ctrl), .eth_maxframe(eth_maxframe), .eth_mcast(eth_mcast), .mcast_en(mcast_en),
        .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .eth_axis_tdata(eth_rx_tdata), .eth_axis_tkeep(eth_rx_tkeep), .eth_axis_tvalid(eth_rx_tvalid), .eth_axis_tready(eth_rx_tready),
        .eth_axis_tlast(eth_rx_tlast), .eth_axis_tuser(eth_rx_tuser),
        .roce_axis_tdata(roce_rx_tdata), .roce_axis_tkeep(roce_rx_tkeep), .roce_axis_tvalid(roce_rx_tvalid), .roce_axis_tready(roce_rx_tready),
        .roce_axis_tlast(roce_rx_tlast), .roce_meta(roce_rx_meta), .roce_meta_valid(roce_rx_meta_valid), .roce_meta_ready(roce_rx_meta_ready),
        .cnt_rx(cnt_rx), .cnt_rx_bytes(cnt_rx_bytes), .cnt_bad(cnt_rx_bad), .cnt_filtered(cnt_rx_filtered), .cnt_icrc(cnt_icrc),
        .cnt_malformed(cnt_malformed), .cnt_ecn(cnt_ecn), .cnt_roce(cnt_roce_rx), .cnt_roce_bytes(cnt_roce_rx_bytes),
        .cnt_fifo_full(rx_fifo_full)
    );

    // ---- Transport ----
    wire st_rd_valid, st_rd_done, st_rd_failing;
    wire [LOG_QPS-1:0] st_rd_index;
    wire [2:0] st_rd_state;
    wire [511:0] mc_tdata;
    wire [63:0] mc_tkeep;
    wire mc_tvalid, mc_tready, mc_tlast, mc_meta_valid, mc_meta_ready, mc_copy, mc_idle;
    wire [META_W-1:0] mc_meta;
    wire [511:0] cl_tdata;
    wire cl_tvalid, cl_tready, cl_tlast;
    wire [META_W-1:0] cl_meta;
    wire [1023:0] cl_conn;
    wire [1:0] cl_kind;
    wire cl_response = cl_kind == 2'd1;
    wire req_rx_tready;
    wire [511:0] resp_tx_tdata;
    wire [63:0] resp_tx_tkeep;
    wire resp_tx_tvalid, resp_tx_tready, resp_tx_tlast;
    wire [511:0] req_tx_tdata;
    wire [63:0] req_tx_tkeep;
    wire req_tx_tvalid, req_tx_tready, req_tx_tlast;
    wire cnt_unknown_qp, cnt_class_unknown, cnt_mcast_unknown, cnt_mcast, cnt_class_state, cnt_bad_addr, cnt_class_pkey, cnt_cnp;
    wire cnt_sends, cnt_writes, cnt_reads, cnt_dup, cnt_gap, cnt_resp_state, cnt_resp_pkey, cnt_bad_qkey, cnt_no_recv, cnt_uc_dropped;
    wire cnt_vanished, no_room_idle, cnt_atomics;
    wire cnt_ack_tx, cnt_rnr_tx, cnt_seq_tx, cnt_inv_tx, cnt_access_tx, cnt_op_tx, cnt_resp_pkt;
    wire [13:0] cnt_resp_bytes;
    wire cnt_wqe, cnt_wqe_err, cnt_req_pkt, cnt_retrans, cnt_ack_rx, cnt_rnr_rx, cnt_seq_rx, cnt_inv_rx, cnt_access_rx, cnt_op_rx, cnt_timeout,
        cnt_implied, cnt_retry_exc, cnt_rnr_exc, cnt_stale;
    wire [13:0] cnt_req_bytes;
    wire cnt_roce_tx, cnt_bad_state, cnt_bad_pkey, cnt_eth_rx_bad, sums_idle0, sums_idle1, sums_idle2, sums_idle3, sums_idle4;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_rx_mcast #(.META_BITS(META_W)) rx_mcast (
        .clk(clk), .rst(user_rst), .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .used(used_mcasts), .mc_rd_valid(mc_rd_valid), .mc_rd_ready(mc_rd_ready), .mc_rd_index(mc_rd_index), .mc_rd_done(mc_rd_done),
        .mc_rd_live(mc_rd_live), .mc_rd_err(mc_rd_err), .mc_rd_data(mc_rd_data),
        .s_axis_tdata(roce_rx_tdata), .s_axis_tkeep(roce_rx_tkeep), .s_axis_tvalid(roce_rx_tvalid), .s_axis_tready(roce_rx_tready),
        .s_axis_tlast(roce_rx_tlast), .s_meta(roce_rx_meta), .s_meta_valid(roce_rx_meta_valid), .s_meta_ready(roce_rx_meta_ready),
        .m_axis_tdata(mc_tdata), .m_axis_tkeep(mc_tkeep), .m_axis_tvalid(mc_tvalid), .m_axis_tready(mc_tready), .m_axis_tlast(mc_tlast),
        .m_meta(mc_meta), .m_meta_valid(mc_meta_valid), .m_meta_ready(mc_meta_ready), .m_mcast(mc_copy), .idle(mc_idle),
        .cnt_unknown(cnt_mcast_unknown)
    );

    frnic_rx_class #(.LOG_QPS(LOG_QPS), .META_BITS(META_W)) rx_class (
        .clk(clk), .rst(user_rst), .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .s_axis_tdata(mc_tdata), .s_axis_tkeep(mc_tkeep), .s_axis_tvalid(mc_tvalid), .s_axis_tready(mc_tready),
        .s_axis_tlast(mc_tlast), .s_meta(mc_meta), .s_meta_valid(mc_meta_valid), .s_meta_ready(mc_meta_ready), .s_mcast(mc_copy),
        .qp_rd_valid(qp_rd_valid[QR_CLASS]), .qp_rd_ready(qp_rd_ready[QR_CLASS]), .qp_rd_index(qp_rd_index[QR_CLASS*LOG_QPS +: LOG_QPS]),
        .qp_rd_done(qp_rd_done[QR_CLASS]), .qp_rd_live(qp_rd_live), .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .st_rd_valid(st_rd_valid), .st_rd_index(st_rd_index), .st_rd_done(st_rd_done), .st_rd_state(st_rd_state), .st_rd_failing(st_rd_failing),
        .m_axis_tdata(cl_tdata), .m_axis_tkeep(), .m_axis_tvalid(cl_tvalid), .m_axis_tready(cl_tready), .m_axis_tlast(cl_tlast),
        .m_meta(cl_meta), .m_conn(cl_conn), .m_kind(cl_kind), .cnt_unknown_qp(cnt_class_unknown), .cnt_bad_state(cnt_class_state),
        .cnt_bad_addr(cnt_bad_addr), .cnt_bad_pkey(cnt_class_pkey), .cnt_cnp(cnt_cnp), .cnt_mcast(cnt_mcast)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    assign lw_op[LW_CLASS*2 +: 2] = 2'd0;
    assign lw_mask[LW_CLASS*8 +: 8] = 8'd0;
    assign lw_event[LW_CLASS*8 +: 8] = 8'd0;
    assign lw_inc[LW_CLASS*4 +: 4] = 4'd0;
    assign lw_buf[LW_CLASS] = 1'b0;
    assign lw_data[LW_CLASS*512 +: 512] = 512'd0;

    frnic_qp_state #(.LOG_QPS(LOG_QPS)) qp_state (
        .clk(clk), .rst(user_rst), .st_rd_valid(st_rd_valid), .st_rd_index(st_rd_index), .st_rd_done(st_rd_done), .st_rd_state(st_rd_state),
        .st_rd_failing(st_rd_failing), .lw_valid(lw_valid[LW_CLASS]), .lw_qpn(lw_qpn[LW_CLASS*24 +: 24]), .lw_done(lw_done[LW_CLASS]),
        .lw_err(lw_err), .lw_rdata(lw_rdata)
    );

    // Also the answers: one that began once the requester had been seen at rest would write the data of a READ behind the command.
    wire gated_tvalid;
    assign resp_rx_valid = gated_tvalid && !cl_response;

    frnic_gate rx_gate (
        .clk(clk), .rst(user_rst), .close(fence), .s_valid(cl_tvalid), .s_ready(cl_tready), .s_last(cl_tlast),
        .m_valid(gated_tvalid), .m_ready(cl_response ? req_rx_tready : resp_rx_ready)
    );

    frnic_resp #(.LOG_QPS(LOG_QPS), .META_BITS(META_W)) resp (
        .clk(clk), .rst(user_rst), .s_axis_tdata(cl_tdata), .s_axis_tvalid(resp_rx_valid), .s_axis_tready(resp_rx_ready),
        .s_axis_tlast(cl_tlast), .s_meta(cl_meta), .s_conn(cl_conn),
        .qp_rd_valid(qp_rd_valid[QR_RESP]), .qp_rd_ready(qp_rd_ready[QR_RESP]), .qp_rd_index(qp_rd_index[QR_RESP*LOG_QPS +: LOG_QPS]),
        .qp_rd_done(qp_rd_done[QR_RESP]), .qp_rd_live(qp_rd_live), .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .lw_valid(lw_valid[LW_RESP +: 2]), .lw_qpn(lw_qpn[LW_RESP*24 +: 48]), .lw_op(lw_op[LW_RESP*2 +: 4]), .lw_mask(lw_mask[LW_RESP*8 +: 16]),
        .lw_event(lw_event[LW_RESP*8 +: 16]), .lw_inc(lw_inc[LW_RESP*4 +: 8]), .lw_buf(lw_buf[LW_RESP +: 2]),
        .lw_data(lw_data[LW_RESP*512 +: 1024]),
        .lw_done(lw_done[LW_RESP +: 2]), .lw_err(lw_err), .lw_rdata(lw_rdata),
        .chg_valid(chg_valid), .chg_index(chg_index), .chg_state(chg_state), .chg_resp(chg_resp), .chg_clear(chg_clear),
        .rqdb_valid(rqdb_valid), .rqdb_index(rqdb_index),
        .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .q_valid(q_valid), .q_ready(q_ready), .q_qpn(q_qpn), .r_valid(r_valid), .r_ready(r_ready), .r_first(r_first), .r_last(r_last),
        .r_result(r_result), .r_srq(r_srq), .r_pd(r_pd), .r_num(r_num), .r_line(r_line),
        .xl_valid(xs_valid), .xl_ready(xs_ready), .xl_key(xs_key), .xl_pd(xs_pd), .xl_qpn(xs_qpn), .xl_kernel(xs_kernel), .xl_access(xs_access),
        .xl_va(xs_va), .xl_len(xs_len), .xl_check(xs_check), .v_valid(xs_v_valid), .v_code(xs_v_code), .p_valid(xs_p_valid),
        .p_ready(xs_p_ready), .p_addr(xs_p_addr), .p_len(xs_p_len), .p_last(xs_p_last), .p_error(xs_p_error),
        .wr_cmd_valid(wr_cmd_valid[WR_RESP]), .wr_cmd_ready(wr_cmd_ready[WR_RESP]), .wr_cmd_addr(wr_cmd_addr[WR_RESP*64 +: 64]),
        .wr_cmd_len(wr_cmd_len[WR_RESP*13 +: 13]), .wr_cmd_src_off(wr_cmd_src_off[WR_RESP*6 +: 6]), .wr_data_valid(wr_data_valid[WR_RESP]),
        .wr_data_ready(wr_data_ready[WR_RESP]), .wr_data(wr_data[WR_RESP*512 +: 512]), .wr_st_valid(wr_st_valid[WR_RESP]),
        .wr_st_error(wr_st_error),
        .at_cmd_valid(wr_cmd_valid[WR_ATOMIC]), .at_cmd_ready(wr_cmd_ready[WR_ATOMIC]), .at_cmd_addr(wr_cmd_addr[WR_ATOMIC*64 +: 64]),
        .at_cmd_len(wr_cmd_len[WR_ATOMIC*13 +: 13]), .at_cmd_src_off(wr_cmd_src_off[WR_ATOMIC*6 +: 6]), .at_data_valid(wr_data_valid[WR_ATOMIC]),
        .at_data_ready(wr_data_ready[WR_ATOMIC]), .at_data(wr_data[WR_ATOMIC*512 +: 512]), .at_st_valid(wr_st_valid[WR_ATOMIC]),
        .at_st_error(wr_st_error),
        .req_valid(rd_req_valid[RD_RESP]), .req_ready(rd_req_ready[RD_RESP]), .req_addr(rd_req_addr[RD_RESP*64 +: 64]),
        .req_len(rd_req_len[RD_RESP*13 +: 13]), .resp_valid(rd_resp_valid[RD_RESP]), .resp_ready(rd_resp_ready[RD_RESP]),
        .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error),
        .cqe_valid(cqe_valid[CQ_RESP]), .cqe_ready(cqe_ready[CQ_RESP]), .cqe_cqn(cqe_cqn[CQ_RESP*24 +: 24]),
        .cqe_data(cqe_data[CQ_RESP*256 +: 256]), .cqe_solicited(cqe_solicited[CQ_RESP]),
        .m_axis_tdata(resp_tx_tdata), .m_axis_tkeep(resp_tx_tkeep), .m_axis_tvalid(resp_tx_tvalid), .m_axis_tready(resp_tx_tready),
        .m_axis_tlast(resp_tx_tlast), .sweep(sweep), .fence(fence), .halted(resp_halted), .idle(resp_idle), .psn_gap(psn_gap), .psn_gap_qpn(psn_gap_qpn),
        .cnt_sends(cnt_sends), .cnt_writes(cnt_writes), .cnt_reads(cnt_reads), .cnt_dup(cnt_dup), .cnt_gap(cnt_gap),
        .cnt_bad_state(cnt_resp_state), .cnt_bad_pkey(cnt_resp_pkey), .cnt_bad_qkey(cnt_bad_qkey), .cnt_no_recv(cnt_no_recv),
        .cnt_vanished(cnt_vanished), .cnt_uc_dropped(cnt_uc_dropped), .cnt_ack(cnt_ack_tx), .cnt_rnr(cnt_rnr_tx), .cnt_seq(cnt_seq_tx), .cnt_inv(cnt_inv_tx),
        .cnt_access(cnt_access_tx), .cnt_op(cnt_op_tx), .cnt_atomics(cnt_atomics), .cnt_tx(cnt_resp_pkt), .cnt_tx_bytes(cnt_resp_bytes)
    );

    frnic_req #(.LOG_QPS(LOG_QPS), .META_BITS(META_W)) req (
        .clk(clk), .rst(user_rst), .sweep(sweep), .fence(fence || refuse), .halted(req_halted), .time_ns(time_ns), .eth_maxframe(eth_maxframe),
        .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .sched_valid(sched_valid), .sched_ready(sched_ready), .sched_index(sched_index), .done_valid(done_valid), .done_index(done_index),
        .wake_valid(wake_valid), .wake_ready(wake_ready), .wake_index(wake_index),
        .g_valid(g_valid), .g_ready(g_ready), .g_qpn(g_qpn), .g_index(g_index), .g_avail(g_avail), .g_base(g_base), .g_log(g_log),
        .g_listed(g_listed), .g_shift(g_shift), .w_valid(w_valid), .w_ready(w_ready), .w_qpn(w_qpn), .w_index(w_index), .w_first(w_first),
        .w_last(w_last), .w_code(w_code), .w_data(w_data), .e_valid(e_valid), .e_qpn(e_qpn), .bump_valid(bump_valid), .bump_index(bump_index),
        .qp_rd_valid(qp_rd_valid[QR_REQ +: 3]), .qp_rd_ready(qp_rd_ready[QR_REQ +: 3]), .qp_rd_index(qp_rd_index[QR_REQ*LOG_QPS +: 3*LOG_QPS]),
        .qp_rd_done(qp_rd_done[QR_REQ +: 3]), .qp_rd_live(qp_rd_live), .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .lw_valid(lw_valid[LW_REQ +: 3]), .lw_qpn(lw_qpn[LW_REQ*24 +: 72]), .lw_op(lw_op[LW_REQ*2 +: 6]), .lw_mask(lw_mask[LW_REQ*8 +: 24]),
        .lw_event(lw_event[LW_REQ*8 +: 24]), .lw_inc(lw_inc[LW_REQ*4 +: 12]), .lw_buf(lw_buf[LW_REQ +: 3]),
        .lw_data(lw_data[LW_REQ*512 +: 1536]), .lw_done(lw_done[LW_REQ +: 3]), .lw_rdata(lw_rdata), .buf_back(buf_back),
        .chg_valid(chg_valid), .chg_index(chg_index), .chg_state(chg_state), .chg_req(chg_req), .chg_clear(chg_clear),
        .xl_valid(xq_valid), .xl_ready(xq_ready), .xl_key(xq_key), .xl_pd(xq_pd), .xl_qpn(xq_qpn), .xl_kernel(xq_kernel), .xl_access(xq_access),
        .xl_va(xq_va), .xl_len(xq_len), .xl_check(xq_check), .xl_v_valid(xq_v_valid), .xl_v_code(xq_v_code), .xl_p_valid(xq_p_valid),
        .xl_p_ready(xq_p_ready), .xl_p_addr(xq_p_addr), .xl_p_len(xq_p_len), .xl_p_last(xq_p_last), .xl_p_error(xq_p_error),
        .req_valid(rd_req_valid[RD_REQ]), .req_ready(rd_req_ready[RD_REQ]), .req_addr(rd_req_addr[RD_REQ*64 +: 64]),
        .req_len(rd_req_len[RD_REQ*13 +: 13]), .resp_valid(rd_resp_valid[RD_REQ]), .resp_ready(rd_resp_ready[RD_REQ]),
        .resp_data(rd_resp_data), .resp_last(rd_resp_last), .resp_error(rd_resp_error),
        .wqe_req_valid(rd_req_valid[RD_REQ_WQE]), .wqe_req_ready(rd_req_ready[RD_REQ_WQE]), .wqe_req_addr(rd_req_addr[RD_REQ_WQE*64 +: 64]),
        .wqe_req_len(rd_req_len[RD_REQ_WQE*13 +: 13]), .wqe_req_tag(rd_req_tag[RD_REQ_WQE*TAG_W]), .wqe_resp_valid(rd_resp_valid[RD_REQ_WQE]),
        .wqe_resp_ready(rd_resp_ready[RD_REQ_WQE]), .resp_tag(rd_resp_tag[0]),
        .wr_cmd_valid(wr_cmd_valid[WR_REQ]), .wr_cmd_ready(wr_cmd_ready[WR_REQ]), .wr_cmd_addr(wr_cmd_addr[WR_REQ*64 +: 64]),
        .wr_cmd_len(wr_cmd_len[WR_REQ*13 +: 13]), .wr_cmd_src_off(wr_cmd_src_off[WR_REQ*6 +: 6]), .wr_data_valid(wr_data_valid[WR_REQ]),
        .wr_data_ready(wr_data_ready[WR_REQ]), .wr_data(wr_data[WR_REQ*512 +: 512]), .wr_st_valid(wr_st_valid[WR_REQ]),
        .wr_st_error(wr_st_error),
        .s_axis_tdata(cl_tdata), .s_axis_tvalid(gated_tvalid && cl_response), .s_axis_tready(req_rx_tready), .s_axis_tlast(cl_tlast),
        .s_meta(cl_meta), .s_conn(cl_conn),
        .m_axis_tdata(req_tx_tdata), .m_axis_tkeep(req_tx_tkeep), .m_axis_tvalid(req_tx_tvalid), .m_axis_tready(req_tx_tready),
        .m_axis_tlast(req_tx_tlast),
        .cqe_valid(cqe_valid[CQ_REQ]), .cqe_ready(cqe_ready[CQ_REQ]), .cqe_cqn(cqe_cqn[CQ_REQ*24 +: 24]), .cqe_data(cqe_data[CQ_REQ*256 +: 256]),
        .idle(req_idle), .timer_valid(timer_valid), .timer_ns(timer_ns),
        .cnt_wqe(cnt_wqe), .cnt_wqe_err(cnt_wqe_err), .cnt_pkt(cnt_req_pkt), .cnt_bytes(cnt_req_bytes), .cnt_retrans(cnt_retrans),
        .cnt_ack(cnt_ack_rx), .cnt_rnr(cnt_rnr_rx), .cnt_seq(cnt_seq_rx), .cnt_inv(cnt_inv_rx), .cnt_access(cnt_access_rx), .cnt_op(cnt_op_rx),
        .cnt_timeout(cnt_timeout), .cnt_implied(cnt_implied), .cnt_retry_exc(cnt_retry_exc), .cnt_rnr_exc(cnt_rnr_exc), .cnt_stale(cnt_stale)
    );

    frnic_pulse_sum no_room_sum (.clk(clk), .rst(user_rst), .in({rx_fifo_full, cnt_vanished}), .out(cnt_no_room), .idle(no_room_idle));
    frnic_pulse_sum roce_tx_sum (.clk(clk), .rst(user_rst), .in({cnt_req_pkt, cnt_resp_pkt}), .out(cnt_roce_tx), .idle(sums_idle0));
    frnic_pulse_sum state_sum (.clk(clk), .rst(user_rst), .in({cnt_class_state, cnt_resp_state}), .out(cnt_bad_state), .idle(sums_idle1));
    frnic_pulse_sum pkey_sum (.clk(clk), .rst(user_rst), .in({cnt_class_pkey, cnt_resp_pkey}), .out(cnt_bad_pkey), .idle(sums_idle2));
    frnic_pulse_sum #(.OWED_W(16)) bad_sum (.clk(clk), .rst(user_rst), .in({cnt_rx_bad, rx_lost}), .out(cnt_eth_rx_bad), .idle(sums_idle4));
    frnic_pulse_sum unknown_sum (.clk(clk), .rst(user_rst), .in({cnt_mcast_unknown, cnt_class_unknown}), .out(cnt_unknown_qp), .idle(sums_idle3));

    // ---- Ethernet queue pair ----
    wire [511:0] eth_tx_tdata;
    wire [63:0] eth_tx_tkeep;
    wire eth_tx_tvalid, eth_tx_tready, eth_tx_tlast;
    wire cnt_eth_tx, cnt_eth_tx_err, cnt_eth_rx, cnt_nobuf;
    wire [13:0] cnt_eth_tx_bytes;
    wire [13:0] cnt_eth_rx_bytes;

    assign wr_cmd_src_off[WR_ETH*6 +: 18] = 18'd0;

    frnic_eth eth (
        .clk(clk), .rst(user_rst), .clear(clear), .idle(eth_idle),
        .slot_valid(ethq_slot_valid), .slot_ready(ethq_slot_ready), .slot_op(ethq_slot_op), .slot_wdata(ethq_slot_wdata),
        .slot_done(ethq_slot_done), .slot_status(ethq_slot_status), .slot_rdata(ethq_slot_rdata),
        .db_valid(eth_db_valid), .db_ready(eth_db_ready), .db_type(db_type), .db_number(db_number), .db_index(db_index), .db_bad(eth_bad),
        .ev_valid(ev_valid[EV_ETH]), .ev_ready(ev_ready[EV_ETH]), .ev_eqn(ev_eqn[EV_ETH*LOG_EQS +: LOG_EQS]),
        .ev_type(ev_type[EV_ETH*8 +: 8]), .ev_subtype(ev_subtype[EV_ETH*8 +: 8]), .ev_number(ev_number[EV_ETH*24 +: 24]),
        .ev_data(ev_data[EV_ETH*32 +: 32]),
        .rx_en(eth_ctrl[`FRNIC_REG_ETH_CTRL_RX_EN_LSB]), .tx_en(eth_ctrl[`FRNIC_REG_ETH_CTRL_TX_EN_LSB] && !refuse),
        .s_axis_tdata(eth_rx_tdata), .s_axis_tkeep(eth_rx_tkeep), .s_axis_tvalid(eth_rx_tvalid), .s_axis_tready(eth_rx_tready),
        .s_axis_tlast(eth_rx_tlast), .s_axis_tuser(eth_rx_tuser),
        .m_axis_tdata(eth_tx_tdata), .m_axis_tkeep(eth_tx_tkeep), .m_axis_tvalid(eth_tx_tvalid), .m_axis_tready(eth_tx_tready),
        .m_axis_tlast(eth_tx_tlast),
        .rd_req_valid(rd_req_valid[RD_ETH +: 3]), .rd_req_ready(rd_req_ready[RD_ETH +: 3]), .rd_req_addr(rd_req_addr[RD_ETH*64 +: 192]),
        .rd_req_len(rd_req_len[RD_ETH*13 +: 39]), .rd_resp_valid(rd_resp_valid[RD_ETH +: 3]), .rd_resp_ready(rd_resp_ready[RD_ETH +: 3]),
        .rd_resp_data(rd_resp_data), .rd_resp_last(rd_resp_last), .rd_resp_error(rd_resp_error),
        .wr_cmd_valid(wr_cmd_valid[WR_ETH +: 3]), .wr_cmd_ready(wr_cmd_ready[WR_ETH +: 3]), .wr_cmd_addr(wr_cmd_addr[WR_ETH*64 +: 192]),
        .wr_cmd_len(wr_cmd_len[WR_ETH*13 +: 39]),
        .wr_data_valid(wr_data_valid[WR_ETH +: 3]), .wr_data_ready(wr_data_ready[WR_ETH +: 3]), .wr_data(wr_data[WR_ETH*512 +: 1536]),
        .wr_st_valid(wr_st_valid[WR_ETH +: 3]), .wr_st_error(wr_st_error),
        .cnt_tx(cnt_eth_tx), .cnt_tx_bytes(cnt_eth_tx_bytes), .cnt_tx_err(cnt_eth_tx_err), .cnt_rx(cnt_eth_rx),
        .cnt_rx_bytes(cnt_eth_rx_bytes), .cnt_nobuf(cnt_nobuf)
    );

    // ---- To the MAC ----
    wire [511:0] tx_tdata;
    wire [63:0] tx_tkeep;
    wire tx_tvalid, tx_tready, tx_tlast;
    wire cnt_tx;
    wire [13:0] cnt_tx_bytes;

    frnic_net_tx net_tx (
        .clk(clk), .rst(user_rst), .tx_enable(live), .loop_enable(loop_live), .mirror(eth_ctrl[`FRNIC_REG_ETH_CTRL_MIRROR_LSB]), .mcast_en(mcast_en),
        .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .s_axis_tdata({eth_tx_tdata, req_tx_tdata, resp_tx_tdata}), .s_axis_tkeep({eth_tx_tkeep, req_tx_tkeep, resp_tx_tkeep}),
        .s_axis_tvalid({eth_tx_tvalid, req_tx_tvalid, resp_tx_tvalid}), .s_axis_tready({eth_tx_tready, req_tx_tready, resp_tx_tready}),
        .s_axis_tlast({eth_tx_tlast, req_tx_tlast, resp_tx_tlast}),
        .m_axis_tdata(tx_tdata), .m_axis_tkeep(tx_tkeep), .m_axis_tvalid(tx_tvalid), .m_axis_tready(tx_tready), .m_axis_tlast(tx_tlast),
        .l_axis_tdata(loop_tdata), .l_axis_tkeep(loop_tkeep), .l_axis_tvalid(loop_tvalid), .l_axis_tready(loop_tready),
        .l_axis_tlast(loop_tlast), .l_axis_tuser(loop_tuser), .cnt_tx(cnt_tx), .cnt_tx_bytes(cnt_tx_bytes), .cnt_loop(cnt_loop)
    );

    frnic_mac_tx mac_tx (
        .clk(clk), .rst(user_rst), .s_axis_tdata(tx_tdata), .s_axis_tkeep(tx_tkeep), .s_axis_tvalid(tx_tvalid), .s_axis_tready(tx_tready),
        .s_axis_tlast(tx_tlast), .cmac_clk(cmac_tx_clk), .cmac_rst(tx_rst), .m_axis_tdata(m_axis_tx_tdata), .m_axis_tkeep(m_axis_tx_tkeep),
        .m_axis_tvalid(m_axis_tx_tvalid), .m_axis_tready(m_axis_tx_tready), .m_axis_tlast(m_axis_tx_tlast), .m_axis_tuser(m_axis_tx_tuser)
    );

    // ---- Counters ----
    // Two DMA errors in one cycle count one after the other.
    reg dma_owed_reg = 1'b0;
    // Several refusals in a cycle likewise.
    reg [7:0] dropped_reg = 8'd0;

    always @(posedge clk) begin
        dma_owed_reg <= dma_owed_reg ? rd_error || wr_error : rd_error && wr_error;
        dropped_reg <= dropped_reg + {4'd0, db_dropped} - {7'd0, dropped_reg != 8'd0};
        if (user_rst) begin
            dma_owed_reg <= 1'b0;
            dropped_reg <= 8'd0;
        end
    end

    // Bit by bit: Verilator makes a shift of 69 bits each of a sum of shifts. Counters' numbers have eight bits.
    /* verilator lint_off WIDTH */
    always @* begin
        cnt_pulse = 69'd0;
        cnt_pulse[`FRNIC_COUNTER_EQES] = cnt_eqe;
        cnt_pulse[`FRNIC_COUNTER_EQ_OVERFLOWS] = cnt_eq_overflow;
        cnt_pulse[`FRNIC_COUNTER_IRQS] = cnt_irq;
        cnt_pulse[`FRNIC_COUNTER_DMA_ERRORS] = rd_error || wr_error || dma_owed_reg;
        cnt_pulse[`FRNIC_COUNTER_DB_DROPPED] = dropped_reg != 8'd0;
        cnt_pulse[`FRNIC_COUNTER_CQES] = cnt_cqe;
        cnt_pulse[`FRNIC_COUNTER_CQ_OVERFLOWS] = cnt_cq_overflow;
        cnt_pulse[`FRNIC_COUNTER_RX_FRAMES] = cnt_rx;
        cnt_pulse[`FRNIC_COUNTER_ETH_RX_BAD] = cnt_eth_rx_bad;
        cnt_pulse[`FRNIC_COUNTER_ETH_RX_FILTERED] = cnt_rx_filtered;
        cnt_pulse[`FRNIC_COUNTER_RX_ICRC_ERR] = cnt_icrc;
        cnt_pulse[`FRNIC_COUNTER_RX_MALFORMED] = cnt_malformed;
        cnt_pulse[`FRNIC_COUNTER_ECN_MARKED] = cnt_ecn;
        cnt_pulse[`FRNIC_COUNTER_ROCE_RX_PKTS] = cnt_roce_rx;
        cnt_pulse[`FRNIC_COUNTER_TX_FRAMES] = cnt_tx;
        cnt_pulse[`FRNIC_COUNTER_LOOPBACK_PKTS] = cnt_loop;
        cnt_pulse[`FRNIC_COUNTER_ETH_TX_FRAMES] = cnt_eth_tx;
        cnt_pulse[`FRNIC_COUNTER_ETH_TX_ERR] = cnt_eth_tx_err;
        cnt_pulse[`FRNIC_COUNTER_ETH_RX_FRAMES] = cnt_eth_rx;
        cnt_pulse[`FRNIC_COUNTER_ETH_RX_NOBUF] = cnt_nobuf;
        cnt_pulse[`FRNIC_COUNTER_WQES_PUSHED] = wqe_pushed;
        cnt_pulse[`FRNIC_COUNTER_RQES] = cnt_rqe;
        cnt_pulse[`FRNIC_COUNTER_RX_UNKNOWN_QP] = cnt_unknown_qp;
        cnt_pulse[`FRNIC_COUNTER_MCAST_RX] = cnt_mcast;
        cnt_pulse[`FRNIC_COUNTER_RX_BAD_STATE] = cnt_bad_state;
        cnt_pulse[`FRNIC_COUNTER_RX_BAD_ADDR] = cnt_bad_addr;
        cnt_pulse[`FRNIC_COUNTER_RX_BAD_PKEY] = cnt_bad_pkey;
        cnt_pulse[`FRNIC_COUNTER_RX_BAD_QKEY] = cnt_bad_qkey;
        cnt_pulse[`FRNIC_COUNTER_RX_UD_NO_RECV] = cnt_no_recv;
        cnt_pulse[`FRNIC_COUNTER_RX_NO_ROOM] = cnt_no_room;
        cnt_pulse[`FRNIC_COUNTER_UC_DROPPED] = cnt_uc_dropped;
        cnt_pulse[`FRNIC_COUNTER_CNP_RX] = cnt_cnp;
        cnt_pulse[`FRNIC_COUNTER_SENDS_RX] = cnt_sends;
        cnt_pulse[`FRNIC_COUNTER_WRITES_RX] = cnt_writes;
        cnt_pulse[`FRNIC_COUNTER_READS_RX] = cnt_reads;
        cnt_pulse[`FRNIC_COUNTER_ATOMICS_RX] = cnt_atomics;
        cnt_pulse[`FRNIC_COUNTER_DUP_REQ] = cnt_dup;
        cnt_pulse[`FRNIC_COUNTER_SEQ_GAP] = cnt_gap;
        cnt_pulse[`FRNIC_COUNTER_ACK_TX] = cnt_ack_tx;
        cnt_pulse[`FRNIC_COUNTER_RNR_NAK_TX] = cnt_rnr_tx;
        cnt_pulse[`FRNIC_COUNTER_SEQ_NAK_TX] = cnt_seq_tx;
        cnt_pulse[`FRNIC_COUNTER_INVREQ_NAK_TX] = cnt_inv_tx;
        cnt_pulse[`FRNIC_COUNTER_ACCESS_NAK_TX] = cnt_access_tx;
        cnt_pulse[`FRNIC_COUNTER_OP_NAK_TX] = cnt_op_tx;
        cnt_pulse[`FRNIC_COUNTER_ROCE_TX_PKTS] = cnt_roce_tx;
        cnt_pulse[`FRNIC_COUNTER_WQES] = cnt_wqe;
        cnt_pulse[`FRNIC_COUNTER_WQE_ERRORS] = cnt_wqe_err;
        cnt_pulse[`FRNIC_COUNTER_RETRANS_PKTS] = cnt_retrans;
        cnt_pulse[`FRNIC_COUNTER_ACK_RX] = cnt_ack_rx;
        cnt_pulse[`FRNIC_COUNTER_RNR_NAK_RX] = cnt_rnr_rx;
        cnt_pulse[`FRNIC_COUNTER_SEQ_NAK_RX] = cnt_seq_rx;
        cnt_pulse[`FRNIC_COUNTER_INVREQ_NAK_RX] = cnt_inv_rx;
        cnt_pulse[`FRNIC_COUNTER_ACCESS_NAK_RX] = cnt_access_rx;
        cnt_pulse[`FRNIC_COUNTER_OP_NAK_RX] = cnt_op_rx;
        cnt_pulse[`FRNIC_COUNTER_TIMEOUTS] = cnt_timeout;
        cnt_pulse[`FRNIC_COUNTER_IMPLIED_NAK] = cnt_implied;
        cnt_pulse[`FRNIC_COUNTER_RETRY_EXC] = cnt_retry_exc;
        cnt_pulse[`FRNIC_COUNTER_RNR_RETRY_EXC] = cnt_rnr_exc;
        cnt_pulse[`FRNIC_COUNTER_STALE_RESP] = cnt_stale;
    end
    /* verilator lint_on WIDTH */

    // TX, RX, ETH_TX, ETH_RX, ROCE_TX, ROCE_RX; each with its pulse
    assign cnt_bytes = {cnt_roce_rx ? cnt_roce_rx_bytes : 14'd0, cnt_req_bytes + cnt_resp_bytes, cnt_eth_rx ? cnt_eth_rx_bytes : 14'd0,
        cnt_eth_tx ? cnt_eth_tx_bytes : 14'd0, cnt_rx ? cnt_rx_bytes : 14'd0, cnt_tx ? cnt_tx_bytes : 14'd0};

    // ---- Idle ----
    assign idle = control_quiet && !rd_busy && !wr_busy && db_idle && eq_idle && msix_idle && ev_valid == {EVS{1'b0}} && dropped_reg == 8'd0 &&
        cq_idle && !cq_timer && fetch_idle && !rx_tvalid && !eth_rx_tvalid && !roce_rx_tvalid && eth_idle && !eth_tx_tvalid &&
        !cl_tvalid && !req_tx_tvalid && !resp_tx_tvalid && no_room_idle && sums_idle0 && sums_idle1 && sums_idle2 && sums_idle3 && sums_idle4 && !tx_tvalid && !loop_tvalid &&
        mc_idle && !mc_tvalid;

endmodule

`resetall
