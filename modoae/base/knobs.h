/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The knobs that are numbers, or a choice of words that stands for one:
 *
 *   OAE_KNOB(name, minimum, maximum, default, unit, description)
 *   OAE_CHOICE(name, accepted, default, description)	the words are in ctl/knobs.c
 *
 * Each is a member of struct oae_knobs and a parameter of the module. This is an
 * X-macro table: the including file defines the two macros.
 *
 * A number in OAE_BYTES is a size: K, M or G may stand behind it.
 *
 * The maximum of max_len fits into 64 slices in jumbo frames.
 */
OAE_KNOB(vci, 0, 255, 0, "decimal or 0x hex", "virtual channel that noc_debug sends on")
OAE_KNOB(tag_seq, 0, 4294967295, 1, "", "number of the first transaction of a new link")
OAE_KNOB(verbose, 0, 2, 0, "",
	 "kernel log: 0 errors and losses, 1 links and ports, 2 all that is out of the ordinary")
OAE_KNOB(drop_pct, 0, 100, 0, "percent", "percent of frames received to drop, for tests")
OAE_KNOB(express, 0, 1, 0, "", "1: noc_debug sends express, delivered at once and not reversible")
OAE_KNOB(deadline_ms, 0, 3600000, 0, "ms, 0 for none",
	 "ms after which a noc_debug write is reversed, 0 none")
OAE_KNOB(stall_min_us, 50, 1000000, 1000, "us", "least us without an answer until it is asked for")
OAE_KNOB(stall_max_us, 1000, 10000000, 200000, "us", "greatest such us, not below stall_min_us")
OAE_KNOB(keepalive_ms, 10, 600000, 1000, "ms", "ms of silence before an idle peer is probed")
OAE_KNOB(dead_ms, 50, 3600000, 5000, "ms", "ms without an answer before a link is down")
OAE_KNOB(linger_ms, 0, 10000, 500, "ms",
	 "ms that unloading and releasing a device wait for links to close")
OAE_KNOB(max_tags, 1, 1000000, 1024, "links", "most links a namespace")
OAE_KNOB(max_len, 1, 262144, 65536, OAE_BYTES, "largest transaction, bytes")
OAE_KNOB(sndq, 1, 4096, 64, "transactions", "most transactions queued to send a link")
OAE_KNOB(window, 1, 64, 16, "transactions", "most transactions under way a link and direction")
OAE_KNOB(pack, 0, 1, 1, "", "1: small messages, or verbs, that wait are sent together")
OAE_KNOB(paths, 1, 8, 8, "", "most paths a link, its own counted; 1: no other than that")
OAE_KNOB(rcvbuf, 4096, 16777216, 262144, OAE_BYTES,
	 "most that what is delivered and not yet read may cost, and what comes, a link")
OAE_KNOB(stranger_pps, 0, 100000, 200, "answers a second",
	 "most answers a second to peers without a link")
OAE_KNOB(doubt_s, 0, 604800, 3600, "s, 0 for ever",
	 "s that a stranger's link that is down and in doubt is kept when others want its place, 0 for ever")
OAE_CHOICE(accept, "takes any, peers or none", OAE_ACCEPT_ANY,
	   "peers that may open a link: any, peers (those in target and peers), none (default any)")
OAE_CHOICE(use_gw, "takes 0, 1 or auto", OAE_GW_AUTO,
	   "ways to peers: 0 direct, 1 through the gateway, auto direct first, the gateway when that stays silent (default auto)")
OAE_KNOB(discover, 0, 1, 1, "", "1: neighbours are told of this host, and it learns of them")
OAE_KNOB(region_max, 8, 67108864, 1048576, OAE_BYTES,
	 "largest region that a file of /dev/oae exposes, bytes")

#undef OAE_KNOB
#undef OAE_CHOICE
