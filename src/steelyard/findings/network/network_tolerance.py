"""Rule: whether more pairs at once hide the network's latency: their rate against that of one pair, by the size of messages."""

from steelyard.findings.memory.tolerance import POOR, TOLERANT, TOO_WIDE
from steelyard.model import Evaluation, Finding
from steelyard.model.roles import PairsPoint
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.benchmark_roles import playing
from steelyard.statistics.results.network_tolerance import PairTolerance, tolerances
from steelyard.units import binary_size, percent

CAUSES = {
    "tolerant": "Each pair's messages are under way while the others' are: what counts is how fast they are issued.",
    True: "The pairs share what one of them nearly fills: the adapter, its slot, the link, or a switch between the halves.",
    False: "Within one machine messages are copies: the pairs share the caches and the memory.",
}


def find(evaluation: Evaluation) -> list[Finding]:
    """For each rate of pairs the smallest and the largest message, at the most pairs; silent for one pair."""
    found = []
    for benchmark, role in playing(evaluation, PairsPoint):
        mine = cases.of(evaluation.results, benchmark, role.kernel)
        if curves := [rows for rows in tolerances(mine) if rows[0].size > 0]:
            found.append(_finding(benchmark, role.title, curves))
    return found


def judged(one: PairTolerance) -> str:
    """In a word; '' where the interval is too wide for one. The same limits as for threads."""
    if one.high > TOO_WIDE * one.low:
        return ""
    if one.efficiency >= TOLERANT:
        return "tolerant"
    return "partly tolerant" if one.ratio >= POOR else "little tolerant"


def _finding(benchmark: str, title: str, curves: list[list[PairTolerance]]) -> Finding:
    most = [max(rows, key=lambda t: t.pairs) for rows in curves]
    ends = [most[0]] if most[0].size == most[-1].size else [most[0], most[-1]]
    words = [judged(one) for one in ends]
    apart = messages.over_a_network(ends[0].many)
    where = "The network is" if apart else "Within one machine, the passing of messages is"
    said = "; ".join(
        f"{word or 'not to be judged (too wide)'} with {_describe(one)}" for word, one in zip(words, ends, strict=True)
    )
    good = all(word == "tolerant" for word in words)
    care = cases.caution(*(r for t in ends for r in (t.one, t.many)))
    return Finding(
        "network_tolerance",
        "good" if good and not care else "notice",
        f"{where} {said} ({title}).{care}",
        tuple(_line(t) for rows in _few(curves) for t in rows),
        CAUSES["tolerant"] if good else CAUSES[apart],
        ""
        if good
        else f"See from how many pairs on the rate no longer grows: steelyard run --preset standard --only {benchmark}",
        benchmark,
        effect=None if good else max(1.0, 1 / min(one.efficiency for one in ends)),
    )


def _describe(one: PairTolerance) -> str:
    gain = f"{one.ratio:.2f} times the rate of one, {percent(one.efficiency)} of the ideal"
    return f"{binary_size(one.size)}: {one.pairs} pairs get {gain}"


def _few(curves: list[list[PairTolerance]]) -> list[list[PairTolerance]]:
    """The smallest, a middle and the largest size."""
    return [curves[i] for i in sorted({0, len(curves) // 2, len(curves) - 1})]


def _line(one: PairTolerance) -> str:
    kernel = one.many.kernel.replace("_", " ")
    return (
        f"{kernel}, {binary_size(one.size)} ({messages.called(one.many)}), {one.pairs} pairs: {one.ratio:.2f} times the rate of "
        f"one ({one.low:.2f} to {one.high:.2f}), efficiency {percent(one.efficiency)}."
    )
