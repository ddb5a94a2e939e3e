// SPDX-License-Identifier: GPL-2.0
/*
 * Frames: bytes on the wire <-> struct oae_frame (doc/protocol.md section 2).
 *
 * Pure: no allocation, no lock, no clock. Every received frame is hostile until
 * oae_frame_parse() and then oae_frame_verify() have returned OAE_BAD_NONE.
 */
#include "frame.h"

static const char *const opcode_names[OAE_OPCODE_END] = {
	[OAE_SYNC] = "SYNC",
	[OAE_SYNC_ACK] = "SYNC_ACK",
	[OAE_SYNC_CHK] = "SYNC_CHK",
	[OAE_CLOSE] = "CLOSE",
	[OAE_CLOSE_ACK] = "CLOSE_ACK",
	[OAE_OFFER] = "OFFER",
	[OAE_REFLECT] = "REFLECT",
	[OAE_COMMIT] = "COMMIT",
	[OAE_REFUSE] = "REFUSE",
	[OAE_READY] = "READY",
	[OAE_DONE] = "DONE",
	[OAE_HELLO] = "HELLO",
	[OAE_NOLINK] = "NOLINK",
	[OAE_PATH] = "PATH",
	[OAE_ASK] = "ASK",
	[OAE_ACK] = "ACK",
};

/**
 * oae_opcode_name() - the name of an opcode, for people
 * @opcode: any byte
 *
 * Return: the name, "?" for an unknown opcode.
 */
const char *oae_opcode_name(u8 opcode)
{
	if (opcode >= OAE_OPCODE_END || !opcode_names[opcode])
		return "?";
	return opcode_names[opcode];
}

/* The hash of a header; of the usual length it takes fewer instructions. */
static inline u64 frame_header_hash(const u8 *hdr, size_t hdr_len, u64 payload_hash)
{
	if (hdr_len == OAE_HDR_LEN)
		return oae_xxh64(hdr, OAE_HDR_LEN, payload_hash);
	return oae_xxh64(hdr, hdr_len, payload_hash);
}

/* The digest of a header, with the digest field counted as zero. */
static u64 frame_header_digest(const u8 *hdr, size_t hdr_len, u64 payload_hash)
{
	u8 copy[OAE_HLEN_MAX] oae_uninit;

	/* The usual length: the compiler makes a few moves of a constant copy. */
	if (hdr_len == OAE_HDR_LEN)
		memcpy(copy, hdr, OAE_HDR_LEN);
	else
		memcpy(copy, hdr, hdr_len);
	memset(copy + OAE_OFF_DIGEST, 0, sizeof(u64));
	return frame_header_hash(copy, hdr_len, payload_hash);
}

/* Is this an OFFER of one slice, not express? All are but those of messages. */
static bool one_frame(const struct oae_frame *f)
{
	return !f->slice && !f->length == (f->kind == OAE_VOID) &&
	       (f->flags & (OAE_F_LAST | OAE_F_EXPRESS | OAE_F_RESUME)) ==
		       OAE_F_LAST;
}

/* Marks and map: what only some opcodes have. */
static bool frame_marks_ok(const struct oae_frame *f)
{
	if (oae_is_answer(f->opcode))
		return !(f->marks & ~OAE_M_NOW);
	if (f->map || (f->pn && !oae_is_question(f->opcode)))
		return false;
	return !(f->marks & ~(f->opcode == OAE_OFFER ? OAE_M_ANSWER :
			      f->opcode == OAE_COMMIT ? OAE_M_BLOCKED : 0));
}

/* Is this a reason for which an offer is refused? */
static bool frame_refuses(u8 reason)
{
	return reason == OAE_R_BUSY ||
	       (reason >= OAE_R_NO_HALF && reason != OAE_R_POLICY && reason != OAE_R_FULL);
}

