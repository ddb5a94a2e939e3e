// SPDX-License-Identifier: GPL-2.0
/*
 * From where the peers of a UDP port were heard (doc/protocol.md section 4.15).
 * link/udpmap.c decides whom to believe; here is what it decides on.
 *
 * An entry is replaced, never changed, but for the time at which its peer was last heard.
 * Strangers make entries as they like; so these are few, and the oldest of them goes. What
 * becomes of a stranger whose entry has gone: the answer to it goes to where its MAC stands
 * for, or nowhere. An entry whose peer has a tag is not in their reach: a tag is made for
 * nobody who did not get an answer at that endpoint.
 */

#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "udp.h"

/* Keepalives within which a peer is heard that is there. */
#define PEER_KEEPALIVES	3

/**
 * struct udp_peer - an entry: a peer and the endpoint that it was heard from
 * @hash: in oae_udp_table.hash
 * @list: in oae_udp_table.strangers, or .friends
 * @mac: the peer
 * @end: the endpoint
 * @heard: when the peer was last heard from there, jiffies
 * @gen: oae_node.udp_gen when @end was found to be right
 * @friend: the peer has had a tag
 * @rcu: the entry is freed after RCU
 */
struct udp_peer {
	struct hlist_node hash;
	struct list_head list;
	u64 mac;
	struct oae_udp_end end;
	unsigned long heard;
	unsigned int gen;
	bool friend;
	struct rcu_head rcu;
};

static struct hlist_head *peer_chain(struct oae_udp_table *t, u64 mac)
{
	return &t->hash[siphash_1u64(mac, &t->key) & (ARRAY_SIZE(t->hash) - 1)];
}

/* Under RCU, or the table's lock. */
static struct udp_peer *peer_find(struct oae_udp_table *t, u64 mac)
{
	struct udp_peer *peer;

	hlist_for_each_entry_rcu(peer, peer_chain(t, mac), hash,
				 lockdep_is_held(&t->lock))
		if (peer->mac == mac)
			return peer;
	return NULL;
}

/* For how long nothing was heard of a peer, ms. */
static u32 peer_silent(const struct udp_peer *peer)
{
	u64 ms = jiffies64_to_msecs(jiffies - READ_ONCE(peer->heard));

	return min_t(u64, ms, U32_MAX - 1);
}

static u32 peer_patience(const struct oae_udp *udp)
{
	return PEER_KEEPALIVES * READ_ONCE(udp->node->knobs.keepalive_ms);
}

/* What is known of a peer; @peer may be NULL. */
static void peer_known(struct oae_udp *udp, const struct udp_peer *peer,
		       const u8 mac[ETH_ALEN], struct oae_udp_known *known)
{
	memset(known, 0, sizeof(*known));
	known->patience = peer_patience(udp);
	oae_udp_peer(udp->node, mac, udp->local.v6, &known->fixed);
	oae_udp_map(&udp->local, mac, &known->mapped);
	if (peer) {
		known->learned = peer->end;
		known->silent = peer_silent(peer);
	}
}

static void peer_drop(struct oae_udp_table *t, struct udp_peer *peer)
{
	lockdep_assert_held(&t->lock);
	hlist_del_rcu(&peer->hash);
	list_del(&peer->list);
	if (peer->friend)
		t->nfriends--;
	else
		t->nstrangers--;
	kfree_rcu(peer, rcu);
}

static void peer_add(struct oae_udp_table *t, struct udp_peer *peer)
{
	lockdep_assert_held(&t->lock);
	hlist_add_head_rcu(&peer->hash, peer_chain(t, peer->mac));
	if (peer->friend) {
		list_add_tail(&peer->list, &t->friends);
		t->nfriends++;
		return;
	}
	list_add_tail(&peer->list, &t->strangers);
	if (t->nstrangers++ == OAE_UDP_STRANGERS)
		peer_drop(t, list_first_entry(&t->strangers, struct udp_peer, list));
}

