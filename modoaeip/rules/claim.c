// SPDX-License-Identifier: GPL-2.0
/*
 * Who owns a node: the rules of the table of nodes, one entry at a time
 * (doc/gateway.md, "The life of a table entry").
 *
 * Pure: no allocation, no lock, no clock. The caller locks the entry, acts on the
 * verdict, and makes or removes the entry as that says.
 *
 * An entry is *unknown* (all zeros), *local*, *local in doubt*, *remote*, or *remote
 * by hearsay* (its DATA came, its gateway has not named it yet). A remote one whose
 * time is over is as good as unknown (NEW may so be said of an entry that is there).
 * It ends, as a local one does, by being looked at (oaeip_claim_check()): an owner
 * is blank only after GONE or LOST.
 *
 * What happens to whom; the function says it once more:
 *
 *                  unknown    local       in doubt    remote      hearsay
 *   local frame    NEW        REFRESHED   REFRESHED   claim it    claim it
 *   LEAVING        -          LOST        LOST        CONFLICT    CONFLICT
 *   NODES, it      NEW (1)    OWN_CLAIMED - (2)       REFRESHED   REFRESHED
 *   NODES, other                                      claim it    TAKEN
 *   GONE, it       -          - (3)       - (3)       GONE        GONE
 *   GONE, other                                       -           -
 *   CLAIM          NOT_HERE   OWN_CLAIMED - (2)       NOT_HERE    NOT_HERE
 *   DATA, it       NEW        CONFLICT    CONFLICT    REFRESHED   REFRESHED
 *   DATA, other                                       CONFLICT    CONFLICT
 *   time is over   -          LOST        LOST (4)    GONE        GONE
 *   hello_ms over  -          -           (4)         -           -
 *   zone is gone   -          -           - (3)       GONE        GONE
 *
 * "It" is the zone that has the node, "other" another one. "Claim it": CLAIM_IT, or
 * CONFLICT if that was less than hello_ms ago: the zone that has it is asked
 * whether that is still so, because the node speaks here, or because another zone
 * says that it has it. Who is asked looks after its node (OWN_CLAIMED), or says at
 * once that it has none (NOT_HERE). So a node that moves is its new zone's after
 * about hello_ms, of two nodes with one address the first stays while it speaks, and
 * a zone that has missed a GONE asks itself out of it.
 *
 * (1) OLD if the message was sent before one that said GONE or BYE: see below.
 * (2) One claim is dealt with at a time. That a zone says it has the node (the foe)
 *     weighs more than that it asks, and a lower foe more than a higher one.
 * (3) If that is the foe, and it said so after its claim, there is no dispute.
 * (4) It was silent: LOST, or YIELDED to a foe. It spoke: KEPT.
 *     Two zones that were cut off from each other may both have the node as their
 *     own, and both keep it. Then the higher one yields after OAEIP_STRIKES disputes,
 *     each of which told the other that it was kept: a foe that is only behind has
 *     had as many chances to find out.
 *
 * Lost, late and doubled messages. Each NODES names the whole truth about its nodes,
 * and all are named again every refresh_ms: a loss is made good by the next. Of a
 * node that is known, a message older than the last about it is OLD. Of a node that
 * went, nothing is kept, so each speaker's last GONE is: for OAEIP_LATE_MS what was
 * sent before it makes no new entries (also not of other nodes: the next refresh
 * does). A message that is still later than that, or a late DATA frame, can
 * bring a node back, for its life at most; and by DATA it is hearsay, which yields to
 * the first zone that says it has the node. A doubled CLAIM costs a question.
 */
#include "claim.h"

static const char *const verdict_names[OAEIP_VERDICT_END] = {
	[OAEIP_NOTHING] = "nothing",
	[OAEIP_NEW] = "new",
	[OAEIP_REFRESHED] = "refreshed",
	[OAEIP_TAKEN] = "taken",
	[OAEIP_CONFLICT] = "conflict",
	[OAEIP_CLAIM_IT] = "claim it",
	[OAEIP_OWN_CLAIMED] = "own claimed",
	[OAEIP_KEPT] = "kept",
	[OAEIP_NOT_HERE] = "not here",
	[OAEIP_OLD] = "old",
	[OAEIP_GONE] = "gone",
	[OAEIP_LOST] = "lost",
	[OAEIP_YIELDED] = "yielded",
};

