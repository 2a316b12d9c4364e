// SPDX-License-Identifier: BSD-2-Clause
//
// Sending half of the requester. Front: answers a grant of frnic_sched with the fetch of what the QP goes on with. Back: takes the WQEs that come, checks
// new ones and notes them, and sends a packet at a time: PSN, headers, reads of the payload. Acknowledgements, completions and timers are frnic_req_ack's.
// Rules and their order are those of the functional model's requester.c and ud.c. Documentation/microarchitecture.md, 7.2.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_req_tx #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the WQEs that a QP may have under way
    parameter LOG_RECS = 5,
    // Entries of the GID table, of the P_Key table; powers of two
    parameter GIDS = 128,
    parameter PKEYS = 128,
    // Bits of a descriptor (TXD_W), of a QP's word (RS_W), of a record (REC_W)
    parameter DESC_BITS = 739,
    parameter RS_BITS = 207,
    parameter REC_BITS = 137
) (
    input  wire                        clk,
    input  wire                        rst,
    // Level: nothing new is begun
    input  wire                        sweep,
    // Level: a grant ends with the packet at hand
    input  wire                        fence,
    // Settings: time in units of 1024 ns, longest frame
    input  wire [35:0]                 now,
    input  wire [15:0]                 eth_maxframe,
    input  wire                        upd_valid,
    input  wire [1:0]                  upd_table,
    input  wire [7:0]                  upd_index,
    /* verilator lint_off UNUSED */
    input  wire [255:0]                upd_data,
    /* verilator lint_on UNUSED */
    // Grants of frnic_sched; done: the grant is over; wake: the QP has more to do
    input  wire                        sched_valid,
    output wire                        sched_ready,
    input  wire [LOG_QPS-1:0]          sched_index,
    output reg                         done_valid,
    output reg  [LOG_QPS-1:0]          done_index,
    output reg                         wake_valid,
    input  wire                        wake_ready,
    output reg  [LOG_QPS-1:0]          wake_index,
    // frnic_wqe_fetch
    output wire                        g_valid,
    input  wire                        g_ready,
    output wire [23:0]                 g_qpn,
    output wire [23:0]                 g_index,
    output wire [23:0]                 g_avail,
    output wire [63:0]                 g_base,
    output wire [4:0]                  g_log,
    output wire                        g_listed,
    output wire [4:0]                  g_shift,
    input  wire                        w_valid,
    output wire                        w_ready,
    input  wire [23:0]                 w_qpn,
    input  wire [23:0]                 w_index,
    /* verilator lint_off UNUSED */
    input  wire                        w_first,
    /* verilator lint_on UNUSED */
    input  wire                        w_last,
    input  wire [7:0]                  w_code,
    input  wire [511:0]                w_data,
    input  wire                        e_valid,
    /* verilator lint_off UNUSED */
    input  wire [23:0]                 e_qpn,
    /* verilator lint_on UNUSED */
    // Connection contexts: reader 0 of the front, 1 of the back
    output wire [1:0]                  qp_rd_valid,
    input  wire [1:0]                  qp_rd_ready,
    output wire [2*LOG_QPS-1:0]        qp_rd_index,
    input  wire [1:0]                  qp_rd_done,
    input  wire                        qp_rd_live,
    input  wire                        qp_rd_err,
    /* verilator lint_off UNUSED */
    input  wire [1023:0]               qp_rd_data,
    /* verilator lint_on UNUSED */
    // Live words: client 0 of the front (reads), 1 of the back (next_psn, sq_fetch, sq_ci in a flush, counts)
    output wire [1:0]                  lw_valid,
    output wire [47:0]                 lw_qpn,
    output wire [15:0]                 lw_mask,
    output wire [7:0]                  lw_inc,
    output wire                        lw_buf, // of client 0
    output reg  [511:0]                lw_data,
    input  wire [1:0]                  lw_done,
    /* verilator lint_off UNUSED */
    input  wire [511:0]                lw_rdata,
    /* verilator lint_on UNUSED */
    // Packet buffers (R1.4), pulses: one came back; this QP found none and waits
    input  wire                        buf_back,
    output wire                        wait_valid,
    output wire [LOG_QPS-1:0]          wait_index,
    // What is known of a QP: state, not started in this life, number of the life (mod 256)
    output wire [LOG_QPS-1:0]          fs_index,
    input  wire [2:0]                  fs_state,
    input  wire                        fs_fresh,
    output wire [LOG_QPS-1:0]          ts_index,
    input  wire [2:0]                  ts_state,
    input  wire                        ts_fresh,
    input  wire [7:0]                  ts_life,
    // A QP begins anew: its state here is to be forgotten
    input  wire                        anew_valid,
    input  wire [LOG_QPS-1:0]          anew_index,
    // Lock of a QP against frnic_req_ack
    output wire                        lock_held,
    output wire [LOG_QPS-1:0]          lock_index,
    input  wire                        lock_free,
    // Memories: QPs' words (reader 0 front, 1 back), records likewise
    output wire [1:0]                  rs_rd_valid,
    input  wire [1:0]                  rs_rd_ready,
    output wire [2*LOG_QPS-1:0]        rs_rd_addr,
    input  wire [1:0]                  rs_rd_done,
    input  wire [RS_BITS-1:0]          rs_rd_data,
    output wire                        rs_wr_valid,
    input  wire                        rs_wr_ready,
    output wire [RS_BITS-1:0]          rs_wr_data,
    output wire [1:0]                  rec_rd_valid,
    input  wire [1:0]                  rec_rd_ready,
    output wire [2*(LOG_QPS+LOG_RECS)-1:0] rec_rd_addr,
    input  wire [1:0]                  rec_rd_done,
    input  wire [REC_BITS-1:0]         rec_rd_data,
    output wire                        rec_wr_valid,
    input  wire                        rec_wr_ready,
    output wire [LOG_QPS+LOG_RECS-1:0] rec_wr_addr,
    output wire [REC_BITS-1:0]         rec_wr_data,
    // To frnic_req_ack: records are to be flushed (answered by flush_done), something may complete without a packet
    output wire                        flush_valid,
    output wire [LOG_QPS-1:0]          flush_index,
    input  wire                        flush_done,
    output wire                        settle_valid,
    input  wire                        settle_ready,
    output wire [LOG_QPS-1:0]          settle_index,
    // Completions of flushed WQEs that were never started
    output wire                        cqe_valid,
    input  wire                        cqe_ready,
    output wire [23:0]                 cqe_cqn,
    output reg  [255:0]                cqe_data,
    // frnic_xlate
    output wire                        xl_hold,
    output wire                        xl_valid,
    input  wire                        xl_ready,
    output wire [31:0]                 xl_key,
    output wire [23:0]                 xl_pd,
    output wire [23:0]                 xl_qpn,
    output wire                        xl_kernel,
    output wire [7:0]                  xl_access,
    output wire [63:0]                 xl_va,
    output wire [31:0]                 xl_len,
    output wire                        xl_check,
    input  wire                        xl_v_valid,
    input  wire [7:0]                  xl_v_code,
    input  wire                        xl_p_valid,
    output wire                        xl_p_ready,
    input  wire [63:0]                 xl_p_addr,
    input  wire [12:0]                 xl_p_len,
    input  wire                        xl_p_last,
    input  wire                        xl_p_error,
    // Payload (frnic_req_pay)
    output wire                        pc_valid,
    input  wire                        pc_ready,
    output wire [63:0]                 pc_addr,
    output wire [12:0]                 pc_len,
    output wire                        pc_first,
    output wire                        pc_last,
    output wire [5:0]                  pc_off,
    output wire                        pc_inline,
    output wire                        pc_bad,
    output wire                        il_valid,
    input  wire                        il_ready,
    output wire [511:0]                il_data,
    // Level: payload, descriptor and note of a packet have room
    input  wire                        room,
    // A packet: descriptor, and what to do when it has gone: the QP, its life, record, whether that acknowledges it (nobody else does)
    output wire                        txd_valid,
    output wire [DESC_BITS-1:0]        txd,
    output wire [LOG_QPS-1:0]          txd_index,
    output wire [7:0]                  txd_life,
    output wire [LOG_RECS-1:0]         txd_rec,
    output wire                        txd_acks,
    output wire                        idle,
    // Counters, pulses; bytes of cnt_pkt's packet, else 0
    output wire                        cnt_wqe,
    output wire                        cnt_wqe_err,
    output wire                        cnt_pkt,
    output wire [13:0]                 cnt_bytes,
    output wire                        cnt_retrans
);

    `include "frnic_req.vh"
    `include "frnic_tx_desc.vh"

    localparam LOG_GIDS = $clog2(GIDS);
    localparam LOG_PKEYS = $clog2(PKEYS);
    localparam [7:0] RECS = 8'd1 << LOG_RECS;
    localparam [31:0] MSG_MAX = 32'h80000000;
    localparam [31:0] FRAME_MAX = 32'd4352;

    function [15:0] swap16;
        input [15:0] v;
        swap16 = {v[7:0], v[15:8]};
    endfunction

    function [31:0] swap32;
        input [31:0] v;
        swap32 = {swap16(v[15:0]), swap16(v[31:16])};
    endfunction

    function [63:0] swap64;
        input [63:0] v;
        swap64 = {swap32(v[31:0]), swap32(v[63:32])};
    endfunction

    // ---- GID and P_Key tables ----
    // Source MAC, VLAN and GID as the command's image has them; the type outside, so that a clear needs one cycle
    reg [199:0] gid_mem [0:GIDS-1];
    reg [GIDS-1:0] is4_reg = {GIDS{1'b0}};
    reg [GIDS-1:0] is6_reg = {GIDS{1'b0}};
    reg [15:0] pkey_mem [0:PKEYS-1];
    reg [PKEYS-1:0] pkey_set_reg = {PKEYS{1'b0}};
    wire [7:0] upd_type = upd_data[`FRNIC_CMD_GID_GID_TYPE_LSB - 256 +: 8];

    always @(posedge clk) begin
        if (upd_valid && upd_table == 2'd1 && upd_index < GIDS[7:0]) begin
            gid_mem[upd_index[LOG_GIDS-1:0]] <= {upd_data[`FRNIC_CMD_GID_VLAN_TCI_LSB - 256 +: 16],
                                                 7'd0, upd_data[`FRNIC_CMD_GID_VLAN_VALID_LSB - 256 +: 8] != 8'd0,
                                                 upd_data[`FRNIC_CMD_GID_SMAC_LSB - 256 +: 48], upd_data[`FRNIC_CMD_GID_GID_LSB - 256 +: 128]};
            is4_reg[upd_index[LOG_GIDS-1:0]] <= upd_type == `FRNIC_GID_TYPE_IPV4;
            is6_reg[upd_index[LOG_GIDS-1:0]] <= upd_type == `FRNIC_GID_TYPE_IPV6;
        end
        if (upd_valid && upd_table == 2'd2 && upd_index < PKEYS[7:0]) begin
            pkey_mem[upd_index[LOG_PKEYS-1:0]] <= upd_data[32 +: 16];
            pkey_set_reg[upd_index[LOG_PKEYS-1:0]] <= 1'b1;
        end
        if (rst || (upd_valid && upd_table == 2'd3)) begin
            is4_reg <= {GIDS{1'b0}};
            is6_reg <= {GIDS{1'b0}};
            pkey_set_reg <= {PKEYS{1'b0}};
        end
    end

    // ---- Front: what does a granted QP go on with? ----
    localparam [2:0] F_IDLE = 3'd0, F_READ = 3'd1, F_CHOOSE = 3'd2, F_REC = 3'd3, F_FLUSH = 3'd4, F_GRANT = 3'd5, F_DONE = 3'd6,
                     F_BUF = 3'd7;
    reg [2:0] f_state_reg = F_IDLE;
    reg [LOG_QPS-1:0] f_index_reg;
    reg f_conn_asked_reg;
    reg f_conn_got_reg;
    reg f_lw_got_reg;
    reg f_rs_asked_reg;
    reg f_rs_got_reg;
    reg f_rec_asked_reg;
    reg f_live_reg;
    reg f_buf_reg;         // it holds a packet buffer
    reg f_back_reg = 1'b0; // one came back since this QP asked
    reg [23:0] f_qpn_reg;
    reg [63:0] f_base_reg;
    reg [4:0] f_log_reg;
    reg f_listed_reg;
    reg [4:0] f_shift_reg;
    reg [23:0] f_pi_reg;
    /* verilator lint_off UNUSED */
    reg [RS_W-1:0] f_rs_reg;
    /* verilator lint_on UNUSED */
    reg [7:0] f_send_reg;
    reg [23:0] f_from_reg;
    reg [23:0] f_avail_reg;
    // Fetches under way: at a WQE's end others may wait for their turn
    reg [7:0] fetches_reg = 8'd0;

    wire [23:0] f_fetch = f_rs_reg[RS_FETCH +: 24];
    wire [7:0] f_tail = f_rs_reg[RS_TAIL +: 8];
    wire f_ends = fs_state == `FRNIC_QP_STATE_ERR || fs_state == `FRNIC_QP_STATE_SQE;
    wire f_sends = fs_state == `FRNIC_QP_STATE_RTS || fs_state == `FRNIC_QP_STATE_SQD;
    wire [23:0] f_out = f_rs_reg[RS_NEXT +: 24] - f_rs_reg[RS_UNA +: 24];
    wire [7:0] f_used = f_tail - f_rs_reg[RS_HEAD +: 8];
    wire [23:0] f_new = f_pi_reg - f_fetch;
    wire [23:0] f_again = rec_rd_data[REC_INDEX +: 24];
    wire f_got_all = f_conn_got_reg && f_lw_got_reg && f_rs_got_reg;

    // done is never given in two cycles running.
    wire f_over = f_state_reg == F_DONE && !done_valid;

    assign sched_ready = f_state_reg == F_IDLE && !sweep && !rst && !fetches_reg[7];
    assign fs_index = f_index_reg;
    assign qp_rd_valid[0] = f_state_reg == F_READ && !f_conn_asked_reg;
    assign qp_rd_index[0 +: LOG_QPS] = f_index_reg;
    assign lw_valid[0] = (f_state_reg == F_READ && !f_lw_got_reg) || f_state_reg == F_BUF;
    assign lw_buf = f_state_reg == F_BUF;
    // It waits for the next one that comes back, unless that was while it asked.
    wire f_none = f_state_reg == F_BUF && lw_done[0] && !lw_rdata[`FRNIC_CMD_QP_LIVE1_BUFS_LSB - 1024];
    assign wait_valid = f_none && !f_back_reg && !buf_back;
    assign wait_index = f_index_reg;
    assign lw_qpn[23:0] = {{(24-LOG_QPS){1'b0}}, f_index_reg};
    assign lw_mask[7:0] = 8'd0;
    assign lw_inc[3:0] = 4'd0;
    assign rs_rd_valid[0] = f_state_reg == F_READ && !f_rs_asked_reg;
    assign rs_rd_addr[0 +: LOG_QPS] = f_index_reg;
    assign rec_rd_valid[0] = f_state_reg == F_REC && !f_rec_asked_reg;
    assign rec_rd_addr[0 +: LOG_QPS+LOG_RECS] = {f_index_reg, f_send_reg[LOG_RECS-1:0]};
    assign flush_valid = f_state_reg == F_FLUSH;
    assign flush_index = f_index_reg;
    assign g_valid = f_state_reg == F_GRANT;
    assign g_qpn = f_qpn_reg;
    assign g_index = f_from_reg;
    assign g_avail = f_avail_reg;
    assign g_base = f_base_reg;
    assign g_log = f_log_reg;
    assign g_listed = f_listed_reg;
    assign g_shift = f_shift_reg;

    always @(posedge clk) begin
        case (f_state_reg)
            F_IDLE: begin
                f_index_reg <= sched_index;
                f_conn_asked_reg <= 1'b0;
                f_conn_got_reg <= 1'b0;
                f_lw_got_reg <= 1'b0;
                f_rs_asked_reg <= 1'b0;
                f_rs_got_reg <= 1'b0;
                if (sched_valid && sched_ready) begin
                    f_state_reg <= F_READ;
                end
            end
            F_READ: begin
                f_rec_asked_reg <= 1'b0;
                if (qp_rd_ready[0]) begin
                    f_conn_asked_reg <= 1'b1;
                end
                if (rs_rd_ready[0]) begin
                    f_rs_asked_reg <= 1'b1;
                end
                if (qp_rd_done[0]) begin
                    f_conn_got_reg <= 1'b1;
                    f_live_reg <= qp_rd_live && !qp_rd_err;
                    f_qpn_reg <= {qp_rd_data[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], qp_rd_data[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
                    f_base_reg <= qp_rd_data[`FRNIC_CMD_QP_SQ_BASE_LSB +: 64];
                    f_log_reg <= qp_rd_data[`FRNIC_CMD_QP_LOG_SQ_LSB +: 5];
                    f_listed_reg <= qp_rd_data[`FRNIC_CMD_QP_RING_LEVELS_LSB];
                    f_shift_reg <= qp_rd_data[`FRNIC_CMD_QP_SQ_PAGE_SHIFT_LSB +: 5];
                end
                if (lw_done[0]) begin
                    f_lw_got_reg <= 1'b1;
                    f_pi_reg <= lw_rdata[`FRNIC_CMD_QP_LIVE0_SQ_PI_LSB - 1024 +: 24];
                    f_buf_reg <= lw_rdata[`FRNIC_CMD_QP_LIVE1_BUFS_LSB - 1024];
                end
                if (rs_rd_done[0]) begin
                    f_rs_got_reg <= 1'b1;
                    f_rs_reg <= rs_rd_data;
                end
                if (f_got_all) begin
                    f_state_reg <= F_CHOOSE;
                    if (fs_fresh) begin
                        f_rs_reg <= {RS_W{1'b0}};
                    end
                end
            end
            F_CHOOSE: begin
                f_send_reg <= f_rs_reg[RS_SEND +: 8];
                f_from_reg <= f_fetch;
                f_avail_reg <= f_new;
                if (!f_live_reg) begin
                    f_state_reg <= F_DONE;
                end else if (f_ends) begin
                    f_state_reg <= f_used != 8'd0 ? F_FLUSH : f_new != 24'd0 ? F_GRANT : F_DONE;
                end else if (!f_sends || f_rs_reg[RS_RNR_WAIT] || f_out >= WINDOW) begin
                    f_state_reg <= F_DONE;
                end else if (f_rs_reg[RS_SEND +: 8] != f_tail) begin
                    f_state_reg <= F_REC;
                end else begin
                    f_state_reg <= fs_state == `FRNIC_QP_STATE_RTS && f_used != RECS && f_new != 24'd0 ? (f_buf_reg ? F_GRANT : F_BUF) : F_DONE;
                end
            end
            // Its first WQE (R1.4). A QP that has begun any holds a buffer.
            F_BUF: begin
                if (lw_done[0]) begin
                    f_state_reg <= !f_none ? F_GRANT : wait_valid ? F_DONE : F_BUF;
                end
            end
            // Behind a rewind, or within a message: where the record says. Those without packets are passed over.
            F_REC: begin
                if (rec_rd_ready[0]) begin
                    f_rec_asked_reg <= 1'b1;
                end
                if (rec_rd_done[0]) begin
                    f_rec_asked_reg <= 1'b0;
                    f_from_reg <= f_again;
                    f_avail_reg <= fs_state == `FRNIC_QP_STATE_RTS ? f_pi_reg - f_again : f_fetch - f_again;
                    if (rec_rd_data[REC_STATUS +: 8] != 8'd0) begin
                        f_state_reg <= F_DONE;
                    end else if (rec_rd_data[REC_NPSN +: 24] != 24'd0) begin
                        f_state_reg <= F_GRANT;
                    end else begin
                        f_send_reg <= f_send_reg + 8'd1;
                        if (f_send_reg + 8'd1 == f_tail) begin
                            f_from_reg <= f_fetch;
                            f_avail_reg <= f_new;
                            f_state_reg <= fs_state == `FRNIC_QP_STATE_RTS && f_used != RECS && f_new != 24'd0 ? F_GRANT : F_DONE;
                        end
                    end
                end
            end
            F_FLUSH: begin
                f_conn_asked_reg <= 1'b0;
                f_conn_got_reg <= 1'b0;
                f_lw_got_reg <= 1'b0;
                f_rs_asked_reg <= 1'b0;
                f_rs_got_reg <= 1'b0;
                if (flush_done) begin
                    f_state_reg <= F_READ;
                end
            end
            F_GRANT: begin
                if (g_ready) begin
                    f_state_reg <= F_IDLE;
                end
            end
            default: begin // F_DONE
                if (f_over) begin
                    f_state_reg <= F_IDLE;
                end
            end
        endcase
        f_back_reg <= f_state_reg == F_BUF && !lw_done[0] && (f_back_reg || buf_back);
        if (rst) begin
            f_state_reg <= F_IDLE;
        end
    end

    // ---- Ends of fetches, in order behind their WQEs ----
    wire end_valid;
    wire end_take;
    wire [LOG_QPS-1:0] end_index;
    /* verilator lint_off UNUSED */
    wire end_ready;
    wire [5:0] end_count;
    /* verilator lint_on UNUSED */

    frnic_fifo #(.WIDTH(LOG_QPS), .LOG_DEPTH(5)) ends (
        .clk(clk), .rst(rst), .wr_data(e_qpn[LOG_QPS-1:0]), .wr_valid(e_valid), .wr_ready(end_ready), .rd_data(end_index), .rd_valid(end_valid),
        .rd_ready(end_take), .count(end_count)
    );

    // ---- Back ----
    localparam [4:0] T_IDLE = 5'd0, T_UNITS = 5'd1, T_CONN = 5'd2, T_ROOM = 5'd3, T_LOCK = 5'd4, T_LOAD = 5'd5, T_CHOOSE = 5'd6, T_SKIP = 5'd7,
                     T_CHECK = 5'd8, T_SUM = 5'd9, T_KEY = 5'd10, T_KEYV = 5'd11, T_START = 5'd12, T_NOTE = 5'd13, T_PACKET = 5'd14, T_SGE = 5'd15,
                     T_XL = 5'd16, T_PIECE = 5'd17, T_INLINE = 5'd18, T_BAD = 5'd19, T_DESC = 5'd20, T_COMMIT = 5'd21, T_FAULT = 5'd22,
                     T_FLUSH = 5'd23, T_CQE = 5'd24, T_SETTLE = 5'd25, T_WAKE = 5'd26, T_SEEK = 5'd27;
    reg [4:0] t_state_reg = T_IDLE;
    reg [2559:0] wqe_reg;
    reg [2:0] unit_reg;
    reg [23:0] t_qpn_reg;
    reg [23:0] t_at_reg;
    reg [7:0] t_code_reg;
    reg t_moved_reg;
    reg t_asked_reg;
    reg t_got_rs_reg;
    reg t_got_rec_reg;
    reg t_rec_asked_reg;
    reg t_again_reg; // not the first packet since the WQE came
    reg t_new_reg;   // the WQE is being started
    reg t_stalled_reg = 1'b0;
    reg t_conn_ok_reg;
    /* verilator lint_off UNUSED */
    reg [1023:0] conn_reg;
    /* verilator lint_on UNUSED */
    reg [RS_W-1:0] rs_reg;
    reg [REC_W-1:0] rec_reg;
    reg [7:0] t_send_reg;
    reg [23:0] t_next_reg;
    reg [7:0] t_err_reg;
    reg [7:0] t_status_reg;
    // Scatter list: entry, its bytes that were sent, of the packet: bytes to come, first piece is still to come
    reg [4:0] sge_reg;
    reg [31:0] sge_off_reg;
    reg [31:0] seek_reg;
    reg [32:0] sum_reg;
    reg sum_big_reg;
    reg [12:0] left_reg;
    reg [12:0] part_left_reg;
    reg first_reg;
    reg [2:0] il_unit_reg;
    reg [3:0] il_left_reg;
    reg bad_pkt_reg;
    reg [5:0] quantum_reg;

    wire [LOG_QPS-1:0] t_index = t_qpn_reg[LOG_QPS-1:0];

    // Connection
    wire [23:0] c_qpn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
    wire [23:0] c_dqpn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CONN_REMOTE_QPN_LO_LSB +: 16]};
    wire [23:0] c_psn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CONN_SQ_PSN_LO_LSB +: 16]};
    wire [2:0] c_type = conn_reg[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 3];
    wire c_kernel = conn_reg[`FRNIC_CMD_QP_QP_FLAGS_LSB + 1];
    wire [3:0] c_log_mtu = 4'd7 + {1'b0, conn_reg[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 3]};
    wire [4:0] c_timeout = conn_reg[`FRNIC_CMD_QP_TIMEOUT_LSB +: 5];
    wire [7:0] c_ord = conn_reg[`FRNIC_CMD_QP_ORD_LSB +: 8];
    wire is_rc = c_type == `FRNIC_QP_TYPE_RC;
    wire is_ud = c_type != `FRNIC_QP_TYPE_RC && c_type != `FRNIC_QP_TYPE_UC;
    wire is_gsi = c_type == `FRNIC_QP_TYPE_GSI;

    // WQE
    wire [7:0] q_op = wqe_reg[`FRNIC_WQE_CTRL_W0_OPCODE_LSB +: 8];
    wire [3:0] q_flags = wqe_reg[`FRNIC_WQE_CTRL_W1_FLAGS_LSB +: 4];
    wire [2:0] q_units = t_code_reg != 8'd0 ? 3'd1 : wqe_reg[`FRNIC_WQE_CTRL_W1_UNITS_LSB +: 3];
    wire [31:0] q_len = wqe_reg[`FRNIC_WQE_CTRL_LENGTH_LSB +: 32];
    wire [4:0] q_sges = wqe_reg[`FRNIC_WQE_CTRL_W3_NUM_SGE_LSB +: 5];
    wire [63:0] q_raddr = wqe_reg[`FRNIC_WQE_RDMA_RADDR_LSB +: 64];
    wire [31:0] q_rkey = wqe_reg[`FRNIC_WQE_RDMA_RKEY_LSB +: 32];
    wire [31:0] q_imm = wqe_reg[`FRNIC_WQE_RDMA_IMM_LSB +: 32];
    wire q_inline = q_flags[`FRNIC_WQE_FLAG_INLINE_BIT];
    wire op_send = q_op == `FRNIC_WQE_OP_SEND || q_op == `FRNIC_WQE_OP_SEND_IMM;
    wire op_write = q_op == `FRNIC_WQE_OP_WRITE || q_op == `FRNIC_WQE_OP_WRITE_IMM;
    wire op_inv = q_op == `FRNIC_WQE_OP_SEND_INV;
    wire op_read = q_op == `FRNIC_WQE_OP_READ;
    wire op_atomic = q_op == `FRNIC_WQE_OP_CMP_SWAP || q_op == `FRNIC_WQE_OP_FETCH_ADD;
    wire op_nop = q_op == `FRNIC_WQE_OP_NOP;
    wire op_data = op_send || op_write || op_inv;
    // First quarter (16 bytes) of the scatter list or inline data
    wire [4:0] q_data = is_ud || op_atomic ? (op_atomic ? 5'd3 : 5'd4) : 5'd2;
    wire [31:0] q_length = op_atomic ? 32'd8 : q_len;
    wire [4:0] q_num = op_atomic ? 5'd1 : q_sges;
    wire [8:0] q_room = {q_units, 6'd0};
    wire [31:0] atomic_len = wqe_reg[`FRNIC_WQE_ATOMIC_SGE_LSB + `FRNIC_SGE_LENGTH_LSB +: 32];

    // One entry of the list
    wire [4:0] sge_at = q_data + sge_reg;
    wire [127:0] sge_now = wqe_reg[{sge_at, 7'd0} +: 128];
    wire [63:0] sge_addr = sge_now[`FRNIC_SGE_ADDR_LSB +: 64];
    wire [31:0] sge_len = sge_now[`FRNIC_SGE_LENGTH_LSB +: 32];
    wire [31:0] sge_key = sge_now[`FRNIC_SGE_LKEY_LSB +: 32];

    // Format (the model's check_format() up to the list)
    reg [7:0] fmt;
    reg fmt_over; // nothing more to check

    always @* begin
        fmt = 8'd0;
        fmt_over = 1'b0;
        if (wqe_reg[`FRNIC_WQE_CTRL_W1_LSB + 31] || wqe_reg[`FRNIC_WQE_CTRL_W3_LSB + 5 +: 27] != 27'd0) begin
            fmt = `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
        end else if (op_nop) begin
            fmt_over = 1'b1;
        end else if (op_send || (op_write && !is_ud) || (op_inv && is_rc)) begin
            fmt = 8'd0;
        end else if (op_read && is_rc && c_ord != 8'd0) begin
            fmt = q_inline ? `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT : 8'd0;
        end else if (op_atomic && is_rc && c_ord != 8'd0) begin
            fmt_over = 1'b1;
            fmt = q_inline || atomic_len != 32'd8 ? `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT : 8'd0;
        end else begin
            // Registration, invalidation and binding of memory by WQE do not exist in the card yet.
            fmt = `FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
        end
        if (fmt == 8'd0 && !fmt_over) begin
            if (q_inline) begin
                fmt_over = 1'b1;
                if (q_sges != 5'd0 || q_len > 32'd256 || {23'd0, q_data, 4'd0} + q_len > {23'd0, q_room}) begin
                    fmt = `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
                end
            end else if (q_sges > 5'd16 || {q_data, 4'd0} + {q_sges, 4'd0} > q_room) begin
                fmt = `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
            end
        end
    end

    // Addresses of a datagram
    wire [23:0] u_dqpn = wqe_reg[`FRNIC_WQE_UD_DEST_DQPN_LSB +: 24];
    wire [31:0] u_qkey = wqe_reg[`FRNIC_WQE_UD_QKEY_LSB +: 32];
    wire [127:0] u_dgid = wqe_reg[`FRNIC_WQE_UD_DGID_LSB +: 128];
    wire [15:0] u_sport = wqe_reg[`FRNIC_WQE_UD_UDP_SPORT_LSB +: 16];
    wire u_v4 = u_dgid[95:0] == 96'hffff_0000_0000_0000_0000_0000;
    wire [31:0] u_hash_a = {8'd0, t_qpn_reg} * 32'h9e3779b1;
    wire [31:0] u_hash_b = {8'd0, u_dqpn} * 32'h85ebca6b;
    /* verilator lint_off UNUSED */
    wire [31:0] u_hash = u_hash_a ^ u_hash_b;
    /* verilator lint_on UNUSED */
    // Largest path MTU that fits the port's frames with the most headers: 110 bytes of them
    wire [31:0] u_mtu = eth_maxframe >= 16'd4206 ? 32'd4096 : eth_maxframe >= 16'd2158 ? 32'd2048 : eth_maxframe >= 16'd1134 ? 32'd1024 :
                        eth_maxframe >= 16'd622 ? 32'd512 : 32'd256;

    // Path
    wire [15:0] p_sgid = is_ud ? wqe_reg[`FRNIC_WQE_UD_SGID_INDEX_LSB +: 16] : conn_reg[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16];
    wire [15:0] p_pkey_index = is_gsi ? wqe_reg[`FRNIC_WQE_UD_PKEY_INDEX_LSB +: 16] : conn_reg[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16];
    wire p_sgid_in = p_sgid < GIDS[15:0];
    wire p_pkey_in = p_pkey_index < PKEYS[15:0];
    /* verilator lint_off UNUSED */
    wire [199:0] p_gid = gid_mem[p_sgid[LOG_GIDS-1:0]];
    /* verilator lint_on UNUSED */
    wire p_v6 = p_sgid_in && is6_reg[p_sgid[LOG_GIDS-1:0]];
    wire p_v4 = p_sgid_in && is4_reg[p_sgid[LOG_GIDS-1:0]];
    wire [15:0] p_pkey = p_pkey_in && pkey_set_reg[p_pkey_index[LOG_PKEYS-1:0]] ? pkey_mem[p_pkey_index[LOG_PKEYS-1:0]] : 16'd0;
    wire [7:0] p_tclass = is_ud ? wqe_reg[`FRNIC_WQE_UD_TCLASS_LSB +: 8] : conn_reg[`FRNIC_CMD_QP_TCLASS_LSB +: 8];
    wire [7:0] u_err = q_len > u_mtu ? `FRNIC_VENDOR_ERR_BAD_LENGTH : p_pkey[14:0] == 15'd0 ? `FRNIC_VENDOR_ERR_BAD_PKEY_INDEX :
                       !(u_v4 ? p_v4 : p_v6) ? `FRNIC_VENDOR_ERR_BAD_AV : 8'd0;

    // The packet's source, as it was when the packet began: its header has one length, for its payload's place and for its descriptor.
    reg k_v6_reg = 1'b0;
    /* verilator lint_off UNUSED */
    reg [199:0] k_gid_reg = 200'd0;
    /* verilator lint_on UNUSED */

    // The packet
    wire [23:0] r_npsn = rec_reg[REC_NPSN +: 24];
    wire [31:0] r_len = rec_reg[REC_LEN +: 32];
    wire [1:0] r_kind = rec_reg[REC_KIND +: 2];
    wire [23:0] s_next = rs_reg[RS_NEXT +: 24];
    wire [23:0] s_una = rs_reg[RS_UNA +: 24];
    wire [23:0] s_out = s_next - s_una;
    wire [23:0] pos = s_next - rec_reg[REC_PSN +: 24];
    wire [31:0] off = {8'd0, pos} << c_log_mtu;
    wire [31:0] to_go = r_len - off;
    wire [31:0] mtu = 32'd1 << c_log_mtu;
    wire k_first = pos == 24'd0;
    // A datagram is one packet, whatever its QP's path MTU says.
    wire k_last = is_ud || to_go <= mtu;
    wire [12:0] k_len = r_kind != KIND_SEND ? 13'd0 : k_last ? to_go[12:0] : mtu[12:0];
    wire k_imm = q_op == `FRNIC_WQE_OP_SEND_IMM || q_op == `FRNIC_WQE_OP_WRITE_IMM;
    wire [23:0] piece = (pos & ~(read_psns(c_log_mtu) - 24'd1)) + read_psns(c_log_mtu);
    wire [23:0] read_end = piece > r_npsn ? r_npsn : piece;
    wire [31:0] read_stop = read_end == r_npsn ? r_len : {8'd0, read_end} << c_log_mtu;
    wire [23:0] k_psns = r_kind == KIND_READ ? read_end - pos : 24'd1;
    wire [7:0] s_since = rs_reg[RS_SINCE +: 8] + 8'd1;
    wire k_ackreq = is_rc && (r_kind != KIND_SEND || k_last || s_since >= ACK_EVERY);
    wire [23:0] next_after = s_next + k_psns;
    wire [23:0] max_out = rs_reg[RS_MAX +: 24] - s_una;
    wire k_again = s_out < max_out;
    wire wqe_sent = pos + k_psns >= r_npsn;
    wire rd_full = rs_reg[RS_RD_OUT +: 8] >= c_ord;
    wire k_waits = r_kind == KIND_SEND ? s_out >= WINDOW : rd_full || s_out + k_psns > (r_kind == KIND_READ ? read_window(c_log_mtu) : WINDOW);

    reg [4:0] op5;
    always @* begin
        if (r_kind == KIND_READ) op5 = 5'h0c;
        else if (r_kind == KIND_ATOMIC) op5 = q_op == `FRNIC_WQE_OP_CMP_SWAP ? 5'h13 : 5'h14;
        else if (!k_last) op5 = (op_write ? 5'h06 : 5'h00) + {4'd0, !k_first};
        else if (op_inv) op5 = k_first ? 5'h17 : 5'h16;
        else if (k_first) op5 = (op_write ? 5'h0a : 5'h04) + {4'd0, k_imm};
        else op5 = (op_write ? 5'h08 : 5'h02) + {4'd0, k_imm};
    end
    wire [7:0] opcode = is_ud ? (k_imm ? 8'h65 : 8'h64) : {2'd0, !is_rc, op5};

    reg [223:0] ext;
    reg [4:0] ext_len;
    wire [31:0] reth_len = r_kind == KIND_READ ? read_stop - off : r_len;
    always @* begin
        ext = 224'd0;
        ext_len = 5'd0;
        if (is_ud) begin
            ext[63:0] = {swap32({8'd0, t_qpn_reg}), swap32(u_qkey[31] ? conn_reg[`FRNIC_CMD_QP_QKEY_LSB +: 32] : u_qkey)};
            ext[95:64] = q_imm;
            ext_len = k_imm ? 5'd12 : 5'd8;
        end else if (r_kind == KIND_ATOMIC) begin
            ext = {swap64(q_op == `FRNIC_WQE_OP_CMP_SWAP ? wqe_reg[`FRNIC_WQE_ATOMIC_COMPARE_LSB +: 64] : 64'd0),
                   swap64(wqe_reg[`FRNIC_WQE_ATOMIC_SWAP_ADD_LSB +: 64]), swap32(q_rkey), swap64(q_raddr)};
            ext_len = 5'd28;
        end else if (r_kind == KIND_READ || (op_write && k_first)) begin
            ext[127:0] = {swap32(reth_len), swap32(q_rkey), swap64(q_raddr + (r_kind == KIND_READ ? {32'd0, off} : 64'd0))};
            ext[159:128] = q_imm;
            ext_len = r_kind == KIND_SEND && k_last && k_imm ? 5'd20 : 5'd16;
        end else if (k_last && (k_imm || op_inv)) begin
            ext[31:0] = op_inv ? swap32(q_imm) : q_imm;
            ext_len = 5'd4;
        end
    end

    /* verilator lint_off UNUSED */
    wire [6:0] hdr_len = txd_header_len(k_v6_reg, k_gid_reg[176], ext_len);
    /* verilator lint_on UNUSED */
    assign txd[TXD_DMAC +: 48] = is_ud ? wqe_reg[`FRNIC_WQE_UD_DMAC_LSB +: 48] : conn_reg[`FRNIC_CMD_QP_DMAC_LSB +: 48];
    assign txd[TXD_SMAC +: 48] = k_gid_reg[128 +: 48];
    assign txd[TXD_SGID +: 128] = k_gid_reg[0 +: 128];
    assign txd[TXD_DGID +: 128] = is_ud ? u_dgid : conn_reg[`FRNIC_CMD_QP_DGID_LSB +: 128];
    assign txd[TXD_IPV6] = k_v6_reg;
    assign txd[TXD_VLAN] = k_gid_reg[176];
    assign txd[TXD_TCI +: 16] = {p_tclass[7:5], 1'b0, k_gid_reg[184 +: 12]};
    assign txd[TXD_SPORT +: 16] = !is_ud ? conn_reg[`FRNIC_CMD_QP_ATTR_MASK_LSB +: 16] : u_sport != 16'd0 ? u_sport : {2'b11, u_hash[31:18]};
    assign txd[TXD_TCLASS +: 8] = p_tclass;
    assign txd[TXD_HOP +: 8] = is_ud ? wqe_reg[`FRNIC_WQE_UD_HOP_LIMIT_LSB +: 8] : conn_reg[`FRNIC_CMD_QP_HOP_LIMIT_LSB +: 8];
    assign txd[TXD_FLOW +: 20] = is_ud ? wqe_reg[`FRNIC_WQE_UD_FLOW_FLOW_LABEL_LSB +: 20] : conn_reg[`FRNIC_CMD_QP_FLOW_FLOW_LABEL_LSB +: 20];
    assign txd[TXD_OPCODE +: 8] = opcode;
    assign txd[TXD_SOLICITED] = r_kind == KIND_SEND && k_last && q_flags[`FRNIC_WQE_FLAG_SOLICITED_BIT];
    assign txd[TXD_ACKREQ] = k_ackreq;
    assign txd[TXD_BECN] = 1'b0;
    assign txd[TXD_PKEY +: 16] = p_pkey;
    assign txd[TXD_DQPN +: 24] = is_ud ? u_dqpn : c_dqpn;
    assign txd[TXD_PSN +: 24] = s_next;
    assign txd[TXD_LEN +: 13] = k_len;
    assign txd[TXD_EXT_LEN +: 5] = ext_len;
    assign txd[TXD_EXT +: 224] = ext;
    assign txd_valid = t_state_reg == T_DESC;
    assign txd_index = t_index;
    assign txd_life = ts_life;
    assign txd_rec = t_send_reg[LOG_RECS-1:0];
    assign txd_acks = !is_rc;

    // What is left of the packet within the entry at hand
    wire [31:0] sge_rest = sge_len - sge_off_reg;
    wire [12:0] part = sge_rest < {19'd0, left_reg} ? sge_rest[12:0] : left_reg;

    // The QP's word as it is after the packet
    reg [RS_W-1:0] rs_next;
    always @* begin
        rs_next = rs_reg;
        rs_next[RS_NEXT +: 24] = next_after;
        if (next_after - s_una > max_out) begin
            rs_next[RS_MAX +: 24] = next_after;
        end
        if (wqe_sent) begin
            rs_next[RS_SEND +: 8] = t_send_reg + 8'd1;
        end
        if (r_kind == KIND_SEND) begin
            rs_next[RS_SINCE +: 8] = !is_rc || k_ackreq ? 8'd0 : s_since;
        end else begin
            rs_next[RS_RD_OUT +: 8] = rs_reg[RS_RD_OUT +: 8] + 8'd1;
        end
        if (is_rc && c_timeout != 5'd0 && !rs_reg[RS_ARMED]) begin
            rs_next[RS_ARMED] = 1'b1;
            rs_next[RS_DEADLINE +: 36] = now + (36'd4 << c_timeout) + 36'd1;
        end
    end

    // ---- Live words of the back: a held operation, overtaken by nobody ----
    reg lw_held_reg = 1'b0;
    reg [23:0] lw_qpn_reg;
    reg [7:0] lw_mask_reg;
    reg [3:0] lw_inc_reg;
    reg [23:0] lw_next_reg;
    reg [23:0] lw_fetch_reg;
    reg [23:0] lw_ci_reg;

    assign lw_valid[1] = lw_held_reg;
    assign lw_qpn[47:24] = lw_qpn_reg;
    assign lw_mask[15:8] = lw_mask_reg;
    assign lw_inc[7:4] = lw_inc_reg;
    always @* begin
        lw_data = 512'd0;
        lw_data[`FRNIC_CMD_QP_LIVE4_NEXT_PSN_LSB - 1024 +: 24] = lw_next_reg;
        lw_data[`FRNIC_CMD_QP_LIVE8_SQ_FETCH_LSB - 1024 +: 24] = lw_fetch_reg;
        lw_data[`FRNIC_CMD_QP_LIVE1_SQ_CI_LSB - 1024 +: 24] = lw_ci_reg;
    end

    wire lw_take = !lw_held_reg && ((t_state_reg == T_COMMIT && rs_wr_ready) || (t_state_reg == T_FLUSH && rs_wr_ready) ||
                                    (t_state_reg == T_NOTE && rec_wr_ready && rs_wr_ready));

    // ---- Memories ----
    wire locked = t_state_reg >= T_LOAD && t_state_reg <= T_CQE;
    wire seek_locked = t_state_reg == T_SEEK;
    assign lock_held = locked || seek_locked;
    assign lock_index = t_index;
    assign ts_index = t_index;
    assign qp_rd_valid[1] = t_state_reg == T_CONN && !t_asked_reg;
    assign qp_rd_index[LOG_QPS +: LOG_QPS] = t_index;
    assign rs_rd_valid[1] = t_state_reg == T_LOAD && !t_asked_reg;
    assign rs_rd_addr[LOG_QPS +: LOG_QPS] = t_index;
    assign rec_rd_valid[1] = ((t_state_reg == T_LOAD && t_again_reg) || t_state_reg == T_SKIP) && !t_rec_asked_reg;
    assign rec_rd_addr[LOG_QPS+LOG_RECS +: LOG_QPS+LOG_RECS] = {t_index, t_send_reg[LOG_RECS-1:0]};

    // A WQE that starts, or is refused
    wire note_ok = t_err_reg == 8'd0;
    wire [1:0] new_kind = op_read ? KIND_READ : op_atomic ? KIND_ATOMIC : op_data ? KIND_SEND : KIND_LOCAL;
    wire [23:0] new_npsn = !note_ok || op_nop ? 24'd0 : op_atomic || is_ud ? 24'd1 : npsn_of(q_len, c_log_mtu);
    wire new_op_known = t_code_reg != `FRNIC_VENDOR_ERR_DMA_READ;
    reg [REC_W-1:0] rec_new;
    reg [RS_W-1:0] rs_new;
    always @* begin
        rec_new = {REC_W{1'b0}};
        rec_new[REC_PSN +: 24] = s_next;
        rec_new[REC_NPSN +: 24] = new_npsn;
        rec_new[REC_INDEX +: 24] = t_at_reg;
        rec_new[REC_LEN +: 32] = t_code_reg != 8'd0 ? 32'd0 : q_length;
        rec_new[REC_OP +: 8] = new_op_known ? q_op : 8'd0;
        rec_new[REC_FLAGS +: 4] = t_code_reg != 8'd0 ? 4'd0 : q_flags;
        rec_new[REC_UNITS +: 3] = q_units;
        rec_new[REC_KIND +: 2] = new_npsn == 24'd0 ? KIND_LOCAL : new_kind;
        rec_new[REC_STATUS +: 8] = t_err_reg != 8'd0 ? t_status_reg : 8'd0;
        rec_new[REC_VERR +: 8] = t_err_reg;
        if (t_state_reg == T_FAULT) begin
            rec_new = rec_reg;
            rec_new[REC_STATUS +: 8] = local_status(t_err_reg);
            rec_new[REC_VERR +: 8] = t_err_reg;
        end
        rs_new = rs_reg;
        rs_new[RS_TAIL +: 8] = rs_reg[RS_TAIL +: 8] + 8'd1;
        rs_new[RS_FETCH +: 24] = t_at_reg + {21'd0, q_units};
        // What needs no packet is not sent from; behind what failed nothing is sent.
        rs_new[RS_SEND +: 8] = rs_reg[RS_TAIL +: 8] + {7'd0, new_npsn == 24'd0 && note_ok};
        if (t_state_reg == T_FLUSH) begin
            rs_new = rs_reg;
            rs_new[RS_FETCH +: 24] = t_at_reg + {21'd0, q_units};
            rs_new[RS_CI +: 24] = t_at_reg + {21'd0, q_units};
        end
    end

    wire note = t_state_reg == T_NOTE && !lw_held_reg;
    assign rec_wr_valid = (note || t_state_reg == T_FAULT) && !t_moved_reg;
    assign rec_wr_addr = {t_index, t_state_reg == T_FAULT ? t_send_reg[LOG_RECS-1:0] : rs_reg[RS_TAIL +: LOG_RECS]};
    assign rec_wr_data = rec_new;
    assign rs_wr_valid = ((note && rec_wr_ready) || ((t_state_reg == T_COMMIT || t_state_reg == T_FLUSH) && !lw_held_reg)) && !t_moved_reg;
    assign rs_wr_data = t_state_reg == T_COMMIT ? rs_next : rs_new;

    // ---- Keys and pieces ----
    wire key_now = t_state_reg == T_KEY && sge_reg != q_num && sge_len != 32'd0;
    wire part_now = t_state_reg == T_SGE && sge_rest != 32'd0;
    assign xl_hold = t_state_reg == T_KEY || t_state_reg == T_KEYV || t_state_reg == T_SGE || t_state_reg == T_XL || t_state_reg == T_PIECE;
    assign xl_valid = (key_now || part_now) && !t_asked_reg;
    assign xl_key = sge_key;
    assign xl_pd = conn_reg[`FRNIC_CMD_QP_PD_PD_LSB +: 24];
    assign xl_qpn = t_qpn_reg;
    assign xl_kernel = c_kernel;
    assign xl_access = op_read || op_atomic ? 8'd1 << `FRNIC_ACCESS_LOCAL_WRITE_BIT : 8'd0;
    assign xl_va = t_state_reg == T_SGE ? sge_addr + {32'd0, sge_off_reg} : sge_addr;
    assign xl_len = t_state_reg == T_SGE ? {19'd0, part} : sge_len;
    assign xl_check = t_state_reg == T_KEY;
    assign xl_p_ready = t_state_reg == T_PIECE && (pc_ready || xl_p_error);

    wire [12:0] after_piece = left_reg - xl_p_len;
    assign pc_valid = (t_state_reg == T_PIECE && xl_p_valid && !xl_p_error) || (t_state_reg == T_INLINE && first_reg) || t_state_reg == T_BAD;
    assign pc_addr = t_state_reg == T_INLINE ? {55'd0, q_data, 4'd0} : t_state_reg == T_BAD ? 64'd0 : xl_p_addr;
    assign pc_len = t_state_reg == T_PIECE ? xl_p_len : left_reg;
    assign pc_first = first_reg;
    assign pc_last = t_state_reg == T_PIECE ? after_piece == 13'd0 : 1'b1;
    assign pc_off = hdr_len[5:0];
    assign pc_inline = t_state_reg == T_INLINE;
    assign pc_bad = t_state_reg == T_BAD;
    assign il_valid = t_state_reg == T_INLINE && !first_reg;
    assign il_data = wqe_reg[{il_unit_reg, 9'd0} +: 512];
    // Bytes of the inline data with what stands before it in its first unit
    /* verilator lint_off UNUSED */
    wire [9:0] il_span = {4'd0, q_data[1:0], 4'd0} + {1'b0, q_len[8:0]} + 10'd63;
    /* verilator lint_on UNUSED */

    // ---- Completions of a flush ----
    assign cqe_valid = t_state_reg == T_CQE && !lw_held_reg;
    assign cqe_cqn = conn_reg[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24];
    always @* begin
        cqe_data = 256'd0;
        cqe_data[`FRNIC_CQE_W0_QPN_LSB +: 24] = t_qpn_reg;
        cqe_data[`FRNIC_CQE_W0_OPCODE_LSB +: 8] = new_op_known ? q_op : 8'd0;
        cqe_data[`FRNIC_CQE_W1_WQE_INDEX_LSB +: 24] = t_at_reg;
        cqe_data[`FRNIC_CQE_W4_STATUS_LSB +: 8] = `FRNIC_CQE_STATUS_WR_FLUSH_ERR;
        cqe_data[`FRNIC_CQE_VENDOR_ERR_LSB +: 8] = `FRNIC_VENDOR_ERR_FLUSHED;
    end

    assign settle_valid = t_state_reg == T_SETTLE;
    assign settle_index = t_index;

    assign end_take = t_state_reg == T_IDLE && end_valid && !f_over && !done_valid && !wake_valid;
    assign w_ready = (t_state_reg == T_IDLE && !end_valid) || t_state_reg == T_UNITS;
    assign idle = f_state_reg == F_IDLE && t_state_reg == T_IDLE && !end_valid && !w_valid && !lw_held_reg && !wake_valid && fetches_reg == 8'd0;

    wire ends_state = ts_state == `FRNIC_QP_STATE_ERR || ts_state == `FRNIC_QP_STATE_SQE;
    wire sends_state = ts_state == `FRNIC_QP_STATE_RTS || ts_state == `FRNIC_QP_STATE_SQD;

    assign cnt_wqe = t_state_reg == T_NOTE && rs_wr_valid && rs_wr_ready && note_ok;
    assign cnt_wqe_err = (t_state_reg == T_NOTE && rs_wr_valid && rs_wr_ready && !note_ok) || (t_state_reg == T_FAULT && rec_wr_valid && rec_wr_ready);
    assign cnt_pkt = t_state_reg == T_COMMIT && rs_wr_valid && rs_wr_ready && !bad_pkt_reg;
    assign cnt_bytes = cnt_pkt ? {1'b0, k_len} : 14'd0;
    assign cnt_retrans = cnt_pkt && k_again;

    always @(posedge clk) begin
        done_valid <= 1'b0;
        if (f_over || end_take) begin
            done_valid <= 1'b1;
            done_index <= f_over ? f_index_reg : end_index;
        end
        fetches_reg <= fetches_reg + {7'd0, g_valid && g_ready} - {7'd0, end_take};
        if (wake_ready) begin
            wake_valid <= 1'b0;
        end

        // A held operation of a QP that begins anew changes nothing any more.
        if (lw_take) begin
            lw_held_reg <= 1'b1;
            lw_qpn_reg <= t_qpn_reg;
            lw_mask_reg <= t_state_reg == T_FLUSH ? 8'h05 : 8'h04;
            lw_inc_reg <= t_state_reg == T_COMMIT && !bad_pkt_reg ? {1'b0, k_again, 1'b0, 1'b1} : 4'd0;
            lw_next_reg <= t_state_reg == T_COMMIT ? next_after : s_next;
            lw_fetch_reg <= rs_wr_data[RS_FETCH +: 24];
            lw_ci_reg <= rs_wr_data[RS_CI +: 24];
        end else begin
            if (lw_done[1]) begin
                lw_held_reg <= 1'b0;
            end
            if (anew_valid && anew_index == lw_qpn_reg[LOG_QPS-1:0]) begin
                lw_mask_reg <= 8'd0;
                lw_inc_reg <= 4'd0;
            end
        end

        if (anew_valid && anew_index == t_index) begin
            t_moved_reg <= 1'b1;
        end

        case (t_state_reg)
            T_IDLE: begin
                unit_reg <= 3'd0;
                t_again_reg <= 1'b0;
                t_new_reg <= 1'b0;
                t_asked_reg <= 1'b0;
                t_err_reg <= 8'd0;
                quantum_reg <= 6'd0;
                if (end_take) begin
                    // What was stopped is woken by what it waits for.
                    wake_valid <= !t_stalled_reg;
                    wake_index <= end_index;
                    t_stalled_reg <= 1'b0;
                end else if (w_valid && w_ready) begin
                    wqe_reg[511:0] <= w_data;
                    unit_reg <= 3'd1;
                    t_qpn_reg <= w_qpn;
                    t_at_reg <= w_index;
                    t_code_reg <= w_code;
                    t_moved_reg <= 1'b0;
                    t_state_reg <= w_last ? T_CONN : T_UNITS;
                end
            end
            T_UNITS: begin
                if (w_valid) begin
                    wqe_reg[{unit_reg, 9'd0} +: 512] <= w_data;
                    unit_reg <= unit_reg + 3'd1;
                    if (w_last) begin
                        t_state_reg <= T_CONN;
                    end
                end
            end
            T_CONN: begin
                if (qp_rd_ready[1]) begin
                    t_asked_reg <= 1'b1;
                end
                if (qp_rd_done[1]) begin
                    conn_reg <= qp_rd_data;
                    t_conn_ok_reg <= qp_rd_live && !qp_rd_err;
                    t_state_reg <= T_ROOM;
                end
            end
            // No lock is held while the wire is full.
            T_ROOM: begin
                t_asked_reg <= 1'b0;
                t_rec_asked_reg <= 1'b0;
                t_got_rs_reg <= 1'b0;
                t_got_rec_reg <= !t_again_reg;
                bad_pkt_reg <= 1'b0;
                if (!t_conn_ok_reg || c_qpn != t_qpn_reg || t_moved_reg) begin
                    t_stalled_reg <= 1'b1;
                    t_state_reg <= T_IDLE;
                end else if (room) begin
                    t_state_reg <= T_LOCK;
                end
            end
            T_LOCK: begin
                if (lock_free) begin
                    t_state_reg <= T_LOAD;
                end
            end
            T_LOAD: begin
                if (rs_rd_ready[1]) begin
                    t_asked_reg <= 1'b1;
                end
                if (rec_rd_ready[1]) begin
                    t_rec_asked_reg <= 1'b1;
                end
                if (rs_rd_done[1]) begin
                    rs_reg <= ts_fresh ? rs_start(c_psn, conn_reg[`FRNIC_CMD_QP_RETRY_CNT_LSB +: 4], conn_reg[`FRNIC_CMD_QP_RNR_RETRY_LSB +: 4])
                                       : rs_rd_data;
                    t_got_rs_reg <= 1'b1;
                end
                if (rec_rd_done[1]) begin
                    rec_reg <= rec_rd_data;
                    t_got_rec_reg <= 1'b1;
                end
                if (t_got_rs_reg && t_got_rec_reg) begin
                    t_asked_reg <= 1'b0;
                    t_rec_asked_reg <= 1'b0;
                    t_state_reg <= T_CHOOSE;
                end
            end
            T_CHOOSE: begin
                t_stalled_reg <= 1'b1;
                sge_reg <= 5'd0;
                sge_off_reg <= 32'd0;
                if (!t_again_reg) begin
                    t_send_reg <= rs_reg[RS_SEND +: 8];
                end
                if (t_moved_reg) begin
                    t_state_reg <= T_IDLE;
                end else if (t_again_reg) begin
                    // Still where the last packet left it?
                    sge_reg <= sge_reg;
                    sge_off_reg <= sge_off_reg;
                    if (sends_state && !rs_reg[RS_RNR_WAIT] && rs_reg[RS_SEND +: 8] == t_send_reg && s_next == t_next_reg &&
                        rec_reg[REC_STATUS +: 8] == 8'd0 && rec_reg[REC_INDEX +: 24] == t_at_reg) begin
                        t_state_reg <= T_PACKET;
                    end else begin
                        t_state_reg <= T_IDLE;
                    end
                end else if (ends_state) begin
                    t_state_reg <= rs_reg[RS_HEAD +: 8] == rs_reg[RS_TAIL +: 8] && rs_reg[RS_FETCH +: 24] == t_at_reg ? T_FLUSH : T_IDLE;
                end else if (!sends_state || rs_reg[RS_RNR_WAIT]) begin
                    t_state_reg <= T_IDLE;
                end else if (rs_reg[RS_SEND +: 8] != rs_reg[RS_TAIL +: 8]) begin
                    t_state_reg <= T_SKIP;
                end else begin
                    t_new_reg <= 1'b1;
                    t_state_reg <= ts_state == `FRNIC_QP_STATE_RTS && rs_reg[RS_FETCH +: 24] == t_at_reg && s_out < WINDOW &&
                                   rs_reg[RS_TAIL +: 8] - rs_reg[RS_HEAD +: 8] != RECS ? T_CHECK : T_IDLE;
                end
            end
            T_SKIP: begin
                if (rec_rd_ready[1]) begin
                    t_rec_asked_reg <= 1'b1;
                end
                if (rec_rd_done[1]) begin
                    t_rec_asked_reg <= 1'b0;
                    rec_reg <= rec_rd_data;
                    if (rec_rd_data[REC_STATUS +: 8] != 8'd0) begin
                        t_state_reg <= T_IDLE;
                    end else if (rec_rd_data[REC_NPSN +: 24] != 24'd0) begin
                        rs_reg[RS_SEND +: 8] <= t_send_reg;
                        t_state_reg <= rec_rd_data[REC_INDEX +: 24] == t_at_reg ? T_CHECK : T_IDLE;
                    end else begin
                        t_send_reg <= t_send_reg + 8'd1;
                        if (t_send_reg + 8'd1 == rs_reg[RS_TAIL +: 8]) begin
                            rs_reg[RS_SEND +: 8] <= rs_reg[RS_TAIL +: 8];
                            t_state_reg <= T_CHOOSE;
                        end
                    end
                end
            end
            T_CHECK: begin
                sum_reg <= 33'd0;
                sum_big_reg <= 1'b0;
                t_status_reg <= local_status(t_code_reg != 8'd0 ? t_code_reg : fmt);
                if (t_code_reg != 8'd0) begin
                    t_err_reg <= t_code_reg;
                    t_state_reg <= T_START;
                end else if (!t_new_reg && (rec_reg[REC_OP +: 8] != q_op || rec_reg[REC_LEN +: 32] != q_length || rec_reg[REC_FLAGS +: 4] != q_flags ||
                                            rec_reg[REC_UNITS +: 3] != q_units)) begin
                    // Software may not touch a WQE in flight; if it did, the QP fails, not the device.
                    t_err_reg <= fmt != 8'd0 ? fmt : `FRNIC_VENDOR_ERR_BAD_WQE_INDEX;
                    t_state_reg <= T_START;
                end else begin
                    t_err_reg <= fmt;
                    t_state_reg <= fmt != 8'd0 ? T_START : fmt_over ? T_KEY : T_SUM;
                end
            end
            T_SUM: begin
                if (sge_reg == q_num) begin
                    sge_reg <= 5'd0;
                    if (sum_big_reg || sum_reg > {1'b0, MSG_MAX} || (is_ud && sum_reg > {1'b0, FRAME_MAX})) begin
                        t_err_reg <= `FRNIC_VENDOR_ERR_BAD_LENGTH;
                    end else if (sum_reg != {1'b0, q_len}) begin
                        t_err_reg <= `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
                    end
                    t_state_reg <= T_KEY;
                end else begin
                    sum_reg <= sum_reg + {1'b0, sge_len};
                    sum_big_reg <= sum_big_reg || sum_reg[32];
                    sge_reg <= sge_reg + 5'd1;
                end
            end
            // The whole of each entry, before anything is sent.
            T_KEY: begin
                if (t_err_reg != 8'd0 || sge_reg == q_num || q_inline || op_nop) begin
                    if (t_err_reg == 8'd0 && is_ud && !op_nop) begin
                        t_err_reg <= u_err;
                    end
                    t_state_reg <= T_START;
                end else if (sge_len == 32'd0) begin
                    sge_reg <= sge_reg + 5'd1;
                end else if (xl_ready) begin
                    t_state_reg <= T_KEYV;
                end
            end
            T_KEYV: begin
                if (xl_v_valid) begin
                    t_err_reg <= xl_v_code;
                    sge_reg <= sge_reg + 5'd1;
                    t_state_reg <= T_KEY;
                end
            end
            T_START: begin
                t_status_reg <= local_status(t_err_reg);
                sge_reg <= 5'd0;
                if (!t_new_reg) begin
                    t_state_reg <= t_err_reg != 8'd0 ? T_FAULT : T_PACKET;
                end else if (t_err_reg == 8'd0 && q_flags[`FRNIC_WQE_FLAG_FENCE_BIT] && rs_reg[RS_RD_OUT +: 8] != 8'd0) begin
                    t_state_reg <= T_IDLE;
                end else begin
                    t_state_reg <= T_NOTE;
                end
            end
            T_NOTE: begin
                t_send_reg <= rs_reg[RS_TAIL +: 8];
                if (t_moved_reg) begin
                    t_state_reg <= T_IDLE;
                end else if (rec_wr_ready && rs_wr_ready && !lw_held_reg) begin
                    rs_reg <= rs_new;
                    rec_reg <= rec_new;
                    t_stalled_reg <= 1'b0;
                    t_state_reg <= new_npsn == 24'd0 ? T_SETTLE : T_PACKET;
                end
            end
            T_PACKET: begin
                left_reg <= k_len;
                first_reg <= 1'b1;
                il_unit_reg <= {1'b0, q_data[3:2]};
                il_left_reg <= il_span[9:6];
                seek_reg <= off;
                k_v6_reg <= p_v6;
                k_gid_reg <= p_gid;
                if (k_waits) begin
                    t_stalled_reg <= 1'b1;
                    t_state_reg <= T_IDLE;
                end else if (is_ud ? !(u_v4 ? p_v4 : p_v6) : !p_v4 && !p_v6) begin
                    t_err_reg <= `FRNIC_VENDOR_ERR_BAD_AV;
                    t_state_reg <= T_FAULT;
                end else if (k_len == 13'd0) begin
                    t_state_reg <= T_DESC;
                end else if (q_inline) begin
                    t_state_reg <= T_INLINE;
                end else begin
                    t_state_reg <= t_again_reg || off == 32'd0 ? T_SGE : T_SEEK;
                end
            end
            // Behind a rewind: to the entry with the packet's first byte.
            T_SEEK: begin
                if (seek_reg >= sge_len) begin
                    seek_reg <= seek_reg - sge_len;
                    sge_reg <= sge_reg + 5'd1;
                end else begin
                    sge_off_reg <= seek_reg;
                    t_state_reg <= T_SGE;
                end
            end
            T_SGE: begin
                if (sge_rest == 32'd0) begin
                    sge_reg <= sge_reg + 5'd1;
                    sge_off_reg <= 32'd0;
                end else if (xl_ready) begin
                    t_state_reg <= T_XL;
                end
            end
            T_XL: begin
                if (xl_v_valid) begin
                    if (xl_v_code != 8'd0) begin
                        t_err_reg <= xl_v_code;
                        bad_pkt_reg <= 1'b1;
                        t_state_reg <= first_reg ? T_FAULT : T_BAD;
                    end else begin
                        part_left_reg <= part;
                        t_state_reg <= T_PIECE;
                    end
                end
            end
            T_PIECE: begin
                if (xl_p_valid && xl_p_error) begin
                    t_err_reg <= `FRNIC_VENDOR_ERR_DMA_READ;
                    bad_pkt_reg <= 1'b1;
                    t_state_reg <= first_reg ? T_FAULT : T_BAD;
                end else if (xl_p_valid && pc_ready) begin
                    first_reg <= 1'b0;
                    left_reg <= after_piece;
                    part_left_reg <= part_left_reg - xl_p_len;
                    sge_off_reg <= sge_off_reg + {19'd0, xl_p_len};
                    if (xl_p_last) begin
                        t_state_reg <= after_piece == 13'd0 ? T_DESC : T_SGE;
                    end
                end
            end
            T_INLINE: begin
                if (first_reg) begin
                    if (pc_ready) begin
                        first_reg <= 1'b0;
                    end
                end else if (il_ready) begin
                    il_unit_reg <= il_unit_reg + 3'd1;
                    il_left_reg <= il_left_reg - 4'd1;
                    if (il_left_reg == 4'd1) begin
                        t_state_reg <= T_DESC;
                    end
                end
            end
            // Pieces of the packet are under way: it is built, and dropped.
            T_BAD: begin
                if (pc_ready) begin
                    t_state_reg <= T_DESC;
                end
            end
            T_DESC: begin
                t_state_reg <= bad_pkt_reg ? T_FAULT : T_COMMIT;
            end
            T_COMMIT: begin
                t_next_reg <= next_after;
                if (t_moved_reg) begin
                    t_state_reg <= T_IDLE;
                end else if (rs_wr_ready && !lw_held_reg) begin
                    t_stalled_reg <= 1'b0;
                    t_again_reg <= 1'b1;
                    quantum_reg <= quantum_reg + 6'd1;
                    if (wqe_sent) begin
                        t_state_reg <= T_IDLE;
                    end else if ((quantum_reg >= 6'd15 && fetches_reg > 8'd1) || fence) begin
                        t_state_reg <= T_WAKE;
                    end else begin
                        t_state_reg <= T_ROOM;
                    end
                end
            end
            // Told in its turn.
            T_FAULT: begin
                if (t_moved_reg) begin
                    t_state_reg <= T_IDLE;
                end else if (rec_wr_ready) begin
                    t_state_reg <= T_SETTLE;
                end
            end
            T_FLUSH: begin
                if (t_moved_reg) begin
                    t_state_reg <= T_IDLE;
                end else if (rs_wr_ready && !lw_held_reg) begin
                    t_stalled_reg <= 1'b0;
                    t_state_reg <= T_CQE;
                end
            end
            T_CQE: begin
                if (cqe_valid && cqe_ready) begin
                    t_state_reg <= T_IDLE;
                end
            end
            T_SETTLE: begin
                if (settle_ready) begin
                    t_state_reg <= T_IDLE;
                end
            end
            // Others wait for their turn, or a command does: the QP comes back for the rest.
            default: begin // T_WAKE
                if (!wake_valid) begin
                    wake_valid <= 1'b1;
                    wake_index <= t_index;
                    t_stalled_reg <= 1'b1;
                    t_state_reg <= T_IDLE;
                end
            end
        endcase
        if (rst) begin
            t_state_reg <= T_IDLE;
            done_valid <= 1'b0;
            wake_valid <= 1'b0;
            lw_held_reg <= 1'b0;
            fetches_reg <= 8'd0;
            t_stalled_reg <= 1'b0;
        end
    end

endmodule

`resetall
