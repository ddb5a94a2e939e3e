# SPDX-License-Identifier: GPL-2.0
"""What happens to a port holds RTNL for a moment, however many links there are; a request of
netlink, whose core has a lock of everybody's meanwhile, takes no longer."""

import errno
import os
import signal
import time

from faults import say
from oaedev import EVENT_DEAD, OaeFile
from oaenl import Netlink, attr
from oaetest import Cable, Host, OaeTest, wait_for
from patience import SLOW
from topology import CALM

MANY = int(os.environ.get("RTNL_TAGS", 8000 / SLOW))
MOST = 0.020            # seconds
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

    def setUp(self):
        super().setUp()
        self.cable = Cable(self.a, "va", self.b, "vb")
        self.addCleanup(self.b.sh, "ip link del vb")
        self.a.knobs(**CALM, max_tags=2 * MANY, dev="va")
        self.b.knob("dev", "vb")
        self.took = {}

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
        begin = time.thread_time()
        change()
        self.took.setdefault(what, []).append(time.thread_time() - begin)
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

    def judge(self):
        """With many links each takes hardly more time of the thread than with none."""
        say(f"{MANY} links, and none: " + ", ".join(
            f"{what} {took[1] * 1000:.1f} and {took[0] * 1000:.1f} ms"
            for what, took in self.took.items()))
        for what, (none, many) in self.took.items():
            with self.subTest(what):
                self.assertLess(many - none, MOST * SLOW)

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
        Cable(host, "vc", self.b, "wc")
        host.knobs(**CALM | {"linger_ms": 10000}, dev="vc")
        self.open_many(host, 700)
        netlink = Netlink(host)
        child = os.fork()
        if not child:
            netlink.ask(PORT_DEL, attr(PORT_NAME, "vc"))
            os._exit(0)         # pylint: disable=protected-access
        # One change at a time.
        wait_for(lambda: self.busy(host), "the work to wait")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        netlink.close()
        host.close()
        wait_for(lambda: not self.b.has_link("wc"), "its devices to go")

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
