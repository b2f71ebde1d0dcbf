"""The readers of traces and the engine under libFuzzer with sanitizers: no text crashes or hangs them."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import corpus
import pytest

from traces import ALL_KINDS, rank_file

pytestmark = pytest.mark.skipif(not shutil.which("clang++"), reason="Clang is not installed (Debian: clang)")

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "src" / "steelyard" / "measure" / "native"
SECONDS = corpus.SECONDS // 4  # of each: half of all
CHECKS = "-fsanitize=fuzzer,address,undefined"

GOAL = """num_ranks 2
rank 0 {
a: calc 100 cpu 0
b: send 8192b to 1 tag 5 cpu 1 nic 0
c: recv 10b from 1 tag 6
b requires a
c irequires a
}
rank 1 {
a: recv 8192b from 0 tag 5
b: send 10b to 0 tag 6
b requires a
}
"""
ACTIONS = (
    "compute 5", "sleep 1e-3", "barrier", "bcast 1000 0", "reduce 8 5 1", "allreduce 8 5", "alltoall 8 8", "gather 8 8 1",
    "scatter 8 8 1", "allgather 8 8", "scan 8 0", "exscan 8 0", "reducescatter 8 8 8 0", "allgatherv 8 8 8 8",
    "alltoallv 8 8 8 8 8 8 8 8", "gatherv 8 8 8 8 1", "scatterv 8 8 8 8 1", "isend 1 0 5", "irecv 1 0 5", "wait 1 1 0", "waitall",
)  # fmt: skip


PAIRS = tuple(zip(*ALL_KINDS, strict=True))


def fuzzed(name: str, seeds: Mapping[str, bytes], folder: Path) -> None:
    """Runs a target from these texts on, for its share of the seconds."""
    program = folder / name
    words = ["clang++", "-std=c++20", "-O1", "-g", CHECKS, "-fno-sanitize-recover=undefined", f"-I{NATIVE}"]
    subprocess.run([*words, HERE / f"{name}.cpp", "-o", program], check=True, capture_output=True, text=True)
    with corpus.kept(name) as texts:
        for title, text in seeds.items():
            (texts / title).write_bytes(text)
        limits = [f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=4096", "-max_len=4096"]
        done = subprocess.run([program, *limits, texts], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    runs = re.search(r"Done (\d+) runs", done.stderr)
    assert runs
    assert int(runs[1]) > 1000
    print(f"{runs[1]} texts in {SECONDS} s")


def test_no_text_crashes_or_hangs_a_reader(tmp_path: Path) -> None:
    lines = [f"{rank} {action}\n" for rank in range(3) for action in ("init", *ACTIONS)]
    fuzzed("traces", {"goal": GOAL.encode(), "ti": "".join(lines).encode()}, tmp_path)


def test_no_files_of_ranks_crash_or_hang_the_reader(tmp_path: Path) -> None:
    seeds = {}
    for title, kinds in {
        "all": ALL_KINDS,
        **{f"one {i}": [(one,) for one in pair] for i, pair in enumerate(PAIRS)},
    }.items():
        first, second = (rank_file(r, 2, kinds[r]) for r in (0, 1))
        seeds[title] = len(first).to_bytes(2, "little") + first + second
    fuzzed("ranks", seeds, tmp_path)
