// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: which way the frames of a tag go, straight to the peer or through the
 * gateway of the port, and what is known of that (doc/protocol.md section 4.8).
 *
 * A tag is the same tag whichever way it goes. What it needs to know of the
 * gateway is a copy, good as long as port->gw.gen stays what it was; a tag that
 * finds another at its next event looks again. So a word of the gateway costs
 * the same with one tag and with ten thousand.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/jiffies.h>

#include "../net/net.h"

#define HELLO_UNIT_MS	100	/* of life and node_life */
#define ASK_EACH_WAY	2	/* SYNCs, then the other way is tried */

/* What every gateway can carry, or it is none. */
#define GW_MIN_MTU	(OAE_MIN_MTU + OAE_VIA_LEN)

static void gw_get(const struct oae_port *port, struct oae_gw *gw)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&port->gw_lock);
		*gw = port->gw;
	} while (read_seqretry(&port->gw_lock, seq));
}

static unsigned int use_gw(const struct oae_port *port)
{
	return READ_ONCE(port->node->knobs.use_gw);
}

/* A port that cannot carry the smallest frame with VIA goes without. */
static bool gw_usable(const struct oae_port *port, const struct oae_gw *gw)
{
	return gw->known && READ_ONCE(port->mtu) >= GW_MIN_MTU;
}

static bool gw_silent(const struct oae_gw *gw)
{
	return time_after(jiffies, gw->heard + gw->life);
}

/* What the tags of the port have found of it is void. */
static void gw_changed(struct oae_gw *gw)
{
	WRITE_ONCE(gw->gen, gw->gen + 1);
}

/* Nothing is known but what was told. */
static void gw_forget(struct oae_gw *gw)
{
	gw->known = gw->told;
	gw->mtu = 0;
	gw->inc = 0;
	gw->answered = 0;
	gw_changed(gw);
}

static void gw_tell(struct oae_gw *gw, const u8 *mac)
{
	bool same = gw->known && ether_addr_equal(gw->mac, mac);

	gw->told = !is_zero_ether_addr(mac);
	if (gw->told && !same)
		ether_addr_copy(gw->mac, mac);
	/* What was heard of the one that is told stays good. */
	if (gw->told ? !same : !gw->inc)
		gw_forget(gw);
	gw_changed(gw);
}

/**
 * oae_path_init() - a new port: no gateway is known but one that is told
 * @port: nobody else knows it yet
 *
 * Context: process, under kernel_param_lock.
 */
void oae_path_init(struct oae_port *port)
{
	seqlock_init(&port->gw_lock);
	gw_tell(&port->gw, port->node->nhmac);
}

/* HELLO */

static void hello_send(struct oae_port *port, const u8 *gw, u8 flags)
{
	struct oae_frame f = {
		.opcode = OAE_HELLO,
		.hello = {
			.flags = flags,
			.mtu = min_t(unsigned int, READ_ONCE(port->mtu),
				     U16_MAX),
		},
	};

	oae_count(port->node, OAE_S_HELLO_SENT);
	oae_xmit_frame(port, gw, &f, NULL);
}

/* Say HELLO, if a gateway is there and may be used; and note that it heard. */
static void hello_gateway(struct oae_port *port, u8 flags)
{
	u8 mac[ETH_ALEN];
	bool known;

	write_seqlock_bh(&port->gw_lock);
	known = port->gw.known;
	ether_addr_copy(mac, port->gw.mac);
	port->gw.answered = flags & OAE_HELLO_LEAVING ? 0 : port->gw.inc;
	port->gw.answered_at = jiffies;
	write_sequnlock_bh(&port->gw_lock);
	if (known)
		hello_send(port, mac, flags);
}

