"""C++ programs of the tests' own, linked with the harness."""

import subprocess
from pathlib import Path

from steelyard import build
from steelyard.model import Machine


def linked(here: Machine, source: Path, program: Path, *flags: str) -> Path:
    """`program`, compiled from `source` with these flags (-O2 where none are given) and the harness of the default toolchain."""
    toolchain = build.resolve(build.default(here), here)
    words = [toolchain.compiler, "-std=c++20", *(flags or ("-O2",)), f"-I{build.NATIVE}", source]
    subprocess.run([*words, *build.harness(toolchain), "-o", program, "-pthread", "-ldl"], check=True)
    return program
