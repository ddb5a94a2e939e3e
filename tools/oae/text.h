/* SPDX-License-Identifier: GPL-2.0 */
/* What people read: text that is safe for a terminal, units, aligned columns. */
#ifndef OAE_TEXT_H
#define OAE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints what may hold anything: but for what the locale can print as \xNN. */
void put_safe(FILE *out, const char *text, size_t len);

/* Times and rates as people write them, into @buf, which is returned. */
#define UNIT_LEN 24
const char *duration(char buf[UNIT_LEN], unsigned long long ns);
const char *age(char buf[UNIT_LEN], unsigned long long seconds);
const char *rate(char buf[UNIT_LEN], double per_second);

/* A column of a grid: its title, and whether it holds numbers. */
struct grid_col {
	const char *title;
	bool right;
};

/* Rows of cells, printed in columns as wide as the widest cell. */
struct grid {
	const struct grid_col *col;
	unsigned int ncols;
	unsigned int nrows;
	unsigned int room;
	char **cell;
};

void grid_init(struct grid *g, const struct grid_col *col, unsigned int ncols);
void grid_row(struct grid *g, const char *const *cells);
/* The same, the cells one by one: as many as there are columns, 24 at most. */
void grid_add(struct grid *g, ...);
void grid_print(const struct grid *g, FILE *out, unsigned int max_rows, unsigned int max_width);
/* The same; what is long in the last column goes on in the next line before column @max. */
void grid_print_wrapped(const struct grid *g, FILE *out, unsigned int max);
void grid_free(struct grid *g);

/* malloc and friends that end the program instead of failing. */
__attribute__((noreturn)) void out_of_memory(void);
void *alloc(size_t n, size_t size);
void *grow(void *p, size_t n, size_t size);
char *copy_text(const char *text, size_t len);
FILE *memory_file(char **text, size_t *len);

#endif /* OAE_TEXT_H */
