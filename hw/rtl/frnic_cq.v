// SPDX-License-Identifier: BSD-2-Clause
//
// Completion queues: entries with owner bit and time stamp, overflow (R3.4), notification and moderation (R3.5), arming, resize. One operation at a time on
// one context; the rules are those of the functional model's cq.c. Documentation/microarchitecture.md, 4.8.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_cq #(
    // Sources of completions
    parameter SOURCES = 2,
    // log2 of the completion queues
    parameter LOG_CQS = 12,
    // log2 of the event queues
    parameter LOG_EQS = 6,
    // log2 of the largest queue's entries
    parameter LOG_CQE = 18,
    // Cycles of the context memory
    parameter READ_LATENCY = 3,
    // "auto", "block", "ultra" or "distributed"
    parameter STYLE = "ultra"
) (
    input  wire                  clk,
    input  wire                  rst,
    // Level: every context is ended; a reset sweeps as well
    input  wire                  sweep,
    output wire                  sweep_done,
    // Device time
    /* verilator lint_off UNUSED */
    input  wire [63:0]           time_ns,
    /* verilator lint_on UNUSED */
    // Completions, source 0 in the low bits; time stamp and owner bit are put in here
    input  wire [SOURCES-1:0]    cqe_valid,
    output wire [SOURCES-1:0]    cqe_ready,
    input  wire [SOURCES*24-1:0] cqe_cqn,
    /* verilator lint_off UNUSED */
    input  wire [SOURCES*256-1:0] cqe_data,
    /* verilator lint_on UNUSED */
    input  wire [SOURCES-1:0]    cqe_solicited,
    // CQ_ARM doorbells
    input  wire                  db_valid,
    output wire                  db_ready,
    input  wire [23:0]           db_number,
    input  wire [23:0]           db_index,
    /* verilator lint_off UNUSED */
    input  wire [7:0]            db_flags,
    /* verilator lint_on UNUSED */
    input  wire [15:0]           db_uar,
    output wire                  db_bad,
    output wire                  db_denied,
    // Command slot: 0 READ, 1 CREATE, 2 CLEAR, 3 MODIFY; wdata is struct cmd_cq bytes 0x20..0x47
    input  wire                  slot_valid,
    output wire                  slot_ready,
    input  wire [1:0]            slot_op,
    input  wire [LOG_CQS-1:0]    slot_index,
    input  wire [319:0]          slot_wdata,
    output reg                   slot_done,
    output reg  [7:0]            slot_status,
    output wire [639:0]          slot_rdata,
    // Events to frnic_eq; ev_lost counts with ev_ready
    output wire                  ev_valid,
    input  wire                  ev_ready,
    input  wire                  ev_lost,
    output wire [LOG_EQS-1:0]    ev_eqn,
    output wire [7:0]            ev_type,
    output wire [7:0]            ev_subtype,
    output wire [23:0]           ev_number,
    output wire [31:0]           ev_data,
    // From frnic_eq, a pulse: this queue has room again
    input  wire                  recover_valid,
    input  wire [LOG_EQS-1:0]    recover_eqn,
    // To frnic_dma_rd: records and page lists
    output wire                  req_valid,
    input  wire                  req_ready,
    output wire [63:0]           req_addr,
    output wire [12:0]           req_len,
    input  wire                  resp_valid,
    output wire                  resp_ready,
    input  wire [511:0]          resp_data,
    input  wire                  resp_last,
    input  wire                  resp_error,
    // To frnic_dma_wr: entries
    output wire                  cmd_valid,
    input  wire                  cmd_ready,
    output wire [63:0]           cmd_addr,
    output wire [12:0]           cmd_len,
    output wire [5:0]            cmd_src_off,
    output wire                  data_valid,
    input  wire                  data_ready,
    output wire [511:0]          data,
    input  wire                  st_valid,
    input  wire                  st_error,
    // The CQ is in error: its QPs must be
    output wire                  cqerr_valid,
    input  wire                  cqerr_ready,
    output wire [23:0]           cqerr_cqn,
    // No work left but running moderation timers, which timer_wait tells
    output wire                  idle,
    output wire                  timer_wait,
    // Counters CQES and CQ_OVERFLOWS; a parity error in a context
    output wire                  ev_cqe,
    output wire                  ev_overflow,
    output wire                  ev_parity
);

    localparam EQS = 1 << LOG_EQS;
    localparam SRC_W = SOURCES > 1 ? $clog2(SOURCES) : 1;

    // Pages of the largest ring: entries of 32 bytes, pages of 4 KiB and more.
    localparam PAGE_NO_W = LOG_CQE + 5 - 12;

    // Places in a context: image bytes from 0x20, live0.. from bit 320, own words from bit 512. TOLD is no part of live1: nothing came since the last event.
    // PAGE_NO is where refs is, which the queue manager has: a word for it alone.
    localparam CQN = 0, EQN = 32, NOTIFY = 56, LOG_SIZE = 64, LEVELS = 72, SHIFT = 80, FLAGS = 88, UAR = 96, MOD_COUNT = 112, BASE = 128,
               DBREC = 192, MOD_NS = 256, PI = 320, STATE = 344, CI = 352, ARMED = 376, ARMED_SOL = 377, TOLD = 378, ARM_INDEX = 384, PAGE_NO = 416,
               CQES = 448, EVENTS = 480, SOL_INDEX = 512, SOL_ANY = 536, LOST = 537, TIMER = 538, PAGE_OK = 539, UNREPORTED = 540,
               PAGE_ADDR = 556, DEADLINE = 608;

    localparam [4:0] ST_SWEEP = 5'd0, ST_IDLE = 5'd1, ST_READ = 5'd2, ST_EXEC = 5'd3, ST_REQ = 5'd4, ST_RESP = 5'd5, ST_ADDR = 5'd6, ST_CMD = 5'd7,
                     ST_DATA = 5'd8, ST_NOTE = 5'd9, ST_EVENT = 5'd10, ST_ERROR = 5'd11, ST_CQERR = 5'd12, ST_WRITE = 5'd13, ST_RESIZE = 5'd14,
                     ST_MODIFY = 5'd15, ST_PAGE = 5'd16;
    localparam [2:0] OP_CQE = 3'd0, OP_SLOT = 3'd1, OP_DB = 3'd2, OP_WRERR = 3'd3, OP_SCAN = 3'd4;
    localparam [1:0] SLOT_CREATE = 2'd1, SLOT_CLEAR = 2'd2, SLOT_MODIFY = 2'd3;

    initial begin
        // More entries than 2^22: SOL_ANY would forget one that is not consumed. PAGE_NO has a word.
        if (READ_LATENCY > 3 || LOG_CQS > 24 || LOG_EQS > 8 || LOG_CQE < 8 || LOG_CQE > 22 || PAGE_NO_W > 32) begin
            $display("frnic_cq: parameter out of range (%m)");
            $finish;
        end
    end

    reg [4:0] state_reg = ST_SWEEP;
    reg [2:0] op_reg = OP_CQE;
    reg [LOG_CQS-1:0] idx_reg = {LOG_CQS{1'b0}};
    reg [1:0] wait_reg = 2'd0;
    reg [639:0] ctx_reg = 640'd0;
    reg old_timer_reg = 1'b0;
    reg swept_reg = 1'b0;

    // ---- Context memory ----
    wire [639:0] mem_data;
    wire mem_valid;
    wire mem_err;
    wire write = state_reg == ST_WRITE || state_reg == ST_SWEEP;

    frnic_ram_sdp_parity #(
        .DATA_W(640),
        .LOG_DEPTH(LOG_CQS),
        .READ_LATENCY(READ_LATENCY),
        .STYLE(STYLE)
    ) cqc (
        .clk(clk),
        .rst(rst),
        .wr_en(write),
        .wr_addr(idx_reg),
        .wr_data(state_reg == ST_SWEEP ? 640'd0 : ctx_reg),
        .wr_flip(80'd0),
        .rd_en(state_reg == ST_READ && wait_reg == 2'd0),
        .rd_addr(idx_reg),
        .rd_valid(mem_valid),
        .rd_data(mem_data),
        .rd_parity_err(mem_err)
    );

    // Which contexts have a moderation timer: a scan reads a bit a cycle.
    reg [LOG_CQS:0] timers_reg = {(LOG_CQS+1){1'b0}};
    reg [LOG_CQS-1:0] tick_reg = {LOG_CQS{1'b0}};
    reg [LOG_CQS-1:0] tick_last_reg = {LOG_CQS{1'b0}};
    reg tick_valid_reg = 1'b0;
    reg due_valid_reg = 1'b0;
    reg [LOG_CQS-1:0] due_reg = {LOG_CQS{1'b0}};
    wire tick_bit;
    wire tick = timers_reg != {(LOG_CQS+1){1'b0}} && !due_valid_reg && !(tick_valid_reg && tick_bit);

    frnic_ram_sdp #(
        .WIDTH(1),
        .LOG_DEPTH(LOG_CQS),
        .READ_LATENCY(1)
    ) timer_bits (
        .clk(clk),
        .wr_en(write),
        .wr_addr(idx_reg),
        .wr_data(state_reg == ST_WRITE && ctx_reg[TIMER]),
        .rd_en(tick),
        .rd_addr(tick_reg),
        .rd_data(tick_bit)
    );

    // ---- What comes next ----
    wire pend_ready;
    wire pend_valid;
    wire [23:0] pend_cqn;
    wire err_valid;
    wire [23:0] err_cqn;
    wire cqerr_room;
    wire [SRC_W-1:0] src;
    wire src_any;
    wire src_take;

    reg [EQS-1:0] recover_reg = {EQS{1'b0}};
    reg [EQS-1:0] scan_mask_reg = {EQS{1'b0}};
    reg scan_on_reg = 1'b0;
    reg [LOG_CQS-1:0] scan_reg = {LOG_CQS{1'b0}};
    // Each second operation is a completion, if one can go. Doorbells and background work have the others by turns: nobody keeps anybody from going.
    reg turn_reg = 1'b0; // the last was no completion
    reg db_last_reg = 1'b0; // of the others the last was a doorbell
    reg again_reg = 1'b0; // this visit is for lost events, else for the timer

    // Nothing is written to a ring once CLEAR or MODIFY is done.
    wire slot_waits = slot_valid && slot_op[1] && (pend_valid || err_valid);
    wire visits = scan_on_reg || due_valid_reg;
    wire cqe_can = src_any && pend_ready && cqerr_room && !err_valid;
    wire cqe_turn = cqe_can && turn_reg;
    wire db_next = db_valid && !cqe_turn && !(visits && db_last_reg);
    wire background = visits && !cqe_turn && !(db_valid && !db_last_reg);

    assign src_take = state_reg == ST_IDLE && !sweep && !slot_valid && cqe_can && !db_next && !background;

    frnic_rr_pick #(
        .PORTS(SOURCES)
    ) arb (
        .clk(clk),
        .rst(rst),
        .req(cqe_valid),
        .sel(src),
        .any(src_any),
        .take(src_take)
    );

    genvar s;
    generate
        for (s = 0; s < SOURCES; s = s + 1) begin : source
            assign cqe_ready[s] = src_take && src == s && !rst;
        end
    endgenerate

    wire [23:0] src_cqn = cqe_cqn[src*24 +: 24];

    reg [23:0] cqn_reg = 24'd0;
    reg [191:0] cqe_reg = 192'd0; // all but time stamp and owner
    reg sol_reg = 1'b0;

    // ---- The context at hand ----
    wire [23:0] pi = ctx_reg[PI +: 24];
    wire [23:0] ci = ctx_reg[CI +: 24];
    wire [4:0] log_size = ctx_reg[LOG_SIZE +: 5];
    wire [24:0] size = 25'd1 << log_size;
    wire [23:0] held = pi - ci;
    wire full = {1'b0, held} >= size;
    wire live = ctx_reg[STATE +: 4] != 4'd0;
    wire ok = ctx_reg[STATE +: 4] == 4'd1;
    wire mine = live && ctx_reg[CQN +: 24] == cqn_reg;
    wire [23:0] slot_no = pi & (size[23:0] - 24'd1);
    // A cycle for the slot, one for the page
    reg [28:0] ring_off_reg = 29'd0;
    reg [PAGE_NO_W-1:0] page_no_reg = {PAGE_NO_W{1'b0}};
    reg [28:0] in_page_reg = 29'd0;
    wire [4:0] shift = ctx_reg[SHIFT +: 5];
    /* verilator lint_off UNUSED */
    wire [28:0] page_full = ring_off_reg >> shift;
    /* verilator lint_on UNUSED */
    wire listed = ctx_reg[LEVELS];
    wire page_hit = ctx_reg[PAGE_OK] && ctx_reg[PAGE_NO +: PAGE_NO_W] == page_no_reg;
    wire [63:0] entry_addr = listed ? {ctx_reg[PAGE_ADDR +: 52], 12'd0} + {35'd0, in_page_reg} : ctx_reg[BASE +: 64] + {35'd0, ring_off_reg};

    // Notification
    wire [23:0] pi_next = pi + 24'd1;
    wire [23:0] past_arm = pi_next - ctx_reg[ARM_INDEX +: 24];
    wire past = past_arm != 24'd0 && !past_arm[23];
    wire sol = sol_reg || cqe_reg[`FRNIC_CQE_W4_STATUS_LSB +: 8] != `FRNIC_CQE_STATUS_SUCCESS;
    wire [23:0] sol_age = pi_next - ctx_reg[SOL_INDEX +: 24];
    wire arm_past = ctx_reg[NOTIFY +: 8] == `FRNIC_CQ_NOTIFY_ARMED && ctx_reg[ARMED] && past;
    wire wants = ctx_reg[NOTIFY +: 8] == `FRNIC_CQ_NOTIFY_EVERY || (arm_past && (sol || !ctx_reg[ARMED_SOL]));
    wire [15:0] unreported = ctx_reg[UNREPORTED +: 16];
    wire [15:0] unreported_next = unreported == 16'hffff ? unreported : unreported + 16'd1;
    wire [15:0] mod_count = ctx_reg[MOD_COUNT +: 16];
    wire now_event = ctx_reg[MOD_NS +: 32] == 32'd0 || (mod_count != 16'd0 && unreported_next >= mod_count);
    // Timers count in units of 1024 ns, rounded up.
    wire [22:0] now_units = time_ns[32:10];
    wire [21:0] mod_whole = ctx_reg[MOD_NS+10 +: 22];
    wire [22:0] mod_units = {1'b0, mod_whole} + (mod_whole > 22'h3ffff0 ? 23'd0 : 23'd2);
    /* verilator lint_off UNUSED */
    wire [22:0] late = now_units - ctx_reg[DEADLINE +: 23];
    /* verilator lint_on UNUSED */

    // Doorbell
    wire [23:0] ahead = db_index - pi;
    wire [23:0] behind = pi - db_index;
    wire db_far = ahead[23] ? {1'b0, behind} > size : {1'b0, ahead} > size;
    wire db_sol = db_flags[`FRNIC_DB_FLAG_SOLICITED_BIT];
    wire [23:0] sol_past = ctx_reg[SOL_INDEX +: 24] - db_index;
    wire db_due = db_sol ? ctx_reg[SOL_ANY] && sol_past != 24'd0 && !sol_past[23] : behind != 24'd0 && !behind[23];

    // ---- Reads of host memory ----
    reg rd_list_reg = 1'b0; // the page list's entry, else the record
    reg rd_tried_reg = 1'b0;
    reg rd_sent_reg = 1'b0;
    wire [63:0] rd_addr = rd_list_reg ? ctx_reg[BASE +: 64] + {{(61-PAGE_NO_W){1'b0}}, page_no_reg, 3'd0} : ctx_reg[DBREC +: 64];
    wire [63:0] rd_word = resp_data[{rd_addr[5:3], 6'd0} +: 64];
    wire [23:0] rd_ci = rd_word[23:0]; // the record is 16-byte aligned
    wire rd_ci_ok = pi - rd_ci <= held;

    assign req_valid = state_reg == ST_REQ && !rd_sent_reg;
    assign req_addr = rd_addr;
    assign req_len = rd_list_reg ? 13'd8 : 13'd4;
    assign resp_ready = state_reg == ST_RESP;

    // ---- The entry ----
    wire [255:0] entry = {!pi[log_size], 15'd0, time_ns[47:32], time_ns[31:0], cqe_reg};
    reg [255:0] out_reg = 256'd0;

    assign cmd_valid = state_reg == ST_CMD;
    assign cmd_addr = entry_addr;
    assign cmd_len = 13'd32;
    assign cmd_src_off = entry_addr[5:0];
    assign data_valid = state_reg == ST_DATA;
    assign data = {2{out_reg}};
    assign ev_cqe = data_valid && data_ready;

    // ---- Events ----
    reg err_event_reg = 1'b0; // a CQ event, else a completion event
    reg [7:0] err_code_reg = 8'd0;

    assign ev_valid = state_reg == ST_EVENT;
    assign ev_eqn = ctx_reg[EQN +: LOG_EQS];
    assign ev_type = err_event_reg ? `FRNIC_EQE_TYPE_CQ : `FRNIC_EQE_TYPE_COMP;
    assign ev_subtype = err_event_reg ? err_code_reg : 8'd0;
    assign ev_number = ctx_reg[CQN +: 24];
    assign ev_data = err_event_reg ? 32'd0 : {8'd0, pi};
    assign ev_overflow = state_reg == ST_ERROR && err_code_reg == `FRNIC_CQ_EVENT_OVERFLOW;
    assign ev_parity = state_reg == ST_READ && mem_valid && mem_err && op_reg != OP_SCAN && !(op_reg == OP_SLOT && (slot_op == SLOT_CREATE || slot_op == SLOT_CLEAR));

    wire db_lost = state_reg == ST_READ && op_reg == OP_DB && mem_valid && mem_err;
    wire db_exec = state_reg == ST_EXEC && op_reg == OP_DB;
    assign db_ready = db_exec || db_lost;
    assign db_bad = db_lost || (db_exec && (!mine || (ctx_reg[UAR +: 16] == db_uar && db_far)));
    assign db_denied = db_exec && mine && ctx_reg[UAR +: 16] != db_uar;
    assign slot_ready = slot_done;
    assign slot_rdata = {ctx_reg[639:CQES], 32'd0, ctx_reg[PAGE_NO-1:TOLD+1], 1'b0, ctx_reg[TOLD-1:0]};
    assign sweep_done = sweep && swept_reg && state_reg == ST_IDLE;
    assign timer_wait = timers_reg != {(LOG_CQS+1){1'b0}};
    assign idle = state_reg == ST_IDLE && !src_any && !db_valid && !slot_valid && !pend_valid && !err_valid && !cqerr_valid && !scan_on_reg &&
                  recover_reg == {EQS{1'b0}} && !slot_done;

    // What a completion event does to a context; lost is known when it was taken.
    task event_done(input lost);
        begin
            ctx_reg[TIMER] <= 1'b0;
            ctx_reg[UNREPORTED +: 16] <= 16'd0;
            ctx_reg[ARMED] <= 1'b0;
            ctx_reg[TOLD] <= 1'b1;
            ctx_reg[LOST] <= lost;
            if (!lost) begin
                ctx_reg[EVENTS +: 32] <= ctx_reg[EVENTS +: 32] + 32'd1;
            end
        end
    endtask

    always @(posedge clk) begin
        slot_done <= 1'b0;
        if (recover_valid) begin
            recover_reg[recover_eqn] <= 1'b1;
        end
        if (!scan_on_reg && recover_reg != {EQS{1'b0}}) begin
            scan_on_reg <= 1'b1;
            scan_mask_reg <= recover_reg;
            recover_reg <= recover_valid ? {{(EQS-1){1'b0}}, 1'b1} << recover_eqn : {EQS{1'b0}};
            scan_reg <= {LOG_CQS{1'b0}};
        end
        tick_valid_reg <= tick;
        tick_last_reg <= tick_reg;
        if (tick) begin
            tick_reg <= tick_reg + 1'b1;
        end
        if (tick_valid_reg && tick_bit && !due_valid_reg) begin
            due_valid_reg <= 1'b1;
            due_reg <= tick_last_reg;
        end

        case (state_reg)
            ST_SWEEP: begin
                idx_reg <= idx_reg + 1'b1;
                timers_reg <= {(LOG_CQS+1){1'b0}};
                due_valid_reg <= 1'b0;
                scan_on_reg <= 1'b0;
                recover_reg <= {EQS{1'b0}};
                if (idx_reg == {LOG_CQS{1'b1}}) begin
                    state_reg <= ST_IDLE;
                    swept_reg <= sweep;
                end
            end
            ST_IDLE: begin
                wait_reg <= 2'd0;
                rd_tried_reg <= 1'b0;
                rd_sent_reg <= 1'b0;
                rd_list_reg <= 1'b0;
                err_event_reg <= 1'b0;
                if (!sweep) begin
                    swept_reg <= 1'b0;
                end
                if (sweep) begin
                    idx_reg <= {LOG_CQS{1'b0}};
                    if (!swept_reg && !pend_valid) begin
                        state_reg <= ST_SWEEP;
                    end
                end else if (err_valid && cqerr_room) begin
                    op_reg <= OP_WRERR;
                    cqn_reg <= err_cqn;
                    idx_reg <= err_cqn[LOG_CQS-1:0];
                    state_reg <= ST_READ;
                end else if (slot_valid && !slot_waits && !slot_done) begin
                    op_reg <= OP_SLOT;
                    idx_reg <= slot_index;
                    state_reg <= ST_READ;
                end else if (db_next && !slot_valid) begin
                    op_reg <= OP_DB;
                    turn_reg <= 1'b1;
                    db_last_reg <= 1'b1;
                    cqn_reg <= db_number;
                    idx_reg <= db_number[LOG_CQS-1:0];
                    state_reg <= ST_READ;
                end else if (background && !slot_valid) begin
                    op_reg <= OP_SCAN;
                    turn_reg <= 1'b1;
                    db_last_reg <= 1'b0;
                    idx_reg <= due_valid_reg ? due_reg : scan_reg;
                    again_reg <= !due_valid_reg;
                    if (due_valid_reg) begin
                        due_valid_reg <= 1'b0;
                    end else begin
                        scan_reg <= scan_reg + 1'b1;
                        scan_on_reg <= scan_reg != {LOG_CQS{1'b1}};
                    end
                    state_reg <= ST_READ;
                end else if (src_take) begin
                    op_reg <= OP_CQE;
                    turn_reg <= 1'b0;
                    cqn_reg <= src_cqn;
                    idx_reg <= src_cqn[LOG_CQS-1:0];
                    cqe_reg <= cqe_data[src*256 +: 192];
                    sol_reg <= cqe_solicited[src];
                    state_reg <= ST_READ;
                end
            end
            ST_READ: begin
                wait_reg <= 2'd1;
                if (mem_valid) begin
                    ctx_reg <= mem_data;
                    old_timer_reg <= mem_data[TIMER] && !mem_err;
                    state_reg <= ST_EXEC;
                    if (mem_err && op_reg != OP_SLOT) begin
                        // The context is lost: nothing of it can be believed. Its QPs end, a command says PARITY until it is destroyed.
                        state_reg <= op_reg == OP_CQE ? ST_CQERR : ST_IDLE;
                        ctx_reg[CQN +: 24] <= cqn_reg;
                        ctx_reg[STATE +: 4] <= 4'd0;
                    end
                    slot_status <= mem_err ? `FRNIC_STATUS_PARITY : `FRNIC_STATUS_SUCCESS;
                end
            end
            ST_EXEC: begin
                state_reg <= ST_IDLE;
                ring_off_reg <= {slot_no, 5'd0};
                case (op_reg)
                    OP_CQE: begin
                        if (mine && ok) begin
                            state_reg <= ST_PAGE;
                        end
                    end
                    OP_WRERR: begin
                        if (mine && ok) begin
                            err_code_reg <= `FRNIC_CQ_EVENT_DMA_ERR;
                            state_reg <= ST_ERROR;
                        end
                    end
                    OP_DB: begin
                        if (mine && ctx_reg[UAR +: 16] == db_uar && !db_far && ok && ctx_reg[NOTIFY +: 8] == `FRNIC_CQ_NOTIFY_ARMED) begin
                            ctx_reg[ARMED] <= 1'b1;
                            ctx_reg[ARMED_SOL] <= db_sol;
                            ctx_reg[ARM_INDEX +: 24] <= db_index;
                            // An entry is told once: an index that stays behind must not bring an event with each doorbell.
                            state_reg <= db_due && !ctx_reg[TOLD] ? ST_EVENT : ST_WRITE;
                        end
                    end
                    OP_SCAN: begin
                        if (ok && (again_reg ? ctx_reg[LOST] && scan_mask_reg[ctx_reg[EQN +: LOG_EQS]] : ctx_reg[TIMER] && !late[22])) begin
                            state_reg <= ST_EVENT;
                        end
                    end
                    default: begin // slot
                        case (slot_op)
                            SLOT_CREATE: begin
                                ctx_reg <= {320'd0, slot_wdata};
                                ctx_reg[FLAGS +: 8] <= 8'd0;
                                ctx_reg[STATE +: 4] <= 4'd1;
                                ctx_reg[TOLD] <= 1'b1;
                                slot_status <= `FRNIC_STATUS_SUCCESS;
                                state_reg <= ST_WRITE;
                            end
                            SLOT_CLEAR: begin
                                ctx_reg <= 640'd0;
                                slot_status <= `FRNIC_STATUS_SUCCESS;
                                state_reg <= ST_WRITE;
                            end
                            SLOT_MODIFY: begin
                                if (slot_status != `FRNIC_STATUS_SUCCESS) begin
                                    slot_done <= 1'b1;
                                end else begin
                                    state_reg <= slot_wdata[FLAGS+1] ? ST_REQ : ST_MODIFY;
                                end
                            end
                            default: begin
                                slot_done <= 1'b1;
                            end
                        endcase
                    end
                endcase
            end

            ST_PAGE: begin
                page_no_reg <= page_full[PAGE_NO_W-1:0];
                in_page_reg <= ring_off_reg & ~(~29'd0 << shift);
                state_reg <= ST_ADDR;
            end
            // Where the entry goes: room, page. Each may need host memory once.
            ST_ADDR: begin
                if (full) begin
                    rd_list_reg <= 1'b0;
                    err_code_reg <= `FRNIC_CQ_EVENT_OVERFLOW;
                    rd_tried_reg <= 1'b1;
                    state_reg <= rd_tried_reg ? ST_ERROR : ST_REQ;
                end else if (listed && !page_hit) begin
                    rd_list_reg <= 1'b1;
                    state_reg <= ST_REQ;
                end else begin
                    state_reg <= ST_CMD;
                    out_reg <= entry;
                end
            end
            ST_REQ: begin
                if (req_ready) begin
                    state_reg <= ST_RESP;
                end
            end
            ST_RESP: begin
                if (resp_valid && resp_last) begin
                    state_reg <= op_reg == OP_SLOT ? ST_RESIZE : ST_ADDR;
                    if (resp_error || (rd_list_reg && (rd_word[63:12] == 52'd0 || rd_word[11:0] != 12'd0))) begin
                        err_code_reg <= `FRNIC_CQ_EVENT_DMA_ERR;
                        slot_status <= `FRNIC_STATUS_DMA_ERROR;
                        if (op_reg == OP_SLOT) begin
                            slot_done <= 1'b1;
                            state_reg <= ST_IDLE;
                        end else begin
                            state_reg <= ST_ERROR;
                        end
                    end else if (rd_list_reg) begin
                        ctx_reg[PAGE_OK] <= 1'b1;
                        ctx_reg[PAGE_NO +: PAGE_NO_W] <= page_no_reg;
                        ctx_reg[PAGE_ADDR +: 52] <= rd_word[63:12];
                    end else if (rd_ci_ok) begin
                        ctx_reg[CI +: 24] <= rd_ci;
                    end
                end
            end
            ST_CMD: begin
                if (cmd_ready) begin
                    state_reg <= ST_DATA;
                end
            end
            ST_DATA: begin
                if (data_ready) begin
                    state_reg <= ST_NOTE;
                end
            end
            ST_NOTE: begin
                state_reg <= ST_WRITE;
                ctx_reg[TOLD] <= 1'b0;
                ctx_reg[PI +: 24] <= pi_next;
                ctx_reg[CQES +: 32] <= ctx_reg[CQES +: 32] + 32'd1;
                if (sol) begin
                    ctx_reg[SOL_INDEX +: 24] <= pi_next;
                    ctx_reg[SOL_ANY] <= 1'b1;
                end else if (sol_age > 24'h3fffff) begin
                    ctx_reg[SOL_ANY] <= 1'b0; // long consumed; must not look like one to come
                end
                if (wants) begin
                    ctx_reg[UNREPORTED +: 16] <= unreported_next;
                    if (now_event) begin
                        state_reg <= ST_EVENT;
                    end else if (!ctx_reg[TIMER]) begin
                        ctx_reg[TIMER] <= 1'b1;
                        ctx_reg[DEADLINE +: 23] <= now_units + mod_units;
                    end
                end else if (arm_past) begin
                    ctx_reg[ARM_INDEX +: 24] <= pi; // passed it stays, however many entries nobody waits for
                end
            end
            ST_EVENT: begin
                if (ev_ready) begin
                    if (err_event_reg) begin
                        state_reg <= ST_CQERR;
                    end else begin
                        event_done(ev_lost);
                        state_reg <= ST_WRITE;
                    end
                end
            end
            ST_ERROR: begin
                ctx_reg[STATE +: 4] <= 4'd2;
                ctx_reg[ARMED] <= 1'b0;
                ctx_reg[TIMER] <= 1'b0;
                err_event_reg <= 1'b1;
                state_reg <= ST_EVENT;
            end
            ST_CQERR: begin // room was seen before the operation began
                state_reg <= live ? ST_WRITE : ST_IDLE;
            end
            ST_RESIZE: begin
                // The record was read. Indices start anew; software copies what the old ring holds.
                if ({1'b0, held} > 25'd1 << slot_wdata[LOG_SIZE +: 5]) begin
                    slot_status <= `FRNIC_STATUS_CQ_TOO_FULL;
                    state_reg <= ST_WRITE;
                end else begin
                    ctx_reg[ARM_INDEX +: 24] <= ctx_reg[ARM_INDEX +: 24] - ci;
                    ctx_reg[SOL_INDEX +: 24] <= ctx_reg[SOL_INDEX +: 24] - ci;
                    ctx_reg[PI +: 24] <= held;
                    ctx_reg[CI +: 24] <= 24'd0;
                    ctx_reg[LOG_SIZE +: 24] <= slot_wdata[LOG_SIZE +: 24];
                    ctx_reg[BASE +: 128] <= slot_wdata[BASE +: 128];
                    ctx_reg[PAGE_OK] <= 1'b0;
                    state_reg <= ST_MODIFY;
                end
            end
            ST_MODIFY: begin
                state_reg <= ST_WRITE;
                if (slot_wdata[FLAGS]) begin
                    ctx_reg[NOTIFY +: 8] <= slot_wdata[NOTIFY +: 8];
                    ctx_reg[MOD_COUNT +: 16] <= slot_wdata[MOD_COUNT +: 16];
                    ctx_reg[MOD_NS +: 32] <= slot_wdata[MOD_NS +: 32];
                    if (slot_wdata[NOTIFY +: 8] != `FRNIC_CQ_NOTIFY_ARMED) begin
                        ctx_reg[ARMED] <= 1'b0;
                    end
                    // What was held back by the old moderation is not held back by the new one.
                    if (unreported != 16'd0) begin
                        state_reg <= ST_EVENT;
                    end
                end
            end
            default: begin // ST_WRITE
                state_reg <= ST_IDLE;
                slot_done <= op_reg == OP_SLOT;
                timers_reg <= timers_reg + {{LOG_CQS{1'b0}}, ctx_reg[TIMER]} - {{LOG_CQS{1'b0}}, old_timer_reg};
            end
        endcase

        if (rst) begin
            state_reg <= ST_SWEEP;
            idx_reg <= {LOG_CQS{1'b0}};
            swept_reg <= 1'b0;
            slot_done <= 1'b0;
            turn_reg <= 1'b0;
            db_last_reg <= 1'b0;
            tick_valid_reg <= 1'b0;
            timers_reg <= {(LOG_CQS+1){1'b0}};
            due_valid_reg <= 1'b0;
            scan_on_reg <= 1'b0;
            recover_reg <= {EQS{1'b0}};
        end
    end

    // ---- Entries under way; those whose write failed; CQs whose QPs must end ----
    /* verilator lint_off UNUSED */
    wire [4:0] pend_count;
    wire [4:0] err_count;
    wire [2:0] cqerr_count;
    wire err_ready;
    /* verilator lint_on UNUSED */

    frnic_fifo #(
        .WIDTH(24),
        .LOG_DEPTH(4)
    ) pend (
        .clk(clk),
        .rst(rst),
        .wr_data(cqn_reg),
        .wr_valid(cmd_valid && cmd_ready),
        .wr_ready(pend_ready),
        .rd_data(pend_cqn),
        .rd_valid(pend_valid),
        .rd_ready(st_valid),
        .count(pend_count)
    );

    frnic_fifo #(
        .WIDTH(24),
        .LOG_DEPTH(4)
    ) failed (
        .clk(clk),
        .rst(rst),
        .wr_data(pend_cqn),
        .wr_valid(st_valid && st_error),
        .wr_ready(err_ready),
        .rd_data(err_cqn),
        .rd_valid(err_valid),
        .rd_ready(state_reg == ST_EXEC && op_reg == OP_WRERR || (state_reg == ST_READ && op_reg == OP_WRERR && mem_valid && mem_err)),
        .count(err_count)
    );

    frnic_fifo #(
        .WIDTH(24),
        .LOG_DEPTH(2)
    ) ended (
        .clk(clk),
        .rst(rst),
        .wr_data(ctx_reg[CQN +: 24]),
        .wr_valid(state_reg == ST_CQERR),
        .wr_ready(cqerr_room),
        .rd_data(cqerr_cqn),
        .rd_valid(cqerr_valid),
        .rd_ready(cqerr_ready),
        .count(cqerr_count)
    );

endmodule

`resetall
