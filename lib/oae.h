/* SPDX-License-Identifier: GPL-2.0 */
/*
 * liboae: atomic links from C. A thin layer over the ioctls of /dev/oae, whose
 * structures are those of <linux/oae.h>. Described in liboae(3) and oae(4).
 *
 * Every link is a plain file descriptor: poll(), dup(), fork(), close() are what
 * they always are. There are no threads, nothing is kept between calls but what the caller
 * has, and all functions may be called from any thread; one at a time for an object.
 *
 * Unless a function says otherwise it returns 0, or -1 with errno set.
 * oae_outcome(errno) says what that error means for a transaction, and
 * oae_strerror(errno) says it in words.
 */
#ifndef OAE_H
#define OAE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __has_include
#if __has_include("uapi/oae.h")
#include <uapi/oae.h>
#else
#include <linux/oae.h>
#endif
#else
#include <linux/oae.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef OAE_API
#define OAE_API
#endif

#define OAE_PEER_LEN	6	/* bytes of a peer's address */
#define OAE_PEER_TEXT	18	/* characters of one as text, with the 0 */

/* --- opening ----------------------------------------------------------------- */

/**
 * enum oae_open_flag - for oae_open(), oae_listen(), oae_accept()
 * @OAE_OPEN_NOW: open the link now, not with the first transaction
 * @OAE_OPEN_NONBLOCK: the descriptor has O_NONBLOCK: what is posted is queued,
 *	oae_queue() instead of oae_send(), and oae_recv() does not wait
 * @OAE_OPEN_EXPRESS: messages are delivered at once (OAE_OPT_EXPRESS)
 * @OAE_OPEN_TAKE: what oae_recv() gives goes back to the queue unless oae_done() or the
 *	next oae_recv() follows (OAE_OPT_TAKE)
 */
enum oae_open_flag {
	OAE_OPEN_NOW		= 0x01,
	OAE_OPEN_NONBLOCK	= 0x02,
	OAE_OPEN_EXPRESS	= 0x04,
	OAE_OPEN_TAKE		= 0x08,
};

/**
 * oae_open() - be an end of the link with a peer
 * @port: a net device bound to the module; NULL or "" where the peer is or was heard
 * @peer: its address
 * @vc: virtual channel, 0 to 255
 * @flags: OAE_OPEN_*
 *
 * Returns a descriptor (close-on-exec), or -1. ENOENT: the module is not
 * loaded; EACCES: no permission for /dev/oae; EPERM: no CAP_NET_RAW; ENODEV: no
 * such port; ENOBUFS: no room for another link.
 */
OAE_API int oae_open(const char *port, const unsigned char peer[OAE_PEER_LEN], int vc, int flags);

/**
 * struct oae_address - where a peer is
 * @port: a net device bound to the module; "" where the peer is or was heard
 * @peer: its address, if @id is 0
 * @id: its id; 0: it is not known by that
 */
struct oae_address {
	char port[16];
	unsigned char peer[OAE_PEER_LEN];
	uint64_t id;
};

/**
 * oae_open_address() - be an end of the link with a peer, wherever it is
 * @where: of oae_parse_address()
 * @vc: virtual channel, 0 to 255
 * @flags: OAE_OPEN_*
 *
 * Returns as oae_open() does. EHOSTUNREACH: no neighbour has this id.
 */
OAE_API int oae_open_address(const struct oae_address *where, int vc, int flags);

/**
 * oae_listen() - be told of links that peers open
 * @port: a net device bound to the module; NULL or "" every port
 * @peer: only this one; NULL anybody
 * @vc: only this one; -1 any
 * @flags: OAE_OPEN_NONBLOCK or 0
 *
 * Returns a descriptor for oae_next_peer() and oae_accept(); POLLIN says when.
 */
OAE_API int oae_listen(const char *port, const unsigned char *peer, int vc, int flags);

