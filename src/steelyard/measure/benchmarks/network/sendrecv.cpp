// Every rank sends and receives at once, along a closed chain: to one neighbour (Sendrecv) or to both (Exchange).
#include "messages.h"

using namespace steelyard;

// The last message goes to the right, the one before it, if any, to the left; each arrives in the place from which its
// sender took it.
template <int sent>
struct Chain {
  static constexpr std::size_t onward = sent - 1, back = 0;
  Messages messages;
  int rank, left, right;
  std::size_t done = 0;

  Chain(Params& p, Ranks& ranks)
      : messages(p, ranks, p.count("message_bytes", 8), true, sent),
        rank(ranks.rank()),
        left((rank - 1 + ranks.size()) % ranks.size()),
        right((rank + 1) % ranks.size()),
        ranks_(ranks.size()),
        comm_(ranks.comm()) {
    if (ranks_ < 2) throw CaseError("ranks='1': a chain needs at least two ranks");
  }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages.next()) exchange();
    done += operations;
  }
  Work work() const {
    double all = static_cast<double>(sent) * ranks_, bytes = static_cast<double>(messages.bytes());
    return {{"messages", all}, {"bytes", all * bytes}, {"bytes_sent", sent * bytes}};  // the last: of each rank
  }
  Check check() {
    messages.forget();
    exchange();
    if (done == 0) return {false, "no message was sent"};
    bool right_one = messages.holds(left, messages.place(), onward);
    if constexpr (sent == 2) right_one = right_one && messages.holds(right, messages.place(), back);
    return {right_one, join({"the neighbours' messages of ", messages.bytes(), " bytes were compared after ", done})};
  }
  void corrupt() { messages.corrupt(); }

 private:
  // The tag tells the direction: of two ranks the left neighbour is the right one, too.
  void exchange() {
    const int length = messages.length();
    if constexpr (sent == 1) {
      MPI_Sendrecv(messages.out(onward), length, MPI_BYTE, right, 1, messages.in(onward), length, MPI_BYTE, left, 1,
                   comm_, MPI_STATUS_IGNORE);
    } else {
      MPI_Request both[2];
      MPI_Isend(messages.out(onward), length, MPI_BYTE, right, 1, comm_, &both[0]);
      MPI_Isend(messages.out(back), length, MPI_BYTE, left, 0, comm_, &both[1]);
      MPI_Recv(messages.in(onward), length, MPI_BYTE, left, 1, comm_, MPI_STATUS_IGNORE);
      MPI_Recv(messages.in(back), length, MPI_BYTE, right, 0, comm_, MPI_STATUS_IGNORE);
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
  }
  int ranks_;
  MPI_Comm comm_;
};

int main(int argc, char** argv) {
  return serve_ranks(argc, argv, {rank_kernel<Chain<1>>("sendrecv"), rank_kernel<Chain<2>>("exchange")});
}
