/* SPDX-License-Identifier: GPL-2.0 */
/* The administrator's interface: parameters and /proc. */
#ifndef OAEIP_CTL_H
#define OAEIP_CTL_H

#include "../zone/zone.h"

/* knobs.c: the parameters */
void oaeip_knobs_init(struct oaeip_gw *gw);
int oaeip_knobs_start(void);
void oaeip_knobs_stop(void);

/* procfs.c */
int oaeip_procfs_init(struct oaeip_gw *gw);
void oaeip_procfs_exit(struct oaeip_gw *gw);

/* netlink.c */
int oaeip_netlink_init(void);
void oaeip_netlink_exit(void);

#endif /* OAEIP_CTL_H */
