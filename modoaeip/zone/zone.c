// SPDX-License-Identifier: GPL-2.0
/*
 * Zones: the items of gwips, the gateway's own zone, serving and standing by
 * (doc/gateway.md section 3).
 *
 * After any change (the list, an address of this host, the device, a knob) the gateway
 * stops as a whole and starts again: it sends LEAVING and BYE, drops map and table,
 * and builds them anew. Every start takes this path, so it is well tested, and the
 * table is complete again within milliseconds.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inetdevice.h>
#include <linux/ratelimit.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/route.h>

#include "zone.h"

static bool unloading;	/* under RTNL; no gateway starts any more */

/* --- the map ------------------------------------------------------------------ */

/* Set @local to those of a zone's addresses that this host has and can use. */
static void zone_local_part(struct net *net, const struct oaeip_addrs *a,
			    struct oaeip_addrs *local)
{
	*local = *a;
	local->has_v4 = a->has_v4 &&
			inet_addr_type(net, a->v4.s_addr) == RTN_LOCAL;
#if IS_ENABLED(CONFIG_IPV6)
	local->has_v6 = a->has_v6 && ipv6_chk_addr(net, &a->v6, NULL, 0);
#else
	local->has_v6 = false;
#endif
}

/* The index of the first zone that has an address of this host; -1: none. */
static int zone_find_mine(struct oaeip_gw *gw, struct oaeip_addrs *local)
{
	unsigned int i;

	for (i = 0; i < gw->ngwips; i++) {
		zone_local_part(gw->net, &gw->gwips[i], local);
		if (local->has_v4 || local->has_v6)
			return i;
	}
	return -1;
}

/* The family to reach a zone by: the zone's first one of those in common. */
static sa_family_t zone_common_family(const struct oaeip_addrs *zone,
				      const struct oaeip_addrs *mine)
{
	bool v4 = zone->has_v4 && mine->has_v4;
	bool v6 = zone->has_v6 && mine->has_v6;

	if (v4 && v6)
		return zone->v6_first ? AF_INET6 : AF_INET;
	if (v4)
		return AF_INET;
	return v6 ? AF_INET6 : AF_UNSPEC;
}

static void zone_map_free(struct oaeip_map *map)
{
	unsigned int i;

	if (!map)
		return;
	oaeip_mactbl_put(map->tbl);
	for (i = 0; i < map->n; i++) {
		dst_cache_destroy(&map->zone[i].cache);
		free_percpu(map->zone[i].pcpu);
	}
	kvfree(map);
}

static int zone_make(struct oaeip_zone *zone, u16 id,
		     const struct oaeip_addrs *addrs)
{
	zone->id = id;
	zone->addrs = *addrs;
	zone->speaker.zone = id;
	zone->want = OAEIP_ASK_TIMES;
	zone->pcpu = alloc_percpu_gfp(struct oaeip_zone_pcpu, GFP_KERNEL_ACCOUNT);
	if (!zone->pcpu)
		return -ENOMEM;
	return dst_cache_init(&zone->cache, GFP_KERNEL_ACCOUNT);
}

static struct oaeip_map *zone_map_make(struct oaeip_gw *gw)
{
	struct oaeip_map *map;
	struct oaeip_addrs local;
	unsigned int i;
	int mine;

