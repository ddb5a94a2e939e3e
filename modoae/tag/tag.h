/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tag: one link and its queues. A tag is looked up under RCU in node->tags,
 * counted by `ref` and freed after an RCU grace period. tag->lock, a BH lock,
 * protects the link and the queues.
 */
#ifndef OAE_TAG_H
#define OAE_TAG_H

#include "../base/base.h"
#include "../../include/uapi/oae.h"

struct oae_held;		/* region.c */
struct oae_verbs;		/* region.c */
struct oae_region;		/* region.c */
struct oae_tag_paths;		/* path.h */
struct vm_area_struct;
struct oae_ring_link;		/* ring.h */
struct oae_users;

/* Bits of OAE_EVENT_* in uapi/oae.h. */
#define OAE_EVENTS	8

/*
 * The key is hashed and compared as bytes, up to the end of @port, so there must
 * be no padding before that. With 32-bit pointers there may be padding after it.
 */
/* In the kid of a path: the address is behind the port's gateway. */
#define OAE_KID_VIA	BIT_ULL(48)

struct oae_tag_key {
	u64 kid;			/* vc << 56 | peer MAC; of an alias, OAE_KID_VIA */
	struct oae_port *port;
};

/**
 * struct oae_met - by which a SYNC finds a tag that comes from nowhere known: node->peers
 * @hash: there
 * @peer_inc: incarnation of the link's peer; 0: it is not there
 * @inc: incarnation of this end
 */
struct oae_met {
	struct rhash_head hash;
	u64 peer_inc;
	u64 inc;
};

/**
 * struct oae_inbox - what was delivered, and waits to be read: inbox.c
 * @q: its slices, see struct oae_rcv_cb; its lock is the inbox's
 * @n: transactions
 * @bytes: what all takes, and what readers keep: bytes, and OAE_SLICE_COST an skb. rcvbuf
 *	limits that
 * @since: since when the oldest is unread, and none before it was read; jiffies
 */
struct oae_inbox {
	struct sk_buff_head q;
	unsigned int n;
	u32 bytes;
	u32 since;
};

/**
 * struct oae_waits_view - what a link waits for, and what its peer may wait for here: tell.c
 * @why: enum oae_wait
 * @attached: a file is attached
 * @since: for so long, ns; 0 not known
 * @until: given up after that, ns; 0 never
 * @unread: transactions
 * @bytes: memory that these take, and what readers keep
 * @room: the knob rcvbuf, which limits @bytes
 * @idle: no transaction was read for so long though there is one, or a reader keeps one, ms
 * @holder: kid of the link that reserves the words which a verb of the peer waits for; 0 none
 */
struct oae_waits_view {
	u8 why;
	bool attached;
	u64 since;
	u64 until;
	u32 unread;
	u32 bytes;
	u32 room;
	u32 idle;
	u64 holder;
};

#define OAE_WAITS_TEXT	224

/**
 * struct oae_tag - one link and its queues
 */
