/* SPDX-License-Identifier: GPL-2.0 */
/* The options by number, and what --help says of them. */
#ifndef SIM_MANUAL_H
#define SIM_MANUAL_H

#include <argp.h>

/* Those without a letter. */
enum {
	O_PAIR = 256, O_RING, O_STAR, O_TORUS, O_MESH,
	O_LATENCY, O_JITTER, O_LOSS, O_DUP, O_REORDER, O_REORDER_BY, O_CORRUPT,
	O_MTU, O_AT, O_CRASH_RATE, O_FLAP_RATE, O_REBOOT_TIME, O_FLAP_TIME,
	O_CABLES, O_CABLE_RATE, O_CABLE_TIME, O_CABLE_KINDS, O_CABLE_LOSS, O_CABLE_SHORT,
	O_CABLE_SPARE,
	O_WINDOW, O_THINK, O_RATE, O_BURST, O_SNDQ, O_SIZE, O_SLICE, O_EXPRESS,
	O_SWAP, O_VERB,
	O_CONFIRM, O_CANCEL, O_PATIENCE, O_READ_TIME, O_RCVBUF,
	O_STALL_MIN, O_STALL_MAX, O_KEEPALIVE, O_DEAD, O_MAX_LEN, O_LINK_WINDOW,
	O_SETTLE, O_BYTES, O_SVG, O_TRACE, O_TRACE_LINES, O_BENCH,
};

extern const char manual_text[];
extern const struct argp_option manual_options[];

#endif /* SIM_MANUAL_H */
