"""Numbers of ranks that can share a box of particles, by the rules of system.h and domain.h."""

from collections.abc import Callable, Iterator

DENSITY, REACH = 0.8442, 2.8  # as in system.h; in units of the particle diameter
EDGE = (4 / DENSITY) ** (1 / 3)  # of a cell of the lattice

Sides = tuple[int, int, int]


def choose_box(particles: int) -> Sides | None:
    """Returns the cells along each side, as near to a cube as possible; None if a side would have fewer than 3 cells."""
    return _nearest(particles // 4, lambda sides: sides[0] >= 3)


def is_wide_enough(particles: int, ranks: int) -> bool:
    """Returns whether the block of each rank is at least as wide as the reach of a neighbour list."""
    cells = choose_box(particles)
    if cells is None:
        return False
    return _nearest(ranks, lambda cut: all(n * EDGE / k >= REACH for n, k in zip(cells, cut, strict=True))) is not None


def _nearest(number: int, fits: Callable[[Sides], bool]) -> Sides | None:
    candidates = [sides for sides in list_factors(number) if fits(sides)]
    return min(candidates, key=lambda s: s[0] * s[1] + s[0] * s[2] + s[1] * s[2], default=None)


def list_factors(number: int) -> Iterator[Sides]:
    """Yields three numbers with this product, the smallest first."""
    for a in _list_divisors(number, round(number ** (1 / 3)) + 1):
        for b in _list_divisors(number // a, int((number // a) ** 0.5)):
            if a <= b:
                yield a, b, number // a // b


def _list_divisors(number: int, most: int) -> list[int]:
    return [n for n in range(1, most + 1) if number % n == 0]
