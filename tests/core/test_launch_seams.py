"""A launcher, a flavour of MPI and a scheduler are each one new file and no edit: made-up ones are added, and do their work."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mpis
from scripts import write_script
from steelyard.errors import UsageError
from steelyard.measure import build, mpi
from steelyard.measure.build.program import programs as programs_of
from steelyard.measure.launch import scheduler, site
from steelyard.measure.launch.scheduler import slurm
from steelyard.measure.launch.start import start
from steelyard.measure.machine.tools import ask_mpi, mpiexec_of
from steelyard.measure.mpi import Job
from steelyard.measure.records import all_runs, read
from steelyard.model import Benchmark, Case, Host, Launch, Machine, Site, Tool
from steelyard.show.command_line.cli import app
from steelyard.statistics.results.messages import processors

# What a site would install: three files, each declaring one thing.
FLAVOUR = '''
"""Example MPI, with names of its own for everything."""
from steelyard.measure.mpi import Flavour, names


def words(job):
    return ["--ranks", str(job.ranks), "--tell", ",".join(names(job)), *job.extra, str(job.program)]


flavour = Flavour(
    name="example",
    title="Example MPI",
    question="--who",
    answer=r"Example MPI (\\S+)",
    words=words,
    transports={"tcp": {"EXAMPLE_BY": "tcp"}},
    environment={"STEELYARD_RANK_IN": "EXAMPLE_RANK", "STEELYARD_LOCAL_RANK_IN": "EXAMPLE_LOCAL_RANK"},
    wrappers=("examplecxx",),
    starters=("example-start",),
    meets="pmi7",
    eager="EXAMPLE_EAGER",
    waiting="EXAMPLE_NAP=1 makes it nap",
)
'''
LAUNCHER = '''
"""A launcher without a scheduler."""
from steelyard.measure import build, mpi
from steelyard.measure.launch import mpiexec
from steelyard.measure.launch.scheduler import Launcher, Scheduler


def argv(job):
    return ["example-run", *mpiexec.argv(job)]


def environment(job, base):
    return {**base, **mpi.environment(job)}


scheduler = Scheduler(
    name="starter",
    title="Starter",
    allocation=lambda environ: None,
    launcher=Launcher("example-run", argv, environment),
)
'''
SCHEDULER = '''
"""A scheduler of one machine."""
import shlex

from steelyard.measure.launch.scheduler import Allocation, Batch, Scheduler, State
from steelyard.model import Host


def allocation(environ):
    told = environ.get("EXAMPLE_HOSTS")
    return Allocation(environ["EXAMPLE_JOB"], tuple(Host(name, 2) for name in told.split())) if told else None


def script(request):
    out, error = (request.folder / f"example-7.{kind}" for kind in ("out", "err"))
    command = shlex.join([*request.program, *request.words])
    return f"#!/bin/sh\\n#EX {' '.join(request.options)}\\nexec {command} >{out} 2>{error}\\n"


def state(job, ask):
    code = ask(["example-code", job], "").stdout.strip()
    if not code:
        return State("RUNNING", "", "here", "here"), ""
    return State("COMPLETED" if code in "01" else "FAILED", "", "here", "here", int(code), took="00:00:01"), ""


scheduler = Scheduler(
    name="example",
    title="Example",
    allocation=allocation,
    batch=Batch(
        commands=("example-submit", "example-code"),
        submit=("example-submit",),
        job=r"job (\\d+)",
        script=script,
        outputs="example-{job}.{kind}",
        cancel=("example-cancel",),
        watch="example-code",
        state=state,
        time=lambda seconds: f"{seconds:.0f}",
        times=r"(?!)",
    ),
    full_nodes="--alone",
)
'''
POINTS = """[steelyard.mpi]
example = example_mpi:flavour
[steelyard.scheduler]
starter = example_launcher:scheduler
example = example_scheduler:scheduler
"""


@pytest.fixture
def added(tmp_path: Path) -> Path:
    """A folder with packages as pip installs them."""
    files = {"example_mpi": FLAVOUR, "example_launcher": LAUNCHER, "example_scheduler": SCHEDULER}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    about = tmp_path / "example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    return tmp_path


@pytest.fixture
def known(added: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """They are known to this process."""
    caches = (mpi.flavours, scheduler.schedulers)
    monkeypatch.syspath_prepend(str(added))
    for cached in caches:
        cached.cache_clear()
    yield added
    for cached in caches:
        cached.cache_clear()
    for name in ("example_mpi", "example_launcher", "example_scheduler"):
        sys.modules.pop(name, None)


def test_the_files_of_the_package_are_found_by_themselves() -> None:
    for found, package in ((mpi.flavours(), mpi), (scheduler.schedulers(), scheduler)):
        files = {p.stem for p in Path(str(package.__file__)).parent.glob("[a-z]*.py")}
        assert len(found) == len(files) >= 4
        assert list(found) == sorted(found)


def test_a_flavour_is_one_file(known: Path, two_sockets: Machine) -> None:
    wrapper = write_script(known / "bin" / "examplecxx", '[ "$1" = --who ] && echo "This is Example MPI 7.1"; exit 0')
    start_program = write_script(known / "bin" / "example-start", "true")
    tool = ask_mpi(str(wrapper))
    assert tool == Tool("example", str(wrapper), "7.1")
    assert mpiexec_of(tool) == str(start_program)
    parameters = {"ranks": 2, "mpi": "example-7.1", "transport": "tcp"}
    launch = Launch(1, "network.pingpong", "gcc", 1, (Case("network.pingpong", "pingpong", parameters),))
    command, environment = start(Site({"example-7.1": tool}), two_sockets, launch, Path("/p"))
    told = "STEELYARD_CPUS,STEELYARD_MEMORY,STEELYARD_NODES,STEELYARD_RANK_IN,STEELYARD_LOCAL_RANK_IN,EXAMPLE_BY"
    assert command == [str(start_program), "--ranks", "2", "--tell", told, "/p"]
    assert (environment["EXAMPLE_BY"], environment["STEELYARD_RANK_IN"]) == ("tcp", "EXAMPLE_RANK")
    assert "--mpi=pmi7" in slurm.argv(Job(Path("p"), 2, tool))


def test_findings_tell_the_advice_of_a_flavour_that_was_added(known: Path) -> None:
    from test_network_findings import crowded, evaluation, found, message

    seen = evaluation([crowded(3e-3, mpi="example-7.1"), message(1e-6, mpi="example-7.1")])
    assert "EXAMPLE_NAP=1 makes it nap" in found("busy_waiting", seen)[0].remedy


def test_a_launcher_is_one_file(known: Path, two_sockets: Machine) -> None:
    assert site.site((), "example-run", (), two_sockets).launcher == "example-run"
    assert list(scheduler.launchers()) == ["mpiexec", "flux", "srun", "example-run"]


def test_a_scheduler_is_one_file(known: Path, two_sockets: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_HOSTS", "a b")
    monkeypatch.setenv("EXAMPLE_JOB", "7")
    assert site.hosts(None) == (Host("a", 2), Host("b", 2))
    assert site.site((), None, (), two_sockets).launcher == "mpiexec"
    monkeypatch.chdir(known)
    said = CliRunner().invoke(app, ["submit", "--scheduler", "example", "--dry-run", "--option=--fast"]).output
    assert said.startswith("#!/bin/sh\n#EX --fast\nexec ")


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("example_mpi:nothing", "cannot be loaded.*AttributeError"),
        ("example_mpi:words", "names a function, but it must name a"),
    ],
)
def test_an_entry_point_that_leads_to_nothing_of_the_kind_is_named(
    added: Path, known: Path, point: str, expected: str
) -> None:
    (added / "example-1.0.dist-info" / "entry_points.txt").write_text(f"[steelyard.mpi]\nexample = {point}\n")
    with pytest.raises(UsageError, match=f"steelyard.mpi: example = {point} {expected}"):
        mpi.flavours()


# --------------------------------------------------------------------------- for real

SMALL = ["--only", "memory.latency"]
for setting in ("threads=1", "chains=1", "page_size=4k", "bytes=4096"):
    SMALL += ["--set", setting]


def steelyard(added: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, where the three packages are installed and their programs are on the PATH."""
    paths = [str(added), *filter(None, [os.environ.get("PYTHONPATH")])]
    path = f"{added / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PATH": path}
    command = [sys.executable, "-m", "steelyard", *words]
    return subprocess.run(command, cwd=added, env=environment, capture_output=True, text=True, check=False, timeout=280)


