// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: words that a program has exposed, and the verbs of peers on them
 * (doc/protocol.md section 4.10). link/verb.c carries out the operations.
 *
 * A region is looked up by its number under RCU. References are held by the file
 * that exposed it, by each verb that is held on it, and by each tag that waits for its
 * words. region->lock is the only lock on the frame path that several tags
 * share, since they share the words. It nests in tag->lock, and no lock nests in
 * it.
 */
#include "event.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <asm/shmparam.h>

#include "../link/verb.h"

#define WAKE_MAX	4	/* tags sent READY at a time */
#define WAKE_LOOK	32	/* waiting tags examined at a time */
#define REQ_KEPT	3072	/* longest request that is copied, bytes */
#define HELD_SMALL	144	/* bytes for the changes and the answer of most verbs */
#define LOCAL_SMALL	8	/* words that a local verb changes without an allocation */

struct oae_region {
	struct oae_node *node;
	spinlock_t lock;		/* words, waiting */
	struct oae_words words;
	void *mem;			/* words.word is in it */
	struct list_head waiting;	/* struct oae_verbs, refused: CONFLICT */
	u32 id;
	u32 perm;
	const struct oae_tag *tag;	/* exposed to its peer only; only compared; NULL: */
	const struct oae_port *port;	/* only compared; NULL any */
	u64 kid, kid_mask;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * struct oae_held - a verb that is held
 * @region: its region, with a reference
 * @next: of oae_verbs.spare
 * @v: its answer, and its changes of the words
 * @small: @change has HELD_SMALL bytes
 * @change: the changes, then the answer
 */
struct oae_held {
	struct oae_region *region;
	struct oae_held *next;
	struct oae_computed v;
	bool small;
	struct oae_change change[];
};

/**
 * struct oae_verbs - a tag's verbs, and its waiting for words
 * @held: verb held for the next number, without a place of the window: region_held()
 * @spare: for verbs to come: those that are small are used again
 * @yields: the next verb is refused once, to let waiting tags go first
 * @wait_list: in wait_for->waiting, under wait_for->lock; has a reference to @tag
 * @wait_for: the region whose waiting list this is on, or was on; NULL none
 * @wait_word: index of the reserved word; under wait_for->lock
 * @tag: the tag
 * @wake: to be sent READY: run.c
 * @req: a request being computed, if it is not longer than REQ_KEPT
 */
struct oae_verbs {
	struct oae_held *held;
	struct oae_held *spare;
	bool yields;
	struct list_head wait_list;
	struct oae_region *wait_for;
	u32 wait_word;
	struct oae_tag *tag;
	struct list_head wake;
	u8 req[REQ_KEPT];
};

/* Alignment of the words: kernel and user mappings get the same cache colour. */
#define MAP_ALIGN	max_t(unsigned long, SHMLBA, PAGE_SIZE)

/*
 * Allocate words that can be mapped. vmalloc_user() does not charge the memory
 * cgroup.
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
	kvfree(w->top);
	vfree(mem);
}

static void region_put(struct oae_region *r)
{
	if (r && refcount_dec_and_test(&r->ref))
		kfree_rcu(r, rcu);
}

/**
 * oae_region_make() - expose words, all 0
 * @node: the node
 * @e: size, number and permissions, checked but for the number being free
 * @tag: exposed to the peer of this tag alone, whatever its address will be. The caller has a
 *	reference to it for as long as the region is there. NULL:
 * @port: exposed to peers on this port; NULL any
 * @kid: exposed to peers with this key id
 * @kid_mask: the bits of @kid that count
 *
 * Context: process, may sleep.
 *
 * Return: the region; -EADDRINUSE the number is taken; -ENOMEM.
 */
struct oae_region *oae_region_make(struct oae_node *node,
				   const struct oae_expose *e,
				   const struct oae_tag *tag,
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
	r->tag = tag;
	r->port = port;
	r->kid = kid & kid_mask;
	r->kid_mask = kid_mask;
	r->words.n = n;
	r->words.top = kvcalloc(n, sizeof(*r->words.top), OAE_GFP_USER);
	err = -ENOMEM;
	if (region_words_alloc(r, e->size) && r->words.top)
		err = xa_insert(&node->regions, e->region, r, GFP_KERNEL);
	if (err) {
		region_words_free(&r->words, r->mem);
		kfree(r);
		return ERR_PTR(err == -EBUSY ? -EADDRINUSE : err);
	}
	return r;
}

/**
 * oae_region_mmap() - map the words into a program
 * @r: the region
 * @vma: the mapping; keeps the file open, and so the words allocated
 *
 * Context: process, may sleep; under mmap_lock.
 *
 * Return: 0; -EINVAL the mapping is longer than the region; -ENOMEM.
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

/* Memory for a local verb's changes: @small, if that suffices; NULL: none. */
static struct oae_change *region_local_alloc(struct oae_change *small, u16 n)
{
	return n <= LOCAL_SMALL ? small :
	       kvmalloc_array(n, sizeof(*small), GFP_KERNEL);
}

/**
 * oae_region_local() - carry out a verb of the program that exposed the words
 * @r: the region
 * @req: the request, as on the wire; every operation is permitted
 * @len: length of @req, bytes
 * @answer: room for OAE_VERB_ANSWER_MAX bytes
 * @answer_len: set to the length of the answer, bytes
 *
 * Context: process, may sleep; takes region->lock.
 *
 * Return: 0; -EAGAIN some of the words are reserved; -ERANGE; -EINVAL; -ENOMEM.
 */
int oae_region_local(struct oae_region *r, const u8 *req, size_t len,
		     u8 *answer, size_t *answer_len)
{
	struct oae_change small[LOCAL_SMALL] oae_uninit;
	struct oae_computed v = { .answer = answer };
	u16 reason;

	if (oae_verb_measure(req, len, &v))
		return -EINVAL;
	v.change = region_local_alloc(small, v.nchanges);
	if (!v.change)
		return -ENOMEM;
	spin_lock_bh(&r->lock);
	reason = oae_verb_compute(&r->words, ~0U, r, req, &v);
	if (!reason)
		oae_verb_decided(&r->words, &v, true);
	spin_unlock_bh(&r->lock);
	if (v.change != small)
		kvfree(v.change);
	*answer_len = v.answer_len;
	return region_reason_errno(reason);
}

static bool region_is_for(const struct oae_region *r, const struct oae_tag *tag)
{
	if (r->tag)
		return r->tag == tag;
	return (!r->port || r->port == tag->key.port) &&
	       (tag->key.kid & r->kid_mask) == r->kid;
}

/* The region with this number that the tag's peer may use, with a reference. */
static struct oae_region *region_find(const struct oae_tag *tag, u32 id)
{
	struct oae_region *r;

