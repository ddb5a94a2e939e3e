// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: other pairs of a port here and an address there that a link's frames go by
 * (doc/protocol.md section 4.14). The rules are in link/path.c.
 *
 * A tag is found by its own port and its peer's address. For each other path there is an
 * alias in a table of its own, in which a frame is looked up for which there is no tag.
 * A link without such a path has none of this.
 *
 * An alias is in the table as long as its tag is not dead and its port not removed.
 * Readers of the table are in an RCU read-side section: alias and tag are freed after
 * one, and so is the port, of which the alias has a reference.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "event.h"

#include <linux/etherdevice.h>
#include <linux/random.h>
#include <linux/slab.h>

#define ALIAS_KEY_LEN	offsetofend(struct oae_tag_key, port)

/**
 * struct oae_alias - a path that is not the tag's own, in node->aliases
 * @hash: there
 * @key: port and address that its frames come by
 * @tag: the tag
 * @index: of the path
 * @rcu: freed after RCU
 */
struct oae_alias {
	struct rhash_head hash;
	struct oae_tag_key key;
	struct oae_tag *tag;
	unsigned int index;
	struct rcu_head rcu;
};

/**
 * struct oae_path_wish - a rank by hand: it is kept while the path is forgotten
 * @ifindex: of the path's port
 * @rank: enum oae_path_rank; NORMAL: this place is free
 * @kid: of the path
 */
struct oae_path_wish {
	int ifindex;
	s8 rank;
	u64 kid;
};

/**
 * struct oae_tag_paths - the paths of a tag; under tag->lock
 * @paths: which is in use, and what is known of each
 * @alias: where it leads; NULL for the own path, and those that are not there
 * @claimed: incarnation that somebody has shown from elsewhere who may be the peer, of
 *	which nothing was known then; 0 nobody
 * @was: the address that the peer knows of the port of the path in use, as long as that is
 *	not proven; zeros: it never was another one
 * @said: a set of those that were said to be lossy
 * @wish: what was said by hand
 * @turn: which of the places where the peer was heard is tried first
 */
struct oae_tag_paths {
	struct oae_paths paths;
	struct oae_alias *alias[OAE_PATHS_MAX];
	u64 claimed;
	u8 was[ETH_ALEN];
	u8 said;
	u8 turn;
	struct oae_path_wish wish[OAE_PATHS_MAX];
};

static const struct rhashtable_params alias_params = {
	.head_offset = offsetof(struct oae_alias, hash),
	.key_offset = offsetof(struct oae_alias, key),
	.key_len = ALIAS_KEY_LEN,
	.automatic_shrinking = true,
};

/* A port with a shorter MTU is down; messages have room for hashes of slices of that length. */
static u16 path_port_mtu(const struct oae_port *port)
{
	return clamp_t(unsigned int, READ_ONCE(port->mtu), OAE_MIN_MTU, U16_MAX);
}

static struct oae_port *path_port(const struct oae_tag *tag, unsigned int i)
{
	const struct oae_alias *alias = tag->paths->alias[i];

	return alias ? alias->key.port : tag->key.port;
}

static u64 path_kid(const struct oae_tag *tag, unsigned int i)
{
	const struct oae_alias *alias = tag->paths->alias[i];

	return alias ? alias->key.kid : tag->key.kid;
}

/**
 * oae_path_find() - find the tag to which a path leads
 * @port: the port that received a frame for which there is no tag
 * @kid: key id of its vc and its source
 * @index: set to the index of the path, valid as long as oae_path_before() finds it so
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: the tag, valid in this RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_path_find(struct oae_port *port, u64 kid, unsigned int *index)
{
	struct oae_tag_key key = { .port = port, .kid = kid };
	struct oae_alias *alias = rhashtable_lookup(&port->node->aliases, &key,
						    alias_params);

	if (!alias)
		return NULL;
	*index = READ_ONCE(alias->index);
	return alias->tag;
}

static void path_alias_free(struct rcu_head *rcu)
{
	struct oae_alias *alias = container_of(rcu, struct oae_alias, rcu);

	oae_port_put(alias->key.port);
	kfree(alias);
}

/* Take an alias out of the table. */
static void path_alias_free_later(struct oae_node *node, struct oae_alias *alias)
{
	rhashtable_remove_fast(&node->aliases, &alias->hash, alias_params);
	atomic_dec(&node->naliases);
	call_rcu(&alias->rcu, path_alias_free);
}

static void path_alias_del(struct oae_tag *tag, unsigned int i)
{
	struct oae_alias *alias = tag->paths->alias[i];

	if (!alias)
		return;
	tag->paths->alias[i] = NULL;
	tag->paths->said &= ~(1U << i);
	oae_path_del(&tag->paths->paths, i);
	path_alias_free_later(tag->node, alias);
}

