// SPDX-License-Identifier: BSD-2-Clause
//
// Fetches send WQEs of a granted QP from its ring: only units that a doorbell announced, nothing kept beyond the grant, nothing of an old epoch handed on
// (R3.1). Where it stands and whose it is are checked here (the model's wqe_load()), what it says is not. Documentation/microarchitecture.md, 4.6.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_wqe_fetch #(
    // log2 of the QPs
    parameter LOG_QPS = 12,
    // log2 of the ring pages that are remembered
    parameter LOG_PAGES = 6,
    // log2 of the pushes that are held
    parameter LOG_PUSHES = 2,
    // log2 of the reads in flight
    parameter LOG_FETCHES = 5,
    // log2 of the units that can be asked for: all have room here, for the read engine must not wait for who takes them
    parameter LOG_UNITS = 6
) (
    input  wire               clk,
    input  wire               rst,
    // Grant: g_avail units from g_index on may be read (1 or more); one fetch of a QP at a time
    input  wire               g_valid,
    output wire               g_ready,
    input  wire [23:0]        g_qpn,
    input  wire [23:0]        g_index,
    input  wire [23:0]        g_avail,
    input  wire [63:0]        g_base,
    input  wire [4:0]         g_log,
    input  wire               g_listed,
    input  wire [4:0]         g_shift,
    // WQEs, unit by unit; w_code (enum vendor_err) comes with a single unit that is not to be looked at, and ends the fetch
    output wire               w_valid,
    input  wire               w_ready,
    output wire [23:0]        w_qpn,
    output wire [23:0]        w_index,
    output wire               w_first,
    output wire               w_last,
    output wire [7:0]         w_code,
    output wire [511:0]       w_data,
    // End of the fetch, a pulse: the next unit to fetch; e_stale: the epoch changed, what was not handed on is dropped
    output reg                e_valid,
    output reg  [23:0]        e_qpn,
    output reg  [23:0]        e_next,
    output reg                e_stale,
    // The QP was rewound, changed its state, or is another one now: a pulse
    input  wire               bump_valid,
    input  wire [LOG_QPS-1:0] bump_index,
    // A whole push whose doorbell was accepted: a pulse
    input  wire               pu_valid,
    input  wire [23:0]        pu_qpn,
    input  wire [23:0]        pu_index,
    input  wire [2:0]         pu_units,
    input  wire [2559:0]      pu_data,
    // To frnic_dma_rd; the tag tells page lists from WQEs
    output wire               req_valid,
    input  wire               req_ready,
    output wire [63:0]        req_addr,
    output wire [12:0]        req_len,
    output wire               req_tag,
    input  wire               resp_valid,
    output wire               resp_ready,
    input  wire [511:0]       resp_data,
    input  wire               resp_last,
    input  wire               resp_error,
    input  wire               resp_tag,
    output wire               idle,
    // A pushed WQE was handed on
    output reg                ev_pushed
);

    localparam PAGES = 1 << LOG_PAGES;
    localparam [1:0] ST_IDLE = 2'd0, ST_PLACE = 2'd1, ST_LIST = 2'd2, ST_WAIT = 2'd3;
    localparam REC_W = 24 + 24 + 4 + 8 + 1 + 1 + 1 + LOG_PUSHES + 1;
    localparam PUSHES = 1 << LOG_PUSHES;

    initial begin
        if (LOG_PAGES > LOG_QPS || LOG_QPS > 24) begin
            $display("frnic_wqe_fetch: parameter out of range (%m)");
            $finish;
        end
    end

    // ---- Epochs: they count from anything ----
    reg [7:0] epoch_mem [0:(1 << LOG_QPS)-1];

    always @(posedge clk) begin
        if (bump_valid) begin
            epoch_mem[bump_index] <= epoch_mem[bump_index] + 8'd1;
        end
    end

    // ---- Issue: up to 8 units, cut where the ring or a page of it ends ----
    reg [1:0] state_reg = ST_IDLE;
    reg list_sent_reg = 1'b0;
    reg [23:0] qpn_reg = 24'd0;
    reg [23:0] index_reg = 24'd0;
    reg [23:0] at_reg = 24'd0;
    reg [3:0] n_reg = 4'd0;
    reg [3:0] left_reg = 4'd0;
    reg [63:0] base_reg = 64'd0;
    reg [4:0] log_reg = 5'd0;
    reg listed_reg = 1'b0;
    reg [4:0] shift_reg = 5'd0;
    reg [7:0] epoch_reg = 8'd0;
    reg bad_list_reg = 1'b0;
    reg gone_reg = 1'b0; // the QP began anew since the grant: its ring may be another one
    reg cut_reg = 1'b0; // fewer were announced than a fetch may take
    reg first_reg = 1'b0; // the grant's first cycle
    reg pushed_reg = 1'b0; // its WQE was pushed
    reg [LOG_PUSHES-1:0] slot_reg = {LOG_PUSHES{1'b0}};

    // ---- Pushes: held until the QP's next grant; the ring has the same WQE ----
    reg [PUSHES-1:0] push_ok_reg = {PUSHES{1'b0}};
    reg [PUSHES-1:0] push_used_reg = {PUSHES{1'b0}}; // granted, not handed on yet
    reg [LOG_PUSHES-1:0] push_next_reg = {LOG_PUSHES{1'b0}};
    reg [PUSHES*24-1:0] push_qpn_reg;
    reg [PUSHES*24-1:0] push_index_reg;
    reg [PUSHES*3-1:0] push_units_reg;
    reg [PUSHES-1:0] push_mine;
    reg [PUSHES-1:0] push_hits;
    reg [PUSHES-1:0] push_bumped;
    reg [LOG_PUSHES-1:0] push_slot; // of the hit
    reg [LOG_PUSHES-1:0] push_place; // of the new one
    reg push_room;

    wire look = first_reg && state_reg == ST_PLACE;
    wire hit = push_hits != {PUSHES{1'b0}};
    wire gone = gone_reg || (bump_valid && bump_index == qpn_reg[LOG_QPS-1:0]);
    // Not into a place that is being granted right now.
    wire pu_take = pu_valid && push_room && !(look && push_hits[push_place]);
    // The record at the head, and its end
    wire r_push;
    wire [LOG_PUSHES-1:0] r_slot;
    wire fetch_done;

    integer i;

    always @* begin
        push_slot = {LOG_PUSHES{1'b0}};
        push_place = push_next_reg;
        push_room = !push_used_reg[push_next_reg];
        for (i = 0; i < PUSHES; i = i + 1) begin
            push_mine[i] = push_ok_reg[i] && push_qpn_reg[i*24 +: 24] == qpn_reg;
            push_hits[i] = push_mine[i] && push_index_reg[i*24 +: 24] == index_reg && {1'b0, push_units_reg[i*3 +: 3]} <= n_reg;
            push_bumped[i] = bump_valid && push_qpn_reg[i*24 +: LOG_QPS] == bump_index;
            if (push_hits[i]) begin
                push_slot = i[LOG_PUSHES-1:0];
            end
            // One of a QP.
            if (push_ok_reg[i] && push_qpn_reg[i*24 +: 24] == pu_qpn) begin
                push_place = i[LOG_PUSHES-1:0];
                push_room = 1'b1;
            end
        end
    end

    always @(posedge clk) begin
        if (look) begin
            push_ok_reg <= push_ok_reg & ~push_mine & ~push_bumped;
            push_used_reg <= push_used_reg | push_hits;
        end else begin
            push_ok_reg <= push_ok_reg & ~push_bumped;
        end
        if (fetch_done && r_push) begin
            push_used_reg[r_slot] <= 1'b0;
        end
        if (pu_take) begin
            push_ok_reg[push_place] <= 1'b1;
            push_qpn_reg[push_place*24 +: 24] <= pu_qpn;
            push_index_reg[push_place*24 +: 24] <= pu_index;
            push_units_reg[push_place*3 +: 3] <= pu_units;
        end
        if (pu_valid) begin
            push_next_reg <= push_next_reg + 1'b1;
        end
        if (rst) begin
            push_ok_reg <= {PUSHES{1'b0}};
            push_used_reg <= {PUSHES{1'b0}};
        end
    end

    wire [511:0] push_unit [0:7];

    genvar u;
    generate
        for (u = 0; u < 5; u = u + 1) begin : pushed
            reg [511:0] mem [0:PUSHES-1];
            always @(posedge clk) begin
                if (pu_take) begin
                    mem[push_place] <= pu_data[u*512 +: 512];
                end
            end
            assign push_unit[u] = mem[r_slot];
        end
        for (u = 5; u < 8; u = u + 1) begin : nothing
            assign push_unit[u] = 512'd0;
        end
    endgenerate

    wire [23:0] slot = at_reg & ((24'd1 << log_reg) - 24'd1);
    // Where, in three cycles: in the ring, in its page, how many from there
    reg [1:0] step_reg = 2'd0;
    wire known = step_reg == 2'd2;
    reg [29:0] ring_off_reg = 30'd0;
    reg [24:0] ring_room_reg = 25'd0;
    reg [17:0] page_no_reg = 18'd0;
    reg [30:0] page_off_reg = 31'd0;
    /* verilator lint_off UNUSED */
    wire [29:0] page_full = ring_off_reg >> shift_reg;
    wire [31:0] page_room = (32'd1 << shift_reg) - {1'b0, page_off_reg};
    /* verilator lint_on UNUSED */
    wire ring_short = ring_room_reg < {21'd0, left_reg};
    wire [3:0] run_ring = ring_short ? ring_room_reg[3:0] : left_reg;
    wire page_short = listed_reg && page_room[31:6] < {22'd0, run_ring};
    wire [3:0] run = page_short ? page_room[9:6] : run_ring;

    // Ring pages: a list does not change while its QP lives, and a bump ends what is remembered of a QP.
    reg [PAGES-1:0] page_ok_reg = {PAGES{1'b0}};
    reg [24+18+52-1:0] page_mem [0:PAGES-1];
    wire [LOG_PAGES-1:0] page_slot = qpn_reg[LOG_PAGES-1:0];
    wire [23:0] p_qpn;
    wire [17:0] p_no;
    wire [51:0] p_addr;
    assign {p_qpn, p_no, p_addr} = page_mem[page_slot];
    wire page_hit = page_ok_reg[page_slot] && p_qpn == qpn_reg && p_no == page_no_reg;

    wire rec_ready;
    wire place_ok = !listed_reg || page_hit;
    wire list_data = resp_valid && resp_tag;
    wire [63:0] list_word = resp_data[{page_no_reg[2:0], 6'd0} +: 64];
    wire room;
    wire send = state_reg == ST_PLACE && place_ok && rec_ready && room && !bad_list_reg && known && !pushed_reg;
    // A list that cannot be read: a record without a read, behind those under way.
    wire give_up = state_reg == ST_PLACE && bad_list_reg && rec_ready;
    // What was pushed: likewise, at once.
    wire give_push = state_reg == ST_PLACE && pushed_reg && rec_ready;

    assign g_ready = state_reg == ST_IDLE && !rst;
    assign req_valid = send || (state_reg == ST_LIST && !list_sent_reg);
    assign req_tag = state_reg == ST_LIST;
    assign req_addr = state_reg == ST_LIST ? base_reg + {43'd0, page_no_reg, 3'd0} :
                      listed_reg ? {p_addr, 12'd0} + {33'd0, page_off_reg} : base_reg + {34'd0, ring_off_reg};
    assign req_len = state_reg == ST_LIST ? 13'd8 : {3'd0, run, 6'd0};

    wire sent = send && req_ready;

    always @(posedge clk) begin
        case (state_reg)
            ST_IDLE: begin
                qpn_reg <= g_qpn;
                index_reg <= g_index;
                at_reg <= g_index;
                n_reg <= g_avail > 24'd8 ? 4'd8 : g_avail[3:0];
                left_reg <= g_avail > 24'd8 ? 4'd8 : g_avail[3:0];
                cut_reg <= g_avail <= 24'd8;
                base_reg <= g_base;
                log_reg <= g_log;
                listed_reg <= g_listed;
                shift_reg <= g_shift;
                // A bump in the cycle of the grant comes after it.
                epoch_reg <= epoch_mem[g_qpn[LOG_QPS-1:0]];
                bad_list_reg <= 1'b0;
                gone_reg <= bump_valid && bump_index == g_qpn[LOG_QPS-1:0];
                list_sent_reg <= 1'b0;
                first_reg <= 1'b1;
                step_reg <= 2'd0;
                pushed_reg <= 1'b0;
                if (g_valid) begin
                    state_reg <= ST_PLACE;
                end
            end
            ST_PLACE: begin
                list_sent_reg <= 1'b0;
                first_reg <= 1'b0;
                bad_list_reg <= bad_list_reg || gone;
                if (!known) begin
                    step_reg <= step_reg + 2'd1;
                end
                ring_off_reg <= {slot, 6'd0};
                ring_room_reg <= (25'd1 << log_reg) - {1'b0, slot};
                page_no_reg <= page_full[17:0];
                page_off_reg <= {1'b0, ring_off_reg} & ~(~31'd0 << shift_reg);
                if (first_reg) begin
                    pushed_reg <= hit;
                    slot_reg <= push_slot;
                    if (hit) begin
                        n_reg <= {1'b0, push_units_reg[push_slot*3 +: 3]};
                    end
                end else if (give_up || give_push) begin
                    state_reg <= ST_IDLE;
                end else if (!pushed_reg && !bad_list_reg && !gone && known && !place_ok) begin
                    state_reg <= ST_LIST;
                end else if (sent) begin
                    at_reg <= at_reg + {20'd0, run};
                    left_reg <= left_reg - run;
                    step_reg <= 2'd0;
                    if (left_reg == run) begin
                        state_reg <= ST_IDLE;
                    end
                end
            end
            ST_LIST: begin
                if (req_ready) begin
                    state_reg <= ST_WAIT;
                end
            end
            default: begin // ST_WAIT
                if (list_data) begin
                    state_reg <= ST_PLACE;
                    if (gone || resp_error || list_word[63:12] == 52'd0 || list_word[11:0] != 12'd0) begin
                        bad_list_reg <= 1'b1;
                    end else begin
                        page_mem[page_slot] <= {qpn_reg, page_no_reg, list_word[63:12]};
                        page_ok_reg[page_slot] <= 1'b1;
                    end
                end
            end
        endcase
        if (state_reg != ST_IDLE && gone) begin
            gone_reg <= 1'b1;
        end
        if (bump_valid) begin
            page_ok_reg[bump_index[LOG_PAGES-1:0]] <= 1'b0;
        end
        if (rst) begin
            state_reg <= ST_IDLE;
            page_ok_reg <= {PAGES{1'b0}};
        end
    end

    // ---- Reads in flight ----
    wire rec_valid;
    wire rec_take;
    wire [23:0] r_qpn;
    wire [23:0] r_index;
    wire [3:0] r_n;
    wire [7:0] r_epoch;
    wire r_end; // last read of the fetch
    wire r_bad;
    wire r_cut;
    /* verilator lint_off UNUSED */
    wire [LOG_FETCHES:0] rec_count;
    /* verilator lint_on UNUSED */

    frnic_fifo #(
        .WIDTH(REC_W),
        .LOG_DEPTH(LOG_FETCHES)
    ) records (
        .clk(clk),
        .rst(rst),
        .wr_data({qpn_reg, index_reg, n_reg, epoch_reg, left_reg == run || give_up || give_push, give_up, give_push, slot_reg, cut_reg}),
        .wr_valid(sent || give_up || give_push),
        .wr_ready(rec_ready),
        .rd_data({r_qpn, r_index, r_n, r_epoch, r_end, r_bad, r_push, r_slot, r_cut}),
        .rd_valid(rec_valid),
        .rd_ready(rec_take),
        .count(rec_count)
    );

    // ---- Arrival: all units first, because an error is known with the last ----
    reg parse_reg = 1'b0;
    reg err_reg = 1'b0;
    reg [2:0] got_reg = 3'd0;
    reg [511:0] unit_mem [0:7];
    reg [3:0] pos_reg = 4'd0;
    reg [2:0] in_wqe_reg = 3'd0; // units of the WQE that are still to go out

    wire q_valid;
    wire q_last;
    wire q_error;
    wire [511:0] q_data;
    wire data_take = q_valid && rec_valid && !parse_reg && !r_bad && !r_push;
    wire read_done = rec_valid && !parse_reg && (r_bad || r_push || (data_take && q_last));
    reg [LOG_UNITS:0] asked_reg = {(LOG_UNITS+1){1'b0}};
    /* verilator lint_off UNUSED */
    wire q_ready;
    wire [LOG_UNITS:0] q_count;
    /* verilator lint_on UNUSED */

    assign resp_ready = 1'b1;
    assign room = asked_reg <= (1 << LOG_UNITS) - 8;

    always @(posedge clk) begin
        asked_reg <= asked_reg + (sent ? {{(LOG_UNITS-3){1'b0}}, run} : {(LOG_UNITS+1){1'b0}}) - {{LOG_UNITS{1'b0}}, data_take};
        if (rst) begin
            asked_reg <= {(LOG_UNITS+1){1'b0}};
        end
    end

    frnic_fifo #(
        .WIDTH(514),
        .LOG_DEPTH(LOG_UNITS)
    ) arrived (
        .clk(clk),
        .rst(rst),
        .wr_data({resp_last, resp_error, resp_data}),
        .wr_valid(resp_valid && !resp_tag),
        .wr_ready(q_ready),
        .rd_data({q_last, q_error, q_data}),
        .rd_valid(q_valid),
        .rd_ready(data_take),
        .count(q_count)
    );

    wire [511:0] unit = r_push ? push_unit[pos_reg[2:0]] : unit_mem[pos_reg[2:0]];
    wire [23:0] here = r_index + {20'd0, pos_reg};
    wire [2:0] u_units = unit[`FRNIC_WQE_CTRL_W1_UNITS_LSB +: 3];
    wire [4:0] u_end = {1'b0, pos_reg} + {2'd0, u_units};
    wire u_mine = unit[`FRNIC_WQE_CTRL_W0_QPN_LSB +: 24] == r_qpn && unit[`FRNIC_WQE_CTRL_W1_INDEX_LSB +: 24] == here;
    wire u_over = u_end > {1'b0, r_n};
    wire stale = epoch_mem[r_qpn[LOG_QPS-1:0]] != r_epoch || (bump_valid && bump_index == r_qpn[LOG_QPS-1:0]);
    wire start = in_wqe_reg == 3'd0;
    wire u_format = u_units < 3'd1 || u_units > 3'd5 || (u_over && r_cut);
    // The WQE goes on behind what was fetched: fetched again from its start.
    wire cut = start && !err_reg && u_mine && !u_format && u_over;
    wire [7:0] code = err_reg ? `FRNIC_VENDOR_ERR_DMA_READ : !u_mine ? `FRNIC_VENDOR_ERR_BAD_WQE_INDEX :
                      u_format ? `FRNIC_VENDOR_ERR_BAD_WQE_FORMAT : 8'd0;
    reg hold_reg = 1'b0; // a unit was offered: it stays, stale or not
    wire drop = parse_reg && start && stale && !hold_reg;

    assign w_valid = parse_reg && !drop && !cut;
    assign w_qpn = r_qpn;
    assign w_index = here;
    assign w_first = start;
    assign w_code = start ? code : 8'd0;
    assign w_last = start ? code != 8'd0 || u_units == 3'd1 : in_wqe_reg == 3'd1;
    assign w_data = unit;

    wire w_take = w_valid && w_ready;
    assign fetch_done = drop || (parse_reg && cut) || (w_take && w_last && (w_code != 8'd0 || pos_reg + 4'd1 == r_n));

    assign rec_take = parse_reg ? fetch_done : read_done && !r_end;
    assign idle = state_reg == ST_IDLE && !g_valid && !rec_valid && !parse_reg && !e_valid;

    always @(posedge clk) begin
        e_valid <= fetch_done;
        ev_pushed <= fetch_done && r_push && !drop && w_code == 8'd0;
        hold_reg <= w_valid && !w_ready;
        if (fetch_done) begin
            e_qpn <= r_qpn;
            e_stale <= drop;
            e_next <= drop || cut || w_code != 8'd0 ? here : here + 24'd1;
            parse_reg <= 1'b0;
            err_reg <= 1'b0;
            got_reg <= 3'd0;
            pos_reg <= 4'd0;
            in_wqe_reg <= 3'd0;
        end else if (w_take) begin
            pos_reg <= pos_reg + 4'd1;
            in_wqe_reg <= start ? u_units - 3'd1 : in_wqe_reg - 3'd1;
        end
        if (data_take) begin
            unit_mem[got_reg] <= q_data;
            got_reg <= got_reg + 3'd1;
        end
        if (read_done) begin
            err_reg <= err_reg || r_bad || (!r_push && q_error);
            parse_reg <= r_end;
        end
        if (rst) begin
            e_valid <= 1'b0;
            ev_pushed <= 1'b0;
            hold_reg <= 1'b0;
            parse_reg <= 1'b0;
            err_reg <= 1'b0;
            got_reg <= 3'd0;
            pos_reg <= 4'd0;
            in_wqe_reg <= 3'd0;
        end
    end

endmodule

`resetall
