// SPDX-License-Identifier: GPL-2.0
/*
 * Admission: the answer to a frame without an open link, the shares of max_tags, and
 * which tag gives way (doc/protocol.md section 4.6).
 *
 * Pure: a frame and what is known of its sender go in, a verdict comes out. The
 * caller looks up, hashes, counts, limits the rate, and sends.
 */
#include "admission.h"

#define CLOSED_DEAD	8	/* dead times until a CLOSED tag may give way */

/**
 * oae_cookie() - make a cookie of a hash
 * @hash: keyed hash of port, kid, the peer's ltag and the step of time
 *
 * Return: the cookie, never 0, since that is no ltag.
 */
u32 oae_cookie(u64 hash)
{
	return (u32)hash ? (u32)hash : 1;
}

/* Build an answer, which has the ltags of the frame, crossed. */
static void admit_answer(struct oae_admission *a, const struct oae_frame *f,
			 u8 opcode, u16 reason)
{
	a->verdict = OAE_ADMIT_ANSWER;
	a->answer.opcode = opcode;
	a->answer.vc = f->vc;
	a->answer.hdr_len = OAE_HDR_LEN;
	a->answer.reason = reason;
	a->answer.src_ltag = f->dst_ltag;
	a->answer.dst_ltag = f->src_ltag;
	a->answer.seq = f->seq;
}

static bool admit_welcome(const struct oae_asker *who)
{
	if (who->linked)
		return true;
	if (who->shut || who->accept == OAE_ACCEPT_NONE)
		return false;
	return who->accept != OAE_ACCEPT_PEERS || who->configured;
}

static void admit_ask_again(const struct oae_asker *who, const struct oae_frame *f,
			    struct oae_admission *a)
{
	admit_answer(a, f, OAE_SYNC_CHK, OAE_R_NONE);
	a->answer.src_ltag = who->cookie[0];
	if (who->configured || who->awaited)
		a->verdict = OAE_ADMIT_EXPECTED;
}

static void admit_sync(const struct oae_asker *who, const struct oae_frame *f,
		       struct oae_admission *a)
{
	if (!admit_welcome(who)) {
		a->why = OAE_ADMIT_POLICY;
		admit_answer(a, f, OAE_CLOSE, OAE_R_POLICY);
		return;
	}
	if (f->dst_ltag) {
		if (f->dst_ltag == who->cookie[0] ||
		    f->dst_ltag == who->cookie[1]) {
			a->verdict = OAE_ADMIT_TAG;
			return;
		}
		a->why = OAE_ADMIT_BAD_COOKIE;
	}
	admit_ask_again(who, f, a);
}

/**
 * oae_admission() - decide about a frame that belongs to no open link
 * @who: what is known of the sender; used only for a SYNC
 * @f: the frame, verified
 * @a: set to the decision
 *
 * A peer costs no memory until it names the cookie that it was sent. The sender of a
 * forged address does not see the cookie. An expected peer needs a cookie, too, but
 * is answered even if strangers have used up stranger_pps.
 */
void oae_admission(const struct oae_asker *who, const struct oae_frame *f,
		   struct oae_admission *a)
{
	memset(a, 0, sizeof(*a));
	switch (f->opcode) {
	case OAE_SYNC:
		admit_sync(who, f, a);
		break;
	case OAE_CLOSE:
		/* The link is forgotten already. A CLOSE that refuses needs no answer. */
		if (f->reason)
			a->why = OAE_ADMIT_NO_TAG;
		else
			admit_answer(a, f, OAE_CLOSE_ACK, OAE_R_NONE);
		break;
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
	case OAE_CLOSE_ACK:
	case OAE_HELLO:
	case OAE_NOLINK:
	case OAE_PATH:
		a->why = OAE_ADMIT_NO_TAG;
		break;
	default:
		admit_answer(a, f, OAE_NOLINK, OAE_R_NONE);
	}
}