/* Field ranges that depend on the opcode, and the length of its body. */
static bool frame_fields_ok(const struct oae_frame *f)
{
	if (f->kind >= OAE_KIND_END || f->reason >= OAE_REASON_END)
		return false;
	if (f->opcode != OAE_OFFER && f->slice)
		return false;
	if (f->grant &&
	    (f->opcode == OAE_HELLO || f->opcode == OAE_NOLINK || f->opcode == OAE_PATH))
		return false;
	if (!frame_marks_ok(f))
		return false;

	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		return f->length == OAE_SYNC_LEN && f->src_ltag;
	case OAE_OFFER:
		return f->slice < OAE_MAX_SLICES &&
		       (oae_kind_is(f->kind, OAE_T_CUT) || one_frame(f));
	case OAE_REFLECT:
		if (oae_kind_is(f->kind, OAE_T_ANSWER))
			return f->length > OAE_REFLECT_LEN;
		return f->length == OAE_REFLECT_LEN;
	case OAE_REFUSE:
		return frame_refuses(f->reason) && !f->length;
	case OAE_ASK:
		return true;
	case OAE_ACK:
		return f->length == OAE_ACK_LEN;
	case OAE_CLOSE:
		return !f->length && (!f->reason || f->reason == OAE_R_POLICY ||
				      f->reason == OAE_R_FULL);
	case OAE_HELLO:
		return f->length == OAE_HELLO_LEN;
	case OAE_PATH:
		return f->length == OAE_PATH_LEN;
	default:
		return !f->length;
	}
}

static void frame_parse_hello(struct oae_frame *f, const u8 *p)
{
	f->hello.flags = p[OAE_HELLO_OFF_FLAGS];
	f->hello.mtu = get_unaligned_be16(p + OAE_HELLO_OFF_MTU);
	if (f->hello.flags & OAE_HELLO_NODE) {
		f->hello.id = get_unaligned_be64(p + OAE_HELLO_OFF_ID);
		f->hello.node_inc = get_unaligned_be64(p + OAE_HELLO_OFF_NODE_INC);
		return;
	}
	f->hello.zone = get_unaligned_be16(p + OAE_HELLO_OFF_ZONE);
	f->hello.epoch = get_unaligned_be16(p + OAE_HELLO_OFF_EPOCH);
	f->hello.inc = get_unaligned_be32(p + OAE_HELLO_OFF_INC);
	f->hello.life = get_unaligned_be16(p + OAE_HELLO_OFF_LIFE);
	f->hello.node_life = get_unaligned_be16(p + OAE_HELLO_OFF_NODE_LIFE);
	memcpy(f->hello.about, p + OAE_HELLO_OFF_ABOUT, 6);
}

static void frame_parse_path(struct oae_frame *f, const u8 *p)
{
	f->path.role = p[OAE_PATH_OFF_ROLE];
	f->path.mtu = get_unaligned_be16(p + OAE_PATH_OFF_MTU);
	memcpy(f->path.to, p + OAE_PATH_OFF_TO, 6);
	memcpy(f->path.from, p + OAE_PATH_OFF_FROM, 6);
	f->path.nonce = get_unaligned_be64(p + OAE_PATH_OFF_NONCE);
	f->path.proof = get_unaligned_be64(p + OAE_PATH_OFF_PROOF);
}

/* False: a SYNC has something in what it keeps free, or a slice beyond all. */
static bool frame_parse_sync(struct oae_frame *f, const u8 *p)
{
	unsigned int i;
	u8 any = 0;

	f->sync.inc = get_unaligned_be64(p + OAE_SYNC_OFF_INC);
	f->sync.peer_inc = get_unaligned_be64(p + OAE_SYNC_OFF_PEER_INC);
	f->sync.caps = get_unaligned_be32(p + OAE_SYNC_OFF_CAPS);
	f->sync.max_len = get_unaligned_be32(p + OAE_SYNC_OFF_MAX_LEN);
	f->sync.start = get_unaligned_be32(p + OAE_SYNC_OFF_START);
	f->sync.mtu = get_unaligned_be16(p + OAE_SYNC_OFF_MTU);
	f->sync.kept = get_unaligned_be64(p + OAE_SYNC_OFF_KEPT);
	f->sync.hash = get_unaligned_be64(p + OAE_SYNC_OFF_HASH);
	f->sync.last = p[OAE_SYNC_OFF_LAST];
	for (i = OAE_SYNC_OFF_ZERO; i < OAE_SYNC_OFF_KEPT; i++)
		any |= p[i];
	for (i = OAE_SYNC_OFF_ZERO2; i < OAE_SYNC_LEN; i++)
		any |= p[i];
	return !any && (f->sync.last < OAE_MAX_SLICES || f->sync.last == OAE_SYNC_NO_LAST);
}

