"""Shows the progress of a command on standard error: a live line on a terminal, plain lines elsewhere. No phase is silent."""

import shutil
import sys
import threading
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

LIVE_SECONDS = 2.0  # after which a live line shows for how long the same work has gone on
PLAIN_SECONDS = 2.5  # between two plain lines
PLAIN_SHARE, PLAIN_MOST = 0.01, 60.0  # of the time so far, and seconds: the log of a long run stays short
SHORTEST = 0.5  # between two looks of the thread at the time
EARLY = 0.5  # seconds by which a line may come early if nothing is measured at that moment
BAR = 20  # characters
ERASE = "\r\033[K"  # the live line


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


class _Output:
    """Standard error, and when something was last written there."""

    written = time.monotonic()
    lock = threading.RLock()
    unfinished = False  # a live line is shown

    @classmethod
    def write(cls, text: str, end: str = "\n") -> None:
        with cls.lock:
            print(ERASE * cls.unfinished + text, end=end, file=sys.stderr, flush=True)
            cls.unfinished = not end and bool(text)
            cls.written = time.monotonic()


class Line:
    """One line of progress: rewritten on a terminal, and written again every few seconds elsewhere.

    A thread repeats it while the same work goes on. It sleeps for seconds, so that it hardly disturbs what is measured.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._live = quiet, sys.stderr.isatty() and not quiet
        self._began = self._since = time.monotonic()
        self._words = self._after = ""
        self._left: float | None = None
        self._ended = threading.Event()
        self._repeating = threading.Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> Self:
        if not self._quiet:
            self._repeating.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._quiet:
            return
        self._ended.set()
        self._repeating.join()
        if self._live and self._words:
            _Output.write("", end="")

    def show(self, words: str, left: float | None = None, after: str = "") -> None:
        """Needs to be called whenever something is done. `left`: the expected seconds until the end; `after`: more words."""
        if self._quiet:
            return
        with _Output.lock:
            self._words, self._left, self._after, self._since = words, left, after, time.monotonic()
            if self._live or self._due() <= EARLY:
                self._write()

    def begin(self, words: str) -> None:
        """Shows the words at once on a terminal; elsewhere only if the work lasts."""
        if self._live:
            self.show(words)
        else:
            self._words, self._since = words, time.monotonic()

    def _write(self) -> None:
        gone = time.monotonic() - self._since
        gone = gone if gone > EARLY else 0.0
        left = f", about {duration(max(0.0, self._left - gone))} left" if self._left is not None else ""
        words = f"{self._words}{left}{self._after}" + (f" ({duration(gone)})" if gone else "")
        if self._live:
            _Output.write(words[: shutil.get_terminal_size().columns - 1], end="")
        else:
            _Output.write(words)

    def _due(self) -> float:
        """Returns the seconds until the next line is due."""
        now = time.monotonic()
        usual = max(PLAIN_SECONDS, min(PLAIN_MOST, PLAIN_SHARE * (now - self._began)))
        return _Output.written + (LIVE_SECONDS if self._live else usual) - now

    def _repeat(self) -> None:
        while not self._ended.wait(max(SHORTEST, self._due())):
            with _Output.lock:
                if self._words and self._due() <= 0:
                    self._write()


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
            _Output.write(
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
            _Output.write(f"Building {programs} (once; they are kept for later runs){left} …")
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
        _Output.written = time.monotonic()  # a command begins, whatever this process did before

    def warn(self, sentence: str) -> None:
        _Output.write(f"steelyard: {sentence}")

    def interrupted(self, words: str) -> None:
        _Output.write(f"\n{words}")

    def inform(self, sentence: str) -> None:
        if not self._quiet:
            _Output.write(sentence)

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
