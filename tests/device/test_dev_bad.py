# SPDX-License-Identifier: GPL-2.0
"""Bad calls on /dev/oae: an error number, and nothing has changed."""

import ctypes
import errno
import mmap
import os
from contextlib import contextmanager
from ctypes import c_size_t, c_void_p

import oaedev as dev
from devtest import IN, Call, Memory, OaeFile, TwoEnds
from oaetest import LIBC, wait_for

REQUESTS = {"ATTACH": (dev.ATTACH, dev.Attach.size), "SET_OPTIONS": (dev.SET_OPTIONS, 24),
            "GET_OPTIONS": (dev.GET_OPTIONS, 24), "STATUS": (dev.STATUS, dev.Status.size),
            "COLLECT": (dev.COLLECT, dev.CollectArg.size), "CANCEL": (dev.CANCEL, 8),
            "SWAP_HALF": (dev.SWAP_HALF, dev.SwapArg.size),
            "DO_VERB": (dev.DO_VERB, dev.VerbArg.size), "EXPOSE": (dev.EXPOSE, dev.Expose.size),
            "LOCAL": (dev.LOCAL, dev.VerbArg.size)}
# What the kernel writes back: these must not be taken for done when it cannot.
WRITTEN = ("GET_OPTIONS", "STATUS", "COLLECT", "SWAP_HALF", "DO_VERB", "LOCAL")
NOWHERE = (0, 16, 0xfff, 1 << 47, 0xffff888000000000, (1 << 64) - 4096, (1 << 64) - 8,
           (1 << 64) - 1)
COUNTED = ("posted", "committed", "reversed", "unknown", "delivered", "tags_made", "tags_gone")
ANY_WORD = 1 << 32


