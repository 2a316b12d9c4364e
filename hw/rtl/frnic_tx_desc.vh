// SPDX-License-Identifier: BSD-2-Clause
//
// Descriptor of a RoCE v2 packet to send, from requester and responder to frnic_tx_build. Numbers in host order; addresses and extension headers
// as on the wire (first byte in bits 7:0). Include inside a module; unused names are no fault.

/* verilator lint_off UNUSED */
localparam TXD_DMAC = 0;         // 48
localparam TXD_SMAC = 48;        // 48
localparam TXD_SGID = 96;        // 128: ::ffff:a.b.c.d for IPv4
localparam TXD_DGID = 224;       // 128
localparam TXD_IPV6 = 352;       // 1
localparam TXD_VLAN = 353;       // 1
localparam TXD_TCI = 354;        // 16
localparam TXD_SPORT = 370;      // 16
localparam TXD_TCLASS = 386;     // 8
localparam TXD_HOP = 394;        // 8: 0 is sent as 64
localparam TXD_FLOW = 402;       // 20
localparam TXD_OPCODE = 422;     // 8
localparam TXD_SOLICITED = 430;  // 1
localparam TXD_ACKREQ = 431;     // 1
localparam TXD_BECN = 432;       // 1
localparam TXD_PKEY = 433;       // 16
localparam TXD_DQPN = 449;       // 24
localparam TXD_PSN = 473;        // 24
localparam TXD_LEN = 497;        // 13: payload bytes, 0..4096
localparam TXD_EXT_LEN = 510;    // 5: bytes of extension headers, 0..28
localparam TXD_EXT = 515;        // 224
localparam TXD_W = 739;

// Where the payload starts in the frame.
function [6:0] txd_header_len;
    input ipv6;
    input vlan;
    input [4:0] ext_len;
    begin
        txd_header_len = (ipv6 ? 7'd74 : 7'd54) + (vlan ? 7'd4 : 7'd0) + {2'd0, ext_len};
    end
endfunction
/* verilator lint_on UNUSED */
