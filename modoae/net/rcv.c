// SPDX-License-Identifier: GPL-2.0
/*
 * Receive: from the packet handler to the tag, in softirq.
 */
#include "net.h"

#include <linux/etherdevice.h>
#include <linux/random.h>

/* The payload, if it is contiguous: in the head or in one fragment. Else NULL. */
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

/* Hash a payload that is not contiguous. */
static u64 rcv_hash_pieces(struct sk_buff *skb, const struct oae_frame *f)
{
	struct skb_seq_state seq;
	struct oae_xxh64 hash;
	unsigned int n, done = 0;
	const u8 *data;

	oae_xxh64_begin(&hash, f->slice);
	skb_prepare_seq_read(skb, f->hdr_len, f->hdr_len + f->length, &seq);
	while ((n = skb_seq_read(done, &data, &seq))) {
		oae_xxh64_add(&hash, data, n);
		done += n;
	}
	return oae_xxh64_end(&hash);
}

/* Hash a frame's payload. Also sets f->first of an OFFER's slice 0. */
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
 * Pull what oae_frame_parse() reads into the head, but not an OFFER's payload.
 * Returns the number of bytes that can be read, or -ENOMEM.
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

/* Parse and verify a frame. False: drop the frame, and count it in @why. */
static bool rcv_check_frame(struct sk_buff *skb, struct oae_frame *f,
			    enum oae_stat *why)
{
	enum oae_bad bad;
	int have;

	*why = OAE_S_UNREADABLE;
	if (unlikely(!skb_frags_readable(skb)))
		return false;
	*why = OAE_S_NO_MEMORY;
	have = rcv_pull_header(skb);
	if (have < 0)
		return false;
	bad = oae_frame_parse(f, skb->data, have, skb->len);
	if (!bad)
		bad = oae_frame_verify(f, skb->data, rcv_read_payload(skb, f));
	*why = OAE_S_BAD + bad;
	return !bad;
}

/* Handle a HELLO of a host to its neighbours (protocol 4.13). False: it is none. */
static bool rcv_node(struct oae_port *port, const u8 *from, const struct oae_frame *f)
{
	if (!READ_ONCE(port->node->knobs.discover))
		return false;
	switch (oae_hello_check_node(port->addr, from, f)) {
	case OAE_HELLO_GOOD:
		oae_neigh_rcv(port, from, f);
		return true;
	case OAE_HELLO_BAD:
		oae_count(port->node, OAE_S_BAD + OAE_BAD_FIELD);
		return true;
	default:
		return false;
	}
}

/*
 * Handle a HELLO, or find the original source of a frame with VIA. True: the HELLO
 * was a gateway's or a neighbour's, or the port is a UDP port, which drops both (protocol
 * 4.15); the frame needs nothing more. @peer is set to the original source, or to zero if the
 * frame is not let in (protocol 4.8).
 */
static noinline bool rcv_through_gateway(struct oae_port *port,
					 const struct oae_frame *f,
					 u8 peer[ETH_ALEN])
{
	u8 from[ETH_ALEN];

	if (port->udp) {
		oae_count(port->node, OAE_S_UDP_VIA);
		return true;
	}
	if (f->opcode == OAE_HELLO &&
	    (oae_port_way_hello(port, peer, f) || rcv_node(port, peer, f)))
		return true;
	if (f->flags & OAE_F_VIA) {
		ether_addr_copy(from, peer);
		if (!oae_port_way_via(port, from, f, peer))
			eth_zero_addr(peer);
	}
	return false;
}

/*
 * Handle and consume a frame for a port; data at the base header, Ethernet header
 * before it. Context: any but hard interrupts, BH off; under rcu_read_lock().
 */
static void oae_rcv_frame(struct oae_port *port, struct sk_buff *skb)
{
	struct oae_node *node = port->node;
	u8 peer[ETH_ALEN];
	struct oae_frame f oae_uninit;
	struct oae_tag *tag, *by_path;
	enum oae_stat why;
	unsigned int path;
	u64 kid;

	oae_count(node, OAE_S_RX_FRAMES);
	oae_count_n(node, OAE_S_RX_BYTES, skb->len);

	if (unlikely(!rcv_check_frame(skb, &f, &why))) {
		oae_count(node, why);
		if (why == OAE_S_BAD + OAE_BAD_VERSION)
			oae_admit_older(port, skb);
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
		     ether_addr_equal(peer, port->addr))) {
		oae_count(node, OAE_S_NOT_MINE);
		kfree_skb(skb);
		return;
	}

	kid = oae_kid(f.vc, peer);
	tag = oae_tag_of_frame(port, kid);
	if (likely(tag && !oae_link_closed(&tag->link) && f.opcode != OAE_PATH)) {
		if (unlikely(f.opcode == OAE_SYNC) && !(f.flags & OAE_F_VIA) &&
		    oae_path_strange(tag, OAE_PATH_OWN, &f)) {
			oae_admit(port, peer, &f, NULL);
			consume_skb(skb);
			return;
		}
		if (unlikely(port->udp))
			oae_udp_tagged(port, peer);
		oae_tag_rcv(tag, skb, &f, OAE_PATH_OWN);
		return;
	}
	if (unlikely(f.opcode == OAE_PATH)) {
		oae_path_rcv(port, peer, eth_hdr(skb)->h_source, &f);
		consume_skb(skb);
		return;
	}
	if (unlikely(atomic_read(&node->naliases))) {
		by_path = oae_path_find(port, oae_path_kid(kid, &f), &path);
		if (by_path && !oae_link_closed(&by_path->link) &&
		    !oae_path_strange(by_path, path, &f)) {
			if (port->udp)
				oae_udp_tagged(port, peer);
			oae_tag_rcv(by_path, skb, &f, path);
			return;
		}
	}
	oae_admit(port, peer, &f, tag);
	consume_skb(skb);
}

/* Only a HELLO may be broadcast. */
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
 * @orig_dev: the device that received the frame, which may be below @dev
 *
 * The kernel passes a frame to the handlers of both devices. A port takes frames
 * that end at its own device, not those for a VLAN, a macvlan or a bond above it,
 * which may belong to another namespace (doc/protocol.md section 2).
 *
 * Context: softirq, under rcu_read_lock().
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
		/* Count a multicast, but not what a promiscuous device taps. */
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
	if (unlikely(READ_ONCE(node->knobs.step)) &&
	    oae_step_hold(port, skb, oae_rcv_frame))
		return NET_RX_SUCCESS;
	oae_rcv_frame(port, skb);
	return NET_RX_SUCCESS;

drop:
	kfree_skb(skb);
	return NET_RX_DROP;
}
