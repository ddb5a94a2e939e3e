/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations that fail on demand: included before everything else (gcc -include)
 * when the modules are built for `make starve`, and never otherwise.
 *
 * Each call of a function below is a site: it stands in the section .starve of its
 * module, and asks oaestarve.ko every time whether it shall fail. If so, it does
 * what the function does when there is no memory, and the function is not called.
 */
#ifndef OAE_STARVE_H
#define OAE_STARVE_H

#include <linux/types.h>

/**
 * struct starve_site - a call that may fail
 * @module: where it is
 * @file: in which file
 * @function: in which function
 * @call: what is called there
 * @line: on which line
 * @number: set by oaestarve.ko once it knows the site
 */
struct starve_site {
	const char *module;
	const char *file;
	const char *function;
	const char *call;
	unsigned int line;
	unsigned int number;
};

struct sk_buff;

bool starve_fails(struct starve_site *site, struct starve_site *first,
		  struct starve_site *end);
struct sk_buff *starve_moved(struct sk_buff *skb);

#ifndef OAE_STARVE_SWITCH

/* As those files have it that say so themselves, which may come too late. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/* Whatever declares, or calls in a header, what has another meaning below. */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/addrconf.h>
#include <net/dst_cache.h>
#include <net/genetlink.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>

/* Around the section: sites.lds. Weak, for modpost looks before that is used. */
extern struct starve_site __start_starve[] __weak;
extern struct starve_site __stop_starve[] __weak;

#define STARVE(_call)							\
({									\
	static struct starve_site __site				\
		__used __aligned(8) __section(".starve") = {		\
		.module = KBUILD_MODNAME,				\
		.file = __FILE__,					\
		.function = __func__,					\
		.call = _call,						\
		.line = __LINE__,					\
	};								\
	starve_fails(&__site, __start_starve, __stop_starve);		\
})

/*
 * Some are macros in some kernels, so each is called by another name; what gets
 * the file and line of its caller in those gets ours.
 */
static inline void *starve_kmalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp);
}

static inline void *starve_kzalloc(size_t size, gfp_t gfp)
{
	return kzalloc(size, gfp);
}

static inline void *starve_kmem_cache_zalloc(struct kmem_cache *cache, gfp_t gfp)
{
	return kmem_cache_zalloc(cache, gfp);
}

static inline struct kmem_cache *starve_kmem_cache_create(const char *name, unsigned int size,
							  unsigned int align, slab_flags_t flags,
							  void (*ctor)(void *object))
{
	return kmem_cache_create(name, size, align, flags, ctor);
}

static inline void *starve_netdev_alloc_frag(unsigned int size)
{
	return netdev_alloc_frag(size);
}

static inline void *starve_kcalloc(size_t n, size_t size, gfp_t gfp)
{
	return kcalloc(n, size, gfp);
}

static inline void *starve_kvmalloc(size_t size, gfp_t gfp)
{
	return kvmalloc(size, gfp);
}

static inline void *starve_kvzalloc(size_t size, gfp_t gfp)
{
	return kvzalloc(size, gfp);
}

static inline void *starve_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return kvcalloc(n, size, gfp);
}

static inline void *starve_kvmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return kvmalloc_array(n, size, gfp);
}

static inline void *starve_kmemdup(const void *from, size_t size, gfp_t gfp)
{
	return kmemdup(from, size, gfp);
}

static inline char *starve_kstrdup(const char *from, gfp_t gfp)
{
	return kstrdup(from, gfp);
}

static inline void *starve___vmalloc(unsigned long size, gfp_t gfp)
{
	return __vmalloc(size, gfp);
}

static inline struct page *starve_alloc_page(gfp_t gfp)
{
	return alloc_page(gfp);
}

static inline struct page *starve_alloc_pages(gfp_t gfp, unsigned int order)
{
	return alloc_pages(gfp, order);
}

static inline struct sk_buff *starve_alloc_skb(unsigned int size, gfp_t gfp)
{
	return alloc_skb(size, gfp);
}

static inline int starve_rhltable_init(struct rhltable *table,
				       const struct rhashtable_params *params)
{
	return rhltable_init(table, params);
}

static inline int starve_rhashtable_init(struct rhashtable *table,
					 const struct rhashtable_params *params)
{
	return rhashtable_init(table, params);
}

static inline struct net_device *
starve_alloc_netdev_mqs(int size, const char *name, unsigned char type,
			void (*setup)(struct net_device *dev), unsigned int tx, unsigned int rx)
{
	return alloc_netdev_mqs(size, name, type, setup, tx, rx);
}

static inline struct workqueue_struct *
starve_alloc_workqueue(const char *name, unsigned int flags, int most)
{
	return alloc_workqueue("%s", flags, most, name);
}

static inline struct dentry *
starve_debugfs_create_file(const char *name, umode_t mode,
			   struct dentry *parent, void *data,
			   const struct file_operations *fops)
{
	return debugfs_create_file(name, mode, parent, data, fops);
}

