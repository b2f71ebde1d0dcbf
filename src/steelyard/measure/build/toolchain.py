"""Which compilers and MPIs programs are built with, and how a user names them."""

import os
import re
import shlex
import sys
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.measure.build import named_compiler
from steelyard.measure.build.mpi_environments import list_installable
from steelyard.measure.machine.tools import MASKS, ask_mpi, has_header, mpi_environments
from steelyard.measure.mpi import HOW_TO_INSTALL, flavours
from steelyard.model import Machine, Tool, Toolchain
from steelyard.system.answers import Hangs
from steelyard.system.files import is_file
from steelyard.system.installation import owners, suggest_package
from steelyard.system.starts import find_program

# Flags that users choose for speed: all optimisation that keeps IEEE arithmetic, for the processor at hand.
FLAGS = "-O3 -march=native"
STANDARD = "-std=c++20"
# Where a loop of a few instructions lies within a cache line decides its speed by up to 2: with this, no edit elsewhere moves it.
PLACED = "-falign-loops=64"
LEAST = {"gcc": 11, "clang": 14}  # versions whose C++20 has what the harness needs
# A word as a shell reads it, with its quotation marks.
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""", re.DOTALL)
# Flags of a user in whose place ours must not stand: those of all optimisation, and those that choose the processor.
_OPTIMISATION = re.compile(r"-(O.*|fast)")
_PROCESSOR = re.compile(
    r"-(m(arch|cpu|avx|s?sse|fma|f16c|bmi|lzcnt|popcnt)[\w.=+-]*|x[A-Z].*|ax.*|tp.*|fast|target|-target=.*)"
)
_NUMBER = r"(\d+(?:\.\d+)+)"
FAMILIES = {"gcc": "g++", "clang": "clang++", "intel": "icpx"}


def resolve(text: str, machine: Machine, named: bool = False) -> Toolchain:
    """Returns the toolchain that a text means: "gcc", "clang", "g++-12", or with flags of its own: "gcc -O2".

    `named`: a user typed it, so that a compiler may be named that was not looked for, by its path or any name on the PATH.
    UsageError if it is not on this machine, MachineFailed if no compiler is.
    """
    expect_words(text)
    wanted, flags = _split_compiler(text)
    name = FAMILIES.get(wanted, wanted)
    meant = [
        tool
        for tool in machine.compilers
        if name in (tool.name, tool.path, Path(tool.path).name, _make_toolchain(tool, "").name)
        or (wanted in FAMILIES and tool.name.startswith(name))
    ]
    if meant:  # the first compiler of the family that is new enough: an old one may stand before it
        return _require_new_enough(next((t for t in meant if not _is_too_old(_make_toolchain(t, ""))), meant[0]), flags)
    if not machine.compilers and (wanted in FAMILIES or not named):
        how = suggest_package("compiler") or "g++ 11 or later, or clang++ 14 or later"
        raise MachineFailed(f"There is no C++ compiler on this machine. Install one: {how}")
    if named and (compiler := named_compiler.find(wanted, machine)):
        return _require_new_enough(compiler, flags)
    names = {f for f, c in FAMILIES.items() if any(t.name.startswith(c) for t in machine.compilers)} | {
        t.name for t in machine.compilers
    }
    raise UsageError(
        f"There is no compiler '{wanted}' on this machine (given by --toolchain). {nearest(wanted, names)}"
    )


def _split_compiler(text: str) -> tuple[str, str]:
    """(the compiler, its flags as they stand). Programs in front of it that cache or distribute compilations are left out."""
    if is_file(Path(text)):
        return text, ""
    rest = text.strip()
    while match := _WORD.match(rest):
        word, rest = "".join(shlex.split(match[0])), rest[match.end() :].strip()
        if Path(word).name not in MASKS or not rest or rest.startswith("-"):
            return word, rest
    return rest, ""


def expect_words(text: str) -> None:
    """Raises UsageError for a text that no shell could read as a compiler and flags."""
    try:
        shlex.split(text)
    except ValueError:
        raise UsageError(
            f"'{text}' (given by --toolchain) has an opening quote without a closing quote. Write a compiler and its flags, "
            "such as 'gcc -O2'."
        ) from None


def compiler_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Returns the flags of all our files. The flags of the user come last, so that they win."""
    placed = (PLACED,) if toolchain.name.partition("-")[0] in FAMILIES else ()
    return (*placed, *shlex.split(toolchain.flags), STANDARD)


def default(machine: Machine) -> str:
    """Returns the toolchain of a run that names none: GCC where there is one, otherwise the first compiler found."""
    names = [t.name for t in machine.compilers]
    return "gcc" if any(n.startswith("g++") for n in names) or not names else names[0]


def _make_toolchain(tool: Tool, flags: str) -> Toolchain:
    family = next((f for f, c in FAMILIES.items() if Path(tool.name).name.startswith(c)), tool.name)
    forms = (rf"version {_NUMBER}", rf"\) {_NUMBER}", _NUMBER)
    number = next(filter(None, (re.search(form, tool.version) for form in forms)), None)
    name = f"{family}-{number[1]}" if number else family
    user_flags, whole = _add_our_flags(flags)
    return Toolchain(name + ("+" + user_flags.replace(" ", "") if user_flags else ""), tool.path, tool.version, whole)


