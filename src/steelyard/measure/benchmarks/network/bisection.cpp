// Pairs of ranks that all exchange at once, across the middle of the network or in a random matching.
#include <charconv>
#include <random>

#include "messages.h"

using namespace steelyard;

using Pairs = std::vector<std::pair<int, int>>;

// "halves": rank i with i + P/2, as mpptest's -bisect. A number seeds a random perfect matching, the same on every
// rank: the generator is defined to the bit, the standard library's shuffle is not.
inline Pairs match_pairs(const std::string& matching, int size, std::size_t count) {
  std::vector<int> order(static_cast<std::size_t>(size));
  for (int i = 0; i < size / 2; ++i)
    order[static_cast<std::size_t>(2 * i)] = i, order[static_cast<std::size_t>(2 * i + 1)] = i + size / 2;
  if (size % 2) order.back() = size - 1;
  if (matching != "halves") {
    std::uint64_t seed = 0;
    if (auto [end, failed] = std::from_chars(matching.data(), matching.data() + matching.size(), seed);
        failed != std::errc{} || end != matching.data() + matching.size())
      throw CaseError(
          join({"matching='", matching, "' must be halves, or a whole number: the seed of a random matching"}));
    std::mt19937_64 chance(seed);
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[chance() % (i + 1)]);
  }
  Pairs found;
  for (std::size_t i = 0; i < count; ++i) found.emplace_back(order[2 * i], order[2 * i + 1]);
  return found;
}

// One end of a pair's connection; the first of a pair is mpptest's master.
struct PairEnd {
  Messages& messages;
  int partner;
  MPI_Comm comm;
  void send() { MPI_Send(messages.out(), messages.length(), MPI_BYTE, partner, 0, comm); }
  void receive() { MPI_Recv(messages.in(), messages.length(), MPI_BYTE, partner, 0, comm, MPI_STATUS_IGNORE); }
  MPI_Request nonblocking_send() {
    MPI_Request request;
    MPI_Isend(messages.out(), messages.length(), MPI_BYTE, partner, 0, comm, &request);
    return request;
  }
  MPI_Request nonblocking_receive() {
    MPI_Request request;
    MPI_Irecv(messages.in(), messages.length(), MPI_BYTE, partner, 0, comm, &request);
    return request;
  }
};

struct RoundTrip {
  static void first(PairEnd& end, std::size_t times) {
    for (; times > 0; --times, end.messages.next()) end.send(), end.receive();
  }
  static void second(PairEnd& end, std::size_t times) {
    for (; times > 0; --times, end.messages.next()) end.receive(), end.send();
  }
};

// The answer to a message leaves while the next one is awaited.
struct RoundTripNonblocking {
  static void first(PairEnd& end, std::size_t times) {
    for (; times > 0; --times, end.messages.next()) {
      MPI_Request request = end.nonblocking_send();
      end.receive();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  static void second(PairEnd& end, std::size_t times) {
    end.receive();
    for (; times > 1; --times) {
      MPI_Request request = end.nonblocking_send();
      end.messages.next();
      end.receive();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    end.send();
    end.messages.next();
  }
};

// Both at once; nonblocking, since two blocking sends may wait for each other for ever.
struct HeadToHead {
  static void first(PairEnd& end, std::size_t times) {
    for (; times > 0; --times, end.messages.next()) {
      MPI_Request request = end.nonblocking_receive();
      end.send();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  static void second(PairEnd& end, std::size_t times) { first(end, times); }
};

template <class Exchange>
struct Bisection {
  std::string matching;
  Pairs pairs;
  bool first = false;
  int partner = -1;  // none: this rank sleeps
  Messages messages;
  std::size_t done = 0;

  Bisection(Params& p, Ranks& ranks)
      : matching(p.word("matching", "halves")),
        pairs(match_pairs(matching, ranks.size(), counted(p, ranks))),
        messages(p, ranks, p.count("message_bytes", 8), find(ranks.rank())),
        end_{messages, partner, ranks.comm()} {}
  bool active() const { return partner >= 0; }
  void run(std::size_t operations) {
    if (operations == 0) return;
    exchange(operations);
    done += operations;
  }
  // A message each way in every pair.
  Work work() const {
    double both = 2.0 * static_cast<double>(pairs.size());
    return {{"messages", both}, {"bytes", both * static_cast<double>(messages.bytes())}};
  }
  Check check() {
    if (!active()) return {true, "took no part"};
    std::size_t place = messages.place();
    messages.forget();
    exchange(1);
    if (done == 0) return {false, "no message was sent"};
    for (std::size_t i = 1; i < messages.places(); ++i) messages.next();  // around, to where the message lies
    std::string message = join({"a message of ", messages.bytes(), " bytes from rank ", partner});
    if (!messages.holds(partner, place)) return {false, join({message, " is not what it sent"})};
    return {true, join({message, " was compared after ", done})};
  }
  void corrupt() { messages.corrupt(); }
  // Who met whom, where chance chose.
  std::string details() const {
    if (matching == "halves") return "";
    std::string all;
    for (auto [one, other] : pairs)
      all.append(all.empty() ? "[" : ",").append(json::list(std::vector<int>{one, other}));
    return json::Object().add("pairs", join({all, "]"})).str();
  }

 private:
  static std::size_t counted(Params& p, const Ranks& ranks) {
    auto most = static_cast<std::size_t>(ranks.size() / 2);
    std::size_t wanted = p.count("pairs", most);
    if (wanted < 1 || wanted > most)
      throw CaseError(join({"pairs='", wanted, "' must be between 1 and ", most, ", half of the ranks"}));
    return wanted;
  }
  bool find(int rank) {
    for (auto [one, other] : pairs)
      if (rank == one || rank == other) first = rank == one, partner = first ? other : one;
    return active();
  }
  void exchange(std::size_t times) { first ? Exchange::first(end_, times) : Exchange::second(end_, times); }

  PairEnd end_;
};

int main(int argc, char** argv) {
  return serve_ranks(argc, argv,
                     {rank_kernel<Bisection<RoundTrip>>("round_trip"),
                      rank_kernel<Bisection<RoundTripNonblocking>>("round_trip_nonblocking"),
                      rank_kernel<Bisection<HeadToHead>>("head_to_head")});
}
