"""Rule: checks whether more pairs of ranks at once hide the latency of the network, by message size."""

from steelyard.judge.findings.memory.tolerance import judge
from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, name_doubt, undecided
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding
from steelyard.model.roles import PairsPoint
from steelyard.model.units import binary_size, percent
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.results.network_tolerance import PairTolerance, tolerances
from steelyard.statistics.validity import trust

CAUSES = {
    "tolerant": "The messages of all pairs are in flight at the same time, so the rate depends on how fast ranks send them.",
    True: "The pairs share a resource that one pair nearly saturates: the adapter, its slot, the link, or a switch.",
    False: "Messages within one machine are copies, so the pairs share the caches and the memory.",
}

HIDES = {"tolerant": "hide", "partly tolerant": "hide only a part of", "little tolerant": "hardly hide", "": "may hide"}


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each kernel with pairs, on its smallest and largest message at the most pairs."""
    findings = []
    for benchmark, role in find_roles(evaluation, PairsPoint):
        results = cases.find(evaluation.results, benchmark, role.kernel)
        if curves := [rows for rows in tolerances(results) if rows[0].size > 0]:
            findings.append(_make_finding(evaluation, benchmark, role.title, curves))
    return findings


def _make_finding(evaluation: Evaluation, benchmark: str, title: str, curves: list[list[PairTolerance]]) -> Finding:
    most = [max(rows, key=lambda t: t.pairs) for rows in curves]
    ends = [most[0]] if most[0].size == most[-1].size else [most[0], most[-1]]
    words = [judge(one) for one in ends]  # the limits are those of the rule for threads
    apart = messages.over_a_network(ends[0].many)
    where = "the latency of the network" if apart else "the latency within this machine"
    good = all(word == "tolerant" for word in words)
    level = cases.doubt(*(r for t in ends for r in (t.one, t.many)))
    lines = tuple(_describe_tolerance(t) for rows in _select_sizes(curves) for t in rows)
    open_ = not any(words)
    if open_ or (good and name_doubt(level)):
        sizes = "; ".join(map(_describe, ends))
        question = f"Steelyard cannot decide whether more pairs of ranks hide {where} ({title}): {sizes}."
        again = measure_again(evaluation, level, benchmark)
        return undecided("network_tolerance", question, lines, name_doubt(level) or UNCERTAIN, again, benchmark)
    return Finding(
        "network_tolerance",
        "good" if good else "notice",
        f"{_claim(title, where, ends, words)}{trust.caution(level)}",
        lines,
        CAUSES["tolerant"] if good else CAUSES[apart],
        ""
        if good
        else advise(
            "Find the number of pairs from which the rate no longer grows: ",
            f"run --preset standard --only {benchmark}",
        ),
        benchmark,
        effect=None if good else max(1.0, 1 / min(one.efficiency for one in ends)),
        brief=""
        if good
        else f"{ends[-1].pairs} pairs of ranks at once have {ends[-1].ratio:.2f} times the rate of one pair.",
    )


def _claim(title: str, where: str, ends: list[PairTolerance], words: list[str]) -> str:
    """Returns one sentence, or two if the smallest and the largest message have different verdicts."""
    first = f"More pairs of ranks {HIDES[words[0]]} {where}"
    gains = [f"{binary_size(t.size)}, {t.pairs} pairs: {t.ratio:.2f} times one pair" for t in ends]
    if words[0] == words[-1]:
        return f"{first} ({title}; {'; '.join(gains)})."
    return f"{first} ({title}; {gains[0]}). They {HIDES[words[-1]]} it for longer messages ({gains[-1]})."


def _describe(one: PairTolerance) -> str:
    gain = f"{one.ratio:.2f} times the rate of one pair ({percent(one.efficiency)} of the ideal)"
    return f"messages of {binary_size(one.size)}, where {one.pairs} pairs reach {gain}"


def _select_sizes(curves: list[list[PairTolerance]]) -> list[list[PairTolerance]]:
    """Returns the smallest, a middle and the largest size."""
    return [curves[i] for i in sorted({0, len(curves) // 2, len(curves) - 1})]


def _describe_tolerance(one: PairTolerance) -> str:
    kernel = one.many.kernel.replace("_", " ")
    return (
        f"{kernel}, {binary_size(one.size)} ({messages.describe_ranks(one.many)}), {one.pairs} pairs: {one.ratio:.2f} "
        f"times the rate of one pair ({one.low:.2f} to {one.high:.2f}), efficiency {percent(one.efficiency)}."
    )
