// SPDX-License-Identifier: BSD-2-Clause
//
// Sends each frame of an AXI-Stream to one of several outputs, to several at once (mirror), or to none. The outputs that a frame goes to are
// given with its first beat. A beat moves when all its outputs take it.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axis_demux #(
    // Number of outputs
    parameter PORTS = 2,
    // Bits of tdata
    parameter DATA_W = 512,
    // Bits of tkeep, one a byte
    parameter KEEP_W = DATA_W / 8,
    // Bits of tuser
    parameter USER_W = 1
) (
    input  wire                    clk,
    input  wire                    rst,
    // Stream in; tdest, a bit per output, counts on the first beat; all zero drops the frame
    input  wire [DATA_W-1:0]       s_axis_tdata,
    input  wire [KEEP_W-1:0]       s_axis_tkeep,
    input  wire                    s_axis_tvalid,
    output wire                    s_axis_tready,
    input  wire                    s_axis_tlast,
    input  wire [USER_W-1:0]       s_axis_tuser,
    input  wire [PORTS-1:0]        s_axis_tdest,
    // Streams out, port 0 in the low bits
    output wire [PORTS*DATA_W-1:0] m_axis_tdata,
    output wire [PORTS*KEEP_W-1:0] m_axis_tkeep,
    output wire [PORTS-1:0]        m_axis_tvalid,
    input  wire [PORTS-1:0]        m_axis_tready,
    output wire [PORTS-1:0]        m_axis_tlast,
    output wire [PORTS*USER_W-1:0] m_axis_tuser
);

    localparam WIDTH = USER_W + 1 + KEEP_W + DATA_W;

    reg first_reg = 1'b1;
    reg [PORTS-1:0] dest_reg = {PORTS{1'b0}};

    // A register per output: with two outputs in use, neither may wait for the other's ready before it says valid.
    reg [PORTS-1:0] valid_reg = {PORTS{1'b0}};
    reg [WIDTH-1:0] word_reg [0:PORTS-1];

    wire [PORTS-1:0] dest = first_reg ? s_axis_tdest : dest_reg;
    wire [PORTS-1:0] free = ~valid_reg | m_axis_tready;

    assign s_axis_tready = (dest & ~free) == {PORTS{1'b0}} && !rst;
    assign m_axis_tvalid = valid_reg;

    wire take = s_axis_tvalid && s_axis_tready;

    genvar p;
    generate
        for (p = 0; p < PORTS; p = p + 1) begin : port
            assign {m_axis_tuser[p*USER_W +: USER_W], m_axis_tlast[p], m_axis_tkeep[p*KEEP_W +: KEEP_W],
                    m_axis_tdata[p*DATA_W +: DATA_W]} = word_reg[p];

            always @(posedge clk) begin
                if (take && dest[p]) begin
                    word_reg[p] <= {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
                end
            end
        end
    endgenerate

    always @(posedge clk) begin
        valid_reg <= (valid_reg & ~m_axis_tready) | (take ? dest : {PORTS{1'b0}});
        if (take) begin
            first_reg <= s_axis_tlast;
            dest_reg <= dest;
        end
        if (rst) begin
            first_reg <= 1'b1;
            valid_reg <= {PORTS{1'b0}};
        end
    end

endmodule

`resetall
