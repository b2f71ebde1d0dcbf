"""NPB IS: its parts beside plain counting."""

from collections.abc import Callable, Iterator

import pytest

from npb_runs import MODELS, WIDTHS, Asked, compiled, told
from steelyard.model import Machine

Part = Callable[[str], list[float]]


@pytest.fixture(scope="module")
def ask(here: Machine) -> Iterator[Asked]:
    with Asked(here, "is") as asked:
        yield asked


@pytest.fixture(scope="module", params=WIDTHS)
def part(request: pytest.FixtureRequest, here: Machine) -> Part:
    """Returns the numbers that one part of a program prints. The program is made with the benchmark's headers."""
    program = compiled(here, "npb_is", PARTS, "-O0", *request.param)
    return lambda name: told(program, name)


@pytest.mark.parametrize("model", MODELS["is"])
def test_so_many_times_the_keys_are_verified_by_a_count_of_them(ask: Asked, model: str) -> None:
    alone = ask("threads", 1, scale="4")
    assert alone["work"]["operations"] == 10 * 4 * 2**16
    for workers in (1, 2, 4):
        answer = ask(model, workers, scale="4")
        assert answer["check"]["passed"], answer
        verified, same = (a["surroundings"]["details"]["verification"] for a in (answer, alone))
        assert verified["basis"] == "invariants"
        assert len(verified["quantities"]) == 52
        assert verified["quantities"] == same["quantities"]
    # Neither the least nor the greatest key, and never alike: they say something of the keys.
    assert len({q["value"] for q in same["quantities"]}) > 5


def test_counts_become_ranks(part: Part) -> None:
    assert part("counting") == [0, 0, 2, 2, 5, 5, 5, 6] + [7] * 8


def test_a_value_with_more_keys_than_a_byte_counts_is_still_ranked(part: Part) -> None:
    """All keys of class S become the value 7, but for the two that an iteration edits."""
    keys = 1 << 16
    assert part("crowded") == [2, 0, 1, 1, keys - 1, keys - 1, keys]


def test_keys_are_picked_by_value_and_shared_out_by_number(part: Part) -> None:
    assert part("picking") == [1, 1, 0, 300, 700, 1024]


PARTS = """
// Prints, by name: ranks from counts, ranks where nearly all keys are alike, or the keys of a range and their shares.
#define main kernel_main
#include "threads.cpp"
#undef main
#include <cstdio>
#include <string>
#include "exchange.h"
int counting() {
  // Two threads' keys, the values from 100 on: 101 101 103 | 103 103 106 107; two tables.
  Key first[3] = {101, 101, 103}, second[4] = {103, 103, 106, 107};
  Count tables[2][16] = {};
  count_keys(first, first + 3, 100, tables[0]);
  count_keys(second, second + 4, 100, tables[1]);
  std::uint32_t ranks[16], all = total(tables[0], tables[0] + 16) + total(tables[1], tables[1] + 16);
  rank_values(std::array{tables[0], tables[1]}, 0, 16, 0, ranks);
  if (all != 7 || total(tables[0], tables[0] + 16) != 0) return 1;
  for (std::uint32_t rank : ranks) std::printf("%u ", rank);
  return 0;
}
int crowded() {
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
  return 0;
}
int picking() {
  std::vector<Key> keys(1000), plain, picked(1000 + register_keys);
  Generator generator;
  for (Key& key : keys) key = static_cast<Key>(generator.next() * 2048);
  for (Key key : keys)
    if (key >= 512 && key < 1536) plain.push_back(key);
  Key* end = pick_keys(keys.data(), keys.size(), 512, 1536, picked.data());
  picked.resize(static_cast<std::size_t>(end - picked.data()));
  std::printf("%d ", picked == plain);
  // A third of all keys in bucket 299, one in 699, nothing else: the borders are where the shares end.
  std::vector<std::uint32_t> counts(buckets);
  counts[299] = counts[699] = counts[1000] = 10;
  std::vector<std::size_t> borders(4);
  share_buckets(counts.data(), 30, borders);
  std::printf("%d %zu %zu %zu %zu", counts[299] == 10, borders[0], borders[1], borders[2], borders[3]);
  return 0;
}
int main(int, char** given) {
  std::string part = given[1];
  return part == "counting" ? counting() : part == "crowded" ? crowded() : picking();
}
"""
