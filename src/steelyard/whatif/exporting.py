"""Traces written in the formats of other tools: SimGrid's TI, GOAL, Paraver, Perfetto; and as Parquet."""

from dataclasses import dataclass
from pathlib import Path

from steelyard import files
from steelyard.errors import UsageError
from steelyard.model import Machine
from steelyard.whatif import table, tracing

# Whether it is a folder of several files.
FORMATS = {"ti": True, "goal": False, "prv": True, "perfetto": False, "parquet": True}
WORK = 1e9  # flop/s: one flop of a TI trace is 1 ns


@dataclass(frozen=True)
class Exported:
    """What was written. `apart`: how often a wait for several receives became one wait after the other, which TI cannot say."""

    ranks: int
    messages: int
    apart: int


def is_trace(path: Path) -> bool:
    """A folder of ours, or any file: a run is a folder."""
    return files.is_file(path) or files.is_file(path / "rank-0.trace") or table.is_table(path)


def export(trace: Path, form: str, output: Path, machine: Machine) -> Exported:
    """Writes the trace. UsageError where the format cannot hold it, or where something is in the way."""
    if FORMATS[form]:
        tracing.expect_folder(output)
    else:
        files.expect_output(output, "The export")
    with table.readable(trace, machine) as readable:
        if form == "parquet":
            if files.is_file(trace):
                raise UsageError(f"'{trace}' has no calls of the run: only a folder of steelyard trace can be a table.")
            return Exported(**table.export(readable, output, machine))
        return Exported(**table.written([str(readable), repr(WORK), form, str(output)], machine))
