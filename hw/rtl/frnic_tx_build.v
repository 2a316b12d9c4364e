// SPDX-License-Identifier: BSD-2-Clause
//
// Makes RoCE v2 frames: headers from a descriptor, payload from a stream, pad, and zeros where the iCRC goes (frnic_icrc_insert). As the model's
// roce_start() to roce_finish(). What to send is the transport's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_tx_build #(
    // Bits of a descriptor (TXD_W)
    parameter DESC_BITS = 739
) (
    input  wire                 clk,
    input  wire                 rst,
    // One descriptor a packet
    input  wire [DESC_BITS-1:0] desc,
    input  wire                 desc_valid,
    output wire                 desc_ready,
    // Payload of packets that have some; the first byte is in lane (length of the headers) mod 64; tuser on the last beat: do not send
    input  wire [511:0]         s_axis_tdata,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tuser,
    // Frames; tuser = {bad: on the last beat, an iCRC is wanted}
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    output wire [1:0]           m_axis_tuser
);

    `include "frnic_tx_desc.vh"

    function [15:0] swap16;
        input [15:0] v;
        begin
            swap16 = {v[7:0], v[15:8]};
        end
    endfunction

    function [23:0] swap24;
        input [23:0] v;
        begin
            swap24 = {v[7:0], v[15:8], v[23:16]};
        end
    endfunction

    // ---- stage 1: lengths and the IPv4 checksum ----

    reg [TXD_W-1:0] d1_reg = {TXD_W{1'b0}};
    reg v1_reg = 1'b0;
    reg [15:0] udp_len1_reg = 16'd0;
    reg [19:0] csum1_reg = 20'd0;
    reg v2_reg = 1'b0;

    wire done;
    wire ready2 = !v2_reg || done;
    wire ready1 = !v1_reg || ready2;

    wire [12:0] len = desc[TXD_LEN +: 13];
    wire [1:0] pad = 2'd0 - len[1:0];
    // UDP, BTH, iCRC
    wire [15:0] udp_len = 16'd24 + {11'd0, desc[TXD_EXT_LEN +: 5]} + {3'd0, len} + {14'd0, pad};
    wire [15:0] v4_len = udp_len + 16'd20;
    wire [7:0] hop = desc[TXD_HOP +: 8] == 8'd0 ? 8'd64 : desc[TXD_HOP +: 8];
    wire [15:0] src_hi = swap16(desc[TXD_SGID + 96 +: 16]);
    wire [15:0] src_lo = swap16(desc[TXD_SGID + 112 +: 16]);
    wire [15:0] dst_hi = swap16(desc[TXD_DGID + 96 +: 16]);
    wire [15:0] dst_lo = swap16(desc[TXD_DGID + 112 +: 16]);
    wire [19:0] csum = {4'd0, 8'h45, desc[TXD_TCLASS +: 8]} + {4'd0, v4_len} + 20'h04000 + {4'd0, hop, 8'd17} +
                       {4'd0, src_hi} + {4'd0, src_lo} + {4'd0, dst_hi} + {4'd0, dst_lo};

    assign desc_ready = ready1 && !rst;

    // ---- stage 2: headers ----

    wire d_ipv6 = d1_reg[TXD_IPV6];
    wire d_vlan = d1_reg[TXD_VLAN];
    wire [16:0] fold1 = {1'b0, csum1_reg[15:0]} + {13'd0, csum1_reg[19:16]};
    wire [15:0] hdr_csum = ~(fold1[15:0] + {15'd0, fold1[16]});
    wire [7:0] d_hop = d1_reg[TXD_HOP +: 8] == 8'd0 ? 8'd64 : d1_reg[TXD_HOP +: 8];
    wire [7:0] d_tclass = d1_reg[TXD_TCLASS +: 8];
    wire [19:0] d_flow = d1_reg[TXD_FLOW +: 20];
    wire [1:0] d_pad = 2'd0 - d1_reg[TXD_LEN +: 2];

    wire [159:0] ip4 = {d1_reg[TXD_DGID + 96 +: 32], d1_reg[TXD_SGID + 96 +: 32], swap16(hdr_csum), 8'd17, d_hop, 16'h0040, 16'h0000,
                        swap16(udp_len1_reg + 16'd20), d_tclass, 8'h45};
    wire [319:0] ip6 = {d1_reg[TXD_DGID +: 128], d1_reg[TXD_SGID +: 128], d_hop, 8'd17, swap16(udp_len1_reg), d_flow[7:0], d_flow[15:8],
                        d_tclass[3:0], d_flow[19:16], 4'd6, d_tclass[7:4]};
    wire [63:0] udp = {16'h0000, swap16(udp_len1_reg), swap16(16'd4791), swap16(d1_reg[TXD_SPORT +: 16])};
    // MigReq 1: migrated, the state of a port without path migration.
    wire [95:0] bth = {swap24(d1_reg[TXD_PSN +: 24]), d1_reg[TXD_ACKREQ], 7'd0, swap24(d1_reg[TXD_DQPN +: 24]), 1'b0, d1_reg[TXD_BECN], 6'd0,
                       swap16(d1_reg[TXD_PKEY +: 16]), d1_reg[TXD_SOLICITED], 1'b1, d_pad, 4'd0, d1_reg[TXD_OPCODE +: 8]};

    wire [28*8-1:0] ext_mask = ~({224{1'b1}} << {d1_reg[TXD_EXT_LEN +: 5], 3'b000});
    wire [48*8-1:0] l4 = {d1_reg[TXD_EXT +: 224] & ext_mask, bth, udp};
    wire [88*8-1:0] l3 = d_ipv6 ? {l4, ip6} : {160'd0, l4, ip4};
    wire [15:0] ethertype = d_ipv6 ? 16'hdd86 : 16'h0008;
    wire [18*8-1:0] eth = d_vlan ? {ethertype, swap16(d1_reg[TXD_TCI +: 16]), 16'h0081, d1_reg[TXD_SMAC +: 48], d1_reg[TXD_DMAC +: 48]}
                                 : {32'd0, ethertype, d1_reg[TXD_SMAC +: 48], d1_reg[TXD_DMAC +: 48]};

    reg [1023:0] hdr_reg = 1024'd0;
    reg [6:0] hdr_len_reg = 7'd0;
    // End of the payload, and of the frame
    reg [12:0] pay_end_reg = 13'd0;
    reg [12:0] end_reg = 13'd0;
    reg [12:0] base_reg = 13'd0;
    wire [6:0] hdr_len = txd_header_len(d_ipv6, d_vlan, d1_reg[TXD_EXT_LEN +: 5]);
    wire [12:0] pay_end = {6'd0, hdr_len} + d1_reg[TXD_LEN +: 13];

    always @(posedge clk) begin
        if (ready1) begin
            v1_reg <= desc_valid;
        end
        if (ready1 && desc_valid) begin
            d1_reg <= desc;
            udp_len1_reg <= udp_len;
            csum1_reg <= csum;
        end
        if (ready2) begin
            v2_reg <= v1_reg;
        end
        if (ready2 && v1_reg) begin
            hdr_reg <= d_vlan ? {176'd0, l3, eth} : {208'd0, l3, eth[14*8-1:0]};
            hdr_len_reg <= hdr_len;
            pay_end_reg <= pay_end;
            end_reg <= pay_end + {11'd0, d_pad} + 13'd4;
            base_reg <= 13'd0;
        end else if (m_axis_tvalid && m_axis_tready) begin
            base_reg <= base_reg + 13'd64;
        end
        if (rst) begin
            v1_reg <= 1'b0;
            v2_reg <= 1'b0;
        end
    end

    // ---- beats ----

    wire [12:0] next = base_reg + 13'd64;
    wire has_payload = pay_end_reg > {6'd0, hdr_len_reg} && next > {6'd0, hdr_len_reg} && base_reg < pay_end_reg;
    wire last = end_reg <= next;
    // A poisoned last payload beat may be followed by one with the iCRC alone.
    reg poison_reg = 1'b0;
    wire poison = has_payload ? s_axis_tuser : poison_reg;

    reg [511:0] beat;
    reg [63:0] keep;
    reg [12:0] at;
    integer i;

    always @* begin
        i = 0; // in all branches: else Yosys keeps a latch for it
        // Nothing is asked of a beat that is not offered; a simulation need not put it together.
        keep = {64{1'bx}};
        beat = {512{1'bx}};
        at = 13'd0;
        if (v2_reg) begin
            for (i = 0; i < 64; i = i + 1) begin
                at = base_reg + {7'd0, i[5:0]};
                keep[i] = at < end_reg;
                beat[i*8 +: 8] = at < {6'd0, hdr_len_reg} ? (base_reg == 13'd0 ? hdr_reg[i*8 +: 8] : hdr_reg[512 + i*8 +: 8])
                                 : at < pay_end_reg ? s_axis_tdata[i*8 +: 8] : 8'h00;
            end
        end
    end

    assign m_axis_tdata = beat;
    assign m_axis_tkeep = keep;
    assign m_axis_tvalid = v2_reg && (!has_payload || s_axis_tvalid);
    assign m_axis_tlast = last;
    assign m_axis_tuser = {poison && last, 1'b1};
    assign s_axis_tready = v2_reg && has_payload && m_axis_tready;
    assign done = m_axis_tvalid && m_axis_tready && last;

    always @(posedge clk) begin
        if (m_axis_tvalid && m_axis_tready) begin
            poison_reg <= poison && !last;
        end
        if (rst) begin
            poison_reg <= 1'b0;
        end
    end

endmodule

`resetall
