// SPDX-License-Identifier: GPL-2.0
/* A link and its paths as one (conn.h): an event asks the rules of both, in this order. */
#include "../../modoae/link/conn.h"
#include "three_paths.h"

static struct oae_conn c;
static unsigned int carried_out;	/* ops, in the midst of the event */
static u64 at;				/* time of the event */
static unsigned int asked;		/* what the own path carries */

/* The shell carries out the ops so far. */
static void carry_out(struct oae_actions *some)
{
	carried_out += some->nops;
	some->nops = 0;
	some->done = 0;
}

static void own_mtu(struct oae_conn *some)
{
	assert_ptr_equal(some, &c);
	asked++;
	oae_link_set_mtu(&l, 1280, now, &a);
}

static void begin(void)
{
	clear();
	a.full = carry_out;
	carried_out = 0;
	asked = 0;
	at = oae_conn_begin(&c, &l, &ps, now);
}

static void end(void)
{
	oae_conn_end(&c);
}

/* The paths that a frame of the event goes by. */
static unsigned int goes_by(u8 opcode)
{
	const struct oae_frame f = { .opcode = opcode };

	return oae_conn_out(&c, &f);
}

/* A frame comes by a path, and the link takes it. */
static void take(unsigned int i, struct oae_frame f)
{
	begin();
	assert_true(oae_conn_heard(&c, i, &f, now, &a));
	oae_conn_rcv(&c, &f, 1, now, &a);
	end();
}

static struct oae_frame path_frame(u8 role, u64 nonce)
{
	return (struct oae_frame){
		.opcode = OAE_PATH, .path = { .role = role, .nonce = nonce },
	};
}

/* Both ends take paths, and the peer has resolved. */
static struct oae_frame resolved_with_paths(void)
{
	return BUT(resolved(), f.sync.caps = OAE_CAPS_PATHS);
}

PATH_TEST(test_begins)
{
	port_down();
	c = (struct oae_conn){ .back = 2, .turned = 3, .own_mtu = own_mtu };
	begin();
	assert_ptr_equal(c.link, &l);
	assert_ptr_equal(c.paths, &ps);
	assert_null(c.own_mtu);
	assert_int_equal(c.before, OAE_SYNC_SENT);
	assert_int_equal(c.back, -1);
	assert_int_equal(c.turned, 0);
}

/* A link that has its own path alone: all is as without paths. */
PATH_TEST(test_alone)
{
	struct oae_frame f = slice(0, OAE_F_LAST);

	clear();
	/* It looks to its time itself. */
	assert_int_equal(oae_conn_begin(&c, &l, NULL, now - 10 * MS), now - 10 * MS);
	assert_true(oae_conn_heard(&c, OAE_PATH_OWN, &f, now, &a));
	oae_conn_rcv(&c, &f, 1, now, &a);
	oae_conn_end(&c);
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(goes_by(OAE_REFLECT), 1 << OAE_PATH_OWN);
	assert_int_equal(goes_by(OAE_SYNC), 1 << OAE_PATH_OWN);
}

/* An answer goes back by the path of what it answers; what the timer reflects again goes by all. */
PATH_TEST(test_answers_go_back)
{
	take(2, slice(0, OAE_F_LAST));
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(goes_by(OAE_REFLECT), 1 << 2);
	begin();
	assert_int_equal(goes_by(OAE_REFLECT), 1);
	l.timer.reflects = 1;
	assert_int_equal(goes_by(OAE_REFLECT), ALL);
}

PATH_TEST(test_not_believed)
{
	struct oae_frame f = slice(0, OAE_F_LAST);

	ps.path[1].proven = false;
	begin();
	assert_false(oae_conn_heard(&c, 1, &f, now, &a));
	assert_int_equal(c.back, -1);
	ps.path[1].proven = true;
	assert_true(oae_conn_heard(&c, 1, &f, now, &a));
	assert_int_equal(c.back, 1);
}

/* What resolves a link says by which path; what is offered anew is as long as that carries. */
PATH_TEST(test_resolves)
{
	struct oae_frame f;

	ps.path[2].mtu = 1000;
	port_down();
	f = resolved();
	begin();
	assert_true(oae_conn_heard(&c, 2, &f, now, &a));
	assert_int_equal(l.mtu.here, 1000);
	oae_conn_rcv(&c, &f, 1, now, &a);
	end();
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(ps.used, 2);
	assert_int_equal(c.turned, 1);
	/* Nothing of that was left to be done by the caller in the end. */
	assert_true(carried_out);
}

