// SPDX-License-Identifier: BSD-2-Clause
//
// Protocol check of one AXI-Stream, on in every simulation (FRNIC_SIM): an offer stays until it is taken, tkeep is contiguous from lane 0
// and full but on the last beat, no beat is empty. Not synthesised.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axis_assert #(
    // Bits of tdata
    parameter DATA_W = 512,
    // Bits of tkeep, one a byte
    parameter KEEP_W = DATA_W / 8,
    // Bits of tuser
    parameter USER_W = 1
) (
    input  wire              clk,
    input  wire              rst,
    // The stream
    input  wire [DATA_W-1:0] tdata,
    input  wire [KEEP_W-1:0] tkeep,
    input  wire              tvalid,
    input  wire              tready,
    input  wire              tlast,
    input  wire [USER_W-1:0] tuser
);

    reg held_reg = 1'b0;
    reg [DATA_W-1:0] data_reg = {DATA_W{1'b0}};
    reg [KEEP_W-1:0] keep_reg = {KEEP_W{1'b0}};
    reg last_reg = 1'b0;
    reg [USER_W-1:0] user_reg = {USER_W{1'b0}};

    wire withdrawn = held_reg && !tvalid;
    wire changed = held_reg && tvalid && (data_reg != tdata || keep_reg != tkeep || last_reg != tlast || user_reg != tuser);
    wire bad_keep = tvalid && (!tkeep[0] || (tkeep & (tkeep + 1'b1)) != {KEEP_W{1'b0}} || (!tlast && tkeep != {KEEP_W{1'b1}}));

    always @(posedge clk) begin
        held_reg <= tvalid && !tready && !rst;
        data_reg <= tdata;
        keep_reg <= tkeep;
        last_reg <= tlast;
        user_reg <= tuser;
        if (!rst && (withdrawn || changed || bad_keep)) begin
            $display("%m: AXI-Stream rule broken: withdrawn %b, changed %b, tkeep %b", withdrawn, changed, bad_keep);
            $stop;
        end
    end

endmodule

`resetall