/* Learn where a peer is. @old: what was known, or NULL. False: no memory. */
static bool peer_learn(struct oae_udp *udp, struct udp_peer *old, u64 mac,
		       const struct oae_udp_end *end, unsigned int gen)
{
	struct udp_peer *peer = kzalloc(sizeof(*peer), GFP_ATOMIC | __GFP_NOWARN);

	if (!peer) {
		oae_count(udp->node, OAE_S_NO_MEMORY);
		return false;
	}
	peer->mac = mac;
	peer->end = *end;
	peer->heard = jiffies;
	peer->gen = gen;
	if (old) {
		peer->friend = old->friend;
		peer_drop(&udp->table, old);
	}
	peer_add(&udp->table, peer);
	oae_count(udp->node, OAE_S_UDP_LEARNED);
	return true;
}

/* What is not as it was is judged under the lock. */
static bool peer_judge(struct oae_udp *udp, const u8 mac[ETH_ALEN],
		       const struct oae_udp_end *from)
{
	/* Pairs with the smp_store_release() of a write to `udp_peers`. */
	unsigned int gen = smp_load_acquire(&udp->node->udp_gen);
	struct oae_udp_table *t = &udp->table;
	u64 key = ether_addr_to_u64(mac);
	struct oae_udp_known known;
	struct udp_peer *peer;
	bool good = false;

	spin_lock_bh(&t->lock);
	peer = peer_find(t, key);
	peer_known(udp, peer, mac, &known);
	switch (oae_udp_judge(&known, from)) {
	case OAE_UDP_REFUSE:
		oae_count(udp->node, OAE_S_UDP_REFUSED);
		break;
	case OAE_UDP_KNOWN:
		WRITE_ONCE(peer->heard, jiffies);
		WRITE_ONCE(peer->gen, gen);
		good = true;
		break;
	case OAE_UDP_LEARN:
		good = peer_learn(udp, peer, key, from, gen);
		break;
	}
	spin_unlock_bh(&t->lock);
	return good;
}

/**
 * oae_udp_hear() - a datagram has come: is it believed to be from the peer it names?
 * @udp: the device
 * @mac: the peer
 * @from: where it came from, which is learned if nothing speaks against it
 *
 * Counts what is refused.
 *
 * Context: softirq, or BH off; under rcu_read_lock(); takes the table's lock.
 *
 * Return: true if it is let in.
 */
bool oae_udp_hear(struct oae_udp *udp, const u8 mac[ETH_ALEN],
		  const struct oae_udp_end *from)
{
	struct udp_peer *peer = peer_find(&udp->table, ether_addr_to_u64(mac));
	unsigned long now = jiffies;

	if (unlikely(!peer || !oae_udp_same(&peer->end, from) ||
		     READ_ONCE(peer->gen) != READ_ONCE(udp->node->udp_gen)))
		return peer_judge(udp, mac, from);
	/* The line of the cache is shared: not written for each frame. */
	if (READ_ONCE(peer->heard) != now)
		WRITE_ONCE(peer->heard, now);
	return true;
}

/**
 * oae_udp_find() - where do frames for a peer go?
 * @udp: the device
 * @mac: the peer
 * @to: filled in if true is returned
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: true if an endpoint is known.
 */
bool oae_udp_find(struct oae_udp *udp, const u8 mac[ETH_ALEN],
		  struct oae_udp_end *to)
{
	struct udp_peer *peer = peer_find(&udp->table, ether_addr_to_u64(mac));
	const struct oae_udp_end *end;
	struct oae_udp_known known;

	if (likely(peer && READ_ONCE(peer->gen) == READ_ONCE(udp->node->udp_gen))) {
		*to = peer->end;
		return true;
	}
	peer_known(udp, peer, mac, &known);
	end = oae_udp_whither(&known);
	if (end)
		*to = *end;
	return end;
}

