// SPDX-License-Identifier: BSD-2-Clause
//
// Whose is a received frame, by its destination address: the port's own addresses (MAC filter, source addresses of the GID table), the
// multicast hash, promiscuous mode. One address a cycle, answer in the next.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rx_filter #(
    // Entries of the MAC filter
    parameter MACS = 16,
    // Entries of the GID table
    parameter GIDS = 128
) (
    input  wire         clk,
    input  wire         rst,
    // Settings; mcast_en: QPs are attached to multicast groups
    input  wire         promisc,
    input  wire         allmulti,
    input  wire [63:0]  mcast_hash,
    input  wire         mcast_en,
    // Table updates: 0 MAC filter, 1 GID, 3 clear all; data = bytes 0x20..0x3f of the command's image
    input  wire         upd_valid,
    input  wire [1:0]   upd_table,
    input  wire [7:0]   upd_index,
    /* verilator lint_off UNUSED */
    input  wire [255:0] upd_data,
    /* verilator lint_on UNUSED */
    // Address, first byte in bits 7:0
    input  wire [47:0]  dmac,
    input  wire         load,
    // RoCE frames to it are ours; other frames to it are the netdev's
    output wire         roce_own,
    output wire         eth_accept
);

    reg [47:0] mac_reg [0:MACS-1];
    reg [MACS-1:0] mac_valid_reg = {MACS{1'b0}};
    reg [47:0] gid_reg [0:GIDS-1];
    reg [GIDS-1:0] gid_valid_reg = {GIDS{1'b0}};
    reg own_reg = 1'b0;
    reg accept_reg = 1'b0;

    wire [MACS-1:0] mac_hits;
    wire [GIDS-1:0] gid_hits;
    wire mac_hit = mac_hits != {MACS{1'b0}};
    wire gid_hit = gid_hits != {GIDS{1'b0}};

    genvar i;
    generate
        for (i = 0; i < MACS; i = i + 1) begin : macs
            assign mac_hits[i] = mac_valid_reg[i] && mac_reg[i] == dmac;
        end
        for (i = 0; i < GIDS; i = i + 1) begin : gids
            assign gid_hits[i] = gid_valid_reg[i] && gid_reg[i] == dmac;
        end
    endgenerate

    // Linux ether_crc(): MSB first from all ones, not inverted; the hash is the top six bits.
    function [5:0] hash;
        input [47:0] mac;
        reg [31:0] crc;
        integer n;
        begin
            crc = 32'hffffffff;
            for (n = 0; n < 48; n = n + 1) begin
                crc = {crc[30:0], 1'b0} ^ (crc[31] ^ mac[n] ? 32'h04c11db7 : 32'h0);
            end
            hash = crc[31:26];
        end
    endfunction

    wire multicast = dmac[0];
    wire broadcast = dmac == {48{1'b1}};
    wire ip_group = dmac[23:0] == 24'h5e0001 || dmac[15:0] == 16'h3333;

    wire mac_write = upd_valid && upd_table == 2'd0 && upd_index < MACS[7:0];
    wire gid_write = upd_valid && upd_table == 2'd1 && upd_index < GIDS[7:0];

    assign roce_own = own_reg;
    assign eth_accept = accept_reg;

    always @(posedge clk) begin
        if (load) begin
            own_reg <= mac_hit || gid_hit || (mcast_en && ip_group);
            accept_reg <= promisc || (multicast ? broadcast || allmulti || mcast_hash[hash(dmac)] : mac_hit);
        end
        if (mac_write) begin
            mac_reg[upd_index[$clog2(MACS)-1:0]] <= upd_data[64 +: 48];
            mac_valid_reg[upd_index[$clog2(MACS)-1:0]] <= upd_data[32 +: 32] != 32'd0;
        end
        if (gid_write) begin
            gid_reg[upd_index[$clog2(GIDS)-1:0]] <= upd_data[64 +: 48];
            gid_valid_reg[upd_index[$clog2(GIDS)-1:0]] <= upd_data[32 +: 8] != 8'd0;
        end
        if (rst || (upd_valid && upd_table == 2'd3)) begin
            mac_valid_reg <= {MACS{1'b0}};
            gid_valid_reg <= {GIDS{1'b0}};
        end
    end

endmodule

`resetall