/**
 * oaeip_verdict_name() - a verdict, for people
 * @v: any number
 *
 * Return: a word or two, "?" for what is no verdict. Any context.
 */
const char *oaeip_verdict_name(enum oaeip_verdict v)
{
	if ((unsigned int)v >= OAEIP_VERDICT_END)
		return "?";
	return verdict_names[v];
}

/**
 * oaeip_speaker_hear() - put a control message among those of its speaker
 * @s: the speaker
 * @c: the message, parsed
 * @now: ms
 *
 * To be called first, once for each message. Of an incarnation that has ended
 * messages may still be on their way: for OAEIP_LATE_MS they are known. One that
 * is later is taken for a new incarnation, and the true one then for the one
 * before: that costs the speaker's nodes for OAEIP_LATE_MS, not more. Any context;
 * the caller locks the speaker.
 *
 * Return: enum oaeip_hearing, which says what to do.
 */
enum oaeip_hearing oaeip_speaker_hear(struct oaeip_speaker *s,
				      const struct oaeip_control *c, u64 now)
{
	enum oaeip_hearing hearing = OAEIP_HEAR_NEXT;

	if (c->inc != s->inc) {
		if (s->inc && c->inc == s->inc_before &&
		    now - s->inc_at < OAEIP_LATE_MS)
			return OAEIP_HEAR_DEAD;
		s->inc_before = s->inc;
		s->inc = c->inc;
		s->inc_at = now;
		s->gone_at = 0;
		hearing = OAEIP_HEAR_NEW;
	} else if (!oaeip_serial_newer(c->serial, s->serial)) {
		return OAEIP_HEAR_LATE;
	}
	s->serial = c->serial;
	if (c->op == OAEIP_BYE) {
		s->gone = c->serial;
		s->gone_at = now;
	}
	return hearing;
}

/* Was this sent before the speaker's last GONE, as far as that can be known? */
static bool claim_before_gone(const struct oaeip_speaker *s,
			      const struct oaeip_control *c, u64 now)
{
	return s->gone_at && now - s->gone_at < OAEIP_LATE_MS &&
	       !oaeip_serial_newer(c->serial, s->gone);
}

static void claim_forget(struct oaeip_owner *o)
{
	memset(o, 0, sizeof(*o));
}

/* A remote entry whose time is over is as good as unknown. */
static bool claim_known(const struct oaeip_owner *o, u64 now)
{
	return o->zone && (o->local || now < o->until);
}

static void claim_own(struct oaeip_owner *o, u16 zone, bool local, u64 now, u64 until)
{
	claim_forget(o);
	o->zone = zone;
	o->local = local;
	o->heard = now;
	o->until = until;
}

/* Another zone has it: ask that zone, but not all the time. */
static enum oaeip_verdict claim_it(struct oaeip_owner *o,
				   const struct oaeip_rules *r, u64 now)
{
	if (o->claimed && now - o->claimed < r->hello_ms)
		return OAEIP_CONFLICT;
	o->claimed = now;
	return OAEIP_CLAIM_IT;
}

/**
 * oaeip_claim_local() - a frame or a HELLO of the node came in my zone
 * @o: who owns the node
 * @r: the rules
 * @now: ms
 *
 * Any context; the caller locks the entry. Of a local node nothing but @heard and
 * @until changes.
 *
 * Return: NEW, REFRESHED; CLAIM_IT or CONFLICT, for which the frame is dropped.
 */
enum oaeip_verdict oaeip_claim_local(struct oaeip_owner *o,
				     const struct oaeip_rules *r, u64 now)
{
	if (o->local) {
		o->heard = now;
		o->until = now + r->node_life_ms;
		return OAEIP_REFRESHED;
	}
	if (claim_known(o, now))
		return claim_it(o, r, now);
	claim_own(o, r->mine, true, now, now + r->node_life_ms);
	return OAEIP_NEW;
}

/**
 * oaeip_claim_leaving() - a HELLO LEAVING of the node came in my zone
 * @o: who owns the node
 * @now: ms
 *
 * Any context; the caller locks the entry.
 *
 * Return: LOST; CONFLICT if another zone has it; NOTHING if nobody.
 */
