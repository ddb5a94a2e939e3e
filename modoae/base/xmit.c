// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit: from struct oae_frame to the device. No lock is held here.
 *
 * Only the header is allocated, and the skb of the frame being answered is
 * reused for it where possible. A slice's payload is attached as page fragments.
 * A frame that cannot be sent is counted and lost; the link recovers as from any
 * loss.
 */
#include "base.h"

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>

/*
 * Empty the skb of a received frame for reuse, and scrub it as forwarding would.
 * False if the skb is shared, has too little room, or a neighbour on this host has
 * marked it as one to be cut up: the device would drop the reply.
 */
static bool xmit_reuse(struct sk_buff *skb, unsigned int hlen, unsigned int room)
{
	if (skb_is_nonlinear(skb) || skb_cloned(skb) || skb_shared(skb) ||
	    skb_is_gso(skb))
		return false;
	skb_trim(skb, 0);
	if (skb_headroom(skb) < hlen || skb_tailroom(skb) < room)
		return false;
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	__vlan_hwaccel_clear_tag(skb);
	skb_clear_hash(skb);
	skb_set_queue_mapping(skb, 0);
	skb->ip_summed = CHECKSUM_NONE;
	skb->priority = 0;
	return true;
}

static struct sk_buff *xmit_frame_skb(struct oae_port *port,
				      const struct oae_frame *f,
				      struct sk_buff **spent)
{
	struct net_device *dev = port->dev;
	unsigned int hlen = LL_RESERVED_SPACE(dev);
	unsigned int room = OAE_PARSE_MAX + dev->needed_tailroom;
	struct sk_buff *skb;

	if (spent && *spent && xmit_reuse(*spent, hlen, room)) {
		skb = *spent;
		*spent = NULL;
	} else {
		skb = alloc_skb(hlen + room, GFP_ATOMIC);
		if (!skb) {
			oae_count(port->node, OAE_S_NO_MEMORY);
			return NULL;
		}
		skb_reserve(skb, hlen);
	}
	skb_reset_network_header(skb);
	skb_put(skb, oae_frame_build(f, skb_tail_pointer(skb)));
	skb->dev = dev;
	skb->protocol = port->pt.type;
	return skb;
}

static void xmit_send_skb(struct oae_port *port, struct sk_buff *skb,
			  const u8 *dest)
{
	struct oae_node *node = port->node;
	unsigned int len = skb->len;

	if (dev_hard_header(skb, port->dev, ntohs(port->pt.type), dest, NULL,
			    len) < 0) {
		kfree_skb(skb);
		oae_count(node, OAE_S_TX_ERRORS);
		return;
	}
	if (dev_queue_xmit(skb) == NET_XMIT_SUCCESS) {
		oae_count(node, OAE_S_TX_FRAMES);
		oae_count_n(node, OAE_S_TX_BYTES, len);
	} else {
		oae_count(node, OAE_S_TX_ERRORS);
	}
}

/**
 * oae_xmit_frame() - send any frame but an OFFER
 * @port: the port, which the caller keeps alive
 * @dest: destination address, the peer's or a gateway's
 * @f: the frame
 * @spent: a received skb for reuse, set to NULL if it was reused; or NULL
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_xmit_frame(struct oae_port *port, const u8 *dest,
		    const struct oae_frame *f, struct sk_buff **spent)
{
	struct sk_buff *skb = xmit_frame_skb(port, f, spent);

	if (skb)
		xmit_send_skb(port, skb, dest);
}

/**
 * oae_xmit_reply() - allocate a REFLECT that carries a half or an answer
 * @port: the port it will leave by, not gone
 * @room: bytes that the caller will put into the linear part
 *
 * Context: any.
 *
 * Return: an skb with headroom for the header; NULL if there is no memory.
 */
struct sk_buff *oae_xmit_reply(struct oae_port *port, unsigned int room)
{
	unsigned int hlen = LL_RESERVED_SPACE(port->dev) + OAE_HLEN_MAX +
			    OAE_REFLECT_LEN;
	struct sk_buff *skb;

	skb = alloc_skb(hlen + room + port->dev->needed_tailroom, GFP_ATOMIC);
	if (skb)
		skb_reserve(skb, hlen);
	else
		oae_count(port->node, OAE_S_NO_MEMORY);
	return skb;
}

/* The hash of a REFLECT's payload: its body, and @reply behind it. */
static u64 xmit_reflect_hash(const struct oae_frame *f, struct sk_buff *reply)
{
	u8 body[OAE_REFLECT_LEN];
	struct skb_seq_state seq;
	struct oae_xxh64 hash;
	unsigned int n, done = 0;
	const u8 *data;

	oae_reflect_body(f, body);
	oae_xxh64_begin(&hash, f->slice);
	oae_xxh64_add(&hash, body, sizeof(body));
	skb_prepare_seq_read(reply, 0, reply->len, &seq);
	while ((n = skb_seq_read(done, &data, &seq))) {
		oae_xxh64_add(&hash, data, n);
		done += n;
	}
	return oae_xxh64_end(&hash);
}

/**
 * oae_xmit_reflect() - send a REFLECT that carries a half or an answer
 * @port: the port, which the caller keeps alive
 * @dest: destination address
 * @f: the frame; changed
 * @reply: from oae_xmit_reply(), with the half or the answer filled in; consumed
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_xmit_reflect(struct oae_port *port, const u8 *dest,
		      struct oae_frame *f, struct sk_buff *reply)
{
	u8 head[OAE_PARSE_MAX];
	unsigned int n;

	f->payload_hash = xmit_reflect_hash(f, reply);
	n = oae_frame_build(f, head);
	skb_push(reply, n);
	memcpy(reply->data, head, n);
	skb_reset_network_header(reply);
	reply->dev = port->dev;
	reply->protocol = port->pt.type;
	xmit_send_skb(port, reply, dest);
}

/**
 * oae_xmit_offer() - send the slices of an offer, back to back
 * @port: the port, which the caller keeps alive
 * @dest: destination address
 * @send: the OFFER from the link, and which slices; changed. The caller holds a
 *	reference to the message, which is @send->handle.
 * @spent: as for oae_xmit_frame()
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_xmit_offer(struct oae_port *port, const u8 *dest,
		    struct oae_send *send, struct sk_buff **spent)
{
	struct oae_msg *msg = send->handle;
	struct oae_frame *f = &send->frame;
	u64 left = send->slices;
	struct sk_buff *skb;

	while (left) {
		f->slice = __ffs64(left);
		left &= left - 1;
		f->length = oae_msg_slice_len(msg, send->slice_max,
					      f->slice);
		f->payload_hash = msg->hash[f->slice];
		if (f->slice == send->nslices - 1)
			f->flags |= OAE_F_LAST;
		skb = xmit_frame_skb(port, f, spent);
		if (!skb)
			return;
		oae_msg_fill(msg, send->slice_max, f->slice, skb);
		xmit_send_skb(port, skb, dest);
	}
}
