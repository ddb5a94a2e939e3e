// SPDX-License-Identifier: GPL-2.0
/* What --help says: the options in a line each, and the manual behind them. */
#include "manual.h"

const char manual_text[] =
	"Simulate a network of atomic links, and hold it to its promises."
	"\v"
	"Every link end is the link of the kernel module itself, compiled from the "
	"same files. Frames, timers, users and faults are events in simulated time. "
	"As it runs, everything that is committed, reversed and delivered is checked: "
	"each transaction has exactly one outcome, what was reversed is never "
	"delivered, and what was committed is delivered exactly once, whole and in "
	"order, unless an end of its link died. Then the faults stop; all must settle "
	"within --settle, and each end of each link must get two more committed, one of them "
	"express; with --swap and --verb a half and a verb as well.\n"
	"\n"
	"The same options, the seed among them, give the same bytes of output.\n"
	"\n"
	"UNITS. N: 1500, 10k, 2.5M. T: 500ns, 10us, 1.5ms, 2s. P: 1% or 0.01.\n"
	"\n"
	"NODES are numbered from 0. In a star node 0 is the hub; in a torus WxH node "
	"y*W+x is at column x of row y, joined to its neighbours left, right, above "
	"and below, around the edges. A link is written as its two nodes: 3-4.\n"
	"\n"
	"FAULTS ON A SCHEDULE. --at may be given many times:\n"
	"  TIME:crash:NODE[:DOWN]   its memory is lost; it is back after DOWN\n"
	"  TIME:flap:A-B[:DOWN]     the ports at both ends go down, and up after DOWN\n"
	"  TIME:cut:A-B[:DOWN]      frames are lost, and no port says so\n"
	"  TIME:close:A-B           node A closes the link\n"
	"  TIME:FAULT:A-B/N[:DOWN]  cable N of the link, see below, has a fault\n"
	"DOWN is --reboot-time for a crash, --cable-time for a cable, else --flap-time, unless it "
	"is given.\n"
	"\n"
	"CABLES. The cables of a link, numbered from 0, are its paths; one is in use. Their "
	"faults, for --cable-kinds separated by commas:\n"
	"  carrier  the ports at both ends go down\n"
	"  silent   nothing comes through, and no port says so\n"
	"  oneway   the same one way; on a schedule nothing from A comes through\n"
	"  lossy    --cable-loss of the frames are lost\n"
	"  short    frames longer than --cable-short are lost, the header counts\n"
	"A cable that has a fault has no other meanwhile. Paths are looked for, and probed, every "
	"--keepalive: it should be short beside the time of the run, and --dead with it. A flap "
	"and a cut are of all cables of a link.\n"
	"\n"
	"SWAPS AND VERBS. A half waits until the other end of the link has one too; then both "
	"are taken, or neither. Each node has four words, and every verb adds one to "
	"one of them: it returns what that was before, which no other does. A word is "
	"reserved until it is decided, and other verbs wait meanwhile.\n"
	"\n"
	"WORKLOADS.\n"
	"  neighbours   every node keeps --window transactions under way to each of "
	"its neighbours; with --think it waits that long, on average, before the next\n"
	"  pairs        at random times, --rate a second and end on average, one "
	"transaction from a random node to a random neighbour\n"
	"  bursts       the same, --burst at once\n"
	"\n"
	"JSON. One object: format (\"oaesim-1\"), config, network, simulated_ns, "
	"transactions, frames, links (with notes: how often each thing happened), "
	"commit_ns and heal_ns (count, mean, p50, p90, p99, p99.9, max), of links with several "
	"cables also cables (see CABLES; failover_ns: by fault, from one of a cable in use to the first commit by "
	"another, with classes: [below ns, how many]), series "
	"(width_ns, windows: what happened in each) and violation (null, or what, "
	"at_ns, nodes, story). posted = committed + reversed + unknown + "
	"lost_with_sender. Times are ns, chances are parts of 1. New members may be "
	"added; none changes its meaning while the format has this name.\n"
	"\n"
	"EXIT STATUS. 0: all promises held. 1: one was broken; the report says which, "
	"and what its link did last. 2: the options are wrong. 3: out of memory, or a "
	"file could not be written.\n"
	"\n"
	"EXAMPLES.\n"
	"  tools/oaesim --pair --loss 1% -n 10k\n"
	"  tools/oaesim --ring 20 --at 2ms:crash:7 --at 3ms:flap:3-4:2ms --time 20ms\n"
	"  tools/oaesim --torus 100x100 --loss 1% -n 10M --bench --svg torus.svg\n"
	"  tools/oaesim --ring 9 --cables 2 --cable-rate 20 --keepalive 5ms -t 100ms\n";

