"""A numerical library of the site beside our own kernel: further cases where the machine has the library."""

from collections.abc import Callable
from dataclasses import replace

from steelyard.model import Axes, Effort, Machine


def beside(
    own: Callable[[Machine, Effort], tuple[Axes, ...]], kind: str, setup: float
) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """The axes `own`, and where the machine has a library of that kind the kernel of its name, in the mode "threads".

    It has the same points; with a library that computes with a single thread, those of one thread. `setup` are the seconds that
    its set-up takes beyond that of the own kernel, on an average start of a run that is not quick.
    """

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        blocks = own(machine, effort)
        library = next((known for known in machine.libraries if known.kind == kind), None)
        if library is None:
            return blocks
        threads = blocks[0]
        counts = threads.values["threads"] if library.threads else (1,)
        values = {**threads.values, "kernel": (kind,), "threads": counts}
        more = setup * (0.1 if effort.name == "quick" else 1)
        return (*blocks, replace(threads, values=values, setup_seconds=threads.setup_seconds + more))

    return axes
