// SPDX-License-Identifier: BSD-2-Clause
//
// BAR2: doorbells and pushed WQEs in their order, checked as far as no context is needed, logged and counted (R3.2). Nothing is executed here; the
// owner of each object compares its UAR and its indices. Documentation/microarchitecture.md, 4.4.

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_db #(
    // log2 of the UARs
    parameter LOG_UARS = 10,
    // Bits of the AXI ID
    parameter ID_W = 4,
    // log2 of the writes that wait
    parameter LOG_DEPTH = 6,
    // Cycles that a push burst may wait for its next beat
    parameter PUSH_WAIT = 64,
    // Units behind that count refusals
    parameter UNITS = 4,
    // Bits of the address: one more than the UARs need, so that what lies behind them is seen
    parameter ADDR_W = LOG_UARS + 14
) (
    input  wire              clk,
    input  wire              rst,
    // AXI4 slave; reads answer 0
    input  wire [ID_W-1:0]   s_axi_db_awid,
    /* verilator lint_off UNUSED */
    input  wire [ADDR_W-1:0] s_axi_db_awaddr,
    input  wire [7:0]        s_axi_db_awlen,
    /* verilator lint_on UNUSED */
    input  wire              s_axi_db_awvalid,
    output wire              s_axi_db_awready,
    input  wire [511:0]      s_axi_db_wdata,
    input  wire [63:0]       s_axi_db_wstrb,
    input  wire              s_axi_db_wlast,
    input  wire              s_axi_db_wvalid,
    output wire              s_axi_db_wready,
    output wire [ID_W-1:0]   s_axi_db_bid,
    output wire [1:0]        s_axi_db_bresp,
    output wire              s_axi_db_bvalid,
    input  wire              s_axi_db_bready,
    input  wire [ID_W-1:0]   s_axi_db_arid,
    input  wire [7:0]        s_axi_db_arlen,
    input  wire              s_axi_db_arvalid,
    output wire              s_axi_db_arready,
    output wire [ID_W-1:0]   s_axi_db_rid,
    output wire [511:0]      s_axi_db_rdata,
    output wire [1:0]        s_axi_db_rresp,
    output wire              s_axi_db_rlast,
    output wire              s_axi_db_rvalid,
    input  wire              s_axi_db_rready,
    // Resetting or fatal: every doorbell is bad
    input  wire              refuse,
    // Doorbells out, one valid at a time, the payload is shared
    output wire              sq_valid,
    input  wire              sq_ready,
    output wire              rq_valid,
    input  wire              rq_ready,
    output wire              cq_valid,
    input  wire              cq_ready,
    output wire              eq_valid,
    input  wire              eq_ready,
    output wire              eth_valid,
    input  wire              eth_ready,
    output wire [7:0]        db_type,
    output wire [23:0]       db_number,
    output wire [23:0]       db_index,
    output wire [7:0]        db_flags,
    output wire [15:0]       db_uar,
    // With sq_valid: the whole WQE came, db_index is its own index + units
    output wire              sq_push,
    output wire [2:0]        sq_units,
    output wire [2559:0]     sq_data,
    // Refusals and taken pushes of the units behind, a pulse each
    input  wire [UNITS-1:0]  unit_bad,
    input  wire [UNITS-1:0]  unit_denied,
    input  wire              unit_pushed,
    // Counter DB_DROPPED: refusals of this cycle
    output wire [3:0]        ev_dropped,
    // Side port for frnic_csr: the DBS and DBL groups
    input  wire              rq_req,
    /* verilator lint_off UNUSED */
    input  wire [15:0]       rq_addr,
    /* verilator lint_on UNUSED */
    output reg               rs_valid,
    output reg  [31:0]       rs_data,
    output wire              idle
);

    localparam LINE_W = ADDR_W - 6;
    localparam RAW_W = LINE_W + 6 + 8 + 1 + 1 + 512;
    localparam [7:0] WAIT = PUSH_WAIT;

    initial begin
        if (PUSH_WAIT < 1 || PUSH_WAIT > 255 || LOG_UARS < 1 || LOG_UARS > 16 || UNITS > 7) begin
            $display("frnic_db: parameter out of range (%m)");
            $finish;
        end
    end

    // ---- Intake: one beat is one write ----
    reg aw_valid_reg = 1'b0;
    reg [ID_W-1:0] aw_id_reg = {ID_W{1'b0}};
    reg [LINE_W-1:0] aw_line_reg = {LINE_W{1'b0}};

    wire raw_ready;
    wire b_room;
    wire beat = aw_valid_reg && s_axi_db_wvalid && raw_ready && b_room && !rst;
    wire end_beat = beat && s_axi_db_wlast;

    assign s_axi_db_wready = aw_valid_reg && raw_ready && b_room && !rst;
    assign s_axi_db_awready = (!aw_valid_reg || end_beat) && !rst;

    always @(posedge clk) begin
        if (s_axi_db_awready) begin
            aw_valid_reg <= s_axi_db_awvalid;
            aw_id_reg <= s_axi_db_awid;
            aw_line_reg <= s_axi_db_awaddr[ADDR_W-1:6];
        end else if (beat) begin
            aw_line_reg <= aw_line_reg + 1'b1;
        end
        if (rst) begin
            aw_valid_reg <= 1'b0;
        end
    end

    // First byte written, the 8-byte group that it is in, and whether that group is all that is written.
    reg [5:0] first;
    wire [7:0] group = s_axi_db_wstrb[{first[5:3], 3'b000} +: 8];
    wire only = (s_axi_db_wstrb & ~(64'hff << {first[5:3], 3'b000})) == 64'd0;
    wire none = s_axi_db_wstrb == 64'd0;
    wire full = s_axi_db_wstrb == {64{1'b1}};

    integer i;

    always @* begin
        first = 6'd0;
        for (i = 63; i >= 0; i = i - 1) begin
            if (s_axi_db_wstrb[i]) begin
                first = i[5:0];
            end
        end
    end

    wire raw_valid;
    wire raw_take;
    wire [LINE_W-1:0] r_line;
    wire [5:0] r_first;
    wire [7:0] r_group;
    wire r_only;
    wire r_full;
    wire [511:0] r_data;
    /* verilator lint_off UNUSED */
    wire [LOG_DEPTH:0] raw_count;
    wire [4:0] b_count;
    /* verilator lint_on UNUSED */

    frnic_fifo #(
        .WIDTH(RAW_W),
        .LOG_DEPTH(LOG_DEPTH)
    ) raw (
        .clk(clk),
        .rst(rst),
        .wr_data({aw_line_reg, first, group, only, full, s_axi_db_wdata}),
        .wr_valid(beat && !none),
        .wr_ready(raw_ready),
        .rd_data({r_line, r_first, r_group, r_only, r_full, r_data}),
        .rd_valid(raw_valid),
        .rd_ready(raw_take),
        .count(raw_count)
    );

    // Posted: answered when the write is in the queue, which loses nothing.
    frnic_fifo #(
        .WIDTH(ID_W),
        .LOG_DEPTH(4)
    ) resp (
        .clk(clk),
        .rst(rst),
        .wr_data(aw_id_reg),
        .wr_valid(end_beat),
        .wr_ready(b_room),
        .rd_data(s_axi_db_bid),
        .rd_valid(s_axi_db_bvalid),
        .rd_ready(s_axi_db_bready),
        .count(b_count)
    );

    assign s_axi_db_bresp = 2'd0;

    // ---- Reads answer 0 ----
    reg rd_busy_reg = 1'b0;
    reg [ID_W-1:0] rd_id_reg = {ID_W{1'b0}};
    reg [7:0] rd_left_reg = 8'd0;

    assign s_axi_db_arready = !rd_busy_reg && !rst;
    assign s_axi_db_rvalid = rd_busy_reg;
    assign s_axi_db_rid = rd_id_reg;
    assign s_axi_db_rdata = 512'd0;
    assign s_axi_db_rresp = 2'd0;
    assign s_axi_db_rlast = rd_left_reg == 8'd0;

    always @(posedge clk) begin
        if (!rd_busy_reg) begin
            rd_busy_reg <= s_axi_db_arvalid;
            rd_id_reg <= s_axi_db_arid;
            rd_left_reg <= s_axi_db_arlen;
        end else if (s_axi_db_rready) begin
            rd_busy_reg <= rd_left_reg != 8'd0;
            rd_left_reg <= rd_left_reg - 1'b1;
        end
        if (rst) begin
            rd_busy_reg <= 1'b0;
        end
    end

    // ---- What the oldest write is ----
    wire [ADDR_W-1:0] r_off = {r_line, r_first};
    wire [63:0] r_word = r_data[{r_first[5:3], 6'd0} +: 64];
    reg [63:0] value;
    wire [ADDR_W-14:0] r_uar = r_off[ADDR_W-1:13];
    wire known_uar = r_uar[ADDR_W-14:LOG_UARS] == {(ADDR_W-13-LOG_UARS){1'b0}};
    wire in_push = r_off[12];
    wire whole8 = r_group == 8'hff;

    always @* begin
        for (i = 0; i < 8; i = i + 1) begin
            value[i*8 +: 8] = r_group[i] ? r_word[i*8 +: 8] : 8'd0;
        end
    end

    // An open burst: its first beat is here, the next ones are expected.
    reg open_reg = 1'b0;
    reg [LINE_W-1:0] next_line_reg = {LINE_W{1'b0}};
    reg [2:0] got_reg = 3'd0;
    reg [2:0] want_reg = 3'd0;
    reg [7:0] wait_reg = 8'd0;
    reg [511:0] unit_reg [0:4];

    // The doorbell on its way out.
    reg [4:0] out_reg = 5'd0; // sq, rq, cq, eq, eth
    reg [7:0] type_reg = 8'd0;
    reg [23:0] number_reg = 24'd0;
    reg [23:0] index_reg = 24'd0;
    reg [7:0] flags_reg = 8'd0;
    reg [15:0] uar_reg = 16'd0;
    reg push_reg = 1'b0;

    wire out_done = (out_reg & ~{sq_ready, rq_ready, cq_ready, eq_ready, eth_ready}) == 5'd0;

    wire goes_on = open_reg && r_full && r_line == next_line_reg;
    wire close = open_reg && ((raw_valid && !goes_on) || (!raw_valid && wait_reg == 8'd0));
    wire go = raw_valid && out_done && !close && !rst;
    // A later part of a burst that is not wanted: no doorbell, not logged.
    wire stray = known_uar && in_push && r_off[8:0] != 9'd0;
    wire fresh = go && !goes_on && !stray;

    wire [2:0] p_units = value[62:60];
    wire p_ok = whole8 && p_units >= 3'd1 && p_units <= 3'd5;
    wire d_ok = r_off[11:0] == 12'd0 && whole8 && r_only;

    reg [4:0] dest;
    wire own = r_uar == {(ADDR_W-13){1'b0}};

    always @* begin
        case (value[31:24])
            `FRNIC_DB_TYPE_SQ: dest = 5'b10000;
            `FRNIC_DB_TYPE_RQ, `FRNIC_DB_TYPE_SRQ: dest = 5'b01000;
            `FRNIC_DB_TYPE_CQ_ARM: dest = 5'b00100;
            `FRNIC_DB_TYPE_EQ_ARM: dest = 5'b00010;
            `FRNIC_DB_TYPE_ETH_TX, `FRNIC_DB_TYPE_ETH_RX, `FRNIC_DB_TYPE_ETH_ARM_RX, `FRNIC_DB_TYPE_ETH_ARM_TX: dest = 5'b00001;
            default: dest = 5'd0;
        endcase
    end

    wire malformed = !known_uar || refuse || (in_push ? !p_ok : !d_ok || dest == 5'd0);
    wire denied = !malformed && !in_push && (dest[1] || dest[0]) && !own;
    wire accept = fresh && !malformed && !denied;

    assign raw_take = go;

    always @(posedge clk) begin
        if (out_done) begin
            out_reg <= 5'd0;
            push_reg <= 1'b0;
        end
        if (wait_reg != 8'd0) begin
            wait_reg <= wait_reg - 1'b1;
        end
        if (close && out_done) begin
            // Incomplete: a plain doorbell, the WQE is in the ring.
            open_reg <= 1'b0;
            out_reg <= 5'b10000;
        end
        if (accept) begin
            uar_reg <= {{(29-ADDR_W){1'b0}}, r_uar};
            number_reg <= value[23:0];
            if (in_push) begin
                type_reg <= `FRNIC_DB_TYPE_SQ;
                index_reg <= value[55:32] + {21'd0, p_units};
                flags_reg <= 8'd0;
                unit_reg[0] <= r_data;
                got_reg <= 3'd1;
                want_reg <= p_units;
                next_line_reg <= r_line + 1'b1;
                wait_reg <= WAIT;
                if (r_full && p_units != 3'd1) begin
                    open_reg <= 1'b1;
                end else begin
                    out_reg <= 5'b10000;
                    push_reg <= r_full;
                end
            end else begin
                type_reg <= value[31:24];
                index_reg <= value[55:32];
                flags_reg <= value[63:56];
                out_reg <= dest;
            end
        end
        if (go && goes_on) begin
            unit_reg[got_reg] <= r_data;
            got_reg <= got_reg + 1'b1;
            next_line_reg <= next_line_reg + 1'b1;
            wait_reg <= WAIT;
            if (got_reg + 3'd1 == want_reg) begin
                open_reg <= 1'b0;
                out_reg <= 5'b10000;
                push_reg <= 1'b1;
            end
        end
        if (rst) begin
            open_reg <= 1'b0;
            out_reg <= 5'd0;
            push_reg <= 1'b0;
        end
    end

    assign {sq_valid, rq_valid, cq_valid, eq_valid, eth_valid} = out_reg;
    assign db_type = type_reg;
    assign db_number = number_reg;
    assign db_index = index_reg;
    assign db_flags = flags_reg;
    assign db_uar = uar_reg;
    assign sq_push = push_reg;
    assign sq_units = want_reg;
    assign sq_data = {unit_reg[4], unit_reg[3], unit_reg[2], unit_reg[1], unit_reg[0]};
    assign idle = !aw_valid_reg && !raw_valid && !open_reg && out_reg == 5'd0 && !s_axi_db_bvalid && !rd_busy_reg;

    // ---- Statistics and log ----
    reg [31:0] count_reg = 32'd0;
    reg [31:0] bad_reg = 32'd0;
    reg [31:0] denied_reg = 32'd0;
    reg [31:0] pushed_reg = 32'd0;
    reg wrapped_reg = 1'b0; // every entry of the log is in use
    reg [127:0] log_mem [0:63];

    wire [127:0] entry = log_mem[rq_addr[9:4]];
    wire entry_used = wrapped_reg || {26'd0, rq_addr[9:4]} < count_reg;
    reg [3:0] bad_now;
    reg [3:0] denied_now;

    always @* begin
        bad_now = {3'd0, fresh && malformed};
        denied_now = {3'd0, fresh && denied};
        for (i = 0; i < UNITS; i = i + 1) begin
            bad_now = bad_now + {3'd0, unit_bad[i]};
            denied_now = denied_now + {3'd0, unit_denied[i]};
        end
    end

    assign ev_dropped = bad_now + denied_now;

    always @(posedge clk) begin
        rs_valid <= rq_req;
        rs_data <= 32'd0;
        if (rq_addr[13]) begin
            if (entry_used) begin
                rs_data <= entry[{rq_addr[3:2], 5'd0} +: 32];
            end
        end else begin
            case (rq_addr[4:2])
                3'd0: rs_data <= count_reg;
                3'd1: rs_data <= bad_reg;
                3'd2: rs_data <= denied_reg;
                3'd3: rs_data <= pushed_reg;
                3'd4: rs_data <= {26'd0, count_reg[5:0]};
                default: rs_data <= 32'd0;
            endcase
        end
        if (fresh) begin
            log_mem[count_reg[5:0]] <= {count_reg + 32'd1, value, {(32-ADDR_W){1'b0}}, r_off};
            count_reg <= count_reg + 32'd1;
            wrapped_reg <= wrapped_reg || count_reg[5:0] == 6'd63;
        end
        bad_reg <= bad_reg + {28'd0, bad_now};
        denied_reg <= denied_reg + {28'd0, denied_now};
        pushed_reg <= pushed_reg + {31'd0, unit_pushed};
        if (rst) begin
            rs_valid <= 1'b0;
            count_reg <= 32'd0;
            bad_reg <= 32'd0;
            denied_reg <= 32'd0;
            pushed_reg <= 32'd0;
            wrapped_reg <= 1'b0;
        end
    end

endmodule

`resetall
