"""Variants: named changes of the environment and the launcher's options, from the command line to figures and comparisons."""

import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_plan import benchmark

import builders
from scripts import write_script
from steelyard.compare.cause import find_cause_of_runs
from steelyard.compare.matching import match
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.compare.surroundings import find_differences
from steelyard.compare.verdict import subject
from steelyard.errors import UsageError
from steelyard.judge import findings
from steelyard.judge.findings.every import variant_effects
from steelyard.measure import published
from steelyard.measure.launch.start import start
from steelyard.measure.plan import EFFORTS, make
from steelyard.measure.plan.variants import describe, expect_mpis, meanings, read_variants, spell
from steelyard.measure.records import remembered
from steelyard.measure.records.best_pace import Best
from steelyard.measure.run.again import again
from steelyard.measure.run.asking import line
from steelyard.model import Axes, Benchmark, Evaluation, Launch, Machine, Plan, Result, Site, Source, Tool, Variant
from steelyard.show.command_line import cli
from steelyard.show.report import compared_figures, screen, summarised_run, summary, variant_figures
from steelyard.show.report.headline import headlines
from steelyard.show.report.pages import benchmark as benchmark_page

TCP = "tcp:OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self"
LABELS = ("openmpi-4.1.4", "mpich-4.0.2")


# --------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TCP, Variant("tcp", {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"})),
        ("eth1:--mca btl_tcp_if_include eth1", Variant("eth1", {}, ("--mca", "btl_tcp_if_include", "eth1"))),
        ("vendor driver@mpich: A='x y' -v B=c", Variant("vendor driver", {"A": "x y"}, ("-v", "B=c"), "mpich")),
        ("h:GLIBC_TUNABLES=glibc.malloc.hugetlb=1", Variant("h", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})),
        ("empty:A=", Variant("empty", {"A": ""})),
    ],
)
def test_a_variant_is_read_as_a_shell_reads_words(text: str, expected: Variant) -> None:
    (variant,) = read_variants([text])
    assert variant == expected
    assert read_variants([spell(variant)]) == (variant,)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["tcp"], "'tcp' (given by --variant) has the wrong form"),
        (["tcp@:A=1"], "has the wrong form"),
        (["tcp:"], "changes nothing"),
        ([":A=1"], "'' cannot be the name of a variant"),
        (["default:A=1"], "not 'default', which is the start without changes"),
        (["a,b:A=1"], "cannot be the name"),
        (["x" * 41 + ":A=1"], "1 to 40 letters"),
        (["a:B='c"], "Close each quotation mark"),
        (["a:btl tcp"], "'btl' in the variant 'a' (given by --variant) is neither VARIABLE=VALUE nor an option"),
        (["a:1B=c"], "'1B' in the variant 'a' (given by --variant) is not the name of a variable"),
        (["a:A=1,BC=2"], "another variable after a comma: ',BC='"),
        (["a:A='x\x1b[31m'"], "contains a control character"),
        (["a:STEELYARD_CPUS=0"], "Steelyard sets the variable STEELYARD_CPUS itself"),
        (["a:I_MPI_PIN=1"], "Steelyard sets the variable I_MPI_PIN itself"),
        (["a:OMP_NUM_THREADS=3"], "are set with --set"),
        (["a:-n 3"], "sets the number of ranks"),
        (["a:--ntasks=3"], "sets the number of ranks"),
        (["a:A=1", "a:A=2"], "defined twice"),
        (["a:A=1", "a@openmpi:A=2"], "defined twice"),
        (["a@openmpi:A=1", "a@openmpi-4.1.4:A=2"], "defined twice"),
    ],
)
def test_a_wrong_variant_is_refused_with_a_sentence(texts: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_variants(texts)
    assert words in str(refused.value)


def test_a_variant_of_another_mpi_and_options_for_several_launchers_are_refused() -> None:
    with pytest.raises(UsageError, match="for another MPI than those of this run: openmpi-4.1.4"):
        expect_mpis(read_variants(["a@mpich:A=1"]), LABELS[:1], "mpiexec")
    with pytest.raises(UsageError, match="'a@openmpi-4.1.4:…'"):
        expect_mpis(read_variants(["a:-v"]), LABELS, "mpiexec")
    expect_mpis(read_variants(["a:-v"]), LABELS, "srun")
    expect_mpis(read_variants(["a@mpich:-v", "b:A=1"]), LABELS, "mpiexec")


def test_one_name_may_have_a_meaning_for_each_mpi() -> None:
    variants = read_variants(["tcp@openmpi:A=1", "tcp@mpich:B=2 -v"])
    assert meanings(variants) == {"tcp": "openmpi: A=1; mpich: B=2 -v"}
    assert describe(variants[1]) == "B=2 -v"


# --------------------------------------------------------------------------- the plan


def messages(*transports: str) -> Benchmark:
    values = {"kernel": ("k",), "ranks": (2,), "transport": transports or ("default",), "message_bytes": (8, 64)}
    return replace(benchmark("network.one", Axes(values)), sources=(Source("x.cpp", parallel=True),))


def planned(machine: Machine, texts: list[str], settings: dict[str, Any] | None = None, **more: Any) -> Plan:
    both = {"group.one": benchmark(), "network.one": messages("default", "no shared memory")}
    chosen = {**both, **more}
    return make(chosen, machine, EFFORTS["quick"], settings or {}, ["gcc"], mpis=LABELS, variants=read_variants(texts))


def starts(made: Plan, name: str) -> set[tuple[object, ...]]:
    """Returns variant, MPI and transport of the launches of a benchmark, whose cases all agree in them."""
    keys = ("variant", "mpi", "transport")
    found = set()
    for launch in made.launches:
        (start_,) = {tuple(c.parameters.get(key) for key in keys) for c in launch.cases}
        if launch.benchmark == name:
            found.add(start_)
    return found


def test_every_parallel_case_is_planned_once_a_variant_and_others_once(two_sockets: Machine) -> None:
    made = planned(two_sockets, [TCP, "eager:OMPI_MCA_btl_tcp_eager_limit=1000"])
    assert starts(made, "group.one") == {("default", None, None)}
    both = {(v, mpi, "default") for mpi in LABELS for v in ("default", "tcp", "eager")}
    alone = {(v, mpi, "no shared memory") for mpi in LABELS for v in ("default", "eager")}
    # Open MPI's transport without shared memory sets the variables of "tcp" itself; MPICH's sets others.
    assert starts(made, "network.one") == both | alone | {("tcp", "mpich-4.0.2", "no shared memory")}
    first = [c for x in made.launches if x.repetition == 1 and x.benchmark == "network.one" for c in x.cases]
    assert len(first) == 2 * len(starts(made, "network.one"))


def test_the_launches_of_all_variants_are_shuffled_together(two_sockets: Machine) -> None:
    many = messages().axes
    made = planned(two_sockets, [TCP], {"ranks": [1, 2, 3, 4]}, **{"network.one": replace(messages(), axes=many)})
    order = [x.cases[0].parameters["variant"] for x in made.launches if x.benchmark == "network.one"]
    assert 2 < sum(a != b for a, b in pairwise(order)) < len(order) - 1


def test_options_and_a_named_mpi_restrict_a_variant(two_sockets: Machine) -> None:
    made = planned(two_sockets, ["eth1@openmpi:--mca btl_tcp_if_include eth1"])
    changed = {found for found in starts(made, "network.one") if found[0] == "eth1"}
    assert changed == {("eth1", "openmpi-4.1.4", "default")}


def test_a_variable_of_the_system_changes_programs_of_threads_too(two_sockets: Machine) -> None:
    made = planned(two_sockets, ["huge:GLIBC_TUNABLES=glibc.malloc.hugetlb=1"])
    assert starts(made, "group.one") == {("default", None, None), ("huge", None, None)}
    launch = next(x for x in made.launches if x.benchmark == "group.one")
    assert "variant" not in line(two_sockets, launch, 0, launch.cases[0])


def test_openmp_variables_change_openmp_programs_only(two_sockets: Machine) -> None:
    values = {"model": ("threads", "openmp"), "kernel": ("k",), "threads": (2,)}
    models = (Source("x.cpp", model="threads"), Source("x.cpp", model="openmp"), Source("x.toml", foreign=True))
    mixed = replace(benchmark("group.two", Axes(values), Axes({"kernel": ("k",), "threads": (2,)})), sources=models)
    made = planned(two_sockets, ["long:KMP_BLOCKTIME=100"], **{"group.two": mixed})
    changed = {x.model for x in made.launches if x.cases[0].parameters["variant"] == "long"}
    assert changed == {"openmp", ""}
    # Steelyard itself places the threads of its own programs, but not those of other programs.
    made = planned(two_sockets, ["spread:OMP_PROC_BIND=spread"], **{"group.two": mixed})
    assert {x.model for x in made.launches if x.cases[0].parameters["variant"] == "spread"} == {""}


def test_set_chooses_among_the_variants(two_sockets: Machine) -> None:
    made = planned(two_sockets, [TCP, "vendor driver:A=1"], {"variant": ["vendor driver"]})
    assert {c.parameters["variant"] for x in made.launches for c in x.cases} == {"vendor driver"}
    with pytest.raises(UsageError, match="variant 'tpc'.*Did you mean 'tcp'"):
        planned(two_sockets, [TCP], {"variant": ["tpc"]})
    with pytest.raises(UsageError, match="the command has none"):
        planned(two_sockets, [], {"variant": ["tcp"]})


@pytest.mark.parametrize("text", [TCP, "a:-v", "a@openmpi:A=1", "a:OMP_SCHEDULE=static"])
def test_a_variant_that_changes_no_case_is_refused(two_sockets: Machine, text: str) -> None:
    with pytest.raises(UsageError, match="changes no case of this run"):
        make({"group.one": benchmark()}, two_sockets, EFFORTS["quick"], {}, ["gcc"], variants=read_variants([text]))


def test_a_run_without_variants_has_the_same_plan_as_before(two_sockets: Machine) -> None:
    made = planned(two_sockets, [])
    assert all("variant" not in c.parameters for x in made.launches for c in x.cases)


# --------------------------------------------------------------------------- the start


def started(
    machine: Machine, wrapper: Path, flavour: str, variant: str, texts: list[str]
) -> tuple[str, dict[str, str]]:
    tool = Tool(flavour, str(wrapper), "4.1.4")
    site = Site({f"{flavour}-4.1.4": tool}, "mpiexec", ("--first",), read_variants(texts))
    (case, *_) = planned(machine, [], {"mpi": [LABELS[0]]}).launches[0].cases
    parameters = {**case.parameters, "ranks": 2, "mpi": f"{flavour}-4.1.4", "variant": variant}
    launch = Launch(1, "network.one", "gcc", 1, (replace(case, parameters=parameters),))
    words, environment = start(site, machine, launch, Path("p"))
    return shlex.join(words), environment


@pytest.fixture
def wrapper(tmp_path: Path) -> Path:
    """An mpicxx with an mpiexec beside it."""
    write_script(tmp_path / "mpiexec", "")
    return write_script(tmp_path / "mpicxx", "")


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_variables_reach_the_ranks_and_options_the_launcher(two_sockets: Machine, wrapper: Path, flavour: str) -> None:
    texts = ["a:MY_DRIVER=new --second 'x y'", "b:MY_DRIVER=newer"]
    words, environment = started(two_sockets, wrapper, flavour, "a", texts)
    assert environment["MY_DRIVER"] == "new"
    assert "MY_DRIVER" in words  # what the launcher passes on to other hosts
    assert "--first --second 'x y' " in words
    words, environment = started(two_sockets, wrapper, flavour, "default", texts)
    assert "MY_DRIVER" not in words
    assert "MY_DRIVER" not in environment
    assert "--second" not in words


def test_a_program_of_threads_gets_the_variables(two_sockets: Machine) -> None:
    made = planned(two_sockets, ["huge:GLIBC_TUNABLES=glibc.malloc.hugetlb=1"], {"variant": ["huge"]})
    site = Site(variants=read_variants(["huge:GLIBC_TUNABLES=glibc.malloc.hugetlb=1"]))
    launch = next(x for x in made.launches if x.benchmark == "group.one")
    assert start(site, two_sockets, launch, Path("p"))[1]["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"


# --------------------------------------------------------------------------- another user's run


def of_stranger(made: Plan, here: Machine, variants: tuple[Variant, ...]) -> Any:
    evaluation = builders.evaluation([], here, plan=replace(made, launches=()), site=Site(variants=variants))
    return evaluation.run


def test_the_variants_of_a_foreign_run_are_used_with_trust_or_after_own_use(
    here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    variants = read_variants(["evil:LD_PRELOAD=/tmp/evil.so"])
    run = of_stranger(Plan("quick", 1, (), 1.0), here, variants)
    with pytest.raises(UsageError, match=r"uses the variant 'evil:LD_PRELOAD=/tmp/evil.so'.*--trust"):
        again(run, [], here, trusted=False)
    assert again(run, [], here, trusted=True).site.variants == variants
    remembered.trust([], {"variant": [spell(v) for v in variants]})
    assert again(run, [], here, trusted=False).site.variants == variants


def test_a_foreign_run_cannot_change_what_steelyard_sets(here: Machine) -> None:
    run = of_stranger(Plan("quick", 1, (), 1.0), here, (Variant("x", {"STEELYARD_CPUS": "0"}),))
    with pytest.raises(UsageError, match="STEELYARD_CPUS itself"):
        again(run, [], here, trusted=True)


def test_a_case_whose_variant_is_not_defined_is_refused(here: Machine, two_sockets: Machine) -> None:
    made = planned(two_sockets, ["huge:A=1"], {"variant": ["huge"]})
    run = builders.evaluation([], here, plan=made).run
    with pytest.raises(UsageError, match="the variant 'huge', which it does not define"):
        again(run, [], here, trusted=True)


# --------------------------------------------------------------------------- results

FIGURE_8 = {
    ("kernel", "tcp", None): "kernel driver",
    ("vendor", "tcp", None): "vendor driver",
    ("vendor", "tcp", "patched"): "vendor driver + patched kernel",
    (None, "open-mx", None): "Open-MX",
}


def of_mont_blanc() -> list[Result]:
    """Figure 8 of the prototype's paper, as a run with variants would have measured its printed numbers."""
    found = []
    for entry in published.select("pingpong"):
        if entry.system != "Mont-Blanc system" or entry.metric not in ("latency", "bandwidth"):
            continue
        given = entry.parameters
        driver = FIGURE_8[given.get("driver"), given.get("stack"), given.get("kernel")]  # type: ignore[index]
        size = 0 if entry.metric == "latency" else 4 << 20
        seconds = entry.value if entry.metric == "latency" else size / entry.value
        found.append(builders.message(seconds, size, variant=driver, placement="other node", hosts=("a", "b")))
    return found


def test_figure_8_is_one_overlay_with_a_line_for_each_driver_and_protocol() -> None:
    pingpong = builders.known()["network.pingpong"]
    drawn = {f.name: f for f in variant_figures.figures(pingpong, of_mont_blanc(), builders.machine())}
    time, rate = (
        [line for line in drawn[f"pingpong-{name}"].series if not line.published] for name in ("time", "bandwidth")
    )
    latencies = {line.name: line.y[0] for line in time if line.x[0] == 0}
    assert latencies == pytest.approx({"kernel driver": 156e-6, "vendor driver": 88e-6, "Open-MX": 65e-6})
    rates = {line.name: line.y[0] for line in rate}
    assert rates == pytest.approx({"kernel driver": 80e6, "vendor driver + patched kernel": 100e6})


def variants_of(factors: dict[str, float], **more: Any) -> list[Result]:
    """Ping-pong of 8 bytes to 64 KiB, whose time is multiplied by the factor of the variant."""
    sizes = [8 << 2 * i for i in range(7)]
    return [
        builders.message(factor * (1e-6 + size / 1e9), size, variant=name, **more)
        for name, factor in factors.items()
        for size in sizes
    ]


def evaluation(factors: dict[str, float], texts: list[str], **more: Any) -> Evaluation:
    of = builders.evaluation(variants_of(factors), site=Site(variants=read_variants(texts)), **more)
    return replace(of, benchmarks={n: builders.known()[n] for n in of.benchmarks})


def test_the_screen_has_a_column_for_each_variant_with_the_planted_ratio_and_its_meaning() -> None:
    of = evaluation({"default": 1.0, "tcp": 1.5}, [TCP])
    (first, *_) = headlines(of)
    assert [(a.name, a.call) for a in first.alternatives] == [("default", None), ("tcp", "SLOWER")]
    assert first.alternatives[1].time_ratio is not None
    assert first.alternatives[1].time_ratio.value == pytest.approx(1.5, rel=0.01)
    shown = "\n".join(text.plain for text in screen.screen(of, 80, None))
    assert "tcp: OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self" in shown
    assert summary.as_json(summarised_run.summarised(of))["variants"] == {
        "tcp": "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self"
    }


def test_variants_are_compared_with_each_of_several_mpis() -> None:
    factors = {"default": 1.0, "tcp": 1.5}
    results = variants_of(factors) + variants_of(factors, mpi="mpich-4.0.2")
    axis = compared_figures.axis(builders.evaluation(results))
    assert (axis.parameter, axis.names) == ("variant", ("default", "tcp"))


def test_a_finding_names_the_effect_and_the_variables() -> None:
    slower, same = variant_effects.find(evaluation({"default": 1.0, "tcp": 1.5, "same": 1.0}, [TCP, "same:A=1"]))
    assert slower.seen == (
        "tcp (OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self) is faster than default in 0 of 7 cases and slower in 7."
    )
    assert slower.effect == pytest.approx(1.5, rel=0.01)
    assert same.level == "good"
    assert "ignore its variables" in same.cause


def test_other_findings_describe_the_default() -> None:
    results = variants_of({"default": 1.0}) + variants_of({"default": 5.0}, transport="no shared memory")
    alone = builders.evaluation(results)
    both = builders.evaluation(results + variants_of({"tcp": 5.0}))
    found, expected = ([f for f in findings.judge(e).findings if f.benchmark] for e in (both, alone))
    assert [f.rule for f in expected] == ["slow_transport"]
    assert found == expected


def test_the_page_of_a_benchmark_draws_one_line_a_variant_and_says_what_each_is() -> None:
    of = evaluation({"default": 1.0, "tcp": 1.5}, [TCP])
    figures = benchmark_page.figures(of, "network.pingpong")
    page, time = benchmark_page.data(of, "network.pingpong", figures), figures[0]
    names = [row[0] for row in time.rows]
    assert {name for name in names if not name.endswith("(published)")} == {"default", "tcp"}
    points = [row[:2] for row in time.rows if row[0].endswith("(published)")]
    assert len(points) == len(set(points)) > 0, "lines of published systems stand once"
    assert ("Variants", "tcp: OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self") in page.measured
    (table,) = page.tables
    assert "variant" in table.parameters


def test_a_run_without_variants_is_paired_with_the_default_of_another() -> None:
    without = [
        replace(r, parameters={k: v for k, v in r.parameters.items() if k != "variant"})
        for r in variants_of({"default": 1})
    ]
    with_tcp = variants_of({"tcp": 1.5, "default": 1.0})
    matched = match(without, with_tcp)
    assert [pair.b.parameters["variant"] for pair in matched.pairs] == ["default"] * 7
    assert len(matched.only_b) == 7
    assert not any(pair.differing for pair in matched.pairs)


def test_variants_with_one_name_and_two_meanings_differ() -> None:
    a, b = (evaluation({"default": 1.0, "x": 1.0}, [text]) for text in ("x:A=1", "x:A=2"))
    assert ("variant x", "A=1", "A=2") in [(d.name, d.a, d.b) for d in find_differences(a.run, b.run)]
    assert [(f.name, f.a, f.b) for f in find_cause_of_runs(a, b).factors] == [("variant x", "A=1", "A=2")]


def test_the_best_pace_of_a_variant_is_not_kept_for_other_runs() -> None:
    best = Best({})
    for result in variants_of({"default": 1.0, "tcp": 1.5}):
        (record, *_) = result.records
        best.learn(
            replace(record, surroundings=builders.seen(record.surroundings, pace={"before": {"exchange": 1e-6}}))
        )
    assert any(key.startswith("exchange") for key in best.all())
    assert all("tcp" not in key for key in best.all())
    parameters = variants_of({"tcp": 1.5})[0].parameters
    assert "exchange" in best.bounds("network.pingpong", "pingpong", parameters).best


def test_the_verdict_on_a_system_reads_the_default_only() -> None:
    rates = {"default": 1e10, "huge": 2e10}
    both = builders.evaluation([builders.triad(rate, variant=name) for name, rate in rates.items()])
    alone = builders.evaluation([builders.triad(1e10)])
    found, expected = (subject.read(Side(name="a", kind="run", runs=(reduce_run(e),))) for e in (both, alone))
    assert {name: r.number for name, r in found.items()} == {name: r.number for name, r in expected.items()} != {}


# --------------------------------------------------------------------------- the command line


def test_plan_lists_the_variants(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    words = [
        "plan",
        "--only",
        "memory.latency",
        "--set",
        "threads=1",
        "--variant",
        "huge:GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
    ]
    assert cli.run_and_explain(lambda: cli.app(words)) == 0
    printed = capsys.readouterr().out
    assert "Variant huge: GLIBC_TUNABLES=glibc.malloc.hugetlb=1" in printed
    rows = [line.split("│")[4].strip() for line in printed.splitlines() if "memory.latency" in line]
    assert rows == ["default", "huge"]