struct oae_tag {
	struct rhash_head hash;
	struct oae_tag_key key;
	struct oae_node *node;
	refcount_t ref;
	spinlock_t lock;		/* all members down to `verbs` */
	bool dead;			/* out of the table */
	bool open;			/* counted: its link is not CLOSED */
	bool used;			/* used locally since the peer opened it */
	bool settling : 1;		/* counted in the port's nsettling */
	bool by_peer : 1;		/* the peer has opened the link */
	bool reopen : 1;		/* wanted since it is closing: opened again */
	bool doubt : 1;			/* OAE_EVENT_DOUBT was reported */
	bool stranger;			/* made for a stranger: counts in nstrangers */
	bool counted;			/* counts in ntags */
	/* Each frame looks at most of what is from here to the middle of the link. */
	u8 spare;			/* enum oae_spare: index into node->spare */
	bool unheard;			/* not yet reported to listeners */
	bool forlorn;			/* the link is down, and nothing would be lost with it */
	bool is_ready;			/* listed for noc_debug; under inbox.q.lock */
	u8 gw_ports;			/* pathlook.c: ports with a gateway, when last looked for */
	u8 told;			/* keepalive times since the peer is told of them */
	u8 tell_turn;			/* of which it is told next */
	struct oae_way way;
	u32 nlost;			/* times that committed data may be lost */
	struct oae_tag_paths *paths;	/* path.h; NULL: the own path is the only one */
	struct oae_met met;		/* alias.c */
	struct oae_users *users;	/* NULL: there was none. Set once */
	struct oae_port *doubt_at;	/* where it is listed as in doubt, or NULL */
	struct list_head doubt_list;	/* doubt_at->doubt; under its doubt_lock */
	struct list_head sndq;		/* oae_msg, not yet posted to the link */
	struct list_head flushq;	/* from both queues, about to be reversed */
	unsigned int nsnd;		/* in sndq, or flushq */
	u32 kept;			/* slices that are gathered or held */
	/* Slices gathered or held for the next number: oae_tag_slots(). */
	struct sk_buff *only;		/* the first slice, while @slot is not lent */
	struct sk_buff **slot;		/* table for all, or NULL: inbox.c */
	struct oae_inbox inbox;
	u64 nended[OAE_OUTCOME_END];	/* by enum oae_outcome */
	u64 ndelivered;
	struct hrtimer timer;
	struct oae_link link;
	u64 born;			/* local_clock() */
	u64 peer_id;			/* what the peer says its id is; 0 not known */
	u32 opening;			/* oae_opening_mark(), jiffies; 0 nobody opens the link */
	u32 accepted;			/* jiffies: opened by the peer */
	u32 paths_at;			/* when others were looked for; jiffies */
	u32 nhealed;			/* times that the link has resolved */
	u32 nrepaired;			/* frames lost, offered again without a freeze */
	u16 nhalf;			/* in users->halfq, or flushq; the knob sndq is the limit */
	u16 flush_err;			/* why flushq is reversed, positive errno */
	u32 spare_since;		/* jiffies; under spare_lock */
	unsigned int nconfirm;		/* callers that wait for confirmation */
	struct oae_verbs *verbs;	/* region.c; NULL: no verb came yet */
	/* not under the lock */
	struct list_head fresh;		/* node->fresh; under unclaimed_lock */
	union {
		struct list_head all;	/* node->all; under all_lock */
		struct rcu_head rcu;	/* without any reference */
	};
	union {				/* if is_ready, in either */
		struct llist_node ready;	/* node->ready */
		struct list_head reading;	/* node->reading; under unclaimed_lock */
	};
	struct list_head yield;		/* node->spare[spare]; under spare_lock */
};

/**
 * struct oae_users - what a tag has for those who use it here: users.c
 * @files: struct oae_client; changed under inbox.q.lock, too
 * @halfq: halves that are not yet posted to the link
 * @ringq: messages of a ring that are not yet posted to the link
 * @nring: in @ringq, or flushq
 * @ring_next: @ringq is next to post, if both it and sndq have something
 * @ring: the link on a ring, or NULL; RCU
 * @read_wait: files: something is unread
 * @write_wait: room in tag->sndq
 * @half_wait: room in @halfq
 * @confirm_wait: delivery is confirmed: fsync
 * @poll_wait: any of these: poll
 * @nevents: number of events reported to the files
 * @last_event: @nevents at the last event of each bit
 * @waited: what the link waited for when a transaction was last about to be reversed
 * @tag: whose these are
 * @guess: on node->guesses: its port is a guess; under guess_lock, too
 * @by_kid: then: in node->guesses_by_kid, unless there was no memory
 * @kid: then: the tag's
 * @whole: somebody has given all of its address, not only 24 bits
 * @port_named: it is none: somebody has named the port
 * @swaps: lent to the link
 *
 * Under tag->lock, but for the wait queues.
 */
struct oae_users {
	struct list_head files;
	struct list_head halfq;
	struct list_head ringq;
	u32 nring;
	bool ring_next;
	struct oae_ring_link __rcu *ring;
	wait_queue_head_t read_wait;
	wait_queue_head_t poll_wait;
	wait_queue_head_t write_wait;
	wait_queue_head_t half_wait;
	wait_queue_head_t confirm_wait;
	u64 nevents;
	u64 last_event[OAE_EVENTS];
	struct oae_waits_view waited;
	struct oae_tag *tag;
	struct list_head guess;
	struct rhlist_head by_kid;
	u64 kid;
	bool whole;
	bool port_named;
	struct oae_swaps swaps;
};

