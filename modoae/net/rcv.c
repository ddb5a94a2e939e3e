// SPDX-License-Identifier: GPL-2.0
/*
 * Receive: from the packet handler to the tag, in softirq.
 */
#include "net.h"

#include <linux/etherdevice.h>
#include <linux/random.h>
#include <net/dst.h>

/* The payload, if it lies in one piece: in the head or in one fragment. */
static const void *payload_piece(const struct sk_buff *skb, unsigned int from,
				 unsigned int len)
{
	const skb_frag_t *frag = &skb_shinfo(skb)->frags[0];

	if (from + len <= skb_headlen(skb))
		return skb->data + from;
	if (from < skb_headlen(skb) || skb_shinfo(skb)->nr_frags != 1 ||
	    skb_has_frag_list(skb) || PageHighMem(skb_frag_page(frag)))
		return NULL;
	return skb_frag_address(frag) + from - skb_headlen(skb);
}

/* Hash a payload that lies in several pieces. */
static u64 rcv_hash_pieces(struct sk_buff *skb, const struct oae_frame *f)
{
	struct skb_seq_state seq;
	struct xxh64_state hash;
	unsigned int n, done = 0;
	const u8 *data;

	xxh64_reset(&hash, f->slice);
	skb_prepare_seq_read(skb, f->hdr_len, f->hdr_len + f->length, &seq);
	while ((n = skb_seq_read(done, &data, &seq))) {
		xxh64_update(&hash, data, n);
		done += n;
	}
	return xxh64_digest(&hash);
}

/* The hash of a frame's payload; an OFFER's first bytes are noted as well. */
static u64 rcv_read_payload(struct sk_buff *skb, struct oae_frame *f)
{
	const void *piece = payload_piece(skb, f->hdr_len, f->length);
	bool first = f->opcode == OAE_OFFER && !f->slice;
	u8 bytes[sizeof(u64)];
	unsigned int n = min_t(unsigned int, f->length, sizeof(bytes));

	if (likely(piece)) {
		if (first)
			f->first = oae_first_bytes(piece, f->length);
		return oae_slice_hash(piece, f->length, f->slice);
	}
	if (first && !skb_copy_bits(skb, f->hdr_len, bytes, n))
		f->first = oae_first_bytes(bytes, n);
	return rcv_hash_pieces(skb, f);
}

/*
 * What oae_frame_parse() must be able to read. An OFFER's payload stays put.
 * -ENOMEM, or how much there is.
 */
static int rcv_pull_header(struct sk_buff *skb)
{
	unsigned int want = min_t(unsigned int, skb->len, OAE_PARSE_MAX);

	if (skb_headlen(skb) >= want)
		return want;
	if (!pskb_may_pull(skb, min_t(unsigned int, want, OAE_HDR_LEN)))
		return -ENOMEM;
	if (want <= OAE_HDR_LEN)
		return want;
	if (skb->data[OAE_OFF_OPCODE] == OAE_OFFER) {
		if (skb->data[OAE_OFF_FLAGS] & OAE_F_VIA)
			want = min_t(unsigned int, want,
				     OAE_HDR_LEN + OAE_VIA_LEN);
		else
			want = OAE_HDR_LEN;
		if (skb_headlen(skb) >= want)
			return skb_headlen(skb);
	}
	return pskb_may_pull(skb, want) ? want : -ENOMEM;
}

/*
 * Parse and verify; on success the skb is trimmed of padding. False: the frame
 * is no good, or there is no memory, as @why says, a counter.
 */
static bool rcv_check_frame(struct sk_buff *skb, struct oae_frame *f,
			    enum oae_stat *why)
{
	int have = rcv_pull_header(skb);
	enum oae_bad bad;

	*why = OAE_S_NO_MEMORY;
	if (have < 0)
		return false;
	bad = oae_frame_parse(f, skb->data, have, skb->len);
	if (!bad) {
		if (pskb_trim(skb, f->hdr_len + f->length))
			return false;
		bad = oae_frame_verify(f, skb->data, rcv_read_payload(skb, f));
	}
	*why = OAE_S_BAD + bad;
	return !bad;
}

/*
 * A HELLO of the gateway is dealt with: true. Of a frame through it, @peer is
 * who sent it first; nobody, if it may not come in.
 */
