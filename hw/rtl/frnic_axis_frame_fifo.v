// SPDX-License-Identifier: BSD-2-Clause
//
// FIFO of whole frames: a frame becomes readable when its last beat is in and it was not marked bad; else it vanishes without trace but a
// pulse for a counter (protocol rule 19: no byte moves on before all of the packet is checked).

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axis_frame_fifo #(
    // log2 of the beats
    parameter LOG_DEPTH = 9,
    // 1: a full FIFO drops the frame and never stops the source; 0: it stops the source, and drops only what is larger than the FIFO
    parameter DROP_WHEN_FULL = 0,
    // Bits of tdata
    parameter DATA_W = 512,
    // Bits of tkeep, one a byte
    parameter KEEP_W = DATA_W / 8,
    // Bits of tuser
    parameter USER_W = 1
) (
    input  wire              clk,
    input  wire              rst,
    // Stream in; s_bad counts on the last beat: drop the frame
    input  wire [DATA_W-1:0] s_axis_tdata,
    input  wire [KEEP_W-1:0] s_axis_tkeep,
    input  wire              s_axis_tvalid,
    output wire              s_axis_tready,
    input  wire              s_axis_tlast,
    input  wire [USER_W-1:0] s_axis_tuser,
    input  wire              s_bad,
    // Stream out
    output wire [DATA_W-1:0] m_axis_tdata,
    output wire [KEEP_W-1:0] m_axis_tkeep,
    output wire              m_axis_tvalid,
    input  wire              m_axis_tready,
    output wire              m_axis_tlast,
    output wire [USER_W-1:0] m_axis_tuser,
    // One pulse a frame: committed, dropped as bad, dropped for want of room
    output wire              committed,
    output wire              dropped_bad,
    output wire              dropped_full
);

    localparam WIDTH = USER_W + 1 + KEEP_W + DATA_W;
    localparam PTR_W = LOG_DEPTH + 1;
    localparam [PTR_W-1:0] DEPTH = 1 << LOG_DEPTH;

    reg [WIDTH-1:0] mem [0:(1 << LOG_DEPTH)-1];

    // Next beat to write; end of the last whole frame; next beat to read.
    reg [PTR_W-1:0] wr_ptr_reg = {PTR_W{1'b0}};
    reg [PTR_W-1:0] commit_ptr_reg = {PTR_W{1'b0}};
    reg [PTR_W-1:0] rd_ptr_reg = {PTR_W{1'b0}};
    // The rest of the frame is thrown away.
    reg drop_reg = 1'b0;
    reg committed_reg = 1'b0;
    reg dropped_bad_reg = 1'b0;
    reg dropped_full_reg = 1'b0;

    reg [WIDTH-1:0] out_reg = {WIDTH{1'b0}};
    reg out_valid_reg = 1'b0;

    wire [PTR_W-1:0] used = wr_ptr_reg - rd_ptr_reg;
    wire full = used == DEPTH;
    // Nothing but this frame is in the FIFO, so waiting would be for ever.
    wire oversize = full && commit_ptr_reg == rd_ptr_reg;
    wire give_up = full && (DROP_WHEN_FULL != 0 || oversize);

    assign s_axis_tready = (!full || drop_reg || give_up) && !rst;
    assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = out_reg;
    assign m_axis_tvalid = out_valid_reg;
    assign committed = committed_reg;
    assign dropped_bad = dropped_bad_reg;
    assign dropped_full = dropped_full_reg;

    wire take = s_axis_tvalid && s_axis_tready;
    wire write = take && !drop_reg && !full;
    wire read = rd_ptr_reg != commit_ptr_reg && (!out_valid_reg || m_axis_tready);

    reg [PTR_W-1:0] wr_ptr_next;
    reg [PTR_W-1:0] commit_ptr_next;
    reg drop_next;
    reg committed_next;
    reg dropped_bad_next;
    reg dropped_full_next;

    always @* begin
        wr_ptr_next = wr_ptr_reg;
        commit_ptr_next = commit_ptr_reg;
        drop_next = drop_reg;
        committed_next = 1'b0;
        dropped_bad_next = 1'b0;
        dropped_full_next = 1'b0;

        if (take) begin
            if (drop_reg || full) begin
                wr_ptr_next = commit_ptr_reg;
                drop_next = !s_axis_tlast;
                dropped_full_next = s_axis_tlast;
            end else begin
                wr_ptr_next = wr_ptr_reg + 1'b1;
                if (s_axis_tlast) begin
                    if (s_bad) begin
                        wr_ptr_next = commit_ptr_reg;
                        dropped_bad_next = 1'b1;
                    end else begin
                        commit_ptr_next = wr_ptr_reg + 1'b1;
                        committed_next = 1'b1;
                    end
                end
            end
        end
    end

    always @(posedge clk) begin
        if (write) begin
            mem[wr_ptr_reg[LOG_DEPTH-1:0]] <= {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
        end
    end

    always @(posedge clk) begin
        if (read) begin
            out_reg <= mem[rd_ptr_reg[LOG_DEPTH-1:0]];
        end
    end

    always @(posedge clk) begin
        wr_ptr_reg <= wr_ptr_next;
        commit_ptr_reg <= commit_ptr_next;
        drop_reg <= drop_next;
        committed_reg <= committed_next;
        dropped_bad_reg <= dropped_bad_next;
        dropped_full_reg <= dropped_full_next;
        if (read) begin
            rd_ptr_reg <= rd_ptr_reg + 1'b1;
            out_valid_reg <= 1'b1;
        end else if (m_axis_tready) begin
            out_valid_reg <= 1'b0;
        end
        if (rst) begin
            wr_ptr_reg <= {PTR_W{1'b0}};
            commit_ptr_reg <= {PTR_W{1'b0}};
            rd_ptr_reg <= {PTR_W{1'b0}};
            drop_reg <= 1'b0;
            committed_reg <= 1'b0;
            dropped_bad_reg <= 1'b0;
            dropped_full_reg <= 1'b0;
            out_valid_reg <= 1'b0;
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
