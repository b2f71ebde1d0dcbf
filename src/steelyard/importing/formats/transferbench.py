"""TransferBench 1.50 to 1.62 of ROCm: the matrices of p2p, with the bandwidths of copies between all pairs of devices.

https://github.com/ROCm/TransferBench
"""

import re

from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make

TOOL = "TransferBench"
MARKS = ("EXE\\DST", "SRC\\DST", "DST+EXE")
HEAD = (
    r"\s*(?P<ways>Unidirectional|Bidirectional) copy peak bandwidth GB/s "
    r"\[(?P<mode>[^\]]+)\] \(GPU-Executor: (?P<executor>\w+)\)"
)
COLUMNS = r"\s*SRC(?:\+EXE)?\\DST(?:\+EXE)?\s.*"
ROW = r"\s*(?P<device>[CG]PU \d+)\s+(?P<way><?->?)\s"
WAYS = {"->": "to", "<-": "from", "<->": "both"}


def read(text: Text) -> Values:
    """Yields each entry: from the device of the row to that of the column, or in the direction that the row names."""
    for run in text.ended().runs(r"\s*Bytes Per Direction"):
        size = run.integers(message_bytes=r"^\s*Bytes Per Direction (\d+)")
        for head, part in run.parts(HEAD):
            kernel, given = head["ways"].lower(), {**size, "mode": head["mode"], "executor": head["executor"]}
            columns = [name for line, _ in part.match(COLUMNS) for name in re.findall(r"[CG]PU \d+", line.string)]
            for row, at in part.match(ROW):
                words = row.string[row.end() :].split()
                if len(words) != len(columns):
                    text.refuse_row(at, words, columns)
                    continue
                about: Given = {**given, "row": row["device"], "direction": WAYS[row["way"]]}
                cells = [(column, word) for column, word in zip(columns, words, strict=True) if word != "N/A"]
                with text.row(at):
                    for column, word in cells:
                        pair = {**about, "column": column}
                        yield make("transferbench.p2p", kernel, "bandwidth", word, "GB/s", "mean", pair)
