// SPDX-License-Identifier: GPL-2.0
/*
 * The queues of a tag: messages that wait until the link has room for them, and what goes to it
 * together then. They are under tag->lock.
 *
 * Small messages that wait when the link takes a post go as one transaction, a pack (protocol
 * 4.12). Nothing waits for more messages to come. To its writer and to its reader a message in a
 * pack is like any other. Likewise verbs that wait go as one request, of all their operations in
 * order: to the responder it is like any other. A verb that compares words goes alone: if it were
 * not taken, none of the others would be.
 *
 * A pack is a message of its own, with a copy of its members' bytes: a small copy costs less than
 * a fragment of the frame, of which there are only few. It has the link's reference to each
 * member, by oae_msg.list, and ends when the link gives it back: all its members have ended, or
 * are queued again. Joined verbs are that, too.
 */
#include "event.h"

#include "../link/pack.h"
#include "../link/verb.h"

/* A message leaves its queue. */
void oae_queue_del(struct oae_tag *tag, struct oae_run *ev,
		   struct oae_msg *msg)
{
	lockdep_assert_held(&tag->lock);
	list_del(&msg->list);
	msg->queued = false;
	oae_tag_count_queued(tag, msg, -1);
	if (likely(!msg->txn.ring))
		ev->wake_writer = true;
}

/*
 * Mark all queued messages to be reversed; this event and the next ones reverse a few each. If
 * another flush begins meanwhile, the first @err stands.
 */
void oae_queue_flush(struct oae_tag *tag, int err)
{
	lockdep_assert_held(&tag->lock);
	if (list_empty(&tag->flushq))
		tag->flush_err = err;
	list_splice_tail_init(&tag->sndq, &tag->flushq);
	if (tag->users) {
		list_splice_tail_init(&tag->users->halfq, &tag->flushq);
		list_splice_tail_init(&tag->users->ringq, &tag->flushq);
	}
}

/* Reverse up to OAE_BATCH of the messages in flushq. */
void oae_queue_flush_some(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_msg *msg, *next;
	unsigned int n = 0;

	lockdep_assert_held(&tag->lock);
	list_for_each_entry_safe(msg, next, &tag->flushq, list) {
		if (n++ == OAE_BATCH)
			break;
		oae_queue_del(tag, ev, msg);
		oae_tell_ended(tag, ev, msg, OAE_REVERSED, tag->flush_err);
	}
}

/* May this verb be joined with others for that region? */
static bool join_takes(const struct oae_msg *msg, u32 region)
{
	return msg->post.kind == OAE_VERB && !msg->post.flags && !msg->alone &&
	       oae_verb_region(oae_msg_data(msg), msg->post.len) == region;
}

/* The first that are queued and fit together, and how long request and answer are. */
static unsigned int join_fitting(const struct list_head *from, u32 max, u32 *len, u32 *reply)
{
	unsigned int n = 0, nops = 0;
	const struct oae_msg *msg;
	u32 region;

	*len = OAE_VERB_HDR_LEN;
	*reply = OAE_ANSWER_HDR_LEN;
	msg = list_first_entry(from, struct oae_msg, list);
	region = oae_verb_region(oae_msg_data(msg), msg->post.len);
	list_for_each_entry(msg, from, list) {
		if (!join_takes(msg, region))
			break;
		nops += oae_msg_data(msg)[OAE_VERB_OFF_NOPS];
		if (nops > OAE_VERB_OPS ||
		    *len + msg->post.len - OAE_VERB_HDR_LEN > max ||
		    *reply + msg->post.reply - OAE_ANSWER_HDR_LEN + OAE_REFLECT_LEN > max)
			break;
		*len += msg->post.len - OAE_VERB_HDR_LEN;
		*reply += msg->post.reply - OAE_ANSWER_HDR_LEN;
		n++;
	}
	return n;
}

/*
 * Make one request, without members yet, of the first @n verbs that are queued. NULL: the first
 * goes alone, with @n 1 or less, or there is no memory.
 */
static struct oae_msg *join_alloc(const struct oae_tag *tag, unsigned int *n)
{
	u32 max = min_t(u32, oae_link_join_max(&tag->link), OAE_PIECE), len, reply;
	const struct oae_msg *msg;
	struct oae_msg *joined;
	unsigned int i, ops;
	u8 *head, *at;

