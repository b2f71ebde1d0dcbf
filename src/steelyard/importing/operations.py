"""Operations of message passing, as several tools name them, and the benchmarks of Steelyard with the same meaning."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Row, Text
from steelyard.importing.values import Column, Given, Values, expect_plausible, make_row

WARM = "The same buffers are used for all messages, so large messages may stay in a cache."
ONE_PLACE = f"All messages of a window use the same memory. {WARM}"
OWN_START = "The time of each rank begins with its own start. In Steelyard, it is from the first start to the last end."


@dataclass(frozen=True)
class Meaning:
    """The meaning of a test: a benchmark and kernel with fixed parameters, those of Steelyard if the meaning is the same."""

    benchmark: str
    kernel: str
    parameters: Given = field(default_factory=dict)
    note: str = WARM


PAIR: Given = {"ranks": 2, "buffers": "reused"}
_WINDOWS: Given = {"ranks": 2, "pairs": 1, "places": "one", "buffers": "reused"}
_MEANINGS = {
    "latency": Meaning("network.pingpong", "pingpong", PAIR),
    "bandwidth": Meaning("network.rate", "one_way", _WINDOWS, ONE_PLACE),
    "bi-directional bandwidth": Meaning("network.rate", "both_ways", _WINDOWS, ONE_PLACE),
    "multiple bandwidth / message rate": Meaning(
        "network.rate", "one_way", {"places": "one", "buffers": "reused"}, ONE_PLACE
    ),
    "pingpong": Meaning("network.pingpong", "pingpong"),
    "pingpongspecificsource": Meaning("network.pingpong", "pingpong"),
    "sendrecv": Meaning("network.sendrecv", "sendrecv"),
    "exchange": Meaning("network.sendrecv", "exchange"),
    "uniband": Meaning("network.rate", "one_way"),
    "biband": Meaning("network.rate", "both_ways"),
}
_COLLECTIVE = re.compile(r"i?(barrier|bcast|(all)?reduce|(all)?gatherv?|scatterv?|alltoallv?|(ex)?scan)")
_CHECKS = {"Validation": "Pass|0", "defects": r"[0.]+", "#wrong": r"0|N/A", "error": r"[^*]+"}
_UNIT = re.compile(r"[\[(]([^\[\]()?]+)[\])]")  # in the name of a column
_LAUNCHED = r"^\s*(?:\[\d+\] )?MPI startup\(\): (\d+)\s+\d+\s+\S"


def find_meaning(name: str) -> Meaning | None:
    """Returns what a test of two-sided or collective operations means, such as "Non-blocking All-to-All Latency" or "Ibcast"."""
    if name.lower() in _MEANINGS:
        return _MEANINGS[name.lower()]
    word = re.sub(r"[^a-z_]", "", name.lower()).removesuffix("latency").removesuffix("personalizedexchange")
    kernel = re.sub(r"^nonblocking", "i", word.replace("broadcast", "bcast"))
    return Meaning("network.collectives", kernel, note=OWN_START) if _COLLECTIVE.fullmatch(kernel) else None


def count_ranks(before: str) -> dict[str, int]:
    """Returns the number of ranks in the list of ranks that Intel MPI prints before an output; empty without exactly one list."""
    ranks = sorted(int(found[1]) for found in find_all(_LAUNCHED, before))
    return {"ranks": len(ranks)} if ranks and ranks == list(range(len(ranks))) else {}


def read_rows(
    part: Text, rows: Iterable[Row], meaning: Meaning, columns: Mapping[str, Column], given: Given, **sizes: str
) -> Values:
    """Yields the values of rows. `sizes` has the columns of whole numbers by parameters; those that a row lacks are left out.

    A row whose check failed (columns "Validation", "defects", "#wrong") becomes a problem, and a column with another unit.
    """
    patterns = tuple(columns)
    for row in rows:
        for name in (name for name in row if not _is_unit_known(name, patterns)):
            sentence = f"the unit of the column '{name}' is unknown, so Steelyard did not read this column"
            if sentence not in part.problems:
                part.problems.append(sentence)
        with part.row(row.line):
            failed = [f"{n} is '{row[n]}'" for n, right in _CHECKS.items() if not re.fullmatch(right, row.get(n, "0"))]
            if failed:
                raise ValueError(f"its results were wrong: {failed[0]}")
            about = {parameter: int(row[name]) for parameter, name in sizes.items() if name in row}
            parameters = {**given, **meaning.parameters, **about}  # a ping-pong has two ranks, also in a large job
            values = list(make_row(meaning.benchmark, meaning.kernel, row, columns, parameters, meaning.note))
            for value in values:
                expect_plausible(value)
            yield from values


@lru_cache(maxsize=4096)
def _is_unit_known(name: str, patterns: tuple[str, ...]) -> bool:
    """Returns whether the patterns of the columns have the unit that the name of a column states, if any."""
    return {*_UNIT.findall(name)} <= {unit for pattern in patterns for unit in _UNIT.findall(pattern.replace("\\", ""))}
