/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzzers share. Each takes its input as a head and then records of
 * one size, an event a record, so that what is mutated, left out or repeated is
 * an event. All zeros is the most ordinary of everything.
 *
 * With OAE_FUZZ_TRACE=1 in the environment a run tells its story.
 */
#ifndef OAE_FUZZ_H
#define OAE_FUZZ_H

#include <stdio.h>
#include "../../modoae/link/link.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What the input of this fuzzer is made of, in bytes. */
extern const size_t fuzz_head, fuzz_record;

/* fuzz.c */
extern bool fuzz_tracing;
void fuzz_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fuzz_breach(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void fuzz_say_frame(const char *how, const struct oae_frame *f);

/* What libFuzzer calls, and what it offers. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max,
			       unsigned int seed);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);

#endif /* OAE_FUZZ_H */
