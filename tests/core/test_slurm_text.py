"""What is said to Slurm and read from it, as text: no Slurm is needed."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from folders import GOLDEN
from steelyard.errors import MachineFailed, ProgramFailed, SteelyardError, UsageError
from steelyard.measure.launch import batch
from steelyard.measure.launch.scheduler import Allocation, Answer, Request, State, schedulers, slurm
from steelyard.measure.machine import hostlist
from steelyard.measure.mpi import Job, places
from steelyard.model import Host, Tool
from steelyard.show.command_line import job_end
from steelyard.show.commands import submit

OPEN_MPI, MPICH = Tool("openmpi", "/usr/bin/mpicxx", "4.1.4"), Tool("mpich", "/opt/bin/mpicxx", "5.0.2")
PROGRAM = Path("/cache/pingpong")
FOUR = tuple(Host(f"n{i}", 2) for i in range(1, 5))
SLURM = schedulers()["slurm"]
assert SLURM.batch
TO = batch.BatchSystem(SLURM.name, SLURM.title, SLURM.batch)
COMMON = ["--input=0", "--unbuffered", "--kill-on-bad-exit=1", "--cpu-bind=none", "--export=ALL"]


def job(ranks: int, mpi: Tool = OPEN_MPI, hosts: Sequence[Host] = FOUR, **more: object) -> Job:
    return Job(PROGRAM, ranks, mpi, tuple(hosts), **more)


# --------------------------------------------------------------------------- srun


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        (
            job(8),
            "--nodes=4 --ntasks-per-node=2 --distribution=block --nodelist=n1,n2,n3,n4 --ntasks=8",
        ),
        (
            job(8, mapping="cyclic"),
            "--nodes=4 --ntasks-per-node=2 --distribution=cyclic --nodelist=n1,n2,n3,n4 --ntasks=8",
        ),
        (
            job(2, ranks_per_node=1),
            "--nodes=2 --ntasks-per-node=1 --distribution=block --nodelist=n1,n2 --ntasks=2",
        ),
        (job(3), "--nodes=2 --distribution=arbitrary --nodelist=n1,n1,n2 --ntasks=3"),
        (
            job(2, hosts=FOUR[::-3], ranks_per_node=1),
            "--nodes=2 --distribution=arbitrary --nodelist=n4,n1 --ntasks=2",
        ),
        (
            job(8, ranks_per_node=4),
            "--nodes=2 --overcommit --ntasks-per-node=4 --distribution=block --nodelist=n1,n2 --ntasks=8",
        ),
        (job(1, hosts=()), "--nodes=1 --relative=0 --ntasks-per-node=1 --distribution=block --ntasks=1"),
        (job(4, hosts=()), "--nodes=1 --relative=0 --ntasks-per-node=4 --distribution=block --overcommit --ntasks=4"),
    ],
)
def test_srun_is_told_where_each_rank_belongs(asked: Job, places: str) -> None:
    assert slurm.argv(asked) == ["srun", "--mpi=pmix", *places.split(), *COMMON, str(PROGRAM)]


def test_the_plug_in_is_that_of_the_mpi() -> None:
    flavours = ("openmpi", "mpich", "mvapich", "intelmpi")
    told = {name: slurm.argv(job(2, Tool(name, "", "1")))[1] for name in flavours}
    assert told == {
        "openmpi": "--mpi=pmix",
        "mpich": "--mpi=pmi2",
        "mvapich": "--mpi=pmi2",
        "intelmpi": "--mpi=pmi2",
    }


def test_the_words_of_the_user_come_last_and_win() -> None:
    words = slurm.argv(job(2, extra=("--mpi=cray_shasta",)))
    assert words[-2:] == ["--mpi=cray_shasta", str(PROGRAM)]


def test_nodes_are_ordered_by_their_numbers() -> None:
    hosts = [Host("n9", 1), Host("n10", 1)]
    assert "--distribution=block" in slurm.argv(job(2, hosts=hosts))
    assert "--distribution=arbitrary" in slurm.argv(job(2, hosts=hosts[::-1]))


def test_the_ranks_find_what_they_must_know_and_nothing_of_other_steps() -> None:
    base = {"PATH": "/bin", "SLURM_JOB_ID": "7", "SLURM_LABELIO": "1", "SLURM_HOSTFILE": "/x"}
    assert slurm.environment(job(2, cpus=(1, 0), environment={"A": "b"}), base) == {
        "PATH": "/bin",
        "SLURM_JOB_ID": "7",
        "STEELYARD_CPUS": "1,0",
        "A": "b",
    }
    switched = slurm.environment(job(2, transport="tcp"), base)
    assert switched["OMPI_MCA_btl"] == "tcp,self"
    assert slurm.environment(job(2, MPICH, transport="tcp"), base)["MPIR_CVAR_NOLOCAL"] == "1"
    assert slurm.environment(job(2), {**base, "SLURM_STEP_ID": "0"})["SLURM_OVERLAP"] == "1"


@given(
    slots=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    ranks=st.integers(1, 30),
    per_node=st.none() | st.integers(1, 4),
    mapping=st.sampled_from(["block", "cyclic"]),
)
@example(slots=[2, 2], ranks=5, per_node=None, mapping="block")
def test_every_rank_has_a_place_and_no_host_more_than_its_share(
    slots: list[int], ranks: int, per_node: int | None, mapping: str
) -> None:
    hosts = [Host(f"n{i}", count) for i, count in enumerate(slots)]
    asked = job(ranks, hosts=hosts, ranks_per_node=per_node, mapping=mapping)
    placed = places(asked)
    assert len(placed) == ranks
    room = {host.name: per_node or host.slots for host in hosts}
    if ranks <= sum(room.values()):
        assert all(count <= room[name] for name, count in Counter(placed).items())
    order = [host.name for host in hosts]
    if mapping == "block":
        assert [order.index(name) for name in placed] == sorted(order.index(name) for name in placed)
    else:
        assert placed[: len(hosts)] == tuple(order[:ranks])
    words = dict(word.partition("=")[::2] for word in slurm.argv(asked))
    assert int(words["--nodes"]) == len(set(placed))
    if words["--distribution"] == "arbitrary":
        assert words["--nodelist"] == ",".join(placed)


# --------------------------------------------------------------------------- the allocation


NAMES = st.from_regex(r"[a-z][a-z._-]{0,3}([0-9]{1,4})?", fullmatch=True)


@given(st.lists(NAMES, max_size=20))
@example(["n8", "n9", "n10", "n11"])
@example(["n08", "n09", "n10", "x", "n098", "n099", "n100"])
def test_a_list_of_hosts_is_read_as_slurm_writes_it(names: list[str]) -> None:
    assert hostlist.expand(hostlist.compress(names)) == tuple(names)
    assert hostlist.expand(",".join(names)) == tuple(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("n[1-3,7],x", ("n1", "n2", "n3", "n7", "x")),
        ("n[1-3,07]", ("n1", "n2", "n3", "n07")),
        ("gpu[008-010]-ib", ("gpu008-ib", "gpu009-ib", "gpu010-ib")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        (",1,2,3,4,5,9", ("1", "2", "3", "4", "5", "9")),
        (",1,2,3,4,5,9,", ("1", "2", "3", "4", "5", "9")),
        ("n1,,n2,n[3],", ("n1", "n2", "n3")),
        (",", ()),
        ("n[0-6/3,9]", ("n0", "n3", "n6", "n9")),
        ("n[01-10/5]-ib", ("n01-ib", "n06-ib")),
    ],
)
def test_brackets_stand_for_numbers_with_their_zeros(text: str, names: tuple[str, ...]) -> None:
    assert hostlist.expand(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "n[1-3",
        "n1-3]",
        "n[]",
        "n[3-1]",
        "n[1-]",
        "n[1-9/0]",
        "n[1/2]",
        "n[,]",
        "n[a-b]",
        "n[1,[2]]",
        "n 1",
        "n[1-99999999]",
        "a[1-999]b[1-999]",
    ],
)
def test_what_is_no_list_of_hosts_is_refused_in_full(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"'{text}'")):
        hostlist.expand(text)


@given(st.text(alphabet="n1-3[],x 0(", max_size=15))
def test_any_text_is_a_list_of_hosts_or_is_refused(text: str) -> None:
    try:
        names = hostlist.expand(text)
    except ValueError:
        return
    assert all(name and not set(name) & set("[], ") for name in names)


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(1, 50)), max_size=8))
def test_counts_are_read_as_slurm_writes_them(groups: list[tuple[int, int]]) -> None:
    text = ",".join(str(count) if times == 1 else f"{count}(x{times})" for count, times in groups)
    assert slurm.expand_counts(text) == tuple(count for count, times in groups for _ in range(times))


@pytest.mark.parametrize("text", ["2(x0)", "2(x", "x3", "2(3)", "2,,1", "-1", "2(x99999)", "1(x40000),1(x40000)"])
def test_what_are_no_counts_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is neither a number"):
        slurm.expand_counts(text)


def test_an_allocation_tells_the_hosts_and_their_slots() -> None:
    told = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_CPUS_PER_NODE": "4(x3)"}
    assert slurm.allocation({}) is None
    assert slurm.allocation({"SLURM_JOB_ID": "7"}) is None
    found = slurm.allocation({**told, "SLURM_TASKS_PER_NODE": "2(x2),1"})
    assert found == Allocation("7", (Host("n1", 2), Host("n2", 2), Host("n3", 1)))
    # In a step the tasks are the step's own, and those of one node say nothing about three.
    within = slurm.allocation({**told, "SLURM_TASKS_PER_NODE": "1", "SLURM_STEP_ID": "0"})
    assert within.hosts == (Host("n1", 4), Host("n2", 4), Host("n3", 4))


@pytest.mark.parametrize(
    ("name", "value"), [("SLURM_JOB_NODELIST", "n[1-"), ("SLURM_TASKS_PER_NODE", "2"), ("SLURM_TASKS_PER_NODE", "two")]
)
def test_variables_that_contradict_each_other_are_named(name: str, value: str) -> None:
    told = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-3]", name: value}
    with pytest.raises(MachineFailed, match=f"{name}.*{re.escape(value)}"):
        slurm.allocation(told)


# --------------------------------------------------------------------------- the batch script


def request(folder: Path, *words: str, **more: object) -> Request:
    return Request(program=("/opt/bin/steelyard",), words=words or ("run",), folder=folder, **more)


def test_the_batch_script_is_this() -> None:
    asked = request(
        Path("/shared/my runs"),
        *("run", "--set", "threads=1;2", "--runs", "/shared/my runs"),
        nodes=4,
        ranks_per_node=2,
        time="00:30:00",
        partition="short",
        account="physics",
        options=("--qos=high", "--comment=it's mine"),
    )
    assert slurm.batch_script(asked) == (
        """#!/bin/sh