/* False: a field is out of its range. */
static bool frame_parse_body(struct oae_frame *f, const u8 *p, size_t have)
{
	switch (f->opcode) {
	case OAE_OFFER:
		if (!f->slice)
			f->first = oae_first_bytes(p, have);
		break;
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		return frame_parse_sync(f, p);
	case OAE_REFLECT:
		f->reflect.digest = get_unaligned_be64(p + OAE_REFLECT_OFF_DIGEST);
		f->reflect.first = get_unaligned_be64(p + OAE_REFLECT_OFF_FIRST);
		break;
	case OAE_HELLO:
		frame_parse_hello(f, p);
		break;
	case OAE_PATH:
		frame_parse_path(f, p);
		break;
	case OAE_ACK:
		f->have = get_unaligned_be64(p + OAE_ACK_OFF_HAVE);
		break;
	}
	return true;
}

/**
 * oae_frame_parse() - parse a frame's header and body (protocol 2.1 to 2.4, 2.6)
 * @f: filled in; valid only if OAE_BAD_NONE is returned
 * @buf: the frame, from behind the Ethernet header
 * @have: bytes that can be read at @buf: at least header, extensions and the body
 *	that the protocol defines
 * @total: bytes received behind the Ethernet header
 *
 * Checks all but the digest: oae_frame_verify() does that, once the payload has been
 * hashed. @f->first of an OFFER is taken from what can be read at @buf; a caller that
 * has the payload elsewhere sets it itself.
 *
 * Return: OAE_BAD_NONE, or the cause for dropping the frame.
 */
enum oae_bad oae_frame_parse(struct oae_frame *f, const u8 *buf, size_t have,
			     size_t total)
{
	size_t need, hdr_len, body;

	if (have < OAE_HDR_LEN || total < have)
		return OAE_BAD_SHORT;
	if (buf[OAE_OFF_VER_EXT] >> 4 != OAE_VERSION)
		return OAE_BAD_VERSION;

	hdr_len = OAE_HDR_LEN + (buf[OAE_OFF_VER_EXT] & 0x0f) * 4;
	f->opcode = buf[OAE_OFF_OPCODE];
	f->vc = buf[OAE_OFF_VC];
	f->flags = buf[OAE_OFF_FLAGS];
	if (f->flags & ~OAE_F_ALL)
		return OAE_BAD_FLAGS;
	if (f->opcode >= OAE_OPCODE_END || !opcode_names[f->opcode])
		return OAE_BAD_OPCODE;
	if (hdr_len != OAE_HDR_LEN +
		       (f->flags & OAE_F_VIA ? OAE_VIA_LEN : 0))
		return OAE_BAD_HLEN;

	f->hdr_len = hdr_len;
	f->length = get_unaligned_be16(buf + OAE_OFF_LENGTH);
	f->slice = buf[OAE_OFF_SLICE];
	f->src_ltag = get_unaligned_be32(buf + OAE_OFF_SRC_LTAG);
	f->dst_ltag = get_unaligned_be32(buf + OAE_OFF_DST_LTAG);
	f->tx = get_unaligned_be32(buf + OAE_OFF_TX);
	f->rx = get_unaligned_be32(buf + OAE_OFF_RX);
	f->seq = get_unaligned_be32(buf + OAE_OFF_SEQ);
	f->kind = buf[OAE_OFF_KIND];
	f->grant = get_unaligned_be16(buf + OAE_OFF_GRANT);
	f->reason = buf[OAE_OFF_REASON];
	f->marks = buf[OAE_OFF_MARKS];
	f->pn = get_unaligned_be32(buf + OAE_OFF_PN);
	f->map = get_unaligned_be32(buf + OAE_OFF_MAP);
	f->unfit = false;
	f->payload_hash = 0;

	need = hdr_len + f->length;
	if (total < need)
		return OAE_BAD_SHORT;
	if (total > need)
		return OAE_BAD_LONG;
	if (!frame_fields_ok(f))
		return OAE_BAD_FIELD;

	body = oae_frame_body_len(f);
	if (have < hdr_len + body)
		return OAE_BAD_SHORT;
	if (f->flags & OAE_F_VIA)
		memcpy(f->via, buf + OAE_OFF_VIA_DST, OAE_VIA_LEN);
	return frame_parse_body(f, buf + hdr_len, have - hdr_len) ? OAE_BAD_NONE : OAE_BAD_FIELD;
}

