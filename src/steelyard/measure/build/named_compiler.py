"""A compiler that a user names: by a path, by any name on the PATH, by the name of its C compiler."""

import os
import re
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.measure.machine.tools import MASKS, ask_compiler
from steelyard.model import Machine, Tool
from steelyard.system.answers import NoAnswer, ask, search
from steelyard.system.starts import find_program

# What the name of a C compiler becomes, in which a triple may stand before it and a version behind it.
_PARTNERS = (
    ("gcc", "g++"),
    ("clang", "clang++"),
    ("icx", "icpx"),
    ("nvc", "nvc++"),
    ("armclang", "armclang++"),
    ("cc", "c++"),
)
_C = re.compile(rf"(.*-)?({'|'.join(c for c, _ in _PARTNERS)})(-[\d.]+)?")
_OTHERS = {
    r"(.*-)?(gfortran|ifort|ifx|flang(-new)?|nvfortran|armflang|f77|f95|ftn)(-[\d.]+)?": "It is a Fortran compiler",
    r"(mpi|osh|shmem)\w+(\.\w+)?": "It is the compiler wrapper of an MPI. Name such a wrapper with --mpi instead",
}
# What a compiler makes of these words shows whether it reads C++, and whose it is: a macro that it lacks stays as it is.
_MACROS = ("__INTEL_LLVM_COMPILER", "__NVCOMPILER", "__clang__", "__INTEL_COMPILER", "__GNUC__", "__cplusplus")
_QUESTION = f"steelyard {' '.join(_MACROS)}\n"
# By the first macro that a compiler has: under which name it is a compiler of its family. Others keep theirs.
_NAMES = {"__INTEL_LLVM_COMPILER": "icpx", "__clang__": "clang++", "__GNUC__": "g++"}
_CXX = 199711  # the least value of __cplusplus


def find(wanted: str, machine: Machine) -> Tool | None:
    """Returns the compiler that `wanted` names; one that was found on this machine already where it is the same program.

    None for a word that is no program's name at all. UsageError, with the reason, for what cannot be used.
    """
    path = _find_path(wanted)
    if path is None:
        return None
    for form, what in _OTHERS.items():
        if re.fullmatch(form, Path(path).name):
            raise _refusal(wanted, f"{what}")
    real = os.path.realpath(path)
    if Path(real).name not in MASKS and "-clang" not in Path(path).name:  # whose target is in the name
        for tool in machine.compilers:
            if os.path.realpath(tool.path) == real:
                return tool
    try:
        answered, name = ask_compiler(path), _find_compiler_name(path)
    except NoAnswer as problem:
        raise _refusal(wanted, f"It {problem}") from None
    if answered is None or name is None:
        raise _refusal(wanted, "It does not report its version, or it cannot compile C++")
    return Tool("cray" if answered.version.startswith("Cray") else name, path, answered.version)


def _find_path(wanted: str) -> str | None:
    """Returns the path of the C++ compiler of that name; None if nothing has that name."""
    typed = os.path.expanduser(wanted)
    program = find_program(typed)
    if "/" in typed:
        if not os.path.exists(typed):
            raise _refusal(wanted, "There is no such file")
        if program is None:
            raise _refusal(wanted, "It is a folder" if os.path.isdir(typed) else "You have no permission to execute it")
    folder, _, name = (program or typed).rpartition("/")
    match = _C.fullmatch(name)
    if not match:
        return os.path.abspath(program) if program else None
    partner = f"{match[1] or ''}{dict(_PARTNERS)[match[2]]}{match[3] or ''}"
    beside = find_program(partner, folder or None)
    if beside is None and program:
        raise _refusal(wanted, f"It is a C compiler, and its C++ compiler {partner} is missing. Install {partner}")
    return beside and os.path.abspath(beside)


def _find_compiler_name(path: str) -> str | None:
    """Returns the name by which the compiler at `path` is one of its family; None if it does not read C++."""
    answer = ask([path, "-x", "c++", "-E", "-P", "-"], given=_QUESTION, environment={**os.environ, "LC_ALL": "C"})
    line = search(answer, r"^steelyard (.*)$")
    words = line[1].split() if line else []
    values = dict(zip(_MACROS, words, strict=False))
    if answer.returncode != 0 or int(re.sub(r"\D", "", values.get("__cplusplus", "")) or 0) < _CXX:
        return None
    macro_name = next((macro for macro in _MACROS if values[macro] != macro), "")
    return _NAMES.get(macro_name) or Path(path).name


def _refusal(wanted: str, why: str) -> UsageError:
    return UsageError(
        f"'{wanted}' (given by --toolchain) cannot be used. {why}. Name a C++ compiler, such as g++-12, /opt/gcc/bin/g++ or "
        "'gcc -O2'."
    )
