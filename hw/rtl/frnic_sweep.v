// SPDX-License-Identifier: BSD-2-Clause
//
// Ends the entries of a table in a reset, and only those groups of which something has been written since the one before: a hot reset costs what is in
// use, a cycle for each group that is not. After power-on nothing is known of the memory, so the first sweep passes over nothing (R1.9).

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_sweep #(
    // log2 of the entries, at least 2
    parameter LOG_ENTRIES = 16,
    // log2 of a group's entries; a table has two groups at least
    parameter LOG_GROUP = LOG_ENTRIES > 6 ? 6 : LOG_ENTRIES - 1
) (
    input  wire                   clk,
    input  wire                   rst,
    // Level until done; done is a level as long
    input  wire                   sweep,
    output wire                   done,
    // An entry is written, not while sweep is set
    input  wire                   used_valid,
    /* verilator lint_off UNUSED */
    input  wire [LOG_ENTRIES-1:0] used_index,
    /* verilator lint_on UNUSED */
    // This entry is to be ended now, one a cycle
    output wire                   end_valid,
    output wire [LOG_ENTRIES-1:0] end_index
);

    localparam LOG_GROUPS = LOG_ENTRIES - LOG_GROUP;

    reg used_mem [0:(1 << LOG_GROUPS)-1];
    reg all_reg = 1'b1;
    reg [LOG_GROUPS:0] group_reg = {(LOG_GROUPS+1){1'b0}};
    reg [LOG_GROUP-1:0] entry_reg = {LOG_GROUP{1'b0}};

    wire last = entry_reg == {LOG_GROUP{1'b1}};

    assign done = sweep && group_reg[LOG_GROUPS];
    assign end_valid = sweep && !done && (all_reg || used_mem[group_reg[LOG_GROUPS-1:0]]);
    assign end_index = {group_reg[LOG_GROUPS-1:0], entry_reg};

    always @(posedge clk) begin
        if (end_valid) begin
            // A sweep that is cut off leaves the group at hand as used.
            if (last) begin
                used_mem[group_reg[LOG_GROUPS-1:0]] <= 1'b0;
            end
        end else if (used_valid) begin
            used_mem[used_index[LOG_ENTRIES-1:LOG_GROUP]] <= 1'b1;
        end
    end

    always @(posedge clk) begin
        if (!sweep) begin
            group_reg <= {(LOG_GROUPS+1){1'b0}};
            entry_reg <= {LOG_GROUP{1'b0}};
        end else if (end_valid && !last) begin
            entry_reg <= entry_reg + 1'b1;
        end else if (!done) begin
            entry_reg <= {LOG_GROUP{1'b0}};
            group_reg <= group_reg + 1'b1;
        end
        if (done) begin
            all_reg <= 1'b0;
        end
        if (rst) begin
            all_reg <= 1'b1;
            group_reg <= {(LOG_GROUPS+1){1'b0}};
            entry_reg <= {LOG_GROUP{1'b0}};
        end
    end

endmodule

`resetall
