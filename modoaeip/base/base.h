/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base of the gateway: what it, a zone and a node are, who they are found by, what
 * is counted, the table, and when the work runs.
 *
 * Life times and locks:
 *   gateway  one network namespace; from pernet init to pernet exit.
 *   map	    what gwips says and which zone is mine; replaced as a whole under
 *	    RTNL, found under RCU. The zones live in it.
 *   port	    the zone's Ethernet device; RTNL, found under RCU.
 *   socket   one an address family; RTNL, found under RCU.
 *   node	    an entry of mactbl; found under RCU, changed under nodes_lock.
 * Lock order: kernel_param_lock, then RTNL, then nodes_lock (BH off). The
 * periodic work (zone/serve.c) takes no RTNL, so it can be waited for under it;
 * what needs RTNL runs in gw->reconf, which is not waited for under it.
 */
#ifndef OAEIP_BASE_H
#define OAEIP_BASE_H

#include <linux/atomic.h>
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <net/dst_cache.h>
#include <net/net_namespace.h>

#include "../../modoae/base/bench.h"
#include "../../modoae/base/compat.h"
#include "../../modoae/base/limit.h"
#include "../../modoae/base/netdev.h"
#include "../../include/oaeip_wire.h"
#include "../rules/claim.h"
#include "../rules/control_msg.h"
#include "../rules/encap.h"

struct oaeip_gw;
struct oaeip_map;
struct oaeip_zone;

enum oaeip_stat {
#define OAEIP_COUNTER(_id, _name, _text) OAEIP_S_##_id,
#include "counters.h"
	OAEIP_STAT_END
};

struct oaeip_stats {
	u64 v[OAEIP_STAT_END];
};

/**
 * struct oaeip_knobs - what the parameters say, a copy a gateway
 *
 * The table is knobs.h. Written by ctl/knobs.c under kernel_param_lock, read
 * anywhere with READ_ONCE.
 */
struct oaeip_knobs {
#define OAEIP_KNOB(_name, _min, _max, _default, _unit, _text) unsigned int _name;
#define OAEIP_KNOB_OR_0(_name, _min, _max, _default, _unit, _text) unsigned int _name;
#include "knobs.h"
};

/* Counters of one zone, a copy a processor. */
struct oaeip_zone_pcpu {
	u64 tx_frames;
	u64 rx_frames;
};

enum oaeip_zone_state {
	OAEIP_ZONE_MINE,
	OAEIP_ZONE_UP,
	OAEIP_ZONE_SILENT,
	OAEIP_ZONE_UNREACHABLE,
};

/* A zone's addresses as gwips says them. */
struct oaeip_addrs {
	struct in_addr v4;
	struct in6_addr v6;
	bool has_v4;
	bool has_v6;
	bool v6_first;
};

/**
 * struct oaeip_zone - a zone, in a map
 * @id: position in gwips, from 1
 * @addrs: of its gateway
 * @family: how it is reached: AF_INET, AF_INET6, 0 not at all or mine
 * @src: my address of that family
 * @cache: the route
 * @pcpu: counters
 * @path: bytes of OAE frame that the path carries by the kernel's word, 0 not
 *	known yet
 * @mtu: how much of that is used
 * @cap: upper bound of @mtu while big datagrams vanish, 0 none
 * @cap_since: ms, when @cap was set
 * @speaker: what its gateway's control messages said; under nodes_lock
 * @heard: ms, its last control message, 0 never
 * @dead_inc: incarnation that said BYE; written under nodes_lock
 * @stale: nodes of an incarnation that is no more are in the table
 * @seen_probe: longest PROBE of it in this period, UDP payload bytes
 * @seen_last: longest in the period before
 * @unsure: its last BEAT did not know of my PROBEs
 * @unseen: PROBEs sent since then
 * @answered: ms, when its ASK was last answered
 * @asked: it wants all my nodes
 * @telling: and gets them now; the work's own
 * @logged: the state that was logged last; the work's own
 * @want: so many times more to ask for all of its
 * @nodes: of it in the table
 */
struct oaeip_zone {
	u16 id;
	struct oaeip_addrs addrs;
	sa_family_t family;
	struct oaeip_addrs src;
	struct dst_cache cache;
	struct oaeip_zone_pcpu __percpu *pcpu;
	u32 path;
	u32 mtu;
	u32 cap;
	u64 cap_since;
	struct oaeip_speaker speaker;
	u64 heard;
	u32 dead_inc;
	bool stale;
	u16 seen_probe;
	u16 seen_last;
	bool unsure;
	u16 unseen;
	u64 answered;
	bool asked;
	bool telling;
	u8 logged;
	u8 want;
	atomic_t nodes;
};

