// SPDX-License-Identifier: GPL-2.0
/* The command line: what may be asked, and with what limits. */
#include <stdlib.h>
#include "../../include/oae_version.h"
#include "manual.h"
#include "sim.h"
#include "schedule.h"
#include "units.h"

const char *argp_program_version = "oaesim " OAE_RELEASE;

static void bad(struct argp_state *state, const char *what, const char *arg,
		const char *takes)
{
	argp_error(state, "%s: '%s': takes %s", what, arg, takes);
}

/* The option's own name, for messages. */
static const char *name_of(int key)
{
	const struct argp_option *o;

	for (o = manual_options; o->name || o->doc; o++)
		if (o->name && o->key == key)
			return o->name;
	return "?";
}

static u64 whole(struct argp_state *s, int key, const char *arg, u64 min,
		 u64 max)
{
	char takes[64];
	u64 v;

	if (units_number(arg, &v) && v >= min && v <= max)
		return v;
	snprintf(takes, sizeof(takes), "a number from %llu to %llu",
		 (unsigned long long)min, (unsigned long long)max);
	bad(s, name_of(key), arg, takes);
	return min;
}

/* An hour is long enough for anything here. */
static u64 duration(struct argp_state *s, int key, const char *arg, u64 min)
{
	u64 v;

	if (units_time(arg, &v) && v >= min && v <= 3600 * NS_S)
		return v;
	bad(s, name_of(key), arg, min ?
	    "a time such as 10us, more than 0, at most 3600s" :
	    "a time such as 10us, at most 3600s");
	return min;
}

static u64 chance(struct argp_state *s, int key, const char *arg)
{
	u64 v = 0;

	if (!units_chance(arg, &v))
		bad(s, name_of(key), arg, "a share such as 1% or 0.01, at most 1");
	return v;
}

/* Per second; kept in thousandths. */
static u64 rate(struct argp_state *s, int key, const char *arg)
{
	u64 v = 0;

	if (!units_milli(arg, &v) || v > 1000000000ULL)
		bad(s, name_of(key), arg, "a number such as 0.5, at most 1M");
	return v;
}

/* "A" or "A..B": where A ends, and B; the same string twice if there is no B. */
static const char *range(const char *arg, char low[64])
{
	const char *dots = strstr(arg, "..");
	size_t n = dots ? (size_t)(dots - arg) : strlen(arg);

	if (n > 63)
		n = 63;
	memcpy(low, arg, n);
	low[n] = '\0';
	return dots ? dots + 2 : arg;
}

static void topology(struct config *c, enum topo_kind kind, u32 width, u32 height)
{
	c->topo = kind;
	c->width = width;
	c->height = height;
}

static void torus(struct argp_state *s, struct config *c, const char *arg)
{
	unsigned int w, h;
	char more;

	if (sscanf(arg, "%5ux%5u%c", &w, &h, &more) != 2 || !w || !h ||
	    w * h < 2)
		bad(s, "torus", arg, "a width and a height such as 100x100");
	topology(c, TOPO_TORUS, w, h);
}

static bool parse_network(int key, char *arg, struct argp_state *s,
			  struct config *c)
{
	switch (key) {
	case O_PAIR:
		topology(c, TOPO_PAIR, 2, 1);
		return true;
	case O_RING:
		topology(c, TOPO_RING, whole(s, key, arg, 2, 1000000), 1);
		return true;
	case O_STAR:
		topology(c, TOPO_STAR, whole(s, key, arg, 2, 1000000), 1);
		return true;
	case O_MESH:
		topology(c, TOPO_MESH, whole(s, key, arg, 2, 2000), 1);
		return true;
	case O_TORUS:
		torus(s, c, arg);
		return true;
	}
	return false;
}

static bool parse_wires(int key, char *arg, struct argp_state *s,
			struct config *c)
{
	char low[64];

	switch (key) {
	case O_LATENCY:
		c->latency_max = duration(s, key, range(arg, low), 1);
		c->latency = duration(s, key, low, 1);
		if (c->latency_max < c->latency || c->latency_max > NS_S)
			bad(s, "latency", arg, "T or T..T, the longer last, at most 1s");
		break;
	case O_JITTER:
		c->jitter = duration(s, key, arg, 0);
		break;
	case O_LOSS:
		c->loss = chance(s, key, arg);
		break;
	case O_DUP:
		c->dup = chance(s, key, arg);
		break;
	case O_REORDER:
		c->reorder = chance(s, key, arg);
		break;
	case O_REORDER_BY:
		c->reorder_by = duration(s, key, arg, 1);
		break;
	case O_CORRUPT:
		c->corrupt = chance(s, key, arg);
		break;
	case O_MTU:
		c->mtu = whole(s, key, arg, OAE_MIN_MTU, 65535);
		break;
	default:
		return false;
	}
	return true;
}

static bool parse_faults(int key, char *arg, struct argp_state *s,
			 struct config *c)
{
	const char *wrong;