#SBATCH --job-name=steelyard
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=00:30:00
#SBATCH --partition=short
#SBATCH --account=physics
#SBATCH '--output=/shared/my runs/slurm-%j.out'
#SBATCH '--error=/shared/my runs/slurm-%j.err'
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue
#SBATCH --qos=high
#SBATCH '--comment=it'"'"'s mine'
exec /opt/bin/steelyard run --set 'threads=1;2' --runs '/shared/my runs'
"""
    )


def test_what_is_not_asked_is_not_in_the_script() -> None:
    words = [line for line in slurm.batch_script(request(Path("/r"))).splitlines() if line.startswith("#SBATCH")]
    assert [word.split()[1].partition("=")[0] for word in words] == [
        "--job-name",
        "--output",
        "--error",
        "--exclusive",
        "--mem",
        "--no-requeue",
    ]


# --------------------------------------------------------------------------- the command


def submitted(*words: str) -> str:
    """What the command prints; its mistakes are raised."""
    app = typer.Typer()
    app.command("submit")(submit.command)
    done = CliRunner().invoke(app, words)
    if isinstance(done.exception, SteelyardError):
        raise done.exception
    return done.output


def test_the_script_is_shown_without_a_slurm(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    said = submitted("--nodes", "4", "--time", "90m", "--dry-run", "--", "--only", "memory.latency", "--json")
    assert "#SBATCH --time=01:30:00\n" in said
    assert said.endswith(f" run --only memory.latency --json --runs {elsewhere}/runs\n")
    assert not (elsewhere / "runs").exists()


def test_a_run_is_gone_on_with_in_a_job(elsewhere: Path) -> None:
    run = unfinished(elsewhere / "runs")
    assert submitted("--resume", run.name, "--dry-run").endswith(f" resume {run}\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--option", "--comment=a\nb"], "a line break"),
        (["--partition", "a\nb"], "a line break"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_submitted(words: list[str], expected: str, elsewhere: Path) -> None:
    with pytest.raises(UsageError) as caught:
        submitted(*words)
    assert expected in str(caught.value)
    assert not (elsewhere / "runs").exists()


def test_a_machine_without_slurm_is_an_explained_failure(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(elsewhere))
    with pytest.raises(MachineFailed, match="'sbatch' is not in PATH.*login node.*--dry-run"):
        submitted()
    assert not (elsewhere / "runs").exists()


# --------------------------------------------------------------------------- following a job


class Fake:
    """A Slurm that gives prepared answers, one after the other; a callable is called first and its result given."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[list[str]] = []
        self.slept: list[float] = []

    def ask(self, words: Sequence[str], told: str) -> Answer:
        self.asked.append(list(words))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer = answer()
        good = isinstance(answer, str)
        return subprocess.CompletedProcess(words, 0 if good else 1, answer if good else "", "" if good else str(answer))

    @property
    def system(self) -> batch.BatchSystem:
        return replace(TO, around=batch.Around(self.ask, self.slept.append, submit.Printed()))


