// SPDX-License-Identifier: BSD-2-Clause
//
// Receive entries: the next one of a QP's receive queue, or of the shared one that its context names, with the SRQ's limit event. One entry at a time,
// in the order of the model's rqe_fetch(); those that are announced behind it are read with it. What is received into it is not known here. Documentation/microarchitecture.md, 4.7.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rq_fetch #(
    // log2 of the tables
    parameter LOG_QPS = 12,
    parameter LOG_SRQS = 10,
    parameter LOG_EQS = 6,
    // log2 of the ring pages that are remembered, of RQs and of SRQs
    parameter LOG_PAGES = 4,
    // log2 of the rings of which entries are held that were read with an earlier one
    parameter LOG_HELD = 3
) (
    input  wire                clk,
    input  wire                rst,
    // The next entry of this QP, please
    input  wire                q_valid,
    output wire                q_ready,
    input  wire [23:0]         q_qpn,
    // The answer: the entry's lines as they stand in memory, head first; one beat if there is none
    output wire                r_valid,
    input  wire                r_ready,
    output wire                r_first,
    output wire                r_last,
    output reg  [2:0]          r_result,
    output reg                 r_srq,
    output reg  [23:0]         r_pd,
    output reg  [23:0]         r_tag,
    output reg  [4:0]          r_num,
    output reg  [35:0]         r_length,
    output wire [511:0]        r_line,
    // Reader of the connection contexts
    output wire                qp_rd_valid,
    input  wire                qp_rd_ready,
    output wire [LOG_QPS-1:0]  qp_rd_index,
    input  wire                qp_rd_done,
    input  wire                qp_rd_live,
    input  wire                qp_rd_err,
    input  wire [1023:0]       qp_rd_data,
    // Client of the live words
    output wire                lw_valid,
    output wire [23:0]         lw_qpn,
    output wire [1:0]          lw_op,
    output wire [7:0]          lw_mask,
    output wire [511:0]        lw_data,
    input  wire                lw_done,
    input  wire                lw_err,
    /* verilator lint_off UNUSED */
    input  wire [511:0]        lw_rdata,
    /* verilator lint_on UNUSED */
    input  wire                chg_valid,
    input  wire [LOG_QPS-1:0]  chg_index,
    input  wire                chg_clear,
    // The SRQ table: nobody else while srq_lock and srq_locked; srq_changed: somebody else wrote a context
    output wire                srq_lock,
    input  wire                srq_locked,
    input  wire                srq_changed,
    output wire                srq_valid,
    input  wire                srq_ready,
    output wire                srq_write,
    output wire [LOG_SRQS-1:0] srq_index,
    output wire [383:0]        srq_wdata,
    input  wire                srq_done,
    input  wire                srq_live,
    input  wire                srq_err,
    input  wire [383:0]        srq_rdata,
    // To frnic_eq: SRQ events
    output wire                ev_valid,
    input  wire                ev_ready,
    output wire [LOG_EQS-1:0]  ev_eqn,
    output reg  [7:0]          ev_subtype,
    output wire [23:0]         ev_number,
    // To frnic_dma_rd
    output wire                req_valid,
    input  wire                req_ready,
    output wire [63:0]         req_addr,
    output wire [12:0]         req_len,
    input  wire                resp_valid,
    output wire                resp_ready,
    input  wire [511:0]        resp_data,
    input  wire                resp_last,
    input  wire                resp_error,
    // Level: the tables are emptied
    input  wire                sweep,
    output wire                idle,
    // An entry was consumed
    output wire                ev_rqe
);