/* Have room for paths. False: no memory. */
static bool path_begin(struct oae_tag *tag, u64 now)
{
	if (likely(tag->paths))
		return true;
	tag->paths = kzalloc(sizeof(*tag->paths), GFP_ATOMIC | __GFP_NOWARN);
	if (!tag->paths) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return false;
	}
	oae_paths_init(&tag->paths->paths, &tag->link, path_port_mtu(tag->key.port),
		       READ_ONCE(tag->key.port->up), now);
	return true;
}

/* The index of the path by a port to an address; OAE_PATHS_MAX none. */
static unsigned int path_index(const struct oae_tag *tag, const struct oae_port *port,
			       u64 kid)
{
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (tag->paths->paths.path[i].there && path_port(tag, i) == port &&
		    path_kid(tag, i) == kid)
			break;
	return i;
}

static unsigned int path_count(const struct oae_tag *tag)
{
	unsigned int i, n = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		n += tag->paths->paths.path[i].there;
	return n;
}

/* The place of what was said by hand of a path, or a free one; NULL: there is none. */
static struct oae_path_wish *path_wish(const struct oae_tag *tag, const struct oae_port *port,
				       u64 kid)
{
	struct oae_path_wish *wish, *spare = NULL;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		wish = &tag->paths->wish[i];
		if (wish->rank == OAE_PATH_NORMAL)
			spare = wish;
		else if (wish->ifindex == port->dev->ifindex && wish->kid == kid)
			return wish;
	}
	return spare;
}

static s8 path_wish_rank(const struct oae_tag *tag, const struct oae_port *port, u64 kid)
{
	const struct oae_path_wish *wish = path_wish(tag, port, kid);

	return wish ? wish->rank : OAE_PATH_NORMAL;
}

/* The path that makes way for another; at the worst that in use, if the link is frozen. */
static unsigned int path_spare(const struct oae_tag *tag, bool heard)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int spare = oae_path_spare(ps, heard);

	if (spare == OAE_PATHS_MAX && heard && ps->used != OAE_PATH_OWN &&
	    oae_link_state(&tag->link) < OAE_OPEN)
		return ps->used;
	return spare;
}

/*
 * Add a path. @heard: its other end has just proven that it is the peer. Returns its
 * index; -ENOSPC there are as many as there may be; -EEXIST it is, or belongs to, another
 * link's; -ENODEV the port is being removed; -ENOMEM.
 */
static int path_add(struct oae_tag *tag, struct oae_port *port, u64 kid, bool heard)
{
	unsigned int spare = path_spare(tag, heard);
	struct oae_node *node = tag->node;
	struct oae_alias *alias;
	int i, err;

	if (tag->dead || READ_ONCE(port->removed))
		return -ENODEV;
	if (oae_tag_find(port, kid))
		return -EEXIST;
	if (path_count(tag) >= READ_ONCE(node->knobs.paths)) {
		if (spare == OAE_PATHS_MAX)
			return -ENOSPC;
		path_alias_del(tag, spare);
	}
	alias = kzalloc(sizeof(*alias), GFP_ATOMIC | __GFP_NOWARN);
	if (!alias) {
		oae_count(node, OAE_S_NO_MEMORY);
		return -ENOMEM;
	}
	i = oae_path_add(&tag->paths->paths, path_port_mtu(port), READ_ONCE(port->up));
	if (i < 0) {
		kfree(alias);
		return i;
	}
	alias->key.port = oae_port_get(port);
	alias->key.kid = kid;
	alias->tag = tag;
	alias->index = i;
	err = rhashtable_lookup_insert_fast(&node->aliases, &alias->hash, alias_params);
	if (err) {
		oae_path_del(&tag->paths->paths, i);
		oae_port_put(port);
		kfree(alias);
		if (err == -EEXIST)
			return err;
		oae_count(node, OAE_S_NO_MEMORY);
		return -ENOMEM;
	}
	atomic_inc(&node->naliases);
	tag->paths->alias[i] = alias;
	tag->paths->paths.path[i].rank = path_wish_rank(tag, port, kid);
	/*
	 * The alias before these looks. Pairs with the smp_mb() in oae_path_yield(), and
	 * that in netdev_port_paths().
	 */
	smp_mb__after_atomic();
	tag->paths->paths.path[i].up = READ_ONCE(port->up);
	tag->paths->paths.path[i].mtu = path_port_mtu(port);
	if (oae_tag_find(port, kid)) {
		path_alias_del(tag, i);
		return -EEXIST;
	}
	oae_count(node, OAE_S_PATHS_MADE);
	return i;
}

/* The link goes by a path: what that carries may be another length (protocol 4.8). */
static void path_set_mtu(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	if (i == OAE_PATH_OWN)
		oae_tag_way_update(tag, ev);
	else
		oae_link_set_mtu(&tag->link, tag->paths->paths.path[i].mtu, ev->now, &ev->a);
}

/* Another path is in use. The frames so far are of the link before that. */
static void path_turned(struct oae_tag *tag, struct oae_run *ev)
{
	oae_count(tag->node, OAE_S_PATH_TURNED);
	oae_run_apply(tag, ev);
	path_set_mtu(tag, ev, tag->paths->paths.used);
}

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

