"""Under a real Slurm of four nodes: ranks are started, runs are submitted, cancelled, lost with their node, and gone on with."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from rig import CPUS, NODES, Rig

from canaries import Canaries
from conftest import Installed  # type: ignore[attr-defined]  # of this folder
from steelyard.errors import SteelyardError
from steelyard.measure.launch.scheduler import slurm as srun
from steelyard.measure.mpi import Job, places
from steelyard.measure.records import all_runs, read
from steelyard.model import Host, Run

pytestmark = pytest.mark.slurm  # the first time, packages are installed and programs are compiled

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
SMALL = ["--only", "memory.latency", "--set", "threads=1", "--set", "chains=1", "--set", "page_size=4k"]
SHORT = [*SMALL, "--set", "bytes=4096,8192"]
# Some minutes on one node: whatever happens to the job happens while cases are still to be measured.
LONG = [*SMALL, "--preset", "full", "--set", "bytes=" + ",".join(str(4096 * n) for n in range(1, 60)), "--quiet"]

# What Steelyard does inside of an allocation, with another program: the job is placed on the hosts that Slurm gave.
INSIDE = """
import json, os, sys
from pathlib import Path
from steelyard.measure.mpi import Job
from steelyard.measure.launch.scheduler import launcher
from steelyard.measure.launch.scheduler.slurm import allocation
from steelyard.model import Tool
name, program, mpi, more = sys.argv[1:]
found = allocation(os.environ)
assert found, "there is no allocation"
job = Job(program=Path(program), mpi=Tool(*json.loads(mpi)), hosts=found.hosts, **json.loads(more))
by = launcher(name)
words = by.argv(job)
os.execvpe(words[0], words, by.environment(job, os.environ))
"""


def started(launcher: str, installed: Installed, **more: object) -> list[str]:
    """The command that starts the small program inside of an allocation."""
    mpi = [installed.mpi.name, installed.mpi.path, installed.mpi.version]
    return [sys.executable, "-c", INSIDE, launcher, str(installed.hello), json.dumps(mpi), json.dumps(more)]


def met(done: subprocess.CompletedProcess[str], ranks: int, lines: int = 0) -> dict[int, str]:
    """The host of each rank, after a look at whether all have met and the first alone has read the input."""
    assert done.returncode == 0, done.stderr
    found = {int(line.split()[0]): line.split()[1:] for line in done.stdout.splitlines() if line}
    assert sorted(found) == list(range(ranks)), done.stdout + done.stderr
    for rank, (size, _, total, read_lines, _) in found.items():
        assert (int(size), int(total)) == (ranks, sum(range(ranks)))
        assert int(read_lines) == (lines if rank == 0 else 0)
    return {rank: words[1] for rank, words in found.items()}


@pytest.fixture(params=["openmpi", "mpich"])
def installed(request: pytest.FixtureRequest) -> Installed:
    """Each flavour of MPI in turn."""
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------- the rig


def test_four_nodes_are_idle(slurm: Rig) -> None:
    assert slurm.states() == dict.fromkeys(NODES, "idle")
    names = slurm.run(["srun", f"--nodes={len(NODES)}", "hostname"]).stdout.split()
    assert sorted(names) == list(NODES)


def test_a_rig_that_was_killed_leaves_nothing_to_the_next() -> None:
    words = "import rig, sys; r = rig.Rig().__enter__(); print(r.folder.parent.name, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", words],
        cwd=Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout
        name = owner.stdout.readline().strip()
        owner.kill()
    from inhabitants import inhabitants

    assert name
    assert inhabitants(name), "the daemons outlive their owner"
    with Rig() as next_one:
        assert next_one.states() == dict.fromkeys(NODES, "idle")
        assert not inhabitants(name)
        assert not (next_one.folder.parent.parent / name).exists()
        after = next_one.folder.parent.name
    assert not inhabitants(after)


# --------------------------------------------------------------------------- ranks


@pytest.mark.parametrize("launcher", ["srun", "mpiexec"])
def test_ranks_of_each_mpi_meet_over_four_nodes(slurm: Rig, installed: Installed, launcher: str) -> None:
    words = started(launcher, installed, ranks=4, ranks_per_node=1)
    hosts = met(slurm.run(["salloc", "--nodes=4", "--exclusive", *words], told="one\ntwo\nthree\n"), 4, lines=3)
    assert hosts == dict(enumerate(NODES))


@pytest.mark.parametrize(
    ("hosts", "ranks", "per_node", "mapping"),
    [
        ("n1 n2 n3 n4", 8, None, "block"),
        ("n1 n2 n3 n4", 8, 2, "cyclic"),
        ("n1 n2 n3 n4", 4, 2, "block"),
        ("n1 n2 n3 n4", 5, 2, "block"),
        ("n1 n2 n3", 5, None, "cyclic"),
        ("n4 n2", 2, 1, "block"),
        ("n3 n1", 4, None, "cyclic"),
        ("n2 n3", 8, None, "block"),
    ],
)
def test_each_rank_is_where_the_job_says(
    slurm: Rig, openmpi: Installed, hosts: str, ranks: int, per_node: int | None, mapping: str
) -> None:
    found = tuple(Host(name, CPUS) for name in hosts.split())
    job = Job(openmpi.hello, ranks, openmpi.mpi, found, per_node, mapping)  # type: ignore[arg-type]
    done = slurm.run(["salloc", "--nodes=4", "--exclusive", *srun.argv(job)])
    assert met(done, ranks) == dict(enumerate(places(job)))


def test_without_hosts_the_ranks_are_on_the_first_node(slurm: Rig, openmpi: Installed) -> None:
    job = Job(openmpi.hello, 3, openmpi.mpi)
    done = slurm.run(["salloc", "--nodes=2", "--exclusive", "--nodelist=n2,n3", *srun.argv(job)])
    assert set(met(done, 3).values()) == {"n2"}


def test_settings_of_other_steps_do_not_reach_the_ranks(slurm: Rig, openmpi: Installed) -> None:
    others = {"SLURM_LABELIO": "1", "SLURM_DISTRIBUTION": "cyclic", "SLURM_EXPORT_ENV": "NONE"}
    words = started("srun", openmpi, ranks=4, cpus=[1, 0])
    done = slurm.run(["salloc", "--nodes=2", "--exclusive", *words], environment=others)
    assert met(done, 4) == {0: "n1", 1: "n1", 2: "n2", 3: "n2"}
    assert {line.split()[-1] for line in done.stdout.splitlines()} == {"1,0"}


def test_ranks_are_started_from_a_shell_that_srun_gave(slurm: Rig, openmpi: Installed) -> None:
    shell = ["salloc", "--nodes=2", "--exclusive", "srun", "--nodes=1", "--ntasks=1"]
    done = slurm.run([*shell, *started("srun", openmpi, ranks=4)], seconds=60.0)
    assert met(done, 4) == {0: "n1", 1: "n1", 2: "n2", 3: "n2"}


def test_an_allocation_is_read_from_the_variables_of_slurm(slurm: Rig) -> None:
    words = "import os; from steelyard.measure.launch.scheduler.slurm import allocation as a; found = a(os.environ)"
    words += "; print(found and [(host.name, host.slots) for host in found.hosts])"
    inside = [sys.executable, "-c", words]
    done = slurm.run(["salloc", "--nodelist=n1,n3,n4", "--nodes=3", "--ntasks=5", *inside])
    assert "[('n1', 2), ('n3', 2), ('n4', 1)]" in done.stdout, done.stderr
    assert slurm.run(inside).stdout.strip() == "None"


# --------------------------------------------------------------------------- runs


def submit(slurm: Rig, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return slurm.run([STEELYARD, "submit", *words], folder=folder)


def measured(runs: Path, least: int, process: "subprocess.Popen[str]") -> Run:
    """The one run, when it has some records; `process` follows it."""
    last = time.monotonic() + 240
    while process.poll() is None and time.monotonic() < last:
        with contextlib.suppress(IndexError, SteelyardError):
            run = read(all_runs(runs)[0])
            if len(run.records) >= least:
                return run
        time.sleep(0.1)
    process.kill()
    pytest.fail("There are no records: " + "".join(process.communicate()))


def following(
    slurm: Rig, folder: Path, words: Sequence[str] = ("--nodes=1", "--option=--nodelist=n3")
) -> tuple["subprocess.Popen[str]", str]:
    """A long run that is submitted, followed and has some records; and its job's number."""
    process = slurm.start([STEELYARD, "submit", *words, "--", *LONG], folder=folder)
    measured(folder / "runs", 3, process)
    job = slurm.run(["squeue", "--noheader", "--format=%i"]).stdout.strip()
    return process, job