	rcu_read_lock();
	r = xa_load(&tag->node->regions, id);
	if (r && (!region_is_for(r, tag) || !refcount_inc_not_zero(&r->ref)))
		r = NULL;
	rcu_read_unlock();
	return r;
}

/*
 * The request in slice 0, safe from changes: a copy, since a sender on this host
 * may have pages of the frame mapped and change them after the check. NULL: no
 * memory.
 */
static const u8 *request_take(struct oae_verbs *vs, u32 seq, size_t *len)
{
	struct sk_buff *skb = oae_tag_slots(vs->tag, seq)[0];

	*len = skb->len;
	if (*len > REQ_KEPT)
		return skb_linearize(skb) ? NULL : skb->data;
	return skb_copy_bits(skb, 0, vs->req, *len) ? NULL : vs->req;
}

/* Have the tag sent READY when the word becomes free. Under region->lock. */
static void region_wait_for(struct oae_verbs *vs, struct oae_region *r)
{
	/* On the list already, or oae_run_wake_verbs() is about to send READY. */
	if (!list_empty(&vs->wait_list) || !list_empty(&vs->wake))
		return;
	refcount_inc(&vs->tag->ref);
	vs->wait_word = r->words.conflict;
	list_add_tail(&vs->wait_list, &r->waiting);
	if (vs->wait_for != r) {
		refcount_inc(&r->ref);
		region_put(vs->wait_for);
		vs->wait_for = r;
	}
}

/* Do not wait for words any longer: another verb came, or the tag goes. */
static void region_stop_waiting(struct oae_verbs *vs)
{
	struct oae_region *r = vs->wait_for;
	bool was;

	if (!r)
		return;
	spin_lock(&r->lock);
	was = !list_empty(&vs->wait_list);
	list_del_init(&vs->wait_list);
	spin_unlock(&r->lock);
	if (was)
		oae_tag_put(vs->tag);
	vs->wait_for = NULL;
	region_put(r);
}

/* The verb that is held for a number of the peer, NULL none. Under tag->lock. */
static struct oae_held **region_held(struct oae_verbs *vs, u32 seq)
{
	struct oae_pair *pair = oae_link_place(&vs->tag->link, seq);

	return unlikely(pair) ?
	       &container_of(pair, struct oae_tag_place, pair)->held : &vs->held;
}

static struct oae_verbs *region_verbs(struct oae_tag *tag)
{
	struct oae_verbs *vs = tag->verbs;

