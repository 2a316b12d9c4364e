// SPDX-License-Identifier: BSD-2-Clause
//
// Who may send next: answers, requests and Ethernet in turns, frame by frame, so that READs answered at line rate leave the others their share.
// Behind it each frame is sent where it belongs: packets of the transport to an address of ours go to frnic_net_rx (loopback), to a multicast group
// that QPs of ours are in both there and to the MAC, all else to the MAC. With MIRROR a copy of every packet of the transport goes to frnic_net_rx for
// the netdev. While the port is off, frames vanish as into an unplugged cable.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_net_tx #(
    // Entries of the MAC filter, of the GID table
    parameter MACS = 16,
    parameter GIDS = 128
) (
    input  wire            clk,
    input  wire            rst,
    // Frames pass to the MAC, packets to ourselves; looked at where a frame starts
    input  wire            tx_enable,
    input  wire            loop_enable,
    input  wire            mirror,
    // QPs are attached to multicast groups
    input  wire            mcast_en,
    // Table updates (frnic_rx_filter)
    input  wire            upd_valid,
    input  wire [1:0]      upd_table,
    input  wire [7:0]      upd_index,
    input  wire [255:0]    upd_data,
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
    // To frnic_net_rx
    output wire [511:0]    l_axis_tdata,
    output wire [63:0]     l_axis_tkeep,
    output wire            l_axis_tvalid,
    input  wire            l_axis_tready,
    output wire            l_axis_tlast,
    output wire [1:0]      l_axis_tuser, // {a copy for the netdev, to ourselves}
    // Counters: pulse, bytes with it; packets to ourselves
    output wire            cnt_tx,
    output wire [13:0]     cnt_tx_bytes,
    output wire            cnt_loop
);

    wire [511:0] a_data;
    wire [63:0] a_keep;
    wire a_valid;
    wire a_ready;
    wire a_last;
    /* verilator lint_off UNUSED */
    wire [1:0] a_id;
    /* verilator lint_on UNUSED */
    // The frame is the netdev's
    wire a_user;

    frnic_axis_arb #(
        .PORTS(3)
    ) turns (
        .clk(clk), .rst(rst),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
        .s_axis_tlast(s_axis_tlast), .s_axis_tuser(3'b100),
        .m_axis_tdata(a_data), .m_axis_tkeep(a_keep), .m_axis_tvalid(a_valid), .m_axis_tready(a_ready), .m_axis_tlast(a_last),
        .m_axis_tuser(a_user), .m_axis_tid(a_id)
    );

    // ---- Where to: known a cycle after the frame's first beat is there, and held to its end ----
    reg known_reg = 1'b0;
    reg eth_reg = 1'b0;
    reg group_reg = 1'b0;
    reg tx_on_reg = 1'b0;
    reg loop_on_reg = 1'b0;
    reg mirror_reg = 1'b0;
    wire own;
    /* verilator lint_off UNUSED */
    wire eth_accept;
    /* verilator lint_on UNUSED */
    wire ours = known_reg && !eth_reg && own;
    wire to_mac = known_reg && tx_on_reg && (!ours || group_reg);
    wire deliver = ours && loop_on_reg;
    wire copy = known_reg && !eth_reg && mirror_reg && loop_on_reg;
    wire to_loop = deliver || copy;

    frnic_rx_filter #(
        .MACS(MACS),
        .GIDS(GIDS)
    ) filter (
        .clk(clk),
        .rst(rst),
        .promisc(1'b0),
        .allmulti(1'b0),
        .mcast_hash(64'd0),
        .mcast_en(mcast_en),
        .upd_valid(upd_valid),
        .upd_table(upd_table),
        .upd_index(upd_index),
        .upd_data(upd_data),
        .dmac(a_data[47:0]),
        .load(a_valid && !known_reg),
        .roce_own(own),
        .eth_accept(eth_accept)
    );

    // Of a beat with two takers: one has it already.
    reg mac_done_reg = 1'b0;
    reg loop_done_reg = 1'b0;
    wire mac_has = !to_mac || mac_done_reg || m_axis_tready;
    wire loop_has = !to_loop || loop_done_reg || l_axis_tready;
    wire take = a_valid && a_ready;

    reg [13:0] bytes_reg = 14'd0;
    reg tx_reg = 1'b0;
    reg loop_reg = 1'b0;
    reg [13:0] tx_bytes_reg = 14'd0;

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

    wire [13:0] bytes = bytes_reg + {7'd0, bytes_of(a_keep)};

    assign m_axis_tdata = a_data;
    assign m_axis_tkeep = a_keep;
    assign m_axis_tvalid = a_valid && to_mac && !mac_done_reg;
    assign m_axis_tlast = a_last;
    assign l_axis_tdata = a_data;
    assign l_axis_tkeep = a_keep;
    assign l_axis_tvalid = a_valid && to_loop && !loop_done_reg;
    assign l_axis_tlast = a_last;
    assign l_axis_tuser = {copy, deliver};
    assign a_ready = known_reg && mac_has && loop_has;
    assign cnt_tx = tx_reg;
    assign cnt_tx_bytes = tx_bytes_reg;
    assign cnt_loop = loop_reg;

    always @(posedge clk) begin
        if (a_valid && !known_reg) begin
            known_reg <= 1'b1;
            eth_reg <= a_user;
            group_reg <= a_data[0];
            tx_on_reg <= tx_enable;
            loop_on_reg <= loop_enable;
            mirror_reg <= mirror;
        end
        mac_done_reg <= a_valid && !take && (mac_done_reg || (m_axis_tvalid && m_axis_tready));
        loop_done_reg <= a_valid && !take && (loop_done_reg || (l_axis_tvalid && l_axis_tready));
        if (take) begin
            known_reg <= !a_last;
            bytes_reg <= a_last ? 14'd0 : bytes;
        end
        tx_reg <= take && a_last && to_mac;
        tx_bytes_reg <= bytes;
        loop_reg <= take && a_last && deliver;
        if (rst) begin
            known_reg <= 1'b0;
            mac_done_reg <= 1'b0;
            loop_done_reg <= 1'b0;
            bytes_reg <= 14'd0;
            tx_reg <= 1'b0;
            loop_reg <= 1'b0;
        end
    end

endmodule

`resetall
