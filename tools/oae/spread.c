// SPDX-License-Identifier: GPL-2.0
/*
 * oae spread: the kernel tells links apart, so that RPS gives them to several processors.
 *
 * The kernel's hash of flows knows IP, so it is the same for all frames of the module. Here a
 * flow dissector in BPF is added, which hands over src_ltag of such a frame as if that were two
 * ports, and leaves all other frames to the kernel. The latter needs Linux 6.1: before, a
 * dissector in BPF is the only one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../include/oae_wire.h"
#include "cmd.h"
#include "error.h"
#include "json.h"
#include "knobs.h"

#define CONTINUE	129	/* BPF_FLOW_DISSECTOR_CONTINUE, which older headers lack */
#define NAME		"oae_spread"
#define LOG		4096	/* bytes of what the verifier says */

static const char doc[] =
	"Lets the kernel tell links apart: with RPS several processors share them.\n"
	"\vExamples:\n"
	"  oae spread on      each link has a processor, by its ltag\n"
	"  oae spread         is it so?\n"
	"  oae spread off     all links of a queue have the same one again\n"
	"\n"
	"It adds a flow dissector (BPF) to this network namespace; that of the first one is for all. "
	"Which processors RPS may use is in /sys/class/net/DEV/queues/rx-*/rps_cpus. Of UDP ports it "
	"changes nothing.\n"
	"JSON: an array with an object: spread (on, off, other: somebody else's dissector is there).\n"
	"Exit: 1 the kernel is older than Linux 6.1, or somebody else's dissector is there.\n";

static const char *const verbs[] = { "on", "off", "show", NULL };

enum { ON, OFF, SHOW };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	unsigned int *verb = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num)
		usage_error(state, "\"%s\" is too much", arg);
	*verb = word_arg(state, "", arg, verbs);
	return 0;
}

static const struct argp argp = { NULL, parse, "[show]\non\noff", doc, common_options, NULL, NULL };

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

/* Of the module that is loaded. */
static unsigned int ethertype = OAE_ETHERTYPE;

static void take_ethertype(const char *name, const char *value, const char *takes)
{
	(void)takes;
	if (!strcmp(name, "ethertype"))
		ethertype = strtoul(value, NULL, 16);
}

#define INSN(_code, _dst, _src, _off, _imm)						\
	{ .code = (_code), .dst_reg = (_dst), .src_reg = (_src), .off = (_off), .imm = (_imm) }
#define MOVE(_dst, _src)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, _dst, _src, 0, 0)
#define SET(_dst, _imm)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, _dst, 0, 0, _imm)
#define ADD(_dst, _imm)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, _dst, 0, 0, _imm)
#define LOAD(_size, _dst, _src, _off)	INSN(BPF_LDX | BPF_MEM | (_size), _dst, _src, _off, 0)
#define STORE(_size, _dst, _src, _off)	INSN(BPF_STX | BPF_MEM | (_size), _dst, _src, _off, 0)
/* Jumps from instruction @_at to @_to. */
#define IF(_at, _op, _reg, _imm, _to)	\
	INSN(BPF_JMP | BPF_K | (_op), _reg, 0, (_to) - (_at) - 1, _imm)
#define CALL(_function)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, _function)
#define EXIT			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define KEY(_member)	((short)offsetof(struct bpf_flow_keys, _member))

/* Where to in the program. */
enum { NOT_OURS = 7, TAGGED = 9, OURS = 19 };

/* Loads the dissector. Its descriptor, or -1, and @log has what the verifier says. */
static int load(char log[LOG])
{
	const struct bpf_insn program[] = {
		/* r6: the frame, r7: its keys, r8: where in it to look */
		MOVE(BPF_REG_6, BPF_REG_1),
		LOAD(BPF_DW, BPF_REG_7, BPF_REG_6, offsetof(struct __sk_buff, flow_keys)),
		LOAD(BPF_H, BPF_REG_8, BPF_REG_7, KEY(nhoff)),
		LOAD(BPF_H, BPF_REG_1, BPF_REG_7, KEY(n_proto)),
		IF(4, BPF_JEQ, BPF_REG_1, htons(ethertype), OURS),
		IF(5, BPF_JEQ, BPF_REG_1, htons(ETH_P_8021Q), TAGGED),
		IF(6, BPF_JEQ, BPF_REG_1, htons(ETH_P_8021AD), TAGGED),
		/* NOT_OURS */
		SET(BPF_REG_0, CONTINUE),
		EXIT,
		/* TAGGED: four bytes go to the stack, the last two say what it is */
		MOVE(BPF_REG_1, BPF_REG_6),
		MOVE(BPF_REG_2, BPF_REG_8),
		MOVE(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -4),
		SET(BPF_REG_4, 4),
		CALL(BPF_FUNC_skb_load_bytes),
		IF(15, BPF_JNE, BPF_REG_0, 0, NOT_OURS),
		LOAD(BPF_H, BPF_REG_1, BPF_REG_10, -2),
		IF(17, BPF_JNE, BPF_REG_1, htons(ethertype), NOT_OURS),
		ADD(BPF_REG_8, 4),
		/* OURS */
		ADD(BPF_REG_8, OAE_OFF_SRC_LTAG),
		MOVE(BPF_REG_1, BPF_REG_6),
		MOVE(BPF_REG_2, BPF_REG_8),
		MOVE(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -4),
		SET(BPF_REG_4, 4),
		CALL(BPF_FUNC_skb_load_bytes),
		IF(26, BPF_JNE, BPF_REG_0, 0, NOT_OURS),
		LOAD(BPF_W, BPF_REG_1, BPF_REG_10, -4),
		/* sport and dport */
		STORE(BPF_W, BPF_REG_7, BPF_REG_1, KEY(sport)),
		SET(BPF_REG_0, BPF_OK),
		EXIT,
	};
	static const char license[] = "GPL";
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_FLOW_DISSECTOR;
	attr.insns = (uintptr_t)program;
	attr.insn_cnt = sizeof(program) / sizeof(*program);
	attr.license = (uintptr_t)license;
	attr.log_buf = (uintptr_t)log;
	attr.log_size = LOG;
	attr.log_level = 1;
	strcpy(attr.prog_name, NAME);
	return bpf(BPF_PROG_LOAD, &attr);
}

