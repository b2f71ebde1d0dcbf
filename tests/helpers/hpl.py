"""HPL as a program of its own: Debian has it within HPCC alone, whose source is APT's.

HPCC's copy of HPL 2.0 reads and writes HPCC's files, and is called as a function: here it reads HPL.dat, as HPL does, writes
where that says, and has a main. Two calls that MPI 3 removed have their successors' names.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from folders import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from hpcc import MissingError, fetch

MAIN = """
#include "hpl.h"
int HPCC_Defaults() { return 1; }
int HPL_main(int, char **, HPL_RuntimeData *, int *);
int main(int count, char **words) {
  HPL_RuntimeData about;
  int failure = 0;
  MPI_Init(&count, &words);
  HPL_main(count, words, &about, &failure);
  MPI_Finalize();
  return 0;
}
"""
CHANGES = {
    "testing/ptest/HPL_pdinfo.c": {
        '"hpccinf.txt"': '"HPL.dat"',
        "fid = 8;": "",
        'strcpy( file, "hpccoutf.txt" );': "",
    },
    "src/comm/HPL_packL.c": {"MPI_Address": "MPI_Get_address", "MPI_Type_struct": "MPI_Type_create_struct"},
}
FOLDERS = ("src", "testing/matgen", "testing/timer", "testing/pmatgen", "testing/ptimer", "testing/ptest")


def built(folder: Path, compiler: str) -> Path:
    """The program `xhpl` in the folder, with the system's BLAS. The test is skipped where there is no source."""
    try:
        source = fetch(folder) / "hpl"
    except MissingError as missing:
        pytest.skip(str(missing))
    for name, changes in CHANGES.items():
        text = (source / name).read_text()
        for old, new in changes.items():
            assert old in text, f"{old} is not in {name}"
            text = text.replace(old, new)
        (source / name).write_text(text)
    (source / "main.c").write_text(MAIN)
    files = [source / "main.c", *(path for name in FOLDERS for path in (source / name).rglob("*.c"))]
    words = [
        compiler,
        "-std=gnu99",
        "-w",
        "-O2",
        "-DHPL_CALL_CBLAS",
        f"-I{source / 'include'}",
        f"-I{source.parent / 'include'}",
    ]
    program = folder / "xhpl"
    subprocess.run([*words, *map(str, files), "-o", str(program), "-l:libblas.so.3", "-lm"], check=True, timeout=300)
    return program
