// SPDX-License-Identifier: GPL-2.0
/*
 * A path that drops long frames (doc/protocol.md section 4.1): fruitless failures in a
 * row, and slices that are cut shorter for them. Pure, see link.h.
 */
#include "link_int.h"

/**
 * oae_cut_longest() - the longest payload of a frame for a post, offer and answer
 * @p: the post
 *
 * Return: bytes.
 */
u32 oae_cut_longest(const struct oae_post *p)
{
	u32 reply = p->kind == OAE_SWAP ? p->len : p->reply;

	if (p->kind == OAE_MESSAGE)
		return p->slice_max < p->len ? p->slice_max : p->len;
	return p->len > reply + OAE_REFLECT_LEN ? p->len :
						  reply + OAE_REFLECT_LEN;
}

/**
 * oae_cut_shortest() - the shortest slices with which OAE_MAX_SLICES are enough
 * @len: of the message, bytes
 *
 * Return: bytes, at least OAE_MIN_SLICE.
 */
u32 oae_cut_shortest(u32 len)
{
	u32 least = (len + OAE_MAX_SLICES - 1) / OAE_MAX_SLICES;

	return least > OAE_MIN_SLICE ? least : OAE_MIN_SLICE;
}

/**
 * oae_link_cut() - length of the slices of a transaction (protocol 4.1)
 * @l: the link; without its lock the result is a hint
 * @kind: OAE_MESSAGE, OAE_SWAP or OAE_VERB; only a message is cut
 * @len: its bytes
 *
 * The longest that the ports carry. For a message less if frames of that length do not
 * get through, but not so short that it needs more than OAE_MAX_SLICES.
 *
 * Return: bytes of payload in one frame.
 */
u16 oae_link_cut(const struct oae_link *l, u8 kind, u32 len)
{
	u16 max = oae_link_slice_max(l), cut = READ_ONCE(l->cut);

	if (!cut || kind != OAE_MESSAGE)
		return max;
	if (cut < oae_cut_shortest(len))
		cut = oae_cut_shortest(len);
	return cut < max ? cut : max;
}

/**
 * oae_cut_fits() - may what is of several be offered as it is (protocol 4.12)?
 * @l: the link, OPEN
 * @p: a pack, or joined verbs
 *
 * Return: false if the peer takes no packs, or nothing of that length, or if frames of that
 * length do not get through.
 */
bool oae_cut_fits(const struct oae_link *l, const struct oae_post *p)
{
	return (l->peer_packs || p->kind != OAE_PACK) && p->len <= l->peer_max_len &&
	       oae_cut_longest(p) <= oae_link_cut(l, OAE_MESSAGE, 1);
}

/**
 * oae_link_join_max() - how long may joined verbs be that are posted now, and the answer?
 * @l: the link
 *
 * Return: bytes of payload in one frame; 0 if none may be posted.
 */
u32 oae_link_join_max(const struct oae_link *l)
{
	u32 max = oae_link_cut(l, OAE_MESSAGE, 1);

	if (l->state != OAE_OPEN || !l->cfg->pack)
		return 0;
	return max < l->peer_max_len ? max : l->peer_max_len;
}

/**
 * oae_link_pack_max() - how long may a pack be that is posted now?
 * @l: the link
 *
 * Return: bytes; 0 if none may be posted.
 */
u32 oae_link_pack_max(const struct oae_link *l)
{
	return l->peer_packs ? oae_link_join_max(l) : 0;
}

/**
 * oae_cut_count() - count a fruitless failure in a row (protocol 4.1)
 * @row: failures in the row so far; one more then
 * @since: when the row began, ns; set by the first
 * @len: the longest payload of a frame, bytes
 * @now: ns
 *
 * If a frame of that length may be too long for the path, the count goes on above
 * OAE_HOPELESS, for oae_link_pto().
 */
void oae_cut_count(u8 *row, u64 *since, u32 len, u64 now)
{
	u8 most = OAE_HOPELESS;

	if (len > OAE_MIN_SLICE)
		most += OAE_MAX_BACKOFF;
	if (!*row)
		*since = now;
	if (*row < most)
		++*row;
}

/**
 * oae_cut_row_ends() - something gets through, or something else is offered
 * @l: the link
 */
void oae_cut_row_ends(struct oae_link *l)
{
	l->fruitless = 0;
	l->rows++;
}

/**
 * oae_cut_elsewhere() - is what does not get through to be tried by another path (protocol
 *	4.14)?
 * @l: the link
 * @row: fruitless failures in a row, OAE_FRUITLESS or more
 *
 * Return: true if so.
 */
bool oae_cut_elsewhere(const struct oae_link *l, u8 row)
{
	return l->others == OAE_OTHERS_NEW ||
	       (l->others == OAE_OTHERS_TRIED && row >= OAE_HOPELESS);
}

