"""STREAM 1 to 5.10 in C and Fortran, with OpenMP, with MPI and on GPUs.

https://www.cs.virginia.edu/stream/
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, best_of, make_row

TOOL = "STREAM"
UNITS = ("MB/s", "GB/s", "MiB/s", "GiB/s")
MARKS = ("STREAM version", "STREAM Version", *(f"Rate {u}" for u in UNITS), *(f"Rate ({u})" for u in UNITS))
NOTE = "The bytes are counted as in STREAM. The compiler may have used streaming stores."
HEAD, ROW = r"\s*Function\s.*Rate", r"\s*(?:Copy|Scale|Add|Triad):"


def read(text: Text) -> Values:
    """Yields the best bandwidths and the mean, least and greatest times of each table. HPCC's tables are read as HPCC."""
    for run in text.runs(r".*STREAM [Vv]ersion|.*(?:STREAM Benchmark implementation in|HPC Chall)"):
        if failed := run.find(r"Failed Validation on array \S+"):
            text.problems.append(f"the check of the solution failed ({failed})")
            continue
        is_table = len(run.lines) > 1 and "DARPA" not in run.lines[0]  # a heading and a row
        for part in run.split_tables(HEAD, ROW) if is_table else ():
            yield from _read_table(part)


def _read_table(part: Text) -> Values:
    tables = list(part.tables(HEAD, gap=True, row=r"(Copy|Scale|Add|Triad):", skip=r"\s*-+$"))
    if not tables:
        return
    requested = part.integers(threads=r"Number of Threads requested = (\d+)")
    given = requested | part.integers(
        threads=r"Number of Threads(?: counted)? =\s*(\d+)",
        ranks=r"distributed across (\d+) MPI ranks",
        elements=r"Array size =\s*(\d+)",
    )
    passes = part.integer(r"(?:executed|test is run|running each test)\s+(\d+)\s+times")
    gpu, single = part.find("STREAM Benchmark implementation in"), part.find(r"(?:uses|Assuming)\s+4\s+bytes per")
    ours = "cluster.stream" if "ranks" in given else "memory.stream"
    benchmark = "stream.gpu" if gpu else "stream.single" if single else ours
    for rows in tables:
        # Versions with the mean of the times leave the first pass out; older ones, with the root mean square, do not.
        best = best_of(passes and passes - any(name.startswith("Avg time") for name in rows[0]))
        columns = {rf"(Best )?Rate \(?{unit}\)?": ("bandwidth", unit, best) for unit in UNITS}
        times = {"Avg": "mean", "RMS": "root mean square", "Min": "least", "Max": "greatest"}
        columns |= {rf"{name} time(\(s\))?": ("pass_time", "s", statistic) for name, statistic in times.items()}
        for row in rows:
            yield from make_row(benchmark, row["Function"].rstrip(":").lower(), row, columns, given, NOTE * (not gpu))
