// SPDX-License-Identifier: BSD-2-Clause
//
// Keys and translation: may [va, va + len) be accessed under this key, and where is it? The verdicts and their order are those of the functional model's
// mr_check(). A cache of page-list lines is invalidated region by region in one cycle. Documentation/microarchitecture.md, 4.3.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_xlate #(
    // log2 of the MR contexts
    parameter LOG_MRS = 16,
    // log2 of the cache's lines, 8 page addresses each
    parameter LOG_LINES = 11
) (
    input  wire               clk,
    input  wire               rst,
    // Level: the cache is emptied
    input  wire               sweep,
    output wire               sweep_done,
    // Request, one at a time. access: enum access, 0 for a local read. check: the range may be long and is not translated; else len <= 4096
    input  wire               rq_valid,
    output wire               rq_ready,
    input  wire [31:0]        rq_key,
    input  wire [23:0]        rq_pd,
    input  wire [23:0]        rq_qpn,
    input  wire               rq_kernel,
    input  wire [7:0]         rq_access,
    input  wire [63:0]        rq_va,
    input  wire [31:0]        rq_len,
    input  wire               rq_check,
    // Verdict, a pulse: enum vendor_err, 0 if permitted
    output reg                v_valid,
    output reg  [7:0]         v_code,
    // Pieces after a good verdict, unless check or len 0; p_error ends the list: the page list could not be read, or the region was changed meanwhile
    output wire               p_valid,
    input  wire               p_ready,
    output wire [63:0]        p_addr,
    output wire [12:0]        p_len,
    output wire               p_last,
    output wire               p_error,
    // Reader of the MR table (frnic_control)
    output wire               mr_rd_valid,
    input  wire               mr_rd_ready,
    output wire [LOG_MRS-1:0] mr_rd_index,
    input  wire               mr_rd_done,
    input  wire               mr_rd_live,
    input  wire               mr_rd_err,
    /* verilator lint_off UNUSED */
    input  wire [383:0]       mr_rd_data,
    /* verilator lint_on UNUSED */
    // This region was created, changed or ended: a pulse in the cycle of the context's write, not in two cycles running
    input  wire               inv_valid,
    input  wire [LOG_MRS-1:0] inv_index,
    // To frnic_dma_rd
    output wire               req_valid,
    input  wire               req_ready,
    output wire [63:0]        req_addr,
    output wire [12:0]        req_len,
    input  wire               resp_valid,
    output wire               resp_ready,
    input  wire [511:0]       resp_data,
    input  wire               resp_last,
    input  wire               resp_error,
    output wire               idle,
    // A line was found, a line was read
    output wire               ev_hit,
    output wire               ev_miss
);

    // A line: 8 page addresses without their low 12 bits. Its tag: region, generation, line of the page list.
    localparam PAGE_W = 49;
    localparam TAG_W = 1 + 8 + LOG_MRS + PAGE_W;
    localparam DATA_W = 8 * 52;
    localparam [7:0] REMOTE = (8'd1 << `FRNIC_ACCESS_REMOTE_WRITE_BIT) | (8'd1 << `FRNIC_ACCESS_REMOTE_READ_BIT) | (8'd1 << `FRNIC_ACCESS_REMOTE_ATOMIC_BIT);

    localparam [3:0] ST_SWEEP = 4'd0, ST_IDLE = 4'd1, ST_READ = 4'd2, ST_WAIT = 4'd3, ST_CHECK = 4'd4, ST_PARENT = 4'd5, ST_PLACE = 4'd6, ST_LOOK = 4'd7,
                     ST_LOOK2 = 4'd8, ST_HIT = 4'd9, ST_REQ = 4'd10, ST_RESP = 4'd11, ST_FILL = 4'd12, ST_PIECE = 4'd13, ST_SPLIT = 4'd14, ST_RANGE = 4'd15;

    reg [3:0] state_reg = ST_SWEEP;
    reg [LOG_LINES:0] sweep_reg = {(LOG_LINES+1){1'b0}};
    reg swept_reg = 1'b0;

    // ---- The request and the contexts ----
    reg [31:0] key_reg = 32'd0;
    reg [23:0] pd_reg = 24'd0;
    reg [23:0] qpn_reg = 24'd0;
    reg kernel_reg = 1'b0;
    reg [7:0] access_reg = 8'd0;
    reg [63:0] va_reg = 64'd0;
    reg [31:0] len_reg = 32'd0;
    reg check_reg = 1'b0;
    reg asked_reg = 1'b0;
    reg parent_reg = 1'b0; // the context at hand is the window's region
    reg [LOG_MRS-1:0] window_reg = {LOG_MRS{1'b0}};
    /* verilator lint_off UNUSED */
    reg [383:0] mr_reg = 384'd0;
    /* verilator lint_on UNUSED */
    reg live_reg = 1'b0;
    reg err_reg = 1'b0;
    reg moved_reg = 1'b0; // the region was changed since its context was read
    reg fail_reg = 1'b0;

    wire [31:0] m_key = mr_reg[31:0];
    wire [23:0] m_pd = mr_reg[55:32];
    wire [7:0] m_type = mr_reg[63:56];
    wire [7:0] m_access = mr_reg[71:64];
    wire [1:0] m_levels = mr_reg[73:72];
    wire [4:0] m_shift = mr_reg[84:80];
    wire [7:0] m_state = mr_reg[95:88];
    wire [63:0] m_iova = mr_reg[191:128];
    wire [63:0] m_length = mr_reg[255:192];
    wire [63:0] m_base = mr_reg[319:256];
    wire [23:0] m_qpn = mr_reg[343:320];
    wire [31:0] m_parent = mr_reg[383:352];

    wire found = live_reg && m_key == key_reg && m_state == `FRNIC_MR_STATE_VALID;
    wire remote = (access_reg & REMOTE) != 8'd0;
    wire window = m_type == `FRNIC_MR_TYPE_MW1 || m_type == `FRNIC_MR_TYPE_MW2;
    wire region = m_type == `FRNIC_MR_TYPE_MR || m_type == `FRNIC_MR_TYPE_FRMR;
    wire phys = m_type == `FRNIC_MR_TYPE_PHYS;
    // No sum wraps (protocol rule 13): differences only.
    wire [63:0] start = window && m_access[`FRNIC_ACCESS_ZERO_BASED_BIT] ? 64'd0 : m_iova;
    wire [63:0] from_start = va_reg - start;
    wire [64:0] end_phys = {1'b0, va_reg} + {33'd0, len_reg};
    // From here on of the cycle before
    reg [63:0] from_reg = 64'd0;
    reg after_reg = 1'b0;
    reg phys_ok_reg = 1'b0;
    wire [63:0] room = m_length - from_reg;
    wire range_ok = after_reg && from_reg <= m_length && {32'd0, len_reg} <= room;

    reg [7:0] code;
    always @* begin
        if (err_reg) code = `FRNIC_VENDOR_ERR_PARITY;
        else if (!found) code = `FRNIC_VENDOR_ERR_LKEY_INVALID;
        else if (m_pd != pd_reg) code = `FRNIC_VENDOR_ERR_LKEY_PD;
        else if ((access_reg & ~m_access) != 8'd0) code = `FRNIC_VENDOR_ERR_LKEY_ACCESS;
        else if (phys) code = !kernel_reg ? `FRNIC_VENDOR_ERR_LKEY_ACCESS : !phys_ok_reg ? `FRNIC_VENDOR_ERR_LKEY_RANGE : 8'd0;
        else if (window && !remote) code = `FRNIC_VENDOR_ERR_LKEY_ACCESS; // a window has an R_Key only
        else if (m_type == `FRNIC_MR_TYPE_MW2 && m_qpn != qpn_reg) code = `FRNIC_VENDOR_ERR_LKEY_INVALID;
        else if (!window && !region) code = `FRNIC_VENDOR_ERR_LKEY_INVALID; // no device memory here
        else code = range_ok || window ? 8'd0 : `FRNIC_VENDOR_ERR_LKEY_RANGE;
    end

    // ---- Generations: a region's lines are those of its generation. They count from anything, for the cache starts empty ----
    reg [7:0] gen_mem [0:(1 << LOG_MRS)-1];
    reg [7:0] gen_reg = 8'd0;
    reg [7:0] inv_gen_reg = 8'd0;
    reg inv_reg = 1'b0;
    reg [LOG_MRS-1:0] inv_index_reg = {LOG_MRS{1'b0}};
    wire [LOG_MRS-1:0] index = key_reg[8 +: LOG_MRS];
    wire [7:0] inv_next = inv_gen_reg + 8'd1;
    // Once in 256 changes of a region its oldest lines would look new: then the cache is emptied.
    reg flush_reg = 1'b0;

    // ---- Cache ----
    // A sum, a shift, a difference: a cycle each. The next piece begins its page.
    wire [63:0] below_page = ~(64'hffffffffffffffff << m_shift);
    reg [63:0] offset_reg = 64'd0;
    reg [63:0] page_reg = 64'd0;
    reg [63:0] in_page_reg = 64'd0;
    reg [63:0] page_left_reg = 64'd0;
    wire [PAGE_W-1:0] line = page_reg[51:3];
    wire [LOG_LINES-1:0] slot = line[LOG_LINES-1:0] ^ spread(index);
    wire [TAG_W-1:0] tag = {1'b1, gen_reg, index, line};
    wire [TAG_W-1:0] tag_out;
    wire [DATA_W-1:0] data_out;
    reg [DATA_W-1:0] line_reg = {DATA_W{1'b0}};
    wire [DATA_W-1:0] pages_in;
    wire [7:0] bad_low; // not aligned to 4 KB
    reg [7:0] bad_reg = 8'd0;
    wire sweeping = state_reg == ST_SWEEP;
    wire fill = state_reg == ST_FILL && !moved_reg && bad_reg == 8'd0;

    function [LOG_LINES-1:0] spread(input [LOG_MRS-1:0] i);
        /* verilator lint_off UNUSED */
        reg [31:0] m;
        /* verilator lint_on UNUSED */
        begin
            m = {{(32-LOG_MRS){1'b0}}, i} * 32'h9e3779b1;
            spread = m[31 -: LOG_LINES];
        end
    endfunction

    frnic_ram_sdp #(
        .WIDTH(TAG_W + DATA_W),
        .LOG_DEPTH(LOG_LINES),
        .READ_LATENCY(2)
    ) cache (
        .clk(clk),
        .wr_en(fill || (sweeping && !sweep_reg[LOG_LINES])),
        .wr_addr(sweeping ? sweep_reg[LOG_LINES-1:0] : slot),
        .wr_data(sweeping ? {(TAG_W+DATA_W){1'b0}} : {tag, line_reg}),
        .rd_en(state_reg == ST_LOOK),
        .rd_addr(slot),
        .rd_data({tag_out, data_out})
    );

    genvar g;
    generate
        for (g = 0; g < 8; g = g + 1) begin : entry
            assign pages_in[g*52 +: 52] = resp_data[g*64+12 +: 52];
            assign bad_low[g] = resp_data[g*64 +: 12] != 12'd0;
        end
    endgenerate

    // ---- Page list ----
    reg leaf_reg = 1'b0; // level 2: the leaf's address is read
    reg [63:0] list_reg = 64'd0;
    wire [63:0] leaf_word = resp_data[{req_addr[5:3], 6'd0} +: 64];

    assign req_valid = state_reg == ST_REQ;
    assign req_addr = leaf_reg ? m_base + {6'd0, page_reg[63:9], 3'd0} : list_reg;
    assign req_len = leaf_reg ? 13'd8 : 13'd64;
    assign resp_ready = state_reg == ST_RESP;

    // ---- Pieces ----
    reg [63:0] addr_reg = 64'd0;
    reg [12:0] piece_reg = 13'd0;
    reg whole_reg = 1'b0;
    wire [51:0] page_addr = line_reg[page_reg[2:0]*52 +: 52];
    wire piece_all = {32'd0, len_reg} <= page_left_reg;

    assign p_valid = state_reg == ST_PIECE;
    assign p_addr = addr_reg;
    assign p_len = piece_reg;
    assign p_last = whole_reg || p_error;
    assign p_error = fail_reg || moved_reg;

    assign mr_rd_valid = state_reg == ST_READ && !asked_reg;
    assign mr_rd_index = index;
    assign rq_ready = state_reg == ST_IDLE && !sweep && !flush_reg && !inv_valid && !inv_reg;
    assign sweep_done = sweep && swept_reg && state_reg == ST_IDLE;
    assign idle = state_reg == ST_IDLE && !rq_valid && !flush_reg;
    assign ev_hit = state_reg == ST_HIT && tag_out == tag;
    assign ev_miss = state_reg == ST_HIT && tag_out != tag;

    always @(posedge clk) begin
        v_valid <= 1'b0;
        inv_reg <= inv_valid;
        inv_index_reg <= inv_index;
        inv_gen_reg <= gen_mem[inv_index];
        if (inv_reg) begin
            gen_mem[inv_index_reg] <= inv_next;
            if (inv_next == 8'd0) begin
                flush_reg <= 1'b1;
            end
        end
        // From the cycle in which the context is read: old context or old generation, both end in nothing.
        if (inv_valid && (inv_index == index || (parent_reg && inv_index == window_reg)) && state_reg != ST_IDLE) begin
            moved_reg <= 1'b1;
        end

        case (state_reg)
            ST_SWEEP: begin
                sweep_reg <= sweep_reg + 1'b1;
                if (sweep_reg[LOG_LINES]) begin
                    state_reg <= ST_IDLE;
                    swept_reg <= sweep;
                    flush_reg <= 1'b0;
                end
            end
            ST_IDLE: begin
                sweep_reg <= {(LOG_LINES+1){1'b0}};
                asked_reg <= 1'b0;
                parent_reg <= 1'b0;
                moved_reg <= 1'b0;
                fail_reg <= 1'b0;
                leaf_reg <= 1'b0;
                if (!sweep) begin
                    swept_reg <= 1'b0;
                end
                if ((sweep && !swept_reg) || flush_reg) begin
                    state_reg <= ST_SWEEP;
                end else if (rq_valid && rq_ready) begin
                    state_reg <= ST_READ;
                    key_reg <= rq_key;
                    pd_reg <= rq_pd;
                    qpn_reg <= rq_qpn;
                    kernel_reg <= rq_kernel;
                    access_reg <= rq_access;
                    va_reg <= rq_va;
                    len_reg <= rq_len;
                    check_reg <= rq_check;
                end
            end
            ST_READ: begin
                gen_reg <= gen_mem[index];
                if (mr_rd_ready) begin
                    asked_reg <= 1'b1;
                    state_reg <= ST_WAIT;
                end
            end
            ST_WAIT: begin
                // An invalidation of the cycle before is in the memory by now.
                gen_reg <= gen_mem[index];
                if (mr_rd_done) begin
                    mr_reg <= mr_rd_data;
                    live_reg <= mr_rd_live;
                    err_reg <= mr_rd_err;
                    state_reg <= parent_reg ? ST_PARENT : ST_RANGE;
                end
            end
            ST_RANGE: begin
                from_reg <= from_start;
                after_reg <= va_reg >= start;
                phys_ok_reg <= !end_phys[64] || end_phys[63:0] == 64'd0;
                state_reg <= ST_CHECK;
            end
            ST_CHECK: begin
                v_code <= code;
                if (code == 8'd0 && window) begin
                    // The window's range now, its region next; addresses from here on are the region's.
                    key_reg <= m_parent;
                    window_reg <= index;
                    va_reg <= m_iova + from_reg;
                    parent_reg <= 1'b1;
                    fail_reg <= !range_ok;
                    asked_reg <= 1'b0;
                    state_reg <= ST_READ;
                end else begin
                    v_valid <= 1'b1;
                    state_reg <= code == 8'd0 && !check_reg && len_reg != 32'd0 ? ST_PLACE : ST_IDLE;
                end
            end
            ST_PARENT: begin
                v_valid <= 1'b1;
                v_code <= err_reg ? `FRNIC_VENDOR_ERR_PARITY : !found ? `FRNIC_VENDOR_ERR_LKEY_INVALID : fail_reg ? `FRNIC_VENDOR_ERR_LKEY_RANGE : 8'd0;
                state_reg <= !err_reg && found && !fail_reg && !check_reg && len_reg != 32'd0 ? ST_PLACE : ST_IDLE;
            end
            ST_PLACE: begin
                leaf_reg <= 1'b0;
                offset_reg <= (va_reg - m_iova) + (m_iova & below_page);
                if (phys || m_levels == 2'd0) begin
                    addr_reg <= phys ? va_reg : m_base + (va_reg - m_iova);
                    piece_reg <= len_reg[12:0];
                    whole_reg <= 1'b1;
                    state_reg <= ST_PIECE;
                end else begin
                    state_reg <= ST_SPLIT;
                end
            end
            ST_SPLIT: begin
                page_reg <= offset_reg >> m_shift;
                in_page_reg <= offset_reg & below_page;
                state_reg <= ST_LOOK;
            end
            ST_LOOK: begin
                page_left_reg <= (64'd1 << m_shift) - in_page_reg;
                state_reg <= ST_LOOK2;
            end
            ST_LOOK2: begin
                state_reg <= ST_HIT;
            end
            ST_HIT: begin
                line_reg <= data_out;
                bad_reg <= 8'd0;
                leaf_reg <= m_levels == 2'd2;
                list_reg <= m_base + {9'd0, line, 6'd0};
                state_reg <= tag_out == tag ? ST_FILL : ST_REQ;
            end
            ST_REQ: begin
                if (req_ready) begin
                    state_reg <= ST_RESP;
                end
            end
            ST_RESP: begin
                if (resp_valid && resp_last) begin
                    if (resp_error || (leaf_reg && (leaf_word[63:12] == 52'd0 || leaf_word[11:0] != 12'd0))) begin
                        fail_reg <= 1'b1;
                        state_reg <= ST_PIECE;
                    end else if (leaf_reg) begin
                        leaf_reg <= 1'b0;
                        list_reg <= leaf_word + {52'd0, page_reg[8:3], 6'd0};
                        state_reg <= ST_REQ;
                    end else begin
                        line_reg <= pages_in;
                        bad_reg <= bad_low;
                        state_reg <= ST_FILL;
                    end
                end
            end
            ST_FILL: begin // a hit writes back what it read
                addr_reg <= {page_addr, 12'd0} + in_page_reg;
                fail_reg <= page_addr == 52'd0 || bad_reg[page_reg[2:0]];
                whole_reg <= piece_all;
                piece_reg <= piece_all ? len_reg[12:0] : page_left_reg[12:0];
                state_reg <= ST_PIECE;
            end
            default: begin // ST_PIECE
                if (p_ready) begin
                    va_reg <= va_reg + {51'd0, piece_reg};
                    len_reg <= len_reg - {19'd0, piece_reg};
                    page_reg <= page_reg + 64'd1;
                    in_page_reg <= 64'd0;
                    state_reg <= p_last ? ST_IDLE : ST_LOOK;
                end
            end
        endcase

        if (rst) begin
            state_reg <= ST_SWEEP;
            sweep_reg <= {(LOG_LINES+1){1'b0}};
            swept_reg <= 1'b0;
            flush_reg <= 1'b0;
            inv_reg <= 1'b0;
            v_valid <= 1'b0;
            moved_reg <= 1'b0;
        end
    end

endmodule

`resetall
