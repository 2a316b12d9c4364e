// SPDX-License-Identifier: BSD-2-Clause
//
// Writes host memory over AXI4: any address and length, payload taken from any lane, order of commands kept, a status after the write responses.
// Nothing of what the bytes mean. Documentation/microarchitecture.md, 4.2.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_dma_wr #(
    // Clients
    parameter CLIENTS = 4,
    // The first HIGH clients go before the others
    parameter HIGH = 0,
    // Bits of a client's tag
    parameter TAG_W = 8,
    // Bits of the AXI ID; all writes use ID 0, so that they stay in order
    parameter ID_W = 6,
    // log2 of the bytes at whose multiples bursts are cut, 6..12
    parameter LOG_BURST = 12,
    // log2 of the bursts without response
    parameter LOG_OUT = 6,
    // Cycles after which the oldest burst counts as never answered; 50 ms at 250 MHz
    parameter TIMEOUT = 12500000,
    // Bits of a client's number
    parameter SEL_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1
) (
    input  wire                     clk,
    input  wire                     rst,
    // Commands, client 0 in the low bits; len 1..8191, src_off is the first byte's lane in the first beat of data
    input  wire [CLIENTS-1:0]       cmd_valid,
    output wire [CLIENTS-1:0]       cmd_ready,
    input  wire [CLIENTS*64-1:0]    cmd_addr,
    input  wire [CLIENTS*13-1:0]    cmd_len,
    input  wire [CLIENTS*6-1:0]     cmd_src_off,
    input  wire [CLIENTS*TAG_W-1:0] cmd_tag,
    // Data, taken after its command: ceil((src_off + len) / 64) beats
    input  wire [CLIENTS-1:0]       data_valid,
    output wire [CLIENTS-1:0]       data_ready,
    input  wire [CLIENTS*512-1:0]   data,
    // Status: a pulse for the client whose command has all its responses, in the order of the commands
    output wire [CLIENTS-1:0]       st_valid,
    output wire [TAG_W-1:0]         st_tag,
    output wire                     st_error,
    // AXI4 write channels
    output wire [ID_W-1:0]          m_axi_awid,
    output wire [63:0]              m_axi_awaddr,
    output wire [7:0]               m_axi_awlen,
    output wire [2:0]               m_axi_awsize,
    output wire [1:0]               m_axi_awburst,
    output wire                     m_axi_awvalid,
    input  wire                     m_axi_awready,
    output wire [511:0]             m_axi_wdata,
    output wire [63:0]              m_axi_wstrb,
    output wire                     m_axi_wlast,
    output wire                     m_axi_wvalid,
    input  wire                     m_axi_wready,
    /* verilator lint_off UNUSED */
    input  wire [ID_W-1:0]          m_axi_bid,
    input  wire [1:0]               m_axi_bresp,
    /* verilator lint_on UNUSED */
    input  wire                     m_axi_bvalid,
    output wire                     m_axi_bready,
    // active: a command is not answered to its end; busy: that, or a late response is outstanding, which may never come
    output wire                     active,
    output wire                     busy,
    // A command ended with an error; the oldest burst has had no response for TIMEOUT cycles
    output wire                     ev_error,
    output wire                     ev_timeout
);

    localparam [31:0] TIMEOUT_CYCLES = TIMEOUT;
    localparam [12:0] BURST = 1 << LOG_BURST;
    localparam SIDE_W = 1 + SEL_W + TAG_W;

    initial begin
        if (LOG_BURST < 6 || LOG_BURST > 12 || CLIENTS < 1 || HIGH > CLIENTS) begin
            $display("frnic_dma_wr: parameter out of range (%m)");
            $finish;
        end
    end

    // ---- Stage 1: a command and its data, rotated into memory's lanes ----
    wire [SEL_W-1:0] pick;
    wire pick_any;
    wire pick_take;

    frnic_rr_pick #(
        .PORTS(CLIENTS),
        .HIGH(HIGH)
    ) arb (
        .clk(clk),
        .rst(rst),
        .req(cmd_valid),
        .sel(pick),
        .any(pick_any),
        .take(pick_take)
    );

    wire [63:0] pick_addr = cmd_addr[pick*64 +: 64];
    wire [12:0] pick_len = cmd_len[pick*13 +: 13];
    wire [5:0] pick_off = cmd_src_off[pick*6 +: 6];
    wire [7:0] pick_in = beats_of(pick_off, pick_len);
    wire [7:0] pick_out = beats_of(pick_addr[5:0], pick_len);

    function [7:0] beats_of(input [5:0] lane, input [12:0] bytes);
        /* verilator lint_off UNUSED */
        reg [13:0] sum;
        /* verilator lint_on UNUSED */
        begin
            sum = {8'd0, lane} + {1'b0, bytes} + 14'd63;
            beats_of = sum[13:6];
        end
    endfunction

    reg in_busy_reg = 1'b0;
    reg [SEL_W-1:0] in_client_reg = {SEL_W{1'b0}};
    reg [7:0] in_left_reg = 8'd0;
    reg [7:0] out_left_reg = 8'd0;
    reg [5:0] shift_reg = 6'd0;
    // The first beat's bytes all belong to the second lane group: it must be there before anything can go out.
    reg prime_reg = 1'b0;
    reg [511:0] prev_reg = 512'd0;

    // To stage 2
    reg s_valid_reg = 1'b0;
    reg [511:0] s_data_reg = 512'd0;
    reg s_first_reg = 1'b0;
    wire s_ready;

    wire need_in = in_left_reg != 8'd0;
    wire have = !need_in || data_valid[in_client_reg];
    wire step = in_busy_reg && have && (prime_reg || !s_valid_reg || s_ready);
    wire out_step = step && !prime_reg;
    wire in_end = out_step && out_left_reg == 8'd1;

    // Lanes below the shift come from the beat before. Nothing is asked of them without a step: a simulation need not turn the beat then.
    wire [63:0] from_prev = (64'd1 << shift_reg) - 64'd1;
    reg [511:0] in_data;
    reg [511:0] turned;
    /* verilator lint_off UNUSED */
    reg [511:0] rest;
    /* verilator lint_on UNUSED */
    reg [511:0] merged;
    reg out_first_reg = 1'b0;
    integer i;

    always @* begin
        i = 0; // in all branches: else Yosys keeps a latch for it
        in_data = {512{1'bx}};
        turned = {512{1'bx}};
        rest = {512{1'bx}};
        merged = {512{1'bx}};
        if (step) begin
            in_data = data[in_client_reg*512 +: 512];
            // Left by whole bytes
            {turned, rest} = {in_data, in_data} << {shift_reg, 3'd0};
            for (i = 0; i < 64; i = i + 1) begin
                merged[i*8 +: 8] = from_prev[i] ? prev_reg[i*8 +: 8] : turned[i*8 +: 8];
            end
        end
    end

    genvar g;
    generate
        for (g = 0; g < CLIENTS; g = g + 1) begin : client
            assign cmd_ready[g] = pick_take && pick_any && pick == g && !rst;
            assign data_ready[g] = step && need_in && in_client_reg == g;
            assign st_valid[g] = st_pulse && st_client == g;
        end
    endgenerate

    // The command's place in memory goes to stage 2 through a register pair: stage 2 is at most one command behind.
    reg [63:0] c_addr_reg = 64'd0;
    reg [12:0] c_len_reg = 13'd0;
    reg [SEL_W+TAG_W-1:0] c_side_reg = {(SEL_W+TAG_W){1'b0}};

    assign pick_take = !in_busy_reg || in_end;

    always @(posedge clk) begin
        if (step) begin
            prime_reg <= 1'b0;
            prev_reg <= turned;
            if (need_in) begin
                in_left_reg <= in_left_reg - 1'b1;
            end
        end
        if (out_step) begin
            out_left_reg <= out_left_reg - 1'b1;
            out_first_reg <= 1'b0;
        end
        if (pick_take) begin
            in_busy_reg <= pick_any;
            in_client_reg <= pick;
            in_left_reg <= pick_in;
            out_left_reg <= pick_out;
            shift_reg <= pick_addr[5:0] - pick_off;
            prime_reg <= pick_addr[5:0] < pick_off;
            out_first_reg <= 1'b1;
            c_addr_reg <= pick_addr;
            c_len_reg <= pick_len;
            c_side_reg <= {pick, cmd_tag[pick*TAG_W +: TAG_W]};
        end
        if (out_step) begin
            s_valid_reg <= 1'b1;
            s_data_reg <= merged;
            s_first_reg <= out_first_reg;
        end else if (s_ready) begin
            s_valid_reg <= 1'b0;
        end
        if (rst) begin
            in_busy_reg <= 1'b0;
            s_valid_reg <= 1'b0;
        end
    end

    // With the first beat of stage 1's output its place is copied, before the next command can overwrite it.
    reg [63:0] s_addr_reg = 64'd0;
    reg [12:0] s_len_reg = 13'd0;
    reg [SEL_W+TAG_W-1:0] s_side_reg = {(SEL_W+TAG_W){1'b0}};

    always @(posedge clk) begin
        if (out_step && out_first_reg) begin
            s_addr_reg <= c_addr_reg;
            s_len_reg <= c_len_reg;
            s_side_reg <= c_side_reg;
        end
    end

    // ---- Stage 2: bursts ----
    // Where the command's next beat goes and what is left of it.
    reg [63:0] b_addr_reg = 64'd0;
    reg [12:0] b_left_reg = 13'd0;
    reg [5:0] b_beats_reg = 6'd0; // beats left in the burst, less one
    reg b_open_reg = 1'b0;

    wire [63:0] b_addr = s_first_reg ? s_addr_reg : b_addr_reg;
    wire [12:0] b_left = s_first_reg ? s_len_reg : b_left_reg;

    // The burst that starts here.
    wire [12:0] room = BURST - {1'b0, b_addr[11:0] & (BURST[11:0] - 12'd1)};
    wire cut_last = b_left <= room;
    wire [12:0] cut_bytes = cut_last ? b_left : room;
    wire [7:0] cut_beats = beats_of(b_addr[5:0], cut_bytes);

    // This beat's bytes.
    wire [6:0] beat_room = 7'd64 - {1'b0, b_addr[5:0]};
    wire beat_short = b_left < {6'd0, beat_room};
    wire [6:0] beat_bytes = beat_short ? b_left[6:0] : beat_room;
    // (beat_bytes never reaches beyond lane 63.)
    wire [63:0] strobe = ~(64'hffffffffffffffff << beat_bytes) << b_addr[5:0];

    reg aw_valid_reg = 1'b0;
    reg [63:0] aw_addr_reg = 64'd0;
    reg [5:0] aw_len_reg = 6'd0;
    reg w_valid_reg = 1'b0;
    reg [511:0] w_data_reg = 512'd0;
    reg [63:0] w_strb_reg = 64'd0;
    reg w_last_reg = 1'b0;

    wire starts = !b_open_reg;
    wire w_free = !w_valid_reg || m_axi_wready;
    wire aw_free = !aw_valid_reg || m_axi_awready;
    wire out_room;
    assign s_ready = w_free && (!starts || (aw_free && out_room));

    wire go = s_valid_reg && s_ready;
    wire w_last = starts ? cut_beats == 8'd1 : b_beats_reg == 6'd0;

    assign m_axi_awid = {ID_W{1'b0}};
    assign m_axi_awaddr = aw_addr_reg;
    assign m_axi_awlen = {2'd0, aw_len_reg};
    assign m_axi_awsize = 3'd6;
    assign m_axi_awburst = 2'd1;
    assign m_axi_awvalid = aw_valid_reg;
    assign m_axi_wdata = w_data_reg;
    assign m_axi_wstrb = w_strb_reg;
    assign m_axi_wlast = w_last_reg;
    assign m_axi_wvalid = w_valid_reg;

    always @(posedge clk) begin
        if (go) begin
            w_valid_reg <= 1'b1;
            w_data_reg <= s_data_reg;
            w_strb_reg <= strobe;
            w_last_reg <= w_last;
            b_open_reg <= !w_last;
            b_beats_reg <= (starts ? cut_beats[5:0] - 6'd1 : b_beats_reg) - 6'd1;
            b_addr_reg <= {b_addr[63:6] + 1'b1, 6'd0};
            b_left_reg <= b_left - {6'd0, beat_bytes};
        end else if (m_axi_wready) begin
            w_valid_reg <= 1'b0;
        end
        if (go && starts) begin
            aw_valid_reg <= 1'b1;
            aw_addr_reg <= {b_addr[63:6], 6'd0};
            aw_len_reg <= cut_beats[5:0] - 6'd1;
        end else if (m_axi_awready) begin
            aw_valid_reg <= 1'b0;
        end
        if (rst) begin
            w_valid_reg <= 1'b0;
            aw_valid_reg <= 1'b0;
            b_open_reg <= 1'b0;
        end
    end

    // ---- Responses ----
    wire pend_valid;
    wire pend_last;
    wire [SEL_W-1:0] st_client;
    wire [LOG_OUT:0] pend_count;

    reg st_err_reg = 1'b0;
    reg [31:0] wait_reg = 32'd0;
    // Responses of bursts that were given up: the next so many are not for those that wait.
    reg [15:0] late_reg = 16'd0;

    wire b_take = m_axi_bvalid && m_axi_bready;
    wire b_late = b_take && late_reg != 16'd0;
    // Bursts whose data the bridge has taken. A client never hears of an end while its data are still wanted.
    reg [LOG_OUT:0] sent_reg = {(LOG_OUT+1){1'b0}};
    wire head_sent = sent_reg != {(LOG_OUT+1){1'b0}} && !(aw_valid_reg && pend_count == {{LOG_OUT{1'b0}}, 1'b1});
    wire give_up = head_sent && wait_reg == TIMEOUT_CYCLES && !b_take && late_reg != 16'hffff;
    wire pop = (b_take && !b_late) || give_up;
    wire pop_err = st_err_reg || give_up || m_axi_bresp[1];
    wire st_pulse = pop && pend_last && pend_valid;

    assign m_axi_bready = 1'b1;
    assign st_error = pop_err;
    assign ev_error = st_pulse && pop_err;
    assign ev_timeout = pend_valid && wait_reg == TIMEOUT_CYCLES - 1 && !b_take;
    assign active = in_busy_reg || s_valid_reg || w_valid_reg || aw_valid_reg || pend_count != {(LOG_OUT+1){1'b0}};
    assign busy = active || late_reg != 16'd0;

    frnic_fifo #(
        .WIDTH(SIDE_W),
        .LOG_DEPTH(LOG_OUT)
    ) pend (
        .clk(clk),
        .rst(rst),
        .wr_data({cut_last, s_side_reg}),
        .wr_valid(go && starts),
        .wr_ready(out_room),
        .rd_data({pend_last, st_client, st_tag}),
        .rd_valid(pend_valid),
        .rd_ready(pop),
        .count(pend_count)
    );

    always @(posedge clk) begin
        if (pop) begin
            st_err_reg <= !pend_last && pop_err;
        end
        if (!pend_valid || b_take || give_up) begin
            wait_reg <= 32'd0;
        end else if (wait_reg != TIMEOUT_CYCLES) begin
            wait_reg <= wait_reg + 1'b1;
        end
        sent_reg <= sent_reg + {{LOG_OUT{1'b0}}, w_valid_reg && m_axi_wready && w_last_reg} - {{LOG_OUT{1'b0}}, pop && pend_valid};
        late_reg <= late_reg + {15'd0, give_up} - {15'd0, b_late};
        if (rst) begin
            st_err_reg <= 1'b0;
            wait_reg <= 32'd0;
            late_reg <= 16'd0;
            sent_reg <= {(LOG_OUT+1){1'b0}};
        end
    end

`ifdef FRNIC_SIM
    frnic_axi_assert #(.ID_W(ID_W)) rules (
        .clk(clk), .rst(rst),
        .awid(m_axi_awid), .awaddr(m_axi_awaddr), .awlen(m_axi_awlen), .awsize(m_axi_awsize), .awburst(m_axi_awburst),
        .awvalid(m_axi_awvalid), .awready(m_axi_awready),
        .wdata(m_axi_wdata), .wstrb(m_axi_wstrb), .wlast(m_axi_wlast), .wvalid(m_axi_wvalid), .wready(m_axi_wready),
        .bid(m_axi_bid), .bresp(m_axi_bresp), .bvalid(m_axi_bvalid), .bready(m_axi_bready),
        .arid({ID_W{1'b0}}), .araddr(64'd0), .arlen(8'd0), .arsize(3'd0), .arburst(2'd0), .arvalid(1'b0), .arready(1'b0),
        .rid({ID_W{1'b0}}), .rdata(512'd0), .rresp(2'd0), .rlast(1'b0), .rvalid(1'b0), .rready(1'b0)
    );
`endif

endmodule

`resetall
