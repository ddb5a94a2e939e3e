// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit: from struct oae_frame to the device. No lock is held here.
 *
 * Only the header is allocated, and not even that where an skb can be reused: that
 * of the frame being answered, or a spare. Spares are skbs of frames that were
 * handled or read; each processor keeps a few. A slice's payload is attached as page
 * fragments. A frame that cannot be sent is counted and lost; the link recovers as
 * from any loss.
 */
#include "base.h"

#include <linux/etherdevice.h>
#include <linux/local_lock.h>
#include <net/dst.h>

#define OAE_SPARES	8	/* the most that a processor keeps */
#define OAE_SPARE_MAX	SKB_WITH_OVERHEAD(1024)	/* bytes of its head, at most */

struct xmit_spares {
	local_lock_t lock;
	struct sk_buff_head list;
};

static DEFINE_PER_CPU(struct xmit_spares, xmit_spares) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/*
 * Make the skb of a received frame one that was just allocated: all that it refers to is
 * given back, and the kernel begins the rest anew around its head, so nothing is left that
 * its sender, or a program on its way, may have set. False if the skb or its head is not
 * ours alone. xmit_has_room() sets where its data begins.
 */
static bool xmit_empty(struct sk_buff *skb)
{
	unsigned int size = SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	bool frag = skb->head_frag;
	void *head = skb->head;

	if (skb_is_nonlinear(skb) || skb_cloned(skb) || skb_shared(skb) ||
	    skb_zcopy(skb) || skb->fclone || oae_skb_pooled(skb))
		return false;
	size += skb_end_offset(skb);
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	memset(skb, 0, offsetof(struct sk_buff, tail));
	build_skb_around(skb, head, size);
	/* It takes each head for a part of a page. */
	skb->head_frag = frag;
	return true;
}

/* Begin an empty skb anew, with @hlen bytes of headroom. False: it is too small. */
static bool xmit_has_room(struct sk_buff *skb, unsigned int hlen, unsigned int room)
{
	if (skb_end_offset(skb) < hlen + room)
		return false;
	skb->data = skb->head + hlen;
	skb_reset_tail_pointer(skb);
	return true;
}

/* The skb of the frame being answered, or a spare; NULL: none, or it is too small. */
static struct sk_buff *xmit_reuse(struct sk_buff **spent, unsigned int hlen,
				  unsigned int room)
{
	struct sk_buff *skb = *spent;

	if (skb && xmit_empty(skb)) {
		*spent = NULL;
	} else {
		local_lock_nested_bh(&xmit_spares.lock);
		skb = __skb_dequeue(this_cpu_ptr(&xmit_spares.list));
		local_unlock_nested_bh(&xmit_spares.lock);
	}
	if (skb && xmit_has_room(skb, hlen, room))
		return skb;
	consume_skb(skb);
	return NULL;
}

static struct sk_buff *xmit_frame_skb(struct oae_port *port,
				      const struct oae_frame *f,
				      struct sk_buff **spent)
{
	struct net_device *dev = port->dev;
	unsigned int hlen = LL_RESERVED_SPACE(dev);
	unsigned int room = OAE_PARSE_MAX + dev->needed_tailroom;
	struct sk_buff *skb = spent ? xmit_reuse(spent, hlen, room) : NULL;

	if (!skb) {
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

/* A probe of the length that a path carries: an ASK with zeros behind it (protocol 4.17). */
static noinline struct sk_buff *xmit_long_skb(struct oae_port *port, const struct oae_frame *ask)
{
	struct page *zeros = ZERO_PAGE(0);
	struct oae_frame f = *ask;
	unsigned int n, i = 0, left;
	struct oae_xxh64 hash;
	struct sk_buff *skb;

	oae_xxh64_begin(&hash, 0);
	for (left = f.length; left; left -= n) {
		n = min_t(unsigned int, left, PAGE_SIZE);
		oae_xxh64_add(&hash, page_address(zeros), n);
	}
	f.payload_hash = oae_xxh64_end(&hash);
	skb = xmit_frame_skb(port, &f, NULL);
	for (left = skb ? f.length : 0; left; left -= n) {
		n = min_t(unsigned int, left, PAGE_SIZE);
		get_page(zeros);
		skb_add_rx_frag(skb, i++, zeros, 0, n, n);
	}
	return skb;
}

/**
 * oae_xmit_spare() - free the skb of a frame, or keep it for one that will be sent
 * @skb: the frame, handled or read, on no list; NULL is ignored
 *
 * Kept are only skbs like those that oae_xmit_frame() allocates. One whose bytes are
 * part of a page would keep the whole page, perhaps a driver's.
 *
 * Context: softirq, or BH off.
 */
void oae_xmit_spare(struct sk_buff *skb)
{
	struct sk_buff_head *spares;

	if (unlikely(!skb))
		return;
	if (skb->head_frag || skb_pfmemalloc(skb) || skb_zcopy(skb) || skb_cloned(skb) ||
	    skb_shared(skb) || skb_end_offset(skb) > OAE_SPARE_MAX)
		goto free;
	/* Gives the payload's pages back. */
	skb_orphan(skb);
	if (pskb_trim(skb, 0) || !xmit_empty(skb))
		goto free;
	local_lock_nested_bh(&xmit_spares.lock);
	spares = this_cpu_ptr(&xmit_spares.list);
	if (skb_queue_len(spares) < OAE_SPARES) {
		__skb_queue_head(spares, skb);
		skb = NULL;
	}
	local_unlock_nested_bh(&xmit_spares.lock);
free:
	consume_skb(skb);
}

/**
 * oae_xmit_init() - begin to keep spare skbs
 *
 * Context: process.
 */
void oae_xmit_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		__skb_queue_head_init(per_cpu_ptr(&xmit_spares.list, cpu));
}

/**
 * oae_xmit_exit() - free the spare skbs; nothing is received, read or sent any more
 *
 * Context: process.
 */
void oae_xmit_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		__skb_queue_purge(per_cpu_ptr(&xmit_spares.list, cpu));
}

