// SPDX-License-Identifier: GPL-2.0
/* In which order an event of a link asks the rules of its paths: see conn.h. */
#include "conn.h"
#include "link_int.h"

/* What the link has found out about a path is kept while it goes by another. */
static void conn_keep_limit(const struct oae_conn *c)
{
	struct oae_paths *ps = c->paths;
	struct oae_path *p;

	if (ps->limit == OAE_PATHS_MAX)
		return;
	p = &ps->path[ps->limit];
	p->pmtu = c->link->mtu.path;
	p->pmtu_at = c->link->mtu.path_at;
}

static void conn_go_by(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	const struct oae_path *p = &c->paths->path[i];
	const struct oae_carries carries = {
		.mtu = p->mtu,
		.far = p->far,
		.pmtu = p->pmtu,
		.pmtu_at = p->pmtu_at,
	};

	if (c->paths->limit == i)
		return;
	c->paths->limit = i;
	oae_link_go_by(c->link, &carries, now, a);
}

/* The link goes by a path: what that carries may be another length. */
static void conn_mtu(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	conn_go_by(c, i, now, a);
	if (i == OAE_PATH_OWN && c->own_mtu)
		c->own_mtu(c);
	else
		oae_link_set_mtu(c->link, c->paths->path[i].mtu, now, a);
}

/**
 * oae_conn_turned() - another path is in use, perhaps
 * @c: the event, with paths
 * @now: ns
 * @a: actions; what the link wants so far is of the path before that
 */
void oae_conn_turned(struct oae_conn *c, u64 now, struct oae_actions *a)
{
	a->full(a);
	if (!c->paths)
		return;
	conn_mtu(c, c->paths->used, now, a);
	oae_rtt_guess(c->link, c->paths->path[c->paths->used].rtt);
}

/* A path that is in use carries nothing any more. */
static void conn_failed(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	c->turned += oae_path_failed(c->paths, i, c->link, now);
	oae_link_port_down(c->link, now, a);
}

/**
 * oae_conn_taken() - a frame comes by a path that is known to lead to the peer
 * @c: the event; oae_conn_rcv() follows
 * @i: index of the path
 * @f: the frame, which oae_path_heard() lets the link take
 * @now: ns
 * @a: actions
 */
void oae_conn_taken(struct oae_conn *c, unsigned int i, const struct oae_frame *f, u64 now,
		    struct oae_actions *a)
{
	u64 leave_at = oae_path_answers(c->paths, i, c->link, f, now);

	c->back = i;
	if (leave_at)
		oae_link_wake(c->link, leave_at, a);
	oae_path_asked(c->paths, i, c->link, f);
	oae_count_heard(c->paths, i, c->link, f);
	/* Resolving, the link offers anew: as long as that path carries. */
	if (c->before < OAE_OPEN && f->dst_ltag)
		conn_mtu(c, i, now, a);
}

/**
 * oae_conn_heard() - a frame has come by a path
 * @c: the event
 * @i: index of the path
 * @f: the frame, parsed and verified
 * @now: ns
 * @a: actions
 *
 * Return: false: drop the frame; else oae_conn_rcv() follows.
 */
bool oae_conn_heard(struct oae_conn *c, unsigned int i, const struct oae_frame *f, u64 now,
		    struct oae_actions *a)
{
	if (!c->paths)
		return true;
	if (!oae_path_heard(c->paths, i, c->link, f))
		return false;
	oae_conn_taken(c, i, f, now, a);
	return true;
}

/**
 * oae_conn_stepped() - the link has taken a frame: oae_conn_rcv()
 * @c: the event, with paths
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_conn_stepped(struct oae_conn *c, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	/* What its SYNC says is newer than its last probe. */
	if (c->before < OAE_OPEN && c->link->state == OAE_OPEN) {
		if (oae_is_sync(f->opcode))
			c->paths->path[c->back].far = c->link->mtu.there;
		else
			oae_link_set_far(c->link, c->paths->path[c->back].far, now, a);
	}
	if (oae_path_stepped(c->paths, c->back, c->link, f, c->before, now)) {
		c->turned++;
		oae_conn_turned(c, now, a);
	}
}

/**
 * oae_conn_path_rcv() - a probe or the answer to one has come, and its proof holds
 * @c: the event, with paths
 * @i: index of the path
 * @f: the frame, a PATH; the caller answers a probe
 * @now: ns
 * @a: actions
 *
 * Return: false: it is of no use.
 */
bool oae_conn_path_rcv(struct oae_conn *c, unsigned int i, const struct oae_frame *f, u64 now,
		       struct oae_actions *a)
{
	struct oae_path *p = &c->paths->path[i];
	bool before = p->proven;

	/* A port that is down carries no frames, whatever it hears. */
	if (!p->up)
		return false;
	if (f->path.role == OAE_PATH_PROBE)
		p->proven = true;
	else if (!oae_path_answered(c->paths, i, f->path.nonce, now))
		return false;
	p->far = f->path.mtu && f->path.mtu < OAE_MIN_MTU ? OAE_MIN_MTU : f->path.mtu;
	if (i == c->paths->used)
		oae_link_set_far(c->link, p->far, now, a);
	/* A link that is frozen asks there, too, and at once. */
	if (!before)
		oae_link_port_up(c->link, now, a);
	return true;
}

/**
 * oae_conn_back() - this end goes over to the path that it prefers, if that is another one
 * @c: the event
 * @now: ns
 * @a: actions
 *
 * Return: true if it does.
 */
bool oae_conn_back(struct oae_conn *c, u64 now, struct oae_actions *a)
{
	if (!oae_paths_back(c->paths, c->link, now))
		return false;
	c->turned++;
	oae_conn_turned(c, now, a);
	return true;
}

