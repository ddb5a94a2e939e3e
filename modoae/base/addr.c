// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses in text form: [DEV/]ADDR, where ADDR is a whole MAC, or up to 24 bits
 * in hex that are completed with the OUI of the port, or id: and the id of a node in
 * hex, which is wherever it was heard (doc/protocol.md section 4.13).
 */

#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>

#include "base.h"

static int oae_addr_parse_dev(struct oae_addr *addr, const char *text,
			      size_t len)
{
	if (!len || len >= IFNAMSIZ)
		return -EINVAL;
	memcpy(addr->dev, text, len);
	return dev_valid_name(addr->dev) ? 0 : -EINVAL;
}

static int oae_addr_parse_low24(struct oae_addr *addr, const char *text)
{
	u32 low;

	if (kstrtou32(text, 16, &low) || !low || low > 0xffffff)
		return -EINVAL;
	addr->mac[3] = low >> 16;
	addr->mac[4] = low >> 8;
	addr->mac[5] = low;
	addr->low24 = true;
	return 0;
}

static int oae_addr_parse_id(struct oae_addr *addr, const char *text)
{
	return kstrtou64(text, 16, &addr->id) || addr->id < OAE_ID_LEAST ? -EINVAL : 0;
}

static int oae_addr_parse_mac(struct oae_addr *addr, const char *text)
{
	/* mac_pton() accepts trailing characters */
	return strlen(text) != 3 * ETH_ALEN - 1 || !mac_pton(text, addr->mac) ||
	       !is_valid_ether_addr(addr->mac) ? -EINVAL : 0;
}

/**
 * oae_addr_parse() - parse an address
 * @addr: filled in
 * @text: [DEV/]ADDR without blanks around it; "" is an address that is not set
 *
 * The device need not exist: oae_addr_resolve() (net/resolve.c) looks it up.
 *
 * Context: any.
 *
 * Return: 0; -EINVAL not an address, or one that no peer has (multicast,
 * broadcast, zero).
 */
int oae_addr_parse(struct oae_addr *addr, const char *text)
{
	const char *slash = strchr(text, '/');
	int err;

	memset(addr, 0, sizeof(*addr));
	if (!*text)
		return 0;

	if (slash) {
		err = oae_addr_parse_dev(addr, text, slash - text);
		if (err)
			return err;
		text = slash + 1;
	}
	if (strstarts(text, "id:"))
		err = oae_addr_parse_id(addr, text + 3);
	else if (strchr(text, ':'))
		err = oae_addr_parse_mac(addr, text);
	else
		err = oae_addr_parse_low24(addr, text);
	addr->set = !err;
	return err;
}

/**
 * oae_addr_print() - print an address in the form that oae_addr_parse() takes
 * @addr: the address; prints nothing if it is not set
 * @buf: the output
 * @size: size of @buf, bytes
 *
 * Context: any.
 *
 * Return: characters written, without the terminating 0.
 */
int oae_addr_print(const struct oae_addr *addr, char *buf, size_t size)
{
	const char *slash = addr->dev[0] ? "/" : "";

	if (!addr->set)
		return scnprintf(buf, size, "%s", "");
	if (addr->id)
		return scnprintf(buf, size, "%s%sid:%016llx", addr->dev, slash, addr->id);
	if (addr->low24)
		return scnprintf(buf, size, "%s%s0x%02x%02x%02x", addr->dev,
				 slash, addr->mac[3], addr->mac[4],
				 addr->mac[5]);
	return scnprintf(buf, size, "%s%s%pM", addr->dev, slash, addr->mac);
}

/* Is this place a better one to reach a node at than the best so far? */
static bool addr_better(const struct oae_neigh_where *a, const struct oae_neigh_where *b)
{
	bool up = netif_carrier_ok(a->port->dev), best_up = netif_carrier_ok(b->port->dev);

	if (up != best_up)
		return up;
	if (a->mtu != b->mtu)
		return a->mtu > b->mtu;
	if (a->port != b->port)
		return a->port->dev->ifindex < b->port->dev->ifindex;
	return memcmp(a->mac, b->mac, ETH_ALEN) < 0;
}

