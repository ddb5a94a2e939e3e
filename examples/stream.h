/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What echo, balancer, kv and logscan share: a stream of messages from and to some peers,
 * in two manners. stream_ring.c has it by rings, stream_files.c by read and write, and
 * stream.c the options and the clock.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <oae.h>

#define STREAM_PEERS	16

/**
 * struct stream_peer - where a peer is
 * @where: its address
 * @vc: virtual channel
 */
struct stream_peer {
	struct oae_address where;
	int vc;
};

/**
 * struct stream_run - the command line
 * @role: its first word
 * @count: how many messages, -n; 0: until killed
 * @depth: how many a client has under way, -d
 * @files: by read and write, -m files
 * @spin_us: how long to look again and again before sleeping, -s
 * @peers: by number
 * @npeers: how many
 */
struct stream_run {
	const char *role;
	uint64_t count;
	unsigned int depth;
	int files;
	unsigned int spin_us;
	struct stream_peer peers[STREAM_PEERS];
	unsigned int npeers;
};

struct stream;

/**
 * struct stream_manner - a way to send and receive
 * @open: the links with all peers
 * @next: the next message, and the number of the peer that sent it; waits. Its bytes stay
 *	until @done
 * @done: the program is done with all that @next gave
 * @room: where the bytes of a message for a peer go; may wait
 * @put: send what is there. It may go out later, but not later than @next waits
 * @pass: send bytes of what @next gave
 * @close: wait until all that was sent is committed
 *
 * Each ends the program if something fails.
 */
struct stream_manner {
	struct stream *(*open)(const struct stream_run *run);
	const void *(*next)(struct stream *s, size_t *len, unsigned int *from);
	void (*done)(struct stream *s);
	void *(*room)(struct stream *s, size_t len);
	void (*put)(struct stream *s, unsigned int to, size_t len);
	void (*pass)(struct stream *s, unsigned int to, const void *data, size_t len);
	void (*close)(struct stream *s);
};

extern const struct stream_manner stream_by_ring;
extern const struct stream_manner stream_by_files;

/* stream.c */
extern const struct stream_manner *by;
void stream_options(int argc, char **argv, const char *usage, struct stream_run *run);
void stream_begin(void);
void stream_end(uint64_t messages);

#endif /* STREAM_H */
