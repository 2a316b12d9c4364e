// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: frnic_csr answers each AXI4-Lite access once, keeps its answers until they are taken, and is done within a bounded time, whether or not the
// block behind a side port answers; a partial write and only that is refused. Unbounded, by PDR.

`default_nettype none

module formal_csr (
    input wire        clk,
    input wire [15:0] awaddr,
    input wire        awvalid,
    input wire [31:0] wdata,
    input wire [3:0]  wstrb,
    input wire        wvalid,
    input wire        bready,
    input wire [15:0] araddr,
    input wire        arvalid,
    input wire        rready,
    input wire        qm_done,
    input wire        cnt_done,
    input wire        dbs_done,
    input wire [31:0] side_rdata,
    input wire        resetting,
    input wire        clear
);
    reg rst = 1'b1;
    wire awready, wready, bvalid, arready, rvalid;
    wire [1:0] bresp;
    wire [1:0] rresp;
    wire [31:0] rdata;
    wire qm_req, cnt_req, dbs_req;

    always @(posedge clk) begin
        rst <= 1'b0;
    end

    frnic_csr #(.SIDE_WAIT(3)) dut (
        .clk(clk), .rst(rst),
        .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid && !rst), .s_axil_awready(awready), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid && !rst), .s_axil_wready(wready), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
        .s_axil_araddr(araddr), .s_axil_arvalid(arvalid && !rst), .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
        .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .qm_req(qm_req), .cnt_req(cnt_req), .dbs_req(dbs_req), .qm_done(qm_done), .qm_rdata(side_rdata), .cnt_done(cnt_done),
        .cnt_rdata(side_rdata), .dbs_done(dbs_done), .dbs_rdata(side_rdata),
        .time_ns(64'd0), .cfg_mac(48'd0), .cfg_push_bytes(16'd0), .cfg_msix_vectors(12'd0), .link_up(1'b1), .mac_ready(1'b1), .qm_state(3'd0),
        .qm_last_status(8'd0), .qm_last_error(8'd0), .qm_last_opcode(8'd0), .free_qps(32'd0), .free_cqs(32'd0), .free_eqs(32'd0),
        .free_srqs(32'd0), .free_mrs(32'd0), .free_bufs(32'd0), .free_mcasts(32'd0), .cmdq_stop(1'b0), .cmdq_ci(24'd0),
        .resetting(resetting), .clear(clear), .eq_fatal_valid(1'b0), .eq_fatal_eqn(6'd0), .cmdq_fatal_valid(1'b0),
        .cmdq_fatal_index(24'd0), .parity_fatal(1'b0), .eq_overflow_set(32'd0), .fsm_error(1'b0), .stalls(4'd0), .psn_gap(1'b0),
        .psn_gap_qpn(24'd0), .ev_ready(1'b1)
    );

    reg writing = 1'b0;
    reg reading = 1'b0;
    reg partial = 1'b0;
    reg [3:0] age = 4'd0;
    reg b_wait = 1'b0;
    reg [1:0] b_was;
    reg r_wait = 1'b0;
    reg [31:0] r_was;
    wire aw = awvalid && awready && !rst;
    wire w = wvalid && wready && !rst;
    wire ar = arvalid && arready && !rst;
    wire b = bvalid && bready;
    wire r = rvalid && rready;

    always @(posedge clk) begin
        if (!rst) begin
            writing <= (writing && !b) || aw;
            reading <= (reading && !r) || ar;
            if (aw) partial <= wstrb != 4'b1111;
            age <= (writing || reading) && !bvalid && !rvalid ? age + 1'b1 : 4'd0;
            b_wait <= bvalid && !bready;
            b_was <= bresp;
            r_wait <= rvalid && !rready;
            r_was <= rdata;
        end
    end

    always @* begin
        if (!rst) begin
            assert (aw == w);
            // One access at a time, and no answer without one.
            assert (!(aw && ar));
            assert (!((aw || ar) && (writing || reading)));
            assert (!bvalid || writing);
            assert (!rvalid || reading);
            // Answers stay.
            if (b_wait) assert (bvalid && bresp == b_was);
            if (r_wait) assert (rvalid && rdata == r_was);
            if (bvalid) assert (bresp == (partial ? 2'b10 : 2'b00));
            if (rvalid) assert (rresp == 2'b00);
            // Side ports are asked one at a time, within an access.
            assert (qm_req + cnt_req + dbs_req <= 1);
            assert (!(qm_req || cnt_req || dbs_req) || writing || reading);
            // Bounded
            assert (age <= 8);
        end
`ifdef COVER
        assert (!(rvalid && r_was != 32'd0 && r_wait && bready));
`endif
    end
endmodule
