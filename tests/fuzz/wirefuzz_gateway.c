// SPDX-License-Identifier: GPL-2.0
/*
 * wirefuzz_gateway: the receive paths of a live gateway, from its zone and from
 * the network.
 *
 *   wirefuzz_gateway dev=DEV to=MAC gateway=IP here=IP mine=ZONE its=ZONE
 *		      [hosts=MAC,...] [seed=N] [seconds=S] [frames=N]
 *
 * dev= is in the gateway's zone, `to` its address there: frames with VIA between
 * nodes here, there and nowhere, HELLOs, all sorts of others. From here= it is
 * spoken to as the gateway of zone `mine`, to zone `its`: beats, nodes that come,
 * go and are claimed, byes, probes, frames. hosts= are real ones that are now and
 * then named in all this. Anything may be a little or quite wrong. Ends after S
 * seconds or N frames, with a bye: "fuzzed frames=N zone=N control=N data=N altered=N
 * seed=N".
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../include/oaeip_wire.h"
#include "../guest/program.h"
#include "../guest/wire.h"

#define NODES		48	/* made up, besides the real hosts */
#define HOSTS		8

static struct {
	unsigned long long frames, zone, control, data, altered;
} tally;

static uint8_t nodes[NODES + HOSTS][6], to[6];
static unsigned int nnodes = NODES;
static uint8_t random_bytes[WIRE_PAYLOAD];
static unsigned int mine, its;
static uint32_t inc = 1, serial;
static struct dice dice;
static int zone_fd, udp_fd;

static int once_in(uint32_t n)
{
	return !dice_below(&dice, n);
}

static uint32_t extreme(uint32_t max)
{
	const uint32_t values[] = { 0, 1, 2, max >> 1, (max >> 1) + 1, max - 1,
				    max, dice_u32(&dice) & max };

	return values[dice_below(&dice, 8)];
}

/* The first few are of my zone as the network knows it; real hosts are rare. */
static const uint8_t *any_node(void)
{
	static uint8_t odd[6];

	if (once_in(40)) {
		put32(odd, dice_u32(&dice));
		put16(odd + 4, dice_u32(&dice));
		return odd;
	}
	if (nnodes > NODES && once_in(50))
		return nodes[NODES + dice_below(&dice, nnodes - NODES)];
	return nodes[dice_below(&dice, NODES)];
}

/* Bytes of a datagram or a frame become others: one flipped, cut, longer. */
static size_t alter(uint8_t *buf, size_t from, size_t len)
{
	tally.altered++;
	switch (dice_below(&dice, 4)) {
	case 0:
		return from + dice_below(&dice, len - from + 1);
	case 1:
		memcpy(buf + len, random_bytes, 8);
		return len + 1 + dice_below(&dice, 8);
	case 2:
		buf[from + dice_below(&dice, len - from)] = extreme(255);
		return len;
	default:
		buf[from + dice_below(&dice, len - from)] ^=
			1 << dice_below(&dice, 8);
		return len;
	}
}

/* A frame with VIA, as a host here or a gateway there would have it. */
static size_t via_frame(uint8_t *buf, const uint8_t *from)
{
	struct wire_frame f = {
		.opcode = 1 + dice_below(&dice, OAE_ACK),
		.vc = dice_below(&dice, 4), .flags = OAE_F_VIA,
		.src_ltag = dice_u32(&dice), .dst_ltag = dice_u32(&dice),
		.seq = 1, .payload = random_bytes,
	};

	f.length = f.opcode <= OAE_SYNC_CHK ? OAE_SYNC_LEN :
		   f.opcode == OAE_OFFER ? dice_below(&dice, 1440) : 0;
	memcpy(f.to, to, 6);
	memcpy(f.from, from, 6);
	memcpy(f.via, any_node(), 6);
	memcpy(f.via + 6, once_in(20) ? any_node() : from, 6);
	return wire_build(&f, buf);
}

