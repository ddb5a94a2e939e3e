// SPDX-License-Identifier: GPL-2.0
/*
 * Packs: small messages that wait when the link takes a post go to it together, as one
 * transaction (protocol 4.12). Nothing waits for more messages to come. To its writer and
 * to its reader a message in a pack is like any other.
 *
 * A pack is a message of its own, with a copy of its members' bytes: a small copy costs
 * less than a fragment of the frame, of which there are only few. It has the link's
 * reference to each member, by oae_msg.list, and ends when the link gives it back: all
 * its members have ended, or are queued again. Joined verbs (join.c) are that, too.
 */
#include "event.h"

#include "../link/pack.h"

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

/* A pack with the bytes of the first messages of a queue, see oae_join_alloc(). */
static struct oae_msg *pack_of_queued(const struct oae_tag *tag, const struct list_head *queue,
				      unsigned int *n)
{
	u32 max = min_t(u32, oae_link_pack_max(&tag->link), OAE_PIECE), len;

	*n = pack_fitting(queue, max, &len);
	return *n < 2 ? NULL : pack_alloc(queue, *n, len);
}

/**
 * oae_pack_make() - make one of the first messages, or verbs, that are queued
 * @tag: the tag, whose link takes a post
 * @ev: the event
 * @queue: the tag's queue of a ring; or that of all others, in which verbs are
 *
 * Context: under tag->lock, BH off.
 *
 * Return: the pack, or the joined verbs, for the link, with its members off the queue; NULL
 * if the first goes alone.
 */
struct oae_msg *oae_pack_make(struct oae_tag *tag, struct oae_run *ev, struct list_head *queue)
{
	struct oae_msg *pack, *msg;
	unsigned int n;

