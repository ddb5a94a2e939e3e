/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a path loses (doc/architecture.md, *Which path an end chooses*): a path that is up and is
 * answered, and loses a frame in two hundred, is to be found. Pure; pathloss.c.
 */
#ifndef OAE_PATHLOSS_H
#define OAE_PATHLOSS_H

#include "link.h"

/**
 * struct oae_path_loss - what a path loses of this end's questions, or of their answers
 * @until: lossy, and not in use: until then
 * @sent: frames that were judged, of the last 8 to 16 thousand
 * @lost: losses among them
 * @clean: frames judged since the path was found lossy
 * @score: 512 for each loss, less 1 for each frame; 0 at least
 * @row: how often it was found lossy, unless it has carried many frames since
 * @probes: 8 for each probe that was missed, less 1 for each that was answered
 * @lossy: it loses more than it may
 */
struct oae_path_loss {
	u64 until;
	u32 sent;
	u32 lost;
	u32 clean;
	u16 score;
	u8 row;
	u8 probes;
	bool lossy;
};

void oae_loss_frames(struct oae_path_loss *p, unsigned int frames);
void oae_loss_lost(struct oae_path_loss *p);
void oae_loss_undone(struct oae_path_loss *p);
void oae_loss_missed(struct oae_path_loss *p);
void oae_loss_answered(struct oae_path_loss *p);
void oae_loss_time(struct oae_path_loss *p, bool used, u64 keepalive, u64 now);
unsigned int oae_loss_shown(const struct oae_path_loss *p);

#endif /* OAE_PATHLOSS_H */
