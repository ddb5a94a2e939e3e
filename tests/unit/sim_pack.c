// SPDX-License-Identifier: GPL-2.0
/*
 * Packs of the simulation, and joined verbs: one transaction for the link and the harness,
 * several for their users, whose outcomes and deliveries are checked here. See sim.h.
 */
#include "sim.h"
#include "../../modoae/link/pack.h"

static char name(const struct h_event *ev)
{
	return 'A' + ev->end->who;
}

static struct sim_tx *of(struct h_event *ev, h_id id)
{
	return (struct sim_tx *)h_find(ev, id);
}

/* The whole payload of a pack. */
static void build(struct sim *w, const struct sim_tx *pack, u8 *buf)
{
	u8 *at = buf + oae_pack_head_len(pack->n);
	const struct sim_tx *tx;
	unsigned int i;

	oae_pack_begin(buf, pack->n);
	for (i = 0; i < pack->n; i++) {
		tx = &w->tx[pack->member[i] - 1];
		oae_pack_add(buf, i, tx->len);
		sim_content(w, tx, 0, tx->len, at);
		at += tx->len;
	}
}

void sim_pack_content(struct sim *w, const struct sim_tx *pack, u32 off, u32 len, u8 *buf)
{
	u8 all[SIM_MTU_MAX];

	build(w, pack, all);
	memcpy(buf, all + off, len);
}

/* A pack with the members that are given; NULL: there have been too many transactions. */
static struct sim_tx *make(struct sim *w, struct sim_end *e, const h_id *member,
			   unsigned int n)
{
	bool verbs = w->tx[member[0] - 1].kind == OAE_VERB;
	struct sim_tx *pack, *tx;
	unsigned int i;

	/* Leave some to prove that the link is open in the end. */
	if (w->ntx > w->txs - 16)
		return NULL;
	pack = &w->tx[w->ntx++];
	memset(pack, 0, sizeof(*pack));
	pack->id = w->ntx;
	pack->posted_at = w->now;
	pack->len = verbs ? 0 : oae_pack_head_len(n);
	pack->from = e->who;
	pack->kind = verbs ? OAE_VERB : OAE_PACK;
	pack->flags = verbs ? OAE_POST_JOINED : 0;
	pack->reply = sizeof(u64);
	pack->n = n;
	for (i = 0; i < n; i++) {
		tx = &w->tx[member[i] - 1];
		pack->member[i] = member[i];
		pack->len += tx->len;
		pack->reply += tx->reply - sizeof(u64);
		tx->pack = pack->id;
	}
	pack->cut = pack->len;
	sim_say(w, "  #%u %s #%u and %u more", (u32)pack->id, verbs ? "joins" : "packs",
		(u32)member[0], n - 1);
	return pack;
}

/* The first queued messages, or verbs, that go together: how many. */
static unsigned int fitting(struct h_event *ev, h_id member[SIM_PACK])
{
	u8 kind = of(ev, ev->end->queue.first)->kind;
	bool verbs = kind == OAE_VERB;
	u32 max = verbs ? oae_link_join_max(&ev->end->link) : oae_link_pack_max(&ev->end->link);
	u32 len = verbs ? 0 : OAE_PACK_HDR_LEN, reply = sizeof(u64) + OAE_REFLECT_LEN;
	const struct sim_tx *tx;
	unsigned int n = 0;
	h_id at;

	for (at = ev->end->queue.first; at && n < SIM_PACK; at = tx->next) {
		tx = of(ev, at);
		len += tx->len + (verbs ? 0 : OAE_PACK_LEN_LEN);
		reply += verbs ? tx->reply - sizeof(u64) : 0;
		if (tx->kind != kind || tx->flags || tx->alone || len > max ||
		    (verbs && reply > max))
			break;
		member[n++] = at;
	}
	return n;
}

/* As the link takes a post. */
struct h_tx *h_pack(struct h_event *ev, h_id *id)
{
	struct sim_end *e = (struct sim_end *)ev->end;
	h_id member[SIM_PACK];
	unsigned int n = fitting(ev, member), i;
	struct sim_tx *pack;

	if (n < 2 || !sim_upto(e->w, 16))
		return NULL;
	pack = make(e->w, e, member, n);
	for (i = 0; pack && i < n; i++)
		h_dequeue(ev, &ev->end->queue, id);
	if (pack)
		*id = pack->id;
	return (struct h_tx *)pack;
}

