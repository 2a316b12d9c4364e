// SPDX-License-Identifier: BSD-2-Clause
//
// Reset sequence (R1.9), after power-on and on DEV_CTRL.HOT_RESET: no new work, drain for at most HOT_RESET_DRAIN_NS, one pulse that resets the blocks'
// states, sweep of all contexts, and no end before all is at rest: what a slow host kept under way longer than the drain ends in nothing. What a block does with these signals is its own business; the MAC side gets none of them.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_hot_reset #(
    // Longest drain in cycles: 1 ms at 250 MHz
    parameter DRAIN = 250000,
    // Longest wait for what the drain left, in cycles, 4 s: the DMA engines give up each of 64 bursts after 50 ms
    parameter REST = 1000000000,
    // Tables that are swept
    parameter SWEEPS = 4
) (
    input  wire              clk,
    input  wire              rst,
    // Pulse
    input  wire              hot_reset,
    // Level: nothing is under way
    input  wire              idle,
    // From the request to the end of the rest
    output wire              resetting,
    // Level: take no new work
    output wire              drain,
    // Pulse: states of commands and queues are reset
    output wire              clear,
    // Level until all tables have been swept; a table answers by a level or a pulse
    output wire              sweep,
    input  wire [SWEEPS-1:0] sweep_done
);

    localparam [1:0] ST_RUN = 2'd0, ST_DRAIN = 2'd1, ST_CLEAR = 2'd2, ST_SWEEP = 2'd3;
    reg rest_reg = 1'b0;

    reg [1:0] st_reg = ST_CLEAR;
    reg [31:0] wait_reg;
    reg [SWEEPS-1:0] done_reg;

    assign resetting = st_reg != ST_RUN;
    assign drain = st_reg != ST_RUN;
    assign clear = st_reg == ST_CLEAR;
    assign sweep = st_reg == ST_SWEEP && !rest_reg;

    always @(posedge clk) begin
        wait_reg <= wait_reg + 1'b1;
        case (st_reg)
            ST_RUN: begin
                wait_reg <= 32'd0;
                if (hot_reset) begin
                    st_reg <= ST_DRAIN;
                end
            end
            ST_DRAIN: begin
                // The first cycles are for requests on their way to where they are counted.
                if ((idle && wait_reg >= 32'd15) || wait_reg >= DRAIN - 1) begin
                    st_reg <= ST_CLEAR;
                end
            end
            ST_CLEAR: begin
                done_reg <= {SWEEPS{1'b0}};
                rest_reg <= 1'b0;
                st_reg <= ST_SWEEP;
            end
            default: begin // ST_SWEEP
                done_reg <= done_reg | sweep_done;
                if (!rest_reg) begin
                    rest_reg <= done_reg == {SWEEPS{1'b1}};
                    wait_reg <= 32'd0;
                end else if ((idle && wait_reg >= 32'd15) || wait_reg >= REST - 1) begin
                    st_reg <= ST_RUN;
                end
            end
        endcase
        if (rst) begin
            st_reg <= ST_CLEAR;
            done_reg <= {SWEEPS{1'b0}};
        end
    end

endmodule

`resetall
