// SPDX-License-Identifier: BSD-2-Clause
//
// BAR0: an AXI4-Lite slave that decodes the register map of frnic_hw.vh, keeps the CTRL, ETH and TRIG registers, the fatal state and the device's own
// events (port, trigger, fatal). Command images, counters and the doorbell log are behind side ports. Documentation/microarchitecture.md, 3.1.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_csr #(
    // Table sizes as reported
    parameter LOG_QPS = 12,
    parameter LOG_CQS = 12,
    parameter LOG_EQS = 6,
    parameter LOG_SRQS = 10,
    parameter LOG_MRS = 16,
    parameter LOG_GIDS = 7,
    parameter LOG_PKEYS = 7,
    parameter LOG_MCASTS = 8,
    parameter LOG_UARS = 10,
    parameter LOG_BUFS = 9,
    parameter MACS = 16,
    parameter ETHQS = 1,
    parameter LOG_CQE = 18,
    parameter LOG_SQ = 17,
    parameter LOG_RQ = 14,
    parameter LOG_EQE = 16,
    // Limits as reported
    parameter SGES = 16,
    parameter INLINE = 256,
    parameter RD_ATOMIC = 16,
    parameter ETH_MTU = 9000,
    parameter MAX_FRAME = 9600,
    // Bits of the FEATURES register; REVISION of BUILD
    parameter [31:0] FEATURES = 32'd0,
    parameter [23:0] REVISION = 24'd1,
    // Cycles in which a side port must answer; 0 is read else
    parameter SIDE_WAIT = 64
) (
    input  wire         clk,
    input  wire         rst,
    // AXI4-Lite
    /* verilator lint_off UNUSED */
    input  wire [15:0]  s_axil_awaddr,
    /* verilator lint_on UNUSED */
    input  wire         s_axil_awvalid,
    output wire         s_axil_awready,
    input  wire [31:0]  s_axil_wdata,
    input  wire [3:0]   s_axil_wstrb,
    input  wire         s_axil_wvalid,
    output wire         s_axil_wready,
    output reg  [1:0]   s_axil_bresp,
    output reg          s_axil_bvalid,
    input  wire         s_axil_bready,
    /* verilator lint_off UNUSED */
    input  wire [15:0]  s_axil_araddr,
    /* verilator lint_on UNUSED */
    input  wire         s_axil_arvalid,
    output wire         s_axil_arready,
    output reg  [31:0]  s_axil_rdata,
    output wire [1:0]   s_axil_rresp,
    output reg          s_axil_rvalid,
    input  wire         s_axil_rready,
    // Side ports: a pulse, answered by a pulse
    output reg          qm_req,
    output reg          cnt_req,
    output reg          dbs_req,
    output reg          side_write,
    output wire [15:0]  side_addr,
    output wire [31:0]  side_wdata,
    input  wire         qm_done,
    input  wire [31:0]  qm_rdata,
    input  wire         cnt_done,
    input  wire [31:0]  cnt_rdata,
    input  wire         dbs_done,
    input  wire [31:0]  dbs_rdata,
    // Straps and state
    input  wire [63:0]  time_ns,
    input  wire [47:0]  cfg_mac,
    input  wire [15:0]  cfg_push_bytes,
    input  wire [11:0]  cfg_msix_vectors,
    input  wire         link_up,
    input  wire         mac_ready,
    input  wire [2:0]   qm_state,
    input  wire [7:0]   qm_last_status,
    input  wire [7:0]   qm_last_error,
    input  wire [7:0]   qm_last_opcode,
    input  wire [31:0]  free_qps,
    input  wire [31:0]  free_cqs,
    input  wire [31:0]  free_eqs,
    input  wire [31:0]  free_srqs,
    input  wire [31:0]  free_mrs,
    input  wire [31:0]  free_bufs,
    input  wire [31:0]  free_mcasts,
    // Settings
    output reg          dev_enable,
    output reg          prealloc,
    output reg  [4:0]   eth_ctrl,
    output reg  [15:0]  eth_maxframe,
    output reg  [63:0]  eth_mcast,
    // Command ring; start is a pulse, stop one from the ring; a bad configuration is refused through the QM
    output reg          cmdq_en,
    output reg          cmdq_start,
    input  wire         cmdq_stop,
    output reg  [63:0]  cmdq_base,
    output reg  [3:0]   cmdq_log_size,
    output reg          cmdq_eq_en,
    output reg  [15:0]  cmdq_eqn,
    output reg  [23:0]  cmdq_pi,
    input  wire [23:0]  cmdq_ci,
    output reg          bad_cmdq,
    // Reset (frnic_hot_reset); clear is a pulse: registers go back to their reset values
    output reg          hot_reset,
    input  wire         resetting,
    input  wire         clear,
    // What broke; the first one stays until a reset
    input  wire         eq_fatal_valid,
    input  wire [5:0]   eq_fatal_eqn,
    input  wire         cmdq_fatal_valid,
    input  wire [23:0]  cmdq_fatal_index,
    input  wire         parity_fatal,
    output wire         fatal,
    // Pulses: EQs that overflow; triggers (R1.12)
    input  wire [31:0]  eq_overflow_set,
    input  wire         fsm_error,
    input  wire [3:0]   stalls,
    input  wire         psn_gap,
    input  wire [23:0]  psn_gap_qpn,
    output reg  [31:0]  trig_stall_cycles,
    // Events for EQ 0
    output reg          ev_valid,
    input  wire         ev_ready,
    output reg  [7:0]   ev_type,
    output reg  [7:0]   ev_subtype,
    output reg  [31:0]  ev_data
);

