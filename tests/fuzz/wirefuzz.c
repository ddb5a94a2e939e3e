// SPDX-License-Identifier: GPL-2.0
/*
 * wirefuzz: the receive path of the live module, by peers that know the protocol
 * and mean no good.
 *
 *   wirefuzz dev=DEV to=MAC [seed=N] [seconds=S] [frames=N] [pcap=FILE]
 *   wirefuzz own=ADDR at=ADDR to=MAC ...	by IP, to the UDP port at an address
 *
 * Sixteen peers, told apart by address and virtual channel, hear what the module
 * says, so that most of what they say fits: links open, offers are reflected,
 * committed, reversed, halves swapped, words changed. Then again it is next to
 * what fits: an ltag of the run before, the next number but one, the same frame
 * once more, one field at an end of its range, a byte flipped, cut short.
 * Sometimes one of them claims to be a gateway, and frames come through it.
 *
 * What is rolled follows from seed=; which answer comes when does not, so the
 * same seed is the same sort of trouble, not the same frames. pcap= keeps the
 * last of them. Ends after S seconds or N frames, or on SIGTERM, and says what
 * came of it: "fuzzed frames=N heard=N opened=N ... seed=N".
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../guest/program.h"
#include "../guest/wire.h"

#define PEERS		16
#define CHANNELS	4
#define KEPT		4096	/* frames, to send again and to show */
#define BURST		24	/* frames before the answers are heard */
#define REGION		1000	/* of the words that the module's side exposes */
#define NO_KIND		255
#define UDP_PORT	34998
#define UDP_HEAD	2	/* bytes before the frame: version and type, 0 */

struct peer {
	uint8_t mac[6];
	uint8_t vc;
	uint32_t ltag;
	uint32_t old_ltag;
	uint32_t far_ltag;
	uint32_t far_old_ltag;
	uint64_t inc;
	uint64_t far_inc;
	uint32_t tx;
	uint32_t rx;
	uint8_t out;			/* kind of what I offer as tx + 1, or NO_KIND */
	uint32_t pn;			/* of my last question in this run */
	uint32_t heard;			/* and of the other end's */
	/* What is offered to me. */
	uint32_t seq;
	uint8_t kind;			/* or NO_KIND */
	uint64_t hash[OAE_MAX_SLICES];
	uint64_t first;
	uint64_t have;
	unsigned int slices;		/* 0: LAST has not come */
};

static struct {
	uint8_t bytes[WIRE_MAX];
	size_t len;
} kept[KEPT];

static struct {
	unsigned long long frames, heard, opened, offered, reflected,
			   committed, swapped, verbs, taken, refused, altered;
} tally;

static struct peer peers[PEERS];
static struct dice dice;
static uint8_t to[6], random_bytes[WIRE_PAYLOAD];
static int fd;
static size_t head;	/* UDP_HEAD with at= */

/* One in n times. */
static int once_in(uint32_t n)
{
	return !dice_below(&dice, n);
}

/* --- sending ----------------------------------------------------------------- */

static uint32_t extreme(uint32_t max)
{
	const uint32_t values[] = { 0, 1, 2, max >> 1, (max >> 1) + 1, max - 1,
				    max, dice_u32(&dice) & max };

	return values[dice_below(&dice, 8)];
}