/* Has a frame come by this path? Through a gateway it comes by the own one (4.8). */
static bool path_leads(const struct oae_tag *tag, unsigned int i, const struct sk_buff *skb,
		       const struct oae_frame *f)
{
	if (!tag->paths->paths.path[i].there || path_port(tag, i)->dev != skb->dev)
		return false;
	return path_kid(tag, i) == oae_kid(f->vc, eth_hdr(skb)->h_source) ||
	       (i == OAE_PATH_OWN && f->flags & OAE_F_VIA);
}

/* The link is about to take a frame that came by a path. */
static void path_taken(struct oae_tag *tag, struct oae_run *ev, unsigned int i,
		       const struct oae_frame *f)
{
	ev->back = i;
	oae_watch_heard(&tag->paths->paths, i, &tag->link, f, ev->now);
	/* Resolving, the link offers anew: as long as that path carries. */
	if (ev->before < OAE_OPEN && f->dst_ltag)
		path_set_mtu(tag, ev, i);
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
	struct oae_paths *ps = &tag->paths->paths;

	/* The path may be another one by now, and have another index. */
	if (!path_leads(tag, index, skb, f))
		for (index = 0; index < OAE_PATHS_MAX; index++)
			if (path_leads(tag, index, skb, f))
				break;
	if (index == OAE_PATHS_MAX || !oae_path_heard(ps, index, &tag->link, f)) {
		oae_count(tag->node, OAE_S_STRAY_PATH);
		return false;
	}
	path_taken(tag, ev, index, f);
	return true;
}

/**
 * oae_path_after() - the link has taken a frame
 * @tag: the tag, with paths
 * @ev: the event
 * @f: the frame
 *
 * Context: softirq, under tag->lock.
 */
void oae_path_after(struct oae_tag *tag, struct oae_run *ev, const struct oae_frame *f)
{
	if (oae_path_stepped(&tag->paths->paths, ev->back, &tag->link, f, ev->before,
			     ev->now))
		path_turned(tag, ev);
	else if (oae_path_astray(&tag->paths->paths, ev->back, &tag->link, f, ev->now))
		oae_link_speak(&tag->link, &ev->a);
}

/* Prepare what goes out when tag->lock is dropped. */
static void path_snapshot(struct oae_tag *tag, struct oae_run *ev, struct oae_path_out *out)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	memset(out->port, 0, sizeof(out->port));
	out->proven = 0;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there)
			continue;
		out->port[i] = path_port(tag, i);
		out->kid[i] = path_kid(tag, i);
		out->heard[i] = oae_path_names(ps, i, &tag->link);
		out->mtu[i] = ps->path[i].mtu;
		out->proven |= ps->path[i].proven << i;
	}
	for (i = 0; i < ev->a.nsends; i++)
		out->to[i] = oae_paths_out(ps, &tag->link, ev->a.send[i].frame.opcode,
					   ev->back, ev->before);
	out->elsewhere = oae_path_elsewhere(tag);
	out->any = true;
	oae_kid_mac(path_kid(tag, ps->used), out->to_name);
	if (!ps->path[ps->used].proven && is_valid_ether_addr(tag->paths->was))
		ether_addr_copy(out->from_name, tag->paths->was);
	else
		ether_addr_copy(out->from_name, path_port(tag, ps->used)->dev->dev_addr);
}

/*
 * As long as nothing is known of the peer: name whoever may be it. Nobody else has heard
 * that incarnation, so the peer knows by this that it has opened the same link.
 */
