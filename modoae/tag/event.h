/* SPDX-License-Identifier: GPL-2.0 */
/* An event of a tag and its steps, shared by the files of tag/ that handle events. */
#ifndef OAE_EVENT_H
#define OAE_EVENT_H

#include "tag.h"

/**
 * struct oae_path_out - what an event of a tag with paths sends, and where (path.c)
 * @any: the rest is valid; else all goes by the tag's own path
 * @frozen: the link is: a SYNC by the own path says what that carries, too
 * @probe: paths to be probed
 * @answer: paths whose probe is answered
 * @proven: paths that are
 * @tell: the peer is to be told where this end is behind a gateway
 * @own_via: the probe of the own path, which is answered, came through the gateway
 * @used: index of the path in use
 * @to: of each send: the paths that it goes by
 * @nonce: of the answer; or of the probe of the first path, that of path n is greater by n
 * @inc: incarnations for the proof: this end's
 * @peer_inc: the peer's
 * @port: of each path; NULL it is not there
 * @kid: of each path: vc and address, OAE_KID_VIA if it goes through a gateway
 * @gw: of each path: which gateway that is
 * @place: where this end is
 * @to_name: the link's name in a probe, that is, of the path in use: the peer's address
 * @from_name: this end's
 * @heard: of each path: see struct oae_path
 * @mtu: of each path
 */
struct oae_path_out {
	bool any;
	bool frozen;
	u8 probe;
	u8 answer;
	u8 proven;
	bool tell;
	bool own_via;
	u8 used;
	u8 to[OAE_MAX_SENDS];
	u64 nonce;
	u64 inc;
	u64 peer_inc;
	struct oae_port *port[OAE_PATHS_MAX];
	u64 kid[OAE_PATHS_MAX];
	u8 gw[OAE_PATHS_MAX][ETH_ALEN];
	u8 place[ETH_ALEN];
	u8 to_name[ETH_ALEN];
	u8 from_name[ETH_ALEN];
	u32 heard[OAE_PATHS_MAX];
	u16 mtu[OAE_PATHS_MAX];
};

/**
 * struct oae_run - one event of a tag and its consequences
 * @a: actions that the link asks for
 * @tag: the tag
 * @clock: local_clock() at the begin of the event, ns: timers are armed by it
 * @now: time of the event, ns: oae_conn_begin()
 * @skb: the received frame; NULL once kept or reused
 * @hdr_len: length of its header, bytes; valid if @skb is
 * @done: messages that have ended, by oae_msg.list
 * @conn: the event of the link with its paths
 * @wake: tags to be sent READY since words are free: oae_region_woken()
 * @reply: of each send that is a REFLECT with a half or an answer, without its header
 * @wake_reader: something is unread
 * @wake_writer: there may be room to write, or delivery is confirmed
 * @ready: a verb was refused only to let others go first: READY follows
 * @via: the frames of this event go through the gateway
 * @out: which paths the frames go by
 * @more: more is to be offered: another event follows
 */
struct oae_run {
	struct oae_actions a;
	struct oae_tag *tag;
	u64 clock;
	u64 now;
	struct sk_buff *skb;
	unsigned int hdr_len;
	struct list_head done;
	struct oae_conn conn;
	struct list_head wake;
	struct sk_buff *reply[OAE_MAX_SENDS];
	bool wake_reader;
	bool wake_writer;
	bool ready;
	bool via;
	bool more;
	struct oae_path_out out;
};

#define OAE_DOUBT_LEAVE_NS	NSEC_PER_SEC	/* a link that does not freeze goes on after that */

/* Log an event, or one of its consequences: @what is an opcode, a note or an outcome. */
static inline void oae_run_log(struct oae_tag *tag, struct oae_run *ev, enum oae_ev_kind kind,
			       u8 what, u32 seq)
{
	lockdep_assert_held(&tag->lock);
	oae_evlog_add(tag->key.port, ev->now, tag->key.kid, kind, what,
		      ev->conn.before, oae_link_state(&tag->link), seq);
}

/* The way that a link begins with; @via: with use_gw auto, through the gateway. Its MTU. */
static inline u16 oae_tag_way_begin(struct oae_tag *tag, bool via)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	return oae_way_begin(&tag->way, &ways, via);
}

/* Stop counting a tag as a stranger's: its link is being opened here, or it is dead. */
static inline void oae_share_own(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (!tag->stranger)
		return;
	tag->stranger = false;
	atomic_dec(&tag->node->nstrangers);
}

/* Compare the addresses of the own path: the end with the higher one is the senior (4.9). */
static inline void oae_tag_rank(struct oae_tag *tag)
{
	u8 peer[ETH_ALEN];

	lockdep_assert_held(&tag->lock);
	oae_kid_mac(tag->key.kid, peer);
	oae_link_rank(&tag->link, memcmp(tag->key.port->addr, peer, ETH_ALEN) > 0);
}

