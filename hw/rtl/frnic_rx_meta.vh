// SPDX-License-Identifier: BSD-2-Clause
//
// Metadata record of a received RoCE v2 packet, from frnic_rx_parse to the transport. Numbers in host order; GIDs and immediate data as on the
// wire (first byte in bits 7:0). Include inside a module; unused names are no fault.

/* verilator lint_off UNUSED */
localparam META_LEN = 0;         // 13: payload bytes
localparam META_HDR = 13;        // 7: where the payload starts in the frame
localparam META_FLAGS = 20;      // 16: RoCE operation flags, below
localparam META_OPCODE = 36;     // 8
localparam META_PSN = 44;        // 24
localparam META_DQPN = 68;       // 24
localparam META_PKEY = 92;       // 16
localparam META_SOLICITED = 108; // 1
localparam META_ACKREQ = 109;    // 1
localparam META_IPV6 = 110;      // 1
localparam META_VLAN = 111;      // 1
localparam META_TCI = 112;       // 16
localparam META_TCLASS = 128;    // 8
localparam META_SPORT = 136;     // 16
localparam META_SGID = 152;      // 128
localparam META_DGID = 280;      // 128
localparam META_EXT = 408;       // 224: the 28 bytes behind the BTH as they came: extension headers, then payload
localparam META_W = 632;

// Which headers follow the BTH, and the packet's place in its message (the model's ROCE_F_*).
localparam F_VALID = 0;
localparam F_RETH = 1;
localparam F_DETH = 2;
localparam F_ATOMIC_ETH = 3;
localparam F_AETH = 4;
localparam F_ATOMIC_ACK = 5;
localparam F_IMM = 6;
localparam F_IETH = 7;
localparam F_START = 8;
localparam F_END = 9;
localparam F_SEND = 10;
localparam F_WRITE = 11;
localparam F_PAYLOAD = 12;
localparam F_RESPONSE = 13;

function [15:0] roce_op_flags;
    input [7:0] opcode;
    begin
        roce_op_flags = 16'h0000;
        // RC, and UC which lacks READ, atomics, responses and invalidation (IBTA table 38).
        case (opcode[4:0])
            5'h00: roce_op_flags = 16'h1501; // SEND FIRST
            5'h01: roce_op_flags = 16'h1401; // SEND MIDDLE
            5'h02: roce_op_flags = 16'h1601; // SEND LAST
            5'h03: roce_op_flags = 16'h1641; // SEND LAST with immediate
            5'h04: roce_op_flags = 16'h1701; // SEND ONLY
            5'h05: roce_op_flags = 16'h1741; // SEND ONLY with immediate
            5'h06: roce_op_flags = 16'h1903; // WRITE FIRST
            5'h07: roce_op_flags = 16'h1801; // WRITE MIDDLE
            5'h08: roce_op_flags = 16'h1a01; // WRITE LAST
            5'h09: roce_op_flags = 16'h1a41; // WRITE LAST with immediate
            5'h0a: roce_op_flags = 16'h1b03; // WRITE ONLY
            5'h0b: roce_op_flags = 16'h1b43; // WRITE ONLY with immediate
            5'h0c: roce_op_flags = 16'h0303; // READ request
            5'h0d: roce_op_flags = 16'h3111; // READ response FIRST
            5'h0e: roce_op_flags = 16'h3001; // READ response MIDDLE
            5'h0f: roce_op_flags = 16'h3211; // READ response LAST
            5'h10: roce_op_flags = 16'h3311; // READ response ONLY
            5'h11: roce_op_flags = 16'h2311; // ACK
            5'h12: roce_op_flags = 16'h2331; // atomic ACK
            5'h13, 5'h14: roce_op_flags = 16'h0309; // CMP_SWAP, FETCH_ADD
            5'h16: roce_op_flags = 16'h1681; // SEND LAST with invalidate
            5'h17: roce_op_flags = 16'h1781; // SEND ONLY with invalidate
            default: roce_op_flags = 16'h0000;
        endcase
        if (opcode == 8'h64) begin
            roce_op_flags = 16'h1705; // UD SEND ONLY
        end else if (opcode == 8'h65) begin
            roce_op_flags = 16'h1745; // UD SEND ONLY with immediate
        end else if (opcode == 8'h81) begin
            roce_op_flags = 16'h1301; // CNP
        end else if (opcode[7:6] != 2'd0 || (opcode[5] && opcode[4:0] > 5'h0b)) begin
            roce_op_flags = 16'h0000;
        end
    end
endfunction

// Bytes of the extension headers.
function [4:0] roce_ext_bytes;
    input [15:0] flags;
    begin
        roce_ext_bytes = (flags[F_DETH] ? 5'd8 : 5'd0) + (flags[F_RETH] ? 5'd16 : 5'd0) + (flags[F_ATOMIC_ETH] ? 5'd28 : 5'd0) +
                         (flags[F_AETH] ? 5'd4 : 5'd0) + (flags[F_ATOMIC_ACK] ? 5'd8 : 5'd0) +
                         (flags[F_IMM] || flags[F_IETH] ? 5'd4 : 5'd0);
    end
endfunction
/* verilator lint_on UNUSED */
