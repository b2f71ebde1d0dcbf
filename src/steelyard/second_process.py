"""Computes something in a second process while this one does other work."""

import os
import signal
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")


class SecondProcess(Generic[T]):
    """`work` in a copy of this process. With a single processor, or no room for a copy, `result` does the work."""

    def __init__(self, work: Callable[[], T]) -> None:
        from multiprocessing import get_context

        self._work, self._process = work, None
        if len(os.sched_getaffinity(0)) == 1:
            return
        fork = get_context("fork")
        self._answer, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=_answer, args=(work, theirs), daemon=True)
        try:
            process.start()
        except OSError:
            self._answer.close()
        else:
            self._process = process
        theirs.close()

    def result(self) -> T:
        """Returns the result, which must be picklable. If the copy failed, the work is done here and raises its errors."""
        if self._process:
            try:
                result: T = self._answer.recv()
                return result
            except EOFError:
                pass
            finally:
                self.stop()
        return self._work()

    def stop(self) -> None:
        """Ends the copy, whatever it has done."""
        if self._process:
            self._process.kill()
            self._process.join()
            self._answer.close()
            self._process = None


def _answer(work: Callable[[], object], answer: "Connection") -> None:
    """Sends the result. Ends without one after an error, by a signal, and together with the other process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer.send(work())
    except Exception:
        os._exit(1)  # the other process meets the same error, and says it


def _end_with_parent() -> None:
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    if parent := parent_process():
        wait([parent.sentinel])
        os._exit(1)