class Bad(TwoEnds):
    __doc__ = TwoEnds.__doc__

    def setUp(self):
        super().setUp()
        self.a_file, self.b_file = self.opened()
        self.a_file.status()
        self.b_file.status()
        self.listener = self.later(OaeFile(self.a))
        self.listener.listen(vc=250)
        self.fresh = self.later(OaeFile(self.a))
        self.together = False
        self.memory = Memory(4)
        self.addCleanup(self.memory.__exit__)

    def look(self):
        """All that a bad call might have changed."""
        seen = [self.a_file.options(), self.fresh.options(), self.listener.options()]
        for file in (self.a_file, self.b_file):
            seen.append(file.status()._replace(srtt_ns=0))
        for host in (self.a, self.b):
            stats = host.stats()
            seen.append([stats[name] for name in COUNTED])
            seen.append([(row["vc"], row["state"], row["tx"], row["rx"]) for row in host.tags()])
        seen.append(self.b_file.poll())
        return seen

    @contextmanager
    def unchanged(self):
        """What is done meanwhile has changed nothing: looked at once, at the end."""
        before, self.together = self.look(), True
        yield
        self.together = False
        self.assertEqual(self.look(), before)

    def refused(self, codes, function, *args, what="", **kwargs):
        """It fails with one of these, and nothing has changed."""
        if not self.together:
            with self.unchanged():
                self.refused(codes, function, *args, what=what, **kwargs)
            return
        codes = codes if isinstance(codes, tuple) else (codes,)
        with self.subTest(what or f"{args} {kwargs}"):
            try:
                got = function(*args, **kwargs)
            except OSError as e:
                self.assertIn(errno.errorcode.get(e.errno, e.errno),
                              [errno.errorcode[c] for c in codes])
            else:
                self.fail(f"was taken: {got}")

    def put(self, data, at):
        """Bytes at an address."""
        ctypes.memmove(at, bytes(data), len(data))
        return at

    def good(self, name, file):
        """The argument of an ioctl that would do something, if all of it could be read."""
        at = self.memory.at + 4096 * 3      # a page that stays good
        op = self.put(dev.add_op(0, 1).bytes(), at)
        return {"ATTACH": dev.Attach(b"", dev.mac_bytes(self.cable.mac_b), self.vc),
                "SET_OPTIONS": file.options()._replace(deadline_ms=4711),
                "GET_OPTIONS": dev.Options(), "STATUS": dev.Status(),
                "COLLECT": dev.CollectArg(at + 1000, at + 2000, 4, 0, 1000),
                "CANCEL": None,
                "SWAP_HALF": dev.SwapArg(at, at + 1000, 10, 1000, dev.NONBLOCK),
                "DO_VERB": dev.VerbArg(op, 1, 1, dev.NONBLOCK),
                "EXPOSE": dev.Expose(64, 77, 7), "LOCAL": dev.VerbArg(op, 1)}[name]

    # Addresses.

    def test_addresses(self):
        """Nowhere, the kernel's, wrapping; half of it behind the end of what is there."""
        # The file itself may be looked at first.
        codes = (errno.EFAULT, errno.ENOTCONN, errno.EISCONN, errno.ENXIO, errno.EDESTADDRREQ)
        for file in (self.fresh, self.a_file, self.listener):
            for name, (request, size) in REQUESTS.items():
                with self.unchanged():
                    for at in NOWHERE:
                        self.refused(codes, dev.call, file.fd, request, at, what=f"{name} at {at:#x}")
                data = self.good(name, file)
                data = bytes(8) if data is None else data.bytes()
                with Memory(2) as memory:
                    memory.unmap(1)
                    # All but the last word is there.
                    self.put(data[:-4], memory.at + 4096 - size + 4)
                    self.refused(codes, dev.call, file.fd, request, memory.at + 4096 - size + 4,
                                 what=f"{name} across the end")

    def test_read_only(self):
        """What cannot be written back: nothing is done, no event and no outcome is lost."""
        with Memory(1) as memory:
            for name in WRITTEN:
                self.put(self.good(name, self.a_file).bytes(), memory.at)
                memory.protect(0, mmap.PROT_READ)
                self.refused((errno.EFAULT, errno.ENXIO), dev.call, self.a_file.fd,
                             REQUESTS[name][0], memory.at, what=name)
                memory.protect(0, mmap.PROT_READ | mmap.PROT_WRITE)

    def test_status_keeps_events(self):
        """EFAULT of OAE_STATUS takes no events."""
        self.a_file.status()
        self.a.close_tag(self.cable.mac_b, self.vc)
        wait_for(lambda: self.a_file.poll() & dev.select.POLLRDBAND, "an event")
        for at in NOWHERE:
            self.fails(errno.EFAULT, dev.call, self.a_file.fd, dev.STATUS, at)
        self.assertTrue(self.a_file.status().events & dev.EVENT_CLOSED)

    def test_collect_keeps_outcomes(self):
        """Wherever the records, the results or the argument cannot be written to."""
        a, b = self.a_file, self.b_file
        b.nonblock()
        a.nonblock()
        for n in range(3):
            a.swap(b"from a %d" % n)
            b.swap(b"from b %d" % n)
        wait_for(lambda: a.status().uncollected == 3, "three outcomes")
        m = self.memory
        good = m.at
        m.protect(1, mmap.PROT_READ)
        ro, mixed = m.at + 4096, m.at + 4096 - 40
        for recs, buf in ((ro, good), (0, good), (good, ro), (good, 16), (mixed, good),
                          (good, m.at + 4096 - 3), ((1 << 64) - 8, good), (good, 1 << 47)):
            before = a.status()
            arg = ctypes.create_string_buffer(dev.CollectArg(recs, buf, 3, 0, 100).bytes())
            try:
                dev.call(a.fd, dev.COLLECT, ctypes.addressof(arg))
            except OSError as e:
                self.assertEqual(e.errno, errno.EFAULT)
                self.assertEqual(a.status().uncollected, before.uncollected)
            else:
                # Those that fitted were given, and no others taken.
                got = dev.CollectArg.read(arg.raw).got
                self.assertEqual(a.status().uncollected, before.uncollected - got)
                self.assertLess(got, 3)
                break
        # The argument itself cannot be written to.
        left = a.status().uncollected
        m.protect(1, mmap.PROT_READ | mmap.PROT_WRITE)
        self.put(dev.CollectArg(good, good + 1000, 1, 0, 100).bytes(), ro)
        m.protect(1, mmap.PROT_READ)
        self.fails(errno.EFAULT, dev.call, a.fd, dev.COLLECT, ro)
        self.assertEqual(a.status().uncollected, left)
        got = a.collect_all(left)
        self.assertEqual([o.data for o in got], [b"from b %d" % n for n in range(3)][3 - left:])

    def test_collect_too_small(self):
        """EOVERFLOW: what the first takes is said; nothing is collected."""
        a, b = self.a_file, self.b_file
        b.nonblock()
        a.nonblock()
        a.swap(b"from a")
        b.swap(b"from b, and longer")
        wait_for(lambda: a.status().uncollected, "an outcome")
        recs = ctypes.create_string_buffer(200)
        for room in (0, 1, 17):
            arg = ctypes.create_string_buffer(
                dev.CollectArg(ctypes.addressof(recs), self.memory.at, 4, 0, room).bytes())
            with self.assertRaises(OSError) as caught:
                dev.call(a.fd, dev.COLLECT, ctypes.addressof(arg))
            self.assertEqual(caught.exception.errno, errno.EOVERFLOW)
            self.assertIn(dev.CollectArg.read(arg.raw).buf_used, (18, 24))
        self.assertEqual(a.status().uncollected, 1)
        self.assertEqual([o.data for o in a.collect(4, 24)], [b"from b, and longer"])

    def test_swap_nowhere_to_take(self):
        """A half whose other has nowhere to go: either nothing was begun, or it is collected."""
        a, b = self.a_file, self.b_file
        for n, at in enumerate((0, 16, 1 << 47, (1 << 64) - 8, self.memory.at)):
            self.memory.protect(0, mmap.PROT_READ)
            self.put(b"given %d" % n, self.memory.at + 4096)
            arg = dev.SwapArg(self.memory.at + 4096, at, 7, 100)
            call = Call(a.ioctl, dev.SWAP_HALF, arg.bytes())
            wait_for(lambda call=call: call.done or a.status().pending, "it to be posted")
            if call.done:
                self.ends_in(call, errno.EFAULT if at else errno.EINVAL)
                continue
            self.assertEqual(b.swap(b"other %d" % n), b"given %d" % n)
            self.ends_in(call, errno.EOVERFLOW)
            self.assertEqual([o.data for o in a.collect_all(1)], [b"other %d" % n])

    def test_swap_too_little_room(self):
        """EOVERFLOW says how much it takes, and it is collected."""
        a, b = self.a_file, self.b_file
        arg = dev.SwapArg(self.put(b"abc", self.memory.at), self.memory.at + 100, 3, 2)
        buf = ctypes.create_string_buffer(arg.bytes())
        call = Call(dev.call, a.fd, dev.SWAP_HALF, ctypes.addressof(buf))
        self.assertEqual(b.swap(b"defgh"), b"abc")
        self.ends_in(call, errno.EOVERFLOW)
        arg = dev.SwapArg.read(buf.raw)
        self.assertEqual(arg.take_len, 5)
        got = a.collect_all(1)
        self.assertEqual([(o.id, o.result, o.data) for o in got], [(arg.id, 0, b"defgh")])

    # Numbers of requests.

    def test_requests(self):
        """Another size, direction, number or type: ENOTTY, whatever is behind it."""
        arg = self.put(bytes(4096), self.memory.at)
        for name, (request, size) in REQUESTS.items():
            number, direction = request & 0xff, request >> 30
            bad = [dev.ioc(direction, number, wrong)
                   for wrong in (0, 1, size - 1, size + 1, size - 8, size + 8, 16383)]
            bad += [dev.ioc(wrong, number, size) for wrong in range(4) if wrong != direction]
            bad += [request ^ 1 << bit for bit in range(8, 16)]
            with self.unchanged():
                for wrong in bad:
                    self.refused(errno.ENOTTY, dev.call, self.a_file.fd, wrong, arg,
                                 what=f"{name} {wrong:#x}")
        with self.unchanged():
            for number in (0, *range(11, 256, 7), 255):
                self.refused(errno.ENOTTY, dev.call, self.a_file.fd, dev.ioc(3, number, 8), arg,
                             what=f"number {number}")

    # Flags, and what must be 0.

    def bits(self, *known):
        """Each bit of 32 that is not among these."""
        return [1 << n for n in range(32) if 1 << n not in known]

    def test_attach(self):
        """Unknown flags, flags that do not go together, names without an end."""
        mac = dev.mac_bytes(self.cable.mac_b)
        attach = lambda **how: self.fresh.ioctl(        # noqa: E731
            dev.ATTACH, dev.Attach(**{"port": b"va", "peer": mac, "vc": self.vc} | how).bytes())
        with self.unchanged():
            for flag in self.bits(1, 2, 4):
                self.refused(errno.EINVAL, attach, flags=flag)
                self.refused(errno.EINVAL, attach, flags=flag | dev.ATTACH_LISTEN)
        self.refused(errno.EINVAL, attach, flags=dev.ATTACH_ANY_VC)
        for n in (1, 128, 255):
            self.refused(errno.EINVAL, attach, zero=n)
            self.refused(errno.EINVAL, attach, id_high=n << 24)
        self.refused((errno.EINVAL, errno.ENODEV), attach, port=b"v" * 16)
        for name in (b"nosuch", b"va\0\0\0x", b"../va", b"\xff"):
            if name != b"va\0\0\0x":
                self.refused(errno.ENODEV, attach, port=name)

    def test_options(self):
        """Unknown flags, a queue of none or too many, a spin that is too long."""
        for file in (self.a_file, self.fresh):
            with self.unchanged():
                for flag in self.bits(dev.OPT_EXPRESS, dev.OPT_TAKE):
                    self.refused(errno.EINVAL, file.set_options, flags=flag)
            for queue in (0, 65537, 1 << 31, ANY_WORD - 1):
                self.refused(errno.EINVAL, file.set_options, queue=queue)
            for spin_us in (10001, 1 << 31):
                self.refused(errno.EINVAL, file.set_options, spin_us=spin_us)

    def test_swap(self):
        """No half, one too long, flags."""
        a, m = self.a_file, self.memory
        most = a.status().max_half
        swap = lambda **how: a.ioctl(dev.SWAP_HALF, dev.SwapArg(       # noqa: E731
            **{"give": m.at, "take": m.at + 8192, "give_len": 10, "take_len": 4096} | how).bytes())
        with self.unchanged():
            for flag in self.bits(1):
                self.refused(errno.EINVAL, swap, flags=flag)
        self.refused(errno.EINVAL, swap, zero=1)
        self.refused((errno.EINVAL, errno.EMSGSIZE), swap, give_len=0)
        for length in (most + 1, 1 << 20, 1 << 31, ANY_WORD - 1):
            self.refused(errno.EMSGSIZE, swap, give_len=length)
        for at in NOWHERE:
            self.refused(errno.EFAULT, swap, give=at)
        m.unmap(1)
        self.refused(errno.EFAULT, swap, give=m.at + 4096 - 9)

    def test_verbs(self):
        """Of operations: none, too many, codes, words, offsets, more than a frame takes."""
        self.b_file.expose(4096, 1, 7)
        self.a_file.expose(4096, 2, 7)
        a, m = self.a_file, self.memory
        m.unmap(2)

        def verb(*ops, nops=None, at=None, request=dev.DO_VERB, **how):
            data = b"".join(ops)
            here = self.put(data, m.at) if len(data) <= 8192 else 0
            return a.ioctl(request, dev.VerbArg(
                here if at is None else at, len(ops) if nops is None else nops,
                **{"region": 1 if request == dev.DO_VERB else 0} | how).bytes())

        def op(code=dev.FETCH_ADD, words=1, zero=0, offset=0):
            return dev.VerbOp(code, words, zero, offset, bytes(192)).bytes()

        for request in (dev.DO_VERB, dev.LOCAL):
            for nops in (0, 65, 1 << 31, ANY_WORD - 1):
                self.refused(errno.EINVAL, verb, op(), nops=nops, request=request)
            with self.unchanged():
                for bad in (op(0), op(6), op(255), op(words=0), op(words=9), op(words=255),
                            op(zero=1), op(zero=1 << 15), op(offset=4), op(offset=4095)):
                    self.refused(errno.EINVAL, verb, bad, request=request)
                    self.refused(errno.EINVAL, verb, op(), op(), bad, request=request)
            with self.unchanged():
                for flag in self.bits(*((1,) if request == dev.DO_VERB else ())):
                    self.refused(errno.EINVAL, verb, op(), flags=flag, request=request)
            self.refused(errno.EINVAL, verb, op(), zero=1, request=request)
            for at in NOWHERE:
                self.refused(errno.EFAULT, verb, op(), at=at, request=request)
            # The last operation is not there.
            for n in range(1, 5):
                self.put(op() * n, m.at + 8192 - 200 * n)
                self.refused(errno.EFAULT, verb, at=m.at + 8192 - 200 * n, nops=n + 1,
                             request=request)
        self.refused((errno.EINVAL, errno.EMSGSIZE), verb, *[op(words=8)] * 40)
        self.refused(errno.EINVAL, verb, op(), region=3, request=dev.LOCAL)
        for offset in (4096, 8192, 1 << 31, ANY_WORD - 8):
            self.refused((errno.ERANGE, errno.EINVAL), verb, op(offset=offset), request=dev.LOCAL)
        self.refused((errno.ERANGE, errno.EINVAL), verb, op(words=2, offset=4088),
                     request=dev.LOCAL)
        self.assertEqual(self.b_file.mmap(4096)[:], bytes(4096))
        self.assertEqual(self.a_file.mmap(4096)[:], bytes(4096))

    def test_verbs_that_cannot_be_told(self):
        """The old words have nowhere to go: nothing was begun, or it is collected."""
        self.b_file.expose(4096, 1, 7)
        a, m = self.a_file, self.memory
        shown = self.b_file.mmap(4096)
        added = 0
        for n in range(3):
            self.put(dev.add_op(0, 1).bytes(), m.at)
            m.protect(0, mmap.PROT_READ)
            try:
                a.ioctl(dev.DO_VERB, dev.VerbArg(m.at, 1, 1).bytes())
            except OSError as e:
                if e.errno == errno.EOVERFLOW:
                    got = a.collect_all(1)
                    self.assertEqual(dev.verb_result(got[0].data), (1, 0, [added]))
                    added += 1
                else:
                    self.assertEqual(e.errno, errno.EFAULT)
            else:
                self.fail("it could not have told what the word was")
            m.protect(0, mmap.PROT_READ | mmap.PROT_WRITE)
            a.fsync()
            self.assertEqual(int.from_bytes(shown[:8], "little"), added, n)

    def test_verbs_refused_by_the_peer(self):
        """ENXIO no such region, ERANGE behind its end, EACCES not permitted: nothing changes."""
        a = self.a_file
        self.b_file.expose(64, 1, dev.PERM_READ)
        other = self.at_b(vc=self.vc + 1)
        other.expose(64, 2, 7)
        writer = self.at_b()
        writer.expose(64, 3, dev.PERM_WRITE)
        atomic = self.at_b()
        atomic.expose(64, 4, dev.PERM_ATOMIC)
        maps = [file.mmap(64) for file in (self.b_file, other, writer, atomic)]
        ops = {"read": dev.read_op(0), "write": dev.write_op(0, 1),
               "exchange": dev.exchange_op(0, 1), "add": dev.add_op(0, 1),
               "cas": dev.cas_op(0, 0, 1)}
        for region in (0, 5, 1 << 31, ANY_WORD - 1):
            for op in ops.values():
                self.fails(errno.ENXIO, a.verb, region, op)
        self.fails(errno.ENXIO, a.verb, 2, ops["read"])      # of another vc
        for region, may in ((1, {"read"}), (3, {"write"}), (4, {"exchange", "add", "cas"})):
            for name, op in ops.items():
                if name not in may:
                    self.fails(errno.EACCES, a.verb, region, op)
                    for good in may:        # all or nothing
                        self.fails(errno.EACCES, a.verb, region, ops[good], op)
        for op in (dev.read_op(64), dev.read_op(56, 2), dev.read_op(ANY_WORD - 8),
                   dev.read_op(0, 8)._replace(offset=8)):
            self.fails(errno.ERANGE, a.verb, 1, op)
        self.fails(errno.ERANGE, a.verb, 4, dev.add_op(0, 1), dev.add_op(64, 1))
        self.assertEqual([shown[:] for shown in maps], [bytes(64)] * 4)

    def test_expose(self):
        """Sizes, permissions, numbers that are taken; once a file."""
        a = self.a_file
        for size in (0, 1, 7, 9, 4097, 1 << 40, (1 << 64) - 8, 1 << 63):
            self.refused((errno.EINVAL, errno.EMSGSIZE, errno.ENOMEM, errno.E2BIG), a.expose,
                         size, 9, 7)
        with self.unchanged():
            for perm in self.bits(1, 2, 4):
                self.refused(errno.EINVAL, a.expose, 64, 9, perm)
            for flag in self.bits():
                self.refused(errno.EINVAL, a.expose, 64, 9, 7, flags=flag)
        self.refused(errno.EINVAL, a.ioctl, dev.EXPOSE, dev.Expose(64, 9, 7, 0, 1).bytes())
        self.refused(errno.ENOTCONN, self.fresh.expose, 64, 9, 7)
        a.expose(64, 9, 7)
        self.refused(errno.EEXIST, a.expose, 64, 10, 7)
        self.refused(errno.EADDRINUSE, self.listener.expose, 64, 9, 7)
        self.listener.expose(64, 10, 7)
        self.b_file.expose(64, 9, 7)        # another namespace

    def test_mmap(self):
        """Only what is exposed, only shared, never beyond its end."""
        a = self.a_file

        def map_it(length=4096, prot=3, flags=1, offset=0, file=a):
            LIBC.mmap.restype = c_void_p
            at = LIBC.mmap(None, c_size_t(length), prot, flags, file.fd, c_size_t(offset))
            if at == c_void_p(-1).value:
                raise OSError(ctypes.get_errno(), "mmap")
            LIBC.munmap(c_void_p(at), c_size_t(length))
        bad = (errno.EINVAL, errno.ENXIO, errno.ENODEV, errno.EACCES, errno.ENOTCONN,
               errno.EPERM, errno.EOVERFLOW)
        for file in (self.fresh, a, self.listener):
            self.refused(bad, map_it, file=file)
        a.expose(8192, 9, 7)
        map_it(4096)
        map_it(8192)
        for how in ({"length": 8193}, {"length": 4096 * 3}, {"offset": 4096, "length": 8192},
                    {"offset": 8192}, {"offset": 1 << 40}, {"length": 1 << 40}):
            self.refused(bad + (errno.ENOMEM,), map_it, **how)
        for flags in (os.O_RDONLY, os.O_WRONLY):
            half = self.later(OaeFile(self.a, flags))
            half.attach(self.cable.mac_b, self.vc)
            try:
                half.expose(4096, 11 + flags, 7)
            except OSError as e:
                self.assertEqual(e.errno, errno.EBADF)
            self.refused(bad, map_it, file=half)

    # States.

    def test_not_attached(self):
        """ENOTCONN; options may be set."""
        file = self.fresh
        m = self.memory.at
        for name in ("STATUS", "COLLECT", "CANCEL", "SWAP_HALF", "DO_VERB", "EXPOSE"):
            data = self.good(name, file)
            at = self.put(bytes(8) if data is None else data.bytes(), m)
            self.refused(errno.ENOTCONN, dev.call, file.fd, REQUESTS[name][0], at, what=name)
        for function, *args in ((file.read,), (file.write, b"x"), (file.fsync,)):
            self.refused(errno.ENOTCONN, function, *args)
        file.set_options(deadline_ms=5)
        self.assertEqual(file.options().deadline_ms, 5)

    def test_listening(self):
        """It has no link: no data, no halves, no verbs."""
        file = self.listener
        file.nonblock()
        bad = (errno.ENOTCONN, errno.EDESTADDRREQ, errno.EOPNOTSUPP, errno.EINVAL)
        self.refused(bad, file.write, b"x")
        self.refused(bad, file.swap, b"x")
        self.refused(bad, file.verb, 1, dev.read_op(0))
        self.refused(errno.EAGAIN, file.read, 100)
        self.refused((errno.EINVAL, errno.EMSGSIZE, errno.EAGAIN), file.read, 1)
        self.refused(errno.EISCONN, file.attach, self.cable.mac_b, self.vc)
        self.refused(errno.EISCONN, file.listen)

    def test_dead(self):
        """The port is gone: ENODEV, and never a crash."""
        a = self.a_file
        a.expose(64, 9, 7)
        self.a.knobs(linger_ms=0, dev="-va")
        self.addCleanup(self.a.add_port, "va")
        for function, *args in ((a.write, b"x"), (a.swap, b"x"), (a.verb, 1, dev.read_op(0))):
            self.fails(errno.ENODEV, function, *args)
        self.assertEqual(a.collect(), [])
        self.fails(errno.ENOENT, a.cancel, 1)
        self.assertTrue(a.status().flags & dev.ST_DEAD)
        self.assertTrue(self.fresh.poll() is not None)
        # The words are its own; whoever has mapped them may go on.
        self.assertEqual(a.mmap(64)[:], bytes(64))

    def test_other_calls(self):
        """What makes no sense for such a file."""
        a = self.a_file
        self.refused((errno.ESPIPE, errno.EINVAL), os.lseek, a.fd, 0, os.SEEK_SET)
        self.refused((errno.ESPIPE, errno.EINVAL), os.pread, a.fd, 10, 5)
        self.refused(errno.EINVAL, os.ftruncate, a.fd, 0)
        self.assertFalse(self.b_file.poll() & IN)
