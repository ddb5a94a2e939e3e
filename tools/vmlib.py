# SPDX-License-Identifier: GPL-2.0
"""The test machine: a stock kernel under QEMU with the host's root underneath.

    with Guest() as g:                      with Pair() as p:
        status, out = g.run("uname -r")         p.a.run("ip link set eth0 up")
                                                p.cut()

A guest has the host's whole root, read-only over 9p with a tmpfs laid over
it.  Only directories named in `share` keep what the guest writes.  Leaving the
`with` block powers the guest off and reads its kernel log: an oops, a warning
or anything else of COMPLAINTS in it raises KernelComplaint, whatever the
commands returned.  The log of a failed run is kept in build/vm.

Environment: KERNEL (version to boot), VM_ACCEL (tcg, kvm or auto), VM_BOOT_LIMIT,
VM=none (run on this very host; LocalGuest stands in for Guest).
"""

import atexit
import concurrent.futures
import ctypes
import fcntl
import json
import os
import platform
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple
from pathlib import Path

import tsc
from guest_image import BUILD, PATH, VMError, boot_files, cpio, kernel_version

OUT = BUILD / "out"         # always shared with the guest, writable

GUEST_ENV = {
    "PATH": PATH,
    "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash",
    "LANG": "C.UTF-8", "TERM": "linux",
    "VM": "none",           # tools/vm within the guest runs things right there
    "VM_OUT": str(OUT),
}

# Seconds until the agent must have said hello; a host with much else to do takes more.
BOOT_LIMIT = float(os.environ.get("VM_BOOT_LIMIT") or 180)
PROBE_LIMIT = 8             # the same for trying out kvm

# Under TCG. With ERMS the kernel copies by "rep movsb", which TCG does a byte at a time: a quarter
# of what a guest takes of the processor.
CPU = "max,la57=off,-erms,-fsrm"

# The first tracer patches the scheduler, which is to record names, and the last takes that back.
# QEMU 7.2 translates code without holding its page: with a thread a processor it may execute for ever
# a breakpoint that is there no more. An event that never happens, on from before the second
# processor, is a tracer that neither comes nor goes. With PREEMPT_RT an event that is on so early
# waits for a thread of RCU's that is not there yet, for ever.
QUIET_TRACERS = "trace_event=sched:sched_process_hang "

# What a kernel prints when something is wrong.  Matched against console lines
# from user space on, without their time stamps; there is no list of exceptions.
COMPLAINTS = re.compile(r"""
    \bBUG\b | \bWARNING:\  | \bINFO:\ (?!NMI\ handler) | \bOops\b |
    Kernel\ panic | Call\ Trace: | ^general\ protection\ fault |
    [Uu]nable\ to\ handle\ (kernel|page) | ^rcu:.*\bstall | ^divide\ error |
    LOCKUP | DEADLOCK | Watchdog\ detected | blocked\ for\ more\ than |
    \bK[AC]SAN\b | \bKMSAN\b | \bKFENCE: | \bUBSAN: | \bODEBUG: |
    kmemleak: .* leak | unreferenced\ object | \bleaked\b |
    refcount_t: | unregister_netdevice:\ waiting\ for |
    Objects\ remaining | Slab\ .*(corrupt|error) | slab\ error |
    Poison\ overwritten | Redzone\ overwritten | padding\ overwritten |
    list_(add|del)\ corruption | Bad\ page | bad:\ scheduling |
    page\ allocation\ failure | Out\ of\ memory | invoked\ oom-killer |
    stack\ segment:\ | double\ fault: | Freeing\ .*already-free |
    Trying\ to\ vfree | kobject\ .*(does\ not\ have|tried\ to\ add)
    """, re.VERBOSE)
TIMESTAMP = re.compile(r"^\[ *\d+\.\d+\](\[ *[TC]\d+\])? ")
START_MARK = "vm: user space"     # said by guest-init
LIMIT_MARK = "vm: time limit"     # said by guest-agent


class Crashed(VMError):
    """QEMU itself was ended by a signal that nobody here sent."""


class TimeLimit(VMError):
    """The time limit ran out; the guest was killed."""
    status = 124


