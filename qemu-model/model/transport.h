/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transport state of a QP, requester and responder. Included by frnic_model.h before struct qp; struct timer, struct ring, struct mr_ref and struct
 * rqe_loaded are known here.
 */
#ifndef FRNIC_TRANSPORT_H
#define FRNIC_TRANSPORT_H

struct qp_req {
	struct timer ack_timer;
};

struct qp_resp {
	struct rqe_loaded rqe;
};

#endif
