// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: the queue manager runs one command at a time, writes no table before all checks have passed twice, and ends every command as long as the
// owners of the contexts answer: a rank falls in each step (assertions in frnic_qm.v). Requests, contexts and answers are arbitrary.
// depth: bmc 6 k 2

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
    wire sl_valid;

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

    frnic_qm #(.LOG_QPS(1), .LOG_CQS(1), .LOG_EQS(1), .LOG_SRQS(1), .LOG_MRS(1), .LOG_GIDS(1), .LOG_PKEYS(1), .LOG_MCASTS(1), .LOG_UARS(1),
        .LOG_BUFS(1), .MAC_WAIT(3)) dut (
        .clk(clk), .rst(rst), .clear(clear), .csr_req(csr_req), .csr_write(csr_write), .csr_addr(csr_addr), .csr_wdata(csr_wdata),
        .refuse_valid(refuse_valid), .refuse_status(8'h28), .ring_valid(ring_valid), .ring_req(ring_req), .ring_owner(1'b1),
        .resetting(resetting), .fatal(fatal), .prealloc(prealloc), .mac_ready(mac_ready), .msix_vectors(12'd4), .time_ns(32'd0),
        .sl_valid(sl_valid), .sl_ready(sl_ready), .sl_done(sl_done), .sl_live(sl_live), .sl_status(sl_status), .sl_rdata(sl_rdata),
        .sl_rlive(sl_rlive), .take_ready(take_ready), .take_buf(1'b0), .pool_empty(pool_empty), .give_ready(give_ready),
        .rec_req_ready(rec_req_ready), .rec_resp_valid(rec_resp_valid), .rec_resp_data(512'd0), .rec_resp_last(1'b1),
        .rec_resp_error(rec_resp_error), .ev_ready(ev_ready), .sweep(sweep)
    );
endmodule