`include "frnic_hw.vh"

    /* verilator lint_off UNUSED */
    localparam [31:0] ETH_MAXFRAME_RESET = `FRNIC_REG_ETH_MAXFRAME_RESET;
    /* verilator lint_on UNUSED */
    localparam [2:0] ST_IDLE = 3'd0, ST_WRITE = 3'd1, ST_READ = 3'd2, ST_SIDE = 3'd3, ST_B = 3'd4, ST_R = 3'd5;

    reg [2:0] st_reg = ST_IDLE;
    reg write_reg = 1'b0; // the last access was a write: a read goes first next time
    reg [15:2] addr_reg;
    reg [31:0] data_reg;
    reg [3:0] strb_reg;
    reg [7:0] wait_reg;
    reg [31:0] time_hi_reg;
    reg [7:0] fatal_code_reg = `FRNIC_FATAL_NONE;
    reg [31:0] fatal_info_reg;
    reg [31:0] overflow_reg = 32'd0;
    reg [2:0] trig_enable_reg;
    reg [2:0] trig_fired_reg;
    reg [31:0] trig_fsm_reg = 32'd0;
    reg [31:0] trig_stall_reg = 32'd0;
    reg [31:0] trig_psn_reg = 32'd0;
    reg [23:0] trig_qpn_reg = 24'd0;
    reg link_reg = 1'b0;
    reg port_event_reg = 1'b0;
    reg trig_event_reg = 1'b0;
    reg fatal_event_reg = 1'b0;

    wire want_write = s_axil_awvalid && s_axil_wvalid;
    wire take_write = st_reg == ST_IDLE && want_write && !(write_reg && s_axil_arvalid);
    wire take_read = st_reg == ST_IDLE && s_axil_arvalid && !take_write;
    wire [15:0] addr = {addr_reg, 2'b00};
    wire is_qm = addr < `FRNIC_BLOCK_DEV;
    wire is_cnt = addr >= `FRNIC_BLOCK_CNT && addr < `FRNIC_BLOCK_CNT + 8 * `FRNIC_COUNTERS;
    wire is_dbs = (addr >= `FRNIC_BLOCK_DBS && addr <= `FRNIC_REG_DB_LOG_HEAD) ||
        (addr >= `FRNIC_BLOCK_DBL && addr < `FRNIC_BLOCK_DBL + 16 * `FRNIC_DB_LOG_ENTRIES);
    wire whole = strb_reg == 4'b1111;
    wire write = st_reg == ST_WRITE && whole && !is_qm && !resetting;
    wire ctrl_write = write && addr == `FRNIC_REG_DEV_CTRL;
    wire ctrl_set = ctrl_write && !data_reg[`FRNIC_REG_DEV_CTRL_HOT_RESET_LSB];
    wire cmdq_bad = cmdq_base[11:0] != 12'd0 || cmdq_log_size > 4'd8;
    wire cmdq_rise = ctrl_set && data_reg[`FRNIC_REG_DEV_CTRL_CMDQ_EN_LSB] && !cmdq_en;
    wire read_overflow = st_reg == ST_READ && addr == `FRNIC_REG_EQ_OVERFLOW;
    wire side_done = qm_done || cnt_done || dbs_done;
    wire side_late = wait_reg >= SIDE_WAIT;
    wire [2:0] trig_now = {psn_gap, stalls != 4'd0, fsm_error} & trig_enable_reg & ~trig_fired_reg;

    assign s_axil_awready = take_write;
    assign s_axil_wready = take_write;
    assign s_axil_arready = take_read;
    assign s_axil_rresp = 2'b00;
    assign side_addr = addr;
    assign side_wdata = data_reg;
    assign fatal = fatal_code_reg != `FRNIC_FATAL_NONE;

    // ---- Registers that are read here ----
    reg [31:0] value;

    always @* begin
        case (addr)
            `FRNIC_REG_DEV_ID: value = `FRNIC_REG_DEV_ID_RESET;
            `FRNIC_REG_IF_VERSION: value = {`FRNIC_IF_MAJOR, `FRNIC_IF_MINOR};
            `FRNIC_REG_BUILD: value = {REVISION, 8'd1};
            `FRNIC_REG_FEATURES: value = FEATURES;
            `FRNIC_REG_CAP_QP: value = 32'd1 << LOG_QPS;
            `FRNIC_REG_CAP_CQ: value = 32'd1 << LOG_CQS;
            `FRNIC_REG_CAP_EQ: value = 32'd1 << LOG_EQS;
            `FRNIC_REG_CAP_SRQ: value = 32'd1 << LOG_SRQS;
            `FRNIC_REG_CAP_MR: value = 32'd1 << LOG_MRS;
            `FRNIC_REG_CAP_GID: value = 32'd1 << LOG_GIDS;
            `FRNIC_REG_CAP_PKEY: value = 32'd1 << LOG_PKEYS;
            `FRNIC_REG_CAP_UAR: value = 32'd1 << LOG_UARS;
            `FRNIC_REG_CAP_CQE: value = 32'd1 << LOG_CQE;
            `FRNIC_REG_CAP_SQ: value = 32'd1 << LOG_SQ;
            `FRNIC_REG_CAP_RQ: value = 32'd1 << LOG_RQ;
            `FRNIC_REG_CAP_SGE: value = {16'd0, SGES[7:0], SGES[7:0]};
            `FRNIC_REG_CAP_INLINE: value = INLINE;
            `FRNIC_REG_CAP_RD: value = {16'd0, RD_ATOMIC[7:0], RD_ATOMIC[7:0]};
            `FRNIC_REG_CAP_MSG: value = 32'h80000000;
            `FRNIC_REG_CAP_MTU: value = {ETH_MTU[15:0], 8'd0, 8'd5};
            `FRNIC_REG_CAP_MSIX: value = {20'd0, cfg_msix_vectors};
            `FRNIC_REG_CAP_ETHQ: value = ETHQS;
            `FRNIC_REG_CAP_MCAST: value = 32'd1 << LOG_MCASTS;
            `FRNIC_REG_CAP_PUSH: value = {16'd0, cfg_push_bytes};
            `FRNIC_REG_CAP_BUFS: value = 32'd1 << LOG_BUFS;
            `FRNIC_REG_CAP_PGLIST: value = {8'd0, 8'd30, 8'd12, 8'd2};
            `FRNIC_REG_MAC_LO: value = cfg_mac[31:0];
            `FRNIC_REG_MAC_HI: value = {16'd0, cfg_mac[47:32]};
            `FRNIC_REG_CAP_EQE: value = 32'd1 << LOG_EQE;
            `FRNIC_REG_CAP_MAC: value = MACS;
            `FRNIC_REG_DEV_CTRL: value = {28'd0, cmdq_en, prealloc, resetting, dev_enable};
            `FRNIC_REG_DEV_STATUS: value = {16'd0, fatal_code_reg, 2'd0, mac_ready, qm_state != `FRNIC_QM_STATE_IDLE, resetting, fatal, link_up,
                !resetting && !fatal};
            `FRNIC_REG_QM_STATE: value = {qm_last_opcode, qm_last_error, qm_last_status, 5'd0, qm_state};
            `FRNIC_REG_LINK: value = link_up ? 32'd100 : 32'd0;
            `FRNIC_REG_TIME_LO: value = time_ns[31:0];
            `FRNIC_REG_TIME_HI: value = time_hi_reg;
            `FRNIC_REG_CMDQ_BASE_LO: value = cmdq_base[31:0];
            `FRNIC_REG_CMDQ_BASE_HI: value = cmdq_base[63:32];
            `FRNIC_REG_CMDQ_CFG: value = {cmdq_eqn, 7'd0, cmdq_eq_en, 4'd0, cmdq_log_size};
            `FRNIC_REG_CMDQ_PI: value = {8'd0, cmdq_pi};
            `FRNIC_REG_CMDQ_CI: value = {8'd0, cmdq_ci};
            `FRNIC_REG_FATAL_INFO: value = fatal ? fatal_info_reg : 32'd0;
            `FRNIC_REG_EQ_OVERFLOW: value = overflow_reg;
            `FRNIC_REG_FREE_QP: value = free_qps;
            `FRNIC_REG_FREE_CQ: value = free_cqs;
            `FRNIC_REG_FREE_EQ: value = free_eqs;
            `FRNIC_REG_FREE_SRQ: value = free_srqs;
            `FRNIC_REG_FREE_MR: value = free_mrs;
            `FRNIC_REG_FREE_BUFS: value = free_bufs;
            `FRNIC_REG_FREE_MCAST: value = free_mcasts;
            `FRNIC_REG_ETH_CTRL: value = {27'd0, eth_ctrl};
            `FRNIC_REG_ETH_MAXFRAME: value = {16'd0, eth_maxframe};
            `FRNIC_REG_ETH_MCAST_LO: value = eth_mcast[31:0];
            `FRNIC_REG_ETH_MCAST_HI: value = eth_mcast[63:32];
            `FRNIC_REG_TRIG_ENABLE: value = {29'd0, trig_enable_reg};
            `FRNIC_REG_TRIG_FIRED: value = {29'd0, trig_fired_reg};
            `FRNIC_REG_TRIG_STALL_CYCLES: value = trig_stall_cycles;
            `FRNIC_REG_TRIG_FSM_COUNT: value = trig_fsm_reg;
            `FRNIC_REG_TRIG_STALL_COUNT: value = trig_stall_reg;
            `FRNIC_REG_TRIG_PSN_COUNT: value = trig_psn_reg;
            `FRNIC_REG_TRIG_PSN_QPN: value = {8'd0, trig_qpn_reg};
            default: value = 32'd0;
        endcase
    end

    always @(posedge clk) begin
        qm_req <= 1'b0;
        cnt_req <= 1'b0;
        dbs_req <= 1'b0;
        cmdq_start <= 1'b0;
        bad_cmdq <= 1'b0;
        hot_reset <= 1'b0;

        case (st_reg)
            ST_IDLE: begin
                side_write <= 1'b0;
                wait_reg <= 8'd0;
                s_axil_bresp <= 2'b00;
                if (take_write) begin
                    write_reg <= 1'b1;
                    addr_reg <= s_axil_awaddr[15:2];
                    data_reg <= s_axil_wdata;
                    strb_reg <= s_axil_wstrb;
                    st_reg <= ST_WRITE;
                end else if (take_read) begin
                    write_reg <= 1'b0;
                    addr_reg <= s_axil_araddr[15:2];
                    st_reg <= ST_READ;
                end
            end

            ST_WRITE: begin
                if (whole && is_qm) begin
                    qm_req <= 1'b1;
                    side_write <= 1'b1;
                    st_reg <= ST_SIDE;
                end else begin
                    s_axil_bresp <= whole ? 2'b00 : 2'b10;
                    s_axil_bvalid <= 1'b1;
                    st_reg <= ST_B;
                end
            end

            ST_READ: begin
                s_axil_rdata <= value;
                if (addr == `FRNIC_REG_TIME_LO) begin
                    time_hi_reg <= time_ns[63:32];
                end
                qm_req <= is_qm;
                cnt_req <= is_cnt;
                dbs_req <= is_dbs;
                s_axil_rvalid <= !(is_qm || is_cnt || is_dbs);
                st_reg <= is_qm || is_cnt || is_dbs ? ST_SIDE : ST_R;
            end

            ST_SIDE: begin
                wait_reg <= wait_reg + 1'b1;
                if (side_done || side_late) begin
                    s_axil_rdata <= qm_done ? qm_rdata : cnt_done ? cnt_rdata : dbs_done ? dbs_rdata : 32'd0;
                    s_axil_bvalid <= write_reg;
                    s_axil_rvalid <= !write_reg;
                    st_reg <= write_reg ? ST_B : ST_R;
                end
            end

            ST_B: begin
                if (s_axil_bready) begin
                    s_axil_bvalid <= 1'b0;
                    st_reg <= ST_IDLE;
                end
            end

            default: begin // ST_R
                if (s_axil_rready) begin
                    s_axil_rvalid <= 1'b0;
                    st_reg <= ST_IDLE;
                end
            end
        endcase

        // ---- Writes ----
        if (ctrl_write && data_reg[`FRNIC_REG_DEV_CTRL_HOT_RESET_LSB]) begin
            hot_reset <= 1'b1;
        end
        if (ctrl_set) begin
            dev_enable <= data_reg[`FRNIC_REG_DEV_CTRL_ENABLE_LSB];
            prealloc <= data_reg[`FRNIC_REG_DEV_CTRL_PREALLOC_LSB];
            cmdq_en <= data_reg[`FRNIC_REG_DEV_CTRL_CMDQ_EN_LSB] && !(cmdq_rise && cmdq_bad);
            bad_cmdq <= cmdq_rise && cmdq_bad;
            cmdq_start <= cmdq_rise && !cmdq_bad;
            if (cmdq_rise && !cmdq_bad) begin
                cmdq_pi <= 24'd0;
            end
        end
        if (cmdq_stop) begin
            cmdq_en <= 1'b0;
        end
        if (write) begin
            case (addr)
                // The command ring's place is fixed while it is live.
                `FRNIC_REG_CMDQ_BASE_LO: if (!cmdq_en) cmdq_base[31:0] <= data_reg;
                `FRNIC_REG_CMDQ_BASE_HI: if (!cmdq_en) cmdq_base[63:32] <= data_reg;
                `FRNIC_REG_CMDQ_CFG: begin
                    if (!cmdq_en) begin
                        cmdq_log_size <= data_reg[`FRNIC_REG_CMDQ_CFG_LOG_SIZE_LSB +: 4];
                        cmdq_eq_en <= data_reg[`FRNIC_REG_CMDQ_CFG_EQ_EN_LSB];
                        cmdq_eqn <= data_reg[`FRNIC_REG_CMDQ_CFG_EQN_LSB +: 16];
                    end
                end
                `FRNIC_REG_CMDQ_PI: cmdq_pi <= data_reg[23:0];
                `FRNIC_REG_ETH_CTRL: eth_ctrl <= data_reg[4:0];
                `FRNIC_REG_ETH_MAXFRAME: eth_maxframe <= data_reg < MAX_FRAME ? data_reg[15:0] : MAX_FRAME[15:0];
                `FRNIC_REG_ETH_MCAST_LO: eth_mcast[31:0] <= data_reg;
                `FRNIC_REG_ETH_MCAST_HI: eth_mcast[63:32] <= data_reg;
                `FRNIC_REG_TRIG_ENABLE: trig_enable_reg <= data_reg[2:0];
                `FRNIC_REG_TRIG_STALL_CYCLES: trig_stall_cycles <= data_reg;
                default: ;
            endcase
        end

        // A bit that is set in the cycle of the read stays: the bits returned are the bits cleared.
        overflow_reg <= (read_overflow ? 32'd0 : overflow_reg) | eq_overflow_set;

        // ---- Triggers ----
        trig_fsm_reg <= trig_fsm_reg + {31'd0, fsm_error};
        trig_stall_reg <= trig_stall_reg + {28'd0, stalls};
        trig_psn_reg <= trig_psn_reg + {31'd0, psn_gap};
        if (psn_gap) begin
            trig_qpn_reg <= psn_gap_qpn;
        end
        trig_fired_reg <= (trig_fired_reg & ~(write && addr == `FRNIC_REG_TRIG_FIRED ? data_reg[2:0] : 3'd0)) | trig_now;
        if (trig_now != 3'd0) begin
            trig_event_reg <= 1'b1;
        end

        // ---- Fatal state, link ----
        if (!fatal && !resetting) begin
            if (eq_fatal_valid) begin
                fatal_code_reg <= `FRNIC_FATAL_EQ_DMA;
                fatal_info_reg <= {26'd0, eq_fatal_eqn};
            end else if (cmdq_fatal_valid) begin
                fatal_code_reg <= `FRNIC_FATAL_CMDQ_DMA;
                fatal_info_reg <= {8'd0, cmdq_fatal_index};
            end else if (parity_fatal) begin
                fatal_code_reg <= `FRNIC_FATAL_PARITY;
                fatal_info_reg <= 32'd0;
            end
            if (eq_fatal_valid || cmdq_fatal_valid || parity_fatal) begin
                fatal_event_reg <= 1'b1;
            end
        end
        link_reg <= link_up;
        if (link_reg != link_up) begin
            port_event_reg <= 1'b1;
        end

        // ---- Events, one at a time ----
        if (!ev_valid || ev_ready) begin
            ev_valid <= fatal_event_reg || port_event_reg || trig_event_reg;
            if (fatal_event_reg) begin
                fatal_event_reg <= 1'b0;
                ev_type <= `FRNIC_EQE_TYPE_DEVICE;
                ev_subtype <= `FRNIC_DEVICE_EVENT_FATAL;
                ev_data <= {24'd0, fatal_code_reg};
            end else if (port_event_reg) begin
                port_event_reg <= link_reg != link_up;
                ev_type <= `FRNIC_EQE_TYPE_PORT;
                ev_subtype <= link_reg ? `FRNIC_PORT_EVENT_UP : `FRNIC_PORT_EVENT_DOWN;
                ev_data <= 32'd0;
            end else begin
                trig_event_reg <= trig_now != 3'd0;
                ev_type <= `FRNIC_EQE_TYPE_DEVICE;
                ev_subtype <= `FRNIC_DEVICE_EVENT_TRIGGER;
                ev_data <= {29'd0, trig_fired_reg};
            end
        end

        if (clear || rst) begin
            dev_enable <= 1'b0;
            prealloc <= 1'b0;
            cmdq_en <= 1'b0;
            cmdq_base <= 64'd0;
            cmdq_log_size <= 4'd0;
            cmdq_eq_en <= 1'b0;
            cmdq_eqn <= 16'd0;
            cmdq_pi <= 24'd0;
            eth_ctrl <= 5'd0;
            eth_maxframe <= ETH_MAXFRAME_RESET[15:0];
            eth_mcast <= 64'd0;
            overflow_reg <= 32'd0;
            trig_enable_reg <= 3'd0;
            trig_fired_reg <= 3'd0;
            trig_stall_cycles <= `FRNIC_REG_TRIG_STALL_CYCLES_RESET;
            fatal_code_reg <= `FRNIC_FATAL_NONE;
            trig_event_reg <= 1'b0;
            fatal_event_reg <= 1'b0;
            port_event_reg <= 1'b0;
            ev_valid <= 1'b0;
        end
        if (rst) begin
            st_reg <= ST_IDLE;
            write_reg <= 1'b0;
            s_axil_bvalid <= 1'b0;
            s_axil_rvalid <= 1'b0;
            qm_req <= 1'b0;
            cnt_req <= 1'b0;
            dbs_req <= 1'b0;
            cmdq_start <= 1'b0;
            bad_cmdq <= 1'b0;
            hot_reset <= 1'b0;
            trig_fsm_reg <= 32'd0;
            trig_stall_reg <= 32'd0;
            trig_psn_reg <= 32'd0;
            trig_qpn_reg <= 24'd0;
            time_hi_reg <= 32'd0;
            link_reg <= link_up;
        end
    end

endmodule

`resetall
