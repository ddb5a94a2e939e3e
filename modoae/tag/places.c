// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a tag has only while something is under way: places of the window
 * (protocol 4.11), which it lends its link for the numbers beyond the next one, with the
 * slices kept for them; and, without such places, a table for the slices of the next
 * one. Both are freed when the link has been idle.
 */
#include "event.h"

#include <linux/log2.h>

static void places_free(struct oae_pair **table, unsigned int n)
{
	unsigned int i;

	for (i = 0; table && i < n; i++)
		if (table[i])
			kfree(container_of(table[i], struct oae_tag_place, pair));
	kfree(table);
}

static struct oae_pair **places_make(unsigned int n)
{
	struct oae_tag_place *place;
	struct oae_pair **table;
	unsigned int i;

	table = kcalloc(n, sizeof(*table), GFP_ATOMIC | __GFP_NOWARN);
	for (i = 0; table && i < n; i++) {
		place = kzalloc(sizeof(*place), GFP_ATOMIC | __GFP_NOWARN);
		if (!place) {
			places_free(table, n);
			return NULL;
		}
		table[i] = &place->pair;
	}
	return table;
}

/* The slots are empty. */
static void places_free_slots(struct oae_tag *tag)
{
	kfree(tag->slot);
	tag->slot = NULL;
}

/**
 * oae_places_lend() - lend a tag's link the places that it lacks
 * @tag: the tag
 * @ev: the event; its ops so far were carried out
 *
 * Without memory the link does without, and a later event tries again.
 *
 * Context: under tag->lock, BH off.
 */
void oae_places_lend(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int n = roundup_pow_of_two(oae_link_window(&tag->link));
	unsigned int i, had = oae_link_places(&tag->link, NULL);
	struct oae_pair **table, **old;
	struct sk_buff **from, **to;
	u32 seq;

	if (had >= n)
		return;
	table = places_make(n);
	if (!table) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return;
	}
	/* What is kept goes to the new place of its number. */
	seq = oae_link_rx(&tag->link);
	for (i = had ? had : 1; i; i--) {
		seq++;
		from = oae_tag_slots(tag, seq);
		to = container_of(table[seq & (n - 1)], struct oae_tag_place,
				  pair)->slot;
		memcpy(to, from, oae_tag_nslots(tag) * sizeof(*from));
		memset(from, 0, oae_tag_nslots(tag) * sizeof(*from));
		oae_region_move(tag, seq, container_of(table[seq & (n - 1)],
						       struct oae_tag_place, pair));
	}
	oae_link_places(&tag->link, &old);
	oae_link_lend(&tag->link, table, n, oae_inbox_places(tag), ev->now, &ev->a);
	places_free(old, had);
	places_free_slots(tag);
	oae_run_apply(tag, ev);
}

/**
 * oae_places_slot() - have a slot for a slice that is not the first
 * @tag: the tag
 * @f: its OFFER
 *
 * Context: under tag->lock, BH off.
 *
 * Return: true if there is one, or the link drops the frame in any case; false without
 * memory.
 */
bool oae_places_slot(struct oae_tag *tag, const struct oae_frame *f)
{
	if (oae_tag_nslots(tag) > f->slice || !oae_link_is_run(&tag->link, f))
		return true;
	tag->slot = kcalloc(OAE_MAX_SLICES, sizeof(*tag->slot), GFP_ATOMIC | __GFP_NOWARN);
	if (!tag->slot) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return false;
	}
	swap(tag->slot[0], tag->only);
	return true;
}

/**
 * oae_places_reclaim() - free the places of an idle link
 * @tag: the tag
 *
 * Context: under tag->lock, BH off.
 */
void oae_places_reclaim(struct oae_tag *tag)
{
	unsigned int n = oae_link_places(&tag->link, NULL);

	oae_region_idle(tag);
	if (n)
		places_free(oae_link_reclaim(&tag->link), n);
	else if (!tag->kept_bytes)
		places_free_slots(tag);
}

/**
 * oae_places_free() - free the places of a tag that is gone
 * @tag: the tag; nothing is kept
 *
 * Context: any.
 */
void oae_places_free(struct oae_tag *tag)
{
	struct oae_pair **table;
	unsigned int n = oae_link_places(&tag->link, &table);

	places_free(table, n);
	places_free_slots(tag);
}
