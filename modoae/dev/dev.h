/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of /dev/oae share: an open file, and how a call sends and waits. */
#ifndef OAE_DEV_H
#define OAE_DEV_H

#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/rbtree.h>

#include "../net/net.h"
#include "../../include/uapi/oae.h"

struct iov_iter;

/* Of a file's transactions, those in a row: messages with verbs, and swaps. */
#define OAE_STREAMS	2

/**
 * struct oae_stream - transactions of a file that are not collected
 * @txns: struct oae_txn, by number
 * @pending: those that have not ended, in the same order
 * @ready: how many stand before the first of @pending: they can be collected
 *
 * Those that have ended stand in gaps between the pending, and each gap is
 * counted: oae_txn.ready. So nothing is walked over to know @ready.
 */
struct oae_stream {
	struct rb_root_cached txns;
	struct list_head pending;
	u32 ready;
};

/**
 * struct oae_file - an open file of /dev/oae
 * @net: the opener's namespace, a reference
 * @setup: one at a time attaches, sets options, exposes
 * @tag: the link it is an end of, a reference; set once, use oae_file_tag()
 * @listening: or it listens instead; set once
 * @port: @listening: on this port, a reference; NULL any
 * @kid: @listening: for this key id
 * @kid_mask: @listening: as far as these bits go
 * @port_name: of the port, from when it was attached
 * @opt: its options; written under @setup, read with READ_ONCE
 * @region: the words that it exposes; set once
 * @pool: short messages are taken from it
 * @wait: outcomes and events
 * @room_wait: writers, for room in its queue (room.c)
 * @list: on tag->files
 * @stream: its transactions that are not collected
 * @due: those that @timer is to reverse, struct oae_txn by deadline
 * @next_id: number of the next
 * @nqueued: how many are on its streams
 * @nbytes: bytes of them
 * @npending: how many of them have not ended
 * @events: OAE_EVENT_* that could not be told, and are there again
 * @nevents: tag->nevents as of when it has looked last
 * @nlost: tag->nlost as fsync has last seen it
 * @timer: the earliest deadline of what no call waits for
 * @timer_at: ktime that it is armed for, 0 not
 * @rcu: freed after it
 *
 * @list and what follows up to @timer_at is under tag->lock.
 */
struct oae_file {
	struct net *net;
	struct mutex setup;	/* first of all locks */
	struct oae_tag *tag;
	bool listening;
	struct oae_port *port;
	u64 kid;
	u64 kid_mask;
	char port_name[IFNAMSIZ];
	struct oae_options opt;
	struct oae_region *region;
	struct oae_pool pool;
	wait_queue_head_t wait;
	wait_queue_head_t room_wait;
	struct list_head list;
	struct oae_stream stream[OAE_STREAMS];
	struct rb_root_cached due;
	u64 next_id;
	unsigned int nqueued;
	size_t nbytes;
	unsigned int npending;
	u32 events;
	u64 nevents;
	u32 nlost;
	struct hrtimer timer;
	u64 timer_at;
	struct rcu_head rcu;
};

static inline struct oae_node *oae_file_node(const struct oae_file *f)
{
	return oae_node(f->net);
}

/* The tag of a file that is attached, or why there is none, as ERR_PTR. */
static inline struct oae_tag *oae_file_tag(const struct oae_file *f)
{
	/* The tag knows of the file, in full. */
	struct oae_tag *tag = smp_load_acquire(&f->tag);

	if (likely(tag))
		return tag;
	/* What it listens for was set before. */
	return ERR_PTR(smp_load_acquire(&f->listening) ? -EDESTADDRREQ :
							 -ENOTCONN);
}

/* Where @msg belongs. */
static inline struct oae_stream *oae_file_stream(struct oae_file *f,
						 const struct oae_msg *msg)
{
	return &f->stream[msg->post.kind == OAE_SWAP];
}

static inline struct oae_msg *oae_txn_msg(struct oae_txn *txn)
{
	return container_of(txn, struct oae_msg, txn);
}

/* The first of a stream, or NULL. It can be collected if it has ended. */
static inline struct oae_txn *oae_stream_first(const struct oae_stream *s)
{
	return rb_entry_safe(rb_first_cached(&s->txns), struct oae_txn, node);
}

/* May the file queue one more? What is there may pass the limit by one. */
static inline bool oae_file_room(const struct oae_file *f)
{
	u32 bytes = READ_ONCE(f->opt.queue_bytes);

	return READ_ONCE(f->nqueued) < READ_ONCE(f->opt.queue) &&
	       (!bytes || READ_ONCE(f->nbytes) < bytes);
}

/* client.c, under tag->lock */
void oae_file_init(struct oae_file *f);
bool oae_file_collectable(struct oae_file *f);
u32 oae_file_uncollected(const struct oae_file *f);
u32 oae_file_events(const struct oae_file *f, const struct oae_tag *tag);
struct oae_txn *oae_stream_below(const struct oae_stream *s, u64 id);
void oae_file_collected(struct oae_file *f, struct oae_msg *msg);
void oae_file_restored(struct oae_file *f, struct oae_msg *msg);
void oae_file_time(struct oae_file *f, struct oae_txn *txn);
unsigned int oae_file_due(struct oae_file *f, u64 now, u64 again,
			  struct oae_msg **msg, unsigned int max);

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

/* send.c */
struct oae_msg *oae_send_msg(struct oae_pool *pool, struct iov_iter *from);
long oae_send_within(struct oae_msg *msg, u32 ms);
int oae_send_transact(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
	     long *left);
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

/* swap.c */
int oae_file_swap(struct oae_file *f, struct oae_swap __user *arg,
		  bool nonblock);
int oae_skb_to_user(struct sk_buff *skb, void __user *to);

/* verb.c */
int oae_file_expose(struct oae_file *f, const void __user *arg);
int oae_file_mmap(struct file *file, struct vm_area_struct *vma);
int oae_file_verb(struct oae_file *f, struct oae_verb __user *arg,
		  bool nonblock);
int oae_file_local(struct oae_file *f, struct oae_verb __user *arg);
u32 oae_verb_result_len(const struct oae_msg *msg);
int oae_verb_put_result(const struct oae_msg *msg,
			struct oae_verb_result __user *to);

/* file.c */
int oae_chardev_init(void);
void oae_chardev_exit(void);

/* noc_debug.c */
void oae_debugfs_init(void);
void oae_debugfs_exit(void);

#endif /* OAE_DEV_H */
