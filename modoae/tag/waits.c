// SPDX-License-Identifier: GPL-2.0
/*
 * What a link waits for, since when and until when, and what its peer may wait for here: the
 * answer to "why is it stuck?", in numbers and in one sentence. All that people and programs
 * are told of it is told by these functions.
 */
#include "path.h"

#include <linux/sched/clock.h>

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

/**
 * oae_waits_mark() - a transaction may be about to end reversed: keep what is waited for
 * @tag: its tag; nothing happens if it never had a file
 *
 * Context: under tag->lock, BH off; takes region->lock.
 */
void oae_waits_mark(struct oae_tag *tag)
{
	if (tag->users)
		oae_waits_look(tag, &tag->users->waited);
}

/**
 * oae_waits_refused() - a transaction of a file is not even queued: keep what is waited for
 * @tag: the file's tag
 * @c: the file
 *
 * Context: any but hard interrupts; takes tag->lock and region->lock.
 */
void oae_waits_refused(struct oae_tag *tag, struct oae_client *c)
{
	oae_tag_lock(tag);
	oae_waits_look(tag, &c->waited);
	oae_tag_unlock(tag);
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
