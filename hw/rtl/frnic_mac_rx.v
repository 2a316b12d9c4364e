// SPDX-License-Identifier: BSD-2-Clause
//
// From the CMAC's receive clock into the user clock. The CMAC cannot be stopped: a frame that finds no room is cut, marked bad and counted.
// Headers are the parser's business.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_mac_rx #(
    // log2 of the FIFO's beats
    parameter LOG_DEPTH = 9
) (
    // CMAC side; tuser on the last beat: the CMAC saw an error
    input  wire         cmac_clk,
    input  wire         cmac_rst,
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tuser,
    // User side; tuser on the last beat: do not use the frame
    input  wire         clk,
    input  wire         rst,
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser,
    // A pulse for each frame lost for want of room
    output wire         ev_lost
);

    localparam LOST_W = 16;

    // Not reset: after a reset within a frame its rest is known as such.
    reg inside_reg = 1'b0;
    // The rest of this frame is not taken.
    reg skip_reg = 1'b0;
    // Frames lost that no marker has told of; a frame in the FIFO lacks its end.
    reg [LOST_W-1:0] lost_reg = {LOST_W{1'b0}};
    reg open_reg = 1'b0;

    wire fifo_ready;
    wire owing = lost_reg != {LOST_W{1'b0}};
    wire pass = s_axis_tvalid && fifo_ready && !skip_reg && !(owing && !inside_reg);
    wire drop = s_axis_tvalid && !pass;
    // Counted once, where the dropping starts.
    wire lose = drop && !skip_reg;
    // A marker: last beat, bad, with the number of frames that were lost. It ends the cut frame, if there is one.
    wire marker = owing && fifo_ready && !pass;
    wire [LOST_W-1:0] lost = lost_reg + {{(LOST_W-1){1'b0}}, lose && lost_reg != {LOST_W{1'b1}}};

    always @(posedge cmac_clk) begin
        if (s_axis_tvalid) begin
            inside_reg <= !s_axis_tlast;
            skip_reg <= !s_axis_tlast && drop;
        end
        if (pass) begin
            open_reg <= !s_axis_tlast;
        end
        lost_reg <= lost;
        if (marker) begin
            lost_reg <= {LOST_W{1'b0}};
            open_reg <= 1'b0;
        end
        if (cmac_rst) begin
            // A frame under way is not whole any more.
            skip_reg <= s_axis_tvalid ? !s_axis_tlast : inside_reg;
            lost_reg <= {LOST_W{1'b0}};
            open_reg <= 1'b0;
        end
    end

    wire fifo_valid;
    wire fifo_last;
    wire [2:0] fifo_user;
    wire fifo_pop;

    frnic_axis_async_fifo #(
        .USER_W(3),
        .LOG_DEPTH(LOG_DEPTH)
    ) fifo (
        .s_clk(cmac_clk),
        .s_rst(cmac_rst),
        .s_axis_tdata(pass ? s_axis_tdata : {{(512-LOST_W){1'b0}}, lost}),
        .s_axis_tkeep(pass ? s_axis_tkeep : {64{1'b1}}),
        .s_axis_tvalid((pass || marker) && !cmac_rst),
        .s_axis_tready(fifo_ready),
        .s_axis_tlast(pass ? s_axis_tlast : 1'b1),
        .s_axis_tuser(pass ? {2'b00, s_axis_tuser && s_axis_tlast} : {1'b1, !open_reg, 1'b1}),
        /* verilator lint_off PINCONNECTEMPTY */
        .s_level(),
        /* verilator lint_on PINCONNECTEMPTY */
        .m_clk(clk),
        .m_rst(rst),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(fifo_valid),
        .m_axis_tready(fifo_pop),
        .m_axis_tlast(fifo_last),
        .m_axis_tuser(fifo_user)
    );

    // A marker that closes no frame ends here.
    wire alone = fifo_user[1];
    // Lost frames to tell of, one a cycle; not the one that the marker closes, which is a bad frame to who stores it.
    reg [LOST_W-1:0] tell_reg = {LOST_W{1'b0}};
    wire telling = tell_reg != {LOST_W{1'b0}};
    wire told = fifo_valid && fifo_pop && fifo_user[2];

    assign m_axis_tvalid = fifo_valid && !alone;
    // A marker waits until the one before is told.
    assign fifo_pop = alone ? !telling : m_axis_tready;
    assign m_axis_tlast = fifo_last;
    assign m_axis_tuser = fifo_user[0];
    assign ev_lost = telling;

    always @(posedge clk) begin
        tell_reg <= tell_reg - {{(LOST_W-1){1'b0}}, telling} + (told ? m_axis_tdata[LOST_W-1:0] - {{(LOST_W-1){1'b0}}, !alone} : {LOST_W{1'b0}});
        if (rst) begin
            tell_reg <= {LOST_W{1'b0}};
        end
    end

endmodule

`resetall
