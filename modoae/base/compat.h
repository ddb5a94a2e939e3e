/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernel versions, each with the version and why. */
#ifndef OAE_COMPAT_H
#define OAE_COMPAT_H

#include <linux/etherdevice.h>
#include <linux/gfp.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <linux/version.h>

/* 6.12: hex.h declares mac_pton(); kernel.h stopped including it later */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h>
#endif

/* 6.13: hrtimer_setup() takes the function, too; 6.15 removed hrtimer_init() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* 6.0: iov_iter_ubuf() needs no iovec beside it */
static inline void oae_user_iter(struct iov_iter *iter, unsigned int dir,
				 struct iovec *iov, void __user *buf,
				 size_t len)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 0, 0)
	iov->iov_base = buf;
	iov->iov_len = len;
	iov_iter_init(iter, dir, iov, 1, len);
#else
	iov_iter_ubuf(iter, dir, buf, len);
#endif
}

/* 6.12: what a frame refers to may be a device's memory, which is no page */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define skb_frags_readable(skb) ((void)(skb), true)
#endif

/* 5.15: the head of an skb may be of a page pool, to which it has to go back */
static inline bool oae_skb_pooled(const struct sk_buff *skb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0) && IS_ENABLED(CONFIG_PAGE_POOL)
	return skb->pp_recycle;
#else
	return false;
#endif
}

/* 6.11: with PREEMPT_RT, BH off is no lock any more; before, it is one of each processor */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define local_lock_nested_bh(lock)	((void)(lock))
#define local_unlock_nested_bh(lock)	((void)(lock))
#endif

/* 6.17: udp_tunnel*_xmit_skb() take the flags of the control block, too */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define oae_udp_xmit_by(function, ...) function(__VA_ARGS__)
#else
#define oae_udp_xmit_by(function, ...) function(__VA_ARGS__, 0)
#endif
#define oae_udp4_xmit(...) oae_udp_xmit_by(udp_tunnel_xmit_skb, __VA_ARGS__)
#define oae_udp6_xmit(...) oae_udp_xmit_by(udp_tunnel6_xmit_skb, __VA_ARGS__)

/* 7.2, or before: udp_tunnel_sock_release() takes the sock, not the socket */
#define oae_tunnel_end(socket)						\
	__builtin_choose_expr(						\
		__builtin_types_compatible_p(				\
			typeof(udp_tunnel_sock_release),		\
			void (struct sock *)),				\
		(socket)->sk, socket)

/*
 * A device that needs no lock to send, and stays in its namespace. 6.12: the two became
 * members of the device; 6.15 renamed the second, and so did some 6.12: see Kbuild.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define oae_netdev_set_own(dev)						\
	((dev)->features |= NETIF_F_LLTX | NETIF_F_NETNS_LOCAL)
#elif !defined(OAE_NETNS_IMMUTABLE)
#define oae_netdev_set_own(dev)						\
	do {								\
		struct net_device *oae_own = (dev);			\
		oae_own->lltx = true;					\
		oae_own->netns_local = true;				\
	} while (0)
#else
#define oae_netdev_set_own(dev)						\
	do {								\
		struct net_device *oae_own = (dev);			\
		oae_own->lltx = true;					\
		oae_own->netns_immutable = true;			\
	} while (0)
#endif

/* 5.15: eth_hw_addr_set() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
#define oae_netdev_set_mac(dev, mac) ether_addr_copy((dev)->dev_addr, mac)
#else
#define oae_netdev_set_mac(dev, mac) eth_hw_addr_set(dev, mac)
#endif

/* 6.10: the kernel has dst_rtable(), with a type check */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define dst_rtable(p) container_of(p, struct rtable, dst)
#endif

/* 5.17: pde_data() was called PDE_DATA() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 17, 0)
#define pde_data(inode) PDE_DATA(inode)
#endif

/* 5.11: pages charged to a memory cgroup may be mapped to user space */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
#define OAE_GFP_MAPPED (GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#else
#define OAE_GFP_MAPPED (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#endif

/* 6.3: vm_flags_set(). The mapping does not grow and is left out of core dumps. */
static inline void oae_vm_fixed(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags |= VM_DONTEXPAND | VM_DONTDUMP;
#else
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
#endif
}

/* 6.2: timer_delete_sync(); 6.15 removed its older name */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define oae_timer_end(timer) del_timer_sync(timer)
#else
#define oae_timer_end(timer) timer_delete_sync(timer)
#endif

/* 6.6: the attributes of a request for a dump are in its struct genl_info */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define oae_dump_attrs(cb) (genl_dumpit_info(cb)->attrs)
#else
#define oae_dump_attrs(cb) (genl_dumpit_info(cb)->info.attrs)
#endif

#endif /* OAE_COMPAT_H */
