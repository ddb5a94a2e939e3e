/* SPDX-License-Identifier: GPL-2.0 */
/*
 * base: a namespace's node, its ports, messages being sent, frames going out,
 * counters and event log. Nothing here knows what a tag, a file or a parameter
 * is: base keeps only list heads, counts and pointers for the layers above.
 *
 * Life times (doc/architecture.md lists all of them, with the table of locks):
 *   node   one network namespace; lives from pernet init to pernet exit.
 *   port   a net device bound in a node; on node->ports, changed under RTNL
 *	    only, freed after RCU; counted by its tags.
 *   msg    one transaction being sent; counted by `ref`.
 */
#ifndef OAE_BASE_H
#define OAE_BASE_H

#include <linux/bits.h>
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/local_lock.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/rhashtable.h>
#include <linux/seqlock.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "../link/admission.h"
#include "../link/link.h"
#include "../link/neigh.h"
#include "../link/udpmap.h"
#include "../link/conn.h"
#include "../link/way.h"
#include "bench.h"
#include "compat.h"
#include "knob.h"
#include "limit.h"
#include "netdev.h"

struct oae_node;
struct oae_port;
struct oae_msg;
struct oae_client;		/* tag.h: the file that sent a transaction */
struct oae_rings;		/* ring.h */
struct oae_ring_link;		/* ring.h */
struct oae_tag;			/* tag.h */
struct seq_file;

/*
 * The most items that one event, or one critical section with BH off, handles.
 * The remainder is handled by another event, or after cond_resched().
 */
#define OAE_BATCH	32

/* Counters of a node. Causes of dropped frames are among them. */
enum oae_stat {
#define OAE_COUNTER(_id, _name, _text) OAE_S_##_id,
#include "counters.h"
	OAE_S_BAD,		/* + enum oae_bad */
	OAE_S_NOTE = OAE_S_BAD + OAE_BAD_END,	/* + enum oae_note */
	OAE_STAT_END = OAE_S_NOTE + OAE_NOTE_END
};

/* log2 of the ns that the first class of the histogram OAE_S_TOOK stays below. */
#define OAE_TOOK_FIRST	12

struct oae_stats {
	u64 v[OAE_STAT_END];
};

/* An address as typed: whole, or 24 bits under a port's own OUI. */
struct oae_addr {
	char dev[IFNAMSIZ];	/* "" none is named: net/resolve.c */
	u8 mac[ETH_ALEN] __aligned(2);
	bool set;
	bool low24;		/* only mac[3..5] count */
	u64 id;			/* not 0: the node with this id, wherever it was heard */
};

#define OAE_MAX_PEERS	64

/**
 * struct oae_udp_peers - the value of the knob `udp_peers`
 * @rcu: freed after RCU
 * @n: how many
 * @end: the endpoints
 */
struct oae_udp_peers {
	struct rcu_head rcu;
	unsigned int n;
	struct oae_udp_end end[OAE_MAX_PEERS];
};

/**
 * struct oae_knobs - the values of the parameters, one copy for each node
 *
 * The table of the numbers is knobs.h. Written under node->knob_lock, and what is said below;
 * numbers are read anywhere with READ_ONCE().
 */
struct oae_knobs {
#define OAE_KNOB(_name, _min, _max, _default, _unit, _text) unsigned int _name;
#define OAE_CHOICE(_name, _takes, _default, _text) unsigned int _name;
#include "knobs.h"
	int step;			/* 0 run, else frames a step */
	bool shut;			/* the knob `shutdown` */
	u8 nhmac[ETH_ALEN] __aligned(2);	/* zero: auto; RTNL to change it */
	u64 id;				/* 0: not known yet; RTNL, without a port, to change it */
	struct oae_udp_peers __rcu *udp_peers;	/* NULL: none */
	unsigned int npeers;		/* with what follows under node->addr_lock */
	struct oae_addr peers[OAE_MAX_PEERS];
	struct oae_addr target;		/* read with oae_target() */
};

#define OAE_MAX_BUT	16	/* devices that `dev=*` leaves out */
#define OAE_UDP_TEXT	56	/* "udp:[", an IPv6 address, "]:65535", and the 0 */

