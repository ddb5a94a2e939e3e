// SPDX-License-Identifier: GPL-2.0
/*
 * What the two ends of oae perf say to each other, without the module: heads come
 * back as they were, and nothing else is taken for one. `make -C tools/oae check`
 * builds it with sanitizers; each message is a block of its own, of exactly its
 * length, so that a byte read behind it is noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/oae/perf.h"

#define must(what) ((what) ? (void)0 : failed(#what, __LINE__))

static void failed(const char *what, int line)
{
	fprintf(stderr, "check_perf.c:%d: not so: %s\n", line, what);
	exit(1);
}

static uint64_t dice_state = 1;

static uint64_t dice(void)
{
	dice_state = dice_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return dice_state >> 11;
}

static struct perf_head some_head(void)
{
	struct perf_head h = {
		.version = PERF_VERSION, .kind = 1 + dice() % (PERF_KIND_END - 1),
		.mode = dice() % PERF_MODE_END, .express = dice() % 2,
		.size = 1 + dice() % PERF_MAX_SIZE, .session = dice() << 32 ^ dice(),
		.messages = dice(), .bytes = dice(), .echoed = dice(),
	};

	if (h.kind == PERF_REFUSED)
		h.reason = dice() % PERF_REASON_END;
	return h;
}

static bool same(const struct perf_head *a, const struct perf_head *b)
{
	return a->version == b->version && a->kind == b->kind && a->mode == b->mode &&
	       a->express == b->express && a->reason == b->reason && a->size == b->size &&
	       a->session == b->session && a->messages == b->messages &&
	       a->bytes == b->bytes && a->echoed == b->echoed;
}

/* perf_get() of a copy that has not a byte more than @len. */
static enum perf_parsed get(struct perf_head *h, const unsigned char *message, size_t len)
{
	unsigned char *copy = malloc(len ? len : 1);
	enum perf_parsed what;

	memcpy(copy, message, len);
	what = perf_get(h, copy, len);
	free(copy);
	return what;
}

static void check_heads(void)
{
	unsigned char buf[PERF_HEAD_LEN + 1] = { 0 };
	struct perf_head h, got;
	size_t len;
	int i;

	for (i = 0; i < 20000; i++) {
		h = some_head();
		perf_put(&h, buf);
		must(get(&got, buf, PERF_HEAD_LEN) == PERF_HEAD && same(&h, &got));
		for (len = 0; len <= PERF_HEAD_LEN + 1; len++)
			if (len != PERF_HEAD_LEN)
				must(get(&got, buf, len) ==
				     (len < 8 ? PERF_STRANGE : PERF_BAD_HEAD));
	}
}

/* The place of a member and a value that it cannot have. */
static void check_members(void)
{
	static const struct {
		unsigned int at, value;
		enum perf_parsed what;
	} wrong[] = {
		{ 0, 'p', PERF_STRANGE }, { 6, 0, PERF_STRANGE },
		{ 7, 0, PERF_OTHER_VERSION }, { 7, PERF_VERSION + 1, PERF_OTHER_VERSION },
		{ 8, 0, PERF_BAD_HEAD }, { 8, PERF_KIND_END, PERF_BAD_HEAD },
		{ 9, PERF_MODE_END, PERF_BAD_HEAD }, { 10, 2, PERF_BAD_HEAD },
		{ 11, 1, PERF_BAD_HEAD }, { 11, PERF_REASON_END, PERF_BAD_HEAD },
		{ 12, 1, PERF_BAD_HEAD }, { 13, 8, PERF_BAD_HEAD },
	};
	struct perf_head h = { .version = PERF_VERSION, .kind = PERF_START, .size = 64,
			       .session = 77 }, got;
	unsigned char buf[PERF_HEAD_LEN];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		perf_put(&h, buf);
		buf[wrong[i].at] = wrong[i].value;
		must(get(&got, buf, sizeof(buf)) == wrong[i].what);
		if (wrong[i].what == PERF_OTHER_VERSION)
			must(got.session == 77);
	}
	h.size = 0;
	perf_put(&h, buf);
	must(get(&got, buf, sizeof(buf)) == PERF_BAD_HEAD);
	h.size = PERF_MAX_SIZE;
	perf_put(&h, buf);
	must(get(&got, buf, sizeof(buf)) == PERF_HEAD);
}

/* Whatever it is, what comes out is within its limits. */
static void check_noise(void)
{
	unsigned char buf[2 * PERF_HEAD_LEN];
	struct perf_head h, got;
	unsigned int i, changes;
	size_t len, at;

	for (i = 0; i < 200000; i++) {
		h = some_head();
		perf_put(&h, buf);
		len = dice() % 4 ? PERF_HEAD_LEN : dice() % sizeof(buf);
		for (at = PERF_HEAD_LEN; at < len; at++)
			buf[at] = dice();
		for (changes = dice() % 4; changes && len; changes--)
			buf[dice() % len] = dice();
		if (get(&got, buf, len) != PERF_HEAD)
			continue;
		must(len == PERF_HEAD_LEN && got.version == PERF_VERSION && got.kind &&
		     got.kind < PERF_KIND_END && got.mode < PERF_MODE_END && got.express < 2 &&
		     got.reason < PERF_REASON_END && got.size <= PERF_MAX_SIZE &&
		     (got.size || got.kind == PERF_REFUSED));
	}
}

static void check_data(void)
{
	unsigned char *m;
	struct perf_head h;
	size_t len;

	for (len = 1; len < 20; len++) {
		m = calloc(len, 1);
		perf_data_put(m, len, 0x123456789abULL);
		must(perf_get(&h, m, len) == PERF_IS_DATA);
		must(perf_data_is(m, len, 0x123456789abULL));
		must(len == 1 || !perf_data_is(m, len, 0x123456789acULL));
		m[0]++;
		must(!perf_data_is(m, len, 0x123456789abULL));
		free(m);
	}
	must(!perf_data_is("", 0, 1));
	must(perf_get(&h, "", 0) == PERF_STRANGE);
}

int main(void)
{
	check_heads();
	check_members();
	check_noise();
	check_data();
	return 0;
}
