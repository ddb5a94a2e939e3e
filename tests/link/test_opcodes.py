# SPDX-License-Identifier: GPL-2.0
"""Every opcode in every state, with the right ltags and with stale ones.

For each state there is a class. It brings one link a case into the state, injects one frame into
each, all at once, and then looks at three things: what was answered, what state
the link is in now, and which counter moved. What is expected is the table at the top, which is
sections 3 and 4 of the design, a line an opcode.
"""

import itertools
import sys
import time
from collections import Counter
from dataclasses import dataclass

import oaewire as oae
from oaepeer import Peer
from patience import until
from topology import CALM, OneScript

OPCODES = tuple(n for n in (*range(oae.SYNC, oae.NOLINK + 1), oae.ASK, oae.ACK) if oae.OPCODES[n - 1])
VARIANTS = ("right", "stale_dst", "stale_src", "stale_both")
DATA = b"offered by the kernel"
OPEN_STATES = ("OPEN", "OFFERING", "PARKED", "PARTIAL", "HOLDING", "CLOSE_SENT", "CLOSE_RECD")
STATES = ("NO_TAG", "SYNC_SENT", "SYNC_RECD") + OPEN_STATES

# What /proc/net/modoae/tags shows in each: state, offer, hold.
SHOWN = {
    "NO_TAG": None,
    "SYNC_SENT": ("SYNC_SENT", "-", "-"),
    "SYNC_RECD": ("SYNC_RECD", "-", "-"),
    "OPEN": ("OPEN", "-", "-"),
    "OFFERING": ("OPEN", "out", "-"),
    "PARKED": ("OPEN", "parked", "-"),
    "PARTIAL": ("OPEN", "-", "partial"),
    "HOLDING": ("OPEN", "-", "held"),
    "CLOSE_SENT": ("CLOSE_SENT", "-", "-"),
    "CLOSE_RECD": ("CLOSE_RECD", "out", "-"),
}
GONE = "gone"

@dataclass
class Expect:
    """What a frame leads to.

    answers: opcodes; after: another entry of SHOWN, or GONE; note: the causes counted.
    """

    answers: tuple = ()
    after: object = None
    note: str = ""

def changed(state, shown=None, offer=None, hold=None):
    """SHOWN of a state with something else in it."""
    return tuple(new or old for new, old in zip((shown, offer, hold), SHOWN[state]))

def frozen(state, shown):
    """An open state after a freeze: slices stay for RESUME, what is held stays held."""
    hold = {"partial": "kept"}.get(SHOWN[state][2])
    return changed(state, shown, hold=hold)

def no_tag(opcode, variant):
    """A stranger costs nothing: ltags mean nothing either."""
    del variant
    if opcode == oae.SYNC:
        return Expect((oae.SYNC_CHK,), note="bad_cookie")
    if opcode == oae.CLOSE:
        return Expect((oae.CLOSE_ACK,), note="stranger")
    if opcode in (oae.SYNC_ACK, oae.SYNC_CHK, oae.CLOSE_ACK, oae.HELLO, oae.NOLINK):
        return Expect(note="no_tag")
    return Expect((oae.NOLINK,), note="stranger")

def while_frozen(state, opcode, variant):
    """SYNC_SENT and SYNC_RECD: only a frame that names the current ltag resolves.

    An OFFER, COMMIT or ASK that names both has overtaken the SYNC_ACK, and stands for it.
    """
    names_me = variant in ("right", "stale_src")
    opened = Expect((oae.SYNC_ACK,), ("OPEN", "-", "-"), "opened")
    if state == "SYNC_SENT":            # it has something to offer
        opened = Expect((oae.SYNC_ACK, oae.OFFER), ("OPEN", "out", "-"), "opened")
    asked_again = Expect((oae.SYNC,), ("SYNC_RECD", "-", "-"))
    if opcode == oae.SYNC:
        return opened if names_me else asked_again
    if opcode == oae.SYNC_ACK:
        return opened if names_me else Expect(note="stale_sync")
    if opcode == oae.SYNC_CHK:
        return asked_again if names_me else Expect(note="stale_sync")
    if opcode == oae.NOLINK:
        return Expect(note="old_run")
    if state == "SYNC_RECD" and variant == "right":
        if opcode == oae.OFFER:
            return Expect((oae.SYNC_ACK, oae.REFLECT), ("OPEN", "-", "held"), "opened")
        if opcode == oae.COMMIT:
            return Expect((oae.SYNC_ACK, oae.DONE), ("OPEN", "-", "-"), "opened")
        if opcode == oae.ASK:
            return Expect((oae.SYNC_ACK, oae.ACK), ("OPEN", "-", "-"), "opened gap")
    return Expect(note="idle_hello" if opcode == oae.HELLO else "frozen")

