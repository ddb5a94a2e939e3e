// SPDX-License-Identifier: GPL-2.0
/*
 * blaster: frames of strangers, as many as one processor can send.
 *
 *   blaster dev=DEV to=MAC kind=KIND [from=MAC] [vc=N] [seconds=S] [seed=N]
 *	     [cpu=N] [pps=N] [type=ETHERTYPE] [pcap=FILE]
 *
 *   from=   whose frames they claim to be; otherwise of 2^20 addresses
 *   vc=     on this virtual channel; otherwise on any
 *   pcap=   what kind=replay sends, again and again
 *   type=   of which nobody has heard: what a storm costs the machine alone
 *
 * KIND is one of the names in the table below, or `all` of those, by dice.
 * Ends after S seconds, or on SIGTERM, and says what it has sent:
 * "KIND frames=N refused=N seconds=S ns=N seed=N"; refused: by the device; ns:
 * what a frame takes from here until the other end of a cable has dealt with it,
 * making it not counted, the tenth percentile of batches.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../guest/program.h"
#include "../guest/wire.h"

#define BATCH		64
#define ADDRESSES	0x100000U
#define REPLAY_MAX	65536
#define TIMES		4096	/* batches whose time is kept, by turns */

struct blaster {
	struct dice dice;
	uint8_t to[6];
	uint8_t from[6];
	int forged;		/* from= was given */
	int vc;			/* -1: any */
	uint8_t buf[BATCH][WIRE_MAX];
};

static uint8_t payload[WIRE_PAYLOAD];
static uint64_t hashes[OAE_MAX_SLICES];	/* of a full payload, by slice */

static struct {
	uint8_t *bytes;
	size_t len;
} recorded[REPLAY_MAX];
static unsigned int nrecorded, replay_at;

/* Who says it, to whom, and ltags out of the air. */
static void begin(struct blaster *b, struct wire_frame *f)
{
	uint32_t who = dice_below(&b->dice, ADDRESSES);

	memset(f, 0, sizeof(*f));
	memcpy(f->to, b->to, 6);
	if (b->forged) {
		memcpy(f->from, b->from, 6);
	} else {
		f->from[0] = 2;
		f->from[1] = 0x0b;
		put32(f->from + 2, who);
	}
	f->vc = b->vc < 0 ? dice_u32(&b->dice) : (uint32_t)b->vc;
	f->src_ltag = dice_u32(&b->dice) | 1;
	f->dst_ltag = dice_u32(&b->dice) | 1;
	f->tx = dice_below(&b->dice, 1000);
	f->rx = dice_below(&b->dice, 1000);
	f->seq = f->tx + 1;
	f->grant = dice_u32(&b->dice);
	f->payload = payload;
}

static void body(struct wire_frame *f, uint16_t length)
{
	f->length = length;
	f->hash = length == sizeof(payload) ?
		  hashes[f->slice % OAE_MAX_SLICES] : 0;
}

static void sync_body(struct blaster *b)
{
	put32(payload + OAE_SYNC_OFF_INC, dice_u32(&b->dice));
	put32(payload + OAE_SYNC_OFF_INC + 4, dice_u32(&b->dice));
	put64(payload + OAE_SYNC_OFF_PEER_INC, 0);
	put32(payload + OAE_SYNC_OFF_CAPS, 0);
	put32(payload + OAE_SYNC_OFF_MAX_LEN, 65536);
	put32(payload + OAE_SYNC_OFF_START, 0);
	put16(payload + OAE_SYNC_OFF_MTU, 1500);
	memset(payload + OAE_SYNC_OFF_ZERO, 0, OAE_SYNC_LEN - OAE_SYNC_OFF_ZERO);
}

/* --- the kinds: each says what is its own, and how long its payload is ------ */

static void of_sync(struct blaster *b, struct wire_frame *f)
{
	sync_body(b);
	f->dst_ltag = 0;
	body(f, OAE_SYNC_LEN);
}

/* Naming a cookie, or my ltag, that was guessed. */
static void of_guess(struct blaster *b, struct wire_frame *f)
{
	sync_body(b);
	body(f, OAE_SYNC_LEN);
}

static void of_reflect(struct blaster *b, struct wire_frame *f)
{
	(void)b;
	body(f, OAE_REFLECT_LEN);
}

static void of_refuse(struct blaster *b, struct wire_frame *f)
{
	static const uint8_t reasons[] = { OAE_R_BUSY, OAE_R_NO_HALF, OAE_R_CONFLICT,
					   OAE_R_TOO_BIG, OAE_R_KIND };

	f->reason = reasons[dice_below(&b->dice, sizeof(reasons))];
}

