/* SPDX-License-Identifier: GPL-2.0 */
/* Admission: frames without a tag, and shares of max_tags (protocol 4.6). Pure. */
#ifndef OAE_ADMISSION_H
#define OAE_ADMISSION_H

#include "frame.h"

/* The knob `accept`: peers whose SYNC may lead to a tag. */
enum oae_accept { OAE_ACCEPT_ANY, OAE_ACCEPT_PEERS, OAE_ACCEPT_NONE };

/**
 * struct oae_asker - what an end knows of a peer without a tag
 * @cookie: SYNC: the cookies for this peer and its ltag, of this step of time and of
 *	the step before; 0 none
 * @accept: enum oae_accept
 * @shut: the node is shut
 * @configured: the peer is in `target` or `peers`
 * @awaited: a file is attached to the peer's CLOSED tag
 * @linked: the SYNC names both incarnations of a link that is here: nothing is to be permitted
 */
struct oae_asker {
	u32 cookie[2];
	u8 accept;
	bool shut;
	bool configured;
	bool awaited;
	bool linked;
};

enum oae_admit_verdict {
	OAE_ADMIT_DROP,		/* no answer */
	OAE_ADMIT_ANSWER,	/* answer, if stranger_pps allows it */
	OAE_ADMIT_EXPECTED,	/* answer in any case */
	OAE_ADMIT_TAG,		/* make a tag; if no room: oae_admission_full() */
};

/* What to count. */
enum oae_admit_why {
	OAE_ADMIT_FINE,
	OAE_ADMIT_NO_TAG,	/* no tag, and nothing to answer */
	OAE_ADMIT_POLICY,	/* `accept` or `shutdown` forbid the link */
	OAE_ADMIT_BAD_COOKIE,	/* the SYNC names a wrong or an old cookie */
	OAE_ADMIT_CONFLICT,	/* the SYNC is of another end than the link's peer */
	OAE_ADMIT_FULL,		/* no room for a tag */
	OAE_ADMIT_WHY_END
};

/**
 * struct oae_admission - the decision about a frame without a tag
 * @verdict: enum oae_admit_verdict
 * @why: enum oae_admit_why
 * @answer: the frame to send, unless @verdict is DROP or TAG
 */
struct oae_admission {
	u8 verdict;
	u8 why;
	struct oae_frame answer;
};

void oae_admission(const struct oae_asker *who, const struct oae_frame *f,
		   struct oae_admission *a);
void oae_admission_conflict(const struct oae_asker *who, const struct oae_frame *f,
			    struct oae_admission *a);
void oae_admission_full(const struct oae_frame *f, struct oae_admission *a);
u32 oae_cookie(u64 hash);

/* Reasons why a tag may give way to another, in the order in which they are tried. */
enum oae_spare {
	OAE_SPARE_NOT,
	OAE_SPARE_DEAD,		/* dead, something unread, no file */
	OAE_SPARE_CLOSED,	/* a stranger's, CLOSED, something unread, no file */
	OAE_SPARE_DOWN,		/* a stranger's, down, no file */
	OAE_SPARE_END
};

/**
 * struct oae_claims - the state of a tag that decides whether it may give way
 * @attached: a file is attached
 * @dead: the tag is out of the table
 * @unread: a transaction is unread
 * @stranger: the tag was made for a stranger
 * @queued: messages wait to be sent
 * @closed: the link is CLOSED
 * @down: the link is down
 */
struct oae_claims {
	bool attached;
	bool dead;
	bool unread;
	bool stranger;
	bool queued;
	bool closed;
	bool down;
};

u32 oae_opening_mark(u32 now);
bool oae_opening_still(u32 mark, u32 now, u32 most);
int oae_share_room(unsigned int tags, unsigned int strangers, unsigned int most);
enum oae_spare oae_share_spare(const struct oae_claims *c);
bool oae_share_yields(enum oae_spare spare, int err, u32 dead_ms, u32 doubt_s,
		      u64 *ms);

#endif /* OAE_ADMISSION_H */
