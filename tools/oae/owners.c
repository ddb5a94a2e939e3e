// SPDX-License-Identifier: GPL-2.0
/*
 * The owners of links, and of files that listen. The module says in
 * /proc/PID/fdinfo/N which link a file of /dev/oae is attached to. Processes come
 * and go meanwhile, and say what they like of their names.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "filter.h"
#include "json.h"
#include "owners.h"
#include "proc.h"
#include "text.h"

#define FDINFO_MAX 4096		/* bytes: the module says less than a quarter of that */

static const char *root(void)
{
	return getenv("OAE_PROC") ?: "/proc";
}

static bool is_number(const char *name)
{
	return *name && strspn(name, "0123456789") == strlen(name) && strlen(name) < 10;
}

/* The number of this namespace, as fdinfo has it. */
static unsigned long long own_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

/* A small file below a directory, as text; false: it is not there any more. */
static bool read_small(int dir, const char *name, char *text, size_t room)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, room - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* The value of "key:\tvalue" in fdinfo; NULL: there is none. */
static const char *value_of(const char *text, const char *key, char *value, size_t room)
{
	size_t len = strlen(key);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) || strncmp(line + len, ":\t", 2))
			continue;
		line += len + 2;
		len = strcspn(line, "\n");
		if (len >= room)
			return NULL;
		memcpy(value, line, len);
		value[len] = 0;
		return value;
	}
	return NULL;
}

static bool parse_fdinfo(const char *text, unsigned long long netns, struct owner *o)
{
	unsigned long long v;
	char word[64];

	if (!value_of(text, "oae", word, sizeof(word)))
		return false;
	o->listens = !strcmp(word, "listening");
	if (!o->listens && strcmp(word, "attached"))
		return false;
	if (!value_of(text, "netns", word, sizeof(word)) || !number(word, &v) || v != netns)
		return false;
	if (!value_of(text, "vc", word, sizeof(word)))
		return false;
	if (o->listens && !strcmp(word, "*"))
		o->vc = -1;
	else if (number(word, &v) && v <= 255)
		o->vc = v;
	else
		return false;
	return value_of(text, "port", o->port, sizeof(o->port)) &&
	       value_of(text, "peer", o->peer, sizeof(o->peer)) &&
	       (mac_parse(o->peer, o->mac) || (o->listens && !strcmp(o->peer, "*")));
}

static void add(struct owners *all, const struct owner *o)
{
	if (!(all->n & (all->n + 1)))
		all->o = grow(all->o, 2 * (size_t)all->n + 1, sizeof(*all->o));
	all->o[all->n++] = *o;
}

/* A file that a process has open, if it is one of ours. */
static void look_at_file(struct owners *all, int proc, struct owner *o, const char *fd,
			 unsigned long long netns)
{
	char path[32], target[64], text[FDINFO_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "fd/%s", fd);
	n = readlinkat(proc, path, target, sizeof(target) - 1);
	if (n < 0)
		return;
	target[n] = 0;
	if (!strstr(target, "/oae"))
		return;
	snprintf(path, sizeof(path), "fdinfo/%s", fd);
	if (!read_small(proc, path, text, sizeof(text)) || !parse_fdinfo(text, netns, o))
		return;
	o->fd = atoi(fd);
	if (!read_small(proc, "comm", o->command, sizeof(o->command)))
		strcpy(o->command, "?");
	o->command[strcspn(o->command, "\n")] = 0;
	add(all, o);
}

static void look_at_process(struct owners *all, int proc, const char *pid,
			    unsigned long long netns)
{
	struct owner o = { .pid = atoi(pid) };
	struct dirent *entry;
	int fd;
	DIR *dir;

	fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		all->hidden += errno == EACCES || errno == EPERM;
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (is_number(entry->d_name))
			look_at_file(all, proc, &o, entry->d_name, netns);
	closedir(dir);
}

void owners_read(struct owners *all)
{
	unsigned long long netns = own_netns();
	struct dirent *entry;
	DIR *dir = opendir(root());
	int proc;

	memset(all, 0, sizeof(*all));
	while (dir && (entry = readdir(dir))) {
		if (!is_number(entry->d_name))
			continue;
		proc = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (proc < 0)
			continue;
		look_at_process(all, proc, entry->d_name, netns);
		close(proc);
	}
	if (dir)
		closedir(dir);
}

void owners_free(struct owners *all)
{
	free(all->o);
	memset(all, 0, sizeof(*all));
}

bool owner_has(const struct owner *o, const struct link_row *l)
{
	return !o->listens && o->vc == (int)l->vc && !memcmp(o->mac, l->mac, 6) &&
	       !strcmp(o->port, l->port);
}

bool owner_listens(const struct owner *o, const struct filter *f)
{
	return o->listens && f->state < 0 &&
	       (!f->port || *o->port == '*' || !strcmp(f->port, o->port)) &&
	       (f->vc < 0 || o->vc < 0 || f->vc == o->vc) &&
	       (*o->peer == '*' || filter_peer(f, o->mac, f->vc < 0 ? 0 : f->vc));
}

char *owners_text(const struct owners *all, const struct link_row *l)
{
	size_t len = 0, room = 1;
	char *text = copy_text("", 0);
	unsigned int i;

	for (i = 0; i < all->n; i++) {
		const struct owner *o = &all->o[i];

		if (!owner_has(o, l))
			continue;
		room += sizeof(o->command) + 16;
		text = grow(text, room, 1);
		len += snprintf(text + len, room - len, "%s%s/%u", len ? ", " : "", o->command,
				o->pid);
	}
	if (len)
		return text;
	free(text);
	return copy_text("-", 1);
}

void owner_json(const struct owner *o, struct json *j)
{
	json_object(j, NULL);
	json_number(j, "pid", o->pid);
	json_number(j, "fd", o->fd);
	json_string(j, "command", o->command);
	json_close(j);
}

void owners_json(const struct owners *all, const struct link_row *l, struct json *j)
{
	unsigned int i;

	json_array(j, "owners");
	for (i = 0; i < all->n; i++) {
		const struct owner *o = &all->o[i];

		if (!owner_has(o, l))
			continue;
		owner_json(o, j);
	}
	json_close(j);
}
