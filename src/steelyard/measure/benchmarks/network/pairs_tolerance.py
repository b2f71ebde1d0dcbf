"""Figure of the network's tolerance: the rate of n pairs over the rate of one pair."""

from collections.abc import Sequence

from steelyard.model import Result
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.units import binary_size
from steelyard.statistics.results.network_tolerance import PairTolerance, tolerances

SHOWN = 3  # sizes: the smallest, a middle and the largest
APART = ("ranks", "transport", "mpi", "toolchain", "window", "places")


def tolerance_figure(results: Sequence[Result], benchmark: str) -> tuple[Figure, ...]:
    """Returns lines of three sizes of one kernel and the ideal line; empty if only one pair was measured."""
    curves = [rows for rows in tolerances(results) if rows[0].size > 0]
    sizes = sorted({rows[0].size for rows in curves})
    chosen = {sizes[i] for i in (0, len(sizes) // 2, len(sizes) - 1)} if sizes else set()
    shown = [rows for rows in curves if rows[0].size in chosen]
    if not shown:
        return ()
    varying = [n for n in APART if len({rows[0].one.parameters.get(n) for rows in shown}) > 1]
    most = max(t.pairs for rows in shown for t in rows)
    figure = Figure(
        name=f"{benchmark.rpartition('.')[2]}-tolerance",
        title="Tolerance of the network: rate of n pairs divided by the rate of one pair",
        kind="lines",
        x=Axis("pairs", log=True),
        y=Axis("rate / rate of one pair", log=True),
        series=(*(_line(rows, varying) for rows in shown), Series("ideal", (1.0, float(most)), (1.0, float(most)))),
        caption="On the ideal line, the pairs do not slow each other down. If a line is level, one pair already uses "
        "the whole bandwidth of the network.",
    )
    return (figure,)


def _line(rows: Sequence[PairTolerance], varying: Sequence[str]) -> Series:
    words = [binary_size(rows[0].size), *(str(rows[0].one.parameters.get(name)) for name in varying)]
    return Series(
        ", ".join(words),
        (1.0, *(float(t.pairs) for t in rows)),
        (1.0, *(t.ratio for t in rows)),
        (1.0, *(t.low for t in rows)),
        (1.0, *(t.high for t in rows)),
    )
