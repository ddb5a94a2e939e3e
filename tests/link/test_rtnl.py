# SPDX-License-Identifier: GPL-2.0
"""What happens to a port holds RTNL for a moment, however many links there are; a request of
netlink, whose core has a lock of everybody's meanwhile, takes no longer."""

import errno
import os
import signal
import time
from pathlib import Path

from faults import say
from hits import Hits
from oaedev import ATTACH_OPEN, EVENT_DEAD, ST_DEAD, OaeFile
from oaenl import Netlink, attr
from oaetest import Cable, Host, OaeTest, ip, wait_for
from patience import SLOW
from topology import CALM

MANY = int(os.environ.get("RTNL_TAGS", 8000 / SLOW))
FEW = 512               # OAE_FEW_TAGS
BACKLOG = Path("/proc/sys/net/core/netdev_max_backlog")
PARAMETER = "/sys/module/modoae/parameters/target"
ADDRESS = "02:0a:e1:00:00:01"
KNOB_SET, PORT_DEL, SETTING, NAME, VALUE, PORT_NAME = 4, 7, 4, 1, 2, 1


class ManyLinks(OaeTest):
    """
        host a                  host b
        va ---------------------- vb     one link of these two, and many of va's to nobody
    """

    patience = 60 + MANY // 200

    @classmethod
    def build(cls):
        cls.a, cls.b = cls.host("a"), cls.host("b")
        # What all links say at once has a place: in such a calm what is dropped is said again after minutes.
        before = BACKLOG.read_text("ascii")
        cls.addClassCleanup(BACKLOG.write_text, before, "ascii")
        BACKLOG.write_text(str(8 * MANY), "ascii")

    def setUp(self):
        super().setUp()
        self.cable = Cable(self.a, "va", self.b, "vb")
        self.addCleanup(self.b.sh, "ip link del vb")
        self.a.knobs(**CALM, max_tags=2 * MANY, dev="va")
        self.b.knob("dev", "vb")
        self.took, self.told = {}, {}
        self.hits = Hits(lock="rtnl_lock", free="rtnl_unlock", told="modoae:oae_run_leave")
        self.addCleanup(self.hits.end)

    def open_many(self, host=None, many=MANY):
        """A link to each of so many addresses; each goes on asking."""
        host = host or self.a
        with host:
            fd = os.open(PARAMETER, os.O_WRONLY)
        try:
            with host:
                for n in range(many):
                    os.pwrite(fd, b"%06x" % (0x100000 + n), 0)
        finally:
            os.close(fd)
        host.knob("target", "")

    def does(self, what, change, told=None):
        """
        A change of the device. The kernel tells the ports in the midst of it, so what that takes
        is time of this thread. All links come to know.
        """
        def timed():
            begin = time.thread_time()
            change()
            self.took.setdefault(what, []).append(time.thread_time() - begin)
        self.told[what] = self.hits.by_this_thread("told", timed)
        if told:
            wait_for(told, f"the links to know of {what}", (30 + MANY / 2000) * SLOW)

    def test_all(self):
        """Another MTU, down, up, another address, and it moves to another host: all links are told."""
        # Without links, what the kernel takes for itself.
        Cable(self.a, "wa", self.b, "wb")
        self.a.add_port("wa")
        self.does("MTU", lambda: self.a.mtu("wa", 1400))
        self.does("down", lambda: self.a.up("wa", False))
        self.does("up", lambda: self.a.up("wa"))
        self.does("address", lambda: self.a.set_mac("wa", ADDRESS))
        self.does("its end", lambda: self.a.move("wa", self.b))

        file = OaeFile.to(self.a, self.cable.mac_b)
        self.addCleanup(file.close)
        file.write(b"begin")
        self.assertEqual(self.b.read_one(), b"begin")
        self.open_many()
        self.assertGreaterEqual(len(self.a.tags()), MANY)
        mtu, asked = file.status().mtu, self.a.stat("tx_frames")
        self.does("MTU", lambda: self.a.mtu("va", 1400), lambda: file.status().mtu < mtu)
        self.assertEqual(file.write(b"shorter"), 7)
        self.does("down", lambda: self.a.up("va", False), lambda: file.state == "SYNC_SENT")
        self.does("up", lambda: self.a.up("va"), lambda: self.a.stat("tx_frames") > asked + MANY)
        wait_for(lambda: file.state == "OPEN", "it to be open", (30 + MANY / 2000) * SLOW)
        self.does("address", lambda: self.a.set_mac("va", ADDRESS),
                  lambda: ADDRESS in {row["to"] for row in self.b.paths()})
        self.assertEqual(file.write(b"from elsewhere"), 14)
        self.does("its end", lambda: self.a.move("va", self.b), lambda: not self.a.tags())
        self.assertTrue(file.status().events & EVENT_DEAD)
        self.judge()

    def test_few(self):
        """So many links, and no more, are told while somebody holds RTNL."""
        self.open_many(many=FEW + 100)

        def told():
            return self.hits.count("told") > before + FEW
        for what, change in (("MTU", lambda: self.a.mtu("va", 1400)),
                             ("down", lambda: self.a.up("va", False)),
                             ("up", lambda: self.a.up("va")),
                             ("address", lambda: self.a.set_mac("va", ADDRESS)),
                             ("its end", lambda: self.a.move("va", self.b))):
            with self.subTest(what):
                before = self.hits.count("told")
                self.does(what, change, told)
                self.assertLessEqual(self.hits.by_hold("told", "lock", "free"), FEW)
        wait_for(lambda: not self.a.tags(), "all links to end", 30 * SLOW)
        self.assertLessEqual(self.hits.by_hold("told", "lock", "free"), FEW)

    def judge(self):
        """This thread has told few of the many: what it takes it hardly depends on them."""
        say(f"{MANY} links, and none: " + ", ".join(
            f"{what} {took[1] * 1000:.1f} and {took[0] * 1000:.1f} ms, {self.told[what]} told"
            for what, took in self.took.items()))
        for what, told in self.told.items():
            with self.subTest(what):
                self.assertLessEqual(told, FEW)

    def shut(self, netlink, value):
        """All links begin to close, or may be opened again."""
        netlink.ask(KNOB_SET, attr(SETTING, [attr(NAME, "shutdown"), attr(VALUE, value)]))

    def test_netlink(self):
        """A port is deleted, and all links are closed, by netlink."""
        netlink = Netlink(self.a)
        self.addCleanup(netlink.close)
        self.a.knob("linger_ms", 0)

        def requests(told=None):
            self.does("shutdown", lambda: self.shut(netlink, "1"), told)
            self.shut(netlink, "0")
            if told:
                self.open_many()
            self.does("its end", lambda: netlink.ask(PORT_DEL, attr(PORT_NAME, "va")), told)
        requests()
        self.a.knob("dev", "va")
        self.open_many()
        self.assertGreaterEqual(len(self.a.tags()), MANY - 1)
        requests(lambda: not self.a.tags())
        wait_for(lambda: self.a.knob("dev") == "", "the port to go")
        self.judge()

    def test_ends_meanwhile(self):
        """Whoever has asked is killed, and the host ends, while a work waits for the links to close."""
        host = Host("c")
        self.addCleanup(host.close)
        cable = Cable(host, "vc", self.b, "wc")
        self.b.knob("dev", "+wc")
        host.knobs(**CALM | {"linger_ms": 10000}, dev="vc")
        # Of the many nobody has been heard, so they close at once; this one takes its time.
        host.write(b"open", target=cable.mac_b)
        wait_for(lambda: host.tag()["state"] == "OPEN", "the link to open")
        cable.netem("loss 100%")
        self.open_many(host, 700)
        netlink = Netlink(host)
        child = os.fork()
        if not child:
            try:
                wait_for(lambda: self.removes(netlink), "the port to be removed")
            finally:
                os._exit(0)     # pylint: disable=protected-access
        # One change at a time.
        wait_for(lambda: self.busy(host), "the work to wait")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        netlink.close()
        host.close()
        wait_for(lambda: not self.b.has_link("wc"), "its devices to go")

    @staticmethod
    def removes(netlink):
        """The port, unless somebody asks at this moment whether a change is under way."""
        try:
            netlink.ask(PORT_DEL, attr(PORT_NAME, "vc"))
        except OSError as e:
            if e.errno != errno.EBUSY:
                raise
            return False
        return True

    def busy(self, host):
        """Is a change of its ports under way?"""
        netlink = Netlink(host)
        try:
            netlink.ask(PORT_DEL, attr(PORT_NAME, "none"))
        except OSError as e:
            return e.errno == errno.EBUSY
        finally:
            netlink.close()
        return False


