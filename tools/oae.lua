-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark and tshark: the dissector of atomic links, frames and the gateways' datagrams.
--
--   tshark -X lua_script:tools/oae.lua -2 -r FILE     doc/wireshark.md says what else
--
-- In this order: XXH64; the fields; what a frame says and what is wrong with it (the order of
-- doc/protocol.md 2.6); transactions, followed from frame to frame; how all that is shown; the
-- datagrams between gateways (doc/gateway.md 2).
--
-- For Lua 5.2, which has neither 64-bit integers nor operators on bits, and later ones.

-- Operators on bits, which Lua 5.2 could not even read, are in a string.
local bits = bit32 or (math.tointeger and load([[
	return { bxor = function(a, b) return math.tointeger(a) ~ math.tointeger(b) end }
]])()) or bit
local floor, byte, format, concat = math.floor, string.byte, string.format, table.concat
local TWO32 = 4294967296

-- --- XXH64 ---------------------------------------------------------------------------------
--
-- A number of 64 bits is two, its upper and its lower 32 bits. Products are made of pieces of
-- 16 bits, so that a double holds every sum exactly.

local xxh64
do
	local bxor = bits.bxor

	-- A prime: upper half, lower half, its four pieces from below.
	local function prime(hi, lo)
		return { hi = hi, lo = lo, lo % 65536, floor(lo / 65536), hi % 65536,
			 floor(hi / 65536) }
	end

	local P1, P2 = prime(0x9E3779B1, 0x85EBCA87), prime(0xC2B2AE3D, 0x27D4EB4F)
	local P3, P4 = prime(0x165667B1, 0x9E3779F9), prime(0x85EBCA77, 0xC2B2AE63)
	local P5 = prime(0x27D4EB2F, 0x165667C5)

	local function xor(a, b)
		return bxor(a, b) % TWO32
	end

	local function add(ah, al, bh, bl)
		local lo = al + bl
		if lo >= TWO32 then
			return (ah + bh + 1) % TWO32, lo - TWO32
		end
		return (ah + bh) % TWO32, lo
	end

	local function mul(h, l, c)
		local c0, c1 = c[1], c[2]
		local p = l * c1
		local p0 = p % 65536
		local s = l * c0 + p0 * 65536
		local lo = s % TWO32
		return ((s - lo) / TWO32 + (p - p0) / 65536 + l * c[3] + l * c[4] % 65536 * 65536 +
			h * c0 + h * c1 % 65536 * 65536) % TWO32, lo
	end

	-- To the left by 1 to 31.
	local function rotl(h, l, n)
		local m, p = 2 ^ (32 - n), 2 ^ n
		local ht, lt = h % m, l % m
		return ht * p + (l - lt) / m, lt * p + (h - ht) / m
	end

	local function round(h, l, lane_h, lane_l)
		local ph, pl = mul(lane_h, lane_l, P2)
		h, l = add(h, l, ph, pl)
		h, l = rotl(h, l, 31)
		return mul(h, l, P1)
	end

	local function merge(h, l, acc_h, acc_l)
		acc_h, acc_l = round(0, 0, acc_h, acc_l)
		h, l = mul(xor(h, acc_h), xor(l, acc_l), P1)
		return add(h, l, P4.hi, P4.lo)
	end

	-- The eight bytes of a string from i on, the lowest first.
	local function word(s, i)
		local a, b, c, d, e, f, g, h = byte(s, i, i + 7)
		return e + f * 256 + g * 65536 + h * 16777216, a + b * 256 + c * 65536 + d * 16777216
	end

	-- XXH64 of a string, the seed in two halves as well.
	function xxh64(s, seed_h, seed_l)
		local n, at, h, l = #s, 1, nil, nil
		if n >= 32 then
			local ah, al = add(seed_h, seed_l, add(P1.hi, P1.lo, P2.hi, P2.lo))
			local bh, bl = add(seed_h, seed_l, P2.hi, P2.lo)
			local ch, cl = seed_h, seed_l
			local dh, dl = add(seed_h, seed_l, TWO32 - 1 - P1.hi, TWO32 - P1.lo)
			while at + 31 <= n do
				ah, al = round(ah, al, word(s, at))
				bh, bl = round(bh, bl, word(s, at + 8))
				ch, cl = round(ch, cl, word(s, at + 16))
				dh, dl = round(dh, dl, word(s, at + 24))
				at = at + 32
			end
			h, l = rotl(ah, al, 1)
			h, l = add(h, l, rotl(bh, bl, 7))
			h, l = add(h, l, rotl(ch, cl, 12))
			h, l = add(h, l, rotl(dh, dl, 18))
			h, l = merge(h, l, ah, al)
			h, l = merge(h, l, bh, bl)
			h, l = merge(h, l, ch, cl)
			h, l = merge(h, l, dh, dl)
		else
			h, l = add(seed_h, seed_l, P5.hi, P5.lo)
		end
		h, l = add(h, l, 0, n)
		while at + 7 <= n do
			local kh, kl = round(0, 0, word(s, at))
			h, l = rotl(xor(h, kh), xor(l, kl), 27)
			h, l = mul(h, l, P1)
			h, l = add(h, l, P4.hi, P4.lo)
			at = at + 8
		end
		if at + 3 <= n then
			local a, b, c, d = byte(s, at, at + 3)
			local kh, kl = mul(0, a + b * 256 + c * 65536 + d * 16777216, P1)
			h, l = rotl(xor(h, kh), xor(l, kl), 23)
			h, l = mul(h, l, P2)
			h, l = add(h, l, P3.hi, P3.lo)
			at = at + 4
		end
		while at <= n do
			local kh, kl = mul(0, byte(s, at), P5)
			h, l = rotl(xor(h, kh), xor(l, kl), 11)
			h, l = mul(h, l, P1)
			at = at + 1
		end
		-- To the right by 33, 29 and 32.
		h, l = mul(h, xor(l, floor(h / 2)), P2)
		h, l = mul(xor(h, floor(h / 2 ^ 29)),
			   xor(l, floor(l / 2 ^ 29) + h % 2 ^ 29 * 8), P3)
		return h, xor(l, h)
	end
end

-- A number of 64 bits as 8 bytes, the highest first.
local function be64(h, l)
	return string.char(floor(h / 16777216), floor(h / 65536) % 256, floor(h / 256) % 256, h % 256,
			   floor(l / 16777216), floor(l / 65536) % 256, floor(l / 256) % 256, l % 256)
end

local function has(value, flag)
	return floor(value / flag) % 2 == 1
end

-- --- names -----------------------------------------------------------------------------------

local OPCODES = {
	"SYNC", "SYNC_ACK", "SYNC_CHK", "CLOSE", "CLOSE_ACK", "OFFER", "REFLECT", "COMMIT", "REFUSE",
	"READY", nil, "DONE", "HELLO", "NOLINK", "PATH", "ASK", "ACK",
}
local SYNC, SYNC_ACK, SYNC_CHK, CLOSE, CLOSE_ACK, OFFER, REFLECT, COMMIT = 1, 2, 3, 4, 5, 6, 7, 8
local REFUSE, READY, DONE, HELLO, NOLINK, PATH = 9, 10, 12, 13, 14, 15
local ASK, ACK = 16, 17
-- Of these a frame has a number; of these it says which were heard.
local QUESTIONS = { [OFFER] = true, [COMMIT] = true, [ASK] = true }
local ANSWERS = { [REFLECT] = true, [REFUSE] = true, [READY] = true, [DONE] = true, [ACK] = true }

local EXPRESS, LAST, RESUME, WANT_DONE, FREE, VIA, AUTH, RESERVED = 1, 2, 4, 8, 16, 32, 64, 128

local NOW, ANSWER, BLOCKED = 1, 2, 4
local GRANT_UNIT = 256
-- These grant nothing, and no link is behind them.
local GRANTLESS = { [HELLO] = true, [NOLINK] = true, [PATH] = true }

local KINDS = { [0] = "MESSAGE", "SWAP", "VERB", "VOID", "PACK" }
local MESSAGE, SWAP, VERB, VOID, PACK = 0, 1, 2, 3, 4

local REASONS = {
	[0] = "none", "BUSY", nil, "NO_HALF", "CONFLICT", "TOO_BIG", "KIND", "POLICY", "FULL",
	"NO_REGION", "RANGE", "ACCESS", "BAD_VERB",
}
local REASON_MAX = 12
local REASON_TEXT = {
	[0] = "no reason", "I settle, and take nothing now", nil, "no half posted here",
	"the words are reserved", "larger than I take", "I do not serve this kind",
	"you are not accepted", "no room for a link", "no such region", "words behind its end",
	"not permitted", "malformed request",
}
local NO_HALF, POLICY, FULL = 3, 7, 8
local FOR_GOOD = { [5] = true, [6] = true, [9] = true, [10] = true, [11] = true, [12] = true }

local VERB_CODES = { "READ", "WRITE", "EXCHANGE", "FETCH_ADD", "CAS" }
local READ, WRITE, CAS = 1, 2, 5

local GATEWAY, LEAVING, HELLO_ASK, ABOUT, NODE = 1, 2, 4, 8, 16
local HDR_LEN, VIA_LEN, SYNC_LEN, MAX_SLICES = 48, 12, 64, 64
local SYNC_FREE, NO_LAST = { { 30, 40 }, { 57, SYNC_LEN } }, 255
local ZERO_MAC = "00:00:00:00:00:00"
local NO_INC = "\0\0\0\0\0\0\0\0"

-- --- fields ----------------------------------------------------------------------------------

local oae = Proto("oae", "Atomic Link over Ethernet")
local f, e = {}, {}

local function field(name, make, text, ...)
	f[name] = make("oae." .. name, text, ...)
end

local function flag(name, text, mask, descr)
	field(name, ProtoField.bool, text, 8, nil, mask, descr)
end

field("version", ProtoField.uint8, "Version", base.DEC, nil, 0xf0)
field("ext", ProtoField.uint8, "Extensions, words of 4 bytes", base.DEC, nil, 0x0f)
field("opcode", ProtoField.uint8, "Opcode", base.DEC, OPCODES)
field("vc", ProtoField.uint8, "Virtual channel", base.DEC)
field("flags", ProtoField.uint8, "Flags", base.HEX)
flag("flags.express", "EXPRESS: deliver when complete", EXPRESS)
flag("flags.last", "LAST: the slice with the highest index", LAST)
flag("flags.resume", "RESUME: what you keep is of this", RESUME)
flag("flags.want_done", "WANT_DONE: say DONE once delivered", WANT_DONE)
flag("flags.free", "Free, 0", FREE)
flag("flags.via", "VIA: through gateways", VIA)
flag("flags.auth", "AUTH: the digest is keyed", AUTH)
flag("flags.reserved", "Reserved, 0", RESERVED)
field("length", ProtoField.uint16, "Bytes of payload", base.DEC)
field("slice", ProtoField.uint8, "Slice", base.DEC)
field("src_ltag", ProtoField.uint32, "Sender's ltag", base.HEX)
field("dst_ltag", ProtoField.uint32, "Receiver's ltag", base.HEX)
field("tx", ProtoField.uint32, "tx, last committed by the sender", base.DEC)
field("rx", ProtoField.uint32, "rx, last delivered by the sender", base.DEC)
field("seq", ProtoField.uint32, "seq, the transaction meant", base.DEC)
field("kind", ProtoField.uint8, "Kind", base.DEC, KINDS)
field("grant", ProtoField.uint16, "Grant, what all numbers above rx may cost, in 256 bytes", base.DEC)
field("reason", ProtoField.uint8, "Reason", base.DEC, REASONS)
field("marks", ProtoField.uint8, "Marks", base.HEX)
flag("marks.now", "NOW: sent in the event that heard ack", NOW)
flag("marks.answer", "ANSWER: please answer", ANSWER)
flag("marks.blocked", "BLOCKED: what is next is not granted", BLOCKED)
field("pn", ProtoField.uint32, "pn, number of this question", base.DEC)
field("ack", ProtoField.uint32, "ack, the newest question heard", base.DEC)
field("map", ProtoField.uint32, "Which of the 32 before it were heard, a bit each", base.HEX)
field("digest", ProtoField.uint64, "Digest", base.HEX)
field("digest.status", ProtoField.uint8, "Digest status", base.DEC,
      { [0] = "Bad", "Good", "Unverified" })
