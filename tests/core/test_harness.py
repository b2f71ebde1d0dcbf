"""The native harness by its own words: cases in, records out; clocks, memory, threads, stopping rule."""

import json
import math
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import builders
from native import linked
from steelyard.model import Machine
from steelyard.statistics.samples import stopping
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.observations import Measured
from steelyard.statistics.validity.pace import Bounds, choose

QUICK = "seconds=0.05 least=3 most=30 width=0.2"


def answers(program: Path, *lines: str, **environment: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [program],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, **environment},
    )
    return [json.loads(line) for line in done.stdout.split("\n") if line]


@pytest.fixture(scope="module")
def stream(programs: dict[str, Path]) -> Path:
    return programs["memory.stream"]


def test_one_start_serves_many_cases_in_order(stream: Path) -> None:
    found = answers(stream, *(f"case={i} kernel=triad elements=4096 {QUICK}" for i in range(5)))
    assert [f["case"] for f in found] == list("01234")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kernel=trio", "triad, copy"),
        ("elements=many", "a whole number"),
        ("elements=0", "not possible"),
        ("elements=-5", "a whole number"),
        ("elements=99999999999999999999999", "a whole number"),
        ("elements=800000000000", "not enough memory"),
        ("threads=0", "at least 1"),
        ("threads=2 cpus=0", "names 1 processors for 2 threads"),
        ("cpus=999999", "cannot pin|names"),
        ("cpus=zero", "list of processor numbers"),
        ("stores=sideways", "ordinary, streaming"),
        ("memory_policy=far", "local, interleave or bind"),
        ("memory_policy=bind:77", "rejects"),
        ("page_size=3k", "4k, transparent, huge"),
        ("width=0", "width > 0"),
        ("least=9 most=3", "least <= most"),
        ("plant=surprise", "unknown: expected none"),
        ("nonsense", "name=value"),
        ("=3", "name=value"),
    ],
)
def test_a_case_that_cannot_be_run_is_an_explained_record_and_the_next_goes_on(
    stream: Path, words: str, expected: str
) -> None:
    import re

    bad, good = answers(stream, f"case=1 kernel=triad {words}", f"case=2 kernel=triad elements=4096 {QUICK}")
    assert re.search(expected, bad["error"]), bad["error"]
    assert good["check"]["passed"]


@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=60))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_line_is_answered_by_one_line_of_json(stream: Path, text: str) -> None:
    found = answers(stream, f"{text} least=oops", f"kernel=triad elements=512 {QUICK}")
    assert found[-1]["check"]["passed"]
    assert all("error" in f or f["samples"] for f in found)


def test_more_memory_than_the_control_group_allows_is_refused_before_it_is_touched(stream: Path) -> None:
    found = answers(stream, "kernel=triad elements=100000000", STEELYARD_MEMORY=str(64 << 20))
    assert "not enough memory" in found[0]["error"]


def test_interleaving_keeps_to_the_nodes_of_the_main_memory(stream: Path, here: Machine) -> None:
    words = f"kernel=triad elements=4096 memory_policy=interleave {QUICK}"
    assert "rejects" in answers(stream, words, STEELYARD_NODES="77")[0]["error"]
    assert answers(stream, words, STEELYARD_NODES=str(here.nodes[0].number))[0]["check"]["passed"]


@pytest.mark.parametrize(("nodes", "times"), [("0", 1), ("0-1", 2)])
def test_memory_is_handed_on_where_main_memory_is_one_node(stream: Path, here: Machine, nodes: str, times: int) -> None:
    """A node of a GPU's memory beside it has no processors, whose touch would place pages there."""
    if len(here.cpus) < 2:
        pytest.skip("one processor: there is nobody to hand it on to")
    words = f"kernel=triad elements=1048576 page_size=4k threads=1 {QUICK}"
    pages = 3 * 1048576 * 8 // os.sysconf("SC_PAGE_SIZE")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    found = answers(stream, *(f"{words} cpus={cpu}" for cpu in here.cpus[:2]), STEELYARD_NODES=nodes)
    assert all(f["check"]["passed"] for f in found)
    assert round((resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before) / pages) == times


def test_explicit_huge_pages_that_nobody_reserved_are_an_explained_error(stream: Path) -> None:
    free = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    if not free.exists() or int(free.read_text()) > 1000:
        pytest.skip("this system has huge pages reserved, or none at all")
    assert "nr_hugepages" in answers(stream, "kernel=triad elements=100000000 page_size=huge")[0]["error"]


