// SPDX-License-Identifier: BSD-2-Clause
//
// A copy of the GID and P_Key tables for who makes packets or judges P_Keys: source address, VLAN and key by index. Written by frnic_control's updates.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_port_tables #(
    // log2 of the entries of each table
    parameter LOG_GIDS = 7,
    parameter LOG_PKEYS = 7
) (
    input  wire                 clk,
    input  wire                 rst,
    // Table updates: 1 GID, 2 P_Key, 3 clear all; data = image bytes 0x20..0x3f
    input  wire                 upd_valid,
    input  wire [1:0]           upd_table,
    input  wire [7:0]           upd_index,
    /* verilator lint_off UNUSED */
    input  wire [255:0]         upd_data,
    /* verilator lint_on UNUSED */
    // Source of a packet; valid: the entry is in use
    input  wire [LOG_GIDS-1:0]  gid_index,
    output wire                 gid_valid,
    output wire                 gid_ipv6,
    output wire                 gid_vlan,
    output wire [11:0]          gid_vid,
    output wire [47:0]          gid_smac,
    output wire [127:0]         gid,
    // P_Key, 0 if there is none
    input  wire [LOG_PKEYS-1:0] pkey_index,
    output wire [15:0]          pkey
);

    localparam GIDS = 1 << LOG_GIDS, PKEYS = 1 << LOG_PKEYS;
    localparam GID_W = 128 + 48 + 12 + 1 + 1;

    reg [GID_W-1:0] gid_mem [0:GIDS-1];
    reg [GIDS-1:0] gid_set_reg = {GIDS{1'b0}};
    reg [15:0] pkey_mem [0:PKEYS-1];
    reg [PKEYS-1:0] pkey_set_reg = {PKEYS{1'b0}};

    wire [7:0] upd_type = upd_data[`FRNIC_CMD_GID_GID_TYPE_LSB - 256 +: 8];
    wire gid_write = upd_valid && upd_table == 2'd1 && {24'd0, upd_index} < GIDS;
    wire pkey_write = upd_valid && upd_table == 2'd2 && {24'd0, upd_index} < PKEYS;
    wire [GID_W-1:0] gid_word = gid_mem[gid_index];

    assign {gid, gid_smac, gid_vid, gid_vlan, gid_ipv6} = gid_word;
    assign gid_valid = gid_set_reg[gid_index];
    assign pkey = pkey_set_reg[pkey_index] ? pkey_mem[pkey_index] : 16'd0;

    always @(posedge clk) begin
        if (gid_write) begin
            gid_mem[upd_index[LOG_GIDS-1:0]] <= {upd_data[`FRNIC_CMD_GID_GID_LSB - 256 +: 128], upd_data[`FRNIC_CMD_GID_SMAC_LSB - 256 +: 48],
                                                 upd_data[`FRNIC_CMD_GID_VLAN_TCI_LSB - 256 +: 12],
                                                 upd_data[`FRNIC_CMD_GID_VLAN_VALID_LSB - 256 +: 8] != 8'd0, upd_type == `FRNIC_GID_TYPE_IPV6};
            gid_set_reg[upd_index[LOG_GIDS-1:0]] <= upd_type != 8'd0;
        end
        if (pkey_write) begin
            pkey_mem[upd_index[LOG_PKEYS-1:0]] <= upd_data[32 +: 16];
            pkey_set_reg[upd_index[LOG_PKEYS-1:0]] <= 1'b1;
        end
        if (rst || (upd_valid && upd_table == 2'd3)) begin
            gid_set_reg <= {GIDS{1'b0}};
            pkey_set_reg <= {PKEYS{1'b0}};
        end
    end

endmodule

`resetall
