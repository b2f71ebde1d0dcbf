"""Compiles the native programs with a named toolchain into a cache keyed by compiler, version, flags and sources."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from steelyard.errors import MachineFailed, ProgramFailed, UsageError, nearest
from steelyard.model import Benchmark, Machine, Tool

NATIVE = Path(__file__).with_name("native")
# As users build for speed: all optimisation that keeps IEEE arithmetic, for the processor at hand.
FLAGS = "-O3 -march=native"
FAMILIES = {"gcc": "g++", "clang": "clang++", "intel": "icpx"}


@dataclass(frozen=True)
class Toolchain:
    """A compiler with its flags; `name` is the factor's value in the records, as "gcc-12.2.0"."""

    name: str
    compiler: str
    version: str
    flags: str


def resolve(text: str, machine: Machine) -> Toolchain:
    """The toolchain that a user names: "gcc", "clang", "g++-12", or with flags of his own: "gcc -O2".

    UsageError where it is not on this machine, MachineFailed where no compiler is.
    """
    if not machine.compilers:
        raise MachineFailed(
            "There is no C++ compiler on this machine. Install one, for example: apt-get install g++  (or: dnf install gcc-c++)"
        )
    for tool in machine.compilers:
        if text.strip() == _toolchain(tool, "").name:
            return _toolchain(tool, "")
    wanted, _, flags = text.strip().partition(" ")
    name = FAMILIES.get(wanted, wanted)
    for tool in machine.compilers:
        if name in (tool.name, tool.path, Path(tool.path).name) or (wanted in FAMILIES and tool.name.startswith(name)):
            return _toolchain(tool, flags.strip())
    known = {f for f, c in FAMILIES.items() if any(t.name.startswith(c) for t in machine.compilers)} | {
        t.name for t in machine.compilers
    }
    raise UsageError(
        f"There is no compiler '{wanted}' on this machine (given by --toolchain). {nearest(wanted, known)}"
    )


def default(machine: Machine) -> str:
    """The toolchain of a run that names none: GCC where there is one, otherwise the first compiler found."""
    names = [t.name for t in machine.compilers]
    return "gcc" if any(n.startswith("g++") for n in names) or not names else names[0]


def _toolchain(tool: Tool, flags: str) -> Toolchain:
    family = next((f for f, c in FAMILIES.items() if Path(tool.name).name.startswith(c)), tool.name)
    number = re.search(r"\d+(\.\d+)+", tool.version)
    name = f"{family}-{number.group()}" if number else family
    return Toolchain(name + ("+" + flags.replace(" ", "") if flags else ""), tool.path, tool.version, flags or FLAGS)


def mpi_name(mpi: Tool) -> str:
    """The factor's value in the records: "openmpi-4.1.4"."""
    return f"{mpi.name}-{mpi.version}"


def resolve_mpi(text: str, machine: Machine) -> Tool:
    """The MPI that a user names: "openmpi", "mpich-5.0.2", or the path of its C++ wrapper. UsageError where there is none."""
    if "/" in text:
        from steelyard.machine.tools import ask_mpi

        found = ask_mpi(text)
        if found is None:
            raise UsageError(
                f"'{text}' (given by --mpi) is no C++ wrapper of an MPI, or its <mpi.h> is not installed. "
                "Name the path of an mpicxx."
            )
        return found
    for mpi in machine.mpis:
        if text in (mpi.name, mpi_name(mpi)):
            return mpi
    raise UsageError(
        f"There is no MPI '{text}' on this machine (given by --mpi). {nearest(text, [mpi_name(m) for m in machine.mpis])} "
        'Install one (apt-get install libopenmpi-dev, or pip install "openmpi>=5"), or name the path of an mpicxx.'
    )


def default_mpi(machine: Machine) -> Tool | None:
    """The MPI of a run that names none: the site's own before one that came as a Python package; None where none is."""
    own = str(Path(sys.executable).parent)
    return min(machine.mpis, key=lambda mpi: str(Path(mpi.path).parent) == own, default=None)