/* One thing about a frame is another; nearly always the digest says so too. */
static size_t alter(uint8_t *buf, size_t len)
{
	static const struct {
		uint8_t off;
		uint8_t bytes;
	} fields[] = {
		{ OAE_OFF_VER_EXT, 1 }, { OAE_OFF_OPCODE, 1 }, { OAE_OFF_VC, 1 },
		{ OAE_OFF_FLAGS, 1 }, { OAE_OFF_LENGTH, 2 }, { OAE_OFF_SLICE, 1 },
		{ OAE_OFF_SRC_LTAG, 4 }, { OAE_OFF_DST_LTAG, 4 },
		{ OAE_OFF_TX, 4 }, { OAE_OFF_RX, 4 }, { OAE_OFF_SEQ, 4 },
		{ OAE_OFF_KIND, 1 }, { OAE_OFF_GRANT, 2 },
		{ OAE_OFF_REASON, 1 }, { OAE_OFF_MARKS, 1 },
		{ OAE_OFF_PN, 4 }, { OAE_OFF_MAP, 4 },
	};
	unsigned int n = dice_below(&dice, sizeof(fields) / sizeof(*fields));
	uint8_t *p = buf + WIRE_ETH;

	tally.altered++;
	switch (dice_below(&dice, 5)) {
	case 0:
		p[dice_below(&dice, len - WIRE_ETH)] ^= 1 << dice_below(&dice, 8);
		break;
	case 1:		/* cut short */
		len = WIRE_ETH + 1 + dice_below(&dice, len - WIRE_ETH);
		break;
	case 2:		/* longer than it says */
		if (len + 8 <= WIRE_MAX) {
			memcpy(buf + len, random_bytes, 8);
			len += 1 + dice_below(&dice, 8);
		}
		break;
	default:
		if (len < WIRE_ETH + OAE_HDR_LEN)
			break;
		if (fields[n].bytes == 4)
			put32(p + fields[n].off, extreme(0xffffffff));
		else if (fields[n].bytes == 2)
			put16(p + fields[n].off, extreme(0xffff));
		else
			p[fields[n].off] = extreme(0xff);
	}
	if (!once_in(8))
		wire_seal(buf, len);
	return len;
}

static void put_on_wire(const uint8_t *buf, size_t len)
{
	unsigned int n = tally.frames++ % KEPT;
	uint8_t udp[UDP_HEAD] = { 0x11 };
	struct iovec parts[] = { { udp, head }, { (void *)buf, len } };

	memcpy(kept[n].bytes, buf, len);
	kept[n].len = len;
	if (writev(fd, parts, 2) < 0 && errno != ENOBUFS && errno != ENETDOWN &&
	    errno != ECONNREFUSED)
		die("send");
}

/* A frame of a peer; now and then it is another, or comes twice. */
static void say(const struct peer *p, struct wire_frame *f)
{
	uint8_t buf[WIRE_MAX + 16];
	size_t len;

	memcpy(f->to, to, 6);
	memcpy(f->from, p->mac, 6);
	f->vc = p->vc;
	if (!f->payload)
		f->payload = random_bytes;
	if (once_in(60) && f->length + OAE_VIA_LEN <= WIRE_PAYLOAD) {
		/* As through the gateway that the first of us claims to be. */
		f->flags |= OAE_F_VIA;
		memcpy(f->via, to, 6);
		memcpy(f->via + 6, p->mac, 6);
		memcpy(f->from, peers[0].mac, 6);
	}
	len = wire_build(f, buf);
	if (once_in(16))
		len = alter(buf, len);
	put_on_wire(buf, len);
	if (once_in(30))
		put_on_wire(buf, len);
}

static int is_question(uint8_t opcode)
{
	return opcode == OAE_OFFER || opcode == OAE_COMMIT || opcode == OAE_ASK;
}

static int is_answer(uint8_t opcode)
{
	return opcode == OAE_REFLECT || opcode == OAE_REFUSE || opcode == OAE_READY ||
	       opcode == OAE_DONE || opcode == OAE_ACK;
}

/* Plenty mostly; else so little that much of what the module has is not granted, or nothing. */
static uint16_t grant(void)
{
	return once_in(8) ? dice_below(&dice, 40) : once_in(16) ? 0 : 0xffff;
}

/* What this peer would say now. */
static struct wire_frame frame(struct peer *p, uint8_t opcode)
{
	return (struct wire_frame){
		.opcode = opcode, .src_ltag = p->ltag, .dst_ltag = p->far_ltag,
		.tx = p->tx, .rx = p->rx, .grant = grant(),
		.pn = is_question(opcode) ? ++p->pn : is_answer(opcode) ? p->heard : 0,
	};
}

