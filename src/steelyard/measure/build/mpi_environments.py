"""MPIs that Steelyard installs as Python packages: each in an environment of its own, so that none overwrites another."""

import contextlib
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.measure.build.package_environments import install_package, lock_installation
from steelyard.measure.machine.tools import INSTALLED, ask_mpi, mpi_environments
from steelyard.measure.mpi import flavours
from steelyard.model import Tool
from steelyard.system import files, user_cache
from steelyard.system.answers import NoAnswer
from steelyard.system.installation import suggest_package

_ODD = re.compile(r"[^\w/.+@=,-]")  # characters that the wrappers (shell scripts and lists of flags) do not quote


@dataclass(frozen=True)
class Installed:
    """An MPI in an environment of its own. `new`: this call has installed it."""

    folder: Path
    mpi: Tool
    new: bool


def list_installable() -> dict[str, str]:
    """Returns the Python package, as a requirement, of each MPI that has one."""
    return {name: flavour.package for name, flavour in flavours().items() if flavour.package}


def install(name: str, show: Callable[[str], None], wheels: Path | None = None) -> Installed:
    """Installs an MPI, "mpich" or "mpich-4.3.2", from the user's index of packages, or from a folder of `wheels` alone.

    `show` gets each line that the installer prints. UsageError for an unknown name or version; MachineFailed, with the reason,
    for all else. Nothing is left of an environment that did not become whole.
    """
    wanted = _name_requirement(name)
    user_cache.expect_executable()
    if odd := _ODD.search(str(user_cache.cache())):
        raise MachineFailed(
            f"The path of the cache '{user_cache.cache()}' contains {odd[0]!r}. The C++ compiler wrapper of an MPI fails in "
            "such a path. Set STEELYARD_CACHE to a folder whose path has only letters, digits and / . _ - +"
        )
    mpi, new = install_package("mpi", name, wanted, _find_mpi, show, wheels)
    return Installed(user_cache.inside("mpi") / name, mpi, new)


def remove(name: str) -> Path:
    """Removes the environment of that name; returns its folder. UsageError if there is none."""
    folders = {folder.name: folder for folder in mpi_environments()}
    if name not in folders:
        raise UsageError(
            f"Steelyard has not installed an MPI '{name}'. {nearest(name, folders) if folders else 'It has installed none.'} "
            "It can remove only an MPI that it has installed. For a list: steelyard mpi list"
        )
    with lock_installation("mpi"):
        (folders[name] / INSTALLED).unlink(missing_ok=True)
        shutil.rmtree(folders[name])
    return folders[name]


def _name_requirement(name: str) -> str:
    """Returns the package that pip installs. UsageError for an MPI without a package."""
    flavour, dash, version = name.partition("-")
    packages = list_installable()
    if flavour not in packages:
        hint = f"Steelyard can install {' and '.join(packages)}, also in a certain version, such as mpich-4.3.2."
        if flavour in flavours():
            raise UsageError(
                f"Steelyard cannot install {flavours()[flavour].title}: no Python package contains all its files. Install it "
                f"with the package manager of your system, and give the path of its mpicxx with --mpi. {hint}"
            )
        raise UsageError(f"Steelyard does not know an MPI '{name}' that it could install. {hint}")
    if dash and not re.fullmatch(r"\d+(\.\w+)*", version):
        raise UsageError(
            f"'{version}' in '{name}' is not a version of an MPI. Write {flavour} for the newest version, or for example "
            f"{flavour}-5.0.2 for another one."
        )
    return f"{re.split('[<>=]', packages[flavour])[0]}=={version}" if dash else packages[flavour]


def _find_mpi(folder: Path) -> Tool:
    """Returns the MPI of an environment. MachineFailed if its wrapper does not compile, as without a compiler."""
    wrapper = folder / "bin" / "mpicxx"
    with contextlib.suppress(NoAnswer):
        if mpi := ask_mpi(str(wrapper)):
            return mpi
    if not files.is_file(wrapper):
        raise MachineFailed(
            f"The package in '{folder}' does not contain mpicxx, so no program can be compiled with it."
        )
    raise MachineFailed(
        f"The mpicxx of the package in '{folder}' cannot compile a program. It needs a C++ compiler of the system: "
        f"{suggest_package('compiler') or 'g++ or clang++'}. Then install the MPI again."
    )
