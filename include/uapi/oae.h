/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface of modoae to programs: /dev/oae and its ioctls. The manual page
 * is oae(4).
 *
 * All structures have the same layout for 32-bit and 64-bit programs. Members
 * without a meaning must be 0; unknown flags are refused with EINVAL. Numbers
 * are in host byte order.
 */
#ifndef _UAPI_OAE_H
#define _UAPI_OAE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define OAE_DEV		"/dev/oae"
#define OAE_IOC		0xb5

/*
 * How a transaction ends. A blocking call returns a negative errno for a
 * transaction that is not committed. Each errno has one meaning:
 *
 *  REVERSED: the peer has not seen it and never will
 *	EINTR		a signal arrived, and the call does not begin again: its handler
 *			has not SA_RESTART, or the file has a deadline
 *	ECANCELED	cancelled (OAE_CANCEL), or its port was removed
 *	ETIME		its deadline passed
 *	ENOLINK		the link is down: no answer for dead_ms
 *	ESHUTDOWN	the link was closed at this end
 *	EPIPE		the link was closed by the peer
 *	ECONNREFUSED	the peer's policy does not accept this end
 *	EMSGSIZE	longer than a limit of either end
 *	EOPNOTSUPP	the peer does not serve this kind
 *	ENXIO		verb: no such region there, or not for this end
 *	ERANGE		verb: words beyond the end of the region
 *	EACCES		verb: the region does not permit it
 *	EBADMSG		verb: the peer cannot parse the request
 *  UNKNOWN: an end of the link died inside the window in which no protocol
 *	can tell
 *	EOWNERDEAD
 *  not yet known: the outcome is to be collected later
 *	EINPROGRESS	a signal, the deadline or OAE_CANCEL came, and the peer
 *			may have it: an express that was offered, or a half
 *			that is lent. The outcome may be any of these above
 *  COMMITTED, and the result did not fit: it is to be collected
 *	EOVERFLOW
 *  nothing was begun
 *	EAGAIN EFAULT EINVAL ENOMEM ENOTCONN ENODEV EBADF EPERM ENOTTY EEXIST
 *	EISCONN EADDRINUSE ENOBUFS ENOENT EDESTADDRREQ EHOSTUNREACH EBUSY EXDEV EPROTO
 */
enum oae_result {
	OAE_RESULT_COMMITTED	= 0,
	OAE_RESULT_REVERSED	= 1,
	OAE_RESULT_UNKNOWN	= 2,
};

/* Kinds of transactions; the wire uses the same numbers. */
enum oae_uapi_kind {
	OAE_KIND_MESSAGE	= 0,
	OAE_KIND_SWAP		= 1,
	OAE_KIND_VERB		= 2,
};

/**
 * struct oae_attach - OAE_ATTACH: the link that this file becomes an end of
 * @port: a net device bound to the module; "" where the peer is or was heard, with
 *	OAE_ATTACH_LISTEN for every port
 * @peer: MAC address of the peer; all zero with OAE_ATTACH_LISTEN: any peer; with
 *	OAE_ATTACH_ID the last 48 bits of the peer's id
 * @vc: virtual channel
 * @zero: 0
 * @flags: OAE_ATTACH_*
 * @id_high: with OAE_ATTACH_ID the first 16 bits of the peer's id, else 0
 *
 * A file is attached once. ENODEV: no such port. EINVAL: bad flags or address.
 * EHOSTUNREACH: no neighbour has this id, or none at this port.
 * EISCONN: attached already. ENOBUFS: max_tags reached. EPERM: no CAP_NET_RAW in
 * the network namespace in which the file was opened.
 */
struct oae_attach {
	char port[16];
	__u8 peer[6];
	__u8 vc;
	__u8 zero;
	__u32 flags;
	__u32 id_high;
};

#define OAE_ATTACH_LISTEN	0x01	/* read() returns struct oae_peer */
#define OAE_ATTACH_ANY_VC	0x02	/* with LISTEN: every vc */
#define OAE_ATTACH_OPEN		0x04	/* open the link now, not at the first write */
#define OAE_ATTACH_ID		0x08	/* to the neighbour with this id; port "" for any */

