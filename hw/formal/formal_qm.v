// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: the queue manager runs one command at a time, leads it through the states of R1.2 in order to one response, writes no table before all checks
// have passed twice, counts what it refuses, and ends every command as long as the owners of the contexts answer: a rank falls in each step (assertions
// in frnic_qm.v). Requests, contexts and answers are arbitrary, and so is what each
// check says, in each cycle: what they compare is the bench's matter. Unbounded, by induction.
// cut: k_fail k_status k_at k_rec load_word

`include "frnic_qm.v"

`default_nettype none

module formal_qm (
    input wire          clk,
    input wire          clear,
    input wire          csr_req,
    input wire          csr_write,
    input wire [8:2]    csr_addr,
    input wire [31:0]   csr_wdata,
    input wire          refuse_valid,
    input wire          ring_valid,
    input wire [1023:0] ring_req,
    input wire          resetting,
    input wire          fatal,
    input wire          prealloc,
    input wire          mac_ready,
    input wire          sl_ready,
    input wire          sl_done,
    input wire          sl_live,
    input wire [7:0]    sl_status,
    input wire [1023:0] sl_rdata,
    input wire [447:0]  sl_rlive,
    input wire          take_ready,
    input wire          pool_empty,
    input wire          give_ready,
    input wire          rec_req_ready,
    input wire          rec_resp_valid,
    input wire          rec_resp_error,
    input wire          ev_ready,
    input wire          sweep
);
    reg rst = 1'b1;
    wire sl_valid, ev_ok, ev_failed;
    wire [1:0] sl_op;

    always @(posedge clk) begin
        rst <= 1'b0;
    end

    // An owner answers a request that it has taken, once.
    reg open = 1'b0;
    always @(posedge clk) begin
        open <= !rst && !clear && ((open && !sl_done) || (sl_valid && sl_ready));
    end
    always @* begin
        assume (!sl_done || open);
        assume (!sl_ready || sl_valid);
        // The pool gives to one that asks.
        assume (!take_ready || !pool_empty);
    end

    // Invariants: a request that was taken is not offered any more; its answer is waited for (PH_FETCH_WAIT, PH_SCAN_WAIT, PH_ACT_WAIT, PH_DROP_WAIT).
    (* hierconn, init = 5'd0 *) wire [4:0] \dut.ph_reg ;
    always @* begin
        assert (!(open && sl_valid));
        assert (!open || \dut.ph_reg == 5'd3 || \dut.ph_reg == 5'd6 || \dut.ph_reg == 5'd12 || \dut.ph_reg == 5'd15);
    end

    frnic_qm #(.LOG_QPS(1), .LOG_CQS(1), .LOG_EQS(1), .LOG_SRQS(1), .LOG_MRS(1), .LOG_GIDS(1), .LOG_PKEYS(1), .LOG_MCASTS(1), .LOG_UARS(1),
        .LOG_BUFS(1), .MAC_WAIT(3)) dut (
        .clk(clk), .rst(rst), .clear(clear), .csr_req(csr_req), .csr_write(csr_write), .csr_addr(csr_addr), .csr_wdata(csr_wdata),
        .refuse_valid(refuse_valid), .refuse_status(8'h28), .ring_valid(ring_valid), .ring_req(ring_req), .ring_owner(1'b1),
        .resetting(resetting), .fatal(fatal), .prealloc(prealloc), .mac_ready(mac_ready), .msix_vectors(12'd4), .time_ns(32'd0),
        .ev_ok(ev_ok), .ev_failed(ev_failed), .sl_valid(sl_valid), .sl_op(sl_op), .sl_ready(sl_ready), .sl_done(sl_done), .sl_live(sl_live), .sl_status(sl_status), .sl_rdata(sl_rdata),
        .sl_rlive(sl_rlive), .take_ready(take_ready), .take_buf(1'b0), .pool_empty(pool_empty), .give_ready(give_ready),
        .rec_req_ready(rec_req_ready), .rec_resp_valid(rec_resp_valid), .rec_resp_data(512'd0), .rec_resp_last(1'b1),
        .rec_resp_error(rec_resp_error), .ev_ready(ev_ready), .sweep(sweep)
    );

    // Not proven by never happening: with COVER this must fail, that is, a refused command and then one that writes can both come to their ends.
    reg refused = 1'b0, wrote = 1'b0;
    always @(posedge clk) begin
        if (ev_failed) refused <= 1'b1;
        if (refused && sl_valid && sl_ready && sl_op != 2'd0) wrote <= 1'b1;
    end
`ifdef COVER
    always @* assert (!(wrote && ev_ok));
`endif
endmodule
