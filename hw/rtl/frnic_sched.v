// SPDX-License-Identifier: BSD-2-Clause
//
// Which QP's send queue runs next: strict round robin over those that a doorbell or the requester made ready and that are not being served. What there is
// to do, and whether it may be done, the requester finds out. Documentation/microarchitecture.md, 4.5.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_sched #(
    // log2 of the QPs: 7 to 12
    parameter LOG_QPS = 12
) (
    input  wire               clk,
    input  wire               rst,
    // Level: all is forgotten
    input  wire               sweep,
    output wire               sweep_done,
    // An SQ doorbell was accepted: a pulse, never in two cycles running
    input  wire               sqdb_valid,
    input  wire [LOG_QPS-1:0] sqdb_index,
    // The requester: this QP may have something to do
    input  wire               wake_valid,
    output wire               wake_ready,
    input  wire [LOG_QPS-1:0] wake_index,
    // Grant: the QP is busy until done, a pulse, never in two cycles running
    output reg                sched_valid,
    input  wire               sched_ready,
    output reg  [LOG_QPS-1:0] sched_index,
    input  wire               done_valid,
    input  wire [LOG_QPS-1:0] done_index,
    output wire               idle
);

    localparam LOG_WORDS = LOG_QPS - 6;
    localparam WORDS = 1 << LOG_WORDS;

    localparam [1:0] ST_LOOK = 2'd0, ST_CHOOSE = 2'd1, ST_NEXT = 2'd2, ST_GRANT = 2'd3;

    initial begin
        if (LOG_QPS < 7 || LOG_QPS > 12) begin
            $display("frnic_sched: parameter out of range (%m)");
            $finish;
        end
    end

    // ---- State of a QP: eligible is ready and not busy; rung: made ready while it was busy ----
    (* mem2reg *) reg [63:0] eligible_reg [0:WORDS-1];
    reg [WORDS-1:0] any_reg = {WORDS{1'b0}}; // a word holds one, a cycle late
    reg busy_mem [0:(1 << LOG_QPS)-1];
    reg rung_mem [0:(1 << LOG_QPS)-1];
    reg [LOG_QPS:0] sweep_reg = {(LOG_QPS+1){1'b0}};

    reg sweep_seen_reg = 1'b0;

    wire sweeping = !sweep_reg[LOG_QPS];

    assign sweep_done = sweep_seen_reg && !sweeping;

    // One thing a cycle: the end of a grant, a doorbell, a grant, a wake.
    reg db_pending_reg = 1'b0;
    reg [LOG_QPS-1:0] db_index_reg = {LOG_QPS{1'b0}};
    reg [1:0] st_reg = ST_LOOK;
    reg [LOG_QPS-1:0] pick_reg = {LOG_QPS{1'b0}};

    wire take_done = done_valid && !sweeping;
    wire take_db = db_pending_reg && !take_done && !sweeping;
    wire want_grant = st_reg == ST_GRANT && (!sched_valid || sched_ready);
    wire take_grant = want_grant && !take_done && !take_db && !sweeping;
    reg set_reg = 1'b0;
    wire none = any_reg == {WORDS{1'b0}} && !set_reg;
    wire take_wake = wake_valid && !take_done && !take_db && !want_grant && !sweeping;

    wire [LOG_QPS-1:0] at = take_done ? done_index : take_db ? db_index_reg : take_grant ? pick_reg : wake_index;
    wire busy = busy_mem[at];
    wire rung = rung_mem[at];
    // What becomes of the QP at hand
    wire ring = take_db || take_wake;
    wire made = (take_done && busy && rung) || (ring && !busy);
    // Nobody else is eligible, nor on the way to be granted: at once.
    wire direct = made && !take_done && none && st_reg == ST_LOOK && (!sched_valid || sched_ready);
    wire set = made && !direct;
    wire next_busy = take_grant || direct || (busy && !take_done);
    wire next_rung = busy && !take_done && (rung || ring);

    assign wake_ready = take_wake;

    integer w;

    always @(posedge clk) begin
        db_pending_reg <= sqdb_valid || (db_pending_reg && !take_db);
        if (sqdb_valid) begin
            db_index_reg <= sqdb_index;
        end
        if (sweeping) begin
            busy_mem[sweep_reg[LOG_QPS-1:0]] <= 1'b0;
            rung_mem[sweep_reg[LOG_QPS-1:0]] <= 1'b0;
            sweep_reg <= sweep_reg + 1'b1;
        end else if (take_done || ring || take_grant) begin
            busy_mem[at] <= next_busy;
            rung_mem[at] <= next_rung;
        end
        for (w = 0; w < WORDS; w = w + 1) begin
            any_reg[w] <= eligible_reg[w] != 64'd0;
        end
        if (set) begin
            eligible_reg[at[LOG_QPS-1:6]][at[5:0]] <= 1'b1;
        end
        if (take_grant) begin
            eligible_reg[at[LOG_QPS-1:6]][at[5:0]] <= 1'b0;
        end
        if (rst || sweep) begin
            for (w = 0; w < WORDS; w = w + 1) begin
                eligible_reg[w] <= 64'd0;
            end
            any_reg <= {WORDS{1'b0}};
            db_pending_reg <= 1'b0;
        end
        sweep_seen_reg <= sweep && !rst;
        if (rst || (sweep && !sweep_seen_reg)) begin
            sweep_reg <= {(LOG_QPS+1){1'b0}};
        end
    end

    // ---- Pick: the next above the last granted, around. Only a grant takes a bit away, so what was seen is still there ----
    reg [LOG_QPS-1:0] last_reg = {LOG_QPS{1'b0}};
    reg [63:0] word_reg = 64'd0;
    reg [WORDS-1:0] words_reg = {WORDS{1'b0}};
    wire [63:0] above = ~64'd0 << last_reg[5:0] << 1;
    wire [WORDS-1:0] words_above = (~{WORDS{1'b0}} << last_reg[LOG_QPS-1:6]) << 1;

    // The lowest bit, as a number: by halves. The highest one needs no look
    /* verilator lint_off UNUSED */
    function [5:0] lowest(input [63:0] v);
        reg [31:0] a;
        reg [15:0] b;
        reg [7:0] c;
        reg [3:0] d;
        begin
            lowest[5] = v[31:0] == 32'd0;
            a = lowest[5] ? v[63:32] : v[31:0];
            lowest[4] = a[15:0] == 16'd0;
            b = lowest[4] ? a[31:16] : a[15:0];
            lowest[3] = b[7:0] == 8'd0;
            c = lowest[3] ? b[15:8] : b[7:0];
            lowest[2] = c[3:0] == 4'd0;
            d = lowest[2] ? c[7:4] : c[3:0];
            lowest[1] = d[1:0] == 2'd0;
            lowest[0] = lowest[1] ? !d[2] : !d[0];
        end
    endfunction
    /* verilator lint_on UNUSED */

    /* verilator lint_off UNUSED */
    wire [63:0] words64 = {{(64-WORDS){1'b0}}, (words_reg & words_above) != {WORDS{1'b0}} ? words_reg & words_above : words_reg};
    wire [5:0] next_word = lowest(words64);
    /* verilator lint_on UNUSED */
    wire [5:0] next_bit = lowest(word_reg);

    always @(posedge clk) begin
        if (sched_ready) begin
            sched_valid <= 1'b0;
        end
        case (st_reg)
            ST_LOOK: begin
                word_reg <= eligible_reg[last_reg[LOG_QPS-1:6]] & above;
                words_reg <= any_reg;
                if (any_reg != {WORDS{1'b0}}) begin
                    st_reg <= ST_CHOOSE;
                end
            end
            ST_CHOOSE: begin
                pick_reg <= {last_reg[LOG_QPS-1:6], next_bit};
                if (word_reg != 64'd0) begin
                    st_reg <= ST_GRANT;
                end else begin
                    pick_reg[LOG_QPS-1:6] <= next_word[LOG_WORDS-1:0];
                    word_reg <= eligible_reg[next_word[LOG_WORDS-1:0]];
                    st_reg <= ST_NEXT;
                end
            end
            ST_NEXT: begin
                // Empty if its last one was just granted: any_reg is a cycle late.
                pick_reg[5:0] <= next_bit;
                st_reg <= word_reg != 64'd0 ? ST_GRANT : ST_LOOK;
            end
            default: begin // ST_GRANT
                if (take_grant) begin
                    sched_valid <= 1'b1;
                    sched_index <= pick_reg;
                    last_reg <= pick_reg;
                    st_reg <= ST_LOOK;
                end
            end
        endcase
        if (direct) begin
            sched_valid <= 1'b1;
            sched_index <= at;
            last_reg <= at;
        end
        if (rst || sweep) begin
            st_reg <= ST_LOOK;
            sched_valid <= 1'b0;
            last_reg <= {LOG_QPS{1'b0}};
        end
    end

    always @(posedge clk) begin
        set_reg <= set && !rst && !sweep; // any_reg is a cycle late
    end

    assign idle = none && !set && !db_pending_reg && !sqdb_valid && !wake_valid && st_reg == ST_LOOK && !sched_valid &&
        !done_valid && !sweeping;

endmodule

`resetall
