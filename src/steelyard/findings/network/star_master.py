"""Rule: whether the link of a star's master limits what all its ranks get, while the other topologies go beyond."""

from collections.abc import Iterator
from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.units import binary_size, percent, quantity

BENCHMARK = "network.nettest"
# All of a star's messages pass its master: twice the link's rate B with full-duplex links, for any number of ranks.
NEAR, TOO_MUCH = 0.6, 1.3  # of 2·B, within which the star is at its limit; beyond B is not its link's rate
BEYOND = 1.3  # times the star, from which the links of the others are observed to carry more
LEAST_RANKS = 4  # of three the master's link is as good as all the others together
NAMED = 8  # cases that are listed
OTHERS = {"ring": "a ring", "chaos": "chaos"}


class Observed(NamedTuple):
    """The star at its best size, and the better of ring and chaos at the same; `link` is B and where it is known from."""

    star: Result
    other: Result
    link: float
    source: str


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding on all directions, numbers of ranks and MPIs; nothing where the link's rate is not known."""
    usable = [r for r in evaluation.results if r.benchmark == BENCHMARK and _throughput(r) > 0]
    observed = [s for s in _stars(evaluation, [r for r in usable if not messages.oversubscribed(r)]) if _limited(s)]
    if not observed:
        return []
    most = max(observed, key=lambda s: _throughput(s.other) / _throughput(s.star))
    reported = (
        f"The master's link limits the star: {_ranks(most.star)} ranks get {quantity(_throughput(most.star), 'B/s')} together, "
        f"{percent(_throughput(most.star) / (2 * most.link))} of twice the link's {quantity(most.link, 'B/s')}, but "
        f"{quantity(_throughput(most.other), 'B/s')} in {OTHERS[str(most.other.parameters['topology'])]}."
        f"{cases.caution(most.star, most.other)}"
    )
    return [
        Finding(
            "star_master",
            "notice",
            reported,
            (*map(_line, observed[:NAMED]), f"The link's rate: {most.source}."),
            "Every message of a star passes the master, whose link carries each direction once, however many ranks there are; in "
            "a ring and in chaos each rank has a link of its own.",
            "Do not let all data pass one rank: use collectives (their trees and rings spread the load) or several masters, or "
            "put the master where its link is faster.",
            BENCHMARK,
            effect=_throughput(most.other) / _throughput(most.star),
            reach="program",
        )
    ]


def _throughput(result: Result) -> float:
    return result.metrics["throughput"].value if "throughput" in result.metrics else 0.0


def _ranks(result: Result) -> int:
    return int(cases.number(result, "ranks") or 0)


def _stars(evaluation: Evaluation, results: list[Result]) -> Iterator[Observed]:
    """Of each direction, number of ranks and MPI the size with which the star is fastest."""
    best: dict[Identity, Result] = {}
    for star in cases.where(results, topology="star"):
        key = identity(star, messages.SIZE)
        if _ranks(star) >= LEAST_RANKS and (key not in best or _throughput(star) > _throughput(best[key])):
            best[key] = star
    for star in best.values():
        same = identity(star, "topology")
        others = [r for r in results if r.parameters.get("topology") in OTHERS and identity(r, "topology") == same]
        link = _link(evaluation, star)
        if others and link:
            yield Observed(star, max(others, key=_throughput), *link)


def _limited(observed: Observed) -> bool:
    star, other = _throughput(observed.star), _throughput(observed.other)
    return NEAR <= star / (2 * observed.link) <= TOO_MUCH and other > BEYOND * star and other > 2 * observed.link


def _link(evaluation: Evaluation, star: Result) -> tuple[float, str] | None:
    """B, as the system file gives it or as two ranks reached it on as many hosts."""
    given = evaluation.run.machine.limits.get("network_bandwidth")
    if given is not None and given.value > 0 and messages.apart(star):
        return given.value, given.source
    there, mpi = messages.apart(star), star.parameters.get("mpi")
    same = [r for r in evaluation.results if r.parameters.get("mpi") == mpi and messages.apart(r) == there]
    same = [r for r in same if messages.transport(r) == messages.transport(star)]
    same = [r for r in same if r.parameters.get("buffers", "reused") == "reused"]  # as in the star itself
    best = max(same, key=_one_way, default=star)
    words = f"the best of one way between two ranks, {best.benchmark} with {binary_size(messages.size(best))}"
    return (_one_way(best), words) if _one_way(best) > 0 else None


def _one_way(result: Result) -> float:
    """Of two ranks, one direction after the other; 0 for anything else."""
    pair = result.kernel in ("pingpong", "transfer") or (result.kernel == "nettest" and _ranks(result) == 2)
    known = result.metrics.get("throughput", result.metrics.get("bandwidth"))
    return known.value if known and pair and result.parameters.get("direction", "one-way") == "one-way" else 0.0


def _line(observed: Observed) -> str:
    star = observed.star
    return (
        f"{star.parameters.get('direction', '')}, {messages.called(star)}, {binary_size(messages.size(star))}: star "
        f"{quantity(_throughput(star), 'B/s')}, {observed.other.parameters['topology']} "
        f"{quantity(_throughput(observed.other), 'B/s')}, "
        f"twice the link {quantity(2 * observed.link, 'B/s')}."
    )
