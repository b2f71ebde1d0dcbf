"""Copies of a recorded run as runs of other days and other nodes, each with its own factor of time."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from damage import unpack

SCATTER = 0.003  # relative standard deviation of a launch


@cache
def _recorded() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    folder = unpack(Path(mkdtemp(prefix="steelyard-copied-")))
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return json.loads((folder / "run.json").read_text()), records


def write_copy(
    folder: Path,
    *,
    started: str = "2026-11-01T10:00:00+00:00",
    host: str = "node1",
    factor: float | Callable[[dict[str, Any]], float] = 1.0,
    seed: int = 1,
    kernel: str = "6.1.0",
    processor: str = "",
) -> Path:
    """Writes the recorded run with its times multiplied by `factor` and by chance, all CLEAN. `processor`: another one's name."""
    chance = random.Random(seed)
    about, records = _recorded()
    place = {**about["machine"], "host": host, "system": host, **({"processor": processor} if processor else {})}
    shown = {"best": {}, "runs": 0, "since": "", "slowest": {}}
    versions = {**about["versions"], "kernel": kernel}
    about = {**about, "versions": versions, "id": folder.name, "started": started, "machine": place, "shown": shown}
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "finished.json").write_text(json.dumps({"notes": [], "seconds": 4.0, "repeating_seconds": 0.0}))
    lines = []
    for record in records:
        times = (factor(record) if callable(factor) else factor) * chance.lognormvariate(0, SCATTER)
        seconds = sorted(record["samples"])[len(record["samples"]) // 2]
        samples = [seconds * times * chance.lognormvariate(0, SCATTER) for _ in record["samples"]]
        quiet = {key: value for key, value in record["surroundings"].items() if key not in ("samples", "pace")}
        lines.append(json.dumps({**record, "samples": samples, "aside": [], "surroundings": quiet,
                                 "verdict": {"level": "CLEAN", "evidence": []}}) + "\n")  # fmt: skip
    (folder / "records.jsonl").write_text("".join(lines))
    return folder
