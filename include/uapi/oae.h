/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What programs see of modoae: /dev/oae and its ioctls. Described in oae(4).
 *
 * All structures are the same for 32 and 64 bit programs. What is not named
 * must be 0; unknown flags are refused with EINVAL. Numbers are in host order.
 */
#ifndef _UAPI_OAE_H
#define _UAPI_OAE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define OAE_DEV		"/dev/oae"
#define OAE_IOC		0xb5

/*
 * How a transaction ends. What a blocking call says of one that is not
 * committed is a negative errno; none means two things:
 *
 *  REVERSED: it was not and never will be seen by the peer
 *	EINTR		a signal came
 *	ECANCELED	cancelled (OAE_CANCEL), or its port was removed
 *	ETIME		its deadline passed
 *	ENOLINK		the link is down: no answer for dead_ms
 *	ESHUTDOWN	the link was closed at this end
 *	EPIPE		the link was closed by the peer
 *	ECONNREFUSED	the peer's policy does not accept this end
 *	EMSGSIZE	larger than a limit, of either end
 *	EOPNOTSUPP	the peer does not serve this kind
 *	ENXIO		verb: no such region there, or not for this end
 *	ERANGE		verb: words behind the end of the region
 *	EACCES		verb: the region does not permit it
 *	EBADMSG		verb: the peer cannot read it
 *  UNKNOWN: an end of the link died inside the window in which no protocol
 *	could tell
 *	EOWNERDEAD
 *  not yet known: its outcome will be collected
 *	EINPROGRESS	a signal or the deadline, and it can no longer be
 *			reversed: an express in flight, or a half that is lent
 *  COMMITTED, and its result did not fit: collect it
 *	EOVERFLOW
 *  nothing was begun
 *	EAGAIN EFAULT EINVAL ENOMEM ENOTCONN ENODEV EBADF EPERM ENOTTY EEXIST
 *	EISCONN EADDRINUSE ENOBUFS ENOENT EDESTADDRREQ
 */
enum oae_result {
	OAE_RESULT_COMMITTED	= 0,
	OAE_RESULT_REVERSED	= 1,
	OAE_RESULT_UNKNOWN	= 2,
};

/* Kinds of transactions, as on the wire. */
enum oae_uapi_kind {
	OAE_KIND_MESSAGE	= 0,
	OAE_KIND_SWAP		= 1,
	OAE_KIND_VERB		= 2,
};

/**
 * struct oae_attach - OAE_ATTACH: which link this file is an end of
 * @port: a net device bound to the module; "" the first
 * @peer: whom; with OAE_ATTACH_LISTEN all zero: anybody
 * @vc: virtual channel
 * @zero: 0
 * @flags: OAE_ATTACH_*
 *
 * Once per open file. ENODEV no such port, EINVAL bad flags or address,
 * EISCONN attached already, ENOBUFS max_tags, EPERM no CAP_NET_RAW in the
 * network namespace in which the file was opened.
 */
struct oae_attach {
	char port[16];
	__u8 peer[6];
	__u8 vc;
	__u8 zero;
	__u32 flags;
	__u32 zero2;
};

#define OAE_ATTACH_LISTEN	0x01	/* read gives struct oae_peer */
#define OAE_ATTACH_ANY_VC	0x02	/* with LISTEN: whatever the vc */
#define OAE_ATTACH_OPEN		0x04	/* open the link now, do not wait */

/**
 * struct oae_peer - what a listening file reads: a link that a peer opened,
 *	which no file is attached to
 * @port: attach to this,
 * @peer: this,
 * @vc: and this
 * @zero: 0
 */
struct oae_peer {
	char port[16];
	__u8 peer[6];
	__u8 vc;
	__u8 zero;
};

/**
 * struct oae_options - OAE_SET_OPTIONS, OAE_GET_OPTIONS
 * @flags: OAE_OPT_*
 * @deadline_ms: after which a transaction is reversed; 0 none
 * @linger_ms: how long close() waits for what is queued, which is then
 *	reversed; OAE_LINGER_MAX at most, however large, and not at all when it
 *	is the end of the process that closes it. OAE_LINGER_BACKGROUND: it does
 *	not wait, and what is queued goes on without it
 * @queue: transactions of this file that are queued or not collected, at most
 *	(1 to 65536); then EAGAIN, or a blocking call waits
 * @queue_bytes: and bytes of them; 0 no limit but @queue
 */
struct oae_options {
	__u32 flags;
	__u32 deadline_ms;
	__u32 linger_ms;
	__u32 queue;
	__u32 queue_bytes;
	__u32 zero;
};

#define OAE_OPT_EXPRESS		0x01	/* messages are delivered at once */
#define OAE_LINGER_BACKGROUND	0xffffffffU
#define OAE_LINGER_MAX		10000U

/**
 * struct oae_swap - OAE_SWAP_HALF: give a half, take the peer's; both or neither
 * @give: address of the half
 * @take: address of room for the other; may be 0 if @take_len is
 * @give_len: bytes, 1 to oae_status.max_half
 * @take_len: in: room; out: bytes of the other half
 * @flags: OAE_NONBLOCK
 * @zero: 0
 * @id: out: of this transaction
 *
 * Blocks until both ends have posted a half and they are swapped. Not
 * blocking (flag or O_NONBLOCK): queued, the outcome and the other half are
 * collected. EOVERFLOW: swapped, @take_len is what the other half takes;
 * collect it.
 */
