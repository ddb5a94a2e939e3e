# SPDX-License-Identifier: GPL-2.0
"""What the tests of /dev/oae share: a host against a scripted peer, and two hosts."""

import errno
import os
import select
from ctypes import c_size_t, c_void_p

import oaedev
from faults import Losing
from oaedev import Call, OaeFile
from oaepeer import Peer
from oaetest import LIBC, wait_for
from shared import Shared
from topology import CALM, OneCable, OneScript

PRI, BAND, IN, OUT, HUP, ERR = (select.POLLPRI, select.POLLRDBAND, select.POLLIN, select.POLLOUT,
                                select.POLLHUP, select.POLLERR)
PATIENT = CALM | {"linger_ms": 0, "deadline_ms": 0, "sndq": 64, "max_len": 65536,
                  "rcvbuf": 262144, "shutdown": 0, "max_tags": 1024, "drop_pct": 0}


class IdlePair(Shared, OneCable):
    """Two hosts whose links say nothing of themselves; each test finds nothing unread."""

    targets = True

    @classmethod
    def build(cls):
        super().build()
        for host in (cls.a, cls.b):
            host.knob("keepalive_ms", 600000)

    @classmethod
    def tearDownClass(cls):
        """The next class finds no links."""
        for host in cls.a, cls.b:
            host.knobs(vci=0, shutdown=1)
        wait_for(lambda: not any([host.read_all() or host.tags() for host in (cls.a, cls.b)]),
                 "the links to go")
        for host in cls.a, cls.b:
            host.knob("shutdown", 0)

    def setUp(self):
        super().setUp()
        self.delivered()
        for host in self.a, self.b:
            host.read_all()

    def delivered(self):
        """The links are open, and what one end has committed, the other has delivered."""
        def both():
            ends = [{tag["vc"]: tag for tag in host.tags()} for host in (self.a, self.b)]
            return all(one[vc]["state"] == "OPEN" and one[vc]["tx"] == other[vc]["rx"]
                       for one, other in (ends, reversed(ends)) for vc in one.keys() & other.keys())
        wait_for(both, "what was committed to be delivered")


class DevTest(Shared):
    """Tests of /dev/oae: each has a virtual channel of its own."""

    vcs = None

    @classmethod
    def setUpClass(cls):
        cls.vcs = iter(range(1, 250))
        super().setUpClass()
        oaedev.node()

    def setUp(self):
        super().setUp()
        self.vc = next(self.vcs)
        self.files = []

    def tearDown(self):
        for file in self.files:
            file.close()
        super().tearDown()

    def later(self, file):
        """Closed when the test is over, at the latest."""
        self.files.append(file)
        return file

    def fails(self, code, function, *args, **kwargs):
        """function(...) fails with this error number; within two seconds, if it is a Call."""
        self.assert_errno(code, function, *args, **kwargs)

    def ends_in(self, call, code):
        """A Call has failed with an error number."""
        self.assertEqual(call.error(), errno.errorcode[code])

    def waits(self, call, *files):
        """A Call is still under way, and so are transactions of files."""
        for file in files:
            wait_for(lambda file=file: file.status().pending, "it to be under way")
        self.assertFalse(call.done)
        return call

    def assert_outcomes(self, file, *wanted):
        """What can be collected: (id, "C", "R" or "U", errno)."""
        got = file.collect_all(len(wanted))
        self.assertEqual([(o.id, "CRU"[o.result], errno.errorcode.get(o.err, 0)) for o in got],
                         [(id_, how, errno.errorcode.get(err, 0)) for id_, how, err in wanted])
        return got


class Scripted(DevTest, OneScript):
    """A host against a scripted peer, in calm."""

    knobs = {}

    def setUp(self):
        super().setUp()
        self.a.knobs(**PATIENT | self.knobs, dev="va")
        self.wire.frames()
        self.peer = Peer(self.wire, self.cable.mac_a, vc=self.vc)
        self.before = self.a.stats()

    def tearDown(self):
        self.a.knob("dev", "")
        moved = {name: n - self.before[name] for name, n in self.a.stats().items()}
        self.assertEqual(moved["posted"], moved["committed"] + moved["reversed"] +
                         moved["unknown"], "each has one outcome")
        self.assertEqual(self.a.tags(), [])
        super().tearDown()
        self.a.read_all()

    def file(self, **how):
        """Attached to the peer."""
        return self.later(OaeFile.to(self.a, self.cable.mac_b, vc=self.vc, **how))

    def opened(self, **how):
        """The same, the link open."""
        self.peer.open()
        return self.file(**how)

    def silent(self):
        """All that was sent has been dealt with; nothing more comes."""
        self.peer.silence()


