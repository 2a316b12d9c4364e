// SPDX-License-Identifier: BSD-2-Clause
//
// Holds a stream back between two packets while it is closed. What was offered is not taken back, what was begun goes on to its end. No register in the way.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_gate (
    input  wire clk,
    input  wire rst,
    // Level: no packet begins
    input  wire close,
    input  wire s_valid,
    output wire s_ready,
    input  wire s_last,
    output wire m_valid,
    input  wire m_ready
);

    reg open_reg = 1'b0; // a packet was offered and is not over

    wire pass = !close || open_reg;

    assign m_valid = s_valid && pass;
    assign s_ready = m_ready && pass;

    always @(posedge clk) begin
        if (m_valid) begin
            open_reg <= !(m_ready && s_last);
        end
        if (rst) begin
            open_reg <= 1'b0;
        end
    end

endmodule

`resetall
