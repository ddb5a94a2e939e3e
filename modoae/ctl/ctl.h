/* SPDX-License-Identifier: GPL-2.0 */
/* ctl: the interfaces for administrators: parameters and /proc/net/modoae. */
#ifndef OAE_CTL_H
#define OAE_CTL_H

#include "../dev/dev.h"

/* knobs.c: the parameters that are numbers or words */
extern const struct oae_knob_class oae_knob_class;
void oae_knobs_init(struct oae_node *node);
int oae_knobs_check_defaults(void);

/* params.c: the other parameters, and the node that a parameter acts on */
int oae_params_init(struct oae_node *node);
void oae_params_exit(struct oae_node *node);
int oae_params_owner(void **owner, bool write);
int oae_params_start(void);
void oae_params_stop(void);

/* target.c: the link that `target` opens */
int oae_target_set(struct oae_node *node, const struct oae_addr *addr);
void oae_target_init(struct oae_node *node);
void oae_target_bound(struct oae_node *node);
void oae_target_exit(struct oae_node *node);

/**
 * struct oae_tag_view - what is shown of a link
 * @peer: MAC of the peer
 * @vc: virtual channel
 * @state: state of the link, in a word
 * @offer: what goes out, in a word
 * @hold: what comes in, in a word
 * @way: direct, or gw
 * @rx: number of the last transaction delivered
 * @tx: number of the last transaction committed
 * @unread: transactions delivered and not read
 * @queue: transactions queued to be sent
 * @rtt: smoothed round trip, ns
 * @min_rtt: the shortest of late, ns, 0 not known
 * @age: s
 * @lanes: numbers under way
 * @window: numbers that both ends have agreed on, 0 not known yet
 * @cwnd: frames with a content that may be under way
 * @ssthresh: up to here @cwnd doubles with each round trip
 * @repaired: lost frames that were offered again without a freeze
 * @failures: freezes that the link has recovered from
 * @waits: what it waits for
 * @says: the same, in a sentence
 */
struct oae_tag_view {
	u8 peer[ETH_ALEN];
	u8 vc;
	const char *state, *offer, *hold, *way;
	u32 rx, tx;
	u32 unread, queue;
	u64 rtt, min_rtt;
	u64 age;
	u8 lanes, window;
	u16 cwnd, ssthresh;
	u64 repaired, failures;
	struct oae_waits_view waits;
	char says[OAE_WAITS_TEXT];
};

/* procfs.c */
void oae_tag_look(struct oae_tag *tag, struct oae_tag_view *v);
int oae_links_close_to(struct oae_node *node, const struct oae_addr *addr,
		       u8 vc);
int oae_procfs_init(struct oae_node *node);
void oae_procfs_exit(struct oae_node *node);

/* netlink.c */
int oae_netlink_init(void);
void oae_netlink_exit(void);

/* netlink_event.c */
bool oae_event_send(struct oae_node *node);

#endif /* OAE_CTL_H */
