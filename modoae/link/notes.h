/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Notes: events of a link that are counted and logged. OAE_N_..., the name, the
 * description of the counter note_... . Every frame that a link drops has a note. A
 * name never changes once released.
 *
 * An X-macro table: the including file defines OAE_NOTE().
 */
OAE_NOTE(OPENED, "opened", "links opened")
OAE_NOTE(RESOLVED, "resolved", "links resolved after a failure")
OAE_NOTE(STALL, "stall", "froze: no answer, or no progress")
OAE_NOTE(PEER_FROZE, "peer_froze", "froze: the peer did")
OAE_NOTE(NOLINK, "nolink", "froze: the peer has no such tag")
OAE_NOTE(WORN, "worn", "froze: a run has had its 2^30 transactions")
OAE_NOTE(PORT, "port", "froze: port down or its address changed")	/* its MTU too */
OAE_NOTE(IMPOSSIBLE, "impossible", "froze: a frame no legal state sends")
OAE_NOTE(CUT, "cut", "long frames do not get through: cut smaller")
OAE_NOTE(DOWN, "down", "links down: no answer for dead_ms")
OAE_NOTE(UP, "up", "links up again")
OAE_NOTE(PEER_NEW, "peer_new", "new incarnations of peers")
OAE_NOTE(BROKEN, "broken", "counters that did not fit: started again")
OAE_NOTE(UNCONFIRMED, "unconfirmed", "committed, and an end died before delivery was known")
OAE_NOTE(HELD_LOST, "held_lost", "held undecided, and an end died")
OAE_NOTE(OFFERED, "offered", "transactions offered")
OAE_NOTE(REOFFERED, "reoffered", "transactions offered again")
OAE_NOTE(VOIDED, "voided", "nothing offered in place of what was reversed")
OAE_NOTE(REPAIRED, "repaired", "frames lost, offered again without a freeze")
OAE_NOTE(ASKED, "asked", "asked what the peer has, since no answer came")
OAE_NOTE(PARKED, "parked", "offers the peer refused for now")	/* BUSY, NO_HALF, CONFLICT */
OAE_NOTE(REJECTED, "rejected", "offers the peer refused for good")	/* TOO_BIG, KIND */
OAE_NOTE(GAP_HEARD, "gap_heard", "the peer missed slices: lost, or yet to come")
OAE_NOTE(MISMATCH, "mismatch", "froze: a reflection of what was not said")
OAE_NOTE(HELD, "held", "transactions held and reflected")
OAE_NOTE(REFLECTED_AGAIN, "reflected_again", "same offer again, same answer")
OAE_NOTE(GAP, "gap", "slices missing here: lost, or yet to come")
OAE_NOTE(REFUSED, "refused", "offers refused here")	/* words, too big, kind */
OAE_NOTE(DROPPED, "dropped", "held, and reversed by the peer")
OAE_NOTE(LENT, "lent", "halves lent to the peer's swap")	/* went out in a REFLECT */
OAE_NOTE(TAKEN_BACK, "taken_back", "halves lent, and not swapped after all")
OAE_NOTE(PROBE, "probe", "idle peers probed")
OAE_NOTE(CLOSE, "close", "links begun to close")
OAE_NOTE(GONE, "gone", "links closed")
OAE_NOTE(OLD_RUN, "old_run", "frames dropped: another run of the link")
OAE_NOTE(FROZEN, "frozen", "frames dropped: data while frozen, or as its port goes down")
OAE_NOTE(OLD_SEQ, "old_seq", "frames dropped: another transaction's")
OAE_NOTE(OLD_CONTENT, "old_content", "frames dropped: another content's, or said before")
OAE_NOTE(DUP_SLICE, "dup_slice", "frames dropped: slice already here")
OAE_NOTE(BAD_SLICE, "bad_slice", "frames dropped: slices that disagree")
OAE_NOTE(NOT_GRANTED, "not_granted", "frames dropped: more than was granted")
OAE_NOTE(NO_PLACE, "no_place", "frames dropped: no memory for their place")
OAE_NOTE(STALE_SYNC, "stale_sync", "SYNCs dropped: naming another ltag")
OAE_NOTE(PATH_LOSSY, "path_lossy", "paths that were found to lose frames")
OAE_NOTE(IDLE_HELLO, "idle_hello", "HELLOs dropped: nobody listens")

#undef OAE_NOTE
