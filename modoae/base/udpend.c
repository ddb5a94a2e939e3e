// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints in text form, ADDR[:PORT] and [ADDR6]:PORT, and those that the knob
 * `udp_peers` has.
 */

#include <linux/etherdevice.h>
#include <linux/inet.h>
#include <linux/kernel.h>

#include "base.h"

/**
 * oae_udp_parse() - parse an endpoint
 * @end: filled in
 * @text: ADDR[:PORT], without blanks around it; an IPv6 address in brackets, or alone
 *
 * Context: any.
 *
 * Return: 0; -EINVAL not an endpoint, or one that no host has.
 */
int oae_udp_parse(struct oae_udp_end *end, const char *text)
{
	const char *rest;

	memset(end, 0, sizeof(*end));
	end->port = OAE_UDP_PORT;
	if (*text == '[') {
		end->v6 = true;
		if (!in6_pton(text + 1, -1, end->addr, ']', &rest) || *rest++ != ']')
			return -EINVAL;
	} else if (!in4_pton(text, -1, end->addr, ':', &rest)) {
		memset(end->addr, 0, sizeof(end->addr));
		end->v6 = true;
		if (!in6_pton(text, -1, end->addr, -1, &rest) || *rest)
			return -EINVAL;
	}
	if (*rest && (*rest != ':' || kstrtou16(rest + 1, 10, &end->port)))
		return -EINVAL;
	return oae_udp_usable(end) ? 0 : -EINVAL;
}

/**
 * oae_udp_print() - print an endpoint in the form that oae_udp_parse() takes
 * @end: the endpoint
 * @buf: the output; OAE_UDP_TEXT bytes are enough
 * @size: size of @buf, bytes
 *
 * Context: any.
 *
 * Return: characters written.
 */
int oae_udp_print(const struct oae_udp_end *end, char *buf, size_t size)
{
	bool port = end->port != OAE_UDP_PORT;
	int n;

	if (end->v6)
		n = scnprintf(buf, size, port ? "[%pI6c]" : "%pI6c", end->addr);
	else
		n = scnprintf(buf, size, "%pI4", end->addr);
	if (port)
		n += scnprintf(buf + n, size - n, ":%u", end->port);
	return n;
}

/**
 * oae_udp_peer() - look up the endpoint that `udp_peers` has for a peer
 * @node: the node
 * @mac: the peer's MAC
 * @v6: the family of addresses
 * @end: filled in; port 0 if there is none
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 */
void oae_udp_peer(struct oae_node *node, const u8 mac[ETH_ALEN], bool v6,
		  struct oae_udp_end *end)
{
	const struct oae_udp_peers *peers = rcu_dereference(node->knobs.udp_peers);
	u8 other[ETH_ALEN] __aligned(2);
	unsigned int i;

	end->port = 0;
	for (i = 0; peers && i < peers->n; i++) {
		if (peers->end[i].v6 != v6)
			continue;
		oae_udp_mac(&peers->end[i], other);
		if (!ether_addr_equal_unaligned(other, mac))
			continue;
		*end = peers->end[i];
		return;
	}
}
