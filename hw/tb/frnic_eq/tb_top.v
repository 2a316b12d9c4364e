// SPDX-License-Identifier: BSD-2-Clause
//
// frnic_eq and frnic_msix as they are wired in the card.

`timescale 1ns / 1ps
`default_nettype none

module tb_top (
    input  wire         clk,
    input  wire         rst,
    input  wire         clear,
    input  wire [63:0]  time_ns,
    input  wire [1:0]   ev_valid,
    output wire [1:0]   ev_ready,
    output wire         ev_lost,
    input  wire [11:0]  ev_eqn,
    input  wire [15:0]  ev_type,
    input  wire [15:0]  ev_subtype,
    input  wire [47:0]  ev_number,
    input  wire [63:0]  ev_data,
    input  wire         db_valid,
    output wire         db_ready,
    input  wire [23:0]  db_number,
    input  wire [23:0]  db_index,
    input  wire [7:0]   db_flags,
    output wire         db_bad,
    input  wire         slot_valid,
    output wire         slot_ready,
    input  wire [1:0]   slot_op,
    input  wire [5:0]   slot_index,
    input  wire [159:0] slot_wdata,
    output wire         slot_done,
    output wire [7:0]   slot_status,
    output wire [287:0] slot_rdata,
    output wire         cmd_valid,
    input  wire         cmd_ready,
    output wire [63:0]  cmd_addr,
    output wire [12:0]  cmd_len,
    output wire [5:0]   cmd_src_off,
    output wire         data_valid,
    input  wire         data_ready,
    output wire [511:0] data,
    input  wire         st_valid,
    input  wire         st_error,
    output wire         recover_valid,
    output wire [5:0]   recover_eqn,
    output wire [31:0]  overflow_set,
    output wire         fatal_valid,
    output wire [5:0]   fatal_eqn,
    input  wire         msix_enable,
    output wire         msix_valid,
    input  wire         msix_ready,
    output wire [10:0]  msix_vector,
    output wire         idle,
    output wire         ev_eqe,
    output wire         ev_overflow,
    output wire         ev_irq
);

    wire irq_valid, cfg_valid, eq_idle, msix_idle;
    wire [5:0] irq_eqn, cfg_eqn, irqs_eqn;
    wire [10:0] cfg_vector;
    wire [31:0] cfg_mod_ns, irqs;

    assign idle = eq_idle && msix_idle;

    frnic_eq #(.SOURCES(2)) eq (
        .clk(clk), .rst(rst), .clear(clear),
        .ev_valid(ev_valid), .ev_ready(ev_ready), .ev_lost(ev_lost), .ev_eqn(ev_eqn), .ev_type(ev_type), .ev_subtype(ev_subtype),
        .ev_number(ev_number), .ev_data(ev_data),
        .db_valid(db_valid), .db_ready(db_ready), .db_number(db_number), .db_index(db_index), .db_flags(db_flags), .db_bad(db_bad),
        .slot_valid(slot_valid), .slot_ready(slot_ready), .slot_op(slot_op), .slot_index(slot_index), .slot_wdata(slot_wdata),
        .slot_done(slot_done), .slot_status(slot_status), .slot_rdata(slot_rdata),
        .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_addr(cmd_addr), .cmd_len(cmd_len), .cmd_src_off(cmd_src_off),
        .data_valid(data_valid), .data_ready(data_ready), .data(data), .st_valid(st_valid), .st_error(st_error),
        .irq_valid(irq_valid), .irq_eqn(irq_eqn), .cfg_valid(cfg_valid), .cfg_eqn(cfg_eqn), .cfg_vector(cfg_vector), .cfg_mod_ns(cfg_mod_ns),
        .irqs_eqn(irqs_eqn), .irqs(irqs), .recover_valid(recover_valid), .recover_eqn(recover_eqn), .overflow_set(overflow_set),
        .fatal_valid(fatal_valid), .fatal_eqn(fatal_eqn), .idle(eq_idle), .ev_eqe(ev_eqe), .ev_overflow(ev_overflow)
    );

    frnic_msix msix (
        .clk(clk), .rst(rst), .clear(clear), .time_ns(time_ns), .irq_valid(irq_valid), .irq_eqn(irq_eqn), .cfg_valid(cfg_valid),
        .cfg_eqn(cfg_eqn), .cfg_vector(cfg_vector), .cfg_mod_ns(cfg_mod_ns), .irqs_eqn(irqs_eqn), .irqs(irqs), .msix_enable(msix_enable),
        .msix_valid(msix_valid), .msix_ready(msix_ready), .msix_vector(msix_vector), .idle(msix_idle), .ev_irq(ev_irq)
    );

endmodule
