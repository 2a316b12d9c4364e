// SPDX-License-Identifier: BSD-2-Clause
//
// The responder: front (requests, datagrams, writes), back (completions, answers, READ responses), and what they share. Instances and wires, and the
// turns at the translation. Documentation/microarchitecture.md, 7.3.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_resp #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the GID and P_Key tables
    parameter LOG_GIDS = 7,
    parameter LOG_PKEYS = 7,
    // Bits of a metadata record (META_W)
    parameter META_BITS = 632
) (
    input  wire                 clk,
    input  wire                 rst,
    // Packets from frnic_rx_class: kinds 0 (request) and 2 (datagram)
    input  wire [511:0]         s_axis_tdata,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire [META_BITS-1:0] s_meta,
    input  wire [1023:0]        s_conn,
    // Reader of the connection contexts
    output wire                 qp_rd_valid,
    input  wire                 qp_rd_ready,
    output wire [LOG_QPS-1:0]   qp_rd_index,
    input  wire                 qp_rd_done,
    input  wire                 qp_rd_live,
    input  wire                 qp_rd_err,
    input  wire [1023:0]        qp_rd_data,
    // Clients of the live words: 0 front, 1 back
    output wire [1:0]           lw_valid,
    output wire [47:0]          lw_qpn,
    output wire [3:0]           lw_op,
    output wire [15:0]          lw_mask,
    output wire [15:0]          lw_event,
    output wire [7:0]           lw_inc,
    output wire [1:0]           lw_buf,
    output wire [1023:0]        lw_data,
    input  wire [1:0]           lw_done,
    input  wire                 lw_err,
    input  wire [511:0]         lw_rdata,
    input  wire                 chg_valid,
    input  wire [LOG_QPS-1:0]   chg_index,
    input  wire [2:0]           chg_state,
    input  wire                 chg_resp,
    input  wire                 chg_clear,
    input  wire                 rqdb_valid,
    input  wire [LOG_QPS-1:0]   rqdb_index,
    // Table updates
    input  wire                 upd_valid,
    input  wire [1:0]           upd_table,
    input  wire [7:0]           upd_index,
    input  wire [255:0]         upd_data,
    // frnic_rq_fetch
    output wire                 q_valid,
    input  wire                 q_ready,
    output wire [23:0]          q_qpn,
    input  wire                 r_valid,
    output wire                 r_ready,
    input  wire                 r_first,
    input  wire                 r_last,
    input  wire [2:0]           r_result,
    input  wire                 r_srq,
    input  wire [23:0]          r_pd,
    input  wire [4:0]           r_num,
    input  wire [511:0]         r_line,
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
    input  wire                 v_valid,
    input  wire [7:0]           v_code,
    input  wire                 p_valid,
    output wire                 p_ready,
    input  wire [63:0]          p_addr,
    input  wire [12:0]          p_len,
    input  wire                 p_last,
    input  wire                 p_error,
    // frnic_dma_wr
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
    // frnic_dma_wr, another client: what atomics leave
    output wire                 at_cmd_valid,
    input  wire                 at_cmd_ready,
    output wire [63:0]          at_cmd_addr,
    output wire [12:0]          at_cmd_len,
    output wire [5:0]           at_cmd_src_off,
    output wire                 at_data_valid,
    input  wire                 at_data_ready,
    output wire [511:0]         at_data,
    input  wire                 at_st_valid,
    input  wire                 at_st_error,
    // frnic_dma_rd
    output wire                 req_valid,
    input  wire                 req_ready,
    output wire [63:0]          req_addr,
    output wire [12:0]          req_len,
    input  wire                 resp_valid,
    output wire                 resp_ready,
    input  wire [511:0]         resp_data,
    input  wire                 resp_last,
    input  wire                 resp_error,
    // frnic_cq
    output wire                 cqe_valid,
    input  wire                 cqe_ready,
    output wire [23:0]          cqe_cqn,
    output wire [255:0]         cqe_data,
    output wire                 cqe_solicited,
    // Frames to frnic_net_tx
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    // Level: everything is forgotten
    input  wire                 sweep,
    // Level: no packet of a READ and no flush begins; halted: nothing is under way, no write of its waits for its answer
    input  wire                 fence,
    output wire                 halted,
    output wire                 idle,
    // Trigger; counters, pulses
    output wire                 psn_gap,
    output wire [23:0]          psn_gap_qpn,
    output wire                 cnt_sends,
    output wire                 cnt_writes,
    output wire                 cnt_reads,
    output wire                 cnt_dup,
    output wire                 cnt_gap,
    output wire                 cnt_bad_state,
    output wire                 cnt_bad_pkey,
    output wire                 cnt_bad_qkey,
    output wire                 cnt_no_recv,
    output wire                 cnt_uc_dropped,
    output wire                 cnt_vanished,
    output wire                 cnt_ack,
    output wire                 cnt_rnr,
    output wire                 cnt_seq,
    output wire                 cnt_inv,
    output wire                 cnt_access,
    output wire                 cnt_op,
    output wire                 cnt_atomics,
    output wire                 cnt_tx,
    output wire [13:0]          cnt_tx_bytes
);

    `include "frnic_resp_rec.vh"
    `include "frnic_tx_desc.vh"

    // ---- Packets: what is to be judged, and their bytes ----
    wire ctx_valid, ctx_ready, pkt_tvalid, pkt_tready, pkt_tlast;
    wire [512+1024+META_BITS-1:0] ctx;
    wire [511:0] pkt_tdata;

    frnic_rx_stage #(.CTX_W(512 + 1024 + META_BITS)) stage (
        .clk(clk), .rst(rst), .s_axis_tdata(s_axis_tdata), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready), .s_axis_tlast(s_axis_tlast),
        .s_ctx({s_axis_tdata, s_conn, s_meta}), .ctx_valid(ctx_valid), .ctx_ready(ctx_ready), .ctx(ctx), .m_axis_tdata(pkt_tdata),
        .m_axis_tvalid(pkt_tvalid), .m_axis_tready(pkt_tready), .m_axis_tlast(pkt_tlast)
    );

    wire rec_valid, rec_ready, reading;
    wire [LOG_QPS-1:0] reads_index;
    wire [7:0] reads;
    wire atomics;
    wire [R_W-1:0] rec;
    wire front_idle, back_idle, front_halted, back_paused;

    // ---- Translation: who has begun goes on to the last piece ----
    wire f_hold, f_valid, b_hold, b_valid;
    wire [31:0] f_key;
    wire [31:0] b_key;
    wire [23:0] f_pd;
    wire [23:0] b_pd;
    wire [23:0] f_qpn;
    wire [23:0] b_qpn;
    wire f_kernel, b_kernel, f_check;
    wire [7:0] f_access;
    wire [7:0] b_access;
    wire [63:0] f_va;
    wire [63:0] b_va;
    wire [31:0] f_len;
    wire [31:0] b_len;
    wire f_p_ready, b_p_ready;
    reg back_reg = 1'b0; // whose turn it is

    always @(posedge clk) begin
        if (back_reg ? !b_hold : !f_hold) begin
            back_reg <= b_hold && !back_reg;
        end
        if (rst) begin
            back_reg <= 1'b0;
        end
    end

    assign xl_valid = back_reg ? b_valid : f_valid;
    assign xl_key = back_reg ? b_key : f_key;
    assign xl_pd = back_reg ? b_pd : f_pd;
    assign xl_qpn = back_reg ? b_qpn : f_qpn;
    assign xl_kernel = back_reg ? b_kernel : f_kernel;
    assign xl_access = back_reg ? b_access : f_access;
    assign xl_va = back_reg ? b_va : f_va;
    assign xl_len = back_reg ? b_len : f_len;
    assign xl_check = !back_reg && f_check;
    assign p_ready = back_reg ? b_p_ready : f_p_ready;

    // ---- Tables ----
    wire [LOG_PKEYS-1:0] f_pkey_index;
    wire [LOG_PKEYS-1:0] b_pkey_index;
    wire [15:0] f_pkey;
    wire [15:0] b_pkey;
    wire [LOG_GIDS-1:0] gid_index;
    wire gid_valid, gid_ipv6, gid_vlan;
    wire [11:0] gid_vid;
    wire [47:0] gid_smac;
    wire [127:0] gid;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_port_tables #(.LOG_GIDS(LOG_GIDS), .LOG_PKEYS(LOG_PKEYS)) front_tables (
        .clk(clk), .rst(rst), .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .gid_index({LOG_GIDS{1'b0}}), .gid_valid(), .gid_ipv6(), .gid_vlan(), .gid_vid(), .gid_smac(), .gid(),
        .pkey_index(f_pkey_index), .pkey(f_pkey)
    );
    /* verilator lint_on PINCONNECTEMPTY */
    frnic_port_tables #(.LOG_GIDS(LOG_GIDS), .LOG_PKEYS(LOG_PKEYS)) back_tables (
        .clk(clk), .rst(rst), .upd_valid(upd_valid), .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data),
        .gid_index(gid_index), .gid_valid(gid_valid), .gid_ipv6(gid_ipv6), .gid_vlan(gid_vlan), .gid_vid(gid_vid), .gid_smac(gid_smac), .gid(gid),
        .pkey_index(b_pkey_index), .pkey(b_pkey)
    );

    assign lw_op[1:0] = 2'd0;
    assign lw_buf[1] = 1'b0;

    frnic_resp_front #(.LOG_QPS(LOG_QPS), .LOG_PKEYS(LOG_PKEYS), .META_BITS(META_BITS), .REC_BITS(R_W)) front (
        .clk(clk), .rst(rst), .s_valid(ctx_valid), .s_ready(ctx_ready), .s_meta(ctx[META_BITS-1:0]), .s_conn(ctx[META_BITS +: 1024]),
        .s_first(ctx[META_BITS + 1024 +: 512]), .s_axis_tdata(pkt_tdata), .s_axis_tvalid(pkt_tvalid), .s_axis_tready(pkt_tready), .s_axis_tlast(pkt_tlast),
        .qp_rd_valid(qp_rd_valid), .qp_rd_ready(qp_rd_ready), .qp_rd_index(qp_rd_index), .qp_rd_done(qp_rd_done), .qp_rd_live(qp_rd_live),
        .qp_rd_err(qp_rd_err), .qp_rd_data(qp_rd_data),
        .lw_valid(lw_valid[0]), .lw_qpn(lw_qpn[23:0]), .lw_mask(lw_mask[7:0]), .lw_event(lw_event[7:0]), .lw_inc(lw_inc[3:0]),
        .lw_buf(lw_buf[0]), .lw_data(lw_data[511:0]), .lw_done(lw_done[0]), .lw_err(lw_err), .lw_rdata(lw_rdata),
        .chg_valid(chg_valid), .chg_index(chg_index), .chg_state(chg_state), .chg_resp(chg_resp), .chg_clear(chg_clear),
        .rqdb_valid(rqdb_valid), .rqdb_index(rqdb_index), .pkey_index(f_pkey_index), .pkey(f_pkey),
        .q_valid(q_valid), .q_ready(q_ready), .q_qpn(q_qpn), .r_valid(r_valid), .r_ready(r_ready), .r_first(r_first), .r_last(r_last),
        .r_result(r_result), .r_srq(r_srq), .r_pd(r_pd), .r_num(r_num), .r_line(r_line),
        .xl_hold(f_hold), .xl_valid(f_valid), .xl_ready(xl_ready && !back_reg), .xl_key(f_key), .xl_pd(f_pd), .xl_qpn(f_qpn),
        .xl_kernel(f_kernel), .xl_access(f_access), .xl_va(f_va), .xl_len(f_len), .xl_check(f_check), .v_valid(v_valid && !back_reg),
        .v_code(v_code), .p_valid(p_valid && !back_reg), .p_ready(f_p_ready), .p_addr(p_addr), .p_len(p_len), .p_last(p_last), .p_error(p_error),
        .wr_cmd_valid(wr_cmd_valid), .wr_cmd_ready(wr_cmd_ready), .wr_cmd_addr(wr_cmd_addr), .wr_cmd_len(wr_cmd_len),
        .wr_cmd_src_off(wr_cmd_src_off), .wr_data_valid(wr_data_valid), .wr_data_ready(wr_data_ready), .wr_data(wr_data),
        .rec_valid(rec_valid), .rec_ready(rec_ready), .rec(rec), .reading(reading), .reads_index(reads_index), .reads(reads), .atomics(atomics), .sweep(sweep),
        .fence(fence), .halted(front_halted), .idle(front_idle),
        .psn_gap(psn_gap), .psn_gap_qpn(psn_gap_qpn), .cnt_sends(cnt_sends), .cnt_writes(cnt_writes), .cnt_reads(cnt_reads), .cnt_dup(cnt_dup),
        .cnt_gap(cnt_gap), .cnt_bad_state(cnt_bad_state), .cnt_bad_pkey(cnt_bad_pkey), .cnt_bad_qkey(cnt_bad_qkey), .cnt_no_recv(cnt_no_recv),
        .cnt_uc_dropped(cnt_uc_dropped), .cnt_vanished(cnt_vanished)
    );

    // ---- Answers ----
    wire desc_valid, desc_ready, ev_sent, ev_poisoned;
    wire [TXD_W-1:0] desc;
    wire pc_valid, pc_ready, pc_first, pc_last;
    wire [5:0] pc_lane;
    wire [12:0] pc_len;
    wire [5:0] pc_off;
    wire [511:0] pay_tdata;
    wire pay_tvalid, pay_tready, pay_tuser;

    // Payload goes on to be aligned; an atomic's is the back's. Never both at a time: a READ is over when all its packets have left.
    wire resp_mine;
    wire align_ready;

    assign resp_ready = resp_mine || align_ready;

    frnic_resp_back #(.LOG_QPS(LOG_QPS), .LOG_GIDS(LOG_GIDS), .LOG_PKEYS(LOG_PKEYS), .REC_BITS(R_W), .DESC_BITS(TXD_W)) back (
        .clk(clk), .rst(rst), .rec_valid(rec_valid), .rec_ready(rec_ready), .rec(rec), .reading(reading),
        .reads_index(reads_index), .reads(reads), .atomics(atomics), .wr_st_valid(wr_st_valid), .wr_st_error(wr_st_error), .cqe_valid(cqe_valid), .cqe_ready(cqe_ready), .cqe_cqn(cqe_cqn),
        .cqe_data(cqe_data), .cqe_solicited(cqe_solicited),
        .gid_index(gid_index), .gid_valid(gid_valid), .gid_ipv6(gid_ipv6), .gid_vlan(gid_vlan), .gid_vid(gid_vid), .gid_smac(gid_smac),
        .gid(gid), .pkey_index(b_pkey_index), .pkey(b_pkey),
        .xl_hold(b_hold), .xl_valid(b_valid), .xl_ready(xl_ready && back_reg), .xl_key(b_key), .xl_pd(b_pd), .xl_qpn(b_qpn),
        .xl_kernel(b_kernel), .xl_access(b_access), .xl_va(b_va), .xl_len(b_len), .v_valid(v_valid && back_reg), .v_code(v_code),
        .p_valid(p_valid && back_reg), .p_ready(b_p_ready), .p_addr(p_addr), .p_len(p_len), .p_last(p_last), .p_error(p_error),
        .req_valid(req_valid), .req_ready(req_ready), .req_addr(req_addr), .req_len(req_len),
        .resp_mine(resp_mine), .resp_valid(resp_valid), .resp_data(resp_data), .resp_last(resp_last), .resp_error(resp_error),
        .at_cmd_valid(at_cmd_valid), .at_cmd_ready(at_cmd_ready), .at_cmd_addr(at_cmd_addr), .at_cmd_len(at_cmd_len),
        .at_cmd_src_off(at_cmd_src_off), .at_data_valid(at_data_valid), .at_data_ready(at_data_ready), .at_data(at_data),
        .at_st_valid(at_st_valid), .at_st_error(at_st_error),
        .pc_valid(pc_valid), .pc_ready(pc_ready), .pc_lane(pc_lane), .pc_len(pc_len), .pc_first(pc_first), .pc_last(pc_last), .pc_off(pc_off),
        .desc_valid(desc_valid), .desc_ready(desc_ready), .desc(desc), .ev_sent(ev_sent), .ev_poisoned(ev_poisoned),
        .ev_left(m_axis_tvalid && m_axis_tready && m_axis_tlast),
        .lw_valid(lw_valid[1]), .lw_qpn(lw_qpn[47:24]), .lw_op(lw_op[3:2]), .lw_mask(lw_mask[15:8]), .lw_event(lw_event[15:8]),
        .lw_inc(lw_inc[7:4]), .lw_data(lw_data[1023:512]), .lw_done(lw_done[1]),
        .chg_valid(chg_valid), .chg_index(chg_index), .chg_state(chg_state), .chg_clear(chg_clear), .sweep(sweep), .fence(fence), .paused(back_paused), .idle(back_idle),
        .cnt_ack(cnt_ack), .cnt_rnr(cnt_rnr), .cnt_seq(cnt_seq), .cnt_inv(cnt_inv), .cnt_access(cnt_access), .cnt_op(cnt_op), .cnt_atomics(cnt_atomics), .cnt_tx(cnt_tx),
        .cnt_tx_bytes(cnt_tx_bytes)
    );

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_tx_align align (
        .clk(clk), .rst(rst), .pc_valid(pc_valid), .pc_ready(pc_ready), .pc_lane(pc_lane), .pc_len(pc_len), .pc_first(pc_first),
        .pc_last(pc_last), .pc_off(pc_off), .resp_valid(resp_valid && !resp_mine), .resp_ready(align_ready), .resp_data(resp_data), .resp_last(resp_last),
        .resp_error(resp_error), .m_axis_tdata(pay_tdata), .m_axis_tvalid(pay_tvalid), .m_axis_tready(pay_tready), .m_axis_tlast(),
        .m_axis_tuser(pay_tuser)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    frnic_roce_tx #(.DESC_BITS(TXD_W)) roce_tx (
        .clk(clk), .rst(rst), .desc(desc), .desc_valid(desc_valid), .desc_ready(desc_ready), .s_axis_tdata(pay_tdata), .s_axis_tvalid(pay_tvalid),
        .s_axis_tready(pay_tready), .s_axis_tuser(pay_tuser), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tlast(m_axis_tlast), .ev_sent(ev_sent), .ev_poisoned(ev_poisoned)
    );

    // Writes without their answer: what waits behind a READ that pauses has begun them.
    reg [10:0] writes_reg = 11'd0;

    always @(posedge clk) begin
        writes_reg <= rst ? 11'd0 : writes_reg + {10'd0, wr_cmd_valid && wr_cmd_ready} - {10'd0, wr_st_valid};
    end

    assign halted = front_halted && !rec_valid && (back_idle || (back_paused && writes_reg == 11'd0));
    assign idle = front_idle && back_idle && !rec_valid;

endmodule

`resetall
