"""The applications: their records read back, NPB's count of operations, the figures, the page of the report, the findings."""

import contextlib
import io
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builders
from builders import evaluation, machine, seen, triad
from steelyard.applications.benchmarks.application.npb import results as npb_results
from steelyard.applications.pages import applications as page
from steelyard.judge import findings
from steelyard.judge.evaluation import evaluate
from steelyard.judge.findings.remedies import describe
from steelyard.measure import build
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.plan import catalogue, second
from steelyard.measure.run.asking import line
from steelyard.model import (
    Benchmark,
    Case,
    Check,
    Evaluation,
    Finding,
    Host,
    Launch,
    Machine,
    Result,
    Sampling,
    Scalar,
    Site,
)
from steelyard.model.figure import Figure
from steelyard.show import report
from steelyard.show.command_line import cli
from steelyard.statistics.results import applications
from steelyard.statistics.results.result import results as summarised

OPERATIONS = 1e9  # of one run, made up


def npb(
    seconds: float, kernel: str = "cg", model: str = "threads", workers: int = 1, letter: str = "A", **changed: Any
) -> Result:
    """A run of so many seconds. `error`: its relative error (allowed: 1e-10); `phases`, `work`, `hosts` by name; arguments of
    `builders.result`; anything else is a parameter."""
    own = {"level", "evidence", "launches", "spread"}
    told = {"error", "phases", "work", "hosts", "quantities", "crowded", "failed", "tolerance"}
    error, counted = changed.get("error", 1e-14), "threads" if model == "threads" else "ranks"
    parameters: dict[str, Scalar] = {
        "class": letter,
        "model": model,
        counted: workers,
        "phases": "on" if "phases" in changed else "off",
        **({"pinning": "compact"} if counted == "threads" else {"placement": "compact", "mpi": "openmpi-4.1.4"}),
        **{k: v for k, v in changed.items() if k not in own | told},
    }
    values = changed.get("quantities", (quantity("zeta", 17.130235054029, error),))
    tolerance = changed.get("tolerance", 1e-10)
    details = {"class": letter, "verification": {"tolerance": tolerance, "quantities": list(values)}}
    details |= {"phases": dict(changed["phases"])} if "phases" in changed else {}
    hosts = list(changed.get("hosts", ["bench"] * workers))
    around = {"details": details, "oversubscribed": changed.get("crowded", False)}
    passed = bool(values) and error is not None and error <= 1e-10
    made = builders.result(
        f"application.npb_{kernel}",
        kernel,
        parameters,
        seconds,
        {"operations": OPERATIONS, **changed.get("work", {})},
        surroundings=around | ({"ranks": {"hosts": hosts, "cpus": []}} if counted == "ranks" else {}),
        check=Check(passed, "" if passed else f"zeta is wrong, relative error {error}"),
        error=changed.get("failed"),
        **{k: v for k, v in changed.items() if k in own},
    )
    return made if passed and not made.records[0].error else _invalid(made)


def _invalid(made: Result) -> Result:
    verdict = builders.verdict_of("INVALID", "the check failed")
    return builders.measured(made, verdict=verdict, records=tuple(replace(r, verdict=verdict) for r in made.records))


def quantity(name: str, published: float, error: float | None) -> dict[str, Any]:
    value = None if error is None else published * (1 + error)
    return {"quantity": name, "value": value, "reference": published, "error": error}


@pytest.fixture(scope="module")
def declared() -> dict[str, Benchmark]:
    return {name: b for name, b in catalogue.find().items() if name.startswith(applications.EVERY)}


@pytest.fixture
def judged(declared: dict[str, Benchmark]) -> Callable[..., Evaluation]:
    """The evaluation of these results with the metrics that the benchmarks themselves declare."""

    def made(*results: Result, **changed: Any) -> Evaluation:
        found = evaluation(results, **changed)
        names = {r.benchmark for r in results}
        known = {name: declared.get(name, b) for name, b in found.benchmarks.items() if name in names}
        return replace(found, benchmarks=known, results=summarised(found.run.records, known))

    return made


# --------------------------------------------------------------------------- read back


def test_of_all_launches_the_farthest_quantity_is_told() -> None:
    made = npb(1.0)
    records = list(made.records)
    far = {"tolerance": 1e-10, "quantities": [quantity("zeta", 17.13, 5e-11)]}
    records[1] = replace(records[1], surroundings=seen({"details": {"verification": far}}))
    (found,) = npb_results.list_quantities(builders.measured(made, records=tuple(records)))
    assert (found.error, found.passed) == (5e-11, True)


