// SPDX-License-Identifier: BSD-2-Clause
//
// The beats of a frame wait beside frnic_icrc_core: out 6 moves after they came in, as many as the core takes.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_icrc_line #(
    // Bits of a beat with all that travels along
    parameter WIDTH = 512
) (
    input  wire             clk,
    input  wire             rst,
    // The line moves
    input  wire             ce,
    input  wire             s_valid,
    input  wire [WIDTH-1:0] s_word,
    output wire             m_valid,
    output wire [WIDTH-1:0] m_word
);

    // No reset for the words, so that they become shift registers of LUTs.
    reg [WIDTH-1:0] word1_reg = {WIDTH{1'b0}};
    reg [WIDTH-1:0] word2_reg = {WIDTH{1'b0}};
    reg [WIDTH-1:0] word3_reg = {WIDTH{1'b0}};
    reg [WIDTH-1:0] word4_reg = {WIDTH{1'b0}};
    reg [WIDTH-1:0] word5_reg = {WIDTH{1'b0}};
    reg [WIDTH-1:0] word6_reg = {WIDTH{1'b0}};
    reg [5:0] valid_reg = 6'd0;

    assign m_valid = valid_reg[5];
    assign m_word = word6_reg;

    always @(posedge clk) begin
        // Nothing moves through an empty line, whatever its enable: that saves power, and a simulation moving 3.5 kbit.
        if (ce && (s_valid || valid_reg != 6'd0)) begin
            word1_reg <= s_word;
            word2_reg <= word1_reg;
            word3_reg <= word2_reg;
            word4_reg <= word3_reg;
            word5_reg <= word4_reg;
            word6_reg <= word5_reg;
            valid_reg <= {valid_reg[4:0], s_valid};
        end
        if (rst) begin
            valid_reg <= 6'd0;
        end
    end

endmodule

`resetall
