"""Google Benchmark 1.1 to 1.9 as JSON: repetitions, aggregates and counters.

https://github.com/google/benchmark
"""

from collections.abc import Iterator
from typing import Any

from steelyard.importing.benchmark_names import AGGREGATES, RATES, find_statistic
from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

TOOL = "Google Benchmark"
MARKS = ('"real_time"', '"cpu_time"')
HOST = r'"host_name"\s*:\s*"([^"]+)"'
STARTED = r'"date"\s*:\s*"([^"]+)"'
OTHERS = {
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations", "big_o", "rms",
    "real_time", "cpu_time", "cpu_coefficient", "real_coefficient",
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields times, rates and counters of each repetition and aggregate; counters have no unit and no direction."""
    for content in text.objects():
        names = {entry["name"] for entry in content.get("benchmarks", [])}
        for entry in content.get("benchmarks", []):
            name, statistic = find_statistic(entry["name"], names)
            if "run_type" in entry:
                aggregate = entry.get("aggregate_name") if entry["run_type"] == "aggregate" else None
                name = entry.get("run_name", entry["name"])
                statistic = "one run" if aggregate is None else AGGREGATES.get(aggregate, "")
            if entry.get("error_occurred") or entry.get("skipped"):
                reason = entry.get("error_message") or entry.get("skip_message") or "it failed"
                text.problems.append(f"{name}: {reason}")
            elif statistic and "big_o" not in entry:
                yield from _values(entry, name, statistic)


def _values(entry: dict[str, Any], name: str, statistic: str) -> Iterator[ForeignValue]:
    benchmark = f"google_benchmark.{name.partition('/')[0]}"
    about = {"threads": entry.get("threads"), "label": entry.get("label") or None}
    for metric in ("real_time", "cpu_time"):
        yield make(benchmark, name, metric, entry[metric], entry.get("time_unit", "ns"), statistic, about)
    for key, value in entry.items():
        if key not in OTHERS and isinstance(value, int | float) and not isinstance(value, bool):
            metric, unit = RATES.get(key, (key, ""))
            better: Better | None = None if key in RATES else "none"
            yield make(benchmark, name, metric, value, unit, statistic, about, better=better)