/**
 * struct oae_peer - a record that a listening file reads: a link opened by a
 *	peer, to which no file is attached
 * @port: the net device, for struct oae_attach
 * @peer: MAC address of the peer, for struct oae_attach
 * @vc: virtual channel, for struct oae_attach
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
 * @deadline_ms: a transaction is reversed after this time; 0 for none
 * @linger_ms: how long close() waits for queued transactions, which are then
 *	reversed; larger values count as OAE_LINGER_MAX. close() does not wait
 *	at all when the end of the process closes the file. With
 *	OAE_LINGER_BACKGROUND close() does not wait, and queued transactions
 *	go on without the file
 * @queue: most transactions of this file that are queued or not collected
 *	(1 to 65536); beyond that EAGAIN, or a blocking call waits
 * @queue_bytes: most bytes of these transactions; 0: limited by @queue only
 * @spin_us: a call that is to wait looks again and again for so long before it sleeps; at
 *	most OAE_SPIN_MAX
 */
struct oae_options {
	__u32 flags;
	__u32 deadline_ms;
	__u32 linger_ms;
	__u32 queue;
	__u32 queue_bytes;
	__u32 spin_us;
};

#define OAE_SPIN_MAX		10000U
#define OAE_OPT_EXPRESS		0x01	/* messages are express: delivered at the OFFER */
/*
 * What read() gives stays this file's until its next read(), or OAE_DONE. If the file is
 * closed before, it goes back to the head of the queue, for the next reader. So each
 * message is delivered to this host once, and done at least once. It takes room until then,
 * so OAE_DONE comes before poll().
 */
#define OAE_OPT_TAKE		0x02
#define OAE_LINGER_BACKGROUND	0xffffffffU
#define OAE_LINGER_MAX		10000U

/**
 * struct oae_swap - OAE_SWAP_HALF: give a half, take the peer's; both or neither
 * @give: address of this end's half
 * @take: address of the buffer for the peer's half; may be 0 if @take_len is 0
 * @give_len: bytes of this end's half, 1 to oae_status.max_half
 * @take_len: in: bytes of the buffer; out: bytes of the peer's half
 * @flags: OAE_NONBLOCK
 * @zero: 0
 * @id: out: id of this transaction
 *
 * The call blocks until both ends have posted a half and the halves are swapped.
 * With OAE_NONBLOCK or O_NONBLOCK the half is queued; the outcome and the peer's
 * half are collected. EOVERFLOW: swapped, but the peer's half needs @take_len
 * bytes and is to be collected.
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

/* Operations on words of 8 bytes. All but WRITE return the old words. */
enum oae_verb_code {
	OAE_VERB_READ		= 1,
	OAE_VERB_WRITE		= 2,	/* word = arg */
	OAE_VERB_EXCHANGE	= 3,	/* word = arg */
	OAE_VERB_FETCH_ADD	= 4,	/* word += arg */
	OAE_VERB_CAS		= 5,	/* all == cmp: word = arg */
	OAE_VERB_CODE_END
};

#define OAE_VERB_WORDS		8	/* most words of an operation */
#define OAE_VERB_OPS		64	/* most operations of a transaction */

