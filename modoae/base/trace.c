// SPDX-License-Identifier: GPL-2.0
/* Defines the tracepoints that trace.h declares. */

#include "base.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
