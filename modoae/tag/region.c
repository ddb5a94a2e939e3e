// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: words that a program has exposed, and the verbs of peers on them
 * (doc/protocol.md section 4.10). What a verb does is link/verb.c's.
 *
 * A region is found by its number under RCU. It is counted: by whoever exposed
 * it, by each tag that holds a verb on it, and by each that waits for it. Its
 * lock is the one on the frame path that is wider than a tag's, for its words
 * are; it nests in tag->lock, and nothing is taken under it.
 */
#include "tag.h"

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <asm/shmparam.h>

#include "../link/verb.h"

#define WAKE_MAX	4	/* tags told that words are free, at a time */
#define WAKE_LOOK	32	/* of those who wait, how many are looked at */
#define REQ_KEPT	3072	/* bytes of a request that need no memory */

struct oae_region {
	struct oae_node *node;
	spinlock_t lock;		/* words, waiting */
	struct oae_words words;
	void *mem;			/* words.word is in it */
	struct list_head waiting;	/* struct oae_held, refused: CONFLICT */
	u32 id;
	u32 perm;
	const struct oae_port *port;	/* only compared; NULL any */
	u64 kid, kid_mask;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * struct oae_held - what a tag has to do with regions
 * @region: of the verb that it holds, NULL none
 * @taken: that verb's words are reserved
 * @yields: its next verb lets those pass who were waiting
 * @answer_len: bytes of its answer
 * @wait_list: in wait_for->waiting, under that one's lock; counts @tag then
 * @wait_for: where it is listed, or was; NULL nowhere
 * @wait_word: the word that was reserved; under that lock
 * @tag: whose this is
 * @answer: to the verb that it holds
 * @req: that verb, if it is not longer
 */
struct oae_held {
	struct oae_region *region;
	bool taken;
	bool yields;
	u16 answer_len;
	struct list_head wait_list;
	struct oae_region *wait_for;
	u32 wait_word;
	struct oae_tag *tag;
	u8 answer[OAE_VERB_ANSWER_MAX];
	u8 req[REQ_KEPT];
};

/* Between where words lie and where a program sees them, for the sake of caches. */
#define MAP_ALIGN	max_t(unsigned long, SHMLBA, PAGE_SIZE)

/*
 * The words that programs see. vmalloc_user() would do but for the memory cgroup,
 * which it does not count against.
 */
static bool region_words_alloc(struct oae_region *r, size_t size)
{
	size_t pages = PAGE_ALIGN(size) + MAP_ALIGN - PAGE_SIZE;

	r->mem = __vmalloc(pages, OAE_GFP_MAPPED | __GFP_ZERO);
	r->words.word = PTR_ALIGN(r->mem, MAP_ALIGN);
	return r->mem;
}

static void region_words_free(struct oae_words *w, void *mem)
{
	kvfree(w->next);
	kvfree(w->busy);
	vfree(mem);
}

static void region_put(struct oae_region *r)
{
	if (r && refcount_dec_and_test(&r->ref))
		kfree_rcu(r, rcu);
}

/**
 * oae_region_make() - expose words, all 0
 * @node: to peers of this node
 * @e: size, number and permissions, checked but for the number being free
 * @port: to those on this port; NULL any
 * @kid: and to those whose key id is this one,
 * @kid_mask: in these bits
 *
 * Context: process, may sleep.
 *
 * Return: the region; -EADDRINUSE the number is taken, -ENOMEM.
 */
struct oae_region *oae_region_make(struct oae_node *node,
				   const struct oae_expose *e,
				   const struct oae_port *port, u64 kid,
				   u64 kid_mask)
{
	struct oae_region *r = kzalloc(sizeof(*r), OAE_GFP_USER);
	u32 n = e->size / sizeof(u64);
	int err;

	if (!r)
		return ERR_PTR(-ENOMEM);
	r->node = node;
	spin_lock_init(&r->lock);
	INIT_LIST_HEAD(&r->waiting);
	refcount_set(&r->ref, 1);
	r->id = e->region;
	r->perm = e->perm;
	r->port = port;
	r->kid = kid & kid_mask;
	r->kid_mask = kid_mask;
	r->words.n = n;
	r->words.next = kvcalloc(n, sizeof(u64), OAE_GFP_USER);
	r->words.busy = kvcalloc(DIV_ROUND_UP(n, 64), sizeof(u64),
				 OAE_GFP_USER);
	err = -ENOMEM;
	if (region_words_alloc(r, e->size) && r->words.next && r->words.busy)
		err = xa_insert(&node->regions, e->region, r, GFP_KERNEL);
	if (err) {
		region_words_free(&r->words, r->mem);
		kfree(r);
		return ERR_PTR(err == -EBUSY ? -EADDRINUSE : err);
	}
	return r;
}

/**
 * oae_region_close() - no verb finds it any more
 * @r: the region; nobody maps it any more either
 *
 * Its words go at once: who holds a verb on it or waits for it, perhaps for ever,
 * keeps little. Context: process.
 */
void oae_region_close(struct oae_region *r)
{
	struct oae_words words;

	xa_erase(&r->node->regions, r->id);
	spin_lock_bh(&r->lock);
	words = r->words;
	memset(&r->words, 0, sizeof(r->words));
	spin_unlock_bh(&r->lock);
	region_words_free(&words, r->mem);
	region_put(r);
}

/**
 * oae_region_mmap() - show the words to a program
 * @r: the region
 * @vma: where, at offset 0; keeps whoever exposed it, and so the words
 *
 * Context: process, mmap lock held.
 *
 * Return: 0; -EINVAL more than there is; -ENOMEM.
 */
int oae_region_mmap(struct oae_region *r, struct vm_area_struct *vma)
{
	unsigned long pages = PFN_UP(r->words.n * sizeof(u64));
	unsigned long i, n = vma_pages(vma), from = vma->vm_pgoff;
	int err;

	if (from >= pages || n > pages - from)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		void *at = (void *)r->words.word + (from + i) * PAGE_SIZE;

		err = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE,
				     vmalloc_to_page(at));
		if (err)
			return err;
	}
	oae_vm_fixed(vma);
	return 0;
}

