// SPDX-License-Identifier: GPL-2.0
/*
 * Ways: the choice of a port's gateway, and the way of a tag's frames: direct to the
 * peer, or through that gateway (doc/protocol.md section 4.8).
 *
 * Pure: records and frames go in, verdicts come out. A tag stays the same whichever
 * way its frames go; its link only learns the MTU.
 */
#include "link_int.h"
#include "way.h"

#define HELLO_UNIT_NS	100000000ULL	/* of life and node_life */
#define ASK_EACH_WAY	2		/* SYNCs, then the other way is tried */

/* The least MTU of a gateway, and of a port that uses one. */
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
 * oae_gw_changed() - make the tags of the port look at the gateway again
 * @gw: the gateway of the port, known or not
 */
void oae_gw_changed(struct oae_gw *gw)
{
	WRITE_ONCE(gw->gen, gw->gen + 1);
}

/* Forget what was learned; the address from the knob nhmac stays. */
static void way_gw_forget(struct oae_gw *gw)
{
	gw->known = gw->told;
	gw->mtu = 0;
	gw->inc = 0;
	gw->answered = 0;
	oae_gw_changed(gw);
}

/**
 * oae_gw_tell() - set the gateway by the knob nhmac
 * @gw: the gateway
 * @mac: its address; all zeros: learn the first that sends HELLO
 */
void oae_gw_tell(struct oae_gw *gw, const u8 *mac)
{
	bool same = gw->known && way_same_mac(gw->mac, mac);

	gw->told = !way_is_zero(mac);
	if (gw->told && !same)
		memcpy(gw->mac, mac, OAE_MAC_LEN);
	/* The facts learned of the gateway stay valid if its address stays. */
	if (gw->told ? !same : !gw->inc)
		way_gw_forget(gw);
	oae_gw_changed(gw);
}

/**
 * oae_gw_spoken() - record that this port sends a HELLO to its gateway
 * @gw: the gateway, known or not
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
 * oae_hello_check() - is a HELLO that of a gateway, and well-formed?
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
	/* ABOUT: the MTU is that for one peer. */
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
 * oae_gw_hear() - handle the HELLO of a gateway
 * @gw: the port's gateway
 * @from: the Ethernet source
 * @f: the frame, GOOD by oae_hello_check()
 * @now: ns
 * @answer: set if the gateway is to be sent a HELLO
 *
 * The sender is taken if it is the port's gateway. It becomes that if the port has
 * none, or if the one that was learned is silent; one that nhmac names stays.
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

/* Received frames, and frames that belong to no tag */

/**
 * oae_ways_gateway() - can frames go through the gateway?
 * @p: the port's ways
 *
 * A port whose MTU is below GW_MIN_MTU uses no gateway.
 *
 * Return: true if a gateway is known.
 */
bool oae_ways_gateway(const struct oae_ways *p)
{
	return p->gw.known && p->mtu >= GW_MIN_MTU;
}

/**
 * oae_ways_has() - do frames go by this way?
 * @p: the port's ways
 * @via: through its gateway; else direct
 *
 * Return: true if use_gw permits it, and there is a gateway if one is needed.
 */
bool oae_ways_has(const struct oae_ways *p, bool via)
{
	return via ? p->use != OAE_GW_NEVER && oae_ways_gateway(p) : p->use != OAE_GW_ALWAYS;
}

/**
 * oae_ways_let_in() - is a frame with VIA let in?
 * @p: the port's ways
 * @own: the port's address
 * @from: the Ethernet source
 * @f: the frame
 *
 * Return: true if the port's gateway sent the frame, for this port.
 */
bool oae_ways_let_in(const struct oae_ways *p, const u8 *own, const u8 *from,
		     const struct oae_frame *f)
{
	return p->use != OAE_GW_NEVER && oae_ways_gateway(p) &&
	       way_same_mac(p->gw.mac, from) && way_same_mac(f->via, own);
}

/**
 * oae_ways_back() - the way to answer a frame that belongs to no tag
 * @p: the ways of the port that received the frame
 * @question: the frame
 *
 * The answer takes the way that the frame came by, unless use_gw prescribes one.
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
 * oae_via_mark() - add the VIA extension to a frame (protocol 2.1)
 * @f: the frame
 * @own: address of the original source
 * @peer: address of the final destination
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

/**
 * oae_way_mtu() - what a way carries
 * @w: the way: direct, or through the gateway
 * @p: the port's ways
 *
 * Return: bytes behind the Ethernet header, VIA not counted.
 */
u16 oae_way_mtu(const struct oae_way *w, const struct oae_ways *p)
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