/* Tell what is kept: mostly that, else anything. */
static void put_kept(const struct peer *p, uint8_t *body)
{
	uint8_t hashes[OAE_MAX_SLICES * 8];
	unsigned int i, n = 0;

	if (once_in(4)) {
		memcpy(body + OAE_SYNC_OFF_KEPT, random_bytes, 16);
		body[OAE_SYNC_OFF_LAST] = once_in(2) ? OAE_SYNC_NO_LAST : dice_below(&dice, 64);
		return;
	}
	if (!p->have || p->seq != p->rx + 1)
		return;
	for (i = 0; i < OAE_MAX_SLICES; i++)
		if (p->have >> i & 1)
			put64(hashes + 8 * n++, p->hash[i]);
	put64(body + OAE_SYNC_OFF_KEPT, p->have);
	put64(body + OAE_SYNC_OFF_HASH, wire_hash(hashes, 8 * n, 0));
	body[OAE_SYNC_OFF_LAST] = p->slices ? p->slices - 1 : OAE_SYNC_NO_LAST;
}

static void say_sync(struct peer *p, uint8_t opcode, uint32_t dst)
{
	static const uint32_t max_lens[] = { 65536, 65536, 65536, 0, 100,
					     0xffffffff };
	static const uint16_t mtus[] = { 1500, 1500, 1500, 0, 127, 128, 200,
					 1499, 9000, 65535 };
	uint8_t body[OAE_SYNC_LEN] = { 0 };
	struct wire_frame f = frame(p, opcode);

	put64(body + OAE_SYNC_OFF_INC, once_in(100) ? 0 : p->inc);
	put64(body + OAE_SYNC_OFF_PEER_INC, once_in(50) ? ~0ULL : p->far_inc);
	put32(body + OAE_SYNC_OFF_MAX_LEN, max_lens[dice_below(&dice, 6)]);
	put32(body + OAE_SYNC_OFF_START, once_in(20) ? extreme(0xffffffff) : 0);
	put16(body + OAE_SYNC_OFF_MTU, mtus[dice_below(&dice, 10)]);
	put_kept(p, body);
	f.dst_ltag = dst;
	f.payload = body;
	f.length = sizeof(body);
	say(p, &f);
}

static void new_run(struct peer *p)
{
	p->out = p->kind = NO_KIND;
	p->pn = p->heard = 0;
}

static void new_ltag(struct peer *p)
{
	p->old_ltag = p->ltag;
	p->ltag = dice_u32(&dice) | 1;
	new_run(p);
}

/* Nobody that was ever heard of. */
static void reborn(struct peer *p)
{
	new_ltag(p);
	p->inc = (uint64_t)dice_u32(&dice) << 32 | dice_u32(&dice) | 1;
	p->far_inc = 0;
	p->far_old_ltag = p->far_ltag;
	p->far_ltag = 0;
	p->tx = p->rx = 0;
}

/* --- offers of mine -------------------------------------------------------------- */

static struct wire_frame offer(struct peer *p, uint8_t kind)
{
	struct wire_frame f = frame(p, OAE_OFFER);

	f.seq = p->tx + 1;
	f.kind = kind;
	p->out = kind;
	tally.offered++;
	return f;
}

/* Nothing, in place of what I have offered. */
static void offer_nothing(struct peer *p)
{
	struct wire_frame f = offer(p, OAE_VOID);

	f.flags = OAE_F_LAST;
	f.marks = once_in(4) ? 0 : OAE_M_ANSWER;
	say(p, &f);
}

/* All slices, but for some; in order, or not. */
static void offer_message(struct peer *p)
{
	unsigned int n = once_in(3) ? 1 + dice_below(&dice, 64) :
				      1 + dice_below(&dice, 3);
	unsigned int i, at, size = dice_below(&dice, n > 8 ? 200 : 1400);
	unsigned int turn = once_in(4) ? 1 + 2 * dice_below(&dice, 32) : 0;
	uint8_t flags = once_in(3) ? OAE_F_EXPRESS : 0;
	int lossy = once_in(4);

	if (once_in(6))
		flags |= OAE_F_RESUME;
	for (i = 0; i < n; i++) {
		struct wire_frame f = offer(p, OAE_MESSAGE);

		at = turn ? (i * turn) % n : i;
		f.slice = at;
		f.flags = flags | (at == n - 1 ? OAE_F_LAST : 0);
		f.marks = i == n - 1 || once_in(8) ? OAE_M_ANSWER : 0;
		f.length = size;
		if (!lossy || !once_in(8))
			say(p, &f);
	}
}

