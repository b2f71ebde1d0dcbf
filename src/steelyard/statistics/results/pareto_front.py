"""Pareto front of points with two coordinates that should be small, such as time and energy."""

from collections.abc import Sequence


def find_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Returns the places of the Pareto front, in the order of the first coordinate; the first of equal points counts."""
    order = sorted(range(len(points)), key=lambda place: points[place])
    best: list[int] = []
    for place in order:
        if not best or points[place][1] < points[best[-1]][1]:
            best.append(place)
    return best
