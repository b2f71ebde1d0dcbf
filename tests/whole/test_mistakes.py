"""Wrong and unusual command lines: each ends in a sentence and the right exit code, never in a traceback."""

import codecs
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from steelyard.errors import MachineFailed
from steelyard.judge.evaluation import evaluate
from steelyard.measure import plan, records
from steelyard.measure.machine import describe, description
from steelyard.measure.plan import catalogue
from steelyard.model import Check, Device, Machine, Record, Verdict
from steelyard.model.observed import Observed
from steelyard.show.command_line import cli, streams

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
LONG = "x" * 5000
MANY = "9" * 5000
PLAN = "plan --only memory.stream --set"
LATENCY = "plan --only memory.latency --set"
NETWORK = "plan --only network.pingpong --set"
SCALE = "scale node.vector --counts"


def make_run(runs: Path, here: Machine, finished: bool = True) -> Path:
    """A small run of memory.stream with samples that nobody measured: only its form matters here."""
    settings = {"kernel": ["triad"], "threads": [1], "elements": [4096], "pinning": ["compact"], "stores": ["ordinary"]}
    chosen = {"memory.stream": catalogue.find()["memory.stream"]}
    made = plan.make(chosen, here, plan.EFFORTS["quick"], settings, ["gcc-12.2.0"])
    folder = records.RunFolder.create(runs, here, made, {"versions": {"steelyard": "0"}})
    for launch in made.launches:
        for index, case in enumerate(launch.cases):
            parameters = {**case.parameters, "toolchain": launch.toolchain}
            work, samples = (
                {"bytes": 98304.0, "bytes_moved": 131072.0, "flops": 8192.0},
                tuple(1e-6 + 1e-9 * i for i in range(8)),
            )
            folder.append(
                Record(
                    benchmark=case.benchmark, kernel=case.kernel, parameters=parameters, launch=launch.number,
                    case=index, attempt=1, samples=samples, operations=100, work=work,
                    check=Check(True, "ok"), verdict=Verdict("CLEAN"), surroundings=Observed(cpus=[0]),
                )
            )  # fmt: skip
    if finished:
        folder.finish({"notes": [], "seconds": 1.0, "repeating_seconds": 0.0})
    folder.close()
    return folder.path


@dataclass(frozen=True)
class Place:
    """A folder with what the command lines name: runs, files, folders."""

    path: Path
    run: Path

    def words(self, line: str) -> list[str]:
        if re.search(r" (network|cluster)\b", line) and not describe().mpis:
            pytest.skip("there is no MPI on this machine")
        words = ("" if word == "''" else word.replace("~", " ") for word in line.split())
        return [word.format(here=self.path, run=self.run.name) for word in words]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    path, here = tmp_path_factory.mktemp("mistakes"), describe()
    run = make_run(path / "runs", here)
    evaluate(run)  # its table of results is no trace of a mistake
    for name, content in {
        "notjson": "{",
        "list": "[]",
        "deep": "[" * 100_000,
        "empty": "",
        "newer": json.dumps({"format": 99, "id": 3}),
        "binary": "\0\1\2",
    }.items():
        folder = path / "damaged" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(content)
        (folder / "records.jsonl").write_text("")
    shutil.copytree(run, path / "other")
    (path / "folder").mkdir()
    (path / "file").write_text("a file")
    (path / "system.toml").write_text("memory_bandwidth = nan\n")
    (path / "loop").symlink_to(path / "loop")
    (path / "mine" / "group").mkdir(parents=True)
    (path / "mine" / "group" / "broken.py").write_text("1/0\n")
    (path / "mine" / "group" / "broken.cpp").write_text("")
    return Place(path, run)


@pytest.fixture
def there(place: Place, here: Machine, monkeypatch: pytest.MonkeyPatch) -> Place:
    # The compilers and MPIs are asked once, and not by each of some 300 commands.
    monkeypatch.setattr(description, "find_tools", lambda **_: (here.compilers, here.mpis, ()))
    monkeypatch.chdir(place.path)
    monkeypatch.setenv("COLUMNS", "250")
    return place


