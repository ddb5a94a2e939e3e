/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, each with the version that began it and why. Which form the
 * headers have is told by the tests in compat/, one a thing, which are compiled first.
 */
#ifndef OAE_COMPAT_H
#define OAE_COMPAT_H

#include <linux/etherdevice.h>
#include <linux/gfp.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/uio.h>

#include "compat_udp.h"

/* 6.12: hex.h declares mac_pton(); kernel.h stopped including it later */
#if OAE_HAS_HEX
#include <linux/hex.h>
#endif

/* 6.13: hrtimer_setup() takes the function, too; 6.15 removed hrtimer_init() */
#if !OAE_HAS_HRTIMER_SETUP
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
#if !OAE_HAS_IOV_ITER_UBUF
	iov->iov_base = buf;
	iov->iov_len = len;
	iov_iter_init(iter, dir, iov, 1, len);
#else
	iov_iter_ubuf(iter, dir, buf, len);
#endif
}

/* 6.12: what a frame refers to may be a device's memory, which is no page */
#if !OAE_HAS_SKB_FRAGS_READABLE
#define skb_frags_readable(skb) ((void)(skb), true)
#endif

/* 5.15: the head of an skb may be of a page pool, to which it has to go back */
static inline bool oae_skb_pooled(const struct sk_buff *skb)
{
#if OAE_HAS_PP_RECYCLE
	return skb->pp_recycle;
#else
	return false;
#endif
}

/* 6.11: with PREEMPT_RT, BH off is no lock any more; before, it is one of each processor */
#if !OAE_HAS_LOCAL_LOCK_NESTED_BH
#define local_lock_nested_bh(lock)	((void)(lock))
#define local_unlock_nested_bh(lock)	((void)(lock))
#endif

/*
 * A device that needs no lock to send, and stays in its namespace. 6.12: the two became
 * members of the device; 6.15 renamed the second, and so did some 6.12.
 */
static inline void oae_netdev_set_own(struct net_device *dev)
{
#if OAE_HAS_LLTX
	dev->lltx = true;
#else
	dev->features |= NETIF_F_LLTX;
#endif
#if OAE_HAS_NETNS == 2
	dev->netns_immutable = true;
#elif OAE_HAS_NETNS == 1
	dev->netns_local = true;
#else
	dev->features |= NETIF_F_NETNS_LOCAL;
#endif
}

/* 5.15: eth_hw_addr_set() */
#if !OAE_HAS_ETH_HW_ADDR_SET
#define oae_netdev_set_mac(dev, mac) ether_addr_copy((dev)->dev_addr, mac)
#else
#define oae_netdev_set_mac(dev, mac) eth_hw_addr_set(dev, mac)
#endif

/* 5.17: pde_data() was called PDE_DATA() */
#if !OAE_HAS_PDE_DATA
#define pde_data(inode) PDE_DATA(inode)
#endif

/* 5.11: pages charged to a memory cgroup may be mapped to user space */
#if !OAE_HAS_ACCOUNT_MAPPED
#define OAE_GFP_MAPPED (GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#else
#define OAE_GFP_MAPPED (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#endif

/* 6.3: vm_flags_set(). The mapping does not grow and is left out of core dumps. */
static inline void oae_vm_fixed(struct vm_area_struct *vma)
{
#if OAE_HAS_VM_FLAGS_SET
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
#else
	vma->vm_flags |= VM_DONTEXPAND | VM_DONTDUMP;
#endif
}

/* 6.3: vm_flags_set(). The mapping is never made writable. */
static inline void oae_vm_read_only(struct vm_area_struct *vma)
{
#if OAE_HAS_VM_FLAGS_SET
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
}

/* 6.3: vm_flags_set(). A child does not have the mapping. */
static inline void oae_vm_not_for_child(struct vm_area_struct *vma)
{
#if OAE_HAS_VM_FLAGS_SET
	vm_flags_set(vma, VM_DONTCOPY);
#else
	vma->vm_flags |= VM_DONTCOPY;
#endif
}

/* 6.2: timer_delete_sync(); 6.15 removed its older name */
#if !OAE_HAS_TIMER_DELETE_SYNC
#define oae_timer_end(timer) del_timer_sync(timer)
#else
#define oae_timer_end(timer) timer_delete_sync(timer)
#endif

/* 6.6: the attributes of a request for a dump are in its struct genl_info */
#if !OAE_HAS_DUMP_INFO
#define oae_dump_attrs(cb) (genl_dumpit_info(cb)->attrs)
#else
#define oae_dump_attrs(cb) (genl_dumpit_info(cb)->info.attrs)
#endif

#endif /* OAE_COMPAT_H */