/* Does the kernel go on by itself with a frame that is not ours? */
static bool continues(int program)
{
	unsigned char frame[ETH_ZLEN] = { [2 * ETH_ALEN] = ETH_P_IP >> 8 };
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = program;
	attr.test.data_in = (uintptr_t)frame;
	attr.test.data_size_in = sizeof(frame);
	return !bpf(BPF_PROG_TEST_RUN, &attr) && attr.test.retval == CONTINUE;
}

/* The dissector of this namespace: its descriptor; -1: errno, 0 there is none. */
static int attached(bool *ours)
{
	struct bpf_prog_info info = { 0 };
	unsigned int id = 0;
	union bpf_attr attr;
	int net, program, err;

	memset(&attr, 0, sizeof(attr));
	net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (net < 0)
		return -1;
	attr.query.target_fd = net;
	attr.query.attach_type = BPF_FLOW_DISSECTOR;
	attr.query.prog_ids = (uintptr_t)&id;
	attr.query.prog_cnt = 1;
	err = bpf(BPF_PROG_QUERY, &attr) ? errno : 0;
	close(net);
	errno = err;
	if (err || !attr.query.prog_cnt)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	program = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
	if (program < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = program;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	*ours = !bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && !strcmp(info.name, NAME);
	return program;
}

static int change(enum bpf_cmd cmd, int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.attach_bpf_fd = program;
	attr.attach_type = BPF_FLOW_DISSECTOR;
	return bpf(cmd, &attr);
}

static int spread_on(void)
{
	char log[LOG] = "";
	int program, status = EXIT_OK;

	knobs_each(&link_knobs, take_ethertype);
	program = load(log);
	if (program < 0) {
		status = complain_errno(errno, "the kernel does not load the dissector");
		if (*log)
			fputs(log, stderr);
		return status;
	}
	if (!continues(program)) {
		complain("needs Linux 6.1: before, the kernel would dissect nothing else");
		status = EXIT_LOCAL;
	} else if (change(BPF_PROG_ATTACH, program)) {
		/* EEXIST: that of the first network namespace, or of any other one */
		status = complain_errno(errno, "has another network namespace a dissector?");
	}
	close(program);
	return status;
}

static void show(const char *what)
{
	struct json j;

	if (!want_json) {
		puts(what);
		return;
	}
	json_init(&j, stdout);
	json_array(&j, NULL);
	json_object(&j, NULL);
	json_string(&j, "spread", what);
	json_close(&j);
	json_close(&j);
}

int cmd_spread(int argc, char **argv)
{
	unsigned int verb = SHOW;
	bool there, ours = false;
	int program, status = EXIT_OK;

	parse_options(&argp, argc, argv, &verb);
	errno = 0;
	program = attached(&ours);
	if (program < 0 && errno == EPERM) {
		complain("EPERM: needs CAP_NET_ADMIN in the first user namespace; be root");
		return EXIT_LOCAL;
	}
	if (program < 0 && errno)
		return complain_errno(errno, "the dissector of this network namespace");
	there = program >= 0;
	if (verb == SHOW) {
		show(ours ? "on" : there ? "other" : "off");
	} else if (there && !ours) {
		complain("somebody else's dissector is there; see `bpftool net`");
		status = EXIT_LOCAL;
	} else if (verb == ON) {
		status = spread_on();
	} else if (there && change(BPF_PROG_DETACH, program)) {
		status = complain_errno(errno, "detach");
	}
	if (there)
		close(program);
	return status;
}
