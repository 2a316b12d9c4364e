// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: the doorbell path (frnic_db) hands on each legal doorbell and each legal push once, in order, unchanged, and only those; an offer stands until it
// is taken; a write of another process's or of a wrong size comes out nowhere; what is counted is what came. Unbounded, by PDR.

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
    input wire [4:0]   ready,
    input wire         refuse_in
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

    // refuse is a level that does not change while this proof looks; both values are looked at.
    (* anyconst *) wire refuse;
    always @* assume (refuse == refuse_in);

    // ---- The host keeps AXI's rules ----
    reg aw_wait = 1'b0, w_wait = 1'b0;
    reg [15:0] awaddr_last;
    reg [511:0] wdata_last;
    reg [63:0] wstrb_last;
    always @(posedge clk) begin
        aw_wait <= awvalid && !awready && !rst;
        w_wait <= wvalid && !wready && !rst;
        awaddr_last <= awaddr;
        wdata_last <= wdata;
        wstrb_last <= wstrb;
    end
    always @* begin
        if (rst) assume (!awvalid && !wvalid);
        if (aw_wait) assume (awvalid && awaddr == awaddr_last);
        if (w_wait) assume (wvalid && wdata == wdata_last && wstrb == wstrb_last);
    end

    // ---- What is legal follows from the write alone (bytes 0..7 of a line; the address of its data is the one taken last) ----
    reg [15:0] addr_reg;
    always @(posedge clk) if (awvalid && awready) addr_reg <= awaddr;
    wire take = wvalid && wready && !rst;
    wire [63:0] v = wdata[63:0];
    wire low8 = wstrb[7:0] == 8'hff;
    wire only8 = wstrb == 64'hff;
    wire place = addr_reg[11:6] == 6'd0;
    wire [7:0] t = v[31:24];
    wire known = !addr_reg[15];
    wire driver_type = t >= `FRNIC_DB_TYPE_EQ_ARM && t <= `FRNIC_DB_TYPE_ETH_ARM_TX;
    wire user_type = t >= `FRNIC_DB_TYPE_SQ && t <= `FRNIC_DB_TYPE_CQ_ARM;
    wire legal_db = known && !addr_reg[12] && place && only8 && (user_type || (driver_type && addr_reg[15:13] == 3'd0));
    wire legal_push = known && addr_reg[12] && addr_reg[8:6] == 3'd0 && low8 && v[62:60] >= 3'd1 && v[62:60] <= 3'd5;
    wire legal = take && !refuse && (legal_db || legal_push);

    wire [7:0] x_type = legal_push ? `FRNIC_DB_TYPE_SQ : t;
    wire [23:0] x_index = v[55:32] + (legal_push ? {21'd0, v[62:60]} : 24'd0);
    wire [7:0] x_flags = legal_push ? 8'd0 : v[63:56];
    wire [4:0] x_dest = x_type == `FRNIC_DB_TYPE_SQ ? 5'b10000 : x_type <= `FRNIC_DB_TYPE_SRQ ? 5'b01000 : x_type == `FRNIC_DB_TYPE_CQ_ARM ? 5'b00100 :
                        x_type == `FRNIC_DB_TYPE_EQ_ARM ? 5'b00010 : 5'b00001;

    // ---- The k-th legal write is the k-th doorbell that comes out, for any k ----
    (* anyconst *) wire [4:0] k;
    reg [4:0] ins = 5'd0, outs = 5'd0;
    reg [92:0] want;
    reg [63:0] want_word;
    reg want_full;
    reg seen_five = 1'b0;
    wire out = (valid & ready) != 5'd0 && !rst;

    always @(posedge clk) begin
        if (legal) begin
            ins <= ins + 1'b1;
            if (ins == k) begin
                want <= {x_dest, x_type, v[23:0], x_index, x_flags, 13'd0, addr_reg[15:13], 8'd0};
                want_word <= v;
                want_full <= legal_push && wstrb == {64{1'b1}};
            end
        end
        if (out) begin
            outs <= outs + 1'b1;
            seen_five <= seen_five || (push && units == 3'd2);
        end
    end

    reg stood = 1'b0;
    reg [84:0] offer_last;
    wire [84:0] offer = {valid, db_type, number, index, db_flags, uar};
    always @(posedge clk) begin
        stood <= valid != 5'd0 && !out && !rst;
        offer_last <= offer;
    end

    always @* begin
        if (!rst) begin
            assert ((valid & (valid - 5'd1)) == 5'd0);
            if (valid != 5'd0) assert (outs != ins); // both are modulo 32
            if (valid != 5'd0 && outs == k) begin
                assert ({valid, db_type, number, index, db_flags, uar, 8'd0} == want);
                if (push) assert (want_full && data[63:0] == want_word && units == want_word[62:60]);
            end
            if (stood) assert (offer == offer_last);
            if (idle) assert (ins == outs);
        end
`ifdef COVER
        assert (!(!rst && seen_five && outs == 5'd3 && idle));
`endif
    end
endmodule
