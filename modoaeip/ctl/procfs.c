// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/modoaeip of each network namespace:
 *   zones	the items of gwips, and how each zone is reached
 *   mactbl	which zone each node is in
 *   stats	all counters
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>

#include "ctl.h"

/* --- zones ----------------------------------------------------------------------- */

#define OAEIP_ADDRS_SIZE	64	/* two addresses, + and NUL: 56 */

/* The columns of a line after the zone's number and addresses. */
struct oaeip_zone_view {
	const char *state;
	char mtu[8];
	char heard[24];
	char tx[24];
	char rx[24];
	char route[128];
};

/* Print a number, or `-` if it is not known. */
static void procfs_print_known(char *buf, size_t size, bool known, u64 v)
{
	if (known)
		scnprintf(buf, size, "%llu", v);
	else
		strscpy(buf, "-", size);
}

static void procfs_zone_count(const struct oaeip_zone *zone,
			      struct oaeip_zone_pcpu *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct oaeip_zone_pcpu *p = per_cpu_ptr(zone->pcpu, cpu);

		sum->tx_frames += READ_ONCE(p->tx_frames);
		sum->rx_frames += READ_ONCE(p->rx_frames);
	}
}

/* Print the route to @zone, or the device of the own zone. Updates @zone's MTU. */
static void procfs_zone_route(struct oaeip_gw *gw, const struct oaeip_map *map,
			      struct oaeip_zone *zone, char *buf, size_t size)
{
	struct oaeip_port *port = rcu_dereference(gw->port);

	if (zone == map->mine && port)
		scnprintf(buf, size, "%s %pM", port->dev->name,
			  port->dev->dev_addr);
	else if (oaeip_tunnel_route(gw, zone, buf, size) < 0)
		strscpy(buf, "-", size);
}

static void procfs_zone_look(struct oaeip_gw *gw, const struct oaeip_map *map,
			     struct oaeip_zone *zone, struct oaeip_zone_view *v)
{
	u64 heard = READ_ONCE(zone->heard);
	bool mine = zone == map->mine;
	struct oaeip_zone_pcpu sum;
	u32 mtu;

	procfs_zone_route(gw, map, zone, v->route, sizeof(v->route));
	procfs_zone_count(zone, &sum);
	v->state = oaeip_zone_state_name(oaeip_zone_state(gw, map, zone));
	/* The own zone shows the MTU announced to its nodes. */
	mtu = mine ? READ_ONCE(gw->announced) : READ_ONCE(zone->mtu);
	procfs_print_known(v->mtu, sizeof(v->mtu), mtu, mtu);
	procfs_print_known(v->heard, sizeof(v->heard), !mine && heard,
			   oaeip_now() - heard);
	procfs_print_known(v->tx, sizeof(v->tx), !mine, sum.tx_frames);
	procfs_print_known(v->rx, sizeof(v->rx), !mine, sum.rx_frames);
}

/* The width of the address column: that of the longest item. */
static int procfs_addrs_width(const struct oaeip_map *map)
{
	char addrs[OAEIP_ADDRS_SIZE];
	unsigned int i;
	int width = 40;

	for (i = 0; map && i < map->n; i++)
		width = max(width, oaeip_addrs_print(&map->zone[i].addrs, addrs,
						     sizeof(addrs)));
	return width;
}

static int procfs_zones_show(struct seq_file *m, void *unused)
{
	struct oaeip_gw *gw = oaeip_gw(seq_file_single_net(m));
	char addrs[OAEIP_ADDRS_SIZE];
	struct oaeip_zone_view v;
	struct oaeip_map *map;
	unsigned int i;
	int width;

	rcu_read_lock();
	map = rcu_dereference(gw->map);
	width = procfs_addrs_width(map);
	seq_printf(m, "%-4s %-11s %-*s %5s %5s %8s %10s %10s %s\n", "zone",
		   "state", width, "address", "nodes", "mtu", "heard_ms",
		   "tx_frames", "rx_frames", "route");
	for (i = 0; map && i < map->n; i++) {
		struct oaeip_zone *zone = &map->zone[i];

		procfs_zone_look(gw, map, zone, &v);
		oaeip_addrs_print(&zone->addrs, addrs, sizeof(addrs));
		seq_printf(m, "%-4u %-11s %-*s %5d %5s %8s %10s %10s %s\n",
			   zone->id, v.state, width, addrs,
			   atomic_read(&zone->nodes), v.mtu, v.heard, v.tx,
			   v.rx, v.route);
	}
	rcu_read_unlock();
	return 0;
}

/* --- mactbl ---------------------------------------------------------------------- */

/*
 * A walk over the table. It is kept between the read()s of an open file: the table
 * may be long, and each read() continues where the last one ended. If the table is
 * resized meanwhile, the walk may show a node twice.
 */
struct oaeip_mactbl_iter {
	struct oaeip_gw *gw;		/* which closes the file before it goes */
	struct oaeip_mactbl *tbl;	/* NULL: there was none */
	struct rhashtable_iter walk;
	loff_t pos;		/* position of the walk */
};

static struct oaeip_node *procfs_mactbl_step(struct oaeip_mactbl_iter *iter,
					     struct oaeip_node *node)
{
	while (node == ERR_PTR(-EAGAIN))	/* resized: continue */
		node = rhashtable_walk_next(&iter->walk);
	return IS_ERR(node) ? NULL : node;
}

static void *procfs_mactbl_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct oaeip_mactbl_iter *iter = m->private;

	iter->pos = ++*pos;
	if (!iter->tbl)
		return NULL;
	return procfs_mactbl_step(iter, rhashtable_walk_next(&iter->walk));
}

