# SPDX-License-Identifier: GPL-2.0
"""The rules of doc/protocol.md as a stranger reads them: tools/conform against the module.

    host a             host p
    va ----------------- vp    tools/conform
    10.0.9.1      10.0.9.2
"""

import re
import subprocess

from oaetest import REPO
from patience import SLOW, times
from topology import OneScript
from udp import address_of

MESSAGES = 200                          # each way
ADDRESSES = "10.0.9.1", "10.0.9.2"      # for tests of UDP ports


class Conform(OneScript):
    """Each line of its TAP is a subtest; the lines below one that is not ok say why."""

    ports = True
    patience = 120      # for the test of messages

    @classmethod
    def build(cls):
        super().build()
        for host, device, address in (cls.a, "va", ADDRESSES[0]), (cls.p, "vp", ADDRESSES[1]):
            address_of(host, device, address)

    def lines(self):
        """What it prints, line by line; its exit status must be as the lines are."""
        with self.p, subprocess.Popen(
                [REPO / "tools" / "conform", "vp", self.cable.mac_a, "--there", f"ip netns exec {self.a.name}",
                 "--udp", ADDRESSES[0], "--messages", str(times(MESSAGES)), "--slow", str(SLOW)],
                stdout=subprocess.PIPE, text=True) as process:
            yield from map(str.rstrip, process.stdout)
        self.status = process.returncode

    def test_rules(self):
        """All that it says is ok, and it says as much as it has planned."""
        planned, said, failures, failed, why = None, 0, 0, None, []

        def end():
            if failed:
                with self.subTest(failed):
                    self.fail("\n".join([failed, *why]))

        for count, line in enumerate(self.lines()):
            self.gets_on(count)
            if plan := re.fullmatch(r"1\.\.(\d+)", line):
                planned = int(plan.group(1))
            elif result := re.fullmatch(r"(not )?ok \d+ - (.*)", line):
                end()
                said += 1
                failures += bool(result.group(1))
                failed, why = (result.group(2) if result.group(1) else None), []
            else:
                why.append(line)
        end()
        self.assertIsNotNone(planned, "no plan")
        self.assertEqual(said, planned)
        self.assertEqual(self.status, int(failures > 0))
