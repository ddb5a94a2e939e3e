/* SPDX-License-Identifier: GPL-2.0 */
/* dev: open files of /dev/oae, sending and waiting, and the file noc_debug. */
#ifndef OAE_DEV_H
#define OAE_DEV_H

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>

#include "../net/net.h"

struct iov_iter;
struct oae_ring_link;
struct oae_rings;
struct proc_dir_entry;

/**
 * struct oae_file - an open file of /dev/oae
 * @net: the opener's namespace, a reference
 * @setup: serialises attaching, setting options and exposing
 * @tag: the tag, a reference; set once, read with oae_file_tag()
 * @listening: the file listens instead of being attached; set once
 * @port: @listening: the port, a reference; NULL any
 * @kid: @listening: the key id
 * @kid_mask: @listening: the bits of @kid that count
 * @port_name: of a listening file: the name of its port; "" every port
 * @opt: options; written under @setup, read with READ_ONCE()
 * @region: the words that the file exposes; set once
 * @taken: with OAE_OPT_TAKE, what the last read gave: the slices, linked by ->next; NULL
 *	nothing. Exchanged
 * @rings: of this file; set once
 * @on: the link of this file on a ring, its own or another file's. Changed under @setup
 * @pool: memory for short messages
 * @client: the tag's view of the file: its transactions and events
 * @rcu: for kfree_rcu()
 */
struct oae_file {
	struct net *net;
	struct mutex setup;	/* the outermost lock */
	struct oae_tag *tag;
	bool listening;
	struct oae_port *port;
	u64 kid;
	u64 kid_mask;
	char port_name[IFNAMSIZ];
	struct oae_options opt;
	struct oae_region *region;
	struct sk_buff *taken;
	struct oae_rings *rings;
	struct oae_ring_link *on;
	struct oae_pool pool;
	struct oae_client client;
	struct rcu_head rcu;
};

/*
 * Look for @cond again and again before a call sleeps, for @us microseconds at most. A single
 * processor has better things to do.
 */
#define oae_spin(us, cond)							\
	do {									\
		u64 oae_until = local_clock() + (u64)(us) * NSEC_PER_USEC;	\
										\
		while (num_online_cpus() > 1 && !(cond) && !need_resched() &&	\
		       !signal_pending(current) &&				\
		       (s64)(oae_until - local_clock()) > 0)			\
			cpu_relax();						\
	} while (0)

static inline struct oae_node *oae_file_node(const struct oae_file *f)
{
	return oae_node(f->net);
}

/* The tag of an attached file; else ERR_PTR(-EDESTADDRREQ) or (-ENOTCONN). */
static inline struct oae_tag *oae_file_tag(const struct oae_file *f)
{
	/* Pairs with the smp_store_release() in file_attach(). */
	struct oae_tag *tag = smp_load_acquire(&f->tag);

	if (likely(tag))
		return tag;
	/* Pairs with the smp_store_release() in oae_listen_start(). */
	return ERR_PTR(smp_load_acquire(&f->listening) ? -EDESTADDRREQ :
							 -ENOTCONN);
}

/* listen.c */
int oae_listen_start(struct oae_file *f, const struct oae_attach *a);
ssize_t oae_listen_read(struct oae_file *f, struct iov_iter *to,
			bool nonblock);
unsigned int oae_listen_count(struct oae_file *f);
bool oae_listen_dead(const struct oae_file *f);

/* io.c */
ssize_t oae_file_write_iter(struct kiocb *iocb, struct iov_iter *from);
ssize_t oae_file_read_iter(struct kiocb *iocb, struct iov_iter *to);
int oae_file_fsync(struct file *file, loff_t start, loff_t end, int datasync);
int oae_file_fionread(struct oae_file *f, int __user *arg);
int oae_file_done(struct oae_file *f);
size_t oae_read_copy(const struct sk_buff *skb, size_t off, struct iov_iter *to);
void oae_read_free(struct sk_buff *skb);

/* send.c */
struct oae_msg *oae_send_msg(struct oae_pool *pool, struct iov_iter *from);
struct oae_msg *oae_send_bytes(struct oae_pool *pool, const u8 *from, size_t len);
long oae_send_within(struct oae_msg *msg, u32 ms);
int oae_send_transact(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
		      long *left, u32 spin_us);
int oae_file_transact(struct oae_file *f, struct oae_tag *tag,
		      struct oae_msg *msg, bool nonblock);

/* outcome.c */
int oae_file_collect(struct oae_file *f, struct oae_collect __user *arg);
int oae_file_cancel(struct oae_file *f, const u64 __user *arg);
int oae_file_cancel_all(struct oae_file *f, struct oae_tag *tag, int err,
			bool swaps_only);
bool oae_file_leave(struct oae_tag *tag, struct oae_msg *msg);
void oae_file_restore(struct oae_tag *tag, struct oae_msg *msg);
int oae_file_untold(struct oae_tag *tag, struct oae_msg *msg, bool nonblock);
enum hrtimer_restart oae_file_timer(struct hrtimer *timer);

/* ring.c */
int oae_ring_ioctl_make(struct oae_file *f, struct oae_ring __user *arg);
int oae_ring_ioctl_add(struct oae_file *f, struct oae_ring_add __user *arg);
void oae_ring_options(struct oae_file *f);
void oae_ring_release(struct oae_file *f);
bool oae_ring_is_area(unsigned long pgoff);
int oae_ring_mmap(struct oae_file *f, struct vm_area_struct *vma);
int oae_ring_bell(struct oae_file *f, const struct oae_bell __user *arg);
__poll_t oae_ring_poll(struct oae_file *f);
void oae_ring_show(const struct oae_file *f, struct seq_file *m);
bool oae_ring_busy(struct oae_file *f);

/* swap.c */
int oae_file_swap(struct oae_file *f, struct oae_swap __user *arg,
		  bool nonblock);
int oae_skb_to_user(struct sk_buff *skb, void __user *to);

/* verb.c */
int oae_file_expose(struct oae_file *f, const void __user *arg);
int oae_file_mmap(struct oae_file *f, struct vm_area_struct *vma);
int oae_file_verb(struct oae_file *f, struct oae_verb __user *arg,
		  bool nonblock);
int oae_file_local(struct oae_file *f, struct oae_verb __user *arg);
u32 oae_verb_result_len(const struct oae_msg *msg);
int oae_verb_put_result(const struct oae_msg *msg,
			struct oae_verb_result __user *to);

/* file.c */
struct oae_file *oae_file_of(struct file *file);
extern struct miscdevice oae_chardev;

/* noc_debug.c */
int oae_noc_proc_make(struct oae_node *node, struct proc_dir_entry *dir);
void oae_noc_purge(struct oae_node *node);
void oae_debugfs_init(void);
void oae_debugfs_exit(void);

#endif /* OAE_DEV_H */
