"""The 31 loops of core.kernels by groups, with their memory needs and the vector lengths to measure."""

from steelyard.model import Machine
from steelyard.model.caches import cache_levels, reachable_cache

GROUPS: dict[str, tuple[str, ...]] = {
    "data movement": ("broadcast", "copy", "strided_copy", "gather", "scatter"),
    "dyads": ("add", "subtract", "multiply", "divide"),
    "scalar and vector": ("scale", "linear"),
    "linked triads": ("axpy", "triad", "multiply_add", "two_products", "two_products_add"),
    "reductions": ("sum", "dot", "sum_of_squares"),
    "recurrences": ("recurrence1", "recurrence2"),
    "differences": ("difference2", "difference4"),
    "intensity": ("horner1", "horner3", "horner5", "horner9", "horner17"),
    "special functions": ("sqrt", "exp"),
    "rotation": ("rotation",),
}
KERNELS = tuple(kernel for members in GROUPS.values() for kernel in members)
PLAIN = tuple(kernel for kernel in KERNELS if kernel != "strided_copy")  # copy is the case of unit stride
INTENSITY = GROUPS["intensity"]
STRIDED = ("copy", "add", "multiply_add")  # measured at every stride; strided_copy has a stride for its reads only
# One or two loops of each kind, for the preset quick.
CHOSEN = (
    "copy", "gather", "add", "divide", "triad", "dot", "recurrence1", "difference2", "horner1", "horner9", "exp", "rotation",
)  # fmt: skip
# Number of vectors in memory; the other loops have two: one to read, one to write.
_VECTORS = {
    "broadcast": 1, "gather": 3, "scatter": 3, "add": 3, "subtract": 3, "multiply": 3, "divide": 3, "triad": 3,
    "multiply_add": 4, "two_products": 5, "two_products_add": 6, "sum": 1, "sum_of_squares": 1, "recurrence1": 3,
    "recurrence2": 4,
}  # fmt: skip
MOST_VECTORS = 6
FIRST_CACHE, SECOND_CACHE, LAST_CACHE = 32 << 10, 1 << 20, 32 << 20  # bytes, if the machine does not report them
LARGEST_SHARE = 0.6  # of the available memory: other processes need the rest


def working_set(kernel: str, elements: float, stride: int = 1) -> float:
    """Returns the bytes of all vectors of a kernel. The indices of gather and scatter count as a vector."""
    longest = 8 * elements * stride
    return longest + 8 * elements if kernel == "strided_copy" else longest * _VECTORS.get(kernel, 2)


def has_usual_stride(kernel: str, stride: object) -> bool:
    """Returns whether the kernel has this stride in tables: 1 or none; 3 for strided_copy."""
    return stride in ((3,) if kernel == "strided_copy" else (None, 1))


def first_cache(machine: Machine) -> int:
    """Returns the bytes of the first processor's nearest data cache."""
    levels = cache_levels(machine, machine.cpus[0]) if machine.cpus else []
    return levels[0].size if levels else FIRST_CACHE


def last_cache(machine: Machine) -> int:
    """Returns the bytes of the caches that one thread reaches."""
    return reachable_cache(machine, machine.cpus[:1]) or LAST_CACHE


def fit_first_cache(machine: Machine) -> int:
    """Returns the elements with which all vectors of each kernel fit into three quarters of the first cache."""
    return max(64, first_cache(machine) * 3 // 4 // (8 * MOST_VECTORS) // 64 * 64)


def exceed_second(machine: Machine) -> int:
    """Returns the elements with which two vectors are four times as large as the second cache."""
    levels = cache_levels(machine, machine.cpus[0]) if machine.cpus else []
    return (levels[1].size if len(levels) > 1 else SECOND_CACHE) * 4 // 16


def exceed_caches(machine: Machine) -> int:
    """Returns the elements with which two vectors are four times as large as all caches, or what the memory allows."""
    possible = int(machine.memory_available * LARGEST_SHARE) // (8 * MOST_VECTORS)
    return max(64, min(4 * last_cache(machine) // 16, possible) // 8 * 8)


def list_lengths(most: float) -> tuple[int, ...]:
    """Returns 1, 2, 3, 4, 5, 8, 15, 31, then eight lengths for each decade up to `most` elements."""
    lengths = [1, 2, 3, 4, 5, 8, 15, 31]
    step = 13  # 10^(13/8) = 42
    while (length := round(10 ** (step / 8))) <= most:
        lengths.append(length)
        step += 1
    return tuple(n for n in lengths if n <= max(1, most))