field("digest.expected", ProtoField.uint64, "Digest that would be right", base.HEX)
field("via.dst", ProtoField.ether, "Final destination")
field("via.src", ProtoField.ether, "Original source")
field("payload", ProtoField.bytes, "Payload")
field("excess", ProtoField.bytes, "Behind the end of the frame")
field("bad", ProtoField.string, "Dropped by every receiver as")

field("sync.inc", ProtoField.uint64, "Own incarnation", base.HEX)
field("sync.peer_inc", ProtoField.uint64, "Peer's incarnation as known", base.HEX)
field("sync.caps", ProtoField.uint32, "Capabilities", base.HEX)
field("sync.window", ProtoField.uint32, "Window less 1", base.DEC, nil, 0x3f)
field("sync.packs", ProtoField.bool, "Takes packs", 32, nil, 0x40)
field("sync.paths", ProtoField.bool, "Takes other paths", 32, nil, 0x80)
field("sync.gateway", ProtoField.bool, "And such through gateways", 32, nil, 0x100)
field("sync.met", ProtoField.bool, "Both ends took such since they met", 32, nil, 0x200)
field("sync.max_len", ProtoField.uint32, "Largest transaction taken, bytes", base.DEC)
field("sync.start", ProtoField.uint32, "tx before the first transaction", base.DEC)
field("sync.mtu", ProtoField.uint16, "MTU", base.DEC)
field("sync.kept", ProtoField.uint64, "Slices of rx + 1 that are kept, a bit each", base.HEX)
field("sync.hash", ProtoField.uint64, "Hash of their hashes", base.HEX)
field("sync.last", ProtoField.uint8, "The last slice, 255 not kept", base.DEC)
field("sync.zero", ProtoField.bytes, "Zeros")

field("pack.count", ProtoField.uint8, "Messages", base.DEC)
field("pack.zero", ProtoField.uint8, "Zero", base.DEC)
field("pack.len", ProtoField.uint16, "Length", base.DEC)
field("pack.message", ProtoField.bytes, "Message")

field("reflect.digest", ProtoField.uint64, "Digest of the transaction as heard", base.HEX)
field("reflect.first", ProtoField.bytes, "Its first 8 bytes as heard")
field("reflect.match", ProtoField.bool, "What was heard is what was said")
field("swap.half", ProtoField.bytes, "Half")
field("ack.have", ProtoField.uint64, "Slices that are here, a bit each", base.HEX)
field("ack.slice", ProtoField.uint8, "Slice that is here", base.DEC)

field("verb.region", ProtoField.uint32, "Region", base.DEC)
field("verb.nops", ProtoField.uint8, "Operations", base.DEC)
field("verb.zero", ProtoField.bytes, "Zeros")
field("verb.op", ProtoField.uint8, "Operation", base.DEC, VERB_CODES)
field("verb.words", ProtoField.uint8, "Words", base.DEC)
field("verb.op.zero", ProtoField.uint16, "Zero", base.DEC)
field("verb.index", ProtoField.uint32, "First word", base.DEC)
field("verb.compare", ProtoField.uint64, "Must be", base.HEX)
field("verb.operand", ProtoField.uint64, "Operand", base.HEX)
field("verb.excess", ProtoField.bytes, "Behind the request")
field("answer.taken", ProtoField.uint8, "Taken", base.DEC,
      { [0] = "no, nothing is changed", "yes, every comparison held" })
field("answer.failed", ProtoField.uint8, "First operation whose comparison failed", base.DEC)
field("answer.zero", ProtoField.bytes, "Zeros")
field("answer.word", ProtoField.uint64, "Word as it was", base.HEX)
field("answer.excess", ProtoField.bytes, "Behind the answer")

field("hello.flags", ProtoField.uint8, "Flags", base.HEX)
flag("hello.flags.gateway", "GATEWAY: the sender is a gateway", GATEWAY)
flag("hello.flags.leaving", "LEAVING: forget me", LEAVING)
flag("hello.flags.ask", "ASK: answer now", HELLO_ASK)
flag("hello.flags.about", "ABOUT: the MTU is for one peer", ABOUT)
flag("hello.flags.node", "NODE: of a host to its neighbours", NODE)
field("hello.zero", ProtoField.uint8, "Zero", base.DEC)
field("hello.zone", ProtoField.uint16, "Zone", base.DEC)
field("hello.mtu", ProtoField.uint16, "MTU", base.DEC)
field("hello.epoch", ProtoField.uint16, "Epoch", base.DEC)
field("hello.inc", ProtoField.uint32, "Gateway's incarnation", base.HEX)
field("hello.life", ProtoField.uint16, "Life of the gateway, units of 100 ms", base.DEC)
field("hello.node_life", ProtoField.uint16, "Life of a node, units of 100 ms", base.DEC)
field("hello.about", ProtoField.ether, "About the peer")
field("hello.zero2", ProtoField.uint16, "Zero", base.DEC)
field("hello.id", ProtoField.uint64, "Id of the host", base.HEX)
field("hello.node_inc", ProtoField.uint64, "Incarnation of the host", base.HEX)

field("path.role", ProtoField.uint8, "Role", base.DEC, { "PROBE", "ANSWER" })
field("path.zero", ProtoField.uint8, "Zero", base.DEC)
field("path.mtu", ProtoField.uint16, "MTU of the sender's port", base.DEC)
field("path.to", ProtoField.ether, "The receiver's address, as the link has it")
field("path.from", ProtoField.ether, "The sender's address, as the link has it")
field("path.nonce", ProtoField.uint64, "Nonce", base.HEX)
field("path.proof", ProtoField.uint64, "Proof", base.HEX)

-- Of the transaction that a frame is about, gathered from all frames.
local FRAME = ProtoField.framenum
field("link", ProtoField.uint32, "Link", base.DEC)
field("transaction", ProtoField.uint32, "Transaction", base.DEC)
field("outcome", ProtoField.string, "Outcome")
field("offered_in", FRAME, "Offered in frame", base.NONE, frametype.REQUEST)
field("reflected_in", FRAME, "Reflected in frame", base.NONE, frametype.RESPONSE)
field("committed_in", FRAME, "Committed in frame", base.NONE, frametype.ACK)
field("delivered_in", FRAME, "Known delivered by frame", base.NONE, frametype.ACK)
field("refused_in", FRAME, "Refused in frame", base.NONE, frametype.NONE)
field("reversed_in", FRAME, "Reversed in frame", base.NONE, frametype.NONE)
field("replaced_in", FRAME, "Replaced by what is offered in frame", base.NONE, frametype.NONE)
field("frozen_in", FRAME, "Overtaken by a failure in frame", base.NONE, frametype.NONE)
field("resolved_in", FRAME, "Resolved by SYNC in frame", base.NONE, frametype.NONE)
field("resolved_as", ProtoField.string, "Resolved by SYNC as")
field("ended_in", FRAME, "Ended with the link in frame", base.NONE, frametype.NONE)
field("lent_in", FRAME, "Half lent to the peer's offer in frame", base.NONE, frametype.RESPONSE)
field("partner", ProtoField.uint32, "Other half lent by transaction", base.DEC)
field("reflect_time", ProtoField.relative_time, "From offer to reflection")
field("commit_time", ProtoField.relative_time, "From first offer to commit")
field("copy_of", FRAME, "A copy of frame", base.NONE, frametype.DUP_ACK)
field("slice_of", ProtoField.string, "Slice")
field("slice.frame", FRAME, "Slice in frame", base.NONE, frametype.NONE)
field("reassembled_in", FRAME, "Whole in frame", base.NONE, frametype.NONE)
field("reassembled.length", ProtoField.uint32, "Length of the transaction", base.DEC)
field("reassembled.data", ProtoField.bytes, "Transaction")
field("commits", ProtoField.uint32, "This frame commits transaction", base.DEC)
field("commits.offered_in", FRAME, "which was offered in frame", base.NONE, frametype.REQUEST)
field("delivers", ProtoField.uint32, "This frame tells that there was delivered transaction", base.DEC)