enum oaeip_verdict oaeip_claim_leaving(struct oaeip_owner *o, u64 now)
{
	if (!claim_known(o, now))
		return OAEIP_NOTHING;
	if (!o->local)
		return OAEIP_CONFLICT;
	claim_forget(o);
	return OAEIP_LOST;
}

/* A rival stands up for my node, by CLAIM or, @owns, as its own. */
static enum oaeip_verdict claimed(struct oaeip_owner *o,
				  const struct oaeip_rules *r, u16 rival,
				  const struct oaeip_control *c, bool owns,
				  u64 now)
{
	u64 apart = (u64)r->hello_ms * OAEIP_DISPUTE_HELLOS;

	if (o->doubt && (!owns || (o->disputed && rival >= o->foe)))
		return OAEIP_NOTHING;
	o->rival = rival;
	if (owns) {
		if (now - o->claimed >= apart)
			o->strikes = 0;
		o->foe = rival;
		o->serial = c->serial;
		o->life = c->life;
		o->claimed = now;
		o->disputed = true;
	}
	if (o->doubt)
		return OAEIP_NOTHING;
	o->doubt = now;
	/* What it said before does not count. */
	if (o->heard >= now)
		o->heard = now - 1;
	return OAEIP_OWN_CLAIMED;
}

static enum oaeip_verdict claim_nodes_gone(struct oaeip_owner *o,
					   struct oaeip_speaker *s,
					   const struct oaeip_control *c, u64 now)
{
	bool newer = oaeip_serial_newer(c->serial, o->serial);

	if (!s->gone_at || now - s->gone_at >= OAEIP_LATE_MS ||
	    oaeip_serial_newer(c->serial, s->gone)) {
		s->gone = c->serial;
		s->gone_at = now;
	}
	if (o->local) {
		if (o->foe == s->zone && newer) {
			o->disputed = false;
			o->strikes = 0;
		}
		return OAEIP_NOTHING;
	}
	if (o->zone != s->zone)
		return OAEIP_NOTHING;
	if (o->told && !newer)
		return OAEIP_OLD;
	claim_forget(o);
	return OAEIP_GONE;
}

/* The speaker says that it has the node. */
static enum oaeip_verdict claim_nodes_there(struct oaeip_owner *o,
					    const struct oaeip_rules *r,
					    const struct oaeip_speaker *s,
					    const struct oaeip_control *c, u64 now)
{
	u64 until = now + (u64)c->life * 100, claim = 0;
	enum oaeip_verdict v = OAEIP_REFRESHED;
	bool told = o->told && claim_known(o, now);

	if (told && o->zone != s->zone)
		return claim_it(o, r, now);
	if (told) {
		if (!oaeip_serial_newer(c->serial, o->serial))
			return OAEIP_OLD;
		claim = o->claimed;
	} else {
		if (claim_before_gone(s, c, now))
			return OAEIP_OLD;
		if (o->local)
			return claimed(o, r, s->zone, c, true, now);
		if (!claim_known(o, now))
			v = OAEIP_NEW;
		else if (o->zone != s->zone)
			v = OAEIP_TAKEN;
		else
			claim = o->claimed;
	}
	claim_own(o, s->zone, false, now, until);
	o->told = true;
	o->serial = c->serial;
	o->claimed = claim;
	return v;
}

/**
 * oaeip_claim_nodes() - a NODES message names the node
 * @o: who owns the node
 * @r: the rules
 * @s: the speaker, which has been told of the message (oaeip_speaker_hear());
 *	notes a GONE
 * @c: the message
 * @flags: of this node
 * @now: ms
 *
 * Any context; the caller locks entry and speaker.
 *
 * Return: NEW, REFRESHED, TAKEN; CLAIM_IT, CONFLICT, OWN_CLAIMED, NOT_HERE, OLD,
 * GONE, NOTHING. NOTHING for a speaker in my zone, of which there is none.
 */
