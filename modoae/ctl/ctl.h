/* SPDX-License-Identifier: GPL-2.0 */
/* ctl: the interfaces for administrators: parameters and /proc/net/modoae. */
#ifndef OAE_CTL_H
#define OAE_CTL_H

#include "../dev/dev.h"

/* knobs.c: what all parameters share, and those that are numbers or words */
extern const struct oae_knob_class oae_knob_class;
struct oae_knobs *oae_knobs_of(void *owner);
int oae_knobs_init(struct oae_node *node);
void oae_knobs_exit(struct oae_node *node);
int oae_knobs_check_defaults(void);

/* params.c: the other parameters, and the node that a parameter acts on */
int oae_params_owner(void **owner, bool write);
int oae_params_start(void);
void oae_params_stop(void);

/* target.c: the link that `target` opens */
int oae_target_set(struct oae_node *node, const struct oae_addr *addr);
void oae_target_init(struct oae_node *node);
void oae_target_bound(struct oae_node *node);
void oae_target_exit(struct oae_node *node);

/* What is shown of a link. The attributes in include/uapi/oae_netlink.h say what each is. */
struct oae_tag_view {
	const char *port, *state, *offer, *hold, *way, *word, *says;
	u8 peer[ETH_ALEN];
	u8 vc, lanes, window;
	u32 rx, tx, unread, queue, cwnd, ssthresh;
	u64 rtt, min_rtt, kid, age, repaired, failures;
	struct oae_waits_view waits;
	char text[OAE_WAITS_TEXT];
};

/* A column of /proc/net/modoae and an attribute of netlink. The last has no title, and is PAD. */
struct oae_field {
	u8 attr, kind;		/* kind: enum field_kind */
	u8 size;		/* of the member */
	s8 width;		/* of the column; negative: on the left */
	u16 at;			/* offset of the member */
	const char *title;
};

/* view.c: the fields of a link and of a neighbour */
extern const struct oae_field oae_link_fields[];	/* of a struct oae_tag_view */
extern const struct oae_field oae_neighbour_fields[];	/* of a struct oae_neigh_view */
void oae_fields_show(const struct oae_field *f, struct seq_file *m, const void *view);
bool oae_fields_put(const struct oae_field *f, struct sk_buff *skb, const void *view);

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