	if (!vs) {
		/* Allocated at the first verb, freed with the tag. */
		vs = kmalloc(sizeof(*vs), GFP_ATOMIC);
		if (!vs)
			return NULL;
		memset(vs, 0, offsetof(struct oae_verbs, req));
		INIT_LIST_HEAD(&vs->wait_list);
		INIT_LIST_HEAD(&vs->wake);
		vs->tag = tag;
		tag->verbs = vs;
	}
	return vs;
}

/* Memory for a verb to be held: most are small, and use what earlier ones had. */
static struct oae_held *held_alloc(struct oae_verbs *vs, const struct oae_computed *v)
{
	size_t changes = v->nchanges * sizeof(struct oae_change);
	size_t size = changes + v->answer_len;
	bool small = size <= HELD_SMALL;
	struct oae_held *h = vs->spare;

	if (small && h)
		vs->spare = h->next;
	else
		h = kmalloc(sizeof(*h) + max_t(size_t, size, HELD_SMALL),
			    GFP_ATOMIC | __GFP_NOWARN);
	if (!h)
		return NULL;
	h->small = small;
	h->v = *v;
	h->v.change = h->change;
	h->v.answer = (u8 *)h->change + changes;
	return h;
}

static void held_free(struct oae_verbs *vs, struct oae_held *h)
{
	if (!h->small) {
		kfree(h);
		return;
	}
	h->next = vs->spare;
	vs->spare = h;
}

/* Compute a request, and hold it. */
static u16 region_compute(struct oae_verbs *vs, struct oae_region *r, const u8 *req,
			  struct oae_held *h)
{
	u16 reason = OAE_R_NO_REGION;

	spin_lock(&r->lock);
	if (r->words.word)	/* not closed meanwhile */
		reason = oae_verb_compute(&r->words, r->perm, vs, req, &h->v);
	if (reason == OAE_R_CONFLICT)
		region_wait_for(vs, r);
	spin_unlock(&r->lock);
	return reason;
}

/* Find the region of a request, and hold the request. */
static u16 region_hold(struct oae_verbs *vs, const u8 *req, size_t len,
		       struct oae_held **held)
{
	struct oae_computed v;
	struct oae_region *r;
	struct oae_held *h;
	u16 reason;

	r = region_find(vs->tag, oae_verb_region(req, len));
	if (!r)
		return OAE_R_NO_REGION;
	reason = oae_verb_measure(req, len, &v);
	if (reason)
		goto put;
	h = held_alloc(vs, &v);
	if (!h) {
		oae_count(vs->tag->node, OAE_S_NO_MEMORY);
		reason = OAE_R_BUSY;
		goto put;
	}
	reason = region_compute(vs, r, req, h);
	if (reason) {
		held_free(vs, h);
		goto put;
	}
	h->region = r;
	*held = h;
	return 0;
put:
	region_put(r);
	return reason;
}

/*
 * Compute the verb in slice 0 of a number (protocol 4.10). 0: it is held, and the answer has
 * @reply bytes; else the reason of its refusal. @again: it is refused only to let others go
 * first, and READY is to follow at once.
 */
u16 oae_region_compute(struct oae_tag *tag, u32 seq, u16 *reply, bool *again)
{
	struct oae_verbs *vs = region_verbs(tag);
	struct oae_held **held;
	const u8 *req;
	size_t len;
	u16 reason;

	lockdep_assert_held(&tag->lock);
	*again = false;
	if (!vs) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return OAE_R_BUSY;
	}
	held = region_held(vs, seq);
	region_stop_waiting(vs);
	req = request_take(vs, seq, &len);
	if (!req) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return OAE_R_BUSY;
	}
	if (vs->yields) {
		vs->yields = false;
		*again = true;
		return OAE_R_CONFLICT;
	}
	reason = region_hold(vs, req, len, held);
	if (!reason)
		*reply = (*held)->v.answer_len;
	return reason;
}

/*
 * Words may be free: put the tags that wait for a free word on @wake, the oldest
 * first. If the limit WAKE_LOOK is reached, the tags that were examined in vain go
 * to the end of the list, so that the others are examined the next time.
 */
static unsigned int region_wake_waiting(struct oae_region *r, struct list_head *wake)
{
	unsigned int n = 0, looked = 0;
	struct oae_verbs *w, *next;
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
		list_add_tail(&w->wake, wake);
		n++;
	}
	if (looked == WAKE_LOOK)
		list_splice_tail(&others, &r->waiting);
	else
		list_splice(&others, &r->waiting);
	return n;
}

