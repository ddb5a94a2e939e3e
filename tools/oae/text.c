// SPDX-License-Identifier: GPL-2.0
/*
 * What people read. Device names and messages may hold any byte, an escape
 * sequence for the terminal included, so only letters and signs are printed as they are.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

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

/*
 * Bytes of the character that begins here, if the locale has it and it can be seen: what has
 * no width and is no letter turns text around, or hides it. Otherwise 0. @columns: its width.
 */
static size_t letter(const char *text, size_t len, unsigned int *columns)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, text, len, &state);
	int width = n && n <= len ? wcwidth(c) : -1;

	if (width < 0 || !iswprint(c) || (!width && !iswalpha(c)))
		return 0;
	*columns = width;
	return n;
}

void put_safe(FILE *out, const char *text, size_t len)
{
	unsigned int columns;
	size_t i = 0, n;

	while (i < len) {
		n = letter(text + i, len - i, &columns);
		if (n)
			fwrite(text + i, 1, n, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)text[i]);
		i += n ?: 1;
	}
}

/* Of text that is safe: bytes of as much as fits into @max columns, and how many it takes. */
static size_t fit(const char *text, unsigned int max, unsigned int *columns)
{
	size_t len = strlen(text), i = 0, n;
	unsigned int width = 1;

	for (*columns = 0; i < len; i += n, *columns += width) {
		n = letter(text + i, len - i, &width) ?: 1;
		if (*columns + width > max)
			break;
	}
	return i;
}

static unsigned int columns_of(const char *text)
{
	unsigned int columns;

	fit(text, ~0U, &columns);
	return columns;
}

static void put_cell(FILE *out, const char *text, unsigned int width, bool right)
{
	unsigned int columns = columns_of(text);
	int blanks = width > columns ? width - columns : 0;

	fprintf(out, "%*s%s%*s", right ? blanks : 0, "", text, right ? 0 : blanks, "");
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
static void print_line(const struct grid *g, FILE *out, char *const *cell,
		       const unsigned int *width, unsigned int max_width)
{
	char *line = NULL;
	size_t len;
	FILE *mem = memory_file(&line, &len);
	unsigned int i;

	for (i = 0; i < g->ncols; i++) {
		fputs(i ? "  " : "", mem);
		put_cell(mem, cell ? cell[i] : g->col[i].title, width[i], g->col[i].right);
	}
	fclose(mem);
	must(line);
	if (max_width)
		len = fit(line, max_width, &i);
	while (len && line[len - 1] == ' ')
		len--;
	fwrite(line, 1, len, out);
	putc('\n', out);
	free(line);
}

/* Each column as wide as its widest cell, up to @most. */
static unsigned int *widths(const struct grid *g, unsigned int rows, unsigned int most)
{
	unsigned int *width = alloc(g->ncols, sizeof(*width)), row, i;

	for (i = 0; i < g->ncols; i++) {
		width[i] = strlen(g->col[i].title);
		for (row = 0; row < rows; row++) {
			unsigned int columns = columns_of(g->cell[(size_t)row * g->ncols + i]);

			if (columns > width[i])
				width[i] = columns > most ? most : columns;
		}
	}
	return width;
}

void grid_print(const struct grid *g, FILE *out, unsigned int max_rows, unsigned int max_width)
{
	unsigned int row, rows = max_rows && max_rows < g->nrows ? max_rows : g->nrows;
	unsigned int *width = widths(g, rows, 256);

	print_line(g, out, NULL, width, max_width);
	for (row = 0; row < rows; row++)
		print_line(g, out, g->cell + (size_t)row * g->ncols, width, max_width);
	free(width);
}

/* From column @at on, at @indent if a word does not fit before column @max. */
static void put_wrapped(FILE *out, const char *text, unsigned int at, unsigned int indent,
			unsigned int max)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + len + 1 > max) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		if (at > indent)
			putc(' ', out);
		fwrite(text, 1, len, out);
		at += len + (at > indent);
		text += len + !!text[len];
	}
	putc('\n', out);
}

void grid_print_wrapped(const struct grid *g, FILE *out, unsigned int max)
{
	unsigned int *width = widths(g, g->nrows, max / 4), last = g->ncols - 1, row, i, at, indent;

	for (i = 0, indent = 0; i < last; i++)
		indent += width[i] + 2;
	for (row = 0; row <= g->nrows; row++) {
		for (i = 0, at = 0; i < last; i++) {
			const char *text = row ? g->cell[(size_t)(row - 1) * g->ncols + i] :
						 g->col[i].title;

			put_cell(out, text, width[i], g->col[i].right);
			fputs("  ", out);
			at += 2 + (columns_of(text) > width[i] ? columns_of(text) : width[i]);
		}
		/* A cell that is too wide has its line alone. */
		if (at > indent)
			fprintf(out, "\n%*s", (int)indent, "");
		put_wrapped(out, row ? g->cell[(size_t)(row - 1) * g->ncols + last] :
				       g->col[last].title, indent, indent, max);
	}
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