/**
 * oae_next_peer() - the next link that a peer opened and nobody is attached to
 * @listener: of oae_listen()
 * @who: out: its port, peer and vc
 *
 * Waits for one, unless the descriptor does not block: EAGAIN. ENODEV: the port
 * is gone.
 */
OAE_API int oae_next_peer(int listener, struct oae_peer *who);

/**
 * oae_accept() - oae_next_peer(), and oae_open() of that
 * @listener: of oae_listen()
 * @who: out: who it is; may be NULL
 * @flags: OAE_OPEN_*, for the new descriptor
 *
 * Returns a descriptor, or -1.
 */
OAE_API int oae_accept(int listener, struct oae_peer *who, int flags);

/* --- messages ------------------------------------------------------------------ */

/**
 * oae_send() - one transaction, to its outcome
 * @fd: of oae_open(), one that blocks
 * @data: what the peer reads in one piece
 * @len: bytes, 1 or more
 *
 * Returns 0 when it is COMMITTED; otherwise -1, and oae_outcome(errno) says what
 * became of it. A deadline is a moment: what a signal has reversed goes on with the
 * time that is left, here and in oae_swap() and oae_verb(), unless the program has a
 * handler without SA_RESTART (or no deadline: then the device does as it says).
 * EINPROGRESS (express only): collect it, it may still be REVERSED. EINVAL also for a
 * descriptor that does not block, so that what is only queued is never taken for
 * committed.
 */
OAE_API int oae_send(int fd, const void *data, size_t len);

/**
 * oae_sendv() - the same of several pieces
 * @fd: as for oae_send()
 * @iov: the pieces, which make one transaction
 * @count: how many
 */
OAE_API int oae_sendv(int fd, const struct iovec *iov, int count);

/**
 * oae_queue() - queue a message and do not wait
 * @fd: of oae_open(), with OAE_OPEN_NONBLOCK
 * @data: what the peer reads in one piece
 * @len: bytes, 1 or more
 *
 * Returns 0 once it is queued; its outcome is to be collected: oae_next_outcome().
 * EAGAIN: the queue is full, wait for POLLOUT. EINVAL also for a descriptor that
 * blocks. Transactions are numbered from 1 in the order in which they are posted.
 */
OAE_API int oae_queue(int fd, const void *data, size_t len);

/**
 * oae_queuev() - the same of several pieces
 * @fd: as for oae_queue()
 * @iov: the pieces, which make one transaction
 * @count: how many
 */
OAE_API int oae_queuev(int fd, const struct iovec *iov, int count);

/**
 * oae_recv() - the next message, whole
 * @fd: of oae_open()
 * @buf: room for it
 * @size: bytes of that
 *
 * Returns its length, 0 if the port is gone and all is read, or -1. EMSGSIZE: the
 * buffer is too small, oae_recv_size() says how large it must be, and nothing is
 * lost.
 */
OAE_API ssize_t oae_recv(int fd, void *buf, size_t size);

/**
 * oae_done() - what the last oae_recv() gave is dealt with
 * @fd: of oae_open(), with OAE_OPEN_TAKE
 *
 * Returns 0, or -1. ENOENT: nothing is kept.
 */
OAE_API int oae_done(int fd);

/**
 * oae_recv_size() - bytes of the next message
 * @fd: of oae_open()
 *
 * Returns them, 0 if there is none, or -1.
 */
OAE_API ssize_t oae_recv_size(int fd);

/**
 * oae_confirm() - wait until all that is committed is known to be delivered
 * @fd: of oae_open()
 *
 * The kernel that received it will deliver what is committed in any case; this
 * waits until it has said so. -1: it will never be known, errno says why.
 */
OAE_API int oae_confirm(int fd);

/**
 * oae_cancel() - reverse what is not committed
 * @fd: of oae_open()
 * @id: which; 0: all of this descriptor
 *
 * ENOENT: there is no such, or it has ended. EINPROGRESS: the peer may have it, an express
 * that was offered or a half that is lent; its outcome will be collected.
 */
OAE_API int oae_cancel(int fd, uint64_t id);

/* --- outcomes of what was queued ----------------------------------------------- */

