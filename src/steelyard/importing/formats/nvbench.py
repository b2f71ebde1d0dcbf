"""NVBench 0.1 (--json): times of kernels on a GPU and on its host, items and bytes per second. Figures of a user are left out.

https://github.com/NVIDIA/nvbench
"""

from collections.abc import Callable
from typing import Any

from steelyard.importing.patterns import search
from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, number
from steelyard.model import Scalar

TOOL = "NVBench"
MARKS = ('"nv/cold/', '"nv/batch/', '"nv/cpu_only/')
TIME = r"^nv/(?:cold|(batch)|cpu_only)/time/(gpu|cpu)/(mean|median|min|max)$"
RATES = {"nv/cold/bw/item_rate": ("rate", "/s"), "nv/cold/bw/global/bytes_per_second": ("bandwidth", "B/s")}
KINDS: dict[str, Callable[[str], Scalar]] = {"int64": int, "float64": number}
STATISTICS = {"min": "least", "max": "greatest"}


def read(text: Text) -> Values:
    """Yields the times and rates of each state. NVBench computes rates from the mean time on the GPU."""
    for content in text.objects():
        names = {device["id"]: device["name"] for device in content.get("devices") or []}
        skipped = []
        for benchmark in content.get("benchmarks", []):
            for state in benchmark["states"]:
                if state["is_skipped"]:
                    skipped.append(f"{benchmark['name']}: {state.get('skip_reason', 'no reason')}"[:200])
                    continue
                device = state.get("device")
                about = {**_list_axes(state), "device": device, "device_name": names.get(device)}
                for summary in state.get("summaries") or []:
                    yield from _read_summary(benchmark["name"], summary, about)
        if skipped:
            text.problems.append(f"skipped states: {len(skipped)}, the first one of {skipped[0]}")


def _list_axes(state: Any) -> Given:
    """Returns the values of the axes, without the ends "{ct}" and "{io}" of the names of some suites."""
    axes = state.get("axis_values") or []
    return {axis["name"].partition("{")[0]: KINDS.get(axis["type"], str)(axis["value"]) for axis in axes}


def _read_summary(kernel: str, summary: Any, about: Given) -> Values:
    words = [item["value"] for item in summary["data"] if item["name"] == "value"]
    tag = summary.get("tag", "")
    if words and tag in RATES:
        yield make("nvbench.kernel", kernel, RATES[tag][0], words[0], RATES[tag][1], "mean", about)
    elif words and (found := search(TIME, tag)):
        metric = "_".join(filter(None, (found[1], found[2], "time")))
        yield make("nvbench.kernel", kernel, metric, words[0], "s", STATISTICS.get(found[3], found[3]), about)