	switch (key) {
	case O_AT:
		wrong = schedule_add(c, arg);
		if (wrong)
			argp_error(s, "at: '%s': %s", arg, wrong);
		break;
	case O_CRASH_RATE:
		c->crash_rate = rate(s, key, arg);
		break;
	case O_REBOOT_TIME:
		c->reboot_time = duration(s, key, arg, 1);
		break;
	case O_FLAP_RATE:
		c->flap_rate = rate(s, key, arg);
		break;
	case O_FLAP_TIME:
		c->flap_time = duration(s, key, arg, 1);
		break;
	default:
		return false;
	}
	return true;
}

/* A list of faults as a set of bits. */
static u32 kinds(struct argp_state *s, int key, const char *arg)
{
	enum cable_fault f;
	u32 set = 0;
	size_t n;

	for (;; arg += n + 1) {
		n = strcspn(arg, ",");
		f = cable_fault_named(arg, n);
		if (f == CABLE_WHOLE)
			bad(s, name_of(key), arg,
			    "carrier, silent, oneway, lossy, short, or several");
		set |= 1U << f;
		if (!arg[n])
			return set;
	}
}

static bool parse_cables(int key, char *arg, struct argp_state *s,
			 struct config *c)
{
	char low[64];

	switch (key) {
	case O_CABLES:
		c->cables_max = whole(s, key, range(arg, low), 1, OAE_PATHS_MAX);
		c->cables = whole(s, key, low, 1, OAE_PATHS_MAX);
		if (c->cables_max < c->cables)
			bad(s, "cables", arg, "N or N..N, the larger last");
		break;
	case O_CABLE_RATE:
		c->cable_rate = rate(s, key, arg);
		break;
	case O_CABLE_TIME:
		c->cable_time = duration(s, key, arg, 1);
		break;
	case O_CABLE_KINDS:
		c->cable_kinds = kinds(s, key, arg);
		break;
	case O_CABLE_LOSS:
		c->cable_loss = chance(s, key, arg);
		break;
	case O_CABLE_SHORT:
		c->cable_short = whole(s, key, arg, OAE_HDR_LEN, 65535);
		break;
	case O_CABLE_SPARE:
		c->cable_spare = true;
		break;
	default:
		return false;
	}
	return true;
}

static void workload(struct argp_state *s, struct config *c, const char *arg)
{
	for (c->work = 0; c->work < WORK_END; c->work++)
		if (!strcmp(arg, work_name(c->work)))
			return;
	bad(s, "workload", arg, "neighbours, pairs or bursts");
}

static bool parse_posting(int key, char *arg, struct argp_state *s,
			  struct config *c)
{
	switch (key) {
	case 'w':
		workload(s, c, arg);
		break;
	case 'n':
		c->transactions = whole(s, key, arg, 1, 1000000000000ULL);
		break;
	case 't':
		c->time = duration(s, key, arg, 1);
		break;
	case O_WINDOW:
		c->window = whole(s, key, arg, 1, 4096);
		break;
	case O_THINK:
		c->think = duration(s, key, arg, 0);
		break;
	case O_RATE:
		c->rate = whole(s, key, arg, 1, 100000000);
		break;
	case O_BURST:
		c->burst = whole(s, key, arg, 1, 4096);
		break;
	case O_SNDQ:
		c->sndq = whole(s, key, arg, 1, 4096);
		break;
	default:
		return false;
	}
	return true;
}

static bool parse_users(int key, char *arg, struct argp_state *s,
			struct config *c)
{
	char low[64];

	switch (key) {
	case O_SIZE:
		c->size_max = whole(s, key, range(arg, low), 8, 1 << 20);
		c->size_min = whole(s, key, low, 8, 1 << 20);
		if (c->size_max < c->size_min)
			bad(s, "size", arg, "N or N..N, the larger last");
		break;
	case O_SLICE:
		c->slice = whole(s, key, arg, 8, 65535);
		break;
	case O_EXPRESS:
		c->express = chance(s, key, arg);
		break;
	case O_SWAP:
		c->swap = chance(s, key, arg);
		break;
	case O_VERB:
		c->verb = chance(s, key, arg);
		break;
	case O_CONFIRM:
		c->confirm = chance(s, key, arg);
		break;
	case O_CANCEL:
		c->cancel = chance(s, key, arg);
		break;
	case O_PATIENCE:
		c->patience = duration(s, key, arg, 1);
		break;
	case O_READ_TIME:
		c->read_time = duration(s, key, arg, 0);
		break;
	case O_RCVBUF:
		c->rcvbuf = whole(s, key, arg, 1, 1000000);
		break;
	default:
		return false;
	}
	return true;
}

