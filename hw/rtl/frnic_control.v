// SPDX-License-Identifier: BSD-2-Clause
//
// The control plane as one block: registers, queue manager, command ring, contexts that the queue manager owns, packet buffers, counters, reset. Only
// wiring here, and the slot bus with its owners. Documentation/microarchitecture.md, 3.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_control #(
    // log2 of the tables
    parameter LOG_QPS = 12,
    parameter LOG_CQS = 12,
    parameter LOG_EQS = 6,
    parameter LOG_SRQS = 10,
    parameter LOG_MRS = 16,
    parameter LOG_GIDS = 7,
    parameter LOG_PKEYS = 7,
    parameter LOG_MCASTS = 8,
    parameter LOG_UARS = 10,
    parameter LOG_BUFS = 9,
    parameter MACS = 16,
    parameter ETHQS = 1,
    // log2 of the largest rings
    parameter LOG_CQE = 18,
    parameter LOG_SQ = 17,
    parameter LOG_RQ = 14,
    parameter LOG_EQE = 16,
    // Most outstanding READs and atomics
    parameter RD_ATOMIC = 16,
    // What the data path has (FEATURES register)
    parameter [31:0] FEATURES = 32'd0,
    parameter [23:0] REVISION = 24'd1,
    // Read clients of the QP and MR contexts; sweeps outside; streams watched for stalls
    parameter QP_READERS = 1,
    parameter MR_READERS = 1,
    // Clients of the QPs' live words
    parameter LW_CLIENTS = 1,
    parameter SWEEPS = 1,
    parameter STREAMS = 4,
    // Cycles of 1 ms
    parameter DRAIN = 250000,
    parameter FENCE_WAIT = 250000,
    parameter MAC_WAIT = 250000
) (
    input  wire                          clk,
    input  wire                          rst,
    // BAR0
    input  wire [15:0]                   s_axil_awaddr,
    input  wire                          s_axil_awvalid,
    output wire                          s_axil_awready,
    input  wire [31:0]                   s_axil_wdata,
    input  wire [3:0]                    s_axil_wstrb,
    input  wire                          s_axil_wvalid,
    output wire                          s_axil_wready,
    output wire [1:0]                    s_axil_bresp,
    output wire                          s_axil_bvalid,
    input  wire                          s_axil_bready,
    input  wire [15:0]                   s_axil_araddr,
    input  wire                          s_axil_arvalid,
    output wire                          s_axil_arready,
    output wire [31:0]                   s_axil_rdata,
    output wire [1:0]                    s_axil_rresp,
    output wire                          s_axil_rvalid,
    input  wire                          s_axil_rready,
    // Time, straps, state of the link
    input  wire [63:0]                   time_ns,
    input  wire [47:0]                   cfg_mac,
    input  wire [15:0]                   cfg_push_bytes,
    input  wire [11:0]                   cfg_msix_vectors,
    input  wire                          link_up,
    input  wire                          mac_ready,
    // Settings; refuse: resetting or fatal
    output wire                          dev_enable,
    output wire [4:0]                    eth_ctrl,
    output wire [15:0]                   eth_maxframe,
    output wire [63:0]                   eth_mcast,
    output wire                          refuse,
    // Multicast table: entries in use, reader (image 0x20..0x3f)
    output wire [LOG_MCASTS:0]           used_mcasts,
    input  wire                          mc_rd_valid,
    output wire                          mc_rd_ready,
    input  wire [LOG_MCASTS-1:0]         mc_rd_index,
    output wire                          mc_rd_done,
    output wire                          mc_rd_live,
    output wire                          mc_rd_err,
    output wire [255:0]                  mc_rd_data,
    // Hot reset: see frnic_hot_reset
    output wire                          drain,
    input  wire                          idle,
    output wire                          clear,
    output wire                          sweep,
    input  wire [SWEEPS-1:0]             sweep_done_in,
    // Command slots of EQs, CQs, the Ethernet queue pair (4.8)
    output wire                          eq_slot_valid,
    input  wire                          eq_slot_ready,
    output wire [1:0]                    eq_slot_op,
    output wire [LOG_EQS-1:0]            eq_slot_index,
    output wire [159:0]                  eq_slot_wdata,
    input  wire                          eq_slot_done,
    input  wire [7:0]                    eq_slot_status,
    input  wire [287:0]                  eq_slot_rdata,
    output wire                          cq_slot_valid,
    input  wire                          cq_slot_ready,
    output wire [1:0]                    cq_slot_op,
    output wire [LOG_CQS-1:0]            cq_slot_index,
    output wire [319:0]                  cq_slot_wdata,
    input  wire                          cq_slot_done,
    input  wire [7:0]                    cq_slot_status,
    /* verilator lint_off UNUSED */
    input  wire [639:0]                  cq_slot_rdata,
    /* verilator lint_on UNUSED */
    output wire                          ethq_slot_valid,
    input  wire                          ethq_slot_ready,
    output wire [1:0]                    ethq_slot_op,
    output wire [383:0]                  ethq_slot_wdata,
    input  wire                          ethq_slot_done,
    input  wire [7:0]                    ethq_slot_status,
    input  wire [511:0]                  ethq_slot_rdata,
    // frnic_dma_rd: client 0 command ring, 1 queue manager
    output wire [1:0]                    rd_req_valid,
    input  wire [1:0]                    rd_req_ready,
    output wire [127:0]                  rd_req_addr,
    output wire [25:0]                   rd_req_len,
    input  wire [1:0]                    rd_resp_valid,
    output wire [1:0]                    rd_resp_ready,
    input  wire [511:0]                  rd_resp_data,
    input  wire                          rd_resp_last,
    input  wire                          rd_resp_error,
    // frnic_dma_wr: command ring
    output wire                          wr_cmd_valid,
    input  wire                          wr_cmd_ready,
    output wire [63:0]                   wr_cmd_addr,
    output wire [12:0]                   wr_cmd_len,
    output wire [5:0]                    wr_cmd_src_off,
    output wire                          wr_data_valid,
    input  wire                          wr_data_ready,
    output wire [511:0]                  wr_data,
    input  wire                          wr_st_valid,
    input  wire                          wr_st_error,
    // frnic_eq: CMD, PORT, DEVICE, QP events
    output reg                           ev_valid,
    input  wire                          ev_ready,
    output reg  [LOG_EQS-1:0]            ev_eqn,
    output reg  [7:0]                    ev_type,
    output reg  [7:0]                    ev_subtype,
    output reg  [23:0]                   ev_number,
    output reg  [31:0]                   ev_data,
    // Table update, a pulse: 0 MAC filter, 1 GID, 2 P_Key, 3 clear all
    output wire                          upd_valid,
    output wire [1:0]                    upd_table,
    output wire [7:0]                    upd_index,
    output wire [255:0]                  upd_data,
    // Counters: pulses by enum counter; bytes of TX, RX, ETH_TX, ETH_RX, ROCE_TX, ROCE_RX
    input  wire [68:0]                   cnt_pulse,
    input  wire [83:0]                   cnt_bytes,
    // Side port of frnic_db
    output wire                          dbs_req,
    output wire [15:0]                   dbs_addr,
    input  wire                          dbs_valid,
    input  wire [31:0]                   dbs_data,
    // Trigger unit, errors
    input  wire [STREAMS-1:0]            stall_valid,
    input  wire [STREAMS-1:0]            stall_ready,
    input  wire                          psn_gap,
    input  wire [23:0]                   psn_gap_qpn,
    input  wire [31:0]                   eq_overflow_set,
    input  wire                          eq_fatal_valid,
    input  wire [5:0]                    eq_fatal_eqn,
    input  wire                          parity_fatal,
    // Readers of QP connection contexts and of MR contexts (image 0x20..0x47, then the live word); who reads compares the whole number
    input  wire [QP_READERS-1:0]         qp_rd_valid,
    output wire [QP_READERS-1:0]         qp_rd_ready,
    input  wire [QP_READERS*LOG_QPS-1:0] qp_rd_index,
    output wire [QP_READERS-1:0]         qp_rd_done,
    output wire                          qp_rd_live,
    output wire                          qp_rd_err,
    output wire [1023:0]                 qp_rd_data,
    input  wire [MR_READERS-1:0]         mr_rd_valid,
    output wire [MR_READERS-1:0]         mr_rd_ready,
    input  wire [MR_READERS*LOG_MRS-1:0] mr_rd_index,
    output wire [MR_READERS-1:0]         mr_rd_done,
    output wire                          mr_rd_live,
    output wire                          mr_rd_err,
    output wire [383:0]                  mr_rd_data,
    // The transport's operations on live words, changes of state, accepted SQ doorbells (3.4.1)
    input  wire [LW_CLIENTS-1:0]         lw_valid,
    input  wire [LW_CLIENTS*24-1:0]      lw_qpn,
    input  wire [LW_CLIENTS*2-1:0]       lw_op,
    input  wire [LW_CLIENTS*8-1:0]       lw_mask,
    input  wire [LW_CLIENTS*8-1:0]       lw_event,
    input  wire [LW_CLIENTS*4-1:0]       lw_inc,
    input  wire [LW_CLIENTS-1:0]         lw_buf,
    input  wire [LW_CLIENTS*512-1:0]     lw_data,
    output wire [LW_CLIENTS-1:0]         lw_done,
    output wire                          lw_err,
    output wire [511:0]                  lw_rdata,
    output wire                          chg_valid,
    output wire [LOG_QPS-1:0]            chg_index,
    output wire [2:0]                    chg_state,
    output wire                          chg_resp,
    output wire                          chg_req,
    output wire                          chg_clear,
    output wire                          sqdb_valid,
    output wire [LOG_QPS-1:0]            sqdb_index,
    output wire                          rqdb_valid,
    output wire [LOG_QPS-1:0]            rqdb_index,
    // Pulse: a packet buffer came back (R1.4)
    output reg                           buf_back,
    // The SRQ table, for frnic_rq_fetch: its own while srq_lock and srq_locked, which is given while the queue manager does nothing
    input  wire                          srq_lock,
    output reg                           srq_locked,
    output wire                          srq_changed,
    input  wire                          srq_valid,
    output wire                          srq_ready,
    input  wire                          srq_write,
    input  wire [LOG_SRQS-1:0]           srq_index,
    input  wire [383:0]                  srq_wdata,
    output wire                          srq_done,
    output wire                          srq_live,
    output wire                          srq_err,
    output wire [383:0]                  srq_rdata,
    // Level: a region or a QP is about to end. The transport begins no packet and no grant; fence_ok: what it had begun is over, its DMA as well
    output wire                          fence,
    input  wire                          fence_ok,
    // A region's context is written: a pulse (to frnic_xlate)
    output wire                          mr_inv_valid,
    output wire [LOG_MRS-1:0]            mr_inv_index,
    // SQ and RQ doorbells; CQs in error
    input  wire                          sq_valid,
    output wire                          sq_ready,
    input  wire                          rq_valid,
    output wire                          rq_ready,
    input  wire [7:0]                    db_type,
    input  wire [23:0]                   db_number,
    input  wire [23:0]                   db_index,
    input  wire [15:0]                   db_uar,
    output wire                          db_bad,
    output wire                          db_denied,
    input  wire                          cqerr_valid,
    output wire                          cqerr_ready,
    input  wire [23:0]                   cqerr_cqn,
    // Fault injection (R7.3): contexts of QPs that are written now get wrong parity
    input  wire                          flip_qp,
    // Nothing is under way here: of no interest to traffic, it lets a simulation stop the clock
    output wire                          quiet
);