/* A SYNC of the freeze that names nobody resolves nothing: it asks, perhaps elsewhere. */
PATH_TEST(test_resolves_nothing)
{
	struct oae_frame f = BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0);

	ps.path[2].mtu = 1000;
	port_down();
	begin();
	assert_true(oae_conn_heard(&c, 2, &f, now, &a));
	assert_int_equal(l.mtu.here, 1500);
}

/* Nor does a path by which an answer comes to an open link. */
PATH_TEST(test_open_keeps_length)
{
	l.senior = true;
	ps.path[2].mtu = 1000;
	take(2, slice(0, OAE_F_LAST));
	assert_int_equal(l.mtu.here, 1500);
	assert_int_equal(l.state, OAE_OPEN);
}

/*
 * If the peer takes no paths, the junior follows the senior, and then carries what that path does:
 * with a freeze.
 */
PATH_TEST(test_follows)
{
	l.senior = false;
	l.peer.paths = false;
	ps.path[1].mtu = 1400;
	take(1, frame(OAE_COMMIT));
	assert_int_equal(ps.used, 1);
	assert_int_equal(c.turned, 1);
	assert_int_equal(l.mtu.here, 1400);
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

/* The caller knows more of the own path. */
PATH_TEST(test_own_is_asked)
{
	struct oae_frame f = resolved();

	port_down();
	begin();
	c.own_mtu = own_mtu;
	assert_true(oae_conn_heard(&c, OAE_PATH_OWN, &f, now, &a));
	assert_int_equal(asked, 1);
	assert_int_equal(l.mtu.here, 1280);
	f.src_ltag = l.peer.ltag + 0x100;
	assert_true(oae_conn_heard(&c, 1, &f, now, &a));
	assert_int_equal(asked, 1);
	assert_int_equal(l.mtu.here, 1500);
}

/* --- probes --- */

static unsigned int probes_at(u64 nonce)
{
	unsigned int set;

	begin();
	set = oae_conn_timer(&c, nonce, at, &a);
	end();
	return set;
}

PATH_TEST(test_probe_comes)
{
	struct oae_frame f = path_frame(OAE_PATH_PROBE, 5);

	port_down();
	ps.path[1].proven = false;
	ps.path[1].up = false;
	begin();
	assert_false(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_false(ps.path[1].proven);
	ps.path[1].up = true;
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_true(ps.path[1].proven);
	/* So the frozen link asks there, too. */
	assert_non_null(sent(OAE_SYNC));
	begin();
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_int_equal(a.nsends, 0);
}

PATH_TEST(test_answer_comes)
{
	struct oae_frame f = path_frame(OAE_PATH_ANSWER, 5);

	port_down();
	ps.path[1].proven = false;
	oae_path_probed(&ps, 1, 6, now);
	begin();
	assert_false(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_int_equal(a.nsends, 0);
	f.path.nonce = 6;
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_true(ps.path[1].proven);
	assert_non_null(sent(OAE_SYNC));
}

PATH_TEST(test_timer)
{
	ps.path[1].probed_at = now;
	ps.path[OAE_PATH_OWN].used_at = now;
	begin();
	assert_int_equal(oae_conn_timer(&c, 80, now, &a), 1 << 2);
	assert_int_equal(ps.path[2].nonce, 82);
	assert_int_equal(ps.path[2].probed_at, now);
	assert_int_equal(c.turned, 0);
	assert_int_equal(a.nsends, 0);
}

/* A path that was lossy is tried again some day. */
PATH_TEST(test_timer_pardons)
{
	unsigned int i;

	ps.path[1].loss.lossy = true;
	ps.path[1].loss.row = 1;
	for (i = 0; i < 100000 && ps.path[1].loss.lossy; i++) {
		now += KEEPALIVE;
		begin();
		oae_conn_timer(&c, 80, now, &a);
		ps.path[1].nonce = 0;
	}
	assert_false(ps.path[1].loss.lossy);
}

/* Each end goes over to what it prefers. */
PATH_TEST(test_timer_prefers)
{
	ps.path[1].rank = OAE_PATH_PREFERRED;
	begin();
	oae_conn_timer(&c, 80, now, &a);
	end();
	assert_int_equal(ps.used, 1);
	assert_int_equal(c.turned, 1);
	assert_int_equal(goes_by(OAE_COMMIT), 1 << 1);
	begin();
	assert_false(oae_conn_back(&c, now, &a));
	assert_int_equal(c.turned, 0);
	assert_int_equal(a.nsends, 0);
}

/* It carries what that path does, with a freeze. */
PATH_TEST(test_goes_over_shorter)
{
	ps.path[1].rank = OAE_PATH_PREFERRED;
	ps.path[1].mtu = 1400;
	begin();
	assert_true(oae_conn_back(&c, now, &a));
	end();
	assert_int_equal(l.mtu.here, 1400);
	assert_non_null(sent(OAE_SYNC));
}

/* If that carries more nothing is offered anew: there is no freeze. */
PATH_TEST(test_goes_over_longer)
{
	struct oae_frame f = path_frame(OAE_PATH_PROBE, 5);

	ps.path[1].rank = OAE_PATH_PREFERRED;
	ps.path[1].mtu = 9000;
	f.path.mtu = 4000;
	begin();
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_int_equal(oae_link_slice_max(&l), 1500 - OAE_HDR_LEN);
	assert_true(oae_conn_back(&c, now, &a));
	end();
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(a.nsends, 0);
	/* What both its ports carry, as the peer has said it there. */
	assert_int_equal(oae_link_slice_max(&l), 4000 - OAE_HDR_LEN);
	/* More from now on; and less. */
	f.path.mtu = 5000;
	begin();
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), 5000 - OAE_HDR_LEN);
	f.path.mtu = 4999;
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

/* More here, and less there: as much as before. */
PATH_TEST(test_goes_over_other_end)
{
	ps.path[1].rank = OAE_PATH_PREFERRED;
	ps.path[1].mtu = 9000;
	ps.path[1].far = 1500;
	l.mtu.there = 4000;
	begin();
	assert_true(oae_conn_back(&c, now, &a));
	end();
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), 1500 - OAE_HDR_LEN);
}

