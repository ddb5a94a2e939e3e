// SPDX-License-Identifier: GPL-2.0
/*
 * What lies between two hosts, measured in the kernel: round trips of a frame
 * between two devices over several paths by turns, and look-ups in a gateway's
 * table.
 *
 * A frame goes from a path's near device to its far one, which sends it back,
 * all in softirq: the same frame, its addresses swapped and clean as a driver
 * would hand it up, or a new one (`fresh`). It is a valid OAE frame with VIA,
 * the same on every path. The devices on a path may be joined here as well,
 * two and two, by nothing but handing on each frame: what the devices alone
 * cost.
 *
 * Loaded where the gateway is whose table is meant. Loading measures, and logs
 * the medians; it never stays loaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "modoaeip/base/base.h"
#include "bench.h"

#define MAX_PATHS	16
#define MARK		0x0ae0be9c	/* the payload's beginning */

static char *path[MAX_PATHS];
static unsigned int npaths;
module_param_array(path, charp, &npaths, 0);
MODULE_PARM_DESC(path, "paths: NAME/near MAC/far MAC/MAC the near end sends to[/fresh]");

static char *join[MAX_PATHS];
static unsigned int njoins;
module_param_array(join, charp, &njoins, 0);
MODULE_PARM_DESC(join, "pairs of devices that hand each other's frames on: MAC/MAC");

static unsigned int rounds = 15;
module_param(rounds, uint, 0);
MODULE_PARM_DESC(rounds, "how often each path has its turn, each time logged");

static unsigned int count = 400;
module_param(count, uint, 0);
MODULE_PARM_DESC(count, "round trips in a turn; batches of look-ups");

static unsigned int bytes = 64;
module_param(bytes, uint, 0);
MODULE_PARM_DESC(bytes, "payload of a frame");

static unsigned int nodes;
module_param(nodes, uint, 0);
MODULE_PARM_DESC(nodes, "look-ups among the bench's so many first nodes, instead of round trips");

/* A device of the bench's: an end of a path, or joined to another. */
struct end {
	struct net_device *dev;
	rx_handler_func_t *rx;
	struct net_device *other;	/* the far end; what it is joined to */
	u8 to[ETH_ALEN];
	bool fresh;
};

static struct end ends[2 * (MAX_PATHS + MAX_PATHS)];
static unsigned int nends;
static const char *names[MAX_PATHS];
static struct bench rtt;
static u64 began;

/* Valid for everyone who does not verify the digest. */
static void fill(u8 *oae, const u8 *from, const u8 *to)
{
	memset(oae, 0, OAE_HDR_LEN + OAE_VIA_LEN);
	oae[OAE_OFF_VER_EXT] = OAE_VERSION << 4 | OAE_EXT_WORDS(OAE_VIA_LEN);
	oae[OAE_OFF_OPCODE] = OAE_OFFER;
	oae[OAE_OFF_FLAGS] = OAE_F_LAST | OAE_F_VIA;
	put_unaligned_be16(bytes, oae + OAE_OFF_LENGTH);
	put_unaligned_be32(1, oae + OAE_OFF_SRC_LTAG);
	put_unaligned_be32(1, oae + OAE_OFF_DST_LTAG);
	put_unaligned_be32(1, oae + OAE_OFF_SEQ);
	ether_addr_copy(oae + OAE_OFF_VIA_DST, to);
	ether_addr_copy(oae + OAE_OFF_VIA_SRC, from);
	put_unaligned_be32(MARK, oae + OAE_HDR_LEN + OAE_VIA_LEN);
}

