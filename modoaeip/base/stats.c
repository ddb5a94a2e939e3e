// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their sums, their names for programs, their meaning for people.
 *
 * A name never changes once released; a counter that is no longer counted
 * goes, and its name is not used again.
 */

#include <linux/cpumask.h>

#include "base.h"

struct oaeip_stat_desc {
	const char *name;
	const char *text;
};

static const struct oaeip_stat_desc oaeip_stat_desc[] = {
	[OAEIP_S_ZONE_RX] = { "zone_rx", "frames received from the zone" },
	[OAEIP_S_ZONE_TX] = { "zone_tx", "frames sent into the zone" },
	[OAEIP_S_TUNNEL_RX] = {
		"tunnel_rx", "datagrams received from gateways" },
	[OAEIP_S_TUNNEL_TX] = { "tunnel_tx", "datagrams sent to gateways" },
	[OAEIP_S_TUNNEL_RX_BYTES] = {
		"tunnel_rx_bytes", "UDP payload in those received" },
	[OAEIP_S_TUNNEL_TX_BYTES] = {
		"tunnel_tx_bytes", "UDP payload in those sent" },
	[OAEIP_S_HELLO_RX] = { "hello_rx", "HELLOs received in the zone" },
	[OAEIP_S_HELLO_TX] = { "hello_tx", "HELLOs sent into the zone" },
	[OAEIP_S_CONTROL_RX] = {
		"control_rx", "control messages received from gateways" },
	[OAEIP_S_CONTROL_TX] = {
		"control_tx", "control messages sent to gateways" },
	[OAEIP_S_NO_MEMORY] = { "no_memory", "allocations that failed" },
	[OAEIP_S_TX_ERRORS] = {
		"tx_errors", "dropped: device or IP stack did not take it" },
	[OAEIP_S_NOT_MINE] = {
		"not_mine", "zone frames dropped: not for a gateway" },
	[OAEIP_S_BAD_FRAME] = { "bad_frame", "dropped: OAE frame malformed" },
	[OAEIP_S_BAD_SOURCE] = {
		"bad_source", "dropped: the sender is not VIA's source" },
	[OAEIP_S_BAD_MAC] = {
		"bad_mac", "dropped: an address no node can have, or my own" },
	[OAEIP_S_BAD_PEER] = {
		"bad_peer", "dropped: from an address that no zone has" },
	[OAEIP_S_BAD_ENCAP] = {
		"bad_encap", "dropped: encapsulation header malformed" },
	[OAEIP_S_BAD_ZONE] = {
		"bad_zone", "dropped: zones not the speaker's and mine" },
	[OAEIP_S_BAD_CONTROL] = {
		"bad_control", "dropped: control message malformed" },
	[OAEIP_S_BAD_ECN] = {
		"bad_ecn", "dropped: congestion marked on what cannot be" },
	[OAEIP_S_CONTROL_LIMIT] = {
		"control_limit", "dropped or not sent: over control_pps" },
	[OAEIP_S_STANDBY] = { "standby", "dropped: not serving" },
	[OAEIP_S_UNKNOWN_DST] = {
		"unknown_dst", "dropped: no zone has the destination" },
	[OAEIP_S_LOOP] = {
		"loop", "dropped: would go back to where it came from" },
	[OAEIP_S_UNREACHABLE] = {
		"unreachable", "dropped: no way to the zone" },
	[OAEIP_S_TOO_BIG] = {
		"too_big", "dropped: longer than the path carries" },
	[OAEIP_S_TOO_BIG_TOLD] = {
		"too_big_told", "nodes told of a smaller MTU to one peer" },
	[OAEIP_S_TABLE_FULL] = {
		"table_full", "nodes not learned: max_nodes" },
	[OAEIP_S_NODES_LEARNED] = { "nodes_learned", "nodes learned" },
	[OAEIP_S_NODES_GONE] = {
		"nodes_gone", "nodes forgotten: they or their gateway left" },
	[OAEIP_S_NODES_EXPIRED] = {
		"nodes_expired", "nodes forgotten: silent for too long" },
	[OAEIP_S_CONFLICT] = {
		"conflict", "refused: another zone has that node" },
	[OAEIP_S_OWN_CLAIMED] = {
		"own_claimed", "claims of other zones on nodes of mine" },
	[OAEIP_S_OLD_CONTROL] = {
		"old_control", "control messages overtaken by a newer one" },
	[OAEIP_S_OTHER_GATEWAY] = {
		"other_gateway", "HELLOs of another gateway in the zone" },
	[OAEIP_S_MTU_CHANGED] = {
		"mtu_changed", "changes of the MTU to a zone" },
};

/**
 * oaeip_stat_read() - the value of a counter
 * @gw: whose
 * @stat: enum oaeip_stat
 *
 * Context: any. The processors are summed without stopping them.
 *
 * Return: the sum over all processors.
 */
u64 oaeip_stat_read(const struct oaeip_gw *gw, unsigned int stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(gw->stats, cpu)->v[stat]);
	return sum;
}

/**
 * oaeip_stat_name() - the name of a counter, for programs
 * @stat: less than OAEIP_STAT_END
 *
 * Context: any.
 *
 * Return: a stable name in snake_case.
 */
const char *oaeip_stat_name(unsigned int stat)
{
	BUILD_BUG_ON(ARRAY_SIZE(oaeip_stat_desc) != OAEIP_STAT_END);
	return oaeip_stat_desc[stat].name ?: "unnamed";
}

/**
 * oaeip_stat_text() - what a counter counts, for people
 * @stat: less than OAEIP_STAT_END
 *
 * Context: any.
 *
 * Return: one line without its end.
 */
const char *oaeip_stat_text(unsigned int stat)
{
	return oaeip_stat_desc[stat].text ?: "";
}
