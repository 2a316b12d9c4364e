// SPDX-License-Identifier: BSD-2-Clause
//
// Record of what the responder's front leaves to its back: completion, answer, end of the QP. Include inside a module; unused names are no fault.

/* verilator lint_off UNUSED */
localparam R_QPN = 0;        // 24
localparam R_RC = 24;        // 1: answers exist
localparam R_NWR = 25;       // 7: DMA writes that must have ended
localparam R_CQE = 32;       // 1: there is a completion
localparam R_SOL = 33;       // 1
localparam R_CQN = 34;       // 24
localparam R_CQE_DATA = 58;  // 192: without time stamp and owner
localparam R_ANS = 250;      // 2: answer, below
localparam R_SYN = 252;      // 8
localparam R_PSN = 260;      // 24
localparam R_MSN = 284;      // 24
localparam R_END = 308;      // 1: the QP goes to ERR
localparam R_EVENT = 309;    // 8
localparam R_VENDOR = 317;   // 8
localparam R_STATUS = 325;   // 8
localparam R_DMAC = 333;     // 48: the path
localparam R_TCLASS = 381;   // 8
localparam R_HOP = 389;      // 8
localparam R_FLOW = 397;     // 20
localparam R_DGID = 417;     // 128
localparam R_SPORT = 545;    // 16
localparam R_SGIDX = 561;    // 8
localparam R_PKIDX = 569;    // 8
localparam R_DQPN = 577;     // 24
localparam R_PD = 601;       // 24: a READ
localparam R_KERNEL = 625;   // 1
localparam R_PM = 626;       // 3: path MTU is 128 << R_PM
localparam R_VA = 629;       // 64
localparam R_RKEY = 693;     // 32
localparam R_LEN = 725;      // 32
localparam R_HAVE = 757;     // 1: a receive entry is in use, and stays so
localparam R_FRESH = 758;    // 1: a READ or atomic that was not asked for before
localparam R_W = 759;
// An atomic has no completion and no length: in their place
localparam R_SWAP = 58;      // 64: swap or add
localparam R_COMPARE = 122;  // 64
localparam R_SLOT = 725;     // 8: place of its result among those of its QP
localparam R_CAS = 733;      // 1: compare and swap

localparam [1:0] ANS_NONE = 2'd0, ANS_AETH = 2'd1, ANS_READ = 2'd2, ANS_ATOMIC = 2'd3;
localparam [7:0] SYN_ACK = 8'h1f, SYN_RNR = 8'h20, SYN_SEQ = 8'h60, SYN_INV = 8'h61, SYN_ACCESS = 8'h62, SYN_OP = 8'h63;
/* verilator lint_on UNUSED */
