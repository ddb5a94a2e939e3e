// SPDX-License-Identifier: GPL-2.0
/*
 * Which way the frames of a tag go, straight to the peer or through the gateway of
 * the port. The rules are link/way.c's (doc/protocol.md section 4.8).
 *
 * What a tag needs to know of the gateway is a copy, good as long as port->gw.gen
 * stays what it was; a tag that finds another at its next event looks again. So a
 * word of the gateway costs the same with one tag and with ten thousand.
 */

#include <linux/etherdevice.h>

#include "tag.h"

/**
 * oae_path_gateway() - where frames go that go through the gateway
 * @port: from here
 * @dest: filled in
 *
 * Context: any but hard interrupts. Frame path.
 *
 * Return: false if no gateway is known, and @dest means nothing.
 */
bool oae_path_gateway(struct oae_port *port, u8 dest[ETH_ALEN])
{
	struct oae_ways ways;

	oae_port_ways(port, &ways);
	ether_addr_copy(dest, ways.gw.mac);
	return oae_ways_gateway(&ways);
}

/**
 * oae_path_mark() - give a frame the extension for its way through the gateway
 * @port: from here
 * @peer: to this peer
 * @f: the frame
 *
 * Context: any but hard interrupts, RCU read lock held. Frame path.
 */
void oae_path_mark(const struct oae_port *port, const u8 *peer,
		   struct oae_frame *f)
{
	oae_via_mark(f, port->dev->dev_addr, peer);
}

/**
 * oae_path_begin() - the way that a link begins with
 * @tag: its tag; the link is CLOSED
 * @via: with use_gw auto, through the gateway
 *
 * Context: any but hard interrupts; tag->lock held, or nobody else knows it.
 *
 * Return: the link's MTU.
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
 * oae_path_update() - find anew which way a tag goes, and what that carries
 * @tag: the tag
 * @now: ns
 * @a: actions of its link, to be applied by the caller: an OPEN link whose MTU
 *	changes synchronises
 *
 * Context: any but hard interrupts, tag->lock held.
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
 * oae_path_heard() - a frame came that is not as usual
 * @tag: the tag
 * @f: the frame: it came another way than the tag goes, or SYNCs are out
 * @now: ns
 * @a: as for oae_path_update()
 *
 * Context: softirq, tag->lock held.
 *
 * Return: the way of what is sent now; OAE_GO_NOWHERE: the frame is to be
 * dropped, as @a says.
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
 * oae_path_timer() - a link's timer is about to be dealt with
 * @tag: its tag
 * @now: ns
 * @a: as for oae_path_update()
 *
 * Context: softirq, tag->lock held.
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
