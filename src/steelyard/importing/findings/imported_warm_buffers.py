"""Rule: warns of imported values that were measured with reused buffers."""

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding
from steelyard.model.words import joined, plural

IMPORTED = True
REUSED = "reused"


def find(evaluation: Evaluation) -> list[Finding]:
    """States how many values were measured with reused buffers, and what that means."""
    imported = evaluation.run.imported
    warm = [v for v in imported.values if v.parameters.get("buffers") == REUSED] if imported else []
    if not warm:
        return []
    tools = joined(dict.fromkeys(v.tool for v in warm))
    return [
        Finding(
            rule="imported_warm_buffers",
            level="notice",
            seen=f"{tools} used the same buffers for all messages ({plural(len(warm), 'value')}).",
            evidence=(
                "Reused buffers stay in a cache. A message through shared memory then appears faster than in a program whose "
                "data change. The effect is greatest for messages that just fit into a cache.",
            ),
            cause="These tools measure with reused buffers unless an option says otherwise (IMB: -off_cache).",
            remedy=advise(
                "Expect slower messages in programs whose data change. To measure reused and fresh buffers: ",
                "run --only network.pingpong",
            ),
            reach="figures",
            about="measurement",
        )
    ]
