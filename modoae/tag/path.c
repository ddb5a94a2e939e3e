// SPDX-License-Identifier: GPL-2.0
/*
 * What an event sends, and how it goes: the way of a tag's own frames, direct to the peer or
 * through the port's gateway (doc/protocol.md section 4.8), and by which paths they go (4.14).
 * The rules are in link/way.c and link/path.c.
 *
 * Each tag has a copy of what it needs to know of the gateway, valid as long as port->gw.gen
 * does not change. A tag that sees another gen at its next event updates the copy. So a change
 * at the gateway costs the same for one tag and for ten thousand.
 *
 * What a frame carries is pinned under tag->lock, then the frames are sent without it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "path.h"

#include <linux/etherdevice.h>
#include <linux/random.h>

/* The way was looked at: the frames of this event go by it. Count a change. */
static void way_set(const struct oae_tag *tag, struct oae_run *ev)
{
	if (tag->way.via != ev->via && !oae_link_closed(&tag->link))
		oae_count(tag->node, OAE_S_WAY_CHANGED);
	ev->via = tag->way.via;
}

/* Find a tag's way and its MTU anew. An OPEN link freezes if its MTU changes. */
void oae_tag_way_update(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_ways ways;

	lockdep_assert_held(&tag->lock);
	oae_port_ways(tag->key.port, &ways);
	oae_way_update(&tag->way, &ways, &tag->link, ev->now, &ev->a);
	way_set(tag, ev);
}

/* Find a tag's way anew, be it that of the path in use or not. */
void oae_tag_way_refresh(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_ways ways;

	lockdep_assert_held(&tag->lock);
	if (!oae_path_elsewhere(tag)) {
		oae_tag_way_update(tag, ev);
		return;
	}
	oae_port_ways(tag->key.port, &ways);
	oae_way_refresh(&tag->way, &ways);
	way_set(tag, ev);
}

/*
 * A frame came by another way than the tag's, or a SYNC is unanswered. False: drop it. This
 * event's frames may go by another way than the tag's.
 */
bool oae_tag_way_heard(struct oae_tag *tag, struct oae_run *ev,
		       const struct oae_frame *f)
{
	struct oae_ways ways;
	enum oae_go go;

	lockdep_assert_held(&tag->lock);
	oae_port_ways(tag->key.port, &ways);
	tag->way.aside = oae_path_elsewhere(tag) && oae_link_state(&tag->link) == OAE_OPEN;
	go = oae_way_heard(&tag->way, &ways, &tag->link, f, ev->now, &ev->a);
	way_set(tag, ev);
	ev->via = go == OAE_GO_VIA;
	return go != OAE_GO_NOWHERE;
}

