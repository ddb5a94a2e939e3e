// SPDX-License-Identifier: GPL-2.0
/*
 * UDP ports (doc/protocol.md section 4.15): an Ethernet device whose cable is a UDP
 * socket, for networks that do not carry our EtherType. To everything above it is a port
 * like any other. The kernel does routing, neighbours, checksums and the path MTU.
 *
 * The device lives as long as it is a port: `dev` makes it, and whatever releases the port
 * unregisters it. Its socket is opened and closed with it, by ndo_init and ndo_uninit:
 * in between no frame is sent or received without one.
 *
 * A frame that is longer than its path carries is dropped, and the MTU of the device
 * becomes what the path carries. So the links learn of it as from any device. As the
 * kernel forgets what it has learned of a path, so does the device.
 *
 * Few hosts have UDP ports. So the module does not depend on udp_tunnel and
 * ip6_udp_tunnel, which insmod would not load: the first UDP port does, and gets their
 * functions by name.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/rtnetlink.h>
#include <net/udp_tunnel.h>

#include "udp.h"

#define UDP_WIDEN	(600 * HZ)	/* as long as the kernel remembers a path's MTU */
#define UDP_MTU		ETH_DATA_LEN	/* of the network, if its device does not say */

/* Functions of udp_tunnel and ip6_udp_tunnel; NULL not needed yet. They stay. */
static struct {
	typeof(setup_udp_tunnel_sock) *setup;
	typeof(udp_tunnel_sock_release) *release;
	typeof(udp_tunnel_xmit_skb) *xmit4;
#if IS_ENABLED(CONFIG_IPV6)
	typeof(udp_tunnel6_xmit_skb) *xmit6;
#endif
} udpdev_tunnel;
static DEFINE_MUTEX(udpdev_tunnel_lock);	/* changes of udpdev_tunnel */

static bool udpdev_tunnel_get6(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!udpdev_tunnel.xmit6)
		udpdev_tunnel.xmit6 = symbol_request(udp_tunnel6_xmit_skb);
	return udpdev_tunnel.xmit6;
#else
	return false;
#endif
}

static bool udpdev_tunnel_get(bool v6)
{
	bool got;

	mutex_lock(&udpdev_tunnel_lock);
	if (!udpdev_tunnel.setup)
		udpdev_tunnel.setup = symbol_request(setup_udp_tunnel_sock);
	if (!udpdev_tunnel.release)
		udpdev_tunnel.release = symbol_request(udp_tunnel_sock_release);
	if (!udpdev_tunnel.xmit4)
		udpdev_tunnel.xmit4 = symbol_request(udp_tunnel_xmit_skb);
	got = udpdev_tunnel.setup && udpdev_tunnel.release && udpdev_tunnel.xmit4 &&
	      (!v6 || udpdev_tunnel_get6());
	mutex_unlock(&udpdev_tunnel_lock);
	return got;
}

static void udpdev_count(struct oae_udp *udp, enum oae_udp_stat stat, u64 n)
{
	this_cpu_add(udp->stats->v[stat], n);
}

/* --- sending -------------------------------------------------------------------- */

static struct dst_entry *udpdev_route4(const struct oae_udp *udp,
				       const struct oae_udp_end *to, struct flowi4 *fl)
{
	struct rtable *rt;

	memset(fl, 0, sizeof(*fl));
	memcpy(&fl->saddr, udp->local.addr, sizeof(fl->saddr));
	memcpy(&fl->daddr, to->addr, sizeof(fl->daddr));
	fl->fl4_sport = htons(udp->local.port);
	fl->fl4_dport = htons(to->port);
	fl->flowi4_proto = IPPROTO_UDP;
	rt = ip_route_output_flow(udp->node->net, fl, NULL);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	/* A MAC may stand for the broadcast address of a network. */
	if (rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST)) {
		ip_rt_put(rt);
		return ERR_PTR(-EHOSTUNREACH);
	}
	return &rt->dst;
}

static struct dst_entry *udpdev_route6(const struct oae_udp *udp,
				       const struct oae_udp_end *to, struct flowi6 *fl)
{
#if IS_ENABLED(CONFIG_IPV6)
	memset(fl, 0, sizeof(*fl));
	memcpy(&fl->saddr, udp->local.addr, sizeof(fl->saddr));
	memcpy(&fl->daddr, to->addr, sizeof(fl->daddr));
	fl->fl6_sport = htons(udp->local.port);
	fl->fl6_dport = htons(to->port);
	fl->flowi6_proto = IPPROTO_UDP;
	return ip6_dst_lookup_flow(udp->node->net, udp->sock->sk, fl, NULL);
#else
	return ERR_PTR(-EAFNOSUPPORT);
#endif
}

