// SPDX-License-Identifier: GPL-2.0
/*
 * PROBE: test whether datagrams of the path MTU arrive (doc/gateway.md section 7).
 *
 * A PROBE finds a path that has become narrower before a frame does: the kernel
 * learns the new MTU from the ICMP error. It also finds a black hole, a path that
 * drops long datagrams without an ICMP error: BEATs of the other gateway arrive,
 * and report this gateway's BEATs, and no PROBE of that length. If they report
 * nothing at all, this gateway's datagrams go elsewhere, whatever their length.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "net.h"

#define BLACK_HOLE_PROBES	4	/* that did not arrive, in a row */
#define CAP_MS			60000	/* then long PROBEs are sent again */

/**
 * oaeip_probe_send() - send a PROBE to the gateway of a zone
 * @gw: the gateway, serving
 * @map: its map
 * @zone: the zone
 *
 * The PROBE is as long as the MTU in use. CAP_MS after a black hole has lowered the
 * MTU in use, PROBEs are as long as the path MTU again.
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
 * oaeip_probe_heard() - note a BEAT or PROBE received
 * @zone: zone of the gateway that sent it
 * @len: bytes of UDP payload
 *
 * Context: softirq.
 */
void oaeip_probe_heard(struct oaeip_zone *zone, u16 len)
{
	if (len > READ_ONCE(zone->seen_now))
		WRITE_ONCE(zone->seen_now, len);
}

/**
 * oaeip_probe_report() - the longest BEAT or PROBE to report in a BEAT
 * @zone: zone that the BEAT is for
 *
 * Covers two periods, so that one PROBE may be lost.
 *
 * Context: process; the periodic work only.
 *
 * Return: bytes of UDP payload of the longest one; 0: none arrived.
 */
u16 oaeip_probe_report(struct oaeip_zone *zone)
{
	u16 now = READ_ONCE(zone->seen_now);
	u16 before = zone->seen_last;

	WRITE_ONCE(zone->seen_now, 0);
	zone->seen_last = now;
	return max(now, before);
}

/**
 * oaeip_probe_seen() - handle the report of a BEAT about what this gateway sends
 * @gw: the gateway, serving
 * @zone: zone of the gateway that sent the BEAT
 * @bytes: UDP payload of the longest BEAT or PROBE that arrived; 0: none
 *
 * PROBEs are counted, not BEATs: BEATs may be delayed and arrive in one burst.
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
	if (arrived || !bytes || !zone->unsure) {
		/* The first BEAT that reports too little starts the count. */
		zone->unsure = bytes && !arrived;
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
 * oaeip_probe_reset() - start anew after a zone was silent
 * @zone: the zone
 *
 * PROBEs sent during the silence say nothing about the path.
 *
 * Context: softirq.
 */
void oaeip_probe_reset(struct oaeip_zone *zone)
{
	zone->unsure = false;
}