/**
 * oae_frame_verify() - check the digest of a parsed frame (protocol 2.5)
 * @f: from oae_frame_parse(); payload_hash is set
 * @hdr: the header, @f->hdr_len bytes
 * @payload_hash: oae_slice_hash() of the payload, @f->length bytes
 *
 * Return: OAE_BAD_NONE, OAE_BAD_DIGEST, or OAE_BAD_AUTH for a keyed digest.
 */
enum oae_bad oae_frame_verify(struct oae_frame *f, const u8 *hdr,
			      u64 payload_hash)
{
	if (f->flags & OAE_F_AUTH)
		return OAE_BAD_AUTH;
	if (frame_header_digest(hdr, f->hdr_len, payload_hash) !=
	    get_unaligned_be64(hdr + OAE_OFF_DIGEST))
		return OAE_BAD_DIGEST;
	f->payload_hash = payload_hash;
	return OAE_BAD_NONE;
}

/**
 * oae_frame_body_len() - length of the body that the protocol defines
 * @f: a frame
 *
 * Return: bytes; 0 for an OFFER, whose payload is part of the transaction.
 */
size_t oae_frame_body_len(const struct oae_frame *f)
{
	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		return OAE_SYNC_LEN;
	case OAE_REFLECT:
		return OAE_REFLECT_LEN;
	case OAE_HELLO:
		return OAE_HELLO_LEN;
	case OAE_PATH:
		return OAE_PATH_LEN;
	case OAE_ACK:
		return OAE_ACK_LEN;
	default:
		return 0;
	}
}

/**
 * oae_reflect_body() - build the body of a REFLECT
 * @f: the frame
 * @p: room for OAE_REFLECT_LEN bytes
 */
void oae_reflect_body(const struct oae_frame *f, u8 *p)
{
	put_unaligned_be64(f->reflect.digest, p + OAE_REFLECT_OFF_DIGEST);
	put_unaligned_be64(f->reflect.first, p + OAE_REFLECT_OFF_FIRST);
}

