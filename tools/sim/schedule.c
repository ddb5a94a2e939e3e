// SPDX-License-Identifier: GPL-2.0
/* Faults on a schedule: TIME:WHAT:WHERE[:DOWN]. See --help. */
#include <stdio.h>
#include <stdlib.h>
#include "schedule.h"
#include "sim.h"
#include "units.h"

static const char *const names[FATE_CABLE] = {
	[FATE_CRASH] = "crash",
	[FATE_FLAP] = "flap",
	[FATE_CUT] = "cut",
	[FATE_CLOSE] = "close",
};

/* Split at colons, in place; how many parts. */
static unsigned int split(char *s, char *part[4])
{
	unsigned int n = 0;

	while (s && n < 4) {
		part[n++] = s;
		s = strchr(s, ':');
		if (s)
			*s++ = '\0';
	}
	return s ? 5 : n;
}

static bool read_place(struct fate *f, const char *s)
{
	unsigned int cable;
	char more;

	if (f->what == FATE_CRASH)
		return sscanf(s, "%9u%c", &f->a, &more) == 1;
	if (f->what == FATE_CABLE) {
		if (sscanf(s, "%9u-%9u/%9u%c", &f->a, &f->b, &cable, &more) != 3 ||
		    cable >= OAE_PATHS_MAX)
			return false;
		f->cable = cable;
		return true;
	}
	return sscanf(s, "%9u-%9u%c", &f->a, &f->b, &more) == 2;
}

static bool read_what(struct fate *f, const char *s)
{
	f->fault = cable_fault_named(s, strlen(s));
	for (f->what = 0; f->what < FATE_CABLE; f->what++)
		if (!strcmp(s, names[f->what]))
			return true;
	return f->fault != CABLE_WHOLE;
}

static const char *read_fate(struct fate *f, char *arg)
{
	char *part[4];
	unsigned int n = split(arg, part);

	if (n < 3 || n > 4)
		return "takes TIME:WHAT:WHERE[:DOWN], such as 5ms:flap:3-4:2ms";
	if (!units_time(part[0], &f->at) || f->at >= WHEEL_MAX / 2)
		return "takes a time first, such as 5ms";
	if (!read_what(f, part[1]))
		return "takes crash, flap, cut or close, or a fault of a cable";
	if (!read_place(f, part[2]))
		return f->what == FATE_CRASH ? "takes a node, such as 17" :
		       f->what == FATE_CABLE ? "takes a cable, such as 3-4/0" :
					       "takes a link, such as 3-4";
	f->lasts = 0;
	if (n == 4 && (f->what == FATE_CLOSE || !units_time(part[3], &f->lasts) ||
		       !f->lasts || f->lasts >= WHEEL_MAX / 2))
		return "takes a time last, such as 2ms, and none for close";
	return NULL;
}

/**
 * schedule_add() - one more fault
 * @c: the options
 * @arg: as it was written
 *
 * Return: what is wrong with it, NULL if nothing is.
 */
const char *schedule_add(struct config *c, const char *arg)
{
	char *copy = need(strdup(arg));
	struct fate f;
	const char *wrong = read_fate(&f, copy);

	free(copy);
	if (wrong)
		return wrong;
	c->fates = need(realloc(c->fates, (c->nfates + 1) * sizeof(f)));
	c->fates[c->nfates++] = f;
	return NULL;
}

static const char *check_trace(struct config *c, const struct topo *t)
{
	struct fate f = { .what = FATE_FLAP };

	if (!c->trace)
		return NULL;
	if (!read_place(&f, c->trace))
		return "trace: takes a link, such as 3-4";
	c->trace_link = topo_link(t, f.a, f.b);
	return c->trace_link == TOPO_NO_LINK ?
		       "trace: there is no such link in this network" :
		       NULL;
}

/**
 * schedule_check() - do the places named exist in the network?
 * @c: the options, all of them; times that were left out are filled in
 *
 * Return: what is wrong, NULL if nothing is.
 */
const char *schedule_check(struct config *c)
{
	const char *wrong;
	struct topo t;
	u32 i;

	topo_init(&t, c);
	wrong = check_trace(c, &t);
	for (i = 0; i < c->nfates && !wrong; i++) {
		struct fate *f = &c->fates[i];

		if (!f->lasts)
			f->lasts = f->what == FATE_CRASH ? c->reboot_time :
				   f->what == FATE_CABLE ? c->cable_time :
							   c->flap_time;
		/* With a range of them a link may have fewer; then nothing happens. */
		if (f->what == FATE_CABLE && (c->cables_max < 2 || f->cable >= c->cables_max))
			wrong = "at: links have no such cable; see --cables";
		if (f->what == FATE_CRASH && f->a >= t.nodes)
			wrong = "at: there is no such node in this network";
		if (f->what != FATE_CRASH &&
		    topo_link(&t, f->a, f->b) == TOPO_NO_LINK)
			wrong = "at: there is no such link in this network";
	}
	topo_free(&t);
	return wrong;
}
