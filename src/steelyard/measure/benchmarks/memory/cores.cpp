// Two threads exchange one cache line: the cost if a core needs data that another core has just written.
#include <atomic>

#include "kernel.h"

using namespace steelyard;

// One operation is one round trip: the first thread writes an odd number, the second one answers with an even one.
struct Transfer {
  struct alignas(128) Own {
    std::size_t rounds = 0;
  };
  alignas(128) std::atomic<std::size_t> line{0};
  Own own[2];

  Transfer(Params&, Team& team) {
    if (team.size() != 2) throw CaseError(join({"the kernel 'transfer' needs threads=2, not ", team.size()}));
  }
  void run(Worker w, std::size_t operations) {
    std::size_t& rounds = own[w.index].rounds;
    for (std::size_t last = rounds + operations; rounds < last; ++rounds) {
      if (w.index == 0) line.store(2 * rounds + 1, std::memory_order_release);
      wait_for(2 * rounds + (w.index == 0 ? 2 : 1));
      if (w.index == 1) line.store(2 * rounds + 2, std::memory_order_release);
    }
  }
  Work work() const { return {{"messages", 2}}; }
  Check check() {
    std::size_t rounds = own[0].rounds, due = 2 * rounds, found = line.load();
    return {rounds > 0 && own[1].rounds == rounds && found == due,
            join({rounds, " round trips, the line holds ", found, " and should hold ", due})};
  }
  void corrupt() { ++line; }

 private:
  // There is no pause instruction, which would add to the time. Two threads on one processor must yield, however.
  void wait_for(std::size_t value) const {
    for (int i = 0; line.load(std::memory_order_acquire) != value; ++i)
      if (i > 10'000) sched_yield();
  }
};

int main() { return serve({kernel<Transfer>("transfer")}); }
