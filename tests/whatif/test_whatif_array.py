"""A question that the tasks of an array share has the answers that it has here."""

from pathlib import Path

import pytest

from replays import points, stencil, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.measure.launch import batch
from steelyard.measure.launch.scheduler import slurm
from steelyard.show.command_line import cli
from steelyard.whatif import batch_tasks, engine, question
from traces import FINALIZE, by_hand, folded, rank_file, record


def slurms() -> batch.BatchSystem:
    """Its files alone: where all answers are there no command of Slurm's is called."""
    assert slurm.scheduler.batch
    return batch.BatchSystem("slurm", "Slurm", slurm.scheduler.batch)


def asked(repeats: int) -> question.Question:
    conditions = points(
        "network=L=25us:50us,o=5us,G=8ns/B,S=1k:64k",
        "loss=probability=0.1%:1%:5%,rto=5ms:200ms",
        "core=1:2,4@rank=3",
        "ranks_per_node=1:2",
    )
    return question.Question(conditions, repeats, seed=7, threads=1)


@pytest.mark.parametrize("tasks", [1, 3, pytest.param(7, marks=pytest.mark.long)])
def test_all_tasks_together_answer_what_one_engine_does(tmp_path: Path, tasks: int) -> None:
    trace, one = ti(tmp_path, stencil(4, 10, 100_000, 2_000)), asked(8)
    lines = tuple(line for _, line in question.group_points(one))
    assert len(lines) > 7
    batch_tasks.lay_out(tmp_path, batch_tasks.Work(str(trace), 1e9, engine.WHOLE, lines, tasks))
    for task in range(tasks):
        batch_tasks.answer_share(tmp_path, task)
    found = batch_tasks.collect(tmp_path, "1", tasks, slurms(), lambda done, of: None)
    assert set(found) == set(lines)
    with engine.start(trace, this_machine(), 1e9) as running:
        here = whatif.answer(running, one)
        running.know(found)
        there = whatif.answer(running, one)
    assert [p.times for p in there.predictions] == [p.times for p in here.predictions]
    assert [p.low for p in there.predictions] == [p.low for p in here.predictions]
    assert {p.seconds for p in there.predictions} != {p.seconds for p in here.predictions}  # others have measured them


def test_a_task_replays_the_same_part_of_the_trace(tmp_path: Path) -> None:
    ranks = [record(24, 100, 0, folded(1)), record(24, 5000, 0, folded(0)), record(1, 7000, 0), FINALIZE]
    trace = by_hand(tmp_path / "trace", [rank_file(0, 1, ranks)])
    (line,) = (text for _, text in question.group_points(question.Question(points("network=L=1us"))))
    batch_tasks.lay_out(tmp_path, batch_tasks.Work(str(trace), 1e9, engine.Part(regions=(1, 1)), (line,), 1))
    batch_tasks.answer_share(tmp_path, 0)
    found = batch_tasks.collect(tmp_path, "1", 1, slurms(), lambda done, of: None)
    assert found[line]["time"] == [5_000_000]


def test_a_share_is_for_tasks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_ARRAY_TASK_ID", raising=False)
    with pytest.raises(UsageError, match="--share is only for the tasks that --submit starts"):
        cli.run_words(["whatif", "--share", str(tmp_path)])
