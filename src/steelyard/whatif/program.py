"""The program that writes traces in other formats: compiles it if the cache lacks it, and asks it once."""

from pathlib import Path
from typing import Any

from steelyard import build
from steelyard.build import Program as Source
from steelyard.errors import MachineFailed, UsageError
from steelyard.launch.program import Program
from steelyard.model import Machine

SOURCE = Path(__file__).with_name("native") / "export.cpp"
LONGEST = 7 * 86400.0  # s: writing has no limit


def ask_exporter(words: list[str], machine: Machine) -> dict[str, Any]:
    """Returns the answer of the program. UsageError if it refuses, MachineFailed if it cannot write or lacks memory."""
    source = Source(name="whatif.export", source=SOURCE, toolchain=build.resolve(build.default(machine), machine))
    build.make([source])
    program = Program([str(source.path), *words], {})
    try:
        reply = program.ask("", LONGEST)
    except BaseException:
        program.kill()
        raise
    program.close()
    if "error" in reply:
        raise (MachineFailed if reply.get("machine") else UsageError)(f"{reply['error']}.")
    return reply
