"""HPL (Linpack) 1.0 to 2.3: the reference, Intel's, NVIDIA's and AMD's, HPL-AI, HPL-MxP of AMD, and the HPL of HPCC.

https://www.netlib.org/benchmark/hpl/
"""

from dataclasses import replace

from steelyard.importing.format import WARNINGS
from steelyard.importing.formats import hpcc
from steelyard.importing.text import Match, Text
from steelyard.importing.values import Given, Values, expect_solved, make, number
from steelyard.model.foreign import ForeignValue

TOOL = "HPL"
DOUBTS = rf"{WARNINGS}|>>> (?:\[[\d,]+\] )?([^<\n]+) <<<"
MARKS = ("HPLinpack ", "HPL-NVIDIA", "HPL_AI ", "T/V ", "||Ax-b||_oo")
STARTED = r"^HPL(?:MXP)?_pdgesv\(\) start time (.+)"  # of each solved system
CHECK = r".*\.\.\.\.\s*(PASSED|FAILED)\b"
WORLD = "of_ranks"
UNCHECKED = "The output does not say that the residual was checked."


def describe_system(row: Match) -> Given:
    """Returns the sizes of a system of equations, and the grid of ranks that solved it."""
    n, nb, p, q = (int(row[name]) for name in ("N", "NB", "P", "Q"))
    return {"N": n, "NB": nb, "ranks": p * q, "grid": f"{p}x{q}"}


ROW = (
    r"\s*(?P<mixed>HPL_AI\s+)?(?P<variant>[WH][RC]\S+)\s+(?P<N>\d+)\s+(?P<NB>\d+)\s+(?P<P>\d+)\s+(?P<Q>\d+)"
    r"\s+(?P<time>\S+)\s+(?P<rate>\S+)(?P<more>.*)"
)


def read(text: Text) -> Values:
    """Yields time and speed of each solved system. A result whose residual failed its check has no values.

    Within HPCC, the grid may have some of the ranks only: `of_ranks` is the number of all of them.
    """
    refined = "Gflops_IRS" in text.whole  # a last column with the speed that includes the iterative refinement
    for run in text.ended().runs(hpcc.RUN):
        within, started = run.integers(**{WORLD: hpcc.WORLD}), run.find(hpcc.STARTED)
        for row, part in run.parts(ROW):
            with text.row(part.first):
                for value in _make_values(row, part, refined):
                    parameters = {**within, **value.parameters}
                    if within.get(WORLD) == value.parameters["ranks"]:
                        del parameters[WORLD]
                    yield replace(value, parameters=parameters, started=value.started or started)


def _make_values(row: Match, part: Text, refined: bool) -> list[ForeignValue]:
    checks = {found[1] for found, _ in part.match(CHECK)}
    if "FAILED" in checks:
        raise ValueError(f"the check of the residual for N = {row['N']} failed")
    expect_solved(row["N"], row["time"], row["rate"])
    about = {**describe_system(row), "variant": row["variant"]}
    benchmark = "hpl.mixed" if row["mixed"] or "HPLMXP" in part.whole else "application.hpl"
    note = "" if checks else UNCHECKED
    more = row["more"].split()[-1:] if refined and row["more"][-1:].isdigit() else []
    speeds = {"lu": row["rate"], "hpl": more[0]} if more else {"hpl": row["rate"]}
    started = part.find(STARTED)
    first, times = next(iter(speeds)), [row["time"]] if number(row["time"]) else []  # "0.00" for small systems
    made = [
        *(
            make(benchmark, name, "speed", word, "Gflop/s", "one run", about, note=note)
            for name, word in speeds.items()
        ),
        *(make(benchmark, first, "time", word, "s", "one run", about, note=note) for word in times),
        make(benchmark, first, "N", row["N"], "", "given", about, better="none"),
    ]
    return [replace(value, started=started) for value in made] if started else made
