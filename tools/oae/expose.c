// SPDX-License-Identifier: GPL-2.0
/* oae expose: words that peers may work on, watched while they do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "peer.h"
#include "text.h"

#define LOOK_MS	20

struct word {
	unsigned int offset;
	unsigned long long value;
};

struct args {
	struct peer peer;
	unsigned long long size;
	unsigned long long count;	/* 0: until interrupted */
	unsigned int region;
	unsigned int perm;
	struct word *set;
	unsigned int nset;
};

static const char doc[] =
	"Exposes SIZE bytes, all 0, to peers: oae read, write, xchg, add, cas work on them. Holds "
	"them until interrupted, and prints what changes, as it stands every 20 ms.\n"
	"\vExamples:\n"
	"  oae expose 64 --region 1 --perm r,a         a counter or a lock, for all\n"
	"  oae expose 4K -R 2 -P r,w   --for 2 --vc 3  for one peer, on channel 3\n"
	"  oae expose 8 -R 3 -P r --set 0=17           the first word is 17\n"
	"\n"
	"Permissions: r READ, w WRITE, a EXCHANGE, FETCH_ADD and CAS. It is for peers on all "
	"ports and channels, but for what --port and --vc say.\n"
	"JSON: an object a line; first region, size, perm; then offset, old, new.\n"
	"Exit: 0 interrupted, or -c changes were seen; 1 it could not be exposed.\n";

enum { OPT_SET = 256, OPT_FOR };

static const struct argp_option options[] = {
	{ "region", 'R', "N", 0, "the number by which peers name it (1)", 0 },
	{ "perm", 'P', "LIST", 0, "what is permitted: r,w,a", 0 },
	{ "for", OPT_FOR, "PEER", 0, "for this one only; otherwise for anybody", 0 },
	{ "set", OPT_SET, "OFFSET=VALUE", 0, "a word that is not 0 to begin with", 0 },
	{ "count", 'c', "N", 0, "end after N changes; 0: when interrupted", 0 },
	{ 0 }
};

static void perm_arg(struct args *a, const char *arg, struct argp_state *state)
{
	const char *c;

	a->perm = 0;
	for (c = arg; *c; c++) {
		if (*c == 'r')
			a->perm |= OAE_PERM_READ;
		else if (*c == 'w')
			a->perm |= OAE_PERM_WRITE;
		else if (*c == 'a')
			a->perm |= OAE_PERM_ATOMIC;
		else if (*c != ',')
			usage_error(state, "--perm: \"%s\" is not a list of r, w, a", arg);
	}
}