def build_before(benchmarks: dict[str, Benchmark], here: Machine, own: Tool, other: Tool, cache: Path) -> None:
    """Puts the programs that `own` has made into an empty cache, where those of `other` are looked for."""
    toolchain = build.resolve(build.default(here), here)
    pingpong, stream = [benchmarks["network.pingpong"]], [benchmarks["memory.stream"]]  # the latter looks at the pace
    build.build(pingpong, toolchain, own)
    build.build(stream, toolchain)

    def paths(tool: Tool) -> list[Path]:
        every = (*programs_of(pingpong, toolchain, tool), *programs_of(stream, toolchain))
        return [path for program in every for path in (program.path, *(each.path for each in program.objects))]

    kept = paths(own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(cache))
        for wanted, path in zip(paths(other), kept, strict=True):
            wanted.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, wanted)


@pytest.mark.long
@pytest.mark.parametrize("built", ["before", pytest.param("by its own wrapper", marks=pytest.mark.long)])
def test_ranks_of_an_added_mpi_are_started_by_an_added_launcher(
    built: str, added: Path, here: Machine, benchmarks: dict[str, Benchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = mpis.mpi("default", here)
    if built == "before":
        other = Tool("example", str(added / "bin" / "examplecxx"), "7.1")
        build_before(benchmarks, here, own, other, added / "cache")
        monkeypatch.setenv("STEELYARD_CACHE", str(added / "cache"))
    tools = added / "bin"
    write_script(tools / "examplecxx", f'[ "$1" = --who ] && echo "Example MPI 7.1" || exec {own.path} "$@"')
    # The variables of Open MPI are taken away: where its number stands a rank learns from the flavour alone.
    rank = (
        "EXAMPLE_RANK=$OMPI_COMM_WORLD_RANK EXAMPLE_LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK; "
        'export EXAMPLE_RANK EXAMPLE_LOCAL_RANK; unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK; exec "$0"'
    )
    as_root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    words = f'{mpiexec_of(own)} -n "$2" --bind-to none --oversubscribe sh -c \'{rank}\' "$5"'
    write_script(tools / "example-start", f"{as_root}\nexec {words}")
    write_script(tools / "example-run", 'touch started; exec "$@"')
    done = steelyard(
        added, "run", "--only", "network.pingpong", "--mpi", str(tools / "examplecxx"), "--launcher", "example-run",
        "--set", "ranks=2", "--set", "message_bytes=8", "--set", "transport=default", "--budget", "2s", "--quiet",
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert (added / "started").exists()
    run = read(all_runs(added / "runs")[0])
    assert run.site.launcher == "example-run"
    assert {record.parameters["mpi"] for record in run.records} == {"example-7.1"}
    assert all(record.samples and record.check.passed for record in run.records)
    pinned = [processors(record) for record in run.records]
    assert all(len(pair) == 2 and min(pair) >= 0 for pair in pinned), (
        "a rank that does not know its number is not pinned"
    )


@pytest.mark.long
def test_a_run_is_submitted_to_an_added_scheduler_and_ends_with_its_report(added: Path) -> None:
    tools = added / "bin"
    write_script(tools / "example-submit", "cat >script; (sh script; echo $? >code) >/dev/null 2>&1 & echo job 7")
    write_script(tools / "example-code", "cat code 2>/dev/null")
    done = steelyard(added, "submit", "--scheduler", "example", "--", *SMALL, "--budget", "2s")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "steelyard: Example job 7 is running on here" in done.stderr
    run = read(all_runs(added / "runs")[0])
    assert done.stderr.splitlines()[-1] == f"steelyard: Example job 7 has ended. The report: {run.path}/report.html"
    assert (added / "runs" / "example-7.out").read_text() in done.stdout
