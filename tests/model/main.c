// SPDX-License-Identifier: GPL-2.0
/* The command: what to explore, how much of it at once, and what came of it. */
#include <argp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "model.h"

#define MAX_JOBS	160
#define SEED		1
#define NEAR		25000		/* states, from the beginning on, in which all may happen */

struct job {
	const char *name;
	const struct m_scenario *sc;	/* else: */
	struct m_chaos (*chaos)(FILE *out);
	FILE *story;
	pid_t pid;
};

/* What a job writes where all can see it. */
struct done {
	bool good, full;
	struct m_result r;
	struct m_chaos c;
	unsigned long flips;
	double seconds;
	unsigned long seen[OAE_NOTE_END];
};

static struct job job[MAX_JOBS];
static struct done *done;
static unsigned int njobs;

static struct options {
	bool quick, deep, list, stop;
	unsigned int at_once;
	struct m_limits limits;
	char **names;
	unsigned int nnames;
} options = {
	.at_once = 2,
	.limits = { .states = 4000000000UL, .bytes = 8UL << 30 },
};

static struct m_chaos pairs(FILE *out)
{
	return m_chaos_all(0, out);
}

static struct m_chaos more_pairs(FILE *out)
{
	return m_chaos_all(2, out);
}

static struct m_chaos by_dice(FILE *out)
{
	return m_chaos_dice(200000, SEED, out);
}

static struct m_chaos more_dice(FILE *out)
{
	return m_chaos_dice(50000000, SEED, out);
}

static bool wanted(const char *name)
{
	unsigned int i;

	for (i = 0; i < options.nnames; i++)
		if (!strcmp(options.names[i], name))
			return true;
	return !options.nnames;
}

static void add(const char *name, const struct m_scenario *sc,
		struct m_chaos (*chaos)(FILE *out))
{
	if (wanted(name) && njobs < MAX_JOBS)
		job[njobs++] = (struct job){ name, sc, chaos, NULL, 0 };
}

static void add_all(const struct m_scenario *sc)
{
	for (; sc->name; sc++)
		add(sc->name, sc, NULL);
}

/*
 * Those that are asked for; the longest first, so that none is late. By name and with
 * --deep all states are looked at, else those near the beginning.
 */
static void choose(void)
{
	bool all = options.deep || options.nnames || options.list;

	if (all) {
		add_all(m_deep);
		add("chaos-more-pairs", NULL, more_pairs);
		add("chaos-more-dice", NULL, more_dice);
		add("chaos-frame", NULL, m_chaos_frames);
		add("chaos-kind-frame", NULL, m_chaos_kind_frames);
		add("chaos-kinds", NULL, m_chaos_kinds);
	} else if (!options.limits.near) {
		options.limits.near = NEAR;
	}
	if (all || !options.quick) {
		add_all(m_more);
		add("chaos-dice", NULL, by_dice);
	}
	add_all(m_quick);
	add("chaos-pairs", NULL, pairs);
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void start(unsigned int i)
{
	struct job *j = &job[i];
	struct done *d = &done[i];

	j->story = tmpfile();
	fflush(stdout);
	j->pid = j->story ? fork() : -1;
	if (j->pid < 0) {
		perror("explore");
		exit(2);
	}
	if (j->pid)
		return;
	if (j->sc) {
		d->r = m_search(j->sc, &options.limits, j->story);
		d->good = !d->r.violated && !d->r.full;
	} else {
		d->c = j->chaos(j->story);
		d->good = !d->c.violated;
	}
	memcpy(d->seen, m_seen, sizeof(m_seen));
	d->flips = m_flips;
	d->seconds = cpu_seconds();
	fflush(j->story);
	_exit(0);
}

static void say(unsigned int i)
{
	const struct job *j = &job[i];
	const struct done *d = &done[i];
	char line[400];

	if (j->sc)
		printf("%-16s %11lu %12lu %7lu %8u %7u %6lu %6.1f  %s%s\n",
		       j->name, d->r.states, d->r.steps, d->r.ends, d->r.depth,
		       d->r.fair, d->r.bytes >> 20, d->seconds,
		       d->good ? "good" : d->r.full ? "CUT OFF" : "VIOLATED",
		       d->r.near ? ", near" : j->sc->levels ? ", not all states" : "");
	else
		printf("%-16s %11lu %12lu %7s %8s %7u %6s %6.1f  %s, %lu reported\n",
		       j->name, d->c.runs, d->c.steps, "", "", d->c.worst, "",
		       d->seconds, d->good ? "good" : "VIOLATED",
		       d->c.reported);
	rewind(j->story);
	while (fgets(line, sizeof(line), j->story))
		fputs(line, stdout);
	fclose(j->story);
	fflush(stdout);
}

/* Until the next job ends, which is said. False: there was none. */
static bool reap(bool *bad)
{
	unsigned int i;
	int status;
	pid_t pid;

	pid = wait(&status);
	if (pid < 0)
		return false;
	for (i = 0; i < njobs; i++) {
		if (job[i].pid != pid)
			continue;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			printf("%s: died of signal %d\n", job[i].name,
			       WTERMSIG(status));
			done[i].good = false;
		}
		say(i);
		*bad |= !done[i].good;
	}
	return true;
}

