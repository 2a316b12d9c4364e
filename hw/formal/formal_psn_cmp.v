// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: frnic_psn_cmp for all 2^96 inputs, against distances counted in plain integers. No state, so bound 1 is all there is.
// depth: bmc 1

`default_nettype none

module formal_psn_cmp (
    input wire [23:0] psn,
    input wire [23:0] epsn,
    input wire [23:0] una_psn,
    input wire [23:0] next_psn,
    input wire [23:0] shift
);
    wire expected, duplicate, gap, ack_in_window, may_send;
    wire expected2, duplicate2, gap2, ack_in_window2, may_send2;
    wire [23:0] outstanding, outstanding2;

    frnic_psn_cmp dut (
        .psn(psn), .epsn(epsn), .expected(expected), .duplicate(duplicate), .gap(gap), .una_psn(una_psn), .next_psn(next_psn),
        .ack_in_window(ack_in_window), .outstanding(outstanding), .may_send(may_send)
    );
    // The same situation anywhere on the circle: the wrap is not a place.
    frnic_psn_cmp moved (
        .psn(psn + shift), .epsn(epsn + shift), .expected(expected2), .duplicate(duplicate2), .gap(gap2), .una_psn(una_psn + shift),
        .next_psn(next_psn + shift), .ack_in_window(ack_in_window2), .outstanding(outstanding2), .may_send(may_send2)
    );

    // Distance ahead, 0 .. 2^24 - 1, in integers.
    wire [25:0] ahead = psn >= epsn ? {2'b0, psn} - {2'b0, epsn} : {2'b0, psn} + 26'h1000000 - {2'b0, epsn};
    wire [25:0] sent = next_psn >= una_psn ? {2'b0, next_psn} - {2'b0, una_psn} : {2'b0, next_psn} + 26'h1000000 - {2'b0, una_psn};
    wire [25:0] acked = psn >= una_psn ? {2'b0, psn} - {2'b0, una_psn} : {2'b0, psn} + 26'h1000000 - {2'b0, una_psn};

    always @* begin
        assert ({2'b0, expected} + {2'b0, duplicate} + {2'b0, gap} == 3'd1);
        assert (expected == (psn == epsn));
        assert (gap == (ahead > 0 && ahead < 26'h800000));
        assert (duplicate == (ahead >= 26'h800000));
        assert (ack_in_window == (acked < sent));
        assert (outstanding == sent);
        assert (may_send == (sent < 256));
        assert ({expected, duplicate, gap, ack_in_window, may_send, outstanding}
                == {expected2, duplicate2, gap2, ack_in_window2, may_send2, outstanding2});
    end
endmodule
