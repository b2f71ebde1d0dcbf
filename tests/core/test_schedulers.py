"""What is said to PBS, LSF and Flux and read from them, as text: from their documentation and from outputs of real ones.

Slurm's are in test_slurm_text, and under a real one in tests/slurm.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import write_script
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.launch import batch
from steelyard.measure.launch.scheduler import (
    Allocation,
    Answer,
    Ask,
    Request,
    State,
    find_allocation,
    find_batch_scheduler,
    flux,
    lsf,
    pbs,
    schedulers,
)
from steelyard.measure.mpi import Job
from steelyard.model import Host, Tool
from steelyard.show.commands.submit import Printed, read_time_limit

MPICH, OPEN_MPI = Tool("mpich", "/opt/bin/mpicxx", "5.0.2"), Tool("openmpi", "/usr/bin/mpicxx", "5.0.8")
FOUR = tuple(Host(f"n{i}", 2) for i in range(1, 5))


def request(*words: str, **more: object) -> Request:
    return Request(program=("/opt/bin/steelyard",), words=words or ("run",), folder=Path("/shared/my runs"), **more)


def says(out: str, error: str = "", code: int = 0) -> Ask:
    """A scheduler that answers so, whatever it is asked."""
    return lambda words, told: Answer(words, code, out, error)


def system(name: str) -> batch.BatchSystem:
    return batch.system(name)


# --------------------------------------------------------------------------- PBS


def test_the_script_for_pbs_is_this() -> None:
    asked = request(
        "run", "--set", "a=1;2", nodes=4, ranks_per_node=2, time="00:30:00", partition="short", account="physics",
        options=("-l place=scatter:exclhost",),
    )  # fmt: skip
    assert pbs.batch_script(asked) == (
        """#!/bin/sh
#PBS -N steelyard
#PBS -S /bin/sh
#PBS -r n
#PBS -j oe
#PBS -o '/shared/my runs/'
#PBS -l select=4:ncpus=2:mpiprocs=2
#PBS -l place=scatter:excl
#PBS -l walltime=00:30:00
#PBS -q short
#PBS -A physics
#PBS -l place=scatter:exclhost
exec /opt/bin/steelyard run --set 'a=1;2' >'/shared/my runs'/pbs-"$PBS_JOBID".out 2>'/shared/my runs'/pbs-"$PBS_JOBID".err
"""
    )
    assert "select" not in pbs.batch_script(request())


def test_an_allocation_of_pbs_is_read_from_its_file_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("n3\nn3\nn1\nn1\n")
    told = {"PBS_JOBID": "1234.server", "PBS_NODEFILE": str(tmp_path / "nodes")}
    assert pbs.allocation(told) == Allocation("1234.server", (Host("n3", 2), Host("n1", 2)))
    assert pbs.allocation({}) is None
    missing = str(tmp_path / "missing")
    with pytest.raises(MachineFailed, match=f"PBS_NODEFILE='{missing}' cannot be read"):
        pbs.allocation({**told, "PBS_NODEFILE": missing})


def qstat(**changed: object) -> str:
    """As qstat -f -F json of PBS Professional 2021.1 writes it, shortened."""
    job = {
        "Job_Name": "steelyard",
        "resources_used": {"cput": "00:00:00", "ncpus": 2, "walltime": "00:01:17"},
        "job_state": "R",
        "server": "hn1",
        "exec_host": "n1/0*2+n2/0*2",
        "exec_vnode": "(n1:ncpus=2)+(n2:ncpus=2)",
        "Resource_List": {"ncpus": 4, "nodect": 2, "walltime": "00:20:00"},
        "comment": "Job run at Wed Apr 26 at 13:41 on (n1:ncpus=2)",
        "substate": 42,
    } | changed
    return json.dumps({"timestamp": 1682496699, "pbs_version": "2021.1.3", "Jobs": {"1234.server": job}})


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, State("RUNNING", "", "n1+n2", "n1", took="00:01:17")),
        (
            {"job_state": "Q", "exec_host": "", "resources_used": None, "comment": "Not Running: Insufficient ncpus"},
            State("QUEUED", "Not Running: Insufficient ncpus"),
        ),
        ({"job_state": "F", "Exit_status": 0}, State("COMPLETED", "done", "n1+n2", "n1", took="00:01:17")),
        ({"job_state": "F", "Exit_status": 3}, State("FAILED", "done", "n1+n2", "n1", 3, took="00:01:17")),
        ({"job_state": "F", "Exit_status": 137}, State("FAILED", "done", "n1+n2", "n1", 0, 9, "00:01:17")),
        ({"job_state": "F", "Exit_status": 271}, State("FAILED", "done", "n1+n2", "n1", 0, 15, "00:01:17")),
        (
            {"job_state": "F", "Exit_status": 271, "resources_used": {"walltime": "00:20:03"}},
            State("TIMEOUT", "done", "n1+n2", "n1", 0, 15, "00:20:03"),
        ),
        ({"job_state": "F", "Exit_status": -1}, State("BOOT_FAIL", "done", "n1+n2", "n1", took="00:01:17")),
        ({"job_state": "F", "exec_host": ""}, State("CANCELLED", "done", took="00:01:17")),
        ({"job_state": "M"}, State("REVOKED", "done", "n1+n2", "n1", took="00:01:17")),
    ],
)
def test_the_state_of_a_job_of_pbs_is_read(changed: dict[str, object], expected: State) -> None:
    ended = {"comment": "done"} if changed.get("job_state", "R") in "FM" else {}
    assert pbs.state("1234.server", says(qstat(**ended, **changed))) == (expected, "")


def test_a_job_that_pbs_has_forgotten_or_does_not_tell_of() -> None:
    unknown = says("", "qstat: Unknown Job Id 1234.server", 153)
    assert pbs.state("1234.server", unknown) == (State("GONE"), "")
    silent = says("", "Connection refused\nqstat: cannot connect to server hn1 (errno=111)", 111)
    assert pbs.state("1234.server", silent)[0] is None
    assert "cannot connect" in pbs.state("1234.server", silent)[1]
    assert pbs.state("1", says("{}")) == (None, "{}")


# --------------------------------------------------------------------------- LSF


def test_the_script_for_lsf_is_this() -> None:
    asked = request(
        nodes=4, ranks_per_node=2, time="00:30", partition="short", account="physics", options=("-m 'a b'",)
    )
    assert lsf.batch_script(asked) == (
        """#!/bin/sh