def test_a_quantity_that_is_no_number_is_the_farthest_and_has_not_passed() -> None:
    values = (quantity("residual 1", 2.0, 1.0), quantity("residual 2", 3.0, None))
    farthest = npb_results.find_worst(npb_results.list_quantities(npb(1.0, quantities=values)))
    assert farthest is not None
    assert (farthest.name, farthest.passed) == ("residual 2", False)


@pytest.mark.parametrize(
    ("made", "timed"),
    [
        (npb(1.0), True),
        (npb(0.01), False),  # too short
        (npb(1.0, letter="S"), False),
        (npb(1.0, error=1e-3), False),
        (npb(1.0, failed="not enough memory"), False),
    ],
)
def test_only_a_run_that_is_verified_and_long_enough_says_something_about_speed(made: Result, timed: bool) -> None:
    assert applications.timed(made) is timed


# --------------------------------------------------------------------------- NPB's count of operations


def test_wherever_mops_of_lu_can_be_compared_it_is_said_that_they_follow_the_nominal_count(
    judged: Callable[..., Evaluation],
) -> None:
    made = judged(npb(2.0, "lu", workers=2, work={"flops": 0.357 * OPERATIONS}))
    for figure in drawn(made, "lu"):
        assert (
            "the Mop/s use NPB's count of operations. Our program carries out only 35 to 36 % of them" in figure.caption
        )
    assert "LU carries out 36 % of the operations that NPB counts" in section(made)
    other = judged(npb(2.0, "cg", workers=2, work={"flops": 0.97 * OPERATIONS}))
    texts = section(other) + "".join(f.caption for f in drawn(other))
    assert "nominal count" not in texts
    assert "35 to 36 %" not in texts


def test_a_problem_so_many_times_a_class_is_not_called_by_the_class(judged: Callable[..., Evaluation]) -> None:
    due = {"quantity": "fall", "value": 1.1, "reference": 1.0, "error": 0.1, "tolerance": 0.2}
    made = judged(
        npb(1.0, "mg", scale=4, quantities=(due,)), npb(2.0, "mg", scale=8, quantities=(due | {"error": 0.3},))
    )
    first, second = npb_results.select_results(made.results)
    assert applications.size(first) == "A × 4"
    assert [npb_results.list_quantities(r)[0].passed for r in (first, second)] == [True, False]
    shown = page.data(made)
    assert shown
    assert [s.run.letter for s in shown.speeds] == ["A × 4", "A × 8"]
    assert "4 times as large" in applications.describe_parameters(first)


# NPB 3.4.1's class S: edges or points, and iterations. EP: random numbers; IS: keys; UA counts otherwise.
CLASS_S = {
    "cg": ((1400,), 15),
    "ep": ((1 << 25,), 1),
    "ft": ((64, 64, 64), 6),
    "is": ((1 << 16,), 10),
    "lu": ((12, 12, 12), 50),
    "mg": ((32, 32, 32), 4),
    "ua": ((4,), 50),
}


def counted(kernel: str) -> float:
    """NPB's operations of class S by its size and iterations."""
    edges, steps = CLASS_S[kernel]
    points, row = math.prod(edges), 7
    mean = sum(edges) / 3
    log = math.log(points)
    return {
        "cg": 2 * steps * points * (3 + row * (row + 1) + 25 * (5 + row * (row + 1)) + 3),
        "ep": points,
        "ft": points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * steps),
        "is": steps * points,
        "lu": steps * (1984.77 * points - 10923.3 * mean**2 + 27770.9 * mean - 144010),
        "mg": 58 * steps * points,
        "ua": 125 * 11 * 9080,  # collocation points, steps, elements of all steps
    }[kernel]


@pytest.mark.parametrize("kernel", CLASS_S)
def test_a_program_counts_the_operations_of_the_published_size(
    kernel: str, programs: dict[str, Path], here: Machine, declared: dict[str, Benchmark]
) -> None:
    name = f"{applications.NPB}{kernel}"
    case = Case(
        name, kernel, {"class": "S", "model": "threads", "threads": 1, "pinning": "none"}, Sampling(0.5, 1.0, 1, 1)
    )
    launch = Launch(1, name, "any", 1, (case,))
    program = Program(*start(Site({}), here, launch, programs[build.program_name(name, "threads")]), None)
    try:
        answer = program.ask(line(here, launch, 0, case), 60)
    finally:
        program.close()
    assert answer["check"]["passed"], answer["check"]["detail"]
    assert answer["work"]["operations"] == pytest.approx(counted(kernel), rel=1e-12)


# --------------------------------------------------------------------------- the figures


