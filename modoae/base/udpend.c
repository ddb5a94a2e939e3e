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
 * Context: any but hard interrupts.
 */
void oae_udp_peer(struct oae_node *node, const u8 mac[ETH_ALEN], bool v6,
		  struct oae_udp_end *end)
{
	u8 other[ETH_ALEN] __aligned(2);
	unsigned int i, n, seq;

	do {
		end->port = 0;
		seq = read_seqbegin(&node->addr_lock);
		n = min_t(unsigned int, READ_ONCE(node->nudp_peers), OAE_MAX_PEERS);
		for (i = 0; i < n && !end->port; i++) {
			if (node->udp_peers[i].v6 != v6)
				continue;
			oae_udp_mac(&node->udp_peers[i], other);
			if (ether_addr_equal(other, mac))
				*end = node->udp_peers[i];
		}
	} while (read_seqretry(&node->addr_lock, seq));
}
