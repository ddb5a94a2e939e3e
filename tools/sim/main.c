// SPDX-License-Identifier: GPL-2.0
/* oaesim: a network of atomic links, simulated. */
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include "sim.h"

/**
 * die() - it cannot go on, through no fault of the links
 * @fmt: why
 */
void die(const char *fmt, ...)
{
	va_list ap;

	progress_end();
	fputs("oaesim: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(3);
}

/**
 * need() - memory, or the end
 * @memory: what an allocation returned
 *
 * Return: @memory.
 */
void *need(void *memory)
{
	if (!memory)
		die("out of memory");
	return memory;
}

static double seconds(clockid_t of)
{
	struct timespec t;

	clock_gettime(of, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct world *run(const struct config *c)
{
	struct world *w = world_new(c);

	progress_begin(c);
	world_run(w);
	progress_end();
	/* The proof is not part of what is reported; a breach in it is. */
	if (w->why[0])
		w->report = w->n;
	return w;
}

/* Once more, the same to the letter, with the link of the breach traced. */
static struct world *run_again(const struct world *w, struct config *c)
{
	*c = *w->cfg;
	c->trace_link = w->why_link;
	if (!c->trace_lines)
		c->trace_lines = 60;
	return run(c);
}

int main(int argc, char **argv)
{
	struct world *w, *story;
	struct config c, again;
	double took, by_clock;
	int status;

	options_parse(&c, argc, argv);
	took = seconds(CLOCK_PROCESS_CPUTIME_ID);
	by_clock = seconds(CLOCK_MONOTONIC);
	w = run(&c);
	took = seconds(CLOCK_PROCESS_CPUTIME_ID) - took;
	by_clock = seconds(CLOCK_MONOTONIC) - by_clock;
	story = w;
	if (w->why[0] && (c.trace_link != w->why_link || !c.trace_lines))
		story = run_again(w, &again);

	if (c.json) {
		report_json(w, story, stdout);
	} else {
		report_text(w, stdout);
		report_story(story, stdout);
	}
	if (c.bench)
		report_bench(w, took, by_clock, stderr);
	status = w->why[0] ? 1 : 0;
	if (c.svg && !report_svg(w, c.svg))
		status = 3;
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the report");

	if (story != w)
		world_free(story);
	world_free(w);
	free(c.fates);
	return status;
}