/**
 * struct oae_verb_op - one operation on up to 8 consecutive words
 * @code: enum oae_verb_code
 * @words: number of words, 1 to 8
 * @zero: 0
 * @offset: bytes from the beginning of the region, a multiple of 8
 * @arg: operands
 * @cmp: CAS: the values that the words are compared with
 * @old: out: the values of the words before the operation
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
 * @nops: 1 to OAE_VERB_OPS; the operations must fit into one frame
 * @region: number of the region; OAE_LOCAL: 0
 * @flags: OAE_NONBLOCK
 * @taken: out: 1 if every comparison held. Otherwise nothing was changed,
 *	@failed is the first operation whose comparison failed, and @old of
 *	the operations after it is 0
 * @failed: out: see @taken
 * @zero: 0
 * @id: out: id of this transaction
 *
 * With OAE_NONBLOCK or O_NONBLOCK the outcome and a struct oae_verb_result are
 * collected. OAE_LOCAL never blocks; EAGAIN: some of the words are reserved.
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
 * struct oae_verb_result - the result of a verb, as collected
 * @taken: see struct oae_verb
 * @failed: see struct oae_verb
 * @nwords: number of words in @old
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
 * struct oae_expose - OAE_EXPOSE: a region of words that peers may operate on
 * @size: bytes, a multiple of 8, at most the knob region_max. The words are 0 at
 *	first. mmap() of the file at offset 0 maps them.
 * @region: the number by which peers name the region; must be free in this
 *	namespace (EADDRINUSE)
 * @perm: OAE_PERM_*; only what is named is permitted
 * @flags: OAE_EXPOSE_*
 * @zero: 0
 *
 * An attached file exposes the region to its peer, on its port and vc. A
 * listening file exposes it to every peer that it listens for. A file has one
 * region (EEXIST), until it is closed.
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
 * @id: id of the transaction; ids of a file begin at 1
 * @result: enum oae_result
 * @kind: enum oae_uapi_kind
 * @zero: 0
 * @err: 0, or why it is not committed: a positive errno of the list above
 * @off: offset of the result in oae_collect.buf: SWAP the peer's half,
 *	VERB struct oae_verb_result
 * @len: bytes of the result
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
 * struct oae_collect - OAE_COLLECT: outcomes of queued transactions
 * @recs: address of struct oae_outcome_rec[@max]
 * @buf: address of the buffer for results
 * @max: most outcomes to return
 * @got: out: number of outcomes returned; 0 is no error
 * @buf_len: bytes at @buf
 * @buf_used: out: bytes used at @buf; with EOVERFLOW, when nothing is collected:
 *	bytes that the first result needs
 *
 * Messages and verbs are returned in the order in which they were queued, and
 * swaps in theirs. Results are 8-byte aligned in @buf. The call never blocks;
 * POLLPRI tells when there are outcomes.
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
 * struct oae_status - OAE_STATUS: the state and the counters of the link
 * @port: net device of the link
 * @peer: MAC address of the peer
 * @vc: virtual channel
 * @state: 0 CLOSED, 1 SYNC_SENT, 2 SYNC_RECD, 3 OPEN, 4 CLOSE_SENT, 5 CLOSE_RECD
 * @flags: OAE_ST_*
 * @events: OAE_EVENT_* since the last OAE_STATUS of this file, which clears them
 * @tx: number of the last transaction committed
 * @rx: number of the last transaction delivered
 * @mtu: most bytes of a frame after the Ethernet header
 * @max_len: bytes of the longest message that the peer takes, and the knob max_len lets go;
 *	0 not known
 * @max_half: bytes of the longest half
 * @max_verb: bytes of the longest verb on the wire: 8, plus 8 for each operation
 *	and its operands. The answer must fit as well: 8, plus the old words
 * @srtt_ns: smoothed round trip, nanoseconds; 0 not measured
 * @queued: transactions queued on the link, of all its files
 * @unread: transactions that can be read
 * @pending: transactions of this file whose outcome is not known yet
 * @uncollected: transactions of this file whose outcome can be collected
 * @committed: transactions of the link that were committed, since it was created
 * @reversed: transactions of the link that were reversed
 * @unknown: transactions of the link that ended UNKNOWN
 * @delivered: transactions of the other direction that were delivered
 * @failures: number of failures that the link has recovered from
 * @next_id: id of this file's next transaction
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
#define OAE_ST_DOUBT		0x02	/* frozen, with a transaction in doubt */
#define OAE_ST_DEAD		0x04	/* the port is gone; attach anew */
#define OAE_ST_HALF		0x08	/* a half is posted here */

