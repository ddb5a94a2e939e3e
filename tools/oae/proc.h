/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the modules show in /proc/net: tables with a heading, counters, events.
 *
 * Read as what anybody might have written: lines that are not understood are left
 * out and counted; nothing is longer than its buffer. Columns are found by name,
 * so a newer module may have more.
 *
 * OAE_PROC_NET in the environment is read instead of /proc/self/net.
 */
#ifndef OAE_PROC_H
#define OAE_PROC_H

#include <stdbool.h>
#include <stddef.h>

struct json;

#define PROC_LINK	"modoae"
#define PROC_GATEWAY	"modoaeip"

/* A table, cut up: the last column takes the rest of its line. */
struct table {
	char *text;
	unsigned int ncols;
	unsigned int nrows;
	const char **col;
	const char **cell;
};

/* False: there is no such file, errno says why. */
bool table_read(struct table *t, const char *module, const char *file);
void table_free(struct table *t);
/* NULL: no such column, or the line ends before it. */
const char *table_cell(const struct table *t, unsigned int row, const char *col);
bool table_number(const struct table *t, unsigned int row, const char *col,
		  unsigned long long *v);
/* A row as members of the object that is open. */
void table_json(const struct table *t, unsigned int row, struct json *j);

/* A line of tags. */
struct link_row {
	const char *port, *peer, *state, *offer, *hold, *way, *kid;
	unsigned char mac[6];
	unsigned long long vc, rx, tx, unread, queue, rtt_us, age_s;
	/* 0: an older module */
	unsigned long long minrtt_us, lanes, window, cwnd, ssthresh, repaired, failures;
	const char *waits, *says;	/* NULL or "-": likewise, or nothing */
	unsigned long long since_ms;
};

/* The links of a dump of netlink; with OAE_PROC_NET of the file tags. */
struct links {
	struct table table;
	struct link_row *row;
	unsigned int n;
	unsigned int *at;	/* the line of each in the table */
	unsigned int bad;	/* lines that were not understood */
};

bool links_read(struct links *l);
void links_free(struct links *l);

/* A counter: its name, value and meaning. */
struct counter {
	const char *name;
	unsigned long long value;
	const char *text;
};

struct counters {
	char *text;
	struct counter *c;
	unsigned int n;
};

bool counters_read(struct counters *c, const char *module);
void counters_free(struct counters *c);
const struct counter *counter_find(const struct counters *c, const char *name);

/* An event of ev_log. */
struct event {
	unsigned long long us;
	unsigned char mac[6];
	unsigned int vc;
	unsigned long long seq;
	char kind[16];
	char what[24];
	char before[16];
	char after[16];
};

bool event_parse(const char *line, size_t len, struct event *e);
/* The whole of a file of the module, NUL behind it; NULL, errno says why not. */
char *proc_text(const char *module, const char *file, size_t *len);
bool mac_parse(const char *text, unsigned char mac[6]);

/* Says that a module is not loaded, or what else errno says of its files. */
int proc_complain(const char *module);
/* Is the module loaded? */
bool proc_loaded(const char *module);

#endif /* OAE_PROC_H */
