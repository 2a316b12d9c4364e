// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connections by rdma_cm, each closed with data that is compared (R4.1, R4.2, R4.5), or with the end that is expected (R4.3).
 *
 *   conn server [-c COUNT] [-e END] [-x] [-h] [-l SECONDS] PORT     serves COUNT requests (1)
 *   conn client [-n N] [-r ROUNDS] [-e END] [-x] [-q] [-l SECONDS] HOST PORT   N at once (1), ROUNDS in a row (1)
 *   conn setup DEVICE N        time of N times create, INIT, RTR, RTS through verbs (R1.10)
 *   conn pkeys DEVICE [HOST]   each P_Key of the table here with each one there: passes data only where the keys match (R4.4)
 *
 *   -e END    how each one must end: "data" (default), or "EVENT:STATUS" of rdma_cm, as "rejected:8", or "create_qp:ERRNO", "accept:ERRNO", "wc:STATUS"
 *   -x        takes all QPs that there are before it listens or connects; a server then rejects for want of one
 *   -h        holds requests without an answer, until SIGUSR1
 *   -q        says when it is established; the client sends nothing and waits for an end
 *   -k        the client writes to its peer each second instead, until it ends
 *   -l        limit for all, default 30
 *
 * Last line: "N passed, N failed". Standard verbs only: any device at either end.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>

#include "pair.h"

#define MAX_AT_ONCE 64
#define SLICE 8192	  /* of a connection: one for what comes by SEND, one for what comes by WRITE, one for what goes out */
#define MAGIC 0x66726e31u

/* Private data of REQ and REP, big-endian: what the peer may write to (R4.2), and what the message says elsewhere too (R4.1). */
struct hello {
	uint32_t magic, qpn;
	uint64_t addr;
	uint32_t rkey, len;
};

struct conn {
	struct rdma_cm_id *id;
	bool used, established, data, done, probing;
	int slot, number;
	struct hello peer;
	double start, probed;
};

static struct rdma_event_channel *channel;
static struct ibv_context *verbs;
static struct ibv_pd *pd;
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t *mem;
static struct conn conns[MAX_AT_ONCE];
static bool is_server, exhaust, hold, quiet, probe;
static const char *want = "data";
static int passed, failed, ended;
static double slowest, limit = 30;
static volatile sig_atomic_t go_on;

static uint8_t *slice(const struct conn *c, int which)
{
	return mem + (size_t)(c->slot * 3 + which) * SLICE;
}

/* Around nothing and around the path MTU. The number, which the client counts, decides. */
static uint32_t length(int number)
{
	const uint32_t lens[] = { 1024, 1025, 1, 64, 4096, 4097, 1023, 7777 };

	return lens[number % 8];
}

static void fill(uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (seed * 2654435761u + i * 40503u) >> 13;
}

static bool same(const uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != (uint8_t)((seed * 2654435761u + i * 40503u) >> 13))
			return false;
	return true;
}

/* The end of a connection's life, right or wrong. */
static void end(struct conn *c, const char *how)
{
	double took = now_s() - c->start;

	if (c->done)
		return;
	c->done = true;
	ended++;
	if (took > slowest)
		slowest = took;
	if (!strcmp(how, want)) {
		passed++;
	} else {
		failed++;
		printf("FAIL connection %d: %s instead of %s\n", c->number, how, want);
	}
}

static void conn_free(struct conn *c)
{
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (rdma_destroy_id(c->id))
		die("destroy_id: %s", strerror(errno));
	memset(c, 0, sizeof(*c));
}

/* Objects that all connections share. */
static void shared(struct ibv_context *v)
{
	if (verbs)
		return;
	verbs = v;
	pd = ibv_alloc_pd(v);
	comp = ibv_create_comp_channel(v);
	cq = comp ? ibv_create_cq(v, MAX_AT_ONCE * 8, NULL, comp, 0) : NULL;
	if (!pd || !cq || posix_memalign((void **)&mem, 4096, (size_t)MAX_AT_ONCE * 3 * SLICE))
		die("PD, CQ or memory: %s", strerror(errno));
	mr = ibv_reg_mr(pd, mem, (size_t)MAX_AT_ONCE * 3 * SLICE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr || ibv_req_notify_cq(cq, 0))
		die("MR or CQ: %s", strerror(errno));
	fcntl(comp->fd, F_SETFL, O_NONBLOCK);
}

static void qp_attr(struct ibv_qp_init_attr *a)
{
	*a = (struct ibv_qp_init_attr){ .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 0,
		.cap = { .max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 } };
}

