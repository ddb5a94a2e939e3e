// SPDX-License-Identifier: GPL-2.0
/*
 * The frame format, compiled from the source of modoae, so that neither module
 * needs the other one.
 */
#include "../../modoae/link/frame.c"