/**
 * struct oaeip_map - the zones, and which is mine
 * @n: how many
 * @mine: the zone whose gateway this is; NULL none: standing by
 * @zone: all, number n at n - 1
 */
struct oaeip_map {
	unsigned int n;
	struct oaeip_zone *mine;
	struct oaeip_zone zone[];
};

/**
 * struct oaeip_port - the zone's Ethernet device
 *
 * Use @dev under rcu_read_lock(): zone/port.c waits for such readers before it
 * lets the device go.
 */
struct oaeip_port {
	struct oaeip_gw *gw;
	struct net_device *dev;
	struct packet_type pt;
};

/**
 * struct oaeip_node - an entry of mactbl
 * @mac: the key, as ether_addr_to_u64()
 * @owner: who has it, claim.c's; under nodes_lock, zone and local also read
 *	without
 * @inc: incarnation of the gateway that said so; 0 local
 */
struct oaeip_node {
	struct rhash_head hash;
	u64 mac;
	struct oaeip_owner owner;
	u32 inc;
	struct rcu_head rcu;
};

#define OAEIP_ASK_TIMES	3	/* a gateway is asked for its nodes */

#define OAEIP_MAX_CHANGES	128	/* more: all nodes are told */

/* A word about a node, not yet said: to all gateways, or to one zone's. */
struct oaeip_change {
	u64 mac;
	u16 zone;		/* 0: all */
	u8 flags;		/* OAEIP_NODE_* */
};

/**
 * struct oaeip_gw - the gateway of one network namespace
 */
struct oaeip_gw {
	struct net *net;
	bool ready;			/* made, and not on its way out */
	struct oaeip_knobs knobs;
	bool shut;			/* the knob `shutdown` */
	struct oaeip_addrs *gwips;	/* the knob `gwips`; RTNL */
	unsigned int ngwips;

	struct oaeip_map __rcu *map;	/* zone/zone.c; NULL: gwips is empty */
	bool starved;			/* or there was no memory for it */
	struct oaeip_port __rcu *port;	/* zone/port.c; NULL: no device */
	struct sock __rcu *sk4, *sk6;	/* net/socket.c */
	struct socket *sock4, *sock6;	/* RTNL */
	u32 inc;			/* 0: not serving */
	u16 epoch;			/* of the MTUs told in the zone */
	u32 announced;			/* the MTU last told in the zone */
	unsigned long kicked;		/* bit 0: the work comes soon */
	atomic_t serial;

	struct rhashtable nodes;	/* mactbl.c */
	spinlock_t nodes_lock;
	struct oaeip_change change[OAEIP_MAX_CHANGES];	/* nodes_lock */
	unsigned int nchanges;
	bool tell_all;

	struct delayed_work control;	/* zone/serve.c */
	struct work_struct reconf;	/* zone/zone.c */
	bool want_now;			/* ASK at the next run */
	bool hello_now;			/* say HELLO at the next run */
	bool refresh_now;		/* tell all nodes at the next run */
	bool ask_now;			/* and ask the nodes of my zone */
	bool ask_again;			/* do so with the next HELLO */
	u64 next_tick, next_refresh;	/* oaeip_now(); the work's own */
	u64 doubt_at;			/* look at nodes in doubt, 0 none */
	atomic64_t zone_window;		/* control_pps: HELLO, ABOUT */
	atomic64_t tunnel_window;	/* and CONTROL */
	struct oaeip_stats __percpu *stats;
};

/* Milliseconds since boot: the time of everything that is not a frame's. */
static inline u64 oaeip_now(void)
{
	return div_u64(ktime_get_coarse_ns(), NSEC_PER_MSEC) + 1;
}

/* Is this logged, which the knob verbose shows from @level on? */
static inline bool oaeip_says(const struct oaeip_gw *gw, unsigned int level)
{
	return READ_ONCE(gw->knobs.verbose) >= level && oae_may_log(gw->net);
}

/* Milliseconds as the wire has them: tenths of a second, not 0. */
static inline u16 oaeip_tenths(u32 ms)
{
	return clamp_t(u32, ms / 100, 1, U16_MAX);
}

static inline void oaeip_count_n(struct oaeip_gw *gw, enum oaeip_stat stat,
				 u64 n)
{
	this_cpu_add(gw->stats->v[stat], n);
}

