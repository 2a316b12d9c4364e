// SPDX-License-Identifier: BSD-2-Clause
//
// Who may send next: answers first, then transport and Ethernet in turns, frame by frame. The gate behind it: while the port is off, frames
// vanish as into an unplugged cable.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_net_tx (
    input  wire            clk,
    input  wire            rst,
    // Frames pass; looked at where a frame starts
    input  wire            tx_enable,
    // Frames: 0 answers of the responder, 1 requests, 2 Ethernet
    input  wire [3*512-1:0] s_axis_tdata,
    input  wire [3*64-1:0] s_axis_tkeep,
    input  wire [2:0]      s_axis_tvalid,
    output wire [2:0]      s_axis_tready,
    input  wire [2:0]      s_axis_tlast,
    // To frnic_mac_tx
    output wire [511:0]    m_axis_tdata,
    output wire [63:0]     m_axis_tkeep,
    output wire            m_axis_tvalid,
    input  wire            m_axis_tready,
    output wire            m_axis_tlast,
    // Counters: pulse, bytes with it
    output wire            cnt_tx,
    output wire [13:0]     cnt_tx_bytes
);

    wire [511:0] b_data;
    wire [63:0] b_keep;
    wire b_valid;
    wire b_ready;
    wire b_last;
    wire [511:0] a_data;
    wire [63:0] a_keep;
    wire a_valid;
    wire a_ready;
    wire a_last;
    /* verilator lint_off UNUSED */
    wire b_user, a_user, b_id, a_id;
    /* verilator lint_on UNUSED */

    frnic_axis_arb #(
        .PORTS(2)
    ) turns (
        .clk(clk), .rst(rst),
        .s_axis_tdata(s_axis_tdata[3*512-1:512]), .s_axis_tkeep(s_axis_tkeep[3*64-1:64]), .s_axis_tvalid(s_axis_tvalid[2:1]),
        .s_axis_tready(s_axis_tready[2:1]), .s_axis_tlast(s_axis_tlast[2:1]), .s_axis_tuser(2'b00),
        .m_axis_tdata(b_data), .m_axis_tkeep(b_keep), .m_axis_tvalid(b_valid), .m_axis_tready(b_ready), .m_axis_tlast(b_last),
        .m_axis_tuser(b_user), .m_axis_tid(b_id)
    );

    frnic_axis_arb #(
        .PORTS(2),
        .ROUND_ROBIN(0)
    ) answers_first (
        .clk(clk), .rst(rst),
        .s_axis_tdata({b_data, s_axis_tdata[511:0]}), .s_axis_tkeep({b_keep, s_axis_tkeep[63:0]}), .s_axis_tvalid({b_valid, s_axis_tvalid[0]}),
        .s_axis_tready({b_ready, s_axis_tready[0]}), .s_axis_tlast({b_last, s_axis_tlast[0]}), .s_axis_tuser(2'b00),
        .m_axis_tdata(a_data), .m_axis_tkeep(a_keep), .m_axis_tvalid(a_valid), .m_axis_tready(a_ready), .m_axis_tlast(a_last),
        .m_axis_tuser(a_user), .m_axis_tid(a_id)
    );

    reg first_reg = 1'b1;
    reg pass_reg = 1'b0;
    // A frame that was offered stays offered, though the gate closes meanwhile.
    reg offered_reg = 1'b0;
    reg [13:0] bytes_reg = 14'd0;
    reg tx_reg = 1'b0;
    reg [13:0] tx_bytes_reg = 14'd0;

    wire pass = first_reg ? tx_enable || offered_reg : pass_reg;
    wire take = a_valid && a_ready;

    function [6:0] bytes_of;
        input [63:0] keep;
        integer n;
        begin
            bytes_of = 7'd0;
            for (n = 0; n < 64; n = n + 1) begin
                if (keep[n]) begin
                    bytes_of = n[6:0] + 7'd1;
                end
            end
        end
    endfunction

    wire [13:0] bytes = (first_reg ? 14'd0 : bytes_reg) + {7'd0, bytes_of(a_keep)};

    assign m_axis_tdata = a_data;
    assign m_axis_tkeep = a_keep;
    assign m_axis_tvalid = a_valid && pass;
    assign m_axis_tlast = a_last;
    assign a_ready = m_axis_tready || !pass;
    assign cnt_tx = tx_reg;
    assign cnt_tx_bytes = tx_bytes_reg;

    always @(posedge clk) begin
        offered_reg <= m_axis_tvalid && !m_axis_tready;
        if (take) begin
            first_reg <= a_last;
            pass_reg <= pass;
            bytes_reg <= bytes;
        end
        tx_reg <= take && a_last && pass;
        tx_bytes_reg <= bytes;
        if (rst) begin
            first_reg <= 1'b1;
            offered_reg <= 1'b0;
            tx_reg <= 1'b0;
        end
    end

endmodule

`resetall
