// SPDX-License-Identifier: GPL-2.0
/*
 * Two ways between the ends (4.8): direct, and through a gateway. Each end's port
 * has the record of its gateway, and each tag that of its way; the rules that
 * change them are those of modoae/link/way.c. From each state the ends must find back
 * whichever way carries frames from now on, and be it the other one in one direction
 * only (weather.c).
 */
#include "model.h"

/* --- the gateway --- */

static const u8 gateway[OAE_MAC_LEN] = { 2, 0, 0, 0, 0, 3 };
static const u8 address[][OAE_MAC_LEN] = {
	[A] = { 2, 0, 0, 0, 0, 1 },
	[B] = { 2, 0, 0, 0, 0, 2 },
};

/**
 * m_gateway() - the gateway says HELLO, or LEAVING, to an end's port
 * @e: the end
 * @flags: OAE_HELLO_LEAVING or 0
 */
void m_gateway(struct m_end *e, u8 flags)
{
	const struct oae_frame f = {
		.opcode = OAE_HELLO,
		.hello = {
			.flags = OAE_HELLO_GATEWAY | flags, .zone = 1,
			.mtu = M_MTU_WIDE, .inc = 1, .epoch = 1, .life = 1,
			.node_life = 1,
		},
	};
	bool answer;

	if (oae_hello_check(address[e->who], gateway, &f) == OAE_HELLO_GOOD)
		oae_gw_hear(&e->gw, gateway, &f, M_NOW, &answer);
}

/**
 * m_ways() - the ways that an end's port has
 * @e: the end
 *
 * Return: the record.
 */
struct oae_ways m_ways(const struct m_end *e)
{
	return (struct oae_ways){
		.gw = e->gw, .mtu = m_mtu(e), .use = OAE_GW_AUTO,
	};
}

/**
 * m_via_mark() - a frame goes through the gateway
 * @f: the frame
 * @to: to which end
 */
void m_via_mark(struct oae_frame *f, unsigned int to)
{
	f->hdr_len = OAE_HDR_LEN + OAE_VIA_LEN;
	oae_via_mark(f, address[!to], address[to]);
}

/**
 * m_let_in() - does an end's port take a frame?
 * @e: the end
 * @f: the frame; its sender's Ethernet address is that of the gateway if it has VIA
 *
 * Return: true if so.
 */
bool m_let_in(const struct m_end *e, const struct oae_frame *f)
{
	struct oae_ways p = m_ways(e);

	return !(f->flags & OAE_F_VIA) ||
	       oae_ways_let_in(&p, address[e->who], gateway, f);
}

/* --- the way of a tag --- */

/**
 * m_way_begin() - the way that a link begins with
 * @e: the end, with a new tag
 * @via: what it is made for came through the gateway
 */
void m_way_begin(struct m_end *e, bool via)
{
	struct oae_ways p = m_ways(e);

	e->link.mtu.here = oae_way_begin(&e->way, &p, via);
}

/**
 * m_way_refresh() - an event begins, at a port whose gateway has changed since the last
 * @e: the end, with a tag
 * @a: actions of the event
 *
 * Return: false if nothing has changed.
 */
bool m_way_refresh(struct m_end *e, struct oae_actions *a)
{
	struct oae_ways p = m_ways(e);

	if (e->way.gen == e->gw.gen)
		return false;
	oae_way_update(&e->way, &p, &e->link, M_NOW, a);
	return true;
}

/**
 * m_way_late() - has an OPEN end probed twice without an answer?
 * @l: its link
 *
 * Return: true if so.
 */
bool m_way_late(const struct oae_link *l)
{
	return l->state == OAE_OPEN && l->asked_at &&
	       l->asked_at <= M_NOW - M_LATE;
}

/**
 * m_way_heard() - a frame comes, and may turn the way
 * @w: the world
 * @who: at which end
 * @ev: the event
 *
 * Return: false if the frame is dropped.
 */
bool m_way_heard(struct m_world *w, unsigned int who, struct h_event *ev)
{
	struct m_end *e = &w->end[who];
	const struct oae_frame *f = ev->f;
	bool via = e->way.via, came = f->flags & OAE_F_VIA;
	bool lost = e->way.lost || m_way_late(&e->link);
	u32 own = e->link.ltag, peer = e->link.peer.ltag;
	struct oae_ways p = m_ways(e);
	enum oae_go go;

	if (oae_way_is_usual(&e->way, f))
		return true;
	go = oae_way_heard(&e->way, &p, &e->link, f, M_NOW, ev->a);
	if (e->way.via != via) {
		if (e->way.via != came)
			m_fail(w, 0, "4.8: the way turns to where nothing came from");
		if (f->dst_ltag != own)
			m_fail(w, 0, "4.8: a frame that does not name its ltag turns the way");
		if (came && !lost && f->src_ltag != peer)
			m_fail(w, 0, "4.8: a frame through the gateway that names one ltag turns a way that is not lost");
	}
	e->goes_via = go == OAE_GO_VIA;
	h_ops(ev);
	return go != OAE_GO_NOWHERE;
}

/**
 * m_way_timer() - before the link's timer: the other way may be tried
 * @e: the end
 * @a: actions of the event
 */
void m_way_timer(struct m_end *e, struct oae_actions *a)
{
	struct oae_ways p = m_ways(e);

	oae_way_timer(&e->way, &p, &e->link, M_NOW, a);
	e->goes_via = e->way.via;
}

/* --- what 4.8 promises --- */

/**
 * m_check_sent() - a frame goes out
 * @w: the world
 * @who: from which end
 * @f: the frame
 */
void m_check_sent(struct m_world *w, unsigned int who, const struct oae_frame *f)
{
	const struct m_end *e = &w->end[who];

	if (m_is_sync(f->opcode) && f->sync.mtu != e->link.mtu.here)
		m_fail(w, 0, "4.8: a SYNC does not say what its sender's way carries");
	if (!e->goes_via)
		return;
	if (!e->gw.known)
		m_fail(w, 0, "4.8: sent through a gateway that is not there");
	if (w->impostor)
		m_fail(w, 0, "4.8: whoever says that it is a gateway is answered, and the peer is heard direct");
}

/**
 * m_check_way() - what must be so after every event
 * @w: the world
 * @who: of which end, with a tag
 */
void m_check_way(struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	/* It follows at its next event. */
	if (e->way.gen != e->gw.gen)
		return;
	if (e->way.via && !e->gw.known)
		m_fail(w, 0, "4.8: the way is through a gateway that is not there");
	if (e->link.mtu.here != (e->way.via ? M_MTU_VIA : M_MTU_WIDE))
		m_fail(w, 0, "4.8: the link does not know what its way carries");
}