static void set_arg(struct args *a, char *arg, struct argp_state *state)
{
	char *equals = strchr(arg, '=');
	struct word w;

	if (!equals)
		usage_error(state, "--set: \"%s\" is not OFFSET=VALUE", arg);
	*equals = 0;
	w.offset = number_arg(state, "--set", arg, 0, 0xfffffff8);
	if (w.offset % 8 || !number(equals + 1, &w.value))
		usage_error(state, "--set: \"%s=%s\": a multiple of 8, and a number of 64 bits",
			    arg, equals + 1);
	a->set = grow(a->set, a->nset + 1, sizeof(*a->set));
	a->set[a->nset++] = w;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	unsigned int i;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case 'R':
		a->region = number_arg(state, "--region", arg, 0, 0xffffffff);
		return 0;
	case 'P':
		perm_arg(a, arg, state);
		return 0;
	case OPT_FOR:
		peer_arg(&a->peer, arg, state);
		return 0;
	case OPT_SET:
		set_arg(a, arg, state);
		return 0;
	case 'c':
		a->count = number_arg(state, "-c", arg, 0, ~0ULL);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			usage_error(state, "\"%s\" is too much: one SIZE", arg);
		a->size = size_arg(state, "SIZE", arg, 8, 1ULL << 32);
		if (a->size % 8)
			usage_error(state, "SIZE: %llu is not a multiple of 8", a->size);
		return 0;
	case ARGP_KEY_END:
		if (!a->size)
			usage_error(state, "how many bytes? oae expose SIZE --perm r,w,a");
		for (i = 0; i < a->nset; i++)
			if (a->set[i].offset >= a->size)
				usage_error(state, "--set: %u is behind the end: SIZE is %llu",
					    a->set[i].offset, a->size);
		if (!a->perm)
			usage_error(state, "--perm: what may peers do? Any of r, w, a");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { options, parse, "SIZE", doc, peer_options, NULL, NULL };

static void say_ready(const struct args *a)
{
	char perm[8];
	struct json j;

	snprintf(perm, sizeof(perm), "%s%s%s", a->perm & OAE_PERM_READ ? "r" : "",
		 a->perm & OAE_PERM_WRITE ? "w" : "", a->perm & OAE_PERM_ATOMIC ? "a" : "");
	if (want_json) {
		json_init(&j, stdout);
		json_object(&j, NULL);
		json_number(&j, "region", a->region);
		json_number(&j, "size", a->size);
		json_string(&j, "perm", perm);
		json_close(&j);
	} else {
		printf("region %u: %llu bytes, perm %s, for %s\n", a->region, a->size, perm,
		       a->peer.text ?: "anybody");
		fflush(stdout);
	}
}

static void say_change(unsigned long long offset, unsigned long long old, unsigned long long new)
{
	struct json j;

	if (want_json) {
		json_init(&j, stdout);
		json_object(&j, NULL);
		json_number(&j, "offset", offset);
		json_number(&j, "old", old);
		json_number(&j, "new", new);
		json_close(&j);
	} else {
		printf("%llu: %llu -> %llu\n", offset, old, new);
		fflush(stdout);
	}
}

static void watch(const struct args *a, const uint64_t *words)
{
	unsigned long long n = a->size / 8, i, changes = 0;
	uint64_t *seen = alloc(n, sizeof(*seen)), now;

	/* What was set is no change; what a peer has done since is. */
	for (i = 0; i < a->nset; i++)
		seen[a->set[i].offset / 8] = a->set[i].value;
	do {
		for (i = 0; i < n; i++) {
			now = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
			if (now == seen[i])
				continue;
			say_change(i * 8, seen[i], now);
			seen[i] = now;
			if (++changes == a->count) {
				free(seen);
				return;
			}
		}
	} while (sleep_ms(LOOK_MS));
	free(seen);
}

/* It is exposed already: a peer's verb may have reserved a word for the moment. */
static bool set_words(const struct args *a, int fd)
{
	unsigned int i;

	for (i = 0; i < a->nset; i++) {
		uint64_t value = a->set[i].value;
		struct oae_verb_op op = oae_op_write(a->set[i].offset, &value, 1);

		while (oae_local(fd, &op, 1, NULL) < 0) {
			if (errno != EAGAIN || !sleep_ms(1)) {
				complain_errno(errno, "--set %u", a->set[i].offset);
				return false;
			}
		}
	}
	return true;
}

int cmd_expose(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE, .region = 1 };
	int fd, status = EXIT_LOCAL;
	uint64_t *words;

	parse_options(&argp, argc, argv, &a);
	stop_on_signals();
	fd = peer_listen(&a.peer);
	if (fd < 0)
		return EXIT_LOCAL;
	if (oae_expose(fd, a.region, a.size, a.perm)) {
		if (errno == EINVAL)
			complain("SIZE: EINVAL: %llu is more than the knob region_max permits",
				 a.size);
		else
			complain_errno(errno, "region %u", a.region);
		goto out;
	}
	words = oae_map(fd, a.size);
	if (!words) {
		complain_errno(errno, "mapping region %u", a.region);
		goto out;
	}
	if (set_words(&a, fd)) {
		say_ready(&a);
		watch(&a, words);
		status = EXIT_OK;
	}
	oae_unmap(words, a.size);
out:
	close(fd);
	free(a.set);
	return status;
}