/* Is another path known to carry more than the one in use? */
static bool conn_other_carries(const struct oae_paths *ps)
{
	u16 mtu = oae_path_mtu(&ps->path[ps->used]);
	const struct oae_path *p;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (i != ps->used && p->up && p->good && oae_path_mtu(p) > mtu)
			return true;
	}
	return false;
}

/* A limit that was found long ago may hold no more. That of the path in use is the link's. */
static void conn_limit_ages(struct oae_path *p, u64 age, u64 now)
{
	if (p->pmtu && now - p->pmtu_at >= age)
		p->pmtu = 0;
}

/**
 * oae_conn_timer() - the timer has fired: probes, and the path that is preferred
 * @c: the event, with paths
 * @nonce: of the probe by the first path, unpredictable, not 0; that by path n is greater by n
 * @now: ns
 * @a: actions
 *
 * Return: a set of indices: by these a probe is sent.
 */
unsigned int oae_conn_timer(struct oae_conn *c, u64 nonce, u64 now, struct oae_actions *a)
{
	unsigned int i, probed = 0;
	u64 age = OAE_MTU_NS;

	/*
	 * A path that seemed short may carry what is too long here, if none is known to. What the
	 * one in use carries is asked before, which takes some round trips.
	 */
	if (c->link->mtu.too_long && !conn_other_carries(c->paths))
		age = c->link->cfg->keepalive + 4 * c->link->rtt.srtt;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		conn_limit_ages(&c->paths->path[i], age, now);
		if (!oae_path_due(c->paths, i, c->link, now))
			continue;
		oae_path_probed(c->paths, i, nonce + i, now);
		probed |= 1U << i;
	}
	oae_count_time(c->paths, c->link, now);
	if (oae_paths_silent(c->paths, c->link, now)) {
		c->turned++;
		oae_conn_turned(c, now, a);
	} else {
		oae_conn_back(c, now, a);
	}
	return probed;
}

/**
 * oae_conn_review() - the port of a path has changed, or what is behind it
 * @c: the event, with paths; oae_conn_reviewed() follows
 * @i: index of the path
 * @up: the port carries frames
 * @same: the path leads where it led
 * @now: ns
 * @a: actions
 *
 * Return: true if its port carries frames now, and did not before.
 */
bool oae_conn_review(struct oae_conn *c, unsigned int i, bool up, bool same, u64 now,
		     struct oae_actions *a)
{
	struct oae_path *p = &c->paths->path[i];
	bool was = p->up;

	if (!same)
		oae_path_renamed(c->paths, i);
	if (up != was)
		p->probed_at = 0;
	p->up = up;
	/* Whether or not the path was added when its port was down already. */
	if ((!up || !same) && c->paths->used == i)
		conn_failed(c, i, now, a);
	return up && !was;
}

/**
 * oae_conn_reviewed() - all paths that have changed were looked at
 * @c: the event, with paths
 * @came: a port carries frames now, and did not before
 * @now: ns
 * @a: actions
 */
void oae_conn_reviewed(struct oae_conn *c, bool came, u64 now, struct oae_actions *a)
{
	/* Once for all paths by this port: each asks, by all of them. */
	if (came)
		oae_link_port_up(c->link, now, a);
	a->full(a);
	if (c->paths && c->paths->used != OAE_PATH_OWN)
		conn_mtu(c, c->paths->used, now, a);
}

/**
 * oae_conn_renaming() - a path will have another address here
 * @c: the event, with paths
 * @i: index of the path
 * @now: ns
 * @a: actions
 */
void oae_conn_renaming(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	oae_path_renamed(c->paths, i);
	if (c->paths->used == i)
		conn_failed(c, i, now, a);
}

/**
 * oae_conn_renamed() - a path has another address here
 * @c: the event, with paths; oae_conn_reviewed() follows
 * @i: index of the path, which the caller probes
 * @now: ns
 * @a: actions
 */
void oae_conn_renamed(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	/* A frame that had come to the old one may have proven it once more. */
	oae_path_renamed(c->paths, i);
	if (c->paths->used == i)
		oae_link_port_down(c->link, now, a);
}

/**
 * oae_conn_goes() - a path makes way for a link of its own
 * @c: the event, with paths
 * @i: index of the path, not OAE_PATH_OWN: the caller forgets it, and oae_conn_turned() follows
 * @now: ns
 * @a: actions
 */
void oae_conn_goes(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	c->turned += oae_path_failed(c->paths, i, c->link, now);
	if (c->paths->used == i)
		oae_link_port_down(c->link, now, a);
}

/**
 * oae_conn_move() - a path becomes the own one, of which nothing is left
 * @c: the event, with paths
 * @i: index of the path, not OAE_PATH_OWN
 * @now: ns
 * @a: actions
 */
void oae_conn_move(struct oae_conn *c, unsigned int i, u64 now, struct oae_actions *a)
{
	if (!oae_paths_move(c->paths, i, now))
		return;
	c->turned++;
	conn_go_by(c, c->paths->used, now, a);
	oae_link_port_down(c->link, now, a);
}

/**
 * oae_conn_end() - the ops of an event are carried out: its frames go out next
 * @c: the event
 */
void oae_conn_end(struct oae_conn *c)
{
	struct oae_paths *ps = c->paths;

	if (!ps)
		return;
	oae_paths_pair(ps, c->link);
	conn_keep_limit(c);
	if (c->before < OAE_OPEN && c->link->state == OAE_OPEN) {
		oae_count_begin(ps, c->link);
		ps->asked = ps->used;
	}
	if (c->turned) {
		oae_count_turned(ps, c->link);
		oae_cong_turned(c->link);
	}
}
