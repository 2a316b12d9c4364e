// SPDX-License-Identifier: BSD-2-Clause
//
// Copies of multicast datagrams: a packet to QPN 0xffffff is kept here and goes on once for each QP that is attached to its group, with that QP's number in
// its record, but not to the QP that sent it (IBTA 10.5.2; the model's ud_mcast_rx()). All other packets pass. What a QP makes of its copy is decided behind.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_rx_mcast #(
    // log2 of the multicast table
    parameter LOG_MCASTS = 8,
    // Entries of the GID table, a power of two
    parameter GIDS = 128,
    // Bits of the metadata record (META_W)
    parameter META_BITS = 632
) (
    input  wire                  clk,
    input  wire                  rst,
    // Table updates: 1 GID, 3 clear all
    input  wire                  upd_valid,
    input  wire [1:0]            upd_table,
    input  wire [7:0]            upd_index,
    /* verilator lint_off UNUSED */
    input  wire [255:0]          upd_data,
    /* verilator lint_on UNUSED */
    // Multicast table (frnic_control): entries in use, reader
    input  wire [LOG_MCASTS:0]   used,
    output wire                  mc_rd_valid,
    input  wire                  mc_rd_ready,
    output wire [LOG_MCASTS-1:0] mc_rd_index,
    input  wire                  mc_rd_done,
    input  wire                  mc_rd_live,
    input  wire                  mc_rd_err,
    /* verilator lint_off UNUSED */
    input  wire [255:0]          mc_rd_data,
    /* verilator lint_on UNUSED */
    // Packets and their records from frnic_net_rx
    input  wire [511:0]          s_axis_tdata,
    input  wire [63:0]           s_axis_tkeep,
    input  wire                  s_axis_tvalid,
    output wire                  s_axis_tready,
    input  wire                  s_axis_tlast,
    input  wire [META_BITS-1:0]  s_meta,
    input  wire                  s_meta_valid,
    output wire                  s_meta_ready,
    // To frnic_rx_class; m_mcast with m_meta: a copy, its address is the group's
    output wire [511:0]          m_axis_tdata,
    output wire [63:0]           m_axis_tkeep,
    output wire                  m_axis_tvalid,
    input  wire                  m_axis_tready,
    output wire                  m_axis_tlast,
    output wire [META_BITS-1:0]  m_meta,
    output wire                  m_meta_valid,
    input  wire                  m_meta_ready,
    output wire                  m_mcast,
    output wire                  idle,
    // Counter RX_UNKNOWN_QP: nobody is attached
    output reg                   cnt_unknown
);

    `include "frnic_hw.vh"
    `include "frnic_rx_meta.vh"

    localparam LOG_GIDS = $clog2(GIDS);

    // ---- Own GIDs ----
    reg [127:0] gid_mem [0:GIDS-1];
    reg [GIDS-1:0] gid_set_reg = {GIDS{1'b0}};
    wire gid_write = upd_valid && upd_table == 2'd1 && upd_index < GIDS[7:0];

    always @(posedge clk) begin
        if (gid_write) begin
            gid_mem[upd_index[LOG_GIDS-1:0]] <= upd_data[`FRNIC_CMD_GID_GID_LSB - 256 +: 128];
            gid_set_reg[upd_index[LOG_GIDS-1:0]] <= upd_data[`FRNIC_CMD_GID_GID_TYPE_LSB - 256 +: 8] != `FRNIC_GID_TYPE_NONE;
        end
        if (rst || (upd_valid && upd_table == 2'd3)) begin
            gid_set_reg <= {GIDS{1'b0}};
        end
    end

    // ---- Packets ----
    localparam [2:0] S_PASS = 3'd0, S_STORE = 3'd1, S_NEXT = 3'd2, S_ENTRY = 3'd3, S_OWN = 3'd4, S_META = 3'd5, S_PLAY = 3'd6;
    reg [2:0] state_reg = S_PASS;
    reg [3:0] under_way_reg = 4'd0; // records that went on and whose packets have not
    reg [META_BITS-1:0] meta_reg;
    // One packet: at most 4096 bytes of payload and 110 around them
    reg [576:0] mem [0:127];
    reg [6:0] at_reg = 7'd0;
    reg [LOG_MCASTS:0] index_reg;
    reg [LOG_MCASTS:0] seen_reg;
    reg found_reg;
    reg asked_reg;
    reg [23:0] qpn_reg;
    reg [LOG_GIDS:0] tried_reg;

    wire to_group = s_meta[META_DQPN +: 24] == 24'hffffff;
    wire pass = state_reg == S_PASS;
    wire meta_pass = pass && s_meta_valid && !to_group && under_way_reg != 4'd15;
    wire meta_gone = meta_pass && m_meta_ready;
    wire frame_pass = pass && under_way_reg != 4'd0;
    wire frame_gone = frame_pass && s_axis_tvalid && m_axis_tready && s_axis_tlast;
    wire [127:0] dgid = meta_reg[META_DGID +: 128];
    wire is_group = meta_reg[META_FLAGS + F_DETH] && (meta_reg[META_IPV6] ? dgid[7:0] == 8'hff : dgid[103:100] == 4'he);
    // The DETH's source QP: bytes 5..7 of the extension
    wire [23:0] src_qp = {meta_reg[META_EXT + 40 +: 8], meta_reg[META_EXT + 48 +: 8], meta_reg[META_EXT + 56 +: 8]};
    wire over = !is_group || index_reg[LOG_MCASTS] || seen_reg == used;
    wire match = mc_rd_live && !mc_rd_err && mc_rd_data[`FRNIC_CMD_MCAST_GID_LSB - 256 +: 128] == dgid;
    wire [23:0] mc_qpn = mc_rd_data[`FRNIC_CMD_MCAST_QPN_QPN_LSB - 256 +: 24];
    wire gid_hit = gid_set_reg[tried_reg[LOG_GIDS-1:0]] && gid_mem[tried_reg[LOG_GIDS-1:0]] == meta_reg[META_SGID +: 128];
    wire [576:0] kept = mem[at_reg];
    reg [META_BITS-1:0] copy;

    always @* begin
        copy = meta_reg;
        copy[META_DQPN +: 24] = qpn_reg;
    end

    assign mc_rd_valid = state_reg == S_ENTRY && !asked_reg;
    assign mc_rd_index = index_reg[LOG_MCASTS-1:0];
    assign s_meta_ready = meta_gone || (state_reg == S_STORE && s_axis_tvalid && s_axis_tlast);
    assign s_axis_tready = state_reg == S_STORE || (frame_pass && m_axis_tready);
    assign m_meta = state_reg == S_META ? copy : s_meta;
    assign m_meta_valid = meta_pass || state_reg == S_META;
    assign m_mcast = state_reg == S_META;
    assign {m_axis_tlast, m_axis_tkeep, m_axis_tdata} = state_reg == S_PLAY ? kept : {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
    assign m_axis_tvalid = state_reg == S_PLAY || (frame_pass && s_axis_tvalid);
    assign idle = pass;

    always @(posedge clk) begin
        if (state_reg == S_STORE && s_axis_tvalid) begin
            mem[at_reg] <= {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
        end
    end

    always @(posedge clk) begin
        cnt_unknown <= 1'b0;
        under_way_reg <= under_way_reg + {3'd0, meta_gone} - {3'd0, frame_gone};
        case (state_reg)
            // What is under way is out before a packet is kept.
            S_PASS: begin
                at_reg <= 7'd0;
                meta_reg <= s_meta;
                if (s_meta_valid && to_group && under_way_reg == 4'd0) begin
                    state_reg <= S_STORE;
                end
            end
            S_STORE: begin
                index_reg <= {(LOG_MCASTS+1){1'b0}};
                seen_reg <= {(LOG_MCASTS+1){1'b0}};
                found_reg <= 1'b0;
                if (s_axis_tvalid) begin
                    at_reg <= at_reg + 7'd1;
                    if (s_axis_tlast) begin
                        state_reg <= S_NEXT;
                    end
                end
            end
            S_NEXT: begin
                asked_reg <= 1'b0;
                if (over) begin
                    cnt_unknown <= !found_reg;
                    state_reg <= S_PASS;
                end else begin
                    state_reg <= S_ENTRY;
                end
            end
            S_ENTRY: begin
                tried_reg <= {(LOG_GIDS+1){1'b0}};
                if (mc_rd_ready) begin
                    asked_reg <= 1'b1;
                end
                if (mc_rd_done) begin
                    index_reg <= index_reg + 1'b1;
                    if (mc_rd_live) begin
                        seen_reg <= seen_reg + 1'b1;
                    end
                    qpn_reg <= mc_qpn;
                    if (match) begin
                        found_reg <= 1'b1;
                        state_reg <= mc_qpn == src_qp ? S_OWN : S_META;
                    end else begin
                        state_reg <= S_NEXT;
                    end
                end
            end
            // Of its number; from here, too?
            S_OWN: begin
                tried_reg <= tried_reg + 1'b1;
                if (tried_reg[LOG_GIDS]) begin
                    state_reg <= S_META;
                end else if (gid_hit) begin
                    state_reg <= S_NEXT;
                end
            end
            S_META: begin
                at_reg <= 7'd0;
                if (m_meta_ready) begin
                    state_reg <= S_PLAY;
                end
            end
            default: if (m_axis_tready) begin // S_PLAY
                at_reg <= at_reg + 7'd1;
                if (m_axis_tlast) begin
                    state_reg <= S_NEXT;
                end
            end
        endcase
        if (rst) begin
            state_reg <= S_PASS;
            under_way_reg <= 4'd0;
            cnt_unknown <= 1'b0;
        end
    end

endmodule

`resetall
