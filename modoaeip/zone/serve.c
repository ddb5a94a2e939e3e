// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that the gateway sends on its own initiative (doc/gateway.md section 2.2).
 * All of them are soft state: repeated, forgotten when not repeated, and never needed
 * for a frame whose destination is known.
 *
 *   every hello_ms	HELLO in the zone; BEAT and PROBE to each gateway; the
 *			table is swept
 *   every refresh_ms	NODES, all nodes of the own zone, to each gateway
 *   within 5 ms	NODES that came or went; the answer to ASK
 *
 * One delayed work (process context) sends all of them. net/control.c and net/hello.c
 * handle what is received.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "zone.h"

/* --- to gateways ----------------------------------------------------------------- */

static void serve_say(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *zone, u8 op)
{
	struct oaeip_control msg = {
		.op = op,
		.life = oaeip_tenths(oaeip_beat_life(gw)),
	};

	if (op == OAEIP_BEAT)
		msg.seen = oaeip_probe_report(zone);
	oaeip_tunnel_control(gw, map, zone, &msg, NULL, 0);
}

/* Send NODES. @buf: a message in which @count nodes have been put. */
static void serve_say_nodes(struct oaeip_gw *gw, struct oaeip_map *map,
			    struct oaeip_zone *zone, const u8 *buf,
			    unsigned int count)
{
	struct oaeip_control msg = {
		.op = OAEIP_NODES,
		.count = count,
		.life = oaeip_tenths(READ_ONCE(gw->knobs.refresh_ms) * 7 / 2),
	};

	if (count)
		oaeip_tunnel_control(gw, map, zone, &msg, buf + OAEIP_CTL_LEN,
				     count * OAEIP_NODE_LEN);
}

/* Send ASK if one is due. Several are sent, since an answer may be lost. */
static void serve_ask(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *zone)
{
	u8 want = READ_ONCE(zone->want);

	if (!want)
		return;
	WRITE_ONCE(zone->want, want - 1);
	serve_say(gw, map, zone, OAEIP_ASK);
}

static void serve_log_state(struct oaeip_gw *gw, struct oaeip_map *map,
			    struct oaeip_zone *zone)
{
	enum oaeip_zone_state state = oaeip_zone_state(gw, map, zone);

	if (state == zone->logged)
		return;
	zone->logged = state;
	oaeip_event(gw, zone->id, oaeip_zone_state_name(state));
	if (oaeip_says(gw, 1))
		net_info_ratelimited("zone %u is %s\n", zone->id,
				     oaeip_zone_state_name(state));
}

static void serve_beat(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *zone)
{
	serve_log_state(gw, map, zone);
	serve_say(gw, map, zone, OAEIP_BEAT);
	oaeip_probe_send(gw, map, zone);
	serve_ask(gw, map, zone);
}

/* --- the work -------------------------------------------------------------------- */

static bool serve_other(const struct oaeip_map *map, const struct oaeip_zone *zone)
{
	return zone != map->mine && zone->family;
}

/* Announce all nodes of the own zone, to all gateways or to those that asked. */
static void serve_tell_all(struct oaeip_gw *gw, struct oaeip_map *map, bool all)
{
	u8 *buf = kmalloc(OAEIP_CONTROL_MAX, GFP_KERNEL);
	struct rhashtable_iter iter;
	unsigned int i, n;

	if (!buf) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return;
	}
	rhashtable_walk_enter(&map->tbl->nodes, &iter);
	do {
		n = oaeip_mactbl_mine(&iter, buf, OAEIP_MAX_NODES);
		for (i = 0; i < map->n; i++)
			if (serve_other(map, &map->zone[i]) &&
			    (all || map->zone[i].telling))
				serve_say_nodes(gw, map, &map->zone[i], buf, n);
		cond_resched();
		/* The caller of oaeip_serve_bye() waits for the end of it, under RTNL. */
	} while (n == OAEIP_MAX_NODES && !READ_ONCE(gw->leaving));
	rhashtable_walk_exit(&iter);
	kfree(buf);
}

