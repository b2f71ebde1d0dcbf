"""The replay's program: compiled where the cache lacks it, started with one trace, and asked."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard import build
from steelyard.build import Program as Source
from steelyard.errors import UsageError
from steelyard.launch.program import Program
from steelyard.model import Machine

SOURCE = Path(__file__).with_name("native") / "replay.cpp"
FOREVER = 7 * 86400.0  # s: a replay takes as long as it takes; Ctrl-C ends it


@dataclass(frozen=True)
class Trace:
    """What was read: so many ranks, messages and events (computations, sends, receives, messages); B of messages."""

    ranks: int
    events: int
    messages: int
    bytes: int
    unreceived: int
    seconds: float  # that reading took


class Engine:
    """A conversation about one trace."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.trace = Trace(**{name: value for name, value in self._answer("").items() if name != "memory"})

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line (`question.lines`). UsageError with the engine's sentence."""
        return self._answer(line)

    def _answer(self, line: str) -> dict[str, Any]:
        found = self._program.ask(line, FOREVER)
        if "error" in found:
            raise UsageError(str(found["error"]) + ".")
        return found


def program(machine: Machine) -> Path:
    """The engine's executable."""
    source = Source("whatif.replay", SOURCE, build.resolve(build.default(machine), machine))
    build.make([source])
    return source.path


@contextlib.contextmanager
def engine(trace: Path, machine: Machine, flops: float) -> Iterator[Engine]:
    """The engine with that trace loaded; `flops` (flop/s) makes times of traces that count work."""
    running = Program([str(program(machine)), str(trace), repr(flops)], {})
    try:
        yield Engine(running)
    except BaseException:
        running.kill()
        raise
    else:
        running.close()
