// SPDX-License-Identifier: GPL-2.0
/* The gateway of a network namespace: finding it. */

#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "base.h"

/* Of main.c's pernet operations. */
unsigned int oaeip_net_id __read_mostly;

/**
 * oaeip_gw() - the gateway of a namespace
 * @net: the namespace
 *
 * Context: any, while the namespace lives.
 *
 * Return: its gateway; NULL while the namespace is being made.
 */
struct oaeip_gw *oaeip_gw(struct net *net)
{
	return net_generic(net, oaeip_net_id);
}

/**
 * oaeip_gw_current() - the gateway of whoever calls
 *
 * Context: process, in a task that is not exiting.
 *
 * Return: the gateway of its namespace.
 */
struct oaeip_gw *oaeip_gw_current(void)
{
	return oaeip_gw(current->nsproxy->net_ns);
}
EXPORT_SYMBOL_FOR_BENCH(oaeip_gw_current);
