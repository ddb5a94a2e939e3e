// SPDX-License-Identifier: GPL-2.0
/*
 * What an event sends: made sure of under tag->lock, sent without it, the way that
 * the tag goes.
 */
#include "event.h"

#include <linux/etherdevice.h>

/*
 * The frames to the peer @dest go to the gateway instead, which @dest is then.
 * False: there is none, and they are gone.
 */
static noinline bool out_through_gateway(struct oae_tag *tag, struct oae_run *ev,
					 u8 dest[ETH_ALEN])
{
	struct oae_port *port = tag->key.port;
	struct oae_send *send = ev->a.send;
	unsigned int i, frames = 0;

	for (i = 0; i < ev->a.nsends; i++)
		oae_path_mark(port, dest, &send[i].frame);
	if (oae_path_gateway(port, dest))
		return true;
	for (i = 0; i < ev->a.nsends; i++) {
		if (send[i].frame.opcode == OAE_OFFER) {
			frames += hweight64(send[i].slices);
			oae_msg_put(send[i].handle);
		} else {
			frames++;
		}
	}
	kfree_skb(ev->reply);
	oae_count_n(tag->node, OAE_S_NO_GATEWAY, frames);
	return false;
}

/* A REFLECT that carries a half or an answer. */
static bool out_has_reply(const struct oae_send *send)
{
	return send->frame.opcode == OAE_REFLECT && send->frame.length;
}

/* What such a REFLECT carries, while it is sure to stay what it is. */
static void out_make_reply(struct oae_tag *tag, struct oae_run *ev,
			   const struct oae_send *send)
{
	struct oae_msg *half = send->handle;
	const u8 *answer = NULL;
	unsigned int len = 0;

	if (send->frame.kind == OAE_VERB)
		answer = oae_region_answer(tag, &len);
	kfree_skb(ev->reply);
	ev->reply = oae_xmit_reply(tag->key.port, len);
	if (!ev->reply)
		return;
	if (answer)
		skb_put_data(ev->reply, answer, len);
	else
		oae_msg_fill(half, half->post.len, 0, ev->reply);
}

/**
 * oae_out_keep() - what a frame carries stays until it is sent
 * @tag: the tag, locked
 * @ev: the event
 * @send: one of its frames
 */
void oae_out_keep(struct oae_tag *tag, struct oae_run *ev,
		  const struct oae_send *send)
{
	if (send->frame.opcode == OAE_OFFER)
		oae_msg_get(send->handle);
	else if (unlikely(out_has_reply(send)))
		out_make_reply(tag, ev, send);
}

/**
 * oae_out_send() - send the frames of an event
 * @tag: the tag, not locked any more
 * @ev: the event; oae_out_keep() was called for each frame
 *
 * Context: BH off, RCU read lock held since the event began.
 */
void oae_out_send(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_port *port = tag->key.port;
	struct oae_send *send;
	u8 dest[ETH_ALEN];
	unsigned int i;

	oae_kid_mac(tag->key.kid, dest);
	if (unlikely(ev->via) && !out_through_gateway(tag, ev, dest))
		return;
	for (i = 0; i < ev->a.nsends; i++) {
		send = &ev->a.send[i];
		if (send->frame.opcode == OAE_OFFER) {
			oae_xmit_offer(port, dest, send, &ev->skb);
			oae_msg_put(send->handle);
		} else if (unlikely(out_has_reply(send))) {
			if (ev->reply)
				oae_xmit_reflect(port, dest, &send->frame,
						 ev->reply);
			ev->reply = NULL;
		} else {
			oae_xmit_frame(port, dest, &send->frame, &ev->skb);
		}
	}
}
