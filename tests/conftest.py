"""What all tests share: compiled programs, machines made by hand, and a quiet place for runs."""

import gc
import math
import os
import signal
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from damage import unpack
from steelyard import doors
from steelyard.measure import build
from steelyard.measure.launch import site
from steelyard.measure.machine import describe
from steelyard.measure.plan import catalogue
from steelyard.model import Benchmark, Cache, Core, Machine, NumaNode, Source

# A busy machine makes a test slow, not red. `make test-long` runs the tests of random input again, with more examples.
settings.register_profile("few", deadline=None, max_examples=25)
settings.register_profile("many", deadline=None, max_examples=200)
settings.load_profile("few")

# Started in the background of a script, the tests would hand an ignored Ctrl-C down to the programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
# So would nohup an ignored hangup; a handler is not handed down.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Variables of a shell that lead to other runs or to a job.
for variable in ("STEELYARD_RUNS", "SLURM_JOB_ID"):
    os.environ.pop(variable, None)


# Marks of tests that another guest of a shared host can spoil. A guest stays for seconds to minutes.
SENSITIVE = ("alone", "opencl", "hosts")
# Marks of tests that `make test` leaves out.
LEFT_OUT = ("long", "alone", "attack", "site", "opencl")

# Marks of the only tests that use the programs of these models.
FURTHER = {"site": "shmem", "long": "rma"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, help="run at most this number of cases of each test, evenly spread over all")


def pytest_configure(config: pytest.Config) -> None:
    """Puts the files of suites that run side by side into memory: the journal of a disk takes a tenth of their time.

    The others have suites of hosts, each of which has a memory of its own there.
    """
    if config.getoption("numprocesses", None) and _can_hold_tests("/dev/shm"):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")


def _can_hold_tests(folder: str) -> bool:
    """Returns whether programs can be started from there, and there is much more room than all tests need at a time."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    about = os.statvfs(folder)
    return not about.f_flag & os.ST_NOEXEC and about.f_bavail * about.f_frsize > 4 << 30


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Marks the further cases of sampled tests, chooses cases where `--cases` asks for few, and repeats tests that measure.

    It repeats a test twice at most, if a comparison fails; the summary names each such test (RERUN).
    """
    _mark_further_cases(items)
    yield  # the marks choose
    if most := config.getoption("cases"):
        chosen = {item for cases in _cases_of_tests(items) for item in _spread(cases, most)}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
    for item in items:
        if _has_mark(item, SENSITIVE):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5, only_rerun="AssertionError"))


def pytest_collection_finish() -> None:
    """Saves a tenth of the processor time: the garbage collector need not look again and again at what was collected."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _mark_further_cases(items: list[pytest.Item]) -> None:
    sampled = [item for item in items if item.get_closest_marker("sampled") and not _has_mark(item, LEFT_OUT)]
    for cases in _cases_of_tests(sampled):
        mark = cases[0].get_closest_marker("sampled")
        few = _spread(cases, mark.args[0]) if mark else cases
        for item in cases:
            if item not in few:
                item.add_marker(pytest.mark.long)


def _cases_of_tests(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    of_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        of_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return list(of_test.values())


def _spread(cases: list[pytest.Item], most: int) -> list[pytest.Item]:
    return cases[:: math.ceil(len(cases) / most)]


def _has_mark(item: pytest.Item, names: tuple[str, ...]) -> bool:
    return any(item.get_closest_marker(name) for name in names)


@pytest.fixture(autouse=True)
def stumbling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of Steelyard that fails on a sound run is a mistake of ours: it fails the test instead of saying so."""
    real = doors.blame

    def blame(part: doors.Part, error: Exception) -> doors.PartFailed:
        failure = real(part, error)
        if part.file.is_relative_to(Path(doors.__file__).parent):
            raise AssertionError(str(failure)) from error
        return failure

    monkeypatch.setattr(doors, "blame", blame)


@pytest.fixture
def kept_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small run in a folder of runs, and a cache of its own."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    return unpack(tmp_path / "runs")


@pytest.fixture(scope="session")
def here() -> Machine:
    """This machine."""
    return describe()


@pytest.fixture(scope="session")
def benchmarks() -> dict[str, Benchmark]:
    """The package's own benchmarks."""
    return catalogue.find()


def build_programs(
    benchmarks: dict[str, Benchmark], here: Machine, is_wanted: Callable[[Source], bool]
) -> dict[str, Path]:
    """Compiles those programs that this machine can have, with the default toolchain and MPI, in one build."""
    toolchain, mpi = build.resolve(build.default(here), here), build.default_mpi(here)
    chosen = {name: replace(b, sources=tuple(filter(is_wanted, b.sources))) for name, b in benchmarks.items()}
    able = site.select_possible(chosen, site.site((), None, (), here), ()).values()
    wanted = [program for used in dict.fromkeys((None, mpi)) for program in build.programs(able, toolchain, used)]
    build.make(wanted)
    return {program.name: program.path for program in wanted}


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest, here: Machine, benchmarks: dict[str, Benchmark]) -> dict[str, Path]:
    """Every program (kept in the user's cache from run to run), but for models that the chosen tests do not use.

    OpenMP's are the text of the threads built once more (test_openmp.py).
    """
    marked = {mark for mark in FURTHER for item in request.session.items if _has_mark(item, (mark,))}
    left_out = {"openmp", *(FURTHER[mark] for mark in FURTHER.keys() - marked)}
    return build_programs(benchmarks, here, lambda source: source.model not in left_out)


@pytest.fixture
def install_wing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, str]], None]]:
    """Installs a package of these files (path and text) as a wing, as pip would, until the test ends."""
    name = f"wing_{tmp_path.name}"

    def install(files: dict[str, str]) -> None:
        about = tmp_path / f"{name}-1.dist-info"
        texts = {about / "METADATA": f"Name: {name}\nVersion: 1\n"}
        texts[about / "entry_points.txt"] = f"[{doors.WINGS}]\nmade_up = {name}\n"
        for path, text in files.items():
            parents = list((tmp_path / name / path).parents)[: path.count("/") + 1]
            texts = {parent / "__init__.py": "" for parent in parents} | texts | {tmp_path / name / path: text}
        for file, text in texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        doors.forget()

    yield install
    doors.forget()


@pytest.fixture
def two_sockets() -> Machine:
    """A machine made by hand: two sockets with two cores each, one memory node and one 8 MiB cache a socket."""
    cores = tuple(Core(i, i // 2, i // 2, (i,)) for i in range(4))
    caches = [Cache(1, "data", 32 << 10, 64, (i,)) for i in range(4)] + [
        Cache(2, "unified", 1 << 20, 64, (i,)) for i in range(4)
    ]
    caches += [Cache(3, "unified", 8 << 20, 64, (0, 1)), Cache(3, "unified", 8 << 20, 64, (2, 3))]
    nodes = (NumaNode(0, (0, 1), 8 << 30, (10, 21)), NumaNode(1, (2, 3), 8 << 30, (21, 10)))
    return Machine(
        system="by hand",
        host="by-hand",
        processor="Test",
        vendor="Test",
        architecture="x86_64",
        cores=cores,
        nodes=nodes,
        caches=tuple(caches),
        cpus=(0, 1, 2, 3),
        cpu_quota=None,
        memory=16 << 30,
        memory_available=15 << 30,
        modules=(),
        fma_width=8,
        fma_units=2,
        settings=(),
        compilers=(),
        mpis=(),
    )


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own folder as the working directory, so that runs/ lands there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    os.environ.setdefault("TERM", "dumb")
    return tmp_path