static void frame_build_hello(const struct oae_frame *f, u8 *p)
{
	p[OAE_HELLO_OFF_FLAGS] = f->hello.flags;
	p[OAE_HELLO_OFF_ZERO] = 0;
	put_unaligned_be16(f->hello.mtu, p + OAE_HELLO_OFF_MTU);
	if (f->hello.flags & OAE_HELLO_NODE) {
		put_unaligned_be16(0, p + OAE_HELLO_OFF_ZONE);
		put_unaligned_be16(0, p + OAE_HELLO_OFF_EPOCH);
		put_unaligned_be64(f->hello.id, p + OAE_HELLO_OFF_ID);
		put_unaligned_be64(f->hello.node_inc, p + OAE_HELLO_OFF_NODE_INC);
		return;
	}
	put_unaligned_be16(f->hello.zone, p + OAE_HELLO_OFF_ZONE);
	put_unaligned_be16(f->hello.epoch, p + OAE_HELLO_OFF_EPOCH);
	put_unaligned_be32(f->hello.inc, p + OAE_HELLO_OFF_INC);
	put_unaligned_be16(f->hello.life, p + OAE_HELLO_OFF_LIFE);
	put_unaligned_be16(f->hello.node_life, p + OAE_HELLO_OFF_NODE_LIFE);
	memcpy(p + OAE_HELLO_OFF_ABOUT, f->hello.about, 6);
	put_unaligned_be16(0, p + OAE_HELLO_OFF_ZERO2);
}

static void frame_build_path(const struct oae_frame *f, u8 *p)
{
	p[OAE_PATH_OFF_ROLE] = f->path.role;
	p[OAE_PATH_OFF_ZERO] = 0;
	put_unaligned_be16(f->path.mtu, p + OAE_PATH_OFF_MTU);
	memcpy(p + OAE_PATH_OFF_TO, f->path.to, 6);
	memcpy(p + OAE_PATH_OFF_FROM, f->path.from, 6);
	put_unaligned_be64(f->path.nonce, p + OAE_PATH_OFF_NONCE);
	put_unaligned_be64(f->path.proof, p + OAE_PATH_OFF_PROOF);
}

static void frame_build_sync(const struct oae_frame *f, u8 *p)
{
	memset(p, 0, OAE_SYNC_LEN);
	put_unaligned_be64(f->sync.inc, p + OAE_SYNC_OFF_INC);
	put_unaligned_be64(f->sync.peer_inc, p + OAE_SYNC_OFF_PEER_INC);
	put_unaligned_be32(f->sync.caps, p + OAE_SYNC_OFF_CAPS);
	put_unaligned_be32(f->sync.max_len, p + OAE_SYNC_OFF_MAX_LEN);
	put_unaligned_be32(f->sync.start, p + OAE_SYNC_OFF_START);
	put_unaligned_be16(f->sync.mtu, p + OAE_SYNC_OFF_MTU);
	put_unaligned_be64(f->sync.kept, p + OAE_SYNC_OFF_KEPT);
	put_unaligned_be64(f->sync.hash, p + OAE_SYNC_OFF_HASH);
	p[OAE_SYNC_OFF_LAST] = f->sync.last;
}

static void frame_build_body(const struct oae_frame *f, u8 *p)
{
	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		frame_build_sync(f, p);
		break;
	case OAE_REFLECT:
		oae_reflect_body(f, p);
		break;
	case OAE_HELLO:
		frame_build_hello(f, p);
		break;
	case OAE_PATH:
		frame_build_path(f, p);
		break;
	case OAE_ACK:
		put_unaligned_be64(f->have, p + OAE_ACK_OFF_HAVE);
		break;
	}
}

/**
 * oae_frame_build() - build a frame's header and body
 * @f: the frame. For an OFFER, and what has data behind its body, the
 *	caller sets payload_hash and length, of the whole payload; for all others
 *	they are computed here.
 * @buf: room for OAE_PARSE_MAX bytes
 *
 * Return: bytes written; an OFFER's slice, zeros of an ASK, or the data behind a REFLECT's
 * body follow on the wire.
 */
