"""Writes what was read as runs: all of them, or none."""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from unicodedata import category, normalize

from steelyard import files, signals
from steelyard.errors import one_line
from steelyard.importing.collecting import Collection
from steelyard.importing.grouping import Group
from steelyard.importing.run_folder import describe_machine, write_run
from steelyard.importing.streams import Unread
from steelyard.machine.system_file import SystemFile
from steelyard.model import Imported

UNREAD = "unread.txt"
LONGEST = 80  # bytes of the name of a run, of which a file system allows 255


def name_runs(groups: Sequence[Group], name: str, system: SystemFile | None) -> list[str]:
    """Returns the names of the runs: of host or system, date and folders; with `name` in front of them if there are several."""
    machine = system and system.name
    own = ["-".join(filter(None, (g.host or machine or "", g.date.replace("-", ""), g.label))) for g in groups]
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
    collection: Collection,
) -> list[Path]:  # fmt: skip
    """Writes a run for each group, and returns their folders. After an error or a signal none of them stays.

    A list of what was not read goes into the first run.
    """
    written: list[Path] = []
    interrupted = bool(signals.arrived())  # the reading, of which the values are kept
    with signals.held():
        try:
            for group, name in zip(groups, names, strict=True):
                imported = Imported(tools=group.tools, files=group.files, values=tuple(group.values))
                machine = describe_machine(group.host, system)
                written.append(write_run(runs, name, machine, group.started, imported, command))
                if signals.arrived() and not interrupted:
                    raise KeyboardInterrupt
            if collection.unread or collection.partly:
                files.write(written[0] / UNREAD, "The list of files that were not read", list_unread(collection))
        except BaseException:
            for folder in written:
                shutil.rmtree(folder, ignore_errors=True)
            raise
    return written


def list_unread(collection: Collection) -> str:
    """Returns a line for each file that was not read, or only in part: its name, a tab, and the reason."""
    rows: Iterable[Unread] = (*collection.unread, *collection.partly)
    return "".join(f"{one_line(row.name)}\t{one_line(row.reason)}\n" for row in rows)