/**
 * oae_cut_hopeless() - is it proven that a post that cannot be cut is too big?
 * @l: the link
 * @row: fruitless failures in a row
 * @since: when the row began, ns
 * @now: ns
 *
 * EMSGSIZE is for good, failures may come every few ms, and a link heals by itself. So
 * a row that lasted for less than the dead time is no proof.
 *
 * Return: true if so.
 */
bool oae_cut_hopeless(const struct oae_link *l, u8 row, u64 since, u64 now)
{
	return row >= OAE_HOPELESS && now - since >= l->cfg->dead;
}

/*
 * SYNCs are answered, but the offer is not: cut smaller (protocol 4.1), once that is so by all
 * paths. A post that cannot be cut may be marked hopeless; oae_link_resliced() then reverses
 * it. True: the offer will be cut anew.
 */
static bool cut_smaller(struct oae_link *l, struct oae_lane *n, u64 now,
			struct oae_actions *a)
{
	static const u16 usual[] = { 1500, 1400, 1280, 576, 256, OAE_MIN_MTU };
	const struct oae_post *p = &n->p;
	u32 is = oae_cut_longest(p), least = oae_cut_shortest(p->len), i = 0;

	if (is <= OAE_MIN_SLICE || l->others == OAE_OTHERS_NEW)
		return false;
	if ((oae_kind_is_read(p->kind) || oae_post_several(p)) && is > least) {
		while (usual[i] >= is + OAE_HDR_LEN)
			i++;
		l->cut = usual[i] - OAE_HDR_LEN;
		if (l->cut < least)
			l->cut = least;
		/* The rows of other paths go on: longer slices failed there, and count. */
		l->fruitless = 0;
	} else if (oae_cut_hopeless(l, l->fruitless, l->fruitless_at, now) &&
		   l->others == OAE_OTHERS_NONE && !n->hopeless) {
		n->hopeless = true;
	} else {
		return false;
	}
	l->cut_at = now;
	oae_note(a, OAE_N_CUT);
	return true;
}

/**
 * oae_stalled() - record a stall, and cut smaller if stalls are fruitless
 * @l: the link, still OPEN, about to freeze
 * @now: ns
 * @a: actions
 *
 * If stalls go on although SYNCs are answered, long frames do not get through
 * (protocol 4.1).
 */
void oae_stalled(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_first_lane(l);

	if (n->state == OAE_OFFER_OUT) {
		l->waited = now - (l->moved_at > l->grown_at ? l->moved_at : l->grown_at);
		/* The time that longer slices had does not count any more. */
		if (l->fruitless >= OAE_FRUITLESS && cut_smaller(l, n, now, a))
			l->waited = 0;
	}
	if (l->half.state == OAE_HALF_LENT) {
		l->waited_held = now - oae_first_hold(l)->at;
		/* The half in the REFLECT is too long, not the peer's half. */
		if (oae_cut_hopeless(l, l->half.fruitless, l->swaps->fruitless_at,
				     now) && l->others == OAE_OTHERS_NONE &&
		    l->swaps->half.len + OAE_REFLECT_LEN > OAE_MIN_SLICE &&
		    !l->swaps->cancelled) {
			l->swaps->cancelled = OAE_E_TOO_BIG;
			oae_note(a, OAE_N_CUT);
		}
	}
}

/**
 * oae_answered() - count a fruitless failure, when the link resolves (protocol 4.1)
 * @l: the link
 * @now: ns
 * @in: what was held was committed
 * @out: what was offered was taken
 *
 * If the SYNC was answered in less time than the offer, or the hold, had before, its
 * frames may be too long for the path. Such a failure does not make the PTO longer. What
 * the peer holds has got through, and only the answer is lost. That says nothing of the offer,
 * unless it is a verb, whose answer is its own.
 */
void oae_answered(struct oae_link *l, u64 now, bool in, bool out)
{
	const struct oae_post *p = &oae_first_lane(l)->p;
	u64 took = now - l->sync_at;
	bool offered = !out && l->waited && took <= l->waited;
	bool held = !in && l->waited_held && took <= l->waited_held;
	bool through = l->heard.held && p->kind != OAE_VERB;

	if (offered && !through)
		oae_cut_count(&l->fruitless, &l->fruitless_at,
			      oae_cut_longest(p), now);
	if (held)
		oae_cut_count(&l->half.fruitless, &l->swaps->fruitless_at,
			      l->swaps->half.len + OAE_REFLECT_LEN, now);
	if ((offered || held) && l->backoff > 2)
		l->backoff--;
	l->waited = 0;
	l->waited_held = 0;
}

/**
 * oae_offer_uncut() - forget which frames are too long: the path may have changed
 * @l: the link
 */
void oae_offer_uncut(struct oae_link *l)
{
	l->cut = 0;
	l->fruitless = 0;
	oae_first_lane(l)->hopeless = false;
}