static int region_reason_errno(u16 reason)
{
	switch (reason) {
	case 0:
		return 0;
	case OAE_R_CONFLICT:
		return -EAGAIN;
	case OAE_R_RANGE:
		return -ERANGE;
	default:
		return -EINVAL;
	}
}

/**
 * oae_region_local() - a verb of whoever exposed the words; permitted all
 * @r: the region
 * @req: the request, as on the wire
 * @len: its bytes
 * @answer: room for OAE_VERB_ANSWER_MAX bytes
 * @answer_len: bytes of the answer
 *
 * Context: any but hard interrupts, no lock held.
 *
 * Return: 0; -EAGAIN some of the words are reserved; -ERANGE; -EINVAL.
 */
int oae_region_local(struct oae_region *r, const u8 *req, size_t len,
		     u8 *answer, size_t *answer_len)
{
	u16 reason, n = 0;

	spin_lock_bh(&r->lock);
	reason = oae_verb_compute(&r->words, ~0U, req, len, answer, &n);
	if (!reason && answer[OAE_ANSWER_OFF_TAKEN])
		oae_verb_apply(&r->words, req);
	spin_unlock_bh(&r->lock);
	*answer_len = n;
	return region_reason_errno(reason);
}

/* The region that this tag's peer may name so, and a reference. */
static struct oae_region *region_find(const struct oae_tag *tag, u32 id)
{
	struct oae_region *r;

	rcu_read_lock();
	r = xa_load(&tag->node->regions, id);
	if (r && ((r->port && r->port != tag->key.port) ||
		  (tag->key.kid & r->kid_mask) != r->kid ||
		  !refcount_inc_not_zero(&r->ref)))
		r = NULL;
	rcu_read_unlock();
	return r;
}

/*
 * The request that is kept as slice 0, as it was when it came: in a copy, for its
 * sender may be on this host, with pages of the frame mapped, and change what has
 * been checked. NULL: no memory.
 */
static const u8 *request_take(struct oae_held *h, size_t *len)
{
	struct sk_buff *skb = h->tag->slot[0];

	*len = skb->len;
	if (*len > REQ_KEPT)
		return skb_linearize(skb) ? NULL : skb->data;
	return skb_copy_bits(skb, 0, h->req, *len) ? NULL : h->req;
}

/* The same again, while it is held. */
static const u8 *request_held(const struct oae_held *h)
{
	const struct sk_buff *skb = h->tag->slot[0];

	return skb->len > REQ_KEPT ? skb->data : h->req;
}

/* Be told when words of this region become free. The region is locked. */
static void region_wait_for(struct oae_held *h, struct oae_region *r)
{
	/* Listed, or about to be told: run.c tells it under the tag's lock. */
	if (!list_empty(&h->wait_list) || !list_empty(&h->tag->wake))
		return;
	refcount_inc(&h->tag->ref);
	h->wait_word = r->words.conflict;
	list_add_tail(&h->wait_list, &r->waiting);
	if (h->wait_for != r) {
		refcount_inc(&r->ref);
		region_put(h->wait_for);
		h->wait_for = r;
	}
}

/* Do not wait any longer: another verb, or none. */
static void region_stop_waiting(struct oae_held *h)
{
	struct oae_region *r = h->wait_for;
	bool was;

	if (!r)
		return;
	spin_lock(&r->lock);
	was = !list_empty(&h->wait_list);
	list_del_init(&h->wait_list);
	spin_unlock(&r->lock);
	if (was)
		oae_tag_put(h->tag);
	h->wait_for = NULL;
	region_put(r);
}