class ManyPorts(OaeTest):
    """
        host a: the ports w0, w1 ..., each a veth, whose other end is a port as well
    """

    PAIRS, MOST = 80, 32

    @classmethod
    def build(cls):
        cls.a = cls.host("a")

    def test_some_at_a_time(self):
        """Very many ports are bound, and released, some each time that RTNL is held."""
        with self.a:
            ip(*(f"link add w{n} type veth peer name x{n}" for n in range(self.PAIRS)))
        hits = Hits(lock="rtnl_lock", free="rtnl_unlock", bound="dev_add_pack",
                    going="__dev_remove_pack")
        self.addCleanup(hits.end)
        self.a.knob("dev", "*")
        self.a.knob("dev", "")
        for what in "bound", "going":
            with self.subTest(what):
                self.assertGreaterEqual(hits.count(what), 2 * self.PAIRS)
                self.assertLessEqual(hits.by_hold(what, "lock", "free"), self.MOST)

    def test_udp(self):
        """UDP ports, too: the devices of very many go some at a time."""
        self.a.sh("ip link set lo up; ip link add dummy0 type dummy; ip link set dummy0 up;"
                  "ip addr add 10.0.0.1/24 dev dummy0")
        for n in range(2 * self.PAIRS):
            self.a.add_port(f"udp:10.0.0.1:{40000 + n}")
        hits = Hits(lock="rtnl_lock", free="rtnl_unlock", going="udp_tunnel_sock_release")
        self.addCleanup(hits.end)
        self.a.knob("dev", "")
        self.assertGreaterEqual(hits.count("going"), 2 * self.PAIRS)
        self.assertLessEqual(hits.by_hold("going", "lock", "free"), self.MOST)

    def test_all_at_once(self):
        """The links of many ports that go together all end; and the namespace, with many."""
        host, peer = Host("b"), "02:0a:e0:00:99:%02x"
        self.addCleanup(host.close)
        with host:
            ip(*(f"link add w{n} type veth peer name x{n}" for n in range(self.PAIRS)))
        host.knobs(**CALM, dev="*")
        files = [OaeFile.to(host, peer % n, port=f"w{n}", flags=ATTACH_OPEN) for n in range(self.PAIRS)]
        for file in files:
            self.addCleanup(file.close)
        host.knobs(linger_ms=0)
        host.knob("dev", "")
        for n, file in enumerate(files):
            self.assertTrue(file.status().flags & ST_DEAD)
            self.assertEqual(file.status().port, f"w{n}")
        host.knob("dev", "*")
        for file in files:
            file.close()
        host.close()
