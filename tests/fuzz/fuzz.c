// SPDX-License-Identifier: GPL-2.0
/* What the fuzzers share: the story of a run, and how a breach ends it. */
#include <stdarg.h>
#include <stdlib.h>
#include "fuzz.h"

bool fuzz_tracing;

/**
 * LLVMFuzzerInitialize() - libFuzzer calls this once, first
 * @argc: of main()
 * @argv: of main()
 *
 * Return: 0.
 */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *trace = getenv("OAE_FUZZ_TRACE");

	(void)argc;
	(void)argv;
	fuzz_tracing = trace && *trace && strcmp(trace, "0");
	return 0;
}

/**
 * fuzz_say() - a line of the story
 * @fmt: as printf()
 */
void fuzz_say(const char *fmt, ...)
{
	va_list ap;

	if (!fuzz_tracing)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/**
 * fuzz_breach() - what must not be has happened: the end of the run
 * @fmt: as printf()
 *
 * libFuzzer keeps the input.
 */
void fuzz_breach(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("*** breach: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

static void say_body(const struct oae_frame *f)
{
	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		printf(" inc %llx/%llx start %u max_len %u mtu %u",
		       (unsigned long long)f->sync.inc,
		       (unsigned long long)f->sync.peer_inc, f->sync.start,
		       f->sync.max_len, f->sync.mtu);
		if (f->sync.kept)
			printf(" keeps %llx, last %u", (unsigned long long)f->sync.kept,
			       f->sync.last);
		break;
	case OAE_OFFER:
		printf(" slice %u, %u bytes", f->slice, f->length);
		break;
	case OAE_ASK:
		printf(" %u bytes", f->length);
		break;
	case OAE_REFLECT:
		printf(" digest %016llx",
		       (unsigned long long)f->reflect.digest);
		break;
	case OAE_HELLO:
		printf(" flags %x zone %u mtu %u epoch %u inc %x",
		       f->hello.flags, f->hello.zone, f->hello.mtu,
		       f->hello.epoch, f->hello.inc);
		break;
	case OAE_ACK:
		printf(" have %llx", (unsigned long long)f->have);
		break;
	}
}

/**
 * fuzz_say_frame() - a frame, as a line of the story
 * @how: what becomes of it
 * @f: the frame
 */
void fuzz_say_frame(const char *how, const struct oae_frame *f)
{
	static const char *const flags[] = { "EXPRESS", "LAST", "RESUME",
					     "WANT_DONE", "HELD", "VIA",
					     "AUTH" };
	unsigned int i;

	if (!fuzz_tracing)
		return;
	printf("%s %s %08x>%08x tx %u rx %u seq %u", how,
	       oae_opcode_name(f->opcode), f->src_ltag, f->dst_ltag, f->tx,
	       f->rx, f->seq);
	if (f->kind)
		printf(" kind %u", f->kind);
	if (f->reason)
		printf(" reason %u", f->reason);
	if (f->marks & OAE_M_ANSWER)
		printf(" ANSWER");
	if (f->grant != 0xffff)
		printf(" grant %u", f->grant);
	say_body(f);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (f->flags >> i & 1)
			printf(" %s", flags[i]);
	putchar('\n');
}
