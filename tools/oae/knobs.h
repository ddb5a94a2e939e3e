/* SPDX-License-Identifier: GPL-2.0 */
/* Knobs of either module: showing and setting them. */
#ifndef OAE_KNOBS_H
#define OAE_KNOBS_H

#include <argp.h>

/* A family, and its commands for knobs. */
struct knob_family {
	const char *family;
	const char *module;
	unsigned char get;
	unsigned char set;
};

extern const struct knob_family link_knobs;
extern const struct knob_family gateway_knobs;

/* KNOB=VALUE; an error ends the program. */
void setting_arg(const char *arg, struct argp_state *state);
/* KNOB; an error ends the program. */
void knob_arg(const char *arg, struct argp_state *state);

/* Of each knob, as the module shows it; of none if the module is not loaded. */
void knobs_each(const struct knob_family *f,
		void (*fn)(const char *name, const char *value, const char *takes));

/* Each returns an exit code. Without names: all of them. */
int knobs_get(const struct knob_family *f, char *const *name, unsigned int n);
int knobs_set(const struct knob_family *f, char *const *setting, unsigned int n);

#endif /* OAE_KNOBS_H */
