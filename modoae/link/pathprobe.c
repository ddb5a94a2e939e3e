// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of the paths that are not in use, or not proven yet (doc/protocol.md section 4.14).
 * Pure, see path.h.
 */
#include "path.h"
#include "link_int.h"

/**
 * oae_path_due() - is a path to be probed now?
 * @ps: the paths
 * @i: its index
 * @l: the link
 * @now: ns
 *
 * The path in use is not, once it is proven: the link itself notices what fails there.
 * A frozen link is in a hurry.
 */
bool oae_path_due(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		  u64 now)
{
	u64 keepalive = l->cfg->keepalive, wait = keepalive - keepalive / 8;
	const struct oae_path *p = &ps->path[i];

	if (oae_frozen(l) && !p->proven && !l->down)
		wait = keepalive / 8;
	return p->there && p->up && (i != ps->used || !p->proven) &&
	       (!p->probed_at || now - p->probed_at >= wait);
}

/**
 * oae_path_probed() - a probe is sent
 * @ps: the paths
 * @i: index of the path
 * @nonce: of the probe, not 0
 * @now: ns
 */
void oae_path_probed(struct oae_paths *ps, unsigned int i, u64 nonce, u64 now)
{
	struct oae_path *p = &ps->path[i];

	if (p->nonce && p->missed < 255)
		p->missed++;
	/* A path that is silent altogether is not one that loses a little. */
	if (p->nonce && p->good)
		oae_loss_missed(&p->loss);
	if (p->missed >= OAE_PATH_MISSES)
		p->good = false;
	p->nonce = nonce;
	p->probed_at = now;
}

/**
 * oae_path_answered() - the answer to a probe has come, and its proof holds
 * @ps: the paths
 * @i: index of the path that it came by
 * @nonce: of the answer
 * @now: ns
 *
 * Return: false if it is not the answer to the last probe there.
 */
bool oae_path_answered(struct oae_paths *ps, unsigned int i, u64 nonce, u64 now)
{
	struct oae_path *p = &ps->path[i];

	if (!p->nonce || p->nonce != nonce)
		return false;
	p->nonce = 0;
	p->missed = 0;
	p->proven = true;
	if (!p->good)
		p->good_at = now;
	p->good = true;
	oae_loss_answered(&p->loss);
	p->rtt = now > p->probed_at ? now - p->probed_at : 1;
	return true;
}
