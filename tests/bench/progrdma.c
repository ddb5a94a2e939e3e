// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable queue pairs of rdma_rxe, through libibverbs. Whoever waits for a
 * completion sleeps, as the other contenders do.
 *
 * Both programs are on one host. They tell each other of their queue pairs
 * through a socket.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "progbench.h"

#define DEPTH		16	/* receives that are posted */
#define SIGNALLED	8	/* sends of which one has a completion */

/* What the ends tell each other. */
struct rdma_peer {
	union ibv_gid gid;
	uint64_t word;
	uint32_t rkey;
	uint32_t qpn;
};

struct rdma {
	struct ibv_comp_channel *events;
	struct ibv_cq *sent;
	struct ibv_cq *got;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	enum ibv_mtu mtu;
	int gid_index;
	unsigned int nsent;
	struct rdma_peer here;
	struct rdma_peer there;
	/* Registered: */
	uint64_t word;		/* that the peer adds to; what it was */
	uint8_t out[BULK];
	uint8_t in[BULK];	/* messages of 64 KB, or DEPTH small ones */
};

/* The address that routes know: that of IPv4. */
static void find_gid(struct ibv_context *ctx, struct rdma *r, int ngids)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	int i;

	for (i = 0; i < ngids; i++)
		if (!ibv_query_gid(ctx, 1, i, &r->here.gid) &&
		    !memcmp(r->here.gid.raw, ipv4, sizeof(ipv4))) {
			r->gid_index = i;
			return;
		}
	die("the RDMA device has no IPv4 address");
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	if (!name)
		die("which RDMA device: -R");
	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("no RDMA device: %s", name);
	ibv_free_device_list(list);
	return ctx;
}

static void *must(void *made, const char *what)
{
	if (!made)
		die("%s: %s", what, strerror(errno));
	return made;
}

static void modify(struct rdma *r, struct ibv_qp_attr *attr, int mask)
{
	int err = ibv_modify_qp(r->qp, attr, mask);

	if (err)
		die("ibv_modify_qp: %s", strerror(err));
}

static struct rdma *rdma_make(const struct where *w)
{
	struct ibv_context *ctx = open_device(w->rdma);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4 * SIGNALLED, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_LOCAL_WRITE,
	};
	struct rdma *r = must(calloc(1, sizeof(*r)), "memory");
	struct ibv_port_attr port;
	struct ibv_pd *pd;

	if (ibv_query_port(ctx, 1, &port))
		die("ibv_query_port: %s", strerror(errno));
	r->mtu = port.active_mtu;
	find_gid(ctx, r, port.gid_tbl_len);
	pd = must(ibv_alloc_pd(ctx), "ibv_alloc_pd");
	r->mr = must(ibv_reg_mr(pd, &r->word, sizeof(*r) -
				offsetof(struct rdma, word),
				attr.qp_access_flags), "ibv_reg_mr");
	r->events = must(ibv_create_comp_channel(ctx), "completion channel");
	r->sent = must(ibv_create_cq(ctx, 4 * SIGNALLED, NULL, r->events, 0),
		       "ibv_create_cq");
	r->got = must(ibv_create_cq(ctx, DEPTH, NULL, r->events, 0),
		      "ibv_create_cq");
	init.send_cq = r->sent;
	init.recv_cq = r->got;
	r->qp = must(ibv_create_qp(pd, &init), "ibv_create_qp");
	modify(r, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       IBV_QP_ACCESS_FLAGS);
	r->here.qpn = r->qp->qp_num;
	r->here.rkey = r->mr->rkey;
	r->here.word = (uintptr_t)&r->word;
	return r;
}

/* --- messages ---------------------------------------------------------------- */

/* A place in @in: number @i of those of the end's size. */
static void post_receive(struct end *e, unsigned int i)
{
	struct rdma *r = e->rdma;
	struct ibv_sge sge = { .addr = (uintptr_t)(r->in + i * e->bytes),
			       .length = e->bytes, .lkey = r->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(r->qp, &wr, &bad))
		die("ibv_post_recv: %s", strerror(errno));
}

static void complete(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		/* Whoever asked has gone. */
		if (wc->status == IBV_WC_WR_FLUSH_ERR)
			exit(0);
		die("completion: %s", ibv_wc_status_str(wc->status));
	}
}

/* Sleep until there is a completion. */
static void await(struct rdma *r, struct ibv_cq *cq, struct ibv_wc *wc)
{
	int armed = 0, n;
	struct ibv_cq *which;
	void *context;

	while (!(n = ibv_poll_cq(cq, 1, wc))) {
		if (!armed) {
			if (ibv_req_notify_cq(cq, 0))
				die("ibv_req_notify_cq: %s", strerror(errno));
			armed = 1;
			continue;
		}
		if (ibv_get_cq_event(r->events, &which, &context))
			die("ibv_get_cq_event: %s", strerror(errno));
		ibv_ack_cq_events(which, 1);
		armed = 0;
	}
	if (n < 0)
		die("ibv_poll_cq: %s", strerror(errno));
	complete(wc);
}

static void post(struct rdma *r, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err = ibv_post_send(r->qp, wr, &bad);

	if (err)
		die("ibv_post_send: %s", strerror(err));
}

