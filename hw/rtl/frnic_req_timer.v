// SPDX-License-Identifier: BSD-2-Clause
//
// Deadlines of QPs: a scan looks at one in each cycle, past groups in which none is set, and reports what has passed. Whether that still counts is
// judged by who set it.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_req_timer #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the QPs of a group
    parameter LOG_GROUP = LOG_QPS > 8 ? 6 : 3
) (
    input  wire               clk,
    input  wire               rst,
    // Device time; deadlines are in units of 1024 ns
    input  wire [63:0]        time_ns,
    // A QP's deadline, or none
    input  wire               set_valid,
    input  wire [LOG_QPS-1:0] set_index,
    input  wire               set_armed,
    input  wire [35:0]        set_deadline,
    // A deadline has passed; it ends when this is taken
    output wire               late_valid,
    input  wire               late_ready,
    output wire [LOG_QPS-1:0] late_index,
    // No deadline is before this. A deadline that was taken back or moved keeps it early until it has passed and the scan has been round.
    output wire               timer_valid,
    output wire [63:0]        timer_ns
);

    localparam GROUPS = 1 << (LOG_QPS - LOG_GROUP);

    reg [36:0] mem [0:(1 << LOG_QPS)-1];
    reg clear_reg = 1'b1;
    reg [LOG_QPS-1:0] at_reg = {LOG_QPS{1'b0}};
    reg valid1_reg = 1'b0;
    reg [LOG_QPS-1:0] at1_reg = {LOG_QPS{1'b0}};
    reg [36:0] data_reg = 37'd0;
    reg late_reg = 1'b0;
    reg [LOG_QPS-1:0] late_index_reg = {LOG_QPS{1'b0}};
    // Groups in which a deadline may be set; the group under way has one, or got one
    reg [GROUPS-1:0] used_reg = {GROUPS{1'b0}};
    reg kept_reg = 1'b0;
    // The earliest of the round under way, with those set meanwhile; of all
    reg end_reg = 1'b0;
    reg any_reg = 1'b0;
    reg [35:0] min_reg = 36'd0;
    reg timer_reg = 1'b0;
    reg [35:0] timer_at_reg = 36'd0;

    // Modulo 2^36, as deadlines are
    function earlier;
        input [35:0] a;
        input [35:0] b;
        /* verilator lint_off UNUSED */
        reg [35:0] diff;
        /* verilator lint_on UNUSED */
        begin
            diff = a - b;
            earlier = diff[35];
        end
    endfunction

    wire [35:0] now = time_ns[45:10];
    wire set = set_valid && set_armed;
    wire found = valid1_reg && data_reg[36];
    wire passed = found && !earlier(now, data_reg[35:0]);
    wire run = !late_reg && !passed && !clear_reg;
    wire taken = late_valid && late_ready;
    wire skip = at_reg[LOG_GROUP-1:0] == {LOG_GROUP{1'b0}} && !used_reg[at_reg[LOG_QPS-1:LOG_GROUP]];
    wire [LOG_QPS-1:0] at_next = skip ? {at_reg[LOG_QPS-1:LOG_GROUP] + 1'b1, {LOG_GROUP{1'b0}}} : at_reg + 1'b1;
    wire group_end = valid1_reg && at1_reg[LOG_GROUP-1:0] == {LOG_GROUP{1'b1}};
    // The round's earliest, with what is seen and set in this cycle
    wire [35:0] min1 = found && !passed && (!any_reg || earlier(data_reg[35:0], min_reg)) ? data_reg[35:0] : min_reg;
    wire any1 = any_reg || (found && !passed);
    wire [35:0] min2 = set && (!any1 || earlier(set_deadline, min1)) ? set_deadline : min1;
    wire any2 = any1 || set;
    wire [35:0] to_go = timer_at_reg - now;

    // No report in the cycle of a change: that may be the same QP's.
    assign late_valid = late_reg && !set_valid;
    assign late_index = late_index_reg;
    assign timer_valid = timer_reg || late_reg;
    assign timer_ns = late_reg ? time_ns : {time_ns[63:10] + {{18{to_go[35]}}, to_go}, 10'd0};

    always @(posedge clk) begin
        if (clear_reg) begin
            mem[at_reg] <= 37'd0;
        end else if (set_valid) begin
            mem[set_index] <= {set_armed, set_deadline};
        end else if (taken) begin
            mem[late_index_reg] <= 37'd0;
        end
        data_reg <= mem[at_reg];
        at1_reg <= at_reg;
        valid1_reg <= run && !skip;
        end_reg <= run && at_next == {LOG_QPS{1'b0}};
        if (clear_reg) begin
            at_reg <= at_reg + 1'b1;
            if (at_reg == {LOG_QPS{1'b1}}) begin
                clear_reg <= 1'b0;
            end
        end else if (run) begin
            at_reg <= at_next;
        end
        if (passed) begin
            late_reg <= 1'b1;
            late_index_reg <= at1_reg;
            // What was read beside it is read again.
            at_reg <= at1_reg + 1'b1;
        end else if (taken) begin
            late_reg <= 1'b0;
        end
        // A deadline set behind the scan's back keeps its group, whichever that is.
        kept_reg <= set || (!group_end && (kept_reg || found));
        if (group_end && !kept_reg && !found) begin
            used_reg[at1_reg[LOG_QPS-1:LOG_GROUP]] <= 1'b0;
        end
        if (set) begin
            used_reg[set_index[LOG_QPS-1:LOG_GROUP]] <= 1'b1;
        end
        any_reg <= any2;
        min_reg <= min2;
        if (set && (!timer_reg || earlier(set_deadline, timer_at_reg))) begin
            timer_reg <= 1'b1;
            timer_at_reg <= set_deadline;
        end
        if (end_reg) begin
            timer_reg <= any2;
            timer_at_reg <= min2;
            // The next round may have begun before it could see what is set now.
            any_reg <= set;
            min_reg <= set_deadline;
        end
        if (rst) begin
            clear_reg <= 1'b1;
            at_reg <= {LOG_QPS{1'b0}};
            valid1_reg <= 1'b0;
            late_reg <= 1'b0;
            used_reg <= {GROUPS{1'b0}};
            kept_reg <= 1'b0;
            end_reg <= 1'b0;
            any_reg <= 1'b0;
            timer_reg <= 1'b0;
        end
    end

endmodule

`resetall
