"""Records traces: compiles the tracer for the MPI of a command, and runs the command with it."""

import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from steelyard import __version__
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import build
from steelyard.measure.launch import watch
from steelyard.measure.machine.tools import mpiexec_of
from steelyard.measure.mpi import HOW_TO_INSTALL
from steelyard.model import Machine, Tool
from steelyard.system import files, signals
from steelyard.system.starts import find_program

SOURCE = Path(__file__).with_name("tracer") / "tracer.cpp"
FOLDER = "STEELYARD_TRACE"  # environment variable with the folder for the ranks' files
FORMAT = 1
NO_MPI = f"The tracer needs an MPI with its headers, and this machine has none. {HOW_TO_INSTALL}"
RANKS = struct.Struct("<8s2I")  # header of a rank's file: its mark, the rank, the number of ranks


@dataclass(frozen=True)
class Made:
    """A recorded trace: the exit code of the command, the number of ranks that wrote, and B of all files."""

    folder: Path
    code: int
    ranks: int
    bytes: int
    seconds: float


def choose_mpi(words: Sequence[str], named: str | None, machine: Machine) -> Tool:
    """Returns the named MPI, or the one whose mpiexec the command starts with, or the default one."""
    if named:
        return build.resolve_mpi(named, machine)
    starter = find_program(words[0])
    for mpi in machine.mpis:
        launcher = mpiexec_of(mpi)
        if starter and launcher and Path(launcher).parent.resolve() / Path(launcher).name == _place(starter):
            return mpi
    usual = build.default_mpi(machine)
    if usual is None:
        raise UsageError(f"{NO_MPI} Or name the path of its mpicxx with --mpi.")
    return usual


def _place(program: str) -> Path:
    return Path(program).parent.resolve() / Path(program).name


def compile_tracer(machine: Machine, mpi: Tool, show: build.Show = lambda progress: None) -> Path:
    """Returns the path of the tracer's library, which is compiled if the cache lacks it, with its progress to `show`."""
    toolchain = build.resolve(build.default(machine), machine)
    source = build.make_preloaded("whatif.tracer.so", SOURCE, toolchain, mpi)
    build.make([source], show)
    return source.path


def expect_folder(folder: Path) -> None:
    """Raises UsageError if a new folder cannot be made at this path."""
    if files.is_file(folder) or (files.is_folder(folder) and any(folder.iterdir())):
        raise UsageError(f"The trace cannot be written to '{folder}', which exists already. Name a new folder with -o.")
    if not files.is_folder(folder.absolute().parent):
        raise UsageError(
            f"The trace cannot be written to '{folder}', because the folder '{folder.absolute().parent}' does not exist."
        )


def record(
    words: Sequence[str],
    folder: Path,
    machine: Machine,
    mpi: Tool,
    environment: Mapping[str, str] | None = None,
    of_user: bool = True,
) -> Made:
    """Runs the command to its end, with the tracer in each of its processes; `environment` adds variables.

    `of_user`: as in `starts.start_program`. MachineFailed if no rank wrote a file.
    """
    expect_folder(folder)
    library = compile_tracer(machine, mpi)
    folder.mkdir(exist_ok=True)
    before = os.environ.get("LD_PRELOAD")
    loaded = f"{library}:{before}" if before else str(library)
    try:
        loading = {"LD_PRELOAD": loaded, FOLDER: str(folder.absolute())}
        done = watch.run_watched(words, {**(environment or {}), **loading}, of_user)
    finally:
        if not (ranks := sorted(folder.glob("rank-*.trace"))):
            folder.rmdir()
    if not ranks and done.ended:
        raise KeyboardInterrupt
    if not ranks:
        signals.await_own(done.code)
    if not ranks:
        raise MachineFailed(
            f"The command '{words[0]}' ended with exit code {done.code} and wrote no trace. No process called MPI_Init of "
            f"{build.mpi_name(mpi)} with the environment of the tracer. Name the MPI of the program with --mpi. Between hosts, "
            "pass on LD_PRELOAD and STEELYARD_TRACE (mpiexec -x, -genvlist)."
        )
    seconds = (done.whole.end - done.whole.begin) / 1e9
    about = {
        "format": FORMAT,
        "version": __version__,
        "command": list(words),
        "mpi": build.mpi_name(mpi),
        "ranks": _read_rank_count(ranks[0]),
        "began": _format_moment(done.whole.begin),
        "ended": _format_moment(done.whole.end),
        "code": done.code,
    }
    files.write(folder / "trace.json", "The trace", json.dumps(about, indent=1) + "\n")
    return Made(folder, done.code, len(ranks), sum(path.stat().st_size for path in ranks), seconds)


def _format_moment(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9).astimezone().isoformat(timespec="milliseconds")


def _read_rank_count(path: Path) -> int:
    """Returns the number of ranks in the header of a rank's file."""
    with path.open("rb") as file:
        return int(RANKS.unpack(file.read(RANKS.size).ljust(RANKS.size, b"\0"))[2])
