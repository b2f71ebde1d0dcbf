"""C++ programs of the tests' own, linked with the harness. Each is compiled once and kept beside the programs of benchmarks."""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from steelyard.measure import build
from steelyard.measure.build.program import find_headers
from steelyard.model import Machine, Toolchain


def linked(here: Machine, source: Path | str, *flags: str) -> Path:
    """Returns the program compiled from `source`, a file or a text, with these flags (default: -O2) and the default toolchain.

    The cache keeps it under a hash of the compiler, the flags, the text, and every header of ours that it includes.
    """
    toolchain = build.resolve(build.default(here), here)
    words = [toolchain.compiler, "-std=c++20", *(flags or ("-O2",)), f"-I{build.NATIVE}"]
    harness = build.harness(toolchain)
    folder = build.cache() / "tests" / "programs" / _key(toolchain, words, source, harness)
    program = folder / "program"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    # Several workers may compile it at once: each in a folder of its own, and the last one stays.
    with tempfile.TemporaryDirectory(dir=folder) as making:
        if isinstance(source, str):
            Path(making, "source.cpp").write_text(source)
        text = Path(making, "source.cpp") if isinstance(source, str) else source
        made = Path(making, "program")
        subprocess.run([*words, text, *harness, "-o", made, "-pthread", "-ldl"], check=True)
        os.replace(made, program)
    return program


def _key(toolchain: Toolchain, words: list[str], source: Path | str, harness: Iterable[Path]) -> str:
    digest = hashlib.sha256("\0".join([toolchain.version, *words, *map(str, harness)]).encode())
    for path in sorted(_headers(words, source)):
        digest.update(path.read_bytes())
    digest.update(source.encode() if isinstance(source, str) else source.read_bytes())
    return digest.hexdigest()[:20]


def _headers(words: list[str], source: Path | str) -> set[Path]:
    """The headers of ours that the source includes: beside it, or in a folder that is given by -I."""
    folders = [Path(word.removeprefix("-I")) for word in words if word.startswith("-I")]
    if isinstance(source, Path):
        folders = [source.parent, *folders]
        source = source.read_text()
    named = re.findall(r'^\s*#\s*include\s+"([^"]+)"', source, re.MULTILINE)
    first = (next((f / name for f in folders if (f / name).is_file()), None) for name in named)
    return {path for header in first if header for path in find_headers(header.resolve())}