/* A path carries frames of @mtu bytes only. */
static void udpdev_path_narrow(struct oae_udp *udp, unsigned int mtu)
{
	mtu = max_t(unsigned int, mtu, OAE_MIN_MTU);
	if (mtu >= READ_ONCE(udp->dev->mtu))
		return;
	WRITE_ONCE(udp->path, mtu);
	queue_delayed_work(oae_wq, &udp->narrow, 0);
}

/* What the path carries of a frame, bytes behind the Ethernet header. */
static unsigned int udpdev_path_mtu(const struct oae_udp *udp, const struct dst_entry *dst)
{
	unsigned int mtu = dst_mtu(dst), overhead = oae_udp_overhead(udp->local.v6);

	return mtu > overhead ? mtu - overhead : 0;
}

/* Send a frame: consumes it and @dst. */
static void udpdev_send_on(struct oae_udp *udp, struct dst_entry *dst, struct sk_buff *skb,
			   struct flowi4 *fl4, struct flowi6 *fl6, u16 port)
{
	__be16 from = htons(udp->local.port), to = htons(port);

	if (!udp->local.v6)
		oae_udp_xmit4_by(udpdev_tunnel.xmit4, oae_rtable(dst), udp->sock->sk, skb,
				 fl4->saddr, fl4->daddr, 0, ip4_dst_hoplimit(dst),
				 htons(IP_DF), from, to, false, false);
#if IS_ENABLED(CONFIG_IPV6)
	else
		oae_udp_xmit6_by(udpdev_tunnel.xmit6, dst, udp->sock->sk, skb, NULL,
				 &fl6->saddr, &fl6->daddr, 0, ip6_dst_hoplimit(dst), 0,
				 from, to, false);
#endif
}

/* Send a frame to an endpoint, and consume it. False: not sent, count it in @why. */
static bool udpdev_send(struct oae_udp *udp, const struct oae_udp_end *to,
			struct sk_buff *skb, enum oae_stat *why)
{
	unsigned int len = skb->len - ETH_HLEN, mtu;
	union {
		struct flowi4 v4;
		struct flowi6 v6;
	} fl;
	struct dst_entry *dst;

	dst = to->v6 ? udpdev_route6(udp, to, &fl.v6) : udpdev_route4(udp, to, &fl.v4);
	if (IS_ERR(dst)) {
		/* A failed allocation says nothing about the path. */
		*why = PTR_ERR(dst) == -ENOMEM || PTR_ERR(dst) == -ENOBUFS ?
		       OAE_S_NO_MEMORY : OAE_S_UDP_NO_ROUTE;
		return false;
	}
	mtu = udpdev_path_mtu(udp, dst);
	if (unlikely(len > mtu)) {
		dst_release(dst);
		udpdev_path_narrow(udp, mtu);
		*why = OAE_S_UDP_TOO_LONG;
		return false;
	}
	if (unlikely(skb_cow_head(skb, LL_RESERVED_SPACE(dst->dev) + dst->header_len +
				       oae_udp_overhead(to->v6)))) {
		dst_release(dst);
		*why = OAE_S_NO_MEMORY;
		return false;
	}
	udpdev_count(udp, OAE_UDP_TX_PACKETS, 1);
	udpdev_count(udp, OAE_UDP_TX_BYTES, skb->len);
	oae_udp_head_build(skb_push(skb, OAE_UDP_OFF_DST));
	skb->dev = NULL;	/* the counters are above */
	skb->encapsulation = 0;
	udpdev_send_on(udp, dst, skb, &fl.v4, &fl.v6, to->port);
	return true;
}

/* A frame of ours to one peer, as a port sends it: nothing else has a way out. */
static bool udpdev_may_pass(const struct oae_udp *udp, const struct sk_buff *skb)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;

	return eth->h_proto == htons(oae_ethertype) && is_valid_ether_addr(eth->h_dest) &&
	       ether_addr_equal(eth->h_source, udp->dev->dev_addr) && !skb_is_gso(skb);
}

