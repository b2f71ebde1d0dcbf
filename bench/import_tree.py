"""What an import of a large tree takes: 5,000 files, made by copying the outputs of `figures.csv` with changed numbers.

`python bench/import_tree.py [FILES] [--profile]`. For 5,000 files on one core 45 s and 1 GiB are expected. It asserts nothing.
With --profile it prints the functions that take the most time.
"""

import argparse
import csv
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OUTPUTS = Path(__file__).parents[1] / "tests" / "importing" / "outputs"
FOLDERS = 50
DECIMALS = re.compile(rb"(?<=\.)\d+")


def make_tree(folder: Path, files: int) -> int:
    """Writes so many files into folders, and returns their bytes. Decimals are changed, so that no two files are equal."""
    chance, written = random.Random(1), 0
    with (OUTPUTS / "figures.csv").open(encoding="utf-8") as table:
        originals = [OUTPUTS / name for name in dict.fromkeys(row["file"] for row in csv.DictReader(table))]
    for number in range(files):
        original = originals[number % len(originals)]
        inside = folder / f"job-{number % FOLDERS:03}"
        inside.mkdir(parents=True, exist_ok=True)
        data = DECIMALS.sub(
            lambda found: b"%0*d" % (len(found[0]), chance.randrange(10 ** len(found[0]))), original.read_bytes()
        )
        written += (inside / f"{number}-{original.name}").write_bytes(data)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="?", default=5000)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steelyard-import-") as name:
        written = make_tree(Path(name) / "tree", given.files)
        profiler = ["-m", "cProfile", "-s", "tottime"] if given.profile else []
        words = ["import", str(Path(name) / "tree"), "--runs", str(Path(name) / "runs"), "--json", "--quiet"]
        began = time.perf_counter()
        core = {min(os.sched_getaffinity(0))}
        done = subprocess.run(
            [sys.executable, *profiler, "-m", "steelyard", *words],
            capture_output=True, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, core),
        )  # fmt: skip
        seconds, usage = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        peak = usage.ru_maxrss / 1024
        report = done.stdout.partition("\n         ")
        result = json.loads(report[0][: report[0].rindex("}") + 1])
        values = sum(run["values"] for run in result["runs"])
        print(f"{given.files:,} files, {written / 1e6:.0f} MB: {values:,} values in {len(result['runs'])} runs")
        print(
            f"{seconds:.1f} s on one core, of which it computed {usage.ru_utime + usage.ru_stime:.1f} s; at most {peak:.0f} MiB"
        )
        print(f"{len(result['unread'])} files were not read")
        if given.profile:
            print("\n".join(done.stdout[len(report[0]) :].splitlines()[:50]))


if __name__ == "__main__":
    main()
