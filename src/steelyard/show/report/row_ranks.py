"""Chooses the rows of a short table: first each kernel under the usual conditions, last the unusual conditions."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from steelyard.model import Benchmark, Result, Scalar
from steelyard.model import roles as roles_
from steelyard.model.roles import SIZES
from steelyard.show.report import values
from steelyard.statistics.results import main_figures
from steelyard.statistics.results.parameters import USUAL, number

_UNORDERED = {*SIZES, "message_bytes"}  # no value of these is the usual one
_EXTREMES: Mapping[str, Callable[[Iterable[float]], float]] = {"threads": max, "ranks": max}


def ranks(benchmark: Benchmark, results: Sequence[Result]) -> list[int]:
    """Returns the place of each result in the order in which a short table takes them.

    First every kernel under the usual conditions with the most workers at the largest size; then at the smallest size and the
    sizes between; then under the other conditions. The kernels of main figures come before the others.
    """
    preferred = _preferred(benchmark, results)
    places: dict[str, dict[Scalar, int]] = {}
    for name in values.varying(tuple(results)):
        if name not in (*preferred, "kernel", "toolchain", "mpi"):  # cases that are compared stay together
            given = list(dict.fromkeys(r.parameters[name] for r in results if name in r.parameters))
            if all(number(value) is not None for value in given):
                given.sort(key=lambda value: number(value) or 0.0)
                given = [given[i] for i in by_halves(len(given))]
            places[name] = {value: place for place, value in enumerate(given)}

    main = {role.kernel for role in benchmark.roles if isinstance(role, roles_.Headline)}

    def make_sort_key(result: Result) -> tuple[int, int, bool]:
        parameters = result.parameters
        other = sum(name in parameters and parameters[name] != value for name, value in preferred.items())
        inner = sum(places[name][value] for name, value in parameters.items() if name in places)
        return other, inner, result.kernel not in main

    order = sorted(range(len(results)), key=lambda place: make_sort_key(results[place]))
    ranked = [0] * len(order)
    for rank, place in enumerate(order):
        ranked[place] = rank
    return ranked


def _preferred(benchmark: Benchmark, results: Sequence[Result]) -> dict[str, Scalar]:
    """Returns the usual value of each parameter that has one among these results."""
    within = main_figures.drop_crowded(list(results))
    roles = [role for role in benchmark.roles if isinstance(role, roles_.Headline)]
    extremes = dict(_EXTREMES)
    for role in roles:
        extremes |= {**dict.fromkeys(role.least, min), **dict.fromkeys(role.most, max)}
    preferred: dict[str, Scalar] = {}
    for name, pick in extremes.items():
        numbers = {n: r.parameters[name] for r in within if (n := number(r.parameters.get(name))) is not None}
        if numbers and name not in _UNORDERED:
            preferred[name] = numbers[pick(numbers)]
    for name, value in (*USUAL, *(pair for role in roles for pair in role.usual)):
        if name not in _UNORDERED and any(r.parameters.get(name) == value for r in within):
            preferred[name] = value
    return preferred


def by_halves(count: int) -> list[int]:
    """Returns the places 0 … `count` - 1: the last, the first, then the middle of each gap, the widest gaps first."""
    order, gaps = [count - 1, 0], [(0, count - 1)]
    for low, high in gaps:
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return list(dict.fromkeys(order))
