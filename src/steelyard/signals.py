"""Signals that something handles for a while."""

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def handled(numbers: Sequence[int], handler: Callable[[int, Any], object]) -> Iterator[list[int]]:
    """Within, `handler` is called for these signals, but not for those that are ignored, as by nohup. Yields which they are."""
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield heard
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
