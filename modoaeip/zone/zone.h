/* SPDX-License-Identifier: GPL-2.0 */
/* Serving and standing by, the zones, and periodic messages. */
#ifndef OAEIP_ZONE_H
#define OAEIP_ZONE_H

#include "../net/net.h"

/* watch.c: addresses and devices that come and go */
extern struct notifier_block oaeip_netdev_nb;
int oaeip_watch_addresses(void);
void oaeip_unwatch_addresses(void);

/* zone.c: the zones, serving or standing by */
int oaeip_gwips_exchange(struct oaeip_gw *gw, struct oaeip_addrs **addrs,
			 unsigned int *n);
int oaeip_port_set(struct oaeip_gw *gw, const char *name);
void oaeip_port_gone(struct oaeip_gw *gw);
int oaeip_shutdown_exchange(struct oaeip_gw *gw, bool *shut);
int oaeip_reconfigure(struct oaeip_gw *gw);
void oaeip_zone_halt(struct oaeip_gw *gw);
void oaeip_zone_setup(struct oaeip_gw *gw);
void oaeip_zone_stop(struct oaeip_gw *gw);
void oaeip_zone_end(struct oaeip_gw *gw);
void oaeip_zone_unload(void);

/* serve.c: the work that sends periodic messages and announcements */
void oaeip_serve_setup(struct oaeip_gw *gw);
void oaeip_serve_start(struct oaeip_gw *gw);
void oaeip_serve_bye(struct oaeip_gw *gw);
void oaeip_serve_stop(struct oaeip_gw *gw);
void oaeip_serve_refresh(struct oaeip_gw *gw);

/* port.c: the zone's Ethernet device */
int oaeip_port_init(void);
int oaeip_port_make(struct oaeip_gw *gw, const char *name,
		    struct oaeip_port **port);
struct oaeip_port *oaeip_port_exchange(struct oaeip_gw *gw,
				       struct oaeip_port *port);
void oaeip_port_hush(struct oaeip_gw *gw);
void oaeip_port_hushed(struct oaeip_gw *gw);
void oaeip_port_free(struct oaeip_port *port);
int oaeip_port_print(struct oaeip_gw *gw, char *buf, size_t size);

#endif /* OAEIP_ZONE_H */
