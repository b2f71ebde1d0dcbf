"""The sides that figures show at first: the baseline, the fastest and the slowest, and those that differ certainly."""

import math
from collections.abc import Iterator

from steelyard.compare.compared_sides import OtherSide, SidesComparison

# The logarithm of the speed over that of the baseline, and whether it differs certainly.
Difference = tuple[float, bool]
CERTAIN = ("FASTER", "SLOWER")


def choose_sides(compared: SidesComparison, most: int) -> tuple[int, ...]:
    """Returns the numbers of at most `most` sides in ascending order.

    The first side that was measured is one of them, since the report shows its run.
    """
    own = next((n for n, side in enumerate(compared.sides) if side.kind != "published"), 0)
    differences = {n: list(_list_differences(compared, n, other)) for n, other in enumerate(compared.others, 1)}
    logs = {n: [log for log, _ in of] for n, of in differences.items() if of}
    ends = [max(logs, key=lambda n: max(logs[n])), min(logs, key=lambda n: min(logs[n]))] if logs else []
    sizes = {n: max((abs(log) for log, certain in of if certain), default=0.0) for n, of in differences.items()}
    certain = sorted((n for n in sizes if sizes[n]), key=lambda n: -sizes[n])
    chosen = dict.fromkeys((0, own, *ends, *certain, *range(len(compared.sides))))
    return tuple(sorted(list(chosen)[:most]))


def _list_differences(compared: SidesComparison, number: int, other: OtherSide) -> Iterator[Difference]:
    """Yields the differences of a side in whole machines, classes, benchmarks and cases."""
    cells = [figure.cells[number] for figure in compared.machines]
    yield from ((math.log(cell.speed), (cell.now or cell.call) in CERTAIN) for cell in cells if cell.speed)
    yield from ((-math.log(one.ratio), one.call in CERTAIN) for one in (*other.classes, *other.benchmarks))
    yield from ((-math.log(case.ratio), case.call in CERTAIN) for case in other.cases)
