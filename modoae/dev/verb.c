// SPDX-License-Identifier: GPL-2.0
/*
 * Words for programs: exposing and mapping them, and verbs on the peer's words or on
 * one's own. link/verb.c has the operations, tag/region.c the regions.
 *
 * A call with one operation allocates nothing but its message.
 */
#include "dev.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../link/verb.h"

/* Expose words to the peer of an attached file, or to those a file listens for. */
static struct oae_region *dev_verb_make_region(struct oae_file *f,
					       const struct oae_expose *e)
{
	struct oae_tag *tag = oae_file_tag(f);

	if (!IS_ERR(tag)) {
		if (READ_ONCE(tag->dead))
			return ERR_PTR(-ENODEV);
		return oae_region_make(tag->node, e, tag, NULL, 0, 0);
	}
	if (PTR_ERR(tag) == -ENOTCONN)
		return ERR_CAST(tag);
	if (oae_listen_dead(f))
		return ERR_PTR(-ENODEV);
	return oae_region_make(oae_file_node(f), e, NULL, f->port, f->kid,
			       f->kid_mask);
}

static int dev_verb_expose(struct oae_file *f, const struct oae_expose *e)
{
	struct oae_region *r;

	if (f->region)
		return -EEXIST;
	r = dev_verb_make_region(f, e);
	if (IS_ERR(r))
		return PTR_ERR(r);
	/* Pairs with the smp_load_acquire() in dev_verb_file_region(). */
	smp_store_release(&f->region, r);
	return 0;
}

/**
 * oae_file_expose() - OAE_EXPOSE
 * @f: the file
 * @arg: struct oae_expose
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EEXIST the file exposes a region already; -EADDRINUSE the number is
 * taken; -ENODEV the port is gone; -EINVAL, -EFAULT, -ENOTCONN, -ENOMEM.
 */
int oae_file_expose(struct oae_file *f, const void __user *arg)
{
	struct oae_expose e;
	int err;

	if (copy_from_user(&e, arg, sizeof(e)))
		return -EFAULT;
	if (!e.size || e.size % sizeof(u64) ||
	    e.size > READ_ONCE(oae_file_node(f)->knobs.region_max) ||
	    e.perm & ~(OAE_PERM_READ | OAE_PERM_WRITE | OAE_PERM_ATOMIC) ||
	    e.flags || e.zero)
		return -EINVAL;
	mutex_lock(&f->setup);
	err = dev_verb_expose(f, &e);
	mutex_unlock(&f->setup);
	return err;
}

/* The region of a file, or NULL. */
static struct oae_region *dev_verb_file_region(const struct oae_file *f)
{
	/* Pairs with the smp_store_release() in dev_verb_expose(). */
	return smp_load_acquire(&f->region);
}

/**
 * oae_file_mmap() - map the words that the file exposes
 * @f: the file
 * @vma: the mapping; keeps the file open, and so the words allocated
 *
 * Context: process, may sleep; under mmap_lock.
 *
 * Return: 0; -ENXIO the file exposes no words; -EINVAL the mapping is not shared, or
 * longer than the region; -ENOMEM.
 */
int oae_file_mmap(struct oae_file *f, struct vm_area_struct *vma)
{
	struct oae_region *r = dev_verb_file_region(f);

	if (!r)
		return -ENXIO;
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	return oae_region_mmap(r, vma);
}

/**
 * struct request - a verb, as the program gave it and as on the wire
 * @v: from the program
 * @op: its operations
 * @req: the request as on the wire
 * @len: length of @req, bytes
 * @reply: length of the answer on the wire, bytes
 * @compares: it may not be taken
 * @one: storage of @op, if there is only one operation
 * @one_req: storage of @req, if there is only one operation
 */
struct request {
	struct oae_verb v;
	struct oae_verb_op *op;
	u8 *req;
	size_t len;
	size_t reply;
	bool compares;
	struct oae_verb_op one;
	u8 one_req[OAE_VERB_HDR_LEN + OAE_VERB_OP_MAX];
};

static void dev_verb_request_free(struct request *q)
{
	if (q->op != &q->one)
		kvfree(q->op);
}

static int dev_verb_request_alloc(struct request *q)
{
	u32 n = q->v.nops;

	q->op = &q->one;
	q->req = q->one_req;
	if (n == 1)
		return 0;
	q->op = kvmalloc(n * (sizeof(*q->op) + OAE_VERB_OP_MAX) +
			 OAE_VERB_HDR_LEN, GFP_KERNEL);
	if (!q->op)
		return -ENOMEM;
	q->req = (u8 *)(q->op + n);
	return 0;
}

static u8 *dev_verb_put_words(u8 *p, const __u64 *word, unsigned int n)
{
	for (; n; n--, p += sizeof(u64))
		put_unaligned_be64(*word++, p);
	return p;
}

static bool dev_verb_op_valid(const struct oae_verb_op *op)
{
	return op->code && op->code < OAE_VERB_CODE_END && op->words &&
	       op->words <= OAE_VERB_WORDS && !op->zero &&
	       op->offset % sizeof(u64) == 0;
}

