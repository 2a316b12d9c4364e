// SPDX-License-Identifier: BSD-2-Clause
//
// Simple dual-port memory, one clock, in the form that becomes block RAM or UltraRAM. A read in the cycle of a write to the same address
// gives the old or the new word, which one is not defined: whoever cares forwards (see Documentation/microarchitecture.md, 7.4).

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_ram_sdp #(
    // Bits of a word
    parameter WIDTH = 72,
    // log2 of the words
    parameter LOG_DEPTH = 12,
    // Cycles from rd_en to rd_data: 1 array only, 2 with output register (block RAM), 3 (UltraRAM)
    parameter READ_LATENCY = 2,
    // "auto", "block", "ultra" or "distributed" (used in an attribute, which Verilator does not see)
    /* verilator lint_off UNUSEDPARAM */
    parameter STYLE = "auto"
    /* verilator lint_on UNUSEDPARAM */
) (
    input  wire                 clk,
    // Write port
    input  wire                 wr_en,
    input  wire [LOG_DEPTH-1:0] wr_addr,
    input  wire [WIDTH-1:0]     wr_data,
    // Read port: each rd_en gives its word READ_LATENCY cycles later
    input  wire                 rd_en,
    input  wire [LOG_DEPTH-1:0] rd_addr,
    output wire [WIDTH-1:0]     rd_data
);

    initial begin
        if (READ_LATENCY < 1 || READ_LATENCY > 3) begin
            $display("frnic_ram_sdp: READ_LATENCY must be 1 to 3 (%m)");
            $finish;
        end
    end

    (* ram_style = STYLE *)
    reg [WIDTH-1:0] mem [0:(1 << LOG_DEPTH)-1];

    reg [WIDTH-1:0] read_reg = {WIDTH{1'b0}};

    always @(posedge clk) begin
        if (wr_en) begin
            mem[wr_addr] <= wr_data;
        end
        if (rd_en) begin
            read_reg <= mem[rd_addr];
        end
    end

    generate
        if (READ_LATENCY == 1) begin : no_pipe
            assign rd_data = read_reg;
        end else begin : pipe
            reg [WIDTH-1:0] pipe_reg [0:READ_LATENCY-2];
            integer i;

            always @(posedge clk) begin
                pipe_reg[0] <= read_reg;
                for (i = 1; i < READ_LATENCY - 1; i = i + 1) begin
                    pipe_reg[i] <= pipe_reg[i-1];
                end
            end

            assign rd_data = pipe_reg[READ_LATENCY-2];
        end
    endgenerate

endmodule

`resetall
