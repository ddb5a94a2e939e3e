/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways: the gateway of a port, and which way the frames of a tag go. Pure, see
 * way.c. All times are ns of one clock.
 */
#ifndef OAE_WAY_H
#define OAE_WAY_H

#include "link.h"

#define OAE_MAC_LEN	6

/* The knob `use_gw`. */
enum oae_use_gw { OAE_GW_NEVER, OAE_GW_ALWAYS, OAE_GW_AUTO };

/**
 * struct oae_gw - the gateway of a port, as told or heard; all zeros: none
 * @mac: its address in the zone, if @known
 * @known: there is one
 * @told: by the knob nhmac: this one and no other
 * @mtu: bytes behind the Ethernet header, VIA among them; 0 not said
 * @epoch: of its tunnels' MTUs
 * @inc: its incarnation, 0 not heard
 * @heard: when it spoke last
 * @life: after so much silence another is listened to
 * @answered: the incarnation that knows this port, 0 none
 * @answered_at: when that was told
 * @gen: another whenever something changes that the way of a tag depends on
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

/* What a HELLO is to a port. */
enum oae_hello {
	OAE_HELLO_NOT_TAKEN,	/* a frame like any other */
	OAE_HELLO_BAD,		/* malformed */
	OAE_HELLO_GOOD,		/* a gateway's: oae_gw_hear() */
	OAE_HELLO_TAKEN,	/* the port's gateway's */
	OAE_HELLO_NEWS,		/* and it is another, or another run of it */
	OAE_HELLO_LEFT,		/* and there is none any more */
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
 * @gw: its gateway
 * @mtu: what the port carries, bytes behind the Ethernet header
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
bool oae_ways_let_in(const struct oae_ways *p, const u8 *own, const u8 *from,
		     const struct oae_frame *f);
enum oae_go oae_ways_back(const struct oae_ways *p,
			  const struct oae_frame *question);
void oae_via_mark(struct oae_frame *f, const u8 *own, const u8 *peer);

/**
 * struct oae_about - what a gateway said of the way to one peer
 * @inc: its incarnation
 * @epoch: in which it holds
 * @mtu: like that of struct oae_gw, 0 nothing said
 */
struct oae_about {
	u32 inc;
	u16 epoch;
	u16 mtu;
};

/**
 * struct oae_way - which way the frames of a tag go
 * @about: what the gateway said of its peer
 * @gen: @gen of the gateway when the way was found
 * @via: it goes through the gateway
 * @wish: it would, if there were one; with use_gw auto
 * @lost: asked too often in vain: a frame from either way is as good
 * @asked: SYNCs since it has frozen or turned, 2 for more
 * @usual: VIA or 0, flags of the frames that change nothing here; else all may
 */
struct oae_way {
	struct oae_about about;
	unsigned int gen;
	bool via;
	bool wish;
	bool lost;
	u8 asked;
	u8 usual;
};

/* May a frame be taken without oae_way_heard()? */
static inline bool oae_way_is_usual(const struct oae_way *w,
				    const struct oae_frame *f)
{
	return (f->flags & OAE_F_VIA) == w->usual;
}

u16 oae_way_begin(struct oae_way *w, const struct oae_ways *p, bool via);
void oae_way_update(struct oae_way *w, const struct oae_ways *p,
		    struct oae_link *l, u64 now, struct oae_actions *a);
enum oae_go oae_way_heard(struct oae_way *w, const struct oae_ways *p,
			  struct oae_link *l, const struct oae_frame *f,
			  u64 now, struct oae_actions *a);
void oae_way_asked(struct oae_way *w, const struct oae_actions *a);
bool oae_way_tries(const struct oae_way *w, const struct oae_link *l, u64 now);
void oae_way_timer(struct oae_way *w, const struct oae_ways *p,
		   struct oae_link *l, u64 now, struct oae_actions *a);

#endif /* OAE_WAY_H */
