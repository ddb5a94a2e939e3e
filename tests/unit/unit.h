/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TEST(test_name) { ... } is a unit test and enters itself into the list of its
 * program, in the order of the lines; UNIT_MAIN() runs them. Fixtures with a macro of
 * their own: one_link.h, sim_hand.h. Included by one file a program.
 */
#ifndef OAE_UNIT_H
#define OAE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* Entries without a name are passed over. */
static struct CMUnitTest unit_tests[128];
static unsigned int unit_tests_n;

static inline void unit_add(struct CMUnitTest test)
{
	if (unit_tests_n == ARRAY_SIZE(unit_tests))
		abort();
	unit_tests[unit_tests_n++] = test;
}

#define UNIT_TEST(test, before, after) \
	static void test(void **state); \
	__attribute__((constructor(1000 + __LINE__))) static void add_##test(void) \
	{ \
		unit_add((struct CMUnitTest){ #test, test, before, after, NULL }); \
	} \
	static void test(void **state __attribute__((unused)))

#define TEST(test)			UNIT_TEST(test, NULL, NULL)
#define TEST_SETUP(test, setup)		UNIT_TEST(test, setup, NULL)

#define UNIT_RUN(what)	cmocka_run_group_tests_name(what, unit_tests, NULL, NULL)
#define UNIT_MAIN(what) \
	int main(void) \
	{ \
		return UNIT_RUN(what); \
	}

#endif /* OAE_UNIT_H */
