/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base layer of the gateway: its structures, lookups, counters, the table
 * of nodes, and scheduling of the work.
 *
 * Life times (doc/gateway.md section 8):
 *   gateway  from pernet init to pernet exit of its network namespace.
 *   map	    the zones, and which zone is the gateway's own. Replaced as a whole
 *	    under RTNL, read under RCU.
 *   table    of nodes, a map's. Whoever reads it without the map holds a reference.
 *   port	    the zone's Ethernet device. Changed under RTNL, read under RCU.
 *   socket   one for each address family. Changed under RTNL, read under RCU.
 *   node	    an entry of the table. Changed under nodes_lock, read under RCU.
 * Lock order: gw->knob_lock, RTNL, event_lock (event.c), nodes_lock (BH off). The periodic work
 * (zone/serve.c) takes no RTNL, so a caller that holds RTNL may wait for it.
 * What needs RTNL runs in gw->reconf, which nobody waits for under RTNL.
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
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <net/dst_cache.h>
#include <net/net_namespace.h>

#include "../../modoae/base/bench.h"
#include "../../modoae/base/compat_udp.h"
#include "../../modoae/base/knob.h"
#include "../../modoae/base/limit.h"
#include "../../modoae/base/netdev.h"
#include "../../include/oaeip_wire.h"
#include "../rules/claim.h"
#include "../rules/control_msg.h"
#include "../rules/encap.h"

struct genl_family;
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
 * struct oaeip_knobs - the values of the parameters, one copy for each gateway
 *
 * The table is knobs.h. ctl/knobs.c writes them under gw->knob_lock; anybody
 * reads them with READ_ONCE().
 */
struct oaeip_knobs {
#define OAEIP_KNOB(_name, _min, _max, _default, _unit, _text) unsigned int _name;
#define OAEIP_KNOB_OR_0(_name, _min, _max, _default, _unit, _text) unsigned int _name;
#include "knobs.h"
};

/* Counters of one zone, for each CPU. */
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

/* The addresses of a zone's gateway, an item of gwips. */
struct oaeip_addrs {
	struct in_addr v4;
	struct in6_addr v6;
	bool has_v4;
	bool has_v6;
	bool v6_first;
};

/**
 * struct oaeip_zone - a zone, an element of the map
 * @id: position in gwips, from 1
 * @addrs: addresses of its gateway
 * @family: address family used to reach it: AF_INET, AF_INET6; 0 for an
 *	unreachable zone and for the gateway's own
 * @src: this gateway's address of that family
 * @cache: the cached route
 * @pcpu: counters
 * @path: bytes of the longest OAE frame that the path carries according to the
 *	kernel, 0 not known yet
 * @mtu: bytes of the longest OAE frame that is sent, at most @path
 * @cap: upper bound of @mtu after a black hole was found, bytes, 0 none
 * @cap_since: ms, when @cap was set
 * @speaker: order of its gateway's control messages; under nodes_lock
 * @heard: ms, when its last control message arrived, 0 never
 * @dead_inc: incarnation that sent BYE; written under nodes_lock
 * @stale: the table has nodes of an incarnation that has ended
 * @seen_now: UDP payload bytes of the longest BEAT or PROBE in this period
 * @seen_last: UDP payload bytes of the longest BEAT or PROBE in the period before
 * @unsure: its last BEAT confirmed this gateway's BEATs, and not its PROBEs
 * @unseen: PROBEs sent to it since the first such BEAT
 * @answered: ms, when its ASK was last answered
 * @asked: an ASK of its gateway has not been answered
 * @telling: its gateway receives all nodes in this run; used by the work only
 * @logged: the state logged last; used by the work only
 * @want: how many more times its gateway is asked for its nodes
 * @nodes: number of its nodes in the table
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
	u16 seen_now;
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
 * struct oaeip_map - the zones
 * @n: number of zones
 * @mine: the gateway's own zone; NULL: none, the gateway stands by
 * @tbl: the nodes of all zones
 * @zone: the zones; zone number n is at n - 1
 */
struct oaeip_map {
	unsigned int n;
	struct oaeip_zone *mine;
	struct oaeip_mactbl *tbl;
	struct oaeip_zone zone[];
};