static bool addr_is_dev(const struct oae_addr *addr, const struct oae_port *port)
{
	return !addr->dev[0] || !strncmp(addr->dev, port->dev->name, IFNAMSIZ);
}

/**
 * oae_addr_find_id() - find the place to reach a node with an id at
 * @node: this node
 * @addr: an id
 * @only: at this port; NULL: at any that @addr allows
 * @best: filled in: as long as nothing changes always the same
 *
 * Context: any but hard interrupts; under rcu_read_lock(), in which @best is valid.
 *
 * Return: false if it was not heard there.
 */
bool oae_addr_find_id(struct oae_node *node, const struct oae_addr *addr,
		      const struct oae_port *only, struct oae_neigh_where *best)
{
	struct oae_neigh_where at[OAE_NEIGH_AN_ID];
	unsigned int i, n;
	bool any = false;

	n = oae_neigh_of_id(node, addr->id, at, ARRAY_SIZE(at));
	for (i = 0; i < n; i++) {
		if (only ? at[i].port != only : !addr_is_dev(addr, at[i].port))
			continue;
		if (!any || addr_better(&at[i], best))
			*best = at[i];
		any = true;
	}
	return any;
}

/**
 * oae_addr_under() - complete an address to a whole MAC
 * @addr: the address
 * @port: supplies the OUI if the address has only 24 bits; not gone
 * @mac: filled in
 *
 * Context: any but hard interrupts; under rcu_read_lock(), or RTNL if it is no id.
 *
 * Return: false if it is an id, and that was not heard at the port.
 */
bool oae_addr_under(const struct oae_addr *addr, const struct oae_port *port,
		    u8 mac[ETH_ALEN])
{
	struct oae_neigh_where at;

	if (addr->id) {
		if (!oae_addr_find_id(port->node, addr, port, &at))
			return false;
		memcpy(mac, at.mac, ETH_ALEN);
		return true;
	}
	memcpy(mac, addr->mac, ETH_ALEN);
	if (addr->low24)
		memcpy(mac, port->dev->dev_addr, 3);
	return true;
}

/**
 * oae_target() - get the value of the knob `target`
 * @node: the node
 * @addr: filled in
 *
 * Context: any but hard interrupts.
 */
void oae_target(struct oae_node *node, struct oae_addr *addr)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&node->addr_lock);
		*addr = node->knobs.target;
	} while (read_seqretry(&node->addr_lock, seq));
}

/**
 * oae_addr_covers() - does an address stand for a peer?
 * @addr: the address
 * @port: the port that the peer is at; not gone
 * @mac: the peer's address
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: true if so.
 */
bool oae_addr_covers(const struct oae_addr *addr, const struct oae_port *port,
		     const u8 mac[ETH_ALEN])
{
	u8 whole[ETH_ALEN];

	if (!addr->set || !addr_is_dev(addr, port))
		return false;
	if (addr->id)
		return addr->id == oae_neigh_id(port->node, port, mac);
	oae_addr_under(addr, port, whole);
	return ether_addr_equal_unaligned(whole, mac);
}

/**
 * oae_peer_configured() - is this peer in `target` or in `peers`?
 * @node: the node
 * @port: the port that the peer was heard on
 * @mac: the peer's address
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: true if so.
 */
bool oae_peer_configured(struct oae_node *node, const struct oae_port *port,
			 const u8 mac[ETH_ALEN])
{
	unsigned int i, n, seq;
	bool found;

	do {
		seq = read_seqbegin(&node->addr_lock);
		found = oae_addr_covers(&node->knobs.target, port, mac);
		n = min_t(unsigned int, READ_ONCE(node->knobs.npeers),
			  OAE_MAX_PEERS);
		for (i = 0; i < n && !found; i++)
			found = oae_addr_covers(&node->knobs.peers[i], port, mac);
	} while (read_seqretry(&node->addr_lock, seq));
	return found;
}
