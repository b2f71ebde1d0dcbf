// Turbulence on ranks (MPI): each rank has columns along z, then planes of z. Between them, all ranks exchange with all
// ranks.
#include "../../../../measure/benchmarks/network/windows.h"
#include "../rank_team.h"
#include "rank_kernel.h"
#include "simulation.h"

using namespace steelyard;
using namespace steelyard::turbulence;

namespace {

// Messages are counted in blocks, because the number of doubles may exceed an int.
struct BlockType {
  MPI_Datatype type;
  BlockType() { MPI_Type_contiguous(static_cast<int>(block), MPI_DOUBLE, &type), MPI_Type_commit(&type); }
  ~BlockType() { MPI_Type_free(&type); }
  BlockType(const BlockType&) = delete;
  BlockType& operator=(const BlockType&) = delete;
};

class MessageLink {
 public:
  explicit MessageLink(const Ranks& ranks)
      : comm_(ranks.comm()),
        me_(static_cast<std::size_t>(ranks.rank())),
        size_(static_cast<std::size_t>(ranks.size())),
        requests_(2 * size_) {}
  void to_planes(Flow& flow) {
    if (size_ > 1) exchange(flow.columns_out(), flow.there.sent, flow.planes_in(), flow.there.got);
  }
  void to_columns(Flow& flow) {
    if (size_ > 1) exchange(flow.planes_out(), flow.back.got, flow.columns_in(), flow.back.sent);
  }
  template <std::size_t n>
  void sum(std::array<double*, n> values) {
    std::array<double, n> mine, all;
    for (std::size_t i = 0; i < n; ++i) mine[i] = *values[i];
    reduce(mine.data(), all.data(), n, comm_);
    for (std::size_t i = 0; i < n; ++i) *values[i] = all[i];
  }

 private:
  // Sends piece r to rank r, and receives its piece into the other array. `first`: the begin of each piece, in blocks.
  void exchange(const double* from, const std::vector<std::size_t>& first, double* to,
                const std::vector<std::size_t>& place) {
    int open = 0;
    auto length = [](const std::vector<std::size_t>& of, std::size_t r) { return static_cast<int>(of[r + 1] - of[r]); };
    for (std::size_t distance = 1; distance < size_; ++distance) {
      std::size_t source = (me_ + size_ - distance) % size_, target = (me_ + distance) % size_;
      MPI_Irecv(to + place[source] * block, length(place, source), block_.type, static_cast<int>(source), 0, comm_,
                &requests_[static_cast<std::size_t>(open++)]);
      MPI_Isend(from + first[target] * block, length(first, target), block_.type, static_cast<int>(target), 0, comm_,
                &requests_[static_cast<std::size_t>(open++)]);
    }
    std::copy(from + first[me_] * block, from + first[me_ + 1] * block, to + place[me_] * block);
    complete(open, requests_.data());
  }

  MPI_Comm comm_;
  std::size_t me_, size_;
  std::vector<MPI_Request> requests_;
  BlockType block_;
};

struct Turbulence {
  static constexpr bool whole = true;
  std::unique_ptr<Team> team;
  Request request;
  MessageLink link;
  Simulation<MessageLink> simulation;

  Turbulence(Params& p, Ranks& ranks)
      : team(team_of(ranks, p.count("threads", 1))),
        request(require_memory(p, ranks, *team)),
        link(ranks),
        simulation(request, static_cast<std::size_t>(ranks.size()), static_cast<std::size_t>(ranks.rank()), *team,
                   link) {}
  void prepare(std::size_t) {
    team->each([&](Worker w) { simulation.prepare(w); });
  }
  void run(std::size_t) {
    team->each([&](Worker w) { simulation.run(w); });
  }
  Work work() const { return simulation.work(); }
  Check check() { return simulation.check(); }
  void corrupt() { simulation.corrupt(); }
  std::string details() const { return simulation.details(); }

 private:
  static Request require_memory(Params& p, Ranks& ranks, Team& team) {
    Request request(p, "mpi");
    all_or_none(ranks, [&] {
      request.require(static_cast<std::size_t>(ranks.size()), static_cast<std::size_t>(ranks.rank()),
                      ranks.sharing_host(), team.size());
    });
    return request;
  }
};

}  // namespace

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<Turbulence>("flow")}); }
