"""Words for parameters and their values, the same in figures, findings and reports."""

from collections.abc import Iterable, Sequence

from steelyard.model import Scalar
from steelyard.model.units import binary_size

NAMED = 3  # benchmarks and reasons that a note names
_SAID = {
    ("pinning", "none"): "not pinned",
    ("pinning", "compact"): "pinned compact",
    ("pinning", "scatter"): "pinned scattered",
    ("stores", "ordinary"): "ordinary stores",
    ("stores", "streaming"): "streaming stores",
    ("page_size", "default"): "default pages",
    ("page_size", "4k"): "4 KiB pages",
    ("page_size", "transparent"): "transparent huge pages",
    ("page_size", "huge"): "explicit huge pages",
    ("mode", "threads"): "threads alone",
    ("mode", "opencl"): "OpenCL alone",
    ("mode", "cuda"): "CUDA alone",
    ("mode", "hip"): "HIP alone",
    ("mode", "mixed"): "threads and OpenCL",
    ("model", "threads"): "threads",
    ("model", "openmp"): "OpenMP",
    ("model", "mpi"): "MPI",
    ("wait_policy", "default"): "default waiting",
    ("wait_policy", "active"): "active waiting",
    ("wait_policy", "passive"): "passive waiting",
    ("model", "rma"): "MPI one-sided",
    ("model", "shmem"): "OpenSHMEM",
    ("memory_policy", "local"): "nearest memory",
    ("memory_policy", "interleave"): "interleaved memory",
}
_COUNTED = {"threads", "ranks", "nodes", "chains", "accumulators", "pairs", "elements", "particles"}


def find_words(name: str, value: Scalar | None) -> str | None:
    """Returns for example 'streaming stores', '1 chain' or '16 MiB'; None if name and value are the best words."""
    if isinstance(value, str):
        return value if name in ("kernel", "toolchain", "mpi", "variant") else _SAID.get((name, value))
    if name == "bytes" and isinstance(value, int):
        return binary_size(value)
    if name == "scale" and isinstance(value, int):
        return "once" if value == 1 else f"{value} times as large"
    if name in _COUNTED and isinstance(value, int):
        return plural(value, name.removesuffix("s"))
    return None


def in_words(name: str, value: Scalar | None) -> str:
    """Returns words for any parameter: ('threads', 2) → '2 threads', ('window', 64) → 'window 64', ('mpi', None) → 'no mpi'."""
    if value is None:
        return f"no {name}"
    if (text := find_words(name, value)) is not None:
        return text
    return f"{name.replace('_', ' ')} {f'{value:g}' if isinstance(value, float) else value}"


def plural(number: int, noun: str) -> str:
    """Returns '1 thread', '2 threads', '2 launches'."""
    ending = "" if number == 1 else "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number} {noun}{ending}"


def few(names: Sequence[str], what: str = "benchmark") -> list[str]:
    """Returns the first names, and how many others there are."""
    rest = len(names) - NAMED
    return [*names[:NAMED], plural(rest, f"further {what}")] if rest > 1 else [*names]


def joined(things: Iterable[object]) -> str:
    """Returns 'a', 'a and b', 'a, b and c'; '' for nothing."""
    *first, last = [str(thing) for thing in things] or [""]
    return f"{', '.join(first)} and {last}" if first else last
