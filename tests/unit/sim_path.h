/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the shell does with paths (modoae/tag/path.c, pathlook.c), around the two links of the
 * simulation, but for their MTU. The lines are between the same two ports for all that a
 * run does. Of sim.h's hooks sim_path_before() is the test's: which strangers are let in.
 */
#ifndef OAE_SIM_PATH_H
#define OAE_SIM_PATH_H

#include "sim.h"

#define SIM_LINES	4		/* two bits of sim_pkt.by_line */
#define SIM_NAMES	8		/* addresses of a port, in turns: three bits */

/**
 * struct sim_line - a line, and the port at each end of it
 * @to: what it does to frames
 * @up: the carrier at each end
 * @there: the port is bound
 * @higher: the address of B is that of the senior
 * @name: which address the port's frames come from
 * @device: and which the device has
 */
struct sim_line {
	struct sim_faults to[2];
	bool up[2];
	bool there[2];
	bool higher;
	u8 name[2];
	u8 device[2];
};

/* What a line is like. */
enum sim_weather {
	SIM_FINE, SIM_CUT, SIM_ONE_WAY, SIM_LOSSY, SIM_LOSSY_ONE_WAY, SIM_SHORT, SIM_SLOW,
	SIM_NO_CARRIER, SIM_WEATHER_END
};

/**
 * struct sim_paths - the paths of an end, as in struct oae_tag_paths
 * @knob: how many it may have
 * @begun: there is more than the own one, or was
 * @ps: the rules
 * @line: where a path leads
 * @peer: the address there
 * @was: that the peer knows of this end, plus 1; 0 the same as ever
 * @looked_at: when it has last looked for lines without a path
 * @arrived: the path by which the frame came that the link is about to take
 * @believed: admission has let it in
 * @next_line: the tag to be made is for this one
 * @next_peer: and this address there
 */
struct sim_paths {
	unsigned int knob;
	bool begun;
	struct oae_paths ps;
	unsigned int line[OAE_PATHS_MAX];
	u8 peer[OAE_PATHS_MAX];
	u8 was;
	u64 looked_at;
	unsigned int arrived;
	bool believed;
	unsigned int next_line;
	u8 next_peer;
};

/**
 * struct sim_user - who has a transaction under way at an end most of the time
 * @at: that one, or NULL
 * @think: until then there is nothing to post
 * @good_at: since then all has been good, or something committed
 */
struct sim_user {
	struct sim_tx *at;
	u64 think;
	u64 good_at;
};

/**
 * struct sim_path_sums - what has happened to paths in many runs
 * @turned: another one is in use
 * @slowest: that a commit took while all was good
 * @slowest_seed: and where
 */
struct sim_path_sums {
	unsigned long turned;
	u64 slowest, slowest_seed;
};

extern unsigned int sim_nlines;
extern struct sim_line sim_lines[SIM_LINES];
extern struct sim_paths sim_paths[2];
extern struct sim_user sim_users[2];
extern struct sim_path_sums sim_path_sums;

static inline struct sim_paths *sim_paths_of(const struct sim_end *e)
{
	return &sim_paths[e->who];
}

/* sim_lines.c: lines */
void sim_lines_init(unsigned int nlines);
bool sim_line_up(const struct sim_end *e, unsigned int line);
void sim_line_put(struct sim_end *e, unsigned int line, u8 to, const struct oae_frame *f,
		  const u8 *more, u16 n);
void sim_line_calm(struct sim *w, unsigned int line);
void sim_line_weather(struct sim *w, unsigned int line, enum sim_weather weather, u16 hole);
void sim_line_good(struct sim *w, unsigned int line);
void sim_line_carrier(struct sim_end *e, unsigned int line, bool up);
void sim_line_review(struct sim_end *e, unsigned int line, const char *what);

/* sim_path.c: which paths there are, and what becomes of frames */
void sim_paths_begin(struct sim_end *e);
unsigned int sim_paths_count(const struct sim_paths *pe);
unsigned int sim_path_of(const struct sim_end *e, unsigned int line, u8 peer);
int sim_path_add(struct sim_end *e, unsigned int line, u8 peer, bool heard, bool pair);
void sim_path_rank(struct sim_end *e);
void sim_path_probe(struct sim_end *e, unsigned int i);
bool sim_path_came(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f);
bool sim_paths_proven(void);

/* sim_lines.c: users */
void sim_user_ended(struct sim *w, unsigned int i, u64 think);
bool sim_user_is_busy(const struct sim *w, unsigned int i);
void sim_user_posts(struct sim *w, unsigned int i);
void sim_users_live(struct sim *w, u64 until, u64 soon, u64 seed);
void sim_users_know_all(struct sim *w, u64 within, u64 soon, u64 seed);

/* By the test: is this outcome one that may be? What the users do now. */
void sim_user_judge(struct sim *w, const struct sim_tx *tx);
void sim_users_act(struct sim *w);
/* For sim_line_weather(): how long frames take by a line. */
H_OPTIONAL void sim_line_delay(struct sim *w, unsigned int line, struct sim_faults *to);
/* Optional: look whether all is well; @soon as in sim_users_live(). */
H_OPTIONAL void sim_users_look(struct sim *w, u64 soon);
/* Optional: the timer has fired, and there may be too many paths. */
H_OPTIONAL void sim_paths_shrink(struct sim_end *e, struct oae_actions *a);

#endif /* OAE_SIM_PATH_H */
