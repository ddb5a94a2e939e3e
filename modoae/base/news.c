// SPDX-License-Identifier: GPL-2.0
/*
 * News of a node: what happens to its links and ports, for those who listen with
 * netlink (ctl/netlink_event.c). Neighbours have news, too: there may be a flood of those, so
 * they have room of their own, and never take that of others.
 *
 * An event only stores its news here, perhaps under tag->lock: it allocates nothing
 * and wakes nobody. A timer has them sent shortly afterwards. News are numbered in
 * each namespace. If there is no room the oldest are dropped and counted, so a gap
 * in the numbers is exactly what was missed.
 */

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timer.h>

#include "base.h"

#define NEWS_ROOM	256	/* of a kind, between two runs of the timer */

/* News that wait to be sent, in order; counts that only grow. */
struct news_ring {
	unsigned int added;
	unsigned int taken;
	struct oae_news item[NEWS_ROOM];
};

struct oae_newsdesk {
	struct oae_node *node;
	struct timer_list timer;
	spinlock_t lock;	/* what follows; nests in tag->lock */
	struct oae_news_state state;
	struct news_ring ours;		/* of links and ports */
	struct news_ring neighbours;
};

static void news_timer(struct timer_list *timer)
{
	struct oae_newsdesk *desk = container_of(timer, struct oae_newsdesk,
						 timer);

	if (desk->node->news_send(desk->node))
		mod_timer(timer, jiffies + 1);
}

/**
 * oae_news_make() - make room for the news of a node, if there is none
 * @node: the node, without a port yet
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_news_make(struct oae_node *node)
{
	struct oae_newsdesk *desk;

	if (node->newsdesk)
		return 0;
	desk = kvzalloc(sizeof(*desk), GFP_KERNEL_ACCOUNT);
	if (!desk)
		return -ENOMEM;
	desk->node = node;
	timer_setup(&desk->timer, news_timer, 0);
	spin_lock_init(&desk->lock);
	/* Publishes what was initialised. Pairs with the acquire in oae_news_state(). */
	smp_store_release(&node->newsdesk, desk);
	return 0;
}

/**
 * oae_news_exit() - free the room for the news of a node
 * @node: the node, which has no tag and no port any more
 *
 * Context: process, may sleep.
 */
void oae_news_exit(struct oae_node *node)
{
	if (!node->newsdesk)
		return;
	oae_timer_end(&node->newsdesk->timer);
	kvfree(node->newsdesk);
	node->newsdesk = NULL;
}

/**
 * oae_news_add() - store a piece of news, which is sent shortly afterwards
 * @node: the node, which has a port
 * @news: the news, its number not filled in
 *
 * Context: any but hard interrupts.
 */
void oae_news_add(struct oae_node *node, const struct oae_news *news)
{
	struct oae_newsdesk *desk = node->newsdesk;
	struct news_ring *ring = news->id ? &desk->neighbours : &desk->ours;
	struct oae_news *item;

	spin_lock_bh(&desk->lock);
	if (ring->added - ring->taken == NEWS_ROOM) {
		ring->taken++;
		desk->state.missed++;
	}
	item = &ring->item[ring->added++ % NEWS_ROOM];
	*item = *news;
	item->number = ++desk->state.added;
	if (!timer_pending(&desk->timer))
		mod_timer(&desk->timer, jiffies + 1);
	spin_unlock_bh(&desk->lock);
}

/**
 * oae_news_port() - a port has news
 * @port: the port; the caller keeps its device alive
 * @what: the news, in a word; a constant
 *
 * Context: any but hard interrupts.
 */
void oae_news_port(const struct oae_port *port, const char *what)
{
	struct oae_news news = { .now = local_clock(), .what = what };

	strscpy(news.port, port->dev->name, sizeof(news.port));
	oae_news_add(port->node, &news);
}

static const struct oae_news *news_oldest(const struct news_ring *ring)
{
	return ring->taken == ring->added ? NULL : &ring->item[ring->taken % NEWS_ROOM];
}

/* The ring with the oldest news of all, or one that is empty. */
static struct news_ring *news_next(struct oae_newsdesk *desk)
{
	const struct oae_news *ours = news_oldest(&desk->ours);
	const struct oae_news *theirs = news_oldest(&desk->neighbours);

	return !theirs || (ours && ours->number < theirs->number) ? &desk->ours :
								    &desk->neighbours;
}

/**
 * oae_news_take() - take the oldest news
 * @node: the node
 * @news: filled in
 *
 * Context: any but hard interrupts.
 *
 * Return: false if there is none.
 */
bool oae_news_take(struct oae_node *node, struct oae_news *news)
{
	struct oae_newsdesk *desk = node->newsdesk;
	const struct oae_news *oldest;
	struct news_ring *ring;

	spin_lock_bh(&desk->lock);
	ring = news_next(desk);
	oldest = news_oldest(ring);
	if (oldest) {
		*news = *oldest;
		ring->taken++;
	}
	news->missed = desk->state.missed;
	spin_unlock_bh(&desk->lock);
	return oldest;
}

/**
 * oae_news_sent() - a piece of news that was taken has been sent
 * @node: the node
 * @news: the news
 * @lost: it could not be sent
 *
 * Context: any but hard interrupts.
 */
void oae_news_sent(struct oae_node *node, const struct oae_news *news,
		   bool lost)
{
	struct oae_newsdesk *desk = node->newsdesk;

	spin_lock_bh(&desk->lock);
	desk->state.sent = news->number;
	desk->state.missed += lost;
	spin_unlock_bh(&desk->lock);
}

/**
 * oae_news_state() - how many pieces of news there were
 * @node: the node
 * @state: filled in
 *
 * Context: any but hard interrupts.
 */
void oae_news_state(struct oae_node *node, struct oae_news_state *state)
{
	/* Pairs with the smp_store_release() in oae_news_make(). */
	struct oae_newsdesk *desk = smp_load_acquire(&node->newsdesk);

	memset(state, 0, sizeof(*state));
	if (!desk)
		return;
	spin_lock_bh(&desk->lock);
	*state = desk->state;
	spin_unlock_bh(&desk->lock);
}
