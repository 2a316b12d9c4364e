// SPDX-License-Identifier: BSD-2-Clause
//
// Deadlines of QPs: a scan looks at one in each cycle and reports what has passed. Whether that still counts is judged by who set it.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_req_timer #(
    // log2 of the QPs
    parameter LOG_QPS = 12
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
    // The earliest deadline; while the scan has not seen all since the last change: now
    output wire               timer_valid,
    output wire [63:0]        timer_ns
);

    reg [36:0] mem [0:(1 << LOG_QPS)-1];
    reg clear_reg = 1'b1;
    reg [LOG_QPS-1:0] at_reg = {LOG_QPS{1'b0}};
    reg valid1_reg = 1'b0;
    reg [LOG_QPS-1:0] at1_reg = {LOG_QPS{1'b0}};
    reg [36:0] data_reg = 37'd0;
    reg late_reg = 1'b0;
    reg [LOG_QPS-1:0] late_index_reg = {LOG_QPS{1'b0}};
    // Of the pass under way, of the last one
    reg dirty_reg = 1'b0;
    reg any_reg = 1'b0;
    reg [35:0] min_reg = 36'd0;
    reg clean_reg = 1'b0;
    reg timer_reg = 1'b0;
    reg [35:0] timer_at_reg = 36'd0;

    wire [35:0] now = time_ns[45:10];
    /* verilator lint_off UNUSED */
    wire [35:0] by = now - data_reg[35:0];
    /* verilator lint_on UNUSED */
    wire passed = valid1_reg && data_reg[36] && !by[35];
    wire run = !late_reg && !passed && !clear_reg;
    wire taken = late_valid && late_ready;
    /* verilator lint_off UNUSED */
    wire [35:0] ahead = data_reg[35:0] - min_reg;
    /* verilator lint_on UNUSED */
    wire lower = valid1_reg && data_reg[36] && !passed && (!any_reg || ahead[35]);
    wire [35:0] to_go = timer_at_reg - now;

    // No report in the cycle of a change: that may be the same QP's.
    assign late_valid = late_reg && !set_valid;
    assign late_index = late_index_reg;
    assign timer_valid = timer_reg || !clean_reg;
    assign timer_ns = !clean_reg ? time_ns : {time_ns[63:10] + {{18{to_go[35]}}, to_go}, 10'd0};

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
        valid1_reg <= run;
        if (run || clear_reg) begin
            at_reg <= at_reg + 1'b1;
            if (at_reg == {LOG_QPS{1'b1}}) begin
                clear_reg <= 1'b0;
            end
        end
        if (passed) begin
            late_reg <= 1'b1;
            late_index_reg <= at1_reg;
            // What was read beside it is read again.
            at_reg <= at1_reg + 1'b1;
        end else if (taken) begin
            late_reg <= 1'b0;
        end
        if (lower) begin
            any_reg <= 1'b1;
            min_reg <= data_reg[35:0];
        end
        if (valid1_reg && at1_reg == {LOG_QPS{1'b1}}) begin
            clean_reg <= !dirty_reg && !set_valid;
            timer_reg <= any_reg || lower;
            timer_at_reg <= lower ? data_reg[35:0] : min_reg;
            any_reg <= 1'b0;
            dirty_reg <= 1'b0;
        end
        if (set_valid || passed || late_reg) begin
            dirty_reg <= 1'b1;
            clean_reg <= 1'b0;
        end
        if (rst) begin
            clear_reg <= 1'b1;
            at_reg <= {LOG_QPS{1'b0}};
            valid1_reg <= 1'b0;
            late_reg <= 1'b0;
            clean_reg <= 1'b0;
            any_reg <= 1'b0;
            dirty_reg <= 1'b0;
        end
    end

endmodule

`resetall
