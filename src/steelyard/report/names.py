"""Names inside the page: anchors made from the names of benchmarks and figures."""

import re


def slug(name: str) -> str:
    """'memory.stream' → 'memory-stream': safe as an anchor whatever the name holds."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"
