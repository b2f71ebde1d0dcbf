"""DCGM diagnostics 1 to 4: JSON of dcgmi diag -j. Bandwidth and latency of PCIe, and the speed, stress level and power of GPUs.

https://github.com/NVIDIA/DCGM
"""

from collections.abc import Mapping
from typing import Any

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, make_name, read_word
from steelyard.model import Better

TOOL = "DCGM"
MARKS = ('"DCGM GPU Diagnostic"', '"DCGM Diagnostic"')
GIGA = "DCGM counts 2^30 operations as one gigaflop."
# Metric, unit, statistic and note of each figure in the texts of a result. The first group is the GPU, the last one the number.
BETTER: dict[str, Better] = {"stress_level": "higher", "power": "none"}
GPU = r"(?:GPU (\d+) )?"
FIGURES = (
    ("bandwidth", "GB/s", "one run", "", rf"{GPU}(GPU to Host|Host to GPU|bidirectional) bandwidth:\s*(\S+) GB/s"),
    ("latency", "us", "one run", "", rf"{GPU}(GPU to Host|Host to GPU|bidirectional) latency:\s*(\S+) us"),
    ("speed", "Giflop/s", "one run", GIGA, rf"{GPU}(calculated) at approximately (\S+) gigaflops"),
    ("stress_level", "", "one run", "", rf"{GPU}(relative stress) level:?\s*([^\s,]+)"),
    ("power", "W", "mean", "", rf"{GPU}(power) average:\s*(\S+) W"),
)


def read(text: Text) -> Values:
    """Yields the figures of each GPU in the tests that passed. A test that failed has none."""
    for content in text.objects():
        diagnosis = content.get("DCGM Diagnostic") or content.get("DCGM GPU Diagnostic") or {}
        for test in (test for category in diagnosis.get("test_categories", []) for test in category["tests"]):
            for result in test["results"]:
                if str(result["status"]).lower() in ("pass", "warn"):
                    yield from _read_result(make_name(test["name"]), result)
                elif str(result["status"]).lower() == "fail":
                    text.problems.append(f"the test {test['name']} failed on GPU {_find_gpu(result)}")


def _read_result(test: str, result: Mapping[str, Any]) -> Values:
    """Yields the figures in the texts of a result, which one text or several hold."""
    lines = result.get("info") or []
    whole = lines if isinstance(lines, str) else "\n".join(map(str, lines))
    doubts = "The test ended with a warning." if str(result["status"]).lower() == "warn" else ""
    for metric, unit, statistic, note, pattern in FIGURES:
        for found in find_all(pattern, whole):
            gpu = found[1] or _find_gpu(result)
            kernel = make_name(found[2]) if metric in ("bandwidth", "latency") else test
            better = BETTER.get(metric)
            about = {"gpu": read_word(gpu)}
            notes = " ".join(filter(None, (note, doubts)))
            yield make(f"dcgm.{test}", kernel, metric, found[3], unit, statistic, about, better=better, note=notes)


def _find_gpu(result: Mapping[str, Any]) -> str:
    """Returns the GPU of a result, or the GPUs as printed."""
    return str(result.get("entity_id", result.get("gpu_ids", "unknown")))
