"""The contract: what holds for every kernel of every benchmark, also for those that are added later."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.measure import build
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.site import select_possible
from steelyard.measure.launch.start import start
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.run.asking import line, record_of
from steelyard.model import Benchmark, Case, Device, Launch, Machine, Record, Run, Sampling, Site, Tool
from steelyard.statistics.results.result import results

# Large enough that every thread has work, small enough that a case takes milliseconds.
SMALL = {"elements": 1 << 16, "bytes": 1 << 16, "message_bytes": 1 << 12}
SMALLER = {
    "application.finite_elements": {"elements": 1 << 12},
    "application.molecular_dynamics": {"particles": 4000, "steps": 20},
    "cluster.flops": {"intervals": 1 << 20},
    "node.matmul": {"order": 96},
    "node.montecarlo": {"steps": 500},
    "node.nbody": {"bodies": 512},
}
FACTS = {
    "capability": "9.0",
    "compiler": "libnvrtc.so.12",
    "library": "libcublas.so.12",
    "collectives": "libnccl.so.2",
    "last_cache": 50 << 20,
}
TWO_GPUS = tuple(
    Device(n, "GPU", "GPU", 80 << 30, False, door="cuda", limits={"bandwidth": 3e12}, facts=FACTS) for n in range(2)
)
SHORT = Sampling(width=0.5, seconds=0.01, least=3, most=20)
WHOLE = Sampling(width=0.5, seconds=2.0, least=2, most=2)  # where a sample is a whole program run
ONE = Sampling(width=0.5, seconds=1e-3, least=1, most=1)
# What kernels read besides their axes (docs/settings.md).
GENERAL = {
    "page_size", "memory_policy", "wait_policy", "start", "scale", "stores", "chains", "buffers", "phases", "partner", "device",
}  # fmt: skip
FEW = 2  # kernels of a benchmark of ranks in `make test`
VARIANTS = ("mode", "model")  # parameters whose values are other code


def mpis_of(machine: Machine) -> dict[str, Tool]:
    """The MPI of a run that names none; none where none is."""
    usual = build.default_mpi(machine)
    return {build.mpi_name(usual): usual} if usual else {}


def site(machine: Machine) -> Site:
    return Site(mpis_of(machine))


def of_devices(benchmark: Benchmark) -> bool:
    return benchmark.name.startswith("device.")


def small_cases(benchmark: Benchmark, machine: Machine) -> list[Case]:
    """One small case for each kernel in each of its modes and models; the smallest parameters come first."""
    able = select_possible({benchmark.name: benchmark}, site(machine), ())
    if of_devices(benchmark):
        if not machine.devices or benchmark.name == "device.collectives":  # test_accelerators.py has the latter
            return []
        made = make(able, machine, EFFORTS["standard"], {}, ["any"])  # a quick run leaves out processors behind OpenCL
    else:
        made = make(able, machine, EFFORTS["quick"], {}, ["any"], mpis=list(mpis_of(machine)))
    found: dict[tuple[str, ...], Case] = {}
    cases = [c for launch in made.launches for c in launch.cases]
    for case in sorted(cases, key=lambda c: str(sorted(c.parameters.items()))):
        most = SMALL | SMALLER.get(benchmark.name, {})
        smaller = {k: min(v, most[k]) if k in most else v for k, v in case.parameters.items()}  # type: ignore[type-var]
        sampling = SHORT
        if "class" in smaller:
            smaller["class"], sampling = "S", WHOLE
        found.setdefault((case.kernel, *variant(case)), replace(case, parameters=smaller, sampling=sampling))
    return list(found.values())


def variant(case: Case) -> tuple[str, ...]:
    return tuple(str(case.parameters[name]) for name in VARIANTS if name in case.parameters)


def all_cases() -> list[Any]:
    from steelyard.measure.machine import describe

    machine = describe()
    return [
        pytest.param(b, c, id="-".join([b.name, c.kernel, *variant(c)]), marks=marks_of(c, number))
        for b in catalogue.find().values()
        for number, c in enumerate(small_cases(b, machine))
    ]


def marks_of(case: Case, number: int) -> list[pytest.MarkDecorator]:
    """The marks of cases that a bare machine does not have, and of further kernels; most have tests of their own.

    `number` counts the cases of the benchmark. Collectives and operations: test_network_many_ranks.py.
    """
    if "device" in case.parameters:
        return [pytest.mark.opencl]
    lacking = case.kernel in ("blas", "fftw") or case.parameters.get("model") == "shmem"
    is_first = not case.benchmark.startswith("application.npb") or case.benchmark == "application.npb_ep"
    further = (
        not is_first or case.parameters.get("model") in ("mpi", "rma") or ("ranks" in case.parameters and number >= FEW)
    )
    return [pytest.mark.site] if lacking else [pytest.mark.long] * further


CASES = all_cases()
ANSWERS: dict[
    tuple[str, ...], dict[str, Any]
] = {}  # (benchmark, kernel, mode or model) → what it answered to its small case
OPEN: dict[tuple[str, ...], Program] = {}  # a start of ranks costs a second: kept from test to test


@pytest.fixture(scope="module", autouse=True)
def _closed_at_last() -> Iterator[None]:
    yield
    for program in OPEN.values():
        program.close()
    OPEN.clear()
    ANSWERS.clear()


def program_of(case: Case) -> str:
    return build.program_name(case.benchmark, str(case.parameters.get("model", "")))


def conversation(programs: dict[str, Path], machine: Machine, case: Case) -> Program:
    launch = Launch(1, case.benchmark, "any", 1, (case,))
    command, environment = start(site(machine), machine, launch, programs[program_of(case)])
    key = (*command, environment.get("STEELYARD_CPUS", ""), environment.get("OMPI_MCA_btl", ""))
    if key not in OPEN:
        OPEN[key] = Program(command, environment, int(case.parameters.get("ranks", 0)) or None)
    return OPEN[key]


def ask(programs: dict[str, Path], machine: Machine, case: Case, **more: str) -> dict[str, Any]:
    """The program's answer to a case, with further parameters. Without any it is asked once for all tests."""
    key = (case.benchmark, case.kernel, *variant(case))
    if more or key not in ANSWERS:
        answer = _asked(programs, machine, case, **more)
        return answer if more else ANSWERS.setdefault(key, answer)
    return ANSWERS[key]


