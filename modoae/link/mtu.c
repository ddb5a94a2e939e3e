// SPDX-License-Identifier: GPL-2.0
/*
 * What a path carries (doc/protocol.md section 4.17): the smaller of what the ports at both ends
 * say, or less, if frames of that length do not get through. That is asked by frames of several
 * lengths, as RFC 8899 has it; when, and of which, is in doc/architecture.md, *What a path
 * carries*. Pure, see link.h.
 *
 * Each size is asked by two ASK, a long one and a short one behind it. The answer to the short
 * one says whether the long one was heard, so that no time is waited for.
 */
#include "link_int.h"

#define MTU_LONGS	9	/* long frames lost in a row until it is asked */
#define MTU_ALONE	3	/* one that was alone is as many; of one answer no more are */
#define MTU_SHORT	1	/* payload of the short one, bytes: else it is no probe */

/**
 * oae_link_mtu() - what this end can send by the path in use, as its SYNC says
 * @l: the link; without its lock the result is a hint
 *
 * Return: bytes behind the Ethernet header.
 */
u16 oae_link_mtu(const struct oae_link *l)
{
	u16 mtu = READ_ONCE(l->mtu.here), pmtu = READ_ONCE(l->mtu.path);

	return pmtu >= OAE_MIN_MTU && pmtu < mtu ? pmtu : mtu;
}

static u16 mtu_both(const struct oae_link *l, u16 here)
{
	u16 there = READ_ONCE(l->mtu.there);

	return there && there < here ? there : here;
}

/**
 * oae_link_slice_max() - the longest slice that both ends can carry
 * @l: the link; without its lock the result is a hint
 *
 * Return: bytes of payload in one frame.
 */
u16 oae_link_slice_max(const struct oae_link *l)
{
	return mtu_both(l, oae_link_mtu(l)) - OAE_HDR_LEN;
}

/**
 * oae_link_port_max() - the longest slice that may be carried some time
 * @l: the link; without its lock the result is a hint
 *
 * The port of the path in use carries as much, or another one did.
 *
 * Return: bytes of payload in one frame.
 */
u16 oae_link_port_max(const struct oae_link *l)
{
	u16 port = READ_ONCE(l->mtu.here) - OAE_HDR_LEN, most = READ_ONCE(l->mtu.most);

	return most > port ? most : port;
}

/**
 * oae_link_cut() - length of the slices of a transaction (protocol 4.1)
 * @l: the link; without its lock the result is a hint
 * @kind: OAE_MESSAGE, OAE_SWAP or OAE_VERB; only a message is cut
 * @len: its bytes
 *
 * If a message is too long for the path in use it is cut for the port: it waits for another path.
 *
 * Return: bytes of payload in one frame.
 */
u16 oae_link_cut(const struct oae_link *l, u8 kind, u32 len)
{
	u16 max = oae_link_slice_max(l);

	return oae_kind_is(kind, OAE_T_CUT) && len > max * OAE_MAX_SLICES ?
	       oae_link_port_max(l) : max;
}

/* The longest payload of a frame for what is not cut, offer and answer, bytes. */
static u32 mtu_longest(const struct oae_post *p)
{
	u32 reply = p->kind == OAE_SWAP ? p->len : p->reply;

	if (!oae_kind_is(p->kind, OAE_T_ANSWER))
		return p->len;
	return p->len > reply + OAE_REFLECT_LEN ? p->len : reply + OAE_REFLECT_LEN;
}

static bool mtu_fits(const struct oae_post *p, u32 max)
{
	if (oae_kind_is(p->kind, OAE_T_ANSWER))
		return oae_post_several(p) || mtu_longest(p) <= max;
	return !oae_kind_is(p->kind, OAE_T_CUT) || p->len <= max * OAE_MAX_SLICES;
}

/**
 * oae_mtu_fits() - can a post be carried, in frames of the length that gets through?
 * @l: the link
 * @p: the post; what is of several is made anew, and always fits
 *
 * Return: false if a half, or a verb, or its answer is longer than a frame; or a message than
 * OAE_MAX_SLICES of them.
 */
bool oae_mtu_fits(const struct oae_link *l, const struct oae_post *p)
{
	return mtu_fits(p, oae_link_slice_max(l));
}

/**
 * oae_mtu_waits() - may what does not fit be carried soon?
 * @l: the link
 * @p: the post, which is next
 * @now: ns
 *
 * EMSGSIZE is for good, and a link heals by itself. So it waits for the dead time, if it was
 * carried ever. Then it is known that it is not.
 *
 * Return: true if so.
 */
bool oae_mtu_waits(struct oae_link *l, const struct oae_post *p, u64 now)
{
	if (!mtu_fits(p, l->mtu.most))
		return false;
	if (!l->mtu.too_long_at)
		l->mtu.too_long_at = now;
	if (now - l->mtu.too_long_at < l->cfg->dead)
		return true;
	l->mtu.most = oae_link_slice_max(l);
	return false;
}

