// SPDX-License-Identifier: BSD-2-Clause
//
// Takes received frames apart: is it RoCE v2 (UDP 4791), what do its headers say, are they well-formed. All that needs no context, with the
// verdicts of the model's roce_is_roce() and roce_parse(). RoCE frames leave without Ethernet padding. The iCRC is frnic_icrc_check's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rx_parse #(
    // Bits of the metadata record (META_W)
    parameter META_BITS = 632
) (
    input  wire                 clk,
    input  wire                 rst,
    // Longest frame in bytes
    input  wire [15:0]          maxframe,
    // Stream in; tuser on the last beat: the MAC saw an error
    input  wire [511:0]         s_axis_tdata,
    input  wire [63:0]          s_axis_tkeep,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire                 s_axis_tuser,
    // A cycle before a frame's first beat leaves: its destination address, with a pulse
    output wire [47:0]          early_dmac,
    output wire                 early_load,
    // Stream out
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    output wire                 m_axis_tfirst,
    // About the frame, with each of its beats
    output wire                 m_roce,
    output wire [META_BITS-1:0] m_meta,
    // About the frame, on its last beat: runt, oversize or error of the MAC; malformed whatever the iCRC; malformed if the iCRC is good
    output wire                 m_bad,
    output wire                 m_malformed_pre,
    output wire                 m_malformed_post,
    // Length of the frame as it came, on the last beat
    output wire [15:0]          m_len
);

    `include "frnic_rx_meta.vh"

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

    function [15:0] be16;
        input [15:0] lanes;
        begin
            be16 = {lanes[7:0], lanes[15:8]};
        end
    endfunction

    // ---- stages A and B: window of the first two beats ----

    reg in_first_reg = 1'b1;
    reg a_valid_reg = 1'b0;
    reg [511:0] a_data_reg = 512'd0;
    reg a_last_reg = 1'b0;
    reg a_bad_reg = 1'b0;
    reg a_first_reg = 1'b0;
    reg [6:0] a_bytes_reg = 7'd0;

    reg b_valid_reg = 1'b0;
    reg [511:0] b_data_reg = 512'd0;
    reg b_last_reg = 1'b0;
    reg b_bad_reg = 1'b0;
    reg b_first_reg = 1'b0;
    reg [6:0] b_bytes_reg = 7'd0;
    // Bytes of the frame before B, and of beats swallowed behind it
    reg [15:0] b_base_reg = 16'd0;
    reg [15:0] swallowed_reg = 16'd0;
    reg swallow_reg = 1'b0;
    // Of the frame in B, from its first beat on
    reg b_roce_reg = 1'b0;
    reg [16:0] b_cut_reg = 17'd0;

    wire [1023:0] win = {a_data_reg, b_data_reg};
    wire [7:0] wlen = {1'b0, b_bytes_reg} + (b_last_reg ? 8'd0 : {1'b0, a_bytes_reg});

    wire vlan = be16(win[12*8 +: 16]) == 16'h8100;
    wire [15:0] ethertype = vlan ? be16(win[16*8 +: 16]) : be16(win[12*8 +: 16]);
    wire [7:0] l3_off = vlan ? 8'd18 : 8'd14;
    wire [40*8-1:0] ip = vlan ? win[18*8 +: 40*8] : win[14*8 +: 40*8];
    wire ipv4 = ethertype == 16'h0800 && wlen >= l3_off + 8'd20 && ip[7:4] == 4'd4;
    wire ipv6 = ethertype == 16'h86dd && wlen >= l3_off + 8'd40 && ip[7:4] == 4'd6;
    wire [3:0] ihl = ip[3:0];
    wire [7:0] l3_len = ipv6 ? 8'd40 : {2'd0, ihl, 2'd0};
    wire [15:0] ip_len = ipv6 ? be16(ip[4*8 +: 16]) : be16(ip[2*8 +: 16]);
    wire [16:0] total = {1'b0, ip_len} + (ipv6 ? 17'd40 : 17'd0);

    // UDP destination port behind a header of any length: a 16-bit word on an even lane.
    /* verilator lint_off UNUSED */
    wire [7:0] dport_at = l3_off + l3_len + 8'd2;
    /* verilator lint_on UNUSED */
    wire [15:0] dport_sel [0:63];
    genvar k;
    generate
        for (k = 0; k < 64; k = k + 1) begin : words
            assign dport_sel[k] = win[k*16 +: 16];
        end
    endgenerate
    wire [15:0] dport = be16(dport_sel[dport_at[6:1]]);

    wire udp4 = ipv4 && ihl >= 4'd5 && ip[9*8 +: 8] == 8'd17 && (be16(ip[6*8 +: 16]) & 16'h3fff) == 16'd0;
    wire udp6 = ipv6 && ip[6*8 +: 8] == 8'd17;
    wire roce_now = (udp4 || udp6) && wlen >= l3_off + l3_len + 8'd8 && dport == 16'd4791;
    wire [16:0] cut_now = {9'd0, l3_off} + total;

    wire b_roce = swallow_reg || (b_first_reg ? roce_now : b_roce_reg);
    wire [16:0] b_cut = b_first_reg ? cut_now : b_cut_reg;
    // The IP packet ends within this beat.
    wire [16:0] b_left = b_cut - {1'b0, b_base_reg};
    wire cut_here = b_roce && b_left <= 17'd64;
    wire b_second_here = a_valid_reg && !a_first_reg;

    wire b_complete = b_last_reg ? 1'b1 : cut_here ? b_second_here && a_last_reg : (!b_first_reg || b_second_here);
    // Padding behind the cut in beats of its own.
    wire swallow = b_valid_reg && !b_last_reg && cut_here && b_second_here && !a_last_reg;
    wire c_ready;
    wire b_go = b_valid_reg && b_complete && c_ready;
    wire a_eaten = b_go && cut_here && !b_last_reg;
    wire a_to_b = a_valid_reg && !a_eaten && !swallow && (!b_valid_reg || b_go);
    wire a_free = !a_valid_reg || a_to_b || a_eaten || swallow;

    wire out_last = b_last_reg || cut_here;
    wire [15:0] flen = b_last_reg ? b_base_reg + {9'd0, b_bytes_reg} : b_base_reg + 16'd64 + swallowed_reg + {9'd0, a_bytes_reg};
    wire [6:0] b_keep_bytes = cut_here && b_left < {10'd0, b_bytes_reg} ? b_left[6:0] : b_bytes_reg;

    assign s_axis_tready = a_free && !rst;

    always @(posedge clk) begin
        if (s_axis_tvalid && s_axis_tready) begin
            in_first_reg <= s_axis_tlast;
        end
        if (a_free) begin
            a_valid_reg <= s_axis_tvalid;
            a_data_reg <= s_axis_tdata;
            a_last_reg <= s_axis_tlast;
            a_bad_reg <= s_axis_tuser;
            a_first_reg <= in_first_reg;
            a_bytes_reg <= bytes_of(s_axis_tkeep);
        end
        if (b_go) begin
            b_valid_reg <= 1'b0;
            b_base_reg <= b_base_reg + 16'd64;
            b_roce_reg <= b_roce;
            b_cut_reg <= b_cut;
        end
        if (swallow) begin
            swallow_reg <= 1'b1;
            swallowed_reg <= swallowed_reg + 16'd64;
        end
        if (a_to_b) begin
            b_valid_reg <= 1'b1;
            b_data_reg <= a_data_reg;
            b_last_reg <= a_last_reg;
            b_bad_reg <= a_bad_reg;
            b_first_reg <= a_first_reg;
            b_bytes_reg <= a_bytes_reg;
            swallow_reg <= 1'b0;
            swallowed_reg <= 16'd0;
            if (a_first_reg) begin
                b_base_reg <= 16'd0;
            end
        end
        if (rst) begin
            in_first_reg <= 1'b1;
            a_valid_reg <= 1'b0;
            b_valid_reg <= 1'b0;
        end
    end

    // ---- stage C: fields ----

    reg c_valid_reg = 1'b0;
    reg [511:0] c_data_reg = 512'd0;
    reg [63:0] c_keep_reg = 64'd0;
    reg c_last_reg = 1'b0;
    reg c_first_reg = 1'b0;
    reg c_bad_reg = 1'b0;
    reg [15:0] c_flen_reg = 16'd0;
    reg c_short_reg = 1'b0;
    reg c_roce_reg = 1'b0;
    reg c_ipv6_reg = 1'b0;
    reg c_vlan_reg = 1'b0;
    reg [15:0] c_tci_reg = 16'd0;
    reg [40*8-1:0] c_ip_reg = 320'd0;
    reg [16:0] c_total_reg = 17'd0;
    /* verilator lint_off UNUSED */
    reg [8*8-1:0] c_udp_reg = 64'd0;
    reg [12*8-1:0] c_bth_reg = 96'd0;
    /* verilator lint_on UNUSED */
    reg [28*8-1:0] c_ext_reg = 224'd0;

    // Where UDP starts if there are no IPv4 options; packets with options are malformed anyway.
    wire [48*8-1:0] l4 = ipv6 ? (vlan ? win[58*8 +: 48*8] : win[54*8 +: 48*8]) : (vlan ? win[38*8 +: 48*8] : win[34*8 +: 48*8]);

    wire d_ready;
    assign c_ready = !c_valid_reg || d_ready;
    assign early_dmac = c_data_reg[47:0];
    assign early_load = c_valid_reg && d_ready && c_first_reg;

    integer i;

    always @(posedge clk) begin
        if (c_ready) begin
            c_valid_reg <= b_go;
            c_data_reg <= b_data_reg;
            for (i = 0; i < 64; i = i + 1) begin
                c_keep_reg[i] <= i[6:0] < b_keep_bytes;
            end
            c_last_reg <= out_last;
            c_first_reg <= b_first_reg;
            c_bad_reg <= b_last_reg ? b_bad_reg : a_bad_reg;
            c_flen_reg <= flen;
            c_short_reg <= b_cut > {1'b0, flen};
            if (b_first_reg) begin
                c_roce_reg <= b_roce;
                c_ipv6_reg <= ipv6;
                c_vlan_reg <= vlan;
                c_tci_reg <= vlan ? be16(win[14*8 +: 16]) : 16'd0;
                c_ip_reg <= ip;
                c_total_reg <= total;
                c_udp_reg <= l4[0 +: 64];
                c_bth_reg <= l4[64 +: 96];
                c_ext_reg <= l4[160 +: 224];
            end
        end
        if (rst) begin
            c_valid_reg <= 1'b0;
        end
    end

    // ---- stage D: checks ----

    reg d_valid_reg = 1'b0;
    reg [511:0] d_data_reg = 512'd0;
    reg [63:0] d_keep_reg = 64'd0;
    reg d_last_reg = 1'b0;
    reg d_first_reg = 1'b0;
    reg d_roce_reg = 1'b0;
    reg d_bad_reg = 1'b0;
    reg d_pre_reg = 1'b0;
    reg d_post_reg = 1'b0;
    reg [15:0] d_len_reg = 16'd0;
    reg [META_W-1:0] d_meta_reg = {META_W{1'b0}};

    reg [19:0] csum;
    wire [15:0] flags = roce_op_flags(c_bth_reg[7:0]);
    wire [4:0] ext_bytes = roce_ext_bytes(flags);
    wire [1:0] pad = c_bth_reg[13:12];
    wire [16:0] l3_bytes = c_ipv6_reg ? 17'd40 : 17'd20;
    // Bytes behind the BTH and before the iCRC; negative if there are not even those two.
    wire [17:0] rest = {1'b0, c_total_reg} - {1'b0, l3_bytes} - 18'd24;
    wire [17:0] plen = rest - {13'd0, ext_bytes} - {16'd0, pad};

    always @* begin
        csum = 20'd0;
        for (i = 0; i < 10; i = i + 1) begin
            csum = csum + {4'd0, be16(c_ip_reg[i*16 +: 16])};
        end
    end

    // A one's complement sum of ones, with the carries in any number of rounds, is the mark of a good header.
    wire [16:0] csum_fold = {1'b0, csum[15:0]} + {13'd0, csum[19:16]};
    wire csum_ok = csum_fold[15:0] + {15'd0, csum_fold[16]} == 16'hffff;
    wire pre4 = c_ip_reg[7:0] != 8'h45 || (be16(c_ip_reg[6*8 +: 16]) & 16'hbfff) != 16'd0 || !csum_ok;
    wire pre = (!c_ipv6_reg && pre4) || rest[17] || {1'b0, be16(c_udp_reg[32 +: 16])} != c_total_reg - l3_bytes;
    wire post = c_bth_reg[11:8] != 4'd0 || !flags[F_VALID] || plen[17] || plen > 18'd4096 ||
                (!flags[F_PAYLOAD] && (plen != 18'd0 || pad != 2'd0)) || pad != (2'd0 - plen[1:0]);

    wire [95:0] v4_prefix = {16'hffff, 80'd0};

    assign d_ready = !d_valid_reg || m_axis_tready;

    always @(posedge clk) begin
        if (d_ready) begin
            d_valid_reg <= c_valid_reg;
            d_data_reg <= c_data_reg;
            d_keep_reg <= c_keep_reg;
            d_last_reg <= c_last_reg;
            d_first_reg <= c_first_reg;
            d_roce_reg <= c_roce_reg;
            d_bad_reg <= c_bad_reg || c_flen_reg < 16'd14 || c_flen_reg > maxframe;
            d_len_reg <= c_flen_reg;
            d_pre_reg <= pre || c_short_reg;
            d_post_reg <= post;
            d_meta_reg[META_LEN +: 13] <= plen[12:0];
            d_meta_reg[META_HDR +: 7] <= (c_vlan_reg ? 7'd18 : 7'd14) + l3_bytes[6:0] + 7'd20 + {2'd0, ext_bytes};
            d_meta_reg[META_FLAGS +: 16] <= flags;
            d_meta_reg[META_OPCODE +: 8] <= c_bth_reg[7:0];
            d_meta_reg[META_PSN +: 24] <= {c_bth_reg[72 +: 8], c_bth_reg[80 +: 8], c_bth_reg[88 +: 8]};
            d_meta_reg[META_DQPN +: 24] <= {c_bth_reg[40 +: 8], c_bth_reg[48 +: 8], c_bth_reg[56 +: 8]};
            d_meta_reg[META_PKEY +: 16] <= be16(c_bth_reg[16 +: 16]);
            d_meta_reg[META_SOLICITED] <= c_bth_reg[15];
            d_meta_reg[META_ACKREQ] <= c_bth_reg[71];
            d_meta_reg[META_IPV6] <= c_ipv6_reg;
            d_meta_reg[META_VLAN] <= c_vlan_reg;
            d_meta_reg[META_TCI +: 16] <= c_tci_reg;
            d_meta_reg[META_TCLASS +: 8] <= c_ipv6_reg ? {c_ip_reg[3:0], c_ip_reg[15:12]} : c_ip_reg[15:8];
            d_meta_reg[META_SPORT +: 16] <= be16(c_udp_reg[0 +: 16]);
            d_meta_reg[META_SGID +: 128] <= c_ipv6_reg ? c_ip_reg[8*8 +: 128] : {c_ip_reg[12*8 +: 32], v4_prefix};
            d_meta_reg[META_DGID +: 128] <= c_ipv6_reg ? c_ip_reg[24*8 +: 128] : {c_ip_reg[16*8 +: 32], v4_prefix};
            d_meta_reg[META_EXT +: 224] <= c_ext_reg;
        end
        if (rst) begin
            d_valid_reg <= 1'b0;
        end
    end

    assign m_axis_tdata = d_data_reg;
    assign m_axis_tkeep = d_keep_reg;
    assign m_axis_tvalid = d_valid_reg;
    assign m_axis_tlast = d_last_reg;
    assign m_axis_tfirst = d_first_reg;
    assign m_roce = d_roce_reg;
    assign m_meta = d_meta_reg;
    assign m_bad = d_bad_reg;
    assign m_malformed_pre = d_pre_reg;
    assign m_malformed_post = d_post_reg;
    assign m_len = d_len_reg;

endmodule

`resetall