def test_pages_are_reported_as_they_lie(stream: Path, here: Machine) -> None:
    small, large = answers(
        stream,
        *(
            f"kernel=triad elements=4000000 page_size={p} memory_policy=bind:{here.nodes[0].number} {QUICK}"
            for p in ("4k", "transparent")
        ),
    )
    assert small["surroundings"]["pages"]["nodes"] == {str(here.nodes[0].number): 1}
    assert small["surroundings"]["pages"]["huge"] == 0
    assert large.get("error") or large["surroundings"]["pages"]["huge"] > 0.5


def test_threads_run_where_they_are_pinned(stream: Path, here: Machine) -> None:
    last = here.cpus[-1]
    found = answers(stream, f"kernel=triad elements=4096 threads=1 cpus={last} {QUICK}")[0]
    assert found["surroundings"]["cpus"] == [last]


def test_more_threads_than_processors_are_marked_as_oversubscribed(stream: Path, here: Machine) -> None:
    found = answers(stream, f"kernel=triad elements=4096 threads={2 * len(here.cpus) + 1} {QUICK}")[0]
    assert found["surroundings"]["oversubscribed"] is True


def test_the_clock_says_what_it_is(stream: Path) -> None:
    clock = answers(stream, f"kernel=triad elements=4096 {QUICK}")[0]["surroundings"]["clock"]
    assert clock["source"] in ("time-stamp counter", "monotonic")
    assert 0 < clock["resolution"] < 1e-5
    assert 0 < clock["overhead"] < 1e-5


def test_samples_stop_at_the_most_and_never_below_the_least(stream: Path) -> None:
    found = answers(
        stream,
        "kernel=triad elements=4096 seconds=5 width=1e-9 least=3 most=40",
        "kernel=triad elements=4096 seconds=0.000001 least=7 most=40",
    )
    assert len(found[0]["samples"]) == 40
    assert len(found[1]["samples"]) >= 1


PROGRAM = r"""
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "clock.h"
#include "stopping.h"
using namespace steelyard;
// The half width of the numbers in the input, for each line of them.
void print_half_widths() {
  std::vector<double> x;
  for (char end; true;) {
    double value;
    int read = std::scanf("%lf%c", &value, &end);
    if (read < 1) return;
    x.push_back(value);
    if (end != '\n') continue;
    std::printf("%.17g\n", relative_half_width(x));
    std::fflush(stdout);
    x.clear();
  }
}
// How far the clock that the harness finds is from that of a chain of multiplications, at best.
void print_difference_of_clocks() {
  double best = 1;
  for (int outer = 0; outer < 400 && std::abs(best) > 0.001; ++outer) {
    double ours = core_clock(100000, 3), other = 0;
    for (int t = 0; t < 3; ++t) {
      std::uint64_t x = 3, y = 5, start = Clock::get().ticks();
#ifdef __x86_64__
      for (int i = 0; i < 400; ++i) asm volatile(".rept 128\n\timul %1, %0\n\t.endr" : "+r"(x) : "r"(y) : "cc");
#endif
      other = std::max(other, 3.0 * 128 * 400 / (Clock::get().seconds(Clock::get().ticks() - start) - Clock::get().overhead()));
    }
    double off = ours / other - 1;
    if (std::abs(off) < std::abs(best)) best = off;
  }
  std::printf("%.6f\n", best);
}
int main(int words, char**) { words > 1 ? print_difference_of_clocks() : print_half_widths(); }
"""


@pytest.fixture(scope="module")
def parts(here: Machine) -> Path:
    """The native stopping rule, or the clock of the core with any word, behind a program."""
    return linked(here, PROGRAM)


