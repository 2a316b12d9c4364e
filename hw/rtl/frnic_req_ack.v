// SPDX-License-Identifier: BSD-2-Clause
//
// Receiving half of the requester: acknowledgements, NAKs, data of READs and atomics, time-outs, packets that nobody acknowledges and that have gone, and the completions
// that follow. One event at a time, in the steps of the functional model's requester.c; sending is frnic_req_tx's. Documentation/microarchitecture.md, 7.2.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_req_ack #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the WQEs that a QP may have under way
    parameter LOG_RECS = 5,
    // Bits of a metadata record (META_W), of a QP's word (RS_W), of a record (REC_W)
    parameter META_BITS = 632,
    parameter RS_BITS = 207,
    parameter REC_BITS = 137
) (
    input  wire                        clk,
    input  wire                        rst,
    // Time in units of 1024 ns
    input  wire [35:0]                 now,
    // Responses, with record and context as long as the frame lasts
    /* verilator lint_off UNUSED */
    input  wire [511:0]                s_axis_tdata,
    /* verilator lint_on UNUSED */
    input  wire                        s_axis_tvalid,
    output wire                        s_axis_tready,
    input  wire                        s_axis_tlast,
    /* verilator lint_off UNUSED */
    input  wire [META_BITS-1:0]        s_meta,
    input  wire [1023:0]               s_conn,
    /* verilator lint_on UNUSED */
    // Data of a response to its place (frnic_req_data): a job, held until done
    input  wire                        s_axis_use, // frnic_req_data takes this beat
    output wire                        go_valid,
    input  wire                        go_done,
    input  wire [7:0]                  go_code,
    output wire [1023:0]               go_conn,
    output wire [23:0]                 go_qpn,
    output wire [23:0]                 go_index,
    output wire [2:0]                  go_units,
    output wire [7:0]                  go_op,
    output wire [31:0]                 go_len,
    output wire [31:0]                 go_off,
    output wire [12:0]                 go_want,
    output wire [6:0]                  go_at,
    output wire                        go_atomic,
    output wire [63:0]                 go_value,
    output wire                        go_last,
    // A packet of frnic_req_tx has gone, or was dropped because its payload could not be read
    input  wire                        gone_valid,
    output wire                        gone_ready,
    input  wire [LOG_QPS-1:0]          gone_index,
    input  wire [7:0]                  gone_life,
    input  wire [LOG_RECS-1:0]         gone_rec,
    input  wire [23:0]                 gone_psn,
    input  wire                        gone_poisoned,
    // Records are to be flushed; something may complete without a packet; a deadline has passed
    input  wire                        flush_valid,
    input  wire [LOG_QPS-1:0]          flush_index,
    output wire                        flush_done,
    input  wire                        settle_valid,
    output wire                        settle_ready,
    input  wire [LOG_QPS-1:0]          settle_index,
    input  wire                        late_valid,
    output wire                        late_ready,
    input  wire [LOG_QPS-1:0]          late_index,
    // The QP may go on
    output reg                         wake_valid,
    input  wire                        wake_ready,
    output reg  [LOG_QPS-1:0]          wake_index,
    // Connection contexts, for events that bring none
    output wire                        qp_rd_valid,
    input  wire                        qp_rd_ready,
    output wire [LOG_QPS-1:0]          qp_rd_index,
    input  wire                        qp_rd_done,
    input  wire                        qp_rd_live,
    input  wire                        qp_rd_err,
    /* verilator lint_off UNUSED */
    input  wire [1023:0]               qp_rd_data,
    /* verilator lint_on UNUSED */
    // Live words
    output wire                        lw_valid,
    output wire [23:0]                 lw_qpn,
    output wire [1:0]                  lw_op,
    output wire [7:0]                  lw_mask,
    output wire [7:0]                  lw_event,
    output wire [3:0]                  lw_inc,
    output reg  [511:0]                lw_data,
    input  wire                        lw_done,
    // What is known of a QP
    output wire [LOG_QPS-1:0]          as_index,
    input  wire [2:0]                  as_state,
    input  wire                        as_fresh,
    input  wire [7:0]                  as_life,
    input  wire                        anew_valid,
    input  wire [LOG_QPS-1:0]          anew_index,
    // Lock of a QP against frnic_req_tx
    output wire                        lock_want,
    output wire                        lock_held,
    output wire [LOG_QPS-1:0]          lock_index,
    input  wire                        lock_free,
    // Memories
    output wire                        rs_rd_valid,
    input  wire                        rs_rd_ready,
    input  wire                        rs_rd_done,
    input  wire [RS_BITS-1:0]          rs_rd_data,
    output wire                        rs_wr_valid,
    input  wire                        rs_wr_ready,
    output wire [RS_BITS-1:0]          rs_wr_data,
    output wire                        rec_rd_valid,
    input  wire                        rec_rd_ready,
    output wire [LOG_QPS+LOG_RECS-1:0] rec_rd_addr,
    input  wire                        rec_rd_done,
    input  wire [REC_BITS-1:0]         rec_rd_data,
    output wire                        rec_wr_valid,
    input  wire                        rec_wr_ready,
    output wire [LOG_QPS+LOG_RECS-1:0] rec_wr_addr,
    output wire [REC_BITS-1:0]         rec_wr_data,
    // Completions
    output wire                        cqe_valid,
    input  wire                        cqe_ready,
    output wire [23:0]                 cqe_cqn,
    output reg  [255:0]                cqe_data,
    output wire                        idle,
    // Counters, pulses
    output reg                         cnt_ack,
    output reg                         cnt_rnr,
    output reg                         cnt_seq,
    output reg                         cnt_inv,
    output reg                         cnt_access,
    output reg                         cnt_op,
    output reg                         cnt_timeout,
    output reg                         cnt_implied,
    output reg                         cnt_retry_exc,
    output reg                         cnt_rnr_exc,
    output reg                         cnt_stale,
    output reg                         cnt_wqe_err
);

    `include "frnic_req.vh"
    `include "frnic_rx_meta.vh"

    localparam [2:0] EV_RESP = 3'd0, EV_GONE = 3'd1, EV_FLUSH = 3'd2, EV_SETTLE = 3'd3, EV_LATE = 3'd4;
    localparam [2:0] AF_NONE = 3'd0, AF_RNR = 3'd1, AF_SEQ = 3'd2, AF_FATAL = 3'd3, AF_LATE = 3'd4;
    localparam [4:0] A_IDLE = 5'd0, A_CONN = 5'd1, A_LOCK = 5'd2, A_LOAD = 5'd3, A_EXEC = 5'd4, A_WALK = 5'd5, A_WALKED = 5'd6, A_COUNT = 5'd7,
                     A_AFTER = 5'd8, A_FAIL = 5'd9, A_LW = 5'd10, A_EMIT = 5'd11, A_CQE = 5'd12, A_COMMIT = 5'd13, A_DRAIN = 5'd14, A_POISON = 5'd15,
                     A_MARK = 5'd16, A_OVER = 5'd17, A_OWNER = 5'd18, A_REC = 5'd19, A_JUDGE = 5'd20, A_DATA = 5'd21;

    reg [4:0] state_reg = A_IDLE;
    reg [2:0] ev_reg;
    reg [LOG_QPS-1:0] index_reg;
    reg asked_reg;
    reg moved_reg;
    reg conn_ok_reg;
    /* verilator lint_off UNUSED */
    reg [1023:0] conn_reg;
    /* verilator lint_on UNUSED */
    reg [7:0] gone_life_reg;
    reg [LOG_RECS-1:0] gone_rec_reg;
    reg [23:0] gone_psn_reg;
    reg gone_poisoned_reg;
    reg [RS_W-1:0] rs_reg;
    /* verilator lint_off UNUSED */
    reg [REC_W-1:0] rec_reg;
    /* verilator lint_on UNUSED */
    reg [23:0] target_reg;
    reg [2:0] after_reg;
    reg [23:0] wuna_reg;
    reg [7:0] walk_reg;  // record at hand
    reg [7:0] first_reg; // oldest record when the event began
    reg [7:0] good_reg;  // past the last record that completes well
    reg waited_reg;      // progress ended the wait for RNR
    reg fail_reg;
    reg [7:0] fail_status_reg;
    reg [7:0] fail_verr_reg;
    reg flush_reg;
    reg changed_reg;
    reg wake_reg;
    reg stale_reg;
    reg fresh_reg;
    reg data_reg; // the packet's data is still to be placed

    // ---- Connection, packet ----
    wire [23:0] c_qpn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
    wire [23:0] c_psn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CONN_SQ_PSN_LO_LSB +: 16]};
    wire [2:0] c_type = conn_reg[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 3];
    wire [3:0] c_retry = conn_reg[`FRNIC_CMD_QP_RETRY_CNT_LSB +: 4];
    wire [3:0] c_rnr = conn_reg[`FRNIC_CMD_QP_RNR_RETRY_LSB +: 4];
    wire [4:0] c_timeout = conn_reg[`FRNIC_CMD_QP_TIMEOUT_LSB +: 5];
    wire c_all = conn_reg[`FRNIC_CMD_QP_QP_FLAGS_LSB];
    wire is_rc = c_type == `FRNIC_QP_TYPE_RC;
    wire [23:0] p_psn = s_meta[META_PSN +: 24];
    wire [7:0] p_opcode = s_meta[META_OPCODE +: 8];
    // The AETH's first byte
    wire [7:0] p_syndrome = s_meta[META_EXT +: 8];

    // ---- The QP's word ----
    wire [23:0] una = rs_reg[RS_UNA +: 24];
    wire [23:0] next = rs_reg[RS_NEXT +: 24];
    wire [23:0] max = rs_reg[RS_MAX +: 24];
    wire [7:0] head = rs_reg[RS_HEAD +: 8];
    wire [7:0] tail = rs_reg[RS_TAIL +: 8];
    wire rnr_wait = rs_reg[RS_RNR_WAIT];
    wire back = rs_reg[RS_BACK];
    wire [3:0] retry_left = rs_reg[RS_RETRY +: 4];
    wire [3:0] rnr_left = rs_reg[RS_RNR +: 4];
    wire live = as_state == `FRNIC_QP_STATE_RTS || as_state == `FRNIC_QP_STATE_SQD;
    wire ended = as_state == `FRNIC_QP_STATE_ERR || as_state == `FRNIC_QP_STATE_SQE;
    wire [23:0] out = max - una;
    /* verilator lint_off UNUSED */
    wire [35:0] late_by = now - rs_reg[RS_DEADLINE +: 36];
    /* verilator lint_on UNUSED */
    wire [35:0] ack_deadline = now + (36'd4 << c_timeout) + 36'd1;
    wire timed = is_rc && c_timeout != 5'd0;

    // RNR time in units of 10 us (IBTA table 45)
    function [16:0] rnr_units;
        input [4:0] code;
        case (code)
            5'd0: rnr_units = 17'd65536;
            5'd1: rnr_units = 17'd1;
            5'd2: rnr_units = 17'd2;
            5'd3: rnr_units = 17'd3;
            5'd4: rnr_units = 17'd4;
            5'd5: rnr_units = 17'd6;
            5'd6: rnr_units = 17'd8;
            5'd7: rnr_units = 17'd12;
            // From here on twice the one two before.
            default: rnr_units = (code[0] ? 17'd12 : 17'd8) << ((code - 5'd6) >> 1);
        endcase
    endfunction

    // ---- A record ----
    wire [23:0] r_psn = rec_rd_data[REC_PSN +: 24];
    wire [23:0] r_npsn = rec_rd_data[REC_NPSN +: 24];
    wire [1:0] r_kind = rec_rd_data[REC_KIND +: 2];
    wire [23:0] todo = target_reg - wuna_reg;
    wire [23:0] rest = r_psn + r_npsn - wuna_reg;
    wire [23:0] r_past = rec_rd_data[REC_INDEX +: 24] + {21'd0, rec_rd_data[REC_UNITS +: 3]};

    // Going back: all that is not acknowledged is sent again.
    function [RS_W-1:0] go_back;
        input [RS_W-1:0] rs;
        input [7:0] oldest;
        input timer;
        input [35:0] deadline;
        begin
            go_back = rs;
            go_back[RS_NEXT +: 24] = rs[RS_UNA +: 24];
            go_back[RS_SEND +: 8] = oldest;
            go_back[RS_SINCE +: 8] = 8'd0;
            go_back[RS_RD_OUT +: 8] = 8'd0;
            go_back[RS_ARMED] = timer && rs[RS_UNA +: 24] != rs[RS_MAX +: 24];
            go_back[RS_DEADLINE +: 36] = deadline;
        end
    endfunction

    // ---- Data of a response: the WQE at rec_reg ----
    wire p_atomic = p_opcode == 8'h12;
    wire [3:0] c_log_mtu = 4'd7 + {1'b0, conn_reg[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 3]};
    wire [23:0] d_pos = p_psn - rec_reg[REC_PSN +: 24];
    wire [23:0] d_npsn = rec_reg[REC_NPSN +: 24];
    wire [23:0] d_piece = (d_pos & ~(read_psns(c_log_mtu) - 24'd1)) + read_psns(c_log_mtu);
    wire d_last = d_pos + 24'd1 == d_npsn;
    wire d_ends = d_last || d_pos + 24'd1 == d_piece;
    wire [31:0] d_off = {8'd0, d_pos} << c_log_mtu;
    wire [31:0] d_want = p_atomic ? 32'd8 : d_last ? rec_reg[REC_LEN +: 32] - d_off : 32'd1 << c_log_mtu;

    function [63:0] swap64;
        input [63:0] v;
        integer i;
        for (i = 0; i < 8; i = i + 1) begin
            swap64[i*8 +: 8] = v[(7-i)*8 +: 8];
        end
    endfunction

    assign go_valid = state_reg == A_DATA;
    assign go_conn = conn_reg;
    assign go_qpn = c_qpn;
    assign go_index = rec_reg[REC_INDEX +: 24];
    assign go_units = rec_reg[REC_UNITS +: 3];
    assign go_op = rec_reg[REC_OP +: 8];
    assign go_len = rec_reg[REC_LEN +: 32];
    assign go_off = p_atomic ? 32'd0 : d_off;
    assign go_want = d_want[12:0];
    assign go_at = s_meta[META_HDR +: 7];
    assign go_atomic = p_atomic;
    assign go_value = swap64(s_meta[META_EXT + 32 +: 64]);
    assign go_last = d_last;

    // ---- Live words ----
    wire drained = as_state == `FRNIC_QP_STATE_SQD && good_reg == tail;
    wire lw_none = !changed_reg && !drained && ev_reg != EV_RESP;
    assign lw_valid = state_reg == A_LW && !lw_none;
    assign lw_qpn = c_qpn;
    // Drained: told if MODIFY_QP asked for it.
    assign lw_event = drained && !fail_reg && !moved_reg && conn_reg[`FRNIC_CMD_QP_ATTR_MASK_LSB + 16] ? `FRNIC_QP_EVENT_SQ_DRAINED : 8'd0;
    assign lw_op = moved_reg ? 2'd0 : fail_reg ? (is_rc ? 2'd1 : 2'd2) : drained ? 2'd3 : 2'd0;
    assign lw_mask = moved_reg ? 8'd0 : {1'b0, fail_reg && !flush_reg, 1'b1, 1'b0, 1'b1, 2'b00, 1'b1} & {8{changed_reg}};
    assign lw_inc = moved_reg ? 4'd0 : {stale_reg, 1'b0, ev_reg == EV_RESP, 1'b0};
    always @* begin
        lw_data = 512'd0;
        lw_data[`FRNIC_CMD_QP_LIVE1_SQ_CI_LSB - 1024 +: 24] = rs_reg[RS_CI +: 24];
        lw_data[`FRNIC_CMD_QP_LIVE5_UNA_PSN_LSB - 1024 +: 24] = una;
        lw_data[`FRNIC_CMD_QP_LIVE9_RD_OUT_LSB - 1024 +: 8] = rs_reg[RS_RD_OUT +: 8];
        lw_data[`FRNIC_CMD_QP_LIVE8_RETRY_LEFT_LSB - 1024 +: 4] = retry_left;
        lw_data[`FRNIC_CMD_QP_LIVE8_RNR_LEFT_LSB - 1024 +: 4] = rnr_left;
        lw_data[`FRNIC_CMD_QP_LIVE9_VENDOR_ERR_LSB - 1024 +: 8] = fail_verr_reg;
        lw_data[`FRNIC_CMD_QP_LIVE9_STATUS_LSB - 1024 +: 8] = fail_status_reg;
    end

    // ---- Completions ----
    wire failed_one = fail_reg && walk_reg == good_reg;
    wire [7:0] cqe_status = flush_reg ? `FRNIC_CQE_STATUS_WR_FLUSH_ERR : failed_one ? fail_status_reg : 8'd0;
    wire told = cqe_status != 8'd0 || rec_reg[REC_FLAGS + `FRNIC_WQE_FLAG_SIGNALED_BIT] || c_all;
    wire [7:0] emit_end = good_reg + {7'd0, fail_reg};

    assign cqe_valid = state_reg == A_CQE && told;
    assign cqe_cqn = conn_reg[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24];
    always @* begin
        cqe_data = 256'd0;
        cqe_data[`FRNIC_CQE_W0_QPN_LSB +: 24] = c_qpn;
        cqe_data[`FRNIC_CQE_W0_OPCODE_LSB +: 8] = rec_reg[REC_OP +: 8];
        cqe_data[`FRNIC_CQE_W1_WQE_INDEX_LSB +: 24] = rec_reg[REC_INDEX +: 24];
        cqe_data[`FRNIC_CQE_BYTE_COUNT_LSB +: 32] = cqe_status == 8'd0 ? rec_reg[REC_LEN +: 32] : 32'd0;
        cqe_data[`FRNIC_CQE_W4_STATUS_LSB +: 8] = cqe_status;
        cqe_data[`FRNIC_CQE_VENDOR_ERR_LSB +: 8] = flush_reg ? `FRNIC_VENDOR_ERR_FLUSHED : failed_one ? fail_verr_reg : 8'd0;
    end

    // ---- Memories, lock ----
    assign qp_rd_valid = state_reg == A_CONN && !asked_reg;
    assign qp_rd_index = index_reg;
    assign as_index = index_reg;
    assign lock_want = state_reg == A_LOCK;
    assign lock_held = state_reg >= A_LOAD && state_reg != A_DRAIN && state_reg != A_OVER;
    assign lock_index = index_reg;
    assign rs_rd_valid = state_reg == A_LOAD && !asked_reg;
    wire walk_done = walk_reg == tail || wuna_reg == target_reg;
    wire count_done = walk_reg == tail;
    assign rec_rd_valid = (state_reg == A_WALK || state_reg == A_COUNT || state_reg == A_FAIL || state_reg == A_EMIT || state_reg == A_POISON ||
                           state_reg == A_OWNER || state_reg == A_REC) && !asked_reg &&
                          !(state_reg == A_WALK && walk_done) && !((state_reg == A_COUNT || state_reg == A_OWNER) && count_done) && !(state_reg == A_EMIT && walk_reg == emit_end);
    assign rec_rd_addr = {index_reg, state_reg == A_POISON ? gone_rec_reg : walk_reg[LOG_RECS-1:0]};
    assign rec_wr_valid = state_reg == A_MARK && !moved_reg;
    assign rec_wr_addr = {index_reg, gone_rec_reg};
    reg [REC_W-1:0] rec_mark;
    always @* begin
        rec_mark = rec_reg;
        rec_mark[REC_STATUS +: 8] = `FRNIC_CQE_STATUS_LOC_QP_OP_ERR;
        rec_mark[REC_VERR +: 8] = `FRNIC_VENDOR_ERR_DMA_READ;
    end
    assign rec_wr_data = rec_mark;
    assign rs_wr_valid = state_reg == A_COMMIT && !moved_reg && !(fresh_reg && ev_reg == EV_RESP);
    assign rs_wr_data = rs_reg;

    // ---- Events ----
    wire pick = state_reg == A_IDLE && !wake_valid;
    assign gone_ready = pick;
    assign settle_ready = pick && !gone_valid;
    wire flush_pick = pick && !gone_valid && !settle_valid && flush_valid;
    assign late_ready = pick && !gone_valid && !settle_valid && !flush_valid;
    assign flush_done = state_reg == A_OVER && ev_reg == EV_FLUSH;
    assign s_axis_tready = state_reg == A_DRAIN || (state_reg == A_DATA && s_axis_use);
    assign idle = state_reg == A_IDLE && !gone_valid && !settle_valid && !flush_valid && !late_valid && !s_axis_tvalid && !wake_valid;

    // Is the packet of this event within what is outstanding, and what does it say?
    wire [23:0] in_psn = ev_reg == EV_RESP ? p_psn : gone_psn_reg;
    wire in_window = in_psn - una < out;
    wire [7:0] record_at = {{(8-LOG_RECS){1'b0}}, gone_rec_reg - head[LOG_RECS-1:0]};

    task bad_response;
        begin
            changed_reg <= 1'b1;
            fail_reg <= 1'b1;
            fail_status_reg <= `FRNIC_CQE_STATUS_BAD_RESP_ERR;
            fail_verr_reg <= `FRNIC_VENDOR_ERR_BAD_RESPONSE;
            rs_reg[RS_ARMED] <= 1'b0;
        end
    endtask

    always @(posedge clk) begin
        cnt_ack <= 1'b0;
        cnt_rnr <= 1'b0;
        cnt_seq <= 1'b0;
        cnt_inv <= 1'b0;
        cnt_access <= 1'b0;
        cnt_op <= 1'b0;
        cnt_timeout <= 1'b0;
        cnt_implied <= 1'b0;
        cnt_retry_exc <= 1'b0;
        cnt_rnr_exc <= 1'b0;
        cnt_stale <= 1'b0;
        cnt_wqe_err <= 1'b0;
        if (wake_ready) begin
            wake_valid <= 1'b0;
        end
        if (anew_valid && anew_index == index_reg) begin
            moved_reg <= 1'b1;
        end
        case (state_reg)
            A_IDLE: begin
                asked_reg <= 1'b0;
                fail_reg <= 1'b0;
                flush_reg <= 1'b0;
                changed_reg <= 1'b0;
                wake_reg <= 1'b0;
                stale_reg <= 1'b0;
                waited_reg <= 1'b0;
                data_reg <= 1'b0;
                after_reg <= AF_NONE;
                moved_reg <= 1'b0;
                gone_life_reg <= gone_life;
                gone_rec_reg <= gone_rec;
                gone_psn_reg <= gone_psn;
                gone_poisoned_reg <= gone_poisoned;
                if (wake_valid) begin
                    state_reg <= A_IDLE;
                end else if (gone_valid) begin
                    ev_reg <= EV_GONE;
                    index_reg <= gone_index;
                    state_reg <= A_CONN;
                end else if (settle_valid) begin
                    ev_reg <= EV_SETTLE;
                    index_reg <= settle_index;
                    state_reg <= A_CONN;
                end else if (flush_pick) begin
                    ev_reg <= EV_FLUSH;
                    index_reg <= flush_index;
                    state_reg <= A_CONN;
                end else if (late_valid) begin
                    ev_reg <= EV_LATE;
                    index_reg <= late_index;
                    state_reg <= A_CONN;
                end else if (s_axis_tvalid) begin
                    ev_reg <= EV_RESP;
                    index_reg <= s_meta[META_DQPN +: LOG_QPS];
                    conn_reg <= s_conn;
                    conn_ok_reg <= 1'b1;
                    state_reg <= A_LOCK;
                end
            end
            A_CONN: begin
                if (qp_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (qp_rd_done) begin
                    asked_reg <= 1'b0;
                    conn_reg <= qp_rd_data;
                    conn_ok_reg <= qp_rd_live && !qp_rd_err;
                    state_reg <= A_LOCK;
                end
            end
            A_LOCK: begin
                if (!conn_ok_reg) begin
                    state_reg <= A_OVER;
                end else if (lock_free) begin
                    state_reg <= A_LOAD;
                end
            end
            A_LOAD: begin
                if (rs_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (rs_rd_done) begin
                    asked_reg <= 1'b0;
                    rs_reg <= as_fresh ? rs_start(c_psn, c_retry, c_rnr) : rs_rd_data;
                    fresh_reg <= as_fresh;
                    state_reg <= A_EXEC;
                end
            end
            A_EXEC: begin
                first_reg <= head;
                good_reg <= head;
                walk_reg <= head;
                wuna_reg <= una;
                target_reg <= una;
                state_reg <= A_WALK;
                case (ev_reg)
                    EV_RESP: begin
                        // Who has sent nothing yet expects nothing; the context that came along may be of an earlier life.
                        if (!live || !in_window || fresh_reg) begin
                            stale_reg <= 1'b1;
                            cnt_stale <= 1'b1;
                            state_reg <= A_LW;
                        end else if (p_opcode != 8'h11) begin
                            // An answer with data; it also acknowledges all before it (protocol rule 6).
                            data_reg <= 1'b1;
                            target_reg <= p_psn;
                            state_reg <= A_OWNER;
                        end else if (p_syndrome[6:5] == 2'd0 && !p_syndrome[7]) begin
                            cnt_ack <= 1'b1;
                            target_reg <= p_psn + 24'd1;
                        end else if (p_syndrome[7:5] == 3'd1) begin
                            cnt_rnr <= 1'b1;
                            target_reg <= p_psn;
                            after_reg <= AF_RNR;
                        end else if (p_syndrome[7:5] == 3'd3 && p_syndrome[4:0] <= 5'd3) begin
                            target_reg <= p_psn;
                            after_reg <= p_syndrome[4:0] == 5'd0 ? AF_SEQ : AF_FATAL;
                            cnt_seq <= p_syndrome[4:0] == 5'd0;
                            cnt_inv <= p_syndrome[4:0] == 5'd1;
                            cnt_access <= p_syndrome[4:0] == 5'd2;
                            cnt_op <= p_syndrome[4:0] == 5'd3;
                        end else begin
                            // Reserved codes mean nothing.
                            cnt_stale <= 1'b1;
                            stale_reg <= p_syndrome[7:5] != 3'd3;
                            state_reg <= A_LW;
                        end
                    end
                    EV_GONE: begin
                        if (gone_life_reg != as_life || !live) begin
                            state_reg <= A_OVER;
                        end else if (gone_poisoned_reg) begin
                            state_reg <= record_at < tail - head ? A_POISON : A_OVER;
                        end else if (!in_window) begin
                            state_reg <= A_OVER;
                        end else begin
                            target_reg <= gone_psn_reg + 24'd1;
                        end
                    end
                    EV_SETTLE: begin
                        state_reg <= live ? A_COUNT : A_OVER;
                    end
                    EV_FLUSH: begin
                        if (!ended || head == tail) begin
                            state_reg <= A_OVER;
                        end else begin
                            flush_reg <= 1'b1;
                            state_reg <= A_COUNT;
                        end
                    end
                    default: begin // EV_LATE
                        rs_reg[RS_ARMED] <= 1'b0;
                        if (!rs_reg[RS_ARMED] || !live) begin
                            state_reg <= A_COMMIT;
                        end else if (late_by[35]) begin
                            // Armed anew since the scan passed.
                            rs_reg[RS_ARMED] <= 1'b1;
                            state_reg <= A_COMMIT;
                        end else if (rnr_wait) begin
                            rs_reg <= go_back(rs_reg & ~({{(RS_W-1){1'b0}}, 1'b1} << RS_RNR_WAIT), head, timed, ack_deadline);
                            wake_reg <= 1'b1;
                            changed_reg <= 1'b1;
                            state_reg <= A_LW;
                        end else if (una == max || head == tail) begin
                            state_reg <= A_COMMIT;
                        end else begin
                            cnt_timeout <= 1'b1;
                            after_reg <= AF_LATE;
                            rs_reg[RS_BACK] <= 1'b0;
                            state_reg <= A_COUNT;
                        end
                    end
                endcase
            end
            // Which WQE is answered?
            A_OWNER: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (count_done && !asked_reg) begin
                    cnt_stale <= 1'b1;
                    state_reg <= A_LW;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    walk_reg <= walk_reg + 8'd1;
                    if (p_psn - r_psn < r_npsn) begin
                        walk_reg <= head;
                        if (rec_rd_data[REC_STATUS +: 8] == 8'd0 && r_kind == (p_atomic ? KIND_ATOMIC : KIND_READ)) begin
                            state_reg <= A_WALK;
                        end else if (rec_rd_data[REC_STATUS +: 8] == 8'd0 && walk_reg == head && una - r_psn < r_npsn) begin
                            bad_response();
                            state_reg <= A_FAIL;
                        end else begin
                            cnt_stale <= 1'b1;
                            state_reg <= A_LW;
                        end
                    end
                end
            end
            // Everything before target is acknowledged, so far as that can be: a READ or atomic without its data stops it.
            A_WALK: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    if (r_npsn == 24'd0) begin
                        walk_reg <= walk_reg + 8'd1;
                    end else if (r_kind != KIND_SEND) begin
                        state_reg <= A_WALKED;
                    end else begin
                        wuna_reg <= wuna_reg + (todo < rest ? todo : rest);
                        walk_reg <= walk_reg + 8'd1;
                    end
                end
                if (walk_done && !asked_reg) begin
                    state_reg <= A_WALKED;
                end
            end
            A_WALKED: begin
                walk_reg <= good_reg;
                if (wuna_reg != una) begin
                    // The peer lives.
                    changed_reg <= 1'b1;
                    wake_reg <= 1'b1;
                    waited_reg <= waited_reg || rnr_wait;
                    rs_reg[RS_UNA +: 24] <= wuna_reg;
                    rs_reg[RS_RETRY +: 4] <= c_retry;
                    rs_reg[RS_RNR +: 4] <= c_rnr;
                    rs_reg[RS_BACK] <= 1'b0;
                    rs_reg[RS_RNR_WAIT] <= 1'b0;
                    // Acknowledged beyond the point to which a retransmission had come.
                    if (next - wuna_reg > max - wuna_reg) begin
                        rs_reg[RS_NEXT +: 24] <= wuna_reg;
                    end
                    rs_reg[RS_ARMED] <= timed && wuna_reg != max;
                    rs_reg[RS_DEADLINE +: 36] <= ack_deadline;
                end
                state_reg <= A_COUNT;
            end
            // How many of the oldest complete; a flush takes them all.
            A_COUNT: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (count_done && !asked_reg) begin
                    state_reg <= A_AFTER;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    if (!flush_reg && rec_rd_data[REC_STATUS +: 8] != 8'd0) begin
                        fail_reg <= 1'b1;
                        fail_status_reg <= rec_rd_data[REC_STATUS +: 8];
                        fail_verr_reg <= rec_rd_data[REC_VERR +: 8];
                        changed_reg <= 1'b1;
                        rs_reg[RS_CI +: 24] <= r_past;
                        state_reg <= A_AFTER;
                    end else if (!flush_reg && una - r_psn < r_npsn) begin
                        state_reg <= A_AFTER;
                    end else begin
                        changed_reg <= 1'b1;
                        wake_reg <= !flush_reg;
                        rs_reg[RS_CI +: 24] <= r_past;
                        good_reg <= walk_reg + 8'd1;
                        walk_reg <= walk_reg + 8'd1;
                    end
                end
            end
            // What else the event says, in the light of what completes.
            A_AFTER: begin
                walk_reg <= good_reg;
                state_reg <= A_LW;
                // What was passed is not sent again.
                if (rs_reg[RS_SEND +: 8] - first_reg < good_reg - first_reg) begin
                    rs_reg[RS_SEND +: 8] <= good_reg;
                end
                if (flush_reg) begin
                    rs_reg[RS_UNA +: 24] <= max;
                    rs_reg[RS_NEXT +: 24] <= max;
                    rs_reg[RS_SEND +: 8] <= tail;
                    rs_reg[RS_ARMED] <= 1'b0;
                    rs_reg[RS_RNR_WAIT] <= 1'b0;
                    rs_reg[RS_RD_OUT +: 8] <= 8'd0;
                end else if (fail_reg) begin
                    rs_reg[RS_ARMED] <= 1'b0;
                end else if (waited_reg) begin
                    // A late answer to an earlier sending: the packet that was waited for is through, what followed it was dropped.
                    rs_reg <= go_back(rs_reg, good_reg, timed, ack_deadline);
                end
                if (data_reg && !fail_reg && wuna_reg == target_reg) begin
                    // All before it is through: the oldest WQE is the one that is answered.
                    data_reg <= 1'b0;
                    state_reg <= A_REC;
                end else if (!flush_reg && !fail_reg) begin
                    if ((ev_reg == EV_RESP && wuna_reg != target_reg) || after_reg == AF_SEQ || after_reg == AF_LATE) begin
                        // One more try, if one is left. The peer acknowledged more than it told us the data of: an implied NAK.
                        if (after_reg != AF_LATE && (back || rnr_wait || good_reg == tail)) begin
                            state_reg <= A_LW;
                        end else begin
                            cnt_implied <= ev_reg == EV_RESP && wuna_reg != target_reg;
                            changed_reg <= 1'b1;
                            if (retry_left == 4'd0) begin
                                cnt_retry_exc <= 1'b1;
                                fail_reg <= 1'b1;
                                fail_status_reg <= `FRNIC_CQE_STATUS_RETRY_EXC_ERR;
                                fail_verr_reg <= `FRNIC_VENDOR_ERR_RETRY;
                                rs_reg[RS_ARMED] <= 1'b0;
                                state_reg <= A_FAIL;
                            end else begin
                                rs_reg <= go_back(rs_reg, good_reg, timed, ack_deadline);
                                rs_reg[RS_BACK] <= after_reg != AF_LATE;
                                rs_reg[RS_RETRY +: 4] <= retry_left - 4'd1;
                                wake_reg <= 1'b1;
                            end
                        end
                    end else if (after_reg == AF_RNR && !rnr_wait && good_reg != tail) begin
                        changed_reg <= 1'b1;
                        if (rnr_left == 4'd0) begin
                            cnt_rnr_exc <= 1'b1;
                            fail_reg <= 1'b1;
                            fail_status_reg <= `FRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR;
                            fail_verr_reg <= `FRNIC_VENDOR_ERR_RNR_RETRY;
                            rs_reg[RS_ARMED] <= 1'b0;
                            state_reg <= A_FAIL;
                        end else begin
                            // 7: without end
                            rs_reg[RS_RNR +: 4] <= c_rnr == 4'd7 ? rnr_left : rnr_left - 4'd1;
                            rs_reg[RS_RNR_WAIT] <= 1'b1;
                            rs_reg[RS_ARMED] <= 1'b1;
                            rs_reg[RS_DEADLINE +: 36] <= now + {16'd0, {3'd0, rnr_units(p_syndrome[4:0])} * 20'd10} + 36'd1;
                        end
                    end else if (after_reg == AF_FATAL && good_reg != tail) begin
                        changed_reg <= 1'b1;
                        fail_reg <= 1'b1;
                        fail_status_reg <= p_syndrome[1:0] == 2'd1 ? `FRNIC_CQE_STATUS_REM_INV_REQ_ERR :
                                           p_syndrome[1:0] == 2'd2 ? `FRNIC_CQE_STATUS_REM_ACCESS_ERR : `FRNIC_CQE_STATUS_REM_OP_ERR;
                        fail_verr_reg <= p_syndrome[1:0] == 2'd1 ? `FRNIC_VENDOR_ERR_NAK_INV_REQ :
                                         p_syndrome[1:0] == 2'd2 ? `FRNIC_VENDOR_ERR_NAK_ACCESS : `FRNIC_VENDOR_ERR_NAK_OP;
                        rs_reg[RS_ARMED] <= 1'b0;
                        state_reg <= A_FAIL;
                    end
                end
            end
            A_REC: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    rec_reg <= rec_rd_data;
                    state_reg <= A_JUDGE;
                end
            end
            // A response ends where its request ended; where it began depends on what was asked for again, so FIRST and MIDDLE are alike.
            A_JUDGE: begin
                if (!p_atomic && (s_meta[META_LEN +: 13] != d_want[12:0] || d_want[31:13] != 19'd0 || s_meta[META_FLAGS + F_END] != d_ends)) begin
                    bad_response();
                    state_reg <= A_FAIL;
                end else begin
                    state_reg <= A_DATA;
                end
            end
            A_DATA: begin
                walk_reg <= good_reg;
                if (go_done) begin
                    changed_reg <= 1'b1;
                    if (go_code != 8'd0) begin
                        fail_reg <= 1'b1;
                        fail_status_reg <= local_status(go_code);
                        fail_verr_reg <= go_code;
                        rs_reg[RS_ARMED] <= 1'b0;
                        state_reg <= A_FAIL;
                    end else begin
                        // The request was counted when it was sent, unless a retransmission has not come to it again.
                        if ((p_atomic || d_ends) && rs_reg[RS_RD_OUT +: 8] != 8'd0 && next != una) begin
                            rs_reg[RS_RD_OUT +: 8] <= rs_reg[RS_RD_OUT +: 8] - 8'd1;
                        end
                        wuna_reg <= una + 24'd1;
                        target_reg <= una + 24'd1;
                        state_reg <= A_WALKED;
                    end
                end
            end
            // The oldest fails: it ends, too.
            A_FAIL: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    rs_reg[RS_CI +: 24] <= r_past;
                    state_reg <= A_LW;
                end
            end
            // Before software can see a completion, its room in the ring is given back.
            A_LW: begin
                walk_reg <= first_reg;
                rs_reg[RS_HEAD +: 8] <= emit_end;
                if (fail_reg && rs_reg[RS_SEND +: 8] - first_reg < emit_end - first_reg) begin
                    rs_reg[RS_SEND +: 8] <= emit_end;
                end
                if (lw_done || lw_none) begin
                    state_reg <= A_EMIT;
                end
            end
            A_EMIT: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if ((walk_reg == emit_end || moved_reg) && !asked_reg) begin
                    state_reg <= A_COMMIT;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    rec_reg <= rec_rd_data;
                    state_reg <= A_CQE;
                end
            end
            A_CQE: begin
                if (!told || cqe_ready) begin
                    walk_reg <= walk_reg + 8'd1;
                    state_reg <= A_EMIT;
                end
            end
            A_COMMIT: begin
                if (!rs_wr_valid || rs_wr_ready) begin
                    state_reg <= ev_reg == EV_RESP ? A_DRAIN : A_OVER;
                end
            end
            // A packet whose payload could not be read: its WQE fails in its turn.
            A_POISON: begin
                if (rec_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (rec_rd_done) begin
                    asked_reg <= 1'b0;
                    rec_reg <= rec_rd_data;
                    state_reg <= rec_rd_data[REC_STATUS +: 8] != 8'd0 ? A_OVER : A_MARK;
                end
            end
            A_MARK: begin
                cnt_wqe_err <= rec_wr_ready;
                if (moved_reg) begin
                    state_reg <= A_OVER;
                end else if (rec_wr_ready) begin
                    state_reg <= A_COUNT;
                end
            end
            A_DRAIN: begin
                if (s_axis_tvalid && s_axis_tlast) begin
                    state_reg <= A_OVER;
                end
            end
            default: begin // A_OVER
                wake_valid <= wake_reg;
                wake_index <= index_reg;
                state_reg <= A_IDLE;
            end
        endcase
        if (rst) begin
            state_reg <= A_IDLE;
            wake_valid <= 1'b0;
        end
    end

endmodule

`resetall
