// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/modoae, one for each namespace:
 *   tags	the links; `close [DEV/]ADDR [VC]` written to it closes one
 *   neighbours	hosts heard on the segments of the ports
 *   stats	all counters
 *   ev_log	the last events
 *   noc_debug	data; see dev/noc_debug.c
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>

#include "ctl.h"

/*
 * tags: a walk over the table. Each read() starts the walk again and skips the tags
 * already shown. If the table is resized meanwhile, a tag may be shown twice.
 */

struct oae_tags_iter {
	struct seq_net_private p;
	struct rhashtable_iter walk;
};

static struct oae_tag *procfs_tags_step(struct oae_tags_iter *iter)
{
	struct oae_tag *tag;

	do {
		tag = rhashtable_walk_next(&iter->walk);
	} while (tag == ERR_PTR(-EAGAIN));	/* the table was resized */
	return IS_ERR(tag) ? NULL : tag;
}

static void *procfs_tags_start(struct seq_file *m, loff_t *pos)
	__acquires(RCU)
{
	struct oae_tags_iter *iter = m->private;
	void *v = SEQ_START_TOKEN;
	loff_t skip;

	rhashtable_walk_enter(&oae_node(seq_file_net(m))->tags, &iter->walk);
	rhashtable_walk_start(&iter->walk);
	for (skip = *pos; skip && v; skip--)
		v = procfs_tags_step(iter);
	return v;
}

static void *procfs_tags_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return procfs_tags_step(m->private);
}

static void procfs_tags_stop(struct seq_file *m, void *v)
	__releases(RCU)
{
	struct oae_tags_iter *iter = m->private;

	rhashtable_walk_stop(&iter->walk);
	rhashtable_walk_exit(&iter->walk);
}

/* Without a default, so that the compiler misses a state that has no word. */
static const char *procfs_offer_word(enum oae_offer_state offer)
{
	switch (offer) {
	case OAE_OFFER_NONE:
		return "-";
	case OAE_OFFER_OUT:
	case OAE_OFFER_REFLECTED:
		return "out";
	case OAE_OFFER_PARKED:
		return "parked";
	case OAE_OFFER_QUEUED:
		return "queued";
	}
	return "?";
}

/* Likewise. */
static const char *procfs_hold_word(enum oae_hold_state hold)
{
	switch (hold) {
	case OAE_HOLD_NONE:
		return "-";
	case OAE_HOLD_PARTIAL:
		return "partial";
	case OAE_HOLD_WAITS:
		return "waits";
	case OAE_HOLD_HELD:
		return "held";
	case OAE_HOLD_REFUSED:
		return "refused";
	case OAE_HOLD_KEPT:
		return "kept";
	}
	return "?";
}

/* Age in s. This CPU's local_clock() may be behind that of the CPU that set @born. */
static u64 procfs_age(u64 born)
{
	u64 now = local_clock();

	return now > born ? div_u64(now - born, NSEC_PER_SEC) : 0;
}

/**
 * oae_tag_look() - what people and programs are shown of a link
 * @tag: its tag
 * @v: filled in
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_look(struct oae_tag *tag, struct oae_tag_view *v)
{
	struct oae_link_view link;

	oae_tag_lock(tag);
	oae_link_show(&tag->link, &link);
	v->unread = oae_inbox_count(tag);
	v->queue = oae_tag_queued(tag);
	v->age = tag->born;
	v->way = tag->way.via ? "gw" : "direct";
	v->repaired = tag->nrepaired;
	v->failures = tag->nhealed;
	oae_waits_look(tag, &v->waits);
	oae_tag_unlock(tag);

	v->word = oae_waits_word(&v->waits);
	oae_waits_text(&v->waits, v->text, sizeof(v->text));
	v->says = v->text;

	v->port = tag->key.port->dev->name;
	v->kid = tag->key.kid;
	v->vc = link.vc;
	v->rx = link.rx;
	v->tx = link.tx;
	v->rtt = link.srtt;
	v->min_rtt = link.min_rtt;
	v->age = procfs_age(v->age);
	v->lanes = link.lanes;
	v->window = link.window;
	v->cwnd = link.cwnd;
	v->ssthresh = link.ssthresh;
	v->state = oae_link_word(&link);
	v->offer = procfs_offer_word(link.offer);
	v->hold = procfs_hold_word(link.hold);
	oae_kid_mac(tag->key.kid, v->peer);
}

static int procfs_tags_show(struct seq_file *m, void *p)
{
	struct oae_tag *tag = p;
	struct oae_tag_view v;

	if (p == SEQ_START_TOKEN) {
		oae_fields_show(oae_link_fields, m, NULL);
		return 0;
	}
	oae_tag_look(tag, &v);
	oae_fields_show(oae_link_fields, m, &v);
	return 0;
}

static const struct seq_operations oae_tags_ops = {
	.start = procfs_tags_start,
	.next = procfs_tags_next,
	.stop = procfs_tags_stop,
	.show = procfs_tags_show,
};

/* Begin to close a link, if there is one. Under rcu_read_lock(). */
static bool procfs_close(struct oae_port *port, u64 kid)
{
	struct oae_tag *tag = oae_tag_find(port, kid) ?: oae_path_proven(port, kid);

	if (tag)
		oae_tag_close(tag);
	return tag;
}