/* A longer way takes more time: the first answer is waited for. */
PATH_TEST(test_goes_over_longer_way)
{
	ps.path[1].rank = OAE_PATH_PREFERRED;
	ps.path[1].rtt = 30 * MS;
	begin();
	assert_true(oae_conn_back(&c, now, &a));
	end();
	assert_true(oae_link_pto(&l) >= 60 * MS);
	/* But none takes longer than the dead time: that was a clock. */
	three(NULL);
	ps.path[1].rank = OAE_PATH_PREFERRED;
	ps.path[1].rtt = cfg.dead + 1;
	begin();
	assert_true(oae_conn_back(&c, now, &a));
	end();
	assert_true(oae_link_pto(&l) < 60 * MS);
}

/* What SYNC says that the peer carries it does by the path that has resolved, and no other. */
PATH_TEST(test_sync_says_far)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		ps.path[i].far = 1400 + i;
	/* A frame by another path, or a SYNC that resolves nothing, says nothing of that. */
	l.senior = true;
	take(2, slice(0, OAE_F_LAST));
	assert_int_equal(l.state, OAE_OPEN);
	begin();
	oae_link_port_down(&l, now, &a);
	end();
	take(2, BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0));
	assert_int_equal(l.state, OAE_SYNC_RECD);
	assert_int_equal(oae_path_mtu(&ps.path[2]), 1402);
	take(1, BUT(resolved_with_paths(), f.sync.mtu = 1300));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(ps.used, 1);
	assert_int_equal(oae_path_mtu(&ps.path[0]), 1400);
	assert_int_equal(oae_path_mtu(&ps.path[1]), 1300);
	assert_int_equal(oae_path_mtu(&ps.path[2]), 1402);
}

/* If data resolve it what was said there counts, not what SYNC has said by another path. */
PATH_TEST(test_data_resolve)
{
	unsigned int i;
	u32 ltag;

	for (i = 0; i < 2; i++) {
		three(NULL);
		ltag = l.peer.ltag + 0x100;
		cfg.paths = true;
		ps.path[i].far = 1400;
		begin();
		oae_link_port_down(&l, now, &a);
		end();
		take(2, BUT(frame(OAE_SYNC), f.src_ltag = ltag, f.dst_ltag = 0, f.sync.mtu = 1200,
			    f.sync.caps = OAE_CAPS_PATHS));
		assert_int_equal(l.state, OAE_SYNC_RECD);
		take(i, BUT(frame(OAE_COMMIT), f.src_ltag = ltag));
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(ps.used, i);
		assert_int_equal(oae_path_mtu(&ps.path[i]), 1400);
		assert_int_equal(oae_link_slice_max(&l), 1400 - OAE_HDR_LEN);
	}
}

