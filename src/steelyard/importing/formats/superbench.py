"""SuperBench: results-summary.jsonl, an object for each node, with the names of old and new versions. It prints no units.
Steelyard knows those of the documentation for the frequent benchmarks, and keeps the other numbers without a unit.

https://github.com/microsoft/superbenchmark
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from steelyard.importing import patterns
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, Values, make
from steelyard.model import Better

TOOL = "SuperBench"
MARKS = ('/return_code"', "/return_code:", '"kernel-launch/', '"gemm-flops/', "_models/pytorch-")
KEY = re.compile(r"(?P<benchmark>[^/:]+(?:/[^/:]+)?)(?::(?P<tag>[^/]+))?/(?P<metric>[^/:]+)(?::(?P<rank>\d+))?")
DOCUMENTED = {
    r"kernel-launch/\w+_(?:time|overhead)": "ms",
    r"gemm-flops/(?:\w+_flops|(?:BF|TF|FP)\d+(?:_TC)?)": "Gflop/s",
    r"gemm-flops/(?:\w+_iops|INT\d+(?:_TC)?)": "Gop/s",
    r"(?:cublaslt|hipblaslt)-gemm/\w+_flops": "Tflop/s",
    r"mem-bw/\w+_(?:bw|BW)|gpu-(?:copy-bw|stream)/\w+_bw|ib-loopback/ib_\w+_bw_\d+|[nr]ccl-bw/\w+_(?:busbw|algbw)": "GB/s",
    r"[nr]ccl-bw/\w+_time|(?:cublas|cudnn)-function/.+_time": "us",
    r"cpu-stream/(?:copy|scale|add|triad)_throughput|cpu-memory-bw-latency/.+_bw": "MB/s",
    r"cpu-memory-bw-latency/.+_lat": "ns",
    r"cpu-hpl/throughput": "Gflop/s",
    r"(?:cpu-hpl|gpu-burn)/time": "s",
    r"[\w-]+/pytorch-[\w.-]+/\w*step_?time\w*|(?:ort|tensorrt)-inference/.+_time\w*": "ms",
    r"[\w-]+/pytorch-[\w.-]+/\w*throughput\w*": "/s",
}  # of the names as benchmark/metric
DEVIATIONS = (
    "it is a diagnosis with deviations from a baseline, which are no measurements. Import results-summary.jsonl instead"
)
REJECTED = "SuperBench warns: 'accept=false' for this node."  # in the words of `importing.doubts`
METRICS = {"s": "time", "B/s": "bandwidth", "flop/s": "flops", "op/s": "rate", "1/s": "rate", "": "value"}


def read(text: Text) -> Values:
    """Yields each number of each node. A benchmark whose return code is not 0 has none on this node and rank.

    A diagnosis has the numbers of all nodes with "accept", else it has deviations of defective nodes only.
    """
    for node in text.objects():
        if not {"Defective Details", "diagnosis/issue_details"}.isdisjoint(node) and "diagnosis/accept" not in node:
            if DEVIATIONS not in text.problems:
                text.problems.append(DEVIATIONS)
            continue
        host = str(node.get("node", node.get("index", "")))
        note = REJECTED if node.get("diagnosis/accept") is False else ""
        rows = list(_find_rows(node))
        failed = {_case(row): row["number"] for row in rows if row["metric"] == "return_code" and row["number"]}
        text.problems.extend(f"{case[0]} failed on {host}: its code is {code}" for case, code in failed.items())
        for row in rows:
            of_all_ranks = (*_case(row)[:2], None)
            if row["metric"] != "return_code" and failed.keys().isdisjoint((_case(row), of_all_ranks)):
                yield from (replace(value, host=host, note=note) for value in _values(row))


def _find_rows(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the parts of each name with its number, without readings of the monitor and the diagnosis."""
    for key, number in node.items():
        match = KEY.fullmatch(key) if isinstance(number, int | float) else None
        if match and match["benchmark"] not in ("monitor", "diagnosis"):
            yield {**match.groupdict(), "number": number}


def _case(row: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return row["benchmark"], row["tag"], row["rank"]


def _values(row: dict[str, Any]) -> Values:
    name, metric = row["benchmark"], row["metric"]
    unit = next((unit for key, unit in DOCUMENTED.items() if patterns.match(f"(?:{key})$", f"{name}/{metric}")), "")
    about: Given = {"tag": row["tag"], "rank": int(row["rank"]) if row["rank"] else None}
    if message := re.fullmatch(r"\w+?_(\d+)_(?:time|algbw|busbw)", metric):
        about = {**about, "message_bytes": int(message[1])}
    quantity = METRICS[UNITS[unit][1]]
    better: Better | None = None if unit else "none"
    yield make(f"superbench.{name}", metric, quantity, row["number"], unit, "as printed", about, better=better)
