"""likwid-perfctr of LIKWID 4 and 5: the tables of metrics.

https://github.com/RRZE-HPC/likwid
"""

import re

from steelyard.importing.patterns import match
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, make_name, spell

TOOL = "likwid-perfctr"
MARKS = ("Runtime (RDTSC) [s]",)
DOUBTS = r"^[ \t]*+WARN(?:ING)?[: -]+(.+)"
STATISTICS = {
    "Sum": "sum of the threads", "Min": "least of the threads", "Max": "greatest of the threads", "Avg": "mean",
}  # fmt: skip
HEAD = r"\s*(?P<csv>TABLE,)?(?:Region (?P<region>[^,]+), ?)?Group \d+(?:: | Metric(?: STAT)?,)(?P<group>\w+)"
COLUMN = rf"(?:HWThread|[Cc]ore) \d+|[\w.-]+(?::\d+)+|{'|'.join(STATISTICS)}"
ROW = r"\s*\|(?P<metric>.*)\[(?P<unit>\S+)\](?: STAT)? *\|.*\|\s*$"


def read(text: Text) -> Values:
    """Yields the metrics with a known unit of each group or region, of each hardware thread and of all together."""
    for part in text.runs(HEAD):
        head = re.match(HEAD, part.lines[0]) if part.lines else None
        region, group = (head["region"], head["group"]) if head else ("", None)
        names, threads = list[str](), None  # the threads of the last table with a column for each
        table = part.ended().rewrite(r",+$", "").rewrite(r"^|,|$", "|") if head and head["csv"] else part
        for place, line in enumerate(map(table.read_line, range(len(table.lines))), part.first):
            words = [word.strip() for word in line.strip().strip("|").split("|")]
            if words[0] == "Metric" or (line.strip() and not re.match(r"\s*[|+]", line)):
                names = words if all(re.fullmatch(COLUMN, word) for word in words[1:]) else []
                threads = threads if set(names[1:]) & set(STATISTICS) else len(names[1:]) or threads
            elif len(names) > 1 and (row := match(ROW, line)):
                unit = spell(row["unit"].replace("LOPS/s", "LOP/s").replace("FLOP/s", "flop/s"))
                if len(words) != len(names):
                    part.refuse_row(place, words, names)
                    continue
                for name, word in list(zip(names, words, strict=True))[1:] if unit else ():
                    about = {"group": group, "hwthread": None if name in STATISTICS else name, "threads": threads}
                    case = ("likwid.perfctr", region or "program", make_name(row["metric"]))
                    with text.row(place):
                        yield make(*case, word, unit or "", STATISTICS.get(name, "one run"), about)