static bool hello_ok(const struct oae_frame *f, const u8 *from)
{
	u8 flags = f->hello.flags;

	if (flags & ~OAE_HELLO_ALL || !is_valid_ether_addr(from) ||
	    !f->hello.zone || !f->hello.inc)
		return false;
	if (flags & OAE_HELLO_LEAVING)
		return true;
	if (flags & OAE_HELLO_ABOUT && !is_valid_ether_addr(f->hello.about))
		return false;
	return f->hello.life && f->hello.mtu >= GW_MIN_MTU;
}

/* The port's gateway speaks, or one that becomes it. */
static void gw_hear(struct oae_gw *gw, const u8 *from,
		    const struct oae_frame *f)
{
	bool new = !gw->known || !ether_addr_equal(gw->mac, from);
	bool about = f->hello.flags & OAE_HELLO_ABOUT;
	u16 mtu = f->hello.mtu;

	if (new) {
		gw_forget(gw);
		ether_addr_copy(gw->mac, from);
		gw->known = true;
	}
	/* Of one peer alone: of the others it says nothing new. */
	if (about)
		mtu = gw->mtu;
	if (gw->inc != f->hello.inc || gw->epoch != f->hello.epoch ||
	    gw->mtu != mtu)
		gw_changed(gw);
	gw->inc = f->hello.inc;
	gw->epoch = f->hello.epoch;
	gw->mtu = mtu;
	gw->heard = jiffies;
	gw->life = msecs_to_jiffies(f->hello.life * HELLO_UNIT_MS);
}

static bool gw_wants_answer(const struct oae_gw *gw, const struct oae_frame *f)
{
	unsigned int third = f->hello.node_life * HELLO_UNIT_MS / 3;

	return f->hello.flags & OAE_HELLO_ASK || gw->answered != gw->inc ||
	       time_after(jiffies, gw->answered_at + msecs_to_jiffies(third));
}

enum hello_heard {
	HELLO_NOT_TAKEN,
	HELLO_TAKEN,
	HELLO_NEWS,		/* taken; another gateway, or another run of it */
	HELLO_LEFT,		/* taken; there is no gateway any more */
};

/* What a good HELLO of a gateway changes. */
static enum hello_heard gw_hello(struct oae_port *port, const u8 *from,
				 const struct oae_frame *f, bool *answer)
{
	enum hello_heard heard = HELLO_NOT_TAKEN;
	struct oae_gw *gw = &port->gw;
	bool leaving = f->hello.flags & OAE_HELLO_LEAVING;
	bool same;
	u32 inc;

	*answer = false;
	write_seqlock_bh(&port->gw_lock);
	same = gw->known && ether_addr_equal(gw->mac, from);
	inc = gw->inc;
	if (same ? leaving && f->hello.inc != inc :
	    leaving || gw->told || (gw->known && !gw_silent(gw)))
		goto out;
	if (leaving) {
		gw_forget(gw);
		heard = HELLO_LEFT;
	} else {
		gw_hear(gw, from, f);
		*answer = gw_wants_answer(gw, f);
		heard = !same || inc != gw->inc ? HELLO_NEWS : HELLO_TAKEN;
	}
out:
	write_sequnlock_bh(&port->gw_lock);
	return heard;
}

static void hello_about(struct oae_port *port, const struct oae_frame *f)
{
	const struct oae_about about = {
		.inc = f->hello.inc,
		.epoch = f->hello.epoch,
		.mtu = f->hello.mtu,
	};
	struct oae_tag *tag;

	tag = oae_tag_find(port, oae_kid(f->vc, f->hello.about));
	if (tag)
		oae_tag_way(tag, &about);
}

static void say(const struct oae_port *port, const u8 *from,
		const struct oae_frame *f, enum hello_heard heard)
{
	if (!READ_ONCE(port->node->knobs.verbose) ||
	    !oae_may_log(port->node->net))
		return;
	if (heard == HELLO_NEWS)
		net_info_ratelimited("port %s: gateway %pM, zone %u, MTU %u\n",
				     port->dev->name, from, f->hello.zone,
				     f->hello.mtu);
	else if (heard == HELLO_LEFT)
		net_info_ratelimited("port %s: gateway %pM has left\n",
				     port->dev->name, from);
}