static void path_name_claimed(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_frame *f;
	unsigned int i;

	if (tag->paths->paths.peer_inc) {
		tag->paths->claimed = 0;
		return;
	}
	for (i = 0; i < ev->a.nsends; i++) {
		f = &ev->a.send[i].frame;
		if (f->opcode == OAE_SYNC && !f->sync.peer_inc)
			f->sync.peer_inc = tag->paths->claimed;
	}
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
	oae_kid_mac(path_kid(tag, i), to);
	net_info_ratelimited("port %s peer %pM vc %u: the path by %s to %pM is lossy: %u.%03u %%\n",
			     tag->key.port->name, peer, (unsigned int)(tag->key.kid >> 56),
			     path_port(tag, i)->name, to, loss / 1000, loss % 1000);
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

/* Count the event's offers, and what it shows to be lost. */
static void path_watch(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	oae_watch_stepped(ps, &tag->link, ev->before, ev->now);
	for (i = 0; i < ev->a.nsends; i++)
		if (ev->a.send[i].frame.opcode == OAE_OFFER)
			oae_watch_offered(ps, &tag->link, hweight64(ev->a.send[i].slices));
	path_say(tag, ev);
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

	oae_paths_pair(ps, &tag->link);
	if (ev->before >= OAE_OPEN && oae_link_state(&tag->link) < OAE_OPEN)
		oae_paths_froze(ps, &tag->link);
	if (unlikely(tag->paths->claimed))
		path_name_claimed(tag, ev);
	path_watch(tag, ev);
	if (ev->a.nsends || ev->out.probe || ev->out.answer)
		path_snapshot(tag, ev, &ev->out);
	if (oae_link_closed(&tag->link))
		oae_path_leave(tag);
}

/* Probes */

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

/* Is a port still to be used? Only so in the RCU section that the event is in. */
static bool path_port_usable(const struct oae_port *port)
{
	return !READ_ONCE(port->removed);
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
	oae_kid_mac(out->kid[i], dest);
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
		oae_kid_mac(out->kid[n], dest);
		if (!path_port_usable(out->port[n])) {
			;
		} else if (send->frame.opcode == OAE_SYNC) {
			path_send_one(out, n, send, &ev->skb);
			continue;
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
	}
	if (send->frame.opcode == OAE_SYNC) {
		if (!(out->proven & 1U << OAE_PATH_OWN))
			send->frame.sync.peer_inc = 0;
		send->frame.dst_ltag = out->heard[OAE_PATH_OWN];
		if (out->elsewhere)
			send->frame.sync.mtu = out->mtu[OAE_PATH_OWN];
	}
	return to & 1U << OAE_PATH_OWN;
}

/**
 * oae_path_send_probes() - send the probes of an event
 * @tag: the tag, unlocked
 * @ev: the event
 *
 * Context: as for oae_path_send().
 */
void oae_path_send_probes(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_path_out *out = &ev->out;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!out->port[i] || !path_port_usable(out->port[i]))
			continue;
		if (out->probe & 1U << i)
			path_send_probe(tag, out, i, OAE_PATH_PROBE, out->nonce + i);
		if (out->answer & 1U << i)
			path_send_probe(tag, out, i, OAE_PATH_ANSWER, out->nonce);
	}
}

static void path_keys(const struct oae_tag *tag, struct oae_path_out *out)
{
	struct oae_link_mark mark;

	oae_link_mark(&tag->link, &mark);
	out->inc = mark.inc;
	out->peer_inc = mark.peer_inc;
}

/*
 * Where the peer was heard. Its id is remembered: the neighbour at the path in use may
 * have left, or have another address now.
 */
static unsigned int path_neighbours(struct oae_tag *tag, struct oae_neigh_where *where,
				    unsigned int max)
{
	unsigned int used = tag->paths ? tag->paths->paths.used : OAE_PATH_OWN;
	const struct oae_port *port = tag->paths ? path_port(tag, used) : tag->key.port;
	u64 kid = tag->paths ? path_kid(tag, used) : tag->key.kid, id;
	u8 mac[ETH_ALEN];

	oae_kid_mac(kid, mac);
	id = oae_neigh_id(tag->node, port, mac);
	if (id) {
		tag->peer_id = id;
		return oae_neigh_others(tag->node, port, mac, where, max);
	}
	return tag->peer_id ? oae_neigh_of_id(tag->node, tag->peer_id, where, max) : 0;
}

/*
 * Where else the peer was heard: each such place is a path to be tried. There may be more of
 * them than paths, since whoever claims the peer's id makes some: so each has its turn.
 */
static void path_look(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_neigh_where where[OAE_NEIGH_AN_ID], *at;
	unsigned int i, n, first;
	u64 kid;

	n = path_neighbours(tag, where, ARRAY_SIZE(where));
	if (!n || !path_begin(tag, ev->now))
		return;
	first = tag->paths->turn;
	for (i = 0; i < n; i++) {
		at = &where[(first + i) % n];
		kid = oae_kid(tag->key.kid >> 56, at->mac);
		if (path_index(tag, at->port, kid) == OAE_PATHS_MAX &&
		    path_add(tag, at->port, kid, false) >= 0)
			tag->paths->turn = (first + i + 1) % n;
	}
}

/* The knob has been lowered: fewer paths, or the own one alone. */
static void path_shrink(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int most = oae_link_takes_paths(&tag->link) ?
			    READ_ONCE(tag->node->knobs.paths) : 1;
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i, was = ps->used;

	for (i = OAE_PATHS_MAX - 1; i > OAE_PATH_OWN && path_count(tag) > most; i--)
		if (i != ps->used || most == 1)
			path_alias_del(tag, i);
	if (ps->used == was)
		return;
	path_turned(tag, ev);
	if (ps->path[OAE_PATH_OWN].up)
		oae_link_speak(&tag->link, &ev->a);
	else
		oae_link_port_down(&tag->link, ev->now, &ev->a);
}

/* Paths that have been silent for long make room for others. */
static void path_tidy(struct oae_tag *tag)
{
	const struct oae_path *p;
	unsigned int i;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		p = &tag->paths->paths.path[i];
		if (p->there && oae_path_hopeless(&tag->paths->paths, i))
			path_alias_del(tag, i);
	}
}

