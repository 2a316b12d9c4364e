// SPDX-License-Identifier: BSD-2-Clause
//
// Puts the pieces of a packet's payload, as frnic_dma_rd answers with them, end to end and behind a header of any length: the first byte goes to
// lane (length of the headers) mod 64. A beat a cycle; a packet whose end spills over costs one more.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_tx_align (
    input  wire         clk,
    input  wire         rst,
    // Pieces in the order of the reads: first lane, bytes, first and last of the packet; off, with the first: where the payload goes
    input  wire         pc_valid,
    output wire         pc_ready,
    input  wire [5:0]   pc_lane,
    input  wire [12:0]  pc_len,
    input  wire         pc_first,
    input  wire         pc_last,
    input  wire [5:0]   pc_off,
    // Answers of frnic_dma_rd: one burst of beats a piece
    input  wire         resp_valid,
    output wire         resp_ready,
    input  wire [511:0] resp_data,
    input  wire         resp_last,
    input  wire         resp_error,
    // Payload for frnic_tx_build; tuser on the last beat of a packet: a read failed
    output wire [511:0] m_axis_tdata,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser
);

    reg [511:0] acc_reg = 512'd0;
    reg [5:0] fill_reg = 6'd0;
    reg inside_reg = 1'b0;
    reg [5:0] lane_reg = 6'd0;
    reg [12:0] left_reg = 13'd0;
    reg failed_reg = 1'b0;
    // What is in acc is the packet's last beat.
    reg flush_reg = 1'b0;
    reg out_valid_reg = 1'b0;
    reg out_last_reg = 1'b0;
    reg out_user_reg = 1'b0;
    reg [511:0] out_reg = 512'd0;

    wire out_free = !out_valid_reg || m_axis_tready;
    wire take = pc_valid && resp_valid && out_free && !flush_reg;

    wire [5:0] lane = inside_reg ? lane_reg : pc_lane;
    wire [12:0] left = inside_reg ? left_reg : pc_len;
    wire [5:0] fill = !inside_reg && pc_first ? pc_off : fill_reg;
    wire [6:0] room = 7'd64 - {1'b0, lane};
    wire [6:0] n = left < {6'd0, room} ? left[6:0] : room;
    wire [7:0] reach = {2'd0, fill} + {1'b0, n};
    wire [5:0] rot = lane - fill;
    wire finish = take && resp_last && pc_last;
    wire failed = (!inside_reg && pc_first ? 1'b0 : failed_reg) || (resp_last && resp_error);
    wire full = reach >= 8'd64;

    reg [511:0] low;
    reg [511:0] turned;
    /* verilator lint_off UNUSED */
    reg [511:0] rest;
    /* verilator lint_on UNUSED */
    integer i;

    // Nothing is asked of them while no beat is taken; a simulation need not turn it.
    always @* begin
        i = 0; // in all branches: else Yosys keeps a latch for it
        low = {512{1'bx}};
        turned = {512{1'bx}};
        rest = {512{1'bx}};
        if (take) begin
            {rest, turned} = {resp_data, resp_data} >> {rot, 3'b000};
            for (i = 0; i < 64; i = i + 1) begin
                low[i*8 +: 8] = i[5:0] < fill ? acc_reg[i*8 +: 8] : turned[i*8 +: 8];
            end
        end
    end

    assign resp_ready = pc_valid && out_free && !flush_reg;
    assign pc_ready = take && resp_last;
    assign m_axis_tdata = out_reg;
    assign m_axis_tvalid = out_valid_reg;
    assign m_axis_tlast = out_last_reg;
    assign m_axis_tuser = out_user_reg;

    always @(posedge clk) begin
        if (out_free) begin
            out_valid_reg <= flush_reg || (take && (full || finish));
            if (flush_reg || take) begin
                out_reg <= flush_reg ? acc_reg : low;
            end
            out_last_reg <= flush_reg || (finish && reach <= 8'd64);
            out_user_reg <= flush_reg ? failed_reg : failed && finish && reach <= 8'd64;
            flush_reg <= finish && reach > 8'd64;
        end
        if (take) begin
            inside_reg <= !resp_last;
            lane_reg <= 6'd0;
            left_reg <= left - {6'd0, n};
            failed_reg <= failed;
            acc_reg <= full ? turned : low;
            fill_reg <= reach[5:0];
        end
        if (rst) begin
            inside_reg <= 1'b0;
            flush_reg <= 1'b0;
            out_valid_reg <= 1'b0;
        end
    end

endmodule

`resetall
