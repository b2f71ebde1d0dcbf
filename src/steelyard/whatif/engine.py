"""The engine of the replay: starts it with one trace, and asks it."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.measure.launch.program import Program
from steelyard.model import Machine
from steelyard.whatif import kept, readable
from steelyard.whatif.program import LONGEST, compile_program


@dataclass(frozen=True)
class Broken:
    """A rank whose trace ends before MPI_Finalize: its last call, and the reason."""

    rank: int
    call: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Traced:
    """Measurements of the traced run, in s. `time` is from the begin of the first rank to the end of the last one.

    `computing`, `preempted` (wait for a processor), `waiting` (its part between calls of MPI) and `tool` (cost of the tracer)
    are the greatest of all ranks. `without_waits`: the replay leaves out the waits between calls.
    """

    time: float
    computing: float
    preempted: float
    waiting: float
    without_waits: bool
    tool: float
    calls: int
    bytes: int  # of all files
    broken: tuple[Broken, ...]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The size of a trace: ranks, messages, events (computations, sends, receives, messages), and B of the messages."""

    ranks: int
    events: int
    messages: int
    bytes: int
    unreceived: int
    seconds: float  # time to read it
    crossing: int | None = None  # messages across the borders of a region, which are left out; None: the whole trace
    traced: Traced | None = None  # only of traces with the calls of a run
    even: int = 0  # collectives of an OTF2 archive with only the total bytes, not those of each pair

    @property
    def comparable(self) -> bool:
        """Returns whether the traced time is that of the whole replay."""
        return self.traced is not None and self.crossing is None and not self.traced.broken


@dataclass(frozen=True)
class Part:
    """The part of a trace that is replayed: a range of regions (None: all). MPI_Pcontrol begins a region, or each call of the
    collective `iterations` on MPI_COMM_WORLD. `without_waits`: without the waits for a processor between calls of MPI.
    """

    iterations: str = ""
    regions: tuple[int, int] | None = None
    without_waits: bool = False


WHOLE = Part()


def part(whole: Mapping[str, Any]) -> Part:
    """Returns the part of a trace that the single values of a scenario state."""
    return Part(whole.get("iterations", ""), whole.get("region"), whole.get("waits") == "removed")


class Engine:
    """A running program that has read one trace."""

    def __init__(self, program: Program, even: int = 0) -> None:
        self._program, self._even = program, even
        self._known: Mapping[str, dict[str, Any]] = {}
        program.tell("")  # it begins to read the trace

    @cached_property
    def trace(self) -> Trace:
        """Returns the size of the trace. UsageError if it cannot be read."""
        reply = {
            name: value
            for name, value in self._expect_success(self._program.hear("", LONGEST)).items()
            if name != "memory"
        }
        return Trace(**reply | {"traced": _decode_traced(reply.get("traced")), "even": self._even})

    def ask(self, line: str) -> dict[str, Any]:
        """Returns the answer to a line (`question.lines`). UsageError with the sentence of the engine."""
        assert self.trace
        return self._known[line] if line in self._known else self._expect_success(self._program.ask(line, LONGEST))

    def know(self, answers: Mapping[str, dict[str, Any]]) -> None:
        """Takes answers of other engines with the same trace, which are not asked again."""
        self._known = answers

    @staticmethod
    def _expect_success(reply: dict[str, Any]) -> dict[str, Any]:
        if "error" in reply:
            raise UsageError(str(reply["error"]) + ".")
        return reply


def _decode_traced(reply: dict[str, Any] | None) -> Traced | None:
    if reply is None:
        return None
    return Traced(**reply | {"broken": tuple(Broken(**entry) for entry in reply["broken"])})


@contextlib.contextmanager
def start(trace: Path, machine: Machine, flops: float, part: Part = WHOLE) -> Iterator[Engine]:
    """Yields an engine with the trace; `flops` (flop/s) converts the work of traces that count work."""
    regions = [] if part.regions is None else [str(number) for number in part.regions]
    with readable.open_readable(trace, machine) as readable_trace:
        words = [str(readable_trace.path), repr(flops), part.iterations or "-", *regions]
        executable = compile_program("replay", machine)
        place = kept.find_entry(trace, executable) if readable_trace.path == trace else None
        options = [*(["--without-waits"] if part.without_waits else []), *([f"--kept={place}"] if place else [])]
        running = Program([str(executable), *options, *words], {})
        try:
            yield Engine(running, readable_trace.even)
        except BaseException:
            running.kill()
            raise
        else:
            running.close()