const struct argp_option manual_options[] = {
	{ NULL, 0, NULL, 0, "Network:", 1 },
	{ "pair", O_PAIR, NULL, 0, "Two nodes, one link (default)", 1 },
	{ "ring", O_RING, "N", 0, "N nodes in a ring", 1 },
	{ "star", O_STAR, "N", 0, "A hub and N-1 others", 1 },
	{ "torus", O_TORUS, "WxH", 0, "W times H nodes, four neighbours each", 1 },
	{ "mesh", O_MESH, "N", 0, "N nodes, each joined to all others", 1 },

	{ NULL, 0, NULL, 0, "Wires:", 2 },
	{ "latency", O_LATENCY, "T[..T]", 0, "One way; of a range, each link its own (10us)", 2 },
	{ "jitter", O_JITTER, "T", 0, "Added at random, order kept (2us)", 2 },
	{ "loss", O_LOSS, "P", 0, "Frames lost (0)", 2 },
	{ "dup", O_DUP, "P", 0, "Frames that arrive twice (0)", 2 },
	{ "reorder", O_REORDER, "P", 0, "Frames held back, so that others overtake them (0)", 2 },
	{ "reorder-by", O_REORDER_BY, "T", 0, "For so long at most (100us)", 2 },
	{ "corrupt", O_CORRUPT, "P", 0, "Frames with flipped bits; the digest finds them (0)", 2 },
	{ "mtu", O_MTU, "N", 0, "Bytes behind the Ethernet header (1500)", 2 },

	{ NULL, 0, NULL, 0, "Faults:", 3 },
	{ "at", O_AT, "FAULT", 0, "A fault at a time, see below", 3 },
	{ "crash-rate", O_CRASH_RATE, "N", 0, "Crashes per node and second, at random (0)", 3 },
	{ "reboot-time", O_REBOOT_TIME, "T", 0, "How long a crashed node is away (5ms)", 3 },
	{ "flap-rate", O_FLAP_RATE, "N", 0, "Flaps per link and second, at random (0)", 3 },
	{ "flap-time", O_FLAP_TIME, "T", 0, "How long ports are down, or a wire is cut (2ms)", 3 },

	{ NULL, 0, NULL, 0, "Cables:", 4 },
	{ "cables", O_CABLES, "N[..N]", 0,
	  "Of each link, up to 8; of a range, each its own (1)", 4 },
	{ "cable-rate", O_CABLE_RATE, "N", 0,
	  "Faults per cable and second, where a link has several, at random (0)", 4 },
	{ "cable-time", O_CABLE_TIME, "T", 0, "How long they last, on average (2ms)", 4 },
	{ "cable-kinds", O_CABLE_KINDS, "LIST", 0, "Which, see below (all)", 4 },
	{ "cable-loss", O_CABLE_LOSS, "P", 0, "Frames that a lossy cable loses (30%)", 4 },
	{ "cable-short", O_CABLE_SHORT, "N", 0, "Longest frame that a short one carries (128)", 4 },
	{ "cable-spare", O_CABLE_SPARE, NULL, 0,
	  "One cable of each link has none of these, and no link may go down", 4 },

	{ NULL, 0, NULL, 0, "Users:", 5 },
	{ "workload", 'w', "NAME", 0, "neighbours, pairs or bursts, see below (neighbours)", 5 },
	{ "transactions", 'n', "N", 0, "How many in all (100k, or with --time no limit)", 5 },
	{ "time", 't', "T", 0, "Simulated time of work", 5 },
	{ "window", O_WINDOW, "N", 0, "neighbours: under way at each end (2)", 5 },
	{ "think", O_THINK, "T", 0, "neighbours: mean time before the next (0)", 5 },
	{ "rate", O_RATE, "N", 0, "pairs, bursts: transactions a second and end (1k)", 5 },
	{ "burst", O_BURST, "N", 0, "bursts: at once (32)", 5 },
	{ "sndq", O_SNDQ, "N", 0, "Longest queue of an end; more are turned away (64)", 5 },
	{ "size", O_SIZE, "N[..N]", 0, "Bytes of a transaction, 8 or more (64)", 5 },
	{ "slice", O_SLICE, "N", 0, "Bytes of a slice (what the MTU carries)", 5 },
	{ "express", O_EXPRESS, "P", 0, "Transactions sent as express (0)", 5 },
	{ "swap", O_SWAP, "P", 0, "Transactions that are halves of a swap (0)", 5 },
	{ "verb", O_VERB, "P", 0, "Of the others, those that are a FETCH_ADD there (0)", 5 },
	{ "confirm", O_CONFIRM, "P", 0, "Transactions that ask for DONE (0)", 5 },
	{ "cancel", O_CANCEL, "P", 0, "Transactions whose writer is interrupted (0)", 5 },
	{ "patience", O_PATIENCE, "T", 0, "Within this time (50us)", 5 },
	{ "read-time", O_READ_TIME, "T", 0, "What a reader takes for one (0)", 5 },
	{ "rcvbuf", O_RCVBUF, "N", 0, "Transactions unread before the end grants no more (8)", 5 },

	{ NULL, 0, NULL, 0, "Knobs of the module:", 6 },
	{ "stall-min", O_STALL_MIN, "T", 0, "Least time until an answer is asked for (1ms)", 6 },
	{ "stall-max", O_STALL_MAX, "T", 0, "Greatest (200ms)", 6 },
	{ "keepalive", O_KEEPALIVE, "T", 0, "Between probes of an idle link (1s)", 6 },
	{ "dead", O_DEAD, "T", 0, "Without an answer: the link is down (5s)", 6 },
	{ "link-window", O_LINK_WINDOW, "N", 0,
	  "Under way on a link and direction, up to 8 (1)", 6 },
	{ "max-len", O_MAX_LEN, "N", 0, "Largest transaction taken, bytes (65536)", 6 },

	{ NULL, 0, NULL, 0, "Run:", 7 },
	{ "seed", 's', "N", 0, "Of all dice (1)", 7 },
	{ "settle", O_SETTLE, "T", 0, "Simulated time within which all must settle (60s)", 7 },
	{ "bytes", O_BYTES, NULL, 0, "Send frames as bytes, with real payload and digests", 7 },

	{ NULL, 0, NULL, 0, "Output:", 8 },
	{ "json", 'j', NULL, 0, "The report as JSON, see below", 8 },
	{ "svg", O_SVG, "FILE", 0, "Latency and outcomes over time as a picture", 8 },
	{ "trace", O_TRACE, "A-B", 0, "Tell what happens on a link", 8 },
	{ "trace-lines", O_TRACE_LINES, "N", 0, "The last N lines of it, 0 for all (60)", 8 },
	{ "bench", O_BENCH, NULL, 0, "Say to stderr how fast it went", 8 },
	{ "quiet", 'q', NULL, 0, "No progress on the terminal", 8 },
	{}
};
