// SPDX-License-Identifier: GPL-2.0
/*
 * Setting and showing knobs, compiled from the source of modoae, so that neither
 * module needs the other one.
 */
#include "../../modoae/base/knob.c"
