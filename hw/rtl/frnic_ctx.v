// SPDX-License-Identifier: BSD-2-Clause
//
// A context table: entries of 64-bit words with parity, one command slot that changes them, readers that share one read port, live bits in two
// rails, and a sweep that ends every entry. What the words mean is the business of who uses it. Documentation/microarchitecture.md, 3.4.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_ctx #(
    // 64-bit words of an entry
    parameter WORDS = 4,
    // log2 of the entries
    parameter LOG_ENTRIES = 7,
    // Read clients beside the slot, at least 1
    parameter READERS = 1,
    // Cycles of the memory
    parameter READ_LATENCY = 2,
    // "auto", "block", "ultra" or "distributed"
    parameter STYLE = "auto",
    // log2 of the entries that a reset passes over together if none of them was written
    parameter LOG_GROUP = LOG_ENTRIES > 6 ? 6 : LOG_ENTRIES - 1,
    // Bits of a client's number; client 0 is the slot
    parameter SEL_W = $clog2(READERS + 1)
) (
    input  wire                           clk,
    input  wire                           rst,
    // Command slot: 0 READ, 1 CREATE, 2 CLEAR, 3 MODIFY (4.8); done is a pulse, the rest is valid with it
    input  wire                           slot_valid,
    output wire                           slot_ready,
    input  wire [1:0]                     slot_op,
    input  wire [LOG_ENTRIES-1:0]         slot_index,
    input  wire [WORDS*64-1:0]            slot_wdata,
    output wire                           slot_done,
    output wire                           slot_live,
    output wire                           slot_err,
    output wire [WORDS*64-1:0]            slot_rdata,
    // Readers; done is one-hot, answers come in the order of the grants
    input  wire [READERS-1:0]             rd_valid,
    output reg  [READERS-1:0]             rd_ready,
    input  wire [READERS*LOG_ENTRIES-1:0] rd_index,
    output wire [READERS-1:0]             rd_done,
    output wire                           rd_live,
    output wire                           rd_err,
    output wire [WORDS*64-1:0]            rd_data,
    // Level: all entries are ended; the slot and the readers wait
    input  wire                           sweep,
    output wire                           sweep_done,
    // Fault injection (R7.3): the words written now get wrong parity
    input  wire                           flip
);

    localparam [1:0] OP_READ = 2'd0, OP_CLEAR = 2'd2;

    // Sweep
    wire sweeping;
    wire [LOG_ENTRIES-1:0] sweep_index;

    // Slot: a write is done in its cycle, a read READ_LATENCY cycles later. No read in the cycle of a write: a reader sees an entry before or after
    // a command, never half of it.
    reg slot_written_reg = 1'b0;
    wire write = slot_valid && slot_op != OP_READ && !sweep && !slot_written_reg;

    frnic_sweep #(.LOG_ENTRIES(LOG_ENTRIES), .LOG_GROUP(LOG_GROUP)) sweeper (
        .clk(clk), .rst(rst), .sweep(sweep), .done(sweep_done), .used_valid(write), .used_index(slot_index), .end_valid(sweeping), .end_index(sweep_index)
    );

    // Read port
    wire [READERS:0] req = {rd_valid, slot_valid && slot_op == OP_READ} & {(READERS+1){!write && !sweep && !rst}};
    wire [SEL_W-1:0] sel;
    wire any;
    reg [LOG_ENTRIES-1:0] rd_addr;
    wire [WORDS-1:0] word_err;
    wire [1:0] rails;
    wire [WORDS*64-1:0] data;
    reg [READ_LATENCY*(READERS+1)-1:0] who_reg = {(READ_LATENCY*(READERS+1)){1'b0}};
    reg [READERS:0] grant;

    frnic_rr_pick #(.PORTS(READERS + 1), .SEL_W(SEL_W)) pick (.clk(clk), .rst(rst), .req(req), .sel(sel), .any(any), .take(1'b1));

    integer i;

    always @* begin
        rd_addr = slot_index;
        grant = {(READERS+1){1'b0}};
        rd_ready = {READERS{1'b0}};
        if (any && sel == {SEL_W{1'b0}}) begin
            grant[0] = 1'b1;
        end
        for (i = 0; i < READERS; i = i + 1) begin
            if (any && {{(32-SEL_W){1'b0}}, sel} == i + 1) begin
                rd_addr = rd_index[i*LOG_ENTRIES +: LOG_ENTRIES];
                rd_ready[i] = 1'b1;
                grant[i+1] = 1'b1;
            end
        end
    end

    wire [READERS:0] done = who_reg[(READ_LATENCY-1)*(READERS+1) +: READERS+1];

    assign slot_ready = write || grant[0];
    assign slot_done = slot_written_reg || done[0];
    assign rd_done = done[READERS:1];
    assign slot_rdata = data;
    assign rd_data = data;
    // A live bit that is neither one nor the other is an error of an entry that may be in use.
    assign slot_live = rails != 2'b01;
    assign rd_live = rails != 2'b01;
    assign slot_err = (done[0] && word_err != {WORDS{1'b0}} && slot_live) || (done[0] && rails[1] == rails[0]);
    assign rd_err = (word_err != {WORDS{1'b0}} && rd_live) || rails[1] == rails[0];

    genvar w;
    generate
        for (w = 0; w < WORDS; w = w + 1) begin : word
            /* verilator lint_off PINCONNECTEMPTY */
            frnic_ram_sdp_parity #(.DATA_W(64), .LOG_DEPTH(LOG_ENTRIES), .READ_LATENCY(READ_LATENCY), .STYLE(STYLE)) ram (
                .clk(clk), .rst(rst),
                .wr_en(write && slot_op != OP_CLEAR), .wr_addr(slot_index), .wr_data(slot_wdata[w*64 +: 64]), .wr_flip({7'd0, flip}),
                .rd_en(any), .rd_addr(rd_addr), .rd_valid(), .rd_data(data[w*64 +: 64]), .rd_parity_err(word_err[w])
            );
            /* verilator lint_on PINCONNECTEMPTY */
        end
    endgenerate

    frnic_ram_sdp #(.WIDTH(2), .LOG_DEPTH(LOG_ENTRIES), .READ_LATENCY(READ_LATENCY)) live (
        .clk(clk),
        .wr_en(write || sweeping), .wr_addr(sweeping ? sweep_index : slot_index),
        .wr_data(sweeping || slot_op == OP_CLEAR ? 2'b01 : 2'b10),
        .rd_en(any), .rd_addr(rd_addr), .rd_data(rails)
    );

    always @(posedge clk) begin
        slot_written_reg <= write;
        who_reg <= {who_reg[0 +: (READ_LATENCY-1)*(READERS+1)], grant};
        if (rst) begin
            slot_written_reg <= 1'b0;
            who_reg <= {(READ_LATENCY*(READERS+1)){1'b0}};
        end
    end

endmodule

`resetall
