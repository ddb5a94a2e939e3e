/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways: the gateway of a port, and the way of a tag's frames (protocol 4.8). Pure,
 * see way.c. Times are in ns; those of a gateway by one clock.
 */
#ifndef OAE_WAY_H
#define OAE_WAY_H

#include "link.h"

#define OAE_MAC_LEN	6

/* The knob `use_gw`. */
enum oae_use_gw { OAE_GW_NEVER, OAE_GW_ALWAYS, OAE_GW_AUTO };

/**
 * struct oae_gw - the gateway of a port, configured or learned; all zeros: none
 * @mac: address of the gateway in the zone, if @known
 * @known: there is a gateway
 * @told: the knob nhmac names the gateway, and no other is learned
 * @mtu: bytes behind the Ethernet header, VIA counted; 0 not announced
 * @epoch: epoch of what the gateway said ABOUT peers
 * @inc: incarnation of the gateway, 0 not heard
 * @heard: time of the last HELLO, ns
 * @life: silence after which another gateway may take over, ns
 * @answered: incarnation of the gateway that was sent the last HELLO, 0 none
 * @answered_at: time of that HELLO, ns
 * @gen: generation, incremented whenever the way of a tag may change
 */
struct oae_gw {
	u8 mac[OAE_MAC_LEN];
	bool known;
	bool told;
	u16 mtu;
	u16 epoch;
	u32 inc;
	u64 heard;
	u64 life;
	u32 answered;
	u64 answered_at;
	unsigned int gen;
};

/* What a port makes of a HELLO. */
enum oae_hello {
	OAE_HELLO_NOT_TAKEN,	/* not of the port's gateway: a frame like any other */
	OAE_HELLO_BAD,		/* malformed */
	OAE_HELLO_GOOD,		/* of a gateway: oae_gw_hear() */
	OAE_HELLO_TAKEN,	/* of the port's gateway */
	OAE_HELLO_NEWS,		/* of a new gateway, or a new incarnation */
	OAE_HELLO_LEFT,		/* the port's gateway has left */
};

enum oae_hello oae_hello_check(const u8 *own, const u8 *from,
			       const struct oae_frame *f);
enum oae_hello oae_gw_hear(struct oae_gw *gw, const u8 *from,
			   const struct oae_frame *f, u64 now, bool *answer);
void oae_gw_tell(struct oae_gw *gw, const u8 *mac);
void oae_gw_changed(struct oae_gw *gw);
void oae_gw_spoken(struct oae_gw *gw, u8 flags, u64 now);

/**
 * struct oae_ways - the ways that a port has
 * @gw: the port's gateway
 * @mtu: MTU of the port, bytes behind the Ethernet header
 * @use: enum oae_use_gw
 */
struct oae_ways {
	struct oae_gw gw;
	unsigned int mtu;
	u8 use;
};

enum oae_go {
	OAE_GO_NOWHERE,
	OAE_GO_DIRECT,
	OAE_GO_VIA,		/* through the port's gateway */
};

bool oae_ways_gateway(const struct oae_ways *p);
bool oae_ways_has(const struct oae_ways *p, bool via);
bool oae_ways_let_in(const struct oae_ways *p, const u8 *own, const u8 *from,
		     const struct oae_frame *f);
enum oae_go oae_ways_back(const struct oae_ways *p,
			  const struct oae_frame *question);
void oae_via_mark(struct oae_frame *f, const u8 *own, const u8 *peer);

/**
 * struct oae_about - what a gateway said ABOUT the way to one peer
 * @inc: incarnation of the gateway
 * @epoch: epoch in which @mtu is valid
 * @mtu: bytes behind the Ethernet header, VIA counted; 0 nothing said
 */
struct oae_about {
	u32 inc;
	u16 epoch;
	u16 mtu;
};

/**
 * struct oae_way - the way of a tag's frames
 * @about: what the gateway said ABOUT the tag's peer
 * @gen: oae_gw.gen when the way was found
 * @via: frames go through the gateway
 * @wish: with use_gw auto: frames go through the gateway if there is one
 * @lost: SYNCs by this way were not answered (protocol 4.8)
 * @aside: the link goes by another path (4.14), so what it carries is not this way's; set
 *	before oae_way_heard(), there only if the link is OPEN, and before oae_way_timer()
 * @asked: SYNCs since the link froze or the way turned, at most ASK_EACH_WAY
 * @usual: OAE_F_VIA or 0: the flag of frames that cannot change the way; any other
 *	value if all frames may
 */
struct oae_way {
	struct oae_about about;
	unsigned int gen;
	bool via : 1;
	bool wish : 1;
	bool lost : 1;
	bool aside : 1;
	u8 asked;
	u8 usual;
};

/* May a frame be taken without oae_way_heard()? */
static inline bool oae_way_is_usual(const struct oae_way *w,
				    const struct oae_frame *f)
{
	return (f->flags & OAE_F_VIA) == w->usual;
}

u16 oae_way_mtu(const struct oae_way *w, const struct oae_ways *p);
u16 oae_way_begin(struct oae_way *w, const struct oae_ways *p, bool via);
u16 oae_way_refresh(struct oae_way *w, const struct oae_ways *p);
void oae_way_update(struct oae_way *w, const struct oae_ways *p,
		    struct oae_link *l, u64 now, struct oae_actions *a);
enum oae_go oae_way_heard(struct oae_way *w, const struct oae_ways *p,
			  struct oae_link *l, const struct oae_frame *f,
			  u64 now, struct oae_actions *a);
void oae_way_asked(struct oae_way *w, const struct oae_actions *a);
void oae_way_timer(struct oae_way *w, const struct oae_ways *p,
		   struct oae_link *l, u64 now, struct oae_actions *a);

#endif /* OAE_WAY_H */
