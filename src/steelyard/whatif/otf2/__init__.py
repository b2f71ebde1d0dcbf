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
from steelyard.model import Machine
from steelyard.whatif import program

MISSING = (
    "OTF2 is read and written by the Python package otf2, which is not installed. Do: pip install 'steelyard[otf2]'"
)


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
        raise MachineFailed(MISSING)


def export(trace: Path, output: Path, machine: Machine) -> dict[str, Any]:
    """Makes an archive, traces.otf2, in the folder `output`, of a trace of ours. MachineFailed where it cannot be written."""
    _expect()
    from otf2.error import Error

    from steelyard.whatif.otf2 import writing

    with tempfile.TemporaryDirectory(prefix="steelyard-") as made:
        folder = Path(made)
        answer = program.written([str(trace), "1e9", "table", str(folder)], machine)
        begins = [float(line) for line in (folder / "begins.csv").read_text().splitlines()]
        lines = (folder / "ranks.csv").read_text(encoding="utf-8", errors="replace").splitlines()
        hosts = [line.split(",", 13)[13] or "unknown" for line in lines]
        try:
            writing.write(folder / "records.csv", begins, hosts, output)
        except (Error, OSError) as error:
            raise MachineFailed(f"The archive cannot be written to '{output}': {error}") from None
    return answer


def _said(errors: str) -> str:
    """The first error of OTF2's library, without the place in its sources; or that its Python package did not know a record."""
    lines = errors.splitlines()
    if any("unhandled python exception" in line for line in lines):
        return "a record is not understood (communicators between two groups are none that its Python package reads)"
    return next((line.partition(" error: ")[2] for line in lines if line.startswith("[OTF2]")), "")


def rebuild(anchor: Path, folder: Path, machine: Machine) -> int:
    """Makes a trace of ours in `folder`. How many collectives lack the bytes of each pair. UsageError with what is wrong."""
    _expect()
    words = [sys.executable, "-P", "-m", "steelyard.whatif.otf2.reading", str(anchor.absolute()), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
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