static void offer_half(struct peer *p)
{
	struct wire_frame f = offer(p, OAE_SWAP);

	f.flags = OAE_F_LAST;
	f.marks = once_in(4) ? 0 : OAE_M_ANSWER;
	f.length = 1 + dice_below(&dice, once_in(4) ? WIRE_PAYLOAD : 64);
	say(p, &f);
}

/* A request, mostly one that can be read. */
static void offer_verb(struct peer *p)
{
	uint8_t body[WIRE_PAYLOAD] = { 0 }, *o = body + OAE_VERB_HDR_LEN;
	unsigned int n = once_in(4) ? 1 + dice_below(&dice, 64) : 1, i, words;
	struct wire_frame f = offer(p, OAE_VERB);

	for (i = 0; i < n; i++) {
		uint8_t code = once_in(40) ? dice_u32(&dice) :
					     1 + dice_below(&dice, 5);
		unsigned int operands;

		words = once_in(40) ? dice_below(&dice, 256) :
				      1 + dice_below(&dice, 8);
		operands = code == 1 ? 0 : code == 5 ? 2 * words : words;
		if (o + OAE_VOP_HDR_LEN + operands * 8 >
		    body + sizeof(body) - 8)
			break;
		o[OAE_VOP_OFF_CODE] = code;
		o[OAE_VOP_OFF_WORDS] = words;
		put32(o + OAE_VOP_OFF_INDEX, once_in(30) ?
		      extreme(0xffffffff) : dice_below(&dice, 60));
		o += OAE_VOP_HDR_LEN;
		/* CAS from 0 to 0 often enough. */
		if (once_in(2))
			memcpy(o, random_bytes, operands * 8);
		o += operands * 8;
	}
	put32(body + OAE_VERB_OFF_REGION, once_in(20) ? extreme(0xffffffff) :
	      REGION + dice_below(&dice, 4));
	body[OAE_VERB_OFF_NOPS] = once_in(40) ? dice_u32(&dice) : i;
	f.flags = OAE_F_LAST;
	f.marks = once_in(4) ? 0 : OAE_M_ANSWER;
	f.payload = body;
	f.length = o - body;
	say(p, &f);
}

/* --- what is next to what fits ------------------------------------------------------ */

static uint32_t near(uint32_t v)
{
	switch (dice_below(&dice, 12)) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v + 2;
	case 3:
		return extreme(0xffffffff);
	default:
		return v;
	}
}

/* One of the reasons for which an offer is refused. */
static uint8_t any_reason(void)
{
	static const uint8_t reasons[] = {
		OAE_R_BUSY, OAE_R_NO_HALF, OAE_R_CONFLICT, OAE_R_TOO_BIG, OAE_R_KIND,
		OAE_R_NO_REGION, OAE_R_RANGE, OAE_R_ACCESS, OAE_R_BAD_VERB,
	};

	return reasons[dice_below(&dice, sizeof(reasons))];
}

