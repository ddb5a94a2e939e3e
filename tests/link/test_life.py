# SPDX-License-Identifier: GPL-2.0
"""Devices, namespaces and the module come and go under traffic."""

import errno
import os
import random
import signal
import time

import oaewire as oae
from faults import BAD_NETWORK, HostEnd, Losing, Traffic, check_promise, say
from oaepeer import Peer, Wire
from oaetest import NOC_DEBUG, PARAMETERS, Host, OaeTest, ip, load, meanwhile, run, unload, wait_for
from patience import SLOW, times

MAC_A, MAC_B, MAC_C = "02:0a:e0:10:00:01", "02:0a:e0:10:00:02", "02:0a:e0:10:00:03"
MANY = 1000000          # more than a test ever sends: it stops the senders


class Life(OaeTest):
    """
        host a (MAC_A)       host b (MAC_B)
        va ------------------- vb
    """

    one_cpu = False
    patience = 150

    def setUp(self):
        super().setUp()
        self.a, self.b = self.new_host("a"), self.new_host("b")
        self.plug()

    def new_host(self, name):
        """A host of this test's own."""
        host = Host(name)
        self.addCleanup(lambda: host.name and host.close())
        host.knobs(dead_ms=1000, keepalive_ms=200, **BAD_NETWORK)
        return host

    def plug(self, mtu=1500):
        """The cable, and both its ends bound."""
        ip(f"link add va netns {self.a.name} address {MAC_A} mtu {mtu} type veth "
           f"peer name vb netns {self.b.name} address {MAC_B} mtu {mtu}")
        self.bind(self.a, "va", MAC_B)
        self.bind(self.b, "vb", MAC_A)

    @staticmethod
    def bind(host, dev, target):
        """Bring a device up and give it to the module."""
        host.up(dev)
        host.add_port(dev)
        host.knob("target", target)

    @staticmethod
    def destroy(host):
        """ip netns del, at once and not in the end."""
        host.close()
        host.name = ""

    def traffic(self, sizes=(16, 3000), streams=2):
        """Endless traffic both ways."""
        traffic = Traffic(self, HostEnd(self.a), HostEnd(self.b))
        for end in traffic.ends:
            traffic.send(end, MANY, sizes=sizes, streams=streams)
        return traffic

    def finish(self, traffic, **how):
        """Stop the senders, close the links, and check everything."""
        traffic.stop()
        wait_for(lambda: not traffic.running(), "the senders to stop", 20)
        for end in traffic.ends:
            self.all_closed(end.host)
        return traffic.finish(**how)

    def disturb(self, traffic, turns, change, moved=60, end=100, **how):
        """Under traffic, change(host, device, the other's address) at a and at b by turns."""
        for n in range(turns):
            traffic.moved(moved)
            change(*((self.a, "va", MAC_B), (self.b, "vb", MAC_A))[n % 2])
        traffic.moved(end)
        return self.finish(traffic, **how)

    def all_closed(self, host):
        """Close the links of a host: nothing of them is left."""
        host.knob("shutdown", 1)
        wait_for(lambda: not host.tags(), f"the tags of {host} to go")
        stats = host.stats()
        self.assertEqual(stats["tags_made"], stats["tags_gone"])
        host.knob("shutdown", 0)

    def test_device_deleted(self):
        """The device goes, and comes back as a new one."""
        def change(host, dev, unused):
            run("ip", "-n", host.name, "link", "del", dev, timeout=20 * SLOW)
            self.assertEqual([self.a.tags(), self.b.tags()], [[], []])
            self.plug()
        self.disturb(self.traffic(), times(3), change, died=True, exact=False)

    def test_port_removed_and_added(self):
        """The device stays, and the module lets go of it and takes it again."""
        def change(host, dev, unused):
            host.knob("dev", f"-{dev}")
            self.assertEqual(host.tags(), [])
            host.add_port(dev)
        self.disturb(self.traffic(), times(4), change, died=True, exact=False)

    def killed(self, express):
        """Ports go without waiting for links to close, and come again: what came of it."""
        def change(host, dev, unused):
            host.knob("dev", f"-{dev}")
            host.add_port(dev)
        for host in (self.a, self.b):
            host.knobs(linger_ms=0, express=express)
        return self.disturb(self.traffic(), times(8), change, moved=30, died=True, exact=False,
                            express=bool(express))

    def test_port_killed(self):
        """The same without waiting for links to close: writers are told all the same."""
        self.killed(0)

    def test_port_killed_express(self):
        """The same with express: UNKNOWN may be said, once a link that died."""
        self.assertLessEqual(self.killed(1)["U"], 2 * times(8))

    def test_mtu(self):
        """The MTU goes down and up under long transactions: all arrive."""
        traffic = self.traffic(sizes=(10000, 50000), streams=1)
        for n in range(times(1.5)):
            for mtu in (1500, 900, 9000, 1500):
                traffic.moved(15)
                ends = [(self.a, "va"), (self.b, "vb")]
                for host, dev in random.sample(ends, 2):
                    host.mtu(dev, mtu)
        traffic.moved(50)
        traffic.stop()
        wait_for(lambda: not traffic.running(), "the senders to stop", 20)
        self.assertLessEqual(traffic.finish()["R"], 2)      # those that stop() interrupted

    def test_mtu_too_small_for_what_is_in_flight(self):
        """A transaction that no longer fits 64 slices is reversed, when it was so for dead_ms."""
        self.assertEqual(self.a.write(b"before"), 6)
        with Losing(self.b, "vb", oae.REFLECT):
            writer = self.a.start_write(bytes(60000))
            wait_for(lambda: self.a.tag()["offer"] == "out", "it to be offered")
            begin = time.monotonic()
            self.a.mtu("va", 900)
        self.assertEqual(writer.result(), -errno.EMSGSIZE)
        self.assertGreaterEqual(time.monotonic() - begin, 1)
        self.assert_errno(errno.EMSGSIZE, self.a.write, bytes(60000))
        self.a.mtu("va", 70)                    # below the least: the port is down
        writer = self.a.start_write(b"after")
        self.a.mtu("va", 1500)
        self.assertEqual(writer.result(), 5)
        self.assertEqual(self.b.read_each(2), [b"before", b"after"])

    def test_address(self):
        """a's address changes: the same link goes on, and is found by the new address."""
        traffic = Traffic(self, HostEnd(self.a), HostEnd(self.b))
        end_a, end_b = traffic.ends
        traffic.send(end_a, MANY, sizes=(16, 3000), streams=2)
        for n in range(times(2)):
            mac = f"02:0a:e0:20:00:{n + 1:02x}"
            traffic.moved(60)
            self.a.sh(f"ip link set va address {mac}")
            traffic.moved(60)
            traffic.send(end_b, 50, target=mac)
            traffic.moved(50)
            self.assertEqual(len(self.b.tags()), 1)
        self.finish(traffic)

    def test_address_there_and_back(self):
        """A node that takes its old address again is the same end all the time."""
        self.a.knob("stall_max_us", 1000000)    # half the time that it has to settle
        traffic = Traffic(self, HostEnd(self.a), HostEnd(self.b))
        traffic.send(traffic.ends[0], MANY, streams=2)
        for n in range(2 * times(2)):
            traffic.moved(50)
            self.a.sh(f"ip link set va address {(MAC_C, MAC_A)[n % 2]}")
        traffic.moved(100)
        self.assertEqual((len(self.a.tags()), len(self.b.tags())), (1, 1))
        self.finish(traffic)
        self.assertEqual(self.a.stat("note_unconfirmed"), 0)

    def test_flaps(self):
        """The link goes down and up as fast as one can."""
        traffic = self.traffic(sizes=(16, 9000))
        for n in range(times(60)):
            host, dev = ((self.a, "va"), (self.b, "vb"))[random.randrange(2)]
            host.up(dev, False)
            if n % 3:
                traffic.running()
            host.up(dev)
        traffic.moved(200)
        self.assertLessEqual(self.finish(traffic)["R"], 4)

    def test_device_moved(self):
        """The device moves to another namespace: another node has it now."""
        hosts = [self.a, self.new_host("c")]
        traffic = Traffic(self, *map(HostEnd, (*hosts, self.b)))
        for end in (traffic.ends[0], traffic.ends[2]):
            traffic.send(end, MANY, target=None)
        hosts[1].knob("target", MAC_B)
        for n in range(times(2)):
            traffic.moved(60)
            old, new = hosts[n % 2], hosts[1 - n % 2]
            run("ip", "-n", old.name, "link", "set", "va", "netns", new.name, timeout=20 * SLOW)
            self.assertEqual((old.tags(), old.knob("dev")), ([], ""))
            self.bind(new, "va", MAC_B)
            if not n:
                traffic.send(traffic.ends[1], MANY)
        traffic.moved(60)
        self.finish(traffic, died=True, exact=False)

    def test_shutdown_under_traffic(self):
        """The knob `shutdown`: links close, all that was committed is delivered."""
        def change(host, *unused):
            host.knob("shutdown", 1)
            wait_for(lambda: not [tag for tag in host.tags() if tag["state"] != "CLOSED"],
                     "its links to close")
            host.knob("shutdown", 0)
        tally = self.disturb(self.traffic(), times(3), change, died=True, exact=False)
        self.assertEqual((tally["lost"], tally["U"]), (0, 0))

    def test_close_under_traffic(self):
        """`close` written to tags: the link closes and opens anew, nothing is lost."""
        def change(host, unused, peer):
            try:
                host.close_tag(peer)
            except OSError as e:        # it has just gone
                self.assertEqual(e.errno, errno.ENOENT)
        tally = self.disturb(self.traffic(), times(8), change, moved=50, died=True, exact=False)
        self.assertEqual((tally["lost"], tally["U"]), (0, 0))