static void of_ack(struct blaster *b, struct wire_frame *f)
{
	(void)b;
	body(f, OAE_ACK_LEN);
}

static void of_close(struct blaster *b, struct wire_frame *f)
{
	static const uint16_t reasons[] = { 0, OAE_R_POLICY, OAE_R_FULL };

	f->reason = reasons[dice_below(&b->dice, 3)];
}

/* The dearest to look at: as long as the wire takes. */
static void of_offer(struct blaster *b, struct wire_frame *f)
{
	f->slice = dice_below(&b->dice, OAE_MAX_SLICES);
	f->flags = dice_below(&b->dice, 2) ? OAE_F_LAST : 0;
	f->flags |= dice_below(&b->dice, 2) ? OAE_F_EXPRESS : 0;
	f->marks = OAE_M_ANSWER;
	body(f, sizeof(payload));
}

static void of_swap(struct blaster *b, struct wire_frame *f)
{
	(void)b;
	f->kind = OAE_SWAP;
	f->flags = OAE_F_LAST;
	body(f, 200);
}

static void of_verb(struct blaster *b, struct wire_frame *f)
{
	(void)b;
	f->kind = OAE_VERB;
	f->flags = OAE_F_LAST;
	body(f, OAE_VERB_HDR_LEN + OAE_VOP_HDR_LEN);
}

static void of_hello(struct blaster *b, struct wire_frame *f)
{
	f->src_ltag = f->dst_ltag = f->tx = f->rx = f->seq = f->grant = 0;
	payload[OAE_HELLO_OFF_FLAGS] = dice_below(&b->dice, OAE_HELLO_ALL + 1);
	body(f, OAE_HELLO_LEN);
}

/* A probe, whose proof is a guess. */
static void of_path(struct blaster *b, struct wire_frame *f)
{
	unsigned int i;

	f->src_ltag = f->dst_ltag = f->tx = f->rx = f->seq = f->grant = 0;
	payload[OAE_PATH_OFF_ROLE] = 1 + dice_below(&b->dice, OAE_PATH_ANSWER);
	payload[OAE_PATH_OFF_ZERO] = 0;
	put16(payload + OAE_PATH_OFF_MTU, 1500);
	memcpy(payload + OAE_PATH_OFF_TO, f->to, 6);
	memcpy(payload + OAE_PATH_OFF_FROM, f->from, 6);
	for (i = OAE_PATH_OFF_NONCE; i < OAE_PATH_LEN; i += 4)
		put32(payload + i, dice_u32(&b->dice));
	body(f, OAE_PATH_LEN);
}

static void of_nolink(struct blaster *b, struct wire_frame *f)
{
	(void)b;
	f->grant = 0;
}

static void of_nothing(struct blaster *b, struct wire_frame *f)
{
	(void)b;
	(void)f;
}

static const struct kind {
	const char *name;
	uint8_t opcode;
	void (*fill)(struct blaster *b, struct wire_frame *f);
} kinds[] = {
	{ "sync", OAE_SYNC, of_sync },
	{ "guess", OAE_SYNC, of_guess },
	{ "sync-ack", OAE_SYNC_ACK, of_guess },
	{ "sync-chk", OAE_SYNC_CHK, of_guess },
	{ "close", OAE_CLOSE, of_close },
	{ "close-ack", OAE_CLOSE_ACK, of_nothing },
	{ "offer", OAE_OFFER, of_offer },
	{ "swap", OAE_OFFER, of_swap },
	{ "verb", OAE_OFFER, of_verb },
	{ "reflect", OAE_REFLECT, of_reflect },
	{ "commit", OAE_COMMIT, of_nothing },
	{ "refuse", OAE_REFUSE, of_refuse },
	{ "ready", OAE_READY, of_nothing },
	{ "done", OAE_DONE, of_nothing },
	{ "hello", OAE_HELLO, of_hello },
	{ "nolink", OAE_NOLINK, of_nolink },
	{ "path", OAE_PATH, of_path },
	{ "ask", OAE_ASK, of_nothing },
	{ "ack", OAE_ACK, of_ack },
	{ "unknown", OAE_OPCODE_END, of_nothing },
	/* These have no frame to begin with: below. */
	{ "extremes", 0, NULL },
	{ "garbage", 0, NULL },
};

#define KINDS	(sizeof(kinds) / sizeof(*kinds))

/* --- frames as bytes --------------------------------------------------------- */

