"""What a run's folder remembers besides its plan and its records: toolchains, folders of benchmarks, a run in turn with it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard import build


def kept(path: Path) -> dict[str, Any]:
    """What run.json holds; {} where it cannot be read (`records.read` says what is wrong)."""
    try:
        found = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def commands(path: Path) -> list[str]:
    """The run's toolchains as a user names them: the compiler, and flags where they are not the usual ones."""
    toolchains = kept(path).get("toolchains", {}).values()
    return [f"{t['compiler']} {t['flags']}" if t["flags"] != build.FLAGS else t["compiler"] for t in toolchains]


def folders(path: Path, paths: Sequence[Path]) -> list[Path]:
    """`paths`, and where the run's own benchmarks were found, as far as these folders are still there."""
    remembered = [Path(p) for p in kept(path).get("paths", [])]
    return [*paths, *(p for p in remembered if p.is_dir() and p not in paths)]


def in_turn(path: Path) -> dict[str, Any] | None:
    """Of a run that was measured in turn with another: their "series", its "side" of it, "notes"; otherwise None."""
    found = kept(path).get("in_turn")
    return found if isinstance(found, dict) else None