/**
 * struct oae_found - a tag that a processor has found, see oae_tag_of_frame()
 * @tag: the tag; not dereferenced unless @retired is that of the node
 * @retired: the node's, when the tag was found
 */
struct oae_found {
	struct oae_tag *tag;
	u64 retired;
};

#define OAE_FOUND_BITS	4	/* log2 of how many a processor remembers */

struct oae_found_last {
	local_lock_t lock;
	struct oae_found slot[BIT(OAE_FOUND_BITS)];
};

struct oae_evring;		/* evlog.c */
struct oae_newsdesk;		/* news.c */
struct oae_neighbours;		/* neigh.c */
struct oae_neigh_where;		/* neigh.h */

/**
 * struct oae_node - the state of one network namespace
 */
struct oae_node {
	struct net *net;
	struct list_head list;		/* main.c: all nodes */
	struct mutex knob_lock;		/* the knobs, and `wanted` */
	struct oae_knobs knobs;
	struct oae_link_cfg __rcu *cfg;	/* knobs in the core's units, in cfgs */
	struct oae_link_cfg cfgs[2];	/* one is in use, the other free */
	seqlock_t addr_lock;		/* target, peers, npeers */
	unsigned int udp_gen;		/* how often `udp_peers` was written */

	u64 auto_id;			/* that of the first port ever bound; RTNL */
	u64 inc;			/* incarnation of the node, no link's */
	struct oae_neighbours *neigh;	/* NULL: no port was ever bound */
	/* Is there a link to this peer? In softirq under rcu_read_lock(). */
	bool (*neigh_linked)(struct oae_port *port, const u8 *mac);
	/* A neighbour was heard; @news: it is new there, or has another id. Context as there. */
	void (*heard)(struct oae_node *node, struct oae_port *port, const u8 *mac, bool news);

	struct oae_tag *wanted;		/* ctl/target.c: the link of `target`, or NULL */
	struct delayed_work target_work;	/* ctl/target.c; what follows, too */
	bool target_asking;		/* whose address it is has been asked */
	unsigned long target_until;	/* jiffies: for so long */

	struct mutex dev_lock;		/* one write to the knob `dev` at a time */
	struct work_struct release_work;	/* net/release.c */
	bool releasing;			/* it has ports to release; dev_lock, READ_ONCE() */
	unsigned int release_ms;	/* for so long it waits for links to close; dev_lock */
	wait_queue_head_t released_wait;	/* the work has done it */
	struct work_struct close_work;	/* net/release.c: closes all links */
	bool ending;			/* works wait for nothing more */
	struct list_head ports;		/* RTNL; RCU for readers */
	struct rhltable by_addr;	/* ports; made late; RTNL to change it */
	struct xarray by_dev;		/* ports, by the index of their device; RTNL */
	struct list_head udps;		/* devices of UDP ports; RTNL */
	bool every;			/* `dev` is `*`; RTNL and knob_lock to change it */
	unsigned int nbut;		/* the same */
	char but[OAE_MAX_BUT][IFNAMSIZ];	/* then not these; the same */
	struct rhashtable tags;
	struct rhashtable aliases;	/* tag/alias.c: paths that are not a tag's own; made late */
	atomic_t naliases;
	struct rhashtable peers;	/* the same: tags by their peers' incarnations */
	atomic64_t retired;		/* tags that have left the table */
	enum hrtimer_restart (*tag_timer)(struct hrtimer *timer);
	void (*tag_free)(struct oae_tag *tag);
	atomic_t ntags;			/* in the table, or dead, and unread or taken */
	atomic_t nstrangers;		/* in the table, made for strangers */
	spinlock_t spare_lock;		/* spare; nests in tag->lock */
	struct list_head spare[OAE_SPARE_END];	/* the oldest entry first */
	atomic_t nopen;			/* tags whose link is not CLOSED */
	struct mutex changing;		/* net/change.c: one at a time tells tags */
	spinlock_t change_lock;		/* changed, and oae_port.changes; no lock nests in it */
	struct list_head changed;	/* ports of which tags are to be told */
	struct work_struct change_work;
	struct work_struct hushed_work;	/* net/change.c: ports may send again */
	struct list_head all;		/* tags, the newest first */
	spinlock_t all_lock;		/* all; nests in tag->lock */
	struct mutex walking;		/* one walk over `all` at a time */
	spinlock_t opening_lock;	/* oae_tag.opening; no lock nests in it */
	spinlock_t guess_lock;		/* guesses and their table; nests in tag->lock */
	struct list_head guesses;	/* tag/guess.c: oae_users of tags whose port is a guess */
	struct rhltable guesses_by_kid;	/* the same; without a table no port was ever bound */
	struct xarray regions;		/* by number */
	siphash_key_t cookie_key;
	atomic64_t stranger_window;	/* admit.c: second and count */
	struct oae_stats __percpu *stats;	/* NULL: no port was ever bound */
	struct oae_evring __percpu *evlog;	/* NULL: no port was ever bound */
	struct oae_found_last __percpu *found;	/* NULL: no port was ever bound */
	struct oae_newsdesk *newsdesk;		/* NULL: no port was ever bound */
	bool (*news_send)(struct oae_node *node);

