"""Finds the numerical libraries of the site in a separate process, since loading one starts threads and may crash."""

import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache

from steelyard.model import Library
from steelyard.system.answers import NoAnswer, ask
from steelyard.system.starts import python_command

ANSWER_SECONDS = 20  # a library that is not loaded by then hangs


@dataclass(frozen=True)
class Wanted:
    """A kind of library: the variable that may name its file, the files to try, and the functions that it must have."""

    kind: str
    variable: str
    files: tuple[str, ...]
    function: str
    threaded: tuple[str, ...]  # names of functions: a library with several threads exports one of them


# The programs try the same files in the same order (benchmarks/node/site_library.h).
WANTED = (
    Wanted(
        "blas",
        "STEELYARD_BLAS",
        ("libopenblas.so.0", "libmkl_rt.so", "libblas.so.3"),
        "dgemm_",
        ("openblas_set_num_threads", "MKL_Set_Num_Threads"),
    ),
    Wanted(
        "fftw",
        "STEELYARD_FFTW",
        ("libfftw3_threads.so.3", "libfftw3_omp.so.3", "libfftw3.so.3"),
        "fftw_plan_dft_1d",
        ("fftw_init_threads",),
    ),
)

# Prints for each question the first library that has the function, and whether it also has one of the `threaded` ones.
_ASK = """
import ctypes, json, sys
for files, function, threaded in json.loads(sys.argv[1]):
    found = None
    for file in files:
        try:
            library = ctypes.CDLL(file)
        except OSError:
            continue
        if hasattr(library, function):
            found = file, any(hasattr(library, name) for name in threaded)
            break
    print()  # a library may have begun a line
    print("found", json.dumps(found), flush=True)
"""


def find_libraries() -> tuple[Library, ...]:
    """Returns the libraries that the programs will load. A file that a variable names is always included: a case that cannot
    load it reports an error."""
    named = [os.environ.get(wanted.variable, "") for wanted in WANTED]
    files = tuple((file,) if file else wanted.files for file, wanted in zip(named, WANTED, strict=True))
    answers = _ask(files, os.environ.get("LD_LIBRARY_PATH", ""))
    libraries = []
    for wanted, library_file, answer in zip(WANTED, named, answers, strict=True):
        if answer or library_file:
            file, threads = answer or (library_file, True)
            libraries.append(Library(wanted.kind, file, threads))
    return tuple(libraries)


@lru_cache
def _ask(files: tuple[tuple[str, ...], ...], path: str) -> tuple[tuple[str, bool] | None, ...]:
    """Returns (file, threads) or None for each kind of library. `path`, the loader's search path, is part of the cache's key."""
    questions = [(tried, wanted.function, wanted.threaded) for tried, wanted in zip(files, WANTED, strict=True)]
    command = python_command("-S", "-c", _ASK, json.dumps(questions))
    try:
        output = ask(command, ANSWER_SECONDS).stdout  # a library may print when it is loaded
    except NoAnswer:
        output = ""
    answers = [json.loads(line) for line in re.findall(r"(?m)^found (.*)$", output)[: len(files)]]
    answers += [None] * (len(files) - len(answers))  # the library that was asked then made the process fail
    return tuple((str(a[0]), bool(a[1])) if a else None for a in answers)