	map = kvzalloc(struct_size(map, zone, gw->ngwips), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	map->tbl = oaeip_mactbl_make();
	if (!map->tbl)
		goto no_memory;
	map->n = gw->ngwips;
	for (i = 0; i < map->n; i++)
		if (zone_make(&map->zone[i], i + 1, &gw->gwips[i]))
			goto no_memory;
	mine = zone_find_mine(gw, &local);
	if (mine < 0)
		return map;
	map->mine = &map->zone[mine];
	map->mine->src = local;
	for (i = 0; i < map->n; i++) {
		if (i == mine)
			continue;
		map->zone[i].family = zone_common_family(&gw->gwips[i], &local);
		map->zone[i].src = local;
	}
	return map;

no_memory:
	zone_map_free(map);
	return NULL;
}

/* --- serving and standing by -------------------------------------------------- */

static void log_zones(struct oaeip_gw *gw, struct oaeip_map *map)
{
	/* A user who may reconfigure is not always one who reads the log. */
	static DEFINE_RATELIMIT_STATE(rs, 5 * HZ, 20);
	struct oaeip_port *port = rtnl_dereference(gw->port);
	char addrs[72], route[80];
	unsigned int i;

	if (!oaeip_says(gw, 0) || !__ratelimit(&rs))
		return;
	if (!map->mine) {
		pr_info("standing by: none of the gateways is an address of this host\n");
		return;
	}
	oaeip_addrs_print(&map->mine->addrs, addrs, sizeof(addrs));
	if (!port) {
		pr_info("zone %u is mine (%s), but no device is set: standing by\n",
			map->mine->id, addrs);
		return;
	}
	pr_info("zone %u is mine: gateway %s, device %s %pM\n", map->mine->id,
		addrs, port->dev->name, port->dev->dev_addr);
	for (i = 0; i < map->n; i++) {
		struct oaeip_zone *zone = &map->zone[i];

		if (zone == map->mine)
			continue;
		oaeip_addrs_print(&zone->addrs, addrs, sizeof(addrs));
		if (!zone->family)
			pr_info("zone %u: gateway %s, unreachable: I have no address of its family in gwips\n",
				zone->id, addrs);
		else if (oaeip_tunnel_route(gw, zone, route, sizeof(route)) < 0)
			pr_info("zone %u: gateway %s, unreachable: no route\n",
				zone->id, addrs);
		else
			pr_info("zone %u: gateway %s by %s, %u bytes a frame\n",
				zone->id, addrs, route,
				READ_ONCE(zone->mtu));
	}
}

static u32 zone_random_inc(void)
{
	u32 inc;

	do {
		inc = get_random_u32();
	} while (!inc);
	return inc;
}

static int zone_start(struct oaeip_gw *gw)
{
	struct oaeip_map *map;
	int err = 0;

	ASSERT_RTNL();
	if (gw->shut || !gw->ngwips)
		return 0;
	map = zone_map_make(gw);
	if (!map) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		WRITE_ONCE(gw->starved, true);
		oaeip_serve_start(gw);
		return -ENOMEM;
	}
	rcu_assign_pointer(gw->map, map);
	if (map->mine && rtnl_dereference(gw->port)) {
		err = oaeip_socket_open(gw, map);
		if (!err) {
			WRITE_ONCE(gw->inc, zone_random_inc());
			oaeip_event(gw, map->mine->id, "serving");
		}
	}
	if (!err)
		log_zones(gw, map);
	oaeip_serve_start(gw);
	return err;
}

/**
 * oaeip_zone_halt() - stop serving: drop all but the device and the knobs
 * @gw: the gateway
 *
 * Sends LEAVING and BYE first.
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_zone_halt(struct oaeip_gw *gw)
{
	struct oaeip_map *map = rtnl_dereference(gw->map);

	ASSERT_RTNL();
	WRITE_ONCE(gw->starved, false);
	if (!map)
		return;
	oaeip_serve_bye(gw);
	if (gw->inc)
		oaeip_event(gw, map->mine->id, "left");
	WRITE_ONCE(gw->inc, 0);
	RCU_INIT_POINTER(gw->map, NULL);
	oaeip_socket_unpublish(gw);
	synchronize_net();	/* no reader of map or sockets is left */
	oaeip_serve_stop(gw);
	oaeip_socket_close(gw);
	zone_map_free(map);
}

/**
 * oaeip_reconfigure() - stop and start again
 * @gw: the gateway
 *
 * On failure the gateway stands by, and tries again periodically.
 *
 * Context: process, may sleep; RTNL held.
 *
 * Return: 0, also if there is nothing to serve; -EADDRINUSE and others from opening
 * the tunnel's sockets; -ENOMEM.
 */
int oaeip_reconfigure(struct oaeip_gw *gw)
{
	oaeip_zone_halt(gw);
	return READ_ONCE(gw->ready) && !unloading ? zone_start(gw) : 0;
}

/**
 * oaeip_gwips_exchange() - use another list of zones
 * @gw: the gateway
 * @addrs: the zones, from kmalloc(); set to those of before
 * @n: number of zones; set to that of before
 *
 * The new list is in use even if the gateway cannot serve with it now: it tries again
 * periodically. A second call sets back what was before.
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: 0, or the error of oaeip_reconfigure().
 */
int oaeip_gwips_exchange(struct oaeip_gw *gw, struct oaeip_addrs **addrs,
			 unsigned int *n)
{
	int err;

	rtnl_lock();
	swap(gw->gwips, *addrs);
	swap(gw->ngwips, *n);
	err = oaeip_reconfigure(gw);
	rtnl_unlock();
	return err;
}

