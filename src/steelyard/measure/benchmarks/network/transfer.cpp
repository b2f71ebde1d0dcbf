// Messages of pairs: rank 0 with each other rank, and all pairs of ranks in rounds in which nobody meets two.
#include "messages.h"

using namespace steelyard;

// This rank's side of a pair; `partner` −1: it has none.
class Pair {
 public:
  Pair(Params& p, Ranks& ranks, int partner)
      : partner_(partner),
        first_(ranks.rank() < partner),
        comm_(ranks.comm()),
        messages_(p, ranks, p.count("message_bytes", 8), partner >= 0) {}

  bool active() const { return partner_ >= 0; }
  double bytes() const { return static_cast<double>(messages_.bytes()); }
  void one_way(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages_.next()) send_and_answer();
    done_ += operations;
  }
  void two_way(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages_.next()) exchange_at_once();
    done_ += operations;
  }
  Check check(bool two_way) {
    if (!active()) return {true, "took no part"};
    messages_.forget();
    two_way ? exchange_at_once() : send_and_answer();
    if (done_ == 0) return {false, "no message was sent"};
    return {messages_.holds(partner_, messages_.place()),
            join({"a message of ", messages_.bytes(), " bytes from rank ", partner_, " was compared after ", done_})};
  }
  void corrupt() { messages_.corrupt(); }

 private:
  void send_and_answer() {
    if (first_) {
      MPI_Send(messages_.out(), messages_.length(), MPI_BYTE, partner_, 0, comm_);
      MPI_Recv(messages_.in(), messages_.length(), MPI_BYTE, partner_, 0, comm_, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(messages_.in(), messages_.length(), MPI_BYTE, partner_, 0, comm_, MPI_STATUS_IGNORE);
      MPI_Send(messages_.out(), messages_.length(), MPI_BYTE, partner_, 0, comm_);
    }
  }
  void exchange_at_once() {
    MPI_Request both[2];
    MPI_Irecv(messages_.in(), messages_.length(), MPI_BYTE, partner_, 0, comm_, &both[0]);
    MPI_Isend(messages_.out(), messages_.length(), MPI_BYTE, partner_, 0, comm_, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }

  int partner_;
  bool first_;
  MPI_Comm comm_;
  Messages messages_;
  std::size_t done_ = 0;
};

// Rank 0 and one other; all further ranks sleep. An operation is a message each way.
struct Transfer {
  bool two_way;
  Pair pair;

  Transfer(Params& p, Ranks& ranks)
      : two_way(p.choice("direction", "one-way", {"one-way", "two-way"}) == "two-way"),
        pair(p, ranks, partner(p, ranks)) {}
  bool active() const { return pair.active(); }
  void run(std::size_t operations) { two_way ? pair.two_way(operations) : pair.one_way(operations); }
  Work work() const { return {{"pairs", 1}, {"messages", 2}, {"bytes", 2 * pair.bytes()}}; }
  Check check() { return pair.check(two_way); }
  void corrupt() { pair.corrupt(); }

 private:
  static int partner(Params& p, const Ranks& ranks) {
    auto last = static_cast<std::size_t>(ranks.size() - 1);
    std::size_t of_first = p.count("partner", last);
    if (of_first < 1 || of_first > last)
      throw CaseError(join({"partner='", of_first, "' must be one of the ranks 1 to ", last}));
    if (ranks.rank() == 0) return static_cast<int>(of_first);
    return ranks.rank() == static_cast<int>(of_first) ? 0 : -1;
  }
};

// Who meets whom in a round of a tournament of all ranks. One more player, a phantom, is added to an odd number: who
// would meet it rests.
struct Round {
  int partner = -1;  // of this rank; −1: it rests
  std::size_t pairs, turn = 0;

  Round(Params& p, const Ranks& ranks) : pairs(static_cast<std::size_t>(ranks.size() / 2)) {
    const int ring = ranks.size() + ranks.size() % 2 - 1;  // the last player stands beside the ring of the others
    std::size_t asked = p.count("round", 0);
    if (ranks.size() < 2) throw CaseError("ranks='1': a pair needs two ranks");
    if (asked >= static_cast<std::size_t>(ring))
      throw CaseError(join({"round='", asked, "' must be from 0 to ", ring - 1, " with ", ranks.size(), " ranks"}));
    const int round = static_cast<int>(asked), rank = ranks.rank();
    if (rank == ring || rank == round)
      partner = rank == ring ? round : ring;
    else
      partner = (2 * round - rank + 2 * ring) % ring;
    if (partner >= ranks.size()) partner = -1;
    // Ranks round ± i meet in turn i; in turn 0 the last player, unless it is the phantom.
    int beside = rank == ring || rank == round ? 0 : (rank - round + ring) % ring;
    turn = static_cast<std::size_t>(std::min(beside, ring - beside) - ranks.size() % 2);
  }
};

// All pairs of a round, at once or one after the other; a pair's time is what its two ranks took. One after the other,
// each sample is the next pair's: the others' times in it are next to nothing.
struct Pairs {
  Round round;
  bool together;
  Pair pair;
  std::size_t turn = 0;

  Pairs(Params& p, Ranks& ranks)
      : round(p, ranks), together(p.choice("together", "yes", {"yes", "no"}) == "yes"), pair(p, ranks, round.partner) {}
  bool active() const { return pair.active(); }
  void prepare(std::size_t) { turn = (turn + 1) % round.pairs; }
  void run(std::size_t operations) {
    if (together || turn == round.turn) pair.one_way(operations);
  }
  Work work() const {
    double pairs = together ? static_cast<double>(round.pairs) : 1;
    return {{"pairs", pairs}, {"messages", 2 * pairs}, {"bytes", 2 * pairs * pair.bytes()}};
  }
  Check check() { return pair.check(false); }
  void corrupt() { pair.corrupt(); }
};

int main(int argc, char** argv) {
  return serve_ranks(argc, argv, {rank_kernel<Transfer>("transfer"), rank_kernel<Pairs>("pairs")});
}
