// SPDX-License-Identifier: GPL-2.0
/*
 * Two round trips on the same pair of devices, measured in the kernel:
 *
 *   echo         a bare frame between two packet handlers, each of which
 *                answers a frame with a new one, as a protocol must
 *   bounce       the same frame over and over, its addresses swapped: what the
 *                devices alone cost
 *   transaction  an atomic transaction, from its offer to its commit, one
 *                behind the other. With `single` each is posted when the one
 *                before has ended; without, all are queued, and the port's
 *                window must be 1
 *
 * With `links` above 1 something else is measured, on as many links of all
 * ports here:
 *
 *   alone        transactions of one link, one behind the other, as long as
 *                there is no other
 *   first        the same once all are there
 *   spread       the same, each on another link
 *
 * Loaded where the port `dev` is; `peer` is the address of the device at the
 * other end, which is a port as well. Loading runs all and logs the medians;
 * it never stays loaded. The links do.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/gcd.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/clock.h>

#include "bench.h"
#include "net/net.h"

#define ECHO_TYPE	0x88B6	/* IEEE 802 Local Experimental 2 */

static char *dev = "";
module_param(dev, charp, 0);
MODULE_PARM_DESC(dev, "the port to measure from");

static char *peer = "";
module_param(peer, charp, 0);
MODULE_PARM_DESC(peer, "the address of the device at the other end");

static unsigned int count = 4000;
module_param(count, uint, 0);
MODULE_PARM_DESC(count, "round trips of each kind");

static unsigned int bytes = 64;
module_param(bytes, uint, 0);
MODULE_PARM_DESC(bytes, "payload of a transaction; the echo carries as much, and a header's length");

static bool single;
module_param(single, bool, 0);
MODULE_PARM_DESC(single, "post a transaction when the one before has ended");

static unsigned int links = 1;
module_param(links, uint, 0);
MODULE_PARM_DESC(links, "links to open, up to 256 a port; from 2 on they are what is measured");

static unsigned int turns = 5;
module_param(turns, uint, 0);
MODULE_PARM_DESC(turns, "times that `first` and `spread` are measured, by turns");

static struct bench rtt;
static u64 began;
static struct oae_pool pool;
static struct completion one_told;

static struct sk_buff *new_frame(struct net_device *out, const u8 *to,
				 gfp_t gfp)
{
	unsigned int len = OAE_HDR_LEN + bytes;
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(out) + len, gfp);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(out));
	skb_reset_network_header(skb);
	skb_put(skb, len);
	skb->dev = out;
	skb->protocol = htons(ECHO_TYPE);
	dev_hard_header(skb, out, ECHO_TYPE, to, NULL, len);
	return skb;
}

/* Send a frame like the one that came back where that came from. */
static void answer(struct sk_buff *skb, struct net_device *out)
{
	struct sk_buff *reply;
	u8 to[ETH_ALEN];

	ether_addr_copy(to, eth_hdr(skb)->h_source);
	reply = new_frame(out, to, GFP_ATOMIC);
	consume_skb(skb);
	if (reply)
		dev_queue_xmit(reply);
}

static void bounce(struct sk_buff *skb, struct net_device *out)
{
	struct ethhdr *eth = eth_hdr(skb);
	u8 source[ETH_ALEN];

	ether_addr_copy(source, eth->h_source);
	ether_addr_copy(eth->h_source, eth->h_dest);
	ether_addr_copy(eth->h_dest, source);
	skb_push(skb, ETH_HLEN);
	skb->dev = out;
	dev_queue_xmit(skb);
}

static void (*send_back)(struct sk_buff *skb, struct net_device *out);

static int echo_near(struct sk_buff *skb, struct net_device *in,
		     struct packet_type *pt, struct net_device *orig)
{
	u64 now = local_clock();

	if (!bench_note(&rtt, now - began)) {
		kfree_skb(skb);
		return NET_RX_SUCCESS;
	}
	began = now;
	send_back(skb, in);
	return NET_RX_SUCCESS;
}

static int echo_far(struct sk_buff *skb, struct net_device *in,
		    struct packet_type *pt, struct net_device *orig)
{
	send_back(skb, in);
	return NET_RX_SUCCESS;
}

static struct packet_type near_type = {
	.type = htons(ECHO_TYPE),
	.func = echo_near,
};

static struct packet_type far_type = {
	.type = htons(ECHO_TYPE),
	.func = echo_far,
};

/* From its offer to its commit, by the clock of the link's events. */
static void told(struct oae_bench_msg *bench, bool committed)
{
	struct oae_msg *msg = container_of(bench, struct oae_msg, bench);

	if (committed)
		bench_note(&rtt, bench->t_end - msg->t_offer);
	else
		complete(&rtt.done);
	complete(&one_told);
}

