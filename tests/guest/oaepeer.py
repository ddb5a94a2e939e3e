# SPDX-License-Identifier: GPL-2.0
"""The wire seen from user space: capture, injection, and a peer that follows a script.

    kernel (modoae)  veth ------------- veth  AF_PACKET: Wire, on it Peer, Peer, ...

A Peer is one end of one link, told apart by its address and its virtual channel, so that one
cable carries as many links as a test wants.
"""

import errno
import random
import select
import socket
import tempfile
import time
from collections import deque

import oaewire as oae
from oaetest import run
from oaewire import Frame, mac_bytes, mac_text
from patience import until

ETH_P_ALL = 3
SOL_PACKET, PACKET_RCVBUF = 263, 8 << 20
SO_RCVBUFFORCE = 33
PLENTY = 0xffff             # of a grant


def trafgen(host, dev, packets):
    """Send frames (bytes or Frame), once each and in order, with trafgen of netsniff-ng."""
    packets = [p.pack() if isinstance(p, Frame) else p for p in packets]
    with tempfile.NamedTemporaryFile("w", suffix=".trafgen") as conf:
        for packet in packets:
            conf.write("{ " + ", ".join(f"0x{byte:02x}" for byte in packet) + " }\n")
        conf.flush()
        with host:
            run("trafgen", "--conf", conf.name, "--dev", dev, "--num", str(len(packets)),
                "--cpus", "1", "--no-sock-mem", "--no-cpu-stats", "--notouch-irq",
                "--jumbo-support")


class Wire:
    """An AF_PACKET socket on a device: frames of ours as they come, and a way to send any."""

    def __init__(self, host, dev, outgoing=False):
        self.host, self.dev = host, dev
        self.mac = host.mac(dev)
        with host:
            self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, PACKET_RCVBUF)
        # Only a tap on everything sees what the device sends, too.
        self._sock.bind((dev, ETH_P_ALL if outgoing else oae.ETHERTYPE))
        self._peers = {}
        self._barriers = random.getrandbits(16)

    def close(self):
        """Done."""
        self._sock.close()

    def send(self, packet):
        """Inject a frame, bytes or Frame."""
        self._sock.send(packet.pack() if isinstance(packet, Frame) else packet)

    def send_all(self, packets):
        """Several, in order."""
        for packet in packets:
            self.send(packet)

    def trafgen(self, packets):
        """Inject frames with trafgen."""
        trafgen(self.host, self.dev, packets)

    def raw(self, timeout=0.0):
        """The next frame as bytes, None if there is none in time."""
        while True:
            if not select.select([self._sock], [], [], timeout)[0]:
                return None
            try:
                raw = self._sock.recv(65600)
            except OSError as e:
                if e.errno != errno.ENETDOWN:
                    raise
                continue        # that is said once; what came before can still be read
            if raw[12:14] == oae.ETHERTYPE.to_bytes(2, "big"):
                return raw

    def frames(self):
        """All frames that are here now."""
        return [Frame.parse(raw) for raw in iter(self.raw, None)]

    def add(self, peer):
        """Hand the frames for a peer over to it."""
        self._peers[(mac_bytes(peer.mac), peer.vc)] = peer

    def pump(self, timeout=0.0):
        """Hand what has come to the peers, waiting for it at most so long. False: nothing came."""
        raw = self.raw(timeout)
        came = raw is not None
        while raw is not None:
            frame = Frame.parse(raw)
            # Through a gateway: for whom it is, not who passes it on.
            peer = self._peers.get((frame.via[:6] or frame.dst, frame.vc))
            if peer:
                peer.inbox.append(frame)
            raw = self.raw()
        return came

    def barrier(self, to, gateway=None):
        """Return when all that was sent to `to` before has been dealt with, and answered.

        A CLOSE for a link that was never there is answered at once, and nothing overtakes on
        one CPU. (It takes stranger_pps.)
        """
        self._barriers += 1
        mark = Stranger(self, to, self._barriers, gateway)
        mark.send(oae.CLOSE)
        mark.expect(oae.CLOSE_ACK, dst_ltag=mark.ltag)