/**
 * oae_path_hello() - a HELLO has come in
 * @port: where
 * @from: the Ethernet source
 * @f: the frame, parsed and verified
 *
 * Takes those of the port's gateway, and makes the first one that speaks, or
 * the first once that is silent, the port's gateway. A malformed one is
 * counted and not looked at further.
 *
 * Context: softirq (or BH disabled), RCU read lock held, no other lock.
 *
 * Return: true if it has been dealt with.
 */
bool oae_path_hello(struct oae_port *port, const u8 *from,
		    const struct oae_frame *f)
{
	struct oae_node *node = port->node;
	enum hello_heard heard;
	bool answer;

	if (!(f->hello.flags & OAE_HELLO_GATEWAY) || f->flags & OAE_F_VIA ||
	    ether_addr_equal(from, port->dev->dev_addr))
		return false;
	if (!hello_ok(f, from)) {
		oae_count(node, OAE_S_BAD + OAE_BAD_FIELD);
		return true;
	}
	heard = gw_hello(port, from, f, &answer);
	if (heard == HELLO_NOT_TAKEN)
		return false;

	oae_count(node, OAE_S_HELLO_HEARD);
	say(port, from, f, heard);
	if (f->hello.flags & OAE_HELLO_ABOUT && heard != HELLO_LEFT)
		hello_about(port, f);
	/* Who does not use it does not want to be reached through it. */
	if (answer && use_gw(port) != OAE_GW_NEVER && oae_may_answer(node))
		hello_gateway(port, 0);
	return true;
}

/**
 * oae_path_announce() - tell the gateway that this port is there
 * @port: has another address now, maybe
 *
 * Context: process or softirq, no lock held but RTNL.
 */
void oae_path_announce(struct oae_port *port)
{
	rcu_read_lock_bh();
	if (use_gw(port) != OAE_GW_NEVER)
		hello_gateway(port, 0);
	rcu_read_unlock_bh();
}

/**
 * oae_path_leave() - tell the gateway to forget this port
 * @port: is being released, or is about to change its address; its device is
 *	there
 *
 * Context: process, no lock held but RTNL.
 */
void oae_path_leave(struct oae_port *port)
{
	rcu_read_lock_bh();
	if (netif_running(port->dev))
		hello_gateway(port, OAE_HELLO_LEAVING);
	rcu_read_unlock_bh();
}

/* Frames of no tag, and those that come in */

/**
 * oae_path_via() - may this frame with VIA come in?
 * @port: where it did
 * @from: the Ethernet source
 * @f: the frame, parsed and verified, flag VIA
 * @peer: filled in if it may: the original source; any address yet
 *
 * Context: any but hard interrupts, RCU read lock held.
 *
 * Return: true if the port's gateway sent it, for this port.
 */
bool oae_path_via(struct oae_port *port, const u8 *from,
		  const struct oae_frame *f, u8 peer[ETH_ALEN])
{
	struct oae_gw gw;

	gw_get(port, &gw);
	if (use_gw(port) == OAE_GW_NEVER || !gw_usable(port, &gw) ||
	    !ether_addr_equal(gw.mac, from) ||
	    !ether_addr_equal(f->via, port->dev->dev_addr))
		return false;
	memcpy(peer, f->via + ETH_ALEN, ETH_ALEN);
	return true;
}

/**
 * oae_path_gateway() - where frames go that go through the gateway
 * @port: from here
 * @dest: filled in
 *
 * Context: any but hard interrupts. Frame path.
 *
 * Return: false if no gateway is known, and @dest means nothing.
 */
bool oae_path_gateway(struct oae_port *port, u8 dest[ETH_ALEN])
{
	struct oae_gw gw;

	gw_get(port, &gw);
	ether_addr_copy(dest, gw.mac);
	return gw_usable(port, &gw);
}

