// SPDX-License-Identifier: GPL-2.0
/*
 * Joined verbs: verbs that wait when the link takes a post go to it as one request, of
 * all their operations in order (protocol 4.12). To the responder it is like any other.
 * What becomes of it becomes of each of them, as of the messages of a pack: pack.c.
 *
 * A verb that compares words goes alone. If it were not taken, none of the others would be.
 */
#include "event.h"

#include "../link/verb.h"

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

/**
 * oae_join_alloc() - make one request of the first verbs that are queued
 * @tag: the tag; the first that is queued is a verb
 * @n: of how many: set to 1 or less if the first goes alone
 *
 * Context: under tag->lock, BH off.
 *
 * Return: the request, without members; NULL if the first goes alone, or there is no
 * memory.
 */
struct oae_msg *oae_join_alloc(const struct oae_tag *tag, unsigned int *n)
{
	u32 max = min_t(u32, oae_link_join_max(&tag->link), OAE_PIECE), len, reply;
	const struct oae_msg *msg;
	struct oae_msg *joined;
	unsigned int i, ops;
	u8 *head, *at;

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

/**
 * oae_join_answer() - give each of joined verbs its part of the answer
 * @joined: the request, which is committed
 *
 * The header is the same for all: all were taken.
 *
 * Context: under tag->lock, BH off.
 */
void oae_join_answer(struct oae_msg *joined)
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
