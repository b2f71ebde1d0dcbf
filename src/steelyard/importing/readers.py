"""Reads the contents of files, of many bytes in a process for each processor."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from steelyard.importing import reading
from steelyard.importing.format import Format
from steelyard.importing.reading import Reading
from steelyard.importing.streams import Content
from steelyard.system.copies import open_copies
from steelyard.system.signals import TimeOver, time_limit

if TYPE_CHECKING:
    from concurrent.futures import Executor

LARGE = 30_000_000  # bytes from which on the processes save more time than they cost
_formats: list[Format] = []  # of a process that reads

Answer = tuple[Reading, float]  # what a file has, and the seconds of a processor that reading it took
Ask = Callable[[Content, float], Callable[[], Answer]]


@contextmanager
def open_readers(formats: Sequence[Format], size: int) -> Iterator[tuple[Ask, int]]:
    """Yields a function that begins to read a content, and how many contents it should have at the same time.

    It takes the content and the greatest processor time in s, and returns what waits for the answer. The processes are copies of
    this one and start no program. If one of them is killed, this process reads the rest itself.
    """
    processors = len(os.sched_getaffinity(0))
    if size < LARGE or processors < 2:
        yield lambda content, most: partial(_read_in_time, formats, content, most), 0
        return
    with open_copies(processors, partial(_formats.extend, formats)) as pool:
        yield partial(_ask, pool, formats), 2 * processors


def _ask(pool: "Executor", formats: Sequence[Format], content: Content, most: float) -> Callable[[], Answer]:
    from concurrent.futures.process import BrokenProcessPool

    here = partial(_read_in_time, formats, content, most)
    try:
        future = pool.submit(_read_there, content, most)
    except BrokenProcessPool:
        return here

    def wait() -> Answer:
        try:
            return future.result()
        except BrokenProcessPool:
            return here()

    return wait


def _read_there(content: Content, most: float) -> Answer:
    return _read_in_time(_formats, content, most)


def _read_in_time(formats: Sequence[Format], content: Content, most: float) -> Answer:
    """Returns what the file has. A file that takes too long has nothing."""
    began = time.process_time()
    try:
        with time_limit(most):
            found = reading.read(content.data, formats, content.name)
    except TimeOver:
        found = Reading(
            problems=(f"reading it took longer than {most:.1f} s of processor time, so nothing of it was read",)
        )
    return found, time.process_time() - began
