// SPDX-License-Identifier: GPL-2.0
/*
 * Telling users: outcomes of messages, notes of a link, unread transactions, room
 * to write. Sleepers are woken at the end of the event, after tag->lock has been
 * dropped.
 *
 * And what a link waits for, since when and until when, and what its peer may wait for here: the
 * answer to "why is it stuck?", in numbers and in one sentence. All that people and programs
 * are told of it is told by these functions.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "path.h"

#include <linux/poll.h>
#include <linux/sched/clock.h>

#include "../base/trace.h"
#include "ring.h"

static const char *const waits_words[OAE_WAIT_END] = {
	[OAE_WAIT_NOTHING] = "-",
	[OAE_WAIT_PORT] = "port",
	[OAE_WAIT_CARRIER] = "carrier",
	[OAE_WAIT_GATEWAY] = "gateway",
	[OAE_WAIT_ANSWER] = "answer",
	[OAE_WAIT_SETTLING] = "settling",
	[OAE_WAIT_ROOM] = "room",
	[OAE_WAIT_WORDS] = "words",
	[OAE_WAIT_HALF] = "half",
	[OAE_WAIT_FLIGHT] = "flight",
	[OAE_WAIT_CONFIRM] = "confirm",
};

static const char *const waits_sentences[OAE_WAIT_END] = {
	[OAE_WAIT_NOTHING] = "nothing",
	[OAE_WAIT_PORT] = "the port here is down",
	[OAE_WAIT_CARRIER] = "the port here has no carrier",
	[OAE_WAIT_GATEWAY] = "the gateway is not known",
	[OAE_WAIT_ANSWER] = "no answer",
	[OAE_WAIT_SETTLING] = "what is in doubt is settled first",
	[OAE_WAIT_ROOM] = "no room there",
	[OAE_WAIT_WORDS] = "words reserved there",
	[OAE_WAIT_HALF] = "no half there",
	[OAE_WAIT_FLIGHT] = "under way",
	[OAE_WAIT_CONFIRM] = "not confirmed yet",
};

/* Why no frame leaves this host, whatever the link waits for; 0: frames do. */
static u8 waits_here(const struct oae_tag *tag)
{
	const struct net_device *dev = oae_tag_used_port(tag)->dev;
	struct oae_ways ways;

	if (!netif_running(dev))
		return OAE_WAIT_PORT;
	if (!netif_carrier_ok(dev))
		return OAE_WAIT_CARRIER;
	if (!tag->way.via || oae_path_elsewhere(tag))
		return OAE_WAIT_NOTHING;
	oae_port_ways(tag->key.port, &ways);
	return ways.gw.known ? OAE_WAIT_NOTHING : OAE_WAIT_GATEWAY;
}

/* What this end keeps the peer waiting for. */
static void waits_unread(struct oae_tag *tag, struct oae_waits_view *v)
{
	v->unread = oae_inbox_count(tag);
	v->bytes = READ_ONCE(tag->inbox.bytes);
	v->room = READ_ONCE(tag->node->knobs.rcvbuf);
	v->attached = oae_tag_attached(tag);
	if (v->unread || v->bytes)
		v->idle = jiffies_to_msecs((u32)jiffies - READ_ONCE(tag->inbox.since));
}

/**
 * oae_waits_look() - what does a link wait for?
 * @tag: its tag
 * @v: filled in
 *
 * Context: under tag->lock, BH off; takes region->lock.
 */
void oae_waits_look(struct oae_tag *tag, struct oae_waits_view *v)
{
	u64 now = local_clock();
	struct oae_link_waits w;
	u8 here = OAE_WAIT_NOTHING;

	lockdep_assert_held(&tag->lock);
	memset(v, 0, sizeof(*v));
	oae_link_waits(&tag->link, now, &w);
	if (w.why && !tag->dead)
		here = waits_here(tag);
	v->why = here ?: w.why;
	/* Another CPU's clock may be ahead. */
	if (w.since)
		v->since = now > w.since ? now - w.since : 1;
	if (w.until)
		v->until = w.until > now ? w.until - now : 1;
	waits_unread(tag, v);
	v->holder = oae_region_holder(tag);
}