/* Update a tag's way before its link's timer is handled. */
void oae_tag_way_timer(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_ways ways;

	lockdep_assert_held(&tag->lock);
	oae_port_ways(tag->key.port, &ways);
	tag->way.aside = oae_path_elsewhere(tag);
	oae_way_timer(&tag->way, &ways, &tag->link, ev->now, &ev->a);
	way_set(tag, ev);
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

/* A frame of a tag with paths has come, by path @index when it was looked up. False: drop it. */
bool oae_path_before(struct oae_tag *tag, struct oae_run *ev, const struct sk_buff *skb,
		     const struct oae_frame *f, unsigned int index)
{
	lockdep_assert_held(&tag->lock);
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

/* An event of a tag without paths ends, and PATH is sent. */
static void path_end_own(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_path_out *out = &ev->out;

	out->used = OAE_PATH_OWN;
	out->port[OAE_PATH_OWN] = tag->key.port;
	out->kid[OAE_PATH_OWN] = tag->key.kid;
	out->mtu[OAE_PATH_OWN] = oae_link_mtu(&tag->link);
	if (ev->via)
		path_own_gateway(tag, out);
}

/* An event of a tag with paths, or one that sends PATH, ends: which paths its frames go by. */
void oae_path_end(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_paths *ps;
	unsigned int i;

	lockdep_assert_held(&tag->lock);
	if (!tag->paths) {
		path_end_own(tag, ev);
		return;
	}
	ps = &tag->paths->paths;
	oae_path_met(tag);
	if (unlikely(ps->path[OAE_PATH_OWN].via != tag->way.via))
		oae_tag_path_own(tag);
	oae_conn_end(&ev->conn);
	if (unlikely(ev->conn.turned))
		oae_count_n(tag->node, OAE_S_PATH_TURNED, ev->conn.turned);
	for (i = 0; unlikely(ps->claimed) && i < ev->a.nsends; i++)
		oae_path_name_claimed(ps, &ev->a.send[i].frame);
	path_say(tag, ev);
	if (ev->a.nsends || ev->out.probe || ev->out.answer || ev->out.tell)
		path_snapshot(tag, ev, &ev->out);
	if (oae_link_closed(&tag->link))
		oae_path_leave(tag);
}

/*
 * Have a frame go by a path, and not by another: @dest is set to where that is. Its VIA is
 * another one with each path, so path_send_elsewhere() takes it off again.
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

/* What a REFLECT carries, for one of several paths: the last one gets it, the others a copy. */
static struct sk_buff *path_reply(struct oae_run *ev, unsigned int i, struct oae_port *port,
				  bool last)
{
	struct sk_buff *reply = ev->reply[i], *copy;

	if (last)
		ev->reply[i] = NULL;
	if (last || !reply)
		return reply;
	copy = oae_xmit_reply(port, reply->len);
	if (copy && skb_copy_bits(reply, 0, skb_put(copy, reply->len), reply->len)) {
		kfree_skb(copy);
		copy = NULL;
	}
	return copy;
}

/* Give back what a frame carries that does not go by the own path. */
static void path_drop(struct oae_run *ev, unsigned int i)
{
	struct oae_send *send = &ev->a.send[i];

	if (oae_out_has_payload(send)) {
		oae_msg_put(send->handle);
	} else if (oae_out_has_reply(send)) {
		kfree_skb(ev->reply[i]);
		ev->reply[i] = NULL;
	}
}

/* Send a frame by other paths than the tag's own. True: it is to go by the own way, too. */
static bool path_send_elsewhere(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	struct oae_send *send = &ev->a.send[i];
	struct oae_path_out *out = &ev->out;
	unsigned int to = out->to[i], n;
	struct sk_buff *reply;
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
			reply = path_reply(ev, i, out->port[n], to == 1U << n);
			if (reply)
				oae_xmit_reflect(out->port[n], dest, &send->frame, reply);
		} else {
			oae_xmit_frame(out->port[n], dest, &send->frame, &ev->skb);
		}
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
	if (to & 1U << OAE_PATH_OWN)
		return true;
	path_drop(ev, i);
	return false;
}

/* What the proofs of an event's PATH frames are made with. */
void oae_path_keys(const struct oae_tag *tag, struct oae_path_out *out)
{
	struct oae_link_mark mark;

	lockdep_assert_held(&tag->lock);
	oae_link_mark(&tag->link, &mark);
	out->inc = mark.inc;
	out->peer_inc = mark.peer_inc;
}

#define PROOF_VIA	0x80	/* beside the role: the frame has VIA */

/*
 * The proof of a PATH frame: who knows both incarnations may have sent it. Its way is in it,
 * too: else what went direct would prove, sent on by a false gateway, that there is one.
 */
u64 oae_path_proof(const struct oae_frame *f, const struct oae_path_out *out,
		   const u8 *src, const u8 *dst)
{
	/* Sorted, so that both ends have the same key. */
	siphash_key_t key = { { min(out->inc, out->peer_inc),
				max(out->inc, out->peer_inc) } };
	u8 text[OAE_PATH_OFF_PROOF + 2 * ETH_ALEN + 1];

	memset(text, 0, sizeof(text));
	text[OAE_PATH_OFF_ROLE] = f->path.role | (f->flags & OAE_F_VIA ? PROOF_VIA : 0);
	put_unaligned_be16(f->path.mtu, text + OAE_PATH_OFF_MTU);
	memcpy(text + OAE_PATH_OFF_TO, f->path.to, ETH_ALEN);
	memcpy(text + OAE_PATH_OFF_FROM, f->path.from, ETH_ALEN);
	put_unaligned_be64(f->path.nonce, text + OAE_PATH_OFF_NONCE);
	memcpy(text + OAE_PATH_OFF_PROOF, src, ETH_ALEN);
	memcpy(text + OAE_PATH_OFF_PROOF + ETH_ALEN, dst, ETH_ALEN);
	text[OAE_PATH_OFF_PROOF + 2 * ETH_ALEN] = f->vc;
	return siphash(text, sizeof(text), &key);
}

/* Send a PATH frame by a path; role, nonce and addresses are set. */
static void path_send_path(struct oae_tag *tag, const struct oae_path_out *out, unsigned int i,
			   struct oae_frame *f)
{
	const u8 *own = out->port[i]->addr;
	u8 dest[ETH_ALEN];

	f->opcode = OAE_PATH;
	f->vc = tag->key.kid >> 56;
	f->path.mtu = out->mtu[i];
	oae_kid_mac(out->kid[i], dest);
	if (out->kid[i] & OAE_KID_VIA)
		oae_via_mark(f, own, dest);
	f->path.proof = oae_path_proof(f, out, own, dest);
	if (out->kid[i] & OAE_KID_VIA)
		ether_addr_copy(dest, out->gw[i]);
	oae_count(tag->node, OAE_S_PATH_PROBES);
	oae_xmit_frame(out->port[i], dest, f, NULL);
}

static void path_send_probe(struct oae_tag *tag, const struct oae_path_out *out,
			    unsigned int i, u8 role, u64 nonce)
{
	struct oae_frame f = { .path = { .role = role, .nonce = nonce } };

	ether_addr_copy(f.path.to, out->to_name);
	ether_addr_copy(f.path.from, out->from_name);
	/* An asker has this path already. */
	if (role == OAE_PATH_ANSWER) {
		oae_kid_mac(out->kid[i], f.path.to);
		ether_addr_copy(f.path.from, out->port[i]->addr);
	}
	path_send_path(tag, out, i, &f);
}

/* It is by the path in use that the link is named. */
static void path_send_place(struct oae_tag *tag, const struct oae_path_out *out)
{
	struct oae_frame f = {
		.path = { .role = OAE_PATH_PLACE, .nonce = READ_ONCE(tag->node->knobs.id) },
	};

	ether_addr_copy(f.path.from, out->place);
	if (f.path.nonce)
		path_send_path(tag, out, out->used, &f);
}

/* Send the probes of an event, the tag unlocked. */
void oae_path_send_probes(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_path_out *out = &ev->out;
	unsigned int i;

	if (out->tell && oae_path_port_usable(out->port[out->used]))
		path_send_place(tag, out);
	for (i = 0; out->probe | out->answer && i < OAE_PATHS_MAX; i++) {
		if (!out->port[i] || !oae_path_port_usable(out->port[i]))
			continue;
		if (out->probe & 1U << i)
			path_send_probe(tag, out, i, OAE_PATH_PROBE, out->nonce + i);
		if (out->answer & 1U << i)
			path_send_probe(tag, out, i, OAE_PATH_ANSWER, out->nonce);
	}
}

/* What an event's probes are told apart by: that of the first path, greater by n for path n. */
u64 oae_path_nonce(const struct oae_tag *tag, struct oae_run *ev)
{
	lockdep_assert_held(&tag->lock);
	oae_path_keys(tag, &ev->out);
	if (!ev->out.nonce)
		ev->out.nonce = (get_random_u64() & ~7ULL) | OAE_PATHS_MAX;
	return ev->out.nonce;
}

/* Have a path probed when the event ends. */
void oae_tag_path_probe(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	lockdep_assert_held(&tag->lock);
	oae_path_probed(&tag->paths->paths, i, oae_path_nonce(tag, ev) + i, ev->now);
	ev->out.probe |= 1U << i;
}

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

/* Pin what a frame carries until it is sent. */
void oae_out_keep(struct oae_tag *tag, struct oae_run *ev,
		  const struct oae_send *send)
{
	lockdep_assert_held(&tag->lock);
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
		if (!path_send_elsewhere(tag, ev, i))
			continue;
		ev->a.send[n] = ev->a.send[i];
		ev->reply[n++] = ev->reply[i];
	}
	ev->a.nsends = n;
	return n;
}

/* Send the frames of an event, the tag unlocked. RCU is held since its begin. */
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
