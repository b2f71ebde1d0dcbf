"""The texts that fuzzing found to reach new code, of each reader, in one archive.

STEELYARD_FUZZ=7200 goes on for two hours in all. With STEELYARD_CORPUS=FOLDER the texts are taken from there and kept there;
`tar -C FOLDER -cJf tests/fuzz/corpus.tar.xz .` puts them into the archive.
"""

import contextlib
import os
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).with_name("corpus.tar.xz")
SECONDS = int(os.environ.get("STEELYARD_FUZZ", "60"))  # of all readers together
OWN = os.environ.get("STEELYARD_CORPUS", "")


@contextlib.contextmanager
def kept(name: str) -> Iterator[Path]:
    """A folder with the texts of that reader."""
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(OWN or folder) / name
        if not texts.is_dir():
            texts.mkdir(parents=True)
            for title, content in archived(name).items():
                (texts / title).write_bytes(content)
        yield texts


@cache
def _unpacked() -> dict[str, bytes]:
    with tarfile.open(ARCHIVE) as archive:
        return {m.name.removeprefix("./"): file.read() for m in archive if (file := archive.extractfile(m))}


def archived(name: str) -> dict[str, bytes]:
    """The texts in the archive, by their names."""
    return {Path(path).name: content for path, content in _unpacked().items() if path.startswith(f"{name}/")}