# A line is split at its spaces; '' is an empty word, "~" a space within a word, {here} the test's folder, {run} its run's id.
REFUSED = [
    # Numbers, by --set
    (f"{PLAN} threads=1e400", "'1e400'"),
    (f"{PLAN} threads=nan", "'nan'"),
    (f"{PLAN} threads=inf", "'inf'"),
    (f"{PLAN} threads=two", "'two'"),
    (f"{PLAN} threads=1.5", "'1.5'"),
    (f"{PLAN} threads=-1", "'-1'"),
    (f"{PLAN} threads=0", "whole number from 1"),
    (f"{PLAN} threads=²", "'²'"),
    (f"{PLAN} threads=0x2", "'0x2'"),
    (f"{PLAN} threads=4096", "4096"),
    (f"{PLAN} threads={MANY}", "too large"),
    (f"{PLAN} threads", "NAME=VALUE"),
    (f"{PLAN} threads=", "NAME=VALUE"),
    (f"{PLAN} =4", "NAME=VALUE"),
    (f"{PLAN} threads=,", "empty"),
    (f"{PLAN} threads=1,~2", "space"),
    (f"{PLAN} thread=1", "Did you mean 'threads'"),
    (f"{PLAN} {LONG}=1", "None of the chosen benchmarks"),
    (f"{PLAN} elements=0", "'0'"),
    (f"{PLAN} elements=-5", "-5"),
    (f"{PLAN} elements=0.5", "whole"),
    (f"{PLAN} elements=1e400", "finite"),
    (f"{PLAN} elements=4x", "4x"),
    (f"{PLAN} elements=10000t", "memory"),
    (f"{PLAN} kernel=quadriad", "Did you mean 'triad'"),
    (f"{PLAN} stores=streamin", "Did you mean 'streaming'"),
    (f"{PLAN} pinning=sideways", "sideways"),
    (f"{PLAN} pinning=0-99999999999", "pinning"),
    (f"{PLAN} pinning=7000", "7000"),
    (f"{PLAN} page_size=5k", "Did you mean '4k'"),
    (f"{PLAN} memory_policy=bind:99", "bind:NODE"),
    (f"{PLAN} memory_policy=remote", "bind:NODE"),
    (f"{PLAN} plant=wolf", "no plant 'wolf'"),
    (f"{LATENCY} bytes=900t", "memory"),
    (f"{LATENCY} chains=3", "chains '3'"),
    ("plan --only memory.apexmap --set alpha=0", "above 0"),
    ("plan --only memory.apexmap --set alpha=2", "to 1"),
    ("plan --only memory.apexmap --set L=0", "L=0"),
    ("plan --only memory.apexmap --set L=1.5", "whole number"),
    ("plan --only memory.apexmap --set accumulators=7", "accumulators '7'"),
    ("plan --only memory.cores --set threads=1", "threads=1"),
    ("plan --only core.kernels --set stride=x", "stride=x"),
    ("plan --only core.flops --set intervals=5", "from 100"),
    ("plan --only core.peak --set vector_width=1024", "vector_width '1024'"),
    ("plan --only node.vector --set mode=magic", "mode 'magic'"),
    ("plan --only node.nbody --set bodies=0", "above 0"),
    ("plan --only noise.quanta --set quantum=5", "to 0.01"),
    ("plan --only application.npb_cg --set class=Z", "class 'Z'"),
    ("plan --only application.npb_cg --set model=cuda", "model 'cuda'"),
    (f"{NETWORK} ranks=0", "whole number from 1"),
    (f"{NETWORK} ranks=1000000", "too many"),
    (f"{NETWORK} buffers=stale", "buffers 'stale'"),
    (f"{NETWORK} message_bytes=900t", "memory"),
    (f"{NETWORK} transport=pigeon", "transport 'pigeon'"),
    (f"{NETWORK} placement=sideways", "sideways"),
    (f"{NETWORK} start=never", "start 'never'"),
    (f"{NETWORK} mpi=nonsense", "mpi 'nonsense'"),
    ("plan --only network.rate --set pairs=0.5", "whole number"),
    ("plan --only network.model --set delay=-1", "delay=-1"),
    # `run` and `scale` refuse what `plan` does
    ("run --only memory.latency --set chains=0", "chains '0'"),
    ("run --toolchain gcc~\"-O2", "quote"),
    ("build --toolchain gcc~\"-O2", "quote"),
    ("plan --toolchain ~", "no name"),
    ("plan --toolchain fortran-77", "fortran-77"),
    ("scale memory.latency --set chains=0", "chains '0'"),
    # Other numbers
    (f"{SCALE} 1,²", "'²'"),
    (f"{SCALE} 1,{MANY}", "too large"),
    (f"{SCALE} ,", "whole number"),
    (f"{SCALE} 1,99999999", "99999999"),
    ("scale cluster.flops --counts 1,99999999", "too many"),
    ("scale node.vector --weak --set elements=two", "two"),
    (f"plan --hosts a:{MANY}", "4096"),
    ("plan --hosts a:٣", "is not a host"),
    ("plan --hosts a,a", "twice"),
    (f"plan --only network.pingpong --hosts a:2,{LONG}:99999", "4096"),
    ("run --wait soon", "length of time"),
    ("plan --budget soon", "length of time"),
    ("plan --budget nan", "length of time"),
    ("plan --budget 1e400h", "finite"),
    ("plan --budget -5m", "positive"),
    ("plan --budget 0", "positive"),
    ("plan --seed 1.5", "1.5"),
    (f"plan --seed {MANY}", "too large"),
    ("plan --seed -99999999999999999999", "whole number"),
    ("compare {run} {run} --in-turn --rounds 3", "too few"),
    ("compare {run} {run} --in-turn --rounds 100000000", "10000"),
    ("compare {run} {run} --rounds many", "many"),
    # Names
    ("nonsense", "nonsense"),
    ("--nonsense", "nonsense"),
    ("plan --nonsense", "nonsense"),
    ("plan extra", "extra"),
    ("plan --preset quik", "Did you mean 'quick'"),
    ("plan --only memory.steam", "Did you mean 'memory.stream'"),
    ("plan --only", "--only"),
    (f"plan --only {LONG}", "no benchmark"),
    ("plan --mpi nonsense", "no MPI"),
    (f"plan --mpi /{LONG}", "does not exist"),
    ("plan --mpi /etc/passwd", "its mode does not allow"),
    ("plan --launcher ssh", "no launcher"),
    ("plan --system {here}/missing.toml", "missing.toml"),
    (f"plan --system {LONG}", "no system file"),
    ("plan --system {here}/folder", "folder"),
    ("plan --system system.toml", "memory_bandwidth"),
    ("doctor --system nonsense", "no system file"),
    ("plan --path {here}/missing", "not a folder"),
    (f"plan --path {LONG}", "not a folder"),
    ("plan --path {here}/file", "not a folder"),
    ("plan --path {here}/folder", "no benchmark"),
    ("plan --path {here}/mine", "ZeroDivisionError"),
    ("list --path {here}/file", "not a folder"),
    ("build --only nonsense", "no benchmark"),
    ("build --mpi nonsense", "no MPI"),
    ("selfcheck --only nonsense", "no check"),
    ("show 20200101-000000", "no run"),
    (f"show {LONG}", "no run"),
    ("show --runs missing", "no run"),
    ("show --runs file", "no run"),
    (f"show --runs {LONG}", "no run"),
    ("show {here}/folder", "not a run folder"),
    ("show {here}", "not a run folder"),
    ("show loop", "no run"),
    ("show --json --all", "Choose one of them"),
    ("show ''", "empty"),
    ("resume ''", "empty"),
    ("compare '' ''", "empty"),
    ("export -o ''", "empty"),
    ("run --json --all", "Choose one of them"),
    ("resume nonsense", "no run"),
    (f"resume {LONG}", "no run"),
    ("compare", "No run is given"),
    ("compare {run} --group a=nosuch*", "The group 'a' is empty"),
    ("compare {run} Mont-Blanc~node --baseline nosuch", "The baseline 'nosuch' is not one of the sides"),
    ("compare {run} {run} {run}", "is given twice"),
    ("compare {run} {run}", "is given twice"),
    ("compare {run} {here}/runs/../runs/{run} --json", "is given twice"),
    ("compare {run} {run} --fail-on-slower", "is given twice"),
    ("compare {run} {run} --equal-time", "is given twice"),
    ("compare {run} Mont-Blanc~node --only nosuch", "has no benchmark 'nosuch' (given by --only)"),
    ("compare {run} nosuch", "List all systems with: steelyard systems"),
    ("compare {run} nosuch.toml", "The file of a system 'nosuch.toml' cannot be read"),
    ("systems Fugakoo", "There is no system 'Fugakoo'. Did you mean 'Fugaku'?"),
    ("systems nosuch.toml --json", "cannot be read"),
    ("frobnicate", "There is no command 'frobnicate'. Known are: build"),
    ("powr", "Did you mean 'power'?"),
    ("power qery", "Did you mean 'query'?"),
    ("run --onyl memory", "No such option: --onyl"),
    ("show a b", "unexpected extra argument"),
    ("run --json=3", "does not take a value"),
    ("show --runs", "requires an argument"),
    ("power query c/n", "Missing option '--store'"),
    ("list memroy.stream", "Did you mean 'memory.stream'?"),
    ("run --name a/b", "is not a valid name for a run"),
    ("run --only noise --name {run}", "already"),
    ("remove nosuch", "There is no run 'nosuch'"),
    ("remove", "Missing argument 'RUN'"),
    ("remove {run}", "Use --yes"),
    ("whatif nosuch", "There is no trace 'nosuch'"),
    ("whatif nosuch --set network=L=1us", "There is no trace 'nosuch'"),
    ("compare -- true", "two are compared"),
    ("compare -- nosuchcommand true", "'nosuchcommand' cannot be started"),
    ("compare {run} nonsense", "There is no published system"),
    ("compare nonsense {run}", "no run"),
    (f"compare {{run}} {LONG}", "no run"),
    ("compare {run} 4x~AMD~8350~Barcelona --fail-on-slower", "two runs"),
    ("report --against nonsense", "nonsense"),
    ("report {run} --baseline nonsense", "'nonsense' (given by --baseline) needs at least two sides"),
    ("report {run} Mont-Blanc~node --baseline nonsense", "'nonsense' (given by --baseline) is none of the sides"),
    ("report {run} {run}", "is given twice"),
    ("report {run} --against {run}", "is given twice"),
    ("report --against {run}", "is given twice"),
    ("report {run} --group old={here}/nothing*", "The group 'old' is empty"),
    ("report Mont-Blanc~node 4x~AMD~8350~Barcelona", "--output systems.html"),
    ("report Mont-Blanc~node 4x~AMD~8350~Barcelona --trace lu -o {here}/x.html", "lu"),
    # Output
    ("export --format xml", "cannot be exported as 'xml'"),
    ("export --format parquet", "--output"),
    ("export --only nosuch", "has no benchmark 'nosuch' (given by --only)"),
    ("export -o {here}/folder", "it is a folder"),
    ("export -o {here}/missing/x.json", "does not exist"),
    ("export -o {here}/file/x.json", "is a file"),
    (f"export -o {LONG}", "File name too long"),
    ("export -o {here}/loop", "symbolic links"),
    ("export --format csv -o {here}/folder", "it is a folder"),
    ("export --format parquet -o {here}/folder", "it is a folder"),
    ("export --format parquet -o {here}/missing/x.parquet", "does not exist"),
    ("report -o {here}/folder", "it is a folder"),
    ("report -o {here}/missing/x.html", "does not exist"),
    ("report -o {here}/file/x.html", "is a file"),
    (f"report -o {LONG}", "File name too long"),
    ("run --report {here}/folder", "it is a folder"),
    ("run --report {here}/missing/x.html", "does not exist"),
    ("scale node.vector --report {here}/folder", "it is a folder"),
    # Questions
    ("query", "SQL"),
    ("query ''", "empty"),
        ("query -- --nothing", "empty"),
    ("query ;", "empty"),
    ("query nonsense", "The query cannot be answered"),
    ("query select~nothing~from~no_table", "no_table"),
    ("query select~*~from~read_csv('/etc/passwd')", "The query cannot be answered"),
    ("query copy~metrics~to~'x.csv'", "cannot be answered"),
    ("query attach~'x.db'", "cannot be answered"),
    ("query select~'1'::blob::int", "cannot be answered"),
    # Jobs
    ("submit --dry-run --nodes 0", "nodes"),
    ("submit --dry-run --nodes two", "two"),
    ("submit --dry-run --ranks-per-node -1", "ranks-per-node"),
    ("submit --dry-run --time 90", "no unit"),
    ("submit --dry-run --time soon", "length of time"),
    ("submit --dry-run --time 1e400h", "finite"),
    ("submit --dry-run --option nonsense", "not an option of sbatch"),
    ("submit --dry-run --resume nonsense", "no run"),
    ("submit --dry-run -- --only nonsense", "no benchmark"),
    ("submit --dry-run -- --set threads=two", "'two'"),
    ("submit --dry-run -- --only memory.latency --set chains=0", "chains '0'"),
    ("submit --dry-run -- --preset quik", "Did you mean 'quick'"),
    ("submit --dry-run -- --toolchain gcc~\"-O2", "quote"),
    ("submit --dry-run -- --report {here}/missing/x.html", "does not exist"),
    ("submit --dry-run -- --runs elsewhere", "two dashes"),
    ("submit --dry-run -- --nonsense", "nonsense"),
]  # fmt: skip


