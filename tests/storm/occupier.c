// SPDX-License-Identifier: GPL-2.0
/*
 * occupier: peers that follow all rules in order to take all the memory that a
 * node gives to peers, and then fall silent; some of them are greedy, and send more.
 *
 *   occupier dev=DEV to=MAC [peers=N] [greedy=N] [seed=N] [seconds=S]
 *
 * Each peer of N has an address of its own, asks for a link, answers the cookie,
 * and once it is let in sends express messages of one byte, which are delivered and
 * lie unread, as long as that leaves something granted; then one of 64 full slices,
 * which may go whatever it costs, and is held. A greedy one commits that, and goes on
 * with several such numbers at a time.
 * Says "ready" to begin with, and after S seconds, or when no more comes in answer:
 * "occupied asked=N let_in=N full=N held=N beyond=N frames=N", beyond: what of the
 * greedy ones was taken after that; then waits for SIGTERM.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../guest/program.h"
#include "../guest/wire.h"

#define QUIET_MS	1000	/* nothing in answer for so long: that is all */
#define AGAIN_MS	200	/* nothing for so long: some of it was lost */
#define TRIES		16	/* of the greedy */
#define NUMBERS		4	/* that they offer at a time */
#define WINDOW		16	/* that they say */
#define AT_ONCE		32	/* peers that ask at a time: answers are rationed */

enum stage { ASKING, ASKED, LET_IN, FILLED, GREEDY, OVER, TURNED_AWAY };

struct peer {
	enum stage stage;
	uint8_t mac[6];
	uint32_t ltag;
	uint32_t far_ltag;
	uint32_t tx;
	uint32_t rx;
	uint64_t inc;
	uint64_t far_inc;
	uint32_t grant;		/* above tx, bytes */
	unsigned int tries;
	int greedy;
};

static struct peer *peers;
static unsigned int npeers;
static uint8_t to[6], full[WIRE_PAYLOAD];
static unsigned long long frames, beyond;
static int fd;

static void say(const struct peer *p, struct wire_frame *f)
{
	uint8_t buf[WIRE_MAX];

	memcpy(f->to, to, 6);
	memcpy(f->from, p->mac, 6);
	f->src_ltag = p->ltag;
	f->tx = p->tx;
	f->grant = 0xffff;
	f->rx = p->rx;
	if (!f->payload)
		f->payload = full;
	if (send(fd, buf, wire_build(f, buf), 0) < 0 && errno != ENOBUFS)
		die("send");
	frames++;
}

static void say_sync(const struct peer *p, uint8_t opcode, uint32_t dst)
{
	uint8_t body[OAE_SYNC_LEN] = { 0 };
	struct wire_frame f = { .opcode = opcode, .dst_ltag = dst,
				.length = OAE_SYNC_LEN, .payload = body };

	put64(body + OAE_SYNC_OFF_INC, p->inc);
	put64(body + OAE_SYNC_OFF_PEER_INC, p->far_inc);
	put32(body + OAE_SYNC_OFF_CAPS, p->greedy ? WINDOW - 1 : 0);
	put32(body + OAE_SYNC_OFF_MAX_LEN, 65536);
	put16(body + OAE_SYNC_OFF_MTU, 1500);
	say(p, &f);
}

/* One message, all its slices at once. */
static void offer(const struct peer *p, uint32_t seq, unsigned int slices,
		  uint16_t length, uint8_t flags)
{
	static const unsigned int most = 65536 / OAE_MAX_SLICES;
	unsigned int i;

	for (i = 0; i < slices; i++) {
		struct wire_frame f = {
			.opcode = OAE_OFFER, .dst_ltag = p->far_ltag,
			.seq = seq, .slice = i,
			.length = length < most ? length : most,
			.flags = flags | (i == slices - 1 ? OAE_F_LAST : 0),
			.marks = i == slices - 1 ? OAE_M_ANSWER : 0,
		};

		say(p, &f);
	}
}

/* What I offer now; once more, if some of it was lost. */
static void again(struct peer *p)
{
	uint32_t i;

	switch (p->stage) {
	case LET_IN:
		offer(p, p->tx + 1, 1, 1, OAE_F_EXPRESS);
		break;
	case FILLED:
		offer(p, p->tx + 1, OAE_MAX_SLICES, sizeof(full), 0);
		break;
	case GREEDY:
		for (i = 1; i <= NUMBERS; i++)
			offer(p, p->tx + i, OAE_MAX_SLICES, sizeof(full), 0);
		if (++p->tries == TRIES)
			p->stage = OVER;
		break;
	default:
		break;
	}
}

/* One byte more, if that leaves something granted. */
static void fill(struct peer *p)
{
	p->stage = p->grant >= 1 + OAE_SLICE_COST + OAE_GRANT_UNIT ? LET_IN : FILLED;
	again(p);
}

