"""Names inside the page: anchors, and the headings under which benchmarks stand."""

import re
from collections.abc import Iterable, Mapping

from steelyard.model import Benchmark

# In the order in which a machine is understood: from its memory outwards. Others follow under their own names.
GROUPS = {
    "memory": "Memory",
    "core": "Cores",
    "node": "Nodes",
    "device": "Accelerators",
    "network": "Network",
    "cluster": "Cluster",
    "application": "Applications",
    "noise": "Noise",
}


def slug(name: str) -> str:
    """'memory.stream' → 'memory-stream': safe as an anchor whatever the name holds."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def grouped(names: Iterable[str] | Mapping[str, Benchmark]) -> dict[str, tuple[str, ...]]:
    """The benchmarks under the headings of their groups: ["noise.quanta", "core.peak"] → {"Cores": …, "Noise": …}."""
    by_group: dict[str, list[str]] = {heading: [] for heading in GROUPS.values()}
    for name in names:
        group = name.partition(".")[0]
        known = names[name] if isinstance(names, Mapping) else None
        own = known.heading if known else ""
        by_group.setdefault(GROUPS.get(group) or own or group.capitalize(), []).append(name)
    return {heading: tuple(members) for heading, members in by_group.items() if members}
