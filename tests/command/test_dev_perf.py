# SPDX-License-Identifier: GPL-2.0
"""oae perf: its figures fit together, and what is committed is what the server was delivered."""

import re
import struct
import subprocess
import time

from devtest import OaeFile
from oaecmd import OAE, oae
from oaetest import wait_for
from patience import SLOW
from test_dev_command import CommandTest

# As tools/oae/perf.h has it.
VERSION = 1
START, READY, END, REPORT, REFUSED = range(1, 6)
VERSION_DIFFERS, MALFORMED, NO_SESSION = range(1, 4)
HEAD = ">7sBBBBBIQQQQ"


def head(kind, session=7, size=64, version=VERSION, mode=0, counts=(0, 0, 0)):
    """What an end says, but for messages."""
    return struct.pack(HEAD, b"oaeperf", version, kind, mode, 0, 0, size, session, *counts)


def refusal(reason, session):
    """What a server says that does not want to."""
    return struct.pack(HEAD, b"oaeperf", VERSION, REFUSED, 0, 0, reason, 0, session, 0, 0, 0)


class Perf(CommandTest):
    """
        host a, the client          host b, the server
        va ----------------------------------- vb
    """

    one_cpu = False
    targets = False

    def server(self, *args):
        """oae perf --server at b: its lines are objects."""
        return self.start(self.b, "perf", "-j", "--server", *args)

    def perf(self, *args, status=0):
        """The client at a, to its end: the object it prints."""
        begin = time.monotonic()
        result, = oae(self.a, "perf", "-j", self.cable.mac_b, *args, status=status).json
        self.assertTrue(0 < result["seconds"] < time.monotonic() - begin, result["seconds"])
        self.sound(result)
        return result

    def sound(self, result):
        """What holds of each result."""
        sent = sum(result[how] for how in ("committed", "reversed", "unknown", "pending"))
        self.assertEqual(result["sent"], sent)
        self.assertEqual(sum(error["count"] for error in result["errors"]),
                         result["reversed"] + result["unknown"])
        self.assertEqual(sum(line["count"] for line in result["histogram"]), result["committed"])
        self.assertAlmostEqual(result["committed_per_s"] * result["seconds"], result["committed"],
                               delta=1 + 0.02 * result["committed"] +
                               0.0005 * result["committed_per_s"])      # seconds are rounded
        self.assertAlmostEqual(result["bits_per_s"] / 8 / result["bytes"],
                               result["committed_per_s"], delta=0.001)
        for times in (result["outcome_us"], result.get("half_rtt_us", {})):
            row = [times[name] for name in ("min", "p50", "p90", "p99", "p99_9", "max")
                   if times]
            self.assertEqual(row, sorted(row))
            self.assertTrue(not row or row[0] > 0)

    def agrees(self, result):
        """The server was delivered what was committed."""
        self.assertEqual(
            (result["server"]["agrees"], result["server"]["delivered"], result["server"]["bytes"]),
            (True, result["committed"], result["committed"] * result["bytes"]))

    def test_oneway(self):
        """Three channels, eight messages under way on each."""
        server = self.server("-c", "3")
        result = self.perf("-c", 1500, "-s", 100, "--depth", 8, "--vcs", 3, "--vc", 20)
        self.agrees(result)
        self.assertEqual((result["sent"], result["committed"], result["vc"], result["vcs"]),
                         (1500, 1500, 20, 3))
        self.assertEqual(server.end(), 0)
        sessions = server.objects()
        self.assertEqual(sorted(one["vc"] for one in sessions), [20, 21, 22])
        self.assertEqual({(one["result"], one["peer"], one["port"], one["bytes"], one["refused"])
                          for one in sessions}, {("ended", self.cable.mac_a, "vb", 100, 0)})
        self.assertEqual(sum(one["delivered"] for one in sessions), 1500)
        # And START and END on each channel.
        self.assertEqual(sum(tag["tx"] for tag in self.a.tags() if tag["vc"] in (20, 21, 22)),
                         1500 + 2 * 3)

    def test_rtt(self):
        """Ping-pong: each is sent back once. One client behind the other, on one link."""
        server = self.server("--vc", 30)
        for args in [], ["--express"], ["-s", 1], ["-s", 20000]:
            result = self.perf("-c", 100, "--rtt", "--vc", 30, *args)
            self.agrees(result)
            self.assertEqual((result["committed"], result["echoes"], result["echoes_missing"],
                              result["server"]["echoed"]), (100, 100, 0, 100))
        self.assertEqual(server.stop(), 0)
        self.assertEqual([(one["mode"], one["kind"], one["echoed"]) for one in server.objects()],
                         [("rtt", kind, 100)
                          for kind in ("message", "express", "message", "message")])

    def test_loss(self):
        """A tenth of the frames is lost on their way out of each end."""
        for host in self.a, self.b:
            self.addCleanup(host.knob, "drop_pct", 0)
            host.knob("drop_pct", 10)
        self.server()
        result = self.perf("-c", 300, "--depth", 16, "--vcs", 2)
        self.agrees(result)
        self.assertEqual(result["committed"], 300)
        self.assertEqual(self.perf("-c", 50, "--rtt")["echoes"], 50)

    def test_delay(self):
        """Times are those of the network; as many messages wait as --depth says."""
        for host in self.a, self.b:
            self.set(host, stall_min_us=200000, window=1, pack=0)
        self.server("--vc", 60)
        self.cable.netem("delay 20ms")
        self.addCleanup(self.cable.netem, None)
        running = self.start(self.a, "perf", "-j", self.cable.mac_b, "--vc", 60, "-c", 32,
                             "--depth", 8)
        # Of eight the link has two: one that is out, and the next.
        wait_for(lambda: (self.a.tag(60) or {"queue": 0})["queue"] == 6, "six to wait", 20)
        self.assertEqual(running.end(), 0)
        (result,), = running.objects()
        self.agrees(result)
        # There and back again, each; eight, if it was posted behind seven others, and some fewer if
        # it was posted late.
        self.assertGreaterEqual(result["outcome_us"]["min"], 40000)
        self.assertGreaterEqual(result["outcome_us"]["p50"], 155000)
        self.assertGreaterEqual(result["seconds"], 32 * 0.04)
        result = self.perf("-c", 8, "--vc", 60, "--rtt")
        # Delivered after three times through, and so is the echo.
        once = result["outcome_us"]["min"] / 2
        self.assertGreaterEqual(result["half_rtt_us"]["min"], 60000)
        self.assertLess(result["half_rtt_us"]["min"], 4.5 * once)
        said = oae(self.a, "perf", self.cable.mac_b, "-c", 2, "--vc", 60, "--rtt").out
        row, = re.findall(r"(?m)^half round trip +([\d.]+) ms ", said)
        self.assertGreaterEqual(float(row), 60)

    def scripted(self, vc, *args, people=False):
        """A server that says what the test wants: the client, the file, its session."""
        running = self.start(self.a, "perf", *([] if people else ["-j"]), self.cable.mac_b,
                             "--vc", vc, *args)
        file = OaeFile.to(self.b, self.cable.mac_a, vc=vc)
        self.addCleanup(file.close)
        start = struct.unpack(HEAD, file.read())
        self.assertEqual((start[:3], start[5]), ((b"oaeperf", VERSION, START), 0))
        return running, file, start

    def test_refused(self):
        """Why the server refuses is said, and nothing is sent."""
        for vc, reason, words in (
                (70, VERSION_DIFFERS, "it is of another version of oae"),
                (71, MALFORMED, "it does not understand what it was asked"),
                (72, NO_SESSION, "it knows nothing of this session: has it been started anew?")):
            running, file, start = self.scripted(vc)
            # Of another session it is not for this client.
            file.write(refusal(VERSION_DIFFERS, start[7] ^ 1))
            file.write(refusal(reason, start[7]))
            self.assertEqual(running.end(), 1)
            self.assertEqual(running.errors, [f"oae perf: vc {vc}: the server refuses: {words}"])
            self.assertEqual((running.lines, file.unread()), ([], 0))

    def differs(self, vc, messages, size, people=False):
        """A server that says it was delivered so many, and so many bytes, of three of ten bytes."""
        running, file, start = self.scripted(vc, "-c", 3, "-s", 10, people=people)
        file.write(head(READY, session=start[7], size=10))
        self.assertEqual([file.read()[:1] for _ in range(3)], 3 * [b"d"])
        self.assertEqual(struct.unpack(HEAD, file.read())[2], END)
        file.write(head(REPORT, session=start[7], size=10, counts=(messages, size, 0)))
        return running

    def test_differs(self):
        """What is not what was committed is never passed over."""
        for vc, messages, size, agrees in ((80, 3, 30, True), (81, 2, 20, False),
                                           (82, 4, 40, False), (83, 3, 31, False)):
            running = self.differs(vc, messages, size)
            self.assertEqual(running.end(), 0 if agrees else 1)
            (result,), = running.objects()
            self.assertEqual((result["server"]["agrees"], result["server"]["delivered"],
                              result["server"]["bytes"]), (agrees, messages, size))
        running = self.differs(84, 2, 20, people=True)
        self.assertEqual(running.end(), 1)
        self.assertEqual(running.lines[-1], "server: delivered 2, 20 bytes: NOT what was committed,"
                                            " on 1 channels")
        self.assertEqual(running.errors, ["oae perf: what was delivered is not what was committed,"
                                          " on 1 channels"])

    def test_dies(self):
        """A client that is killed is told of, and the server goes on."""
        server = self.server("--vc", 90)
        running = self.start(self.a, "perf", "-j", self.cable.mac_b, "--vc", 90, "--time", 100)
        self.moves("committed")
        running.kill()
        self.a.close_tag(self.cable.mac_b, 90)
        lost = server.event(vc=90, result="lost")
        # Of the four at least that were committed the first asked for the test.
        self.assertGreaterEqual(lost["delivered"], 3)
        self.agrees(self.perf("-c", 10, "--vc", 90))

    def moves(self, counter):
        """Wait until some more are counted at the client."""
        before = self.a.stat(counter)
        wait_for(lambda: self.a.stat(counter) > before + 3, f"{counter} to go on", 30, 0.01)

    def pulled(self, name, *args):
        """The cable is out for a while: all that is reversed says so, and is nowhere."""
        self.server()
        running = self.start(self.a, "perf", "-j", self.cable.mac_b, "--time", 100, *args)
        self.moves("committed")
        self.cable.cut()
        self.addCleanup(self.cable.mend)
        self.moves("reversed")
        self.cable.mend()
        self.moves("committed")
        self.assertEqual(running.stop(), 2)
        (result,), = running.objects()
        self.sound(result)
        self.agrees(result)
        self.assertEqual((result["unknown"], result["pending"]), (0, 0))
        self.assertEqual({(error["errno"], error["result"]) for error in result["errors"]},
                         {(name, "reversed")})
        self.assertGreater(result["reversed"], 3)

    def test_deadline_rtt(self):
        """What is reversed is not sent back, nor waited for."""
        self.server()
        running = self.start(self.a, "perf", "-j", self.cable.mac_b, "--time", 100, "-w", 0.1,
                             "--rtt")
        self.moves("committed")
        for host in self.a, self.b:
            self.set(host, drop_pct=100)
        self.moves("reversed")
        for host in self.a, self.b:
            host.knob("drop_pct", 0)
        self.moves("committed")
        self.assertEqual(running.stop(), 2)
        (result,), = running.objects()
        self.sound(result)
        self.agrees(result)
        self.assertEqual(result["echoes"] + result["echoes_missing"], result["committed"])
        # One, if it was on its way when the network went, is given up after five seconds.
        self.assertLessEqual(result["echoes_missing"], 1)

    def test_port_gone(self):
        """A port that is released ends it at once, whatever was to be sent back."""
        running, file, start = self.scripted(96, "--rtt", "--time", 100)
        file.write(head(READY, session=start[7]))
        self.assertEqual(file.read()[:1], b"d")
        self.addCleanup(self.a.add_port, "va")
        oae(self.a, "port", "del", "va")
        self.assertEqual(running.end(4), 1)         # an echo is waited for five seconds
        (result,), = running.objects()
        self.sound(result)
        self.assertEqual((result["committed"], result["pending"], result["echoes_missing"]),
                         (1, 0, 1))

    def test_owed(self):
        """A client that reads no echoes keeps the server from reading, and loses none of them."""
        self.set(self.a, rcvbuf=4096)
        self.server("--vc", 95)
        with OaeFile.to(self.a, self.cable.mac_b, vc=95) as file:
            file.write(head(START, size=1000, mode=1))
            self.assertEqual(file.read(), head(READY, size=1000, mode=1))
            sent = [b"d" + bytes([n]) * 999 for n in range(150)]
            for message in sent:
                file.write(message)
            wait_for(lambda: self.b.tag(95)["unread"] > 10, "the server to have stopped")
            self.assertEqual([file.read() for _ in sent], sent)
            file.write(head(END))
            self.assertEqual(struct.unpack(HEAD, file.read())[8:], (150, 150000, 150))

    def test_deadline(self):
        """Each is reversed after a tenth of a second."""
        self.pulled("ETIME", "-w", 0.1, "--depth", 4)

    def test_down(self):
        """No deadline: the link goes down."""
        self.addCleanup(self.a.knob, "dead_ms", self.a.knob("dead_ms"))
        self.a.knob("dead_ms", 300)
        self.pulled("ENOLINK", "--depth", 8)

    def test_express(self):
        """What is on its way at its deadline is delivered, or reversed, however long that takes."""
        self.addCleanup(self.a.knob, "dead_ms", self.a.knob("dead_ms"))
        # If the link froze before the next one is posted, that one would not be on its way.
        self.a.knob("dead_ms", 1000)
        self.server()
        # What a busy machine holds up before it is on its way is in time.
        deadline = 2 * SLOW
        running = self.start(self.a, "perf", "-j", self.cable.mac_b, "--time", 100,
                             "-w", deadline, "--express")
        self.moves("committed")
        down = self.a.stat("note_down")
        # Silently: a port that is down sends nothing, so perhaps none is on its way.
        for host in self.a, self.b:
            self.set(host, drop_pct=100)
        late = time.monotonic() + deadline
        wait_for(lambda: self.a.stat("note_down") > down and time.monotonic() > late,
                 "the link to be down, for longer than the deadline", 30)
        for host in self.a, self.b:
            host.knob("drop_pct", 0)
        self.moves("committed")
        status, said = running.stop(), running.objects()
        (result,), = said
        self.sound(result)
        self.agrees(result)
        late = [{"errno": "ETIME", "result": "reversed", "count": 1}] if result["reversed"] else []
        self.assertEqual((result["kind"], result["errors"]), ("express", late))
        self.assertEqual(status, 2 if late else 0, said)

    def refusal(self, file):
        """The reason why, as the server says it."""
        _, _, kind, _, _, reason, _, session, _, _, _ = struct.unpack(HEAD, file.read())
        self.assertEqual(kind, REFUSED)
        return reason, session

    def test_strangers(self):
        """What is no session is refused, and those that are go on."""
        server, begin = self.server("--vc", 40), time.monotonic()
        with OaeFile.to(self.a, self.cable.mac_b, vc=40) as file:
            for message in b"hello", b"d", b"d" * 65000, b"oaeperf", b"\0" * 48:
                file.write(message)
            for message, reason in (
                    (head(START, version=9), VERSION_DIFFERS), (head(START, size=0), MALFORMED),
                    (head(START, size=262145), MALFORMED), (head(START, mode=2), MALFORMED),
                    (head(9), MALFORMED), (head(START) + b"x", MALFORMED),
                    (head(END), NO_SESSION), (b"oaeperf\1", MALFORMED)):
                file.write(message)
                self.assertEqual(self.refusal(file), (reason, 7 if len(message) > 24 else 0),
                                 message)
            file.write(head(START, session=8, size=5))
            self.assertEqual(file.read(), head(READY, session=8, size=5))
            for message in b"dddd", b"ddddd", b"dddddd", b"junk!", b"d1234", head(READY):
                file.write(message)
            file.write(head(END, session=9))        # of another session
            self.assertEqual(self.refusal(file), (NO_SESSION, 9))
            file.write(head(END, session=8))
            report = struct.unpack(HEAD, file.read())
            self.assertEqual((report[2], report[7:10]), (REPORT, (8, 2, 10)))
        session = server.event(vc=40, result="ended")
        self.assertEqual((session["delivered"], session["refused"]), (2, 5))
        self.assertRegex(server.errors[0], rf"{self.cable.mac_a} vc 40: refused: it is not from")
        # At most one line a second is said of strangers.
        said = [line for line in server.errors if "vc 40" in line]
        self.assertLessEqual(len(said), 1 + time.monotonic() - begin)
        self.agrees(self.perf("-c", 10, "--vc", 40))

    def test_late(self):
        """The client may be first. What an earlier one has left unread is not counted."""
        before = oae(self.a, "send", "--vc", 50, self.cable.mac_b, data=head(START, session=3))
        self.assertIn("committed", before.out)
        running = self.start(self.a, "perf", "-j", self.cable.mac_b, "--vc", 50, "-c", 20)
        wait_for(lambda: self.b.tag(50)["unread"] == 2, "it to ask", 20)
        server = self.server("-c", 2)
        self.assertEqual((running.end(), server.end()), (0, 0))
        (result,), = running.objects()
        self.agrees(result)
        self.assertEqual([(one["result"], one["delivered"]) for one in server.objects()],
                         [("lost", 0), ("ended", 20)])

    def test_too_long(self):
        """Longer than the peer takes: nothing is begun."""
        self.server()
        said = oae(self.a, "perf", self.cable.mac_b, "-s", 65537, status=1)
        self.assertIn("the peer takes 65536 at most", said.err)

    def test_terminal(self):
        """A line a second on a terminal, none into a pipe; the same at the end."""
        self.server()
        with self.a:
            seen = subprocess.run(
                ["script", "-qec", f"{OAE} perf {self.cable.mac_b} --time 1.2", "/dev/null"],
                capture_output=True, text=True, timeout=60 * SLOW, check=True,
                stdin=subprocess.DEVNULL).stdout
        progress = r"(?m)^ +\d+\.\d s +\S+/s +[\d.]+ \w?bit/s\r?$"
        self.assertRegex(seen, progress)
        said = oae(self.a, "perf", self.cable.mac_b, "--time", 1.2).out
        self.assertNotRegex(said, progress)
        for text in seen.replace("\r", ""), said:
            self.assertRegex(text, r"(?m)^sent (\d+), committed \1, reversed 0, unknown 0 in \d")
            self.assertRegex(text, r"(?m)^ +MIN +P50 +P90 +P99 +P99\.9 +MAX$")
            self.assertRegex(text, r"(?m)^write to committed( +[\d.]+ [num]?s){6}$")
            self.assertRegex(text, r"(?m)^server: delivered \d+, \d+ bytes: as many as were")
