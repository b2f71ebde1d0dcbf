"""Hardware counters: counted for each thread, scaled, and said once where there are none.

This project's usual machines have no such counters: the native class is tested with events of the kernel's own (software
events), and the report with numbers that are made up here.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import builders
from native import linked
from steelyard.measure.machine.files import KernelFiles
from steelyard.measure.machine.settings import read_settings
from steelyard.model import Machine, Result
from steelyard.show import report
from steelyard.show.report import counter_columns
from steelyard.statistics.results import counters

KEYS = {"instructions", "cycles", "cache_misses", "l1_misses", "share", "energy", "energy_source", "reason"}
PROGRAM = r"""
#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include "counters.h"
#include "team.h"
using namespace steelyard;
// Two threads touch pages of fresh memory and spin; the leader is the task clock (ns), its companion counts page faults.
void count(char** arguments) {
  std::size_t pages = std::strtoull(arguments[1], nullptr, 10);
  std::vector<Event> events{{"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
                            {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
                            {"nonsense", PERF_TYPE_SOFTWARE, 999}};
  if (arguments[2][0] == 'n') std::swap(events.front(), events.back());
  Team team(2, {});
  Counters counters(2, events);
  auto touch = [&](std::size_t count) {
    std::size_t bytes = count * 4096;
    void* fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(fresh, bytes, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(fresh)[at] = 1;
    munmap(fresh, bytes);
  };
  team.each([&](Worker w) { counters.open(w.index); });
  team.each([&](Worker) { touch(1000); });  // before the start: not counted
  counters.start();
  team.each([&](Worker) { touch(pages); });
  Counts counts = counters.stop();
  team.each([&](Worker) { touch(1000); });  // after the stop: not counted
  std::printf("%s\n", counters_json(counts, 2, 1).c_str());
}
void read_numbers() {
  Counts counts;
  counts.values = {1200, 600, 6, unknown};
  counts.share = 0.5, counts.joules = 3, counts.energy_source = "energy-pkg";
  std::printf("%s\n", counters_json(counts, 3, 0.5).c_str());
}
// Joules of a meter that is described in a folder.
void read_meter(const char* folder) {
  Energy energy(folder);
  energy.start();
  for (volatile long i = 0; i < 20000000; ++i) {}
  std::printf("%s\n", json::Object().add("joules", json::number(energy.stop())).add("source", json::text(energy.source()))
                          .str().c_str());
}
int main(int words, char** arguments) {
  if (words == 1) read_numbers();
  else if (words == 2) read_meter(arguments[1]);
  else count(arguments);
}
"""


@pytest.fixture(scope="module")
def program(here: Machine) -> Path:
    return linked(here, PROGRAM, "-O1")


def said(program: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_events_of_all_threads_are_counted_per_operation(program: Path) -> None:
    found = said(program, "500", "yes")
    if found["reason"]:
        pytest.skip(f"this system lets no program count its own events: {found['reason']}")
    # Two threads with 500 pages each, two operations; a few faults are the program's own.
    assert 500 <= found["faults"] < 520
    assert found["task_clock"] > 0
    assert found["share"] == pytest.approx(1, abs=0.01)  # software events need no counter of the processor's


def test_an_event_that_cannot_be_counted_is_unknown(program: Path) -> None:
    found = said(program, "500", "yes")
    if found["reason"]:
        pytest.skip(f"this system lets no program count its own events: {found['reason']}")
    assert found["nonsense"] is None
    assert found["faults"] is not None


def test_without_a_leader_nothing_is_counted_and_the_reason_is_told(program: Path) -> None:
    found = said(program, "500", "no")
    assert found["faults"] is None
    assert found["share"] is None
    assert found["reason"]


def test_counts_and_energy_are_per_operation(program: Path) -> None:
    # The numbers in `read_numbers` are made up: this machine has no counters.
    found = said(program)
    assert found == {
        "instructions": 400, "cycles": 200, "cache_misses": 2, "l1_misses": None, "share": 0.5, "energy": 0.5,
        "energy_source": "energy-pkg", "reason": None,
    }  # fmt: skip


def device(folder: Path, kind: int, event: int) -> Path:
    """A description of a meter that counts a software event of the kernel instead of joules."""
    (folder / "events").mkdir()
    (folder / "type").write_text(f"{kind}\n")
    (folder / "cpumask").write_text("0\n")
    (folder / "events" / "energy-pkg").write_text(f"event={event:#04x}\n")
    (folder / "events" / "energy-pkg.scale").write_text("2.0e-9\n")
    return folder


@pytest.mark.site
def test_a_meter_is_read_in_joules_by_its_own_scale(program: Path, tmp_path: Path) -> None:
    software, cpu_clock = 1, 0  # of linux/perf_event.h; the clock of a processor counts nanoseconds
    found = said(program, str(device(tmp_path, software, cpu_clock)))
    if not found["source"]:
        pytest.skip("only root, or a lower perf_event_paranoid, may watch a whole processor")
    assert found["source"] == "energy-pkg"
    # So many nanoseconds at two billionths of a joule: far less than a minute's worth, and more than nothing.
    assert 0 < found["joules"] < 120


def test_a_meter_that_stands_at_zero_is_unknown(program: Path, tmp_path: Path) -> None:
    software, dummy = 1, 9  # PERF_COUNT_SW_DUMMY never counts
    assert said(program, str(device(tmp_path, software, dummy)))["joules"] is None
    assert said(program, str(tmp_path / "nothing"))["joules"] is None


def test_every_record_tells_of_its_counters_or_why_there_are_none(programs: dict[str, Path]) -> None:
    case = "kernel=triad elements=4096 threads=2 seconds=0.02 least=3 most=30 width=0.2\n"
    done = subprocess.run([programs["memory.stream"]], input=case, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["surroundings"]["counters"]
    assert set(found) == KEYS
    assert (found["instructions"] is None) == (found["reason"] is not None)
    if found["instructions"] is not None:
        assert found["instructions"] > 4096 / 8  # a vector of 512 bits holds eight


# --------------------------------------------------------------------------- what is said of them; all numbers are made up


def counting(**changed: Any) -> Result:
    made = {
        "instructions": 4.0e7, "cycles": 2.0e7, "cache_misses": 1.5e6, "l1_misses": 4e6, "share": 1.0, "energy": 0.02,
        "energy_source": "energy-pkg", "reason": None,
    }  # fmt: skip
    return builders.triad(1e10, surroundings={"counters": {**made, **changed}})


NONE = dict.fromkeys(KEYS) | {"reason": "the kernel forbids counting: kernel.perf_event_paranoid is 3"}


def test_instructions_per_cycle_follow_from_the_medians() -> None:
    found = counters.counted(counting())
    assert found.instructions_per_cycle == 2
    assert found.energy == 0.02


@pytest.mark.parametrize("odd", [{}, NONE, {"instructions": -1.0}, None])
def test_a_record_without_counters_is_no_count_of_zero(odd: Any) -> None:
    assert counters.counted(builders.triad(1e10, surroundings={"counters": odd})) is None


def test_a_counter_that_was_not_there_leaves_its_column_out() -> None:
    assert counter_columns.columns([counting(l1_misses=None, energy=None)]) == counter_columns.TITLES[:3]
    assert counter_columns.cells(counting(cycles=None), counter_columns.TITLES) == (
        "", "40\u202f000\u202f000", "1\u202f500\u202f000", "4\u202f000\u202f000", "20.0 mJ",
    )  # fmt: skip


def test_counts_stand_beside_the_time_of_their_case_and_the_way_below() -> None:
    html = report.render(builders.evaluation([counting(share=0.5), builders.triad(2e10, threads=2)]))
    for title in counter_columns.TITLES:
        assert f'<th scope="col" class="n">{title}</th>' in html
    assert "20.0 mJ" in html
    assert "(at least 50 %), and the values are scaled up" in html
    assert "were not counted" not in html


def test_the_absence_of_counters_is_said_once_with_its_reason() -> None:
    silent = [builders.triad(1e10, threads=n, surroundings={"counters": NONE}) for n in (1, 2, 4)]
    html = report.render(builders.evaluation(silent))
    assert html.count("were not counted: the kernel forbids counting: kernel.perf_event_paranoid is 3.") == 1
    assert "instructions per cycle" not in html


@pytest.mark.parametrize(
    ("present", "expected"),
    [(("cpu", "software"), "cpu"), (("cpu_atom", "cpu_core"), "cpu_atom cpu_core"), (("software", "power"), "none")],
)
def test_the_units_that_count_are_a_setting_of_the_machine(
    tmp_path: Path, present: tuple[str, ...], expected: str
) -> None:
    for name in present:
        folder = tmp_path / "sys/bus/event_source/devices" / name
        folder.mkdir(parents=True)
        (folder / "type").write_text("4\n")
    found = {s.name: s for s in read_settings(KernelFiles(tmp_path), {})}["performance_counters"]
    assert found.value == expected


def test_a_machine_that_tells_of_no_unit_at_all_has_a_reason(tmp_path: Path) -> None:
    found = {s.name: s for s in read_settings(KernelFiles(tmp_path), {})}["performance_counters"]
    assert found.value is None
    assert found.reason
