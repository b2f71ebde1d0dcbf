// A message to another rank and back: latency and one-way bandwidth of one pair.
#include "messages.h"

using namespace steelyard;

struct PingPong {
  int partner;  // of rank 0; all further ranks sleep
  int rank;
  Messages messages;
  std::size_t done = 0;

  PingPong(Params& p, Ranks& ranks)
      : partner(static_cast<int>(p.count("partner", static_cast<std::size_t>(ranks.size() - 1)))),
        rank(ranks.rank()),
        messages(p, ranks, p.count("message_bytes", 8), active()),
        comm_(ranks.comm()) {
    if (partner < 1 || partner >= ranks.size())
      throw CaseError(join({"partner='", partner, "' must be one of the ranks 1 to ", ranks.size() - 1}));
  }
  bool active() const { return rank == 0 || rank == partner; }
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i, messages.next()) send_and_answer();
    done += operations;
  }
  // A round trip.
  Work work() const { return {{"messages", 2}, {"bytes", 2.0 * static_cast<double>(messages.bytes())}}; }
  Check check() {
    if (!active()) return {true, "took no part"};
    std::size_t place = messages.place();
    messages.forget();
    send_and_answer();
    if (done == 0) return {false, "no message was sent"};
    return {messages.holds(rank == 0 ? partner : 0, place),
            join({"a message of ", messages.bytes(), " bytes was compared after ", done})};
  }
  void corrupt() { messages.corrupt(); }

 private:
  void send_and_answer() {
    if (rank == 0) {
      MPI_Send(messages.out(), messages.length(), MPI_BYTE, partner, 0, comm_);
      MPI_Recv(messages.in(), messages.length(), MPI_BYTE, partner, 0, comm_, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(messages.in(), messages.length(), MPI_BYTE, 0, 0, comm_, MPI_STATUS_IGNORE);
      MPI_Send(messages.out(), messages.length(), MPI_BYTE, 0, 0, comm_);
    }
  }
  MPI_Comm comm_;
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<PingPong>("pingpong")}); }
