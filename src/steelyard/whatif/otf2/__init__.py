"""OTF2, the archives of Score-P, Vampir and Scalasca: traces of ours written as such, and such read as traces of ours."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from steelyard import files
from steelyard.errors import MachineFailed, UsageError
from steelyard.installation import install_extra
from steelyard.model import Machine
from steelyard.whatif import program


def anchor_of(path: Path) -> Path | None:
    """The file of an archive that stands for all of them: itself, or the only one in a folder. None for what is no archive."""
    if files.is_file(path):
        return path if path.suffix == ".otf2" else None
    if not files.is_folder(path):
        return None
    found = sorted(path.glob("*.otf2"))
    if len(found) > 1:
        raise UsageError(f"The folder '{path}' has several OTF2 archives. Name one: '{found[0]}'.")
    return found[0] if found else None


def _expect() -> None:
    if importlib.util.find_spec("otf2") is None:
        raise MachineFailed(
            f"OTF2 is read and written by the Python package otf2, which is not installed. Do: {install_extra('otf2')}"
        )


def export(trace: Path, output: Path, machine: Machine) -> dict[str, Any]:
    """Makes an archive, traces.otf2, in the folder `output`, of a trace of ours. MachineFailed where it cannot be written."""
    _expect()
    with tempfile.TemporaryDirectory(prefix="steelyard-") as made:
        folder = Path(made)
        answer = program.written([str(trace), "1e9", "table", str(folder)], machine)
        done = _apart("writing", folder, output)
        if done.returncode != 0:
            why = _said(done.stderr) or f"its process ended with {done.returncode}"
            raise MachineFailed(
                f"The archive could not be written to '{output}': {why}. Make room there, or name another folder."
            )
    return answer


def _apart(module: str, *words: Path) -> "subprocess.CompletedProcess[str]":
    """Runs a module in a process of its own: OTF2's library may crash, and prints what it does not like."""
    line = [sys.executable, "-P", "-m", f"steelyard.whatif.otf2.{module}", *(str(path.absolute()) for path in words)]
    return subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)


def _said(errors: str) -> str:
    """The first error of OTF2's library, without the place in its sources; or that its Python package did not know a record."""
    lines = errors.splitlines()
    if any("unhandled python exception" in line for line in lines):
        return "a record is not understood (communicators between two groups are none that its Python package reads)"
    return next((line.partition(" error: ")[2] for line in lines if line.startswith("[OTF2]")), "")


def _expect_ordinary(anchor: Path) -> None:
    """OTF2's library would wait for a pipe."""
    for path in (anchor, anchor.with_suffix(".def"), *anchor.with_suffix("").rglob("*")):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"The OTF2 archive '{anchor}' cannot be read: '{path.name}' is no ordinary file.")


def rebuild(anchor: Path, folder: Path, machine: Machine) -> int:
    """Makes a trace of ours in `folder`. How many collectives lack the bytes of each pair. UsageError with what is wrong."""
    _expect()
    _expect_ordinary(anchor)
    done = _apart("reading", anchor, folder)
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        found = {"failed": f"its process ended with {done.returncode}"}
    if "failed" in found:
        found["error"] = f"it is damaged, or not whole; OTF2's library says: {_said(done.stderr) or found['failed']}"
    if "error" in found:
        raise UsageError(f"The OTF2 archive '{anchor}' cannot be read: {found['error']}.")
    program.written([str(folder), "1e9", "rebuilt", str(folder)], machine)
    return int(found["even"])
