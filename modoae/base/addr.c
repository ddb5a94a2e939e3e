// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses in text form: [DEV/]ADDR, where ADDR is a whole MAC, or up to 24 bits
 * in hex that are completed with the OUI of the port.
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

/**
 * oae_addr_parse() - parse an address
 * @addr: filled in
 * @text: [DEV/]ADDR without blanks around it; "" is an address that is not set
 *
 * The device need not exist: oae_addr_resolve() looks it up.
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
	if (strchr(text, ':')) {
		/* mac_pton() accepts trailing characters */
		if (strlen(text) != 3 * ETH_ALEN - 1 ||
		    !mac_pton(text, addr->mac) ||
		    !is_valid_ether_addr(addr->mac))
			return -EINVAL;
	} else {
		err = oae_addr_parse_low24(addr, text);
		if (err)
			return err;
	}
	addr->set = true;
	return 0;
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
	if (addr->low24)
		return scnprintf(buf, size, "%s%s0x%02x%02x%02x", addr->dev,
				 slash, addr->mac[3], addr->mac[4],
				 addr->mac[5]);
	return scnprintf(buf, size, "%s%s%pM", addr->dev, slash, addr->mac);
}

/**
 * oae_addr_under() - complete an address to a whole MAC
 * @addr: the address
 * @port: supplies the OUI if the address has only 24 bits; not gone
 * @mac: filled in
 *
 * Context: any; under rcu_read_lock() or RTNL.
 */
void oae_addr_under(const struct oae_addr *addr, const struct oae_port *port,
		    u8 mac[ETH_ALEN])
{
	memcpy(mac, addr->mac, ETH_ALEN);
	if (addr->low24)
		memcpy(mac, port->dev->dev_addr, 3);
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
		*addr = node->target;
	} while (read_seqretry(&node->addr_lock, seq));
}

/**
 * oae_addr_resolve() - find the port and the MAC for an address
 * @node: the node
 * @addr: the address, which does not change meanwhile
 * @port: set to the port, with a reference, if 0 is returned
 * @mac: filled in if 0 is returned
 *
 * Context: any but hard interrupts.
 *
 * Return: 0; -EDESTADDRREQ @addr is not set; -ENODEV no such port, or none at
 * all; -EINVAL the port's own address.
 */
int oae_addr_resolve(struct oae_node *node, const struct oae_addr *addr,
		     struct oae_port **port, u8 mac[ETH_ALEN])
{
	struct oae_port *p;
	int err = 0;

	if (!addr->set)
		return -EDESTADDRREQ;

	rcu_read_lock();
	p = oae_port_find(node, addr->dev);
	if (!p) {
		err = -ENODEV;
		goto out;
	}
	oae_addr_under(addr, p, mac);
	if (ether_addr_equal_unaligned(mac, p->dev->dev_addr)) {
		oae_port_put(p);
		err = -EINVAL;
		goto out;
	}
	*port = p;
out:
	rcu_read_unlock();
	return err;
}

static bool oae_addr_is(const struct oae_addr *addr,
			const struct oae_port *port, const u8 mac[ETH_ALEN])
{
	u8 whole[ETH_ALEN];

	if (!addr->set)
		return false;
	if (addr->dev[0] && strncmp(addr->dev, port->dev->name, IFNAMSIZ))
		return false;
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
		found = oae_addr_is(&node->target, port, mac);
		n = min_t(unsigned int, READ_ONCE(node->npeers),
			  OAE_MAX_PEERS);
		for (i = 0; i < n && !found; i++)
			found = oae_addr_is(&node->peers[i], port, mac);
	} while (read_seqretry(&node->addr_lock, seq));
	return found;
}