class Peer:     # pylint: disable=too-many-instance-attributes
    """One end of a link, by hand.

    send() fills in what this end would say now; any field can be given instead. expect() takes
    the frames that come in order and fails if the next is not as described. It grants as much as
    a frame can say, unless grant is less.

    With a gateway (its address, a station on the wire as well) it is behind that: its frames come
    from the gateway with VIA. gateway may be set and unset as the peer lives.
    """

    def __init__(self, wire, to, vc=0, mac=None, start=0,       # pylint: disable=R0913,R0917
                 mtu=1500, max_len=65536, caps=0, gateway=None):
        self.wire, self.to, self.vc = wire, to, vc
        self.mac = mac or wire.mac
        self.gateway = gateway
        self.inbox = deque()
        self.ltag, self.far_ltag = self.draw(), 0       # far: the kernel's
        self.inc, self.far_inc = random.getrandbits(63) + 1, 0
        self.start, self.mtu, self.max_len, self.caps = start, mtu, max_len, caps
        self.tx, self.rx = start, 0
        self.grant = PLENTY
        self.run, self.pn, self.heard_pns = None, 0, set()      # numbers of frames, in a run
        wire.add(self)

    @staticmethod
    def draw():
        """An ltag."""
        return random.getrandbits(31) + 1

    def frame(self, opcode, **given):
        """A frame as this end would send it now."""
        f = {"dst": mac_bytes(self.to), "src": mac_bytes(self.mac), "vc": self.vc,
             "src_ltag": self.ltag, "dst_ltag": self.far_ltag, "tx": self.tx, "rx": self.rx}
        if opcode not in (oae.HELLO, oae.NOLINK, oae.PATH):
            f["grant"] = self.grant
        if opcode in (oae.SYNC, oae.SYNC_ACK, oae.SYNC_CHK):
            body = {name: given.pop(name) for name in
                    ("inc", "peer_inc", "max_len", "start", "mtu", "caps", "kept", "hash_", "last")
                    if name in given}
            body = {"inc": self.inc, "peer_inc": self.far_inc, "max_len": self.max_len,
                    "start": self.start, "mtu": self.mtu, "caps": self.caps} | body
            f["payload"] = oae.sync_body(**body)
        if opcode in (*oae.QUESTIONS, *oae.ANSWERS):
            f |= self._numbered(opcode, given)
        if opcode == oae.OFFER:
            f["marks"] = oae.ANSWER
        if opcode == oae.CLOSE and not given.get("reason"):     # it holds nothing, and that is all
            f |= {"seq": self.rx, "flags": oae.LAST}
        f |= given
        if self.gateway:                # as that passes it on
            f = {**f, "src": mac_bytes(self.gateway), "via": oae.via(self.to, self.mac),
                 **given, "flags": f.get("flags", 0) | oae.VIA}
        return Frame(opcode, **f)

    def _begin_run(self):
        if self.run != (self.ltag, self.far_ltag):
            self.run, self.pn, self.heard_pns = (self.ltag, self.far_ltag), 0, set()

    def _numbered(self, opcode, given):
        """The number of a question; or what an answer that is sent at once says it answers."""
        self._begin_run()
        if opcode in oae.QUESTIONS:
            self.pn += "pn" not in given
            return {"pn": self.pn}
        ack = max(self.heard_pns, default=0)
        return {"pn": ack, "map": sum(1 << n for n in range(32) if ack - 1 - n in self.heard_pns),
                "marks": oae.NOW}

    def send(self, opcode, **given):
        """And send it."""
        self.wire.send(self.frame(opcode, **given))

    def next(self, deadline=5.0):
        """The next frame for this end, or None."""
        end = until(deadline)
        while not self.inbox:
            left = end - time.monotonic()
            if not self.wire.pump(max(left, 0)) and left <= 0:
                return None
        f = self.inbox.popleft()
        self._begin_run()
        if f.opcode in oae.QUESTIONS and (f.dst_ltag, f.src_ltag) == self.run:
            self.heard_pns.add(f.pn)
        return f

    def expect(self, opcode, deadline=5.0, **wanted):
        """The next frame, which must be this one."""
        f = self.next(deadline)
        while f and f.opcode == oae.ASK != opcode:      # on a slow machine it asks already
            f = self.next(deadline)
        if f is None:
            raise AssertionError(f"no {oae.OPCODES[opcode - 1]} within {deadline} s")
        got = {name: getattr(f, name) for name in wanted}
        if f.opcode != opcode or got != wanted:
            raise AssertionError(f"expected {oae.OPCODES[opcode - 1]} {wanted}, got {f} {got}, "
                                 f"then {[str(g) for g in self.inbox]}")
        return f

    def silence(self):
        """Nothing more has been sent to this end, and nothing is about to be."""
        self.wire.barrier(self.to, self.gateway)
        self.wire.pump()
        if self.inbox:
            raise AssertionError(f"expected silence, got {[str(f) for f in self.inbox]}")

    # The life of a link.

    def ask(self):
        """Ask for a link: SYNC, the cookie, SYNC naming it; returns the kernel's own SYNC."""
        self.send(oae.SYNC, dst_ltag=0)
        answer = self.next()
        if answer and answer.opcode == oae.SYNC_CHK:
            self.send(oae.SYNC, dst_ltag=answer.src_ltag)
        else:
            self.inbox.appendleft(answer)
        return self._learn(self.expect(oae.SYNC, dst_ltag=self.ltag))

    def _learn(self, sync):
        self.far_ltag, self.far_inc = sync.src_ltag, sync.inc
        if sync.peer_inc != self.inc:
            self.rx = sync.start
            self.tx = self.start
        return sync

    def open(self):
        """Open the link from this side."""
        self.ask()
        return self._opened()

    def open_asked(self):
        """The same, when the cookie was named already."""
        self._learn(self.expect(oae.SYNC, dst_ltag=self.ltag))
        return self._opened()

    def _opened(self):
        self.send(oae.SYNC_ACK)
        f = self.next()
        # On a slow machine the kernel has asked again before it had the answer.
        while f and f.opcode == oae.SYNC and f.dst_ltag == self.ltag:
            f = self.next()
        if f:
            self.inbox.appendleft(f)
        self.expect(oae.SYNC_ACK, src_ltag=self.far_ltag, dst_ltag=self.ltag)
        return self

    def answer_sync(self, **given):
        """The kernel asks (opening, or frozen): answer with a SYNC that resolves it."""
        sync = self._learn(self.expect(oae.SYNC))
        self.send(oae.SYNC, **given)
        self.expect(oae.SYNC_ACK, src_ltag=self.far_ltag, dst_ltag=self.ltag)
        return sync

    def freeze(self, **given):
        """This end's run has failed: a new ltag. The kernel freezes, too; returns its SYNC."""
        self.ltag = self.draw()
        self.send(oae.SYNC, **given)
        sync = self.expect(oae.SYNC, dst_ltag=self.ltag)
        self.far_ltag = sync.src_ltag
        return sync

    def resolve(self, **given):
        """And after it: resolve."""
        self.send(oae.SYNC_ACK, **given)
        return self.expect(oae.SYNC_ACK, src_ltag=self.far_ltag, dst_ltag=self.ltag)

    def follow(self, **given):
        """The kernel's run has failed, and it asks: a new ltag here, too, and resolve."""
        sync = self.expect(oae.SYNC, dst_ltag=self.ltag)
        self.far_ltag, self.ltag = sync.src_ltag, self.draw()
        self.resolve(**given)
        return sync

    def anew(self, **given):
        """This end's run has failed, and the next one has begun."""
        self.freeze(**given)
        self.resolve()

    # Transactions of this end.

    def offer_frames(self, data, slice_max=1452, only=None, flags=0, **given):
        """The slices of an offer of tx + 1; the last of them wants an answer."""
        slices = oae.cut(data, slice_max)
        only = range(len(slices)) if only is None else only
        given = {"seq": self.tx + 1 & 0xffffffff} | given
        return [self.frame(oae.OFFER, slice=n, payload=part,
                           flags=flags | (oae.LAST if n == len(slices) - 1 else 0),
                           **{"marks": oae.ANSWER if n == max(only) else 0} | given)
                for n, part in enumerate(slices) if n in only]

    def offer(self, data, **given):
        """Send them."""
        for f in self.offer_frames(data, **given):
            self.wire.send(f)

    def offered(self, data, slice_max=1452, **given):
        """Send an offer and take the reflection of it."""
        self.offer(data, slice_max=slice_max, **given)
        return self.expect(oae.REFLECT, seq=self.tx + 1 & 0xffffffff,
                           payload=oae.reflect_body(oae.cut(data, slice_max)))

    def void(self, **given):
        """Offer nothing, in its place, and take the reflection of that."""
        given = {"seq": self.tx + 1 & 0xffffffff} | given
        self.send(oae.OFFER, kind=oae.VOID, flags=oae.LAST, **given)
        return self.expect(oae.REFLECT, kind=oae.VOID, payload=oae.reflect_body([b""]), **given)

    def commit(self, send=True, **given):
        """Commit it."""
        self.tx = self.tx + 1 & 0xffffffff
        if send:
            self.send(oae.COMMIT, **({"seq": self.tx} | given))

    # Transactions of the kernel.

    def take(self, **wanted):
        """The slices of an OFFER, up to LAST: the first one's frame, and all the data.

        It may come in parts, of which each wants an answer.
        """
        first = f = self.expect(oae.OFFER, **wanted)
        data = [f.payload]
        while not f.flags & oae.LAST:
            if f.marks & oae.ANSWER:
                self.have(first, range(len(data)))
            f = self.expect(oae.OFFER, seq=first.seq, slice=f.slice + 1)
            data.append(f.payload)
        return first, data

    def reflect(self, offer, slices, **given):
        """Say what was heard."""
        self.send(oae.REFLECT, **({"seq": offer.seq, "kind": offer.kind,
                                   "payload": oae.reflect_body(slices)} | given))

    def have(self, offer, slices, **given):
        """Say which slices are here."""
        self.send(oae.ACK, **({"seq": offer.seq, "kind": offer.kind,
                               "payload": sum(1 << n for n in slices).to_bytes(8, "big")} | given))

    def accept(self, **wanted):
        """Take an offer, reflect it, and have it committed; the data."""
        offer, slices = self.take(**wanted)
        self.reflect(offer, slices)
        self.rx = offer.seq
        return b"".join(slices)

    def accept_void(self, **wanted):
        """The same of nothing, which takes the place of what was reversed."""
        return self.accept(kind=oae.VOID, flags=oae.LAST, payload=b"", **wanted)

    def voided(self, seq):
        """Nothing takes the place of this number, is reflected, and committed alone."""
        self.accept_void(seq=seq)
        self.expect(oae.COMMIT, tx=seq)


class Stranger(Peer):
    """A peer that is forgotten after one question."""

    def __init__(self, wire, to, number, gateway=None):
        super().__init__(wire, to, vc=255, mac=f"02:0a:e0:ff:{number >> 8 & 255:02x}:"
                         f"{number & 255:02x}", gateway=gateway)


__all__ = ["Frame", "Peer", "Stranger", "Wire", "mac_bytes", "mac_text", "trafgen"]