/* What a tag's way carries: bytes behind the Ethernet header, VIA not counted. */
static inline u16 oae_tag_way_mtu(const struct oae_tag *tag)
{
	struct oae_ways ways;

	oae_port_ways(tag->key.port, &ways);
	return oae_way_mtu(&tag->way, &ways);
}

/* What the inbox has free, bytes. */
static inline u32 oae_inbox_free(const struct oae_tag *tag)
{
	u32 rcvbuf = READ_ONCE(tag->node->knobs.rcvbuf), unread = READ_ONCE(tag->inbox.bytes);

	return unread < rcvbuf ? rcvbuf - unread : 0;
}

/* A REFLECT that carries a half or an answer. */
static inline bool oae_out_has_reply(const struct oae_send *send)
{
	return send->frame.opcode == OAE_REFLECT && send->frame.length;
}

/* An OFFER of a message, a half or a verb. A VOID carries nothing. */
static inline bool oae_out_has_payload(const struct oae_send *send)
{
	return send->frame.opcode == OAE_OFFER && send->handle;
}

/* Does a frame carry what may change before it is sent? */
static inline bool oae_out_carries(const struct oae_send *send)
{
	return oae_out_has_payload(send) || oae_out_has_reply(send);
}

/* table.c: which links there are */
void oae_tag_remove(struct oae_tag *tag);
int oae_tag_rekey(struct oae_tag *tag, const struct oae_tag_key *key);
void oae_share_sort(struct oae_tag *tag);
void oae_doubt_unlist(struct oae_tag *tag);
void oae_doubt_look(struct oae_tag *tag, struct oae_run *ev);
struct oae_tag *oae_tag_add(struct oae_port *port, u64 kid, bool stranger, gfp_t gfp);

/* run.c: events of a link */
void oae_run_apply(struct oae_tag *tag, struct oae_run *ev);
void oae_tag_begin(struct oae_tag *tag, struct oae_run *ev, bool via);
void oae_tag_open(struct oae_tag *tag, struct oae_run *ev);
void oae_tag_retire(struct oae_tag *tag, bool kill);
void oae_run_enter(struct oae_tag *tag, struct oae_run *ev)
	__acquires(RCU_BH) __acquires(&tag->lock);
void oae_run_leave(struct oae_tag *tag, struct oae_run *ev)
	__releases(&tag->lock) __releases(RCU_BH);
void oae_run_room(struct oae_tag *tag, struct oae_run *ev);

/* life.c: opening, closing, changes of the port */
bool oae_tag_opening(const struct oae_tag *tag);
bool oae_share_make_room(struct oae_node *node, int err);

/* guess.c: tags whose port is a guess */
void oae_guess_del(struct oae_tag *tag);
void oae_guess_use(struct oae_tag *tag, const struct oae_addr *addr);
bool oae_guess_moved(const struct oae_tag *tag, const struct oae_port *port, u64 kid);
bool oae_guess_may_move(const struct oae_tag *tag, u64 kid);
void oae_guess_relist(struct oae_tag *tag);

/* queue.c: what waits for the link, and goes to it together */
void oae_queue_del(struct oae_tag *tag, struct oae_run *ev,
		   struct oae_msg *msg);
void oae_queue_flush(struct oae_tag *tag, int err);
void oae_queue_flush_some(struct oae_tag *tag, struct oae_run *ev);
struct oae_msg *oae_pack_make(struct oae_tag *tag, struct oae_run *ev, struct list_head *queue);
void oae_pack_ended(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *pack,
		    u8 outcome, int err);
void oae_pack_back(struct oae_tag *tag, struct oae_msg *msg, bool refused);
void oae_pack_cancel(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *msg,
		     int err);
bool oae_pack_check(struct oae_run *ev, struct oae_frame *f);

/* post.c: what programs have a tag do */
void oae_tag_send_ring(struct oae_tag *tag, struct list_head *msgs);

/* inbox.c: transactions that were delivered */
void oae_pack_pass(struct sk_buff *pack);
void oae_inbox_put(struct oae_tag *tag, u32 seq, unsigned int nslices);
void oae_inbox_put_pack(struct oae_tag *tag, u32 seq);
void oae_inbox_untake(struct oae_tag *tag, struct sk_buff *skb);
void oae_left_give_back(struct oae_rings *r);
unsigned int oae_inbox_drop(struct oae_tag *tag, struct sk_buff_head *lost);
void oae_places_lend(struct oae_tag *tag, struct oae_run *ev);
bool oae_places_slot(struct oae_tag *tag, const struct oae_frame *f);
void oae_places_reclaim(struct oae_tag *tag);
void oae_places_free(struct oae_tag *tag);

