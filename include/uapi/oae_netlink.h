/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The generic netlink families of the modules: "oae" of modoae, "oaegw" of
 * modoaeip. doc/netlink/ specifies them in the kernel's YAML format.
 *
 * Everything is about the network namespace of the socket. Commands that change
 * something need CAP_NET_ADMIN in the user namespace that owns it. Why a request is
 * refused is said in the extended ACK: NLMSGERR_ATTR_MSG in words, and
 * NLMSGERR_ATTR_OFFS which attribute.
 */
#ifndef _UAPI_OAE_NETLINK_H
#define _UAPI_OAE_NETLINK_H

#define OAE_NL_FAMILY		"oae"
#define OAE_NL_VERSION		1

/* Multicast group: what happens to links, ports and neighbours. */
#define OAE_NL_GROUP_LINK	"link"

#define OAE_NL_GW_FAMILY	"oaegw"
#define OAE_NL_GW_VERSION	1

/* Multicast group: what becomes of zones. */
#define OAE_NL_GW_GROUP		"gateway"

/*
 * Commands of "oae". If links come and go during a dump, it may have a link twice,
 * or miss one. Its later messages have NLM_F_DUMP_INTR then: dump again.
 */
enum oae_nl_cmd {
	OAE_NL_LINK_GET = 1,	/* dump; PORT, PEER and VC say which links */
	OAE_NL_LINK_CLOSE,	/* PEER, perhaps PORT and VC (else 0); does not wait */
	OAE_NL_KNOB_GET,	/* dump, or the knob NAME */
	OAE_NL_KNOB_SET,	/* SETTINGs: all are set, or none */
	OAE_NL_PORT_GET,	/* dump */
	OAE_NL_PORT_ADD,	/* NAME */
	OAE_NL_PORT_DEL,	/* NAME; waits for its links to close, a second at most */
	OAE_NL_STATS_GET,	/* dump */
	OAE_NL_EVENT_GET,	/* NUMBER of the last event that was sent, MISSED */
	OAE_NL_EVENT,		/* sent to the group "link" */
	OAE_NL_NEIGHBOUR_GET,	/* dump */
	OAE_NL_PATH_SET,	/* PEER, perhaps PORT, VC (else 0): links; BY, perhaps TO; RANK */
	__OAE_NL_CMD_END,
	OAE_NL_CMD_MAX = __OAE_NL_CMD_END - 1
};

/* Commands of "oaegw", with the attributes of knobs and events. */
enum oae_nl_gw_cmd {
	OAE_NL_GW_KNOB_GET = 1,	/* dump, or the knob NAME */
	OAE_NL_GW_KNOB_SET,	/* SETTINGs: all are set, or none */
	OAE_NL_GW_EVENT_GET,	/* NUMBER of the last event, MISSED */
	OAE_NL_GW_EVENT,	/* sent to the group "gateway" */
	__OAE_NL_GW_CMD_END,
	OAE_NL_GW_CMD_MAX = __OAE_NL_GW_CMD_END - 1
};

/* A link; the words and numbers are those of /proc/net/modoae/tags. */
enum oae_nl_link {
	OAE_NL_LINK_PORT = 1,	/* string: name of the net device */
	OAE_NL_LINK_PEER,	/* 6 bytes: MAC */
	OAE_NL_LINK_VC,		/* u8: virtual channel */
	OAE_NL_LINK_STATE,	/* string */
	OAE_NL_LINK_OFFER,	/* string */
	OAE_NL_LINK_HOLD,	/* string */
	OAE_NL_LINK_WAY,	/* string: direct, gw */
	OAE_NL_LINK_RX,		/* u32: number of the last transaction delivered */
	OAE_NL_LINK_TX,		/* u32: of the last one committed */
	OAE_NL_LINK_UNREAD,	/* u32: transactions */
	OAE_NL_LINK_QUEUE,	/* u32: transactions */
	OAE_NL_LINK_RTT,	/* u64: ns, smoothed; 0 not known */
	OAE_NL_LINK_KID,	/* u64: key id */
	OAE_NL_LINK_AGE,	/* u64: s */
	OAE_NL_LINK_PAD,
	OAE_NL_LINK_LANES,	/* u8: transactions under way in this direction */
	OAE_NL_LINK_CWND,	/* u32: frames with a content that may be under way */
	OAE_NL_LINK_WINDOW,	/* u8: the most LANES that both ends agreed on; 0 not known */
	OAE_NL_LINK_REPAIRED,	/* u64: lost frames offered again without a freeze */
	OAE_NL_LINK_FAILURES,	/* u64: freezes that the link has recovered from */
	OAE_NL_LINK_WAITS,	/* string: what the link waits for, in a word; - nothing */
	OAE_NL_LINK_SINCE,	/* u64: ns that it has waited; 0 not known */
	OAE_NL_LINK_UNTIL,	/* u64: ns until it gives up; 0 never */
	OAE_NL_LINK_UNREAD_BYTES, /* u32: what is unread costs; rcvbuf is the limit */
	OAE_NL_LINK_IDLE,	/* u32: ms for which nothing was read, though there is something */
	OAE_NL_LINK_SAYS,	/* string: all this in a sentence for people */
	OAE_NL_LINK_SSTHRESH,	/* u32: up to here CWND doubles with each round trip */
	OAE_NL_LINK_MIN_RTT,	/* u64: ns, the shortest round trip of late; 0 not known */
	__OAE_NL_LINK_END,
	OAE_NL_LINK_MAX = __OAE_NL_LINK_END - 1
};