#BSUB -J steelyard
#BSUB -o "/shared/my runs/lsf-%J.report"
#BSUB -x
#BSUB -rn
#BSUB -n 8
#BSUB -R "span[ptile=2]"
#BSUB -W 00:30
#BSUB -q short
#BSUB -P physics
#BSUB -m 'a b'
exec /opt/bin/steelyard run >'/shared/my runs'/lsf-"$LSB_JOBID".out 2>'/shared/my runs'/lsf-"$LSB_JOBID".err
"""
    )
    assert "-n " not in lsf.batch_script(request())


def test_an_allocation_of_lsf_is_read_from_its_variables(tmp_path: Path) -> None:
    assert lsf.allocation({"LSB_JOBID": "55", "LSB_MCPU_HOSTS": "hostB 2 hostA 4 "}) == Allocation(
        "55", (Host("hostB", 2), Host("hostA", 4))
    )
    (tmp_path / "hosts").write_text("hostA\nhostA\nhostB\n")
    by_file = lsf.allocation({"LSB_JOBID": "55", "LSB_DJOB_HOSTFILE": str(tmp_path / "hosts")})
    assert by_file == Allocation("55", (Host("hostA", 2), Host("hostB", 1)))
    assert lsf.allocation({}) is None
    for wrong in ("hostA", "hostA two", "hostA 0"):
        with pytest.raises(MachineFailed, match=f"LSB_MCPU_HOSTS='{wrong}' cannot be read"):
            lsf.allocation({"LSB_JOBID": "55", "LSB_MCPU_HOSTS": wrong})
    missing = str(tmp_path / "missing")
    with pytest.raises(MachineFailed, match=f"LSB_DJOB_HOSTFILE='{missing}' cannot be read"):
        lsf.allocation({"LSB_JOBID": "55", "LSB_DJOB_HOSTFILE": missing})


def bjobs(**changed: str) -> str:
    """As bjobs -json writes it: every field is a text."""
    record = {
        "STAT": "RUN",
        "EXIT_CODE": "",
        "EXIT_REASON": "",
        "EXEC_HOST": "2*hostA:2*hostB",
        "PEND_REASON": "",
        "RUN_TIME": "11 second(s)",
    } | changed
    return json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [record]})


PLACE = ("hostA hostB", "hostA")
OWNER = "TERM_OWNER: job killed by owner"
OVER = "TERM_RUNLIMIT: job killed after reaching LSF run time limit"
MEMORY = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, State("RUNNING", "", *PLACE, took="11 second(s)")),
        (
            {"STAT": "PEND", "EXEC_HOST": "", "RUN_TIME": "", "PEND_REASON": "New job is waiting for scheduling;"},
            State("PENDING", "New job is waiting for scheduling;"),
        ),
        ({"STAT": "UNKWN"}, State("UNKWN", "", *PLACE, took="11 second(s)")),
        ({"STAT": "DONE"}, State("COMPLETED", "", *PLACE, took="11 second(s)")),
        ({"STAT": "EXIT", "EXIT_CODE": "3"}, State("FAILED", "", *PLACE, 3, took="11 second(s)")),
        ({"STAT": "EXIT", "EXIT_CODE": "137"}, State("FAILED", "", *PLACE, 0, 9, "11 second(s)")),
        ({"STAT": "EXIT", "EXIT_REASON": OWNER}, State("CANCELLED", OWNER, *PLACE, took="11 second(s)")),
        (
            {"STAT": "EXIT", "EXIT_CODE": "140", "EXIT_REASON": OVER},
            State("TIMEOUT", OVER, *PLACE, 0, 12, "11 second(s)"),
        ),
        ({"STAT": "EXIT", "EXIT_REASON": MEMORY}, State("OUT_OF_MEMORY", MEMORY, *PLACE, took="11 second(s)")),
    ],
)
def test_the_state_of_a_job_of_lsf_is_read(changed: dict[str, str], expected: State) -> None:
    assert lsf.state("55", says(bjobs(**changed))) == (expected, "")


def test_a_job_that_lsf_has_forgotten_or_does_not_tell_of() -> None:
    assert lsf.state("55", says("", "Job <55> is not found", 255)) == (State("GONE"), "")
    silent = says("", "LSF is down. Please wait ...", 255)
    assert lsf.state("55", silent) == (None, "LSF is down. Please wait ...")


# --------------------------------------------------------------------------- Flux


def test_the_script_for_flux_is_this() -> None:
    asked = request(
        nodes=4, ranks_per_node=2, time="1800s", partition="short", account="physics", options=("--urgency=20",)
    )
    assert flux.batch_script(asked) == (
        """#!/bin/sh
