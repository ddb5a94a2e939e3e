/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a path loses (doc/protocol.md section 4.14, *Loss*): a path that is up and is
 * answered, and loses a frame in two hundred, is to be found. Pure; pathloss.c.
 */
#ifndef OAE_PATHLOSS_H
#define OAE_PATHLOSS_H

#include "link.h"

/**
 * struct oae_loss_way - what is lost of the offers of one end, or of their answers
 * @sent: frames that were judged, of the last 8 to 16 thousand
 * @lost: losses among them
 * @score: 512 for each loss, less 1 for each frame; 0 at least
 * @since: numbers offered since the last loss, at most 65535
 * @was_since: what that was before the last loss
 * @peak: how many were under way at the last loss; 0 there was none
 * @was_peak: what that was before
 * @judged: the last frame was judged
 */
struct oae_loss_way {
	u32 sent;
	u32 lost;
	u16 score;
	u16 since;
	u16 was_since;
	u8 peak;
	u8 was_peak;
	bool judged;
};

enum oae_loss_whose { OAE_LOSS_OUT, OAE_LOSS_IN, OAE_LOSS_WAYS };

/**
 * struct oae_path_loss - what a path loses
 * @way: of this end's offers, of the peer's
 * @until: lossy, and not in use: until then
 * @clean: frames judged since the path was found lossy
 * @row: how often it was found lossy, unless it has carried many frames since
 * @probes: 8 for each probe that was missed, less 1 for each that was answered
 * @lossy: it loses more than it may
 */
struct oae_path_loss {
	struct oae_loss_way way[OAE_LOSS_WAYS];
	u64 until;
	u32 clean;
	u8 row;
	u8 probes;
	bool lossy;
};

void oae_loss_frames(struct oae_path_loss *p, enum oae_loss_whose whose, unsigned int frames,
		     unsigned int under_way);
bool oae_loss_lost(struct oae_path_loss *p, enum oae_loss_whose whose, unsigned int under_way);
void oae_loss_undone(struct oae_path_loss *p, enum oae_loss_whose whose);
void oae_loss_not_lost(struct oae_path_loss *p, enum oae_loss_whose whose);
void oae_loss_missed(struct oae_path_loss *p);
void oae_loss_answered(struct oae_path_loss *p);
void oae_loss_time(struct oae_path_loss *p, bool used, u64 keepalive, u64 now);
unsigned int oae_loss_shown(const struct oae_path_loss *p);

#endif /* OAE_PATHLOSS_H */