static inline void oaeip_count(struct oaeip_gw *gw, enum oaeip_stat stat)
{
	oaeip_count_n(gw, stat, 1);
}

/*
 * A frame, or what it teaches, is lost for want of memory. It may have been all
 * that a node says for long: with the next HELLO the zone is asked again.
 */
static inline void oaeip_no_memory(struct oaeip_gw *gw)
{
	oaeip_count(gw, OAEIP_S_NO_MEMORY);
	WRITE_ONCE(gw->ask_again, true);
}

/* After how many ms of silence is a gateway, or am I, gone? */
static inline u32 oaeip_beat_life(const struct oaeip_gw *gw)
{
	return READ_ONCE(gw->knobs.hello_ms) * 7 / 2;
}

/*
 * And a node of my zone? It speaks when it hears a HELLO, so not before some could
 * be heard.
 */
static inline u32 oaeip_node_life(const struct oaeip_gw *gw)
{
	return max(READ_ONCE(gw->knobs.node_life_ms), oaeip_beat_life(gw));
}

/*
 * Is one more within control_pps? What comes from the zone and what comes from
 * gateways have a @window each: a flood from one side leaves the other alone.
 */
static inline bool oaeip_allowed(struct oaeip_gw *gw, atomic64_t *window)
{
	if (oae_limit_allows(window, READ_ONCE(gw->knobs.control_pps)))
		return true;
	oaeip_count(gw, OAEIP_S_CONTROL_LIMIT);
	return false;
}

/* gw.c: the gateway of a namespace */
extern unsigned int oaeip_net_id;
struct oaeip_gw *oaeip_gw(struct net *net);
struct oaeip_gw *oaeip_gw_current(void);

/* map.c: the zones */
struct oaeip_zone *oaeip_zone_get(const struct oaeip_map *map, u16 id);
enum oaeip_zone_state oaeip_zone_state(const struct oaeip_gw *gw,
				       const struct oaeip_map *map,
				       const struct oaeip_zone *zone);
const char *oaeip_zone_state_name(enum oaeip_zone_state state);

/* stats.c */
u64 oaeip_stat_read(const struct oaeip_gw *gw, unsigned int stat);
const char *oaeip_stat_name(unsigned int stat);
const char *oaeip_stat_text(unsigned int stat);

/* gwips.c: the list of zones as people write it */
int oaeip_gwips_parse(struct oaeip_addrs *addrs, unsigned int *n, char *text);
int oaeip_addrs_print(const struct oaeip_addrs *addrs, char *buf, size_t size);
int oaeip_gwips_print(struct oaeip_gw *gw, char *buf, size_t size);

/* kick.c: when the work runs */
void oaeip_kick(struct oaeip_gw *gw, unsigned int ms);
void oaeip_kick_later(struct oaeip_gw *gw, unsigned int ms);
void oaeip_kick_doubt(struct oaeip_gw *gw, u64 at);
void oaeip_kick_reconf(struct oaeip_gw *gw);
int oaeip_kick_init(void);
void oaeip_kick_exit(void);

/* mactbl.c: which zone a node is in */
int oaeip_mactbl_init(struct oaeip_gw *gw);
void oaeip_mactbl_exit(struct oaeip_gw *gw);
struct oaeip_node *oaeip_mactbl_find(struct oaeip_gw *gw, const u8 *mac);
bool oaeip_mactbl_lookup_zone(struct oaeip_gw *gw, const u8 *mac, u16 *zone);
bool oaeip_mactbl_local(struct oaeip_gw *gw, struct oaeip_map *map,
			const u8 *mac, bool leaving);
bool oaeip_mactbl_data(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, const u8 *mac);
enum oaeip_hearing oaeip_mactbl_hear(struct oaeip_gw *gw,
				     struct oaeip_zone *from,
				     const struct oaeip_control *msg);
int oaeip_mactbl_told(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *from, const struct oaeip_control *msg,
		      unsigned int i, const u8 **claimed);
void oaeip_mactbl_sweep(struct oaeip_gw *gw, struct oaeip_map *map);
void oaeip_mactbl_flush(struct oaeip_gw *gw);
unsigned int oaeip_mactbl_mine(struct rhashtable_iter *iter, u8 *buf,
			       unsigned int max);
size_t oaeip_mactbl_show(struct oaeip_gw *gw, char *buf, size_t size);

#endif /* OAEIP_BASE_H */