#define OAE_OUTCOMES	32	/* records in a batch */

/**
 * struct oae_outcomes - a batch of outcomes, and the way through it
 *
 * Begin with all zero: ``struct oae_outcomes o = { 0 };``. It belongs to one
 * descriptor from then on; oae_outcomes_free() at the end.
 */
struct oae_outcomes {
	/* private: */
	struct oae_outcome_rec rec[OAE_OUTCOMES];
	unsigned int got, next;
	size_t size;
	void *buf;
};

/**
 * oae_next_outcome() - how the next of the transactions queued has ended
 * @fd: of oae_open()
 * @o: the batch; asks the kernel only when it is used up
 *
 * Never waits: poll() for POLLPRI. Events wake it, too: ask for POLLRDBAND as well,
 * and if that is set, oae_status() takes them.
 *
 * Returns the record, good until the next call; or NULL: with errno 0, there is
 * none now, otherwise an error.
 */
OAE_API const struct oae_outcome_rec *oae_next_outcome(int fd, struct oae_outcomes *o);

/**
 * oae_outcome_half() - the half that a swap has taken
 * @o: the batch
 * @rec: of oae_next_outcome()
 *
 * Returns rec->len bytes; NULL if it is not a committed swap.
 */
OAE_API const void *oae_outcome_half(const struct oae_outcomes *o,
				     const struct oae_outcome_rec *rec);

/**
 * oae_outcome_verb() - the result of a verb
 * @o: the batch
 * @rec: of oae_next_outcome()
 *
 * Returns it; NULL if it is not a committed verb.
 */
OAE_API const struct oae_verb_result *oae_outcome_verb(const struct oae_outcomes *o,
						       const struct oae_outcome_rec *rec);

/**
 * oae_outcomes_free() - free what belongs to a batch; it may be used anew then
 * @o: the batch; records not gone through are lost
 */
OAE_API void oae_outcomes_free(struct oae_outcomes *o);

/**
 * oae_collect() - OAE_COLLECT as it is, with your own memory
 * @fd: of oae_open()
 * @recs: room for records
 * @max: how many
 * @buf: room for results; 8-byte aligned
 * @size: bytes of that
 * @used: out: bytes used; with EOVERFLOW what the first result takes, and nothing
 *	is collected. May be NULL
 *
 * Returns the number of records, which may be 0, or -1.
 */
OAE_API int oae_collect(int fd, struct oae_outcome_rec *recs, unsigned int max, void *buf,
			size_t size, size_t *used);

/* --- swaps ----------------------------------------------------------------------- */

/**
 * oae_swap() - give a half and take the peer's: both or neither
 * @fd: of oae_open()
 * @give: the half
 * @len: bytes of it, 1 to max_half of oae_status()
 * @take: room for the other
 * @size: bytes of that
 *
 * Waits until the peer has posted a half too. Returns the length of the other
 * half, 1 or more, or -1. EOVERFLOW: swapped, but the room was too small, collect
 * it. EINPROGRESS: interrupted while lent, its outcome will be collected. EINVAL
 * also for a descriptor that does not block.
 */
OAE_API ssize_t oae_swap(int fd, const void *give, size_t len, void *take, size_t size);

/**
 * oae_queue_swap() - post a half and do not wait
 * @fd: of oae_open()
 * @give: the half
 * @len: bytes of it
 * @id: out: its number; may be NULL
 *
 * The other half comes with the outcome. Any descriptor will do. EAGAIN: the
 * queue is full.
 */
OAE_API int oae_queue_swap(int fd, const void *give, size_t len, uint64_t *id);

/* --- verbs: words that the peer has exposed -------------------------------------- */

/**
 * oae_verb() - operations on the peer's words, as one transaction
 * @fd: of oae_open()
 * @region: the number under which the peer exposes them
 * @ops: what to do, in order; @old of each is filled in
 * @nops: 1 to OAE_VERB_OPS, as many as fit into one frame
 * @failed: out: index of the first comparison that did not hold; may be NULL
 *
 * Waits for the outcome. Returns 1: all comparisons held, all is done; 0: one did
 * not, nothing is changed; or -1. EINVAL also for a descriptor that does not block.
 */
