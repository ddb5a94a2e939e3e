# SPDX-License-Identifier: GPL-2.0
"""oae send --file, oae recv --file: any length, whole at its name or not there, and both ends are told."""

import itertools
import os
import signal
import struct
import tempfile
import threading
from pathlib import Path

from oaecmd import Running, oae
from devtest import IdlePair
from oaedev import OaeFile
from oaetest import run, wait_for

BEGIN, DATA, END, DONE = 1, 2, 3, 4
HEAD = struct.Struct(">7sBQQ")
OPEN = 2 ** 64 - 1


def head(kind, number, stream):
    """A message of tools/oae/stream.h, or how it begins."""
    return HEAD.pack(b"OAEstr\1", kind, number, stream)


class Files(IdlePair):
    """
        host a: --file source             host b: --file there
        va ------------------------------ vb
    """

    vcs = itertools.count(60)

    def setUp(self):
        super().setUp()
        self.vc = next(self.vcs)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "there"
        self.folder.mkdir()
        self.source, self.there = Path(folder.name) / "source", self.folder / "file"

    def start(self, host, *args):
        """In the background, until the test ends."""
        running = Running(host, *args, "-v", self.vc)
        self.addCleanup(running.kill)
        return running

    def receiver(self, there=None, *args):
        """oae recv --file at b, attached."""
        running = self.start(self.b, "recv", "--file", there or self.there, self.cable.mac_a, *args)
        wait_for(lambda: running.process.poll() is not None or
                 any(link["vc"] == self.vc and link["owners"] for link in oae(self.b, "-j", "show", "-p").json),
                 "the receiver to be there")
        return running

    def sender(self, source=None, *args):
        """oae send --file at a."""
        return self.start(self.a, "send", "--file", source or self.source, self.cable.mac_b, *args)

    def send(self, data, status=0, *args):
        """The same, to its end."""
        self.source.write_bytes(data)
        return oae(self.a, "send", "--file", self.source, self.cable.mac_b, "-v", self.vc, *args, status=status)

    def file(self, host, peer, **options):
        """An end of the same channel."""
        file = OaeFile.to(host, peer, self.vc, **options)
        self.addCleanup(file.close)
        return file

    def some_came(self):
        """Until part of a file is there, with a name or without."""
        wait_for(lambda: any(link["vc"] == self.vc and link["rx"] > 2 for link in oae(self.b, "-j", "show").json),
                 "some of it")

    def nothing_left(self, *names):
        """Beside the name nothing is left, and nothing is unread at either end."""
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(names))
        for host, peer in (self.a, self.cable.mac_b), (self.b, self.cable.mac_a):
            with OaeFile.to(host, peer, self.vc) as file:
                self.assertEqual((host, file.status().unread), (host, 0))

    def test_lengths(self):
        """None, one byte, many messages; what was there is replaced, and no mode of a temporary file stays."""
        for size in 0, 1, 32768, 300000:
            data = os.urandom(size)
            receiver = self.receiver()
            self.assertRegex(self.send(data).out, rf"^the peer has the file: {size} bytes in ")
            self.assertEqual((receiver.end(), receiver.lines), (0, [f"{self.there}: {size} bytes"]))
            self.assertEqual(self.there.read_bytes(), data)
            self.assertEqual(self.there.stat().st_mode & 0o777, 0o644)
            self.nothing_left("file")

    def test_longest(self):
        """In messages that both ends let pass, whichever max_len is the smaller one."""
        data = os.urandom(50000)
        for host in self.a, self.b:
            usual = host.knob("max_len")
            self.addCleanup(host.knob, "max_len", usual)
            host.knob("max_len", 1000)
            receiver = self.receiver()
            self.send(data)
            self.assertEqual(receiver.end(), 0)
            self.assertEqual(self.there.read_bytes(), data)
            host.knob("max_len", usual)
            self.there.unlink()
            self.vc = next(self.vcs)

    def offset(self, sender):
        """As far as it has read its file."""
        proc = Path(f"/proc/{sender.process.pid}")
        fd, = [link.name for link in (proc / "fd").iterdir() if link.resolve() == self.source]
        return int((proc / "fdinfo" / fd).read_text().split()[1])

    def test_stdin(self):
        """Of no length that is known: a pipe, and what grows or shrinks meanwhile."""
        receiver = self.receiver()
        oae(self.a, "send", "--file", "-", self.cable.mac_b, "-v", self.vc, data=b"x" * 100000)
        self.assertEqual((receiver.end(), self.there.read_bytes()), (0, b"x" * 100000))
        fifo = self.folder.parent / "fifo"
        os.mkfifo(fifo)
        receiver, sender = self.receiver(), self.sender(fifo)
        with open(fifo, "wb") as pipe:
            pipe.write(b"1" * 40000)
        self.assertEqual((sender.end(), receiver.end()), (0, 0))
        self.assertEqual(self.there.read_bytes(), b"1" * 40000)
        self.addCleanup(self.cable.netem, None, (0,))
        for size in 10, 10_000_000:
            self.source.write_bytes(b"y" * 3_000_000)
            # It takes its time, so some of it is left when some has come.
            self.cable.netem("rate 16mbit", (0,))
            receiver, sender = self.receiver(), self.sender()
            self.some_came()
            sender.process.send_signal(signal.SIGSTOP)
            self.cable.netem("delay 0ms", (0,))
            self.assertLess(self.offset(sender), 3_000_000)
            os.truncate(self.source, size)
            sender.process.send_signal(signal.SIGCONT)
            self.assertEqual((sender.end(), receiver.end()), (0, 0), sender.errors)
            whole = self.there.read_bytes()
            self.assertEqual(whole.rstrip(b"\0"), b"y" * len(whole.rstrip(b"\0")))
            self.assertTrue(len(whole) == size if size > 3_000_000 else len(whole) <= 3_000_000)
        self.nothing_left("file")

    def test_sender_gives_up(self):
        """Interrupted, or its disk fails: the receiver is told, and what was there stays."""
        self.there.write_text("old")
        receiver, sender = self.receiver(), self.sender("/dev/zero")
        self.some_came()
        self.assertEqual(sender.stop(), 2)
        self.assertEqual(receiver.end(), 1)
        self.assertIn("the sender gave it up", receiver.errors[0])
        receiver = self.receiver()
        said = oae(self.a, "send", "--file", "/", self.cable.mac_b, "-v", self.vc, status=1)
        self.assertEqual(said.err, "oae send: /: EISDIR: Is a directory\n")
        self.assertEqual((receiver.end(), self.there.read_text()), (1, "old"))
        self.nothing_left("file")

    def test_sender_killed(self):
        """The receiver waits for the next: that is whole."""
        receiver, sender = self.receiver(), self.sender("/dev/zero")
        self.some_came()
        sender.kill()
        self.assertEqual(list(self.folder.iterdir()), [])
        self.send(b"whole")
        self.assertEqual((receiver.end(), self.there.read_bytes()), (0, b"whole"))

    def test_receiver_gives_up(self):
        """Interrupted: the sender is told, however long it would have waited."""
        receiver, sender = self.receiver(), self.sender("/dev/zero")
        self.some_came()
        self.assertEqual(receiver.stop(), 1)
        self.assertEqual(sender.end(), 1)
        self.assertIn("is not there: the peer says EINTR", sender.errors[0])
        self.nothing_left()

    def test_receiver_anew(self):
        """One that was killed leaves nothing; the next tells the sender that it was in vain."""
        receiver, sender = self.receiver(), self.sender("/dev/zero")
        self.some_came()
        receiver.kill()
        self.assertEqual(list(self.folder.iterdir()), [])
        receiver = self.receiver()
        self.assertEqual(sender.end(), 1)
        self.assertIn("is not there: the peer says ECANCELED", sender.errors[0])
        self.send(b"again")
        self.assertEqual((receiver.end(), self.there.read_bytes()), (0, b"again"))
        self.nothing_left("file")

    def test_disk_full(self):
        """The receiver's is: the sender is told, also if it waits for room behind it."""
        run("mount", "-t", "tmpfs", "-o", "size=64k", "none", str(self.folder))
        self.addCleanup(run, "umount", str(self.folder))
        receiver = self.receiver()
        self.assertIn("is not there: the peer says ENOSPC: No space left on device\n",
                      self.send(bytes(300000), 1).err)
        self.assertEqual(receiver.end(), 1)
        self.assertIn("not received: ENOSPC: No space left on device", receiver.errors[0])
        self.nothing_left()
        receiver = self.receiver()
        receiver.process.send_signal(signal.SIGSTOP)
        sender = self.sender("/dev/zero")

        wait_for(lambda: any(tag["waits"] == "room" for tag in self.a.tags() if tag["vc"] == self.vc),
                 "no room at the receiver")
        receiver.process.send_signal(signal.SIGCONT)
        self.assertEqual((sender.end(), receiver.end()), (1, 1))
        self.assertIn("the peer says ENOSPC", sender.errors[0])
        self.nothing_left()

    def test_names(self):
        """A link leads to what is replaced; what is no file stays what it is; any name is a line."""
        (self.folder / "target").write_text("old")
        self.there.symlink_to("target")
        receiver = self.receiver()
        self.send(b"new")
        self.assertEqual((receiver.end(), self.there.is_symlink()), (0, True))
        self.assertEqual((self.folder / "target").read_text(), "new")
        os.mkfifo(self.folder / "fifo")
        (self.folder / "nowhere").symlink_to("no/such")
        for name, said in ((self.folder / "fifo", "directory or a device"), ("/dev/null", "directory or a device"),
                           (self.folder, "directory or a device"), (self.folder / "nowhere", "ENOENT"),
                           (self.folder / "no" / "such", "ENOENT"), ("/proc/x", "ENOENT"), ("", "ENOENT"),
                           (f"{self.folder}/new/", "ENOENT")):
            done = oae(self.b, "recv", "--file", name, self.cable.mac_a, status=1)
            self.assertEqual(done.err.count("\n"), 1)
            self.assertIn(said, done.err)
        self.assertTrue(Path("/dev/null").is_char_device())
        strange = self.folder / "line\nand \033[2J"
        receiver = self.receiver(strange)
        self.send(b"x")
        self.assertEqual((receiver.end(), receiver.lines), (0, [f"{self.folder}/line\\x0aand \\x1b[2J: 1 bytes"]))
        self.assertEqual(strange.read_bytes(), b"x")
        done = oae(self.a, "send", "--file", f"{strange}?", self.cable.mac_b, status=1)
        self.assertEqual(done.err, f"oae send: {self.folder}/line\\x0aand \\x1b[2J?: ENOENT: No such file or directory\n")

    def test_alone(self):
        """One at a time on a channel, here; two would take each other's messages."""
        receiver, sender = self.receiver(), self.sender("/dev/zero")
        self.some_came()
        for said in (oae(self.a, "send", "--file", "/etc/passwd", self.cable.mac_b, "-v", self.vc, status=1),
                     oae(self.a, "recv", "--file", self.there, self.cable.mac_b, "-v", self.vc, status=1),
                     oae(self.b, "recv", "--file", self.there, self.cable.mac_a, "-v", self.vc, status=1)):
            self.assertIn(f"another --file is under way on channel {self.vc}", said.err)
        self.assertEqual((sender.stop(), receiver.end()), (2, 1))
        receiver = self.receiver()
        self.send(b"the next")
        self.assertEqual(receiver.end(), 0)

    def test_messages(self):
        """Those that are of no file are left for who reads them, at either end."""
        receiver = self.receiver()
        one, two = self.file(self.a, self.cable.mac_b), self.file(self.b, self.cable.mac_a)
        one.write(b"hello")
        self.assertEqual(receiver.end(), 1)
        self.assertIn("what came is no file", receiver.errors[0])
        self.assertEqual(two.read(), b"hello")
        two.write(b"you")
        said = self.send(b"data", 1)
        self.assertIn("messages from there are unread", said.err)
        self.assertEqual(one.read(), b"you")
        # In the midst.
        receiver, sender = self.receiver(), self.sender("/dev/zero")
        self.some_came()
        two.write(b"and you")
        self.assertEqual((sender.end(), receiver.end()), (1, 1))
        self.assertIn("messages from there are unread", sender.errors[0])
        self.assertEqual(one.read(), b"and you")
        self.nothing_left()

    def test_hostile(self):
        """What no sender says."""
        one = self.file(self.a, self.cable.mac_b)
        for messages in ([head(DATA, 7, 0)], [head(BEGIN, 7, 3), head(DATA, 7, 1) + b"x"],
                         [head(BEGIN, 7, 3), head(DATA, 7, 0) + b"x", head(END, 7, 0)], [head(END, 7, 0)[:-1]],
                         [head(BEGIN, 7, 3) + b"x"], [head(9, 7, 3)], [b"OAEstr\2" + head(BEGIN, 7, 3)[7:]]):
            receiver = self.receiver(None, "-w", "1")
            for message in messages:
                one.write(message)
            self.assertEqual(receiver.end(), 1)
            self.assertEqual(list(self.folder.iterdir()), [])
            with OaeFile.to(self.b, self.cable.mac_a, self.vc, nonblock=True) as two:
                two.read_each()
        # An answer before the end, and one of which the number is none.
        sender = self.sender("/dev/zero")
        with OaeFile.to(self.b, self.cable.mac_a, self.vc) as two:
            stream = HEAD.unpack(two.read())[2]
            two.write(head(DONE, stream, OPEN))
        self.assertEqual(sender.end(), 1)
        self.assertIn("the peer says EPROTO", sender.errors[0])

    def test_peer_anew(self):
        """All is sent, and the receiver's kernel dies: whether it has the file is not known."""
        sender = self.sender("/etc/passwd")
        two = self.file(self.b, self.cable.mac_a)
        kinds = [HEAD.unpack(two.read()[:HEAD.size])[1]]
        while kinds[-1] != END:
            kinds.append(HEAD.unpack(two.read()[:HEAD.size])[1])
        self.b.knob("dev", "-vb")
        self.cable.bind(1)
        self.file(self.b, self.cable.mac_a).write(head(DONE, 1, 0))
        self.assertEqual(sender.end(), 4)

    def test_several_lengths(self):
        """In threads, a channel each: what comes is what was sent."""
        def one(number):
            there, data = self.folder / str(number), os.urandom(50000 * number)
            (self.folder.parent / str(number)).write_bytes(data)
            receiver = Running(self.b, "recv", "--file", there, self.cable.mac_a, "-v", 200 + number)
            oae(self.a, "send", "--file", self.folder.parent / str(number), self.cable.mac_b, "-v", 200 + number)
            good.append(receiver.end() == 0 and there.read_bytes() == data)
        good = []
        threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(good, [True] * 4)
