// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours: what a HELLO of a host means for what is known of it, and when a port says
 * HELLO (doc/protocol.md section 4.13).
 *
 * Pure: an entry and a frame go in, a verdict comes out. An id is claimed and not proven.
 * So whoever claimed one first keeps it, and an address that has spoken for one host does
 * not speak for another, until what is known has grown stale. Nothing here is used to
 * notice that a host has failed.
 */
#include "neigh.h"

#define UP_DELAY	(100 * OAE_NEIGH_MS)	/* at most, before the first HELLO */
#define UP_EACH		OAE_NEIGH_S		/* from one HELLO to that, at least */
#define UP_AGAIN	(3 * OAE_NEIGH_S)	/* until it is repeated */
#define ANSWER_DELAY	(500 * OAE_NEIGH_MS)	/* at most, before an answer */
#define ANSWER_EACH	(2 * OAE_NEIGH_S)	/* from one HELLO to an answer, at least */
#define SAY_EACH	(45 * OAE_NEIGH_S)	/* from one HELLO to the next, at least */
#define SAY_SPREAD	(30 * OAE_NEIGH_S)	/* and as much longer as this, at most */

/**
 * oae_id_of_mac() - the id of a node to which nobody gave one
 * @mac: address of the first port that it bound
 *
 * Return: the id.
 */
u64 oae_id_of_mac(const u8 *mac)
{
	return OAE_ID_LEAST | (u64)get_unaligned_be16(mac) << 32 |
	       get_unaligned_be32(mac + 2);
}

static bool neigh_is_unicast(const u8 *mac)
{
	return !(mac[0] & 1) && (get_unaligned_be32(mac) || get_unaligned_be16(mac + 4));
}

static bool neigh_well_formed(const u8 *from, const struct oae_frame *f)
{
	return !(f->hello.flags & ~(OAE_HELLO_NODE | OAE_HELLO_LEAVING)) &&
	       neigh_is_unicast(from) && f->hello.id >= OAE_ID_LEAST &&
	       f->hello.node_inc && f->hello.mtu >= OAE_MIN_MTU;
}

/**
 * oae_hello_check_node() - is a HELLO that of a host to its neighbours, and well-formed?
 * @own: the port's address
 * @from: the Ethernet source
 * @f: the frame
 *
 * Return: OAE_HELLO_NOT_TAKEN, OAE_HELLO_BAD or OAE_HELLO_GOOD.
 */
enum oae_hello oae_hello_check_node(const u8 *own, const u8 *from,
				    const struct oae_frame *f)
{
	if (!(f->hello.flags & OAE_HELLO_NODE) ||
	    f->hello.flags & OAE_HELLO_GATEWAY || f->flags & OAE_F_VIA ||
	    !memcmp(from, own, OAE_MAC_LEN))
		return OAE_HELLO_NOT_TAKEN;
	return neigh_well_formed(from, f) ? OAE_HELLO_GOOD : OAE_HELLO_BAD;
}

/**
 * oae_neigh_stale() - was a neighbour silent for so long that it is forgotten?
 * @e: the entry
 * @now: ns
 *
 * Return: true if so.
 */
bool oae_neigh_stale(const struct oae_neigh *e, u64 now)
{
	return (s64)(now - e->heard) > (s64)OAE_NEIGH_LIFE;
}

static enum oae_heard neigh_learn(struct oae_neigh *e, const struct oae_frame *f, u64 now)
{
	bool same = e->id == f->hello.id && e->inc == f->hello.node_inc &&
		    e->mtu == f->hello.mtu;
	bool known = e->id;

	e->again = known;
	e->id = f->hello.id;
	e->inc = f->hello.node_inc;
	e->mtu = f->hello.mtu;
	e->heard = now;
	if (!known)
		return OAE_HEARD_NEW;
	return same ? OAE_HEARD_SAME : OAE_HEARD_CHANGED;
}

/* Is the id of a HELLO in use by another node? */
static bool neigh_taken(const struct oae_rivals *who, const struct oae_frame *f)
{
	if (who->own)
		return f->hello.node_inc != who->own_inc;
	return who->other && !who->same;
}

/**
 * oae_neigh_hear() - handle the HELLO of a host
 * @e: the entry of the port and the sender's address, all zeros if there is none;
 *	updated for SAME, NEW and CHANGED
 * @who: others with the id that the HELLO claims, @e not among them
 * @f: the frame, GOOD by oae_hello_check_node()
 * @now: ns
 *
 * A host that comes back at the same address with the same id has a new incarnation.
 *
 * Return: what was heard.
 */
enum oae_heard oae_neigh_hear(struct oae_neigh *e, const struct oae_rivals *who,
			      const struct oae_frame *f, u64 now)
{
	bool same_id = e->id == f->hello.id;
	bool same_inc = e->inc == f->hello.node_inc;

	if (f->hello.flags & OAE_HELLO_LEAVING)
		return same_id && same_inc ? OAE_HEARD_LEFT : OAE_HEARD_NOTHING;
	/* Another port of this host, on the same segment. */
	if (who->own && f->hello.node_inc == who->own_inc)
		return OAE_HEARD_NOTHING;
	if (e->id && !same_id && !same_inc && !oae_neigh_stale(e, now))
		return OAE_HEARD_CONFLICT;
	if (!(e->id && same_id) && neigh_taken(who, f))
		return OAE_HEARD_CONFLICT;
	return neigh_learn(e, f, now);
}

/* As random as @random, from 0 up to @most. */
static u64 announce_random(u32 random, u64 most)
{
	return (most >> 16) * random >> 16;
}

/* Now, but not before @each has passed since the last HELLO. */
static u64 announce_after(const struct oae_announce *a, u64 each, u64 now)
{
	return a->last && (s64)(a->last + each - now) > 0 ? a->last + each : now;
}

/**
 * oae_announce_up() - the port came up, or what it says of its host has changed
 * @a: when the port says HELLO
 * @now: ns
 * @random: random bits
 */
void oae_announce_up(struct oae_announce *a, u64 now, u32 random)
{
	a->at = announce_after(a, UP_EACH, now) + announce_random(random, UP_DELAY);
	a->again = true;
}

/**
 * oae_announce_answer() - there is a host that does not know this one
 * @a: when the port says HELLO
 * @now: ns
 * @random: random bits
 *
 * One HELLO answers all who came before it is sent.
 */
void oae_announce_answer(struct oae_announce *a, u64 now, u32 random)
{
	u64 at = announce_after(a, ANSWER_EACH, now) + announce_random(random, ANSWER_DELAY);

	if (!a->at || (s64)(at - a->at) < 0)
		a->at = at;
}

/**
 * oae_announce_due() - is it time to say HELLO?
 * @a: when the port does so; if it is time, the next one is planned
 * @now: ns
 * @random: random bits
 *
 * Return: true if so.
 */
bool oae_announce_due(struct oae_announce *a, u64 now, u32 random)
{
	if (!a->at || (s64)(a->at - now) > 0)
		return false;
	a->last = now;
	if (a->again)
		a->at = now + UP_AGAIN;
	else
		a->at = now + SAY_EACH + announce_random(random, SAY_SPREAD);
	a->again = false;
	return true;
}
