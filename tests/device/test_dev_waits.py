# SPDX-License-Identifier: GPL-2.0
"""What a link waits for, since when and until when: OAE_WAITS, and the sentence that it, /proc and
netlink say."""

import errno
import re

import oaedev as dev
import oaewire as oae
from devtest import Call, OaeFile, Scripted
from oaenl import ADD_MEMBERSHIP, SOL_NETLINK, Netlink, attrs, text
from oaepeer import Peer
from oaetest import wait_for

(NOTHING, PORT, CARRIER, GATEWAY, ANSWER, SETTLING, ROOM, WORDS, HALF, FLIGHT, CONFIRM) = range(11)
WORD = ("-", "port", "carrier", "gateway", "answer", "settling", "room", "words", "half", "flight",
        "confirm")
# enum oae_nl_link, enum oae_nl_event
LINK_GET, LINK_VC, LINK_WAITS, LINK_SINCE, LINK_SAYS = 1, 3, 21, 22, 26
EVENT, EVENT_VC, EVENT_SAYS = 10, 8, 16


class Waits(Scripted):
    """Each reason, made by a peer that does what leads to it."""

    def says(self, file, why, sentence):
        """The file, /proc and netlink say the same, in numbers and in words."""
        def said():
            waits = file.waits()
            return waits if waits.why == why else None
        waits = wait_for(said, f"{WORD[why]} to be waited for")
        self.assertRegex(waits.text, f"^{sentence}$")
        row = self.a.tag(vc=self.vc)
        self.assertEqual(row["waits"], WORD[why])
        self.assertRegex(row["says"], f"^{sentence}$")
        link, = self.links()
        self.assertEqual(link["waits"], WORD[why])
        self.assertRegex(link["says"], f"^{sentence}$")
        if waits.since_ns:
            self.assertLessEqual(waits.since_ns, link["since"])
        return waits

    def links(self):
        """Those of this test, by netlink."""
        nl = Netlink(self.a)
        try:
            found = [dict(link) for link in nl.dump(LINK_GET)]
        finally:
            nl.close()
        return [{"waits": text(link[LINK_WAITS]), "says": text(link[LINK_SAYS]),
                 "since": int.from_bytes(link[LINK_SINCE], "little")}
                for link in found if link[LINK_VC][0] == self.vc]

    def refused(self, reason, **kind):
        """What the kernel offers as number 1 is refused for now."""
        offer, _ = self.peer.take(seq=1, **kind)
        self.peer.send(oae.REFUSE, seq=1, reason=reason, **kind)
        self.silent()

    def last(self, file, why, sentence):
        """What the transaction that was reversed last was waiting for."""
        waits = file.waits(dev.WAITS_LAST)
        self.assertEqual(waits.why, why)
        self.assertRegex(waits.text, f"^{sentence}$")

    def test_nothing(self):
        """An open link that is idle."""
        file = self.opened()
        self.assertEqual(self.says(file, NOTHING, "nothing").since_ns, 0)

    def test_flight(self):
        """What is out and not answered yet."""
        file = self.opened()
        call = Call(file.write, b"x")
        self.peer.take(seq=1)
        self.says(file, FLIGHT, r"under way since \d+\.\d s")
        call.signal()
        self.ends_in(call, errno.EINTR)

    def test_room(self):
        """The peer grants nothing; since it was told, however often it is told again."""
        self.peer.grant = 0
        file = self.opened()
        self.a.knob("keepalive_ms", 400)
        call = Call(file.write, b"x")
        said = 0
        while said < 3:
            f = self.peer.next()
            if f.opcode != oae.SYNC:        # which is a probe
                self.assertEqual((f.opcode, f.marks), (oae.COMMIT, oae.BLOCKED))
                self.peer.send(oae.DONE)
                self.says(file, ROOM, r"no room there since \d+\.\d s")
                said += 1
        self.assertGreater(self.says(file, ROOM, ".*").since_ns, 5e8)
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.last(file, ROOM, r"no room there since \d+\.\d s")
        self.says(file, NOTHING, "nothing")

    def test_refused(self):
        """It closes or settles: since the first refusal, however often it is asked again."""
        file = self.opened()
        call = Call(file.write, b"x")
        self.refused(oae.BUSY)
        self.says(file, ROOM, r"no room there since \d+\.\d s")
        wait_for(lambda: file.waits().since_ns > 5e8, "half a second to pass")
        self.peer.send(oae.READY)
        self.peer.take(seq=1)
        self.peer.send(oae.REFUSE, seq=1, reason=oae.BUSY)
        self.silent()
        self.assertGreater(self.says(file, ROOM, ".*").since_ns, 5e8)
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.last(file, ROOM, r"no room there since \d+\.\d s")
        self.peer.voided(1)
        self.says(file, NOTHING, "nothing")

    def test_deadline(self):
        """A transaction that nobody waits for is reversed at its deadline; so says its file alone."""
        file = self.opened(nonblock=True, deadline_ms=300)
        other = self.file()
        file.write(b"x")
        self.refused(oae.BUSY)
        got, = file.collect_all(1)
        self.assertEqual(got.err, errno.ETIME)
        self.last(file, ROOM, r"no room there since 0\.\d s")
        self.last(other, NOTHING, "nothing")

    def test_queued(self):
        """What waits behind it is reversed for the same reason."""
        file = self.opened(nonblock=True)
        for _ in range(3):
            file.write(b"x")
        self.refused(oae.BUSY)
        self.says(file, ROOM, ".*")
        file.cancel(3)
        self.last(file, ROOM, "no room there since .*")

    def test_no_place(self):
        """A call that waits for a place in the queue gives up: for what the link waits for."""
        file = self.opened(queue=1)
        call, other = Call(file.write, b"x"), None
        self.refused(oae.BUSY)
        for ends, deadline in ((errno.EINTR, 0), (errno.ETIME, 300)):
            with self.subTest(errno.errorcode[ends]):
                file.set_options(queue=1, deadline_ms=deadline)
                other = Call(file.write, b"y")
                if not deadline:
                    wait_for(lambda other=other: other.sleeps(dev.SYS_WRITE), "it to wait")
                    other.signal()
                self.ends_in(other, ends)
                self.last(file, ROOM, r"no room there since \d+\.\d s")
        call.signal()
        self.ends_in(call, errno.EINTR)

    def test_words(self):
        """Words of the peer's are reserved."""
        file = self.opened()
        call = Call(file.verb, 1, dev.read_op(0))
        self.refused(oae.CONFLICT, kind=oae.VERB)
        self.says(file, WORDS, r"words reserved there since \d+\.\d s")
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.last(file, WORDS, "words reserved there since .*")

    def test_half(self):
        """The peer has no half; since this one was posted."""
        file = self.opened()
        call = Call(file.swap, b"mine")
        self.peer.take(seq=1, kind=oae.SWAP)
        self.peer.send(oae.REFUSE, seq=1, reason=oae.NO_HALF, kind=oae.SWAP)
        self.peer.voided(1)
        self.says(file, HALF, r"no half there since \d+\.\d s")
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.last(file, HALF, "no half there since .*")

    def test_confirm(self):
        """What is committed is not confirmed."""
        file = self.opened()
        call = Call(file.write, b"x")
        self.peer.accept(seq=1)
        call.result()
        call = Call(file.fsync)
        self.says(file, CONFIRM, r"not confirmed yet since \d+\.\d s")
        call.signal()
        call.error()

    def test_answer(self):
        """Nobody is there, until it is given up; then, of the last one."""
        self.a.knob("dead_ms", 2000)
        file = self.file()
        call = Call(file.write, b"x")
        waits = self.says(file, ANSWER, r"no answer since \d\.\d s, given up in \d\.\d s")
        self.assertTrue(1.8e9 < waits.since_ns + waits.until_ns < 2.1e9, waits)
        self.ends_in(call, errno.ENOLINK)
        self.last(file, ANSWER, r"no answer since \d\.\d s, given up in 0\.\d s")

    def test_down(self):
        """A link that was open and is down: nothing is given up any more until something is sent."""
        file = self.opened()
        self.a.knobs(dead_ms=1000, stall_min_us=1000, stall_max_us=100000, keepalive_ms=200)
        self.given_up(file)

    def test_down_open(self):
        """Of one that has not frozen yet when it is given up, since its questions take longer."""
        file = self.opened()
        self.a.knobs(dead_ms=1000, stall_min_us=300000, stall_max_us=400000)
        self.given_up(file)

    def given_up(self, file):
        """A write that is not answered is given up, and nothing after it."""
        call = Call(file.write, b"x")
        self.ends_in(call, errno.ENOLINK)
        self.last(file, ANSWER, r"no answer since \d\.\d s.*")
        waits = self.says(file, ANSWER, r"no answer since \d+\.\d s")
        self.assertEqual(waits.until_ns, 0)

    def test_port(self):
        """A port that is set down, or has no carrier, is never a peer that does not answer."""
        self.a.knob("dead_ms", 1500)
        for why, host, device, sentence in (
                (PORT, self.a, "va", "the port here is down"),
                (CARRIER, self.p, "vp", "the port here has no carrier")):
            with self.subTest(sentence):
                host.up(device, False)
                self.addCleanup(host.up, device)
                file = self.file()
                call = Call(file.write, b"x")
                self.says(file, why, sentence + r" since \d\.\d s, given up in \d\.\d s")
                self.ends_in(call, errno.ENOLINK)
                self.last(file, why, sentence + " since .*")
                file.close()
                host.up(device)

    def test_gateway(self):
        """All goes through a gateway, and there is none."""
        self.a.knobs(use_gw="1", dead_ms=1500)
        self.addCleanup(self.a.knob, "use_gw", "auto")
        file = self.file()
        call = Call(file.write, b"x")
        self.says(file, GATEWAY, r"the gateway is not known since \d\.\d s, given up in \d\.\d s")
        self.ends_in(call, errno.ENOLINK)
        self.last(file, GATEWAY, "the gateway is not known since .*")

    def test_other_errors(self):
        """What is refused for good was not waited for."""
        file = self.opened()
        call = Call(file.write, b"x")
        self.refused(oae.BUSY)
        call.signal()
        self.ends_in(call, errno.EINTR)
        self.last(file, ROOM, ".*")
        self.peer.voided(1)
        call = Call(file.verb, 1, dev.read_op(0))
        offer, _ = self.peer.take(kind=oae.VERB)
        self.peer.send(oae.REFUSE, seq=offer.seq, kind=oae.VERB, reason=oae.KIND)
        self.ends_in(call, errno.EOPNOTSUPP)
        self.last(file, NOTHING, "nothing")

    def test_unread(self):
        """What the peer may wait for here: how much is unread, and for how long nothing was read."""
        file = self.opened()
        for _ in range(3):
            self.peer.offer(b"x" * 100)
            self.peer.expect(oae.REFLECT)
            self.peer.commit()
        wait_for(lambda: file.status().unread == 3, "three to be delivered")
        waits = file.waits()
        self.assertEqual((waits.why, waits.unread, waits.rcvbuf), (NOTHING, 3, 262144))
        self.assertEqual(waits.unread_bytes, 3 * (100 + 1024))
        taken = "3,372 of 262,144 bytes"
        wait_for(lambda: file.waits().idle_ms >= 1000, "a second to pass")
        self.says(file, NOTHING, rf"3 unread, {taken}; nothing read since \d\.\d s")
        file.read()
        self.assertLess(file.waits().idle_ms, 1000)
        self.assertRegex(file.waits().text, r"^2 unread, [\d,]+ of 262,144 bytes$")
        self.assertEqual(self.a.tag(vc=self.vc)["unread_bytes"], file.waits().unread_bytes)
        file.close()
        wait_for(lambda: re.match(r"2 unread, .*; no reader since \d\.\d s$",
                                  self.a.tag(vc=self.vc)["says"]), "it to be said that nobody reads")

    def test_kept(self):
        """All is read, and a reader keeps it: that is why the peer has no room."""
        file = self.opened()
        file.set_options(flags=dev.OPT_TAKE)
        self.a.knob("rcvbuf", 4096)
        self.peer.offer(bytes(4000))
        self.peer.expect(oae.REFLECT)
        self.peer.commit()
        self.assertEqual(len(file.read()), 4000)
        waits = file.waits()
        self.assertEqual((waits.why, waits.unread), (NOTHING, 0))
        self.assertRegex(waits.text, r"^kept by a reader: [\d,]+ of 4,096 bytes$")
        wait_for(lambda: file.waits().idle_ms >= 1000, "a second to pass")
        self.says(file, NOTHING,
                  r"kept by a reader: [\d,]+ of 4,096 bytes; nothing read since \d\.\d s")
        file.done()
        self.says(file, NOTHING, "nothing")

    def test_holder(self):
        """Whose verb it is that keeps the peer's waiting."""
        words = self.later(OaeFile(self.a))
        words.listen(any_vc=True)
        words.expose(64, 77, dev.PERM_READ | dev.PERM_ATOMIC)
        other = Peer(self.wire, self.cable.mac_a, vc=next(self.vcs))
        for peer in self.peer, other:
            peer.open()
        ask = oae.verb_request(77, oae.verb_op(dev.FETCH_ADD, 0, 1))
        self.peer.offer(ask, kind=oae.VERB)
        self.peer.expect(oae.REFLECT)
        other.offer(ask, kind=oae.VERB)
        other.expect(oae.REFUSE, reason=oae.CONFLICT)
        says = f"words reserved by {self.cable.mac_b} vc {self.vc}"
        self.assertEqual(self.a.tag(vc=other.vc)["says"], says)
        file = self.later(OaeFile.to(self.a, self.cable.mac_b, vc=other.vc))
        waits = file.waits()
        self.assertEqual((waits.holder_set, waits.holder, waits.holder_vc, waits.text),
                         (1, self.cable.mac_b, self.vc, says))
        self.assertEqual(self.a.tag(vc=self.vc)["says"], "nothing")
        self.peer.commit()
        other.expect(oae.READY)
        self.assertEqual((file.waits().holder_set, file.waits().text), (0, "nothing"))

    def test_bad(self):
        """Unknown flags, and files that are no end of a link."""
        file = self.opened()
        self.fails(errno.EINVAL, file.waits, 2)
        fresh = self.later(OaeFile(self.a))
        self.fails(errno.ENOTCONN, fresh.waits)
        fresh.listen(any_vc=True)
        self.fails(errno.EDESTADDRREQ, fresh.waits)
        self.fails(errno.EFAULT, dev.call, file.fileno(), dev.WAITS, 4096)

    def test_event(self):
        """An event of a link has what it waited for then."""
        file = self.opened()
        nl = Netlink(self.a)
        self.addCleanup(nl.close)
        nl.sock.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, nl.groups["link"])
        nl.sock.settimeout(5)
        self.addCleanup(self.a.up, "va")
        self.a.up("va", False)

        def said():
            for _kind, _flags, _number, body in nl.messages():
                event = dict(attrs(body[4:]))
                if body[0] == EVENT and event.get(EVENT_VC) == bytes([self.vc]) and EVENT_SAYS in event:
                    return text(event[EVENT_SAYS])
            return None
        self.assertRegex(wait_for(said, "an event that says it"), "^the port here is down")
        self.a.up("va")
        file.close()
