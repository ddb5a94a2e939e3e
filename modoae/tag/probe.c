// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of paths: PATH frames sent and received, and the proof in them (doc/protocol.md
 * section 4.14).
 */
#include "path.h"

#include <linux/etherdevice.h>
#include <linux/random.h>

/**
 * oae_path_keys() - what the proofs of an event's PATH frames are made with
 * @tag: the tag
 * @out: @inc and @peer_inc are set
 *
 * Context: under tag->lock.
 */
void oae_path_keys(const struct oae_tag *tag, struct oae_path_out *out)
{
	struct oae_link_mark mark;

	oae_link_mark(&tag->link, &mark);
	out->inc = mark.inc;
	out->peer_inc = mark.peer_inc;
}

#define PROOF_VIA	0x80	/* beside the role: the frame has VIA */

/*
 * The proof of a PATH frame: who knows both incarnations may have sent it. Its way is in it,
 * too: else what went direct would prove, sent on by a false gateway, that there is one.
 */
static u64 path_proof(const struct oae_frame *f, const struct oae_path_out *out,
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
static void path_send(struct oae_tag *tag, const struct oae_path_out *out, unsigned int i,
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
	f->path.proof = path_proof(f, out, own, dest);
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
	path_send(tag, out, i, &f);
}

/* It is by the path in use that the link is named. */
static void path_send_place(struct oae_tag *tag, const struct oae_path_out *out)
{
	struct oae_frame f = {
		.path = { .role = OAE_PATH_PLACE, .nonce = READ_ONCE(tag->node->id) },
	};

	ether_addr_copy(f.path.from, out->place);
	if (f.path.nonce)
		path_send(tag, out, out->used, &f);
}

/**
 * oae_path_send_probes() - send the probes of an event
 * @tag: the tag, unlocked
 * @ev: the event
 *
 * Context: any but hard interrupts, BH off; under rcu_read_lock() since the begin of the
 * event.
 */
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

/**
 * oae_path_nonce() - what an event's probes are told apart by
 * @tag: the tag, with paths
 * @ev: the event
 *
 * Context: under tag->lock.
 *
 * Return: the nonce of the first path's; that of path n is greater by n.
 */
u64 oae_path_nonce(const struct oae_tag *tag, struct oae_run *ev)
{
	oae_path_keys(tag, &ev->out);
	if (!ev->out.nonce)
		ev->out.nonce = (get_random_u64() & ~7ULL) | OAE_PATHS_MAX;
	return ev->out.nonce;
}

/**
 * oae_tag_path_probe() - have a path probed when the event ends
 * @tag: the tag, with paths
 * @ev: the event
 * @i: index of the path
 *
 * Context: under tag->lock.
 */
void oae_tag_path_probe(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	oae_path_probed(&tag->paths->paths, i, oae_path_nonce(tag, ev) + i, ev->now);
	ev->out.probe |= 1U << i;
}

/* The tag with a link by a port and an address, be it direct or through a gateway. */
static struct oae_tag *path_tag_by(struct oae_port *port, u64 kid)
{
	return oae_path_tag(port, kid) ?: oae_path_tag(port, kid | OAE_KID_VIA);
}

/* Ports with the address that a frame names that are looked at: a stranger may have sent it. */
#define NAMED_PORTS	16

/*
 * The tag that a PATH frame names, or NULL. A device and its VLANs have the same address: the
 * port by which it came is among those that are looked at. If an end has another address now,
 * it may be known by that which the frame came by; and whoever tells of a place names the link
 * by nothing else.
 */
static noinline_for_stack struct oae_tag *path_tag_named(struct oae_port *by, const u8 *from,
							 const struct oae_frame *f)
{
	struct oae_port *port[NAMED_PORTS];
	struct oae_tag *tag = NULL;
	unsigned int i, n;
	u64 kid;

	if (!is_valid_ether_addr(f->path.from) || !is_valid_ether_addr(from))
		return NULL;
	kid = oae_kid(f->vc, f->path.from);
	if (ether_addr_equal(by->addr, f->path.to))
		tag = path_tag_by(by, kid);
	n = tag ? 0 : oae_ports_of_addr(by->node, f->path.to, port, NAMED_PORTS);
	for (i = 0; i < n && !tag; i++)
		if (!READ_ONCE(port[i]->removed))
			tag = path_tag_by(port[i], kid);
	if (tag)
		return tag;
	return path_tag_by(by, oae_kid(f->vc, from));
}

/*
 * The index of the path by which a PATH frame came whose proof holds; a probe makes one.
 * OAE_PATHS_MAX or an error: it is none.
 */
static int path_of_frame(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			 const u8 *from, const u8 *by, const struct oae_frame *f)
{
	bool via = f->flags & OAE_F_VIA;
	u64 kid = oae_kid(f->vc, from);
	int i;

	/* By the own path it may come either way. */
	if (tag->key.port == port && tag->key.kid == kid)
		return OAE_PATH_OWN;
	if (via)
		kid |= OAE_KID_VIA;
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = oae_alias_add(tag, port, kid, OAE_ALIAS_HEARD);
	if (!via || i < 0 || i >= OAE_PATHS_MAX)
		return i;
	/* A path is for one gateway, and that of the port may be another by now. */
	oae_tag_path_gateways(tag, ev);
	return ether_addr_equal(tag->paths->alias[i]->gw, by) ? i : -ENOENT;
}

/* A PATH frame whose proof holds. False: it is of no use. */
static bool path_rcv_proven(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			    const u8 *from, const u8 *by, const struct oae_frame *f)
{
	int i;

	if (f->path.role == OAE_PATH_PLACE)
		return oae_path_place(tag, ev, f);
	if (f->path.role != OAE_PATH_ANSWER && f->path.role != OAE_PATH_PROBE)
		return false;
	if (!oae_tag_paths_begin(tag, ev))
		return false;
	i = path_of_frame(tag, ev, port, from, by, f);
	if (i < 0 || i >= OAE_PATHS_MAX)
		return false;
	/* This came to an address that the port is about to leave: path_port_renaming(). */
	if (!ether_addr_equal(port->addr, port->dev->dev_addr))
		return false;
	if (!oae_conn_path_rcv(&ev->conn, i, f, ev->now, &ev->a))
		return false;
	if (f->path.role == OAE_PATH_PROBE) {
		ev->out.answer |= 1U << i;
		ev->out.nonce = f->path.nonce;
		ev->out.own_via = f->flags & OAE_F_VIA;
	}
	return true;
}

/**
 * oae_path_rcv() - handle a PATH frame (protocol 4.14)
 * @port: the port that received it
 * @from: its sender: the Ethernet source, or with VIA the original one
 * @by: the Ethernet source
 * @f: the frame, parsed and verified; with VIA it was let in (4.8)
 *
 * It names the link by the addresses of the path that its sender uses. Whoever does not
 * know both incarnations gets no answer.
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 */
void oae_path_rcv(struct oae_port *port, const u8 *from, const u8 *by, const struct oae_frame *f)
{
	struct oae_node *node = port->node;
	struct oae_tag *tag = path_tag_named(port, from, f);
	struct oae_run ev oae_uninit;
	bool good;

	if (!tag) {
		oae_count(node, OAE_S_BAD_PATH);
		return;
	}
	oae_run_enter(tag, &ev);
	oae_path_keys(tag, &ev.out);
	good = !tag->dead && oae_link_knows_paths(&tag->link) && f->path.nonce &&
	       f->path.proof == path_proof(f, &ev.out, from, port->addr) &&
	       path_rcv_proven(tag, &ev, port, from, by, f);
	if (!good)
		oae_count(node, OAE_S_BAD_PATH);
	oae_run_leave(tag, &ev);
	/* A program that opens a link by these addresses may wait to hear whose they are. */
	if (good)
		wake_up(&node->tags_wait);
}
