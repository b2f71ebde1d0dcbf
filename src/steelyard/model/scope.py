"""The scope of a sum of sensors: the parts of a machine whose energy it contains, and their words."""

import re

from steelyard.model.words import joined, plural

Parts = tuple[str, ...]  # in words (see `telemetry.coverage`)
NODE, PLATFORM, HOST, MODULE = "node", "platform", "host", "module"
PROCESSORS, MEMORY, ACCELERATOR = "processors", "memory", "accelerator"
SEVERAL = re.compile(r"of [0-9]+ hosts")


def words(scope: Parts) -> str:
    """Returns the scope in words: 'node', 'processors, memory and 4 accelerators'; 'parts that no sensor names' if unknown."""
    hosts = next((part for part in scope if SEVERAL.fullmatch(part)), "")
    if hosts and scope[:-1] == (NODE,):
        return f"{hosts.split()[1]} nodes"
    cards = [part for part in scope if part.startswith(ACCELERATOR)]
    rest = [
        f"{part} without accelerators" if part == HOST and not cards else part
        for part in scope
        if part not in cards and part != hosts
    ]
    named = [re.sub(r" .*/", " ", part) for part in cards] if len(cards) < 2 else [plural(len(cards), ACCELERATOR)]
    return f"{joined((*rest, *named))} {hosts}".strip() or "parts that no sensor names"
