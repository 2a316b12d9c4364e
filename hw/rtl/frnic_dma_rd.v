// SPDX-License-Identifier: BSD-2-Clause
//
// Reads host memory over AXI4: any address and length, several bursts in flight, one AXI ID each, responses in the order of the requests.
// Nothing of what the bytes mean. Documentation/microarchitecture.md, 4.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_dma_rd #(
    // Clients
    parameter CLIENTS = 4,
    // The first HIGH clients go before the others
    parameter HIGH = 0,
    // Bits of a client's tag
    parameter TAG_W = 8,
    // Bits of the AXI ID; one burst in flight for each ID
    parameter ID_W = 6,
    // Cycles after which the oldest burst counts as never answered; 50 ms at 250 MHz
    parameter TIMEOUT = 12500000,
    // Bits of a client's number
    parameter SEL_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1
) (
    input  wire                     clk,
    input  wire                     rst,
    // Requests, client 0 in the low bits; len 1..8191
    input  wire [CLIENTS-1:0]       req_valid,
    output wire [CLIENTS-1:0]       req_ready,
    input  wire [CLIENTS*64-1:0]    req_addr,
    input  wire [CLIENTS*13-1:0]    req_len,
    input  wire [CLIENTS*TAG_W-1:0] req_tag,
    // Responses: one stream, resp_valid says whose; the first byte is in lane addr mod 64; resp_error counts on the last beat
    output wire [CLIENTS-1:0]       resp_valid,
    input  wire [CLIENTS-1:0]       resp_ready,
    output wire [511:0]             resp_data,
    output wire                     resp_last,
    output wire                     resp_error,
    output wire [TAG_W-1:0]         resp_tag,
    // AXI4 read channels
    output wire [ID_W-1:0]          m_axi_arid,
    output wire [63:0]              m_axi_araddr,
    output wire [7:0]               m_axi_arlen,
    output wire [2:0]               m_axi_arsize,
    output wire [1:0]               m_axi_arburst,
    output wire                     m_axi_arvalid,
    input  wire                     m_axi_arready,
    input  wire [ID_W-1:0]          m_axi_rid,
    input  wire [511:0]             m_axi_rdata,
    /* verilator lint_off UNUSED */
    input  wire [1:0]               m_axi_rresp,
    /* verilator lint_on UNUSED */
    input  wire                     m_axi_rlast,
    input  wire                     m_axi_rvalid,
    output wire                     m_axi_rready,
    // active: a request is not answered to its end; busy: that, or a late answer is outstanding, which may never come
    output wire                     active,
    output wire                     busy,
    // A request ended with an error; a burst was given up
    output wire                     ev_error,
    output wire                     ev_timeout
);

    localparam IDS = 1 << ID_W;
    localparam [31:0] TIMEOUT_CYCLES = TIMEOUT;
    // Error responses have their beats like others; RLAST is trusted, and a burst never has more beats than were asked for.
    localparam INFO_W = 4 + 1 + SEL_W + TAG_W; // beats, last burst of the request, client, tag

    initial begin
        if (ID_W < 1 || ID_W > 8 || CLIENTS < 1 || HIGH > CLIENTS) begin
            $display("frnic_dma_rd: parameter out of range (%m)");
            $finish;
        end
    end

    // ---- Requests are cut into bursts at 512-byte boundaries ----
    wire [SEL_W-1:0] pick;
    wire pick_any;
    wire pick_take;

    frnic_rr_pick #(
        .PORTS(CLIENTS),
        .HIGH(HIGH)
    ) arb (
        .clk(clk),
        .rst(rst),
        .req(req_valid),
        .sel(pick),
        .any(pick_any),
        .take(pick_take)
    );

    reg cur_valid_reg = 1'b0;
    reg [63:0] cur_addr_reg = 64'd0;
    reg [12:0] cur_left_reg = 13'd0;
    reg [TAG_W-1:0] cur_tag_reg = {TAG_W{1'b0}};
    reg [SEL_W-1:0] cur_client_reg = {SEL_W{1'b0}};

    // Bytes up to the boundary, the burst's end if that is nearer, and its beats.
    wire [9:0] room = 10'd512 - {1'b0, cur_addr_reg[8:0]};
    wire cut_last = cur_left_reg <= {3'd0, room};
    wire [9:0] cut_bytes = cut_last ? cur_left_reg[9:0] : room;
    wire [3:0] cut_beats = beats_of(cur_addr_reg[5:0], cut_bytes);

    function [3:0] beats_of(input [5:0] lane, input [9:0] bytes);
        /* verilator lint_off UNUSED */
        reg [9:0] sum;
        /* verilator lint_on UNUSED */
        begin
            sum = {4'd0, lane} + bytes + 10'd63;
            beats_of = sum[9:6];
        end
    endfunction

    // IDs are given in ring order: alloc_reg is next, head_reg the oldest not yet delivered.
    reg [ID_W-1:0] alloc_reg = {ID_W{1'b0}};
    reg [ID_W-1:0] head_reg = {ID_W{1'b0}};
    reg [ID_W:0] used_reg = {(ID_W+1){1'b0}};
    // Given up, not to be used before its RLAST came.
    reg [IDS-1:0] quarantine_reg = {IDS{1'b0}};
    // This turn of the ring passes over the ID.
    reg [IDS-1:0] skip_reg = {IDS{1'b0}};
    // Beats that arrived, and whether one had an error.
    reg [3:0] got_reg [0:IDS-1];
    reg [IDS-1:0] err_reg = {IDS{1'b0}};

    reg ar_valid_reg = 1'b0;
    reg [ID_W-1:0] ar_id_reg = {ID_W{1'b0}};
    reg [63:0] ar_addr_reg = 64'd0;
    reg [3:0] ar_len_reg = 4'd0;

    wire id_free = !used_reg[ID_W];
    // No ID is left, or the address channel stood still for TIMEOUT cycles: what comes now is answered with an error at once and without a
    // burst, nothing waits without limit.
    wire none_left = quarantine_reg == {IDS{1'b1}};
    wire pass_over = cur_valid_reg && id_free && quarantine_reg[alloc_reg] && !none_left;
    reg dead_reg = 1'b0;
    reg [31:0] stuck_reg = 32'd0;
    wire issue = cur_valid_reg && id_free && (none_left || (!quarantine_reg[alloc_reg] && (!ar_valid_reg || m_axi_arready || dead_reg)));
    wire issue_ar = issue && !none_left && (!ar_valid_reg || m_axi_arready);
    wire alloc = issue || pass_over;

    assign pick_take = !cur_valid_reg || (issue && cut_last);

    genvar p;
    generate
        for (p = 0; p < CLIENTS; p = p + 1) begin : client
            assign req_ready[p] = pick_take && pick_any && pick == p && !rst;
            assign resp_valid[p] = out_valid && out_client == p;
        end
    endgenerate

    assign m_axi_arid = ar_id_reg;
    assign m_axi_araddr = ar_addr_reg;
    assign m_axi_arlen = {4'd0, ar_len_reg};
    assign m_axi_arsize = 3'd6;
    assign m_axi_arburst = 2'd1;
    assign m_axi_arvalid = ar_valid_reg;

    always @(posedge clk) begin
        if (pick_take) begin
            cur_valid_reg <= pick_any;
            cur_addr_reg <= req_addr[pick*64 +: 64];
            cur_left_reg <= req_len[pick*13 +: 13];
            cur_tag_reg <= req_tag[pick*TAG_W +: TAG_W];
            cur_client_reg <= pick;
        end else if (issue) begin
            cur_addr_reg <= {cur_addr_reg[63:9] + 1'b1, 9'd0};
            cur_left_reg <= cur_left_reg - {3'd0, room};
        end
        if (issue_ar) begin
            ar_valid_reg <= 1'b1;
            ar_id_reg <= alloc_reg;
            ar_addr_reg <= {cur_addr_reg[63:6], 6'd0};
            ar_len_reg <= cut_beats - 1'b1;
        end else if (m_axi_arready) begin
            ar_valid_reg <= 1'b0;
        end
        if (!ar_valid_reg || m_axi_arready) begin
            stuck_reg <= 32'd0;
            dead_reg <= 1'b0;
        end else if (stuck_reg == TIMEOUT_CYCLES) begin
            dead_reg <= 1'b1;
        end else begin
            stuck_reg <= stuck_reg + 1'b1;
        end
        if (rst) begin
            stuck_reg <= 32'd0;
            dead_reg <= 1'b0;
            cur_valid_reg <= 1'b0;
            ar_valid_reg <= 1'b0;
        end
    end

    // ---- What each burst is ----
    reg [INFO_W-1:0] info_mem [0:IDS-1];
    wire [INFO_W-1:0] info = info_mem[head_reg];
    wire [3:0] head_beats = info[INFO_W-1 -: 4];
    wire head_last = info[INFO_W-5];
    wire [SEL_W-1:0] head_client = info[TAG_W +: SEL_W];
    wire [TAG_W-1:0] head_tag = info[TAG_W-1:0];

    always @(posedge clk) begin
        if (issue) begin
            info_mem[alloc_reg] <= {cut_beats, cut_last, cur_client_reg, cur_tag_reg};
        end
    end

    // ---- Arrival: 8 beats of memory for each ID ----
    assign m_axi_rready = 1'b1;

    wire r_take = m_axi_rvalid;
    wire r_drop = quarantine_reg[m_axi_rid];
    wire [3:0] r_beat = got_reg[m_axi_rid];

    // ---- Delivery, oldest first ----
    reg [3:0] rd_beat_reg = 4'd0;
    reg req_err_reg = 1'b0;
    reg give_up_reg = 1'b0;
    reg [31:0] wait_reg = 32'd0;

    wire head_used = used_reg != {(ID_W+1){1'b0}};
    wire head_skip = head_used && skip_reg[head_reg];
    wire beat_there = got_reg[head_reg] > rd_beat_reg;
    wire head_end = rd_beat_reg + 1'b1 == head_beats;
    wire [2:0] fly_count;
    wire fly_room = fly_count < 3'd4;
    wire send = head_used && !head_skip && (beat_there || give_up_reg) && fly_room;
    // got_reg and err_reg of a beat are set when it is there, so the burst's last beat knows all of the burst's errors.
    wire send_err = req_err_reg || err_reg[head_reg] || give_up_reg;
    wire free = head_skip || (send && head_end);

    integer i;

    always @(posedge clk) begin
        if (r_take && !r_drop) begin
            got_reg[m_axi_rid] <= r_beat + 1'b1;
            if (m_axi_rresp[1]) begin
                err_reg[m_axi_rid] <= 1'b1;
            end
        end
        if (r_take && r_drop && m_axi_rlast) begin
            quarantine_reg[m_axi_rid] <= 1'b0;
        end
        if (issue) begin
            got_reg[alloc_reg] <= issue_ar ? 4'd0 : cut_beats;
            err_reg[alloc_reg] <= !issue_ar;
            skip_reg[alloc_reg] <= 1'b0;
        end
        if (pass_over) begin
            skip_reg[alloc_reg] <= 1'b1;
        end
        if (alloc) begin
            alloc_reg <= alloc_reg + 1'b1;
        end
        if (free) begin
            head_reg <= head_reg + 1'b1;
        end
        used_reg <= used_reg + {{ID_W{1'b0}}, alloc} - {{ID_W{1'b0}}, free};
        if (send) begin
            rd_beat_reg <= head_end ? 4'd0 : rd_beat_reg + 1'b1;
            if (head_end) begin
                req_err_reg <= !head_last && send_err;
                give_up_reg <= 1'b0;
                // All beats of an answered burst are there by now; those of one given up may still come.
                if (give_up_reg && !(got_reg[head_reg] == head_beats)
                    && !(r_take && m_axi_rid == head_reg && m_axi_rlast)) begin
                    quarantine_reg[head_reg] <= 1'b1;
                end
            end
        end
        // The oldest burst has not moved for too long.
        if (!head_used || head_skip || send || beat_there || (r_take && m_axi_rid == head_reg)) begin
            wait_reg <= 32'd0;
        end else if (!give_up_reg) begin
            wait_reg <= wait_reg + 1'b1;
            if (wait_reg == TIMEOUT_CYCLES - 1) begin
                give_up_reg <= 1'b1;
            end
        end
        if (rst) begin
            alloc_reg <= {ID_W{1'b0}};
            head_reg <= {ID_W{1'b0}};
            used_reg <= {(ID_W+1){1'b0}};
            quarantine_reg <= {IDS{1'b0}};
            skip_reg <= {IDS{1'b0}};
            rd_beat_reg <= 4'd0;
            req_err_reg <= 1'b0;
            give_up_reg <= 1'b0;
            wait_reg <= 32'd0;
            for (i = 0; i < IDS; i = i + 1) begin
                got_reg[i] <= 4'd0;
            end
        end
    end

    assign ev_timeout = send && head_end && give_up_reg;
    assign ev_error = send && head_end && head_last && send_err;
    assign active = cur_valid_reg || head_used || fly_count != 3'd0 || ar_valid_reg;
    assign busy = active || quarantine_reg != {IDS{1'b0}};

    wire [511:0] mem_data;

    frnic_ram_sdp #(
        .WIDTH(512),
        .LOG_DEPTH(ID_W + 3),
        .READ_LATENCY(2),
        .STYLE("block")
    ) reorder (
        .clk(clk),
        .wr_en(r_take && !r_drop),
        .wr_addr({m_axi_rid, r_beat[2:0]}),
        .wr_data(m_axi_rdata),
        .rd_en(send),
        .rd_addr({head_reg, rd_beat_reg[2:0]}),
        .rd_data(mem_data)
    );

    // Two cycles of memory, then a queue with room for all that is under way.
    localparam SIDE_W = 2 + SEL_W + TAG_W;

    reg [1:0] fly_valid_reg = 2'd0;
    reg [SIDE_W-1:0] fly_side_reg [0:1];
    wire out_valid;
    wire [SEL_W-1:0] out_client;
    wire out_ready = resp_ready[out_client];
    wire [2:0] q_count;
    /* verilator lint_off UNUSED */
    wire q_ready;
    /* verilator lint_on UNUSED */

    always @(posedge clk) begin
        fly_valid_reg <= {fly_valid_reg[0], send};
        fly_side_reg[0] <= {head_end && head_last, send_err, head_client, head_tag};
        fly_side_reg[1] <= fly_side_reg[0];
        if (rst) begin
            fly_valid_reg <= 2'd0;
        end
    end

    assign fly_count = q_count + {2'd0, fly_valid_reg[0]} + {2'd0, fly_valid_reg[1]};

    frnic_fifo #(
        .WIDTH(SIDE_W + 512),
        .LOG_DEPTH(2)
    ) out (
        .clk(clk),
        .rst(rst),
        .wr_data({fly_side_reg[1], mem_data}),
        .wr_valid(fly_valid_reg[1]),
        .wr_ready(q_ready),
        .rd_data({resp_last, resp_error, out_client, resp_tag, resp_data}),
        .rd_valid(out_valid),
        .rd_ready(out_ready),
        .count(q_count)
    );

`ifdef FRNIC_SIM
    frnic_axi_assert #(.ID_W(ID_W)) rules (
        .clk(clk), .rst(rst),
        .awid({ID_W{1'b0}}), .awaddr(64'd0), .awlen(8'd0), .awsize(3'd0), .awburst(2'd0), .awvalid(1'b0), .awready(1'b0),
        .wdata(512'd0), .wstrb(64'd0), .wlast(1'b0), .wvalid(1'b0), .wready(1'b0),
        .bid({ID_W{1'b0}}), .bresp(2'd0), .bvalid(1'b0), .bready(1'b0),
        .arid(m_axi_arid), .araddr(m_axi_araddr), .arlen(m_axi_arlen), .arsize(m_axi_arsize), .arburst(m_axi_arburst),
        .arvalid(m_axi_arvalid), .arready(m_axi_arready),
        .rid(m_axi_rid), .rdata(m_axi_rdata), .rresp(m_axi_rresp), .rlast(m_axi_rlast), .rvalid(m_axi_rvalid), .rready(m_axi_rready)
    );
`endif

endmodule

`resetall
