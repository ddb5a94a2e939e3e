// SPDX-License-Identifier: GPL-2.0
/* What of liboae needs no module: errors, addresses, operations, refusals. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <oae.h>
#include "../unit/unit.h"

/* Every number of the header's table and what it must mean. */
static const struct {
	int err;
	enum oae_ending ending;
} meanings[] = {
	{ 0, OAE_COMMITTED },		   { EOVERFLOW, OAE_COMMITTED },
	{ EINTR, OAE_REVERSED },	   { ECANCELED, OAE_REVERSED },
	{ ETIME, OAE_REVERSED },	   { ENOLINK, OAE_REVERSED },
	{ ESHUTDOWN, OAE_REVERSED },	   { EPIPE, OAE_REVERSED },
	{ ECONNREFUSED, OAE_REVERSED },	   { EMSGSIZE, OAE_REVERSED },
	{ EOPNOTSUPP, OAE_REVERSED },	   { ENXIO, OAE_REVERSED },
	{ ERANGE, OAE_REVERSED },	   { EACCES, OAE_REVERSED },
	{ EBADMSG, OAE_REVERSED },	   { EOWNERDEAD, OAE_UNKNOWN },
	{ EINPROGRESS, OAE_NOT_YET },	   { EAGAIN, OAE_NOTHING },
	{ EFAULT, OAE_NOTHING },	   { EINVAL, OAE_NOTHING },
	{ ENOMEM, OAE_NOTHING },	   { ENOTCONN, OAE_NOTHING },
	{ ENODEV, OAE_NOTHING },	   { EBADF, OAE_NOTHING },
	{ EPERM, OAE_NOTHING },		   { ENOTTY, OAE_NOTHING },
	{ EEXIST, OAE_NOTHING },	   { EISCONN, OAE_NOTHING },
	{ EADDRINUSE, OAE_NOTHING },	   { ENOBUFS, OAE_NOTHING },
	{ ENOENT, OAE_NOTHING },	   { EDESTADDRREQ, OAE_NOTHING },
	{ EHOSTUNREACH, OAE_NOTHING },	   { EBUSY, OAE_NOTHING },
	{ EXDEV, OAE_NOTHING },		   { EPROTO, OAE_NOTHING },
};

#define SIZE_OF(array) (sizeof(array) / sizeof((array)[0]))

TEST(test_errors)
{
	const char *foreign = oae_strerror(ENOSPC);

	for (size_t i = 0; i < SIZE_OF(meanings); i++) {
		assert_int_equal(oae_outcome(meanings[i].err), meanings[i].ending);
		assert_string_not_equal(oae_strerror(meanings[i].err), foreign);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(oae_strerror(meanings[i].err),
						oae_strerror(meanings[j].err));
	}
	/* of no other number can anything be said */
	for (int err = -1; err < 200; err++) {
		size_t i = 0;

		while (i < SIZE_OF(meanings) && meanings[i].err != err)
			i++;
		if (i < SIZE_OF(meanings))
			continue;
		assert_int_equal(oae_outcome(err), OAE_UNKNOWN);
		assert_string_equal(oae_strerror(err), foreign);
	}
}

/* For comparing with the Python module: "errno ending text" a line. */
static void print_errors(void)
{
	for (size_t i = 0; i < SIZE_OF(meanings); i++)
		printf("%d\t%s\t%s\n", meanings[i].err, oae_outcome_name(meanings[i].ending),
		       oae_strerror(meanings[i].err));
}

TEST(test_names)
{
	assert_string_equal(oae_state_name(0), "closed");
	assert_string_equal(oae_state_name(3), "open");
	assert_string_equal(oae_state_name(6), "?");
	assert_string_equal(oae_waits_name(OAE_WAITS_NOTHING), "nothing");
	assert_string_equal(oae_waits_name(OAE_WAITS_CONFIRM), "confirm");
	assert_string_equal(oae_waits_name(OAE_WAITS_CONFIRM + 1), "?");
	assert_string_equal(oae_event_name(OAE_EVENT_LOST), "something lost");
	assert_string_equal(oae_event_name(OAE_EVENT_LOST << 1), "?");
	assert_string_equal(oae_event_name(OAE_EVENT_UP | OAE_EVENT_DOWN), "?");
	assert_string_equal(oae_outcome_name(OAE_UNKNOWN), "unknown");
	assert_string_equal(oae_outcome_name((enum oae_ending)77), "?");
}

static void hosts(const char *text)
{
	char name[] = "/tmp/oae-hosts-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	setenv("OAE_HOSTS", name, 1);
}

static void no_hosts(void)
{
	unlink(getenv("OAE_HOSTS"));
	unsetenv("OAE_HOSTS");
}