# flux: --job-name=steelyard
# flux: --nodes=4
# flux: --time-limit=1800s
# flux: --queue=short
# flux: --bank=physics
# flux: --env=STEELYARD_RANKS_PER_NODE=2
# flux: '--output=/shared/my runs/flux-{{id.dec}}.out'
# flux: '--error=/shared/my runs/flux-{{id.dec}}.err'
# flux: --exclusive
# flux: --urgency=20
exec /opt/bin/steelyard run
"""
    )
    assert "--nodes=1\n" in flux.batch_script(request())


COMMON = ["--input=0", "--unbuffered", "-oexit-on-error", "-ocpu-affinity=off", "/cache/pingpong"]


@pytest.mark.parametrize(
    ("ranks", "more", "places"),
    [
        (8, {}, "--nodes=4 --requires=hosts:n1,n2,n3,n4 --tasks-per-node=2 --taskmap=block"),
        (
            4,
            {"ranks_per_node": 1, "mapping": "cyclic"},
            "--nodes=4 --requires=hosts:n1,n2,n3,n4 --tasks-per-node=1 --taskmap=cyclic",
        ),
        (3, {}, "--nodes=2 --requires=hosts:n1,n2 --ntasks=3 --taskmap=block"),
        (3, {"hosts": ()}, "--nodes=1 --requires=rank:0 --tasks-per-node=3 --taskmap=block"),
    ],
)
def test_flux_run_is_told_how_many_ranks_are_on_which_node(ranks: int, more: dict[str, object], places: str) -> None:
    asked = Job(Path("/cache/pingpong"), ranks, MPICH, **({"hosts": FOUR} | more))
    assert flux.argv(asked) == ["flux", "run", *places.split(), *COMMON]


def test_flux_run_gives_open_mpi_pmix_and_tells_the_ranks_where_their_number_is() -> None:
    asked = Job(Path("/cache/pingpong"), 2, OPEN_MPI, FOUR, cpus=(1, 0))
    assert "-opmi=pmix" in flux.argv(asked)
    assert flux.environment(asked, {"HOME": "/x"}) == {
        "HOME": "/x",
        "STEELYARD_RANK_IN": "FLUX_TASK_RANK",
        "STEELYARD_LOCAL_RANK_IN": "FLUX_TASK_LOCAL_ID",
        "STEELYARD_CPUS": "1,0",
    }


def test_numbers_of_ranks_that_flux_does_not_spread_so_are_refused() -> None:
    with pytest.raises(MachineFailed, match="3 on n1, 1 on n2.*--launcher mpiexec"):
        flux.argv(Job(Path("p"), 4, MPICH, (Host("n1", 3), Host("n2", 3)), ranks_per_node=3))


INSTANCE = """case "$*" in
  "getattr jobid") echo ƒiFkbMhFM;;
  "getattr hostlist") echo 'n[3-4]';;
  "resource list --states=all --no-header --format={ncores}") echo 8;;
  *) exit 1;;
