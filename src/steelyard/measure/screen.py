"""The console that a run is handed: this one shows nothing, that of the command line prints."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from steelyard.measure import build
from steelyard.model import Case, Launch, Record


@dataclass(kw_only=True)
class Progress:
    """The progress for the display: `done` of `total` cases (0: unknown) in this `phase`, such as "launch 2 of 2".

    `seconds_left` is the stated length of the run less the time so far (`elapsed`), or more if the pace so far requires it.
    """

    launch: Launch
    case: Case
    done: int
    total: int
    seconds_left: float
    elapsed: float = 0.0
    phase: str = ""
    last: Record | None = None
    waiting: bool = False


class Screen:
    """Shows nothing."""

    def warn(self, sentence: str) -> None:
        """Shows a sentence that the user must see, also where no progress is asked for."""

    @contextmanager
    def keeping(self, words: str) -> Iterator[None]:
        """Shows what is kept and how to go on if the user ends the block, also where no progress is asked for."""
        yield

    def inform(self, sentence: str) -> None:
        """Shows a sentence about the progress."""

    @contextmanager
    def working(self, words: str) -> Iterator[None]:
        """Shows during the block what is being done, such as "Writing the report"."""
        yield

    @contextmanager
    def building(self, toolchains: str) -> Iterator[Callable[[build.Progress], None]]:
        """Yields the function that shows how far a build with these toolchains is."""
        yield lambda progress: None

    @contextmanager
    def measuring(self) -> Iterator[Callable[[Progress], None]]:
        """Yields the function that shows how far a run is; it is called before each case."""
        yield lambda progress: None
