// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that an event sends: their content is pinned under tag->lock, then they
 * are sent without it, by the tag's way.
 */
#include "event.h"

#include <linux/etherdevice.h>

/*
 * Redirect an event's frames from the peer @dest to the gateway, and set @dest to
 * the gateway's address. False: no gateway is known, and the frames are dropped.
 */
static noinline bool out_through_gateway(struct oae_tag *tag, struct oae_run *ev,
					 struct oae_port *port, u8 dest[ETH_ALEN])
{
	struct oae_send *send = ev->a.send;
	unsigned int i, frames = 0;
	struct oae_ways ways;

	for (i = 0; i < ev->a.nsends; i++)
		oae_via_mark(&send[i].frame, port->addr, dest);
	oae_port_ways(port, &ways);
	ether_addr_copy(dest, ways.gw.mac);
	if (oae_ways_gateway(&ways))
		return true;
	for (i = 0; i < ev->a.nsends; i++) {
		if (oae_out_has_payload(&send[i])) {
			frames += hweight64(send[i].slices);
			oae_msg_put(send[i].handle);
			continue;
		}
		frames++;
		if (oae_out_has_reply(&send[i]))
			kfree_skb(ev->reply[i]);
	}
	oae_count_n(tag->node, OAE_S_NO_GATEWAY, frames);
	return false;
}

/* Build what such a REFLECT carries, under tag->lock: it may change afterwards. */
static void out_make_reply(struct oae_tag *tag, struct oae_run *ev,
			   const struct oae_send *send)
{
	struct oae_msg *half = send->handle;
	const u8 *answer = NULL;
	bool verb = send->frame.kind == OAE_VERB;
	struct sk_buff *reply = NULL;
	unsigned int len = 0;

	if (verb)
		answer = oae_region_answer(tag, send->frame.seq, &len);
	if (answer || !verb)
		reply = oae_xmit_reply(tag->key.port, len);
	ev->reply[send - ev->a.send] = reply;
	if (!reply)
		return;
	if (answer)
		skb_put_data(reply, answer, len);
	else
		oae_msg_fill(half, half->post.len, 0, reply);
}

/**
 * oae_out_keep() - pin what a frame carries until the frame is sent
 * @tag: the tag
 * @ev: the event
 * @send: one of the event's frames, for which oae_out_carries() is true
 *
 * Context: under tag->lock, BH off.
 */
void oae_out_keep(struct oae_tag *tag, struct oae_run *ev,
		  const struct oae_send *send)
{
	if (oae_out_has_payload(send))
		oae_msg_get(send->handle);
	else
		out_make_reply(tag, ev, send);
}

/*
 * Send what goes by other paths than the tag's own. False: nothing else is left. What
 * does not go by the own one is taken out of the actions.
 */
static noinline bool out_elsewhere(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int i, n = 0;

	for (i = 0; i < ev->a.nsends; i++) {
		if (!oae_path_send(tag, ev, i))
			continue;
		ev->a.send[n] = ev->a.send[i];
		ev->reply[n++] = ev->reply[i];
	}
	ev->a.nsends = n;
	return n;
}

/**
 * oae_out_send() - send the frames of an event
 * @tag: the tag, unlocked
 * @ev: the event; oae_out_keep() was called for each frame that carries something.
 *	The caller has held the RCU read lock since its begin.
 *
 * Context: any but hard interrupts, BH off; under rcu_read_lock().
 */
void oae_out_send(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_port *port = tag->key.port;
	u64 kid = tag->key.kid;
	struct oae_send *send;
	u8 dest[ETH_ALEN];
	unsigned int i;

	if (unlikely(ev->out.any)) {
		/* The own path may be another one by now: oae_tag_rekey(). */
		port = ev->out.port[OAE_PATH_OWN];
		kid = ev->out.kid[OAE_PATH_OWN];
		if (!out_elsewhere(tag, ev))
			return;
	}
	oae_kid_mac(kid, dest);
	if (unlikely(ev->via) && !out_through_gateway(tag, ev, port, dest))
		return;
	for (i = 0; i < ev->a.nsends; i++) {
		send = &ev->a.send[i];
		if (oae_out_has_payload(send)) {
			oae_xmit_offer(port, dest, send, &ev->skb);
			oae_msg_put(send->handle);
		} else if (unlikely(oae_out_has_reply(send))) {
			if (ev->reply[i])
				oae_xmit_reflect(port, dest, &send->frame,
						 ev->reply[i]);
		} else {
			oae_xmit_frame(port, dest, &send->frame, &ev->skb);
		}
	}
}
