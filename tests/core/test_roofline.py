"""The roofline: which roofs follow from which results, under which a kernel stands, and what is said of it."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

import builders
from builders import machine, result
from steelyard.judge.findings.every import roof as rule
from steelyard.model import Evaluation, Level, Limit, Result, Scalar, Value
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.devices import on_device
from steelyard.model.machine import Device
from steelyard.show import report
from steelyard.show.report.pages import roofline as page
from steelyard.statistics.results.roofline import Place, Roofline, device_rooflines, rooflines

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# Made up: a core of 40 Gflop/s with vectors, 5 without; memory 12 GB/s, L3 24, L2 60, L1 200.
VECTORS, SCALAR = 40e9, 5e9
RATES = {16 * KIB: 200e9, 256 * KIB: 60e9, 2 * MIB: 24e9, 1 * GIB: 9e9}


def peak(flops: float, width: str = "512", operation: str = "fma", threads: int = 1, **changed: Scalar) -> Result:
    parameters = {"vector_width": width, "operation": operation, "precision": "double", "threads": threads, **changed}
    value = Value(flops, "flop/s", 0.99 * flops, 1.01 * flops, "higher")
    work = {"flops": 1e6, "bytes": 0.0}
    return result("core.peak", "peak", parameters, 1e6 / flops, work, metrics={"flops": value})


def triad(rate: float, size: int, threads: int = 1, level: Level = "CLEAN", **changed: Any) -> Result:
    made = builders.triad(rate, threads, size // 24, level=level, **changed)
    moved = rate * (1 if changed.get("stores") == "streaming" else 4 / 3)
    return replace(made, metrics={**made.metrics, "traffic": builders.bandwidth(moved)})


def kernel(
    flops: float, work: dict[str, float], name: str = "loop", threads: int = 1, level: Level = "CLEAN", **changed: Any
) -> Result:
    """A kernel of that speed; `work` of one operation. Parameters by name."""
    around = {"surroundings": changed.pop("surroundings")} if "surroundings" in changed else {}
    return result(
        "mine.kernels", name, {"threads": threads, **changed}, work["flops"] / flops, work, level=level, **around
    )


def roofs(threads: int = 1) -> list[Result]:
    bandwidths = [triad(rate, size) for size, rate in RATES.items()] if threads == 1 else [triad(18e9, GIB, threads)]
    peaks = [peak(VECTORS * threads, threads=threads), peak(SCALAR * threads, "scalar", threads=threads)]
    return [*bandwidths, *peaks]


def lines(*results: Result, cores: int = 4) -> dict[int, Roofline]:
    found = rooflines(builders.evaluation([*roofs(), *results], machine(cores=cores)))
    return {line.threads: line for line in found}


def placed(made: Result) -> Place:
    places = [
        p for p in lines(made)[1].places if p.result.benchmark == made.benchmark and p.result.kernel == made.kernel
    ]
    assert len(places) == 1
    return places[0]


def streaming(intensity: float, size: float) -> dict[str, float]:
    return {"flops": intensity * size, "bytes": float(size)}


def test_each_level_has_the_bandwidth_of_a_triad_that_lies_well_inside_it() -> None:
    found = {roof.name: roof.value for roof in lines()[1].roofs}
    assert found == {"memory": 12e9, "L3": 32e9, "L2": 80e9, "L1": 200e9, "vectors": VECTORS, "scalar": SCALAR}


def test_the_memory_is_the_faster_of_both_kinds_of_stores_by_what_it_moves() -> None:
    assert lines(triad(11e9, GIB, stores="streaming"))[1].roof(MEMORY).value == pytest.approx(12e9)  # type: ignore[union-attr]
    assert lines(triad(13e9, GIB, stores="streaming"))[1].roof(MEMORY).value == pytest.approx(13e9)  # type: ignore[union-attr]


def test_the_roof_is_that_of_the_most_trusted_triad() -> None:
    assert lines(triad(90e9, GIB, level="UNSETTLED", pinning="none"))[1].roof(MEMORY).value == 12e9  # type: ignore[union-attr]
    assert lines(triad(90e9, GIB, level="DISTURBED", pinning="none"))[1].roof(MEMORY).value == 12e9  # type: ignore[union-attr]


def test_an_invalid_result_is_neither_a_roof_nor_a_place() -> None:
    wrong = replace(peak(1e15), verdict=replace(peak(1.0).verdict, level="INVALID"))
    line = lines(wrong, kernel(1e9, streaming(1, GIB), level="INVALID"))[1]
    assert line.roof("vectors").value == VECTORS  # type: ignore[union-attr]
    assert not [p for p in line.places if p.result.kernel == "loop"]


def test_unfused_arithmetic_is_a_roof_of_its_own_only_where_it_is_slower() -> None:
    assert lines(peak(VECTORS / 2, operation="add_mul"))[1].roof("vectors, not fused") is not None
    assert lines(peak(VECTORS * 0.97, operation="add_mul"))[1].roof("vectors, not fused") is None


def test_a_peak_above_its_limit_is_replaced_by_the_limit() -> None:
    made, limit = builders.evaluation(roofs()), Limit(0.5 * VECTORS, "flop/s", "made up")
    results = tuple(replace(r, limits={"flops": limit}) if "flops" in r.metrics else r for r in made.results)
    (line,) = rooflines(replace(made, results=results))
    assert [line.roof(name).value for name in ("vectors", "scalar")] == [limit.value, SCALAR]  # type: ignore[union-attr]


def test_a_kernel_far_above_the_bandwidth_of_a_cache_has_no_share() -> None:
    fast = kernel(2.5 * 80e9 / 8, streaming(1 / 8, 512 * KIB))
    assert (placed(fast).roof.name, placed(fast).share) == ("L2", None)  # type: ignore[union-attr]
    made = page.data(builders.evaluation([*roofs(), fast], machine()))
    assert made
    assert any("reached more than 200 % of the bandwidth of a cache" in note for note in made.parts[0].notes)
    assert placed(kernel(1.9 * 80e9 / 8, streaming(1 / 8, 512 * KIB))).share == pytest.approx(1.9, rel=0.01)


def test_a_roofline_needs_a_peak_and_a_bandwidth_of_equal_threads() -> None:
    assert set(lines()) == {1}
    assert set(lines(peak(VECTORS * 4, threads=4))) == {1}
    assert set(lines(*roofs(4))) == {1, 4}
    assert rooflines(builders.evaluation([triad(9e9, GIB)])) == ()
    assert rooflines(builders.evaluation([peak(VECTORS)])) == ()


# --------------------------------------------------------------------------- devices


GPU = Device(0, "A GPU", "GPU", 80 * GIB, False, door="cuda")


def on_gpu(kernel_name: str, rate: float, work: dict[str, float], name: str, metric: str, **given: Scalar) -> Result:
    value = Value(rate, "flop/s" if metric == "flops" else "B/s", 0.99 * rate, 1.01 * rate, "higher")
    amount = work["flops" if metric == "flops" else "bytes"]
    parameters = {"device": 0, "threads": 1, **given}
    return result(name, kernel_name, parameters, amount / rate, work, metrics={metric: value})


def device_results() -> list[Result]:
    loop = {"bytes": 3.0 * GIB, "flops": GIB / 4, "working_set": 3.0 * GIB}
    triads = [
        on_gpu("triad", rate, loop, "device.stream", "bandwidth", door="cuda", precision="double", elements=elements)
        for rate, elements in ((9e12, 1 << 17), (3e12, 1 << 27))
    ]
    peaks = [
        on_gpu(
            kernel_name, rate, {"flops": 1e12, "bytes": 0.0}, "device.peak", "flops", door="cuda", precision=precision
        )
        for kernel_name, precision, rate in (
            ("vector", "double", 30e12),
            ("vector", "single", 60e12),
            ("matrix", "double", 60e12),
        )
    ]
    fft = on_gpu("fft", 2e12, {"flops": 2e12, "bytes": 1e12}, "node.fft", "flops", mode="cuda", elements=1 << 24)
    return [*triads, *peaks, fft]


def test_a_device_has_its_roofs_and_kernels_beside_those_of_the_processors() -> None:
    here = machine(cores=4, devices=(GPU,))
    of = builders.evaluation([*roofs(), *roofs(4), kernel(1e9, streaming(1, GIB), threads=4), *device_results()], here)
    (line,) = device_rooflines(of)
    assert line.device == "GPU 0 (CUDA)"
    assert {roof.title: roof.value for roof in line.roofs} == {
        "memory of GPU 0 (CUDA)": 3e12,  # of the largest size, and not of the last cache
        "vectors of GPU 0 (CUDA)": 30e12,  # in double precision, without matrix units
        "memory": 24e9,
        "vectors": 4 * VECTORS,
    }
    fft = next(place for place in line.places if place.result.benchmark == "node.fft")
    assert (fft.roof.title, fft.share) == ("memory of GPU 0 (CUDA)", pytest.approx(1 / 3, rel=0.01))  # type: ignore[union-attr]
    assert any(place.result.benchmark == "mine.kernels" for place in line.places)
    assert all(not on_device(place.result.parameters) for plain in rooflines(of) for place in plain.places)


def test_a_processor_behind_opencl_and_a_device_without_a_peak_have_no_roofline() -> None:
    processor = machine(cores=4, devices=(replace(GPU, kind="CPU"),))
    assert device_rooflines(builders.evaluation([*roofs(4), *device_results()], processor)) == ()
    alone = [r for r in device_results() if r.benchmark != "device.peak"]
    assert device_rooflines(builders.evaluation([*roofs(4), *alone], machine(devices=(GPU,)))) == ()


def test_the_page_draws_a_device_and_the_processors_in_one_figure() -> None:
    here = machine(cores=4, devices=(GPU,))
    made = page.data(builders.evaluation([*roofs(), *roofs(4), *device_results()], here))
    assert made
    part = made.parts[-1]
    assert part.title == "GPU 0 (CUDA) and all processors together (4 threads)"
    traces = {trace["name"]: trace for trace in json.loads(part.figure.plot)["data"]}
    ends = {name: max(traces[name]["y"]) for name in ("memory of GPU 0 (CUDA)", "memory")}
    assert ends == {"memory of GPU 0 (CUDA)": 30e12, "memory": 4 * VECTORS}, (
        "each slope ends at the peak of its own vectors"
    )
    assert part.figure.anchor == "roofline-figure-gpu-0-cuda"


@pytest.mark.parametrize(
    ("size", "threads", "level"),
    [
        (20 * KIB, 1, "L1"), (30 * KIB, 1, "L2"), (60 * KIB, 4, "L1"), (512 * KIB, 1, "L2"), (2 * MIB, 4, "L2"),
        (3 * MIB, 1, "L3"), (6 * MIB, 1, None), (15 * MIB, 1, None), (16 * MIB, 1, "memory"), (GIB, 4, "memory"),
    ],
)  # fmt: skip
def test_where_a_working_set_lies_is_said_only_where_it_is_clear(size: int, threads: int, level: str | None) -> None:
    assert level_of(size, threads, machine()) == level  # 32 KiB and 1 MiB a core, 8 MiB for all


def test_nothing_lies_anywhere_on_a_machine_that_tells_no_caches() -> None:
    assert level_of(GIB, 1, machine(caches=())) is None


@pytest.mark.parametrize(
    ("intensity", "size", "roof", "bound"),
    [
        (0.1, GIB, "memory", 1.2e9), (10, GIB, "vectors", VECTORS), (0.1, 20 * KIB, "L1", 20e9),
        (0.1, 500 * KIB, "L2", 8e9), (0.1, 3 * MIB, "L3", 3.2e9), (0.5, 20 * KIB, "vectors", VECTORS),
    ],
)  # fmt: skip
def test_the_bound_is_the_lower_of_peak_and_bandwidth(intensity: float, size: int, roof: str, bound: float) -> None:
    place = placed(kernel(bound / 2, streaming(intensity, size)))
    assert place.roof.name == roof
    assert place.bound == pytest.approx(bound)
    assert place.share == pytest.approx(0.5, rel=0.01)


def test_beyond_the_first_cache_bytes_are_counted_as_they_move() -> None:
    far = {**streaming(0.1, GIB), "bytes_moved": 2.0 * GIB}
    near = {**streaming(0.1, 20 * KIB), "bytes_moved": 40.0 * KIB}
    assert placed(kernel(1e8, far)).intensity == pytest.approx(0.05)
    assert placed(kernel(1e8, near)).intensity == pytest.approx(0.1)


def test_moved_bytes_are_not_the_working_set_of_a_program() -> None:
    place = placed(kernel(1e8, {**streaming(0.1, GIB), "operations": 1e9}))
    assert (place.level, place.name) == (None, "loop")
    assert place.roof.name == "memory", "the lowest roof that it does not exceed"
    told = placed(kernel(1e8, {**streaming(0.1, GIB), "operations": 1e9, "working_set": 3.0 * MIB}))
    assert told.level == "L3"


def test_a_loop_that_was_kept_scalar_stands_below_the_scalar_peak() -> None:
    place = placed(kernel(4e9, streaming(10, GIB), vectors="no"))
    assert place.roof.name == "scalar"
    assert place.share == pytest.approx(0.8, rel=0.01)
    assert "kept scalar" in place.name


@pytest.mark.parametrize(
    ("speed", "roof"), [(1e9, "memory"), (3e9, "L3"), (7e9, "L2"), (19e9, "L1"), (23e9, None)]
)  # fmt: skip
def test_an_unknown_working_set_gets_the_lowest_fitting_roof(speed: float, roof: str | None) -> None:
    place = placed(kernel(speed, {**streaming(0.1, 8192), "accesses": 1024.0}))
    assert place.level is None
    assert (place.roof and place.roof.name) == roof


def test_at_all_threads_a_cache_that_was_not_measured_bounds_nothing() -> None:
    cached = kernel(1e9, streaming(0.1, 20 * KIB), threads=4)
    dense = kernel(80e9, streaming(100, 20 * KIB), "dense", threads=4)
    places = {p.result.kernel: p for p in lines(*roofs(4), cached, dense)[4].places}
    assert places["loop"].roof is None
    assert places["loop"].share is None
    # Even the memory could feed it at the peak.
    assert places["dense"].roof is not None
    assert places["dense"].roof.name == "vectors"
    assert places["dense"].share == pytest.approx(0.5, rel=0.01)


def test_the_largest_cases_in_cache_and_memory_represent_a_kernel() -> None:
    sizes = (8 * KIB, 20 * KIB, 3 * MIB, 7 * MIB, 64 * MIB, GIB)
    made = [kernel(1e8, streaming(0.1, size), elements=size // 8) for size in sizes]
    made += [kernel(1e8, streaming(0.1, 2 * GIB), elements=GIB // 4, pinning="none")]
    places = [p for p in lines(*made)[1].places if p.result.kernel == "loop"]
    assert [p.result.records[0].work["bytes"] for p in places] == [3 * MIB, GIB]


def test_other_hosts_and_cards_are_not_under_these_roofs() -> None:
    cluster = kernel(1e9, streaming(1, GIB), ranks=1, surroundings={"ranks": {"hosts": ["a", "b"]}})
    card = kernel(1e9, streaming(1, GIB), "card", surroundings={"details": {"shares_memory": False}})
    own = kernel(1e9, streaming(1, GIB), "own", surroundings={"details": {"shares_memory": True}})
    assert {p.result.kernel for p in lines(cluster, card, own)[1].places} == {"triad", "own"}


def test_ranks_are_counted_like_threads() -> None:
    made = kernel(1e9, streaming(1, GIB), threads=2, ranks=2)
    assert "loop" in {p.result.kernel for p in lines(*roofs(4), made)[4].places}


def test_a_kernel_that_moves_nothing_or_computes_nothing_has_no_place() -> None:
    made = [kernel(1e9, {"flops": 1e6, "bytes": 0.0}), kernel(1e9, {"flops": 1e6}, "other")]
    copy = result("mine.kernels", "copy", {"threads": 1}, 1e-3, {"bytes": 1e6})
    assert {p.result.kernel for p in lines(*made, copy)[1].places} == {"triad"}


# --------------------------------------------------------------------------- the finding


def judged(*results: Result) -> Evaluation:
    return builders.evaluation([*roofs(), *results])


# For the tests of all rules.
SPEAKS = {"roof": lambda: judged(kernel(1e8, streaming(0.1, GIB)))}
SILENT = {"roof": judged}


def test_many_kernels_below_their_roof_are_one_finding_with_a_list() -> None:
    low = [kernel(1e8, streaming(0.1, GIB), f"low{n}") for n in range(20)]
    found = rule.find(judged(*low, kernel(1.1e9, streaming(0.1, GIB), "well")))
    assert [f.level for f in found] == ["notice"]
    assert found[0].seen.startswith("20 of 21 kernels reach less than 60 % of their roofline limit (lowest: 8.3 %).")
    assert "Of 21 kernels with their data in memory, 1 reaches 60 %." in found[0].seen
    assert len(found[0].evidence) == rule.MOST + 1
    assert found[0].evidence[-1] == "The Roofline page shows 12 more."


def test_kernels_that_reach_their_roof_are_good_and_none_says_nothing() -> None:
    assert [f.level for f in rule.find(judged(kernel(1.1e9, streaming(0.1, GIB))))] == ["good"]
    assert rule.find(judged()) == []
    assert rule.find(builders.evaluation([kernel(1e9, streaming(1, GIB))])) == []


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (kernel(5e9, streaming(50, GIB)), rule.SLOW_LOOP),
        (kernel(1e8, streaming(50, GIB)), rule.WAITING),
        (kernel(0.5e9, streaming(0.1, GIB), level="DISTURBED"), rule.DISTURBED),
        (kernel(0.1e9, streaming(0.1, GIB), level="DISTURBED", stores="streaming"), rule.WAITING),
        (kernel(0.5e9, streaming(0.1, GIB)), rule.ALLOCATE),
        (kernel(0.5e9, {**streaming(0.1, GIB), "bytes_moved": 1.0 * GIB}), rule.WAITING),
        (kernel(1e9, streaming(0.1, 2 * KIB)), rule.OVERHEAD),
    ],
)
def test_each_low_kernel_has_its_likely_cause(made: Result, cause: str) -> None:
    found = rule.find(judged(made))[0]
    assert found.evidence[0].endswith(f": {cause}.")
    assert cause in found.cause
    assert found.remedy


def test_what_was_kept_scalar_on_purpose_is_no_finding() -> None:
    assert rule.find(judged(kernel(1e8, streaming(50, GIB), vectors="no"))) == []


# --------------------------------------------------------------------------- the page


def test_the_page_is_there_only_where_a_peak_and_a_bandwidth_are() -> None:
    assert 'id="roofline"' not in report.render(builders.evaluation([triad(9e9, GIB)]))
    html = report.render(judged(kernel(1e9, streaming(1, GIB))))
    assert html.count('<section class="page" id="roofline">') == 1
    assert '<a href="#roofline">Roofline</a>' in html


def test_the_page_shows_roofs_kernels_bounds_and_verdicts() -> None:
    seen = judged(kernel(0.9e9, streaming(0.1, GIB), level="DISTURBED"), kernel(10e9, streaming(50, GIB), "dense"))
    data = page.data(seen)
    part = data.parts[0]
    assert {name: value for name, value, _, _ in part.roofs}["bandwidth of the memory"] == "12.0 GB/s"
    rows = {row.name: row for row in part.rows}
    assert rows["loop (1 GiB)"].share == "75 %"
    assert rows["loop (1 GiB)"].level == "DISTURBED"
    assert rows["dense (1 GiB)"].cells[4:] == ("vectors", "40.0 Gflop/s")
    assert part.rows[0].name == "dense (1 GiB)"  # the lowest share first


def test_the_figure_has_log_axes_and_hollow_marks() -> None:
    seen = judged(kernel(0.9e9, streaming(0.1, GIB), level="DISTURBED"), kernel(10e9, streaming(50, GIB), "dense"))
    data = page.data(seen)
    plot = json.loads(data.parts[0].figure.plot.replace("\\u003c", "<"))
    assert plot["layout"]["xaxis"]["type"] == plot["layout"]["yaxis"]["type"] == "log"
    traces = {trace["name"]: trace for trace in plot["data"]}
    # The memory's slope ends where it reaches the peak.
    assert traces["memory"]["x"][1] == pytest.approx(VECTORS / 12e9)
    assert traces["memory"]["y"][1] == pytest.approx(VECTORS)
    kernels = traces["kernels"]
    assert kernels["mode"] == "markers"
    assert [symbol.endswith("-open") for symbol in kernels["marker"]["symbol"]] == [True, False]
    assert "dense" in kernels["customdata"][1]
    within = [plot["layout"]["yaxis"]["range"][0] < math.log10(y) for t in traces.values() for y in t["y"] if y]
    assert all(within)


# Pixels between the ends of the axis, and of the longest name: a phone's (where the numbers are left out), and a page's.
@pytest.mark.parametrize(("width", "longest"), [(240, 48), (640, 105)])
def test_the_names_of_roofs_do_not_overlap(width: int, longest: int) -> None:
    data = page.data(judged(triad(13e9, 3 * MIB, pinning="none")))
    layout = json.loads(data.parts[0].figure.plot)["layout"]
    notes = layout["annotations"]
    assert {re.split(r" \d", note["text"])[0] for note in notes} == {"memory", "L3", "L2", "L1", "vectors", "scalar"}

    def pixels(axis: str, length: int) -> float:
        low, high = layout[axis]["range"]
        return float(length / (high - low))

    right, up = pixels("xaxis", width), pixels("yaxis", layout["height"] - 88)
    angle = math.atan2(up, right)
    for slope in (True, False):
        tilt = angle if slope else 0.0
        places = [(n["x"] * right, n["y"] * up) for n in notes if (n.get("name") == "slope") == slope]
        for number, (x, y) in enumerate(places):
            for other_x, other_y in places[:number]:
                along = (x - other_x) * math.cos(tilt) + (y - other_y) * math.sin(tilt)
                across = (y - other_y) * math.cos(tilt) - (x - other_x) * math.sin(tilt)
                assert abs(across) > 12 or abs(along) > longest, notes  # a line of text is 12 pixels high


def test_a_name_that_would_be_markup_is_text_in_the_figure() -> None:
    data = page.data(judged(kernel(1e9, streaming(1, GIB), "<b>loop</b>")))
    assert "<b>" not in data.parts[0].figure.plot
    assert "&lt;b" in json.loads(data.parts[0].figure.plot)["data"][-1]["customdata"][-1]


def test_caches_at_all_threads_are_said_not_to_be_measured() -> None:
    data = page.data(judged(*roofs(4), kernel(1e9, streaming(0.1, 20 * KIB), threads=4)))
    assert "with one thread only" in data.parts[1].notes[0]
    row = next(row for row in data.parts[1].rows if row.name.startswith("loop"))
    assert row.cells[4:] == ("not measured", "")
    assert row.share == ""
