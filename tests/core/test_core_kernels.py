"""The loops of core.kernels: their words and flops, their checks, r∞ and n½, their figures, and the rule on vectors."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import evaluation, machine, result
from steelyard.judge import findings
from steelyard.judge.findings.core import vectors
from steelyard.judge.findings.remedies import describe
from steelyard.measure import build
from steelyard.measure.benchmarks.core import groups, kernel_figures, kernels
from steelyard.measure.launch.program import Program
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.model import Evaluation, Finding, Limit, Machine, Result
from steelyard.statistics.models import rinf
from steelyard.statistics.results.result import results

NAME = "core.kernels"
# f, L, S of one element in words of eight bytes, and whether a stored line is read by the loop itself.
WORDS: dict[str, tuple[int, int, int, bool]] = {
    "broadcast": (0, 0, 1, False),
    "copy": (0, 1, 1, False),
    "strided_copy": (0, 1, 1, False),
    "gather": (0, 1, 1, False),
    "scatter": (0, 1, 1, False),
    "add": (1, 2, 1, False),
    "subtract": (1, 2, 1, False),
    "multiply": (1, 2, 1, False),
    "divide": (1, 2, 1, False),
    "scale": (1, 1, 1, False),
    "linear": (2, 1, 1, False),
    "axpy": (2, 2, 1, True),
    "triad": (2, 2, 1, False),
    "multiply_add": (2, 3, 1, False),
    "two_products": (3, 4, 1, False),
    "two_products_add": (4, 5, 1, False),
    "sum": (1, 1, 0, False),
    "dot": (2, 2, 0, False),
    "sum_of_squares": (2, 1, 0, False),
    "recurrence1": (2, 2, 1, False),
    "recurrence2": (4, 3, 1, False),
    "difference2": (3, 1, 1, False),
    "difference4": (6, 1, 1, False),
    "horner1": (2, 1, 1, False),
    "horner3": (6, 1, 1, False),
    "horner5": (10, 1, 1, False),
    "horner9": (18, 1, 1, False),
    "horner17": (34, 1, 1, False),
    "sqrt": (1, 1, 1, False),
    "exp": (0, 1, 1, False),
    "rotation": (6, 2, 2, True),
}
SHORT = "seconds=0.002 least=3 most=5 sample_seconds=0.00002"


@pytest.fixture(scope="module")
def program(here: Machine) -> Path:
    """The program, compiled with the default toolchain."""
    return build.build([catalogue.find()[NAME]], build.resolve(build.default(here), here))[NAME]


@pytest.fixture(scope="module")
def ask(program: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    """Asks one process for one case after another."""
    with_program = Program([str(program)], {})

    def asked(kernel: str, more: str = "", **parameters: object) -> dict[str, Any]:
        words = " ".join(f"{name}={value}" for name, value in parameters.items())
        return with_program.ask(f"case=1 kernel={kernel} {SHORT} {words} {more}", 60)

    yield asked
    with_program.close()


# --------------------------------------------------------------------------- the loops


def test_there_are_31_loops_in_ten_groups() -> None:
    assert len(groups.GROUPS) == 10
    assert sorted(groups.KERNELS) == sorted(WORDS)
    assert len(groups.KERNELS) == 31


def test_the_program_has_the_loops_that_are_declared(ask: Callable[..., dict[str, Any]]) -> None:
    known = ask("nothing")["error"].split(": ")[-1].split(", ")
    assert known == list(groups.KERNELS)


@pytest.mark.parametrize("kernel", groups.KERNELS)
def test_words_and_flops_of_an_element_are_those_of_the_list(kernel: str, ask: Callable[..., dict[str, Any]]) -> None:
    flops, loads, stores, in_place = WORDS[kernel]
    work = ask(kernel, elements=100)["work"]
    index = 4 if kernel in ("gather", "scatter") else 0
    wide = 3 if kernel == "strided_copy" else 1  # its usual stride: of what is read the words between move as well
    assert work["results"] == 100
    assert work.get("flops") == (100 * flops if flops else None)
    assert work["bytes"] == 100 * (8 * (loads + stores) + index)
    assert work["bytes_moved"] == 100 * (8 * (loads * wide + stores * (1 if in_place else 2)) + index)


@pytest.mark.parametrize("kernel", groups.KERNELS)
def test_a_loop_is_right_at_every_length_with_vectors_and_without(
    kernel: str, ask: Callable[..., dict[str, Any]]
) -> None:
    for elements in (1, 2, 7, 8, 31, 64, 65, 127, 129, 1000, 5003):
        for kept in ("yes", "no"):
            answer = ask(kernel, elements=elements, vectors=kept)
            assert answer.get("check", {}).get("passed"), (elements, kept, answer.get("error") or answer["check"])


@pytest.mark.parametrize("kernel", groups.KERNELS)
def test_a_loop_that_did_not_run_is_found_out_at_every_length(kernel: str, ask: Callable[..., dict[str, Any]]) -> None:
    for elements in (1, 8, 1000):
        assert ask(kernel, "plant=skip", elements=elements)["check"]["passed"] is False


@pytest.mark.parametrize("kernel", groups.KERNELS)
def test_one_wrong_element_is_found_out_at_every_length(kernel: str, ask: Callable[..., dict[str, Any]]) -> None:
    for elements in (1, 8, 1000):
        assert ask(kernel, "plant=wrong", elements=elements)["check"]["passed"] is False


@pytest.mark.parametrize("kernel", [*groups.STRIDED, "strided_copy"])
def test_a_strided_loop_is_right_and_moves_whole_lines(kernel: str, ask: Callable[..., dict[str, Any]]) -> None:
    _, loads, stores, _ = WORDS[kernel]
    for stride in (1, 3, 4, 8, 128, 1024):
        for kept in ("yes", "no"):
            answer = ask(kernel, elements=129, stride=stride, vectors=kept)
            assert answer["check"]["passed"], (stride, kept, answer["check"])
        wide = min(stride, 8)
        moved = 8 * (loads * wide + 2 * stores * (1 if kernel == "strided_copy" else wide))
        assert answer["work"]["bytes_moved"] == 129 * moved


def test_only_loops_with_a_stride_take_one(ask: Callable[..., dict[str, Any]]) -> None:
    assert "stride" in ask("subtract", stride=3)["error"]


@pytest.mark.parametrize(
    "wrong", ["elements=0", "elements=5 stride=0", "elements=4000000000 stride=8", "vectors=maybe"]
)
def test_what_cannot_be_is_refused(wrong: str, ask: Callable[..., dict[str, Any]]) -> None:
    assert wrong.rsplit(maxsplit=1)[-1].split("=", maxsplit=1)[0] in ask("copy", wrong)["error"]


def test_the_loops_measure_one_core(ask: Callable[..., dict[str, Any]]) -> None:
    assert "threads=1" in ask("copy", threads=2)["error"]


def test_a_scalar_loop_holds_no_vector_instruction(program: Path, here: Machine) -> None:
    if here.architecture != "x86_64" or not shutil.which("objdump"):
        pytest.skip("needs objdump and an x86 processor")
    text = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", program], capture_output=True, text=True, check=True)
    arithmetic = r"\sv?(add|sub|mul|div|sqrt|fn?m(add|sub)\w*)pd\s"
    packed = re.compile(arithmetic + r"|\sv?mov\w+\s.*%[yz]mm|\sv?(gather|scatter|pgather)")
    found: dict[str, bool] = {}
    for part in text.stdout.split("\n\n"):
        if head := re.search(r"loops::called<(.*), (true|false)>\(.*>:\n", part):
            found[f"{head[1]}, {head[2]}"] = packed.search(part) is not None
    assert len(found) == 62
    assert [name for name, has in found.items() if has and name.endswith("false")] == []
    assert found[next(name for name in found if "Horner<9>" in name and name.endswith("true"))]


# --------------------------------------------------------------------------- the plan and the metrics


@pytest.mark.parametrize("preset", sorted(EFFORTS))
def test_every_loop_is_measured_with_vectors_and_without(preset: str, two_sockets: Machine) -> None:
    plan = make({NAME: catalogue.find()[NAME]}, two_sockets, EFFORTS[preset], {}, ["any"])
    near = {
        (c.kernel, c.parameters["vectors"])
        for c in plan.launches[0].cases
        if c.parameters["elements"] == groups.fit_first_cache(two_sockets)
    }
    assert near == {(k, v) for k in groups.KERNELS for v in ("yes", "no")}


@pytest.mark.parametrize("preset", sorted(EFFORTS))
def test_the_vectors_of_every_case_fit_into_the_memory(preset: str, two_sockets: Machine) -> None:
    small = replace(two_sockets, memory_available=100 << 20)
    for here in (two_sockets, small):
        plan = make({NAME: catalogue.find()[NAME]}, here, EFFORTS[preset], {}, ["any"])
        for case in plan.launches[0].cases:
            held = groups.working_set(
                case.kernel, int(case.parameters["elements"]), int(case.parameters.get("stride", 1))
            )
            assert held <= 0.7 * here.memory_available, case


def test_full_reaches_four_times_the_caches_with_every_loop(two_sockets: Machine) -> None:
    plan = make({NAME: catalogue.find()[NAME]}, two_sockets, EFFORTS["full"], {}, ["any"])
    for kernel in groups.PLAIN:
        longest = max(int(c.parameters["elements"]) for c in plan.launches[0].cases if c.kernel == kernel)
        assert groups.working_set(kernel, longest) >= 4 * (8 << 20) / 10 ** (1 / 8)


def test_lengths_begin_short_and_go_on_eight_a_decade() -> None:
    found = groups.list_lengths(1000)
    assert found[:12] == (1, 2, 3, 4, 5, 8, 15, 31, 42, 56, 75, 100)
    assert found[-9:] == (100, 133, 178, 237, 316, 422, 562, 750, 1000)


def loop(kernel: str, cycles: float, elements: int = 512, kept: str = "yes", **changed: Any) -> Result:
    """A result of so many cycles an element, at 2.5 GHz, with the metrics that core.kernels declares."""
    flops, loads, stores, _ = WORDS[kernel]
    work = {"bytes": 8.0 * (loads + stores) * elements, "results": float(elements)}
    if flops:
        work["flops"] = float(flops * elements)
    told = {k: changed.pop(k) for k in ("level", "evidence", "spread") if k in changed}
    extra = {"stride": 3} if kernel == "strided_copy" else {}
    parameters = {"elements": elements, "vectors": kept, "threads": 1, **extra, **changed}
    made = result(NAME, kernel, parameters, cycles * elements / 2.5e9, work, **told)
    return results(made.records, {NAME: catalogue.find()[NAME]})[0]


def test_the_metrics_follow_from_the_work() -> None:
    told = loop("triad", 2.0, spread=0.0).metrics
    assert told["flops"].value == pytest.approx(2.5e9)
    assert told["bandwidth"].value == pytest.approx(30e9)
    assert told["rate"].value == pytest.approx(1.25e9)
    assert told["cycles"].value == pytest.approx(2.0)
    assert "flops" not in loop("exp", 15.0).metrics
    assert "flops" not in loop("copy", 1.0).metrics


def test_a_loop_has_one_cores_share_of_the_flops_and_the_memory_beyond_the_caches() -> None:
    limits = {"flops": Limit(4e11, "flop/s", "4 cores"), "memory_bandwidth": Limit(2e10, "B/s", "modules")}
    here = machine(limits=limits)
    share = kernels.limit("flops", loop("triad", 1.0), here)
    assert share.value == 1e11
    assert "1 thread's share (0.25) of 4 cores" in share.source
    assert kernels.limit("bandwidth", loop("copy", 1.0), here) is None
    assert kernels.limit("bandwidth", loop("copy", 9.0, groups.exceed_caches(here)), here) == limits["memory_bandwidth"]
    half = kernels.limit("flops", loop("triad", 1.0), replace(here, cpu_quota=2.0))
    assert half.value == 2e11  # the quota is in the limit already: two cores' worth


# --------------------------------------------------------------------------- r∞ and n½


def test_a_line_gives_back_the_speed_and_the_length_it_was_made_of() -> None:
    points = [(n, (n + 50) * 2 / 1000 * 1e-6) for n in (1, 2, 3, 5, 8, 15, 31, 100, 1000)]
    curve = rinf.fit(points)
    assert rinf.rate(curve, 2) == pytest.approx(1000e6)
    assert curve.half == pytest.approx(50)
    assert curve.r_squared == pytest.approx(1)
    assert not curve.uncertain


LENGTHS = st.lists(st.integers(1, 10**7), min_size=3, max_size=30, unique=True)


@given(LENGTHS, st.floats(0.01, 1e5), st.floats(1e6, 1e13))
def test_any_line_is_found_whatever_its_lengths(lengths: list[int], half: float, speed: float) -> None:
    curve = rinf.fit([(n, (n + half) / speed) for n in lengths])
    assert curve.per_element is not None
    # Of the startup only what the shortest length shows can be known: its share of that time, to some 12 digits.
    shown = half / (half + min(lengths))
    assert curve.startup == pytest.approx(half / speed, rel=1e-9 / shown)
    if max(lengths) > 1e-3 * (half + min(lengths)):
        assert rinf.rate(curve) == pytest.approx(speed, rel=1e-4)


@given(LENGTHS, st.floats(0.1, 1e4), st.integers(-20, 20))
def test_a_clock_in_other_units_changes_the_speed_and_not_the_length(
    lengths: list[int], half: float, power: int
) -> None:
    wave = [1 + 0.1 * (-1) ** k for k in range(len(lengths))]
    points = [(n, (n + half) * w * 1e-9) for n, w in zip(lengths, wave, strict=True)]
    scaled = rinf.fit([(n, t * 2.0**power) for n, t in points])
    curve = rinf.fit(points)
    assert (scaled.half is None) == (curve.half is None)
    if curve.half is not None:
        assert scaled.half == pytest.approx(curve.half, rel=1e-6)
    assert scaled.r_squared == pytest.approx(curve.r_squared, abs=1e-9)


def test_the_order_and_the_regime_are_the_callers_choice() -> None:
    points = [(n, (n + 10) * 1e-9) for n in (1, 4, 16, 64)] + [(n, (5 * n + 300) * 1e-9) for n in (1000, 2000, 4000)]
    near, far = rinf.fit(rinf.select_regime(points, 1, 64)), rinf.fit(rinf.select_regime(points[::-1], 1000, 4000))
    assert (near.half, far.half) == (pytest.approx(10), pytest.approx(60))
    assert (near.last, far.first) == (64, 1000)


def test_a_length_below_zero_is_none_and_says_why() -> None:
    curve = rinf.fit([(n, (n - 0.5) * 1e-9) for n in (1, 2, 4, 8)])
    assert curve.half is None
    assert "below zero" in curve.reason
    assert rinf.rate(curve) == pytest.approx(1e9)


def test_times_that_do_not_grow_have_no_speed() -> None:
    curve = rinf.fit([(n, 1e-6) for n in (1, 2, 4)])
    assert (curve.half, curve.per_element, rinf.rate(curve), curve.r_squared) == (None, None, None, None)
    assert "does not grow" in curve.reason


def test_a_startup_within_the_timers_resolution_is_uncertain() -> None:
    points = [(n, (n + 3) * 1e-9) for n in (1, 2, 4, 8)]
    flags = [c.uncertain for c in (rinf.fit(points, 1e-9), rinf.fit(points, 2e-9)) if c]
    assert flags == [False, True]


def test_two_lengths_make_no_fit_and_no_time_is_an_error() -> None:
    assert rinf.fit([(1, 1e-9), (2, 2e-9), (2, 2.1e-9)]) is None
    for wrong in ((0, 1e-9), (1, 0.0), (1, float("nan")), (float("inf"), 1.0)):
        with pytest.raises(ValueError, match="expected elements > 0"):
            rinf.fit([wrong, (2, 1e-9), (3, 1e-9)])
    with pytest.raises(ValueError, match="resolution of the timer is '-1"):
        rinf.fit([(1, 1e-9), (2, 2e-9), (3, 3e-9)], -1.0)


# --------------------------------------------------------------------------- the figures


def figures(*found: Result, here: Machine | None = None) -> dict[str, Any]:
    return {f.name: f for f in kernel_figures.figures(found, here or machine(l3=8 << 20))}


def test_speed_over_length_is_marked_with_the_half_length_of_its_line() -> None:
    # (n + 20)/2 cycles within the first cache, four cycles an element and 4000 more beyond all.
    near = [loop("dot", (n + 20) / 2 / n, n, spread=0.0) for n in (1, 8, 31, 100, 1000)]
    far = [loop("dot", 4 + 4000 / n, n, spread=0.0) for n in (1_000_000, 2_000_000, 4_000_000)]
    drawn = figures(*near, *far)
    assert drawn["kernels-length"].points[0].x == pytest.approx(20, rel=1e-6)
    assert drawn["kernels-length"].points[0].y == pytest.approx(2 * 2.5e9 * 2 / 2, rel=1e-6)
    assert {s.name: s.y[0] for s in drawn["kernels-n"].series} == {
        "within the first cache": pytest.approx(20, rel=1e-6),
        "beyond all caches": pytest.approx(1000, rel=1e-4),
    }
    assert drawn["kernels-r"].series[1].y[0] == pytest.approx(2 * 2.5e9 / 4, rel=1e-6)
    assert "The lowest R² of a fit is 1.000" in drawn["kernels-r"].caption


def test_times_on_no_line_give_no_speed_of_endless_vectors() -> None:
    wild = [loop("dot", cycles, n, spread=0.0) for cycles, n in ((9.0, 1_000_000), (1.0, 2_000_000), (9.0, 3_000_000))]
    near = [loop("dot", (n + 20) / 2 / n, n, spread=0.0) for n in (1, 8, 31, 100, 1000)]
    drawn = figures(*wild, *near)["kernels-r"]
    assert [len(s.x) for s in drawn.series] == [1, 0]
    assert "R² below 0.9): dot beyond all caches" in drawn.caption


def test_figure_5_stands_over_the_operations_for_each_word() -> None:
    here = machine()
    found = [loop(k, 1.0, groups.fit_first_cache(here), kept) for k in groups.INTENSITY for kept in ("yes", "no")]
    found += [loop(k, 2.0, groups.exceed_caches(here)) for k in groups.INTENSITY]
    lines = {s.name: s for s in figures(*found, here=here)["kernels-intensity"].series}
    assert set(lines) == {"first cache, scalar", "first cache, vectors", "memory, vectors"}
    assert lines["memory, vectors"].x == pytest.approx((1, 3, 5, 9, 17))
    assert lines["first cache, scalar"].y[-1] == pytest.approx(34 * 2.5e9, rel=0.01)


def test_a_cores_share_of_the_limit_heeds_a_quota() -> None:
    here = machine(limits={"flops": Limit(2e11, "flop/s", "2 of 4 cores")}, cpu_quota=2.0)
    found = [loop("horner1", 1.0, groups.fit_first_cache(here))]
    (mark,) = figures(*found, here=here)["kernels-intensity"].marks
    assert mark.at == 1e11


def test_the_gain_of_vectors_is_the_scalar_time_over_theirs() -> None:
    here = machine()
    near = groups.fit_first_cache(here)
    found = [loop(k, c, near, v) for k in ("add", "strided_copy") for c, v in ((1.0, "no"), (0.25, "yes"))]
    bars = figures(*found, here=here)["kernels-gain"].series[0]
    assert bars.x == ("strided_copy", "add")
    assert bars.y == pytest.approx((4, 4), rel=0.01)


def test_compilers_stand_side_by_side_with_a_mean_by_time() -> None:
    here = machine()
    near = groups.fit_first_cache(here)
    found = [loop("add", 1.0, near, toolchain="a"), loop("exp", 9.0, near, toolchain="a")]
    found += [
        loop("add", 1.0, near, toolchain="b"),
        loop("exp", 3.0, near, toolchain="b"),
        loop("dot", 1.0, near, toolchain="b"),
    ]
    first, second = figures(*found, here=here)["kernels-toolchains"].series
    assert first.x == second.x == ("add", "exp", "all, weighted by time")
    assert first.y[-1] == pytest.approx(2.5e9 / 5, rel=0.01)
    assert second.y[-1] == pytest.approx(2.5e9 / 2, rel=0.01)
    assert "kernels-toolchains" not in figures(*found[:2], here=here)


def test_strides_begin_with_the_plain_loop() -> None:
    found = [loop("copy", 0.25), *(loop("copy", float(k), stride=k) for k in (3, 8)), loop("add", 0.3)]
    lines = figures(*found)["kernels-stride"].series
    assert [s.x for s in lines] == [(1, 3, 8)]


# --------------------------------------------------------------------------- the rule


# A loop of each kind that the rule tells apart.
SOME = (
    "gather",
    "scatter",
    "strided_copy",
    "add",
    "divide",
    "recurrence1",
    "horner5",
    "horner9",
    "horner17",
    "sqrt",
    "exp",
)


def compiled(
    gain: Callable[[str], float],
    toolchain: str = "gcc-12.2.0",
    pace: float = 1.0,
    loops: Sequence[str] = SOME,
    **changed: Any,
) -> list[Result]:
    """The loops scalar, and with vectors so many times as fast."""
    found = []
    for kernel in loops:
        time = 4.0 * pace
        found.append(loop(kernel, time, kept="no", toolchain=toolchain, **changed))
        found.append(loop(kernel, time / gain(kernel), toolchain=toolchain, **changed))
    return found


def usual(kernel: str) -> float:
    """With vectors of four doubles: nothing for what depends on the element before or goes through an index."""
    if kernel in ("gather", "scatter", "strided_copy", *groups.GROUPS["recurrences"]):
        return 1.0
    return 2.0 if kernel in ("divide", "sqrt") else 3.9


def without(*names: str) -> Callable[[str], float]:
    return lambda kernel: 1.0 if kernel in names else usual(kernel)


SPEAKS: dict[str, Callable[[], Evaluation]] = {"vectors": lambda: evaluation(compiled(without("sqrt", "exp")))}
SILENT: dict[str, Callable[[], Evaluation]] = {
    "vectors": lambda: evaluation([r for r in compiled(usual) if r.parameters["vectors"] == "yes"])
}
GOOD: dict[str, Callable[[], Evaluation]] = {"vectors": lambda: evaluation(compiled(usual))}


def told(seen: Evaluation) -> list[Finding]:
    return vectors.find(seen)


def test_loops_without_vectors_are_named_with_their_gain_and_a_remedy() -> None:
    found = told(SPEAKS["vectors"]())
    assert [f.level for f in found] == ["notice"]
    assert "sqrt, exp gain less than 1.5 times" in found[0].seen
    assert found[0].evidence[0].startswith("sqrt (512 elements): 1.00 times as fast as scalar")
    assert "-fno-math-errno" in found[0].remedy
    assert "libmvec" in found[0].remedy


def test_all_vectorised_is_good_news_and_no_vectors_nothing_to_say() -> None:
    assert [(f.level, f.remedy) for f in told(GOOD["vectors"]())] == [("good", "")]
    assert told(SILENT["vectors"]()) == []
    assert told(evaluation([])) == []


def test_vectors_of_half_the_width_are_told_by_the_polynomials() -> None:
    found = told(evaluation(compiled(usual), machine(fma_width=8)))[0]
    assert "horner5, horner9, horner17 gain at most about half of the gain that 8 elements allow" in found.seen
    assert "-mprefer-vector-width=512" in describe(found.remedy)
    assert "sqrt" not in found.seen


def test_a_loop_that_vectors_make_slower_is_named() -> None:
    found = told(evaluation(compiled(lambda k: 0.6 if k == "scatter" else usual(k))))[0]
    assert "scatter is slower with vectors" in found.seen
    assert "0.60 times" in found.evidence[0]


def test_two_compilers_are_compared_loop_by_loop_with_intervals() -> None:
    other = compiled(lambda k: usual(k) / (2 if k == "add" else 1), "clang-14.0.6", loops=groups.KERNELS)
    rule = findings.load_rule("compilers")
    (compared,) = rule.find(evaluation([*compiled(usual, loops=groups.KERNELS), *other]))
    assert compared.seen.startswith("clang-14.0.6 is faster than gcc-12.2.0 in 0 of 62 cases and slower in 1.")
    assert "core.kernels add: clang-14.0.6 takes 1.414 times the time of gcc-12.2.0" in compared.evidence[0]
    (same,) = rule.find(evaluation([*compiled(usual), *compiled(usual, "clang-14.0.6")]))
    assert same.level == "good"


def test_what_was_disturbed_is_said_to_be() -> None:
    shaken = compiled(without("exp"), level="DISTURBED", evidence=("competing load.",))
    found = told(evaluation([replace(r, verdict=replace(r.verdict, level="DISTURBED")) for r in shaken]))[0]
    assert "Disturbed" in found.seen
