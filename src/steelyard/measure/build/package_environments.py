"""Python packages that Steelyard installs into the cache: each in an environment of its own, so that none overwrites another."""

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
from pathlib import Path
from typing import TypeVar

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.machine.tools import INSTALLED
from steelyard.system import signals, user_cache
from steelyard.system.installation import install_command
from steelyard.system.starts import python_command, start_program

_FULL = re.compile(r"No space left on device|Errno 28\b|Disk quota exceeded|Errno 122\b")
# Messages of pip and uv if no index answers: no route, no name server, a proxy or a certificate that is refused.
_UNREACHABLE = re.compile(
    r"Retrying|NewConnectionError|Connection(Error| (refused|reset|timed out|broken))|Name or service not known|"
    r"Temporary failure in name resolution|not a trusted or secure host|ProxyError|SSLError|"
    r"CERTIFICATE_VERIFY_FAILED|Failed to fetch|dns error|error sending request"
)
_VERSIONS = re.compile(r"from versions: ([^()\n]*)\)")
# Settings of a user's own for pip that would lead the package past its environment.
_ASTRAY = re.compile(r"PIP_(TARGET|PREFIX|ROOT)|PYTHON\w*")


_Found = TypeVar("_Found")


def install_package(
    kind: str, name: str, wanted: str, find: Callable[[Path], _Found], show: Callable[[str], None], wheels: Path | None
) -> tuple[_Found, bool]:
    """Installs the package `wanted` into the environment KIND/NAME of the cache, from the user's index or a folder of `wheels`.

    Returns what `find` finds in the environment, and whether this call has installed it. `show` gets each line that the installer
    prints. UsageError for an unknown version; MachineFailed, with the reason, for all else. Nothing is left of an incomplete
    environment.
    """
    if wheels is not None and not wheels.is_dir():
        raise UsageError(f"'{wheels}' (given by --from) is not a folder. Name the folder that contains the wheels.")
    with lock_installation(kind):
        folder = user_cache.inside(kind) / name
        if (folder / INSTALLED).exists():
            return find(folder), False
        shutil.rmtree(folder, ignore_errors=True)  # remove the rest of a command that was killed
        try:
            _make_environment(folder, wanted, wheels, show)
            found = find(folder)
            (folder / INSTALLED).touch()
        except OSError as error:
            raise MachineFailed(f"{name} was not installed: {error.strerror or error} in '{folder}'.") from None
        finally:
            if not (folder / INSTALLED).exists():
                shutil.rmtree(folder, ignore_errors=True)
    return found, True


@contextlib.contextmanager
def lock_installation(kind: str) -> Iterator[None]:
    """Lets one installation of a kind go on at a time; where the file system knows no locks, each goes ahead."""
    with (user_cache.inside(kind) / "lock").open("w") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_environment(folder: Path, wanted: str, wheels: Path | None, show: Callable[[str], None]) -> None:
    """An environment without pip, into which this process's own pip, or uv, installs the package."""
    code, printed = _run_pip(python_command("-m", "venv", "--without-pip", str(folder)), show)
    if code:
        raise MachineFailed(_explain_failure(wanted, folder, printed, "the environment cannot be made"))
    command = shlex.split(install_command(python=folder / "bin" / "python"))
    if wheels is not None:
        command += ["--no-index", "--find-links", str(wheels.absolute())]
    code, printed = _run_pip([*command, wanted], show)
    if code:
        missing = _VERSIONS.search(printed)
        if missing and missing[1] != "none":
            listed = ", ".join(missing[1].split(", ")[-12:])
            raise UsageError(
                f"{wanted.replace('==', ' ')} is not available for this machine. These versions are available: {listed}."
            )
        raise MachineFailed(_explain_failure(wanted, folder, printed, _explain_cause(wanted, wheels, printed)))


def _explain_cause(wanted: str, wheels: Path | None, printed: str) -> str:
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


def _run_pip(command: list[str], show: Callable[[str], None]) -> tuple[int, str]:
    """Returns (exit code, all that it printed); each line is shown when it comes. Ctrl-C ends the program, too.

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
            text=True, errors="replace", umask=0o022, cwd=user_cache.cache(),
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
