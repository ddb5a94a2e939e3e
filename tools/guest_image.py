# SPDX-License-Identifier: GPL-2.0
"""What a guest boots: a distribution kernel and an initramfs made for it.

Both are kept in build/vm/cache until one of their ingredients changes.
"""

import gzip
import hashlib
import lzma
import os
import struct
import subprocess
import tempfile
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
BUILD = TOOLS.parent / "build" / "vm"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What it takes to reach the host's root and the host; the rest is loaded from there.
MODULES = ["virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay"]
NIC_MODULES = ["virtio_net"]


class VMError(Exception):
    """Something went wrong with the machine, not with a command in it."""
    status = 123            # what tools/vm exits with


def kernel_version():
    """tools/setup decides, so that what is booted is what modules are built for."""
    found = subprocess.run([TOOLS / "setup", "--kernel"], stdout=subprocess.PIPE, text=True,
                           check=False)
    if found.returncode:
        raise VMError("no kernel to boot: run tools/setup vm build")
    return found.stdout.strip()


def kernel_root(version):
    """Where the kernel's image and modules are: "/", or where tools/kernels has put them."""
    found = subprocess.run([TOOLS / "kernels", "dir", version], stdout=subprocess.PIPE,
                           text=True, check=True)
    return Path(found.stdout.strip() or "/")


def unpack_kernel(image):
    """The ELF kernel inside a bzImage, or None.

    QEMU starts it through its PVH entry, which saves the guest from unpacking
    it: under TCG that is most of the time a boot takes.
    """
    data = image.read_bytes()
    if data[0x202:0x206] != b"HdrS":
        return None
    start, length = struct.unpack_from("<II", data, 0x248)
    start += ((data[0x1f1] or 4) + 1) * 512
    payload = data[start:start + length]
    try:
        if payload.startswith(b"\xfd7zXZ"):
            elf = lzma.LZMADecompressor().decompress(payload)
        elif payload.startswith(b"\x1f\x8b"):
            elf = gzip.decompress(payload[:-4])
        elif payload.startswith(b"\x28\xb5\x2f\xfd"):
            elf = subprocess.run(["zstd", "-dqc"], input=payload, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, check=False).stdout
        else:
            return None
    except (OSError, EOFError, gzip.BadGzipFile, lzma.LZMAError):
        return None
    return elf if elf.startswith(b"\x7fELF") else None


def cpio(files):
    """A newc archive of (name, mode, data); made here so that it takes neither root nor cpio."""
    out = bytearray()
    for number, (name, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")]):
        major_minor = (5, 1) if name == "dev/console" else (0, 0)
        out += b"070701" + b"".join(b"%08X" % field for field in (
            number, mode, 0, 0, 1, 0, len(data), 0, 0, *major_minor, len(name) + 1, 0))
        out += name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def module_files(version, names):
    """Paths of modules with all they need, in load order."""
    paths = []
    for name in names:
        shown = subprocess.run(["modprobe", "-d", kernel_root(version), "-S", version,
                                "--show-depends", name],
                               stdout=subprocess.PIPE, text=True, check=False,
                               env={**os.environ, "PATH": PATH})
        if shown.returncode:
            raise VMError(f"kernel {version} has no module {name}")
        for line in shown.stdout.splitlines():
            word = line.split()
            if word[:1] == ["insmod"] and word[1] not in paths:
                paths.append(word[1])
    return [Path(path) for path in paths]


def unpack_module(path):
    """busybox insmod takes only plain modules, Debian compresses them from 13 on."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dqc"], input=data, stdout=subprocess.PIPE,
                              check=True).stdout
    return data


def make_initramfs(version):
    """guest-init, guest-agent, busybox and the modules that it takes to reach the root."""
    paths = module_files(version, MODULES + NIC_MODULES)
    base = len(module_files(version, MODULES))
    root = kernel_root(version)
    tree = f"{root}/lib/modules/{version}" if root != Path("/") else ""

    def names(some):
        return [path.name.split(".")[0] + ".ko\n" for path in some]

    applets = "cat cp hostname insmod ip ln mkdir mount switch_root".split()
    files = [(name, 0o40755, b"") for name in "bin dev proc sys lib".split()]
    files += [
        ("dev/console", 0o20600, b""),
        ("bin/busybox", 0o100755, Path("/bin/busybox").read_bytes()),
        ("init", 0o100755, (TOOLS / "guest-init").read_bytes()),
        ("guest-agent", 0o100755, (TOOLS / "guest-agent").read_bytes()),
        ("modules", 0o100644, "".join(names(paths[:base])).encode()),
        ("nic-modules", 0o100644, "".join(names(paths[base:])).encode()),
        ("module-tree", 0o100644, tree.encode()),
    ]
    files += [("bin/" + name, 0o120777, b"busybox") for name in applets]
    files += [("lib/" + name.strip(), 0o100644, unpack_module(path))
              for name, path in zip(names(paths), paths)]
    return cpio(files)


def cached(name, ingredients, make):
    """build/vm/cache/NAME-HASH, made when it is not there.  Two makers at once do no harm."""
    digest = hashlib.sha256(repr(ingredients).encode()).hexdigest()[:16]
    path = BUILD / "cache" / f"{name}-{digest}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(make())
        os.replace(file.name, path)
        for old in path.parent.glob(f"{name}-*"):
            if old != path and time.time() - old.stat().st_mtime > 86400:
                old.unlink(missing_ok=True)
    return path


def stamp(*paths):
    """What tells one state of files from another."""
    return [(str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in paths]


def boot_files(version):
    """The kernel and the initramfs to boot, from the cache when nothing has changed."""
    root = kernel_root(version)
    image = root / "boot" / f"vmlinuz-{version}"
    if not image.exists():
        raise VMError(f"there is no {image}: run tools/setup vm, or choose another KERNEL")
    kernel = cached(f"vmlinux-{version}", stamp(image), lambda: unpack_kernel(image) or b"")
    initramfs = cached(
        f"initramfs-{version}",
        stamp(__file__, TOOLS / "guest-init", TOOLS / "guest-agent", "/bin/busybox",
              root / "lib" / "modules" / version / "modules.dep"),
        lambda: make_initramfs(version))
    return kernel if kernel.stat().st_size else image, initramfs
