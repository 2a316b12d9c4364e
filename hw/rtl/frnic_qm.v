// SPDX-License-Identifier: BSD-2-Clause
//
// Queue manager: the command FSM of R1.2. One command at a time from the register group or the command ring: fetch of what it refers to, checks in the
// order of the functional model, resources, MAC wait, checks again, changes through command slots, response image. The contexts themselves are with
// their owners (slot bus); nothing of packets is here. Documentation/microarchitecture.md, 3.2.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_qm #(
    // log2 of the tables
    parameter LOG_QPS = 12,
    parameter LOG_CQS = 12,
    parameter LOG_EQS = 6,
    parameter LOG_SRQS = 10,
    parameter LOG_MRS = 16,
    parameter LOG_GIDS = 7,
    parameter LOG_PKEYS = 7,
    parameter LOG_MCASTS = 8,
    parameter LOG_UARS = 10,
    parameter LOG_BUFS = 9,
    // Entries of the MAC filter; Ethernet queue pairs
    parameter MACS = 16,
    parameter ETHQS = 1,
    // log2 of the largest rings
    parameter LOG_CQE = 18,
    parameter LOG_SQ = 17,
    parameter LOG_RQ = 14,
    parameter LOG_EQE = 16,
    // Most outstanding READs and atomics
    parameter RD_ATOMIC = 16,
    // CMAC_INIT waits so many cycles for the MAC: 1 ms at 250 MHz
    parameter MAC_WAIT = 250000
) (
    input  wire                clk,
    input  wire                rst,
    // Pulse: contexts are being swept, a running command is dropped without a response
    input  wire                clear,
    // Side port of frnic_csr: QM (0x000..0x0ff) and QMR (0x100..0x1ff)
    input  wire                csr_req,
    input  wire                csr_write,
    input  wire [8:2]          csr_addr,
    input  wire [31:0]         csr_wdata,
    output reg                 csr_done,
    output reg  [31:0]         csr_rdata,
    // Pulse: somebody refuses a command that has not come so far (BAD_CMDQ)
    input  wire                refuse_valid,
    input  wire [7:0]          refuse_status,
    // Command ring: the first 128 bytes of a request image; the response as 32 words, not to be held up
    input  wire                ring_valid,
    output wire                ring_ready,
    input  wire [1023:0]       ring_req,
    input  wire                ring_owner,
    output reg                 ring_resp_valid,
    output reg  [63:0]         ring_resp_data,
    output reg                 ring_resp_last,
    // State of the device
    input  wire                resetting,
    input  wire                fatal,
    input  wire                prealloc,
    input  wire                mac_ready,
    input  wire [11:0]         msix_vectors,
    input  wire [31:0]         time_ns,
    // R1.2, R1.3
    output wire [2:0]          state,
    output reg  [7:0]          last_status,
    output reg  [7:0]          last_error,
    output reg  [7:0]          last_opcode,
    // Pulses
    output reg                 ev_fsm_error,
    output reg                 ev_ok,
    output reg                 ev_failed,
    output reg                 ev_no_buf,
    // A reference count with wrong parity: FATAL_CODE PARITY
    output reg                 ev_parity,
    // Entries in use (R2.7)
    output reg  [LOG_QPS:0]    used_qps,
    output reg  [LOG_CQS:0]    used_cqs,
    output reg  [LOG_EQS:0]    used_eqs,
    output reg  [LOG_SRQS:0]   used_srqs,
    output reg  [LOG_MRS:0]    used_mrs,
    output reg  [LOG_MCASTS:0] used_mcasts,
    // Slot bus (3.4): sel names the owner; data in image layout, offset 0 in bit 0; live words from image offset 0x80 on
    output reg                 sl_valid,
    input  wire                sl_ready,
    output reg  [3:0]          sl_sel,
    output reg  [1:0]          sl_op,
    output reg  [23:0]         sl_index,
    output reg  [1023:0]       sl_wdata,
    output reg  [63:0]         sl_wlive,
    output reg  [31:0]         sl_aux,
    input  wire                sl_done,
    input  wire                sl_live,
    input  wire [7:0]          sl_status,
    input  wire [1023:0]       sl_rdata,
    input  wire [447:0]        sl_rlive,
    // Packet buffers
    output wire                take_valid,
    input  wire                take_ready,
    input  wire [LOG_BUFS-1:0] take_buf,
    input  wire                pool_empty,
    output reg                 give_valid,
    input  wire                give_ready,
    output wire [LOG_BUFS-1:0] give_buf,
    // Read of a doorbell record: 4 bytes, a client of frnic_dma_rd
    output reg                 rec_req_valid,
    input  wire                rec_req_ready,
    output wire [63:0]         rec_req_addr,
    input  wire                rec_resp_valid,
    output wire                rec_resp_ready,
    input  wire [511:0]        rec_resp_data,
    input  wire                rec_resp_last,
    input  wire                rec_resp_error,
    // SRQ events
    output reg                 ev_valid,
    input  wire                ev_ready,
    output reg  [7:0]          ev_eqn,
    output reg  [7:0]          ev_subtype,
    output reg  [23:0]         ev_number,
    // Table update, a pulse: 0 MAC filter, 1 GID, 2 P_Key, 3 clear all
    output reg                 upd_valid,
    output reg  [1:0]          upd_table,
    output reg  [7:0]          upd_index,
    output reg  [255:0]        upd_data,
    // Level: reference counts are swept
    input  wire                sweep,
    output wire                sweep_done
);

