/* SPDX-License-Identifier: GPL-2.0 */
/* One link with three paths, by which its rules can be tried one by one; see one_link.h. */
#ifndef OAE_TEST_THREE_PATHS_H
#define OAE_TEST_THREE_PATHS_H

#include "../../modoae/link/path.h"
#include "one_link.h"

#define KEEPALIVE	(100 * MS)
#define ALL		0x7		/* the paths of three() */

static struct oae_paths ps;

static inline bool heard_is(unsigned int i, struct oae_frame f, bool v)
{
	return oae_path_heard(&ps, i, &l, &f) == v;
}

static inline bool stepped(unsigned int i, struct oae_frame f, enum oae_state before)
{
	return oae_path_stepped(&ps, i, &l, &f, before, now);
}

static inline unsigned int out(u8 opcode, int back, enum oae_state before)
{
	const struct oae_frame f = { .opcode = opcode };

	return oae_paths_out(&ps, &l, &f, back, before);
}

/* A path is probed, and 1 ms later the answer is here. */
static inline void prove(unsigned int i)
{
	oae_path_probed(&ps, i, 1000 + i, now);
	now += MS;
	assert_true(oae_path_answered(&ps, i, 1000 + i, now));
}

/* The link is OPEN and junior, and has two other paths, which are proven. */
static inline int three(void **state)
{
	open_link(state);
	l.paths = true;
	l.peer.paths = true;
	memset(&ps, 0xa5, sizeof(ps));
	oae_paths_init(&ps, &l, 1500, true, now);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	assert_int_equal(oae_path_add(&ps, 1500, true), 2);
	prove(1);
	prove(2);
	now += 10 * KEEPALIVE;
	return 0;
}

#define PATH_TEST(test)	UNIT_TEST(test, three, NULL)

#endif /* OAE_TEST_THREE_PATHS_H */
