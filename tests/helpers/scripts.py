"""Shell scripts that stand for programs."""

from pathlib import Path


def write_script(path: Path, text: str) -> Path:
    """Writes an executable script of /bin/sh, with the folders that its path needs. Returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
