// Windows of messages between pairs of ranks i and i + P/2: message rate and bandwidth, one way and both ways.
#include "messages.h"

using namespace steelyard;

// An operation is a window of each pair. One way the window is acknowledged by a byte; both ways the other's messages
// are the acknowledgement.
template <bool both>
struct Windows {
  std::size_t window, pairs;
  int partner;  // −1: none
  bool sends, receives;
  std::size_t step;  // 1: each message of a window has a place of its own; 0: all have one
  Messages messages;
  std::vector<MPI_Request> requests;
  std::size_t done = 0;

  Windows(Params& p, Ranks& ranks)
      : window(p.count("window", 64)),
        pairs(p.count("pairs", 1)),
        partner(partner_across(window, pairs, ranks)),
        sends(partner >= 0 && (both || ranks.rank() < partner)),
        receives(partner >= 0 && (both || ranks.rank() > partner)),
        step(p.choice("places", "own", {"own", "one"}) == "own"),
        messages(p, ranks, p.count("message_bytes", 8), active(), step ? window : 1),
        requests((both ? 2 : 1) * window),
        rank_(ranks.rank()),
        comm_(ranks.comm()) {}
  bool active() const { return partner >= 0; }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages.next()) exchange();
    done += operations;
  }
  Work work() const {
    double all = static_cast<double>((both ? 2 : 1) * window * pairs);
    return {{"messages", all}, {"bytes", all * static_cast<double>(messages.bytes())}};
  }
  Check check() {
    if (!active()) return {true, "took no part"};
    messages.forget();
    acknowledgement_ = static_cast<char>(pattern_byte(0, rank_));
    exchange();
    if (done == 0) return {false, "no message was sent"};
    bool right = true;
    if (receives)
      for (std::size_t i = 0; i < window; ++i) right = right && messages.holds(partner, messages.place(), i * step);
    else
      right = acknowledgement_ == static_cast<char>(pattern_byte(0, partner));
    return {right, join({"a window of messages of ", messages.bytes(), " bytes from rank ", partner,
                         " was compared after ", done})};
  }
  void corrupt() { messages.corrupt(); }

 private:
  static int partner_across(std::size_t window, std::size_t pairs, const Ranks& ranks) {
    const int half = ranks.size() / 2;
    if (pairs < 1 || pairs > static_cast<std::size_t>(half))
      throw CaseError(join({"pairs='", pairs, "' must be 1 to ", half, " with ", ranks.size(), " ranks"}));
    if (window < 1) throw CaseError("window='0' must be at least 1: a window has at least one message");
    const int used = static_cast<int>(pairs), rank = ranks.rank();
    if (rank < used) return rank + half;
    return rank >= half && rank < half + used ? rank - half : -1;
  }
  void exchange() {
    const int length = messages.length();
    MPI_Request* next = requests.data();
    if (receives)
      for (std::size_t i = 0; i < window; ++i)
        MPI_Irecv(messages.in(i * step), length, MPI_BYTE, partner, 0, comm_, next++);
    if (sends)
      for (std::size_t i = 0; i < window; ++i)
        MPI_Isend(messages.out(i * step), length, MPI_BYTE, partner, 0, comm_, next++);
    MPI_Waitall(static_cast<int>(next - requests.data()), requests.data(), MPI_STATUSES_IGNORE);
    if constexpr (!both) {
      if (sends)
        MPI_Recv(&acknowledgement_, 1, MPI_BYTE, partner, 1, comm_, MPI_STATUS_IGNORE);
      else
        MPI_Send(&acknowledgement_, 1, MPI_BYTE, partner, 1, comm_);
    }
  }
  int rank_;
  char acknowledgement_ = 0;
  MPI_Comm comm_;
};

int main(int argc, char** argv) {
  return serve_ranks(argc, argv, {rank_kernel<Windows<false>>("one_way"), rank_kernel<Windows<true>>("both_ways")});
}