/*
 * Update w->usual. While SYNCs are unanswered, or the way is not the one wished for,
 * every frame may change the way.
 */
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
	return oae_way_mtu(w, p);
}

/**
 * oae_way_begin() - set the way that a link begins with
 * @w: the way of its tag
 * @p: the port's ways
 * @via: with use_gw auto: begin through the gateway, as the SYNC came that way
 *
 * Return: the MTU of the way, bytes.
 */
u16 oae_way_begin(struct oae_way *w, const struct oae_ways *p, bool via)
{
	w->wish = via;
	w->asked = 0;
	w->lost = false;
	return way_find(w, p);
}

/**
 * oae_way_refresh() - find a tag's way anew, while the link goes by another path (4.14)
 * @w: the way of the tag
 * @p: the port's ways
 *
 * Return: the MTU of the way, bytes, which is not the link's.
 */
u16 oae_way_refresh(struct oae_way *w, const struct oae_ways *p)
{
	bool before = w->via;
	u16 mtu = way_find(w, p);

	if (w->via != before) {
		w->asked = 0;
		way_usual(w);
	}
	return mtu;
}

/**
 * oae_way_update() - find a tag's way anew, after a change of the port's ways
 * @w: the way of the tag
 * @p: the port's ways
 * @l: the tag's link; freezes if it is OPEN and the MTU changes
 * @now: ns
 * @a: actions of the link
 */
void oae_way_update(struct oae_way *w, const struct oae_ways *p,
		    struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_link_set_mtu(l, oae_way_refresh(w, p), now, a);
}

/*
 * Is the way lost: was the peer asked twice by the tag's way, without an answer? As
 * long as the way is not lost, frames by the other way need a proof (protocol 4.8).
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
	       (s64)(now - l->asked_at - again) >= (s64)oae_link_pto(l);
}

static bool way_is_sync(u8 opcode)
{
	return opcode == OAE_SYNC || opcode == OAE_SYNC_ACK ||
	       opcode == OAE_SYNC_CHK;
}

/* The peer was heard by this way: the tag uses it from now on. */
static void way_is_good(struct oae_way *w, const struct oae_ways *p, bool via,
			struct oae_link *l, u64 now, struct oae_actions *a)
{
	w->asked = 0;
	w->lost = false;
	if (p->use == OAE_GW_AUTO)
		w->wish = via;
	if (w->aside)
		way_find(w, p);
	else
		oae_way_update(w, p, l, now, a);
}

/**
 * oae_way_heard() - update a tag's way for a received frame (protocol 4.8)
 * @w: the way of the tag
 * @p: the port's ways
 * @l: the tag's link, not CLOSED, which gets the frame after this
 * @f: the frame: it came by another way than the tag's, or a SYNC is unanswered
 * @now: ns
 * @a: actions of the link
 *
 * With use_gw auto the tag follows a frame that names both ltags, which only the peer
 * knows. It also follows a frame that names this end's ltag, if the tag's way is lost,
 * or if the frame came direct, from the peer's own address.
 *
 * A false gateway can claim that the peer is behind it. So as long as the peer is heard
 * direct, a SYNC through the gateway is answered direct if it names this end's ltag, and
 * otherwise dropped, since the answer would show the ltag. A SYNC that comes direct is
 * always answered direct.
 *
 * Return: the way for the frames of this event; OAE_GO_NOWHERE: drop the frame.
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
	if (mine && (lost || !came || f->src_ltag == l->peer.ltag)) {
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
 * oae_way_asked() - count the SYNCs that an event sends
 * @w: the way of the tag, whose link is frozen or CLOSED
 * @a: actions of the event
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
 * oae_way_timer() - try the other way, after SYNCs in vain (protocol 4.8)
 * @w: the way of its tag
 * @p: the port's ways
 * @l: the link, before its timer is handled
 * @now: ns
 * @a: actions of the link
 *
 * With use_gw auto a link whose SYNCs were not answered, and that is about to send
 * another, turns to the other way, if there is one. This is done before the SYNC is
 * built, since a SYNC has the way's MTU.
 */
void oae_way_timer(struct oae_way *w, const struct oae_ways *p,
		   struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (w->asked < ASK_EACH_WAY || now < l->again_at || !oae_frozen(l))
		return;
	w->lost = true;
	way_usual(w);
	if (p->use != OAE_GW_AUTO || !oae_ways_gateway(p))
		return;
	w->wish = !w->via;
	if (w->aside)
		oae_way_refresh(w, p);
	else
		oae_way_update(w, p, l, now, a);
}