/**
 * oae_admission_conflict() - put off a SYNC of a peer with which there is a link, of
 *	another incarnation
 * @who: what is known of the sender
 * @f: the SYNC, which has named a cookie
 * @a: set to the decision
 *
 * It goes on asking. If the present incarnation is dead, the link will be down. Until then each
 * answer is asked about at once, so that of an expected peer counts in stranger_pps, too.
 */
void oae_admission_conflict(const struct oae_asker *who, const struct oae_frame *f,
			    struct oae_admission *a)
{
	memset(a, 0, sizeof(*a));
	a->why = OAE_ADMIT_CONFLICT;
	admit_ask_again(who, f, a);
	a->verdict = OAE_ADMIT_ANSWER;
}

/**
 * oae_admission_full() - refuse a SYNC for lack of room for a tag
 * @f: the SYNC
 * @a: set to the decision
 */
void oae_admission_full(const struct oae_frame *f, struct oae_admission *a)
{
	memset(a, 0, sizeof(*a));
	a->why = OAE_ADMIT_FULL;
	admit_answer(a, f, OAE_CLOSE, OAE_R_FULL);
}

/**
 * oae_opening_mark() - somebody is about to open a link
 * @now: the time, in any unit
 *
 * Return: the mark, not 0: odd, so later than @now by one unit at most.
 */
u32 oae_opening_mark(u32 now)
{
	return now | 1;
}

/**
 * oae_opening_still() - is somebody still about to open a link?
 * @mark: from oae_opening_mark(); 0 nobody
 * @now: the time
 * @most: for so long
 *
 * Return: true if so.
 */
bool oae_opening_still(u32 mark, u32 now, u32 most)
{
	return mark && oae_opening_mark(now) - mark < most;
}

/* The strangers' share: three quarters, to the nearest, and at least one. */
static u64 admit_strangers_most(unsigned int most)
{
	u64 share = (3 * (u64)most + 1) / 4;

	return share ? share : 1;
}

/**
 * oae_share_room() - is there room for a new tag?
 * @tags: tags that count in max_tags, the new one included
 * @strangers: tags of strangers, the new one included; 0 if it is no stranger's
 * @most: max_tags
 *
 * Return: 0; -ENOBUFS max_tags is reached; -EDQUOT the strangers' share is.
 */
int oae_share_room(unsigned int tags, unsigned int strangers, unsigned int most)
{
	if (tags > most)
		return -ENOBUFS;
	return strangers > admit_strangers_most(most) ? -EDQUOT : 0;
}

/**
 * oae_share_spare() - may a tag give way to another?
 * @c: the state of the tag
 *
 * Return: the reason; OAE_SPARE_NOT the tag may not give way.
 */
enum oae_spare oae_share_spare(const struct oae_claims *c)
{
	if (c->attached)
		return OAE_SPARE_NOT;
	if (c->dead)
		return c->unread ? OAE_SPARE_DEAD : OAE_SPARE_NOT;
	if (!c->stranger || c->queued)
		return OAE_SPARE_NOT;
	if (c->closed)
		return OAE_SPARE_CLOSED;
	return c->down ? OAE_SPARE_DOWN : OAE_SPARE_NOT;
}

/**
 * oae_share_yields() - do tags give way for this reason?
 * @spare: the reason
 * @err: what oae_share_room() returned
 * @dead_ms: the knob
 * @doubt_s: the knob; 0: no tag in doubt gives way
 * @ms: set to the time for which the reason must have held, ms
 *
 * A dead tag takes no room in the strangers' share, so it does not help there.
 *
 * Return: true if so.
 */
bool oae_share_yields(enum oae_spare spare, int err, u32 dead_ms, u32 doubt_s,
		      u64 *ms)
{
	switch (spare) {
	case OAE_SPARE_DEAD:
		*ms = 0;
		return err == -ENOBUFS;
	case OAE_SPARE_CLOSED:
		*ms = CLOSED_DEAD * (u64)dead_ms;
		return true;
	case OAE_SPARE_DOWN:
		*ms = 1000 * (u64)doubt_s;
		return doubt_s;
	default:
		return false;
	}
}