/* A place of the link's window, and the slices gathered or held in it. */
struct oae_tag_place {
	struct oae_pair pair;
	struct oae_held *held;
	struct sk_buff *slot[OAE_MAX_SLICES];
};

/* The slices gathered or held for a number of the peer. Under tag->lock. */
static inline struct sk_buff **oae_tag_slots(struct oae_tag *tag, u32 seq)
{
	struct oae_pair *pair = oae_link_place(&tag->link, seq);

	if (unlikely(pair))
		return container_of(pair, struct oae_tag_place, pair)->slot;
	return unlikely(tag->slot) ? tag->slot : &tag->only;
}

/* How many slices oae_tag_slots() has room for. Under tag->lock. */
static inline unsigned int oae_tag_nslots(const struct oae_tag *tag)
{
	return oae_link_places(&tag->link, NULL) || tag->slot ? OAE_MAX_SLICES : 1;
}

/* Ordered streams of a client: one of messages and verbs, one of swaps. */
#define OAE_STREAMS	2

/**
 * struct oae_stream - a client's transactions that are not yet collected
 * @txns: struct oae_txn, by number
 * @pending: those that have not ended, in the same order
 * @ready: number of ended transactions before the first of @pending: these can
 *	be collected
 *
 * Each pending transaction counts the ended ones between itself and the next
 * pending one in oae_txn.ready. So @ready is updated without a walk over @txns.
 */
struct oae_stream {
	struct rb_root_cached txns;
	struct list_head pending;
	u32 ready;
};

/**
 * struct oae_client - a tag's view of a file of /dev/oae
 * @queue: the most transactions that the file may queue, READ_ONCE()
 * @queue_bytes: the most bytes in them, 0 no limit, READ_ONCE()
 * @wait: outcomes and events
 * @room_wait: writers that wait for room in the file's queue
 * @list: on oae_users.files
 * @stream: transactions that are not collected
 * @due: transactions that @timer reverses, struct oae_txn by deadline
 * @next_id: number of the next transaction
 * @nqueued: number of transactions on the streams
 * @nbytes: their payload, bytes
 * @npending: how many of them have not ended
 * @events: OAE_EVENT_* that OAE_STATUS could not copy out, still to be reported
 * @nevents: oae_users.nevents at the last OAE_STATUS
 * @nlost: tag->nlost at the last fsync
 * @waited: what the link waited for when a transaction of the file was last reversed, or not
 *	even queued
 * @timer: the earliest deadline of the transactions that no call waits for
 * @timer_at: ktime that @timer is armed for, ns; 0 not armed
 *
 * @list and all members after it are under tag->lock.
 */
struct oae_client {
	u32 queue;
	u32 queue_bytes;
	wait_queue_head_t wait;
	wait_queue_head_t room_wait;
	struct list_head list;
	struct oae_stream stream[OAE_STREAMS];
	struct timerqueue_head due;
	u64 next_id;
	unsigned int nqueued;
	size_t nbytes;
	unsigned int npending;
	u32 events;
	u64 nevents;
	u32 nlost;
	struct oae_waits_view waited;
	struct hrtimer timer;
	u64 timer_at;
};

/* In skb->cb of each slice that is gathered or held. */
struct oae_kept_cb {
	u64 hash;		/* of OAE_OP_KEEP */
};

#define OAE_KEPT_CB(skb)	((struct oae_kept_cb *)(skb)->cb)

/**
 * struct oae_rcv_cb - in skb->cb of each slice in an inbox
 * @nslices: of the first slice: number of slices; of others: 0
 * @len: of the first slice, as all that follows: bytes of the transaction
 * @number: of the transaction, among all that were delivered
 * @off: a pack: where the next message is; @len and @number are of that
 * @pack_n: a pack: how many messages are unread; 0: it is no pack
 * @pack_at: a pack: index of the next message
 * @kept: it takes room though it was taken
 * @left: no slice: it stands for what a ring left; else NULL
 */
struct oae_rcv_cb {
	u32 nslices;
	u32 len;
	u32 number;
	u32 off;
	u8 pack_n;
	u8 pack_at;
	bool kept;
	struct oae_ring_link *left;
};