def of_four_hosts(kernel: str = "cg", models: Sequence[str] = ("mpi",)) -> list[Result]:
    """1 to 4 hosts of 8 cores with 1, 2, 4 and 8 of them loaded: the more of them, the slower is each; and 1 to 8 threads."""
    slower = {1: 1.0, 2: 1.1, 4: 1.6, 8: 2.9}
    ranks = [
        npb(
            24.0 * slower[load] * (1.3 if model == "shmem" else 1) / (load * nodes),
            kernel, model, load * nodes, ranks_per_node=load,
            hosts=[f"node{n}" for n in range(nodes) for _ in range(load)],
        )
        for model in models for load in (1, 2, 4, 8) for nodes in (1, 2, 4)
    ]  # fmt: skip
    return [*ranks, *(npb(24.0 * slower[n] / n, kernel, "threads", n) for n in (1, 2, 4, 8))]


def hosts(cores: int = 8) -> Machine:
    return machine(cores=cores, hosts=tuple(Host(f"node{n}", cores) for n in range(4)))


def drawn(made: Evaluation, kernel: str = "cg") -> tuple[Figure, ...]:
    return made.benchmarks[f"application.npb_{kernel}"].figures(made.results, made.run.machine)


def test_the_speed_of_each_has_a_line_for_each_load_of_the_nodes(judged: Callable[..., Evaluation]) -> None:
    each, every = drawn(judged(*of_four_hosts(), where=hosts()))
    assert [s.name for s in each.series] == [
        "threads", "MPI, 1 on each node", "MPI, 2 on each node", "MPI, 4 on each node", "MPI, 8 on each node",
    ]  # fmt: skip
    assert each.series[3].x == (4, 8, 16)
    assert each.series[3].y == pytest.approx([OPERATIONS / 24 / 1.6] * 3, rel=0.01)
    assert every.series[3].y[2] == pytest.approx(16 * OPERATIONS / 24 / 1.6, rel=0.01)
    assert "cores are loaded on each node" in each.caption


def test_all_models_of_a_program_stand_in_one_figure(judged: Callable[..., Evaluation]) -> None:
    models = ("threads", "mpi", "rma", "shmem")
    each, _ = drawn(judged(*(npb(8.0 / n, "cg", model, n) for model in models for n in (1, 2))))
    assert [s.name for s in each.series] == ["threads", "MPI", "MPI one-sided", "OpenSHMEM"]
    assert each.x.title == "threads or ranks"


def test_several_models_with_several_loads_have_a_figure_each_and_one_together(
    judged: Callable[..., Evaluation],
) -> None:
    *each, together, every = drawn(judged(*of_four_hosts(models=("mpi", "shmem")), where=hosts()))
    assert [f.title for f in each] == [
        "NPB CG with MPI: speed of each rank", "NPB CG with OpenSHMEM: speed of each rank",
    ]  # fmt: skip
    assert [len(f.series) for f in each] == [4, 4]
    assert [s.name for s in together.series] == ["threads", "MPI, 8 on each node", "OpenSHMEM, 8 on each node"]
    assert (together.title, every.name) == (
        "NPB CG, 8 on each node: speed of each thread or rank",
        "npb-cg-all",
    )


def test_a_line_is_named_by_what_differs(judged: Callable[..., Evaluation]) -> None:
    each, _ = drawn(
        judged(
            npb(1.0, model="mpi", workers=2, mpi="mpich-4.1"), npb(1.0, model="mpi", workers=2), npb(9.0, letter="B")
        )
    )
    assert [s.name for s in each.series] == [
        "threads, class B", "MPI, mpich-4.1, class A", "MPI, openmpi-4.1.4, class A",
    ]  # fmt: skip


def test_a_program_of_threads_alone_counts_threads(judged: Callable[..., Evaluation]) -> None:
    each, _ = drawn(judged(npb(4.0, "ep"), npb(2.0, "ep", workers=2)), "ep")
    assert (each.x.title, each.title) == ("threads", "NPB EP: speed of each thread")


def test_class_s_is_in_no_figure(judged: Callable[..., Evaluation]) -> None:
    assert drawn(judged(npb(0.02, letter="S"))) == ()


# --------------------------------------------------------------------------- the page


def rows(html: str, label: str) -> list[list[str]]:
    """The cells of the table with that label, as text."""
    table = html.split(f'aria-label="{label}"', 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", row, re.S)]
        for row in table.split("<tr")[1:]
    ]


def section(made: Evaluation) -> str:
    """The page's part of the report."""
    return report.render(made).split('id="applications"', 1)[1].split('<section class="page"', 1)[0]


def test_a_run_without_applications_has_no_such_page() -> None:
    assert page.data(evaluation([triad(1e10)])) is None
    assert 'id="applications"' not in report.render(evaluation([triad(1e10)]))


