/* SPDX-License-Identifier: BSD-2-Clause */
/* The same bench with DROP_WHEN_FULL = 1. */
#define DROP 1
#include "../frnic_axis_frame_fifo/tb.cpp"
