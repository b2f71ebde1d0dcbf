"""How often the ranges of a run hold the values of other runs of the same machine.

    python bench/coverage.py RUN RUN …              runs of one machine; each is judged by each other one
    python bench/coverage.py --summary FILE RUN …   also writes the values and ranges, without the records
    python bench/coverage.py FILE.json.xz           judges runs that were summarised

Runs in a row, which began within 20 minutes of each other (standard: 50), are judged by `now`, others by `later`.
"""

import argparse
import itertools
import json
import lzma
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

NEAR = 20 * 60.0  # seconds between the starts of two quick runs in a row, at most
LONGER = {"standard": 1800.0}  # seconds by which another preset takes longer
AGREE = math.log(1.1)

Summary = dict[str, Any]


def summarise(path: Path) -> Summary:
    """The first metric of each result of a run: value, best, typical and ranges."""
    from steelyard.judge.evaluation import evaluate

    evaluation = evaluate(path)
    cases = {}
    for result in evaluation.results:
        name = json.dumps([result.benchmark, result.kernel, dict(sorted(result.parameters.items()))])
        if result.verdict.level != "INVALID" and result.metrics:
            value = next(iter(result.metrics.values()))
            numbers = (
                value.value,
                value.typical,
                value.best,
                *(value.now or (None,) * 2),
                *(value.later or (None,) * 2),
            )
            cases[name] = [result.verdict.level, *(None if x is None else float(f"{x:.5g}") for x in numbers)]
    return {"started": evaluation.run.started, "preset": evaluation.run.plan.preset, "cases": cases}


def compare(first: Summary, second: Summary) -> tuple[bool, list[tuple[str, str, bool, bool, float]], list[bool]]:
    """Whether the runs were near; benchmark, verdict, value held, typical held, half width of cases; whether bests agree."""
    seconds = abs(
        (datetime.fromisoformat(second["started"]) - datetime.fromisoformat(first["started"])).total_seconds()
    )
    near = seconds < NEAR + LONGER.get(first["preset"], 0.0)
    held, agree = [], []
    for name, (level, _, _, best, *ends) in first["cases"].items():
        if name not in second["cases"]:
            continue
        _, value, typical, other_best, *_ = second["cases"][name]
        low, high = ends[:2] if near else ends[2:]
        if low is not None and low > 0:
            inside = low <= value <= high, typical is None or low <= typical <= high
            held.append((json.loads(name)[0], level, *inside, math.log(high / low) / 2))
        if best and other_best:
            agree.append(abs(math.log(best / other_best)) < AGREE)
    return near, held, agree


def table(rows: Iterable[tuple[str, Sequence[tuple[str, str, bool, bool, float]]]]) -> None:
    for name, held in rows:
        share, typical = (sum(row[place] for row in held) / len(held) for place in (2, 3))
        width = math.exp(median(row[4] for row in held)) - 1
        print(f"{name:34}{len(held):7}{share:9.1%}{typical:10.1%}      ± {width:.0%}")


def report(runs: Sequence[Summary]) -> None:
    pairs: Mapping[bool, list[Any]] = defaultdict(list)
    for first, second in itertools.permutations(runs, 2):
        near, held, agree = compare(first, second)
        pairs[near].append((first["started"], second["started"], held, agree))
    for near, members in sorted(pairs.items(), reverse=True):
        every = [row for _, _, held, _ in members for row in held]
        bests = [one for *_, agree in members for one in agree]
        if not every:
            continue
        print(f"\n{len(members)} ordered pairs {'in a row (now)' if near else 'at different hours (later)'}")
        print(f"{'':34}{'cases':>7}{'value':>9}{'typical':>10}   half width")
        table([("all", every)])
        table((level, [r for r in every if r[1] == level]) for level in sorted({r[1] for r in every}))
        table((name, [r for r in every if r[0] == name]) for name in sorted({r[0] for r in every}))
        table((f"{a[11:16]} judged by {b[11:16]}", held) for a, b, held, _ in members if held)
        if bests:
            print(f"at its best within 10 %: {sum(bests) / len(bests):.1%} of {len(bests)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--summary", type=Path)
    asked = parser.parse_args()
    if asked.runs[0].suffix == ".xz":
        runs = json.loads(lzma.decompress(asked.runs[0].read_bytes()))
    else:
        runs = [summarise(path) for path in asked.runs]
    if asked.summary:
        asked.summary.write_bytes(lzma.compress(json.dumps(runs).encode()))
    report(runs)


if __name__ == "__main__":
    sys.exit(main())