/* An exploration is good for nothing if something never happens in it. */
static bool everything_happened(void)
{
	unsigned long seen;
	unsigned int i, j;
	bool all = true;

	for (i = 0; i < OAE_NOTE_END; i++) {
		switch (i) {
		case OAE_N_REPAIRED:	/* frames have no number here */
		case OAE_N_WORN:
		case OAE_N_REJECTED:	/* all are of a size and kind that is taken */
		case OAE_N_IDLE_HELLO:	/* no gateway here */
		case OAE_N_PATH_LOSSY:	/* a note of the shell */
		case OAE_N_IMPOSSIBLE:	/* never: but see chaos.c */
		case OAE_N_NOT_GRANTED:
		case OAE_N_BROKEN:
		case OAE_N_MISMATCH:
		case OAE_N_BAD_SLICE:
			continue;
		}
		for (seen = 0, j = 0; j < njobs; j++)
			if (job[j].sc)
				seen += done[j].seen[i];
		if (!seen) {
			printf("nowhere happened: %s\n", oae_note_name(i));
			all = false;
		}
	}
	return all;
}

static int explore(void)
{
	unsigned int i, running = 0, good = 0;
	unsigned long states = 0, steps = 0, flips = 0;
	bool bad = false;

	done = mmap(NULL, MAX_JOBS * sizeof(*done), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED) {
		perror("explore");
		return 2;
	}
	printf("%-16s %11s %12s %7s %8s %7s %6s %6s\n", "scenario", "states",
	       "events", "ends", "furthest", "to end", "MiB", "s");
	for (i = 0; i < njobs; i++) {
		if (running == options.at_once) {
			reap(&bad);
			running--;
		}
		if (bad && options.stop)
			break;
		start(i);
		running++;
	}
	while (reap(&bad))
		;
	njobs = i;

	for (i = 0; i < njobs; i++) {
		good += done[i].good;
		states += done[i].r.states;
		steps += done[i].r.steps;
		flips += done[i].flips;
	}
	printf("figure: %lu distinct states, %lu events in them, %lu bits flipped in frames\n",
	       states, steps, flips);
	if (!options.nnames && !bad) {
		good += everything_happened();
		njobs++;
	}
	printf("%u passed, %u failed\n", good, njobs - good);
	return good < njobs;
}

static const struct argp_option opts[] = {
	{ "quick", 'q', NULL, 0, "only what takes a second or two each", 0 },
	{ "deep", 'd', NULL, 0, "all states of all scenarios: takes long", 0 },
	{ "stop", 's', NULL, 0, "begin nothing more after a violation", 0 },
	{ "list", 'l', NULL, 0, "the names of all scenarios", 0 },
	{ "jobs", 'j', "N", 0, "so many scenarios at once (default 2)", 0 },
	{ "near", 'N', "STATES", 0, "so many states of each, the nearest to its beginning", 0 },
	{ "states", 'n', "N", 0, "the most states that one may have", 0 },
	{ "memory", 'm', "GIB", 0, "the most that one may take (default 8)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	long n = arg ? strtol(arg, NULL, 10) : 0;

	switch (key) {
	case 'q':
		options.quick = true;
		break;
	case 'd':
		options.deep = true;
		options.limits.progress = isatty(2);
		break;
	case 's':
		options.stop = true;
		break;
	case 'l':
		options.list = true;
		break;
	case 'j':
		if (n < 1 || n > MAX_JOBS)
			argp_error(state, "not a number of jobs: %s", arg);
		options.at_once = n;
		break;
	case 'n':
	case 'N':
		if (n < 1)
			argp_error(state, "not a number of states: %s", arg);
		*(key == 'n' ? &options.limits.states : &options.limits.near) = n;
		break;
	case 'm':
		if (n < 1 || n > 1024)
			argp_error(state, "not a size in GiB: %s", arg);
		options.limits.bytes = (unsigned long)n << 30;
		break;
	case ARGP_KEY_ARGS:
		options.names = state->argv + state->next;
		options.nnames = state->argc - state->next;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const char manual[] =
	"Explore every state that two compiled links can get into.\v"
	"A scenario says who posts what and what may go wrong; see scenario.c. Those that are named, "
	"and all with --deep, are explored whole; else the states near the beginning of some. For each "
	"is printed: "
	"distinct states; events in them; states in which all is over and both ends know it; steps to the "
	"state that is furthest from the beginning; events from the worst state to the end in fair weather; "
	"memory; seconds. A violation is told as a story, one of the shortest that lead to it. "
	"chaos-* begin anywhere (chaos.c): there, runs are counted, and in how many of them a promise "
	"was broken by the state they began in, and a user told.\n\n"
	"Exit status 1 if a promise is broken or a search was cut off.";

int main(int argc, char **argv)
{
	static const struct argp argp = {
		opts, parse, "[SCENARIO...]", manual, NULL, NULL, NULL,
	};
	unsigned int i;

	if (argp_parse(&argp, argc, argv, 0, NULL, NULL))
		return 2;
	choose();
	if (options.list) {
		for (i = 0; i < njobs; i++)
			printf("%s\n", job[i].name);
		return 0;
	}
	if (!njobs) {
		fprintf(stderr, "no such scenario; --list names them\n");
		return 2;
	}
	m_digests();
	return explore();
}
