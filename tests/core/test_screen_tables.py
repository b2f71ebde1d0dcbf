"""The screen follows the question: the table of each benchmark, columns for compilers or MPIs, and energies."""

from dataclasses import replace
from functools import cache

import pytest
from test_screen import crowded, everything, fits, text

import builders
import power_fixture
import report_fixture
from steelyard.judge.evaluation import judging
from steelyard.judge.findings.every import compilers
from steelyard.judge.findings.network import mpi_compared
from steelyard.measure.telemetry.watched import is_modelled
from steelyard.model import Evaluation, Metric, Result, Source, Tool, Value
from steelyard.show import report
from steelyard.show.report import (
    benchmark_table,
    case_tables,
    compared_figures,
    details,
    row_ranks,
    screen,
    summarised_run,
    summary,
)
from steelyard.show.report.pages import overview

RATES = {"copy": 28e9, "scale": 22e9, "add": 24e9, "triad": 25e9}


def stream(toolchain: str = "gcc-12.2.0", factor: float = 1.0, small: int = 14) -> list[Result]:
    """Copy, Scale, Add and Triad by two threads, Triad by one and over small vectors; `factor` slower."""
    full = [builders.triad(rate / factor, threads=2, toolchain=toolchain) for rate in RATES.values()]
    kernels = [replace(result, kernel=kernel) for kernel, result in zip(RATES, full, strict=True)]
    sizes = [builders.triad(90e9 / factor, elements=1000 * n, toolchain=toolchain) for n in range(1, small + 1)]
    return [*kernels, builders.triad(13e9 / factor, toolchain=toolchain), *sizes]


def shown(of: Evaluation, width: int = 80) -> str:
    found = screen.screen(of, width, None)
    fits(found, width)
    return text(found)


def row(screen_: str, *words: str) -> str:
    """The only line with all these words."""
    (line,) = (line for line in screen_.splitlines() if all(word in line for word in words))
    return line


# --------------------------------------------------------------------------- one benchmark


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_of_the_only_benchmark_has_each_kernel_with_its_interval(width: int) -> None:
    found = shown(builders.evaluation(stream()), width)
    assert found.index("Main figures") < found.index("kernel ") < found.index("Nothing important is wrong")
    for kernel, rate in RATES.items():
        line = row(found, f"{kernel} ", f"{rate / 1e9:.1f} GB/s", "16")
        assert line.endswith("●")
        assert f"{rate * 0.99 / 1e9:.1f} – {rate * 1.01 / 1e9:.1f} GB/s" in line
    assert "more rows with --all." in found


def test_a_verdict_is_marked_in_its_row() -> None:
    results = stream()
    results[0] = replace(results[0], verdict=builders.verdict_of("DISTURBED", "competing load: much."))
    assert row(shown(builders.evaluation(results)), "copy ").endswith("▲")


def test_a_run_of_many_benchmarks_has_no_tables() -> None:
    names = [f"node.example{n}" for n in range(case_tables.MOST_BENCHMARKS + 1)]
    results = [builders.result(n, "k", {"threads": t}, 1e-3, {"bytes": 1e6}) for n in names for t in (1, 2)]
    assert summarised_run.summarised(builders.evaluation(results)).tables == ()
    few = builders.evaluation(r for r in results if r.benchmark in names[:3])
    assert [table.benchmark for table in summarised_run.summarised(few).tables] == names[:3]


@pytest.mark.parametrize(("count", "width"), [(1, 80), (2, 81), (5, 120), (case_tables.MOST_BENCHMARKS, 80)])
def test_tables_of_any_width_fit_the_screen(count: int, width: int) -> None:
    full = crowded()
    names = [*(name for name in full.benchmarks if "example" in name), *full.benchmarks][:count]
    kept = {name: full.benchmarks[name] for name in names}
    of = replace(full, benchmarks=kept, results=tuple(r for r in full.results if r.benchmark in kept))
    shown(of, width)