/**
 * struct oaeip_port - the zone's Ethernet device
 * @gw: the gateway
 * @dev: the device
 * @pt: the packet handler
 * @mute: nothing is sent: the kind of the device may be about to change
 *
 * Use @dev under rcu_read_lock(): zone/port.c waits for these readers before it
 * releases the device.
 */
struct oaeip_port {
	struct oaeip_gw *gw;
	struct net_device *dev;
	struct packet_type pt;
	bool mute;
};

/**
 * struct oaeip_node - an entry of the table of nodes
 * @hash: linkage of the table
 * @mac: the key, as ether_addr_to_u64()
 * @owner: ownership, see rules/claim.h; changed under nodes_lock. @zone, @local,
 *	@doubt and @heard of it are read without the lock, too
 * @inc: incarnation of the gateway that announced the node; 0 local
 * @rcu: for kfree_rcu()
 */
struct oaeip_node {
	struct rhash_head hash;
	u64 mac;
	struct oaeip_owner owner;
	u32 inc;
	struct rcu_head rcu;
};

#define OAEIP_ASK_TIMES	3	/* ASKs sent: an answer may be lost */

#define OAEIP_MAX_CHANGES	128	/* beyond that all nodes are announced */

/* A change of a node that has not been announced yet. */
struct oaeip_change {
	u64 mac;
	u16 zone;		/* receiver; 0: all zones */
	u8 flags;		/* OAEIP_NODE_* */
};

/**
 * struct oaeip_mactbl - the table of nodes
 * @nodes: the entries
 * @nodes_lock: held by whoever changes them, or what follows
 * @change: changes to announce
 * @nchanges: number of these
 * @tell_all: there are more: all nodes are to be announced
 * @refs: of the map, and of those that read
 * @free: frees it, see oaeip_mactbl_put()
 */
struct oaeip_mactbl {
	struct rhashtable nodes;
	spinlock_t nodes_lock;		/* of the entries, and of what follows */
	struct oaeip_change change[OAEIP_MAX_CHANGES];
	unsigned int nchanges;
	bool tell_all;
	refcount_t refs;
	struct work_struct free;
};

/* The gateway of one network namespace. */
struct oaeip_gw {
	struct net *net;
	bool ready;			/* initialised, and not being destroyed */
	struct mutex knob_lock;		/* one change of the knobs at a time */
	struct oaeip_knobs knobs;
	bool shut;			/* the knob `shutdown` */
	struct oaeip_addrs *gwips;	/* the knob `gwips`; RTNL */
	unsigned int ngwips;

	struct oaeip_map __rcu *map;	/* zone/zone.c; NULL: gwips is empty */
	bool starved;			/* or its allocation failed */
	struct oaeip_port __rcu *port;	/* zone/port.c; NULL: no device */
	struct sock __rcu *sk4, *sk6;	/* net/socket.c */
	struct socket *sock4, *sock6;	/* RTNL */
	u32 inc;			/* 0: not serving */
	bool leaving;			/* saying good-bye, or has: the work says nothing */
	u16 epoch;			/* of the MTUs announced to the zone */
	u32 announced;			/* MTU of the last HELLO to all, bytes */
	unsigned long kicked;		/* bit 0: the work was scheduled to run soon */
	atomic_t serial;

	struct delayed_work control;	/* zone/serve.c */
	struct work_struct reconf;	/* zone/zone.c */
	bool want_now;			/* send due ASKs at the next run */
	bool hello_now;			/* send HELLO to all at the next run */
	bool refresh_now;		/* announce all nodes at the next run */
	bool ask_now;			/* send that HELLO with ASK */
	bool ask_again;			/* ASK with the next periodic HELLO */
	u64 next_tick, next_refresh;	/* ms; used by the work only */
	u64 doubt_at;			/* ms, when to check nodes in doubt, 0 none */
	atomic64_t zone_window;		/* control_pps: HELLO and ABOUT */
	atomic64_t tunnel_window;	/* control_pps: CONTROL */
	u64 nevents, nmissed;		/* event.c */
	struct oaeip_stats __percpu *stats;
};

