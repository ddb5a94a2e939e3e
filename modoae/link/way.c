// SPDX-License-Identifier: GPL-2.0
/*
 * Ways: whom a port takes for its gateway, and which way the frames of a tag go,
 * straight to the peer or through that gateway (doc/protocol.md section 4.8).
 *
 * Pure: records and frames go in, verdicts come out. A tag is the same tag
 * whichever way it goes; its link hears of nothing but an MTU.
 */
#include "link_int.h"
#include "way.h"

#define HELLO_UNIT_NS	100000000ULL	/* of life and node_life */
#define ASK_EACH_WAY	2		/* SYNCs, then the other way is tried */

/* What every gateway can carry, or it is none. */
#define GW_MIN_MTU	(OAE_MIN_MTU + OAE_VIA_LEN)

static bool way_same_mac(const u8 *a, const u8 *b)
{
	return !memcmp(a, b, OAE_MAC_LEN);
}

static bool way_is_zero(const u8 *mac)
{
	static const u8 zero[OAE_MAC_LEN];

	return way_same_mac(mac, zero);
}

static bool way_is_unicast(const u8 *mac)
{
	return !(mac[0] & 1) && !way_is_zero(mac);
}

/* The gateway of a port */

/**
 * oae_gw_changed() - what the tags of the port have found of it is void
 * @gw: the gateway, or the lack of one
 */
void oae_gw_changed(struct oae_gw *gw)
{
	WRITE_ONCE(gw->gen, gw->gen + 1);
}

/* Nothing is known but what was told. */
static void way_gw_forget(struct oae_gw *gw)
{
	gw->known = gw->told;
	gw->mtu = 0;
	gw->inc = 0;
	gw->answered = 0;
	oae_gw_changed(gw);
}

/**
 * oae_gw_tell() - the knob nhmac says which it is
 * @gw: the gateway
 * @mac: its address; all zeros: the first that says HELLO
 */
void oae_gw_tell(struct oae_gw *gw, const u8 *mac)
{
	bool same = gw->known && way_same_mac(gw->mac, mac);

	gw->told = !way_is_zero(mac);
	if (gw->told && !same)
		memcpy(gw->mac, mac, OAE_MAC_LEN);
	/* What was heard of the one that is told stays good. */
	if (gw->told ? !same : !gw->inc)
		way_gw_forget(gw);
	oae_gw_changed(gw);
}

/**
 * oae_gw_spoken() - this port says HELLO to its gateway
 * @gw: the gateway; without one nothing is said
 * @flags: OAE_HELLO_* of the HELLO
 * @now: ns
 */
void oae_gw_spoken(struct oae_gw *gw, u8 flags, u64 now)
{
	gw->answered = flags & OAE_HELLO_LEAVING ? 0 : gw->inc;
	gw->answered_at = now;
}

static bool way_well_formed(const u8 *from, const struct oae_frame *f)
{
	u8 flags = f->hello.flags;

	if (flags & ~OAE_HELLO_ALL || !way_is_unicast(from) || !f->hello.zone ||
	    !f->hello.inc)
		return false;
	if (flags & OAE_HELLO_LEAVING)
		return true;
	if (flags & OAE_HELLO_ABOUT && !way_is_unicast(f->hello.about))
		return false;
	return f->hello.life && f->hello.mtu >= GW_MIN_MTU;
}

/**
 * oae_hello_check() - is a HELLO a gateway's?
 * @own: the port's address
 * @from: the Ethernet source
 * @f: the frame
 *
 * Return: OAE_HELLO_NOT_TAKEN, OAE_HELLO_BAD or OAE_HELLO_GOOD.
 */
enum oae_hello oae_hello_check(const u8 *own, const u8 *from,
			       const struct oae_frame *f)
{
	if (!(f->hello.flags & OAE_HELLO_GATEWAY) || f->flags & OAE_F_VIA ||
	    way_same_mac(from, own))
		return OAE_HELLO_NOT_TAKEN;
	return way_well_formed(from, f) ? OAE_HELLO_GOOD : OAE_HELLO_BAD;
}

