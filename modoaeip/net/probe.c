// SPDX-License-Identifier: GPL-2.0
/*
 * PROBE: does what is as long as the path is said to carry arrive? It finds a
 * path that has become smaller before a frame does: the kernel hears of it by ICMP. And
 * a black hole, where something drops what is long and tells nobody: then the
 * other end's BEATs come, and say that no PROBE did.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "net.h"

#define BLACK_HOLE_PROBES	4	/* in a row that did not arrive */
#define CAP_MS			60000	/* then long ones are tried again */

/**
 * oaeip_probe_send() - send a PROBE to a zone
 * @gw: the gateway, serving
 * @map: its map
 * @zone: the zone
 *
 * As long as what is used of the path; from time to time, while that is less than
 * the path is said to carry, as long as that.
 *
 * Context: process, may sleep; the caller keeps @map.
 */
void oaeip_probe_send(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *zone)
{
	struct oaeip_control msg = {
		.op = OAEIP_PROBE,
		.life = oaeip_tenths(oaeip_beat_life(gw)),
	};
	u32 len = READ_ONCE(zone->mtu);

	if (READ_ONCE(zone->cap) && oaeip_now() - zone->cap_since > CAP_MS)
		len = READ_ONCE(zone->path);
	if (len <= OAEIP_CTL_LEN)
		return;
	WRITE_ONCE(zone->unseen, READ_ONCE(zone->unseen) + 1);
	oaeip_tunnel_control(gw, map, zone, &msg, NULL, len - OAEIP_CTL_LEN);
}

/**
 * oaeip_probe_heard() - a PROBE came
 * @zone: of this zone's gateway
 * @len: bytes of UDP payload
 *
 * Context: softirq.
 */
void oaeip_probe_heard(struct oaeip_zone *zone, u16 len)
{
	if (len > READ_ONCE(zone->seen_probe))
		WRITE_ONCE(zone->seen_probe, len);
}

/**
 * oaeip_probe_report() - what to say in a BEAT about the PROBEs that came
 * @zone: to this zone
 *
 * Of two periods, so that a single one may be lost.
 *
 * Context: process, the work.
 *
 * Return: bytes of the longest, 0 none came.
 */
u16 oaeip_probe_report(struct oaeip_zone *zone)
{
	u16 now = READ_ONCE(zone->seen_probe);
	u16 before = zone->seen_last;

	WRITE_ONCE(zone->seen_probe, 0);
	zone->seen_last = now;
	return max(now, before);
}

/**
 * oaeip_probe_seen() - a BEAT says which of my PROBEs arrived
 * @gw: the gateway, serving
 * @zone: the zone whose gateway says so
 * @bytes: of the longest
 *
 * PROBEs are counted, not BEATs: these may have waited somewhere and come all
 * at once.
 *
 * Context: softirq.
 */
void oaeip_probe_seen(struct oaeip_gw *gw, struct oaeip_zone *zone, u16 bytes)
{
	u32 mtu = READ_ONCE(zone->mtu);
	u32 least = oaeip_tunnel_least(zone);
	bool arrived = bytes >= mtu + OAEIP_HDR_LEN;

	if (READ_ONCE(zone->cap) &&
	    bytes >= READ_ONCE(zone->path) + OAEIP_HDR_LEN)
		WRITE_ONCE(zone->cap, 0);
	if (arrived || !zone->unsure) {
		/* The first BEAT that knows of none begins the count. */
		zone->unsure = !arrived;
		WRITE_ONCE(zone->unseen, 0);
		return;
	}
	if (READ_ONCE(zone->cap) || mtu <= least ||
	    READ_ONCE(zone->unseen) < BLACK_HOLE_PROBES)
		return;
	zone->unsure = false;
	zone->cap_since = oaeip_now();
	WRITE_ONCE(zone->cap, least);
	if (oaeip_says(gw, 0))
		net_warn_ratelimited("zone %u: long datagrams vanish on the way: %u bytes a frame from now on\n",
				     zone->id, least);
}

/**
 * oaeip_probe_reset() - a zone is heard again after a silence
 * @zone: the zone
 *
 * PROBEs that went nowhere meanwhile say nothing about the path.
 *
 * Context: softirq.
 */
void oaeip_probe_reset(struct oaeip_zone *zone)
{
	zone->unsure = false;
}
