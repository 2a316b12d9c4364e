// SPDX-License-Identifier: BSD-2-Clause
//
// Ethernet queue pair 0: context, doorbells, events, record of the transmit consumer index. The rings' work is in frnic_eth_rx and frnic_eth_tx.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_eth #(
    // log2 of the beats of each frame FIFO
    parameter LOG_DEPTH = 9
) (
    input  wire          clk,
    input  wire          rst,
    // Hot reset: the queue is gone; nothing is under way
    input  wire          clear,
    output wire          idle,
    // Settings
    input  wire          rx_en,
    input  wire          tx_en,
    // Command slot: 0 READ, 1 CREATE, 2 CLEAR; wdata = struct cmd_ethq 0x20..0x4f, rdata = the same, live0..3
    input  wire          slot_valid,
    output wire          slot_ready,
    input  wire [1:0]    slot_op,
    input  wire [383:0]  slot_wdata,
    output wire          slot_done,
    output wire [7:0]    slot_status,
    output wire [511:0]  slot_rdata,
    // Doorbells
    input  wire          db_valid,
    output wire          db_ready,
    input  wire [7:0]    db_type,
    input  wire [23:0]   db_number,
    input  wire [23:0]   db_index,
    output wire          db_bad,
    // Events
    output wire          ev_valid,
    input  wire          ev_ready,
    output wire [5:0]    ev_eqn,
    output wire [7:0]    ev_type,
    output wire [7:0]    ev_subtype,
    output wire [23:0]   ev_number,
    output wire [31:0]   ev_data,
    // Received frames; tuser = {copy of a RoCE frame that was sent, of one that came, bad: on the last beat}
    input  wire [511:0]  s_axis_tdata,
    input  wire [63:0]   s_axis_tkeep,
    input  wire          s_axis_tvalid,
    output wire          s_axis_tready,
    input  wire          s_axis_tlast,
    input  wire [2:0]    s_axis_tuser,
    // Frames to send
    output wire [511:0]  m_axis_tdata,
    output wire [63:0]   m_axis_tkeep,
    output wire          m_axis_tvalid,
    input  wire          m_axis_tready,
    output wire          m_axis_tlast,
    // frnic_dma_rd clients: 0 receive descriptors, 1 transmit descriptors, 2 frames to send
    output wire [2:0]    rd_req_valid,
    input  wire [2:0]    rd_req_ready,
    output wire [191:0]  rd_req_addr,
    output wire [38:0]   rd_req_len,
    input  wire [2:0]    rd_resp_valid,
    output wire [2:0]    rd_resp_ready,
    input  wire [511:0]  rd_resp_data,
    input  wire          rd_resp_last,
    input  wire          rd_resp_error,
    // frnic_dma_wr clients: 0 received frames, 1 completions, 2 record; the source lane is 0
    output wire [2:0]    wr_cmd_valid,
    input  wire [2:0]    wr_cmd_ready,
    output wire [191:0]  wr_cmd_addr,
    output wire [38:0]   wr_cmd_len,
    output wire [2:0]    wr_data_valid,
    input  wire [2:0]    wr_data_ready,
    output wire [1535:0] wr_data,
    input  wire [2:0]    wr_st_valid,
    input  wire          wr_st_error,
    // Counters
    output wire          cnt_tx,
    output wire [13:0]   cnt_tx_bytes,
    output wire          cnt_tx_err,
    output wire          cnt_rx,
    output wire [13:0]   cnt_rx_bytes,
    output wire          cnt_nobuf
);

    `include "frnic_hw.vh"

    localparam [1:0] OP_CREATE = 2'd1, OP_CLEAR = 2'd2;

    reg live_reg = 1'b0;
    /* verilator lint_off UNUSED */
    reg [383:0] ctx_reg = 384'd0;
    /* verilator lint_on UNUSED */
    reg [23:0] tx_pi_reg = 24'd0;
    reg [23:0] rx_pi_reg = 24'd0;
    reg closing_reg = 1'b0;
    reg done_reg = 1'b0;

    wire [23:0] rx_ci;
    wire [23:0] tx_ci;
    wire rx_idle;
    wire tx_idle;

    // struct cmd_ethq from byte 0x20 on
    wire [5:0] eqn = ctx_reg[37:32];
    wire [4:0] log_tx = ctx_reg[68:64];
    wire [4:0] log_rx = ctx_reg[76:72];
    wire [63:0] tx_base = ctx_reg[128 +: 64];
    wire [63:0] rx_base = ctx_reg[192 +: 64];
    wire [63:0] rxc_base = ctx_reg[256 +: 64];
    wire [63:0] dbrec = ctx_reg[320 +: 64];

    // ---- record of the transmit consumer index ----

    reg [23:0] told_reg = 24'd0;
    reg [23:0] telling_reg = 24'd0;
    reg rec_cmd_reg = 1'b0;
    reg rec_data_reg = 1'b0;
    reg rec_wait_reg = 1'b0;
    wire rec_busy = rec_cmd_reg || rec_data_reg || rec_wait_reg;
    wire rec_sent = rec_data_reg && wr_data_ready[2];

    assign wr_cmd_valid[2] = rec_cmd_reg;
    assign wr_cmd_addr[191:128] = dbrec;
    assign wr_cmd_len[38:26] = 13'd4;
    assign wr_data_valid[2] = rec_data_reg;
    assign wr_data[1535:1024] = {488'd0, telling_reg};

    // ---- arming ----

    reg arm_rx_reg = 1'b0;
    reg arm_tx_reg = 1'b0;
    reg [23:0] arm_rx_index_reg = 24'd0;
    reg [23:0] arm_tx_index_reg = 24'd0;
    reg ev_rx_reg = 1'b0;
    reg ev_tx_reg = 1'b0;
    reg [23:0] ev_rx_data_reg = 24'd0;
    reg [23:0] ev_tx_data_reg = 24'd0;

    wire [23:0] rx_past = rx_ci - arm_rx_index_reg;
    wire [23:0] tx_past = told_reg - arm_tx_index_reg;
    // One offer at a time: it must not change before it is taken. What has to wait stays armed.
    wire fire_rx = arm_rx_reg && !ev_valid && !rx_past[23] && rx_past != 24'd0;
    wire fire_tx = arm_tx_reg && !ev_valid && !fire_rx && !tx_past[23] && tx_past != 24'd0;

    // ---- doorbells ----

    wire [23:0] tx_ahead = db_index - tx_ci;
    wire [23:0] rx_ahead = db_index - rx_ci;
    wire tx_refuse = tx_ahead > 24'd1 << log_tx || tx_ahead < tx_pi_reg - tx_ci;
    wire rx_refuse = rx_ahead > 24'd1 << log_rx || rx_ahead < rx_pi_reg - rx_ci;
    wire known = live_reg && db_number == 24'd0;
    wire is_tx = db_type == `FRNIC_DB_TYPE_ETH_TX;
    wire is_rx = db_type == `FRNIC_DB_TYPE_ETH_RX;

    assign db_ready = 1'b1;
    assign db_bad = db_valid && (!known || (is_tx && tx_refuse) || (is_rx && rx_refuse));

    assign ev_valid = ev_rx_reg || ev_tx_reg;
    assign ev_eqn = eqn;
    assign ev_type = `FRNIC_EQE_TYPE_ETH;
    assign ev_subtype = ev_rx_reg ? 8'd1 : 8'd2;
    assign ev_number = 24'd0;
    assign ev_data = {8'd0, ev_rx_reg ? ev_rx_data_reg : ev_tx_data_reg};

    assign slot_ready = !closing_reg && !done_reg;
    assign slot_done = done_reg;
    assign slot_status = `FRNIC_STATUS_SUCCESS;
    assign slot_rdata = {8'd0, rx_ci, 8'd0, rx_pi_reg, 8'd0, tx_ci, 8'd0, tx_pi_reg, ctx_reg[383:32], live_reg, ctx_reg[30:0]};
    assign idle = rx_idle && tx_idle && !rec_busy && !ev_valid;

    always @(posedge clk) begin
        done_reg <= 1'b0;
        if (slot_valid && slot_ready) begin
            if (slot_op == OP_CREATE) begin
                live_reg <= 1'b1;
                ctx_reg <= slot_wdata;
                done_reg <= 1'b1;
            end else if (slot_op == OP_CLEAR) begin
                live_reg <= 1'b0;
                closing_reg <= 1'b1;
            end else begin
                done_reg <= 1'b1;
            end
        end
        // Destroyed when nothing of it is under way (R2.6).
        if (closing_reg && !live_reg && idle) begin
            closing_reg <= 1'b0;
            done_reg <= 1'b1;
        end

        if (live_reg && !rec_busy && tx_ci != told_reg) begin
            rec_cmd_reg <= 1'b1;
            telling_reg <= tx_ci;
        end
        if (rec_cmd_reg && wr_cmd_ready[2]) begin
            rec_cmd_reg <= 1'b0;
            rec_data_reg <= 1'b1;
        end
        if (rec_sent) begin
            rec_data_reg <= 1'b0;
            rec_wait_reg <= 1'b1;
            told_reg <= telling_reg;
        end
        if (wr_st_valid[2]) begin
            rec_wait_reg <= 1'b0;
        end

        if (fire_rx) begin
            arm_rx_reg <= 1'b0;
            ev_rx_reg <= 1'b1;
            ev_rx_data_reg <= rx_ci;
        end
        if (fire_tx) begin
            arm_tx_reg <= 1'b0;
            ev_tx_reg <= 1'b1;
            ev_tx_data_reg <= told_reg;
        end
        if (ev_valid && ev_ready) begin
            ev_rx_reg <= 1'b0;
            ev_tx_reg <= 1'b0;
        end

        if (db_valid && !db_bad) begin
            case (db_type)
                `FRNIC_DB_TYPE_ETH_TX: begin
                    tx_pi_reg <= db_index;
                end
                `FRNIC_DB_TYPE_ETH_RX: begin
                    rx_pi_reg <= db_index;
                end
                `FRNIC_DB_TYPE_ETH_ARM_RX: begin
                    arm_rx_reg <= 1'b1;
                    arm_rx_index_reg <= db_index;
                end
                default: begin
                    arm_tx_reg <= 1'b1;
                    arm_tx_index_reg <= db_index;
                end
            endcase
        end
        if (!live_reg) begin
            tx_pi_reg <= 24'd0;
            rx_pi_reg <= 24'd0;
            arm_rx_reg <= 1'b0;
            arm_tx_reg <= 1'b0;
            told_reg <= 24'd0;
        end
        if (clear) begin
            live_reg <= 1'b0;
        end
        if (rst) begin
            live_reg <= 1'b0;
            closing_reg <= 1'b0;
            done_reg <= 1'b0;
            rec_cmd_reg <= 1'b0;
            rec_data_reg <= 1'b0;
            rec_wait_reg <= 1'b0;
            ev_rx_reg <= 1'b0;
            ev_tx_reg <= 1'b0;
        end
    end

    frnic_eth_rx #(
        .LOG_DEPTH(LOG_DEPTH)
    ) rx (
        .clk(clk),
        .rst(rst),
        .live(live_reg),
        .rx_en(rx_en),
        .log_size(log_rx),
        .base(rx_base),
        .cqe_base(rxc_base),
        .pi(rx_pi_reg),
        .ci(rx_ci),
        .idle(rx_idle),
        .s_axis_tdata(s_axis_tdata),
        .s_axis_tkeep(s_axis_tkeep),
        .s_axis_tvalid(s_axis_tvalid),
        .s_axis_tready(s_axis_tready),
        .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(s_axis_tuser),
        .rd_req_valid(rd_req_valid[0]),
        .rd_req_ready(rd_req_ready[0]),
        .rd_req_addr(rd_req_addr[63:0]),
        .rd_req_len(rd_req_len[12:0]),
        .rd_resp_valid(rd_resp_valid[0]),
        .rd_resp_data(rd_resp_data),
        .rd_resp_error(rd_resp_error),
        .wr_cmd_valid(wr_cmd_valid[1:0]),
        .wr_cmd_ready(wr_cmd_ready[1:0]),
        .wr_cmd_addr(wr_cmd_addr[127:0]),
        .wr_cmd_len(wr_cmd_len[25:0]),
        .wr_data_valid(wr_data_valid[1:0]),
        .wr_data_ready(wr_data_ready[1:0]),
        .wr_data(wr_data[1023:0]),
        .wr_st_valid(wr_st_valid[1:0]),
        .wr_st_error(wr_st_error),
        .cnt_rx(cnt_rx),
        .cnt_rx_bytes(cnt_rx_bytes),
        .cnt_nobuf(cnt_nobuf)
    );

    assign rd_resp_ready[0] = 1'b1;

    frnic_eth_tx #(
        .LOG_DEPTH(LOG_DEPTH)
    ) tx (
        .clk(clk),
        .rst(rst),
        .live(live_reg),
        .tx_en(tx_en),
        .log_size(log_tx),
        .base(tx_base),
        .pi(tx_pi_reg),
        .ci(tx_ci),
        .idle(tx_idle),
        .rd_req_valid(rd_req_valid[2:1]),
        .rd_req_ready(rd_req_ready[2:1]),
        .rd_req_addr(rd_req_addr[191:64]),
        .rd_req_len(rd_req_len[38:13]),
        .rd_resp_valid(rd_resp_valid[2:1]),
        .rd_resp_ready(rd_resp_ready[2:1]),
        .rd_resp_data(rd_resp_data),
        .rd_resp_last(rd_resp_last),
        .rd_resp_error(rd_resp_error),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready),
        .m_axis_tlast(m_axis_tlast),
        .cnt_tx(cnt_tx),
        .cnt_tx_bytes(cnt_tx_bytes),
        .cnt_tx_err(cnt_tx_err)
    );

endmodule

`resetall
