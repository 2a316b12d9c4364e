// SPDX-License-Identifier: BSD-2-Clause
//
// Command ring: fetches request images ahead, feeds the QM in order, writes the response images, raises CMD events. What a command means is the QM's
// business. Documentation/microarchitecture.md, 3.3.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_cmdq #(
    // log2 of the entries fetched ahead
    parameter LOG_AHEAD = 3
) (
    input  wire          clk,
    input  wire          rst,
    // Pulse: hot reset; what runs ends without a trace but the writes that are under way
    input  wire          clear,
    // Registers (frnic_csr); start is a pulse: the ring begins at index 0. stop, a pulse: more commands than entries
    input  wire          en,
    input  wire          start,
    output reg           stop,
    input  wire [63:0]   base,
    input  wire [3:0]    log_size,
    input  wire          eq_en,
    input  wire [23:0]   pi,
    output reg  [23:0]   ci,
    input  wire          resetting,
    input  wire          fatal,
    // A read or write failed: FATAL_CODE CMDQ_DMA
    output reg           fatal_valid,
    output reg  [23:0]   fatal_index,
    // Queue manager
    output reg           ring_valid,
    input  wire          ring_ready,
    output wire [1023:0] ring_req,
    output wire          ring_owner,
    input  wire          resp_valid,
    input  wire [63:0]   resp_data,
    input  wire          resp_last,
    // Client of frnic_dma_rd
    output reg           rd_req_valid,
    input  wire          rd_req_ready,
    output reg  [63:0]   rd_req_addr,
    output wire [12:0]   rd_req_len,
    input  wire          rd_resp_valid,
    output wire          rd_resp_ready,
    input  wire [511:0]  rd_resp_data,
    input  wire          rd_resp_last,
    input  wire          rd_resp_error,
    // Client of frnic_dma_wr
    output reg           wr_cmd_valid,
    input  wire          wr_cmd_ready,
    output reg  [63:0]   wr_cmd_addr,
    output reg  [12:0]   wr_cmd_len,
    output wire          wr_data_valid,
    input  wire          wr_data_ready,
    output wire [511:0]  wr_data,
    input  wire          wr_st_valid,
    input  wire          wr_st_error,
    // CMD event for the ring's EQ, data = index
    output reg           ev_valid,
    input  wire          ev_ready,
    output reg  [23:0]   ev_index,
    // Nothing is under way
    output wire          idle
);

    localparam AHEAD = 1 << LOG_AHEAD;
    localparam [2:0] ST_IDLE = 3'd0, ST_OFFER = 3'd1, ST_RUN = 3'd2, ST_CMD = 3'd3, ST_DATA = 3'd4, ST_STATUS = 3'd5, ST_EVENT = 3'd6;

    reg [2:0] st_reg = ST_IDLE;
    reg orphan_reg = 1'b0; // its ring is gone: no index moves, no event

    // ---- Fetch: 128 bytes hold all that a request says ----
    (* ram_style = "distributed" *)
    reg [511:0] lo_mem [0:AHEAD-1];
    (* ram_style = "distributed" *)
    reg [511:0] hi_mem [0:AHEAD-1];
    reg [AHEAD-1:0] err_mem;
    reg [23:0] fetch_reg = 24'd0; // next to ask for
    reg [LOG_AHEAD:0] open_reg = {(LOG_AHEAD+1){1'b0}}; // asked for, not answered
    reg [LOG_AHEAD:0] skip_reg = {(LOG_AHEAD+1){1'b0}}; // of those, not wanted any more
    reg [LOG_AHEAD:0] have_reg = {(LOG_AHEAD+1){1'b0}}; // answered, not yet done
    reg [LOG_AHEAD-1:0] wr_ptr_reg = {LOG_AHEAD{1'b0}};
    reg [LOG_AHEAD-1:0] rd_ptr_reg = {LOG_AHEAD{1'b0}};
    reg second_reg = 1'b0;

    wire [23:0] size = 24'd1 << log_size;
    wire [23:0] mask = size - 1'b1;
    wire [23:0] filled = pi - ci;
    wire live = en && !resetting && !fatal && !stop;
    wire too_many = live && filled > size;
    wire flush = clear || start || stop;
    wire room = {1'b0, open_reg} + {1'b0, have_reg} < AHEAD;
    wire answered = rd_resp_valid && rd_resp_last;
    wire wanted = answered && skip_reg == {(LOG_AHEAD+1){1'b0}};
    wire taken = st_reg == ST_OFFER && ring_valid && ring_ready;
    wire bad = st_reg == ST_IDLE && have_reg != {(LOG_AHEAD+1){1'b0}} && live && err_mem[rd_ptr_reg];

    assign rd_req_len = 13'd128;
    assign rd_resp_ready = 1'b1;
    assign ring_req = {hi_mem[rd_ptr_reg], lo_mem[rd_ptr_reg]};
    assign ring_owner = !ci[{1'b0, log_size}];

    always @(posedge clk) begin
        if (rd_resp_valid) begin
            second_reg <= !rd_resp_last;
            if (!second_reg) begin
                lo_mem[wr_ptr_reg] <= rd_resp_data;
            end else begin
                hi_mem[wr_ptr_reg] <= rd_resp_data;
            end
            if (wanted) begin
                err_mem[wr_ptr_reg] <= rd_resp_error;
                wr_ptr_reg <= wr_ptr_reg + 1'b1;
            end
        end
        if (rd_req_ready) begin
            rd_req_valid <= 1'b0;
        end
        if (live && !too_many && !flush && !rd_req_valid && fetch_reg != pi && room && skip_reg == {(LOG_AHEAD+1){1'b0}}) begin
            rd_req_valid <= 1'b1;
            rd_req_addr <= base + {31'd0, fetch_reg & mask, 9'd0};
            fetch_reg <= fetch_reg + 1'b1;
            open_reg <= open_reg + 1'b1 - {{LOG_AHEAD{1'b0}}, answered};
        end else begin
            open_reg <= open_reg - {{LOG_AHEAD{1'b0}}, answered};
        end
        have_reg <= have_reg + {{LOG_AHEAD{1'b0}}, wanted} - {{LOG_AHEAD{1'b0}}, taken || bad};
        if (taken || bad) begin
            rd_ptr_reg <= rd_ptr_reg + 1'b1;
        end
        if (answered && skip_reg != {(LOG_AHEAD+1){1'b0}}) begin
            skip_reg <= skip_reg - 1'b1;
        end
        if (flush) begin
            skip_reg <= open_reg - {{LOG_AHEAD{1'b0}}, answered};
            have_reg <= {(LOG_AHEAD+1){1'b0}};
            rd_ptr_reg <= wr_ptr_reg + {{(LOG_AHEAD-1){1'b0}}, wanted};
            fetch_reg <= 24'd0;
        end
        if (rst) begin
            second_reg <= 1'b0;
            rd_req_valid <= 1'b0;
            open_reg <= {(LOG_AHEAD+1){1'b0}};
            skip_reg <= {(LOG_AHEAD+1){1'b0}};
            wr_ptr_reg <= {LOG_AHEAD{1'b0}};
            rd_ptr_reg <= {LOG_AHEAD{1'b0}};
        end
    end

    // ---- One command after the other ----
    (* ram_style = "distributed" *)
    reg [511:0] resp_mem [0:3];
    reg [447:0] part_reg;
    reg [4:0] word_reg;
    reg [63:0] resp_addr_reg;
    reg second_cmd_reg;
    reg [1:0] beat_reg;
    reg [1:0] beats_reg; // statuses to come
    reg failed_reg;

    assign wr_data_valid = st_reg == ST_DATA;
    assign wr_data = resp_mem[beat_reg];
    assign idle = st_reg == ST_IDLE && open_reg == {(LOG_AHEAD+1){1'b0}} && !ev_valid && !(live && (have_reg != {(LOG_AHEAD+1){1'b0}} || fetch_reg != pi));

    always @(posedge clk) begin
        stop <= too_many && st_reg == ST_IDLE;
        fatal_valid <= 1'b0;
        if (wr_st_valid) begin
            beats_reg <= beats_reg - 1'b1;
            failed_reg <= failed_reg || wr_st_error;
        end
        case (st_reg)
            ST_IDLE: begin
                orphan_reg <= 1'b0;
                word_reg <= 5'd0;
                second_cmd_reg <= 1'b0;
                beat_reg <= 2'd0;
                beats_reg <= 2'd2;
                failed_reg <= 1'b0;
                resp_addr_reg <= base + {31'd0, ci & mask, 9'd0} + 64'd256;
                if (bad) begin
                    fatal_valid <= !flush;
                    fatal_index <= ci;
                end else if (have_reg != {(LOG_AHEAD+1){1'b0}} && live && !too_many && !flush) begin
                    ring_valid <= 1'b1;
                    st_reg <= ST_OFFER;
                end
            end

            ST_OFFER: begin
                if (ring_ready) begin
                    ring_valid <= 1'b0;
                    st_reg <= ST_RUN;
                end else if (!live || flush) begin
                    // It has not begun, and what it was read from may be gone.
                    ring_valid <= 1'b0;
                    st_reg <= ST_IDLE;
                end
            end

            ST_RUN: begin
                if (resp_valid) begin
                    word_reg <= word_reg + 1'b1;
                    part_reg <= {resp_data, part_reg[447:64]};
                    if (resp_last) begin
                        st_reg <= ST_CMD;
                    end
                end
            end

            // 192 bytes, then the last 64: the status word hands the entry over and so must be last.
            ST_CMD: begin
                wr_cmd_valid <= 1'b1;
                wr_cmd_addr <= second_cmd_reg ? resp_addr_reg + 64'd192 : resp_addr_reg;
                wr_cmd_len <= second_cmd_reg ? 13'd64 : 13'd192;
                if (wr_cmd_valid && wr_cmd_ready) begin
                    wr_cmd_valid <= 1'b0;
                    st_reg <= ST_DATA;
                end
            end

            ST_DATA: begin
                if (wr_data_ready) begin
                    beat_reg <= beat_reg + 1'b1;
                    if (beat_reg == 2'd2) begin
                        second_cmd_reg <= 1'b1;
                        st_reg <= ST_CMD;
                    end else if (beat_reg == 2'd3) begin
                        st_reg <= ST_STATUS;
                    end
                end
            end

            ST_STATUS: begin
                if (beats_reg == 2'd0) begin
                    if (failed_reg || orphan_reg) begin
                        fatal_valid <= failed_reg && !orphan_reg && !flush;
                        fatal_index <= ci;
                        st_reg <= ST_IDLE;
                    end else begin
                        ci <= ci + 1'b1;
                        ev_index <= ci;
                        ev_valid <= eq_en;
                        st_reg <= eq_en ? ST_EVENT : ST_IDLE;
                    end
                end
            end

            default: begin // ST_EVENT
                if (ev_ready) begin
                    ev_valid <= 1'b0;
                    st_reg <= ST_IDLE;
                end
            end
        endcase
        if (start || clear) begin
            ci <= 24'd0;
            orphan_reg <= 1'b1;
        end
        // A hot reset drops the command in the QM; a write that has begun goes on to its end.
        if (clear && (st_reg == ST_OFFER || st_reg == ST_RUN || st_reg == ST_EVENT || (st_reg == ST_CMD && !second_cmd_reg && !wr_cmd_valid))) begin
            st_reg <= ST_IDLE;
            ring_valid <= 1'b0;
            ev_valid <= 1'b0;
        end
        if (rst) begin
            st_reg <= ST_IDLE;
            ci <= 24'd0;
            stop <= 1'b0;
            fatal_valid <= 1'b0;
            ring_valid <= 1'b0;
            wr_cmd_valid <= 1'b0;
            ev_valid <= 1'b0;
        end
    end

    always @(posedge clk) begin
        if (resp_valid && word_reg[2:0] == 3'd7) begin
            resp_mem[word_reg[4:3]] <= {resp_data, part_reg};
        end
    end

endmodule

`resetall