/**
 * oae_path_mark() - give a frame the extension for its way through the gateway
 * @port: from here
 * @peer: to this peer
 * @f: the frame
 *
 * Context: any but hard interrupts, RCU read lock held. Frame path.
 */
void oae_path_mark(const struct oae_port *port, const u8 *peer,
		   struct oae_frame *f)
{
	f->flags |= OAE_F_VIA;
	memcpy(f->via, peer, ETH_ALEN);
	memcpy(f->via + ETH_ALEN, port->dev->dev_addr, ETH_ALEN);
}

/**
 * oae_path_back() - the way to answer a frame that belongs to no tag
 * @port: where it came in
 * @question: the frame
 * @dest: who sent it; changed to the gateway if that is the way
 * @f: the answer; gets the extension then
 *
 * It goes back the way that the frame came, unless use_gw says which.
 *
 * Context: any but hard interrupts, RCU read lock held.
 *
 * Return: false if there is no way, which is counted.
 */
bool oae_path_back(struct oae_port *port, const struct oae_frame *question,
		   u8 dest[ETH_ALEN], struct oae_frame *f)
{
	unsigned int use = use_gw(port);

	if (use == OAE_GW_NEVER ||
	    (use == OAE_GW_AUTO && !(question->flags & OAE_F_VIA)))
		return true;
	oae_path_mark(port, dest, f);
	if (oae_path_gateway(port, dest))
		return true;
	oae_count(port->node, OAE_S_NO_GATEWAY);
	return false;
}

/* The way of a tag */

/* What the tag's way carries, VIA not counted. */
static u16 way_mtu(const struct oae_tag *tag, const struct oae_gw *gw)
{
	unsigned int mtu = READ_ONCE(tag->key.port->mtu), most = gw->mtu;

	if (tag->way_via) {
		if (tag->about.mtu && tag->about.inc == gw->inc &&
		    tag->about.epoch == gw->epoch)
			most = tag->about.mtu;
		if (most && most < mtu)
			mtu = most;
		mtu -= min_t(unsigned int, mtu, OAE_VIA_LEN);
	}
	return clamp_t(unsigned int, mtu, OAE_MIN_MTU, U16_MAX);
}

/* A frame that is not as usual is looked at: oae_path_heard(). */
static void way_usual(struct oae_tag *tag)
{
	if (tag->asked || tag->way_lost || tag->via != tag->way_via)
		tag->way_usual = ~OAE_F_VIA;
	else
		tag->way_usual = tag->via ? OAE_F_VIA : 0;
}

/* Find the tag's way, and what it carries. */
static u16 way_find(struct oae_tag *tag)
{
	const struct oae_port *port = tag->key.port;
	struct oae_gw gw;

	gw_get(port, &gw);
	tag->way_gen = gw.gen;
	switch (use_gw(port)) {
	case OAE_GW_NEVER:
		tag->via = false;
		tag->way_via = false;
		break;
	case OAE_GW_ALWAYS:
		tag->via = true;
		tag->way_via = true;
		break;
	default:
		tag->way_via = tag->via && gw_usable(port, &gw);
	}
	way_usual(tag);
	return way_mtu(tag, &gw);
}

/**
 * oae_path_begin() - the way that a link begins with
 * @tag: its tag; the link is CLOSED
 * @via: with use_gw auto, through the gateway
 *
 * Context: any but hard interrupts; tag->lock held, or nobody else knows it.
 *
 * Return: the link's MTU.
 */
u16 oae_path_begin(struct oae_tag *tag, bool via)
{
	tag->via = via;
	tag->asked = 0;
	tag->way_lost = false;
	return way_find(tag);
}

/**
 * oae_path_update() - find anew which way a tag goes, and what that carries
 * @tag: the tag
 * @now: ns
 * @a: actions of its link, to be applied by the caller: an OPEN link whose MTU
 *	changes synchronises
 *
 * Context: any but hard interrupts, tag->lock held.
 */
