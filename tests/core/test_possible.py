"""Settings choose among the combinations that the programs accept. The others are refused, or left out with a sentence.

STEELYARD_SETTINGS=1000 tries so many settings in `make test-long` and `make test-opencl`.
"""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

import builders
from steelyard.errors import UsageError
from steelyard.measure import build
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.plan.possible import Settings, describe_excluded, expected
from steelyard.measure.plan.refusal import unused
from steelyard.measure.run.asking import line
from steelyard.model import Benchmark, Case, Device, Host, Library, Machine, Sampling, Scalar

QUICK = EFFORTS["quick"]
NODE = catalogue.choose(catalogue.find(), ["node"])
ONE = Sampling(width=0.5, seconds=1e-3, least=1, most=1)
# Sizes that a case may have here. Greater ones are planned, but would take long.
LARGEST = {
    "elements": 1 << 18, "bytes": 1 << 17, "order": 128, "bodies": 512, "steps": 64, "particles": 1 << 14, "intervals": 1 << 16,
    "points": 1 << 15, "iterations": 64, "quanta": 1000,
}  # fmt: skip
FEW, MANY = 15, int(os.environ.get("STEELYARD_SETTINGS", "300"))
NUMBERS: tuple[Scalar, ...] = (1, 2, 3, 4, 6, 8, 31, 64, 100, 1000, 4096, 65536)
LACKING = (
    "not enough memory",
    "this compiler",
    "has no transparent huge pages",
    "the system rejects it",
)  # of a machine


@pytest.fixture
def with_devices(two_sockets: Machine) -> Machine:
    """A machine with the processor and a GPU as OpenCL devices, and with both libraries."""
    devices = (Device(0, "cpu", "CPU", 1 << 33, True), Device(1, "gpu", "GPU", 1 << 33, False))
    return replace(
        two_sockets, devices=devices, libraries=(Library("blas", "b.so", True), Library("fftw", "f.so", False))
    )


def cases(machine: Machine, settings: Settings, chosen: dict[str, Benchmark] = NODE) -> list[Case]:
    return [c for x in make(chosen, machine, QUICK, settings, ["gcc"], mpis=["mpich"]).launches for c in x.cases]


def test_a_mode_has_only_the_threads_and_kernels_that_it_can_have(with_devices: Machine) -> None:
    planned = cases(with_devices, {"mode": ["opencl", "threads", "mixed"], "threads": [1, 4], "device": [1]})
    points = {(str(c.parameters["mode"]), c.parameters["threads"], c.parameters.get("device")) for c in planned}
    assert points == {("threads", 1, None), ("threads", 4, None), ("opencl", 1, 1), ("mixed", 1, 1), ("mixed", 4, 1)}
    libraries = {
        (c.kernel, c.parameters["mode"], c.parameters["threads"]) for c in planned if c.kernel in ("blas", "fftw")
    }
    assert libraries == {("blas", "threads", 1), ("blas", "threads", 4), ("fftw", "threads", 1)}


