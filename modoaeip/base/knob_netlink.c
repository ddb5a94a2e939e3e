// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs over generic netlink, compiled from the source of modoae, so that neither
 * module needs the other one.
 */
#include "../../modoae/base/knob_netlink.c"
