// SPDX-License-Identifier: BSD-2-Clause
//
// Interrupt requests: one pending bit for each event queue, at least mod_ns between two of one queue. The vectors' own mask and pending bits are in
// the PCIe IP's MSI-X block behind the port. Documentation/microarchitecture.md, 4.9.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_msix #(
    // log2 of the event queues
    parameter LOG_EQS = 6
) (
    input  wire               clk,
    input  wire               rst,
    // Hot reset: all queues vanish
    input  wire               clear,
    // Device time
    input  wire [63:0]        time_ns,
    // From frnic_eq: a request, always taken
    input  wire               irq_valid,
    input  wire [LOG_EQS-1:0] irq_eqn,
    // From frnic_eq: a queue was created or destroyed: its requests are forgotten
    input  wire               cfg_valid,
    input  wire [LOG_EQS-1:0] cfg_eqn,
    input  wire [10:0]        cfg_vector,
    input  wire [31:0]        cfg_mod_ns,
    // Interrupts raised by a queue
    input  wire [LOG_EQS-1:0] irqs_eqn,
    output wire [31:0]        irqs,
    // MSI-X is enabled and the function is not masked; requests stay pending until then
    input  wire               msix_enable,
    // To the MSI-X block
    output wire               msix_valid,
    input  wire               msix_ready,
    output wire [10:0]        msix_vector,
    output wire               idle,
    // Counter IRQS
    output wire               ev_irq
);

    localparam EQS = 1 << LOG_EQS;

    // Vector and moderation; the time before which none may go; how many went.
    reg [42:0] conf_mem [0:EQS-1];
    reg [63:0] next_mem [0:EQS-1];
    reg [31:0] irqs_mem [0:EQS-1];
    reg [EQS-1:0] pending_reg = {EQS{1'b0}};
    // The queue has interrupted before: next_mem counts.
    reg [EQS-1:0] before_reg = {EQS{1'b0}};
    // Visited and too early: passed over until the slow scan finds that its time has come.
    reg [EQS-1:0] held_reg = {EQS{1'b0}};
    reg [LOG_EQS-1:0] scan_reg = {LOG_EQS{1'b0}};

    wire [LOG_EQS-1:0] sel;
    wire any;
    wire look;

    frnic_rr_pick #(
        .PORTS(EQS)
    ) pick (
        .clk(clk),
        .rst(rst),
        .req(pending_reg & ~held_reg),
        .sel(sel),
        .any(any),
        .take(look)
    );

    // One candidate is looked at, then sent or held.
    reg look_reg = 1'b0;
    reg [LOG_EQS-1:0] look_eqn_reg = {LOG_EQS{1'b0}};
    reg out_reg = 1'b0;
    reg [10:0] vector_reg = 11'd0;

    wire [42:0] conf = conf_mem[look_eqn_reg];
    wire early = before_reg[look_eqn_reg] && conf[42:11] != 32'd0 && time_ns < next_mem[look_eqn_reg];
    wire gone = !pending_reg[look_eqn_reg]; // destroyed meanwhile
    wire send = look_reg && !out_reg && !early && !gone && msix_enable && !clear;
    wire hold = look_reg && early && !gone;

    assign look = any && !look_reg && !out_reg && msix_enable;
    assign irqs = before_reg[irqs_eqn] ? irqs_mem[irqs_eqn] : 32'd0;
    assign msix_valid = out_reg;
    assign msix_vector = vector_reg;
    assign ev_irq = send;
    assign idle = pending_reg == {EQS{1'b0}} && !look_reg && !out_reg && !irq_valid;

    always @(posedge clk) begin
        look_reg <= look;
        if (look) begin
            look_eqn_reg <= sel;
        end
        scan_reg <= scan_reg + 1'b1;
        if (time_ns >= next_mem[scan_reg]) begin
            held_reg[scan_reg] <= 1'b0;
        end
        if (msix_ready) begin
            out_reg <= 1'b0;
        end
        if (hold) begin
            held_reg[look_eqn_reg] <= 1'b1;
        end
        if (send) begin
            out_reg <= 1'b1;
            vector_reg <= conf[10:0];
            pending_reg[look_eqn_reg] <= 1'b0;
            before_reg[look_eqn_reg] <= 1'b1;
            next_mem[look_eqn_reg] <= time_ns + {32'd0, conf[42:11]};
            irqs_mem[look_eqn_reg] <= before_reg[look_eqn_reg] ? irqs_mem[look_eqn_reg] + 32'd1 : 32'd1;
        end
        // A request in the cycle in which the last one leaves is a new one.
        if (irq_valid) begin
            pending_reg[irq_eqn] <= 1'b1;
        end
        if (cfg_valid) begin
            conf_mem[cfg_eqn] <= {cfg_mod_ns, cfg_vector};
            pending_reg[cfg_eqn] <= 1'b0;
            before_reg[cfg_eqn] <= 1'b0;
            held_reg[cfg_eqn] <= 1'b0;
        end
        if (rst || clear) begin
            pending_reg <= {EQS{1'b0}};
            before_reg <= {EQS{1'b0}};
            held_reg <= {EQS{1'b0}};
        end
        if (rst) begin
            look_reg <= 1'b0;
            out_reg <= 1'b0;
        end
    end

endmodule

`resetall