static netdev_tx_t udpdev_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct oae_udp *udp = netdev_priv(dev);
	enum oae_stat why = OAE_S_NO_MEMORY;
	struct oae_udp_end to;
	bool sent;

	if (skb->len < ETH_HLEN)
		goto drop;
	if (unlikely(!pskb_may_pull(skb, ETH_HLEN)))
		goto count;
	if (!udpdev_may_pass(udp, skb))
		goto drop;
	why = OAE_S_UDP_NO_ROUTE;
	rcu_read_lock();
	sent = oae_udp_find(udp, skb->data, &to) && udpdev_send(udp, &to, skb, &why);
	rcu_read_unlock();
	if (likely(sent))
		return NETDEV_TX_OK;
count:
	oae_count(udp->node, why);
drop:
	udpdev_count(udp, OAE_UDP_TX_DROPPED, 1);
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

/* --- receiving ------------------------------------------------------------------ */

/* Where a datagram came from. The UDP header is at skb->data. */
static void udpdev_source(const struct sk_buff *skb, bool v6, struct oae_udp_end *from)
{
	memset(from, 0, sizeof(*from));
	from->v6 = v6;
	from->port = ntohs(((const struct udphdr *)skb->data)->source);
	if (v6)
		memcpy(from->addr, &ipv6_hdr(skb)->saddr, OAE_UDP_V6_LEN);
	else
		memcpy(from->addr, &ip_hdr(skb)->saddr, OAE_UDP_V4_LEN);
}

/* Is it a frame for this port, from the peer that it names? Counts what is not. */
static bool udpdev_check(struct oae_udp *udp, struct sk_buff *skb)
{
	const u8 *head = skb->data + sizeof(struct udphdr);
	const struct ethhdr *eth = (const struct ethhdr *)(head + OAE_UDP_OFF_DST);
	struct oae_udp_end from;

	udpdev_source(skb, udp->local.v6, &from);
	if (!oae_udp_head_good(head, skb->len - sizeof(struct udphdr)) ||
	    eth->h_proto != htons(oae_ethertype) || !oae_udp_usable(&from) ||
	    !is_valid_ether_addr(eth->h_source) ||
	    !ether_addr_equal(eth->h_dest, udp->dev->dev_addr) ||
	    ether_addr_equal(eth->h_source, udp->dev->dev_addr)) {
		oae_count(udp->node, OAE_S_UDP_BAD);
		return false;
	}
	return oae_udp_hear(udp, eth->h_source, &from);
}

/* Make a datagram the frame that it carries, and let it in. */
static bool udpdev_let_in(struct oae_udp *udp, struct sk_buff *skb)
{
	if (iptunnel_pull_header(skb, sizeof(struct udphdr) + OAE_UDP_OFF_DST,
				 htons(ETH_P_TEB), false)) {
		oae_count(udp->node, OAE_S_NO_MEMORY);
		return false;
	}
	udpdev_count(udp, OAE_UDP_RX_PACKETS, 1);
	udpdev_count(udp, OAE_UDP_RX_BYTES, skb->len);
	skb->ip_summed = CHECKSUM_NONE;
	skb->priority = 0;
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);
	skb->protocol = eth_type_trans(skb, udp->dev);
	skb_reset_network_header(skb);
	/* Not at once: the answer would be sent on the same stack. */
	netif_rx(skb);
	return true;
}

/* Consumes every datagram to the port: there is no other receiver. */
static int udpdev_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct oae_udp *udp = rcu_dereference_sk_user_data(sk);

	if (unlikely(!udp || !netif_running(udp->dev)))
		goto drop;
	/* What is shorter is looked at no further than its length. */
	if (unlikely(!pskb_may_pull(skb, min_t(unsigned int, skb->len,
					       sizeof(struct udphdr) + OAE_UDP_HDR_LEN)))) {
		oae_count(udp->node, OAE_S_NO_MEMORY);
		goto count;
	}
	if (likely(udpdev_check(udp, skb) && udpdev_let_in(udp, skb)))
		return 0;
count:
	udpdev_count(udp, OAE_UDP_RX_DROPPED, 1);
drop:
	kfree_skb(skb);
	return 0;
}

