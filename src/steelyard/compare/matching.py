"""Pairs the cases of two runs. The runs may differ as a whole in a factor or a size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from steelyard.compare.like import USUAL
from steelyard.compare.placement_names import free_parameters
from steelyard.model import UNCHANGED, Scalar
from steelyard.statistics.results.identity import Case, identity

# Sizes follow the machine's caches and memory, so the largest sizes of two runs correspond to each other.
SIZES = ("elements", "bytes")


C = TypeVar("C", bound=Case)


@dataclass(frozen=True)
class Match(Generic[C]):
    """The same case in both runs. `differing` holds (name, value in a, value in b) of parameters that differ."""

    a: C
    b: C
    differing: tuple[tuple[str, Scalar | None, Scalar | None], ...] = ()

    @property
    def differing_size(self) -> bool:
        """Returns whether the work of both cases differs."""
        return any(name in SIZES for name, _, _ in self.differing)


@dataclass(frozen=True)
class Matched(Generic[C]):
    """Pairs in the order of the first run, and the cases that only one run has."""

    pairs: tuple[Match[C], ...]
    only_a: tuple[C, ...]
    only_b: tuple[C, ...]


def match(a: Sequence[C], b: Sequence[C]) -> Matched[C]:
    """Pairs the results of two runs, or what is kept of them.

    Results of a pair agree in benchmark, kernel and all parameters, except two kinds: parameters that a placement name replaces
    (see `placement_names`), and the factors of a benchmark. A factor has one value in all cases of a and another one in all
    cases of b, such as the toolchain. Among the remaining results, the largest sizes are paired.
    """
    names = {r.benchmark for r in a}
    of = {name: [[r for r in side if r.benchmark == name] for side in (a, b)] for name in names}
    factors = {name: tuple(find_factors(*sides)) for name, sides in of.items()}
    others = {key_of(r, factors.get(r.benchmark, ())): r for r in reversed(b)}
    partners: dict[int, C] = {}
    for i, result in enumerate(a):
        other = others.get(key_of(result, factors[result.benchmark]))
        if other is not None:
            partners[i] = other
    taken = {id(r) for r in partners.values()}
    largest_b = _largest([r for r in b if id(r) not in taken], factors)
    largest_a = _largest([r for i, r in enumerate(a) if i not in partners], factors)
    positions = {id(r): i for i, r in enumerate(a)}
    for key, result in largest_a.items():
        if key in largest_b:
            partners[positions[id(result)]] = largest_b[key]
    taken = {id(r) for r in partners.values()}
    return Matched(
        tuple(Match(a[i], other, _differing(a[i], other)) for i, other in sorted(partners.items())),
        tuple(r for i, r in enumerate(a) if i not in partners),
        tuple(r for r in b if id(r) not in taken),
    )


def find_factors(a: Sequence[Case], b: Sequence[Case]) -> dict[str, tuple[Scalar | None, Scalar | None]]:
    """Returns the parameters with one value in all of `a` and one other in all of `b`, with both; all are of one benchmark."""
    sizes = {
        *SIZES,
        *("placement" for r in (*a, *b) if free_parameters(r)),
    }  # a named placement is paired by its name alone
    names = dict.fromkeys(name for r in (*a, *b) for name in r.parameters if name not in sizes)
    factors = {}
    for name in names if a and b else ():
        x, y = _read(a[0], name), _read(b[0], name)
        if x != y and all(_read(case, name) == x for case in a) and all(_read(case, name) == y for case in b):
            factors[name] = (x, y)
    return factors


def key_of(result: Case, but: Sequence[str] = ()) -> tuple[object, ...]:
    """Returns what two cases of a pair have in common: their identity without the parameters that may differ."""
    return identity(result, *but, *free_parameters(result))


def _largest(results: Sequence[C], factors: dict[str, tuple[str, ...]]) -> dict[tuple[object, ...], C]:
    """Returns the largest of the results that differ only in their sizes."""
    largest: dict[tuple[object, ...], C] = {}
    for result in results:
        size = _size(result)
        if size is not None:
            key = key_of(result, (*factors.get(result.benchmark, ()), *SIZES))
            previous = _size(largest[key]) if key in largest else None
            if previous is None or size > previous:
                largest[key] = result
    return largest


def _size(result: Case) -> tuple[float, ...] | None:
    sizes = [v for name in SIZES if isinstance(v := result.parameters.get(name), int | float)]
    return tuple(float(v) for v in sizes) or None


def is_same_by_default(name: str, x: Scalar | None, y: Scalar | None) -> bool:
    """Returns whether one side has the usual value of a parameter, and the other side does not have it."""
    return {x, y} == {None, USUAL.get(name)}


def _differing(a: Case, b: Case) -> tuple[tuple[str, Scalar | None, Scalar | None], ...]:
    names = dict.fromkeys((*a.parameters, *b.parameters))
    both = ((name, _read(a, name), _read(b, name)) for name in names)
    return tuple((name, x, y) for name, x, y in both if x != y)


def _read(result: Case, name: str) -> Scalar | None:
    """Returns the parameter. The start without changes is that of a run without variants (see `identity`)."""
    value = result.parameters.get(name)
    return None if (name, value) == ("variant", UNCHANGED) else value
