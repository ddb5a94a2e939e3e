# SPDX-License-Identifier: GPL-2.0
"""What the live fuzzers' tests share: their programs, and programs of the host that is fuzzed."""

import os
import random
import subprocess
import threading
import time

import oaedev as dev
from devpump import compile_c
from oaedev import OaeFile
from patience import SLOW

TIME = float(os.environ.get("TIME") or 8 * max(SLOW, 1))


def seed():
    """SEED=NUMBER, to do the same again; otherwise another each time."""
    return int(os.environ.get("SEED") or random.getrandbits(31))


def counted(said):
    """The `name=number ...` of a line: a dict."""
    return {name: int(value) for name, value in
            (word.split("=") for word in said.split() if "=" in word)}


class Fuzzer:
    """One of them, under way."""

    def __init__(self, host, name, **how):
        with host:
            self.process = subprocess.Popen(
                [compile_c(name, f"fuzz/{name}.c", "guest/wire.c"), *(f"{k}={v}" for k, v in how.items())], text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def result(self, patience):
        """What it says of itself when it has ended: a dict, and the line."""
        try:
            said, _ = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        if self.process.returncode or "fuzzed" not in said:
            raise AssertionError(f"the fuzzer ended with {self.process.returncode}: {said}")
        return counted(said), said.splitlines()[-1]

    def kill(self):
        """If it is still there."""
        self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()


class Programs:
    """Files of /dev/oae towards the fuzzer's peers: they write, read, swap, ask and expose."""

    REGION, WORDS = 1000, 64

    def __init__(self, host, port, peers, number):
        """peers: (address, vc) each, on that port."""
        self.host, self.port, self.peers, self.dice = host, port, peers, random.Random(number)
        self.files = [None] * len(peers)
        self.done = {"write": 0, "read": 0, "swap": 0, "verb": 0, "collect": 0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _open(self, n):
        mac, vc = self.peers[n]
        file = OaeFile.to(self.host, mac, vc=vc, port=self.port, nonblock=True,
                          linger_ms=0, express=self.dice.random() < 0.3)
        try:
            file.expose(self.WORDS * 8, self.REGION + n,
                        dev.PERM_READ | dev.PERM_WRITE | dev.PERM_ATOMIC)
        except OSError:
            pass            # the one before is not quite gone
        self.files[n] = file
        return file

    def _call(self, n):
        dice = self.dice
        file = self.files[n] or self._open(n)
        what = dice.choice(("write", "write", "read", "swap", "verb", "collect", "collect"))
        if what == "write":
            file.write(dice.randbytes(dice.choice((1, 8, 100, 1400, 5000, 60000))))
        elif what == "read":
            file.read_each()
        elif what == "swap":
            file.swap(dice.randbytes(dice.choice((1, 20, 400))))
        elif what == "verb":
            file.verb(self.REGION, dev.add_op(0, 1))
        else:
            file.collect()
        self.done[what] += 1
        if dice.random() < 0.001:
            file.close()
            self.files[n] = None

    def _run(self):
        turn = 0
        while not self._stop.is_set():
            turn += 1
            n = self.dice.randrange(len(self.peers))
            try:
                self._call(n)
                if turn % 16 == 0:
                    self.host.read(65536)
            except OSError:
                time.sleep(0.0002)      # refused, full, gone: the fuzzer's doing

    def end(self):
        """They stop, and their files are closed."""
        self._stop.set()
        self._thread.join(30)
        for file in self.files:
            if file:
                file.close()
