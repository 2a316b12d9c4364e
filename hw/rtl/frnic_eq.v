// SPDX-License-Identifier: BSD-2-Clause
//
// Event queues: writes events with their owner bit, keeps arming and overflow (R3.6), asks for interrupts once an event is in memory. Moderation and
// vectors are frnic_msix's. Documentation/microarchitecture.md, 4.9.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_eq #(
    // Sources of events
    parameter SOURCES = 4,
    // log2 of the event queues
    parameter LOG_EQS = 6
) (
    input  wire                       clk,
    input  wire                       rst,
    // Hot reset: all queues vanish
    input  wire                       clear,
    // Events, source 0 in the low bits; taken when on their way to memory, or dropped: then ev_lost
    input  wire [SOURCES-1:0]         ev_valid,
    output wire [SOURCES-1:0]         ev_ready,
    output wire                       ev_lost,
    input  wire [SOURCES*LOG_EQS-1:0] ev_eqn,
    input  wire [SOURCES*8-1:0]       ev_type,
    input  wire [SOURCES*8-1:0]       ev_subtype,
    input  wire [SOURCES*24-1:0]      ev_number,
    input  wire [SOURCES*32-1:0]      ev_data,
    // EQ_ARM doorbells
    input  wire                       db_valid,
    output wire                       db_ready,
    input  wire [23:0]                db_number,
    input  wire [23:0]                db_index,
    /* verilator lint_off UNUSED */
    input  wire [7:0]                 db_flags,
    /* verilator lint_on UNUSED */
    output wire                       db_bad,
    // Command slot: 0 READ, 1 CREATE, 2 CLEAR, 3 as READ
    input  wire                       slot_valid,
    output wire                       slot_ready,
    input  wire [1:0]                 slot_op,
    input  wire [LOG_EQS-1:0]         slot_index,
    input  wire [159:0]               slot_wdata,
    output reg                        slot_done,
    output wire [7:0]                 slot_status,
    output reg  [287:0]               slot_rdata,
    // To frnic_dma_wr
    output wire                       cmd_valid,
    input  wire                       cmd_ready,
    output wire [63:0]                cmd_addr,
    output wire [12:0]                cmd_len,
    output wire [5:0]                 cmd_src_off,
    output wire                       data_valid,
    input  wire                       data_ready,
    output wire [511:0]               data,
    input  wire                       st_valid,
    input  wire                       st_error,
    // To frnic_msix
    output wire                       irq_valid,
    output wire [LOG_EQS-1:0]         irq_eqn,
    output wire                       cfg_valid,
    output wire [LOG_EQS-1:0]         cfg_eqn,
    output wire [10:0]                cfg_vector,
    output wire [31:0]                cfg_mod_ns,
    output wire [LOG_EQS-1:0]         irqs_eqn,
    input  wire [31:0]                irqs,
    // To frnic_cq: completion events that this queue lost can be raised again
    output wire                       recover_valid,
    output wire [LOG_EQS-1:0]         recover_eqn,
    // To frnic_csr: bits of EQ_OVERFLOW to set; an event queue could not be written
    output wire [31:0]                overflow_set,
    output wire                       fatal_valid,
    output wire [LOG_EQS-1:0]         fatal_eqn,
    output wire                       idle,
    // Counters EQES and EQ_OVERFLOWS
    output wire                       ev_eqe,
    output wire                       ev_overflow
);

    localparam EQS = 1 << LOG_EQS;
    localparam SRC_W = SOURCES > 1 ? $clog2(SOURCES) : 1;

    localparam [2:0] ST_IDLE = 3'd0, ST_ACK = 3'd1, ST_SLOT = 3'd2, ST_DB = 3'd3, ST_EVENT = 3'd4, ST_CMD = 3'd5, ST_DATA = 3'd6;

    initial begin
        if (LOG_EQS > 8) begin
            $display("frnic_eq: LOG_EQS out of range (%m)");
            $finish;
        end
    end

    // ---- Contexts ----
    // As given by CREATE: struct cmd_eq bytes 0x20..0x33.
    reg [159:0] conf_mem [0:EQS-1];
    // pi: written or on the way. seen: in memory. An interrupt looks at the latter, room at the former.
    reg [23:0] pi_mem [0:EQS-1];
    reg [23:0] seen_mem [0:EQS-1];
    reg [23:0] ci_mem [0:EQS-1];
    reg [EQS-1:0] live_reg = {EQS{1'b0}};
    reg [EQS-1:0] armed_reg = {EQS{1'b0}};
    reg [EQS-1:0] overflow_reg = {EQS{1'b0}};

    reg [2:0] state_reg = ST_IDLE;
    reg [LOG_EQS-1:0] idx_reg = {LOG_EQS{1'b0}};
    reg clear_reg = 1'b0;

    /* verilator lint_off UNUSED */
    wire [159:0] conf = conf_mem[idx_reg];
    /* verilator lint_on UNUSED */
    wire [15:0] vector = conf[47:32];
    wire [4:0] log_size = conf[52:48];
    wire [63:0] base = conf[127:64];
    wire [31:0] mod_ns = conf[159:128];
    wire [23:0] pi = pi_mem[idx_reg];
    wire [23:0] seen = seen_mem[idx_reg];
    wire [23:0] ci = ci_mem[idx_reg];
    wire live = live_reg[idx_reg];
    wire armed = armed_reg[idx_reg];
    wire over = overflow_reg[idx_reg];

    wire [23:0] held = pi - ci;
    wire full = held >= (24'd1 << log_size);

    // ---- What comes next: responses first, then commands, doorbells, events ----
    wire pend_ready;
    wire pend_valid;
    wire [LOG_EQS-1:0] pend_eqn;
    wire ack_valid;
    wire ack_error;
    wire [SRC_W-1:0] src;
    wire src_any;
    wire src_take;

    // CLEAR waits for the writes under way: nothing is written once it is done.
    wire slot_go = slot_valid && (slot_op != 2'd2 || !pend_valid);
    wire slot_holds = slot_valid && slot_op == 2'd2;

    frnic_rr_pick #(
        .PORTS(SOURCES)
    ) arb (
        .clk(clk),
        .rst(rst),
        .req(ev_valid),
        .sel(src),
        .any(src_any),
        .take(src_take)
    );

    reg [SRC_W-1:0] src_reg = {SRC_W{1'b0}};
    wire [7:0] e_type = ev_type[src_reg*8 +: 8];
    wire [7:0] e_subtype = ev_subtype[src_reg*8 +: 8];
    wire [23:0] e_number = ev_number[src_reg*24 +: 24];
    wire [31:0] e_data = ev_data[src_reg*32 +: 32];

    // ---- Doorbell ----
    wire [LOG_EQS-1:0] db_eqn = db_number[LOG_EQS-1:0];
    wire db_known = db_number[23:LOG_EQS] == {(24-LOG_EQS){1'b0}};
    wire [23:0] db_gone = pi - db_index;
    wire db_ok = db_known && live && db_gone <= held;
    wire db_arm_set = armed || db_flags[`FRNIC_DB_FLAG_ARM_BIT];

    // ---- Event ----
    wire [127:0] eqe = {pi[log_size] ? 1'b0 : 1'b1, 31'd0, e_data, 8'd0, e_number, 16'd0, e_subtype, e_type};
    wire [23:0] place = pi & ((24'd1 << log_size) - 24'd1);
    wire [63:0] addr = base + {36'd0, place, 4'd0};

    assign cmd_valid = state_reg == ST_CMD;
    assign cmd_addr = addr;
    assign cmd_len = 13'd16;
    assign cmd_src_off = addr[5:0];
    assign data_valid = state_reg == ST_DATA;
    assign data = {4{eqe}};

    wire ev_drop = state_reg == ST_EVENT && (!live || full);
    wire ev_over = state_reg == ST_EVENT && live && full;
    wire ev_sent = state_reg == ST_DATA && data_ready;

    genvar s;
    generate
        for (s = 0; s < SOURCES; s = s + 1) begin : source
            assign ev_ready[s] = (ev_drop || ev_sent) && src_reg == s;
        end
        for (s = 0; s < 32; s = s + 1) begin : ovf
            assign overflow_set[s] = ev_over && idx_reg == s;
        end
    endgenerate

    assign ev_lost = ev_drop;
    assign ev_eqe = ev_sent;
    assign ev_overflow = ev_over && !over;

    // ---- Interrupts ----
    // Software polls memory and may have read an event before its response is here: only what is beyond ci is a reason.
    wire [23:0] ack_ahead = seen + 24'd1 - ci;
    wire [23:0] db_ahead = seen - db_index;
    wire unread = db_ahead != 24'd0 && !db_ahead[23];
    wire ack_irq = state_reg == ST_ACK && !ack_error && live && armed && ack_ahead != 24'd0 && !ack_ahead[23];
    wire db_irq = state_reg == ST_DB && db_ok && db_arm_set && unread;
    assign irq_valid = ack_irq || db_irq || ev_over;
    assign irq_eqn = idx_reg;
    assign irqs_eqn = idx_reg;

    assign cfg_valid = state_reg == ST_SLOT && (slot_op == 2'd1 || slot_op == 2'd2);
    assign cfg_eqn = idx_reg;
    assign cfg_vector = slot_wdata[42:32];
    assign cfg_mod_ns = slot_wdata[159:128];

    assign db_ready = state_reg == ST_DB;
    assign db_bad = state_reg == ST_DB && !db_ok;
    assign recover_valid = state_reg == ST_DB && db_ok && over && db_index != ci;
    assign recover_eqn = idx_reg;
    assign slot_ready = state_reg == ST_SLOT;
    assign slot_status = `FRNIC_STATUS_SUCCESS;
    assign fatal_valid = state_reg == ST_ACK && ack_error;
    assign fatal_eqn = idx_reg;
    assign src_take = state_reg == ST_IDLE && !ack_valid && !slot_go && !slot_holds && !db_valid && pend_ready && !clear_reg && !clear;
    assign idle = state_reg == ST_IDLE && !pend_valid && !src_any && !db_valid && !slot_valid && !clear_reg && !slot_done;

    always @(posedge clk) begin
        slot_done <= 1'b0;
        clear_reg <= clear_reg || clear;

        case (state_reg)
            ST_IDLE: begin
                if (clear_reg) begin
                    clear_reg <= clear;
                    live_reg <= {EQS{1'b0}};
                    armed_reg <= {EQS{1'b0}};
                    overflow_reg <= {EQS{1'b0}};
                end else if (ack_valid) begin
                    state_reg <= ST_ACK;
                    idx_reg <= pend_eqn;
                end else if (slot_go) begin
                    state_reg <= ST_SLOT;
                    idx_reg <= slot_index;
                end else if (db_valid && !slot_holds) begin
                    state_reg <= ST_DB;
                    idx_reg <= db_eqn;
                end else if (src_take && src_any) begin
                    state_reg <= ST_EVENT;
                    src_reg <= src;
                    idx_reg <= ev_eqn[src*LOG_EQS +: LOG_EQS];
                end
            end
            ST_ACK: begin
                state_reg <= ST_IDLE;
                if (live) begin
                    seen_mem[idx_reg] <= seen + 24'd1;
                    if (ack_irq) begin
                        armed_reg[idx_reg] <= 1'b0;
                    end
                end
            end
            ST_SLOT: begin
                state_reg <= ST_IDLE;
                slot_done <= 1'b1;
                slot_rdata <= {irqs, 32'd0, 8'd0, ci, 6'd0, armed, over, pi, mod_ns, base, 11'd0, log_size, vector,
                               live, 7'd0, conf[23:0]};
                if (slot_op == 2'd1) begin
                    conf_mem[idx_reg] <= slot_wdata;
                    pi_mem[idx_reg] <= 24'd0;
                    seen_mem[idx_reg] <= 24'd0;
                    ci_mem[idx_reg] <= 24'd0;
                    live_reg[idx_reg] <= 1'b1;
                end
                if (slot_op == 2'd2) begin
                    live_reg[idx_reg] <= 1'b0;
                end
                if (slot_op == 2'd1 || slot_op == 2'd2) begin
                    armed_reg[idx_reg] <= 1'b0;
                    overflow_reg[idx_reg] <= 1'b0;
                end
            end
            ST_DB: begin
                state_reg <= ST_IDLE;
                if (db_ok) begin
                    ci_mem[idx_reg] <= db_index;
                    // No lost wake-up: what is unread already interrupts at once.
                    armed_reg[idx_reg] <= db_arm_set && !unread;
                    if (db_index != ci) begin
                        overflow_reg[idx_reg] <= 1'b0;
                    end
                end
            end
            ST_EVENT: begin
                state_reg <= live && !full ? ST_CMD : ST_IDLE;
                if (ev_over) begin
                    // Never over an unread event. The driver learns it from the bit and the interrupt.
                    overflow_reg[idx_reg] <= 1'b1;
                    armed_reg[idx_reg] <= 1'b0;
                end
            end
            ST_CMD: begin
                if (cmd_ready) begin
                    state_reg <= ST_DATA;
                end
            end
            default: begin
                if (data_ready) begin
                    state_reg <= ST_IDLE;
                    pi_mem[idx_reg] <= pi + 24'd1;
                end
            end
        endcase

        if (rst) begin
            state_reg <= ST_IDLE;
            clear_reg <= 1'b0;
            slot_done <= 1'b0;
            live_reg <= {EQS{1'b0}};
            armed_reg <= {EQS{1'b0}};
            overflow_reg <= {EQS{1'b0}};
        end
    end

    // ---- Writes under way, and their responses ----
    /* verilator lint_off UNUSED */
    wire [4:0] pend_count;
    wire [4:0] ack_count;
    wire ack_ready;
    /* verilator lint_on UNUSED */

    frnic_fifo #(
        .WIDTH(LOG_EQS),
        .LOG_DEPTH(4)
    ) pend (
        .clk(clk),
        .rst(rst),
        .wr_data(idx_reg),
        .wr_valid(cmd_valid && cmd_ready),
        .wr_ready(pend_ready),
        .rd_data(pend_eqn),
        .rd_valid(pend_valid),
        .rd_ready(state_reg == ST_ACK),
        .count(pend_count)
    );

    frnic_fifo #(
        .WIDTH(1),
        .LOG_DEPTH(4)
    ) ack (
        .clk(clk),
        .rst(rst),
        .wr_data(st_error),
        .wr_valid(st_valid),
        .wr_ready(ack_ready),
        .rd_data(ack_error),
        .rd_valid(ack_valid),
        .rd_ready(state_reg == ST_ACK),
        .count(ack_count)
    );

endmodule

`resetall