/* Have a path probed when the event ends. */
static void path_probe(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	path_keys(tag, &ev->out);
	if (!ev->out.nonce)
		ev->out.nonce = (get_random_u64() & ~7ULL) | OAE_PATHS_MAX;
	oae_path_probed(&tag->paths->paths, i, ev->out.nonce + i, ev->now);
	ev->out.probe |= 1U << i;
}

/**
 * oae_path_timer() - look for paths and probe them; called when the link's timer fires
 * @tag: the tag
 * @ev: the event
 *
 * Context: softirq, under tag->lock.
 */
void oae_path_timer(struct oae_tag *tag, struct oae_run *ev)
{
	u64 keepalive = READ_ONCE(tag->node->knobs.keepalive_ms) * (u64)NSEC_PER_MSEC;
	struct oae_paths *ps;
	unsigned int i;

	if (tag->paths && oae_link_state(&tag->link) == OAE_OPEN)
		path_shrink(tag, ev);
	if (!oae_link_knows_paths(&tag->link))
		return;
	if (ev->now - tag->paths_at >= keepalive) {
		tag->paths_at = ev->now;
		path_look(tag, ev);
		if (tag->paths)
			path_tidy(tag);
	}
	if (!tag->paths)
		return;
	ps = &tag->paths->paths;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (oae_path_due(ps, i, &tag->link, ev->now))
			path_probe(tag, ev, i);
	oae_watch_time(ps, &tag->link, ev->now);
	if (oae_paths_back(ps, &tag->link, ev->now)) {
		path_turned(tag, ev);
		oae_link_speak(&tag->link, &ev->a);
	}
}

/**
 * oae_path_tag() - find the tag with a link by a port and an address
 * @port: the port
 * @kid: channel and address
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: the tag, be it by its own path or by another, its link not CLOSED, valid in this
 * RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_path_tag(struct oae_port *port, u64 kid)
{
	struct oae_tag *tag = oae_tag_find(port, kid);
	unsigned int i;

	if (!tag || oae_link_closed(&tag->link))
		tag = oae_path_find(port, kid, &i);
	return tag && !oae_link_closed(&tag->link) ? tag : NULL;
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

	if (!path_begin(tag, ev->now))
		return false;
	ps = &tag->paths->paths;
	i = path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = path_add(tag, port, kid, true);
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

/**
 * oae_path_yield() - a path makes way for a link of its own by the same addresses
 * @port: the port of the new tag, which is in the table
 * @kid: its key id
 *
 * Context: any but hard interrupts, no lock held; takes the lock of the path's tag.
 */
void oae_path_yield(struct oae_port *port, u64 kid)
{
	struct oae_run ev oae_uninit;
	struct oae_paths *ps;
	struct oae_tag *tag;
	unsigned int i;

	/* The tag before the look. Pairs with the barrier in path_add(). */
	smp_mb();
	if (likely(!atomic_read(&port->node->naliases)))
		return;
	rcu_read_lock();
	tag = oae_path_find(port, kid, &i);
	if (!tag)
		goto out;
	oae_run_enter(tag, &ev);
	i = tag->paths ? path_index(tag, port, kid) : OAE_PATHS_MAX;
	if (i != OAE_PATHS_MAX && i != OAE_PATH_OWN) {
		ps = &tag->paths->paths;
		if (oae_path_failed(ps, i, &tag->link, ev.now))
			oae_count(tag->node, OAE_S_PATH_TURNED);
		if (ps->used == i)
			oae_link_port_down(&tag->link, ev.now, &ev.a);
		path_alias_del(tag, i);
		oae_run_apply(tag, &ev);
		path_set_mtu(tag, &ev, ps->used);
	}
	oae_run_leave(tag, &ev);
out:
	rcu_read_unlock();
}

/**
 * oae_path_strange() - is a SYNC by a path one that admission decides about?
 * @tag: the tag
 * @index: of the path
 * @f: the frame
 *
 * Its sender has not proven that it is the peer, and may be a new incarnation of it.
 *
 * Context: softirq, or BH off; under rcu_read_lock(). A hint: nothing of the tag is locked.
 *
 * Return: true if so.
 */
bool oae_path_strange(const struct oae_tag *tag, unsigned int index,
		      const struct oae_frame *f)
{
	const struct oae_tag_paths *p = READ_ONCE(tag->paths);

	return f->opcode == OAE_SYNC && p && oae_path_is_strange(&p->paths, index, &tag->link, f);
}

/*
 * Is there a path of the link by a port and an address? 1 it is proven; 0 that is not known yet,
 * and is being asked; -ENOENT it is none.
 */
static int path_try(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port, u64 kid)
{
	struct oae_paths *ps;
	int i;

	if (tag->dead || oae_link_closed(&tag->link))
		return -ENOENT;
	if (!oae_link_knows_paths(&tag->link))
		return oae_link_state(&tag->link) < OAE_OPEN ? 0 : -ENOENT;
	if (!path_begin(tag, ev->now))
		return -ENOENT;
	ps = &tag->paths->paths;
	i = path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX)
		i = path_add(tag, port, kid, false);
	if (i < 0 || oae_path_nobody(ps, i, &tag->link, ev->now))
		return -ENOENT;
	if (ps->path[i].proven)
		return 1;
	if (oae_path_due(ps, i, &tag->link, ev->now))
		path_probe(tag, ev, i);
	return 0;
}