/**
 * oae_links_close_to() - begin to close the links to a peer (protocol 4.7)
 * @node: the node
 * @addr: the peer; all ports, unless it names one
 * @vc: virtual channel
 *
 * Does not wait for the links.
 *
 * Context: process.
 *
 * Return: 0; -ENOENT there is no such link.
 */
int oae_links_close_to(struct oae_node *node, const struct oae_addr *addr,
		       u8 vc)
{
	struct oae_neigh_where at[OAE_NEIGH_AN_ID];
	struct oae_port *port;
	unsigned int i, n = 0;
	u8 mac[ETH_ALEN];
	int err = -ENOENT;

	rcu_read_lock();
	if (addr->id)
		n = oae_neigh_of_id(node, addr->id, at, ARRAY_SIZE(at));
	for (i = 0; i < n; i++)
		if (oae_addr_covers(addr, at[i].port, at[i].mac) &&
		    procfs_close(at[i].port, oae_kid(vc, at[i].mac)))
			err = 0;
	list_for_each_entry_rcu(port, &node->ports, list) {
		if (addr->id || (addr->dev[0] &&
				 strncmp(addr->dev, port->dev->name, IFNAMSIZ)))
			continue;
		oae_addr_under(addr, port, mac);
		if (procfs_close(port, oae_kid(vc, mac)))
			err = 0;
	}
	rcu_read_unlock();
	return err;
}

static int procfs_tags_refuse(const char *cmd, int err, const char *accepted)
{
	struct oae_refusal why = {};

	oae_refuse(&why, "tags", cmd, err, accepted);
	oae_refusal_log(&why);
	return err;
}

static int procfs_tags_command(struct oae_node *node, char *cmd)
{
	static const char accepted[] = "takes close [DEV/]ADDR [VC]";
	char *rest = cmd, *word, *vc_text;
	struct oae_addr addr;
	u8 vc = READ_ONCE(node->knobs.vci);
	char whole[64];
	int err;

	strscpy(whole, cmd, sizeof(whole));	/* strsep() cuts it up */
	word = strsep(&rest, " ");
	if (strcmp(word, "close") || !rest)
		return procfs_tags_refuse(whole, -EINVAL, accepted);
	word = strsep(&rest, " ");
	vc_text = rest;
	if (!*word || oae_addr_parse(&addr, word) ||
	    (vc_text && kstrtou8(vc_text,
				 strncasecmp(vc_text, "0x", 2) ? 10 : 16,
				 &vc)))
		return procfs_tags_refuse(whole, -EINVAL, accepted);
	err = oae_links_close_to(node, &addr, vc);
	if (err)
		procfs_tags_refuse(whole, err, "there is no such link");
	return err;
}

static int procfs_tags_write(struct file *file, char *buf, size_t size)
{
	struct net *net = seq_file_net(file->private_data);
	int err;

	if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	err = procfs_tags_command(oae_node(net), strim(buf));
	return err ?: size;
}

/* neighbours: *pos is the place of the entry in the table, plus 1. */

struct oae_neighbours_iter {
	struct seq_net_private p;
	struct oae_neigh_view view;
};

static void *procfs_neighbours_at(struct seq_file *m, loff_t *pos)
{
	struct oae_neighbours_iter *iter = m->private;
	unsigned int at = *pos - 1;

	if (!oae_neigh_at(oae_node(seq_file_net(m)), &at, &iter->view))
		return NULL;
	*pos = at + 1;
	return &iter->view;
}

static void *procfs_neighbours_start(struct seq_file *m, loff_t *pos)
	__acquires(RCU)
{
	rcu_read_lock();
	return *pos ? procfs_neighbours_at(m, pos) : SEQ_START_TOKEN;
}

static void *procfs_neighbours_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return procfs_neighbours_at(m, pos);
}

