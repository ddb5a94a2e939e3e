// SPDX-License-Identifier: GPL-2.0
/* Reading what the modules show in /proc/net. See proc.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "netlink.h"
#include "proc.h"
#include "text.h"

#define MAX_BYTES	(64U << 20)	/* of a file: more is not read */
#define MAX_COLS	64
#define NS_A_MS		1000000
#define MAX_NUMBER	20		/* digits of 64 bits */

static const char *root(void)
{
	return getenv("OAE_PROC_NET") ?: "/proc/self/net";
}

bool proc_loaded(const char *module)
{
	char path[512];

	return snprintf(path, sizeof(path), "%s/%s", root(), module) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

int proc_complain(const char *module)
{
	/* It is not there, or goes while it is read. */
	if (errno == ENOENT || errno == EIO)
		return complain_not_loaded(module);
	return complain_file(errno, module);
}

/* In one go, since the module shows a table anew with every read. */
static char *read_all(int fd, size_t *len)
{
	size_t room = 1 << 16, n = 0;
	char *text = alloc(room + 1, 1);
	ssize_t got;

	for (;;) {
		if (n == room) {
			if (room >= MAX_BYTES)
				break;
			room *= 2;
			text = grow(text, room + 1, 1);
		}
		got = read(fd, text + n, room - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return NULL;
		}
		if (!got)
			break;
		n += got;
	}
	text[n] = 0;
	*len = n;
	return text;
}

char *proc_text(const char *module, const char *file, size_t *len)
{
	char path[512], *text;
	size_t i;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s/%s", root(), module, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = read_all(fd, len);
	close(fd);
	for (i = 0; text && i < *len; i++)
		if (!text[i])
			text[i] = '?';
	return text;
}

/* The next line, its end made NUL; NULL: no more. */
static char *next_line(char **rest)
{
	char *line = *rest;

	if (!line || !*line)
		return NULL;
	*rest = strchr(line, '\n');
	if (*rest)
		*(*rest)++ = 0;
	return line;
}

/* The next word, its end made NUL; NULL: no more. */
static char *next_word(char **rest)
{
	char *word;

	*rest += strspn(*rest, " \t");
	if (!**rest)
		return NULL;
	word = *rest;
	*rest += strcspn(*rest, " \t");
	if (**rest)
		*(*rest)++ = 0;
	return word;
}

/* What is left of a line, without blanks around it. */
static char *last_words(char *rest)
{
	size_t len;

	rest += strspn(rest, " \t");
	len = strlen(rest);
	while (len && isblank((unsigned char)rest[len - 1]))
		rest[--len] = 0;
	return len ? rest : NULL;
}

/* Digits and nothing else, of 64 bits. */
static bool digits(const char *text, unsigned long long *v)
{
	size_t len = strlen(text);
	char *end;

	if (!len || len > MAX_NUMBER || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*v = strtoull(text, &end, 10);
	return !*end && !errno;
}

static void table_row(struct table *t, char *line, unsigned int *room)
{
	const char **cell;
	unsigned int i;

	if (t->nrows == *room) {
		*room = *room * 2 + 16;
		t->cell = grow(t->cell, (size_t)*room * t->ncols, sizeof(*t->cell));
	}
	cell = t->cell + (size_t)t->nrows * t->ncols;
	for (i = 0; i + 1 < t->ncols; i++)
		cell[i] = next_word(&line);
	cell[i] = last_words(line);
	if (cell[0])
		t->nrows++;
}

/* Cuts up t->text. */
static void table_cut(struct table *t)
{
	char *rest, *line, *word;
	unsigned int room = 0;

	t->col = alloc(MAX_COLS, sizeof(*t->col));
	rest = t->text;
	line = next_line(&rest);
	while (line && t->ncols < MAX_COLS && (word = next_word(&line)))
		t->col[t->ncols++] = word;
	while (t->ncols && (line = next_line(&rest)))
		table_row(t, line, &room);
}

bool table_read(struct table *t, const char *module, const char *file)
{
	size_t len;

	memset(t, 0, sizeof(*t));
	t->text = proc_text(module, file, &len);
	if (t->text)
		table_cut(t);
	return t->text;
}

void table_free(struct table *t)
{
	free(t->text);
	free(t->col);
	free(t->cell);
	memset(t, 0, sizeof(*t));
}

const char *table_cell(const struct table *t, unsigned int row, const char *col)
{
	unsigned int i;

	for (i = 0; i < t->ncols; i++)
		if (!strcmp(t->col[i], col))
			return t->cell[(size_t)row * t->ncols + i];
	return NULL;
}

bool table_number(const struct table *t, unsigned int row, const char *col,
		  unsigned long long *v)
{
	const char *cell = table_cell(t, row, col);

	return cell && digits(cell, v);
}

/* Columns that hold words, whatever stands in them: a device may be named 7. */
static bool is_words(const char *col)
{
	static const char *const words[] = {
		"port", "state", "offer", "hold", "peer", "way", "kid",
		"address", "route", "mac", "where", "by", "to", "used", "waits",
		"says",
	};
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i], col))
			return true;
	return false;
}

