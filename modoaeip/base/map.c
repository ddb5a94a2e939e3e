// SPDX-License-Identifier: GPL-2.0
/* The zones: finding one, and what is known of it. */

#include "base.h"

/**
 * oaeip_zone_get() - a zone by its number
 * @map: the map
 * @id: from 1
 *
 * Context: any.
 *
 * Return: the zone; NULL: there is none of that number.
 */
struct oaeip_zone *oaeip_zone_get(const struct oaeip_map *map, u16 id)
{
	if (!id || id > map->n)
		return NULL;
	return (struct oaeip_zone *)&map->zone[id - 1];
}

/**
 * oaeip_zone_state() - what is known of a zone
 * @gw: the gateway
 * @map: its map
 * @zone: a zone of it
 *
 * Context: RCU read lock held, for @map.
 *
 * Return: mine, up, silent, or unreachable.
 */
enum oaeip_zone_state oaeip_zone_state(const struct oaeip_gw *gw,
				       const struct oaeip_map *map,
				       const struct oaeip_zone *zone)
{
	u64 heard = READ_ONCE(zone->heard);

	if (zone == map->mine)
		return OAEIP_ZONE_MINE;
	if (!zone->family || !READ_ONCE(zone->mtu))
		return OAEIP_ZONE_UNREACHABLE;
	if (heard && oaeip_now() - heard <= oaeip_beat_life(gw))
		return OAEIP_ZONE_UP;
	return OAEIP_ZONE_SILENT;
}

/**
 * oaeip_zone_state_name() - its name, for people
 * @state: enum oaeip_zone_state
 *
 * Context: any.
 *
 * Return: a word.
 */
const char *oaeip_zone_state_name(enum oaeip_zone_state state)
{
	static const char *const names[] = {
		[OAEIP_ZONE_MINE] = "mine",
		[OAEIP_ZONE_UP] = "up",
		[OAEIP_ZONE_SILENT] = "silent",
		[OAEIP_ZONE_UNREACHABLE] = "unreachable",
	};

	return names[state];
}
