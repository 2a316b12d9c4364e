// SPDX-License-Identifier: BSD-2-Clause
//
// Ethernet receive ring: frames into the buffers that software gave, a completion for each, checksums verified on the way. Which frames come
// here is decided in frnic_net_rx; doorbells and context are frnic_eth's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_eth_rx #(
    // log2 of the beats of the frame FIFO
    parameter LOG_DEPTH = 9
) (
    input  wire         clk,
    input  wire         rst,
    // The ring
    input  wire         live,
    input  wire         rx_en,
    input  wire [4:0]   log_size,
    input  wire [63:0]  base,
    input  wire [63:0]  cqe_base,
    input  wire [23:0]  pi,
    // Completions written
    output wire [23:0]  ci,
    // Nothing is under way to or from host memory
    output wire         idle,
    // Frames; tuser = {copy of a RoCE frame that was sent, of one that came, bad: on the last beat}
    input  wire [511:0] s_axis_tdata,
    input  wire [63:0]  s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    input  wire [2:0]   s_axis_tuser,
    // frnic_dma_rd client: descriptors
    output wire         rd_req_valid,
    input  wire         rd_req_ready,
    output wire [63:0]  rd_req_addr,
    output wire [12:0]  rd_req_len,
    input  wire         rd_resp_valid,
    input  wire [511:0] rd_resp_data,
    input  wire         rd_resp_error,
    // frnic_dma_wr clients: 0 frames, 1 completions
    output wire [1:0]   wr_cmd_valid,
    input  wire [1:0]   wr_cmd_ready,
    output wire [127:0] wr_cmd_addr,
    output wire [25:0]  wr_cmd_len,
    output wire [1:0]   wr_data_valid,
    input  wire [1:0]   wr_data_ready,
    output wire [1023:0] wr_data,
    input  wire [1:0]   wr_st_valid,
    input  wire         wr_st_error,
    // Counters
    output wire         cnt_rx,
    output wire [13:0]  cnt_rx_bytes,
    output wire         cnt_nobuf
);

    localparam [7:0] IP_OK = 8'h01, L4_OK = 8'h02, MIRROR_RX = 8'h04, MIRROR_TX = 8'h08, TRUNC = 8'h10; // enum eth_rx_flag

    function [15:0] be16;
        input [15:0] lanes;
        begin
            be16 = {lanes[7:0], lanes[15:8]};
        end
    endfunction

    // ---- checksums: stage 1 registers the beat and what its frame's headers say ----

    reg first_reg = 1'b1;
    reg [15:0] pos_reg = 16'd0;

    reg [511:0] d1_reg = 512'd0, d2_reg = 512'd0, d3_reg = 512'd0, d4_reg = 512'd0;
    reg [63:0] k1_reg = 64'd0, k2_reg = 64'd0, k3_reg = 64'd0, k4_reg = 64'd0;
    reg v1_reg = 1'b0, v2_reg = 1'b0, v3_reg = 1'b0, v4_reg = 1'b0;
    reg l1_reg = 1'b0, l2_reg = 1'b0, l3_reg = 1'b0, l4_reg = 1'b0;
    reg [2:0] u1_reg = 3'd0, u2_reg = 3'd0, u3_reg = 3'd0;
    reg bad4_reg = 1'b0;
    reg [15:0] pos1_reg = 16'd0, len2_reg = 16'd0, len3_reg = 16'd0, len4_reg = 16'd0;

    // Of the frame in stage 1
    reg is4_reg = 1'b0;
    reg is6_reg = 1'b0;
    reg l4_ok_reg = 1'b0;
    reg tcp_reg = 1'b0;
    reg [15:0] off3_reg = 16'd0;
    reg [15:0] off4_reg = 16'd0;
    reg [16:0] end3_reg = 17'd0;

    wire vlan = be16(s_axis_tdata[12*8 +: 16]) == 16'h8100;
    wire [15:0] ethertype = vlan ? be16(s_axis_tdata[16*8 +: 16]) : be16(s_axis_tdata[12*8 +: 16]);
    wire [15:0] off3 = vlan ? 16'd18 : 16'd14;
    /* verilator lint_off UNUSED */
    wire [20*8-1:0] ip = vlan ? s_axis_tdata[18*8 +: 20*8] : s_axis_tdata[14*8 +: 20*8];
    /* verilator lint_on UNUSED */
    wire is4 = ethertype == 16'h0800 && ip[7:4] == 4'd4 && ip[3:0] >= 4'd5 && be16(ip[2*8 +: 16]) >= {10'd0, ip[3:0], 2'd0};
    wire is6 = ethertype == 16'h86dd && ip[7:4] == 4'd6;
    wire [7:0] proto = is6 ? ip[6*8 +: 8] : ip[9*8 +: 8];
    wire [15:0] hlen = is6 ? 16'd40 : {10'd0, ip[3:0], 2'd0};
    wire [16:0] total = is6 ? {1'b0, be16(ip[4*8 +: 16])} + 17'd40 : {1'b0, be16(ip[2*8 +: 16])};
    wire fragment = is4 && (be16(ip[6*8 +: 16]) & 16'h3fff) != 16'd0;

    assign s_axis_tready = 1'b1;

    function [6:0] bytes_of;
        input [63:0] keep;
        integer n;
        begin
            bytes_of = 7'd0;
            for (n = 0; n < 64; n = n + 1) begin
                if (keep[n]) begin
                    bytes_of = n[6:0] + 7'd1;
                end
            end
        end
    endfunction

    // Stage 2: 16-bit words of the IPv4 header; words of the pseudo header and of TCP or UDP. All parts start on even lanes. A function, so that
    // nobody adds up a beat that is not there.
    function [73:0] sums;
        input [511:0] data;
        input [63:0] keep;
        input [15:0] pos;
        input [15:0] l3;
        input [15:0] l4;
        input [16:0] over;
        input v4;
        reg [20:0] sum3;
        reg [20:0] sum4;
        reg [15:0] len;
        reg [15:0] csum;
        reg [16:0] at;
        reg in4;
        reg [15:0] word;
        integer w;
        begin
            sum3 = 21'd0;
            sum4 = 21'd0;
            len = 16'd0;
            csum = 16'd0;
            for (w = 0; w < 32; w = w + 1) begin
                at = {1'b0, pos} + {10'd0, w[5:0], 1'b0};
                // A byte behind the packet counts as zero.
                word = {data[w*16 +: 8], at + 17'd1 < over ? data[w*16 + 8 +: 8] : 8'h00};
                in4 = (at >= {1'b0, l4} && at < over) ||
                      (v4 ? at >= {1'b0, l3} + 17'd12 && at < {1'b0, l3} + 17'd20 : at >= {1'b0, l3} + 17'd8 && at < {1'b0, l3} + 17'd40);
                if (keep[w*2] && at >= {1'b0, l3} && at < {1'b0, l4}) begin
                    sum3 = sum3 + {5'd0, word};
                end
                if (keep[w*2] && in4) begin
                    sum4 = sum4 + {5'd0, word};
                end
                if (at == {1'b0, l4} + 17'd4) begin
                    len = word;
                end
                if (at == {1'b0, l4} + 17'd6) begin
                    csum = word;
                end
            end
            sums = {sum3, sum4, len, csum};
        end
    endfunction

    reg [20:0] sum3_reg = 21'd0;
    reg [20:0] sum4_reg = 21'd0;
    reg [15:0] udp_len_reg = 16'd0;
    reg [15:0] udp_sum_reg = 16'd0;
    reg first2_reg = 1'b0, first1_reg = 1'b0;
    reg is4_2_reg = 1'b0, is6_2_reg = 1'b0, l4_ok2_reg = 1'b0, tcp2_reg = 1'b0;
    reg [16:0] end3_2_reg = 17'd0;
    reg [16:0] l4_len2_reg = 17'd0;

    // Stage 3 adds over beats, stage 4 folds.
    reg [31:0] acc3_reg = 32'd0;
    reg [31:0] acc4_reg = 32'd0;
    reg [15:0] udp_len3_reg = 16'd0;
    reg [15:0] udp_sum3_reg = 16'd0;
    reg is4_3_reg = 1'b0, is6_3_reg = 1'b0, l4_ok3_reg = 1'b0, tcp3_reg = 1'b0;
    reg [16:0] end3_3_reg = 17'd0;
    reg [16:0] l4_len3_reg = 17'd0;
    reg [7:0] flags4_reg = 8'd0;

    wire [31:0] pseudo = acc4_reg + {15'd0, l4_len3_reg} + (tcp3_reg ? 32'd6 : 32'd17);

    function ones;
        input [31:0] sum;
        reg [17:0] f1;
        reg [16:0] f2;
        begin
            f1 = {2'd0, sum[15:0]} + {2'd0, sum[31:16]};
            f2 = {1'b0, f1[15:0]} + {15'd0, f1[17:16]};
            ones = f2[15:0] + {15'd0, f2[16]} == 16'hffff;
        end
    endfunction

    wire whole = (is4_3_reg || is6_3_reg) && end3_3_reg <= {1'b0, len3_reg};
    wire udp_fits = tcp3_reg ? l4_len3_reg >= 17'd20 && !l4_len3_reg[16]
                             : l4_len3_reg >= 17'd8 && !l4_len3_reg[16] && {1'b0, udp_len3_reg} == l4_len3_reg && udp_sum3_reg != 16'd0;

    always @(posedge clk) begin
        v1_reg <= s_axis_tvalid;
        if (s_axis_tvalid) begin
            d1_reg <= s_axis_tdata;
            k1_reg <= s_axis_tkeep;
            l1_reg <= s_axis_tlast;
            u1_reg <= s_axis_tuser;
            pos1_reg <= first_reg ? 16'd0 : pos_reg;
            first1_reg <= first_reg;
            first_reg <= s_axis_tlast;
            pos_reg <= (first_reg ? 16'd0 : pos_reg) + 16'd64;
            if (first_reg) begin
                is4_reg <= is4;
                is6_reg <= is6;
                l4_ok_reg <= (is4 || is6) && !fragment && (proto == 8'd6 || proto == 8'd17);
                tcp_reg <= proto == 8'd6;
                off3_reg <= off3;
                off4_reg <= off3 + hlen;
                end3_reg <= {1'b0, off3} + total;
            end
        end

        v2_reg <= v1_reg;
        if (v1_reg) begin
            d2_reg <= d1_reg;
            k2_reg <= k1_reg;
            l2_reg <= l1_reg;
            u2_reg <= u1_reg;
            first2_reg <= first1_reg;
            len2_reg <= pos1_reg + {9'd0, bytes_of(k1_reg)};
            {sum3_reg, sum4_reg, udp_len_reg, udp_sum_reg} <= sums(d1_reg, k1_reg, pos1_reg, off3_reg, off4_reg, end3_reg, is4_reg);
            is4_2_reg <= is4_reg;
            is6_2_reg <= is6_reg;
            l4_ok2_reg <= l4_ok_reg;
            tcp2_reg <= tcp_reg;
            end3_2_reg <= end3_reg;
            l4_len2_reg <= end3_reg - {1'b0, off4_reg};
        end

        v3_reg <= v2_reg;
        if (v2_reg) begin
            d3_reg <= d2_reg;
            k3_reg <= k2_reg;
            l3_reg <= l2_reg;
            u3_reg <= u2_reg;
            len3_reg <= len2_reg;
            acc3_reg <= (first2_reg ? 32'd0 : acc3_reg) + {11'd0, sum3_reg};
            acc4_reg <= (first2_reg ? 32'd0 : acc4_reg) + {11'd0, sum4_reg};
            udp_len3_reg <= (first2_reg ? 16'd0 : udp_len3_reg) | udp_len_reg;
            udp_sum3_reg <= (first2_reg ? 16'd0 : udp_sum3_reg) | udp_sum_reg;
            is4_3_reg <= is4_2_reg;
            is6_3_reg <= is6_2_reg;
            l4_ok3_reg <= l4_ok2_reg;
            tcp3_reg <= tcp2_reg;
            end3_3_reg <= end3_2_reg;
            l4_len3_reg <= l4_len2_reg;
        end

        v4_reg <= v3_reg;
        if (v3_reg) begin
            d4_reg <= d3_reg;
            k4_reg <= k3_reg;
            l4_reg <= l3_reg;
            bad4_reg <= u3_reg[0];
            len4_reg <= len3_reg;
            flags4_reg <= (u3_reg[2] ? MIRROR_TX : 8'd0) | (u3_reg[1] ? MIRROR_RX : 8'd0) | (whole && is4_3_reg && ones(acc3_reg) ? IP_OK : 8'd0) |
                          (whole && l4_ok3_reg && udp_fits && ones(pseudo) ? L4_OK : 8'd0);
        end
        if (rst) begin
            first_reg <= 1'b1;
            v1_reg <= 1'b0;
            v2_reg <= 1'b0;
            v3_reg <= 1'b0;
            v4_reg <= 1'b0;
        end
    end

    // ---- frames wait here whole ----

    wire [511:0] f_data;
    wire f_valid;
    wire f_ready;
    wire f_last;
    wire committed;
    wire lost;
    /* verilator lint_off UNUSED */
    wire [63:0] f_keep;
    wire f_user;
    wire f_sready;
    wire f_bad;
    wire info_ready;
    wire [LOG_DEPTH+1:0] info_count;
    /* verilator lint_on UNUSED */

    frnic_axis_frame_fifo #(
        .LOG_DEPTH(LOG_DEPTH),
        .DROP_WHEN_FULL(1)
    ) fifo (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(d4_reg),
        .s_axis_tkeep(k4_reg),
        .s_axis_tvalid(v4_reg),
        .s_axis_tready(f_sready),
        .s_axis_tlast(l4_reg),
        .s_axis_tuser(1'b0),
        .s_bad(bad4_reg),
        .m_axis_tdata(f_data),
        .m_axis_tkeep(f_keep),
        .m_axis_tvalid(f_valid),
        .m_axis_tready(f_ready),
        .m_axis_tlast(f_last),
        .m_axis_tuser(f_user),
        .committed(committed),
        .dropped_bad(f_bad),
        .dropped_full(lost)
    );

    reg [15:0] info_len_reg = 16'd0;
    reg [7:0] info_flags_reg = 8'd0;
    wire [15:0] info_len;
    wire [7:0] info_flags;
    wire info_valid;
    wire info_pop;

    // Twice the frames that fit: it cannot be full.
    frnic_fifo #(
        .WIDTH(24),
        .LOG_DEPTH(LOG_DEPTH + 1)
    ) info (
        .clk(clk), .rst(rst),
        .wr_data({info_len_reg, info_flags_reg}), .wr_valid(committed), .wr_ready(info_ready),
        .rd_data({info_len, info_flags}), .rd_valid(info_valid), .rd_ready(info_pop),
        .count(info_count)
    );

    // ---- descriptors ----

    wire desc_pending;
    wire desc_valid;
    /* verilator lint_off UNUSED */
    wire [127:0] desc;
    /* verilator lint_on UNUSED */
    wire desc_error;
    wire desc_ready;
    wire desc_idle;
    wire restart;
    wire [23:0] index;

    frnic_eth_desc descs (
        .clk(clk),
        .rst(rst),
        .live(live),
        .base(base),
        .log_size(log_size),
        .pi(pi),
        .restart(restart),
        .index(index),
        .pending(desc_pending),
        .desc_valid(desc_valid),
        .desc(desc),
        .desc_error(desc_error),
        .desc_ready(desc_ready),
        .idle(desc_idle),
        .req_valid(rd_req_valid),
        .req_ready(rd_req_ready),
        .req_addr(rd_req_addr),
        .req_len(rd_req_len),
        .resp_valid(rd_resp_valid),
        .resp_data(rd_resp_data),
        .resp_error(rd_resp_error)
    );

    // ---- a frame into its buffer ----

    localparam [1:0] S_IDLE = 2'd0, S_CMD = 2'd1, S_DATA = 2'd2, S_DROP = 2'd3;
    reg [1:0] state_reg = S_IDLE;
    reg [63:0] addr_reg = 64'd0;
    reg [15:0] left_reg = 16'd0;
    reg [6:0] beats_reg = 7'd0;

    reg restart_reg = 1'b0;
    wire pend_ready;
    wire usable = live && rx_en && desc_pending;
    wire start = state_reg == S_IDLE && info_valid && f_valid;
    wire no_buf = start && (!usable || (desc_valid && desc_error));
    wire begin_frame = start && usable && desc_valid && !desc_error && pend_ready;
    wire [15:0] room = desc[95:64] > 32'd65535 ? 16'hffff : desc[79:64];
    wire cut = info_len > room;
    wire [15:0] num = cut ? room : info_len;
    wire [12:0] chunk = left_reg > 16'd4096 ? 13'd4096 : left_reg[12:0];
    wire data_go = state_reg == S_DATA && f_valid && wr_data_ready[0];

    assign info_pop = no_buf || begin_frame;
    assign desc_ready = begin_frame;
    assign restart = restart_reg;
    assign f_ready = data_go || (state_reg == S_DROP && f_valid);
    assign wr_cmd_valid[0] = state_reg == S_CMD;
    assign wr_cmd_addr[63:0] = addr_reg;
    assign wr_cmd_len[12:0] = chunk;
    assign wr_data_valid[0] = state_reg == S_DATA && f_valid;
    assign wr_data[511:0] = f_data;

    // Frames without a buffer or without room that are not counted yet
    reg [3:0] owe_reg = 4'd0;
    reg was_bad_reg = 1'b0;
    wire lost_good = lost && !was_bad_reg;

    always @(posedge clk) begin
        was_bad_reg <= bad4_reg;
        owe_reg <= owe_reg + {3'd0, no_buf} + {3'd0, lost_good} - {3'd0, owe_reg != 4'd0};
        restart_reg <= no_buf && usable;
        case (state_reg)
            S_IDLE: begin
                addr_reg <= desc[63:0];
                left_reg <= num;
                if (no_buf) begin
                    state_reg <= S_DROP;
                end else if (begin_frame) begin
                    state_reg <= num == 16'd0 ? S_DROP : S_CMD;
                end
            end
            S_CMD: begin
                if (wr_cmd_ready[0]) begin
                    addr_reg <= addr_reg + 64'd4096;
                    left_reg <= left_reg - {3'd0, chunk};
                    beats_reg <= chunk[12:6] + {6'd0, chunk[5:0] != 6'd0};
                    state_reg <= S_DATA;
                end
            end
            S_DATA: begin
                if (data_go) begin
                    beats_reg <= beats_reg - 7'd1;
                    if (beats_reg == 7'd1) begin
                        state_reg <= left_reg != 16'd0 ? S_CMD : f_last ? S_IDLE : S_DROP;
                    end
                end
            end
            default: begin
                if (f_valid && f_last) begin
                    state_reg <= S_IDLE;
                end
            end
        endcase
        if (v4_reg && l4_reg) begin
            info_len_reg <= len4_reg;
            info_flags_reg <= flags4_reg;
        end
        if (rst) begin
            state_reg <= S_IDLE;
            owe_reg <= 4'd0;
        end
    end

    // ---- completions: after the responses to all writes of the frame ----

    wire [23:0] p_index;
    wire [15:0] p_len;
    wire [7:0] p_flags;
    wire [1:0] p_cmds;
    wire p_valid;
    wire p_pop;
    /* verilator lint_off UNUSED */
    wire [4:0] p_count;
    wire st_wready;
    wire [6:0] st_count;
    /* verilator lint_on UNUSED */
    // 9600 bytes are three writes at most.
    wire [1:0] cmds = num == 16'd0 ? 2'd0 : num <= 16'd4096 ? 2'd1 : num <= 16'd8192 ? 2'd2 : 2'd3;

    frnic_fifo #(
        .WIDTH(24 + 16 + 8 + 2),
        .LOG_DEPTH(4)
    ) pend (
        .clk(clk), .rst(rst),
        .wr_data({index, num, info_flags | (cut ? TRUNC : 8'd0), cmds}), .wr_valid(begin_frame), .wr_ready(pend_ready),
        .rd_data({p_index, p_len, p_flags, p_cmds}), .rd_valid(p_valid), .rd_ready(p_pop),
        .count(p_count)
    );

    wire st_valid;
    wire st_error;
    wire st_pop;

    frnic_fifo #(
        .WIDTH(1),
        .LOG_DEPTH(6)
    ) states (
        .clk(clk), .rst(rst),
        .wr_data(wr_st_error), .wr_valid(wr_st_valid[0]), .wr_ready(st_wready),
        .rd_data(st_error), .rd_valid(st_valid), .rd_ready(st_pop),
        .count(st_count)
    );

    reg [1:0] got_reg = 2'd0;
    reg failed_reg = 1'b0;
    // The completion: command, then its beat
    reg cqe_cmd_reg = 1'b0;
    reg cqe_data_reg = 1'b0;
    reg [127:0] cqe_reg = 128'd0;
    reg [63:0] cqe_addr_reg = 64'd0;
    reg [6:0] cqe_out_reg = 7'd0;
    reg [23:0] ci_reg = 24'd0;
    reg rx_reg = 1'b0;
    reg [13:0] rx_bytes_reg = 14'd0;

    wire cqe_busy = cqe_cmd_reg || cqe_data_reg;
    wire all_in = p_valid && got_reg == p_cmds;
    assign p_pop = all_in && !cqe_busy && cqe_out_reg != 7'd64;
    assign st_pop = p_valid && !all_in && st_valid;

    wire [15:0] done_len = failed_reg ? 16'd0 : p_len;
    wire [7:0] done_flags = failed_reg ? p_flags | TRUNC : p_flags;
    /* verilator lint_off UNUSED */
    wire [23:0] pass = p_index >> log_size;
    /* verilator lint_on UNUSED */
    wire [23:0] slot = p_index & ~(24'hffffff << log_size);
    wire cqe_done = cqe_data_reg && wr_data_ready[1];

    assign wr_cmd_valid[1] = cqe_cmd_reg;
    assign wr_cmd_addr[127:64] = cqe_addr_reg;
    assign wr_cmd_len[25:13] = 13'd16;
    assign wr_data_valid[1] = cqe_data_reg;
    assign wr_data[1023:512] = {384'd0, cqe_reg};
    assign ci = ci_reg;
    assign cnt_rx = rx_reg;
    assign cnt_rx_bytes = rx_bytes_reg;
    assign cnt_nobuf = owe_reg != 4'd0;
    // A frame that is thrown away touches no host memory.
    assign idle = (state_reg == S_IDLE || state_reg == S_DROP) && !p_valid && !cqe_busy && cqe_out_reg == 7'd0 && desc_idle;

    always @(posedge clk) begin
        if (st_pop) begin
            got_reg <= got_reg + 2'd1;
            failed_reg <= failed_reg || st_error;
        end
        rx_reg <= 1'b0;
        if (p_pop) begin
            got_reg <= 2'd0;
            failed_reg <= 1'b0;
            cqe_cmd_reg <= 1'b1;
            cqe_addr_reg <= cqe_base + {36'd0, slot, 4'd0};
            cqe_reg <= {!pass[0], 23'd0, done_flags, 32'd0, 8'd0, p_index, 16'd0, done_len};
            rx_reg <= 1'b1;
            rx_bytes_reg <= done_len[13:0];
        end
        if (cqe_cmd_reg && wr_cmd_ready[1]) begin
            cqe_cmd_reg <= 1'b0;
            cqe_data_reg <= 1'b1;
        end
        if (cqe_done) begin
            cqe_data_reg <= 1'b0;
            ci_reg <= ci_reg + 24'd1;
        end
        cqe_out_reg <= cqe_out_reg + {6'd0, cqe_done} - {6'd0, wr_st_valid[1]};
        if (!live && idle) begin
            ci_reg <= 24'd0;
        end
        if (rst) begin
            got_reg <= 2'd0;
            failed_reg <= 1'b0;
            cqe_cmd_reg <= 1'b0;
            cqe_data_reg <= 1'b0;
            cqe_out_reg <= 7'd0;
            ci_reg <= 24'd0;
            rx_reg <= 1'b0;
        end
    end

endmodule

`resetall
