// SPDX-License-Identifier: BSD-2-Clause
//
// Live words of the QPs (image bytes 0x80..0xb7 and one word of its own): state, queue indices, PSNs, the packet buffer held. Takes the QM's command
// slot, the SQ and RQ doorbells, CQs in error, and the transport's operations, one at a time. What the words mean to the transport is not known here.
// Documentation/microarchitecture.md, 3.4.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_qp_live #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the packet buffers
    parameter LOG_BUFS = 9,
    // Clients of the transport
    parameter CLIENTS = 1,
    // Cycles of the memory, at least 2
    parameter READ_LATENCY = 3,
    // "auto", "block", "ultra" or "distributed"
    parameter STYLE = "auto"
) (
    input  wire                clk,
    input  wire                rst,
    // Command slot (4.8): 0 READ, 1 CREATE, 2 CLEAR, 3 MODIFY; conn is the context that the command leaves, aux says what to do:
    // [2:0] state, [3] draining, [4] responder starts, [5] requester starts, [6] buffer given in [31:16], [7] back to zero, [8] keeps its buffer,
    // [11:9] the state that the QM has seen: a MODIFY that finds another one changes nothing (slot_moved); back to zero is right from each
    input  wire                slot_valid,
    output wire                slot_ready,
    input  wire [1:0]          slot_op,
    input  wire [LOG_QPS-1:0]  slot_index,
    /* verilator lint_off UNUSED */
    input  wire [1023:0]       slot_conn,
    input  wire [31:0]         slot_aux,
    /* verilator lint_on UNUSED */
    output reg                 slot_done,
    output reg                 slot_err,
    output reg                 slot_moved,
    output wire [447:0]        slot_rdata,
    // Connection contexts (frnic_ctx)
    output wire                conn_rd_valid,
    input  wire                conn_rd_ready,
    output wire [LOG_QPS-1:0]  conn_rd_index,
    input  wire                conn_rd_done,
    input  wire                conn_rd_live,
    input  wire                conn_rd_err,
    /* verilator lint_off UNUSED */
    input  wire [1023:0]       conn_rd_data,
    /* verilator lint_on UNUSED */
    // Doorbells of frnic_db: SQ, and RQ or SRQ. An SRQ's is optional and not used: its record in host memory is authoritative
    input  wire                sq_valid,
    output wire                sq_ready,
    input  wire                rq_valid,
    output wire                rq_ready,
    input  wire [7:0]          db_type,
    input  wire [23:0]         db_number,
    input  wire [23:0]         db_index,
    input  wire [15:0]         db_uar,
    output reg                 db_bad,
    output reg                 db_denied,
    // A CQ in error: QPs that use it and are not in RST go to ERR
    input  wire                cqerr_valid,
    output wire                cqerr_ready,
    input  wire [23:0]         cqerr_cqn,
    // Packet buffers that come back
    output reg                 give_valid,
    input  wire                give_ready,
    output reg  [LOG_BUFS-1:0] give_buf,
    // Packet buffers that are taken for a QP's first traffic (R1.4); no_buf: a pulse, there was none
    output wire                take_valid,
    input  wire                take_ready,
    input  wire [LOG_BUFS-1:0] take_buf,
    input  wire                pool_empty,
    output reg                 no_buf,
    // QP events for EQ 0
    output reg                 ev_valid,
    input  wire                ev_ready,
    output reg  [7:0]          ev_subtype,
    output reg  [23:0]         ev_qpn,
    // Operations of the transport, client 0 in the low bits, held until lw_done; op: 0 change, 1 to ERR, 2 to SQE, 3 drained; mask: groups of fields;
    // inc: tx_pkts, rx_pkts, retrans, drops; take: a packet buffer, if the QP has none and is not in RST. lw_rdata: the entry as it is then
    input  wire [CLIENTS-1:0]  lw_valid,
    /* verilator lint_off UNUSED */
    input  wire [CLIENTS*24-1:0] lw_qpn,
    /* verilator lint_on UNUSED */
    input  wire [CLIENTS*2-1:0] lw_op,
    input  wire [CLIENTS*8-1:0] lw_mask,
    input  wire [CLIENTS*8-1:0] lw_event,
    input  wire [CLIENTS*4-1:0] lw_inc,
    input  wire [CLIENTS-1:0]  lw_buf,
    /* verilator lint_off UNUSED */
    input  wire [CLIENTS*512-1:0] lw_data,
    /* verilator lint_on UNUSED */
    output wire [CLIENTS-1:0]  lw_done,
    output wire                lw_err,
    output wire [511:0]        lw_rdata,
    // Pulse: the QP's state was written, other than by the transport's own changes of fields: new state; responder, requester start; back to zero
    output reg                 chg_valid,
    output reg  [LOG_QPS-1:0]  chg_index,
    output reg  [2:0]          chg_state,
    output reg                 chg_resp,
    output reg                 chg_req,
    output reg                 chg_clear,
    // Pulse: an SQ doorbell was accepted
    output reg                 sqdb_valid,
    output reg  [LOG_QPS-1:0]  sqdb_index,
    // Pulse: receive entries were announced to a QP in ERR, which flushes them
    output reg                 rqdb_valid,
    output reg  [LOG_QPS-1:0]  rqdb_index,
    // Level: everything ends; the words are written when a QP is created
    input  wire                sweep
);

