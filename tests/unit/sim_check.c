// SPDX-License-Identifier: GPL-2.0
/*
 * What transactions of the simulation say, and what their users hear; what must
 * be so is in tests/harness. See sim.h.
 */
#include "sim.h"

static char name(const struct h_event *ev)
{
	return 'A' + ev->end->who;
}

static struct sim_end *here(const struct h_event *ev)
{
	return (struct sim_end *)ev->end;
}

/*
 * What a transaction says. No two are alike, and no two words of one, so any
 * mixture of slices shows. The first word is the id.
 */
void sim_content(struct sim *w, const struct sim_tx *tx, u32 off, u32 len, u8 *buf)
{
	u64 word = 0;
	u32 i;

	if (tx->kind == OAE_PACK) {
		sim_pack_content(w, tx, off, len, buf);
		return;
	}
	for (i = off; i < off + len; i++) {
		if (i == off || !(i & 7))
			word = htobe64(i < 8 ? tx->id :
				       (tx->id << 32 | i >> 3) *
				       0x9e3779b97f4a7c15ULL);
		buf[i - off] = ((const u8 *)&word)[i & 7];
	}
}

void h_fail(struct h_event *ev, u64 id, const char *why)
{
	char text[SIM_LINE];

	h_text(text, sizeof(text), why, id);
	sim_fail(ev->world, "%c: %s", name(ev), text);
	ev->stop = true;
}

struct h_tx *h_find(struct h_event *ev, h_id id)
{
	struct sim *w = ev->world;

	return id && id <= w->ntx ? (struct h_tx *)&w->tx[id - 1] : NULL;
}

static struct sim_slot *slots(struct h_event *ev, u32 seq)
{
	return ((struct sim *)ev->world)->slot[ev->end->who][h_lane(seq)];
}

void h_keep(struct h_event *ev, unsigned int slice)
{
	struct sim_slot *s = &slots(ev, ev->seq)[slice];
	const struct sim_pkt *p = ev->raw;

	s->len = ev->f->length;
	memcpy(s->data, p->buf + ev->f->hdr_len, s->len);
}

u64 h_hash(struct h_event *ev, u32 seq, unsigned int slice)
{
	const struct sim_slot *s = &slots(ev, seq)[slice];

	return oae_slice_hash(s->data, s->len, slice);
}

void h_drop(struct h_event *ev)
{
	if (h_verb_here(ev))
		sim_verb_drop(here(ev), ev->seq);
}

/* Whose bytes these are; they must be all of its. */
static h_id whose(struct h_event *ev, const u8 *got, u32 len, u8 kind)
{
	static u8 said[OAE_MAX_SLICES * SIM_MTU_MAX];
	u64 id = len < sizeof(id) ? 0 : get_unaligned_be64(got);
	struct sim_tx *tx;

	if (kind == OAE_PACK)
		return sim_pack_whose(ev, got, len);
	tx = (struct sim_tx *)h_find(ev, id);

	if (!tx) {
		h_fail(ev, 0, "G1: here is what nobody sent");
		return 0;
	}
	sim_content(ev->world, tx, 0, tx->len, said);
	if (tx->kind != kind || tx->len != len || memcmp(got, said, len)) {
		h_fail(ev, id, "G1: # is altered");
		return 0;
	}
	return id;
}

h_id h_whose(struct h_event *ev, unsigned int n, u8 kind)
{
	static u8 got[OAE_MAX_SLICES * SIM_MTU_MAX];
	const struct sim_slot *s = slots(ev, ev->seq);
	u32 len = 0;

	for (; n; n--, s++) {
		memcpy(got + len, s->data, s->len);
		len += s->len;
	}
	return whose(ev, got, len, kind);
}

/* The peer's half, or the answer to a verb. */
h_id h_answer(struct h_event *ev, struct h_tx *tx, h_id id)
{
	struct sim_tx *verb = (struct sim_tx *)tx;
	const struct sim_pkt *p = ev->raw;
	const u8 *more = p->buf + ev->f->hdr_len + OAE_REFLECT_LEN;
	u16 len = ev->f->length - OAE_REFLECT_LEN;
	unsigned int i;

	if (tx->kind == OAE_SWAP)
		return whose(ev, more, len, OAE_SWAP);
	if (len != verb->reply) {
		h_fail(ev, id, "#: an answer of another length");
		return 0;
	}
	for (i = 0; i < len / sizeof(u64); i++) {
		verb->got[i] = get_unaligned_be64(more + i * sizeof(u64));
		if (verb->got[i] != verb->answer[i])
			h_fail(ev, id, "#: another answer");
	}
	return 1;
}

