// SPDX-License-Identifier: BSD-2-Clause
//
// The requester with what it works with: scheduler, WQE fetch, translation and read engine. Contexts, live words and completions are the bench's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module tb_top #(
    parameter LOG_QPS = 7,
    parameter LOG_MRS = 4
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire [63:0]          time_ns,
    input  wire                 upd_valid,
    input  wire [1:0]           upd_table,
    input  wire [7:0]           upd_index,
    input  wire [255:0]         upd_data,
    input  wire                 sqdb_valid,
    input  wire [LOG_QPS-1:0]   sqdb_index,
    output wire [2:0]           qp_rd_valid,
    input  wire [2:0]           qp_rd_ready,
    output wire [3*LOG_QPS-1:0] qp_rd_index,
    input  wire [2:0]           qp_rd_done,
    input  wire                 qp_rd_live,
    input  wire [1023:0]        qp_rd_data,
    output wire [2:0]           lw_valid,
    output wire [71:0]          lw_qpn,
    output wire [5:0]           lw_op,
    output wire [23:0]          lw_mask,
    output wire [23:0]          lw_event,
    output wire [11:0]          lw_inc,
    output wire [2:0]           lw_buf,
    input  wire                 buf_back,
    input  wire                 fence,
    output wire                 halted,
    output wire [1535:0]        lw_data,
    input  wire [2:0]           lw_done,
    input  wire [511:0]         lw_rdata,
    input  wire                 chg_valid,
    input  wire [LOG_QPS-1:0]   chg_index,
    input  wire [2:0]           chg_state,
    input  wire                 chg_req,
    input  wire                 chg_clear,
    output wire                 mr_rd_valid,
    output wire [LOG_MRS-1:0]   mr_rd_index,
    input  wire                 mr_rd_done,
    input  wire                 mr_rd_live,
    input  wire [383:0]         mr_rd_data,
    input  wire                 inv_valid,
    input  wire [LOG_MRS-1:0]   inv_index,
    output wire [5:0]           m_axi_arid,
    output wire [63:0]          m_axi_araddr,
    output wire [7:0]           m_axi_arlen,
    output wire                 m_axi_arvalid,
    input  wire                 m_axi_arready,
    input  wire [5:0]           m_axi_rid,
    input  wire [511:0]         m_axi_rdata,
    input  wire [1:0]           m_axi_rresp,
    input  wire                 m_axi_rlast,
    input  wire                 m_axi_rvalid,
    output wire                 m_axi_rready,
    output wire                 cmd_valid,
    input  wire                 cmd_ready,
    output wire [63:0]          cmd_addr,
    output wire [12:0]          cmd_len,
    output wire [5:0]           cmd_src_off,
    output wire                 data_valid,
    input  wire                 data_ready,
    output wire [511:0]         data,
    input  wire                 st_valid,
    input  wire                 st_error,
    input  wire [511:0]         s_axis_tdata,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire [631:0]         s_meta,
    input  wire [1023:0]        s_conn,
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    output wire                 m_axis_tuser,
    output wire                 cqe_valid,
    input  wire                 cqe_ready,
    output wire [23:0]          cqe_cqn,
    output wire [255:0]         cqe_data,
    output wire                 idle,
    output wire                 timer_valid,
    output wire [63:0]          timer_ns,
    output wire                 cnt_pkt,
    output wire                 cnt_retrans,
    output wire                 cnt_timeout,
    output wire                 cnt_stale,
    output wire                 ready
);

    wire sched_valid, sched_ready, done_valid, wake_valid, wake_ready;
    wire [LOG_QPS-1:0] sched_index;
    wire [LOG_QPS-1:0] done_index;
    wire [LOG_QPS-1:0] wake_index;
    wire g_valid, g_ready, g_listed, w_valid, w_ready, w_first, w_last, e_valid, bump_valid, xl_idle, f_idle, s_idle, r_idle, dma_busy;
    wire [23:0] g_qpn, g_index, g_avail, w_qpn, w_index, e_qpn, e_next;
    wire [63:0] g_base;
    wire [4:0] g_log, g_shift;
    wire [7:0] w_code;
    wire [511:0] w_data;
    wire [LOG_QPS-1:0] bump_index;
    wire xl_valid, xl_ready, xl_kernel, xl_check, xl_v_valid, xl_p_valid, xl_p_ready, xl_p_last, xl_p_error;
    wire [31:0] xl_key, xl_len;
    wire [23:0] xl_pd, xl_qpn;
    wire [7:0] xl_access, xl_v_code;
    wire [63:0] xl_va, xl_p_addr;
    wire [12:0] xl_p_len;
    wire [3:0] req_valid, req_ready, resp_valid, resp_ready, req_tag;
    wire [255:0] req_addr;
    wire [51:0] req_len;
    wire [511:0] resp_data;
    wire resp_last, resp_error, resp_tag, e_stale, x_sweep_done, s_sweep_done;

    assign req_tag[2:1] = 2'b00;
    wire r_halted;

    assign halted = r_halted && xl_idle && !dma_busy;
    assign idle = r_idle && s_idle && f_idle && xl_idle && !dma_busy && !sched_valid;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_sched #(.LOG_QPS(LOG_QPS)) sched (
        .clk(clk), .rst(rst), .sweep(1'b0), .sweep_done(s_sweep_done), .sqdb_valid(sqdb_valid), .sqdb_index(sqdb_index), .wake_valid(wake_valid),
        .wake_ready(wake_ready), .wake_index(wake_index), .sched_valid(sched_valid), .sched_ready(sched_ready && !fence), .sched_index(sched_index),
        .done_valid(done_valid), .done_index(done_index), .idle(s_idle)
    );

    frnic_wqe_fetch #(.LOG_QPS(LOG_QPS), .LOG_PAGES(3)) fetch (
        .clk(clk), .rst(rst), .g_valid(g_valid), .g_ready(g_ready), .g_qpn(g_qpn), .g_index(g_index), .g_avail(g_avail), .g_base(g_base),
        .g_log(g_log), .g_listed(g_listed), .g_shift(g_shift), .w_valid(w_valid), .w_ready(w_ready), .w_qpn(w_qpn), .w_index(w_index),
        .w_first(w_first), .w_last(w_last), .w_code(w_code), .w_data(w_data), .e_valid(e_valid), .e_qpn(e_qpn), .e_next(e_next),
        .e_stale(e_stale), .bump_valid(bump_valid), .bump_index(bump_index), .pu_valid(1'b0), .pu_qpn(24'd0), .pu_index(24'd0), .pu_units(3'd0),
        .pu_data(2560'd0), .req_valid(req_valid[0]), .req_ready(req_ready[0]), .req_addr(req_addr[63:0]), .req_len(req_len[12:0]),
        .req_tag(req_tag[0]), .resp_valid(resp_valid[0]), .resp_ready(resp_ready[0]), .resp_data(resp_data), .resp_last(resp_last),
        .resp_error(resp_error), .resp_tag(resp_tag), .idle(f_idle), .ev_pushed()
    );

    frnic_xlate #(.LOG_MRS(LOG_MRS), .LOG_LINES(5)) xlate (
        .clk(clk), .rst(rst), .sweep(1'b0), .sweep_done(x_sweep_done), .rq_valid(xl_valid), .rq_ready(xl_ready), .rq_key(xl_key), .rq_pd(xl_pd),
        .rq_qpn(xl_qpn), .rq_kernel(xl_kernel), .rq_access(xl_access), .rq_va(xl_va), .rq_len(xl_len), .rq_check(xl_check), .v_valid(xl_v_valid),
        .v_code(xl_v_code), .p_valid(xl_p_valid), .p_ready(xl_p_ready), .p_addr(xl_p_addr), .p_len(xl_p_len), .p_last(xl_p_last),
        .p_error(xl_p_error), .mr_rd_valid(mr_rd_valid), .mr_rd_ready(1'b1), .mr_rd_index(mr_rd_index), .mr_rd_done(mr_rd_done),
        .mr_rd_live(mr_rd_live), .mr_rd_err(1'b0), .mr_rd_data(mr_rd_data), .inv_valid(inv_valid), .inv_index(inv_index),
        .req_valid(req_valid[1]), .req_ready(req_ready[1]), .req_addr(req_addr[127:64]), .req_len(req_len[25:13]), .resp_valid(resp_valid[1]),
        .resp_ready(resp_ready[1]), .resp_data(resp_data), .resp_last(resp_last), .resp_error(resp_error), .idle(xl_idle), .ev_hit(), .ev_miss()
    );

    frnic_dma_rd #(.CLIENTS(4), .HIGH(2), .TAG_W(1)) dma (
        .clk(clk), .rst(rst), .req_valid(req_valid), .req_ready(req_ready), .req_addr(req_addr), .req_len(req_len), .req_tag(req_tag),
        .resp_valid(resp_valid), .resp_ready(resp_ready), .resp_data(resp_data), .resp_last(resp_last), .resp_error(resp_error),
        .resp_tag(resp_tag), .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen), .m_axi_arsize(), .m_axi_arburst(),
        .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready), .active(), .busy(dma_busy), .ev_error(), .ev_timeout()
    );

    frnic_req #(.LOG_QPS(LOG_QPS)) dut (
        .clk(clk), .rst(rst), .sweep(1'b0), .fence(fence), .halted(r_halted), .time_ns(time_ns), .eth_maxframe(16'd9216), .upd_valid(upd_valid),
        .upd_table(upd_table), .upd_index(upd_index), .upd_data(upd_data), .sched_valid(sched_valid && !fence), .sched_ready(sched_ready), .sched_index(sched_index),
        .done_valid(done_valid), .done_index(done_index), .wake_valid(wake_valid), .wake_ready(wake_ready), .wake_index(wake_index),
        .g_valid(g_valid), .g_ready(g_ready), .g_qpn(g_qpn), .g_index(g_index), .g_avail(g_avail), .g_base(g_base), .g_log(g_log),
        .g_listed(g_listed), .g_shift(g_shift), .w_valid(w_valid), .w_ready(w_ready), .w_qpn(w_qpn), .w_index(w_index), .w_first(w_first),
        .w_last(w_last), .w_code(w_code), .w_data(w_data), .e_valid(e_valid), .e_qpn(e_qpn), .bump_valid(bump_valid), .bump_index(bump_index),
        .qp_rd_valid(qp_rd_valid), .qp_rd_ready(qp_rd_ready), .qp_rd_index(qp_rd_index), .qp_rd_done(qp_rd_done), .qp_rd_live(qp_rd_live),
        .qp_rd_err(1'b0), .qp_rd_data(qp_rd_data), .lw_valid(lw_valid), .lw_qpn(lw_qpn), .lw_op(lw_op), .lw_mask(lw_mask), .lw_event(lw_event),
        .lw_inc(lw_inc), .lw_buf(lw_buf), .buf_back(buf_back), .lw_data(lw_data), .lw_done(lw_done), .lw_rdata(lw_rdata), .chg_valid(chg_valid), .chg_index(chg_index),
        .chg_state(chg_state), .chg_req(chg_req), .chg_clear(chg_clear), .xl_valid(xl_valid), .xl_ready(xl_ready), .xl_key(xl_key), .xl_pd(xl_pd),
        .xl_qpn(xl_qpn), .xl_kernel(xl_kernel), .xl_access(xl_access), .xl_va(xl_va), .xl_len(xl_len), .xl_check(xl_check),
        .xl_v_valid(xl_v_valid), .xl_v_code(xl_v_code), .xl_p_valid(xl_p_valid), .xl_p_ready(xl_p_ready), .xl_p_addr(xl_p_addr),
        .xl_p_len(xl_p_len), .xl_p_last(xl_p_last), .xl_p_error(xl_p_error), .req_valid(req_valid[2]), .req_ready(req_ready[2]),
        .req_addr(req_addr[191:128]), .req_len(req_len[38:26]), .resp_valid(resp_valid[2]), .resp_ready(resp_ready[2]), .resp_data(resp_data),
        .resp_last(resp_last), .resp_error(resp_error), .wqe_req_valid(req_valid[3]), .wqe_req_ready(req_ready[3]),
        .wqe_req_addr(req_addr[255:192]), .wqe_req_len(req_len[51:39]), .wqe_req_tag(req_tag[3]), .wqe_resp_valid(resp_valid[3]),
        .wqe_resp_ready(resp_ready[3]), .resp_tag(resp_tag), .wr_cmd_valid(cmd_valid), .wr_cmd_ready(cmd_ready), .wr_cmd_addr(cmd_addr),
        .wr_cmd_len(cmd_len), .wr_cmd_src_off(cmd_src_off), .wr_data_valid(data_valid), .wr_data_ready(data_ready), .wr_data(data),
        .wr_st_valid(st_valid), .wr_st_error(st_error), .s_axis_tdata(s_axis_tdata), .s_axis_tvalid(s_axis_tvalid),
        .s_axis_tready(s_axis_tready), .s_axis_tlast(s_axis_tlast), .s_meta(s_meta), .s_conn(s_conn), .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep), .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tlast(m_axis_tlast),
        .cqe_valid(cqe_valid), .cqe_ready(cqe_ready), .cqe_cqn(cqe_cqn), .cqe_data(cqe_data), .idle(r_idle), .timer_valid(timer_valid),
        .timer_ns(timer_ns), .cnt_wqe(), .cnt_wqe_err(), .cnt_pkt(cnt_pkt), .cnt_bytes(), .cnt_retrans(cnt_retrans), .cnt_ack(), .cnt_rnr(),
        .cnt_seq(), .cnt_inv(), .cnt_access(), .cnt_op(), .cnt_timeout(cnt_timeout), .cnt_implied(), .cnt_retry_exc(), .cnt_rnr_exc(),
        .cnt_stale(cnt_stale)
    );
    /* verilator lint_on PINCONNECTEMPTY */

    assign m_axis_tuser = 1'b0;
    assign ready = s_sweep_done || x_sweep_done;

    /* verilator lint_off UNUSED */
    wire unused = &{e_next, e_stale};
    /* verilator lint_on UNUSED */

endmodule

`resetall
