// SPDX-License-Identifier: BSD-2-Clause
//
// Back of the responder: takes the front's records in order once their writes are answered: completion, then ACK or NAK or READ responses or an atomic
// operation and its result, then the end of the QP. So no completion and no answer passes its data (protocol rule 19). Documentation/microarchitecture.md, 7.3.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_resp_back #(
    // log2 of the QPs, of the records
    parameter LOG_QPS = 12,
    parameter LOG_RECS = 4,
    // log2 of the results of atomics that a QP keeps
    parameter LOG_RES = 4,
    // log2 of the GID and P_Key tables
    parameter LOG_GIDS = 7,
    parameter LOG_PKEYS = 7,
    // Bits of a record (R_W), of a packet descriptor (TXD_W)
    parameter REC_BITS = 759,
    parameter DESC_BITS = 739
) (
    input  wire                 clk,
    input  wire                 rst,
    // Records
    input  wire                 rec_valid,
    output wire                 rec_ready,
    input  wire [REC_BITS-1:0]  rec,
    output wire                 reading,
    // READs and atomics of a QP that are not answered yet, two cycles later; atomics: there is one among them
    input  wire [LOG_QPS-1:0]   reads_index,
    output reg  [7:0]           reads,
    output wire                 atomics,
    // Status of the front's writes
    input  wire                 wr_st_valid,
    input  wire                 wr_st_error,
    // Completions
    output wire                 cqe_valid,
    input  wire                 cqe_ready,
    output wire [23:0]          cqe_cqn,
    output wire [255:0]         cqe_data,
    output wire                 cqe_solicited,
    // GID and P_Key tables
    output wire [LOG_GIDS-1:0]  gid_index,
    input  wire                 gid_valid,
    input  wire                 gid_ipv6,
    input  wire                 gid_vlan,
    input  wire [11:0]          gid_vid,
    input  wire [47:0]          gid_smac,
    input  wire [127:0]         gid,
    output wire [LOG_PKEYS-1:0] pkey_index,
    input  wire [15:0]          pkey,
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
    input  wire                 v_valid,
    input  wire [7:0]           v_code,
    input  wire                 p_valid,
    output wire                 p_ready,
    input  wire [63:0]          p_addr,
    input  wire [12:0]          p_len,
    input  wire                 p_last,
    input  wire                 p_error,
    // frnic_dma_rd: payload of READ responses, which others take; what an atomic finds, which is taken here (resp_mine)
    output wire                 req_valid,
    input  wire                 req_ready,
    output wire [63:0]          req_addr,
    output wire [12:0]          req_len,
    output wire                 resp_mine,
    input  wire                 resp_valid,
    input  wire [511:0]         resp_data,
    input  wire                 resp_last,
    input  wire                 resp_error,
    // frnic_dma_wr: what an atomic leaves
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
    // Pieces for frnic_tx_align
    output wire                 pc_valid,
    input  wire                 pc_ready,
    output wire [5:0]           pc_lane,
    output wire [12:0]          pc_len,
    output wire                 pc_first,
    output wire                 pc_last,
    output wire [5:0]           pc_off,
    // Descriptors for frnic_roce_tx; what became of them; a frame has left
    output wire                 desc_valid,
    input  wire                 desc_ready,
    output reg  [DESC_BITS-1:0] desc,
    input  wire                 ev_sent,
    input  wire                 ev_poisoned,
    input  wire                 ev_left,
    // Client of the live words
    output wire                 lw_valid,
    output wire [23:0]          lw_qpn,
    output wire [1:0]           lw_op,
    output wire [7:0]           lw_mask,
    output wire [7:0]           lw_event,
    output wire [3:0]           lw_inc,
    output reg  [511:0]         lw_data,
    input  wire                 lw_done,
    // Changes of state
    input  wire                 chg_valid,
    input  wire [LOG_QPS-1:0]   chg_index,
    input  wire [2:0]           chg_state,
    input  wire                 chg_clear,
    // Level: everything is forgotten
    input  wire                 sweep,
    // Level: no further packet of a READ begins; paused: it stands between two, and nothing of it is under way
    input  wire                 fence,
    output wire                 paused,
    output wire                 idle,
    // Counters
    output reg                  cnt_ack,
    output reg                  cnt_rnr,
    output reg                  cnt_seq,
    output reg                  cnt_inv,
    output reg                  cnt_access,
    output reg                  cnt_op,
    output reg                  cnt_atomics,
    output reg                  cnt_tx,
    output reg  [13:0]          cnt_tx_bytes
);

    `include "frnic_resp_rec.vh"
    `include "frnic_tx_desc.vh"

    localparam RECS = 1 << LOG_RECS;
    localparam QPS = 1 << LOG_QPS;
    localparam STATUS = `FRNIC_CMD_QP_LIVE9_STATUS_LSB - 1024;
    localparam VENDOR_ERR = `FRNIC_CMD_QP_LIVE9_VENDOR_ERR_LSB - 1024;
    localparam [4:0] ST_IDLE = 5'd0, ST_WAIT = 5'd1, ST_CQE = 5'd2, ST_ANS = 5'd3, ST_TX = 5'd4, ST_ROOM = 5'd5, ST_XREQ = 5'd6, ST_XV = 5'd7,
                     ST_MAP = 5'd8, ST_READ = 5'd9, ST_DESC = 5'd10, ST_FLUSHED = 5'd11, ST_LW = 5'd12, ST_NEXT = 5'd13, ST_AREAD = 5'd14,
                     ST_AWAIT = 5'd15, ST_ACMD = 5'd16, ST_ADATA = 5'd17, ST_AST = 5'd18, ST_AGAIN = 5'd19;

    // ---- Records, and what has happened to their QPs since: mute (no answers), dead (nothing at all) ----
    wire [REC_BITS-1:0] r;
    wire r_valid;
    wire r_take;
    reg [RECS-1:0] mute_reg = {RECS{1'b0}};
    reg [RECS-1:0] dead_reg = {RECS{1'b0}};
    reg [RECS-1:0] fresh_reg = {RECS{1'b0}};
    reg [RECS-1:0] asks_reg = {RECS{1'b0}};
    reg [RECS-1:0] atomic_recs_reg = {RECS{1'b0}};
    reg atomics_reg = 1'b0;
    reg [RECS*LOG_QPS-1:0] index_reg = {(RECS*LOG_QPS){1'b0}};
    // This record's ACK says all that the ACK of the record before it does: the same QP, a later PSN
    reg [RECS-1:0] covers_reg = {RECS{1'b0}};
    reg last_ack_reg = 1'b0; // of the newest record
    reg [23:0] last_qpn_reg = 24'd0;
    reg [23:0] last_psn_reg = 24'd0;
    wire [23:0] rec_ahead = rec[R_PSN +: 24] - last_psn_reg;
    wire rec_ack = rec[R_ANS +: 2] == ANS_AETH && rec[R_SYN +: 8] == SYN_ACK && !rec[R_END];
    reg [LOG_RECS-1:0] in_reg = {LOG_RECS{1'b0}};
    reg [LOG_RECS-1:0] out_reg = {LOG_RECS{1'b0}};
    integer i;
    integer k;
    integer b;

    assign atomics = atomics_reg;

    always @* begin
        reads = 8'd0;
        for (k = 0; k < RECS; k = k + 1) begin
            reads = reads + {7'd0, asks_reg[k]};
        end
    end

    always @(posedge clk) begin
        for (k = 0; k < RECS; k = k + 1) begin
            asks_reg[k] <= fresh_reg[k] && index_reg[k*LOG_QPS +: LOG_QPS] == reads_index;
        end
        atomics_reg <= 1'b0;
        for (k = 0; k < RECS; k = k + 1) begin
            if (fresh_reg[k] && atomic_recs_reg[k] && index_reg[k*LOG_QPS +: LOG_QPS] == reads_index) begin
                atomics_reg <= 1'b1;
            end
        end
    end

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_fifo #(.WIDTH(REC_BITS), .LOG_DEPTH(LOG_RECS)) fifo (
        .clk(clk), .rst(rst), .wr_data(rec), .wr_valid(rec_valid), .wr_ready(rec_ready), .rd_data(r), .rd_valid(r_valid), .rd_ready(r_take), .count()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    always @(posedge clk) begin
        if (rec_valid && rec_ready) begin
            index_reg[in_reg*LOG_QPS +: LOG_QPS] <= rec[R_QPN +: LOG_QPS];
            mute_reg[in_reg] <= chg_valid && chg_index == rec[R_QPN +: LOG_QPS] && (chg_clear || chg_state == `FRNIC_QP_STATE_ERR);
            dead_reg[in_reg] <= chg_valid && chg_index == rec[R_QPN +: LOG_QPS] && chg_clear;
            fresh_reg[in_reg] <= rec[R_FRESH];
            atomic_recs_reg[in_reg] <= rec[R_ANS +: 2] == ANS_ATOMIC;
            covers_reg[in_reg] <= rec_ack && last_ack_reg && rec[R_QPN +: 24] == last_qpn_reg && rec_ahead != 24'd0 && !rec_ahead[23];
            last_ack_reg <= rec_ack;
            last_qpn_reg <= rec[R_QPN +: 24];
            last_psn_reg <= rec[R_PSN +: 24];
            in_reg <= in_reg + 1'b1;
        end
        if (r_take) begin
            fresh_reg[out_reg] <= 1'b0;
            out_reg <= out_reg + 1'b1;
        end
        for (i = 0; i < RECS; i = i + 1) begin
            if (chg_valid && chg_index == index_reg[i*LOG_QPS +: LOG_QPS] && !(rec_valid && rec_ready && {{(32-LOG_RECS){1'b0}}, in_reg} == i)) begin
                if (chg_clear || chg_state == `FRNIC_QP_STATE_ERR) begin
                    mute_reg[i] <= 1'b1;
                end
                if (chg_clear) begin
                    dead_reg[i] <= 1'b1;
                end
            end
        end
        if (rst) begin
            fresh_reg <= {RECS{1'b0}};
            in_reg <= {LOG_RECS{1'b0}};
            out_reg <= {LOG_RECS{1'b0}};
        end
    end

    wire is_atomic = r[R_ANS +: 2] == ANS_ATOMIC;
    // ACKs gather: not more than four in one, for the peer's window. If the next record ends in a NAK, that acknowledges all before it; if the QP
    // ends first, they are as lost as an ACK on the wire.
    reg [1:0] gathered_reg = 2'd0;
    wire [LOG_RECS-1:0] next_out = out_reg + 1'b1;
    wire gathers = next_out != in_reg && covers_reg[next_out] && gathered_reg != 2'd3;
    wire mute = mute_reg[out_reg];
    wire dead = dead_reg[out_reg];

    // ---- Write statuses, in order ----
    wire st_valid;
    wire st_error;
    wire st_take;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_fifo #(.WIDTH(1), .LOG_DEPTH(10)) st_fifo (
        .clk(clk), .rst(rst), .wr_data(wr_st_error), .wr_valid(wr_st_valid), .wr_ready(), .rd_data(st_error), .rd_valid(st_valid), .rd_ready(st_take), .count()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    reg [4:0] state_reg = ST_IDLE;
    reg [6:0] left_reg = 7'd0;
    reg failed_reg = 1'b0;     // a write of this record failed
    // QPs that a failed write has ended: what completes now was not received; the first one to complete is the entry that was in use then
    reg [QPS-1:0] spoilt_reg = {QPS{1'b0}};
    reg [QPS-1:0] in_use_reg = {QPS{1'b0}};
    // READ: what is left, and where
    reg [31:0] rd_left_reg = 32'd0;
    reg [63:0] rd_va_reg = 64'd0;
    reg [23:0] rd_psn_reg = 24'd0;
    reg rd_first_reg = 1'b0;
    reg rd_bad_reg = 1'b0;     // it ends with a NAK
    reg [7:0] rd_code_reg = 8'd0;
    reg [63:0] a_addr_reg = 64'd0;
    reg [12:0] a_len_reg = 13'd0;
    reg [63:0] b_addr_reg = 64'd0;
    reg [12:0] b_len_reg = 13'd0;
    reg a_last_reg = 1'b0;
    reg a_first_reg = 1'b0;
    // Atomic: what it found, its result to be given
    reg [63:0] orig_reg = 64'd0;
    reg atomic_reg = 1'b0;
    reg [1:0] wait_reg = 2'd0;
    // Answer at hand
    reg [7:0] syn_reg = 8'd0;
    reg [23:0] psn_reg = 24'd0;
    reg end_reg = 1'b0;
    // Packets on their way through frnic_roce_tx: their frames have room there, so that reads are never held up
    reg [3:0] out_count_reg = 4'd0;
    reg [3:0] built_reg = 4'd0; // not yet whole or poisoned
    reg [23:0] bad_psn_reg = 24'd0;
    wire [2:0] pm = r[R_PM +: 3];
    wire [12:0] mtu = 13'd128 << pm;
    wire [3:0] most = pm >= 3'd5 ? 4'd3 : pm == 3'd4 ? 4'd6 : 4'd12;

    wire rd_last = rd_left_reg <= {19'd0, mtu};
    wire [12:0] rd_len = rd_last ? rd_left_reg[12:0] : mtu;
    wire rd_aeth = rd_first_reg || rd_last;
    wire piece_room;

    assign st_take = state_reg == ST_WAIT && left_reg != 7'd0;
    assign reading = state_reg >= ST_ROOM && state_reg <= ST_FLUSHED && !is_atomic;
    assign r_take = state_reg == ST_NEXT;
    assign paused = state_reg == ST_ROOM && fence && out_count_reg == 4'd0;
    assign idle = state_reg == ST_IDLE && !r_valid && out_count_reg == 4'd0;

    // ---- Completion ----
    wire [191:0] c = r[R_CQE_DATA +: 192];
    wire [7:0] bad_flags = c[63:56] & ~(8'd1 << `FRNIC_CQE_FLAG_SOLICITED_BIT);
    // A write that failed takes the completion along, also that of a later packet.
    wire [LOG_QPS-1:0] r_index = r[R_QPN +: LOG_QPS];
    wire spoilt = spoilt_reg[r_index];
    wire lost = failed_reg || in_use_reg[r_index];
    wire [15:0] c_why = lost ? {`FRNIC_VENDOR_ERR_DMA_WRITE, `FRNIC_CQE_STATUS_LOC_QP_OP_ERR} :
                        {`FRNIC_VENDOR_ERR_FLUSHED, `FRNIC_CQE_STATUS_WR_FLUSH_ERR};
    wire [191:0] c_bad = {24'd0, c_why, c[151:128], 64'd0, bad_flags, c[55:32], `FRNIC_CQE_OP_RECV, c[23:0]};
    wire with_entry = r[R_CQE] || r[R_HAVE];
    assign cqe_valid = state_reg == ST_CQE && !dead;
    assign cqe_cqn = r[R_CQN +: 24];
    assign cqe_data = {64'd0, failed_reg || spoilt ? c_bad : c};
    assign cqe_solicited = r[R_SOL] && !failed_reg && !spoilt;

    // ---- Answer ----
    assign gid_index = r[R_SGIDX +: LOG_GIDS];
    assign pkey_index = r[R_PKIDX +: LOG_PKEYS];

    // The source of a packet of a READ stays what it was when the packet began: its header has one length, for its payload's place and for its descriptor.
    reg k_valid_reg = 1'b0;
    reg k_ipv6_reg = 1'b0;
    reg k_vlan_reg = 1'b0;
    reg [11:0] k_vid_reg = 12'd0;
    reg [47:0] k_smac_reg = 48'd0;
    reg [127:0] k_gid_reg = 128'd0;

    always @(posedge clk) begin
        if (state_reg < ST_XREQ || state_reg > ST_DESC) begin
            k_valid_reg <= gid_valid;
            k_ipv6_reg <= gid_ipv6;
            k_vlan_reg <= gid_vlan;
            k_vid_reg <= gid_vid;
            k_smac_reg <= gid_smac;
            k_gid_reg <= gid;
        end
    end

    wire in_read = state_reg == ST_DESC;
    // The answer is an atomic's result.
    wire in_atomic = !in_read && atomic_reg && syn_reg == SYN_ACK;
    wire [4:0] ext_len = in_atomic ? 5'd12 : !in_read || rd_aeth ? 5'd4 : 5'd0;
    wire [23:0] msn = r[R_MSN +: 24];

    always @* begin
        desc = {DESC_BITS{1'b0}};
        desc[TXD_DMAC +: 48] = r[R_DMAC +: 48];
        desc[TXD_SMAC +: 48] = k_smac_reg;
        desc[TXD_SGID +: 128] = k_gid_reg;
        desc[TXD_DGID +: 128] = r[R_DGID +: 128];
        desc[TXD_IPV6] = k_ipv6_reg;
        desc[TXD_VLAN] = k_vlan_reg;
        desc[TXD_TCI +: 16] = {r[R_TCLASS + 5 +: 3], 1'b0, k_vid_reg};
        desc[TXD_SPORT +: 16] = r[R_SPORT +: 16];
        desc[TXD_TCLASS +: 8] = r[R_TCLASS +: 8];
        desc[TXD_HOP +: 8] = r[R_HOP +: 8];
        desc[TXD_FLOW +: 20] = r[R_FLOW +: 20];
        desc[TXD_OPCODE +: 8] = in_atomic ? 8'h12 : !in_read ? 8'h11 : rd_first_reg ? (rd_last ? 8'h10 : 8'h0d) : (rd_last ? 8'h0f : 8'h0e);
        desc[TXD_PKEY +: 16] = pkey;
        desc[TXD_DQPN +: 24] = r[R_DQPN +: 24];
        desc[TXD_PSN +: 24] = in_read ? rd_psn_reg : psn_reg;
        desc[TXD_LEN +: 13] = in_read ? rd_len : 13'd0;
        desc[TXD_EXT_LEN +: 5] = ext_len;
        desc[TXD_EXT +: 32] = {msn[7:0], msn[15:8], msn[23:16], in_read ? SYN_ACK : syn_reg};
        for (b = 0; b < 8; b = b + 1) begin
            desc[TXD_EXT + 32 + 8 * b +: 8] = in_atomic ? orig_reg[56 - 8 * b +: 8] : 8'd0;
        end
    end

    assign desc_valid = (state_reg == ST_TX && !mute && k_valid_reg && out_count_reg < 4'd12) || state_reg == ST_DESC;

    // ---- READ ----
    assign xl_hold = state_reg >= ST_XREQ && state_reg <= ST_MAP;
    assign xl_valid = state_reg == ST_XREQ;
    assign xl_key = r[R_RKEY +: 32];
    assign xl_pd = r[R_PD +: 24];
    assign xl_qpn = r[R_QPN +: 24];
    assign xl_kernel = r[R_KERNEL];
    assign xl_access = 8'd1 << (is_atomic ? `FRNIC_ACCESS_REMOTE_ATOMIC_BIT : `FRNIC_ACCESS_REMOTE_READ_BIT);
    assign xl_va = rd_va_reg;
    assign xl_len = is_atomic ? 32'd8 : {19'd0, rd_len};
    assign p_ready = state_reg == ST_MAP;
    assign req_valid = (state_reg == ST_READ && piece_room) || state_reg == ST_AREAD;
    assign req_addr = a_addr_reg;
    assign req_len = is_atomic ? 13'd8 : a_len_reg;

    /* verilator lint_off UNUSED */
    wire [6:0] hdr_len = txd_header_len(k_ipv6_reg, k_vlan_reg, rd_aeth ? 5'd4 : 5'd0);
    /* verilator lint_on UNUSED */

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_fifo #(.WIDTH(6 + 13 + 1 + 1 + 6), .LOG_DEPTH(5)) pieces (
        .clk(clk), .rst(rst), .wr_data({a_addr_reg[5:0], a_len_reg, a_first_reg, a_last_reg, hdr_len[5:0]}), .wr_valid(state_reg == ST_READ && req_valid && req_ready),
        .wr_ready(piece_room), .rd_data({pc_lane, pc_len, pc_first, pc_last, pc_off}), .rd_valid(pc_valid), .rd_ready(pc_ready), .count()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    // ---- Atomics: one at a time in the whole device, read, changed, written. Its result stands in the QP's memory before it is answered ----
    wire [63:0] found = resp_data[{a_addr_reg[5:3], 6'd0} +: 64];
    wire swaps = !r[R_CAS] || orig_reg == r[R_COMPARE +: 64];
    wire [63:0] kept;
    wire keep = (state_reg == ST_AST && at_st_valid && !at_st_error) || (state_reg == ST_ACMD && !swaps);

    assign resp_mine = state_reg == ST_AWAIT;
    assign at_cmd_valid = state_reg == ST_ACMD && swaps;
    assign at_cmd_addr = a_addr_reg;
    assign at_cmd_len = 13'd8;
    assign at_cmd_src_off = 6'd0;
    assign at_data_valid = state_reg == ST_ADATA;
    assign at_data = {448'd0, r[R_CAS] ? r[R_SWAP +: 64] : orig_reg + r[R_SWAP +: 64]};

    frnic_ram_sdp #(.WIDTH(64), .LOG_DEPTH(LOG_QPS + LOG_RES), .READ_LATENCY(2)) results (
        .clk(clk), .wr_en(keep), .wr_addr({r_index, r[R_SLOT +: LOG_RES]}), .wr_data(orig_reg), .rd_en(state_reg == ST_AGAIN && wait_reg == 2'd0),
        .rd_addr({r_index, r[R_SLOT +: LOG_RES]}), .rd_data(kept)
    );

    // ---- The QP's end ----
    assign lw_valid = state_reg == ST_LW;
    assign lw_qpn = r[R_QPN +: 24];
    assign lw_op = dead ? 2'd0 : 2'd1;
    assign lw_mask = dead ? 8'd0 : 8'd1 << 6;
    assign lw_event = failed_reg ? (with_entry ? 8'd0 : `FRNIC_QP_EVENT_FATAL) : rd_bad_reg ? (rd_code_reg == `FRNIC_VENDOR_ERR_RKEY ?
                      `FRNIC_QP_EVENT_ACCESS_ERR : `FRNIC_QP_EVENT_FATAL) : r[R_EVENT +: 8];
    assign lw_inc = 4'd0;

    always @* begin
        lw_data = 512'd0;
        lw_data[VENDOR_ERR +: 8] = failed_reg ? `FRNIC_VENDOR_ERR_DMA_WRITE : rd_bad_reg ? rd_code_reg : r[R_VENDOR +: 8];
        lw_data[STATUS +: 8] = failed_reg && with_entry ? `FRNIC_CQE_STATUS_LOC_QP_OP_ERR : r[R_STATUS +: 8];
    end

    always @(posedge clk) begin
        cnt_ack <= 1'b0;
        cnt_rnr <= 1'b0;
        cnt_seq <= 1'b0;
        cnt_inv <= 1'b0;
        cnt_access <= 1'b0;
        cnt_op <= 1'b0;
        cnt_atomics <= keep;
        wait_reg <= wait_reg + 2'd1;
        cnt_tx <= desc_valid && desc_ready;
        cnt_tx_bytes <= {1'b0, desc_valid && desc_ready ? desc[TXD_LEN +: 13] : 13'd0};
        out_count_reg <= out_count_reg + {3'd0, desc_valid && desc_ready} - {3'd0, ev_left} - {3'd0, ev_poisoned};
        built_reg <= built_reg + {3'd0, desc_valid && desc_ready} - {3'd0, ev_sent || ev_poisoned};
        if (ev_poisoned && !rd_bad_reg) begin
            rd_bad_reg <= 1'b1;
            rd_code_reg <= `FRNIC_VENDOR_ERR_DMA_READ;
            bad_psn_reg <= rd_psn_reg + {23'd0, state_reg == ST_READ} - {20'd0, built_reg};
        end

        case (state_reg)
            ST_IDLE: begin
                left_reg <= r[R_NWR +: 7];
                failed_reg <= 1'b0;
                rd_bad_reg <= 1'b0;
                rd_first_reg <= 1'b1;
                rd_left_reg <= r[R_LEN +: 32];
                rd_va_reg <= r[R_VA +: 64];
                rd_psn_reg <= r[R_PSN +: 24];
                syn_reg <= r[R_SYN +: 8];
                psn_reg <= r[R_PSN +: 24];
                end_reg <= r[R_END];
                atomic_reg <= 1'b0;
                if (r_valid) begin
                    state_reg <= ST_WAIT;
                end
            end
            ST_WAIT: begin
                if (left_reg == 7'd0) begin
                    // A write that failed ends the QP; of a connection the peer hears it.
                    if (failed_reg) begin
                        end_reg <= 1'b1;
                        syn_reg <= SYN_OP;
                        spoilt_reg[r_index] <= 1'b1;
                        in_use_reg[r_index] <= r[R_HAVE];
                    end
                    state_reg <= r[R_CQE] ? ST_CQE : ST_ANS;
                end else if (st_valid) begin
                    left_reg <= left_reg - 7'd1;
                    failed_reg <= failed_reg || st_error;
                end
            end
            ST_CQE: begin
                if (cqe_ready || dead) begin
                    in_use_reg[r_index] <= 1'b0;
                    state_reg <= ST_ANS;
                end
            end
            ST_ANS: begin
                if (mute) begin
                    state_reg <= end_reg ? ST_LW : ST_NEXT;
                end else if (r[R_ANS +: 2] == ANS_READ && !failed_reg) begin
                    state_reg <= gid_valid ? ST_ROOM : ST_NEXT;
                end else if (is_atomic && !failed_reg) begin
                    a_first_reg <= 1'b1;
                    bad_psn_reg <= r[R_PSN +: 24];
                    wait_reg <= 2'd0;
                    state_reg <= r[R_FRESH] ? ST_XREQ : ST_AGAIN;
                end else if (gathers && !failed_reg) begin
                    gathered_reg <= gathered_reg + 2'd1;
                    state_reg <= ST_NEXT;
                end else if (r[R_ANS +: 2] != ANS_NONE || (failed_reg && r[R_RC])) begin
                    state_reg <= ST_TX;
                end else begin
                    state_reg <= end_reg ? ST_LW : ST_NEXT;
                end
            end
            ST_TX: begin
                gathered_reg <= 2'd0;
                if (mute || !k_valid_reg || (desc_valid && desc_ready)) begin
                    state_reg <= end_reg ? ST_LW : ST_NEXT;
                end
                if (desc_valid && desc_ready) begin
                    case (syn_reg)
                        SYN_ACK: cnt_ack <= !atomic_reg;
                        SYN_SEQ: cnt_seq <= 1'b1;
                        SYN_INV: cnt_inv <= 1'b1;
                        SYN_ACCESS: cnt_access <= 1'b1;
                        SYN_OP: cnt_op <= 1'b1;
                        default: cnt_rnr <= 1'b1;
                    endcase
                end
            end

            // READ responses, a packet a round
            ST_ROOM: begin
                if (mute || rd_bad_reg || !gid_valid) begin
                    state_reg <= ST_FLUSHED;
                end else if (out_count_reg < most && !fence) begin
                    a_first_reg <= 1'b1;
                    state_reg <= rd_len == 13'd0 ? ST_DESC : ST_XREQ;
                end
            end
            ST_XREQ: begin
                if (xl_ready) begin
                    state_reg <= ST_XV;
                end
            end
            ST_XV: begin
                // The key is checked again: it may have gone since the request.
                if (v_valid) begin
                    if (v_code != 8'd0) begin
                        rd_bad_reg <= 1'b1;
                        rd_code_reg <= `FRNIC_VENDOR_ERR_RKEY;
                        bad_psn_reg <= rd_psn_reg;
                        state_reg <= ST_FLUSHED;
                    end else begin
                        state_reg <= ST_MAP;
                    end
                end
            end
            // All pieces are known before the first is read: a packet has two at most, for no page is smaller than 4 KB.
            ST_MAP: begin
                if (p_valid) begin
                    if (a_first_reg) begin
                        a_addr_reg <= p_addr;
                        a_len_reg <= p_len;
                    end
                    b_addr_reg <= p_addr;
                    b_len_reg <= p_len;
                    a_last_reg <= a_first_reg;
                    a_first_reg <= p_last;
                    if (p_error) begin
                        rd_bad_reg <= 1'b1;
                        rd_code_reg <= `FRNIC_VENDOR_ERR_DMA_READ;
                        bad_psn_reg <= rd_psn_reg;
                    end
                    state_reg <= p_error ? ST_FLUSHED : !p_last ? ST_MAP : is_atomic ? ST_AREAD : ST_DESC;
                    if (p_last) begin
                        a_first_reg <= 1'b1;
                    end
                end
            end
            // The builder has the descriptor before a read begins: data never wait for another read to be taken.
            ST_DESC: begin
                if (desc_ready) begin
                    state_reg <= rd_len != 13'd0 ? ST_READ : ST_FLUSHED;
                end
            end
            ST_READ: begin
                if (req_valid && req_ready) begin
                    a_first_reg <= 1'b0;
                    a_addr_reg <= b_addr_reg;
                    a_len_reg <= b_len_reg;
                    a_last_reg <= 1'b1;
                    if (a_last_reg) begin
                        rd_first_reg <= 1'b0;
                        rd_left_reg <= rd_left_reg - {19'd0, rd_len};
                        rd_va_reg <= rd_va_reg + {51'd0, rd_len};
                        rd_psn_reg <= rd_psn_reg + 24'd1;
                        state_reg <= rd_last ? ST_FLUSHED : ST_ROOM;
                    end
                end
            end
            // All packets have left, or one did not.
            ST_FLUSHED: begin
                if (out_count_reg == 4'd0) begin
                    syn_reg <= rd_code_reg == `FRNIC_VENDOR_ERR_RKEY ? SYN_ACCESS : SYN_OP;
                    psn_reg <= bad_psn_reg;
                    end_reg <= rd_bad_reg && !mute;
                    state_reg <= rd_bad_reg && !mute ? ST_TX : ST_NEXT;
                end
            end

            ST_AREAD: begin
                if (req_ready) begin
                    state_reg <= ST_AWAIT;
                end
            end
            ST_AWAIT: begin
                if (resp_valid && resp_last) begin
                    orig_reg <= found;
                    atomic_reg <= 1'b1;
                    rd_bad_reg <= resp_error;
                    rd_code_reg <= `FRNIC_VENDOR_ERR_DMA_WRITE;
                    state_reg <= resp_error ? ST_FLUSHED : ST_ACMD;
                end
            end
            ST_ACMD: begin
                if (!swaps) begin
                    state_reg <= ST_TX;
                end else if (at_cmd_ready) begin
                    state_reg <= ST_ADATA;
                end
            end
            ST_ADATA: begin
                if (at_data_ready) begin
                    state_reg <= ST_AST;
                end
            end
            ST_AST: begin
                if (at_st_valid) begin
                    rd_bad_reg <= at_st_error;
                    rd_code_reg <= `FRNIC_VENDOR_ERR_DMA_WRITE;
                    state_reg <= at_st_error ? ST_FLUSHED : ST_TX;
                end
            end
            ST_AGAIN: begin
                if (wait_reg == 2'd2) begin
                    orig_reg <= kept;
                    atomic_reg <= 1'b1;
                    state_reg <= ST_TX;
                end
            end

            ST_LW: begin
                if (lw_done) begin
                    state_reg <= ST_NEXT;
                end
            end
            default: begin // ST_NEXT
                state_reg <= ST_IDLE;
            end
        endcase
        if (chg_valid && chg_clear) begin
            spoilt_reg[chg_index] <= 1'b0;
            in_use_reg[chg_index] <= 1'b0;
        end
        if (rst || sweep) begin
            spoilt_reg <= {QPS{1'b0}};
            in_use_reg <= {QPS{1'b0}};
        end
        if (rst) begin
            state_reg <= ST_IDLE;
            gathered_reg <= 2'd0;
            out_count_reg <= 4'd0;
            built_reg <= 4'd0;
        end
    end

endmodule

`resetall
