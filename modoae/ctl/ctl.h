/* SPDX-License-Identifier: GPL-2.0 */
/* ctl: what an administrator touches. */
#ifndef OAE_CTL_H
#define OAE_CTL_H

#include "../dev/dev.h"

/* knobs.c: the parameters that are numbers */
void oae_knobs_init(struct oae_node *node);
int oae_knobs_check_defaults(void);

/* params.c: the others, and whose all of them are */
void oae_params_init(struct oae_node *node);
int oae_params_node(struct oae_node **node, bool write);
int oae_params_start(void);
void oae_params_stop(void);

/* procfs.c */
int oae_procfs_init(struct oae_node *node);
void oae_procfs_exit(struct oae_node *node);

#endif /* OAE_CTL_H */
