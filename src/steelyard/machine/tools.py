"""Finds compilers and MPIs by asking them: besides lstopo the only programs that this package starts."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from steelyard import mpi
from steelyard.model import Tool
from steelyard.programs import Hangs, NoAnswer, ask

# Without a version or with one ("g++-12"). `c++` stands for one of the others, and counts where it is alone.
_COMPILERS = re.compile(r"(g\+\+|clang\+\+|icpx|nvc\+\+|armclang\+\+|c\+\+)(-[\d.]+)?")
_COMPILER_ORDER = ("g++", "clang++", "icpx", "nvc++", "armclang++", "c++")
# One program under the names of many: the name that is called decides, so that its real path tells nothing.
_MASKS = ("ccache", "sccache", "distcc", "icecc")
_MOST = 64 << 20  # bytes that a header may come to


def find_tools(path: str | None = None) -> tuple[tuple[Tool, ...], tuple[Tool, ...], tuple[str, ...]]:
    """(C++ compilers, MPIs, sentences on programs that do not answer) on `path`.

    It is by default PATH and the folder of this Python, where wheels put mpicxx.
    Each distinct program once, under the first of its names. A compiler's version is the first line of
    `--version`. An MPI is named by its flavour (see `mpi`), and its path is its C++ wrapper's.
    """
    folders = (path if path is not None else _search_path()).split(os.pathsep)
    compilers = _programs(folders, _COMPILERS, _COMPILER_ORDER)
    names = tuple(dict.fromkeys(name for flavour in mpi.flavours().values() for name in flavour.wrappers))
    wrappers = _programs(folders, re.compile(rf"({'|'.join(map(re.escape, names))})(\.\w+)?"), names)
    with ThreadPoolExecutor(max_workers=16) as pool:
        hanging: list[str] = []
        tools = pool.map(_unless_it_hangs(_compiler, hanging), compilers)
        mpis = pool.map(_unless_it_hangs(ask_mpi, hanging), wrappers)
        return tuple(filter(None, tools)), tuple(filter(None, mpis)), tuple(hanging)


def _unless_it_hangs(find: Callable[[str], Tool | None], hanging: list[str]) -> Callable[[str], Tool | None]:
    """The same; of a program that does not answer a sentence in `hanging`."""

    def one(program: str) -> Tool | None:
        try:
            return find(program)
        except Hangs as problem:
            hanging.append(f"{program} {problem}, and is left out.")
            return None

    return one


def _compiler(program: str) -> Tool | None:
    version = _first_line([program, "--version"])
    return Tool(os.path.basename(program), program, version) if version else None


def mpiexec_of(tool: Tool) -> str | None:
    """The program that starts processes for an MPI, beside its wrapper; None when only that is installed."""
    folder, _, suffix = tool.path.rpartition("/")[0], *os.path.basename(tool.path).partition(".")[1:]
    starters = mpi.of(tool).starters
    names = [f"{name}.{suffix}" for name in starters if suffix] + list(starters)
    return next((f"{folder}/{name}" for name in names if os.access(f"{folder}/{name}", os.X_OK)), None)


def _search_path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _programs(folders: Iterable[str], pattern: re.Pattern[str], order: tuple[str, ...]) -> list[str]:
    """Paths of the programs whose name matches, as a shell would find them, each program once."""
    first: dict[str, str] = {}
    for folder in filter(None, folders):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if pattern.fullmatch(name) and name not in first and os.access(path, os.X_OK) and os.path.isfile(path):
                first[name] = path
    kept: dict[str, str] = {}
    for name in sorted(first, key=lambda name: _rank(name, pattern, order)):
        real = os.path.realpath(first[name])
        kept.setdefault(f"{real}:{name}" if os.path.basename(real) in _MASKS else real, first[name])
    return list(kept.values())


def _rank(name: str, pattern: re.Pattern[str], order: tuple[str, ...]) -> tuple[int, list[int], str]:
    """Unversioned names first, then the newest version."""
    match = pattern.fullmatch(name)
    kind, suffix = (match.group(1), match.group(2) or "") if match else (name, "")
    version = [-int(number) for number in re.findall(r"\d+", suffix)] or [-(1 << 30)]
    return order.index(kind) if kind in order else len(order), version, name


def ask_mpi(wrapper: str) -> Tool | None:
    """The MPI to which the C++ wrapper at this path belongs; None where it is none, or cannot compile. Hangs."""
    known = mpi.flavours().values()
    # An MPI that does not know another one's question passes it to the compiler.
    for question in dict.fromkeys(flavour.question for flavour in known):
        answer = _first_line([wrapper, question])
        for flavour in known:
            if flavour.question == question and (match := re.search(flavour.answer, answer)):
                found = Tool(flavour.name, wrapper, match.group(1) or "unknown")
                return found if _finds_header(wrapper, "mpi.h") else None
    return None


def has_shmem(tool: Tool) -> bool:
    """Whether this MPI brings OpenSHMEM along."""
    return mpi.of(tool).shmem and _finds_header(tool.path, "shmem.h")


@lru_cache
def _finds_header(wrapper: str, header: str) -> bool:
    """Distributions install the wrapper with the runtime, but <mpi.h> with a package of its own."""
    try:
        return ask([wrapper, "-E", "-x", "c++", "-"], given=f"#include <{header}>\n", most=_MOST).returncode == 0
    except NoAnswer:
        return False


def _first_line(command: list[str]) -> str:
    """The first line that `command` prints, on either channel; "" where it prints none or cannot be started. Hangs."""
    try:
        answer = ask(command, environment={**os.environ, "LC_ALL": "C"})
    except Hangs:
        raise
    except NoAnswer:
        return ""
    lines = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
    return lines[0].strip() if lines else ""


@lru_cache
def mpi_flags(tool: Tool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words with which this MPI is (compiled, linked) against, as its wrapper shows them.

    Only those that say where headers and libraries are: a wrapper's own optimisation must not be measured.
    """
    words = iter(shlex.split(_first_line([tool.path, "-show"])))
    compiling: list[str] = []
    linking: list[str] = []
    for word in words:
        if word in ("-I", "-isystem", "-L", "-Xlinker"):
            (linking if word in ("-L", "-Xlinker") else compiling).extend((word, next(words, "")))
        elif word.startswith("-I"):
            compiling += ["-isystem", word[2:]]  # the site's headers may warn as they like
        elif word.startswith("-D"):
            compiling.append(word)
        elif word.startswith(("-L", "-l", "-Wl,")) or word.endswith((".a", ".so")):
            linking.append(word)
    return tuple(compiling), tuple(linking)
