"""Compiles what the cache lacks, by Ninja: each object and program is kept as soon as it is done."""

import contextlib
import fcntl
import os
import re
import shlex
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from steelyard.errors import MachineFailed
from steelyard.measure.build.failures import explain, explain_errors
from steelyard.measure.build.program import NATIVE, Object, Program, harness_objects
from steelyard.measure.build.time_left import Pace, Progress, Show, guess
from steelyard.measure.build.toolchain import compiler_flags
from steelyard.measure.machine.tools import mpi_flags
from steelyard.model import Tool, Toolchain
from steelyard.system import keeper, signals
from steelyard.system.installation import install_command
from steelyard.system.starts import find_program, start_program
from steelyard.system.user_cache import cache, expect_executable, expect_unshared, inside

# Ninja's words before each line of progress; anything else that it prints belongs to a failure.
_STATUS = "steelyard:%f:"
_LINK_EFFORT, _HEADER_EFFORT = 4_000.0, 50_000.0  # in the unit of Object.effort
_PATIENCE = 3.0  # seconds that Ninja may take to end its compilers
_LONGEST = 200  # letters of a lock's words
_MANY = 6  # programs of a group, from which on compiling their header once saves more than it takes


def make(
    programs: Sequence[Program],
    show: Show = lambda progress: None,
    harnesses: Iterable[tuple[Toolchain, Tool | None]] = (),
) -> None:
    """Builds those programs, and harnesses alone, that the cache lacks. An interrupted build goes on where it stopped.

    ProgramFailed shows the compiler's words whole; MachineFailed says that the disk or the memory is full.
    """
    with explain_errors():
        wanted = [obj for pair in harnesses for obj in harness_objects(*pair)]
        kept = {obj.path for obj in (*wanted, *(obj for program in programs for obj in program.objects))}
        _expect_unshared(path for path in (cache() / "build", *kept, *(program.path for program in programs)))
        expect_executable()
        if _is_incomplete(programs, wanted):
            with _lock_cache(show):
                _run_steps(programs, wanted, show)


def expect(programs: Sequence[Program]) -> Progress:
    """Returns how many programs the cache lacks, and how long their build will take."""
    needed = {o.path: o.effort for p in programs if not p.path.exists() for o in p.objects if not o.path.exists()}
    count = sum(not program.path.exists() for program in programs)
    effort = sum(needed.values()) + count * _LINK_EFFORT
    return Progress(0, count, guess(effort) if count else None)


def _expect_unshared(paths: Iterable[Path]) -> None:
    """Refuses what others can have put there, in whatever folder of the cache."""
    for near in {near for path in paths for near in (path, path.parent)}:
        with contextlib.suppress(FileNotFoundError):
            expect_unshared(near)


@dataclass(frozen=True)
class _Edge:
    """One step of the build: `rule` makes `outputs` of `inputs`; what is a program is counted."""

    rule: str
    outputs: tuple[Path, ...]
    inputs: tuple[Path, ...]
    variables: dict[str, str]
    effort: float


def _is_incomplete(programs: Sequence[Program], objects: Sequence[Object]) -> bool:
    return not all(path.exists() for path in (*(p.path for p in programs), *(o.path for o in objects)))


_Group = tuple[Toolchain, tuple[str, ...]]  # programs that can use one compiled header
Common = dict[_Group, tuple[_Edge, str]]


def _group(program: Program) -> _Group:
    """Returns what a shared header depends on. Without macros of an MPI, it is the same as for programs with threads."""
    flags = mpi_flags(program.mpi)[0] if program.mpi else ()
    return program.objects[0].toolchain, tuple(word for word in flags if word.startswith("-D"))


def _list_steps(programs: Sequence[Program], objects: Sequence[Object], folder: Path) -> list[_Edge]:
    """Returns the steps that are left: the harness, without which nothing can be linked, then what takes longest, so that none of
    these runs alone at the end.
    """
    left = {program.path: program for program in programs if not program.path.exists()}
    needed = {obj.path: obj for obj in (*objects, *(obj for program in left.values() for obj in program.objects[1:]))}
    compiling = [_make_compile_edge(obj, folder) for path, obj in needed.items() if not path.exists()]
    common = _compile_headers(left.values(), folder)
    own = sorted(_compile_programs(left.values(), common, folder), key=lambda edge: -edge.effort)
    return [*(edge for edge, _ in common.values()), *compiling, *own]