def test_speeds_are_in_mops_with_their_interval(judged: Callable[..., Evaluation]) -> None:
    (row,) = rows(section(judged(npb(2.0, workers=4))), "Speeds of the applications")
    assert row[:5] == ["CG class A; threads, 4", "A", "threads", "4", "2.00 s"]
    assert float(row[5]) == pytest.approx(500, rel=0.01)
    low, high = map(float, row[6].split(" – "))
    assert 480 < low < 495
    assert 505 < high < 520
    assert float(row[7]) == pytest.approx(125, rel=0.01)
    assert row[8] == "CLEAN"


def particles(passed: bool, detail: str, ranks: int = 2) -> Result:
    """A run of molecular dynamics of 2 s on so many ranks."""
    parameters: dict[str, Scalar] = {"particles": 16384, "steps": 100, "model": "mpi", "ranks": ranks, "threads": 2}
    made = builders.result(
        "application.molecular_dynamics",
        "dynamics",
        parameters,
        2.0,
        {"particle_steps": 1.6384e6, "flops": 3e9},
        check=Check(passed, detail),
    )
    return made if passed else _invalid(made)


def test_every_other_program_has_its_figure_of_merit_and_what_was_checked(judged: Callable[..., Evaluation]) -> None:
    made = judged(npb(1.0), particles(True, "momentum 1e-15"), particles(False, "energy 7, due 8", ranks=4))
    html = section(made)
    right, wrong = rows(html, "Mini-applications and external programs")
    assert right[:2] == [
        "Molecular dynamics: Lennard-Jones particles16384 particles, steps 100; MPI, 2 ranks, 2 threads",  # a line each
        "2.00 s",
    ]
    speed, meaning = right[2].split(" ", 1)
    assert float(speed) == pytest.approx(819, rel=0.01)
    assert meaning.startswith("kparticle-step/sparticles × steps per second, ")
    assert right[3:] == ["VERIFIED", "CLEAN"]
    assert wrong[0].endswith("; MPI, 4 ranks, 2 threads")
    assert wrong[1:3] == ["–", "–"]
    assert wrong[-2:] == ["NOT VERIFIED", "INVALID"]
    alarm = html.split("<h2>Mini-applications")[0]
    assert "Lennard-Jones particles (16384 particles, steps 100, MPI, 4 ranks, 2 threads): energy 7, due 8" in alarm
    assert "momentum 1e-15" not in alarm
    assert [row[1] for row in rows(html, "What was checked")] == ["momentum 1e-15", "energy 7, due 8"]
    assert len(rows(html, "Speeds of the applications")) == 1


@pytest.mark.parametrize(
    "changed",
    [
        [{"kernel": "program"}, {"kernel": "assembly"}, {"kernel": "solver"}],
        [{"toolchain": "gcc-12.2.0"}, {"toolchain": "clang-15.0.6"}],
        [{"phases": "on"}, {"phases": "off"}],
        [{"start": "barrier"}, {"start": "clock"}],
        [{"plant": "skip"}, {"plant": "none"}],
        [{"ranks": 2}, {"ranks": 4}],
        [{"memory_policy": "local"}, {"memory_policy": "interleaved"}],
        [{"mpi": "openmpi-4.1.4"}, {"mpi": "mpich-4.0.2"}],
        [
            {"kernel": "solver", "toolchain": "gcc-12.2.0"},
            {"kernel": "solver", "toolchain": "gcc-13"},
            {"kernel": "program"},
        ],
        [{"depth": 1}, {}],
    ],
)
@pytest.mark.parametrize("name", ["finite_elements", "npb_cg"])
def test_no_two_rows_of_the_page_have_the_same_words(
    judged: Callable[..., Evaluation], name: str, changed: list[dict[str, Any]]
) -> None:
    made = []
    for number, more in enumerate(changed):
        parameters: dict[str, Scalar] = {
            "class": "A",
            "model": "mpi",
            "ranks": 2,
            "mpi": "openmpi-4.1.4",
            "toolchain": "gcc-12.2.0",
        }
        parameters |= {key: value for key, value in more.items() if key != "kernel"}
        kernel = more.get("kernel", "cg")
        made.append(builders.result(f"application.{name}", kernel, parameters, 1.0 + number, {"flops": 1e9}))
    found = page.data(evaluation(made))
    assert found
    named = [one.named for one in found.programs] + [str(replace(s.run, evidence="")) for s in found.speeds]
    assert len(named) == len(set(named)) == len(changed)


