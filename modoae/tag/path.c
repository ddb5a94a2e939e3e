// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: other pairs of a port here and an address there that a link's frames go by
 * (doc/protocol.md section 4.14). The rules are in link/path.c. Here is an event of a tag
 * with paths: by which the frame came, and by which its frames are sent.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "path.h"

#include <linux/etherdevice.h>

/**
 * oae_path_elsewhere() - do the tag's own frames go by another path than its own?
 * @tag: the tag
 *
 * Context: under tag->lock.
 *
 * Return: true if so.
 */
bool oae_path_elsewhere(const struct oae_tag *tag)
{
	return tag->paths && tag->paths->paths.used != OAE_PATH_OWN;
}

/* Has a frame come by this path? By the own one it comes direct, or through a gateway (4.8). */
static bool path_leads(const struct oae_tag *tag, unsigned int i, const struct sk_buff *skb,
		       const struct oae_frame *f)
{
	const u8 *from = eth_hdr(skb)->h_source;
	bool via = f->flags & OAE_F_VIA;
	u64 kid;

	if (!tag->paths->paths.path[i].there || oae_tag_path_port(tag, i)->dev != skb->dev)
		return false;
	kid = oae_kid(f->vc, via ? f->via + ETH_ALEN : from);
	if (i == OAE_PATH_OWN)
		return tag->key.kid == kid;
	if (!via)
		return oae_tag_path_kid(tag, i) == kid;
	return oae_tag_path_kid(tag, i) == (kid | OAE_KID_VIA) &&
	       ether_addr_equal(tag->paths->alias[i]->gw, from);
}

/**
 * oae_path_before() - a frame has come, and the link is about to take it
 * @tag: the tag, with paths
 * @ev: the event
 * @skb: the frame, its Ethernet header before the data
 * @f: the same, parsed
 * @index: of the path, as it was when it was looked up
 *
 * Context: softirq, under tag->lock.
 *
 * Return: false: drop the frame.
 */
bool oae_path_before(struct oae_tag *tag, struct oae_run *ev, const struct sk_buff *skb,
		     const struct oae_frame *f, unsigned int index)
{
	/* The path may be another one by now, and have another index. */
	if (!path_leads(tag, index, skb, f))
		for (index = 0; index < OAE_PATHS_MAX; index++)
			if (path_leads(tag, index, skb, f))
				break;
	if (index != OAE_PATHS_MAX && oae_conn_heard(&ev->conn, index, f, ev->now, &ev->a))
		return true;
	oae_count(tag->node, OAE_S_STRAY_PATH);
	return false;
}

/* A PATH by the own path goes through the gateway, if there is one. */
static void path_own_gateway(const struct oae_tag *tag, struct oae_path_out *out)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	out->kid[OAE_PATH_OWN] |= OAE_KID_VIA;
	ether_addr_copy(out->gw[OAE_PATH_OWN], ways.gw.mac);
	if (oae_ways_gateway(&ways))
		return;
	out->probe &= ~(1U << OAE_PATH_OWN);
	out->answer &= ~(1U << OAE_PATH_OWN);
	out->tell &= out->used != OAE_PATH_OWN;
}

/**
 * oae_path_end_own() - an event of a tag without paths ends, and PATH is sent
 * @tag: the tag
 * @ev: the event
 *
 * Context: under tag->lock, BH off.
 */
void oae_path_end_own(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_path_out *out = &ev->out;

	out->used = OAE_PATH_OWN;
	out->port[OAE_PATH_OWN] = tag->key.port;
	out->kid[OAE_PATH_OWN] = tag->key.kid;
	out->mtu[OAE_PATH_OWN] = oae_link_mtu(&tag->link);
	if (ev->via)
		path_own_gateway(tag, out);
}

/* Prepare what goes out when tag->lock is dropped. */
static void path_snapshot(struct oae_tag *tag, struct oae_run *ev, struct oae_path_out *out)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	memset(out->port, 0, sizeof(out->port));
	out->proven = 0;
	out->used = ps->used;
	/* The link knows what that path carries by which it was heard last. */
	out->frozen = oae_link_state(&tag->link) < OAE_OPEN;
	if (out->frozen)
		oae_tag_path_own(tag);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there)
			continue;
		out->port[i] = oae_tag_path_port(tag, i);
		out->kid[i] = oae_tag_path_kid(tag, i);
		if (tag->paths->alias[i])
			ether_addr_copy(out->gw[i], tag->paths->alias[i]->gw);
		out->heard[i] = oae_path_names(ps, i, &tag->link);
		out->mtu[i] = oae_path_carries(&ps->path[i]);
		out->proven |= ps->path[i].proven << i;
	}
	for (i = 0; i < ev->a.nsends; i++)
		out->to[i] = oae_conn_out(&ev->conn, &ev->a.send[i].frame);
	if (out->answer & 1U << OAE_PATH_OWN ? out->own_via : ev->via)
		path_own_gateway(tag, out);
	out->any = true;
	oae_kid_mac(oae_tag_path_kid(tag, ps->used), out->to_name);
	if (!ps->path[ps->used].proven && is_valid_ether_addr(tag->paths->was))
		ether_addr_copy(out->from_name, tag->paths->was);
	else
		ether_addr_copy(out->from_name, oae_tag_path_port(tag, ps->used)->addr);
}

