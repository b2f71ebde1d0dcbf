"""Which MPI a binary was linked with, and whether it is the one that will start its ranks."""

import os
import re
import shutil
from functools import lru_cache
from pathlib import Path

from steelyard.model import Tool
from steelyard.programs import NoAnswer, ask

_LIBRARY = re.compile(r"^\s*(lib(?:mpi|mpich|mpi_usempif08|mpi_mpifh)\.so[.\d]*)\s*=>\s*(\S+)", re.MULTILINE)


def other_mpi(program: str, mpi: Tool) -> str:
    """A sentence where the binary belongs to another MPI than `mpi`; "" where it fits, or where it cannot be found out."""
    library = _linked(program)
    own = _own(mpi.path)
    if library is None or not own:
        return ""
    name, path = library
    # MPICH and its kin keep one binary interface (libmpi.so.12): any of them may start the others' binaries.
    if name.endswith(".so.12") and mpi.name != "openmpi":
        return ""
    if os.path.realpath(path) in own:
        return ""
    return (
        f"'{program}' is linked with another MPI ({os.path.realpath(path)}) than that of the launcher, {mpi.name} {mpi.version} "
        f"({mpi.path}): its ranks would not find each other. Name the MPI that it was built with: --mpi PATH-OF-mpicxx."
    )


@lru_cache
def _linked(program: str) -> tuple[str, str] | None:
    """The MPI library that the loader finds for it; None for a script, a static binary, or without ldd."""
    ldd = shutil.which("ldd")
    found = _LIBRARY.search(_said([ldd, program])) if ldd else None
    return (found[1], found[2]) if found else None


@lru_cache
def _own(wrapper: str) -> frozenset[str]:
    """The library files to which the wrapper links."""
    words = _said([wrapper, "-show"]).split()
    folders = [Path(w[2:]) for w in words if w.startswith("-L")]
    folders += [Path(wrapper).resolve().parents[1] / "lib"]
    names = ("libmpi.so*", "libmpich.so*", "libmpi_*.so*")
    return frozenset(os.path.realpath(f) for folder in folders for name in names for f in folder.glob(name))


def _said(command: list[str]) -> str:
    try:
        return ask(command).stdout
    except NoAnswer:
        return ""