enum oaeip_verdict oaeip_claim_nodes(struct oaeip_owner *o,
				     const struct oaeip_rules *r,
				     struct oaeip_speaker *s,
				     const struct oaeip_control *c,
				     u8 flags, u64 now)
{
	if (!s->zone || s->zone == r->mine)
		return OAEIP_NOTHING;
	if (flags & OAEIP_NODE_GONE)
		return claim_nodes_gone(o, s, c, now);
	if (!(flags & OAEIP_NODE_CLAIM))
		return claim_nodes_there(o, r, s, c, now);
	if (!o->local)
		return OAEIP_NOT_HERE;
	return claimed(o, r, s->zone, c, false, now);
}

/**
 * oaeip_claim_data() - a DATA frame whose source is the node came from a zone
 * @o: who owns the node
 * @r: the rules
 * @zone: the zone that it came from
 * @now: ms
 *
 * Never shortens what NODES said. Any context; the caller locks the entry.
 *
 * Return: NEW, REFRESHED; CONFLICT, for which the frame is dropped, if another
 * zone, or mine (@local: a loop), has the node; NOTHING for no zone or mine.
 */
enum oaeip_verdict oaeip_claim_data(struct oaeip_owner *o,
				    const struct oaeip_rules *r, u16 zone,
				    u64 now)
{
	u64 until = now + r->data_life_ms;

	if (!zone || zone == r->mine)
		return OAEIP_NOTHING;
	if (!claim_known(o, now)) {
		claim_own(o, zone, false, now, until);
		return OAEIP_NEW;
	}
	if (o->zone != zone)
		return OAEIP_CONFLICT;
	o->heard = now;
	if (o->until < until)
		o->until = until;
	return OAEIP_REFRESHED;
}

/* To the foe, if that is why, and what it said is still good. */
static enum oaeip_verdict claim_give_up(struct oaeip_owner *o, u64 now)
{
	u64 until = o->claimed + (u64)o->life * 100;
	u64 heard = o->claimed;
	u32 serial = o->serial;
	u16 foe = o->foe;

	if (!o->disputed || now >= until) {
		claim_forget(o);
		return OAEIP_LOST;
	}
	claim_own(o, foe, false, heard, until);
	o->told = true;
	o->serial = serial;
	return OAEIP_YIELDED;
}

/**
 * oaeip_claim_check() - look whether the owner's time, or a doubt's, is over
 * @o: who owns the node
 * @r: the rules
 * @now: ms
 *
 * To be called at oaeip_claim_due(), or soon after. Any context; the caller locks
 * the entry.
 *
 * Return: GONE, LOST, YIELDED, KEPT; NOTHING.
 */
enum oaeip_verdict oaeip_claim_check(struct oaeip_owner *o,
				     const struct oaeip_rules *r, u64 now)
{
	if (!o->zone)
		return OAEIP_NOTHING;
	if (!o->local) {
		if (now < o->until)
			return OAEIP_NOTHING;
		claim_forget(o);
		return OAEIP_GONE;
	}
	if (now >= o->until)
		return claim_give_up(o, now);
	if (!o->doubt || now - o->doubt < r->hello_ms)
		return OAEIP_NOTHING;

	if (o->heard < o->doubt)
		return claim_give_up(o, now);
	if (o->disputed && o->foe < r->mine &&
	    ++o->strikes >= OAEIP_STRIKES)
		return claim_give_up(o, now);
	o->doubt = 0;
	o->disputed = false;
	return OAEIP_KEPT;
}

/**
 * oaeip_claim_due() - when to look again, at the latest
 * @o: who owns the node
 * @r: the rules
 *
 * Return: ms; 0 for never. Any context.
 */
u64 oaeip_claim_due(const struct oaeip_owner *o, const struct oaeip_rules *r)
{
	u64 answer = o->doubt + r->hello_ms;

	return o->doubt && answer < o->until ? answer : o->until;
}

/**
 * oaeip_claim_zone_gone() - the gateway of a zone said BYE, or is another one
 * @o: who owns the node
 * @zone: the zone
 *
 * Any context; the caller locks the entry.
 *
 * Return: GONE if that zone had it; else NOTHING.
 */
enum oaeip_verdict oaeip_claim_zone_gone(struct oaeip_owner *o, u16 zone)
{
	if (o->local && o->foe == zone) {
		o->disputed = false;
		o->strikes = 0;
	}
	if (!o->zone || o->local || o->zone != zone)
		return OAEIP_NOTHING;
	claim_forget(o);
	return OAEIP_GONE;
}