class KernelComplaint(VMError):
    """The kernel log shows an oops, a warning, a leak ..."""
    status = 125


Result = namedtuple("Result", "status output")


# --- the kernel log ---------------------------------------------------------

def complaints(lines, before=2, after=45, most=3):
    """Excerpts of a kernel log around what COMPLAINTS finds; empty when all is well."""
    excerpts, last = [], -1
    for i, line in enumerate(lines):
        if i <= last or not COMPLAINTS.search(TIMESTAMP.sub("", line)):
            continue
        if len(excerpts) == most:
            excerpts.append("... and more")
            break
        end = i + 1
        while end < len(lines) and end - i < after and "---[ end" not in lines[end]:
            end += 1
        excerpts.append("\n".join(lines[max(i - before, last + 1):end + 1]))
        last = end
    return excerpts


def read_log(path):
    """A console log from the start of user space on, or all of it when that never came.

    Two lists of lines: what the kernel said by itself, and what it was made to
    say at the time limit.
    """
    text = path.read_text(errors="replace") if path.exists() else ""
    lines = text.replace("\r", "").splitlines()
    start = next((i + 1 for i, line in enumerate(lines) if START_MARK in line), 0)
    end = next((i for i, line in enumerate(lines) if LIMIT_MARK in line), len(lines))
    return lines[start:end], lines[end + 1:]


# --- how it runs -----------------------------------------------------------

def accelerator():
    """tcg, or kvm where a guest has been seen to boot with it.

    That /dev/kvm is there does not mean that it works, so one probe boot finds
    out; the answer is kept for this host and kernel.
    """
    wanted = os.environ.get("VM_ACCEL", "auto")
    if wanted in ("tcg", "kvm"):
        return wanted
    if wanted != "auto":
        raise VMError(f"VM_ACCEL={wanted}: it takes tcg, kvm or auto")
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    BUILD.mkdir(parents=True, exist_ok=True)
    key = " ".join([platform.node(), platform.release(), kernel_version()])
    with open(BUILD / "accel", "a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)        # one probe, the others wait for it
        file.seek(0)
        known = dict(line.rsplit(": ", 1) for line in file.read().splitlines())
        if key not in known:
            print(f"tools/vm: trying once for {PROBE_LIMIT} s whether kvm works",
                  file=sys.stderr)
            try:
                with Guest(accel="kvm", boot_limit=PROBE_LIMIT, keep_log=False) as guest:
                    known[key] = "kvm" if guest.run("true").status == 0 else "tcg"
            except VMError:
                known[key] = "tcg"
            file.write(f"{key}: {known[key]}\n")
    return known[key]


# --- jobs: commands under way in a guest ------------------------------------

class Job:
    """A command that was started.  Its output is collected unless on_output takes it.

    on_output(bytes) is called in a thread that serves the whole guest, so it
    must be quick and must not wait for the guest.
    """

    def __init__(self, on_output=None):
        self.done = threading.Condition()
        self.status = None
        self.data = bytearray()
        self.on_output = on_output
        self.failure = None         # why there will be no status: an exception

    @property
    def output(self):
        """What it has said so far.  Bytes that are not UTF-8 survive as surrogates."""
        with self.done:
            return self.data.decode(errors="surrogateescape")

    def took(self, data):
        """Called by its machine: more output."""
        if self.on_output:
            try:
                self.on_output(data)
            except Exception as error:          # pylint: disable=broad-except
                self.on_output = lambda _: None
                self.ended(failure=error)       # for whoever waits, not for the reader
            return
        with self.done:
            self.data += data
            self.done.notify_all()

    def ended(self, status=None, failure=None):
        """Called by its machine: the last thing that is heard of it."""
        with self.done:
            if self.status is None:
                self.status, self.failure = status, failure
            self.done.notify_all()

    def _wait(self, condition, timeout):
        with self.done:
            met = self.done.wait_for(
                lambda: condition() or self.status is not None or self.failure, timeout)
            if condition():
                return
            if self.failure:
                raise self.failure
            if not met:
                raise TimeoutError(f"nothing after {timeout} s; so far: {self.output!r}")

    def wait(self, timeout=None):
        """Its Result, once it has ended.  TimeoutError leaves it running."""
        self._wait(lambda: self.status is not None, timeout)
        return Result(self.status, self.output)

    def wait_for(self, text, timeout=30):
        """Returns when its output holds text; EOFError when it ends without."""
        self._wait(lambda: text.encode() in self.data, timeout)
        if text not in self.output:
            raise EOFError(f"ended without {text!r}: {self.output!r}")

    def kill(self, number=signal.SIGTERM):
        """Signals the command and its children."""
        raise NotImplementedError

    def write(self, data):
        """Gives it input (start(..., stdin=True)); b"" is end-of-file."""
        raise NotImplementedError


class Machine:
    """What Guest and LocalGuest have in common: running commands."""

    def start(self, command, on_output=None, cwd=None, env=None, stdin=False, tty=None):
        """Starts a command (a list, or a string for the shell) and returns its Job."""
        raise NotImplementedError

    def run(self, command, check=False, timeout=None, **options):
        """Runs a command to its end: Result(status, output).

        With check, a status that is not 0 raises; after timeout seconds the
        command is killed and TimeoutError raised.
        """
        job = self.start(command, **options)
        try:
            result = job.wait(timeout)
        except TimeoutError:
            job.kill(signal.SIGKILL)
            raise
        if check and result.status:
            raise subprocess.CalledProcessError(result.status, command, result.output)
        return result


# --- one guest --------------------------------------------------------------

HEADER = struct.Struct(">IcI")      # see guest-agent

# QEMU is told to die with the thread that started it (PR_SET_PDEATHSIG goes by
# thread), so one thread that lives as long as this process starts them all.
_spawner = concurrent.futures.ThreadPoolExecutor(1)
_libc = ctypes.CDLL(None)
_alive = set()


@atexit.register
def _kill_all():
    for guest in list(_alive):
        guest.kill()


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL)


