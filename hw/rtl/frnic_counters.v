// SPDX-License-Identifier: BSD-2-Clause
//
// The counters of enum counter, 64 bits each, in one memory: events are gathered in narrow registers that a sweep adds to the memory, one counter a
// cycle. Who counts what is the blocks' business.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_counters #(
    // Counters: enum counter
    parameter COUNTERS = 69,
    // log2 of the memory
    parameter LOG_DEPTH = 7
) (
    input  wire                clk,
    input  wire                rst,
    // One more of each; bits of byte counters are not looked at
    /* verilator lint_off UNUSED */
    input  wire [COUNTERS-1:0] pulse,
    /* verilator lint_on UNUSED */
    // Bytes of TX, RX, ETH_TX, ETH_RX, ROCE_TX, ROCE_RX in this cycle, 14 bits each, TX in the low bits
    input  wire [83:0]         bytes,
    // Side port of frnic_csr: low word first, reading it latches the high word
    input  wire                req,
    /* verilator lint_off UNUSED */
    input  wire [15:0]         addr,
    /* verilator lint_on UNUSED */
    output reg                 done,
    output reg  [31:0]         rdata
);

`include "frnic_hw.vh"

    // A sweep takes less than 128 cycles, with a read in between a few more: 127 x 16383 bytes fit; no stream moves more than 64 bytes a cycle.
    localparam SUM_W = 21;

    reg [COUNTERS*SUM_W-1:0] sum_reg = {(COUNTERS*SUM_W){1'b0}};
    reg [LOG_DEPTH-1:0] index_reg = {LOG_DEPTH{1'b0}};
    reg [LOG_DEPTH-1:0] index2_reg = {LOG_DEPTH{1'b0}};
    reg [SUM_W-1:0] add_reg;
    reg clear_reg = 1'b1; // the first sweep after reset writes zeros
    reg clear2_reg = 1'b1;
    reg valid_reg = 1'b0;
    reg [63:0] mem [0:(1 << LOG_DEPTH)-1];
    reg [63:0] word_reg;
    reg [31:0] high_reg;
    reg ask_reg = 1'b0;
    reg [1:0] wait_reg = 2'd0;

    wire [LOG_DEPTH-1:0] asked = addr[3 +: LOG_DEPTH];
    wire last = {{(32-LOG_DEPTH){1'b0}}, index_reg} == COUNTERS - 1;
    // The sweep stands still while a counter is read, so that memory and gathered events add up to what it is.
    wire reading = ask_reg && !clear_reg;
    wire [LOG_DEPTH-1:0] port = reading ? asked : index_reg;

    wire [63:0] total = word_reg + {{(64-SUM_W){1'b0}}, sum_reg[asked*SUM_W +: SUM_W]};

    function [13:0] amount(input integer n, input [COUNTERS-1:0] p, input [83:0] b);
        case (n)
            {24'd0, `FRNIC_COUNTER_TX_BYTES}: amount = b[13:0];
            {24'd0, `FRNIC_COUNTER_RX_BYTES}: amount = b[27:14];
            {24'd0, `FRNIC_COUNTER_ETH_TX_BYTES}: amount = b[41:28];
            {24'd0, `FRNIC_COUNTER_ETH_RX_BYTES}: amount = b[55:42];
            {24'd0, `FRNIC_COUNTER_ROCE_TX_BYTES}: amount = b[69:56];
            {24'd0, `FRNIC_COUNTER_ROCE_RX_BYTES}: amount = b[83:70];
            default: amount = {13'd0, p[n]};
        endcase
    endfunction

    genvar g;
    generate
        for (g = 0; g < COUNTERS; g = g + 1) begin : gather
            wire [13:0] now = amount(g, pulse, bytes);
            wire taken = !reading && {{(32-LOG_DEPTH){1'b0}}, index_reg} == g;

            always @(posedge clk) begin
                if (taken || now != 14'd0) begin
                    sum_reg[g*SUM_W +: SUM_W] <= (taken ? {SUM_W{1'b0}} : sum_reg[g*SUM_W +: SUM_W]) + {{(SUM_W-14){1'b0}}, now};
                end
                if (rst) begin
                    sum_reg[g*SUM_W +: SUM_W] <= {SUM_W{1'b0}};
                end
            end
        end
    endgenerate

    always @(posedge clk) begin
        // Step 1: read; step 2: add and write. One counter is never in both steps: the sweep is longer than the pipeline.
        word_reg <= mem[port];
        if (valid_reg) begin
            mem[index2_reg] <= clear2_reg ? {{(64-SUM_W){1'b0}}, add_reg} : word_reg + {{(64-SUM_W){1'b0}}, add_reg};
        end
        valid_reg <= !reading;
        add_reg <= sum_reg[index_reg*SUM_W +: SUM_W];
        index2_reg <= index_reg;
        clear2_reg <= clear_reg;
        if (!reading) begin
            index_reg <= last ? {LOG_DEPTH{1'b0}} : index_reg + 1'b1;
            if (last) begin
                clear_reg <= 1'b0;
            end
        end

        // A read waits until the sweep's last write is over, and after reset for the zeros.
        done <= 1'b0;
        if (req) begin
            ask_reg <= 1'b1;
            wait_reg <= 2'd0;
        end else if (reading) begin
            wait_reg <= wait_reg + 1'b1;
        end
        if (ask_reg && wait_reg == 2'd3) begin
            ask_reg <= 1'b0;
            done <= 1'b1;
            rdata <= addr[2] ? high_reg : total[31:0];
            if (!addr[2]) begin
                high_reg <= total[63:32];
            end
        end
        if (rst) begin
            index_reg <= {LOG_DEPTH{1'b0}};
            clear_reg <= 1'b1;
            valid_reg <= 1'b0;
            ask_reg <= 1'b0;
            done <= 1'b0;
        end
    end

endmodule

`resetall
