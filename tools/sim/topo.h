/* SPDX-License-Identifier: GPL-2.0 */
/* The network's shape: which nodes a link joins. Link n has ends 2n and 2n+1. */
#ifndef SIM_TOPO_H
#define SIM_TOPO_H

#include "config.h"

struct topo {
	u32 nodes, links;
	u32 (*join)[2];		/* the nodes of a link */
	u32 *first;		/* by node: where its ends begin in ends[] */
	u32 *ends;
};

#define TOPO_NO_LINK	0xffffffff

u64 topo_count(const struct config *c);
void topo_init(struct topo *t, const struct config *c);
void topo_free(struct topo *t);
u32 topo_link(const struct topo *t, u32 a, u32 b);
const char *topo_name(enum topo_kind kind);

static inline u32 topo_node(const struct topo *t, u32 end)
{
	return t->join[end >> 1][end & 1];
}

#endif /* SIM_TOPO_H */