static void say_anything(struct peer *p)
{
	static const uint16_t lengths[OAE_OPCODE_END] = {
		[OAE_SYNC] = OAE_SYNC_LEN, [OAE_SYNC_ACK] = OAE_SYNC_LEN,
		[OAE_SYNC_CHK] = OAE_SYNC_LEN, [OAE_REFLECT] = OAE_REFLECT_LEN,
		[OAE_HELLO] = OAE_HELLO_LEN, [OAE_PATH] = OAE_PATH_LEN,
		[OAE_ACK] = OAE_ACK_LEN,
	};
	uint8_t sync[OAE_SYNC_LEN] = { 0 };
	uint8_t opcode = 1 + dice_below(&dice, OAE_ACK);
	int about = opcode == OAE_REFLECT || opcode == OAE_REFUSE || opcode == OAE_ACK;
	struct wire_frame f = frame(p, opcode);

	f.src_ltag = once_in(8) ? p->old_ltag : once_in(12) ? p->far_ltag :
							      p->ltag;
	f.dst_ltag = once_in(8) ? p->far_old_ltag : once_in(12) ? 0 :
								  near(p->far_ltag);
	f.tx = near(p->tx);
	f.rx = near(p->rx);
	f.seq = near(about ? p->seq : p->tx + 1);
	f.kind = once_in(4) ? dice_below(&dice, 4) : 0;
	f.flags = once_in(3) ? dice_u32(&dice) &
		  (OAE_F_WANT_DONE | OAE_F_RESUME | OAE_F_LAST) : 0;
	f.length = lengths[opcode];
	if (opcode <= OAE_SYNC_CHK && !once_in(8)) {
		memcpy(sync, random_bytes, OAE_SYNC_OFF_ZERO);
		memcpy(sync + OAE_SYNC_OFF_KEPT, random_bytes, 16);
		f.payload = sync;
	}
	/* A number, or what was heard; a map and a mark only where they may be. */
	if (once_in(2) && (is_question(opcode) || is_answer(opcode)))
		f.pn = once_in(4) ? extreme(0xffffffff) : dice_below(&dice, 64);
	if (is_answer(opcode)) {
		f.map = dice_u32(&dice);
		f.marks = once_in(2) ? OAE_M_NOW : 0;
	} else if (opcode == OAE_OFFER) {
		f.marks = once_in(2) ? OAE_M_ANSWER : 0;
	} else if (opcode == OAE_COMMIT) {
		f.marks = once_in(2) ? OAE_M_BLOCKED : 0;
	} else if (opcode == OAE_HELLO || opcode == OAE_NOLINK || opcode == OAE_PATH) {
		f.grant = 0;
	}
	if (opcode == OAE_REFUSE) {
		f.reason = any_reason();
	} else if (opcode == OAE_CLOSE) {
		f.reason = once_in(2) ? 0 : OAE_R_POLICY +
			   dice_below(&dice, 2);
	} else if (opcode == OAE_ASK || (opcode == OAE_OFFER && f.kind != OAE_VOID) ||
		   (opcode == OAE_REFLECT && (f.kind == OAE_SWAP || f.kind == OAE_VERB))) {
		f.length += dice_below(&dice, 200);
	}
	say(p, &f);
}

/* A gateway makes itself known, and leaves, and says what a way carries. */
static void say_hello(struct peer *p)
{
	uint8_t body[OAE_HELLO_LEN] = { 0 };
	struct wire_frame f = { .opcode = OAE_HELLO, .payload = body,
				.length = sizeof(body) };

	body[OAE_HELLO_OFF_FLAGS] = dice_below(&dice, OAE_HELLO_ALL + 1);
	if (!once_in(4))
		body[OAE_HELLO_OFF_FLAGS] |= OAE_HELLO_GATEWAY;
	put16(body + OAE_HELLO_OFF_ZONE, 1);
	put16(body + OAE_HELLO_OFF_MTU, once_in(3) ? extreme(0xffff) : 1400);
	put16(body + OAE_HELLO_OFF_EPOCH, dice_below(&dice, 3));
	put32(body + OAE_HELLO_OFF_INC, 1 + dice_below(&dice, 3));
	put16(body + OAE_HELLO_OFF_LIFE, extreme(20));
	put16(body + OAE_HELLO_OFF_NODE_LIFE, extreme(100));
	if (body[0] & OAE_HELLO_ABOUT)
		memcpy(body + OAE_HELLO_OFF_ABOUT,
		       peers[dice_below(&dice, PEERS)].mac, 6);
	say(once_in(4) ? p : &peers[0], &f);
}

/* Something that was on the wire before. */
static void say_again(void)
{
	unsigned long long n = tally.frames < KEPT ? tally.frames : KEPT;
	unsigned int i;
	uint8_t buf[WIRE_MAX];

	if (!n)
		return;
	i = (tally.frames - 1 - dice_below(&dice, n)) % KEPT;
	memcpy(buf, kept[i].bytes, kept[i].len);
	put_on_wire(buf, kept[i].len);
}

