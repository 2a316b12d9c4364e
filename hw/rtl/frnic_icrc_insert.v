// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the iCRC into the last four bytes of each frame of a stream. The source keeps them free, as zeros, and counts them in tkeep. Frames with
// tuser[0] clear are not RoCE v2 and pass unchanged.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_icrc_insert #(
    // Bits of tuser; bit 0: write an iCRC
    parameter USER_W = 1
) (
    input  wire              clk,
    input  wire              rst,
    // Stream in
    input  wire [511:0]      s_axis_tdata,
    input  wire [63:0]       s_axis_tkeep,
    input  wire              s_axis_tvalid,
    output wire              s_axis_tready,
    input  wire              s_axis_tlast,
    input  wire [USER_W-1:0] s_axis_tuser,
    // Stream out
    output wire [511:0]      m_axis_tdata,
    output wire [63:0]       m_axis_tkeep,
    output wire              m_axis_tvalid,
    input  wire              m_axis_tready,
    output wire              m_axis_tlast,
    output wire [USER_W-1:0] m_axis_tuser
);

    localparam WIDTH = USER_W + 1 + 64 + 512;

    // One beat more: the iCRC may begin in the last beat but one, so a beat waits here for its successor, unless it is the last.
    reg [WIDTH-1:0] hold_reg = {WIDTH{1'b0}};
    reg hold_valid_reg = 1'b0;

    wire [31:0] state;
    wire state_valid;
    wire [31:0] icrc = ~state;

    wire [WIDTH-1:0] end_word;
    wire end_valid;
    wire [511:0] end_data = end_word[511:0];
    wire [63:0] end_keep = end_word[512 +: 64];
    wire end_last = end_word[512 + 64];
    wire end_write = end_last && state_valid && end_word[512 + 64 + 1];

    wire hold_last = hold_reg[512 + 64];
    wire out_ready;
    wire out_valid = hold_valid_reg && (hold_last || end_valid);
    // The hold register moves on when it is free or its beat leaves.
    wire hold_load = !hold_valid_reg || (out_valid && out_ready);
    wire ce = hold_load || !end_valid;

    assign s_axis_tready = ce && !rst;

    // Lanes of the iCRC: the last four that keep names. A last beat of fewer than four bytes leaves some to the beat before.
    reg [511:0] data_with;
    reg [511:0] hold_with;
    integer i;

    always @* begin
        i = 0; // in all branches: else Yosys keeps a latch for it
        data_with = end_data;
        if (end_write) begin
            for (i = 0; i < 64; i = i + 1) begin
                // Byte i is the n-th from the frame's end, n = 1..4, if keep ends n - 1 lanes above it.
                if (end_keep[i]) begin
                    if (i + 1 > 63 || !end_keep[(i + 1) & 63]) begin
                        data_with[i*8 +: 8] = icrc[31:24];
                    end else if (i + 2 > 63 || !end_keep[(i + 2) & 63]) begin
                        data_with[i*8 +: 8] = icrc[23:16];
                    end else if (i + 3 > 63 || !end_keep[(i + 3) & 63]) begin
                        data_with[i*8 +: 8] = icrc[15:8];
                    end else if (i + 4 > 63 || !end_keep[(i + 4) & 63]) begin
                        data_with[i*8 +: 8] = icrc[7:0];
                    end
                end
            end
        end

        hold_with = hold_reg[511:0];
        if (!hold_last && end_valid && end_write) begin
            if (!end_keep[1]) begin
                hold_with[511:488] = icrc[23:0];
            end else if (!end_keep[2]) begin
                hold_with[511:496] = icrc[15:0];
            end else if (!end_keep[3]) begin
                hold_with[511:504] = icrc[7:0];
            end
        end
    end

    frnic_icrc_line #(.WIDTH(WIDTH)) line (
        .clk(clk), .rst(rst), .ce(ce), .s_valid(s_axis_tvalid), .s_word({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
        .m_valid(end_valid), .m_word(end_word)
    );

    always @(posedge clk) begin
        if (hold_load) begin
            if (end_valid) begin
                hold_reg <= {end_word[WIDTH-1:512], data_with};
            end
            hold_valid_reg <= end_valid;
        end
        if (rst) begin
            hold_valid_reg <= 1'b0;
        end
    end

    frnic_icrc_core #(
        .TAIL(4)
    ) core (
        .clk(clk),
        .rst(rst),
        .ce(ce),
        .s_data(s_axis_tdata),
        .s_keep(s_axis_tkeep),
        .s_valid(s_axis_tvalid),
        .s_last(s_axis_tlast),
        .m_state(state),
        .m_valid(state_valid)
    );

    frnic_axis_reg #(
        .DATA_W(512),
        .KEEP_W(64),
        .USER_W(USER_W)
    ) out (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(hold_with),
        .s_axis_tkeep(hold_reg[512 +: 64]),
        .s_axis_tvalid(out_valid),
        .s_axis_tready(out_ready),
        .s_axis_tlast(hold_last),
        .s_axis_tuser(hold_reg[WIDTH-1 -: USER_W]),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready),
        .m_axis_tlast(m_axis_tlast),
        .m_axis_tuser(m_axis_tuser)
    );

`ifdef FRNIC_SIM
    // The place of the iCRC must come as zeros: the core takes them back as such.
    always @(posedge clk) begin
        if (!rst && s_axis_tvalid && s_axis_tready && s_axis_tlast && s_axis_tuser[0]) begin
            for (i = 0; i < 64; i = i + 1) begin
                if (s_axis_tkeep[i] && (i + 4 > 63 || !s_axis_tkeep[(i + 4) & 63]) && s_axis_tdata[i*8 +: 8] != 8'h00) begin
                    $display("%m: the iCRC's place is not zero");
                    $stop;
                end
            end
        end
    end
`endif

endmodule

`resetall
