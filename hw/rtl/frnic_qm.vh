// SPDX-License-Identifier: BSD-2-Clause
// Include inside a module. Owners on the queue manager's slot bus (sl_sel).
localparam [3:0] SL_QP = 4'd0, SL_LIVE = 4'd1, SL_CQ = 4'd2, SL_EQ = 4'd3, SL_SRQ = 4'd4, SL_MR = 4'd5, SL_GID = 4'd6, SL_PKEY = 4'd7,
    SL_MCAST = 4'd8, SL_ETHQ = 4'd9;