	wait_queue_head_t tags_wait;	/* a tag went away */

	/* tag/users.c: tags that no file is attached to. */
	spinlock_t unclaimed_lock;	/* fresh, reading, removal from ready */
	struct list_head fresh;		/* not yet reported to a listener */
	wait_queue_head_t fresh_wait;	/* listeners */
	struct llist_head ready;	/* with unread data, added by softirq */
	struct list_head reading;	/* moved here from ready, in order */

	/* noc_debug.c */
	struct mutex reader;		/* rest, rest_off */
	struct sk_buff *rest;		/* a transaction that is partly read */
	size_t rest_off;		/* bytes of it that were read */
	wait_queue_head_t noc_wait;	/* pollers of noc_debug */

	/* step.c: single-stepping. */
	struct sk_buff_head step_q;
};

/**
 * struct oae_port - a net device bound to the module in a node
 *
 * A reference keeps the port, not its device: the removal of a device cannot
 * wait for the last reference to a dead tag. Use @dev, @pt and the step queue
 * only in an RCU read-side critical section (or with BH disabled) that began
 * before the check that the port is not gone and its tag not dead. net/release.c
 * waits for these readers before it releases the device.
 */
struct oae_port {
	struct list_head list;		/* node->ports */
	struct list_head going;		/* ports being removed together; under RTNL */
	struct list_head changed;	/* node->changed */
	u8 changes;			/* OAE_CHANGE_*; under node->change_lock */
	int gone_err;			/* why its links end, positive errno */
	u64 settle_ns;			/* links are to settle for so long; READ_ONCE() */
	struct rhlist_head by_addr;	/* node->by_addr */
	struct oae_node *node;
	struct net_device *dev;
	struct packet_type pt;
	const char *udp;		/* a UDP port: what `dev` calls it; as @dev. NULL none */
	refcount_t ref;
	atomic_t nopen;			/* tags whose link is not CLOSED */
	atomic_t nsettling;		/* tags still settling (protocol 4.5) */
	spinlock_t doubt_lock;		/* doubt, leaving; nests in tag->lock */
	struct list_head doubt;		/* tag/table.c: tags in doubt that use this port */
	bool leaving;			/* about to go down, or gone; RTNL to change it, too */
	unsigned int mtu;		/* of dev, READ_ONCE(); valid once gone, too */
	char name[IFNAMSIZ];		/* the same, for tracing; a reader may see a mix */
	/*
	 * Of dev, and what its frames come from. Written under RTNL; a reader may see a mix
	 * of the old and the new one, and then no path by this port is proven.
	 */
	u8 addr[ETH_ALEN];
	bool removed;			/* no new tags; under RTNL */
	bool gone;			/* no frames either; under RTNL */
	bool mute;			/* none are sent; under RTNL, READ_ONCE() */
	bool up;			/* as reported to the tags; under RTNL, READ_ONCE() */
	seqlock_t gw_lock;		/* gw; a BH lock, no lock nests in it */
	struct oae_gw gw;		/* gw.gen is read without it */
	struct oae_announce announce;	/* under the lock of node->neigh */
	struct rcu_head rcu;
};

/*
 * Bytes of a piece of a payload: a page, or pages of an order that the kernel counts as
 * cheap. The last piece may be shorter.
 */
