/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cables: a link may have several. Each has a port at either end for itself, and fails
 * by itself. What the link does about that are its paths (doc/protocol.md section 4.14).
 * A link with one cable has nothing of what is here.
 */
#ifndef SIM_CABLE_H
#define SIM_CABLE_H

#include "path.h"
#include "config.h"

/* The paths of an end, as struct oae_tag_paths has them. */
struct end_paths {
	struct oae_paths ps;
	u64 looked_at;			/* for others, 0 not yet */
	u8 cable[OAE_PATHS_MAX];	/* of each path */
	bool begun;			/* otherwise there is the own one, and @ps is not set */
};

struct cable {
	u64 last_due[2];	/* of what either end sent: a cable keeps the order */
	u8 fault;		/* enum cable_fault */
	u8 deaf;		/* CABLE_ONEWAY: the end to which nothing comes through */
};

/* The cable in use has failed, and nothing was committed by another one yet. */
struct outage {
	u64 since;		/* 0: not so */
	u8 cable;
	u8 fault;
};

/* What a link with several cables has besides, for both ends. */
struct cabling {
	struct end_paths paths[2];
	struct outage outage;
	u8 n;
	u8 spare;		/* has no faults of itself; @n: there is none */
	struct cable cable[];
};

/* How links with several cables, and their paths, are. */
struct census {
	u64 ends_open, ends_frozen, ends_down, ends_without;
	u64 paths_good, paths_silent, paths_unproven, paths_no_carrier;
	u64 ends_elsewhere;	/* that use another path than their own */
	u64 links_apart;	/* whose ends use two cables */
};

struct cable_counts {
	u64 faults[CABLE_FAULTS], in_use[CABLE_FAULTS], mended[CABLE_FAULTS];
	u64 lost;		/* frames */
	u64 turns, freezes, put_off, strays, found, forgotten, probes;
};

#endif /* SIM_CABLE_H */
