"""The readers of traces and the engine under libFuzzer with sanitizers: no text crashes or hangs them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("clang++"), reason="Clang is not installed (Debian: clang)")

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "src" / "steelyard" / "native"
SECONDS = os.environ.get("STEELYARD_FUZZ", "60")
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


def test_no_text_crashes_or_hangs_a_reader(tmp_path: Path) -> None:
    program = tmp_path / "traces"
    words = ["clang++", "-std=c++20", "-O1", "-g", CHECKS, "-fno-sanitize-recover=undefined", f"-I{NATIVE}"]
    subprocess.run([*words, HERE / "traces.cpp", "-o", program], check=True, capture_output=True, text=True)
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "goal").write_text(GOAL, encoding="utf-8")
    lines = [f"{rank} {action}\n" for rank in range(3) for action in ("init", *ACTIONS)]
    (seeds / "ti").write_text("".join(lines), encoding="utf-8")
    limits = [f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=4096", "-max_len=4096"]
    done = subprocess.run([program, *limits, seeds], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    runs = re.search(r"Done (\d+) runs", done.stderr)
    assert runs
    assert int(runs[1]) > 1000
    print(f"{runs[1]} texts in {SECONDS} s")