/* The peer's port carries less there: it says so in its next SYNC. */
PATH_TEST(test_goes_over_far)
{
	struct oae_frame f = path_frame(OAE_PATH_ANSWER, 5);

	l.mtu.there = 1500;
	ps.path[1].rank = OAE_PATH_PREFERRED;
	f.path.mtu = 1400;
	begin();
	oae_path_probed(&ps, 1, 5, now);
	assert_true(oae_conn_path_rcv(&c, 1, &f, now, &a));
	assert_int_equal(ps.path[1].far, 1400);
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(oae_conn_back(&c, now, &a));
	assert_int_equal(l.mtu.here, 1500);
	assert_int_equal(l.state, OAE_SYNC_SENT);

	/* It does so from now on, by the path in use. */
	three(state);
	l.mtu.there = 1400;
	f.path.role = OAE_PATH_PROBE;
	begin();
	assert_true(oae_conn_path_rcv(&c, OAE_PATH_OWN, &f, now, &a));
	assert_int_equal(l.state, OAE_OPEN);
	f.path.mtu = 1399;
	assert_true(oae_conn_path_rcv(&c, OAE_PATH_OWN, &f, now, &a));
	assert_int_equal(l.state, OAE_SYNC_SENT);
	/* No port carries so little; nothing is known. */
	f.path.mtu = 7;
	assert_true(oae_conn_path_rcv(&c, 2, &f, now, &a));
	assert_int_equal(ps.path[2].far, OAE_MIN_MTU);
	f.path.mtu = 0;
	assert_true(oae_conn_path_rcv(&c, 2, &f, now, &a));
	assert_int_equal(ps.path[2].far, 0);
}

/* --- what gets through by a path --- */

/* The probe of the last event, if there is one: what the peer says of it. */
static bool probes(u16 mtu, struct oae_frame *says)
{
	const struct oae_send *s;

	*says = answer(OAE_ACK);
	for (s = a.send; s < a.send + a.nsends; s++) {
		if (s->frame.opcode != OAE_ASK || s->frame.length <= 1)
			continue;
		/* That, and a short one behind it. */
		says->ack = s->frame.pn + 1;
		says->map = s->frame.length + OAE_HDR_LEN <= mtu;
		return true;
	}
	return false;
}

/* Nothing longer gets through by the path in use, and the link finds that out. */
static void narrow(u16 mtu)
{
	struct oae_frame says;
	unsigned int n;

	cfg.paths = true;
	begin();
	assert_int_equal(oae_link_post(&l, &(struct oae_post){
				.handle = &y, .digest = DIGEST, .first = 1, .len = 2000,
				.slice_max = 1000, .nslices = 2 }, now, &a), 0);
	end();
	for (n = 0; l.state == OAE_OPEN && n < 100; n++) {
		probes(mtu, &says);
		take(ps.used, says);
	}
	assert_int_equal(l.state, OAE_SYNC_SENT);
	cancel(&y);
	take(ps.used, resolved_with_paths());
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), mtu - OAE_HDR_LEN);
}

/* The link goes over to a path; state of the link. */
static enum oae_state go_to(unsigned int i)
{
	unsigned int k;

	for (k = 0; k < 3; k++)
		ps.path[k].rank = k == i ? OAE_PATH_PREFERRED : OAE_PATH_NORMAL;
	now += KEEPALIVE;
	begin();
	assert_true(oae_conn_back(&c, now, &a));
	end();
	return oae_link_state(&l);
}

/* The limit of a path is not forgotten while another one is in use. */
PATH_TEST(test_limit_is_kept)
{
	prove(OAE_PATH_OWN);
	narrow(576);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
	assert_int_equal(go_to(1), OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), 1500 - OAE_HDR_LEN);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
	assert_int_equal(oae_path_carries(&ps.path[1]), 1500);
	narrow(1280);
	assert_int_equal(go_to(OAE_PATH_OWN), OAE_SYNC_SENT);
	assert_int_equal(oae_link_slice_max(&l), 576 - OAE_HDR_LEN);
	assert_int_equal(oae_path_carries(&ps.path[1]), 1280);
	/* Nor when it becomes the own one. */
	take(OAE_PATH_OWN, resolved_with_paths());
	begin();
	oae_conn_move(&c, 1, now, &a);
	end();
	assert_int_equal(oae_link_slice_max(&l), 1280 - OAE_HDR_LEN);
}