	lockdep_assert_held(&tag->lock);
	*n = join_fitting(&tag->sndq, max, &len, &reply);
	if (*n < 2)
		return NULL;
	joined = oae_msg_alloc_pack(OAE_VERB, len);
	if (!joined)
		return NULL;
	joined->post.flags = OAE_POST_JOINED;
	joined->post.reply = reply;

	head = oae_msg_data(joined);
	msg = list_first_entry(&tag->sndq, struct oae_msg, list);
	memcpy(head, oae_msg_data(msg), OAE_VERB_HDR_LEN);
	head[OAE_VERB_OFF_NOPS] = 0;
	at = head + OAE_VERB_HDR_LEN;
	for (i = 0; i < *n; i++, msg = list_next_entry(msg, list)) {
		ops = msg->post.len - OAE_VERB_HDR_LEN;
		head[OAE_VERB_OFF_NOPS] += oae_msg_data(msg)[OAE_VERB_OFF_NOPS];
		memcpy(at, oae_msg_data(msg) + OAE_VERB_HDR_LEN, ops);
		at += ops;
	}
	oae_msg_slice(joined, len);
	return joined;
}

/*
 * Give each of joined verbs its part of the answer. The header is the same for all: all were
 * taken.
 */
static void join_answer(struct oae_msg *joined)
{
	unsigned int at = OAE_ANSWER_HDR_LEN;
	struct oae_msg *msg;

	list_for_each_entry(msg, &joined->members, list) {
		kfree_skb(msg->result);
		msg->result = skb_get(joined->result);
		msg->result_at = at;
		at += msg->post.reply - OAE_ANSWER_HDR_LEN;
	}
}

/* May this message be in a pack? */
static bool pack_takes(const struct oae_msg *msg)
{
	return msg->post.kind == OAE_MESSAGE && !msg->post.flags && !msg->alone;
}

/* The first messages of the list that fit into @max bytes: their number, and the bytes. */
static unsigned int pack_fitting(const struct list_head *from, u32 max, u32 *len)
{
	const struct oae_msg *msg;
	unsigned int n = 0;

	*len = OAE_PACK_HDR_LEN;
	list_for_each_entry(msg, from, list) {
		if (n == OAE_PACK_MSGS || !pack_takes(msg) ||
		    *len + OAE_PACK_LEN_LEN + msg->post.len > max)
			break;
		*len += OAE_PACK_LEN_LEN + msg->post.len;
		n++;
	}
	return n;
}

/* A pack with the bytes of the first @n messages of a list; NULL: there is no memory. */
static struct oae_msg *pack_alloc(const struct list_head *from, unsigned int n, u32 len)
{
	struct oae_msg *pack = oae_msg_alloc_pack(OAE_PACK, len);
	const struct oae_msg *msg;
	unsigned int i = 0;
	u8 *head, *at;

	if (!pack)
		return NULL;
	head = oae_msg_data(pack);
	at = head + oae_pack_head_len(n);
	oae_pack_begin(head, n);
	list_for_each_entry(msg, from, list) {
		oae_pack_add(head, i, msg->post.len);
		memcpy(at, oae_msg_data(msg), msg->post.len);
		at += msg->post.len;
		if (++i == n)
			break;
	}
	oae_msg_slice(pack, len);
	return pack;
}

static void pack_add(struct oae_msg *pack, struct oae_msg *msg)
{
	list_add_tail(&msg->list, &pack->members);
	msg->pack = pack;
}

/* A pack with the bytes of the first messages of a queue, see join_alloc(). */
static struct oae_msg *pack_of_queued(const struct oae_tag *tag, const struct list_head *queue,
				      unsigned int *n)
{
	u32 max = min_t(u32, oae_link_pack_max(&tag->link), OAE_PIECE), len;

	*n = pack_fitting(queue, max, &len);
	return *n < 2 ? NULL : pack_alloc(queue, *n, len);
}

/*
 * Make one of the first messages, or verbs, of a queue that the link takes a post from. They are
 * off it then. NULL: the first goes alone.
 */