def _compile_headers(programs: Iterable[Program], folder: Path) -> Common:
    """Returns the steps that precompile the headers of kernels and vectors for many programs, and the flags that use them.

    The result lies in the build's own folder, since it has some 90 MB. Only GCC and Clang are known to do this.
    """
    groups = Counter(_group(p) for p in programs if not p.objects[0].path.exists())
    found: Common = {}
    for number, ((toolchain, macros), count) in enumerate(groups.items()):
        family = toolchain.name.partition("-")[0]
        if count < _MANY or family not in ("gcc", "clang"):
            continue
        stub = folder / f"header{number}.h"
        # The compiler's header of vector instructions takes as long as all others, and most programs include it.
        stub.write_text("".join(f'#include "{name}"\n' for name in ("kernel.h", "simd.h")), encoding="utf-8")
        out = stub.with_name(f"{stub.name}.{'gch' if family == 'gcc' else 'pch'}")
        words = ("-include", stub.name) if family == "gcc" else ("-include-pch", out.name)
        plain = _list_variables(Object("header", stub, toolchain), folder)
        variables = {**plain, "flags": f"{plain['flags']} {_quote_words(macros)}", "object": out.name}
        found[toolchain, macros] = _Edge("header", (out,), (), variables, _HEADER_EFFORT), _quote_words(words)
    return found


def _make_compile_edge(obj: Object, folder: Path) -> _Edge:
    return _Edge("object", (obj.path,), (), _list_variables(obj, folder), obj.effort)


def _compile_programs(programs: Iterable[Program], common: Common, folder: Path) -> Iterator[_Edge]:
    """Compiles and links each program in one step, so that it is complete as early as possible.

    A program whose object is kept, or belongs to another program too, is only linked.
    """
    made: set[Path] = set()
    for program in programs:
        own, *harness = program.objects
        flags = mpi_flags(program.mpi)[1] if program.mpi and not program.alone else ()
        header, words = common.get(_group(program), (None, ""))
        variables = {
            **_list_variables(own, folder),
            "header": words,
            "link": _quote_words(program.linking),
            "objects": _quote_words(_name(obj.path, folder) for obj in harness),
            "program": _quote_words([_name(program.path, folder)]),
            "libraries": _quote_words((*flags, *program.libraries)),
        }
        rest = tuple(obj.path for obj in harness)
        if own.path in made or own.path.exists():
            yield _Edge("program", (program.path,), (own.path, *rest), variables, _LINK_EFFORT)
        else:
            made.add(own.path)
            inputs = (*rest, *(header.outputs if header else ()))
            yield _Edge("both", (program.path, own.path), inputs, variables, own.effort + _LINK_EFFORT)


def _name(path: Path, folder: Path) -> str:
    """Returns a file of the cache relative to the build folder, because the path of the cache may have blanks or colons."""
    return os.path.relpath(path, folder)


def _list_variables(obj: Object, folder: Path) -> dict[str, str]:
    flags = mpi_flags(obj.mpi)[0] if obj.mpi else ()
    return {
        "cxx": _quote_words([obj.toolchain.compiler]),
        "flags": _quote_words((*compiler_flags(obj.toolchain), *flags, f"-I{NATIVE}")),
        "source": _quote_words([str(obj.source)]),
        "object": _quote_words([_name(obj.path, folder)]),
    }


