"""The topology: one switch, or a tree of switches."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import nearest
from steelyard.system.files import is_file
from steelyard.whatif import wording

FOLDER = Path(__file__).with_name("topologies")


@dataclass(frozen=True)
class Uplink:
    """A link between switches: s/B in each direction (None: as fast as a node's), and the latency that it adds in s."""

    G: float | None = None
    hop: float = 0.0


@dataclass(frozen=True)
class Tree:
    """`nodes` share a switch, and `switches` of these one of the next level; 0: all of them do. `uplinks` from below; the
    upper one is as fast as the lower one by default.
    """

    nodes: int = 0
    switches: int = 0
    uplinks: tuple[Uplink, Uplink] = (Uplink(), Uplink())
    name: str = ""


ONE_SWITCH = Tree()

TREE = {
    "name": wording.NAME,
    "nodes": wording.COUNT,
    "switches": wording.COUNT,
    "uplink": wording.TIME_PER_BYTE,
    "hop": wording.TIME,
    "uplink2": wording.TIME_PER_BYTE,
    "hop2": wording.TIME,
}


def find_tree(name: str) -> Path:
    """Returns the file of a tree: a shipped one by its name, or a path. ValueError if there is neither."""
    shipped = {path.stem: path for path in FOLDER.glob("*.toml")}
    path = shipped.get(name, Path(name))
    if not is_file(path):
        raise ValueError(f"'{name}' is neither a file nor a name. {nearest(name, shipped)}")
    return path


def make_tree(values: Mapping[str, Any]) -> Tree:
    """Returns the tree of the keys in `TREE`. ValueError if a level has no number of nodes."""
    if values.get("switches") and not values.get("nodes"):
        raise ValueError("'switches' needs 'nodes', the number of nodes on each of these switches")
    lower = Uplink(values.get("uplink"), values.get("hop", 0.0))
    upper = Uplink(values.get("uplink2", lower.G), values.get("hop2", lower.hop))
    return Tree(values.get("nodes", 0), values.get("switches", 0), (lower, upper), values.get("name", ""))