/*
 * A transaction may be about to end reversed: keep what is waited for, if there ever was a file.
 */
void oae_waits_mark(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (tag->users)
		oae_waits_look(tag, &tag->users->waited);
}

/**
 * oae_waits_word() - what is waited for, in a word for programs
 * @v: what is waited for
 *
 * Context: any.
 *
 * Return: the word, "-" for nothing.
 */
const char *oae_waits_word(const struct oae_waits_view *v)
{
	return waits_words[v->why];
}

static size_t waits_put_time(char *buf, size_t size, const char *before, u64 ns)
{
	u64 ds = div_u64(ns, 100 * NSEC_PER_MSEC);
	u32 tenth;

	if (ds >= 100)
		return scnprintf(buf, size, "%s%llu s", before, div_u64(ds, 10));
	ds = div_u64_rem(ds, 10, &tenth);
	return scnprintf(buf, size, "%s%llu.%u s", before, ds, tenth);
}

/* With a comma before each three digits. */
static size_t waits_put_bytes(char *buf, size_t size, u32 n)
{
	if (n < 1000)
		return scnprintf(buf, size, "%u", n);
	if (n < 1000000)
		return scnprintf(buf, size, "%u,%03u", n / 1000, n % 1000);
	return scnprintf(buf, size, "%u,%03u,%03u", n / 1000000, n / 1000 % 1000, n % 1000);
}

static size_t waits_put_unread(char *buf, size_t size, const struct oae_waits_view *v)
{
	size_t n;

	/* OAE_OPT_TAKE: what is read takes room until it is dealt with. */
	if (v->unread)
		n = scnprintf(buf, size, "%u unread, ", v->unread);
	else
		n = scnprintf(buf, size, "%s", "kept by a reader: ");
	n += waits_put_bytes(buf + n, size - n, v->bytes);
	n += scnprintf(buf + n, size - n, " of ");
	n += waits_put_bytes(buf + n, size - n, v->room);
	n += scnprintf(buf + n, size - n, " bytes");
	if (v->idle >= MSEC_PER_SEC)
		n += waits_put_time(buf + n, size - n,
				    v->attached || !v->unread ? "; nothing read since " :
								"; no reader since ",
				    (u64)v->idle * NSEC_PER_MSEC);
	return n;
}

/**
 * oae_waits_text() - the sentence
 * @v: what is waited for
 * @buf: set to it
 * @size: its size; OAE_WAITS_TEXT suffices
 *
 * Context: any.
 */
void oae_waits_text(const struct oae_waits_view *v, char *buf, size_t size)
{
	bool here = v->unread || v->bytes || v->holder;
	u8 mac[ETH_ALEN];
	size_t n = 0;

	*buf = 0;
	if (v->why || !here)
		n += scnprintf(buf, size, "%s", waits_sentences[v->why]);
	if (v->since)
		n += waits_put_time(buf + n, size - n, " since ", v->since);
	if (v->until)
		n += waits_put_time(buf + n, size - n,
				    v->why == OAE_WAIT_SETTLING ? ", at most " : ", given up in ",
				    v->until);
	if (v->unread || v->bytes) {
		n += scnprintf(buf + n, size - n, "%s", n ? "; " : "");
		n += waits_put_unread(buf + n, size - n, v);
	}
	if (v->holder) {
		oae_kid_mac(v->holder, mac);
		scnprintf(buf + n, size - n, "%swords reserved by %pM vc %u", n ? "; " : "", mac,
			  (u8)(v->holder >> 56));
	}
}

