# SPDX-License-Identifier: GPL-2.0
"""Gateways leave nothing behind: memory in use, before and after many lives and deaths.

Not among the others, since it wants a kernel that counts exactly:
    tools/vm run --append slub_debug=F -- tests/guest/run test_gateway_leaks
"""

from pathlib import Path

from faults import check_leaks
from gateway import Gateway, Scripted
from oaeipwire import BEAT, LEAVING, hello, via
from oaetest import Cable, Host, run, wait_for
import oaewire as oae
from patience import SLOW, TIMES


class Leaks(Scripted):
    __doc__ = Scripted.__doc__

    patience = int(200 * max(TIMES, 1))

    def setUp(self):
        if "slub_debug" not in Path("/proc/cmdline").read_text("ascii"):
            self.fail("what each CPU keeps of a cache counts as in use: boot with slub_debug=F")
        super().setUp()

    def check(self, cycle):
        """Many such cycles, each with an end in which nobody says anything any more."""
        def quiet_cycle():
            self.g.knob("shutdown", 0)
            cycle()
            self.g.knob("shutdown", 1)
            self.quiet()
        self.addCleanup(self.g.knob, "shutdown", 0)
        check_leaks(quiet_cycle, 7)

    def busy(self):
        """Of everything a little: nodes learned, told and forgotten, frames forwarded, dropped."""
        for speaker in (self.two, self.three):
            speaker.restart()
            speaker.control(BEAT)
        near, gone, far, other = self.new_macs(4)
        self.local(near, gone, *self.new_macs(20))
        self.remote(self.two, far, *self.new_macs(100))
        self.remote(self.three, other)
        self.two.nodes(near, other)
        self.wire.send(via(oae.OFFER, self.mac, near, far, payload=bytes(1000)))
        self.two.expect_data()
        self.two.data(via(oae.OFFER, self.mac, far, near, payload=bytes(1000)))
        self.to_zone(near)
        self.wire.send(via(oae.OFFER, self.mac, near, other, payload=bytes(1430)))
        self.wire.send(hello(gone, self.mac, flags=LEAVING))
        self.two.raw(b"short")
        self.sync()
        self.quiet()

    def lists(self):
        """gwips and port change, good and bad."""
        self.g.knob("gwips", ",".join(f"10.{n}.0.1+fd0{n}::1" for n in range(1, 10)))
        for bad in ("x", "10.1.0.1,10.1.0.1"):
            with self.assertRaises(OSError):
                self.g.knob("gwips", bad)
        self.g.knob("port", 40000)
        self.g.knob("port", 34997)
        self.g.knob("gwips", self.gwips)

    def device(self):
        """The device goes, and comes back as a new one, with the addresses of the old."""
        run("ip", "-n", "g", "link", "del", "zone", timeout=20 * SLOW)
        self.wire.close()
        Cable(self.h, "hz", self.g, "zone")
        self.g.sh(f"ip link set zone address {self.mac}")
        type(self).wire = type(self.wire)(self.h, "hz")
        self.g.knob("dev", "zone")

    def namespace(self):
        """Another gateway's namespace comes and goes."""
        gateway, host = Gateway("x"), Host("y")
        Cable(gateway, "zone", host, "eth0")
        gateway.sh("ip link add wan up type dummy; ip addr add 10.1.0.1/8 dev wan")
        gateway.knobs(gwips=self.gwips, dev="zone", hello_ms=100)
        wait_for(lambda: gateway.stat("control_tx") > 3, "it to speak")
        gateway.close()
        host.close()

    def test_serving(self):
        """It begins and ends to serve, with a table; lists, devices and namespaces come and go."""
        def cycle():
            self.busy()
            self.lists()
            self.busy()
            self.device()
            self.namespace()
        self.check(cycle)

    def test_module(self):
        """The module comes and goes, with nodes and a peer that speaks."""
        def cycle():
            self.busy()
            self.unload_gateways()
            self.two.nodes(*self.new_macs(3))
            self.load_gateways()
            self.g.knobs(**self.knobs)
            self.g.knobs(gwips=self.gwips, dev="zone")
            self.all_up()
        self.check(cycle)
