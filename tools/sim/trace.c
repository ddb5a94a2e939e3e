// SPDX-License-Identifier: GPL-2.0
/* The story of one link: its last lines, or all of them as they come. */
#include <stdarg.h>
#include <stdlib.h>
#include "sim.h"

#define TRACE_LINE	220

struct trace {
	u32 room, n;		/* room 0: print at once */
	u64 last;
	char (*line)[TRACE_LINE];
};

/**
 * trace_new() - begin a story
 * @lines: how many of the last are kept, 0 to print all to stdout at once
 *
 * Return: the trace.
 */
struct trace *trace_new(u32 lines)
{
	struct trace *t = need(calloc(1, sizeof(*t)));

	t->room = lines;
	if (lines)
		t->line = need(calloc(lines, sizeof(*t->line)));
	return t;
}

/**
 * trace_free() - forget a story
 * @t: the trace, may be NULL
 */
void trace_free(struct trace *t)
{
	if (t)
		free(t->line);
	free(t);
}

/**
 * trace_say() - add a line
 * @w: the world
 * @e: at which end
 * @fmt: what happened
 */
void trace_say(struct world *w, const struct end *e, const char *fmt, ...)
{
	struct trace *t = w->trace;
	char line[TRACE_LINE];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "%12.3f us  node %u: ",
		     (w->now - SIM_START) / 1e3,
		     topo_node(&w->topo, end_index(w, e)));
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	if (t->room)
		memcpy(t->line[t->n++ % t->room], line, sizeof(line));
	else
		puts(line);
}

static int sync_text(const struct oae_frame *f, char *buf, size_t len)
{
	if (f->opcode < OAE_SYNC || f->opcode > OAE_SYNC_CHK)
		return 0;
	if (!f->sync.kept)
		return snprintf(buf, len, " inc %04x/%04x", (u16)f->sync.inc,
				(u16)f->sync.peer_inc);
	return snprintf(buf, len, " inc %04x/%04x keeps %llx", (u16)f->sync.inc,
			(u16)f->sync.peer_inc, (unsigned long long)f->sync.kept);
}

/**
 * trace_frame() - add a line about a frame
 * @w: the world
 * @e: at which end
 * @cable: which, if there are several
 * @what: what becomes of the frame; the link may be another than the traced
 * @f: the frame
 */
void trace_frame(struct world *w, const struct end *e, unsigned int cable,
		 const char *what, const struct oae_frame *f)
{
	char text[160];
	int n = 0;

	if (__builtin_expect(!e->traced, 1))
		return;
	if (e->cabling)
		n = snprintf(text, sizeof(text), "cable %u: ", cable);
	n += snprintf(text + n, sizeof(text) - n, "%s%s %08x>%08x tx %u rx %u", what,
		      oae_opcode_name(f->opcode), f->src_ltag, f->dst_ltag,
		      f->tx, f->rx);
	if (f->seq)
		n += snprintf(text + n, sizeof(text) - n, " seq %u", f->seq);
	if (f->opcode == OAE_OFFER)
		n += snprintf(text + n, sizeof(text) - n, " slice %u", f->slice);
	if (f->reason)
		n += snprintf(text + n, sizeof(text) - n, " reason %u",
			      f->reason);
	if (f->opcode == OAE_ASK && f->length)
		n += snprintf(text + n, sizeof(text) - n, " padded to %u", OAE_HDR_LEN + f->length);
	if (f->opcode == OAE_ACK)
		n += snprintf(text + n, sizeof(text) - n, " have %llx",
			      (unsigned long long)f->have);
	n += sync_text(f, text + n, sizeof(text) - n);
	snprintf(text + n, sizeof(text) - n, "%s%s%s%s%s",
		 f->flags & OAE_F_EXPRESS ? " EXPRESS" : "",
		 f->flags & OAE_F_LAST ? " LAST" : "",
		 f->flags & OAE_F_RESUME ? " RESUME" : "",
		 f->flags & OAE_F_WANT_DONE ? " WANT_DONE" : "",
		 f->marks & OAE_M_ANSWER ? " ANSWER" : "");
	trace_say(w, e, "%s", text);
}

/**
 * trace_count() - how many lines are kept
 * @t: the trace, may be NULL
 *
 * Return: lines.
 */
u32 trace_count(const struct trace *t)
{
	if (!t)
		return 0;
	return t->n < t->room ? t->n : t->room;
}

/**
 * trace_line() - one of the lines kept
 * @t: the trace
 * @i: which, 0 the oldest
 *
 * Return: the line.
 */
const char *trace_line(const struct trace *t, u32 i)
{
	return t->line[(t->n - trace_count(t) + i) % t->room];
}