def kept(folder: Path, said: str) -> Run:
    """The run that was broken off, after a look at what is said of it: how much is kept, and how to go on."""
    run = read(all_runs(folder / "runs")[0])
    total = sum(len(launch.cases) for launch in run.plan.launches)
    assert not run.finished
    assert 3 <= len(run.records) < total
    assert all(record.samples and record.check.passed for record in run.records)
    assert f"of {total} cases are finished and kept in {run.path}" in said
    assert f"steelyard submit --resume {run.path} --option=--nodelist=n3" in said
    assert f"steelyard resume {run.path}" in said
    return run


def test_a_run_is_submitted_followed_and_ends_with_its_report(slurm: Rig, tmp_path: Path, programs: dict) -> None:
    done = submit(slurm, tmp_path, "--nodes", "1", "--time", "5m", "--runs", "the runs", "--", *SHORT)
    run = read(all_runs(tmp_path / "the runs")[0])
    assert run.finished, done.stderr
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert run.machine.host == "n1"
    assert {record.parameters["bytes"] for record in run.records} == {4096, 8192}
    report = tmp_path / "the runs" / run.id / "report.html"
    assert report.stat().st_size > 100_000
    assert done.stdout.splitlines()[-1] == f"The report: {report}"
    assert done.stderr.splitlines()[-1].endswith(f"has ended. The report: {report}")
    assert "is running on n1" in done.stderr