/* For ten minutes. */
PATH_TEST(test_limit_ages)
{
	u64 found;

	prove(OAE_PATH_OWN);
	narrow(576);
	found = now;
	go_to(1);
	now = found + 600000 * MS - 1;
	probes_at(80);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
	now++;
	probes_at(90);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 1500);
}

/*
 * Or for a keepalive time and four round trips, if something is too long, and no path is known to
 * carry more.
 */
PATH_TEST(test_limit_ages_soon)
{
	u64 found;

	prove(OAE_PATH_OWN);
	narrow(576);
	found = now;
	go_to(1);
	narrow(576);
	now = found + KEEPALIVE + 4 * l.rtt.srtt;
	probes_at(80);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
	post_kind(&x, OAE_VERB, 900, 8);
	probes_at(90);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
	ps.path[2].up = false;
	probes_at(100);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 1500);
}

/* Also of those while the link goes by it again. */
PATH_TEST(test_limit_ages_in_use)
{
	struct oae_frame says;
	u64 found;

	prove(OAE_PATH_OWN);
	narrow(576);
	found = now;
	go_to(1);
	assert_int_equal(go_to(OAE_PATH_OWN), OAE_SYNC_SENT);
	take(OAE_PATH_OWN, resolved_with_paths());
	for (now = found + 600000 * MS - 1; now <= found + 600000 * MS; now++) {
		begin();
		oae_link_timer(&l, now, &a);
		end();
		assert_int_equal(probes(1500, &says), now == found + 600000 * MS);
	}
}

/* A search goes on when some port has changed. */
PATH_TEST(test_search_goes_on)
{
	struct oae_frame says;
	unsigned int n;

	prove(OAE_PATH_OWN);
	go_to(1);
	post_kind(&x, OAE_VERB, 1000, 8);
	for (n = 0; n < 3; n++)
		take(1, BUT(answer(OAE_ACK), f.kind = OAE_VERB));
	assert_true(probes(576, &says));
	says.kind = OAE_VERB;
	begin();
	oae_conn_review(&c, 2, false, true, now, &a);
	oae_conn_reviewed(&c, false, now, &a);
	end();
	take(1, says);
	assert_true(probes(576, &says));
}

/* Nor for another port, or one that carries another length; nor for another peer. */
PATH_TEST(test_limit_is_forgotten)
{
	prove(OAE_PATH_OWN);
	narrow(576);
	go_to(1);
	oae_path_set_mtu(&ps.path[OAE_PATH_OWN], 1500);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
	oae_path_set_mtu(&ps.path[OAE_PATH_OWN], 1400);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 1400);
	/* Of the path in use, too. */
	narrow(1280);
	begin();
	oae_path_set_mtu(&ps.path[1], 1400);
	oae_conn_reviewed(&c, false, now, &a);
	end();
	assert_int_equal(oae_path_carries(&ps.path[1]), 1400);
	assert_int_equal(oae_link_slice_max(&l), 1400 - OAE_HDR_LEN);
}

/* Nor for another peer. */
PATH_TEST(test_limit_is_of_a_peer)
{
	prove(OAE_PATH_OWN);
	narrow(576);
	go_to(1);
	narrow(1280);
	begin();
	oae_link_port_down(&l, now, &a);
	end();
	take(1, BUT(resolved(), f.sync.inc++, f.tx = PEER_START, f.rx = 0));
	if (l.state != OAE_OPEN)
		take(1, BUT(resolved(), f.sync.inc++, f.tx = PEER_START, f.rx = 0));
	assert_int_equal(l.peer.inc, PEER_INC + 1);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 1500);
	assert_int_equal(oae_path_carries(&ps.path[1]), 1500);
	assert_int_equal(oae_link_slice_max(&l), 1500 - OAE_HDR_LEN);
}

/* A path that makes way takes with it what was found out there. */
PATH_TEST(test_limit_goes)
{
	prove(OAE_PATH_OWN);
	go_to(1);
	narrow(576);
	begin();
	oae_conn_goes(&c, 1, now, &a);
	oae_path_del(&ps, 1);
	oae_conn_turned(&c, now, &a);
	end();
	assert_int_equal(oae_link_slice_max(&l), 1500 - OAE_HDR_LEN);
	assert_int_equal(oae_path_carries(&ps.path[ps.used]), 1500);
}