/**
 * oae_path_try() - is there a path of a link by a port and an address?
 * @tag: the tag
 * @port: the port
 * @kid: channel and address
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: 1 it is proven; 0 that is not known yet, and is being asked: node->tags_wait is
 * woken when it is proven; -ENOENT it is none.
 */
int oae_path_try(struct oae_tag *tag, struct oae_port *port, u64 kid)
{
	struct oae_run ev oae_uninit;
	int is;

	oae_run_enter(tag, &ev);
	is = path_try(tag, &ev, port, kid);
	oae_run_leave(tag, &ev);
	return is;
}

/*
 * A SYNC from elsewhere: the index of the path that it came by; -EBUSY it is put off; -ENOENT
 * it is not from the link's peer.
 */
static int path_claimed(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			u64 kid, const struct oae_frame *f)
{
	struct oae_link_mark mark;
	struct oae_paths *ps;
	int i;

	if (tag->dead || oae_link_closed(&tag->link))
		return -ENOENT;
	if (!path_begin(tag, ev->now))
		return -EBUSY;
	ps = &tag->paths->paths;
	oae_link_mark(&tag->link, &mark);
	if (!oae_path_claim(&tag->link, f->sync.inc, f->sync.peer_inc)) {
		if (mark.peer_inc)
			return path_try(tag, ev, port, kid) < 0 ? -ENOENT : -EBUSY;
		/* path_name_claimed() has it. */
		tag->paths->claimed = f->sync.inc;
		return oae_link_down(&tag->link) ? -ENOENT : -EBUSY;
	}
	i = path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX)
		i = path_add(tag, port, kid, true);
	if (i < 0)
		return -EBUSY;
	if (f->sync.peer_inc == mark.inc && f->sync.inc == (mark.peer_inc ?: f->sync.inc))
		ps->path[i].proven = true;
	return oae_path_heard(ps, i, &tag->link, f) ? i : -EBUSY;
}

/**
 * oae_path_claim_rcv() - handle a SYNC that came from elsewhere than the link's paths,
 *	and whose sender may be the peer
 * @tag: the tag
 * @port: the port that received it
 * @kid: key id of its vc and its source, which has named a cookie
 * @f: the frame, parsed and verified
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 *
 * Return: 0 the link has taken it; -EBUSY it is put off: its sender may be another
 * incarnation of the peer, and the present one may be there; -ENOENT it is another node, or
 * there is no link.
 */
int oae_path_claim_rcv(struct oae_tag *tag, struct oae_port *port, u64 kid,
		       const struct oae_frame *f)
{
	struct oae_run ev oae_uninit;
	int i;

	oae_run_enter(tag, &ev);
	i = path_claimed(tag, &ev, port, kid, f);
	if (i >= 0) {
		path_taken(tag, &ev, i, f);
		oae_link_rcv(&tag->link, f, oae_unread_places(tag), ev.now, &ev.a);
		oae_path_after(tag, &ev, f);
	}
	oae_run_log(tag, &ev, OAE_EV_FRAME, f->opcode, f->seq);
	oae_run_leave(tag, &ev);
	return min(i, 0);
}

/* What happens to ports */

/* A port has another address: a tag's paths by it. */
static void path_port_renamed(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || path_port(tag, i) != port)
			continue;
		if (ps->used == i && ps->path[i].proven)
			ether_addr_copy(tag->paths->was, port->was);
		oae_path_renamed(ps, i);
		if (ps->path[i].up)
			path_probe(tag, ev, i);
		if (ps->used != i)
			continue;
		if (oae_path_failed(ps, i, &tag->link, ev->now))
			oae_count(tag->node, OAE_S_PATH_TURNED);
		oae_link_port_down(&tag->link, ev->now, &ev->a);
	}
	oae_run_apply(tag, ev);
	if (ps->used != OAE_PATH_OWN)
		path_set_mtu(tag, ev, ps->used);
}

/**
 * oae_path_keep() - the own port has another address: does the link go on?
 * @tag: the tag
 * @ev: the event
 *
 * The peer learns the new address by a probe, and finds the same end there. Otherwise it
 * would be a new end to it.
 *
 * Context: process; under RTNL and tag->lock.
 *
 * Return: true if so: the peer takes paths, and is not behind a gateway.
 */
bool oae_path_keep(struct oae_tag *tag, struct oae_run *ev)
{
	if (!oae_link_knows_paths(&tag->link) || tag->way.via || !path_begin(tag, ev->now))
		return false;
	path_port_renamed(tag, ev, tag->key.port);
	return true;
}

/**
 * oae_path_address() - a port has another address: a tag's paths by it, but the own one
 * @tag: the tag
 * @arg: the port
 *
 * Context: process; under RTNL; takes tag->lock.
 */