static bool way_gw_silent(const struct oae_gw *gw, u64 now)
{
	return (s64)(now - gw->heard - gw->life) > 0;
}

static bool way_gw_wants_answer(const struct oae_gw *gw, const struct oae_frame *f,
				u64 now)
{
	u64 life = f->hello.node_life * HELLO_UNIT_NS;

	return f->hello.flags & OAE_HELLO_ASK || gw->answered != gw->inc ||
	       3 * (now - gw->answered_at) > life;
}

static void way_gw_learn(struct oae_gw *gw, const struct oae_frame *f, u64 now)
{
	/* Of one peer alone: of the others it says nothing new. */
	u16 mtu = f->hello.flags & OAE_HELLO_ABOUT ? gw->mtu : f->hello.mtu;

	if (gw->inc != f->hello.inc || gw->epoch != f->hello.epoch ||
	    gw->mtu != mtu)
		oae_gw_changed(gw);
	gw->inc = f->hello.inc;
	gw->epoch = f->hello.epoch;
	gw->mtu = mtu;
	gw->heard = now;
	gw->life = f->hello.life * HELLO_UNIT_NS;
}

/**
 * oae_gw_hear() - a gateway says HELLO
 * @gw: the port's
 * @from: the Ethernet source
 * @f: the frame, GOOD by oae_hello_check()
 * @now: ns
 * @answer: out: it wants to hear of this port
 *
 * Only one that is the port's is listened to, or becomes it: if there is none, or
 * the one that was heard, not told, is silent.
 *
 * Return: OAE_HELLO_NOT_TAKEN, OAE_HELLO_TAKEN, OAE_HELLO_NEWS or
 * OAE_HELLO_LEFT.
 */
enum oae_hello oae_gw_hear(struct oae_gw *gw, const u8 *from,
			   const struct oae_frame *f, u64 now, bool *answer)
{
	bool leaving = f->hello.flags & OAE_HELLO_LEAVING;
	bool same = gw->known && way_same_mac(gw->mac, from);
	u32 inc = gw->inc;

	*answer = false;
	if (leaving) {
		if (!same || f->hello.inc != inc)
			return OAE_HELLO_NOT_TAKEN;
		way_gw_forget(gw);
		return OAE_HELLO_LEFT;
	}
	if (!same) {
		if (gw->told || (gw->known && !way_gw_silent(gw, now)))
			return OAE_HELLO_NOT_TAKEN;
		way_gw_forget(gw);
		memcpy(gw->mac, from, OAE_MAC_LEN);
		gw->known = true;
	}
	way_gw_learn(gw, f, now);
	*answer = way_gw_wants_answer(gw, f, now);
	return !same || inc != gw->inc ? OAE_HELLO_NEWS : OAE_HELLO_TAKEN;
}

/* Frames of no tag, and those that come in */

/**
 * oae_ways_gateway() - can frames go through the gateway?
 * @p: the port's ways
 *
 * A port that cannot carry the smallest frame with VIA goes without.
 *
 * Return: true if one is known.
 */
bool oae_ways_gateway(const struct oae_ways *p)
{
	return p->gw.known && p->mtu >= GW_MIN_MTU;
}

/**
 * oae_ways_let_in() - may a frame with VIA come in?
 * @p: the port's ways
 * @own: its address
 * @from: the Ethernet source
 * @f: the frame
 *
 * Return: true if the port's gateway sent it, for this port.
 */
bool oae_ways_let_in(const struct oae_ways *p, const u8 *own, const u8 *from,
		     const struct oae_frame *f)
{
	return p->use != OAE_GW_NEVER && oae_ways_gateway(p) &&
	       way_same_mac(p->gw.mac, from) && way_same_mac(f->via, own);
}

/**
 * oae_ways_back() - the way to answer a frame that belongs to no tag
 * @p: the ways of the port where it came in
 * @question: the frame
 *
 * It goes back the way that the frame came, unless use_gw says which.
 *
 * Return: the way, or OAE_GO_NOWHERE.
 */
