// SPDX-License-Identifier: GPL-2.0
/* What is explored: posts by A and by B (enum m_kind), and what may go wrong. */
#include "model.h"

#define COMMON	.cap = 2, .slices = 1, .dup = true

/* Every rule, in seconds. */
const struct m_scenario m_quick[] = {
	{ "confirm", { "c", "" }, COMMON },
	{ "one", { "e", "" }, COMMON, .cancel = true },
	{ "wrap", { "e", "" }, COMMON, .cancel = true, .start = -2 },
	{ "port", { "e", "" }, COMMON, .port = true },
	{ "kill", { "e", "" }, COMMON, .kill = 1 },
	{ "probe", { "e", "" }, COMMON, .cancel = true, .probe = true },
	{ "room", { "ea", "" }, COMMON, .rcvbuf = 1 },
	{ "rename", { "e", "" }, COMMON, .rename = 1 },
	{ "settle", { "e", "" }, COMMON, .rename = 1, .settle = true },
	{ "one-raw", { "e", "" }, COMMON, .raw = true, .cancel = true },
	{ "crash", { "e", "" }, COMMON, .cancel = true, .crash = 1 },
	{ "crash-twice", { "e", "" }, COMMON, .crash = 2 },
	{ "dead", { "e", "" }, COMMON, .dead = true },
	{ "two", { "ee", "" }, COMMON, .cancel = true },
	{ "close", { "e", "" }, COMMON, .cancel = true, .close = 1 },
	{ "both", { "e", "e" }, COMMON },
	{ "verb", { "v", "" }, COMMON, .cancel = true, .conflict = 1 },
	{ "verb-crash", { "v", "" }, COMMON, .crash = 1 },
	{ "swap", { "s", "s" }, COMMON },
	{ "swap-alone", { "s", "" }, COMMON, .cancel = true, .crash = 1 },
	{ "swap-port", { "s", "s" }, COMMON, .port = true },
	{ "slices-express", { "x", "" }, .cap = 3, .slices = 2, .dup = true },
	{ "crash-raw", { "e", "" }, COMMON, .raw = true, .crash = 1 },
	{ "slices", { "a", "" }, .cap = 3, .slices = 2, .cancel = true },
	{ "cut-swap", { "s", "s" }, .cap = 2, .slices = 1, .cut = 1 },
	{ "forge", { "e", "" }, COMMON, .crash = 1, .forge = true },
	{ "wanted", { "w", "" }, COMMON, .dead = true, .crash = 1 },
	{ "refused", { "a", "x" }, COMMON, .refuse = 1 },
	{ "cut-verb", { "v", "" }, COMMON, .cut = 1 },
	{ NULL }
};

/* And more of each at once, in a minute or two. */
const struct m_scenario m_more[] = {
	{ "both-cancel", { "e", "e" }, COMMON, .cancel = true },
	{ "both-raw", { "a", "x" }, COMMON, .raw = true },
	{ "both-rename", { "e", "x" }, COMMON, .rename = 1 },
	{ "mtu", { "a", "" }, .cap = 3, .slices = 1, .mtu = 1 },
	{ "mtu-most", { "x", "" }, .cap = 3, .slices = 1, .most = 1,
	  .dup = true, .mtu = 1 },
	{ "dead-crash", { "e", "" }, COMMON, .dead = true, .crash = 1 },
	{ "cut", { "e", "" }, .cap = 3, .slices = 1, .cut = 1 },
	{ "both-close", { "e", "a" }, COMMON, .close = 1 },
	{ "both-crash", { "e", "e" }, COMMON, .crash = 1 },
	{ "ways", { "o", "" }, .cap = 2, .slices = 1, .ways = true, .forge = true },
	{ "ways-gateway", { "o", "" }, .cap = 1, .slices = 1, .ways = true,
	  .forge = true, .dup = true, .leave = 1 },
	{ "ways-crash", { "a", "" }, .cap = 1, .slices = 1, .ways = true,
	  .forge = true, .dup = true, .crash = 1 },
	{ "swap-cancel", { "s", "s" }, COMMON, .cancel = true },
	{ "swap-crash", { "s", "s" }, COMMON, .crash = 1 },
	{ "verb-swap", { "vs", "s" }, .cap = 2, .slices = 1, .conflict = 1 },
	{ NULL }
};

/* Two each way, of mixed kinds, and a crash: a hundred million states. */
const struct m_scenario m_deep[] = {
	{ "wanted-both", { "w", "w" }, COMMON, .dead = true, .crash = 1 },
	{ "wanted-refused", { "wa", "" }, COMMON, .dead = true, .crash = 1,
	  .refuse = 1 },
	{ "swap-close", { "s", "s" }, COMMON, .close = 1 },
	{ "swap-two", { "ss", "ss" }, COMMON },
	{ "swap-messages", { "sa", "as" }, COMMON },
	{ "swap-verb", { "sv", "s" }, COMMON, .conflict = 1 },
	{ "message-swap", { "s", "as" }, COMMON },
	{ "swap-message", { "sa", "s" }, COMMON },
	{ "swap-kill", { "s", "s" }, COMMON, .kill = 1 },
	{ "swap-rename", { "s", "s" }, COMMON, .rename = 1 },
	{ "swap-dead", { "s", "s" }, COMMON, .dead = true },
	{ "swap-probe", { "s", "s" }, COMMON, .probe = true },
	{ "swap-mtu", { "s", "s" }, COMMON, .mtu = 1 },
	{ "swap-raw", { "s", "s" }, COMMON, .raw = true },
	{ "swap-crash-deep", { "s", "s" }, COMMON, .crash = 2, .cancel = true },
	{ "verbs", { "v", "v" }, COMMON, .crash = 1, .conflict = 1 },
	{ "mtu-most-two", { "xx", "" }, .cap = 3, .slices = 1, .most = 1,
	  .dup = true, .mtu = 1 },
	{ "ways-both", { "o", "o" }, .cap = 1, .slices = 1, .ways = true,
	  .forge = true, .leave = 1 },
	{ "both-settle", { "e", "x" }, COMMON, .rename = 1, .settle = true },
	{ "mtu-express", { "e", "" }, .cap = 3, .slices = 1, .mtu = 1 },
	{ "two-each-crash", { "ax", "xa" }, COMMON, .crash = 1 },
	{ NULL }
};
