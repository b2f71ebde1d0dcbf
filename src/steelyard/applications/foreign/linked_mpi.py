"""Compares the MPI library of a binary with the MPI library that starts its ranks."""

import os
import re
from functools import lru_cache
from pathlib import Path

from steelyard.model import Tool
from steelyard.system.answers import NoAnswer, ask
from steelyard.system.starts import find_program

_LIBRARY = re.compile(r"^[ \t]*(lib(?:mpi|mpich|mpi_usempif08|mpi_mpifh)\.so[.\d]*)[ \t]*=>[ \t]*(\S+)", re.MULTILINE)


def describe_other_mpi(program: str, mpi: Tool) -> str:
    """Returns an error sentence if the binary uses another MPI library than `mpi`; "" if it fits or is unknown."""
    library = _find_linked_mpi(program)
    libraries = _list_libraries(mpi.path)
    if library is None or not libraries:
        return ""
    name, path = library
    # MPICH and MPIs derived from it share one binary interface (libmpi.so.12): each can start binaries of the others.
    if name.endswith(".so.12") and mpi.name != "openmpi":
        return ""
    if os.path.realpath(path) in libraries:
        return ""
    return (
        f"'{program}' is linked with the MPI library {os.path.realpath(path)}, but the launcher uses {mpi.name} {mpi.version} "
        f"({mpi.path}), so the ranks could not communicate. Name the MPI of the program: --mpi PATH-OF-mpicxx."
    )


@lru_cache
def _find_linked_mpi(program: str) -> tuple[str, str] | None:
    """Returns the MPI library that the loader uses; None for a script, a static binary, or without ldd."""
    ldd = find_program("ldd")
    match = _LIBRARY.search(_read_answer([ldd, program])) if ldd else None
    return (match[1], match[2]) if match else None


@lru_cache
def _list_libraries(wrapper: str) -> frozenset[str]:
    """Returns the library files that the compiler wrapper links."""
    words = _read_answer([wrapper, "-show"]).split()
    folders = [Path(w[2:]) for w in words if w.startswith("-L")]
    folders += [Path(wrapper).resolve().parents[1] / "lib"]
    names = ("libmpi.so*", "libmpich.so*", "libmpi_*.so*")
    return frozenset(os.path.realpath(f) for folder in folders for name in names for f in folder.glob(name))


def _read_answer(command: list[str]) -> str:
    try:
        return ask(command).stdout
    except NoAnswer:
        return ""
