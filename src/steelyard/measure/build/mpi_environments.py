"""MPIs that Steelyard installs as Python packages: each in an environment of its own, so that none overwrites another."""

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.measure.machine.tools import INSTALLED, ask_mpi, mpi_environments
from steelyard.measure.mpi import flavours
from steelyard.model import Tool
from steelyard.system import files, signals, user_cache
from steelyard.system.answers import NoAnswer
from steelyard.system.installation import install_command, suggest_package
from steelyard.system.starts import python_command, start_program

_FULL = re.compile(r"No space left on device|Errno 28\b|Disk quota exceeded|Errno 122\b")
# Messages of pip and uv if no index answers: no route, no name server, a proxy or a certificate that is refused.
_UNREACHABLE = re.compile(
    r"Retrying|NewConnectionError|Connection(Error| (refused|reset|timed out|broken))|Name or service not known|"
    r"Temporary failure in name resolution|not a trusted or secure host|ProxyError|SSLError|"
    r"CERTIFICATE_VERIFY_FAILED|Failed to fetch|dns error|error sending request"
)
_VERSIONS = re.compile(r"from versions: ([^()\n]*)\)")
_ODD = re.compile(r"[^\w/.+@=,-]")  # characters that the wrappers (shell scripts and lists of flags) do not quote
# Settings of a user's own for pip that would lead the package past its environment.
_ASTRAY = re.compile(r"PIP_(TARGET|PREFIX|ROOT)|PYTHON\w*")


@dataclass(frozen=True)
class Installed:
    """An MPI in an environment of its own. `new`: this call has installed it."""

    folder: Path
    mpi: Tool
    new: bool


def list_installable() -> dict[str, str]:
    """The Python package, as a requirement, of each MPI that has one."""
    return {name: flavour.package for name, flavour in flavours().items() if flavour.package}


def install(name: str, show: Callable[[str], None], wheels: Path | None = None) -> Installed:
    """Installs an MPI, "mpich" or "mpich-4.3.2", from the user's index of packages, or from a folder of `wheels` alone.

    `show` gets each line that the installer prints. UsageError for an unknown name or version; MachineFailed, with the reason,
    for all else. Nothing is left of an environment that did not become whole.
    """
    wanted = _requirement(name)
    if wheels is not None and not wheels.is_dir():
        raise UsageError(f"'{wheels}' (given by --from) is not a folder. Name the folder that contains the wheels.")
    user_cache.expect_executable()
    if odd := _ODD.search(str(user_cache.cache())):
        raise MachineFailed(
            f"The path of the cache '{user_cache.cache()}' contains {odd[0]!r}. The C++ compiler wrapper of an MPI fails in "
            "such a path. Set STEELYARD_CACHE to a folder whose path has only letters, digits and / . _ - +"
        )
    with _lock_installation():
        folder = user_cache.inside("mpi") / name
        if folder in mpi_environments():
            return Installed(folder, _find_mpi(folder), False)
        shutil.rmtree(folder, ignore_errors=True)  # remove the rest of a command that was killed
        try:
            _make(folder, wanted, wheels, show)
            installed = Installed(folder, _find_mpi(folder), True)
            (folder / INSTALLED).touch()
        except OSError as error:
            raise MachineFailed(f"{name} was not installed: {error.strerror or error} in '{folder}'.") from None
        finally:
            if not (folder / INSTALLED).exists():
                shutil.rmtree(folder, ignore_errors=True)
    return installed


def remove(name: str) -> Path:
    """Removes the environment of that name; returns its folder. UsageError where there is none."""
    folders = {folder.name: folder for folder in mpi_environments()}
    if name not in folders:
        raise UsageError(
            f"Steelyard has not installed an MPI '{name}'. {nearest(name, folders) if folders else 'It has installed none.'} "
            "It can remove only an MPI that it has installed. For a list: steelyard mpi list"
        )
    with _lock_installation():
        (folders[name] / INSTALLED).unlink(missing_ok=True)
        shutil.rmtree(folders[name])
    return folders[name]


def _requirement(name: str) -> str:
    """The package that pip installs. UsageError for an MPI without a package."""
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


@contextlib.contextmanager
def _lock_installation() -> Iterator[None]:
    """One installation at a time; where the file system knows no locks, each goes ahead."""
    with (user_cache.inside("mpi") / "lock").open("w") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(folder: Path, wanted: str, wheels: Path | None, show: Callable[[str], None]) -> None:
    """An environment without pip, into which this process's own pip, or uv, installs the package."""
    code, printed = _run(python_command("-m", "venv", "--without-pip", str(folder)), show)
    if code:
        raise MachineFailed(_explain_failure(wanted, folder, printed, "the environment cannot be made"))
    command = shlex.split(install_command(python=folder / "bin" / "python"))
    if wheels is not None:
        command += ["--no-index", "--find-links", str(wheels.absolute())]
    code, printed = _run([*command, wanted], show)
    if code:
        missing = _VERSIONS.search(printed)
        if missing and missing[1] != "none":
            listed = ", ".join(missing[1].split(", ")[-12:])
            raise UsageError(
                f"{wanted.replace('==', ' ')} is not available for this machine. These versions are available: {listed}."
            )
        raise MachineFailed(_explain_failure(wanted, folder, printed, _cause(wanted, wheels, printed)))


def _cause(wanted: str, wheels: Path | None, printed: str) -> str:
    if wheels is None and _UNREACHABLE.search(printed):
        return (
            "the index of packages cannot be reached. Check the network, the proxy (HTTPS_PROXY) and PIP_INDEX_URL, or "
            f"download the wheel on another machine (pip download '{wanted}' --no-deps) and give its folder with --from"
        )
    if "No module named pip" in printed:
        return f"this Python has no pip. Install pip: {shlex.quote(sys.executable)} -m ensurepip"
    if "none)" in printed or "No matching distribution" in printed:
        where = f"in '{wheels}'" if wheels else "in the index of packages"
        return f"there is no wheel (package file) for this machine ({os.uname().machine}) {where}"
    return "the installer ended with an error"


def _explain_failure(wanted: str, folder: Path, printed: str, cause: str) -> str:
    if _FULL.search(printed):
        cause = f"the disk or the quota of '{folder.parent}' is full. Make space there, or set STEELYARD_CACHE to another folder"
    return f"{wanted} was not installed: {cause}."


def _run(command: list[str], show: Callable[[str], None]) -> tuple[int, str]:
    """(exit code, all that it printed); each line is shown when it comes. Ctrl-C ends the program, too.

    The program runs in the cache: a uv.toml of the current folder could name another index of packages.
    """
    environment = {name: value for name, value in os.environ.items() if not _ASTRAY.fullmatch(name)}
    environment["TMPDIR"] = tempfile.gettempdir()  # of this process, since pip cannot clean up when it is killed
    environment["PYTHONSAFEPATH"] = "1"  # a pip.py in the current folder is not run
    environment |= {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    environment.setdefault("PIP_RETRIES", "1")  # pip's own five keep a user waiting for half a minute
    lines: list[str] = []
    try:
        process = start_program(
            command, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", umask=0o022, cwd=user_cache.inside("mpi"),
        )  # fmt: skip
    except OSError as error:
        return 127, f"{command[0]}: {error.strerror or error}: No module named pip"
    try:
        for line in process.stdout or ():
            lines.append(line)
            if line.strip():
                show(line.rstrip())
        code = process.wait()
        signals.await_own(code)
        return code, "".join(lines)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _find_mpi(folder: Path) -> Tool:
    """The MPI of an environment. MachineFailed where its wrapper does not compile, as without a compiler."""
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
