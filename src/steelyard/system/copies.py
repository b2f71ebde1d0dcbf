"""Copies of this process that work side by side. They start no program."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.system import signals

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


@contextmanager
def open_copies(count: int, prepare: Callable[[], object] | None = None) -> Iterator["ProcessPoolExecutor"]:
    """Yields the pool of so many copies, each of which calls `prepare` first. An exception in the block kills them.

    If one of them is killed, the pool raises BrokenProcessPool.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    pool = ProcessPoolExecutor(count, get_context("fork"), _begin, (prepare,))
    try:
        yield pool
    except BaseException:
        for child in active_children():
            child.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(prepare: Callable[[], object] | None) -> None:
    """Prepares a copy: signals are for its parent, and it ends with this one."""
    import ctypes

    signals.ignore()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if prepare:
        prepare()
