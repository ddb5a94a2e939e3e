/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who owns a node: one zone, until it goes. Pure, see claim.c.
 *
 * All times are milliseconds of one clock that never goes back and never says
 * 0 (the kernel's: ktime in ms plus 1).
 */
#ifndef OAEIP_CLAIM_H
#define OAEIP_CLAIM_H

#include "control_msg.h"

/* ms: a datagram later than this is not known for what it is. */
#define OAEIP_LATE_MS		3000

/* So many disputes over a node that speaks, and the higher zone yields. */
#define OAEIP_STRIKES		3
/* Times hello_ms: disputes further apart have nothing to do with each other. */
#define OAEIP_DISPUTE_HELLOS	16

/**
 * struct oaeip_rules - what the rules depend on
 * @mine: my zone
 * @hello_ms: knob: time for a node to answer, and between claims
 * @node_life_ms: knob: a node of mine that is silent so long is forgotten
 * @data_life_ms: a node heard of only by DATA is forgotten after so long
 */
struct oaeip_rules {
	u16 mine;
	u32 hello_ms;
	u32 node_life_ms;
	u32 data_life_ms;
};

/**
 * struct oaeip_owner - who owns one node; all zeros: nobody, unknown
 * @zone: the zone that has it, 0 none
 * @rival: local: the zone that last claimed it, either way
 * @foe: local: the zone that last said that it owns it
 * @serial: of the last NODES about it: remote and @told, its gateway's;
 *	local, what @foe said
 * @life: local: how long what @foe said is good, units of 100 ms
 * @strikes: local: disputes with lower zones, one after the other
 * @local: it is in my zone
 * @told: remote: its gateway has said so; else only its DATA came
 * @disputed: local and in doubt: @foe is why
 * @heard: when it was last heard of
 * @until: when it is forgotten
 * @doubt: local: since when a claim on it is open, 0 none
 * @claimed: remote: when I last claimed it from @zone, 0 not yet; local: when
 *	@foe last said so
 */
struct oaeip_owner {
	u16 zone;
	u16 rival;
	u16 foe;
	u16 life;
	u8 strikes;
	bool local;
	bool told;
	bool disputed;
	u32 serial;
	u64 heard;
	u64 until;
	u64 doubt;
	u64 claimed;
};

/**
 * struct oaeip_speaker - the gateway of another zone; all zeros: never heard
 * @zone: its zone; set once by who keeps this
 * @inc: its incarnation, 0 none yet
 * @inc_before: the one before that
 * @serial: the highest serial heard of @inc
 * @gone: serial of the last message of @inc that said GONE or BYE
 * @inc_at: when @inc was first heard
 * @gone_at: when @gone was heard, 0 never
 */
struct oaeip_speaker {
	u16 zone;
	u32 inc;
	u32 inc_before;
	u32 serial;
	u32 gone;
	u64 inc_at;
	u64 gone_at;
};

/**
 * enum oaeip_hearing - a control message among those of its speaker
 * @OAEIP_HEAR_NEXT: newer than all before: handle it
 * @OAEIP_HEAR_LATE: overtaken or doubled: handle it, but for BEAT's seen,
 *	ASK and BYE; oaeip_claim_nodes() knows how. Counter old_control
 * @OAEIP_HEAR_NEW: a new incarnation: its nodes go
 *	(oaeip_claim_zone_gone() for each), ASK it, then handle the message
 * @OAEIP_HEAR_DEAD: of the incarnation before: drop it. Counter old_control
 */
enum oaeip_hearing {
	OAEIP_HEAR_NEXT,
	OAEIP_HEAR_LATE,
	OAEIP_HEAR_NEW,
	OAEIP_HEAR_DEAD,
};

/**
 * enum oaeip_verdict - what an event means, and what to do about it
 * @OAEIP_NOTHING: nothing
 * @OAEIP_NEW: it has an owner now: make the entry. Mine (@local): tell all
 * @OAEIP_REFRESHED: as before, and heard of again. Nothing to do
 * @OAEIP_TAKEN: another zone has it now, which was not sure before. Nothing
 * @OAEIP_CONFLICT: another zone has it: drop the frame, refuse the entry
 * @OAEIP_CLAIM_IT: the same, and send NODES CLAIM of it to @zone
 * @OAEIP_OWN_CLAIMED: mine is claimed: HELLO ASK to it, and look again with
 *	oaeip_claim_check() in hello_ms
 * @OAEIP_KEPT: mine was claimed, and answered: send NODES of it to @rival
 * @OAEIP_NOT_HERE: claimed from me, and not mine: NODES GONE to the speaker
 * @OAEIP_OLD: older than what is known: refuse the entry
 * @OAEIP_GONE: another zone's, and unknown now: remove the entry
 * @OAEIP_LOST: mine, and unknown now: remove the entry, tell all GONE
 * @OAEIP_YIELDED: mine, and now @zone's: tell all GONE, keep the entry
 */
enum oaeip_verdict {
	OAEIP_NOTHING,
	OAEIP_NEW,
	OAEIP_REFRESHED,
	OAEIP_TAKEN,
	OAEIP_CONFLICT,
	OAEIP_CLAIM_IT,
	OAEIP_OWN_CLAIMED,
	OAEIP_KEPT,
	OAEIP_NOT_HERE,
	OAEIP_OLD,
	OAEIP_GONE,
	OAEIP_LOST,
	OAEIP_YIELDED,
	OAEIP_VERDICT_END
};

enum oaeip_hearing oaeip_speaker_hear(struct oaeip_speaker *s,
				      const struct oaeip_control *c, u64 now);

enum oaeip_verdict oaeip_claim_local(struct oaeip_owner *o,
				     const struct oaeip_rules *r, u64 now);
enum oaeip_verdict oaeip_claim_leaving(struct oaeip_owner *o, u64 now);
enum oaeip_verdict oaeip_claim_nodes(struct oaeip_owner *o,
				     const struct oaeip_rules *r,
				     struct oaeip_speaker *s,
				     const struct oaeip_control *c,
				     u8 flags, u64 now);
enum oaeip_verdict oaeip_claim_data(struct oaeip_owner *o,
				    const struct oaeip_rules *r, u16 zone,
				    u64 now);
enum oaeip_verdict oaeip_claim_check(struct oaeip_owner *o,
				     const struct oaeip_rules *r, u64 now);
enum oaeip_verdict oaeip_claim_zone_gone(struct oaeip_owner *o, u16 zone);
u64 oaeip_claim_due(const struct oaeip_owner *o, const struct oaeip_rules *r);
const char *oaeip_verdict_name(enum oaeip_verdict v);

#endif /* OAEIP_CLAIM_H */
