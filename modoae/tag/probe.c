// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of paths: PATH frames sent and received, and the proof in them (doc/protocol.md
 * section 4.14).
 */
#include "path.h"

#include <linux/etherdevice.h>
#include <linux/random.h>

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
	       f->path.proof == oae_path_proof(f, &ev.out, from, port->addr) &&
	       path_rcv_proven(tag, &ev, port, from, by, f);
	if (!good)
		oae_count(node, OAE_S_BAD_PATH);
	oae_run_leave(tag, &ev);
	/* A program that opens a link by these addresses may wait to hear whose they are. */
	if (good)
		wake_up(&node->tags_wait);
}
