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

#include "event.h"

/**
 * oae_tag_way_begin() - set the way that a link begins with
 * @tag: its tag, the link CLOSED, locked or not published yet
 * @via: with use_gw auto: begin through the gateway
 *
 * Context: any but hard interrupts; under tag->lock.
 *
 * Return: the MTU of the way, bytes.
 */
u16 oae_tag_way_begin(struct oae_tag *tag, bool via)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	return oae_way_begin(&tag->way, &ways, via);
}

/**
 * oae_tag_way_mtu() - what a tag's way carries
 * @tag: the tag
 *
 * Context: any but hard interrupts; under tag->lock.
 *
 * Return: bytes behind the Ethernet header, VIA not counted.
 */
u16 oae_tag_way_mtu(const struct oae_tag *tag)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	return oae_way_mtu(&tag->way, &ways);
}

/* The way was looked at: the frames of this event go by it. Count a change. */
static void way_set(const struct oae_tag *tag, struct oae_run *ev)
{
	if (tag->way.via != ev->via && !oae_link_closed(&tag->link))
		oae_count(tag->node, OAE_S_WAY_CHANGED);
	ev->via = tag->way.via;
}

/**
 * oae_tag_way_update() - find a tag's way and its MTU anew
 * @tag: the tag
 * @ev: the event: an OPEN link freezes if its MTU changes
 *
 * Context: under tag->lock, BH off.
 */
void oae_tag_way_update(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	oae_way_update(&tag->way, &ways, &tag->link, ev->now, &ev->a);
	way_set(tag, ev);
}

/**
 * oae_tag_way_refresh() - find a tag's way anew, be it that of the path in use or not
 * @tag: the tag
 * @ev: the event: an OPEN link freezes if its MTU changes
 *
 * Context: under tag->lock, BH off.
 */
void oae_tag_way_refresh(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_ways ways;

	if (!oae_path_elsewhere(tag)) {
		oae_tag_way_update(tag, ev);
		return;
	}
	oae_port_ways(tag->key.port, &ways);
	oae_way_refresh(&tag->way, &ways);
	way_set(tag, ev);
}

/**
 * oae_tag_way_heard() - update a tag's way for a received frame
 * @tag: the tag
 * @ev: the event
 * @f: the frame: it came by another way than the tag's, or a SYNC is unanswered
 *
 * Context: softirq, under tag->lock.
 *
 * Return: false: drop the frame. The way of this event's frames may be another than
 * the tag's.
 */
bool oae_tag_way_heard(struct oae_tag *tag, struct oae_run *ev,
		       const struct oae_frame *f)
{
	struct oae_ways ways;
	enum oae_go go;

	oae_port_ways(tag->key.port, &ways);
	tag->way.aside = oae_path_elsewhere(tag) && oae_link_state(&tag->link) == OAE_OPEN;
	go = oae_way_heard(&tag->way, &ways, &tag->link, f, ev->now, &ev->a);
	way_set(tag, ev);
	ev->via = go == OAE_GO_VIA;
	return go != OAE_GO_NOWHERE;
}

/**
 * oae_tag_way_timer() - update a tag's way before its link's timer is handled
 * @tag: the tag
 * @ev: the event
 *
 * Context: softirq, under tag->lock.
 */
void oae_tag_way_timer(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	tag->way.aside = oae_path_elsewhere(tag);
	oae_way_timer(&tag->way, &ways, &tag->link, ev->now, &ev->a);
	way_set(tag, ev);
}
