/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Causes for dropping a frame before any link sees it: OAE_BAD_..., the name and the
 * description of the counter. A name never changes once released.
 *
 * An X-macro table: the including file defines OAE_CAUSE().
 */
OAE_CAUSE(NONE, "bad_none", "never counted")
OAE_CAUSE(SHORT, "bad_short", "frames dropped: shorter than they say")	/* or than their headers */
OAE_CAUSE(LONG, "bad_long", "frames dropped: longer than they say")
OAE_CAUSE(VERSION, "bad_version", "frames dropped: another version")
OAE_CAUSE(HLEN, "bad_hlen", "frames dropped: header length")	/* not the flags' */
OAE_CAUSE(OPCODE, "bad_opcode", "frames dropped: unknown opcode")
OAE_CAUSE(FLAGS, "bad_flags", "frames dropped: a reserved flag")
OAE_CAUSE(FIELD, "bad_field", "frames dropped: a field out of range")	/* or a body's length */
OAE_CAUSE(AUTH, "bad_auth", "frames dropped: keyed digest, no key here")
OAE_CAUSE(DIGEST, "bad_digest", "frames dropped: wrong digest")

#undef OAE_CAUSE
