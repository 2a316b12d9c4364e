/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State that the transport keeps in a QP, and the functions that requester.c, responder.c, ud.c and transport.c give each other.
 * Included by frnic_model.h, which declares what the control side calls.
 */
#ifndef FRNIC_TRANSPORT_H
#define FRNIC_TRANSPORT_H

#include "roce.h"

struct frnic_backend;
struct qp;

/* Send WQEs in flight. Each that sends takes at least one PSN of the window, so more would wait anyway. */
#define REQ_WQES FRNIC_PSN_WINDOW
/* An acknowledgement is asked for at least this often (R1.6, protocol rule 8). */
#define REQ_ACK_EVERY (FRNIC_PSN_WINDOW / 4)
/*
 * A READ is asked for in pieces of so many PSNs, so that its responses stay inside the window like everything else and no peer ever has
 * more under way to us than we said we could take.
 */
#define REQ_READ_PSNS (FRNIC_PSN_WINDOW / 2)

enum req_kind {
	REQ_LOCAL, /* no packet; done when it was started */
	REQ_SEND, /* SEND and WRITE */
	REQ_READ,
	REQ_ATOMIC,
};

/* A send WQE that was started and has not completed. */
struct req_wqe {
	uint32_t index; /* of its first unit */
	uint32_t psn; /* first ... */
	uint32_t npsn; /* ... and how many; 0 for REQ_LOCAL */
	uint32_t length;
	uint8_t op, kind, flags, units;
	/* A local error found while it was prepared or sent: told when all before it have completed. */
	uint8_t status, vendor_err;
};

/* A send WQE as fetched. Fetched again for a retransmission: hardware keeps no payload, and no SGE list, of what it sent. */
struct req_loaded {
	bool valid;
	uint8_t op, flags, num_sge, units;
	uint32_t index, length;
	uint32_t data_off; /* SGE list or inline data */
	uint8_t raw[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT] __attribute__((aligned(8)));
};

struct qp_req {
	struct req_wqe wqe[REQ_WQES];
	uint32_t head, send, tail; /* free-running: oldest incomplete, next to send from, next free */
	uint32_t max_psn; /* one past the highest PSN ever sent */
	uint32_t since_ackreq;
	bool rnr_wait; /* the peer said RNR; nothing is sent until rnr_timer */
	bool went_back; /* a NAK was obeyed and no progress was made since: further ones mean the same loss */
	struct timer ack_timer, rnr_timer;
	struct req_loaded tx; /* the WQE being sent */
	struct req_loaded rx; /* the READ or atomic whose response arrives */
};

enum resp_msg {
	RESP_IDLE,
	RESP_SEND,
	RESP_WRITE,
};

/* A READ or atomic kept for its response and for duplicates (protocol rules 7 and 9). */
struct resp_res {
	bool atomic;
	bool pending; /* a response is due */
	bool again; /* because of a duplicate */
	uint8_t opcode;
	uint32_t psn, npsn, msn;
	uint32_t rkey, length;
	uint64_t va;
	uint32_t start, cur, end; /* READ: response packets from start to end are due, cur is next; counted from psn */
	uint64_t orig; /* atomic: the saved result */
};

struct qp_resp {
	/* Message in progress */
	uint8_t msg; /* enum resp_msg */
	bool drop; /* UC: rest of a damaged message */
	bool have_rqe;
	uint32_t placed; /* bytes of the message so far */
	uint64_t va; /* WRITE: next byte, */
	uint32_t rkey;
	uint32_t left; /* and bytes to come */
	/* Answers that wait for their turn: behind READ responses of earlier requests. */
	bool ack;
	uint32_t ack_psn;
	uint8_t nak; /* AETH syndrome; 0: none */
	uint32_t nak_psn;
	bool fatal; /* after the NAK the QP goes to ERR; no request is taken any more */
	uint8_t fatal_event;
	bool cnp;
	uint64_t cnp_time; /* not before */
	bool last_wqe_told;
	uint32_t res_head, res_num, res_done; /* oldest, how many, how many of the oldest are answered */
	struct resp_res res[MODEL_RD_ATOMIC];
	/* The receive entry in use. A dropped UC or UD message leaves it for the next. */
	struct rqe_loaded rqe;
};

/* ---- transport.c ---- */

/* The QP's path as it is now. false: its GID entry is gone. */
bool tx_path(struct frnic_backend *be, const struct qp *qp, struct roce_path *path);
/* VLAN tag and source of a path from a GID entry; dgid, tclass, hop_limit, flow_label, dmac and sport are the caller's. */
bool tx_path_gid(struct frnic_backend *be, uint32_t sgid_index, struct roce_path *path);
/* Close the frame in be->tx_buf that ends at end, send and count it. payload: bytes for the counter. */
void tx_finish(struct frnic_backend *be, struct qp *qp, uint8_t *end, uint32_t payload);

/* Does a packet's P_Key match the table's entry? (protocol rule 15) */
bool pkey_match(uint16_t a, uint16_t b);

/*
 * len bytes at offset off of a scatter list. Every piece is checked before the first byte moves. Returns 0 or enum vendor_err (LKEY_*, DMA_*; BAD_LENGTH:
 * the list is shorter).
 */
uint8_t sge_write(struct frnic_backend *be, const struct qp *qp, uint32_t pd, const struct frnic_sge *sge, unsigned int num, uint64_t off,
		  const void *data, uint32_t len);
uint8_t sge_read(struct frnic_backend *be, const struct qp *qp, const struct frnic_sge *sge, unsigned int num, uint64_t off, void *data,
		 uint32_t len);
/* CQE status of a local vendor error. */
uint8_t local_status(uint8_t vendor_err);

/* ---- requester.c ---- */
void requester_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt);
/* Load and check the WQE at index; fills *l. Returns 0 or enum vendor_err, with the CQE status. */
uint8_t req_load(struct frnic_backend *be, struct qp *qp, struct req_loaded *l, uint32_t index, uint32_t avail, uint8_t *status);
void send_cqe(struct frnic_backend *be, struct qp *qp, uint8_t op, uint32_t index, uint32_t bytes, uint8_t status, uint8_t vendor_err);

/* ---- responder.c ---- */
void responder_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt);
/*
 * A receive entry into resp.rqe, unless one is held already. 0: there is one; -1: none posted; else the vendor error of an unusable entry, whose tag is
 * in resp.rqe if resp.have_rqe.
 */
int resp_take_rqe(struct frnic_backend *be, struct qp *qp);
/* Complete the held receive entry; the rest of cqe is the caller's. */
void recv_cqe(struct frnic_backend *be, struct qp *qp, struct frnic_cqe *cqe, uint8_t op, uint8_t flags, uint32_t bytes, uint8_t status,
	      uint8_t vendor_err, uint32_t src_qp, bool solicited);

/* ---- ud.c ---- */
unsigned int ud_send(struct frnic_backend *be, struct qp *qp, unsigned int budget);
void ud_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt);
void ud_mcast_rx(struct frnic_backend *be, const struct roce_pkt *pkt);

#endif