class TwoEnds(DevTest, OneCable):
    """Two hosts and a cable."""

    one_cpu = False
    knobs = {"dead_ms": 5000, "keepalive_ms": 1000, "stall_min_us": 1000, "stall_max_us": 200000,
             "linger_ms": 500, "max_len": 65536, "rcvbuf": 262144, "sndq": 64, "shutdown": 0}

    def setUp(self):
        super().setUp()
        self.mends = []
        for host in (self.a, self.b):
            host.knobs(**self.knobs)

    def tearDown(self):
        for mend in self.mends:
            mend()
        super().tearDown()
        for host in (self.a, self.b):
            host.knob("shutdown", 1)
        for host in (self.a, self.b):
            try:
                # Unread, a tag stays.
                wait_for(lambda host=host: host.read_all() == b"" and not host.tags(),
                         f"the tags of {host} to go", 15)
            except AssertionError as e:
                raise AssertionError(f"{e}: {host.tags()}") from e
            host.knob("shutdown", 0)

    def at_a(self, **how):
        """A file at a, attached to b."""
        return self.later(OaeFile.to(self.a, self.cable.mac_b, **{"vc": self.vc} | how))

    def at_b(self, **how):
        """A file at b, attached to a."""
        return self.later(OaeFile.to(self.b, self.cable.mac_a, **{"vc": self.vc} | how))

    def both(self, **how):
        """One at each."""
        return self.at_a(**how), self.at_b(**how)

    def opened(self, nonblock=False, **how):
        """The same, with the link open; a's next transaction is its second."""
        a, b = self.both(**how)
        a.write(b"open")
        self.assertEqual(b.read(), b"open")
        a.nonblock(nonblock)
        b.nonblock(nonblock)
        return a, b

    def lose(self, *opcodes, of="ab"):
        """Frames are lost on their way out of a, of b: an undo."""
        losing, deaf = [], []
        if opcodes:
            losing = [Losing(host, dev, *opcodes) for host, dev in self.cable.ends if host.name in of]
        else:       # by the host that does not hear them: no program is run for it
            deaf = [host for host, other in ((self.a, "b"), (self.b, "a")) if other in of]
        for host in deaf:
            host.knob("drop_pct", 100)

        def mend():
            while losing:
                losing.pop().end()
            while deaf:
                deaf.pop().knob("drop_pct", 0)
        self.mends.append(mend)
        return mend

    def down(self, *hosts):
        """Wait until they have given the peer up."""
        before = {host: host.stat("note_down") for host in hosts}
        for host in hosts:
            wait_for(lambda host=host: host.stat("note_down") > before[host],
                     f"{host} to give up")


class Memory:
    """Pages, some of which nobody may touch."""

    def __init__(self, pages):
        self.length = pages * 4096
        LIBC.mmap.restype = c_void_p
        self.at = LIBC.mmap(None, c_size_t(self.length), 3, 0x22, -1, c_size_t(0))

    def protect(self, page, how=0):
        """PROT_NONE, or another."""
        LIBC.mprotect(c_void_p(self.at + page * 4096), c_size_t(4096), how)

    def unmap(self, page):
        """Not there at all."""
        LIBC.munmap(c_void_p(self.at + page * 4096), c_size_t(4096))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        LIBC.munmap(c_void_p(self.at), c_size_t(self.length))


def in_process(function, *args):
    """Run it in a child that ends with 0 if it returned, and with its error number otherwise."""
    child = os.fork()
    if not child:
        code = 255
        try:
            code = function(*args) or 0
        except OSError as e:
            code = e.errno
        finally:
            os._exit(code)      # pylint: disable=protected-access
    return child


def exit_code(child):
    """Of a child."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


__all__ = ["BAND", "Call", "DevTest", "ERR", "HUP", "IN", "Memory", "OUT", "OaeFile", "PATIENT", "PRI",
           "Scripted", "TwoEnds", "exit_code", "in_process"]
