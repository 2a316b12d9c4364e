// SPDX-License-Identifier: BSD-2-Clause
//
// What the requester keeps of a QP (one word of RS_W bits) and of each WQE that was started and has not completed (REC_W bits), as the model's struct
// qp_req and struct req_wqe. Include inside a module; unused names are no fault.

/* verilator lint_off UNUSED */
localparam RS_UNA = 0;        // 24: oldest PSN that is not acknowledged
localparam RS_NEXT = 24;      // 24: PSN to send
localparam RS_MAX = 48;       // 24: one past the highest PSN ever sent
localparam RS_FETCH = 72;     // 24: next WQE to start
localparam RS_CI = 96;        // 24: oldest WQE that has not completed
localparam RS_HEAD = 120;     // 8: records, free-running: oldest,
localparam RS_SEND = 128;     // 8: to send from,
localparam RS_TAIL = 136;     // 8: next free
localparam RS_SINCE = 144;    // 8: packets since an acknowledgement was asked for
localparam RS_RNR_WAIT = 152; // 1
localparam RS_BACK = 153;     // 1: a NAK was obeyed and no progress was made since
localparam RS_ARMED = 154;    // 1
localparam RS_RETRY = 155;    // 4: tries left
localparam RS_RNR = 159;      // 4
localparam RS_RD_OUT = 163;   // 8: READs and atomics asked for and not answered
localparam RS_DEADLINE = 171; // 36: in units of 1024 ns
localparam RS_W = 207;

localparam REC_PSN = 0;      // 24: first ...
localparam REC_NPSN = 24;    // 24: ... and how many; 0: no packet
localparam REC_INDEX = 48;   // 24: of its first unit
localparam REC_LEN = 72;     // 32
localparam REC_OP = 104;     // 8
localparam REC_FLAGS = 112;  // 4
localparam REC_UNITS = 116;  // 3
localparam REC_KIND = 119;   // 2
localparam REC_STATUS = 121; // 8: a local error, told when all before it have completed
localparam REC_VERR = 129;   // 8
localparam REC_W = 137;

localparam [1:0] KIND_LOCAL = 2'd0, KIND_SEND = 2'd1, KIND_READ = 2'd2, KIND_ATOMIC = 2'd3;

// An acknowledgement is asked for so often (the model's REQ_ACK_EVERY).
localparam [7:0] ACK_EVERY = 8'd64;
localparam [23:0] WINDOW = 24'd256;

// A requester that starts.
function [RS_W-1:0] rs_start;
    input [23:0] psn;
    input [3:0] retry;
    input [3:0] rnr;
    begin
        rs_start = {RS_W{1'b0}};
        rs_start[RS_UNA +: 24] = psn;
        rs_start[RS_NEXT +: 24] = psn;
        rs_start[RS_MAX +: 24] = psn;
        rs_start[RS_RETRY +: 4] = retry;
        rs_start[RS_RNR +: 4] = rnr;
    end
endfunction

// CQE status of a local vendor error (the model's local_status()).
function [7:0] local_status;
    input [7:0] code;
    begin
        case (code)
            8'h06, 8'h07, 8'h08, 8'h09: local_status = 8'h04; // LKEY_*: LOC_PROT_ERR
            8'h05: local_status = 8'h01;                      // BAD_LENGTH: LOC_LEN_ERR
            8'h17: local_status = 8'h06;                      // BIND: MW_BIND_ERR
            default: local_status = 8'h02;                    // LOC_QP_OP_ERR
        endcase
    end
endfunction

// Pieces of a READ end at multiples of so many PSNs: 8 KB. The model asks for 128 PSNs at once; here responses arrive faster than they are placed, and
// what is under way must find room in the receive FIFO (512 beats, of which 20 KB in packets of 256 bytes take 480).
function [23:0] read_psns;
    input [3:0] log_mtu;
    read_psns = 24'd8192 >> log_mtu;
endfunction

function [23:0] read_window;
    input [3:0] log_mtu;
    read_window = 24'd20480 >> log_mtu;
endfunction

// Packets of a message.
function [23:0] npsn_of;
    input [31:0] len;
    input [3:0] log_mtu;
    reg [32:0] up;
    begin
        up = ({1'b0, len} + (33'd1 << log_mtu) - 33'd1) >> log_mtu;
        npsn_of = up == 33'd0 ? 24'd1 : up[23:0];
    end
endfunction
/* verilator lint_on UNUSED */