def test_a_figure_that_stands_in_gives_way_to_the_table_that_holds_it() -> None:
    results = [
        builders.result(
            "node.fft", "fft", {"threads": t}, 1e-3, {"bytes": 1e6}, metrics={"bandwidth": builders.bandwidth(1e9 * t)}
        )
        for t in (1, 2)
    ]
    found = shown(builders.evaluation(results))
    assert "Main figures" not in found
    assert row(found, "2  ", "2.00 GB/s")
    alone = shown(builders.evaluation(results[:1]))
    assert "Main figures" in alone, "a table of one row says no more than a figure"


def test_a_program_of_others_has_a_row_for_each_of_its_figures() -> None:
    names = {"hpl": "Gflop/s of HPL", "copy": "bandwidth of Copy", "time": "time from start to end"}
    told = {name: builders.bandwidth(1e9 * n) for n, name in enumerate(names, 1)}
    results = [builders.result("hpcc", "hpcc", {"ranks": n}, 1.0, {"bytes": 1e9}, metrics=told) for n in (1, 2)]
    of = builders.evaluation(results)
    metrics = tuple(Metric(name, "B/s", "higher", title, lambda s, r: None) for name, title in names.items())
    declared = replace(of.benchmarks["hpcc"], metrics=metrics, sources=(Source("hpcc.toml", foreign=True),))
    found = shown(replace(of, benchmarks={"hpcc": declared}))
    for title in names.values():
        assert len([line for line in found.splitlines() if line.startswith(title)]) == 2
    assert all("1.98 – 2.02 GB/s" in line for line in found.splitlines() if line.startswith("bandwidth of Copy"))


def test_a_short_table_keeps_the_usual_conditions_and_the_ends_of_a_sweep() -> None:
    assert row_ranks.by_halves(1) == [0]
    assert row_ranks.by_halves(5) == [4, 0, 2, 1, 3]
    results = stream()
    ranks = row_ranks.ranks(builders.evaluation(results).benchmarks["memory.stream"], results)
    first = [results[ranks.index(rank)] for rank in range(7)]
    assert [r.kernel for r in first[:4]] == ["triad", "copy", "scale", "add"]
    assert all(r.parameters["threads"] == 2 for r in first[:4])
    assert [r.parameters["elements"] for r in first[4:]] == [16_000_000, 1000, 8000]


# --------------------------------------------------------------------------- compilers and MPIs


@cache
def of_compilers(factors: tuple[float, ...]) -> Evaluation:
    names = [f"compiler{n}-1.0" for n in range(len(factors))]
    results = [r for name, factor in zip(names, factors, strict=True) for r in stream(name, factor, small=2)]
    found = builders.evaluation(results, toolchains=dict.fromkeys(names))
    return replace(found, findings=tuple(compilers.find(found)))


def test_two_compilers_have_a_column_each_and_the_planted_ratio() -> None:
    found = shown(of_compilers((1.0, 1.25)))
    heading = row(found, "Main figures")
    assert heading.split()[2:] == ["compiler0-1.0", "compiler1-1.0", "time", "ratio"]
    triad = row(found, "Triad bandwidth")
    assert "25.0 GB/s     20.0 GB/s" in triad
    assert "1.25 (1.2" in triad
    assert triad.endswith("slower")
    assert "22.4 GB/s" in row(found, "copy "), "the table has both in one row"
    assert "compiler1-1.0 is slower" in found


def test_figures_and_the_finding_on_the_compilers_agree() -> None:
    of = of_compilers((1.0, 1.25))
    (finding,) = of.findings
    (first, *_) = summarised_run.summarised(of).figures
    assert first.alternatives[1].call == "SLOWER"
    assert f"slower in {len(of.results) // 2}" in finding.seen


def test_equal_compilers_are_called_the_same() -> None:
    found = shown(of_compilers((1.0, 1.0)))
    assert row(found, "Triad bandwidth").endswith("same")
    assert "Unclear:" not in found