/* With the room in front that a driver gives it, or just what `dev` wants. */
static struct sk_buff *new_frame(struct net_device *dev, const u8 *to,
				 const u8 *via_dst, bool fresh, gfp_t gfp)
{
	unsigned int room = LL_RESERVED_SPACE(dev);
	unsigned int len = OAE_HDR_LEN + OAE_VIA_LEN + bytes;
	struct sk_buff *skb;

	if (!fresh)
		room += NET_SKB_PAD + NET_IP_ALIGN;
	skb = alloc_skb(room + len, gfp);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	skb_reset_network_header(skb);
	fill(skb_put(skb, len), dev->dev_addr, via_dst);
	skb->dev = dev;
	skb->protocol = htons(OAE_ETHERTYPE);
	dev_hard_header(skb, dev, OAE_ETHERTYPE, to, NULL, len);
	return skb;
}

static void swap_addrs(u8 *a, u8 *b)
{
	u8 t[ETH_ALEN];

	ether_addr_copy(t, a);
	ether_addr_copy(a, b);
	ether_addr_copy(b, t);
}

static void bounce(struct sk_buff *skb)
{
	struct ethhdr *eth = eth_hdr(skb);

	swap_addrs(eth->h_dest, eth->h_source);
	swap_addrs(skb->data + OAE_OFF_VIA_DST, skb->data + OAE_OFF_VIA_SRC);
	skb->ip_summed = CHECKSUM_NONE;
	skb->encapsulation = 0;
	skb->priority = 0;
	skb_push(skb, ETH_HLEN);
	dev_queue_xmit(skb);
}

static void answer(struct sk_buff *skb, struct end *end)
{
	struct sk_buff *reply = new_frame(end->dev, eth_hdr(skb)->h_source,
					  skb->data + OAE_OFF_VIA_SRC, true,
					  GFP_ATOMIC);

	consume_skb(skb);
	if (reply)
		dev_queue_xmit(reply);
}

static struct end *my_end(struct sk_buff *skb)
{
	unsigned int len = OAE_HDR_LEN + OAE_VIA_LEN + bytes;

	if (skb->protocol != htons(OAE_ETHERTYPE) ||
	    !pskb_may_pull(skb, len) ||
	    get_unaligned_be32(skb->data + OAE_HDR_LEN + OAE_VIA_LEN) != MARK)
		return NULL;
	return rcu_dereference(skb->dev->rx_handler_data);
}

static rx_handler_result_t far_rx(struct sk_buff **pskb)
{
	struct end *end = my_end(*pskb);

	if (!end)
		return RX_HANDLER_PASS;
	if (end->fresh)
		answer(*pskb, end);
	else
		bounce(*pskb);
	return RX_HANDLER_CONSUMED;
}

static rx_handler_result_t near_rx(struct sk_buff **pskb)
{
	u64 now = local_clock();
	struct end *end = my_end(*pskb);

	if (!end)
		return RX_HANDLER_PASS;
	if (!bench_note(&rtt, now - began)) {
		consume_skb(*pskb);
		return RX_HANDLER_CONSUMED;
	}
	began = now;
	return far_rx(pskb);
}

static rx_handler_result_t join_rx(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;
	struct end *end = rcu_dereference(skb->dev->rx_handler_data);

	skb_push(skb, ETH_HLEN);
	skb->dev = end->other;
	dev_queue_xmit(skb);
	return RX_HANDLER_CONSUMED;
}

/* A turn: the first frame starts it, the last one answered ends it. */
static int run_path(const char *name, struct end *near)
{
	struct sk_buff *skb = new_frame(near->dev, near->to,
					near->other->dev_addr, near->fresh,
					GFP_KERNEL);

	if (!skb)
		return -ENOMEM;
	bench_begin(&rtt);
	local_bh_disable();
	began = local_clock();
	dev_queue_xmit(skb);
	local_bh_enable();
	return bench_wait(&rtt, name, bytes, 5);
}

/* The first round warms up. */
static int run_paths(void)
{
	unsigned int i, round;
	int err = 0;

	for (round = 0; round <= rounds; round++) {
		for (i = 0; i < npaths && !err; i++)
			err = run_path(names[i], &ends[2 * i]);
		if (!round)
			pr_info("warm\n");
	}
	return err;
}

static struct end *add_end(const u8 *mac, rx_handler_func_t *rx)
{
	struct end *end = &ends[nends];

