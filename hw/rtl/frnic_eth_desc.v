// SPDX-License-Identifier: BSD-2-Clause
//
// Reads ahead a ring of 16-byte descriptors in host memory: a line of up to four at a time, never past the producer index.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_eth_desc #(
    // log2 of the lines asked for or stored
    parameter LOG_LINES = 3
) (
    input  wire         clk,
    input  wire         rst,
    // The ring; not live: nothing is fetched, what is stored is thrown away, and the index starts at 0
    input  wire         live,
    input  wire [63:0]  base,
    input  wire [4:0]   log_size,
    input  wire [23:0]  pi,
    // Throw away what is stored and read again from index on (pulse)
    input  wire         restart,
    // Index of the descriptor that is offered next; whether there is one, or will be
    output wire [23:0]  index,
    output wire         pending,
    output wire         desc_valid,
    output wire [127:0] desc,
    output wire         desc_error,
    input  wire         desc_ready,
    // No read is under way
    output wire         idle,
    // frnic_dma_rd client; an answer is one beat
    output wire         req_valid,
    input  wire         req_ready,
    output wire [63:0]  req_addr,
    output wire [12:0]  req_len,
    input  wire         resp_valid,
    input  wire [511:0] resp_data,
    input  wire         resp_error
);

    localparam [LOG_LINES:0] LINES = 1 << LOG_LINES;

    // Next to ask for, next to offer.
    reg [23:0] fetch_reg = 24'd0;
    reg [23:0] index_reg = 24'd0;
    // Lines asked for or stored, asked for, to be thrown away when they come.
    reg [LOG_LINES:0] used_reg = {(LOG_LINES+1){1'b0}};
    reg [LOG_LINES:0] asked_reg = {(LOG_LINES+1){1'b0}};
    reg flush_reg = 1'b1;
    reg req_valid_reg = 1'b0;
    reg [63:0] req_addr_reg = 64'd0;
    reg [2:0] req_num_reg = 3'd0;
    reg [1:0] cursor_reg = 2'd0;

    wire [23:0] mask = ~(24'hffffff << log_size);
    wire [23:0] slot = fetch_reg & mask;
    wire [23:0] behind = pi - fetch_reg;
    wire [2:0] line_left = log_size == 5'd0 ? 3'd1 : log_size == 5'd1 ? 3'd2 - {2'd0, slot[0]} : 3'd4 - {1'b0, slot[1:0]};
    wire [2:0] num = behind < {21'd0, line_left} ? behind[2:0] : line_left;
    wire clear = flush_reg || restart || !live;
    wire ask = !clear && behind != 24'd0 && used_reg != LINES && !req_valid_reg;

    wire line_valid;
    wire [511:0] line_data;
    wire line_error;
    wire [2:0] line_num;
    wire [1:0] line_lane;
    wire shape_valid;
    wire [1:0] shape_lane;
    wire [2:0] shape_num;
    /* verilator lint_off UNUSED */
    wire shape_ready;
    wire line_ready;
    wire [LOG_LINES:0] shape_count;
    wire [LOG_LINES:0] line_count;
    /* verilator lint_on UNUSED */

    wire take = desc_valid && desc_ready;
    wire line_end = take && {1'b0, cursor_reg} + 3'd1 == line_num;
    wire line_pop = line_valid && (clear || line_end);
    wire line_push = resp_valid && !clear;
    wire answered = resp_valid && shape_valid;
    wire req_take = req_valid_reg && req_ready;

    frnic_fifo #(
        .WIDTH(5),
        .LOG_DEPTH(LOG_LINES)
    ) shapes (
        .clk(clk), .rst(rst),
        .wr_data({req_num_reg, req_addr_reg[5:4]}), .wr_valid(req_take), .wr_ready(shape_ready),
        .rd_data({shape_num, shape_lane}), .rd_valid(shape_valid), .rd_ready(resp_valid),
        .count(shape_count)
    );

    frnic_fifo #(
        .WIDTH(512 + 1 + 3 + 2),
        .LOG_DEPTH(LOG_LINES)
    ) lines (
        .clk(clk), .rst(rst),
        .wr_data({resp_data, resp_error, shape_num, shape_lane}), .wr_valid(line_push), .wr_ready(line_ready),
        .rd_data({line_data, line_error, line_num, line_lane}), .rd_valid(line_valid), .rd_ready(line_pop),
        .count(line_count)
    );

    wire [1:0] lane = line_lane + cursor_reg;

    // A restart comes a cycle after the bad descriptor was seen; the user takes none in between.
    assign desc_valid = line_valid && !flush_reg && live;
    assign desc = line_data[lane*128 +: 128];
    assign desc_error = line_error;
    assign index = index_reg;
    assign pending = live && index_reg != pi;
    assign idle = asked_reg == {(LOG_LINES+1){1'b0}} && !req_valid_reg;
    assign req_valid = req_valid_reg;
    assign req_addr = req_addr_reg;
    assign req_len = {6'd0, req_num_reg, 4'd0};

    wire [LOG_LINES:0] one = {{LOG_LINES{1'b0}}, 1'b1};
    wire [LOG_LINES:0] none = {(LOG_LINES+1){1'b0}};

    always @(posedge clk) begin
        if (ask) begin
            req_valid_reg <= 1'b1;
            req_addr_reg <= base + {36'd0, slot, 4'd0};
            req_num_reg <= num;
            fetch_reg <= fetch_reg + {21'd0, num};
        end
        if (req_take) begin
            req_valid_reg <= 1'b0;
        end
        asked_reg <= asked_reg + (req_take ? one : none) - (answered ? one : none);
        // A line's place is taken when it is asked for, and free when it has been used up or thrown away.
        used_reg <= used_reg + (ask ? one : none) - (line_pop ? one : none) - (answered && !line_push ? one : none);
        if (take) begin
            index_reg <= index_reg + 24'd1;
            cursor_reg <= line_end ? 2'd0 : cursor_reg + 2'd1;
        end
        if (restart || !live) begin
            flush_reg <= 1'b1;
        end else if (idle && !line_valid) begin
            flush_reg <= 1'b0;
        end
        if (clear) begin
            fetch_reg <= live ? index_reg : 24'd0;
            cursor_reg <= 2'd0;
        end
        if (!live) begin
            index_reg <= 24'd0;
        end
        if (rst) begin
            flush_reg <= 1'b1;
            req_valid_reg <= 1'b0;
            asked_reg <= none;
            used_reg <= none;
            fetch_reg <= 24'd0;
            index_reg <= 24'd0;
        end
    end

endmodule

`resetall
