// SPDX-License-Identifier: GPL-2.0
/* 6.6: the attributes of a request for a dump are in its struct genl_info. */
#include <net/genetlink.h>

static struct nlattr __maybe_unused **test(struct netlink_callback *cb)
{
#if OAE_FORM
	return genl_dumpit_info(cb)->info.attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}