/* What ends a run is rare, or nothing would ever be in the midst of something. */
static void act(struct peer *p)
{
	uint32_t roll = dice_below(&dice, 1000);
	struct wire_frame f;

	if (!p->far_ltag || roll < 15) {
		if (once_in(2))
			new_ltag(p);
		say_sync(p, OAE_SYNC, once_in(2) ? p->far_ltag : 0);
	} else if (roll < 600) {
		/* A number has one content, and nothing after it; mostly that is so here, too. */
		if (p->out != NO_KIND && !once_in(8))
			offer_nothing(p);
		else if (roll < 300)
			offer_message(p);
		else if (roll < 450)
			offer_half(p);
		else
			offer_verb(p);
	} else if (roll < 640) {
		offer_nothing(p);
	} else if (roll < 643) {
		f = frame(p, OAE_CLOSE);
		f.seq = f.rx;
		f.flags |= once_in(2) ? OAE_F_LAST : 0;
		say(p, &f);
	} else if (roll < 646) {
		reborn(p);
	} else if (roll < 652) {
		say_hello(p);
	} else if (roll < 750) {
		say_again();
	} else if (roll < 900) {
		say_anything(p);
	}
	/* Or nothing: it waits for an answer. */
}

/* --- hearing ------------------------------------------------------------------------ */

static void learn(struct peer *p, const struct wire_frame *f)
{
	if (p->far_ltag == f->src_ltag)
		return;
	p->far_old_ltag = p->far_ltag;
	p->far_ltag = f->src_ltag;
	new_run(p);
}

static void reflect(struct peer *p, uint8_t kind)
{
	uint8_t hashes[OAE_MAX_SLICES * 8], body[WIRE_PAYLOAD];
	struct wire_frame f = frame(p, OAE_REFLECT);
	unsigned int i;

	for (i = 0; i < p->slices; i++)
		put64(hashes + i * 8, p->hash[i]);
	put64(body + OAE_REFLECT_OFF_DIGEST,
	      wire_hash(hashes, p->slices * 8, 0) + once_in(30));
	put64(body + OAE_REFLECT_OFF_FIRST, p->first + once_in(30));
	f.seq = p->seq;
	f.kind = kind;
	f.length = OAE_REFLECT_LEN;
	if (kind == OAE_SWAP || kind == OAE_VERB) {
		unsigned int more = 1 + dice_below(&dice, 100);

		/* An answer with one old word, as it is to most of our asking. */
		if (kind == OAE_VERB && !once_in(4)) {
			memset(body + f.length, 0, 16);
			body[f.length] = 1;
			more = 16;
		} else {
			memcpy(body + f.length, random_bytes, more);
		}
		f.length += more;
	}
	f.payload = body;
	say(p, &f);
	tally.reflected++;
}

/* It was offered, and is not taken; or it is asked for. */
static void refuse(struct peer *p, const struct wire_frame *f)
{
	struct wire_frame r = frame(p, OAE_REFUSE);

	r.seq = f->seq;
	r.kind = f->kind;
	r.reason = any_reason();
	say(p, &r);
}

static void say_have(struct peer *p, const struct wire_frame *f, uint64_t have)
{
	struct wire_frame r = frame(p, OAE_ACK);
	uint8_t body[OAE_ACK_LEN];

	put64(body, once_in(4) ? (uint64_t)dice_u32(&dice) << 32 : have);
	r.seq = f->seq;
	r.kind = f->kind;
	r.payload = body;
	r.length = sizeof(body);
	say(p, &r);
}

/* The answer to what is here of an offer, true or not. */
static void answer(struct peer *p, const struct wire_frame *f)
{
	int whole = p->slices &&
		    p->have == (p->slices == 64 ? ~0ULL : (1ULL << p->slices) - 1);

	if (once_in(12))
		return;
	if (once_in(24)) {
		refuse(p, f);
	} else if (!whole || once_in(12)) {
		say_have(p, f, p->have);
	} else {
		reflect(p, f->kind);
		if (f->flags & OAE_F_EXPRESS)
			p->rx = f->seq;
	}
}

