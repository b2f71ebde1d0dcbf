"""Writes traces in the formats of other tools: SimGrid's TI, GOAL, Paraver, Perfetto, and Parquet."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.model import Machine
from steelyard.system import files
from steelyard.whatif import otf2, program, readable, table, tracing

# Formats, and whether the export is a folder of several files.
FORMATS = {"ti": True, "goal": False, "prv": True, "perfetto": False, "parquet": True}
WORK = 1e9  # flop/s: one flop of a TI trace is 1 ns


@dataclass(frozen=True)
class Exported:
    """The size of an export. `apart`: waits for some of several receives, which TI writes as one wait after the other."""

    ranks: int
    messages: int
    apart: int


def is_trace(path: Path) -> bool:
    """Returns whether the path is a folder with a trace, or any file; a run is a folder."""
    if files.is_file(path) or files.is_file(path / "rank-0.trace"):
        return True
    return table.is_table(path) or otf2.find_anchor(path) is not None


def export(trace: Path, form: str, output: Path, machine: Machine) -> Exported:
    """Writes the trace. UsageError if the format cannot hold it, or if the output exists.

    MachineFailed if it cannot be written; the output is then removed.
    """
    if FORMATS[form]:
        tracing.expect_folder(output)
    else:
        files.expect_output(output, "The export")
    with readable.open_readable(trace, machine) as readable_trace, _remove_partial(output):
        if form == "parquet":
            return Exported(**table.export(readable_trace.path, output, machine))
        if FORMATS[form]:
            return Exported(**program.ask_exporter([str(readable_trace.path), repr(WORK), form, str(output)], machine))
        return _write_file(readable_trace.path, form, output, machine)


def _write_file(trace: Path, form: str, output: Path, machine: Machine) -> Exported:
    answers = []

    def fill(target: Path) -> None:
        try:
            answers.append(program.ask_exporter([str(trace), repr(WORK), form, str(target)], machine))
        except MachineFailed as error:  # it names the file that `make` has chosen
            raise OSError(str(error).rpartition(": ")[2].rstrip(".")) from error

    files.make(output, "The export", fill)
    return Exported(**answers[0])


@contextlib.contextmanager
def _remove_partial(output: Path) -> Iterator[None]:
    """Removes the content of a folder that is only partly written."""
    existed = files.is_folder(output)
    try:
        yield
    except BaseException as error:
        if files.is_folder(output):
            shutil.rmtree(output, ignore_errors=True)
            if existed:
                output.mkdir()
        if isinstance(error, OSError):
            why = error.strerror or error
            raise MachineFailed(
                f"The export could not be written to '{output}': {why}. Free space there, or name another place."
            ) from error
        raise
