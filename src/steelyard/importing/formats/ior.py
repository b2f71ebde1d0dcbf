"""IOR 2.10 to 4: the table of the repetitions, the summary, and the greatest bandwidths.

https://ior.readthedocs.io
"""

from collections.abc import Iterator

from steelyard.importing.ior_parameters import COMMAND, find_command, find_parameters, row_parameters
from steelyard.importing.text import Text
from steelyard.importing.values import Column, Given, best_of, make, make_row, make_spread
from steelyard.model.foreign import ForeignValue

TOOL = "IOR"
MARKS = ("MPI Coordinated Test of Parallel I/O", "bw(MiB/s)", "Max(MiB)", "Max (MiB)", "MiB/sec (")
HOST = r"^Machine\s*: \S+ (\S+)"
STARTED = r"^(?:Began|Run began|StartTime)\s*: (.+)"
OUTPUT = r".*MPI Coordinated Test"
STEPS = {"open": "open_time", "wr/rd": "transfer_time", "close": "close_time", "total": "time"}
COLUMNS: dict[str, Column] = {rf"{theirs}\(s\)": (ours, "s", "one run") for theirs, ours in STEPS.items()}
COLUMNS |= {r"bw\(MiB/s\)": ("bandwidth", "MiB/s", "one run"), "IOPS": ("rate", "/s", "one run")}
COLUMNS |= {r"Latency\(s\)": ("latency", "s", "as printed")}  # some versions forget the segments


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the results of each repetition of writing and reading, of several repetitions, and the greatest bandwidth."""
    tests, command = list[Given](), ""
    for begin, part in text.parts_or_whole(rf".*MPI Coordinated Test|TestID\s*:|Test \d+ started|{COMMAND}"):
        tests = tests if begin and begin[0].startswith("Test") else []
        command = find_command(begin, part, command)
        about, times = find_parameters(part, command), part.integer(r"^\s*repetitions\s*[:=] (\d+)")
        for head, table in part.parts(r"access\s+bw\(MiB/s\)|Operation\s+Max ?\(MiB\)"):
            names = head.string.replace(" (", "(").replace("Std Dev", "StdDev").split()
            tests += [about] if names[0] == "access" else []
            for row in table.fit(names, r"(write|read)\s+[-\d]", ending="XCEL"):
                if names[0] == "access":
                    cells = {name: word for name, word in row.items() if word != "-"}
                    yield from make_row("ior.file", row["access"], cells, COLUMNS, tests[-1])
                elif not tests or times != 1:  # else it repeats the only row
                    given = tests[int(row.get("Test#", -1))] if tests else {**row_parameters(row), **about}
                    columns = [row[f"{name}(MiB)"] for name in ("Max", "Min", "Mean")]
                    yield from make_spread("ior.file", row["Operation"], "bandwidth", columns, "MiB/s", given)
        for best, at in part.match(r"Max (Write|Read): +([\d.]+) MiB/sec \(([\d.]+) MB/sec\)"):
            if abs(float(best[2]) * 1.048576 - float(best[3])) > 0.02:
                raise ValueError(f"line {at}: {best[2]} MiB/s are not {best[3]} MB/s")
            yield make("ior.file", best[1].lower(), "bandwidth", best[2], "MiB/s", best_of(times), about)