def while_open_sync(state, opcode, variant):
    """SYNC, SYNC_ACK, SYNC_CHK and NOLINK at an end that is OPEN."""
    names_me = variant in ("right", "stale_src")
    known = variant in ("right", "stale_dst")
    if opcode == oae.SYNC:
        if known:
            return Expect((oae.SYNC_ACK,))
        if names_me:
            return Expect((oae.SYNC,), frozen(state, "SYNC_RECD"), "peer_froze")
        return Expect((oae.SYNC_CHK,), note="stale_sync")
    if opcode == oae.SYNC_ACK:
        if state == "CLOSE_SENT" and variant == "stale_src":    # it has asked
            return Expect((oae.SYNC,), frozen(state, "SYNC_RECD"), "peer_froze")
        return Expect(note="" if variant == "right" else "stale_sync")
    if opcode == oae.SYNC_CHK and not (state == "CLOSE_SENT" and variant == "stale_src"):
        return Expect(note="stale_sync")    # nothing was asked, or it says nothing new
    if names_me:
        return Expect((oae.SYNC,), frozen(state, "SYNC_SENT"), "nolink")
    return Expect(note="old_run")

# A frame of this run of the link, by state; what is not here leads to nothing at all.
RUN = {state: {
    oae.CLOSE: Expect((oae.CLOSE_ACK,), GONE, "gone"),
    oae.CLOSE_ACK: Expect(note="old_seq"),
    oae.OFFER: Expect((oae.REFLECT,), changed(state, hold="held")),
    oae.REFLECT: Expect(note="old_seq"),
    oae.COMMIT: Expect((oae.DONE,)),
    oae.REFUSE: Expect(note="old_seq"),
    oae.ASK: Expect((oae.ACK,), note="gap"),
    oae.ACK: Expect(note="old_seq"),
} for state in OPEN_STATES}
RUN["OFFERING"] |= {
    oae.ACK: Expect((oae.OFFER,), note="gap_heard repaired reoffered"),
    # It holds nothing: what is offered is reversed.
    oae.CLOSE: Expect((oae.CLOSE_ACK,), GONE, "gone"),
    oae.REFLECT: Expect((oae.COMMIT,), ("OPEN", "-", "-")),
    oae.REFUSE: Expect((), ("OPEN", "parked", "-"), "parked"),
}
RUN["PARKED"] |= {
    oae.CLOSE: Expect((oae.CLOSE_ACK,), GONE, "gone"),
    oae.READY: Expect((oae.OFFER,), ("OPEN", "out", "-"), "reoffered"),
    # A late copy was taken after all.
    oae.REFLECT: Expect((oae.COMMIT,), ("OPEN", "-", "-")),
}
RUN["HOLDING"] |= {
    oae.CLOSE: Expect((), ("CLOSE_RECD", "-", "held")),
    oae.OFFER: Expect((oae.REFLECT,), note="reflected_again"),
    oae.ASK: Expect((oae.REFLECT,), note="reflected_again"),
    oae.COMMIT: Expect((oae.DONE,), ("OPEN", "-", "-")),
}
RUN["CLOSE_SENT"] |= {
    oae.CLOSE_ACK: Expect((), GONE, "gone"),
    oae.OFFER: Expect(note="old_seq"),
    oae.ASK: Expect(note="old_seq"),
}
RUN["CLOSE_RECD"] |= {
    oae.CLOSE: Expect(),
    oae.ACK: Expect((oae.OFFER,), note="gap_heard repaired reoffered"),
    oae.REFLECT: Expect((oae.COMMIT,), changed("CLOSE_RECD", offer="-")),
    oae.REFUSE: Expect((oae.OFFER,), note="parked"),
}

# Of a CLOSE: it holds what is offered, and has something undecided itself.
HOLDS = {"seq": 1, "flags": 0}


