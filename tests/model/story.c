// SPDX-License-Identifier: GPL-2.0
/* The way to a violation, in words. */
#include "model.h"

static const char *ltag_name(char whose, u32 ltag, char buf[16])
{
	if (!ltag)
		return "-";
	if (ltag & M_COOKIE)
		snprintf(buf, 16, "cookie%u", ltag & ~M_COOKIE);
	else
		snprintf(buf, 16, "%c%u", whose, ltag);
	return buf;
}

static const char *reason_name(u8 reason)
{
	static const char *const names[OAE_REASON_END] = {
		[OAE_R_BUSY] = "BUSY", [OAE_R_NO_HALF] = "NO_HALF",
		[OAE_R_CONFLICT] = "CONFLICT",
		[OAE_R_TOO_BIG] = "TOO_BIG", [OAE_R_KIND] = "KIND",
		[OAE_R_POLICY] = "POLICY",
	};

	return names[reason] ? names[reason] : "?";
}

/**
 * m_frame_name() - a frame in words
 * @f: the frame
 * @to: which end it goes to
 * @buf: for it
 * @len: of @buf
 *
 * Return: @buf.
 */
const char *m_frame_name(const struct m_frame *f, unsigned int to, char *buf,
			 size_t len)
{
	char src[16], dst[16];
	unsigned int n;

	n = snprintf(buf, len, "%s %s>%s tx %d rx %d", oae_opcode_name(f->opcode),
		     ltag_name(to == A ? 'b' : 'a', f->src, src),
		     ltag_name(to == A ? 'a' : 'b', f->dst, dst), (s32)f->tx,
		     (s32)f->rx);
	if (m_is_sync(f->opcode))
		n += snprintf(buf + n, len - n, " inc %llu, yours %llu",
			      (unsigned long long)f->inc,
			      (unsigned long long)f->peer_inc);
	if (m_is_sync(f->opcode) && f->have)
		n += snprintf(buf + n, len - n, ", keeps %x, last %d", f->have,
			      f->slice == M_NO_LAST ? -1 : f->slice);
	if (f->opcode >= OAE_OFFER || (f->opcode == OAE_CLOSE && !f->reason))
		n += snprintf(buf + n, len - n, " seq %d", (s32)f->seq);
	if (f->opcode == OAE_OFFER && f->kind != OAE_VOID)
		n += snprintf(buf + n, len - n, " #%u slice %u of %u",
			      M_PIECE_ID(f->piece), f->slice,
			      M_PIECE_N(f->piece));
	if (f->opcode == OAE_ACK)
		n += snprintf(buf + n, len - n, " have %x", f->have);
	if (f->kind)
		n += snprintf(buf + n, len - n, " %s",
			      f->kind == OAE_SWAP ? "SWAP" :
			      f->kind == OAE_VERB ? "VERB" : "VOID");
	if (f->reply)
		n += snprintf(buf + n, len - n,
			      f->kind == OAE_SWAP ? " gives #%u" : " word %u",
			      f->reply - (f->kind != OAE_SWAP));
	if (f->reason)
		n += snprintf(buf + n, len - n, " %s", reason_name(f->reason));
	if (f->line)
		n += snprintf(buf + n, len - n, " by line %u", f->line);
	snprintf(buf + n, len - n, "%s%s%s%s%s%s",
		 f->flags & OAE_F_VIA ? " VIA" : "",
		 f->flags & OAE_F_EXPRESS ? " EXPRESS" : "",
		 f->flags & OAE_F_LAST ? " LAST" : "",
		 f->flags & OAE_F_RESUME ? " RESUME" : "",
		 f->flags & OAE_F_WANT_DONE ? " WANT_DONE" : "",
		 f->marks & OAE_M_ANSWER ? " ANSWER" : "");
	return buf;
}

/**
 * m_act_name() - an event in words
 * @w: the world it happens to
 * @act: the event
 * @buf: for it
 * @len: of @buf
 *
 * Return: @buf.
 */
