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

    // The comparisons are of 600 bits, and there are some thirty of these: each only where there is something to compare.
    always @(posedge clk) begin
        held_reg <= tvalid && !tready && !rst;
        if (tvalid && !tready) begin
            data_reg <= tdata;
            keep_reg <= tkeep;
            last_reg <= tlast;
            user_reg <= tuser;
        end
        if (held_reg && !rst) begin
            if (!tvalid || data_reg != tdata || keep_reg != tkeep || last_reg != tlast || user_reg != tuser) begin
                $display("%m: AXI-Stream rule broken: %s", tvalid ? "changed" : "withdrawn");
                $stop;
            end
        end
        if (tvalid && !rst) begin
            if (!tkeep[0] || (tkeep & (tkeep + 1'b1)) != {KEEP_W{1'b0}} || (!tlast && tkeep != {KEEP_W{1'b1}})) begin
                $display("%m: AXI-Stream rule broken: tkeep");
                $stop;
            end
        end
    end

endmodule

`resetall
