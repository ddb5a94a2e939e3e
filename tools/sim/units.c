// SPDX-License-Identifier: GPL-2.0
/* Numbers as people write and read them. See units.h. */
#include <ctype.h>
#include <stdio.h>
#include "units.h"

struct unit {
	const char *name;
	u64 times;
};

static const struct unit time_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ NULL, 0 },
};

static const struct unit count_units[] = {
	{ "", 1 },
	{ "k", 1000 },
	{ "M", 1000000 },
	{ "G", 1000000000 },
	{ NULL, 0 },
};

/*
 * A decimal number times @scale, and what follows it. Whole numbers
 * throughout, digits that do not count any more are dropped.
 */
static bool decimal(const char *s, u64 scale, u64 *v, const char **rest)
{
	__uint128_t n = 0, part = scale;
	bool any = false;

	for (; isdigit((unsigned char)*s); s++, any = true) {
		n = n * 10 + (*s - '0');
		if (n >> 64)
			return false;
	}
	n *= scale;
	if (*s == '.') {
		for (s++; isdigit((unsigned char)*s); s++, any = true) {
			n += part * (*s - '0') / 10;
			part /= 10;
		}
	}
	*v = n;
	*rest = s;
	return any && !(n >> 64);
}

static bool with_unit(const char *s, const struct unit *unit, u64 more, u64 *v)
{
	const char *rest;

	for (; unit->name; unit++)
		if (decimal(s, unit->times * more, v, &rest) &&
		    !strcmp(rest, unit->name))
			return true;
	return false;
}

/**
 * units_number() - read a number
 * @s: such as 1500, 10k, 2.5M
 * @v: the number
 *
 * Return: false if it is none.
 */
bool units_number(const char *s, u64 *v)
{
	return with_unit(s, count_units, 1, v);
}

/**
 * units_milli() - read a number, in thousandths
 * @s: such as 0.25, 3, 10k
 * @v: 1000 times the number
 *
 * Return: false if it is none.
 */
bool units_milli(const char *s, u64 *v)
{
	return with_unit(s, count_units, 1000, v);
}

/**
 * units_time() - read a time
 * @s: such as 10us, 1.5ms, 2s; 0 needs no unit
 * @ns: the time
 *
 * Return: false if it is none.
 */
bool units_time(const char *s, u64 *ns)
{
	if (!strcmp(s, "0")) {
		*ns = 0;
		return true;
	}
	return with_unit(s, time_units, 1, ns);
}

/**
 * units_chance() - read a chance
 * @s: such as 1% or 0.01
 * @chance: parts of 2^32
 *
 * Return: false if it is none, or above 1.
 */
bool units_chance(const char *s, u64 *chance)
{
	const char *rest;
	u64 v;

	if (!decimal(s, 1000000000000ULL, &v, &rest))
		return false;
	if (!strcmp(rest, "%"))
		v /= 100;
	else if (*rest)
		return false;
	if (v > 1000000000000ULL)
		return false;
	*chance = ((__uint128_t)v << 32) / 1000000000000ULL;
	return true;
}

/**
 * units_time_text() - write a time
 * @ns: the time
 * @text: room for it
 *
 * Return: @text.
 */
const char *units_time_text(u64 ns, char text[UNITS_TEXT])
{
	if (ns < 10000)
		snprintf(text, UNITS_TEXT, "%llu ns", (unsigned long long)ns);
	else if (ns < 10000000)
		snprintf(text, UNITS_TEXT, "%.1f us", ns / 1e3);
	else if (ns < 10000000000ULL)
		snprintf(text, UNITS_TEXT, "%.1f ms", ns / 1e6);
	else
		snprintf(text, UNITS_TEXT, "%.2f s", ns / 1e9);
	return text;
}

/**
 * units_count_text() - write a number with commas
 * @n: the number
 * @text: room for it
 *
 * Return: @text.
 */
const char *units_count_text(u64 n, char text[UNITS_TEXT])
{
	char digits[24], *to = text;
	int i, len = snprintf(digits, sizeof(digits), "%llu",
			      (unsigned long long)n);

	for (i = 0; i < len; i++) {
		if (i && !((len - i) % 3))
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}
