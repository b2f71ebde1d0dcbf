"""The levels of the memory are recognised from a ladder of latencies, also a noisy one."""

import random
from dataclasses import replace
from math import exp

import pytest

from steelyard.measure.benchmarks.memory.latency import Level, describe, levels, plateaus
from steelyard.model import Machine, Result, Value, Verdict
from steelyard.model.units import binary_size

CACHES = (48 << 10, 2 << 20, 105 << 20)
TIMES = (1.5e-9, 5e-9, 30e-9, 110e-9)  # seconds: first cache, second, third, memory


def ladder(steps: int, noise: float = 0.0, seed: int = 1) -> tuple[list[int], list[float]]:
    """Sizes, `steps` an octave from 4 KiB to 512 MiB, and times that rise as the caches overflow."""
    chance = random.Random(seed)
    sizes = [int(4096 * 2 ** (i / steps)) for i in range(17 * steps + 1)]
    times = []
    for size in sizes:
        time = TIMES[0]
        for cache, slower, faster in zip(CACHES, TIMES[1:], TIMES, strict=False):
            missed = min(1.0, max(0.0, (size - cache) / cache))  # none up to the size, all from twice the size
            time += missed * (slower - faster)
        times.append(time * exp(chance.gauss(0, noise)))
    return sizes, times


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_four_levels_of_a_clean_ladder_are_found(steps: int) -> None:
    found = plateaus(*ladder(steps))
    assert [level.latency for level in found] == pytest.approx(TIMES, rel=0.05)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("steps", [1, 2])
def test_noise_of_five_percent_neither_hides_nor_adds_levels(steps: int, seed: int) -> None:
    found = plateaus(*ladder(steps, 0.05, seed))
    assert [level.latency for level in found] == pytest.approx(TIMES, rel=0.15)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_level_ends_at_its_cache(steps: int) -> None:
    for level, cache in zip(plateaus(*ladder(steps)), CACHES, strict=False):
        assert cache / 2 <= level.largest <= cache * 1.5


def test_a_flat_ladder_is_one_level() -> None:
    sizes = [4096 << i for i in range(12)]
    assert plateaus(sizes, [2e-9] * 12) == (Level(sizes[0], sizes[-1], 2e-9),)


def test_a_slope_without_a_flat_part_is_no_level() -> None:
    sizes = [4096 << i for i in range(12)]
    assert plateaus(sizes, [1e-9 * 1.8**i for i in range(12)]) == ()


def test_too_few_points_are_no_ladder() -> None:
    assert plateaus([4096, 8192], [1e-9, 1e-9]) == ()
    assert levels(()) == ()


def results(pages: str | None, steps: int) -> list[Result]:
    sizes, times = ladder(steps)
    pages_named = {"page_size": pages} if pages else {}
    return [
        Result(
            benchmark="memory.latency",
            kernel="chase",
            parameters={"threads": 1, "pinning": "compact", "bytes": size, "chains": 1, "toolchain": "gcc"}
            | pages_named,
            records=(),
            metrics={"latency": Value(time, "s", time, time, "lower")},
            verdict=Verdict("CLEAN"),
        )
        for size, time in zip(sizes, times, strict=True)
    ]


def test_the_ladder_with_the_most_points_is_judged_and_parallel_chains_are_left_out() -> None:
    default = results(None, 2)
    spoiled = [
        replace(
            r,
            parameters={**r.parameters, "chains": 16},
            metrics={"latency": Value(1e-10, "s", None, None, "lower")},
        )
        for r in default
    ]
    found = levels([*spoiled, *default, *results("transparent", 1)])
    assert [level.latency for level in found] == pytest.approx(TIMES, rel=0.05)


def test_the_caption_sets_the_levels_beside_the_reported_caches(two_sockets: Machine) -> None:
    text = describe((Level(4096, 32 << 10, 1.5e-9), Level(64 << 20, 512 << 20, 110e-9)), two_sockets)
    assert f"1.50 ns up to {binary_size(32 << 10)};" in text
    assert f"L1 {binary_size(32 << 10)}, L2 {binary_size(1 << 20)}, L3 {binary_size(8 << 20)}" in text
    assert (
        describe((), two_sockets)
        == "No part of the line is flat enough to show the latency of a cache or of the memory."
    )
