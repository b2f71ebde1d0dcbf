// Every channel of a logical topology at once, the star, the ring or each with each: throughput of the whole network.
#include <optional>

#include "messages.h"

using namespace steelyard;

// A channel as one of its two ranks sees it; `begins`: in the one-way mode this rank sends first, the other answers.
struct Channel {
  int partner;
  bool begins;
};

// The channels of `rank`, the nearest ranks first (p + k mod P): where all began with rank 0 it would be a hot spot.
// Channels of the same distance lie in the same two places of every rank's list: `Nettest::window` relies on it.
inline std::vector<Channel> channels(const std::string& topology, int rank, int size) {
  std::vector<Channel> found;
  if (topology == "star") {
    if (rank > 0) return {{0, false}};
    for (int other = 1; other < size; ++other) found.push_back({other, true});
    return found;
  }
  for (int distance = 1; distance <= (topology == "ring" ? 1 : size / 2); ++distance) {
    int after = (rank + distance) % size, before = (rank - distance + size) % size;
    found.push_back({after, after != before || rank < after});
    if (after != before) found.push_back({before, false});
  }
  return found;
}

struct Nettest {
  std::string topology;
  bool two_way;
  std::size_t bytes, stride, window;
  std::size_t done = 0;

  Nettest(Params& p, Ranks& ranks)
      : topology(p.choice("topology", "ring", {"star", "ring", "chaos"})),
        two_way(p.choice("direction", "one-way", {"one-way", "two-way"}) == "two-way"),
        bytes(p.count("message_bytes", 1 << 16)),
        stride((bytes + 63) / 64 * 64 + 64),
        ranks_(ranks),
        policy_(p) {
    // Two requests a channel; an even number of channels, so that both ends of one have it in the same window: a rank
    // that waited in its window for one who is not there yet might wait for itself, around the ring.
    std::size_t outstanding = p.count("outstanding", 256);
    window = outstanding / 4 * 2;
    if (window == 0)
      throw CaseError(join({"outstanding='", outstanding, "' must be at least 4, the requests of two channels"}));
    if (ranks.size() < 2) throw CaseError("ranks='1' has no channel: use at least two ranks");
    channels_ = channels(topology, ranks.rank(), ranks.size());
    std::size_t slots = std::min(window, channels_.size());
    out_.emplace(slots * stride, policy_, ranks.team());
    in_.emplace(slots * stride, policy_, ranks.team());
    std::string content = join({"messages of rank ", ranks.rank()});
    if (!out_->still_holds(content))
      for (std::size_t i = 0; i < out_->size(); ++i) (*out_)[i] = static_cast<char>(pattern_byte(i, ranks.rank()));
    out_->promise(content);
    requests_.resize(2 * slots);
  }
  void run(std::size_t operations) {
    auto nothing = [](std::size_t, std::size_t) {};
    if (two_way)
      for (std::size_t i = 0; i < operations; ++i) exchange<true>(nothing);
    else
      for (std::size_t i = 0; i < operations; ++i) exchange<false>(nothing);
    done += operations;
  }
  // A message each way along every channel.
  Work work() const {
    double size = ranks_.size(), all = topology == "star" || size == 2 ? size - 1
                                       : topology == "ring"            ? size
                                                                       : size * (size - 1) / 2;
    return {{"messages", 2 * all}, {"bytes", 2 * all * static_cast<double>(bytes)}};
  }
  Check check() {
    std::string wrong;
    auto compare = [&](std::size_t first, std::size_t count) {
      if (corrupt_) ++in(0)[bytes / 3];
      for (std::size_t i = 0; i < count; ++i)
        if (int partner = channels_[first + i].partner; !arrived(i, partner))
          wrong = join({"the message of rank ", partner, " is not what it sent"});
      std::memset(in_->data(), 0, in_->size());
    };
    compare(0, 0);
    if (two_way)
      exchange<true>(compare);
    else
      exchange<false>(compare);
    if (done == 0) return {false, "no message was sent"};
    std::string compared = join({channels_.size(), " messages of ", bytes, " bytes"});
    return {wrong.empty(), wrong.empty() ? join({compared, " were compared after ", done}) : wrong};
  }
  void corrupt() { corrupt_ = true; }  // when a message of the check's own has come

 private:
  char* out(std::size_t slot) { return out_->data() + slot * stride; }
  char* in(std::size_t slot) { return in_->data() + slot * stride; }
  void send(std::size_t first, std::size_t count, std::size_t i) {
    MPI_Isend(out(i), static_cast<int>(bytes), MPI_BYTE, channels_[first + i].partner, 0, ranks_.comm(),
              &requests_[count + i]);
  }
  // `after(first, count)` follows each window of channels.
  template <bool both, class After>
  void exchange(After after) {
    for (std::size_t first = 0; first < channels_.size(); first += window) {
      std::size_t count = std::min(window, channels_.size() - first);
      for (std::size_t i = 0; i < count; ++i)
        MPI_Irecv(in(i), static_cast<int>(bytes), MPI_BYTE, channels_[first + i].partner, 0, ranks_.comm(),
                  &requests_[i]);
      for (std::size_t i = 0; i < count; ++i) {
        requests_[count + i] = MPI_REQUEST_NULL;
        if (both || channels_[first + i].begins) send(first, count, i);
      }
      if constexpr (both)
        MPI_Waitall(static_cast<int>(2 * count), requests_.data(), MPI_STATUSES_IGNORE);
      else
        answer_messages(first, count);
      after(first, count);
    }
  }
  // Until all is sent and received: what another rank began is answered as soon as it is here.
  void answer_messages(std::size_t first, std::size_t count) {
    for (int which = 0;;) {
      MPI_Waitany(static_cast<int>(2 * count), requests_.data(), &which, MPI_STATUS_IGNORE);
      if (which == MPI_UNDEFINED) return;
      auto slot = static_cast<std::size_t>(which);
      if (slot < count && !channels_[first + slot].begins) send(first, count, slot);
    }
  }
  // An empty message must have changed nothing.
  bool arrived(std::size_t slot, int partner) {
    if (bytes == 0) return *in(slot) == 0;
    std::vector<Channel> theirs = channels(topology, partner, ranks_.size());
    auto mine = std::find_if(theirs.begin(), theirs.end(), [&](Channel c) { return c.partner == ranks_.rank(); });
    std::size_t place = static_cast<std::size_t>(mine - theirs.begin()) % window * stride;
    for (std::size_t i = 0; i < bytes; ++i)
      if (static_cast<unsigned char>(in(slot)[i]) != pattern_byte(place + i, partner)) return false;
    return true;
  }

  Ranks& ranks_;
  MemoryPolicy policy_;
  std::vector<Channel> channels_;
  std::optional<Buffer<char>> out_, in_;
  std::vector<MPI_Request> requests_;  // first the receives of a window, then its sends
  bool corrupt_ = false;
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<Nettest>("nettest")}); }
