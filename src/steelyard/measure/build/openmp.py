"""OpenMP by a compiler: what its programs are built with, and whether the runtime is there."""

import os
import tempfile
from dataclasses import replace
from functools import lru_cache

from steelyard.measure.build.toolchain import compiler_flags
from steelyard.model import Toolchain
from steelyard.system.answers import NoAnswer, ask

MODEL = "openmp"
_FLAG = "-fopenmp"
_SMALLEST = "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n"
_SECONDS = 30.0


def with_openmp(toolchain: Toolchain) -> Toolchain:
    """Returns this toolchain with OpenMP: the runtime starts the threads of its programs."""
    return replace(toolchain, flags=f"{toolchain.flags} {_FLAG}")


@lru_cache
def has_openmp(toolchain: Toolchain) -> bool:
    """Returns whether the compiler finds its header and its library: Clang's come with a package of their own."""
    with tempfile.TemporaryDirectory() as folder:
        words = [toolchain.compiler, *compiler_flags(with_openmp(toolchain)), "-x", "c++", "-"]
        try:
            environment = {**os.environ, "TMPDIR": folder}  # a compiler that is killed leaves files there
            return ask([*words, "-o", f"{folder}/smallest"], _SECONDS, _SMALLEST, environment).returncode == 0
        except NoAnswer:
            return False
