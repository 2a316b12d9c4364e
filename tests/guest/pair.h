/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What two verbs programs on two hosts need before their first work request: a TCP connection to exchange addresses, and the QP
 * transitions INIT, RTR, RTS. Standard verbs only, so that any RDMA device can stand at either end. Errors end the program.
 */
#ifndef PAIR_H
#define PAIR_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* For a wait at the other end: a simulated card, or a guest on a busy machine, takes its time. */
#define PAIR_TIMEOUT_S 60

/* For qp_up(). RNR retries: 7 is without end. */
static int pair_rnr_retry = 7, pair_retry_cnt = 7, pair_timeout = 18, pair_pkey_index;

static void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Exactly len bytes, in one direction. The socket has a time limit. */
static void sock_send(int fd, const void *buf, size_t len)
{
	if (send(fd, buf, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("peer does not take data: %s", strerror(errno));
}

static void sock_recv(int fd, void *buf, size_t len)
{
	if (recv(fd, buf, len, MSG_WAITALL) != (ssize_t)len)
		die("peer is gone or silent: %s", strerror(errno));
}

static void sock_swap(int fd, const void *mine, void *theirs, size_t len)
{
	sock_send(fd, mine, len);
	sock_recv(fd, theirs, len);
}

__attribute__((unused)) static void sock_sync(int fd)
{
	char a = 'x', b = 0;

	sock_swap(fd, &a, &b, 1);
}

/* Server (host == NULL): accept one peer. Client: connect, and wait for the server to listen. */
__attribute__((unused)) static int sock_open(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = host ? 0 : AI_PASSIVE }, *ai;
	struct timeval limit = { .tv_sec = PAIR_TIMEOUT_S };
	int one = 1, fd, conn;
	double end = now_s() + PAIR_TIMEOUT_S;

	if (getaddrinfo(host, port, &hints, &ai))
		die("cannot resolve %s", host);
	for (;;) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0)
			die("socket: %s", strerror(errno));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (!host)
			break;
		if (!connect(fd, ai->ai_addr, ai->ai_addrlen)) {
			freeaddrinfo(ai);
			return fd;
		}
		if (now_s() > end)
			die("connect to %s: %s", host, strerror(errno));
		close(fd);
		usleep(50000);
	}
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1))
		die("listen: %s", strerror(errno));
	freeaddrinfo(ai);
	conn = accept(fd, NULL, NULL); /* SO_RCVTIMEO limits it */
	if (conn < 0)
		die("nobody connects: %s", strerror(errno));
	close(fd);
	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return conn;
}

static struct ibv_context *dev_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	if (!list)
		die("no RDMA devices: %s", strerror(errno));
	for (int i = 0; list[i]; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name)) {
			ctx = ibv_open_device(list[i]);
			break;
		}
	if (!ctx)
		die("cannot open RDMA device %s", name ? name : "(first)");
	ibv_free_device_list(list);
	return ctx;
}

/* Index of the RoCE v2 GID that holds an IPv4 address. */
static int gid_find(struct ibv_context *ctx, union ibv_gid *gid)
{
	struct ibv_gid_entry e;

	for (int i = 0; i < 128; i++)
		if (!ibv_query_gid_ex(ctx, 1, i, &e, 0) && e.gid_type == IBV_GID_TYPE_ROCE_V2 && !e.gid.global.subnet_prefix &&
		    (be64toh(e.gid.global.interface_id) >> 32) == 0xffff) {
			*gid = e.gid;
			return i;
		}
	die("no IPv4 RoCE v2 GID");
}

/* What one end must know of the other. */
struct pair_addr {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

/* INIT, RTR, RTS. RC and UC use the peer's address; UD takes it from each work request. */
static void qp_up(struct ibv_qp *qp, int gid_index, const struct pair_addr *me, const struct pair_addr *peer, enum ibv_mtu mtu)
{
	enum ibv_qp_type type = qp->qp_type;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111, .pkey_index = pair_pkey_index,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   (type == IBV_QPT_RC ? IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC : 0) };
	int rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	if (rc)
		die("INIT: %s", strerror(rc));

	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = peer->qpn, .rq_psn = peer->psn,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = peer->gid, .sgid_index = gid_index, .hop_limit = 64 } } };
	int mask = IBV_QP_STATE;

	if (type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	rc = ibv_modify_qp(qp, &a, mask);
	if (rc)
		die("RTR: %s", strerror(rc));

	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = me->psn, .timeout = pair_timeout, .retry_cnt = pair_retry_cnt, .rnr_retry = pair_rnr_retry,
		.max_rd_atomic = 4 };
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	rc = ibv_modify_qp(qp, &a, mask);
	if (rc)
		die("RTS: %s", strerror(rc));
}

/* One completion within the time limit; its status must be success. */
__attribute__((unused)) static void cq_wait(struct ibv_cq *cq, struct ibv_wc *wc, const char *what)
{
	double end = now_s() + PAIR_TIMEOUT_S;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc)))
		if (now_s() > end)
			die("%s: no completion", what);
	if (n < 0)
		die("%s: poll failed", what);
	if (wc->status != IBV_WC_SUCCESS)
		die("%s: %s, vendor error 0x%x", what, ibv_wc_status_str(wc->status), wc->vendor_err);
}

#endif
