/* SPDX-License-Identifier: GPL-2.0 */
/* What programs read: a writer of JSON, on one line as `ip -j` has it. */
#ifndef OAE_JSON_H
#define OAE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define JSON_DEPTH 8

/* Where it is written, and whether a comma is due at each depth. */
struct json {
	FILE *out;
	unsigned int depth;
	bool comma[JSON_DEPTH];
	char end[JSON_DEPTH];
};

/*
 * Of each: @key NULL for an element of an array. The outermost close() ends the
 * line and flushes it.
 */
void json_init(struct json *j, FILE *out);
void json_array(struct json *j, const char *key);
void json_object(struct json *j, const char *key);
void json_close(struct json *j);
void json_string(struct json *j, const char *key, const char *text);
void json_bytes(struct json *j, const char *key, const char *text, size_t len);
/* data: text, or where it is no UTF-8 hex: digits. */
void json_data(struct json *j, const char *buf, size_t len);
void json_number(struct json *j, const char *key, unsigned long long v);
void json_real(struct json *j, const char *key, double v);
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);

/* Bytes at @text that begin a UTF-8 character, 0: they do not. */
size_t utf8_len(const char *text, size_t len);

#endif /* OAE_JSON_H */