static void hear_ask(struct peer *p, const struct wire_frame *f)
{
	if (f->seq == p->seq && f->kind == p->kind)
		answer(p, f);
	else
		say_have(p, f, 0);
}

static void hear_offer(struct peer *p, const struct wire_frame *f)
{
	if (f->seq != p->seq || f->kind != p->kind) {
		if (!(f->flags & OAE_F_RESUME))
			p->have = 0;
		p->slices = 0;
		p->seq = f->seq;
		p->kind = f->kind;
	}
	if (f->slice >= OAE_MAX_SLICES)
		return;
	p->hash[f->slice] = wire_hash(f->payload, f->length, f->slice);
	p->have |= 1ULL << f->slice;
	if (!f->slice) {
		uint8_t eight[8] = { 0 };

		memcpy(eight, f->payload, f->length < 8 ? f->length : 8);
		p->first = get64(eight);
	}
	if (f->flags & OAE_F_LAST)
		p->slices = f->slice + 1;
	if (f->marks & OAE_M_ANSWER)
		answer(p, f);
}

/* What I offered was heard: commit, offer nothing instead, or let it lie. */
static void hear_reflect(struct peer *p, const struct wire_frame *f)
{
	struct wire_frame c;

	if (f->seq != p->tx + 1 || f->kind != p->out || once_in(8))
		return;
	if (f->kind != OAE_VOID && once_in(8)) {
		offer_nothing(p);
		return;
	}
	p->tx++;
	p->out = NO_KIND;
	tally.committed += f->kind != OAE_VOID;
	tally.swapped += f->kind == OAE_SWAP;
	tally.verbs += f->kind == OAE_VERB;
	c = frame(p, OAE_COMMIT);
	c.seq = f->seq;
	c.flags = once_in(3) ? OAE_F_WANT_DONE : 0;
	if (!once_in(4))		/* or the next offer will say it */
		say(p, &c);
}

static void hear_sync(struct peer *p, const struct wire_frame *f)
{
	uint64_t inc = get64(f->payload + OAE_SYNC_OFF_INC);

	if (f->opcode == OAE_SYNC_CHK) {
		if (f->dst_ltag == p->ltag)
			say_sync(p, OAE_SYNC, f->src_ltag);
		return;
	}
	if (f->dst_ltag != p->ltag && !once_in(4)) {
		say_sync(p, OAE_SYNC, f->src_ltag);
		learn(p, f);
		return;
	}
	if (inc != p->far_inc) {
		p->far_inc = inc;
		p->rx = get32(f->payload + OAE_SYNC_OFF_START);
		p->tx = 0;
	}
	learn(p, f);
	/* An end that resolves believes what fits. */
	if (f->rx == p->tx + 1)
		p->tx++;
	if (f->tx == p->rx + 1)
		p->rx++;
	if (f->opcode == OAE_SYNC)
		say_sync(p, once_in(2) ? OAE_SYNC : OAE_SYNC_ACK, f->src_ltag);
	else
		tally.opened++;
}

static void hear(struct peer *p, const struct wire_frame *f)
{
	struct wire_frame r;

	tally.heard++;
	if (f->opcode > OAE_SYNC_CHK && f->dst_ltag == p->ltag &&
	    f->tx == p->rx + 1) {
		p->rx = f->tx;
		tally.taken++;
	}
	if (once_in(16))
		return;
	if (is_question(f->opcode) && f->dst_ltag == p->ltag && f->pn > p->heard)
		p->heard = f->pn;
	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		hear_sync(p, f);
		break;
	case OAE_OFFER:
		hear_offer(p, f);
		break;
	case OAE_ASK:
		hear_ask(p, f);
		break;
	case OAE_REFLECT:
		hear_reflect(p, f);
		break;
	case OAE_REFUSE:
		tally.refused++;
		break;
	case OAE_COMMIT:
		if (f->flags & OAE_F_WANT_DONE) {
			r = frame(p, OAE_DONE);
			say(p, &r);
		}
		break;
	case OAE_CLOSE:
		if (!(f->flags & OAE_F_LAST))
			break;
		r = frame(p, OAE_CLOSE_ACK);
		say(p, &r);
		reborn(p);
		break;
	case OAE_NOLINK:
		p->far_ltag = 0;
		break;
	}
}