struct oae_msg *oae_pack_make(struct oae_tag *tag, struct oae_run *ev, struct list_head *queue)
{
	struct oae_msg *pack, *msg;
	unsigned int n;

	lockdep_assert_held(&tag->lock);
	msg = list_first_entry(queue, struct oae_msg, list);
	pack = msg->post.kind == OAE_VERB ? join_alloc(tag, &n) :
					    pack_of_queued(tag, queue, &n);
	if (!pack) {
		if (n > 1)
			oae_count(tag->node, OAE_S_NO_MEMORY);
		return NULL;
	}
	while (n--) {
		msg = list_first_entry(queue, struct oae_msg, list);
		oae_queue_del(tag, ev, msg);
		pack_add(pack, msg);
	}
	return pack;
}

/* The outcome of a pack, which the link has no longer, is that of each member. */
void oae_pack_ended(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *pack,
		    u8 outcome, int err)
{
	bool verbs = pack->post.kind == OAE_VERB;
	struct oae_msg *msg, *next;
	unsigned int n = 0;

	lockdep_assert_held(&tag->lock);
	if (pack->txn.ring) {
		oae_tell_ended(tag, ev, pack, outcome, err);
		if (outcome == OAE_COMMITTED) {
			oae_count_n(tag->node, OAE_S_PACKED, pack->txn.ring_n);
			oae_count(tag->node, OAE_S_PACKS);
		}
		return;
	}
	if (verbs && outcome == OAE_COMMITTED)
		join_answer(pack);
	list_for_each_entry_safe(msg, next, &pack->members, list) {
		list_del(&msg->list);
		msg->pack = NULL;
		oae_tell_ended(tag, ev, msg, outcome, err);
		n++;
	}
	if (outcome == OAE_COMMITTED) {
		oae_count_n(tag->node, verbs ? OAE_S_JOINED : OAE_S_PACKED, n);
		if (!verbs)
			oae_count(tag->node, OAE_S_PACKS);
	}
	oae_msg_put(pack);
}

/*
 * Queue again what the link has given back, before all that is queued. @refused: the peer has
 * refused it for good: the members of a pack go alone.
 */
void oae_pack_back(struct oae_tag *tag, struct oae_msg *msg, bool refused)
{
	/* A ring's own pack has no members. Its single messages may be members of another. */
	bool members = oae_msg_is_pack(msg) && !msg->txn.ring, ring = false;
	struct oae_msg *member;
	LIST_HEAD(one);

	lockdep_assert_held(&tag->lock);
	if (members)
		list_splice_init(&msg->members, &one);
	else
		list_add(&msg->list, &one);
	list_for_each_entry(member, &one, list) {
		member->pack = NULL;
		member->alone |= refused;
		member->queued = true;
		ring = member->txn.ring;
		oae_tag_count_queued(tag, member, 1);
	}
	list_splice(&one, ring ? &tag->users->ringq : &tag->sndq);
	if (members)
		oae_msg_put(msg);
}

/* Reverse a member of a pack: the others are queued again. OAE_OP_BACK frees the pack. */
void oae_pack_cancel(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *msg,
		     int err)
{
	struct oae_msg *pack = msg->pack;

	lockdep_assert_held(&tag->lock);
	list_del(&msg->list);
	msg->pack = NULL;
	oae_tell_ended(tag, ev, msg, OAE_REVERSED, err);
	WARN_ON_ONCE(oae_link_take_back(&tag->link, pack, ev->now, &ev->a));
}

/*
 * Check a received pack, before the link is asked to hold it. Its header is in the head of the
 * skb then: so nobody can change the lengths that were checked, as fragments may be anybody's
 * memory. False: there is no memory, and to the link the frame was lost.
 */
bool oae_pack_check(struct oae_run *ev, struct oae_frame *f)
{
	unsigned int n = min_t(unsigned int, f->length, OAE_PACK_HEAD_MAX);
	u16 len[OAE_PACK_MSGS] oae_uninit;

	if (!pskb_may_pull(ev->skb, f->hdr_len + n)) {
		oae_count(ev->tag->node, OAE_S_NO_MEMORY);
		return false;
	}
	f->unfit = !oae_pack_parse(ev->skb->data + f->hdr_len, f->length, len);
	return true;
}
