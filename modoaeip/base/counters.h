/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters of a gateway (doc/gateway.md section 6): OAEIP_S_..., the name for
 * programs, the meaning. Every dropped frame is counted by one of them.
 *
 * A released name never changes. A counter that is removed takes its name with it:
 * the name is not used again.
 *
 * Define OAEIP_COUNTER() before including this file; it expands each row.
 */
OAEIP_COUNTER(ZONE_RX, "zone_rx", "frames received from the zone")
OAEIP_COUNTER(ZONE_TX, "zone_tx", "frames sent into the zone")
OAEIP_COUNTER(TUNNEL_RX, "tunnel_rx", "datagrams received from gateways")
OAEIP_COUNTER(TUNNEL_TX, "tunnel_tx", "datagrams sent to gateways")
OAEIP_COUNTER(TUNNEL_RX_BYTES, "tunnel_rx_bytes", "UDP payload in those received")
OAEIP_COUNTER(TUNNEL_TX_BYTES, "tunnel_tx_bytes", "UDP payload in those sent")
OAEIP_COUNTER(HELLO_RX, "hello_rx", "HELLOs received in the zone")
OAEIP_COUNTER(HELLO_TX, "hello_tx", "HELLOs sent into the zone")
OAEIP_COUNTER(CONTROL_RX, "control_rx", "control messages received from gateways")
OAEIP_COUNTER(CONTROL_TX, "control_tx", "control messages sent to gateways")
OAEIP_COUNTER(NO_MEMORY, "no_memory", "allocations that failed")
OAEIP_COUNTER(TX_ERRORS, "tx_errors", "dropped: device or IP stack did not take it")
OAEIP_COUNTER(NOT_MINE, "not_mine", "zone frames dropped: not for a gateway")
OAEIP_COUNTER(BAD_FRAME, "bad_frame", "dropped: OAE frame malformed")
OAEIP_COUNTER(BAD_SOURCE, "bad_source", "dropped: the sender is not VIA's source")
OAEIP_COUNTER(BAD_MAC, "bad_mac", "dropped: an address no node can have, or my own")
OAEIP_COUNTER(BAD_PEER, "bad_peer", "dropped: from an address that no zone has")
OAEIP_COUNTER(BAD_ENCAP, "bad_encap", "dropped: encapsulation header malformed")
OAEIP_COUNTER(BAD_ZONE, "bad_zone", "dropped: zones not the speaker's and mine")
OAEIP_COUNTER(BAD_CONTROL, "bad_control", "dropped: control message malformed")
OAEIP_COUNTER(BAD_ECN, "bad_ecn", "dropped: congestion marked on what cannot be")
OAEIP_COUNTER(CONTROL_LIMIT, "control_limit", "dropped or not sent: over control_pps")
OAEIP_COUNTER(STANDBY, "standby", "dropped: not serving")
OAEIP_COUNTER(UNKNOWN_DST, "unknown_dst", "dropped: no zone has the destination")
OAEIP_COUNTER(LOOP, "loop", "dropped: would go back to where it came from")
OAEIP_COUNTER(UNREACHABLE, "unreachable", "dropped: no way to the zone")
OAEIP_COUNTER(TOO_BIG, "too_big", "dropped: longer than the path carries")
OAEIP_COUNTER(TOO_BIG_TOLD, "too_big_told", "nodes told of a smaller MTU to one peer")
OAEIP_COUNTER(TABLE_FULL, "table_full", "nodes not learned: max_nodes")
OAEIP_COUNTER(NODES_LEARNED, "nodes_learned", "nodes learned")
OAEIP_COUNTER(NODES_GONE, "nodes_gone", "nodes forgotten: they or their gateway left")
OAEIP_COUNTER(NODES_EXPIRED, "nodes_expired", "nodes forgotten: silent for too long")
OAEIP_COUNTER(CONFLICT, "conflict", "refused: another zone has that node")
OAEIP_COUNTER(OWN_CLAIMED, "own_claimed", "claims of other zones on nodes of mine")
OAEIP_COUNTER(OLD_CONTROL, "old_control", "control messages overtaken by a newer one")
OAEIP_COUNTER(OTHER_GATEWAY, "other_gateway", "HELLOs of another gateway in the zone")
OAEIP_COUNTER(MTU_CHANGED, "mtu_changed", "changes of the MTU to a zone")

#undef OAEIP_COUNTER
