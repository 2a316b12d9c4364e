/* SPDX-License-Identifier: BSD-2-Clause */
/* The same bench with the latency of a block RAM. */
#include "../frnic_ram_sdp_parity/tb.cpp"
