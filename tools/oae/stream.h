/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream of bytes as messages, for what is longer than one:
 *
 *	BEGIN	number: all bytes that will come, or STREAM_OPEN
 *	DATA	number: where in the stream its bytes stand
 *	END	number: all bytes that have come: the end mark; STREAM_OPEN: it is given up
 *	DONE	back: number is 0, or the errno for which it was not kept
 *	PIPE	instead of BEGIN: of oae pipe; number: the stream of the other end, 0 if it has not
 *		heard of one
 *	STOP	instead of END: of oae pipe, which gives up; number: likewise
 *
 * Each begins with a head, and all but DATA are no more than it. A stream is named by
 * a random number, so that what an earlier one has left unread is not taken for this one.
 */
#ifndef OAE_STREAM_H
#define OAE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_HEAD	24
#define STREAM_OPEN	(~0ULL)

enum stream_kind {
	STREAM_BEGIN = 1, STREAM_DATA, STREAM_END, STREAM_DONE, STREAM_PIPE, STREAM_STOP
};

struct stream_head {
	enum stream_kind kind;
	uint64_t id;
	uint64_t number;
};

void stream_put(const struct stream_head *h, unsigned char buf[STREAM_HEAD]);
/* False: it is none, or of another version. */
bool stream_get(struct stream_head *h, const void *message, size_t len);

#endif /* OAE_STREAM_H */
