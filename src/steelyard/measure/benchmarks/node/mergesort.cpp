// Sorting by merging, by threads, by a device, or by both: vectors of keys merge as bitonic sequences.
#include "merging.h"
#include "modes.h"

using namespace steelyard;
using merging::Key;

struct MergeSort {
  // First each side sorts its keys, then the threads merge the two.
  static constexpr std::size_t phases = 2, tile = 2048;  // keys that a work group of the device sorts or merges
  static constexpr const char* program = R"(
    // The keys of a tile, sorted in local memory by a bitonic network.
    kernel void sort_tiles(GLOBAL const long* restrict from, GLOBAL long* restrict to) {
      local long keys[2048];
      size_t l = get_local_id(0), base = get_group_id(0) * 2048;
      for (uint i = l; i < 2048; i += 256) keys[i] = from[base + i];
      for (uint size = 2; size <= 2048; size *= 2)
        for (uint apart = size / 2; apart > 0; apart /= 2) {
          barrier(CLK_LOCAL_MEM_FENCE);
          for (uint pair = l; pair < 1024; pair += 256) {
            uint i = 2 * pair - (pair & (apart - 1));
            long a = keys[i], b = keys[i + apart];
            int turned = (a > b) == ((i & size) == 0);
            keys[i] = turned ? b : a;
            keys[i + apart] = turned ? a : b;
          }
        }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint i = l; i < 2048; i += 256) to[base + i] = keys[i];
    }
    // Returns how many of the first `wanted` merged keys come from a (the merge path crosses the diagonal there).
    #define SPLIT(space)                                                                            \
      ulong low = wanted > b_size ? wanted - b_size : 0, high = wanted < a_size ? wanted : a_size; \
      while (low < high) {                                                                          \
        ulong middle = (low + high) / 2;                                                            \
        if (a[middle] <= b[wanted - 1 - middle]) low = middle + 1;                                  \
        else high = middle;                                                                         \
      }                                                                                             \
      return low;
    ulong split(GLOBAL const long* a, ulong a_size, GLOBAL const long* b, ulong b_size, ulong wanted) { SPLIT() }
    ulong split_here(LOCAL_POINTER const long* a, ulong a_size, LOCAL_POINTER const long* b, ulong b_size,
                     ulong wanted) { SPLIT() }
    // Runs of `run` keys are merged in pairs; a work group makes a tile of the result, each item eight keys of that.
    kernel void merge_runs(GLOBAL const long* restrict from, GLOBAL long* restrict to, ulong run, ulong all) {
      local long keys[2048];
      local ulong borders[2];
      size_t l = get_local_id(0);
      ulong base = get_group_id(0) * (ulong)2048, pair = base / (2 * run) * (2 * run);
      ulong middle = min(pair + run, all), a_size = middle - pair, b_size = min(middle + run, all) - middle;
      GLOBAL const long *a = from + pair, *b = from + middle;
      if (l < 2) borders[l] = split(a, a_size, b, b_size, min(base - pair + l * 2048, a_size + b_size));
      barrier(CLK_LOCAL_MEM_FENCE);
      ulong a_first = borders[0], a_here = borders[1] - a_first, b_first = base - pair - a_first, b_here = 2048 - a_here;
      for (uint i = l; i < 2048; i += 256) keys[i] = i < a_here ? a[a_first + i] : b[b_first + i - a_here];
      barrier(CLK_LOCAL_MEM_FENCE);
      ulong i = split_here(keys, a_here, keys + a_here, b_here, l * 8), j = a_here + l * 8 - i;
      long out[8];
      for (uint k = 0; k < 8; ++k) {
        int first = j >= 2048 || (i < a_here && keys[i] <= keys[j]);
        out[k] = keys[first ? i : j];
        i += first;
        j += !first;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint k = 0; k < 8; ++k) keys[l * 8 + k] = out[k];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint i = l; i < 2048; i += 256) to[base + i] = keys[i];
    })";
  std::size_t elements, padded;
  MemoryPolicy policy;
  Team& team;
  Buffer<Key> source, result, aside;
  accelerator::Device* on = nullptr;
  std::unique_ptr<accelerator::Buffer> there[3];
  std::size_t border = 0;  // keys that the device sorted
  std::size_t block;       // keys that a thread sorts alone
  std::vector<Buffer<Key>> scratch;
  Key sum = 0, both = 0;  // of all keys: their sum and their parity

  MergeSort(Params& p, Team& everyone)
      : elements(p.count("elements", std::size_t{1} << 22)),
        padded((elements + tile - 1) / tile * tile),
        policy(p),
        team(everyone),
        source(padded, policy, team),
        result(padded, policy, team),
        aside(padded, policy, team),
        block(block_of(elements, team.size())),
        scratch(Buffer<Key>::one_each(2 * merging::table(block), policy, team, team.size())) {
    team.each([&](Worker w) {
      auto [first, last] = w.part(padded);
      for (std::size_t i = first; i < last; ++i) source[i] = i < elements ? key(i) : merging::no_key;
    });
    for (std::size_t i = 0; i < elements; ++i) add(source[i], sum, both);
    spoil_results(team);
  }
  void spoil_results(Team& everyone) {
    spoil(result, everyone, Key{0}), spoil(aside, everyone, Key{0});
    if (on) there[1]->write(), there[2]->write();
  }
  std::size_t count_pieces(std::size_t phase) const { return phase == 0 ? elements : 1; }
  std::size_t share_granularity() const { return tile; }

  void run_on_threads(Worker w, std::size_t phase, std::size_t first, std::size_t last) {
    if (phase == 1) {
      auto [from, to] = w.part(elements);
      if (border > 0 && from < to)
        merging::merge_part(aside.data(), border, aside.data() + border, elements - border, from, to,
                            result.data() + from);
      return;
    }
    if (w.index == 0) border = first;
    std::size_t size = last - first, run = block, levels = 0;
    for (std::size_t r = run; r < size; r *= 2) ++levels;
    Key *to = (first == 0 ? result : aside).data() + first, *from = (first == 0 ? aside : result).data() + first;
    if (levels % 2 == 1) std::swap(from, to);
    auto [mine, end] = w.part((size + run - 1) / run, 1);
    for (std::size_t k = mine * run; k < std::min(size, end * run); k += run)
      merging::sort(source.data() + first + k, std::min(run, size - k), to + k, scratch[w.index].data());
    for (; run < size; run *= 2) {
      std::swap(from, to);
      team.barrier().wait();
      merge_runs(w, from, to, size, run);
    }
  }
  void open_device(accelerator::Device& device) {
    on = &device;
    device.build(program);
    Buffer<Key>* all[] = {&source, &result, &aside};
    for (int i = 0; i < 3; ++i) {
      there[i] = std::make_unique<accelerator::Buffer>(device, all[i]->data(), padded * sizeof(Key));
      there[i]->write();
    }
  }
  void queue(std::size_t phase, std::size_t, std::size_t last) {
    if (phase == 1) return;
    std::uint64_t size = (last + tile - 1) / tile * tile, run = tile;
    int to = last == elements ? 1 : 2, from = 3 - to;
    for (std::uint64_t r = run; r < size; r *= 2) std::swap(from, to);
    on->run("sort_tiles", 0, size / 8, 256, there[0]->handle(), there[to]->handle());
    for (; run < size; run *= 2) {
      std::swap(from, to);
      on->run("merge_runs", 0, size / 8, 256, there[from]->handle(), there[to]->handle(), run, size);
    }
  }
  void exchange_results(std::size_t phase, std::size_t share) {
    if (phase == 0 && share < elements) there[2]->read(0, share * sizeof(Key));
  }
  void fetch(std::size_t) { there[1]->read(); }
  Work work() const {
    double n = static_cast<double>(elements);
    return {{"items", n}, {"bytes", 16 * n}, {"bytes_moved", 24 * n}};
  }
  void corrupt() { result[elements / 3] ^= 1; }
  Check check() {
    Key of_result = 0, of_both = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      wrong += i > 0 && result[i] < result[i - 1];
      add(result[i], of_result, of_both);
    }
    bool same = of_result == sum && of_both == both;
    return {wrong == 0 && same, join({wrong, " keys are smaller than the one before; sum and parity are ",
                                      (same ? "unchanged" : "not those of the keys that were to be sorted")})};
  }

 private:
  // Each worker makes its part of what all pairs of runs become.
  void merge_runs(Worker w, const Key* from, Key* to, std::size_t size, std::size_t run) {
    auto [first, last] = w.part(size);
    for (std::size_t pair = first / (2 * run) * (2 * run); pair < last; pair += 2 * run) {
      std::size_t middle = std::min(size, pair + run), end = std::min(size, middle + run);
      std::size_t begin = std::max(first, pair), until = std::min(last, end);
      merging::merge_part(from + pair, middle - pair, from + middle, end - middle, begin - pair, until - pair,
                          to + begin);
    }
  }
  // Returns the keys of a block: the cache of a core holds them and both tables, and every thread has some blocks.
  static std::size_t block_of(std::size_t elements, std::size_t threads) {
    std::size_t block = 1 << 15;
    while (block > 1024 && block * 4 * threads > elements) block /= 2;
    return block;
  }
  static Key key(std::size_t i) {
    std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return std::min(merging::last_key, static_cast<Key>(z ^ (z >> 32)));
  }
  static void add(Key key, Key& total, Key& parity) {
    total = static_cast<Key>(static_cast<std::uint64_t>(total) + static_cast<std::uint64_t>(key));
    parity ^= key;
  }
};

int main() { return serve({kernel<Modes<MergeSort>>("mergesort")}); }
