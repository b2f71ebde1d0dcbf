"""Writes the values of other tools as a run."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.machine.system_file import SystemFile
from steelyard.model import Cluster, Equipment, Imported, Machine, Plan
from steelyard.model.plain import to_json
from steelyard.records import VALUES
from steelyard.records.writing import RunFolder

PRESET = "imported"
UNNAMED = "unnamed machine"


def describe_machine(host: str, system: SystemFile | None = None) -> Machine:
    """Returns the description of a machine of which only the name and the facts of a system file are known."""
    name = (system and system.name) or host or UNNAMED
    return Machine(
        system=name, host=host or name, processor="", vendor="", architecture="", cores=(), nodes=(),
        caches=(), cpus=(), cpu_quota=None, memory=0, memory_available=0, modules=(), fma_width=None, fma_units=None,
        settings=(), compilers=(), mpis=(), limits=system.limits if system else {}, notes=system.notes if system else (),
        enclosures=system.enclosures if system else (), equipment=system.equipment if system else Equipment(),
        cluster=system.cluster if system else Cluster(),
    )  # fmt: skip


def write_run(
    runs: Path, name: str, machine: Machine, started: str, imported: Imported, command: Sequence[str] = ()
) -> Path:
    """Writes an imported run under `runs` and returns its folder; nothing stays of a run that cannot be written completely.

    `name` "" names it after the present time. `started` is a date and time as in ISO 8601, "" if it is unknown. MachineFailed,
    UsageError.
    """
    about = {
        "started": started,
        "command": list(command),
        "imported": {"tools": dict(imported.tools), "files": dict(imported.files)},
    }
    plan = Plan(preset=PRESET, seed=0, launches=(), seconds=0.0)
    values = b"".join(to_json(value) + b"\n" for value in imported.values)
    folder = RunFolder.create(runs, machine, plan, about, name, {VALUES: values, "finished.json": "{}"})
    folder.close()
    return folder.path