local all = {}
for _, value in pairs(f) do
	all[#all + 1] = value
end
oae.fields = all

local BAD_TEXT = {
	bad_short = "shorter than it says", bad_version = "another version",
	bad_hlen = "header length is not what the flags ask for", bad_flags = "a reserved flag",
	bad_opcode = "unknown opcode", bad_long = "longer than it says",
	bad_field = "a field is out of its range", bad_auth = "keyed digest",
	bad_digest = "wrong digest",
}
for name, text in pairs(BAD_TEXT) do
	e[name] = ProtoExpert.new("oae." .. name, name .. ": " .. text,
				  name == "bad_digest" and expert.group.CHECKSUM or expert.group.MALFORMED,
				  expert.severity.ERROR)
end
local function note(name, text, severity, group)
	e[name] = ProtoExpert.new("oae.note." .. name, text, group or expert.group.SEQUENCE, severity)
end
note("cut", "Not all of the frame was captured", expert.severity.NOTE, expert.group.UNDECODED)
note("freeze", "A new ltag: the sender has frozen", expert.severity.NOTE)
note("new_inc", "A new incarnation", expert.severity.WARN)
note("again", "Sent or offered again", expert.severity.NOTE)
note("copy", "A copy of an earlier frame", expert.severity.NOTE)
note("refused", "Refused", expert.severity.NOTE)
note("reversed", "Reversed", expert.severity.NOTE)
note("mismatch", "What was heard is not what was said", expert.severity.ERROR)
note("differs", "Another content under the same number of a run", expert.severity.WARN)
note("nolink", "The peer does not know the link", expert.severity.WARN)
note("turned_away", "Turned away", expert.severity.WARN)
note("verb", "Malformed verb", expert.severity.WARN, expert.group.MALFORMED)
note("pack", "Malformed pack", expert.severity.WARN, expert.group.MALFORMED)
note("zero", "Reserved, and not 0", expert.severity.NOTE, expert.group.PROTOCOL)

local experts = {}
for _, value in pairs(e) do
	experts[#experts + 1] = value
end
oae.experts = experts

oae.prefs.ethertype = Pref.uint("EtherType", 0x88b5, "The modules' knob ethertype, in decimal")
oae.prefs.check_digest = Pref.bool("Check digests", true, "XXH64 of header and payload of each frame")
oae.prefs.follow = Pref.bool("Follow transactions", true,
			     "From frame to frame; keeps the payloads in memory")

oae.prefs.mac_names = Pref.bool("Names for MAC addresses", false,
				"As Wireshark has them, which takes 02:0a:... for Microsoft's")

-- Before the first address is shown, or is part of what a link is known by. Later on it is for
-- who looks to say what he wants.
local addresses_decided
local function decide_addresses()
	if not addresses_decided and set_preference and not oae.prefs.mac_names then
		set_preference("nameres.mac_name", false)
	end
	addresses_decided = true
end

local eth_src_ig = Field.new("eth.src.ig")

-- --- what a frame says ------------------------------------------------------------------------

-- Is it an address of a node? Of 6 bytes.
local function unicast(mac)
	return byte(mac) % 2 == 0 and mac ~= "\0\0\0\0\0\0"
end

-- The marks that a frame of an opcode may have.
local function marks_of(op)
	return ANSWERS[op] and NOW or op == OFFER and ANSWER or op == COMMIT and BLOCKED or 0
end

-- The rules of bad_field.
local function fields_ok(h)
	local op = h.opcode
	if not KINDS[h.kind] or h.reason > REASON_MAX or (op ~= OFFER and h.slice ~= 0) or
	   (h.grant ~= 0 and GRANTLESS[op]) or (h.marks ~= 0 and h.marks ~= marks_of(op)) or
	   (h.map ~= 0 and not ANSWERS[op]) or
	   (h.pn ~= 0 and not ANSWERS[op] and not QUESTIONS[op]) then
		return false
	end
	if op == SYNC or op == SYNC_ACK or op == SYNC_CHK then
		return h.length == SYNC_LEN and h.src_ltag ~= 0
	elseif op == OFFER then
		if h.kind ~= MESSAGE and (h.slice ~= 0 or not has(h.flags, LAST) or
					  (h.length == 0) ~= (h.kind == VOID) or
					  has(h.flags, EXPRESS) or has(h.flags, RESUME)) then
			return false
		end
		return h.slice < MAX_SLICES
	elseif op == REFLECT then
		if h.kind == SWAP or h.kind == VERB then
			return h.length > 16
		end
		return h.length == 16
	elseif op == REFUSE then
		return h.length == 0 and h.reason ~= 0 and REASONS[h.reason] and
		       h.reason ~= POLICY and h.reason ~= FULL
	elseif op == ASK then
		return true
	elseif op == ACK then
		return h.length == 8
	elseif op == CLOSE then
		return h.length == 0 and (h.reason == 0 or h.reason == POLICY or h.reason == FULL)
	elseif op == HELLO then
		return h.length == 24
	elseif op == PATH then
		return h.length == 32
	end
	return h.length == 0
end

-- Is what a SYNC keeps free 0, and the last slice one? As far as it was captured.
local function sync_ok(tvb, h)
	if h.opcode > SYNC_CHK then
		return true
	end
	for _, free in ipairs(SYNC_FREE) do
		local from, stop = h.hlen + free[1], math.min(h.hlen + free[2], tvb:len())
		if from < stop and tvb:raw(from, stop - from):find("[^%z]") then
			return false
		end
	end
	local last = h.hlen + 56 < tvb:len() and tvb(h.hlen + 56, 1):uint() or 0
	return last < MAX_SLICES or last == NO_LAST
end

-- An Ethernet source that is none. Fields are not there while nobody looks; then there is but the
-- address as text.
local function bad_source(pinfo)
	local group, src = eth_src_ig(), tostring(pinfo.dl_src)
	return (group and group.value) or src:find("^%x[13579bdf]:") or src == ZERO_MAC
end

-- A host's HELLO to its neighbours that protocol.md 4.13 calls malformed.
local function node_malformed(tvb, at, flags, pinfo)
	return (flags ~= NODE and flags ~= NODE + LEAVING) or bad_source(pinfo) or
	       tvb(at + 4, 2):uint() < 128 or tvb(at + 8, 2):uint() == 0 or
	       (tvb(at + 16, 4):uint() == 0 and tvb(at + 20, 4):uint() == 0)
end

-- A HELLO, a gateway's or to neighbours, that protocol.md 4.8 or 4.13 calls malformed.
local function hello_malformed(tvb, at, pinfo)
	local flags = tvb(at, 1):uint()
	if not has(flags, GATEWAY) then
		return has(flags, NODE) and node_malformed(tvb, at, flags, pinfo)
	end
	if flags > 15 or bad_source(pinfo) or
	   tvb(at + 2, 2):uint() == 0 or tvb(at + 8, 4):uint() == 0 then
		return true
	end
	if has(flags, LEAVING) then
		return false
	end
	return tvb(at + 12, 2):uint() == 0 or tvb(at + 4, 2):uint() < 140 or
	       (has(flags, ABOUT) and not unicast(tvb:raw(at + 16, 6)))
end

-- The header as a table, as much as there is; bad is the cause for which it is dropped.
-- total: bytes that the frame had, of which some may not have been captured.
local function parse(tvb, total)
	local have = tvb:len()
	local h = { total = total, have = have }
	if have < HDR_LEN then
		h.bad, h.cut = total < HDR_LEN and "bad_short" or nil, total >= HDR_LEN
		return h
	end
	h.whole_header = true
	local first = tvb(0, 1):uint()
	h.version, h.hlen = floor(first / 16), HDR_LEN + first % 16 * 4
	h.opcode, h.vc, h.flags = tvb(1, 1):uint(), tvb(2, 1):uint(), tvb(3, 1):uint()
	h.length, h.slice, h.kind = tvb(4, 2):uint(), tvb(6, 1):uint(), tvb(7, 1):uint()
	h.src_ltag, h.dst_ltag = tvb(8, 4):uint(), tvb(12, 4):uint()
	h.tx, h.rx, h.seq = tvb(16, 4):uint(), tvb(20, 4):uint(), tvb(24, 4):uint()
	h.grant, h.reason, h.marks = tvb(28, 2):uint(), tvb(30, 1):uint(), tvb(31, 1):uint()
	h.pn, h.map = tvb(32, 4):uint(), tvb(36, 4):uint()

	local need = h.hlen + h.length
	if h.version ~= 2 then
		h.bad = "bad_version"
	elseif has(h.flags, RESERVED) or has(h.flags, FREE) then
		h.bad = "bad_flags"
	elseif not OPCODES[h.opcode] then
		h.bad = "bad_opcode"
	elseif h.hlen ~= HDR_LEN + (has(h.flags, VIA) and VIA_LEN or 0) then
		h.bad = "bad_hlen"
	elseif total < need then
		h.bad = "bad_short"
	elseif total > need then
		h.bad = "bad_long"
	elseif not fields_ok(h) or not sync_ok(tvb, h) then
		h.bad = "bad_field"
	elseif has(h.flags, AUTH) then
		h.bad = "bad_auth"
	end
	h.at = h.hlen					-- where the payload begins
	h.stop = math.min(h.at + h.length, have)	-- behind what there is of it
	h.cut = not h.bad and have < need
	h.via = has(h.flags, VIA) and h.hlen == HDR_LEN + VIA_LEN and have >= h.hlen
	return h
end

-- The digest, if all of the frame is here; notes the slice's hash.
local function check_digest(tvb, h)
	local payload = h.length > 0 and tvb:raw(h.at, h.length) or ""
	local ph, pl = xxh64(payload, 0, h.slice)
	local head = tvb:raw(0, 40) .. "\0\0\0\0\0\0\0\0"
	if h.hlen > HDR_LEN then
		head = head .. tvb:raw(HDR_LEN, h.hlen - HDR_LEN)
	end
	local dh, dl = xxh64(head, ph, pl)
	return { good = dh == tvb(40, 4):uint() and dl == tvb(44, 4):uint(), hi = dh, lo = dl,
		 slice_hash = be64(ph, pl) }
end

-- Indices of the bits set in the map at an offset.
local function bits_set(tvb, at)
	local set = {}
	for n = 0, 63 do
		if has(tvb(at + 7 - floor(n / 8), 1):uint(), 2 ^ (n % 8)) then
			set[#set + 1] = n
		end
	end
	return set
end

-- "1 3-5 9" of some numbers that rise.
local function ranges(numbers)
	local words, i = {}, 1
	while i <= #numbers do
		local j = i
		while numbers[j + 1] == numbers[j] + 1 do
			j = j + 1
		end
		words[#words + 1] = i == j and tostring(numbers[i]) or numbers[i] .. "-" .. numbers[j]
		i = j + 1
	end
	return concat(words, " ")
end

-- --- transactions -----------------------------------------------------------------------------
--
-- A link is two addresses and a vc. Its life is a pair of incarnations: in it each direction has
-- counters of its own. A run is a pair of ltags. In a run a seq has one content, and perhaps nothing
-- (VOID) in its place; in the next run it may have another. So a seq has a list of transactions.
-- Several may be under way, and in the next run one may have a lower seq.
-- Each frame is looked at once, when it is first seen; what it says of others is found later
-- through the transaction, so on a second pass all is known everywhere.

-- The frames of a link may go by other addresses: by which, an answer of the opcode PATH says.

local links, paths, frames, nlinks, transactions

local function reset()
	links, paths, frames, nlinks, transactions = {}, {}, {}, 0, 0
end

function oae.init()
	reset()
end
reset()

local function distance(a, b)
	local d = (a - b) % TWO32
	return d < 2147483648 and d or d - TWO32
end

local function new_life(inc1, inc2)
	return { inc = { inc1, inc2 }, dir = { { seqs = {}, open = {} }, { seqs = {}, open = {} } } }
end

local function link_of(a, b, vc)
	local path = paths[a .. "|" .. b .. "|" .. vc]
	if path then
		a, b = path[1], path[2]
	end
	local first, second = a, b
	if b < a then
		first, second = b, a
	end
	local key = first .. "|" .. second .. "|" .. vc
	local link = links[key]
	if not link then
		nlinks = nlinks + 1
		link = { id = nlinks, first = first, life = new_life(), runs = {}, offers = {}, nruns = 0,
			 ltag = {}, frozen = {}, ltags = { {}, {} }, past = { {}, {} } }
		links[key] = link
	end
	return link, a == link.first and 1 or 2
end

-- A transaction has come to its end.
local function finish(t, outcome, how, number)
	if t.outcome then
		return
	end
	t.outcome = outcome
	if how then
		t[how] = number
	end
	t.dir.open[t] = nil
end

local function commit(t, rec, pinfo, by_sync)
	if t.outcome == "committed" then
		return
	end
	t.outcome = nil
	finish(t, "committed", "committed_in", pinfo.number)
	t.commit_time = pinfo.rel_ts - t.time
	if by_sync and t.is_frozen then
		t.resolved[#t.resolved + 1] = { pinfo.number, "committed" }
	end
	rec.commits[#rec.commits + 1] = t
end

-- Which of those that had this seq was it?
local function committed_of(list)
	for i = #list, 1, -1 do
		if list[i].delivered_in then
			return list[i]
		end
	end
	for i = #list, 1, -1 do
		if list[i].reflected and list[i].outcome ~= "reversed" then
			return list[i]
		end
	end
	return list[#list]
end

-- The initiator of this direction says that it has committed up to tx.
local function heard_tx(dir, tx, rec, pinfo, by_sync)
	local steps = dir.tx and distance(tx, dir.tx) or 0
	if steps >= 1 and steps <= 1000 then
		for n = 1, steps do
			local list = dir.seqs[(dir.tx + n) % TWO32]
			if list then
				local done = committed_of(list)
				for _, t in ipairs(list) do
					if t ~= done then
						finish(t, t.kind == VOID and "too late" or "reversed",
						       "reversed_in", pinfo.number)
					end
				end
				commit(done, rec, pinfo, by_sync)
			end
		end
	end
	if not dir.tx or steps > 0 then
		dir.tx = tx
	end
end

-- What is delivered before its commit is an express, whatever was offered in its place.
local function delivered_of(dir, list)
	for _, t in ipairs(list) do
		if t.express and not t.outcome and dir.tx and distance(t.seq, dir.tx) > 0 then
			return t
		end
	end
	return committed_of(list)
end

-- Its responder says that it has delivered up to rx.
local function heard_rx(dir, rx, rec, pinfo)
	local steps = dir.rx and distance(rx, dir.rx) or 0
	if steps >= 1 and steps <= 1000 then
		for n = 1, steps do
			local list = dir.seqs[(dir.rx + n) % TWO32]
			local t = list and delivered_of(dir, list)
			if t and not t.delivered_in then
				t.delivered_in = pinfo.number
				rec.delivers[#rec.delivers + 1] = t
			end
		end
	end
	if not dir.rx or steps > 0 then
		dir.rx = rx
	end
end

-- The incarnations of one end, or both, are others: what was undecided is not any more.
local function end_life(link, who, number)
	for from = 1, 2 do
		for t in pairs(link.life.dir[from].open) do
			if t.express then
				finish(t, "unknown", "ended_in", number)
			elseif from == who then
				finish(t, "lost with its sender", "ended_in", number)
			else
				finish(t, "offered anew", "ended_in", number)
			end
		end
	end
end

-- A SYNC or SYNC_ACK: may begin a life, may freeze and resolve.
local function heard_sync(link, from, h, rec, pinfo)
	local to, life = 3 - from, link.life
	local number = pinfo.number

	if not link.ltags[from][h.src_ltag] then
		link.ltags[from][h.src_ltag] = true
		if link.ltag[from] then
			rec.notes[#rec.notes + 1] = "freeze"
		end
		link.ltag[from], link.frozen[from] = h.src_ltag, true
		for n = 1, 2 do
			for t in pairs(life.dir[n].open) do
				t.frozen_in, t.is_frozen = t.frozen_in or number, true
			end
		end
	end
	if h.opcode == SYNC_ACK then
		link.frozen[from] = nil
	end
	if link.past[from][h.inc] then
		return		-- late, of an end that is no more
	end
	if not life.inc[from] then
		local tx = life.dir[from].tx
		if tx and (distance(h.tx, tx) < 0 or distance(h.tx, tx) > 1) then
			end_life(link, from, number)
			link.life = new_life()
		end
		life = link.life
		life.inc[from] = h.inc
	elseif life.inc[from] ~= h.inc then
		rec.notes[#rec.notes + 1] = "new_inc"
		end_life(link, from, number)
		link.past[from][life.inc[from]] = true
		local other = life.inc[to]
		life = new_life()
		life.inc[from], life.inc[to] = h.inc, other
		link.life = life
	end
	if h.peer_inc == NO_INC then
		return
	end
	life.inc[to] = life.inc[to] or h.peer_inc
	if life.inc[to] ~= h.peer_inc then
		return		-- its counters are about another incarnation
	end

	heard_tx(life.dir[from], h.tx, rec, pinfo, true)
	heard_rx(life.dir[to], h.rx, rec, pinfo)
	if not link.frozen[to] or h.dst_ltag ~= link.ltag[to] then
		return		-- nobody resolves by it
	end
	link.frozen[to] = nil
	for n = 1, 2 do
		for t in pairs(life.dir[n].open) do
			if t.is_frozen then
				t.is_frozen = false
				local taken = n == to and distance(h.rx, t.seq) >= 0
				t.resolved[#t.resolved + 1] =
					{ number, taken and "delivered" or "not taken: offered again or reversed" }
			end
		end
	end
end

local function run_of(link, from, h)
	local key = from == 1 and h.src_ltag .. ":" .. h.dst_ltag or h.dst_ltag .. ":" .. h.src_ltag
	local run = link.runs[key]
	if not run then
		link.nruns = link.nruns + 1
		run = { life = link.life, id = link.nruns }
		link.runs[key] = run
	end
	return run
end

local function offer_key(run, from, h)
	return run.id .. ":" .. from .. ":" .. h.seq .. (h.kind == VOID and ":void" or "")
end

-- The transaction that an ASK, or an answer, is about; from: who offers it.
local function asked_about(link, run, from, h)
	local t = link.offers[offer_key(run, from, h)]
	return t and t.kind == h.kind and t or nil
end

-- May a slice be one of this transaction, as far as can be told?
local function same_content(t, run, h, data)
	if t.kind ~= h.kind or t.express ~= has(h.flags, EXPRESS) then
		return false
	end
	local known = t.cut.slices[h.slice]
	if not known or not known.data or not data or known.data == data then
		return true
	end
	if has(h.flags, RESUME) then
		return false
	end
	if run == t.run or h.slice ~= 0 then
		return run ~= t.run and #known.data ~= #data
	end
	-- Cut anew, in another run: one begins as the other does.
	local n = math.min(#known.data, #data)
	return known.data:sub(1, n) == data:sub(1, n) and #known.data ~= #data
end

-- Under what it was offered before, it is no more.
local function leave(t)
	local list = t.dir.seqs[t.seq]
	for i, other in ipairs(list) do
		if other == t then
			table.remove(list, i)
			break
		end
	end
	if #list == 0 then
		t.dir.seqs[t.seq] = nil
	end
end

-- What stood above something that was reversed moves down with the next run, and a half that found
-- none has another number when it is offered again. The lowest of those with this content, if it is
-- undecided.
local function moved(dir, run, h, data)
	local found
	for t in pairs(dir.open) do
		local known = t.cut.slices[h.slice]
		if (t.waits or (t.run ~= run and distance(t.seq, h.seq) > 0)) and
		   t.kind == h.kind and t.express == has(h.flags, EXPRESS) and data and known and known.data == data and
		   (not t.cut.last or has(h.flags, LAST) == (t.cut.last == h.slice)) and
		   not (found and distance(t.seq, found.seq) > 0) then
			found = t
		end
	end
	return found
end

local function new_transaction(dir, from, run, h, pinfo)
	transactions = transactions + 1
	local t = { id = transactions, dir = dir, from = from, seq = h.seq, kind = h.kind, run = run,
		    express = has(h.flags, EXPRESS), cut = { slices = {} }, offers = 0,
		    offered_in = pinfo.number, time = pinfo.rel_ts, refused = {}, resolved = {},
		    offer_time = {} }
	local list = dir.seqs[h.seq]
	if not list then
		list = {}
		dir.seqs[h.seq] = list
	end
	list[#list + 1] = t
	dir.open[t] = true
	return t
end

-- All slices are here: the whole, and its digest.
local function assemble(cut, number)
	if cut.whole or not cut.last then
		return
	end
	local parts, hashes = {}, {}
	for n = 0, cut.last do
		local slice = cut.slices[n]
		if not slice or not slice.data then
			return
		end
		parts[#parts + 1], hashes[#hashes + 1] = slice.data, slice.hash
	end
	cut.whole, cut.whole_in = concat(parts), number
	if #hashes == #parts then
		cut.digest_hi, cut.digest_lo = xxh64(concat(hashes), 0, 0)
	end
end

-- A first frame that is late: nothing was offered in its place before. Which one is it?
local function came_late(list, dir, run, from, h, data, pinfo)
	for i = #list - 1, 1, -1 do
		if same_content(list[i], run, h, data) then
			return list[i]
		end
	end
	local void, before = list[#list], new_transaction(dir, from, run, h, pinfo)
	list[#list], list[#list - 1] = void, before
	if not before.express then
		finish(before, "reversed", "reversed_in", void.offered_in)
	end
	return before
end

-- Which transaction is it that an offer not seen before in this run is about?
local function offered(dir, run, from, h, data, rec, pinfo)
	local list = dir.seqs[h.seq]
	local t = list and list[#list]

	if t and t.run == run and t.kind == VOID and h.kind ~= VOID then
		return came_late(list, dir, run, from, h, data, pinfo)
	end
	if t and t.kind == VOID and h.kind ~= VOID then
		finish(t, "gone with its run", "replaced_in", pinfo.number)
	elseif t and h.kind == VOID and t.kind ~= VOID then
		local refused = t.refused[#t.refused]
		if t.kind == SWAP and not t.outcome and refused and refused[2] == NO_HALF then
			-- It waits to be lent, or to be offered again.
			leave(t)
			t.waits = true
		else
			if not t.outcome then
				rec.notes[#rec.notes + 1] = "reversed"
			end
			-- Whether an express was delivered is not known yet.
			if not t.express then
				finish(t, "reversed", "reversed_in", pinfo.number)
			end
		end
	elseif t and not same_content(t, run, h, data) then
		finish(t, "reversed", "replaced_in", pinfo.number)
	elseif t and (not t.outcome or t.outcome == "committed") then
		if t.run ~= run then
			t.run, t.is_frozen = run, false
			if not has(h.flags, RESUME) then
				t.cut = { slices = {} }		-- perhaps into others
			end
		end
		return t
	end
	t = h.kind ~= VOID and moved(dir, run, h, data)
	if t then
		if not t.waits then
			leave(t)
		end
		t.waits = nil
		t.seq, t.run, t.is_frozen = h.seq, run, false
		t.cut = { slices = {} }
		list = dir.seqs[h.seq] or {}
		dir.seqs[h.seq] = list
		list[#list + 1] = t
		return t
	end
	t = new_transaction(dir, from, run, h, pinfo)
	if dir.tx and distance(h.seq, dir.tx) <= 0 then
		finish(t, "committed before")
	end
	return t
end

local function heard_offer(link, run, from, h, data, hash, rec, pinfo)
	local key, number = offer_key(run, from, h), pinfo.number
	local t = link.offers[key]

	if t and not same_content(t, run, h, data) then
		rec.notes[#rec.notes + 1] = "differs"
		rec.t = t
		return
	end
	if not t then
		t = offered(run.life.dir[from], run, from, h, data, rec, pinfo)
		link.offers[key] = t
		t.offers = t.offers + 1
		if t.offers > 1 then
			rec.notes[#rec.notes + 1] = "again"
		end
	end
	t.offer_time[key] = t.offer_time[key] or pinfo.rel_ts
	local cut = t.cut
	rec.t, rec.cut = t, cut
	if has(h.flags, LAST) and not cut.last then
		cut.last = h.slice
	end
	local slice = cut.slices[h.slice]
	if slice then
		if slice.key == key and slice.pn == h.pn then
			rec.notes[#rec.notes + 1] = "copy"
			rec.copy_of = slice.latest
		else
			if slice.key == key then
				rec.notes[#rec.notes + 1] = "again"
			end
			slice.key, slice.latest, slice.pn = key, number, h.pn
		end
		slice.data, slice.hash = slice.data or data, slice.hash or hash
	else
		cut.slices[h.slice] = { number = number, latest = number, data = data, hash = hash,
					key = key, pn = h.pn }
	end
	assemble(cut, number)
end

local function heard_reflect(link, run, from, h, tvb, rec, pinfo)
	local t = asked_about(link, run, 3 - from, h)
	if not t then
		return
	end
	rec.t = t
	if not t.reflected then
		t.reflected = pinfo.number
	end
	if t.kind == VOID then
		for _, other in ipairs(t.dir.seqs[t.seq]) do
			if other.kind ~= VOID then
				finish(other, "reversed", "reversed_in", pinfo.number)
			end
		end
	end
	local since = t.offer_time[offer_key(run, 3 - from, h)]
	if not t.reflect_time and since then
		t.reflect_time = pinfo.rel_ts - since
	end
	local cut = t.cut
	if cut.digest_hi and tvb:len() >= h.at + 16 then
		local first = (cut.whole:sub(1, 8) .. NO_INC):sub(1, 8)
		rec.match = tvb(h.at, 4):uint() == cut.digest_hi and
			    tvb(h.at + 4, 4):uint() == cut.digest_lo and tvb:raw(h.at + 8, 8) == first
		if not rec.match then
			rec.notes[#rec.notes + 1] = "mismatch"
		end
	end
	if h.kind == SWAP then
		for other in pairs(run.life.dir[from].open) do
			if other.kind == SWAP then
				-- its own offer is withdrawn, the half goes out with this
				finish(other, "withdrawn, lent", "lent_in", pinfo.number)
				t.partner, other.partner = other.id, t.id
			end
		end
	end
end

-- Frames that must name both ltags of a run.
local function heard_data(link, from, h, tvb, hash, rec, pinfo)
	local run = run_of(link, from, h)
	local to, op = 3 - from, h.opcode
	local life = run.life

	if h.src_ltag == link.ltag[from] then
		link.frozen[from] = nil
	end
	heard_tx(life.dir[from], h.tx, rec, pinfo, false)
	heard_rx(life.dir[to], h.rx, rec, pinfo)
	if op == OFFER then
		local data
		if not h.cut then
			data = h.length > 0 and tvb:raw(h.at, h.length) or ""
		end
		heard_offer(link, run, from, h, data, hash, rec, pinfo)
	elseif op == REFLECT then
		heard_reflect(link, run, from, h, tvb, rec, pinfo)
	elseif op == REFUSE then
		local t = asked_about(link, run, to, h)
		rec.t = t
		if t then
			t.refused[#t.refused + 1] = { pinfo.number, h.reason }
			rec.notes[#rec.notes + 1] = "refused"
			if FOR_GOOD[h.reason] then
				finish(t, "refused", nil)
			else
				-- its reflection is that of what is offered then
				t.offer_time[offer_key(run, to, h)] = nil
			end
		end
	elseif op == ASK then
		rec.t = asked_about(link, run, from, h)
	elseif op == ACK then
		rec.t = asked_about(link, run, to, h)
	else
		local list
		if op == COMMIT then
			list = life.dir[from].seqs[h.tx]
		elseif op == DONE then
			list = life.dir[to].seqs[h.rx]
		elseif op == CLOSE_ACK then
			for n = 1, 2 do
				for t in pairs(life.dir[n].open) do
					finish(t, "reversed", "ended_in", pinfo.number)
				end
			end
		end
		rec.t = list and committed_of(list)
	end
end

local DATA = { [CLOSE] = true, [CLOSE_ACK] = true, [OFFER] = true, [REFLECT] = true,
	       [COMMIT] = true, [REFUSE] = true, [READY] = true, [DONE] = true,
	       [ASK] = true, [ACK] = true }

-- The first time that a good frame is seen.
local function follow(tvb, pinfo, h, hash, rec)
	local src, dst = tostring(pinfo.dl_src), tostring(pinfo.dl_dst)
	if h.via then
		src, dst = tostring(tvb(54, 6):ether()), tostring(tvb(48, 6):ether())
	end
	if src == dst or src == "" or dst == "" then
		return
	end
	if h.opcode == PATH then
		if h.stop - h.at < 32 then
			return
		end
		local from, to = tostring(tvb(h.at + 10, 6):ether()), tostring(tvb(h.at + 4, 6):ether())
		if tvb(h.at, 1):uint() == 2 and from ~= to and (from ~= src or to ~= dst) then
			paths[src .. "|" .. dst .. "|" .. h.vc] = { from, to }
			paths[dst .. "|" .. src .. "|" .. h.vc] = { to, from }
		end
		src, dst = from, to
	end
	local link, from = link_of(src, dst, h.vc)
	rec.link = link.id
	if h.opcode == SYNC or h.opcode == SYNC_ACK then
		if h.stop - h.at >= 16 then
			h.inc, h.peer_inc = tvb:raw(h.at, 8), tvb:raw(h.at + 8, 8)
			heard_sync(link, from, h, rec, pinfo)
		end
	elseif DATA[h.opcode] and h.src_ltag ~= 0 and h.dst_ltag ~= 0 and
	       (h.opcode ~= CLOSE or h.reason == 0) then
		heard_data(link, from, h, tvb, hash, rec, pinfo)
	end
end

-- --- how it is shown --------------------------------------------------------------------------

local function plural(n, what)
	return n .. " " .. what .. (n == 1 and "" or "s")
end

local function hex32(n)
	return n == 0 and "unknown" or format("%08x", n)
end

local function hex64(range)
	return "0x" .. tostring(range:bytes()):lower()
end

local function generated(tree, name, ...)
	return tree:add(f[name], ...):set_generated()
end

local function seconds(t)
	local ns = floor(t * 1e9 + 0.5)
	local whole = floor(ns / 1e9)
	return NSTime.new(whole, ns - whole * 1e9)
end

-- Those fields of a body that are there, in a row: name, offset, bytes. Says whether all were.
local function add_row(tree, tvb, at, row)
	for _, item in ipairs(row) do
		if at + item[2] + item[3] > tvb:len() then
			return false
		end
		tree:add(f[item[1]], tvb(at + item[2], item[3]))
	end
	return true
end

local function add_zero(tree, name, range)
	local item = tree:add(f[name], range)
	if not range:bytes():tohex():match("^0*$") then
		item:add_proto_expert_info(e.zero)
	end
end

local function add_flags(tree, name, range, names)
	local value, set = range:uint(), {}
	local sub = tree:add(f[name], range)
	for _, flag_name in ipairs(names) do
		sub:add(f[name .. "." .. flag_name[1]], range)
		if has(value, flag_name[2]) then
			set[#set + 1] = flag_name[1]:upper()
		end
	end
	sub:append_text(#set > 0 and " (" .. concat(set, ", ") .. ")" or " (none)")
end

local FLAGS = { { "express", EXPRESS }, { "last", LAST }, { "resume", RESUME },
		{ "want_done", WANT_DONE }, { "free", FREE }, { "via", VIA }, { "auth", AUTH },
		{ "reserved", RESERVED } }
local MARKS = { { "now", NOW }, { "answer", ANSWER },
		{ "blocked", BLOCKED } }
local HELLO_FLAGS = { { "gateway", GATEWAY }, { "leaving", LEAVING }, { "ask", HELLO_ASK },
		      { "about", ABOUT }, { "node", NODE } }

-- The messages of a pack in the bytes at..stop - 1 of tvb: how many; nil if it is malformed, or
-- not all of it was captured.
local function pack_messages(tvb, at, stop, tree)
	if stop - at < 2 then
		return nil
	end
	local count = tvb(at, 1):uint()
	tree:add(f["pack.count"], tvb(at, 1))
	add_zero(tree, "pack.zero", tvb(at + 1, 1))
	local ok = count >= 1 and count <= 64 and tvb(at + 1, 1):uint() == 0
	local head, from = at + 2, at + 2 + 2 * count
	for n = 0, count - 1 do
		if stop - head < 2 then
			return nil
		end
		local len = tvb(head, 2):uint()
		local item = tree:add(f["pack.len"], tvb(head, 2))
		item:prepend_text("Message " .. n .. ": ")
		if len == 0 or from + len > stop then
			return nil
		end
		tree:add(f["pack.message"], tvb(from, len))
		head, from = head + 2, from + len
	end
	return ok and from == stop and count or nil
end

-- A verb's request in the bytes from..stop - 1 of tvb; shown if there is a tree. What its
-- operations are, a list of { code, words }, and what it does in words; nil if it is malformed.
local function verb_request(tvb, at, stop, tree)
	local ops, texts = {}, {}
	if stop - at < 8 then
		return nil
	end
	local region, nops = tvb(at, 4):uint(), tvb(at + 4, 1):uint()
	local ok = nops >= 1 and nops <= 64 and tvb(at + 5, 3):uint() == 0
	if tree then
		tree:add(f["verb.region"], tvb(at, 4))
		tree:add(f["verb.nops"], tvb(at + 4, 1))
		add_zero(tree, "verb.zero", tvb(at + 5, 3))
	end
	at = at + 8
	for n = 0, nops - 1 do
		if stop - at < 8 then
			return nil
		end
		local code, words = tvb(at, 1):uint(), tvb(at + 1, 1):uint()
		local index, begin = tvb(at + 4, 4):uint(), at
		local sets = (code == READ and 0 or words) + (code == CAS and words or 0)
		local here = math.min(sets, floor((stop - at - 8) / 8))
		local name = VERB_CODES[code] or "code " .. code
		local text = format("%s %s", name, words == 1 and "word " .. index or
				    format("words %d to %d", index, index + words - 1))
		ok = ok and VERB_CODES[code] and words >= 1 and words <= 8 and
		     tvb(at + 2, 2):uint() == 0 and here == sets
		local sub
		if tree then
			sub = tree:add(oae, tvb(begin, 8 + here * 8),
				       format("Operation %d: %s", n, text))
			sub:add(f["verb.op"], tvb(at, 1))
			sub:add(f["verb.words"], tvb(at + 1, 1))
			add_zero(sub, "verb.op.zero", tvb(at + 2, 2))
			sub:add(f["verb.index"], tvb(at + 4, 4))
		end
		at = at + 8
		for i = 1, here do
			if sub then
				sub:add(f[code == CAS and i <= words and "verb.compare" or "verb.operand"],
					tvb(at, 8))
			end
			at = at + 8
		end
		ops[#ops + 1], texts[#texts + 1] = { code = code, words = words, name = text }, text
		if here < sets or not VERB_CODES[code] then
			return nil
		end
	end
	if at < stop then
		if tree then
			tree:add(f["verb.excess"], tvb(at, stop - at))
		end
		return nil
	end
	if not ok then
		return nil
	end
	return ops, format("region %d: %s", region, #texts > 4 and
			   concat(texts, ", ", 1, 3) .. format(", and %d more", #texts - 3) or
			   concat(texts, ", "))
end

-- A verb's answer; ops if the request is known. In words, or nil if it is malformed.
local function verb_answer(tvb, at, stop, tree, ops)
	if stop - at < 8 then
		return nil
	end
	local taken, failed = tvb(at, 1):uint(), tvb(at + 1, 1):uint()
	local ok = taken <= 1 and (taken == 0 or failed == 0) and tvb(at + 2, 4):uint() == 0 and
		   tvb(at + 6, 2):uint() == 0
	if tree then
		tree:add(f["answer.taken"], tvb(at, 1))
		tree:add(f["answer.failed"], tvb(at + 1, 1))
		add_zero(tree, "answer.zero", tvb(at + 2, 6))
	end
	at = at + 8
	local words, first = floor((stop - at) / 8), at
	local labels = {}
	for n, op in ipairs(ops or {}) do
		for i = 1, op.code == WRITE and 0 or op.words do
			labels[#labels + 1] = format("operation %d, %s%s", n - 1, op.name,
						     op.words > 1 and ", word " .. i or "")
		end
	end
	if tree then
		for n = 1, words do
			local item = tree:add(f["answer.word"], tvb(at, 8))
			if labels[n] then
				item:append_text(" (" .. labels[n] .. ")")
			end
			at = at + 8
		end
	end
	at = first + words * 8
	if at < stop then
		if tree then
			tree:add(f["answer.excess"], tvb(at, stop - at))
		end
		ok = false
	end
	if not ok or (ops and #labels ~= words) then
		return nil
	end
	local said = taken == 1 and "taken" or format("not taken, operation %d failed", failed)
	if words > 0 then
		said = said .. ", was " .. hex64(tvb(first, 8)) ..
		       (words > 1 and " and " .. plural(words - 1, "word") .. " more" or "")
	end
	return said
end

-- The bodies by opcode. Each says what it is in words.
local BODY = {}

-- What is kept of rx + 1.
local function sync_kept(tvb, h, tree)
	add_row(tree, tvb, h.at, { { "sync.kept", 40, 8 }, { "sync.hash", 48, 8 },
				   { "sync.last", 56, 1 } })
	local kept = bits_set(tvb, h.at + 40)
	return #kept > 0 and format(", I keep slice%s %s (from 0) of #%d", #kept == 1 and "" or "s",
				    ranges(kept), h.rx + 1)
end

local function sync_body(tvb, h, tree)
	local rows = { { "sync.inc", 0, 8 }, { "sync.peer_inc", 8, 8 }, { "sync.caps", 16, 4 },
		       { "sync.max_len", 20, 4 }, { "sync.start", 24, 4 }, { "sync.mtu", 28, 2 } }
	local window, keeps = 1, ""
	if h.stop - h.at >= 30 and add_row(tree, tvb, h.at, rows) then
		window = tvb(h.at + 19, 1):uint() % 64 + 1
		tree:add(f["sync.window"], tvb(h.at + 16, 4)):append_text(
			format(" (%s at a time)", plural(window, "transaction")))
		tree:add(f["sync.packs"], tvb(h.at + 16, 4))
		tree:add(f["sync.paths"], tvb(h.at + 16, 4))
		tree:add(f["sync.gateway"], tvb(h.at + 16, 4))
		tree:add(f["sync.met"], tvb(h.at + 16, 4))
		-- As far as it was captured.
		local have = math.min(h.stop - h.at, SYNC_LEN)
		for _, free in ipairs(SYNC_FREE) do
			if have > free[1] then
				add_zero(tree, "sync.zero",
					 tvb(h.at + free[1], math.min(have, free[2]) - free[1]))
			end
		end
		keeps = have >= 57 and sync_kept(tvb, h, tree) or ""
	elseif h.stop > h.at then
		tree:add(f.payload, tvb(h.at, h.stop - h.at))
	end
	return format("my ltag %s, yours %s, committed #%d, delivered #%d%s%s", hex32(h.src_ltag),
		      hex32(h.dst_ltag), h.tx, h.rx,
		      window > 1 and ", window " .. window or "", keeps)
end

BODY[SYNC] = sync_body
BODY[SYNC_CHK] = function(tvb, h, tree)
	sync_body(tvb, h, tree)
	return format("my ltag is %s, ask again", hex32(h.src_ltag))
end
BODY[SYNC_ACK] = sync_body

BODY[CLOSE] = function(_, h)
	return h.reason == 0 and format("I close, and take nothing above #%d%s", h.seq,
					has(h.flags, LAST) and "; all of mine is decided" or "") or
	       "you are turned away, " .. (REASONS[h.reason] or "reason " .. h.reason)
end
BODY[CLOSE_ACK] = function()
	return "I have forgotten the link"
end

local function meant(h)
	return "#" .. h.seq
end

local function bytes_granted(h)
	return h.grant == 0 and "nothing" or plural(h.grant * GRANT_UNIT, "byte")
end

BODY[OFFER] = function(tvb, h, tree, rec)
	local words = { meant(h) }
	local last = rec.cut and rec.cut.last
	if h.kind == SWAP then
		words[#words + 1] = "my half of " .. plural(h.length, "byte")
	elseif h.kind == VOID then
		words[#words + 1] = "nothing, in place of what was reversed"
	elseif h.kind ~= VERB and h.kind ~= PACK then
		if h.slice > 0 or not has(h.flags, LAST) then
			words[#words + 1] = format("slice %d of %s", h.slice + 1, last and last + 1 or "?")
		end
		words[#words + 1] = plural(h.length, "byte")
	end
	if h.stop > h.at then
		local range = tvb(h.at, h.stop - h.at)
		if h.kind == VERB then
			local sub = tree:add(oae, range, "Verb")
			local ops, text = verb_request(tvb, h.at, h.stop, sub)
			if ops then
				sub:append_text(", " .. text)
				if rec.t and rec.t.kind == VERB then
					rec.t.ops = ops
				end
			elseif not h.cut then
				sub:add_proto_expert_info(e.verb, "Malformed request: BAD_VERB")
			end
			words[#words + 1] = text and "verb on " .. text or "malformed verb"
		end
		if h.kind == PACK then
			local count = pack_messages(tvb, h.at, h.stop, tree:add(oae, range, "Pack"))
			if not count and not h.cut then
				tree:add_proto_expert_info(e.pack, "Malformed pack: KIND")
			end
			words[#words + 1] = count and "a pack of " .. plural(count, "message") or
					    "malformed pack"
		else
			tree:add(f[h.kind == SWAP and "swap.half" or "payload"], range)
		end
	end
	if has(h.flags, EXPRESS) then
		words[#words + 1] = "express"
	end
	if has(h.flags, RESUME) then
		words[#words + 1] = "what you keep is of this"
	end
	return concat(words, ", ")
end

BODY[REFLECT] = function(tvb, h, tree, rec)
	local words = { meant(h) }
	if h.stop - h.at >= 16 then
		tree:add(f["reflect.digest"], tvb(h.at, 8))
		tree:add(f["reflect.first"], tvb(h.at + 8, 8))
		if rec.match ~= nil then
			generated(tree, "reflect.match", rec.match)
		end
		local at = h.at + 16
		if h.stop > at then
			local range = tvb(at, h.stop - at)
			if h.kind == SWAP then
				tree:add(f["swap.half"], range)
			elseif h.kind == VERB then
				local sub = tree:add(oae, range, "Answer")
				local text = verb_answer(tvb, at, h.stop, sub, rec.t and rec.t.ops)
				if text then
					sub:append_text(", " .. text)
				elseif not h.cut then
					sub:add_proto_expert_info(e.verb, "Malformed answer")
				end
				words[#words + 1] = text or "malformed answer"
			else
				tree:add(f.payload, range)
			end
		end
	elseif h.stop > h.at then
		tree:add(f.payload, tvb(h.at, h.stop - h.at))
	end
	words[#words + 1] = rec.match == false and "heard something else" or "this is what I heard"
	if h.kind == SWAP then
		words[#words + 1] = format("and my half of %s", plural(math.max(h.length - 16, 0), "byte"))
	end
	return concat(words, ", ")
end

BODY[COMMIT] = function(_, h)
	return format("#%d%s%s", h.tx, has(h.flags, WANT_DONE) and ", say when it is delivered" or "",
		      has(h.marks, BLOCKED) and ", what is next is not granted" or "")
end

BODY[REFUSE] = function(tvb, h, tree)
	if h.stop > h.at then
		tree:add(f.payload, tvb(h.at, h.stop - h.at))
	end
	return format("%s, %s: %s", meant(h), REASONS[h.reason] or "reason " .. h.reason,
		      REASON_TEXT[h.reason] or "unknown")
end

BODY[ASK] = function(tvb, h, tree)
	if h.stop > h.at then
		tree:add(f.payload, tvb(h.at, h.stop - h.at))
	end
	return format("%s, what do you have of it?%s", meant(h), h.length > 0 and
		      " probe of length " .. plural(h.hlen + h.length, "byte") or "")
end

BODY[ACK] = function(tvb, h, tree)
	if h.stop - h.at < 8 then
		if h.stop > h.at then
			tree:add(f.payload, tvb(h.at, h.stop - h.at))
		end
		return meant(h)
	end
	local item = tree:add(f["ack.have"], tvb(h.at, 8))
	local have = bits_set(tvb, h.at)
	for _, n in ipairs(have) do
		generated(item, "ack.slice", tvb(h.at + 7 - floor(n / 8), 1), n)
	end
	return format("%s, I have %s", meant(h), #have == 0 and "nothing of it" or
		      format("slice%s %s (from 0)", #have == 1 and "" or "s", ranges(have)))
end

BODY[READY] = function(_, h)
	return format("granted above #%d: %s; or words are free", h.rx, bytes_granted(h))
end
BODY[DONE] = function(_, h)
	return format("#%d is delivered, granted above it: %s", h.rx, bytes_granted(h))
end

local function hello_node(tvb, at, flags, tree)
	add_zero(tree, "hello.zone", tvb(at + 2, 2))
	add_row(tree, tvb, at, { { "hello.mtu", 4, 2 } })
	add_zero(tree, "hello.epoch", tvb(at + 6, 2))
	add_row(tree, tvb, at, { { "hello.id", 8, 8 }, { "hello.node_inc", 16, 8 } })
	return format("id:%s, MTU %d%s", tvb(at + 8, 8):bytes():tohex(true),
		      tvb(at + 4, 2):uint(), has(flags, LEAVING) and ", leaving" or "")
end

BODY[HELLO] = function(tvb, h, tree)
	local at = h.at
	if h.stop - at < 24 then
		if h.stop > at then
			tree:add(f.payload, tvb(at, h.stop - at))
		end
		return "cut off"
	end
	local flags = tvb(at, 1):uint()
	add_flags(tree, "hello.flags", tvb(at, 1), HELLO_FLAGS)
	add_zero(tree, "hello.zero", tvb(at + 1, 1))
	if has(flags, NODE) then
		return hello_node(tvb, at, flags, tree)
	end
	add_row(tree, tvb, at, { { "hello.zone", 2, 2 }, { "hello.mtu", 4, 2 }, { "hello.epoch", 6, 2 },
				 { "hello.inc", 8, 4 }, { "hello.life", 12, 2 },
				 { "hello.node_life", 14, 2 }, { "hello.about", 16, 6 } })
	add_zero(tree, "hello.zero2", tvb(at + 22, 2))
	local words = { has(flags, GATEWAY) and format("gateway of zone %d", tvb(at + 2, 2):uint()) or
			"host", format("MTU %d", tvb(at + 4, 2):uint()) }
	if has(flags, ABOUT) then
		words[2] = words[2] .. " to " .. tostring(tvb(at + 16, 6):ether())
	end
	if has(flags, LEAVING) then
		words[#words + 1] = "leaving"
	end
	if has(flags, HELLO_ASK) then
		words[#words + 1] = "answer now"
	end
	return concat(words, ", ")
end

BODY[NOLINK] = function(_, h)
	return format("I have no link for your ltag %s", hex32(h.dst_ltag))
end

local PATH_TEXT = { "does this lead to you?", "yes, it does;" }

BODY[PATH] = function(tvb, h, tree)
	local at = h.at
	if h.stop - at < 32 then
		if h.stop > at then
			tree:add(f.payload, tvb(at, h.stop - at))
		end
		return "cut off"
	end
	add_row(tree, tvb, at, { { "path.role", 0, 1 } })
	add_zero(tree, "path.zero", tvb(at + 1, 1))
	add_row(tree, tvb, at, { { "path.mtu", 2, 2 }, { "path.to", 4, 6 }, { "path.from", 10, 6 },
				 { "path.nonce", 16, 8 }, { "path.proof", 24, 8 } })
	local role = tvb(at, 1):uint()
	if role == 3 then
		return format("behind a gateway I am at %s; MTU %d, id 0x%s",
			      tostring(tvb(at + 10, 6):ether()), tvb(at + 2, 2):uint(),
			      tostring(tvb(at + 16, 8):uint64():tohex()))
	end
	return format("%s MTU %d, of the link %s to %s", PATH_TEXT[role] or format("role %d;", role),
		      tvb(at + 2, 2):uint(), tostring(tvb(at + 10, 6):ether()),
		      tostring(tvb(at + 4, 6):ether()))
end

-- What is said in the column of a frame with another opcode.
local function other_body(tvb, h, tree)
	if h.stop > h.at then
		tree:add(f.payload, tvb(h.at, h.stop - h.at))
	end
	return "of unknown meaning"
end

local function add_header(tree, tvb, h)
	tree:add(f.version, tvb(0, 1))
	tree:add(f.ext, tvb(0, 1)):append_text(format(" (%s, header of %d)", plural(h.hlen - HDR_LEN, "byte"), h.hlen))
	tree:add(f.opcode, tvb(1, 1))
	tree:add(f.vc, tvb(2, 1))
	add_flags(tree, "flags", tvb(3, 1), FLAGS)
	add_row(tree, tvb, 0, { { "length", 4, 2 }, { "slice", 6, 1 }, { "kind", 7, 1 },
				{ "src_ltag", 8, 4 }, { "dst_ltag", 12, 4 }, { "tx", 16, 4 },
				{ "rx", 20, 4 }, { "seq", 24, 4 } })
	local item = tree:add(f.grant, tvb(28, 2))
	if not GRANTLESS[h.opcode] then
		item:append_text(format(" (%s)", bytes_granted(h)))
	end
	item = tree:add(f.reason, tvb(30, 1))
	if h.reason ~= 0 and REASON_TEXT[h.reason] then
		item:append_text(": " .. REASON_TEXT[h.reason])
	end
	add_flags(tree, "marks", tvb(31, 1), MARKS)
	if ANSWERS[h.opcode] then
		add_row(tree, tvb, 0, { { "ack", 32, 4 }, { "map", 36, 4 } })
	else
		add_row(tree, tvb, 0, { { "pn", 32, 4 } })
	end
	item = tree:add(f.digest, tvb(40, 8))
	if h.via then
		local sub = tree:add(oae, tvb(48, 12), "Through gateways")
		sub:add(f["via.dst"], tvb(48, 6))
		sub:add(f["via.src"], tvb(54, 6))
		sub:append_text(format(", from %s to %s", tostring(tvb(54, 6):ether()),
				       tostring(tvb(48, 6):ether())))
	end
	return item
end

-- The frames of a whole of several slices, and the whole, where it is complete.
local function add_slices(tree, h, rec, pinfo)
	local cut = rec.cut
	if not cut then
		return
	end
	if h.slice > 0 or not has(h.flags, LAST) then
		generated(tree, "slice_of", format("%d of %s", h.slice + 1, cut.last and cut.last + 1 or "?"))
	end
	if not cut.whole then
		return
	end
	if cut.whole_in ~= pinfo.number then
		generated(tree, "reassembled_in", cut.whole_in)
		return
	end
	generated(tree, "reassembled.length", #cut.whole)
	if cut.last > 0 then
		for n = 0, cut.last do
			generated(tree, "slice.frame", cut.slices[n].number):append_text(
				format(" (%d of %d, %s)", n + 1, cut.last + 1,
				       plural(#cut.slices[n].data, "byte")))
		end
		if #cut.whole > 0 then
			local whole = ByteArray.new(cut.whole, true):tvb("Transaction")
			generated(tree, "reassembled.data", whole())
		end
	end
end

-- All that is known of the transaction that a frame is about.
local function add_transaction(tree, h, rec, pinfo)
	local t = rec.t
	local sub = tree:add(oae, format("Transaction %d: #%d, %s%s, %s", t.id, t.seq,
					 t.express and "express " or "", KINDS[t.kind]:lower(),
					 t.outcome or "undecided")):set_generated()
	generated(sub, "transaction", t.id)
	generated(sub, "outcome", t.outcome or "undecided")
	if h.opcode == OFFER then
		add_slices(sub, h, rec, pinfo)
	end
	generated(sub, "offered_in", t.offered_in)
	if t.reflected then
		generated(sub, "reflected_in", t.reflected)
	end
	for _, name in ipairs({ "committed_in", "delivered_in", "reversed_in", "replaced_in", "frozen_in",
				"ended_in", "lent_in", "partner" }) do
		if t[name] then
			generated(sub, name, t[name])
		end
	end
	for _, refused in ipairs(t.refused) do
		generated(sub, "refused_in", refused[1]):append_text(
			": " .. (REASONS[refused[2]] or refused[2]))
	end
	for _, resolved in ipairs(t.resolved) do
		generated(sub, "resolved_in", resolved[1])
		generated(sub, "resolved_as", resolved[2])
	end
	if t.reflect_time then
		generated(sub, "reflect_time", seconds(t.reflect_time))
	end
	if t.commit_time then
		generated(sub, "commit_time", seconds(t.commit_time))
	end
end

local function add_decided(tree, rec)
	for _, t in ipairs(rec.commits) do
		generated(tree, "commits", t.id):append_text(format(" (#%d)", t.seq))
		generated(tree, "commits.offered_in", t.offered_in)
	end
	for _, t in ipairs(rec.delivers) do
		generated(tree, "delivers", t.id):append_text(format(" (#%d)", t.seq))
	end
end

local function add_notes(tree, h, rec)
	for _, name in ipairs(rec.notes) do
		tree:add_proto_expert_info(e[name])
	end
	if rec.copy_of then
		generated(tree, "copy_of", rec.copy_of)
	end
	if h.opcode == NOLINK then
		tree:add_proto_expert_info(e.nolink)
	elseif h.opcode == CLOSE and h.reason ~= 0 then
		tree:add_proto_expert_info(e.turned_away)
	end
end

-- What a frame is, checked and followed; once.
local function judge(tvb, pinfo, h)
	local rec = { bad = h.bad, commits = {}, delivers = {}, notes = {} }
	if h.bad or not h.whole_header then
		return rec
	end
	if not h.cut and oae.prefs.check_digest then
		rec.digest = check_digest(tvb, h)
		if not rec.digest.good then
			rec.bad = "bad_digest"
			return rec
		end
	end
	if h.opcode == HELLO and not h.cut and hello_malformed(tvb, h.at, pinfo) then
		rec.bad = "bad_field"
	elseif oae.prefs.follow and not pinfo.in_error_pkt then
		follow(tvb, pinfo, h, rec.digest and rec.digest.slice_hash, rec)
	end
	return rec
end

-- In a datagram: how many bytes the frame had.
local tunnel_total

function oae.dissector(tvb, pinfo, root)
	local total = tunnel_total or tvb:reported_len()
	tunnel_total = nil
	decide_addresses()
	pinfo.cols.protocol = "OAE"

	local h = parse(tvb, total)
	local tree = root:add(oae, tvb())
	if not h.whole_header then
		pinfo.cols.info = h.bad or "cut off"
		if h.bad then
			generated(tree, "bad", h.bad)
			tree:add_proto_expert_info(e[h.bad])
		else
			tree:add_proto_expert_info(e.cut)
		end
		if h.have > 0 then
			tree:add(f.payload, tvb())
		end
		return h.have
	end

	-- A frame that is quoted in an error message does not take the place of its own.
	local rec = frames[pinfo.number]
	if not rec or pinfo.in_error_pkt then
		rec = judge(tvb, pinfo, h)
		if not pinfo.in_error_pkt then
			frames[pinfo.number] = rec
		end
	end

	local name = OPCODES[h.opcode] or "opcode " .. h.opcode
	local digest = add_header(tree, tvb, h)
	local text = (BODY[h.opcode] or other_body)(tvb, h, tree, rec)
	if h.have > h.stop then
		local item = tree:add(f.excess, tvb(h.stop, h.have - h.stop))
		item:append_text(format(" (%s)", plural(h.have - h.stop, "byte")))
	end

	generated(digest, "digest.status", rec.digest and (rec.digest.good and 1 or 0) or 2)
	if rec.digest and not rec.digest.good then
		generated(digest, "digest.expected", UInt64.new(rec.digest.lo, rec.digest.hi))
	end
	if rec.link then
		generated(tree, "link", rec.link)
	end
	if rec.bad then
		generated(tree, "bad", rec.bad)
		tree:add_proto_expert_info(e[rec.bad])
	elseif h.cut then
		tree:add_proto_expert_info(e.cut)
	end
	add_notes(tree, h, rec)
	add_decided(tree, rec)
	if rec.t then
		add_transaction(tree, h, rec, pinfo)
	end

	local decided = {}
	for _, t in ipairs(rec.commits) do
		if h.opcode ~= COMMIT or t.seq ~= h.tx then
			decided[#decided + 1] = "commits #" .. t.seq
		end
	end
	local info = format("%s%s: %s%s%s", h.vc ~= 0 and format("vc %d: ", h.vc) or "", name, text,
			    #decided > 0 and "; " .. concat(decided, ", ") or "",
			    rec.bad and format(" [%s: %s]", rec.bad, BAD_TEXT[rec.bad]) or "")
	tree:append_text(": " .. info)
	if h.via then
		info = format("%s (%s to %s)", info, tostring(tvb(54, 6):ether()), tostring(tvb(48, 6):ether()))
	end
	pinfo.cols.info = info
	return h.have
end

-- --- between gateways -------------------------------------------------------------------------

local oaeip = Proto("oaeip", "Atomic Link Gateways")
local g, x = {}, {}

local function ipfield(name, make, text, ...)
	g[name] = make("oaeip." .. name, text, ...)
end

local TYPES = { "DATA", "CONTROL" }
local OPS = { "BEAT", "NODES", "ASK", "BYE", "PROBE" }
local DATA_TYPE, BEAT, NODES, PROBE = 1, 1, 2, 5
local OP_TEXT = { "I am here", "of my zone", "tell me all your nodes", "forget me and my nodes",
		  "does this arrive?" }
local GONE, CLAIM, MAX_NODES, MAX_ZONES = 1, 2, 150, 64
local IP_BAD = { short = "shorter than it says", version = "another version", type = "unknown type",
		 flags = "a reserved flag", zone = "a zone out of range", long = "longer than it says",
		 op = "unknown message", count = "number of nodes", field = "a field is out of its range",
		 mac = "an address that is not unicast", via = "a frame without VIA" }

ipfield("version", ProtoField.uint8, "Version", base.DEC, nil, 0xf0)
ipfield("type", ProtoField.uint8, "Type", base.DEC, TYPES, 0x0f)
ipfield("flags", ProtoField.uint8, "Flags", base.HEX)
ipfield("src_zone", ProtoField.uint16, "From zone", base.DEC)
ipfield("dst_zone", ProtoField.uint16, "To zone", base.DEC)
ipfield("length", ProtoField.uint16, "Length", base.DEC)
ipfield("op", ProtoField.uint8, "Message", base.DEC, OPS)
ipfield("zero", ProtoField.uint8, "Zero", base.DEC)
ipfield("count", ProtoField.uint16, "Nodes", base.DEC)
ipfield("inc", ProtoField.uint32, "Gateway's incarnation", base.HEX)
ipfield("serial", ProtoField.uint32, "Serial", base.DEC)
ipfield("life", ProtoField.uint16, "Good for, units of 100 ms", base.DEC)
ipfield("seen", ProtoField.uint16, "Longest BEAT or PROBE heard, bytes", base.DEC)
ipfield("node", ProtoField.ether, "Node")
ipfield("node.flags", ProtoField.uint8, "Flags", base.HEX)
g["node.gone"] = ProtoField.bool("oaeip.node.gone", "GONE: not in my zone any more", 8, nil, GONE)
g["node.claim"] = ProtoField.bool("oaeip.node.claim", "CLAIM: I hear it, is it in yours?", 8, nil, CLAIM)
ipfield("node.zero", ProtoField.uint8, "Zero", base.DEC)
ipfield("probe", ProtoField.bytes, "Padding of the PROBE")
ipfield("excess", ProtoField.bytes, "Behind the message")
ipfield("bad", ProtoField.string, "Dropped by every gateway, cause")

local ip_all, ip_experts = {}, {}
for _, value in pairs(g) do
	ip_all[#ip_all + 1] = value
end
oaeip.fields = ip_all
for name, text in pairs(IP_BAD) do
	x[name] = ProtoExpert.new("oaeip.bad_" .. name, name .. ": " .. text, expert.group.MALFORMED,
				  expert.severity.ERROR)
	ip_experts[#ip_experts + 1] = x[name]
end
oaeip.experts = ip_experts
oaeip.prefs.port = Pref.uint("UDP port", 34997, "The gateways' knob port")

-- The rules of the encapsulation, in the order of modoaeip/rules/encap.c.
local function encap_bad(tvb, total)
	if total < 8 then
		return "short"
	end
	local kind, src, dst = tvb(0, 1):uint() % 16, tvb(2, 2):uint(), tvb(4, 2):uint()
	local length = tvb(6, 2):uint()
	if floor(tvb(0, 1):uint() / 16) ~= 1 then
		return "version"
	elseif not TYPES[kind] then
		return "type"
	elseif tvb(1, 1):uint() ~= 0 then
		return "flags"
	elseif src == 0 or src > MAX_ZONES or dst == 0 or dst > MAX_ZONES or src == dst then
		return "zone"
	elseif total - 8 < length then
		return "short"
	elseif total - 8 > length then
		return "long"
	end
end

-- Those of a control message, from behind the encapsulation; total bytes, of which tvb has some.
local function control_bad(tvb, total)
	if total < 16 then
		return "short"
	end
	if tvb:len() < 24 then
		return nil		-- cut off
	end
	local op, count = tvb(8, 1):uint(), tvb(10, 2):uint()
	if not OPS[op] then
		return "op"
	elseif op == NODES and (count == 0 or count > MAX_NODES) or op ~= NODES and count ~= 0 then
		return "count"
	elseif tvb(9, 1):uint() ~= 0 or tvb(12, 4):uint() == 0 or tvb(20, 2):uint() == 0 or
	       (op ~= BEAT and tvb(22, 2):uint() ~= 0) then
		return "field"
	elseif total < 16 + count * 8 then
		return "short"
	elseif total > 16 + count * 8 and op ~= PROBE then
		return "long"
	end
	for n = 0, count - 1 do
		local at = 24 + n * 8
		if at + 8 > tvb:len() then
			return nil
		end
		if not unicast(tvb:raw(at, 6)) then
			return "mac"
		elseif tvb(at + 6, 1):uint() > CLAIM then
			return "flags"
		elseif tvb(at + 7, 1):uint() ~= 0 then
			return "field"
		end
	end
end

-- What a control message says.
local function add_control(tree, tvb)
	for _, row in ipairs({ { "op", 8, 1 }, { "zero", 9, 1 }, { "count", 10, 2 }, { "inc", 12, 4 },
			       { "serial", 16, 4 }, { "life", 20, 2 }, { "seen", 22, 2 } }) do
		if row[2] + row[3] > tvb:len() then
			return "cut off"
		end
		tree:add(g[row[1]], tvb(row[2], row[3]))
	end
	local op, count, at = tvb(8, 1):uint(), tvb(10, 2):uint(), 24
	local gone, claimed, here = 0, 0, 0
	while op == NODES and here < count and at + 8 <= tvb:len() do
		local flags = tvb(at + 6, 1):uint()
		local item = tree:add(g.node, tvb(at, 6))
		local sub = item:add(g["node.flags"], tvb(at + 6, 1))
		sub:add(g["node.gone"], tvb(at + 6, 1))
		sub:add(g["node.claim"], tvb(at + 6, 1))
		item:add(g["node.zero"], tvb(at + 7, 1))
		if has(flags, GONE) then
			gone = gone + 1
			item:append_text(" gone")
		elseif has(flags, CLAIM) then
			claimed = claimed + 1
			item:append_text(" claimed")
		end
		at, here = at + 8, here + 1
	end
	if at < tvb:len() then
		tree:add(g[op == PROBE and "probe" or "excess"], tvb(at, tvb:len() - at))
	end
	local name = OPS[op] or "message " .. op
	if op == NODES then
		return format("NODES: %d here, %d gone, %d claimed", here - gone - claimed, gone, claimed)
	elseif op == BEAT then
		return format("BEAT: I am here; longest BEAT or PROBE heard %d bytes", tvb(22, 2):uint())
	elseif op == PROBE then
		return format("PROBE of %d bytes: does this arrive?", tvb:reported_len())
	end
	return name .. ": " .. (OP_TEXT[op] or "of unknown meaning")
end

function oaeip.dissector(tvb, pinfo, root)
	local total = tvb:reported_len()
	decide_addresses()
	pinfo.cols.protocol = "OAEIP"
	local tree = root:add(oaeip, tvb())
	local function dropped(cause)
		tree:add(g.bad, cause):set_generated()
		tree:add_proto_expert_info(x[cause])
	end

	if tvb:len() < 8 then
		pinfo.cols.info = total < 8 and "short datagram" or "cut off"
		if total < 8 then
			dropped("short")
		end
		return tvb:len()
	end
	tree:set_len(8)
	tree:add(g.version, tvb(0, 1))
	tree:add(g.type, tvb(0, 1))
	tree:add(g.flags, tvb(1, 1))
	tree:add(g.src_zone, tvb(2, 2))
	tree:add(g.dst_zone, tvb(4, 2))
	tree:add(g.length, tvb(6, 2))

	local kind = tvb(0, 1):uint() % 16
	local way = format("zone %d to %d: ", tvb(2, 2):uint(), tvb(4, 2):uint())
	local bad = encap_bad(tvb, total)
	if bad then
		dropped(bad)
	end
	if kind == DATA_TYPE then
		tree:append_text(", " .. way .. "DATA")
		if not bad and tvb:len() >= 8 + HDR_LEN and not has(tvb(11, 1):uint(), VIA) and
		   tvb(9, 1):uint() ~= HELLO then
			dropped("via")
		end
		if tvb:len() > 8 then
			tunnel_total = total - 8
			oae.dissector:call(tvb(8):tvb(), pinfo, root)
			tunnel_total = nil
			pinfo.cols.info:prepend(way)
			pinfo.cols.info:append(bad and format(" [%s]", bad) or "")
		else
			pinfo.cols.info = way .. "nothing"
		end
		return tvb:len()
	end
	local text = kind == 2 and add_control(tree, tvb) or "type " .. kind
	if kind == 2 and not bad then
		bad = control_bad(tvb, total - 8)
		if bad then
			dropped(bad)
		end
	end
	tree:set_len(tvb:len())
	tree:append_text(", " .. way .. text)
	pinfo.cols.info = way .. text .. (bad and format(" [%s: %s]", bad, IP_BAD[bad]) or "")
	return tvb:len()
end

-- --- UDP ports --------------------------------------------------------------------------------

local oaeudp = Proto("oaeudp", "Atomic Link over UDP")
local u = {
	version = ProtoField.uint8("oaeudp.version", "Version", base.DEC, nil, 0xf0),
	type = ProtoField.uint8("oaeudp.type", "Type", base.DEC, { "FRAME" }, 0x0f),
	zero = ProtoField.uint8("oaeudp.zero", "Zero", base.DEC),
	bad = ProtoField.string("oaeudp.bad", "Dropped by every port, cause"),
}
local u_bad = ProtoExpert.new("oaeudp.bad_datagram", "not a frame for a UDP port", expert.group.MALFORMED,
			      expert.severity.ERROR)
local UDP_HDR_LEN = 16
local as_ethernet = Dissector.get("eth_withoutfcs")

oaeudp.fields = { u.version, u.type, u.zero, u.bad }
oaeudp.experts = { u_bad }
oaeudp.prefs.port = Pref.uint("UDP port", 34998, "That of the UDP ports in the knob dev")

-- The rules of udpmap.c; total bytes, of which tvb has some.
local function udp_bad(tvb, total)
	if total < UDP_HDR_LEN + HDR_LEN then
		return "short"
	elseif floor(tvb(0, 1):uint() / 16) ~= 1 then
		return "version"
	elseif tvb(0, 1):uint() % 16 ~= 1 then
		return "type"
	elseif tvb(1, 1):uint() ~= 0 then
		return "zero"
	elseif tvb:len() >= UDP_HDR_LEN and (tvb(14, 2):uint() ~= oae.prefs.ethertype or
					     not unicast(tvb:raw(2, 6)) or not unicast(tvb:raw(8, 6))) then
		return "ethernet"
	end
end

function oaeudp.dissector(tvb, pinfo, root)
	decide_addresses()
	pinfo.cols.protocol = "OAEUDP"
	local tree = root:add(oaeudp, tvb(0, math.min(2, tvb:len())))
	if tvb:len() < 2 then
		pinfo.cols.info = tvb:reported_len() < 2 and "short datagram" or "cut off"
		if tvb:reported_len() < 2 then
			tree:add(u.bad, "short"):set_generated()
			tree:add_proto_expert_info(u_bad)
		end
		return tvb:len()
	end
	tree:add(u.version, tvb(0, 1))
	tree:add(u.type, tvb(0, 1))
	tree:add(u.zero, tvb(1, 1))
	local bad = udp_bad(tvb, tvb:reported_len())
	if bad then
		tree:add(u.bad, bad):set_generated()
		tree:add_proto_expert_info(u_bad)
		pinfo.cols.info = format("[%s]", bad)
		return tvb:len()
	end
	if tvb:len() > 2 then
		as_ethernet:call(tvb(2):tvb(), pinfo, root)
	end
	return tvb:len()
end

-- --- where they are heard ---------------------------------------------------------------------

local ethertypes, ports = DissectorTable.get("ethertype"), DissectorTable.get("udp.port")
local ethertype, port, udp_port = oae.prefs.ethertype, oaeip.prefs.port, oaeudp.prefs.port

ethertypes:add(ethertype, oae)
ports:add(port, oaeip)
ports:add(udp_port, oaeudp)

function oae.prefs_changed()
	if ethertype ~= oae.prefs.ethertype then
		ethertypes:remove(ethertype, oae)
		ethertype = oae.prefs.ethertype
		ethertypes:add(ethertype, oae)
	end
end

function oaeip.prefs_changed()
	if port ~= oaeip.prefs.port then
		ports:remove(port, oaeip)
		port = oaeip.prefs.port
		ports:add(port, oaeip)
	end
end

function oaeudp.prefs_changed()
	if udp_port ~= oaeudp.prefs.port then
		ports:remove(udp_port, oaeudp)
		udp_port = oaeudp.prefs.port
		ports:add(udp_port, oaeudp)
	end
end