esac"""


def test_an_allocation_of_flux_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    write_script(tmp_path / "flux", INSTANCE)
    told = {"FLUX_URI": "local:///run/flux/local"}
    assert flux.allocation(told) == Allocation("ƒiFkbMhFM", (Host("n3", 4), Host("n4", 4)))
    by_us = flux.allocation({**told, "STEELYARD_RANKS_PER_NODE": "2"})
    assert by_us.hosts == (Host("n3", 2), Host("n4", 2))
    assert flux.allocation({}) is None
    write_script(
        tmp_path / "flux", '[ "$*" = "getattr jobid" ] && echo ƒiFkbMhFM && exit; echo "no service" >&2; exit 1'
    )
    with pytest.raises(MachineFailed, match="(?s)flux getattr hostlist.*no service.*--hosts A:N"):
        flux.allocation(told)
    write_script(tmp_path / "flux", "exit 1")  # the instance of a whole system is no job
    assert flux.allocation(told) is None


def jobs(**changed: object) -> str:
    """As flux jobs --json of flux-core 0.89 writes it, shortened."""
    return json.dumps(
        {
            "name": "steelyard",
            "nnodes": 2,
            "ranks": "0-1",
            "nodelist": "n[3-4]",
            "id": 91088924704768,
            "state": "RUN",
            "runtime": 62.5,
            "status": "RUN",
            "jobid": "\u0192iFkbMhFM",
            "annotations": {"sched": {"selection_type": "immediate"}},
            "exception": {"occurred": False},
        }
        | changed
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, State("RUNNING", "", "n[3-4]", "n3", took="00:01:02")),
        (
            {
                "status": "SCHED",
                "nodelist": "",
                "runtime": 0.0,
                "annotations": {"sched": {"reason_pending": "insufficient resources"}},
            },
            State("PENDING", "insufficient resources", took="00:00:00"),
        ),
        ({"status": "COMPLETED", "returncode": 0}, State("COMPLETED", "", "n[3-4]", "n3", took="00:01:02")),
        ({"status": "FAILED", "returncode": 3}, State("FAILED", "", "n[3-4]", "n3", 3, took="00:01:02")),
        (
            {
                "status": "CANCELED",
                "returncode": 143,
                "exception": {"occurred": True, "severity": 0, "type": "cancel", "note": ""},
            },
            State("CANCELLED", "", "n[3-4]", "n3", 0, 15, "00:01:02"),
        ),
        (
            {
                "status": "TIMEOUT",
                "returncode": 142,
                "exception": {"occurred": True, "type": "timeout", "note": "resource allocation expired"},
            },
            State("TIMEOUT", "resource allocation expired", "n[3-4]", "n3", 0, 14, "00:01:02"),
        ),
    ],
)
def test_the_state_of_a_job_of_flux_is_read(changed: dict[str, object], expected: State) -> None:
    assert flux.state("91088924704768", says(jobs(**changed))) == (expected, "")


def test_a_job_that_flux_has_forgotten_or_does_not_tell_of() -> None:
    assert flux.state("999999", says("", "JobID 999999 unknown\n")) == (State("GONE"), "")
    assert flux.state("9", says("", "flux: broker socket is gone", 1))[0] is None


# --------------------------------------------------------------------------- all of them


@pytest.mark.parametrize(
    ("name", "said", "number"),
    [
        ("slurm", "Welcome to the site\n12;cluster\n", "12"),
        ("pbs", "Welcome to the site\n1234.server.site\n", "1234.server.site"),
        ("lsf", "Job <55> is submitted to queue <normal>.\n", "55"),
        ("flux", "91088924704768\n", "91088924704768"),
    ],
)
def test_the_number_of_a_submitted_job_is_read(
    name: str, said: str, number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = system(name)
    # A program of the scheduler's first word, which keeps what it is told.
    write_script(tmp_path / to.batch.submit[0], f"cat >{tmp_path}/told; cat {tmp_path}/said")
    (tmp_path / "said").write_text(said)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert batch.submit("#!/bin/sh\nexec true\n", to) == number
    assert (tmp_path / "told").read_text() == "#!/bin/sh\nexec true\n"


def test_a_sites_remarks_on_a_job_are_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_script(tmp_path / "sbatch", 'cat >/dev/null; echo "Your project has 3 hours left." >&2; echo 12')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert batch.submit("", system("slurm")) == "12"
    assert capsys.readouterr() == ("", "")
    assert batch.submit("", batch.system("slurm", batch.Around(listener=Printed()))) == "12"
    assert capsys.readouterr() == ("", "Your project has 3 hours left.\n")


def test_the_number_of_a_job_of_flux_is_asked_for_in_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_script(
        tmp_path / "flux",
        '[ "$1" = batch ] && cat >/dev/null && echo ƒiFkbMhFM || { [ "$4" = ƒiFkbMhFM ] && echo 910; }',
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert batch.submit("#!/bin/sh\n", system("flux")) == "910"


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("slurm", {"90s": "00:01:30", "36h": "36:00:00", "0.5s": "00:00:01", "30:00": "30:00", "2-12": "2-12"}),
        ("pbs", {"90m": "01:30:00", "1:30:00": "1:30:00"}),
        ("lsf", {"90s": "00:02", "36h": "36:00", "1:30": "1:30"}),
        ("flux", {"90m": "5400s", "0.5s": "1s", "2d": "2d"}),
    ],
)
def test_a_time_limit_is_written_as_each_scheduler_reads_it(name: str, limits: dict[str, str]) -> None:
    assert {text: read_time_limit(text, system(name)) for text in limits} == limits
    with pytest.raises(UsageError, match="has no unit"):
        read_time_limit("30", system(name))


@pytest.mark.parametrize("name", schedulers())
def test_an_end_is_told_with_the_name_of_the_scheduler(name: str) -> None:
    to = system(name)
    assert f"{to.title} because it reached its time limit" in batch.describe_state("7", State("TIMEOUT"), to)
    assert to.batch.outputs.format(job="7", kind="out") == f"{name}-7.out"


def test_the_scheduler_that_is_there_is_submitted_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_batch_scheduler(None)[0].name == "slurm"  # which then is said to be missing
    for name in ("qsub", "qstat", "qdel"):
        write_script(tmp_path / name, "true")
    assert find_batch_scheduler(None)[0].name == "pbs"
    for name in ("sbatch", "scontrol", "scancel"):
        write_script(tmp_path / name, "true")
    assert find_batch_scheduler(None)[0].name == "slurm"  # it brings programs of PBS's names along
    assert find_batch_scheduler("lsf")[0].name == "lsf"
    with pytest.raises(UsageError, match="no scheduler 'pps'.*Did you mean 'pbs'"):
        find_batch_scheduler("pps")


def test_outside_of_every_allocation_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)
    assert find_allocation() is None
    monkeypatch.setenv("LSB_JOBID", "55")
    monkeypatch.setenv("LSB_MCPU_HOSTS", "a 2")
    found = find_allocation()
    assert (found[0].name, found[1].job) == ("lsf", "55")


def test_asking_a_scheduler_waits_for_no_terminal() -> None:
    from steelyard.measure.launch.scheduler import ask

    done: Sequence[str] = ask(["sh", "-c", "cat; echo $LC_ALL"], "told\n").stdout.split()
    assert done == ["told", "C"]