/* users.c: who uses a tag here, and who might */
int oae_users_make(struct oae_tag *tag);
void oae_users_free(struct oae_tag *tag);
void oae_fresh_del(struct oae_tag *tag);
void oae_unclaimed_sort(struct oae_tag *tag);

/* room.c: writers that wait for room */
int oae_room_wait(struct oae_tag *tag, struct oae_client *c, bool swap, long *left);
void oae_room_wake(struct oae_tag *tag, bool swap);
void oae_room_wake_client(struct oae_tag *tag, struct oae_client *c);

/* client.c: a tag's view of its files */
void oae_attach_add(struct oae_tag *tag, struct oae_client *c);
bool oae_attach_leave(struct oae_tag *tag, struct oae_client *c,
		      struct list_head *left);
bool oae_attach_del(struct oae_tag *tag, struct oae_client *c);
int oae_attach_queue(struct oae_tag *tag, struct oae_msg *msg);
bool oae_attach_ended(struct oae_tag *tag, struct oae_msg *msg);
void oae_attach_tell(struct oae_msg *msg);
void oae_attach_readable(struct oae_tag *tag);
void oae_attach_writable(struct oae_tag *tag);
void oae_attach_note(struct oae_tag *tag, enum oae_note note);
void oae_attach_dead(struct oae_tag *tag);
void oae_attach_shut(struct oae_tag *tag);

/* tell.c: outcomes, notes, waking, and what a link waits for */
void oae_waits_mark(struct oae_tag *tag);
void oae_tell_ended(struct oae_tag *tag, struct oae_run *ev,
		    struct oae_msg *msg, u8 outcome, int err);
void oae_tell_note(struct oae_tag *tag, struct oae_run *ev, const struct oae_op *op);
void oae_tell_all(struct oae_tag *tag, struct oae_run *ev);

/* region.c: words exposed to the verbs of peers */
u16 oae_region_compute(struct oae_tag *tag, u32 seq, u16 *reply, bool *again);
void oae_region_decided(struct oae_tag *tag, u32 seq, bool apply,
			struct list_head *wake);
struct oae_tag *oae_region_woken(struct list_head *wake);
void oae_region_awake(struct oae_tag *tag);
u64 oae_region_holder(const struct oae_tag *tag);
const u8 *oae_region_answer(struct oae_tag *tag, u32 seq, unsigned int *len);
void oae_region_move(struct oae_tag *tag, u32 seq, struct oae_tag_place *to);
void oae_region_idle(struct oae_tag *tag);
void oae_region_free(struct oae_tag *tag);
void oae_region_leave(struct oae_tag *tag);

/* path.c: by which path the frames of an event go */
void oae_tag_way_update(struct oae_tag *tag, struct oae_run *ev);
void oae_tag_way_refresh(struct oae_tag *tag, struct oae_run *ev);
bool oae_tag_way_heard(struct oae_tag *tag, struct oae_run *ev,
		       const struct oae_frame *f);
void oae_tag_way_timer(struct oae_tag *tag, struct oae_run *ev);
bool oae_path_before(struct oae_tag *tag, struct oae_run *ev, const struct sk_buff *skb,
		     const struct oae_frame *f, unsigned int index);
void oae_path_end(struct oae_tag *tag, struct oae_run *ev);
void oae_path_keys(const struct oae_tag *tag, struct oae_path_out *out);
u64 oae_path_proof(const struct oae_frame *f, const struct oae_path_out *out,
		   const u8 *src, const u8 *dst);
void oae_path_send_probes(struct oae_tag *tag, struct oae_run *ev);
u64 oae_path_nonce(const struct oae_tag *tag, struct oae_run *ev);
void oae_tag_path_probe(struct oae_tag *tag, struct oae_run *ev, unsigned int i);
void oae_out_keep(struct oae_tag *tag, struct oae_run *ev,
		  const struct oae_send *send);
void oae_out_send(struct oae_tag *tag, struct oae_run *ev);

/* alias.c: where paths lead */
struct oae_tag *oae_path_tag(struct oae_port *port, u64 kid);
void oae_tag_path_own(struct oae_tag *tag);
bool oae_tag_paths_begin(struct oae_tag *tag, struct oae_run *ev);
unsigned int oae_tag_path_index(const struct oae_tag *tag, const struct oae_port *port,
				u64 kid);
unsigned int oae_tag_paths_count(const struct oae_tag *tag);
bool oae_tag_path_review(struct oae_tag *tag, struct oae_run *ev, unsigned int i);
void oae_tag_path_gateways(struct oae_tag *tag, struct oae_run *ev);
void oae_path_leave(struct oae_tag *tag);

/* pathlook.c: paths come and go */
void oae_path_port_event(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port);
bool oae_path_place(struct oae_tag *tag, struct oae_run *ev, const struct oae_frame *f);
void oae_path_timer(struct oae_tag *tag, struct oae_run *ev);

#endif /* OAE_EVENT_H */