/* No word is left to wait for: READY to all that do, a few at a time. */
static void region_wake_all(struct oae_region *r, void (*ready)(struct list_head *tags))
{
	unsigned int n;

	do {
		LIST_HEAD(wake);

		rcu_read_lock_bh();
		spin_lock(&r->lock);
		n = region_wake_waiting(r, &wake);
		spin_unlock(&r->lock);
		ready(&wake);
		rcu_read_unlock_bh();
		cond_resched();
	} while (n);
}

/**
 * oae_region_close() - stop exposing a region and free its words
 * @r: the region, no longer mapped
 * @ready: oae_run_wake_verbs()
 *
 * The words are freed at once. A tag that holds a verb on the region may do so for ever and
 * keeps only the struct. Peers that wait for words are told to ask again: there are none.
 *
 * Context: process, may sleep; takes region->lock and tag->lock.
 */
void oae_region_close(struct oae_region *r, void (*ready)(struct list_head *tags))
{
	struct oae_words words;

	xa_erase(&r->node->regions, r->id);
	spin_lock_bh(&r->lock);
	words = r->words;
	memset(&r->words, 0, sizeof(r->words));
	spin_unlock_bh(&r->lock);
	region_words_free(&words, r->mem);
	region_wake_all(r, ready);
	region_put(r);
}

/*
 * Apply or drop the verb that is held for a number, if any. The tags to be sent READY are added
 * to @wake, with a reference each.
 */
void oae_region_decided(struct oae_tag *tag, u32 seq, bool apply,
			struct list_head *wake)
{
	struct oae_verbs *vs = tag->verbs;
	struct oae_held **held, *h;
	struct oae_region *r;

	lockdep_assert_held(&tag->lock);
	if (!vs)
		return;
	held = region_held(vs, seq);
	h = *held;
	if (!h)
		return;
	*held = NULL;
	r = h->region;
	if (h->v.nchanges) {
		spin_lock(&r->lock);
		if (r->words.word)	/* not closed */
			oae_verb_decided(&r->words, &h->v, apply);
		if (region_wake_waiting(r, wake))
			vs->yields = true;
		spin_unlock(&r->lock);
	}
	held_free(vs, h);
	region_put(r);
}

/* The first tag of those that are to be sent READY, or NULL. */
struct oae_tag *oae_region_woken(struct list_head *wake)
{
	const struct oae_verbs *vs = list_first_entry_or_null(wake, struct oae_verbs, wake);

	return vs ? vs->tag : NULL;
}

/* READY is being sent: from here on the tag may wait again. */
void oae_region_awake(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	list_del_init(&tag->verbs->wake);
}

/*
 * Whose verb keeps the peer's verb waiting? The kid of the link that has reserved the words, 0
 * none.
 */
u64 oae_region_holder(const struct oae_tag *tag)
{
	const struct oae_verbs *vs = tag->verbs, *by;
	struct oae_region *r = vs ? vs->wait_for : NULL;
	u64 kid = 0;

	lockdep_assert_held(&tag->lock);
	if (!r)
		return 0;
	spin_lock(&r->lock);
	if (!list_empty(&vs->wait_list) && r->words.word &&
	    oae_verb_reserved(&r->words, vs->wait_word)) {
		/* Its tag is there for as long as the words are reserved. */
		by = r->words.top[vs->wait_word]->owner;
		kid = READ_ONCE(by->tag->key.kid);
	}
	spin_unlock(&r->lock);
	return kid;
}

/* The answer to the verb that is held for a number; NULL: the event has dropped the verb since. */
const u8 *oae_region_answer(struct oae_tag *tag, u32 seq, unsigned int *len)
{
	const struct oae_held *h = tag->verbs ? *region_held(tag->verbs, seq) : NULL;

	lockdep_assert_held(&tag->lock);
	if (unlikely(!h))
		return NULL;
	*len = h->v.answer_len;
	return h->v.answer;
}

/* Move the verb that is held for a number to a place that is not lent yet. */
void oae_region_move(struct oae_tag *tag, u32 seq, struct oae_tag_place *to)
{
	lockdep_assert_held(&tag->lock);
	if (tag->verbs)
		swap(to->held, *region_held(tag->verbs, seq));
}

/* Free the memory that is kept for verbs to come. */
void oae_region_idle(struct oae_tag *tag)
{
	struct oae_held *h;

	while (tag->verbs && (h = tag->verbs->spare)) {
		tag->verbs->spare = h->next;
		kfree(h);
	}
}

/* Free all memory for verbs of a tag that holds none. */
void oae_region_free(struct oae_tag *tag)
{
	oae_region_idle(tag);
	kfree(tag->verbs);
}

/* Stop a dead tag from waiting for words. */
void oae_region_leave(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (tag->verbs)
		region_stop_waiting(tag->verbs);
}
