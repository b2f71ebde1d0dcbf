"""The readers that are written in Python under atheris: no bytes end them by anything else than a refusal, or hang them."""

import re
import subprocess
import sys
from pathlib import Path

import corpus
import pytest
from readers import READERS

pytest.importorskip("atheris", reason="the Python package atheris is not installed (the extra 'lint')")

SECONDS = max(1, corpus.SECONDS // (2 * len(READERS)))  # of each: half of all


@pytest.mark.parametrize("name", READERS)
def test_no_bytes_crash_or_hang_a_reader(name: str, tmp_path: Path) -> None:
    with corpus.kept(name) as texts:
        line = [sys.executable, str(Path(__file__).with_name("readers.py")), name, str(texts), str(SECONDS)]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    runs = re.search(r"Done (\d+) runs", done.stderr)
    assert runs
    print(f"{runs[1]} texts in {SECONDS} s")