/* Count how long a transaction took that was offered, and is committed. */
static void tell_took(const struct oae_tag *tag, const struct oae_run *ev,
		      const struct oae_msg *msg)
{
	/* This CPU's local_clock() may be behind that of the CPU that offered it. */
	u64 ns = max_t(s64, ev->now - msg->t_offer, 0);
	unsigned int class = min(fls64(ns >> OAE_TOOK_FIRST),
				 OAE_S_TOOK_LONGER - OAE_S_TOOK);

	BUILD_BUG_ON(OAE_S_TOOK_30 - OAE_S_TOOK != 30 - OAE_TOOK_FIRST);
	oae_count_n(tag->node, OAE_S_TOOK_NS, ns);
	oae_count(tag->node, OAE_S_TOOK + class);
}

/* Record and count the outcome of a message, which is on no queue and not with the link. */
void oae_tell_ended(struct oae_tag *tag, struct oae_run *ev,
		    struct oae_msg *msg, u8 outcome, int err)
{
	unsigned int n = msg->txn.ring_n ?: 1;

	lockdep_assert_held(&tag->lock);
	/* The counters of outcomes are in the order of enum oae_outcome. */
	BUILD_BUG_ON(OAE_S_REVERSED - OAE_S_COMMITTED != OAE_REVERSED ||
		     OAE_S_UNKNOWN - OAE_S_COMMITTED != OAE_UNKNOWN);
	msg->outcome = outcome;
	msg->err = err;
	oae_bench_ended(&msg->bench, ev->now);
	list_add_tail(&msg->list, &ev->done);
	if (msg->txn.client && oae_attach_ended(tag, msg))
		ev->wake_writer = true;

	tag->nended[outcome] += n;
	oae_count_n(tag->node, OAE_S_COMMITTED + outcome, n);
	/* A swap's half that was lent was never offered. */
	if (outcome == OAE_COMMITTED && msg->t_offer)
		tell_took(tag, ev, msg);
	oae_run_log(tag, ev, OAE_EV_OUTCOME, outcome, oae_link_tx(&tag->link));
	trace_oae_outcome(tag->key.port, tag->key.kid, outcome, err,
			  oae_link_tx(&tag->link));
}

/* Which end has died, if that is what a note says. This one knows no peer then. */
static const char *tell_whose(const struct oae_tag *tag, enum oae_note note)
{
	struct oae_link_mark mark;

	if (note != OAE_N_UNCONFIRMED && note != OAE_N_HELD_LOST)
		return "";
	oae_link_mark(&tag->link, &mark);
	return mark.peer_inc ? " (the peer)" : " (this end)";
}

/* Write a note to the kernel log, as far as the knob `verbose` asks for it. */
static void tell_say(const struct oae_tag *tag, enum oae_note note)
{
	unsigned int verbose = READ_ONCE(tag->node->knobs.verbose);
	u8 peer[ETH_ALEN];

	if (!oae_may_log(tag->node->net))
		return;
	switch (note) {
	case OAE_N_BROKEN:
	case OAE_N_UNCONFIRMED:
	case OAE_N_HELD_LOST:
		break;		/* data or outcomes may be lost: always logged */
	case OAE_N_OPENED:
	case OAE_N_DOWN:
	case OAE_N_UP:
	case OAE_N_PEER_NEW:
	case OAE_N_GONE:
		if (!verbose)
			return;
		break;
	default:
		if (verbose < 2)
			return;
	}
	oae_kid_mac(tag->key.kid, peer);
	net_info_ratelimited("port %s peer %pM vc %u: %s: %s%s\n",
			     tag->key.port->dev->name, peer,
			     (unsigned int)(tag->key.kid >> 56),
			     oae_note_name(note),
			     oae_stat_text(OAE_S_NOTE + note), tell_whose(tag, note));
}

/* Does a note say what became of the link, rather than of a frame or an offer? */
static bool tell_is_news(enum oae_note note)
{
	switch (note) {
	case OAE_N_OPENED:
	case OAE_N_RESOLVED:
	case OAE_N_STALL:
	case OAE_N_PEER_FROZE:
	case OAE_N_NOLINK:
	case OAE_N_MISMATCH:
	case OAE_N_WORN:
	case OAE_N_PORT:
	case OAE_N_IMPOSSIBLE:
	case OAE_N_DOWN:
	case OAE_N_UP:
	case OAE_N_PEER_NEW:
	case OAE_N_BROKEN:
	case OAE_N_UNCONFIRMED:
	case OAE_N_HELD_LOST:
	case OAE_N_REJECTED:
	case OAE_N_PATH_LOSSY:
	case OAE_N_CLOSE:
	case OAE_N_GONE:
		return true;
	default:
		return false;
	}
}

