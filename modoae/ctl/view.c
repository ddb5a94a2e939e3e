// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of a link and of a neighbour: a row for each, in the order of the columns of
 * /proc/net/modoae. A field is a column there, and an attribute of netlink.
 */

#include <linux/seq_file.h>
#include <net/netlink.h>

#include "../../include/uapi/oae_netlink.h"
#include "ctl.h"

enum field_kind {
	FIELD_TEXT,	/* const char * */
	FIELD_MAC,
	FIELD_HEX,	/* u64, 16 digits; with 0x if the column has room for it */
	FIELD_NUMBER,	/* u8, u32 or u64 */
	FIELD_US,	/* u64, ns; the column has us */
	FIELD_MS,	/* likewise ms */
};

/* By what a column divides a number. */
static const u32 field_unit[] = {
	[FIELD_NUMBER] = 1,
	[FIELD_US] = NSEC_PER_USEC,
	[FIELD_MS] = NSEC_PER_MSEC,
};

#define FIELD(_attr, _kind, _width, _title, _view, _member)			\
	{ _attr, FIELD_##_kind, sizeof_field(struct _view, _member), _width,	\
	  offsetof(struct _view, _member), _title }

const struct oae_field oae_link_fields[] = {
	FIELD(OAE_NL_LINK_PORT, TEXT, -15, "port", oae_tag_view, port),
	FIELD(OAE_NL_LINK_VC, NUMBER, 3, "vc", oae_tag_view, vc),
	FIELD(OAE_NL_LINK_STATE, TEXT, -10, "state", oae_tag_view, state),
	FIELD(OAE_NL_LINK_OFFER, TEXT, -7, "offer", oae_tag_view, offer),
	FIELD(OAE_NL_LINK_HOLD, TEXT, -8, "hold", oae_tag_view, hold),
	FIELD(OAE_NL_LINK_PEER, MAC, -17, "peer", oae_tag_view, peer),
	FIELD(OAE_NL_LINK_WAY, TEXT, -6, "way", oae_tag_view, way),
	FIELD(OAE_NL_LINK_RX, NUMBER, 10, "rx", oae_tag_view, rx),
	FIELD(OAE_NL_LINK_TX, NUMBER, 10, "tx", oae_tag_view, tx),
	FIELD(OAE_NL_LINK_UNREAD, NUMBER, 6, "unread", oae_tag_view, unread),
	FIELD(OAE_NL_LINK_QUEUE, NUMBER, 5, "queue", oae_tag_view, queue),
	FIELD(OAE_NL_LINK_RTT, US, 8, "rtt_us", oae_tag_view, rtt),
	FIELD(OAE_NL_LINK_MIN_RTT, US, 9, "minrtt_us", oae_tag_view, min_rtt),
	FIELD(OAE_NL_LINK_KID, HEX, -18, "kid", oae_tag_view, kid),
	FIELD(OAE_NL_LINK_AGE, NUMBER, 8, "age_s", oae_tag_view, age),
	FIELD(OAE_NL_LINK_LANES, NUMBER, 5, "lanes", oae_tag_view, lanes),
	FIELD(OAE_NL_LINK_WINDOW, NUMBER, 6, "window", oae_tag_view, window),
	FIELD(OAE_NL_LINK_CWND, NUMBER, 4, "cwnd", oae_tag_view, cwnd),
	FIELD(OAE_NL_LINK_SSTHRESH, NUMBER, 8, "ssthresh", oae_tag_view, ssthresh),
	FIELD(OAE_NL_LINK_REPAIRED, NUMBER, 8, "repaired", oae_tag_view, repaired),
	FIELD(OAE_NL_LINK_FAILURES, NUMBER, 8, "failures", oae_tag_view, failures),
	FIELD(OAE_NL_LINK_WAITS, TEXT, -8, "waits", oae_tag_view, word),
	FIELD(OAE_NL_LINK_SINCE, MS, 8, "since_ms", oae_tag_view, waits.since),
	FIELD(OAE_NL_LINK_UNTIL, MS, 8, "until_ms", oae_tag_view, waits.until),
	FIELD(OAE_NL_LINK_UNREAD_BYTES, NUMBER, 12, "unread_bytes", oae_tag_view, waits.bytes),
	FIELD(OAE_NL_LINK_IDLE, NUMBER, 8, "idle_ms", oae_tag_view, waits.idle),
	FIELD(OAE_NL_LINK_SAYS, TEXT, 0, "says", oae_tag_view, says),
	{ OAE_NL_LINK_PAD },
};

const struct oae_field oae_neighbour_fields[] = {
	FIELD(OAE_NL_NEIGHBOUR_ID, HEX, -16, "id", oae_neigh_view, id),
	FIELD(OAE_NL_NEIGHBOUR_PORT, TEXT, -15, "port", oae_neigh_view, port),
	FIELD(OAE_NL_NEIGHBOUR_ADDRESS, MAC, -17, "mac", oae_neigh_view, where.mac),
	FIELD(OAE_NL_NEIGHBOUR_MTU, NUMBER, 5, "mtu", oae_neigh_view, where.mtu),
	FIELD(OAE_NL_NEIGHBOUR_HEARD, NUMBER, 8, "heard_ms", oae_neigh_view, heard),
	FIELD(OAE_NL_NEIGHBOUR_INC, HEX, -16, "inc", oae_neigh_view, inc),
	{ OAE_NL_NEIGHBOUR_PAD },
};

static u64 field_number(const struct oae_field *f, const void *at)
{
	if (f->size == sizeof(u8))
		return *(const u8 *)at;
	return f->size == sizeof(u32) ? *(const u32 *)at : *(const u64 *)at;
}

/* Print the line of what has these fields; NULL: their titles. */
void oae_fields_show(const struct oae_field *f, struct seq_file *m, const void *view)
{
	for (; f->title; f++) {
		const void *at = view + f->at;

		if (!view)
			seq_printf(m, "%*s", f->width, f->title);
		else if (f->kind == FIELD_TEXT)
			seq_printf(m, "%*s", f->width, *(const char *const *)at);
		else if (f->kind == FIELD_MAC)
			seq_printf(m, "%pM", at);
		else if (f->kind == FIELD_HEX)
			seq_printf(m, "%s%016llx", f->width < -16 ? "0x" : "", *(const u64 *)at);
		else
			seq_printf(m, "%*llu", f->width,
				   div_u64(field_number(f, at), field_unit[f->kind]));
		seq_putc(m, f[1].title ? ' ' : '\n');
	}
}

/* Put the attributes of what has these fields into a message. False: they do not fit. */
bool oae_fields_put(const struct oae_field *f, struct sk_buff *skb, const void *view)
{
	const struct oae_field *pad = f;
	int err = 0;

	while (pad->title)
		pad++;
	for (; !err && f->title; f++) {
		const void *at = view + f->at;

		if (f->kind == FIELD_TEXT)
			err = nla_put_string(skb, f->attr, *(const char *const *)at);
		else if (f->size == sizeof(u64))
			err = nla_put_64bit(skb, f->attr, f->size, at, pad->attr);
		else
			err = nla_put(skb, f->attr, f->size, at);
	}
	return !err;
}
