// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their sums, their names for programs, their meaning for people.
 *
 * A name never changes once released; a counter that is no longer counted
 * goes, and its name is not used again.
 */

#include <linux/cpumask.h>

#include "base.h"

struct oae_stat_desc {
	const char *name;
	const char *text;
};

static const struct oae_stat_desc oae_stat_desc[OAE_STAT_END] = {
	[OAE_S_RX_FRAMES] = { "rx_frames", "frames received" },
	[OAE_S_RX_BYTES] = { "rx_bytes", "bytes received" },
	[OAE_S_TX_FRAMES] = { "tx_frames", "frames sent" },
	[OAE_S_TX_BYTES] = { "tx_bytes", "bytes sent" },
	[OAE_S_TX_ERRORS] = { "tx_errors", "frames the device did not take" },
	[OAE_S_NO_MEMORY] = { "no_memory", "allocations that failed" },
	[OAE_S_FAULT_DROP] = { "fault_drop", "frames dropped by drop_pct" },
	[OAE_S_STEP_DROP] = {
		"step_drop", "frames dropped, the single-step queue was full" },
	[OAE_S_NOT_MINE] = {
		"not_mine", "frames dropped: multicast, stray via, own address" },
	[OAE_S_NO_TAG] = {
		"no_tag", "frames dropped: no tag and nothing to answer" },
	[OAE_S_STRANGER] = { "stranger", "answers to peers without a tag" },
	[OAE_S_STRANGER_QUIET] = {
		"stranger_quiet", "not answered: more than stranger_pps" },
	[OAE_S_BAD_COOKIE] = {
		"bad_cookie", "SYNCs naming a wrong or an old cookie" },
	[OAE_S_NOT_ACCEPTED] = {
		"not_accepted", "peers refused by the knob accept" },
	[OAE_S_NO_ROOM_TAG] = {
		"no_room_tag", "peers refused: max_tags, or strangers' share" },
	[OAE_S_NEVER_USED] = {
		"never_used", "links closed: opened by a peer, never used" },
	[OAE_S_GAVE_WAY] = {
		"gave_way", "tags of absent strangers given to others" },
	[OAE_S_HELLO_HEARD] = { "hello_heard", "HELLOs of gateways taken" },
	[OAE_S_HELLO_SENT] = { "hello_sent", "HELLOs sent to gateways" },
	[OAE_S_NO_GATEWAY] = {
		"no_gateway", "frames not sent: use_gw 1, no gateway known" },
	[OAE_S_WAY_CHANGED] = {
		"way_changed", "links gone over to the gateway, or from it" },
	[OAE_S_TAGS_MADE] = { "tags_made", "tags made" },
	[OAE_S_TAGS_GONE] = { "tags_gone", "tags forgotten" },
	[OAE_S_POSTED] = { "posted", "transactions taken from users" },
	[OAE_S_COMMITTED] = { "committed", "transactions committed" },
	[OAE_S_REVERSED] = {
		"reversed", "transactions reversed, never seen by the peer" },
	[OAE_S_UNKNOWN] = {
		"unknown", "transactions whose outcome died with the peer" },
	[OAE_S_DELIVERED] = { "delivered", "transactions delivered here" },
	[OAE_S_DELIVERED_BYTES] = { "delivered_bytes", "bytes in them" },
	[OAE_S_READ] = { "read", "transactions taken by readers" },
	[OAE_S_UNREAD_LOST] = {
		"unread_lost", "delivered, not read before link or node went" },

	[OAE_S_BAD + OAE_BAD_NONE] = { "bad_none", "never counted" },
	[OAE_S_BAD + OAE_BAD_SHORT] = {
		"bad_short", "frames dropped: shorter than they say" },
	[OAE_S_BAD + OAE_BAD_LONG] = {
		"bad_long", "frames dropped: longer than they say" },
	[OAE_S_BAD + OAE_BAD_VERSION] = {
		"bad_version", "frames dropped: another version" },
	[OAE_S_BAD + OAE_BAD_HLEN] = {
		"bad_hlen", "frames dropped: header length" },
	[OAE_S_BAD + OAE_BAD_OPCODE] = {
		"bad_opcode", "frames dropped: unknown opcode" },
	[OAE_S_BAD + OAE_BAD_FLAGS] = {
		"bad_flags", "frames dropped: a reserved flag" },
	[OAE_S_BAD + OAE_BAD_FIELD] = {
		"bad_field", "frames dropped: a field out of range" },
	[OAE_S_BAD + OAE_BAD_AUTH] = {
		"bad_auth", "frames dropped: keyed digest, no key here" },
	[OAE_S_BAD + OAE_BAD_DIGEST] = {
		"bad_digest", "frames dropped: wrong digest" },

	[OAE_S_NOTE + OAE_N_OPENED] = { "note_opened", "links opened" },
	[OAE_S_NOTE + OAE_N_RESOLVED] = {
		"note_resolved", "links resolved after a failure" },
	[OAE_S_NOTE + OAE_N_STALL] = {
		"note_stall", "froze: no progress for the stall time" },
	[OAE_S_NOTE + OAE_N_PEER_FROZE] = {
		"note_peer_froze", "froze: the peer did" },
	[OAE_S_NOTE + OAE_N_NOLINK] = {
		"note_nolink", "froze: the peer has no such tag" },
	[OAE_S_NOTE + OAE_N_ATTEMPTS] = {
		"note_attempts", "froze: attempts used up" },
	[OAE_S_NOTE + OAE_N_WORN] = {
		"note_worn", "froze: a run has had its 2^30 transactions" },
	[OAE_S_NOTE + OAE_N_PORT] = {
		"note_port", "froze: port down or its address changed" },
	[OAE_S_NOTE + OAE_N_CUT] = {
		"note_cut", "long frames do not get through: cut smaller" },
	[OAE_S_NOTE + OAE_N_IMPOSSIBLE] = {
		"note_impossible", "froze: a frame no legal state sends" },
	[OAE_S_NOTE + OAE_N_DOWN] = {
		"note_down", "links down: no answer for dead_ms" },
	[OAE_S_NOTE + OAE_N_UP] = { "note_up", "links up again" },
	[OAE_S_NOTE + OAE_N_PEER_NEW] = {
		"note_peer_new", "new incarnations of peers" },
	[OAE_S_NOTE + OAE_N_BROKEN] = {
		"note_broken", "counters that did not fit: started again" },
	[OAE_S_NOTE + OAE_N_UNCONFIRMED] = {
		"note_unconfirmed", "committed, peer died before it said so" },
	[OAE_S_NOTE + OAE_N_HELD_LOST] = {
		"note_held_lost", "held, and the sender died undecided" },
	[OAE_S_NOTE + OAE_N_OFFERED] = {
		"note_offered", "transactions offered" },
	[OAE_S_NOTE + OAE_N_REOFFERED] = {
		"note_reoffered", "transactions offered again" },
	[OAE_S_NOTE + OAE_N_PARKED] = {
		"note_parked", "offers the peer refused for now" },
	[OAE_S_NOTE + OAE_N_REJECTED] = {
		"note_rejected", "offers the peer refused for good" },
	[OAE_S_NOTE + OAE_N_GAP_HEARD] = {
		"note_gap_heard", "the peer missed slices" },
	[OAE_S_NOTE + OAE_N_MISMATCH] = {
		"note_mismatch", "reflections that were not what was said" },
	[OAE_S_NOTE + OAE_N_HELD] = {
		"note_held", "transactions held and reflected" },
	[OAE_S_NOTE + OAE_N_REFLECTED_AGAIN] = {
		"note_reflected_again", "same offer again, same answer" },
	[OAE_S_NOTE + OAE_N_GAP] = { "note_gap", "slices missing here" },
	[OAE_S_NOTE + OAE_N_REFUSED] = {
		"note_refused", "offers refused here" },
	[OAE_S_NOTE + OAE_N_DROPPED] = {
		"note_dropped", "held, and reversed by the peer" },
	[OAE_S_NOTE + OAE_N_LENT] = {
		"note_lent", "halves lent to the peer's swap" },
	[OAE_S_NOTE + OAE_N_TAKEN_BACK] = {
		"note_taken_back", "halves lent, and not swapped after all" },
	[OAE_S_NOTE + OAE_N_PROBE] = { "note_probe", "idle peers probed" },
	[OAE_S_NOTE + OAE_N_CLOSE] = { "note_close", "links begun to close" },
	[OAE_S_NOTE + OAE_N_GONE] = { "note_gone", "links closed" },
	[OAE_S_NOTE + OAE_N_OLD_RUN] = {
		"note_old_run", "frames dropped: another run of the link" },
	[OAE_S_NOTE + OAE_N_FROZEN] = {
		"note_frozen", "frames dropped: data while frozen" },
	[OAE_S_NOTE + OAE_N_OLD_SEQ] = {
		"note_old_seq", "frames dropped: another transaction's" },
	[OAE_S_NOTE + OAE_N_OLD_ATTEMPT] = {
		"note_old_attempt", "frames dropped: another attempt's" },
	[OAE_S_NOTE + OAE_N_DUP_SLICE] = {
		"note_dup_slice", "frames dropped: slice already here" },
	[OAE_S_NOTE + OAE_N_BAD_SLICE] = {
		"note_bad_slice", "frames dropped: slices that disagree" },
	[OAE_S_NOTE + OAE_N_STALE_SYNC] = {
		"note_stale_sync", "SYNCs dropped: naming another ltag" },
	[OAE_S_NOTE + OAE_N_IDLE_HELLO] = {
		"note_idle_hello", "HELLOs dropped: nobody listens" },
};

