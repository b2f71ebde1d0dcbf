"""Rule: says when the latency of an imported ping-pong is that of shared memory."""

from steelyard.model import Evaluation, Finding
from steelyard.statistics.results import cases
from steelyard.units import quantity

IMPORTED = True
BENCHMARK = "network.pingpong"
SMALL = 64  # bytes
# No network between nodes is faster: InfiniBand and Slingshot need 0.8 µs and more, shared memory 0.1 to 0.6 µs.
SHARED = 0.65e-6  # s


def find(evaluation: Evaluation) -> list[Finding]:
    """States that both ranks were probably on one node."""
    small = [
        r
        for r in evaluation.results
        if r.benchmark == BENCHMARK and "latency" in r.metrics and (cases.number(r, "message_bytes") or 0) <= SMALL
    ]
    fastest = min(small, key=lambda r: r.metrics["latency"].value, default=None)
    if fastest is None or fastest.metrics["latency"].value >= SHARED:
        return []
    latency = quantity(fastest.metrics["latency"].value, "s")
    return [
        Finding(
            rule="imported_same_node",
            level="notice",
            seen=f"The latency of a small message is {latency}. Both ranks were probably on one node.",
            evidence=(
                f"A message between two nodes takes more than {quantity(SHARED, 's', 2)}. "
                "Only a message through shared memory is this fast.",
            ),
            cause="The ranks of the job were placed on one node, although the job may have had several.",
            remedy="Do not compare this value with a network. Place one rank on each of two nodes and measure again.",
            benchmark=BENCHMARK,
            reach="figures",
            about="measurement",
        )
    ]
