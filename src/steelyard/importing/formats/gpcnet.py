"""GPCNeT 1.3: network_test and network_load_test, also with the further columns of the verbose mode.

https://github.com/netbench/GPCNET
"""

from steelyard.importing.patterns import Match
from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, make_name, number

TOOL = "GPCNeT"
MARKS = ("Congestion Impact Factor", "BW+Sync = bandwidth with barrier", "|                            Name |")
TITLE = r"\s*\|\s+(?P<title>(?:Isolated|Network) [^|]*Tests[^|]*?)\s+\|\s*$"
HEAD = r"\s*\|\s+Name \|"
ROW = r"\s*\|\s+(?P<name>[^|]*[^|\s]) \|"
UNITS = {"usec": ("latency", "us"), "MiB/s/rank": ("bandwidth", "MiB/s")}
MEANS = {"Min": "least", "Max": "greatest", "Avg": "mean", "Avg(Worst)": "mean of the worst rank"}
# For bandwidths, 99 % of the messages are at least as fast.
PERCENTILES = {"latency": {"99%": "p99", "99.9%": "p99.9"}, "bandwidth": {"99%": "p1", "99.9%": "p0.1"}}
EACH = "A bandwidth is that of each rank."


def read(text: Text) -> Values:
    """Yields each figure of each test, alone and with congestion, and how many times worse the congestion makes it."""
    for run in text.ended().runs(r"\s*Network(?:Load)? Tests v"):
        given = run.integers(ranks=r"Test with (\d+) MPI ranks", nodes=r"MPI ranks \((\d+) nodes\)")
        for title, part in run.parts(TITLE):
            about: Given = {**given, "section": " ".join(title["title"].split())}
            heads = [_split(head) for head, _ in part.match(HEAD)]
            for row, at in part.match(ROW) if heads else ():
                if row["name"].strip() != "Name":
                    with part.row(at):
                        yield from _read_row(_split(row), heads[0], about)


def _split(line: Match) -> list[str]:
    return [word.strip() for word in line.string.strip().strip("|").split("|")]


def _read_row(words: list[str], names: list[str], about: Given) -> Values:
    name, *figures = words
    kernel = make_name(name)
    if names[1:] == ["Congestion Impact Factor"]:  # the line below the heading names the columns
        if len(figures) != 2 or not all(word.endswith("X") for word in figures):
            raise ValueError(f"the factors of {name} are damaged")
        for word, statistic in zip(figures, ("mean", "p99"), strict=True):
            yield make("gpcnet.network", kernel, "impact", word[:-1], "", statistic, about, better="lower")
        return
    if len(words) != len(names):
        raise ValueError(f"the row {name} has {len(words)} columns, but its heading has {len(names)}")
    row = dict(zip(names, words, strict=True))
    metric, unit = UNITS[row["Units"]]
    for column, statistic in {**MEANS, **PERCENTILES[metric]}.items():
        if column in row and number(row[column]):  # the least times are rounded to zero
            yield make(
                "gpcnet.network", kernel, metric, row[column], unit, statistic, about, note=EACH if unit != "us" else ""
            )
