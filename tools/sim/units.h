/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers as people write and read them: 10M, 1.5ms, 2%. */
#ifndef SIM_UNITS_H
#define SIM_UNITS_H

#include "oae_types.h"

bool units_number(const char *s, u64 *v);
bool units_milli(const char *s, u64 *v);
bool units_time(const char *s, u64 *ns);
bool units_chance(const char *s, u64 *chance);

#define UNITS_TEXT	32

const char *units_time_text(u64 ns, char text[UNITS_TEXT]);
const char *units_count_text(u64 n, char text[UNITS_TEXT]);

#endif /* SIM_UNITS_H */
