// SPDX-License-Identifier: GPL-2.0
/*
 * Any bytes as what comes to a gateway: an encapsulation header, a frame's outline, a
 * control message, and events of the table of nodes. What the parsers say must be
 * what doc/gateway.md says, written here once more and on its own; what they accept
 * must build to the same bytes again. The buffer ends where what may be read does.
 *
 * The input is a head of four bytes, then the rest:
 *
 *   0     what the rest is, see WHAT_*; and what is made right first, see HEAD_*
 *   1     a number of bytes for HEAD_SPLIT
 *   2, 3  bytes for HEAD_MORE
 *
 * WHAT_TABLE: records of four bytes, an event each, see table_event().
 */
#include <stdlib.h>
#include "fuzz.h"
#include "../../modoaeip/rules/claim.h"

#define WHAT_ENCAP	0	/* a datagram: header, then frame or message */
#define WHAT_FRAME	1	/* a frame from the Ethernet */
#define WHAT_CONTROL	2	/* a control message */
#define WHAT_TABLE	3
#define WHAT		0x03
#define HEAD_LENGTH	0x04	/* make the lengths right */
#define HEAD_SPLIT	0x08	/* only so many bytes can be read */
#define HEAD_MORE	0x10	/* so many bytes are elsewhere */

const size_t fuzz_head = 4, fuzz_record = 4;

