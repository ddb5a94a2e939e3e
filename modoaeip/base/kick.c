// SPDX-License-Identifier: GPL-2.0
/*
 * When the gateway's work runs: soon, at a time, once more. What it does is
 * zone/serve.c's, and of the other work, which looks at addresses, zone/zone.c's.
 */

#include "base.h"

static struct workqueue_struct *oaeip_wq;

/**
 * oaeip_kick() - let the work come soon
 * @gw: the gateway
 * @ms: within so many; 0 at once
 *
 * Context: any.
 */
void oaeip_kick(struct oaeip_gw *gw, unsigned int ms)
{
	/* Kicks in a row do not put it off. */
	if (!test_and_set_bit(0, &gw->kicked) || !ms)
		mod_delayed_work(oaeip_wq, &gw->control, msecs_to_jiffies(ms));
}

/**
 * oaeip_kick_later() - let the work run once more, unless it is to run anyway
 * @gw: the gateway
 * @ms: in so many
 *
 * Context: any.
 */
void oaeip_kick_later(struct oaeip_gw *gw, unsigned int ms)
{
	queue_delayed_work(oaeip_wq, &gw->control, msecs_to_jiffies(ms));
}

/**
 * oaeip_kick_doubt() - look at the nodes in doubt at a time
 * @gw: the gateway
 * @at: ms; the earliest asked for is when all are looked at
 *
 * Context: any.
 */
void oaeip_kick_doubt(struct oaeip_gw *gw, u64 at)
{
	u64 before = READ_ONCE(gw->doubt_at);

	if (before && before <= at)
		return;
	WRITE_ONCE(gw->doubt_at, at);
	oaeip_kick(gw, 5);
}

/**
 * oaeip_kick_reconf() - look soon whether this host's addresses have changed
 * @gw: the gateway; NULL: nothing
 *
 * Context: any.
 */
void oaeip_kick_reconf(struct oaeip_gw *gw)
{
	if (gw && READ_ONCE(gw->ready))
		schedule_work(&gw->reconf);
}

/**
 * oaeip_kick_init() - make what the work runs on
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oaeip_kick_init(void)
{
	/* Nothing in it cares for the processor, and 7.x warns when nothing is said. */
	oaeip_wq = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	return oaeip_wq ? 0 : -ENOMEM;
}

/**
 * oaeip_kick_exit() - and let it go
 *
 * Context: process, may sleep; no gateway is left.
 */
void oaeip_kick_exit(void)
{
	destroy_workqueue(oaeip_wq);
}
