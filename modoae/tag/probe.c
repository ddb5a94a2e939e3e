// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of paths: PATH frames sent and received, and the proof in them (doc/protocol.md
 * section 4.14).
 */
#include "path.h"

#include <linux/etherdevice.h>
#include <linux/random.h>

static void path_keys(const struct oae_tag *tag, struct oae_path_out *out)
{
	struct oae_link_mark mark;

	oae_link_mark(&tag->link, &mark);
	out->inc = mark.inc;
	out->peer_inc = mark.peer_inc;
}

/* The proof of a probe or its answer: who knows both incarnations may have sent it. */
static u64 path_proof(const struct oae_frame *f, const struct oae_path_out *out,
		      const u8 *src, const u8 *dst)
{
	/* Sorted, so that both ends have the same key. */
	siphash_key_t key = { { min(out->inc, out->peer_inc),
				max(out->inc, out->peer_inc) } };
	u8 text[OAE_PATH_OFF_PROOF + 2 * ETH_ALEN + 1];

	memset(text, 0, sizeof(text));
	text[OAE_PATH_OFF_ROLE] = f->path.role;
	put_unaligned_be16(f->path.mtu, text + OAE_PATH_OFF_MTU);
	memcpy(text + OAE_PATH_OFF_TO, f->path.to, ETH_ALEN);
	memcpy(text + OAE_PATH_OFF_FROM, f->path.from, ETH_ALEN);
	put_unaligned_be64(f->path.nonce, text + OAE_PATH_OFF_NONCE);
	memcpy(text + OAE_PATH_OFF_PROOF, src, ETH_ALEN);
	memcpy(text + OAE_PATH_OFF_PROOF + ETH_ALEN, dst, ETH_ALEN);
	text[OAE_PATH_OFF_PROOF + 2 * ETH_ALEN] = f->vc;
	return siphash(text, sizeof(text), &key);
}

static void path_send_probe(struct oae_tag *tag, const struct oae_path_out *out,
			    unsigned int i, u8 role, u64 nonce)
{
	struct oae_frame f = {
		.opcode = OAE_PATH,
		.vc = tag->key.kid >> 56,
		.path = {
			.role = role,
			.mtu = out->mtu[i],
			.nonce = nonce,
		},
	};
	u8 dest[ETH_ALEN];

	oae_kid_mac(out->kid[i], dest);
	ether_addr_copy(f.path.to, out->to_name);
	ether_addr_copy(f.path.from, out->from_name);
	/* An asker has this path already. */
	if (role == OAE_PATH_ANSWER) {
		ether_addr_copy(f.path.to, dest);
		ether_addr_copy(f.path.from, out->port[i]->dev->dev_addr);
	}
	f.path.proof = path_proof(&f, out, out->port[i]->dev->dev_addr, dest);
	oae_count(tag->node, OAE_S_PATH_PROBES);
	oae_xmit_frame(out->port[i], dest, &f, NULL);
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

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!out->port[i] || !oae_path_port_usable(out->port[i]))
			continue;
		if (out->probe & 1U << i)
			path_send_probe(tag, out, i, OAE_PATH_PROBE, out->nonce + i);
		if (out->answer & 1U << i)
			path_send_probe(tag, out, i, OAE_PATH_ANSWER, out->nonce);
	}
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
	path_keys(tag, &ev->out);
	if (!ev->out.nonce)
		ev->out.nonce = (get_random_u64() & ~7ULL) | OAE_PATHS_MAX;
	oae_path_probed(&tag->paths->paths, i, ev->out.nonce + i, ev->now);
	ev->out.probe |= 1U << i;
}

/*
 * The tag that a PATH frame names, or NULL. A device and its VLANs have the same address.
 * If an end has another address now, it may be known by that which the frame came by.
 */
static struct oae_tag *path_tag_named(struct oae_port *by, const u8 *from,
				      const struct oae_frame *f)
{
	struct oae_port *port;
	struct oae_tag *tag;

	if (!is_valid_ether_addr(f->path.from) || !is_valid_ether_addr(from))
		return NULL;
	list_for_each_entry_rcu(port, &by->node->ports, list) {
		if (READ_ONCE(port->removed) ||
		    !ether_addr_equal(port->dev->dev_addr, f->path.to))
			continue;
		tag = oae_path_tag(port, oae_kid(f->vc, f->path.from));
		if (tag)
			return tag;
	}
	return oae_path_tag(by, oae_kid(f->vc, from));
}

/* A probe or an answer whose proof holds. False: it is of no use. */
static bool path_rcv_proven(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			    u64 kid, const struct oae_frame *f)
{
	struct oae_paths *ps;
	bool before;
	int i;

	if (!oae_tag_paths_begin(tag, ev->now))
		return false;
	ps = &tag->paths->paths;
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = oae_alias_add(tag, port, kid, true);
	/* A port that is down carries no frames, whatever it hears. */
	if (i < 0 || i >= OAE_PATHS_MAX || !ps->path[i].up)
		return false;
	if (f->path.role != OAE_PATH_ANSWER && f->path.role != OAE_PATH_PROBE)
		return false;
	before = ps->path[i].proven;
	if (f->path.role == OAE_PATH_PROBE) {
		ps->path[i].proven = true;
		ev->out.answer |= 1U << i;
		ev->out.nonce = f->path.nonce;
	} else if (!oae_path_answered(ps, i, f->path.nonce, ev->now)) {
		return false;
	}
	/* A link that is frozen asks there, too, and at once. */
	if (!before)
		oae_link_port_up(&tag->link, ev->now, &ev->a);
	return true;
}

/**
 * oae_path_rcv() - handle a PATH frame (protocol 4.14)
 * @port: the port that received it
 * @from: the Ethernet source
 * @f: the frame, parsed and verified
 *
 * It names the link by the addresses of the path that its sender uses. Whoever does not
 * know both incarnations gets no answer.
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 */
void oae_path_rcv(struct oae_port *port, const u8 *from, const struct oae_frame *f)
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
	path_keys(tag, &ev.out);
	good = !tag->dead && oae_link_knows_paths(&tag->link) && f->path.nonce &&
	       f->path.proof == path_proof(f, &ev.out, from, port->dev->dev_addr) &&
	       path_rcv_proven(tag, &ev, port, oae_kid(f->vc, from), f);
	if (!good)
		oae_count(node, OAE_S_BAD_PATH);
	oae_run_leave(tag, &ev);
	/* A program that opens a link by these addresses may wait to hear whose they are. */
	if (good)
		wake_up(&node->tags_wait);
}
