"""Gets what the guest starts with: QEMU, BusyBox, and Debian's kernel with its 9p modules."""

import lzma
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from steelyard.measure.build import cache

QEMU = "qemu-system-x86_64"
PACKAGES = ("qemu-system-x86", "busybox-static")
# Debian's kernel for all machines: the one for clouds is smaller, but has no 9p file system.
KERNEL_PACKAGE = "linux-image-amd64"
# In the order in which they need one another; a kernel that has one of them built in simply does not ship it.
MODULES = (
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "9pnet",
    "9pnet_virtio",
    "netfs",
    "fscache",
    "9p",
)
_APT_SECONDS = 240  # the kernel has 71 MB; a network that takes longer should say so


class MissingError(Exception):
    """The guest cannot be started here; the text says what to install."""


@dataclass(frozen=True)
class Kernel:
    """The image, and the modules that are to be loaded, by name, in their order."""

    image: Path
    modules: dict[str, bytes]


def prepare() -> None:
    """Sees that QEMU and a static BusyBox are there: installs them where it may. MissingError says how."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise MissingError(f"The guest is an x86_64 machine; on {platform.machine()} there is no such test yet.")
    if shutil.which(QEMU) and busybox():
        return
    install = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise MissingError(f"This test needs {QEMU} and a statically linked busybox. As root: {install}  (on Debian)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-q", "-y", "install", "--no-install-recommends", *PACKAGES]
    if _apt(command, environment).returncode != 0:
        _apt(["apt-get", "-q", "update"], environment)
        done = _apt(command, environment)
        if done.returncode != 0:
            raise MissingError(f"What the guest needs could not be installed with: {install}\n{done.stdout}")


def busybox() -> Path | None:
    """The statically linked BusyBox; None where there is none, or one that needs libraries."""
    found = shutil.which("busybox")
    # A program that is linked dynamically names its loader.
    return Path(found) if found and b"/ld-linux" not in Path(found).read_bytes() else None


def kernel() -> Kernel:
    """The guest's kernel: the one in the cache, otherwise Debian's. MissingError where it cannot be had."""
    kept = cache() / "guest"
    folders = sorted(kept.glob("linux-image-*")) if kept.is_dir() else []
    folder = folders[-1] if folders else _download(kept)
    modules = {name: (folder / name).read_bytes() for name in MODULES if (folder / name).exists()}
    return Kernel(folder / "vmlinuz", modules)


def _download(kept: Path) -> Path:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise MissingError("The guest's kernel is a Debian package: apt-get and dpkg-deb are needed to get it.")
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept, prefix="getting-") as making:
        package = _fetch(Path(making))
        ready = Path(making) / "ready"
        ready.mkdir()
        _unpack(package, ready)
        target = kept / package.name.partition("_")[0]
        os.replace(ready, target)  # whole or not at all
    return target


def _fetch(folder: Path) -> Path:
    """The package, downloaded but not installed; no root is needed where the lists of packages are there."""
    for last in (False, True):
        told = _apt(["apt-cache", "depends", KERNEL_PACKAGE])
        found = re.search(r"Depends: (linux-image-\d\S*)", told.stdout)
        done = _apt(["apt-get", "-q", "download", found.group(1)], folder=folder) if found else told
        packages = list(folder.glob("*.deb"))
        if done.returncode == 0 and packages:
            return packages[0]
        if not last and os.geteuid() == 0:
            _apt(["apt-get", "-q", "update"])
    raise MissingError(
        f"The guest's kernel ({KERNEL_PACKAGE} of Debian) could not be downloaded. As root: apt-get update\n"
        f"{done.stdout}"
    )


def _unpack(package: Path, target: Path) -> None:
    """Only the kernel and the modules that are loaded: the whole package would take 400 MB."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as unpacking:
        assert unpacking.stdout
        with tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive:
            for member in archive:
                name = Path(member.name).name
                wanted = "vmlinuz" if name.startswith("vmlinuz-") else name.partition(".ko")[0]
                content = archive.extractfile(member) if wanted in ("vmlinuz", *MODULES) else None
                if content:
                    (target / wanted).write_bytes(_plain(name, content.read()))
    if not (target / "vmlinuz").exists() or not (target / "9p").exists():
        raise MissingError(f"{package.name} holds no kernel with a 9p module: its form is unknown to this test.")


def _plain(name: str, content: bytes) -> bytes:
    return lzma.decompress(content) if name.endswith(".xz") else content


def _apt(
    command: list[str], environment: dict[str, str] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_APT_SECONDS,
        check=False,
    )
