// SPDX-License-Identifier: GPL-2.0
/*
 * What a path loses (doc/architecture.md, *Which path an end chooses*): when is it so much that
 * another one is better? Pure, see pathloss.h.
 *
 * Page's test (CUSUM) of "one frame of 2000 is lost" (q = 0.05 %) against "one of 200"
 * (p = 0.5 %). The logarithm of the ratio of the two likelihoods grows with a loss by
 * ln(p/q) = ln 10 = 2.30, and shrinks with a frame that is not lost by p - q = 0.0045,
 * which is a 512th of that. So the score is 512 for each loss, less 1 for each frame,
 * never below 0, and the path is lossy at 10 losses' worth. It remembers no more than
 * 10 * 512 frames: what is longer ago is forgotten, unless it goes on.
 *
 * False alarms. That a test which begins at a certain frame says "lossy" has a
 * probability of 10^-10 at most if q is what is lost (Wald), and one test begins with
 * each frame. So among n frames it is n * 10^-10 at most: in an hour of 1000 frames a
 * second 0.00036. If one frame of 10000 is lost, which is a bad cable still, the score
 * is e^(y/512) times as unlikely for each 1 that it is higher, with y the root of
 * 0.0001 * (e^(y + y/512) - 1) = e^(y/512) - 1, which is 4.46: e^-44.6 at 10 losses, and in
 * an hour of 100000 frames a second 360000000 * e^-44.6 = 1.5 * 10^-11.
 *
 * Detection. At 0.5 % the score grows by 513 * 0.005 - 1 = 1.57 a frame, so that 10 *
 * 512 are reached after 3300 frames, 16 losses. Up to 1 of 513 lost it does not grow.
 *
 * Congestion. What a queue loses says nothing of the path, and cannot be told from the
 * rest by looking at one loss. But a queue that loses is full, and then the round trip is
 * long: pathcount.c tells of no frame at such a time.
 *
 * Probes of a path that is not in use are few: 8 for each that is missed, less 1 for
 * each that is answered, and the path is lossy at 32, if more than every ninth is
 * missed. If one of 1000 is missed on a good path, the same arithmetic gives e^-25 for
 * each probe: one false alarm in 70 billion.
 */
#include "pathloss.h"

#define LOSS_WORTH	512	/* frames without a loss that make up for one with */
#define LOSS_MOST	(10 * LOSS_WORTH)
#define LOSS_SHOWN	16384	/* frames that the measured loss is of, at most */
#define LOSS_CLEAN	65536	/* frames after which earlier alarms are forgotten */
#define PROBE_WORTH	8
#define PROBE_MOST	(4 * PROBE_WORTH)
#define LOSS_WAIT	64	/* keepalive times until a lossy path is tried again */
#define LOSS_WAITS	6	/* and how often that doubles */

static void loss_found(struct oae_path_loss *p)
{
	if (p->lossy)
		return;
	p->lossy = true;
	p->clean = 0;
	if (p->row <= LOSS_WAITS)
		p->row++;
}

/**
 * oae_loss_frames() - the peer has said of frames that went by a path whether they were heard
 * @p: what the path loses
 * @frames: how many; of those that were not, oae_loss_lost() follows
 *
 * A path that is in use although it is lossy is so no more once all of that is made up
 * for.
 */
void oae_loss_frames(struct oae_path_loss *p, unsigned int frames)
{
	p->sent += frames;
	if (p->sent >= LOSS_SHOWN) {
		p->sent /= 2;
		p->lost /= 2;
	}
	p->score -= frames < p->score ? frames : p->score;
	if (p->clean < LOSS_CLEAN)
		p->clean += frames;
	else
		p->row = p->lossy;
	if (p->clean < LOSS_MOST || p->score)
		return;
	p->lossy = false;
	p->until = 0;
	p->probes = 0;
}

/**
 * oae_loss_lost() - a frame was lost that went by a path, or its answer
 * @p: what the path loses
 */
void oae_loss_lost(struct oae_path_loss *p)
{
	p->lost++;
	p->score += LOSS_WORTH;
	if (p->score < LOSS_MOST)
		return;
	p->score = LOSS_MOST;
	loss_found(p);
}

/**
 * oae_loss_undone() - the last loss was none
 * @p: what the path loses
 */
void oae_loss_undone(struct oae_path_loss *p)
{
	if (p->lost)
		p->lost--;
	p->score -= p->score < LOSS_WORTH ? p->score : LOSS_WORTH;
}

/**
 * oae_loss_missed() - a probe of a path was not answered
 * @p: what the path loses
 */
void oae_loss_missed(struct oae_path_loss *p)
{
	p->probes += PROBE_WORTH;
	if (p->probes < PROBE_MOST)
		return;
	p->probes = PROBE_MOST;
	loss_found(p);
}

/**
 * oae_loss_answered() - a probe of a path was answered
 * @p: what the path loses
 */
void oae_loss_answered(struct oae_path_loss *p)
{
	if (p->probes)
		p->probes--;
}

/**
 * oae_loss_time() - a path that is not in use is lossy for a time only: nothing tells that
 *	it has been mended but to use it
 * @p: what the path loses
 * @used: it is in use
 * @keepalive: the knob, ns
 * @now: ns
 *
 * The time begins when the path is left, and doubles with each time that it is found
 * lossy. Then it is as good as a new one.
 */
void oae_loss_time(struct oae_path_loss *p, bool used, u64 keepalive, u64 now)
{
	u8 row = p->row;

	if (!p->lossy)
		return;
	if (used || !p->until) {
		p->until = now + (LOSS_WAIT * keepalive << (row - 1));
		return;
	}
	if (now < p->until)
		return;
	memset(p, 0, sizeof(*p));
	p->row = row;
}

/**
 * oae_loss_shown() - the loss of a path, as measured
 * @p: what the path loses
 *
 * Return: losses among 100000 frames.
 */
unsigned int oae_loss_shown(const struct oae_path_loss *p)
{
	return p->sent ? p->lost * 100000 / p->sent : 0;
}