enum oae_go oae_ways_back(const struct oae_ways *p,
			  const struct oae_frame *question)
{
	if (p->use == OAE_GW_NEVER ||
	    (p->use == OAE_GW_AUTO && !(question->flags & OAE_F_VIA)))
		return OAE_GO_DIRECT;
	return oae_ways_gateway(p) ? OAE_GO_VIA : OAE_GO_NOWHERE;
}

/**
 * oae_via_mark() - give a frame the extension for its way through the gateway
 * @f: the frame
 * @own: the address that it comes from
 * @peer: the one that it is for
 */
void oae_via_mark(struct oae_frame *f, const u8 *own, const u8 *peer)
{
	f->flags |= OAE_F_VIA;
	memcpy(f->via, peer, OAE_MAC_LEN);
	memcpy(f->via + OAE_MAC_LEN, own, OAE_MAC_LEN);
}

/* The way of a tag */

static enum oae_go way_goes(const struct oae_way *w)
{
	return w->via ? OAE_GO_VIA : OAE_GO_DIRECT;
}

/* What it carries, VIA not counted. */
static u16 way_mtu(const struct oae_way *w, const struct oae_ways *p)
{
	unsigned int mtu = p->mtu, most = p->gw.mtu;

	if (w->via) {
		if (w->about.mtu && w->about.inc == p->gw.inc &&
		    w->about.epoch == p->gw.epoch)
			most = w->about.mtu;
		if (most && most < mtu)
			mtu = most;
		mtu = mtu > OAE_VIA_LEN ? mtu - OAE_VIA_LEN : 0;
	}
	if (mtu < OAE_MIN_MTU)
		return OAE_MIN_MTU;
	return mtu > 0xffff ? 0xffff : mtu;
}

/* While it asks, or goes another way than it would, every frame may change it. */
static void way_usual(struct oae_way *w)
{
	if (w->asked || w->lost || w->wish != w->via)
		w->usual = 0xff & ~OAE_F_VIA;
	else
		w->usual = w->via ? OAE_F_VIA : 0;
}

static u16 way_find(struct oae_way *w, const struct oae_ways *p)
{
	w->gen = p->gw.gen;
	if (p->use != OAE_GW_AUTO)
		w->wish = p->use == OAE_GW_ALWAYS;
	w->via = w->wish && (p->use == OAE_GW_ALWAYS || oae_ways_gateway(p));
	way_usual(w);
	return way_mtu(w, p);
}

/**
 * oae_way_begin() - the way that a link begins with
 * @w: the way of its tag
 * @p: the port's ways
 * @via: with use_gw auto, through the gateway: that way came what it answers
 *
 * Return: the link's MTU.
 */
u16 oae_way_begin(struct oae_way *w, const struct oae_ways *p, bool via)
{
	w->wish = via;
	w->asked = 0;
	w->lost = false;
	return way_find(w, p);
}

/**
 * oae_way_update() - find the way anew: the port's have changed, maybe
 * @w: the way of a tag
 * @p: the port's ways
 * @l: its link; an OPEN one whose MTU changes freezes
 * @now: ns
 * @a: actions of the link
 */
void oae_way_update(struct oae_way *w, const struct oae_ways *p,
		    struct oae_link *l, u64 now, struct oae_actions *a)
{
	bool before = w->via;
	u16 mtu = way_find(w, p);

	if (w->via != before) {
		w->asked = 0;
		way_usual(w);
	}
	oae_link_set_mtu(l, mtu, now, a);
}

/*
 * Has nothing been heard of the peer by the way that the tag goes, though it was
 * asked more than once? Until then nobody is listened to who is elsewhere.
 */
static bool way_lost(const struct oae_way *w, const struct oae_link *l, u64 now)
{
	u64 again = l->cfg->dead / 4;

	if (again > l->cfg->keepalive)
		again = l->cfg->keepalive;
	if (w->lost)
		return true;
	/* Two probes, and the time for an answer to the second. */
	return l->state == OAE_OPEN && l->asked_at &&
	       (s64)(now - l->asked_at - again) >= (s64)oae_link_stall(l);
}