static noinline bool rcv_through_gateway(struct oae_port *port,
					 const struct oae_frame *f,
					 u8 peer[ETH_ALEN])
{
	u8 from[ETH_ALEN];

	if (f->opcode == OAE_HELLO && oae_path_hello(port, peer, f))
		return true;
	if (f->flags & OAE_F_VIA) {
		ether_addr_copy(from, peer);
		if (!oae_path_via(port, from, f, peer))
			eth_zero_addr(peer);
	}
	return false;
}

/*
 * A frame for a port: data at the base header, Ethernet header before it. Consumes
 * it. Context: softirq (or BH disabled), RCU read lock held.
 */
static void oae_rcv_frame(struct oae_port *port, struct sk_buff *skb)
{
	struct oae_node *node = port->node;
	u8 peer[ETH_ALEN];
	struct oae_frame f;
	struct oae_tag *tag;
	enum oae_stat why;

	oae_count(node, OAE_S_RX_FRAMES);
	oae_count_n(node, OAE_S_RX_BYTES, skb->len);

	if (unlikely(!rcv_check_frame(skb, &f, &why))) {
		oae_count(node, why);
		kfree_skb(skb);
		return;
	}
	ether_addr_copy(peer, eth_hdr(skb)->h_source);
	if (unlikely(f.flags & OAE_F_VIA || f.opcode == OAE_HELLO) &&
	    rcv_through_gateway(port, &f, peer)) {
		consume_skb(skb);
		return;
	}
	if (unlikely(!is_valid_ether_addr(peer) ||
		     ether_addr_equal(peer, port->dev->dev_addr))) {
		oae_count(node, OAE_S_NOT_MINE);
		kfree_skb(skb);
		return;
	}

	tag = oae_tag_find(port, oae_kid(f.vc, peer));
	if (likely(tag && !oae_link_closed(&tag->link))) {
		oae_tag_rcv(tag, skb, &f);
		return;
	}
	oae_admit(port, peer, &f, tag);
	consume_skb(skb);
}

/* A gateway says HELLO to all; nothing else is heard by broadcast. */
static noinline bool rcv_is_hello(const struct sk_buff *skb)
{
	u8 buf;
	const u8 *opcode = skb_header_pointer(skb, OAE_OFF_OPCODE, sizeof(buf),
					      &buf);

	return opcode && *opcode == OAE_HELLO;
}

/**
 * oae_rcv() - the packet handler of a port
 * @skb: the frame
 * @dev: the port's device
 * @pt: the port's packet type
 * @orig_dev: the device that it came in by, which may be below @dev
 *
 * The kernel offers a frame to the handlers of both devices. A port hears those
 * that end at its own, not those of a VLAN, a macvlan or a bond that stands on
 * it and may be another namespace's (doc/protocol.md section 2).
 *
 * Context: softirq, RCU read lock held.
 *
 * Return: NET_RX_SUCCESS or NET_RX_DROP; the skb is consumed.
 */
int oae_rcv(struct sk_buff *skb, struct net_device *dev,
	    struct packet_type *pt, struct net_device *orig_dev)
{
	struct oae_port *port = container_of(pt, struct oae_port, pt);
	struct oae_node *node = port->node;
	unsigned int drop_pct = READ_ONCE(node->knobs.drop_pct);

	if (unlikely(dev != port->dev)) {
		consume_skb(skb);
		return NET_RX_SUCCESS;
	}
	if (skb->pkt_type != PACKET_HOST &&
	    (skb->pkt_type != PACKET_BROADCAST || !rcv_is_hello(skb))) {
		/* Tapped by a promiscuous device, or a multicast. */
		if (skb->pkt_type != PACKET_OTHERHOST)
			oae_count(node, OAE_S_NOT_MINE);
		goto drop;
	}
	if (unlikely(!oae_for_address(skb, dev))) {
		oae_count(node, OAE_S_NOT_MINE);
		goto drop;
	}
	if (unlikely(drop_pct) && get_random_u32() % 100 < drop_pct) {
		oae_count(node, OAE_S_FAULT_DROP);
		goto drop;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb) {
		oae_count(node, OAE_S_NO_MEMORY);
		return NET_RX_DROP;
	}
	if (unlikely(READ_ONCE(node->step)) &&
	    oae_step_hold(port, skb, oae_rcv_frame))
		return NET_RX_SUCCESS;
	oae_rcv_frame(port, skb);
	return NET_RX_SUCCESS;

drop:
	kfree_skb(skb);
	return NET_RX_DROP;
}
