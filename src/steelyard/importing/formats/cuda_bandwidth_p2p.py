"""p2pBandwidthLatencyTest of the CUDA samples 5 to 12.

https://github.com/NVIDIA/cuda-samples
"""

from steelyard.importing.grids import read_cells
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make

TOOL = "CUDA p2pBandwidthLatencyTest"
MARKS = ("P2P=Disabled", "P2P=Enabled")
HEAD = (
    r"\s*(?:(?P<ways>Unidirectional|Bidirectional) )?P2P=(?P<access>Enabled|Disabled) (?P<what>Bandwidth|Latency) "
    r"(?:\(P2P (?P<operation>Read|Write)s\) )?.*\((?P<unit>\S+)\)"
)
UNITS = {"Bandwidth": "GB/s", "Latency": "us"}
CLOCK = r"\s*(D\\D|GPU|CPU)\s+0\b"


def read(text: Text) -> Values:
    """Yields each entry of the matrices: from the device of the row to that of the column."""
    for head, matrix in text.parts(HEAD):
        if UNITS[head["what"]] != head["unit"]:
            text.problems.append(f"line {matrix.first} has the unit {head['unit']}")
            continue
        for clock, part in matrix.parts(CLOCK):
            for row, column, word in read_cells(part, CLOCK):
                given = {"row": row, "column": column, "peer_access": head["access"].lower()}
                operation = (head["operation"] or "").lower() or None
                others = {"operation": operation, "clock": clock[1] if head["what"] == "Latency" else None}
                kernel = (head["ways"] or operation or "write").lower()
                yield make("cuda.p2p", kernel, head["what"].lower(), word, head["unit"], "mean", given | others)
