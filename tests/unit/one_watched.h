/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One link, with a window or without (one_window.h), its two paths, and its peer by hand: what is
 * taken to be a frame that went by the path in use, and a loss there. Included by one file a
 * program.
 */
#ifndef OAE_ONE_WATCHED_H
#define OAE_ONE_WATCHED_H

#include "one_window.h"
#include "../../modoae/link/path.h"

#define KEEPALIVE	(100 * MS)

static struct oae_paths ps;
static struct oae_loss_way *out, *in;	/* of the path in use */

static inline void two_paths(void)
{
	oae_paths_init(&ps, &l, 1500, true, now);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	out = &ps.path[0].loss.way[OAE_LOSS_OUT];
	in = &ps.path[0].loss.way[OAE_LOSS_IN];
	/* Frames that were sent before the path was in use do not count any more. */
	now += KEEPALIVE;
}

static inline int two(void **state)
{
	open_link(state);
	two_paths();
	return 0;
}

/* The same, with a window. */
static inline int wide(void **state)
{
	open_window(state);
	two_paths();
	l.srtt = 2 * MS;
	return 0;
}

#define WATCH_TEST(test)	UNIT_TEST(test, two, NULL)
#define WIDE_TEST(test)		UNIT_TEST(test, wide, NULL)

/* A frame comes by a path, and the link takes it. */
static inline void hear(unsigned int i, struct oae_frame f)
{
	enum oae_state before = l.state;

	oae_watch_heard(&ps, i, &l, &f, now);
	rcv(f);
	oae_watch_stepped(&ps, &l, before, now);
}

static inline void stepped(enum oae_state before)
{
	oae_watch_stepped(&ps, &l, before, now);
}

/* An answer to the last offer, or to one so many attempts before. */
static inline struct oae_frame answer_back(u8 opcode, u16 reason, u8 back)
{
	struct oae_frame f = answer(opcode);

	f.attempt = oae_first_lane(&l)->attempt - back;
	f.reason = reason;
	if (reason == OAE_R_GAP)
		f.gap_map = 2;
	return f;
}

#endif /* OAE_ONE_WATCHED_H */