const char *m_act_name(const struct m_world *w, u16 act, char *buf, size_t len)
{
	static const char *const names[M_WHAT_END] = {
		[M_POST] = "posts", [M_POST_EXPRESS] = "posts an express",
		[M_POST_HALF] = "posts a half", [M_POST_VERB] = "posts a verb",
		[M_RESERVE] = "has the word reserved for another link",
		[M_FREE] = "has the word free again",
		[M_READ] = "reads one", [M_STALL] = "sees no progress",
		[M_MORE] = "may have more under way",
		[M_FOUND] = "finds that its path carries",
		[M_WAITED] = "has carried nothing longer for dead_ms",
		[M_ASK] = "has had no answer, and asks what is there",
		[M_REFLECT] = "has had no COMMIT, and reflects again",
		[M_AGAIN] = "asks (again)",
		[M_DEAD] = "has had no answer for dead_ms",
		[M_FORGET] = "has been down for long",
		[M_RETRY] = "has had no READY for keepalive_ms",
		[M_RETRY_HALF] = "has waited with its half for keepalive_ms",
		[M_PORT] = "loses its port", [M_CRASH] = "crashes",
		[M_KILL] = "is torn down", [M_CLOSE] = "closes the link",
		[M_SETTLE] = "settles", [M_SETTLED] = "has settled for long enough",
		[M_RENAME] = "gets another address", [M_MTU] = "gets another MTU",
		[M_WINDOW] = "gets another window",
		[M_FORGE] = "gets a forged SYNC",
		[M_OPEN] = "opens the link",
		[M_WANT] = "wants the link",
		[M_UNWANT] = "wants the link no more",
		[M_HELLO] = "hears a gateway", [M_LEAVE] = "loses its gateway",
		[M_PATH_LOOK] = "finds that there may be a path",
		[M_PATH_PROBED] = "hears a probe",
		[M_PATH_ANSWERED] = "hears that its probe is answered",
		[M_PATH_SILENT] = "has had no answer to two probes",
		[M_PATH_BACK] = "goes to the path that it prefers",
		[M_PATH_SAYS] = "hears in a probe what its peer carries",
		[M_PATH_LEFT] = "finds that its path is silent, and another is not",
		[M_CARRIER] = "has its port plugged in or out",
	};
	unsigned int who = M_ACT_END(act), arg = M_ACT_ARG(act), what;
	char text[160];

	what = M_ACT_WHAT(act);
	switch (what) {
	case M_BOTH_AGAIN:
		snprintf(buf, len, "both ask (again)");
		break;
	case M_DELIVER:
	case M_REPEAT:
	case M_OLD:
	case M_REFUSE:
	case M_LOSE:
		m_frame_name(&w->to[who].f[arg], who, text, sizeof(text));
		if (what == M_LOSE)
			snprintf(buf, len, "lost on its way to %c: %s",
				 'A' + who, text);
		else
			snprintf(buf, len, "%c receives %s%s", 'A' + who, text,
				 what == M_REPEAT ? " (which will come again)" :
				 what == M_OLD ? " (to an earlier question)" :
				 what == M_REFUSE ? " (which it refuses)" : "");
		break;
	case M_POST:
	case M_POST_EXPRESS:
	case M_POST_HALF:
	case M_POST_VERB:
		snprintf(buf, len, "%c %s: #%u", 'A' + who, names[what],
			 w->ntx + 1);
		break;
	case M_PATH_LOOK:
	case M_PATH_PROBED:
	case M_PATH_ANSWERED:
	case M_PATH_SILENT:
	case M_PATH_SAYS:
	case M_CARRIER:
		snprintf(buf, len, "%c %s, line %u", 'A' + who, names[what], arg);
		break;
	case M_HINT:
		snprintf(buf, len, "%c finds that %s of offer %d seems lost", 'A' + who,
			 arg & 1 ? "the answer" : "a frame",
			 (s32)(w->end[who].link.tx + 1 + (arg >> 1)));
		break;
	case M_FOUND:
		snprintf(buf, len, "%c %s %s", 'A' + who, names[what],
			 arg ? "what its port does" : "short frames only");
		break;
	case M_CANCEL:
		snprintf(buf, len, "%c cancels #%u", 'A' + who, arg);
		break;
	default:
		snprintf(buf, len, "%c %s", 'A' + who, names[what]);
	}
	return buf;
}