def test_a_run_over_four_nodes_is_submitted_and_ends_with_its_report(
    slurm: Rig, openmpi: Installed, tmp_path: Path
) -> None:
    hosts = ",".join(f"{node}:{CPUS}" for node in NODES)
    words = ["--only", "network.pingpong", "--mpi", openmpi.mpi.path, "--hosts", hosts]
    words += ["--set", "ranks=4", "--set", "placement=other node", "--set", "message_bytes=8,4096"]
    done = submit(slurm, tmp_path, "--nodes", "4", "--ranks-per-node", str(CPUS), "--", *words)
    run = read(all_runs(tmp_path / "runs")[0])
    assert run.finished, done.stderr
    assert done.returncode in (0, 1), [record.error for record in run.records if record.error] or done.stderr
    assert "is running on n[1-4]" in done.stderr
    assert {record.parameters["message_bytes"] for record in run.records} == {8, 4096}, done.stderr
    assert {tuple(record.surroundings.ranks.hosts or ()) for record in run.records} == {NODES}
    assert (Path(run.path) / "report.html").exists(), done.stderr


def test_what_the_job_prints_is_all_that_is_printed(slurm: Rig, tmp_path: Path, programs: dict) -> None:
    done = submit(slurm, tmp_path, "--", *SHORT, "--json")
    assert len(json.loads(done.stdout)["records"]) >= 4, done.stderr