#define OAE_PIECE	PAGE_SIZE
#define OAE_LONG_PIECE	max_t(size_t, 32768, PAGE_SIZE)

/**
 * struct oae_pool - the page from which a file's short pieces are allocated
 * @lock: no lock nests in it
 * @page: with a reference; NULL none yet
 * @off: the bytes from this offset on are free
 */
struct oae_pool {
	spinlock_t lock;	/* page, off */
	struct page *page;
	unsigned int off;
};

/**
 * struct oae_txn - a file's view of a transaction; under tag->lock
 * @node: in oae_stream.txns of @client, until the outcome is collected
 * @list: in oae_stream.pending, until the transaction has ended
 * @ready: while pending: number of ended transactions between this one and the
 *	next on oae_stream.pending
 * @due: the deadline: ktime, ns; 0 none. In oae_client.due if the file's timer
 *	reverses the transaction then
 * @client: the file; NULL for noc_debug, or once the file is closed
 * @id: number of the transaction, from 1
 * @room: size of the waiting call's result buffer, bytes
 * @waited: a call waits for the outcome and takes it. Otherwise the outcome is
 *	collected, and the stream has a reference
 * @ended: the outcome is known
 * @tell: wake the file's pollers
 * @ring: the ring that it is of, or NULL; @id is its position then, and @room the bytes that
 *	it takes there, and those behind it that have ended
 * @ring_link: its link on @ring, a reference; or NULL
 * @ring_n: chunks of @ring in it: 1, or those of a pack
 * @ring_forward: of a pack: bit i: chunk i is forwarded
 */
struct oae_txn {
	struct rb_node node;
	struct list_head list;
	struct timerqueue_node due;
	u32 ready;
	struct oae_client *client;
	u64 id;
	u32 room;
	bool waited;
	bool ended;
	bool tell;
	struct oae_rings *ring;
	struct oae_ring_link *ring_link;
	u8 ring_n;
	u64 ring_forward;
};

/**
 * struct oae_msg - one transaction being sent
 * @list: on a queue of its tag, if @queued
 * @ref: the writer's, the link's, and one for each burst of slices being sent
 * @npieces: number of pieces
 * @piece_len: bytes of each but the last
 * @post: the link's view of the message; post.handle is this message
 * @hash: of each slice; sized for the smallest slices allowed
 * @done: completed with the outcome
 * @result: valid once committed. SWAP: the peer's half; VERB: the answer
 * @result_at: VERB: where in @result its words begin, behind the header
 * @members: of a pack, or of joined verbs: what is in it, by @list; under tag->lock
 * @pack: what the message or verb is in, or NULL; under tag->lock
 * @queued: on a queue of the tag, not yet posted to the link; under tag->lock
 * @alone: never to be in a pack, nor to be joined; under tag->lock, once it was sent
 * @outcome: enum oae_outcome, valid once done
 * @err: positive errno, valid once done
 * @t_offer: local_clock() when first offered; 0 not yet
 * @txn: the sending file's view
 * @bench: the benchmark's view
 * @piece: the payload
 */
struct oae_msg {
	struct list_head list;
	refcount_t ref;
	unsigned int npieces;
	unsigned int piece_len;
	struct oae_post post;
	u64 *hash;
	struct completion done;
	struct sk_buff *result;
	struct list_head members;
	struct oae_msg *pack;
	u16 result_at;
	bool queued;
	bool alone;
	u8 outcome;
	int err;
	u64 t_offer;
	struct oae_txn txn;
	struct oae_bench_msg bench;
	struct bio_vec piece[];
};

/*
 * Memory that a program causes to be allocated is charged to its memory cgroup.
 * If the cgroup is full the allocation fails without invoking the OOM killer.
 */
#define OAE_GFP_USER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Add under a lock to a number that other functions READ_ONCE() without the lock. */
#define oae_add(number, n)						\
	do {								\
		typeof(number) oae_number = (number);			\
		WRITE_ONCE(*oae_number, *oae_number + (n));		\
	} while (0)