#define OAE_RCV_CB(skb)	((struct oae_rcv_cb *)(skb)->cb)

/* Look at a tag or its clients outside of an event. Any context but hard interrupts. */
static inline void oae_tag_lock(struct oae_tag *tag)
	__acquires(&tag->lock)
{
	spin_lock_bh(&tag->lock);
}

static inline void oae_tag_unlock(struct oae_tag *tag)
	__releases(&tag->lock)
{
	spin_unlock_bh(&tag->lock);
}

/* What there is for users; NULL: there never was one. May be read without the lock. */
static inline struct oae_users *oae_tag_users(const struct oae_tag *tag)
{
	/* Pairs with the smp_store_release() in oae_users_make(). */
	return READ_ONCE(tag->users);
}

/* Is a file attached? Without the lock the answer is a hint. */
static inline bool oae_tag_attached(const struct oae_tag *tag)
{
	const struct oae_users *u = oae_tag_users(tag);

	return u && !list_empty(&u->files);
}

/* The queue that a message of a call waits on until the link takes it. A half is from a file. */
static inline struct list_head *oae_tag_queue(struct oae_tag *tag,
					      const struct oae_msg *msg)
{
	return msg->post.kind == OAE_SWAP ? &tag->users->halfq : &tag->sndq;
}

/* The length of that queue. */
static inline unsigned int oae_tag_nqueued(const struct oae_tag *tag,
					   const struct oae_msg *msg)
{
	return msg->post.kind == OAE_SWAP ? tag->nhalf : tag->nsnd;
}

/* A message has come to it (@n is 1), or to flushq, or has left both (-1). */
static inline void oae_tag_count_queued(struct oae_tag *tag, const struct oae_msg *msg,
					int n)
{
	if (unlikely(msg->post.kind == OAE_SWAP))
		oae_add(&tag->nhalf, n);
	else if (unlikely(msg->txn.ring))
		tag->users->nring += n;
	else
		oae_add(&tag->nsnd, n);
}

/* All that is queued and not yet posted to the link. */
static inline unsigned int oae_tag_queued(const struct oae_tag *tag)
{
	return tag->nsnd + tag->nhalf + (tag->users ? tag->users->nring : 0);
}

/* The stream that @msg belongs to. */
static inline struct oae_stream *oae_client_stream(struct oae_client *c,
						   const struct oae_msg *msg)
{
	return &c->stream[msg->post.kind == OAE_SWAP];
}

static inline struct oae_msg *oae_txn_msg(struct oae_txn *txn)
{
	return container_of(txn, struct oae_msg, txn);
}

/* The first transaction of a stream, or NULL. It can be collected if it has ended. */
static inline struct oae_txn *oae_stream_first(const struct oae_stream *s)
{
	return rb_entry_safe(rb_first_cached(&s->txns), struct oae_txn, node);
}

/* May the client queue one more? The last one queued may exceed @queue_bytes. */
static inline bool oae_client_room(const struct oae_client *c)
{
	u32 bytes = READ_ONCE(c->queue_bytes);

	return READ_ONCE(c->nqueued) < READ_ONCE(c->queue) &&
	       (!bytes || READ_ONCE(c->nbytes) < bytes);
}

/* How a transaction is taken: oae_inbox_take(). */
#define OAE_TAKE_KEEP	0x01	/* it takes room until oae_inbox_done() */
#define OAE_TAKE_PACK	0x02	/* a pack as it is, if all that is unread of it fits */

/* How many are unread? Without the lock a hint. */
static inline unsigned int oae_inbox_count(const struct oae_tag *tag)
{
	return READ_ONCE(tag->inbox.n);
}

/* What people are shown of a path: oae_path_show(). */
struct oae_path_view {
	char port[IFNAMSIZ];
	u8 mac[ETH_ALEN];
	const char *state;
	const char *rank;
	const char *why;	/* of the path in use: why it is */
	bool used;
	bool via;
	u8 gw[ETH_ALEN];	/* the gateway that it goes through, if @via */
	u16 mtu;
	unsigned int loss;	/* of 100000 frames */
	u64 rtt;		/* ns; 0 unmeasured */
	u64 used_at;		/* local_clock() */
};