/* Accept ICMP errors about datagrams from the port: they say what a path carries. */
static int udpdev_err_lookup(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

/* --- the MTU -------------------------------------------------------------------- */

/* Another has RTNL: perhaps one who waits for this work to end. */
static void udpdev_work_later(struct delayed_work *work)
{
	queue_delayed_work(oae_wq, work, 1);
}

static void udpdev_set_mtu(struct oae_udp *udp, unsigned int mtu)
{
	ASSERT_RTNL();
	udp->adjusting = true;
	dev_set_mtu(udp->dev, mtu);
	udp->adjusting = false;
}

static void udpdev_narrow(struct work_struct *work)
{
	struct oae_udp *udp = container_of(to_delayed_work(work), struct oae_udp, narrow);
	unsigned int path;

	if (!rtnl_trylock()) {
		udpdev_work_later(&udp->narrow);
		return;
	}
	path = READ_ONCE(udp->path);
	if (path && path < udp->dev->mtu) {
		udpdev_set_mtu(udp, path);
		queue_delayed_work(oae_wq, &udp->widen, UDP_WIDEN);
	}
	rtnl_unlock();
}

static void udpdev_widen(struct work_struct *work)
{
	struct oae_udp *udp = container_of(to_delayed_work(work), struct oae_udp, widen);

	if (!rtnl_trylock()) {
		udpdev_work_later(&udp->widen);
		return;
	}
	WRITE_ONCE(udp->path, 0);
	udpdev_set_mtu(udp, udp->whole);
	rtnl_unlock();
}

static int udpdev_change_mtu(struct net_device *dev, int mtu)
{
	struct oae_udp *udp = netdev_priv(dev);

	if (!udp->adjusting)
		udp->whole = mtu;
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

/* The device that has the own address; NULL none, or it is loopback. */
static struct net_device *udpdev_carrier(const struct oae_udp *udp)
{
	struct net_device *dev = NULL;

	if (!udp->local.v6) {
		__be32 addr;

		memcpy(&addr, udp->local.addr, sizeof(addr));
		dev = __ip_dev_find(udp->node->net, addr, false);
	}
#if IS_ENABLED(CONFIG_IPV6)
	else
		dev = ipv6_dev_find(udp->node->net,
				    (const struct in6_addr *)udp->local.addr, NULL);
#endif
	return dev && !(dev->flags & IFF_LOOPBACK) ? dev : NULL;
}

static unsigned int udpdev_first_mtu(const struct oae_udp *udp)
{
	unsigned int overhead = oae_udp_overhead(udp->local.v6), mtu = UDP_MTU;
	const struct net_device *dev;

	rcu_read_lock();
	dev = udpdev_carrier(udp);
	if (dev)
		mtu = READ_ONCE(dev->mtu);
	rcu_read_unlock();
	return clamp_t(unsigned int, mtu, OAE_MIN_MTU + overhead, IP_MAX_MTU) - overhead;
}

/* --- the device ----------------------------------------------------------------- */

/* Bind the socket to the own endpoint. UDP checksums are used unless a socket says no. */
static int udpdev_bind(const struct oae_udp *udp)
{
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(udp->local.port),
	};
	struct sockaddr_in v4 = {
		.sin_family = AF_INET,
		.sin_port = htons(udp->local.port),
	};
	void *addr = &v4;

	memcpy(&v4.sin_addr, udp->local.addr, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, udp->local.addr, sizeof(v6.sin6_addr));
	if (udp->local.v6)
		addr = &v6;
	return kernel_bind(udp->sock, addr, udp->local.v6 ? sizeof(v6) : sizeof(v4));
}

static int udpdev_open_socket(struct oae_udp *udp)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = udp,
		.encap_type = 1,
		.encap_rcv = udpdev_rcv,
		.encap_err_lookup = udpdev_err_lookup,
	};
	int err;

	err = sock_create_kern(udp->node->net, udp->local.v6 ? AF_INET6 : AF_INET,
			       SOCK_DGRAM, IPPROTO_UDP, &udp->sock);
	if (err)
		return err;
	err = udpdev_bind(udp);
	if (err) {
		sock_release(udp->sock);
		return err;
	}
	udpdev_tunnel.setup(udp->node->net, oae_tunnel_setup_end(udp->sock), &tunnel);
	return 0;
}

static int udpdev_init(struct net_device *dev)
{
	struct oae_udp *udp = netdev_priv(dev);
	int err;

	udp->stats = alloc_percpu_gfp(struct oae_udp_stats, GFP_KERNEL_ACCOUNT);
	if (!udp->stats)
		return -ENOMEM;
	err = udpdev_open_socket(udp);
	if (err)
		free_percpu(udp->stats);
	return err;
}

/*
 * Nothing is sent any more. What is being received is over when the device is freed, a
 * grace period later.
 */
static void udpdev_uninit(struct net_device *dev)
{
	struct oae_udp *udp = netdev_priv(dev);

	cancel_delayed_work_sync(&udp->narrow);
	cancel_delayed_work_sync(&udp->widen);
	udpdev_tunnel.release(oae_tunnel_release_end(udp->sock));
	/* A datagram under way still counts, and may add a peer. */
	synchronize_net();
	oae_udp_table_exit(udp);
	free_percpu(udp->stats);
}

