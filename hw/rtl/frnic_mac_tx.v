// SPDX-License-Identifier: BSD-2-Clause
//
// From the user clock to the CMAC's transmit clock. A frame starts when all of it is in the FIFO, since the CMAC must see no gap. Frames are
// filled up to Ethernet's minimum; the FCS is the CMAC's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_mac_tx #(
    // log2 of the FIFO's beats; the longest frame must fit
    parameter LOG_DEPTH = 8
) (
    // User side
    input  wire         clk,
    input  wire         rst,
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    // CMAC side
    input  wire         cmac_clk,
    input  wire         cmac_rst,
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser
);

    // Ethernet's shortest frame without FCS.
    localparam [63:0] MIN_KEEP = {4'h0, {60{1'b1}}};

    wire data_ready;
    wire token_ready;
    wire data_valid;
    wire token_valid;
    wire data_last;
    wire end_frame = data_valid && token_valid && m_axis_tready && data_last;

    reg first_reg = 1'b1;
    reg token_reg = 1'b0;
    reg [511:0] padded;
    integer i;

    always @* begin
        for (i = 0; i < 64; i = i + 1) begin
            padded[i*8 +: 8] = s_axis_tkeep[i] ? s_axis_tdata[i*8 +: 8] : 8'h00;
        end
    end

    wire fill = first_reg && s_axis_tlast;

    always @(posedge clk) begin
        if (s_axis_tvalid && s_axis_tready) begin
            first_reg <= s_axis_tlast;
        end
        if (token_ready) begin
            token_reg <= s_axis_tvalid && s_axis_tready && s_axis_tlast;
        end
        if (rst) begin
            token_reg <= 1'b0;
            first_reg <= 1'b1;
        end
    end

    // A beat comes only when the token before it has been written.
    assign s_axis_tready = data_ready && token_ready;

    frnic_axis_async_fifo #(
        .USER_W(1),
        .LOG_DEPTH(LOG_DEPTH)
    ) fifo (
        .s_clk(clk),
        .s_rst(rst),
        .s_axis_tdata(padded),
        .s_axis_tkeep(fill ? s_axis_tkeep | MIN_KEEP : s_axis_tkeep),
        .s_axis_tvalid(s_axis_tvalid && token_ready),
        .s_axis_tready(data_ready),
        .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(1'b0),
        /* verilator lint_off PINCONNECTEMPTY */
        .s_level(),
        /* verilator lint_on PINCONNECTEMPTY */
        .m_clk(cmac_clk),
        .m_rst(cmac_rst),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(data_valid),
        .m_axis_tready(m_axis_tready && token_valid),
        .m_axis_tlast(data_last),
        .m_axis_tuser(m_axis_tuser)
    );

    wire token;

    // A token for each whole frame, written a cycle after the last beat: the two pointers cross by themselves, and the token must not be first.
    frnic_async_fifo #(
        .WIDTH(1),
        .LOG_DEPTH(LOG_DEPTH)
    ) tokens (
        .s_clk(clk),
        .s_rst(rst),
        .s_data(1'b1),
        .s_valid(token_reg),
        .s_ready(token_ready),
        /* verilator lint_off PINCONNECTEMPTY */
        .s_level(),
        /* verilator lint_on PINCONNECTEMPTY */
        .m_clk(cmac_clk),
        .m_rst(cmac_rst),
        .m_data(token),
        .m_valid(token_valid),
        .m_ready(end_frame)
    );

    assign m_axis_tvalid = data_valid && token_valid && token;
    assign m_axis_tlast = data_last;

endmodule

`resetall
