// SPDX-License-Identifier: GPL-2.0
/*
 * Admission: what to answer to a frame for which there is no open link, who may
 * have a tag, and which tag gives way (doc/protocol.md section 4.6).
 *
 * Pure: what is known of the peer and the frame go in, a verdict comes out. The
 * caller looks up, hashes, counts, limits the rate, and sends.
 */
#include "admission.h"

#define CLOSED_DEAD	8	/* dead times until a CLOSED one may give way */

/**
 * oae_cookie() - a cookie
 * @hash: keyed, of who asks, with which ltag, and when
 *
 * Return: an ltag that is not 0, which would be none.
 */
u32 oae_cookie(u64 hash)
{
	return (u32)hash ? (u32)hash : 1;
}

/* The ltags as they came, crossed. */
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
	if (who->shut || who->accept == OAE_ACCEPT_NONE)
		return false;
	return who->accept != OAE_ACCEPT_PEERS || who->configured;
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
	admit_answer(a, f, OAE_SYNC_CHK, OAE_R_NONE);
	a->answer.src_ltag = who->cookie[0];
	if (who->configured || who->awaited)
		a->verdict = OAE_ADMIT_EXPECTED;
}

/**
 * oae_admission() - what becomes of a frame that belongs to no open link
 * @who: what is known of its sender; all but a SYNC needs nothing
 * @f: the frame, verified
 * @a: out
 *
 * A peer costs no memory until it names the cookie that it was sent: whoever
 * forges an address does not see it. One that is expected needs a cookie as
 * well, and gets it whatever strangers have used up.
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
		/* Forgotten already; a refusal needs no answer. */
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
		a->why = OAE_ADMIT_NO_TAG;
		break;
	default:
		admit_answer(a, f, OAE_NOLINK, OAE_R_NONE);
	}
}

/**
 * oae_admission_full() - a tag is due, and there is no room for one
 * @f: the SYNC
 * @a: out
 */
void oae_admission_full(const struct oae_frame *f, struct oae_admission *a)
{
	memset(a, 0, sizeof(*a));
	a->why = OAE_ADMIT_FULL;
	admit_answer(a, f, OAE_CLOSE, OAE_R_FULL);
}

/* Three quarters, to the nearest, and not none. */
static u64 admit_strangers_most(unsigned int most)
{
	u64 share = (3 * (u64)most + 1) / 4;

	return share ? share : 1;
}

/**
 * oae_share_room() - is there room for a tag?
 * @tags: how many count in max_tags, with it
 * @strangers: how many were made for strangers, with it; 0 if it was not
 * @most: max_tags
 *
 * Return: 0; -ENOBUFS max_tags; -EDQUOT the strangers' share of it.
 */
int oae_share_room(unsigned int tags, unsigned int strangers, unsigned int most)
{
	if (tags > most)
		return -ENOBUFS;
	return strangers > admit_strangers_most(most) ? -EDQUOT : 0;
}

/**
 * oae_share_spare() - may a tag give way to another?
 * @c: what speaks for it
 *
 * Return: why; OAE_SPARE_NOT it may not.
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
 * oae_share_yields() - does a tag give way for this reason?
 * @spare: the reason
 * @err: what there is no room in, as oae_share_room() said
 * @dead_ms: the knob
 * @doubt_s: the knob, 0: none that is in doubt gives way
 * @ms: out: for so long it must have been so
 *
 * A dead tag takes no room in the strangers' share.
 *
 * Return: false if none does.
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
