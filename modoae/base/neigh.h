/* SPDX-License-Identifier: GPL-2.0 */
/* Neighbours: hosts heard on the segments of the ports (protocol 4.13). From base.h. */
#ifndef OAE_BASE_NEIGH_H
#define OAE_BASE_NEIGH_H

/**
 * struct oae_neigh_where - where a node was heard
 * @port: the port; valid in the RCU read-side critical section
 * @mac: the node's address there
 * @mtu: bytes behind the Ethernet header that it carries there
 */
struct oae_neigh_where {
	struct oae_port *port;
	u8 mac[ETH_ALEN] __aligned(2);
	unsigned int mtu;
};

/**
 * struct oae_neigh_view - what people and programs are shown of a neighbour
 * @id: what the node says its id is
 * @inc: its incarnation
 * @where: where it was heard
 * @port: name of its net device
 * @heard: how long ago, ms
 */
struct oae_neigh_view {
	u64 id;
	u64 inc;
	struct oae_neigh_where where;
	const char *port;
	u64 heard;
};

#define OAE_NEIGH_BUCKETS	128	/* a power of two */

struct oae_neighbour;

/**
 * struct oae_neighbours - the neighbours of a node
 * @node: the node
 * @timer: says HELLO, forgets who is silent; runs while there is a port or a neighbour
 * @lock: what follows, and oae_port.announce; may be taken under tag->lock
 * @count: number of entries
 * @seed: of the hashes
 * @new_window: how many were new, or changed, in this second
 * @once: those heard once, the longest silent first
 * @often: the others, the same
 * @used: which of @slot are taken
 * @slot: every entry has one; RCU for readers
 * @by_where: by port and address; RCU for readers
 * @by_id: by id; RCU for readers
 */
struct oae_neighbours {
	struct oae_node *node;
	struct timer_list timer;
	spinlock_t lock;	/* see above */
	unsigned int count;
	u32 seed;
	atomic64_t new_window;
	struct list_head once;
	struct list_head often;
	DECLARE_BITMAP(used, OAE_NEIGH_MOST);
	struct oae_neighbour __rcu *slot[OAE_NEIGH_MOST];
	struct hlist_head by_where[OAE_NEIGH_BUCKETS];
	struct hlist_head by_id[OAE_NEIGH_BUCKETS];
};

/* neigh.c: the table */
int oae_neigh_make(struct oae_node *node);
void oae_neigh_exit(struct oae_node *node);
void oae_neigh_rcv(struct oae_port *port, const u8 *from, const struct oae_frame *f);
void oae_neigh_drop(struct oae_node *node, const struct oae_port *port);
void oae_neigh_gone(struct oae_node *node, const struct oae_port *port, const u8 *mac);
unsigned int oae_neigh_others(struct oae_node *node, const struct oae_port *port,
			      const u8 *mac, struct oae_neigh_where *to, unsigned int max);
unsigned int oae_neigh_of_id(struct oae_node *node, u64 id, struct oae_neigh_where *to,
			     unsigned int max);
u64 oae_neigh_id(struct oae_node *node, const struct oae_port *port, const u8 *mac);
u32 oae_neigh_silent(struct oae_node *node, const struct oae_port *port, const u8 *mac);
bool oae_neigh_age(struct oae_neighbours *n, u64 now);
bool oae_neigh_at(struct oae_node *node, unsigned int *at, struct oae_neigh_view *view);

/* announce.c: saying HELLO */
void oae_announce_port(struct oae_port *port);
void oae_announce_leave(struct oae_port *port);
void oae_announce_moved(struct oae_port *port, const u8 *old);
void oae_announce_to(struct oae_port *port);
void oae_announce_changed(struct oae_node *node);
void oae_announce_timer(struct timer_list *timer);

#endif /* OAE_BASE_NEIGH_H */
