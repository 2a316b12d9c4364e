// SPDX-License-Identifier: BSD-2-Clause
//
// FIFO between two clocks (R1.11): Gray-coded pointers, two-flop synchronisers, memory in block RAM form, first word falls through.
// The stream form is frnic_axis_async_fifo. Both resets come from one source (frnic_sync_reset of each domain) and overlap.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_async_fifo #(
    // Bits of a word
    parameter WIDTH = 32,
    // log2 of the words
    parameter LOG_DEPTH = 5
) (
    // Write side
    input  wire             s_clk,
    input  wire             s_rst,
    input  wire [WIDTH-1:0] s_data,
    input  wire             s_valid,
    output wire             s_ready,
    // Words that the write side knows to be stored (never too few)
    output wire [LOG_DEPTH:0] s_level,
    // Read side
    input  wire             m_clk,
    input  wire             m_rst,
    output wire [WIDTH-1:0] m_data,
    output wire             m_valid,
    input  wire             m_ready
);

    localparam PTR_W = LOG_DEPTH + 1;

    initial begin
        if (LOG_DEPTH < 2) begin
            $display("frnic_async_fifo: LOG_DEPTH must be at least 2 (%m)");
            $finish;
        end
    end

    reg [WIDTH-1:0] mem [0:(1 << LOG_DEPTH)-1];

    // Pointers have one bit more than an address: full and empty differ in it. The Gray copy is a register, since the other clock
    // samples it at any time and must see at most one bit move.
    reg [PTR_W-1:0] wr_ptr_reg = {PTR_W{1'b0}};
    reg [PTR_W-1:0] wr_gray_reg = {PTR_W{1'b0}};
    reg [PTR_W-1:0] rd_ptr_reg = {PTR_W{1'b0}};
    reg [PTR_W-1:0] rd_gray_reg = {PTR_W{1'b0}};

    (* ASYNC_REG = "TRUE", SHREG_EXTRACT = "NO" *)
    reg [PTR_W-1:0] rd_gray_s1_reg = {PTR_W{1'b0}};
    (* ASYNC_REG = "TRUE", SHREG_EXTRACT = "NO" *)
    reg [PTR_W-1:0] rd_gray_s2_reg = {PTR_W{1'b0}};
    (* ASYNC_REG = "TRUE", SHREG_EXTRACT = "NO" *)
    reg [PTR_W-1:0] wr_gray_s1_reg = {PTR_W{1'b0}};
    (* ASYNC_REG = "TRUE", SHREG_EXTRACT = "NO" *)
    reg [PTR_W-1:0] wr_gray_s2_reg = {PTR_W{1'b0}};

    reg [WIDTH-1:0] m_data_reg = {WIDTH{1'b0}};
    reg m_valid_reg = 1'b0;

    function [PTR_W-1:0] gray2bin;
        input [PTR_W-1:0] gray;
        integer i;
        begin
            gray2bin[PTR_W-1] = gray[PTR_W-1];
            for (i = PTR_W - 2; i >= 0; i = i - 1) begin
                gray2bin[i] = gray2bin[i+1] ^ gray[i];
            end
        end
    endfunction

    wire [PTR_W-1:0] wr_ptr_inc = wr_ptr_reg + 1'b1;
    wire [PTR_W-1:0] rd_ptr_inc = rd_ptr_reg + 1'b1;

    // Full: as many words apart as there are places. In Gray code the upper two bits are inverted, the rest equal.
    wire full = wr_gray_reg == {~rd_gray_s2_reg[PTR_W-1:PTR_W-2], rd_gray_s2_reg[PTR_W-3:0]};
    wire empty = rd_gray_reg == wr_gray_s2_reg;

    // In reset nothing is taken: what came then would be forgotten.
    assign s_ready = !full && !s_rst;
    assign s_level = wr_ptr_reg - gray2bin(rd_gray_s2_reg);
    assign m_data = m_data_reg;
    assign m_valid = m_valid_reg;

    wire write = s_valid && s_ready;
    wire read = !empty && (!m_valid_reg || m_ready);

    always @(posedge s_clk) begin
        if (write) begin
            mem[wr_ptr_reg[LOG_DEPTH-1:0]] <= s_data;
        end
    end

    always @(posedge s_clk) begin
        if (write) begin
            wr_ptr_reg <= wr_ptr_inc;
            wr_gray_reg <= wr_ptr_inc ^ (wr_ptr_inc >> 1);
        end
        rd_gray_s1_reg <= rd_gray_reg;
        rd_gray_s2_reg <= rd_gray_s1_reg;
        if (s_rst) begin
            wr_ptr_reg <= {PTR_W{1'b0}};
            wr_gray_reg <= {PTR_W{1'b0}};
            rd_gray_s1_reg <= {PTR_W{1'b0}};
            rd_gray_s2_reg <= {PTR_W{1'b0}};
        end
    end

    always @(posedge m_clk) begin
        if (read) begin
            m_data_reg <= mem[rd_ptr_reg[LOG_DEPTH-1:0]];
        end
    end

    always @(posedge m_clk) begin
        if (read) begin
            rd_ptr_reg <= rd_ptr_inc;
            rd_gray_reg <= rd_ptr_inc ^ (rd_ptr_inc >> 1);
            m_valid_reg <= 1'b1;
        end else if (m_ready) begin
            m_valid_reg <= 1'b0;
        end
        wr_gray_s1_reg <= wr_gray_reg;
        wr_gray_s2_reg <= wr_gray_s1_reg;
        if (m_rst) begin
            rd_ptr_reg <= {PTR_W{1'b0}};
            rd_gray_reg <= {PTR_W{1'b0}};
            wr_gray_s1_reg <= {PTR_W{1'b0}};
            wr_gray_s2_reg <= {PTR_W{1'b0}};
            m_valid_reg <= 1'b0;
        end
    end


endmodule

`resetall
