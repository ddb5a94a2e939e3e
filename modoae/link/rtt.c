// SPDX-License-Identifier: GPL-2.0
/*
 * The round trip, and the probe timeout that follows from it (doc/architecture.md, *When an answer
 * is late*). Pure, see link.h.
 */
#include "link_int.h"

#define PEAK_TIMES	16	/* keepalive times */

/* The probe timeout @t, at most @max, doubled with each failure that counts. */
u64 oae_pto_doubled(const struct oae_link *l, u64 t, u64 max)
{
	/* The first failure in a row may be just a lost frame: it does not count. */
	unsigned int n = l->backoff, fast = n > 1 ? n - 1 : 0, slow = 0;
	u64 dead = l->cfg->dead;

	if (fast >= OAE_FAST_BACKOFF) {
		slow = (n - OAE_FAST_BACKOFF) / 2;
		fast = OAE_FAST_BACKOFF - 1;
	}
	t <<= fast;
	t = t < max ? t : max;
	/* There is no point in waiting longer than the dead time. */
	dead = t < dead ? dead : t;
	t <<= slow;
	return t < dead ? t : dead;
}

/**
 * oae_link_pto() - the probe timeout, see oae_pto()
 * @l: the link
 *
 * Return: ns.
 */
u64 oae_link_pto(const struct oae_link *l)
{
	return oae_pto(l);
}

/**
 * oae_first_again() - interval between the first SYNC, or CLOSE, and the second
 * @l: the link
 *
 * Return: ns: the probe timeout, at most a quarter of the dead time.
 */
u64 oae_first_again(const struct oae_link *l)
{
	u64 t = oae_pto(l);

	return t < l->cfg->dead / 4 ? t : l->cfg->dead / 4;
}

/* The greatest of the last PEAK_TIMES to twice as many keepalive times: measured once more. */
static void rtt_peak_add(u32 of[2], u64 age, u64 times, u32 v)
{
	if (age >= times) {
		of[1] = age < 2 * times ? of[0] : 0;
		of[0] = 0;
	}
	if (v > of[0])
		of[0] = v;
}

/**
 * oae_rtt_sample() - update the smoothed round trip with a measurement
 * @l: the link
 * @rtt: the measured round trip, ns. One above the dead time is ignored, as that of
 *	a clock that jumped.
 */
void oae_rtt_sample(struct oae_link *l, u64 rtt)
{
	u64 err, times = PEAK_TIMES * l->cfg->keepalive, age = l->now - l->rtt.since;
	struct oae_rtt *r = &l->rtt;

	if (rtt > l->cfg->dead)
		return;
	rtt_peak_add(r->longest, age, times, rtt < ~0U ? rtt : ~0U);
	rtt_peak_add(r->shortest, age, times, rtt < ~0U ? ~rtt : 0);
	if (age >= times)
		r->since = l->now;
	if (!r->srtt || r->guessed) {
		r->srtt = rtt | 1;
		r->rttvar = rtt / 2;
		r->guessed = false;
		return;
	}
	err = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
	r->rttvar += (err >> 2) - (r->rttvar >> 2);
	r->srtt += (rtt >> 3) - (r->srtt >> 3);
	r->srtt |= 1;
}

/**
 * oae_rtt_turned() - the link goes by another path: what was measured of late is forgotten
 * @l: the link
 */
void oae_rtt_turned(struct oae_link *l)
{
	struct oae_rtt *r = &l->rtt;

	r->since = 0;
	memset(r->longest, 0, sizeof(r->longest));
	memset(r->shortest, 0, sizeof(r->shortest));
}

/**
 * oae_rtt_guess() - the link goes by another path, or its first, which may be a long way
 * @l: the link
 * @rtt: a round trip, perhaps, ns: of one probe, or of one of several SYNCs. The first
 *	measurement by the link itself takes its place
 */
void oae_rtt_guess(struct oae_link *l, u64 rtt)
{
	if (rtt <= l->rtt.srtt || rtt > l->cfg->dead)
		return;
	l->rtt.srtt = rtt;
	l->rtt.rttvar = rtt / 2;
	l->rtt.guessed = true;
}
