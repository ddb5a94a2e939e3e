/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters of a node: OAE_S_..., the name for programs, the description.
 *
 * A name never changes once released. A counter that is no longer counted is
 * removed, and its name is not used again. The counters of link/causes.h and
 * link/notes.h follow these.
 *
 * An X-macro table: the including file defines OAE_COUNTER().
 */
OAE_COUNTER(RX_FRAMES, "rx_frames", "frames received")
OAE_COUNTER(RX_BYTES, "rx_bytes", "bytes received")
OAE_COUNTER(TX_FRAMES, "tx_frames", "frames sent")
OAE_COUNTER(TX_BYTES, "tx_bytes", "bytes sent")
OAE_COUNTER(TX_ERRORS, "tx_errors", "frames the device did not take")
OAE_COUNTER(NO_MEMORY, "no_memory", "allocations that failed")
OAE_COUNTER(FAULT_DROP, "fault_drop", "frames dropped by drop_pct")
OAE_COUNTER(STEP_DROP, "step_drop", "frames dropped, the single-step queue was full")
OAE_COUNTER(NOT_MINE, "not_mine", "frames dropped: multicast, stray via, own address")
OAE_COUNTER(NO_TAG, "no_tag", "frames dropped: no tag and nothing to answer")
OAE_COUNTER(STRANGER, "stranger", "answers to peers without a tag")
OAE_COUNTER(STRANGER_QUIET, "stranger_quiet", "not answered: more than stranger_pps")
OAE_COUNTER(BAD_COOKIE, "bad_cookie", "SYNCs naming a wrong or an old cookie")
OAE_COUNTER(NOT_ACCEPTED, "not_accepted", "peers refused by the knob accept")
OAE_COUNTER(NO_ROOM_TAG, "no_room_tag", "peers refused: max_tags, or strangers' share")
OAE_COUNTER(NEVER_USED, "never_used", "links closed: opened by a peer, never used")
OAE_COUNTER(GAVE_WAY, "gave_way", "tags of absent strangers given to others")
OAE_COUNTER(HELLO_HEARD, "hello_heard", "HELLOs of gateways taken")
OAE_COUNTER(HELLO_SENT, "hello_sent", "HELLOs sent to gateways")
OAE_COUNTER(NODE_HEARD, "node_heard", "HELLOs of neighbours taken")
OAE_COUNTER(NODE_SENT, "node_sent", "HELLOs sent to neighbours")
OAE_COUNTER(NEIGHBOUR_FULL, "neighbour_full", "neighbours not taken: too many, or too fast")
OAE_COUNTER(ID_CONFLICT, "id_conflict", "HELLOs and SYNCs with another node's id, or its address")
OAE_COUNTER(NO_GATEWAY, "no_gateway", "frames not sent: use_gw 1, no gateway known")
OAE_COUNTER(WAY_CHANGED, "way_changed", "links gone over to the gateway, or from it")
OAE_COUNTER(UDP_BAD, "udp_bad", "datagrams dropped: malformed, or for another MAC")
OAE_COUNTER(UDP_REFUSED, "udp_refused", "datagrams dropped: not from where the peer is")
OAE_COUNTER(UDP_VIA, "udp_via", "HELLOs and frames with VIA dropped: by a UDP port")
OAE_COUNTER(UDP_LEARNED, "udp_learned", "endpoints of peers learned")
OAE_COUNTER(UDP_NO_ROUTE, "udp_no_route", "frames not sent: no endpoint, or no route to it")
OAE_COUNTER(UDP_TOO_LONG, "udp_too_long", "frames not sent: longer than the path carries")
OAE_COUNTER(PATHS_MADE, "paths_made", "paths tried that are not a link's own")
OAE_COUNTER(PATH_PROBES, "path_probes", "probes of paths, and answers to them, sent")
OAE_COUNTER(PATH_TURNED, "path_turned", "links gone over to another path")
OAE_COUNTER(LINKS_MOVED, "links_moved", "links whose own port went, and that go on by another path")
OAE_COUNTER(BAD_PATH, "bad_path", "probes of paths dropped: no such link, or no proof")
OAE_COUNTER(STRAY_PATH, "stray_path", "frames dropped: by a path that is not believed")
OAE_COUNTER(TAGS_MADE, "tags_made", "tags made")
OAE_COUNTER(TAGS_GONE, "tags_gone", "tags forgotten")
OAE_COUNTER(POSTED, "posted", "transactions taken from users")
OAE_COUNTER(COMMITTED, "committed", "transactions committed")
OAE_COUNTER(REVERSED, "reversed", "transactions reversed, never seen by the peer")
OAE_COUNTER(UNKNOWN, "unknown", "transactions whose outcome died with the peer")
OAE_COUNTER(PACKS, "packs", "packs committed: several messages together")
OAE_COUNTER(PACKED, "packed", "messages in them")
OAE_COUNTER(JOINED, "joined", "verbs committed together with others")
OAE_COUNTER(DELIVERED, "delivered", "transactions delivered here")
OAE_COUNTER(DELIVERED_BYTES, "delivered_bytes", "bytes in them")
OAE_COUNTER(UNPACKED, "unpacked", "transactions delivered that came in packs")
OAE_COUNTER(READ, "read", "transactions taken by readers")
OAE_COUNTER(UNREAD_LOST, "unread_lost", "delivered, not read before link or node went")

