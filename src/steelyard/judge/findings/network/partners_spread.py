"""Rule: compares the latency and the bandwidth between rank 0 and each of its partners."""

from steelyard.model import Evaluation, Finding
from steelyard.model.units import binary_size, quantity
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.partners import Spread, spreads

BENCHMARK = "network.transfer"
ALIKE = 0.10  # relative spread: the latencies of the Celeron cluster differed by less than 7 %


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on latency and both bandwidths; nothing for one partner, or if ranks share processors."""
    usable = [r for r in evaluation.results if r.benchmark == BENCHMARK and not messages.oversubscribed(r)]
    all_spreads = spreads(usable)
    if not all_spreads:
        return []
    most = max(all_spreads, key=lambda s: s.share)
    apart = any(messages.over_a_network(r) for r in most.results)
    alike = most.share <= ALIKE
    partners = len(most.results)
    claim = (
        f"The {partners} partners of rank 0 {'are alike' if alike else 'differ'}: {_name_quantity(most)} varies by "
        f"{quantity(most.share, '%', 2)} among them.{cases.caution(*most.results)}"
    )
    return [
        Finding(
            "partners_spread",
            "good" if alike else "notice",
            claim,
            tuple(_describe_spread(s) for s in sorted(all_spreads, key=lambda s: -s.share)),
            "All paths from rank 0 have the same latency and bandwidth."
            if alike
            else "The paths differ in switches, links or network cards, or one of them carries other traffic."
            if apart
            else "Within one machine, the paths differ by the caches and sockets that two processors share.",
            "" if alike else "Find the partner that differs. Check in the matrix of all pairs of network.transfer whether other "
            "ranks show the same.",
            BENCHMARK,
            effect=None if alike else 1 + most.share,
            brief="" if alike else f"The partners differ: {_name_quantity(most)} varies by {quantity(most.share, '%', 2)}.",
        )
    ]  # fmt: skip


def _name_quantity(spread: Spread) -> str:
    first = spread.results[0]
    if spread.metric == "latency":
        return "the latency"
    return f"the {first.parameters.get('direction', '')} bandwidth with {binary_size(messages.size(first))}"


def _describe_spread(spread: Spread) -> str:
    low, high = spread.ends
    ends = (
        f"{quantity(r.metrics[spread.metric].value, r.metrics[spread.metric].unit)} with rank {r.parameters.get('partner')}"
        for r in (low, high)
    )
    what = _name_quantity(spread)
    return (
        f"{what[0].upper()}{what[1:]} ({messages.describe_ranks(low)}): {quantity(spread.share, '%', 2)} of the median, "
        f"from {' to '.join(ends)}."
    )
