/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The paths of a tag, between the files of tag/ that know where they lead. The rules are
 * in link/path.h and link/conn.h; what other files call is in tag.h and event.h.
 */
#ifndef OAE_TAG_PATH_H
#define OAE_TAG_PATH_H

#include "event.h"

/**
 * struct oae_alias - a path that is not the tag's own, in node->aliases
 * @hash: there
 * @key: port and address that its frames come by
 * @tag: the tag
 * @index: of the path
 * @gw: the gateway that its frames go through, if @key has OAE_KID_VIA
 * @way: what it carries is of this generation of the port's gateway, and what that has said
 *	ABOUT it
 * @rcu: freed after RCU
 */
struct oae_alias {
	struct rhash_head hash;
	struct oae_tag_key key;
	struct oae_tag *tag;
	unsigned int index;
	u8 gw[ETH_ALEN];
	struct oae_way way;
	struct rcu_head rcu;
};

#define OAE_PATH_PLACES	4

/**
 * struct oae_path_wish - a rank by hand: it is kept while the path is forgotten
 * @ifindex: of the path's port
 * @rank: enum oae_path_rank; NORMAL: this place is free
 * @kid: of the path
 */
struct oae_path_wish {
	int ifindex;
	s8 rank;
	u64 kid;
};

/**
 * struct oae_tag_paths - the paths of a tag; under tag->lock
 * @paths: which is in use, and what is known of each
 * @alias: where it leads; NULL for the own path, and those that are not there
 * @was: the address that the peer knows of the port of the path in use, as long as that is
 *	not proven; zeros: it never was another one
 * @said: a set of those that were said to be lossy
 * @wish: what was said by hand
 * @turn: which of the places where the peer was heard is tried first
 * @nplaces: number of addresses at which the peer is behind a gateway
 * @place: these, as it has told
 * @place_turn: which of them gives way to another
 * @gw_turn: which of them, and of the ports here, are tried first
 * @place_inc: incarnation of the peer that has told them
 */
struct oae_tag_paths {
	struct oae_paths paths;
	struct oae_alias *alias[OAE_PATHS_MAX];
	u8 was[ETH_ALEN];
	u8 said;
	u8 turn;
	u8 nplaces;
	u8 place_turn;
	u8 gw_turn;
	u8 place[OAE_PATH_PLACES][ETH_ALEN] __aligned(2);
	u64 place_inc;
	struct oae_path_wish wish[OAE_PATHS_MAX];
};

/* The port of a path of a tag that has paths. Under tag->lock. */
static inline struct oae_port *oae_tag_path_port(const struct oae_tag *tag, unsigned int i)
{
	const struct oae_alias *alias = tag->paths->alias[i];

	return alias ? alias->key.port : tag->key.port;
}

/* The port by which a tag's frames go. Under tag->lock. */
static inline struct oae_port *oae_tag_used_port(const struct oae_tag *tag)
{
	return tag->paths ? oae_tag_path_port(tag, tag->paths->paths.used) : tag->key.port;
}

/* Do the tag's own frames go by another path than its own? Under tag->lock. */
static inline bool oae_path_elsewhere(const struct oae_tag *tag)
{
	return tag->paths && tag->paths->paths.used != OAE_PATH_OWN;
}

/* The channel and address of one. Under tag->lock. */
static inline u64 oae_tag_path_kid(const struct oae_tag *tag, unsigned int i)
{
	const struct oae_alias *alias = tag->paths->alias[i];

	return alias ? alias->key.kid : tag->key.kid;
}

/* Is a port still to be used? Only so in the RCU section that the event is in. */
static inline bool oae_path_port_usable(const struct oae_port *port)
{
	return !READ_ONCE(port->removed);
}

/**
 * enum oae_alias_why - why there is to be another path
 * @OAE_ALIAS_SAID: somebody says that the peer is there
 * @OAE_ALIAS_HEARD: it has just proven that it is
 * @OAE_ALIAS_USED: and it has this link by that path, whatever the knob says here
 */
enum oae_alias_why { OAE_ALIAS_SAID, OAE_ALIAS_HEARD, OAE_ALIAS_USED };

/* alias.c: where paths lead */
void oae_path_met(struct oae_tag *tag);
void oae_alias_free_later(struct oae_node *node, struct oae_alias *alias);
void oae_alias_del(struct oae_tag *tag, unsigned int i);
int oae_alias_add(struct oae_tag *tag, struct oae_port *port, u64 kid, enum oae_alias_why why);

#endif /* OAE_TAG_PATH_H */