static void procfs_neighbours_stop(struct seq_file *m, void *v)
	__releases(RCU)
{
	rcu_read_unlock();
}

static int procfs_neighbours_show(struct seq_file *m, void *p)
{
	oae_fields_show(oae_neighbour_fields, m, p == SEQ_START_TOKEN ? NULL : p);
	return 0;
}

static const struct seq_operations oae_neighbours_ops = {
	.start = procfs_neighbours_start,
	.next = procfs_neighbours_next,
	.stop = procfs_neighbours_stop,
	.show = procfs_neighbours_show,
};

static int procfs_stats_show(struct seq_file *m, void *unused)
{
	struct oae_node *node = oae_node(seq_file_single_net(m));
	unsigned int i;

	for (i = 0; i < OAE_STAT_END; i++)
		if (i != OAE_S_BAD + OAE_BAD_NONE)
			seq_printf(m, "%-20s %20llu  # %s\n", oae_stat_name(i),
				   oae_stat_read(node, i), oae_stat_text(i));
	return 0;
}

/* Only of links that have, or had, more than one. */
static int procfs_paths_show(struct seq_file *m, void *p)
{
	struct oae_tag *tag = p;
	struct oae_path_view v;
	u8 peer[ETH_ALEN];
	unsigned int i;

	if (p == SEQ_START_TOKEN) {
		seq_printf(m, "%-15s %3s %-17s %4s %-15s %-17s %-17s %-6s %4s %5s %8s %8s %8s %-7s %s\n",
			   "port", "vc", "peer", "path", "by", "to", "via", "state",
			   "used", "mtu", "rtt_us", "loss_pct", "since_s", "why", "rank");
		return 0;
	}
	oae_kid_mac(tag->key.kid, peer);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!oae_path_show(tag, i, &v))
			continue;
		seq_printf(m, "%-15s %3llu %pM %4u %-15s %pM ",
			   tag->key.port->name, tag->key.kid >> 56, peer, i, v.port, v.mac);
		if (v.via)
			seq_printf(m, "%pM ", v.gw);
		else
			seq_printf(m, "%-17s ", "-");
		seq_printf(m, "%-6s %4s %5u %8llu %4u.%03u ", v.state, v.used ? "yes" : "-", v.mtu,
			   div_u64(v.rtt, NSEC_PER_USEC), v.loss / 1000, v.loss % 1000);
		if (v.used)
			seq_printf(m, "%8llu %-7s ", procfs_age(v.used_at), v.why);
		else
			seq_printf(m, "%8s %-7s ", "-", "-");
		seq_printf(m, "%s\n", v.rank);
	}
	return 0;
}

static const struct seq_operations oae_paths_ops = {
	.start = procfs_tags_start,
	.next = procfs_tags_next,
	.stop = procfs_tags_stop,
	.show = procfs_paths_show,
};

static int procfs_ev_log_show(struct seq_file *m, void *unused)
{
	return oae_evlog_show(oae_node(seq_file_single_net(m)), m);
}

/**
 * oae_procfs_init() - make /proc/net/modoae of a namespace
 * @node: its node
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_procfs_init(struct oae_node *node)
{
	struct net *net = node->net;
	struct proc_dir_entry *dir;

	dir = proc_net_mkdir(net, KBUILD_MODNAME, net->proc_net);
	if (!dir)
		return -ENOMEM;
	if (!proc_create_net_data_write("tags", 0644, dir, &oae_tags_ops,
					procfs_tags_write,
					sizeof(struct oae_tags_iter), NULL) ||
	    !proc_create_net("paths", 0444, dir, &oae_paths_ops,
			     sizeof(struct oae_tags_iter)) ||
	    !proc_create_net_data("neighbours", 0444, dir, &oae_neighbours_ops,
				  sizeof(struct oae_neighbours_iter), NULL) ||
	    !proc_create_net_single("stats", 0444, dir, procfs_stats_show,
				    NULL) ||
	    !proc_create_net_single("ev_log", 0444, dir, procfs_ev_log_show,
				    NULL) ||
	    oae_noc_proc_make(node, dir)) {
		oae_procfs_exit(node);
		return -ENOMEM;
	}
	return 0;
}

/**
 * oae_procfs_exit() - remove /proc/net/modoae of a namespace
 * @node: its node
 *
 * Waits for readers and writers of the files.
 *
 * Context: process, may sleep.
 */
void oae_procfs_exit(struct oae_node *node)
{
	remove_proc_subtree(KBUILD_MODNAME, node->net->proc_net);
}