/* Send @bytes of @out. Completions are few, and looked for without waiting. */
static void send_some(struct rdma *r, unsigned int bytes, unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->out, .length = bytes,
			       .lkey = r->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge,
				  .num_sge = 1, .send_flags = flags };
	struct ibv_wc wc;

	if (!flags && !(++r->nsent % SIGNALLED)) {
		while (ibv_poll_cq(r->sent, 1, &wc) > 0)
			complete(&wc);
		wr.send_flags = IBV_SEND_SIGNALED;
	}
	post(r, &wr);
}

/* What came, in @in; its place is to be posted again. */
static const uint8_t *receive(struct end *e, unsigned int *place)
{
	struct rdma *r = e->rdma;
	struct ibv_wc wc;

	await(r, r->got, &wc);
	*place = wc.wr_id;
	return r->in + wc.wr_id * e->bytes;
}

static void send_number(struct end *e, unsigned int bytes, unsigned int flags)
{
	memcpy(e->rdma->out, &e->done, sizeof(e->done));
	e->rdma->out[bytes - 1] = e->done;
	send_some(e->rdma, bytes, flags);
}

static void ask(struct end *e, unsigned int bytes)
{
	const uint8_t *back;
	unsigned int place;

	send_number(e, bytes, 0);
	back = receive(e, &place);
	if (memcmp(back, e->rdma->out, BYTES / 2) ||
	    back[BYTES - 1] != e->rdma->out[bytes - 1])
		die("another message came back than went out");
	post_receive(e, place);
	e->done++;
}

void rdma_ask(struct end *e)
{
	ask(e, BYTES);
}

void rdma_bulk_ask(struct end *e)
{
	ask(e, BULK);
}

void rdma_answer(struct end *e)
{
	unsigned int place;
	const uint8_t *in = receive(e, &place);

	memcpy(e->rdma->out, in, BYTES / 2);
	memcpy(e->rdma->out + BYTES / 2, in + e->bytes - BYTES / 2, BYTES / 2);
	post_receive(e, place);
	send_some(e->rdma, BYTES, 0);
}

/* Until it is known that the peer has it. */
void rdma_send(struct end *e)
{
	struct ibv_wc wc;

	send_number(e, BYTES, IBV_SEND_SIGNALED);
	await(e->rdma, e->rdma->sent, &wc);
	e->done++;
}

void rdma_take(struct end *e)
{
	unsigned int place;
	uint64_t number;

	memcpy(&number, receive(e, &place), sizeof(number));
	if (number != e->done++)
		die("message %llu came in the place of %llu",
		    (unsigned long long)number,
		    (unsigned long long)e->done - 1);
	post_receive(e, place);
}

void rdma_fetch_add(struct end *e)
{
	struct rdma *r = e->rdma;
	struct ibv_sge sge = { .addr = (uintptr_t)&r->word,
			       .length = sizeof(r->word), .lkey = r->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge,
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = r->there.word, .compare_add = 1,
			       .rkey = r->there.rkey },
	};
	struct ibv_wc wc;

	post(r, &wr);
	await(r, r->sent, &wc);
	if (r->word != e->done++)
		die("FETCH_ADD: %llu was expected, and it is %llu",
		    (unsigned long long)e->done - 1,
		    (unsigned long long)r->word);
}

/* --- both ends ------------------------------------------------------------------ */

static int rendezvous(unsigned int number, struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (fd < 0)
		die("AF_UNIX: %s", strerror(errno));
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(a->sun_path, sizeof(a->sun_path), "/run/progbench-rdma-%u",
		 number);
	return fd;
}

static void join(struct end *e)
{
	struct rdma *r = e->rdma;
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = r->mtu,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = r->gid_index,
				      .hop_limit = 64 } },
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};
	unsigned int i, places = BULK / e->bytes;

	if (write(e->in, &r->here, sizeof(r->here)) != sizeof(r->here) ||
	    read(e->in, &r->there, sizeof(r->there)) != sizeof(r->there))
		die("the other end has gone");
	rtr.dest_qp_num = r->there.qpn;
	rtr.ah_attr.grh.dgid = r->there.gid;
	for (i = 0; i < DEPTH && i < places; i++)
		post_receive(e, i);
	modify(r, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
	       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
	       IBV_QP_MIN_RNR_TIMER);
	modify(r, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	/* Neither sends before the other can take it. */
	if (write(e->in, "", 1) != 1 || read(e->in, e->buf, 1) != 1)
		die("the other end has gone");
}

void rdma_open(const struct contender *c, const struct where *w,
	       unsigned int number, int answering, struct end *e)
{
	struct sockaddr_un a;
	int fd = rendezvous(number, &a);

	e->rdma = rdma_make(w);
	e->in = fd;
	e->bytes = answering && c->bytes ? c->bytes : BYTES;
	if (answering) {
		unlink(a.sun_path);
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1))
			die("%s: %s", a.sun_path, strerror(errno));
		return;
	}
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("%s: %s", a.sun_path, strerror(errno));
	join(e);
}

void rdma_accept(struct end *e)
{
	sock_accept(e);
	join(e);
}
