"""The histogram of the computing phases of a trace, by rank and length."""

from steelyard.model.figure import Axis, Figure
from steelyard.units import quantity
from steelyard.whatif.phases import Phases


def phase_map(phases: Phases | None) -> list[Figure]:
    """Returns the figure, with a cell for each row of ranks and bin of length; none if there are no phases."""
    if phases is None or not phases.count:
        return []
    rows = tuple(
        _ranks(first, phases.together) for first in range(0, len(phases.rows) * phases.together, phases.together)
    )
    limit = (
        f" Phases of {quantity(phases.limit, 's')} or more are outliers: they are longer than the longest phase of a "
        "typical (median) rank."
        if phases.outliers
        else ""
    )
    return [
        Figure(
            name="phases",
            title="Computing phases by rank and length",
            kind="heat",
            x=Axis("length of the phase, rounded down", "s", log=True),
            y=Axis("ranks" if phases.together > 1 else "rank"),
            z=tuple(tuple(float(count) if count else None for count in row) for row in phases.rows),
            columns=phases.edges,
            rows=rows,
            value=Axis("phases", log=True),
            caption="A phase is the time that a rank computes between two calls of MPI. Ten columns cover a factor "
            f"of ten. If all ranks have the same columns, the work is balanced.{limit}",
        )
    ]


def _ranks(first: int, together: int) -> float | str:
    return float(first) if together == 1 else f"{first}–{first + together - 1}"