OAE_API int oae_verb(int fd, uint32_t region, struct oae_verb_op *ops, unsigned int nops,
		     unsigned int *failed);

/**
 * oae_queue_verb() - the same, and do not wait
 * @fd: of oae_open()
 * @region: the number under which the peer exposes them
 * @ops: what to do, in order
 * @nops: how many
 * @id: out: its number; may be NULL
 *
 * The result comes with the outcome: oae_outcome_verb().
 */
OAE_API int oae_queue_verb(int fd, uint32_t region, struct oae_verb_op *ops, unsigned int nops,
			   uint64_t *id);

/**
 * oae_local() - operations on the words exposed here, in one step
 * @fd: of oae_expose()
 * @ops: as for oae_verb()
 * @nops: how many
 * @failed: as for oae_verb()
 *
 * Returns as oae_verb() does. It never waits: EAGAIN, a peer's transaction that is
 * not decided has reserved some of the words; try again.
 */
OAE_API int oae_local(int fd, struct oae_verb_op *ops, unsigned int nops, unsigned int *failed);

/* What to do, for oae_verb() and oae_local(). An offset is in bytes, a multiple of 8. */

/**
 * oae_op_read() - read words
 * @offset: of the first
 * @words: how many, 1 to 8
 */
OAE_API struct oae_verb_op oae_op_read(uint32_t offset, unsigned int words);

/**
 * oae_op_write() - write words, whatever they were
 * @offset: of the first
 * @values: what to write
 * @words: how many, 1 to 8
 */
OAE_API struct oae_verb_op oae_op_write(uint32_t offset, const uint64_t *values,
					unsigned int words);

/**
 * oae_op_exchange() - write words, and have what they were
 * @offset: of the first
 * @values: what to write
 * @words: how many, 1 to 8
 */
OAE_API struct oae_verb_op oae_op_exchange(uint32_t offset, const uint64_t *values,
					   unsigned int words);

/**
 * oae_op_fetch_add() - add to a word, modulo 2^64, and have what it was
 * @offset: of the word
 * @add: what to add
 */
OAE_API struct oae_verb_op oae_op_fetch_add(uint32_t offset, uint64_t add);

/**
 * oae_op_cas() - write words if all of them are what they are thought to be
 * @offset: of the first
 * @expected: what they must be
 * @values: what to write
 * @words: how many, 1 to 8
 *
 * With @values the same as @expected it only compares.
 */
OAE_API struct oae_verb_op oae_op_cas(uint32_t offset, const uint64_t *expected,
				      const uint64_t *values, unsigned int words);

/* One operation on the peer's words, to its outcome: each is oae_verb() of one. */

/**
 * oae_read64() - read a word
 * @fd: of oae_open()
 * @region: the peer's
 * @offset: of the word, a multiple of 8
 * @value: out
 */
OAE_API int oae_read64(int fd, uint32_t region, uint32_t offset, uint64_t *value);

/**
 * oae_write64() - write a word
 * @fd: of oae_open()
 * @region: the peer's
 * @offset: of the word
 * @value: what to write
 */
OAE_API int oae_write64(int fd, uint32_t region, uint32_t offset, uint64_t value);

/**
 * oae_exchange() - write a word, and have what it was
 * @fd: of oae_open()
 * @region: the peer's
 * @offset: of the word
 * @value: what to write
 * @old: out: what it was; may be NULL
 */
OAE_API int oae_exchange(int fd, uint32_t region, uint32_t offset, uint64_t value, uint64_t *old);

/**
 * oae_fetch_add() - add to a word, and have what it was
 * @fd: of oae_open()
 * @region: the peer's
 * @offset: of the word
 * @add: what to add, modulo 2^64
 * @old: out: what it was; may be NULL
 */
