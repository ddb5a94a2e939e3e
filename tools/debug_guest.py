# SPDX-License-Identifier: GPL-2.0
"""A guest with the debug kernel: User Mode Linux, made by tools/debugkernel.

The same as vmlib's Guest to whoever uses it: the host's root with a tmpfs over
it, shares that keep what is written, the kernel log read at the end.  Before
the end the kernel is made to look for memory that nobody points to any more.

Modules must be built for it (tools/build --debug); commands are told where they
are, and by OAE_SLOW how many times longer things may take.
"""

import os
import platform
import shlex
import subprocess
import threading
from pathlib import Path

from guest_image import TOOLS, VMError
from vmlib import Guest

MODULES = TOOLS.parent / "build" / "debug"      # where tools/build --debug puts them
SLOW = 4                    # system calls are slow, and every access is checked

# Looks twice, as what is in motion during one look may seem to be lost. What the kernel
# itself lost while it booted (pid 0) is not the modules' doing, so the kernel's own summary
# is kept off the console and the rest reported. Nothing younger than 5 s is ever reported.
LEAK_SCAN = """
[ $(($(cat /proc/sys/kernel/tainted) & 4096)) != 0 ] || exit 0   # no module of ours was loaded
sleep 6
echo 4 >/proc/sys/kernel/printk
for _ in 1 2; do echo scan >/sys/kernel/debug/kmemleak; done
echo 7 >/proc/sys/kernel/printk
awk '/^unreferenced object/ { head = $0; next }
	head != "" { ours = !/, pid 0,/; if (ours) print "kmemleak: a leak:\\n" head; head = "" }
	ours' /sys/kernel/debug/kmemleak |
while read -r line; do echo "$line" >/dev/kmsg; done
"""
LEAK_LIMIT = 240            # seconds that may take


def debug_kernel():
    """The directory that tools/debugkernel has made: linux, build, modules."""
    found = subprocess.run([TOOLS / "debugkernel", "--dir"], stdout=subprocess.PIPE, text=True,
                           check=False)
    if found.returncode:
        raise VMError("no debug kernel here: run tools/debugkernel")
    return Path(found.stdout.strip())


class DebugGuest(Guest):
    """User Mode Linux in QEMU's place."""

    def __init__(self, name="guest", mem=2048, boot_limit=300, **options):
        super().__init__(name, mem, boot_limit=boot_limit, **options)
        self.kernel = self.logger = None

    def _check(self):
        if platform.machine() != "x86_64":
            raise VMError("needs an x86-64 host")
        self.kernel = debug_kernel()

    def _argv(self, agent_fd, qmp_fd):
        conf = self.dir / "conf"
        conf.write_text(self._conf())
        # A console must be something that can be polled, so it is not the log itself.
        self.logger = threading.Thread(target=self._log, daemon=True)
        self.logger.start()
        # Its memory is a file in /dev/shm.
        return [str(self.kernel / "linux"), f"mem={self.mem}M", f"ncpus={self.smp}", "seccomp=on",
                f"uml_dir={self.dir}", "umid=uml", "root=none", "rootfstype=hostfs",
                "rootflags=/", "ro", f"init={TOOLS / 'guest-init-debug'}", f"guest_conf={conf}",
                f"ssl0=fd:{agent_fd}", "con=null", f"con0=null,fd:{qmp_fd}", "console=tty0",
                # Caches keep pointers to what they gave out last, where kmemleak finds them,
                # and objects that were freed count as in use: not when they are debugged.
                "slub_debug=F",
                # Its clock for limits of time has steps of a tick, 10 ms: in softirqs, what was
                # freed by RCU (kmemleak's notes, most of it) would leave nothing to processes
                # for a minute at a time.
                "rcutree.use_softirq=0",
                "loglevel=5", "panic=0", "oops=panic", "printk.devkmsg=on", "audit=0",
                *self.append.split()]

    def _conf(self):
        words = {"hostname": self.name, "cwd": os.getcwd(), "agent": TOOLS / "guest-agent",
                 "port": "/dev/ttyS0", "modules": self.kernel / "modules"}
        lines = [f"{name}={shlex.quote(str(value))}" for name, value in words.items()]
        lines += ["mount_shares() {"]
        for path in map(Path.resolve, self.share):
            where = shlex.quote("/run/root" + str(path))
            lines += [f"mkdir -p {where}", f"mount -t hostfs -o {shlex.quote(str(path))} "
                      f"share {where}"]
        return "\n".join([*lines, "}", ""])

    def start(self, command, on_output=None, cwd=None, env=None, stdin=False, tty=None):
        modules = {variable: str(MODULES / name / f"{name}.ko")
                   for variable, name in (("OAE_MODULE", "modoae"), ("OAEIP_MODULE", "modoaeip"))
                   if (MODULES / name / f"{name}.ko").exists()}
        return super().start(command, on_output, cwd,
                             {**modules, "OAE_SLOW": str(SLOW), **(env or {})}, stdin, tty)

    def _before_off(self):
        try:
            self.run(LEAK_SCAN, timeout=LEAK_LIMIT)
        except TimeoutError:
            self._fail(VMError(f"{self.name}: no end of the search for leaks"))
        except VMError:
            pass                            # it has died: close() tells

    def _log(self):
        """A thread that writes what comes from the console to the log."""
        with open(self.console, "wb", buffering=0) as log:
            while data := self.qmp.recv(1 << 16):
                log.write(data)

    def kill(self):
        if self.qemu:
            self.qemu.kill()
            self.qemu.wait()
            self.logger.join()
        super().kill()

    def monitor(self, command, **arguments):
        raise VMError("the debug kernel has no monitor")
