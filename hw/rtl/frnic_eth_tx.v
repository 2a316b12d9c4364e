// SPDX-License-Identifier: BSD-2-Clause
//
// Ethernet transmit ring: gathers the pieces of a frame from host memory, fills in the checksum, sends it whole. Doorbells, context and the
// record of the consumer index are frnic_eth's.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_eth_tx #(
    // log2 of the beats of the frame FIFO
    parameter LOG_DEPTH = 9,
    // Longest frame in bytes
    parameter MAXFRAME = 9600
) (
    input  wire         clk,
    input  wire         rst,
    // The ring
    input  wire         live,
    input  wire         tx_en,
    input  wire [4:0]   log_size,
    input  wire [63:0]  base,
    input  wire [23:0]  pi,
    // Descriptors before it are free
    output wire [23:0]  ci,
    // No read is under way
    output wire         idle,
    // frnic_dma_rd clients: 0 descriptors, 1 frames
    output wire [1:0]   rd_req_valid,
    input  wire [1:0]   rd_req_ready,
    output wire [127:0] rd_req_addr,
    output wire [25:0]  rd_req_len,
    input  wire [1:0]   rd_resp_valid,
    output wire [1:0]   rd_resp_ready,
    input  wire [511:0] rd_resp_data,
    input  wire         rd_resp_last,
    input  wire         rd_resp_error,
    // Frames to send
    output wire [511:0] m_axis_tdata,
    output wire [63:0]  m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    // Counters
    output wire         cnt_tx,
    output wire [13:0]  cnt_tx_bytes,
    output wire         cnt_tx_err
);

    localparam [16:0] MAX = MAXFRAME;
    localparam [LOG_DEPTH:0] BEATS = (1 << LOG_DEPTH) - 4;

    // ---- descriptors ----

    wire desc_pending;
    wire desc_valid;
    /* verilator lint_off UNUSED */
    wire [127:0] desc;
    /* verilator lint_on UNUSED */
    wire desc_error;
    wire desc_ready;
    wire desc_idle;
    wire [23:0] index;

    frnic_eth_desc descs (
        .clk(clk),
        .rst(rst),
        .live(live),
        .base(base),
        .log_size(log_size),
        .pi(pi),
        .restart(1'b0),
        .index(index),
        .pending(desc_pending),
        .desc_valid(desc_valid),
        .desc(desc),
        .desc_error(desc_error),
        .desc_ready(desc_ready),
        .idle(desc_idle),
        .req_valid(rd_req_valid[0]),
        .req_ready(rd_req_ready[0]),
        .req_addr(rd_req_addr[63:0]),
        .req_len(rd_req_len[12:0]),
        .resp_valid(rd_resp_valid[0]),
        .resp_data(rd_resp_data),
        .resp_error(rd_resp_error)
    );

    assign rd_resp_ready[0] = 1'b1;

    // ---- walk: descriptors become reads, and a word for the assembler: a piece, or a frame's end ----

    localparam [1:0] W_DESC = 2'd0, W_READ = 2'd1, W_END = 2'd2;
    reg [1:0] walk_reg = W_DESC;
    reg in_frame_reg = 1'b0;
    reg bad_reg = 1'b0;
    reg eop_reg = 1'b0;
    reg csum_reg = 1'b0;
    reg [15:0] start_reg = 16'd0;
    reg [15:0] offset_reg = 16'd0;
    reg [16:0] total_reg = 17'd0;
    reg [63:0] addr_reg = 64'd0;
    reg [15:0] left_reg = 16'd0;
    // Beats promised in the frame FIFO
    reg [LOG_DEPTH:0] used_reg = {(LOG_DEPTH+1){1'b0}};

    wire [15:0] d_len = desc[79:64];
    wire d_eop = desc[80];
    wire d_csum = desc[81];
    wire [16:0] total_with = total_reg + {1'b0, d_len};
    wire too_long = total_with > MAX;
    // Nobody gave the rest of this frame.
    wire cut_off = walk_reg == W_DESC && in_frame_reg && (!desc_pending || !live);
    wire walk_take = walk_reg == W_DESC && desc_valid && (in_frame_reg || (tx_en && live));
    wire d_bad = bad_reg || desc_error || too_long;
    wire d_read = !d_bad && d_len != 16'd0;

    wire [12:0] chunk = left_reg > 16'd4096 ? 13'd4096 : left_reg[12:0];
    wire [16:0] total_chunk = total_reg + {4'd0, chunk};
    // Beats of so many bytes
    wire [LOG_DEPTH:0] beats_was = total_reg[6 +: LOG_DEPTH+1] + {{LOG_DEPTH{1'b0}}, total_reg[5:0] != 6'd0};
    wire [LOG_DEPTH:0] beats_now = total_chunk[6 +: LOG_DEPTH+1] + {{LOG_DEPTH{1'b0}}, total_chunk[5:0] != 6'd0};
    wire [LOG_DEPTH:0] beats_more = beats_now - beats_was;
    wire has_room = used_reg + beats_more <= BEATS;

    wire seg_ready;
    wire read_go = walk_reg == W_READ && has_room && seg_ready;
    wire read_take = read_go && rd_req_ready[1];
    wire end_take = walk_reg == W_END && seg_ready;

    wire [16:0] field = {1'b0, start_reg} + {1'b0, offset_reg};
    wire end_bad = bad_reg || !eop_reg || total_reg < 17'd14 || (csum_reg && ({1'b0, start_reg} >= total_reg || field + 17'd2 > total_reg));

    assign desc_ready = walk_take;
    assign rd_req_valid[1] = read_go;
    assign rd_req_addr[127:64] = addr_reg;
    assign rd_req_len[25:13] = chunk;

    // Word: end, bad, checksum, where it starts and goes; piece: first lane, length; end: length of the frame, next index
    localparam SEG_W = 1 + 1 + 1 + 16 + 16 + 6 + 13 + 14 + 24;
    wire a_end;
    wire a_bad;
    wire a_csum;
    wire [15:0] a_start;
    wire [15:0] a_field;
    wire [5:0] a_lane;
    wire [12:0] a_len;
    wire [13:0] a_total;
    wire [23:0] a_ci;
    wire a_valid;
    wire a_pop;
    wire [13:0] total_sent = total_reg[13:0];
    /* verilator lint_off UNUSED */
    wire [5:0] seg_count;
    /* verilator lint_on UNUSED */

    frnic_fifo #(
        .WIDTH(SEG_W),
        .LOG_DEPTH(5)
    ) segs (
        .clk(clk), .rst(rst),
        .wr_data({walk_reg == W_END, end_bad, csum_reg, start_reg, field[15:0], addr_reg[5:0], chunk, total_sent, index}),
        .wr_valid(read_take || end_take), .wr_ready(seg_ready),
        .rd_data({a_end, a_bad, a_csum, a_start, a_field, a_lane, a_len, a_total, a_ci}), .rd_valid(a_valid), .rd_ready(a_pop),
        .count(seg_count)
    );

    wire m_take = m_axis_tvalid && m_axis_tready;
    wire [LOG_DEPTH:0] returned;

    always @(posedge clk) begin
        case (walk_reg)
            W_DESC: begin
                addr_reg <= desc[63:0];
                left_reg <= d_len;
                if (cut_off) begin
                    walk_reg <= W_END;
                end else if (walk_take) begin
                    in_frame_reg <= 1'b1;
                    bad_reg <= d_bad;
                    // Of a descriptor that could not be read nothing is known, and of those behind it neither.
                    eop_reg <= d_eop && !desc_error;
                    if (!in_frame_reg) begin
                        csum_reg <= d_csum;
                        start_reg <= desc[96 +: 16];
                        offset_reg <= desc[112 +: 16];
                    end
                    walk_reg <= d_read ? W_READ : d_eop && !desc_error ? W_END : W_DESC;
                end
            end
            W_READ: begin
                if (read_take) begin
                    total_reg <= total_chunk;
                    addr_reg <= addr_reg + 64'd4096;
                    left_reg <= left_reg - {3'd0, chunk};
                    if (left_reg <= 16'd4096) begin
                        walk_reg <= eop_reg ? W_END : W_DESC;
                    end
                end
            end
            default: begin
                if (end_take) begin
                    walk_reg <= W_DESC;
                    in_frame_reg <= 1'b0;
                    bad_reg <= 1'b0;
                    eop_reg <= 1'b0;
                    total_reg <= 17'd0;
                end
            end
        endcase
        used_reg <= used_reg + (read_take ? beats_more : {(LOG_DEPTH+1){1'b0}}) - {{LOG_DEPTH{1'b0}}, m_take} - returned;
        if (rst) begin
            walk_reg <= W_DESC;
            in_frame_reg <= 1'b0;
            bad_reg <= 1'b0;
            eop_reg <= 1'b0;
            total_reg <= 17'd0;
            used_reg <= {(LOG_DEPTH+1){1'b0}};
        end
    end

    // ---- assemble: pieces end to end ----

    reg [511:0] acc_reg = 512'd0;
    reg [6:0] fill_reg = 7'd0;
    reg [5:0] lane_reg = 6'd0;
    reg [12:0] piece_left_reg = 13'd0;
    reg in_piece_reg = 1'b0;
    // A read of the frame failed.
    reg failed_reg = 1'b0;
    reg started_reg = 1'b0;
    reg [15:0] pos_reg = 16'd0;
    reg [23:0] ci_reg = 24'd0;

    wire take = rd_resp_valid[1] && a_valid && !a_end;
    assign rd_resp_ready[1] = a_valid && !a_end;

    wire [5:0] lane = in_piece_reg ? lane_reg : a_lane;
    wire [12:0] piece_left = in_piece_reg ? piece_left_reg : a_len;
    wire [6:0] lane_room = 7'd64 - {1'b0, lane};
    wire [6:0] n = piece_left < {6'd0, lane_room} ? piece_left[6:0] : lane_room;
    // Lane i of the rotated beat is lane i + rot of the beat.
    wire [5:0] rot = lane - fill_reg[5:0];
    wire [7:0] reach = {1'b0, fill_reg} + {1'b0, n};
    reg [511:0] low;
    reg [511:0] high;
    /* verilator lint_off UNUSED */
    reg [511:0] rest;
    /* verilator lint_on UNUSED */
    integer i, i1, i2; // one for each block: a shared one is driven by all of them

    // fill is 0 to 64: a full beat stays until it is known whether it is the last.
    // Nothing is asked of them while no beat is taken; a simulation need not turn it.
    always @* begin
        i = 0; // in all branches: else Yosys keeps a latch for it
        low = {512{1'bx}};
        high = {512{1'bx}};
        rest = {512{1'bx}};
        if (take) begin
            {rest, high} = {rd_resp_data, rd_resp_data} >> {rot, 3'b000};
            for (i = 0; i < 64; i = i + 1) begin
                low[i*8 +: 8] = i[6:0] < fill_reg ? acc_reg[i*8 +: 8] : high[i*8 +: 8];
            end
        end
    end

    wire spill = take && reach > 8'd64;
    wire finish = a_valid && a_end;
    wire out_valid = spill || (finish && fill_reg != 7'd0);
    wire frame_bad = a_bad || failed_reg;

    assign a_pop = finish || (take && rd_resp_last);

    // ---- checksum: two stages beside the data ----

    reg v1_reg = 1'b0, v2_reg = 1'b0;
    reg [511:0] d1_reg = 512'd0, d2_reg = 512'd0;
    reg [63:0] k1_reg = 64'd0, k2_reg = 64'd0;
    reg l1_reg = 1'b0, l2_reg = 1'b0;
    reg b1_reg = 1'b0, b2_reg = 1'b0;
    reg [15:0] pos1_reg = 16'd0;
    reg [15:0] start1_reg = 16'd0;
    reg first1_reg = 1'b0, first2_reg = 1'b0;
    reg csum1_reg = 1'b0, csum2_reg = 1'b0;
    reg [15:0] field1_reg = 16'd0, field2_reg = 16'd0;
    reg [13:0] len1_reg = 14'd0, len2_reg = 14'd0;
    reg odd2_reg = 1'b0;
    reg [20:0] sum2_reg = 21'd0;
    reg [31:0] acc3_reg = 32'd0;

    // A function, so that nobody adds up a beat that is not there.
    function [20:0] sum;
        input [511:0] data;
        input [63:0] keep;
        input [15:0] pos;
        input [15:0] start;
        reg [15:0] at;
        reg [15:0] word;
        integer w;
        begin
            sum = 21'd0;
            for (w = 0; w < 32; w = w + 1) begin
                at = pos + {9'd0, w[5:0], 1'b0};
                word = {at >= start && keep[w*2] ? data[w*16 +: 8] : 8'h00, at + 16'd1 >= start && keep[w*2 + 1] ? data[w*16 + 8 +: 8] : 8'h00};
                sum = sum + {5'd0, word};
            end
        end
    endfunction

    function [15:0] fold;
        input [31:0] total;
        reg [17:0] f1;
        reg [16:0] f2;
        begin
            f1 = {2'd0, total[15:0]} + {2'd0, total[31:16]};
            f2 = {1'b0, f1[15:0]} + {15'd0, f1[17:16]};
            fold = f2[15:0] + {15'd0, f2[16]};
        end
    endfunction

    wire [31:0] acc_now = (first2_reg ? 32'd0 : acc3_reg) + {11'd0, sum2_reg};
    wire [15:0] folded = fold(acc_now);
    // A sum from an odd byte on has its bytes the other way round.
    wire [15:0] csum = ~(odd2_reg ? {folded[7:0], folded[15:8]} : folded);
    reg [15:0] csum3_reg = 16'd0;
    reg csum_on3_reg = 1'b0;
    reg [15:0] field3_reg = 16'd0;
    reg [13:0] len3_reg = 14'd0;

    reg tx_err_reg = 1'b0;
    reg [LOG_DEPTH:0] returned_reg = {(LOG_DEPTH+1){1'b0}};
    assign returned = returned_reg;

    always @(posedge clk) begin
        returned_reg <= {(LOG_DEPTH+1){1'b0}};
        tx_err_reg <= 1'b0;
        if (take) begin
            in_piece_reg <= !rd_resp_last;
            lane_reg <= 6'd0;
            piece_left_reg <= piece_left - {6'd0, n};
            failed_reg <= failed_reg || (rd_resp_last && rd_resp_error);
            acc_reg <= spill ? high : low;
            fill_reg <= spill ? reach[6:0] - 7'd64 : reach[6:0];
        end
        if (spill) begin
            started_reg <= 1'b1;
            pos_reg <= pos_reg + 16'd64;
        end
        if (finish) begin
            fill_reg <= 7'd0;
            failed_reg <= 1'b0;
            started_reg <= 1'b0;
            pos_reg <= 16'd0;
            ci_reg <= a_ci;
            tx_err_reg <= frame_bad;
            if (frame_bad) begin
                // The promised beats of a frame that will not come out.
                returned_reg <= {{(LOG_DEPTH-7){1'b0}}, a_total[13:6]} + {{LOG_DEPTH{1'b0}}, a_total[5:0] != 6'd0};
            end
        end
        v1_reg <= out_valid;
        if (out_valid) begin
            d1_reg <= finish ? acc_reg : low;
            for (i1 = 0; i1 < 64; i1 = i1 + 1) begin
                k1_reg[i1] <= !finish || i1[6:0] < fill_reg;
            end
            l1_reg <= finish;
            b1_reg <= frame_bad;
            pos1_reg <= pos_reg;
            start1_reg <= a_start;
            first1_reg <= !started_reg;
            csum1_reg <= a_csum;
            field1_reg <= a_field;
            len1_reg <= a_total;
        end

        v2_reg <= v1_reg;
        if (v1_reg) begin
            d2_reg <= d1_reg;
            k2_reg <= k1_reg;
            l2_reg <= l1_reg;
            b2_reg <= b1_reg;
            sum2_reg <= sum(d1_reg, k1_reg, pos1_reg, start1_reg);
            first2_reg <= first1_reg;
            odd2_reg <= start1_reg[0];
            csum2_reg <= csum1_reg;
            field2_reg <= field1_reg;
            len2_reg <= len1_reg;
        end
        if (v2_reg) begin
            acc3_reg <= acc_now;
            // A result of 0 is sent as all ones (RFC 768).
            csum3_reg <= csum == 16'd0 ? 16'hffff : csum;
            csum_on3_reg <= csum2_reg;
            field3_reg <= field2_reg;
            len3_reg <= len2_reg;
        end
        if (!live && idle) begin
            ci_reg <= 24'd0;
        end
        if (rst) begin
            in_piece_reg <= 1'b0;
            fill_reg <= 7'd0;
            failed_reg <= 1'b0;
            started_reg <= 1'b0;
            pos_reg <= 16'd0;
            v1_reg <= 1'b0;
            v2_reg <= 1'b0;
            ci_reg <= 24'd0;
            tx_err_reg <= 1'b0;
            returned_reg <= {(LOG_DEPTH+1){1'b0}};
        end
    end

    // ---- whole frames, and what to fill in ----

    wire [511:0] f_data;
    wire f_valid;
    wire f_ready;
    wire committed;
    /* verilator lint_off UNUSED */
    wire f_sready;
    wire f_user;
    wire f_bad;
    wire f_full;
    wire info_ready;
    wire [LOG_DEPTH+1:0] info_count;
    /* verilator lint_on UNUSED */

    // The beats were promised before they were asked for: it is never full.
    frnic_axis_frame_fifo #(
        .LOG_DEPTH(LOG_DEPTH),
        .DROP_WHEN_FULL(0)
    ) fifo (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(d2_reg),
        .s_axis_tkeep(k2_reg),
        .s_axis_tvalid(v2_reg),
        .s_axis_tready(f_sready),
        .s_axis_tlast(l2_reg),
        .s_axis_tuser(1'b0),
        .s_bad(b2_reg),
        .m_axis_tdata(f_data),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(f_valid),
        .m_axis_tready(f_ready),
        .m_axis_tlast(m_axis_tlast),
        .m_axis_tuser(f_user),
        .committed(committed),
        .dropped_bad(f_bad),
        .dropped_full(f_full)
    );

    wire o_csum;
    wire [15:0] o_field;
    wire [15:0] o_value;
    wire o_valid;
    reg [15:0] o_pos_reg = 16'd0;

    frnic_fifo #(
        .WIDTH(1 + 16 + 16),
        .LOG_DEPTH(LOG_DEPTH + 1)
    ) infos (
        .clk(clk), .rst(rst),
        .wr_data({csum_on3_reg, field3_reg, csum3_reg}), .wr_valid(committed), .wr_ready(info_ready),
        .rd_data({o_csum, o_field, o_value}), .rd_valid(o_valid), .rd_ready(m_take && m_axis_tlast),
        .count(info_count)
    );

    wire [15:0] o_rel = o_field - o_pos_reg;
    wire [15:0] o_rel1 = o_rel + 16'd1;
    reg [511:0] filled;

    always @* begin
        i2 = 0; // in all branches: else Yosys keeps a latch for it
        filled = f_data;
        if (o_csum) begin
            for (i2 = 0; i2 < 64; i2 = i2 + 1) begin
                filled[i2*8 +: 8] = o_rel == i2[15:0] ? o_value[15:8] : o_rel1 == i2[15:0] ? o_value[7:0] : f_data[i2*8 +: 8];
            end
        end
    end

    assign m_axis_tdata = filled;
    assign m_axis_tvalid = f_valid && o_valid;
    assign f_ready = m_axis_tready && o_valid;

    reg tx_reg = 1'b0;
    reg [13:0] tx_bytes_reg = 14'd0;

    always @(posedge clk) begin
        if (m_take) begin
            o_pos_reg <= m_axis_tlast ? 16'd0 : o_pos_reg + 16'd64;
        end
        tx_reg <= committed;
        tx_bytes_reg <= len3_reg;
        if (rst) begin
            o_pos_reg <= 16'd0;
            tx_reg <= 1'b0;
        end
    end

    assign cnt_tx = tx_reg;
    assign cnt_tx_bytes = tx_bytes_reg;
    assign cnt_tx_err = tx_err_reg;
    assign ci = ci_reg;
    assign idle = walk_reg == W_DESC && !in_frame_reg && !a_valid && desc_idle;

endmodule

`resetall
