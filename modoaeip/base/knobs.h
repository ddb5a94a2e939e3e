/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The numeric knobs:
 *
 *   OAEIP_KNOB(name, minimum, maximum, default, unit, description)
 *   OAEIP_KNOB_OR_0(...)	the same, and 0 is accepted
 *
 * Each is a member of struct oaeip_knobs and a module parameter. Define the two
 * macros before including this file; they expand each row.
 */
OAEIP_KNOB(verbose, 0, 2, 0, "",
	   "kernel log: 0 errors and losses, 1 zones and nodes, 2 all that is out of the ordinary")
OAEIP_KNOB(port, 1, 65535, 34997, "UDP", "UDP port of all gateways")
OAEIP_KNOB(hello_ms, 100, 60000, 1000, "ms",
	   "ms between HELLOs in the zone, and between beats to gateways")
OAEIP_KNOB(refresh_ms, 500, 600000, 5000, "ms",
	   "ms after which all nodes are told to all gateways again")
OAEIP_KNOB(node_life_ms, 1000, 3600000, 30000, "ms",
	   "ms of silence after which a node of the zone is forgotten")
OAEIP_KNOB(max_nodes, 1, 1048576, 16384, "nodes a zone", "most nodes a zone in the table")
OAEIP_KNOB_OR_0(mtu, 256, 65535, 0, "bytes",
		"longest OAE frame in the tunnel, bytes, 0 what the path carries")
OAEIP_KNOB(control_pps, 10, 100000, 2000, "messages a second",
	   "most control messages and HELLOs dealt with a second")

#undef OAEIP_KNOB
#undef OAEIP_KNOB_OR_0
