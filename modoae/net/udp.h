/* SPDX-License-Identifier: GPL-2.0 */
/* UDP ports: the device (udp.c), and the endpoints of its peers (udppeer.c). */
#ifndef OAE_NET_UDP_H
#define OAE_NET_UDP_H

#include <linux/siphash.h>
#include <linux/workqueue.h>

#include "net.h"

#define OAE_UDP_HASH_BITS	8
#define OAE_UDP_STRANGERS	256	/* the most endpoints kept of peers without a tag */

/* The device's own counters; see oae_count(). */
enum oae_udp_stat {
	OAE_UDP_RX_PACKETS,
	OAE_UDP_RX_BYTES,
	OAE_UDP_RX_DROPPED,
	OAE_UDP_TX_PACKETS,
	OAE_UDP_TX_BYTES,
	OAE_UDP_TX_DROPPED,
	OAE_UDP_STAT_END
};

struct oae_udp_stats {
	u64 v[OAE_UDP_STAT_END];
};

/**
 * struct oae_udp_table - from where the peers of a UDP port were heard
 * @lock: changes; nests in no other lock, and none in it. Readers use RCU
 * @key: so that nobody can choose peers that collide
 * @hash: the entries by MAC
 * @strangers: entries of peers without a tag, the oldest first
 * @nstrangers: how many
 * @friends: entries of peers that have had a tag, the oldest first
 * @nfriends: how many
 */
struct oae_udp_table {
	spinlock_t lock;	/* changes */
	siphash_key_t key;
	struct hlist_head hash[1 << OAE_UDP_HASH_BITS];
	struct list_head strangers;
	unsigned int nstrangers;
	struct list_head friends;
	unsigned int nfriends;
};

/**
 * struct oae_udp - the device of a UDP port
 * @list: node->udps
 * @dev: the device
 * @node: the node
 * @sock: bound to @local
 * @local: the own endpoint
 * @text: what the knob `dev` calls the port
 * @table: the peers
 * @stats: the device's counters
 * @whole: MTU of the device when no path is known to carry less; under RTNL
 * @adjusting: the MTU is being changed here; under RTNL
 * @path: MTU of the narrowest path, 0 none that is narrower than the device's MTU
 * @narrow: sets the device's MTU to @path
 * @widen: sets it to @whole again
 */
struct oae_udp {
	struct list_head list;
	struct net_device *dev;
	struct oae_node *node;
	struct socket *sock;
	struct oae_udp_end local;
	char text[OAE_UDP_TEXT];
	struct oae_udp_table table;
	struct oae_udp_stats __percpu *stats;
	unsigned int whole;
	bool adjusting;
	unsigned int path;
	struct delayed_work narrow;
	struct delayed_work widen;
};

/* udppeer.c */
void oae_udp_table_init(struct oae_udp *udp);
void oae_udp_table_exit(struct oae_udp *udp);
bool oae_udp_hear(struct oae_udp *udp, const u8 mac[ETH_ALEN],
		  const struct oae_udp_end *from);
bool oae_udp_find(struct oae_udp *udp, const u8 mac[ETH_ALEN],
		  struct oae_udp_end *to);
void oae_udp_befriend(struct oae_udp *udp, const u8 mac[ETH_ALEN]);

#endif /* OAE_NET_UDP_H */
