"""A run of many nodes, made of a real one's records: how long it takes to read, judge and show, and how much memory.

    python bench/many_records.py RUN [--nodes 1000] [--cases 200] [--keep FOLDER]

The first `cases` cases of the run that one process measured stand once for each node, as launches of their own, each with the
first 40 samples and times of its own around the real ones. Prints seconds and the greatest memory of `steelyard report`,
judged for the first time.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SCATTER = 0.01  # of the nodes' speeds, relative
SAMPLES = 40


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("run", type=Path)
    asked.add_argument("--nodes", type=int, default=1000)
    asked.add_argument("--cases", type=int, default=200)
    asked.add_argument("--keep", type=Path)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = given.keep or Path(folder) / "many"
        records = make(given.run, made, given.nodes, given.cases)
        size = (made / "records.jsonl").stat().st_size
        print(f"{records} records, {size / 2**20:.0f} MiB")
        print(f"report: {shown(made):.1f} s, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20:.2f} GiB")


def make(run: Path, made: Path, nodes: int, cases: int) -> int:
    """Writes the run; the number of its records."""
    about = json.loads((run / "run.json").read_text())
    chosen = list(_chosen(run, cases))
    planned = {
        (launch["number"], i): case for launch in about["plan"]["launches"] for i, case in enumerate(launch["cases"])
    }
    launches, chance = [], random.Random(1)
    made.mkdir(parents=True, exist_ok=True)
    with (made / "records.jsonl").open("w") as file:
        for _ in range(nodes):
            groups: dict[str, list[Json]] = {}
            for record in chosen:
                groups.setdefault(record["benchmark"], []).append(record)
            factor = random.Random(len(launches)).gauss(1, SCATTER)
            for benchmark, members in groups.items():
                number = len(launches) + 1
                kept = [planned[r["launch"], r["case"]] for r in members]
                toolchain = members[0]["parameters"]["toolchain"]
                launches.append(
                    {"number": number, "benchmark": benchmark, "toolchain": toolchain, "repetition": 1, "cases": kept}
                )
                for place, record in enumerate(members):
                    samples = [s * factor * chance.gauss(1, SCATTER / 10) for s in record["samples"]]
                    file.write(json.dumps({**record, "launch": number, "case": place, "samples": samples}) + "\n")
    about["plan"]["launches"] = launches
    (made / "run.json").write_text(json.dumps(about))
    (made / "finished.json").write_text("{}")
    return nodes * len(chosen)


def _chosen(run: Path, cases: int) -> Iterator[Json]:
    """One record of each case that one process measured."""
    seen: set[str] = set()
    for line in (run / "records.jsonl").open():
        record = json.loads(line)
        name = json.dumps([record["benchmark"], record["kernel"], record["parameters"]], sort_keys=True)
        if record["samples"] and "ranks" not in record["parameters"] and name not in seen and len(seen) < cases:
            seen.add(name)
            yield _short(record)


def _short(record: Json) -> Json:
    """With its first samples alone."""
    around = record["surroundings"]
    columns = {name: column[:SAMPLES] if column else column for name, column in (around.get("samples") or {}).items()}
    aside = [place for place in record.get("aside", ()) if place < SAMPLES]
    shorter = {"samples": record["samples"][:SAMPLES], "surroundings": {**around, "samples": columns}, "aside": aside}
    return {**record, **shorter}


def shown(run: Path) -> float:
    """Seconds of `steelyard report`, with nothing kept from before."""
    with tempfile.TemporaryDirectory() as cache:
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "steelyard", "report", run, "-o", Path(cache) / "report.html"],
            check=True, env={**os.environ, "STEELYARD_CACHE": cache}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return time.monotonic() - began


if __name__ == "__main__":
    main()