static int qp_make(struct conn *c)
{
	struct ibv_sge sge = { .addr = (uintptr_t)slice(c, 0), .length = SLICE, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = c->slot, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_init_attr a;

	qp_attr(&a);
	if (rdma_create_qp(c->id, pd, &a))
		return errno;
	memset(slice(c, 0), 0xcc, 2 * SLICE);
	return ibv_post_recv(c->id->qp, &wr, &bad);
}

static struct hello hello(const struct conn *c)
{
	return (struct hello){ htobe32(MAGIC), htobe32(c->id->qp->qp_num), htobe64((uintptr_t)slice(c, 1)), htobe32(mr->rkey), htobe32(SLICE) };
}

/* The peer's private data, and whether it agrees with the rest of the message. */
static bool hello_take(struct conn *c, const struct rdma_conn_param *p)
{
	if (!p->private_data || p->private_data_len < sizeof(c->peer))
		return false;
	memcpy(&c->peer, p->private_data, sizeof(c->peer));
	return be32toh(c->peer.magic) == MAGIC && be32toh(c->peer.qpn) == p->qp_num && be32toh(c->peer.len) == SLICE && !(be64toh(c->peer.addr) & 4095);
}

/* R4.1: the QP's context is what the messages said. */
static bool context_right(const struct conn *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	return !ibv_query_qp(c->id->qp, &a, IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_PATH_MTU | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC, &init) &&
	       a.qp_state == IBV_QPS_RTS && a.dest_qp_num == be32toh(c->peer.qpn) && a.path_mtu == IBV_MTU_1024 && a.rnr_retry == 7 &&
	       a.retry_cnt == 6 && a.max_dest_rd_atomic == 3 && a.max_rd_atomic == 3;
}

/* A WRITE to the peer's slice, and a SEND of the same bytes behind it. */
static void send_data(struct conn *c, int number, uint32_t seed)
{
	uint32_t len = length(number);
	struct ibv_sge sge = { .addr = (uintptr_t)slice(c, 2), .length = len, .lkey = mr->lkey };
	struct ibv_send_wr snd = { .wr_id = c->slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(number) };
	struct ibv_send_wr wr = { .wr_id = c->slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .next = &snd,
		.wr.rdma = { be64toh(c->peer.addr), be32toh(c->peer.rkey) } }, *bad;

	fill(slice(c, 2), len, seed);
	if (ibv_post_send(c->id->qp, &wr, &bad))
		die("post_send: %s", strerror(errno));
}

/* Both are there: the server answers, the client is content. */
static void received(struct conn *c, const struct ibv_wc *wc)
{
	int number = be32toh(wc->imm_data);
	uint32_t seed = is_server ? 2 * number : 2 * number + 1;

	if (!(wc->wc_flags & IBV_WC_WITH_IMM) || wc->byte_len != length(number) || wc->qp_num != c->id->qp->qp_num ||
	    (!is_server && number != c->number) || !same(slice(c, 0), wc->byte_len, seed) || !same(slice(c, 1), wc->byte_len, seed) ||
	    slice(c, 0)[wc->byte_len] != 0xcc || slice(c, 1)[wc->byte_len] != 0xcc) {
		end(c, "wrong data");
		rdma_disconnect(c->id);
		return;
	}
	c->data = true;
	c->number = number;
}

/* The server answers when it has the data and the connection: either may come first when RTU is late. */
static void advance(struct conn *c)
{
	if (c->done || !c->established || !c->data)
		return;
	if (!context_right(c))
		end(c, "wrong context");
	else
		end(c, "data");
	if (is_server)
		send_data(c, c->number, 2 * c->number + 1);
	else if (rdma_disconnect(c->id))
		die("disconnect: %s", strerror(errno));
}

static void poll_cq(void)
{
	struct ibv_cq *which;
	void *ctx;
	struct ibv_wc wc;
	int events = 0;

	while (comp && !ibv_get_cq_event(comp, &which, &ctx))
		events++;
	if (!events)
		return;
	ibv_ack_cq_events(cq, events);
	if (ibv_req_notify_cq(cq, 0))
		die("req_notify_cq: %s", strerror(errno));
	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		struct conn *c = &conns[wc.wr_id];

		if (wc.wr_id >= MAX_AT_ONCE || !c->used || !c->id->qp || c->id->qp->qp_num != wc.qp_num)
			continue; /* of one that has gone */
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			continue; /* the event says why */
		if (wc.status != IBV_WC_SUCCESS) {
			char how[32];

			snprintf(how, sizeof(how), "wc:%d", wc.status);
			end(c, how);
			if (probe)
				conn_free(c);
			continue;
		}
		if (wc.opcode == IBV_WC_RDMA_WRITE)
			c->probing = false;
		if (wc.opcode & IBV_WC_RECV) {
			received(c, &wc);
			advance(c);
		}
	}
}

