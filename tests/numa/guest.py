"""A guest of several sockets and memory nodes, under QEMU without hardware help, with the host's programs.

The guest's file system is the host's, read-only (9p); what it writes goes to one folder. So the same Python,
the same compiler and the same compiled programs run on a machine whose shape the test chooses.
"""

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import initramfs
from kernel import QEMU, Kernel, busybox

MEBIBYTE = 1 << 20
OUTSIDE = "/run/outside"  # where the guest sees the folder that it may write to

_START = """#!/bin/busybox sh
b=/bin/busybox
# A guest that hangs ends itself, should the host have forgotten it.
{{ $b sleep {seconds}; $b poweroff -f; }} &
$b mkdir -p /host
for module in {modules}; do $b insmod /modules/$module || echo "guest: no module $module"; done
nine=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o $nine,ro,cache=loose host /host || echo "guest: no host files"
$b mount -t proc proc /host/proc
$b mount -t sysfs sysfs /host/sys
$b mount -t devtmpfs devices /host/dev
$b mount -t tmpfs run /host/run
$b mkdir {outside}
$b mount -t 9p -o $nine outside {outside} || echo "guest: no folder to write to"
echo "guest: the job starts"
$b chroot /host /bin/sh {job}/job >{outside}/stdout 2>{outside}/stderr </host/dev/null
echo $? >{outside}/status
echo "guest: the job has ended"
$b sync
$b poweroff -f
"""


class GuestError(Exception):
    """The guest did not do its job; the text holds all that it said."""


@dataclass(frozen=True)
class Shape:
    """The machine that a guest shall be. `distances[i][j]` is the SLIT's from node i to node j."""

    name: str
    sockets: int
    nodes_of_socket: int
    cores_of_node: int
    node_bytes: int
    distances: tuple[tuple[int, ...], ...]

    @property
    def nodes(self) -> int:
        return self.sockets * self.nodes_of_socket

    @property
    def cores(self) -> int:
        return self.nodes * self.cores_of_node

    def cpus(self, node: int) -> tuple[int, ...]:
        """The processors of a memory node."""
        return tuple(range(node * self.cores_of_node, (node + 1) * self.cores_of_node))


def command(shape: Shape, image: Path, first_files: Path, outside: Path) -> list[str]:
    """The command line of QEMU."""
    words = [QEMU, "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio", "-machine", "q35"]
    # The emulator's AVX is young (new in QEMU 7.2, which Debian 12 has), and nothing here needs it: numpy is content
    # with what this processor has. With "max" an interpreter crashed in the guest, once in some twenty visits.
    words += ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"]
    cores = shape.nodes_of_socket * shape.cores_of_node
    words += ["-smp", f"{shape.cores},sockets={shape.sockets},cores={cores},threads=1"]
    words += ["-m", f"{shape.nodes * shape.node_bytes // MEBIBYTE}"]
    for node in range(shape.nodes):
        cpus = shape.cpus(node)
        words += ["-object", f"memory-backend-ram,id=memory{node},size={shape.node_bytes}"]
        words += ["-numa", f"node,nodeid={node},memdev=memory{node},cpus={cpus[0]}-{cpus[-1]}"]
    for i in range(shape.nodes):
        for j in range(shape.nodes):
            words += ["-numa", f"dist,src={i},dst={j},val={shape.distances[i][j]}"]
    for tag, path, rights in (("host", Path("/"), ",readonly=on,multidevs=remap"), ("outside", outside, "")):
        words += ["-fsdev", f"local,id={tag},path={path},security_model=none{rights}"]
        words += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    # panic=-1: a kernel that dies restarts at once, which -no-reboot turns into an end. NUMA balancing hides
    # pages for a while in order to see who uses them, and hidden pages cannot be asked for their node.
    return [
        *words,
        *("-kernel", str(image), "-initrd", str(first_files)),
        *("-append", "console=ttyS0 loglevel=5 panic=-1 numa_balancing=disable"),
    ]


def visit(
    shape: Shape,
    kernel: Kernel,
    jobs: Sequence[Sequence[str]],
    *,
    environment: Mapping[str, str],
    outside: Path,
    seconds: float,
) -> dict[str, int]:
    """Starts the guest and runs the commands one after the other; returns the exit code of each.

    The first word of each job is its name. What they wrote below `OUTSIDE` is in the folder `outside`, and
    their output in `stdout` and `stderr` there. GuestError, with the console's log whole, when the guest does
    not end its job within `seconds`.
    """
    first_files = outside / "initramfs"
    first_files.write_bytes(_first_files(kernel, seconds))
    (outside / "job").write_text(_job(jobs, environment), encoding="utf-8")
    said = watch(command(shape, kernel.image, first_files, outside), seconds)
    status = _text(outside / "status")
    if status.strip() != "0":
        raise GuestError(
            f"The guest '{shape.name}' did not do its job (status '{status.strip()}').\n{_all(outside, said)}"
        )
    codes = dict(line.split() for line in _text(outside / "codes").splitlines())
    return {name: int(code) for name, code in codes.items()}


def told(outside: Path) -> str:
    """The standard output and error of what ran in the guest."""
    return "".join(f"--- {name}:\n{_text(outside / name)}" for name in ("stdout", "stderr"))


def _first_files(kernel: Kernel, seconds: float) -> bytes:
    """BusyBox, the modules, and the script that mounts the host's files and does the job."""
    program = busybox()
    assert program, "prepare() has seen to it"
    start = _START.format(
        modules=" ".join(kernel.modules), outside="/host" + OUTSIDE, job=OUTSIDE, seconds=round(seconds)
    )
    files = [*map(initramfs.folder, ("dev", "bin", "modules")), *initramfs.devices()]
    files += [
        initramfs.program("bin/busybox", program.read_bytes()),
        initramfs.program("init", start.encode()),
    ]
    files += [initramfs.program(f"modules/{name}", content) for name, content in kernel.modules.items()]
    return initramfs.pack(files)


def _job(jobs: Sequence[Sequence[str]], environment: Mapping[str, str]) -> str:
    """A shell script; the first word of each job is its name."""
    lines = ["set -u", "cd /run"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    for name, *words in jobs:
        lines += [shlex.join(words), f'echo "{name} $?" >>{OUTSIDE}/codes']
    return "\n".join(lines) + "\n"


def watch(words: Sequence[str], seconds: float) -> str:
    """What a program says until it ends; one that hangs is killed after `seconds`, and that is said."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
        return said
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        return f"{said}\n(killed after {seconds:.0f} s)"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _all(outside: Path, console: str) -> str:
    return f"{told(outside)}--- console:\n{console}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
