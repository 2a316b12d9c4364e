// SPDX-License-Identifier: BSD-2-Clause
//
// A memory with several users of one read and one write port: the lower number goes first. Who excludes whom on an entry is the users' business.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_req_mem #(
    // Bits of a word
    parameter WIDTH = 64,
    // log2 of the words
    parameter LOG_DEPTH = 12,
    // Users
    parameter USERS = 2,
    // "auto", "block", "ultra" or "distributed"
    parameter STYLE = "auto"
) (
    input  wire                       clk,
    input  wire                       rst,
    // Reads: data three cycles after the request was taken, in one stream; done is one-hot
    input  wire [USERS-1:0]           rd_valid,
    output reg  [USERS-1:0]           rd_ready,
    input  wire [USERS*LOG_DEPTH-1:0] rd_addr,
    output wire [USERS-1:0]           rd_done,
    output wire [WIDTH-1:0]           rd_data,
    // Writes: in memory for reads that are taken from the next cycle on
    input  wire [USERS-1:0]           wr_valid,
    output reg  [USERS-1:0]           wr_ready,
    input  wire [USERS*LOG_DEPTH-1:0] wr_addr,
    input  wire [USERS*WIDTH-1:0]     wr_data
);

    localparam LATENCY = 3;

    reg [LOG_DEPTH-1:0] raddr;
    reg [LOG_DEPTH-1:0] waddr;
    reg [WIDTH-1:0] wdata;
    reg [USERS*LATENCY-1:0] who_reg = {(USERS*LATENCY){1'b0}};
    integer i;

    always @* begin
        raddr = rd_addr[0 +: LOG_DEPTH];
        waddr = wr_addr[0 +: LOG_DEPTH];
        wdata = wr_data[0 +: WIDTH];
        rd_ready = {USERS{1'b0}};
        wr_ready = {USERS{1'b0}};
        for (i = USERS - 1; i >= 0; i = i - 1) begin
            if (rd_valid[i]) begin
                rd_ready = {{(USERS-1){1'b0}}, 1'b1} << i;
                raddr = rd_addr[i*LOG_DEPTH +: LOG_DEPTH];
            end
            if (wr_valid[i]) begin
                wr_ready = {{(USERS-1){1'b0}}, 1'b1} << i;
                waddr = wr_addr[i*LOG_DEPTH +: LOG_DEPTH];
                wdata = wr_data[i*WIDTH +: WIDTH];
            end
        end
    end

    assign rd_done = who_reg[(LATENCY-1)*USERS +: USERS];

    always @(posedge clk) begin
        who_reg <= {who_reg[0 +: (LATENCY-1)*USERS], rd_ready};
        if (rst) begin
            who_reg <= {(USERS*LATENCY){1'b0}};
        end
    end

    frnic_ram_sdp #(
        .WIDTH(WIDTH),
        .LOG_DEPTH(LOG_DEPTH),
        .READ_LATENCY(LATENCY),
        .STYLE(STYLE)
    ) ram (
        .clk(clk), .wr_en(wr_valid != {USERS{1'b0}}), .wr_addr(waddr), .wr_data(wdata), .rd_en(rd_valid != {USERS{1'b0}}), .rd_addr(raddr),
        .rd_data(rd_data)
    );

endmodule

`resetall
