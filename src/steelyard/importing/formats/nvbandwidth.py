"""nvbandwidth 0.1 to 0.10, as text and as JSON.

https://github.com/NVIDIA/nvbandwidth
"""

from collections.abc import Mapping

from steelyard.importing.grids import read_cells
from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, number

TOOL = "nvbandwidth"
MARKS = ("nvbandwidth Version", '"nvbandwidth"', "memcpy CE CPU(row)", "memcpy SM CPU(row)")
# Tests that measure the same as a kernel of device.transfer: one device at a time, by its copy engine.
OURS = {"host_to_device_memcpy_ce": "to_device", "device_to_host_memcpy_ce": "from_device"}
METRICS = {"GB/s": "bandwidth", "ns": "latency"}
Cells = list[tuple[int, int, str]]


def read(text: Text) -> Values:
    """Yields each entry of the matrices, and their sums for bandwidths."""
    found = [o for o in text.objects() if "nvbandwidth" in o] if '"nvbandwidth"' in text.whole else []
    for test in (test for o in found for test in o["nvbandwidth"].get("testcases", ())):
        if test.get("status") == "Passed":
            unit = test["bandwidth_description"].rpartition("(")[2].rstrip(") ")
            rows = test["bandwidth_matrix"]
            # A test in both directions has the rows of several matrices, of which only the last has a sum.
            single = len(rows) <= max(map(len, rows))
            cells = [(r, c, w) for r, row in enumerate(rows) for c, w in enumerate(row) if single and w != "N/A"]
            yield from _values(text, test["name"], unit, cells, str(test.get("sum", "")), {})
        else:
            status = str(test.get("status", "error"))
            ended = "ended with an error" if "rror" in status else f"has no result: its status is '{status}'"
            text.problems.append(f"the test {test['name']} {ended}")
    names = {int(found[1]): found[2] for found, _ in text.match(r"Device (\d+): (.+?) \(")}
    for head, part in text.parts(r"mem\w* .*\((GB/s|ns)\)\s*$"):
        cells = list(read_cells(part, r"\s*0(?:\s+\d+)*\s*$"))
        if (name := part.find(r"^SUM (\S+) ")) and cells:
            yield from _values(text, name, head[1], cells, part.find(r"^SUM \S+ +(\S+)"), names)
        elif not name:
            text.problems.append(f"the matrix below line {part.first} has no sum, so it may be incomplete")


def _values(text: Text, name: str, unit: str, cells: Cells, total: str, devices: Mapping[int, str]) -> Values:
    if unit not in METRICS:
        text.problems.append(f"the unit '{unit}' of {name} is unknown")
        return
    numbers = [number(word) for _, _, word in cells]
    if cells and abs(sum(numbers) - number(total)) > 0.01 * len(cells) + 1e-4 * number(total):  # two digits are printed
        text.problems.append(f"the entries of {name} do not add up to the printed sum {total}")
        return
    for row, column, word in cells:
        if name in OURS:
            device = f"{column}: {devices[column]}" if column in devices else column
            given: Given = {"device": device, "host_node": row, "memory": "pinned", "door": "cuda"}
            yield make("device.transfer", OURS[name], "bandwidth", word, unit, "median", given)
            continue
        yield make("nvbandwidth.copy", name, METRICS[unit], word, unit, "median", {"row": row, "column": column})
    if unit == "GB/s":
        yield make("nvbandwidth.copy", name, "bandwidth", total, unit, "sum of all pairs")