def test_programs_of_others_alone_make_the_page(judged: Callable[..., Evaluation]) -> None:
    html = section(judged(particles(True, "momentum 1e-15")))
    assert "NAS Parallel Benchmarks" not in html
    assert "Not verified" not in html


def test_class_s_and_unverified_runs_have_no_speed(judged: Callable[..., Evaluation]) -> None:
    html = section(
        judged(npb(0.01, letter="S"), npb(1.0, error=1e-3), npb(1.0, letter="D", failed="too little memory"))
    )
    found = {row[1]: row[5:] for row in rows(html, "Speeds of the applications")}
    assert found == {
        "S": ["too small to time", "CLEAN"],
        "A": ["not verified", "INVALID"],
        "D": ["could not be run", "INVALID"],
    }


def test_what_is_not_verified_stands_out_at_the_top(judged: Callable[..., Evaluation]) -> None:
    html = section(judged(npb(1.0), npb(1.0, workers=2, error=1e-3)))
    alarm = html.split("<h2>The NAS Parallel Benchmarks</h2>")[0]
    assert "Not verified" in alarm
    assert "CG, class A, 2 threads: zeta is wrong, relative error 0.001" in alarm
    assert "Not verified" not in section(judged(npb(1.0)))


def test_the_verification_shows_the_farthest_quantity_and_folds_the_others(judged: Callable[..., Evaluation]) -> None:
    values = tuple(quantity(f"checksum {n}", 500.0 + n, n * 1e-13) for n in range(1, 21))
    html = section(judged(npb(1.0, "ft", quantities=values)))
    (row,) = rows(html, "Verification of the applications")
    assert row[:5] == ["FT class A; threads, 1", "A", "threads", "1", "checksum 20 of 20"]
    assert row[5:] == ["2.0e-12", "1e-10", "VERIFIED", "520.000000001", "520"]
    assert len(rows(html, "All quantities of FT")) == 20
    assert '<details class="evidence"><summary>All quantities of FT (20)' in html


def test_an_exact_value_is_allowed_no_error(judged: Callable[..., Evaluation]) -> None:
    rank = {"quantity": "rank of key 1", "value": 104, "reference": 104, "error": 0}
    made = judged(npb(1.0, "is", quantities=(rank,), tolerance=0))
    (row,) = rows(section(made), "Verification of the applications")
    assert row[4:] == ["rank of key 1", "0", "exact", "VERIFIED", "104", "104"]


def test_the_phases_are_shares_of_the_time(judged: Callable[..., Evaluation]) -> None:
    found = page.data(judged(npb(1.0, phases={"spmv": 0.75, "sums": 0.25}), npb(0.6, workers=2, phases={"spmv": 0.6})))
    assert found is not None
    (figure,) = found.phases
    assert figure.rows == (
        ("1 thread", "spmv", "750 ms", "75.0 %"),
        ("1 thread", "sums", "250 ms", "25.0 %"),
        ("2 threads", "spmv", "600 ms", "100 %"),
    )
    assert '"barmode":"stack"' in figure.plot


def test_phases_of_class_s_are_in_the_numbers_only(judged: Callable[..., Evaluation]) -> None:
    small, large = npb(0.01, letter="S", phases={"spmv": 0.01}), npb(1.0, phases={"spmv": 1.0})
    found = page.data(judged(small, large))
    assert found is not None
    (figure,) = found.phases
    assert [row[0] for row in figure.rows] == ["S, 1 thread", "A, 1 thread"]
    (bar,) = json.loads(figure.plot)["data"]
    assert bar["x"] == ["A, 1 thread"]
    assert found.phases_note == "The figures leave out 1 run. The tables below them contain all runs."


def test_the_page_leads_to_the_figures_of_the_programs(judged: Callable[..., Evaluation]) -> None:
    made = judged(*of_four_hosts(), where=hosts())
    html = report.render(made)
    anchors = re.findall(r'<a href="#(application-npb-cg-figure[^"]*)"', html)
    assert len(anchors) == 2
    assert all(f'<figure class="figure" id="{anchor}"' in html for anchor in anchors)


def test_the_page_takes_records_that_tell_nothing() -> None:
    odd = [
        replace(r, surroundings=seen(around))
        for around in (
            {},
            {"details": None},
            {"details": {"verification": {"quantities": [None, {}]}, "phases": {"a": None}}},
        )
        for r in npb(1.0).records[:1]
    ]
    made = [builders.measured(npb(1.0), records=(record,)) for record in odd]
    assert page.data(evaluation(made)) is not None
    assert [applications.phases(m) for m in made] == [{}, {}, {}]


# --------------------------------------------------------------------------- the findings