/* node.c */
extern unsigned int oae_net_id;
extern struct workqueue_struct *oae_wq;
int oae_works_start(void);
void oae_works_stop(void);
void oae_node_init(struct oae_node *node, struct net *net);
void oae_node_exit(struct oae_node *node);
struct oae_node *oae_node(struct net *net);
struct oae_node *oae_node_current(void);
int oae_node_use(struct oae_node *node);
int oae_node_swap_id(struct oae_node *node, u64 *id, bool force);
void oae_node_first_port(struct oae_node *node, const u8 *mac);

/* stats.c */
static inline void oae_count_n(struct oae_node *node, unsigned int stat, u64 n)
{
	this_cpu_add(node->stats->v[stat], n);
}

static inline void oae_count(struct oae_node *node, unsigned int stat)
{
	oae_count_n(node, stat, 1);
}

int oae_stats_make(struct oae_node *node);
u64 oae_stat_read(const struct oae_node *node, unsigned int stat);
const char *oae_stat_name(unsigned int stat);
const char *oae_stat_text(unsigned int stat);

/* evlog.c: the last events of a node */
enum oae_ev_kind {
	OAE_EV_FRAME,		/* what = opcode */
	OAE_EV_SEND,		/* what = opcode */
	OAE_EV_POST,
	OAE_EV_CANCEL,
	OAE_EV_TIMER,
	OAE_EV_NOTE,		/* what = enum oae_note */
	OAE_EV_OUTCOME,		/* what = enum oae_outcome */
};

int oae_evlog_make(struct oae_node *node);
void oae_evlog_add(const struct oae_port *port, u64 now, u64 kid,
		   enum oae_ev_kind kind, u8 what, u8 before, u8 after,
		   u32 seq);
const char *oae_evlog_word(enum oae_ev_kind kind, u8 what);
int oae_evlog_show(struct oae_node *node, struct seq_file *m);

/**
 * struct oae_news - what happened to a link, a port or a neighbour
 * @number: of this piece of news in the namespace, from 1
 * @missed: how many were dropped or not sent up to now
 * @now: local_clock(), ns
 * @what: of a port or a neighbour: what happened, in a word; NULL: it is about a link
 * @port: name of the device
 * @kid: of a link: its tag
 * @note: of a link: enum oae_note
 * @before: of a link: enum oae_state before the event
 * @after: of a link: enum oae_state after the event
 * @tx: of a link: number of the last transaction committed
 * @waits: of a link: what it waits for, enum oae_wait
 * @since: of a link: for so long, ns; 0 not known
 * @until: of a link: given up after that, ns; 0 never
 * @mac: of a neighbour: its address
 * @id: of a neighbour: its id; 0: it is not about one
 */
struct oae_news {
	u64 number;
	u64 missed;
	u64 now;
	const char *what;
	char port[IFNAMSIZ];
	u64 kid;
	u8 note;
	u8 before;
	u8 after;
	u8 waits;
	u32 tx;
	u64 since;
	u64 until;
	u8 mac[ETH_ALEN] __aligned(2);
	u64 id;
};

/**
 * struct oae_news_state - how many pieces of news a node had
 * @added: number of the newest
 * @sent: number of the last one that was sent, if anybody listened
 * @missed: how many were dropped or not sent
 */
struct oae_news_state {
	u64 added;
	u64 sent;
	u64 missed;
};

/* news.c: what happens to links and ports */
int oae_news_make(struct oae_node *node);
void oae_news_exit(struct oae_node *node);
void oae_news_add(struct oae_node *node, const struct oae_news *news);
void oae_news_port(const struct oae_port *port, const char *what);
bool oae_news_take(struct oae_node *node, struct oae_news *news);
void oae_news_sent(struct oae_node *node, const struct oae_news *news,
		   bool lost);
void oae_news_state(struct oae_node *node, struct oae_news_state *state);

/* addr.c: addresses in text form */
int oae_addr_parse(struct oae_addr *addr, const char *text);
int oae_addr_print(const struct oae_addr *addr, char *buf, size_t size);
bool oae_addr_find_id(struct oae_node *node, const struct oae_addr *addr,
		      const struct oae_port *only, struct oae_neigh_where *best);
bool oae_addr_under(const struct oae_addr *addr, const struct oae_port *port,
		    u8 mac[ETH_ALEN]);
