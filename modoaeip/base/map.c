// SPDX-License-Identifier: GPL-2.0
/* The zones: lookup and state. */

#include "base.h"

/**
 * oaeip_zone_get() - find a zone by its number
 * @map: the map
 * @id: position in gwips, from 1
 *
 * Context: any; the caller keeps @map.
 *
 * Return: the zone; NULL: no zone has that number.
 */
struct oaeip_zone *oaeip_zone_get(const struct oaeip_map *map, u16 id)
{
	if (!id || id > map->n)
		return NULL;
	return (struct oaeip_zone *)&map->zone[id - 1];
}

/**
 * oaeip_zone_state() - the state of a zone (doc/gateway.md section 3)
 * @gw: the gateway
 * @map: its map
 * @zone: a zone of @map
 *
 * Context: any; the caller keeps @map.
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
 * oaeip_zone_state_name() - the name of a zone's state, for people
 * @state: the state
 *
 * Context: any.
 *
 * Return: a word.
 */
const char *oaeip_zone_state_name(enum oaeip_zone_state state)
{
	/* Without a default, so that the compiler misses a state that has no word. */
	switch (state) {
	case OAEIP_ZONE_MINE:
		return "mine";
	case OAEIP_ZONE_UP:
		return "up";
	case OAEIP_ZONE_SILENT:
		return "silent";
	case OAEIP_ZONE_UNREACHABLE:
		return "unreachable";
	}
	return "?";
}
