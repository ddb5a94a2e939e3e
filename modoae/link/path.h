/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths (doc/protocol.md section 4.14): which of several pairs of a port here and an
 * address there the frames of a link go by. Pure: where a path leads is the caller's.
 */
#ifndef OAE_PATH_H
#define OAE_PATH_H

#include "link.h"
#include "pathloss.h"

#define OAE_PATHS_MAX	8
#define OAE_PATH_OWN	0	/* the path by which the link is found in the table */
#define OAE_PATH_MISSES	2	/* probes in a row without an answer: the path is silent */

/* How much a path is wanted, by hand. */
enum oae_path_rank {
	OAE_PATH_AVOID = -1,	/* only if there is no other */
	OAE_PATH_NORMAL,
	OAE_PATH_PREFERRED,
};

/* Why the path in use is that. */
enum oae_path_why {
	OAE_WHY_OWN,		/* the link began with it */
	OAE_WHY_RANK,		/* by hand */
	OAE_WHY_CARRIER,	/* the port of another went down */
	OAE_WHY_SILENCE,	/* by another nothing came through */
	OAE_WHY_LOSS,		/* another was lossy */
	OAE_WHY_BACK,		/* another took its place for a while */
	OAE_WHY_MTU,		/* it carries longer frames than another */
	OAE_WHY_SPREAD,		/* links of a pair share the paths that are as good */
	OAE_WHY_PEER,		/* the peer uses it */
	OAE_WHY_END
};

/**
 * struct oae_path - one path of a link
 * @there: in use: the caller knows where it leads
 * @proven: this incarnation of the peer was heard to be at its other end, and knows the
 *	address here
 * @good: the last probe was answered; of the path in use: nothing has failed
 * @via: it goes through a gateway
 * @up: the port here carries frames
 * @rank: enum oae_path_rank
 * @missed: probes in a row that were not answered
 * @mtu: bytes behind the Ethernet header that its port carries, VIA not counted
 * @far: the same at its other end, as the peer has said there last; 0 unknown
 * @pmtu: the longest frame that gets through, if that is less (4.17); 0 all do. Of the path in
 *	use it is in the link
 * @pmtu_at: when that was found, ns
 * @heard: the peer's ltag, as last heard here; 0 never
 * @nonce: of the probe under way; 0 none
 * @probed_at: when the last probe was sent, ns
 * @rtt: round trip of the last probe answered, ns; 0 unmeasured
 * @wait: from a failure until this end goes back to the path, ns; doubles with each
 * @not_before: no return before, ns
 * @used_at: when it was last taken into use, ns
 * @good_at: since when its probes are answered, ns
 * @loss: what it loses
 */
struct oae_path {
	bool there : 1;
	bool proven : 1;
	bool good : 1;
	bool via : 1;
	bool up;
	s8 rank;
	u8 missed;
	u16 mtu;
	u16 far;
	u16 pmtu;
	u32 heard;
	u64 nonce;
	u64 probed_at;
	u64 rtt;
	u64 wait;
	u64 not_before;
	u64 used_at;
	u64 good_at;
	u64 pmtu_at;
	struct oae_path_loss loss;
};

/**
 * struct oae_path_count - which questions of this run the peer has heard (pathcount.c)
 * @newest: number of the newest that it has heard, 0 none
 * @heard: bit n set: newest - 1 - n was heard
 * @since: those after this one went by the path in use
 * @known: losses up to this one are part of one that is counted
 * @counts: the last loss counts, and may be taken back
 */
struct oae_path_count {
	u32 newest;
	u32 heard;
	u32 since;
	u32 known;
	bool counts;
};

/**
 * struct oae_paths - the paths of a link
 * @inc: this end's incarnation, after the last event
 * @peer_inc: the peer's that they are proven for; 0 none was known yet
 * @claimed: that of somebody who may be the peer, and has asked from elsewhere when none was
 *	known yet; 0 nobody
 * @claimed_start: its tx before its first transaction
 * @down: the link is, after the last event
 * @gone: another incarnation of the peer is believed, unless this one was heard since @gone_at
 * @gone_asks: how often it was asked since then
 * @gone_at: when another was heard elsewhere first, and it was not heard since, ns
 * @agreed: in this run the peer has shown that it uses the path that this end uses; of use
 *	only if the ends do not both take paths
 * @home: index of the path by which the peer has this link as by its own: at first the own
 *	one, later that by which this incarnation of it has resolved first
 * @used: index of the path that this end's own frames go by; the peer chooses for itself
 * @asked: index of the path by which the peer's newest question came
 * @why: and why, enum oae_path_why
 * @other: index of the path by which the peer has answered, and not by that in use
 * @leave_at: that is left then, unless it is answered by it before, ns; 0 not
 * @limit: index of the path whose @pmtu is in the link; OAE_PATHS_MAX: it is gone
 * @count: what is known of losses
 * @path: the paths; OAE_PATH_OWN is always there
 */
