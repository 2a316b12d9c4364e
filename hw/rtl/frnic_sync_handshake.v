// SPDX-License-Identifier: BSD-2-Clause
//
// Carries a word from one clock to another, one at a time, by a request and an acknowledge toggle. For slow values (settings, event
// pulses with WIDTH 1); streams use frnic_async_fifo. Both resets come from one source.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_sync_handshake #(
    // Bits of the word
    parameter WIDTH = 32
) (
    // Source clock: a word is taken when valid and ready
    input  wire             s_clk,
    input  wire             s_rst,
    input  wire [WIDTH-1:0] s_data,
    input  wire             s_valid,
    output wire             s_ready,
    // Destination clock: data is given for one cycle with valid
    input  wire             m_clk,
    input  wire             m_rst,
    output wire [WIDTH-1:0] m_data,
    output wire             m_valid
);

    // Stable from the request toggle until the acknowledge has come back, so that the destination samples settled bits.
    reg [WIDTH-1:0] hold_reg = {WIDTH{1'b0}};
    reg req_reg = 1'b0;
    wire ack_sync;

    reg [WIDTH-1:0] m_data_reg = {WIDTH{1'b0}};
    reg m_valid_reg = 1'b0;
    reg ack_reg = 1'b0;
    wire req_sync;

    assign s_ready = (req_reg == ack_sync) && !s_rst;
    assign m_data = m_data_reg;
    assign m_valid = m_valid_reg;

    frnic_sync_bit sync_req (
        .clk(m_clk),
        .rst(m_rst),
        .d(req_reg),
        .q(req_sync)
    );

    frnic_sync_bit sync_ack (
        .clk(s_clk),
        .rst(s_rst),
        .d(ack_reg),
        .q(ack_sync)
    );

    always @(posedge s_clk) begin
        if (s_valid && s_ready) begin
            hold_reg <= s_data;
            req_reg <= !req_reg;
        end
        if (s_rst) begin
            req_reg <= 1'b0;
        end
    end

    always @(posedge m_clk) begin
        m_valid_reg <= req_sync != ack_reg;
        if (req_sync != ack_reg) begin
            m_data_reg <= hold_reg;
        end
        ack_reg <= req_sync;
        if (m_rst) begin
            m_valid_reg <= 1'b0;
            ack_reg <= 1'b0;
        end
    end

endmodule

`resetall
