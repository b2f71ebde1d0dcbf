"""Values of the axes that many benchmarks share, taken from the machine."""

from dataclasses import replace

from steelyard.machine.memory_nodes import main_nodes
from steelyard.machine.openmp import POLICIES
from steelyard.machine.settings import setting
from steelyard.model import Axes, Machine, Scalar

# What a newcomer's own program meets.
USUAL: tuple[tuple[str, Scalar], ...] = (("page_size", "default"), ("memory_policy", "local"))


def thread_counts(machine: Machine) -> tuple[int, ...]:
    """1, 2, 4 … and all the processors that may be used."""
    most = len(machine.cpus)
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return tuple(counts) if most == 1 else (*counts, most)


def page_sizes(machine: Machine) -> tuple[str, ...]:
    """The page sizes besides the system's own setting: 4 KiB where that is huge, transparent huge pages where it is not,
    explicit ones where some are reserved."""
    transparent = setting(machine, "transparent_huge_pages").value
    reserved = setting(machine, "huge_pages_2MiB_free").value not in (None, "0")
    other = {"always": ("4k",), "madvise": ("transparent",)}.get(transparent or "", ())
    return (*other, *(("huge",) if reserved else ()))


def memory_policies(machine: Machine) -> tuple[str, ...]:
    """The nearest memory; and interleaved over all nodes of main memory where there is more than one."""
    return ("local", "interleave") if len(main_nodes(machine.nodes)) > 1 else ("local",)


def with_openmp(block: Axes) -> list[Axes]:
    """A block of threads, and the same with OpenMP's, which is planned only where a setting names the model."""
    values = {**block.values, "model": ("openmp",), "wait_policy": ("default",)}
    return [block, replace(block, values=values, choices={**block.choices, "wait_policy": POLICIES}, when="model")]
