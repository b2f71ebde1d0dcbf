"""Finds compilers and MPIs by asking them: besides lstopo the only programs that this package starts."""

import itertools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.measure import mpi
from steelyard.model import Tool
from steelyard.system.answers import Answer, Hangs, NoAnswer, ask, reason, remarks, search
from steelyard.system.starts import program_folders
from steelyard.system.user_cache import cache

# Without a version or with one ("g++-12"). `c++` stands for one of the others, and counts where it is alone.
_COMPILERS = re.compile(r"(g\+\+|clang\+\+|icpx|nvc\+\+|armclang\+\+|c\+\+)(-[\d.]+)?")
_COMPILER_ORDER = ("g++", "clang++", "icpx", "nvc++", "armclang++", "c++")
# One program under the names of many: the name that is called decides, so that its real path tells nothing.
_MOST_NOTES = 5  # sentences on what programs print besides their answers
MASKS = ("ccache", "sccache", "distcc", "icecc")
INSTALLED = ".installed"  # the mark of an environment of an MPI that is whole
_MOST = 64 << 20  # bytes that a header may come to
# Names that compilers print: "g++ (Debian 12.2.0-14) 12.2.0", "… clang version 14.0.6 …", "… Compiler 2023.0.0 …".
_GNU, _NAMED = r"^\S.* \(.*\) \d+(\.\d+)+", r"(?i)(clang version|compiler( version)?) \d+(\.\d+)+"
_NUMBERED, _ANY = r"(^|\s)v?\d+(\.\d+)+", r"\S"


def find_tools(
    path: str | None = None, mpis: bool = True
) -> tuple[tuple[Tool, ...], tuple[Tool, ...], tuple[str, ...]]:
    """Returns (C++ compilers, MPIs, sentences on programs that do not answer, or print what is not theirs) on `path`.

    It is by default PATH and the folder of this Python, where wheels put mpicxx. MPIs are also those that Steelyard installed.
    Without `mpis` only compilers are asked, and of these only one kind: the first of which one answers. Each distinct program
    once, under the first of its names. A compiler's version is the line of `--version` that holds it. An MPI is named by its
    flavour (see `mpi`), and its path is its C++ wrapper's.
    """
    folders = (path if path is not None else _search_path()).split(os.pathsep)
    compilers = _list_programs(folders, _COMPILERS, _COMPILER_ORDER)
    wrappers = _list_wrappers(folders, () if path is not None else mpi_environments()) if mpis else []
    with ThreadPoolExecutor(max_workers=16) as pool:
        problems: list[str] = []
        if path is None and program_folders() != os.environ.get("PATH", os.defpath).split(os.pathsep):
            problems.append(
                "PATH has an empty entry or a relative folder, such as '.'. Steelyard does not search for programs there."
            )
        printed: dict[str, list[str]] = {}
        asked = _note_problems(ask_compiler, problems, printed)
        kinds = [compilers] if mpis else [list(kind) for _, kind in itertools.groupby(compilers, _name_compiler_kind)]
        tools: Iterable[tuple[Tool, ...]] = (tuple(filter(None, pool.map(asked, kind))) for kind in kinds)
        flavours = pool.map(_note_problems(ask_mpi, problems, printed), wrappers)
        return next(filter(None, tools), ()), tuple(filter(None, flavours)), (*problems, *_list_remarks(printed))


def _list_wrappers(folders: Iterable[str], environments: Iterable[Path]) -> list[str]:
    """Returns the names of wrappers: first the MPIs on the path, then those in environments of their own."""
    names = tuple(dict.fromkeys(name for flavour in mpi.flavours().values() for name in flavour.wrappers))
    form = re.compile(rf"({'|'.join(map(re.escape, names))})(\.\w+)?")
    wrappers = _list_programs(folders, form, names)
    for environment in environments:
        wrappers += _list_programs([str(environment / "bin")], form, names)
    return wrappers


def _name_compiler_kind(program: str) -> str:
    match = _COMPILERS.fullmatch(os.path.basename(program))
    return match.group(1) if match else program


def _note_problems(
    find: Callable[[str, list[str]], Tool | None], problems: list[str], printed: dict[str, list[str]]
) -> Callable[[str], Tool | None]:
    """Returns `find` with notes: `problems` gets a sentence for a program that does not answer, `printed` each remark."""

    def one(program: str) -> Tool | None:
        lines: list[str] = []
        try:
            return find(program, lines)
        except NoAnswer as problem:
            problems.append(f"{program} {problem}. Steelyard does not use it.")
            return None
        finally:
            for line in dict.fromkeys(lines):
                printed.setdefault(line, []).append(program)

    return one


def _list_remarks(printed: dict[str, list[str]]) -> Iterable[str]:
    """The remarks of programs, a sentence each."""
    for line, who in list(printed.items())[:_MOST_NOTES]:
        more = f" and {len(who) - 1} more programs print" if len(who) > 1 else " prints"
        yield f"{min(who)}{more} this line in addition to the expected output: {line}"


