/* SPDX-License-Identifier: GPL-2.0 */
/* Faults on a schedule, as the command line writes them. */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "config.h"

const char *schedule_add(struct config *c, const char *arg);
const char *schedule_check(struct config *c);

#endif /* SIM_SCHEDULE_H */
