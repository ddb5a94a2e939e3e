// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/oae: links for programs. include/uapi/oae.h documents the interface.
 *
 * An open file belongs to its opener's namespace. It is attached to one tag, or
 * listens, once and for good. Processes that share the file by dup() or fork()
 * share this state. Here are opening, attaching, options, status, poll and closing;
 * reading and writing are in io.c, outcomes in outcome.c.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "dev.h"

#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/ioctls.h>

#define OAE_QUEUE_DEFAULT	256
#define OAE_QUEUE_MAX		65536

static int file_open(struct inode *inode, struct file *file)
{
	struct oae_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return -ENOMEM;
	f->net = get_net(current->nsproxy->net_ns);
	mutex_init(&f->setup);
	f->opt.linger_ms = OAE_LINGER_BACKGROUND;
	f->opt.queue = OAE_QUEUE_DEFAULT;
	f->client.queue = OAE_QUEUE_DEFAULT;
	oae_pool_init(&f->pool);
	oae_client_init(&f->client);
	hrtimer_setup(&f->client.timer, oae_file_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	file->private_data = f;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

/*
 * Closing waits up to linger_ms for queued transactions. The wait is bounded, since
 * the closing process may only have been passed the file. A dying process does not
 * wait.
 */
static void file_linger(struct oae_file *f, struct oae_tag *tag)
{
	unsigned int ms = f->opt.linger_ms;

	/* A half that is not lent can always be reversed. */
	oae_file_cancel_all(f, tag, OAE_E_CANCEL, true);
	if (ms == OAE_LINGER_BACKGROUND)
		return;
	if (ms && !(current->flags & (PF_EXITING | PF_KTHREAD)))
		wait_event_killable_timeout(f->client.wait,
					    !READ_ONCE(f->client.npending),
					    msecs_to_jiffies(min(ms, OAE_LINGER_MAX)));
	oae_file_cancel_all(f, tag, OAE_E_CANCEL, false);
}

static int file_release(struct inode *inode, struct file *file)
{
	struct oae_file *f = file->private_data;

	if (f->region)
		oae_region_close(f->region, oae_run_wake_verbs);
	oae_ring_release(f);
	if (f->tag) {
		if (f->taken)
			oae_inbox_give_back(f->tag, f->taken);
		file_linger(f, f->tag);
		hrtimer_cancel(&f->client.timer);
		oae_tag_detach(f->tag, &f->client);
		oae_tag_put(f->tag);
	}
	if (f->port)
		oae_port_put(f->port);
	oae_pool_exit(&f->pool);
	put_net(f->net);
	/* oae_attach_tell() may still use the file, under the RCU read lock. */
	kfree_rcu(f, rcu);
	return 0;
}

/* Check an attach request, as far as possible without its port. */
static int file_check_attach(const struct oae_attach *a)
{
	bool listening = a->flags & OAE_ATTACH_LISTEN;

	if (a->flags & ~(OAE_ATTACH_LISTEN | OAE_ATTACH_ANY_VC |
			 OAE_ATTACH_OPEN | OAE_ATTACH_ID) ||
	    a->zero || (a->id_high && !(a->flags & OAE_ATTACH_ID)) ||
	    strnlen(a->port, sizeof(a->port)) == sizeof(a->port))
		return -EINVAL;
	if (!listening && a->flags & OAE_ATTACH_ANY_VC)
		return -EINVAL;
	if (listening && (a->flags & (OAE_ATTACH_OPEN | OAE_ATTACH_ID) ||
			  (a->flags & OAE_ATTACH_ANY_VC && a->vc)))
		return -EINVAL;
	if (a->flags & OAE_ATTACH_ID)
		return a->id_high && a->id_high <= U16_MAX ? 0 : -EINVAL;
	if (listening && is_zero_ether_addr(a->peer))
		return 0;
	return is_valid_ether_addr(a->peer) ? 0 : -EINVAL;
}

/* The address in a request. */
static void file_attach_addr(const struct oae_attach *a, struct oae_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->set = true;
	strscpy(addr->dev, a->port, sizeof(addr->dev));
	if (a->flags & OAE_ATTACH_ID)
		addr->id = (u64)a->id_high << 48 | (u64)get_unaligned_be16(a->peer) << 32 |
			   get_unaligned_be32(a->peer + 2);
	else
		memcpy(addr->mac, a->peer, ETH_ALEN);
}

/* Find the tag that an address means, and attach the file to it. */
static struct oae_tag *file_attach_tag(struct oae_file *f, const struct oae_addr *addr, u8 vc,
				       bool open)
{
	struct oae_port *port;
	struct oae_tag *tag;
	u8 mac[ETH_ALEN];
	u64 kid;
	int err;

	do {
		err = oae_addr_resolve(oae_file_node(f), addr, vc, &port, mac);
		if (err)
			return ERR_PTR(err);
		kid = oae_kid(vc, mac);
		tag = oae_peer_tag(port, kid);
		err = PTR_ERR_OR_ZERO(tag);
		if (!err) {
			err = oae_tag_attach(tag, &f->client, addr, port, kid, open);
			if (err)
				oae_tag_put(tag);
		}
		oae_port_put(port);
	} while (err == -ESTALE);
	return err ? ERR_PTR(err) : tag;
}

static int file_attach(struct oae_file *f, const struct oae_attach *a)
{
	struct oae_addr addr;
	struct oae_tag *tag;

	file_attach_addr(a, &addr);
	tag = file_attach_tag(f, &addr, a->vc, a->flags & OAE_ATTACH_OPEN);
	if (IS_ERR(tag))
		return PTR_ERR(tag);
	oae_addr_used(&addr, tag);
	/* Pairs with the smp_load_acquire() in oae_file_tag(). */
	smp_store_release(&f->tag, tag);
	return 0;
}

static int file_ioctl_attach(struct oae_file *f, const void __user *arg)
{
	struct oae_attach a;
	int err;

	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	if (!ns_capable(f->net->user_ns, CAP_NET_RAW))
		return -EPERM;
	err = file_check_attach(&a);
	if (err)
		return err;
	mutex_lock(&f->setup);
	if (f->tag || f->listening)
		err = -EISCONN;
	else if (f->rings)
		err = -EBUSY;
	else if (a.flags & OAE_ATTACH_LISTEN)
		err = oae_listen_start(f, &a);
	else
		err = file_attach(f, &a);
	mutex_unlock(&f->setup);
	if (!err)
		wake_up_poll(&f->client.wait, EPOLLOUT);
	return err;
}

static int file_ioctl_set_options(struct oae_file *f, const void __user *arg)
{
	struct oae_options o;

	if (copy_from_user(&o, arg, sizeof(o)))
		return -EFAULT;
	if (o.flags & ~(OAE_OPT_EXPRESS | OAE_OPT_TAKE) || !o.queue ||
	    o.queue > OAE_QUEUE_MAX || o.spin_us > OAE_SPIN_MAX)
		return -EINVAL;
	mutex_lock(&f->setup);
	WRITE_ONCE(f->opt.flags, o.flags);
	WRITE_ONCE(f->opt.deadline_ms, o.deadline_ms);
	WRITE_ONCE(f->opt.linger_ms, o.linger_ms);
	WRITE_ONCE(f->opt.queue, o.queue);
	WRITE_ONCE(f->opt.queue_bytes, o.queue_bytes);
	WRITE_ONCE(f->opt.spin_us, o.spin_us);
	WRITE_ONCE(f->client.queue, o.queue);
	WRITE_ONCE(f->client.queue_bytes, o.queue_bytes);
	/* The queue may be longer now. */
	if (f->tag)
		oae_room_client(f->tag, &f->client);
	oae_ring_options(f);
	mutex_unlock(&f->setup);
	return 0;
}

static int file_ioctl_get_options(struct oae_file *f, void __user *arg)
{
	struct oae_options o;

	mutex_lock(&f->setup);
	o = f->opt;
	mutex_unlock(&f->setup);
	return copy_to_user(arg, &o, sizeof(o)) ? -EFAULT : 0;
}

static u32 file_status_flags(const struct oae_link_view *v, bool dead)
{
	u32 flags = 0;

	if (v->down)
		flags |= OAE_ST_DOWN;
	if (v->doubt)
		flags |= OAE_ST_DOUBT;
	if (dead)
		flags |= OAE_ST_DEAD;
	if (v->half)
		flags |= OAE_ST_HALF;
	return flags;
}

static void file_link_status(struct oae_tag *tag, struct oae_status *s,
			     const char **word)
{
	struct oae_link_view v;

	oae_link_show(&tag->link, &v);
	*word = tag->dead ? "DEAD" : oae_link_word(&v);
	s->vc = v.vc;
	s->state = v.state;
	s->flags = file_status_flags(&v, tag->dead);
	s->tx = v.tx;
	s->rx = v.rx;
	s->mtu = v.slice_max + OAE_HDR_LEN;
	s->max_len = min(v.peer_max_len, READ_ONCE(tag->node->knobs.max_len));
	s->max_half = v.slice_max - OAE_REFLECT_LEN;
	s->max_verb = v.slice_max;
	s->srtt_ns = v.srtt;
	s->queued = oae_tag_queued(tag) + v.pending;
	s->unread = oae_inbox_count(tag);
	s->committed = tag->nended[OAE_COMMITTED];
	s->reversed = tag->nended[OAE_REVERSED];
	s->unknown = tag->nended[OAE_UNKNOWN];
	s->delivered = tag->ndelivered;
	s->failures = tag->nhealed;
}

/* The status of an attached file but for its events, and its state in a word. */
static const char *file_tag_look(struct oae_file *f, struct oae_tag *tag,
				 struct oae_status *s)
	__must_hold(&tag->lock)
{
	const char *word;

	oae_kid_mac(tag->key.kid, s->peer);
	file_link_status(tag, s, &word);
	/* The device of a dead tag may be gone; its port is not. */
	strscpy(s->port, tag->key.port->name, sizeof(s->port));
	s->pending = f->client.npending;
	s->uncollected = oae_client_uncollected(&f->client);
	s->next_id = f->client.next_id;
	return word;
}

/* Fill in the status of an attached file. Takes the file's events and returns them. */
static u32 file_tag_status(struct oae_file *f, struct oae_tag *tag,
			   struct oae_status *s)
{
	u32 events;

	oae_tag_lock(tag);
	file_tag_look(f, tag, s);
	events = oae_client_events(&f->client, tag);
	f->client.events = 0;
	f->client.nevents = tag->users->nevents;
	oae_tag_unlock(tag);
	return events;
}

static void file_listen_status(struct oae_file *f, struct oae_status *s)
{
	strscpy(s->port, f->port_name, sizeof(s->port));
	oae_kid_mac(f->kid, s->peer);
	s->vc = f->kid >> 56;
	if (oae_listen_dead(f))
		s->flags = OAE_ST_DEAD;
	s->unread = oae_listen_count(f);
	s->next_id = f->client.next_id;
}

static int file_ioctl_status(struct oae_file *f, void __user *arg)
{
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_status s;

	memset(&s, 0, sizeof(s));
	if (PTR_ERR(tag) == -ENOTCONN)
		return -ENOTCONN;
	if (IS_ERR(tag))
		file_listen_status(f, &s);
	else
		s.events = file_tag_status(f, tag, &s);
	if (!copy_to_user(arg, &s, sizeof(s)))
		return 0;
	if (s.events) {
		oae_tag_lock(tag);
		f->client.events |= s.events;
		oae_tag_unlock(tag);
	}
	return -EFAULT;
}

static int file_ioctl_waits(struct oae_file *f, struct oae_waits __user *arg)
{
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_waits_view v;
	struct oae_waits w = {};

	BUILD_BUG_ON((int)OAE_WAITS_CONFIRM + 1 != OAE_WAIT_END);
	BUILD_BUG_ON(sizeof(w.text) != OAE_WAITS_TEXT);
	if (IS_ERR(tag))
		return PTR_ERR(tag);
	if (get_user(w.flags, &arg->flags))
		return -EFAULT;
	if (w.flags & ~OAE_WAITS_LAST)
		return -EINVAL;
	oae_tag_lock(tag);
	if (w.flags & OAE_WAITS_LAST)
		v = f->client.waited;
	else
		oae_waits_look(tag, &v);
	oae_tag_unlock(tag);
	w.why = v.why;
	w.since_ns = v.since;
	w.until_ns = v.until;
	w.unread = v.unread;
	w.unread_bytes = v.bytes;
	w.rcvbuf = v.room;
	w.idle_ms = v.idle;
	oae_kid_mac(v.holder, w.holder);
	w.holder_vc = v.holder >> 56;
	w.holder_set = !!v.holder;
	oae_waits_text(&v, w.text, sizeof(w.text));
	return copy_to_user(arg, &w, sizeof(w)) ? -EFAULT : 0;
}

/* Whom the file listens for; * is any. */
static void file_show_listening(struct seq_file *m, const struct oae_file *f)
{
	u8 mac[ETH_ALEN];

	oae_kid_mac(f->kid, mac);
	seq_printf(m, "oae:\tlistening\nport:\t%s\n",
		   f->port_name[0] ? f->port_name : "*");
	if (is_zero_ether_addr(mac))
		seq_puts(m, "peer:\t*\n");
	else
		seq_printf(m, "peer:\t%pM\n", mac);
	if (f->kid_mask >> 56)
		seq_printf(m, "vc:\t%u\n", (u8)(f->kid >> 56));
	else
		seq_puts(m, "vc:\t*\n");
}

/*
 * /proc/PID/fdinfo: what `oae show -p` finds the owners of links by. Numbers and
 * their order are those of struct oae_status.
 */
static void file_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct oae_file *f = file->private_data;
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_status s = {};
	const char *word;

	seq_printf(m, "netns:\t%u\n", f->net->ns.inum);
	oae_ring_show(f, m);
	if (PTR_ERR(tag) == -ENOTCONN) {
		seq_puts(m, "oae:\tunattached\n");
		return;
	}
	if (IS_ERR(tag)) {
		file_show_listening(m, f);
		return;
	}
	oae_tag_lock(tag);
	word = file_tag_look(f, tag, &s);
	oae_tag_unlock(tag);
	seq_printf(m, "oae:\tattached\nport:\t%s\npeer:\t%pM\nvc:\t%u\nstate:\t%s\n",
		   s.port, s.peer, s.vc, word);
	seq_printf(m, "tx:\t%u\nrx:\t%u\nqueued:\t%u\nunread:\t%u\npending:\t%u\nuncollected:\t%u\n",
		   s.tx, s.rx, s.queued, s.unread, s.pending, s.uncollected);
	seq_printf(m, "committed:\t%llu\nreversed:\t%llu\nunknown:\t%llu\ndelivered:\t%llu\nfailures:\t%llu\n",
		   s.committed, s.reversed, s.unknown, s.delivered, s.failures);
}

/* The ioctls that need both read and write permission. */
static long file_ioctl_both_ways(struct file *file, unsigned int cmd,
				 void __user *arg)
{
	const fmode_t both = FMODE_READ | FMODE_WRITE;
	struct oae_file *f = file->private_data;
	bool nonblock = file->f_flags & O_NONBLOCK;
	bool may = (file->f_mode & both) == both;

	switch (cmd) {
	case OAE_SWAP_HALF:
		return may ? oae_file_swap(f, arg, nonblock) : -EBADF;
	case OAE_DO_VERB:
		return may ? oae_file_verb(f, arg, nonblock) : -EBADF;
	case OAE_EXPOSE:
		return may ? oae_file_expose(f, arg) : -EBADF;
	case OAE_LOCAL:
		return may ? oae_file_local(f, arg) : -EBADF;
	case OAE_RING:
		return may ? oae_ring_ioctl_make(f, arg) : -EBADF;
	case OAE_RING_ADD:
		return may ? oae_ring_ioctl_add(f, arg) : -EBADF;
	case OAE_RING_BELL:
		return may ? oae_ring_bell(f, arg) : -EBADF;
	default:
		return -ENOTTY;
	}
}

static long file_ioctl(struct file *file, unsigned int cmd, unsigned long argv)
{
	struct oae_file *f = file->private_data;
	void __user *arg = (void __user *)argv;

	switch (cmd) {
	case OAE_ATTACH:
		return file_ioctl_attach(f, arg);
	case OAE_SET_OPTIONS:
		return file_ioctl_set_options(f, arg);
	case OAE_GET_OPTIONS:
		return file_ioctl_get_options(f, arg);
	case OAE_STATUS:
		return file_ioctl_status(f, arg);
	case OAE_COLLECT:
		return oae_file_collect(f, arg);
	case OAE_CANCEL:
		return oae_file_cancel(f, arg);
	case OAE_DONE:
		return oae_file_done(f);
	case OAE_WAITS:
		return file_ioctl_waits(f, arg);
	case FIONREAD:
		return oae_file_fionread(f, arg);
	default:
		return file_ioctl_both_ways(file, cmd, arg);
	}
}

static __poll_t file_tag_mask(struct oae_file *f, struct oae_tag *tag)
{
	__poll_t mask = 0;

	bool busy = oae_ring_busy(f);

	oae_tag_lock(tag);
	if (oae_inbox_count(tag) && !busy)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (tag->dead)
		mask |= EPOLLHUP;
	else if (!busy && tag->nsnd < READ_ONCE(tag->node->knobs.sndq) &&
		 oae_client_room(&f->client))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (oae_client_events(&f->client, tag))
		mask |= EPOLLPRI | EPOLLRDBAND;
	if (oae_client_uncollected(&f->client))
		mask |= EPOLLPRI;
	oae_tag_unlock(tag);
	return mask;
}

static __poll_t file_poll(struct file *file, poll_table *wait)
{
	struct oae_file *f = file->private_data;
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_node *node = oae_file_node(f);

	poll_wait(file, &f->client.wait, wait);
	if (!IS_ERR(tag)) {
		/* No third wait queue: io_uring polls at most two. */
		poll_wait(file, &tag->users->poll_wait, wait);
		/*
		 * Pairs with the smp_mb() in oae_attach_readable(), and with that
		 * in oae_attach_writable().
		 */
		smp_mb();
		return file_tag_mask(f, tag) | oae_ring_poll(f);
	}
	/* Pairs with the smp_mb() in oae_ring_wake(). */
	smp_mb();
	if (PTR_ERR(tag) == -ENOTCONN)
		return oae_ring_busy(f) ? oae_ring_poll(f) : EPOLLERR;
	poll_wait(file, &node->fresh_wait, wait);
	return (oae_listen_count(f) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (oae_listen_dead(f) ? EPOLLHUP : 0);
}

static int file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct oae_file *f = file->private_data;

	return oae_ring_is_area(vma->vm_pgoff) ? oae_ring_mmap(f, vma) : oae_file_mmap(f, vma);
}

static const struct file_operations oae_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_release,
	.read_iter = oae_file_read_iter,
	.write_iter = oae_file_write_iter,
	.fsync = oae_file_fsync,
	.poll = file_poll,
	.mmap = file_mmap,
	.unlocked_ioctl = file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = file_show_fdinfo,
};

/**
 * oae_file_of() - the file behind a descriptor
 * @file: any open file
 *
 * Context: any.
 *
 * Return: the file of /dev/oae; NULL it is another one.
 */
struct oae_file *oae_file_of(struct file *file)
{
	return file->f_op == &oae_fops ? file->private_data : NULL;
}

/* An open file pins the module, so none is open when it is deregistered. */
struct miscdevice oae_chardev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "oae",
	.fops = &oae_fops,
	.mode = 0600,
};