def test_what_a_setting_excludes_is_named_with_the_reason(with_devices: Machine) -> None:
    said = describe_excluded(NODE, with_devices, QUICK, {"mode": ["opencl", "threads"], "threads": [1, 4]})
    assert said == (
        "threads=4 with mode=opencl (expected 1) in node.convolution, node.fft, node.histogram and 8 further benchmarks; "
        "mode=opencl with kernel=fftw (expected threads) in node.fft; mode=opencl with kernel=blas (expected threads) in "
        "node.matmul"
    )
    assert describe_excluded(NODE, with_devices, QUICK, {"device": [1]}) == ""
    uneven = describe_excluded(NODE, with_devices, QUICK, {"elements": [1 << 20, 5000]})
    assert uneven == "elements=5000 (elements must be a power of two from 64 to 2^30) in node.fft"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kernel": ["fft"], "bodies": [1024, 2048]}, "bodies=1024,2048"),
        ({"mode": ["threads", "opencl"], "device": [1], "kernel": ["fft"]}, ""),
        ({"mode": ["threads"], "device": [0, 1]}, "device=0,1"),
    ],
)
def test_a_setting_that_no_case_has_is_named(with_devices: Machine, settings: Settings, sentence: str) -> None:
    made = make(NODE, with_devices, QUICK, settings, ["gcc"])
    excluded = describe_excluded(NODE, with_devices, QUICK, settings)
    expected = f"No case that fits the other settings has {sentence}." if sentence else ""
    assert unused(made, settings, excluded) == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"mode": ["opencl"], "threads": [4]},
            r"There is no case to measure with mode=opencl, threads=4\. .*\(expected 1\)",
        ),
        ({"device": [7]}, r"device '7' \(given by --set device=\)\. Known are: 0, 1\."),
        (
            {"threads": [1, 64]},
            r"threads=64 \(given by --set\) is not possible: threads=64 is more than the 4 processors",
        ),
        (
            {"mode": ["opencl"], "kernel": ["blas"]},
            r"mode=opencl with kernel=blas \(expected threads\) in node\.matmul",
        ),
        ({"order": [1 << 16]}, r"order=65536 \(given by --set\) is not possible: order must be at most 32768\."),
        ({"mode": ["openCL"]}, r"mode 'openCL' \(given by --set mode=\)\. Did you mean 'opencl'\?"),
    ],
)
def test_a_value_that_fits_nothing_is_refused_before_the_run(
    with_devices: Machine, settings: Settings, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        cases(with_devices, settings)


def test_a_possible_value_outside_the_list_of_a_block_is_measured(with_devices: Machine) -> None:
    assert {c.parameters["threads"] for c in cases(with_devices, {"threads": [3], "mode": ["threads", "mixed"]})} == {3}
    large = cases(with_devices, {"elements": [134217728], "kernel": ["vector"]})
    assert {(c.parameters["mode"], c.parameters["elements"]) for c in large} == {
        (mode, 134217728) for mode in ("threads", "opencl", "mixed")
    }


def test_a_parameter_that_a_kernel_does_not_read_is_not_planned(two_sockets: Machine) -> None:
    chosen = catalogue.choose(catalogue.find(), ["core.flops", "memory.stream"])
    planned = cases(two_sockets, {"page_size": ["4k", "default"], "threads": [1]}, chosen)
    assert {c.parameters.get("page_size") for c in planned if c.benchmark == "core.flops"} == {None}
    assert {c.parameters["page_size"] for c in planned if c.benchmark == "memory.stream"} == {"4k", "default"}


def random_settings(chance: random.Random, benchmark: Benchmark, machine: Machine) -> Settings:
    """One to three parameters with values of the benchmark's own or other numbers."""
    blocks = benchmark.axes(machine, EFFORTS["full"])
    own: dict[str, dict[Scalar, None]] = {}
    for block in blocks:
        for name in block.values:
            own.setdefault(name, {}).update(dict.fromkeys((*block.values[name], *block.choices.get(name, ()))))
    own |= {"page_size": dict.fromkeys(("default", "4k")), "pinning": dict.fromkeys(("compact", "none", "scatter"))}
    settings: dict[str, list[Scalar]] = {}
    for name in chance.sample(sorted(own), chance.choice((1, 2, 3))):
        numeric = all(isinstance(v, int | float) for v in own[name])
        values = list(NUMBERS if numeric and chance.random() < 0.6 else own[name])
        settings[name] = chance.sample(values, min(len(values), chance.choice((1, 2, 3))))
    return settings


@pytest.mark.parametrize("device", [False, pytest.param(True, marks=pytest.mark.opencl)], ids=["threads", "device"])
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_programs_accept_each_case_of_random_settings(
    count: int, device: bool, programs: dict[str, Path], here: Machine, benchmarks: dict[str, Benchmark]
) -> None:
    """The programs of threads, with at most two cases of each plan, made small where no setting gives a size."""
    chance = random.Random(count)
    here = here if device else replace(here, devices=())
    groups = ("node",) if device else ("node", "core", "memory") if count == FEW else ("",)
    names = [
        n
        for n, b in benchmarks.items()
        if n.startswith(groups)
        and any(s.model in ("", "threads") and not s.parallel for s in b.sources)
        and b.axes(here, QUICK)
    ]
    started: dict[str, Program] = {}
    refused, asked = [], 0
    for _ in range(count):
        name = chance.choice(names)
        settings = random_settings(chance, benchmarks[name], here)
        try:
            made = make({name: benchmarks[name]}, here, QUICK, settings, ["any"])
        except UsageError:
            continue
        of_threads = [(x, c) for x in made.launches if x.model in ("", "threads") for c in x.cases]
        for launch, case in chance.sample(of_threads, min(2, len(of_threads))):
            small = {
                n: min(v, LARGEST[n]) if n in LARGEST and n not in settings else v for n, v in case.parameters.items()
            }
            small |= {"class": "S"} if "class" in small and "class" not in settings else {}
            if any(n in LARGEST and v > LARGEST[n] for n, v in small.items()) or small.get("class", "S") not in "SW":
                continue
            path = str(programs[build.program_name(name, launch.model)])
            started[path] = started.get(path) or Program([path], local.environment(here), None)
            one = replace(case, parameters={**small, "sample_seconds": 2e-5}, sampling=ONE)
            answer = started[path].ask(line(here, replace(launch, cases=(one,)), 0, one), 60)
            asked += 1
            error = answer.get("error")
            if error and not any(words in error for words in LACKING):
                refused.append((settings, small, error))
    for program in started.values():
        program.close()
    assert asked > count / 4
    assert refused == []


def test_each_value_of_a_block_is_possible_for_that_block(with_devices: Machine) -> None:
    for benchmark in catalogue.find().values():
        for block in benchmark.axes(with_devices, QUICK):
            for name, values in block.values.items():
                assert [v for v in values if expected(name, v, [block])] == [], (benchmark.name, name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("slots", [(1, 1), (1, 1, 1), (2, 5), (64, 64)], ids=str)
@pytest.mark.parametrize("cores", [2, 16])
def test_what_a_benchmark_measures_by_itself_has_room_on_any_hosts(cores: int, slots: tuple[int, ...]) -> None:
    hosts = tuple(Host(f"n{number}", count) for number, count in enumerate(slots))
    machine = builders.machine(nodes=2, cores=cores, hosts=hosts)
    planned = make(catalogue.find(), machine, EFFORTS["standard"], {}, ["gcc"], mpis=["mpich"])
    ranks = [int(c.parameters.get("ranks", 1)) for launch in planned.launches for c in launch.cases]
    assert 2 <= max(ranks) <= sum(slots)
