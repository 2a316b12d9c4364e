// SPDX-License-Identifier: BSD-2-Clause
//
// Puts the data of a READ response or atomic acknowledgement where its WQE says: fetches the WQE again (it is not kept; the last one is), checks the pieces' keys
// before the first byte moves, writes, and waits until all of it is in memory. As the model's read_response(), atomic_response() and sge_write().

`resetall
`timescale 1ns / 1ps
`default_nettype none

`include "frnic_hw.vh"

module frnic_req_data #(
    // log2 of the QPs
    parameter LOG_QPS = 12
) (
    input  wire               clk,
    input  wire               rst,
    // A job, held until done; code: enum vendor_err, 0 if all is in memory
    input  wire               go_valid,
    output wire               done,
    output wire [7:0]         done_code,
    /* verilator lint_off UNUSED */
    input  wire [1023:0]      go_conn,
    /* verilator lint_on UNUSED */
    input  wire [23:0]        go_qpn,
    input  wire [23:0]        go_index,
    input  wire [2:0]         go_units,
    input  wire [7:0]         go_op,
    input  wire [31:0]        go_len,
    // Bytes off to off + want of the message; they stand in the frame from byte at on; an atomic's value is given here
    input  wire [31:0]        go_off,
    input  wire [12:0]        go_want,
    input  wire [6:0]         go_at,
    input  wire               go_atomic,
    input  wire [63:0]        go_value,
    // The WQE's last: it is not kept any longer
    input  wire               go_last,
    // The frame; what is behind the payload stays there
    input  wire [511:0]       s_axis_tdata,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    // The QP begins anew: what is kept of it is forgotten
    input  wire               bump_valid,
    input  wire [LOG_QPS-1:0] bump_index,
    // frnic_xlate, while hold is high and it is ours
    output wire               xl_hold,
    output wire               xl_valid,
    input  wire               xl_ready,
    output wire [31:0]        xl_key,
    output wire [23:0]        xl_pd,
    output wire [23:0]        xl_qpn,
    output wire               xl_kernel,
    output wire [63:0]        xl_va,
    output wire [31:0]        xl_len,
    output wire               xl_check,
    input  wire               xl_v_valid,
    input  wire [7:0]         xl_v_code,
    input  wire               xl_p_valid,
    output wire               xl_p_ready,
    input  wire [63:0]        xl_p_addr,
    input  wire [12:0]        xl_p_len,
    input  wire               xl_p_last,
    input  wire               xl_p_error,
    // To frnic_dma_rd: WQEs, with a tag as frnic_wqe_fetch has it
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
    // To frnic_dma_wr
    output wire               wr_cmd_valid,
    input  wire               wr_cmd_ready,
    output wire [63:0]        wr_cmd_addr,
    output wire [12:0]        wr_cmd_len,
    output wire [5:0]         wr_cmd_src_off,
    output wire               wr_data_valid,
    input  wire               wr_data_ready,
    output wire [511:0]       wr_data,
    input  wire               wr_st_valid,
    input  wire               wr_st_error,
    output wire               idle
);

    localparam [3:0] D_IDLE = 4'd0, D_FETCH = 4'd1, D_UNITS = 4'd2, D_END = 4'd3, D_SAME = 4'd4, D_SEEK = 4'd5, D_PART = 4'd6, D_VERDICT = 4'd7,
                     D_PIECE = 4'd8, D_SKIP = 4'd9, D_DATA = 4'd10, D_WAIT = 4'd11, D_DONE = 4'd12;

    reg [3:0] state_reg = D_IDLE;
    reg kept_reg = 1'b0;
    reg [23:0] kept_qpn_reg;
    reg [23:0] kept_index_reg;
    reg [2559:0] wqe_reg;
    reg [2:0] unit_reg;
    reg [7:0] code_reg;
    reg write_reg; // second walk
    reg [4:0] sge_reg;
    reg [31:0] seek_reg; // bytes of the list before the first wanted one
    reg [12:0] left_reg;
    reg [12:0] pos_reg;  // of the next byte in the frame
    reg [6:0] beat_reg;  // beats taken
    reg [12:0] end_reg;  // of the piece being written
    reg last_reg;        // it is the entry's last
    reg [5:0] writes_reg = 6'd0;
    reg err_reg;

    wire [7:0] q_op = wqe_reg[`FRNIC_WQE_CTRL_W0_OPCODE_LSB +: 8];
    wire [31:0] q_len = go_atomic ? 32'd8 : wqe_reg[`FRNIC_WQE_CTRL_LENGTH_LSB +: 32];
    wire [4:0] q_num = go_atomic ? 5'd1 : wqe_reg[`FRNIC_WQE_CTRL_W3_NUM_SGE_LSB +: 5];
    wire [4:0] sge_at = (go_atomic ? 5'd3 : 5'd2) + sge_reg;
    wire [127:0] sge_now = wqe_reg[{sge_at, 7'd0} +: 128];
    wire [63:0] sge_addr = sge_now[`FRNIC_SGE_ADDR_LSB +: 64];
    wire [31:0] sge_len = sge_now[`FRNIC_SGE_LENGTH_LSB +: 32];
    wire [31:0] sge_rest = sge_len - seek_reg;
    wire [12:0] part = sge_rest < {19'd0, left_reg} ? sge_rest[12:0] : left_reg;
    // It is no longer the WQE that was sent.
    wire other = q_op != go_op || q_len != go_len || q_num > 5'd16 || wqe_reg[`FRNIC_WQE_CTRL_W1_UNITS_LSB +: 3] != go_units;
    wire have = kept_reg && kept_qpn_reg == go_qpn && kept_index_reg == go_index;

    // ---- The WQE ----
    wire g_ready, w_valid, w_last;
    wire [7:0] w_code;
    wire [511:0] w_data;
    wire e_valid, f_idle;
    /* verilator lint_off UNUSED */
    wire w_first, e_stale, f_pushed;
    wire [23:0] w_qpn;
    wire [23:0] w_index;
    wire [23:0] e_qpn;
    wire [23:0] e_next;
    /* verilator lint_on UNUSED */

    frnic_wqe_fetch #(.LOG_QPS(LOG_QPS), .LOG_PAGES(4), .LOG_FETCHES(2), .LOG_UNITS(4)) fetch (
        .clk(clk), .rst(rst), .g_valid(state_reg == D_FETCH), .g_ready(g_ready), .g_qpn(go_qpn), .g_index(go_index), .g_avail({21'd0, go_units}),
        .g_base(go_conn[`FRNIC_CMD_QP_SQ_BASE_LSB +: 64]), .g_log(go_conn[`FRNIC_CMD_QP_LOG_SQ_LSB +: 5]),
        .g_listed(go_conn[`FRNIC_CMD_QP_RING_LEVELS_LSB]), .g_shift(go_conn[`FRNIC_CMD_QP_SQ_PAGE_SHIFT_LSB +: 5]),
        .w_valid(w_valid), .w_ready(state_reg == D_UNITS || state_reg == D_END), .w_qpn(w_qpn), .w_index(w_index), .w_first(w_first), .w_last(w_last), .w_code(w_code),
        .w_data(w_data), .e_valid(e_valid), .e_qpn(e_qpn), .e_next(e_next), .e_stale(e_stale), .bump_valid(bump_valid), .bump_index(bump_index),
        .pu_valid(1'b0), .pu_qpn(24'd0), .pu_index(24'd0), .pu_units(3'd0), .pu_data(2560'd0), .req_valid(req_valid), .req_ready(req_ready),
        .req_addr(req_addr), .req_len(req_len), .req_tag(req_tag), .resp_valid(resp_valid), .resp_ready(resp_ready), .resp_data(resp_data),
        .resp_last(resp_last), .resp_error(resp_error), .resp_tag(resp_tag), .idle(f_idle), .ev_pushed(f_pushed)
    );

    // ---- Keys ----
    assign xl_hold = state_reg >= D_SEEK && state_reg <= D_DATA;
    assign xl_valid = state_reg == D_PART && sge_rest != 32'd0;
    assign xl_key = sge_now[`FRNIC_SGE_LKEY_LSB +: 32];
    assign xl_pd = go_conn[`FRNIC_CMD_QP_PD_PD_LSB +: 24];
    assign xl_qpn = go_qpn;
    assign xl_kernel = go_conn[`FRNIC_CMD_QP_QP_FLAGS_LSB + 1];
    assign xl_va = sge_addr + {32'd0, seek_reg};
    assign xl_len = {19'd0, part};
    assign xl_check = !write_reg;
    assign xl_p_ready = state_reg == D_PIECE && (xl_p_error || wr_cmd_ready);

    // ---- Writes: a beat that two pieces share is shown twice ----
    assign wr_cmd_valid = state_reg == D_PIECE && xl_p_valid && !xl_p_error;
    assign wr_cmd_addr = xl_p_addr;
    assign wr_cmd_len = xl_p_len;
    assign wr_cmd_src_off = pos_reg[5:0];
    /* verilator lint_off UNUSED */
    wire [12:0] end_at = end_reg - 13'd1;
    /* verilator lint_on UNUSED */
    wire final_beat = beat_reg == end_at[12:6];
    wire whole = !final_beat || end_reg[5:0] == 6'd0;
    assign wr_data_valid = state_reg == D_DATA && (go_atomic || s_axis_tvalid);
    assign wr_data = go_atomic ? {448'd0, go_value} : s_axis_tdata;
    assign s_axis_tready = (state_reg == D_SKIP && !go_atomic && beat_reg != pos_reg[12:6]) ||
                           (state_reg == D_DATA && !go_atomic && wr_data_ready && whole);
    wire beat = s_axis_tvalid && s_axis_tready;

    assign done = state_reg == D_DONE;
    assign done_code = code_reg;
    assign idle = state_reg == D_IDLE && f_idle;

    always @(posedge clk) begin
        writes_reg <= writes_reg + {5'd0, wr_cmd_valid && wr_cmd_ready} - {5'd0, wr_st_valid};
        if (wr_st_valid && wr_st_error) begin
            err_reg <= 1'b1;
        end
        if (beat) begin
            beat_reg <= beat_reg + 7'd1;
        end
        case (state_reg)
            D_IDLE: begin
                unit_reg <= 3'd0;
                code_reg <= 8'd0;
                err_reg <= 1'b0;
                beat_reg <= 7'd0;
                write_reg <= 1'b0;
                if (go_valid) begin
                    state_reg <= have ? D_SAME : D_FETCH;
                end
            end
            D_FETCH: begin
                kept_reg <= 1'b0;
                if (g_ready) begin
                    state_reg <= D_UNITS;
                end
            end
            D_UNITS: begin
                if (w_valid) begin
                    wqe_reg[{unit_reg, 9'd0} +: 512] <= w_data;
                    unit_reg <= unit_reg + 3'd1;
                    code_reg <= w_code;
                    if (w_last) begin
                        kept_reg <= w_code == 8'd0;
                        kept_qpn_reg <= go_qpn;
                        kept_index_reg <= go_index;
                        state_reg <= D_END;
                    end
                end else if (e_valid) begin
                    // Dropped: the QP began anew.
                    code_reg <= `FRNIC_VENDOR_ERR_BAD_WQE_INDEX;
                    state_reg <= D_DONE;
                end
            end
            // Units behind the WQE's end go: it became shorter.
            D_END: begin
                if (e_valid) begin
                    state_reg <= D_SAME;
                end
            end
            // Software may not touch a WQE in flight.
            D_SAME: begin
                sge_reg <= 5'd0;
                seek_reg <= go_off;
                left_reg <= go_want;
                pos_reg <= go_atomic ? 13'd0 : {6'd0, go_at};
                if (code_reg == 8'd0 && other) begin
                    code_reg <= `FRNIC_VENDOR_ERR_BAD_WQE_INDEX;
                end
                state_reg <= code_reg != 8'd0 || other || go_want == 13'd0 ? D_DONE : D_SEEK;
            end
            D_SEEK: begin
                if (sge_reg == q_num) begin
                    code_reg <= `FRNIC_VENDOR_ERR_BAD_LENGTH;
                    state_reg <= D_WAIT;
                end else if (seek_reg >= sge_len) begin
                    seek_reg <= seek_reg - sge_len;
                    sge_reg <= sge_reg + 5'd1;
                end else begin
                    state_reg <= D_PART;
                end
            end
            D_PART: begin
                if (xl_ready) begin
                    state_reg <= D_VERDICT;
                end
            end
            D_VERDICT: begin
                if (xl_v_valid) begin
                    if (xl_v_code != 8'd0) begin
                        code_reg <= xl_v_code;
                        state_reg <= D_WAIT;
                    end else if (write_reg) begin
                        state_reg <= D_PIECE;
                    end else begin
                        sge_reg <= sge_reg + 5'd1;
                        seek_reg <= 32'd0;
                        left_reg <= left_reg - part;
                        state_reg <= D_SEEK;
                        if (left_reg == part) begin
                            // All may be written.
                            write_reg <= 1'b1;
                            sge_reg <= 5'd0;
                            seek_reg <= go_off;
                            left_reg <= go_want;
                        end
                    end
                end
            end
            D_PIECE: begin
                end_reg <= pos_reg + xl_p_len;
                last_reg <= xl_p_last;
                if (xl_p_valid && xl_p_error) begin
                    code_reg <= `FRNIC_VENDOR_ERR_DMA_WRITE;
                    state_reg <= D_WAIT;
                end else if (xl_p_valid && wr_cmd_ready) begin
                    seek_reg <= seek_reg + {19'd0, xl_p_len};
                    left_reg <= left_reg - xl_p_len;
                    state_reg <= D_SKIP;
                end
            end
            D_SKIP: begin
                if (go_atomic || beat_reg == pos_reg[12:6]) begin
                    state_reg <= D_DATA;
                end
            end
            D_DATA: begin
                if (wr_data_valid && wr_data_ready && (go_atomic || final_beat)) begin
                    pos_reg <= end_reg;
                    state_reg <= !last_reg ? D_PIECE : left_reg == 13'd0 ? D_WAIT : D_SEEK;
                end
            end
            D_WAIT: begin
                if (writes_reg == 6'd0) begin
                    if (err_reg) begin
                        code_reg <= `FRNIC_VENDOR_ERR_DMA_WRITE;
                    end
                    state_reg <= D_DONE;
                end
            end
            default: begin // D_DONE
                kept_reg <= kept_reg && !go_last;
                state_reg <= D_IDLE;
            end
        endcase
        if (bump_valid && bump_index == kept_qpn_reg[LOG_QPS-1:0]) begin
            kept_reg <= 1'b0;
        end
        if (rst) begin
            state_reg <= D_IDLE;
            kept_reg <= 1'b0;
            writes_reg <= 6'd0;
        end
    end

endmodule

`resetall