static void udpdev_get_stats(struct net_device *dev, struct rtnl_link_stats64 *s)
{
	const struct oae_udp *udp = netdev_priv(dev);
	int cpu;

	for_each_possible_cpu(cpu) {
		const u64 *v = per_cpu_ptr(udp->stats, cpu)->v;

		s->rx_packets += v[OAE_UDP_RX_PACKETS];
		s->rx_bytes += v[OAE_UDP_RX_BYTES];
		s->rx_dropped += v[OAE_UDP_RX_DROPPED];
		s->tx_packets += v[OAE_UDP_TX_PACKETS];
		s->tx_bytes += v[OAE_UDP_TX_BYTES];
		s->tx_dropped += v[OAE_UDP_TX_DROPPED];
	}
}

static const struct net_device_ops udpdev_ops = {
	.ndo_init = udpdev_init,
	.ndo_uninit = udpdev_uninit,
	.ndo_start_xmit = udpdev_xmit,
	.ndo_change_mtu = udpdev_change_mtu,
	.ndo_get_stats64 = udpdev_get_stats,
};

/*
 * For `ip -d link`, and for whoever is to leave such devices alone: networkd (Kind=, Type=),
 * udev (DEVTYPE). Without a .setup nobody but the knob makes them, nor deletes them: EOPNOTSUPP.
 */
static struct rtnl_link_ops udpdev_kind = {
	.kind = "oaeudp",
};

static const struct device_type udpdev_type = {
	.name = "oaeudp",
};

/**
 * oae_udp_init() - make the kind of device known
 *
 * Context: process, before the first UDP port.
 *
 * Return: 0; -EEXIST another module has that kind.
 */
int oae_udp_init(void)
{
	return rtnl_link_register(&udpdev_kind);
}

/**
 * oae_udp_exit() - undo oae_udp_init(), and need udp_tunnel no more
 *
 * Context: process; there is no UDP port any more, and there will be none.
 */
void oae_udp_exit(void)
{
	rtnl_link_unregister(&udpdev_kind);
	if (udpdev_tunnel.setup)
		symbol_put(setup_udp_tunnel_sock);
	if (udpdev_tunnel.release)
		symbol_put(udp_tunnel_sock_release);
	if (udpdev_tunnel.xmit4)
		symbol_put(udp_tunnel_xmit_skb);
#if IS_ENABLED(CONFIG_IPV6)
	if (udpdev_tunnel.xmit6)
		symbol_put(udp_tunnel6_xmit_skb);
#endif
}

static void udpdev_setup(struct net_device *dev)
{
	ether_setup(dev);
	SET_NETDEV_DEVTYPE(dev, &udpdev_type);
	dev->rtnl_link_ops = &udpdev_kind;
	dev->netdev_ops = &udpdev_ops;
	dev->needs_free_netdev = true;
	dev->flags = IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HIGHDMA;
	dev->hw_features = dev->features;
	dev->needed_headroom = LL_MAX_HEADER + oae_udp_overhead(true);
	dev->min_mtu = OAE_MIN_MTU;
	oae_netdev_set_own(dev);
}

static struct oae_udp *udpdev_alloc(struct oae_node *node, const struct oae_udp_end *local)
{
	u8 mac[ETH_ALEN] __aligned(2);
	struct net_device *dev;
	struct oae_udp *udp;

	dev = alloc_netdev(sizeof(*udp), "oaeudp%d", NET_NAME_ENUM, udpdev_setup);
	if (!dev)
		return NULL;
	dev_net_set(dev, node->net);
	udp = netdev_priv(dev);
	udp->dev = dev;
	udp->node = node;
	udp->local = *local;
	strscpy(udp->text, "udp:", sizeof(udp->text));
	oae_udp_print(local, udp->text + strlen(udp->text),
		      sizeof(udp->text) - strlen(udp->text));
	oae_udp_table_init(udp);
	INIT_DELAYED_WORK(&udp->narrow, udpdev_narrow);
	INIT_DELAYED_WORK(&udp->widen, udpdev_widen);
	oae_udp_mac(local, mac);
	oae_netdev_set_mac(dev, mac);
	udp->whole = udpdev_first_mtu(udp);
	dev->mtu = udp->whole;
	dev->max_mtu = IP_MAX_MTU - oae_udp_overhead(local->v6);
	return udp;
}