void table_json(const struct table *t, unsigned int row, struct json *j)
{
	unsigned long long v;
	unsigned int i;

	for (i = 0; i < t->ncols; i++) {
		const char *cell = t->cell[(size_t)row * t->ncols + i];
		bool words = is_words(t->col[i]);

		if (!cell || (!words && !strcmp(cell, "-")))
			json_null(j, t->col[i]);
		else if (!words && digits(cell, &v))
			json_number(j, t->col[i], v);
		else
			json_string(j, t->col[i], cell);
	}
}

bool mac_parse(const char *text, unsigned char mac[6])
{
	unsigned int i;

	for (i = 0; i < 6; i++, text += 3) {
		char two[3] = { text[0], text[0] ? text[1] : 0, 0 };

		if (!isxdigit((unsigned char)two[0]) || !isxdigit((unsigned char)two[1]) ||
		    text[2] != (i < 5 ? ':' : 0))
			return false;
		mac[i] = strtoul(two, NULL, 16);
	}
	return true;
}

/* A column that older modules do not have. */
static unsigned long long newer_number(const struct table *t, unsigned int row, const char *col)
{
	unsigned long long v;

	return table_number(t, row, col, &v) ? v : 0;
}

static bool link_parse(const struct table *t, unsigned int row, struct link_row *l)
{
	l->port = table_cell(t, row, "port");
	l->peer = table_cell(t, row, "peer");
	l->state = table_cell(t, row, "state");
	l->offer = table_cell(t, row, "offer");
	l->hold = table_cell(t, row, "hold");
	l->way = table_cell(t, row, "way");
	l->kid = table_cell(t, row, "kid");
	l->lanes = newer_number(t, row, "lanes");
	l->window = newer_number(t, row, "window");
	l->cwnd = newer_number(t, row, "cwnd");
	l->ssthresh = newer_number(t, row, "ssthresh");
	l->minrtt_us = newer_number(t, row, "minrtt_us");
	l->repaired = newer_number(t, row, "repaired");
	l->failures = newer_number(t, row, "failures");
	l->waits = table_cell(t, row, "waits");
	l->since_ms = newer_number(t, row, "since_ms");
	l->says = table_cell(t, row, "says");
	return l->port && l->peer && l->state && l->offer && l->hold && l->way && l->kid &&
	       mac_parse(l->peer, l->mac) &&
	       table_number(t, row, "vc", &l->vc) && l->vc < 256 &&
	       table_number(t, row, "rx", &l->rx) &&
	       table_number(t, row, "tx", &l->tx) &&
	       table_number(t, row, "unread", &l->unread) &&
	       table_number(t, row, "queue", &l->queue) &&
	       table_number(t, row, "rtt_us", &l->rtt_us) &&
	       table_number(t, row, "age_s", &l->age_s);
}

/* A column that older modules do not have; @unit: that of the column, in the kernel's. */
static void newer_put(FILE *out, const struct nlattr *attr, unsigned long long unit)
{
	if (attr)
		fprintf(out, " %llu", attr_number(attr) / unit);
	else
		fputs(" -", out);
}

static void newer_text(FILE *out, const struct nlattr *attr)
{
	fprintf(out, " %s", attr ? attr_text(attr) : "-");
}

