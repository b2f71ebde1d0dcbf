"""Which compilers and MPIs programs are built with, and how a user names them."""

import re
import shlex
import sys
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.model import Machine, Tool, Toolchain
from steelyard.programs import Hangs

# As users build for speed: all optimisation that keeps IEEE arithmetic, for the processor at hand.
FLAGS = "-O3 -march=native"
STANDARD = "-std=c++20"
# Where a loop of a few instructions lies within a cache line decides its speed by up to 2: with this, no edit elsewhere moves it.
PLACED = "-falign-loops=64"
LEAST = {"gcc": 11, "clang": 14}  # versions whose C++20 has what the harness needs
_NUMBER = r"(\d+(?:\.\d+)+)"
FAMILIES = {"gcc": "g++", "clang": "clang++", "intel": "icpx"}


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
            return _new_enough(tool, "")
    expect_words(text)
    wanted, _, flags = text.strip().partition(" ")
    name = FAMILIES.get(wanted, wanted)
    meant = [
        tool
        for tool in machine.compilers
        if name in (tool.name, tool.path, Path(tool.path).name) or (wanted in FAMILIES and tool.name.startswith(name))
    ]
    if meant:  # of a family the first that is new enough, since an old one may stand before it
        return _new_enough(next((t for t in meant if not _too_old(_toolchain(t, ""))), meant[0]), flags.strip())
    known = {f for f, c in FAMILIES.items() if any(t.name.startswith(c) for t in machine.compilers)} | {
        t.name for t in machine.compilers
    }
    raise UsageError(
        f"There is no compiler '{wanted}' on this machine (given by --toolchain). {nearest(wanted, known)}"
    )


def expect_words(text: str) -> None:
    """UsageError for what no shell could read as a compiler and flags."""
    try:
        shlex.split(text)
    except ValueError:
        raise UsageError(
            f"'{text}' (given by --toolchain) has a quote that is not closed: expected a compiler and flags, each quotation mark "
            "with its partner, as 'gcc -O2'."
        ) from None


def compiler_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """All that every file of ours is compiled with: what the user asked for stands behind what we want, and wins."""
    placed = (PLACED,) if toolchain.name.partition("-")[0] in FAMILIES else ()
    return (*placed, *shlex.split(toolchain.flags), STANDARD)


def default(machine: Machine) -> str:
    """The toolchain of a run that names none: GCC where there is one, otherwise the first compiler found."""
    names = [t.name for t in machine.compilers]
    return "gcc" if any(n.startswith("g++") for n in names) or not names else names[0]


def _toolchain(tool: Tool, flags: str) -> Toolchain:
    family = next((f for f, c in FAMILIES.items() if Path(tool.name).name.startswith(c)), tool.name)
    forms = (rf"version {_NUMBER}", rf"\) {_NUMBER}", _NUMBER)
    number = next(filter(None, (re.search(form, tool.version) for form in forms)), None)
    name = f"{family}-{number[1]}" if number else family
    return Toolchain(name + ("+" + flags.replace(" ", "") if flags else ""), tool.path, tool.version, flags or FLAGS)


def _new_enough(tool: Tool, flags: str) -> Toolchain:
    """MachineFailed where the compiler is older than its family's least version."""
    found = _toolchain(tool, flags)
    if _too_old(found):
        family, _, version = found.name.partition("-")
        raise MachineFailed(
            f"The compiler {tool.path} is {family} {version.partition('+')[0]}, and Steelyard needs {family} {LEAST[family]} "
            f"or later (C++20). Install a newer one beside it, for example: apt-get install g++-{LEAST['gcc'] + 1}"
        )
    return found


def _too_old(toolchain: Toolchain) -> bool:
    family, _, version = toolchain.name.partition("-")
    number = re.match(r"\d+", version)
    return family in LEAST and number is not None and int(number.group()) < LEAST[family]


def mpi_name(mpi: Tool) -> str:
    """The factor's value in the records: "openmpi-4.1.4"."""
    return f"{mpi.name}-{mpi.version}"


def resolve_mpi(text: str, machine: Machine) -> Tool:
    """The MPI that a user names: "openmpi", "mpich-5.0.2", or the path of its C++ wrapper. UsageError where there is none."""
    if "/" in text:
        from steelyard.machine.tools import ask_mpi

        try:
            found = ask_mpi(text)
        except Hangs as problem:
            raise MachineFailed(f"The MPI '{text}' (given by --mpi) {problem}.") from None
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
