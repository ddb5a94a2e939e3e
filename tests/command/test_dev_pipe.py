# SPDX-License-Identifier: GPL-2.0
"""oae pipe: a stream of bytes each way, whole and in order, or a line that says how much is committed."""

import itertools
import os
import signal
import socket
import struct
import subprocess
import threading

from devtest import IdlePair
from oaecmd import OAE, oae
from oaedev import OaeFile
from oaetest import wait_for
from patience import SLOW

BEGIN, DATA, END, DONE, PIPE, STOP = 1, 2, 3, 4, 5, 6
HEAD = struct.Struct(">7sBQQ")
OPEN = 2 ** 64 - 1


def head(kind, number, stream):
    """A message of tools/oae/stream.h, or how it begins."""
    return HEAD.pack(b"OAEstr\1", kind, stream, number)


class Piping:
    """The command in the background: its standard input is written to, its output gathered."""

    def __init__(self, host, *args, stdout=subprocess.PIPE, stdin=subprocess.PIPE):
        self.got, self.errors = bytearray(), ""
        with host:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([OAE, *map(str, args)], stdin=stdin, stdout=stdout,
                                            stderr=subprocess.PIPE)
        self._threads = []
        if stdout == subprocess.PIPE:
            self._thread(self._gather)

    def _thread(self, target, *args):
        self._threads.append(threading.Thread(target=target, args=args, daemon=True))
        self._threads[-1].start()

    def _gather(self):
        while data := os.read(self.process.stdout.fileno(), 1 << 20):
            self.got += data

    def write(self, data):
        """Some of its standard input."""
        self.process.stdin.write(data)
        self.process.stdin.flush()
        return self

    def feed(self, data):
        """All of it, in the background."""
        def feeder():
            try:
                self.process.stdin.write(data)
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        self._thread(feeder)
        return self

    def close(self):
        """No more standard input."""
        self.process.stdin.close()
        return self

    def end(self, deadline=30):
        """Its exit code, when it has ended of itself."""
        status = self.process.wait(deadline * SLOW)
        for thread in self._threads:
            thread.join(deadline)
        self.errors = self.process.stderr.read().decode()
        self.process.stderr.close()
        return status

    def kill(self):
        """For addCleanup."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in self.process.stdin, self.process.stdout, self.process.stderr:
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass


class Pipes(IdlePair):
    """
        host a: oae pipe                  host b: oae pipe
        va ------------------------------ vb
    """

    vcs = itertools.count(60)

    def setUp(self):
        super().setUp()
        self.vc = next(self.vcs)

    def pipe(self, host, *args, peer=None, **how):
        """One end, which is killed when the test ends."""
        if peer is None:
            peer = [self.cable.mac_b if host is self.a else self.cable.mac_a]
        piping = Piping(host, "pipe", *peer, "-v", self.vc, *args, **how)
        self.addCleanup(piping.kill)
        return piping

    def ends(self, *args, **how):
        """Both."""
        return self.pipe(self.a, *args, **how), self.pipe(self.b, *args, **how)

    def file(self, host, **options):
        """A program's end of the same channel."""
        file = OaeFile.to(host, self.cable.mac_b if host is self.a else self.cable.mac_a, self.vc, **options)
        self.addCleanup(file.close)
        return file

    def both_end(self, *pipes):
        """Each with 0, and says nothing."""
        for pipe in pipes:
            self.assertEqual((pipe.end(), pipe.errors), (0, ""))

    def nothing_left(self):
        """Nothing is unread at either end."""
        for host in self.a, self.b:
            with self.file(host) as file:
                self.assertEqual((host, file.status().unread), (host, 0))

    # What is committed.

    def test_lengths(self):
        """None, one byte, many records, in either direction and in both at once."""
        sizes = [(0, 0), (1, 0), (0, 70000), (3_000_000, 2_000_001)]
        for there, back in sizes:
            a, b = self.ends()
            one, other = os.urandom(there), os.urandom(back)
            a.feed(one)
            b.feed(other)
            self.both_end(a, b)
            self.assertEqual((bytes(b.got), bytes(a.got)), (one, other))
        self.nothing_left()

    def test_as_it_comes(self):
        """Bytes go at once, and one end may end long before the other."""
        a, b = self.ends()
        for n in range(3):
            a.write(b"there %d\n" % n)
            wait_for(lambda n=n: bytes(b.got).endswith(b"there %d\n" % n), "it to arrive")
            b.write(b"back %d\n" % n)
            wait_for(lambda n=n: bytes(a.got).endswith(b"back %d\n" % n), "it to come back")
        a.close()
        b.write(b"later\n")
        wait_for(lambda: bytes(a.got).endswith(b"later\n"), "what comes after")
        self.assertIsNone(a.process.poll())
        self.assertIsNone(b.process.poll())
        b.close()
        self.both_end(a, b)

    def test_first_that_comes(self):
        """Without a peer: whoever opens a link on the channel; one after the other."""
        for n in range(5):
            b = self.pipe(self.b, peer=[])
            a = self.pipe(self.a)
            a.feed(b"to whom it may concern %d" % n)
            b.feed(b"thanks")
            self.both_end(a, b)
            self.assertEqual((bytes(b.got), bytes(a.got)), (b"to whom it may concern %d" % n, b"thanks"))

    def test_files_and_sockets(self):
        """Standard input and output are files, a socket, /dev/null; their flags stay."""
        data = os.urandom(500_000)
        read, write = os.pipe()
        mine, its = socket.socketpair()
        with mine, its:
            b = self.pipe(self.b, stdin=subprocess.DEVNULL, stdout=its)
            a = self.pipe(self.a, stdin=read, stdout=subprocess.DEVNULL)
            self.assertEqual((os.get_blocking(read), its.getblocking()), (True, True))
            got = bytearray()

            def gather():
                while len(got) < len(data) and (more := mine.recv(1 << 16)):
                    got.extend(more)
            reader = threading.Thread(target=gather, daemon=True)
            reader.start()
            os.close(read)
            with open(write, "wb") as out:
                out.write(data)
            self.both_end(a, b)
            reader.join(20)
            self.assertEqual(bytes(got), data)

    def test_slow_reader(self):
        """Nobody reads at one end: the other waits, nothing is lost, and its own stream goes on."""
        data = os.urandom(12_000_000)       # more than both rings and the pipes hold
        read, write = os.pipe()
        b = self.pipe(self.b, stdout=write)
        os.close(write)
        a = self.pipe(self.a)
        a.feed(data)
        for n in range(3):
            b.write(b"%d" % n)
            wait_for(lambda n=n: bytes(a.got).endswith(b"%d" % n), "what b sends")
        with self.file(self.a) as file:
            wait_for(lambda: self.stands(file), "the stream to stand still")
        self.assertIsNone(a.process.poll())
        b.close()
        got = bytearray()
        while more := os.read(read, 1 << 20):
            got += more
        os.close(read)
        self.assertEqual(bytes(got), data)
        self.both_end(a, b)

    @staticmethod
    def stands(file):
        """Has nothing been committed for a while?"""
        before = file.status().committed
        return not wait_quiet(lambda: file.status().committed != before)

    def test_json(self):
        """On standard error, an object."""
        a, b = self.ends("-j")
        a.feed(b"12345")
        b.feed(b"")
        self.assertEqual((a.end(), b.end()), (0, 0))
        self.assertRegex(a.errors, r'^\[\{"port":"va","peer":"[0-9a-f:]{17}","vc":%d,"result":"committed",'
                                   r'"sent":5,"received":0\}\]\n$' % self.vc)
        self.assertIn('"sent":0,"received":5', b.errors)
        self.assertEqual(bytes(b.got), b"12345")

    # What is not.

    def gave_up(self, pipe, status, pattern, committed=r"\d+", received=r"\d+"):
        """A line, and a status that is not 0."""
        self.assertEqual(pipe.end(), status, pipe.errors)
        self.assertRegex(pipe.errors, rf"\Aoae pipe: [0-9a-f:]{{17}}: {pattern}; {committed} bytes are committed, "
                                      rf"{received} received\n\Z")

    def test_interrupted(self):
        """Both ends say so, and how far it was."""
        a, b = self.ends()
        a.write(b"x" * 1000)
        wait_for(lambda: len(b.got) == 1000, "it to arrive")
        a.process.send_signal(signal.SIGINT)
        self.gave_up(a, 1, "interrupted", 1000, 0)
        self.gave_up(b, 1, "the peer gave up", 0, 1000)
        self.nothing_left()

    def test_gone_before(self):
        """One that gave up before there was another at the other end: the next two are not told."""
        for data in None, b"", b"of which nothing goes":
            a = self.pipe(self.a)
            if data is not None:
                a.feed(data)
            self.waits_at(self.b, 1)
            a.process.send_signal(signal.SIGINT)
            self.gave_up(a, 1, "interrupted", 0, 0)
            b = self.pipe(self.b)
            wait_for(lambda: not self.unread(self.b), "it to be dropped")
            a = self.pipe(self.a).feed(b"there")
            b.feed(b"and back")
            self.both_end(a, b)
            self.assertEqual((bytes(b.got), bytes(a.got)), (b"there", b"and back"))

    def unread(self, host):
        """Messages that wait on this channel."""
        return sum(link["unread"] for link in oae(host, "-j", "show").json if link["vc"] == self.vc)

    def waits_at(self, host, number):
        """Until so many do."""
        wait_for(lambda: self.unread(host) == number, f"{number} messages to wait at {host.name}")

    def test_no_reader_here(self):
        """Standard output is closed by who reads it."""
        read, write = os.pipe()
        b = self.pipe(self.b, stdout=write)
        os.close(write)
        a = self.pipe(self.a)
        a.write(b"x" * 1000)
        self.assertTrue(os.read(read, 10))
        os.close(read)
        a.write(b"y" * 1000)
        self.gave_up(b, 74, "standard output: EPIPE: Broken pipe: not all was written", 0)
        self.gave_up(a, 1, "the peer gave up", r"[12]000", 0)

    def test_input_fails(self):
        """Standard input is no file."""
        folder = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, folder)
        b = self.pipe(self.b)
        a = self.pipe(self.a, stdin=folder)
        self.gave_up(a, 1, "standard input: EISDIR: Is a directory", 0, 0)
        self.gave_up(b, 1, "the peer gave up", 0, 0)

    def test_killed_and_begun_again(self):
        """The peer's program is killed: the next one there is not taken for it."""
        a, b = self.ends()
        a.write(b"x" * 1000)
        wait_for(lambda: len(b.got) == 1000, "it to arrive")
        a.process.kill()
        again = self.pipe(self.a).feed(b"anew")
        self.gave_up(b, 1, "the peer's program died, and began again", 0, 1000)
        # The beginning of the new one is still there for the next.
        third = self.pipe(self.b).feed(b"")
        self.assertEqual((again.end(), third.end(), bytes(third.got)), (0, 0, b"anew"), again.errors)

    def test_killed_before_it_heard(self):
        """One that had not read what the other end began with: the next one does, in its place."""
        a = self.pipe(self.a).feed(b"of which nothing goes")
        self.waits_at(self.b, 1)
        a.process.send_signal(signal.SIGSTOP)
        b = self.pipe(self.b).feed(b"and back")
        self.has_sent(self.b, 2)
        a.process.kill()
        a.process.wait()
        again = self.pipe(self.a).feed(b"anew")
        self.both_end(again, b)
        self.assertEqual((bytes(b.got), bytes(again.got)), (b"anew", b"and back"))
        self.nothing_left()

    def test_reader_killed(self):
        """A reader is killed, whatever it has read: its sender does not take the next one for it."""
        for data in b"", b"x" * 1000:
            for ended in False, True:
                self.vc = next(self.vcs)
                a, b = self.linked_ends()
                a.write(data)
                if ended:
                    a.close()
                wait_for(lambda b=b, data=data: bytes(b.got) == data and not self.unread(self.b), "it to arrive")
                b.process.kill()
                b.process.wait()
                again = self.pipe(self.b).feed(b"anew")
                self.gave_up(a, 1, "the peer's program died, and began again", len(data), 0)
                third = self.pipe(self.a).feed(b"for it")
                self.both_end(again, third)
                self.assertEqual((bytes(again.got), bytes(third.got)), (b"for it", b"anew"))
                self.nothing_left()

    def test_left_unread(self):
        """What a reader that was killed has left is not taken for the next stream."""
        a, b = self.linked_ends()
        b.process.send_signal(signal.SIGSTOP)
        a.write(b"x" * 1000)
        self.has_sent(self.a, 3)
        b.process.kill()
        b.process.wait()
        again = self.pipe(self.b).feed(b"")
        self.gave_up(a, 1, "the peer's program died, and began again", 1000, 0)
        third = self.pipe(self.a).feed(b"anew")
        self.both_end(again, third)
        self.assertEqual(bytes(again.got), b"anew")

    def test_next_is_early(self):
        """The next one begins before this end has seen that all is committed: it is not this end's."""
        a, b = self.linked_ends()
        a.write(b"x").close()
        self.has_sent(self.a, 4)
        self.addCleanup(self.cable.mend)
        self.cable.cut()
        b.close()
        wait_for(lambda: any(link["offer"] != "NONE" for link in oae(self.b, "-j", "show").json
                             if link["vc"] == self.vc), "the end to be under way")
        b.process.send_signal(signal.SIGSTOP)
        self.cable.mend()
        self.both_end(a)
        again = self.pipe(self.a).feed(b"anew")
        self.has_sent(self.a, 5)
        b.process.send_signal(signal.SIGCONT)
        self.both_end(b)
        third = self.pipe(self.b).feed(b"")
        self.both_end(again, third)
        self.assertEqual((bytes(b.got), bytes(third.got)), (b"x", b"anew"))

    def test_closed_at_its_end(self):
        """The link is closed when all is committed, and not yet read: it is."""
        a, b = self.linked_ends()
        b.close()
        self.has_sent(self.b, 3)
        b.process.send_signal(signal.SIGSTOP)
        a.write(b"x").close()
        self.both_end(a)
        oae(self.a, "close", self.cable.mac_b, "-v", self.vc)
        b.process.send_signal(signal.SIGCONT)
        self.both_end(b)
        self.assertEqual(bytes(b.got), b"x")

    def has_sent(self, host, number):
        """Until it has committed so many messages on this channel."""
        wait_for(lambda: sum(link["tx"] for link in oae(host, "-j", "show").json if link["vc"] == self.vc) == number,
                 f"{host.name} to have sent {number} messages")

    def linked_ends(self):
        """Both, when the two words with which each begins are at the other."""
        a = self.pipe(self.a)
        self.waits_at(self.b, 1)
        b = self.pipe(self.b)

        def quiet():
            links = [link for host in (self.a, self.b) for link in oae(host, "-j", "show").json
                     if link["vc"] == self.vc]
            return len(links) == 2 and all(link["rx"] >= 2 and not link["unread"] for link in links)
        wait_for(quiet, "both to have heard of each other")
        return a, b

    def test_down(self):
        """The link is down: it is reversed, and said."""
        a, b = self.ends()
        a.write(b"x" * 1000)
        wait_for(lambda: len(b.got) == 1000, "it to arrive")
        usual = self.a.knob("dead_ms")
        self.addCleanup(self.a.knob, "dead_ms", usual)
        self.addCleanup(self.cable.mend)
        self.a.knob("dead_ms", 300)
        self.cable.cut()
        a.write(b"y" * 1000)
        self.gave_up(a, 2, "reversed: ENOLINK: [^\n]*", 1000, 0)
        b.process.send_signal(signal.SIGINT)
        self.gave_up(b, 1, "interrupted", 0, 1000)

    def test_longest(self):
        """The smaller max_len of the two is what both keep to; one that shrinks ends it at both ends."""
        usual = self.b.knob("max_len")
        self.addCleanup(self.b.knob, "max_len", usual)
        self.b.knob("max_len", 1000)
        a, b = self.ends()
        one, other = os.urandom(20000), os.urandom(20000)
        a.feed(one)
        b.feed(other)
        self.both_end(a, b)
        self.assertEqual((bytes(b.got), bytes(a.got)), (one, other))
        self.vc = next(self.vcs)
        a, b = self.ends()
        b.write(b"x" * 1000)
        wait_for(lambda: len(a.got) == 1000, "it to arrive")
        self.b.knob("max_len", 100)
        b.write(b"y" * 1000)
        self.gave_up(b, 2, "reversed: EMSGSIZE: [^\n]*", "(976|1000)", 0)
        self.gave_up(a, 1, "the peer gave up", 0, "(976|1000)")
        self.nothing_left()

    def test_closed(self):
        """The link is closed at either end. Who sees it first says so, and gives up."""
        for host in self.a, self.b:
            a, b = self.ends()
            a.write(b"x" * 1000)
            wait_for(lambda b=b: len(b.got) == 1000, "it to arrive")
            oae(host, "close", self.cable.mac_b if host is self.a else self.cable.mac_a, "-v", self.vc)
            for pipe in a, b:
                self.assertIn(pipe.end(), (1, 2), pipe.errors)
                self.assertRegex(pipe.errors, r"^oae pipe: [^\n]*(closed|new one|the peer gave up)[^\n]*\n$")
            self.assertRegex(a.errors + b.errors, "closed|new one")
            self.vc = next(self.vcs)

    def test_patience(self):
        """-w: nothing moves for so long, or nobody comes."""
        a = self.pipe(self.a, "-w", 0.3)
        self.gave_up(a, 1, "nothing moved for 300 ms", 0, 0)
        self.vc = next(self.vcs)
        b = self.pipe(self.b, "-w", 0.3, peer=[])
        self.assertEqual(b.end(), 1)
        self.assertEqual(b.errors, "oae pipe: nobody came for 300 ms\n")

    def test_foreign(self):
        """Messages that are of no pipe are left for who reads them; a link that is in use is."""
        self.file(self.a).write(b"hello")
        b = self.pipe(self.b)
        self.gave_up(b, 1, "messages that are of no pipe are unread on channel [^\n]*", 0, 0)
        file = self.file(self.b)
        self.assertEqual(file.read(), b"hello")
        file.close()
        first = self.pipe(self.b)
        wait_for(lambda: first.process.poll() is None and any(
            link["vc"] == self.vc and link["owners"] for link in oae(self.b, "-j", "show", "-p").json), "it")
        second = self.pipe(self.b)
        self.assertEqual(second.end(), 1)
        self.assertRegex(second.errors, r"another program is at the end of channel \d+ here")

    def test_hostile(self):
        """Heads that no end would send: it gives up, or drops them; it writes nothing of them."""
        mine = 0x1234
        for before, after, said in (
                ([head(DATA, 0, 7) + b"no beginning"], [head(END, 0, mine)], None),
                ([], [head(DATA, 5, mine) + b"a gap"], "a part of the peer's stream is missing"),
                ([], [head(END, 5, mine)], "a part of the peer's stream is missing"),
                ([], [head(END, OPEN, mine)], "a part of the peer's stream is missing"),
                ([], [head(PIPE, 0, 7)], "the peer's program died, and began again"),
                ([], [head(STOP, 0, mine)], "the peer gave up"),
                ([head(STOP, 0, 7), head(PIPE, 0, 7), head(STOP, 0, 7), head(STOP, 0, 7)],
                 [head(STOP, 0, 7), head(PIPE, 9, 7), head(END, 0, mine)], None),
                ([head(PIPE, 0, mine), head(DATA, 0, mine) + b"not linked", head(END, 0, mine)],
                 [head(END, 0, mine)], None),
                ([head(DATA, 0, 0) + b"of nobody", head(PIPE, 9, 7)], [head(END, 0, mine)], None),
                ([head(DONE, 0, 9)], [head(END, 0, mine)], None),
                ([head(BEGIN, 5, mine)], [], "messages that are of no pipe [^\n]*")):
            with self.subTest(before=before, after=after):
                b = self.pipe(self.b).feed(b"")
                with self.file(self.a) as file:
                    file.set_options(queue=64)
                    stream = HEAD.unpack(file.read())[2]
                    for message in [*before, head(PIPE, stream, mine), *after]:
                        file.write(message)
                    if said:
                        self.gave_up(b, 1, said, 0, 0)
                    else:
                        self.both_end(b)
                self.assertEqual(bytes(b.got), b"")
                self.vc = next(self.vcs)


def wait_quiet(changed, seconds=0.5):
    """Does it change within this time?"""
    try:
        wait_for(changed, "", seconds)
        return True
    except AssertionError:
        return False
