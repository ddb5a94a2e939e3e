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
OAE_COUNTER(NO_GATEWAY, "no_gateway", "frames not sent: use_gw 1, no gateway known")
OAE_COUNTER(WAY_CHANGED, "way_changed", "links gone over to the gateway, or from it")
OAE_COUNTER(TAGS_MADE, "tags_made", "tags made")
OAE_COUNTER(TAGS_GONE, "tags_gone", "tags forgotten")
OAE_COUNTER(POSTED, "posted", "transactions taken from users")
OAE_COUNTER(COMMITTED, "committed", "transactions committed")
OAE_COUNTER(REVERSED, "reversed", "transactions reversed, never seen by the peer")
OAE_COUNTER(UNKNOWN, "unknown", "transactions whose outcome died with the peer")
OAE_COUNTER(DELIVERED, "delivered", "transactions delivered here")
OAE_COUNTER(DELIVERED_BYTES, "delivered_bytes", "bytes in them")
OAE_COUNTER(READ, "read", "transactions taken by readers")
OAE_COUNTER(UNREAD_LOST, "unread_lost", "delivered, not read before link or node went")

#undef OAE_COUNTER