def state(name: str, reason: str = "None", code: str = "0:0", nodes: str = "n3", host: str = "golden-host") -> str:
    """As scontrol of Slurm 22.05 writes it, shortened."""
    where = f"NodeList={nodes} BatchHost={host} NumNodes=1" if nodes else "NodeList= NumNodes=1-1"
    return (
        f"JobId=12 JobName=steelyard UserId=root(0) Account=(null) JobState={name} Reason={reason} Dependency=(null) "
        f"Requeue=0 ExitCode={code} RunTime=00:00:35 TimeLimit=00:30:00 {where} ReqB:S:C:T=0:0:*:* Command=(null) \n"
    )


NOTHING = RuntimeError("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
FORGOTTEN = RuntimeError("slurm_load_jobs error: Invalid job id specified")


def test_the_state_of_a_job_is_read() -> None:
    assert slurm.read_state(state("FAILED", "NonZeroExitCode", "3:0")) == State(
        "FAILED", "NonZeroExitCode", "n3", "golden-host", 3, 0, "00:00:35"
    )
    assert slurm.read_state(state("CANCELLED", code="0:15")).signal == 15
    assert slurm.read_state(state("PENDING", "Resources", nodes="")) == State(
        "PENDING", "Resources", "", "", 0, 0, "00:00:35"
    )


def test_each_change_is_told_once_and_the_output_is_passed_on_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = {"out": tmp_path / "out", "err": tmp_path / "err"}

    def writing(text: str, answer: str) -> object:
        def write() -> str:
            with written["out"].open("a", encoding="utf-8") as file:
                file.write(text)
            return answer

        return write

    fake = Fake(
        state("PENDING", "Resources", nodes=""),
        state("PENDING", "Resources", nodes=""),
        NOTHING,
        writing("one µ", state("RUNNING")),
        writing("s\n", state("RUNNING")),
        writing("the end\n", state("COMPLETED")),
    )
    assert batch.follow("12", written, fake.system).name == "COMPLETED"
    out, err = capsys.readouterr()
    assert out == "one µs\nthe end\n"
    assert err.splitlines() == [
        "steelyard: Slurm job 12 is pending (Resources)",
        "steelyard: Slurm job 12 is running on n3",
    ]
    assert {tuple(words) for words in fake.asked} == {("scontrol", "show", "job", "--oneliner", "12")}


def test_slurm_is_asked_less_often_where_nothing_changes() -> None:
    fake = Fake(*[state("RUNNING")] * 100, state("COMPLETED"))
    batch.follow("12", {}, fake.system)
    first, longest = batch.PAUSES
    assert fake.slept[0] == first
    assert max(fake.slept) == fake.slept[-1] == longest


def test_a_slurm_that_is_silent_for_long_is_given_up_but_the_job_goes_on() -> None:
    fake = Fake(state("RUNNING"), NOTHING)
    with pytest.raises(MachineFailed, match="(?s)no longer follows job 12, but the job continues.*Unable to contact"):
        batch.follow("12", {}, fake.system)
    assert sum(fake.slept) > batch.PATIENCE


def test_a_refusal_of_sbatch_is_shown_whole() -> None:
    with pytest.raises(ProgramFailed) as caught:
        batch.submit("#!/bin/sh\nexec true\n", Fake(RuntimeError("sbatch: error: invalid partition")).system)
    assert "exec true" in str(caught.value)
    assert "sbatch: error: invalid partition" in str(caught.value)
    assert caught.value.exit_code == 4


# --------------------------------------------------------------------------- what became of it


def finished(runs: Path, name: str = "20261121-101500") -> Path:
    """A run of three records, as `steelyard run` left it on golden-host, with its report."""
    path = runs / name
    shutil.copytree(GOLDEN / "run-format-1", path)
    (path / "report.html").touch()
    return path


def unfinished(runs: Path) -> Path:
    """The same run, broken off after the first of its two cases."""
    path = finished(runs)
    for name in ("finished.json", "report.html"):
        (path / name).unlink()
    records = path / "records.jsonl"
    records.write_bytes(records.read_bytes().splitlines(keepends=True)[0])
    return path


def attended(asked: Request, *answers: object, before: set[Path] | None = None) -> int:
    return submit.attend(asked, before or set(), Fake("12\n", *answers).system)


@pytest.mark.parametrize(
    ("last", "code"), [(state("COMPLETED"), 0), (state("FAILED", code="1:0"), 1), (state("FAILED", code="3:0"), 3)]
)
def test_a_finished_run_ends_with_its_report_and_its_own_code(
    last: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished(tmp_path)
    assert attended(request(tmp_path), last) == code
    assert capsys.readouterr().err == f"steelyard: Slurm job 12 has ended. The report: {run / 'report.html'}\n"


def test_a_finished_run_without_a_report_tells_how_to_write_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished(tmp_path)
    (run / "report.html").unlink()
    assert attended(request(tmp_path), state("COMPLETED")) == 0
    assert f"steelyard report {run}" in capsys.readouterr().err


def test_a_job_that_slurm_has_forgotten_is_judged_by_its_run(tmp_path: Path) -> None:
    run = finished(tmp_path)
    from steelyard.judge import evaluation
    from steelyard.show.command_line import conclusion

    assert attended(request(tmp_path), FORGOTTEN) == conclusion.exit_code(evaluation.evaluate(run))


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (state("CANCELLED", code="0:15"), "Slurm job 12 was cancelled (on n3, after 00:00:35)."),
        (
            state("TIMEOUT"),
            "Slurm job 12 was ended by Slurm because it reached its time limit (on n3, after 00:00:35).",
        ),
        (state("OUT_OF_MEMORY"), "more memory than its limit"),
        (state("PREEMPTED"), "because a job with a higher priority needed its nodes"),
        (state("FAILED", code="0:9"), "failed: it was killed by signal 9"),
        (state("FAILED", code="127:0"), "failed with exit code 127"),
    ],
)
def test_a_run_that_was_broken_off_tells_what_is_kept_and_how_to_go_on(
    last: str, expected: str, tmp_path: Path
) -> None:
    run = unfinished(tmp_path)
    with pytest.raises(MachineFailed) as caught:
        attended(request(tmp_path), last)
    said = str(caught.value)
    assert caught.value.exit_code == 4
    assert expected in said
    assert f"1 of 2 cases are finished and kept in {run}" in said
    assert f"steelyard submit --resume {run} --option=--nodelist=n3" in said
    assert f"steelyard resume {run}" in said
    assert ("--time" in said) == ("TIMEOUT" in last)