/* What I offered has been heard. */
static void reflected(struct peer *p)
{
	switch (p->stage) {
	case LET_IN:		/* it is delivered, and what is granted is above it */
		p->tx++;
		fill(p);
		break;
	case FILLED:
		p->tx += p->greedy;
		p->stage = p->greedy ? GREEDY : OVER;
		again(p);
		break;
	case GREEDY:
		p->tx++;
		beyond++;
		break;
	default:
		break;
	}
}

static void hear(struct peer *p, const struct wire_frame *f)
{
	if (f->dst_ltag != p->ltag)
		return;
	p->grant = f->grant * OAE_GRANT_UNIT;
	switch (f->opcode) {
	case OAE_SYNC_CHK:
		if (p->stage == ASKED)
			say_sync(p, OAE_SYNC, f->src_ltag);
		break;
	case OAE_SYNC:
		p->far_ltag = f->src_ltag;
		p->far_inc = get64(f->payload + OAE_SYNC_OFF_INC);
		if (p->stage == ASKED)
			say_sync(p, OAE_SYNC, p->far_ltag);
		break;
	case OAE_SYNC_ACK:
		if (p->stage == ASKED && f->src_ltag == p->far_ltag)
			fill(p);
		break;
	case OAE_REFLECT:
		if (f->seq == p->tx + 1)
			reflected(p);
		break;
	case OAE_ACK:
		again(p);
		break;
	case OAE_CLOSE:
		if (p->stage == ASKED)
			p->stage = TURNED_AWAY;
		break;
	}
}

/* Some more of those who have no answer yet, those longest without one first. */
static void ask(void)
{
	static unsigned int next;
	unsigned int n, asked = 0;

	for (n = 0; n < npeers && asked < AT_ONCE; n++) {
		struct peer *p = &peers[next++ % npeers];

		if (p->stage > ASKED)
			continue;
		p->stage = ASKED;
		say_sync(p, OAE_SYNC, p->far_ltag);
		asked++;
	}
}

static struct peer *find(const uint8_t mac[6])
{
	uint32_t n = get32(mac + 2);

	return n < npeers && mac[0] == 2 && mac[1] == 0x0c ? &peers[n] : NULL;
}

/* All that is here to be heard; 0 if nothing was. */
static int listen_once(int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct wire_frame f;
	uint8_t buf[2048];
	int any = 0;
	ssize_t n;

	if (poll(&pfd, 1, ms) <= 0)
		return 0;
	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		struct peer *p;

		if (wire_parse(&f, buf, n))
			continue;
		p = find(f.to);
		if (!p)
			continue;
		hear(p, &f);
		any = 1;
	}
	return any;
}

static unsigned int count(enum stage from, enum stage last)
{
	unsigned int i, n = 0;

	for (i = 0; i < npeers; i++)
		n += peers[i].stage >= from && peers[i].stage <= last;
	return n;
}

static void occupy(double seconds)
{
	double until = now() + seconds, heard_at = now(), again_at = heard_at;
	double asked_at = 0;
	unsigned int i;

	while (!stop && now() < until &&
	       (now() - heard_at) * 1000 < QUIET_MS) {
		if (now() - asked_at > 0.02) {
			ask();
			asked_at = now();
		}
		if (listen_once(5)) {
			heard_at = again_at = now();
		} else if ((now() - again_at) * 1000 > AGAIN_MS) {
			for (i = 0; i < npeers; i++)
				again(&peers[i]);
			again_at = now();
		}
		if (count(OVER, TURNED_AWAY) == npeers)
			break;
	}
	printf("occupied asked=%u let_in=%u full=%u held=%u beyond=%llu frames=%llu\n",
	       count(ASKED, TURNED_AWAY), count(LET_IN, OVER),
	       count(TURNED_AWAY, TURNED_AWAY), count(GREEDY, OVER), beyond, frames);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct dice dice;
	unsigned int i, greedy;

	(void)argc;
	program(argv);
	npeers = number("peers", 64);
	greedy = number("greedy", 0);
	dice.state = number("seed", 1);
	peers = calloc(npeers, sizeof(*peers));
	if (!peers || !npeers || mac_parse(option("to", ""), to))
		die("peers=N, to=MAC are needed");
	for (i = 0; i < npeers; i++) {
		peers[i].mac[0] = 2;
		peers[i].mac[1] = 0x0c;
		put32(peers[i].mac + 2, i);
		peers[i].ltag = dice_u32(&dice) | 1;
		peers[i].inc = (uint64_t)dice_u32(&dice) << 32 | 1;
		/* All over, since not all are let in. */
		peers[i].greedy = (i + 1) * greedy / npeers > i * greedy / npeers;
	}
	fd = wire_open(option("dev", ""), 1);
	if (fd < 0)
		die("dev=DEV");
	ready();
	occupy(seconds_option("seconds", "60"));
	/* Links and all stay until somebody ends this. */
	signal(SIGTERM, SIG_DFL);
	while (!stop)
		pause();
	return 0;
}