/* So does one by which a frozen link was asked last: nothing of it is left for the next. */
PATH_TEST(test_limit_goes_unused)
{
	struct oae_frame f = frame(OAE_COMMIT);

	prove(OAE_PATH_OWN);
	go_to(1);
	narrow(576);
	assert_int_equal(go_to(OAE_PATH_OWN), OAE_OPEN);
	begin();
	oae_link_port_down(&l, now, &a);
	end();
	begin();
	assert_true(oae_conn_heard(&c, 1, &f, now, &a));
	end();
	oae_path_del(&ps, 1);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	begin();
	end();
	assert_int_equal(oae_path_carries(&ps.path[1]), 1500);
}

/* The path in use becomes the own one: what is found from then on is found of that. */
PATH_TEST(test_limit_moves)
{
	prove(OAE_PATH_OWN);
	go_to(1);
	begin();
	oae_conn_move(&c, 1, now, &a);
	end();
	assert_int_equal(l.state, OAE_OPEN);
	narrow(576);
	assert_int_equal(oae_path_carries(&ps.path[OAE_PATH_OWN]), 576);
}

/*
 * A transaction is too long for the path in use: one that carries it is taken at once, though it
 * has failed just now, and the other has been in use for no time.
 */
PATH_TEST(test_too_long_waits_for_nothing)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		three(NULL);
		prove(OAE_PATH_OWN);
		narrow(576);
		oae_path_del(&ps, 2);
		oae_path_fail(&ps.path[1], KEEPALIVE, now);
		ps.path[1].good = true;
		oae_path_use(&ps, OAE_PATH_OWN, OAE_WHY_OWN, now);
		begin();
		assert_int_equal(oae_link_post(&l, &(struct oae_post){
				.handle = &x, .digest = DIGEST, .first = 1, .len = i ? 900 : 500,
				.slice_max = i ? 900 : 500, .nslices = 1, .kind = OAE_VERB },
				now, &a), 0);
		end();
		assert_int_equal(!!sent(OAE_OFFER), !i);
		assert_null(op(OAE_OP_COMPLETE));
		now++;
		begin();
		oae_link_timer(&l, now, &a);
		oae_conn_timer(&c, 80, now, &a);
		end();
		assert_int_equal(ps.used, i ? 1 : OAE_PATH_OWN);
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(!!sent(OAE_OFFER), i);
	}
}

/* Nothing is heard by the path in use, and another answers what the timer asks by all. */
PATH_TEST(test_silent_path)
{
	struct oae_frame f;
	unsigned int n;
	u64 leave_at;

	ps.path[2].mtu = 1400;
	l.rtt.longest[0] = 3 * MS;
	l.rtt.since = now;
	post(&x, 1, 0);
	for (n = 0; n < 2;) {
		now = l.timer.at;
		begin();
		oae_link_timer(&l, now, &a);
		end();
		if (!sent(OAE_ASK))
			continue;
		assert_int_equal(goes_by(OAE_ASK), n++ ? ALL : 1 << OAE_PATH_OWN);
	}
	f = answer(OAE_ACK);
	f.have = 1;
	leave_at = now + 3 * MS;
	take(2, f);
	assert_int_equal(l.timer.at, leave_at);
	now = leave_at;
	begin();
	oae_conn_timer(&c, 80, now, &a);
	end();
	assert_int_equal(ps.used, 2);
	assert_int_equal(c.turned, 1);
	assert_int_equal(ps.why, OAE_WHY_SILENCE);
	/* It carries less: that is a freeze. */
	assert_int_equal(l.mtu.here, 1400);

	/* The same, as long: there is none. */
	three(NULL);
	ps.leave_at = now;
	ps.other = 1;
	begin();
	oae_conn_timer(&c, 80, now, &a);
	end();
	assert_int_equal(ps.used, 1);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(a.nsends, 0);
	assert_int_equal(ps.count.since, (u32)l.number.sent);
	/* An answer by the path in use takes that back. */
	post(&x, 1, 0);
	ps.leave_at = now + MS;
	ps.other = 2;
	take(1, answer(OAE_REFLECT));
	assert_int_equal(ps.leave_at, 0);
}

/* --- time --- */

/* The clock of another processor is behind: no probe is late for that. */
PATH_TEST(test_clock_behind)
{
	ps.path[OAE_PATH_OWN].rank = OAE_PATH_PREFERRED;
	assert_int_equal(probes_at(80), 1 << 1 | 1 << 2);
	now -= MS / 100;
	assert_int_equal(probes_at(90), 0);
	assert_int_equal(at, ps.path[1].probed_at);
	assert_int_equal(ps.path[1].missed, 0);
	now += KEEPALIVE + MS;
	assert_int_equal(probes_at(100), 1 << 1 | 1 << 2);
	assert_int_equal(ps.path[1].missed, 1);
}

