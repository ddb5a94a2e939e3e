/* SPDX-License-Identifier: GPL-2.0 */
/* ctl: the interfaces for administrators: parameters and /proc/net/modoae. */
#ifndef OAE_CTL_H
#define OAE_CTL_H

#include "../dev/dev.h"

/* knobs.c: the parameters that are numbers or words */
void oae_knobs_init(struct oae_node *node);
int oae_knobs_check_defaults(void);

/* params.c: the other parameters, and the node that a parameter acts on */
void oae_params_init(struct oae_node *node);
int oae_params_node(struct oae_node **node, bool write);
int oae_params_start(void);
void oae_params_stop(void);

/* procfs.c */
int oae_procfs_init(struct oae_node *node);
void oae_procfs_exit(struct oae_node *node);

#endif /* OAE_CTL_H */