OAE_API int oae_fetch_add(int fd, uint32_t region, uint32_t offset, uint64_t add, uint64_t *old);

/**
 * oae_cas() - compare a word and swap
 * @fd: of oae_open()
 * @region: the peer's
 * @offset: of the word
 * @expected: what it must be
 * @value: what to write then
 * @old: out: what it was; may be NULL
 *
 * Returns 1: written; 0: it was something else, nothing is changed; or -1.
 */
OAE_API int oae_cas(int fd, uint32_t region, uint32_t offset, uint64_t expected, uint64_t value,
		    uint64_t *old);

/**
 * oae_compare_and_commit() - the same of up to 8 words in a row, all or nothing
 * @fd: of oae_open()
 * @region: the peer's
 * @offset: of the first word
 * @expected: what they must be
 * @values: what to write then
 * @words: how many, 1 to 8
 * @old: out: what they were; may be NULL, may be @expected
 *
 * Returns as oae_cas() does.
 */
OAE_API int oae_compare_and_commit(int fd, uint32_t region, uint32_t offset,
				   const uint64_t *expected, const uint64_t *values,
				   unsigned int words, uint64_t *old);

/* --- words that peers may work on ------------------------------------------------ */

/**
 * oae_expose() - expose words to the peer, or with a listener to all its peers
 * @fd: of oae_open() or oae_listen()
 * @region: the number by which peers name them
 * @size: bytes, a multiple of 8; all 0 to begin with
 * @perm: OAE_PERM_READ | OAE_PERM_WRITE | OAE_PERM_ATOMIC
 *
 * Once for a descriptor, until it is closed. EADDRINUSE: the number is taken;
 * EEXIST: this one exposes already.
 */
OAE_API int oae_expose(int fd, uint32_t region, size_t size, uint32_t perm);

/**
 * oae_map() - see the words exposed here
 * @fd: of oae_expose()
 * @size: bytes of it
 *
 * Read words with atomic loads; change them with oae_local(), which heeds what
 * peers are about. A plain store is not one of the transactions.
 *
 * Returns them, or NULL with errno set.
 */
OAE_API uint64_t *oae_map(int fd, size_t size);

/**
 * oae_unmap() - undo oae_map(); the region goes when it is unmapped and closed
 * @words: of oae_map()
 * @size: as there
 */
OAE_API int oae_unmap(uint64_t *words, size_t size);

/* --- rings ------------------------------------------------------------------------- */

/*
 * A stream of transactions out of a program, tx, and into it, rx, without a system call while
 * both the program and the kernel are busy. A file with rings has no read() and write(), but
 * many links can share its rings. An object of rings is used by one thread at a time, and
 * not by a child after fork(): its pages are not there. See RINGS in oae(4).
 *
 * The positions count bytes since the rings were made, and never wrap.
 */
struct oae_rings;

/**
 * oae_ring_open() - make the rings of a descriptor, and map them
 * @fd: of oae_open(), or an open file of /dev/oae that is not attached; it stays the caller's,
 *	and is open as long as the rings are
 * @tx: bytes of the ring out, a power of two from OAE_RING_MIN to OAE_RING_MAX
 * @rx: bytes of the ring in, likewise, and at least twice max_len and two headers
 *
 * Once for a file. Returns the rings, or NULL. EINVAL: @tx or @rx is no such number; EMSGSIZE:
 * @rx is less than two transactions; EBUSY: the link is on a ring already, or the file is in
 * use for read() and write(); EEXIST: the file has rings; EOPNOTSUPP: the program or the kernel
 * has 32 bits.
 */
OAE_API struct oae_rings *oae_ring_open(int fd, size_t tx, size_t rx);

/**
 * oae_ring_close() - unmap the rings, and free the object
 * @r: of oae_ring_open()
 *
 * The rings go when the descriptor is closed. What was published and not taken then never
 * happened, and what was not passed goes to the next reader.
 */
OAE_API void oae_ring_close(struct oae_rings *r);

