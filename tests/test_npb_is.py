"""NPB IS: verified in every model, and its parts beside plain counting."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard import build
from steelyard.launch.program import Program
from steelyard.launch.start import Site, start
from steelyard.model import Benchmark, Case, Launch, Machine, Sampling, Scalar
from steelyard.run import line

NAME, FOLDER, KERNEL = "application.npb_is", "npb_is", "is"
MODELS = ["threads", "mpi"]
ONCE = Sampling(width=0.5, seconds=5.0, least=1, most=1)
PACKAGE = Path(__file__).parent.parent / "src" / "steelyard"
Asked = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def programs_of(here: Machine, benchmarks: dict[str, Benchmark]) -> dict[str, Path]:
    """Its programs, compiled."""
    toolchain, mpi = build.resolve(build.default(here), here), build.default_mpi(here)
    made = build.build([benchmarks[NAME]], toolchain)
    return made | (build.build([benchmarks[NAME]], toolchain, mpi) if mpi else {})


@pytest.fixture(scope="module")
def ask(programs_of: dict[str, Path], here: Machine) -> Iterator[Asked]:
    """The answer of a program that so many threads or ranks carry out; programs are kept from case to case."""
    kept: dict[tuple[str, int, str], Program] = {}

    def asked(model: str, workers: int, memory: str = "", **more: str) -> dict[str, Any]:
        usual = build.default_mpi(here)
        mpis = {build.mpi_name(usual): usual} if usual else {}
        ways: dict[str, Scalar] = {"threads": 1, "pinning": "none"}
        if model == "mpi":
            if not mpis:
                pytest.skip("There is no MPI with its headers: apt-get install libopenmpi-dev")
            ways = {"ranks": workers, "placement": "compact", "mpi": next(iter(mpis))}
        case = Case(NAME, KERNEL, {"class": "S", "model": model, **ways, **more}, ONCE)
        launch = Launch(1, NAME, "any", 1, (case,))
        if (model, workers, memory) not in kept:
            command, environment = start(Site(mpis), here, launch, programs_of[build.program_name(NAME, model)])
            environment |= {"STEELYARD_MEMORY": memory} if memory else {}
            kept[model, workers, memory] = Program(command, environment, workers if model == "mpi" else None)
        # The tool refuses more threads than processors; the program does not.
        words = line(here, launch, 0, case).replace("threads=1", f"threads={workers}")
        return kept[model, workers, memory].ask(words, 60)

    yield asked
    for program in kept.values():
        program.close()


@pytest.fixture(params=["as wide as can be", "as narrow as can be"])
def told(request: pytest.FixtureRequest, here: Machine, tmp_path: Path) -> Callable[[str], list[float]]:
    """What a C++ program prints that is compiled with the benchmark's headers, for this processor's vectors or for the least."""

    def run(text: str) -> list[float]:
        source, program = tmp_path / "oracle.cpp", tmp_path / "oracle"
        source.write_text(text)
        words = [build.resolve(build.default(here), here).compiler, "-std=c++20", "-O1", "-pthread"]
        words += ["-march=native"] if request.param == "as wide as can be" else []
        words += ["-I", str(PACKAGE / "native"), "-I", str(PACKAGE / "benchmarks" / "application" / FOLDER)]
        subprocess.run([*words, source, "-o", program], check=True)
        out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        return [float(word) for word in out.split()]

    return run


@pytest.mark.parametrize("letter", ["S", "W"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_the_published_ranks_are_found(model: str, workers: int, letter: str, ask: Asked) -> None:
    answer = ask(model, workers, **{"class": letter})
    assert answer["check"]["passed"], answer["check"]["detail"]
    assert len(answer["surroundings"]["details"]["verification"]["quantities"]) == 51


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("plant", ["skip", "wrong"])
def test_one_wrong_key_or_no_ranking_at_all_is_found(plant: str, model: str, ask: Asked) -> None:
    assert not ask(model, 2, plant=plant)["check"]["passed"]


@pytest.mark.parametrize("model", MODELS)
def test_the_phases_are_timed_on_request(model: str, ask: Asked) -> None:
    answer = ask(model, 2, phases="on")
    phases = answer["surroundings"]["details"]["phases"]
    assert set(phases) >= {"counts", "ranks"}
    assert sum(phases.values()) <= 1.001 * answer["samples"][0]


def test_a_number_of_ranks_that_cannot_be_used_is_named(ask: Asked) -> None:
    error = ask("mpi", 3)["error"]
    assert "ranks='3' cannot be used by IS" in error
    assert "1, 2, 4, 8, 16, 32, 64" in error


@pytest.mark.parametrize("model", MODELS)
def test_too_little_memory_is_said_before_it_is_taken(model: str, ask: Asked) -> None:
    error = ask(model, 1, memory="1000000", **{"class": "A"})["error"]
    assert "not enough memory: class A needs" in error


@pytest.mark.parametrize("model", MODELS)
def test_a_class_that_does_not_exist_is_refused(model: str, ask: Asked) -> None:
    assert "class='X' must be one of: S, W, A, B, C, D" in ask(model, 1, **{"class": "X"})["error"]


def test_counts_become_ranks(told: Callable[[str], list[float]]) -> None:
    assert told(COUNTING) == [0, 0, 2, 2, 5, 5, 5, 6] + [7] * 8


COUNTING = """
#include <cstdio>
#include "counting.h"
using namespace steelyard::npb;
int main() {
  // Two threads' keys, the values from 100 on: 101 101 103 | 103 103 106 107; two tables.
  Key first[3] = {101, 101, 103}, second[4] = {103, 103, 106, 107};
  Count tables[2][16] = {};
  count_keys(first, first + 3, 100, tables[0]);
  count_keys(second, second + 4, 100, tables[1]);
  std::uint32_t ranks[16], all = total(tables[0], tables[0] + 16) + total(tables[1], tables[1] + 16);
  rank_values(std::array{tables[0], tables[1]}, 0, 16, 0, ranks);
  if (all != 7 || total(tables[0], tables[0] + 16) != 0) return 1;
  for (std::uint32_t rank : ranks) std::printf("%u ", rank);
}
"""


def test_a_value_with_more_keys_than_a_byte_counts_is_still_ranked(told: Callable[[str], list[float]]) -> None:
    """All keys of class S become the value 7, but for the two that an iteration edits."""
    keys = 1 << 16
    assert told(CROWDED) == [2, 0, 1, 1, keys - 1, keys - 1, keys]


CROWDED = """
#define main kernel_main
#include "threads.cpp"
#undef main
#include <cstdio>
int main() {
  Params params("class=S");
  Team team(3, {});
  IS is(params, team);
  is.originals.fill(7);
  std::fill(is.keys.data(), is.keys.data() + is.keys_number, 7);
  team.each([&](Worker w) { is.prepare(w, 1); });
  // The keys 1 and 2047, once each. Also after a ranking in words there is nothing left in the bytes.
  team.each([&](Worker w) { is.prepare(w, 1); });
  for (const Count* table : is.tables)
    if (total(table, table + is.range) != 0) return 1;
  std::printf("2 %u %u %u %u %u %zu", is.ranks[1], is.ranks[2], is.ranks[7], is.ranks[8], is.ranks[2047], is.keys_number);
}
"""


def test_keys_are_picked_by_value_and_shared_out_by_number(told: Callable[[str], list[float]]) -> None:
    assert told(PICKED) == [1, 1, 0, 300, 700, 1024]


PICKED = """
#include <cstdio>
#include "exchange.h"
using namespace steelyard::npb;
int main() {
  std::vector<Key> keys(1000), plain, picked(1000 + register_keys);
  Generator generator;
  for (Key& key : keys) key = static_cast<Key>(generator.next() * 2048);
  for (Key key : keys)
    if (key >= 512 && key < 1536) plain.push_back(key);
  Key* end = pick(keys.data(), keys.size(), 512, 1536, picked.data());
  picked.resize(static_cast<std::size_t>(end - picked.data()));
  std::printf("%d ", picked == plain);
  // A third of all keys in bucket 299, one in 699, nothing else: the borders are where the shares end.
  std::vector<std::uint32_t> counts(buckets);
  counts[299] = counts[699] = counts[1000] = 10;
  std::vector<std::size_t> borders(4);
  share_buckets(counts.data(), 30, borders);
  std::printf("%d %zu %zu %zu %zu", counts[299] == 10, borders[0], borders[1], borders[2], borders[3]);
}
"""