#define OAE_EVENT_UP		0x01	/* the link opened, or is up again */
#define OAE_EVENT_DOWN		0x02
#define OAE_EVENT_DOUBT		0x04	/* froze with a transaction in doubt */
#define OAE_EVENT_SETTLED	0x08	/* recovered: nothing is in doubt */
#define OAE_EVENT_PEER_NEW	0x10	/* new incarnation of the peer */
#define OAE_EVENT_CLOSED	0x20	/* the link is closed */
#define OAE_EVENT_DEAD		0x40	/* the port is gone */
#define OAE_EVENT_LOST		0x80	/* committed and not confirmed, or
					 * held, and the peer's end has died
					 */

/* What a link waits for. */
enum oae_why {
	OAE_WAITS_NOTHING	= 0,
	OAE_WAITS_PORT		= 1,	/* the port here is down */
	OAE_WAITS_CARRIER	= 2,	/* the port here has no carrier */
	OAE_WAITS_GATEWAY	= 3,	/* the gateway is not known */
	OAE_WAITS_ANSWER	= 4,	/* no answer of the peer */
	OAE_WAITS_SETTLING	= 5,	/* what is in doubt is settled first */
	OAE_WAITS_ROOM		= 6,	/* there is no room at the peer */
	OAE_WAITS_WORDS		= 7,	/* words are reserved at the peer */
	OAE_WAITS_HALF		= 8,	/* there is no half at the peer */
	OAE_WAITS_FLIGHT	= 9,	/* what is under way */
	OAE_WAITS_CONFIRM	= 10,	/* that the last commit is confirmed */
};

/**
 * struct oae_waits - OAE_WAITS: what the link of this file waits for, since when, until
 *	when; and what its peer may wait for here
 * @flags: in: OAE_WAITS_LAST or 0
 * @why: enum oae_why
 * @since_ns: for so long, ns; 0 not known
 * @until_ns: after so long it is given up, ns; 0 never
 * @unread: transactions that can be read here
 * @unread_bytes: what these cost, and what a reader keeps (OAE_OPT_TAKE)
 * @rcvbuf: the knob, which limits @unread_bytes
 * @idle_ms: nothing was read here for so long though something is unread, or kept, ms
 * @holder: peer of the link that reserves the words which a verb of this peer waits for
 * @holder_vc: its virtual channel
 * @holder_set: 1: there is such a link
 * @text: all this in a sentence for people, NUL at the end
 */
struct oae_waits {
	__u32 flags;
	__u32 why;
	__u64 since_ns;
	__u64 until_ns;
	__u32 unread;
	__u32 unread_bytes;
	__u32 rcvbuf;
	__u32 idle_ms;
	__u8 holder[6];
	__u8 holder_vc;
	__u8 holder_set;
	char text[224];
};

/*
 * What it waited for just before a transaction of this file was last reversed by EINTR,
 * ECANCELED, ETIME or ENOLINK, also one that got no place in the queue; OAE_WAITS_NOTHING
 * after any other error.
 */
#define OAE_WAITS_LAST		0x01

/*
 * Rings: a stream into and out of a program without a system call, see oae(4). The program
 * appends chunks to tx, which the kernel takes in order and sends; the kernel appends what
 * was delivered to rx. A chunk is a struct oae_chunk and its bytes, and takes a multiple
 * of OAE_CHUNK_ALIGN bytes.
 *
 * A position counts bytes since the ring was made. It never wraps, and the byte at position
 * p is at p modulo the size. As each ring is mapped twice in a row, a chunk is
 * contiguous wherever it begins. tx: ended <= taken <= published <= ended + size.
 * rx: passed <= filled <= passed + size.
 *
 * Each word has one writer. Who has stored a position issues a full barrier, then reads the
 * word by which the other side says that it waits. Who is about to sleep stores its
 * word, issues a full barrier, then looks at the other's position again.
 */

