/* SPDX-License-Identifier: GPL-2.0 */
/* net: ports and their devices, received frames, admission, gateways. */
#ifndef OAE_NET_H
#define OAE_NET_H

#include "../tag/tag.h"

/* What the knob `dev` accepts. */
#define OAE_PORTS_TAKE	"takes a,b (these and no others), +a,-b, or *,-a (every one but a, later ones too), each device once; udp:ADDR[:PORT] makes a UDP port"

#define OAE_FEW_TAGS	512	/* that are told, or closed, while a lock of everybody's is held */

/* Does the node tell of its ports in the kernel log? */
static inline bool oae_node_says(const struct oae_node *node)
{
	return READ_ONCE(node->knobs.verbose) && oae_may_log(node->net);
}

/* netdev.c: what the kernel says of net devices */
extern struct notifier_block oae_netdev_nb;

/* ports.c: what is written to `dev` */
int oae_ports_set(struct oae_node *node, char *list, bool *going,
		  struct oae_refusal *why);

/* bind.c: a device becomes a port */
struct oae_port *oae_port_of_dev(struct oae_node *node, const struct net_device *dev);
bool oae_dev_is_up(const struct net_device *dev);
int oae_dev_check(struct oae_node *node, struct net_device *dev, const char **accepted);
int oae_dev_bind(struct oae_node *node, struct net_device *dev);
unsigned int oae_node_but(const struct oae_node *node, const char *name);
bool oae_dev_follow(struct oae_node *node, struct net_device *dev);

/* change.c: tags are told what happens to ports */
#define OAE_CHANGE_STATE	0x01	/* up, down, or paths by it are to go */
#define OAE_CHANGE_MTU		0x02
#define OAE_CHANGE_ADDRESS	0x04
#define OAE_CHANGE_SETTLE	0x08	/* oae_port_settle() */
#define OAE_CHANGE_GONE		0x10	/* and nothing else counts any more */

void oae_change_add(struct oae_port *port, unsigned int change);
void oae_changes_tell(struct oae_node *node);
void oae_changes_later(struct oae_node *node);
void oae_changes_finish(struct oae_node *node);
void oae_port_settle(struct oae_port *port, u64 us);
void oae_port_hush(struct oae_port *port);
void oae_changes_init(struct oae_node *node);
void oae_changes_exit(struct oae_node *node);

/* release.c: a port goes, or its links close */
void oae_links_close(struct oae_node *node);
void oae_node_close(struct oae_node *node);
void oae_node_reopen(struct oae_node *node);
unsigned int oae_ports_collect(struct oae_node *node, struct list_head *going, bool all,
			       unsigned int max);
void oae_ports_detach(struct list_head *going, int err);
void oae_ports_release(struct oae_node *node, unsigned int ms);
void oae_ports_released(struct oae_node *node);
void oae_ports_release_later(struct oae_node *node, unsigned int ms);
void oae_release_init(struct oae_node *node);
void oae_release_exit(struct oae_node *node);

/* udp.c: UDP ports */
int oae_udp_name(struct oae_node *node, const struct oae_udp_end *local,
		 char name[IFNAMSIZ]);
int oae_udp_make(struct oae_node *node, const struct oae_udp_end *local,
		 char name[IFNAMSIZ]);
bool oae_udp_is(const struct net_device *dev);
const char *oae_udp_text(const struct net_device *dev);
void oae_udp_tagged(const struct oae_port *port, const u8 mac[ETH_ALEN]);
unsigned int oae_udp_sweep(struct oae_node *node, unsigned int max);
int oae_udp_init(void);
void oae_udp_exit(void);

/* udppeer.c: where the peers of a UDP port were heard */
u32 oae_udp_silent(const struct oae_port *port, const u8 mac[ETH_ALEN]);
bool oae_udp_configured(const struct oae_port *port, const u8 mac[ETH_ALEN]);

/* resolve.c: which port and MAC an address means */
int oae_addr_resolve(struct oae_node *node, const struct oae_addr *addr, u8 vc,
		     struct oae_port **port, u8 mac[ETH_ALEN]);
void oae_addr_used(const struct oae_addr *addr, struct oae_tag *tag);
void oae_addr_heard(struct oae_node *node);
struct oae_tag *oae_addr_asks(struct oae_port *port, u64 kid);

/* rcv.c */
int oae_rcv(struct sk_buff *skb, struct net_device *dev,
	    struct packet_type *pt, struct net_device *orig_dev);

/* hello.c: the gateway of a port */
void oae_port_way_init(struct oae_port *port);
bool oae_port_way_hello(struct oae_port *port, const u8 *from,
			const struct oae_frame *f);
bool oae_port_way_via(struct oae_port *port, const u8 *from,
		      const struct oae_frame *f, u8 peer[ETH_ALEN]);
bool oae_port_way_back(struct oae_port *port, const struct oae_frame *question,
		       u8 dest[ETH_ALEN], struct oae_frame *f);
void oae_port_way_announce(struct oae_port *port);
void oae_port_way_leave(struct oae_port *port);
void oae_node_way_use_gw(struct oae_node *node);
void oae_node_way_nhmac(struct oae_node *node);
int oae_node_way_print(struct oae_node *node, char *buf, size_t size);

/* admit.c: peers without a tag */
bool oae_may_answer(struct oae_node *node);
void oae_admit_older(struct oae_port *port, struct sk_buff *skb);
void oae_admit(struct oae_port *port, const u8 *peer,
	       const struct oae_frame *f, struct oae_tag *closed);

/* step.c */
bool oae_step_hold(struct oae_port *port, struct sk_buff *skb,
		   void (*rcv)(struct oae_port *port, struct sk_buff *skb));
void oae_step_set(struct oae_node *node, int step);
void oae_step_once(struct oae_node *node);
void oae_step_purge(struct oae_node *node, const struct oae_port *port);

#endif /* OAE_NET_H */