def loaded(*seconds: float, cores: int = 4) -> Evaluation:
    """CG on 1, 2, 4 … threads of one node."""
    return evaluation([npb(s, workers=2**n) for n, s in enumerate(seconds)], machine(cores=cores))


def moving(rate: float, roof: float, **work: float) -> Evaluation:
    """CG that moves so many bytes a second, beside a Triad of 4 threads that does."""
    memory = triad(roof * 0.75, threads=4)
    memory = replace(memory, metrics={**memory.metrics, "traffic": builders.bandwidth(roof)})
    return evaluation([memory, npb(2.0, workers=4, work={"bytes": 2.0 * rate, "flops": 1e9, **work})])


def against_messages(seconds: float, sided: str = "rma", ranks: int = 2, **changed: Any) -> Evaluation:
    """CG of 1 s with MPI's messages, and one-sided."""
    return evaluation([npb(1.0, model="mpi", workers=ranks), npb(seconds, model=sided, workers=ranks, **changed)])


def on_openmp(seconds: float, threads: int = 4, **changed: Any) -> Evaluation:
    """CG of 1 s on our own threads, and on OpenMP's."""
    theirs = npb(seconds, workers=threads, **changed)
    parameters = {**theirs.parameters, "model": "openmp", "wait_policy": "passive"}
    records = tuple(replace(r, parameters=parameters) for r in theirs.records)
    theirs = builders.measured(theirs, parameters=parameters, records=records)
    return evaluation([npb(1.0, workers=threads), theirs], machine(cores=4))


def cut(*seconds: float, **changed: Any) -> Evaluation:
    """Four cores: threads alone, 2 ranks of 2 threads, 4 ranks."""
    ways: tuple[dict[str, Any], ...] = ({"threads": 4}, {"ranks": 2, "threads": 2}, {"ranks": 4})
    return evaluation([mini(s, **way, **changed) for s, way in zip(seconds, ways, strict=False)], machine(cores=4))


SPEAKS: dict[str, Callable[[], Evaluation]] = {
    "openmp": lambda: on_openmp(0.8),
    "threads_or_ranks": lambda: cut(1.2, 1.0, 1.5),
    "load": lambda: loaded(8.0, 4.2, 4.0),
    "bound": lambda: evaluation([npb(1.0, workers=4), npb(1.4, model="mpi", workers=4)]),
    "one_sided": lambda: against_messages(0.8),
    "class_too_small": lambda: evaluation([npb(0.003, letter="S"), npb(1.0)]),
}
SILENT: dict[str, Callable[[], Evaluation]] = {
    "openmp": lambda: evaluation([npb(1.0, workers=4), npb(0.8, model="mpi", workers=4)]),
    "threads_or_ranks": lambda: evaluation([mini(1.0, threads=4), mini(1.2, ranks=2)]),
    "load": lambda: loaded(8.0),
    "bound": lambda: evaluation([npb(1.0, workers=4), npb(1.05, model="mpi", workers=4), triad(1e10, threads=4)]),
    "one_sided": lambda: evaluation([npb(1.0, model="mpi", workers=2), npb(1.0, model="rma", workers=4)]),
    "class_too_small": lambda: evaluation([npb(1.0), triad(1e10)]),
}
GOOD: dict[str, Callable[[], Evaluation]] = {
    "openmp": lambda: on_openmp(1.0),
    "threads_or_ranks": lambda: cut(1.0, 1.0, 1.0),
    "load": lambda: loaded(8.0, 4.1, 2.1),
    "bound": lambda: moving(11e9, 12e9),
    "one_sided": lambda: against_messages(1.0),
}


def told(rule: str, made: Evaluation) -> Finding:
    (finding,) = findings.load_rule(rule).find(made)
    assert isinstance(finding, Finding)
    return finding


def test_the_load_that_is_worth_it_ends_where_a_core_adds_less_than_half() -> None:
    found = told("load", SPEAKS["load"]())
    assert found.level == "notice"
    assert "only 50 % of the cores of a node" in found.seen
    assert "one more core adds the speed of 0.0" in found.seen


def test_the_speed_of_the_other_cores_stands_beside_the_advice_to_leave_them() -> None:
    found = told("load", loaded(8.0, 6.0, 4.0, 2.9, cores=8))
    assert "only 12 % of the cores of a node well: 8 cores give it 2.76 times the speed of 1 core." in found.seen
    assert "use them all: a run is then 2.76 times as fast." in found.remedy


def test_of_many_nodes_the_ranks_on_each_are_what_is_loaded() -> None:
    found = told("load", evaluation(of_four_hosts()[:12], hosts()))
    assert "only 25 % of the cores of a node well: 8 cores give" in found.seen
    assert "on 1 node" in found.evidence[0]


