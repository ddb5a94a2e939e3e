# SPDX-License-Identifier: GPL-2.0
"""dev=*: every device that may be a port is one, as soon as it may and for as long."""

import errno
import re

from oaenl import Netlink, text
from oaetest import Cable, Host, OaeTest, load, run, unload, wait_for


PORT_GET, PORT_NAME = 5, 1


class Every(OaeTest):
    """
        host a: va, wa, and what comes and goes ------ host b: vb, wb
    """

    @classmethod
    def build(cls):
        for module in ("bridge", "dummy"):
            run("modprobe", module)
        cls.a, cls.b = cls.host("a"), cls.host("b")
        # What some kernels make in every namespace: gretap0 and the like.
        cls.born = set(re.findall(r"^\d+: ([^:@]+)", cls.a.sh("ip -o link"), re.M))
        cls.cable = Cable(cls.a, "va", cls.b, "vb")
        Cable(cls.a, "wa", cls.b, "wb")

    def setUp(self):
        super().setUp()
        self.a.knobs(linger_ms=0)
        for host in (self.a, self.b):
            host.knob("dev", "")
        self.addCleanup(self.a.knob, "dev", "")

    def ports(self, host=None):
        """What is bound, of what the tests have made."""
        netlink = Netlink(host or self.a)
        try:
            return {text(dict(port)[PORT_NAME])
                    for port in netlink.dump(PORT_GET)} - self.born
        finally:
            netlink.close()

    def link(self, *lines):
        """Done to devices in a; what is added goes with the test."""
        for line in lines:
            self.a.sh(f"ip link {line}")
            if line.startswith("add "):
                self.addCleanup(self.a.sh, f"ip link del {line.split()[2]} 2>/dev/null || true")

    def test_all(self):
        """Those that are there; but not loopback, and none that is no Ethernet device."""
        self.a.tun("tun7")
        self.addCleanup(self.a.sh, "ip link del tun7")
        self.a.knob("dev", "*")
        self.assertEqual(self.ports(), {"va", "wa"})
        self.assertEqual(self.a.knob("dev"), "*")
        self.assertEqual(self.ports(self.b), set())

    def test_later(self):
        """Those that come later, until they go; in a namespace without any, too."""
        host = self.host("c")
        host.knob("dev", "*")
        self.assertEqual(self.ports(host), set())
        self.link("add name x0 type dummy")
        self.a.sh("ip link set x0 netns c")
        self.assertEqual(self.ports(host), {"x0"})
        host.sh("ip link add name x1 type dummy")
        self.assertEqual(self.ports(host), {"x0", "x1"})
        host.sh("ip link del x1")
        self.assertEqual(self.ports(host), {"x0"})

    def test_carries(self):
        """Two hosts that were told nothing but this reach each other."""
        for host in (self.a, self.b):
            host.knob("dev", "*")
        self.addCleanup(self.b.knob, "dev", "")
        self.a.write(b"hello", target=f"va/{self.cable.mac_b}", vc=0)
        self.assertEqual(self.b.read_each(1), [b"hello"])
        self.a.knob("target", "")

    def test_left_out(self):
        """By name, whatever they were called before; taken back, and again."""
        self.a.knob("dev", "*,-wa,-later")
        self.assertEqual((self.a.knob("dev"), self.ports()), ("*,-wa,-later", {"va"}))
        self.link("add name x0 type dummy")
        self.assertEqual(self.ports(), {"va", "x0"})
        self.link("set x0 name later")
        self.assertEqual(self.ports(), {"va"})
        self.link("set later name x0")
        self.assertEqual(self.ports(), {"va", "x0"})
        self.a.knob("dev", "-va")
        self.assertEqual((self.a.knob("dev"), self.ports()), ("*,-wa,-later,-va", {"x0"}))
        self.a.knob("dev", "+wa")
        self.assertEqual((self.a.knob("dev"), self.ports()), ("*,-later,-va", {"wa", "x0"}))
        self.a.knob("dev", "+*")
        self.assertEqual((self.a.knob("dev"), self.ports()), ("*", {"va", "wa", "x0"}))
        self.a.knob("dev", "*,-va")
        self.assertEqual(self.ports(), {"wa", "x0"})

    def test_no_more(self):
        """A list ends it, and the empty one."""
        for value, left in (("va", {"va"}), ("", set())):
            self.a.knob("dev", "*,-wa")
            self.a.knob("dev", value)
            self.assertEqual((self.a.knob("dev"), self.ports()), (value, left))
            self.link("add name x0 type dummy", "set wa down", "set wa up")
            self.assertEqual(self.ports(), left)
            self.link("del x0")

    def test_changes(self):
        """In a bridge it is none, the bridge is; and it is to have the MTU."""
        self.a.knob("dev", "*")
        self.link("add name br7 type bridge")
        self.assertEqual(self.ports(), {"va", "wa", "br7"})
        self.link("set wa master br7")
        self.assertEqual(self.ports(), {"va", "br7"})
        self.link("set wa nomaster")
        self.assertEqual(self.ports(), {"va", "wa", "br7"})
        self.link("add name x0 mtu 100 type dummy")
        self.assertEqual(self.ports(), {"va", "wa", "br7"})
        self.link("set x0 mtu 1000")
        self.assertEqual(self.ports(), {"va", "wa", "br7", "x0"})

    def test_no_address(self):
        """GRE's own device in each namespace has none: it is a port once it has been given one."""
        run("modprobe", "ip_gre")
        host = self.host("d")
        host.knob("dev", "*")
        self.assertEqual(self.ports(host), set())
        self.assert_errno(errno.EINVAL, host.knob, "dev", "gretap0")
        host.sh("ip link set gretap0 name given")
        self.assertEqual(self.ports(host), set())
        host.sh("ip link set given address 02:00:00:00:0d:01")
        self.assertEqual(self.ports(host), {"given"})

    def test_refused(self):
        """What is no such list changes nothing."""
        self.a.knob("dev", "*,-wa")
        many = ",".join(["*"] + [f"-x{n}" for n in range(17)])
        for code, value in ((errno.EINVAL, "*,wa"), (errno.EINVAL, "*,+wa"), (errno.EINVAL, "va,*"),
                            (errno.EINVAL, "*,*"), (errno.EINVAL, "-*"), (errno.EINVAL, "*,-*"),
                            (errno.EINVAL, "*,-wa,-wa"),
                            (errno.ENODEV, "+nosuch"), (errno.EEXIST, "+va"),
                            (errno.E2BIG, many), (errno.E2BIG, many.removeprefix("*,"))):
            with self.subTest(value):
                self.assert_errno(code, self.a.knob, "dev", value)
                self.assertEqual((self.a.knob("dev"), self.ports()), ("*,-wa", {"va"}))

    def test_namespace_goes(self):
        """With it, whatever is in it, or nothing."""
        for name, device in (("d", None), ("e", "x0")):
            host = Host(name)
            host.knob("dev", "*")
            if device:
                host.sh(f"ip link add name {device} type dummy")
            host.close()

    def test_at_load(self):
        """insmod modoae.ko dev=*, and the module goes although devices come."""
        unload()
        load(self.a, dev="*")
        self.assertEqual((self.a.knob("dev"), self.ports()), ("*", {"va", "wa"}))
        self.assertEqual(self.b.knob("dev"), "")
        self.link("add name x0 type dummy")
        wait_for(lambda: "x0" in self.ports(), "the new device to be a port")
        unload()
        self.link("del x0")
        load()
