// SPDX-License-Identifier: GPL-2.0
/*
 * The last events of a node.
 *
 * Each CPU has a ring of its own, so writers never contend. A writer takes the
 * next number, which selects its slot; a writer that interrupts another on the
 * same CPU takes another number. Each slot carries a version, odd while the slot
 * is written. A reader skips a slot whose version changes during the copy, so it
 * never shows a mix of two events.
 */

#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "base.h"
#include "trace.h"

#define EVLOG_SLOTS	256	/* events a CPU, a power of two */

/**
 * struct oae_event - an event, 32 bytes
 * @ver: twice the event's number, plus 1 while it is written, plus 2 afterwards
 * @seq: number of the transaction
 * @now: local_clock(), ns
 * @kid: tag
 * @kind: enum oae_ev_kind
 * @what: depends on @kind
 * @before: enum oae_state before the event
 * @after: enum oae_state after the event
 */
struct oae_event {
	u32 ver;
	u32 seq;
	u64 now;
	u64 kid;
	u8 kind;
	u8 what;
	u8 before;
	u8 after;
};

struct oae_evring {
	u32 head;		/* number of the next event */
	struct oae_event ev[EVLOG_SLOTS];
};

/**
 * oae_evlog_make() - make the event log of a node, if there is none
 * @node: the node; no event comes before its first port is bound
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_evlog_make(struct oae_node *node)
{
	struct oae_evring __percpu *log;
	int cpu;

	if (node->evlog)
		return 0;
	log = alloc_percpu_gfp(struct oae_evring, GFP_KERNEL_ACCOUNT);
	if (!log)
		return -ENOMEM;
	/* Numbers start at EVLOG_SLOTS, so an unused slot, all 0, matches none. */
	for_each_possible_cpu(cpu)
		per_cpu_ptr(log, cpu)->head = EVLOG_SLOTS;
	/* Publishes the heads. Pairs with the acquire in oae_evlog_show(). */
	smp_store_release(&node->evlog, log);
	return 0;
}

/**
 * oae_evlog_add() - record an event, in the log and as a tracepoint
 * @port: the tag's port, perhaps gone; its node has a log
 * @now: local_clock(), ns
 * @kid: key id of the tag
 * @kind: what happened
 * @what: depends on @kind
 * @before: enum oae_state before the event
 * @after: enum oae_state after the event
 * @seq: number of the transaction
 *
 * Context: any but hard interrupts, BH off.
 */
void oae_evlog_add(const struct oae_port *port, u64 now, u64 kid,
		   enum oae_ev_kind kind, u8 what, u8 before, u8 after,
		   u32 seq)
{
	struct oae_evring __percpu *log = port->node->evlog;
	struct oae_evring *ring = this_cpu_ptr(log);
	u32 n = this_cpu_inc_return(log->head) - 1;
	struct oae_event *e = &ring->ev[n % EVLOG_SLOTS];

	WRITE_ONCE(e->ver, 2 * n + 1);
	/* The odd version before the fields. Pairs with smp_rmb() in evlog_event_read(). */
	smp_wmb();
	WRITE_ONCE(e->seq, seq);
	WRITE_ONCE(e->now, now);
	WRITE_ONCE(e->kid, kid);
	WRITE_ONCE(e->kind, kind);
	WRITE_ONCE(e->what, what);
	WRITE_ONCE(e->before, before);
	WRITE_ONCE(e->after, after);
	/* Pairs with the smp_load_acquire() in evlog_event_read(). */
	smp_store_release(&e->ver, 2 * n + 2);

	trace_oae_event(port, kid, kind, what, before, after, seq);
}

/* Copy event number @n. False if it was overwritten, or is being written. */
static bool evlog_event_read(const struct oae_evring *ring, u32 n,
			     struct oae_event *to)
{
	const struct oae_event *e = &ring->ev[n % EVLOG_SLOTS];

