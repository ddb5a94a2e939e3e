/* SPDX-License-Identifier: GPL-2.0 */
/* The family "oae", between its two files. */
#ifndef OAE_CTL_NETLINK_H
#define OAE_CTL_NETLINK_H

#include <net/genetlink.h>

/* netlink.c */
extern struct genl_family oae_netlink_family;

/* netlink_event.c */
void oae_event_live(bool live);

#endif /* OAE_CTL_NETLINK_H */