void oae_path_update(struct oae_tag *tag, u64 now, struct oae_actions *a)
{
	bool before = tag->way_via;
	u16 mtu = way_find(tag);

	if (tag->way_via != before) {
		tag->asked = 0;
		way_usual(tag);
		if (tag->link.state != OAE_CLOSED)
			oae_count(tag->node, OAE_S_WAY_CHANGED);
	}
	oae_link_set_mtu(&tag->link, mtu, now, a);
}

/*
 * Has nothing been heard of the peer by the way that the tag goes, though it was
 * asked more than once? Until then nobody is listened to who is elsewhere.
 */
static bool way_lost(const struct oae_tag *tag, u64 now)
{
	const struct oae_link *l = &tag->link;
	u64 again = min(l->cfg->keepalive, l->cfg->dead / 4);

	if (tag->way_lost)
		return true;
	/* Two probes, and the time for an answer to the second. */
	return l->state == OAE_OPEN && l->asked_at &&
	       (s64)(now - l->asked_at - again) >= (s64)oae_link_stall(l);
}

static bool is_sync(u8 opcode)
{
	return opcode == OAE_SYNC || opcode == OAE_SYNC_ACK ||
	       opcode == OAE_SYNC_CHK;
}

/* The peer is heard by the way that the tag goes from now on. */
static void way_is_good(struct oae_tag *tag, bool via, u64 now,
			struct oae_actions *a)
{
	tag->asked = 0;
	tag->way_lost = false;
	if (use_gw(tag->key.port) == OAE_GW_AUTO)
		tag->via = via;
	oae_path_update(tag, now, a);
}

/**
 * oae_path_heard() - a frame came that is not as usual
 * @tag: the tag
 * @f: the frame: it came another way than the tag goes, or SYNCs are out
 * @now: ns
 * @a: as for oae_path_update()
 * @via: set: what is sent now goes through the gateway
 *
 * With use_gw auto the tag follows a frame that names both its ltags, which only
 * the peer knows; or its own one, if the way that it goes is lost, or if the frame
 * came direct, from the peer's own address. Whoever says that it is a gateway may
 * say that the peer is behind it. So as long as the peer is heard direct, a SYNC
 * through the gateway is answered direct, if it names this end's ltag, and else
 * not at all: the answer would tell the ltag. A SYNC that comes direct is answered
 * direct in any case (doc/protocol.md section 4.8).
 *
 * Context: softirq, tag->lock held.
 *
 * Return: false if the frame is to be dropped, which is counted.
 */
bool oae_path_heard(struct oae_tag *tag, const struct oae_frame *f, u64 now,
		    struct oae_actions *a, bool *via)
{
	const struct oae_link *l = &tag->link;
	bool mine = f->dst_ltag == l->ltag;
	bool came = f->flags & OAE_F_VIA;
	bool lost = way_lost(tag, now);

	if (came == tag->way_via || use_gw(tag->key.port) != OAE_GW_AUTO) {
		if (mine)
			way_is_good(tag, came, now, a);
		*via = tag->way_via;
		return true;
	}
	if (mine && (lost || !came || f->src_ltag == l->peer_ltag)) {
		way_is_good(tag, came, now, a);
		*via = tag->way_via;
		return true;
	}
	*via = tag->way_via;
	if (!is_sync(f->opcode))
		return true;
	if (lost || !came) {
		*via = came;
		return true;
	}
	if (mine || f->opcode != OAE_SYNC)
		return true;
	oae_count(tag->node, OAE_S_NOTE + OAE_N_STALE_SYNC);
	return false;
}

/**
 * oae_path_asked() - an event has left a link frozen, or CLOSED
 * @tag: its tag
 * @a: what is sent now
 *
 * Context: any but hard interrupts, tag->lock held.
 */
