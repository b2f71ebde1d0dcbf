"""The commands that install what is missing: a Python package beside this Steelyard, or a package of the distribution."""

import importlib.util
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

from steelyard.system.starts import find_program, python_command

# What distributions call themselves, their installer, and the names of a C++ compiler and of an MPI with its headers.
_DISTRIBUTIONS = (
    (("debian", "ubuntu", "mint", "raspbian"), "apt-get install", {"compiler": "g++", "mpi": "libopenmpi-dev"}),
    (
        ("fedora", "red hat", "rhel", "rocky", "alma", "centos", "amazon", "oracle", "openeuler"),
        "dnf install",
        {"compiler": "gcc-c++", "mpi": "openmpi-devel"},
    ),
    (("suse",), "zypper install", {"compiler": "gcc-c++"}),
    (("arch", "manjaro"), "pacman -S", {"compiler": "gcc", "mpi": "openmpi"}),
    (("alpine",), "apk add", {"compiler": "g++", "mpi": "openmpi-dev"}),
)


def suggest_package(what: Literal["compiler", "mpi"], distribution: str | None = None) -> str:
    """Returns the command of root that installs `what` on a distribution (default: on this one); "" if it is unknown."""
    if distribution is None:
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            return ""
        distribution = " ".join(release.get(key, "") for key in ("ID", "ID_LIKE", "PRETTY_NAME"))
    for words, command, packages in _DISTRIBUTIONS:
        if what in packages and any(word in distribution.lower() for word in words):
            return f"{command} {packages[what]}"
    return ""


def install_command(*packages: str, python: Path | None = None) -> str:
    """Returns a shell command that installs `packages` ('otf2>=3.1') for this Python, or for another `python`.

    The command for another one is started by this package, so that it does not search in the current folder.
    It uses the pip of this Python, or else uv, or the pip of the Python that made this environment.
    """
    running = sys.executable
    into = str(python or running)
    if importlib.util.find_spec("pip"):
        words = (
            [*python_command("-m", "pip", "--python", into), "install"] if python else [running, "-m", "pip", "install"]
        )
    elif uv := find_program("uv"):
        words = [uv, "pip", "install", "--python", into]
    else:
        base = str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
        words = [base, *(["-I"] if python else []), "-m", "pip", "--python", into, "install"]
    return shlex.join([*words, *packages])


def install_extra(extra: str) -> str:
    """Returns the command that installs the requirements of an extra of this package, such as "power"."""
    return install_command(*_requirements(extra))


def _requirements(extra: str) -> Sequence[str]:
    """Returns the requirements of an extra, from the installed package, or else from pyproject.toml beside the sources."""
    try:
        lines = metadata.requires("steelyard") or ()
    except metadata.PackageNotFoundError:
        import tomllib

        file = Path(__file__).parents[3] / "pyproject.toml"
        stated = (
            tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"] if file.exists() else {}
        )
        return list(stated.get(extra, ()))
    mark = re.compile(rf"""\s*;\s*extra\s*==\s*['"]{re.escape(extra)}['"]\s*$""")
    return [mark.sub("", line) for line in lines if mark.search(line)]


def owners(program: str, packages: Sequence[str]) -> list[str]:
    """Returns the installed packages that bring a program of that name; the last one overwrites the program of the others."""
    owning = []
    for name in packages:
        try:
            brought = metadata.files(name) or ()
        except metadata.PackageNotFoundError:
            continue
        if any(file.name == program and file.parent.name == "bin" for file in brought):
            owning.append(name)
    return owning