def test_a_node_that_is_down_is_named(tmp_path: Path) -> None:
    unfinished(tmp_path)
    with pytest.raises(MachineFailed, match=re.escape("because a node went down: n3, n5 (on n[3-6], after 00:00:35).")):
        attended(request(tmp_path), state("NODE_FAIL", nodes="n[3-6]"), "n3 down*\nn4 idle\nn5 idle*\nn6 allocated\n")


def test_a_job_that_never_ran_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    unfinished(tmp_path)  # of an equal job
    with pytest.raises(MachineFailed, match="was cancelled.\nThe job had not started a run"):
        attended(request(tmp_path), state("CANCELLED", nodes=""))


def test_a_resumed_job_that_never_ran_names_its_run_all_the_same(tmp_path: Path) -> None:
    run = unfinished(tmp_path)
    with pytest.raises(MachineFailed, match="1 of 2 cases are finished"):
        attended(request(tmp_path, "resume", str(run)), state("CANCELLED", nodes=""), before={run})


def test_a_folder_that_the_nodes_do_not_share_is_suspected(tmp_path: Path) -> None:
    with pytest.raises(MachineFailed, match="the nodes can use this folder") as caught:
        attended(request(tmp_path), state("COMPLETED"))
    assert caught.value.exit_code == 4


