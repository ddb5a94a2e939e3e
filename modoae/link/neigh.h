/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Neighbours: the hosts heard on the segments of this one's ports, and when it says
 * that it is there (protocol 4.13). Pure, see neigh.c. Times are in ns, of one clock.
 */
#ifndef OAE_NEIGH_H
#define OAE_NEIGH_H

#include "way.h"

/* An id below this could be taken for a MAC, and is none. */
#define OAE_ID_LEAST		0x1000000000000ULL

#define OAE_NEIGH_MOST		1024	/* entries a namespace */
#define OAE_NEIGH_AN_ID		16	/* of them, of one id */
#define OAE_NEIGH_NEW_PPS	100	/* new entries a second */

#define OAE_NEIGH_MS		1000000ULL
#define OAE_NEIGH_S		(1000 * OAE_NEIGH_MS)
#define OAE_NEIGH_LIFE		(240 * OAE_NEIGH_S)	/* silence that is too long */

/**
 * struct oae_neigh - what was heard of a host at one port, from one address
 * @id: the id that the host says it has
 * @inc: its incarnation
 * @heard: when it was heard last, ns
 * @mtu: bytes behind the Ethernet header that its port carries
 * @again: it was heard more than once
 */
struct oae_neigh {
	u64 id;
	u64 inc;
	u64 heard;
	u16 mtu;
	bool again;
};

/**
 * struct oae_rivals - who else has the id that a HELLO claims
 * @same: an entry that is not stale has this id and this incarnation
 * @other: an entry that is not stale has this id and another incarnation
 * @own: the id is that of this node
 * @own_inc: incarnation of this node
 */
struct oae_rivals {
	bool same;
	bool other;
	bool own;
	u64 own_inc;
};

/* What becomes of a HELLO of a host. */
enum oae_heard {
	OAE_HEARD_NOTHING,	/* nothing to do */
	OAE_HEARD_SAME,		/* as before */
	OAE_HEARD_NEW,		/* a host that was not known here */
	OAE_HEARD_CHANGED,	/* it has another id, incarnation or MTU */
	OAE_HEARD_LEFT,		/* it has left: the entry is to go */
	OAE_HEARD_CONFLICT,	/* the id is another's, or the address is */
};

u64 oae_id_of_mac(const u8 *mac);
enum oae_hello oae_hello_check_node(const u8 *own, const u8 *from,
				    const struct oae_frame *f);
bool oae_neigh_stale(const struct oae_neigh *e, u64 now);
enum oae_heard oae_neigh_hear(struct oae_neigh *e, const struct oae_rivals *who,
			      const struct oae_frame *f, u64 now);

/**
 * struct oae_announce - when a port says that its host is there; all zeros: not at all
 * @at: when it does so next, ns; 0 not planned
 * @last: when it did so last, ns; 0 never
 * @again: the port came up just now: it repeats what may have been lost
 */
struct oae_announce {
	u64 at;
	u64 last;
	bool again;
};

void oae_announce_up(struct oae_announce *a, u64 now, u32 random);
void oae_announce_answer(struct oae_announce *a, u64 now, u32 random);
bool oae_announce_due(struct oae_announce *a, u64 now, u32 random);

#endif /* OAE_NEIGH_H */