/* Milliseconds since boot, from 1: the clock of the gateway. */
static inline u64 oaeip_now(void)
{
	return div_u64(ktime_get_coarse_ns(), NSEC_PER_MSEC) + 1;
}

/* True if a message that the knob verbose shows from @level on is to be logged. */
static inline bool oaeip_says(const struct oaeip_gw *gw, unsigned int level)
{
	return READ_ONCE(gw->knobs.verbose) >= level && oae_may_log(gw->net);
}

/* A time as on the wire: units of 100 ms, at least 1. */
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
 * Count a frame, HELLO or table entry that is lost because an allocation failed.
 * A node may send nothing else for a long time, so the next HELLO asks the zone.
 */
static inline void oaeip_no_memory(struct oaeip_gw *gw)
{
	oaeip_count(gw, OAEIP_S_NO_MEMORY);
	WRITE_ONCE(gw->ask_again, true);
}

/* Milliseconds of silence after which a gateway, this one included, counts as gone. */
static inline u32 oaeip_beat_life(const struct oaeip_gw *gw)
{
	return READ_ONCE(gw->knobs.hello_ms) * 7 / 2;
}

/*
 * Milliseconds of silence after which a node of the own zone is forgotten. Not
 * less than oaeip_beat_life(): a node answers a HELLO, and one must reach it.
 */
static inline u32 oaeip_node_life(const struct oaeip_gw *gw)
{
	return max(READ_ONCE(gw->knobs.node_life_ms), oaeip_beat_life(gw));
}

/*
 * True if control_pps allows one more message; counts it if not. The zone and the
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

/* gwips.c: the knob gwips, as text */
int oaeip_gwips_parse(struct oaeip_addrs *addrs, unsigned int *n, char *text);
int oaeip_addrs_print(const struct oaeip_addrs *addrs, char *buf, size_t size);
int oaeip_gwips_print(struct oaeip_gw *gw, char *buf, size_t size);

/* event.c: what becomes of zones, for listeners */
void oaeip_event(struct oaeip_gw *gw, u16 zone, const char *what);
void oaeip_event_family(const struct genl_family *family);
u64 oaeip_event_last(struct oaeip_gw *gw, u64 *missed);

/* kick.c: scheduling the work */
void oaeip_kick(struct oaeip_gw *gw, unsigned int ms);
void oaeip_kick_later(struct oaeip_gw *gw, unsigned int ms);
void oaeip_kick_doubt(struct oaeip_gw *gw, u64 at);
void oaeip_kick_reconf(struct oaeip_gw *gw);
void oaeip_kick_work(struct work_struct *work);
int oaeip_kick_init(void);
void oaeip_kick_exit(void);

/* mactbl.c: the table of nodes */
struct oaeip_mactbl *oaeip_mactbl_make(void);
struct oaeip_mactbl *oaeip_mactbl_get(struct oaeip_gw *gw);
void oaeip_mactbl_put(struct oaeip_mactbl *tbl);
struct oaeip_node *oaeip_mactbl_find(struct oaeip_map *map, const u8 *mac);
bool oaeip_mactbl_lookup_zone(struct oaeip_gw *gw, const u8 *mac, u16 *zone);
bool oaeip_mactbl_local(struct oaeip_gw *gw, struct oaeip_map *map,
			const u8 *mac, bool leaving);
bool oaeip_mactbl_data(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, const u8 *mac);
enum oaeip_hearing oaeip_mactbl_hear(struct oaeip_map *map,
				     struct oaeip_zone *from,
				     const struct oaeip_control *msg);
int oaeip_mactbl_told(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *from, const struct oaeip_control *msg,
		      unsigned int i, const u8 **claimed);
void oaeip_mactbl_sweep(struct oaeip_gw *gw, struct oaeip_map *map);
unsigned int oaeip_mactbl_mine(struct rhashtable_iter *iter, u8 *buf,
			       unsigned int max);
size_t oaeip_mactbl_show(struct oaeip_mactbl *tbl, char *buf, size_t size);

#endif /* OAEIP_BASE_H */
