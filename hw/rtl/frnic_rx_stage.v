// SPDX-License-Identifier: BSD-2-Clause
//
// Between frnic_rx_class and a user of packets: holds a few with what belongs to each (ctx), so that the next is looked up while the user is at this one,
// and a user may take a packet's ctx before the data of those before it have gone.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rx_stage #(
    // Bits of ctx
    parameter CTX_W = 1656,
    // log2 of the beats; a large frame need not fit
    parameter LOG_BEATS = 7,
    // log2 of the packets whose ctx is not taken
    parameter LOG_PACKETS = 2
) (
    input  wire             clk,
    input  wire             rst,
    // Packets; ctx counts with the first beat
    input  wire [511:0]     s_axis_tdata,
    input  wire             s_axis_tvalid,
    output wire             s_axis_tready,
    input  wire             s_axis_tlast,
    input  wire [CTX_W-1:0] s_ctx,
    // One a packet, at once if none is before it
    output wire             ctx_valid,
    input  wire             ctx_ready,
    output wire [CTX_W-1:0] ctx,
    // Their beats
    output wire [511:0]     m_axis_tdata,
    output wire             m_axis_tvalid,
    input  wire             m_axis_tready,
    output wire             m_axis_tlast
);

    reg inside_reg = 1'b0;
    wire beat_room, ctx_room, held;
    wire [CTX_W-1:0] oldest;
    wire take = s_axis_tvalid && s_axis_tready;
    wire begins = take && !inside_reg;

    assign s_axis_tready = beat_room && (inside_reg || ctx_room);
    assign ctx_valid = held || begins;
    assign ctx = held ? oldest : s_ctx;

    always @(posedge clk) begin
        if (take) begin
            inside_reg <= !s_axis_tlast;
        end
        if (rst) begin
            inside_reg <= 1'b0;
        end
    end

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_fifo #(.WIDTH(CTX_W), .LOG_DEPTH(LOG_PACKETS)) packets (
        .clk(clk), .rst(rst), .wr_data(s_ctx), .wr_valid(begins && (held || !ctx_ready)), .wr_ready(ctx_room), .rd_data(oldest), .rd_valid(held),
        .rd_ready(ctx_ready), .count()
    );

    frnic_fifo #(.WIDTH(513), .LOG_DEPTH(LOG_BEATS)) beats (
        .clk(clk), .rst(rst), .wr_data({s_axis_tlast, s_axis_tdata}), .wr_valid(take), .wr_ready(beat_room), .rd_data({m_axis_tlast, m_axis_tdata}),
        .rd_valid(m_axis_tvalid), .rd_ready(m_axis_tready), .count()
    );
    /* verilator lint_on PINCONNECTEMPTY */

endmodule

`resetall
