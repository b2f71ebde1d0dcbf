"""The two programs of this wing, the replay and the exporter: compiles them if the cache lacks them; asks the exporter once."""

from pathlib import Path
from typing import Any

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import build
from steelyard.measure.build import Program as Source
from steelyard.measure.launch.program import Program
from steelyard.model import Machine

NATIVE = Path(__file__).with_name("native")
LONGEST = 7 * 86400.0  # s: neither has a limit; Ctrl-C ends them


def compile_program(name: str, machine: Machine, show: build.Show = lambda progress: None) -> Path:
    """Returns the path of the executable of `native/<name>.cpp`, which is compiled if necessary, with its progress to `show`."""
    toolchain = build.resolve(build.default(machine), machine)
    source = Source(name=f"whatif.{name}", source=NATIVE / f"{name}.cpp", toolchain=toolchain)
    build.make([source], show)
    return source.path


def ask_exporter(words: list[str], machine: Machine) -> dict[str, Any]:
    """Returns the answer of the exporter. UsageError if it refuses, MachineFailed if it cannot write or lacks memory."""
    program = Program([str(compile_program("export", machine)), *words], {})
    try:
        reply = program.ask("", LONGEST)
    except BaseException:
        program.kill()
        raise
    program.close()
    if "error" in reply:
        raise (MachineFailed if reply.get("machine") else UsageError)(f"{reply['error']}.")
    return reply
