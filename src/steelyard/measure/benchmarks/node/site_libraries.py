"""Cases of a numerical library of the site, beside the cases of Steelyard's kernel."""

from collections.abc import Callable
from dataclasses import replace

from steelyard.model import Axes, Effort, Machine


def beside(
    axes_of_kernel: Callable[[Machine, Effort], tuple[Axes, ...]], kind: str, setup: float
) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """Returns the axes of the kernel, and of the site's library of that kind, if there is one, in the mode "threads".

    The library has the same points, or only those of one thread if it has no threads. `setup`: seconds that its set-up
    takes longer than that of the kernel, in a run that is not quick.
    """

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        blocks = axes_of_kernel(machine, effort)
        library = next((entry for entry in machine.libraries if entry.kind == kind), None)
        if library is None:
            return blocks
        threads = blocks[0]
        counts = threads.values["threads"] if library.threads else (1,)
        values = {**threads.values, "kernel": (kind,), "threads": counts}
        more = setup * (0.1 if effort.name == "quick" else 1)
        bounds: dict[str, tuple[float, float]] = {} if library.threads else {"threads": (1, 1)}
        return (*blocks, replace(threads, values=values, bounds=bounds, setup_seconds=threads.setup_seconds + more))

    return axes
