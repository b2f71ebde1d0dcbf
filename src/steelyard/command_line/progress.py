"""Shows the progress of builds and runs: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from steelyard import build
from steelyard.model import Record
from steelyard.run import Progress
from steelyard.run.screen import Screen
from steelyard.units import duration
from steelyard.words import plural

PLAIN_SECONDS = 15.0  # between two plain lines: a log is read later, by someone in a hurry


def describe(record: Record) -> str:
    """The last case in a few words."""
    if record.error:
        return "failed"
    ordered = sorted(record.samples)
    median = ordered[len(ordered) // 2] if ordered else None
    lamp = "clean" if record.verdict.level == "CLEAN" else record.verdict.level
    rate = record.work.get("bytes")
    figure = (
        f"{rate / median / 1e9:.3g} GB/s" if rate and median else (f"{median * 1e9:.4g} ns" if median else "no samples")
    )
    return f"{figure}, {len(ordered)} samples, {lamp}"


class Line:
    """One line of progress on standard error: written anew on a terminal, and seldom elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._live = quiet, sys.stderr.isatty() and not quiet
        self._next = time.monotonic() + PLAIN_SECONDS
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live and self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def show(self, words: str) -> None:
        """To be called whenever something is done."""
        if self._live:
            print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)
            self._shown = True
        elif not self._quiet and time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_SECONDS
            print(words, file=sys.stderr, flush=True)


class BuildDisplay:
    """Shown while programs are built: nothing where the cache has them all."""

    def __init__(self, toolchains: str, quiet: bool = False) -> None:
        self._toolchains = toolchains
        self._quiet = quiet
        self._line = Line(quiet)
        self._last = build.Progress(0, 0, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, value, trace)
        if kind is KeyboardInterrupt and self._last.total and not self._quiet:
            print(
                f"\nInterrupted. {self._last.done} of {self._last.total} programs are compiled and kept. The next build "
                "compiles only the others.",
                file=sys.stderr,
            )

    def show(self, progress: build.Progress) -> None:
        """To be called whenever something is done."""
        if self._quiet:
            return
        if progress.waiting:
            print("Waiting for another build that uses the same cache …", file=sys.stderr, flush=True)
            return
        if not self._last.total:
            print(
                f"Building {plural(progress.total, 'program')} with {self._toolchains} (once; they are kept for later runs) …",
                file=sys.stderr,
                flush=True,
            )
        self._last = progress
        left = f", about {duration(progress.seconds_left)} left" if progress.seconds_left is not None else ""
        self._line.show(f"{progress.done} of {plural(progress.total, 'program')} built{left}")


class Display:
    """Shown while a run goes on; `live` False writes plain lines to standard error, `quiet` nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._next = 0.0

    def __enter__(self) -> Self:
        if self._live:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            # No automatic refresh: a thread that draws while a kernel is timed would be a disturbance of our own making.
            columns = (
                TextColumn("[bold]{task.fields[what]:<24}"),
                BarColumn(30),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]:>12} left"),
                TextColumn("[dim]{task.fields[last]}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
            self._bar.start()
            self._task = self._bar.add_task("run", what="starting", left="", last="", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._bar.stop()

    def show(self, progress: Progress) -> None:
        """To be called before each case."""
        if self._quiet:
            return
        what = f"{progress.case.benchmark} {progress.case.kernel}" + (
            " (waiting: disturbed)" if progress.waiting else ""
        )
        last = describe(progress.last) if progress.last else ""
        if self._live:
            self._bar.update(
                self._task,
                what=what,
                left=duration(progress.seconds_left),
                last=last,
                completed=progress.done,
                total=progress.total,
                refresh=True,
            )
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_SECONDS
            print(
                f"{progress.done}/{progress.total} cases, about {duration(progress.seconds_left)} left; now {what}",
                file=sys.stderr,
                flush=True,
            )


class Console(Screen):
    """The standard error channel; `quiet` shows warnings only."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

    def warn(self, sentence: str) -> None:
        print(f"steelyard: {sentence}", file=sys.stderr, flush=True)

    def interrupted(self, words: str) -> None:
        print(f"\n{words}", file=sys.stderr)

    def inform(self, sentence: str) -> None:
        if not self._quiet:
            print(sentence, file=sys.stderr, flush=True)

    @contextmanager
    def building(self, toolchains: str) -> Iterator[Callable[[build.Progress], None]]:
        with BuildDisplay(toolchains, self._quiet) as display:
            yield display.show

    @contextmanager
    def measuring(self) -> Iterator[Callable[[Progress], None]]:
        with Display(self._quiet) as display:
            yield display.show