/**
 * oae_ring_add() - put the link of another descriptor on the rings
 * @r: the rings
 * @fd: of oae_open(); not for oae_send() and oae_recv() any more. Closing it takes the link off
 *
 * Returns the handle of the link for oae_ring_stage() and oae_chunk.link; it is never used
 * again. 0: errno says why not. EBUSY: the link is on a ring; EXDEV: it is of another network
 * namespace.
 */
OAE_API uint32_t oae_ring_add(struct oae_rings *r, int fd);

/**
 * oae_ring_link() - the handle of the link that the descriptor with the rings is attached to
 * @r: the rings
 *
 * Returns it; 0: it is not attached.
 */
OAE_API uint32_t oae_ring_link(const struct oae_rings *r);

/**
 * oae_ring_spin() - look again and again before oae_ring_wait() sleeps
 * @r: the rings
 * @us: for so long, microseconds; 0, as it is at first: not at all
 */
OAE_API void oae_ring_spin(struct oae_rings *r, unsigned int us);

/**
 * oae_ring_reserve() - room for a transaction in tx
 * @r: the rings
 * @len: bytes, 1 or more
 *
 * Returns where they go, 8-byte aligned and in one piece; the next call of this, or of
 * oae_ring_forward(), gives the same room again, unless oae_ring_stage() or
 * oae_ring_publish() comes between. NULL: EAGAIN, no room until oae_ring_ended() has given
 * outcomes; EMSGSIZE, more than the ring can ever hold; EPROTO, EMSGSIZE also: the rings stand
 * still for good, see oae_ring.error in oae(4).
 */
OAE_API void *oae_ring_reserve(struct oae_rings *r, size_t len);

/**
 * oae_ring_stage() - what was reserved is a transaction; the kernel is not told yet
 * @r: the rings
 * @link: handle of its link
 * @len: bytes of it, at most what was reserved
 * @flags: OAE_CHUNK_EXPRESS or 0
 *
 * EINVAL: nothing, or less, is reserved.
 */
OAE_API int oae_ring_stage(struct oae_rings *r, uint32_t link, size_t len, unsigned int flags);

/**
 * oae_ring_forward() - stage a transaction whose bytes are in rx, without a copy
 * @r: the rings
 * @link: handle of the link that it goes to
 * @data: its first byte, in what oae_ring_next() gave and oae_ring_done() has not passed
 * @len: bytes of it; those of several chunks in a row have their headers between them
 * @flags: OAE_CHUNK_EXPRESS or 0
 *
 * oae_ring_done() may follow at once: the library passes those bytes when the kernel has taken
 * them. EAGAIN: no room in tx; EINVAL: the bytes are not there.
 */
OAE_API int oae_ring_forward(struct oae_rings *r, uint32_t link, const void *data, size_t len,
			     unsigned int flags);

/**
 * oae_ring_flush() - publish all that is staged: one barrier for many
 * @r: the rings
 *
 * A system call only if the kernel sleeps. -1: EPROTO, EMSGSIZE, as oae_ring_reserve().
 */
OAE_API int oae_ring_flush(struct oae_rings *r);

/**
 * oae_ring_publish() - oae_ring_stage() and oae_ring_flush()
 * @r: the rings
 * @link: handle of its link
 * @len: bytes of it, at most what was reserved
 * @flags: OAE_CHUNK_EXPRESS or 0
 */
OAE_API int oae_ring_publish(struct oae_rings *r, uint32_t link, size_t len, unsigned int flags);

/**
 * oae_ring_ended() - how the next transaction of tx has ended, in the order of staging
 * @r: the rings
 * @chunk: out: its header; @result is an enum oae_result, @err 0 or why it is not committed:
 *	oae_outcome() and oae_strerror() say it in words. ENOTCONN: no such link on these rings
 *
 * Returns its bytes, which stay until the next oae_ring_reserve() or oae_ring_forward();
 * of one that was forwarded, 8 bytes: the position in rx. Its room is free now, and not before.
 * NULL: EAGAIN, none has ended; EPROTO also: the program has written over its own chunks.
 */
