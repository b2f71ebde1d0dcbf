"""How nodes are joined: one switch, or a tree of switches, in words or from a file."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError, nearest
from steelyard.files import is_file, settings_in
from steelyard.whatif import wording

FOLDER = Path(__file__).with_name("topologies")


@dataclass(frozen=True)
class Uplink:
    """A link between switches: s/B in each direction (None: as fast as a node's), and the latency that it adds in s."""

    G: float | None = None
    hop: float = 0.0


@dataclass(frozen=True)
class Tree:
    """`nodes` share a switch, and `switches` of these one of the next level; 0: all of them do. `uplinks` from below; where
    only the lower one is named, the upper one is as fast.
    """

    nodes: int = 0
    switches: int = 0
    uplinks: tuple[Uplink, Uplink] = (Uplink(), Uplink())
    name: str = ""


ONE_SWITCH = Tree()

_READERS: dict[str, wording.Reader] = {
    "nodes": wording.count,
    "switches": wording.count,
    "uplink": wording.time_per_byte,
    "hop": wording.time,
    "uplink2": wording.time_per_byte,
    "hop2": wording.time,
}


def trees(text: str) -> list[Tree]:
    """Those of 'nodes=15,switches=36,uplink=20Gbit/s', or that of a name or a TOML file with the same words."""
    if "=" in text:
        return [_tree(values) for values in wording.settings(text, _READERS, "--tree")]
    path = next((p for p in (FOLDER / f"{text}.toml", Path(text)) if is_file(p)), None)
    if path is None:
        known = [p.stem for p in FOLDER.glob("*.toml")]
        raise UsageError(f"--tree: '{text}' is neither a file nor a name. {nearest(text, known)}")
    try:
        found = tomllib.loads(settings_in(path))
        words = ",".join(f"{name}={value}" for name, value in found.items())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"The file '{path}' (given by --tree) cannot be read as TOML: {error}.") from None
    return [_tree(values, path.stem) for values in wording.settings(words, _READERS, f"--tree, the file '{path}'")]


def _tree(values: dict[str, Any], name: str = "") -> Tree:
    if values.get("switches") and not values.get("nodes"):
        raise UsageError(
            "--tree: 'switches' says how many switches share one above; say by 'nodes' how many nodes share these."
        )
    lower = Uplink(values.get("uplink"), values.get("hop", 0.0))
    upper = Uplink(values.get("uplink2", lower.G), values.get("hop2", lower.hop))
    return Tree(values.get("nodes", 0), values.get("switches", 0), (lower, upper), name)