void oae_path_address(struct oae_tag *tag, long arg)
{
	struct oae_port *port = (struct oae_port *)arg;
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	if (tag->paths && !tag->dead && tag->key.port != port)
		path_port_renamed(tag, &ev, port);
	oae_run_leave(tag, &ev);
}

/* The path that the link moves to, now that its own port goes; OAE_PATHS_MAX none. */
static unsigned int path_next_own(const struct oae_tag *tag)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int i, best = OAE_PATHS_MAX;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || !ps->path[i].up || !ps->path[i].proven ||
		    READ_ONCE(path_port(tag, i)->removed))
			continue;
		if (i == ps->used)
			return i;
		if (best == OAE_PATHS_MAX || ps->path[i].good > ps->path[best].good ||
		    (ps->path[i].good == ps->path[best].good &&
		     ps->path[i].mtu > ps->path[best].mtu))
			best = i;
	}
	return best;
}

static bool path_move(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_alias *to;
	unsigned int i;
	bool turned;
	u16 mtu;

	if (!tag->paths || tag->dead || oae_link_closed(&tag->link))
		return false;
	i = path_next_own(tag);
	if (i == OAE_PATHS_MAX)
		return false;
	to = tag->paths->alias[i];
	if (oae_tag_rekey(tag, &to->key))
		return false;
	/* A frame that finds the alias yet is one by the own path: oae_path_before(). */
	tag->paths->alias[i] = NULL;
	turned = oae_paths_move(&tag->paths->paths, i, ev->now);
	path_alias_free_later(tag->node, to);
	oae_count(tag->node, OAE_S_LINKS_MOVED);
	if (turned) {
		oae_count(tag->node, OAE_S_PATH_TURNED);
		oae_link_port_down(&tag->link, ev->now, &ev->a);
	}
	oae_run_apply(tag, ev);
	mtu = oae_tag_way_begin(tag, false);
	ev->via = tag->way.via;
	if (tag->paths->paths.used == OAE_PATH_OWN)
		oae_link_set_mtu(&tag->link, mtu, ev->now, &ev->a);
	return true;
}

/**
 * oae_path_move() - the own port of a tag goes: the link goes on by another path
 * @tag: the tag, to which the caller has a reference
 *
 * From now on that is its own path, and it is found in the table by that.
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: false if it has no other path.
 */
bool oae_path_move(struct oae_tag *tag)
{
	struct oae_run ev oae_uninit;
	bool moved;

	oae_run_enter(tag, &ev);
	moved = path_move(tag, &ev);
	oae_run_leave(tag, &ev);
	return moved;
}

/**
 * oae_path_port_event() - a port has changed: a tag's paths by it, the own one as well
 * @tag: the tag, with paths
 * @ev: the event
 * @port: the port
 *
 * Context: process; under RTNL and tag->lock.
 */
void oae_path_port_event(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	bool gone = READ_ONCE(port->removed), up = READ_ONCE(port->up) && !gone, came = false;
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || path_port(tag, i) != port)
			continue;
		ps->path[i].mtu = path_port_mtu(port);
		came |= up && !ps->path[i].up;
		if (up != ps->path[i].up)
			ps->path[i].probed_at = 0;
		ps->path[i].up = up;
		/* Whether or not the path was added when its port was down already. */
		if (!up && ps->used == i) {
			if (oae_path_failed(ps, i, &tag->link, ev->now))
				oae_count(tag->node, OAE_S_PATH_TURNED);
			oae_link_port_down(&tag->link, ev->now, &ev->a);
		}
		if (gone && i != OAE_PATH_OWN)
			path_alias_del(tag, i);
	}
	/* Once for all paths by this port: each asks, by all of them. */
	if (came)
		oae_link_port_up(&tag->link, ev->now, &ev->a);
	oae_run_apply(tag, ev);
	if (ps->used != OAE_PATH_OWN)
		path_set_mtu(tag, ev, ps->used);
}

/**
 * oae_path_port() - the same, for a walk over all tags
 * @tag: the tag
 * @arg: the port
 *
 * Context: process; under RTNL; takes tag->lock.
 */
void oae_path_port(struct oae_tag *tag, long arg)
{
	struct oae_port *port = (struct oae_port *)arg;
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	/* A tag of the port itself has been told: oae_tag_port(). */
	if (tag->paths && !tag->dead && tag->key.port != port)
		oae_path_port_event(tag, &ev, port);
	oae_run_leave(tag, &ev);
}

/* -ENOSPC: there is no room to keep it. */
static int path_rank_one(struct oae_tag *tag, unsigned int i, enum oae_path_rank rank)
{
	const struct oae_port *port = path_port(tag, i);
	struct oae_path_wish *wish = path_wish(tag, port, path_kid(tag, i));

	if (!wish && rank != OAE_PATH_NORMAL)
		return -ENOSPC;
	tag->paths->paths.path[i].rank = rank;
	if (!wish)
		return 0;
	wish->ifindex = port->dev->ifindex;
	wish->kid = path_kid(tag, i);
	wish->rank = rank;
	return 0;
}