/* Another clock: the waits of paths begin again, and last as long as ever. */
PATH_TEST(test_another_clock)
{
	struct oae_path *own = &ps.path[OAE_PATH_OWN], *other = &ps.path[2];

	oae_path_failed(&ps, OAE_PATH_OWN, &l, now);
	assert_int_equal(ps.used, 1);
	own->good = true;
	own->rtt = MS;
	own->rank = OAE_PATH_PREFERRED;
	own->probed_at = 0;
	ps.gone_at = now;
	other->probed_at = now;
	other->loss.lossy = true;
	other->loss.row = 1;
	other->loss.until = now + KEEPALIVE;
	other->pmtu = 1000;
	other->pmtu_at = now;
	now -= 5000 * MS;
	begin();
	assert_int_equal(at, now);
	assert_int_equal(ps.gone_at, 0);
	assert_int_equal(own->probed_at, 0);
	assert_int_equal(own->not_before, now + KEEPALIVE);
	assert_int_equal(own->used_at, now);
	assert_int_equal(ps.path[1].used_at, now);
	assert_int_equal(other->used_at, 0);
	assert_int_equal(other->probed_at, now);
	assert_int_equal(other->not_before, 0);
	assert_int_equal(other->good_at, now);
	assert_int_equal(probes_at(80), 1 << OAE_PATH_OWN);
	assert_int_equal(ps.used, 1);
	assert_int_equal(other->missed, 0);
	assert_int_equal(oae_path_carries(other), 1000);
	/* How long it was lossy nobody knows. */
	assert_int_equal(other->loss.until, now + 64 * KEEPALIVE);
	own->nonce = 0;
	now += KEEPALIVE;
	probes_at(90);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	/* A link that has its own path alone looks to its time itself. */
	assert_int_equal(oae_conn_begin(&c, &l, NULL, now - 10 * MS), now - 10 * MS);
}

/* --- a path changes --- */

PATH_TEST(test_carrier_goes)
{
	begin();
	assert_false(oae_conn_review(&c, 1, false, true, now, &a));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(ps.path[1].probed_at, 0);
	assert_true(ps.path[1].proven);
	assert_false(oae_conn_review(&c, OAE_PATH_OWN, false, true, now, &a));
	assert_int_equal(ps.used, 2);
	assert_int_equal(c.turned, 1);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	ps.path[2].mtu = 1000;
	oae_conn_reviewed(&c, false, now, &a);
	assert_true(carried_out);
	assert_int_equal(l.mtu.here, 1000);
}

PATH_TEST(test_carrier_comes)
{
	ps.path[1].up = false;
	port_down();
	begin();
	assert_true(oae_conn_review(&c, 1, true, true, now, &a));
	assert_true(ps.path[1].up);
	assert_false(oae_conn_review(&c, 1, true, true, now, &a));
	assert_int_equal(a.nsends, 0);
	oae_conn_reviewed(&c, true, now, &a);
	assert_non_null(sent(OAE_SYNC));
	begin();
	oae_conn_reviewed(&c, false, now, &a);
	assert_int_equal(a.nsends, 0);
}

/* What the own path carries is not looked at here: the caller has said it already. */
PATH_TEST(test_own_reviewed)
{
	ps.path[OAE_PATH_OWN].mtu = 1000;
	begin();
	c.own_mtu = own_mtu;
	oae_conn_reviewed(&c, false, now, &a);
	assert_int_equal(asked, 0);
	assert_int_equal(l.mtu.here, 1500);
}