#define STARVE_POINTER(_call, ...)					\
	(STARVE(#_call) ? NULL : starve_##_call(__VA_ARGS__))

#undef kmalloc
#define kmalloc(...)	STARVE_POINTER(kmalloc, __VA_ARGS__)
#undef kzalloc
#define kzalloc(...)	STARVE_POINTER(kzalloc, __VA_ARGS__)
#undef kmem_cache_zalloc
#define kmem_cache_zalloc(...)	STARVE_POINTER(kmem_cache_zalloc, __VA_ARGS__)
#undef kmem_cache_create
#define kmem_cache_create(...)	STARVE_POINTER(kmem_cache_create, __VA_ARGS__)
#undef netdev_alloc_frag
#define netdev_alloc_frag(...)	STARVE_POINTER(netdev_alloc_frag, __VA_ARGS__)
#undef kcalloc
#define kcalloc(...)	STARVE_POINTER(kcalloc, __VA_ARGS__)
#undef kvmalloc
#define kvmalloc(...)	STARVE_POINTER(kvmalloc, __VA_ARGS__)
#undef kvzalloc
#define kvzalloc(...)	STARVE_POINTER(kvzalloc, __VA_ARGS__)
#undef kvcalloc
#define kvcalloc(...)	STARVE_POINTER(kvcalloc, __VA_ARGS__)
#undef kvmalloc_array
#define kvmalloc_array(...)	STARVE_POINTER(kvmalloc_array, __VA_ARGS__)
#undef kmemdup
#define kmemdup(...)	STARVE_POINTER(kmemdup, __VA_ARGS__)
#undef kstrdup
#define kstrdup(...)	STARVE_POINTER(kstrdup, __VA_ARGS__)
#undef __vmalloc
#define __vmalloc(...)		STARVE_POINTER(__vmalloc, __VA_ARGS__)
#undef alloc_page
#define alloc_page(...)	STARVE_POINTER(alloc_page, __VA_ARGS__)
#undef alloc_pages
#define alloc_pages(...)	STARVE_POINTER(alloc_pages, __VA_ARGS__)
#undef alloc_skb
#define alloc_skb(...)	STARVE_POINTER(alloc_skb, __VA_ARGS__)

#undef alloc_netdev_mqs
#define alloc_netdev_mqs(...)	STARVE_POINTER(alloc_netdev_mqs, __VA_ARGS__)

#undef alloc_workqueue
#define alloc_workqueue(...)	STARVE_POINTER(alloc_workqueue, __VA_ARGS__)

#undef alloc_percpu
#define alloc_percpu(_type)						\
	(STARVE("alloc_percpu") ? NULL :				\
	 (typeof(_type) __percpu *)__alloc_percpu(sizeof(_type),	\
						  __alignof__(_type)))
#undef alloc_percpu_gfp
#define alloc_percpu_gfp(_type, _gfp)					\
	(STARVE("alloc_percpu_gfp") ? NULL :				\
	 (typeof(_type) __percpu *)__alloc_percpu_gfp(sizeof(_type),	\
						      __alignof__(_type), \
						      _gfp))

/* The skb goes, as if it had been shared and there were no memory for a clone. */
#define skb_share_check(_skb, ...)					\
({									\
	struct sk_buff *__skb = (_skb);					\
									\
	if (STARVE("skb_share_check")) {				\
		kfree_skb(__skb);					\
		__skb = NULL;						\
	} else {							\
		__skb = skb_share_check(__skb, __VA_ARGS__);		\
	}								\
	__skb;								\
})

/* The same when a device does not take it. */
#define dev_queue_xmit(_skb)						\
({									\
	struct sk_buff *__skb = (_skb);					\
	int __err = -ENOMEM;						\
									\
	if (STARVE("dev_queue_xmit"))					\
		kfree_skb(__skb);					\
	else								\
		__err = dev_queue_xmit(__skb);				\
	__err;								\
})

#define udp_sock_create(_net, _cfg, _sock)				\
({									\
	struct socket **__sock = (_sock);				\
	int __err = -ENOMEM;						\
									\
	if (STARVE("udp_sock_create"))					\
		*__sock = NULL;						\
	else								\
		__err = udp_sock_create(_net, _cfg, __sock);		\
	__err;								\
})

#define sock_create_kern(_net, _family, _type, _protocol, _sock)		\
({									\
	struct socket **__sock = (_sock);				\
	int __err = -ENOMEM;						\
									\
	if (STARVE("sock_create_kern"))					\
		*__sock = NULL;						\
	else								\
		__err = sock_create_kern(_net, _family, _type, _protocol, \
					 __sock);			\
	__err;								\
})

/* The others leave nothing behind when they fail. */
#define pskb_may_pull(_skb, ...)					\
	(!STARVE("pskb_may_pull") &&					\
	 pskb_may_pull(starve_moved(_skb), __VA_ARGS__))

#undef rhltable_init
#define rhltable_init(...)						\
	(STARVE("rhltable_init") ? -ENOMEM :				\
	 starve_rhltable_init(__VA_ARGS__))
#undef rhashtable_init
#define rhashtable_init(...)						\
	(STARVE("rhashtable_init") ? -ENOMEM :				\
	 starve_rhashtable_init(__VA_ARGS__))

#undef debugfs_create_file
#define debugfs_create_file(...)					\
	(STARVE("debugfs_create_file") ? ERR_PTR(-ENOMEM) :		\
	 starve_debugfs_create_file(__VA_ARGS__))

#define STARVE_NULL(_call, ...)						\
	(STARVE(#_call) ? NULL : _call(__VA_ARGS__))

#define genlmsg_new(...)	STARVE_NULL(genlmsg_new, __VA_ARGS__)
#define vmap(...)		STARVE_NULL(vmap, __VA_ARGS__)
#define __seq_open_private(...)	STARVE_NULL(__seq_open_private, __VA_ARGS__)
#define proc_create(...)	STARVE_NULL(proc_create, __VA_ARGS__)
#define proc_create_data(...)	STARVE_NULL(proc_create_data, __VA_ARGS__)
#define proc_create_net_data(...)					\
	STARVE_NULL(proc_create_net_data, __VA_ARGS__)
#define proc_create_net_data_write(...)					\
	STARVE_NULL(proc_create_net_data_write, __VA_ARGS__)
#define proc_create_net_single(...)					\
	STARVE_NULL(proc_create_net_single, __VA_ARGS__)
#define proc_net_mkdir(...)	STARVE_NULL(proc_net_mkdir, __VA_ARGS__)

#define STARVE_ERROR(_call, ...)					\
	(STARVE(#_call) ? -ENOMEM : _call(__VA_ARGS__))

#define dev_hard_header(...)	STARVE_ERROR(dev_hard_header, __VA_ARGS__)
#define dst_cache_init(...)	STARVE_ERROR(dst_cache_init, __VA_ARGS__)
#define genl_register_family(...)					\
	STARVE_ERROR(genl_register_family, __VA_ARGS__)
#define misc_register(...)	STARVE_ERROR(misc_register, __VA_ARGS__)
#define register_inet6addr_notifier(...)				\
	STARVE_ERROR(register_inet6addr_notifier, __VA_ARGS__)
#define register_inetaddr_notifier(...)					\
	STARVE_ERROR(register_inetaddr_notifier, __VA_ARGS__)
#define register_netdevice_notifier(...)				\
	STARVE_ERROR(register_netdevice_notifier, __VA_ARGS__)
#define register_netdevice(...)						\
	STARVE_ERROR(register_netdevice, __VA_ARGS__)
#define register_pernet_device(...)					\
	STARVE_ERROR(register_pernet_device, __VA_ARGS__)
#define rhltable_insert(...)						\
	STARVE_ERROR(rhltable_insert, __VA_ARGS__)
#define rhashtable_insert_fast(...)					\
	STARVE_ERROR(rhashtable_insert_fast, __VA_ARGS__)
#define rhashtable_lookup_insert_fast(...)				\
	STARVE_ERROR(rhashtable_lookup_insert_fast, __VA_ARGS__)
#define vm_insert_page(...)	STARVE_ERROR(vm_insert_page, __VA_ARGS__)
#define xa_insert(...)		STARVE_ERROR(xa_insert, __VA_ARGS__)
#define xa_insert_bh(...)	STARVE_ERROR(xa_insert_bh, __VA_ARGS__)

/* What these may move, they do when told to. */
#define STARVE_SKB(_call, _skb, ...)					\
	(STARVE(#_call) ? -ENOMEM :					\
	 _call(starve_moved(_skb), ##__VA_ARGS__))

#define iptunnel_pull_header(...) STARVE_SKB(iptunnel_pull_header, __VA_ARGS__)
#define pskb_trim(...)		STARVE_SKB(pskb_trim, __VA_ARGS__)
#define skb_cow_head(...)	STARVE_SKB(skb_cow_head, __VA_ARGS__)
#define skb_linearize(...)	STARVE_SKB(skb_linearize, __VA_ARGS__)

#define STARVE_ERR_PTR(_call, _err, ...)				\
	(STARVE(#_call) ? ERR_PTR(-(_err)) : _call(__VA_ARGS__))

#define debugfs_create_dir(...)						\
	STARVE_ERR_PTR(debugfs_create_dir, ENOMEM, __VA_ARGS__)
#define debugfs_create_file_unsafe(...)					\
	STARVE_ERR_PTR(debugfs_create_file_unsafe, ENOMEM, __VA_ARGS__)
#define ip_route_output_flow(...)					\
	STARVE_ERR_PTR(ip_route_output_flow, ENOBUFS, __VA_ARGS__)
#define ip6_dst_lookup_flow(...)					\
	STARVE_ERR_PTR(ip6_dst_lookup_flow, ENOMEM, __VA_ARGS__)

#endif /* OAE_STARVE_SWITCH */
#endif /* OAE_STARVE_H */