static void listen_all(void)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct wire_frame f;
	uint8_t buf[2048];
	unsigned int i, most = 64;	/* they may answer each answer, for ever */
	ssize_t n;

	if (poll(&pfd, 1, 0) <= 0)
		return;
	while (most-- && (n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		if (n < (ssize_t)head || wire_parse(&f, buf + head, n - head))
			continue;
		for (i = 0; i < PEERS; i++)
			if (!memcmp(f.flags & OAE_F_VIA ? f.via : f.to,
				    peers[i].mac, 6) &&
			    f.vc == peers[i].vc)
				hear(&peers[i], &f);
	}
}

/* --- the whole ------------------------------------------------------------------------ */

static void keep(const char *path)
{
	unsigned long long n = tally.frames < KEPT ? tally.frames : KEPT, i;
	uint32_t head[] = { 0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1 };
	FILE *file = fopen(path, "wb");

	if (!file)
		die(path);
	fwrite(head, sizeof(head), 1, file);
	for (i = tally.frames - n; i < tally.frames; i++) {
		size_t len = kept[i % KEPT].len;
		uint32_t record[] = { i, 0, len, len };

		fwrite(record, sizeof(record), 1, file);
		fwrite(kept[i % KEPT].bytes, 1, len, file);
	}
	fclose(file);
}

/* A socket for datagrams between two addresses, both at the usual port. */
static int udp_open(const char *own, const char *at)
{
	struct sockaddr_in end = { .sin_family = AF_INET, .sin_port = htons(UDP_PORT) };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	head = UDP_HEAD;
	if (inet_pton(AF_INET, own, &end.sin_addr) != 1 ||
	    bind(sock, (struct sockaddr *)&end, sizeof(end)) ||
	    inet_pton(AF_INET, at, &end.sin_addr) != 1 ||
	    connect(sock, (struct sockaddr *)&end, sizeof(end)))
		return -1;
	return sock;
}

int main(int argc, char **argv)
{
	unsigned long long most;
	unsigned int i, n;
	double until;

	(void)argc;
	program(argv);
	if (mac_parse(option("to", ""), to))
		die("to=MAC is needed");
	dice.state = number("seed", 1);
	most = number("frames", ~0ULL);
	until = now() + seconds_option("seconds", "10");
	for (i = 0; i < sizeof(random_bytes); i++)
		random_bytes[i] = dice_u32(&dice);
	for (i = 0; i < PEERS; i++) {
		peers[i].mac[0] = 2;
		peers[i].mac[1] = 0x0f;
		peers[i].mac[5] = i / CHANNELS;
		peers[i].vc = i % CHANNELS;
		reborn(&peers[i]);
	}
	fd = *option("at", "") ? udp_open(option("own", ""), option("at", "")) :
				 wire_open(option("dev", ""), 1);
	if (fd < 0)
		die("dev=DEV, or own=ADDR at=ADDR");
	ready();
	while (!stop && now() < until && tally.frames < most) {
		n = 1 + dice_below(&dice, once_in(16) ? BURST : 2);
		for (i = 0; i < n; i++)
			act(&peers[dice_below(&dice, PEERS)]);
		listen_all();
	}
	if (option("pcap", NULL))
		keep(option("pcap", NULL));
	printf("fuzzed frames=%llu heard=%llu opened=%llu offered=%llu "
	       "committed=%llu swapped=%llu verbs=%llu refused=%llu "
	       "reflected=%llu taken=%llu altered=%llu seed=%llu\n",
	       tally.frames, tally.heard, tally.opened, tally.offered,
	       tally.committed, tally.swapped, tally.verbs, tally.refused,
	       tally.reflected, tally.taken, tally.altered, number("seed", 1));
	return 0;
}
