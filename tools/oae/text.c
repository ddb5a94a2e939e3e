// SPDX-License-Identifier: GPL-2.0
/*
 * What people read. Device names and messages may hold any byte, an escape
 * sequence for the terminal included, so none of it is printed as it is.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "text.h"

void out_of_memory(void)
{
	fputs("oae: out of memory\n", stderr);
	exit(EXIT_LOCAL);
}

static void *must(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

void *alloc(size_t n, size_t size)
{
	return must(calloc(n ?: 1, size));
}

void *grow(void *p, size_t n, size_t size)
{
	return must(reallocarray(p, n ?: 1, size));
}

FILE *memory_file(char **text, size_t *len)
{
	return must(open_memstream(text, len));
}

char *copy_text(const char *text, size_t len)
{
	char *copy = alloc(len + 1, 1);

	return memcpy(copy, text, len);
}

static bool printable(char c)
{
	return c >= ' ' && c <= '~';
}

void put_safe(FILE *out, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (printable(text[i]))
			putc(text[i], out);
		else
			fprintf(out, "\\x%02x", (unsigned char)text[i]);
	}
}

const char *duration(char buf[UNIT_LEN], unsigned long long ns)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	double v = ns;
	int i = 0;

	while (i < 3 && v >= 999.5) {
		v /= 1000;
		i++;
	}
	snprintf(buf, UNIT_LEN, "%.*f %s", v >= 99.95 || !i ? 0 : v >= 9.995 ? 1 : 2, v, unit[i]);
	return buf;
}

const char *age(char buf[UNIT_LEN], unsigned long long s)
{
	if (s < 60)
		snprintf(buf, UNIT_LEN, "%llu s", s);
	else if (s < 3600)
		snprintf(buf, UNIT_LEN, "%llum%02llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, UNIT_LEN, "%lluh%02llum", s / 3600, s / 60 % 60);
	else
		snprintf(buf, UNIT_LEN, "%llud%02lluh", s / 86400, s / 3600 % 24);
	return buf;
}

const char *rate(char buf[UNIT_LEN], double v)
{
	static const char *const unit[] = { "", "k", "M", "G" };
	int i = 0;

	while (i < 3 && v >= 99999.5) {
		v /= 1000;
		i++;
	}
	snprintf(buf, UNIT_LEN, "%.*f%s/s", v < 9.995 && v > 0 && !i ? 1 : 0, v, unit[i]);
	return buf;
}

void grid_init(struct grid *g, const struct grid_col *col, unsigned int ncols)
{
	memset(g, 0, sizeof(*g));
	g->col = col;
	g->ncols = ncols;
}

/* A cell as it will be printed. */
static char *safe_copy(const char *text)
{
	char *buf = NULL;
	size_t len;
	FILE *out = memory_file(&buf, &len);

	put_safe(out, text, strlen(text));
	fclose(out);
	return must(buf);
}

void grid_row(struct grid *g, const char *const *cells)
{
	unsigned int i;

	if (g->nrows == g->room) {
		g->room = g->room * 2 + 16;
		g->cell = grow(g->cell, (size_t)g->room * g->ncols, sizeof(*g->cell));
	}
	for (i = 0; i < g->ncols; i++)
		g->cell[(size_t)g->nrows * g->ncols + i] = safe_copy(cells[i]);
	g->nrows++;
}

void grid_add(struct grid *g, ...)
{
	const char *cells[24];
	unsigned int i;
	va_list args;

	va_start(args, g);
	for (i = 0; i < g->ncols && i < 24; i++)
		cells[i] = va_arg(args, const char *);
	va_end(args);
	grid_row(g, cells);
}

/* A line of cells; @max_width cuts it off, 0 does not. */
static void print_line(const struct grid *g, FILE *out, char *const *cell, const int *width,
		       unsigned int max_width)
{
	char *line = NULL;
	size_t len;
	FILE *mem = memory_file(&line, &len);
	unsigned int i;

	for (i = 0; i < g->ncols; i++) {
		const char *text = cell ? cell[i] : g->col[i].title;

		fprintf(mem, "%s%*s", i ? "  " : "", g->col[i].right ? width[i] : -width[i], text);
	}
	fclose(mem);
	must(line);
	while (len && line[len - 1] == ' ')
		len--;
	if (max_width && len > max_width)
		len = max_width;
	fwrite(line, 1, len, out);
	putc('\n', out);
	free(line);
}

void grid_print(const struct grid *g, FILE *out, unsigned int max_rows, unsigned int max_width)
{
	int *width = alloc(g->ncols, sizeof(*width));
	unsigned int row, i, rows = g->nrows;

	if (max_rows && rows > max_rows)
		rows = max_rows;
	for (i = 0; i < g->ncols; i++) {
		width[i] = strlen(g->col[i].title);
		for (row = 0; row < rows; row++) {
			size_t len = strlen(g->cell[(size_t)row * g->ncols + i]);

			if (len > (size_t)width[i])
				width[i] = len > 256 ? 256 : len;
		}
	}
	print_line(g, out, NULL, width, max_width);
	for (row = 0; row < rows; row++)
		print_line(g, out, g->cell + (size_t)row * g->ncols, width, max_width);
	free(width);
}

void grid_free(struct grid *g)
{
	size_t i;

	for (i = 0; i < (size_t)g->nrows * g->ncols; i++)
		free(g->cell[i]);
	free(g->cell);
	memset(g, 0, sizeof(*g));
}
