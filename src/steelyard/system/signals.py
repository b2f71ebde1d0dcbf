"""Ends a command by a signal. The first one interrupts its work once, the second waits for the clean-up, the third does not.

A timer is a signal, too: it limits the time of a block.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # batch systems end jobs with the last two
# Exit codes of programs that such a signal ended, and s until it arrives here as well if it was sent to all processes.
ENDED, AFTER = (*(-number for number in ENDING), *(128 + number for number in ENDING)), 1.0
MOST = 3  # signals: the last one ends this process without its clean-up, and the keeper does the most of it
AGAIN = 0.01  # seconds until an interruption is repeated that Python dropped
# Seconds until a call that waits is interrupted, so that Python sees the signal, and until an interruption that some code in C
# swallowed comes again.
NUDGES = (0.1, 0.4, 1.5)
TWICE = 2.0  # seconds between two Ctrl-C that are meant for this process, and not only for a command of the user


class _Interruption(KeyboardInterrupt):
    """Notes that it is gone. If nothing has accepted it by then, code in C has swallowed it, as some callbacks do."""

    def __init__(self, end: "_End") -> None:
        super().__init__()
        self._end = end

    def __del__(self) -> None:
        self._end.lost = not self._end.accepted


@dataclass(kw_only=True)
class _End:
    """The signals that came to end this process, and whether they have interrupted its work."""

    arrived: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)  # those that came while the one before was not noted yet
    held: int = 0  # blocks around the present work that hold signals back
    raised: bool = False
    lost: bool = False  # what was raised is gone, and nothing has accepted it
    accepted: bool = False
    again: bool = False  # the next one repeats an interruption that Python dropped
    told: bool = False
    listening: bool = False
    shared: float = float("-inf")  # when the last Ctrl-C was left to a command of the user

    def hear(self, number: int, frame: FrameType | None) -> None:
        code = _End.hear.__code__
        if frame and frame.f_code is code and frame.f_lineno == code.co_firstlineno:
            self.later.append(number)
            return
        self.arrived += [*(() if self.again else (number,)), *self.later]
        self.again, self.later = False, []
        if len(self.arrived) >= MOST:
            os.write(2, b"steelyard: interrupted during the clean-up, so temporary files may be left\n")
            os._exit(128 + self.arrived[0])
        self.interrupt()

    def interrupt(self) -> None:
        if self.arrived and not self.held and (self.lost or not self.raised):
            raise self.make_interruption()

    def make_interruption(self) -> KeyboardInterrupt:
        self.raised, self.lost = True, False
        return _Interruption(self)

    def repeat(self, dropped: Any) -> None:
        """Interrupts again after Python dropped the exception, as it does in `__del__` and in callbacks of a library."""
        if not (self.raised and issubclass(dropped.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(dropped)
            return
        self.again = True
        threading.Timer(AGAIN, os.kill, (os.getpid(), self.arrived[-1])).start()


_end = _End()


@contextlib.contextmanager
def handled(numbers: Sequence[int], handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Calls `handler` for these signals within the block, except for ignored ones (nohup)."""
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


def listen() -> None:
    """Notes the signals that are to end this process from now on, until `heard` lets the first of them interrupt its work."""
    _end.listening, _end.held = True, 1
    sys.unraisablehook = _end.repeat
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end.hear)


def ignore() -> None:
    """Ignores further signals: only the interpreter's shutdown is left."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def nudge() -> None:
    """Starts a thread that interrupts a waiting call of the first thread after each signal, and raises a lost interruption again.

    Python handles a signal between two instructions. One that comes right before such a call would wait for its end.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    first = threading.main_thread()

    def interrupt_calls() -> None:
        while number := os.read(read_end, 1):
            for seconds in NUDGES if number[0] in ENDING else ():
                time.sleep(seconds)
                signal.pthread_kill(first.ident or 0, signal.SIGURG)

    with contextlib.suppress(RuntimeError):  # no more threads
        threading.Thread(target=interrupt_calls, daemon=True).start()
        signal.signal(signal.SIGURG, lambda number, frame: _end.interrupt() if _end.lost else None)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)


@contextlib.contextmanager
def ending() -> Iterator[Sequence[int]]:
    """Notes the signals during a block, as `listen` does, and yields those that came. Other threads have no signals."""
    global _end
    if _end.listening or threading.current_thread() is not threading.main_thread():
        yield _end.arrived
        return
    before, hook, _end = _end, sys.unraisablehook, _End()
    try:
        with handled(ENDING, _end.hear):
            listen()
            yield _end.arrived
    finally:
        _end, sys.unraisablehook = before, hook


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Raises KeyboardInterrupt in the block for the first signal, also if it came before.

    It is raised once, so that nothing disturbs the clean-up.
    """
    before, _end.held = _end.held, 0
    try:
        _end.interrupt()
        yield
    finally:
        _end.held = before


def accept() -> None:
    """Needs to be called by who catches the interruption and does not raise it again."""
    _end.accepted, _end.lost = True, False


def make_interruption() -> KeyboardInterrupt:
    """Returns the interruption to raise again for one that a library has turned into an error of its own."""
    return _end.make_interruption()


@contextlib.contextmanager
def accepted() -> Iterator[None]:
    """Ends the block at the interruption, and goes on behind it."""
    try:
        yield
    except KeyboardInterrupt:
        accept()


def tell() -> bool:
    """Returns whether a signal came that nobody has told the user of yet; from now on it counts as told."""
    told, _end.told = _end.told, bool(_end.arrived)
    return _end.told and not told


def arrived() -> Sequence[int]:
    """Returns the signals that came to end this process."""
    return _end.arrived


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Holds signals back in the block: they interrupt its end, or a `sleep` in it."""
    _end.held += 1
    try:
        yield
    finally:
        _end.held -= 1
        _end.interrupt()


def sleep(seconds: float) -> None:
    """Sleeps. A signal interrupts it, also in a block that holds signals back."""
    with heard():
        time.sleep(seconds)


def await_own(code: int | None) -> None:
    """Waits a moment for the signal that ended a program with this exit code. Batch systems send it to all processes.

    So a program that ends in this way did not fail by itself. Without the signal it returns. Other threads have no signals:
    there it only waits.
    """
    if code in ENDED:
        (sleep if threading.current_thread() is threading.main_thread() else time.sleep)(AFTER)


def is_shared() -> bool:
    """Returns whether the signal is a Ctrl-C of a terminal, which sent it to the user's command as well; then forgets it.

    A second Ctrl-C soon after the first is for this process, too.
    """
    now = time.monotonic()
    if [*_end.arrived] != [signal.SIGINT] or now - _end.shared < TWICE or not _has_keyboard():
        return False
    _end.arrived.clear()
    _end.raised, _end.shared = False, now
    return True


def _has_keyboard() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)


class TimeOver(BaseException):
    """A block took too long. It is no Exception, so that no reader takes it for damage of its file."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeOver within the block after this processor time, also while `re` matches.

    Only the main thread receives signals; in other threads the block has no limit.
    """

    def end(*_: object) -> None:
        raise TimeOver

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with handled((signal.SIGPROF,), end):
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again, if a destructor loses the first one
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