/* One WRITE a second, while the last one has been answered: with nothing else on its way an RC connection notices no end of its peer. */
static void probe_all(void)
{
	for (struct conn *c = conns; c < conns + MAX_AT_ONCE; c++) {
		struct ibv_sge sge = { .addr = (uintptr_t)slice(c, 2), .length = 1, .lkey = mr ? mr->lkey : 0 };
		struct ibv_send_wr wr = { .wr_id = c->slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { be64toh(c->peer.addr), be32toh(c->peer.rkey) } }, *bad;

		if (!c->used || !c->established || c->done || c->probing || now_s() < c->probed + 1)
			continue;
		if (ibv_post_send(c->id->qp, &wr, &bad))
			die("post_send: %s", strerror(errno));
		c->probing = true;
		c->probed = now_s();
	}
}

static const char *event_name(const struct rdma_cm_event *e)
{
	static char s[64];
	const char *name = rdma_event_str(e->event) + strlen("RDMA_CM_EVENT_");
	int i = 0;

	for (; name[i] && i < 40; i++)
		s[i] = name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i];
	snprintf(s + i, sizeof(s) - i, ":%d", e->status);
	return s;
}

static struct conn *conn_new(struct rdma_cm_id *id, int number)
{
	for (int i = 0; i < MAX_AT_ONCE; i++)
		if (!conns[i].used) {
			conns[i] = (struct conn){ .id = id, .used = true, .slot = i, .number = number, .start = now_s() };
			id->context = &conns[i];
			return &conns[i];
		}
	die("more than %d at once", MAX_AT_ONCE);
}

static struct rdma_conn_param param(const struct hello *h)
{
	/* retry_count is the active side's to say for both; 3 READs each way, less than the device can. */
	return (struct rdma_conn_param){ .private_data = h, .private_data_len = sizeof(*h), .responder_resources = 3, .initiator_depth = 3,
		.retry_count = 6, .rnr_retry_count = 7 };
}

/* Server: a request is answered. */
static void answer(struct conn *c)
{
	int err = qp_make(c);

	if (err) {
		char how[32];

		rdma_reject(c->id, NULL, 0);
		snprintf(how, sizeof(how), "create_qp:%d", err);
		end(c, how);
		conn_free(c);
		return;
	}
	struct hello h = hello(c);
	struct rdma_conn_param p = param(&h);

	if (rdma_accept(c->id, &p)) {
		char how[32];

		snprintf(how, sizeof(how), "accept:%d", errno);
		end(c, how);
		conn_free(c);
	}
}

static void request(struct rdma_cm_event *e)
{
	struct conn *c = conn_new(e->id, -1);

	shared(e->id->verbs);
	if (!hello_take(c, &e->param.conn)) {
		end(c, "wrong private data");
		rdma_reject(c->id, NULL, 0);
		conn_free(c);
		return;
	}
	if (hold) {
		printf("held\n");
		return;
	}
	answer(c);
}

/* Client: the next step towards the connection. */
static void client_step(struct conn *c, enum rdma_cm_event_type event)
{
	int err;

	if (event == RDMA_CM_EVENT_ADDR_RESOLVED) {
		if (rdma_resolve_route(c->id, 2000))
			die("resolve_route: %s", strerror(errno));
		return;
	}
	shared(c->id->verbs);
	err = qp_make(c);
	if (err) {
		char how[32];

		snprintf(how, sizeof(how), "create_qp:%d", err);
		end(c, how);
		conn_free(c);
		return;
	}
	struct hello h = hello(c);
	struct rdma_conn_param p = param(&h);

	if (rdma_connect(c->id, &p))
		die("connect: %s", strerror(errno));
}