def test_cores_that_were_not_loaded_are_not_praised() -> None:
    found = told("load", loaded(8.0, 4.1, cores=16))
    assert "2 of 16 cores (the most that were measured)" in found.seen


def test_short_unverified_and_oversubscribed_runs_tell_nothing_of_load_bounds_and_pay() -> None:
    assert findings.load_rule("load").find(loaded(0.08, 0.042, 0.04)) == []
    for changed in ({"letter": "S"}, {"error": 1e-3}, {"crowded": True}):
        made = evaluation([npb(1.0, model="mpi", workers=2), npb(0.8, model="rma", workers=2, **changed)])
        assert findings.load_rule("one_sided").find(made) == []
        made = evaluation([npb(1.0, workers=2), npb(1.5, model="mpi", workers=2, **changed)])
        assert findings.load_rule("bound").find(made) == []


def test_a_program_near_the_bandwidth_of_triad_is_bound_by_the_memory() -> None:
    assert "is memory-bound" in told("bound", moving(11e9, 12e9)).seen
    bound = findings.load_rule("bound")
    assert bound.find(moving(4e9, 12e9)) == []
    assert bound.find(moving(20e9, 12e9)) == [], "its bytes come from a cache"
    assert bound.find(moving(11e9, 12e9, working_set=2e6)) == [], "it lies in a cache"
    assert bound.find(moving(11e9, 12e9, working_set=1e9))


def test_messages_that_cost_are_told_with_their_share() -> None:
    found = told("bound", SPEAKS["bound"]())
    assert "takes 1.40 (" in found.seen
    assert "Up to 29 % of its time" in found.evidence[0]


def mini(seconds: float, kernel: str = "flow", **parameters: Any) -> Result:
    """A mini-application's result: no class, a size of its own."""
    own = {"level", "evidence", "launches", "spread"}
    model = "mpi" if "ranks" in parameters else "threads"
    return builders.result(
        "application.turbulence",
        kernel,
        {"model": model, "points": 2**21, **{k: v for k, v in parameters.items() if k not in own}},
        seconds,
        {"operations": 1e9},
        **{k: v for k, v in parameters.items() if k in own},
    )


def test_the_same_is_told_of_mini_applications() -> None:
    load = evaluation([mini(8.0, threads=1), mini(4.2, threads=2), mini(4.0, threads=4)], machine(cores=4))
    assert "application.turbulence" in told("load", load).seen
    assert "only 50 % of the cores of a node well: 4 cores give it" in told("load", load).seen
    bound = told("bound", evaluation([mini(1.0, threads=4), mini(1.4, ranks=4)]))
    assert "Communication takes a large part of the time of application.turbulence" in bound.seen


def test_other_problems_kernels_and_loads_are_not_set_against_each_other() -> None:
    rule = findings.load_rule("bound")
    assert rule.find(evaluation([mini(1.0, threads=4), mini(1.4, ranks=4, points=2**24)])) == []
    assert rule.find(evaluation([mini(1.0, threads=4), mini(1.4, "other", ranks=4)])) == []
    assert rule.find(evaluation([mini(1.0, threads=2), mini(1.4, ranks=2, threads=2)])) == []
    assert rule.find(evaluation([mini(1.0, threads=4), mini(1.4, ranks=2, threads=2)])) != []
    # Ranks of two threads each load two cores a rank: not a core for each count.
    hybrid = [mini(8.0, ranks=1, threads=2), mini(7.9, ranks=2, threads=2)]
    assert findings.load_rule("load").find(evaluation(hybrid, machine(cores=4))) == []


def test_ranks_over_a_network_are_not_set_against_threads_of_one_node() -> None:
    apart = npb(1.4, model="mpi", workers=4, hosts=["a", "a", "b", "b"])
    assert findings.load_rule("bound").find(evaluation([npb(1.0, workers=4), apart])) == []


def test_one_sided_communication_pays_or_does_not() -> None:
    assert "MPI one-sided is up to 1.25 (" in told("one_sided", against_messages(0.8)).seen
    assert "OpenSHMEM is only 0.77 (" in told("one_sided", against_messages(1.3, "shmem")).seen
    assert "do not differ by more than 5 %" in told("one_sided", against_messages(1.0)).seen


