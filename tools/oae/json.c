// SPDX-License-Identifier: GPL-2.0
/* JSON, of RFC 8259: whatever bytes a string holds, what is written is valid. */
#include <math.h>
#include <string.h>

#include "json.h"

void json_init(struct json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

size_t utf8_len(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n, i;

	if (!len)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n > len)
		return 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* too long for what it says, surrogates, behind the last character */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void put_string(FILE *out, const char *text, size_t len)
{
	size_t i = 0, n;

	putc('"', out);
	while (i < len) {
		n = utf8_len(text + i, len - i);
		if (!n) {
			fputs("\\ufffd", out);
			n = 1;
		} else if (n > 1) {
			fwrite(text + i, 1, n, out);
		} else if (text[i] == '"' || text[i] == '\\') {
			fprintf(out, "\\%c", text[i]);
		} else if (text[i] == '\n') {
			fputs("\\n", out);
		} else if (text[i] < ' ' || text[i] == 0x7f) {
			fprintf(out, "\\u%04x", (unsigned char)text[i]);
		} else {
			putc(text[i], out);
		}
		i += n;
	}
	putc('"', out);
}

/* Comma and key of what comes next. */
static void item(struct json *j, const char *key)
{
	if (j->comma[j->depth])
		putc(',', j->out);
	j->comma[j->depth] = true;
	if (key) {
		put_string(j->out, key, strlen(key));
		putc(':', j->out);
	}
}

static void begin(struct json *j, const char *key, char open, char end)
{
	item(j, key);
	putc(open, j->out);
	if (j->depth < JSON_DEPTH - 1)
		j->depth++;
	j->comma[j->depth] = false;
	j->end[j->depth] = end;
}

void json_array(struct json *j, const char *key)
{
	begin(j, key, '[', ']');
}

void json_object(struct json *j, const char *key)
{
	begin(j, key, '{', '}');
}

void json_close(struct json *j)
{
	putc(j->end[j->depth--], j->out);
	if (!j->depth) {
		j->comma[0] = false;
		putc('\n', j->out);
		fflush(j->out);
	}
}

void json_bytes(struct json *j, const char *key, const char *text, size_t len)
{
	item(j, key);
	put_string(j->out, text, len);
}

void json_string(struct json *j, const char *key, const char *text)
{
	json_bytes(j, key, text, strlen(text));
}

static bool is_utf8(const char *buf, size_t len)
{
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = utf8_len(buf + i, len - i);
		if (!n)
			return false;
	}
	return true;
}

void json_data(struct json *j, const char *buf, size_t len)
{
	size_t i;

	if (is_utf8(buf, len)) {
		json_bytes(j, "data", buf, len);
		return;
	}
	item(j, "hex");
	putc('"', j->out);
	for (i = 0; i < len; i++)
		fprintf(j->out, "%02x", (unsigned char)buf[i]);
	putc('"', j->out);
}

void json_number(struct json *j, const char *key, unsigned long long v)
{
	item(j, key);
	fprintf(j->out, "%llu", v);
}

void json_real(struct json *j, const char *key, double v)
{
	item(j, key);
	if (isfinite(v))
		fprintf(j->out, "%.3f", v);
	else
		fputs("null", j->out);
}

void json_bool(struct json *j, const char *key, bool v)
{
	item(j, key);
	fputs(v ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	item(j, key);
	fputs("null", j->out);
}
