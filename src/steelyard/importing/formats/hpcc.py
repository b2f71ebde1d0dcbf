"""HPC Challenge (HPCC) 1.0 to 1.5: the summary section, also as hpccoutf.pl -a prints it. HPL's own table is read as HPL.

https://hpcchallenge.org
"""

import re
from collections.abc import Iterator, Mapping

from steelyard.importing.hpcc_names import ENDINGS, PAIRS, SIZES, find_rows
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Given, make
from steelyard.model.foreign import ForeignValue

TOOL = "HPC Challenge"
MARKS = ("Begin of Summary section", "StarSTREAM_Triad=", "HPCCOUTF NAME")
HOST, STARTED = r"^Hostname: '(.+)'", r"^Current time \(\d+\) is (.+)"
ALONE = "One rank works while the others wait. The compiler may have used streaming stores."
BETWEEN = "Pairs of all ranks, also of those on one node. The same buffers are used for all messages."


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each result of the summaries whose unit its name has. A test that did not run has the result -1."""
    worlds = {
        found[1] for found in find_all(r"^\s*CommWorldProcs(?:=|  +)(\d+)", text.whole)
    }  # HPCC appends to its file
    for run in text.ended().runs(r"This is the DARPA/DOE HPC Chall|Begin of Summary section"):
        rows = find_rows(run)
        if rows.get("Success", ("1",))[0] != "1":
            text.problems.append(f"line {rows['Success'][1]}: the summary says that the run did not succeed")
            continue
        for name, (word, at) in sorted(rows.items(), key=lambda row: row[0][:3] != "Avg"):  # means first
            if name.rpartition("_")[2] in ENDINGS and not word.startswith("-"):
                with run.row(at):
                    yield _value(name, word, {key: row[0] for key, row in rows.items()}, several=len(worlds) > 1)


def _value(name: str, word: str, pairs: Mapping[str, str], *, several: bool) -> ForeignValue:
    head, _, last = name.rpartition("_")
    metric, unit = ENDINGS[last]
    ranks = int(pairs.get("CommWorldProcs", 0)) or None
    size = next((int(pairs[key]) for key in SIZES if key.partition("_")[0] in head and key in pairs), None)
    if pair := re.fullmatch(r"(Max|Min|Avg)PingPong(Latency|Bandwidth)", head):
        length = 8 if pair[2] == "Latency" else 2_000_000
        about: Given = {"message_bytes": length, "buffers": "reused", "ranks": ranks if several else None}
        return make("network.pingpong", "pingpong", metric, word, unit, PAIRS[pair[1]], about, note=BETWEEN)
    if head == "SingleSTREAM":
        given = {"elements": size, "threads": int(pairs.get("STREAM_Threads", 0)) or None}
        return make("memory.stream", last.lower(), metric, word, unit, "best of 9", given, note=ALONE)
    kernel = name if "STREAM" in head else head
    statistic = "mean of the ranks" if head.startswith("Star") else "as printed" if "Ring" in head else "one run"
    return make("hpcc.summary", kernel, metric, word, unit, statistic, {"N": size, "ranks": ranks})
