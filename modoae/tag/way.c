// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: which way the frames of a tag go, straight to the peer or through the
 * gateway of the port, and what that way carries (doc/protocol.md section 4.8).
 *
 * A tag is the same tag whichever way it goes. What it needs to know of the
 * gateway is a copy, good as long as port->gw.gen stays what it was; a tag that
 * finds another at its next event looks again. So a word of the gateway costs
 * the same with one tag and with ten thousand.
 */

#include <linux/etherdevice.h>

#include "tag.h"

#define ASK_EACH_WAY	2	/* SYNCs, then the other way is tried */

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
	struct oae_gw gw;

	oae_port_gw(port, &gw);
	ether_addr_copy(dest, gw.mac);
	return oae_gw_usable(port, &gw);
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
	f->flags |= OAE_F_VIA;
	memcpy(f->via, peer, ETH_ALEN);
	memcpy(f->via + ETH_ALEN, port->dev->dev_addr, ETH_ALEN);
}

/* What the tag's way carries, VIA not counted. */
static u16 way_mtu(const struct oae_tag *tag, const struct oae_gw *gw)
{
	unsigned int mtu = READ_ONCE(tag->key.port->mtu), most = gw->mtu;

	if (tag->way_via) {
		if (tag->about.mtu && tag->about.inc == gw->inc &&
		    tag->about.epoch == gw->epoch)
			most = tag->about.mtu;
		if (most && most < mtu)
			mtu = most;
		mtu -= min_t(unsigned int, mtu, OAE_VIA_LEN);
	}
	return clamp_t(unsigned int, mtu, OAE_MIN_MTU, U16_MAX);
}

/* A frame that is not as usual is looked at: oae_path_heard(). */
static void way_usual(struct oae_tag *tag)
{
	if (tag->asked || tag->way_lost || tag->via != tag->way_via)
		tag->way_usual = ~OAE_F_VIA;
	else
		tag->way_usual = tag->via ? OAE_F_VIA : 0;
}

/* Find the tag's way, and what it carries. */
static u16 way_find(struct oae_tag *tag)
{
	const struct oae_port *port = tag->key.port;
	struct oae_gw gw;

	oae_port_gw(port, &gw);
	tag->way_gen = gw.gen;
	switch (oae_port_use_gw(port)) {
	case OAE_GW_NEVER:
		tag->via = false;
		tag->way_via = false;
		break;
	case OAE_GW_ALWAYS:
		tag->via = true;
		tag->way_via = true;
		break;
	default:
		tag->way_via = tag->via && oae_gw_usable(port, &gw);
	}
	way_usual(tag);
	return way_mtu(tag, &gw);
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
	tag->via = via;
	tag->asked = 0;
	tag->way_lost = false;
	return way_find(tag);
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
	bool before = tag->way_via;
	u16 mtu = way_find(tag);

	if (tag->way_via != before) {
		tag->asked = 0;
		way_usual(tag);
		if (tag->link.state != OAE_CLOSED)
			oae_count(tag->node, OAE_S_WAY_CHANGED);
	}
	oae_link_set_mtu(&tag->link, mtu, now, a);
}

/*
 * Has nothing been heard of the peer by the way that the tag goes, though it was
 * asked more than once? Until then nobody is listened to who is elsewhere.
 */
static bool way_lost(const struct oae_tag *tag, u64 now)
{
	const struct oae_link *l = &tag->link;
	u64 again = min(l->cfg->keepalive, l->cfg->dead / 4);

	if (tag->way_lost)
		return true;
	/* Two probes, and the time for an answer to the second. */
	return l->state == OAE_OPEN && l->asked_at &&
	       (s64)(now - l->asked_at - again) >= (s64)oae_link_stall(l);
}

static bool is_sync(u8 opcode)
{
	return opcode == OAE_SYNC || opcode == OAE_SYNC_ACK ||
	       opcode == OAE_SYNC_CHK;
}

