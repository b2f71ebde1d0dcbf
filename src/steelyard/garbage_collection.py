"""Pauses garbage collection during work on many objects that all stay."""

import atexit
import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Exempts all objects that are made within the block from garbage collection, which would take as long as making them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # at the end libraries look for leaked objects
        if collecting:
            gc.enable()
