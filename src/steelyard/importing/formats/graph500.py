"""Graph500, the reference 2.1.4 and 3.0: breadth-first search (BFS) and shortest paths (SSSP).

https://graph500.org
"""

from steelyard.importing.format import WARNINGS
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, number

TOOL = "Graph500"
DOUBTS = rf"{WARNINGS}|^(Validation failed.*)"
MARKS = ("harmonic_mean_TEPS", "num_mpi_processes:", "No results printed for invalid run")
RUN = r"\s*(?:SCALE|scale):?\s"
ROW = (
    r"\s*(?:(?P<kernel>bfs|sssp)[\s_]+)?(?P<statistic>min|firstquartile|median|thirdquartile|max|mean|harmonic_mean)_"
    r"(?P<what>time|TEPS)\s*:[\s!]*(?P<value>[^\s!]+)(?:\s+(?:s|TEPS))?\s*$"
)
STATISTICS = {  # the main one first
    "harmonic_mean": "harmonic mean", "mean": "mean", "median": "median", "min": "least", "max": "greatest",
    "firstquartile": "first quartile", "thirdquartile": "third quartile",
}  # fmt: skip
WHAT = {"time": ("time", "s"), "TEPS": ("rate", "TEPS")}
GRAPH = {"generation": r"^ *graph_generation:\s*(\S+)", "construction": r"^ *construction_time:\s*(\S+)"}
ABOUT = {
    "scale": r"^ *SCALE:\s*(\d+)", "edgefactor": r"^ *edgefactor:\s*(\d+)", "searches": r"^ *NBFS:\s*(\d+)",
    "ranks": r"^ *num_mpi_processes:\s*(\d+)",
}  # fmt: skip


def read(text: Text) -> Values:
    """Yields times and traversed edges per second (TEPS) of all searches by their statistics. An invalid run has none."""
    for run in text.ended().runs(RUN):
        about = run.integers(**ABOUT)
        for name, pattern in GRAPH.items():
            if about and (word := run.find(pattern)):
                yield make("graph500.graph", name, "time", word, "s", "one run", about)
        for row, at in sorted(run.match(ROW), key=lambda found: list(STATISTICS).index(found[0]["statistic"])):
            with run.row(at):
                if number(row["value"]) <= 0:
                    raise ValueError(f"{row['statistic']}_{row['what']} is '{row['value']}', which is no speed or time")
                kernel, (metric, unit) = row["kernel"] or "bfs", WHAT[row["what"]]
                statistic = STATISTICS[row["statistic"]]
                yield make(f"graph500.{kernel}", kernel, metric, row["value"], unit, statistic, about)
    if "No results printed for invalid run" in text.whole:
        text.problems.append("Graph500 says that the run is invalid")
