// SPDX-License-Identifier: GPL-2.0
/* Many runs of the simulation, each of a seed of its own; how many, the environment says. */
#include <stdlib.h>
#include <time.h>

#include "sim.h"

#define SEEDS_FAILED	3	/* are enough to look at */

/**
 * sim_env() - a number of the environment
 * @name: its name
 * @otherwise: if it is not there, or empty
 *
 * Return: the number.
 */
u64 sim_env(const char *name, u64 otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/**
 * sim_seeds() - runs of the seeds 1 to @most, or of one
 * @w: the world
 * @most: how many
 * @only: not 0: only this one, and its last events are printed
 * @run: one run; with trace it is the second one of a seed, whose events are kept
 * @sums: set to what has happened in all
 *
 * Of a seed that fails the last events are printed; the third one is the last.
 *
 * Return: how many have failed.
 */
unsigned int sim_seeds(struct sim *w, u64 most, u64 only,
		       void (*run)(struct sim *w, u64 seed, bool trace), struct sim_sums *sums)
{
	u64 seed, first = only ?: 1, last = only ?: most;
	unsigned int i, failed = 0;
	clock_t began = clock();

	memset(sums, 0, sizeof(*sums));
	for (seed = first; seed <= last && failed < SEEDS_FAILED; seed++) {
		run(w, seed, false);
		sums->runs++;
		for (i = 0; i < OAE_OUTCOME_END; i++)
			sums->ended[i] += w->outcomes[i];
		sums->down += w->notes[OAE_N_DOWN];
		if (!w->why[0] && !only)
			continue;
		run(w, seed, true);
		failed += !!w->why[0];
		sim_print_trace(w, stderr);
		fprintf(stderr, "seed %llu: %s\n\n", (unsigned long long)seed,
			w->why[0] ? w->why : "good");
	}
	sums->seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
	return failed;
}
