/* SPDX-License-Identifier: GPL-2.0 */
/* What the benchmarks' modules share: samples, and devices by address. */
#ifndef BENCH_H
#define BENCH_H

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

/* Times in ns, one after another, until there are as many as wanted. */
struct bench {
	u32 *sample;
	unsigned int n, max;
	struct completion done;
};

static inline int bench_init_samples(struct bench *b, unsigned int max)
{
	b->n = 0;
	b->max = max;
	init_completion(&b->done);
	b->sample = max ? vmalloc(array_size(max, sizeof(*b->sample))) : NULL;
	return b->sample ? 0 : -ENOMEM;
}

static inline void bench_begin(struct bench *b)
{
	b->n = 0;
	reinit_completion(&b->done);
}

/* Note a time. False: that was the last one. */
static inline bool bench_note(struct bench *b, u64 ns)
{
	if (b->n == b->max)
		return false;
	b->sample[b->n++] = min_t(u64, ns, U32_MAX);
	if (b->n < b->max)
		return true;
	complete(&b->done);
	return false;
}

static inline int bench_compare(const void *a, const void *b)
{
	return *(u32 *)a < *(u32 *)b ? -1 : *(u32 *)a > *(u32 *)b;
}

static inline void bench_sort(struct bench *b)
{
	sort(b->sample, b->n, sizeof(*b->sample), bench_compare, NULL);
}

static inline void bench_report(struct bench *b, const char *what,
				unsigned int bytes)
{
	bench_sort(b);
	pr_info("%s bytes=%u count=%u min=%u p50=%u p90=%u p99=%u ns\n", what,
		bytes, b->n, b->sample[0], b->sample[b->n / 2],
		b->sample[b->n / 10 * 9], b->sample[b->n / 100 * 99]);
}

static inline int bench_wait(struct bench *b, const char *what,
			     unsigned int bytes, unsigned int seconds)
{
	if (wait_for_completion_timeout(&b->done, seconds * HZ) &&
	    b->n == b->max) {
		bench_report(b, what, bytes);
		return 0;
	}
	pr_err("%s: no answer after %u round trips\n", what, b->n);
	return -ETIMEDOUT;
}

/* The device with that address, in whichever namespace; held. NULL: none. */
static inline struct net_device *bench_device(const u8 *mac)
{
	struct net_device *found = NULL, *d;
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		for_each_netdev_rcu(net, d)
			if (!found && ether_addr_equal(d->dev_addr, mac))
				found = d;
	}
	if (found)
		dev_hold(found);
	rcu_read_unlock();
	return found;
}

#endif /* BENCH_H */