/**
 * m_end_name() - where an end stands, in words
 * @w: the world
 * @who: which end
 * @buf: for it
 * @len: of @buf
 *
 * Return: @buf.
 */
const char *m_end_name(const struct m_world *w, unsigned int who, char *buf,
		       size_t len)
{
	static const char *const offers[] = { "", " slicing", " offers",
					      " parked", " reflected",
					      " queued" };
	static const char *const holds[] = { "", " gathers", " holds", " refused",
					     " keeps", " waits" };
	static const char *const halves[] = { "", " posted", " offered",
					      " waits", " lent" };
	const struct m_end *e = &w->end[who];
	const struct oae_link *l = &e->link;
	char own[16], peer[16];
	unsigned int n;
	u32 i;

	if (!e->tag) {
		snprintf(buf, len, "%c: no link", 'A' + who);
		return buf;
	}
	n = snprintf(buf, len, "%c: %s %s/%s inc %llu/%llu tx %d rx %d",
		     'A' + who, oae_state_name(oae_link_state(l)),
		     ltag_name('a' + who, l->ltag, own),
		     ltag_name('a' + !who, l->peer.ltag, peer),
		     (unsigned long long)l->inc,
		     (unsigned long long)l->peer.inc, (s32)l->tx, (s32)l->rx);
	for (i = 1; i <= l->nlanes; i++) {
		const struct oae_lane *lane = oae_lane(l, l->tx + i);

		n += snprintf(buf + n, len - n, "%s %s#%u%s",
			      lane->state < 6 ? offers[lane->state] : " ?",
			      lane->p.kind == OAE_VOID ? "nothing for " : "",
			      (unsigned int)(uintptr_t)lane->p.handle,
			      lane->due ? " due" : "");
	}
	for (i = e->queue.first; i; i = w->tx[i - 1].next)
		n += snprintf(buf + n, len - n, " given back #%u", i);
	for (i = 0; i < l->naside; i++)
		n += snprintf(buf + n, len - n, " aside #%u",
			      (unsigned int)(uintptr_t)oae_aside(l, i)->handle);
	for (i = 1; i <= (l->pair ? l->npairs : 1u); i++) {
		const struct oae_hold *h = oae_hold_of(l, l->rx + i);

		if (h->state)
			n += snprintf(buf + n, len - n, "%s %d%s",
				      h->state < 7 ? holds[h->state] : " ?",
				      (s32)(l->rx + i), h->said ? " (said)" : "");
	}
	if (l->half.state)
		n += snprintf(buf + n, len - n, ", half #%u%s%s",
			      (unsigned int)(uintptr_t)l->swaps->half.handle,
			      l->half.state < 5 ? halves[l->half.state] : " ?",
			      l->half.crossed ? " (crossed)" : "");
	if (e->gw.known)
		n += snprintf(buf + n, len - n, ", goes %s%s, asked %u",
			      e->way.via ? "through the gateway" : "direct",
			      e->way.lost || m_way_late(l) ? " (lost)" : "",
			      e->way.asked);
	for (i = 0; e->path.begun && i < M_LINES; i++) {
		const struct oae_path *p = &e->path.ps.path[i];

		if (p->there)
			n += snprintf(buf + n, len - n, ", line %u%s%s%s%s heard %s",
				      e->path.line[i], p->up ? "" : " unplugged",
				      p->proven ? "" : " unproven",
				      e->path.ps.used == i ? " used" : "",
				      p->pmtu ? " short" : "",
				      ltag_name('a' + !who, p->heard, peer));
	}
	snprintf(buf + n, len - n, "%s%s%s%s",
		 oae_link_all_confirmed(l) ? "" : ", not confirmed",
		 l->await_done ? ", wants DONE" : "",
		 l->down ? ", down" : "", l->asked_at ? ", asks" : "");
	return buf;
}

