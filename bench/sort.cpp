// The sort of the standard library's parallel mode (GCC, OpenMP), as node.mergesort is timed: from a source into a
// copy.
#include <omp.h>

#include <cstdint>
#include <parallel/algorithm>

#include "kernel.h"

using namespace steelyard;

struct ParallelSort {
  std::size_t elements;
  int threads;
  std::vector<std::uint64_t> source, sorted;

  ParallelSort(Params& p, Team&)
      : elements(p.count("elements", 1 << 22)),
        threads(static_cast<int>(p.count("sorters", 1))),
        source(elements),
        sorted(elements) {
    std::uint64_t x = 1;
    for (auto& key : source) key = x = x * 6364136223846793005u + 1442695040888963407u;
  }
  void run(Worker, std::size_t operations) {
    omp_set_num_threads(threads);
    for (std::size_t i = 0; i < operations; ++i) {
      std::copy(source.begin(), source.end(), sorted.begin());
      __gnu_parallel::sort(sorted.begin(), sorted.end());
    }
  }
  Work work() const { return {{"items", static_cast<double>(elements)}}; }
  Check check() { return {sorted.front() != 0 && std::is_sorted(sorted.begin(), sorted.end()), "sorted"}; }
  void corrupt() { sorted[elements / 3] = 0; }
};

int main() { return serve({kernel<ParallelSort>("sort")}); }
