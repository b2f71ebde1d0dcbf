// IS on threads that share memory: each thread counts its share of the keys, then ranks its share of the values.
#include <array>

#include "counting.h"
#include "kernel.h"

using namespace steelyard;
using namespace steelyard::npb;

struct IS {
  static constexpr bool whole = true;
  Problem problem;
  Team& team;
  IsClass kind;
  MemoryPolicy policy;
  std::size_t keys_number, range;
  Buffer<Key> keys;
  Buffer<std::uint32_t> ranks;         // of each value: the number of smaller keys
  std::vector<Buffer<Count>> buffers;  // each thread's own counts of all values
  std::vector<Count*> tables;
  std::array<Key, edited> originals;
  struct alignas(64) Share {
    std::uint32_t keys;
  };
  std::vector<Share> shares;
  Ranked ranked;
  PhaseTimes phases;

  IS(Params& p, Team& t)
      : problem(p, thread_model().name, "SWABCD", Growth::doubled),
        team(t),
        kind(is_class(problem)),
        policy(p),
        keys_number(require_memory(problem, kind, t)),
        range(kind.range()),
        keys(keys_number, policy, t),
        ranks(range, policy, t),
        buffers(Buffer<Count>::one_each(range, policy, t, t.size())),
        shares(t.size()),
        phases(problem.phases, {"counts", "sums", "ranks"}) {
    for (auto& buffer : buffers) tables.push_back(buffer.data());
    team.each([&](Worker w) {
      auto [first, last] = own_keys(w);
      generate_keys(kind, first, last, keys.data() + first);
      std::fill_n(tables[w.index], range, 0);
    });
    std::copy_n(keys.data(), edited, originals.begin());
  }
  // Generates the keys, then ranks them once.
  void prepare(Worker w, std::size_t) {
    if (w.index == 0) {
      std::copy(originals.begin(), originals.end(), keys.data());
      ranked = {};
    }
    rank(w, 1);
  }
  void run(Worker w, std::size_t) {
    if (w.index == 0) phases.begin(), ranked.tests.clear();
    for (std::size_t iteration = 1; iteration <= iterations; ++iteration) {
      TestKeys tests = rank(w, iteration);
      if (w.index != 0) continue;
      for (Key key : tests) ranked.tests.push_back(ranks[key]);
      phases.end_phase(2);
    }
  }
  // Returns the moved bytes: each iteration reads all keys. Counts and ranks stay in the caches up to class B. Random
  // increments beyond the caches are not counted.
  Work work() const {
    double ranked_keys = static_cast<double>(iterations * keys_number);
    return {{"operations", ranked_keys}, {"bytes", sizeof(Key) * ranked_keys}};
  }
  Check check() {
    if (!ranked.tests.empty()) sort();
    if (kind.scale > 1 && !ranked.tests.empty()) ranked.expected = count_again();
    return ranked.verification(kind).check();
  }
  // Makes a key in the middle the smallest one: the ranks of all keys below it rise by one.
  void corrupt() {
    std::copy(originals.begin(), originals.end(), keys.data());
    keys[keys_number / 2] = keys[keys_number / 2] == 0 ? 1 : 0;
    team.each([&](Worker w) { run(w, 1); });
  }
  std::string details() const { return details_of(problem, ranked.verification(kind), phases).str(); }

 private:
  static constexpr std::size_t grain = 64;  // the keys that change belong to the first worker

  static std::size_t require_memory(const Problem& problem, const IsClass& kind, const Team& team) {
    if (team.size() > kind.keys() / grain)
      throw CaseError(join({"threads='", team.size(), "' are too many for class ", kind.letter, ": at most ",
                            kind.keys() / grain, " threads can have keys"}));
    // Bytes of the keys, of the sorted keys for the check, of the ranks, and of every thread's counts.
    problem.require(2 * kind.keys() * sizeof(Key) + kind.range() * (sizeof(std::uint32_t) + team.size()));
    return kind.keys();
  }
  std::pair<std::size_t, std::size_t> own_keys(Worker w) const { return w.part(keys_number, grain); }

  // Ranks on all threads. Returns the test keys as they were before.
  TestKeys rank(Worker w, std::size_t iteration) {
    if (w.index == 0) edit_keys(kind, keys.data(), iteration);
    TestKeys tests;
    for (std::size_t i = 0; i < test_keys; ++i) tests[i] = keys[kind.indices[i]];
    auto [first_key, last_key] = own_keys(w);
    count_keys(keys.data() + first_key, keys.data() + last_key, 0, tables[w.index]);
    team.barrier().wait();
    if (w.index == 0) phases.end_phase(0);
    auto [first, last] = w.part(range, grain);
    shares[w.index].keys = 0;
    for (const Count* table : tables) shares[w.index].keys += total(table + first, table + last);
    team.barrier().wait();
    if (w.index == 0) phases.end_phase(1);
    std::uint32_t before = 0, all = 0;
    for (std::size_t t = 0; t < w.size; ++t) {
      if (t == w.index) before = all;
      all += shares[t].keys;
    }
    if (all == keys_number)
      rank_values(tables, first, last, before, ranks.data());
    else
      rank_crowded(first, last);
    team.barrier().wait();
    return tests;
  }
  // For a value with more keys than a byte can count.
  void rank_crowded(std::size_t first, std::size_t last) {
    for (Count* table : tables) std::fill(table + first, table + last, 0);
    std::fill(ranks.data() + first, ranks.data() + last, 0);
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < keys_number; ++i) {
      before += keys[i] < first;
      if (keys[i] >= first && keys[i] < last) ++ranks[keys[i]];
    }
    rank_counts(ranks.data() + first, ranks.data() + last, before);
  }
  std::vector<double> count_again() {
    std::vector<std::vector<double>> parts(team.size());
    team.each([&](Worker w) {
      auto [first, last] = own_keys(w);
      parts[w.index] = rank_plainly(kind, first, last);
    });
    std::vector<double> sums = parts.front();
    for (std::size_t t = 1; t < parts.size(); ++t)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += parts[t][i];
    return sums;
  }
  // NPB's full verification: puts every key at its rank, and the next key of the same value behind it.
  void sort() {
    Buffer<Key> sorted(keys_number, policy, team);
    std::vector<double> orderly(team.size()), sums(team.size());
    team.each([&](Worker w) {
      auto [first, last] = w.part(range, grain);
      std::uint32_t begin = first < last ? ranks[first] : 0, end = last < range ? ranks[last] : keys_number;
      team.barrier().wait();
      if (first == last) return;
      std::fill(sorted.data() + begin, sorted.data() + end, ~Key{0});
      for (std::size_t i = 0; i < keys_number; ++i)
        if (keys[i] >= first && keys[i] < last && ranks[keys[i]] < keys_number) sorted[ranks[keys[i]]++] = keys[i];
      orderly[w.index] = count_in_order(sorted.data() + begin, end - begin, first, last);
      sums[w.index] = key_sum(sorted.data() + begin, end - begin);
    });
    ranked.sorted = std::accumulate(orderly.begin(), orderly.end(), 0.0);
    ranked.sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  }
};

int main() { return serve({kernel<IS>("is")}); }
