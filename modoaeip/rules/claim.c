// SPDX-License-Identifier: GPL-2.0
/*
 * Ownership of a node: the rules of the table of nodes, for one entry at a time
 * (doc/gateway.md section 5).
 *
 * Pure: no allocation, no lock, no clock. The caller locks the entry, carries out
 * the verdict, and makes or removes the entry as the verdict says.
 *
 * An entry is *unknown* (all zeros), *local*, *local in doubt*, *remote*, or *remote
 * by hearsay* (DATA of the node arrived, and no gateway has announced the node). A
 * remote entry that has expired counts as unknown, so NEW may be the verdict on an
 * entry that exists. Like a local one it is removed by oaeip_claim_check(): an owner
 * becomes blank only with GONE or LOST.
 *
 * The verdict on each event in each state, which the functions repeat:
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
 * "It" is the zone that owns the node, "other" any other zone. "Claim it" means
 * CLAIM_IT, or CONFLICT if the last claim was less than hello_ms ago. A gateway
 * claims a node if the node speaks in its zone, or if a second zone announces the
 * node. The claim asks the owner whether the node is still there. The owner asks its
 * node (OWN_CLAIMED), or answers at once that it has no such node (NOT_HERE). Three
 * things follow. A node that moves belongs to its new zone after about hello_ms. Of
 * two nodes with one address the first keeps it while it speaks. A zone that has
 * missed a GONE learns of it by the answer to its claim.
 *
 * (1) OLD if the message was sent before one with GONE or BYE: see below.
 * (2) One claim is handled at a time. A zone that announces the node as its own (the
 *     foe) replaces one that only asks, and a lower foe replaces a higher one.
 * (3) The dispute ends if that zone is the foe, and sent this after its claim.
 * (4) The node was silent: LOST, or YIELDED to a foe. The node spoke: KEPT.
 *     Two zones that were cut off from each other may both own the node, and both
 *     keep it. Then the higher zone yields after OAEIP_STRIKES disputes. Each of them
 *     told the other zone that the node was kept, so a foe that was merely late had
 *     as many chances to find out.
 *
 * Lost, late and duplicated messages. Each NODES states the whole truth about its
 * nodes, and all nodes are announced again every refresh_ms, so the next message
 * makes up for a lost one. For a known node, a message older than the last one about
 * it is OLD. Of a node that is gone no entry remains. So the last GONE of each
 * speaker is kept: for OAEIP_LATE_MS, messages sent before it make no new entries
 * (nor of other nodes; the next refresh makes those). A message delayed by more than
 * that, or a late DATA frame, can bring a node back, for its validity at most. An
 * entry made by DATA is hearsay, which yields to the first zone that announces the
 * node. A duplicated CLAIM costs one question to the node.
 */
#include "claim.h"

/**
 * oaeip_speaker_hear() - place a control message in its speaker's order
 * @s: the speaker
 * @c: the message, parsed
 * @now: ms
 *
 * Called first, once for each message. Messages of an incarnation that has ended may
 * still be on their way: for OAEIP_LATE_MS they are recognised. A later one is taken
 * for a new incarnation, and the current one then for the previous one, which costs
 * the speaker's nodes for OAEIP_LATE_MS, not more.
 *
 * Context: any; the caller locks the speaker.
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

/* True if the message is known to be sent before the speaker's last GONE. */
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

/* True unless unknown. A remote entry that has expired counts as unknown. */
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

/* Another zone owns the node: claim it, at most once in hello_ms. */
static enum oaeip_verdict claim_it(struct oaeip_owner *o,
				   const struct oaeip_rules *r, u64 now)
{
	if (o->claimed && now - o->claimed < r->hello_ms)
		return OAEIP_CONFLICT;
	o->claimed = now;
	return OAEIP_CLAIM_IT;
}

/**
 * oaeip_claim_local() - a frame or a HELLO of the node arrived in the own zone
 * @o: owner of the node
 * @r: the rules
 * @now: ms
 *
 * Of a local node only @heard and @until change.
 *
 * Context: any; the caller locks the entry.
 *
 * Return: NEW, REFRESHED; CLAIM_IT or CONFLICT, with which the frame is dropped.
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
 * oaeip_claim_leaving() - a HELLO LEAVING of the node arrived in the own zone
 * @o: owner of the node
 * @now: ms
 *
 * Context: any; the caller locks the entry.
 *
 * Return: LOST; CONFLICT if another zone owns the node; NOTHING if no zone does.
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

/* A rival claims a local node, by CLAIM or, if @owns, as its own node. */
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
	/* Only what the node sends after the claim is an answer. */
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

/* The speaker announces that the node is in its zone. */
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
 * @o: owner of the node
 * @r: the rules
 * @s: the speaker, after oaeip_speaker_hear() of the message; a GONE is noted
 * @c: the message
 * @flags: flags of this node in the message
 * @now: ms
 *
 * Context: any; the caller locks entry and speaker.
 *
 * Return: NEW, REFRESHED, TAKEN; CLAIM_IT, CONFLICT, OWN_CLAIMED, NOT_HERE, OLD,
 * GONE, NOTHING. NOTHING for a speaker of the own zone, which cannot be.
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
 * @o: owner of the node
 * @r: the rules
 * @zone: the zone that the frame came from
 * @now: ms
 *
 * Never shortens the validity that NODES gave.
 *
 * Context: any; the caller locks the entry.
 *
 * Return: NEW, REFRESHED; CONFLICT, with which the frame is dropped, if another zone
 * or the own zone (@local: a loop) owns the node; NOTHING if @zone is 0 or the own.
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

/* Yield to the foe if it is the cause and its announcement is still valid. */
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
 * oaeip_claim_check() - check whether the validity, or a doubt, is over
 * @o: owner of the node
 * @r: the rules
 * @now: ms
 *
 * Called at oaeip_claim_due(), or soon after.
 *
 * Context: any; the caller locks the entry.
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
 * oaeip_claim_due() - when to call oaeip_claim_check() next, at the latest
 * @o: owner of the node
 * @r: the rules
 *
 * Context: any; the caller locks the entry.
 *
 * Return: ms; 0 for never.
 */
u64 oaeip_claim_due(const struct oaeip_owner *o, const struct oaeip_rules *r)
{
	u64 answer = o->doubt + r->hello_ms;

	return o->doubt && answer < o->until ? answer : o->until;
}

/**
 * oaeip_claim_zone_gone() - the gateway of a zone sent BYE, or has restarted
 * @o: owner of the node
 * @zone: the zone
 *
 * Context: any; the caller locks the entry.
 *
 * Return: GONE if that zone owned the node; else NOTHING.
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
