// SPDX-License-Identifier: BSD-2-Clause
//
// Payload of sent packets: reads its pieces from host memory, takes inline data and, for a packet that cannot be sent, bytes of no meaning, and puts all of
// it in its place for frnic_tx_build. What is asked for has room here, so the read engine is never held up.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_req_pay #(
    // log2 of the beats that have room
    parameter LOG_BEATS = 8,
    // log2 of the pieces under way
    parameter LOG_PIECES = 6
) (
    input  wire         clk,
    input  wire         rst,
    // Pieces in their order. first, last: of the packet; off: lane of the packet's first byte. inline: its beats come with il_*, from lane pc_addr mod 64;
    // bad: nothing is read, the packet is poisoned
    input  wire         pc_valid,
    output wire         pc_ready,
    input  wire [63:0]  pc_addr,
    input  wire [12:0]  pc_len,
    input  wire         pc_first,
    input  wire         pc_last,
    input  wire [5:0]   pc_off,
    input  wire         pc_inline,
    input  wire         pc_bad,
    // Beats of inline pieces, at most 8 ahead
    input  wire         il_valid,
    output wire         il_ready,
    input  wire [511:0] il_data,
    // Level: a whole packet of any number of pieces has room
    output wire         room,
    // To frnic_dma_rd
    output wire         req_valid,
    input  wire         req_ready,
    output wire [63:0]  req_addr,
    output wire [12:0]  req_len,
    input  wire         resp_valid,
    output wire         resp_ready,
    input  wire [511:0] resp_data,
    input  wire         resp_last,
    input  wire         resp_error,
    // Payload as frnic_tx_build wants it
    output wire [511:0] m_axis_tdata,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tuser,
    output wire         idle
);

    localparam BEATS = 1 << LOG_BEATS;
    // 4096 bytes in 32 pieces, each of which may start and end within a line
    localparam [LOG_BEATS:0] MOST = 65 + 32;
    localparam [LOG_PIECES:0] MOST_PIECES = 33;

    initial begin
        if (BEATS < 2 * MOST || (1 << LOG_PIECES) < MOST_PIECES) begin
            $display("frnic_req_pay: parameter out of range (%m)");
            $finish;
        end
    end

    wire dma = !pc_inline && !pc_bad;
    wire q_ready;
    wire [LOG_PIECES:0] pieces;
    reg [LOG_BEATS:0] asked_reg = {(LOG_BEATS+1){1'b0}};
    // Beats of the piece
    /* verilator lint_off UNUSED */
    wire [13:0] span = ({8'd0, pc_addr[5:0]} + {1'b0, pc_len} + 14'd63) >> 6;
    /* verilator lint_on UNUSED */

    assign req_valid = pc_valid && dma && q_ready;
    assign req_addr = pc_addr;
    assign req_len = pc_len;
    assign pc_ready = q_ready && (!dma || req_ready);
    assign room = asked_reg <= BEATS[LOG_BEATS:0] - MOST && pieces <= (1 << LOG_PIECES) - MOST_PIECES;

    wire asked = req_valid && req_ready;

    // ---- Pieces under way ----
    wire h_valid, h_ready, h_first, h_last, h_inline, h_bad;
    wire [5:0] h_lane;
    wire [12:0] h_len;
    wire [5:0] h_off;

    frnic_fifo #(.WIDTH(29), .LOG_DEPTH(LOG_PIECES)) queue (
        .clk(clk), .rst(rst), .wr_data({pc_bad ? 6'd0 : pc_addr[5:0], pc_len, pc_first, pc_last, pc_off, pc_inline, pc_bad}),
        .wr_valid(pc_valid && pc_ready), .wr_ready(q_ready), .rd_data({h_lane, h_len, h_first, h_last, h_off, h_inline, h_bad}),
        .rd_valid(h_valid), .rd_ready(h_ready), .count(pieces)
    );

    // ---- What came from the host, and inline ----
    wire d_valid, d_last, d_error, i_valid;
    wire [511:0] d_data;
    wire [511:0] i_data;
    wire beat_take;
    /* verilator lint_off UNUSED */
    wire d_ready;
    wire [3:0] i_count;
    wire [LOG_BEATS:0] d_count;
    /* verilator lint_on UNUSED */

    assign resp_ready = 1'b1;

    frnic_fifo #(.WIDTH(514), .LOG_DEPTH(LOG_BEATS)) arrived (
        .clk(clk), .rst(rst), .wr_data({resp_last, resp_error, resp_data}), .wr_valid(resp_valid), .wr_ready(d_ready),
        .rd_data({d_last, d_error, d_data}), .rd_valid(d_valid), .rd_ready(beat_take && !h_inline && !h_bad), .count(d_count)
    );

    frnic_fifo #(.WIDTH(512), .LOG_DEPTH(3)) inlined (
        .clk(clk), .rst(rst), .wr_data(il_data), .wr_valid(il_valid), .wr_ready(il_ready), .rd_data(i_data), .rd_valid(i_valid),
        .rd_ready(beat_take && h_inline && !h_bad), .count(i_count)
    );

    // ---- Beats of the head piece ----
    // Bytes of an inline or bad piece that were given so far, from its first line's start
    reg [12:0] at_reg = 13'd0;
    wire [13:0] h_end = {8'd0, h_lane} + {1'b0, h_len};
    wire made_last = {1'b0, at_reg} + 14'd64 >= h_end;
    wire made = h_inline || h_bad;
    wire b_valid = h_valid && (h_bad || (h_inline ? i_valid : d_valid));
    wire b_last = made ? made_last : d_last;
    wire b_error = h_bad || (!h_inline && d_error);
    wire b_ready;
    /* verilator lint_off UNUSED */
    wire a_last;
    /* verilator lint_on UNUSED */

    assign beat_take = b_valid && b_ready;

    frnic_tx_align align (
        .clk(clk), .rst(rst), .pc_valid(h_valid), .pc_ready(h_ready), .pc_lane(h_lane), .pc_len(h_len), .pc_first(h_first), .pc_last(h_last),
        .pc_off(h_off), .resp_valid(b_valid), .resp_ready(b_ready), .resp_data(h_inline ? i_data : d_data), .resp_last(b_last), .resp_error(b_error),
        .m_axis_tdata(m_axis_tdata), .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tlast(a_last), .m_axis_tuser(m_axis_tuser)
    );

    assign idle = !h_valid && !m_axis_tvalid && asked_reg == {(LOG_BEATS+1){1'b0}};

    always @(posedge clk) begin
        if (beat_take && made) begin
            at_reg <= b_last ? 13'd0 : at_reg + 13'd64;
        end
        asked_reg <= asked_reg + (asked ? span[LOG_BEATS:0] : {(LOG_BEATS+1){1'b0}}) -
                     {{LOG_BEATS{1'b0}}, beat_take && !made};
        if (rst) begin
            at_reg <= 13'd0;
            asked_reg <= {(LOG_BEATS+1){1'b0}};
        end
    end

endmodule

`resetall