	/* Pairs with the smp_store_release() in oae_evlog_add(). */
	to->ver = smp_load_acquire(&e->ver);
	if (to->ver != 2 * n + 2)
		return false;
	to->seq = READ_ONCE(e->seq);
	to->now = READ_ONCE(e->now);
	to->kid = READ_ONCE(e->kid);
	to->kind = READ_ONCE(e->kind);
	to->what = READ_ONCE(e->what);
	to->before = READ_ONCE(e->before);
	to->after = READ_ONCE(e->after);
	/* The fields before the version. Pairs with the smp_wmb() in oae_evlog_add(). */
	smp_rmb();
	return READ_ONCE(e->ver) == to->ver;
}

static int evlog_event_cmp(const void *a, const void *b)
{
	const struct oae_event *x = a, *y = b;

	if (x->now != y->now)
		return x->now < y->now ? -1 : 1;
	/* Events of one step have one time: sort them in the order written. */
	return (s32)(x->ver - y->ver);
}

/*
 * A blank at the end: oae_evlog_word() has the rest. Without a default, so that the compiler
 * misses a kind that has no word.
 */
static const char *evlog_kind(enum oae_ev_kind kind)
{
	switch (kind) {
	case OAE_EV_FRAME:
		return "rcv ";
	case OAE_EV_SEND:
		return "send ";
	case OAE_EV_POST:
		return "post";
	case OAE_EV_CANCEL:
		return "cancel";
	case OAE_EV_TIMER:
		return "timer";
	case OAE_EV_NOTE:
		return "note ";
	case OAE_EV_OUTCOME:
		return "outcome ";
	}
	return "?";
}

/* Likewise. */
static const char *evlog_outcome(enum oae_outcome outcome)
{
	switch (outcome) {
	case OAE_COMMITTED:
		return "committed";
	case OAE_REVERSED:
		return "reversed";
	case OAE_UNKNOWN:
		return "unknown";
	case OAE_OUTCOME_END:
		break;
	}
	return "?";
}

/**
 * oae_evlog_word() - what an event is about, for people and programs
 * @kind: what happened
 * @what: depends on @kind
 *
 * Context: any.
 *
 * Return: the opcode of a frame, the name of a note or of an outcome; else "".
 */
const char *oae_evlog_word(enum oae_ev_kind kind, u8 what)
{
	switch (kind) {
	case OAE_EV_FRAME:
	case OAE_EV_SEND:
		return oae_opcode_name(what);
	case OAE_EV_NOTE:
		return oae_note_name(what);
	case OAE_EV_OUTCOME:
		return evlog_outcome(what);
	default:
		return "";
	}
}

static void evlog_event_show(const struct oae_event *e, struct seq_file *m)
{
	const char *kind = evlog_kind(e->kind);
	const char *what = oae_evlog_word(e->kind, e->what);
	u64 us = e->now;
	u32 ns = do_div(us, NSEC_PER_SEC);

	seq_printf(m, "%6llu.%06u 0x%016llx ", us, ns / 1000, e->kid);
	seq_printf(m, "%s%-*s %10s -> %-10s seq %u\n", kind,
		   (int)(24 - strlen(kind)), what, oae_state_name(e->before),
		   oae_state_name(e->after), e->seq);
}

/**
 * oae_evlog_show() - print the last events of a node, oldest first
 * @node: the node
 * @m: the output
 *
 * Writers are not stopped meanwhile.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_evlog_show(struct oae_node *node, struct seq_file *m)
{
	/* Pairs with the smp_store_release() in oae_evlog_make(). */
	struct oae_evring __percpu *log = smp_load_acquire(&node->evlog);
	struct oae_event *all;
	unsigned int i, count = 0;
	int cpu;

	if (!log)
		return 0;
	all = kvmalloc_array(num_possible_cpus(), EVLOG_SLOTS * sizeof(*all),
			     GFP_KERNEL);
	if (!all)
		return -ENOMEM;

	for_each_possible_cpu(cpu) {
		const struct oae_evring *ring = per_cpu_ptr(log, cpu);
		u32 head = READ_ONCE(ring->head);

		for (i = 0; i < EVLOG_SLOTS; i++)
			if (evlog_event_read(ring, head - EVLOG_SLOTS + i,
					     &all[count]))
				count++;
	}
	sort(all, count, sizeof(*all), evlog_event_cmp, NULL);
	for (i = 0; i < count; i++)
		evlog_event_show(&all[i], m);
	kvfree(all);
	return 0;
}
