// SPDX-License-Identifier: GPL-2.0
/* Finding the gateway of a network namespace. */

#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "base.h"

/* Set by the pernet operations of main.c. */
unsigned int oaeip_net_id __read_mostly;

/**
 * oaeip_gw() - the gateway of a namespace
 * @net: the namespace
 *
 * Context: any; the namespace must be alive.
 *
 * Return: its gateway; NULL while the namespace is being set up.
 */
struct oaeip_gw *oaeip_gw(struct net *net)
{
	return net_generic(net, oaeip_net_id);
}

/**
 * oaeip_gw_current() - the gateway of the calling task's namespace
 *
 * Context: process; the task is not exiting.
 *
 * Return: the gateway.
 */
struct oaeip_gw *oaeip_gw_current(void)
{
	return oaeip_gw(current->nsproxy->net_ns);
}
EXPORT_SYMBOL_FOR_BENCH(oaeip_gw_current);