static uint32_t extreme(struct blaster *b, uint32_t max)
{
	const uint32_t values[] = { 0, 1, 2, max >> 1, (max >> 1) + 1, max - 1,
				    max, dice_u32(&b->dice) & max };

	return values[dice_below(&b->dice, 8)];
}

/* Every field at an end of what it can say; three of four digests are right. */
static size_t make_extremes(struct blaster *b, uint8_t *buf)
{
	static const uint16_t sizes[] = { WIRE_ETH, WIRE_ETH + 1, 61, 62, 68, 74,
					  78, 126, 138, 200, 1513, WIRE_MAX };
	size_t len = sizes[dice_below(&b->dice, 12)];
	uint8_t *p = buf + WIRE_ETH;
	struct wire_frame f;

	begin(b, &f);
	f.length = sizeof(payload);
	f.hash = 1;
	wire_build(&f, buf);
	if (dice_below(&b->dice, 4) == 0)
		p[OAE_OFF_VER_EXT] = dice_u32(&b->dice);
	p[OAE_OFF_OPCODE] = dice_below(&b->dice, 4) ?
			    1 + dice_below(&b->dice, OAE_PATH + 1) :
			    dice_u32(&b->dice);
	p[OAE_OFF_FLAGS] = extreme(b, 255);
	if (p[OAE_OFF_FLAGS] & OAE_F_VIA && dice_below(&b->dice, 2))
		p[OAE_OFF_VER_EXT] = OAE_VERSION << 4 | OAE_EXT_WORDS(OAE_VIA_LEN);
	put16(p + OAE_OFF_LENGTH, dice_below(&b->dice, 2) ?
	      extreme(b, 0xffff) :
	      len - WIRE_ETH - OAE_HDR_LEN - (p[OAE_OFF_VER_EXT] & 15) * 4);
	p[OAE_OFF_SLICE] = dice_below(&b->dice, 2) ? 0 : extreme(b, 255);
	put32(p + OAE_OFF_SRC_LTAG, extreme(b, 0xffffffff));
	put32(p + OAE_OFF_DST_LTAG, extreme(b, 0xffffffff));
	put32(p + OAE_OFF_TX, extreme(b, 0xffffffff));
	put32(p + OAE_OFF_RX, extreme(b, 0xffffffff));
	put32(p + OAE_OFF_SEQ, extreme(b, 0xffffffff));
	p[OAE_OFF_KIND] = dice_below(&b->dice, 2) ? 0 : extreme(b, 255);
	put16(p + OAE_OFF_GRANT, dice_below(&b->dice, 2) ? 0 : extreme(b, 0xffff));
	p[OAE_OFF_REASON] = dice_below(&b->dice, 2) ? 0 : extreme(b, 255);
	p[OAE_OFF_MARKS] = dice_below(&b->dice, 2) ? 0 : extreme(b, 255);
	put32(p + OAE_OFF_PN, dice_below(&b->dice, 2) ? 0 : extreme(b, 0xffffffff));
	put32(p + OAE_OFF_MAP, dice_below(&b->dice, 2) ? 0 : extreme(b, 0xffffffff));
	if (dice_below(&b->dice, 4))
		wire_seal(buf, len);
	return len;
}

static size_t make_garbage(struct blaster *b, uint8_t *buf)
{
	size_t len = WIRE_ETH + 1 + dice_below(&b->dice, 200), i;
	struct wire_frame f;

	begin(b, &f);
	wire_build(&f, buf);
	for (i = WIRE_ETH; i < len; i += 4)
		put32(buf + i, dice_u32(&b->dice));
	return len;
}

static size_t make_replay(uint8_t *buf)
{
	size_t len = recorded[replay_at].len;

	memcpy(buf, recorded[replay_at].bytes, len);
	replay_at = (replay_at + 1) % nrecorded;
	return len;
}

static size_t make(struct blaster *b, const struct kind *k, uint8_t *buf)
{
	struct wire_frame f;

	if (!strcmp(k->name, "extremes"))
		return make_extremes(b, buf);
	if (!strcmp(k->name, "garbage"))
		return make_garbage(b, buf);
	begin(b, &f);
	f.opcode = k->opcode;
	k->fill(b, &f);
	return wire_build(&f, buf);
}

/* --- a recording --------------------------------------------------------------- */

