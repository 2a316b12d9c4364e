// SPDX-License-Identifier: BSD-2-Clause
//
// Front of the responder: a request or datagram at a time, in the order of arrival: PSN, opcode sequence, receive entry, keys, writes into host memory.
// The rules are the functional model's (responder.c, ud.c). What must wait for the writes (completions, answers, the end of a QP) goes to
// frnic_resp_back as a record. Flushes receive queues of QPs in ERR. Documentation/microarchitecture.md, 7.3.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_resp_front #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the P_Key table
    parameter LOG_PKEYS = 7,
    // log2 of the READs of a QP that are remembered: the largest max_dest_rd_atomic
    parameter LOG_RES = 4,
    // Bits of a metadata record (META_W), of a record (R_W)
    parameter META_BITS = 632,
    parameter REC_BITS = 759
) (
    input  wire                 clk,
    input  wire                 rst,
    // Packets: record, context and first beat of each; their beats
    input  wire                 s_valid,
    output wire                 s_ready,
    /* verilator lint_off UNUSED */
    input  wire [META_BITS-1:0] s_meta,
    input  wire [1023:0]        s_conn,
    /* verilator lint_on UNUSED */
    input  wire [511:0]         s_first,
    input  wire [511:0]         s_axis_tdata,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    // Reader of the connection contexts, for the flush
    output wire                 qp_rd_valid,
    input  wire                 qp_rd_ready,
    output wire [LOG_QPS-1:0]   qp_rd_index,
    input  wire                 qp_rd_done,
    input  wire                 qp_rd_live,
    input  wire                 qp_rd_err,
    /* verilator lint_off UNUSED */
    input  wire [1023:0]        qp_rd_data,
    /* verilator lint_on UNUSED */
    // Client of the live words, changes of state
    output wire                 lw_valid,
    output wire [23:0]          lw_qpn,
    output wire [7:0]           lw_mask,
    output wire [7:0]           lw_event,
    output wire [3:0]           lw_inc,
    output wire                 lw_buf,
    output reg  [511:0]         lw_data,
    input  wire                 lw_done,
    input  wire                 lw_err,
    /* verilator lint_off UNUSED */
    input  wire [511:0]         lw_rdata,
    /* verilator lint_on UNUSED */
    input  wire                 chg_valid,
    input  wire [LOG_QPS-1:0]   chg_index,
    input  wire [2:0]           chg_state,
    input  wire                 chg_resp,
    input  wire                 chg_clear,
    input  wire                 rqdb_valid,
    input  wire [LOG_QPS-1:0]   rqdb_index,
    // P_Key table
    output wire [LOG_PKEYS-1:0] pkey_index,
    input  wire [15:0]          pkey,
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
    // frnic_xlate: hold from the request to the last piece
    output wire                 xl_hold,
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
    // frnic_dma_wr; its status goes to the back
    output wire                 wr_cmd_valid,
    input  wire                 wr_cmd_ready,
    output wire [63:0]          wr_cmd_addr,
    output wire [12:0]          wr_cmd_len,
    output wire [5:0]           wr_cmd_src_off,
    output wire                 wr_data_valid,
    input  wire                 wr_data_ready,
    output wire [511:0]         wr_data,
    // Records for the back; reading: it is at a READ, which may take long
    output wire                 rec_valid,
    input  wire                 rec_ready,
    output wire [REC_BITS-1:0]  rec,
    input  wire                 reading,
    // READs and atomics of a QP that are not answered yet, two cycles later; atomics: there is one among them
    output wire [LOG_QPS-1:0]   reads_index,
    input  wire [7:0]           reads,
    input  wire                 atomics,
    // Level: everything is forgotten
    input  wire                 sweep,
    // Level: no flush begins; halted: nothing is under way, though QPs may wait to be flushed
    input  wire                 fence,
    output wire                 halted,
    output wire                 idle,
    // Trigger, counters: pulses
    output reg                  psn_gap,
    output wire [23:0]          psn_gap_qpn,
    output reg                  cnt_sends,
    output reg                  cnt_writes,
    output reg                  cnt_reads,
    output reg                  cnt_dup,
    output reg                  cnt_gap,
    output reg                  cnt_bad_state,
    output reg                  cnt_bad_pkey,
    output reg                  cnt_bad_qkey,
    output reg                  cnt_no_recv,
    output reg                  cnt_uc_dropped,
    output reg                  cnt_vanished
);

    `include "frnic_rx_meta.vh"
    `include "frnic_psn.vh"
    `include "frnic_resp_rec.vh"

    localparam QPS = 1 << LOG_QPS;

    // Places in the live words
    localparam STATE = `FRNIC_CMD_QP_LIVE0_STATE_LSB - 1024;
    localparam EPSN = `FRNIC_CMD_QP_LIVE6_EPSN_LSB - 1024;
    localparam MSN = `FRNIC_CMD_QP_LIVE7_MSN_LSB - 1024;
    localparam NAK_SENT = `FRNIC_CMD_QP_LIVE7_NAK_SENT_LSB - 1024;
    localparam STATUS = `FRNIC_CMD_QP_LIVE9_STATUS_LSB - 1024;
    localparam VENDOR_ERR = `FRNIC_CMD_QP_LIVE9_VENDOR_ERR_LSB - 1024;
    localparam RES_USED = `FRNIC_CMD_QP_LIVE9_RES_USED_LSB - 1024;
    localparam BUFS = `FRNIC_CMD_QP_LIVE1_BUFS_LSB - 1024;

    localparam [4:0] ST_IDLE = 5'd0, ST_CONN = 5'd1, ST_LOAD = 5'd2, ST_JUDGE = 5'd3, ST_PKEY = 5'd4, ST_RQE = 5'd5, ST_RQE2 = 5'd6, ST_RULE = 5'd7,
                     ST_WALK = 5'd8, ST_SGE = 5'd9, ST_XREQ = 5'd10, ST_XV = 5'd11, ST_MAP = 5'd12, ST_CMD = 5'd14,
                     ST_PLACED = 5'd16, ST_END = 5'd17, ST_DRAIN = 5'd18, ST_REC = 5'd19, ST_LW = 5'd20, ST_WB = 5'd21, ST_FLUSH = 5'd22, ST_RES = 5'd23,
                     ST_OLD = 5'd24, ST_BUF = 5'd25;
    // W_READ: atomics as well
    localparam [2:0] W_SEND = 3'd0, W_WRITE = 3'd1, W_READ = 3'd2, W_UD = 3'd3, W_FLUSH = 3'd4;
    localparam [1:0] MSG_IDLE = 2'd0, MSG_SEND = 2'd1, MSG_WRITE = 2'd2;
    // Verdicts: served; no entry; invalid; key; entry too short; local fault; dropped; gap; repeated
    localparam [3:0] V_OK = 4'd0, V_RNR = 4'd1, V_INVALID = 4'd2, V_ACCESS = 4'd3, V_SHORT = 4'd4, V_LOCAL = 4'd5, V_DROP = 4'd6, V_GAP = 4'd7,
                     V_DUP = 4'd8;
    localparam [2:0] RQE_OK = 3'd0, RQE_NONE = 3'd1, RQE_BAD = 3'd2, RQE_DMA = 3'd3, RQE_SRQ = 3'd4, RQE_PARITY = 3'd5;
    localparam [31:0] MSG_MAX = 32'h80000000;

    function [31:0] swap32(input [31:0] v);
        swap32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
    endfunction

    // ---- The packet at hand ----
    reg [4:0] state_reg = ST_IDLE;
    /* verilator lint_off UNUSED */
    reg [META_BITS-1:0] meta_reg = {META_BITS{1'b0}};
    reg [1023:0] conn_reg = 1024'd0;
    reg [511:0] first_reg = 512'd0; // its first beat, for the GRH
    /* verilator lint_on UNUSED */
    reg [2:0] what_reg = W_SEND;
    reg [LOG_QPS-1:0] index_reg = {LOG_QPS{1'b0}};
    reg asked_reg = 1'b0;
    reg moved_reg = 1'b0; // the QP ended or began anew since its words were read: no answer
    reg gone_reg = 1'b0;  // it is not what it was: no completion either
    reg hot_reg = 1'b0;   // what is known of the QP of the last packet is what its words say
    reg vanish_reg = 1'b0;

    wire [15:0] flags = meta_reg[META_FLAGS +: 16];
    wire [12:0] len = meta_reg[META_LEN +: 13];
    wire [23:0] psn = meta_reg[META_PSN +: 24];
    wire ackreq = meta_reg[META_ACKREQ];
    wire is_start = flags[F_START];
    wire is_end = flags[F_END];
    wire is_send = flags[F_SEND];
    wire is_write = flags[F_WRITE];
    /* verilator lint_off UNUSED */
    wire [223:0] ext = meta_reg[META_EXT +: 224];
    /* verilator lint_on UNUSED */
    wire [63:0] reth_va = {swap32(ext[31:0]), swap32(ext[63:32])};
    wire [31:0] reth_key = swap32(ext[95:64]);
    wire [31:0] reth_len = swap32(ext[127:96]);
    wire atomic = flags[F_ATOMIC_ETH];
    wire cas = atomic && meta_reg[META_OPCODE +: 5] == 5'h13;
    wire [63:0] swap_add = {swap32(ext[127:96]), swap32(ext[159:128])};
    wire [63:0] compare = {swap32(ext[191:160]), swap32(ext[223:192])};
    wire [31:0] ask_len = atomic ? 32'd8 : reth_len;
    wire [31:0] deth_qkey = swap32(ext[31:0]);
    wire [23:0] deth_qpn = {ext[47:40], ext[55:48], ext[63:56]};
    wire [31:0] imm = flags[F_DETH] ? ext[95:64] : flags[F_RETH] ? ext[159:128] : flags[F_IETH] ? swap32(ext[31:0]) : ext[31:0];

    wire [23:0] qpn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
    wire [23:0] remote_qpn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CONN_REMOTE_QPN_LO_LSB +: 16]};
    wire [2:0] c_type = conn_reg[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 3];
    wire rc = c_type == `FRNIC_QP_TYPE_RC;
    wire gsi = c_type == `FRNIC_QP_TYPE_GSI;
    wire [2:0] c_pm = conn_reg[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 3];
    wire [12:0] mtu = 13'd128 << c_pm;
    /* verilator lint_off UNUSED */
    wire [7:0] c_access = conn_reg[`FRNIC_CMD_QP_QP_ACCESS_LSB +: 8];
    /* verilator lint_on UNUSED */
    wire [23:0] c_pd = conn_reg[`FRNIC_CMD_QP_PD_PD_LSB +: 24];
    wire c_kernel = conn_reg[`FRNIC_CMD_QP_QP_FLAGS_LSB + 1];
    wire c_srq = conn_reg[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB];
    wire [4:0] c_rnr = conn_reg[`FRNIC_CMD_QP_MIN_RNR_TIMER_LSB +: 5];

    // ---- Live words and own state ----
    reg [2:0] l_state_reg = 3'd0;
    reg l_bad_reg = 1'b0;
    reg [23:0] epsn_reg = 24'd0;
    reg [23:0] msn_reg = 24'd0;
    reg nak_sent_reg = 1'b0;
    reg buf_reg = 1'b0;       // the QP holds a packet buffer (R1.4)
    reg buf_asked_reg = 1'b0; // it was asked for
    reg [7:0] l_status_reg = 8'd0;

    reg [1:0] p_msg_reg = MSG_IDLE;   // message in progress
    reg p_drop_reg = 1'b0;            // UC: up to the next message
    reg p_have_reg = 1'b0;            // a receive entry is taken and not completed
    reg p_srq_reg = 1'b0;             // it came from an SRQ
    reg p_fatal_reg = 1'b0;           // the end is on its way to the back
    reg p_told_reg = 1'b0;            // LAST_WQE was raised
    reg [23:0] p_tag_reg = 24'd0;
    reg [23:0] p_pd_reg = 24'd0;
    reg [4:0] p_num_reg = 5'd0;
    reg [35:0] p_len_reg = 36'd0;
    reg [31:0] p_placed_reg = 32'd0;
    reg [63:0] p_va_reg = 64'd0;
    reg [31:0] p_rkey_reg = 32'd0;
    reg [31:0] p_left_reg = 32'd0;

    // READs and atomics that are remembered: a ring in PSN order, oldest first, and the last PSN of that one
    reg [LOG_RES-1:0] p_res_head_reg = {LOG_RES{1'b0}};
    reg [LOG_RES:0] p_res_num_reg = {(LOG_RES+1){1'b0}};
    reg [23:0] p_res_old_reg = 24'd0;

    localparam OWN_W = 2 * LOG_RES + 1 + 24 + 2 + 5 + 24 + 24 + 5 + 36 + 32 + 64 + 32 + 32;
    wire [OWN_W-1:0] own = {p_res_head_reg, p_res_num_reg, p_res_old_reg, p_msg_reg, p_drop_reg, p_have_reg, p_srq_reg, p_fatal_reg, p_told_reg, p_tag_reg, p_pd_reg, p_num_reg, p_len_reg,
                            p_placed_reg, p_va_reg, p_rkey_reg, p_left_reg};
    wire [OWN_W-1:0] own_mem;
    // What changes of state have done to an entry since it was written: all of it void; the message and the end void; to be flushed.
    reg [QPS-1:0] zero_reg = {QPS{1'b0}};
    reg [QPS-1:0] start_reg = {QPS{1'b0}};
    reg [QPS-1:0] flush_reg = {QPS{1'b0}};
    reg [LOG_QPS-1:0] scan_reg = {LOG_QPS{1'b0}};
    reg [LOG_QPS:0] scan_left_reg = {(LOG_QPS+1){1'b0}};
    reg keep_flush_reg = 1'b0;
    wire scanning = scan_left_reg != {(LOG_QPS+1){1'b0}};

    frnic_ram_sdp #(.WIDTH(OWN_W), .LOG_DEPTH(LOG_QPS), .READ_LATENCY(2)) own_ram (
        .clk(clk), .wr_en(state_reg == ST_WB), .wr_addr(index_reg), .wr_data(own), .rd_en(state_reg == ST_LOAD), .rd_addr(index_reg), .rd_data(own_mem)
    );

    // ---- READs and atomics that may be asked for again (the model's struct resp_res): PSN, PSNs, address, key, length, which ----
    localparam RES_W = 24 + 24 + 64 + 32 + 32 + 2;
    reg [LOG_RES:0] res_i_reg = {(LOG_RES+1){1'b0}};
    wire [LOG_RES-1:0] res_new = p_res_head_reg + p_res_num_reg[LOG_RES-1:0];
    wire [LOG_RES-1:0] res_at = p_res_head_reg + res_i_reg[LOG_RES-1:0];
    wire res_put = state_reg == ST_END && what_reg == W_READ && v_reg == V_OK && !dup_read_reg;
    wire [RES_W-1:0] res;
    wire [23:0] res_psn = res[0 +: 24];
    wire [23:0] res_npsn = res[24 +: 24];
    wire [23:0] res_last = res_psn + res_npsn - 24'd1;
    wire res_ask = (state_reg == ST_RES || state_reg == ST_OLD) && wait_reg == 2'd0;

    frnic_ram_sdp #(.WIDTH(RES_W), .LOG_DEPTH(LOG_QPS + LOG_RES), .READ_LATENCY(2)) res_ram (
        .clk(clk), .wr_en(res_put), .wr_addr({index_reg, res_new}), .wr_data({cas, atomic, ask_len, reth_key, reth_va, npsn, psn}), .rd_en(res_ask),
        .rd_addr({index_reg, res_at}), .rd_data(res)
    );

    // The repeated packet against the one at hand, a cycle before it is judged
    wire [23:0] res_pos = psn - res_psn;
    reg res_inside_reg = 1'b0;    // its PSN is one of this READ's or atomic's, and it is of the same kind
    reg res_before_reg = 1'b0;    // it came before this READ
    reg res_key_reg = 1'b0;
    reg res_part_reg = 1'b0;      // it ends with a whole packet, or where the READ ended
    reg [24:0] res_end_reg = 25'd0;
    reg [23:0] res_npsn_reg = 24'd0;
    reg [23:0] res_psn_reg = 24'd0;
    reg [35:0] res_off_reg = 36'd0;
    reg [63:0] res_va_reg = 64'd0;
    reg [31:0] res_len_reg = 32'd0;
    reg [23:0] dup_psn_reg = 24'd0;
    reg [LOG_RES-1:0] dup_at_reg = {LOG_RES{1'b0}};
    wire res_match = res_inside_reg && res_key_reg && reth_va == res_va_reg + {28'd0, res_off_reg} && {4'd0, reth_len} + res_off_reg <= {4'd0, res_len_reg} &&
                     res_end_reg <= {1'b0, res_npsn_reg} && (res_part_reg || res_end_reg == {1'b0, res_npsn_reg});
    // A repeated packet lies at most half the number space behind what is expected (IBTA 9.7.2): what ended before that is asked for no more, and its
    // PSNs come round. One more than the peer may have takes the oldest one's place.
    wire [23:0] res_age = epsn_reg - p_res_old_reg;
    wire res_trim = rc && p_res_num_reg != {(LOG_RES+1){1'b0}} &&
                    (res_age > 24'h800000 || res_age == 24'd0 || (what_reg == W_READ && {{(8-LOG_RES-1){1'b0}}, p_res_num_reg} > c_ird));

    // ---- SGEs of the entries in use ----
    reg [4:0] sge_i_reg = 5'd0;
    reg [1:0] lane_reg = 2'd0;
    reg [1:0] wait_reg = 2'd0;
    wire [127:0] sge_in = r_line[lane_reg*128 +: 128];
    wire [127:0] sge;
    wire sge_take = state_reg == ST_RQE2 && r_valid && r_result == RQE_OK && (!r_first || lane_reg != 2'd0) && sge_i_reg < r_num;

    frnic_ram_sdp #(.WIDTH(128), .LOG_DEPTH(LOG_QPS + 4), .READ_LATENCY(2)) sge_ram (
        .clk(clk), .wr_en(sge_take), .wr_addr({index_reg, sge_i_reg[3:0]}), .wr_data(sge_in), .rd_en(state_reg == ST_SGE && wait_reg == 2'd0),
        .rd_addr({index_reg, sge_i_reg[3:0]}), .rd_data(sge)
    );

    // ---- Placing: bytes of the frame, or the GRH, to an entry's SGEs or a remote address ----
    reg pl_sge_reg = 1'b0;
    reg pl_check_reg = 1'b0;  // keys only: nothing is written before all may be
    reg pl_grh_reg = 1'b0;
    reg [35:0] pl_off_reg = 36'd0;
    reg [35:0] pl_off0_reg = 36'd0;
    reg [12:0] pl_left_reg = 13'd0;
    reg [12:0] pl_left0_reg = 13'd0;
    reg [12:0] pos_reg = 13'd0;
    reg [31:0] x_key_reg = 32'd0;
    reg [63:0] x_va_reg = 64'd0;
    reg [31:0] x_len_reg = 32'd0;
    reg x_check_reg = 1'b0;
    reg [63:0] w_addr_reg = 64'd0;
    reg [12:0] w_len_reg = 13'd0;
    reg w_last_reg = 1'b0;
    reg [6:0] nwr_reg = 7'd0;
    reg grh_done_reg = 1'b0;
    reg range_reg = 1'b0;     // the request asks for the whole range of a RETH

    wire [31:0] sge_len = sge[`FRNIC_SGE_LENGTH_LSB +: 32];
    wire [35:0] sge_rest = {4'd0, sge_len} - pl_off_reg;
    wire sge_past = pl_off_reg >= {4'd0, sge_len};
    wire part_all = {23'd0, pl_left_reg} <= sge_rest;
    wire [12:0] part = part_all ? pl_left_reg : sge_rest[12:0];

    // IPv6 header, or IPv4 header in the last 20 bytes (protocol rule 14)
    /* verilator lint_off UNUSED */
    wire [511:0] l3 = meta_reg[META_VLAN] ? {144'd0, first_reg[511:144]} : {112'd0, first_reg[511:112]};
    /* verilator lint_on UNUSED */
    wire [319:0] grh = meta_reg[META_IPV6] ? l3[319:0] : {l3[159:0], 160'd0};

    assign wr_cmd_valid = state_reg == ST_CMD;
    assign wr_cmd_addr = w_addr_reg;
    assign wr_cmd_len = w_len_reg;
    assign wr_cmd_src_off = pos_reg[5:0];

    // ---- The bytes follow on their own, while the next packet is judged: pieces of a frame, of its GRH, then the rest of the frame goes ----
    localparam [1:0] OP_PIECE = 2'd0, OP_GRH = 2'd1, OP_END = 2'd2;
    wire op_ready, op_valid, op_done;
    wire op_piece = state_reg == ST_MAP && p_valid && !p_error && op_ready;
    wire op_end = state_reg == ST_DRAIN && what_reg != W_FLUSH && op_ready;
    wire [1:0] op;
    wire [12:0] op_pos;
    wire [12:0] op_len;
    wire [319:0] op_grh;
    reg eof_reg = 1'b0;
    reg [6:0] beat_reg = 7'd0;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_fifo #(.WIDTH(2 + 13 + 13 + 320), .LOG_DEPTH(2)) ops (
        .clk(clk), .rst(rst), .wr_data({op_end ? OP_END : pl_grh_reg ? OP_GRH : OP_PIECE, pos_reg, p_len, grh}), .wr_valid(op_piece || op_end),
        .wr_ready(op_ready), .rd_data({op, op_pos, op_len, op_grh}), .rd_valid(op_valid), .rd_ready(op_done), .count()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    wire [12:0] w_end = op_pos + op_len;
    /* verilator lint_off UNUSED */
    wire [12:0] w_end1 = w_end - 13'd1;
    /* verilator lint_on UNUSED */
    wire w_there = beat_reg >= op_pos[12:6];
    wire w_final = beat_reg == w_end1[12:6]; // the piece ends in this beat
    wire [6:0] w_beats = beat_reg + 7'd1;
    wire w_use = w_beats <= w_end[12:6];     // and nothing more of the beat is wanted
    wire s_take = s_axis_tvalid && s_axis_tready;

    assign wr_data_valid = op_valid && (op == OP_GRH || (op == OP_PIECE && s_axis_tvalid && w_there));
    assign wr_data = op == OP_GRH ? {192'd0, op_grh} : s_axis_tdata;
    assign s_axis_tready = op_valid && ((op == OP_PIECE && (!w_there || (wr_data_ready && w_use))) || (op == OP_END && !eof_reg));
    assign op_done = op == OP_END ? eof_reg || (s_take && s_axis_tlast) : wr_data_valid && wr_data_ready && (op == OP_GRH || w_final);

    always @(posedge clk) begin
        if (s_take) begin
            beat_reg <= beat_reg + 7'd1;
            eof_reg <= s_axis_tlast;
        end
        if (rst || (op_valid && op_done && op == OP_END)) begin
            beat_reg <= 7'd0;
            eof_reg <= 1'b0;
        end
    end

    assign xl_hold = state_reg >= ST_XREQ && state_reg <= ST_CMD;
    assign xl_valid = state_reg == ST_XREQ;
    assign xl_key = x_key_reg;
    assign xl_pd = pl_sge_reg ? p_pd_reg : c_pd;
    assign xl_qpn = qpn;
    assign xl_kernel = c_kernel;
    assign xl_access = pl_sge_reg ? 8'd1 << `FRNIC_ACCESS_LOCAL_WRITE_BIT :
                       what_reg == W_READ ? 8'd1 << (atomic ? `FRNIC_ACCESS_REMOTE_ATOMIC_BIT : `FRNIC_ACCESS_REMOTE_READ_BIT) : 8'd1 << `FRNIC_ACCESS_REMOTE_WRITE_BIT;
    assign xl_va = x_va_reg;
    assign xl_len = x_len_reg;
    assign xl_check = x_check_reg;
    assign p_ready = state_reg == ST_MAP && op_ready;

    assign reads_index = index_reg;
    assign q_valid = state_reg == ST_RQE;
    assign q_qpn = qpn;
    assign r_ready = state_reg == ST_RQE2 && (r_result != RQE_OK || lane_reg == 2'd3);

    // ---- What a packet in order may ask (the model's serve()) ----
    wire length_fits = is_end ? len <= mtu && (len != 13'd0 || is_start) : len == mtu;
    wire seq_ok = is_start ? p_msg_now == MSG_IDLE : p_msg_now == (is_send ? MSG_SEND : MSG_WRITE);
    wire [1:0] p_msg_now = !rc && is_start ? MSG_IDLE : p_msg_reg; // UC: a message that was cut off is forgotten
    wire [31:0] placed = is_start ? 32'd0 : p_placed_reg;
    wire [32:0] placed_next = {1'b0, placed} + {20'd0, len};
    wire [63:0] m_va = is_start ? reth_va : p_va_reg;
    wire [31:0] m_key = is_start ? reth_key : p_rkey_reg;
    wire [31:0] m_left = is_start ? ask_len : p_left_reg;
    wire send_ok = length_fits && placed_next <= {1'b0, MSG_MAX} && !flags[F_IETH]; // remote invalidation is not there yet
    wire write_ok = c_access[`FRNIC_ACCESS_REMOTE_WRITE_BIT] && length_fits && m_left <= MSG_MAX &&
                    (is_end ? {19'd0, len} == m_left : {19'd0, len} < m_left);
    wire [7:0] c_ird = conn_reg[`FRNIC_CMD_QP_IRD_LSB +: 8];
    wire read_ok = flags[F_RETH] && c_ird != 8'd0 && c_access[`FRNIC_ACCESS_REMOTE_READ_BIT] && reth_len <= MSG_MAX;
    wire atomic_ok = atomic && c_ird != 8'd0 && c_access[`FRNIC_ACCESS_REMOTE_ATOMIC_BIT] && reth_va[2:0] == 3'd0;
    wire asks_ok = seq_ok && (is_send ? send_ok : is_write ? write_ok : (read_ok || atomic_ok) && reads < c_ird);
    wire needs_entry = is_send ? is_start : is_write && flags[F_IMM];
    // The whole range of a WRITE at its start; before an entry is taken; of a READ or atomic.
    wire needs_range = is_write ? len != 13'd0 && (flags[F_IMM] || (is_start && {19'd0, len} != reth_len)) : !is_send && ask_len != 32'd0;
    wire [31:0] read_up = ask_len + {19'd0, mtu} - 32'd1;
    /* verilator lint_off UNUSED */
    wire [31:0] read_n = read_up >> (4'd7 + {1'b0, c_pm});
    /* verilator lint_on UNUSED */
    wire [23:0] npsn = !(is_send || is_write) && ask_len > {19'd0, mtu} ? read_n[23:0] : 24'd1;

    wire signed [23:0] diff = frnic_psn_diff(psn, epsn_reg);
    wire older = diff < 24'sd0;
    wire receives = l_state_reg == `FRNIC_QP_STATE_RTR || l_state_reg == `FRNIC_QP_STATE_RTS || l_state_reg == `FRNIC_QP_STATE_SQD ||
                    l_state_reg == `FRNIC_QP_STATE_SQE;

    // ---- P_Key of a datagram: the QP's own; QP 1 takes any that the port has ----
    reg [LOG_PKEYS-1:0] pk_reg = {LOG_PKEYS{1'b0}};
    wire [15:0] m_pkey = meta_reg[META_PKEY +: 16];
    wire pkey_ok = m_pkey[14:0] != 15'd0 && m_pkey[14:0] == pkey[14:0] && (m_pkey[15] || pkey[15]);
    assign pkey_index = pk_reg;

    // ---- Outcome ----
    reg [3:0] v_reg = V_OK;
    reg [7:0] err_reg = 8'd0;
    reg dup_read_reg = 1'b0;
    reg rec_reg = 1'b0;
    reg lwop_reg = 1'b0;
    reg [7:0] mask_reg = 8'd0;
    reg [7:0] event_reg = 8'd0;
    reg [3:0] inc_reg = 4'd0;
    // of the record
    reg o_cqe_reg = 1'b0;
    reg [7:0] o_op_reg = 8'd0;
    reg [7:0] o_flags_reg = 8'd0;
    reg [31:0] o_bytes_reg = 32'd0;
    reg [31:0] o_imm_reg = 32'd0;
    reg [7:0] o_status_reg = 8'd0;
    reg [7:0] o_vendor_reg = 8'd0;
    reg [23:0] o_src_reg = 24'd0;
    reg [15:0] o_vlan_reg = 16'd0;
    reg [23:0] o_tag_reg = 24'd0;
    reg [1:0] o_ans_reg = ANS_NONE;
    reg [7:0] o_syn_reg = 8'd0;
    reg [23:0] o_psn_reg = 24'd0;
    reg o_end_reg = 1'b0;
    reg [7:0] o_event_reg = 8'd0;
    reg [7:0] o_last_vendor_reg = 8'd0;
    reg [7:0] o_last_status_reg = 8'd0;
    reg [31:0] o_read_len_reg = 32'd0;

    function [7:0] local_status(input [7:0] err);
        case (err)
            `FRNIC_VENDOR_ERR_LKEY_INVALID, `FRNIC_VENDOR_ERR_LKEY_PD, `FRNIC_VENDOR_ERR_LKEY_RANGE, `FRNIC_VENDOR_ERR_LKEY_ACCESS:
                local_status = `FRNIC_CQE_STATUS_LOC_PROT_ERR;
            `FRNIC_VENDOR_ERR_BAD_LENGTH: local_status = `FRNIC_CQE_STATUS_LOC_LEN_ERR;
            default: local_status = `FRNIC_CQE_STATUS_LOC_QP_OP_ERR;
        endcase
    endfunction

    wire [7:0] base_flags = 8'd1 << `FRNIC_CQE_FLAG_RECV_BIT | {7'd0, p_srq_reg} << `FRNIC_CQE_FLAG_SRQ_BIT;
    wire [7:0] sol_flag = {7'd0, meta_reg[META_SOLICITED]} << `FRNIC_CQE_FLAG_SOLICITED_BIT;

    assign rec_valid = state_reg == ST_REC;
    wire [191:0] rec_cqe = o_ans_reg == ANS_ATOMIC ? {64'd0, compare, swap_add} :
        {o_vlan_reg, {{(8-LOG_PKEYS){1'b0}}, what_reg == W_UD ? pk_reg : {LOG_PKEYS{1'b0}}}, o_vendor_reg, o_status_reg, o_src_reg, o_imm_reg, o_bytes_reg,
         o_flags_reg, o_tag_reg, o_op_reg, qpn};
    assign rec = {(o_ans_reg == ANS_READ || o_ans_reg == ANS_ATOMIC) && !dup_read_reg, p_have_reg && !gone_reg, o_read_len_reg, reth_key, reth_va, c_pm, c_kernel, c_pd, remote_qpn, conn_reg[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 8],
                  conn_reg[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 8], conn_reg[`FRNIC_CMD_QP_ATTR_MASK_LSB +: 16], conn_reg[`FRNIC_CMD_QP_DGID_LSB +: 128],
                  conn_reg[`FRNIC_CMD_QP_FLOW_FLOW_LABEL_LSB +: 20], conn_reg[`FRNIC_CMD_QP_HOP_LIMIT_LSB +: 8],
                  conn_reg[`FRNIC_CMD_QP_TCLASS_LSB +: 8], conn_reg[`FRNIC_CMD_QP_DMAC_LSB +: 48],
                  o_last_status_reg, o_last_vendor_reg, o_event_reg, o_end_reg && !moved_reg, msn_reg, o_psn_reg, o_syn_reg, moved_reg ? ANS_NONE : o_ans_reg,
                  rec_cqe,
                  conn_reg[`FRNIC_CMD_QP_RCQ_RECV_CQN_LSB +: 24], o_flags_reg[`FRNIC_CQE_FLAG_SOLICITED_BIT], o_cqe_reg && !gone_reg, nwr_reg, rc, qpn};

    // What a packet leaves is written while the next is judged, which reads behind it; if the QP ended or began anew meanwhile, nothing is.
    reg put_reg = 1'b0;
    reg put_void_reg = 1'b0;
    reg [23:0] put_qpn_reg = 24'd0;
    reg [7:0] put_mask_reg = 8'd0;
    reg [7:0] put_event_reg = 8'd0;
    reg [3:0] put_inc_reg = 4'd0;
    reg [23:0] put_epsn_reg = 24'd0;
    reg [23:0] put_msn_reg = 24'd0;
    reg put_nak_sent_reg = 1'b0;
    reg [7:0] put_vendor_reg = 8'd0;
    reg [7:0] put_status_reg = 8'd0;
    reg [7:0] put_res_reg = 8'd0;
    wire [7:0] res_num = {{(8-LOG_RES-1){1'b0}}, p_res_num_reg};

    assign lw_valid = state_reg == ST_LOAD || state_reg == ST_BUF || put_reg;
    assign lw_buf = state_reg == ST_BUF && !put_reg;
    assign lw_qpn = put_reg ? put_qpn_reg : what_reg != W_FLUSH ? meta_reg[META_DQPN +: 24] : qpn;
    assign lw_mask = put_reg && !put_void_reg ? put_mask_reg : 8'd0;
    assign lw_event = put_reg && !put_void_reg ? put_event_reg : 8'd0;
    assign lw_inc = put_reg && !put_void_reg ? put_inc_reg : 4'd0;
    wire loaded = lw_done && !put_reg;

    always @* begin
        lw_data = 512'd0;
        lw_data[EPSN +: 24] = put_epsn_reg;
        lw_data[MSN +: 24] = put_msn_reg;
        lw_data[NAK_SENT] = put_nak_sent_reg;
        lw_data[VENDOR_ERR +: 8] = put_vendor_reg;
        lw_data[STATUS +: 8] = put_status_reg;
        lw_data[RES_USED +: 8] = put_res_reg;
    end

    always @(posedge clk) begin
        if (lw_done) begin
            put_reg <= 1'b0;
        end
        if (state_reg == ST_LW && !put_reg) begin
            put_reg <= 1'b1;
            put_void_reg <= moved_reg;
            put_qpn_reg <= qpn;
            put_mask_reg <= mask_reg;
            put_event_reg <= event_reg;
            put_inc_reg <= inc_reg;
            put_epsn_reg <= epsn_reg;
            put_msn_reg <= msn_reg;
            put_nak_sent_reg <= nak_sent_reg;
            put_vendor_reg <= o_last_vendor_reg;
            put_status_reg <= o_last_status_reg;
            put_res_reg <= what_reg == W_READ && res_num > c_ird ? c_ird : res_num;
        end
        if (chg_valid && chg_index == (put_reg ? put_qpn_reg[LOG_QPS-1:0] : index_reg) && (chg_clear || chg_resp || chg_state == `FRNIC_QP_STATE_ERR)) begin
            put_void_reg <= 1'b1;
        end
        if (rst) begin
            put_reg <= 1'b0;
        end
    end

    assign qp_rd_valid = state_reg == ST_CONN && !asked_reg;
    assign qp_rd_index = index_reg;
    assign psn_gap_qpn = qpn;
    assign halted = state_reg == ST_IDLE && !s_valid && !s_axis_tvalid && !op_valid && !put_reg;
    assign idle = halted && !scanning;
    // The scan stands at a QP that is to be flushed. Packets go first, but not for ever; nor does one QP keep the others waiting.
    wire to_flush = scanning && flush_reg[scan_reg];
    reg [2:0] packets_reg = 3'd0; // since the last entry that was flushed
    reg [5:0] burst_reg = 6'd0;   // entries that were followed by another one of the same QP
    wire take_flush = state_reg == ST_IDLE && to_flush && rec_ready && !sweep && !fence && (!s_valid || packets_reg == 3'd7);
    assign s_ready = state_reg == ST_IDLE && !take_flush && (rec_ready || reading);

    // Where the bytes of a packet begin, and what translates them
    task place;
        begin
            pos_reg <= {6'd0, meta_reg[META_HDR +: 7]};
            pl_left_reg <= len;
            pl_left0_reg <= len;
            pl_off_reg <= what_reg == W_UD ? 36'd40 : {4'd0, placed};
            pl_off0_reg <= what_reg == W_UD ? 36'd40 : {4'd0, placed};
            sge_i_reg <= 5'd0;
            pl_sge_reg <= what_reg != W_WRITE;
            pl_check_reg <= what_reg != W_WRITE && p_num_reg > 5'd1;
            x_key_reg <= m_key;
            x_va_reg <= m_va;
            x_len_reg <= {19'd0, len};
            x_check_reg <= 1'b0;
            range_reg <= 1'b0;
        end
    endtask

    always @(posedge clk) begin
        psn_gap <= 1'b0;
        cnt_sends <= 1'b0;
        cnt_writes <= 1'b0;
        cnt_reads <= 1'b0;
        cnt_dup <= 1'b0;
        cnt_gap <= 1'b0;
        cnt_bad_state <= 1'b0;
        cnt_bad_pkey <= 1'b0;
        cnt_bad_qkey <= 1'b0;
        cnt_no_recv <= 1'b0;
        cnt_uc_dropped <= 1'b0;
        cnt_vanished <= 1'b0;
        wait_reg <= wait_reg + 2'd1;
        if (scanning && !to_flush && !sweep) begin
            scan_reg <= scan_reg + 1'b1;
            scan_left_reg <= scan_left_reg - 1'b1;
        end

        case (state_reg)
            ST_IDLE: begin
                asked_reg <= 1'b0;
                buf_asked_reg <= 1'b0;
                nwr_reg <= 7'd0;
                vanish_reg <= 1'b0;
                grh_done_reg <= 1'b0;
                dup_read_reg <= 1'b0;
                rec_reg <= 1'b0;
                lwop_reg <= 1'b0;
                mask_reg <= 8'd0;
                event_reg <= 8'd0;
                inc_reg <= 4'd0;
                err_reg <= 8'd0;
                keep_flush_reg <= 1'b0;
                pl_grh_reg <= 1'b0;
                range_reg <= 1'b0;
                if (s_valid && s_ready) begin
                    if (packets_reg != 3'd7) begin
                        packets_reg <= packets_reg + 3'd1;
                    end
                    hot_reg <= 1'b0;
                    meta_reg <= s_meta;
                    conn_reg <= s_conn;
                    first_reg <= s_first;
                    index_reg <= s_meta[META_DQPN +: LOG_QPS];
                    what_reg <= s_meta[META_FLAGS + F_DETH] ? W_UD : s_meta[META_FLAGS + F_SEND] ? W_SEND :
                                s_meta[META_FLAGS + F_WRITE] ? W_WRITE : W_READ;
                    // No room behind a long READ: as if lost, for responses wait behind this packet.
                    vanish_reg <= !rec_ready;
                    cnt_vanished <= !rec_ready;
                    state_reg <= !rec_ready ? ST_DRAIN : hot_reg && !moved_reg && s_meta[META_DQPN +: 24] == qpn ? ST_JUDGE : ST_LOAD;
                end else if (take_flush) begin
                    packets_reg <= 3'd0;
                    index_reg <= scan_reg;
                    what_reg <= W_FLUSH;
                    hot_reg <= 1'b0;
                    state_reg <= ST_CONN;
                    scan_reg <= scan_reg + 1'b1;
                end
            end

            ST_CONN: begin
                asked_reg <= asked_reg || qp_rd_ready;
                if (qp_rd_done) begin
                    conn_reg <= qp_rd_data;
                    flush_reg[index_reg] <= 1'b0;
                    state_reg <= qp_rd_live && !qp_rd_err ? ST_LOAD : ST_IDLE;
                end
            end

            ST_LOAD: begin
                if (loaded) begin
                    l_bad_reg <= lw_err;
                    l_state_reg <= lw_rdata[STATE +: 3];
                    epsn_reg <= lw_rdata[EPSN +: 24];
                    msn_reg <= lw_rdata[MSN +: 24];
                    nak_sent_reg <= lw_rdata[NAK_SENT];
                    buf_reg <= lw_rdata[BUFS];
                    l_status_reg <= lw_rdata[STATUS +: 8];
                    {p_res_head_reg, p_res_num_reg, p_res_old_reg, p_msg_reg, p_drop_reg, p_have_reg, p_srq_reg, p_fatal_reg, p_told_reg, p_tag_reg, p_pd_reg, p_num_reg, p_len_reg,
                     p_placed_reg, p_va_reg, p_rkey_reg, p_left_reg} <= own_mem;
                    if (start_reg[index_reg] || zero_reg[index_reg]) begin
                        p_msg_reg <= MSG_IDLE;
                        p_drop_reg <= 1'b0;
                        p_fatal_reg <= 1'b0;
                        p_res_num_reg <= {(LOG_RES+1){1'b0}};
                    end
                    if (zero_reg[index_reg]) begin
                        p_have_reg <= 1'b0;
                        p_told_reg <= 1'b0;
                    end
                    moved_reg <= 1'b0;
                    gone_reg <= 1'b0;
                    state_reg <= what_reg == W_FLUSH ? ST_FLUSH : ST_JUDGE;
                end
            end

            // One entry of a QP in ERR.
            ST_FLUSH: begin
                if (l_bad_reg || l_state_reg != `FRNIC_QP_STATE_ERR) begin
                    state_reg <= ST_IDLE;
                end else if (p_have_reg) begin
                    keep_flush_reg <= 1'b1;
                    v_reg <= V_OK;
                    state_reg <= ST_END;
                end else if (c_srq) begin
                    lwop_reg <= !p_told_reg;
                    event_reg <= `FRNIC_QP_EVENT_LAST_WQE;
                    p_told_reg <= 1'b1;
                    state_reg <= p_told_reg ? ST_IDLE : ST_LW;
                end else begin
                    state_reg <= ST_RQE;
                end
            end

            ST_JUDGE: begin
                v_reg <= V_OK;
                inc_reg[1] <= 1'b1; // rx_pkts
                pk_reg <= gsi ? {LOG_PKEYS{1'b0}} : conn_reg[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: LOG_PKEYS];
                if (l_bad_reg || !receives || p_fatal_reg) begin
                    cnt_bad_state <= 1'b1;
                    inc_reg <= 4'b1000;
                    lwop_reg <= !l_bad_reg;
                    v_reg <= V_DROP;
                    state_reg <= ST_END;
                end else if (what_reg == W_UD) begin
                    inc_reg <= 4'd0; // counted when it is delivered
                    state_reg <= ST_PKEY;
                end else if (rc && diff == 24'sd0 && (is_send || is_write) && atomics) begin
                    // What it writes must not pass the atomic (IBTA 9.5). If that waits behind a long READ: as if lost.
                    vanish_reg <= reading;
                    cnt_vanished <= reading;
                    state_reg <= reading ? ST_DRAIN : ST_JUDGE;
                end else if (rc && older) begin
                    lwop_reg <= 1'b1;
                    cnt_dup <= 1'b1;
                    dup_psn_reg <= epsn_reg - 24'd1;
                    res_i_reg <= {(LOG_RES+1){1'b0}};
                    wait_reg <= 2'd0;
                    v_reg <= is_send || is_write ? V_DUP : V_DROP;
                    // Nobody hears of it, or it is looked for among the READs that are remembered.
                    state_reg <= (is_send || is_write) && !ackreq ? ST_END : ST_RES;
                end else if (rc && diff != 24'sd0) begin
                    lwop_reg <= 1'b1;
                    inc_reg[3] <= 1'b1;
                    cnt_gap <= !nak_sent_reg;
                    psn_gap <= !nak_sent_reg;
                    v_reg <= nak_sent_reg ? V_DROP : V_GAP;
                    state_reg <= ST_END;
                end else if (!rc && !is_start && (p_drop_reg || diff != 24'sd0)) begin
                    lwop_reg <= 1'b1;
                    mask_reg[4] <= 1'b1;
                    inc_reg[3] <= 1'b1;
                    cnt_gap <= !p_drop_reg && p_msg_reg != MSG_IDLE;
                    psn_gap <= !p_drop_reg && p_msg_reg != MSG_IDLE;
                    cnt_uc_dropped <= 1'b1;
                    p_msg_reg <= MSG_IDLE;
                    p_drop_reg <= 1'b1;
                    epsn_reg <= psn + 24'd1;
                    v_reg <= V_DROP;
                    state_reg <= ST_END;
                end else if (!buf_reg && !buf_asked_reg) begin
                    state_reg <= ST_BUF;
                end else begin
                    lwop_reg <= 1'b1;
                    mask_reg[4] <= 1'b1;
                    nak_sent_reg <= 1'b0;
                    if (!rc) begin
                        epsn_reg <= psn + 24'd1;
                        p_drop_reg <= 1'b0;
                    end
                    if (rc && !buf_reg) begin
                        v_reg <= V_RNR; // UC has no way to say it, and needs none
                        state_reg <= ST_END;
                    end else if (!asks_ok) begin
                        v_reg <= V_INVALID;
                        state_reg <= ST_END;
                    end else if (needs_range) begin
                        x_key_reg <= m_key;
                        x_va_reg <= m_va;
                        x_len_reg <= is_write && !is_start ? {19'd0, len} : m_left;
                        x_check_reg <= 1'b1;
                        range_reg <= 1'b1;
                        pl_sge_reg <= 1'b0;
                        state_reg <= ST_XREQ;
                    end else if (is_write && !flags[F_IMM] && len != 13'd0) begin
                        place;
                        state_reg <= ST_XREQ;
                    end else begin
                        state_reg <= needs_entry && !p_have_reg ? ST_RQE : ST_RULE;
                    end
                end
            end

            // Its first packet in order.
            ST_BUF: begin
                if (loaded) begin
                    buf_reg <= lw_rdata[BUFS];
                    buf_asked_reg <= 1'b1;
                    state_reg <= ST_JUDGE;
                end
            end

            // Something that is repeated. A READ must lie in one that is remembered: same key, the address that belongs to its PSN, no byte more. SENDs and
            // WRITEs are acknowledged up to the latest, but not beyond a READ or atomic that came after: its answer may be lost as well.
            ST_RES: begin
                if (res_i_reg == p_res_num_reg) begin
                    inc_reg[3] <= v_reg == V_DROP;
                    state_reg <= ST_END;
                end else if (wait_reg == 2'd2) begin
                    res_inside_reg <= res_pos < res_npsn && res[176 +: 2] == {cas, atomic};
                    dup_at_reg <= res_at;
                    res_before_reg <= frnic_psn_diff(res_last, psn) > 24'sd0;
                    res_key_reg <= reth_key == res[112 +: 32];
                    res_part_reg <= (reth_len & {19'd0, mtu - 13'd1}) == 32'd0;
                    res_end_reg <= {1'b0, res_pos} + {1'b0, npsn};
                    res_npsn_reg <= res_npsn;
                    res_psn_reg <= res_psn;
                    res_off_reg <= {12'd0, res_pos} << (4'd7 + {1'b0, c_pm});
                    res_va_reg <= res[48 +: 64];
                    res_len_reg <= res[144 +: 32];
                end else if (wait_reg == 2'd3) begin
                    res_i_reg <= res_i_reg + 1'b1;
                    wait_reg <= 2'd0;
                    if (v_reg == V_DUP) begin
                        if (res_before_reg) begin
                            dup_psn_reg <= res_psn_reg - 24'd1;
                            state_reg <= ST_END;
                        end
                    end else if (atomic && res_inside_reg) begin
                        // Its result is given again; memory is not touched.
                        v_reg <= V_OK;
                        dup_read_reg <= 1'b1;
                        state_reg <= ST_END;
                    end else if (res_match) begin
                        v_reg <= V_OK;
                        dup_read_reg <= 1'b1;
                        x_key_reg <= reth_key;
                        x_va_reg <= reth_va;
                        x_len_reg <= reth_len;
                        x_check_reg <= 1'b1;
                        range_reg <= 1'b1;
                        pl_sge_reg <= 1'b0;
                        state_reg <= reth_len != 32'd0 ? ST_XREQ : ST_END;
                    end
                end
            end

            ST_PKEY: begin
                if (pkey_ok) begin
                    if (deth_qkey != conn_reg[`FRNIC_CMD_QP_QKEY_LSB +: 32]) begin
                        cnt_bad_qkey <= 1'b1;
                        lwop_reg <= 1'b1;
                        inc_reg <= 4'b1000;
                        v_reg <= V_DROP;
                        state_reg <= ST_END;
                    end else begin
                        state_reg <= p_have_reg ? ST_RULE : ST_RQE;
                    end
                end else if (!gsi || pk_reg == {LOG_PKEYS{1'b1}}) begin
                    cnt_bad_pkey <= 1'b1;
                    lwop_reg <= 1'b1;
                    inc_reg <= 4'b1000;
                    v_reg <= V_DROP;
                    state_reg <= ST_END;
                end else begin
                    pk_reg <= pk_reg + 1'b1;
                end
            end

            ST_RQE: begin
                sge_i_reg <= 5'd0;
                lane_reg <= 2'd0;
                if (q_ready) begin
                    state_reg <= ST_RQE2;
                end
            end

            ST_RQE2: begin
                if (r_valid) begin
                    lane_reg <= lane_reg + 2'd1;
                    if (sge_take) begin
                        sge_i_reg <= sge_i_reg + 5'd1;
                        p_len_reg <= (sge_i_reg == 5'd0 ? 36'd0 : p_len_reg) + {4'd0, sge_in[`FRNIC_SGE_LENGTH_LSB +: 32]};
                    end
                    if (r_first) begin
                        p_srq_reg <= r_srq;
                        p_pd_reg <= r_pd;
                        p_num_reg <= r_result == RQE_OK ? r_num : 5'd0;
                        p_tag_reg <= r_line[23:0];
                        if (r_num == 5'd0 || r_result != RQE_OK) begin
                            p_len_reg <= 36'd0;
                        end
                        p_have_reg <= r_result == RQE_OK || r_result == RQE_BAD;
                    end
                    if (r_ready && r_last) begin
                        v_reg <= V_LOCAL;
                        state_reg <= ST_END;
                        case (r_result)
                            RQE_OK: begin
                                v_reg <= V_OK;
                                keep_flush_reg <= 1'b1;
                                state_reg <= what_reg == W_FLUSH ? ST_END : ST_RULE;
                            end
                            RQE_NONE: v_reg <= V_RNR;
                            RQE_BAD: begin
                                keep_flush_reg <= 1'b1;
                                err_reg <= `FRNIC_VENDOR_ERR_BAD_RQE;
                            end
                            RQE_DMA: err_reg <= `FRNIC_VENDOR_ERR_DMA_READ;
                            RQE_SRQ: err_reg <= `FRNIC_VENDOR_ERR_SRQ_ERROR;
                            RQE_PARITY: err_reg <= `FRNIC_VENDOR_ERR_PARITY;
                            default: v_reg <= V_DROP;
                        endcase
                    end
                end
            end

            // All that is needed is there: does it fit? Then the bytes go to their place.
            ST_RULE: begin
                place;
                if (what_reg == W_READ) begin
                    state_reg <= ST_END;
                end else if (what_reg == W_SEND && {3'd0, placed_next} > p_len_reg) begin
                    v_reg <= V_SHORT;
                    state_reg <= ST_END;
                end else if (what_reg == W_UD && {23'd0, len} + 36'd40 > p_len_reg) begin
                    v_reg <= V_RNR; // an entry that is too short stays for the next datagram
                    state_reg <= ST_END;
                end else if (len == 13'd0) begin
                    state_reg <= ST_PLACED;
                end else begin
                    state_reg <= what_reg == W_WRITE ? ST_XREQ : ST_WALK;
                end
            end

            ST_WALK: begin
                wait_reg <= 2'd0;
                if (pl_left_reg == 13'd0) begin
                    if (pl_check_reg) begin
                        pl_check_reg <= 1'b0;
                        pl_left_reg <= pl_left0_reg;
                        pl_off_reg <= pl_off0_reg;
                        sge_i_reg <= 5'd0;
                    end else begin
                        state_reg <= ST_PLACED;
                    end
                end else if (sge_i_reg == p_num_reg) begin
                    v_reg <= V_LOCAL;
                    err_reg <= `FRNIC_VENDOR_ERR_BAD_LENGTH;
                    state_reg <= ST_END;
                end else begin
                    state_reg <= ST_SGE;
                end
            end

            ST_SGE: begin
                if (wait_reg == 2'd2) begin
                    x_key_reg <= sge[`FRNIC_SGE_LKEY_LSB +: 32];
                    x_va_reg <= sge[`FRNIC_SGE_ADDR_LSB +: 64] + {28'd0, pl_off_reg};
                    x_len_reg <= {19'd0, part};
                    x_check_reg <= pl_check_reg;
                    sge_i_reg <= sge_i_reg + 5'd1;
                    if (sge_past) begin
                        pl_off_reg <= pl_off_reg - {4'd0, sge_len};
                        state_reg <= ST_WALK;
                    end else begin
                        pl_off_reg <= 36'd0;
                        pl_left_reg <= pl_left_reg - part;
                        state_reg <= ST_XREQ;
                    end
                end
            end

            ST_XREQ: begin
                if (xl_ready) begin
                    state_reg <= ST_XV;
                end
            end

            ST_XV: begin
                if (v_valid) begin
                    if (v_code != 8'd0) begin
                        v_reg <= pl_sge_reg ? V_LOCAL : dup_read_reg ? V_DROP : V_ACCESS;
                        err_reg <= v_code;
                        state_reg <= ST_END;
                    end else if (range_reg) begin
                        state_reg <= dup_read_reg ? ST_END : needs_entry && !p_have_reg ? ST_RQE : ST_RULE;
                    end else begin
                        state_reg <= x_check_reg ? ST_WALK : ST_MAP;
                    end
                end
            end

            ST_MAP: begin
                if (p_valid && op_ready) begin
                    w_addr_reg <= p_addr;
                    w_len_reg <= p_len;
                    w_last_reg <= p_last;
                    if (p_error) begin
                        v_reg <= V_LOCAL;
                        err_reg <= `FRNIC_VENDOR_ERR_DMA_WRITE;
                        state_reg <= ST_END;
                    end else begin
                        state_reg <= ST_CMD;
                    end
                end
            end

            ST_CMD: begin
                if (wr_cmd_ready) begin
                    nwr_reg <= nwr_reg + 7'd1;
                    pos_reg <= pos_reg + w_len_reg;
                    state_reg <= !w_last_reg ? ST_MAP : pl_sge_reg ? ST_WALK : ST_END;
                end
            end

            ST_PLACED: begin
                if (what_reg == W_UD && !grh_done_reg) begin
                    grh_done_reg <= 1'b1;
                    pl_grh_reg <= 1'b1;
                    pl_check_reg <= p_num_reg > 5'd1;
                    pl_off_reg <= 36'd0;
                    pl_off0_reg <= 36'd0;
                    pl_left_reg <= 13'd40;
                    pl_left0_reg <= 13'd40;
                    pos_reg <= 13'd0;
                    sge_i_reg <= 5'd0;
                    state_reg <= ST_WALK;
                end else begin
                    state_reg <= ST_END;
                end
            end

            // What becomes of it.
            ST_END: begin
                state_reg <= ST_DRAIN;
                o_cqe_reg <= 1'b0;
                o_op_reg <= `FRNIC_CQE_OP_RECV;
                o_flags_reg <= base_flags;
                o_bytes_reg <= 32'd0;
                o_imm_reg <= 32'd0;
                o_status_reg <= 8'd0;
                o_vendor_reg <= 8'd0;
                o_src_reg <= what_reg == W_UD ? deth_qpn : remote_qpn;
                o_vlan_reg <= 16'd0;
                o_tag_reg <= p_tag_reg;
                o_ans_reg <= ANS_NONE;
                o_syn_reg <= SYN_ACK;
                o_psn_reg <= epsn_reg;
                o_end_reg <= 1'b0;
                o_event_reg <= 8'd0;
                o_last_vendor_reg <= 8'd0;
                o_last_status_reg <= l_status_reg;
                o_read_len_reg <= !atomic ? reth_len : {23'd0, cas, {(8-LOG_RES){1'b0}}, dup_read_reg ? dup_at_reg : res_new};
                rec_reg <= nwr_reg != 7'd0;
                if (what_reg == W_FLUSH) begin
                    if (p_have_reg) begin
                        rec_reg <= 1'b1;
                        o_cqe_reg <= 1'b1;
                        o_status_reg <= `FRNIC_CQE_STATUS_WR_FLUSH_ERR;
                        o_vendor_reg <= `FRNIC_VENDOR_ERR_FLUSHED;
                        p_have_reg <= 1'b0;
                    end
                end else begin
                    case (v_reg)
                        V_OK: begin
                            if (what_reg == W_UD) begin
                                rec_reg <= 1'b1;
                                o_cqe_reg <= 1'b1;
                                o_op_reg <= flags[F_IMM] ? `FRNIC_CQE_OP_RECV_IMM : `FRNIC_CQE_OP_RECV;
                                o_flags_reg <= base_flags | sol_flag | 8'd1 << `FRNIC_CQE_FLAG_GRH_BIT |
                                               {7'd0, meta_reg[META_IPV6]} << `FRNIC_CQE_FLAG_IPV6_BIT |
                                               {7'd0, meta_reg[META_VLAN]} << `FRNIC_CQE_FLAG_VLAN_BIT;
                                o_bytes_reg <= 32'd40 + {19'd0, len};
                                o_imm_reg <= flags[F_IMM] ? imm : 32'd0;
                                o_vlan_reg <= meta_reg[META_VLAN] ? meta_reg[META_TCI +: 16] : 16'd0;
                                p_have_reg <= 1'b0;
                                cnt_sends <= 1'b1;
                                lwop_reg <= 1'b1;
                                inc_reg <= 4'b0010;
                                mask_reg[7] <= 1'b1;
                            end else if (dup_read_reg) begin
                                rec_reg <= 1'b1;
                                o_ans_reg <= atomic ? ANS_ATOMIC : ANS_READ;
                                o_psn_reg <= psn;
                            end else begin
                                mask_reg[7] <= 1'b1;
                                if (is_end) begin
                                    msn_reg <= msn_reg + 24'd1;
                                end
                                if (rc) begin
                                    epsn_reg <= epsn_reg + npsn;
                                end
                                if (what_reg == W_READ) begin
                                    rec_reg <= 1'b1;
                                    o_ans_reg <= atomic ? ANS_ATOMIC : ANS_READ;
                                    o_psn_reg <= psn;
                                    cnt_reads <= !atomic;
                                    p_res_num_reg <= p_res_num_reg + 1'b1;
                                    if (p_res_num_reg == {(LOG_RES+1){1'b0}}) begin
                                        p_res_old_reg <= psn + npsn - 24'd1;
                                    end
                                end else begin
                                    if (rc && ackreq) begin
                                        rec_reg <= 1'b1;
                                        o_ans_reg <= ANS_AETH;
                                        o_psn_reg <= psn;
                                    end
                                    p_placed_reg <= placed_next[31:0];
                                    p_va_reg <= m_va + {51'd0, len};
                                    p_rkey_reg <= m_key;
                                    p_left_reg <= m_left - {19'd0, len};
                                    p_msg_reg <= is_end ? MSG_IDLE : is_send ? MSG_SEND : MSG_WRITE;
                                    cnt_sends <= is_send && is_end;
                                    cnt_writes <= is_write && is_end;
                                    if (is_end && (is_send || flags[F_IMM])) begin
                                        rec_reg <= 1'b1;
                                        o_cqe_reg <= 1'b1;
                                        o_op_reg <= is_write ? `FRNIC_CQE_OP_RECV_WRITE_IMM : flags[F_IMM] ? `FRNIC_CQE_OP_RECV_IMM : `FRNIC_CQE_OP_RECV;
                                        o_flags_reg <= base_flags | sol_flag;
                                        o_bytes_reg <= placed_next[31:0];
                                        o_imm_reg <= flags[F_IMM] ? imm : 32'd0;
                                        p_have_reg <= 1'b0;
                                    end
                                end
                            end
                        end
                        V_RNR: begin
                            if (rc) begin
                                rec_reg <= 1'b1;
                                o_ans_reg <= ANS_AETH;
                                o_syn_reg <= SYN_RNR | {3'd0, c_rnr};
                                nak_sent_reg <= 1'b1;
                                mask_reg[7] <= 1'b1;
                            end else begin
                                cnt_no_recv <= 1'b1;
                                lwop_reg <= 1'b1;
                                inc_reg[3] <= 1'b1;
                                p_msg_reg <= MSG_IDLE;
                                p_drop_reg <= 1'b1;
                            end
                        end
                        V_GAP: begin
                            rec_reg <= 1'b1;
                            o_ans_reg <= ANS_AETH;
                            o_syn_reg <= SYN_SEQ;
                            nak_sent_reg <= 1'b1;
                            mask_reg[4] <= 1'b1;
                        end
                        V_DUP: begin
                            rec_reg <= ackreq;
                            o_ans_reg <= ANS_AETH;
                            o_psn_reg <= dup_psn_reg;
                        end
                        V_DROP: begin
                        end
                        V_SHORT, V_INVALID, V_ACCESS: begin
                            if (rc) begin
                                rec_reg <= 1'b1;
                                o_ans_reg <= ANS_AETH;
                                o_syn_reg <= v_reg == V_ACCESS ? SYN_ACCESS : SYN_INV;
                                nak_sent_reg <= 1'b1;
                                o_end_reg <= 1'b1;
                                o_event_reg <= v_reg == V_SHORT ? 8'd0 : v_reg == V_ACCESS ? `FRNIC_QP_EVENT_ACCESS_ERR : `FRNIC_QP_EVENT_REQ_ERR;
                                o_last_vendor_reg <= v_reg == V_SHORT ? `FRNIC_VENDOR_ERR_RECV_TOO_SHORT :
                                                     v_reg == V_ACCESS ? `FRNIC_VENDOR_ERR_RKEY : `FRNIC_VENDOR_ERR_REQ_INVALID;
                                p_fatal_reg <= 1'b1;
                                p_msg_reg <= MSG_IDLE;
                                mask_reg[7] <= 1'b1;
                                if (v_reg == V_SHORT) begin
                                    o_cqe_reg <= 1'b1;
                                    o_status_reg <= `FRNIC_CQE_STATUS_LOC_LEN_ERR;
                                    o_vendor_reg <= `FRNIC_VENDOR_ERR_RECV_TOO_SHORT;
                                    o_last_status_reg <= `FRNIC_CQE_STATUS_LOC_LEN_ERR;
                                    p_have_reg <= 1'b0;
                                end
                            end else begin
                                cnt_no_recv <= v_reg == V_SHORT;
                                cnt_uc_dropped <= v_reg != V_SHORT;
                                inc_reg[3] <= 1'b1;
                                p_msg_reg <= MSG_IDLE;
                                p_drop_reg <= 1'b1;
                            end
                        end
                        default: begin // V_LOCAL
                            rec_reg <= 1'b1;
                            o_ans_reg <= rc ? ANS_AETH : ANS_NONE;
                            o_syn_reg <= SYN_OP;
                            nak_sent_reg <= rc;
                            o_end_reg <= 1'b1;
                            o_event_reg <= p_have_reg ? 8'd0 : `FRNIC_QP_EVENT_FATAL;
                            o_last_vendor_reg <= err_reg;
                            p_fatal_reg <= 1'b1;
                            p_msg_reg <= MSG_IDLE;
                            mask_reg[7] <= rc;
                            if (p_have_reg) begin
                                o_cqe_reg <= 1'b1;
                                o_status_reg <= local_status(err_reg);
                                o_vendor_reg <= err_reg;
                                o_last_status_reg <= local_status(err_reg);
                                p_have_reg <= 1'b0;
                            end
                        end
                    endcase
                end
            end

            ST_DRAIN: begin
                if (op_end || what_reg == W_FLUSH) begin
                    state_reg <= vanish_reg ? ST_IDLE : rec_reg ? ST_REC : lwop_reg ? ST_LW : ST_WB;
                end
            end

            ST_REC: begin
                if (rec_ready) begin
                    state_reg <= lwop_reg ? ST_LW : ST_WB;
                end
            end

            ST_LW: begin
                if (!put_reg) begin
                    state_reg <= ST_WB;
                end
            end

            // The oldest READ is forgotten: the next one's last PSN.
            ST_OLD: begin
                if (wait_reg == 2'd2) begin
                    p_res_old_reg <= res_last;
                    state_reg <= ST_WB;
                end
            end

            default: begin // ST_WB
                hot_reg <= v_reg == V_OK && rc && !dup_read_reg && (what_reg == W_SEND || what_reg == W_WRITE);
                if (!moved_reg) begin
                    zero_reg[index_reg] <= 1'b0;
                    start_reg[index_reg] <= 1'b0;
                end
                if (keep_flush_reg && what_reg == W_FLUSH) begin
                    // It has more. After 64 entries the others' turn comes first.
                    flush_reg[index_reg] <= 1'b1;
                    scan_left_reg <= QPS[LOG_QPS:0];
                    burst_reg <= burst_reg + 6'd1;
                    if (burst_reg != 6'd63) begin
                        scan_reg <= index_reg;
                    end
                end
                state_reg <= ST_IDLE;
                if (res_trim) begin
                    p_res_head_reg <= p_res_head_reg + 1'b1;
                    p_res_num_reg <= p_res_num_reg - 1'b1;
                    res_i_reg <= {(LOG_RES+1){1'b0}};
                    wait_reg <= 2'd0;
                    state_reg <= ST_OLD;
                end
            end
        endcase

        // Changes of state: the last word, for they may meet the write-back of an older packet.
        if (chg_valid) begin
            if (chg_index == index_reg && (chg_clear || chg_resp || chg_state == `FRNIC_QP_STATE_ERR)) begin
                moved_reg <= 1'b1;
                gone_reg <= gone_reg || chg_clear || chg_resp;
            end
            if (chg_clear) begin
                zero_reg[chg_index] <= 1'b1;
            end
            if (chg_resp || chg_state == `FRNIC_QP_STATE_ERR) begin
                start_reg[chg_index] <= 1'b1;
            end
            if (chg_state == `FRNIC_QP_STATE_ERR && !chg_clear) begin
                flush_reg[chg_index] <= 1'b1;
                scan_left_reg <= QPS[LOG_QPS:0];
            end
        end else if (rqdb_valid) begin
            flush_reg[rqdb_index] <= 1'b1;
            scan_left_reg <= QPS[LOG_QPS:0];
        end

        if (rst || sweep) begin
            zero_reg <= {QPS{1'b0}};
            start_reg <= {QPS{1'b0}};
            flush_reg <= {QPS{1'b0}};
            scan_left_reg <= {(LOG_QPS+1){1'b0}};
            hot_reg <= 1'b0;
        end
        if (rst) begin
            state_reg <= ST_IDLE;
        end
    end

endmodule

`resetall
