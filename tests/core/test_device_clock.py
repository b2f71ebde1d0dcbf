"""The clock of a device beside the samples: NVML's readings in the harness, and what they prove."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builders
import fake_nvml
from fake_nvml import NEW, OLD
from native import linked
from steelyard.judge.findings import disturbances
from steelyard.model import Check, Machine, Verdict
from steelyard.model.observed import Observed, Samples
from steelyard.statistics.validity.device_clock import Readings
from steelyard.statistics.validity.pace import UNBOUNDED
from steelyard.statistics.validity.verdict import judge_record, judgement

# --------------------------------------------------------------------------- the reading

READ = """
#include <unistd.h>
#include <cstdio>
#include "device_clock.h"
int main(int, char** words) {
  steelyard::DeviceClock clock(words[1]);
  for (int i = 0; i < 2; ++i) clock.read_if_due(), clock.read_if_due(), usleep(30000);
  std::printf("%s\\n", clock.readings().c_str());
}
"""


def read(here: Machine, folder: Path, *options: str, bus: str = "0000:01:00.0") -> Any:
    environment = {**os.environ, **fake_nvml.build(folder, *options)}
    done = subprocess.run([linked(here, READ), bus], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [NEW, OLD])
def test_the_clock_and_its_reasons_are_read_by_either_name(here: Machine, tmp_path: Path, name: str) -> None:
    readings = read(here, tmp_path, "-DFAIL=0", f"-DREASONS={name}")
    assert readings["clock"] == [1.98e9, 1.395e9]
    assert readings["reasons"] == [0, 4]
    assert (readings["most"], readings["power_limit"]) == (1.98e9, 700)
    assert 0.02 <= readings["at"][1] - readings["at"][0] < 10


def test_a_driver_without_reasons_leaves_them_unknown(here: Machine, tmp_path: Path) -> None:
    assert read(here, tmp_path, "-DFAIL=0")["reasons"] == [None, None]


@pytest.mark.parametrize(("fail", "bus"), [(9, "0000:01:00.0"), (0, "0000:02:00.0"), (0, "")])
def test_a_device_that_nvml_does_not_know_has_no_readings(here: Machine, tmp_path: Path, fail: int, bus: str) -> None:
    assert read(here, tmp_path, f"-DFAIL={fail}", f"-DREASONS={NEW}", bus=bus) is None


# --------------------------------------------------------------------------- the judgement

COUNT, LENGTH, BEGAN = 60, 0.01, 1.79e9
STEADY = builders.samples(1e-3, count=COUNT)


def around(slow: range, clock: float = 1.2e9, reasons: int = 4, every: int = 2, **details: Any) -> Observed:
    """A case on a device whose clock is `clock` for these `reasons` after the `slow` samples; read after every second one."""
    read_after = range(0, COUNT, every)
    given = {
        "at": [BEGAN + (number + 1) * LENGTH for number in read_after],
        "clock": [clock if number in slow else 1.98e9 for number in read_after],
        "reasons": [reasons if number in slow else 0 for number in read_after],
        "most": 1.98e9,
        "power_limit": 700.0,
    }
    samples = Samples(at=[number * LENGTH for number in range(COUNT)], seconds=[0.99 * LENGTH] * COUNT)
    known = {"device": "NVIDIA H200", "shares_memory": False, "clock": {**given, **details}}
    return Observed(began=BEGAN, ended=BEGAN + COUNT * LENGTH, samples=samples, details=known)


def judge(surroundings: Observed, slow: range = range(0), by: float = 1.0) -> Verdict:
    row = tuple(x * by if number in slow else x for number, x in enumerate(STEADY))
    return judgement(row, surroundings, Check(True)).verdict


@pytest.mark.parametrize(
    ("reasons", "cause"),
    [
        (4, "its power limit of 700 W"),
        (0x20, "its temperature"),
        (0x40, "its temperature"),
        (0x80, "a slowdown by its hardware (power or temperature)"),
        (0x44, "its power limit of 700 W and its temperature"),
    ],
)
def test_a_clock_that_power_or_heat_lowers_is_the_named_disturbance(reasons: int, cause: str) -> None:
    slow = range(COUNT // 2, COUNT)
    verdict = judge(around(slow, reasons=reasons), slow, by=1.5)
    first = verdict.evidence[0]
    assert (verdict.level, first.kind) == ("DISTURBED", "device clock")
    assert f"samples, {cause} lowered the clock of NVIDIA H200 (lowest: 1.20 GHz, possible: 1.98 GHz)" in first.text
    assert first.numbers["device_clock"] == 1.2e9


def test_a_device_that_draws_its_limit_during_the_whole_case_is_only_noted() -> None:
    everywhere = range(COUNT)
    verdict = judge(around(everywhere), everywhere, by=1.5)
    assert verdict.level == "CLEAN"
    assert verdict.evidence[0].text.endswith("So the result is that of the device at this limit.")


@pytest.mark.parametrize("reasons", [0x40, 0x44, 0x80])
def test_a_device_that_is_too_hot_during_the_whole_case_is_disturbed(reasons: int) -> None:
    everywhere = range(COUNT)
    verdict = judge(around(everywhere, reasons=reasons), everywhere, by=1.5)
    assert (verdict.level, verdict.evidence[0].numbers["samples"]) == ("DISTURBED", COUNT)


def test_a_lower_clock_that_the_figure_does_not_follow_is_only_noted() -> None:
    verdict = judge(around(range(COUNT // 2, COUNT)))
    assert verdict.level == "CLEAN"
    assert verdict.evidence[0].text.endswith("The result did not change with it.")


HALF = COUNT // 2  # the number of readings


@pytest.mark.parametrize(
    "surroundings",
    [
        around(range(COUNT), reasons=1),  # the device is idle
        around(range(COUNT), reasons=2),  # the user chose this clock
        around(range(COUNT), clock=1.97e9),  # at its power limit, but not slower
    ],
)
def test_a_clock_that_nothing_lowers_disturbs_nothing(surroundings: Observed) -> None:
    assert judge(surroundings, range(COUNT), by=1.5) == Verdict("CLEAN")


@pytest.mark.parametrize(
    "changed",
    [
        {"reasons": [None] * HALF},
        {"reasons": [4]},
        {"reasons": [1e300] * HALF},
        {"clock": [0] * HALF},
        {"clock": [[1.0, 2.0]] * HALF},
        {"clock": "fast"},
        {"clock": [10**400] * HALF},
        {"at": [BEGAN - 9] * HALF},
        {"at": [BEGAN + number for number in range(HALF, 0, -1)]},
    ],
)
def test_without_usable_readings_nothing_is_claimed(changed: dict[str, Any]) -> None:
    assert judge(around(range(COUNT), **changed), range(COUNT), by=1.5) == Verdict("CLEAN")


@pytest.mark.parametrize("details", [None, {}, {"clock": None}, {"clock": 3}, {"clock": [1.0]}])
def test_a_record_without_a_clock_of_a_device_has_no_readings(details: dict[str, Any] | None) -> None:
    assert Readings.of(details) is None


def test_a_record_of_a_device_is_judged_by_its_own_clock_and_has_a_remedy() -> None:
    slow = range(HALF, COUNT)
    (record, *_) = builders.result(
        "node.matmul", "matmul", {"mode": "opencl", "threads": 1}, 1e-3, {}, surroundings=around(slow).given()
    ).records  # fmt: skip
    row = tuple(x * (1.5 if number in slow else 1) for number, x in enumerate(STEADY))
    verdict = judge_record(replace(record, samples=row), UNBOUNDED).verdict
    assert (verdict.level, verdict.evidence[0].kind) == ("DISTURBED", "device clock")
    assert "nvidia-smi" in disturbances.suggest_remedy("device clock", builders.machine())


@pytest.mark.parametrize(("longer", "level"), [(1.001, "CLEAN"), (1.2, "DISTURBED")])
def test_waits_of_the_host_count_only_if_a_sample_took_longer_than_the_device(longer: float, level: str) -> None:
    """A thread that starts kernels and then waits for them loses nothing while another program has its processor."""
    lost = tuple(x * (longer if number < HALF else 1) for number, x in enumerate(STEADY))
    waits = [5e-4 if number < HALF else 0.0 for number in range(COUNT)]
    (record, *_) = builders.result("device.stream", "triad", {"door": "cuda", "threads": 1}, 1e-3, {}).records
    details = {"device": "H200", "shares_memory": False, "device_seconds": [1.0, *STEADY]}
    seen = builders.seen(record.surroundings, samples={"waited": waits}, details=details)
    assert judge_record(replace(record, samples=lost, surroundings=seen), UNBOUNDED).verdict.level == level