/**
 * struct oae_ring - OAE_RING: make the rings of this file
 * @tx_size: bytes, a power of two from OAE_RING_MIN to OAE_RING_MAX
 * @rx_size: likewise, and at least twice the knob max_len and two headers (EMSGSIZE)
 * @flags: 0
 * @link: out: handle of the link that this file is attached to; 0 the file is not attached,
 *	and never will be
 * @program: out: offset for mmap of struct oae_ring_program, a page
 * @kernel: out: offset for mmap of struct oae_ring_kernel, a page; read only
 * @tx: out: offset for mmap of the tx ring, 2 * @tx_size bytes
 * @rx: out: offset for mmap of the rx ring, 2 * @rx_size bytes; read only
 *
 * A file has rings, or read() and write() (EBUSY), until it is closed. EEXIST: it has rings.
 * EBUSY: its link is on a ring already. EDESTADDRREQ: it listens. EOPNOTSUPP: the program
 * or the kernel has 32 bits.
 */
struct oae_ring {
	__u32 tx_size;
	__u32 rx_size;
	__u32 flags;
	__u32 link;
	__u64 program;
	__u64 kernel;
	__u64 tx;
	__u64 rx;
};

#define OAE_RING_MIN		0x10000
#define OAE_RING_MAX		0x4000000

/**
 * struct oae_ring_add - OAE_RING_ADD: put the link of another file on this file's rings
 * @fd: the file, attached, without rings; no longer for read() and write(). Closing it
 *	takes the link off the rings
 * @link: out: the handle, never used again by these rings
 *
 * EBUSY: the link is on a ring. EXDEV: the file is of another network namespace.
 * Of the options of the link's file @deadline_ms and OAE_OPT_EXPRESS apply to its chunks;
 * of those of the file with the rings @queue and @queue_bytes to all that is taken and has
 * not ended, @linger_ms, and @spin_us.
 */
struct oae_ring_add {
	__s32 fd;
	__u32 link;
};

/**
 * struct oae_ring_program - the words that the program writes
 * @published: tx: position behind the last chunk that may be taken
 * @wants_room: tx: 1 the program waits for taken or ended to grow
 * @passed: rx: position behind the last chunk that the program is done with
 * @wants_data: rx: 1 the program waits for chunks
 */
struct oae_ring_program {
	__u64 published;
	__u32 wants_room;
	__u32 zero1[13];
	__u64 passed;
	__u32 wants_data;
	__u32 zero2[13];
};

/**
 * struct oae_ring_kernel - the words that the kernel writes
 * @taken: tx: position behind the last chunk that was taken
 * @ended: tx: position behind the last chunk that has ended, and all before it
 * @wants_data: tx: 1 whoever publishes calls OAE_RING_BELL
 * @error: 0, or a positive errno: the rings stand still for good. EPROTO: the program broke
 *	the rules above. EMSGSIZE: a transaction is longer than rx
 * @filled: rx: position behind the last chunk
 * @wants_room: rx: 1 whoever passes calls OAE_RING_BELL
 */
struct oae_ring_kernel {
	__u64 taken;
	__u64 ended;
	__u32 wants_data;
	__u32 error;
	__u32 zero1[10];
	__u64 filled;
	__u32 wants_room;
	__u32 zero2[13];
};

/**
 * struct oae_chunk - what each transaction begins with, in either ring
 * @len: bytes of the transaction; 1 or more
 * @link: handle of its link
 * @number: rx: of the transaction, among those of this direction that were delivered here
 *	since the link was made. It counts on when the peer or a program dies: what is
 *	told twice has its number twice. tx: not used
 * @flags: tx: OAE_CHUNK_*; rx: 0
 * @result: tx: the program writes 0, the kernel OAE_CHUNK_ENDED and enum oae_result
 * @err: tx: with @result: 0, or why it is not committed: a positive errno of the list
 *	above. ENOTCONN: there is no such link on these rings
 */
struct oae_chunk {
	__u32 len;
	__u32 link;
	__u32 number;
	__u8 flags;
	__u8 result;
	__u16 err;
};

