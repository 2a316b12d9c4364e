// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: frnic_axis_reg delivers each beat once, in order, unchanged, and keeps the stream's rules. Unbounded, by k-induction.

`default_nettype none

module formal_axis_reg (
    input wire       clk,
    input wire [7:0] s_data,
    input wire       s_valid,
    input wire       m_ready
);
    wire s_ready, m_valid, m_last, m_user, m_keep;
    wire [7:0] m_data;
    reg rst = 1'b1;

    always @(posedge clk) begin
        rst <= 1'b0;
    end

    frnic_axis_reg #(.DATA_W(8), .KEEP_W(1), .USER_W(1)) dut (
        .clk(clk), .rst(rst),
        .s_axis_tdata(s_data), .s_axis_tkeep(s_data[0]), .s_axis_tvalid(s_valid), .s_axis_tready(s_ready), .s_axis_tlast(s_data[1]),
        .s_axis_tuser(s_data[2]),
        .m_axis_tdata(m_data), .m_axis_tkeep(m_keep), .m_axis_tvalid(m_valid), .m_axis_tready(m_ready), .m_axis_tlast(m_last),
        .m_axis_tuser(m_user)
    );

    // Registers inside, named so that flatten joins them (Yosys has no hierarchical references).
    (* hierconn, init = 1'b0 *) wire \dut.skid_valid_reg ;
    (* hierconn *) wire [10:0] \dut.skid_reg ;
    wire skid_valid = \dut.skid_valid_reg ;
    wire [10:0] skid = \dut.skid_reg ;

    reg [3:0] writes = 0;
    reg [3:0] reads = 0;
    (* anyconst *) wire [3:0] magic_no;
    reg [7:0] magic_data = 0;
    reg magic_in = 1'b0;
    reg magic_out = 1'b0;
    reg stopped = 1'b0;
    reg [7:0] stopped_data = 0;

    wire push = s_valid && s_ready && !rst;
    wire pop = m_valid && m_ready && !rst;
    wire [3:0] held = writes - reads;
    wire [3:0] ahead = magic_no - reads;
    wire live = magic_in && !magic_out;

    always @(posedge clk) begin
        writes <= writes + push;
        reads <= reads + pop;
        if (push && writes == magic_no && !magic_in) begin
            magic_in <= 1'b1;
            magic_data <= s_data;
        end
        if (pop && reads == magic_no && live) begin
            magic_out <= 1'b1;
        end
        stopped <= m_valid && !m_ready && !rst;
        stopped_data <= m_data;
    end

    always @(posedge clk) begin
        if (!rst) begin
            assert (held == {3'b0, m_valid} + {3'b0, skid_valid});
            assert (s_ready == !skid_valid || writes == 0);
            assert (!skid_valid || m_valid);
            if (live) begin
                assert (ahead < held);
                if (ahead == 0) assert (m_data == magic_data);
                if (ahead == 1) assert (skid[7:0] == magic_data);
            end
            if (m_valid) begin
                assert (m_keep == m_data[0] && m_last == m_data[1] && m_user == m_data[2]);
            end
            if (skid_valid) begin
                assert (skid[10:8] == {skid[2], skid[1], skid[0]});
            end
            if (stopped) begin
                assert (m_valid && m_data == stopped_data);
            end
            cover (magic_out && !s_ready);
        end else begin
            assert (!m_valid && !skid_valid);
            assert (writes == 0 && reads == 0 && !magic_in && !magic_out && !stopped);
        end
    end
endmodule
