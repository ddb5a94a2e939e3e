// SPDX-License-Identifier: GPL-2.0
/* Frames for which an end has no tag (doc/protocol.md section 4.6). */
#include "sim.h"
#include "admission.h"

#define COOKIE_NS	(4 * NS_S)

static u32 cookie(const struct world *w, const struct end *e, unsigned int cable,
		  u32 src_ltag, u64 when)
{
	u32 i = end_index(w, e);
	u64 in[3] = { w->nodes[topo_node(&w->topo, i)].cookie_key,
		      (u64)cable << 56 | (u64)i << 32 | src_ltag, when };

	return oae_cookie(oae_xxh64(in, sizeof(in), 0));
}

/**
 * stranger() - answer a frame for no tag, or make one
 * @w: the world
 * @e: an end without a tag
 * @cable: by which it came
 * @f: the frame
 */
void stranger(struct world *w, struct end *e, unsigned int cable,
	      const struct oae_frame *f)
{
	u64 when = w->now / COOKIE_NS;
	const struct oae_asker who = {
		.cookie = { cookie(w, e, cable, f->src_ltag, when),
			    when ? cookie(w, e, cable, f->src_ltag, when - 1) : 0 },
	};
	struct oae_admission a;

	oae_admission(&who, f, &a);
	if (a.verdict == OAE_ADMIT_TAG)
		end_accept(w, e, cable, f);
	else if (a.verdict != OAE_ADMIT_DROP)
		wire_put(w, e, cable, &a.answer, TX_NONE, 0);
}