/**
 * oae_stats_make() - make the counters of a node, if there are none
 * @node: whose; one at a time. Nothing is counted before its first port is bound.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_stats_make(struct oae_node *node)
{
	struct oae_stats __percpu *stats;

	if (node->stats)
		return 0;
	stats = alloc_percpu_gfp(struct oae_stats, GFP_KERNEL_ACCOUNT);
	if (!stats)
		return -ENOMEM;
	/* A reader finds zeros. */
	smp_store_release(&node->stats, stats);
	return 0;
}

/**
 * oae_stat_read() - the value of a counter
 * @node: whose
 * @stat: enum oae_stat, or one of its OAE_S_BAD and OAE_S_NOTE ranges
 *
 * Context: any. The CPUs are summed without stopping them.
 *
 * Return: the sum over all CPUs.
 */
u64 oae_stat_read(const struct oae_node *node, unsigned int stat)
{
	/* Pairs with the release in oae_stats_make(). */
	struct oae_stats __percpu *stats = smp_load_acquire(&node->stats);
	u64 sum = 0;
	int cpu;

	if (!stats)
		return 0;
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->v[stat]);
	return sum;
}

/**
 * oae_stat_name() - the name of a counter, for programs
 * @stat: less than OAE_STAT_END
 *
 * Context: any.
 *
 * Return: a stable name in snake_case.
 */
const char *oae_stat_name(unsigned int stat)
{
	if (oae_stat_desc[stat].name)
		return oae_stat_desc[stat].name;
	if (stat >= OAE_S_NOTE)
		return oae_note_name(stat - OAE_S_NOTE);
	return "unnamed";
}

/**
 * oae_stat_text() - what a counter counts, for people
 * @stat: less than OAE_STAT_END
 *
 * Context: any.
 *
 * Return: one line without its end.
 */
const char *oae_stat_text(unsigned int stat)
{
	return oae_stat_desc[stat].text ?: "";
}
