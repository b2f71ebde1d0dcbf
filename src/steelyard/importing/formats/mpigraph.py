"""mpiGraph 1.5: the bandwidth of each pair of ranks, for sends and for receives.

https://github.com/LLNL/mpiGraph
"""

from collections.abc import Sequence

from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_near, make, number

TOOL = "mpiGraph"
MARKS = ("START mpiGraph",)
HEAD = r"\s*(?P<way>Send|Recv)\t.*:0\b.*"
ROW = r"\s*(?P<name>\S+:\d+) (?:to|from)\t"
UNIT = "MiB/s"  # it divides by 1024 * 1024
BOTH = "Each rank sends to one rank and receives from another one at the same time."


def read(text: Text) -> Values:
    """Yields the bandwidth of each pair, and the greatest and the mean of all pairs. A matrix that is incomplete has none."""
    for run in text.ended().runs(r"\s*START mpiGraph"):
        given = run.integers(
            message_bytes=r"^\s*MsgSize\s+(\d+)", window=r"^\s*Window\s+(\d+)", ranks=r"^\s*Procs\s+(\d+)"
        )
        for head, part in run.parts(HEAD):
            with run.row(part.first):
                cells = _read_matrix(part, head.string.split()[1:])
                way = head["way"]
                greatest, mean = (run.find(rf"^\s*{way} {name}\s+(\S+)") for name in ("max", "avg"))
                sentence = f"the entries of the matrix {way} do not fit its maximum {greatest}"
                expect_near(max(number(word) for _, _, word in cells), number(greatest), 0.001, sentence)
                case = ("mpigraph.pairs", way.lower(), "bandwidth")
                for row, column, word in cells:
                    yield make(*case, word, UNIT, "mean", {**given, "row": row, "column": column}, note=BOTH)
                yield make(*case, greatest, UNIT, "greatest of the pairs", given, note=BOTH)
                yield make(*case, mean, UNIT, "harmonic mean of the pairs", given, note=BOTH)


def _read_matrix(part: Text, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Returns the ranks of row and column, as host and number, with the word of each entry besides the diagonal.

    ValueError for a matrix with other rows than columns.
    """
    rows = [(match["name"], match.string[match.end() :].split()) for match, _ in part.match(ROW)]
    if [name for name, _ in rows] != [*names] or any(len(words) != len(names) for _, words in rows):
        raise ValueError(f"the matrix has not one row and one column for each of its {len(names)} ranks")
    pairs = [(row, column, word) for row, words in rows for column, word in zip(names, words, strict=True)]
    return [(row, column, word) for row, column, word in pairs if row != column]