void h_dissolve(struct h_event *ev, struct h_tx *htx, h_id id, bool refused)
{
	struct sim_tx *pack = (struct sim_tx *)htx, *tx;
	unsigned int i;

	sim_say(ev->world, "  #%u is dissolved", (u32)id);
	/* It ends without an outcome. */
	pack->at_link = false;
	pack->lost = true;
	for (i = pack->n; i--;) {
		tx = of(ev, pack->member[i]);
		/* It was reversed. */
		if (tx->pack != id)
			continue;
		tx->pack = 0;
		tx->alone |= refused;
		h_requeue(ev, (struct h_tx *)tx, tx->id);
	}
}

/* A message of a pack has its outcome. */
static void member_ended(struct h_event *ev, struct sim_tx *tx, u8 outcome, int err)
{
	if (tx->ended)
		h_fail(ev, tx->id, "G3: # ends twice");
	if (outcome == OAE_REVERSED && tx->delivered)
		h_fail(ev, tx->id, "G2: # reversed after it was delivered");
	tx->pack = 0;
	tx->ended = true;
	tx->outcome = outcome;
	h_told(ev, (struct h_tx *)tx, tx->id, err);
}

void sim_pack_ended(struct h_event *ev, struct sim_tx *pack, int err)
{
	struct sim_tx *tx;
	unsigned int i;

	for (i = 0; i < pack->n; i++) {
		tx = of(ev, pack->member[i]);
		/* Unless it was reversed before. */
		if (tx->pack == pack->id)
			member_ended(ev, tx, pack->outcome, err);
	}
}

/* The pack is delivered, and with it each message, in its place. */
void sim_pack_arrived(struct h_event *ev, struct sim_tx *pack)
{
	struct sim *w = ev->world;
	struct sim_tx *tx;
	unsigned int i;

	for (i = 0; i < pack->n; i++) {
		tx = of(ev, pack->member[i]);
		if (tx->delivered)
			h_fail(ev, tx->id, "G1: # delivered twice, in a pack");
		else if (tx->id <= ev->end->last_id)
			h_fail(ev, tx->id, "G1: # delivered in a pack after one that is younger");
		if (tx->ended && tx->outcome == OAE_REVERSED)
			h_fail(ev, tx->id, "G2: # delivered in a pack, was reversed");
		tx->delivered = true;
		ev->end->last_id = tx->id;
		ev->end->unread += tx->kind == OAE_MESSAGE;
		w->delivered++;
	}
	w->packs += pack->kind == OAE_PACK;
	w->joined += pack->kind == OAE_VERB;
}

/* Which pack has these bytes? The latest, if a pack was made again. */
h_id sim_pack_whose(struct h_event *ev, const u8 *got, u32 len)
{
	u16 msg_len[OAE_PACK_MSGS];
	struct sim *w = ev->world;
	u8 said[SIM_MTU_MAX];
	u32 i;

	if (!oae_pack_parse(got, len, msg_len))
		return 0;
	for (i = w->ntx; i; i--) {
		if (w->tx[i - 1].kind != OAE_PACK || w->tx[i - 1].len != len ||
		    w->tx[i - 1].from == ev->end->who)
			continue;
		build(w, &w->tx[i - 1], said);
		if (!memcmp(said, got, len))
			return i;
	}
	h_fail(ev, 0, "G1: here is a pack that nobody sent");
	return 0;
}

/* May the pack be held? The frame says why not. */
u16 sim_pack_unfit(struct sim_end *e, const u8 *payload, u32 len)
{
	u16 msg_len[OAE_PACK_MSGS];

	if (!oae_pack_parse(payload, len, msg_len)) {
		sim_fail(e->w, "a malformed pack");
		return OAE_R_KIND;
	}
	if (sim_chance(e->w, e->w->refusals))
		return sim_upto(e->w, 2) ? OAE_R_KIND : OAE_R_BUSY;
	return 0;
}

/* A user wants a message back that is in a pack, or a joined verb: the others are queued again. */
void sim_pack_cancel(struct sim_end *e, struct h_event *ev, struct sim_tx *tx, int err)
{
	struct sim_tx *pack = of(ev, tx->pack);

	/* The peer may hold the pack as it was. */
	member_ended(ev, tx, OAE_REVERSED, err);
	sim_say(e->w, "  %c: #%u comes back", name(ev), (u32)pack->id);
	if (oae_link_take_back(&e->link, H_HANDLE(pack->id), ev->now, ev->a))
		h_fail(ev, pack->id, "# is not where its messages are");
	h_finish(ev);
}

/* At the end of a run: what became of a pack is what became of its messages. */
void sim_pack_check(struct sim *w, struct sim_tx *pack)
{
	unsigned int i;

	if (!pack->excused || pack->delivered)
		return;
	for (i = 0; i < pack->n; i++)
		w->tx[pack->member[i] - 1].excused = true;
}