void oae_path_asked(struct oae_tag *tag, const struct oae_actions *a)
{
	unsigned int i;

	for (i = 0; i < a->nsends; i++)
		if (a->send[i].frame.opcode == OAE_SYNC)
			tag->asked++;
	way_usual(tag);
}

/**
 * oae_path_timer() - a link's timer is about to be dealt with
 * @tag: its tag
 * @now: ns
 * @a: as for oae_path_update()
 *
 * With use_gw auto a link that has asked in vain asks the other way, as long
 * as there is one. Before the SYNC is built, since it says an MTU.
 *
 * Context: softirq, tag->lock held.
 */
void oae_path_timer(struct oae_tag *tag, u64 now, struct oae_actions *a)
{
	const struct oae_link *l = &tag->link;
	struct oae_gw gw;

	if (tag->asked < ASK_EACH_WAY || now < l->again_at ||
	    (l->state != OAE_SYNC_SENT && l->state != OAE_SYNC_RECD))
		return;
	tag->way_lost = true;
	way_usual(tag);
	if (use_gw(tag->key.port) != OAE_GW_AUTO)
		return;
	gw_get(tag->key.port, &gw);
	if (!gw_usable(tag->key.port, &gw))
		return;
	tag->via = !tag->way_via;
	oae_path_update(tag, now, a);
}

/* The knobs */

static void all_ports(struct oae_node *node,
		      void (*fn)(struct oae_port *port))
{
	struct oae_port *port;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		fn(port);
	rcu_read_unlock();
}

static void port_use_gw(struct oae_port *port)
{
	if (use_gw(port) == OAE_GW_NEVER)
		oae_path_leave(port);
	write_seqlock_bh(&port->gw_lock);
	gw_changed(&port->gw);
	write_sequnlock_bh(&port->gw_lock);
}

/**
 * oae_path_use_gw() - the knob use_gw has been written
 * @node: where
 *
 * The tags notice at their next event.
 *
 * Context: process, under kernel_param_lock.
 */
void oae_path_use_gw(struct oae_node *node)
{
	all_ports(node, port_use_gw);
}

static void port_nhmac(struct oae_port *port)
{
	write_seqlock_bh(&port->gw_lock);
	gw_tell(&port->gw, port->node->nhmac);
	write_sequnlock_bh(&port->gw_lock);
}

/**
 * oae_path_nhmac() - the knob nhmac has been written
 * @node: where; its nhmac is what was
 *
 * Context: process, under kernel_param_lock.
 */
void oae_path_nhmac(struct oae_node *node)
{
	all_ports(node, port_nhmac);
}

/**
 * oae_path_is_own() - is this the address of a port?
 * @node: of one of this node
 * @mac: the address
 *
 * Context: any.
 *
 * Return: true if it is.
 */
bool oae_path_is_own(struct oae_node *node, const u8 *mac)
{
	struct oae_port *port;
	bool own = false;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		own |= ether_addr_equal(port->dev->dev_addr, mac);
	rcu_read_unlock();
	return own;
}

/**
 * oae_path_print() - the gateways in use
 * @node: where
 * @buf: where to
 * @size: bytes there
 *
 * Context: any but hard interrupts.
 *
 * Return: characters written: " MAC", or " DEV/MAC" for each port if there is
 * more than one; nothing for a port without.
 */
int oae_path_print(struct oae_node *node, char *buf, size_t size)
{
	struct oae_port *port;
	unsigned int ports = 0;
	struct oae_gw gw;
	int n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		ports++;
	list_for_each_entry_rcu(port, &node->ports, list) {
		gw_get(port, &gw);
		if (!gw.known)
			continue;
		if (ports > 1)
			n += scnprintf(buf + n, size - n, " %s/%pM",
				       port->dev->name, gw.mac);
		else
			n += scnprintf(buf + n, size - n, " %pM", gw.mac);
	}
	rcu_read_unlock();
	return n;
}