def expectation(state, opcode, variant):
    """What the design says."""
    if state == "NO_TAG":
        return no_tag(opcode, variant)
    if opcode == oae.HELLO:
        return Expect(note="idle_hello")
    if state in ("SYNC_SENT", "SYNC_RECD"):
        return while_frozen(state, opcode, variant)
    if opcode in (oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK, oae.NOLINK):
        return while_open_sync(state, opcode, variant)
    if variant != "right":
        return Expect(note="old_run")
    return RUN[state].get(opcode, Expect())

def injected(peer, state, opcode, variant):
    """The frame for a case, as a peer in this state might send it."""
    own = {
        oae.OFFER: {"seq": peer.tx + 1, "flags": oae.LAST, "slice": int(state == "PARTIAL"),
                    "payload": b"injected"},
        oae.REFLECT: {"seq": peer.rx + 1, "payload": oae.reflect_body([DATA])},
        oae.REFUSE: {"seq": peer.rx + 1, "reason": oae.BUSY},
        oae.COMMIT: {"seq": peer.tx + (state == "HOLDING"), "flags": oae.WANT_DONE,
                     "tx": peer.tx + (state == "HOLDING")},
        oae.ASK: {"seq": peer.tx + 1},
        oae.ACK: {"seq": peer.rx + 1, "payload": bytes(8)},
        oae.DONE: {"seq": peer.rx},
        oae.HELLO: {"payload": oae.hello_body()},       # of no gateway
    }
    given = own.get(opcode, {})
    if (state, opcode) == ("CLOSE_RECD", oae.CLOSE):    # once more
        given = dict(HOLDS)
    if variant in ("stale_src", "stale_both"):
        given["src_ltag"] = peer.ltag ^ 0x40000000
    if variant in ("stale_dst", "stale_both"):
        given["dst_ltag"] = peer.far_ltag ^ 0x40000000
    return peer.frame(opcode, **given)

class Case:
    """One link brought into a state, one frame for it, and what came of it."""

    def __init__(self, test, state, opcode, variant):
        self.opcode, self.variant = opcode, variant
        self.expect = expectation(state, opcode, variant)
        mac = f"02:0a:e0:01:{next(test.numbers):04x}"
        self.peer = Peer(test.wire, test.cable.mac_a, vc=7, mac=f"{mac[:14]}:{mac[14:]}")
        getattr(self, f"to_{state}")(test.a)
        self.frame = injected(self.peer, state, opcode, variant)
        self.answers, self.tag, self.events = [], None, []

    def to_NO_TAG(self, host):
        """Nothing at all."""
        del host
        self.peer.far_ltag = self.peer.draw()

    def post(self, host):
        """The kernel gets something to offer."""
        host.write(DATA, nonblock=True, target=self.peer.mac, vc=7)

    def to_SYNC_SENT(self, host):
        """The kernel asks, nobody answers."""
        self.post(host)
        sync = self.peer.expect(oae.SYNC, dst_ltag=0)
        self.peer.far_ltag, self.peer.far_inc = sync.src_ltag, sync.inc

    def to_SYNC_RECD(self, host):
        """The peer asks, the kernel asks back."""
        del host
        self.peer.ask()

    def to_OPEN(self, host, patience=0):
        """An idle link. Failures without progress make it patient."""
        del host
        self.peer.open()
        for _ in range(patience):
            self.peer.anew()

    def to_OFFERING(self, host):
        """The kernel's offer is out."""
        self.to_OPEN(host, patience=3)
        self.post(host)
        self.peer.take(seq=1)

    def to_PARKED(self, host):
        """And was refused."""
        self.to_OFFERING(host)
        self.peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)

    def to_PARTIAL(self, host):
        """The first of two slices came."""
        self.to_OPEN(host)
        self.peer.offer(b"two slices", slice_max=6, only=[0], marks=0)

    def to_HOLDING(self, host):
        """A transaction is held and reflected."""
        self.to_OPEN(host, patience=3)
        self.peer.offered(b"held")

    def to_CLOSE_SENT(self, host):
        """The kernel closes."""
        self.to_OPEN(host, patience=3)
        host.close_tag(self.peer.mac, 7)
        self.peer.expect(oae.CLOSE, reason=0)

    def to_CLOSE_RECD(self, host):
        """The peer closes while the kernel's offer is out."""
        self.to_OFFERING(host)
        self.peer.send(oae.CLOSE, **HOLDS)

    @property
    def kid(self):
        """The tag's key id."""
        return 7 << 56 | int(self.peer.mac.replace(":", ""), 16)

    def collect(self, tags, events):
        """What came of it."""
        self.answers = list(self.peer.inbox)
        self.tag = tags.get(self.peer.mac)
        mine = [e for e in events if e["kid"] == self.kid]
        frames = [n for n, e in enumerate(mine) if e["kind"] == "rcv"]
        self.events = mine[frames[-1]:] if frames else mine

    @property
    def notes(self):
        """The causes logged since the frame."""
        return [e["what"] for e in self.events if e["kind"] == "note"]