/*
 * The time from the first offer of a transaction to its commit: the sum, and a histogram
 * whose classes double. The name of a class is the time that it stays below.
 */
OAE_COUNTER(TOOK_NS, "took_ns", "ns from offer to commit, all together")
OAE_COUNTER(TOOK, "took_4096ns", "less than 4.1 us from offer to commit")
OAE_COUNTER(TOOK_13, "took_8192ns", "4.1 to 8.19 us from offer to commit")
OAE_COUNTER(TOOK_14, "took_16384ns", "8.19 to 16.4 us from offer to commit")
OAE_COUNTER(TOOK_15, "took_32768ns", "16.4 to 32.8 us from offer to commit")
OAE_COUNTER(TOOK_16, "took_65536ns", "32.8 to 65.5 us from offer to commit")
OAE_COUNTER(TOOK_17, "took_131072ns", "65.5 to 131 us from offer to commit")
OAE_COUNTER(TOOK_18, "took_262144ns", "131 to 262 us from offer to commit")
OAE_COUNTER(TOOK_19, "took_524288ns", "262 to 524 us from offer to commit")
OAE_COUNTER(TOOK_20, "took_1048576ns", "524 us to 1.05 ms from offer to commit")
OAE_COUNTER(TOOK_21, "took_2097152ns", "1.05 to 2.1 ms from offer to commit")
OAE_COUNTER(TOOK_22, "took_4194304ns", "2.1 to 4.19 ms from offer to commit")
OAE_COUNTER(TOOK_23, "took_8388608ns", "4.19 to 8.39 ms from offer to commit")
OAE_COUNTER(TOOK_24, "took_16777216ns", "8.39 to 16.8 ms from offer to commit")
OAE_COUNTER(TOOK_25, "took_33554432ns", "16.8 to 33.6 ms from offer to commit")
OAE_COUNTER(TOOK_26, "took_67108864ns", "33.6 to 67.1 ms from offer to commit")
OAE_COUNTER(TOOK_27, "took_134217728ns", "67.1 to 134 ms from offer to commit")
OAE_COUNTER(TOOK_28, "took_268435456ns", "134 to 268 ms from offer to commit")
OAE_COUNTER(TOOK_29, "took_536870912ns", "268 to 537 ms from offer to commit")
OAE_COUNTER(TOOK_30, "took_1073741824ns", "537 ms to 1.07 s from offer to commit")
OAE_COUNTER(TOOK_LONGER, "took_longer", "1.07 s or longer from offer to commit")

#undef OAE_COUNTER
