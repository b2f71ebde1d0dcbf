"""NPB's own result block, which people compare by eye and by script: size, iterations and kind of operation of each class."""

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard import __version__
from steelyard.benchmarks.application.npb import CLASSES
from steelyard.benchmarks.application.npb import results as applications
from steelyard.errors import UsageError
from steelyard.model import Evaluation, Result
from steelyard.units import percent
from steelyard.words import said

MEGA = 1e6  # the block states millions
_NAME, _VALUE = 16, 25  # columns of NPB's block


@dataclass(frozen=True)
class Printed:
    """What the block says of a benchmark: its operations, and for each class the size and the iterations."""

    operation: str
    classes: Mapping[str, tuple[str, int]]


def _cube(edge: int) -> str:
    return _grid(edge, edge, edge)


def _grid(x: int, y: int, z: int) -> str:
    return f"{x:>4}x{y:>4}x{z:>4}"


# NPB 3.4.1's classes. EP: random numbers drawn, all at once; IS: keys; UA: the finest level of the mesh.
PRINTED: Mapping[str, Printed] = {
    "cg": Printed(
        "floating point",
        {
            "S": ("1400", 15),
            "W": ("7000", 15),
            "A": ("14000", 15),
            "B": ("75000", 75),
            "C": ("150000", 75),
            "D": ("1500000", 100),
        },
    ),
    "ep": Printed(
        "Random numbers generated",
        {c: (str(2 << m), 0) for c, m in {"S": 24, "W": 25, "A": 28, "B": 30, "C": 32, "D": 36}.items()},
    ),
    "ft": Printed(
        "floating point",
        {
            "S": (_cube(64), 6),
            "W": (_grid(128, 128, 32), 6),
            "A": (_grid(256, 256, 128), 6),
            "B": (_grid(512, 256, 256), 20),
            "C": (_cube(512), 20),
            "D": (_grid(2048, 1024, 1024), 25),
        },
    ),
    "is": Printed(
        "keys ranked",
        {c: (str(1 << n), 10) for c, n in {"S": 16, "W": 20, "A": 23, "B": 25, "C": 27, "D": 31}.items()},
    ),
    "lu": Printed(
        "floating point",
        {
            "S": (_cube(12), 50),
            "W": (_cube(33), 300),
            "A": (_cube(64), 250),
            "B": (_cube(102), 250),
            "C": (_cube(162), 250),
            "D": (_cube(408), 300),
        },
    ),
    "mg": Printed(
        "floating point",
        {
            "S": (_cube(32), 4),
            "W": (_cube(128), 4),
            "A": (_cube(256), 4),
            "B": (_cube(256), 20),
            "C": (_cube(512), 20),
            "D": (_cube(1024), 50),
        },
    ),
    "ua": Printed(
        "coll. point advanced",
        {"S": ("4", 50), "W": ("5", 100), "A": ("6", 200), "B": ("7", 200), "C": ("8", 200), "D": ("10", 250)},
    ),
}


def blocks(evaluation: Evaluation) -> str:
    """The blocks of all results of the NAS Parallel Benchmarks in the run. UsageError where there are none."""
    found = applications.of(evaluation.results)
    if not found:
        raise UsageError(
            f"The run '{evaluation.run.path}' has no results of the NAS Parallel Benchmarks, whose blocks --npb-output prints. "
            "Measure some, as with: steelyard run --only application --npb-output"
        )
    return "\n".join(block(result) for result in found)


def block(result: Result) -> str:
    """The block of one result: the median time, and speeds where there are any; a sentence where it could not be run.

    An unverified run and a class that is too small have no speed: words stand in its place.
    """
    title = f" {result.kernel.upper()} Benchmark"
    if why := applications.failed(result):
        return f"{title} could not be run ({applications.named(result)}): {why}\n"
    letter = str(result.parameters.get("class", ""))
    printed = PRINTED.get(result.kernel)
    size, iterations = printed.classes.get(letter, ("", None)) if printed else ("", None)
    if (letter := applications.size(result).replace("×", "x")) not in CLASSES:
        size = ""  # NPB's are those of classes
    each = "process" if applications.parallel(result) else "thread"
    seconds = applications.seconds(result)
    rows = (
        ("Class", letter),
        ("Size", size or "unknown"),
        ("Iterations", "unknown" if iterations is None else str(iterations)),
        ("Time in seconds", "unknown" if seconds is None else f"{seconds:.6f}"),
        (f"Total {each}{'es' if each == 'process' else 's'}", str(applications.workers(result))),
        ("Mop/s total", _speed(result, "rate")),
        (f"Mop/s/{each}", _speed(result, "rate_each")),
        ("Operation type", printed.operation if printed else "unknown"),
        ("Verification", "SUCCESSFUL" if applications.verified(result) else "UNSUCCESSFUL"),
        ("Version", f"Steelyard {__version__}"),
        *_besides(result),
    )
    lines = [f" {name:<{_NAME}}={value:>{_VALUE}}" for name, value in rows]
    return "\n".join((f"{title} Completed.", *lines, ""))


def _besides(result: Result) -> list[tuple[str, str]]:
    """What tells results of one run apart, as far as it applies; after NPB's own lines, where NPB tells how it was built."""
    reported = [("Model", said("model", applications.model(result)) or "")]
    if share := applications.carried_out(result):  # the Mop/s above follow NPB's count
        reported.append(("Ops carried out", f"{percent(share)} of the count"))
    names = (("Compiler", "toolchain"), ("MPI", "mpi"), ("Each node", "ranks_per_node"))
    return reported + [(line, str(result.parameters[name])) for line, name in names if name in result.parameters]


def _speed(result: Result, metric: str) -> str:
    if not applications.verified(result):
        return "none: not verified"
    if not applications.large_enough(result):
        return "none: too small"
    value = result.metrics.get(metric)
    return f"{value.value / MEGA:.2f}" if value else "unknown"
