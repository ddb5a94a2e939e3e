/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, under events/modoae in tracefs.
 *
 *   oae_event	 an event, one for each line of ev_log
 *   oae_outcome the outcome of a transaction
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM modoae

#if !defined(OAE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define OAE_TRACE_H

#include <linux/tracepoint.h>

#include "base.h"

TRACE_DEFINE_ENUM(OAE_CLOSED);
TRACE_DEFINE_ENUM(OAE_SYNC_SENT);
TRACE_DEFINE_ENUM(OAE_SYNC_RECD);
TRACE_DEFINE_ENUM(OAE_OPEN);
TRACE_DEFINE_ENUM(OAE_CLOSE_SENT);
TRACE_DEFINE_ENUM(OAE_CLOSE_RECD);
TRACE_DEFINE_ENUM(OAE_EV_FRAME);
TRACE_DEFINE_ENUM(OAE_EV_SEND);
TRACE_DEFINE_ENUM(OAE_EV_POST);
TRACE_DEFINE_ENUM(OAE_EV_CANCEL);
TRACE_DEFINE_ENUM(OAE_EV_TIMER);
TRACE_DEFINE_ENUM(OAE_EV_NOTE);
TRACE_DEFINE_ENUM(OAE_EV_OUTCOME);
TRACE_DEFINE_ENUM(OAE_COMMITTED);
TRACE_DEFINE_ENUM(OAE_REVERSED);
TRACE_DEFINE_ENUM(OAE_UNKNOWN);

#define oae_show_state(state)				\
	__print_symbolic(state,				\
			 { OAE_CLOSED, "CLOSED" },	\
			 { OAE_SYNC_SENT, "SYNC_SENT" },	\
			 { OAE_SYNC_RECD, "SYNC_RECD" },	\
			 { OAE_OPEN, "OPEN" },		\
			 { OAE_CLOSE_SENT, "CLOSE_SENT" },	\
			 { OAE_CLOSE_RECD, "CLOSE_RECD" })

#define oae_show_kind(kind)				\
	__print_symbolic(kind,				\
			 { OAE_EV_FRAME, "rcv" },	\
			 { OAE_EV_SEND, "send" },	\
			 { OAE_EV_POST, "post" },	\
			 { OAE_EV_CANCEL, "cancel" },	\
			 { OAE_EV_TIMER, "timer" },	\
			 { OAE_EV_NOTE, "note" },	\
			 { OAE_EV_OUTCOME, "outcome" })

#define oae_show_outcome(outcome)			\
	__print_symbolic(outcome,			\
			 { OAE_COMMITTED, "committed" },	\
			 { OAE_REVERSED, "reversed" },	\
			 { OAE_UNKNOWN, "unknown" })

TRACE_EVENT(oae_event,
	    TP_PROTO(u64 kid, u8 kind, u8 what, u8 before, u8 after, u32 seq),
	    TP_ARGS(kid, kind, what, before, after, seq),
	    TP_STRUCT__entry(__field(u64, kid)
			     __field(u32, seq)
			     __field(u8, kind)
			     __field(u8, what)
			     __field(u8, before)
			     __field(u8, after)
			     ),
	    TP_fast_assign(__entry->kid = kid;
			   __entry->seq = seq;
			   __entry->kind = kind;
			   __entry->what = what;
			   __entry->before = before;
			   __entry->after = after;
			   ),
	    TP_printk("kid=0x%016llx event=%s what=%u state=%s->%s seq=%u",
		      __entry->kid, oae_show_kind(__entry->kind),
		      __entry->what, oae_show_state(__entry->before),
		      oae_show_state(__entry->after), __entry->seq)
);

TRACE_EVENT(oae_outcome,
	    TP_PROTO(u64 kid, u8 outcome, int err, u32 seq),
	    TP_ARGS(kid, outcome, err, seq),
	    TP_STRUCT__entry(__field(u64, kid)
			     __field(int, err)
			     __field(u32, seq)
			     __field(u8, outcome)
			     ),
	    TP_fast_assign(__entry->kid = kid;
			   __entry->err = err;
			   __entry->seq = seq;
			   __entry->outcome = outcome;
			   ),
	    TP_printk("kid=0x%016llx outcome=%s err=%d seq=%u",
		      __entry->kid, oae_show_outcome(__entry->outcome),
		      __entry->err, __entry->seq)
);

#endif /* OAE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
