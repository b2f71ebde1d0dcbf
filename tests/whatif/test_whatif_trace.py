"""`steelyard trace`: programs with an MPI, traced for real, and what the replay makes of their traces."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folders import DATA
from mpis import FLAVOURS, mpi
from output_schemas import read_output
from replays import Parameters, asked, ti
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import build
from steelyard.model import Machine, Tool
from steelyard.show.command_line import cli
from steelyard.whatif import tracing
from traces import mpiexec

SOURCES = DATA / "traced"
P = Parameters(L=1_000_000, o=100_000, g=50_000, O=3, G=100)
WORK_FREE = f"{P.word()} core=1e12"  # what is computed takes no time: then the messages alone decide
Traced = Callable[..., list[dict[str, Any]]]


# MPICH is installed from PyPI, which `make test` does not do.
MPIS = ["default", pytest.param("mpich", marks=pytest.mark.long)]


@pytest.fixture(params=MPIS)
def own(request: pytest.FixtureRequest, here: Machine) -> Tool:
    return mpi(request.param, here)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Tool], Path]:
    """Compiles one of the programs with an MPI, once."""
    folder = tmp_path_factory.mktemp("programs")

    def make(program: str, own: Tool) -> Path:
        binary = folder / f"{program}-{own.name}"
        if not binary.exists():
            wrapper = own.path.replace("mpicxx", "mpicc")
            subprocess.run([wrapper, "-O1", SOURCES / f"{program}.c", "-o", binary], check=True)
        return binary

    return make


@pytest.fixture
def traced(
    compiled: Callable[[str, Tool], Path], own: Tool, here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Traced:
    """Traces one of the programs with so many ranks, and asks the replay; leaves the trace in `trace`."""

    def run(program: str, ranks: int, *words: str, questions: tuple[str, ...] = (WORK_FREE,), code: int = 0) -> Any:
        binary = compiled(program, own)
        shutil.rmtree(tmp_path / "trace", ignore_errors=True)
        made = tracing.record([*mpiexec(binary, ranks, own, monkeypatch), *words], tmp_path / "trace", here, own)
        assert (made.code == 0) == (code == 0)
        assert made.ranks == ranks
        return asked(tmp_path / "trace", *questions)

    return run


@pytest.mark.parametrize("ranks", [2, 3, pytest.param(5, marks=pytest.mark.long)])
def test_each_kind_of_call_is_replayed(traced: Traced, ranks: int) -> None:
    questions = WORK_FREE, WORK_FREE.replace("eager=65535", "eager=0"), f"{WORK_FREE} mode=event", P.word()
    about, *found = traced("calls", ranks, questions=questions)
    assert (about["ranks"], about["unreceived"], about["traced"]["broken"]) == (ranks, 0, [])
    # What every rank sends to its neighbour: 64 doubles twice, a MiB, 4 times 100 numbers; then there is more of smaller ones.
    assert about["bytes"] > ranks * ((1 << 20) + 2 * 512 + 1600)
    assert about["bytes"] < ranks * ((1 << 20) + 8192)
    assert all(x["time"][0] > 0 for x in found)
    assert about["traced"]["bytes"] < about["traced"]["calls"] * 10 + ranks * 200


@pytest.mark.long
def test_several_threads_may_call_mpi(traced: Traced) -> None:
    about, _ = traced("calls", 2, "threads")
    assert (about["unreceived"], about["traced"]["broken"]) == (0, [])


def known(folder: Path) -> list[dict[str, Any]]:
    """What the replay says of the programs' known part, written down by hand."""
    rounds = [y for _ in range(100) for y in ("irecv {left} 1 4", "isend {right} 1 4", "waitall", "bcast 4 0")]
    first = [
        "bcast 1024 0",
        "irecv {left} 7 5000",
        "isend {right} 7 5000",
        "waitall",
        "allreduce 800 0",
        "alltoall 300 300",
    ]
    actions = [*first, "barrier", *rounds]
    ranks = [[a.format(left=(r + 3) % 4, right=(r + 1) % 4) for a in actions] for r in range(4)]
    return asked(ti(folder, ranks), WORK_FREE, f"{WORK_FREE} mode=event")


def alike(found: list[dict[str, Any]], by_hand: list[dict[str, Any]]) -> None:
    assert [found[0][name] for name in ("messages", "bytes")] == [by_hand[0][name] for name in ("messages", "bytes")]
    assert [one["time"] for one in found[1:]] == [one["time"] for one in by_hand[1:]]


