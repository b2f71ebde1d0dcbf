// IS by MPI ranks: each holds a share of the keys and ranks a share of the values; the keys go to whoever ranks them.
#include <array>

#include "crossing.h"
#include "exchange.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::npb;

struct IS {
  static constexpr bool whole = true;
  static constexpr std::size_t chunk = 4096;  // keys that are picked from again and again: 16 KiB
  static constexpr std::size_t few = 16;      // up to so many ranks, a search of all keys for each rank is faster
  Problem problem;
  Ranks& ranks;
  IsClass kind;
  MemoryPolicy policy;
  std::size_t me, size, first, own;  // own: how many keys this rank holds, from the first on
  Buffer<Key> keys;
  std::vector<std::uint32_t> mine, all;  // keys of each bucket, then the test keys; of this rank, of all
  std::vector<std::size_t> borders;      // of the ranks' buckets
  std::vector<int> sends;                // keys to each rank
  KeyExchange crossing;
  std::array<Key, edited> originals;
  // The keys that this rank receives. Only the few edited keys change between iterations.
  Buffer<Key> packed, received;
  Buffer<Count> counts;
  Buffer<std::uint32_t> ranked_values;  // of each own value: how many keys are less
  std::size_t low = 0, high = 0, arrived = 0;
  std::uint32_t before = 0;  // keys less than `low`
  std::vector<double> tests;
  Ranked ranked;
  std::array<Key, chunk + register_keys> staying;
  PhaseTimes phases;

  IS(Params& p, Ranks& r)
      : problem(p, "mpi", "SWABCD", Growth::doubled),
        ranks(r),
        kind(is_class(problem)),
        policy(p),
        me(static_cast<std::size_t>(r.rank())),
        size(require_memory(problem, kind, r)),
        first(kind.keys() / size * me),
        own(kind.keys() / size),
        keys(own, policy, r.team()),
        mine(buckets + test_keys),
        all(buckets + test_keys),
        borders(size + 1),
        sends(size),
        crossing(r, own),
        originals(generate()),
        packed(size == 1 ? 1 : own + size * register_keys, policy, r.team()),
        received(greatest_share(), policy, r.team()),
        counts(greatest_range(), policy, r.team()),
        ranked_values(greatest_range(), policy, r.team()),
        phases(problem.phases, {"buckets", "counts", "exchange", "ranks"}) {
    std::fill(counts.data(), counts.data() + counts.size(), 0);
  }
  void prepare(std::size_t) {
    if (me == 0) std::copy(originals.begin(), originals.end(), keys.data());
    rank(1);
    tests.clear(), ranked = {};
  }
  void run(std::size_t) {
    phases.begin();
    tests.clear();
    for (std::size_t iteration = 1; iteration <= iterations; ++iteration) {
      rank(iteration);
      for (std::size_t i = 0; i < test_keys; ++i) {
        std::uint32_t key = all[buckets + i];
        tests.push_back(key >= low && key < high ? ranked_values[key - low] : 0);
      }
      phases.end_phase(3);
    }
  }
  // Bytes: in each iteration all keys are read twice, and those for other ranks are written, copied (read and written)
  // and read; of one rank they are read once. Counts and ranks as with threads.
  Work work() const {
    double ranked_keys = static_cast<double>(iterations * kind.keys()), parts = static_cast<double>(size);
    return {{"operations", ranked_keys},
            {"bytes", sizeof(Key) * ranked_keys * (size == 1 ? 1 : 2 + 4 * (1 - 1 / parts))}};
  }
  Check check() {
    if (!tests.empty()) {
      std::vector<double> here = tests;
      auto [orderly, sum] = verify_sorting();
      here.push_back(orderly), here.push_back(sum);
      ranked.tests = sum_over_ranks(here);
      ranked.sum = ranked.tests.back(), ranked.tests.pop_back();
      ranked.sorted = ranked.tests.back(), ranked.tests.pop_back();
      if (kind.scale > 1) ranked.expected = sum_over_ranks(rank_plainly(kind, first, first + own));
    }
    return ranked.verification(kind).check();
  }
  // Makes a key in the middle the smallest one: the ranks of all keys below it rise by one.
  void corrupt() {
    if (me == 0) std::copy(originals.begin(), originals.end(), keys.data());
    if (me == size / 2) keys[own / 2] = keys[own / 2] == 0 ? 1 : 0;
    run(1);
  }
  std::string details() const { return details_of(problem, ranked.verification(kind), phases).str(); }

 private:
  // Returns the sums over all ranks.
  std::vector<double> sum_over_ranks(const std::vector<double>& here) const {
    std::vector<double> sums(here.size());
    reduce(here.data(), sums.data(), here.size(), ranks.comm());
    return sums;
  }
  static std::size_t require_memory(const Problem& problem, const IsClass& kind, const Ranks& ranks) {
    std::size_t size = static_cast<std::size_t>(ranks.size());
    if (size & (size - 1) || size > 512) {
      throw CaseError(
          join({"ranks='", size,
                "' cannot be used by IS, which needs a power of two: 1, 2, 4, 8, 16, 32, 64, 128, 256, 512"}));
    }
    // Own keys, those for others, those from others and, for the check, sorted ones; counts and ranks of each value
    // once.
    std::size_t needed = (size == 1 ? 2 : 4) * kind.keys() * sizeof(Key) + kind.range() * 5;
    problem.require(needed / size * ranks.sharing_host());
    return size;
  }
  std::array<Key, edited> generate() {
    generate_keys(kind, first, first + own, keys.data());
    std::array<Key, edited> out;
    std::copy_n(keys.data(), edited, out.begin());
    assign_buckets();
    return out;
  }
  std::size_t greatest_share() const {
    std::size_t most = 0;
    for (std::size_t r = 0; r < size; ++r) most = std::max<std::size_t>(most, count_keys_of_rank(all.data(), r));
    return most + border_slack();
  }
  // A border between ranks may move by a bucket when a few keys are edited.
  std::size_t border_slack() const { return 2 * *std::max_element(all.begin(), all.begin() + buckets) + edited; }
  std::size_t greatest_range() const {
    return std::min(buckets, borders[me + 1] - borders[me] + 2) << bucket_shift(kind);
  }
  std::size_t count_keys_of_rank(const std::uint32_t* of, std::size_t rank) const {
    std::size_t sum = 0;
    for (std::size_t b = borders[rank]; b < borders[rank + 1]; ++b) sum += of[b];
    return sum;
  }
  Key first_key_of(std::size_t rank) const { return static_cast<Key>(borders[rank] << bucket_shift(kind)); }