def _asked(programs: dict[str, Path], machine: Machine, case: Case, **more: str) -> dict[str, Any]:
    """The answer, and in "apart" how far the system's two clocks were apart before and after it: a time server may step one."""
    asked = replace(case, parameters={**case.parameters, **more})
    if "plant" in more:  # what the check finds does not depend on how often the kernel ran before it
        asked = replace(asked, parameters={**asked.parameters, "sample_seconds": 2e-5}, sampling=ONE)
    program = conversation(programs, machine, case)
    before = _apart()
    answer = program.ask(line(machine, Launch(1, case.benchmark, "any", 1, (asked,)), 0, asked), 60)
    return {**answer, "apart": (before, _apart())}


def _apart() -> float:
    return time.time() - time.monotonic()


def measured(programs: dict[str, Path], machine: Machine, case: Case) -> Record:
    return record_of(Launch(1, case.benchmark, "any", 1, (case,)), 0, case, 1, ask(programs, machine, case))


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_a_kernel_measures_and_its_check_passes(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case)
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"], answer["check"]["detail"]
    around = answer["surroundings"]
    time_is_over = around["ended"] - around["began"] >= 4 * case.sampling.seconds  # on a busy machine, by a slow device
    assert len(answer["samples"]) >= (1 if time_is_over else case.sampling.least)
    assert all(s > 0 for s in answer["samples"])
    assert answer["work"]
    assert all(amount >= 0 for amount in answer["work"].values())


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_the_check_fails_when_nothing_ran(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case, plant="skip")
    assert answer["check"]["passed"] is False, answer["check"]["detail"]


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_the_check_finds_one_wrong_value(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case, plant="wrong")
    assert "error" not in answer, answer.get("error")
    assert answer["check"]["passed"] is False, answer["check"]["detail"]


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_extra_work_leaves_the_result_right(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case, plant="work:0.5")
    assert answer["check"]["passed"], answer["check"]["detail"]


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_a_sample_is_a_thousand_times_longer_than_the_clocks_resolution(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case)
    seconds = sorted(answer["surroundings"]["samples"]["seconds"])
    assert (
        seconds[len(seconds) // 2] >= 1000 * answer["surroundings"]["clock"]["resolution"] * 0.5
    )  # half: pace may change after calibration


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_each_sample_can_be_placed_by_the_systems_clocks(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case)
    around = answer["surroundings"]
    at, seconds = around["samples"]["at"], around["samples"]["seconds"]
    length = around["ended"] - around["began"]
    slack = 1e-4 + 1e-3 * length  # the clocks' own differences
    assert 0 < around["began"] <= around["ended"]
    assert sum(seconds) <= length + slack
    ends = [0.0, *(start + took for start, took in zip(at, seconds, strict=True))]
    assert all(end <= start + slack for end, start in zip(ends, [*at, length], strict=True))
    assert min(answer["apart"]) - 0.05 < around["began"] - around["monotonic"] < max(answer["apart"]) + 0.05


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_a_misspelt_parameter_is_refused(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    answer = ask(programs, here, case, elephants="3")
    assert "elephants" in answer["error"]


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_a_record_has_the_parameters_of_its_kernel_and_no_others(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    """Words of the harness itself would be columns of every table. A new parameter of a kernel is added to its axes, or here."""
    declared = set(ask(programs, here, case)["declared"]) - {"plant", "model"}
    axes = {name for block in benchmark.axes(here, EFFORTS["full"]) for name in (*block.values, *block.further)}
    assert declared <= axes | GENERAL, declared - axes - GENERAL


@pytest.mark.parametrize(("benchmark", "case"), CASES)
def test_the_metrics_of_a_record_are_finite_numbers(
    benchmark: Benchmark, case: Case, programs: dict[str, Path], here: Machine
) -> None:
    record = measured(programs, here, case)
    # Of all samples: on a busy machine one alone may be shorter than what is taken off it.
    values = [m.of(sample, record) for sample in record.samples for m in benchmark.metrics]
    assert any(v is not None for v in values), "no metric applies to this kernel"
    assert all(v is None or (math.isfinite(v) and v > 0) for v in values)


@pytest.mark.parametrize(
    "benchmark",
    [
        pytest.param(b, id=b.name, marks=[pytest.mark.long] * b.name.startswith("application."))
        for b in catalogue.find().values()
    ],
)
def test_a_benchmark_explains_itself_and_draws_its_figures(
    benchmark: Benchmark, programs: dict[str, Path], here: Machine
) -> None:
    assert all(len(text) > 40 for text in (benchmark.summary, benchmark.reading, benchmark.caution, benchmark.source))
    plain = here
    if of_devices(benchmark):
        here = replace(here, devices=(*here.devices, *TWO_GPUS))
    made = make({benchmark.name: benchmark}, here, EFFORTS["quick"], {}, ["any"], mpis=["any"])
    records = tuple(measured(programs, here, case) for case in small_cases(benchmark, plain))
    run = Run(id="a", path="a", started="now", machine=here, plan=made, records=records, finished=True)
    found = results(run.records, {benchmark.name: benchmark})
    assert len({f.name for f in benchmark.figures(found, here)}) == len(benchmark.figures(found, here))
    for figure in benchmark.figures((), here):
        assert figure.title


@pytest.mark.parametrize("benchmark", [pytest.param(b, id=b.name) for b in catalogue.find().values()])
@pytest.mark.parametrize("preset", sorted(EFFORTS))
def test_every_preset_plans_every_benchmark(
    benchmark: Benchmark, preset: str, here: Machine, two_sockets: Machine
) -> None:
    for plain in (here, two_sockets):
        machine = replace(plain, devices=TWO_GPUS) if of_devices(benchmark) else plain
        made = make({benchmark.name: benchmark}, machine, EFFORTS[preset], {}, ["any"], mpis=["any"])
        assert made.launches
        assert made.seconds > 0