/**
 * oae_path_rank() - say by hand how much paths of a link are wanted
 * @tag: the tag
 * @port: their port here
 * @mac: their address there; NULL: any
 * @rank: enum oae_path_rank
 *
 * Kept as long as the tag is. At the senior it decides from the next event of the timer
 * on; see protocol 4.14, *Rank*.
 *
 * Context: any but hard interrupts; under rcu_read_lock(); takes tag->lock.
 *
 * Return: 0; -ENOENT the link has no such path; -ENOSPC as many others have a rank as
 * there may be.
 */
int oae_path_rank(struct oae_tag *tag, const struct oae_port *port, const u8 *mac,
		  enum oae_path_rank rank)
{
	int err = -ENOENT;
	unsigned int i;
	u8 to[ETH_ALEN];

	oae_tag_lock(tag);
	for (i = 0; tag->paths && !tag->dead && i < OAE_PATHS_MAX; i++) {
		if (!tag->paths->paths.path[i].there || path_port(tag, i) != port)
			continue;
		oae_kid_mac(path_kid(tag, i), to);
		if (!mac || ether_addr_equal(mac, to))
			err = path_rank_one(tag, i, rank);
	}
	oae_tag_unlock(tag);
	return err;
}

static const char *const path_why_words[] = {
	[OAE_WHY_OWN] = "own",
	[OAE_WHY_RANK] = "rank",
	[OAE_WHY_CARRIER] = "carrier",
	[OAE_WHY_SILENCE] = "silence",
	[OAE_WHY_LOSS] = "loss",
	[OAE_WHY_BACK] = "back",
	[OAE_WHY_MTU] = "mtu",
	[OAE_WHY_SPREAD] = "spread",
	[OAE_WHY_PEER] = "peer",
};

static const char *const path_rank_words[] = {
	[OAE_PATH_AVOID - OAE_PATH_AVOID] = "avoid",
	[OAE_PATH_NORMAL - OAE_PATH_AVOID] = "normal",
	[OAE_PATH_PREFERRED - OAE_PATH_AVOID] = "preferred",
};

/**
 * oae_path_show() - what people are shown of a path
 * @tag: the tag
 * @i: index of the path
 * @v: filled in
 *
 * Context: any but hard interrupts; under rcu_read_lock(); takes tag->lock.
 *
 * Return: false if there is no such path.
 */
bool oae_path_show(struct oae_tag *tag, unsigned int i, struct oae_path_view *v)
{
	struct oae_path *p;
	bool there = false;

	BUILD_BUG_ON(ARRAY_SIZE(path_why_words) != OAE_WHY_END);
	oae_tag_lock(tag);
	if (tag->paths && tag->paths->paths.path[i].there) {
		p = &tag->paths->paths.path[i];
		there = true;
		strscpy(v->port, path_port(tag, i)->name, sizeof(v->port));
		oae_kid_mac(path_kid(tag, i), v->mac);
		v->state = !p->up ? "down" : !p->proven ? "trying" : !p->good ? "silent" :
			   p->loss.lossy ? "lossy" : "good";
		v->loss = oae_loss_shown(&p->loss);
		v->used = tag->paths->paths.used == i;
		v->why = path_why_words[tag->paths->paths.why];
		v->rank = path_rank_words[p->rank - OAE_PATH_AVOID];
		v->senior = oae_link_senior(&tag->link);
		v->mtu = p->mtu;
		v->rtt = p->rtt;
		v->used_at = p->used_at;
	}
	oae_tag_unlock(tag);
	return there;
}

/**
 * oae_path_leave() - a tag leaves the table: its aliases do, too
 * @tag: the tag
 *
 * Context: under tag->lock, BH off.
 */
void oae_path_leave(struct oae_tag *tag)
{
	unsigned int i;

	tag->peer_id = 0;
	if (!tag->paths)
		return;
	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++)
		path_alias_del(tag, i);
	tag->paths->claimed = 0;
}

/**
 * oae_path_free() - free what a tag has of paths; its aliases are gone
 * @tag: the tag
 *
 * Context: any; nobody else has the tag.
 */
void oae_path_free(struct oae_tag *tag)
{
	kfree(tag->paths);
}

/**
 * oae_aliases_make() - make a node's table of paths, if there is none
 * @node: the node, which is about to have a port
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or a negative errno.
 */
int oae_aliases_make(struct oae_node *node)
{
	lockdep_assert_held(&node->dev_lock);
	return node->aliases.tbl ? 0 : rhashtable_init(&node->aliases, &alias_params);
}

/**
 * oae_aliases_exit() - free a node's table of paths
 * @node: the node, which has no tag any more
 *
 * Context: process, may sleep.
 */
void oae_aliases_exit(struct oae_node *node)
{
	WARN_ON(atomic_read(&node->naliases));
	if (node->aliases.tbl)
		rhashtable_destroy(&node->aliases);
}