/* Channel and address by which a path is found: whence a frame came, and how. */
static inline u64 oae_path_kid(u64 kid, const struct oae_frame *f)
{
	return f->flags & OAE_F_VIA ? kid | OAE_KID_VIA : kid;
}

/* table.c: which links there are */
u64 oae_kid(u8 vc, const u8 mac[ETH_ALEN]);
void oae_kid_mac(u64 kid, u8 mac[ETH_ALEN]);
void oae_tag_put(struct oae_tag *tag);
struct oae_tag *oae_tag_find(struct oae_port *port, u64 kid);
struct oae_tag *oae_tag_of_frame(struct oae_port *port, u64 kid);
void oae_tags_for_each(struct oae_node *node, const struct oae_port *port,
		       void (*fn)(struct oae_tag *tag, long arg), long arg);
int oae_tags_init(struct oae_node *node,
		  enum hrtimer_restart (*timer)(struct hrtimer *timer),
		  void (*free)(struct oae_tag *tag));
void oae_tags_exit(struct oae_node *node);
int oae_tags_start(void);
void oae_tags_stop(void);

/* run.c: events of a link */
void oae_run_wake_verbs(struct list_head *tags);
void oae_tag_rcv(struct oae_tag *tag, struct sk_buff *skb,
		 struct oae_frame *f, unsigned int path);
enum hrtimer_restart oae_tag_timer(struct hrtimer *timer);

/* life.c: opening, closing, changes of the port */
void oae_tag_free(struct oae_tag *tag);
void oae_tag_gave_up(struct oae_tag *tag);
void oae_tag_not_opened(struct oae_tag *tag);
void oae_tag_accept(struct oae_tag *tag, const struct oae_frame *sync);
int oae_tag_want(struct oae_tag *tag);
void oae_tag_unwant(struct oae_tag *tag, bool close);
bool oae_tag_met(struct oae_tag *tag);
bool oae_tag_by_peer(struct oae_tag *tag);
void oae_tag_close(struct oae_tag *tag);
void oae_tag_kill(struct oae_tag *tag, long err);
void oae_tag_drop_unread(struct oae_tag *tag);
void oae_tag_settle(struct oae_tag *tag, long ns);
void oae_tag_port(struct oae_tag *tag, long arg);
void oae_tag_port_mtu(struct oae_tag *tag, long arg);
void oae_tag_about(struct oae_tag *tag, const struct oae_about *about);
u64 oae_doubt_until(void);
void oae_doubt_leave(struct oae_port *port, u64 until);
void oae_doubt_stays(struct oae_port *port);

/* peer.c: one link to a peer and channel, whichever of its addresses is known */
void oae_path_rcv(struct oae_port *port, const u8 *from, const u8 *by, const struct oae_frame *f);
bool oae_path_strange(const struct oae_tag *tag, unsigned int index,
		      const struct oae_frame *f);
struct oae_tag *oae_tag_make(struct oae_port *port, u64 kid, bool stranger, gfp_t gfp);
bool oae_tags_to(struct oae_port *port, const u8 *mac);
struct oae_tag *oae_peer_tag(struct oae_port *port, u64 kid);
struct oae_tag *oae_peer_tag_now(struct oae_port *port, u64 kid, bool more);
int oae_peer_claim(struct oae_port *port, u64 kid, const struct oae_frame *f,
		   bool *none);
bool oae_peer_begin(struct oae_tag *tag, struct oae_port *port, u64 kid,
		    const struct oae_frame *f);

/* guess.c: tags whose port is a guess */
bool oae_guess_add(struct oae_tag *tag, const struct oae_addr *addr);
bool oae_guess_addr(struct oae_tag *tag, struct oae_addr *addr, u8 *vc);
bool oae_guess_any(struct oae_node *node);
struct oae_tag *oae_guess_of(struct oae_node *node, u64 kid);
int oae_guesses_make(struct oae_node *node);
void oae_guesses_exit(struct oae_node *node);
void oae_guesses_for_each(struct oae_node *node, void (*fn)(struct oae_tag *tag));

/* post.c: what programs have a tag do */
int oae_tag_send(struct oae_tag *tag, struct oae_msg *msg);
int oae_room_send(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
		  long *left);