def test_a_difference_that_may_be_chance_is_explained() -> None:
    results = [
        builders.triad(25e9, spread=0.4, launches=2),
        builders.triad(20e9, spread=0.4, launches=2, toolchain="other-1"),
    ]
    found = shown(builders.evaluation(results))
    assert row(found, "Triad bandwidth").endswith("unclear")
    assert "the difference may be chance." in " ".join(found.split())


def test_three_compilers_have_their_ratios_below_and_four_the_usual_screen() -> None:
    found = shown(of_compilers((1.0, 1.25, 0.8)))
    figure, below = found[found.index("Triad bandwidth") :].splitlines()[:2]
    assert figure.split()[2:] == ["25.0", "GB/s", "20.0", "GB/s", "31.2", "GB/s"]
    assert " 1.25 (" in below
    assert " 0.80 (" in below
    assert "95 % range" in row(shown(of_compilers((1.0, 1.25, 0.8, 1.0))), "Main figures")


def test_two_mpis_have_columns_and_what_has_no_mpi_stands_below() -> None:
    machine = replace(
        builders.machine(), mpis=tuple(Tool(n, f"/usr/bin/{n}", n) for n in ("openmpi-4.1.4", "mpich-4.0.2"))
    )
    results = [builders.message(1e-6 * f, mpi=n) for n, f in (("openmpi-4.1.4", 1.0), ("mpich-4.0.2", 1.5))]
    of = builders.evaluation([*results, *stream(small=0)], machine)
    of = replace(of, findings=tuple(mpi_compared.find(of)), benchmarks={n: builders.known()[n] for n in of.benchmarks})
    of = replace(of, results=tuple(_judged(of, r) for r in of.results))
    found = shown(of)
    assert row(found, "Main figures").split()[2:4] == ["openmpi-4.1.4", "mpich-4.0.2"]
    assert "1.50 (" in row(found, "Short message")
    assert found.index("Short message") < found.index("Other main figures") < found.index("Triad bandwidth")


def _judged(of: Evaluation, result: Result) -> Result:
    return next(iter(judging.evaluate_run(replace(of.run, records=result.records), of.benchmarks).results))


def test_names_too_long_for_a_column_become_letters() -> None:
    of = of_compilers((1.0, 1.25))
    names = dict(zip(of.run.toolchains, ("gcc-12.2.0 -O2 -march=native", "gcc-12.2.0 -O3 -march=native"), strict=True))
    results = tuple(
        replace(r, parameters={**r.parameters, "toolchain": names[str(r.parameters["toolchain"])]}) for r in of.results
    )
    found = shown(replace(of, results=results, run=replace(of.run, toolchains=dict.fromkeys(names.values()))))
    assert "a: gcc-12.2.0 -O2 -march=native\nb: gcc-12.2.0 -O3 -march=native" in found


def test_toolchains_and_mpis_at_once_are_not_compared() -> None:
    results = [
        builders.message(1e-6, mpi=mpi, toolchain=toolchain)
        for mpi in ("openmpi-4.1.4", "mpich-4.0.2")
        for toolchain in ("gcc-12.2.0", "clang-14.0.6")
    ]
    assert compared_figures.axis(builders.evaluation(results)) is None


def test_json_has_each_compiler_with_its_ratio() -> None:
    plain = summary.as_json(summarised_run.summarised(of_compilers((1.0, 1.25))))
    first, second = plain["figures"][0]["alternatives"]
    assert (first["name"], first["time_ratio"]) == ("compiler0-1.0", None)
    assert second["time_ratio"]["value"] == pytest.approx(1.25, rel=0.01)
    assert second["time_ratio"]["low"] < 1.25 < second["time_ratio"]["high"]
    assert second["value"]["value"] == pytest.approx(20e9)


# --------------------------------------------------------------------------- energy