/* A path is found lossy: say so, where nothing else does as long as the link copes. */
static void path_say_lossy(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	const struct oae_op note = { .type = OAE_OP_NOTE, .note = OAE_N_PATH_LOSSY };
	unsigned int loss = oae_loss_shown(&tag->paths->paths.path[i].loss);
	u8 peer[ETH_ALEN], to[ETH_ALEN];

	oae_tell_note(tag, ev, &note);
	if (!oae_may_log(tag->node->net))
		return;
	oae_kid_mac(tag->key.kid, peer);
	oae_kid_mac(oae_tag_path_kid(tag, i), to);
	net_info_ratelimited("port %s peer %pM vc %u: the path by %s to %pM is lossy: %u.%03u %%\n",
			     tag->key.port->name, peer, (unsigned int)(tag->key.kid >> 56),
			     oae_tag_path_port(tag, i)->name, to, loss / 1000, loss % 1000);
}

static void path_say(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_tag_paths *tp = tag->paths;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (tp->paths.path[i].loss.lossy == !!(tp->said & 1U << i))
			continue;
		tp->said ^= 1U << i;
		if (tp->paths.path[i].loss.lossy)
			path_say_lossy(tag, ev, i);
	}
}

/**
 * oae_path_end() - an event of a tag with paths ends: which paths its frames go by
 * @tag: the tag
 * @ev: the event; its frames are complete
 *
 * Context: under tag->lock, BH off.
 */
void oae_path_end(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_paths *ps = &tag->paths->paths;

	oae_alias_pair(tag);
	if (unlikely(ps->path[OAE_PATH_OWN].via != tag->way.via))
		oae_tag_path_own(tag);
	oae_conn_end(&ev->conn);
	if (unlikely(ev->conn.turned))
		oae_count_n(tag->node, OAE_S_PATH_TURNED, ev->conn.turned);
	if (unlikely(tag->paths->claimed))
		oae_path_name_claimed(tag, ev);
	path_say(tag, ev);
	if (ev->a.nsends || ev->out.probe || ev->out.answer || ev->out.tell)
		path_snapshot(tag, ev, &ev->out);
	if (oae_link_closed(&tag->link))
		oae_path_leave(tag);
}

/*
 * Have a frame go by a path, and not by another: @dest is set to where that is. Its VIA is
 * another one with each path, so oae_path_send() takes it off again.
 */
static void path_address(const struct oae_path_out *out, unsigned int i, struct oae_frame *f,
			 u8 dest[ETH_ALEN])
{
	oae_kid_mac(out->kid[i], dest);
	if (!(out->kid[i] & OAE_KID_VIA))
		return;
	oae_via_mark(f, out->port[i]->addr, dest);
	ether_addr_copy(dest, out->gw[i]);
}

static void path_send_one(const struct oae_path_out *out, unsigned int i,
			  const struct oae_send *send, struct sk_buff **spent)
{
	struct oae_frame f = send->frame;
	u8 dest[ETH_ALEN];

	/* This SYNC says what was heard by this path, and what this path carries. */
	f.dst_ltag = out->heard[i];
	f.sync.mtu = out->mtu[i];
	/* A stranger is told nothing of the peer. */
	if (!(out->proven & 1U << i))
		f.sync.peer_inc = 0;
	path_address(out, i, &f, dest);
	oae_xmit_frame(out->port[i], dest, &f, spent);
}

/**
 * oae_path_send() - send a frame of an event of a tag with paths, and not by its own
 * @tag: the tag, unlocked
 * @ev: the event
 * @i: index of the frame
 *
 * Context: any but hard interrupts, BH off; under rcu_read_lock() since the begin of the
 * event.
 *
 * Return: true if the frame is to go by the tag's own way, too.
 */
bool oae_path_send(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	struct oae_send *send = &ev->a.send[i];
	struct oae_path_out *out = &ev->out;
	unsigned int to = out->to[i], n;
	u8 dest[ETH_ALEN];

	for (n = OAE_PATH_OWN + 1; n < OAE_PATHS_MAX; n++) {
		if (!(to & 1U << n) || !out->port[n])
			continue;
		if (send->frame.opcode == OAE_SYNC) {
			if (oae_path_port_usable(out->port[n]))
				path_send_one(out, n, send, &ev->skb);
			continue;
		}
		if (oae_is_sync(send->frame.opcode))
			send->frame.sync.mtu = out->mtu[n];
		path_address(out, n, &send->frame, dest);
		if (!oae_path_port_usable(out->port[n])) {
			;
		} else if (oae_out_has_payload(send)) {
			oae_xmit_offer(out->port[n], dest, send, &ev->skb);
		} else if (oae_out_has_reply(send)) {
			if (ev->reply[i])
				oae_xmit_reflect(out->port[n], dest, &send->frame,
						 ev->reply[i]);
			ev->reply[i] = NULL;
		} else {
			oae_xmit_frame(out->port[n], dest, &send->frame, &ev->skb);
		}
		if (oae_out_has_payload(send))
			oae_msg_put(send->handle);
		else if (oae_out_has_reply(send))
			kfree_skb(ev->reply[i]);
		send->frame.flags &= ~OAE_F_VIA;
	}
	if (send->frame.opcode == OAE_SYNC) {
		if (!(out->proven & 1U << OAE_PATH_OWN))
			send->frame.sync.peer_inc = 0;
		send->frame.dst_ltag = out->heard[OAE_PATH_OWN];
	}
	/* Of the path in use the link knows it. */
	if (oae_is_sync(send->frame.opcode) && (out->frozen || out->used != OAE_PATH_OWN))
		send->frame.sync.mtu = out->mtu[OAE_PATH_OWN];
	return to & 1U << OAE_PATH_OWN;
}