static void xmit_send_skb(struct oae_port *port, struct sk_buff *skb,
			  const u8 *dest, const u8 *src)
{
	struct oae_node *node = port->node;
	unsigned int len = skb->len;

	/* The device may be another namespace's by now. */
	if (unlikely(READ_ONCE(port->mute)) ||
	    dev_hard_header(skb, port->dev, ntohs(port->pt.type), dest, src, len) < 0) {
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
 * @spent: the received skb that is answered, or NULL there; set to NULL if it was
 *	reused. NULL: take no spare either
 *
 * Context: any but hard interrupts, no lock held; BH off if @spent.
 */
void oae_xmit_frame(struct oae_port *port, const u8 *dest,
		    const struct oae_frame *f, struct sk_buff **spent)
{
	struct sk_buff *skb;

	if (unlikely(f->opcode == OAE_ASK && f->length))
		skb = xmit_long_skb(port, f);
	else
		skb = xmit_frame_skb(port, f, spent);
	if (skb)
		xmit_send_skb(port, skb, dest, port->addr);
}

/**
 * oae_xmit_bytes() - send a frame that is built already
 * @port: the port, which the caller keeps alive
 * @dest: destination address
 * @bytes: the frame, from behind the Ethernet header
 * @len: its bytes
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_xmit_bytes(struct oae_port *port, const u8 *dest, const void *bytes,
		    unsigned int len)
{
	struct net_device *dev = port->dev;
	unsigned int hlen = LL_RESERVED_SPACE(dev);
	struct sk_buff *skb = alloc_skb(hlen + len + dev->needed_tailroom, GFP_ATOMIC);

	if (!skb) {
		oae_count(port->node, OAE_S_NO_MEMORY);
		return;
	}
	skb_reserve(skb, hlen);
	skb_reset_network_header(skb);
	skb_put_data(skb, bytes, len);
	skb->dev = dev;
	skb->protocol = port->pt.type;
	xmit_send_skb(port, skb, dest, port->addr);
}

/**
 * oae_xmit_from() - broadcast a frame from an address that the port had, or has
 * @port: the port, which the caller keeps alive
 * @src: the address
 * @f: the frame, no OFFER
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_xmit_from(struct oae_port *port, const u8 *src, const struct oae_frame *f)
{
	struct sk_buff *skb = xmit_frame_skb(port, f, NULL);

	if (skb)
		xmit_send_skb(port, skb, port->dev->broadcast, src);
}

/**
 * oae_xmit_kept() - allocate an skb for bytes that are kept here
 * @len: bytes that the caller will put into it
 *
 * Context: softirq, or BH off.
 *
 * Return: the skb; NULL if there is no memory.
 */
struct sk_buff *oae_xmit_kept(unsigned int len)
{
	struct sk_buff *none = NULL, *skb = xmit_reuse(&none, 0, len);

	return skb ?: alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);
}

/**
 * oae_xmit_reply() - allocate a REFLECT that carries a half or an answer
 * @port: the port it will leave by, not gone; by another it has to be made longer
 * @room: bytes that the caller will put into the linear part
 *
 * Context: softirq, or BH off.
 *
 * Return: an skb with headroom for the header; NULL if there is no memory.
 */
struct sk_buff *oae_xmit_reply(struct oae_port *port, unsigned int room)
{
	unsigned int hlen = LL_RESERVED_SPACE(port->dev) + OAE_HLEN_MAX +
			    OAE_REFLECT_LEN;
	struct sk_buff *skb = NULL;

	room += port->dev->needed_tailroom;
	skb = xmit_reuse(&skb, hlen, room);
	if (skb)
		return skb;
	skb = alloc_skb(hlen + room, GFP_ATOMIC);
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
	/* It may leave by another port than the one that it was made for. */
	if (skb_cow_head(reply, n + LL_RESERVED_SPACE(port->dev))) {
		kfree_skb(reply);
		oae_count(port->node, OAE_S_NO_MEMORY);
		return;
	}
	skb_push(reply, n);
	memcpy(reply->data, head, n);
	skb_reset_network_header(reply);
	reply->dev = port->dev;
	reply->protocol = port->pt.type;
	xmit_send_skb(port, reply, dest, port->addr);
}

/**
 * oae_xmit_offer() - send the slices of an offer, back to back
 * @port: the port, which the caller keeps alive
 * @dest: destination address
 * @send: the OFFER from the link, and which slices; changed. The caller holds a
 *	reference to the message, which is @send->handle.
 * @spent: as for oae_xmit_frame(), not NULL
 *
 * Context: any but hard interrupts, BH off, no lock held.
 */
void oae_xmit_offer(struct oae_port *port, const u8 *dest,
		    struct oae_send *send, struct sk_buff **spent)
{
	struct oae_msg *msg = send->handle;
	struct oae_frame *f = &send->frame;
	u64 left = send->slices;
	struct sk_buff *skb;

	while (left) {
		oae_send_slice(send, __ffs64(left));
		left &= left - 1;
		f->length = oae_msg_slice_len(msg, send->slice_max,
					      f->slice);
		f->payload_hash = msg->hash[f->slice];
		skb = xmit_frame_skb(port, f, spent);
		if (!skb)
			return;
		oae_msg_fill(msg, send->slice_max, f->slice, skb);
		xmit_send_skb(port, skb, dest, port->addr);
		f->pn++;
	}
}