/* A knob: a parameter of the module. */
enum oae_nl_knob {
	OAE_NL_KNOB_NAME = 1,	/* string */
	OAE_NL_KNOB_VALUE,	/* string, as in /sys/module */
	OAE_NL_KNOB_TAKES,	/* string: which values are accepted */
	OAE_NL_KNOB_SETTING,	/* nested NAME and VALUE; one for each knob to set */
	__OAE_NL_KNOB_END,
	OAE_NL_KNOB_MAX = __OAE_NL_KNOB_END - 1
};

/* A port: a net device bound to the module. */
enum oae_nl_port {
	OAE_NL_PORT_NAME = 1,	/* string; in a request also udp:ADDR[:PORT] */
	OAE_NL_PORT_ADDRESS,	/* 6 bytes: MAC */
	OAE_NL_PORT_STATE,	/* string: up, down, no carrier */
	OAE_NL_PORT_MTU,	/* u32: bytes */
	__OAE_NL_PORT_END,
	OAE_NL_PORT_MAX = __OAE_NL_PORT_END - 1
};

/* A neighbour: a host that was heard at a port, from an address. */
enum oae_nl_neighbour {
	OAE_NL_NEIGHBOUR_ID = 1,	/* u64: the id that it says it has */
	OAE_NL_NEIGHBOUR_PORT,	/* string: name of the net device */
	OAE_NL_NEIGHBOUR_ADDRESS,	/* 6 bytes: MAC */
	OAE_NL_NEIGHBOUR_MTU,	/* u32: bytes that its port carries */
	OAE_NL_NEIGHBOUR_HEARD,	/* u64: ms since it was heard */
	OAE_NL_NEIGHBOUR_INC,	/* u64: its incarnation */
	OAE_NL_NEIGHBOUR_PAD,
	__OAE_NL_NEIGHBOUR_END,
	OAE_NL_NEIGHBOUR_MAX = __OAE_NL_NEIGHBOUR_END - 1
};

/* A path of a link; the words are those of /proc/net/modoae/paths. */
enum oae_nl_path {
	OAE_NL_PATH_PORT = 1,	/* string: the net device of the link's own path */
	OAE_NL_PATH_PEER,	/* 6 bytes: MAC of the link's peer */
	OAE_NL_PATH_VC,		/* u8: virtual channel */
	OAE_NL_PATH_BY,		/* string: the net device that the path goes by */
	OAE_NL_PATH_TO,		/* 6 bytes: MAC that it goes to */
	OAE_NL_PATH_RANK,	/* string: preferred, normal, avoid */
	__OAE_NL_PATH_END,
	OAE_NL_PATH_MAX = __OAE_NL_PATH_END - 1
};

/* A counter. */
enum oae_nl_stat {
	OAE_NL_STAT_NAME = 1,	/* string */
	OAE_NL_STAT_VALUE,	/* u64 */
	OAE_NL_STAT_TEXT,	/* string: what it counts */
	OAE_NL_STAT_PAD,
	__OAE_NL_STAT_END,
	OAE_NL_STAT_MAX = __OAE_NL_STAT_END - 1
};

/*
 * An event. NUMBER counts the events of the namespace: a gap is exactly what this
 * socket missed, for want of room in its buffer (ENOBUFS) or in the kernel.
 *
 * WHAT is of a link the name of a note (note_... in the counters); of a port bound,
 * up, down, address (it has changed), released; of a neighbour new, changed (its id, its
 * incarnation or its MTU), gone; of the gateway's own zone serving, left; of another zone
 * up, silent, unreachable.
 */
enum oae_nl_event {
	OAE_NL_EVENT_NUMBER = 1,	/* u64 */
	OAE_NL_EVENT_MISSED,	/* u64: events of the namespace that were sent to nobody */
	OAE_NL_EVENT_TIME,	/* u64: ns, the clock of the kernel log */
	OAE_NL_EVENT_KIND,	/* string: link, port, neighbour, zone */
	OAE_NL_EVENT_WHAT,	/* string, see below */
	OAE_NL_EVENT_PORT,	/* string: name of the net device */
	OAE_NL_EVENT_PEER,	/* 6 bytes: MAC; of links and neighbours */
	OAE_NL_EVENT_VC,	/* u8; this and what follows of links only */
	OAE_NL_EVENT_BEFORE,	/* string: state of the link before the event */
	OAE_NL_EVENT_AFTER,	/* string: state after it */
	OAE_NL_EVENT_TX,	/* u32: number of the last transaction committed */
	OAE_NL_EVENT_TEXT,	/* string: what WHAT means */
	OAE_NL_EVENT_PAD,
	OAE_NL_EVENT_ZONE,	/* u16: of a zone only, without PORT and what is of links */
	OAE_NL_EVENT_ID,	/* u64: of a neighbour only, the id that it says it has */
	OAE_NL_EVENT_SAYS,	/* string: what the link waited for then; none, if for nothing */
	__OAE_NL_EVENT_END,
	OAE_NL_EVENT_MAX = __OAE_NL_EVENT_END - 1
};

#endif /* _UAPI_OAE_NETLINK_H */
