"""The best of points that are to be small both ways, as time and energy: those that no other beats in both."""

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of the best points (Pareto's front), in the order of the first coordinate. Of equal points the first counts."""
    order = sorted(range(len(points)), key=lambda place: points[place])
    best: list[int] = []
    for place in order:
        if not best or points[place][1] < points[best[-1]][1]:
            best.append(place)
    return best
