/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, under events/modoae in tracefs.
 *
 *   oae_event	 an event, one for each line of ev_log: @word is the opcode of a
 *		 frame, the name of a note or of an outcome
 *   oae_outcome the outcome of a transaction, and why: an errno
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM modoae

#if !defined(OAE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define OAE_TRACE_H

#include <linux/etherdevice.h>
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

/* Longer than every name of a note, an opcode, an outcome. */
#define OAE_TRACE_WORD	16

/*
 * The types of a record are C's own: who traces a kernel without BTF knows no others.
 *
 * Which link: the number of the namespace, as in /proc/PID/ns/net, the port's name,
 * the peer and its channel. Words are copied, so that whatever reads the record, or
 * filters it, has them; they are padded, since a histogram compares all of the array.
 * That costs only who traces.
 */
#define OAE_TRACE_LINK					\
	__field(unsigned long long, kid)		\
	__field(unsigned int, netns)			\
	__array(char, port, IFNAMSIZ)			\
	__array(unsigned char, peer, ETH_ALEN)		\
	__field(unsigned char, vc)

#define oae_assign_link(port_, kid_) do {				\
	__entry->kid = (kid_);						\
	__entry->netns = (port_)->node->net->ns.inum;			\
	memcpy(__entry->port, (port_)->name, IFNAMSIZ);			\
	u64_to_ether_addr(kid_, __entry->peer);				\
	__entry->vc = (kid_) >> 56;					\
} while (0)

TRACE_EVENT(oae_event,
	    TP_PROTO(const struct oae_port *at, u64 kid, u8 kind, u8 what,
		     u8 before, u8 after, u32 seq),
	    TP_ARGS(at, kid, kind, what, before, after, seq),
	    TP_STRUCT__entry(OAE_TRACE_LINK
			     __field(unsigned int, seq)
			     __field(unsigned char, kind)
			     __field(unsigned char, what)
			     __field(unsigned char, before)
			     __field(unsigned char, after)
			     __array(char, word, OAE_TRACE_WORD)
			     ),
	    TP_fast_assign(oae_assign_link(at, kid);
			   __entry->seq = seq;
			   __entry->kind = kind;
			   __entry->what = what;
			   __entry->before = before;
			   __entry->after = after;
			   strscpy_pad(__entry->word,
				       oae_evlog_word(kind, what),
				       OAE_TRACE_WORD);
			   ),
	    TP_printk("netns=%u port=%s peer=%pM vc=%u event=%s word=%s state=%s->%s seq=%u",
		      __entry->netns, __entry->port, __entry->peer,
		      __entry->vc, oae_show_kind(__entry->kind), __entry->word,
		      oae_show_state(__entry->before),
		      oae_show_state(__entry->after), __entry->seq)
);

TRACE_EVENT(oae_outcome,
	    TP_PROTO(const struct oae_port *at, u64 kid, u8 outcome, int err,
		     u32 seq),
	    TP_ARGS(at, kid, outcome, err, seq),
	    TP_STRUCT__entry(OAE_TRACE_LINK
			     __field(int, err)
			     __field(unsigned int, seq)
			     __field(unsigned char, outcome)
			     __array(char, word, OAE_TRACE_WORD)
			     ),
	    TP_fast_assign(oae_assign_link(at, kid);
			   __entry->err = err;
			   __entry->seq = seq;
			   __entry->outcome = outcome;
			   strscpy_pad(__entry->word,
				       oae_evlog_word(OAE_EV_OUTCOME, outcome),
				       OAE_TRACE_WORD);
			   ),
	    TP_printk("netns=%u port=%s peer=%pM vc=%u outcome=%s err=%d seq=%u",
		      __entry->netns, __entry->port, __entry->peer,
		      __entry->vc, __entry->word, __entry->err, __entry->seq)
);

#endif /* OAE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