def contents(folder: Path) -> list[Path]:
    """All files and folders but what Python keeps of a benchmark that it has read."""
    return sorted(p for p in folder.rglob("*") if "__pycache__" not in p.parts)


@pytest.mark.parametrize(("line", "expected"), REFUSED, ids=lambda text: text[:60])
def test_a_wrong_command_line_is_refused_with_a_sentence(
    line: str, expected: str, there: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(there.path)
    code = cli.run_and_explain(lambda: cli.app(there.words(line)))
    said = capsys.readouterr().err
    assert code == 2, said
    assert expected in said
    assert len(said) < 3000, "a mistake of thousands of letters is not repeated whole"
    assert contents(there.path) == before, "nothing is left behind"


FAILED = [
    ("show damaged/notjson", "cannot be read"),
    ("show damaged/list", "expected form"),
    ("show damaged/deep", "cannot be read"),
    ("show damaged/empty", "cannot be read"),
    ("show damaged/newer", "newer Steelyard"),
    ("show damaged/binary", "cannot be read"),
    ("compare damaged/list {run}", "expected form"),
    ("resume damaged/notjson", "cannot be read"),
    ("report damaged/empty", "cannot be read"),
    ("export -o /dev/full", "No space left"),
    ("export --format csv -o /dev/full", "No space left"),
    ("report -o /dev/full", "No space left"),
    ("export -o /proc/version", "written"),
    ("report -o /sys/x.html", "written"),
]


@pytest.mark.parametrize(("line", "expected"), FAILED, ids=lambda text: text[:60])
def test_what_the_machine_refuses_is_said_with_exit_code_4(
    line: str, expected: str, there: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(there.path)
    assert cli.run_and_explain(lambda: cli.app(there.words(line))) == 4
    assert expected in capsys.readouterr().err
    assert contents(there.path) == before


UNUSUAL = [
    "--version",
    "--help",
    "run --help",
    "list",
    "list --json",
    "list --runs missing",
    "list --runs damaged",
    "list --runs file",
    "show",
    "show {run}",
    "show {here}/runs/{run}",
    "show --json",
    "export -o /dev/null",
    "export --format csv -o /dev/null",
    "report -o /dev/null",
    "query select~1~as~a,2~as~a --json",
    "query create~table~x~as~select~1",
    "query select~'→~µ'",
    "query select~count(*)~from~metrics;select~2",
    "compare {run} {here}/other",
    "compare {run} {here}/other --json",
    "compare {run} {here}/other --fail-on-slower",
    "plan --only memory.stream --budget 1e-9s",
    "plan --only memory.stream --budget 1e300h",
    "plan --only memory.stream --seed -99999999999999",
    "plan --only memory.stream --set threads=1,1,1",
    "plan --only memory.stream --set elements=1e6",
    "plan --only memory.stream --set elements=1.5k",
    "plan --only memory.latency --set threads=01",
    "plan --only network.pingpong --set message_bytes=0,00",
    "plan --only network.pingpong --hosts a:4096,b:4096",
    "plan --only network --set ranks=2 --json",
    "submit --dry-run --time 90m -- --only memory.stream --set threads=64",
]


@pytest.mark.parametrize("line", UNUSUAL)
def test_an_unusual_command_line_works(line: str, there: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_and_explain(lambda: cli.app(there.words(line))) == 0, capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().err


# --------------------------------------------------------------------------- as a process: output, signals, disks


@dataclass(frozen=True)
class Ended:
    """What became of a command in a process of its own."""

    code: int
    out: bytes
    err: bytes


def forked(
    line: str, place: Place, stdout: int | None = None, stderr: int | None = None, encoding: str = "utf-8"
) -> Ended:
    """The command in a process that has everything imported already: a tenth of the time of a fresh one."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.chdir(place.path)
                os.dup2(out.fileno() if stdout is None else stdout, 1)
                os.dup2(err.fileno() if stderr is None else stderr, 2)
                sys.argv = ["steelyard", *place.words(line)]
                # Opened anew: what was a file may be a pipe now.
                sys.stdout = sys.__stdout__ = open(1, "w", encoding=encoding, errors="strict", closefd=False)  # noqa: SIM115
                sys.stderr = sys.__stderr__ = open(2, "w", encoding=encoding, errors="strict", closefd=False)  # noqa: SIM115
                cli.main()
            except SystemExit as ended:
                code = int(ended.code or 0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        for file in (out, err):
            file.seek(0)
        return Ended(os.waitstatus_to_exitcode(status), out.read(), err.read())


def started(line: str, place: Place, **more: object) -> Ended:
    """The command in a fresh process."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **more}
    done = subprocess.run([STEELYARD, *place.words(line)], cwd=place.path, check=False, **more)  # type: ignore[call-overload]
    return Ended(done.returncode, done.stdout, done.stderr)


def without_a_reader(line: str, place: Place, start: Callable[..., Ended]) -> Ended:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return start(line, place, stdout=writing)
    finally:
        os.close(writing)


SHOWING = [
    "show",
    "show --json",
    "list",
    "list --json",
    "export",
    "compare {run} {here}/other",
    "plan --only memory.stream",
    "--help",
]


@pytest.mark.parametrize("line", [*SHOWING, "doctor", "export --format csv", "--version", "query select~42"])
def test_a_reader_that_goes_away_is_no_mistake(line: str, there: Place) -> None:
    assert without_a_reader(line, there, forked) == Ended(0, b"", b"")


@pytest.mark.parametrize("line", ["show", pytest.param("query select~42", marks=pytest.mark.long)])
def test_a_reader_of_a_fresh_process_that_goes_away_is_no_mistake(line: str, there: Place) -> None:
    done = without_a_reader(line, there, started)
    assert (done.code, done.err) == (0, b"")


@pytest.mark.parametrize("line", SHOWING)
def test_a_full_disk_behind_standard_output_is_said(line: str, there: Place) -> None:
    with open("/dev/full", "wb") as full:
        done = forked(line, there, stdout=full.fileno())
    assert done == Ended(
        4,
        b"",
        b"steelyard: Standard output cannot be written: No space left on device. Free some space, or choose another file.\n",
    )


def test_the_exit_code_says_what_standard_error_cannot(there: Place) -> None:
    with open("/dev/full", "wb") as full:
        assert forked("show nothing", there, stderr=full.fileno()).code == 2
    closed = f"{STEELYARD} show nothing 2>&-; echo $?; {STEELYARD} list >&-; echo $?"
    done = subprocess.run(closed, shell=True, cwd=there.path, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "2\n0\n"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("encoding", ["ascii", "koi8-r"])
@pytest.mark.parametrize("line", [*SHOWING, "doctor", "run --help", "show nöthing", "list --nönsense"])
def test_a_terminal_that_is_not_utf_8_gets_what_it_can_show(encoding: str, line: str, there: Place) -> None:
    done = forked(line, there, encoding=encoding)
    assert done.code == (2 if "ö" in line else 0), done.err
    assert (done.out + done.err).decode(encoding)
    assert b"Traceback" not in done.err


@pytest.mark.parametrize(
    "surroundings",
    [
        pytest.param({"PYTHONIOENCODING": "ascii"}, marks=pytest.mark.long),
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
    ids=str,
)
def test_a_fresh_process_on_such_a_terminal_does_so_too(surroundings: dict[str, str], there: Place) -> None:
    done = started("show", there, env={**os.environ, **surroundings})
    assert (done.code, done.err) == (0, b"")
    assert done.out.decode("ascii")


def test_what_a_terminal_lacks_is_spelled_with_what_it_has() -> None:
    codecs.register_error("steelyard", streams.spell_missing)
    text = "a→b 5 µs ≥ ½ ünd ³ 漢 \udcff"
    assert text.encode("ascii", "steelyard") == b"a->b 5 us >= 1/2 und 3 ? \xff"
    assert text.encode("latin-1", "steelyard") == b"a->b 5 \xb5s >= \xbd \xfcnd \xb3 ? \xff"


def test_a_file_whose_name_is_no_text_is_written_and_named(place: Place) -> None:
    name = os.fsdecode(b"report\xff.html")
    assert forked(f"report -o {name}", place) == Ended(0, b"report\xff.html\n", b"")
    (place.path / name).unlink()


@pytest.mark.long
def test_ctrl_c_ends_it_without_a_traceback_at_any_moment(place: Place) -> None:
    """From the first line of ours on: what Python does before (some hundredths of a second) is its own."""
    for wait in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7):
        ours = "import steelyard.__main__ as ours, sys; print(flush=True); ours.main()"
        with subprocess.Popen(
            [sys.executable, "-c", f"{ours}", "plan", "--json"],
            cwd=place.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        assert b"Traceback" not in said, said.decode()
        assert process.returncode in (130, 0), said.decode()
        assert process.returncode == 0 or said.endswith(b"steelyard: interrupted\n"), (wait, said)


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A small file system of its own."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


mounted = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")


@mounted
def test_a_full_disk_leaves_no_half_made_run_and_no_half_made_file(there: Place, tmp_path: Path, here: Machine) -> None:
    with disk(tmp_path / "disk", "4k") as small:
        with pytest.raises(MachineFailed, match="No space left.*--runs"):
            make_run(small / "new" / "runs", here)
        assert list(small.iterdir()) == []
        (small / "old.html").write_text("an old report")
        for line in (f"report -o {small}/old.html", f"report -o {small}/x.html", f"export -o {small}/x.json"):
            assert cli.run_and_explain(lambda line=line: cli.app(there.words(line))) == 4
        for form in ("csv", "parquet"):
            cli.run_and_explain(lambda form=form: cli.app(["export", "--format", form, "-o", f"{small}/x.{form}"]))
        (small / "x.csv").unlink(missing_ok=True)  # this one is small enough
        assert [p.name for p in small.iterdir()] == ["old.html"]
        assert (small / "old.html").read_text() == "an old report"


@mounted
def test_a_read_only_file_system_is_said(
    there: Place, tmp_path: Path, here: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    with disk(tmp_path / "disk", "1m") as small:
        run = make_run(small / "runs", here, finished=False)
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        with pytest.raises(MachineFailed, match="Read-only file system"):
            records.RunFolder(run)
        for line in (f"report {run}", f"report -o {small}/x.html", f"export -o {small}/x.json", f"resume {run}"):
            assert cli.run_and_explain(lambda line=line: cli.app(there.words(line))) == 4
            said = capsys.readouterr().err
            assert "cannot write there" in said or "Read-only file system" in said
        with pytest.raises(MachineFailed, match="Read-only file system"):
            make_run(small / "more", here)


def test_a_file_that_is_replaced_keeps_its_rights_and_a_link_keeps_its_goal(there: Place, tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.csv", tmp_path / "link.csv"
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    assert cli.run_and_explain(lambda: cli.app(["export", "--format", "csv", "-o", str(link)])) == 0
    assert link.is_symlink()
    assert kept.read_text().startswith("run,system")
    assert kept.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.csv", "link.csv"]


# --------------------------------------------------------------------------- what is possible, but unwise


@pytest.mark.parametrize("line", ["plan --only network.pingpong --set ranks=64", "plan --only network --set ranks=128"])
def test_many_ranks_on_few_processors_are_warned_of_with_the_time(
    line: str, there: Place, capsys: pytest.CaptureFixture[str], here: Machine
) -> None:
    if not here.mpis:
        pytest.skip("there is no MPI on this machine")
    if len(here.cpus) > 16:
        pytest.skip("this machine has processors for so many ranks")
    assert cli.run_and_explain(lambda: cli.app(there.words(line))) == 0
    said = capsys.readouterr()
    assert "64 ranks share" in said.err or "128 ranks share" in said.err
    assert "takes about" in said.err
    assert cli.run_and_explain(lambda: cli.app(["plan", "--only", "network.pingpong", "--set", "ranks=2"])) == 0
    assert capsys.readouterr().err == ""


def test_ranks_that_share_a_processor_are_expected_to_take_longer(two_sockets: Machine) -> None:
    benchmarks = {"network.operations": catalogue.find()["network.operations"]}

    def seconds(ranks: int) -> float:
        made = plan.make(benchmarks, two_sockets, plan.EFFORTS["quick"], {"ranks": [ranks]}, ["gcc"], mpis=["openmpi"])
        return made.seconds

    assert seconds(2) < seconds(4) < 1.01 * seconds(2)
    assert seconds(128) > 3 * seconds(4)


DECLARED = re.compile(r'p\.choice\("(\w+)", "[^"]*", \{([^}]*)\}\)')


def test_the_words_that_a_kernel_reads_are_known_to_the_plan(here: Machine) -> None:
    """Each p.choice of a benchmark's own sources, where its axes name the parameter: the plan refuses what the kernel does."""
    missing = []
    # A processor without the widest vectors has fewer words.
    widest = replace(here, architecture="x86_64", fma_width=8)
    with_device = replace(widest, devices=(Device(0, "d", "GPU", 1, False),))
    for name, benchmark in catalogue.find().items():
        blocks = [b for effort in plan.EFFORTS.values() for b in benchmark.axes(with_device, effort)]
        named = {n for block in blocks for n in block.values} - {"model", "start", "page_size"}
        for source in benchmark.sources:
            folder = Path(source.path)
            included = re.findall(r'#include "([^"]+)"', folder.read_text())
            texts = [folder.read_text()] + [
                (folder.parent / f).read_text() for f in included if (folder.parent / f).is_file()
            ]
            for parameter, words in (found for text in texts for found in DECLARED.findall(text)):
                stated = {str(v) for block in blocks for v in block.choices.get(parameter, ())}
                if parameter in named and not set(re.findall(r'"([^"]*)"', words)) <= stated:
                    missing.append((name, parameter, words))
    assert missing == []