static int run_echo(struct net_device *near, struct net_device *far,
		    void (*how)(struct sk_buff *, struct net_device *),
		    const char *what)
{
	struct sk_buff *first = new_frame(near, far->dev_addr, GFP_KERNEL);
	int err;

	if (!first)
		return -ENOMEM;
	send_back = how;
	bench_begin(&rtt);
	near_type.dev = near;
	far_type.dev = far;
	dev_add_pack(&near_type);
	dev_add_pack(&far_type);
	began = local_clock();
	dev_queue_xmit(first);
	err = bench_wait(&rtt, what, bytes, 30);
	dev_remove_pack(&near_type);
	dev_remove_pack(&far_type);
	return err;
}

static struct oae_msg *new_msg(struct oae_tag *tag)
{
	struct oae_msg *msg = oae_msg_alloc(&pool, bytes, GFP_KERNEL);
	unsigned int i;

	if (!msg)
		return NULL;
	for (i = 0; i < msg->npieces; i++)
		memset(page_address(msg->piece[i].bv_page) + msg->piece[i].bv_offset,
		       i, msg->piece[i].bv_len);
	oae_msg_slice(msg, tag->key.port->mtu - OAE_HDR_LEN);
	msg->bench.told = told;
	return msg;
}

/* Allocated before anything is measured. */
static int new_msgs(struct oae_tag *tag, struct list_head *all)
{
	struct oae_msg *msg;
	unsigned int i;

	for (i = 0; i < count; i++) {
		msg = new_msg(tag);
		if (!msg)
			return -ENOMEM;
		list_add(&msg->list, all);
	}
	return 0;
}

static struct oae_msg *first_msg(struct list_head *all)
{
	struct oae_msg *msg = list_first_entry(all, struct oae_msg, list);

	list_del_init(&msg->list);
	return msg;
}

/* All are queued before the first is answered: each waits for the one before. */
static int send_queued(struct oae_tag *tag, struct list_head *all)
{
	int err = 0;

	local_bh_disable();
	while (!list_empty(all)) {
		struct oae_msg *msg = first_msg(all);

		err = err ?: oae_tag_send(tag, msg);
		oae_msg_put(msg);
	}
	local_bh_enable();
	return err;
}

/*
 * One transaction. On a veth pair it has ended when softirqs have run; otherwise
 * this waits.
 */
static int send_one(struct oae_tag *tag, struct oae_msg *msg)
{
	int err;

	reinit_completion(&one_told);
	local_bh_disable();
	err = oae_tag_send(tag, msg);
	local_bh_enable();
	if (!err && !wait_for_completion_timeout(&one_told, 5 * HZ))
		err = -ETIMEDOUT;
	oae_msg_put(msg);
	return err;
}

static int send_singly(struct oae_tag *tag, struct list_head *all)
{
	int err = 0;

	while (!list_empty(all)) {
		struct oae_msg *msg = first_msg(all);

		if (err)
			oae_msg_put(msg);
		else
			err = send_one(tag, msg);
	}
	return err;
}

static int run_transactions(struct oae_tag *tag)
{
	LIST_HEAD(all);
	int err;

	bench_begin(&rtt);
	err = new_msgs(tag, &all) ?: single ? send_singly(tag, &all) :
					      send_queued(tag, &all);
	return err ?: bench_wait(&rtt, "transaction", bytes, 30);
}

/* Open the link, so that the first measured finds it as the last does. */
static int open_link(struct oae_tag *tag)
{
	struct oae_msg *msg = new_msg(tag);
	int err;

	if (!msg)
		return -ENOMEM;
	msg->bench.told = NULL;
	err = oae_tag_send(tag, msg);
	if (!err)
		wait_for_completion_timeout(&msg->done, 5 * HZ);
	oae_msg_put(msg);
	return err;
}

static int run_one_link(struct oae_port *port, struct net_device *far,
			const u8 *mac)
{
	struct oae_tag *tag = oae_tag_make(port, oae_kid(0, mac), false,
					   GFP_KERNEL);
	unsigned int i;
	int err;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	/* All twice: the first time warms caches up. */
	err = open_link(tag);
	for (i = 0; i < 2 && !err; i++)
		err = run_echo(port->dev, far, bounce, "bounce") ?:
		      run_echo(port->dev, far, answer, "echo") ?:
		      run_transactions(tag);
	oae_tag_put(tag);
	return err;
}

/* --- many links ---------------------------------------------------------------- */

/* A transaction on each of @n tags, chosen one after the other by @stride. */
static int run_spread(struct oae_tag **tags, unsigned int n,
		      unsigned int stride, const char *what)
{
	unsigned int i, at = 0;
	int err = 0;

	bench_begin(&rtt);
	for (i = 0; i < count && !err; i++) {
		struct oae_msg *msg = new_msg(tags[at]);

		err = msg ? send_one(tags[at], msg) : -ENOMEM;
		at = (at + stride) % n;
	}
	return err ?: bench_wait(&rtt, what, bytes, 30);
}

