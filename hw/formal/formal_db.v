// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: the doorbell path (frnic_db) hands on each legal doorbell and each legal push once, in order, unchanged, and only those; an offer stands until it
// is taken; a write of another process's or of a wrong size comes out nowhere. One arbitrary legal write is followed from the bus to its unit. Unbounded,
// by induction.

`default_nettype none
`include "frnic_hw.vh"

module formal_db (
    input wire         clk,
    input wire         awvalid,
    input wire [15:0]  awaddr,
    input wire         wvalid,
    input wire [63:0]  wdata_low,
    input wire [7:0]   wstrb_low,
    input wire         wstrb_high,
    input wire         bready,
    input wire [4:0]   ready
);
    // The other 448 bits of a line are only carried; all of their strobes are one bit, a write is of 0..8 bytes, or of the line's rest with them.
    wire [511:0] wdata = {448'd0, wdata_low};
    wire [63:0] wstrb = {{56{wstrb_high}}, wstrb_low};

    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    wire awready, wready, bvalid;
    wire [4:0] valid;
    wire [7:0] db_type, db_flags;
    wire [23:0] number, index;
    wire [15:0] uar;
    wire push;
    wire [2:0] units;
    wire [2559:0] data;
    wire [3:0] dropped;
    wire idle;
    // A level that does not change while this proof looks; both values are looked at.
    (* anyconst *) wire refuse;

    frnic_db #(.LOG_UARS(2), .ID_W(1), .LOG_DEPTH(1), .PUSH_WAIT(2), .UNITS(1)) dut (
        .clk(clk), .rst(rst),
        .s_axi_db_awid(1'b0), .s_axi_db_awaddr(awaddr), .s_axi_db_awlen(8'd0), .s_axi_db_awvalid(awvalid), .s_axi_db_awready(awready),
        .s_axi_db_wdata(wdata), .s_axi_db_wstrb(wstrb), .s_axi_db_wlast(1'b1), .s_axi_db_wvalid(wvalid), .s_axi_db_wready(wready),
        .s_axi_db_bid(), .s_axi_db_bresp(), .s_axi_db_bvalid(bvalid), .s_axi_db_bready(bready),
        .s_axi_db_arid(1'b0), .s_axi_db_arlen(8'd0), .s_axi_db_arvalid(1'b0), .s_axi_db_arready(), .s_axi_db_rid(), .s_axi_db_rdata(),
        .s_axi_db_rresp(), .s_axi_db_rlast(), .s_axi_db_rvalid(), .s_axi_db_rready(1'b1),
        .refuse(refuse),
        .sq_valid(valid[4]), .sq_ready(ready[4]), .rq_valid(valid[3]), .rq_ready(ready[3]), .cq_valid(valid[2]), .cq_ready(ready[2]),
        .eq_valid(valid[1]), .eq_ready(ready[1]), .eth_valid(valid[0]), .eth_ready(ready[0]),
        .db_type(db_type), .db_number(number), .db_index(index), .db_flags(db_flags), .db_uar(uar),
        .sq_push(push), .sq_units(units), .sq_data(data),
        .unit_bad(1'b0), .unit_denied(1'b0), .unit_pushed(1'b0), .ev_dropped(dropped),
        .rq_req(1'b0), .rq_addr(16'd0), .rs_valid(), .rs_data(), .idle(idle)
    );

    // ---- The host keeps AXI's rules ----
    reg aw_wait = 1'b0, w_wait = 1'b0;
    reg [15:0] awaddr_last;
    reg [63:0] wdata_last;
    reg [8:0] wstrb_last;
    always @(posedge clk) begin
        aw_wait <= awvalid && !awready && !rst;
        w_wait <= wvalid && !wready && !rst;
        awaddr_last <= awaddr;
        wdata_last <= wdata_low;
        wstrb_last <= {wstrb_high, wstrb_low};
    end
    always @* begin
        if (rst) assume (!awvalid && !wvalid);
        if (aw_wait) assume (awvalid && awaddr == awaddr_last);
        if (w_wait) assume (wvalid && wdata_low == wdata_last && {wstrb_high, wstrb_low} == wstrb_last);
    end

    // ---- What is legal follows from the write alone: line of its address, data and strobes of bytes 0..7, strobe of the rest ----
    function legal_db;
        input [9:0] line;
        input [63:0] v;
        input [7:0] low;
        input high;
        legal_db = !line[9] && !line[6] && line[5:0] == 6'd0 && low == 8'hff && !high &&
            ((v[31:24] >= `FRNIC_DB_TYPE_SQ && v[31:24] <= `FRNIC_DB_TYPE_CQ_ARM) ||
             (v[31:24] >= `FRNIC_DB_TYPE_EQ_ARM && v[31:24] <= `FRNIC_DB_TYPE_ETH_ARM_TX && line[8:7] == 2'd0));
    endfunction

    function legal_push;
        input [9:0] line;
        input [63:0] v;
        input [7:0] low;
        legal_push = !line[9] && line[6] && line[2:0] == 3'd0 && low == 8'hff && v[62:60] >= 3'd1 && v[62:60] <= 3'd5;
    endfunction

    // A write's address is the one taken last.
    reg [9:0] line_reg = 10'd0;
    always @(posedge clk) if (awvalid && awready) line_reg <= awaddr[15:6];
    wire take = wvalid && wready && !rst;
    wire legal = take && !refuse && (legal_db(line_reg, wdata_low, wstrb_low, wstrb_high) || legal_push(line_reg, wdata_low, wstrb_low));
    wire out = (valid & ready) != 5'd0 && !rst;

    // ---- One of them is followed: 0 not yet, 1 in the queue, 2 on its way out, 3 has gone ----
    (* anyseq *) wire choose;
    reg [1:0] f_at = 2'd0;
    wire follow = legal && choose && f_at == 2'd0;
    reg f_slot = 1'b0;     // its place in the queue
    reg [1:0] ahead = 2'd0; // legal ones before it
    reg [9:0] f_line = 10'd0;
    reg [63:0] f_data = 64'd0;
    reg f_high = 1'b0;
    reg [2:0] f_more = 3'd0; // lines of its burst that followed
    reg [2:0] pend = 3'd0; // legal ones that came and have not gone
    wire f_push = f_line[6];
    wire f_full = f_high;
    wire f_taken = f_at == 2'd1 && \dut.raw_take && \dut.raw.rd_reg == f_slot;
    wire [7:0] x_type = f_push ? `FRNIC_DB_TYPE_SQ : f_data[31:24];
    wire [23:0] x_index = f_data[55:32] + (f_push ? {21'd0, f_data[62:60]} : 24'd0);
    wire [7:0] x_flags = f_push ? 8'd0 : f_data[63:56];
    wire [4:0] x_dest = x_type == `FRNIC_DB_TYPE_SQ ? 5'b10000 : x_type <= `FRNIC_DB_TYPE_SRQ ? 5'b01000 : x_type == `FRNIC_DB_TYPE_CQ_ARM ? 5'b00100 :
                        x_type == `FRNIC_DB_TYPE_EQ_ARM ? 5'b00010 : 5'b00001;
    reg whole_push = 1'b0; // the followed one was a push of two units, whole

    always @(posedge clk) begin
        pend <= pend + {2'd0, legal} - {2'd0, out};
        if (follow) begin
            f_at <= 2'd1;
            f_slot <= \dut.raw.wr_reg ;
            ahead <= pend[1:0] - {1'b0, out};
            f_line <= line_reg;
            f_data <= wdata_low;
            f_high <= wstrb_high;
        end else if (f_at == 2'd1 && out) begin
            ahead <= ahead - 1'b1;
        end
        if (f_taken) f_at <= 2'd2;
        if (f_taken) f_more <= 3'd0;
        else if (\dut.raw_take ) f_more <= f_more + 1'b1;
        if (f_at == 2'd2 && out) begin
            f_at <= 2'd3;
            whole_push <= push && units == 3'd2;
        end
        if (rst) begin
            pend <= 3'd0;
            f_at <= 2'd0;
        end
    end

    // ---- Registers inside, named so that flatten joins them (Yosys has no hierarchical references) ----
    (* hierconn *) wire \dut.raw_take ;
    (* hierconn, init = 1'd0 *) wire \dut.raw.wr_reg ;
    (* hierconn, init = 1'd0 *) wire \dut.raw.rd_reg ;
    (* hierconn, init = 2'd0 *) wire [1:0] \dut.raw.count_reg ;
    (* hierconn *) wire [537:0] \dut.raw.mem[0] ;
    (* hierconn *) wire [537:0] \dut.raw.mem[1] ;
    (* hierconn, init = 1'd0 *) wire \dut.open_reg ;
    (* hierconn, init = 3'd0 *) wire [2:0] \dut.got_reg ;
    (* hierconn, init = 3'd0 *) wire [2:0] \dut.want_reg ;
    (* hierconn, init = 10'd0 *) wire [9:0] \dut.next_line_reg ;
    (* hierconn, init = 1'd0 *) wire \dut.aw_valid_reg ;
    (* hierconn, init = 10'd0 *) wire [9:0] \dut.aw_line_reg ;

    // A word of the queue: line, first byte written, strobes of its eight, whether only those, whether all 64, data.
    wire [1:0] used = {\dut.raw.count_reg == 2'd2 || (\dut.raw.count_reg == 2'd1 && \dut.raw.rd_reg ),
                       \dut.raw.count_reg == 2'd2 || (\dut.raw.count_reg == 2'd1 && !\dut.raw.rd_reg )};
    wire [1:0] good;
    genvar i;
    generate
        for (i = 0; i < 2; i = i + 1) begin : words
            wire [537:0] w = i == 0 ? \dut.raw.mem[0] : \dut.raw.mem[1] ;
            wire [9:0] line = w[537:528];
            wire [5:0] first = w[527:522];
            wire [7:0] group = w[521:514];
            wire only = w[513];
            wire full = w[512];
            wire [63:0] low = w[63:0];
            assign good[i] = used[i] && !refuse && first == 6'd0 && (legal_db(line, low, group, !only) || legal_push(line, low, group));
            always @* begin
                if (used[i] && first == 6'd0) assert (!full || !only);
                if (f_at == 2'd1 && f_slot == i) begin
                    assert (used[i] && first == 6'd0 && group == 8'hff && line == f_line && low == f_data && full == f_high && only == !f_high);
                end
            end
        end
    endgenerate

    wire [537:0] head = \dut.raw.rd_reg ? \dut.raw.mem[1] : \dut.raw.mem[0] ;
    wire [9:0] head_line = head[537:528];
    wire head_full = head[512];
    wire stage = \dut.open_reg || valid != 5'd0;
    reg stood = 1'b0;
    reg [84:0] offer_last;
    wire [84:0] offer = {valid, db_type, number, index, db_flags, uar};
    always @(posedge clk) begin
        stood <= valid != 5'd0 && !out && !rst;
        offer_last <= offer;
    end

    always @* begin
        // The contract.
        assert ((valid & (valid - 5'd1)) == 5'd0);
        if (valid != 5'd0) assert (pend != 3'd0);
        if (stood) assert (offer == offer_last);
        if (idle) assert (pend == 3'd0);
        if (f_at == 2'd2 && valid != 5'd0) begin
            assert (valid == x_dest);
            if (push) assert (f_push && f_full && units == f_data[62:60] && data[63:0] == f_data && f_more + 3'd1 == units);
        end
        // Only whole lines, one behind the other, make a burst.
        if (f_at == 2'd2 && \dut.open_reg && \dut.raw_take ) assert (head_full && head_line == f_line + {7'd0, f_more} + 10'd1);
        if (f_at == 2'd1 && out) assert (ahead != 2'd0);

        // Invariants that carry the induction.
        assert (\dut.raw.count_reg <= 2'd2);
        assert (\dut.raw.wr_reg == \dut.raw.rd_reg ^ \dut.raw.count_reg [0]);
        if (\dut.aw_valid_reg ) assert (\dut.aw_line_reg == line_reg);
        assert (!(\dut.open_reg && valid != 5'd0));
        assert (pend == {2'd0, good[0]} + {2'd0, good[1]} + {2'd0, stage});
        // A line that goes on is no start of a slot.
        if (\dut.open_reg ) assert (\dut.got_reg >= 3'd1 && \dut.got_reg < \dut.want_reg && \dut.want_reg <= 3'd5 &&
                                    \dut.next_line_reg [2:0] == \dut.got_reg );
        if (push) assert (valid == 5'b10000);
        if (f_at == 2'd1) begin
            assert (!refuse && (legal_db(f_line, f_data, 8'hff, f_high) || legal_push(f_line, f_data, 8'hff)));
            assert (ahead == {1'b0, good[!f_slot] && \dut.raw.rd_reg != f_slot} + {1'b0, stage});
        end
        if (f_at == 2'd2) begin
            assert (!refuse && (legal_db(f_line, f_data, 8'hff, f_high) || legal_push(f_line, f_data, 8'hff)));
            assert (stage);
            assert ({db_type, number, index, db_flags, uar} == {x_type, f_data[23:0], x_index, x_flags, 13'd0, f_line[9:7]});
            if (\dut.open_reg ) assert (f_push && f_full && \dut.want_reg == f_data[62:60] && data[63:0] == f_data && f_more + 3'd1 == \dut.got_reg &&
                                        \dut.next_line_reg == f_line + {7'd0, \dut.got_reg });
        end
        // Not proven by never happening: with COVER this must fail, that is, a push of two units can be followed to its end.
`ifdef COVER
        assert (!(!rst && whole_push && idle));
`endif
    end
endmodule
