"""Under a real Slurm: the scenarios of a question go over the tasks of an array, and the answer is that of one machine."""

import json
import sys
from pathlib import Path

import pytest
from rig import Rig

from replays import program, stencil, ti

pytestmark = pytest.mark.slurm

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
QUESTION = (
    "--set", "network=L=25us:50us,o=5us,G=8ns/B", "--set", "loss=probability=0.01%:0.1%:1%:5%,rto=5ms:200ms",
    "--set", "core=1:1.5:2:4", "--set", "seed=5", "--json",
)  # fmt: skip


def test_an_array_answers_as_one_machine_does(slurm: Rig, tmp_path: Path) -> None:
    program()  # compiled once, before four nodes want it
    trace = str(ti(tmp_path, stencil(4, 10, 100_000, 2_000)))
    here = slurm.run([STEELYARD, "whatif", trace, *QUESTION], folder=tmp_path)
    there = slurm.run([STEELYARD, "whatif", trace, *QUESTION, "--submit", "4"], folder=tmp_path, seconds=300.0)
    assert there.returncode == 0, there.stdout + there.stderr
    rows, others = (json.loads(done.stdout) for done in (here, there))
    assert len(rows) == 2 * 8 * 4
    assert sum(row["draws"] for row in rows) == 64 * len(rows)
    for row in (*rows, *others):
        del row["seconds"]  # of the engines
    assert others == rows
    assert "4 of 4 tasks have answered" in there.stderr
    assert not list(tmp_path.glob("whatif-*")), "the folder of the tasks is left"


def test_tasks_that_end_without_an_answer_are_a_sentence(slurm: Rig, tmp_path: Path) -> None:
    program()
    trace = str(ti(tmp_path, stencil(4, 10, 100_000, 2_000)))
    words = [STEELYARD, "whatif", trace, *QUESTION, "--submit", "3", "--option=--array=0-0"]
    done = slurm.run(words, folder=tmp_path, seconds=300.0)
    assert done.returncode == 4
    assert "2 tasks of Slurm job" in done.stderr
    (folder,) = tmp_path.glob("whatif-*")
    assert (folder / "answers-0.json").exists()