/* Another gateway: nothing is known of the way through it. */
PATH_TEST(test_leads_elsewhere)
{
	begin();
	assert_false(oae_conn_review(&c, 1, true, false, now, &a));
	assert_false(ps.path[1].proven);
	assert_int_equal(l.state, OAE_OPEN);
	assert_false(oae_conn_review(&c, OAE_PATH_OWN, true, false, now, &a));
	assert_int_equal(ps.used, 2);
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

PATH_TEST(test_renamed)
{
	begin();
	oae_conn_renaming(&c, 1, now, &a);
	assert_false(ps.path[1].proven);
	assert_int_equal(l.state, OAE_OPEN);
	oae_conn_renaming(&c, OAE_PATH_OWN, now, &a);
	assert_false(ps.path[OAE_PATH_OWN].proven);
	assert_int_equal(ps.used, 2);
	assert_int_equal(c.turned, 1);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	/* A frame to the old address has proven the path once more. */
	anew();
	ps.path[1].proven = true;
	begin();
	oae_conn_renamed(&c, 1, now, &a);
	assert_false(ps.path[1].proven);
	assert_int_equal(l.state, OAE_OPEN);
	oae_conn_renamed(&c, 2, now, &a);
	assert_int_equal(ps.used, 2);
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

/* A path makes way for a link of its own; in use, with another, it needs no freeze. */
PATH_TEST(test_goes)
{
	oae_path_use(&ps, 1, OAE_WHY_PEER, now);
	ps.path[2].mtu = 1400;
	begin();
	oae_conn_goes(&c, 1, now, &a);
	assert_int_equal(c.turned, 1);
	assert_int_equal(l.state, OAE_OPEN);
	oae_path_del(&ps, 1);
	ps.used = 2;
	oae_conn_turned(&c, now, &a);
	assert_int_equal(l.mtu.here, 1400);
}

PATH_TEST(test_goes_alone)
{
	oae_path_use(&ps, 1, OAE_WHY_PEER, now);
	oae_path_del(&ps, 2);
	ps.path[OAE_PATH_OWN].good = false;
	begin();
	oae_conn_goes(&c, 1, now, &a);
	assert_int_equal(c.turned, 0);
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

PATH_TEST(test_moves)
{
	begin();
	oae_conn_move(&c, 1, now, &a);
	assert_int_equal(c.turned, 1);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	assert_false(ps.path[1].there);
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

/* Another path than the own one was in use, and stays so. */
PATH_TEST(test_moves_used)
{
	oae_path_use(&ps, 1, OAE_WHY_PEER, now);
	begin();
	oae_conn_move(&c, 1, now, &a);
	assert_int_equal(c.turned, 0);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	assert_int_equal(l.state, OAE_OPEN);
}

/* --- the end --- */

/* What begins a freeze goes by all paths, however often nothing came of that. */
PATH_TEST(test_freeze_begins)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		begin();
		oae_link_port_down(&l, now, &a);
		end();
		assert_int_equal(goes_by(OAE_SYNC), ALL);
		take(OAE_PATH_OWN, resolved());
		assert_int_equal(l.state, OAE_OPEN);
	}
}

/* For whom paths are proven is decided before the frames go. */
PATH_TEST(test_pairs)
{
	begin();
	l.inc++;
	end();
	assert_int_equal(ps.inc, l.inc);
}

/* A frame of a run that this end has offered: one slice each. */
static void offer(unsigned int n)
{
	struct oae_post p = { .digest = DIGEST, .first = 1, .len = 1, .slice_max = CUT,
			      .nslices = 1 };

	while (n--) {
		p.handle = &x;
		begin();
		assert_int_equal(oae_link_post(&l, &p, now, &a), 0);
		end();
		assert_non_null(sent(OAE_OFFER));
		now += MS;
		take(OAE_PATH_OWN, answer(OAE_REFLECT));
	}
}

/* An offer counts for the path in use, once it is known that it was heard. */
PATH_TEST(test_offers_count)
{
	const struct oae_path_loss *own = &ps.path[OAE_PATH_OWN].loss;
	u32 before;

	l.number.sent = 0;
	oae_count_begin(&ps, &l);
	offer(40);
	assert_in_range(own->sent, 1, 2 * 40);
	/* Another path is in use: what went before went by the other. */
	before = own->sent;
	begin();
	c.turned = 1;
	end();
	offer(1);
	assert_int_equal(own->sent, before);
	assert_int_equal(ps.count.since, l.number.sent - 2);
	/* Each run begins anew. */
	anew();
	c.before = OAE_SYNC_SENT;
	ps.asked = 2;
	end();
	assert_int_equal(ps.count.newest, 0);
	assert_int_equal(ps.count.since, 0);
	assert_int_equal(ps.asked, ps.used);
}

/* By which path does the peer ask? */
PATH_TEST(test_asked_by)
{
	take(2, BUT(slice(0, OAE_F_LAST), f.pn = 40));
	assert_int_equal(ps.asked, 2);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	take(1, frame(OAE_DONE));
	assert_int_equal(ps.asked, 2);
	take(1, BUT(frame(OAE_COMMIT), f.pn = l.number.heard - 1));
	assert_int_equal(ps.asked, 2);
	take(1, BUT(frame(OAE_COMMIT), f.pn = l.number.heard + 1));
	assert_int_equal(ps.asked, 1);
}

UNIT_MAIN("conn")
