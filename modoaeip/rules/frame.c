// SPDX-License-Identifier: GPL-2.0
/*
 * The frame format, the same file for both modules: neither needs the other to
 * be loaded.
 */
#include "../../modoae/link/frame.c"
