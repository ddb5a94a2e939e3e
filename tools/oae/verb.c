// SPDX-License-Identifier: GPL-2.0
/*
 * oae read, write, xchg, add, cas: words of 8 bytes that a peer exposes, worked on
 * as one transaction in one round trip.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "peer.h"
#include "text.h"
#include "transact.h"

#define MAX_WORDS	(OAE_VERB_WORDS * OAE_VERB_OPS)

struct values {
	unsigned long long v[MAX_WORDS];
	unsigned int n;
};

struct args {
	struct peer peer;
	enum oae_verb_code code;
	unsigned int region;
	unsigned int offset;
	unsigned int words;		/* READ */
	unsigned int given;		/* arguments behind OFFSET */
	unsigned int wait_ms;
	bool hex;
	struct values arg, cmp;
};

static const struct argp_option options[] = {
	{ "wait", 'w', "SECONDS", 0, "for the outcome; then it is reversed", 0 },
	{ "deadline", OPT_WAIT_MS, "MS", OPTION_HIDDEN, NULL, 0 },
	{ "hex", 'x', NULL, 0, "print words in hex", 0 },
	{ 0 }
};

/* Numbers with commas between; decimal, 0x, or negative: two's complement. */
static void values_arg(struct values *to, const char *arg, struct argp_state *state)
{
	char *copy = copy_text(arg, strlen(arg)), *rest = copy, *one;

	while ((one = strsep(&rest, ","))) {
		if (to->n == MAX_WORDS)
			usage_error(state, "more than %u words", MAX_WORDS);
		if (!number(one, &to->v[to->n]))
			usage_error(state, "\"%s\" is not a word: a number of 64 bits", one);
		to->n++;
	}
	free(copy);
}

static void value_arg(struct args *a, const char *arg, struct argp_state *state)
{
	a->given++;
	if (a->code != OAE_VERB_READ && a->given > (a->code == OAE_VERB_CAS ? 2 : 1))
		usage_error(state, "\"%s\" is too much; words with commas between", arg);
	if (a->code == OAE_VERB_READ) {
		if (a->given > 1)
			usage_error(state, "\"%s\" is too much: PEER REGION OFFSET [WORDS]", arg);
		a->words = number_arg(state, "WORDS", arg, 1, MAX_WORDS);
	} else if (a->code == OAE_VERB_CAS) {
		values_arg(a->given == 1 ? &a->cmp : &a->arg, arg, state);
	} else {
		values_arg(&a->arg, arg, state);
	}
}

static void check(const struct args *a, struct argp_state *state)
{
	unsigned int need = a->code == OAE_VERB_READ ? 0 : a->code == OAE_VERB_CAS ? 2 : 1;

	if (state->arg_num < 3)
		usage_error(state, "of whom, which region, which offset? %s PEER REGION OFFSET",
			    command_name);
	if (a->given < need)
		usage_error(state, need == 2 ? "which words, and for which others? EXPECTED VALUE" :
					       "which VALUE?");
	if (a->code == OAE_VERB_CAS && a->cmp.n != a->arg.n)
		usage_error(state, "EXPECTED has %u words, VALUE %u: it takes as many", a->cmp.n,
			    a->arg.n);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case 'w':
	case OPT_WAIT_MS:
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	case 'x':
		a->hex = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!state->arg_num)
			peer_arg(&a->peer, arg, state);
		else if (state->arg_num == 1)
			a->region = number_arg(state, "REGION", arg, 0, 0xffffffff);
		else if (state->arg_num == 2)
			a->offset = number_arg(state, "OFFSET", arg, 0, 0xfffffff8);
		else
			value_arg(a, arg, state);
		if (state->arg_num == 2 && a->offset % 8)
			usage_error(state, "OFFSET: %u is not a multiple of 8", a->offset);
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Operations of 8 words each at most; returns how many. */
static unsigned int make_ops(const struct args *a, struct oae_verb_op *op)
{
	unsigned int words = a->code == OAE_VERB_READ ? a->words : a->arg.n, i;

	memset(op, 0, OAE_VERB_OPS * sizeof(*op));
	for (i = 0; i < words; i++) {
		struct oae_verb_op *o = &op[i / OAE_VERB_WORDS];

		o->code = a->code;
		o->offset = a->offset + i / OAE_VERB_WORDS * OAE_VERB_WORDS * 8;
		o->arg[o->words] = a->code == OAE_VERB_READ ? 0 : a->arg.v[i];
		o->cmp[o->words] = a->code == OAE_VERB_CAS ? a->cmp.v[i] : 0;
		o->words++;
	}
	return (words + OAE_VERB_WORDS - 1) / OAE_VERB_WORDS;
}

static void programs(const struct args *a, int err, bool taken, const struct oae_verb_op *op,
		     unsigned int nops)
{
	unsigned int i, k;
	struct json j;

	result_begin(&j, &a->peer, err);
	json_number(&j, "region", a->region);
	json_number(&j, "offset", a->offset);
	if (!err) {
		json_bool(&j, "taken", taken);
		json_array(&j, "old");
		for (i = 0; i < nops && a->code != OAE_VERB_WRITE; i++)
			for (k = 0; k < op[i].words; k++)
				json_number(&j, NULL, op[i].old[k]);
		json_close(&j);
	}
	result_end(&j);
}

