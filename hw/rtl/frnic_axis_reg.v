// SPDX-License-Identifier: BSD-2-Clause
//
// AXI-Stream register with a skid buffer: cuts all paths, tready too, at one beat a cycle. Two beats deep.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axis_reg #(
    // Bits of tdata
    parameter DATA_W = 512,
    // Bits of tkeep, one a byte
    parameter KEEP_W = DATA_W / 8,
    // Bits of tuser
    parameter USER_W = 1
) (
    input  wire              clk,
    input  wire              rst,
    // Stream in
    input  wire [DATA_W-1:0] s_axis_tdata,
    input  wire [KEEP_W-1:0] s_axis_tkeep,
    input  wire              s_axis_tvalid,
    output wire              s_axis_tready,
    input  wire              s_axis_tlast,
    input  wire [USER_W-1:0] s_axis_tuser,
    // Stream out
    output wire [DATA_W-1:0] m_axis_tdata,
    output wire [KEEP_W-1:0] m_axis_tkeep,
    output wire              m_axis_tvalid,
    input  wire              m_axis_tready,
    output wire              m_axis_tlast,
    output wire [USER_W-1:0] m_axis_tuser
);

    localparam WIDTH = USER_W + 1 + KEEP_W + DATA_W;

    wire [WIDTH-1:0] s_word = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};

    reg [WIDTH-1:0] out_reg = {WIDTH{1'b0}};
    reg out_valid_reg = 1'b0;
    // The beat that arrived in the cycle in which the sink stopped: ready is a register and said yes once more.
    reg [WIDTH-1:0] skid_reg = {WIDTH{1'b0}};
    reg skid_valid_reg = 1'b0;
    reg ready_reg = 1'b0;

    reg load_out;
    reg load_skid;
    reg out_valid_next;
    reg skid_valid_next;

    assign s_axis_tready = ready_reg;
    assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = out_reg;
    assign m_axis_tvalid = out_valid_reg;

    always @* begin
        load_out = 1'b0;
        load_skid = 1'b0;
        out_valid_next = out_valid_reg;
        skid_valid_next = skid_valid_reg;

        if (m_axis_tready || !out_valid_reg) begin
            // What is not valid need not be loaded: that saves power, and a simulation the copying.
            load_out = skid_valid_reg || s_axis_tvalid;
            out_valid_next = skid_valid_reg || (s_axis_tvalid && ready_reg);
            skid_valid_next = 1'b0;
        end else if (s_axis_tvalid && ready_reg) begin
            load_skid = 1'b1;
            skid_valid_next = 1'b1;
        end
    end

    always @(posedge clk) begin
        if (load_out) begin
            out_reg <= skid_valid_reg ? skid_reg : s_word;
        end
        if (load_skid) begin
            skid_reg <= s_word;
        end
        out_valid_reg <= out_valid_next;
        skid_valid_reg <= skid_valid_next;
        ready_reg <= !skid_valid_next;
        if (rst) begin
            out_valid_reg <= 1'b0;
            skid_valid_reg <= 1'b0;
            ready_reg <= 1'b0;
        end
    end

`ifdef FRNIC_SIM
    frnic_axis_assert #(.DATA_W(DATA_W), .KEEP_W(KEEP_W), .USER_W(USER_W)) assert_s (
        .clk(clk), .rst(rst), .tdata(s_axis_tdata), .tkeep(s_axis_tkeep), .tvalid(s_axis_tvalid), .tready(s_axis_tready),
        .tlast(s_axis_tlast), .tuser(s_axis_tuser)
    );
    frnic_axis_assert #(.DATA_W(DATA_W), .KEEP_W(KEEP_W), .USER_W(USER_W)) assert_m (
        .clk(clk), .rst(rst), .tdata(m_axis_tdata), .tkeep(m_axis_tkeep), .tvalid(m_axis_tvalid), .tready(m_axis_tready),
        .tlast(m_axis_tlast), .tuser(m_axis_tuser)
    );
`endif

endmodule

`resetall