class Opcodes(OneScript):
    """A link each to 02:0a:e0:01:00:00, 02:0a:e0:01:00:01, ..."""

    ports = True

    state = None
    numbers = itertools.count()

    @classmethod
    def build(cls):
        super().build()
        # A second until a link asks, and then four.
        cls.a.knobs(**CALM, linger_ms=0)
        cls.cases, cls.counted, cls.barriers, cls.late = {}, Counter(), 0, None
        left, at_once = list(OPCODES), 4
        end = until(120)
        while left:
            if cls.inject(left[:at_once]):
                del left[:at_once]
            elif time.monotonic() < end:
                at_once = max(1, at_once // 2)
            else:
                raise AssertionError("links time out before the frame is there: "
                                     f"this machine is too slow: {cls.late}")

    @classmethod
    def inject(cls, opcodes):
        """Bring links into the state, inject the frames, collect. False: it took too long."""
        # Links that others were injected into go on, and count.
        cls.a.knob("dev", "-va")
        cls.a.add_port("va")
        cases = [Case(cls, cls.state, opcode, variant)
                 for opcode in opcodes for variant in VARIANTS]
        cls.wire.barrier(cls.cable.mac_a)
        cls.wire.pump()
        shown = {tag["peer"]: tag for tag in cls.a.tags()}
        for case in cases:
            tag = shown.get(case.peer.mac)
            got = tag and (tag["state"], tag["offer"], tag["hold"])
            if got != SHOWN[cls.state]:
                cls.late = f"{cls.state}: {got}"
                return False
        if any(case.peer.inbox for case in cases):      # asked a second time already
            return False
        before = cls.a.stats()
        cls.wire.send_all([case.frame for case in cases])
        cls.wire.barrier(cls.cable.mac_a)
        after = cls.a.stats()
        cls.wire.pump()
        tags, events = {tag["peer"]: tag for tag in cls.a.tags()}, cls.a.ev_log()
        for case in cases:
            case.collect(tags, events)
        if any(e["kind"] == "timer" for case in cases for e in case.events):
            return False
        cls.barriers += 1
        cls.counted.update({name: after[name] - before[name] for name in after})
        cls.cases.update({(case.opcode, case.variant): case for case in cases})
        return True

    def check(self, opcode):
        """One opcode, with all kinds of ltags."""
        for variant in VARIANTS:
            with self.subTest(ltags=variant):
                case = self.cases[opcode, variant]
                self.check_answers(case)
                self.check_state(case)
                if self.state != "NO_TAG":
                    self.assertEqual(case.notes, case.expect.note.split(), "causes logged")

    def check_answers(self, case):
        """The right answers, and they name the ltag of the frame they answer."""
        self.assertEqual([f.name for f in case.answers],
                         [oae.OPCODES[o - 1] for o in case.expect.answers], "answers")
        # A NOLINK says nothing of its sender.
        learnt = case.peer.ltag if case.opcode == oae.NOLINK and self.state != "NO_TAG" else \
            case.frame.src_ltag
        for answer in case.answers:
            self.assertEqual(answer.dst_ltag, learnt, "the ltag named")
            getattr(self, f"check_{answer.name}", lambda *unused: None)(case, answer)

    def check_SYNC(self, case, sync):
        """A freeze draws a new ltag; while frozen it stays."""
        fresh = self.state in OPEN_STATES
        self.assertEqual(sync.src_ltag != case.peer.far_ltag, fresh, "a new ltag")
        self.assertEqual(sync.inc, case.peer.far_inc)

    def check_SYNC_CHK(self, case, chk):
        """Tells my ltag; to a stranger, a cookie."""
        if self.state != "NO_TAG":
            self.assertEqual(chk.src_ltag, case.peer.far_ltag)
        self.assertTrue(chk.src_ltag)

    def check_SYNC_ACK(self, case, ack):
        """Says where this end stands."""
        self.assertEqual((ack.src_ltag, ack.tx, ack.rx), (case.peer.far_ltag, 0, 0))
        self.assertEqual((ack.inc, ack.peer_inc), (case.peer.far_inc, case.peer.inc))

    def check_REFLECT(self, case, reflect):
        """Says what it heard."""
        self.assertEqual((reflect.seq, reflect.kind), (case.frame.seq, case.frame.kind))
        said = {"HOLDING": [b"held"], "PARTIAL": [b"two sl", case.frame.payload]}
        self.assertEqual(reflect.payload,
                         oae.reflect_body(said.get(self.state, [case.frame.payload])))

    def check_ACK(self, case, ack):
        """Says what is here."""
        self.assertEqual((ack.seq, ack.kind, ack.have),
                         (case.frame.seq, case.frame.kind, self.state == "PARTIAL"))

    def check_COMMIT(self, case, commit):
        """tx moves on; when the peer closes it is asked for DONE."""
        del case
        self.assertEqual((commit.tx, commit.seq), (1, 1))
        self.assertEqual(commit.flags, oae.WANT_DONE if self.state == "CLOSE_RECD" else 0)

    def check_DONE(self, case, done):
        """Says what has been delivered."""
        self.assertEqual(done.rx, case.frame.tx)

    def check_OFFER(self, case, offer):
        """The same transaction; when the peer closes, nothing in place of what it refused."""
        closed = (self.state, case.opcode) in (("PARKED", oae.CLOSE), ("CLOSE_RECD", oae.REFUSE))
        self.assertEqual((offer.seq, offer.kind, offer.payload, offer.flags, offer.marks),
                         (1, oae.VOID if closed else oae.MESSAGE, b"" if closed else DATA,
                          oae.LAST, oae.ANSWER))

    def check_NOLINK(self, case, nolink):
        """Names the ltag it came with."""
        self.assertEqual((nolink.dst_ltag, nolink.src_ltag),
                         (case.frame.src_ltag, case.frame.dst_ltag))

    check_CLOSE_ACK = check_NOLINK

    def check_state(self, case):
        """The state after, and that nothing was delivered or committed but by COMMIT, REFLECT."""
        wanted = case.expect.after or SHOWN[self.state]
        got = case.tag and (case.tag["state"], case.tag["offer"], case.tag["hold"])
        self.assertEqual(got, None if wanted == GONE else wanted, "state after")
        if case.tag:
            right = case.variant == "right"
            delivered = right and case.opcode == oae.COMMIT and self.state == "HOLDING"
            committed = (right and case.opcode == oae.REFLECT and
                         self.state in ("OFFERING", "PARKED", "CLOSE_RECD"))
            self.assertEqual((case.tag["rx"], case.tag["tx"]), (delivered, committed))

    def check_counters(self):
        """Each cause was counted as often as it was expected, and no other."""
        expected = Counter(note for case in self.cases.values()
                           for note in case.expect.note.split())
        if self.state == "NO_TAG":
            # A barrier, too, is a stranger that is answered.
            answered = self.barriers + sum(len(case.expect.answers)
                                           for case in self.cases.values())
            wanted = {"stranger": answered, "bad_cookie": expected["bad_cookie"],
                      "no_tag": expected["no_tag"], "tags_made": 0}
            self.assertEqual({name: self.counted[name] for name in wanted}, wanted)
            return
        for name in ("old_run", "frozen", "old_seq", "old_content", "stale_sync", "idle_hello",
                     "peer_froze", "nolink", "opened", "parked", "dropped", "gone", "dup_slice",
                     "bad_slice", "impossible", "broken", "stall"):
            self.assertEqual(self.counted[f"note_{name}"], expected[name], name)

def make_tests():
    """A class a state, a test an opcode."""
    module = sys.modules[__name__]
    for state in STATES:
        tests = {"state": state, "__module__": __name__, "__doc__": Opcodes.__doc__,
                 "test_counters": Opcodes.check_counters}
        for opcode in OPCODES:
            def test(self, opcode=opcode):
                self.check(opcode)
            name = oae.OPCODES[opcode - 1]
            test.__doc__ = f"{name} in {state}"
            tests[f"test_{name}"] = test
        setattr(module, state, type(state, (Opcodes,), tests))

make_tests()
