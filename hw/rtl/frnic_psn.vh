// SPDX-License-Identifier: BSD-2-Clause
//
// PSN arithmetic modulo 2^24, signed (protocol rule 3). Include inside a module; nobody compares PSNs in another way.

// a - b: negative if a is older than b. Exactly 2^23 apart counts as older.
function signed [23:0] frnic_psn_diff;
    input [23:0] a;
    input [23:0] b;
    begin
        frnic_psn_diff = a - b;
    end
endfunction

// a is older than b.
function frnic_psn_lt;
    input [23:0] a;
    input [23:0] b;
    begin
        frnic_psn_lt = frnic_psn_diff(a, b) < 24'sd0;
    end
endfunction

// p lies in [first, past): the PSNs sent and not yet acknowledged, at most 2^23 of them.
function frnic_psn_in_window;
    input [23:0] p;
    input [23:0] first;
    input [23:0] past;
    reg [23:0] off;
    reg [23:0] size;
    begin
        off = p - first;
        size = past - first;
        frnic_psn_in_window = off < size;
    end
endfunction
