"""The histogram of the computing phases of a trace, by rank and length."""

from steelyard.model.figure import Axis, Figure
from steelyard.model.units import quantity
from steelyard.model.words import plural
from steelyard.whatif.phases import Cluster, Phases

MOST_CLUSTERS = 3  # with figures of their own: those in which the ranks compute longest
FEWEST = 20  # phases of a cluster with a figure of its own


def draw_phases(phases: Phases | None) -> list[Figure]:
    """Returns the overview, with a cell for each row of ranks and bin of length, and a figure of each main cluster.

    None if there are no phases.
    """
    if phases is None or not phases.count:
        return []
    main = sorted(phases.clusters, key=lambda c: -c.computing)[:MOST_CLUSTERS]
    shown = [c for c in phases.clusters if c in main and _has_visible_spread(c)]
    return [_draw_overview(phases), *(_draw_cluster(c, phases) for c in shown)]


def _has_visible_spread(cluster: Cluster) -> bool:
    """Returns whether a cluster has lengths that a figure can show, which the overview cannot separate."""
    return cluster.count >= FEWEST and sum(any(row[i] for row in cluster.rows) for i in range(len(cluster.edges))) > 1


def _draw(phases: Phases, counts: Phases | Cluster, name: str, title: str, caption: str) -> Figure:
    """Draws the counts of all phases, on a logarithmic axis, or those of a cluster."""
    first_ranks = range(0, len(phases.rows) * phases.together, phases.together)
    return Figure(
        name=name,
        title=title,
        kind="heat",
        x=Axis("length of the phase, rounded down", "s", log=counts is phases),
        y=Axis("ranks" if phases.together > 1 else "rank"),
        z=tuple(tuple(float(count) if count else None for count in row) for row in counts.rows),
        columns=counts.edges,
        rows=tuple(_write_ranks(first, phases.together) for first in first_ranks),
        value=Axis("phases", log=True),
        caption=caption,
    )


def _draw_overview(phases: Phases) -> Figure:
    caption = (
        "A phase is the time that a rank computes between two calls of MPI. Ten columns cover a factor "
        "of ten. If all ranks have the same columns, the work is balanced."
    )
    return _draw(phases, phases, "phases", "Computing phases by rank and length", caption)


def _draw_cluster(cluster: Cluster, phases: Phases) -> Figure:
    about = quantity(cluster.typical, "s")
    outliers = (
        f" {plural(cluster.outliers, 'phase')} above {quantity(cluster.limit, 's')} are outliers."
        if cluster.outliers
        else " None is an outlier."
    )
    name = f"phases-{phases.clusters.index(cluster) + 1}"
    title = f"Computing phases of about {about}, by rank and length"
    caption = f"The typical phase lasts {about} (the median phase of the median rank).{outliers}"
    return _draw(phases, cluster, name, title, caption)


def _write_ranks(first: int, together: int) -> float | str:
    return float(first) if together == 1 else f"{first}–{first + together - 1}"