class GuestJob(Job):
    """A command in a guest."""

    def __init__(self, guest, number, on_output):
        super().__init__(on_output)
        self.guest = guest
        self.number = number

    def kill(self, number=signal.SIGTERM):
        self.guest.send(b"K", self.number, str(int(number)).encode())

    def write(self, data):
        self.guest.send(b"I", self.number, data)

    def resize(self, rows, columns):
        """Tells its terminal (start(..., tty=...)) the new size."""
        self.guest.send(b"W", self.number, f"{rows} {columns}".encode())


class Guest(Machine):
    """A kernel under QEMU.  Use it in a `with`, or call boot() and close().

    share: directories of the host where what the guest writes stays.
    time_limit: seconds after which the guest is killed, come what may.
    """

    def __init__(self, name="guest", mem=1024, smp=2, share=(), time_limit=600,
                 boot_limit=BOOT_LIMIT, accel=None, nics=(), keep_log=True, append=""):
        self.name = name
        self.append = append        # more for the kernel's command line
        self.mem, self.smp = mem, smp
        self.share = [OUT, *map(Path, share)]
        self.time_limit, self.boot_limit = time_limit, boot_limit
        self.accel = accel
        self.nics = nics            # (MAC, socket) each
        self.keep_log = keep_log
        self.jobs, self.next_job = {}, 1
        self.lock = threading.Lock()
        self.hello = threading.Event()
        self.qemu = self.dir = self.console = self.reader = self.timer = None
        self.agent = self.qmp = self.qmp_file = None
        self.failure = None         # the first thing that went wrong, an exception
        self.boot_seconds = None
        self.closing = False

    def __enter__(self):
        self.boot()
        return self

    def __exit__(self, kind, value, trace):
        self.close(value)

    # Life and death

    def boot(self):
        """Starts it and returns when the guest takes commands."""
        begin = time.monotonic()
        self._check()
        for path in self.share:
            path.mkdir(parents=True, exist_ok=True)
        BUILD.mkdir(parents=True, exist_ok=True)
        self.dir = Path(tempfile.mkdtemp(prefix=f"{self.name}-{os.getpid()}-", dir=BUILD))
        self.console = self.dir / "console.log"
        self.agent, agent = socket.socketpair()
        self.qmp, qmp = socket.socketpair()
        theirs = [agent, qmp, *(sock for _, sock in self.nics)]
        argv = self._argv(agent.fileno(), qmp.fileno())
        (self.dir / "command").write_text(shlex.join(argv) + "\n")
        with open(self.dir / "qemu.log", "wb") as log:
            self.qemu = _spawner.submit(
                subprocess.Popen, argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[sock.fileno() for sock in theirs], start_new_session=True,
                preexec_fn=_die_with_parent).result()
        _alive.add(self)
        for sock in theirs:
            sock.close()

        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.timer = threading.Timer(self.time_limit, self._time_is_up)
        self.timer.daemon = True
        self.timer.start()
        try:
            while not self.hello.wait(0.2) and not self.failure:
                if time.monotonic() - begin > self.boot_limit:
                    self._fail(VMError(f"{self.name}: no sign of life after {self.boot_limit} s"))
        except BaseException:           # Ctrl-C: nobody will call close()
            self.kill()
            shutil.rmtree(self.dir, ignore_errors=True)
            raise
        if self.failure:
            self.close()
        (self.dir / "initrd").unlink(missing_ok=True)
        self.boot_seconds = time.monotonic() - begin

    def close(self, error=None):
        """Powers off and reads the kernel log; raises if anything was wrong, else removes it.

        error is the exception that is already on its way, if any.
        """
        if not self.dir:
            return
        if self.hello.is_set() and not self.failure:
            self._before_off()
        if self.hello.is_set() and not self.failure:
            self.closing = True
            self.send(b"Q", 0)
            try:
                self.qemu.wait(20)
            except subprocess.TimeoutExpired:
                self._fail(VMError(f"{self.name}: does not power off"))
        self.kill()
        failure, (lines, late) = self.failure, read_log(self.console)
        found = complaints(lines)
        if found and not isinstance(failure, TimeLimit):
            told = [line for line in lines if COMPLAINTS.search(TIMESTAMP.sub("", line))]
            besides = f" ({failure.args[0]})" if failure else ""
            failure = KernelComplaint(
                f"{self.name}: the kernel complained: {told[0].strip()}{besides}")
        directory, self.dir = self.dir, None
        qemu_log = (directory / "qemu.log").read_text(errors="replace").strip()
        if not failure or not self.keep_log:
            shutil.rmtree(directory, ignore_errors=True)
        if not failure:
            return
        log = self.console.relative_to(BUILD.parent.parent)
        tail = found or ([] if late else ["\n".join(lines[-15:])])
        tail += ["\n".join(late), qemu_log]
        text = [f"{failure.args[0]}; its log: {log}"]
        text += ["    " + line for part in tail for line in part.splitlines()]
        raise type(failure)("\n".join(text)) from (None if isinstance(error, VMError) else error)

    def kill(self):
        """Ends QEMU at once and what hangs on it."""
        if self.timer:
            self.timer.cancel()
        if self.qemu:
            self.qemu.kill()
            self.qemu.wait()
        if self.reader and self.reader is not threading.current_thread():
            self.reader.join()
        for sock in (self.agent, self.qmp):
            sock.close()
        _alive.discard(self)

    def _death(self):
        """What QEMU's end says: a signal, or that the guest itself went off."""
        try:
            status = self.qemu.wait(5)
        except subprocess.TimeoutExpired:
            return VMError(f"{self.name}: died, and its QEMU goes on")
        if status < 0:
            return Crashed(f"{self.name}: died: QEMU was ended by {signal.Signals(-status).name}")
        return VMError(f"{self.name}: died: QEMU ended with status {status}")

    def _fail(self, failure):
        """Notes why, and ends the guest; whoever waits for it is woken by the reader."""
        if not self.failure:
            self.failure = failure
        self.qemu.kill()

    def _time_is_up(self):
        """Has the log show what everybody was waiting for, then ends it."""
        self.failure = self.failure or TimeLimit(
            f"{self.name}: killed at the time limit of {self.time_limit} s")
        try:
            self.agent.settimeout(1)
            self.send(b"S", 0)
            time.sleep(1)
        except OSError:
            pass
        self.qemu.kill()

    def _before_off(self):
        """The last thing that a guest in good health is asked."""

    # What QEMU and guest-init are told

    def _check(self):
        """Raises when it cannot be started here; settles what takes long to find out."""
        if platform.machine() != "x86_64" or not shutil.which("qemu-system-x86_64"):
            raise VMError("needs an x86-64 host with QEMU: run tools/setup vm")
        self.accel = self.accel or accelerator()

    def _argv(self, agent_fd, qmp_fd):
        """The command that starts it."""
        kernel, initramfs = boot_files(kernel_version())
        initrd = self.dir / "initrd"
        initrd.write_bytes(initramfs.read_bytes() + cpio(
            [("conf", 0o100644, self._conf().encode())]))
        return self._qemu(self.accel, kernel, initrd, agent_fd, qmp_fd)

    def _conf(self):
        """Shell text for guest-init."""
        lines = [f"hostname={shlex.quote(self.name)}", f"cwd={shlex.quote(os.getcwd())}",
                 f"nics={len(self.nics)}",
                 "mount_shares() {"]
        for i, path in enumerate(self.share):
            where = shlex.quote("/new" + str(path.resolve()))
            lines += [f"mkdir -p {where}", "mount -t 9p -o trans=virtio,version=9p2000.L,"
                      f"cache=mmap,msize=262144 share{i} {where}"]
        return "\n".join([*lines, "}", ""])

    def _qemu(self, accel, kernel, initrd, agent_fd, qmp_fd):
        """The command line.  x86-64 only; the rest of this file does not care."""
        kvm = accel == "kvm"
        khz = 0 if kvm else tsc.khz()
        quiet = self.smp > 1 and not kvm and not kernel_version().endswith("-rt")
        # When a processor is stuck the log says where, not only who waits for it.
        append = ("console=ttyS0 loglevel=5 panic=-1 oops=panic printk.devkmsg=on "
                  "softlockup_all_cpu_backtrace=1 "
                  "tsc=reliable no_timer_check mitigations=off random.trust_cpu=on "
                  "cryptomgr.notests audit=0 apparmor=0 i8042.nopnp i8042.noaux i8042.nokbd "
                  + (f"tsc_early_khz={khz} " if khz else "")
                  + (QUIET_TRACERS if quiet else "")
                  + self.append)

        def share(i, path, tag, options):
            path = str(path).replace(",", ",,")
            return ["-fsdev", f"local,id=fs{i},path={path},security_model=none{options}",
                    "-device", f"virtio-9p-pci,fsdev=fs{i},mount_tag={tag}"]

        argv = ["qemu-system-x86_64", "-accel", "kvm" if kvm else "tcg,thread=multi",
                "-cpu", "host" if kvm else CPU, "-M", "pc",
                "-smp", str(self.smp), "-m", str(self.mem),
                "-nodefaults", "-display", "none", "-no-reboot",
                "-kernel", str(kernel), "-initrd", str(initrd), "-append", append,
                "-chardev", f"file,id=console,path={str(self.console).replace(',', ',,')}",
                "-serial", "chardev:console",
                "-device", "virtio-serial-pci,max_ports=2",
                "-chardev", f"socket,id=agent,fd={agent_fd}",
                "-device", "virtserialport,chardev=agent,nr=1",
                "-chardev", f"socket,id=qmp,fd={qmp_fd}", "-mon", "chardev=qmp,mode=control",
                *share("root", "/", "hostroot", ",readonly=on,multidevs=remap")]
        for i, path in enumerate(self.share):
            argv += share(i, path.resolve(), f"share{i}", ",multidevs=remap")
        for i, (mac, sock) in enumerate(self.nics):
            # With mergeable buffers QEMU before 9.1 may wait for a kick for ever once
            # the ring ran low ("network stall at the host side").  MTU 1500 at most, so.
            argv += ["-netdev", f"socket,id=net{i},fd={sock.fileno()}",
                     "-device", f"virtio-net-pci,id=nic{i},netdev=net{i},mac={mac},"
                     "mrg_rxbuf=off,rx_queue_size=1024,romfile="]
            for way in ("rx", "tx"):            # switched on by Pair.cut(silent=True)
                argv += ["-chardev", f"null,id=void-{way}{i}", "-object",
                         f"filter-redirector,id=mute-{way}{i},netdev=net{i},queue={way},"
                         f"outdev=void-{way}{i},status=off"]
        return argv

    # Talking to the agent and to QEMU

    def send(self, kind, number, data=b""):
        """One frame to guest-agent."""
        with self.lock:
            try:
                self.agent.sendall(HEADER.pack(len(data), kind, number) + data)
            except OSError:
                pass                    # it has died: the reader tells those who wait

    def start(self, command, on_output=None, cwd=None, env=None, stdin=False, tty=None):
        if isinstance(command, str):
            command = ["/bin/sh", "-c", command]
        with self.lock:
            job = GuestJob(self, self.next_job, on_output)
            self.jobs[job.number] = job
            self.next_job += 1
        if self.failure or not self.dir:
            job.ended(failure=self.failure or VMError(f"{self.name}: is not running"))
        self.send(b"R", job.number, json.dumps(
            {"argv": [str(word) for word in command], "cwd": str(cwd or os.getcwd()),
             "env": {**GUEST_ENV, **(env or {})}, "tty": tty}).encode())
        if not stdin and not tty:
            job.write(b"")
        return job

    def _read(self):
        """The reader thread: hands out what the agent says, until QEMU has gone."""
        with self.agent.makefile("rb", buffering=1 << 20) as stream:
            while True:
                try:
                    header = stream.read(HEADER.size)
                    if len(header) < HEADER.size:
                        break
                    length, kind, number = HEADER.unpack(header)
                    data = stream.read(length)
                except OSError:
                    break
                job = self.jobs.get(number)
                if kind == b"H":
                    self.hello.set()
                elif kind == b"O" and job:
                    job.took(data)
                elif kind == b"X" and job:
                    del self.jobs[number]
                    job.ended(int(data))
        if not self.failure and not self.closing:
            self.failure = self._death()
        for job in list(self.jobs.values()):
            job.ended(failure=self.failure or VMError(f"{self.name}: was switched off"))

    def monitor(self, command, **arguments):
        """A QMP command to QEMU; its answer."""
        if not self.qmp_file:
            self.qmp_file = self.qmp.makefile("rwb")
            self.qmp_file.readline()            # the greeting
            self.monitor("qmp_capabilities")
        self.qmp_file.write(json.dumps({"execute": command, "arguments": arguments}).encode())
        self.qmp_file.flush()
        for line in self.qmp_file:
            answer = json.loads(line)
            if "error" in answer:
                raise VMError(f"{self.name}: {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise VMError(f"{self.name}: QEMU has gone")


# --- two guests and the cables between them ---------------------------------

class Pair:
    """Guests a and b, joined by cables: eth0 of a to eth0 of b, eth1 to eth1, ...

    Their MAC addresses are 02:0a:e0:00:0N:01 in a and 02:0a:e0:00:0N:02 in b,
    N being the number of the cable.  The interfaces are down to begin with.
    """

    def __init__(self, cables=1, mem=700, smp=1, **options):
        if os.environ.get("VM") == "none":
            raise VMError("a pair takes two kernels: not with VM=none")
        ends = [socket.socketpair() for _ in range(cables)]
        self.a, self.b = (
            Guest(name, mem, smp, nics=[(f"02:0a:e0:00:{cable:02x}:{side + 1:02x}", pair[side])
                                        for cable, pair in enumerate(ends)], **options)
            for side, name in enumerate("ab"))

    def __enter__(self):
        accelerator()               # a probe must not count as boot time
        with concurrent.futures.ThreadPoolExecutor() as pool:
            boots = [pool.submit(guest.boot) for guest in (self.a, self.b)]
        for boot in boots:
            if boot.exception():
                self.__exit__(None, boot.exception(), None)
                raise boot.exception()
        return self

    def __exit__(self, kind, value, trace):
        """Closes both, whatever happens, and tells the failures of both."""
        failures = [value] if isinstance(value, VMError) and kind is None else []
        for guest in (self.a, self.b):
            try:
                guest.close(value)
            except VMError as failure:
                failures.append(failure)
        if failures:
            worst = max(failures, key=lambda failure: failure.status)
            raise type(worst)("\n".join(str(failure) for failure in failures)) from (
                None if isinstance(value, VMError) else value)

    def cut(self, cable=0, silent=False, only=None):
        """Pulls a cable: both ends lose carrier.

        silent: the frames are lost but the carrier stays.  With only="a" just
        those that a sends, with only="b" just those that b sends.
        """
        if silent:
            for way, sender in (("rx", "a"), ("tx", "b")):
                if only in (None, sender):
                    self._mute(way, cable, "on")
        else:
            self._carrier(cable, False)

    def mend(self, cable=0):
        """Undoes every cut of a cable."""
        for way in ("rx", "tx"):
            self._mute(way, cable, "off")
        self._carrier(cable, True)

    def _mute(self, way, cable, status):
        """QEMU's own packet filter loses frames, at a's end."""
        self.a.monitor("qom-set", path=f"/objects/mute-{way}{cable}",
                       property="status", value=status)

    def _carrier(self, cable, up):
        for guest in (self.a, self.b):
            guest.monitor("set_link", name=f"nic{cable}", up=up)


# --- no guest: this very host -----------------------------------------------

class LocalJob(Job):
    """A command on this host."""

    def __init__(self, argv, cwd, env, stdin, on_output):
        super().__init__(on_output)
        self.process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while data := self.process.stdout.read1(1 << 18):
            self.took(data)
        status = self.process.wait()
        self.ended(128 - status if status < 0 else status)

    def kill(self, number=signal.SIGTERM):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def write(self, data):
        if data:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        else:
            self.process.stdin.close()


class LocalGuest(Machine):
    """Stands in for Guest where the host itself may load modules (VM=none).

    The same commands, the same look at the kernel log, but no kernel to spare:
    an oops here is an oops of this host.
    """

    def __init__(self, name="host", time_limit=600, **_):
        self.name, self.time_limit = name, time_limit
        self.boot_seconds = 0.0
        self.jobs, self.failure = [], None
        self.kmsg = self.timer = None

    def __enter__(self):
        if os.geteuid():
            raise VMError("VM=none works on this host's kernel and needs root")
        self.kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.kmsg, 0, os.SEEK_END)
        OUT.mkdir(parents=True, exist_ok=True)
        self.timer = threading.Timer(self.time_limit, self._time_is_up)
        self.timer.daemon = True
        self.timer.start()
        return self

    def __exit__(self, kind, value, trace):
        self.timer.cancel()
        for job in self.jobs:
            if job.status is None:
                job.kill(signal.SIGKILL)
        found = complaints(self._log())
        if found and not self.failure:
            self.failure = KernelComplaint(f"{self.name}: the kernel complained")
        if self.failure:
            raise type(self.failure)("\n".join([str(self.failure), *found])) from (
                None if isinstance(value, VMError) else value)

    def _time_is_up(self):
        self.failure = TimeLimit(f"{self.name}: killed at the time limit of {self.time_limit} s")
        for job in self.jobs:
            job.ended(failure=self.failure)
            job.kill(signal.SIGKILL)

    def _log(self):
        """The records of the kernel log since the start."""
        lines = []
        while True:
            try:
                lines.append(os.read(self.kmsg, 8192).decode(errors="replace")
                             .split("\n")[0].partition(";")[2])
            except BlockingIOError:
                os.close(self.kmsg)
                return lines
            except BrokenPipeError:         # overwritten before it was read
                continue

    def start(self, command, on_output=None, cwd=None, env=None, stdin=False, tty=None):
        if isinstance(command, str):
            command = ["/bin/sh", "-c", command]
        environment = {**os.environ, **GUEST_ENV, **(env or {})}
        try:
            job = LocalJob(command, cwd, environment, stdin, on_output)
        except OSError as error:
            job = Job(on_output)
            job.took(f"{command[0]}: {error}\n".encode())
            job.ended(127 if isinstance(error, FileNotFoundError) else 126)
            return job
        self.jobs.append(job)
        return job


def machine(**options):
    """A Guest, or with VM=none in the environment a LocalGuest."""
    return (LocalGuest if os.environ.get("VM") == "none" else Guest)(**options)