def test_openmps_threads_are_faster_or_slower_or_not_told_apart() -> None:
    assert "OpenMP threads are 1.25 (" in told("openmp", on_openmp(0.8)).seen
    slower = told("openmp", on_openmp(1.3))
    assert "OpenMP threads are only 0.77 (" in slower.seen
    assert slower.effect == pytest.approx(1.3, rel=0.01)
    assert "slower" in slower.evidence[0]
    assert "passive waiting" in slower.evidence[0]
    assert "do not differ by more than 5 %" in told("openmp", on_openmp(1.0)).seen
    unclear = told("openmp", on_openmp(0.97, spread=0.2, launches=1))
    assert (unclear.level, unclear.effect) == ("undecided", None)
    assert "intervals are too wide" in unclear.cause


def test_openmp_on_one_thread_or_without_a_processor_for_each_tells_nothing() -> None:
    rule = findings.load_rule("openmp")
    assert rule.find(on_openmp(0.8, threads=1)) == []
    assert rule.find(on_openmp(0.8, threads=8)) == []


def test_of_several_cuts_of_the_same_cores_the_fastest_is_named() -> None:
    found = told("threads_or_ranks", cut(1.2, 1.0, 1.5))
    assert "is fastest with 2 ranks of 2 threads; with 4 ranks it takes 1.50 (" in found.seen
    assert "4 threads without ranks: 1.20 (" in found.evidence[0]
    assert found.remedy == "Start this program with 2 ranks of 2 threads on 4 cores."
    assert found.effect == pytest.approx(1.5, rel=0.01)
    near = told("threads_or_ranks", cut(1.0, 1.01, 1.4))
    assert "2 ranks of 2 threads: 1.01 (" in near.evidence[0]
    assert "no difference" in near.evidence[0]
    unclear = told("threads_or_ranks", cut(1.0, 1.03, spread=0.2, launches=1))
    assert "intervals are too wide" in unclear.cause


def test_only_the_same_problem_on_as_many_cores_is_cut_differently() -> None:
    rule = findings.load_rule("threads_or_ranks")
    wide = machine(cores=8)
    assert rule.find(evaluation([mini(1.0, ranks=2, threads=2), mini(1.5, ranks=4, points=2**24)], wide)) == []
    assert rule.find(evaluation([mini(1.0, ranks=2, threads=2), mini(1.5, ranks=8)], wide)) == []
    assert rule.find(evaluation([mini(1.0, ranks=4, mpi="a"), mini(1.5, ranks=2, threads=2, mpi="b")], wide)) == []
    (found,) = rule.find(evaluation([mini(1.0, ranks=4, mpi="a"), mini(1.5, threads=4)], wide))
    assert "on 4 cores is fastest with 4 ranks; with 4 threads without ranks it takes 1.5" in found.seen
    apart = npb(1.0, model="mpi", workers=4, hosts=["a", "a", "b", "b"])
    assert rule.find(evaluation([npb(1.5, workers=4), apart], wide)) == []


def test_an_unclear_comparison_of_one_sided_communication_is_no_verdict() -> None:
    found = told("one_sided", against_messages(0.97, spread=0.2, launches=1))
    assert found.level == "undecided"
    assert "intervals are too wide" in found.cause
    assert "--preset" in describe(found.remedy)


def test_all_classes_that_are_too_small_are_told_once_the_shortest_first() -> None:
    made = evaluation([npb(0.01, "ft", letter="W"), npb(0.002, "is", letter="S"), npb(1.0), npb(0.2, "ep", letter="S")])
    found = told("class_too_small", made)
    assert found.seen.startswith(
        "3 of 4 results of 3 programs of the NAS Parallel Benchmarks come from runs of 2.00 to 200 ms."
    )
    assert found.evidence[0] == "application.npb_is (class S, 1 thread): 2.00 ms."


# --------------------------------------------------------------------------- a real run


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of EP of class S and W on this machine."""
    runs = tmp_path_factory.mktemp("npb") / "runs"
    settings = ("class=S,W", "phases=on", "model=threads,mpi", "threads=1", "ranks=2")
    words = ["--only", "application.npb_ep", *(word for setting in settings for word in ("--set", setting))]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(second, "launches", lambda *_: ())  # the launches of the plan are enough
        code = cli.run_and_explain(lambda: cli.app(["run", *words, "--quiet", "--runs", str(runs)]))
    assert code in (0, 1), printed.getvalue()
    return next(runs.iterdir())


@pytest.mark.long
def test_a_real_run_fills_the_page(measured: Path) -> None:
    made = evaluate(measured)
    found = page.data(made)
    assert found is not None
    assert not found.alarm
    assert {s.run.letter: s.why for s in found.speeds} == {"S": "too small to time", "W": ""}
    assert {v.count for v in found.verified} == {2, 8}
    (figure,) = found.phases
    assert {row[1] for row in figure.rows} == {"pairs", "sums"}
    assert section(made)
