"""Traces written in the formats of other tools: SimGrid's TI, GOAL, Paraver, Perfetto."""

from dataclasses import dataclass
from pathlib import Path

from steelyard import build, files
from steelyard.build import Program as Source
from steelyard.errors import UsageError
from steelyard.launch.program import Program
from steelyard.model import Machine
from steelyard.whatif import tracing

SOURCE = Path(__file__).with_name("native") / "export.cpp"
FORMATS = {"ti": True, "goal": False, "prv": True, "perfetto": False}  # whether it is a folder of several files
LONGEST = 7 * 86400.0  # s: writing takes as long as it takes
WORK = 1e9  # flop/s: one flop of a TI trace is 1 ns


@dataclass(frozen=True)
class Exported:
    """What was written. `apart`: how often a wait for several receives became one wait after the other, which TI cannot say."""

    ranks: int
    messages: int
    apart: int


def is_trace(path: Path) -> bool:
    """A folder of ours, or any file: a run is a folder."""
    return files.is_file(path) or files.is_file(path / "rank-0.trace")


def export(trace: Path, form: str, output: Path, machine: Machine) -> Exported:
    """Writes the trace. UsageError where the format cannot hold it, or where something is in the way."""
    if FORMATS[form]:
        tracing.expect_folder(output)
    else:
        files.expect_output(output, "The export")
    source = Source("whatif.export", SOURCE, build.resolve(build.default(machine), machine))
    build.make([source])
    program = Program([str(source.path), str(trace), repr(WORK), form, str(output)], {})
    try:
        found = program.ask("", LONGEST)
    except BaseException:
        program.kill()
        raise
    program.close()
    if "error" in found:
        raise UsageError(f"{found['error']}.")
    return Exported(**found)