static void is_address(const char *text, const char *port, const char *peer, uint64_t id)
{
	char as_text[OAE_PEER_TEXT];
	struct oae_address a;

	memset(&a, 0x55, sizeof(a));
	assert_int_equal(oae_parse_address(text, &a), 0);
	assert_string_equal(a.port, port);
	assert_int_equal(a.id, id);
	assert_string_equal(oae_format_peer(a.peer, as_text), peer);
}

#define ZERO	"00:00:00:00:00:00"
#define MAC	"02:0a:e0:00:00:07"

TEST(test_where)
{
	static const char *const bad[] = {
		"", "/", "/" MAC, "eth0/", "a/b/" MAC, "id:", "id:0", "id:ffffffffffff", "id:1x",
		"id:10000000000000000", "id:" MAC, "averyverylongname/" MAC, "02:0a:e0:00:00",
		"eth1/both", "wrong", "again", "noaddress",
	};
	struct oae_address a, before;

	hosts("# NAME ADDRESS\n"
	      "  one\t" MAC "  # a comment\n"
	      "two id:1020ae0000007\n\nnoaddress\n"
	      "both eth0/" MAC "\nbeef " MAC "\n#hidden " MAC "\n"
	      "wrong 02:0a\nagain one\ntwo " MAC "\n");
	is_address(MAC, "", MAC, 0);
	is_address("eth0/" MAC, "eth0", MAC, 0);
	is_address("id:1000000000000", "", ZERO, 1ULL << 48);
	is_address("eth0/id:00FFffFFffFFffFFff", "eth0", ZERO, ~0ULL);
	is_address("one", "", MAC, 0);
	is_address("eth0/one", "eth0", MAC, 0);
	is_address("two", "", ZERO, 0x1020ae0000007);
	is_address("both", "eth0", MAC, 0);
	is_address("eth0/both", "eth0", MAC, 0);
	is_address("beef", "", MAC, 0);
	memset(&before, 0x55, sizeof(before));
	for (size_t i = 0; i < SIZE_OF(bad); i++) {
		a = before;
		assert_int_equal(oae_parse_address(bad[i], &a), -1);
		assert_int_equal(errno, strcmp(bad[i], "noaddress") ? EINVAL : ENOENT);
		assert_memory_equal(&a, &before, sizeof(a));
	}
	assert_int_equal(oae_parse_address("hidden", &a), -1);
	assert_int_equal(errno, ENOENT);
	no_hosts();
	setenv("OAE_HOSTS", "/nonexistent/hosts", 1);
	assert_int_equal(oae_parse_address("one", &a), -1);
	assert_int_equal(errno, ENOENT);
	unsetenv("OAE_HOSTS");
}

TEST(test_addresses)
{
	static const char *const bad[] = {
		"",		      "0",		     "02",
		"02:",		      "02:0a:e0:00:00",	     "02:0a:e0:00:00:",
		"02:0a:e0:00:00:0",   "02:0a:e0:00:00:011",  "02:0a:e0:00:00:01:",
		"02:0a-e0:00:00:01",  "02-0a:e0-00:00-01",   "020ae0000001",
		" 02:0a:e0:00:00:01", "02:0a:e0:00:00:01\n", "02:0a:e0:00:00:0g",
		"2:a:e0:0:0:1",	      "02.0a.e0.00.00.01",   "-2:0a:e0:00:00:01",
	};
	static const unsigned char want[] = { 0x02, 0x0a, 0xe0, 0x00, 0xbc, 0xff };
	unsigned char peer[OAE_PEER_LEN] = { 0 };
	char text[OAE_PEER_TEXT];

	assert_int_equal(oae_parse_peer("02:0a:e0:00:bC:FF", peer), 0);
	assert_memory_equal(peer, want, sizeof(want));
	assert_ptr_equal(oae_format_peer(peer, text), text);
	assert_string_equal(text, "02:0a:e0:00:bc:ff");
	memset(peer, 0, sizeof(peer));
	assert_int_equal(oae_parse_peer("02-0a-e0-00-bc-ff", peer), 0);
	assert_memory_equal(peer, want, sizeof(want));
	for (size_t i = 0; i < SIZE_OF(bad); i++) {
		errno = 0;
		assert_int_equal(oae_parse_peer(bad[i], peer), -1);
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(peer, want, sizeof(want));
	}
}