/* Serve with another port, or none. Sets *port to the previous one. */
static int zone_port_exchange(struct oaeip_gw *gw, struct oaeip_port **port)
{
	oaeip_zone_halt(gw);
	*port = oaeip_port_exchange(gw, *port);
	return oaeip_reconfigure(gw);
}

/**
 * oaeip_port_set() - use another device
 * @gw: the gateway
 * @name: name of the device, "" for none
 *
 * On failure the old device stays in use.
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: 0, or the error of oaeip_port_make() or oaeip_reconfigure().
 */
int oaeip_port_set(struct oaeip_gw *gw, const char *name)
{
	struct oaeip_port *port;
	int err;

	rtnl_lock();
	err = oaeip_port_make(gw, name, &port);
	if (!err) {
		err = zone_port_exchange(gw, &port);
		if (err)
			zone_port_exchange(gw, &port);
		oaeip_port_free(port);
	}
	rtnl_unlock();
	return err == -EALREADY ? 0 : err;
}

/**
 * oaeip_port_gone() - release the zone's device, which goes away, and stand by
 * @gw: the gateway
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_port_gone(struct oaeip_gw *gw)
{
	struct oaeip_port *port = NULL;

	zone_port_exchange(gw, &port);
	oaeip_port_free(port);
}

/**
 * oaeip_shutdown_exchange() - stop serving, or serve again
 * @gw: the gateway
 * @shut: true to stop; set to what it was before
 *
 * A gateway that cannot serve again now tries to periodically. A second call sets back
 * what was before.
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: 0, or the error of oaeip_reconfigure().
 */
int oaeip_shutdown_exchange(struct oaeip_gw *gw, bool *shut)
{
	int err = 0;

	rtnl_lock();
	if (gw->shut != *shut) {
		WRITE_ONCE(gw->shut, *shut);
		*shut = !*shut;
		err = oaeip_reconfigure(gw);
	}
	rtnl_unlock();
	return err;
}

/* True if this host's addresses have changed, or the last start failed. */
static bool zone_changed(struct oaeip_gw *gw)
{
	struct oaeip_map *map = rtnl_dereference(gw->map);
	struct oaeip_addrs local;
	int mine;

	if (!map)
		return gw->starved;
	mine = zone_find_mine(gw, &local);
	if (mine != (map->mine ? map->mine->id - 1 : -1))
		return true;
	if (mine < 0)
		return false;
	return local.has_v4 != map->mine->src.has_v4 ||
	       local.has_v6 != map->mine->src.has_v6 ||
	       (!gw->inc && rtnl_dereference(gw->port));
}

static void zone_reconf_work(struct work_struct *work)
{
	struct oaeip_gw *gw = container_of(work, struct oaeip_gw, reconf);

	rtnl_lock();
	oaeip_port_hushed(gw);
	if (READ_ONCE(gw->ready) && zone_changed(gw))
		oaeip_reconfigure(gw);
	rtnl_unlock();
}

/**
 * oaeip_zone_setup() - initialise the reconfiguration work of a new gateway
 * @gw: the gateway
 *
 * Context: process; @gw is not published yet.
 */
void oaeip_zone_setup(struct oaeip_gw *gw)
{
	INIT_WORK(&gw->reconf, zone_reconf_work);
}

/**
 * oaeip_zone_stop() - stop the gateway of a namespace that is being destroyed
 * @gw: the gateway
 *
 * oaeip_zone_end() follows after an RCU grace period.
 *
 * Context: process, may sleep; takes RTNL.
 */
void oaeip_zone_stop(struct oaeip_gw *gw)
{
	rtnl_lock();
	WRITE_ONCE(gw->ready, false);
	oaeip_zone_halt(gw);
	oaeip_port_free(oaeip_port_exchange(gw, NULL));
	rtnl_unlock();
	oaeip_serve_stop(gw);	/* a knob may have scheduled it, even without a map */
}

/**
 * oaeip_zone_end() - free what oaeip_zone_stop() had to keep
 * @gw: the gateway, not ready, an RCU grace period later
 *
 * Context: process, may sleep.
 */
void oaeip_zone_end(struct oaeip_gw *gw)
{
	cancel_work_sync(&gw->reconf);
	kfree(gw->gwips);
}

/**
 * oaeip_zone_unload() - let no gateway start any more; those that serve go on
 *
 * Context: process, may sleep; takes RTNL.
 */
void oaeip_zone_unload(void)
{
	rtnl_lock();
	unloading = true;
	rtnl_unlock();
}
