"""Rule: finds the topology (star, ring or chaos) whose throughput varies least over the message sizes."""

from steelyard.model import Evaluation, Finding
from steelyard.model.units import quantity
from steelyard.model.words import in_words
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.steadiness import Steadiness, steadiness

BENCHMARK = "network.nettest"
CLEAR = 1.2  # times the variation of the steadiest topology: from this factor on, the next one is called less steady


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for the most ranks; nothing for fewer than four, or if ranks share processors."""
    usable = [r for r in evaluation.results if r.benchmark == BENCHMARK and not messages.oversubscribed(r)]
    by_case = steadiness(usable)
    if not by_case:
        return []
    best = max(by_case, key=lambda rows: cases.number(rows[0].results[0], "ranks") or 0)
    first, second = best[0], best[1]
    span = messages.sizes(first.first, first.last)
    if second.variation >= CLEAR * first.variation:
        ranking = f"The throughput of the {first.topology} depends least on the message size"
    else:
        ranking = f"The throughputs of {first.topology} and {second.topology} depend equally little on the message size"
    ranks = in_words("ranks", first.results[0].parameters["ranks"])
    claim = (
        f"{ranking} ({ranks}). From {span}, the throughput of the {first.topology} varies by "
        f"{quantity(first.variation, '%', 2)}, and that of the {second.topology} by "
        f"{quantity(second.variation, '%', 2)}.{cases.caution(*first.results)}"
    )
    evidence = tuple(_describe_steadiness(s) for rows in by_case for s in rows)
    cause = (
        "If each rank has only two partners, few messages meet at a port. If many messages meet, the throughput depends on "
        "their size."
    )
    return [Finding("steadiest", "good", claim, evidence, cause, "", BENCHMARK)]


def _describe_steadiness(one: Steadiness) -> str:
    ways = ", ".join(f"{way} {quantity(share, '%', 2)}" for way, share in one.ways)
    called = messages.describe_ranks(one.results[0])
    return f"{one.topology} ({called}), {messages.sizes(one.first, one.last)}: {ways}; mean {quantity(one.variation, '%', 2)}."
