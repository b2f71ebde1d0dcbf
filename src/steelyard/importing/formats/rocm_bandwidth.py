"""rocm_bandwidth_test 2.0 to 2.6 of ROCm: the bandwidths of copies between all pairs of devices.

https://github.com/ROCm/rocm_bandwidth_test
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make

TOOL = "rocm_bandwidth_test"
MARKS = ("RocmBandwidthTest", "directional copy peak bandwidth GB/s\n")
HEAD = r"\s*(?P<ways>Unidirectional|Bi?directional) copy peak bandwidth GB/s\s*$"  # some versions write "Bdirectional"


def read(text: Text) -> Values:
    """Yields each entry of the matrices: from the device of the row to that of the column."""
    for head, part in text.ended().parts(HEAD):
        kernel = "unidirectional" if head["ways"] == "Unidirectional" else "bidirectional"
        lines = (
            (part.first + at, part.read_line(at).split()) for at in range(1, len(part.lines)) if part.lines[at].strip()
        )
        _, (corner, *columns) = next(lines, (0, [""]))
        if corner != "D/D":
            text.problems.append(f"the matrix below line {part.first} has no heading")
            continue
        for at, (row, *words) in lines:
            if not row.isdecimal():
                break
            if len(words) != len(columns):
                text.refuse_row(at, words, columns)
                break
            with text.row(at):
                cells = [(column, word) for column, word in zip(columns, words, strict=True) if word != "N/A"]
                for column, word in cells:
                    given = {"row": int(row), "column": int(column)}
                    yield make("rocm_bandwidth.copy", kernel, "bandwidth", word, "GB/s", "best", given)