OAE_API const void *oae_ring_ended(struct oae_rings *r, struct oae_chunk *chunk);

/**
 * oae_ring_next() - the next transaction of rx
 * @r: the rings
 * @chunk: out: its header
 *
 * Returns its bytes, which stay until oae_ring_done(); they cannot be written to. NULL: EAGAIN,
 * there is none now; EPROTO, EMSGSIZE, as oae_ring_reserve(), when all has been given.
 */
OAE_API const void *oae_ring_next(struct oae_rings *r, struct oae_chunk *chunk);

/**
 * oae_ring_done() - the program is done with all that oae_ring_next() gave
 * @r: the rings
 *
 * A program that dies before leaves it to the next reader. A system call only if the kernel
 * waits for the room.
 */
OAE_API int oae_ring_done(struct oae_rings *r);

/**
 * enum oae_ring_event - what oae_ring_wait() and oae_ring_arm() wait for, and return
 * @OAE_RING_DATA: oae_ring_next() gives something
 * @OAE_RING_ROOM: oae_ring_reserve() gives so many bytes, once oae_ring_ended() has given all
 *	there is
 * @OAE_RING_OUTCOME: oae_ring_ended() gives something
 */
enum oae_ring_event {
	OAE_RING_DATA		= 0x01,
	OAE_RING_ROOM		= 0x02,
	OAE_RING_OUTCOME	= 0x04,
};

/**
 * oae_ring_wait() - publish what is staged, and sleep until something is there
 * @r: the rings
 * @what: OAE_RING_*, one or more
 * @room: with OAE_RING_ROOM: bytes of the transaction
 * @timeout_ms: then return anyway, milliseconds; negative: never; 0 does not sleep
 *
 * Returns the OAE_RING_* that are true, 0 after @timeout_ms, or -1. EINTR: a signal; ENOENT:
 * OAE_RING_OUTCOME alone, and nothing is under way; EMSGSIZE: @room is more than the ring can
 * ever hold; ENODEV: the port of each link is gone; EPROTO, EMSGSIZE, as oae_ring_reserve();
 * EINVAL: @what.
 */
OAE_API int oae_ring_wait(struct oae_rings *r, unsigned int what, size_t room, int timeout_ms);

/**
 * oae_ring_arm() - before poll(), of several descriptors: that the kernel wakes it
 * @r: the rings
 * @what: as for oae_ring_wait()
 * @room: as for oae_ring_wait()
 *
 * Returns as oae_ring_wait() does with @timeout_ms 0. After 0 poll() wakes: POLLIN, as long as
 * not all of rx is passed; POLLOUT, as long as half of tx is free; then oae_ring_disarm().
 */
OAE_API int oae_ring_arm(struct oae_rings *r, unsigned int what, size_t room);

/**
 * oae_ring_disarm() - after poll()
 * @r: the rings
 */
OAE_API void oae_ring_disarm(struct oae_rings *r);

/**
 * struct oae_ring_position - how far each ring is, bytes since it was made
 * @staged: tx: what oae_ring_stage() was told
 * @published: tx: what the kernel may take
 * @taken: tx: what the kernel has taken; it will have an outcome whatever the program does
 * @ended: tx: what has ended, and all before it
 * @seen: tx: what oae_ring_ended() gave
 * @filled: rx: what has been delivered
 * @next: rx: what oae_ring_next() gave
 * @passed: rx: what the kernel knows to be done with
 */
struct oae_ring_position {
	uint64_t staged;
	uint64_t published;
	uint64_t taken;
	uint64_t ended;
	uint64_t seen;
	uint64_t filled;
	uint64_t next;
	uint64_t passed;
};

/**
 * oae_ring_position() - how far each ring is
 * @r: the rings
 * @p: out
 */
OAE_API void oae_ring_position(const struct oae_rings *r, struct oae_ring_position *p);

/* --- how it is -------------------------------------------------------------------- */

/**
 * oae_status() - the link, and what has happened to it
 * @fd: of oae_open()
 * @status: out; the events in it are told once
 */