def cache() -> Path:
    """Where programs are kept: $STEELYARD_CACHE, or the user's own cache folder."""
    own = os.environ.get("STEELYARD_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard"


def program_name(benchmark: str, model: str = "") -> str:
    """Of the benchmark's program: that of a programming model, where it has several."""
    return f"{benchmark}.{model}" if model else benchmark


def build(benchmarks: Iterable[Benchmark], toolchain: Toolchain, mpi: Tool | None = None) -> dict[str, Path]:
    """The executables of the benchmarks by name, compiled where the cache has none: the serial ones, or with `mpi` the parallel.

    ProgramFailed shows the compiler's words whole.
    """
    label = mpi_name(mpi) if mpi else ""
    programs = {}
    for b in benchmarks:
        for source in b.sources:
            if source.parallel == bool(mpi) and (source.mpis is None or label in source.mpis):
                name, path = program_name(b.name, source.model), Path(source.path)
                programs[name] = (path, cache() / "build" / _key(path, toolchain, mpi) / name)
    if not all(program.exists() for _, program in programs.values()):
        with _alone():
            missing = {name: source for name, (source, program) in programs.items() if not program.exists()}
            if missing:
                _compile(missing, {name: programs[name][1] for name in missing}, toolchain, mpi)
    return {name: program for name, (_, program) in programs.items()}


@contextmanager
def _alone() -> Iterator[None]:
    """One build at a time in a cache: what another is making need not be made twice. A killed one leaves no lock behind."""
    try:
        (cache() / "build").mkdir(parents=True, exist_ok=True)
        with (cache() / "build" / "lock").open("w") as lock:
            with contextlib.suppress(OSError):  # file systems that know no locks: then both build
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise MachineFailed(
            f"The programs cannot be written to the cache {cache()}: {error}. Set STEELYARD_CACHE to a folder with space."
        ) from error


def _key(source: Path, toolchain: Toolchain, mpi: Tool | None = None) -> str:
    """Of everything that the program is made of: compiler, flags, MPI, the build's own rules, the source and its headers."""
    against = f"{mpi.path}\n{mpi.version}\n" if mpi else ""
    if (
        "native" in toolchain.flags
    ):  # in a home that nodes of different kinds share, each kind needs programs of its own
        against += _processor()
    digest = hashlib.sha256(f"{toolchain.compiler}\n{toolchain.version}\n{toolchain.flags}\n{against}".encode())
    for path in (NATIVE / "CMakeLists.txt", *sorted(_included(source))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


def _included(source: Path) -> set[Path]:
    """The source and all headers of ours that it includes, directly or through others."""
    found: set[Path] = set()
    left = [source]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text("utf-8", "replace"), re.MULTILINE):
            candidates = (path.parent / name, NATIVE / name)
            left += [c.resolve() for c in candidates if c.is_file()][:1]
    return found


@lru_cache
def _processor() -> str:
    """What the compiler looks at: the name and the abilities of the first processor; "" where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    wanted = ("model name", "flags", "Features", "CPU part", "CPU implementer")
    return "\n".join(next((line for line in lines if line.startswith(name)), "") for name in wanted)


def _compile(sources: dict[str, Path], targets: dict[str, Path], toolchain: Toolchain, mpi: Tool | None) -> None:
    with tempfile.TemporaryDirectory(dir=cache() / "build", prefix="making-") as folder:
        listed = ";".join(f"{name}={source.resolve()}" for name, source in sources.items())
        configure = [
            _tool("cmake"),
            "-G",
            "Ninja",
            "-S",
            str(NATIVE),
            "-B",
            folder,
            f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
        ]
        configure += [
            f"-DCMAKE_CXX_COMPILER={toolchain.compiler}",
            f"-DCMAKE_CXX_FLAGS={toolchain.flags}",
            f"-DSTEELYARD_PROGRAMS={listed}",
            *([f"-DMPI_CXX_COMPILER={mpi.path}"] if mpi else []),
        ]
        _run(f"Preparing the build with {toolchain.name}", configure)
        _run(f"Compiling with {toolchain.name}", [_tool("cmake"), "--build", folder])
        for name, target in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(folder) / name, target)


def _run(purpose: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProgramFailed(
            purpose,
            " ".join(f"'{w}'" if " " in w or ";" in w else w for w in command),
            done.returncode,
            done.stdout + done.stderr,
        )


def _tool(name: str) -> str:
    """CMake or Ninja: the one from PyPI that came with this package, otherwise the site's."""
    module = __import__(name)
    folder = getattr(module, "CMAKE_BIN_DIR", None) or getattr(module, "BIN_DIR", None)
    found = shutil.which(name, path=folder) if folder else None
    found = found or shutil.which(name)
    if not found:
        raise MachineFailed(
            f"The program '{name}' is missing, although it comes with Steelyard's dependencies: pip install {name}"
        )
    return found