/* The peer is heard by the way that the tag goes from now on. */
static void way_is_good(struct oae_tag *tag, bool via, u64 now,
			struct oae_actions *a)
{
	tag->asked = 0;
	tag->way_lost = false;
	if (oae_port_use_gw(tag->key.port) == OAE_GW_AUTO)
		tag->via = via;
	oae_path_update(tag, now, a);
}

/**
 * oae_path_heard() - a frame came that is not as usual
 * @tag: the tag
 * @f: the frame: it came another way than the tag goes, or SYNCs are out
 * @now: ns
 * @a: as for oae_path_update()
 * @via: set: what is sent now goes through the gateway
 *
 * With use_gw auto the tag follows a frame that names both its ltags, which only
 * the peer knows; or its own one, if the way that it goes is lost, or if the frame
 * came direct, from the peer's own address. Whoever says that it is a gateway may
 * say that the peer is behind it. So as long as the peer is heard direct, a SYNC
 * through the gateway is answered direct, if it names this end's ltag, and else
 * not at all: the answer would tell the ltag. A SYNC that comes direct is answered
 * direct in any case (doc/protocol.md section 4.8).
 *
 * Context: softirq, tag->lock held.
 *
 * Return: false if the frame is to be dropped, which is counted.
 */
bool oae_path_heard(struct oae_tag *tag, const struct oae_frame *f, u64 now,
		    struct oae_actions *a, bool *via)
{
	const struct oae_link *l = &tag->link;
	bool mine = f->dst_ltag == l->ltag;
	bool came = f->flags & OAE_F_VIA;
	bool lost = way_lost(tag, now);

	if (came == tag->way_via || oae_port_use_gw(tag->key.port) != OAE_GW_AUTO) {
		if (mine)
			way_is_good(tag, came, now, a);
		*via = tag->way_via;
		return true;
	}
	if (mine && (lost || !came || f->src_ltag == l->peer_ltag)) {
		way_is_good(tag, came, now, a);
		*via = tag->way_via;
		return true;
	}
	*via = tag->way_via;
	if (!is_sync(f->opcode))
		return true;
	if (lost || !came) {
		*via = came;
		return true;
	}
	if (mine || f->opcode != OAE_SYNC)
		return true;
	oae_count(tag->node, OAE_S_NOTE + OAE_N_STALE_SYNC);
	return false;
}

/**
 * oae_path_asked() - an event has left a link frozen, or CLOSED
 * @tag: its tag
 * @a: what is sent now
 *
 * Context: any but hard interrupts, tag->lock held.
 */
void oae_path_asked(struct oae_tag *tag, const struct oae_actions *a)
{
	unsigned int i;

	for (i = 0; i < a->nsends; i++)
		if (a->send[i].frame.opcode == OAE_SYNC)
			tag->asked++;
	way_usual(tag);
}

/**
 * oae_path_timer() - a link's timer is about to be dealt with
 * @tag: its tag
 * @now: ns
 * @a: as for oae_path_update()
 *
 * With use_gw auto a link that has asked in vain asks the other way, as long
 * as there is one. Before the SYNC is built, since it says an MTU.
 *
 * Context: softirq, tag->lock held.
 */
void oae_path_timer(struct oae_tag *tag, u64 now, struct oae_actions *a)
{
	const struct oae_link *l = &tag->link;
	struct oae_gw gw;

	if (tag->asked < ASK_EACH_WAY || now < l->again_at ||
	    (l->state != OAE_SYNC_SENT && l->state != OAE_SYNC_RECD))
		return;
	tag->way_lost = true;
	way_usual(tag);
	if (oae_port_use_gw(tag->key.port) != OAE_GW_AUTO)
		return;
	oae_port_gw(tag->key.port, &gw);
	if (!oae_gw_usable(tag->key.port, &gw))
		return;
	tag->via = !tag->way_via;
	oae_path_update(tag, now, a);
}