bool oae_addr_covers(const struct oae_addr *addr, const struct oae_port *port,
		     const u8 mac[ETH_ALEN]);
void oae_target(struct oae_node *node, struct oae_addr *addr);
bool oae_peer_configured(struct oae_node *node, const struct oae_port *port,
			 const u8 mac[ETH_ALEN]);

/* udpend.c: endpoints of UDP ports */
int oae_udp_parse(struct oae_udp_end *end, const char *text);
int oae_udp_print(const struct oae_udp_end *end, char *buf, size_t size);
void oae_udp_peer(struct oae_node *node, const u8 mac[ETH_ALEN], bool v6,
		  struct oae_udp_end *end);

/* port.c */
extern unsigned int oae_ethertype;
struct oae_port *oae_port_find(struct oae_node *node, const char *name);
struct oae_port *oae_port_get(struct oae_port *port);
void oae_port_put(struct oae_port *port);
int oae_ports_print(struct oae_node *node, char *buf, size_t size);
int oae_ports_make(struct oae_node *node);
int oae_port_index(struct oae_port *port);
void oae_port_unindex(struct oae_port *port);
unsigned int oae_ports_of_addr(struct oae_node *node, const u8 *mac, struct oae_port **to,
			       unsigned int max);
bool oae_port_is_own(struct oae_node *node, const u8 *mac);
void oae_port_ways(const struct oae_port *port, struct oae_ways *ways);

/* A UDP port has no gateway: anybody with a route could be it (protocol 4.15). */
static inline unsigned int oae_port_use_gw(const struct oae_port *port)
{
	return port->udp ? OAE_GW_NEVER : READ_ONCE(port->node->knobs.use_gw);
}

/* xmit.c */
void oae_xmit_from(struct oae_port *port, const u8 *src, const struct oae_frame *f);
void oae_xmit_bytes(struct oae_port *port, const u8 *dest, const void *bytes,
		    unsigned int len);
void oae_xmit_frame(struct oae_port *port, const u8 *dest,
		    const struct oae_frame *f, struct sk_buff **spent);
void oae_xmit_offer(struct oae_port *port, const u8 *dest,
		    struct oae_send *send, struct sk_buff **spent);
void oae_xmit_spare(struct sk_buff *skb);
void oae_xmit_init(void);
void oae_xmit_exit(void);
struct sk_buff *oae_xmit_kept(unsigned int len);
struct sk_buff *oae_xmit_reply(struct oae_port *port, unsigned int room);
void oae_xmit_reflect(struct oae_port *port, const u8 *dest,
		      struct oae_frame *f, struct sk_buff *reply);

/* msg.c */
void oae_pool_init(struct oae_pool *pool);
void oae_pool_exit(struct oae_pool *pool);
struct oae_msg *oae_msg_alloc(struct oae_pool *pool, size_t len, gfp_t gfp);
struct oae_msg *oae_msg_alloc_pack(enum oae_kind kind, unsigned int len);
size_t oae_msg_memory(const struct oae_msg *msg);
const struct page *oae_msg_shared(const struct oae_msg *msg);
void oae_msg_get(struct oae_msg *msg);
void oae_msg_put(struct oae_msg *msg);
void oae_msg_slice(struct oae_msg *msg, unsigned int slice_max);
unsigned int oae_msg_slice_len(const struct oae_msg *msg,
			       unsigned int slice_max, unsigned int slice);
void oae_msg_fill(struct oae_msg *msg, unsigned int slice_max,
		  unsigned int slice, struct sk_buff *skb);

/* The payload of a message that has one piece. */
static inline u8 *oae_msg_data(const struct oae_msg *msg)
{
	return page_address(msg->piece[0].bv_page) + msg->piece[0].bv_offset;
}

/* Is it made of several, the members? */
static inline bool oae_msg_is_pack(const struct oae_msg *msg)
{
	return msg->post.kind == OAE_PACK || msg->post.flags & OAE_POST_JOINED;
}

/* Bytes of the result of a swap or a verb, which is there. */
static inline unsigned int oae_msg_result_len(const struct oae_msg *msg)
{
	return msg->post.kind == OAE_VERB ? msg->post.reply : msg->result->len;
}

#include "neigh.h"

#endif /* OAE_BASE_H */
