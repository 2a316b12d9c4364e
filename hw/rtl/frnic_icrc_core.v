// SPDX-License-Identifier: BSD-2-Clause
//
// Invariant CRC of RoCE v2 frames (IBTA annex A17.3.2) at a beat a cycle, any length, frames back to back: the register's state behind a
// frame, 6 cycles after its last beat. How it works: Documentation/microarchitecture.md, 8. Appending and checking are frnic_icrc_insert and
// frnic_icrc_check. Frames that are not RoCE v2 give a number without meaning.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_icrc_core #(
    // Zero bytes at a frame's end that do not count (4 where the iCRC's place is kept free)
    parameter TAIL = 0
) (
    input  wire         clk,
    input  wire         rst,
    // The pipeline moves
    input  wire         ce,
    // Frame from its Ethernet header on
    input  wire [511:0] s_data,
    input  wire [63:0]  s_keep,
    input  wire         s_valid,
    input  wire         s_last,
    // State behind the frame, neither inverted nor swapped, with m_valid, 6 moves after the last beat
    output wire [31:0]  m_state,
    output wire         m_valid
);

    `include "frnic_crc32_matrix.vh"

    localparam [512*32-1:0] DATA_M = frnic_crc32_data(32'hedb88320);
    // Moves a register over a beat
    localparam [32*32-1:0] BEAT_M = DATA_M[32*32-1:0];
    // Take back that many zero bytes, T with the TAIL
    localparam [32*32-1:0] BACK_8 = frnic_crc32_back(8), BACK_16 = frnic_crc32_back(16), BACK_24 = frnic_crc32_back(24),
                           BACK_32 = frnic_crc32_back(32), BACK_40 = frnic_crc32_back(40), BACK_48 = frnic_crc32_back(48),
                           BACK_56 = frnic_crc32_back(56);
    localparam [32*32-1:0] BACK_T0 = frnic_crc32_back(TAIL), BACK_T1 = frnic_crc32_back(TAIL + 1), BACK_T2 = frnic_crc32_back(TAIL + 2),
                           BACK_T3 = frnic_crc32_back(TAIL + 3), BACK_T4 = frnic_crc32_back(TAIL + 4), BACK_T5 = frnic_crc32_back(TAIL + 5),
                           BACK_T6 = frnic_crc32_back(TAIL + 6), BACK_T7 = frnic_crc32_back(TAIL + 7);

    // ---- stage 1: mask ----

    reg first_reg = 1'b1;
    // Headers of the frame under way
    reg vlan_reg = 1'b0;
    reg ipv6_reg = 1'b0;
    // This is the frame's second beat.
    reg second_reg = 1'b0;

    wire vlan_now = s_data[12*8 +: 16] == 16'h0081;
    wire [15:0] type_now = vlan_now ? s_data[16*8 +: 16] : s_data[12*8 +: 16];
    wire ipv6_now = type_now == 16'hdd86;

    // Lanes that count as ones.
    function [63:0] ones_first;
        input vlan;
        input ipv6;
        reg [63:0] v4;
        reg [63:0] v6;
        begin
            // Four of the eight leading bytes of ones; the other four are zeros: the inverted start of the CRC.
            v4 = 64'h0;
            v4[13:10] = 4'hf;
            v4[15] = 1'b1; // TOS
            v4[22] = 1'b1; // TTL
            v4[25:24] = 2'b11; // header checksum
            v4[41:40] = 2'b11; // UDP checksum
            v4[46] = 1'b1; // BTH byte 4
            v6 = 64'h0;
            v6[13:10] = 4'hf;
            v6[17:15] = 3'b111; // traffic class, flow label; the half byte at 14 apart
            v6[21] = 1'b1; // hop limit
            v6[61:60] = 2'b11; // UDP checksum
            ones_first = (ipv6 ? v6 : v4) << (vlan ? 4 : 0);
        end
    endfunction

    function [63:0] ones_second;
        input vlan;
        input ipv6;
        begin
            // IPv6 alone reaches the second beat: BTH byte 4, and behind a VLAN tag the UDP checksum.
            ones_second = 64'h0;
            if (ipv6) begin
                ones_second[vlan ? 6 : 2] = 1'b1;
                ones_second[1:0] = ones_second[1:0] | {2{vlan}};
            end
        end
    endfunction

    wire [63:0] zeros = first_reg ? (vlan_now ? 64'h3fff : 64'h03ff) : 64'h0;
    wire [63:0] ones = first_reg ? ones_first(vlan_now, ipv6_now) : second_reg ? ones_second(vlan_reg, ipv6_reg) : 64'h0;
    // High half of the version byte is not masked, the traffic class in its low half is.
    wire half14 = first_reg && ipv6_now && !vlan_now;
    wire half18 = first_reg && ipv6_now && vlan_now;

    function [511:0] masked;
        input [511:0] beat;
        input [63:0] keep;
        input [63:0] as_zeros;
        input [63:0] as_ones;
        input low14;
        input low18;
        integer i;
        begin
            for (i = 0; i < 64; i = i + 1) begin
                masked[i*8 +: 8] = !keep[i] || as_zeros[i] ? 8'h00 : as_ones[i] ? 8'hff : beat[i*8 +: 8];
            end
            if (low14) begin
                masked[14*8 +: 4] = 4'hf;
            end
            if (low18) begin
                masked[18*8 +: 4] = 4'hf;
            end
        end
    endfunction

    // Bytes fed too much: lanes of the last beat that hold nothing. keep is contiguous, so its length is a sum.
    function [5:0] empty;
        input [63:0] keep;
        integer i;
        begin
            empty = 6'd0;
            for (i = 1; i < 64; i = i + 1) begin
                if (keep[i-1] && !keep[i]) begin
                    empty = 6'd0 - i[5:0];
                end
            end
        end
    endfunction

    // ---- pipeline ----

    reg [511:0] data1_reg = 512'd0;
    reg [31:0] state4_reg = 32'd0;
    reg [31:0] state5_reg = 32'd0;
    reg [31:0] state6_reg = 32'd0;
    reg [5:0] excess1_reg = 6'd0, excess2_reg = 6'd0, excess3_reg = 6'd0, excess4_reg = 6'd0;
    reg [2:0] fine5_reg = 3'd0;
    reg valid1_reg = 1'b0, valid2_reg = 1'b0, valid3_reg = 1'b0;
    reg last1_reg = 1'b0, last2_reg = 1'b0, last3_reg = 1'b0, last4_reg = 1'b0, last5_reg = 1'b0, last6_reg = 1'b0;
    // Stage 4 starts a frame: the state before it is zero.
    reg fresh4_reg = 1'b1;

    // Each stage does its sums only for a beat or a frame's end that is there: in hardware that is the registers' enable; a simulation would spend
    // a tenth of its time on sums of nothing.

    // Stage 2: eight partial sums of 64 bits each; stage 3 adds them.
    wire [31:0] sum3;

    genvar r;
    generate
        for (r = 0; r < 32; r = r + 1) begin : row
            // Row r of the matrix, a constant for each sum: Yosys does not finish on one mask of 512 wires.
            localparam [511:0] ROW = frnic_crc32_row(DATA_M, r);
            reg [7:0] part2_reg = 8'd0;
            reg sum3_reg = 1'b0;

            assign sum3[r] = sum3_reg;

            always @(posedge clk) begin
                if (ce && valid1_reg) begin
                    part2_reg <= {^(data1_reg[7*64 +: 64] & ROW[7*64 +: 64]), ^(data1_reg[6*64 +: 64] & ROW[6*64 +: 64]),
                                  ^(data1_reg[5*64 +: 64] & ROW[5*64 +: 64]), ^(data1_reg[4*64 +: 64] & ROW[4*64 +: 64]),
                                  ^(data1_reg[3*64 +: 64] & ROW[3*64 +: 64]), ^(data1_reg[2*64 +: 64] & ROW[2*64 +: 64]),
                                  ^(data1_reg[1*64 +: 64] & ROW[1*64 +: 64]), ^(data1_reg[0*64 +: 64] & ROW[0*64 +: 64])};
                end
                if (ce && valid2_reg) begin
                    sum3_reg <= ^part2_reg;
                end
            end
        end
    endgenerate

    // Stages 5 and 6: the superfluous zeros are taken back, first by eights, then singly.
    function [31:0] coarse;
        input [2:0] eights;
        input [31:0] v;
        case (eights)
            3'd0: coarse = v;
            3'd1: coarse = frnic_crc32_mul(BACK_8, v);
            3'd2: coarse = frnic_crc32_mul(BACK_16, v);
            3'd3: coarse = frnic_crc32_mul(BACK_24, v);
            3'd4: coarse = frnic_crc32_mul(BACK_32, v);
            3'd5: coarse = frnic_crc32_mul(BACK_40, v);
            3'd6: coarse = frnic_crc32_mul(BACK_48, v);
            default: coarse = frnic_crc32_mul(BACK_56, v);
        endcase
    endfunction

    function [31:0] fine;
        input [2:0] singles;
        input [31:0] v;
        case (singles)
            3'd0: fine = frnic_crc32_mul(BACK_T0, v);
            3'd1: fine = frnic_crc32_mul(BACK_T1, v);
            3'd2: fine = frnic_crc32_mul(BACK_T2, v);
            3'd3: fine = frnic_crc32_mul(BACK_T3, v);
            3'd4: fine = frnic_crc32_mul(BACK_T4, v);
            3'd5: fine = frnic_crc32_mul(BACK_T5, v);
            3'd6: fine = frnic_crc32_mul(BACK_T6, v);
            default: fine = frnic_crc32_mul(BACK_T7, v);
        endcase
    endfunction

    assign m_state = state6_reg;
    assign m_valid = last6_reg;

    always @(posedge clk) begin
        if (ce) begin
            if (s_valid) begin
                data1_reg <= masked(s_data, s_keep, zeros, ones, half14, half18);
                excess1_reg <= empty(s_keep);
            end
            if (valid3_reg) begin
                state4_reg <= (fresh4_reg ? 32'd0 : frnic_crc32_mul(BEAT_M, state4_reg)) ^ sum3;
            end
            if (last4_reg) begin
                state5_reg <= coarse(excess4_reg[5:3], state4_reg);
            end
            if (last5_reg) begin
                state6_reg <= fine(fine5_reg, state5_reg);
            end
            excess2_reg <= excess1_reg;
            excess3_reg <= excess2_reg;
            excess4_reg <= excess3_reg;
            fine5_reg <= excess4_reg[2:0];
            last1_reg <= s_valid && s_last;
            last2_reg <= last1_reg;
            last3_reg <= last2_reg;
            last4_reg <= last3_reg;
            last5_reg <= last4_reg;
            last6_reg <= last5_reg;
            valid1_reg <= s_valid;
            valid2_reg <= valid1_reg;
            valid3_reg <= valid2_reg;
            if (valid3_reg) begin
                fresh4_reg <= last3_reg;
            end
            if (s_valid) begin
                first_reg <= s_last;
                second_reg <= first_reg;
                if (first_reg) begin
                    vlan_reg <= vlan_now;
                    ipv6_reg <= ipv6_now;
                end
            end
        end
        if (rst) begin
            first_reg <= 1'b1;
            fresh4_reg <= 1'b1;
            valid1_reg <= 1'b0;
            valid2_reg <= 1'b0;
            valid3_reg <= 1'b0;
            last1_reg <= 1'b0;
            last2_reg <= 1'b0;
            last3_reg <= 1'b0;
            last4_reg <= 1'b0;
            last5_reg <= 1'b0;
            last6_reg <= 1'b0;
        end
    end

endmodule

`resetall