static void cm_event(void)
{
	struct rdma_cm_event *e, ev;
	struct hello data;

	if (rdma_get_cm_event(channel, &e))
		return;
	ev = *e;
	if (ev.param.conn.private_data && ev.param.conn.private_data_len >= sizeof(data)) {
		memcpy(&data, ev.param.conn.private_data, sizeof(data));
		ev.param.conn.private_data = &data;
	}
	rdma_ack_cm_event(e);
	struct conn *c = ev.id->context;

	switch (ev.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		client_step(c, ev.event);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		request(&ev);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (!is_server && !hello_take(c, &ev.param.conn)) {
			end(c, "wrong private data");
			rdma_disconnect(c->id);
			break;
		}
		c->established = true;
		if (quiet || probe)
			printf("established\n");
		else if (!is_server)
			send_data(c, c->number, 2 * c->number);
		advance(c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(c->id); /* the answer, if the other end began */
		end(c, event_name(&ev));
		conn_free(c);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		end(c, event_name(&ev));
		conn_free(c);
	}
}

static bool busy(void)
{
	for (int i = 0; i < MAX_AT_ONCE; i++)
		if (conns[i].used)
			return true;
	return false;
}

/* One turn of the loop; time is bounded. */
static void turn(double until)
{
	struct pollfd fds[2] = { { .fd = channel->fd, .events = POLLIN }, { .fd = comp ? comp->fd : -1, .events = POLLIN } };
	double left = until - now_s();

	if (left < 0)
		die("FAIL out of time: %d ended, %d of them well", ended, passed);
	if (probe && left > 1)
		left = 1;
	poll(fds, 2, left * 1000 + 1); /* a signal ends it, too */
	if (probe)
		probe_all();
	if (go_on) {
		go_on = 0;
		hold = false;
		for (int i = 0; i < MAX_AT_ONCE; i++)
			if (conns[i].used && !conns[i].id->qp)
				answer(&conns[i]);
	}
	poll_cq();
	cm_event();
}

static void on_usr1(int sig)
{
	(void)sig;
	go_on = 1;
}

static struct ibv_qp *taken[65536];

/* All QPs that the device still has; returns how many. */
static int take_all(void)
{
	struct ibv_context **list = rdma_get_devices(NULL); /* librdmacm's own contexts: its QPs must belong to them */
	struct ibv_qp_init_attr a;
	int n = 0, err = 0;

	if (!list || !list[0])
		die("no RDMA device");
	shared(list[0]);
	rdma_free_devices(list);
	for (; n < 65536; n++) {
		qp_attr(&a);
		taken[n] = ibv_create_qp(pd, &a);
		if (!taken[n]) {
			err = errno;
			break;
		}
	}
	printf("took %d QPs: %s\n", n, strerror(err));
	if (err != ENOSPC) /* as the table of status codes has it (R1.3): TABLE_FULL */
		die("FAIL creating one QP too many");
	return n;
}

static void give_back(int n)
{
	while (n)
		if (ibv_destroy_qp(taken[--n]))
			die("FAIL destroy_qp");
}

static void server(int port, int count)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_cm_id *listener;
	int taken_qps = exhaust ? take_all() : 0;

	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) || rdma_bind_addr(listener, (struct sockaddr *)&sin) || rdma_listen(listener, 128))
		die("listen: %s", strerror(errno));
	printf("listening\n");
	double until = now_s() + limit;

	while (ended < count || busy())
		turn(until);
	rdma_destroy_id(listener);
	give_back(taken_qps);
}

static void client(const char *host, int port, int at_once, int rounds)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	double until = now_s() + limit;
	int taken_qps = exhaust ? take_all() : 0, number = 0;

	if (!inet_aton(host, &sin.sin_addr))
		die("bad address: %s", host);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < at_once; i++) {
			struct rdma_cm_id *id;

			if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
				die("create_id: %s", strerror(errno));
			conn_new(id, number++);
			if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&sin, 2000))
				die("resolve_addr: %s", strerror(errno));
		}
		while (busy())
			turn(until);
	}
	give_back(taken_qps);
}

static int setup_rate(const char *device, int n)
{
	struct ibv_context *ctx = dev_open(device);
	union ibv_gid gid;
	int gid_index = gid_find(ctx, &gid);
	double start, worst = 0, total = 0;

	shared(ctx);
	struct pair_addr to = { .gid = gid, .qpn = 2, .psn = 1 };

	for (int i = 0; i < n; i++) {
		struct ibv_qp_init_attr a;
		struct ibv_qp *qp;

		qp_attr(&a);
		start = now_s();
		qp = ibv_create_qp(pd, &a);
		if (!qp)
			die("create_qp: %s", strerror(errno));
		qp_up(qp, gid_index, &to, &to, IBV_MTU_1024);
		double took = now_s() - start;

		total += took;
		if (took > worst)
			worst = took;
		if (ibv_destroy_qp(qp))
			die("destroy_qp");
	}
	printf("%s: %d times create, INIT, RTR, RTS: %.0f a second, slowest %.2f ms\n", device, n, n / total, worst * 1e3);
	return 0;
}