`include "frnic_hw.vh"

    localparam [4:0] ST_IDLE = 5'd0, ST_LIVE = 5'd1, ST_LOCK = 5'd2, ST_READ = 5'd3, ST_WAIT = 5'd4, ST_TEST = 5'd5, ST_RECORD = 5'd6, ST_RECORD_IN = 5'd7,
                     ST_PLACE = 5'd8, ST_LIST = 5'd9, ST_LIST_IN = 5'd10, ST_ENTRY = 5'd11, ST_ENTRY_IN = 5'd12, ST_HEAD = 5'd13, ST_SGES = 5'd14,
                     ST_LIMIT = 5'd15, ST_TAKE = 5'd16, ST_WRITE = 5'd17, ST_WRITTEN = 5'd18, ST_EVENT = 5'd19, ST_ANSWER = 5'd20, ST_CONN = 5'd21, ST_CONN_IN = 5'd22,
                     ST_SLOT = 5'd23, ST_PAGE = 5'd24, ST_COUNT = 5'd25;
    localparam [2:0] R_OK = 3'd0, R_NONE = 3'd1, R_BAD = 3'd2, R_DMA = 3'd3, R_SRQ = 3'd4, R_PARITY = 3'd5, R_GONE = 3'd6;
    localparam PAGES = 1 << (LOG_PAGES + 1);
    localparam HELD = 1 << LOG_HELD;

    // Places in the words that are read
    localparam RQ_PI = `FRNIC_CMD_QP_LIVE2_RQ_PI_LSB - 1024;
    localparam RQ_CI = `FRNIC_CMD_QP_LIVE3_RQ_CI_LSB - 1024;
    localparam S_PI = 320 + `FRNIC_CMD_SRQ_LIVE0_PI_LSB - 1024;
    localparam S_ERROR = 320 + `FRNIC_CMD_SRQ_LIVE0_ERROR_LSB - 1024;
    localparam S_ARMED = 320 + `FRNIC_CMD_SRQ_LIVE0_LIMIT_ARMED_LSB - 1024;
    localparam S_CI = 320 + `FRNIC_CMD_SRQ_LIVE1_CI_LSB - 1024;

    reg [4:0] st_reg = ST_IDLE;
    reg [23:0] qpn_reg = 24'd0;
    reg srq_reg = 1'b0;
    reg [23:0] srqn_reg = 24'd0;
    reg [63:0] base_reg = 64'd0;
    reg [63:0] dbrec_reg = 64'd0;
    reg [4:0] log_reg = 5'd0;
    reg [3:0] stride_reg = 4'd0; // log2
    reg listed_reg = 1'b0;
    reg [4:0] shift_reg = 5'd0;
    reg [23:0] pi_reg = 24'd0;
    reg [23:0] ci_reg = 24'd0;
    reg [383:0] srq_ctx_reg = 384'd0;
    reg gone_reg = 1'b0; // what was read is not true any more
    reg tried_reg = 1'b0; // the record was read
    reg limit_reg = 1'b0; // it is read for the limit
    reg taken_reg = 1'b0; // the entry is consumed
    reg event_reg = 1'b0;

    wire [24:0] size = 25'd1 << log_reg;
    wire [23:0] held = pi_reg - ci_reg;

    // ---- Live words, SRQ contexts ----
    assign lw_valid = (st_reg == ST_LIVE || st_reg == ST_TAKE) && !gone_reg;
    assign lw_qpn = qpn_reg;
    assign lw_op = 2'd0;
    assign lw_mask = st_reg == ST_TAKE ? 8'h02 : 8'h00;
    // A producer index that a doorbell brought meanwhile is kept if it is further: see frnic_qp_live.
    assign lw_data = {488'd0, pi_reg} << RQ_PI | {488'd0, ci_reg} << RQ_CI;
    assign srq_lock = srq_reg && st_reg != ST_IDLE && st_reg != ST_CONN && st_reg != ST_CONN_IN && st_reg != ST_EVENT && st_reg != ST_ANSWER;
    assign srq_valid = st_reg == ST_READ || (st_reg == ST_WRITE && !gone_reg);
    assign srq_write = st_reg == ST_WRITE;
    assign srq_index = srqn_reg[LOG_SRQS-1:0];

    reg [383:0] srq_next;

    always @* begin
        srq_next = srq_ctx_reg;
        srq_next[S_PI +: 24] = pi_reg;
        srq_next[S_CI +: 24] = ci_reg;
        if (event_reg && ev_subtype == `FRNIC_SRQ_EVENT_ERR) srq_next[S_ERROR] = 1'b1;
        if (event_reg && ev_subtype == `FRNIC_SRQ_EVENT_LIMIT) srq_next[S_ARMED] = 1'b0;
    end

    assign srq_wdata = srq_next;

    wire [23:0] limit = srq_ctx_reg[`FRNIC_CMD_SRQ_LIMIT_LSB - 256 +: 24];
    wire below = held < limit;

    assign ev_valid = st_reg == ST_EVENT;
    assign ev_eqn = srq_ctx_reg[`FRNIC_CMD_SRQ_EQN_LSB - 256 +: LOG_EQS];
    assign ev_number = srqn_reg;

    // ---- Place of the entry ----
    wire [23:0] slot = ci_reg & (size[23:0] - 24'd1);
    reg [32:0] off_reg = 33'd0;
    reg [23:0] to_end_reg = 24'd0;
    /* verilator lint_off UNUSED */
    wire [32:0] page_full = off_reg >> shift_reg;
    /* verilator lint_on UNUSED */
    reg [20:0] page_no_reg = 21'd0;
    reg [32:0] page_off_reg = 33'd0;

    // Pages of QPs, then of SRQs, by the low bits of their numbers.
    wire [23:0] number = srq_reg ? srqn_reg : qpn_reg;
    reg [PAGES-1:0] page_ok_reg = {PAGES{1'b0}};
    reg [24+21+52-1:0] page_mem [0:PAGES-1];
    wire [LOG_PAGES:0] page_slot = {srq_reg, number[LOG_PAGES-1:0]};
    wire [23:0] p_number;
    wire [20:0] p_no;
    wire [51:0] p_addr;
    wire page_hit = page_ok_reg[page_slot] && p_number == number && p_no == page_no_reg;

    assign {p_number, p_no, p_addr} = page_mem[page_slot];

    // ---- Reads ----
    wire [63:0] record_addr = dbrec_reg + `FRNIC_QP_DBREC_RQ_PI_LSB / 8;
    wire [63:0] list_addr = base_reg + {40'd0, page_no_reg, 3'd0};
    wire [63:0] entry_addr = listed_reg ? {p_addr, 12'd0} + {31'd0, page_off_reg} : base_reg + {31'd0, off_reg};
    wire [23:0] record_word = resp_data[{record_addr[5:2], 5'd0} +: 24];
    wire [63:0] list_word = resp_data[{list_addr[5:3], 6'd0} +: 64];
    // An index that can be, and that is new.
    wire [23:0] record_held = record_word - ci_reg;
    wire record_new = {1'b0, record_held} <= size && record_held > held;
    wire [12:0] stride = 13'd1 << stride_reg;

    assign req_valid = st_reg == ST_RECORD || st_reg == ST_LIST || st_reg == ST_ENTRY;
    assign req_addr = st_reg == ST_RECORD ? record_addr : st_reg == ST_LIST ? list_addr : entry_addr;
    // No more than 16 SGEs behind the head.
    assign req_len = st_reg == ST_RECORD ? 13'd4 : st_reg == ST_LIST ? 13'd8 : stride > 13'd320 ? 13'd320 : {8'd0, n_reg} << stride_reg;
    assign resp_ready = 1'b1;

    // ---- The entry ----
    // Read in lines of 512 bytes at most, at their places in them. Announced entries do not change before they are consumed (R3.1), so those behind the one
    // asked for are read with it and held until the QP is set back, any SRQ is changed, or another ring needs the place.
    reg [511:0] line_mem [0:(8 << LOG_HELD)-1];
    reg [2:0] line_reg = 3'd0;
    reg [4:0] sge_at_reg = 5'd0; // counts the head as well
    reg [HELD-1:0] held_ok_reg = {HELD{1'b0}};
    reg [HELD*25-1:0] held_number_reg;
    reg [HELD*24-1:0] held_first_reg;
    reg [HELD*5-1:0] held_count_reg;
    reg [HELD*9-1:0] held_place_reg; // of the first, within its 512 bytes
    reg [LOG_HELD-1:0] held_next_reg = {LOG_HELD{1'b0}};
    reg [LOG_HELD-1:0] at_reg = {LOG_HELD{1'b0}}; // in use
    reg [8:0] place_reg = 9'd0; // the entry's, within 512 bytes
    reg [4:0] n_reg = 5'd1;
    integer k;
    reg held_hit;
    reg [LOG_HELD-1:0] held_slot;
    reg [8:0] held_place;
    reg [HELD-1:0] held_mine;
    reg [HELD-1:0] same_ring_reg = {HELD{1'b0}}; // in ST_PLACE, whether or not it is held yet

    integer i;

    always @* begin
        held_hit = 1'b0;
        held_slot = held_next_reg;
        held_place = 9'd0;
        for (i = 0; i < HELD; i = i + 1) begin
            held_mine[i] = held_ok_reg[i] && same_ring_reg[i];
            if (held_mine[i]) begin
                held_slot = i[LOG_HELD-1:0];
                held_hit = ci_reg - held_first_reg[i*24 +: 24] < {19'd0, held_count_reg[i*5 +: 5]};
                held_place = held_place_reg[i*9 +: 9] + (ci_reg[8:0] - held_first_reg[i*24 +: 9] << stride_reg);
            end
        end
    end

    // How many: what is announced, to the end of the ring and of the 512 bytes (pages end there as well).
    wire [9:0] to_line = (10'd512 - {1'b0, entry_addr[8:0]}) >> stride_reg;
    wire [4:0] n_line = to_line == 10'd0 ? 5'd1 : to_line[4:0];
    wire [4:0] n_end = to_end_reg < {19'd0, n_line} ? to_end_reg[4:0] : n_line;
    wire [4:0] n = held < {19'd0, n_end} ? held[4:0] : n_end;

    wire [2:0] line_at = st_reg == ST_SGES ? sge_at_reg[4:2] : line_reg;
    wire [511:0] line_raw = line_mem[{at_reg, st_reg == ST_ENTRY_IN ? 3'd0 : place_reg[8:6] + line_at}];
    // Entries of 32 bytes stand in either half of a line.
    wire [511:0] line = place_reg[5] ? {256'd0, line_raw[511:256]} : line_raw;
    wire [31:0] num = line[`FRNIC_RQE_NUM_LSB +: 32];
    wire [5:0] sge_room = stride_reg >= 4'd9 ? 6'd31 : (6'd1 << (stride_reg - 4'd4)) - 6'd1;

    wire [31:0] sge_length = line[{sge_at_reg[1:0], 7'd0} + `FRNIC_SGE_LENGTH_LSB +: 32];

    assign r_valid = st_reg == ST_ANSWER;
    assign r_first = line_reg == 3'd0;
    assign r_last = r_result != R_OK || line_reg == r_num[4:2];
    assign r_line = line;
    assign q_ready = st_reg == ST_IDLE && !rst;
    assign qp_rd_valid = st_reg == ST_CONN;
    assign qp_rd_index = qpn_reg[LOG_QPS-1:0];
    assign idle = st_reg == ST_IDLE && !q_valid;
    assign ev_rqe = r_valid && r_ready && r_last && taken_reg;

    /* verilator lint_off UNUSED */
    wire [1023:0] c = qp_rd_data;
    /* verilator lint_on UNUSED */
    wire [23:0] c_qpn = {c[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], c[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};

    always @(posedge clk) begin
        // srq_reg is not known yet while the context is waited for.
        if (st_reg != ST_IDLE && (((!srq_reg || st_reg == ST_CONN_IN) && chg_valid && chg_clear && chg_index == qpn_reg[LOG_QPS-1:0]) || sweep)) begin
            gone_reg <= 1'b1;
        end

        case (st_reg)
            ST_IDLE: begin
                qpn_reg <= q_qpn;
                srq_reg <= 1'b0;
                r_result <= R_OK;
                r_tag <= 24'd0;
                r_num <= 5'd0;
                r_length <= 36'd0;
                line_reg <= 3'd0;
                gone_reg <= 1'b0;
                tried_reg <= 1'b0;
                limit_reg <= 1'b0;
                taken_reg <= 1'b0;
                event_reg <= 1'b0;
                if (q_valid && q_ready) begin
                    st_reg <= ST_CONN;
                end
            end
            ST_CONN: begin
                if (qp_rd_ready) begin
                    st_reg <= ST_CONN_IN;
                end
            end
            ST_CONN_IN: begin
                srq_reg <= c[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB];
                srqn_reg <= c[`FRNIC_CMD_QP_SRQ_SRQN_LSB +: 24];
                base_reg <= c[`FRNIC_CMD_QP_RQ_BASE_LSB +: 64];
                dbrec_reg <= c[`FRNIC_CMD_QP_DBREC_LSB +: 64];
                log_reg <= c[`FRNIC_CMD_QP_LOG_RQ_LSB +: 5];
                stride_reg <= c[`FRNIC_CMD_QP_LOG_RQ_STRIDE_LSB +: 4];
                listed_reg <= c[`FRNIC_CMD_QP_RING_LEVELS_LSB + 1];
                shift_reg <= c[`FRNIC_CMD_QP_RQ_PAGE_SHIFT_LSB +: 5];
                r_pd <= c[`FRNIC_CMD_QP_PD_PD_LSB +: 24];
                r_srq <= c[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB];
                if (qp_rd_done) begin
                    if (qp_rd_err || !qp_rd_live || c_qpn != qpn_reg) begin
                        r_result <= qp_rd_err ? R_PARITY : R_GONE;
                        srq_reg <= 1'b0;
                        st_reg <= ST_ANSWER;
                    end else begin
                        st_reg <= c[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB] ? ST_LOCK : ST_LIVE;
                    end
                end
            end
            ST_LIVE: begin
                pi_reg <= lw_rdata[RQ_PI +: 24];
                ci_reg <= lw_rdata[RQ_CI +: 24];
                if (gone_reg) begin
                    r_result <= R_GONE;
                    st_reg <= ST_ANSWER;
                end else if (lw_done) begin
                    r_result <= lw_err ? R_PARITY : R_OK;
                    st_reg <= lw_err ? ST_ANSWER : ST_TEST;
                end
            end
            ST_LOCK: begin
                if (srq_locked) begin
                    st_reg <= ST_READ;
                end
            end
            ST_READ: begin
                if (srq_ready) begin
                    st_reg <= ST_WAIT;
                end
            end
            ST_WAIT: begin
                srq_ctx_reg <= srq_rdata;
                r_pd <= srq_rdata[`FRNIC_CMD_SRQ_PD_PD_LSB - 256 +: 24];
                log_reg <= srq_rdata[`FRNIC_CMD_SRQ_LOG_SIZE_LSB - 256 +: 5];
                stride_reg <= srq_rdata[`FRNIC_CMD_SRQ_LOG_STRIDE_LSB - 256 +: 4];
                listed_reg <= srq_rdata[`FRNIC_CMD_SRQ_LEVELS_LSB - 256];
                shift_reg <= srq_rdata[`FRNIC_CMD_SRQ_PAGE_SHIFT_LSB - 256 +: 5];
                base_reg <= srq_rdata[`FRNIC_CMD_SRQ_BASE_LSB - 256 +: 64];
                dbrec_reg <= srq_rdata[`FRNIC_CMD_SRQ_DBREC_LSB - 256 +: 64];
                pi_reg <= srq_rdata[S_PI +: 24];
                ci_reg <= srq_rdata[S_CI +: 24];
                if (srq_done) begin
                    r_result <= R_SRQ;
                    st_reg <= srq_err || !srq_live || srq_rdata[23:0] != srqn_reg || srq_rdata[S_ERROR] ? ST_ANSWER : ST_TEST;
                end
            end
            ST_TEST: begin
                r_result <= R_OK;
                if (pi_reg != ci_reg) begin
                    st_reg <= ST_SLOT;
                end else if (!tried_reg) begin
                    st_reg <= ST_RECORD;
                end else begin
                    r_result <= R_NONE;
                    st_reg <= ST_ANSWER;
                end
            end
            ST_RECORD: begin
                if (req_ready) begin
                    st_reg <= ST_RECORD_IN;
                end
            end
            ST_RECORD_IN: begin
                tried_reg <= 1'b1;
                if (resp_valid) begin
                    if (!resp_error && record_new) begin
                        pi_reg <= record_word;
                    end
                    if (resp_error) begin
                        event_reg <= srq_reg;
                        ev_subtype <= `FRNIC_SRQ_EVENT_ERR;
                    end
                    if (limit_reg) begin
                        if (!resp_error && record_new) begin
                            st_reg <= ST_LIMIT;
                        end else begin
                            if (!resp_error) begin
                                event_reg <= 1'b1;
                                ev_subtype <= `FRNIC_SRQ_EVENT_LIMIT;
                            end
                            st_reg <= ST_WRITE;
                        end
                    end else if (resp_error) begin
                        r_result <= R_DMA;
                        st_reg <= srq_reg ? ST_WRITE : ST_ANSWER;
                    end else begin
                        st_reg <= ST_TEST;
                    end
                end
            end
            // Where it is: a cycle for each shift.
            ST_SLOT: begin
                off_reg <= {9'd0, slot} << stride_reg;
                to_end_reg <= size[23:0] - slot;
                st_reg <= ST_PAGE;
            end
            ST_PAGE: begin
                for (k = 0; k < HELD; k = k + 1) begin
                    same_ring_reg[k] <= held_number_reg[k*25 +: 25] == {srq_reg, number};
                end
                page_no_reg <= page_full[20:0];
                page_off_reg <= off_reg & ~(~33'd0 << shift_reg);
                st_reg <= ST_PLACE;
            end
            ST_PLACE: begin
                line_reg <= 3'd0;
                at_reg <= held_slot;
                place_reg <= held_place;
                st_reg <= held_hit ? ST_HEAD : listed_reg && !page_hit ? ST_LIST : ST_COUNT;
            end
            ST_LIST: begin
                if (req_ready) begin
                    st_reg <= ST_LIST_IN;
                end
            end
            ST_LIST_IN: begin
                if (resp_valid) begin
                    if (resp_error || list_word[63:12] == 52'd0 || list_word[11:0] != 12'd0) begin
                        r_result <= R_DMA;
                        event_reg <= srq_reg;
                        ev_subtype <= `FRNIC_SRQ_EVENT_ERR;
                        st_reg <= srq_reg ? ST_WRITE : ST_ANSWER;
                    end else begin
                        page_mem[page_slot] <= {number, page_no_reg, list_word[63:12]};
                        st_reg <= ST_COUNT;
                    end
                end
            end
            ST_COUNT: begin
                n_reg <= n;
                st_reg <= ST_ENTRY;
            end
            ST_ENTRY: begin
                line_reg <= entry_addr[8:6];
                place_reg <= entry_addr[8:0];
                if (req_ready) begin
                    st_reg <= ST_ENTRY_IN;
                end
            end
            ST_ENTRY_IN: begin
                if (resp_valid) begin
                    line_mem[{at_reg, line_reg}] <= resp_data;
                    line_reg <= line_reg + 1'b1;
                    if (resp_last) begin
                        line_reg <= 3'd0;
                    end
                    if (resp_last && resp_error && n_reg != 5'd1) begin
                        n_reg <= 5'd1; // without its neighbours: one of them could not be read
                        st_reg <= ST_ENTRY;
                    end else if (resp_last && resp_error) begin
                        r_result <= R_DMA;
                        event_reg <= srq_reg;
                        ev_subtype <= `FRNIC_SRQ_EVENT_ERR;
                        st_reg <= srq_reg ? ST_WRITE : ST_ANSWER;
                    end else if (resp_last) begin
                        st_reg <= ST_HEAD;
                    end
                end
            end
            ST_HEAD: begin
                r_tag <= line[`FRNIC_RQE_TAG_TAG_LSB +: 24];
                ci_reg <= ci_reg + 24'd1;
                taken_reg <= 1'b1;
                sge_at_reg <= 5'd1;
                if (num > {26'd0, sge_room} || num > 32'd16) begin
                    r_result <= R_BAD;
                    st_reg <= srq_reg ? ST_LIMIT : ST_TAKE;
                end else begin
                    r_num <= num[4:0];
                    st_reg <= num != 32'd0 ? ST_SGES : srq_reg ? ST_LIMIT : ST_TAKE;
                end
            end
            ST_SGES: begin
                r_length <= r_length + {4'd0, sge_length};
                sge_at_reg <= sge_at_reg + 1'b1;
                if (sge_at_reg == r_num) begin
                    st_reg <= srq_reg ? ST_LIMIT : ST_TAKE;
                end
            end
            ST_LIMIT: begin
                // Fewer than the limit, also by the record: then the event, once.
                if (srq_ctx_reg[S_ARMED] && below) begin
                    limit_reg <= 1'b1;
                    event_reg <= limit_reg;
                    ev_subtype <= `FRNIC_SRQ_EVENT_LIMIT;
                    st_reg <= limit_reg ? ST_WRITE : ST_RECORD;
                end else begin
                    st_reg <= ST_WRITE;
                end
            end
            ST_TAKE: begin
                if (gone_reg) begin
                    r_result <= R_GONE;
                    taken_reg <= 1'b0;
                    st_reg <= ST_ANSWER;
                end else if (lw_done) begin
                    st_reg <= ST_ANSWER;
                end
            end
            ST_WRITE: begin
                if (gone_reg) begin
                    r_result <= R_GONE;
                    taken_reg <= 1'b0;
                    st_reg <= ST_ANSWER;
                end else if (srq_ready) begin
                    st_reg <= ST_WRITTEN;
                end
            end
            ST_WRITTEN: begin
                if (srq_done) begin
                    st_reg <= event_reg ? ST_EVENT : ST_ANSWER;
                end
            end
            ST_EVENT: begin
                if (ev_ready) begin
                    st_reg <= ST_ANSWER;
                end
            end
            default: begin // ST_ANSWER
                line_reg <= line_reg + {2'd0, r_ready};
                if (r_ready && r_last) begin
                    st_reg <= ST_IDLE;
                end
            end
        endcase

        // What is held of a ring: the answer to the read, until the QP or any SRQ is another one. A ring has one place.
        if (st_reg == ST_ENTRY && req_ready) begin
            held_ok_reg[at_reg] <= 1'b0;
        end
        if (st_reg == ST_ENTRY_IN && resp_valid && resp_last && !resp_error && !gone_reg) begin
            held_ok_reg[at_reg] <= 1'b1;
            held_number_reg[at_reg*25 +: 25] <= {srq_reg, number};
            held_first_reg[at_reg*24 +: 24] <= ci_reg;
            held_count_reg[at_reg*5 +: 5] <= n_reg;
            held_place_reg[at_reg*9 +: 9] <= place_reg;
            if (at_reg == held_next_reg) begin
                held_next_reg <= held_next_reg + 1'b1;
            end
        end
        if (gone_reg) begin
            held_ok_reg[at_reg] <= 1'b0;
        end
        for (k = 0; k < HELD; k = k + 1) begin
            if ((chg_valid && chg_clear && !held_number_reg[k*25+24] && held_number_reg[k*25 +: LOG_QPS] == chg_index) ||
                (srq_changed && held_number_reg[k*25+24]) || rst || sweep) begin
                held_ok_reg[k] <= 1'b0;
            end
        end

        // Remembered pages: until the QP or any SRQ is another one.
        if (st_reg == ST_LIST_IN && resp_valid && !gone_reg) begin
            page_ok_reg[page_slot] <= 1'b1;
        end
        if (st_reg == ST_LIST_IN && resp_valid && (resp_error || list_word[63:12] == 52'd0 || list_word[11:0] != 12'd0)) begin
            page_ok_reg[page_slot] <= 1'b0;
        end
        if (chg_valid && chg_clear) begin
            page_ok_reg[{1'b0, chg_index[LOG_PAGES-1:0]}] <= 1'b0;
        end
        if (srq_changed) begin
            page_ok_reg[PAGES-1:PAGES/2] <= {(PAGES/2){1'b0}};
        end
        if (rst || sweep) begin
            held_next_reg <= {LOG_HELD{1'b0}};
            page_ok_reg <= {PAGES{1'b0}};
        end
        if (rst) begin
            st_reg <= ST_IDLE;
        end
    end

endmodule

`resetall
