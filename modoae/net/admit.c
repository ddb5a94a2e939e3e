// SPDX-License-Identifier: GPL-2.0
/*
 * Admission (doc/protocol.md section 4.6): frames from peers without a tag.
 *
 * A stranger costs no memory. Its SYNC is answered with a SYNC_CHK whose ltag
 * is a cookie, a keyed hash of who asks and when; only a SYNC that names a
 * valid cookie makes a tag. All answers together are limited in rate.
 *
 * A peer that is expected (configured, or a file waits for it) needs a cookie as
 * well: whoever forges its address does not see the cookie. It gets one whatever
 * strangers have used up, as a peer that has a link gets its answers. That sends
 * one frame for each that comes, and stores nothing.
 */
#include "net.h"

#include <linux/etherdevice.h>
#include <linux/jiffies.h>

#define COOKIE_LIFE	(4 * HZ)	/* and as long again */

static u32 cookie(struct oae_node *node, const struct oae_port *port, u64 kid,
		  u32 ltag, u32 when)
{
	u64 h = siphash_3u64((unsigned long)port, kid,
			     (u64)ltag << 32 | when, &node->cookie_key);

	return (u32)h ?: 1;
}

static bool cookie_valid(struct oae_node *node, const struct oae_port *port,
			 u64 kid, const struct oae_frame *f)
{
	u32 when = jiffies / COOKIE_LIFE;

	return f->dst_ltag &&
	       (f->dst_ltag == cookie(node, port, kid, f->src_ltag, when) ||
		f->dst_ltag == cookie(node, port, kid, f->src_ltag, when - 1));
}

/**
 * oae_may_answer() - may a stranger, or a gateway, be answered now?
 * @node: at which stranger_pps is asked
 *
 * Context: any. Counts within the second, without a lock.
 *
 * Return: true, and the answer is counted; false, and that is.
 */
bool oae_may_answer(struct oae_node *node)
{
	u64 second = (u32)(jiffies / HZ);
	u64 old, next;

	do {
		old = atomic64_read(&node->stranger_window);
		if (old >> 32 != second)
			next = second << 32 | 1;
		else
			next = old + 1;
		if ((u32)next > READ_ONCE(node->knobs.stranger_pps)) {
			oae_count(node, OAE_S_STRANGER_QUIET);
			return false;
		}
	} while ((u64)atomic64_cmpxchg(&node->stranger_window, old, next) !=
		 old);
	return true;
}

/* A frame that needs no tag: the ltags as they came, crossed. */
static void send_back(struct oae_port *port, const u8 *peer,
		      const struct oae_frame *f, u8 opcode, u16 reason,
		      u32 src_ltag)
{
	struct oae_frame r = {
		.opcode = opcode,
		.vc = f->vc,
		.reason = reason,
		.src_ltag = src_ltag,
		.dst_ltag = f->src_ltag,
		.seq = f->seq,
	};
	u8 dest[ETH_ALEN];

	oae_count(port->node, OAE_S_STRANGER);
	ether_addr_copy(dest, peer);
	if (oae_path_back(port, f, dest, &r))
		oae_xmit_frame(port, dest, &r, NULL);
}

/* The same, if there may be an answer now. */
static void answer(struct oae_port *port, const u8 *peer,
		   const struct oae_frame *f, u8 opcode, u16 reason,
		   u32 src_ltag)
{
	if (oae_may_answer(port->node))
		send_back(port, peer, f, opcode, reason, src_ltag);
}

/* Is there a file that waits for this peer? It may go at any time. */
static bool awaited(const struct oae_tag *closed)
{
	return closed && !list_empty_careful(&closed->files);
}

static void admit_sync(struct oae_port *port, const u8 *peer, u64 kid,
		       const struct oae_frame *f, struct oae_tag *closed)
{
	struct oae_node *node = port->node;
	bool configured = oae_peer_configured(node, port, peer);
	unsigned int accept = READ_ONCE(node->knobs.accept);
	struct oae_tag *tag = closed;

	if (READ_ONCE(node->shut) || accept == OAE_ACCEPT_NONE ||
	    (accept == OAE_ACCEPT_PEERS && !configured)) {
		oae_count(node, OAE_S_NOT_ACCEPTED);
		answer(port, peer, f, OAE_CLOSE, OAE_R_POLICY, f->dst_ltag);
		return;
	}
	if (!cookie_valid(node, port, kid, f)) {
		if (f->dst_ltag)
			oae_count(node, OAE_S_BAD_COOKIE);
		if (configured || awaited(closed) || oae_may_answer(node))
			send_back(port, peer, f, OAE_SYNC_CHK, 0,
				  cookie(node, port, kid, f->src_ltag,
					 jiffies / COOKIE_LIFE));
		return;
	}

	if (!tag || !refcount_inc_not_zero(&tag->ref))
		tag = oae_tag_make_for(port, kid, !configured, GFP_ATOMIC);
	if (IS_ERR(tag)) {
		oae_count(node, OAE_S_NO_ROOM_TAG);
		answer(port, peer, f, OAE_CLOSE, OAE_R_FULL, f->dst_ltag);
		return;
	}
	oae_tag_accept(tag, f);
	oae_tag_put(tag);
}

/**
 * oae_admit() - deal with a frame that belongs to no open link
 * @port: where it came in
 * @peer: from whom
 * @f: the frame, parsed and verified
 * @closed: the peer's tag if there is one, CLOSED; else NULL
 *
 * Context: softirq, RCU read lock held, no other lock.
 */
void oae_admit(struct oae_port *port, const u8 *peer,
	       const struct oae_frame *f, struct oae_tag *closed)
{
	u64 kid = oae_kid(f->vc, peer);

	switch (f->opcode) {
	case OAE_SYNC:
		admit_sync(port, peer, kid, f, closed);
		break;
	case OAE_CLOSE:
		/* Forgotten already; a refusal needs no answer. */
		if (!f->reason)
			answer(port, peer, f, OAE_CLOSE_ACK, 0, f->dst_ltag);
		break;
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
	case OAE_CLOSE_ACK:
	case OAE_HELLO:
	case OAE_NOLINK:
		oae_count(port->node, OAE_S_NO_TAG);
		break;
	default:
		answer(port, peer, f, OAE_NOLINK, 0, f->dst_ltag);
	}
}
