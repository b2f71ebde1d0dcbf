// Trains of messages, from which the parameters of LogGP follow: n messages, a delay between two, and one answer.
#include "messages.h"

using namespace steelyard;

// Computes for exactly this number of ticks of the clock.
inline void compute(std::uint64_t ticks) {
  std::uint64_t start = Clock::get().ticks();
  while (Clock::get().ticks() - start < ticks) {
  }
}

// The common part of both kernels: rank 0 sends to the last rank, and the ranks between them sleep.
struct Pair {
  int rank, last;
  std::uint64_t delay;  // ticks
  Messages messages;
  std::size_t done = 0;
  MPI_Comm comm;

  Pair(Params& p, Ranks& ranks)
      : rank(ranks.rank()),
        last(ranks.size() - 1),
        delay(ticks_of(p.number("delay", 0))),
        messages(p, ranks, p.count("message_bytes", 1), active()),
        comm(ranks.comm()) {
    if (ranks.size() < 2) throw CaseError("ranks='1': a train of messages needs two ranks");
  }
  bool active() const { return rank == 0 || rank == last; }
  void send(int to) const { MPI_Send(messages.out(), messages.length(), MPI_BYTE, to, 0, comm); }
  void receive(int from) const {
    MPI_Recv(messages.in(), messages.length(), MPI_BYTE, from, 0, comm, MPI_STATUS_IGNORE);
  }
  // Runs one more operation and checks that its last message is complete; `operation` moves on to the next place.
  template <class Operation>
  Check check_one_more(Operation operation) {
    if (!active()) return {true, "took no part"};
    std::size_t place = messages.place();
    messages.forget();
    operation();
    return {done > 0 && messages.holds(rank == 0 ? last : 0, place),
            join({"a message of ", messages.bytes(), " bytes was compared after ", done})};
  }
  void corrupt() { messages.corrupt(); }

 private:
  static std::uint64_t ticks_of(double seconds) {
    if (!(seconds >= 0 && seconds <= 1)) throw CaseError("delay must be from 0 to 1 seconds");
    return static_cast<std::uint64_t>(seconds * Clock::get().frequency());
  }
};

// PRTT(n, d, s) of T. Hoefler and others 2007: n messages, between two of them d seconds of computing, then one answer.
struct Trains : Pair {
  std::size_t count;

  Trains(Params& p, Ranks& ranks) : Pair(p, ranks), count(p.count("messages", 1)) {
    if (count < 1) throw CaseError("messages='0' must be at least 1");
  }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages.next()) send_and_answer();
    done += operations;
  }
  Work work() const {
    double n = static_cast<double>(count + 1);
    return {{"messages", n}, {"bytes", n * static_cast<double>(messages.bytes())}};
  }
  Check check() {
    return check_one_more([&] { send_and_answer(); });
  }

 private:
  void send_and_answer() const {
    if (rank == 0) {
      send(last);
      for (std::size_t i = 1; i < count; ++i) {
        if (delay) compute(delay);
        send(last);
      }
      receive(last);
    } else {
      for (std::size_t i = 0; i < count; ++i) receive(0);
      send(0);
    }
  }
};

// The receiver's overhead: the answer is already there when it is asked for, since the sender computes meanwhile.
struct Receive : Pair {
  static constexpr std::size_t most = 4096;  // receives whose times are kept: the latest
  std::vector<std::uint64_t> ticks = std::vector<std::uint64_t>(most);
  std::size_t timed = 0;

  using Pair::Pair;
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages.next()) send_and_answer();
    done += operations;
  }
  Work work() const { return {{"messages", 2}, {"bytes", 2.0 * static_cast<double>(messages.bytes())}}; }
  Check check() {
    return check_one_more([&] { send_and_answer(); });
  }
  // Seconds that one receive took at rank 0, the median.
  std::string details() const {
    std::vector<std::uint64_t> seen(ticks.begin(), ticks.begin() + static_cast<std::ptrdiff_t>(std::min(timed, most)));
    if (seen.empty()) return "null";
    auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
    std::nth_element(seen.begin(), middle, seen.end());
    double each = Clock::get().seconds(*middle) - Clock::get().overhead();
    return json::Object().add("receive", each > 0 ? each : unknown).str();
  }

 private:
  void send_and_answer() {
    if (rank == 0) {
      send(last);
      compute(delay);
      std::uint64_t start = Clock::get().ticks();
      receive(last);
      ticks[timed++ % most] = Clock::get().ticks() - start;
    } else {
      receive(0);
      send(0);
    }
  }
};

int main(int argc, char** argv) {
  return serve_ranks(argc, argv, {rank_kernel<Trains>("trains"), rank_kernel<Receive>("receive")});
}