/* The frames of a pcap file, of this byte order, that went to @to. */
static void read_pcap(const char *path, const uint8_t to[6])
{
	uint32_t head[6], record[4];
	FILE *file = fopen(path, "rb");
	uint8_t buf[65536];

	if (!file || fread(head, sizeof(head), 1, file) != 1)
		die(path);
	while (nrecorded < REPLAY_MAX &&
	       fread(record, sizeof(record), 1, file) == 1) {
		if (record[2] > sizeof(buf) ||
		    fread(buf, 1, record[2], file) != record[2])
			die(path);
		if (record[2] > WIRE_MAX || memcmp(buf, to, 6))
			continue;
		recorded[nrecorded].bytes = malloc(record[2]);
		if (!recorded[nrecorded].bytes)
			die("no memory");
		memcpy(recorded[nrecorded].bytes, buf, record[2]);
		recorded[nrecorded++].len = record[2];
	}
	fclose(file);
	errno = 0;
	if (!nrecorded)
		die("nothing was recorded that went there");
}

/* --- sending ---------------------------------------------------------------------- */

/* All of a batch; how many the device did not take. */
static unsigned int send_batch(int fd, struct mmsghdr *m, unsigned int n)
{
	unsigned int refused = 0;
	int sent;

	while (n) {
		sent = sendmmsg(fd, m, n, 0);
		if (sent < 0) {
			if (errno == EINTR)
				continue;
			if (errno != ENOBUFS && errno != ENETDOWN &&
			    errno != EAGAIN)
				die("sendmmsg");
			refused++;
			sent = 1;
		}
		m += sent;
		n -= sent;
	}
	return refused;
}

static void pause_until(double when)
{
	double left = when - now();
	struct timespec t = { .tv_nsec = left * 1e9 };

	if (left > 0 && left < 1)
		nanosleep(&t, NULL);
}

static int earlier(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static double tenth(double *times, unsigned long long n)
{
	if (n > TIMES)
		n = TIMES;
	qsort(times, n, sizeof(*times), earlier);
	return n ? times[n / 10] : 0;
}

static void blast(struct blaster *b, int fd, const char *name, double seconds,
		  double pps)
{
	unsigned long long frames = 0, refused = 0, batches = 0;
	static double times[TIMES];
	const struct kind *k = NULL, *any;
	struct mmsghdr m[BATCH] = { 0 };
	struct iovec iov[BATCH];
	double began = now(), before;
	uint64_t seed = b->dice.state;
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			k = &kinds[i];
	if (!k && strcmp(name, "all") && strcmp(name, "replay"))
		die(name);
	for (i = 0; i < BATCH; i++) {
		iov[i].iov_base = b->buf[i];
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	while (!stop && now() - began < seconds) {
		for (i = 0; i < BATCH; i++) {
			if (nrecorded) {
				iov[i].iov_len = make_replay(b->buf[i]);
				continue;
			}
			any = &kinds[dice_below(&b->dice, KINDS)];
			iov[i].iov_len = make(b, k ? k : any, b->buf[i]);
		}
		before = now();
		refused += send_batch(fd, m, BATCH);
		times[batches++ % TIMES] = now() - before;
		frames += BATCH;
		if (pps > 0)
			pause_until(began + frames / pps);
	}
	printf("%s frames=%llu refused=%llu seconds=%.3f ns=%.0f seed=%llu\n",
	       name, frames, refused, now() - began,
	       tenth(times, batches) / BATCH * 1e9, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
	const char *from, *pcap;
	static struct blaster b;
	cpu_set_t set;
	unsigned int i;
	int fd;

	(void)argc;
	program(argv);
	wire_type = number("type", OAE_ETHERTYPE);
	if (mac_parse(option("to", ""), b.to))
		die("to=MAC is needed");
	from = option("from", NULL);
	b.forged = !!from;
	if (from && mac_parse(from, b.from))
		die("from=MAC");
	b.vc = number("vc", -1);
	b.dice.state = number("seed", 1);
	for (i = 0; i < sizeof(payload); i++)
		payload[i] = i * 7;
	for (i = 0; i < OAE_MAX_SLICES; i++)
		hashes[i] = wire_hash(payload, sizeof(payload), i);
	pcap = option("pcap", NULL);
	if (pcap)
		read_pcap(pcap, b.to);
	CPU_ZERO(&set);
	CPU_SET(number("cpu", 0), &set);
	if (option("cpu", NULL) && sched_setaffinity(0, sizeof(set), &set))
		die("cpu=N");
	fd = wire_open(option("dev", ""), 0);
	if (fd < 0)
		die("dev=DEV");
	ready();
	blast(&b, fd, option("kind", "all"), seconds_option("seconds", "1e9"),
	      seconds_option("pps", "0"));
	return 0;
}