static u8 *dev_verb_put_op(u8 *p, const struct oae_verb_op *op)
{
	p[OAE_VOP_OFF_CODE] = op->code;
	p[OAE_VOP_OFF_WORDS] = op->words;
	put_unaligned_be16(0, p + OAE_VOP_OFF_ZERO);
	put_unaligned_be32(op->offset / sizeof(u64), p + OAE_VOP_OFF_INDEX);
	p += OAE_VOP_HDR_LEN;
	if (op->code == OAE_VERB_CAS)
		p = dev_verb_put_words(p, op->cmp, op->words);
	if (op->code != OAE_VERB_READ)
		p = dev_verb_put_words(p, op->arg, op->words);
	return p;
}

/* Encode the request as on the wire. */
static int dev_verb_encode(struct request *q)
{
	const struct oae_verb_op *op = q->op;
	u8 *p = q->req;
	u32 i;

	put_unaligned_be32(q->v.region, p + OAE_VERB_OFF_REGION);
	p[OAE_VERB_OFF_NOPS] = q->v.nops;
	memset(p + OAE_VERB_OFF_ZERO, 0, OAE_VERB_HDR_LEN - OAE_VERB_OFF_ZERO);
	p += OAE_VERB_HDR_LEN;
	q->reply = OAE_ANSWER_HDR_LEN;
	q->compares = false;
	for (i = 0; i < q->v.nops; i++, op++) {
		if (!dev_verb_op_valid(op))
			return -EINVAL;
		p = dev_verb_put_op(p, op);
		q->compares |= op->code == OAE_VERB_CAS;
		if (op->code != OAE_VERB_WRITE)
			q->reply += op->words * sizeof(u64);
	}
	q->len = p - q->req;
	return 0;
}

/* Copy a program's verb, and check that its results are writable. */
static int dev_verb_request_get(struct request *q, struct oae_verb __user *arg,
				bool local)
{
	struct oae_verb_op __user *from;
	size_t size;
	int err;

	if (copy_from_user(&q->v, arg, sizeof(q->v)))
		return -EFAULT;
	if (!q->v.nops || q->v.nops > OAE_VERB_OPS || q->v.zero ||
	    q->v.flags & ~(local ? 0 : OAE_NONBLOCK) ||
	    (local && q->v.region))
		return -EINVAL;
	err = dev_verb_request_alloc(q);
	if (err)
		return err;
	from = u64_to_user_ptr(q->v.ops);
	size = q->v.nops * sizeof(*q->op);
	err = -EFAULT;
	if (copy_from_user(q->op, from, size))
		goto free;
	err = dev_verb_encode(q);
	if (err)
		goto free;
	err = -EFAULT;
	if (copy_to_user(arg, &q->v, sizeof(q->v)) ||
	    (!(q->v.flags & OAE_NONBLOCK) && copy_to_user(from, q->op, size)))
		goto free;
	return 0;
free:
	dev_verb_request_free(q);
	return err;
}

/* Copies part of an answer from a verb's result, or from memory. */
typedef int (*read_fn)(const void *from, unsigned int off, void *to,
		       unsigned int len);

static int dev_verb_read_result(const void *from, unsigned int off, void *to,
				unsigned int len)
{
	const struct oae_msg *msg = from;

	/* Of joined verbs the header is the same, and behind it the words of each. */
	if (off >= OAE_ANSWER_HDR_LEN)
		off += msg->result_at - OAE_ANSWER_HDR_LEN;
	return skb_copy_bits(msg->result, off, to, len);
}

static int dev_verb_read_memory(const void *from, unsigned int off, void *to,
				unsigned int len)
{
	memcpy(to, from + off, len);
	return 0;
}

/* Copy the answer, which @read gets @from, to the program's operations. */
static int dev_verb_put_answer(struct request *q, read_fn read, const void *from)
{
	struct oae_verb_op __user *to = u64_to_user_ptr(q->v.ops);
	u8 head[OAE_ANSWER_HDR_LEN];
	unsigned int at = sizeof(head), n, i, j;
	__be64 word[OAE_VERB_WORDS];

	if (read(from, 0, head, sizeof(head)))
		return -EFAULT;
	q->v.taken = head[OAE_ANSWER_OFF_TAKEN];
	q->v.failed = head[OAE_ANSWER_OFF_FAILED];
	for (i = 0; i < q->v.nops; i++) {
		if (q->op[i].code == OAE_VERB_WRITE)
			continue;
		n = q->op[i].words * sizeof(u64);
		if (read(from, at, word, n))
			return -EFAULT;
		at += n;
		for (j = 0; j < q->op[i].words; j++)
			q->op[i].old[j] = be64_to_cpu(word[j]);
		if (copy_to_user(to[i].old, q->op[i].old, n))
			return -EFAULT;
	}
	return 0;
}