`include "frnic_hw.vh"
`include "frnic_qm.vh"

    localparam OWN_SWEEPS = 8;

    // ---- Reset ----
    wire resetting;
    wire fatal;
    wire hot_reset;
    wire [OWN_SWEEPS-1:0] own_done;
    wire cmdq_idle;
    wire [2:0] qm_state;

    assign refuse = resetting || fatal;

    frnic_hot_reset #(.DRAIN(DRAIN), .SWEEPS(OWN_SWEEPS + SWEEPS)) reset (
        .clk(clk), .rst(rst), .hot_reset(hot_reset), .idle(idle && cmdq_idle && qm_state == `FRNIC_QM_STATE_IDLE),
        .resetting(resetting), .drain(drain), .clear(clear), .sweep(sweep), .sweep_done({sweep_done_in, own_done})
    );

    assign quiet = !resetting && no_buf_idle && cmdq_idle && qm_state == `FRNIC_QM_STATE_IDLE && !sl_valid && !ev_valid && !dev_ev_valid && !qp_ev_valid && !srq_ev_valid &&
        !ring_valid && !sq_valid && !rq_valid && !cqerr_valid && lw_valid == {LW_CLIENTS{1'b0}} && !s_axil_awvalid && !s_axil_wvalid && !s_axil_bvalid && !s_axil_arvalid &&
        !s_axil_rvalid;

    // ---- Registers, counters, stalls ----
    wire qm_req, cnt_req, side_write;
    wire [15:0] side_addr;
    wire [31:0] side_wdata;
    wire qm_done, cnt_done;
    wire [31:0] qm_rdata;
    wire [31:0] cnt_rdata;
    wire [7:0] last_status;
    wire [7:0] last_error;
    wire [7:0] last_opcode;
    wire [LOG_QPS:0] used_qps;
    wire [LOG_CQS:0] used_cqs;
    wire [LOG_EQS:0] used_eqs;
    wire [LOG_SRQS:0] used_srqs;
    wire [LOG_MRS:0] used_mrs;
    wire [LOG_BUFS:0] free_bufs;
    wire prealloc;
    wire cmdq_en, cmdq_start, cmdq_stop, cmdq_eq_en, bad_cmdq;
    wire [63:0] cmdq_base;
    wire [3:0] cmdq_log_size;
    wire [15:0] cmdq_eqn;
    wire [23:0] cmdq_pi;
    wire [23:0] cmdq_ci;
    wire cmdq_fatal_valid;
    wire [23:0] cmdq_fatal_index;
    wire qm_parity, fsm_error, ev_ok, ev_failed, ev_no_buf;
    wire [3:0] stalls;
    wire [31:0] trig_stall_cycles;
    wire dev_ev_valid, dev_ev_ready;
    wire [7:0] dev_ev_type;
    wire [7:0] dev_ev_subtype;
    wire [31:0] dev_ev_data;
    reg [68:0] own_pulse;

    assign dbs_addr = side_addr;

    frnic_csr #(
        .LOG_QPS(LOG_QPS), .LOG_CQS(LOG_CQS), .LOG_EQS(LOG_EQS), .LOG_SRQS(LOG_SRQS), .LOG_MRS(LOG_MRS), .LOG_GIDS(LOG_GIDS),
        .LOG_PKEYS(LOG_PKEYS), .LOG_MCASTS(LOG_MCASTS), .LOG_UARS(LOG_UARS), .LOG_BUFS(LOG_BUFS), .MACS(MACS), .ETHQS(ETHQS),
        .LOG_CQE(LOG_CQE), .LOG_SQ(LOG_SQ), .LOG_RQ(LOG_RQ), .LOG_EQE(LOG_EQE), .RD_ATOMIC(RD_ATOMIC), .FEATURES(FEATURES),
        .REVISION(REVISION)
    ) csr (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .qm_req(qm_req), .cnt_req(cnt_req), .dbs_req(dbs_req), .side_write(side_write), .side_addr(side_addr), .side_wdata(side_wdata),
        .qm_done(qm_done), .qm_rdata(qm_rdata), .cnt_done(cnt_done), .cnt_rdata(cnt_rdata), .dbs_done(dbs_valid), .dbs_rdata(dbs_data),
        .time_ns(time_ns), .cfg_mac(cfg_mac), .cfg_push_bytes(cfg_push_bytes), .cfg_msix_vectors(cfg_msix_vectors),
        .link_up(link_up), .mac_ready(mac_ready), .qm_state(qm_state), .qm_last_status(last_status), .qm_last_error(last_error),
        .qm_last_opcode(last_opcode),
        .free_qps((32'd1 << LOG_QPS) - {{(31-LOG_QPS){1'b0}}, used_qps}), .free_cqs((32'd1 << LOG_CQS) - {{(31-LOG_CQS){1'b0}}, used_cqs}),
        .free_eqs((32'd1 << LOG_EQS) - {{(31-LOG_EQS){1'b0}}, used_eqs}), .free_srqs((32'd1 << LOG_SRQS) - {{(31-LOG_SRQS){1'b0}}, used_srqs}),
        .free_mrs((32'd1 << LOG_MRS) - {{(31-LOG_MRS){1'b0}}, used_mrs}), .free_bufs({{(31-LOG_BUFS){1'b0}}, free_bufs}),
        .free_mcasts((32'd1 << LOG_MCASTS) - {{(31-LOG_MCASTS){1'b0}}, used_mcasts}),
        .dev_enable(dev_enable), .prealloc(prealloc), .eth_ctrl(eth_ctrl), .eth_maxframe(eth_maxframe), .eth_mcast(eth_mcast),
        .cmdq_en(cmdq_en), .cmdq_start(cmdq_start), .cmdq_stop(cmdq_stop), .cmdq_base(cmdq_base), .cmdq_log_size(cmdq_log_size),
        .cmdq_eq_en(cmdq_eq_en), .cmdq_eqn(cmdq_eqn), .cmdq_pi(cmdq_pi), .cmdq_ci(cmdq_ci), .bad_cmdq(bad_cmdq),
        .hot_reset(hot_reset), .resetting(resetting), .clear(clear),
        .eq_fatal_valid(eq_fatal_valid), .eq_fatal_eqn(eq_fatal_eqn), .cmdq_fatal_valid(cmdq_fatal_valid),
        .cmdq_fatal_index(cmdq_fatal_index), .parity_fatal(parity_fatal || qm_parity), .fatal(fatal),
        .eq_overflow_set(eq_overflow_set), .fsm_error(fsm_error), .stalls(stalls), .psn_gap(psn_gap), .psn_gap_qpn(psn_gap_qpn),
        .trig_stall_cycles(trig_stall_cycles),
        .ev_valid(dev_ev_valid), .ev_ready(dev_ev_ready), .ev_type(dev_ev_type), .ev_subtype(dev_ev_subtype), .ev_data(dev_ev_data)
    );

    // Counters' numbers have eight bits.
    /* verilator lint_off WIDTH */
    always @* begin
        own_pulse = cnt_pulse;
        own_pulse[`FRNIC_COUNTER_CMDS_OK] = ev_ok;
        own_pulse[`FRNIC_COUNTER_CMDS_FAILED] = ev_failed;
        own_pulse[`FRNIC_COUNTER_NO_PKT_BUF] = no_buf;
    end
    /* verilator lint_on WIDTH */

    frnic_counters counters (
        .clk(clk), .rst(rst), .pulse(own_pulse), .bytes(cnt_bytes), .req(cnt_req), .addr(side_addr), .done(cnt_done), .rdata(cnt_rdata)
    );

    frnic_stall #(.STREAMS(STREAMS)) stall (
        .clk(clk), .rst(rst), .valid(stall_valid), .ready(stall_ready), .cycles(trig_stall_cycles), .stalls(stalls)
    );

    // ---- Queue manager ----
    wire srq_ev_valid, srq_ev_ready;
    /* verilator lint_off UNUSED */
    wire [7:0] srq_ev_eqn;
    /* verilator lint_on UNUSED */
    wire [7:0] srq_ev_subtype;
    wire [23:0] srq_ev_number;
    wire sl_valid, sl_ready, sl_done, sl_live;
    wire [3:0] sl_sel;
    wire [1:0] sl_op;
    /* verilator lint_off UNUSED */
    wire [23:0] sl_index;
    /* verilator lint_on UNUSED */
    wire [1023:0] sl_wdata;
    wire [63:0] sl_wlive;
    wire [31:0] sl_aux;
    reg [7:0] sl_status;
    reg [1023:0] sl_rdata;
    reg [447:0] sl_rlive;
    wire [1:0] take_ready;
    wire [LOG_BUFS-1:0] take_buf;
    wire qm_take, qm_give, live_take, live_give, live_no_buf;
    wire pool_empty = free_bufs == {(LOG_BUFS+1){1'b0}};
    wire no_buf, no_buf_idle;
    wire [1:0] give_ready;
    wire [LOG_BUFS-1:0] qm_give_buf;
    wire [LOG_BUFS-1:0] live_give_buf;
    wire ring_valid, ring_ready, ring_owner, ring_resp_valid, ring_resp_last;
    wire [1023:0] ring_req;
    wire [63:0] ring_resp_data;

    frnic_qm #(
        .LOG_QPS(LOG_QPS), .LOG_CQS(LOG_CQS), .LOG_EQS(LOG_EQS), .LOG_SRQS(LOG_SRQS), .LOG_MRS(LOG_MRS), .LOG_GIDS(LOG_GIDS),
        .LOG_PKEYS(LOG_PKEYS), .LOG_MCASTS(LOG_MCASTS), .LOG_UARS(LOG_UARS), .LOG_BUFS(LOG_BUFS), .MACS(MACS), .ETHQS(ETHQS),
        .LOG_CQE(LOG_CQE), .LOG_SQ(LOG_SQ), .LOG_RQ(LOG_RQ), .LOG_EQE(LOG_EQE), .RD_ATOMIC(RD_ATOMIC), .MAC_WAIT(MAC_WAIT)
    ) qm (
        .clk(clk), .rst(rst), .clear(clear),
        .csr_req(qm_req), .csr_write(side_write), .csr_addr(side_addr[8:2]), .csr_wdata(side_wdata), .csr_done(qm_done), .csr_rdata(qm_rdata),
        .refuse_valid(bad_cmdq || cmdq_stop), .refuse_status(`FRNIC_STATUS_BAD_CMDQ),
        .ring_valid(ring_valid), .ring_ready(ring_ready), .ring_req(ring_req), .ring_owner(ring_owner),
        .ring_resp_valid(ring_resp_valid), .ring_resp_data(ring_resp_data), .ring_resp_last(ring_resp_last),
        .resetting(resetting), .fatal(fatal), .prealloc(prealloc), .mac_ready(mac_ready), .msix_vectors(cfg_msix_vectors),
        .time_ns(time_ns[31:0]),
        .state(qm_state), .last_status(last_status), .last_error(last_error), .last_opcode(last_opcode),
        .ev_fsm_error(fsm_error), .ev_ok(ev_ok), .ev_failed(ev_failed), .ev_no_buf(ev_no_buf), .ev_parity(qm_parity),
        .used_qps(used_qps), .used_cqs(used_cqs), .used_eqs(used_eqs), .used_srqs(used_srqs), .used_mrs(used_mrs),
        .used_mcasts(used_mcasts),
        .sl_valid(sl_valid), .sl_ready(sl_ready), .sl_sel(sl_sel), .sl_op(sl_op), .sl_index(sl_index), .sl_wdata(sl_wdata),
        .sl_wlive(sl_wlive), .sl_aux(sl_aux), .sl_done(sl_done), .sl_live(sl_live), .sl_status(sl_status), .sl_rdata(sl_rdata),
        .sl_rlive(sl_rlive),
        .take_valid(qm_take), .take_ready(take_ready[0]), .take_buf(take_buf), .pool_empty(pool_empty),
        .give_valid(qm_give), .give_ready(give_ready[0]), .give_buf(qm_give_buf),
        .rec_req_valid(rd_req_valid[1]), .rec_req_ready(rd_req_ready[1]), .rec_req_addr(rd_req_addr[127:64]),
        .rec_resp_valid(rd_resp_valid[1]), .rec_resp_ready(rd_resp_ready[1]), .rec_resp_data(rd_resp_data), .rec_resp_last(rd_resp_last),
        .rec_resp_error(rd_resp_error),
        .ev_valid(srq_ev_valid), .ev_ready(srq_ev_ready), .ev_eqn(srq_ev_eqn), .ev_subtype(srq_ev_subtype), .ev_number(srq_ev_number),
        .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .sweep(sweep), .sweep_done(own_done[0])
    );

    assign rd_req_len[25:13] = 13'd4;

    // ---- Command ring ----
    wire cmdq_ev_valid, cmdq_ev_ready;
    wire [23:0] cmdq_ev_index;

    assign wr_cmd_src_off = 6'd0;

    frnic_cmdq cmdq (
        .clk(clk), .rst(rst), .clear(clear), .en(cmdq_en), .start(cmdq_start), .stop(cmdq_stop), .base(cmdq_base), .log_size(cmdq_log_size),
        // An EQ beyond the table does not exist: its event is lost.
        .eq_en(cmdq_eq_en && cmdq_eqn < (16'd1 << LOG_EQS)), .pi(cmdq_pi), .ci(cmdq_ci), .resetting(resetting), .fatal(fatal),
        .fatal_valid(cmdq_fatal_valid), .fatal_index(cmdq_fatal_index),
        .ring_valid(ring_valid), .ring_ready(ring_ready), .ring_req(ring_req), .ring_owner(ring_owner),
        .resp_valid(ring_resp_valid), .resp_data(ring_resp_data), .resp_last(ring_resp_last),
        .rd_req_valid(rd_req_valid[0]), .rd_req_ready(rd_req_ready[0]), .rd_req_addr(rd_req_addr[63:0]), .rd_req_len(rd_req_len[12:0]),
        .rd_resp_valid(rd_resp_valid[0]), .rd_resp_ready(rd_resp_ready[0]), .rd_resp_data(rd_resp_data), .rd_resp_last(rd_resp_last),
        .rd_resp_error(rd_resp_error),
        .wr_cmd_valid(wr_cmd_valid), .wr_cmd_ready(wr_cmd_ready), .wr_cmd_addr(wr_cmd_addr), .wr_cmd_len(wr_cmd_len),
        .wr_data_valid(wr_data_valid), .wr_data_ready(wr_data_ready), .wr_data(wr_data), .wr_st_valid(wr_st_valid), .wr_st_error(wr_st_error),
        .ev_valid(cmdq_ev_valid), .ev_ready(cmdq_ev_ready), .ev_index(cmdq_ev_index), .idle(cmdq_idle)
    );

    // ---- Packet buffers ----
    frnic_buf_pool #(.LOG_BUFS(LOG_BUFS), .CLIENTS(2)) pool (
        .clk(clk), .rst(rst), .take_valid({live_take, qm_take}), .take_ready(take_ready), .take_buf(take_buf),
        .give_valid({live_give, qm_give}), .give_ready(give_ready), .give_buf({live_give_buf, qm_give_buf}),
        .sweep(sweep), .sweep_done(own_done[1]), .free_bufs(free_bufs)
    );

    always @(posedge clk) begin
        buf_back <= give_ready != 2'b00 && !rst;
    end

    frnic_pulse_sum no_buf_sum (.clk(clk), .rst(rst), .in({live_no_buf, ev_no_buf}), .out(no_buf), .idle(no_buf_idle));

    // ---- Fence: no DMA of what was begun under the old context comes after the command is answered ----
    reg go_reg = 1'b0;
    reg [31:0] fence_reg = 32'd0;

    wire fenced = sl_valid && ((sl_sel == SL_MR && sl_op[1]) || (sl_sel == SL_LIVE && (sl_op == 2'd2 || (sl_op == 2'd3 && sl_aux[7]))));

    // The owner has the command and has not changed its word yet: a packet that began now would be judged by the old one.
    reg owner_reg = 1'b0;

    assign fence = fenced || owner_reg;

    always @(posedge clk) begin
        // The first cycles are for what is on its way to where it counts. A bridge that does not answer holds a command for 1 ms.
        go_reg <= fenced && !sl_ready && !rst && (go_reg || (fence_ok && fence_reg >= 32'd3) || fence_reg >= FENCE_WAIT);
        fence_reg <= fenced && !rst ? fence_reg + 1'b1 : 32'd0;
        owner_reg <= !rst && !sweep && ((fenced && sl_ready) || (owner_reg && !sl_done));
    end

    // ---- Owners on the slot bus ----
    wire [9:0] to = sl_valid && (!fenced || go_reg) ? 10'd1 << sl_sel : 10'd0;
    wire [9:0] ready;
    wire [9:0] done;

    assign sl_ready = (to & ready) != 10'd0;
    assign sl_done = done != 10'd0;

    // QP connections; reader 0 is frnic_qp_live
    wire conn_rd_valid, conn_rd_ready, conn_rd_done;
    wire [LOG_QPS-1:0] conn_rd_index;
    wire qp_live_bit, qp_err;
    wire [1023:0] qp_rdata;

    frnic_ctx #(.WORDS(16), .LOG_ENTRIES(LOG_QPS), .READERS(QP_READERS + 1), .READ_LATENCY(3), .STYLE("ultra")) qp_table (
        .clk(clk), .rst(rst), .slot_valid(to[SL_QP]), .slot_ready(ready[SL_QP]), .slot_op(sl_op), .slot_index(sl_index[LOG_QPS-1:0]),
        .slot_wdata(sl_wdata), .slot_done(done[SL_QP]), .slot_live(qp_live_bit), .slot_err(qp_err), .slot_rdata(qp_rdata),
        .rd_valid({qp_rd_valid, conn_rd_valid}), .rd_ready({qp_rd_ready, conn_rd_ready}), .rd_index({qp_rd_index, conn_rd_index}),
        .rd_done({qp_rd_done, conn_rd_done}), .rd_live(qp_rd_live), .rd_err(qp_rd_err), .rd_data(qp_rd_data),
        .sweep(sweep), .sweep_done(own_done[2]), .flip(flip_qp)
    );

    // Live words of QPs
    wire live_err, live_moved;
    wire [447:0] live_rdata;
    wire qp_ev_valid, qp_ev_ready;
    wire [7:0] qp_ev_subtype;
    wire [23:0] qp_ev_qpn;

    frnic_qp_live #(.LOG_QPS(LOG_QPS), .LOG_BUFS(LOG_BUFS), .CLIENTS(LW_CLIENTS), .READ_LATENCY(3), .STYLE("ultra")) qp_live (
        .clk(clk), .rst(rst),
        .slot_valid(to[SL_LIVE]), .slot_ready(ready[SL_LIVE]), .slot_op(sl_op), .slot_index(sl_index[LOG_QPS-1:0]), .slot_conn(sl_wdata),
        .slot_aux(sl_aux), .slot_done(done[SL_LIVE]), .slot_err(live_err), .slot_moved(live_moved), .slot_rdata(live_rdata),
        .conn_rd_valid(conn_rd_valid), .conn_rd_ready(conn_rd_ready), .conn_rd_index(conn_rd_index), .conn_rd_done(conn_rd_done),
        .conn_rd_live(qp_rd_live), .conn_rd_err(qp_rd_err), .conn_rd_data(qp_rd_data),
        .sq_valid(sq_valid), .sq_ready(sq_ready), .rq_valid(rq_valid), .rq_ready(rq_ready), .db_type(db_type), .db_number(db_number),
        .db_index(db_index), .db_uar(db_uar), .db_bad(db_bad), .db_denied(db_denied),
        .cqerr_valid(cqerr_valid), .cqerr_ready(cqerr_ready), .cqerr_cqn(cqerr_cqn),
        .give_valid(live_give), .give_ready(give_ready[1]), .give_buf(live_give_buf),
        .take_valid(live_take), .take_ready(take_ready[1]), .take_buf(take_buf), .pool_empty(pool_empty), .no_buf(live_no_buf),
        .ev_valid(qp_ev_valid), .ev_ready(qp_ev_ready), .ev_subtype(qp_ev_subtype), .ev_qpn(qp_ev_qpn), .sweep(sweep),
        .lw_valid(lw_valid), .lw_qpn(lw_qpn), .lw_op(lw_op), .lw_mask(lw_mask), .lw_event(lw_event), .lw_inc(lw_inc), .lw_buf(lw_buf), .lw_data(lw_data),
        .lw_done(lw_done), .lw_err(lw_err), .lw_rdata(lw_rdata), .chg_valid(chg_valid), .chg_index(chg_index), .chg_state(chg_state),
        .chg_resp(chg_resp), .chg_req(chg_req), .chg_clear(chg_clear), .sqdb_valid(sqdb_valid), .sqdb_index(sqdb_index),
        .rqdb_valid(rqdb_valid), .rqdb_index(rqdb_index)
    );

    // SRQs, MRs: five words of the image and one live word
    wire srq_slot_ready, srq_slot_done;
    reg srq_mine_reg = 1'b0; // whose the answer is: one at a time is under way

    // A command that began meanwhile finds the SRQ table busy before it has read anything of it. One that waits at the fence is none of an SRQ, and the
    // responder may need an entry to come to an end.
    always @(posedge clk) begin
        srq_locked <= srq_lock && (srq_locked || fence || qm_state == `FRNIC_QM_STATE_IDLE) && !rst;
    end

    assign ready[SL_SRQ] = srq_slot_ready && !srq_locked;
    assign done[SL_SRQ] = srq_slot_done && !srq_mine_reg;
    assign srq_ready = srq_slot_ready && srq_locked;
    assign srq_done = srq_slot_done && srq_mine_reg;
    assign srq_changed = to[SL_SRQ] && ready[SL_SRQ] && sl_op != 2'd0;

    always @(posedge clk) begin
        if (srq_slot_ready) begin
            srq_mine_reg <= srq_locked;
        end
    end

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_ctx #(.WORDS(6), .LOG_ENTRIES(LOG_SRQS), .READERS(1), .READ_LATENCY(2), .STYLE("block")) srq_table (
        .clk(clk), .rst(rst), .slot_valid(srq_locked ? srq_valid : to[SL_SRQ]), .slot_ready(srq_slot_ready),
        .slot_op(srq_locked ? {2{srq_write}} : sl_op), .slot_index(srq_locked ? srq_index : sl_index[LOG_SRQS-1:0]),
        .slot_wdata(srq_locked ? srq_wdata : {sl_wlive, sl_wdata[575:256]}), .slot_done(srq_slot_done), .slot_live(srq_live), .slot_err(srq_err), .slot_rdata(srq_rdata),
        .rd_valid(1'b0), .rd_ready(), .rd_index({LOG_SRQS{1'b0}}), .rd_done(), .rd_live(), .rd_err(), .rd_data(),
        .sweep(sweep), .sweep_done(own_done[3]), .flip(1'b0)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    wire mr_live, mr_err;
    wire [383:0] mr_rdata;

    frnic_ctx #(.WORDS(6), .LOG_ENTRIES(LOG_MRS), .READERS(MR_READERS), .READ_LATENCY(3), .STYLE("ultra")) mr_table (
        .clk(clk), .rst(rst), .slot_valid(to[SL_MR]), .slot_ready(ready[SL_MR]), .slot_op(sl_op), .slot_index(sl_index[LOG_MRS-1:0]),
        .slot_wdata({sl_wlive, sl_wdata[575:256]}), .slot_done(done[SL_MR]), .slot_live(mr_live), .slot_err(mr_err), .slot_rdata(mr_rdata),
        .rd_valid(mr_rd_valid), .rd_ready(mr_rd_ready), .rd_index(mr_rd_index), .rd_done(mr_rd_done), .rd_live(mr_rd_live),
        .rd_err(mr_rd_err), .rd_data(mr_rd_data),
        .sweep(sweep), .sweep_done(own_done[4]), .flip(1'b0)
    );

    // A write by the slot is done in the cycle in which it is taken.
    assign mr_inv_valid = to[SL_MR] && ready[SL_MR] && sl_op != 2'd0;
    assign mr_inv_index = sl_index[LOG_MRS-1:0];

    // Small tables
    wire gid_live, gid_err;
    wire [255:0] gid_rdata;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_ctx #(.WORDS(4), .LOG_ENTRIES(LOG_GIDS), .READERS(1), .READ_LATENCY(2), .STYLE("distributed")) gid_table (
        .clk(clk), .rst(rst), .slot_valid(to[SL_GID]), .slot_ready(ready[SL_GID]), .slot_op(sl_op), .slot_index(sl_index[LOG_GIDS-1:0]),
        .slot_wdata(sl_wdata[511:256]), .slot_done(done[SL_GID]), .slot_live(gid_live), .slot_err(gid_err), .slot_rdata(gid_rdata),
        .rd_valid(1'b0), .rd_ready(), .rd_index({LOG_GIDS{1'b0}}), .rd_done(), .rd_live(), .rd_err(), .rd_data(),
        .sweep(sweep), .sweep_done(own_done[5]), .flip(1'b0)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    wire pkey_live, pkey_err;
    wire [63:0] pkey_rdata;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_ctx #(.WORDS(1), .LOG_ENTRIES(LOG_PKEYS), .READERS(1), .READ_LATENCY(2), .STYLE("distributed")) pkey_table (
        .clk(clk), .rst(rst), .slot_valid(to[SL_PKEY]), .slot_ready(ready[SL_PKEY]), .slot_op(sl_op), .slot_index(sl_index[LOG_PKEYS-1:0]),
        .slot_wdata(sl_wdata[319:256]), .slot_done(done[SL_PKEY]), .slot_live(pkey_live), .slot_err(pkey_err), .slot_rdata(pkey_rdata),
        .rd_valid(1'b0), .rd_ready(), .rd_index({LOG_PKEYS{1'b0}}), .rd_done(), .rd_live(), .rd_err(), .rd_data(),
        .sweep(sweep), .sweep_done(own_done[6]), .flip(1'b0)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    wire mcast_live, mcast_err;
    wire [255:0] mcast_rdata;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_ctx #(.WORDS(4), .LOG_ENTRIES(LOG_MCASTS), .READERS(1), .READ_LATENCY(2), .STYLE("distributed")) mcast_table (
        .clk(clk), .rst(rst), .slot_valid(to[SL_MCAST]), .slot_ready(ready[SL_MCAST]), .slot_op(sl_op), .slot_index(sl_index[LOG_MCASTS-1:0]),
        .slot_wdata(sl_wdata[511:256]), .slot_done(done[SL_MCAST]), .slot_live(mcast_live), .slot_err(mcast_err), .slot_rdata(mcast_rdata),
        .rd_valid(mc_rd_valid), .rd_ready(mc_rd_ready), .rd_index(mc_rd_index), .rd_done(mc_rd_done), .rd_live(mc_rd_live), .rd_err(mc_rd_err),
        .rd_data(mc_rd_data),
        .sweep(sweep), .sweep_done(own_done[7]), .flip(1'b0)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    // Outside
    assign eq_slot_valid = to[SL_EQ];
    assign eq_slot_op = sl_op;
    assign eq_slot_index = sl_index[LOG_EQS-1:0];
    assign eq_slot_wdata = sl_wdata[256 +: 160];
    assign ready[SL_EQ] = eq_slot_ready;
    assign done[SL_EQ] = eq_slot_done;
    assign cq_slot_valid = to[SL_CQ];
    assign cq_slot_op = sl_op;
    assign cq_slot_index = sl_index[LOG_CQS-1:0];
    assign cq_slot_wdata = sl_wdata[256 +: 320];
    assign ready[SL_CQ] = cq_slot_ready;
    assign done[SL_CQ] = cq_slot_done;
    assign ethq_slot_valid = to[SL_ETHQ];
    assign ethq_slot_op = sl_op;
    assign ethq_slot_wdata = sl_wdata[256 +: 384];
    assign ready[SL_ETHQ] = ethq_slot_ready;
    assign done[SL_ETHQ] = ethq_slot_done;

    // Answers in the layout of the image
    reg live;
    wire mr_is_window = mr_rdata[`FRNIC_CMD_MR_PD_MR_TYPE_LSB - 256 +: 8] == `FRNIC_MR_TYPE_MW1 ||
        mr_rdata[`FRNIC_CMD_MR_PD_MR_TYPE_LSB - 256 +: 8] == `FRNIC_MR_TYPE_MW2;

    assign sl_live = live;

    always @* begin
        live = 1'b1;
        sl_status = `FRNIC_STATUS_SUCCESS;
        sl_rdata = 1024'd0;
        sl_rlive = 448'd0;
        case (sl_sel)
            SL_QP: begin
                live = qp_live_bit;
                sl_rdata = qp_rdata;
                if (qp_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            SL_LIVE: begin
                sl_rlive = live_rdata;
                if (live_moved) sl_status = `FRNIC_STATUS_BAD_STATE;
                if (live_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            SL_CQ: begin
                live = cq_slot_rdata[320 + `FRNIC_CMD_CQ_LIVE0_STATE_LSB - 1024 +: 4] != 4'd0;
                sl_rdata[256 +: 320] = cq_slot_rdata[319:0];
                sl_rlive[191:0] = cq_slot_rdata[511:320];
                sl_status = cq_slot_status;
            end
            SL_EQ: begin
                live = eq_slot_rdata[31];
                sl_rdata[256 +: 160] = {eq_slot_rdata[159:32], 1'b0, eq_slot_rdata[30:0]};
                sl_rlive[127:0] = eq_slot_rdata[287:160];
                sl_status = eq_slot_status;
            end
            SL_SRQ: begin
                live = srq_live;
                sl_rdata[256 +: 320] = srq_rdata[319:0];
                sl_rlive[63:0] = srq_rdata[383:320];
                if (srq_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            SL_MR: begin
                // The live word: of a window its parent and QP, of a region the number of its windows.
                live = mr_live;
                sl_rdata[256 +: 320] = mr_rdata[319:0];
                if (mr_is_window) begin
                    sl_rlive[63:0] = mr_rdata[383:320];
                end else begin
                    sl_rlive[95:64] = mr_rdata[351:320];
                end
                if (mr_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            SL_GID: begin
                live = gid_live;
                sl_rdata[256 +: 256] = gid_rdata;
                if (gid_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            SL_PKEY: begin
                live = pkey_live;
                sl_rdata[256 +: 64] = pkey_rdata;
                if (pkey_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            SL_MCAST: begin
                live = mcast_live;
                sl_rdata[256 +: 256] = mcast_rdata;
                if (mcast_err) sl_status = `FRNIC_STATUS_PARITY;
            end
            default: begin
                live = ethq_slot_rdata[31];
                sl_rdata[256 +: 384] = {ethq_slot_rdata[383:32], 1'b0, ethq_slot_rdata[30:0]};
                sl_rlive[127:0] = ethq_slot_rdata[511:384];
                sl_status = ethq_slot_status;
            end
        endcase
    end

    // ---- Events ----
    wire [3:0] ev_req = {srq_ev_valid, qp_ev_valid, cmdq_ev_valid, dev_ev_valid} & {4{(!ev_valid || ev_ready) && !clear && !sweep}};
    wire [1:0] ev_sel;
    wire ev_any;

    frnic_rr_pick #(.PORTS(4)) ev_pick (.clk(clk), .rst(rst), .req(ev_req), .sel(ev_sel), .any(ev_any), .take(1'b1));

    assign dev_ev_ready = ev_any && ev_sel == 2'd0;
    assign cmdq_ev_ready = ev_any && ev_sel == 2'd1;
    assign qp_ev_ready = ev_any && ev_sel == 2'd2;
    assign srq_ev_ready = ev_any && ev_sel == 2'd3;

    always @(posedge clk) begin
        if (!ev_valid || ev_ready) begin
            ev_valid <= ev_any;
            ev_eqn <= {LOG_EQS{1'b0}};
            ev_number <= 24'd0;
            ev_data <= 32'd0;
            ev_subtype <= 8'd0;
            case (ev_sel)
                2'd0: begin
                    ev_type <= dev_ev_type;
                    ev_subtype <= dev_ev_subtype;
                    ev_data <= dev_ev_data;
                end
                2'd1: begin
                    ev_eqn <= cmdq_eqn[LOG_EQS-1:0];
                    ev_type <= `FRNIC_EQE_TYPE_CMD;
                    ev_data <= {8'd0, cmdq_ev_index};
                end
                2'd2: begin
                    ev_type <= `FRNIC_EQE_TYPE_QP;
                    ev_subtype <= qp_ev_subtype;
                    ev_number <= qp_ev_qpn;
                end
                default: begin
                    ev_eqn <= srq_ev_eqn[LOG_EQS-1:0];
                    ev_type <= `FRNIC_EQE_TYPE_SRQ;
                    ev_subtype <= srq_ev_subtype;
                    ev_number <= srq_ev_number;
                end
            endcase
        end
        if (rst || clear) begin
            ev_valid <= 1'b0;
        end
    end

endmodule

`resetall