static bool way_is_sync(u8 opcode)
{
	return opcode == OAE_SYNC || opcode == OAE_SYNC_ACK ||
	       opcode == OAE_SYNC_CHK;
}

/* The peer is heard by the way that the tag goes from now on. */
static void way_is_good(struct oae_way *w, const struct oae_ways *p, bool via,
			struct oae_link *l, u64 now, struct oae_actions *a)
{
	w->asked = 0;
	w->lost = false;
	if (p->use == OAE_GW_AUTO)
		w->wish = via;
	oae_way_update(w, p, l, now, a);
}

/**
 * oae_way_heard() - a frame came that is not as usual
 * @w: the way of its tag
 * @p: the port's ways
 * @l: the tag's link, not CLOSED, that is to have the frame after this
 * @f: the frame: it came another way than the tag goes, or SYNCs are out
 * @now: ns
 * @a: actions of the link
 *
 * With use_gw auto the tag follows a frame that names both its ltags, which only
 * the peer knows; or its own one, if the way that it goes is lost, or if the frame
 * came direct, from the peer's own address. Whoever says that it is a gateway may
 * say that the peer is behind it. So as long as the peer is heard direct, a SYNC
 * through the gateway is answered direct, if it names this end's ltag, and else
 * not at all: the answer would tell the ltag. A SYNC that comes direct is answered
 * direct in any case.
 *
 * Return: the way of what is sent now; OAE_GO_NOWHERE: drop the frame.
 */
enum oae_go oae_way_heard(struct oae_way *w, const struct oae_ways *p,
			  struct oae_link *l, const struct oae_frame *f,
			  u64 now, struct oae_actions *a)
{
	bool mine = f->dst_ltag == l->ltag;
	bool came = f->flags & OAE_F_VIA;
	bool lost = way_lost(w, l, now);

	if (came == w->via || p->use != OAE_GW_AUTO) {
		if (mine)
			way_is_good(w, p, came, l, now, a);
		return way_goes(w);
	}
	if (mine && (lost || !came || f->src_ltag == l->peer_ltag)) {
		way_is_good(w, p, came, l, now, a);
		return way_goes(w);
	}
	if (!way_is_sync(f->opcode))
		return way_goes(w);
	if (lost || !came)
		return came ? OAE_GO_VIA : OAE_GO_DIRECT;
	if (mine || f->opcode != OAE_SYNC)
		return way_goes(w);
	oae_note(a, OAE_N_STALE_SYNC);
	return OAE_GO_NOWHERE;
}

/**
 * oae_way_asked() - an event has left a link frozen, or CLOSED
 * @w: the way of its tag
 * @a: what is sent now
 */
void oae_way_asked(struct oae_way *w, const struct oae_actions *a)
{
	unsigned int i;

	for (i = 0; i < a->nsends; i++)
		if (a->send[i].frame.opcode == OAE_SYNC &&
		    w->asked < ASK_EACH_WAY)
			w->asked++;
	way_usual(w);
}

/**
 * oae_way_tries() - has a link asked in vain, and is about to ask again?
 * @w: the way of its tag
 * @l: the link
 * @now: ns
 *
 * Return: true if oae_way_timer() is due.
 */
bool oae_way_tries(const struct oae_way *w, const struct oae_link *l, u64 now)
{
	return w->asked >= ASK_EACH_WAY && now >= l->again_at && oae_frozen(l);
}

/**
 * oae_way_timer() - a link's timer is about to be dealt with
 * @w: the way of its tag
 * @p: the port's ways
 * @l: the link
 * @now: ns
 * @a: actions of the link
 *
 * With use_gw auto a link that has asked in vain asks the other way, as long
 * as there is one. Before the SYNC is built, since it says an MTU.
 */
void oae_way_timer(struct oae_way *w, const struct oae_ways *p,
		   struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!oae_way_tries(w, l, now))
		return;
	w->lost = true;
	way_usual(w);
	if (p->use != OAE_GW_AUTO || !oae_ways_gateway(p))
		return;
	w->wish = !w->via;
	oae_way_update(w, p, l, now, a);
}