@pytest.mark.parametrize("width", [80, 120])
def test_a_run_with_power_has_watts_and_joules_in_figures_and_tables(width: int) -> None:
    of = power_fixture.evaluated(power_fixture.results({"stencil": power_fixture.KERNELS["stencil"]}))
    found = shown(of, width)
    assert "7.79 W" in (line := row(found, "threads", "400 ms"))
    assert "3.12 J" in line
    assert "3.21 Mflop/J" in line
    assert "Energy of run" in found
    assert "source: BMC" in everything(of)
    (figure,) = summarised_run.summarised(of).figures
    assert figure.energy["energy"].value == pytest.approx(11.0 * 0.14, rel=0.02)
    assert summary.as_json(summarised_run.summarised(of))["figures"][0]["energy"]["power"]["unit"] == "W"


def test_main_figures_name_their_energy_and_a_model_is_called_so() -> None:
    kernels = {name: power_fixture.KERNELS[name] for name in ("stencil", "vector")}
    model = replace(power_fixture.RAIL, source="model", modelled=True)
    of = power_fixture.evaluated([power_fixture.results({n: kernels[n]})[3] for n in kernels], sensor=model)
    assert of.power is not None
    assert is_modelled(of.power.traces)
    assert "Energy (model)" in shown(of)
    assert "node: 11.0 W, 1.54 J per operation, 6.50 Mflop/J" in everything(of)
    assert "Energy of the run (modelled)" in everything(of)


def stated(value: float, unit: str) -> Value:
    return Value(value, unit, None, None, "lower")


def test_many_figures_with_energy_leave_no_figure_out() -> None:
    short = summarised_run.summarised(crowded())
    told = {"power": stated(95.0, "W"), "energy": stated(8.89, "J"), "flops_per_joule": stated(4e6, "flop/J")}
    figures = tuple(replace(short.figures[0], title=f"Figure {n}", energy=told) for n in range(9))
    fits(screen.screen(replace(short, figures=figures), 80, None))
    found = details.list_details(replace(short, figures=figures), 80)
    assert text(found).count("8.89 J per operation") == len(figures)


def test_compilers_have_an_energy_each() -> None:
    of = of_compilers((1.0, 1.25))
    joules = {name: stated(n + 1.5, "J") for n, name in enumerate(of.run.toolchains)}
    results = tuple(
        replace(r, metrics={**r.metrics, "energy": joules[str(r.parameters["toolchain"])]}) for r in of.results
    )
    assert row(shown(replace(of, results=results)), "energy per operation").split()[-4:] == ["1.50", "J", "2.50", "J"]


def test_a_run_without_power_names_no_energy() -> None:
    plain = summary.as_json(summarised_run.summarised(builders.evaluation(stream())))
    assert plain["energy"] is None
    assert plain["figures"][0]["energy"] == {}


def test_a_too_wide_table_leaves_out_its_limit_and_no_line_is_too_long() -> None:
    full = report_fixture.evaluation()
    (wide, *_) = (t for t in case_tables.tables(full) if t.limited)
    assert benchmark_table.LIMIT in benchmark_table.narrow(wide, 80)[0][0].plain
    for width, expected in ((80, True), (48, True), (20, False)):
        found, fitting = benchmark_table.narrow(wide, width)
        assert fitting == expected
        assert all(line.cell_len <= width for line in found)
    assert benchmark_table.LIMIT not in benchmark_table.narrow(wide, 48)[0][0].plain


# --------------------------------------------------------------------------- the report


def test_the_overview_names_each_compiler_and_the_energy() -> None:
    cards = overview_of(of_compilers((1.0, 1.25)))
    assert "compiler0-1.0: 25.0 GB/s</p>" in cards
    assert "times the time of compiler0-1.0" in cards
    kernels = {"stencil": power_fixture.KERNELS["stencil"]}
    assert "1.54 J per operation, 6.50 Mflop/J</p>" in overview_of(
        power_fixture.evaluated(power_fixture.results(kernels))
    )


def overview_of(of: Evaluation) -> str:
    page = overview.data(of)
    return report._environment(()).get_template("pages/overview.html").render(page=page, run=of.run)
