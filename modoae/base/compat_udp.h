/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels for those who send over UDP; the rest is in compat.h. */
#ifndef OAE_COMPAT_UDP_H
#define OAE_COMPAT_UDP_H

#include "has/forms.gen"

/*
 * 6.17: udp_tunnel*_xmit_skb() take the flags of the control block, too. Either may have been
 * changed alone.
 */
#if OAE_HAS_UDP_XMIT & 1
#define oae_udp_xmit4_by(function, ...) function(__VA_ARGS__, 0)
#else
#define oae_udp_xmit4_by(function, ...) function(__VA_ARGS__)
#endif
#if OAE_HAS_UDP_XMIT & 2
#define oae_udp_xmit6_by(function, ...) function(__VA_ARGS__, 0)
#else
#define oae_udp_xmit6_by(function, ...) function(__VA_ARGS__)
#endif

/*
 * 7.2, or before: setup_udp_tunnel_sock() and udp_tunnel_sock_release() take the sock, not the
 * socket. Either may have been changed alone.
 */
#define oae_tunnel_end(socket, function, ...)				\
	__builtin_choose_expr(						\
		__builtin_types_compatible_p(				\
			typeof(function), void (__VA_ARGS__)),		\
		(socket)->sk, socket)
#define oae_tunnel_setup_end(socket)					\
	oae_tunnel_end(socket, setup_udp_tunnel_sock, struct net *,	\
		       struct sock *, struct udp_tunnel_sock_cfg *)
#define oae_tunnel_release_end(socket)					\
	oae_tunnel_end(socket, udp_tunnel_sock_release, struct sock *)

/* dst_rtable(), which came with 6.10 and to others earlier, under a name of ours. */
#define oae_rtable(route) container_of(route, struct rtable, dst)

#endif /* OAE_COMPAT_UDP_H */