class Namespaces(OaeTest):
    """
        host a              host sw               host b
        va ------------- pa (br0) pb ------------- vb
    """

    one_cpu = False

    def setUp(self):
        super().setUp()
        self.sw, self.b = self.new_host("sw"), self.new_host("b")
        self.sw.sh("ip link add br0 type bridge; ip link set br0 up")
        self.plug(self.b, "vb", MAC_B, MAC_A)

    new_host = Life.new_host
    bind = staticmethod(Life.bind)
    destroy = staticmethod(Life.destroy)

    def plug(self, host, dev, mac, target):
        """A cable to the switch."""
        port = "p" + dev[1:]
        ip(f"link add {dev} netns {host.name} address {mac} type veth peer name {port} netns sw")
        self.sw.sh(f"ip link set {port} master br0; ip link set {port} up")
        self.bind(host, dev, target)

    def test_namespace_destroyed(self):
        """a's namespace goes while b keeps sending, and comes again."""
        end_b = HostEnd(self.b)
        traffic = Traffic(self, end_b)
        sent, got, rounds = {}, [], times(2)
        b_stream = None
        for n in range(rounds):
            a = self.new_host("a")
            a.knob("rcvbuf", 4096)
            self.plug(a, "va", MAC_A, MAC_B)
            at_a = Traffic(self, HostEnd(a))
            at_a.send(at_a.ends[0], MANY, streams=2)
            if not b_stream:
                traffic.send(end_b, MANY, streams=2)
                b_stream = list(traffic.senders)
            at_a.moved(100)
            traffic.moved(100)
            if n % 2:       # killed: nobody knows what its writers were told
                at_a.stop()
                wait_for(lambda at_a=at_a: not at_a.running(), "a's senders to stop")
                sent.update({s: pump.result() for s, pump in at_a.senders.items()})
            else:
                for stream, pump in at_a.senders.items():
                    pump.signal(signal.SIGKILL)
                    sent[stream] = None
            at_a.readers[0].signal(signal.SIGTERM)
            got.append(at_a.readers[0].result())
            begin = time.monotonic()
            self.destroy(a)
            wait_for(lambda: not self.sw.has_link("pa"), "a's devices to go")
            say(f"    namespace gone in {time.monotonic() - begin:.2f} s")
        traffic.stop()
        wait_for(lambda: not traffic.running(), "b's senders to stop", 20)
        sent.update({s: pump.result() for s, pump in traffic.senders.items()})
        traffic.readers[0].signal(signal.SIGTERM)
        at_b = traffic.readers[0].result()
        known = {s: log for s, log in sent.items() if log is not None}
        tally = check_promise(known, [only_streams(log, known) for log in (*got, at_b)],
                              died=True)
        # What was delivered and not read when the namespace went: rcvbuf a time, and one.
        self.assertLessEqual(tally["lost"], rounds * 9)
        self.b.knob("shutdown", 1)
        wait_for(lambda: not self.b.tags(), "b's tags to go")
        self.assertEqual(self.b.stat("tags_made"), self.b.stat("tags_gone"))


