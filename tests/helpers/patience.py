"""Waits for what a busy machine does a little later, such as the end of a process that was killed."""

import time
from collections.abc import Callable
from typing import TypeVar

Left = TypeVar("Left")


def still(look: Callable[[], Left], seconds: float = 60) -> Left:
    """Returns what `look` finds when it first finds nothing, or after so many seconds."""
    until = time.monotonic() + seconds
    while (left := look()) and time.monotonic() < until:
        time.sleep(0.02)
    return left
