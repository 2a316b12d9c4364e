// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: frnic_axis_arb never mixes two frames, delivers each beat of each port once, in order, unchanged, and does not starve a port: a frame that
// waits sees at most one frame of the other port begin. Unbounded, by PDR.

`default_nettype none

module formal_axis_arb (
    input wire       clk,
    input wire [1:0] s_valid,
    input wire [1:0] s_last,
    input wire [3:0] s_data,
    input wire       m_ready
);
    reg rst = 1'b1;
    wire [1:0] s_ready;
    wire m_valid, m_last, m_keep, m_user, m_tid;
    wire [1:0] m_data;

    always @(posedge clk) begin
        rst <= 1'b0;
    end

    frnic_axis_arb #(.PORTS(2), .DATA_W(2), .KEEP_W(1), .USER_W(1)) dut (
        .clk(clk), .rst(rst),
        .s_axis_tdata(s_data), .s_axis_tkeep(2'b11), .s_axis_tvalid(s_valid & {2{!rst}}), .s_axis_tready(s_ready), .s_axis_tlast(s_last),
        .s_axis_tuser(2'b10),
        .m_axis_tdata(m_data), .m_axis_tkeep(m_keep), .m_axis_tvalid(m_valid), .m_axis_tready(m_ready), .m_axis_tlast(m_last),
        .m_axis_tuser(m_user), .m_axis_tid(m_tid)
    );

    // Sources keep the rules of AXI-Stream.
    reg [1:0] wait_reg = 2'b00;
    reg [1:0] last_reg;
    reg [3:0] data_reg;
    always @(posedge clk) begin
        wait_reg <= s_valid & ~s_ready & {2{!rst}};
        last_reg <= s_last;
        data_reg <= s_data;
    end
    genvar p;
    generate
        for (p = 0; p < 2; p = p + 1) begin : rules
            always @* begin
                if (wait_reg[p]) begin
                    assume (s_valid[p] && s_last[p] == last_reg[p] && s_data[p*2 +: 2] == data_reg[p*2 +: 2]);
                end
            end
        end
    endgenerate

    // One arbitrary beat of one arbitrary port is followed: how many of its port are before it (at most two in the register).
    (* anyconst *) wire port;
    (* anyseq *) wire choose;
    reg chosen_reg = 1'b0;
    reg [1:0] before_reg = 2'd0;
    reg done_reg = 1'b0;
    reg [2:0] word_reg;
    reg [1:0] held_reg = 2'd0; // beats of the port inside
    wire in = s_valid[port] && s_ready[port] && !rst;
    wire out = m_valid && m_ready && m_tid == port && !rst;
    wire follow = in && choose && !chosen_reg;

    reg open_reg = 1'b0;
    reg open_tid_reg;
    reg stopped_reg = 1'b0;
    reg [4:0] stopped_word_reg;

    // Begins of the other port's frames while this port waits with the start of one.
    reg s_open_reg = 1'b0; // the port is within a frame
    reg o_open_reg = 1'b0;
    reg [1:0] overtaken_reg = 2'd0;
    wire o_begin = s_valid[!port] && s_ready[!port] && !o_open_reg && !rst;

    always @(posedge clk) begin
        if (!rst) begin
            held_reg <= held_reg + {1'b0, in} - {1'b0, out};
            if (follow) begin
                chosen_reg <= 1'b1;
                before_reg <= held_reg - {1'b0, out};
                word_reg <= {s_last[port], s_data[port*2 +: 2]};
            end else if (chosen_reg && !done_reg && out) begin
                before_reg <= before_reg - 1'b1;
                done_reg <= before_reg == 0;
            end
            if (m_valid && m_ready) begin
                open_reg <= !m_last;
                open_tid_reg <= m_tid;
            end
            stopped_reg <= m_valid && !m_ready;
            stopped_word_reg <= {m_tid, m_user, m_last, m_data};
            if (in) s_open_reg <= !s_last[port];
            if (s_valid[!port] && s_ready[!port]) o_open_reg <= !s_last[!port];
            if (!s_valid[port] || in) overtaken_reg <= 2'd0;
            else if (o_begin && !s_open_reg && overtaken_reg != 2'd3) overtaken_reg <= overtaken_reg + 1'b1;
        end
    end

    always @* begin
        if (!rst) begin
            assert (held_reg <= 2);
            if (out) assert (held_reg != 0);
            if (chosen_reg && !done_reg && before_reg == 0 && m_valid && m_tid == port) assert ({m_last, m_data} == word_reg);
            if (m_valid && open_reg) assert (m_tid == open_tid_reg);
            if (m_valid) assert (m_user == m_tid && m_keep);
            if (stopped_reg) assert (m_valid && {m_tid, m_user, m_last, m_data} == stopped_word_reg);
            assert (!(s_ready[0] && s_ready[1]));
            assert (overtaken_reg <= 1);
        end
`ifdef COVER
        assert (!(done_reg && overtaken_reg == 1 && m_valid));
`endif
    end
endmodule
