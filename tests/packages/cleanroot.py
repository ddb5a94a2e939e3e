# SPDX-License-Identifier: GPL-2.0
"""A clean Debian root, of this machine's own release and from its own mirror.

    root = CleanRoot(directory)
    root.make()                         what debootstrap makes, and nothing else; or
    root.with_kernel("6.1.0-50-amd64")  that, and a kernel with its headers
    root.apt("install", "hello")
    root.run("hello")                   in it; its output

What debootstrap makes and what apt fetches is kept in ~/.cache/modoae for the
next time. No process and no mount of a run outlives it.
"""

import atexit
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modoae"
BACKPORTS = "etc/apt/sources.list.d/backports.list"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# $1 root, $2 cache of apt, $3 ...: the command.
ENTER = """
mount -t proc proc "$1/proc" &&
mount --bind "$2" "$1/var/cache/apt/archives" || exit 125
root=$1
shift 2
exec chroot "$root" "$@"
"""


def output(*command, **options):
    """What a command prints; an exception that has it all if it fails."""
    done = subprocess.run([str(word) for word in command], text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n"
                             f"{done.stdout[-6000:]}")
    return done.stdout


def os_release(field):
    """A field of /etc/os-release; empty if there is none."""
    for line in Path("/etc/os-release").read_text().splitlines():
        name, _, value = line.partition("=")
        if name == field:
            return value.strip('"')
    return ""


def own_sources():
    """(URI, suite, component) of what this machine's apt has of its distribution."""
    text = output("apt-get", "indextargets", "--format",
                  "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(CODENAME)",
                  "Created-By: Packages")
    rows = [line.split("|") for line in text.splitlines()]
    codename = os_release("VERSION_CODENAME")
    own = [row for row in rows if codename in (row[4], row[1])]
    if not own:
        raise AssertionError(f"apt has no source of {codename} here")
    origin = own[0][3]
    # the release itself first: that is the one debootstrap uses
    return [tuple(row[:3]) for row in own] + \
        [tuple(row[:3]) for row in rows if row[3] == origin and row not in own]


class CleanRoot:
    """A directory with a Debian in it."""

    def __init__(self, path):
        self.path = Path(path)
        self.codename = os_release("VERSION_CODENAME")
        self.archives = CACHE / "debs"

    def make(self):
        """Make it anew, up to date, with all sources that this machine has, and backports."""
        self.remove()
        (self.archives / "partial").mkdir(parents=True, exist_ok=True)
        self.path.mkdir(parents=True)
        output("tar", "-xpf", self._base(), "--numeric-owner", "-C", self.path)
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            shutil.copy(name, f"{self.path}{name}")
        self._write("etc/apt/apt.conf.d/99root", self._apt_settings())
        self._write("etc/dpkg/dpkg.cfg.d/quick", "force-unsafe-io\n")
        self._write("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n").chmod(0o755)
        sources = own_sources()
        self._write("etc/apt/sources.list", "".join(
            f"deb {uri} {suite} {component}\n" for uri, suite, component in sources))
        self.apt("update")
        self.apt("upgrade")
        extra = self._write(BACKPORTS,
                            f"deb {sources[0][0]} {self.codename}-backports main\n")
        try:
            self.apt("update")
        except AssertionError:
            extra.unlink()
            self.apt("update")

    def with_kernel(self, kernel):
        """Make it, with a kernel and its headers, as on anybody's machine.

        Made once a run, in a directory beside it, and copied.
        """
        with_kernel = CleanRoot(self.path.parent / f"kernel.{os.getpid()}")
        if not with_kernel.path.exists():
            atexit.register(with_kernel.remove)
            with_kernel.make()
            with_kernel.apt("install", f"linux-image-{kernel}", f"linux-headers-{kernel}", "kmod")
        self.remove()
        output("cp", "-a", "--reflink=auto", with_kernel.path, self.path)

    def has_backports(self):
        """Does the mirror have backports?"""
        return (self.path / BACKPORTS).exists()

    def remove(self):
        """Take it away."""
        if self.path.exists():
            output("rm", "-rf", "--one-file-system", self.path)

    def _write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def _base(self):
        """debootstrap's, as a tar file."""
        machine = output("dpkg", "--print-architecture").strip()
        tar = CACHE / f"root-{self.codename}-{machine}.tar"
        if not tar.exists():
            made, part = CACHE / f"root.{os.getpid()}", Path(f"{tar}.{os.getpid()}")
            try:
                output("debootstrap", "--variant=minbase", self.codename, made,
                       own_sources()[0][0])
                output("tar", "-cpf", part, "--numeric-owner", "-C", made, ".")
                part.rename(tar)
            finally:
                shutil.rmtree(made, ignore_errors=True)
                part.unlink(missing_ok=True)
        return tar

    def _apt_settings(self):
        """apt as on this machine, as far as reaching the mirror goes, and without questions."""
        text = output("apt-config", "dump", "Acquire::http::Proxy", "Acquire::https::Proxy",
                      "Acquire::Retries")
        bundle = "etc/ssl/certs/ca-certificates.crt"
        if any(uri.startswith("https") for uri, _, _ in own_sources()):
            (self.path / bundle).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(f"/{bundle}", self.path / bundle)
        return text + 'APT::Install-Recommends "false";\nAPT::Sandbox::User "root";\n' \
            'APT::Get::Assume-Yes "true";\nDPkg::Use-Pty "false";\n'

    def run(self, *command, **env):
        """Run it in there, with a /proc of its own; what it printed."""
        proxies = {name: value for name, value in os.environ.items()
                   if name.lower() in ("http_proxy", "https_proxy", "no_proxy")}
        return output("unshare", "--mount", "--pid", "--fork", "--kill-child",
                      "sh", "-c", ENTER, "sh", self.path, self.archives, *command,
                      env={"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8",
                           "DEBIAN_FRONTEND": "noninteractive", **proxies, **env})

    def apt(self, *words):
        """apt-get; kernels get no initramfs, since nobody boots this root."""
        with open(CACHE / "debs.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)        # apt's own does not wait
            return self.run("apt-get", "-q", *words, INITRD="No")

    def packages(self):
        """Their states by name, as dpkg -l abbreviates them."""
        text = self.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n")
        return dict(line.split()[:2] for line in text.splitlines())

    def files(self):
        """Every path in it, but for what is only a cache or a log."""
        found = set()
        top = str(self.path)
        for directory, names, files in os.walk(top):
            here = directory[len(top):] or "/"
            if here in ("/proc", "/var/cache", "/var/log", "/var/lib/apt", "/tmp", "/root"):
                names.clear()
                continue
            found.update(os.path.join(here, name) for name in names + files)
        return found
