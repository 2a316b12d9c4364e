// SPDX-License-Identifier: BSD-2-Clause
//
// Receive side of the port up to the two users of frames: parser, filter and splitter; RoCE frames are checked whole (iCRC) before anything
// behind sees a byte of them. What a QP makes of a packet, and the Ethernet ring, are elsewhere.

`resetall
`timescale 1ns / 1ps
`default_nettype none

module frnic_net_rx #(
    // log2 of the beats of the RoCE frame FIFO
    parameter LOG_DEPTH = 9,
    // log2 of the packets in it: as many as it has beats, else short ones (acknowledgements) are lost while there is room
    parameter LOG_PACKETS = 9,
    // Bits of the metadata record (META_W)
    parameter META_BITS = 632
) (
    input  wire                 clk,
    input  wire                 rst,
    // Frames from frnic_mac_rx
    input  wire [511:0]         s_axis_tdata,
    input  wire [63:0]          s_axis_tkeep,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire                 s_axis_tuser,
    // Our own packets from frnic_net_tx, not counted as received; tuser = {a copy for the netdev (MIRROR), to ourselves}
    input  wire [511:0]         l_axis_tdata,
    input  wire [63:0]          l_axis_tkeep,
    input  wire                 l_axis_tvalid,
    output wire                 l_axis_tready,
    input  wire                 l_axis_tlast,
    input  wire [1:0]           l_axis_tuser,
    // Settings; dev_enable low: frames vanish, uncounted; loop_enable likewise for our own
    input  wire                 dev_enable,
    input  wire                 loop_enable,
    /* verilator lint_off UNUSED */
    input  wire [4:0]           eth_ctrl,
    /* verilator lint_on UNUSED */
    input  wire [15:0]          eth_maxframe,
    input  wire [63:0]          eth_mcast,
    input  wire                 mcast_en,
    // Table updates
    input  wire                 upd_valid,
    input  wire [1:0]           upd_table,
    input  wire [7:0]           upd_index,
    input  wire [255:0]         upd_data,
    // Ethernet frames; tuser = {copy of a RoCE frame that was sent, of one that came, bad: valid on the last beat}
    output wire [511:0]         eth_axis_tdata,
    output wire [63:0]          eth_axis_tkeep,
    output wire                 eth_axis_tvalid,
    input  wire                 eth_axis_tready,
    output wire                 eth_axis_tlast,
    output wire [2:0]           eth_axis_tuser,
    // Good RoCE packets; their records, which may be taken ahead of the frames
    output wire [511:0]         roce_axis_tdata,
    output wire [63:0]          roce_axis_tkeep,
    output wire                 roce_axis_tvalid,
    input  wire                 roce_axis_tready,
    output wire                 roce_axis_tlast,
    output wire [META_BITS-1:0] roce_meta,
    output wire                 roce_meta_valid,
    input  wire                 roce_meta_ready,
    // Counters: pulses, and bytes with them
    output wire                 cnt_rx,
    output wire [13:0]          cnt_rx_bytes,
    output wire                 cnt_bad,
    output wire                 cnt_filtered,
    output wire                 cnt_icrc,
    output wire                 cnt_malformed,
    output wire                 cnt_ecn,
    output wire                 cnt_roce,
    output wire [13:0]          cnt_roce_bytes,
    output wire                 cnt_fifo_full
);

    `include "frnic_rx_meta.vh"

    // ETH_CTRL: RX_EN, TX_EN, PROMISC, ALLMULTI, MIRROR
    wire promisc = eth_ctrl[2];
    wire allmulti = eth_ctrl[3];
    wire mirror = eth_ctrl[4];

    // ---- The wire first: it cannot wait ----
    wire [511:0] i_data;
    wire [63:0] i_keep;
    wire i_valid;
    wire i_ready;
    wire i_last;
    wire [1:0] i_user;
    wire i_loop;

    frnic_axis_arb #(
        .PORTS(2),
        .USER_W(2),
        .ROUND_ROBIN(0)
    ) wire_first (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata({l_axis_tdata, s_axis_tdata}),
        .s_axis_tkeep({l_axis_tkeep, s_axis_tkeep}),
        .s_axis_tvalid({l_axis_tvalid, s_axis_tvalid}),
        .s_axis_tready({l_axis_tready, s_axis_tready}),
        .s_axis_tlast({l_axis_tlast, s_axis_tlast}),
        .s_axis_tuser({l_axis_tuser, 1'b0, s_axis_tuser}),
        .m_axis_tdata(i_data),
        .m_axis_tkeep(i_keep),
        .m_axis_tvalid(i_valid),
        .m_axis_tready(i_ready),
        .m_axis_tlast(i_last),
        .m_axis_tuser(i_user),
        .m_axis_tid(i_loop)
    );

    wire [47:0] early_dmac;
    wire early_load;
    wire [511:0] p_data;
    wire [63:0] p_keep;
    wire p_valid;
    wire p_ready;
    wire p_last;
    wire p_first;
    wire p_roce;
    wire [META_BITS-1:0] p_meta;
    wire p_bad;
    wire p_pre;
    wire p_post;
    /* verilator lint_off UNUSED */
    wire [15:0] p_len;
    /* verilator lint_on UNUSED */

    frnic_rx_parse #(
        .META_BITS(META_BITS)
    ) parse (
        .clk(clk),
        .rst(rst),
        .maxframe(eth_maxframe),
        .s_axis_tdata(i_data),
        .s_axis_tkeep(i_keep),
        .s_axis_tvalid(i_valid),
        .s_axis_tready(i_ready),
        .s_axis_tlast(i_last),
        .s_axis_tuser(i_user[0] && !i_loop),
        .early_dmac(early_dmac),
        .early_load(early_load),
        .m_axis_tdata(p_data),
        .m_axis_tkeep(p_keep),
        .m_axis_tvalid(p_valid),
        .m_axis_tready(p_ready),
        .m_axis_tlast(p_last),
        .m_axis_tfirst(p_first),
        .m_roce(p_roce),
        .m_meta(p_meta),
        .m_bad(p_bad),
        .m_malformed_pre(p_pre),
        .m_malformed_post(p_post),
        .m_len(p_len)
    );

    // Where a frame in the parser is from; it has room for six beats, hence frames.
    reg i_first_reg = 1'b1;
    wire p_loop, p_copy, p_ours;
    /* verilator lint_off UNUSED */
    wire origin_ready, origin_valid;
    wire [4:0] origin_count;
    /* verilator lint_on UNUSED */

    frnic_fifo #(
        .WIDTH(3),
        .LOG_DEPTH(4)
    ) origin (
        .clk(clk),
        .rst(rst),
        .wr_data({i_loop, i_user}),
        .wr_valid(i_valid && i_ready && i_first_reg),
        .wr_ready(origin_ready),
        .rd_data({p_loop, p_copy, p_ours}),
        .rd_valid(origin_valid),
        .rd_ready(p_valid && p_ready && p_last),
        .count(origin_count)
    );

    wire roce_own;
    wire eth_accept;

    frnic_rx_filter filter (
        .clk(clk),
        .rst(rst),
        .promisc(promisc),
        .allmulti(allmulti),
        .mcast_hash(eth_mcast),
        .mcast_en(mcast_en),
        .upd_valid(upd_valid),
        .upd_table(upd_table),
        .upd_index(upd_index),
        .upd_data(upd_data),
        .dmac(early_dmac),
        .load(early_load),
        .roce_own(roce_own),
        .eth_accept(eth_accept)
    );

    // ---- where to ----

    reg enabled_reg = 1'b0;
    reg mirror_reg = 1'b0;
    wire enabled = p_first ? (p_loop ? loop_enable : dev_enable) : enabled_reg;
    wire mirrored = p_first ? mirror : mirror_reg;
    wire to_roce = enabled && p_roce && roce_own && (!p_loop || p_ours);
    wire to_eth = enabled && (p_loop ? p_copy : to_roce ? mirrored : eth_accept);
    wire take = p_valid && p_ready;
    wire take_end = take && p_last && enabled && !p_loop;

    // Of the frames behind the splitter: record and verdict wait for the iCRC. A packet is in the checker for 6 cycles and more.
    wire info_ready;
    wire demux_ready;
    assign p_ready = demux_ready && info_ready;

    wire [1:0] m_valid;
    wire [1:0] m_last;
    wire [2*512-1:0] m_data;
    wire [2*64-1:0] m_keep;
    /* verilator lint_off UNUSED */
    wire [2*3-1:0] m_user;
    /* verilator lint_on UNUSED */
    wire chk_ready;

    frnic_axis_demux #(
        .PORTS(2),
        .USER_W(3)
    ) split (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(p_data),
        .s_axis_tkeep(p_keep),
        .s_axis_tvalid(p_valid && info_ready),
        .s_axis_tready(demux_ready),
        .s_axis_tlast(p_last),
        .s_axis_tuser({p_loop, to_roce && !p_loop, p_bad}),
        .s_axis_tdest({to_eth, to_roce}),
        .m_axis_tdata(m_data),
        .m_axis_tkeep(m_keep),
        .m_axis_tvalid(m_valid),
        .m_axis_tready({eth_axis_tready, chk_ready}),
        .m_axis_tlast(m_last),
        .m_axis_tuser(m_user)
    );

    assign eth_axis_tdata = m_data[512 +: 512];
    assign eth_axis_tkeep = m_keep[64 +: 64];
    assign eth_axis_tvalid = m_valid[1];
    assign eth_axis_tlast = m_last[1];
    assign eth_axis_tuser = m_user[5:3];

    // ---- iCRC, frame FIFO ----

    wire [511:0] k_data;
    wire [63:0] k_keep;
    wire k_valid;
    wire k_ready;
    wire k_last;
    wire k_ok;
    /* verilator lint_off UNUSED */
    wire k_user;
    wire f_user;
    wire info_valid;
    wire [LOG_PACKETS:0] meta_count;
    wire [4:0] info_count;
    /* verilator lint_on UNUSED */

    frnic_icrc_check #(
        .USER_W(1)
    ) icrc (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(m_data[511:0]),
        .s_axis_tkeep(m_keep[63:0]),
        .s_axis_tvalid(m_valid[0]),
        .s_axis_tready(chk_ready),
        .s_axis_tlast(m_last[0]),
        .s_axis_tuser(1'b0),
        .m_axis_tdata(k_data),
        .m_axis_tkeep(k_keep),
        .m_axis_tvalid(k_valid),
        .m_axis_tready(k_ready),
        .m_axis_tlast(k_last),
        .m_axis_tuser(k_user),
        .m_icrc_ok(k_ok)
    );

    wire [META_BITS-1:0] info_meta;
    wire info_bad;
    wire info_pre;
    wire info_post;
    wire k_end = k_valid && k_ready && k_last;

    frnic_fifo #(
        .WIDTH(META_BITS + 3),
        .LOG_DEPTH(4)
    ) info (
        .clk(clk),
        .rst(rst),
        .wr_data({p_meta, p_bad, p_pre, p_post}),
        .wr_valid(p_valid && demux_ready && p_last && to_roce),
        .wr_ready(info_ready),
        .rd_data({info_meta, info_bad, info_pre, info_post}),
        .rd_valid(info_valid),
        .rd_ready(k_end),
        .count(info_count)
    );

    wire good = k_ok && !info_bad && !info_pre && !info_post;
    wire meta_ready;
    wire committed;
    wire f_full;
    /* verilator lint_off UNUSED */
    wire f_bad;
    /* verilator lint_on UNUSED */
    reg [META_BITS-1:0] meta_reg = {META_BITS{1'b0}};

    // A record's place must be there when its frame is committed, a cycle after its last beat.
    frnic_axis_frame_fifo #(
        .LOG_DEPTH(LOG_DEPTH),
        .DROP_WHEN_FULL(1)
    ) fifo (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(k_data),
        .s_axis_tkeep(k_keep),
        .s_axis_tvalid(k_valid),
        .s_axis_tready(k_ready),
        .s_axis_tlast(k_last),
        .s_axis_tuser(1'b0),
        .s_bad(!good || !meta_ready),
        .m_axis_tdata(roce_axis_tdata),
        .m_axis_tkeep(roce_axis_tkeep),
        .m_axis_tvalid(roce_axis_tvalid),
        .m_axis_tready(roce_axis_tready),
        .m_axis_tlast(roce_axis_tlast),
        .m_axis_tuser(f_user),
        .committed(committed),
        .dropped_bad(f_bad),
        .dropped_full(f_full)
    );

    // One place is kept for the frame that is committed in the cycle after.
    wire meta_room;
    assign meta_ready = meta_room && meta_count < {1'b0, {LOG_PACKETS{1'b1}}};

    frnic_fifo #(
        .WIDTH(META_BITS),
        .LOG_DEPTH(LOG_PACKETS)
    ) metas (
        .clk(clk),
        .rst(rst),
        .wr_data(meta_reg),
        .wr_valid(committed),
        .wr_ready(meta_room),
        .rd_data(roce_meta),
        .rd_valid(roce_meta_valid),
        .rd_ready(roce_meta_ready),
        .count(meta_count)
    );

    // ---- counters ----

    reg rx_reg = 1'b0;
    reg [13:0] rx_bytes_reg = 14'd0;
    reg bad_reg = 1'b0;
    reg filtered_reg = 1'b0;
    reg icrc_reg = 1'b0;
    reg malformed_reg = 1'b0;
    reg ecn_reg = 1'b0;
    reg roce_reg = 1'b0;
    reg [13:0] roce_bytes_reg = 14'd0;
    reg meta_full_reg = 1'b0;

    always @(posedge clk) begin
        if (i_valid && i_ready) begin
            i_first_reg <= i_last;
        end
        if (take && p_first) begin
            enabled_reg <= enabled;
            mirror_reg <= mirror;
        end
        if (k_end) begin
            meta_reg <= info_meta;
        end
        rx_reg <= take_end && !p_bad;
        rx_bytes_reg <= p_len[13:0];
        bad_reg <= take_end && p_bad;
        filtered_reg <= take_end && !p_bad && !to_roce && !to_eth;
        malformed_reg <= k_end && !info_bad && (info_pre || (k_ok && info_post));
        icrc_reg <= k_end && !info_bad && !info_pre && !k_ok;
        roce_reg <= k_end && good;
        roce_bytes_reg <= info_meta[META_OPCODE +: 8] == 8'h81 ? 14'd0 : {1'b0, info_meta[META_LEN +: 13]};
        ecn_reg <= k_end && good && info_meta[META_TCLASS +: 2] == 2'b11;
        meta_full_reg <= k_end && good && !meta_ready;
        if (rst) begin
            i_first_reg <= 1'b1;
            rx_reg <= 1'b0;
            bad_reg <= 1'b0;
            filtered_reg <= 1'b0;
            malformed_reg <= 1'b0;
            icrc_reg <= 1'b0;
            roce_reg <= 1'b0;
            ecn_reg <= 1'b0;
            meta_full_reg <= 1'b0;
        end
    end

    assign cnt_rx = rx_reg;
    assign cnt_rx_bytes = rx_bytes_reg;
    assign cnt_bad = bad_reg;
    assign cnt_filtered = filtered_reg;
    assign cnt_icrc = icrc_reg;
    assign cnt_malformed = malformed_reg;
    assign cnt_ecn = ecn_reg;
    assign cnt_roce = roce_reg;
    assign cnt_roce_bytes = roce_bytes_reg;
    assign cnt_fifo_full = f_full || meta_full_reg;

endmodule

`resetall
