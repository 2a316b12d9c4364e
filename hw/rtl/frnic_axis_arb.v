// SPDX-License-Identifier: BSD-2-Clause
//
// Merges AXI-Streams frame by frame: round robin, or input 0 first. No bubble between frames, also not when the input changes.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axis_arb #(
    // Number of inputs
    parameter PORTS = 2,
    // 1: round robin; 0: the lowest port with a frame goes first
    parameter ROUND_ROBIN = 1,
    // Bits of tdata
    parameter DATA_W = 512,
    // Bits of tkeep, one a byte
    parameter KEEP_W = DATA_W / 8,
    // Bits of tuser
    parameter USER_W = 1,
    // Bits of a port's number
    parameter SEL_W = PORTS > 1 ? $clog2(PORTS) : 1
) (
    input  wire                    clk,
    input  wire                    rst,
    // Streams in, port 0 in the low bits
    input  wire [PORTS*DATA_W-1:0] s_axis_tdata,
    input  wire [PORTS*KEEP_W-1:0] s_axis_tkeep,
    input  wire [PORTS-1:0]        s_axis_tvalid,
    output wire [PORTS-1:0]        s_axis_tready,
    input  wire [PORTS-1:0]        s_axis_tlast,
    input  wire [PORTS*USER_W-1:0] s_axis_tuser,
    // Stream out; tid is the port that the frame came from
    output wire [DATA_W-1:0]       m_axis_tdata,
    output wire [KEEP_W-1:0]       m_axis_tkeep,
    output wire                    m_axis_tvalid,
    input  wire                    m_axis_tready,
    output wire                    m_axis_tlast,
    output wire [USER_W-1:0]       m_axis_tuser,
    output wire [SEL_W-1:0]        m_axis_tid
);

    // A frame is offered or under way on sel_reg; otherwise the choice is made anew. An offer binds: it may not change before it is taken.
    reg locked_reg = 1'b0;
    reg [SEL_W-1:0] sel_reg = {SEL_W{1'b0}};
    // Ports above the last one served: they go first.
    reg [PORTS-1:0] prefer_reg = {PORTS{1'b0}};

    reg [SEL_W-1:0] pick;
    reg [SEL_W-1:0] sel;
    reg [DATA_W-1:0] mux_data;
    reg [KEEP_W-1:0] mux_keep;
    reg [USER_W-1:0] mux_user;
    reg mux_valid;
    reg mux_last;
    wire mux_ready;

    wire [PORTS-1:0] preferred = s_axis_tvalid & prefer_reg;

    integer i;

    always @* begin
        pick = {SEL_W{1'b0}};
        for (i = PORTS - 1; i >= 0; i = i - 1) begin
            if (s_axis_tvalid[i]) begin
                pick = i[SEL_W-1:0];
            end
        end
        for (i = PORTS - 1; i >= 0; i = i - 1) begin
            if (preferred[i]) begin
                pick = i[SEL_W-1:0];
            end
        end
        sel = locked_reg ? sel_reg : pick;
    end

    always @* begin
        mux_data = {DATA_W{1'b0}};
        mux_keep = {KEEP_W{1'b0}};
        mux_user = {USER_W{1'b0}};
        mux_valid = 1'b0;
        mux_last = 1'b0;
        for (i = 0; i < PORTS; i = i + 1) begin
            if (sel == i[SEL_W-1:0]) begin
                mux_data = mux_data | s_axis_tdata[i*DATA_W +: DATA_W];
                mux_keep = mux_keep | s_axis_tkeep[i*KEEP_W +: KEEP_W];
                mux_user = mux_user | s_axis_tuser[i*USER_W +: USER_W];
                mux_valid = mux_valid | s_axis_tvalid[i];
                mux_last = mux_last | s_axis_tlast[i];
            end
        end
    end

    genvar p;
    generate
        for (p = 0; p < PORTS; p = p + 1) begin : ready
            assign s_axis_tready[p] = mux_ready && sel == p && s_axis_tvalid[p];
        end
    endgenerate

    always @(posedge clk) begin
        if (mux_valid) begin
            locked_reg <= !(mux_last && mux_ready);
            sel_reg <= sel;
            for (i = 0; i < PORTS; i = i + 1) begin
                prefer_reg[i] <= ROUND_ROBIN != 0 && i[SEL_W-1:0] > sel;
            end
        end
        if (rst) begin
            locked_reg <= 1'b0;
            prefer_reg <= {PORTS{1'b0}};
        end
    end

    frnic_axis_reg #(
        .DATA_W(DATA_W),
        .KEEP_W(KEEP_W),
        .USER_W(SEL_W + USER_W)
    ) out (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(mux_data),
        .s_axis_tkeep(mux_keep),
        .s_axis_tvalid(mux_valid),
        .s_axis_tready(mux_ready),
        .s_axis_tlast(mux_last),
        .s_axis_tuser({sel, mux_user}),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready),
        .m_axis_tlast(m_axis_tlast),
        .m_axis_tuser({m_axis_tid, m_axis_tuser})
    );

endmodule

`resetall