def test_a_program_is_replayed_as_the_same_written_by_hand(traced: Traced, tmp_path: Path) -> None:
    found = traced("endings", 4, "known", questions=(WORK_FREE, f"{WORK_FREE} mode=event"))
    alike(found, known(tmp_path))


@pytest.mark.long
def test_regions_of_pcontrol_and_iterations_are_replayed_alone(traced: Traced, tmp_path: Path) -> None:
    (about,) = traced("endings", 2, "regions", questions=())
    trace, word = tmp_path / "trace", f"{P.word()} mode=event"

    def part(*words: str, question: str = word) -> tuple[int, int]:
        about, found = asked(trace, question, part=words)
        assert about["crossing"] == 0  # all ranks change at the same calls
        return about["messages"], found["time"][0]

    assert part("-", "0", "2")[0] == about["messages"]
    computing, talking = part("-", "1", "1"), part("-", "2", "2")
    assert computing[0] == 0
    # ps: five times 10 ms by the clock on the wall, in which a rank may wait for a processor.
    assert 5e10 - 1e12 * about["traced"]["preempted"] <= computing[1] <= 1e12 * about["traced"]["time"]
    assert talking[0] == 5 * 2
    assert part("-", "1", "1", question=f"{word} speeds=2,100,1,1")[1] <= 0.011 * computing[1]
    # The last ten of a hundred broadcasts, and the messages round about them, of which nine begin after one.
    assert part("bcast", "91", "100")[0] == 10 + 2 * 9
    assert asked(trace, part=("bcast", "101", "101"))[0]["error"].endswith("The greatest region is 100")


