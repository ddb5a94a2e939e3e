/* SPDX-License-Identifier: GPL-2.0 */
/*
 * oae perf: what its two ends say to each other, and what its files share.
 *
 * A session is one channel of one run of the client:
 *
 *	client  START   mode, express, size
 *	server  READY
 *	client  data    messages of that size, whose first byte is PERF_DATA
 *	server          echoes each of them, in the mode PERF_RTT
 *	client  END     all outcomes are known
 *	server  REPORT  what was delivered
 *
 * Instead of READY and REPORT the server may say REFUSED. All but data are heads
 * of PERF_HEAD_LEN bytes. A session is named by a random number, so that what an
 * earlier run has left unread is not taken for an answer.
 */
#ifndef OAE_PERF_H
#define OAE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hist.h"
#include "peer.h"

#define PERF_VERSION	1
#define PERF_HEAD_LEN	48
#define PERF_DATA	'd'	/* a head begins with another byte */
#define PERF_MAX_SIZE	262144	/* the most that the knob max_len can be */

enum perf_kind {
	PERF_START = 1,
	PERF_READY,
	PERF_END,
	PERF_REPORT,
	PERF_REFUSED,
	PERF_KIND_END
};

enum perf_mode {
	PERF_ONEWAY,		/* the server takes messages */
	PERF_RTT,		/* and sends each back */
	PERF_MODE_END
};

/* Why: of REFUSED. */
enum perf_reason {
	PERF_NO_REASON,
	PERF_VERSION_DIFFERS,
	PERF_MALFORMED,
	PERF_NO_SESSION,	/* END without START: another server, or one begun anew */
	PERF_REASON_END
};

struct perf_head {
	uint8_t version;
	uint8_t kind;		/* enum perf_kind */
	uint8_t mode;		/* enum perf_mode */
	uint8_t express;	/* 0, 1 */
	uint8_t reason;		/* enum perf_reason */
	uint32_t size;		/* bytes of each message */
	uint64_t session;
	uint64_t messages;	/* REPORT: delivered */
	uint64_t bytes;
	uint64_t echoed;	/* REPORT: echoes that were committed */
};

/* What a message is, by its bytes alone. */
enum perf_parsed {
	PERF_HEAD,		/* @h is filled in, all of it within its limits */
	PERF_IS_DATA,
	PERF_OTHER_VERSION,	/* a head; of @h only @version and, if it is there, @session */
	PERF_BAD_HEAD,		/* a head of this version, and wrong */
	PERF_STRANGE,		/* not of oae perf */
};

/* perfwire.c */
void perf_put(const struct perf_head *h, unsigned char buf[PERF_HEAD_LEN]);
enum perf_parsed perf_get(struct perf_head *h, const void *message, size_t len);
/* Data: its first byte, and as many bytes of its number as there is room for. */
void perf_data_put(void *message, size_t len, uint64_t number);
bool perf_data_is(const void *message, size_t len, uint64_t number);

struct perf_args {
	struct peer peer;
	bool server;
	unsigned int size;		/* bytes of a message */
	unsigned int depth;		/* under way on each channel */
	unsigned int vcs;		/* channels */
	unsigned int time_ms;		/* 0: no limit */
	unsigned int wait_ms;		/* deadline of each message; 0: none */
	unsigned long long count;	/* messages, or sessions; 0: no limit */
	enum perf_mode mode;
	bool express;
};

#define PERF_ERRNOS	256

/* What has become of the messages of a run. */
struct perf_tally {
	unsigned long long sent, committed, reversed, unknown;
	unsigned long long pending;	/* no outcome when it was over */
	unsigned long long echoes_missing;
	unsigned long long by_errno[PERF_ERRNOS];
	unsigned long long ns;		/* from the first write to the last commit */
	struct hist outcome;		/* of those committed, from write to outcome */
	struct hist rtt;		/* from write to echo */
};

/* What the server says of it. */
struct perf_word {
	unsigned int channels;		/* that it has reported of; all of them: complete */
	unsigned int differing;		/* of these, whose counts differ */
	unsigned long long delivered, bytes, echoed;
};

/* perfreport.c */
const char *perf_mode_name(unsigned int mode);
const char *perf_kind_name(bool express);
void perf_begin(const struct perf_args *a);
/* A line a second, of the tally then and now. */
void perf_progress(const struct perf_tally *then, const struct perf_tally *now,
		   const struct perf_args *a, unsigned long long begin_ns);
void perf_report(const struct perf_args *a, const struct perf_tally *t, const struct perf_word *w);

/* perfclient.c, perfserver.c: each returns an exit code. */
int perf_client(struct perf_args *a);
int perf_server(struct perf_args *a);

#endif /* OAE_PERF_H */
