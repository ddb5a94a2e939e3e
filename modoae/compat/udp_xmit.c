// SPDX-License-Identifier: GPL-2.0
/*
 * 6.17: udp_tunnel_xmit_skb() and udp_tunnel6_xmit_skb() take the flags of the control block,
 * too. 1: so does the first, 2: so does the second.
 */
#include <net/udp_tunnel.h>

static void __maybe_unused test4(struct rtable *rt, struct sock *sk, struct sk_buff *skb)
{
#if OAE_FORM & 1
	udp_tunnel_xmit_skb(rt, sk, skb, 0, 0, 0, 1, 0, 0, 0, false, false, 0);
#else
	udp_tunnel_xmit_skb(rt, sk, skb, 0, 0, 0, 1, 0, 0, 0, false, false);
#endif
}

#if IS_ENABLED(CONFIG_IPV6)
static void __maybe_unused test6(struct dst_entry *dst, struct sock *sk, struct sk_buff *skb,
				 struct in6_addr *a)
{
#if OAE_FORM & 2
	udp_tunnel6_xmit_skb(dst, sk, skb, NULL, a, a, 0, 1, 0, 0, 0, false, 0);
#else
	udp_tunnel6_xmit_skb(dst, sk, skb, NULL, a, a, 0, 1, 0, 0, 0, false);
#endif
}
#endif
