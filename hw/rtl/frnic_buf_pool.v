// SPDX-License-Identifier: BSD-2-Clause
//
// The pool of packet buffers (R1.4): a free list of their numbers. Who holds a buffer and when it gives it back is the holders' business.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_buf_pool #(
    // log2 of the buffers
    parameter LOG_BUFS = 9,
    // Clients that take and give
    parameter CLIENTS = 2,
    // Bits of a client's number
    parameter SEL_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1
) (
    input  wire                        clk,
    input  wire                        rst,
    // Take: the number is valid with ready; ready stays away while the pool is empty
    input  wire [CLIENTS-1:0]          take_valid,
    output reg  [CLIENTS-1:0]          take_ready,
    output wire [LOG_BUFS-1:0]         take_buf,
    // Give back
    input  wire [CLIENTS-1:0]          give_valid,
    output reg  [CLIENTS-1:0]          give_ready,
    input  wire [CLIENTS*LOG_BUFS-1:0] give_buf,
    // Level: all buffers come back
    input  wire                        sweep,
    output wire                        sweep_done,
    // Buffers that are free
    output wire [LOG_BUFS:0]           free_bufs
);

    // First-word register in front of a block RAM would cost cycles that nobody has; 512 x 9 bits of LUT memory do.
    (* ram_style = "distributed" *)
    reg [LOG_BUFS-1:0] list [0:(1 << LOG_BUFS)-1];
    reg [LOG_BUFS-1:0] rd_reg = {LOG_BUFS{1'b0}};
    reg [LOG_BUFS-1:0] wr_reg = {LOG_BUFS{1'b0}};
    reg [LOG_BUFS:0] count_reg = {(LOG_BUFS+1){1'b0}};
    // Numbers below this one have been in the list: it fills itself as it is first used.
    reg [LOG_BUFS:0] fresh_reg = {(LOG_BUFS+1){1'b0}};

    wire [SEL_W-1:0] take_sel;
    wire [SEL_W-1:0] give_sel;
    wire take_any;
    wire give_any;
    wire take = take_any && count_reg != {(LOG_BUFS+1){1'b0}} && !sweep && !rst;
    wire give = give_any && !sweep && !rst;
    wire fresh = !fresh_reg[LOG_BUFS];

    frnic_rr_pick #(.PORTS(CLIENTS), .SEL_W(SEL_W)) take_pick (.clk(clk), .rst(rst), .req(take_valid), .sel(take_sel), .any(take_any), .take(take));
    frnic_rr_pick #(.PORTS(CLIENTS), .SEL_W(SEL_W)) give_pick (.clk(clk), .rst(rst), .req(give_valid), .sel(give_sel), .any(give_any), .take(give));

    assign take_buf = fresh ? fresh_reg[LOG_BUFS-1:0] : list[rd_reg];
    assign free_bufs = count_reg;
    assign sweep_done = sweep;

    integer i;

    always @* begin
        take_ready = {CLIENTS{1'b0}};
        give_ready = {CLIENTS{1'b0}};
        for (i = 0; i < CLIENTS; i = i + 1) begin
            take_ready[i] = take && {{(32-SEL_W){1'b0}}, take_sel} == i;
            give_ready[i] = give && {{(32-SEL_W){1'b0}}, give_sel} == i;
        end
    end

    always @(posedge clk) begin
        if (give) begin
            list[wr_reg] <= give_buf[{{(32-SEL_W){1'b0}}, give_sel} * LOG_BUFS +: LOG_BUFS];
            wr_reg <= wr_reg + 1'b1;
        end
        if (take && fresh) begin
            fresh_reg <= fresh_reg + 1'b1;
        end else if (take) begin
            rd_reg <= rd_reg + 1'b1;
        end
        count_reg <= count_reg + {{LOG_BUFS{1'b0}}, give} - {{LOG_BUFS{1'b0}}, take};
        if (rst || sweep) begin
            rd_reg <= {LOG_BUFS{1'b0}};
            wr_reg <= {LOG_BUFS{1'b0}};
            fresh_reg <= {(LOG_BUFS+1){1'b0}};
            count_reg <= {1'b1, {LOG_BUFS{1'b0}}};
        end
    end

endmodule

`resetall
