"""Writes what was read as runs: all of them, or none."""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from unicodedata import category, normalize

from steelyard.errors import one_line
from steelyard.importing.collecting import Collection
from steelyard.importing.grouping import Group
from steelyard.importing.streams import Unread
from steelyard.measure.machine.system_file import SystemFile
from steelyard.measure.records import VALUES, sums
from steelyard.measure.records.writing import RunFolder
from steelyard.model import Cluster, Equipment, Imported, Machine, Plan
from steelyard.model.plain import to_json
from steelyard.system import files, signals

PRESET = "imported"
UNNAMED = "unnamed machine"
UNREAD = "unread.txt"
LONGEST = 80  # bytes of the name of a run, of which a file system allows 255


def name_runs(groups: Sequence[Group], name: str, system: SystemFile | None) -> list[str]:
    """Returns the names of the runs: system or host, and date; with `name` in front of them if there are several."""
    machine = system.name if system else ""
    own = ["-".join(filter(None, (machine, g.name, g.date.replace("-", "")))) for g in groups]
    if name and len(groups) == 1:
        return [name]
    return [_name_folder("-".join(filter(None, (name, text)))) or "imported" for text in own]


def _name_folder(words: str) -> str:
    """Returns the words as the name of a folder, with letters of any script that the file system can write."""
    letters = (c if c.isalnum() or c in "_.-" or category(c)[0] == "M" else " " for c in normalize("NFC", words))
    plain = "-".join("".join(letters).split())
    try:
        os.fsencode(plain)
    except UnicodeEncodeError:  # a locale without these letters
        plain = re.sub(r"[^\w.-]+", "-", plain, flags=re.ASCII)
    return plain.strip("-._").encode()[:LONGEST].decode(errors="ignore").rstrip("-._")


def write_runs(
    runs: Path, groups: Sequence[Group], names: Sequence[str], system: SystemFile | None, command: Sequence[str],
    collection: Collection, layout: str = "",
) -> list[Path]:  # fmt: skip
    """Writes a run for each group, and returns their folders. After an error or a signal none of them stays.

    A list of what was not read goes into the first run. `layout` is that of a user, for later imports.
    """
    written: list[Path] = []
    interrupted = bool(signals.arrived())  # the reading, of which the values are kept
    with signals.held():
        try:
            for group, name in zip(groups, names, strict=True):
                imported = Imported(tools=group.tools, files=group.files, layout=layout, values=tuple(group.values))
                machine = describe_machine(group.name, system)
                written.append(write_run(runs, name, machine, group.started, imported, command))
                if signals.arrived() and not interrupted:
                    raise KeyboardInterrupt
            if collection.unread or collection.partly:
                files.write(written[0] / UNREAD, "The list of files that were not read", list_unread(collection))
            for folder in written:
                files.write(folder / sums.SUMS, "The checksums of the run", sums.text(folder))
        except BaseException:
            for folder in written:
                shutil.rmtree(folder, ignore_errors=True)
            raise
    return written


def list_unread(collection: Collection) -> str:
    """Returns a line for each file that was not read, or only in part: its name, a tab, and the reason."""
    rows: Iterable[Unread] = (*collection.unread, *collection.partly)
    return "".join(f"{one_line(row.name)}\t{one_line(row.reason)}\n" for row in rows)


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
        "imported": {"tools": dict(imported.tools), "files": dict(imported.files), "layout": imported.layout},
    }
    plan = Plan(preset=PRESET, seed=0, launches=(), seconds=0.0)
    values = b"".join(to_json(value) + b"\n" for value in imported.values)
    folder = RunFolder.create(runs, machine, plan, about, name, {VALUES: values, "finished.json": "{}"})
    folder.close()
    return folder.path