`include "frnic_hw.vh"
`include "frnic_qm.vh"
`include "frnic_qp_transition.vh"

    localparam [1:0] OP_READ = 2'd0, OP_CREATE = 2'd1, OP_CLEAR = 2'd2, OP_MODIFY = 2'd3;
    localparam LOG_REF = LOG_CQS > LOG_SRQS ? (LOG_CQS > LOG_EQS ? LOG_CQS : LOG_EQS) : (LOG_SRQS > LOG_EQS ? LOG_SRQS : LOG_EQS);

    // Classes of objects: the opcode's high nibble
    localparam [3:0] C_QP = 4'd0, C_CQ = 4'd1, C_EQ = 4'd2, C_SRQ = 4'd3, C_MR = 4'd4, C_GID = 4'd5, C_PKEY = 4'd6, C_MCAST = 4'd7, C_ETHQ = 4'd8,
        C_MAC = 4'd9;
    localparam [3:0] V_CREATE = 4'd1, V_MODIFY = 4'd2, V_QUERY = 4'd3, V_DESTROY = 4'd4;

    localparam [4:0] PH_IDLE = 5'd0, PH_LOAD = 5'd1, PH_FETCH = 5'd2, PH_FETCH_WAIT = 5'd3, PH_REF = 5'd4, PH_SCAN = 5'd5, PH_SCAN_WAIT = 5'd6,
        PH_CHECK = 5'd7, PH_REC = 5'd8, PH_ALLOC = 5'd9, PH_MAC = 5'd10, PH_ACT = 5'd11, PH_ACT_WAIT = 5'd12, PH_COUNT = 5'd13, PH_DROP = 5'd14,
        PH_DROP_WAIT = 5'd15, PH_RESP = 5'd16, PH_UNDO = 5'd17;

    reg [4:0] ph_reg = PH_IDLE;
    reg [2:0] state_reg = `FRNIC_QM_STATE_IDLE;
    reg from_ring_reg = 1'b0;
    reg owner_reg = 1'b0;
    reg again_reg = 1'b0; // second round of checks, in READY
    reg moved_reg = 1'b0; // the QP's state is not the one that was checked: its connection is written back, then all is checked once more
    reg [1023:0] req_reg;
    reg [1023:0] ctx_reg;
    reg [447:0] live_reg;
    reg [31:0] start_reg;
    reg [4:0] n_reg = 5'd0; // counts words, fetches, actions
    reg [5:0] chk_reg = 6'd0;
    reg [31:0] wait_reg;
    reg [7:0] status_reg = 8'd0;
    reg [7:0] detail_reg = 8'd0;
    reg [7:0] qp_state_reg = 8'd0;
    reg own_live_reg;
    reg own_err_reg;
    reg eq_ok_reg;
    reg scq_ok_reg;
    reg rcq_ok_reg;
    reg srq_ok_reg;
    reg [7:0] gid_type_reg;
    reg pkey_ok_reg;
    reg [15:0] refs_reg;
    reg has_buf_reg = 1'b0;
    reg [LOG_BUFS-1:0] buf_reg;
    reg [LOG_MCASTS-1:0] scan_reg;
    reg [LOG_MCASTS:0] seen_reg;
    reg [LOG_MCASTS-1:0] hit_reg;
    reg hit_valid_reg;
    reg [LOG_MCASTS-1:0] free_reg;
    reg free_valid_reg;
    reg rec_asked_reg;
    reg rec_done_reg;
    reg rec_err_reg;
    reg [23:0] rec_pi_reg;
    reg rec_open_reg = 1'b0; // an answer is outstanding, wanted or not
    reg rec_wanted_reg = 1'b0;
    reg [1:0] rec_lane_reg;

    assign state = state_reg;

    // ---- The request's fields ----
    wire [1023:0] r = req_reg;
    wire [1023:0] c = ctx_reg;
    wire [7:0] op = r[`FRNIC_REG_QP_CTRL_OPCODE_LSB +: 8];
    wire [3:0] cls = op[7:4];
    wire [3:0] verb = op[3:0];
    wire [23:0] r_qpn = {r[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], r[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
    wire [23:0] c_qpn = {c[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], c[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
    wire [23:0] r_dqpn = {r[`FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI_LSB +: 8], r[`FRNIC_CMD_QP_CONN_REMOTE_QPN_LO_LSB +: 16]};
    wire [7:0] r_type = r[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 8];
    wire [7:0] c_type = c[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 8];
    wire r_has_srq = r[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB];
    wire [31:0] mask = r[`FRNIC_CMD_QP_ATTR_MASK_LSB +: 32];
    wire [31:0] num = r[`FRNIC_CMD_CQ_CQN_LSB +: 32]; // number or index of all objects but QPs
    wire [31:0] key = r[`FRNIC_CMD_MR_KEY_LSB +: 32];
    wire [31:0] old_key = r[`FRNIC_CMD_MR_OLD_KEY_LSB +: 32];
    wire [2:0] qp_state = live_reg[`FRNIC_CMD_QP_LIVE0_STATE_LSB - 1024 +: 3];
    wire [7:0] to_full = mask[`FRNIC_ATTR_STATE_BIT] ? r[`FRNIC_CMD_QP_RQ_NEXT_STATE_LSB +: 8] : {5'd0, qp_state};
    wire [2:0] to = to_full[2:0];
    wire to_reset = to == `FRNIC_QP_STATE_RST;
    wire to_error = to == `FRNIC_QP_STATE_ERR;

    function known(input [7:0] o);
        case (o)
            `FRNIC_CMD_OP_NOP, `FRNIC_CMD_OP_CREATE_QP, `FRNIC_CMD_OP_MODIFY_QP, `FRNIC_CMD_OP_QUERY_QP, `FRNIC_CMD_OP_DESTROY_QP,
            `FRNIC_CMD_OP_CREATE_CQ, `FRNIC_CMD_OP_MODIFY_CQ, `FRNIC_CMD_OP_QUERY_CQ, `FRNIC_CMD_OP_DESTROY_CQ,
            `FRNIC_CMD_OP_CREATE_EQ, `FRNIC_CMD_OP_QUERY_EQ, `FRNIC_CMD_OP_DESTROY_EQ,
            `FRNIC_CMD_OP_CREATE_SRQ, `FRNIC_CMD_OP_MODIFY_SRQ, `FRNIC_CMD_OP_QUERY_SRQ, `FRNIC_CMD_OP_DESTROY_SRQ,
            `FRNIC_CMD_OP_CREATE_MR, `FRNIC_CMD_OP_MODIFY_MR, `FRNIC_CMD_OP_QUERY_MR, `FRNIC_CMD_OP_DESTROY_MR,
            `FRNIC_CMD_OP_SET_GID, `FRNIC_CMD_OP_QUERY_GID, `FRNIC_CMD_OP_SET_PKEY, `FRNIC_CMD_OP_QUERY_PKEY,
            `FRNIC_CMD_OP_ATTACH_MCAST, `FRNIC_CMD_OP_DETACH_MCAST,
            `FRNIC_CMD_OP_CREATE_ETHQ, `FRNIC_CMD_OP_QUERY_ETHQ, `FRNIC_CMD_OP_DESTROY_ETHQ, `FRNIC_CMD_OP_SET_MAC: known = 1'b1;
            default: known = 1'b0;
        endcase
    endfunction

    // Place of a field in the image: what a refusal names
    /* verilator lint_off UNUSED */
    function [7:0] at(input [31:0] lsb);
        at = lsb[10:3];
    endfunction
    /* verilator lint_on UNUSED */

    // ---- Fetch: what a command refers to, at most four contexts ----
    reg f_any;
    reg [3:0] f_sel;
    reg [23:0] f_index;

    always @* begin
        f_any = 1'b0;
        f_sel = SL_QP;
        f_index = num[23:0];
        case (n_reg[1:0])
            2'd0: begin
                f_any = known(op) && op != `FRNIC_CMD_OP_NOP && cls != C_MAC && !((cls == C_GID || cls == C_PKEY) && verb == V_CREATE);
                case (cls)
                    C_QP: f_index = r_qpn;
                    C_CQ: f_sel = SL_CQ;
                    C_EQ: f_sel = SL_EQ;
                    C_SRQ: f_sel = SL_SRQ;
                    C_MR: begin
                        f_sel = SL_MR;
                        f_index = verb == V_MODIFY ? old_key[31:8] : key[31:8];
                    end
                    C_GID: f_sel = SL_GID;
                    C_PKEY: f_sel = SL_PKEY;
                    C_MCAST: f_sel = SL_QP;
                    default: f_sel = SL_ETHQ;
                endcase
            end
            2'd1: begin
                case (cls)
                    C_QP: begin
                        f_any = 1'b1;
                        f_sel = verb == V_CREATE ? SL_CQ : SL_LIVE;
                        f_index = verb == V_CREATE ? r[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24] : r_qpn;
                    end
                    C_CQ, C_ETHQ: begin
                        f_any = verb == V_CREATE;
                        f_sel = SL_EQ;
                        f_index = r[`FRNIC_CMD_CQ_EQN_EQN_LSB +: 24];
                    end
                    C_SRQ: begin
                        f_any = verb == V_CREATE;
                        f_sel = SL_EQ;
                        f_index = r[`FRNIC_CMD_SRQ_EQN_LSB +: 24];
                    end
                    default: f_any = 1'b0;
                endcase
            end
            2'd2: begin
                f_any = cls == C_QP && (verb == V_CREATE || (verb == V_MODIFY && mask[`FRNIC_ATTR_AV_BIT]));
                f_sel = verb == V_CREATE ? SL_CQ : SL_GID;
                f_index = verb == V_CREATE ? r[`FRNIC_CMD_QP_RCQ_RECV_CQN_LSB +: 24] : {8'd0, r[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16]};
            end
            default: begin
                f_any = cls == C_QP && (verb == V_CREATE ? r_has_srq : verb == V_MODIFY && mask[`FRNIC_ATTR_PKEY_INDEX_BIT]);
                f_sel = verb == V_CREATE ? SL_SRQ : SL_PKEY;
                f_index = verb == V_CREATE ? r[`FRNIC_CMD_QP_SRQ_SRQN_LSB +: 24] : {8'd0, r[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16]};
            end
        endcase
        if (op == `FRNIC_CMD_OP_NOP || !known(op)) begin
            f_any = 1'b0;
        end
    end

    // A CQ that can be used: the whole number is compared.
    wire cq_ok = sl_live && sl_status == `FRNIC_STATUS_SUCCESS && sl_rdata[`FRNIC_CMD_CQ_CQN_LSB +: 32] == {8'd0, sl_index} &&
        sl_rlive[`FRNIC_CMD_CQ_LIVE0_STATE_LSB - 1024 +: 4] == 4'd1;

    // Is the object that the command names there? A context with wrong parity may have lost its number; it must still be possible to end it.
    reg hit;
    always @* begin
        case (cls)
            C_QP: hit = own_live_reg && (c_qpn == r_qpn || own_err_reg);
            C_MCAST: hit = own_live_reg && {8'd0, c_qpn} == num;
            C_MR: begin
                if (verb == V_MODIFY) begin
                    hit = own_live_reg && (c[`FRNIC_CMD_MR_KEY_LSB +: 32] == old_key || own_err_reg);
                end else begin
                    hit = own_live_reg && (c[`FRNIC_CMD_MR_KEY_LSB +: 32] == key || own_err_reg ||
                        (c_type >= `FRNIC_MR_TYPE_FRMR && c_type <= `FRNIC_MR_TYPE_MW2));
                end
            end
            C_EQ: hit = own_live_reg && num < (32'd1 << LOG_EQS);
            C_ETHQ: hit = own_live_reg && num < ETHQS;
            default: hit = own_live_reg && (c[`FRNIC_CMD_CQ_CQN_LSB +: 32] == num || own_err_reg);
        endcase
    end

    // ---- Checks: one a cycle, in the model's order ----
    function bad_shift(input levels, input [7:0] shift);
        bad_shift = levels && (shift < 8'd12 || shift > 8'd30);
    endfunction

    // Zero, or a group address
    function bad_mac(input [47:0] m);
        bad_mac = m[0] || m == 48'd0;
    endfunction

    // Bytes 0..11 of a GID that is an IPv4 address
    /* verilator lint_off UNUSED */
    function is_v4(input [127:0] g);
        is_v4 = g[95:0] == {16'hffff, 80'd0};
    endfunction
    /* verilator lint_on UNUSED */

    function is_mcast(input [127:0] g);
        is_mcast = g[7:0] == 8'hff || (is_v4(g) && g[103:100] == 4'he);
    endfunction

    // IBTA 10.6.3.1: who may write from afar may write locally.
    /* verilator lint_off UNUSED */
    function bad_access(input [7:0] a);
        bad_access = a[7:6] != 2'd0 ||
            ((a[`FRNIC_ACCESS_REMOTE_WRITE_BIT] || a[`FRNIC_ACCESS_REMOTE_ATOMIC_BIT]) && !a[`FRNIC_ACCESS_LOCAL_WRITE_BIT]);
    endfunction
    /* verilator lint_on UNUSED */

    // Registered a cycle ahead: inputs do not move while checks run.
    reg [42:0] trans_reg;
    reg mr_wrap_reg;
    reg mr_huge_reg;
    reg [31:0] srq_size_reg;
    /* verilator lint_off UNUSED */
    wire [64:0] mr_end = {1'b0, r[`FRNIC_CMD_MR_IOVA_LSB +: 64]} + {1'b0, r[`FRNIC_CMD_MR_LENGTH_LSB +: 64]};
    /* verilator lint_on UNUSED */

    always @(posedge clk) begin
        trans_reg <= frnic_qp_transition(c_type[2:0], qp_state, to);
        mr_wrap_reg <= mr_end[64];
        mr_huge_reg <= r[`FRNIC_CMD_MR_LENGTH_LSB + 30 +: 34] == {34{1'b1}};
        srq_size_reg <= 32'd1 << c[`FRNIC_CMD_SRQ_LOG_SIZE_LSB +: 5];
    end

    wire [31:0] required = {11'd0, trans_reg[41:21]} | {31'd0, to_reset || to_error || to != qp_state};
    wire [31:0] allowed = {11'd0, trans_reg[41:21]} | {11'd0, trans_reg[20:0]} | 32'd3;
    wire [31:0] extra = mask & ~allowed;
    localparam [31:0] ALL_ATTRS = 32'h0013bfff;
    wire [127:0] r_dgid = r[`FRNIC_CMD_QP_DGID_LSB +: 128];
    wire r_v4 = is_v4(r_dgid);
    wire [31:0] r_dip4 = r[`FRNIC_CMD_QP_DIP4_LSB +: 32];
    wire av = mask[`FRNIC_ATTR_AV_BIT];
    wire rtr_to_rts = qp_state == `FRNIC_QP_STATE_RTR && to == `FRNIC_QP_STATE_RTS;
    wire sqe_to_rts = qp_state == `FRNIC_QP_STATE_SQE && to == `FRNIC_QP_STATE_RTS;
    wire [23:0] sq_fetch = live_reg[`FRNIC_CMD_QP_LIVE8_SQ_FETCH_LSB - 1024 +: 24];
    wire [23:0] sq_pi = live_reg[`FRNIC_CMD_QP_LIVE0_SQ_PI_LSB - 1024 +: 24];
    wire [23:0] sq_ci = live_reg[`FRNIC_CMD_QP_LIVE1_SQ_CI_LSB - 1024 +: 24];
    wire mr_is_mr = r_type == `FRNIC_MR_TYPE_MR;
    wire [7:0] mr_levels = r[`FRNIC_CMD_MR_LEVELS_LSB +: 8];
    wire [127:0] r_gid = r[`FRNIC_CMD_GID_GID_LSB +: 128];
    wire [7:0] r_gid_type = r[`FRNIC_CMD_GID_GID_TYPE_LSB +: 8];
    wire [31:0] eqn32 = cls == C_SRQ ? r[`FRNIC_CMD_SRQ_EQN_LSB +: 32] : cls == C_CQ ? {8'd0, r[`FRNIC_CMD_CQ_EQN_EQN_LSB +: 24]} :
        r[`FRNIC_CMD_ETHQ_EQN_LSB +: 32];
    wire eq_found = eq_ok_reg && eqn32 < (32'd1 << LOG_EQS);
    wire resize = op == `FRNIC_CMD_OP_CREATE_CQ || r[`FRNIC_CMD_CQ_FLAGS_LSB + 1];

    // MODIFY_SRQ: what is posted according to the record, which is read before a change, and when the limit seems to be reached.
    wire srq_resize = r[`FRNIC_CMD_SRQ_FLAGS_LSB];
    wire [31:0] srq_limit = r[`FRNIC_CMD_SRQ_LIMIT_LSB +: 32];
    wire [23:0] srq_pi = live_reg[`FRNIC_CMD_SRQ_LIVE0_PI_LSB - 1024 +: 24];
    wire [23:0] srq_ci = live_reg[`FRNIC_CMD_SRQ_LIVE1_CI_LSB - 1024 +: 24];
    wire [23:0] srq_had = srq_pi - srq_ci;
    wire [23:0] srq_rec = rec_pi_reg - srq_ci;
    wire srq_more = rec_done_reg && !rec_err_reg && {8'd0, srq_rec} <= srq_size_reg && srq_rec > srq_had;
    wire [23:0] srq_held = srq_more ? srq_rec : srq_had;
    wire srq_asks = op == `FRNIC_CMD_OP_MODIFY_SRQ && again_reg && (srq_resize || {8'd0, srq_had} < srq_limit);
    wire srq_fires = srq_asks && !srq_resize && !rec_err_reg && {8'd0, srq_held} < srq_limit;
    wire srq_breaks = srq_asks && !srq_resize && rec_err_reg;

    reg k_fail;
    reg [7:0] k_status;
    reg [7:0] k_at;
    reg k_last;
    reg k_rec; // needs the doorbell record first

    always @* begin
        k_fail = 1'b0;
        k_status = `FRNIC_STATUS_SUCCESS;
        k_at = 8'd0;
        k_last = 1'b1;
        k_rec = 1'b0;
        case (op)
            `FRNIC_CMD_OP_CREATE_QP: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_CTRL_TRANSPORT_LSB +: 8] != `FRNIC_TRANSPORT_ROCE2, `FRNIC_STATUS_BAD_TRANSPORT, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {r_type > {5'd0, `FRNIC_QP_TYPE_XRC_TGT}, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_QP_PD_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r_type > {5'd0, `FRNIC_QP_TYPE_GSI}, `FRNIC_STATUS_NOT_SUPPORTED, at(`FRNIC_CMD_QP_PD_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r_qpn == 24'd0 || r_qpn == 24'hffffff || (r_qpn == 24'd1) != (r_type == {5'd0, `FRNIC_QP_TYPE_GSI}), `FRNIC_STATUS_INVALID_QPN, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {own_live_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_PD_PD_LSB +: 24] == 24'd0, `FRNIC_STATUS_BAD_PD, at(`FRNIC_CMD_QP_PD_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {!scq_ok_reg, `FRNIC_STATUS_BAD_CQN, at(`FRNIC_CMD_QP_SCQ_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {!rcq_ok_reg, `FRNIC_STATUS_BAD_CQN, at(`FRNIC_CMD_QP_RCQ_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {r_has_srq && !srq_ok_reg, `FRNIC_STATUS_BAD_SRQN, at(`FRNIC_CMD_QP_SRQ_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {{16'd0, r[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16]} >= (32'd1 << LOG_PKEYS), `FRNIC_STATUS_BAD_PKEY, at(`FRNIC_CMD_QP_PKEY_INDEX_LSB)};
                    6'd10: {k_fail, k_status, k_at} = {{16'd0, r[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16]} >= (32'd1 << LOG_GIDS), `FRNIC_STATUS_BAD_GID_INDEX, at(`FRNIC_CMD_QP_SGID_INDEX_LSB)};
                    6'd11: {k_fail, k_status, k_at} = {{16'd0, r[`FRNIC_CMD_QP_UAR_LSB +: 16]} >= (32'd1 << LOG_UARS), `FRNIC_STATUS_BAD_UAR, at(`FRNIC_CMD_QP_UAR_LSB)};
                    6'd12: {k_fail, k_status, k_at} = {{24'd0, r[`FRNIC_CMD_QP_IRD_LSB +: 8]} > RD_ATOMIC, `FRNIC_STATUS_BAD_RD_ATOMIC, at(`FRNIC_CMD_QP_IRD_LSB)};
                    6'd13: {k_fail, k_status, k_at} = {{24'd0, r[`FRNIC_CMD_QP_ORD_LSB +: 8]} > RD_ATOMIC, `FRNIC_STATUS_BAD_RD_ATOMIC, at(`FRNIC_CMD_QP_ORD_LSB)};
                    6'd14: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_QP_FLAGS_LSB + 2 +: 6] != 6'd0, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_QP_QP_FLAGS_LSB)};
                    6'd15: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_RING_LEVELS_LSB + 2 +: 6] != 6'd0, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_QP_RING_LEVELS_LSB)};
                    6'd16: {k_fail, k_status, k_at} = {{24'd0, r[`FRNIC_CMD_QP_LOG_SQ_LSB +: 8]} > LOG_SQ, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_QP_LOG_SQ_LSB)};
                    6'd17: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_SQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_QP_SQ_BASE_LSB)};
                    6'd18: {k_fail, k_status, k_at} = {bad_shift(r[`FRNIC_CMD_QP_RING_LEVELS_LSB], r[`FRNIC_CMD_QP_SQ_PAGE_SHIFT_LSB +: 8]), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_QP_SQ_PAGE_SHIFT_LSB)};
                    6'd19: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_DBREC_LSB +: 4] != 4'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_QP_DBREC_LSB)};
                    6'd20: {k_fail, k_status, k_at} = {!r_has_srq && {24'd0, r[`FRNIC_CMD_QP_LOG_RQ_LSB +: 8]} > LOG_RQ, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_QP_LOG_RQ_LSB)};
                    6'd21: {k_fail, k_status, k_at} = {!r_has_srq && (r[`FRNIC_CMD_QP_LOG_RQ_STRIDE_LSB +: 8] < 8'd5 || r[`FRNIC_CMD_QP_LOG_RQ_STRIDE_LSB +: 8] > 8'd9), `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_QP_LOG_RQ_STRIDE_LSB)};
                    6'd22: {k_fail, k_status, k_at} = {!r_has_srq && r[`FRNIC_CMD_QP_RQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_QP_RQ_BASE_LSB)};
                    6'd23: {k_fail, k_status, k_at} = {!r_has_srq && bad_shift(r[`FRNIC_CMD_QP_RING_LEVELS_LSB + 1], r[`FRNIC_CMD_QP_RQ_PAGE_SHIFT_LSB +: 8]), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_QP_RQ_PAGE_SHIFT_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd23;
            end
            `FRNIC_CMD_OP_MODIFY_QP: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_CTRL_TRANSPORT_LSB +: 8] != `FRNIC_TRANSPORT_ROCE2, `FRNIC_STATUS_BAD_TRANSPORT, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_INVALID_QPN, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {(mask & ~ALL_ATTRS) != 32'd0, `FRNIC_STATUS_ILLEGAL_ATTR, at(`FRNIC_CMD_QP_ATTR_MASK_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {to_full > {5'd0, `FRNIC_QP_STATE_ERR}, `FRNIC_STATUS_BAD_STATE, at(`FRNIC_CMD_QP_RQ_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_CUR_STATE_BIT] && r[`FRNIC_CMD_QP_RCQ_CUR_STATE_LSB +: 8] > {5'd0, `FRNIC_QP_STATE_ERR}, `FRNIC_STATUS_BAD_STATE, at(`FRNIC_CMD_QP_RCQ_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_CUR_STATE_BIT] && r[`FRNIC_CMD_QP_RCQ_CUR_STATE_LSB +: 8] != {5'd0, qp_state}, `FRNIC_STATUS_ILLEGAL_TRANSITION, at(`FRNIC_CMD_QP_RCQ_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {!trans_reg[42], `FRNIC_STATUS_ILLEGAL_TRANSITION, at(`FRNIC_CMD_QP_RQ_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {extra[`FRNIC_ATTR_RQ_PSN_BIT] && qp_state >= `FRNIC_QP_STATE_RTR, `FRNIC_STATUS_PSN_CONFLICT, at(`FRNIC_CMD_QP_RQ_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {extra[`FRNIC_ATTR_SQ_PSN_BIT] && qp_state >= `FRNIC_QP_STATE_RTS, `FRNIC_STATUS_PSN_CONFLICT, at(`FRNIC_CMD_QP_CONN_LSB)};
                    6'd10: {k_fail, k_status, k_at} = {extra != 32'd0, `FRNIC_STATUS_ILLEGAL_ATTR, at(`FRNIC_CMD_QP_ATTR_MASK_LSB)};
                    6'd11: {k_fail, k_status, k_at} = {(required & ~mask) != 32'd0, `FRNIC_STATUS_MISSING_ATTR, at(`FRNIC_CMD_QP_ATTR_MASK_LSB)};
                    6'd12: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_PKEY_INDEX_BIT] && ({16'd0, r[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16]} >= (32'd1 << LOG_PKEYS) || !pkey_ok_reg), `FRNIC_STATUS_BAD_PKEY, at(`FRNIC_CMD_QP_PKEY_INDEX_LSB)};
                    6'd13: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_ACCESS_BIT] && r[`FRNIC_CMD_QP_QP_ACCESS_LSB + 5 +: 3] != 3'd0, `FRNIC_STATUS_BAD_ACCESS, at(`FRNIC_CMD_QP_QP_ACCESS_LSB)};
                    6'd14: {k_fail, k_status, k_at} = {av && ({16'd0, r[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16]} >= (32'd1 << LOG_GIDS) || gid_type_reg == `FRNIC_GID_TYPE_NONE), `FRNIC_STATUS_BAD_GID_INDEX, at(`FRNIC_CMD_QP_SGID_INDEX_LSB)};
                    6'd15: {k_fail, k_status, k_at} = {av && r[`FRNIC_CMD_QP_UDP_DST_PORT_LSB +: 16] != 16'd4791, `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_UDP_LSB)};
                    6'd16: {k_fail, k_status, k_at} = {av && bad_mac(r[`FRNIC_CMD_QP_DMAC_LSB +: 48]), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_DMAC_LSB)};
                    6'd17: {k_fail, k_status, k_at} = {av && r_v4 != (gid_type_reg == `FRNIC_GID_TYPE_IPV4), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_DGID_LSB)};
                    6'd18: {k_fail, k_status, k_at} = {av && r_v4 && (r_dip4 == 32'd0 || r_dip4[31:29] == 3'b111), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_DIP4_LSB)};
                    6'd19: {k_fail, k_status, k_at} = {av && r_v4 && {r_dgid[103:96], r_dgid[111:104], r_dgid[119:112], r_dgid[127:120]} != r_dip4, `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_DGID_LSB)};
                    6'd20: {k_fail, k_status, k_at} = {av && !r_v4 && r_dip4 != 32'd0, `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_DIP4_LSB)};
                    6'd21: {k_fail, k_status, k_at} = {av && !r_v4 && (r_dgid[7:0] == 8'hff || r_dgid == 128'd0), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_DGID_LSB)};
                    6'd22: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_DEST_QPN_BIT] && (r_dqpn == 24'd0 || r_dqpn == 24'hffffff), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_QP_CONN_LSB)};
                    6'd23: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_PATH_MTU_BIT] && (r[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 8] < 8'd1 || r[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 8] > 8'd5), `FRNIC_STATUS_BAD_MTU, at(`FRNIC_CMD_QP_SCQ_LSB)};
                    6'd24: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_TIMEOUT_BIT] && r[`FRNIC_CMD_QP_TIMEOUT_LSB +: 8] > 8'd31, `FRNIC_STATUS_BAD_TIMER, at(`FRNIC_CMD_QP_TIMEOUT_LSB)};
                    6'd25: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_RETRY_CNT_BIT] && r[`FRNIC_CMD_QP_RETRY_CNT_LSB +: 8] > 8'd7, `FRNIC_STATUS_BAD_TIMER, at(`FRNIC_CMD_QP_RETRY_CNT_LSB)};
                    6'd26: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_RNR_RETRY_BIT] && r[`FRNIC_CMD_QP_RNR_RETRY_LSB +: 8] > 8'd7, `FRNIC_STATUS_BAD_TIMER, at(`FRNIC_CMD_QP_RNR_RETRY_LSB)};
                    6'd27: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_MIN_RNR_TIMER_BIT] && r[`FRNIC_CMD_QP_MIN_RNR_TIMER_LSB +: 8] > 8'd31, `FRNIC_STATUS_BAD_TIMER, at(`FRNIC_CMD_QP_MIN_RNR_TIMER_LSB)};
                    6'd28: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_ORD_BIT] && {24'd0, r[`FRNIC_CMD_QP_ORD_LSB +: 8]} > RD_ATOMIC, `FRNIC_STATUS_BAD_RD_ATOMIC, at(`FRNIC_CMD_QP_ORD_LSB)};
                    6'd29: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_IRD_BIT] && {24'd0, r[`FRNIC_CMD_QP_IRD_LSB +: 8]} > RD_ATOMIC, `FRNIC_STATUS_BAD_RD_ATOMIC, at(`FRNIC_CMD_QP_IRD_LSB)};
                    6'd30: {k_fail, k_status, k_at} = {rtr_to_rts && sq_pi != sq_ci, `FRNIC_STATUS_SQ_NOT_EMPTY, at(`FRNIC_CMD_QP_RQ_LSB)};
                    6'd31: {k_fail, k_status, k_at} = {rtr_to_rts && rec_err_reg, `FRNIC_STATUS_DMA_ERROR, at(`FRNIC_CMD_QP_DBREC_LSB)};
                    6'd32: {k_fail, k_status, k_at} = {rtr_to_rts && rec_pi_reg != sq_ci, `FRNIC_STATUS_SQ_NOT_EMPTY, at(`FRNIC_CMD_QP_RQ_LSB)};
                    // What was posted up to the error completes as flushed first.
                    6'd33: {k_fail, k_status, k_at} = {sqe_to_rts && sq_pi != sq_ci, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_QP_RQ_LSB)};
                    // READs and atomics that were started still have to be sent.
                    6'd34: {k_fail, k_status, k_at} = {mask[`FRNIC_ATTR_ORD_BIT] && r[`FRNIC_CMD_QP_ORD_LSB +: 8] == 8'd0 && sq_fetch != sq_ci, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_QP_ORD_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd34;
                // R2.5: software may have written WQEs as if the queue were live.
                k_rec = rtr_to_rts && chk_reg == 6'd30;
            end
            `FRNIC_CMD_OP_QUERY_QP: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_CTRL_TRANSPORT_LSB +: 8] != `FRNIC_TRANSPORT_ROCE2, `FRNIC_STATUS_BAD_TRANSPORT, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_INVALID_QPN, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd2;
            end
            `FRNIC_CMD_OP_DESTROY_QP: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_QP_CTRL_TRANSPORT_LSB +: 8] != `FRNIC_TRANSPORT_ROCE2, `FRNIC_STATUS_BAD_TRANSPORT, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_INVALID_QPN, at(`FRNIC_CMD_QP_CTRL_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_CREATE_CQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num[31:24] != 8'd0, `FRNIC_STATUS_BAD_CQN, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_live_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {!eq_found, `FRNIC_STATUS_BAD_EQN, at(`FRNIC_CMD_CQ_EQN_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_CQ_EQN_NOTIFY_LSB +: 8] > `FRNIC_CQ_NOTIFY_ARMED, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_CQ_EQN_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_CQ_FLAGS_LSB +: 8] != 8'd0, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_CQ_FLAGS_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {{16'd0, r[`FRNIC_CMD_CQ_UAR_LSB +: 16]} >= (32'd1 << LOG_UARS), `FRNIC_STATUS_BAD_UAR, at(`FRNIC_CMD_CQ_UAR_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {resize && {24'd0, r[`FRNIC_CMD_CQ_LOG_SIZE_LSB +: 8]} > LOG_CQE, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_CQ_LOG_SIZE_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {resize && r[`FRNIC_CMD_CQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_CQ_BASE_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {resize && (r[`FRNIC_CMD_CQ_LEVELS_LSB +: 8] > 8'd1 || bad_shift(r[`FRNIC_CMD_CQ_LEVELS_LSB], r[`FRNIC_CMD_CQ_PAGE_SHIFT_LSB +: 8])), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_CQ_LEVELS_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {resize && r[`FRNIC_CMD_CQ_DBREC_LSB +: 4] != 4'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_CQ_DBREC_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd9;
            end
            `FRNIC_CMD_OP_MODIFY_CQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_CQN, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_CQ_FLAGS_LSB + 2 +: 6] != 6'd0, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_CQ_FLAGS_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {live_reg[`FRNIC_CMD_CQ_LIVE0_STATE_LSB - 1024 +: 4] != 4'd1, `FRNIC_STATUS_BAD_STATE, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_CQ_FLAGS_LSB] && r[`FRNIC_CMD_CQ_EQN_NOTIFY_LSB +: 8] > `FRNIC_CQ_NOTIFY_ARMED, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_CQ_EQN_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {resize && {24'd0, r[`FRNIC_CMD_CQ_LOG_SIZE_LSB +: 8]} > LOG_CQE, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_CQ_LOG_SIZE_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {resize && r[`FRNIC_CMD_CQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_CQ_BASE_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {resize && (r[`FRNIC_CMD_CQ_LEVELS_LSB +: 8] > 8'd1 || bad_shift(r[`FRNIC_CMD_CQ_LEVELS_LSB], r[`FRNIC_CMD_CQ_PAGE_SHIFT_LSB +: 8])), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_CQ_LEVELS_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {resize && r[`FRNIC_CMD_CQ_DBREC_LSB +: 4] != 4'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_CQ_DBREC_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd8;
            end
            `FRNIC_CMD_OP_QUERY_CQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_CQN, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_DESTROY_CQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_CQN, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {refs_reg != 16'd0, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_CQ_CQN_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_CREATE_EQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= (32'd1 << LOG_EQS), `FRNIC_STATUS_BAD_EQN, at(`FRNIC_CMD_EQ_EQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_live_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_EQ_EQN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_EQ_VECTOR_LSB +: 16] >= {4'd0, msix_vectors}, `FRNIC_STATUS_BAD_VECTOR, at(`FRNIC_CMD_EQ_VECTOR_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_EQ_LOG_SIZE_LSB +: 8] < 8'd1 || {24'd0, r[`FRNIC_CMD_EQ_LOG_SIZE_LSB +: 8]} > LOG_EQE, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_EQ_LOG_SIZE_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_EQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_EQ_BASE_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd4;
            end
            `FRNIC_CMD_OP_QUERY_EQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_EQN, at(`FRNIC_CMD_EQ_EQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_EQ_EQN_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_DESTROY_EQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_EQN, at(`FRNIC_CMD_EQ_EQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {refs_reg != 16'd0, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_EQ_EQN_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_CREATE_SRQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num[31:24] != 8'd0, `FRNIC_STATUS_BAD_SRQN, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_live_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_SRQ_PD_LSB +: 32] == 32'd0 || r[`FRNIC_CMD_SRQ_PD_LSB + 24 +: 8] != 8'd0, `FRNIC_STATUS_BAD_PD, at(`FRNIC_CMD_SRQ_PD_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_SRQ_LOG_STRIDE_LSB +: 8] < 8'd5 || r[`FRNIC_CMD_SRQ_LOG_STRIDE_LSB +: 8] > 8'd9, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_SRQ_LOG_STRIDE_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {{16'd0, r[`FRNIC_CMD_SRQ_UAR_LSB +: 16]} >= (32'd1 << LOG_UARS), `FRNIC_STATUS_BAD_UAR, at(`FRNIC_CMD_SRQ_UAR_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_SRQ_FLAGS_LSB +: 8] != 8'd0, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_SRQ_FLAGS_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {!eq_found, `FRNIC_STATUS_BAD_EQN, at(`FRNIC_CMD_SRQ_EQN_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {{24'd0, r[`FRNIC_CMD_SRQ_LOG_SIZE_LSB +: 8]} > LOG_RQ, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_SRQ_LOG_SIZE_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_SRQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_SRQ_BASE_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {(r[`FRNIC_CMD_SRQ_LEVELS_LSB +: 8] > 8'd1 || bad_shift(r[`FRNIC_CMD_SRQ_LEVELS_LSB], r[`FRNIC_CMD_SRQ_PAGE_SHIFT_LSB +: 8])), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_SRQ_LEVELS_LSB)};
                    6'd10: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_SRQ_DBREC_LSB +: 4] != 4'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_SRQ_DBREC_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd10;
            end
            `FRNIC_CMD_OP_MODIFY_SRQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_SRQN, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_SRQ_FLAGS_LSB + 1 +: 7] != 7'd0, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_SRQ_FLAGS_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {srq_resize && live_reg[`FRNIC_CMD_SRQ_LIVE0_ERROR_LSB - 1024], `FRNIC_STATUS_BAD_STATE, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {srq_resize && {24'd0, r[`FRNIC_CMD_SRQ_LOG_SIZE_LSB +: 8]} > LOG_RQ, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_SRQ_LOG_SIZE_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {srq_resize && r[`FRNIC_CMD_SRQ_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_SRQ_BASE_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {srq_resize && (r[`FRNIC_CMD_SRQ_LEVELS_LSB +: 8] > 8'd1 || bad_shift(r[`FRNIC_CMD_SRQ_LEVELS_LSB], r[`FRNIC_CMD_SRQ_PAGE_SHIFT_LSB +: 8])), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_SRQ_LEVELS_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {srq_resize && r[`FRNIC_CMD_SRQ_DBREC_LSB +: 4] != 4'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_SRQ_DBREC_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {!srq_resize && srq_limit > srq_size_reg, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_SRQ_LIMIT_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {srq_asks && srq_resize && rec_err_reg, `FRNIC_STATUS_DMA_ERROR, at(`FRNIC_CMD_SRQ_DBREC_LSB)};
                    6'd10: {k_fail, k_status, k_at} = {srq_asks && srq_resize && {8'd0, srq_held} > (32'd1 << r[`FRNIC_CMD_SRQ_LOG_SIZE_LSB +: 5]), `FRNIC_STATUS_SRQ_TOO_FULL, at(`FRNIC_CMD_SRQ_LOG_SIZE_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd10;
                k_rec = srq_asks && chk_reg == 6'd8;
            end
            `FRNIC_CMD_OP_QUERY_SRQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_SRQN, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_DESTROY_SRQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_SRQN, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {refs_reg != 16'd0, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_SRQ_SRQN_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_CREATE_MR: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {key == 32'd0, `FRNIC_STATUS_BAD_KEY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_live_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_MR_PD_PD_LSB +: 24] == 24'd0, `FRNIC_STATUS_BAD_PD, at(`FRNIC_CMD_MR_PD_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r_type > `FRNIC_MR_TYPE_PHYS, r_type == `FRNIC_MR_TYPE_DM ? `FRNIC_STATUS_NOT_SUPPORTED : `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_MR_PD_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {bad_access(r[`FRNIC_CMD_MR_ACCESS_LSB +: 8]), `FRNIC_STATUS_BAD_ACCESS, at(`FRNIC_CMD_MR_ACCESS_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {r_type == `FRNIC_MR_TYPE_FRMR && r[`FRNIC_CMD_MR_MAX_PAGES_LSB +: 32] == 32'd0, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_MR_MAX_PAGES_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {mr_is_mr && mr_levels > 8'd2, `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_MR_LEVELS_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {mr_is_mr && bad_shift(mr_levels != 8'd0, r[`FRNIC_CMD_MR_PAGE_SHIFT_LSB +: 8]), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_MR_PAGE_SHIFT_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {mr_is_mr && mr_levels != 8'd0 && r[`FRNIC_CMD_MR_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_MR_BASE_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {mr_is_mr && (mr_wrap_reg || (mr_levels != 8'd0 && mr_huge_reg)), `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_MR_LENGTH_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd9;
            end
            `FRNIC_CMD_OP_MODIFY_MR: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_KEY, at(`FRNIC_CMD_MR_OLD_KEY_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {key == 32'd0 || key[8 +: LOG_MRS] != old_key[8 +: LOG_MRS], `FRNIC_STATUS_BAD_KEY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {c_type != `FRNIC_MR_TYPE_MR || r_type != `FRNIC_MR_TYPE_MR, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_MR_PD_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {live_reg[`FRNIC_CMD_MR_WINDOWS_LSB - 1024 +: 32] != 32'd0, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_MR_OLD_KEY_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_MR_PD_PD_LSB +: 24] == 24'd0, `FRNIC_STATUS_BAD_PD, at(`FRNIC_CMD_MR_PD_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {r_type > `FRNIC_MR_TYPE_PHYS, r_type == `FRNIC_MR_TYPE_DM ? `FRNIC_STATUS_NOT_SUPPORTED : `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_MR_PD_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {bad_access(r[`FRNIC_CMD_MR_ACCESS_LSB +: 8]), `FRNIC_STATUS_BAD_ACCESS, at(`FRNIC_CMD_MR_ACCESS_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {r_type == `FRNIC_MR_TYPE_FRMR && r[`FRNIC_CMD_MR_MAX_PAGES_LSB +: 32] == 32'd0, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_MR_MAX_PAGES_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {mr_is_mr && mr_levels > 8'd2, `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_MR_LEVELS_LSB)};
                    6'd9: {k_fail, k_status, k_at} = {mr_is_mr && bad_shift(mr_levels != 8'd0, r[`FRNIC_CMD_MR_PAGE_SHIFT_LSB +: 8]), `FRNIC_STATUS_BAD_PAGE, at(`FRNIC_CMD_MR_PAGE_SHIFT_LSB)};
                    6'd10: {k_fail, k_status, k_at} = {mr_is_mr && mr_levels != 8'd0 && r[`FRNIC_CMD_MR_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_MR_BASE_LSB)};
                    6'd11: {k_fail, k_status, k_at} = {mr_is_mr && (mr_wrap_reg || (mr_levels != 8'd0 && mr_huge_reg)), `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_MR_LENGTH_LSB)};
                    6'd12: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_MR_OLD_KEY_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd12;
            end
            `FRNIC_CMD_OP_QUERY_MR: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_KEY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_DESTROY_MR: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_KEY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {live_reg[`FRNIC_CMD_MR_WINDOWS_LSB - 1024 +: 32] != 32'd0, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_MR_KEY_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_SET_GID: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= (32'd1 << LOG_GIDS), `FRNIC_STATUS_BAD_GID_INDEX, at(`FRNIC_CMD_GID_INDEX_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {r_gid_type > `FRNIC_GID_TYPE_IPV6, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_GID_GID_TYPE_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r_gid_type != `FRNIC_GID_TYPE_NONE && r[`FRNIC_CMD_GID_VLAN_VALID_LSB +: 8] > 8'd1, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_GID_VLAN_VALID_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r_gid_type != `FRNIC_GID_TYPE_NONE && r[`FRNIC_CMD_GID_VLAN_VALID_LSB] && r[`FRNIC_CMD_GID_VLAN_TCI_LSB +: 16] > 16'd4094, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_GID_VLAN_TCI_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {r_gid_type != `FRNIC_GID_TYPE_NONE && bad_mac(r[`FRNIC_CMD_GID_SMAC_LSB +: 48]), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_GID_SMAC_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {r_gid_type != `FRNIC_GID_TYPE_NONE && (is_v4(r_gid) != (r_gid_type == `FRNIC_GID_TYPE_IPV4) || is_mcast(r_gid) || r_gid == 128'd0 || (is_v4(r_gid) && r_gid[127:96] == 32'd0)), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_GID_GID_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd5;
            end
            `FRNIC_CMD_OP_QUERY_GID: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= (32'd1 << LOG_GIDS), `FRNIC_STATUS_BAD_GID_INDEX, at(`FRNIC_CMD_GID_INDEX_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_GID_INDEX_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_SET_PKEY: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= (32'd1 << LOG_PKEYS), `FRNIC_STATUS_BAD_INDEX, at(`FRNIC_CMD_PKEY_INDEX_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_PKEY_PKEY_LSB + 16 +: 16] != 16'd0 || r[`FRNIC_CMD_PKEY_PKEY_LSB +: 16] == 16'h8000, `FRNIC_STATUS_BAD_PKEY, at(`FRNIC_CMD_PKEY_PKEY_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_QUERY_PKEY: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= (32'd1 << LOG_PKEYS), `FRNIC_STATUS_BAD_INDEX, at(`FRNIC_CMD_PKEY_INDEX_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_err_reg, `FRNIC_STATUS_PARITY, at(`FRNIC_CMD_PKEY_INDEX_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd1;
            end
            `FRNIC_CMD_OP_ATTACH_MCAST: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_INVALID_QPN, at(`FRNIC_CMD_MCAST_QPN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {c_type != {5'd0, `FRNIC_QP_TYPE_UD}, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_MCAST_QPN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {!is_mcast(r[`FRNIC_CMD_MCAST_GID_LSB +: 128]), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_MCAST_GID_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {hit_valid_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_MCAST_GID_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {!free_valid_reg, `FRNIC_STATUS_TABLE_FULL, 8'd0};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd4;
            end
            `FRNIC_CMD_OP_DETACH_MCAST: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_INVALID_QPN, at(`FRNIC_CMD_MCAST_QPN_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {c_type != {5'd0, `FRNIC_QP_TYPE_UD}, `FRNIC_STATUS_BAD_TYPE, at(`FRNIC_CMD_MCAST_QPN_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {!is_mcast(r[`FRNIC_CMD_MCAST_GID_LSB +: 128]), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_MCAST_GID_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {!hit_valid_reg, `FRNIC_STATUS_NOT_FOUND, at(`FRNIC_CMD_MCAST_GID_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd3;
            end
            `FRNIC_CMD_OP_CREATE_ETHQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= ETHQS, `FRNIC_STATUS_BAD_INDEX, at(`FRNIC_CMD_ETHQ_INDEX_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {own_live_reg, `FRNIC_STATUS_BUSY, at(`FRNIC_CMD_ETHQ_INDEX_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {!eq_found, `FRNIC_STATUS_BAD_EQN, at(`FRNIC_CMD_ETHQ_EQN_LSB)};
                    6'd3: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_ETHQ_LOG_TX_LSB +: 8] > 8'd16, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_ETHQ_LOG_TX_LSB)};
                    6'd4: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_ETHQ_LOG_RX_LSB +: 8] > 8'd16, `FRNIC_STATUS_BAD_SIZE, at(`FRNIC_CMD_ETHQ_LOG_RX_LSB)};
                    6'd5: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_ETHQ_TX_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_ETHQ_TX_BASE_LSB)};
                    6'd6: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_ETHQ_RX_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_ETHQ_RX_BASE_LSB)};
                    6'd7: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_ETHQ_RXC_BASE_LSB +: 12] != 12'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_ETHQ_RXC_BASE_LSB)};
                    6'd8: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_ETHQ_DBREC_LSB +: 4] != 4'd0, `FRNIC_STATUS_BAD_ALIGN, at(`FRNIC_CMD_ETHQ_DBREC_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd8;
            end
            `FRNIC_CMD_OP_QUERY_ETHQ, `FRNIC_CMD_OP_DESTROY_ETHQ: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {!hit, `FRNIC_STATUS_BAD_INDEX, at(`FRNIC_CMD_ETHQ_INDEX_LSB)};
                    default: k_fail = 1'b0;
                endcase
            end
            `FRNIC_CMD_OP_SET_MAC: begin
                case (chk_reg)
                    6'd0: {k_fail, k_status, k_at} = {num >= MACS, `FRNIC_STATUS_BAD_INDEX, at(`FRNIC_CMD_MAC_INDEX_LSB)};
                    6'd1: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_MAC_VALID_LSB +: 32] > 32'd1, `FRNIC_STATUS_BAD_RESERVED, at(`FRNIC_CMD_MAC_VALID_LSB)};
                    6'd2: {k_fail, k_status, k_at} = {r[`FRNIC_CMD_MAC_VALID_LSB] && bad_mac(r[`FRNIC_CMD_MAC_MAC_LSB +: 48]), `FRNIC_STATUS_BAD_ADDRESS, at(`FRNIC_CMD_MAC_MAC_LSB)};
                    default: k_fail = 1'b0;
                endcase
                k_last = chk_reg >= 6'd2;
            end
            `FRNIC_CMD_OP_NOP: k_fail = 1'b0;
            default: {k_fail, k_status, k_at} = {1'b1, `FRNIC_STATUS_BAD_OPCODE, 8'd0};
        endcase
    end

    // ---- What a command writes ----
    wire modify_live = op == `FRNIC_CMD_OP_MODIFY_QP && !to_reset; // neither made anew nor back to RST
    /* verilator lint_off UNUSED */
    wire [1023:0] b = verb == V_CREATE ? r : c;
    /* verilator lint_on UNUSED */
    wire b_srq = b[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB];
    wire [23:0] new_dqpn = mask[`FRNIC_ATTR_DEST_QPN_BIT] ? r_dqpn : {c[`FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI_LSB +: 8], c[`FRNIC_CMD_QP_CONN_REMOTE_QPN_LO_LSB +: 16]};
    wire [15:0] new_sport = av ? r[`FRNIC_CMD_QP_UDP_SRC_PORT_LSB +: 16] : c[`FRNIC_CMD_QP_UDP_SRC_PORT_LSB +: 16];
    reg [23:0] hash_in_reg;
    /* verilator lint_off UNUSED */
    reg [31:0] hash_reg;
    /* verilator lint_on UNUSED */
    reg [1023:0] conn;

    always @(posedge clk) begin
        hash_in_reg <= c_qpn ^ new_dqpn;
        hash_reg <= {8'd0, hash_in_reg} * 32'h9e3779b1;
    end

    always @* begin
        conn = 1024'd0;
        if (modify_live) begin
            conn = c;
            conn[`FRNIC_CMD_QP_ATTR_MASK_LSB + 16] = mask[`FRNIC_ATTR_EN_SQD_ASYNC_BIT];
            if (mask[`FRNIC_ATTR_ACCESS_BIT]) conn[`FRNIC_CMD_QP_QP_ACCESS_LSB +: 8] = r[`FRNIC_CMD_QP_QP_ACCESS_LSB +: 8];
            if (mask[`FRNIC_ATTR_PKEY_INDEX_BIT]) conn[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16] = r[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16];
            if (mask[`FRNIC_ATTR_QKEY_BIT]) conn[`FRNIC_CMD_QP_QKEY_LSB +: 32] = r[`FRNIC_CMD_QP_QKEY_LSB +: 32];
            conn[`FRNIC_CMD_QP_CONN_REMOTE_QPN_LO_LSB +: 16] = new_dqpn[15:0];
            conn[`FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI_LSB +: 8] = new_dqpn[23:16];
            if (av) begin
                conn[`FRNIC_CMD_QP_DIP4_LSB +: 32] = r_dip4;
                conn[`FRNIC_CMD_QP_UDP_SRC_PORT_LSB +: 16] = r[`FRNIC_CMD_QP_UDP_SRC_PORT_LSB +: 16];
                conn[`FRNIC_CMD_QP_DMAC_LSB +: 64] = r[`FRNIC_CMD_QP_DMAC_LSB +: 64]; // and hop limit, traffic class
                conn[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16] = r[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16];
                conn[`FRNIC_CMD_QP_FLOW_FLOW_LABEL_LSB +: 20] = r[`FRNIC_CMD_QP_FLOW_FLOW_LABEL_LSB +: 20];
                conn[`FRNIC_CMD_QP_DGID_LSB +: 128] = r_dgid;
            end
            // Not given: a port of the dynamic range that spreads connections over links.
            if (av || mask[`FRNIC_ATTR_DEST_QPN_BIT]) conn[`FRNIC_CMD_QP_ATTR_MASK_LSB +: 16] = new_sport != 16'd0 ? new_sport : {2'b11, hash_reg[31:18]};
            if (mask[`FRNIC_ATTR_PATH_MTU_BIT]) begin
                conn[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 8] = r[`FRNIC_CMD_QP_SCQ_PATH_MTU_LSB +: 8];
                conn[`FRNIC_CMD_QP_UDP_DST_PORT_LSB +: 16] = 16'd4791;
            end
            if (mask[`FRNIC_ATTR_TIMEOUT_BIT]) conn[`FRNIC_CMD_QP_TIMEOUT_LSB +: 8] = r[`FRNIC_CMD_QP_TIMEOUT_LSB +: 8];
            if (mask[`FRNIC_ATTR_RETRY_CNT_BIT]) conn[`FRNIC_CMD_QP_RETRY_CNT_LSB +: 8] = r[`FRNIC_CMD_QP_RETRY_CNT_LSB +: 8];
            if (mask[`FRNIC_ATTR_RNR_RETRY_BIT]) conn[`FRNIC_CMD_QP_RNR_RETRY_LSB +: 8] = r[`FRNIC_CMD_QP_RNR_RETRY_LSB +: 8];
            if (mask[`FRNIC_ATTR_MIN_RNR_TIMER_BIT]) conn[`FRNIC_CMD_QP_MIN_RNR_TIMER_LSB +: 8] = r[`FRNIC_CMD_QP_MIN_RNR_TIMER_LSB +: 8];
            if (mask[`FRNIC_ATTR_ORD_BIT]) conn[`FRNIC_CMD_QP_ORD_LSB +: 8] = r[`FRNIC_CMD_QP_ORD_LSB +: 8];
            if (mask[`FRNIC_ATTR_IRD_BIT]) conn[`FRNIC_CMD_QP_IRD_LSB +: 8] = r[`FRNIC_CMD_QP_IRD_LSB +: 8];
            if (mask[`FRNIC_ATTR_RQ_PSN_BIT]) conn[`FRNIC_CMD_QP_RQ_RQ_PSN_LSB +: 24] = r[`FRNIC_CMD_QP_RQ_RQ_PSN_LSB +: 24];
            if (mask[`FRNIC_ATTR_SQ_PSN_BIT]) begin
                conn[`FRNIC_CMD_QP_CONN_SQ_PSN_LO_LSB +: 16] = r[`FRNIC_CMD_QP_CONN_SQ_PSN_LO_LSB +: 16];
                conn[`FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI_LSB +: 8] = r[`FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI_LSB +: 8];
            end
        end else begin
            // What CREATE_QP gives stays until the QP is destroyed, all else begins at zero.
            conn[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16] = b[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16];
            conn[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8] = b[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8];
            conn[`FRNIC_CMD_QP_PD_LSB +: 32] = b[`FRNIC_CMD_QP_PD_LSB +: 32];
            conn[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24] = b[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24];
            conn[`FRNIC_CMD_QP_RCQ_RECV_CQN_LSB +: 24] = b[`FRNIC_CMD_QP_RCQ_RECV_CQN_LSB +: 24];
            conn[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 32] = b[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 32]; // and the GID index
            conn[`FRNIC_CMD_QP_QKEY_LSB +: 32] = b[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 3] == `FRNIC_QP_TYPE_GSI ? `FRNIC_GSI_QKEY : 32'd0;
            conn[`FRNIC_CMD_QP_SQ_BASE_LSB +: 64] = b[`FRNIC_CMD_QP_SQ_BASE_LSB +: 64];
            conn[`FRNIC_CMD_QP_DBREC_LSB +: 64] = b[`FRNIC_CMD_QP_DBREC_LSB +: 64];
            conn[`FRNIC_CMD_QP_LOG_SQ_LSB +: 64] = b[`FRNIC_CMD_QP_LOG_SQ_LSB +: 64];
            conn[`FRNIC_CMD_QP_IRD_LSB +: 16] = b[`FRNIC_CMD_QP_IRD_LSB +: 16];
            conn[`FRNIC_CMD_QP_QP_FLAGS_LSB +: 8] = b[`FRNIC_CMD_QP_QP_FLAGS_LSB +: 8];
            conn[`FRNIC_CMD_QP_USER_HANDLE_LSB +: 32] = b[`FRNIC_CMD_QP_USER_HANDLE_LSB +: 32];
            if (b_srq) begin
                conn[`FRNIC_CMD_QP_SRQ_SRQN_LSB +: 24] = b[`FRNIC_CMD_QP_SRQ_SRQN_LSB +: 24];
                conn[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB] = 1'b1;
                conn[`FRNIC_CMD_QP_LOG_RQ_LSB +: 16] = 16'd0; // and the stride
                conn[`FRNIC_CMD_QP_RING_LEVELS_LSB + 1] = 1'b0;
                conn[`FRNIC_CMD_QP_RQ_PAGE_SHIFT_LSB +: 8] = 8'd0;
            end else begin
                conn[`FRNIC_CMD_QP_RQ_BASE_LSB +: 64] = b[`FRNIC_CMD_QP_RQ_BASE_LSB +: 64];
            end
        end
    end

    // Draining goes on in SQD until the requester says that it is done.
    wire draining = to == `FRNIC_QP_STATE_SQD && (qp_state == `FRNIC_QP_STATE_RTS || live_reg[`FRNIC_CMD_QP_LIVE0_SQ_DRAINING_LSB - 1024]);
    wire [15:0] buf16 = {{(16-LOG_BUFS){1'b0}}, buf_reg};
    wire [31:0] live_aux = {has_buf_reg ? buf16 : 16'd0, 4'd0, qp_state, prealloc, op == `FRNIC_CMD_OP_MODIFY_QP && to_reset, has_buf_reg,
        rtr_to_rts, qp_state == `FRNIC_QP_STATE_INIT && to == `FRNIC_QP_STATE_RTR, draining, to};

    // The other objects: the request's words, less what a kind of object does not have.
    reg [1023:0] other;
    reg [63:0] other_live;
    wire mr_whole = r_type == `FRNIC_MR_TYPE_MR || r_type == `FRNIC_MR_TYPE_PHYS;

    always @* begin
        other = r;
        other_live = 64'd0;
        case (cls)
            C_MR: begin
                other[`FRNIC_CMD_MR_STATE_LSB +: 8] = mr_whole ? `FRNIC_MR_STATE_VALID : `FRNIC_MR_STATE_FREE;
                if (!mr_whole) other[`FRNIC_CMD_MR_ACCESS_LSB +: 8] = 8'd0;
                if (!mr_is_mr) begin
                    other[`FRNIC_CMD_MR_LEVELS_LSB +: 16] = 16'd0; // and the page shift
                    other[`FRNIC_CMD_MR_IOVA_LSB +: 192] = 192'd0; // and length, base
                end
                if (r_type != `FRNIC_MR_TYPE_FRMR) other[`FRNIC_CMD_MR_MAX_PAGES_LSB +: 32] = 32'd0;
            end
            C_SRQ: begin
                if (verb == V_MODIFY) begin
                    other = c;
                    other_live = live_reg[63:0];
                    if (srq_more) other_live[`FRNIC_CMD_SRQ_LIVE0_PI_LSB - 1024 +: 24] = rec_pi_reg;
                    if (srq_resize) begin
                        other[`FRNIC_CMD_SRQ_LOG_SIZE_LSB +: 8] = r[`FRNIC_CMD_SRQ_LOG_SIZE_LSB +: 8];
                        other[`FRNIC_CMD_SRQ_LEVELS_LSB +: 16] = r[`FRNIC_CMD_SRQ_LEVELS_LSB +: 16]; // and the page shift
                        other[`FRNIC_CMD_SRQ_BASE_LSB +: 128] = r[`FRNIC_CMD_SRQ_BASE_LSB +: 128]; // and the record
                    end else begin
                        other[`FRNIC_CMD_SRQ_LIMIT_LSB +: 32] = srq_limit;
                        other_live[`FRNIC_CMD_SRQ_LIVE0_LIMIT_ARMED_LSB - 1024] = srq_limit != 32'd0 && !srq_fires;
                        if (srq_breaks) other_live[`FRNIC_CMD_SRQ_LIVE0_ERROR_LSB - 1024] = 1'b1;
                    end
                end else begin
                    other[`FRNIC_CMD_SRQ_UAR_LSB + 16 +: 16] = 16'd0;
                    other[`FRNIC_CMD_SRQ_LIMIT_LSB +: 32] = 32'd0;
                end
            end
            C_GID: begin
                other[`FRNIC_CMD_GID_SMAC_LSB + 48 +: 16] = 16'd0;
                if (!r[`FRNIC_CMD_GID_VLAN_VALID_LSB]) other[`FRNIC_CMD_GID_VLAN_TCI_LSB +: 16] = 16'd0;
            end
            default: other = r;
        endcase
    end

    // ---- Actions of READY, in order ----
    localparam [2:0] A_END = 3'd0, A_SLOT = 3'd1, A_REF = 3'd2, A_DROP = 3'd3, A_SKIP = 3'd4;
    localparam [1:0] R_CQ = 2'd0, R_EQ = 2'd1, R_SRQ = 2'd2;
    reg [2:0] a_kind;
    reg [3:0] a_sel;
    reg [1:0] a_op;
    reg [23:0] a_index;
    reg [1:0] a_ref;
    wire a_down = verb == V_DESTROY;
    // A QP that ends or goes back to RST: the live words first, behind the fence, and then the connection. What was fetched of it before is sent to its
    // peer, and what comes between the two finds RST. All else the other way round: nobody sees a state whose connection is not there yet.
    wire live_first = a_down || (op == `FRNIC_CMD_OP_MODIFY_QP && to_reset);
    /* verilator lint_off UNUSED */
    wire [1023:0] rc = verb == V_DESTROY ? c : r; // where the references stand
    /* verilator lint_on UNUSED */

    always @* begin
        a_kind = A_END;
        a_sel = SL_QP;
        a_op = verb == V_CREATE ? OP_CREATE : verb == V_DESTROY ? OP_CLEAR : OP_MODIFY;
        a_index = num[23:0];
        a_ref = R_EQ;
        case (cls)
            C_QP: begin
                a_index = r_qpn;
                if (verb == V_QUERY || op == `FRNIC_CMD_OP_NOP || (op == `FRNIC_CMD_OP_MODIFY_QP && to_reset && qp_state == `FRNIC_QP_STATE_RST)) begin
                    a_kind = A_END;
                end else begin
                    case (n_reg)
                        5'd0: begin
                            a_kind = op == `FRNIC_CMD_OP_MODIFY_QP && to_error ? A_SKIP : A_SLOT;
                            a_sel = live_first ? SL_LIVE : SL_QP;
                        end
                        5'd1: begin
                            a_kind = A_SLOT;
                            a_sel = live_first ? SL_QP : SL_LIVE;
                        end
                        5'd2: begin
                            a_kind = verb == V_MODIFY ? A_END : A_REF;
                            a_ref = R_CQ;
                            a_index = rc[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24];
                        end
                        5'd3: begin
                            a_kind = A_REF;
                            a_ref = R_CQ;
                            a_index = rc[`FRNIC_CMD_QP_RCQ_RECV_CQN_LSB +: 24];
                        end
                        5'd4: begin
                            a_kind = rc[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB] ? A_REF : A_SKIP;
                            a_ref = R_SRQ;
                            a_index = rc[`FRNIC_CMD_QP_SRQ_SRQN_LSB +: 24];
                        end
                        5'd5: a_kind = verb == V_DESTROY && used_mcasts != {(LOG_MCASTS+1){1'b0}} ? A_DROP : A_END;
                        default: a_kind = A_END;
                    endcase
                end
            end
            C_CQ, C_SRQ, C_ETHQ: begin
                a_sel = cls == C_CQ ? SL_CQ : cls == C_SRQ ? SL_SRQ : SL_ETHQ;
                if (n_reg == 5'd0 && verb != V_QUERY) begin
                    a_kind = A_SLOT;
                end else if (n_reg == 5'd1 && (verb == V_CREATE || verb == V_DESTROY)) begin
                    a_kind = A_REF;
                    a_index = cls == C_SRQ ? rc[`FRNIC_CMD_SRQ_EQN_LSB +: 24] : rc[`FRNIC_CMD_CQ_EQN_EQN_LSB +: 24];
                end
            end
            C_EQ: begin
                a_sel = SL_EQ;
                a_kind = n_reg == 5'd0 && verb != V_QUERY ? A_SLOT : A_END;
            end
            C_MR: begin
                a_sel = SL_MR;
                a_kind = n_reg == 5'd0 && verb != V_QUERY ? A_SLOT : A_END;
                a_op = verb == V_CREATE ? OP_CREATE : verb == V_DESTROY ? OP_CLEAR : OP_MODIFY; // which replaces the context whole, behind a fence
                a_index = key[31:8];
            end
            C_GID, C_PKEY: begin
                a_sel = cls == C_GID ? SL_GID : SL_PKEY;
                a_kind = n_reg == 5'd0 && verb != V_QUERY ? A_SLOT : A_END;
                a_op = (cls == C_GID ? r_gid_type == `FRNIC_GID_TYPE_NONE : r[`FRNIC_CMD_PKEY_PKEY_LSB +: 16] == 16'd0) ? OP_CLEAR : OP_CREATE;
            end
            C_MCAST: begin
                a_sel = SL_MCAST;
                a_kind = n_reg == 5'd0 ? A_SLOT : A_END;
                a_op = verb == V_CREATE ? OP_CREATE : OP_CLEAR;
                a_index = verb == V_CREATE ? {{(24-LOG_MCASTS){1'b0}}, free_reg} : {{(24-LOG_MCASTS){1'b0}}, hit_reg};
            end
            default: a_kind = A_END; // SET_MAC: the update bus is all
        endcase
        if (moved_reg) begin
            a_kind = A_SLOT;
            a_sel = SL_QP;
            a_op = OP_MODIFY;
            a_index = r_qpn;
        end
    end

    // ---- Reference counts (who refers to a CQ, EQ, SRQ) ----
    reg ref_asked_reg = 1'b0;
    wire ref_sweeping;
    wire [LOG_REF+1:0] ref_swept;
    wire [LOG_REF+1:0] ref_addr = ph_reg == PH_REF ? {cls == C_CQ ? R_CQ : cls == C_EQ ? R_EQ : R_SRQ, num[LOG_REF-1:0] & ref_mask} :
        {a_ref, a_index[LOG_REF-1:0] & a_mask};
    wire [LOG_REF-1:0] ref_mask = cls == C_CQ ? (1 << LOG_CQS) - 1 : cls == C_EQ ? (1 << LOG_EQS) - 1 : (1 << LOG_SRQS) - 1;
    wire [LOG_REF-1:0] a_mask = a_ref == R_CQ ? (1 << LOG_CQS) - 1 : a_ref == R_EQ ? (1 << LOG_EQS) - 1 : (1 << LOG_SRQS) - 1;
    wire ref_valid;
    wire [15:0] ref_data;
    wire ref_err;
    wire ref_write = ph_reg == PH_COUNT && ref_valid;

    frnic_sweep #(.LOG_ENTRIES(LOG_REF + 2)) ref_sweeper (
        .clk(clk), .rst(rst), .sweep(sweep), .done(sweep_done), .used_valid(ref_write), .used_index(ref_addr), .end_valid(ref_sweeping),
        .end_index(ref_swept)
    );

    frnic_ram_sdp_parity #(.DATA_W(16), .LOG_DEPTH(LOG_REF + 2), .READ_LATENCY(2), .STYLE("block")) refs (
        .clk(clk), .rst(rst),
        .wr_en(ref_write || ref_sweeping), .wr_addr(ref_sweeping ? ref_swept : ref_addr),
        .wr_data(ref_sweeping ? 16'd0 : a_down ? ref_data - 1'b1 : ref_data + 1'b1), .wr_flip(2'd0),
        .rd_en((ph_reg == PH_REF || ph_reg == PH_COUNT) && !ref_asked_reg), .rd_addr(ref_addr),
        .rd_valid(ref_valid), .rd_data(ref_data), .rd_parity_err(ref_err)
    );

    // ---- Snapshot ----
    wire has_snapshot = verb == V_QUERY || op == `FRNIC_CMD_OP_MODIFY_CQ;
    reg [63:0] snap;
    wire [63:0] c_word = c[{n_reg[3:0], 6'd0} +: 64];
    wire [63:0] l_word = live_reg[{n_reg[2:0], 6'd0} +: 64];

    always @* begin
        snap = n_reg[4] ? (n_reg <= 5'd22 ? l_word : 64'd0) : c_word;
        case (cls)
            C_QP: begin
                case (n_reg)
                    5'd0: snap = {c_word[63:32], r[31:0]};
                    5'd3: snap = {32'd0, c_word[31:0]};
                    5'd4: snap = {c_word[63:32], 5'd0, qp_state, c_word[23:0]};
                    5'd5: snap = {5'd0, qp_state, c_word[55:32], c_word[31:0]};
                    default: snap = snap;
                endcase
            end
            default: begin
                case (n_reg)
                    5'd0: snap = {32'd0, r[31:0]};
                    5'd4: if (cls == C_GID || cls == C_PKEY) snap = {c_word[63:32], num};
                    5'd5: if (cls == C_CQ) snap = {c_word[63:32], 8'd0, c_word[23:0]};
                    5'd8: if (cls == C_SRQ) snap = {c_word[63:32], live_reg[`FRNIC_CMD_SRQ_LIVE0_LIMIT_ARMED_LSB - 1024] ? c_word[31:0] : 32'd0};
                    5'd17: begin
                        if (cls == C_CQ) snap = {16'd0, refs_reg, l_word[31:0]};
                        if (cls == C_EQ) snap = {l_word[63:32], 16'd0, refs_reg};
                        if (cls == C_SRQ) snap = {32'd0, 16'd0, refs_reg};
                    end
                    default: snap = snap;
                endcase
            end
        endcase
    end

    wire good = status_reg == `FRNIC_STATUS_SUCCESS;
    wire [63:0] resp_word = n_reg == 5'd30 ? {24'd0, qp_state_reg, 24'd0, good ? 8'd0 : detail_reg} :
        n_reg == 5'd31 ? {owner_reg, 15'd0, op, status_reg, time_ns - start_reg} : good && has_snapshot ? snap : 64'd0;

    // ---- Register group: request image as software wrote it, response image of the last command from there ----
    (* ram_style = "distributed" *)
    reg [31:0] qm_mem [0:63];
    reg [63:0] qm_written_reg = 64'd0; // others read 0
    (* ram_style = "distributed" *)
    reg [63:0] qmr_mem [0:31];
    reg qmr_snap_reg = 1'b0;
    reg [127:0] qmr_tail_reg = 128'd0;
    wire [5:0] csr_word = csr_addr[7:2];
    wire qmr_sel = csr_addr[8];
    wire regs_busy = ph_reg != PH_IDLE && !from_ring_reg;
    wire start = csr_req && csr_write && !qmr_sel && csr_word == 6'd0;
    wire start_ok = start && ph_reg == PH_IDLE && !resetting && !fatal;
    wire [7:0] start_status = resetting ? `FRNIC_STATUS_IN_RESET : fatal ? `FRNIC_STATUS_FATAL : `FRNIC_STATUS_BUSY;
    wire refuse = (start && !start_ok) || refuse_valid;
    wire [7:0] refuse_code = refuse_valid ? refuse_status : start_status;
    wire [7:0] refuse_op = refuse_valid ? 8'd0 : csr_wdata[`FRNIC_REG_QP_CTRL_OPCODE_LSB +: 8];
    wire qm_write = csr_req && csr_write && !qmr_sel && !regs_busy && (csr_word != 6'd0 || start_ok);
    wire [31:0] load_word = qm_written_reg[{1'b0, n_reg}] ? qm_mem[{1'b0, n_reg}] : 32'd0;
    wire [63:0] qmr_word = qmr_mem[csr_word[5:1]];

    // A refusal and the end of a command in one cycle: the refusal waits (start and refuse_valid are pulses, kept here).
    reg refuse_reg = 1'b0;
    reg [7:0] refuse_code_reg;
    reg [7:0] refuse_op_reg;

    assign ring_ready = ph_reg == PH_IDLE && !resetting && !fatal && !start && !refuse_reg;
    assign take_valid = ph_reg == PH_ALLOC && op == `FRNIC_CMD_OP_CREATE_QP && prealloc && !has_buf_reg;
    assign give_buf = buf_reg;
    assign rec_req_addr = cls == C_SRQ ? {c[`FRNIC_CMD_SRQ_DBREC_LSB + 4 +: 60], 4'd4} : c[`FRNIC_CMD_QP_DBREC_LSB +: 64];
    assign rec_resp_ready = 1'b1;

    wire [LOG_MCASTS-1:0] scan_last = {LOG_MCASTS{1'b1}};
    wire mc_match = {8'd0, sl_rdata[`FRNIC_CMD_MCAST_QPN_QPN_LSB +: 24]} == num &&
        sl_rdata[`FRNIC_CMD_MCAST_GID_LSB +: 128] == r[`FRNIC_CMD_MCAST_GID_LSB +: 128];

    always @(posedge clk) begin
        if (qm_write) begin
            qm_mem[csr_word] <= csr_wdata;
        end
        if (ph_reg == PH_RESP && !from_ring_reg && n_reg < 5'd30) begin
            qmr_mem[n_reg] <= snap;
        end
    end

    // ---- The FSM ----
    always @(posedge clk) begin
        csr_done <= csr_req;
        csr_rdata <= !qmr_sel ? (qm_written_reg[csr_word] ? qm_mem[csr_word] : 32'd0) :
            csr_word >= 6'd60 ? qmr_tail_reg[{csr_word[1:0], 5'd0} +: 32] : !qmr_snap_reg ? 32'd0 : csr_word[0] ? qmr_word[63:32] : qmr_word[31:0];
        ev_fsm_error <= 1'b0;
        ev_ok <= 1'b0;
        ev_failed <= 1'b0;
        ev_no_buf <= 1'b0;
        ev_parity <= (ph_reg == PH_REF || ph_reg == PH_COUNT) && ref_err;
        ring_resp_valid <= 1'b0;
        ring_resp_last <= 1'b0;
        upd_valid <= 1'b0;
        if (qm_write) begin
            qm_written_reg[csr_word] <= 1'b1;
        end
        if (give_ready) begin
            give_valid <= 1'b0;
        end
        if (ev_ready) begin
            ev_valid <= 1'b0;
        end
        if (sl_ready) begin
            sl_valid <= 1'b0;
        end

        // Doorbell record: an answer that nobody wants any more is taken as well.
        if (rec_req_ready) begin
            rec_req_valid <= 1'b0;
        end
        if (rec_resp_valid && rec_resp_last) begin
            rec_open_reg <= 1'b0;
            if (rec_wanted_reg) begin
                rec_done_reg <= 1'b1;
                rec_err_reg <= rec_resp_error;
                rec_pi_reg <= cls == C_SRQ ? rec_resp_data[{rec_lane_reg, 7'd32} +: 24] : rec_resp_data[{rec_lane_reg, 7'd0} +: 24];
            end
        end

        case (ph_reg)
            PH_IDLE: begin
                n_reg <= 5'd0;
                chk_reg <= 6'd0;
                again_reg <= 1'b0;
                moved_reg <= 1'b0;
                has_buf_reg <= 1'b0;
                detail_reg <= 8'd0;
                qp_state_reg <= 8'd0;
                start_reg <= time_ns;
                if (start_ok) begin
                    from_ring_reg <= 1'b0;
                    owner_reg <= 1'b1;
                    state_reg <= `FRNIC_QM_STATE_REG_CHECK;
                    qmr_snap_reg <= 1'b0;
                    qmr_tail_reg <= 128'd0;
                    ph_reg <= PH_LOAD;
                end else if (ring_valid && ring_ready) begin
                    from_ring_reg <= 1'b1;
                    owner_reg <= ring_owner;
                    req_reg <= ring_req;
                    state_reg <= `FRNIC_QM_STATE_REG_CHECK;
                    ph_reg <= PH_FETCH;
                end
            end

            PH_LOAD: begin
                req_reg <= {load_word, req_reg[1023:32]};
                n_reg <= n_reg + 1'b1;
                if (n_reg == 5'd31) begin
                    ph_reg <= PH_FETCH;
                end
            end

            PH_FETCH: begin
                rec_done_reg <= 1'b0;
                rec_err_reg <= 1'b0;
                rec_asked_reg <= 1'b0;
                if (n_reg == 5'd0) begin
                    own_live_reg <= 1'b0;
                    own_err_reg <= 1'b0;
                    ctx_reg <= 1024'd0;
                    live_reg <= 448'd0;
                    eq_ok_reg <= 1'b0;
                    scq_ok_reg <= 1'b0;
                    rcq_ok_reg <= 1'b0;
                    srq_ok_reg <= 1'b0;
                    gid_type_reg <= 8'd0;
                    pkey_ok_reg <= 1'b0;
                    hit_valid_reg <= 1'b0;
                    free_valid_reg <= 1'b0;
                    scan_reg <= {LOG_MCASTS{1'b0}};
                    seen_reg <= {(LOG_MCASTS+1){1'b0}};
                end
                if (n_reg[2]) begin
                    chk_reg <= 6'd0;
                    ref_asked_reg <= 1'b0;
                    ph_reg <= cls == C_MCAST ? PH_SCAN : (cls == C_CQ || cls == C_EQ || cls == C_SRQ) && verb != V_CREATE ? PH_REF : PH_CHECK;
                end else if (f_any) begin
                    sl_valid <= 1'b1;
                    sl_sel <= f_sel;
                    sl_op <= OP_READ;
                    sl_index <= f_index;
                    ph_reg <= PH_FETCH_WAIT;
                end else begin
                    n_reg <= n_reg + 1'b1;
                end
            end

            PH_FETCH_WAIT: begin
                if (sl_done) begin
                    n_reg <= n_reg + 1'b1;
                    ph_reg <= PH_FETCH;
                    case (n_reg[1:0])
                        2'd0: begin
                            own_live_reg <= sl_live;
                            own_err_reg <= sl_live && sl_status != `FRNIC_STATUS_SUCCESS;
                            // An entry of these two that is not there reads as zero.
                            if (sl_live || (cls != C_GID && cls != C_PKEY)) begin
                                ctx_reg <= sl_rdata;
                            end
                            live_reg <= sl_rlive;
                        end
                        2'd1: begin
                            eq_ok_reg <= sl_live;
                            scq_ok_reg <= cq_ok;
                            if (cls == C_QP && verb != V_CREATE) begin
                                live_reg <= sl_rlive;
                                own_err_reg <= own_err_reg || (own_live_reg && sl_status != `FRNIC_STATUS_SUCCESS);
                            end
                        end
                        2'd2: begin
                            rcq_ok_reg <= cq_ok;
                            gid_type_reg <= sl_live && sl_status == `FRNIC_STATUS_SUCCESS ? sl_rdata[`FRNIC_CMD_GID_GID_TYPE_LSB +: 8] : 8'd0;
                        end
                        default: begin
                            srq_ok_reg <= sl_live && sl_status == `FRNIC_STATUS_SUCCESS && sl_rdata[`FRNIC_CMD_SRQ_SRQN_SRQN_LSB +: 24] == sl_index;
                            pkey_ok_reg <= sl_live && sl_status == `FRNIC_STATUS_SUCCESS && sl_rdata[`FRNIC_CMD_PKEY_PKEY_LSB +: 15] != 15'd0;
                        end
                    endcase
                end
            end

            PH_REF: begin
                ref_asked_reg <= 1'b1;
                if (ref_valid) begin
                    refs_reg <= ref_data;
                    ph_reg <= PH_CHECK;
                end
            end

            // The multicast table, until all its entries in use have been seen and a free one is known.
            PH_SCAN: begin
                if (seen_reg == used_mcasts && (free_valid_reg || used_mcasts[LOG_MCASTS])) begin
                    ph_reg <= PH_CHECK;
                end else begin
                    sl_valid <= 1'b1;
                    sl_sel <= SL_MCAST;
                    sl_op <= OP_READ;
                    sl_index <= {{(24-LOG_MCASTS){1'b0}}, scan_reg};
                    ph_reg <= PH_SCAN_WAIT;
                end
            end

            PH_SCAN_WAIT: begin
                if (sl_done) begin
                    if (sl_live) begin
                        seen_reg <= seen_reg + 1'b1;
                        if (mc_match) begin
                            hit_reg <= scan_reg;
                            hit_valid_reg <= 1'b1;
                        end
                    end else if (!free_valid_reg) begin
                        free_reg <= scan_reg;
                        free_valid_reg <= 1'b1;
                    end
                    scan_reg <= scan_reg + 1'b1;
                    ph_reg <= scan_reg == scan_last ? PH_CHECK : PH_SCAN;
                end
            end

            PH_CHECK: begin
                if (k_rec && !rec_done_reg && !k_fail) begin
                    ph_reg <= PH_REC;
                end else if (k_fail) begin
                    status_reg <= k_status;
                    detail_reg <= k_at;
                    n_reg <= 5'd0;
                    ph_reg <= has_buf_reg ? PH_UNDO : PH_RESP;
                end else if (k_last) begin
                    n_reg <= 5'd0;
                    if (again_reg) begin
                        status_reg <= `FRNIC_STATUS_SUCCESS;
                        ph_reg <= PH_ACT;
                    end else begin
                        state_reg <= `FRNIC_QM_STATE_RES_ALLOC;
                        ph_reg <= PH_ALLOC;
                    end
                end
                chk_reg <= chk_reg + 1'b1;
                // From here on the response tells the state.
                if (op == `FRNIC_CMD_OP_MODIFY_QP && chk_reg == 6'd3) begin
                    qp_state_reg <= {5'd0, qp_state};
                end
            end

            PH_REC: begin
                if (!rec_asked_reg) begin
                    if (!rec_open_reg) begin
                        rec_asked_reg <= 1'b1;
                        rec_open_reg <= 1'b1;
                        rec_wanted_reg <= 1'b1;
                        rec_req_valid <= 1'b1;
                        rec_lane_reg <= cls == C_SRQ ? c[`FRNIC_CMD_SRQ_DBREC_LSB + 4 +: 2] : c[`FRNIC_CMD_QP_DBREC_LSB + 4 +: 2];
                    end
                end else if (rec_done_reg) begin
                    rec_wanted_reg <= 1'b0;
                    ph_reg <= PH_CHECK;
                end
            end

            PH_ALLOC: begin
                if (take_valid && take_ready) begin
                    has_buf_reg <= 1'b1;
                    buf_reg <= take_buf;
                end else if (take_valid) begin
                    if (pool_empty) begin
                        ev_no_buf <= 1'b1;
                        status_reg <= `FRNIC_STATUS_NO_MEMORY;
                        ph_reg <= PH_RESP;
                    end
                end else begin
                    wait_reg <= 32'd0;
                    state_reg <= `FRNIC_QM_STATE_CMAC_INIT;
                    ph_reg <= PH_MAC;
                end
            end

            PH_MAC: begin
                wait_reg <= wait_reg + 1'b1;
                if (op != `FRNIC_CMD_OP_CREATE_QP || mac_ready) begin
                    state_reg <= `FRNIC_QM_STATE_READY;
                    again_reg <= 1'b1;
                    ph_reg <= PH_FETCH;
                end else if (wait_reg >= MAC_WAIT) begin
                    status_reg <= `FRNIC_STATUS_CMAC_TIMEOUT;
                    ph_reg <= has_buf_reg ? PH_UNDO : PH_RESP;
                end
            end

            PH_ACT: begin
                ref_asked_reg <= 1'b0;
                scan_reg <= {LOG_MCASTS{1'b0}};
                seen_reg <= {(LOG_MCASTS+1){1'b0}};
                sl_sel <= a_sel;
                sl_op <= a_op;
                sl_index <= a_index;
                sl_wdata <= moved_reg ? c : cls == C_QP ? conn : other;
                sl_wlive <= other_live;
                sl_aux <= live_aux;
                case (a_kind)
                    A_SLOT: begin
                        sl_valid <= 1'b1;
                        ph_reg <= PH_ACT_WAIT;
                    end
                    A_REF: ph_reg <= PH_COUNT;
                    A_DROP: ph_reg <= PH_DROP;
                    A_SKIP: n_reg <= n_reg + 1'b1;
                    default: begin
                        n_reg <= 5'd0;
                        ph_reg <= PH_RESP;
                        has_buf_reg <= 1'b0; // the QP has it
                        if (op == `FRNIC_CMD_OP_MODIFY_QP) qp_state_reg <= {5'd0, to};
                        if (op == `FRNIC_CMD_OP_QUERY_QP) qp_state_reg <= {5'd0, qp_state};
                        if (srq_fires || srq_breaks) begin
                            ev_valid <= 1'b1;
                            ev_eqn <= c[`FRNIC_CMD_SRQ_EQN_LSB +: 8];
                            ev_subtype <= srq_fires ? `FRNIC_SRQ_EVENT_LIMIT : `FRNIC_SRQ_EVENT_ERR;
                            ev_number <= num[23:0];
                        end
                        upd_valid <= verb == V_CREATE && (cls == C_GID || cls == C_PKEY || cls == C_MAC);
                        upd_table <= cls == C_MAC ? 2'd0 : cls == C_GID ? 2'd1 : 2'd2;
                        upd_index <= num[7:0];
                        upd_data <= other[511:256];
                        if (verb == V_CREATE || op == `FRNIC_CMD_OP_DETACH_MCAST || verb == V_DESTROY) begin
                            case (cls)
                                C_QP: if (op != `FRNIC_CMD_OP_NOP) used_qps <= a_down ? used_qps - 1'b1 : used_qps + 1'b1;
                                C_CQ: used_cqs <= a_down ? used_cqs - 1'b1 : used_cqs + 1'b1;
                                C_EQ: used_eqs <= a_down ? used_eqs - 1'b1 : used_eqs + 1'b1;
                                C_SRQ: used_srqs <= a_down ? used_srqs - 1'b1 : used_srqs + 1'b1;
                                C_MR: used_mrs <= a_down ? used_mrs - 1'b1 : used_mrs + 1'b1;
                                C_MCAST: used_mcasts <= verb == V_CREATE ? used_mcasts + 1'b1 : used_mcasts - 1'b1;
                                default: ;
                            endcase
                        end
                    end
                endcase
            end

            PH_ACT_WAIT: begin
                if (sl_done) begin
                    n_reg <= n_reg + 1'b1;
                    ph_reg <= PH_ACT;
                    if (op == `FRNIC_CMD_OP_MODIFY_CQ) begin
                        ctx_reg <= sl_rdata;
                        live_reg <= sl_rlive;
                    end
                    if (moved_reg) begin
                        moved_reg <= 1'b0;
                        n_reg <= 5'd0;
                        ph_reg <= PH_FETCH;
                    // An error of the QP came behind the checks. Its state is as it was then, but its connection is the new one already: no harm in ERR, where
                    // nothing is sent or received, but in SQE it would count, and a refused command changes nothing.
                    end else if (op == `FRNIC_CMD_OP_MODIFY_QP && sl_sel == SL_LIVE && !live_first && sl_status != `FRNIC_STATUS_SUCCESS) begin
                        moved_reg <= 1'b1;
                        n_reg <= 5'd0;
                    // The first owner may refuse: nothing has changed so far. Live words that begin anew are never refused.
                    end else if (n_reg == 5'd0 && sl_status != `FRNIC_STATUS_SUCCESS && !live_first) begin
                        status_reg <= sl_status;
                        detail_reg <= sl_status == `FRNIC_STATUS_DMA_ERROR ? at(`FRNIC_CMD_CQ_DBREC_LSB) :
                            sl_status == `FRNIC_STATUS_CQ_TOO_FULL ? at(`FRNIC_CMD_CQ_LOG_SIZE_LSB) : 8'd0;
                        n_reg <= 5'd0;
                        ph_reg <= has_buf_reg ? PH_UNDO : PH_RESP;
                    end
                end
            end

            PH_COUNT: begin
                ref_asked_reg <= 1'b1;
                if (ref_valid) begin
                    n_reg <= n_reg + 1'b1;
                    ph_reg <= PH_ACT;
                end
            end

            // A QP that ends leaves its multicast groups.
            PH_DROP: begin
                sl_valid <= 1'b1;
                sl_sel <= SL_MCAST;
                sl_op <= OP_READ;
                sl_index <= {{(24-LOG_MCASTS){1'b0}}, scan_reg};
                ph_reg <= PH_DROP_WAIT;
            end

            PH_DROP_WAIT: begin
                if (sl_done) begin
                    if (sl_op == OP_READ && sl_live && sl_rdata[`FRNIC_CMD_MCAST_QPN_QPN_LSB +: 24] == r_qpn) begin
                        sl_valid <= 1'b1;
                        sl_op <= OP_CLEAR;
                        used_mcasts <= used_mcasts - 1'b1;
                    end else begin
                        scan_reg <= scan_reg + 1'b1;
                        n_reg <= scan_reg == scan_last ? n_reg + 1'b1 : n_reg;
                        ph_reg <= scan_reg == scan_last ? PH_ACT : PH_DROP;
                    end
                end
            end

            PH_UNDO: begin
                has_buf_reg <= 1'b0;
                give_valid <= 1'b1;
                ph_reg <= PH_RESP;
            end

            default: begin // PH_RESP
                n_reg <= n_reg + 1'b1;
                if (from_ring_reg) begin
                    ring_resp_valid <= 1'b1;
                    ring_resp_data <= resp_word;
                    ring_resp_last <= n_reg == 5'd31;
                end else begin
                    if (n_reg == 5'd30) qmr_tail_reg[63:0] <= resp_word;
                    if (n_reg == 5'd31) qmr_tail_reg[127:64] <= resp_word;
                    qmr_snap_reg <= good && has_snapshot;
                    if (n_reg == 5'd0 && !(good && has_snapshot)) n_reg <= 5'd30;
                end
                if (n_reg == 5'd31) begin
                    state_reg <= `FRNIC_QM_STATE_IDLE;
                    ph_reg <= PH_IDLE;
                    last_status <= status_reg;
                    ev_ok <= good;
                    if (!good) begin
                        ev_failed <= 1'b1;
                        ev_fsm_error <= 1'b1;
                        last_error <= status_reg;
                        last_opcode <= op;
                    end
                end
            end
        endcase

        // A command that does not get as far as the FSM.
        if (refuse) begin
            refuse_reg <= 1'b1;
            refuse_code_reg <= refuse_code;
            refuse_op_reg <= refuse_op;
        end
        if (refuse_reg && !(ph_reg == PH_RESP && n_reg == 5'd31)) begin
            refuse_reg <= refuse;
            ev_failed <= 1'b1;
            ev_fsm_error <= 1'b1;
            last_status <= refuse_code_reg;
            last_error <= refuse_code_reg;
            last_opcode <= refuse_op_reg;
            if (!regs_busy) begin // else the response belongs to the command that runs
                qmr_snap_reg <= 1'b0;
                qmr_tail_reg <= {1'b1, 15'd0, refuse_op_reg, refuse_code_reg, 96'd0};
            end
        end

        if (clear || rst) begin
            ph_reg <= PH_IDLE;
            state_reg <= `FRNIC_QM_STATE_IDLE;
            from_ring_reg <= 1'b0;
            moved_reg <= 1'b0;
            sl_valid <= 1'b0;
            give_valid <= 1'b0;
            ev_valid <= 1'b0;
            has_buf_reg <= 1'b0;
            rec_wanted_reg <= 1'b0;
            used_qps <= {(LOG_QPS+1){1'b0}};
            used_cqs <= {(LOG_CQS+1){1'b0}};
            used_eqs <= {(LOG_EQS+1){1'b0}};
            used_srqs <= {(LOG_SRQS+1){1'b0}};
            used_mrs <= {(LOG_MRS+1){1'b0}};
            used_mcasts <= {(LOG_MCASTS+1){1'b0}};
            upd_valid <= 1'b1;
            upd_table <= 2'd3;
            ring_resp_valid <= 1'b0;
        end
        if (rst) begin
            csr_done <= 1'b0;
            rec_req_valid <= 1'b0;
            rec_open_reg <= 1'b0;
            qm_written_reg <= 64'd0;
            qmr_snap_reg <= 1'b0;
            qmr_tail_reg <= 128'd0;
            refuse_reg <= 1'b0;
            last_status <= 8'd0;
            last_error <= 8'd0;
            last_opcode <= 8'd0;
            ev_fsm_error <= 1'b0;
            ev_ok <= 1'b0;
            ev_failed <= 1'b0;
            ev_no_buf <= 1'b0;
            ev_parity <= 1'b0;
        end
    end

`ifdef FORMAL
    // Every step of a command but waiting for an owner's answer lowers this rank: a command ends. Assertions for hw/formal/formal_qm.v.
    wire [4:0] f_major = ph_reg == PH_IDLE ? 5'd0 : ph_reg == PH_RESP ? 5'd2 : ph_reg == PH_UNDO ? 5'd3 :
        moved_reg ? 5'd9 : ph_reg == PH_ACT || ph_reg == PH_ACT_WAIT || ph_reg == PH_COUNT || ph_reg == PH_DROP || ph_reg == PH_DROP_WAIT ? 5'd4 :
        ph_reg == PH_MAC ? 5'd9 : ph_reg == PH_ALLOC ? 5'd10 : ph_reg == PH_LOAD ? 5'd15 :
        (again_reg ? 5'd0 : 5'd6) + (ph_reg == PH_FETCH || ph_reg == PH_FETCH_WAIT ? 5'd8 : ph_reg == PH_REF ? 5'd7 :
        ph_reg == PH_SCAN || ph_reg == PH_SCAN_WAIT ? 5'd6 : 5'd5);
    wire [31:0] f_left = {{(32-LOG_MCASTS){1'b0}}, ~scan_reg};
    wire [31:0] f_minor = ph_reg == PH_LOAD || ph_reg == PH_RESP ? 32'd31 - {27'd0, n_reg} :
        ph_reg == PH_FETCH || ph_reg == PH_FETCH_WAIT ? {26'd0, 5'd31 - n_reg, ph_reg == PH_FETCH} :
        ph_reg == PH_SCAN || ph_reg == PH_SCAN_WAIT ? {f_left[30:0], ph_reg == PH_SCAN} :
        ph_reg == PH_CHECK || ph_reg == PH_REC ? {25'd0, 6'd63 - chk_reg, ph_reg == PH_REC} :
        ph_reg == PH_MAC ? MAC_WAIT - wait_reg : moved_reg ? {31'd0, ph_reg == PH_ACT} :
        f_major == 5'd4 ? {3'd0, 5'd31 - n_reg, 24'd0} + (ph_reg == PH_ACT ? 32'hffffff : ph_reg == PH_DROP ? {f_left[29:0], 2'd3} :
        ph_reg == PH_DROP_WAIT ? {f_left[29:0], 1'b0, sl_op == OP_READ} : 32'd0) : 32'd0;
    // The transport moves a QP's state at most twice (SQE, ERR), and then its words' parity may break: so often the checks are done once more.
    wire f_move = ph_reg == PH_ACT_WAIT && sl_done && !moved_reg && op == `FRNIC_CMD_OP_MODIFY_QP && sl_sel == SL_LIVE && !live_first &&
        sl_status != `FRNIC_STATUS_SUCCESS;
    reg [1:0] f_moves = 2'd0;
    wire [38:0] f_rank = {2'd3 - f_moves, f_major, f_minor};
    wire f_waits = ((ph_reg == PH_FETCH_WAIT || ph_reg == PH_SCAN_WAIT || ph_reg == PH_ACT_WAIT || ph_reg == PH_DROP_WAIT) && !sl_done) ||
        ((ph_reg == PH_REF || ph_reg == PH_COUNT) && !ref_valid) || (ph_reg == PH_REC && !(rec_asked_reg && rec_done_reg)) ||
        (ph_reg == PH_ALLOC && take_valid && !pool_empty);
    reg f_clear = 1'b1;
    reg f_was_waiting;
    reg [38:0] f_was;
    reg f_ended = 1'b0;
    reg f_refused = 1'b0; // a command that does not get as far as the FSM is counted
    reg f_start = 1'b0;
    reg f_acting = 1'b0;
    reg f_had = 1'b0;
    reg [2:0] f_state = `FRNIC_QM_STATE_IDLE;
    reg [4:0] f_beats = 5'd0; // of the response to the ring
    reg [LOG_QPS+LOG_CQS+LOG_EQS+LOG_SRQS+LOG_MRS+LOG_MCASTS+5:0] f_used;
    wire [LOG_QPS+LOG_CQS+LOG_EQS+LOG_SRQS+LOG_MRS+LOG_MCASTS+5:0] f_uses = {used_qps, used_cqs, used_eqs, used_srqs, used_mrs, used_mcasts};

    always @(posedge clk) begin
        f_refused <= refuse_reg && !(ph_reg == PH_RESP && n_reg == 5'd31);
        f_start <= start;
        f_acting <= f_major == 5'd4;
        f_had <= has_buf_reg;
        f_state <= state_reg;
        f_used <= f_uses;
        if (clear || rst) begin
            f_beats <= 5'd0;
        end else if (ring_resp_valid) begin
            f_beats <= ring_resp_last ? 5'd0 : f_beats + 1'b1;
        end
        f_clear <= clear || rst;
        f_moves <= ph_reg == PH_IDLE || clear || rst ? 2'd0 : f_moves + {1'b0, f_move};
        f_was <= f_rank;
        f_was_waiting <= f_waits;
        f_ended <= ph_reg == PH_RESP && n_reg == 5'd31 && !clear && !rst;
    end

    always @* begin
        assume (f_moves != 2'd3 || !f_move);
        if (!rst) begin
            // R1.2: the state that software reads is the FSM's.
            assert ((state_reg == `FRNIC_QM_STATE_IDLE) == (ph_reg == PH_IDLE));
            assert (state_reg <= `FRNIC_QM_STATE_READY);
            if (f_major > 5'd10 || (f_major >= 5'd5 && f_major <= 5'd8)) assert (state_reg == (again_reg ? `FRNIC_QM_STATE_READY : `FRNIC_QM_STATE_REG_CHECK));
            if (ph_reg == PH_ALLOC) assert (state_reg == `FRNIC_QM_STATE_RES_ALLOC);
            if (ph_reg == PH_MAC) assert (state_reg == `FRNIC_QM_STATE_CMAC_INIT);
            // The five states come in order and none is left out; IDLE comes again only behind a whole response.
            if (!f_clear) assert (state_reg == f_state || state_reg == f_state + 1'b1 || (state_reg == `FRNIC_QM_STATE_IDLE && f_ended));
            if (ph_reg != PH_IDLE && again_reg) assert (state_reg == `FRNIC_QM_STATE_READY);
            assert (ph_reg <= PH_UNDO);
            assert (ph_reg != PH_MAC || wait_reg <= MAC_WAIT + 1);
            if (ph_reg == PH_LOAD || ph_reg == PH_ALLOC || ph_reg == PH_MAC) assert (!again_reg);
            // One slot at a time, and only within a command; a write only after both rounds of checks have passed.
            assert (!sl_valid || ph_reg == PH_FETCH_WAIT || ph_reg == PH_SCAN_WAIT || ph_reg == PH_ACT_WAIT || ph_reg == PH_DROP_WAIT);
            assert (!sl_valid || sl_op == OP_READ || again_reg);
            if (ph_reg == PH_FETCH_WAIT || ph_reg == PH_SCAN_WAIT) assert (sl_op == OP_READ);
            if (moved_reg) assert (n_reg == 5'd0 && (ph_reg == PH_ACT || ph_reg == PH_ACT_WAIT));
            if (f_major == 5'd4 || moved_reg) assert (again_reg && state_reg == `FRNIC_QM_STATE_READY && status_reg == `FRNIC_STATUS_SUCCESS);
            // Counters that the rank relies on do not come round.
            if (ph_reg == PH_FETCH) assert (n_reg <= 5'd4);
            if (ph_reg == PH_FETCH_WAIT) assert (n_reg <= 5'd3);
            if (ph_reg == PH_ALLOC || ph_reg == PH_MAC) assert (n_reg == 5'd0);
            if (ph_reg == PH_ACT) assert (n_reg <= 5'd6);
            if (f_major == 5'd4 && ph_reg != PH_ACT) assert (n_reg <= 5'd5);
            if (ph_reg == PH_REF || ph_reg == PH_SCAN || ph_reg == PH_SCAN_WAIT) assert (chk_reg == 6'd0);
            if (ph_reg == PH_CHECK) assert (chk_reg <= (rec_done_reg ? 6'd35 : 6'd34));
            if (ph_reg == PH_REC) assert (chk_reg <= 6'd35);
            // The command ring is asked for a command only when none runs.
            assert (!ring_ready || ph_reg == PH_IDLE);
            // Progress
            if (f_was[36:32] != 5'd0 && !f_clear) assert (f_rank < f_was || (f_was_waiting && f_rank == f_was));
            // A command by the registers begins or is refused, and what is refused is counted.
            if (f_start && !f_clear) assert (refuse_reg || (ph_reg == PH_LOAD && !from_ring_reg));
            // Each command that ends counts once, as good or as bad.
            if (f_ended && !f_clear) assert (ev_ok != ev_failed && ph_reg == PH_IDLE);
            if (ev_ok && !f_clear) assert (f_ended);
            if (ev_failed && !f_clear) assert (f_ended != f_refused);
            // A command of the ring gets 32 words, the last one marked, with its end; one of the registers gets none there.
            if (f_ended && !f_clear) assert (ring_resp_last == from_ring_reg);
            if (ring_resp_valid) assert (ring_resp_last == (f_beats == 5'd31));
            if (ph_reg == PH_UNDO) assert (n_reg == 5'd0);
            if (ph_reg == PH_RESP) assert (f_beats + {4'd0, ring_resp_valid} == (from_ring_reg ? n_reg : 5'd0));
            else if (ring_resp_valid) assert (ring_resp_last);
            else assert (f_beats == 5'd0);
            // Reference counts, tables of the port and numbers of objects change only where contexts do: behind both rounds of checks.
            if (ref_write) assert (f_major == 5'd4);
            if (!f_clear) assert ((!upd_valid && f_uses == f_used) || f_acting);
            // A buffer that was taken goes to the QP or back.
            if (ph_reg == PH_RESP || ph_reg == PH_IDLE) assert (!has_buf_reg);
            if (f_had && !has_buf_reg && !f_clear) assert (give_valid || f_acting);
        end
    end
`endif

endmodule

`resetall