/* Mark the gateways whose ASK is to be answered now. True: there is one. */
static bool serve_take_asked(struct oaeip_gw *gw, struct oaeip_map *map, u64 now)
{
	u32 pause = READ_ONCE(gw->knobs.hello_ms) / 4;
	bool any = false;
	unsigned int i;

	for (i = 0; i < map->n; i++) {
		struct oaeip_zone *zone = &map->zone[i];

		zone->telling = false;
		if (!READ_ONCE(zone->asked))
			continue;
		if (zone->answered && now - zone->answered < pause)
			continue;	/* answered later */
		WRITE_ONCE(zone->asked, false);
		zone->answered = now;
		zone->telling = true;
		any = true;
	}
	return any;
}

/* Send the queued changes, each to its receivers. True: all nodes are to be announced. */
static bool serve_tell_changes(struct oaeip_gw *gw, struct oaeip_map *map)
{
	struct oaeip_mactbl *tbl = map->tbl;
	struct oaeip_change *change;
	unsigned int i, k, n, count;
	u8 mac[ETH_ALEN], *buf;
	bool all;

	BUILD_BUG_ON(OAEIP_MAX_CHANGES > OAEIP_MAX_NODES);
	change = kmalloc(sizeof(tbl->change) + OAEIP_CONTROL_MAX, GFP_KERNEL);
	if (!change) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return true;
	}
	buf = (u8 *)change + sizeof(tbl->change);
	spin_lock_bh(&tbl->nodes_lock);
	n = tbl->nchanges;
	memcpy(change, tbl->change, n * sizeof(*change));
	all = tbl->tell_all;
	tbl->nchanges = 0;
	tbl->tell_all = false;
	spin_unlock_bh(&tbl->nodes_lock);

	for (i = 0; n && i < map->n; i++) {
		if (!serve_other(map, &map->zone[i]))
			continue;
		for (k = 0, count = 0; k < n; k++) {
			if (change[k].zone && change[k].zone != i + 1)
				continue;
			u64_to_ether_addr(change[k].mac, mac);
			oaeip_node_put(buf, count++, mac, change[k].flags);
		}
		serve_say_nodes(gw, map, &map->zone[i], buf, count);
	}
	kfree(change);
	return all;
}

static void serve_each_other(struct oaeip_gw *gw, struct oaeip_map *map,
			     void (*say_it)(struct oaeip_gw *gw,
					    struct oaeip_map *map,
					    struct oaeip_zone *zone))
{
	unsigned int i;

	for (i = 0; i < map->n; i++)
		if (serve_other(map, &map->zone[i]))
			say_it(gw, map, &map->zone[i]);
}

static void serve(struct oaeip_gw *gw, struct oaeip_map *map, bool ticks)
{
	u32 refresh_ms = READ_ONCE(gw->knobs.refresh_ms);
	bool asks, sweep = ticks, all;
	u64 now = oaeip_now();
	u64 doubt_at;
	unsigned int i;

	if (ticks)
		serve_each_other(gw, map, serve_beat);
	else if (xchg(&gw->want_now, false))
		serve_each_other(gw, map, serve_ask);
	/* After the BEATs, which update the MTU of each path. */
	asks = xchg(&gw->ask_now, false);
	if (ticks)
		asks |= xchg(&gw->ask_again, false);
	if (xchg(&gw->hello_now, false) || asks || ticks)
		oaeip_hello_all(gw, map, asks ? OAE_HELLO_ASK : 0);
	for (i = 0; i < map->n; i++)
		sweep |= READ_ONCE(map->zone[i].stale);
	doubt_at = READ_ONCE(gw->doubt_at);
	if (doubt_at && now >= doubt_at) {
		/* The sweep sets the time of the next check. */
		WRITE_ONCE(gw->doubt_at, 0);
		sweep = true;
	}
	if (sweep)
		oaeip_mactbl_sweep(gw, map);

	all = serve_tell_changes(gw, map);
	/* The knob may have been made smaller since. */
	if (xchg(&gw->refresh_now, false) || now >= gw->next_refresh ||
	    gw->next_refresh - now > refresh_ms)
		all = true;
	if (all)
		gw->next_refresh = now + refresh_ms;
	if (serve_take_asked(gw, map, now) || all)
		serve_tell_all(gw, map, all);
}