/* ---- P_Keys ---- */
static bool keys_match(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

static int pkeys(const char *device, const char *host)
{
	struct ibv_context *ctx = dev_open(device);
	uint16_t mine[8] = { 0 }, theirs[8];
	union ibv_gid gid;
	int gid_index = gid_find(ctx, &gid), fd;
	struct ibv_port_attr port;

	if (ibv_query_port(ctx, 1, &port))
		die("query_port");
	for (int i = 0; i < 8 && i < port.pkey_tbl_len; i++)
		if (ibv_query_pkey(ctx, 1, i, &mine[i]))
			die("query_pkey %d", i);
	shared(ctx);
	fd = sock_open(host, "18602");
	sock_swap(fd, mine, theirs, sizeof(mine));
	for (int i = 0; i < 64; i++) {
		int my = host ? i / 8 : i % 8, their = host ? i % 8 : i / 8;
		uint16_t a = be16toh(mine[my]), b = be16toh(theirs[their]);
		struct pair_addr me = { .gid = gid, .psn = 0xfffffe, .rkey = mr->rkey, .addr = (uintptr_t)mem }, peer;
		struct ibv_qp_init_attr init;
		struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
		struct ibv_qp *qp;

		if (!a || !b)
			continue;
		qp_attr(&init);
		qp = ibv_create_qp(pd, &init);
		if (!qp)
			die("create_qp");
		me.qpn = qp->qp_num;
		sock_swap(fd, &me, &peer, sizeof(me));
		pair_pkey_index = my;
		pair_timeout = 14;
		pair_retry_cnt = 1;
		qp_up(qp, gid_index, &me, &peer, IBV_MTU_1024);
		memset(mem, 0xcc, SLICE);
		sock_sync(fd);
		if (host) {
			struct ibv_sge sge = { .addr = (uintptr_t)slice(conns, 2), .length = 1025, .lkey = mr->lkey };
			struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
				.wr.rdma = { peer.addr, peer.rkey } }, *bad;
			double end = now_s() + PAIR_TIMEOUT_S;

			fill(slice(conns, 2), 1025, i);
			if (ibv_post_send(qp, &wr, &bad))
				die("post_send");
			while (!ibv_poll_cq(cq, 1, &wc))
				if (now_s() > end)
					die("P_Keys 0x%04x and 0x%04x: no completion", a, b);
		}
		sock_sync(fd);
		bool arrived = same(mem, 1025, i), ok = host ? wc.status == (keys_match(a, b) ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR) :
							       arrived == keys_match(a, b) && (arrived || mem[0] == 0xcc);

		ok ? passed++ : failed++;
		if (!ok)
			printf("FAIL P_Keys 0x%04x here, 0x%04x there: %s\n", a, b, host ? ibv_wc_status_str(wc.status) : arrived ? "data" : "no data");
		if (ibv_destroy_qp(qp))
			die("destroy_qp");
	}
	return 0;
}

int main(int argc, char **argv)
{
	int opt, count = 1, at_once = 1, rounds = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		die("usage: conn server | client | setup | pkeys ...");
	const char *mode = argv[1];

	argv++, argc--;
	while ((opt = getopt(argc, argv, "c:e:n:r:l:xhqk")) != -1)
		switch (opt) {
		case 'c': count = atoi(optarg); break;
		case 'e': want = optarg; break;
		case 'n': at_once = atoi(optarg); break;
		case 'r': rounds = atoi(optarg); break;
		case 'l': limit = atof(optarg); break;
		case 'x': exhaust = true; break;
		case 'h': hold = true; break;
		case 'q': quiet = true; break;
		case 'k': probe = true; break;
		default: die("conn: unknown option");
		}
	argv += optind, argc -= optind;
	is_server = !strcmp(mode, "server");
	channel = rdma_create_event_channel();
	if (!channel)
		die("event channel: %s", strerror(errno));
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	signal(SIGUSR1, on_usr1);
	if (is_server && argc == 1)
		server(atoi(argv[0]), count);
	else if (!strcmp(mode, "client") && argc == 2 && at_once > 0 && at_once <= MAX_AT_ONCE)
		client(argv[0], atoi(argv[1]), at_once, rounds);
	else if (!strcmp(mode, "setup") && argc == 2)
		return setup_rate(argv[0], atoi(argv[1]));
	else if (!strcmp(mode, "pkeys") && (argc == 1 || argc == 2))
		pkeys(argv[0], argc == 2 ? argv[1] : NULL);
	else
		die("conn: wrong arguments");
	printf("slowest %.3f s\n%d passed, %d failed\n", slowest, passed, failed);
	return failed != 0 || !passed;
}