TEST(test_operations)
{
	static const uint64_t two[] = { 3, 4 }, was[] = { 1, 2 };
	uint64_t many[9] = { 0 };
	struct oae_verb_op op;

	op = oae_op_cas(16, was, two, 2);
	assert_int_equal(op.code, OAE_VERB_CAS);
	assert_int_equal(op.words, 2);
	assert_int_equal(op.zero, 0);
	assert_int_equal(op.offset, 16);
	assert_memory_equal(op.cmp, was, sizeof(was));
	assert_memory_equal(op.arg, two, sizeof(two));
	assert_memory_equal(op.arg + 2, many, 6 * sizeof(uint64_t));
	assert_memory_equal(op.old, many, sizeof(op.old));

	op = oae_op_fetch_add(8, (uint64_t)-1);
	assert_int_equal(op.code, OAE_VERB_FETCH_ADD);
	assert_int_equal(op.words, 1);
	assert_true(op.arg[0] == UINT64_MAX);
	assert_int_equal(oae_op_read(0, 8).words, 8);
	assert_int_equal(oae_op_read(0, 8).code, OAE_VERB_READ);
	assert_int_equal(oae_op_write(0, two, 2).code, OAE_VERB_WRITE);
	assert_int_equal(oae_op_exchange(0, two, 2).code, OAE_VERB_EXCHANGE);
	/* too many: none, which the kernel refuses; and nothing is read beyond */
	assert_int_equal(oae_op_write(0, many, 9).words, 0);
	assert_int_equal(oae_op_read(0, 257).words, 0);
}

#define refused(code, call) do { \
	errno = 0; \
	assert_int_equal(call, -1); \
	assert_int_equal(errno, code); \
} while (0)

/* What the library refuses by itself, and what another file says. */
TEST(test_refusals)
{
	static const unsigned char peer[] = { 2, 0, 0, 0, 0, 1 };
	struct oae_verb_op op = oae_op_read(0, 1);
	struct oae_outcomes outcomes = { 0 };
	struct oae_status status;
	struct oae_peer who;
	char byte = 0;
	int pipes[2];

	refused(EINVAL, oae_open(NULL, peer, -1, 0));
	refused(EINVAL, oae_open(NULL, peer, 256, 0));
	refused(EINVAL, oae_open(NULL, NULL, 0, 0));
	refused(EINVAL, oae_open("a-name-that-is-16", peer, 0, 0));
	refused(EINVAL, oae_open(NULL, peer, 0, 0x10));
	refused(EINVAL, oae_listen(NULL, peer, -2, 0));
	refused(EINVAL, oae_listen(NULL, peer, 0, OAE_OPEN_NOW));

	assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
	refused(EINVAL, oae_send(pipes[1], "x", 1));
	refused(EINVAL, (int)oae_swap(pipes[1], "x", 1, &byte, 1));
	refused(EINVAL, oae_verb(pipes[1], 1, &op, 1, NULL));
	refused(EAGAIN, oae_next_peer(pipes[0], &who));
	assert_int_equal(fcntl(pipes[1], F_SETFL, 0), 0);
	refused(EINVAL, oae_queue(pipes[1], "x", 1));
	refused(ENOTTY, (int)oae_swap(pipes[1], "x", 1, &byte, 1));
	refused(ENOTTY, oae_verb(pipes[1], 1, &op, 1, NULL));
	refused(ENOTTY, oae_local(pipes[1], &op, 1, NULL));
	refused(ENOTTY, oae_status(pipes[1], &status));
	refused(ENOTTY, oae_cancel(pipes[1], 0));
	errno = 0;
	assert_null(oae_next_outcome(pipes[1], &outcomes));
	assert_int_equal(errno, ENOTTY);
	oae_outcomes_free(&outcomes);
	close(pipes[1]);
	/* end of file: nobody will come */
	refused(ENODEV, oae_next_peer(pipes[0], &who));
	close(pipes[0]);
	refused(EBADF, oae_send(pipes[0], "x", 1));
}

/* Sizes and requests, for comparing with the Python module. */
static void print_layout(void)
{
#define SIZE(type) printf("%s\t%zu\n", #type, sizeof(struct type))
	SIZE(oae_attach);
	SIZE(oae_peer);
	SIZE(oae_options);
	SIZE(oae_swap);
	SIZE(oae_verb_op);
	SIZE(oae_verb);
	SIZE(oae_verb_result);
	SIZE(oae_expose);
	SIZE(oae_outcome_rec);
	SIZE(oae_collect);
	SIZE(oae_status);
	SIZE(oae_ring);
	SIZE(oae_ring_add);
	SIZE(oae_bell);
	SIZE(oae_chunk);
#define REQUEST(name) printf("%s\t%lu\n", #name, (unsigned long)OAE_##name)
	REQUEST(ATTACH);
	REQUEST(SET_OPTIONS);
	REQUEST(GET_OPTIONS);
	REQUEST(STATUS);
	REQUEST(COLLECT);
	REQUEST(CANCEL);
	REQUEST(SWAP_HALF);
	REQUEST(DO_VERB);
	REQUEST(EXPOSE);
	REQUEST(LOCAL);
	REQUEST(RING);
	REQUEST(RING_ADD);
	REQUEST(RING_BELL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "errors")) {
		print_errors();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "layout")) {
		print_layout();
		return 0;
	}
	return UNIT_RUN("the library alone");
}
