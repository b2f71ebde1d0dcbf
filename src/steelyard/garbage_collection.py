"""Work on many objects that all stay."""

import atexit
import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Nothing of what is made within becomes garbage: to look for it, now and later, would take as long as the making."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # at the end libraries look for what was left over
        if collecting:
            gc.enable()