static bool parse_knobs(int key, char *arg, struct argp_state *s,
			struct config *c)
{
	switch (key) {
	case O_STALL_MIN:
		c->stall_min = duration(s, key, arg, NS_US);
		break;
	case O_STALL_MAX:
		c->stall_max = duration(s, key, arg, NS_US);
		break;
	case O_KEEPALIVE:
		c->keepalive = duration(s, key, arg, NS_MS);
		break;
	case O_DEAD:
		c->dead = duration(s, key, arg, NS_MS);
		break;
	case O_LINK_WINDOW:
		c->link_window = whole(s, key, arg, 1, H_LANES);
		break;
	case O_MAX_LEN:
		c->max_len = whole(s, key, arg, 8, 1 << 20);
		break;
	case O_SETTLE:
		c->settle = duration(s, key, arg, 1);
		break;
	case 's':
		c->seed = whole(s, key, arg, 0, ~0ULL);
		break;
	default:
		return false;
	}
	return true;
}

static bool parse_output(int key, char *arg, struct argp_state *s,
			 struct config *c)
{
	switch (key) {
	case O_BYTES:
		c->bytes = true;
		break;
	case 'j':
		c->json = true;
		break;
	case O_SVG:
		c->svg = arg;
		break;
	case O_TRACE:
		c->trace = arg;
		break;
	case O_TRACE_LINES:
		c->trace_lines = whole(s, key, arg, 0, 10000000);
		break;
	case O_BENCH:
		c->bench = true;
		break;
	case 'q':
		c->quiet = true;
		break;
	default:
		return false;
	}
	return true;
}

/* What does not fit together; the text says what would. */
static void consistent(struct argp_state *s, struct config *c)
{
	const char *wrong;

	if (!c->slice)
		c->slice = c->mtu - OAE_HDR_LEN;
	if (!c->transactions && !c->time)
		c->transactions = 100000;
	if (c->slice > c->mtu - OAE_HDR_LEN)
		argp_error(s, "slice: an MTU of %u carries %u bytes", c->mtu,
			   c->mtu - OAE_HDR_LEN);
	if (c->size_max > c->max_len)
		argp_error(s, "size: the most that --max-len takes is %u",
			   c->max_len);
	if (c->size_max > (u64)c->slice * OAE_MAX_SLICES)
		argp_error(s, "size: %u slices of %u bytes carry %u", OAE_MAX_SLICES,
			   c->slice, c->slice * OAE_MAX_SLICES);
	if (c->stall_min > c->stall_max)
		argp_error(s, "stall-min: must not be above --stall-max");
	if (c->work == WORK_NEIGHBOURS && c->window > c->sndq)
		argp_error(s, "window: must not be above --sndq");
	if (c->cable_rate && c->cables_max < 2)
		argp_error(s, "cable-rate: takes --cables 2 or more");
	if (topo_count(c) > 2000000)
		argp_error(s, "so many links: at most 2,000,000");
	if (c->json && c->trace && !c->trace_lines)
		argp_error(s, "trace-lines: with --json it must be above 0");
	wrong = schedule_check(c);
	if (wrong)
		argp_error(s, "%s", wrong);
}

static error_t parse(int key, char *arg, struct argp_state *s)
{
	struct config *c = s->input;

	if (parse_network(key, arg, s, c) || parse_wires(key, arg, s, c) ||
	    parse_faults(key, arg, s, c) || parse_cables(key, arg, s, c) ||
	    parse_posting(key, arg, s, c) || parse_users(key, arg, s, c) ||
	    parse_knobs(key, arg, s, c) || parse_output(key, arg, s, c))
		return 0;
	if (key == ARGP_KEY_ARG)
		argp_error(s, "'%s' is no option", arg);
	if (key == ARGP_KEY_END)
		consistent(s, c);
	return ARGP_ERR_UNKNOWN;
}

/**
 * options_parse() - what the command line asks for; on nonsense, exit with 2
 * @c: filled in
 * @argc: of main()
 * @argv: of main()
 */
void options_parse(struct config *c, int argc, char **argv)
{
	static const struct argp argp = {
		.options = manual_options, .parser = parse,
		.doc = manual_text,
	};

	*c = (struct config){
		.seed = 1, .topo = TOPO_PAIR, .width = 2, .height = 1,
		.latency = 10 * NS_US, .latency_max = 10 * NS_US,
		.jitter = 2 * NS_US, .reorder_by = 100 * NS_US, .mtu = 1500,
		.reboot_time = 5 * NS_MS, .flap_time = 2 * NS_MS,
		.cables = 1, .cables_max = 1, .cable_time = 2 * NS_MS,
		.cable_kinds = (1U << CABLE_FAULTS) - 2, .cable_loss = (3ULL << 32) / 10,
		.cable_short = OAE_MIN_MTU,
		.window = 2, .rate = 1000, .burst = 32, .sndq = 64,
		.size_min = 64, .size_max = 64, .patience = 50 * NS_US,
		.rcvbuf = 8, .stall_min = NS_MS, .stall_max = 200 * NS_MS,
		.keepalive = NS_S, .dead = 5 * NS_S, .max_len = 65536, .link_window = 1,
		.settle = 60 * NS_S, .trace_link = TRACE_NONE,
		.trace_lines = 60,
	};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, c);
}
