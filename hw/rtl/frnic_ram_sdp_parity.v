// SPDX-License-Identifier: BSD-2-Clause
//
// Context memory: frnic_ram_sdp with an even parity bit for each byte, so that 64 bits of data fill the 72 bits of a block RAM or UltraRAM.
// The parity is checked on each read; what an error means is the table owner's business.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_ram_sdp_parity #(
    // Bits of a word, a multiple of 8
    parameter DATA_W = 64,
    // log2 of the words
    parameter LOG_DEPTH = 12,
    // Cycles from rd_en to rd_data and rd_valid
    parameter READ_LATENCY = 2,
    // "auto", "block", "ultra" or "distributed"
    parameter STYLE = "auto",
    // Parity bits
    parameter PAR_W = DATA_W / 8
) (
    input  wire                 clk,
    input  wire                 rst,
    // Write port; wr_flip inverts stored parity bits (fault injection, R7.3), 0 otherwise
    input  wire                 wr_en,
    input  wire [LOG_DEPTH-1:0] wr_addr,
    input  wire [DATA_W-1:0]    wr_data,
    input  wire [PAR_W-1:0]     wr_flip,
    // Read port
    input  wire                 rd_en,
    input  wire [LOG_DEPTH-1:0] rd_addr,
    output wire                 rd_valid,
    output wire [DATA_W-1:0]    rd_data,
    output wire                 rd_parity_err
);

    initial begin
        if (DATA_W % 8 != 0) begin
            $display("frnic_ram_sdp_parity: DATA_W must be a multiple of 8 (%m)");
            $finish;
        end
    end

    reg [PAR_W-1:0] wr_parity;
    wire [PAR_W-1:0] rd_parity;
    reg [PAR_W-1:0] rd_sum;
    reg [READ_LATENCY-1:0] valid_reg = {READ_LATENCY{1'b0}};

    // One bit a byte
    function [PAR_W-1:0] parity;
        input [PAR_W*8-1:0] word;
        integer b;
        begin
            for (b = 0; b < PAR_W; b = b + 1) begin
                parity[b] = ^word[b*8 +: 8];
            end
        end
    endfunction

    // Nothing is asked of them otherwise: the card has some forty of these memories, and a simulation need not work out the parity of words that
    // nobody reads or writes.
    always @* begin
        wr_parity = {PAR_W{1'bx}};
        if (wr_en) begin
            wr_parity = parity(wr_data) ^ wr_flip;
        end
    end

    always @* begin
        rd_sum = {PAR_W{1'bx}};
        if (rd_valid) begin
            rd_sum = parity(rd_data) ^ rd_parity;
        end
    end

    assign rd_valid = valid_reg[READ_LATENCY-1];
    assign rd_parity_err = rd_valid && rd_sum != {PAR_W{1'b0}};

    frnic_ram_sdp #(
        .WIDTH(PAR_W + DATA_W),
        .LOG_DEPTH(LOG_DEPTH),
        .READ_LATENCY(READ_LATENCY),
        .STYLE(STYLE)
    ) ram (
        .clk(clk),
        .wr_en(wr_en),
        .wr_addr(wr_addr),
        .wr_data({wr_parity, wr_data}),
        .rd_en(rd_en),
        .rd_addr(rd_addr),
        .rd_data({rd_parity, rd_data})
    );

    generate
        if (READ_LATENCY == 1) begin : one
            always @(posedge clk) begin
                valid_reg <= rd_en && !rst;
            end
        end else begin : more
            always @(posedge clk) begin
                valid_reg <= {valid_reg[READ_LATENCY-2:0], rd_en};
                if (rst) begin
                    valid_reg <= {READ_LATENCY{1'b0}};
                end
            end
        end
    endgenerate

endmodule

`resetall