@pytest.fixture(scope="module")
def rule(parts: Path) -> Iterator[subprocess.Popen[str]]:
    """The native stopping rule, which answers each line of samples with their half width."""
    with subprocess.Popen([parts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@given(
    samples=st.one_of(
        st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=60),
        st.lists(st.sampled_from([1.0, 1.01, 1.02, 1.5]), min_size=6, max_size=80),
    ),
    width=st.floats(1e-4, 0.5),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_native_stopping_rule_is_the_reference(
    rule: subprocess.Popen[str], samples: list[float], width: float
) -> None:
    assert rule.stdin
    assert rule.stdout
    rule.stdin.write(" ".join(repr(s) for s in samples) + "\n")
    rule.stdin.flush()
    half = float(rule.stdout.readline())
    if math.isclose(half, width, rel_tol=1e-9):
        return  # on the border rounding may fall either way
    assert (half <= width) == stopping.is_narrow_enough(samples, width, 1)


def test_the_true_clock_agrees_with_another_chain_of_known_length(parts: Path, here: Machine) -> None:
    """A dependent chain of multiplications takes 3 cycles each on every x86 core since 2008."""
    if here.architecture != "x86_64":
        pytest.skip("the length of a multiplication is known for x86-64 alone")
    off = float(subprocess.run([parts, "clock"], capture_output=True, text=True, check=True).stdout)
    assert abs(off) < 0.01


ALONE = "case=1 kernel=triad threads=1 cpus={cpu} elements=4096 seconds=0.3 least=6 most=2000 width=1e-6"


IN_MEMORY = "elements=1000000"

# Beyond all caches: no processor's last cache answers in 20 ns when asked for one line after the other.
RANGES = {"core_clock": (5e8, 7e9), "issued": (0.5, 12), "stream": (2e8, 5e11), "chase": (2e-8, 2e-6)}


def pace(record: dict[str, Any], name: str) -> list[float]:
    """What was read of one kind beside the samples, before and after them."""
    around = record["surroundings"]
    found = [around["pace"]["before"][name], *around["samples"][name], around["pace"]["after"][name]]
    return [x for x in found if x is not None]


def test_the_pace_of_core_and_memory_stands_beside_the_samples(stream: Path, here: Machine) -> None:
    asked = time.time(), time.monotonic()
    (found,) = answers(stream, ALONE.format(cpu=here.cpus[-1]))
    reported = time.time(), time.monotonic()
    for name, (least, most) in RANGES.items():
        assert least < np.median(pace(found, name)) < most, name
    assert found["surroundings"]["pace"]["waited"] == 0
    around = found["surroundings"]
    assert asked[0] < around["began"] < around["ended"] < reported[0]
    assert asked[1] < around["monotonic"] < reported[1]


@pytest.mark.alone
def test_every_reading_of_the_pace_is_possible(stream: Path, here: Machine) -> None:
    (found,) = answers(stream, ALONE.format(cpu=here.cpus[-1]))
    assert len(pace(found, "core_clock")) > 20
    assert len(pace(found, "stream")) >= 4
    for name, (least, most) in RANGES.items():
        assert all(least < x < most for x in pace(found, name)), name


@pytest.mark.alone
@pytest.mark.parametrize(
    ("plant", "bound", "name", "factor"),
    [
        ("shared:0.5", "least_issued", "issued", 0.5),
        ("memory:0.5", "least_stream", "stream", 0.5),
        ("memory:0.5", "most_chase", "chase", 2.0),
    ],
)
def test_a_neighbour_planted_for_a_whole_case_slows_kernel_and_probe_and_is_waited_for_in_vain(
    stream: Path, here: Machine, plant: str, bound: str, name: str, factor: float
) -> None:
    line = ALONE.format(cpu=here.cpus[-1])
    if name in ("stream", "chase"):  # a case in the caches does not wait for the memory
        line = line.replace("elements=4096", IN_MEMORY)
    # Real neighbours come and go: the best reading is the machine's own.
    best = max if factor < 1 else min
    alone = best(best(pace(found, name)) for found in answers(stream, line, line, line))
    limit = alone * (0.8 if factor < 1 else 1.3)
    (found,) = answers(stream, f"{line} plant={plant} {bound}={limit:.6g} patience=0.2")
    assert best(pace(found, name)) == pytest.approx(alone * factor, rel=0.3)
    assert 0.2 <= found["surroundings"]["pace"]["waited"] < 0.5
    assert len(found["samples"]) >= 6  # the range that the neighbour makes of the figure is still told


@pytest.mark.alone
def test_a_neighbour_who_comes_and_goes_is_waited_for_and_only_quiet_samples_are_counted(
    stream: Path, here: Machine
) -> None:
    line = ALONE.format(cpu=here.cpus[-1])
    for _ in range(6):
        best = max(max(pace(found, "issued")) for found in answers(stream, line, line, line))
        bounded = f"{line} least_issued={MEASURES['issued'].bound(best):.9g}"
        visited, alone = answers(stream, f"{bounded} plant=visits:0.5 patience=4", f"{bounded} patience=2")
        samples, aside = set_aside(visited, best)
        kept, spoiled = samples[~aside], samples[aside]
        assert visited["surroundings"]["pace"]["waited"] > 0.03
        if len(kept) >= 6:
            # The visitor is there for half of the time, and takes half of the speed; real ones may come and go, too.
            slow = 1.5 * np.median(kept)
            assert (kept > slow).mean() < 0.5 * (spoiled > slow).mean()
            return
        # Without the visitor there is something to keep, unless real neighbours stayed for all that time.
        samples, aside = set_aside(alone, best)
        assert (~aside).sum() < 6
    pytest.skip("real neighbours shared the core for all of the time: nobody's visits can be told apart")


def set_aside(found: dict[str, Any], best: float) -> tuple[np.ndarray, np.ndarray]:
    """An answer's samples, and which of them the tool leaves out for their surroundings."""
    samples = np.array(found["samples"])
    return samples, choose(Measured(samples, builders.seen(found["surroundings"])), Bounds({"issued": best})).aside


@pytest.mark.alone
def test_the_samples_that_the_harness_counts_as_undisturbed_are_those_that_the_tool_keeps(
    stream: Path, here: Machine
) -> None:
    line = ALONE.format(cpu=here.cpus[-1])
    best = max(max(pace(found, "issued")) for found in answers(stream, line, line, line))
    bound, most = f"least_issued={MEASURES['issued'].bound(best):.9g}", 400
    words = f"plant=visits:0.5 {bound} patience=5 seconds=60 least={most} most={most} width=1e-9"
    (found,) = answers(stream, f"{line} {words}")
    samples, looks = found["samples"], found["surroundings"]["pace"]["looks"]
    found["surroundings"]["samples"]["waited"] = None  # by this the tool alone sets samples aside
    chosen = choose(Measured(np.array(samples), builders.seen(found["surroundings"])), Bounds({"issued": best}))
    # Those at the end were counted before what followed them was read; and a machine may never be quiet.
    assert most - 30 <= (~chosen.aside).sum() <= most or len(samples) == 4 * most
    assert 0 < len(looks["sample"]) == len(looks["issued"])
    assert all(0 <= sample <= len(samples) for sample in looks["sample"])


@pytest.mark.parametrize(
    "bound",
    ["least_clock=1e15", "least_issued=1e6", "least_issued=1e6 plant=unread", "least_stream=1e18", "most_chase=1e-15"],
)
def test_a_pace_that_no_processor_has_is_waited_for_in_vain(stream: Path, here: Machine, bound: str) -> None:
    # A stall of the machine longer than 4 * seconds ends a case before its least number of samples.
    line = ALONE.format(cpu=here.cpus[-1]).replace("seconds=0.3", "seconds=1").replace("most=2000", "most=6")
    if bound.startswith(("least_stream", "most_chase")):
        line = line.replace("elements=4096", IN_MEMORY)
    (found,) = answers(stream, f"{line} {bound} patience=0.1")
    reported = found["surroundings"]["pace"]
    assert reported["waited"] >= 0.1
    assert 0 < len(reported["looks"]["sample"]) == len(reported["looks"]["issued"])
    assert len(found["samples"]) >= 6


@pytest.mark.parametrize("bound", ["least_stream=1e18", "most_chase=1e-15"])
def test_a_case_in_the_caches_does_not_wait_for_the_memory(stream: Path, here: Machine, bound: str) -> None:
    (found,) = answers(stream, f"{ALONE.format(cpu=here.cpus[-1])} {bound} patience=5")
    assert found["surroundings"]["pace"]["waited"] == 0


def test_what_is_not_bounded_is_not_waited_for(stream: Path, here: Machine) -> None:
    (found,) = answers(stream, f"{ALONE.format(cpu=here.cpus[-1])} plant=shared:0.5 patience=5")
    assert found["surroundings"]["pace"]["waited"] == 0


def test_a_look_reads_each_processor_in_turn_and_measures_nothing(stream: Path, here: Machine) -> None:
    cpus = here.cpus[:2]
    (found,) = answers(stream, f"look=1 threads={len(cpus)} cpus={','.join(map(str, cpus))}")
    reported = found["look"]
    assert "samples" not in found
    assert set(reported["cpu"]) == set(cpus)
    assert len({len(reported[n]) for n in ("at", "cpu", "core_clock", "issued", "stream", "chase")}) == 1
    assert reported["at"][-1] >= 1


@pytest.mark.alone
def test_a_look_takes_no_longer_than_it_must(stream: Path, here: Machine) -> None:
    cpus = here.cpus[:2]
    (found,) = answers(stream, f"look=0.2 threads={len(cpus)} cpus={','.join(map(str, cpus))}")
    assert found["look"]["at"][-1] < 2
