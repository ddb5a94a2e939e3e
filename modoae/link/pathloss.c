// SPDX-License-Identifier: GPL-2.0
/*
 * What a path loses (doc/protocol.md section 4.14, *Loss*): when is it so much that
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
 * rest by looking at one loss. But a queue loses when too many are under way, and the
 * initiator then halves that (protocol 4.11): what is lost before there are three
 * quarters as many again was not lost by the queue. Nor is it if there are a few only,
 * or if five times as many numbers have been offered since as it takes the window to grow
 * back, which is 3/8 of its square. Other frames are not judged: neither they, nor a loss
 * among them. All losses of one window are one, as for the window itself.
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
#define LOSS_FEW	4	/* under way: no queue is full with them */
#define LOSS_CLEAN	65536	/* frames after which earlier alarms are forgotten */
#define PROBE_WORTH	8
#define PROBE_MOST	(4 * PROBE_WORTH)
#define LOSS_WAIT	64	/* keepalive times until a lossy path is tried again */
#define LOSS_WAITS	6	/* and how often that doubles */

/* Does a loss, with so many under way, say something of the path? */
static bool loss_tells(const struct oae_loss_way *w, unsigned int under_way)
{
	return under_way <= LOSS_FEW || 4 * under_way <= 3U * w->peak ||
	       w->since >= 2U * w->peak * w->peak;
}

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
 * oae_loss_frames() - frames of an offer go by a path, or come by it
 * @p: what the path loses
 * @whose: this end's offer, or the peer's
 * @frames: how many
 * @under_way: numbers offered, and not committed
 *
 * A path that is in use although it is lossy is so no more once all of that is made up
 * for.
 */
void oae_loss_frames(struct oae_path_loss *p, enum oae_loss_whose whose, unsigned int frames,
		     unsigned int under_way)
{
	struct oae_loss_way *w = &p->way[whose];

	w->judged = loss_tells(w, under_way);
	if (w->since < 65535)
		w->since++;
	if (!w->judged)
		return;
	w->sent += frames;
	if (w->sent >= LOSS_SHOWN) {
		w->sent /= 2;
		w->lost /= 2;
	}
	w->score -= frames < w->score ? frames : w->score;
	if (p->clean < LOSS_CLEAN)
		p->clean += frames;
	else
		p->row = p->lossy;
	if (p->clean < LOSS_MOST || p->way[OAE_LOSS_OUT].score || p->way[OAE_LOSS_IN].score)
		return;
	p->lossy = false;
	p->until = 0;
	p->probes = 0;
}

/**
 * oae_loss_lost() - a frame was lost that went by a path, or came by it, or its answer
 * @p: what the path loses
 * @whose: this end's offer, or the peer's
 * @under_way: numbers offered, and not committed
 *
 * Return: true if it counts.
 */
bool oae_loss_lost(struct oae_path_loss *p, enum oae_loss_whose whose, unsigned int under_way)
{
	struct oae_loss_way *w = &p->way[whose];
	bool judged = w->judged;

	w->was_peak = w->peak;
	w->was_since = w->since;
	w->peak = under_way < OAE_WINDOW_MAX ? under_way : OAE_WINDOW_MAX;
	w->since = 0;
	if (!judged)
		return false;
	w->lost++;
	w->score += LOSS_WORTH;
	if (w->score >= LOSS_MOST) {
		w->score = LOSS_MOST;
		loss_found(p);
	}
	return true;
}

/**
 * oae_loss_undone() - what seemed to be lost was not, whether that has counted or not: no
 *	queue was full
 * @p: what the path loses
 * @whose: as for that loss
 */
void oae_loss_undone(struct oae_path_loss *p, enum oae_loss_whose whose)
{
	struct oae_loss_way *w = &p->way[whose];
	unsigned int since = w->was_since + w->since;

	w->peak = w->was_peak;
	w->since = since < 65535 ? since : 65535;
	w->was_since = 0;
}

/**
 * oae_loss_not_lost() - what seemed to be lost was late: take the last loss back
 * @p: what the path loses
 * @whose: as for that loss
 */
void oae_loss_not_lost(struct oae_path_loss *p, enum oae_loss_whose whose)
{
	struct oae_loss_way *w = &p->way[whose];

	if (w->lost)
		w->lost--;
	w->score -= w->score < LOSS_WORTH ? w->score : LOSS_WORTH;
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

static unsigned int loss_way_shown(const struct oae_loss_way *w)
{
	return w->sent ? w->lost * 100000 / w->sent : 0;
}

/**
 * oae_loss_shown() - the loss of a path, as measured
 * @p: what the path loses
 *
 * Return: losses among 100000 frames, of that way which loses more.
 */
unsigned int oae_loss_shown(const struct oae_path_loss *p)
{
	unsigned int out = loss_way_shown(&p->way[OAE_LOSS_OUT]);
	unsigned int in = loss_way_shown(&p->way[OAE_LOSS_IN]);

	return out > in ? out : in;
}
