// SPDX-License-Identifier: GPL-2.0
/*
 * Admission (doc/protocol.md section 4.6): frames from peers without a tag.
 * link/admission.c decides; the look-ups, the keyed hash, the rate limit and the
 * sending of answers are here.
 */
#include "net.h"
#include "../link/older.h"

#include <linux/etherdevice.h>
#include <linux/jiffies.h>

#define COOKIE_LIFE	(4 * HZ)	/* a step; valid in the next step, too */

/* The cookie for a peer and its ltag, in one step of time. */
static u32 admit_cookie(struct oae_node *node, const struct oae_port *port, u64 kid,
			u32 ltag, u32 when)
{
	return oae_cookie(siphash_3u64((unsigned long)port, kid,
				       (u64)ltag << 32 | when,
				       &node->cookie_key));
}

/**
 * oae_may_answer() - may a stranger, or a gateway, be answered now?
 * @node: the node, with its limit stranger_pps
 *
 * Context: any.
 *
 * Return: true if an answer may be sent. Counts the outcome either way.
 */
bool oae_may_answer(struct oae_node *node)
{
	if (oae_limit_allows(&node->stranger_window,
			     READ_ONCE(node->knobs.stranger_pps)))
		return true;
	oae_count(node, OAE_S_STRANGER_QUIET);
	return false;
}

/* Count the verdict, and send the answer if there is one and the limit allows it. */
static void admit_carry_out(struct oae_port *port, const u8 *peer,
			    const struct oae_frame *f, struct oae_admission *a)
{
	static const u8 counters[] = {
		[OAE_ADMIT_NO_TAG] = OAE_S_NO_TAG,
		[OAE_ADMIT_POLICY] = OAE_S_NOT_ACCEPTED,
		[OAE_ADMIT_BAD_COOKIE] = OAE_S_BAD_COOKIE,
		[OAE_ADMIT_CONFLICT] = OAE_S_ID_CONFLICT,
		[OAE_ADMIT_FULL] = OAE_S_NO_ROOM_TAG,
	};
	u8 dest[ETH_ALEN];

	if (a->why)
		oae_count(port->node, counters[a->why]);
	if (a->verdict == OAE_ADMIT_DROP ||
	    (a->verdict == OAE_ADMIT_ANSWER && !oae_may_answer(port->node)))
		return;
	oae_count(port->node, OAE_S_STRANGER);
	ether_addr_copy(dest, peer);
	if (oae_port_way_back(port, f, dest, &a->answer))
		oae_xmit_frame(port, dest, &a->answer, NULL);
}

static void admit_look_up(struct oae_port *port, const u8 *peer, u64 kid,
			  const struct oae_frame *f, const struct oae_tag *closed,
			  struct oae_asker *who)
{
	struct oae_node *node = port->node;
	u32 when = jiffies / COOKIE_LIFE;

	who->cookie[0] = admit_cookie(node, port, kid, f->src_ltag, when);
	/* Compared only with a cookie that the SYNC names. */
	if (f->dst_ltag)
		who->cookie[1] = admit_cookie(node, port, kid, f->src_ltag,
					      when - 1);
	who->accept = READ_ONCE(node->knobs.accept);
	who->shut = READ_ONCE(node->knobs.shut);
	who->configured = oae_peer_configured(node, port, peer);
	if (!closed && !(f->flags & OAE_F_VIA))
		closed = oae_guess_of(node, kid);
	/* A hint: the file may detach at any time. */
	who->awaited = closed && oae_tag_attached(closed);
	who->linked = f->sync.peer_inc &&
		      oae_path_of_pair(node, f->sync.peer_inc, f->sync.inc);
}

/*
 * Make a tag and open its link, or open the CLOSED tag's. @none: there was no link to that peer.
 * -EBUSY: somebody is opening one; another error: no room for a tag.
 */
static int admit_make_tag(struct oae_port *port, u64 kid, const struct oae_frame *f,
			  struct oae_tag *closed, bool stranger, bool none)
{
	struct oae_tag *tag = closed;
	int err = 0;

