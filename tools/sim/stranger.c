// SPDX-License-Identifier: GPL-2.0
/* Frames for which an end has no tag (doc/protocol.md section 4.6). */
#include "sim.h"

#define COOKIE_NS	(4 * NS_S)

static u32 cookie(const struct world *w, const struct end *e, u32 src_ltag,
		  u64 when)
{
	u32 i = end_index(w, e);
	u64 in[3] = { w->nodes[topo_node(&w->topo, i)].cookie_key,
		      (u64)i << 32 | src_ltag, when };

	return oae_xxh64(in, sizeof(in), 0) >> 32 | 1;
}

static bool admitted(const struct world *w, const struct end *e,
		     const struct oae_frame *f)
{
	u64 when = w->now / COOKIE_NS;

	return f->dst_ltag == cookie(w, e, f->src_ltag, when) ||
	       (when && f->dst_ltag == cookie(w, e, f->src_ltag, when - 1));
}

/**
 * stranger() - answer a frame for no tag, or make one
 * @w: the world
 * @e: an end without a tag
 * @f: the frame
 */
void stranger(struct world *w, struct end *e, const struct oae_frame *f)
{
	struct oae_frame r = {
		.vc = f->vc,
		.hdr_len = OAE_HDR_LEN,
		.src_ltag = f->dst_ltag,
		.dst_ltag = f->src_ltag,
	};

	switch (f->opcode) {
	case OAE_SYNC:
		if (admitted(w, e, f)) {
			end_accept(w, e, f);
			return;
		}
		r.opcode = OAE_SYNC_CHK;
		r.src_ltag = cookie(w, e, f->src_ltag, w->now / COOKIE_NS);
		break;
	case OAE_CLOSE:
		if (f->reason)
			return;
		r.opcode = OAE_CLOSE_ACK;
		break;
	case OAE_OFFER:
	case OAE_REFLECT:
	case OAE_COMMIT:
	case OAE_REFUSE:
	case OAE_READY:
	case OAE_REVERSE:
	case OAE_DONE:
		r.opcode = OAE_NOLINK;
		break;
	default:
		return;
	}
	wire_send(w, e, &r, TX_NONE, 0);
}