/* A walk begins, over this table; NULL: none does any more. */
static void procfs_mactbl_begin(struct oaeip_mactbl_iter *iter, struct oaeip_mactbl *tbl)
{
	if (iter->tbl)
		rhashtable_walk_exit(&iter->walk);
	oaeip_mactbl_put(iter->tbl);
	iter->tbl = tbl;
	if (tbl)
		rhashtable_walk_enter(&tbl->nodes, &iter->walk);
}

static void *procfs_mactbl_start(struct seq_file *m, loff_t *pos)
	__acquires(RCU)
{
	struct oaeip_mactbl_iter *iter = m->private;
	void *v = SEQ_START_TOKEN;
	loff_t at = 0;

	/* Whoever keeps the file open, and reads again, wants to know how it is now. */
	if (!*pos)
		procfs_mactbl_begin(iter, oaeip_mactbl_get(iter->gw));
	if (!iter->tbl) {
		rcu_read_lock();
		return *pos ? NULL : v;
	}
	if (*pos && *pos == iter->pos) {
		rhashtable_walk_start(&iter->walk);
		return procfs_mactbl_step(iter, rhashtable_walk_peek(&iter->walk));
	}
	if (*pos) {	/* a seek */
		rhashtable_walk_exit(&iter->walk);
		rhashtable_walk_enter(&iter->tbl->nodes, &iter->walk);
	}
	rhashtable_walk_start(&iter->walk);
	while (at < *pos && v)
		v = procfs_mactbl_next(m, v, &at);
	iter->pos = *pos;
	return v;
}

static void procfs_mactbl_stop(struct seq_file *m, void *v)
	__releases(RCU)
{
	struct oaeip_mactbl_iter *iter = m->private;

	if (iter->tbl)
		rhashtable_walk_stop(&iter->walk);
	else
		rcu_read_unlock();
}

static int procfs_mactbl_show(struct seq_file *m, void *p)
{
	struct oaeip_mactbl_iter *iter = m->private;
	struct oaeip_node *node = p;
	struct oaeip_owner o;
	u8 mac[ETH_ALEN];
	u64 now;

	if (p == SEQ_START_TOKEN) {
		seq_printf(m, "%-17s %4s %-6s %7s %7s\n", "mac", "zone",
			   "where", "age_ms", "left_ms");
		return 0;
	}
	spin_lock_bh(&iter->tbl->nodes_lock);
	o = node->owner;
	spin_unlock_bh(&iter->tbl->nodes_lock);
	if (!o.zone)		/* being removed */
		return 0;
	now = oaeip_now();
	u64_to_ether_addr(node->mac, mac);
	seq_printf(m, "%pM %4u %-6s %7llu %7llu\n", mac, o.zone,
		   o.local ? "local" : "remote",
		   now > o.heard ? now - o.heard : 0,
		   o.until > now ? o.until - now : 0);
	return 0;
}

static const struct seq_operations mactbl_seq_ops = {
	.start = procfs_mactbl_start,
	.next = procfs_mactbl_next,
	.stop = procfs_mactbl_stop,
	.show = procfs_mactbl_show,
};

/* A reader goes on in the table that it has begun, though the gateway begins anew. */
static int procfs_mactbl_open(struct inode *inode, struct file *file)
{
	struct oaeip_mactbl_iter *iter;

	iter = __seq_open_private(file, &mactbl_seq_ops, sizeof(*iter));
	if (!iter)
		return -ENOMEM;
	iter->gw = oaeip_gw(proc_get_parent_data(inode));
	return 0;
}

static int procfs_mactbl_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct oaeip_mactbl_iter *iter = m->private;

	procfs_mactbl_begin(iter, NULL);
	return seq_release_private(inode, file);
}

static const struct proc_ops mactbl_proc_ops = {
	.proc_open = procfs_mactbl_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = procfs_mactbl_release,
};

/* --- stats, and the directory ---------------------------------------------------- */

static int procfs_stats_show(struct seq_file *m, void *unused)
{
	struct oaeip_gw *gw = oaeip_gw(seq_file_single_net(m));
	unsigned int i;

	for (i = 0; i < OAEIP_STAT_END; i++)
		seq_printf(m, "%-20s %20llu  # %s\n", oaeip_stat_name(i),
			   oaeip_stat_read(gw, i), oaeip_stat_text(i));
	return 0;
}

/**
 * oaeip_procfs_init() - create /proc/net/modoaeip of a namespace
 * @gw: its gateway
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oaeip_procfs_init(struct oaeip_gw *gw)
{
	struct net *net = gw->net;
	struct proc_dir_entry *dir;

	dir = proc_net_mkdir(net, KBUILD_MODNAME, net->proc_net);
	if (!dir)
		return -ENOMEM;
	if (!proc_create_net_single("zones", 0444, dir, procfs_zones_show,
				    NULL) ||
	    !proc_create("mactbl", 0444, dir, &mactbl_proc_ops) ||
	    !proc_create_net_single("stats", 0444, dir, procfs_stats_show,
				    NULL)) {
		oaeip_procfs_exit(gw);
		return -ENOMEM;
	}
	return 0;
}

/**
 * oaeip_procfs_exit() - remove /proc/net/modoaeip of a namespace
 * @gw: its gateway
 *
 * Waits for running reads and closes open files.
 *
 * Context: process, may sleep.
 */
void oaeip_procfs_exit(struct oaeip_gw *gw)
{
	remove_proc_subtree(KBUILD_MODNAME, gw->net->proc_net);
}
