// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling the gateway's work. zone/serve.c is the periodic work, zone/zone.c
 * the work that looks for changed addresses.
 */

#include "base.h"

static struct workqueue_struct *oaeip_wq;

/**
 * oaeip_kick() - run the periodic work soon
 * @gw: the gateway
 * @ms: latest start from now, milliseconds; 0 at once
 *
 * Context: any.
 */
void oaeip_kick(struct oaeip_gw *gw, unsigned int ms)
{
	/* Repeated calls do not postpone the run. */
	if (!test_and_set_bit(0, &gw->kicked) || !ms)
		mod_delayed_work(oaeip_wq, &gw->control, msecs_to_jiffies(ms));
}

/**
 * oaeip_kick_later() - run the periodic work, unless a run is scheduled already
 * @gw: the gateway
 * @ms: start from now, milliseconds
 *
 * Context: any.
 */
void oaeip_kick_later(struct oaeip_gw *gw, unsigned int ms)
{
	queue_delayed_work(oaeip_wq, &gw->control, msecs_to_jiffies(ms));
}

/**
 * oaeip_kick_doubt() - check the nodes in doubt at a given time
 * @gw: the gateway
 * @at: ms of oaeip_now(). The earliest time requested counts; all nodes are
 *	checked then
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
 * oaeip_kick_reconf() - check soon whether this host's addresses have changed
 * @gw: the gateway; NULL: nothing
 *
 * Context: any.
 */
void oaeip_kick_reconf(struct oaeip_gw *gw)
{
	if (gw && READ_ONCE(gw->ready))
		queue_work(oaeip_wq, &gw->reconf);
}

/**
 * oaeip_kick_work() - run a work of somebody's own, once
 * @work: the work; the module is not unloaded before it has run
 *
 * Context: any.
 */
void oaeip_kick_work(struct work_struct *work)
{
	queue_work(oaeip_wq, work);
}

/**
 * oaeip_kick_init() - allocate the workqueue
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oaeip_kick_init(void)
{
	/* WQ_UNBOUND: any CPU will do, and 7.x warns without a choice. */
	oaeip_wq = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	return oaeip_wq ? 0 : -ENOMEM;
}

/**
 * oaeip_kick_exit() - destroy the workqueue
 *
 * Context: process, may sleep; no gateway is left.
 */
void oaeip_kick_exit(void)
{
	destroy_workqueue(oaeip_wq);
}
