// SPDX-License-Identifier: GPL-2.0
/* The one place where the tracepoints of trace.h come into being. */

#include "base.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