def only_streams(log, streams):
    """A reader's log without what other senders sent."""
    return b"".join(log[i:i + 8] for i in range(0, len(log), 8)
                    if int.from_bytes(log[i:i + 4], "little") in streams)


class Unload(OaeTest):
    """
        host a (module)      AF_PACKET at host b
        va ------------------- vb
    """

    one_cpu = False

    def setUp(self):
        super().setUp()
        self.a, self.b = Host("a"), Host("b")
        self.addCleanup(self.b.close)
        self.addCleanup(self.a.close)
        ip(f"link add va netns a address {MAC_A} type veth "
           f"peer name vb netns b address {MAC_B}")
        self.a.up("va")
        self.b.up("vb")

    def unload_until_done(self):
        """rmmod, again as long as somebody has a file open; how long the last one took."""
        def done():
            begin = time.monotonic()
            try:
                unload()
            except OSError as e:
                self.assertEqual(e.errno, errno.EAGAIN)
                return 0
            return time.monotonic() - begin
        return wait_for(done, "the module to be unloaded", 20)

    def test_under_frames(self):
        """rmmod while frames keep coming that make links, and files are opened and closed."""
        wire = Wire(self.b, "vb")
        self.addCleanup(wire.close)
        peers = [Peer(wire, MAC_A, vc=vc) for vc in range(64)]
        frames = [peer.frame(opcode).pack() for peer in peers
                  for opcode in (oae.SYNC, oae.OFFER, oae.COMMIT, oae.CLOSE)]

        def flood(stop):
            while not stop.is_set():
                for frame in frames:
                    wire.send(frame)
                wire.pump()
                for peer in peers:
                    while peer.inbox:
                        answer = peer.inbox.popleft()
                        if answer.opcode == oae.SYNC_CHK:
                            peer.send(oae.SYNC, dst_ltag=answer.src_ltag)

        def files(stop):
            while not stop.is_set():
                try:
                    with self.a:
                        os.close(os.open(NOC_DEBUG, os.O_RDWR))
                except OSError:
                    stop.wait(0.001)        # not loaded at present

        with meanwhile(flood), meanwhile(files):
            for n in range(times(3)):
                if n:
                    load(self.a)
                self.a.knobs(linger_ms=(0, 100)[n % 2], peers=MAC_B, target=MAC_B, dev="va")
                wait_for(lambda: self.a.stat("tags_made") >= 20, "links to be made")
                if n % 3 == 2:
                    self.a.knob("shutdown", 1)
                seconds = self.unload_until_done()
                self.assertLess(seconds, 10 * SLOW)

    def test_in_use(self):
        """rmmod says busy as long as a file is open, and changes nothing."""
        with os.fdopen(self.a.open(), "rb", buffering=0) as file:
            self.assert_errno(errno.EAGAIN, unload)
            self.assertEqual(file.read(10), b"")
        self.unload_until_done()
        load(self.a)

    def test_knobs_written_while_it_loads(self):
        """They were taken for insmod's: for all namespaces, and for a port where insmod ran."""
        def write(stop):
            while not stop.is_set():
                for name, value in ((b"linger_ms", b"77"), (b"dev", b"+nosuch")):
                    try:
                        fd = os.open(os.fsencode(PARAMETERS) + b"/" + name, os.O_WRONLY)
                    except OSError:
                        continue        # not loaded at present
                    try:
                        os.write(fd, value)
                    except OSError:
                        pass
                    os.close(fd)

        with meanwhile(write, (), ()):
            for _ in range(times(3)):
                self.unload_until_done()
                load()
                self.assertEqual(self.a.knob("linger_ms"), "500")

    def test_load_refused(self):
        """Who opens what he can while a load is being refused: he would have files of nobody."""
        opened = []

        def files(stop):
            while not stop.is_set():
                for path in (NOC_DEBUG, "/dev/oae"):
                    try:
                        opened.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
                    except OSError:
                        pass

        self.unload_until_done()
        with meanwhile(files, (), ()):
            for _ in range(times(3)):
                self.assert_errno(errno.ENODEV, load, self.a, dev="va,nosuch")
        self.assertEqual(opened, [])
        load(self.a)