/* A link of a dump as a line of tags, so that both are read in one way. */
static void link_line(const struct nlattr *const *attrs, void *data)
{
	unsigned char mac[6] = { 0 };

	attr_mac(attrs[OAE_NL_LINK_PEER], mac);
	fprintf(data, "%s %llu %s %s %s %02x:%02x:%02x:%02x:%02x:%02x %s",
		attr_text(attrs[OAE_NL_LINK_PORT]), attr_number(attrs[OAE_NL_LINK_VC]),
		attr_text(attrs[OAE_NL_LINK_STATE]), attr_text(attrs[OAE_NL_LINK_OFFER]),
		attr_text(attrs[OAE_NL_LINK_HOLD]), mac[0], mac[1], mac[2], mac[3], mac[4],
		mac[5], attr_text(attrs[OAE_NL_LINK_WAY]));
	fprintf(data, " %llu %llu %llu %llu %llu",
		attr_number(attrs[OAE_NL_LINK_RX]), attr_number(attrs[OAE_NL_LINK_TX]),
		attr_number(attrs[OAE_NL_LINK_UNREAD]), attr_number(attrs[OAE_NL_LINK_QUEUE]),
		attr_number(attrs[OAE_NL_LINK_RTT]) / 1000);
	newer_put(data, attrs[OAE_NL_LINK_MIN_RTT], 1000);
	fprintf(data, " 0x%016llx %llu", attr_number(attrs[OAE_NL_LINK_KID]),
		attr_number(attrs[OAE_NL_LINK_AGE]));
	newer_put(data, attrs[OAE_NL_LINK_LANES], 1);
	newer_put(data, attrs[OAE_NL_LINK_WINDOW], 1);
	newer_put(data, attrs[OAE_NL_LINK_CWND], 1);
	newer_put(data, attrs[OAE_NL_LINK_SSTHRESH], 1);
	newer_put(data, attrs[OAE_NL_LINK_REPAIRED], 1);
	newer_put(data, attrs[OAE_NL_LINK_FAILURES], 1);
	newer_text(data, attrs[OAE_NL_LINK_WAITS]);
	newer_put(data, attrs[OAE_NL_LINK_SINCE], NS_A_MS);
	newer_put(data, attrs[OAE_NL_LINK_UNTIL], NS_A_MS);
	newer_put(data, attrs[OAE_NL_LINK_UNREAD_BYTES], 1);
	newer_put(data, attrs[OAE_NL_LINK_IDLE], 1);
	newer_text(data, attrs[OAE_NL_LINK_SAYS]);
	fputc('\n', data);
}

static bool links_dump(struct table *t)
{
	struct refused why;
	struct netlink n;
	size_t len;
	FILE *out;

	memset(t, 0, sizeof(*t));
	errno = netlink_try(&n, OAE_NL_FAMILY);
	if (errno)
		return false;
	out = open_memstream(&t->text, &len);
	if (out) {
		fputs("port vc state offer hold peer way rx tx unread queue rtt_us minrtt_us kid "
		      "age_s lanes window cwnd ssthresh repaired failures waits since_ms until_ms "
		      "unread_bytes idle_ms says\n", out);
		netlink_talk(&n, netlink_request(&n, OAE_NL_LINK_GET, true), link_line, out, &why);
		fclose(out);
		errno = why.err;
	}
	netlink_close(&n);
	if (errno || !out) {
		table_free(t);
		return false;
	}
	table_cut(t);
	return true;
}

static int compare_links(const void *a, const void *b)
{
	const struct link_row *x = *(const struct link_row *const *)a;
	const struct link_row *y = *(const struct link_row *const *)b;
	int d = strcmp(x->port, y->port) ?: memcmp(x->mac, y->mac, 6);

	d = d ?: (x->vc > y->vc) - (x->vc < y->vc);
	return d ?: (x > y) - (x < y);
}

static bool same_link(const struct link_row *x, const struct link_row *y)
{
	return x->vc == y->vc && !memcmp(x->mac, y->mac, 6) && !strcmp(x->port, y->port);
}

/* A table that grows while it is walked may show a link twice: the first one stays. */
static void links_once(struct links *l)
{
	struct link_row **sorted = alloc(l->n, sizeof(*sorted));
	unsigned int i, kept = 0;

	for (i = 0; i < l->n; i++)
		sorted[i] = &l->row[i];
	qsort(sorted, l->n, sizeof(*sorted), compare_links);
	for (i = 1; i < l->n; i++)
		if (same_link(sorted[i - 1], sorted[i]))
			sorted[i]->kid = NULL;
	for (i = 0; i < l->n; i++) {
		if (!l->row[i].kid)
			continue;
		l->at[kept] = l->at[i];
		l->row[kept++] = l->row[i];
	}
	l->n = kept;
	free(sorted);
}