void h_arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id)
{
	struct sim *w = ev->world;

	sim_say(w, "  %c: #%u %s", name(ev), (u32)id,
		op == OAE_OP_DELIVER ? "delivered" :
		op == OAE_OP_UNPACK ? "unpacked" :
		op == OAE_OP_APPLY ? "applied" : "taken");
	if (h_several(tx)) {
		sim_pack_arrived(ev, (struct sim_tx *)tx);
	} else {
		w->delivered++;
		w->swaps += op == OAE_OP_TAKE;
		ev->end->unread += op == OAE_OP_DELIVER;
	}
	if (op == OAE_OP_APPLY)
		sim_verb_apply(here(ev), ev->seq, (struct sim_tx *)tx);
}

/* What is refused for good has its reason in it, or its length. */
static void check_refused(struct h_event *ev, const struct sim_tx *tx, int err)
{
	switch (err) {
	case EOPNOTSUPP:
	case ENXIO:
	case ERANGE:
	case EACCES:
	case EBADMSG:
		if (!tx->refusal || err != sim_verb_errno(tx))
			h_fail(ev, tx->id, "# refused, and not for this reason");
		break;
	case EMSGSIZE:
		/* A half of any length, and a verb if it is to be refused so. */
		if ((tx->kind == OAE_VERB && tx->refusal != OAE_R_TOO_BIG &&
		     tx->len <= OAE_MIN_MTU - OAE_HDR_LEN) ||
		    (tx->kind == OAE_SWAP &&
		     tx->len <= OAE_MIN_MTU - OAE_HDR_LEN - OAE_REFLECT_LEN))
			h_fail(ev, tx->id, "# is not too big");
	}
}

void h_told(struct h_event *ev, struct h_tx *htx, h_id id, int err)
{
	static const char *const said[] = { "COMMITTED", "REVERSED", "UNKNOWN" };
	struct sim_tx *tx = (struct sim_tx *)htx;
	struct sim *w = ev->world;

	sim_say(w, "  %c: #%u %s %s", name(ev), (u32)id, said[tx->outcome],
		err ? strerror(err) : "");
	tx->err = err;
	tx->ended_at = w->now;
	if (h_several(htx)) {
		sim_pack_ended(ev, tx, err);
		return;
	}
	w->outcomes[tx->outcome]++;
	if (tx->outcome == OAE_REVERSED)
		check_refused(ev, tx, err);
}

void h_noted(struct h_event *ev, u8 note)
{
	struct sim *w = ev->world;

	sim_say(w, "  %c: note %s", name(ev), oae_note_name(note));
	w->notes[note]++;
}

static struct h_event at(struct sim *w, unsigned int who)
{
	struct sim_end *e = &w->end[who];

	return (struct h_event){
		.world = w, .end = (struct h_end *)e,
		.peer = (struct h_end *)&w->end[!who],
		/* Room is for so many transactions, and each may have been a pack. */
		.rcvbuf = (e->rcvbuf + 1) * (e->cfg.pack ? SIM_PACK : 1) - 1,
		.max_len = e->cfg.max_len,
	};
}

/* What must be so after every event. */
void sim_check(struct sim *w)
{
	struct h_event ev;
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		ev = at(w, i);
		h_check(&ev);
		sim_words_check(&w->end[i]);
	}
}

/* Nothing under way: each end OPEN and idle, or without a tag. */
bool sim_settled(const struct sim *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++)
		if (!w->tx[i].ended && !w->tx[i].lost)
			return false;
	return h_idle((const struct h_end *)&w->end[A]) &&
	       h_idle((const struct h_end *)&w->end[B]);
}

/* What must be so at the end, once settled and both ends have talked. */
void sim_check_end(struct sim *w)
{
	struct h_event ev;
	unsigned int i;

	for (i = w->ntx; i--;) {
		if (h_several((struct h_tx *)&w->tx[i]))
			sim_pack_check(w, &w->tx[i]);
		ev = at(w, w->tx[i].from);
		h_check_tx(&ev, (struct h_tx *)&w->tx[i], i + 1);
	}
	for (i = 0; i < 2; i++) {
		ev = at(w, i);
		h_check_owed(&ev);
	}
}