/**
 * oae_mtu_several() - may what is of several be offered as it is (protocol 4.12)?
 * @l: the link, OPEN
 * @p: a pack, or joined verbs
 *
 * Return: false if the peer takes no packs, or nothing of that length, or if frames of that
 * length do not get through.
 */
bool oae_mtu_several(const struct oae_link *l, const struct oae_post *p)
{
	return (l->peer.packs || p->kind != OAE_PACK) && p->len <= l->peer.max_len &&
	       mtu_longest(p) <= oae_link_slice_max(l);
}

/**
 * oae_link_join_max() - how long may joined verbs be that are posted now, and the answer?
 * @l: the link
 *
 * Return: bytes of payload in one frame; 0 if none may be posted.
 */
u32 oae_link_join_max(const struct oae_link *l)
{
	u32 max = oae_link_slice_max(l);

	if (l->state != OAE_OPEN || !l->cfg->pack)
		return 0;
	return max < l->peer.max_len ? max : l->peer.max_len;
}

/**
 * oae_link_pack_max() - how long may a pack be that is posted now?
 * @l: the link
 *
 * Return: bytes; 0 if none may be posted.
 */
u32 oae_link_pack_max(const struct oae_link *l)
{
	return l->peer.packs ? oae_link_join_max(l) : 0;
}

/**
 * oae_mtu_forget() - what did not get through may do now: another port, path or peer
 * @l: the link
 */
void oae_mtu_forget(struct oae_link *l)
{
	l->mtu.path = 0;
	l->mtu.search = 0;
	l->mtu.longs = 0;
}

/**
 * oae_mtu_changed() - the link carries another length, perhaps
 * @l: the link, OPEN
 */
void oae_mtu_changed(struct oae_link *l)
{
	u16 max = oae_link_slice_max(l);

	if (l->mtu.most < max)
		l->mtu.most = max;
}

/* Ask something that changes nothing: what the peer has of tx + 1. */
static u32 mtu_ask(struct oae_link *l, u16 length, struct oae_actions *a)
{
	const struct oae_lane *n = oae_first_lane(l);
	struct oae_send *s = oae_send(l, a, OAE_ASK);
	bool out = n->state == OAE_OFFER_OUT && n->offered;

	s->frame.seq = l->tx + 1;
	s->frame.kind = out ? n->p.kind : OAE_MESSAGE;
	if (out && oae_post_express(&n->p))
		s->frame.flags |= OAE_F_EXPRESS;
	s->frame.length = length;
	return s->frame.pn;
}

/* Has this event room for the two? What else it sends counts with them. */
static bool mtu_has_room(const struct oae_actions *a)
{
	return a->nsends < 2;
}

/* Ask whether this size gets through. */
static u32 mtu_probe(struct oae_link *l, struct oae_actions *a)
{
	u32 pn;

	/* Whatever a state says. */
	if (l->mtu.search < OAE_MIN_MTU)
		l->mtu.search = OAE_MIN_MTU;
	pn = mtu_ask(l, l->mtu.search - OAE_HDR_LEN, a);
	mtu_ask(l, MTU_SHORT, a);
	return pn;
}

static void mtu_search(struct oae_link *l, u16 from, struct oae_actions *a)
{
	l->mtu.search = from;
	l->mtu.tries = 0;
	l->mtu.search_pn[0] = mtu_probe(l, a);
}

/**
 * oae_mtu_doubt() - does the path drop what is long? Ask it, or go on asking
 * @l: the link, OPEN
 * @a: actions
 */
void oae_mtu_doubt(struct oae_link *l, struct oae_actions *a)
{
	if (!mtu_has_room(a))
		return;
	/* The first two may be answered yet: what is asked for counts from them. */
	if (l->mtu.search)
		mtu_probe(l, a);
	else
		mtu_search(l, mtu_both(l, oae_link_mtu(l)), a);
}

/**
 * oae_mtu_lost() - the peer has heard nothing long of what was sent of tx + 1
 * @l: the link, OPEN
 * @p: what was sent
 * @lost: how many frames of that
 * @a: actions
 */
void oae_mtu_lost(struct oae_link *l, const struct oae_post *p, unsigned int lost,
		  struct oae_actions *a)
{
	if (l->mtu.search || p->slice_max <= OAE_MIN_SLICE)
		return;
	if (l->mtu.longs < MTU_LONGS)
		l->mtu.longs += p->nslices == 1 || lost > MTU_ALONE ? MTU_ALONE : lost;
	if (l->mtu.longs >= MTU_LONGS)
		oae_mtu_doubt(l, a);
}

/**
 * oae_mtu_found() - it is known what the path in use carries
 * @l: the link, OPEN
 * @mtu: the longest frame that got through, bytes behind the Ethernet header
 * @now: ns
 * @a: actions
 *
 * (That both ends say less is no reason to stay: each asks for what its port carries.)
 *
 * Return: true if that is another length: the caller freezes the link, so that the peer learns of
 * it, and what is offered is cut anew.
 */