size_t oae_frame_build(const struct oae_frame *f, u8 *buf)
{
	size_t hdr_len = OAE_HDR_LEN + (f->flags & OAE_F_VIA ? OAE_VIA_LEN : 0);
	size_t body = oae_frame_body_len(f);
	bool more = f->opcode == OAE_OFFER ||
		    ((f->opcode == OAE_REFLECT || f->opcode == OAE_ASK) && f->length > body);
	u64 hash = f->payload_hash;

	buf[OAE_OFF_VER_EXT] = OAE_VERSION << 4 | OAE_EXT_WORDS(hdr_len - OAE_HDR_LEN);
	buf[OAE_OFF_OPCODE] = f->opcode;
	buf[OAE_OFF_VC] = f->vc;
	buf[OAE_OFF_FLAGS] = f->flags;
	put_unaligned_be16(more ? f->length : body, buf + OAE_OFF_LENGTH);
	buf[OAE_OFF_SLICE] = f->slice;
	buf[OAE_OFF_KIND] = f->kind;
	put_unaligned_be32(f->src_ltag, buf + OAE_OFF_SRC_LTAG);
	put_unaligned_be32(f->dst_ltag, buf + OAE_OFF_DST_LTAG);
	put_unaligned_be32(f->tx, buf + OAE_OFF_TX);
	put_unaligned_be32(f->rx, buf + OAE_OFF_RX);
	put_unaligned_be32(f->seq, buf + OAE_OFF_SEQ);
	put_unaligned_be16(f->grant, buf + OAE_OFF_GRANT);
	buf[OAE_OFF_REASON] = f->reason;
	buf[OAE_OFF_MARKS] = f->marks;
	put_unaligned_be32(f->pn, buf + OAE_OFF_PN);
	put_unaligned_be32(f->map, buf + OAE_OFF_MAP);
	put_unaligned_be64(0, buf + OAE_OFF_DIGEST);
	if (f->flags & OAE_F_VIA)
		memcpy(buf + OAE_OFF_VIA_DST, f->via, OAE_VIA_LEN);

	frame_build_body(f, buf + hdr_len);
	if (!more)
		hash = oae_slice_hash(buf + hdr_len, body, f->slice);
	put_unaligned_be64(frame_header_hash(buf, hdr_len, hash),
			   buf + OAE_OFF_DIGEST);
	return hdr_len + body;
}

/**
 * oae_slice_hash() - the hash of one frame's payload
 * @data: the payload
 * @len: bytes
 * @slice: index of the slice, 0 for every frame but an OFFER
 *
 * Return: XXH64 of the payload seeded with @slice.
 */
u64 oae_slice_hash(const void *data, size_t len, u16 slice)
{
	return oae_xxh64(data, len, slice);
}

/**
 * oae_whole_digest() - the digest of a transaction (protocol 2.5)
 * @hash: hashes of the slices, in order
 * @nslices: number of slices, at most OAE_MAX_SLICES
 *
 * Return: XXH64, seed 0, over the hashes as big-endian words in order.
 */
u64 oae_whole_digest(const u64 *hash, unsigned int nslices)
{
	u8 be[OAE_MAX_SLICES * sizeof(u64)] oae_uninit;
	unsigned int i;

	for (i = 0; i < nslices; i++)
		put_unaligned_be64(hash[i], be + i * sizeof(u64));
	return oae_xxh64(be, nslices * sizeof(u64), 0);
}

/**
 * oae_kept_hash() - the hash of slices that are kept (protocol 2.3)
 * @kept: which, bit n for slice n, not 0
 * @hash: the hash of each, by its index; overwritten
 *
 * Return: as oae_whole_digest() of these alone.
 */
u64 oae_kept_hash(u64 kept, u64 *hash)
{
	unsigned int i, n = 0;

	for (i = 0; i < OAE_MAX_SLICES; i++)
		if (kept >> i & 1)
			hash[n++] = hash[i];
	return oae_whole_digest(hash, n);
}

/**
 * oae_first_bytes() - the beginning of a transaction, which REFLECT repeats
 * @data: the first slice
 * @len: its length, bytes; may be less than 8
 *
 * Return: the first 8 bytes as a big-endian number, zero-filled.
 */
u64 oae_first_bytes(const void *data, size_t len)
{
	u8 first[sizeof(u64)] = { 0 };

	if (len >= sizeof(first))
		return get_unaligned_be64(data);
	memcpy(first, data, len);
	return get_unaligned_be64(first);
}
