// SPDX-License-Identifier: BSD-2-Clause
//
// The requester: frnic_req_tx, frnic_req_ack, the memories that they share, payload, timers, and the packet builder behind them. Grants come from
// frnic_sched, WQEs from frnic_wqe_fetch, responses from frnic_rx_class. Documentation/microarchitecture.md, 7.2.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_req #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the WQEs that a QP may have under way, at most 7
    parameter LOG_RECS = 5,
    // Entries of the GID table, of the P_Key table; powers of two
    parameter GIDS = 128,
    parameter PKEYS = 128,
    // Bits of a metadata record (META_W)
    parameter META_BITS = 632
) (
    input  wire                 clk,
    input  wire                 rst,
    // Level: no grant is taken
    input  wire                 sweep,
    // Level: a grant ends with the packet at hand; halted: nothing is under way
    input  wire                 fence,
    output wire                 halted,
    input  wire [63:0]          time_ns,
    input  wire [15:0]          eth_maxframe,
    // Table updates of frnic_control: 1 GID, 2 P_Key, 3 clear all
    input  wire                 upd_valid,
    input  wire [1:0]           upd_table,
    input  wire [7:0]           upd_index,
    input  wire [255:0]         upd_data,
    // frnic_sched
    input  wire                 sched_valid,
    output wire                 sched_ready,
    input  wire [LOG_QPS-1:0]   sched_index,
    output wire                 done_valid,
    output wire [LOG_QPS-1:0]   done_index,
    output wire                 wake_valid,
    input  wire                 wake_ready,
    output wire [LOG_QPS-1:0]   wake_index,
    // frnic_wqe_fetch
    output wire                 g_valid,
    input  wire                 g_ready,
    output wire [23:0]          g_qpn,
    output wire [23:0]          g_index,
    output wire [23:0]          g_avail,
    output wire [63:0]          g_base,
    output wire [4:0]           g_log,
    output wire                 g_listed,
    output wire [4:0]           g_shift,
    input  wire                 w_valid,
    output wire                 w_ready,
    input  wire [23:0]          w_qpn,
    input  wire [23:0]          w_index,
    input  wire                 w_first,
    input  wire                 w_last,
    input  wire [7:0]           w_code,
    input  wire [511:0]         w_data,
    input  wire                 e_valid,
    input  wire [23:0]          e_qpn,
    output wire                 bump_valid,
    output wire [LOG_QPS-1:0]   bump_index,
    // Three readers of the connection contexts
    output wire [2:0]           qp_rd_valid,
    input  wire [2:0]           qp_rd_ready,
    output wire [3*LOG_QPS-1:0] qp_rd_index,
    input  wire [2:0]           qp_rd_done,
    input  wire                 qp_rd_live,
    input  wire                 qp_rd_err,
    input  wire [1023:0]        qp_rd_data,
    // Three clients of the live words (3.4.1)
    output wire [2:0]           lw_valid,
    output wire [71:0]          lw_qpn,
    output wire [5:0]           lw_op,
    output wire [23:0]          lw_mask,
    output wire [23:0]          lw_event,
    output wire [11:0]          lw_inc,
    output wire [2:0]           lw_buf,
    output wire [1535:0]        lw_data,
    input  wire [2:0]           lw_done,
    input  wire [511:0]         lw_rdata,
    input  wire                 chg_valid,
    input  wire [LOG_QPS-1:0]   chg_index,
    input  wire [2:0]           chg_state,
    input  wire                 chg_req,
    input  wire                 chg_clear,
    // Pulse: a packet buffer came back (R1.4)
    input  wire                 buf_back,
    // frnic_xlate
    output wire                 xl_valid,
    input  wire                 xl_ready,
    output wire [31:0]          xl_key,
    output wire [23:0]          xl_pd,
    output wire [23:0]          xl_qpn,
    output wire                 xl_kernel,
    output wire [7:0]           xl_access,
    output wire [63:0]          xl_va,
    output wire [31:0]          xl_len,
    output wire                 xl_check,
    input  wire                 xl_v_valid,
    input  wire [7:0]           xl_v_code,
    input  wire                 xl_p_valid,
    output wire                 xl_p_ready,
    input  wire [63:0]          xl_p_addr,
    input  wire [12:0]          xl_p_len,
    input  wire                 xl_p_last,
    input  wire                 xl_p_error,
    // To frnic_dma_rd: payload
    output wire                 req_valid,
    input  wire                 req_ready,
    output wire [63:0]          req_addr,
    output wire [12:0]          req_len,
    input  wire                 resp_valid,
    output wire                 resp_ready,
    input  wire [511:0]         resp_data,
    input  wire                 resp_last,
    input  wire                 resp_error,
    // To frnic_dma_rd: WQEs of answered READs and atomics, with the tag of frnic_wqe_fetch
    output wire                 wqe_req_valid,
    input  wire                 wqe_req_ready,
    output wire [63:0]          wqe_req_addr,
    output wire [12:0]          wqe_req_len,
    output wire                 wqe_req_tag,
    input  wire                 wqe_resp_valid,
    output wire                 wqe_resp_ready,
    input  wire                 resp_tag,
    // To frnic_dma_wr: data of READs and atomics
    output wire                 wr_cmd_valid,
    input  wire                 wr_cmd_ready,
    output wire [63:0]          wr_cmd_addr,
    output wire [12:0]          wr_cmd_len,
    output wire [5:0]           wr_cmd_src_off,
    output wire                 wr_data_valid,
    input  wire                 wr_data_ready,
    output wire [511:0]         wr_data,
    input  wire                 wr_st_valid,
    input  wire                 wr_st_error,
    // Responses from frnic_rx_class (kind 1)
    input  wire [511:0]         s_axis_tdata,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire [META_BITS-1:0] s_meta,
    input  wire [1023:0]        s_conn,
    // Packets to frnic_net_tx
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    // Send completions to frnic_cq
    output wire                 cqe_valid,
    input  wire                 cqe_ready,
    output wire [23:0]          cqe_cqn,
    output wire [255:0]         cqe_data,
    // Nothing is under way, but for deadlines: the earliest one, or now as long as it is looked for
    output wire                 idle,
    output wire                 timer_valid,
    output wire [63:0]          timer_ns,
    // Counters, pulses; bytes of cnt_pkt's packet, else 0
    output wire                 cnt_wqe,
    output wire                 cnt_wqe_err,
    output wire                 cnt_pkt,
    output wire [13:0]          cnt_bytes,
    output wire                 cnt_retrans,
    output wire                 cnt_ack,
    output wire                 cnt_rnr,
    output wire                 cnt_seq,
    output wire                 cnt_inv,
    output wire                 cnt_access,
    output wire                 cnt_op,
    output wire                 cnt_timeout,
    output wire                 cnt_implied,
    output wire                 cnt_retry_exc,
    output wire                 cnt_rnr_exc,
    output wire                 cnt_stale
);

    `include "frnic_hw.vh"
    `include "frnic_req.vh"
    `include "frnic_tx_desc.vh"

    localparam QPS = 1 << LOG_QPS;
    localparam LOG_DESCS = 4;
    localparam LOG_FLYING = 6;

    initial begin
        if (LOG_RECS > 7) begin
            $display("frnic_req: parameter out of range (%m)");
            $finish;
        end
    end

    // ---- What is known of a QP. fresh: nothing was written of it since it began anew; its bits are in two memories, one a writer ----
    reg [2:0] state_mem [0:QPS-1];
    reg [7:0] life_mem [0:QPS-1];
    reg anew_mem [0:QPS-1];
    reg used_mem [0:QPS-1];
    wire anew = chg_valid && (chg_clear || chg_req);
    wire rs_write;
    wire [LOG_QPS-1:0] rs_write_index;
    wire [LOG_QPS-1:0] fs_index, ts_index, as_index;

    always @(posedge clk) begin
        if (chg_valid) begin
            state_mem[chg_index] <= chg_state;
        end
        if (anew) begin
            life_mem[chg_index] <= life_mem[chg_index] + 8'd1;
            anew_mem[chg_index] <= !used_mem[chg_index];
        end
        if (rs_write && !(anew && chg_index == rs_write_index)) begin
            used_mem[rs_write_index] <= anew_mem[rs_write_index];
        end
    end

    assign bump_valid = chg_valid && chg_clear;
    assign bump_index = chg_index;

    // ---- Lock: frnic_req_ack first ----
    wire t_held, a_want, a_held;
    wire [LOG_QPS-1:0] t_lock;
    wire [LOG_QPS-1:0] a_lock;
    wire t_free = !((a_held || a_want) && a_lock == t_lock);
    wire a_free = !(t_held && t_lock == a_lock);

    // ---- Memories: users are front and back of frnic_req_tx, and frnic_req_ack as the first ----
    wire [2:0] rs_rd_valid, rs_rd_ready, rs_rd_done, rec_rd_valid, rec_rd_ready, rec_rd_done;
    wire [2*LOG_QPS-1:0] t_rs_addr;
    wire [2*(LOG_QPS+LOG_RECS)-1:0] t_rec_addr;
    wire [LOG_QPS+LOG_RECS-1:0] a_rec_addr;
    wire [RS_W-1:0] rs_data;
    wire [REC_W-1:0] rec_data;
    wire [1:0] rs_wr_valid, rs_wr_ready, rec_wr_valid, rec_wr_ready;
    wire [RS_W-1:0] a_rs_data;
    wire [RS_W-1:0] t_rs_data;
    wire [REC_W-1:0] a_rec_data;
    wire [REC_W-1:0] t_rec_data;
    wire [LOG_QPS+LOG_RECS-1:0] a_rec_wr_addr;
    wire [LOG_QPS+LOG_RECS-1:0] t_rec_wr_addr;

    /* verilator lint_off UNUSED */
    wire none_rs, none_rec;
    /* verilator lint_on UNUSED */

    assign rs_write = rs_wr_valid != 2'b00;
    assign rs_write_index = rs_wr_valid[0] ? a_lock : t_lock;

    frnic_req_mem #(.WIDTH(RS_W), .LOG_DEPTH(LOG_QPS), .USERS(3), .STYLE("ultra")) words (
        .clk(clk), .rst(rst), .rd_valid(rs_rd_valid), .rd_ready(rs_rd_ready), .rd_addr({t_rs_addr, a_lock}), .rd_done(rs_rd_done), .rd_data(rs_data),
        .wr_valid({1'b0, rs_wr_valid}), .wr_ready({none_rs, rs_wr_ready}), .wr_addr({{LOG_QPS{1'b0}}, t_lock, a_lock}),
        .wr_data({{RS_W{1'b0}}, t_rs_data, a_rs_data})
    );

    frnic_req_mem #(.WIDTH(REC_W), .LOG_DEPTH(LOG_QPS + LOG_RECS), .USERS(3), .STYLE("ultra")) records (
        .clk(clk), .rst(rst), .rd_valid(rec_rd_valid), .rd_ready(rec_rd_ready), .rd_addr({t_rec_addr, a_rec_addr}), .rd_done(rec_rd_done),
        .rd_data(rec_data), .wr_valid({1'b0, rec_wr_valid}), .wr_ready({none_rec, rec_wr_ready}),
        .wr_addr({{(LOG_QPS+LOG_RECS){1'b0}}, t_rec_wr_addr, a_rec_wr_addr}), .wr_data({{REC_W{1'b0}}, t_rec_data, a_rec_data})
    );

    // ---- Timers ----
    wire [RS_W-1:0] rs_written = rs_wr_valid[0] ? a_rs_data : t_rs_data;
    wire late_valid, late_ready;
    wire [LOG_QPS-1:0] late_index;

    frnic_req_timer #(.LOG_QPS(LOG_QPS)) timer (
        .clk(clk), .rst(rst), .time_ns(time_ns), .set_valid(rs_write), .set_index(rs_write_index), .set_armed(rs_written[RS_ARMED]),
        .set_deadline(rs_written[RS_DEADLINE +: 36]), .late_valid(late_valid), .late_ready(late_ready), .late_index(late_index),
        .timer_valid(timer_valid), .timer_ns(timer_ns)
    );

    // ---- Wakes: a change of state is never held up ----
    wire t_wake, t_wake_ready, a_wake, a_wake_ready, b_wake, b_idle, b_wait;
    wire [LOG_QPS-1:0] b_wait_index;
    wire [LOG_QPS-1:0] b_wake_index;
    wire [LOG_QPS-1:0] t_wake_index;
    wire [LOG_QPS-1:0] a_wake_index;
    wire chg_wake = chg_valid && chg_state >= `FRNIC_QP_STATE_RTS;
    wire [6:0] wakes;
    wire wake_room = wakes < 7'd32;
    /* verilator lint_off UNUSED */
    wire wake_in_ready;
    /* verilator lint_on UNUSED */

    assign a_wake_ready = !chg_wake && wake_room;
    assign t_wake_ready = !chg_wake && wake_room && !a_wake;

    frnic_buf_wait #(.LOG_QPS(LOG_QPS)) buf_wait (
        .clk(clk), .rst(rst), .sweep(sweep), .set_valid(b_wait), .set_index(b_wait_index), .back(buf_back), .wake_valid(b_wake),
        .wake_ready(t_wake_ready && !t_wake), .wake_index(b_wake_index), .idle(b_idle)
    );

    frnic_fifo #(.WIDTH(LOG_QPS), .LOG_DEPTH(6)) wake_queue (
        .clk(clk), .rst(rst), .wr_data(chg_wake ? chg_index : a_wake ? a_wake_index : t_wake ? t_wake_index : b_wake_index),
        .wr_valid(chg_wake || (wake_room && (a_wake || t_wake || b_wake))), .wr_ready(wake_in_ready), .rd_data(wake_index), .rd_valid(wake_valid),
        .rd_ready(wake_ready), .count(wakes)
    );

    // ---- Packets: descriptor to the builder, a note for when it has gone ----
    wire txd_valid, txd_acks;
    wire [TXD_W-1:0] txd;
    wire [LOG_QPS-1:0] txd_index;
    wire [7:0] txd_life;
    wire [LOG_RECS-1:0] txd_rec;
    wire [TXD_W-1:0] b_desc;
    wire b_desc_valid, b_desc_ready, ev_sent, ev_poisoned;
    wire [LOG_DESCS:0] descs;
    wire [LOG_FLYING:0] flying;
    wire [LOG_FLYING:0] gone_count;
    wire [LOG_QPS-1:0] f_index;
    wire [7:0] f_life;
    wire [LOG_RECS-1:0] f_rec;
    wire [23:0] f_psn;
    wire f_acks;
    wire pay_room, pay_idle;
    wire room = pay_room && descs < 5'd14 && flying + gone_count < 7'd60;
    wire gone_valid, gone_ready, gone_poisoned;
    wire [LOG_QPS-1:0] gone_index;
    wire [7:0] gone_life;
    wire [LOG_RECS-1:0] gone_rec;
    wire [23:0] gone_psn;
    /* verilator lint_off UNUSED */
    wire desc_in_ready, fly_in_ready, fly_valid, gone_in_ready;
    /* verilator lint_on UNUSED */

    frnic_fifo #(.WIDTH(TXD_W), .LOG_DEPTH(LOG_DESCS)) desc_queue (
        .clk(clk), .rst(rst), .wr_data(txd), .wr_valid(txd_valid), .wr_ready(desc_in_ready), .rd_data(b_desc), .rd_valid(b_desc_valid),
        .rd_ready(b_desc_ready), .count(descs)
    );

    frnic_fifo #(.WIDTH(LOG_QPS + 8 + LOG_RECS + 24 + 1), .LOG_DEPTH(LOG_FLYING)) flying_queue (
        .clk(clk), .rst(rst), .wr_data({txd_index, txd_life, txd_rec, txd[TXD_PSN +: 24], txd_acks}), .wr_valid(txd_valid), .wr_ready(fly_in_ready),
        .rd_data({f_index, f_life, f_rec, f_psn, f_acks}), .rd_valid(fly_valid), .rd_ready(ev_sent || ev_poisoned), .count(flying)
    );

    // Only what nobody else acknowledges, or what was not sent, is told.
    frnic_fifo #(.WIDTH(LOG_QPS + 8 + LOG_RECS + 24 + 1), .LOG_DEPTH(LOG_FLYING)) gone_queue (
        .clk(clk), .rst(rst), .wr_data({f_index, f_life, f_rec, f_psn, ev_poisoned}), .wr_valid(ev_poisoned || (ev_sent && f_acks)),
        .wr_ready(gone_in_ready), .rd_data({gone_index, gone_life, gone_rec, gone_psn, gone_poisoned}), .rd_valid(gone_valid), .rd_ready(gone_ready),
        .count(gone_count)
    );

    wire pc_valid, pc_ready, pc_first, pc_last, pc_inline, pc_bad, il_valid, il_ready;
    wire [63:0] pc_addr;
    wire [12:0] pc_len;
    wire [5:0] pc_off;
    wire [511:0] il_data;
    wire [511:0] y_data;
    wire y_valid, y_ready, y_user;

    frnic_req_pay pay (
        .clk(clk), .rst(rst), .pc_valid(pc_valid), .pc_ready(pc_ready), .pc_addr(pc_addr), .pc_len(pc_len), .pc_first(pc_first), .pc_last(pc_last),
        .pc_off(pc_off), .pc_inline(pc_inline), .pc_bad(pc_bad), .il_valid(il_valid), .il_ready(il_ready), .il_data(il_data), .room(pay_room),
        .req_valid(req_valid), .req_ready(req_ready), .req_addr(req_addr), .req_len(req_len), .resp_valid(resp_valid), .resp_ready(resp_ready),
        .resp_data(resp_data), .resp_last(resp_last), .resp_error(resp_error), .m_axis_tdata(y_data), .m_axis_tvalid(y_valid), .m_axis_tready(y_ready),
        .m_axis_tuser(y_user), .idle(pay_idle)
    );

    frnic_roce_tx #(.DESC_BITS(TXD_W)) build (
        .clk(clk), .rst(rst), .desc(b_desc), .desc_valid(b_desc_valid), .desc_ready(b_desc_ready), .s_axis_tdata(y_data), .s_axis_tvalid(y_valid),
        .s_axis_tready(y_ready), .s_axis_tuser(y_user), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready), .m_axis_tlast(m_axis_tlast), .ev_sent(ev_sent), .ev_poisoned(ev_poisoned)
    );

    // ---- Completions: frnic_req_ack first, but what stands stays ----
    wire t_cqe, t_cqe_ready, a_cqe, a_cqe_ready;
    wire [23:0] t_cqn;
    wire [23:0] a_cqn;
    wire [255:0] t_cqe_data;
    wire [255:0] a_cqe_data;
    reg stands_reg = 1'b0; // frnic_req_tx's
    wire pick_t = stands_reg || !a_cqe;

    assign cqe_valid = a_cqe || t_cqe;
    assign cqe_cqn = pick_t ? t_cqn : a_cqn;
    assign cqe_data = pick_t ? t_cqe_data : a_cqe_data;
    assign t_cqe_ready = cqe_ready && pick_t;
    assign a_cqe_ready = cqe_ready && !pick_t;

    always @(posedge clk) begin
        stands_reg <= pick_t && t_cqe && !cqe_ready && !rst;
    end

    // ---- Translation: whose it is changes when its user does not hold it ----
    wire t_hold, d_hold, t_xl_valid, d_xl_valid, t_xl_kernel, d_xl_kernel, t_xl_check, d_xl_check, t_p_ready, d_p_ready;
    wire [31:0] t_xl_key;
    wire [31:0] d_xl_key;
    wire [23:0] t_xl_pd;
    wire [23:0] d_xl_pd;
    wire [23:0] t_xl_qpn;
    wire [23:0] d_xl_qpn;
    wire [7:0] t_xl_access;
    wire [63:0] t_xl_va;
    wire [63:0] d_xl_va;
    wire [31:0] t_xl_len;
    wire [31:0] d_xl_len;
    reg data_owns_reg = 1'b0;

    assign xl_valid = data_owns_reg ? d_xl_valid : t_xl_valid;
    assign xl_key = data_owns_reg ? d_xl_key : t_xl_key;
    assign xl_pd = data_owns_reg ? d_xl_pd : t_xl_pd;
    assign xl_qpn = data_owns_reg ? d_xl_qpn : t_xl_qpn;
    assign xl_kernel = data_owns_reg ? d_xl_kernel : t_xl_kernel;
    assign xl_access = data_owns_reg ? 8'd1 << `FRNIC_ACCESS_LOCAL_WRITE_BIT : t_xl_access;
    assign xl_va = data_owns_reg ? d_xl_va : t_xl_va;
    assign xl_len = data_owns_reg ? d_xl_len : t_xl_len;
    assign xl_check = data_owns_reg ? d_xl_check : t_xl_check;
    assign xl_p_ready = data_owns_reg ? d_p_ready : t_p_ready;

    always @(posedge clk) begin
        if (data_owns_reg ? !d_hold && t_hold : !t_hold && d_hold) begin
            data_owns_reg <= !data_owns_reg;
        end
        if (rst) begin
            data_owns_reg <= 1'b0;
        end
    end

    // ---- Data of responses ----
    wire go_valid, go_done, go_atomic, go_last, d_idle, d_use;
    wire [7:0] go_code;
    wire [1023:0] go_conn;
    wire [23:0] go_qpn;
    wire [23:0] go_index;
    wire [2:0] go_units;
    wire [7:0] go_op;
    wire [31:0] go_len;
    wire [31:0] go_off;
    wire [12:0] go_want;
    wire [6:0] go_at;
    wire [63:0] go_value;

    frnic_req_data #(.LOG_QPS(LOG_QPS)) place (
        .clk(clk), .rst(rst), .go_valid(go_valid), .done(go_done), .done_code(go_code), .go_conn(go_conn), .go_qpn(go_qpn), .go_index(go_index),
        .go_units(go_units), .go_op(go_op), .go_len(go_len), .go_off(go_off), .go_want(go_want), .go_at(go_at), .go_atomic(go_atomic),
        .go_value(go_value), .go_last(go_last), .s_axis_tdata(s_axis_tdata), .s_axis_tvalid(s_axis_tvalid && go_valid), .s_axis_tready(d_use),
        .bump_valid(anew), .bump_index(chg_index), .xl_hold(d_hold), .xl_valid(d_xl_valid), .xl_ready(xl_ready && data_owns_reg), .xl_key(d_xl_key),
        .xl_pd(d_xl_pd), .xl_qpn(d_xl_qpn), .xl_kernel(d_xl_kernel), .xl_va(d_xl_va), .xl_len(d_xl_len), .xl_check(d_xl_check),
        .xl_v_valid(xl_v_valid && data_owns_reg), .xl_v_code(xl_v_code), .xl_p_valid(xl_p_valid && data_owns_reg), .xl_p_ready(d_p_ready),
        .xl_p_addr(xl_p_addr), .xl_p_len(xl_p_len), .xl_p_last(xl_p_last), .xl_p_error(xl_p_error),
        .req_valid(wqe_req_valid), .req_ready(wqe_req_ready), .req_addr(wqe_req_addr), .req_len(wqe_req_len), .req_tag(wqe_req_tag),
        .resp_valid(wqe_resp_valid), .resp_ready(wqe_resp_ready), .resp_data(resp_data), .resp_last(resp_last), .resp_error(resp_error),
        .resp_tag(resp_tag), .wr_cmd_valid(wr_cmd_valid), .wr_cmd_ready(wr_cmd_ready), .wr_cmd_addr(wr_cmd_addr), .wr_cmd_len(wr_cmd_len),
        .wr_cmd_src_off(wr_cmd_src_off), .wr_data_valid(wr_data_valid), .wr_data_ready(wr_data_ready), .wr_data(wr_data),
        .wr_st_valid(wr_st_valid), .wr_st_error(wr_st_error), .idle(d_idle)
    );

    // ---- The two halves ----
    wire flush_valid, flush_done, settle_valid, settle_ready;
    wire [LOG_QPS-1:0] flush_index;
    wire [LOG_QPS-1:0] settle_index;
    wire t_idle, a_idle, t_wqe_err, a_wqe_err;
    wire [511:0] t_lw_data;
    wire [511:0] a_lw_data;

    assign lw_op[3:0] = 4'd0;
    assign lw_event[15:0] = 16'd0;
    assign lw_buf[2:1] = 2'b00;
    assign lw_data = {a_lw_data, t_lw_data, 512'd0};
    assign cnt_wqe_err = t_wqe_err || a_wqe_err;
    assign halted = t_idle && a_idle && d_idle && pay_idle && descs == 5'd0 && flying == 7'd0 && !gone_valid && !m_axis_tvalid;
    assign idle = halted && b_idle && !wake_valid;

    frnic_req_tx #(
        .LOG_QPS(LOG_QPS), .LOG_RECS(LOG_RECS), .GIDS(GIDS), .PKEYS(PKEYS), .DESC_BITS(TXD_W), .RS_BITS(RS_W), .REC_BITS(REC_W)
    ) tx (
        .clk(clk), .rst(rst), .sweep(sweep), .fence(fence), .now(time_ns[45:10]), .eth_maxframe(eth_maxframe), .upd_valid(upd_valid), .upd_table(upd_table),
        .upd_index(upd_index), .upd_data(upd_data), .sched_valid(sched_valid), .sched_ready(sched_ready), .sched_index(sched_index),
        .done_valid(done_valid), .done_index(done_index), .wake_valid(t_wake), .wake_ready(t_wake_ready), .wake_index(t_wake_index),
        .g_valid(g_valid), .g_ready(g_ready), .g_qpn(g_qpn), .g_index(g_index), .g_avail(g_avail), .g_base(g_base), .g_log(g_log),
        .g_listed(g_listed), .g_shift(g_shift), .w_valid(w_valid), .w_ready(w_ready), .w_qpn(w_qpn), .w_index(w_index), .w_first(w_first),
        .w_last(w_last), .w_code(w_code), .w_data(w_data), .e_valid(e_valid), .e_qpn(e_qpn),
        .qp_rd_valid(qp_rd_valid[1:0]), .qp_rd_ready(qp_rd_ready[1:0]), .qp_rd_index(qp_rd_index[0 +: 2*LOG_QPS]), .qp_rd_done(qp_rd_done[1:0]),
        .qp_rd_live(qp_rd_live), .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .lw_valid(lw_valid[1:0]), .lw_qpn(lw_qpn[47:0]), .lw_mask(lw_mask[15:0]), .lw_inc(lw_inc[7:0]), .lw_buf(lw_buf[0]),
        .buf_back(buf_back), .wait_valid(b_wait), .wait_index(b_wait_index), .lw_data(t_lw_data), .lw_done(lw_done[1:0]), .lw_rdata(lw_rdata),
        .fs_index(fs_index), .fs_state(state_mem[fs_index]), .fs_fresh(anew_mem[fs_index] != used_mem[fs_index]),
        .ts_index(ts_index), .ts_state(state_mem[ts_index]), .ts_fresh(anew_mem[ts_index] != used_mem[ts_index]), .ts_life(life_mem[ts_index]),
        .anew_valid(anew), .anew_index(chg_index), .lock_held(t_held), .lock_index(t_lock), .lock_free(t_free),
        .rs_rd_valid(rs_rd_valid[2:1]), .rs_rd_ready(rs_rd_ready[2:1]), .rs_rd_addr(t_rs_addr), .rs_rd_done(rs_rd_done[2:1]), .rs_rd_data(rs_data),
        .rs_wr_valid(rs_wr_valid[1]), .rs_wr_ready(rs_wr_ready[1]), .rs_wr_data(t_rs_data),
        .rec_rd_valid(rec_rd_valid[2:1]), .rec_rd_ready(rec_rd_ready[2:1]), .rec_rd_addr(t_rec_addr), .rec_rd_done(rec_rd_done[2:1]),
        .rec_rd_data(rec_data), .rec_wr_valid(rec_wr_valid[1]), .rec_wr_ready(rec_wr_ready[1]), .rec_wr_addr(t_rec_wr_addr),
        .rec_wr_data(t_rec_data), .flush_valid(flush_valid), .flush_index(flush_index), .flush_done(flush_done),
        .settle_valid(settle_valid), .settle_ready(settle_ready), .settle_index(settle_index),
        .cqe_valid(t_cqe), .cqe_ready(t_cqe_ready), .cqe_cqn(t_cqn), .cqe_data(t_cqe_data),
        .xl_hold(t_hold), .xl_valid(t_xl_valid), .xl_ready(xl_ready && !data_owns_reg), .xl_key(t_xl_key), .xl_pd(t_xl_pd), .xl_qpn(t_xl_qpn),
        .xl_kernel(t_xl_kernel), .xl_access(t_xl_access), .xl_va(t_xl_va), .xl_len(t_xl_len), .xl_check(t_xl_check),
        .xl_v_valid(xl_v_valid && !data_owns_reg), .xl_v_code(xl_v_code), .xl_p_valid(xl_p_valid && !data_owns_reg), .xl_p_ready(t_p_ready), .xl_p_addr(xl_p_addr), .xl_p_len(xl_p_len), .xl_p_last(xl_p_last), .xl_p_error(xl_p_error),
        .pc_valid(pc_valid), .pc_ready(pc_ready), .pc_addr(pc_addr), .pc_len(pc_len), .pc_first(pc_first), .pc_last(pc_last), .pc_off(pc_off),
        .pc_inline(pc_inline), .pc_bad(pc_bad), .il_valid(il_valid), .il_ready(il_ready), .il_data(il_data), .room(room),
        .txd_valid(txd_valid), .txd(txd), .txd_index(txd_index), .txd_life(txd_life), .txd_rec(txd_rec), .txd_acks(txd_acks), .idle(t_idle),
        .cnt_wqe(cnt_wqe), .cnt_wqe_err(t_wqe_err), .cnt_pkt(cnt_pkt), .cnt_bytes(cnt_bytes), .cnt_retrans(cnt_retrans)
    );

    frnic_req_ack #(
        .LOG_QPS(LOG_QPS), .LOG_RECS(LOG_RECS), .META_BITS(META_BITS), .RS_BITS(RS_W), .REC_BITS(REC_W)
    ) ack (
        .clk(clk), .rst(rst), .now(time_ns[45:10]), .s_axis_tdata(s_axis_tdata), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
        .s_axis_tlast(s_axis_tlast), .s_meta(s_meta), .s_conn(s_conn), .s_axis_use(d_use), .go_valid(go_valid), .go_done(go_done),
        .go_code(go_code), .go_conn(go_conn), .go_qpn(go_qpn), .go_index(go_index), .go_units(go_units), .go_op(go_op), .go_len(go_len),
        .go_off(go_off), .go_want(go_want), .go_at(go_at), .go_atomic(go_atomic), .go_value(go_value), .go_last(go_last),
        .gone_valid(gone_valid), .gone_ready(gone_ready), .gone_index(gone_index), .gone_life(gone_life), .gone_rec(gone_rec), .gone_psn(gone_psn),
        .gone_poisoned(gone_poisoned), .flush_valid(flush_valid), .flush_index(flush_index), .flush_done(flush_done),
        .settle_valid(settle_valid), .settle_ready(settle_ready), .settle_index(settle_index),
        .late_valid(late_valid), .late_ready(late_ready), .late_index(late_index),
        .wake_valid(a_wake), .wake_ready(a_wake_ready), .wake_index(a_wake_index),
        .qp_rd_valid(qp_rd_valid[2]), .qp_rd_ready(qp_rd_ready[2]), .qp_rd_index(qp_rd_index[2*LOG_QPS +: LOG_QPS]), .qp_rd_done(qp_rd_done[2]),
        .qp_rd_live(qp_rd_live), .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .lw_valid(lw_valid[2]), .lw_qpn(lw_qpn[71:48]), .lw_op(lw_op[5:4]), .lw_mask(lw_mask[23:16]),
        .lw_event(lw_event[23:16]), .lw_inc(lw_inc[11:8]), .lw_data(a_lw_data), .lw_done(lw_done[2]),
        .as_index(as_index), .as_state(state_mem[as_index]), .as_fresh(anew_mem[as_index] != used_mem[as_index]), .as_life(life_mem[as_index]),
        .anew_valid(anew), .anew_index(chg_index), .lock_want(a_want), .lock_held(a_held), .lock_index(a_lock), .lock_free(a_free),
        .rs_rd_valid(rs_rd_valid[0]), .rs_rd_ready(rs_rd_ready[0]), .rs_rd_done(rs_rd_done[0]), .rs_rd_data(rs_data),
        .rs_wr_valid(rs_wr_valid[0]), .rs_wr_ready(rs_wr_ready[0]), .rs_wr_data(a_rs_data),
        .rec_rd_valid(rec_rd_valid[0]), .rec_rd_ready(rec_rd_ready[0]), .rec_rd_addr(a_rec_addr), .rec_rd_done(rec_rd_done[0]),
        .rec_rd_data(rec_data), .rec_wr_valid(rec_wr_valid[0]), .rec_wr_ready(rec_wr_ready[0]), .rec_wr_addr(a_rec_wr_addr),
        .rec_wr_data(a_rec_data), .cqe_valid(a_cqe), .cqe_ready(a_cqe_ready), .cqe_cqn(a_cqn), .cqe_data(a_cqe_data), .idle(a_idle),
        .cnt_ack(cnt_ack), .cnt_rnr(cnt_rnr), .cnt_seq(cnt_seq), .cnt_inv(cnt_inv), .cnt_access(cnt_access), .cnt_op(cnt_op),
        .cnt_timeout(cnt_timeout), .cnt_implied(cnt_implied), .cnt_retry_exc(cnt_retry_exc), .cnt_rnr_exc(cnt_rnr_exc), .cnt_stale(cnt_stale),
        .cnt_wqe_err(a_wqe_err)
    );

endmodule

`resetall
