"""Handles signals for the duration of a block."""

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def handled(numbers: Sequence[int], handler: Callable[[int, Any], object]) -> Iterator[list[int]]:
    """Calls `handler` for these signals within the block, except for ignored ones (nohup). Yields the handled numbers."""
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield heard
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