static size_t hello(uint8_t *buf, const uint8_t *from)
{
	uint8_t body[OAE_HELLO_LEN] = { 0 };
	struct wire_frame f = { .opcode = OAE_HELLO, .payload = body,
				.length = sizeof(body) };

	memcpy(f.to, to, 6);
	memcpy(f.from, from, 6);
	if (once_in(10))
		memset(f.to, 0xff, 6);
	if (once_in(4))
		body[OAE_HELLO_OFF_FLAGS] = dice_below(&dice, OAE_HELLO_ALL + 1);
	put16(body + OAE_HELLO_OFF_MTU, 1500);
	if (body[0] & OAE_HELLO_GATEWAY) {
		put16(body + OAE_HELLO_OFF_ZONE, extreme(0xffff));
		put32(body + OAE_HELLO_OFF_INC, extreme(0xffffffff));
		put16(body + OAE_HELLO_OFF_LIFE, extreme(0xffff));
	}
	return wire_build(&f, buf);
}

static void say_in_zone(void)
{
	const uint8_t *from = any_node();
	uint8_t buf[WIRE_MAX + 32];
	size_t len = once_in(4) ? hello(buf, from) : via_frame(buf, from);

	if (once_in(8)) {
		len = alter(buf, WIRE_ETH, len);
		if (!once_in(4))
			wire_seal(buf, len);
	}
	if (len > WIRE_MAX)
		len = WIRE_MAX;
	if (send(zone_fd, buf, len, 0) < 0 && errno != ENOBUFS &&
	    errno != EINVAL && errno != ENETDOWN)
		die("send");
	tally.zone++;
}

static size_t control(uint8_t *p)
{
	unsigned int op = 1 + dice_below(&dice, OAEIP_OP_END - 1), n, i;
	size_t len = OAEIP_CTL_LEN;

	if (once_in(2))
		op = OAEIP_NODES;
	if (op == OAEIP_BYE && !once_in(10))
		op = OAEIP_BEAT;
	memset(p, 0, OAEIP_CTL_LEN);
	if (once_in(100))
		inc++;
	serial++;
	p[OAEIP_CTL_OFF_OP] = op;
	put32(p + OAEIP_CTL_OFF_INC, once_in(60) ? extreme(0xffffffff) : inc);
	put32(p + OAEIP_CTL_OFF_SERIAL, once_in(30) ? extreme(0xffffffff) :
	      serial);
	put16(p + OAEIP_CTL_OFF_LIFE, once_in(30) ? extreme(0xffff) : 20);
	if (op == OAEIP_BEAT)
		put16(p + OAEIP_CTL_OFF_SEEN, once_in(4) ? extreme(0xffff) :
		      1400);
	if (op == OAEIP_PROBE) {
		n = dice_below(&dice, 1300);
		memset(p + len, 0, n);
		len += n;
	}
	if (op == OAEIP_NODES) {
		n = 1 + dice_below(&dice, once_in(8) ? OAEIP_MAX_NODES : 8);
		put16(p + OAEIP_CTL_OFF_COUNT, n);
		for (i = 0; i < n; i++, len += OAEIP_NODE_LEN) {
			memcpy(p + len, any_node(), 6);
			p[len + OAEIP_NODE_OFF_FLAGS] = once_in(3) ?
				OAEIP_NODE_GONE : once_in(3) ?
				OAEIP_NODE_CLAIM : 0;
			p[len + OAEIP_NODE_OFF_ZERO] = 0;
		}
	}
	tally.control++;
	return len;
}

/* To the gateway, as from that of another zone. */
static void say_in_tunnel(void)
{
	uint8_t buf[OAEIP_HDR_LEN + WIRE_MAX + 256], frame[WIRE_MAX + 32];
	unsigned int type = once_in(3) ? OAEIP_DATA : OAEIP_CONTROL;
	size_t len;

	if (type == OAEIP_DATA) {
		len = via_frame(frame, any_node()) - WIRE_ETH;
		memcpy(buf + OAEIP_HDR_LEN, frame + WIRE_ETH, len);
		tally.data++;
	} else {
		len = control(buf + OAEIP_HDR_LEN);
	}
	buf[OAEIP_OFF_VER_TYPE] = OAEIP_VERSION << 4 | type;
	buf[OAEIP_OFF_FLAGS] = 0;
	put16(buf + OAEIP_OFF_SRC_ZONE, once_in(100) ? extreme(0xffff) : mine);
	put16(buf + OAEIP_OFF_DST_ZONE, once_in(100) ? extreme(0xffff) : its);
	put16(buf + OAEIP_OFF_LENGTH, len);
	len += OAEIP_HDR_LEN;
	if (once_in(8))
		len = alter(buf, 0, len);
	/* ICMP may have said that something went wrong: not now. */
	send(udp_fd, buf, len, MSG_DONTWAIT);
}

