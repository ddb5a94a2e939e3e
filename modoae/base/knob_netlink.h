/* SPDX-License-Identifier: GPL-2.0 */
/* Knobs over generic netlink, for the families of both modules. */
#ifndef OAE_KNOB_NETLINK_H
#define OAE_KNOB_NETLINK_H

#include <net/genetlink.h>

#include "../../include/uapi/oae_netlink.h"
#include "knob.h"

void oae_netlink_refuse(struct genl_info *info, const struct nlattr *attr,
			const struct oae_refusal *why);
int oae_netlink_last_event(const struct genl_family *family, struct genl_info *info, u64 number,
			   u64 missed);
int oae_knob_netlink_get(const struct genl_family *family, void *owner,
			 struct genl_info *info);
int oae_knob_netlink_start(struct netlink_callback *cb);
int oae_knob_netlink_dump(const struct genl_family *family, void *owner,
			  struct sk_buff *skb, struct netlink_callback *cb);
int oae_knob_netlink_set(const struct genl_family *family, void *owner,
			 struct genl_info *info);

#endif /* OAE_KNOB_NETLINK_H */
