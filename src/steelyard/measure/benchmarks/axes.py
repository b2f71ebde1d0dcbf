"""Values of axes that many benchmarks share, derived from the machine."""

from dataclasses import replace

from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.measure.machine.openmp import POLICIES
from steelyard.model import Axes, Machine, Scalar

# The settings of a program that its user does not tune.
USUAL: tuple[tuple[str, Scalar], ...] = (("page_size", "default"), ("memory_policy", "local"))


def thread_counts(machine: Machine) -> tuple[int, ...]:
    """Returns 1, 2, 4 … and the number of all usable processors."""
    most = len(machine.cpus)
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return tuple(counts) if most == 1 else (*counts, most)


def page_sizes(machine: Machine) -> tuple[str, ...]:
    """Returns page sizes other than the system's default.

    4 KiB if the default is huge, transparent huge pages if it is not, and explicit huge pages if some are reserved.
    """
    transparent = machine.setting("transparent_huge_pages").value
    reserved = machine.setting("huge_pages_2MiB_free").value not in (None, "0")
    other = {"always": ("4k",), "madvise": ("transparent",)}.get(transparent or "", ())
    return (*other, *(("huge",) if reserved else ()))


def memory_policies(machine: Machine) -> tuple[str, ...]:
    """Returns the policy of the nearest memory, and the interleaved policy if there are several main memory nodes."""
    return ("local", "interleave") if len(main_nodes(machine.nodes)) > 1 else ("local",)


def with_openmp(block: Axes) -> list[Axes]:
    """Returns the block and its OpenMP variant, which is planned only if a setting names the model."""
    values = {**block.values, "model": ("openmp",), "wait_policy": ("default",)}
    return [block, replace(block, values=values, choices={**block.choices, "wait_policy": POLICIES}, when="model")]