  // Assigns the buckets to ranks by the number of keys in them. Afterwards `all` has the test keys, too.
  void assign_buckets() {
    std::fill(mine.begin(), mine.end(), 0);
    for (std::size_t i = 0; i < test_keys; ++i)
      if (std::size_t at = kind.indices[i] - first; at < own) mine[buckets + i] = keys[at];
    if (size == 1) {
      all = mine;  // all buckets are its own, whatever they hold
    } else {
      count_buckets(keys.data(), keys.data() + own, bucket_shift(kind), mine.data());
      reduce(mine.data(), all.data(), mine.size(), ranks.comm(), MPI_SUM, MPI_UINT32_T);
    }
    share_buckets(all.data(), kind.keys(), borders);
    low = first_key_of(me), high = first_key_of(me + 1);
    before = 0;
    for (std::size_t b = 0; b < borders[me]; ++b) before += all[b];
  }
  void rank(std::size_t iteration) {
    if (me == 0) edit_keys(kind, keys.data(), iteration);
    assign_buckets();
    phases.end_phase(0);
    if (size == 1) {
      count_keys(keys.data(), keys.data() + own, 0, counts.data());
      phases.end_phase(1);
    } else {
      exchange();
    }
    std::size_t values = high - low, owned = size == 1 ? own : arrived + static_cast<std::size_t>(sends[me]);
    if (total(counts.data(), counts.data() + values) == owned)
      rank_values(std::array{counts.data()}, 0, values, before, ranked_values.data());
    else
      rank_crowded(values);
  }
  // Sends each key to the rank that owns its bucket, and counts the keys that arrive and those that stay.
  void exchange() {
    for (std::size_t r = 0; r < size; ++r) sends[r] = static_cast<int>(count_keys_of_rank(mine.data(), r));
    arrived = crossing.begin(sends, packed.data(), register_keys, received.data());
    auto count = [&](const Key* from, const Key* to) { count_keys(from, to, low, counts.data()); };
    size <= few ? count_each(count) : place_each(count);
    crossing.send_rest();
    phases.end_phase(1);
    crossing.finish(count);
    phases.end_phase(2);
  }
  template <class Use>
  void count_each(Use count) {
    for (std::size_t at = 0; at < own; at += chunk) {
      const Key* from = keys.data() + at;
      std::size_t length = std::min(chunk, own - at);
      for (std::size_t r = 0; r < size; ++r) {
        if (r == me) continue;
        crossing.packed(r) = pick_keys(from, length, first_key_of(r), first_key_of(r + 1), crossing.packed(r));
        crossing.send_full(r);
      }
      count(staying.data(), pick_keys(from, length, low, high, staying.data()));
      crossing.use_arrived_blocks(count);
    }
  }
  template <class Use>
  void place_each(Use count) {
    std::array<std::uint16_t, buckets> takers;
    for (std::size_t r = 0; r < size; ++r)
      std::fill(takers.begin() + borders[r], takers.begin() + borders[r + 1], static_cast<std::uint16_t>(r));
    int shift = bucket_shift(kind);
    for (const Key* key = keys.data(); key < keys.data() + own; ++key) *crossing.packed(takers[*key >> shift])++ = *key;
    count(crossing.packed(me) - sends[me], crossing.packed(me));
  }
  // Calls `use` for each key that this rank ranks.
  template <class Visit>
  void visit_keys(Visit use) const {
    for (std::size_t i = 0; i < own; ++i)
      if (keys[i] >= low && keys[i] < high) use(keys[i]);
    for (std::size_t i = 0; i < arrived; ++i) use(received[i]);
  }
  // Ranks the values if one of them has more keys than a byte can count.
  void rank_crowded(std::size_t values) {
    std::fill_n(counts.data(), values, 0);
    std::fill_n(ranked_values.data(), values, 0);
    visit_keys([&](Key key) { ++ranked_values[key - low]; });
    rank_counts(ranked_values.data(), ranked_values.data() + values, before);
  }
  // Carries out NPB's full verification of this rank's keys: puts each key at its rank, the next equal key behind it.
  std::pair<double, double> verify_sorting() {
    std::size_t here = 0;
    visit_keys([&](Key) { ++here; });
    std::vector<Key> places(here, ~Key{0});
    visit_keys([&](Key key) {
      if (std::uint32_t place = ranked_values[key - low]++ - before; place < here) places[place] = key;
    });
    return {static_cast<double>(count_in_order(places.data(), here, low, high)), key_sum(places.data(), here)};
  }
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<IS>("is")}); }
