"""Names inside the page: anchors, and the headings under which benchmarks stand."""

import re
from collections.abc import Iterable

# In the order in which a machine is understood: from its memory outwards. Others follow under their own names.
GROUPS = {
    "memory": "Memory",
    "core": "Cores",
    "node": "Nodes",
    "network": "Network",
    "cluster": "Cluster",
    "application": "Applications",
    "noise": "Noise",
}


def slug(name: str) -> str:
    """'memory.stream' → 'memory-stream': safe as an anchor whatever the name holds."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def grouped(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The benchmarks `names` under their groups' headings: ["noise.quanta", "core.peak"] → {"Cores": …, "Noise": …}."""
    by_group: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in names:
        by_group.setdefault(name.partition(".")[0], []).append(name)
    return {GROUPS.get(group, group.capitalize()): tuple(members) for group, members in by_group.items() if members}