	end->dev = bench_device(mac);
	if (!end->dev)
		return NULL;
	nends++;
	end->rx = rx;
	return end;
}

static int add_pair(const u8 *a, const u8 *b, rx_handler_func_t *a_rx,
		    rx_handler_func_t *b_rx)
{
	struct end *x = add_end(a, a_rx);
	struct end *y = add_end(b, b_rx);

	if (!x || !y)
		return -ENODEV;
	x->other = y->dev;
	y->other = x->dev;
	return 0;
}

static int add_path(unsigned int i)
{
	char *words = path[i], *near, *far, *to;
	u8 a[ETH_ALEN], b[ETH_ALEN];
	struct end *end = &ends[nends];
	int err;

	names[i] = strsep(&words, "/");
	near = strsep(&words, "/");
	far = strsep(&words, "/");
	to = strsep(&words, "/");
	if (!to || !mac_pton(near, a) || !mac_pton(far, b) ||
	    !mac_pton(to, end->to))
		return -EINVAL;
	end[0].fresh = words;
	end[1].fresh = words;
	err = add_pair(a, b, near_rx, far_rx);
	if (err)
		pr_err("%s: no such device\n", names[i]);
	return err;
}

static int add_join(char *words)
{
	char *first = strsep(&words, "/");
	u8 a[ETH_ALEN], b[ETH_ALEN];

	if (!words || !mac_pton(first, a) || !mac_pton(words, b))
		return -EINVAL;
	return add_pair(a, b, join_rx, join_rx);
}

static int attach(void)
{
	unsigned int i;
	int err = 0;

	rtnl_lock();
	for (i = 0; i < nends && !err; i++) {
		err = netdev_rx_handler_register(ends[i].dev, ends[i].rx,
						 &ends[i]);
		if (err)
			ends[i].rx = NULL;
	}
	for (; i < nends; i++)
		ends[i].rx = NULL;
	rtnl_unlock();
	return err;
}

static void detach(void)
{
	unsigned int i;

	rtnl_lock();
	for (i = 0; i < nends; i++)
		if (ends[i].rx)
			netdev_rx_handler_unregister(ends[i].dev);
	rtnl_unlock();
}

static int measure_paths(void)
{
	unsigned int i;
	int err = bench_init_samples(&rtt, count);

	for (i = 0; i < npaths && !err; i++)
		err = add_path(i);
	for (i = 0; i < njoins && !err; i++)
		err = add_join(join[i]);
	if (!err) {
		err = attach();
		if (!err)
			err = run_paths();
		detach();
	}
	for (i = 0; i < nends; i++)
		dev_put(ends[i].dev);
	return err;
}

/* The bench's node number i: all over the table, and known to the script. */
static u64 node_mac(unsigned int i)
{
	return 0x020000000000ULL |
	       (((i + 1) * 0x9e3779b97f4a7c15ULL) >> 24);
}

/* Short, so that whoever gets the processor in between spoils only a few. */
#define BATCH	256
#define MACS	(64 * BATCH)

typedef bool zone_of_t(struct oaeip_gw *gw, const u8 *mac, u16 *zone);

/* Look BATCH nodes up, as frames would that come for them in any order. */
static unsigned int look_up(struct oaeip_gw *gw, const u8 *macs,
			    zone_of_t *zone_of)
{
	unsigned int i, found = 0;
	u64 start;
	u16 zone;

	local_bh_disable();
	rcu_read_lock();
	start = local_clock();
	for (i = 0; i < BATCH; i++)
		found += zone_of(gw, macs + i * ETH_ALEN, &zone);
	bench_note(&rtt, local_clock() - start);
	rcu_read_unlock();
	local_bh_enable();
	return found;
}

/* What the loop costs that all look-ups have around them. */
static bool no_lookup(struct oaeip_gw *gw, const u8 *mac, u16 *zone)
{
	*zone = mac[0];
	return true;
}

/*
 * The least that a table of such entries costs: read a bucket, read an entry.
 * What this costs more with many is memory's, not the gateway's.
 */
