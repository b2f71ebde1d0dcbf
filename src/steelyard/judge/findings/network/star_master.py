"""Rule: checks whether the link of the master limits the throughput of a star, while other topologies are faster."""

from collections.abc import Iterator
from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import binary_size, percent, quantity
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity

BENCHMARK = "network.nettest"
# All messages of a star pass its master: at most twice the link rate B with full-duplex links, for any number of ranks.
NEAR, TOO_MUCH = 0.6, 1.3  # shares of 2·B: within this range the star is at its limit; above it, B is wrong
BEYOND = 1.3  # times the bandwidth of the star: the links of the other ranks carry more
LEAST_RANKS = 4  # with three ranks, the link of the master is as fast as the others together
NAMED = 8  # cases that are listed
OTHERS = {"ring": "a ring", "chaos": "chaos"}


class Star(NamedTuple):
    """The star at its best size, and the better of ring and chaos at the same size; `link` is B, and `source` its origin."""

    star: Result
    other: Result
    link: float
    source: str


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all directions, numbers of ranks and MPIs; nothing if the link rate is unknown."""
    usable = [r for r in evaluation.results if r.benchmark == BENCHMARK and _throughput(r) > 0]
    stars = [s for s in _stars(evaluation, [r for r in usable if not messages.oversubscribed(r)]) if _is_limited(s)]
    if not stars:
        return []
    most = max(stars, key=lambda s: _throughput(s.other) / _throughput(s.star))
    claim = (
        f"The link of the master limits the star. All {_ranks(most.star)} ranks together reach "
        f"{quantity(_throughput(most.star), 'B/s')}, which is {percent(_throughput(most.star) / (2 * most.link))} of the two "
        f"directions of its link ({quantity(most.link, 'B/s')} each). In {OTHERS[str(most.other.parameters['topology'])]} they "
        f"reach {quantity(_throughput(most.other), 'B/s')}."
        f"{cases.caution(most.star, most.other)}"
    )
    return [
        Finding(
            "star_master",
            "notice",
            claim,
            (*map(_describe_star, stars[:NAMED]), f"The link rate: {most.source}."),
            "In a star, every message uses the link of the master. In the topologies ring and chaos (random partners), each "
            "rank uses its own link.",
            "Do not send all data through one rank. Use collectives (their trees and rings spread the load) or several masters, "
            "or run the master where its link is faster.",
            BENCHMARK,
            effect=_throughput(most.other) / _throughput(most.star),
            reach="program",
        )
    ]


def _throughput(result: Result) -> float:
    return result.metrics["throughput"].value if "throughput" in result.metrics else 0.0


def _ranks(result: Result) -> int:
    return int(cases.number(result, "ranks") or 0)


def _stars(evaluation: Evaluation, results: list[Result]) -> Iterator[Star]:
    """Yields the star at its fastest message size, for each direction, number of ranks and MPI."""
    best: dict[Identity, Result] = {}
    for star in cases.select(results, topology="star"):
        key = identity(star, messages.SIZE)
        if _ranks(star) >= LEAST_RANKS and (key not in best or _throughput(star) > _throughput(best[key])):
            best[key] = star
    for star in best.values():
        same = identity(star, "topology")
        others = [r for r in results if r.parameters.get("topology") in OTHERS and identity(r, "topology") == same]
        link = _link(evaluation, star)
        if others and link:
            yield Star(star, max(others, key=_throughput), *link)


def _is_limited(case: Star) -> bool:
    star, other = _throughput(case.star), _throughput(case.other)
    return NEAR <= star / (2 * case.link) <= TOO_MUCH and other > BEYOND * star and other > 2 * case.link


def _link(evaluation: Evaluation, star: Result) -> tuple[float, str] | None:
    """Returns B and its origin: the system file, or two ranks with the same transport."""
    given = evaluation.run.machine.limits.get("network_bandwidth")
    if given is not None and given.value > 0 and messages.is_apart(star):
        return given.value, given.source
    apart, mpi = messages.is_apart(star), star.parameters.get("mpi")
    same = [r for r in evaluation.results if r.parameters.get("mpi") == mpi and messages.is_apart(r) == apart]
    same = [r for r in same if messages.transport(r) == messages.transport(star)]
    same = [r for r in same if r.parameters.get("buffers", "reused") == "reused"]  # as in the star itself
    best = max(same, key=_read_one_way, default=star)
    words = f"the fastest one-way result between two ranks, {best.benchmark} with {binary_size(messages.size(best))}"
    return (_read_one_way(best), words) if _read_one_way(best) > 0 else None


def _read_one_way(result: Result) -> float:
    """Returns the bandwidth of two ranks in one direction at a time; 0 for other results."""
    pair = result.kernel in ("pingpong", "transfer") or (result.kernel == "nettest" and _ranks(result) == 2)
    rate = result.metrics.get("throughput", result.metrics.get("bandwidth"))
    return rate.value if rate and pair and result.parameters.get("direction", "one-way") == "one-way" else 0.0


def _describe_star(case: Star) -> str:
    star = case.star
    return (
        f"{star.parameters.get('direction', '')}, {messages.describe_ranks(star)}, {binary_size(messages.size(star))}: "
        f"star {quantity(_throughput(star), 'B/s')}, {case.other.parameters['topology']} "
        f"{quantity(_throughput(case.other), 'B/s')}, twice the link rate {quantity(2 * case.link, 'B/s')}."
    )