/* Its gateway begins anew, and ends: what it has said of nodes is void, however long its life. */
static void say_bye(void)
{
	uint8_t buf[OAEIP_HDR_LEN + OAEIP_CTL_LEN] = {
		[OAEIP_OFF_VER_TYPE] = OAEIP_VERSION << 4 | OAEIP_CONTROL,
		[OAEIP_HDR_LEN + OAEIP_CTL_OFF_OP] = OAEIP_BYE,
	};
	unsigned int i;

	inc = dice_u32(&dice) | 1;
	put16(buf + OAEIP_OFF_SRC_ZONE, mine);
	put16(buf + OAEIP_OFF_DST_ZONE, its);
	put16(buf + OAEIP_OFF_LENGTH, OAEIP_CTL_LEN);
	put32(buf + OAEIP_HDR_LEN + OAEIP_CTL_OFF_INC, inc);
	put16(buf + OAEIP_HDR_LEN + OAEIP_CTL_OFF_LIFE, 1);
	for (i = 0; i < 3; i++) {
		put32(buf + OAEIP_HDR_LEN + OAEIP_CTL_OFF_SERIAL, ++serial);
		send(udp_fd, buf, sizeof(buf), 0);
		usleep(10000);
	}
}

static void hear_nothing(int fd)
{
	uint8_t buf[2048];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		;
}

static int udp_open(const char *here, const char *gateway)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(OAEIP_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || inet_pton(AF_INET, here, &a.sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    inet_pton(AF_INET, gateway, &a.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	unsigned long long most;
	const char *hosts;
	double until;
	unsigned int i;

	(void)argc;
	program(argv);
	if (mac_parse(option("to", ""), to))
		die("to=MAC is needed");
	mine = number("mine", 3);
	its = number("its", 1);
	dice.state = number("seed", 1);
	most = number("frames", ~0ULL);
	until = now() + seconds_option("seconds", "10");
	for (i = 0; i < sizeof(random_bytes); i++)
		random_bytes[i] = dice_u32(&dice);
	for (i = 0; i < NODES; i++) {
		nodes[i][0] = 2;
		nodes[i][1] = 0x0e;
		nodes[i][5] = i;
	}
	for (hosts = option("hosts", ""); *hosts && nnodes < NODES + HOSTS;
	     hosts += strcspn(hosts, ","), hosts += *hosts == ',')
		if (mac_parse(hosts, nodes[nnodes++]))
			die("hosts=MAC,...");
	/* Later than whatever this address has said before. */
	serial = time(NULL);
	inc = serial | 1;
	zone_fd = wire_open(option("dev", ""), 1);
	if (zone_fd < 0)
		die("dev=DEV");
	udp_fd = udp_open(option("here", ""), option("gateway", ""));
	if (udp_fd < 0)
		die("here=IP gateway=IP");
	ready();
	while (!stop && now() < until && tally.frames < most) {
		if (once_in(2))
			say_in_zone();
		else
			say_in_tunnel();
		if (++tally.frames % 64 == 0) {
			hear_nothing(zone_fd);
			hear_nothing(udp_fd);
		}
	}
	say_bye();
	printf("fuzzed frames=%llu zone=%llu control=%llu data=%llu "
	       "altered=%llu seed=%llu\n", tally.frames, tally.zone,
	       tally.control, tally.data, tally.altered, number("seed", 1));
	return 0;
}
