// SPDX-License-Identifier: BSD-2-Clause
//
// Whose is a good RoCE packet: finds the QP and checks service type, state, addresses and P_Key in the model's order (transport.c, protocol
// rule 15). Packets of nobody vanish, counted. PSNs and what a packet asks for are the responder's and requester's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rx_class #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // Entries of the GID table, of the P_Key table; powers of two
    parameter GIDS = 128,
    parameter PKEYS = 128,
    // Bits of the metadata record (META_W)
    parameter META_BITS = 632
) (
    input  wire                 clk,
    input  wire                 rst,
    // Table updates: 1 GID, 2 P_Key, 3 clear all
    input  wire                 upd_valid,
    input  wire [1:0]           upd_table,
    input  wire [7:0]           upd_index,
    /* verilator lint_off UNUSED */
    input  wire [255:0]         upd_data,
    /* verilator lint_on UNUSED */
    // Packets from frnic_net_rx, and their records, which are taken ahead: the next packet is looked up while this one moves
    input  wire [511:0]         s_axis_tdata,
    input  wire [63:0]          s_axis_tkeep,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire [META_BITS-1:0] s_meta,
    input  wire                 s_meta_valid,
    output wire                 s_meta_ready,
    // With s_meta: a copy for a QP of a multicast group (frnic_rx_mcast), its destination address is the group's
    input  wire                 s_mcast,
    // Reader of the connection contexts (frnic_control)
    output wire                 qp_rd_valid,
    input  wire                 qp_rd_ready,
    output wire [LOG_QPS-1:0]   qp_rd_index,
    input  wire                 qp_rd_done,
    input  wire                 qp_rd_live,
    input  wire                 qp_rd_err,
    input  wire [1023:0]        qp_rd_data,
    // The QP's state from the owner of its live words; failing: on its way to ERR
    output wire                 st_rd_valid,
    output wire [LOG_QPS-1:0]   st_rd_index,
    input  wire                 st_rd_done,
    input  wire [2:0]           st_rd_state,
    input  wire                 st_rd_failing,
    // Packets of live QPs, with their record and context; m_kind: 0 request, 1 response, 2 datagram
    output wire [511:0]         m_axis_tdata,
    output wire [63:0]          m_axis_tkeep,
    output wire                 m_axis_tvalid,
    input  wire                 m_axis_tready,
    output wire                 m_axis_tlast,
    output wire [META_BITS-1:0] m_meta,
    output wire [1023:0]        m_conn,
    output wire [1:0]           m_kind,
    // Counters, pulses
    output reg                  cnt_unknown_qp,
    output reg                  cnt_bad_state,
    output reg                  cnt_bad_addr,
    output reg                  cnt_bad_pkey,
    output reg                  cnt_cnp,
    output reg                  cnt_mcast
);

    `include "frnic_hw.vh"
    `include "frnic_rx_meta.vh"

    localparam LOG_GIDS = $clog2(GIDS);
    localparam LOG_PKEYS = $clog2(PKEYS);

    // ---- tables ----

    // VID as a match wants it (0: none or a priority tag), GID
    reg [139:0] gid_mem [0:GIDS-1];
    // Type, outside the memory, so that a clear needs one cycle
    reg [GIDS-1:0] is4_reg = {GIDS{1'b0}};
    reg [GIDS-1:0] is6_reg = {GIDS{1'b0}};
    reg [15:0] pkey_mem [0:PKEYS-1];
    reg [PKEYS-1:0] pkey_set_reg = {PKEYS{1'b0}};

    wire [7:0] upd_type = upd_data[`FRNIC_CMD_GID_GID_TYPE_LSB - 256 +: 8];
    wire [11:0] upd_vid = upd_data[`FRNIC_CMD_GID_VLAN_VALID_LSB - 256 +: 8] != 8'd0 ? upd_data[`FRNIC_CMD_GID_VLAN_TCI_LSB - 256 +: 12] : 12'd0;
    wire gid_write = upd_valid && upd_table == 2'd1 && upd_index < GIDS[7:0];
    wire pkey_write = upd_valid && upd_table == 2'd2 && upd_index < PKEYS[7:0];

    always @(posedge clk) begin
        if (gid_write) begin
            gid_mem[upd_index[LOG_GIDS-1:0]] <= {upd_vid, upd_data[`FRNIC_CMD_GID_GID_LSB - 256 +: 128]};
            is4_reg[upd_index[LOG_GIDS-1:0]] <= upd_type == `FRNIC_GID_TYPE_IPV4;
            is6_reg[upd_index[LOG_GIDS-1:0]] <= upd_type == `FRNIC_GID_TYPE_IPV6;
        end
        if (pkey_write) begin
            pkey_mem[upd_index[LOG_PKEYS-1:0]] <= upd_data[32 +: 16];
            pkey_set_reg[upd_index[LOG_PKEYS-1:0]] <= 1'b1;
        end
        if (rst || (upd_valid && upd_table == 2'd3)) begin
            is4_reg <= {GIDS{1'b0}};
            is6_reg <= {GIDS{1'b0}};
            pkey_set_reg <= {PKEYS{1'b0}};
        end
    end

    // ---- one record at a time ----

    localparam [1:0] S_IDLE = 2'd0, S_WAIT = 2'd1, S_FIND = 2'd2, S_GID = 2'd3;
    reg [1:0] state_reg = S_IDLE;
    reg asked_reg = 1'b0;
    reg got_conn_reg = 1'b0;
    reg got_state_reg = 1'b0;
    reg [1023:0] conn_reg = 1024'd0;
    reg conn_ok_reg = 1'b0;
    reg [2:0] qp_state_reg = 3'd0;
    reg failing_reg = 1'b0;
    reg [139:0] gid_reg = 140'd0;
    reg gid_ok_reg = 1'b0;
    reg [LOG_GIDS-1:0] gid_index_reg = {LOG_GIDS{1'b0}};
    reg [LOG_GIDS:0] tried_reg = {(LOG_GIDS+1){1'b0}};

    wire [23:0] dqpn = s_meta[META_DQPN +: 24];
    wire [7:0] opcode = s_meta[META_OPCODE +: 8];
    wire response = s_meta[META_FLAGS + F_RESPONSE];
    wire ipv6 = s_meta[META_IPV6];
    wire [11:0] vid = s_meta[META_VLAN] ? s_meta[META_TCI +: 12] : 12'd0;

    wire [23:0] c_qpn = {conn_reg[`FRNIC_CMD_QP_NUM_HI_QPN_HI_LSB +: 8], conn_reg[`FRNIC_CMD_QP_CTRL_QPN_LO_LSB +: 16]};
    wire [2:0] c_type = conn_reg[`FRNIC_CMD_QP_PD_QP_TYPE_LSB +: 3];
    wire [15:0] c_sgid = conn_reg[`FRNIC_CMD_QP_SGID_INDEX_LSB +: 16];
    wire [15:0] c_pkey = conn_reg[`FRNIC_CMD_QP_PKEY_INDEX_LSB +: 16];
    wire [127:0] c_dgid = conn_reg[`FRNIC_CMD_QP_DGID_LSB +: 128];
    wire connected = c_type == `FRNIC_QP_TYPE_RC || c_type == `FRNIC_QP_TYPE_UC;
    wire cnp = opcode == 8'h81;

    wire known = conn_ok_reg && c_qpn == dqpn && dqpn != 24'hffffff &&
                 (cnp || (opcode[7:5] == 3'd0 && c_type == `FRNIC_QP_TYPE_RC) || (opcode[7:5] == 3'd1 && c_type == `FRNIC_QP_TYPE_UC) ||
                  (opcode[7:5] == 3'd3 && !connected));
    wire receives = !failing_reg && (qp_state_reg == `FRNIC_QP_STATE_RTR ? !response :
                                     qp_state_reg == `FRNIC_QP_STATE_RTS || qp_state_reg == `FRNIC_QP_STATE_SQD || qp_state_reg == `FRNIC_QP_STATE_SQE);
    wire gid_hit = gid_ok_reg && gid_reg == {vid, s_meta[META_DGID +: 128]};
    wire addr_ok = s_mcast || (gid_hit && (!connected || c_dgid == s_meta[META_SGID +: 128]));
    wire gid_end = connected || tried_reg == GIDS[LOG_GIDS:0];
    wire [15:0] own_pkey = pkey_set_reg[c_pkey[LOG_PKEYS-1:0]] ? pkey_mem[c_pkey[LOG_PKEYS-1:0]] : 16'd0;
    wire [15:0] pkey = s_meta[META_PKEY +: 16];
    wire pkey_ok = pkey[14:0] != 15'd0 && pkey[14:0] == own_pkey[14:0] && (pkey[15] || own_pkey[15]) && c_pkey[15:LOG_PKEYS] == {(16-LOG_PKEYS){1'b0}};
    // A connected QP names its GID; a datagram may come to any. Index 0 first, or the QP's own.
    wire sgid_ok = !connected || c_sgid[15:LOG_GIDS] == {(16-LOG_GIDS){1'b0}};

    assign qp_rd_valid = (state_reg == S_IDLE && s_meta_valid) || (state_reg == S_WAIT && !asked_reg);
    assign qp_rd_index = dqpn[LOG_QPS-1:0];
    assign st_rd_valid = state_reg == S_IDLE && s_meta_valid;
    assign st_rd_index = dqpn[LOG_QPS-1:0];

    // ---- Verdicts for the frames behind ----
    wire v_ready, q_valid, q_pass;
    wire judged = state_reg == S_GID && tried_reg != {(LOG_GIDS+1){1'b0}};
    wire pass = judged && addr_ok && !cnp && (!connected || pkey_ok);
    wire v_valid = (state_reg == S_FIND && (!known || !receives)) || (judged && (addr_ok || gid_end));

    assign s_meta_ready = v_valid && v_ready;

    /* verilator lint_off PINCONNECTEMPTY */
    frnic_fifo #(.WIDTH(1 + 2 + 1024 + META_BITS), .LOG_DEPTH(1)) verdicts (
        .clk(clk), .rst(rst), .wr_data({pass, !connected ? 2'd2 : response ? 2'd1 : 2'd0, conn_reg, s_meta}), .wr_valid(v_valid), .wr_ready(v_ready),
        .rd_data({q_pass, m_kind, m_conn, m_meta}), .rd_valid(q_valid), .rd_ready(s_axis_tvalid && s_axis_tready && s_axis_tlast), .count()
    );
    /* verilator lint_on PINCONNECTEMPTY */

    assign m_axis_tdata = s_axis_tdata;
    assign m_axis_tkeep = s_axis_tkeep;
    assign m_axis_tlast = s_axis_tlast;
    assign m_axis_tvalid = q_valid && q_pass && s_axis_tvalid;
    assign s_axis_tready = q_valid && (!q_pass || m_axis_tready);

    always @(posedge clk) begin
        cnt_unknown_qp <= 1'b0;
        cnt_bad_state <= 1'b0;
        cnt_bad_addr <= 1'b0;
        cnt_bad_pkey <= 1'b0;
        cnt_cnp <= 1'b0;
        cnt_mcast <= 1'b0;
        case (state_reg)
            S_IDLE: begin
                asked_reg <= qp_rd_ready;
                got_conn_reg <= 1'b0;
                got_state_reg <= 1'b0;
                if (s_meta_valid) begin
                    state_reg <= S_WAIT;
                end
            end
            S_WAIT: begin
                asked_reg <= asked_reg || qp_rd_ready;
                if (qp_rd_done) begin
                    got_conn_reg <= 1'b1;
                    conn_reg <= qp_rd_data;
                    // A context with wrong parity is nobody's.
                    conn_ok_reg <= qp_rd_live && !qp_rd_err;
                end
                if (st_rd_done) begin
                    got_state_reg <= 1'b1;
                    qp_state_reg <= st_rd_state;
                    failing_reg <= st_rd_failing;
                end
                if ((got_conn_reg || qp_rd_done) && (got_state_reg || st_rd_done)) begin
                    state_reg <= S_FIND;
                end
            end
            S_FIND: begin
                gid_index_reg <= connected ? c_sgid[LOG_GIDS-1:0] : {LOG_GIDS{1'b0}};
                tried_reg <= {(LOG_GIDS+1){1'b0}};
                gid_ok_reg <= 1'b0;
                if (known && receives) begin
                    state_reg <= S_GID;
                end else if (v_ready) begin
                    cnt_unknown_qp <= !known;
                    cnt_bad_state <= known;
                    state_reg <= S_IDLE;
                end
            end
            default: if (v_ready) begin // S_GID
                gid_reg <= gid_mem[gid_index_reg];
                gid_ok_reg <= (ipv6 ? is6_reg[gid_index_reg] : is4_reg[gid_index_reg]) && sgid_ok;
                gid_index_reg <= connected ? gid_index_reg : gid_index_reg + 1'b1;
                tried_reg <= tried_reg + 1'b1;
                // The entry read in the cycle before is judged here.
                if (judged) begin
                    cnt_cnp <= addr_ok && cnp;
                    cnt_bad_pkey <= addr_ok && !cnp && !pass;
                    cnt_bad_addr <= !addr_ok && gid_end;
                    cnt_mcast <= s_mcast;
                    if (v_valid) begin
                        state_reg <= S_IDLE;
                    end
                end
            end
        endcase
        if (rst) begin
            state_reg <= S_IDLE;
            cnt_unknown_qp <= 1'b0;
            cnt_bad_state <= 1'b0;
            cnt_bad_addr <= 1'b0;
            cnt_bad_pkey <= 1'b0;
            cnt_cnp <= 1'b0;
            cnt_mcast <= 1'b0;
        end
    end

endmodule

`resetall