static struct oae_msg *dev_verb_verb_msg(struct oae_file *f, struct oae_tag *tag,
					 const struct request *q)
{
	u16 slice = oae_link_port_max(&tag->link);
	struct oae_msg *msg;

	if (q->len > slice || q->reply + OAE_REFLECT_LEN > slice)
		return ERR_PTR(-EMSGSIZE);
	msg = oae_send_bytes(&f->pool, q->req, q->len);
	if (!msg)
		return ERR_PTR(-ENOMEM);
	msg->post.kind = OAE_VERB;
	msg->post.reply = q->reply;
	msg->alone = q->compares;
	msg->txn.room = q->reply;
	return msg;
}

static int dev_verb_do_verb(struct oae_file *f, struct oae_tag *tag, struct request *q,
			    struct oae_verb __user *arg, bool nonblock)
{
	struct oae_msg *msg = dev_verb_verb_msg(f, tag, q);
	bool told = true;
	int err;

	if (IS_ERR(msg))
		return PTR_ERR(msg);
	err = oae_file_transact(f, tag, msg, nonblock);
	if (!err && !nonblock)
		told = msg->result && !dev_verb_put_answer(q, dev_verb_read_result, msg);
	q->v.id = msg->txn.id;
	if (q->v.id && copy_to_user(arg, &q->v, sizeof(q->v)))
		told = false;
	if (!err && !told)
		err = oae_file_untold(tag, msg, nonblock);
	oae_msg_put(msg);
	return err;
}

/**
 * oae_file_verb() - OAE_DO_VERB
 * @f: the file
 * @arg: see uapi/oae.h
 * @nonblock: O_NONBLOCK is set
 *
 * Context: process, may sleep.
 *
 * Return: 0, or an errno of the table in uapi/oae.h.
 */
int oae_file_verb(struct oae_file *f, struct oae_verb __user *arg,
		  bool nonblock)
{
	struct oae_tag *tag = oae_file_tag(f);
	struct request q;
	int err;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	err = dev_verb_request_get(&q, arg, false);
	if (err)
		return err;
	q.v.id = 0;
	err = dev_verb_do_verb(f, tag, &q, arg, nonblock || q.v.flags & OAE_NONBLOCK);
	dev_verb_request_free(&q);
	return err;
}

static int dev_verb_do_local(struct oae_region *r, struct request *q)
{
	u8 one[OAE_ANSWER_HDR_LEN + sizeof(u64) * OAE_VERB_WORDS];
	u8 *answer = one;
	size_t len;
	int err;

	if (q->reply > sizeof(one))
		answer = kvmalloc(OAE_VERB_ANSWER_MAX, GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	err = oae_region_local(r, q->req, q->len, answer, &len);
	if (!err)
		err = dev_verb_put_answer(q, dev_verb_read_memory, answer);
	if (answer != one)
		kvfree(answer);
	return err;
}

/**
 * oae_file_local() - OAE_LOCAL
 * @f: the file
 * @arg: see uapi/oae.h
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EAGAIN some of the words are reserved; -ENXIO the file exposes no
 * words; -ERANGE, -EINVAL, -EFAULT, -ENOMEM.
 */
int oae_file_local(struct oae_file *f, struct oae_verb __user *arg)
{
	struct oae_region *r = dev_verb_file_region(f);
	struct request q;
	int err;

	if (!r)
		return -ENXIO;
	err = dev_verb_request_get(&q, arg, true);
	if (err)
		return err;
	err = dev_verb_do_local(r, &q);
	q.v.id = 0;
	if (!err && copy_to_user(arg, &q.v, sizeof(q.v)))
		err = -EFAULT;
	dev_verb_request_free(&q);
	return err;
}

/**
 * oae_verb_result_len() - size of a verb's struct oae_verb_result
 * @msg: a verb that is committed
 *
 * Context: any.
 *
 * Return: bytes.
 */
u32 oae_verb_result_len(const struct oae_msg *msg)
{
	return sizeof(struct oae_verb_result) + oae_msg_result_len(msg) -
	       OAE_ANSWER_HDR_LEN;
}

/**
 * oae_verb_put_result() - copy a verb's result to a program
 * @msg: a verb that is committed
 * @to: destination
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -EFAULT.
 */
int oae_verb_put_result(const struct oae_msg *msg,
			struct oae_verb_result __user *to)
{
	u32 n = (oae_msg_result_len(msg) - OAE_ANSWER_HDR_LEN) / sizeof(u64), i;
	struct oae_verb_result head = { .nwords = n };
	u8 answer[OAE_ANSWER_HDR_LEN];
	__be64 word;

	if (dev_verb_read_result(msg, 0, answer, sizeof(answer)))
		return -EFAULT;
	head.taken = answer[OAE_ANSWER_OFF_TAKEN];
	head.failed = answer[OAE_ANSWER_OFF_FAILED];
	if (copy_to_user(to, &head, sizeof(head)))
		return -EFAULT;
	for (i = 0; i < n; i++)
		if (dev_verb_read_result(msg, sizeof(answer) + i * sizeof(u64),
					 &word, sizeof(word)) ||
		    put_user(be64_to_cpu(word), &to->old[i]))
			return -EFAULT;
	return 0;
}
