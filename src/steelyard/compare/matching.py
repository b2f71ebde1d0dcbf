"""Which case of one run is which of the other, where the runs differ as a whole in a factor or a size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.compare.placement_names import spelt
from steelyard.model import Result, Scalar
from steelyard.statistics.results.identity import identity

# Sizes follow the machine's caches and memory: each run's own largest one is the same question to both.
SIZES = ("elements", "bytes")


@dataclass(frozen=True)
class Match:
    """The same case in both runs; `differing` are (name, in a, in b) of what was allowed to differ."""

    a: Result
    b: Result
    differing: tuple[tuple[str, Scalar | None, Scalar | None], ...] = ()

    @property
    def differing_size(self) -> bool:
        """Whether their work differs, too."""
        return any(name in SIZES for name, _, _ in self.differing)


@dataclass(frozen=True)
class Matched:
    """Pairs in the order of the first run, and what only one of them has."""

    pairs: tuple[Match, ...]
    only_a: tuple[Result, ...]
    only_b: tuple[Result, ...]


def match(a: Sequence[Result], b: Sequence[Result]) -> Matched:
    """Pair the results of two runs.

    They must agree in benchmark, kernel and all parameters, but for those that a name stands for (see `placed`), and for the
    factors of a benchmark: parameters that have one value in all of a's cases and one other in all of b's, as the toolchain has.
    Of what is left the largest sizes are paired.
    """
    factors = {name: _factors(_of(a, name), _of(b, name)) for name in {r.benchmark for r in a}}
    others = {_key(r, factors.get(r.benchmark, ())): r for r in reversed(b)}
    found: dict[int, Result] = {}
    for i, result in enumerate(a):
        other = others.get(_key(result, factors[result.benchmark]))
        if other is not None:
            found[i] = other
    taken = {id(r) for r in found.values()}
    rest = _largest([r for r in b if id(r) not in taken], factors)
    mine = _largest([r for i, r in enumerate(a) if i not in found], factors)
    positions = {id(r): i for i, r in enumerate(a)}
    for key, result in mine.items():
        if key in rest:
            found[positions[id(result)]] = rest[key]
    taken = {id(r) for r in found.values()}
    return Matched(
        tuple(Match(a[i], other, _differing(a[i], other)) for i, other in sorted(found.items())),
        tuple(r for i, r in enumerate(a) if i not in found),
        tuple(r for r in b if id(r) not in taken),
    )


def _of(results: Iterable[Result], benchmark: str) -> list[Result]:
    return [r for r in results if r.benchmark == benchmark]


def _factors(a: Sequence[Result], b: Sequence[Result]) -> tuple[str, ...]:
    """Parameters with one value in all of `a` and one other in all of `b`."""
    but = {*SIZES, *("placement" for r in (*a, *b) if spelt(r))}  # what has a name is paired by it alone
    names = dict.fromkeys(name for r in (*a, *b) for name in r.parameters if name not in but)
    found = []
    for name in names:
        mine, others = ({r.parameters.get(name) for r in side} for side in (a, b))
        if len(mine) == 1 and len(others) == 1 and mine != others:
            found.append(name)
    return tuple(found)


def _key(result: Result, but: Sequence[str]) -> tuple[object, ...]:
    return identity(result, *but, *spelt(result))


def _largest(results: Sequence[Result], factors: dict[str, tuple[str, ...]]) -> dict[tuple[object, ...], Result]:
    """Of results that differ in their sizes only, the largest."""
    found: dict[tuple[object, ...], Result] = {}
    for result in results:
        size = _size(result)
        if size is not None:
            key = _key(result, (*factors.get(result.benchmark, ()), *SIZES))
            known = _size(found[key]) if key in found else None
            if known is None or size > known:
                found[key] = result
    return found


def _size(result: Result) -> tuple[float, ...] | None:
    sizes = [v for name in SIZES if isinstance(v := result.parameters.get(name), int | float)]
    return tuple(float(v) for v in sizes) or None


def _differing(a: Result, b: Result) -> tuple[tuple[str, Scalar | None, Scalar | None], ...]:
    names = dict.fromkeys((*a.parameters, *b.parameters))
    both = ((name, a.parameters.get(name), b.parameters.get(name)) for name in names)
    return tuple((name, x, y) for name, x, y in both if x != y)