static struct oae_held *region_held(struct oae_tag *tag)
{
	struct oae_held *h = tag->held;

	if (!h) {
		/* Once a tag: its later verbs find it here. */
		h = kmalloc(sizeof(*h), GFP_ATOMIC);
		if (!h)
			return NULL;
		memset(h, 0, offsetof(struct oae_held, answer));
		INIT_LIST_HEAD(&h->wait_list);
		h->tag = tag;
		tag->held = h;
	}
	return h;
}

static u16 region_compute(struct oae_held *h, struct oae_region *r, const u8 *req,
			  size_t len)
{
	u16 reason;

	spin_lock(&r->lock);
	reason = OAE_R_NO_REGION;
	if (r->words.word)	/* or it was closed just now */
		reason = oae_verb_compute(&r->words, r->perm, req, len,
					  h->answer, &h->answer_len);
	if (reason == OAE_R_CONFLICT)
		region_wait_for(h, r);
	spin_unlock(&r->lock);
	return reason;
}

/**
 * oae_region_compute() - the verb that is kept as slice 0 has come
 * @tag: the tag, locked
 * @reply: bytes of its answer
 * @again: refused with CONFLICT, but may come again at once
 *
 * Context: BH disabled.
 *
 * Return: 0, it is held; or why it is refused, enum oae_reason.
 */
u16 oae_region_compute(struct oae_tag *tag, u16 *reply, bool *again)
{
	struct oae_held *h = region_held(tag);
	struct oae_region *r;
	const u8 *req;
	size_t len;
	u16 reason;

	lockdep_assert_held(&tag->lock);
	*again = false;
	if (!h) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return OAE_R_BUSY;
	}
	region_stop_waiting(h);
	req = request_take(h, &len);
	if (!req) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return OAE_R_BUSY;
	}
	if (h->yields) {
		h->yields = false;
		*again = true;
		return OAE_R_CONFLICT;
	}
	r = region_find(tag, oae_verb_region(req, len));
	if (!r)
		return OAE_R_NO_REGION;
	reason = region_compute(h, r, req, len);
	if (reason) {
		region_put(r);
		return reason;
	}
	h->region = r;
	h->taken = h->answer[OAE_ANSWER_OFF_TAKEN];
	*reply = h->answer_len;
	return 0;
}

/*
 * Words may be free: who waits for one that is, the eldest first, is told. If
 * many wait for others, it is the next ones' turn the next time.
 */
static unsigned int region_wake_waiting(struct oae_region *r, struct list_head *wake)
{
	unsigned int n = 0, looked = 0;
	struct oae_held *w, *next;
	LIST_HEAD(others);

	list_for_each_entry_safe(w, next, &r->waiting, wait_list) {
		if (n == WAKE_MAX || looked == WAKE_LOOK)
			break;
		looked++;
		if (r->words.word && oae_verb_reserved(&r->words, w->wait_word)) {
			list_move_tail(&w->wait_list, &others);
			continue;
		}
		list_del_init(&w->wait_list);
		list_add_tail(&w->tag->wake, wake);
		n++;
	}
	if (looked == WAKE_LOOK)
		list_splice_tail(&others, &r->waiting);
	else
		list_splice(&others, &r->waiting);
	return n;
}

/**
 * oae_region_decided() - the verb that is kept as slice 0 is committed, or not
 * @tag: the tag, locked; holds one or not
 * @apply: it is committed
 * @wake: those to be sent READY are added, by their oae_tag.wake, each counted
 *
 * Context: BH disabled.
 */
void oae_region_decided(struct oae_tag *tag, bool apply, struct list_head *wake)
{
	struct oae_held *h = tag->held;
	struct oae_region *r = h ? h->region : NULL;
	const u8 *req;

	lockdep_assert_held(&tag->lock);
	if (!r)
		return;
	h->region = NULL;
	if (!h->taken) {
		region_put(r);
		return;
	}
	req = request_held(h);
	spin_lock(&r->lock);
	if (!r->words.word)
		;		/* closed */
	else if (apply)
		oae_verb_apply(&r->words, req);
	else
		oae_verb_release(&r->words, req);
	h->yields = region_wake_waiting(r, wake);
	spin_unlock(&r->lock);
	region_put(r);
}

/**
 * oae_region_answer() - the answer to the verb that is held
 * @tag: the tag, locked, which holds one
 * @len: its bytes
 *
 * Return: the answer, good while the tag is locked.
 */
const u8 *oae_region_answer(const struct oae_tag *tag, unsigned int *len)
{
	*len = tag->held->answer_len;
	return tag->held->answer;
}

/**
 * oae_region_leave() - a tag goes: it waits for no words any more
 * @tag: the tag, locked, out of the table
 */
void oae_region_leave(struct oae_tag *tag)
{
	if (tag->held)
		region_stop_waiting(tag->held);
}