#define OAE_CHUNK_ALIGN		8
#define OAE_CHUNK_EXPRESS	0x01	/* delivered at the OFFER, as OAE_OPT_EXPRESS */
/*
 * Instead of the bytes the position of the first of them in rx follows, 8 bytes. They are
 * of one chunk or more that the program has not passed, and does not pass before this
 * chunk is taken.
 */
#define OAE_CHUNK_FORWARD	0x02
#define OAE_CHUNK_ENDED		0x80	/* of @result */

/**
 * struct oae_bell - OAE_RING_BELL: look at the program's words now; and wait
 * @flags: OAE_BELL_*: the call returns when one of those is true
 * @timeout_ms: after so long it returns anyway; negative: never
 * @filled: OAE_BELL_FILLED: more than this position is filled
 * @taken: OAE_BELL_TAKEN: this position is taken
 * @ended: OAE_BELL_ENDED: this position has ended. There are n bytes of room if ended is
 *	published + n - the size
 *
 * The call may spin for oae_options.spin_us before it sleeps. EINTR: a signal. EPROTO,
 * EMSGSIZE: oae_ring_kernel.error. ENODEV: the port of each link is gone, or there is no
 * link. poll() needs the words wants_room and wants_data for POLLOUT, half of tx is free, and
 * POLLIN, there is something that is not passed. POLLERR: oae_ring_kernel.error.
 */
struct oae_bell {
	__u32 flags;
	__s32 timeout_ms;
	__u64 filled;
	__u64 taken;
	__u64 ended;
};

#define OAE_BELL_FILLED		0x01
#define OAE_BELL_TAKEN		0x02
#define OAE_BELL_ENDED		0x04

/*
 * read, write, fsync, poll, FIONREAD and mmap, see oae(4):
 *  write	one transaction, 1 byte or more
 *  read	one whole transaction. EMSGSIZE: the buffer is too small; nothing is
 *	lost, FIONREAD returns the size. EAGAIN: with O_NONBLOCK, nothing to
 *	read. 0: the port is gone, and everything has been read
 *  fsync	returns once everything that this link has committed is known to be
 *	delivered; EPIPE or another error if that will never be known
 *  POLLIN	a transaction can be read, or a peer appeared
 *  POLLOUT	a transaction would be queued
 *  POLLPRI	outcomes can be collected, or there are events
 *  POLLRDBAND	there are events
 *  POLLHUP	the port is gone
 */
#define OAE_ATTACH		_IOW(OAE_IOC, 1, struct oae_attach)
#define OAE_SET_OPTIONS		_IOW(OAE_IOC, 2, struct oae_options)
#define OAE_GET_OPTIONS		_IOR(OAE_IOC, 3, struct oae_options)
#define OAE_STATUS		_IOR(OAE_IOC, 4, struct oae_status)
#define OAE_COLLECT		_IOWR(OAE_IOC, 5, struct oae_collect)
/* OAE_CANCEL takes an id, 0: all. ENOENT: none, or ended. EINPROGRESS: not known yet. */
#define OAE_CANCEL		_IOW(OAE_IOC, 6, __u64)
#define OAE_SWAP_HALF		_IOWR(OAE_IOC, 7, struct oae_swap)
#define OAE_DO_VERB		_IOWR(OAE_IOC, 8, struct oae_verb)
#define OAE_EXPOSE		_IOW(OAE_IOC, 9, struct oae_expose)
#define OAE_LOCAL		_IOWR(OAE_IOC, 10, struct oae_verb)
/* What the last read() of a file with OAE_OPT_TAKE gave is dealt with. ENOENT: nothing */
#define OAE_DONE		_IO(OAE_IOC, 11)
#define OAE_WAITS		_IOWR(OAE_IOC, 12, struct oae_waits)
#define OAE_RING		_IOWR(OAE_IOC, 13, struct oae_ring)
#define OAE_RING_ADD		_IOWR(OAE_IOC, 14, struct oae_ring_add)
#define OAE_RING_BELL		_IOW(OAE_IOC, 15, struct oae_bell)

#endif /* _UAPI_OAE_H */