static struct oae_udp *udpdev_of(struct oae_node *node, const struct oae_udp_end *local)
{
	struct oae_udp *udp;

	ASSERT_RTNL();
	list_for_each_entry(udp, &node->udps, list)
		if (oae_udp_same(&udp->local, local))
			return udp;
	return NULL;
}

/**
 * oae_udp_name() - find the device of a UDP port
 * @node: the node
 * @local: the endpoint
 * @name: filled in
 *
 * Context: process; takes RTNL.
 *
 * Return: 0 or -ENODEV.
 */
int oae_udp_name(struct oae_node *node, const struct oae_udp_end *local,
		 char name[IFNAMSIZ])
{
	const struct oae_udp *udp;

	rtnl_lock();
	udp = udpdev_of(node, local);
	if (udp)
		strscpy(name, udp->dev->name, IFNAMSIZ);
	rtnl_unlock();
	return udp ? 0 : -ENODEV;
}

static int udpdev_make(struct oae_node *node, const struct oae_udp_end *local,
		       char name[IFNAMSIZ])
{
	struct oae_udp *udp = udpdev_alloc(node, local);
	int err;

	if (!udp)
		return -ENOMEM;
	err = register_netdevice(udp->dev);
	if (err) {
		free_netdev(udp->dev);
		return err;
	}
	list_add_tail(&udp->list, &node->udps);
	/* It is a port that is down if this fails. */
	dev_open(udp->dev, NULL);
	strscpy(name, udp->dev->name, IFNAMSIZ);
	return 0;
}

/**
 * oae_udp_make() - make the device of a UDP port
 * @node: the node
 * @local: the endpoint
 * @name: filled in: the name of the device, which may have been there
 *
 * oae_udp_sweep() unregisters it if it does not become a port.
 *
 * Context: process, may sleep; under node->dev_lock; takes RTNL.
 *
 * Return: 0; -EPROTONOSUPPORT no udp_tunnel; -EADDRNOTAVAIL no address of this namespace;
 * -EADDRINUSE the UDP port is not free; another error of creating a socket or a device;
 * -ENOMEM.
 */
int oae_udp_make(struct oae_node *node, const struct oae_udp_end *local,
		 char name[IFNAMSIZ])
{
	int err;

	lockdep_assert_held(&node->dev_lock);
	err = oae_node_use(node);
	if (err)
		return err;
	if (!oae_udp_name(node, local, name))
		return 0;
	/* Modules register with the net devices as they load: without RTNL. */
	if (!udpdev_tunnel_get(local->v6))
		return -EPROTONOSUPPORT;
	rtnl_lock();
	err = udpdev_make(node, local, name);
	rtnl_unlock();
	return err;
}

/**
 * oae_udp_is() - is this the device of a UDP port?
 * @dev: the device
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool oae_udp_is(const struct net_device *dev)
{
	return dev->netdev_ops == &udpdev_ops;
}

/**
 * oae_udp_text() - what the knob `dev` calls a port
 * @dev: its device
 *
 * Context: any; valid as long as the device.
 *
 * Return: "udp:" and the endpoint; NULL it is no UDP port.
 */
const char *oae_udp_text(const struct net_device *dev)
{
	const struct oae_udp *udp = netdev_priv(dev);

	return oae_udp_is(dev) ? udp->text : NULL;
}

/**
 * oae_udp_tagged() - a frame came for which there is a tag
 * @port: a UDP port, not gone
 * @mac: the peer
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 */
void oae_udp_tagged(const struct oae_port *port, const u8 mac[ETH_ALEN])
{
	oae_udp_befriend(netdev_priv(port->dev), mac);
}

/**
 * oae_udp_sweep() - unregister the devices of a node that are no ports any more
 * @node: the node
 * @max: so many at most
 *
 * They are freed when RTNL is released. It is everybody's, and each device waits for a grace
 * period, so many go some at a time: OAE_BATCH, of all nodes.
 *
 * Context: process, may sleep; under RTNL.
 *
 * Return: how many there were.
 */
unsigned int oae_udp_sweep(struct oae_node *node, unsigned int max)
{
	struct oae_udp *udp, *next;
	unsigned int n = 0;
	LIST_HEAD(going);

	ASSERT_RTNL();
	list_for_each_entry_safe(udp, next, &node->udps, list) {
		if (n == max)
			break;
		if (oae_port_of_dev(node, udp->dev))
			continue;
		list_del(&udp->list);
		unregister_netdevice_queue(udp->dev, &going);
		n++;
	}
	unregister_netdevice_many(&going);
	return n;
}