int oae_tag_cancel(struct oae_tag *tag, struct oae_msg *msg, int err);
void oae_tag_cancel_queued(struct oae_tag *tag, struct oae_msg *const *msg,
			   unsigned int n, int err);
void oae_tag_confirming(struct oae_tag *tag, int waiters);
int oae_tag_attach(struct oae_tag *tag, struct oae_client *c, const struct oae_addr *addr,
		   const struct oae_port *port, u64 kid, bool open);
void oae_tag_detach(struct oae_tag *tag, struct oae_client *c);

/* inbox.c: transactions that were delivered */
unsigned int oae_inbox_len(struct oae_tag *tag);
int oae_inbox_take(struct oae_tag *tag, const struct oae_client *c, size_t max, unsigned int how,
		   struct sk_buff **skb);
void oae_inbox_done(struct oae_tag *tag, const struct sk_buff *skb);
void oae_inbox_give_back(struct oae_tag *tag, struct sk_buff *skb);

/* room.c: writers that wait for room */
bool oae_room(const struct oae_tag *tag, const struct oae_client *c, bool swap);
void oae_room_client(struct oae_tag *tag, struct oae_client *c);

/* users.c: who uses a tag here, and who might */
int oae_users_start(void);
void oae_users_stop(void);
void oae_unclaimed_init(struct oae_node *node);
void oae_fresh_add(struct oae_tag *tag);
struct oae_tag *oae_unclaimed_next(struct oae_node *node);
bool oae_unclaimed_any(const struct oae_node *node);

/* client.c: a tag's view of its files */
void oae_client_init(struct oae_client *c);
struct oae_txn *oae_stream_below(const struct oae_stream *s, u64 id);
void oae_client_time(struct oae_client *c, struct oae_txn *txn);
unsigned int oae_client_due(struct oae_client *c, u64 now, u64 again,
			    struct oae_msg **msg, unsigned int max);
void oae_client_collected(struct oae_client *c, struct oae_msg *msg);
void oae_client_restored(struct oae_client *c, struct oae_msg *msg);
u32 oae_client_uncollected(const struct oae_client *c);
u32 oae_client_events(const struct oae_client *c, const struct oae_tag *tag);

/* tell.c: outcomes, notes, waking, and what a link waits for */
void oae_tell_writers(struct oae_tag *tag);
void oae_waits_look(struct oae_tag *tag, struct oae_waits_view *v);
const char *oae_waits_word(const struct oae_waits_view *v);
void oae_waits_text(const struct oae_waits_view *v, char *buf, size_t size);

/* region.c: words exposed to the verbs of peers */
struct oae_region *oae_region_make(struct oae_node *node,
				   const struct oae_expose *e,
				   const struct oae_tag *tag,
				   const struct oae_port *port, u64 kid,
				   u64 kid_mask);
int oae_region_mmap(struct oae_region *r, struct vm_area_struct *vma);
int oae_region_local(struct oae_region *r, const u8 *req, size_t len,
		     u8 *answer, size_t *answer_len);
void oae_region_close(struct oae_region *r, void (*ready)(struct list_head *tags));

/* alias.c: where paths lead */
struct oae_tag *oae_path_find(struct oae_port *port, u64 kid, unsigned int *index);
struct oae_tag *oae_path_proven(struct oae_port *port, u64 kid);
struct oae_tag *oae_path_of_peer(struct oae_node *node, u64 peer_inc);
struct oae_tag *oae_path_of_pair(struct oae_node *node, u64 inc, u64 peer_inc);
int oae_path_rank(struct oae_tag *tag, const struct oae_port *port, const u8 *mac,
		  enum oae_path_rank rank);
bool oae_path_show(struct oae_tag *tag, unsigned int i, struct oae_path_view *v);
int oae_aliases_make(struct oae_node *node);
void oae_aliases_exit(struct oae_node *node);

/* pathlook.c: paths come and go */
void oae_path_address_before(struct oae_tag *tag, long arg);
void oae_path_address(struct oae_tag *tag, long arg);
bool oae_path_move(struct oae_tag *tag);
void oae_guess_move(struct oae_tag *tag, struct oae_port *port, u64 kid);
void oae_path_about(struct oae_port *port, u64 kid, const struct oae_about *about);

#endif /* OAE_TAG_H */