OAE_API int oae_status(int fd, struct oae_status *status);

/**
 * oae_waits() - what the link waits for, since when and until when, in numbers and in words
 * @fd: of oae_open()
 * @flags: 0: now; OAE_WAITS_LAST: when a transaction of @fd was last reversed
 * @waits: out; its text is one sentence for people
 */
OAE_API int oae_waits(int fd, unsigned int flags, struct oae_waits *waits);

/**
 * oae_waits_name() - what is waited for, in a word
 * @why: oae_waits.why
 */
OAE_API const char *oae_waits_name(unsigned int why);

/**
 * oae_get_options() - the options of a descriptor
 * @fd: of oae_open()
 * @options: out
 */
OAE_API int oae_get_options(int fd, struct oae_options *options);

/**
 * oae_set_options() - set all of them; begin with oae_get_options()
 * @fd: of oae_open()
 * @options: what they shall be
 */
OAE_API int oae_set_options(int fd, const struct oae_options *options);

/**
 * oae_state_name() - the state of a link in words
 * @state: of oae_status()
 */
OAE_API const char *oae_state_name(unsigned int state);

/**
 * oae_event_name() - an event in words
 * @event: one bit of OAE_EVENT_*
 */
OAE_API const char *oae_event_name(unsigned int event);

/* --- errors ------------------------------------------------------------------------ */

/**
 * enum oae_ending - what an error number says of the transaction
 * @OAE_COMMITTED: done, at both ends, once
 * @OAE_REVERSED: not done, and it never will be
 * @OAE_UNKNOWN: an end of the link died at the one moment at which nobody can tell
 * @OAE_NOT_YET: the outcome will be collected
 * @OAE_NOTHING: nothing was begun
 */
enum oae_ending {
	OAE_COMMITTED,
	OAE_REVERSED,
	OAE_UNKNOWN,
	OAE_NOT_YET,
	OAE_NOTHING,
};

/**
 * oae_outcome() - what an error number says of the transaction
 * @err: errno of a call that posts one, or err of its record; 0: COMMITTED
 *
 * EOVERFLOW is COMMITTED: only its result is still to be collected. Of an error
 * that the device does not have nothing can be said: UNKNOWN.
 */
OAE_API enum oae_ending oae_outcome(int err);

/**
 * oae_outcome_name() - "committed", "reversed", "unknown", "not yet known" or
 *	"nothing was begun"
 * @ending: of oae_outcome()
 */
OAE_API const char *oae_outcome_name(enum oae_ending ending);

/**
 * oae_strerror() - an error in words, as far as it concerns a transaction
 * @err: as for oae_outcome()
 *
 * Unlike strerror() it says what happened on the link. The text is constant.
 */
OAE_API const char *oae_strerror(int err);

/* --- addresses --------------------------------------------------------------------- */

/**
 * oae_parse_peer() - an address from text
 * @text: six bytes in hex, between them ":" or "-"
 * @peer: out; unchanged if -1, EINVAL
 */
OAE_API int oae_parse_peer(const char *text, unsigned char peer[OAE_PEER_LEN]);

/**
 * oae_parse_address() - where a peer is, from text
 * @text: [PORT/]MAC, [PORT/]id:HEX, or [PORT/]NAME, a name of /etc/oae/hosts (or the file that
 *	OAE_HOSTS names): its lines are NAME and one of the others; # begins a comment
 * @where: out; unchanged if -1
 *
 * Returns 0, or -1. EINVAL: no address; ENOENT: there is no such name, or no such file.
 */
OAE_API int oae_parse_address(const char *text, struct oae_address *where);

/**
 * oae_format_peer() - an address as text
 * @peer: the address
 * @text: out: as 02:0a:e0:00:00:01
 *
 * Returns @text.
 */
OAE_API char *oae_format_peer(const unsigned char peer[OAE_PEER_LEN], char text[OAE_PEER_TEXT]);

#ifdef __cplusplus
}
#endif

#endif /* OAE_H */
