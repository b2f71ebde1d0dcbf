"""Shows how far a run is: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

from steelyard.model import Record
from steelyard.run import Progress
from steelyard.units import duration

PLAIN_SECONDS = 15.0  # between two plain lines: a log is read later, by someone in a hurry


def describe(record: Record) -> str:
    """The last case in a few words."""
    if record.error:
        return "failed"
    ordered = sorted(record.samples)
    median = ordered[len(ordered) // 2] if ordered else None
    lamp = {"CLEAN": "clean", "DISTURBED": "DISTURBED", "INVALID": "INVALID"}[record.verdict.level]
    rate = record.work.get("bytes")
    figure = (
        f"{rate / median / 1e9:.3g} GB/s" if rate and median else (f"{median * 1e9:.4g} ns" if median else "no samples")
    )
    return f"{figure}, {len(ordered)} samples, {lamp}"


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
