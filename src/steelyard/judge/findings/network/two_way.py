"""Rule: checks whether messages in both directions at once reach nearly twice the bandwidth of one direction."""

from statistics import median
from typing import NamedTuple

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import quantity
from steelyard.model.words import in_words
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.cost import Ratio, ratio
from steelyard.statistics.results.identity import identity

# A full-duplex link gives twice the bandwidth; below one and a half, the directions slow each other down.
FULL = 1.5
# Above twice, one of the two figures is wrong. The margin allows for the scatter between launches.
IMPOSSIBLE = 2.0 * 1.05
LEAST_BYTES = 64 << 10  # the cost of each message, and not the link, limits shorter messages
KNOWN = 2.0  # greatest over least gain of an interval: a wider one contains both verdicts
NAMED = 8  # pairs of results that are listed

CAUSES = {
    True: "The two directions share a resource that one direction saturates: a half-duplex or wrongly negotiated link, the "
    "bus of the network card, or the one core that drives it.",
    False: "Messages within one machine are copies, so both directions share the cores that copy, the caches and the memory. "
    "This is no fault. Programs that send and receive at once get the bandwidth of both directions.",
}
REMEDY = advise(
    "Check duplex and speed of the link on both ends (ethtool, ibstat) and the width of the slot of the network card "
    "(lspci -vv). Measure with more pairs: ",
    "run --only network.rate",
)


class Directions(NamedTuple):
    """The same message in one direction and in both; `gain` is the bandwidth of both over that of one."""

    one: Result
    both: Result
    gain: Ratio


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares both directions for transfer and rate, for large sizes and without oversubscribed results."""
    findings: list[Finding] = []
    for benchmark in ("network.transfer", "network.rate"):
        results = [r for r in evaluation.results if r.benchmark == benchmark and messages.size(r) >= LEAST_BYTES]
        compared = _pair_directions([r for r in results if not messages.oversubscribed(r)])
        if compared:
            findings += _judge(benchmark, compared)
    return findings


def _pair_directions(results: list[Result]) -> list[Directions]:
    """Pairs the results; a cost is the time of a message, so the ratio of costs is the ratio of bandwidths."""
    one_way = cases.select(cases.find(results, "network.transfer", "transfer"), direction="one-way")
    two_way = cases.select(cases.find(results, "network.transfer", "transfer"), direction="two-way")
    one_way += cases.find(results, "network.rate", "one_way")
    two_way += cases.find(results, "network.rate", "both_ways")
    others = {identity(r, "direction")[2:]: r for r in two_way}
    pairs = ((r, others.get(identity(r, "direction")[2:])) for r in one_way)
    return [Directions(a, b, gain) for a, b in pairs if b and (gain := ratio(a, b)) and gain.high <= KNOWN * gain.low]


def _judge(benchmark: str, compared: list[Directions]) -> list[Finding]:
    impossible = sorted((s for s in compared if s.gain.low > IMPOSSIBLE), key=lambda s: -s.gain.value)
    possible = [s for s in compared if s not in impossible]
    doubt = [_report_impossible(benchmark, impossible, len(compared))] if impossible else []
    return doubt + (_report_possible(benchmark, possible) if possible else [])


def _report_impossible(benchmark: str, impossible: list[Directions], count: int) -> Finding:
    most = impossible[0]
    return Finding(
        "two_way",
        "notice",
        f"Both directions at once reach {most.gain.value:.2f} times the bandwidth of one ({_label(most)}). More than twice "
        f"is impossible, so one of the two figures is wrong. This concerns {_describe_impossible(len(impossible), count)}."
        f"{cases.caution(most.one, most.both)}",
        tuple(map(_describe_directions, impossible[:NAMED])),
        "Either the figure of one direction is too low: another program used its cores, or the sender waited for the receiver. "
        "Or the figure of both directions is too high: it counts bytes that had not yet arrived.",
        advise(
            "Use neither figure. Measure both again on a quiet machine: ", f"run --preset standard --only {benchmark}"
        ),
        benchmark,
        effect=most.gain.value / 2,
        reach="figures",
        brief=f"Both directions at once have {most.gain.value:.2f} times the bandwidth of one: more than 2 is impossible.",
    )


def _report_possible(benchmark: str, compared: list[Directions]) -> list[Finding]:
    poor = sorted((s for s in compared if s.gain.high < FULL), key=lambda s: s.gain.value)
    evidence = tuple(_describe_directions(s) for s in (poor or sorted(compared, key=lambda s: s.gain.value))[:NAMED])
    middle = median(s.gain.value for s in compared)
    if poor and middle < FULL:
        worst = poor[0]
        claim = (
            f"Both directions at once reach {worst.gain.value:.2f} times the bandwidth of one ({_label(worst)}). In "
            f"{len(poor)} of {len(compared)} comparisons, the factor is certainly below {FULL:g}."
            f"{cases.caution(worst.one, worst.both)}"
        )
        apart = messages.over_a_network(worst.one)
        # Within a machine there is nothing to repair, so the finding has no effect and no remedy.
        effect, remedy = (2 / worst.gain.value, REMEDY) if apart else (None, "")
        brief = f"Both directions at once have only {worst.gain.value:.2f} times the bandwidth of one."
        act = "check duplex and speed of the link: ethtool, ibstat" if apart else ""
        cause = CAUSES[apart]
        return [
            Finding("two_way", "notice", claim, evidence, cause, remedy, benchmark, effect, brief=brief, action=act)
        ]
    if not poor and sum(s.gain.low > FULL for s in compared) * 2 > len(compared):
        claim = f"Both directions at once reach {middle:.2f} times the bandwidth of one {_name_median(len(compared))}."
        cause = (
            "The links carry both directions at the same time."
            if messages.over_a_network(compared[0].one)
            else "The copies of both directions run at the same time."
        )
        return [Finding("two_way", "good", claim, evidence, cause, "", benchmark)]
    return []


def _describe_impossible(impossible: int, count: int) -> str:
    return f"{impossible} of {count} comparisons" if count > 1 else "the only comparison"


def _name_median(count: int) -> str:
    return f"(the median of {count} comparisons)" if count > 1 else "(in the only comparison)"


def _label(directions: Directions) -> str:
    size, partner = messages.size(directions.one), directions.one.parameters.get("partner")
    words = [
        messages.sizes(size, size),
        f"with rank {partner}" if partner is not None else "",
        messages.describe_ranks(directions.one),
    ]
    if "pairs" in directions.one.parameters:
        words.insert(1, in_words("pairs", directions.one.parameters["pairs"]))
    return ", ".join(word for word in words if word)


def _describe_directions(directions: Directions) -> str:
    rates = [
        r.metrics["bandwidth"].value if "bandwidth" in r.metrics else None for r in (directions.one, directions.both)
    ]
    return (
        f"{_label(directions)}: {quantity(rates[0], 'B/s')} one way, {quantity(rates[1], 'B/s')} both ways, "
        f"{directions.gain.value:.2f} times ({directions.gain.low:.2f} to {directions.gain.high:.2f})."
    )
