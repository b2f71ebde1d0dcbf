"""Which numerical libraries the site has: what `site_library.h` will find when a case asks for it."""

import ctypes.util
import os
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from steelyard.model import Axes, Effort, Machine


@lru_cache
def has_library(variable: str, names: tuple[str, ...]) -> bool:
    """Whether $`variable` names a library, or else the system has one of `names` ("openblas" …)."""
    return bool(os.environ.get(variable)) or any(ctypes.util.find_library(name) for name in names)


def beside(
    own: Callable[[Machine, Effort], tuple[Axes, ...]], kernel: str, variable: str, names: tuple[str, ...], setup: float
) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """The axes `own`, and the library's `kernel` at the same points of the mode "threads", where the site has the library.

    `setup` are the seconds that its set-up takes beyond that of the own kernel, on an average start of a run that is not quick.
    """

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        blocks = own(machine, effort)
        if not has_library(variable, names):
            return blocks
        threads = blocks[0]
        values = {**threads.values, "kernel": (kernel,)}
        more = setup * (0.1 if effort.name == "quick" else 1)
        return (*blocks, replace(threads, values=values, setup_seconds=threads.setup_seconds + more))

    return axes