def ask_compiler(program: str, notes: list[str] | None = None) -> Tool | None:
    """Returns the C++ compiler at this path, with the line in which it says its version; None if it says nothing.

    `notes` gets what it prints besides. Hangs; NoAnswer, with its reason, where it fails instead.
    """
    done = ask([program, "--version"], environment={**os.environ, "LC_ALL": "C"})
    forms = (_GNU, _NAMED, _NUMBERED, *([_ANY] if done.returncode == 0 else []))
    for channel in (done.stdout, done.stderr):
        alone = Answer(done.args, done.returncode, channel, "")
        for form in forms:
            if match := search(alone, form):
                _add_remarks(notes, done)
                return Tool(os.path.basename(program), program, match.string)
    if why := reason(done):
        raise NoAnswer(f"does not report its version ({why.splitlines()[0]})")
    return None


def mpiexec_of(tool: Tool) -> str | None:
    """Returns the program that starts processes for an MPI, beside its wrapper; None when only that is installed."""
    folder, _, suffix = tool.path.rpartition("/")[0], *os.path.basename(tool.path).partition(".")[1:]
    starters = mpi.of(tool).starters
    names = [f"{name}.{suffix}" for name in starters if suffix] + list(starters)
    return next((f"{folder}/{name}" for name in names if os.access(f"{folder}/{name}", os.X_OK)), None)


def mpi_environments() -> list[Path]:
    """Returns the environments of the MPIs that `steelyard mpi install` has installed."""
    try:
        return sorted(mark.parent for mark in (cache() / "mpi").glob(f"*/{INSTALLED}"))
    except MachineFailed:  # nothing is started from a cache that others can write to
        return []


def _search_path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), *program_folders()])


def _list_programs(folders: Iterable[str], pattern: re.Pattern[str], order: tuple[str, ...]) -> list[str]:
    """Returns the paths of the programs whose name matches, as a shell would find them, each program once."""
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
    for name in sorted(first, key=lambda name: _rank_name(name, pattern, order)):
        real = os.path.realpath(first[name])
        kept.setdefault(f"{real}:{name}" if os.path.basename(real) in MASKS else real, first[name])
    return list(kept.values())


def _rank_name(name: str, pattern: re.Pattern[str], order: tuple[str, ...]) -> tuple[int, list[int], str]:
    """Sorts names without a version first, and then by the newest version."""
    match = pattern.fullmatch(name)
    kind, suffix = (match.group(1), match.group(2) or "") if match else (name, "")
    version = [-int(number) for number in re.findall(r"\d+", suffix)] or [-(1 << 30)]
    return order.index(kind) if kind in order else len(order), version, name


def _add_remarks(notes: list[str] | None, done: Answer) -> None:
    if notes is not None:
        notes += remarks(done)


def ask_mpi(wrapper: str, notes: list[str] | None = None) -> Tool | None:
    """Returns the MPI to which the C++ wrapper at this path belongs; None if it is none, or cannot compile. Hangs."""
    all_flavours = mpi.flavours().values()
    # An MPI that does not know another one's question passes it to the compiler.
    for question in dict.fromkeys(flavour.question for flavour in all_flavours):
        done = _ask_program([wrapper, question])
        for flavour in all_flavours:
            if flavour.question == question and (match := search(done, flavour.answer)):
                _add_remarks(notes, done)
                tool = Tool(flavour.name, wrapper, ".".join(filter(None, match.groups())) or "unknown")
                return tool if has_header(wrapper, "mpi.h") else None
    return None


def has_shmem(tool: Tool) -> bool:
    """Returns whether this MPI brings OpenSHMEM along."""
    return mpi.of(tool).shmem and has_header(tool.path, "shmem.h")


@lru_cache
def has_header(wrapper: str, header: str) -> bool:
    """Whether a wrapper finds it: distributions install the wrapper with the runtime, but <mpi.h> with a package of its own."""
    try:
        return ask([wrapper, "-E", "-x", "c++", "-"], given=f"#include <{header}>\n", most=_MOST).returncode == 0
    except NoAnswer:
        return False


def _ask_program(command: list[str]) -> Answer:
    """Returns the answer of a program; "" if it cannot be started. Hangs."""
    try:
        return ask(command, environment={**os.environ, "LC_ALL": "C"})
    except Hangs:
        raise
    except NoAnswer:
        return Answer(command, 127, "", "")


@lru_cache
def mpi_flags(tool: Tool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the words with which this MPI is (compiled, linked) against, as its wrapper shows them.

    Only those that say where headers and libraries are: a wrapper's own optimisation must not be measured.
    """
    answers = (_ask_program([tool.path, word]) for word in mpi.of(tool).shows)
    shown = [search(answer, r"(^|\s)(-[ILl]|-Wl,|\S+\.(a|so)\b)") for answer in answers]
    words = (word for line in shown if line for word in shlex.split(line.string))
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