/* The tags of @port, up to @most of them, each opened. How many; or an error. */
static int open_port(struct oae_port *port, const u8 *differs,
		     struct oae_tag **tags, unsigned int most)
{
	unsigned int vc, i;
	u8 mac[ETH_ALEN];
	int err;

	for (i = 0; i < ETH_ALEN; i++)
		mac[i] = port->dev->dev_addr[i] ^ differs[i];
	for (vc = 0; vc < 256 && vc < most; vc++) {
		struct oae_tag *tag = oae_tag_make(port, oae_kid(vc, mac),
						   false, GFP_KERNEL);
		struct oae_msg *msg;

		if (IS_ERR(tag))
			return PTR_ERR(tag);
		tags[vc] = tag;
		msg = new_msg(tag);
		err = msg ? send_one(tag, msg) : -ENOMEM;
		if (err)
			return err;
		cond_resched();
	}
	return vc;
}

/* The next port of @node behind @port, or the first; held. @port is put. */
static struct oae_port *next_port(struct oae_node *node, struct oae_port *port)
{
	struct oae_port *next, *found = NULL;
	bool behind = !port;

	rtnl_lock();
	list_for_each_entry(next, &node->ports, list) {
		if (behind && refcount_inc_not_zero(&next->ref)) {
			found = next;
			break;
		}
		behind |= next == port;
	}
	rtnl_unlock();
	if (port)
		oae_port_put(port);
	return found;
}

/* Open them all; *opened of them have a tag. */
static int open_all(struct oae_node *node, const u8 *differs,
		    struct oae_tag **tags, unsigned int *opened)
{
	struct oae_port *port = NULL;
	u64 begin = local_clock();
	int n;

	while (*opened < links && (port = next_port(node, port))) {
		n = open_port(port, differs, tags + *opened, links - *opened);
		if (n < 0) {
			/* Those that are there are known by their pointers. */
			while (*opened < links && tags[*opened])
				++*opened;
			oae_port_put(port);
			pr_err("link %u: error %d\n", *opened, -n);
			return n;
		}
		*opened += n;
	}
	if (port)
		oae_port_put(port);
	pr_info("opened links=%u ns=%llu\n", *opened, local_clock() - begin);
	return *opened < links ? -ENOENT : 0;
}

/* The first link, as long as it is the only one. */
static int run_alone(struct oae_node *node, const u8 *differs,
		     struct oae_tag **tags)
{
	struct oae_port *port = next_port(node, NULL);
	unsigned int i;
	int err;

	if (!port)
		return -ENODEV;
	err = min(open_port(port, differs, tags, 1), 0);
	oae_port_put(port);
	for (i = 0; i <= turns && !err; i++)
		err = run_spread(tags, 1, 0, "alone");
	if (tags[0])
		oae_tag_put(tags[0]);
	tags[0] = NULL;
	return err;
}

/*
 * By turns, the first time to warm caches up. The stride has no divisor in common
 * with the number of links, and is far from a page or a port.
 */
static int run_links(struct oae_node *node, const u8 *differs)
{
	struct oae_tag **tags = vzalloc(array_size(links, sizeof(*tags)));
	unsigned int i, opened = 0, stride = links / 7 * 3 + 1;
	int err;

	if (!tags)
		return -ENOMEM;
	while (gcd(stride, links) > 1)
		stride++;
	err = run_alone(node, differs, tags) ?:
	      open_all(node, differs, tags, &opened);
	for (i = 0; i <= turns && !err; i++)
		err = run_spread(tags, 1, 0, "first") ?:
		      run_spread(tags, links, stride, "spread");
	while (opened)
		oae_tag_put(tags[--opened]);
	vfree(tags);
	return err;
}

static int __init bench_init(void)
{
	struct oae_node *node = oae_node_current();
	struct net_device *far;
	struct oae_port *port;
	u8 mac[ETH_ALEN], differs[ETH_ALEN];
	unsigned int i;
	int err = -ENOMEM;

	if (!mac_pton(peer, mac) || !links || !count)
		return -EINVAL;
	far = bench_device(mac);
	if (!far)
		return -ENODEV;
	init_completion(&one_told);
	oae_pool_init(&pool);
	rcu_read_lock();
	port = oae_port_find(node, dev);
	rcu_read_unlock();
	if (bench_init_samples(&rtt, count) || !port)
		goto out;
	for (i = 0; i < ETH_ALEN; i++)
		differs[i] = port->dev->dev_addr[i] ^ mac[i];
	err = links > 1 ? run_links(node, differs) :
			  run_one_link(port, far, mac);
	if (err)
		pr_err("error %d\n", -err);
out:
	oae_pool_exit(&pool);
	if (port)
		oae_port_put(port);
	vfree(rtt.sample);
	dev_put(far);
	/* Nothing stays: the figures are in the log. */
	return err ?: -ECANCELED;
}
module_init(bench_init);

MODULE_DESCRIPTION("Measures an atomic transaction against a bare frame echo");
MODULE_LICENSE("GPL");
