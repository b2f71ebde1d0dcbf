"""Reads OTF2, the archives of Score-P, Vampir and Scalasca, as traces of ours."""

import importlib.util
import json
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.model import Machine
from steelyard.system import files
from steelyard.system.answers import Answer, NoAnswer, ask
from steelyard.system.installation import install_extra
from steelyard.system.starts import module_command
from steelyard.whatif import program

_MOST = 64 << 20  # bytes that the library may print


def find_anchor(path: Path) -> Path | None:
    """Returns the anchor file of an archive: the path itself, or the only one in a folder. None if there is no archive."""
    if files.is_file(path):
        return path if path.suffix == ".otf2" else None
    if not files.is_folder(path):
        return None
    anchors = sorted(path.glob("*.otf2"))
    if len(anchors) > 1:
        raise UsageError(f"The folder '{path}' has several OTF2 archives. Name one: '{anchors[0]}'.")
    return anchors[0] if anchors else None


def _expect() -> None:
    if importlib.util.find_spec("otf2") is None:
        raise MachineFailed(
            f"Reading OTF2 needs the Python package otf2, which is not installed. Install it: {install_extra('otf2')}"
        )


def _read(anchor: Path, folder: Path) -> Answer:
    """Reads the archive in a process of its own: OTF2's library may crash, and prints errors."""
    words = [str(path.absolute()) for path in (anchor, folder)]
    try:
        return ask(module_command("steelyard.whatif.otf2.reading", *words), program.LONGEST, most=_MOST)
    except NoAnswer as problem:
        raise MachineFailed(
            f"The OTF2 archive '{anchor}' cannot be read: the process that reads it {problem}."
        ) from None


def _find_error(errors: str) -> str:
    """Returns the first error of the OTF2 library, or that its Python package did not know a record."""
    lines = errors.splitlines()
    if any("unhandled python exception" in line for line in lines):
        return "its Python package cannot read a record, such as a communicator between two groups"
    return next((line.partition(" error: ")[2] for line in lines if line.startswith("[OTF2]")), "")


def _expect_ordinary(anchor: Path) -> None:
    """Refuses pipes, for which the OTF2 library would wait."""
    for path in (anchor, anchor.with_suffix(".def"), *anchor.with_suffix("").rglob("*")):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"The OTF2 archive '{anchor}' cannot be read: '{path.name}' is not an ordinary file.")


def rebuild(anchor: Path, folder: Path, machine: Machine) -> int:
    """Converts an archive to a trace of ours in `folder`. Returns the number of collectives without the bytes of each pair."""
    _expect()
    _expect_ordinary(anchor)
    done = _read(anchor, folder)
    try:
        reply = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        reply = {"failed": f"its process ended with {done.returncode}"}
    if "failed" in reply:
        reply["error"] = (
            f"it is damaged or incomplete; the OTF2 library reports: {_find_error(done.stderr) or reply['failed']}"
        )
    if "error" in reply:
        raise UsageError(f"The OTF2 archive '{anchor}' cannot be read: {reply['error']}.")
    program.ask_exporter([str(folder), "1e9", "rebuilt", str(folder)], machine)
    return int(reply["even"])
