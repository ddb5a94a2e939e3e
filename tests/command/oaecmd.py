# SPDX-License-Identifier: GPL-2.0
"""The command oae in a host of the regression tests: run it, start it, read its JSON."""

import json
import os
import re
import signal
import subprocess
import threading

from oaetest import REPO, wait_for
from patience import SLOW

OAE = os.environ.get("OAE_COMMAND") or str(REPO / "build" / "oae" / "oae")


class Said:
    """What a run of the command said."""

    def __init__(self, args, status, out, err):
        self.args, self.status, self.out, self.err = args, status, out, err

    def __repr__(self):
        return f"oae {' '.join(self.args)}: status {self.status}\n{self.out}{self.err}"

    @property
    def json(self):
        """Its output, parsed."""
        return json.loads(self.out)


def oae(host, *args, status=0, data=b"", env=None, timeout=30):
    """Run it to its end. The exit code must be `status`; None: whatever it is."""
    args = [str(arg) for arg in args]
    if not os.path.exists(OAE):
        raise AssertionError(f"{OAE} is not there: make -C tools/oae")

    def start():
        return subprocess.run([OAE, *args], input=data, capture_output=True, check=False,
                              timeout=timeout * SLOW, env={**os.environ, **(env or {})})
    if host:
        with host:
            done = start()
    else:
        done = start()
    said = Said(args, done.returncode, done.stdout.decode(errors="surrogateescape"),
                done.stderr.decode(errors="surrogateescape"))
    if status is not None and said.status != status:
        raise AssertionError(f"expected exit code {status}: {said!r}")
    return said


class Running:
    """The command in the background; its lines as they come."""

    def __init__(self, host, *args, data=None):
        self.args = [str(arg) for arg in args]
        self.lines, self.errors = [], []
        with host:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([OAE, *self.args], text=True, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if data is not None:
            self.process.stdin.write(data)
        self.process.stdin.close()
        self._threads = [
            threading.Thread(target=self._read, args=(pipe, to), daemon=True)
            for pipe, to in ((self.process.stdout, self.lines),
                             (self.process.stderr, self.errors))]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(pipe, to):
        for line in pipe:
            to.append(line.rstrip("\n"))
        pipe.close()

    def said(self):
        """For messages: what it was told, what it has said, and if it still runs."""
        return f"{self.args}, which said {self.lines} {self.errors}, status {self.process.poll()}"

    def line(self, pattern, deadline=20):
        """Wait for a line that matches; the match."""
        regex = re.compile(pattern)
        return wait_for(lambda: next(filter(None, map(regex.search, list(self.lines))), None),
                        lambda: f"{pattern} from oae {self.said()}", deadline)

    def objects(self):
        """Each line so far as JSON."""
        return [json.loads(line) for line in list(self.lines)]

    def event(self, deadline=20, **members):
        """Wait for an object with these members."""
        return wait_for(
            lambda: next((o for o in self.objects() if members.items() <= o.items()), None),
            lambda: f"{members} from oae {self.said()}", deadline)

    def end(self, deadline=20):
        """Wait until it ends of itself; its exit code."""
        status = self.process.wait(deadline * SLOW)
        for thread in self._threads:
            thread.join()
        return status

    def stop(self):
        """Interrupt it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.end()

    def kill(self):
        """For addCleanup."""
        if self.process.poll() is None:
            self.process.kill()
        self.end()
