"""Traces of our own: the tracer compiled for the MPI of a command, and the command carried out with it."""

import json
import os
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from steelyard import __version__, build, files
from steelyard.errors import MachineFailed, UsageError
from steelyard.launch import watch
from steelyard.machine.tools import mpiexec_of
from steelyard.model import Machine, Tool
from steelyard.mpi import HOW_TO_INSTALL

SOURCE = Path(__file__).with_name("tracer") / "tracer.cpp"
FOLDER = "STEELYARD_TRACE"  # the environment's name for where the ranks write
FORMAT = 1
NO_MPI = f"There is no MPI with its headers on this machine, for which the tracer could be compiled. {HOW_TO_INSTALL}"
RANKS = struct.Struct("<8s2I")  # how a rank's file begins: its mark, which rank, of how many


@dataclass(frozen=True)
class Made:
    """A trace that was made: how the command ended, how many ranks have written, and B of all files."""

    folder: Path
    code: int
    ranks: int
    bytes: int
    seconds: float


def mpi_of(words: Sequence[str], named: str | None, machine: Machine) -> Tool:
    """The MPI that is named, or else the one whose mpiexec the command begins with, or else the usual one."""
    if named:
        return build.resolve_mpi(named, machine)
    starter = shutil.which(words[0])
    for mpi in machine.mpis:
        own = mpiexec_of(mpi)
        if starter and own and Path(own).parent.resolve() / Path(own).name == _place(starter):
            return mpi
    usual = build.default_mpi(machine)
    if usual is None:
        raise UsageError(f"{NO_MPI} Or name the path of its mpicxx with --mpi.")
    return usual


def _place(program: str) -> Path:
    return Path(program).parent.resolve() / Path(program).name


def tracer(machine: Machine, mpi: Tool) -> Path:
    """The library, compiled where the cache lacks it."""
    toolchain = build.resolve(build.default(machine), machine)
    source = build.preloaded("whatif.tracer.so", SOURCE, toolchain, mpi)
    build.make([source])
    return source.path


def expect_folder(folder: Path) -> None:
    """Refuses a place for a trace that is not free, before the command runs."""
    if files.is_file(folder) or (files.is_folder(folder) and any(folder.iterdir())):
        raise UsageError(f"The trace cannot be written to '{folder}': something is there. Name a new folder with -o.")
    if not files.is_folder(folder.absolute().parent):
        raise UsageError(
            f"The trace cannot be written to '{folder}': the folder '{folder.absolute().parent}' is not there. Make it first."
        )


def record(
    words: Sequence[str], folder: Path, machine: Machine, mpi: Tool, environment: Mapping[str, str] | None = None
) -> Made:
    """Runs the command to its end, with the tracer in each of its processes, and `environment` besides the own one.

    MachineFailed where no rank wrote.
    """
    expect_folder(folder)
    library = tracer(machine, mpi)
    folder.mkdir(exist_ok=True)
    before = os.environ.get("LD_PRELOAD")
    loaded = f"{library}:{before}" if before else str(library)
    try:
        done = watch.carried_out(words, {**(environment or {}), "LD_PRELOAD": loaded, FOLDER: str(folder.absolute())})
    finally:
        if not (ranks := sorted(folder.glob("rank-*.trace"))):
            folder.rmdir()
    if not ranks and done.ended:
        raise SystemExit(128 + done.ended)
    if not ranks:
        raise MachineFailed(
            f"The command '{words[0]}' ended with {done.code} and left no trace: no process of it called MPI_Init of "
            f"{build.mpi_name(mpi)} with the environment that it was started with. Name its own MPI with --mpi; between hosts, "
            "pass on LD_PRELOAD and STEELYARD_TRACE (mpiexec -x, -genvlist)."
        )
    seconds = (done.whole.end - done.whole.begin) / 1e9
    about = {
        "format": FORMAT,
        "version": __version__,
        "command": list(words),
        "mpi": build.mpi_name(mpi),
        "ranks": _ranks(ranks[0]),
        "began": _moment(done.whole.begin),
        "ended": _moment(done.whole.end),
        "code": done.code,
    }
    files.write(folder / "trace.json", "The trace", json.dumps(about, indent=1) + "\n")
    return Made(folder, done.code, len(ranks), sum(path.stat().st_size for path in ranks), seconds)


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9).astimezone().isoformat(timespec="milliseconds")


def _ranks(path: Path) -> int:
    """Of how many ranks a file says that it is one."""
    with path.open("rb") as file:
        return int(RANKS.unpack(file.read(RANKS.size).ljust(RANKS.size, b"\0"))[2])