	msg = list_first_entry(queue, struct oae_msg, list);
	pack = msg->post.kind == OAE_VERB ? oae_join_alloc(tag, &n) :
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

/**
 * oae_pack_offered() - record the time when messages are offered for the first time
 * @msg: a message, or a pack
 * @now: local_clock(), ns
 *
 * Context: under the tag's lock.
 */
void oae_pack_offered(struct oae_msg *msg, u64 now)
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

/**
 * oae_pack_ended() - record the outcome of a pack: it is that of each member
 * @tag: the tag
 * @ev: the event
 * @pack: the pack, or joined verbs, which the link has no longer; freed, unless it is a ring's
 * @outcome: enum oae_outcome
 * @err: why it is not committed, positive errno; 0 if it is
 *
 * Context: under tag->lock, BH off.
 */
void oae_pack_ended(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *pack,
		    u8 outcome, int err)
{
	bool verbs = pack->post.kind == OAE_VERB;
	struct oae_msg *msg, *next;
	unsigned int n = 0;

	if (pack->txn.ring) {
		oae_tell_ended(tag, ev, pack, outcome, err);
		if (outcome == OAE_COMMITTED) {
			oae_count_n(tag->node, OAE_S_PACKED, pack->txn.ring_n);
			oae_count(tag->node, OAE_S_PACKS);
		}
		return;
	}
	if (verbs && outcome == OAE_COMMITTED)
		oae_join_answer(pack);
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

/**
 * oae_pack_back() - queue again what the link has given back, before all that is queued
 * @tag: the tag
 * @msg: a message, or a ring's pack; or a pack, or joined verbs, which is freed
 * @refused: the peer has refused it for good: its members go alone
 *
 * Context: under tag->lock, BH off.
 */
void oae_pack_back(struct oae_tag *tag, struct oae_msg *msg, bool refused)
{
	struct oae_msg *member;
	bool ring = false;
	LIST_HEAD(one);

	if (oae_msg_is_pack(msg) && !msg->txn.ring)
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
	if (oae_msg_is_pack(msg) && !ring)
		oae_msg_put(msg);
}

/**
 * oae_pack_cancel() - reverse a member of a pack: the others are queued again
 * @tag: the tag
 * @ev: the event
 * @msg: the message, in a pack; or the verb, joined with others
 * @err: error for the writer, positive errno
 *
 * OAE_OP_BACK frees the pack.
 *
 * Context: under tag->lock, BH off.
 */
void oae_pack_cancel(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *msg,
		     int err)
{
	struct oae_msg *pack = msg->pack;

	list_del(&msg->list);
	msg->pack = NULL;
	oae_tell_ended(tag, ev, msg, OAE_REVERSED, err);
	WARN_ON_ONCE(oae_link_take_back(&tag->link, pack, ev->now, &ev->a));
}

/**
 * oae_pack_check() - check a received pack, before the link is asked to hold it
 * @ev: the event; its skb is the frame, which has the pack's header in its head then
 * @f: the frame, an OFFER of a PACK; @f->unfit is set if the pack cannot be held
 *
 * So nobody can change the lengths that were checked: fragments may be anybody's memory.
 *
 * Context: under tag->lock, BH off.
 */
void oae_pack_check(struct oae_run *ev, struct oae_frame *f)
{
	unsigned int n = min_t(unsigned int, f->length, OAE_PACK_HEAD_MAX);
	u16 len[OAE_PACK_MSGS] oae_uninit;

	if (!pskb_may_pull(ev->skb, f->hdr_len + n)) {
		oae_count(ev->tag->node, OAE_S_NO_MEMORY);
		f->unfit = OAE_R_BUSY;
	} else if (!oae_pack_parse(ev->skb->data + f->hdr_len, f->length, len)) {
		f->unfit = OAE_R_KIND;
	}
}

/* The length of the next message of a delivered pack. */
static u32 pack_next_len(const struct sk_buff *pack)
{
	return get_unaligned_be16(pack->data + oae_pack_head_len(OAE_RCV_CB(pack)->pack_at));
}

/**
 * oae_pack_begin_read() - have the messages of a held pack read, one after the other
 * @pack: the skb: all of the pack, checked
 *
 * Context: any.
 *
 * Return: number of messages.
 */
unsigned int oae_pack_begin_read(struct sk_buff *pack)
{
	struct oae_rcv_cb *cb = OAE_RCV_CB(pack);
	unsigned int n = pack->data[OAE_PACK_OFF_COUNT];

	cb->pack_n = n;
	cb->pack_at = 0;
	cb->off = oae_pack_head_len(n);
	cb->nslices = 1;
	cb->len = pack_next_len(pack);
	cb->left = NULL;
	return n;
}

/**
 * oae_pack_pass() - go on to the next message of a delivered pack
 * @pack: the skb; oae_rcv_cb.pack_n is 0 if there is none
 *
 * Context: any; under the inbox's lock as long as @pack is there.
 */
void oae_pack_pass(struct sk_buff *pack)
{
	struct oae_rcv_cb *cb = OAE_RCV_CB(pack);

	cb->off += cb->len;
	cb->number++;
	cb->pack_at++;
	if (--cb->pack_n)
		cb->len = pack_next_len(pack);
}

/**
 * oae_pack_read() - take the next message of a delivered pack
 * @pack: the skb; has the messages after that one then
 *
 * Context: under the inbox's lock, BH off.
 *
 * Return: the message, in an skb of its own: so rcvbuf counts what it takes; NULL if there is no
 * memory.
 */
struct sk_buff *oae_pack_read(struct sk_buff *pack)
{
	const struct oae_rcv_cb *cb = OAE_RCV_CB(pack);
	struct sk_buff *skb = oae_xmit_kept(cb->len);

	if (!skb)
		return NULL;
	if (skb_copy_bits(pack, cb->off, skb_put(skb, cb->len), cb->len)) {
		kfree_skb(skb);
		return NULL;
	}
	skb->next = NULL;
	*OAE_RCV_CB(skb) = (struct oae_rcv_cb){
		.nslices = 1, .len = cb->len, .number = cb->number,
	};
	oae_pack_pass(pack);
	return skb;
}
