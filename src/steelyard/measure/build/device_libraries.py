"""Libraries of NVIDIA that Steelyard installs as Python packages, where a machine has the driver and no toolkit."""

from collections.abc import Callable
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.measure.build.package_environments import install_package
from steelyard.measure.machine.devices import INSTALLED_IN, find_in_packages

# The package of each library, and what a device needs it for.
PACKAGES = {
    "nvrtc": ("nvidia-cuda-nvrtc-cu12", "the compiler, which every benchmark of a device needs"),
    "cublas": ("nvidia-cublas-cu12", "matrix products"),
    "nccl": ("nvidia-nccl-cu12", "sums over several devices"),
}


def install(name: str, show: Callable[[str], None], wheels: Path | None = None) -> tuple[Path, bool]:
    """Installs a library: returns its file, and whether this call has installed it. UsageError, MachineFailed."""
    if name not in PACKAGES:
        raise UsageError(f"Steelyard does not know a library '{name}' of devices. {nearest(name, PACKAGES)}")

    def find(folder: Path) -> Path:
        found = find_in_packages([*folder.glob("lib/python*/site-packages")], f"lib{name}")
        if not found:
            raise MachineFailed(f"The package in '{folder}' does not contain lib{name}.")
        return found[0]

    return install_package(INSTALLED_IN, name, PACKAGES[name][0], find, show, wheels)