def _add_our_flags(flags: str) -> tuple[str, str]:
    """Returns (the user's own flags, those with ours in front). A complete name keeps its meaning."""
    user_flags = " ".join(flags.split())
    for front in (FLAGS, *FLAGS.split()):
        rest = user_flags.removeprefix(front).strip()
        if rest != user_flags and _list_our_flags(rest) == front:
            user_flags = rest
    return user_flags, f"{_list_our_flags(user_flags)} {user_flags}".strip()


def _list_our_flags(user_flags: str) -> str:
    """Returns our flags that no flag of the user replaces."""
    ours = zip(FLAGS.split(), (_OPTIMISATION, _PROCESSOR), strict=True)
    return " ".join(flag for flag, form in ours if not any(form.fullmatch(word) for word in user_flags.split()))


def _require_new_enough(tool: Tool, flags: str) -> Toolchain:
    """Raises MachineFailed if the compiler is older than the least version of its family."""
    toolchain = _make_toolchain(tool, flags)
    if _is_too_old(toolchain):
        family, _, version = toolchain.name.partition("-")
        raise MachineFailed(
            f"The compiler {tool.path} is {family} {version.partition('+')[0]}, but Steelyard needs {family} {LEAST[family]} "
            "or later (for C++20). Install a newer compiler; the old one can stay. For example, on Debian: apt-get install "
            f"g++-{LEAST['gcc'] + 1}"
        )
    return toolchain


def _is_too_old(toolchain: Toolchain) -> bool:
    family, _, version = toolchain.name.partition("-")
    number = re.match(r"\d+", version)
    return family in LEAST and number is not None and int(number.group()) < LEAST[family]


def mpi_name(mpi: Tool) -> str:
    """Returns the factor's value in the records: "openmpi-4.1.4"."""
    return f"{mpi.name}-{mpi.version}"


def resolve_mpi(text: str, machine: Machine) -> Tool:
    """Returns the MPI that a user names: "openmpi", "mpich-5.0.2", or its C++ wrapper. UsageError if there is none."""
    for mpi in machine.mpis:
        if text in (mpi.name, mpi_name(mpi)):
            return mpi
    path = find_program(os.path.expanduser(text))
    if path:
        return _find_mpi(text, os.path.abspath(path))
    if "/" in text:
        why = "cannot be executed, because its mode does not allow this" if is_file(Path(text)) else "does not exist"
        raise UsageError(f"'{text}' (given by --mpi) {why}. Give the path of an MPI's C++ compiler wrapper (mpicxx).")
    if overwritten := _warn_overwritten(text):
        raise UsageError(overwritten)
    how = f"Do: steelyard mpi install {text}" if text.partition("-")[0] in list_installable() else f"{HOW_TO_INSTALL}"
    raise UsageError(
        f"There is no MPI '{text}' on this machine (given by --mpi). {nearest(text, [mpi_name(m) for m in machine.mpis])} "
        f"{how}, or give the path of an mpicxx with --mpi."
    )


def _warn_overwritten(text: str) -> str:
    """Returns a sentence if the MPI came as a Python package, and another one has overwritten its programs; "" otherwise."""
    package = text.partition("-")[0]
    both = owners("mpicxx", sorted(flavours()))
    if package not in both or len(both) == 1:
        return ""
    return (
        f"There is no MPI '{text}' (given by --mpi): the Python packages {' and '.join(both)} are both installed in this "
        "environment. Both contain mpicxx and mpiexec, and the package that was installed later has overwritten these files "
        f"of {package}. Install {text} into a separate environment: steelyard mpi install {text}"
    )


def _find_mpi(text: str, path: str) -> Tool:
    try:
        mpi = ask_mpi(path)
    except Hangs as problem:
        raise MachineFailed(f"The MPI '{text}' (given by --mpi) {problem}.") from None
    if mpi is None and has_header(path, "mpi.h"):
        raise UsageError(
            f"'{text}' (given by --mpi) finds <mpi.h>, but does not report which MPI it uses and which libraries it links. "
            "Give the path of the mpicxx that belongs to this MPI. On a Cray, load the module cray-mpich or give "
            "$MPICH_DIR/bin/mpicxx."
        )
    if mpi is None:
        raise UsageError(
            f"'{text}' (given by --mpi) is not the C++ compiler wrapper of an MPI, or its header <mpi.h> is not installed. "
            "Give the path of an mpicxx."
        )
    return mpi


def default_mpi(machine: Machine) -> Tool | None:
    """Returns the MPI of a run that names none: the site's own before one that came as a Python package; None if none is."""
    packages = {str(Path(sys.executable).parent), *(str(folder / "bin") for folder in mpi_environments())}
    return min(machine.mpis, key=lambda mpi: str(Path(mpi.path).parent) in packages, default=None)
