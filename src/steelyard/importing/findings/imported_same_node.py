"""Rule: says when the latency of an imported ping-pong is that of shared memory, although no name or file states one node."""

from steelyard.importing.doubts import SHARED_MEMORY, is_small_message
from steelyard.model import Evaluation, Finding
from steelyard.model.units import quantity

IMPORTED = True


def find(evaluation: Evaluation) -> list[Finding]:
    """States that both ranks were probably on one node."""
    imported = evaluation.run.imported
    small = (v for v in (imported.values if imported else ()) if is_small_message(v) and v.parameters.get("nodes") != 1)
    fastest = min(small, key=lambda v: v.value, default=None)
    if fastest is None or fastest.value >= SHARED_MEMORY:
        return []
    latency = quantity(fastest.value, "s")
    return [
        Finding(
            rule="imported_same_node",
            level="notice",
            seen=f"The latency of a small message is {latency}. Both ranks were probably on one node.",
            evidence=(
                f"A message between two nodes takes more than {quantity(SHARED_MEMORY, 's', 2)}. "
                "Only a message through shared memory is this fast.",
                *([f"The value stands in {fastest.source}."] if fastest.file else []),
            ),
            cause="The ranks of the job were placed on one node, although the job may have had several.",
            remedy="Do not compare this value with a network. Place one rank on each of two nodes and measure again.",
            benchmark=fastest.benchmark,
            reach="figures",
            about="measurement",
        )
    ]