static void tell_news(struct oae_tag *tag, const struct oae_run *ev, enum oae_note note)
{
	struct oae_waits_view waits;
	struct oae_news news = {
		.now = ev->now,
		.kid = tag->key.kid,
		.note = note,
		.before = ev->conn.before,
		.after = oae_link_state(&tag->link),
		.tx = oae_link_tx(&tag->link),
	};

	oae_waits_look(tag, &waits);
	news.waits = waits.why;
	news.since = waits.since;
	news.until = waits.until;
	strscpy(news.port, tag->key.port->dev->name, sizeof(news.port));
	oae_news_add(tag->node, &news);
}

/* Record the time when messages are offered for the first time. */
static void tell_offered(struct oae_msg *msg, u64 now)
{
	struct oae_msg *member;

	if (!msg->t_offer)
		msg->t_offer = now;
	if (likely(!oae_msg_is_pack(msg)))
		return;
	list_for_each_entry(member, &msg->members, list)
		if (!member->t_offer)
			member->t_offer = now;
}

/* Count, log and report a note of a link. */
void oae_tell_note(struct oae_tag *tag, struct oae_run *ev, const struct oae_op *op)
{
	enum oae_note note = op->note;

	lockdep_assert_held(&tag->lock);
	oae_count(tag->node, OAE_S_NOTE + note);
	switch (note) {
	case OAE_N_OFFERED:
		tell_offered(op->handle, ev->now);
		break;
	case OAE_N_HELD:
	case OAE_N_LENT:
	case OAE_N_VOIDED:
		break;
	default:
		oae_run_log(tag, ev, OAE_EV_NOTE, note, oae_link_tx(&tag->link));
		tell_say(tag, note);
		if (tell_is_news(note))
			tell_news(tag, ev, note);
		oae_attach_note(tag, note);
	}
}

static void tell_readers(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	/*
	 * A file may attach or detach meanwhile. No wake-up gets lost: an attached
	 * file looks for unread data itself, and oae_tag_detach() wakes noc_debug.
	 */
	if (oae_tag_attached(tag))
		oae_attach_readable(tag);
	else if (wq_has_sleeper(&node->noc_wait))
		wake_up_poll(&node->noc_wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * oae_tell_writers() - there may be room: wake a writer, and all who poll
 * @tag: the tag
 *
 * Context: any but hard interrupts; not under tag->lock.
 */
void oae_tell_writers(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	oae_attach_writable(tag);
	if (wq_has_sleeper(&node->noc_wait))
		wake_up_poll(&node->noc_wait, EPOLLOUT | EPOLLWRNORM);
}

/* Wake all sleepers that an event concerns, the tag unlocked. RCU is held since its begin. */
void oae_tell_all(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_rings *ring, *last = NULL;
	struct oae_msg *msg, *next;

	list_for_each_entry_safe(msg, next, &ev->done, list) {
		INIT_LIST_HEAD(&msg->list);
		if (unlikely(msg->txn.ring)) {
			ring = oae_ring_ended(msg);
			if (last && last != ring)
				oae_ring_took(last);
			last = ring;
			oae_msg_put(msg);
			continue;
		}
		if (!oae_bench_told(&msg->bench, msg->outcome == OAE_COMMITTED))
			complete(&msg->done);
		if (msg->txn.tell)
			oae_attach_tell(msg);
		oae_msg_put(msg);
	}
	if (unlikely(last))
		oae_ring_took(last);
	if (ev->wake_writer)
		oae_tell_writers(tag);
	if (ev->wake_reader)
		tell_readers(tag);
}
