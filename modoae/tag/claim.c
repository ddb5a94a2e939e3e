// SPDX-License-Identifier: GPL-2.0
/*
 * Claims: a SYNC comes by a port and from an address that are not a link's, or a link is
 * about to be opened to them, and they may be another path of the link. Or it is the other
 * way round, and a path makes way for a link (doc/protocol.md section 4.14). peer.c finds
 * the link.
 */
#include "path.h"

/*
 * Is there a path of the link by a port and an address? 1 it is proven; 0 that is not known yet,
 * and is being asked; -ENOENT it is none.
 */
static int path_try(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port, u64 kid)
{
	struct oae_paths *ps;
	int i;

	if (tag->dead || oae_link_closed(&tag->link))
		return oae_tag_opening(tag) ? 0 : -ENOENT;
	if (!oae_link_knows_paths(&tag->link))
		return oae_link_state(&tag->link) < OAE_OPEN ? 0 : -ENOENT;
	if (!oae_tag_paths_begin(tag, ev))
		return -ENOENT;
	ps = &tag->paths->paths;
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX)
		i = oae_alias_add(tag, port, kid, OAE_ALIAS_SAID);
	if (i < 0 || oae_path_nobody(ps, i, &tag->link, ev->now))
		return -ENOENT;
	if (ps->path[i].proven)
		return 1;
	if (oae_path_due(ps, i, &tag->link, ev->now))
		oae_tag_path_probe(tag, ev, i);
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
	/* Pairs with the smp_store_release() in oae_tag_paths_begin(). */
	const struct oae_tag_paths *p = READ_ONCE(tag->paths);

	return f->opcode == OAE_SYNC && p && oae_path_is_strange(&p->paths, index, &tag->link, f);
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
	bool is;
	int i;

	if (tag->dead || oae_link_closed(&tag->link))
		return oae_tag_opening(tag) ? -EBUSY : -ENOENT;
	if (!oae_tag_paths_begin(tag, ev))
		return -EBUSY;
	ps = &tag->paths->paths;
	oae_link_mark(&tag->link, &mark);
	/* Nobody else knows both. */
	is = mark.peer_inc && f->sync.inc == mark.peer_inc && f->sync.peer_inc == mark.inc;
	if (!oae_path_claim(ps, &tag->link, f->sync.inc, f->sync.peer_inc)) {
		if (mark.peer_inc)
			return path_try(tag, ev, port, kid) < 0 ? -ENOENT : -EBUSY;
		/* path_name_claimed() has it. */
		tag->paths->claimed = f->sync.inc;
		return oae_link_down(&tag->link) ? -ENOENT : -EBUSY;
	}
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX)
		i = oae_alias_add(tag, port, kid, is ? OAE_ALIAS_USED : OAE_ALIAS_HEARD);
	if (i < 0)
		return -EBUSY;
	if (is || (f->sync.peer_inc == mark.inc && !mark.peer_inc))
		ps->path[i].proven = true;
	return oae_path_heard(ps, i, &tag->link, f) ? i : -EBUSY;
}

/* A SYNC of another incarnation of the peer, direct from elsewhere: is the present one gone? */
static bool path_gone(struct oae_tag *tag, struct oae_run *ev, u64 kid,
		      const struct oae_frame *f)
{
	struct oae_link_mark mark;

	if (tag->dead || oae_link_closed(&tag->link) || kid & OAE_KID_VIA || !tag->paths)
		return false;
	oae_link_mark(&tag->link, &mark);
	return f->sync.inc != mark.peer_inc &&
	       !oae_path_claim(&tag->paths->paths, &tag->link, f->sync.inc, f->sync.peer_inc) &&
	       oae_path_gone(&tag->paths->paths, &tag->link, ev->now, &ev->a);
}

/**
 * oae_path_claim_rcv() - handle a SYNC that came from elsewhere than the link's paths,
 *	and whose sender may be the peer
 * @tag: the tag
 * @port: the port that received it
 * @kid: key id of its vc and its source, which has named a cookie; OAE_KID_VIA if it has VIA
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
	if (path_gone(tag, &ev, kid, f)) {
		/* The last probe of the present one goes elsewhere than the answer. */
		oae_run_leave(tag, &ev);
		oae_run_enter(tag, &ev);
	}
	i = path_claimed(tag, &ev, port, kid, f);
	if (i >= 0) {
		oae_conn_taken(&ev.conn, i, f, ev.now, &ev.a);
		oae_conn_rcv(&ev.conn, f, oae_inbox_places(tag), ev.now, &ev.a);
	}
	oae_run_log(tag, &ev, OAE_EV_FRAME, f->opcode, f->seq);
	oae_run_leave(tag, &ev);
	return min(i, 0);
}

/* A path, direct or through a gateway, makes way for a link. */
static void path_yield(struct oae_port *port, u64 kid)
{
	struct oae_run ev oae_uninit;
	struct oae_tag *tag;
	unsigned int i;

	tag = oae_path_find(port, kid, &i);
	if (!tag)
		return;
	oae_run_enter(tag, &ev);
	i = tag->paths ? oae_tag_path_index(tag, port, kid) : OAE_PATHS_MAX;
	if (i != OAE_PATHS_MAX && i != OAE_PATH_OWN) {
		oae_conn_goes(&ev.conn, i, ev.now, &ev.a);
		oae_alias_del(tag, i);
		oae_conn_turned(&ev.conn, ev.now, &ev.a);
	}
	oae_run_leave(tag, &ev);
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
	/* The tag before the look. Pairs with the barrier in oae_alias_add(). */
	smp_mb();
	if (likely(!atomic_read(&port->node->naliases)))
		return;
	rcu_read_lock();
	path_yield(port, kid);
	path_yield(port, kid | OAE_KID_VIA);
	rcu_read_unlock();
}