struct oae_swap {
	__u64 give;
	__u64 take;
	__u32 give_len;
	__u32 take_len;
	__u32 flags;
	__u32 zero;
	__u64 id;
};

#define OAE_NONBLOCK		0x01

/* Operations on words of 8 bytes; each yields the old words but for WRITE. */
enum oae_verb_code {
	OAE_VERB_READ		= 1,
	OAE_VERB_WRITE		= 2,	/* word = arg */
	OAE_VERB_EXCHANGE	= 3,	/* word = arg */
	OAE_VERB_FETCH_ADD	= 4,	/* word += arg */
	OAE_VERB_CAS		= 5,	/* all == cmp: word = arg */
	OAE_VERB_CODE_END
};

#define OAE_VERB_WORDS		8	/* words of an operation, at most */
#define OAE_VERB_OPS		64	/* operations of a transaction, at most */

/**
 * struct oae_verb_op - one operation on up to 8 words in a row
 * @code: enum oae_verb_code
 * @words: how many, 1 to 8
 * @zero: 0
 * @offset: bytes from the beginning of the region, a multiple of 8
 * @arg: operands
 * @cmp: CAS: what the words must be
 * @old: out: what they were
 */
struct oae_verb_op {
	__u8 code;
	__u8 words;
	__u16 zero;
	__u32 offset;
	__u64 arg[OAE_VERB_WORDS];
	__u64 cmp[OAE_VERB_WORDS];
	__u64 old[OAE_VERB_WORDS];
};

/**
 * struct oae_verb - OAE_DO_VERB: operations on words that the peer has exposed,
 *	in order, as one transaction in one round trip.
 *	OAE_LOCAL: the same on the region that this file exposes.
 * @ops: address of struct oae_verb_op[@nops]
 * @nops: 1 to OAE_VERB_OPS; as many as fit into one frame
 * @region: its number; OAE_LOCAL: 0
 * @flags: OAE_NONBLOCK
 * @taken: out: 1 if every comparison held. Otherwise nothing was changed,
 *	@failed is the first operation whose comparison did not hold, and
 *	@old of those behind it is 0
 * @failed: out
 * @zero: 0
 * @id: out: of this transaction
 *
 * Not blocking: the outcome and a struct oae_verb_result are collected.
 * OAE_LOCAL never blocks: EAGAIN, some of the words are reserved.
 */
struct oae_verb {
	__u64 ops;
	__u32 nops;
	__u32 region;
	__u32 flags;
	__u32 taken;
	__u32 failed;
	__u32 zero;
	__u64 id;
};

/**
 * struct oae_verb_result - of a verb, as collected
 * @taken: see struct oae_verb
 * @failed: likewise
 * @nwords: how many follow
 * @zero: 0
 * @old: the old words of all operations but WRITE, in order
 */
struct oae_verb_result {
	__u32 taken;
	__u32 failed;
	__u32 nwords;
	__u32 zero;
	__u64 old[];
};

/**
 * struct oae_expose - OAE_EXPOSE: words of this file that peers may work on
 * @size: bytes, a multiple of 8, at most the knob region_max; all 0 to begin
 *	with. mmap() of the file at offset 0 shows them.
 * @region: the number by which peers name it; free in this namespace
 *	(EADDRINUSE)
 * @perm: OAE_PERM_*; nothing is permitted that is not named
 * @flags: OAE_EXPOSE_*
 *
 * An attached file exposes to its peer, on its port and vc; a listening one to
 * whomever it listens for. One region a file (EEXIST), until it is closed.
 */
struct oae_expose {
	__u64 size;
	__u32 region;
	__u32 perm;
	__u32 flags;
	__u32 zero;
};

#define OAE_PERM_READ		0x01	/* READ */
#define OAE_PERM_WRITE		0x02	/* WRITE */
#define OAE_PERM_ATOMIC		0x04	/* EXCHANGE, FETCH_ADD, CAS */

/**
 * struct oae_outcome_rec - how one transaction of this file ended
 * @id: which; a file's transactions are numbered from 1
 * @result: enum oae_result
 * @kind: enum oae_uapi_kind
 * @zero: 0
 * @err: 0, or why it is not committed: a positive errno of the list above
 * @off: where in oae_collect.buf its result begins: SWAP the other half,
 *	VERB struct oae_verb_result
 * @len: bytes of it
 */
struct oae_outcome_rec {
	__u64 id;
	__u8 result;
	__u8 kind;
	__u16 zero;
	__s32 err;
	__u32 off;
	__u32 len;
};

/**
 * struct oae_collect - OAE_COLLECT: outcomes of what was queued
 * @recs: address of struct oae_outcome_rec[@max]
 * @buf: address of room for results
 * @max: how many at most
 * @got: out: how many there were; 0 is no error
 * @buf_len: bytes at @buf
 * @buf_used: out: bytes used; EOVERFLOW, nothing is collected: what the first
 *	result takes
 *
 * Messages and verbs in the order in which they were queued, and swaps in
 * theirs. Results are 8-byte aligned in @buf. Never blocks: poll for POLLPRI.
 */