/**
 * oae_udp_silent() - for how long was a peer of a UDP port not heard?
 * @port: the port, not gone
 * @mac: the peer
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: ms; U32_MAX: it was never heard, or that is forgotten.
 */
u32 oae_udp_silent(const struct oae_port *port, const u8 mac[ETH_ALEN])
{
	struct oae_udp *udp = netdev_priv(port->dev);
	struct udp_peer *peer = peer_find(&udp->table, ether_addr_to_u64(mac));

	return peer ? peer_silent(peer) : U32_MAX;
}

/**
 * oae_udp_configured() - has the knob `udp_peers` an endpoint for a peer of a UDP port?
 * @port: the port, not gone
 * @mac: the peer
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: true if so: nobody else is heard with this MAC.
 */
bool oae_udp_configured(const struct oae_port *port, const u8 mac[ETH_ALEN])
{
	const struct oae_udp *udp = netdev_priv(port->dev);
	struct oae_udp_end end;

	oae_udp_peer(udp->node, mac, udp->local.v6, &end);
	return end.port;
}

/*
 * A friend more. If there are as many as there may be tags, one goes that was not heard
 * for long. False: all were heard.
 */
static bool peer_has_room(struct oae_udp *udp)
{
	struct oae_udp_table *t = &udp->table;
	struct udp_peer *oldest;

	if (t->nfriends < READ_ONCE(udp->node->knobs.max_tags))
		return true;
	oldest = list_first_entry_or_null(&t->friends, struct udp_peer, list);
	if (!oldest)
		return false;
	if (peer_silent(oldest) < peer_patience(udp)) {
		list_move_tail(&oldest->list, &t->friends);
		return false;
	}
	peer_drop(t, oldest);
	return true;
}

/**
 * oae_udp_befriend() - a peer has a tag: keep its endpoint, whatever strangers do
 * @udp: the device
 * @mac: the peer
 *
 * Context: softirq, or BH off; under rcu_read_lock(); takes the table's lock.
 */
void oae_udp_befriend(struct oae_udp *udp, const u8 mac[ETH_ALEN])
{
	struct oae_udp_table *t = &udp->table;
	u64 key = ether_addr_to_u64(mac);
	struct udp_peer *peer = peer_find(t, key);

	if (likely(!peer || READ_ONCE(peer->friend)))
		return;
	spin_lock_bh(&t->lock);
	peer = peer_find(t, key);
	if (peer && !peer->friend && peer_has_room(udp)) {
		list_move_tail(&peer->list, &t->friends);
		WRITE_ONCE(peer->friend, true);
		t->nstrangers--;
		t->nfriends++;
	}
	spin_unlock_bh(&t->lock);
}

/**
 * oae_udp_table_init() - begin with no peer
 * @udp: the device, not registered yet
 *
 * Context: process.
 */
void oae_udp_table_init(struct oae_udp *udp)
{
	struct oae_udp_table *t = &udp->table;
	unsigned int i;

	spin_lock_init(&t->lock);
	get_random_bytes(&t->key, sizeof(t->key));
	for (i = 0; i < ARRAY_SIZE(t->hash); i++)
		INIT_HLIST_HEAD(&t->hash[i]);
	INIT_LIST_HEAD(&t->strangers);
	INIT_LIST_HEAD(&t->friends);
}

/**
 * oae_udp_table_exit() - forget all peers
 * @udp: the device, whose socket is closed
 *
 * Context: process.
 */
void oae_udp_table_exit(struct oae_udp *udp)
{
	struct oae_udp_table *t = &udp->table;
	struct udp_peer *peer, *next;

	spin_lock_bh(&t->lock);
	list_for_each_entry_safe(peer, next, &t->strangers, list)
		peer_drop(t, peer);
	list_for_each_entry_safe(peer, next, &t->friends, list)
		peer_drop(t, peer);
	spin_unlock_bh(&t->lock);
}
