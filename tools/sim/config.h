/* SPDX-License-Identifier: GPL-2.0 */
/* What a run was asked to do: the options, and nothing that changes. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include "oae_types.h"

#define NS_US	((u64)1000)
#define NS_MS	((u64)1000000)
#define NS_S	((u64)1000000000)

enum topo_kind {
	TOPO_PAIR,
	TOPO_RING,
	TOPO_STAR,
	TOPO_TORUS,
	TOPO_MESH,
};

enum fate_what {
	FATE_CRASH,	/* a node stops, and comes back as another incarnation */
	FATE_FLAP,	/* a link's ports go down, and up again */
	FATE_CUT,	/* a link loses everything, and its ports do not know */
	FATE_CLOSE,	/* one end of a link closes it */
	FATE_CABLE,	/* a cable of a link has a fault */
	FATE_END
};

/* What may be the matter with a cable of several. */
enum cable_fault {
	CABLE_WHOLE,
	CABLE_CARRIER,	/* the ports at both ends are down */
	CABLE_SILENT,	/* nothing comes through, and the ports do not know */
	CABLE_ONEWAY,	/* the same one way */
	CABLE_LOSSY,	/* some is lost, both ways */
	CABLE_SHORT,	/* long frames are lost */
	CABLE_FAULTS
};

struct fate {
	u64 at;
	u64 lasts;
	u32 a, b;
	u8 what;
	u8 cable, fault;	/* FATE_CABLE */
};

enum work_kind {
	WORK_NEIGHBOURS,
	WORK_PAIRS,
	WORK_BURSTS,
	WORK_END
};

#define TRACE_NONE	0xffffffff

/* Chances are parts of 2^32; times are ns. */
struct config {
	u64 seed;

	enum topo_kind topo;
	u32 width, height;	/* nodes; height 1 but for a torus */

	u64 latency, latency_max;
	u64 jitter;
	u64 loss, dup, corrupt, reorder;
	u64 reorder_by;
	u32 mtu;

	struct fate *fates;
	u32 nfates;
	u64 crash_rate, flap_rate;	/* per 1000 s and node, or link */
	u64 reboot_time, flap_time;

	u32 cables, cables_max;		/* of a link */
	u64 cable_rate;			/* faults per 1000 s and cable */
	u64 cable_time;
	u32 cable_kinds;		/* bit n: enum cable_fault n */
	u64 cable_loss;			/* of CABLE_LOSSY */
	u32 cable_short;		/* bytes that CABLE_SHORT carries */
	bool cable_spare;		/* one of each link has none */

	enum work_kind work;
	u64 transactions;		/* 0: as many as fit the time */
	u64 time;			/* 0: until all are posted */
	u32 window;
	u64 think;
	u64 rate;			/* per second and end */
	u32 burst;
	u32 sndq;
	u32 size_min, size_max;
	u32 slice;			/* bytes, 0: what the MTU carries */
	u64 express, confirm, cancel;
	u64 swap, verb;
	u64 patience;
	u32 rcvbuf;			/* transactions */
	u64 read_time;

	u64 stall_min, stall_max, keepalive, dead;
	u32 max_len;
	u32 link_window;

	u64 settle;
	bool bytes;

	bool json, bench, quiet;
	const char *svg;
	const char *trace;		/* a link, as it was written */
	u32 trace_link;
	u32 trace_lines;		/* 0: all */
};

void options_parse(struct config *c, int argc, char **argv);

#endif /* SIM_CONFIG_H */