struct oae_collect {
	__u64 recs;
	__u64 buf;
	__u32 max;
	__u32 got;
	__u32 buf_len;
	__u32 buf_used;
};

/**
 * struct oae_status - OAE_STATUS: the link, and what has happened to it
 * @port: its net device
 * @peer: whom
 * @vc: virtual channel
 * @state: 0 CLOSED, 1 SYNC_SENT, 2 SYNC_RECD, 3 OPEN, 4 CLOSE_SENT, 5 CLOSE_RECD
 * @flags: OAE_ST_*
 * @events: OAE_EVENT_* since the last OAE_STATUS of this file, which clears them
 * @tx: number of the last transaction committed
 * @rx: number of the last delivered
 * @mtu: bytes behind the Ethernet header that a frame may have
 * @max_len: bytes of a message that the peer takes; 0 not known
 * @max_half: bytes of a half
 * @max_verb: bytes of a verb on the wire: 8, and 8 for each operation with
 *	its operands. Its answer must fit as well: 8, and the old words
 * @srtt_ns: smoothed round trip; 0 not measured
 * @queued: transactions queued on the link, by all its files
 * @unread: transactions that can be read
 * @pending: transactions of this file whose outcome is not known
 * @uncollected: transactions of this file whose outcome can be collected
 * @committed: transactions of the link, since it was made
 * @reversed: likewise
 * @unknown: likewise
 * @delivered: likewise, the other direction
 * @failures: times that the link has healed
 * @next_id: of this file's next transaction
 */
struct oae_status {
	char port[16];
	__u8 peer[6];
	__u8 vc;
	__u8 state;
	__u32 flags;
	__u32 events;
	__u32 tx;
	__u32 rx;
	__u32 mtu;
	__u32 max_len;
	__u32 max_half;
	__u32 max_verb;
	__u64 srtt_ns;
	__u32 queued;
	__u32 unread;
	__u32 pending;
	__u32 uncollected;
	__u64 committed;
	__u64 reversed;
	__u64 unknown;
	__u64 delivered;
	__u64 failures;
	__u64 next_id;
};

#define OAE_ST_DOWN		0x01	/* no answer for dead_ms */
#define OAE_ST_DOUBT		0x02	/* frozen, and something in doubt */
#define OAE_ST_DEAD		0x04	/* the port is gone: attach anew */
#define OAE_ST_HALF		0x08	/* a half is posted here */

#define OAE_EVENT_UP		0x01	/* opened, or up again */
#define OAE_EVENT_DOWN		0x02
#define OAE_EVENT_DOUBT		0x04	/* froze with something in doubt */
#define OAE_EVENT_SETTLED	0x08	/* healed: nothing is in doubt */
#define OAE_EVENT_PEER_NEW	0x10	/* the peer's end is a new one */
#define OAE_EVENT_CLOSED	0x20	/* the link is closed */
#define OAE_EVENT_DEAD		0x40	/* the port is gone */
#define OAE_EVENT_LOST		0x80	/* committed and not confirmed, or
					 * held, and the peer's end has died
					 */

/*
 * read, write, fsync, poll, FIONREAD, mmap are as oae(4) says:
 *  write	one transaction, 1 byte or more
 *  read	one transaction whole; EMSGSIZE: the buffer is too small, and
 *		nothing is lost (FIONREAD tells the size); EAGAIN with
 *		O_NONBLOCK; 0 the port is gone, and all is read
 *  fsync	returns when all that this link has committed is known to be
 *		delivered; EPIPE or another if it will never be known
 *  POLLIN	a transaction can be read, or a peer appeared
 *  POLLOUT	a transaction would be queued
 *  POLLPRI	outcomes can be collected, or events are there
 *  POLLRDBAND	events are there
 *  POLLHUP	the port is gone
 */
#define OAE_ATTACH		_IOW(OAE_IOC, 1, struct oae_attach)
#define OAE_SET_OPTIONS		_IOW(OAE_IOC, 2, struct oae_options)
#define OAE_GET_OPTIONS		_IOR(OAE_IOC, 3, struct oae_options)
#define OAE_STATUS		_IOR(OAE_IOC, 4, struct oae_status)
#define OAE_COLLECT		_IOWR(OAE_IOC, 5, struct oae_collect)
/* ENOENT no such, or ended; EINPROGRESS cannot be reversed; 0: all of them */
#define OAE_CANCEL		_IOW(OAE_IOC, 6, __u64)
#define OAE_SWAP_HALF		_IOWR(OAE_IOC, 7, struct oae_swap)
#define OAE_DO_VERB		_IOWR(OAE_IOC, 8, struct oae_verb)
#define OAE_EXPOSE		_IOW(OAE_IOC, 9, struct oae_expose)
#define OAE_LOCAL		_IOWR(OAE_IOC, 10, struct oae_verb)

#endif /* _UAPI_OAE_H */