bool oae_mtu_found(struct oae_link *l, u16 mtu, u64 now, struct oae_actions *a)
{
	u16 was = oae_link_mtu(l);

	l->mtu.search = 0;
	l->mtu.longs = 0;
	if (mtu == mtu_both(l, was))
		return false;
	l->mtu.path = mtu < l->mtu.here ? mtu : 0;
	l->mtu.path_at = now;
	if (oae_link_mtu(l) == was)
		return false;
	if (oae_link_mtu(l) < was)
		oae_note(a, OAE_N_CUT);
	return true;
}

/* This size does not get through: what is the next smaller one? 0: there is none. */
static u16 mtu_next(const struct oae_link *l, u16 mtu)
{
	static const u16 usual[] = { 1500, 1400, 1280, 576, 256, OAE_MIN_MTU };
	unsigned int i = 0;

	if (mtu <= OAE_MIN_MTU)
		return 0;
	while (usual[i] >= mtu)
		i++;
	/* What the peer says that it carries is one, too. */
	return l->mtu.there < mtu && l->mtu.there > usual[i] ? l->mtu.there : usual[i];
}

/* Was a long one of this size heard? It may have been overtaken by more than the short one. */
static bool mtu_gets_through(const struct oae_link *l, const struct oae_frame *f)
{
	unsigned int i;
	s32 back;

	for (i = 0; i <= l->mtu.tries; i++) {
		back = oae_dist(l->mtu.search_pn[i], f->ack);
		if (back <= OAE_NUMBER_MAP && oae_number_heard(f, l->mtu.search_pn[i]))
			return true;
	}
	return false;
}

/**
 * oae_mtu_heard() - an answer has come: does it say that a size gets through?
 * @l: the link, OPEN, with a search under way
 * @f: the answer
 * @now: ns
 * @a: actions
 *
 * It says something only if the short one was heard, or the long one; else both are sent once
 * more. That a size does not get through is progress (protocol 4.4).
 *
 * Return: true if another length gets through: the caller freezes the link.
 */
bool oae_mtu_heard(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a)
{
	s32 after;
	u32 pn;

	/* Whatever a state says. */
	l->mtu.tries %= OAE_MTU_TRIES;
	if (mtu_gets_through(l, f))
		return oae_mtu_found(l, l->mtu.search, now, a);
	pn = l->mtu.search_pn[l->mtu.tries] + 1;
	after = oae_dist(pn, f->ack);
	if (after < 0)
		return false;
	if (after < OAE_NUMBER_MAP && oae_number_heard(f, pn)) {
		l->timer.grown_at = now;
		if (++l->mtu.tries == OAE_MTU_TRIES) {
			l->mtu.tries = 0;
			l->mtu.search = mtu_next(l, l->mtu.search);
		}
		l->mtu.longs = l->mtu.search ? l->mtu.longs : 0;
	}
	if (l->mtu.search)
		l->mtu.search_pn[l->mtu.tries] = mtu_probe(l, a);
	return false;
}

/**
 * oae_mtu_asked() - the peer asks for a length: is that more than what gets through from here?
 * @l: the link, OPEN
 * @f: the ASK
 * @now: ns
 * @a: actions
 *
 * What the peer has is too long, perhaps, since this end says that it carries less.
 */
void oae_mtu_asked(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a)
{
	if (!l->mtu.path || f->length + OAE_HDR_LEN <= l->mtu.path || l->mtu.search ||
	    !mtu_has_room(a) || now - l->mtu.path_at < l->cfg->keepalive / 2)
		return;
	l->mtu.path_at = now;
	mtu_search(l, l->mtu.here, a);
}

/* Is less carried than what the port here carries, and is there a reason to ask for more? */
static bool mtu_is_less(const struct oae_link *l)
{
	return l->mtu.path ||
	       (l->mtu.too_long && oae_link_slice_max(l) < l->mtu.here - OAE_HDR_LEN);
}

/**
 * oae_mtu_timer_at() - when is the timer needed at the latest?
 * @l: the link, OPEN, which carries less than its ports, or has something that is too long
 *
 * Return: ns.
 */
u64 oae_mtu_timer_at(const struct oae_link *l)
{
	u64 again = l->mtu.path_at + (l->mtu.too_long ? l->cfg->keepalive : OAE_MTU_NS);
	u64 waits = l->mtu.too_long_at + l->cfg->dead;

	if (!mtu_is_less(l))
		return waits;
	return l->mtu.too_long && waits < again ? waits : again;
}

/**
 * oae_mtu_timer() - the timer has fired: does the path carry more by now?
 * @l: the link, OPEN
 * @now: ns
 * @a: actions
 *
 * It is asked seldom, and often while something waits for it.
 */
void oae_mtu_timer(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!mtu_is_less(l) || !mtu_has_room(a) ||
	    now - l->mtu.path_at < (l->mtu.too_long ? l->cfg->keepalive : OAE_MTU_NS))
		return;
	l->mtu.path_at = now;
	mtu_search(l, l->mtu.here, a);
}
