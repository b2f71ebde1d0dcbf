"""The replay's program: compiled where the cache lacks it, started with one trace, and asked."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard import build
from steelyard.build import Program as Source
from steelyard.errors import UsageError
from steelyard.launch.program import Program
from steelyard.model import Machine
from steelyard.whatif import kept, readable

SOURCE = Path(__file__).with_name("native") / "replay.cpp"
FOREVER = 7 * 86400.0  # s: a replay takes as long as it takes; Ctrl-C ends it


@dataclass(frozen=True)
class Broken:
    """A rank whose program ends before its MPI_Finalize: its last call, and why nothing follows it."""

    rank: int
    call: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Traced:
    """What was measured while a trace of ours was made, s: from the first rank's beginning to the last one's end; the greatest
    of a rank's computing, of its waiting for a processor, and of what the tracer itself took.
    """

    time: float
    computing: float
    preempted: float
    tool: float
    calls: int
    bytes: int  # of all files
    broken: tuple[Broken, ...]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What was read: so many ranks, messages and events (computations, sends, receives, messages); B of messages."""

    ranks: int
    events: int
    messages: int
    bytes: int
    unreceived: int
    seconds: float  # that reading took
    crossing: int | None = None  # of a part of a trace: messages across its borders, which are left out
    traced: Traced | None = None  # of a trace with the calls of the run
    even: int = 0  # of an OTF2 archive: collectives of which it has the sum of bytes, and not those of each pair


@dataclass(frozen=True)
class Part:
    """What of a trace is replayed: the regions from one number to another (None: all of it), which MPI_Pcontrol begins, or each
    call of a collective on MPI_COMM_WORLD.
    """

    iterations: str = ""
    regions: tuple[int, int] | None = None


WHOLE = Part()


def part(whole: Mapping[str, Any]) -> Part:
    """Returns the part of a trace that the single values of a scenario state."""
    return Part(whole.get("iterations", ""), whole.get("region"))


class Engine:
    """A conversation about one trace."""

    def __init__(self, program: Program, even: int = 0) -> None:
        self._program, self._even = program, even
        self._known: Mapping[str, dict[str, Any]] = {}
        program.tell("")  # it reads the trace now, and says so when it is asked

    @cached_property
    def trace(self) -> Trace:
        """What it has read. UsageError where it could not."""
        found = {
            name: value for name, value in self._checked(self._program.hear("", FOREVER)).items() if name != "memory"
        }
        return Trace(**found | {"traced": _traced(found.get("traced")), "even": self._even})

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line (`question.lines`). UsageError with the engine's sentence."""
        assert self.trace
        return self._known[line] if line in self._known else self._checked(self._program.ask(line, FOREVER))

    def know(self, answers: Mapping[str, dict[str, Any]]) -> None:
        """What other engines with the same trace have answered: it is not asked again."""
        self._known = answers

    @staticmethod
    def _checked(found: dict[str, Any]) -> dict[str, Any]:
        if "error" in found:
            raise UsageError(str(found["error"]) + ".")
        return found


def _traced(found: dict[str, Any] | None) -> Traced | None:
    if found is None:
        return None
    return Traced(**found | {"broken": tuple(Broken(**each) for each in found["broken"])})


def program(machine: Machine) -> Path:
    """The engine's executable."""
    source = Source(name="whatif.replay", source=SOURCE, toolchain=build.resolve(build.default(machine), machine))
    build.make([source])
    return source.path


@contextlib.contextmanager
def engine(trace: Path, machine: Machine, flops: float, part: Part = WHOLE) -> Iterator[Engine]:
    """The engine with that trace loaded; `flops` (flop/s) makes times of traces that count work."""
    regions = [] if part.regions is None else [str(number) for number in part.regions]
    with readable.opened(trace, machine) as found:
        words = [str(found.path), repr(flops), part.iterations or "-", *regions]
        executable = program(machine)
        place = kept.place(trace, executable) if found.path == trace else None
        options = [f"--kept={place}"] if place else []
        running = Program([str(executable), *options, *words], {})
        try:
            yield Engine(running, found.even)
        except BaseException:
            running.kill()
            raise
        else:
            running.close()