def _quote_words(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _run_steps(programs: Sequence[Program], objects: Sequence[Object], show: Show) -> None:
    with keeper.temporary_folder(cache() / "build") as folder:
        edges = _list_steps(programs, objects, folder)
        if not edges:  # another build has made them meanwhile
            return
        _write_edges(edges, folder / "build.ninja")
        try:
            _run_ninja([_find_ninja(), "-C", str(folder), "-j", str(len(os.sched_getaffinity(0)))], edges, show)
        finally:
            for path in (path for edge in edges for path in edge.outputs):  # folders of what was not made
                with contextlib.suppress(OSError):
                    path.parent.rmdir()


def _write_edges(edges: list[_Edge], path: Path) -> None:
    """Writes the file for Ninja. Paths are values of variables, because only a dollar sign is special there."""
    # A result gets its name when it is complete: what was killed half-way is never taken for one, and lies in this folder.
    compile_ = "$cxx $header $flags -c $source -o $part.o && mv $part.o $object"
    link = "$cxx $link $object $objects -o $part $libraries && mv $part $program"
    header = compile_.replace("-c $source", "-x c++-header $source")
    rules = {"header": header, "object": compile_, "program": link, "both": f"{compile_} && {link}"}
    lines = [f"rule {rule}\n  command = {command}" for rule, command in rules.items()]
    paths = {p: f"path{n}" for n, p in enumerate(dict.fromkeys(p for e in edges for p in (*e.outputs, *e.inputs)))}
    lines += [f"{variable} = {_value(_name(p, path.parent))}" for p, variable in paths.items()]
    for number, edge in enumerate(edges):
        outputs, inputs = (" ".join(f"${{{paths[p]}}}" for p in some) for some in (edge.outputs, edge.inputs))
        lines.append(f"build {outputs}: {edge.rule} {inputs}")
        lines += [f"  {name} = {_value(value)}" for name, value in (*edge.variables.items(), ("part", f"part{number}"))]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8", errors="surrogateescape")


def _value(text: str) -> str:
    return text.replace("$", "$$")


def _run_ninja(command: list[str], edges: list[_Edge], show: Show) -> None:
    """Runs Ninja and shows its progress. A signal ends it before the folder of its unfinished results is removed."""
    programs = [edge.outputs[0] for edge in edges if edge.rule in ("program", "both")]
    outputs = programs or [edge.outputs[0] for edge in edges]
    pace = Pace([edge.effort for edge in edges], outputs, show)
    environment = {**os.environ, "NINJA_STATUS": _STATUS, "LC_ALL": "C", "TMPDIR": command[command.index("-C") + 1]}
    output: list[str] = []
    with start_program(
        command,
        environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        umask=_read_umask() | 0o022,  # a file that others can write to is never executed
    ) as ninja:
        assert ninja.stdout
        try:
            for line in ninja.stdout:
                step = re.match(r"steelyard:(\d+):", line)
                if step:
                    pace.finished(int(step.group(1)))
                else:
                    output.append(line)
        except KeyboardInterrupt:
            ninja.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                ninja.wait(_PATIENCE)
            raise
    signals.await_own(ninja.returncode)
    if ninja.returncode != 0:
        explain("".join(output), ninja.returncode)


def _read_umask() -> int:
    os.umask(now := os.umask(0o077))
    return now


@contextmanager
def _lock_cache(show: Show) -> Iterator[None]:
    """Allows one build at a time in a cache, so that no file is made twice. A killed build leaves no lock behind."""
    with (inside("build") / "lock").open("a+", encoding="utf-8", errors="replace") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            show(Progress(0, 0, None, waiting=_find_lock_holder(lock)))
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # file systems that know no locks: then both build
            pass
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%H:%M:%S}")
        lock.flush()
        yield


def _find_lock_holder(lock: TextIO) -> str:
    """Returns the process that holds the lock, in its own words."""
    lock.seek(0)
    words = lock.read(_LONGEST)
    return words if words.isprintable() and words else "another process"


def _find_ninja() -> str:
    """Returns the Ninja from PyPI that came with this package, or else that of the site."""
    import ninja

    found = find_program("ninja", ninja.BIN_DIR) or find_program("ninja")
    if not found:
        raise MachineFailed(
            f"The program 'ninja', which Steelyard needs to compile, is missing. Install it: {install_command('ninja')}"
        )
    return found
