// SPDX-License-Identifier: BSD-2-Clause
//
// Proof: frnic_async_fifo with clocks that tick whenever they like loses nothing, invents nothing and keeps the order.
// An arbitrary write (number magic_no) is followed: the read with that number must give its word. Unbounded, by PDR.

`default_nettype none

module formal_async_fifo (
    (* gclk *) input wire gclk,
    input wire       s_tick,
    input wire       m_tick,
    input wire       s_valid,
    input wire [1:0] s_data,
    input wire       m_ready
);
    localparam LOG_DEPTH = 2;
    localparam N = LOG_DEPTH + 1;
    localparam DEPTH = 1 << LOG_DEPTH;

    // Either clock may change in any step, both, or none.
    reg s_clk = 1'b0;
    reg m_clk = 1'b0;
    always @(posedge gclk) begin
        s_clk <= s_clk ^ s_tick;
        m_clk <= m_clk ^ m_tick;
    end

    wire s_rise = !s_clk && s_tick;
    wire m_rise = !m_clk && m_tick;

    wire s_ready;
    wire m_valid;
    wire [1:0] m_data;
    wire [LOG_DEPTH:0] s_level;

    frnic_async_fifo #(.WIDTH(2), .LOG_DEPTH(LOG_DEPTH)) dut (
        .s_clk(s_clk), .s_rst(1'b0), .s_data(s_data), .s_valid(s_valid), .s_ready(s_ready), .s_level(s_level),
        .m_clk(m_clk), .m_rst(1'b0), .m_data(m_data), .m_valid(m_valid), .m_ready(m_ready)
    );

    // Inputs belong to their clock: they hold still around its edge.
    reg past_valid = 1'b0;
    reg s_valid_past, m_ready_past, s_clk_past, m_clk_past;
    reg [1:0] s_data_past;
    always @(posedge gclk) begin
        past_valid <= 1'b1;
        s_valid_past <= s_valid;
        s_data_past <= s_data;
        m_ready_past <= m_ready;
        s_clk_past <= s_clk;
        m_clk_past <= m_clk;
    end
    always @* begin
        if (past_valid && !(s_clk_past && !s_clk)) begin
            assume (s_valid == s_valid_past && s_data == s_data_past);
        end
        if (past_valid && !(m_clk_past && !m_clk)) begin
            assume (m_ready == m_ready_past);
        end
    end

    // Numbers of writes and reads; wide enough that the difference never wraps into a lie.
    reg [N+1:0] writes = 0;
    reg [N+1:0] reads = 0;
    (* anyconst *) wire [N+1:0] magic_no;
    reg [1:0] magic_data = 0;
    reg magic_in = 1'b0;
    reg magic_out = 1'b0;

    always @(posedge s_clk) begin
        if (s_valid && s_ready) begin
            writes <= writes + 1'b1;
            if (writes == magic_no && !magic_in) begin
                magic_in <= 1'b1;
                magic_data <= s_data;
            end
        end
    end

    always @(posedge m_clk) begin
        if (m_valid && m_ready) begin
            reads <= reads + 1'b1;
            if (reads == magic_no && magic_in && !magic_out) begin
                magic_out <= 1'b1;
            end
        end
    end

    // Registers inside, named so that flatten joins them (Yosys has no hierarchical references).
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.wr_ptr_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.rd_ptr_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.wr_gray_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.rd_gray_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.wr_gray_s1_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.wr_gray_s2_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.rd_gray_s1_reg ;
    (* hierconn, init = 3'd0 *) wire [N-1:0] \dut.rd_gray_s2_reg ;
    (* hierconn *) wire [1:0] \dut.mem[0] ;
    (* hierconn *) wire [1:0] \dut.mem[1] ;
    (* hierconn *) wire [1:0] \dut.mem[2] ;
    (* hierconn *) wire [1:0] \dut.mem[3] ;
    wire [7:0] mem = {\dut.mem[3] , \dut.mem[2] , \dut.mem[1] , \dut.mem[0] };

    function [N-1:0] g2b;
        input [N-1:0] g;
        begin
            g2b = {g[2], g[2] ^ g[1], g[2] ^ g[1] ^ g[0]};
        end
    endfunction

    wire [N+1:0] held = writes - reads;
    wire [N-1:0] wr = \dut.wr_ptr_reg ;
    wire [N-1:0] rd = \dut.rd_ptr_reg ;
    wire [N-1:0] w1 = g2b(\dut.wr_gray_s1_reg );
    wire [N-1:0] w2 = g2b(\dut.wr_gray_s2_reg );
    wire [N-1:0] r1 = g2b(\dut.rd_gray_s1_reg );
    wire [N-1:0] r2 = g2b(\dut.rd_gray_s2_reg );
    wire [N-1:0] in_mem = wr - rd;
    wire [N-1:0] d_w1 = w1 - rd;
    wire [N-1:0] d_w2 = w2 - rd;
    wire [N-1:0] d_r = wr - rd;
    wire [N-1:0] d_r1 = wr - r1;
    wire [N-1:0] d_r2 = wr - r2;
    // Where the followed word is: how many words are before it.
    wire [N+1:0] ahead = magic_no - reads;
    wire [N+1:0] ahead_mem = ahead - m_valid;
    wire [N-1:0] magic_ptr = rd + ahead_mem[N-1:0];
    wire live = magic_in && !magic_out;

    always @(posedge gclk) begin
        // The contract.
        assert (held <= DEPTH + 1);
        if (live && ahead == 0 && m_valid) begin
            assert (m_data == magic_data);
        end
        assert (!(magic_out && !magic_in));
        assert (s_level >= in_mem);

        // Invariants that carry the induction.
        assert (held == in_mem + m_valid);
        assert (in_mem <= DEPTH);
        assert (\dut.wr_gray_reg  == (wr ^ (wr >> 1)));
        assert (\dut.rd_gray_reg  == (rd ^ (rd >> 1)));
        assert (d_w2 <= d_w1 && d_w1 <= in_mem);
        assert (d_r <= d_r1 && d_r1 <= d_r2 && d_r2 <= DEPTH);
        if (live) begin
            assert (ahead < held);
            if (!(ahead == 0 && m_valid)) begin
                assert (mem[2*magic_ptr[LOG_DEPTH-1:0] +: 2] == magic_data);
            end
        end
    end

    // Not proven by never happening: with COVER these must fail, that is, the FIFO can be full and the followed word can come out.
`ifdef COVER
    always @(posedge gclk) begin
        assert (!(!s_ready && magic_out && magic_no == 1));
    end
`endif
endmodule