FORTRAN = {"mpif.h": "-fallow-argument-mismatch", "mpi": "-DMODULE", "mpi_f08": "-DF08"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", FORTRAN)
def test_a_program_in_fortran_is_replayed_as_the_same_written_by_hand(
    form: str, here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    able = [own for own in here.mpis if Path(own.path.replace("mpicxx", "mpifort")).exists()]
    if not able or not shutil.which("gfortran"):  # the wrapper comes with Open MPI, the compiler does not
        pytest.skip("There is no MPI with Fortran: apt-get install libopenmpi-dev gfortran")
    words = [able[0].path.replace("mpicxx", "mpifort"), FORTRAN[form], SOURCES / "known.F90", "-o", tmp_path / "known"]
    subprocess.run(words, check=True)
    tracing.record(mpiexec(tmp_path / "known", 4, able[0], monkeypatch), tmp_path / "trace", here, able[0])
    alike(asked(tmp_path / "trace", WORK_FREE, f"{WORK_FREE} mode=event"), known(tmp_path))


@pytest.mark.parametrize("how", ["kill", "crash", "abort", "MPI_Abort"])
def test_a_program_that_is_ended_leaves_its_trace_up_to_there(traced: Traced, how: str) -> None:
    about, found = traced("endings", 2, how, code=1)
    broken = {x["rank"]: x for x in about["traced"]["broken"]}
    # 51 rounds of two calls each; the other rank may have gone on to wait for one more.
    assert broken[1]["call"] - (how == "MPI_Abort") == 102
    assert ("MPI_Abort" in broken[1]["why"]) == (how == "MPI_Abort")
    assert 101 <= broken[0]["call"] <= 103
    assert about["messages"] in (152, 153, 154)
    assert found["time"][0] > 0


@pytest.mark.alone
def test_computing_takes_as_long_in_the_replay(traced: Traced, own: Tool) -> None:
    about, found = traced("endings", 2, "compute", questions=("across=0,0,0,0,0,0",))
    recorded = about["traced"]
    assert recorded["computing"] >= 0.5
    # Either rank may wait for a processor while the other waits for it.
    allowed = 0.01 * recorded["time"] + 2 * recorded["preempted"] + recorded["tool"]
    assert found["time"][0] / 1e12 == pytest.approx(recorded["time"], abs=allowed)


@pytest.mark.alone
@pytest.mark.parametrize(("between", "computing"), [("spin", 0.0), ("sleep", 0.0), ("compute", 0.1)])
def test_a_rank_that_polls_waits_unless_it_computes(traced: Traced, between: str, computing: float) -> None:
    # Rank 0 sends after 0.1 s, in which it computes for the replay, whatever it did.
    about, found = traced("polls", 2, between, questions=("across=0,0,0,0,0,0 accounts=yes",))
    assert found["time"][0] / 1e12 == pytest.approx(0.1, rel=0.3)
    # A neighbour on the processor makes the gaps between two questions longer.
    assert found["computing"][1] / 1e12 == pytest.approx(computing, abs=0.02 + about["traced"]["preempted"])


@pytest.mark.long
def test_computing_between_polls_is_not_counted_as_sleeping(traced: Traced) -> None:
    computing = {
        between: traced("polls", 2, between, questions=("across=0,0,0,0,0,0 accounts=yes",))[1]["computing"][1]
        for between in ("sleep", "compute")
    }
    assert 2 * computing["sleep"] < computing["compute"]


def test_a_rank_ends_at_a_message_of_a_missing_file(traced: Traced, tmp_path: Path) -> None:
    traced("endings", 3)
    path = tmp_path / "trace" / "rank-2.trace"
    path.write_bytes(path.read_bytes()[:600])
    about, found = asked(tmp_path / "trace", WORK_FREE)
    broken = about["traced"]["broken"]
    assert [x["rank"] for x in broken] == [0, 1, 2]
    assert "trace ends" in broken[2]["why"]
    assert any("never came" in x["why"] for x in broken)
    assert found["time"][0] > 0


@pytest.mark.parametrize("examples", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_a_damaged_trace_is_replayed_or_refused_with_its_place(
    small_trace: Path, tmp_path: Path, examples: int
) -> None:
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def search(data: st.DataObject) -> None:
        _replay_damaged(small_trace, tmp_path / "damaged", data)

    search()


def _replay_damaged(small_trace: Path, folder: Path, data: st.DataObject) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(small_trace, folder)
    path = folder / f"rank-{data.draw(st.integers(0, 1))}.trace"
    whole = bytearray(path.read_bytes())
    match data.draw(st.sampled_from(["flip", "cut", "random"])):
        case "flip":
            for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
                whole[at] ^= data.draw(st.integers(1, 255))
        case "cut":
            del whole[data.draw(st.integers(0, len(whole))) :]
        case "random":
            at = data.draw(st.integers(0, len(whole)))
            whole[at : at + 40] = data.draw(st.binary(min_size=1, max_size=40))
    path.write_bytes(whole)
    about, *found = asked(folder, WORK_FREE, f"{WORK_FREE} mode=event")
    if "error" in about:
        assert str(folder) in about["error"] or "rank" in about["error"] or "computations" in about["error"]
    else:
        assert all("time" in x or "waits forever" in x["error"] for x in found)


@pytest.fixture(scope="module")
def small_trace(compiled: Callable[[str, Tool], Path], here: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two ranks with all kinds of calls."""
    own, folder = mpi("default", here), tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        tracing.record(mpiexec(compiled("calls", own), 2, own, patch), folder / "trace", here, own)
    return folder / "trace"


def test_the_command_traces_and_whatif_says_the_traced_time(
    small_trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run_words(["whatif", str(small_trace), "--set", "network=L=1us,o=100ns"])
    assert "Traced time: " in capsys.readouterr().out
    cli.run_words(["whatif", str(small_trace), "--set", "network=L=1us,o=100ns", "--json"])
    found = read_output("whatif", capsys.readouterr().out)
    assert found["traced"]["time"] > 0
    about = read_output("trace.json", (small_trace / "trace.json").read_text())
    assert (about["ranks"], about["code"], about["format"]) == (2, 0, 1)


def test_a_command_without_mpi_leaves_no_trace_and_is_told_so(elsewhere: Path, here: Machine) -> None:
    mpi("default", here)
    with pytest.raises(MachineFailed, match="wrote no trace"):
        cli.run_words(["trace", "-o", "here", "--", "/bin/true"])
    with pytest.raises(UsageError, match="cannot be started"):
        cli.run_words(["trace", "-o", "here", "--", "/bin/no-such-program"])
    assert not (elsewhere / "here").exists()


# A library with the one function of an MPI that is called, and a symbol of Open MPI where the tracer is for another one.
OTHER = "int PMPI_Init(int *c, char ***w) { return 0; } int MPI_Init(int *c, char ***w) { return 0; }\n"
STARTS = "int MPI_Init(int *c, char ***w); int main(int c, char **w) { return MPI_Init(&c, &w); }\n"


def test_a_program_of_another_mpi_ends_with_a_sentence(
    here: Machine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    own = mpi("default", here)
    (tmp_path / "other.c").write_text(OTHER + ("" if own.name == "openmpi" else "int ompi_mpi_comm_world;\n"))
    (tmp_path / "starts.c").write_text(STARTS)
    library, program = tmp_path / "libother.so", tmp_path / "starts"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "other.c", "-o", library], check=True)
    subprocess.run(["cc", tmp_path / "starts.c", library, "-o", program], check=True)
    with pytest.raises(MachineFailed, match="Name the MPI of the program with --mpi"):
        tracing.record([str(program)], tmp_path / "trace", here, own)
    assert "compiled for an MPI other than that of this program" in capfd.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize(("made_for", "told"), [FLAVOURS, FLAVOURS[::-1]])
def test_a_tracer_for_another_mpi_ends_the_program_with_a_sentence(
    made_for: str,
    told: str,
    here: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    own = mpi(made_for, here)
    subprocess.run([own.path.replace("mpicxx", "mpicc"), SOURCES / "endings.c", "-o", tmp_path / "endings"], check=True)
    with pytest.raises(MachineFailed, match="Name the MPI of the program with --mpi"):
        tracing.record(mpiexec(tmp_path / "endings", 2, own, monkeypatch), tmp_path / "trace", here, mpi(told, here))
    assert "compiled for an MPI other than that of this program" in capfd.readouterr().err


@pytest.mark.long
def test_a_program_that_loads_its_mpi_late_is_traced_or_says_what_it_needs(
    own: Tool, here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wrapper, source = own.path.replace("mpicxx", "mpicc"), SOURCES / "module.c"
    subprocess.run([wrapper, "-DMODULE", "-shared", "-fPIC", source, "-o", tmp_path / "module.so"], check=True)
    subprocess.run(["cc", source, "-o", tmp_path / "late", "-ldl"], check=True)
    words = [*mpiexec(tmp_path / "late", 2, own, monkeypatch), str(tmp_path / "module.so")]
    if own.name == "openmpi":
        with pytest.raises(MachineFailed, match="wrote no trace"):
            tracing.record(words, tmp_path / "none", here, own)
        assert "Add its libmpi.so to LD_PRELOAD" in capfd.readouterr().err
        needed = subprocess.run(["ldd", tmp_path / "module.so"], check=True, capture_output=True, text=True).stdout
        [library] = [line.split()[2] for line in needed.splitlines() if "libmpi.so" in line]
        monkeypatch.setenv("LD_PRELOAD", library)
    tracing.record(words, tmp_path / "trace", here, own)
    about = asked(tmp_path / "trace", WORK_FREE)[0]
    assert (about["ranks"], about["traced"]["calls"]) == (2, 4)


def test_a_process_without_mpi_loads_none_with_the_tracer(own: Tool, here: Machine) -> None:
    library = tracing.compile_tracer(here, own)
    environment = {"LD_PRELOAD": str(library), "LD_BIND_NOW": "1"}
    done = subprocess.run(["/bin/cat", "/proc/self/maps"], env=environment, check=True, capture_output=True, text=True)
    assert library.name in done.stdout
    assert "libmpi" not in done.stdout


@pytest.mark.parametrize(
    "words", [["trace", "-o", "here", "--", "/bin/true"], ["whatif", "x.goal", "--set", "network=L=1us,o=1us"]]
)
def test_the_build_that_a_command_needs_is_shown(
    words: list[str],
    elsewhere: Path,
    here: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mpi("default", here)
    Path("x.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 1\n}\n")

    def stop(programs: object, show: build.Show = lambda progress: None) -> None:
        show(build.Progress(0, 1, 3.0))
        raise MachineFailed("stopped")

    monkeypatch.setattr(build, "make", stop)
    with pytest.raises(MachineFailed, match="stopped"):
        cli.run_words(words)
    assert "Building 1 program with" in capsys.readouterr().err


def test_a_folder_that_is_taken_is_refused_before_the_command_runs(elsewhere: Path) -> None:
    (elsewhere / "here").mkdir()
    (elsewhere / "here" / "x").touch()
    with pytest.raises(UsageError, match="exists already"):
        cli.run_words(["trace", "-o", "here", "--", "touch", "ran"])
    with pytest.raises(UsageError, match="does not exist"):
        cli.run_words(["trace", "-o", "a/b", "--", "touch", "ran"])
    assert not (elsewhere / "ran").exists()
    with pytest.raises(UsageError, match="no trace"):
        cli.run_words(["whatif", "here", "--set", "network=L=1us"])