static unsigned int be(const u8 *p, unsigned int n)
{
	unsigned int v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void want(const char *what, enum oaeip_bad is, enum oaeip_bad should)
{
	fuzz_say("%s: %u", what, is);
	if (is != should)
		fuzz_breach("%s says %u, and should %u (enum oaeip_bad)", what, is,
			    should);
}

/* --- the format, once more ------------------------------------------------- */

static enum oaeip_bad spec_encap(const u8 *b, size_t have, size_t total)
{
	unsigned int src, dst;

	if (have < 8 || total < have)
		return OAEIP_BAD_SHORT;
	if ((b[0] & 0xf0) != 0x10)
		return OAEIP_BAD_VERSION;
	if (b[0] != 0x11 && b[0] != 0x12)
		return OAEIP_BAD_TYPE;
	if (b[1])
		return OAEIP_BAD_FLAGS;
	src = be(b + 2, 2);
	dst = be(b + 4, 2);
	if (src < 1 || src > 64 || dst < 1 || dst > 64 || src == dst)
		return OAEIP_BAD_ZONE;
	if (8 + be(b + 6, 2) > total)
		return OAEIP_BAD_SHORT;
	return 8 + be(b + 6, 2) < total ? OAEIP_BAD_LONG : OAEIP_OK;
}

static bool spec_unicast(const u8 *m)
{
	unsigned int i, any = 0;

	for (i = 0; i < 6; i++)
		any += m[i];
	return any && m[0] % 2 == 0;
}

static enum oaeip_bad spec_outline(const u8 *b, size_t have, size_t total)
{
	size_t hdr, len;
	bool via;

	if (have < 48 || total < have)
		return OAEIP_BAD_SHORT;
	if (b[0] / 16 != 2)
		return OAEIP_BAD_VERSION;
	hdr = 48 + b[0] % 16 * 4;
	if (b[3] & 0x90)
		return OAEIP_BAD_FLAGS;
	if (b[1] < 1 || b[1] > 17)
		return OAEIP_BAD_OPCODE;
	via = b[3] & 0x20;
	if (hdr != (via ? 60 : 48))
		return OAEIP_BAD_HLEN;
	if (via && b[1] == 13)
		return OAEIP_BAD_OPCODE;
	if (!via && b[1] != 13)
		return OAEIP_BAD_VIA;
	len = hdr + be(b + 4, 2);
	if (have < hdr || total < len)
		return OAEIP_BAD_SHORT;
	if (len > 65535 || total > len)
		return OAEIP_BAD_LONG;
	if (via && (!spec_unicast(b + 48) || !spec_unicast(b + 54) ||
		    !memcmp(b + 48, b + 54, 6)))
		return OAEIP_BAD_MAC;
	return OAEIP_OK;
}

static enum oaeip_bad spec_control(const u8 *b, size_t have, size_t total)
{
	unsigned int i, n;

	if (have < 16 || total < have)
		return OAEIP_BAD_SHORT;
	if (b[0] < 1 || b[0] > 5)
		return OAEIP_BAD_OP;
	n = be(b + 2, 2);
	if (b[0] == 2 ? n < 1 || n > 150 : n != 0)
		return OAEIP_BAD_COUNT;
	if (b[1] || !be(b + 4, 4) || !be(b + 12, 2))
		return OAEIP_BAD_FIELD;
	if (b[0] != 1 && be(b + 14, 2))
		return OAEIP_BAD_FIELD;
	if (have < 16 + 8 * n)
		return OAEIP_BAD_SHORT;
	if (total > 16 + 8 * n && b[0] != 5)
		return OAEIP_BAD_LONG;
	for (i = 0, b += 16; i < n; i++, b += 8) {
		if (!spec_unicast(b))
			return OAEIP_BAD_MAC;
		if (b[6] > 2)
			return OAEIP_BAD_FLAGS;
		if (b[7])
			return OAEIP_BAD_FIELD;
	}
	return OAEIP_OK;
}

/* --- what is read is what is there, and builds to it again ------------------ */

static void try_outline(const u8 *b, size_t have, size_t total)
{
	struct oaeip_outline o;
	enum oaeip_bad bad;

	memset(&o, 0xa5, sizeof(o));
	bad = oaeip_outline_parse(&o, b, have, total);
	want("outline", bad, spec_outline(b, have, total));
	if (bad)
		return;
	if (o.opcode != b[1] || o.vc != b[2] || o.via != !!(b[3] & 0x20))
		fuzz_breach("the outline is not what the frame says");
	if (o.via ? o.via_dst != b + 48 || o.via_src != b + 54 :
		    o.via_dst || o.via_src)
		fuzz_breach("via is not where it is");
}

static void try_control(const u8 *b, size_t have, size_t total)
{
	u8 again[OAEIP_CONTROL_MAX], flags;
	struct oaeip_control c;
	enum oaeip_bad bad;
	unsigned int i;
	const u8 *mac;
	size_t len;

	memset(&c, 0xa5, sizeof(c));
	bad = oaeip_control_parse(&c, b, have, total);
	want("control", bad, spec_control(b, have, total));
	if (bad)
		return;
	memset(again, 0x5a, sizeof(again));
	len = oaeip_control_build(&c, again);
	for (i = 0; i < c.count; i++) {
		mac = oaeip_node_get(&c, i, &flags);
		oaeip_node_put(again, i, mac, flags);
	}
	if (len > total || (len < total && c.op != OAEIP_PROBE))
		fuzz_breach("built to %zu bytes, not %zu", len, total);
	if (memcmp(again, b, len))
		fuzz_breach("built to other bytes");
}

static void try_encap(const u8 *b, size_t have, size_t total)
{
	struct oaeip_encap e;
	enum oaeip_bad bad;
	u8 again[8];

	memset(&e, 0xa5, sizeof(e));
	bad = oaeip_encap_parse(&e, b, have, total);
	want("encap", bad, spec_encap(b, have, total));
	if (bad)
		return;
	oaeip_encap_build(&e, again);
	if (memcmp(again, b, sizeof(again)))
		fuzz_breach("built to other bytes");
	if (e.type == OAEIP_DATA)
		try_outline(b + 8, have - 8, e.length);
	else
		try_control(b + 8, have - 8, e.length);
}

/* A length that fits cannot be guessed. */
static void repair(u8 *b, size_t size, u8 what)
{
	size_t hdr;

	if (what == WHAT_ENCAP && size >= 8) {
		put_unaligned_be16(size - 8, b + 6);
		b += 8;
		size -= 8;
		what = (b[-8] & 15) == 2 ? WHAT_CONTROL : WHAT_FRAME;
	}
	if (what == WHAT_CONTROL && size >= 16 && b[0] == OAEIP_NODES)
		put_unaligned_be16((size - 16) / 8, b + 2);
	hdr = size ? (b[0] & 15) * 4 : 0;
	if (what == WHAT_FRAME && size >= 40 && hdr <= size)
		put_unaligned_be16(size - hdr, b + 4);
}

/* --- the table of nodes: one node, and what must always be ------------------- */

#define ZONES	4

struct table {
	struct oaeip_rules rules;
	struct oaeip_owner owner;
	struct oaeip_speaker speaker[ZONES + 2];
	u64 now;
	u64 asked;		/* when it was last claimed from another zone */
	u16 asked_of;
	u64 evidence;		/* until then, at most, something speaks for it */
};

static void breach_verdict(const struct table *t, enum oaeip_verdict v)
{
	fuzz_breach("verdict %u, which leaves zone %u, local %d", v, t->owner.zone,
		    t->owner.local);
}

/* From what to what each verdict leads. */
static bool leads(const struct table *t, const struct oaeip_owner *was,
		  const struct oaeip_owner *is, enum oaeip_verdict v)
{
	bool over = was->zone && !was->local && t->now >= was->until;
	u16 zone = over ? 0 : was->zone;

	switch (v) {
	case OAEIP_NOTHING:
	case OAEIP_OLD:
	case OAEIP_NOT_HERE:
		return is->zone == was->zone;
	case OAEIP_NEW:
		return !zone && is->zone;
	case OAEIP_REFRESHED:
		return zone && is->zone == zone;
	case OAEIP_TAKEN:
		return zone && !was->local && !was->told && is->told &&
		       is->zone != zone;
	case OAEIP_CONFLICT:
		return zone && is->zone == zone && is->until == was->until;
	case OAEIP_CLAIM_IT:
		return zone && !is->local && is->zone == zone;
	case OAEIP_OWN_CLAIMED:
		return was->local && !was->doubt && is->local && is->doubt;
	case OAEIP_KEPT:
		return was->local && was->doubt && is->local && !is->doubt &&
		       is->rival && is->rival != t->rules.mine;
	case OAEIP_GONE:
		return was->zone && !was->local && !is->zone;
	case OAEIP_LOST:
		return was->local && !is->zone;
	case OAEIP_YIELDED:
		return was->local && !is->local && is->told &&
		       is->zone && is->until > t->now;
	case OAEIP_VERDICT_END:
		break;
	}
	return false;
}

static void check_owner(struct table *t, const struct oaeip_owner *was,
			enum oaeip_verdict v)
{
	static const struct oaeip_owner blank;
	const struct oaeip_owner *o = &t->owner;

	if ((unsigned int)v >= OAEIP_VERDICT_END || !leads(t, was, o, v))
		breach_verdict(t, v);
	if (!o->zone && memcmp(o, &blank, sizeof(blank)))
		fuzz_breach("nobody's, and not blank");
	if (o->local ? o->zone != t->rules.mine || o->told :
		       o->zone == t->rules.mine || o->doubt || o->disputed)
		breach_verdict(t, v);
	if (o->disputed && (!o->doubt || !o->foe || o->foe == t->rules.mine))
		fuzz_breach("disputed by nobody");
	if (o->zone > ZONES || o->heard > t->now)
		fuzz_breach("owned by zone %u, heard %lld ms ahead", o->zone,
			    (long long)(o->heard - t->now));
	if (o->until > t->evidence)
		fuzz_breach("it lives longer than anybody said");
	if (v == OAEIP_NEW || o->zone != t->asked_of)
		t->asked = 0;
	t->asked_of = o->zone;
	if (v != OAEIP_CLAIM_IT)
		return;
	if (t->asked && t->now - t->asked < t->rules.hello_ms)
		fuzz_breach("claimed too often");
	t->asked = t->now;
}

static void says(struct table *t, u64 life)
{
	if (t->evidence < t->now + life)
		t->evidence = t->now + life;
}

/* A control message of a zone, made of an event's bytes; @was once its zone is. */
static enum oaeip_verdict hear(struct table *t, struct oaeip_owner *was,
			       const u8 *e)
{
	static const u8 flags[] = { 0, OAEIP_NODE_GONE, OAEIP_NODE_CLAIM, 0 };
	struct oaeip_speaker *s = &t->speaker[1 + e[1] % ZONES];
	u32 newest = s->serial;
	struct oaeip_control c = {
		.op = e[0] & 0x10 ? OAEIP_BYE : OAEIP_NODES,
		.inc = 1 + (e[1] >> 2) % 3,
		.serial = newest + 1 - (e[2] & 0x80 ? e[2] & 7 : 0),
		.life = 1 + e[3] * 4,
	};
	enum oaeip_hearing h;

	h = oaeip_speaker_hear(s, &c, t->now);
	if (h != OAEIP_HEAR_DEAD && s->inc != c.inc)
		fuzz_breach("heard, and of another incarnation");
	if (h == OAEIP_HEAR_NEXT && s->serial != c.serial)
		fuzz_breach("the next, and not noted");
	if (h == OAEIP_HEAR_LATE && s->serial != newest)
		fuzz_breach("late, and noted");
	if (h == OAEIP_HEAR_DEAD)
		return OAEIP_NOTHING;
	if (h == OAEIP_HEAR_NEW || c.op == OAEIP_BYE)
		oaeip_claim_zone_gone(&t->owner, s->zone);
	*was = t->owner;
	if (c.op == OAEIP_BYE)
		return OAEIP_NOTHING;
	if (!flags[e[2] & 3])
		says(t, c.life * 100);
	return oaeip_claim_nodes(&t->owner, &t->rules, s, &c, flags[e[2] & 3],
				 t->now);
}

/*
 * An event: what happens; whose it is; more of it; how much time passes before. For
 * control messages see control_hear().
 */
static void table_event(struct table *t, const u8 *e)
{
	enum oaeip_verdict v = OAEIP_NOTHING;
	struct oaeip_owner was;

	t->now += e[0] & 0x08 ? e[3] * 20 : e[3] & 1;
	was = t->owner;
	switch (e[0] & 7) {
	case 0:
		says(t, t->rules.node_life_ms);
		v = oaeip_claim_local(&t->owner, &t->rules, t->now);
		break;
	case 1:
		v = oaeip_claim_leaving(&t->owner, t->now);
		break;
	case 2:
		says(t, t->rules.data_life_ms);
		v = oaeip_claim_data(&t->owner, &t->rules, e[1] % (ZONES + 1),
				     t->now);
		break;
	case 3:
	case 4:
		v = oaeip_claim_check(&t->owner, &t->rules, t->now);
		if (t->owner.zone &&
		    oaeip_claim_due(&t->owner, &t->rules) <= t->now)
			fuzz_breach("looked at, and still due");
		break;
	default:
		v = hear(t, &was, e);
	}
	fuzz_say("%llu: event %u of %u: verdict %u; zone %u%s",
		 (unsigned long long)t->now, e[0] & 7, e[1], v, t->owner.zone,
		 t->owner.doubt ? " in doubt" : "");
	check_owner(t, &was, v);
}

static void try_table(const u8 *b, size_t size)
{
	struct table t = { .now = 1 };
	u16 z;

	if (size < 4)
		return;
	t.rules = (struct oaeip_rules){
		.mine = 1 + b[0] % ZONES,
		.hello_ms = 1 + b[1] * 20,
		.node_life_ms = 1 + b[2] * 100,
		.data_life_ms = 1 + b[3] * 100,
	};
	for (z = 1; z <= ZONES; z++)
		t.speaker[z].zone = z;
	for (b += 4, size -= 4; size >= 4; b += 4, size -= 4)
		table_event(&t, b);
}

/**
 * LLVMFuzzerTestOneInput() - libFuzzer's call: run one input
 * @data: the input
 * @size: its bytes
 *
 * Return: 0.
 */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	size_t have, total;
	u8 *buf, what;

	if (size < fuzz_head)
		return 0;
	what = data[0] & WHAT;
	total = size - fuzz_head;
	have = total;
	if (data[0] & HEAD_SPLIT && data[1] < have && what != WHAT_TABLE)
		have = data[1];
	buf = malloc(total + 1);
	memcpy(buf, data + fuzz_head, total);
	if (data[0] & HEAD_LENGTH)
		repair(buf, total, what);
	buf = realloc(buf, have + !have);
	if (data[0] & HEAD_MORE)
		total += be(data + 2, 2);

	fuzz_say("%zu bytes, %zu of them here", total, have);
	if (what == WHAT_ENCAP)
		try_encap(buf, have, total);
	else if (what == WHAT_FRAME)
		try_outline(buf, have, total);
	else if (what == WHAT_CONTROL)
		try_control(buf, have, total);
	else
		try_table(buf, have);
	free(buf);
	return 0;
}
