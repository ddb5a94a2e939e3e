/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link and its paths as one: an event goes in, and the rules of the link and those of its
 * paths are asked in the order that doc/protocol.md section 4.14 wants. Pure, see link.h.
 * The module, the explorer, the simulations and the fuzzers run events through here.
 *
 *	oae_conn_begin()	an event begins
 *	oae_conn_heard()	a frame has come by a path: is it believed there?
 *	oae_conn_rcv()		if so: the link takes it
 *	oae_conn_timer()	the timer has fired, and oae_link_timer() knows
 *	oae_conn_...()		what else happens to a path
 *	oae_conn_end()		the ops are carried out, and the frames go out next
 *	oae_conn_out()		the paths that each of them goes by
 *
 * What happens to the link alone is a call of link.h between the first and the last two.
 */
#ifndef OAE_CONN_H
#define OAE_CONN_H

#include "path.h"

/**
 * struct oae_conn - an event of a link with its paths
 * @link: the link
 * @paths: its paths; NULL as long as it has its own one alone
 * @own_mtu: the own path is in use again, and the caller knows what that carries now: it calls
 *	oae_link_set_mtu(); NULL: struct oae_path says it
 * @before: state of the link before the event
 * @back: index of the path by which the frame came that the event is about; -1 none
 * @turned: how often another path was taken into use
 */
struct oae_conn {
	struct oae_link *link;
	struct oae_paths *paths;
	void (*own_mtu)(struct oae_conn *c);
	enum oae_state before;
	s8 back;
	u8 turned;
};

/**
 * oae_conn_begin() - begin an event
 * @c: filled in
 * @l: the link
 * @ps: its paths, or NULL; they may come into being in the midst of the event
 * @now: by the event's clock, ns
 *
 * Return: the time of the event, ns: with paths not before that of the last one (architecture.md,
 * *The clock*). The link by itself looks to that, but timers are armed by the clock.
 */
static inline u64 oae_conn_begin(struct oae_conn *c, struct oae_link *l, struct oae_paths *ps,
				 u64 now)
{
	c->link = l;
	c->paths = ps;
	c->own_mtu = NULL;
	c->before = oae_link_state(l);
	c->back = -1;
	c->turned = 0;
	return ps ? oae_paths_now(ps, l, now) : now;
}

/* A frame. */
bool oae_conn_heard(struct oae_conn *c, unsigned int i, const struct oae_frame *f, u64 now,
		    struct oae_actions *a);
void oae_conn_taken(struct oae_conn *c, unsigned int i, const struct oae_frame *f, u64 now,
		    struct oae_actions *a);
void oae_conn_stepped(struct oae_conn *c, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);
bool oae_conn_path_rcv(struct oae_conn *c, unsigned int i, const struct oae_frame *f, u64 now,
		       struct oae_actions *a);

/**
 * oae_conn_rcv() - the link takes a frame that oae_conn_heard() lets it take
 * @c: the event
 * @f: the frame
 * @room: as for oae_link_rcv()
 * @now: ns
 * @a: actions
 */
static inline void oae_conn_rcv(struct oae_conn *c, const struct oae_frame *f, u32 room, u64 now,
				struct oae_actions *a)
{
	oae_link_rcv(c->link, f, room, now, a);
	if (c->paths)
		oae_conn_stepped(c, f, now, a);
}

/* The timer. */
unsigned int oae_conn_timer(struct oae_conn *c, u64 nonce, u64 now, struct oae_actions *a);
bool oae_conn_back(struct oae_conn *c, u64 now, struct oae_actions *a);

/* A path changes. */
void oae_conn_turned(struct oae_conn *c, u64 now, struct oae_actions *a);
bool oae_conn_review(struct oae_conn *c, unsigned int i, bool up, bool same, u64 now,
		     struct oae_actions *a);
void oae_conn_reviewed(struct oae_conn *c, bool came, u64 now, struct oae_actions *a);
void oae_conn_renaming(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a);
void oae_conn_renamed(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a);
void oae_conn_goes(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a);
void oae_conn_move(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a);

/* The end. */
void oae_conn_end(struct oae_conn *c);

/**
 * oae_conn_out() - the paths that a frame goes by
 * @c: the event, which has ended
 * @f: the frame
 *
 * Return: a set of indices, OAE_PATH_OWN's alone if there are no others.
 */
static inline unsigned int oae_conn_out(const struct oae_conn *c,
					const struct oae_frame *f)
{
	if (!c->paths)
		return 1U << OAE_PATH_OWN;
	return oae_paths_out(c->paths, c->link, f, c->back, c->before);
}

#endif /* OAE_CONN_H */