	if (!tag || !refcount_inc_not_zero(&tag->ref))
		tag = oae_tag_make(port, kid, stranger, GFP_ATOMIC);
	if (IS_ERR(tag))
		return PTR_ERR(tag);
	if (!none || oae_peer_begin(tag, port, kid, f)) {
		oae_tag_accept(tag, f);
	} else {
		oae_tag_not_opened(tag);
		err = -EBUSY;
	}
	oae_tag_put(tag);
	return err;
}

/*
 * The SYNC may be about a link by other addresses, which takes it, or about one that waits for its
 * peer at another port; else a tag is made.
 */
static void admit_tag(struct oae_port *port, u64 kid, const struct oae_frame *f,
		      struct oae_tag *closed, struct oae_asker *who,
		      struct oae_admission *a)
{
	bool none;
	int err = oae_peer_claim(port, oae_path_kid(kid, f), f, &none);

	/* The link that it named is gone: it is one of anybody. */
	if (err == -ENOENT && who->linked) {
		who->linked = false;
		oae_admission(who, f, a);
		if (a->verdict != OAE_ADMIT_TAG)
			return;
	}
	if (err == -ENOENT && !closed && !(f->flags & OAE_F_VIA))
		closed = oae_addr_asks(port, kid);
	if (err == -ENOENT)
		err = admit_make_tag(port, kid, f, closed, !who->configured, none);
	if (err == -EBUSY)
		oae_admission_conflict(who, f, a);
	else if (err)
		oae_admission_full(f, a);
}

/**
 * oae_admit() - handle a frame that belongs to no open link (protocol 4.6)
 * @port: the port that received the frame
 * @peer: address of the sender
 * @f: the frame, parsed and verified
 * @closed: the peer's tag if its link is CLOSED; else NULL
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 */
void oae_admit(struct oae_port *port, const u8 *peer,
	       const struct oae_frame *f, struct oae_tag *closed)
{
	u64 kid = oae_kid(f->vc, peer);
	struct oae_asker who = {};
	struct oae_admission a;

	/* Links have left this port, and whoever asks here may mean one of them. */
	if (READ_ONCE(port->removed)) {
		oae_count(port->node, OAE_S_NO_TAG);
		return;
	}
	if (f->opcode == OAE_SYNC)
		admit_look_up(port, peer, kid, f, closed, &who);
	oae_admission(&who, f, &a);
	if (a.verdict == OAE_ADMIT_TAG)
		admit_tag(port, kid, f, closed, &who, &a);
	if (a.verdict != OAE_ADMIT_TAG)
		admit_carry_out(port, peer, f, &a);
}

/**
 * oae_admit_older() - handle a frame of another version: that of an older peer is answered
 * @port: the port that received it, and has counted it
 * @skb: the frame, data at the base header, Ethernet header before it
 *
 * Not over UDP (protocol 2.6): there the source address of a stranger proves nothing.
 *
 * Context: softirq, under rcu_read_lock().
 */
void oae_admit_older(struct oae_port *port, struct sk_buff *skb)
{
	const u8 *from = eth_hdr(skb)->h_source;
	u8 answer[OAE_OLDER_HDR];

	if (port->udp || READ_ONCE(port->removed) || skb->len != OAE_OLDER_SYNC ||
	    !is_valid_ether_addr(from) || ether_addr_equal(from, port->addr))
		return;
	if (!pskb_may_pull(skb, OAE_OLDER_SYNC)) {
		oae_count(port->node, OAE_S_NO_MEMORY);
		return;
	}
	if (!oae_older_turn_away(skb->data, skb->len, answer) || !oae_may_answer(port->node))
		return;
	oae_count(port->node, OAE_S_STRANGER);
	/* The head may be another one now. */
	from = eth_hdr(skb)->h_source;
	oae_xmit_bytes(port, from, answer, sizeof(answer));
	if (oae_may_log(port->node->net))
		pr_notice_ratelimited("port %s: %pM speaks version 1 of the protocol, here it is %u: turned away\n",
				      port->dev->name, from, OAE_VERSION);
}