def test_words_refused_on_the_node_keep_their_code_and_where_they_are_explained(tmp_path: Path) -> None:
    job_end.find_outputs(tmp_path, "12", TO)["err"].write_text(
        "steelyard: there are no 4096 threads\n", encoding="utf-8"
    )
    with pytest.raises(MachineFailed, match="(?s)exit code 2.*slurm-12.err") as caught:
        attended(request(tmp_path), state("FAILED", code="2:0"))
    assert caught.value.exit_code == 2


def test_the_run_is_the_new_one_with_the_words_of_the_job_on_its_node(tmp_path: Path) -> None:
    old, ours, elsewhere, other = (finished(tmp_path, f"20261121-10150{i}") for i in range(4))
    for path, name, value in ((elsewhere, "host", "n7"), (other, "command", ["steelyard", "run", "--json"])):
        about = json.loads((path / "run.json").read_text())
        (about["machine"] if name == "host" else about)[name] = value
        (path / "run.json").write_text(json.dumps(about))
    running = slurm.read_state(state("COMPLETED", host="golden-host.cluster"))
    assert job_end.find_run(request(tmp_path), {old}, running) == ours
    assert job_end.find_run(request(tmp_path, "run", "--json"), set(), running) == other
    assert job_end.find_run(request(tmp_path, "run", "--quiet"), set(), running) is None


def test_ctrl_c_cancels_the_job_and_says_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = unfinished(tmp_path)

    def interrupted() -> str:
        raise KeyboardInterrupt

    fake = Fake("12\n", state("RUNNING"), interrupted, "", state("CANCELLED"))
    with pytest.raises(KeyboardInterrupt):
        submit.attend(request(tmp_path), set(), fake.system)
    assert ["scancel", "12"] in fake.asked
    said = capsys.readouterr().err
    assert "cancelling Slurm job 12" in said
    assert f"1 of 2 cases are finished and kept in {run}" in said
