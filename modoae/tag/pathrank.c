// SPDX-License-Identifier: GPL-2.0
/* The rank of paths: what is said by hand of how much they are wanted (protocol 4.14, *Rank*). */
#include "path.h"

#include <linux/etherdevice.h>

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

/**
 * oae_tag_path_wish() - what was said by hand of a path, be it there or not
 * @tag: the tag, with paths
 * @port: the path's port
 * @kid: its channel and address
 *
 * Context: under tag->lock.
 *
 * Return: enum oae_path_rank.
 */
s8 oae_tag_path_wish(const struct oae_tag *tag, const struct oae_port *port, u64 kid)
{
	const struct oae_path_wish *wish = path_wish(tag, port, kid);

	return wish ? wish->rank : OAE_PATH_NORMAL;
}

/* -ENOSPC: there is no room to keep it. */
static int path_rank_one(struct oae_tag *tag, unsigned int i, enum oae_path_rank rank)
{
	const struct oae_port *port = oae_tag_path_port(tag, i);
	struct oae_path_wish *wish = path_wish(tag, port, oae_tag_path_kid(tag, i));

	if (!wish && rank != OAE_PATH_NORMAL)
		return -ENOSPC;
	tag->paths->paths.path[i].rank = rank;
	if (!wish)
		return 0;
	wish->ifindex = port->dev->ifindex;
	wish->kid = oae_tag_path_kid(tag, i);
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
 * Kept as long as the tag is. It counts for what this end asks, from the next event of the
 * timer on; see protocol 4.14, *Rank*.
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
		if (!tag->paths->paths.path[i].there || oae_tag_path_port(tag, i) != port)
			continue;
		oae_kid_mac(oae_tag_path_kid(tag, i), to);
		if (!mac || ether_addr_equal(mac, to))
			err = path_rank_one(tag, i, rank);
	}
	oae_tag_unlock(tag);
	return err;
}