bool links_read(struct links *l)
{
	unsigned int i;
	bool there;

	memset(l, 0, sizeof(*l));
	there = getenv("OAE_PROC_NET") ? table_read(&l->table, PROC_LINK, "tags") :
					 links_dump(&l->table);
	if (!there)
		return false;
	l->row = alloc(l->table.nrows, sizeof(*l->row));
	l->at = alloc(l->table.nrows, sizeof(*l->at));
	for (i = 0; i < l->table.nrows; i++) {
		if (link_parse(&l->table, i, &l->row[l->n]))
			l->at[l->n++] = i;
		else
			l->bad++;
	}
	links_once(l);
	return true;
}

void links_free(struct links *l)
{
	table_free(&l->table);
	free(l->row);
	free(l->at);
	memset(l, 0, sizeof(*l));
}

bool counters_read(struct counters *c, const char *module)
{
	unsigned int room = 0;
	char *rest, *line;
	size_t len;

	memset(c, 0, sizeof(*c));
	c->text = proc_text(module, "stats", &len);
	if (!c->text)
		return false;
	rest = c->text;
	while ((line = next_line(&rest))) {
		struct counter one = { .name = next_word(&line) };
		char *value = one.name ? next_word(&line) : NULL;
		char *text = value ? last_words(line) : NULL;

		if (!value || !digits(value, &one.value))
			continue;
		if (text && *text == '#')
			text += 1 + strspn(text + 1, " ");
		one.text = text ?: "";
		if (c->n == room) {
			room = room * 2 + 64;
			c->c = grow(c->c, room, sizeof(*c->c));
		}
		c->c[c->n++] = one;
	}
	return true;
}

void counters_free(struct counters *c)
{
	free(c->text);
	free(c->c);
	memset(c, 0, sizeof(*c));
}

const struct counter *counter_find(const struct counters *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (!strcmp(c->c[i].name, name))
			return &c->c[i];
	return NULL;
}

/* Copies a word that fits. */
static bool word_into(char *to, size_t size, const char *word)
{
	size_t len = strlen(word);

	if (len >= size)
		return false;
	memcpy(to, word, len + 1);
	return true;
}

/* 7.331922: digits, point, six digits. */
static bool time_parse(char *text, unsigned long long *us)
{
	char *point = strchr(text, '.');
	unsigned long long s, frac;

	if (!point || strlen(point + 1) != 6)
		return false;
	*point = 0;
	if (!digits(text, &s) || !digits(point + 1, &frac) || s > ~0ULL / 1000000 - 1)
		return false;
	*us = s * 1000000 + frac;
	return true;
}

/* 0x and 16 hex digits: vc, and the peer's address. */
static bool kid_parse(const char *text, struct event *e)
{
	unsigned long long kid;
	unsigned int i;

	if (strlen(text) != 18 || strncmp(text, "0x", 2) ||
	    strspn(text + 2, "0123456789abcdefABCDEF") != 16)
		return false;
	kid = strtoull(text + 2, NULL, 16);
	e->vc = kid >> 56;
	for (i = 0; i < 6; i++)
		e->mac[i] = kid >> (40 - 8 * i);
	return true;
}

/* time kid kind [what] before -> after seq N */
bool event_parse(const char *line, size_t len, struct event *e)
{
	char buf[256], *rest = buf, *word[10];
	unsigned int n = 0, at;

	if (len >= sizeof(buf))
		return false;
	memcpy(buf, line, len);
	buf[len] = 0;
	while (n < 10 && (word[n] = next_word(&rest)))
		n++;
	if (n != 8 && n != 9)
		return false;
	at = n - 5;
	memset(e, 0, sizeof(*e));
	return time_parse(word[0], &e->us) && kid_parse(word[1], e) &&
	       word_into(e->kind, sizeof(e->kind), word[2]) &&
	       (n == 8 || word_into(e->what, sizeof(e->what), word[3])) &&
	       word_into(e->before, sizeof(e->before), word[at]) &&
	       !strcmp(word[at + 1], "->") &&
	       word_into(e->after, sizeof(e->after), word[at + 2]) &&
	       !strcmp(word[at + 3], "seq") && digits(word[at + 4], &e->seq);
}
