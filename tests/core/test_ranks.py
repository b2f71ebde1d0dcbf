"""Programs of many ranks, for real: two MPIs, ranks that are lost, the clock that they share."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import builders
from mpis import mpi, shadow
from patience import still
from steelyard.errors import ProgramFailed
from steelyard.measure import build
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.rank_errors import _list_reports
from steelyard.measure.launch.start import start
from steelyard.measure.machine.tools import mpiexec_of
from steelyard.model import Benchmark, Case, Check, Launch, Machine, Site, Tool
from steelyard.statistics.validity.verdict import judgement, name_disturbance

LINE = "case=0 kernel=pingpong ranks={ranks} message_bytes=8 seconds=0.05 least=6 most=40"


@contextmanager
def running(machine: Machine, ping: Benchmark, tool: Tool, ranks: int = 2, **more: Any) -> Iterator[Program]:
    """The ping-pong, started with so many ranks."""
    program = build.build([ping], build.resolve(build.default(machine), machine), tool)[ping.name]
    case = Case(ping.name, "pingpong", {"ranks": ranks, "mpi": "any", **more})
    launch = Launch(1, ping.name, "any", 1, (case,))
    started = Program(*start(Site({"any": tool}), machine, launch, program), ranks)
    try:
        yield started
    finally:
        started.close()


@pytest.fixture
def ping(benchmarks: dict[str, Benchmark]) -> Benchmark:
    return benchmarks["network.pingpong"]


# MPICH is installed from PyPI.
@pytest.fixture(params=["default", pytest.param("mpich", marks=pytest.mark.long)])
def tool(request: pytest.FixtureRequest, here: Machine) -> Tool:
    return mpi(request.param, here)


def processes(program: Program) -> dict[int, int]:
    """Rank → process, as the ranks told before MPI started."""
    program._errors.seek(0)
    return {t.rank: t.process for t in _list_reports(program._errors.read().decode())}


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
def test_a_kernel_of_ranks_without_corrupt_does_not_compile_and_is_told_so(
    here: Machine, ping: Benchmark, tmp_path: Path
) -> None:
    source = Path(ping.sources[0].path)
    shutil.copy(source.with_name("messages.h"), tmp_path)
    lacking = tmp_path / source.name
    lacking.write_text(re.sub(r"^ .* corrupt\(.*\n", "", source.read_text(), flags=re.MULTILINE))
    toolchain = build.resolve(build.default(here), here)
    with pytest.raises(ProgramFailed, match=r"kernel\.corrupt\(\). (is|would be) invalid"):
        build.build(
            [replace(ping, sources=(replace(ping.sources[0], path=str(lacking)),))], toolchain, mpi("default", here)
        )


def test_the_record_tells_of_every_rank(here: Machine, ping: Benchmark, tool: Tool) -> None:
    with running(here, ping, tool, 4) as program:
        record = program.ask(LINE.format(ranks=4) + " partner=2", 60)
    ranks = record["surroundings"]["ranks"]
    assert record["check"]["passed"], record["check"]
    assert len(ranks["hosts"]) == len(ranks["cpus"]) == len(ranks["throttled"]) == len(ranks["clock"]["offset"]) == 4
    # Ranks 1 and 3 took no part.
    assert [len(s) > 0 for s in ranks["seconds"]] == [True, False, True, False]
    assert len(ranks["seconds"][0]) == len(record["samples"])
    assert all(
        sample * record["operations"] == pytest.approx(max(first, second))
        for sample, first, second in zip(record["samples"], ranks["seconds"][0], ranks["seconds"][2], strict=True)
    )


@pytest.mark.alone
def test_the_clock_that_ranks_share_agrees_with_the_one_that_they_really_share(
    here: Machine, ping: Benchmark, tool: Tool
) -> None:
    with running(here, ping, tool) as program:
        found = [program.ask(LINE.format(ranks=2), 30)["surroundings"]["ranks"]["clock"] for _ in range(5)]
    # Both ranks read one clock: what the messages take for an offset is the error of the method.
    offsets = [abs(clock["offset"][1]) for clock in found]
    assert median(offsets) < 1e-6
    assert all(abs(clock["offset"][1]) <= clock["uncertainty"][1] for clock in found)
    assert found[0]["residual"][1] is None
    assert found[-1]["residual"][1] is not None


def test_ranks_that_share_processors_read_the_same_clock(here: Machine, ping: Benchmark) -> None:
    ranks = 2 * len(here.cpus) + 1
    with running(here, ping, mpi("default", here), ranks, transport="default") as program:
        clock = program.ask(LINE.format(ranks=ranks), 120)["surroundings"]["ranks"]["clock"]
    assert clock["offset"] == clock["uncertainty"] == [0] * ranks


def test_both_ways_to_begin_a_sample_measure(here: Machine, ping: Benchmark, tool: Tool) -> None:
    with running(here, ping, tool) as program:
        answers = [program.ask(LINE.format(ranks=2) + f" start={s}", 60) for s in ("barrier", "clock")]
    for answer in answers:
        assert answer["check"]["passed"]
        assert all(s > 0 for s in answer["samples"])


@pytest.mark.alone
def test_a_sample_that_begins_by_the_clock_is_no_slower_than_one_after_a_barrier(
    here: Machine, ping: Benchmark, tool: Tool
) -> None:
    with running(here, ping, tool) as program:
        answers = {s: program.ask(LINE.format(ranks=2) + f" start={s}", 30) for s in ("barrier", "clock")}
    barrier, clock = (median(a["samples"]) for a in answers.values())
    assert clock < 20 * barrier


@pytest.mark.alone
def test_a_planted_slow_rank_shows_in_its_own_times(here: Machine, ping: Benchmark) -> None:
    with running(here, ping, mpi("default", here)) as program:
        answer = program.ask(LINE.format(ranks=2) + " message_bytes=65536 plant=slow:1:0.5", 30)
    first, second = (median(s) for s in answer["surroundings"]["ranks"]["seconds"])
    assert second > 1.2 * first


@pytest.mark.alone
def test_a_neighbour_on_one_ranks_processor_makes_the_latency_disturbed_and_the_rank_known(
    here: Machine, ping: Benchmark
) -> None:
    with running(here, ping, mpi("default", here)) as program:
        program.ask(LINE.format(ranks=2), 30)
        # Four, so that rank 1 waits most even where another program takes the other processor.
        code = "import os; os.sched_setaffinity(0, [1])\nwhile True: pass"
        busy = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
        try:
            time.sleep(0.3)
            # Where others load the machine as well, a single look may find both ranks waiting.
            for _ in range(8):
                answer = program.ask(
                    "case=1 kernel=pingpong ranks=2 message_bytes=8 seconds=0.5 least=2000 most=4000 width=1e-9", 60
                )
                verdict = judgement(answer["samples"], builders.seen(answer["surroundings"]), Check(True, "")).verdict
                assert (verdict.level, name_disturbance(verdict)) == ("DISTURBED", "competing load"), verdict
                if any("rank 1 on" in e.text.lower() for e in verdict.evidence):
                    break
        finally:
            for each in busy:
                each.kill()
                each.wait()
    ranks = answer["surroundings"]["ranks"]
    assert ranks["cpus"][1] == 1
    seconds = answer["surroundings"]["processor_seconds"]
    assert 0.3 * seconds["elapsed"] < seconds["most_other"] <= seconds["elapsed"] + 0.02
    assert any("rank 1 on" in e.text.lower() for e in verdict.evidence), (verdict, ranks["waited"])


def lose_a_rank(
    here: Machine, ping: Benchmark, tool: Tool, how: signal.Signals, limit: float
) -> tuple[dict[int, int], str]:
    """Rank → process of a launch whose rank 1 got the signal in the middle of a case, and what was said of it."""
    endless = f"case=1 kernel=pingpong ranks=2 message_bytes=8 seconds=600 width=1e-9 most=1000000000 limit={limit}"
    with running(here, ping, tool) as program:
        program.ask(LINE.format(ranks=2), 60)
        found = processes(program)
        threading.Timer(0.5, lambda: os.kill(found[1], how)).start()
        with pytest.raises(ProgramFailed) as failure:
            program.ask(endless, limit + 3)
    return found, str(failure.value)


@pytest.mark.parametrize(
    ("how", "word", "limit"),
    [(signal.SIGKILL, "died", 60), (signal.SIGSEGV, "crashed", 60), (signal.SIGSTOP, "did not answer", 3)],
)
def test_a_lost_rank_is_named_and_nothing_stays_behind(
    here: Machine, ping: Benchmark, tool: Tool, how: signal.Signals, word: str, limit: float
) -> None:
    found, failure = lose_a_rank(here, ping, tool, how, limit)
    if tool.name == "mpich" and how == signal.SIGKILL and "Rank 0 on" in failure:
        # MPICH's launcher kills all ranks before it has seen who died, and once in a hundred names one of its own victims.
        found, failure = lose_a_rank(here, ping, tool, how, limit)
    assert re.search(f"Rank 1 on .*{word}", failure)
    assert not still(lambda: any(map(alive, found.values())))


@pytest.mark.long  # installs MPICH from PyPI
def test_an_mpiexec_of_another_mpi_is_found_out(here: Machine, ping: Benchmark, tmp_path: Path) -> None:
    own, other = mpi("default", here), mpi("mpich", here)
    mixed = shadow(tmp_path / "mixed", own.path, str(mpiexec_of(other)))
    # The words of the launcher are those of its own family.
    with running(here, ping, Tool("mpich", mixed.path, mixed.version)) as program:
        answer = program.ask(LINE.format(ranks=2), 30)
    assert "mpiexec does not belong to the MPI library" in answer["error"]


def test_a_partner_that_is_not_there_is_refused(here: Machine, ping: Benchmark) -> None:
    with running(here, ping, mpi("default", here)) as program:
        assert (
            "partner='2' must be one of the ranks 1 to 1"
            in program.ask(LINE.format(ranks=2) + " partner=2", 30)["error"]
        )
        assert program.ask(LINE.format(ranks=2), 30)["check"]["passed"]
