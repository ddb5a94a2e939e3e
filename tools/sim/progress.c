// SPDX-License-Identifier: GPL-2.0
/* A line on the terminal while it runs, if there is a terminal. */
#include <time.h>
#include <unistd.h>
#include "sim.h"

static bool shown, wanted;
static double begun, last;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/**
 * progress_begin() - a run begins
 * @c: its options
 */
void progress_begin(const struct config *c)
{
	wanted = !c->quiet && isatty(STDERR_FILENO);
	begun = seconds();
	last = begun;
}

/**
 * progress_show() - say how far it is, twice a second at most
 * @w: the world
 */
void progress_show(const struct world *w)
{
	static const char *const phases[] = {
		"working", "settling", "draining",
		"proving", "proving", "proving", "proving", "done",
	};
	double now;

	if (!wanted)
		return;
	now = seconds();
	if (now - last < 0.5)
		return;
	last = now;
	shown = true;
	fprintf(stderr, "\r\033[K%s: %.3f ms simulated, %llu posted",
		phases[w->phase], (w->now - SIM_START) / 1e6,
		(unsigned long long)w->n.posted);
	if (w->cfg->transactions)
		fprintf(stderr, " (%.0f %%)",
			100.0 * w->n.posted / w->cfg->transactions);
	fprintf(stderr, ", %.2f M link events/s",
		w->n.calls / (now - begun) / 1e6);
}

/**
 * progress_end() - clear the line
 */
void progress_end(void)
{
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = false;
}