static void people(const struct args *a, const struct oae_verb_op *op, unsigned int nops)
{
	unsigned int i, k;

	if (a->code == OAE_VERB_WRITE) {
		puts("committed");
		return;
	}
	for (i = 0; i < nops; i++) {
		for (k = 0; k < op[i].words; k++)
			printf(a->hex ? "%s0x%016llx" : "%s%llu", k || i ? " " : "",
			       (unsigned long long)op[i].old[k]);
	}
	putchar('\n');
}

struct verb {
	unsigned int region, nops;
	struct oae_verb_op op[OAE_VERB_OPS];
};

static int post(int fd, void *data)
{
	struct verb *v = data;

	return oae_queue_verb(fd, v->region, v->op, v->nops, NULL);
}

/* The old words, to their operations. True: every comparison held. */
static bool take_result(const struct oae_verb_result *result, struct verb *v)
{
	unsigned int i, k, n = 0;

	for (i = 0; i < v->nops; i++)
		for (k = 0; k < v->op[i].words && n < result->nwords; k++)
			v->op[i].old[k] = result->old[n++];
	return result->taken;
}

static int run(struct args *a, const struct argp *argp, int argc, char **argv)
{
	static struct verb v;
	struct transact t = { .fd = -1 };
	bool taken = false;
	int err;

	parse_options(argp, argc, argv, a);
	t.wait_ms = a->wait_ms;
	v.region = a->region;
	v.nops = make_ops(a, v.op);
	stop_on_signals();
	t.fd = peer_open(&a->peer, 0);
	if (t.fd < 0)
		return EXIT_LOCAL;
	err = transact(&t, post, &v);
	if (!err)
		taken = take_result(oae_outcome_verb(&t.batch, t.rec), &v);
	transact_free(&t);
	close(t.fd);
	if (want_json)
		programs(a, err, taken, v.op, v.nops);
	else if (!err)
		people(a, v.op, v.nops);
	if (err)
		return want_json ? outcome_exit(err) : complain_outcome(err, a->peer.text);
	if (taken)
		return EXIT_OK;
	complain("%s: the words were not what was expected; nothing is changed", a->peer.text);
	return EXIT_NOT_TAKEN;
}

#define ABOUT_REST \
	"JSON: an array of one object: peer, vc, result, errno and error if it is not\n" \
	"committed, region, offset, taken (every comparison held), old (words).\n" \
	"Exit: 0 committed, 1 not begun, 2 reversed, 3 unknown, 4 not known yet.\n"

int cmd_read(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "PEER REGION OFFSET [WORDS]",
		"Words of a region that PEER exposes, WORDS of them (1) as they were at one moment.\n"
		"OFFSET is in bytes, a multiple of 8.\n"
		"\vExamples:\n"
		"  oae read 02:0a:e0:00:00:02 1 0       the first word of region 1\n"
		"  oae read 2 1 64 8 -x                 eight from byte 64 on, in hex\n"
		"\n" ABOUT_REST,
		peer_options, NULL, NULL
	};
	struct args a = { .peer = PEER_NONE, .code = OAE_VERB_READ, .words = 1 };

	return run(&a, &argp, argc, argv);
}

int cmd_write(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "PEER REGION OFFSET VALUE[,VALUE...]",
		"Sets words of a region that PEER exposes, whatever they were.\n"
		"\vExamples:\n"
		"  oae write 02:0a:e0:00:00:02 1 0 17   the first word of region 1 is 17\n"
		"  oae write 2 1 8 0x10,-1              the second and the third, in one step\n"
		"\n" ABOUT_REST,
		peer_options, NULL, NULL
	};
	struct args a = { .peer = PEER_NONE, .code = OAE_VERB_WRITE };

	return run(&a, &argp, argc, argv);
}

int cmd_xchg(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "PEER REGION OFFSET VALUE[,VALUE...]",
		"Sets words of a region that PEER exposes, and prints what they were.\n"
		"\vExamples:\n"
		"  oae xchg 02:0a:e0:00:00:02 1 0 1     set the first word of region 1 to 1\n"
		"\n" ABOUT_REST,
		peer_options, NULL, NULL
	};
	struct args a = { .peer = PEER_NONE, .code = OAE_VERB_EXCHANGE };

	return run(&a, &argp, argc, argv);
}

int cmd_add(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "PEER REGION OFFSET VALUE[,VALUE...]",
		"Adds to words of a region that PEER exposes, modulo 2^64, and prints what they were.\n"
		"\vExamples:\n"
		"  oae add 02:0a:e0:00:00:02 1 0 1      count one more\n"
		"  oae add 2 1 0 -1                     and one less\n"
		"\n" ABOUT_REST,
		peer_options, NULL, NULL
	};
	struct args a = { .peer = PEER_NONE, .code = OAE_VERB_FETCH_ADD };

	return run(&a, &argp, argc, argv);
}

int cmd_cas(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "PEER REGION OFFSET EXPECTED[,...] VALUE[,...]",
		"Sets words of a region that PEER exposes, if all of them are what is EXPECTED, and "
		"prints what they were. All are set or none.\n"
		"\vExamples:\n"
		"  oae cas 02:0a:e0:00:00:02 1 0 0 7    take a lock: 7 if it was 0\n"
		"  oae cas 2 1 0 7,3 0,4                two words in one step\n"
		"\n" ABOUT_REST
		"5: committed, and the words were not what was expected; nothing is changed.\n",
		peer_options, NULL, NULL
	};
	struct args a = { .peer = PEER_NONE, .code = OAE_VERB_CAS };

	return run(&a, &argp, argc, argv);
}