/**
 * m_tell_world() - where both ends stand
 * @w: the world
 * @out: where to
 */
void m_tell_world(const struct m_world *w, FILE *out)
{
	char text[400];
	unsigned int i;

	for (i = A; i <= B; i++)
		fprintf(out, "          %s\n",
			m_end_name(w, i, text, sizeof(text)));
}

/* The event that, its ltags and frames called otherwise, leads there too. */
static int same_event(struct m_world *w, unsigned int weather, const u8 *want,
		      unsigned int len, u32 fresh)
{
	static struct m_world v;
	u16 acts[M_ACTS];
	u8 buf[M_PACKED];
	unsigned int i, n;
	int fair;

	n = m_enabled(w, acts);
	for (i = 0; i < n; i++)
		acts[i] = M_ACT_IN(acts[i], weather);
	w->weather = weather;
	fair = m_fair(w);
	if (fair >= 0)
		acts[n++] = fair;
	for (i = 0; i < n; i++) {
		v = *w;
		m_random_from(fresh);
		m_step(&v, acts[i]);
		if (v.why)
			continue;
		m_reduce(&v);
		if (m_pack(&v, buf) == len && !memcmp(buf, want, len))
			return acts[i];
	}
	return -1;
}

/**
 * m_tell_step() - an event, and what came of it
 * @w: the world
 * @act: the event
 * @out: where to
 */
void m_tell_step(struct m_world *w, u16 act, FILE *out)
{
	char text[240];

	fprintf(out, "  %s\n", m_act_name(w, act, text, sizeof(text)));
	m_story = out;
	m_step(w, act);
	m_story = NULL;
	m_tell_world(w, out);
	if (w->why)
		fprintf(out, "  *** %s\n", m_words(w->why, w->why_id));
}

/**
 * m_tell() - tell what happened
 * @sc: the scenario
 * @acts: the events, each as it is called in the state before it
 * @n: how many
 * @more: so many more, in fair weather
 * @weather: of which kind
 * @out: where to
 *
 * Beside the world of the events runs one in which every ltag keeps its name.
 */
void m_tell(const struct m_scenario *sc, const u16 *acts, unsigned int n,
	    unsigned int more, unsigned int weather, FILE *out)
{
	static struct m_world named, w;
	u8 buf[M_PACKED];
	unsigned int i, len;
	int act, next;

	m_init(&w, sc);
	m_init(&named, sc);
	m_reduce(&w);
	m_reduce(&named);
	m_pack(&w, buf);
	for (i = 0; i < n + more; i++) {
		u32 fresh = 1 + 10 * i;

		m_unpack(&w, sc, buf);
		w.weather = weather;
		next = i < n ? acts[i] : m_fair(&w);
		if (next < 0)
			return;
		if (i == n)
			fprintf(out, "      from here in fair weather%s:\n",
				m_weather_name(sc, weather));
		m_random_from(1000);
		m_step(&w, next);
		if (w.why) {
			/* As it is called there: the last step. */
			m_unpack(&named, sc, buf);
			fprintf(out, "      (from here on ltags have other names)\n");
			m_tell_world(&named, out);
			act = next;
			fresh = 1000;
		} else {
			m_reduce(&w);
			len = m_pack(&w, buf);
			act = same_event(&named, M_ACT_WEATHER(next), buf, len,
					 fresh);
		}
		if (act < 0) {
			fprintf(out, "      (lost the thread)\n");
			return;
		}
		fprintf(out, "%4u", i + 1);
		m_random_from(fresh);
		m_tell_step(&named, act, out);
		m_reduce(&named);
	}
}