static struct oaeip_node **bare;
static unsigned int bare_bits;

static bool bare_lookup(struct oaeip_gw *gw, const u8 *mac, u16 *zone)
{
	u64 key = ether_addr_to_u64(mac);
	unsigned int i = hash_64(key, bare_bits);
	const struct oaeip_node *node;

	while ((node = bare[i]) && node->mac != key)
		i = (i + 1) & (BIT(bare_bits) - 1);
	if (node)
		*zone = node->owner.zone;
	return node;
}

static void bare_free(void)
{
	unsigned int i;

	for (i = 0; bare && i < BIT(bare_bits); i++)
		kfree(bare[i]);
	kvfree(bare);
}

/* As full as the gateway's, and never full. */
static int bare_make(void)
{
	unsigned int i, n;

	bare_bits = max(order_base_2(nodes + nodes / 3 + 1), 6);
	bare = kvcalloc(BIT(bare_bits), sizeof(*bare), GFP_KERNEL);
	if (!bare)
		return -ENOMEM;
	for (n = 0; n < nodes; n++) {
		i = hash_64(node_mac(n), bare_bits);
		while (bare[i])
			i = (i + 1) & (BIT(bare_bits) - 1);
		bare[i] = kzalloc(sizeof(*bare[i]), GFP_KERNEL);
		if (!bare[i])
			return -ENOMEM;
		bare[i]->mac = node_mac(n);
	}
	return 0;
}

static int look_up_batches(const char *what, struct oaeip_gw *gw,
			   const u8 *macs, zone_of_t *zone_of)
{
	unsigned int i, found = 0;

	bench_begin(&rtt);
	for (i = 0; i < count; i++) {
		found += look_up(gw, macs + i * BATCH % MACS * ETH_ALEN,
				 zone_of);
		cond_resched();
	}
	bench_sort(&rtt);
	pr_info("%s nodes=%u found=%u batch=%u p50=%u ns\n", what, nodes, found,
		BATCH, rtt.sample[rtt.n / 2]);
	return found == count * BATCH ? 0 : -ENOENT;
}

static int look_up_all(struct oaeip_gw *gw, zone_of_t *zone_of)
{
	u8 *macs = vmalloc(array_size(MACS, ETH_ALEN));
	unsigned int i;
	int err;

	if (!macs)
		return -ENOMEM;
	for (i = 0; i < MACS; i++)
		u64_to_ether_addr(node_mac(get_random_u32() % nodes),
				  macs + i * ETH_ALEN);
	err = bare_make() ?:
	      look_up_batches("loop", gw, macs, no_lookup) ?:
	      look_up_batches("least", gw, macs, bare_lookup) ?:
	      look_up_batches("look-up", gw, macs, zone_of);
	bare_free();
	vfree(macs);
	return err;
}

/* The gateway's module need not be there to measure without it. */
static int measure_table(void)
{
	struct oaeip_gw *(*current_gw)(void);
	zone_of_t *zone_of;
	int err = bench_init_samples(&rtt, count);

	if (err)
		return err;
	err = -ENOENT;
	current_gw = symbol_get(oaeip_gw_current);
	zone_of = symbol_get(oaeip_mactbl_lookup_zone);
	pr_info("entry bytes=%zu\n", sizeof(struct oaeip_node));
	if (current_gw && zone_of)
		err = look_up_all(current_gw(), zone_of);
	if (zone_of)
		symbol_put(oaeip_mactbl_lookup_zone);
	if (current_gw)
		symbol_put(oaeip_gw_current);
	return err;
}

static int __init bench_init(void)
{
	int err = nodes ? measure_table() : measure_paths();

	vfree(rtt.sample);
	/* Nothing stays: the figures are in the log. */
	return err ?: -ECANCELED;
}
module_init(bench_init);

MODULE_DESCRIPTION("Measures what lies between two hosts, and a gateway's table");
MODULE_LICENSE("GPL");
