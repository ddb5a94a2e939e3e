// SPDX-License-Identifier: GPL-2.0
/*
 * The way of a tag's frames: direct to the peer, or through the port's gateway. The
 * rules are in link/way.c (doc/protocol.md section 4.8).
 *
 * Each tag has a copy of what it needs to know of the gateway, valid as long as
 * port->gw.gen does not change. A tag that sees another gen at its next event
 * updates the copy. So a change at the gateway costs the same for one tag and for
 * ten thousand.
 */

#include <linux/etherdevice.h>

#include "tag.h"

/**
 * oae_path_gateway() - address of the port's gateway
 * @port: the port
 * @dest: filled in
 *
 * Context: any but hard interrupts.
 *
 * Return: false if no gateway is known; @dest is not valid then.
 */
bool oae_path_gateway(struct oae_port *port, u8 dest[ETH_ALEN])
{
	struct oae_ways ways;

	oae_port_ways(port, &ways);
	ether_addr_copy(dest, ways.gw.mac);
	return oae_ways_gateway(&ways);
}

/**
 * oae_path_mark() - add the VIA extension to a frame (protocol 2.1)
 * @port: the sending port, original source of the frame
 * @peer: address of the peer, final destination of the frame
 * @f: the frame
 *
 * Context: any; under rcu_read_lock().
 */
void oae_path_mark(const struct oae_port *port, const u8 *peer,
		   struct oae_frame *f)
{
	oae_via_mark(f, port->dev->dev_addr, peer);
}

/**
 * oae_path_begin() - set the way that a link begins with
 * @tag: its tag, the link CLOSED, locked or not published yet
 * @via: with use_gw auto: begin through the gateway
 *
 * Context: any but hard interrupts; under tag->lock.
 *
 * Return: the MTU of the way, bytes.
 */
u16 oae_path_begin(struct oae_tag *tag, bool via)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	return oae_way_begin(&tag->way, &ways, via);
}

static void way_count_turn(const struct oae_tag *tag, bool before)
{
	if (tag->way.via != before && !oae_link_closed(&tag->link))
		oae_count(tag->node, OAE_S_WAY_CHANGED);
}

/**
 * oae_path_update() - find a tag's way and its MTU anew
 * @tag: the tag
 * @now: local_clock(), ns
 * @a: actions for the caller to apply: an OPEN link freezes if its MTU changes
 *
 * Context: under tag->lock, BH off.
 */
void oae_path_update(struct oae_tag *tag, u64 now, struct oae_actions *a)
{
	bool before = tag->way.via;
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	oae_way_update(&tag->way, &ways, &tag->link, now, a);
	way_count_turn(tag, before);
}

/**
 * oae_path_heard() - update a tag's way for a received frame
 * @tag: the tag
 * @f: the frame: it came by another way than the tag's, or a SYNC is unanswered
 * @now: local_clock(), ns
 * @a: actions for the caller to apply
 *
 * Context: softirq, under tag->lock.
 *
 * Return: the way for the frames of this event; OAE_GO_NOWHERE: drop the frame, and
 * apply @a.
 */
enum oae_go oae_path_heard(struct oae_tag *tag, const struct oae_frame *f,
			   u64 now, struct oae_actions *a)
{
	bool before = tag->way.via;
	struct oae_ways ways;
	enum oae_go go;

	oae_port_ways(tag->key.port, &ways);
	go = oae_way_heard(&tag->way, &ways, &tag->link, f, now, a);
	way_count_turn(tag, before);
	return go;
}

/**
 * oae_path_timer() - update a tag's way before its link's timer is handled
 * @tag: the tag
 * @now: local_clock(), ns
 * @a: actions for the caller to apply
 *
 * Context: softirq, under tag->lock.
 */
void oae_path_timer(struct oae_tag *tag, u64 now, struct oae_actions *a)
{
	bool before = tag->way.via;
	struct oae_ways ways;

	if (!oae_way_tries(&tag->way, &tag->link, now))
		return;
	oae_port_ways(tag->key.port, &ways);
	oae_way_timer(&tag->way, &ways, &tag->link, now, a);
	way_count_turn(tag, before);
}
