"""Copies of a recorded run as runs of other days and other nodes, each with its own factor of time."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from typer.testing import CliRunner

from damage import unpack
from steelyard.show.command_line.cli import app

SCATTER = 0.003  # relative standard deviation of a launch
SMALL = ["run", "--only", "memory.stream", "--set", "threads=1", "--set", "kernel=triad", "--set", "elements=65536"]
SMALL += ["--set", "stores=ordinary", "--quiet"]


def measure_small(folder: Path, times: int = 5) -> Path:
    """Measures a small case in real runs, one for each of `times`."""
    for number in range(times):
        done = CliRunner().invoke(app, [*SMALL, "--runs", str(folder), "--name", f"b{number}"])
        assert done.exit_code in (0, 1), done.output
    return folder


def write_peers(measured: Path, folder: Path, factor: float) -> Path:
    """Copies the runs with other times, as undisturbed ones of other hosts, and returns the folder."""
    for number, run in enumerate(sorted(measured.iterdir())):
        target = folder / f"n{number}"
        target.mkdir(parents=True)
        about = json.loads((run / "run.json").read_text())
        about["machine"]["host"] = f"peer{number}"
        (target / "run.json").write_text(json.dumps(about))
        (target / "finished.json").write_text((run / "finished.json").read_text())
        records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
        for record in records:
            record["samples"] = [seconds * factor for seconds in record["samples"]]
        (target / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


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
