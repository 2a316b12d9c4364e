// SPDX-License-Identifier: BSD-2-Clause
//
// Protocol check of one AXI4 master's port, on in every simulation: what is offered stays until it is taken, no burst crosses 4 KB, INCR bursts of
// full beats, WLAST in its place, no strobes outside the burst's reach, and no response without a request. Not synthesised.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_axi_assert #(
    // Bits of the data
    parameter DATA_W = 512,
    // Bits of the address
    parameter ADDR_W = 64,
    // Bits of the IDs
    parameter ID_W = 6,
    // Bytes of a beat
    parameter STRB_W = DATA_W / 8
) (
    input  wire              clk,
    input  wire              rst,
    // Write channels
    input  wire [ID_W-1:0]   awid,
    input  wire [ADDR_W-1:0] awaddr,
    input  wire [7:0]        awlen,
    input  wire [2:0]        awsize,
    input  wire [1:0]        awburst,
    input  wire              awvalid,
    input  wire              awready,
    input  wire [DATA_W-1:0] wdata,
    input  wire [STRB_W-1:0] wstrb,
    input  wire              wlast,
    input  wire              wvalid,
    input  wire              wready,
    input  wire [ID_W-1:0]   bid,
    input  wire [1:0]        bresp,
    input  wire              bvalid,
    input  wire              bready,
    // Read channels
    input  wire [ID_W-1:0]   arid,
    input  wire [ADDR_W-1:0] araddr,
    input  wire [7:0]        arlen,
    input  wire [2:0]        arsize,
    input  wire [1:0]        arburst,
    input  wire              arvalid,
    input  wire              arready,
    input  wire [ID_W-1:0]   rid,
    input  wire [DATA_W-1:0] rdata,
    input  wire [1:0]        rresp,
    input  wire              rlast,
    input  wire              rvalid,
    input  wire              rready
);

    localparam IDS = 1 << ID_W;
    localparam SIZE = $clog2(STRB_W);
    localparam AW_W = ID_W + ADDR_W + 13;
    localparam W_W = STRB_W + 1;
    localparam B_W = ID_W + 2;
    localparam R_W = ID_W + 3;

    // ---- Offers bind ----
    wire [AW_W-1:0] aw = {awid, awaddr, awlen, awsize, awburst};
    wire [AW_W-1:0] ar = {arid, araddr, arlen, arsize, arburst};
    wire [W_W-1:0] w = {wstrb, wlast};
    wire [B_W-1:0] b = {bid, bresp};
    wire [R_W-1:0] r = {rid, rresp, rlast};
    reg [4:0] held_reg = 5'd0;
    reg [AW_W-1:0] aw_reg = {AW_W{1'b0}};
    reg [AW_W-1:0] ar_reg = {AW_W{1'b0}};
    reg [W_W-1:0] w_reg = {W_W{1'b0}};
    reg [B_W-1:0] b_reg = {B_W{1'b0}};
    reg [R_W-1:0] r_reg = {R_W{1'b0}};
    // Data apart, and only where there is something to compare: 512 bits.
    reg [DATA_W-1:0] wdata_reg = {DATA_W{1'b0}};
    reg [DATA_W-1:0] rdata_reg = {DATA_W{1'b0}};
    wire [4:0] valid = {awvalid, wvalid, bvalid, arvalid, rvalid};
    wire [4:0] ready = {awready, wready, bready, arready, rready};
    wire [4:0] same = {aw == aw_reg, w == w_reg, b == b_reg, ar == ar_reg, r == r_reg};
    wire [4:0] unstable = held_reg & ~(valid & same);

    // ---- Addresses ----
    wire aw_bad = awvalid && (awburst != 2'd1 || awsize != SIZE[2:0] || crosses(awaddr[11:0], awlen));
    wire ar_bad = arvalid && (arburst != 2'd1 || arsize != SIZE[2:0] || crosses(araddr[11:0], arlen));

    function crosses(input [11:0] addr, input [7:0] len);
        crosses = ({20'd0, addr & ~(12'd1 * STRB_W[11:0] - 12'd1)}) + ({24'd0, len} + 32'd1) * STRB_W > 32'd4096;
    endfunction

    // ---- Write data against write addresses: the lengths and the bursts of data both queue up ----
    reg [7:0] aw_len [0:1023];
    reg [9:0] aw_wr_reg = 10'd0;
    reg [9:0] aw_rd_reg = 10'd0; // bursts whose data came to the end
    reg [8:0] beat_reg = 9'd0;
    reg [9:0] b_count_reg = 10'd0; // responses
    wire aw_take = awvalid && awready;
    wire w_take = wvalid && wready;
    wire b_take = bvalid && bready;
    // Stricter than AXI: data are offered no earlier than their address, which need not be taken yet.
    wire offered = awvalid && aw_rd_reg == aw_wr_reg;
    wire taken = aw_rd_reg != aw_wr_reg && aw_rd_reg != aw_wr_reg + 10'd1;
    wire [7:0] want = offered ? awlen : aw_len[aw_rd_reg];
    wire w_ahead = wvalid && !offered && !taken;
    wire wlast_bad = wvalid && !w_ahead && wlast != ({1'b0, want} == beat_reg);
    wire b_bad = bvalid && (b_count_reg == aw_rd_reg || b_count_reg == aw_wr_reg || bid_bad);
    wire bid_bad = aw_id[b_count_reg] != bid && one_id;
    // All writes with one ID: responses come in order. Else the count alone is checked.
    reg [ID_W-1:0] aw_id [0:1023];
    reg one_id = 1'b1;
    reg [ID_W-1:0] first_id = {ID_W{1'b0}};
    reg first_seen = 1'b0;

    // ---- Read data: beats still to come for each ID, oldest burst first ----
    reg [7:0] ar_len [0:IDS*16-1];
    reg [3:0] ar_wr [0:IDS-1];
    reg [3:0] ar_rd [0:IDS-1];
    reg [7:0] r_beat [0:IDS-1];
    wire ar_take = arvalid && arready;
    wire r_take = rvalid && rready;
    wire r_none = rvalid && ar_wr[rid] == ar_rd[rid];
    wire rlast_bad = rvalid && !r_none && rlast != (r_beat[rid] == ar_len[{rid, ar_rd[rid]}]);

    integer i;

    initial begin
        for (i = 0; i < IDS; i = i + 1) begin
            ar_wr[i] = 4'd0;
            ar_rd[i] = 4'd0;
            r_beat[i] = 8'd0;
        end
    end

    wire [7:0] broken = {aw_bad, ar_bad, wlast_bad, w_ahead, b_bad, r_none, rlast_bad, unstable != 5'd0};

    always @(posedge clk) begin
        held_reg <= rst ? 5'd0 : valid & ~ready;
        aw_reg <= aw;
        ar_reg <= ar;
        w_reg <= w;
        b_reg <= b;
        r_reg <= r;
        if (wvalid) begin
            wdata_reg <= wdata;
        end
        if (rvalid) begin
            rdata_reg <= rdata;
        end
        if (held_reg[3] && !rst) begin
            if (wdata != wdata_reg) begin
                $display("%m: AXI rule broken: wdata changed");
                $stop;
            end
        end
        if (held_reg[0] && !rst) begin
            if (rdata != rdata_reg) begin
                $display("%m: AXI rule broken: rdata changed");
                $stop;
            end
        end
        if (aw_take) begin
            aw_len[aw_wr_reg] <= awlen;
            aw_id[aw_wr_reg] <= awid;
            aw_wr_reg <= aw_wr_reg + 1'b1;
            first_seen <= 1'b1;
            if (!first_seen) begin
                first_id <= awid;
            end else if (awid != first_id) begin
                one_id <= 1'b0;
            end
        end
        if (w_take) begin
            beat_reg <= wlast ? 9'd0 : beat_reg + 1'b1;
            if (wlast) begin
                aw_rd_reg <= aw_rd_reg + 1'b1;
            end
        end
        if (b_take) begin
            b_count_reg <= b_count_reg + 1'b1;
        end
        if (ar_take) begin
            ar_len[{arid, ar_wr[arid]}] <= arlen;
            ar_wr[arid] <= ar_wr[arid] + 1'b1;
        end
        if (r_take) begin
            r_beat[rid] <= rlast ? 8'd0 : r_beat[rid] + 1'b1;
            if (rlast && !r_none) begin
                ar_rd[rid] <= ar_rd[rid] + 1'b1;
            end
        end
        if (rst) begin
            aw_wr_reg <= 10'd0;
            aw_rd_reg <= 10'd0;
            b_count_reg <= 10'd0;
            beat_reg <= 9'd0;
            one_id <= 1'b1;
            first_seen <= 1'b0;
            for (i = 0; i < IDS; i = i + 1) begin
                ar_wr[i] <= 4'd0;
                ar_rd[i] <= 4'd0;
                r_beat[i] <= 8'd0;
            end
        end else if (broken != 8'd0) begin
            $display("%m: AXI rule broken: aw %b ar %b wlast %b wahead %b b %b r %b rlast %b unstable(aw w b ar r) %b", aw_bad, ar_bad,
                     wlast_bad, w_ahead, b_bad, r_none, rlast_bad, unstable);
            $stop;
        end
    end

endmodule

`resetall