static void serve_control_work(struct work_struct *work)
{
	struct oaeip_gw *gw = container_of(to_delayed_work(work),
					   struct oaeip_gw, control);
	/* zone.c waits for this work before it frees a map. */
	struct oaeip_map *map = rcu_dereference_protected(gw->map, true);
	u32 hello_ms = READ_ONCE(gw->knobs.hello_ms);
	u64 now = oaeip_now(), next;
	bool ticks;

	clear_bit(0, &gw->kicked);
	if (!map) {
		/* The allocation failed: try again soon. */
		if (READ_ONCE(gw->starved)) {
			oaeip_kick_reconf(gw);
			oaeip_kick_later(gw, hello_ms);
		}
		return;
	}
	/* The knob may have been made smaller since. */
	ticks = now >= gw->next_tick || gw->next_tick - now > hello_ms;
	if (ticks) {
		gw->next_tick = now + hello_ms;
		oaeip_kick_reconf(gw);
	}
	if (READ_ONCE(gw->inc) && !READ_ONCE(gw->leaving))
		serve(gw, map, ticks);
	now = oaeip_now();
	next = gw->next_tick;
	if (READ_ONCE(gw->doubt_at))
		next = min(next, READ_ONCE(gw->doubt_at));
	oaeip_kick_later(gw, next > now ? next - now : 0);
}

/**
 * oaeip_serve_refresh() - ask zone and gateways for nodes, and announce all nodes
 * @gw: the gateway
 *
 * Context: any.
 */
void oaeip_serve_refresh(struct oaeip_gw *gw)
{
	struct oaeip_map *map;
	unsigned int i;

	rcu_read_lock();
	map = rcu_dereference(gw->map);
	for (i = 0; map && i < map->n; i++)
		WRITE_ONCE(map->zone[i].want, OAEIP_ASK_TIMES);
	rcu_read_unlock();
	WRITE_ONCE(gw->want_now, true);
	WRITE_ONCE(gw->ask_now, true);
	WRITE_ONCE(gw->refresh_now, true);
	oaeip_kick(gw, 0);
}

/**
 * oaeip_serve_setup() - initialise the periodic work of a new gateway
 * @gw: the gateway
 *
 * Context: process; @gw is not published yet.
 */
void oaeip_serve_setup(struct oaeip_gw *gw)
{
	INIT_DELAYED_WORK(&gw->control, serve_control_work);
}

/**
 * oaeip_serve_start() - start the periodic work
 * @gw: the gateway, serving or standing by
 *
 * When standing by, the work only checks whether the gateway can serve.
 *
 * Context: process; RTNL held.
 */
void oaeip_serve_start(struct oaeip_gw *gw)
{
	gw->next_tick = 0;
	gw->doubt_at = 0;
	gw->next_refresh = 0;
	gw->refresh_now = true;
	WRITE_ONCE(gw->leaving, false);
	oaeip_kick(gw, 0);
}

/**
 * oaeip_serve_bye() - send LEAVING to the zone and BYE to the gateways
 * @gw: the gateway; nothing if it is not serving
 *
 * The work says nothing from then on: a HELLO that followed LEAVING would have the
 * hosts send to a gateway that is gone, for as long as a HELLO is valid. A work that
 * is at the table leaves it within a batch.
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_serve_bye(struct oaeip_gw *gw)
{
	struct oaeip_map *map = rtnl_dereference(gw->map);
	unsigned int i;

	if (!READ_ONCE(gw->inc))
		return;
	WRITE_ONCE(gw->leaving, true);
	oaeip_serve_stop(gw);
	oaeip_hello_all(gw, map, OAE_HELLO_LEAVING);
	for (i = 0; i < map->n; i++)
		if (serve_other(map, &map->zone[i]))
			serve_say(gw, map, &map->zone[i], OAEIP_BYE);
}

/**
 * oaeip_serve_stop() - stop the periodic work and wait for it
 * @gw: the gateway, its map unpublished
 *
 * Context: process, may sleep; RTNL may be held, which the work does not take.
 */
void oaeip_serve_stop(struct oaeip_gw *gw)
{
	cancel_delayed_work_sync(&gw->control);
	clear_bit(0, &gw->kicked);
}