def test_a_cancelled_job_keeps_its_records_and_is_gone_on_with(slurm: Rig, tmp_path: Path, programs: dict) -> None:
    process, job = following(slurm, tmp_path)
    slurm.run(["scancel", job])
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4
    assert f"Slurm job {job} was cancelled (on n3, after" in said
    assert "Traceback" not in said
    before = kept(tmp_path, said)

    # The rest of a long plan is not waited for: one more case shows that it goes on where it stopped.
    again = slurm.start([STEELYARD, "submit", "--resume", before.path, "--option=--nodelist=n3"], folder=tmp_path)
    after = measured(tmp_path / "runs", len(before.records) + 1, again)
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=60)
    assert len(all_runs(tmp_path / "runs")) == 1
    assert after.records[: len(before.records)] == before.records
    done = {(record.launch, record.case) for record in before.records}
    assert not done & {(record.launch, record.case) for record in after.records[len(before.records) :]}


def test_ctrl_c_cancels_the_job_and_says_how_to_go_on(slurm: Rig, tmp_path: Path, programs: dict) -> None:
    process, job = following(slurm, tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"cancelling Slurm job {job}" in said
    assert f"Slurm job {job} was cancelled" in said
    kept(tmp_path, said)
    assert slurm.run(["squeue", "--noheader"]).stdout == ""


def test_a_node_that_goes_down_is_named_and_keeps_the_records(slurm: Rig, tmp_path: Path, programs: dict) -> None:
    process, job = following(slurm, tmp_path)
    slurm.kill_node("n3")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 4
    assert f"Slurm job {job} ended because a node went down: n3 (on n3, after" in said
    assert "Traceback" not in said
    kept(tmp_path, said)


def test_a_second_node_of_a_job_that_goes_down_is_named(slurm: Rig, tmp_path: Path, programs: dict) -> None:
    process, job = following(slurm, tmp_path, ("--nodes=2", "--option=--nodelist=n3,n4"))
    slurm.kill_node("n4")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 4
    assert f"Slurm job {job} ended because a node went down: n4 (on n[3-4], after" in said
    assert read(all_runs(tmp_path / "runs")[0]).notes == ()


def test_a_job_that_waits_is_told_and_can_be_cancelled(slurm: Rig, tmp_path: Path) -> None:
    process = slurm.start([STEELYARD, "submit", "--option=--begin=now+1hour", "--", *SHORT], folder=tmp_path)
    assert process.stderr
    first = process.stderr.readline()
    assert "is pending (BeginTime)" in first
    slurm.run(["scancel", first.split()[3]])
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "was cancelled.\nThe job had not started a run" in said


def test_words_that_the_node_refuses_end_with_its_own_words_and_code(slurm: Rig, tmp_path: Path) -> None:
    done = submit(slurm, tmp_path, "--", *SHORT, "--set", "threads=4096")
    assert done.returncode == 2
    assert "threads" in done.stderr
    assert "4096" in done.stderr
    assert "failed with exit code 2 (on n1" in done.stderr
    assert all_runs(tmp_path / "runs") == []


def test_what_slurm_refuses_is_shown_whole(slurm: Rig, tmp_path: Path) -> None:
    done = submit(slurm, tmp_path, "--partition", "nowhere", "--", *SHORT)
    assert done.returncode == 4
    assert "#SBATCH --partition=nowhere" in done.stderr
    assert "invalid partition specified: nowhere" in done.stderr


def test_a_job_is_submitted_without_being_followed(slurm: Rig, tmp_path: Path) -> None:
    done = submit(slurm, tmp_path, "--no-wait", "--option=--begin=now+1hour", "--", *SHORT)
    assert done.returncode == 0, done.stderr
    job = slurm.run(["squeue", "--noheader", "--format=%i"]).stdout.strip()
    assert done.stdout.startswith(f"Slurm job {job} is submitted")


# --------------------------------------------------------------------------- whose folder it is


def test_no_job_executes_what_lies_in_the_current_folder(
    slurm: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    canaries = Canaries(tmp_path)
    words = ["submit", "--nodes", "2", "--runs", str(tmp_path / "runs"), "--", *SHORT, "--only", "network.pingpong"]
    line = canaries.command(*words, "--set", "message_bytes=8", "--preset", "quick", "--budget", "20s", "--quiet")
    done = slurm.run(line, folder=canaries.folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert canaries.executed() == []
    assert len(all_runs(tmp_path / "runs")) == 1
