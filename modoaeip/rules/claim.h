/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ownership of a node by one zone (doc/gateway.md section 5). Pure, see claim.c.
 *
 * All times are milliseconds of one monotonic clock that is never 0 (the kernel's:
 * ktime in ms, plus 1).
 */
#ifndef OAEIP_CLAIM_H
#define OAEIP_CLAIM_H

#include "control_msg.h"

/* ms: a datagram delayed by more is not recognised as late. */
#define OAEIP_LATE_MS		3000

/* Disputes over a node that speaks after which the higher zone yields. */
#define OAEIP_STRIKES		3
/* In units of hello_ms: disputes further apart are independent. */
#define OAEIP_DISPUTE_HELLOS	16

/**
 * struct oaeip_rules - the parameters of the rules
 * @mine: number of the own zone
 * @hello_ms: knob, ms: time for a node to answer, and between claims
 * @node_life_ms: knob, ms: silence after which a node of the own zone is forgotten
 * @data_life_ms: ms after which a node known only by DATA is forgotten
 */
struct oaeip_rules {
	u16 mine;
	u32 hello_ms;
	u32 node_life_ms;
	u32 data_life_ms;
};

/**
 * struct oaeip_owner - the owner of one node; all zeros: unknown
 * @zone: the zone that owns the node, 0 none
 * @rival: local: the zone that last claimed the node, by CLAIM or as its own
 * @foe: local: the zone that last announced the node as its own
 * @serial: serial of the last NODES about the node: remote and @told, of the
 *	owner's gateway; local, of @foe
 * @life: local: validity of what @foe announced, units of 100 ms
 * @strikes: local: consecutive disputes with lower zones
 * @local: the node is in the own zone
 * @told: remote: the owner's gateway has announced the node; else only DATA of
 *	the node arrived
 * @disputed: local and in doubt: @foe is the cause
 * @heard: ms, when the node was last heard of
 * @until: ms, when the node is forgotten
 * @doubt: local: ms, since when a claim on the node is open, 0 none
 * @claimed: ms. Remote: when this gateway last claimed the node from @zone, 0 not
 *	yet. Local: when @foe last announced the node
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
 * @zone: its zone; set once by the owner of this structure
 * @inc: its incarnation, 0 none yet
 * @inc_before: its incarnation before @inc
 * @serial: the highest serial of @inc received
 * @gone: serial of the last message of @inc with GONE or BYE
 * @inc_at: ms, when @inc was first heard
 * @gone_at: ms, when @gone was received, 0 never
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
 * enum oaeip_hearing - the place of a control message in its speaker's order
 * @OAEIP_HEAR_NEXT: newer than all before: handle the message
 * @OAEIP_HEAR_LATE: overtaken or duplicated: handle the message, except for the
 *	member seen of BEAT, ASK and BYE; oaeip_claim_nodes() handles the order
 *	itself. Counter old_control
 * @OAEIP_HEAR_NEW: a new incarnation: remove the old one's nodes
 *	(oaeip_claim_zone_gone() for each), send ASK, then handle the message
 * @OAEIP_HEAR_DEAD: of the previous incarnation: drop the message. Counter
 *	old_control
 */
enum oaeip_hearing {
	OAEIP_HEAR_NEXT,
	OAEIP_HEAR_LATE,
	OAEIP_HEAR_NEW,
	OAEIP_HEAR_DEAD,
};

/**
 * enum oaeip_verdict - what an event means, and what the caller does
 * @OAEIP_NOTHING: nothing
 * @OAEIP_NEW: the node has an owner now: make the entry. Local: announce it to all
 * @OAEIP_REFRESHED: the same owner, heard of again. Nothing to do
 * @OAEIP_TAKEN: another zone owns the node now, which was hearsay. Nothing to do
 * @OAEIP_CONFLICT: another zone owns the node: drop the frame, refuse the entry
 * @OAEIP_CLAIM_IT: as CONFLICT, and send NODES CLAIM of the node to @zone
 * @OAEIP_OWN_CLAIMED: another zone claims a local node: send the node HELLO ASK,
 *	and call oaeip_claim_check() in hello_ms
 * @OAEIP_KEPT: a claimed local node has answered: send NODES of it to @rival
 * @OAEIP_NOT_HERE: the speaker claims a node that is not local: send it NODES GONE
 * @OAEIP_OLD: older than what is known: refuse the entry
 * @OAEIP_GONE: a remote node is unknown now: remove the entry
 * @OAEIP_LOST: a local node is unknown now: remove the entry, send GONE to all
 * @OAEIP_YIELDED: a local node belongs to @zone now: send GONE to all, keep the
 *	entry
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

#endif /* OAEIP_CLAIM_H */
