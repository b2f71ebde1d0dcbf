"""Shows the progress of a command on standard error: a live line on a terminal, plain lines elsewhere. No phase is silent."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from steelyard.measure import build
from steelyard.measure.screen import Progress, Screen
from steelyard.model import Record
from steelyard.model.units import duration
from steelyard.model.words import plural
from steelyard.show.command_line.progress_line import Line, Output

BAR = 20  # characters


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


class BuildDisplay:
    """The progress of a build; nothing if the cache has all programs."""

    def __init__(self, toolchains: str, quiet: bool = False) -> None:
        self._toolchains = toolchains
        self._quiet = quiet
        self._line = Line(quiet)
        self._last = build.Progress(0, 0, None)

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, value, trace)
        if kind is KeyboardInterrupt and self._last.total and not self._quiet:
            Output.write(
                f"\nInterrupted. {self._last.done} of {self._last.total} programs are compiled and kept. The next build "
                "compiles only the others."
            )

    def show(self, progress: build.Progress) -> None:
        """Needs to be called whenever something is done."""
        if self._quiet:
            return
        if progress.waiting:
            self._line.show(f"Waiting for another build ({progress.waiting}) …")
            return
        if not self._last.total:
            left = f", about {duration(progress.seconds_left)}" if progress.seconds_left else ""
            programs = f"{plural(progress.total, 'program')} with {self._toolchains}"
            Output.write(f"Building {programs} (once; they are kept for later runs){left} …")
        self._last = progress
        self._line.show(f"{progress.done} of {plural(progress.total, 'program')} built", progress.seconds_left)


def count(progress: Progress) -> str:
    """Returns how many of the cases are done in words, counted as in the result: 'launch 2 of 2, 12 of 784 cases'."""
    cases = f"{progress.done} of {plural(progress.total, 'case')}" if progress.total else plural(progress.done, "case")
    return f"{progress.phase}, {cases}" if progress.phase else cases


class Display(Line):
    """The progress of a run."""

    def show_case(self, progress: Progress) -> None:
        """Needs to be called before each case."""
        left = progress.seconds_left
        what = f"{progress.case.benchmark} {progress.case.kernel}"
        what += " (waiting: disturbed)" if progress.waiting else ""
        if not self._live:
            self.show(count(progress), left, f"; now {what}")
            return
        full = round(BAR * progress.elapsed / max(1e-9, progress.elapsed + left))
        last = f"  {describe(progress.last)}" if progress.last else ""
        self.show(f"{'█' * full}{'░' * (BAR - full)} {count(progress)}", left, f"  {what}{last}")


class Console(Screen):
    """The standard error channel; `quiet` shows warnings only."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        Output.written = time.monotonic()  # a command begins, whatever this process did before

    def warn(self, sentence: str) -> None:
        Output.write(f"steelyard: {sentence}")

    @contextmanager
    def keeping(self, words: str) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            Output.write(f"\n{words}")
            raise

    def inform(self, sentence: str) -> None:
        if not self._quiet:
            Output.write(sentence)

    @contextmanager
    def working(self, words: str) -> Iterator[None]:
        with Line(self._quiet) as line:
            line.begin(f"{words} …")
            yield

    @contextmanager
    def building(self, toolchains: str) -> Iterator[Callable[[build.Progress], None]]:
        with BuildDisplay(toolchains, self._quiet) as display:
            yield display.show

    @contextmanager
    def measuring(self) -> Iterator[Callable[[Progress], None]]:
        with Display(self._quiet) as display:
            yield display.show_case
