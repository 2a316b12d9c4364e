// SPDX-License-Identifier: BSD-2-Clause
//
// What a packet's PSN means to a responder and to a requester: expected, duplicate or gap; acknowledging something or nothing (R1.6).
// Combinational; the pipelines place the registers.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_psn_cmp (
    // PSN of the packet
    input  wire [23:0] psn,
    // Responder: PSN expected next
    input  wire [23:0] epsn,
    output wire        expected,
    output wire        duplicate,
    output wire        gap,
    // Requester: oldest unacknowledged PSN and next PSN to send
    input  wire [23:0] una_psn,
    input  wire [23:0] next_psn,
    // An ACK of psn lies within what is outstanding
    output wire        ack_in_window,
    // Packets outstanding, and room for one more in the window of 256
    output wire [23:0] outstanding,
    output wire        may_send
);

    `include "frnic_psn.vh"
    `include "frnic_hw.vh"

    assign expected = frnic_psn_diff(psn, epsn) == 24'sd0;
    assign duplicate = frnic_psn_lt(psn, epsn);
    assign gap = !expected && !duplicate;
    assign ack_in_window = frnic_psn_in_window(psn, una_psn, next_psn);
    assign outstanding = next_psn - una_psn;
    assign may_send = outstanding < `FRNIC_PSN_WINDOW;

endmodule

`resetall