struct oae_paths {
	u64 inc;
	u64 peer_inc;
	u64 claimed;
	u32 claimed_start;
	bool down;
	bool gone;
	u8 gone_asks;
	bool agreed;
	u8 home;
	u8 used;
	u8 asked;
	u8 why;
	u8 other;
	u8 limit;
	u64 gone_at;
	u64 leave_at;
	struct oae_path_count count;
	struct oae_path path[OAE_PATHS_MAX];
};

/* What a path carries from here on, bytes behind the Ethernet header, as PATH and SYNC say. */
static inline u16 oae_path_carries(const struct oae_path *p)
{
	return p->pmtu && p->pmtu < p->mtu ? p->pmtu : p->mtu;
}

/* What a path carries, both ways. */
static inline u16 oae_path_mtu(const struct oae_path *p)
{
	u16 mtu = oae_path_carries(p);

	return p->far && p->far < mtu ? p->far : mtu;
}

/* Does an end ask by this path? */
static inline bool oae_path_busy(const struct oae_paths *ps, unsigned int i)
{
	return i == ps->used || i == ps->asked;
}

/* path.c: which there are */
void oae_paths_init(struct oae_paths *ps, const struct oae_link *l, u16 mtu, bool up,
		    u64 now);
int oae_path_add(struct oae_paths *ps, u16 mtu, bool up);
void oae_path_del(struct oae_paths *ps, unsigned int i);
void oae_path_set_mtu(struct oae_path *p, u16 mtu);
void oae_paths_pair(struct oae_paths *ps, const struct oae_link *l);
void oae_path_renamed(struct oae_paths *ps, unsigned int i);
bool oae_paths_move(struct oae_paths *ps, unsigned int i, u64 now);
u64 oae_paths_now(struct oae_paths *ps, struct oae_link *l, u64 now);
bool oae_path_hopeless(const struct oae_paths *ps, unsigned int i, const struct oae_link *l);
bool oae_path_was_used(const struct oae_paths *ps, unsigned int i);
bool oae_path_nobody(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     u64 now);
unsigned int oae_path_spare(const struct oae_paths *ps, bool heard);

/* pathheard.c: a frame that comes by one */
bool oae_path_claim(const struct oae_paths *ps, const struct oae_link *l, u64 inc,
		    u64 peer_inc);
bool oae_path_gone(struct oae_paths *ps, struct oae_link *l, u64 now, struct oae_actions *a);
bool oae_path_is_strange(const struct oae_paths *ps, unsigned int i,
			 const struct oae_link *l, const struct oae_frame *f);
bool oae_path_heard(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		    const struct oae_frame *f);
void oae_path_claimed(struct oae_paths *ps, const struct oae_frame *f);
void oae_path_name_claimed(const struct oae_paths *ps, struct oae_frame *f);
void oae_path_asked(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		    const struct oae_frame *f);
u32 oae_path_names(const struct oae_paths *ps, unsigned int i, const struct oae_link *l);
bool oae_path_stepped(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		      const struct oae_frame *f, enum oae_state before, u64 now);

/* by which a frame goes */
unsigned int oae_paths_all(const struct oae_paths *ps, const struct oae_link *l);
unsigned int oae_paths_out(const struct oae_paths *ps, const struct oae_link *l,
			   const struct oae_frame *f, int back, enum oae_state before);

/* probes */
bool oae_path_due(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		  u64 now);
void oae_path_probed(struct oae_paths *ps, unsigned int i, u64 nonce, u64 now);
bool oae_path_answered(struct oae_paths *ps, unsigned int i, u64 nonce, u64 now);

/* pathuse.c: which is in use */
void oae_path_use(struct oae_paths *ps, unsigned int i, enum oae_path_why why, u64 now);
void oae_path_fail(struct oae_path *p, u64 keepalive, u64 now);
bool oae_path_failed(struct oae_paths *ps, unsigned int i, const struct oae_link *l, u64 now);
u64 oae_path_answers(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     const struct oae_frame *f, u64 now);
bool oae_paths_silent(struct oae_paths *ps, const struct oae_link *l, u64 now);
bool oae_paths_back(struct oae_paths *ps, const struct oae_link *l, u64 now);

/* pathcount.c: what is lost */
void oae_count_begin(struct oae_paths *ps, const struct oae_link *l);
void oae_count_turned(struct oae_paths *ps, const struct oae_link *l);
void oae_count_heard(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     const struct oae_frame *f);
void oae_count_time(struct oae_paths *ps, const struct oae_link *l, u64 now);

#endif /* OAE_PATH_H */
