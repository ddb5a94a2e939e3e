// SPDX-License-Identifier: GPL-2.0
/* The knob gwips as text: the list of zones (doc/gateway.md section 3). */

#include <linux/inet.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "base.h"

static bool gwips_v4_usable(struct in_addr a)
{
	return !ipv4_is_multicast(a.s_addr) && !ipv4_is_zeronet(a.s_addr) &&
	       !ipv4_is_loopback(a.s_addr) && !ipv4_is_lbcast(a.s_addr);
}

/* A unicast address that is valid without an interface: no link-local one. */
static bool gwips_v6_usable(const struct in6_addr *a)
{
	int type = ipv6_addr_type(a);

	return type & IPV6_ADDR_UNICAST &&
	       !(type & (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_LOOPBACK));
}

/* "10.0.0.1", "fd00::1", "10.0.0.1+fd00::1" or the other way round. */
static int gwips_parse_item(struct oaeip_addrs *a, char *item)
{
	const char *end;
	char *part;

	while ((part = strsep(&item, "+")) != NULL) {
		part = strim(part);
		if (in4_pton(part, -1, (u8 *)&a->v4, -1, &end) && !*end) {
			if (a->has_v4 || !gwips_v4_usable(a->v4))
				return -EINVAL;
			a->has_v4 = true;
		} else if (in6_pton(part, -1, a->v6.s6_addr, -1, &end) &&
			   !*end) {
			if (a->has_v6 || !gwips_v6_usable(&a->v6))
				return -EINVAL;
			a->has_v6 = true;
			a->v6_first = !a->has_v4;
		} else {
			return -EINVAL;
		}
	}
	return 0;
}

static bool gwips_overlap(const struct oaeip_addrs *a, const struct oaeip_addrs *b)
{
	return (a->has_v4 && b->has_v4 && a->v4.s_addr == b->v4.s_addr) ||
	       (a->has_v6 && b->has_v6 && ipv6_addr_equal(&a->v6, &b->v6));
}

/**
 * oaeip_gwips_parse() - parse a list of zones
 * @addrs: filled in; room for OAEIP_MAX_ZONES
 * @n: set to the number of zones
 * @text: one item for each zone, comma-separated: an IPv4 or an IPv6 address, or
 *	one of each joined by +; modified
 *
 * Context: any.
 *
 * Return: 0; -EINVAL: a malformed list; -E2BIG: too many zones; -EEXIST: an
 * address is listed twice.
 */
int oaeip_gwips_parse(struct oaeip_addrs *addrs, unsigned int *n, char *text)
{
	unsigned int i;
	char *item;
	int err;

	*n = 0;
	text = strim(text);
	if (!*text)
		return 0;
	while ((item = strsep(&text, ",")) != NULL) {
		if (*n == OAEIP_MAX_ZONES)
			return -E2BIG;
		memset(&addrs[*n], 0, sizeof(*addrs));
		err = gwips_parse_item(&addrs[*n], item);
		if (err)
			return err;
		for (i = 0; i < *n; i++)
			if (gwips_overlap(&addrs[i], &addrs[*n]))
				return -EEXIST;
		++*n;
	}
	return 0;
}

/**
 * oaeip_addrs_print() - print the addresses of a zone as an item of gwips
 * @addrs: the addresses
 * @buf: the buffer
 * @size: bytes at @buf
 *
 * Context: any.
 *
 * Return: characters written.
 */
int oaeip_addrs_print(const struct oaeip_addrs *addrs, char *buf, size_t size)
{
	const char *plus = addrs->has_v4 && addrs->has_v6 ? "+" : "";

	if (addrs->v6_first)
		return addrs->has_v4 ?
		       scnprintf(buf, size, "%pI6c+%pI4", &addrs->v6,
				 &addrs->v4) :
		       scnprintf(buf, size, "%pI6c", &addrs->v6);
	return addrs->has_v6 ?
	       scnprintf(buf, size, "%pI4%s%pI6c", &addrs->v4, plus,
			 &addrs->v6) :
	       scnprintf(buf, size, "%pI4", &addrs->v4);
}

/**
 * oaeip_gwips_print() - print the list of zones
 * @gw: the gateway
 * @buf: the buffer
 * @size: bytes at @buf
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: characters written.
 */
int oaeip_gwips_print(struct oaeip_gw *gw, char *buf, size_t size)
{
	unsigned int i;
	int n = 0;

	rtnl_lock();
	for (i = 0; i < gw->ngwips; i++) {
		if (i)
			n += scnprintf(buf + n, size - n, ",");
		n += oaeip_addrs_print(&gw->gwips[i], buf + n, size - n);
	}
	rtnl_unlock();
	return n;
}
