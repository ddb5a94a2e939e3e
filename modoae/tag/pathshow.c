// SPDX-License-Identifier: GPL-2.0
/* What people are shown of the paths of a link. */
#include "path.h"

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

static_assert(ARRAY_SIZE(path_why_words) == OAE_WHY_END);
static_assert(ARRAY_SIZE(path_rank_words) == OAE_PATH_PREFERRED - OAE_PATH_AVOID + 1);

/* The gateway of a path that goes through one. */
static void path_gateway(const struct oae_tag *tag, unsigned int i, u8 *mac)
{
	const struct oae_alias *alias = tag->paths->alias[i];
	struct oae_ways ways;

	oae_port_ways(oae_tag_path_port(tag, i), &ways);
	ether_addr_copy(mac, alias ? alias->gw : ways.gw.mac);
}

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

	oae_tag_lock(tag);
	if (tag->paths && tag->paths->paths.path[i].there) {
		p = &tag->paths->paths.path[i];
		there = true;
		strscpy(v->port, oae_tag_path_port(tag, i)->name, sizeof(v->port));
		oae_kid_mac(oae_tag_path_kid(tag, i), v->mac);
		v->state = !p->up ? "down" : !p->proven ? "trying" : !p->good ? "silent" :
			   p->loss.lossy ? "lossy" : "good";
		v->loss = oae_loss_shown(&p->loss);
		v->used = tag->paths->paths.used == i;
		v->via = p->via;
		path_gateway(tag, i, v->gw);
		v->why = path_why_words[tag->paths->paths.why];
		v->rank = path_rank_words[p->rank - OAE_PATH_AVOID];
		v->mtu = oae_path_carries(p);
		v->rtt = p->rtt;
		v->used_at = p->used_at;
	}
	oae_tag_unlock(tag);
	return there;
}
