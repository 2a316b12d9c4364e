// SPDX-License-Identifier: BSD-2-Clause
//
// Small queue in one clock domain, first word falls through. For metadata; streams of frames have frnic_axis_frame_fifo.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_fifo #(
    // Bits of a word
    parameter WIDTH = 32,
    // log2 of the words
    parameter LOG_DEPTH = 4
) (
    input  wire               clk,
    input  wire               rst,
    // In: taken when wr_valid and wr_ready
    input  wire [WIDTH-1:0]   wr_data,
    input  wire               wr_valid,
    output wire               wr_ready,
    // Out: taken when rd_valid and rd_ready
    output wire [WIDTH-1:0]   rd_data,
    output wire               rd_valid,
    input  wire               rd_ready,
    // Words inside
    output wire [LOG_DEPTH:0] count
);

    localparam [LOG_DEPTH:0] DEPTH = 1 << LOG_DEPTH;

    reg [WIDTH-1:0] mem [0:(1 << LOG_DEPTH)-1];
    reg [LOG_DEPTH-1:0] wr_reg = {LOG_DEPTH{1'b0}};
    reg [LOG_DEPTH-1:0] rd_reg = {LOG_DEPTH{1'b0}};
    reg [LOG_DEPTH:0] count_reg = {(LOG_DEPTH+1){1'b0}};

    wire push = wr_valid && wr_ready;
    wire pop = rd_valid && rd_ready;

    assign wr_ready = count_reg != DEPTH;
    assign rd_valid = count_reg != {(LOG_DEPTH+1){1'b0}};
    assign rd_data = mem[rd_reg];
    assign count = count_reg;

    always @(posedge clk) begin
        if (push) begin
            mem[wr_reg] <= wr_data;
            wr_reg <= wr_reg + 1'b1;
        end
        if (pop) begin
            rd_reg <= rd_reg + 1'b1;
        end
        count_reg <= count_reg + {{LOG_DEPTH{1'b0}}, push} - {{LOG_DEPTH{1'b0}}, pop};
        if (rst) begin
            wr_reg <= {LOG_DEPTH{1'b0}};
            rd_reg <= {LOG_DEPTH{1'b0}};
            count_reg <= {(LOG_DEPTH+1){1'b0}};
        end
    end

endmodule

`resetall