`include "frnic_hw.vh"

    localparam [2:0] ST_IDLE = 3'd0, ST_CONN = 3'd1, ST_READ = 3'd2, ST_WAIT = 3'd3, ST_EXEC = 3'd4, ST_WRITE = 3'd5, ST_OUT = 3'd6;
    localparam [2:0] W_SLOT = 3'd0, W_SQ = 3'd1, W_RQ = 3'd2, W_SCAN = 3'd3, W_LW = 3'd4;
    localparam [1:0] LW_CHANGE = 2'd0, LW_ERR = 2'd1, LW_SQE = 2'd2;
    localparam SEL_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1;
    localparam [1:0] OP_READ = 2'd0, OP_CREATE = 2'd1, OP_CLEAR = 2'd2, OP_MODIFY = 2'd3;

    // Places of live words' fields in the 512 bits of an entry: image offset less 0x80.
    localparam SQ_PI = `FRNIC_CMD_QP_LIVE0_SQ_PI_LSB - 1024;
    localparam STATE = `FRNIC_CMD_QP_LIVE0_STATE_LSB - 1024;
    localparam DRAINING = `FRNIC_CMD_QP_LIVE0_SQ_DRAINING_LSB - 1024;
    localparam SQ_CI = `FRNIC_CMD_QP_LIVE1_SQ_CI_LSB - 1024;
    localparam BUFS = `FRNIC_CMD_QP_LIVE1_BUFS_LSB - 1024;
    localparam RQ_PI = `FRNIC_CMD_QP_LIVE2_RQ_PI_LSB - 1024;
    localparam RQ_CI = `FRNIC_CMD_QP_LIVE3_RQ_CI_LSB - 1024;
    localparam NEXT_PSN = `FRNIC_CMD_QP_LIVE4_NEXT_PSN_LSB - 1024;
    localparam UNA_PSN = `FRNIC_CMD_QP_LIVE5_UNA_PSN_LSB - 1024;
    localparam EPSN = `FRNIC_CMD_QP_LIVE6_EPSN_LSB - 1024;
    localparam MSN = `FRNIC_CMD_QP_LIVE7_LSB - 1024;
    localparam SQ_FETCH = `FRNIC_CMD_QP_LIVE8_SQ_FETCH_LSB - 1024;
    localparam RETRY_LEFT = `FRNIC_CMD_QP_LIVE8_RETRY_LEFT_LSB - 1024;
    localparam RNR_LEFT = `FRNIC_CMD_QP_LIVE8_RNR_LEFT_LSB - 1024;
    localparam VENDOR_ERR = `FRNIC_CMD_QP_LIVE9_VENDOR_ERR_LSB - 1024;
    localparam RD_OUT = `FRNIC_CMD_QP_LIVE9_RD_OUT_LSB - 1024;
    localparam RES_USED = `FRNIC_CMD_QP_LIVE9_RES_USED_LSB - 1024;
    localparam NAK_SENT = `FRNIC_CMD_QP_LIVE7_NAK_SENT_LSB - 1024;
    localparam STATUS = `FRNIC_CMD_QP_LIVE9_STATUS_LSB - 1024;
    localparam COUNTS = `FRNIC_CMD_QP_TX_PKTS_LSB - 1024; // four words: tx_pkts, rx_pkts, retrans, drops
    // The block's own word
    localparam BUF = 448, COMM_EST = 480;

    reg [2:0] st_reg = ST_IDLE;
    reg [2:0] who_reg = W_SLOT;
    reg [2:0] wait_reg = 3'd0;
    reg [LOG_QPS-1:0] index_reg;
    reg [511:0] live_reg;
    reg err_reg;
    // A sweep ends the QPs, not their words: whoever asks for one that is none finds RST, and changes nothing.
    reg [(1 << LOG_QPS)-1:0] exists_reg = {(1 << LOG_QPS){1'b0}};
    wire exists = exists_reg[index_reg];
    reg found_reg; // the doorbell's or scan's QP exists
    reg conn_asked_reg = 1'b0;
    // What is needed of the connection context
    reg [23:0] c_qpn_reg;
    reg [15:0] c_uar_reg;
    reg [4:0] c_log_sq_reg;
    reg [4:0] c_log_rq_reg;
    reg c_srq_reg;
    reg c_uses_reg;
    // Scan for a CQ in error
    reg scan_reg = 1'b0;
    reg [LOG_QPS-1:0] scan_index_reg = {LOG_QPS{1'b0}};
    reg scan_turn_reg = 1'b0;

    // The client served, and what it asks
    wire [SEL_W-1:0] lw_pick;
    wire lw_any;
    reg [SEL_W-1:0] lw_sel_reg = {SEL_W{1'b0}};
    reg lw_turn_reg = 1'b0; // the last operation was a client's: doorbells come between
    wire [23:0] lw_number = lw_qpn[lw_sel_reg*24 +: 24];
    wire [1:0] lw_what = lw_op[lw_sel_reg*2 +: 2];
    wire [7:0] lw_groups = lw_mask[lw_sel_reg*8 +: 8];
    wire [7:0] lw_tell = lw_event[lw_sel_reg*8 +: 8];
    wire [3:0] lw_count = lw_inc[lw_sel_reg*4 +: 4];
    wire lw_wants = who_reg == W_LW && lw_buf[lw_sel_reg];
    /* verilator lint_off UNUSED */
    wire [511:0] lw = lw_data[lw_sel_reg*512 +: 512];
    /* verilator lint_on UNUSED */

    wire [511:0] mem_data;
    wire [7:0] mem_err;
    integer k;
    reg [511:0] next;
    reg next_write;
    reg next_bad;
    reg next_denied;
    reg next_give;
    reg next_chg;
    reg [7:0] next_event; // 0: none
    reg [23:0] event_qpn;

    // ---- What an operation makes of an entry ----
    function [23:0] diff(input [23:0] a, input [23:0] b);
        diff = a - b;
    endfunction

    wire [2:0] state = live_reg[STATE +: 3];
    wire [24:0] sq_size = 25'd1 << c_log_sq_reg;
    wire [24:0] rq_size = 25'd1 << c_log_rq_reg;
    wire [23:0] sq_held = diff(db_index, live_reg[SQ_CI +: 24]);
    wire [23:0] sq_had = diff(live_reg[SQ_PI +: 24], live_reg[SQ_CI +: 24]);
    wire [23:0] rq_held = diff(db_index, live_reg[RQ_CI +: 24]);
    wire [23:0] rq_had = diff(live_reg[RQ_PI +: 24], live_reg[RQ_CI +: 24]);
    // The transport may have ended the QP since the QM's checks, and an error that was told is not taken back. Wrong parity is not made right by a write.
    wire slot_stale = slot_op == OP_MODIFY && !slot_aux[7] && (state != slot_aux[11:9] || err_reg);
    // SQD to SQD: only what still drains does; the end of it may have been told since.
    wire slot_drains = slot_aux[3] && (state != `FRNIC_QP_STATE_SQD || live_reg[DRAINING]);
    wire dead = !found_reg || err_reg || state == `FRNIC_QP_STATE_RST;
    wire wants_buf = lw_wants && !err_reg && state != `FRNIC_QP_STATE_RST && !live_reg[BUFS];
    // The last event and buffer are taken, a buffer is there if one is wanted and there is any: all goes on at once.
    wire exec_now = !ev_valid && !give_valid && (!wants_buf || take_ready || pool_empty);

    always @* begin
        next = live_reg;
        k = 0; // in all branches: else Yosys keeps a latch for it
        next_write = 1'b0;
        next_bad = 1'b0;
        next_denied = 1'b0;
        next_give = 1'b0;
        next_chg = 1'b0;
        next_event = 8'd0;
        event_qpn = c_qpn_reg;
        case (who_reg)
            W_SLOT: begin
                event_qpn = {slot_conn[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], slot_conn[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
                next_write = slot_op != OP_READ && !slot_stale;
                next_chg = slot_op != OP_READ && !slot_stale;
                if (slot_op == OP_CREATE || slot_op == OP_CLEAR || (slot_op == OP_MODIFY && slot_aux[7])) begin
                    next = 512'd0;
                    if (slot_op == OP_CREATE) begin
                        next[BUFS] = slot_aux[6];
                        next[BUF +: LOG_BUFS] = slot_aux[16 +: LOG_BUFS];
                    end else if (slot_op == OP_MODIFY && slot_aux[8]) begin
                        next[BUFS] = live_reg[BUFS];
                        next[BUF +: LOG_BUFS] = live_reg[BUF +: LOG_BUFS];
                    end else begin
                        next_give = live_reg[BUFS] && !err_reg;
                    end
                end else if (slot_op == OP_MODIFY && !slot_stale) begin
                    next[STATE +: 3] = slot_aux[2:0];
                    next[DRAINING] = slot_drains;
                    if (slot_aux[4]) begin
                        next[EPSN +: 24] = slot_conn[`FRNIC_CMD_QP_RQ_RQ_PSN_LSB +: 24];
                        next[MSN +: 32] = 32'd0;
                        next[RES_USED +: 8] = 8'd0;
                    end
                    if (slot_aux[5]) begin
                        next[NEXT_PSN +: 24] = {slot_conn[`FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI_LSB +: 8], slot_conn[`FRNIC_CMD_QP_CONN_SQ_PSN_LO_LSB +: 16]};
                        next[UNA_PSN +: 24] = {slot_conn[`FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI_LSB +: 8], slot_conn[`FRNIC_CMD_QP_CONN_SQ_PSN_LO_LSB +: 16]};
                        next[RD_OUT +: 8] = 8'd0;
                        next[RETRY_LEFT +: 4] = slot_conn[`FRNIC_CMD_QP_RETRY_CNT_LSB +: 4];
                        next[RNR_LEFT +: 4] = slot_conn[`FRNIC_CMD_QP_RNR_RETRY_LSB +: 4];
                    end
                    if (slot_aux[2:0] == `FRNIC_QP_STATE_ERR) begin
                        next[RD_OUT +: 8] = 8'd0;
                        next[RES_USED +: 8] = 8'd0;
                    end
                    // Nothing under way: drained at once.
                    if (slot_drains && live_reg[SQ_CI +: 24] == live_reg[SQ_FETCH +: 24]) begin
                        next[DRAINING] = 1'b0;
                        if (slot_conn[`FRNIC_CMD_QP_ATTR_MASK_LSB + 16]) begin
                            next_event = `FRNIC_QP_EVENT_SQ_DRAINED;
                        end
                    end
                end
            end
            W_SQ: begin
                if (dead) begin
                    next_bad = 1'b1;
                end else if (c_uar_reg != db_uar) begin
                    next_denied = 1'b1;
                end else if ({1'b0, sq_held} > sq_size || sq_held < sq_had) begin
                    next_bad = 1'b1;
                end else begin
                    next_write = 1'b1;
                    next[SQ_PI +: 24] = db_index;
                end
            end
            W_RQ: begin
                if (db_type == `FRNIC_DB_TYPE_SRQ) begin
                    next_bad = 1'b0;
                end else if (dead || c_srq_reg) begin
                    next_bad = 1'b1;
                end else if (c_uar_reg != db_uar) begin
                    next_denied = 1'b1;
                end else if ({1'b0, rq_held} > rq_size) begin
                    next_bad = 1'b1;
                end else if (rq_held > rq_had) begin
                    next_write = 1'b1;
                    next[RQ_PI +: 24] = db_index;
                end
            end
            W_LW: begin
                event_qpn = lw_number;
                next_write = lw_groups != 8'd0 || lw_what != LW_CHANGE || lw_count != 4'd0 || (wants_buf && take_ready);
                if (wants_buf && take_ready) begin
                    next[BUFS] = 1'b1;
                    next[BUF +: LOG_BUFS] = take_buf;
                end
                if (lw_groups[0]) begin
                    next[SQ_CI +: 24] = lw[SQ_CI +: 24];
                end
                if (lw_groups[1]) begin
                    // A doorbell may have told more since the client read it.
                    if (diff(lw[RQ_PI +: 24], live_reg[RQ_CI +: 24]) > rq_had) begin
                        next[RQ_PI +: 24] = lw[RQ_PI +: 24];
                    end
                    next[RQ_CI +: 24] = lw[RQ_CI +: 24];
                end
                if (lw_groups[2]) begin
                    next[NEXT_PSN +: 24] = lw[NEXT_PSN +: 24];
                    next[SQ_FETCH +: 24] = lw[SQ_FETCH +: 24];
                end
                if (lw_groups[3]) begin
                    next[UNA_PSN +: 24] = lw[UNA_PSN +: 24];
                    next[RD_OUT +: 8] = lw[RD_OUT +: 8];
                end
                if (lw_groups[4]) begin
                    next[EPSN +: 24] = lw[EPSN +: 24];
                    next[MSN +: 24] = lw[MSN +: 24];
                    next[NAK_SENT] = lw[NAK_SENT];
                    next[RES_USED +: 8] = lw[RES_USED +: 8];
                end
                if (lw_groups[5]) begin
                    next[RETRY_LEFT +: 4] = lw[RETRY_LEFT +: 4];
                    next[RNR_LEFT +: 4] = lw[RNR_LEFT +: 4];
                end
                if (lw_groups[6]) begin
                    next[VENDOR_ERR +: 8] = lw[VENDOR_ERR +: 8];
                    next[STATUS +: 8] = lw[STATUS +: 8];
                end
                if (lw_groups[7] && state == `FRNIC_QP_STATE_RTR && !live_reg[COMM_EST]) begin
                    next[COMM_EST] = 1'b1;
                    next_event = `FRNIC_QP_EVENT_COMM_EST;
                end
                for (k = 0; k < 4; k = k + 1) begin
                    next[COUNTS + k*32 +: 32] = live_reg[COUNTS + k*32 +: 32] + {31'd0, lw_count[k]};
                end
                case (lw_what)
                    LW_CHANGE: begin
                        if (lw_tell != 8'd0) begin
                            next_event = lw_tell;
                        end
                    end
                    LW_ERR: begin
                        if (state != `FRNIC_QP_STATE_RST && state != `FRNIC_QP_STATE_ERR) begin
                            next[STATE +: 3] = `FRNIC_QP_STATE_ERR;
                            next[DRAINING] = 1'b0;
                            next[RD_OUT +: 8] = 8'd0;
                            next[RES_USED +: 8] = 8'd0;
                            next_event = lw_tell;
                            next_chg = 1'b1;
                        end
                    end
                    LW_SQE: begin
                        if (state == `FRNIC_QP_STATE_RTS || state == `FRNIC_QP_STATE_SQD) begin
                            next[STATE +: 3] = `FRNIC_QP_STATE_SQE;
                            next[DRAINING] = 1'b0;
                            next_chg = 1'b1;
                        end
                    end
                    default: begin
                        next[DRAINING] = 1'b0;
                        next_event = live_reg[DRAINING] ? lw_tell : 8'd0;
                    end
                endcase
            end
            default: begin // scan
                if (found_reg && c_uses_reg && !err_reg && state != `FRNIC_QP_STATE_RST && state != `FRNIC_QP_STATE_ERR) begin
                    next_write = 1'b1;
                    next[STATE +: 3] = `FRNIC_QP_STATE_ERR;
                    next[DRAINING] = 1'b0;
                    next[RD_OUT +: 8] = 8'd0;
                    next[RES_USED +: 8] = 8'd0;
                    next[VENDOR_ERR +: 8] = `FRNIC_VENDOR_ERR_CQ_OVERFLOW;
                    next_chg = 1'b1;
                    next_event = `FRNIC_QP_EVENT_FATAL;
                end
            end
        endcase
        // Wrong parity stays, for whoever comes next.
        if (who_reg == W_LW && (err_reg || !exists)) begin
            next_write = 1'b0;
            next_chg = 1'b0;
            next_event = 8'd0;
        end
    end

    assign slot_ready = st_reg == ST_IDLE && !sweep;
    assign slot_rdata = live_reg[447:0];
    assign take_valid = st_reg == ST_EXEC && wants_buf && !ev_valid && !give_valid;
    assign cqerr_ready = scan_reg && scan_index_reg == {LOG_QPS{1'b1}} && st_reg == ST_OUT && who_reg == W_SCAN && !ev_valid;
    assign sq_ready = st_reg == ST_OUT && who_reg == W_SQ;
    assign rq_ready = st_reg == ST_OUT && who_reg == W_RQ;
    assign conn_rd_valid = st_reg == ST_CONN && !conn_asked_reg;
    assign conn_rd_index = index_reg;
    assign lw_rdata = live_reg;
    assign lw_err = err_reg;

    frnic_rr_pick #(.PORTS(CLIENTS)) lw_arb (
        .clk(clk), .rst(rst), .req(lw_valid), .sel(lw_pick), .any(lw_any),
        .take(st_reg == ST_IDLE && !sweep && !slot_valid && !(scan_reg && !scan_turn_reg) && !lw_turn_reg)
    );

    /* verilator lint_off UNUSED */
    wire [1023:0] c = conn_rd_data;
    /* verilator lint_on UNUSED */
    wire [23:0] c_qpn = {c[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], c[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};

    genvar w;
    generate
        for (w = 0; w < CLIENTS; w = w + 1) begin : client
            assign lw_done[w] = st_reg == ST_OUT && who_reg == W_LW && lw_sel_reg == w;
        end
        for (w = 0; w < 8; w = w + 1) begin : word
            /* verilator lint_off PINCONNECTEMPTY */
            frnic_ram_sdp_parity #(.DATA_W(64), .LOG_DEPTH(LOG_QPS), .READ_LATENCY(READ_LATENCY), .STYLE(STYLE)) ram (
                .clk(clk), .rst(rst),
                .wr_en(st_reg == ST_WRITE), .wr_addr(index_reg), .wr_data(live_reg[w*64 +: 64]), .wr_flip(8'd0),
                .rd_en(st_reg == ST_READ || st_reg == ST_CONN), .rd_addr(index_reg), .rd_valid(), .rd_data(mem_data[w*64 +: 64]), .rd_parity_err(mem_err[w])
            );
            /* verilator lint_on PINCONNECTEMPTY */
        end
    endgenerate

    always @(posedge clk) begin
        slot_done <= 1'b0;
        db_bad <= 1'b0;
        db_denied <= 1'b0;
        chg_valid <= 1'b0;
        sqdb_valid <= 1'b0;
        rqdb_valid <= 1'b0;
        no_buf <= 1'b0;
        if (give_ready) begin
            give_valid <= 1'b0;
        end
        if (ev_ready) begin
            ev_valid <= 1'b0;
        end
        case (st_reg)
            ST_IDLE: begin
                conn_asked_reg <= 1'b0;
                found_reg <= 1'b0;
                if (cqerr_valid && !scan_reg) begin
                    scan_reg <= 1'b1;
                    scan_index_reg <= {LOG_QPS{1'b0}};
                end
                scan_turn_reg <= 1'b0;
                lw_turn_reg <= 1'b0;
                wait_reg <= READ_LATENCY[2:0];
                if (sweep) begin
                    st_reg <= ST_IDLE;
                end else if (slot_valid) begin
                    who_reg <= W_SLOT;
                    index_reg <= slot_index;
                    st_reg <= ST_READ;
                end else if (scan_reg && !scan_turn_reg) begin
                    who_reg <= W_SCAN;
                    index_reg <= scan_index_reg;
                    st_reg <= ST_CONN;
                end else if (lw_any && !lw_turn_reg) begin
                    who_reg <= W_LW;
                    lw_sel_reg <= lw_pick;
                    index_reg <= lw_qpn[lw_pick*24 +: LOG_QPS];
                    st_reg <= ST_READ;
                end else if (sq_valid) begin
                    who_reg <= W_SQ;
                    index_reg <= db_number[LOG_QPS-1:0];
                    st_reg <= ST_CONN;
                end else if (rq_valid) begin
                    who_reg <= W_RQ;
                    index_reg <= db_number[LOG_QPS-1:0];
                    st_reg <= ST_CONN;
                end
            end

            // The entry is read beside the context, all the time.
            ST_CONN: begin
                if (conn_rd_ready) begin
                    conn_asked_reg <= 1'b1;
                end
                if (wait_reg != 3'd0 && !conn_rd_done) begin
                    wait_reg <= wait_reg - 1'b1;
                end
                if (conn_rd_done) begin
                    found_reg <= conn_rd_live && !conn_rd_err && (who_reg == W_SCAN || c_qpn == db_number);
                    c_qpn_reg <= c_qpn;
                    c_uar_reg <= c[`FRNIC_CMD_QP_UAR_LSB +: 16];
                    c_log_sq_reg <= c[`FRNIC_CMD_QP_LOG_SQ_LSB +: 5];
                    c_log_rq_reg <= c[`FRNIC_CMD_QP_LOG_RQ_LSB +: 5];
                    c_srq_reg <= c[`FRNIC_CMD_QP_SRQ_SRQ_VALID_LSB];
                    c_uses_reg <= c[`FRNIC_CMD_QP_SCQ_SEND_CQN_LSB +: 24] == cqerr_cqn || c[`FRNIC_CMD_QP_RCQ_RECV_CQN_LSB +: 24] == cqerr_cqn;
                    live_reg <= exists ? mem_data : 512'd0;
                    err_reg <= exists && mem_err != 8'd0;
                    st_reg <= wait_reg == 3'd0 ? ST_EXEC : ST_WAIT;
                end
            end

            ST_READ: begin
                wait_reg <= READ_LATENCY[2:0];
                st_reg <= ST_WAIT;
            end

            ST_WAIT: begin
                wait_reg <= wait_reg - 1'b1;
                if (wait_reg == 3'd1) begin
                    live_reg <= exists ? mem_data : 512'd0;
                    err_reg <= exists && mem_err != 8'd0;
                    st_reg <= ST_EXEC;
                end
            end

            ST_EXEC: begin
                if (exec_now) begin
                    no_buf <= wants_buf && !take_ready;
                    live_reg <= next;
                    db_bad <= next_bad;
                    db_denied <= next_denied;
                    give_valid <= next_give;
                    give_buf <= live_reg[BUF +: LOG_BUFS];
                    ev_valid <= next_event != 8'd0;
                    ev_subtype <= next_event;
                    ev_qpn <= event_qpn;
                    chg_valid <= next_chg;
                    chg_index <= index_reg;
                    chg_state <= next[STATE +: 3];
                    chg_resp <= who_reg == W_SLOT && slot_op == OP_MODIFY && !slot_aux[7] && slot_aux[4];
                    chg_req <= who_reg == W_SLOT && slot_op == OP_MODIFY && !slot_aux[7] && slot_aux[5];
                    chg_clear <= who_reg == W_SLOT && (slot_op == OP_CREATE || slot_op == OP_CLEAR || slot_aux[7]);
                    sqdb_valid <= who_reg == W_SQ && next_write;
                    sqdb_index <= index_reg;
                    rqdb_valid <= who_reg == W_RQ && next_write && state == `FRNIC_QP_STATE_ERR;
                    rqdb_index <= index_reg;
                    st_reg <= next_write ? ST_WRITE : ST_OUT;
                    if (who_reg == W_SLOT && slot_op == OP_CREATE) begin
                        exists_reg[index_reg] <= 1'b1;
                    end
                    slot_moved <= slot_stale;
                    // An object that was lost is the QM's to end; words that are all written anew need not have been right.
                    slot_err <= err_reg && slot_op != OP_CREATE && slot_op != OP_CLEAR;
                end
            end

            ST_WRITE: begin
                st_reg <= ST_OUT;
            end

            default: begin // ST_OUT
                slot_done <= who_reg == W_SLOT;
                if (who_reg == W_SCAN) begin
                    scan_turn_reg <= 1'b1;
                end
                lw_turn_reg <= who_reg == W_LW;
                if (who_reg != W_SCAN || scan_index_reg != {LOG_QPS{1'b1}} || cqerr_ready) begin
                    st_reg <= ST_IDLE;
                    if (who_reg == W_SCAN) begin
                        scan_index_reg <= scan_index_reg + 1'b1;
                        scan_reg <= scan_index_reg != {LOG_QPS{1'b1}};
                    end
                end
            end
        endcase
        if (rst || sweep) begin
            exists_reg <= {(1 << LOG_QPS){1'b0}};
            st_reg <= ST_IDLE;
            scan_reg <= 1'b0;
            slot_done <= 1'b0;
            give_valid <= 1'b0;
            ev_valid <= 1'b0;
            db_bad <= 1'b0;
            db_denied <= 1'b0;
            chg_valid <= 1'b0;
            sqdb_valid <= 1'b0;
            rqdb_valid <= 1'b0;
            no_buf <= 1'b0;
        end
    end

endmodule

`resetall
