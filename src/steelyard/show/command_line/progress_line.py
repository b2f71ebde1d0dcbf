"""One line of progress on standard error: live on a terminal, plain lines elsewhere.

It imports little, since commands of a second use it, too.
"""

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self

from steelyard.model.units import duration

LIVE_SECONDS = 2.0  # after which a live line shows for how long the same work has gone on
PLAIN_SECONDS = 2.5  # between two plain lines
PLAIN_SHARE, PLAIN_MOST = 0.01, 60.0  # of the time so far, and seconds: the log of a long run stays short
SHORTEST = 0.5  # between two looks of the thread at the time
EARLY = 0.5  # seconds by which a line may come early if nothing is measured at that moment
ERASE = "\r\033[K"  # the live line


class Output:
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
            Output.write("", end="")

    def show(self, words: str, left: float | None = None, after: str = "") -> None:
        """Needs to be called whenever something is done. `left`: the expected seconds until the end; `after`: more words."""
        if self._quiet:
            return
        with Output.lock:
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
            Output.write(words[: shutil.get_terminal_size().columns - 1], end="")
        else:
            Output.write(words)

    def _due(self) -> float:
        """Returns the seconds until the next line is due."""
        now = time.monotonic()
        usual = max(PLAIN_SECONDS, min(PLAIN_MOST, PLAIN_SHARE * (now - self._began)))
        return Output.written + (LIVE_SECONDS if self._live else usual) - now

    def _repeat(self) -> None:
        while not self._ended.wait(max(SHORTEST, self._due())):
            with Output.lock:
                if self._words and self._due() <= 0:
                    self._write()
