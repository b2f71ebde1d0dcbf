// FT by MPI ranks: planes of z and planes of y in turn, and between them everything goes from each rank to each.
#include <complex>

#include "proof.h"
#include "rank_kernel.h"

using namespace steelyard;
using namespace steelyard::npb;

struct FT {
  static constexpr bool whole = true;
  Problem problem;
  Ranks& ranks;
  const FtClass kind;
  MemoryPolicy policy;
  std::size_t me, size;
  Cube cube;
  Buffer<double> data, work_;
  std::vector<MPI_Request> requests;
  std::vector<std::complex<double>> mine;  // this rank's share of each checksum
  Checksums sums;
  Verification verified{0, {}};
  PhaseTimes phases;

  FT(Params& p, Ranks& r)
      : problem(p, "mpi", "SWABCD", Growth::doubled),
        ranks(r),
        kind(ft_class(problem)),
        policy(p),
        me(static_cast<std::size_t>(r.rank())),
        size(count_usable_ranks()),
        cube(kind, size, me),
        data(require_memory(), policy, r.team()),
        work_(cube.work(), policy, r.team()),
        requests(2 * size),
        phases(problem.phases, {"tables", "start", "lines", "exchange", "planes", "sums"}) {
    mine.reserve(kind.steps()), sums.reserve(kind.steps());
  }
  // Carries out NPB's untimed start: everything up to the transformed initial state.
  void prepare(std::size_t) {
    begin();
    transform_lines([&](std::size_t y, std::size_t x) { cube.forward_lines(y, x, work_.data()); });
    sums.clear();
  }
  void run(std::size_t) {
    phases.begin();
    mine.clear();
    begin();
    for (std::size_t step = 1; step <= kind.steps(); ++step) {
      transform_lines([&](std::size_t y, std::size_t x) {
        if (step == 1) cube.forward_lines(y, x, work_.data());
        cube.inverse_lines(y, x, work_.data());
      });
      drain_stores();
      cube.advance();
      phases.end_phase(2);
      exchange_segments(cube.layout.packed, cube.layout.planes);
      phases.end_phase(3);
      for (std::size_t z = 0; z < cube.layout.own_z; ++z) cube.transform_plane(z, work_.data());
      mine.push_back(cube.sum());
      phases.end_phase(4);
    }
    sums.resize(mine.size());
    reduce(mine.data(), sums.data(), 2 * mine.size(), ranks.comm());
    phases.end_phase(5);
  }
  Work work() const { return work_of(cube, kind); }
  Check check() {
    verified = kind.published || sums.empty() ? compare_published(kind, sums) : verify_invariants();
    return verified.check();
  }
  void corrupt() {
    cube.make_wrong();
    run(1);
  }
  std::string details() const { return details_of(problem, verified, phases).str(); }

 private:
  // Returns how many ranks can share the work: a power of two, and at most one rank for each plane.
  std::size_t count_usable_ranks() const {
    std::size_t most = std::min(kind.ny, kind.nz), count = static_cast<std::size_t>(ranks.size());
    if (count <= most && (count & (count - 1)) == 0) return count;
    std::string list;
    for (std::size_t n = 1; n <= most; n *= 2) list.append(n == 1 ? "" : ", ").append(std::to_string(n));
    throw CaseError(
        join({"ranks='", count, "' cannot be used by FT, whose ", problem.name(), " needs a power of two: ", list}));
  }
  std::size_t require_memory() const {
    problem.require(ranks.sharing_host() * (cube.layout.doubles + cube.work()) * sizeof(double));
    return cube.layout.doubles;
  }
  Verification verify_invariants() const {
    FtProof proof(kind, cube);
    std::vector<double> here = proof.sum_planes(0, cube.layout.own_z, 0, cube.layout.own_y), all(here.size());
    reduce(here.data(), all.data(), here.size(), ranks.comm());
    return proof.verification(sums, all);
  }
  // Computes the initial state, transforms it along x and y, and moves it to planes of y.
  void begin() {
    cube.start(data.data());
    phases.end_phase(0);
    for (std::size_t z = 0; z < cube.layout.own_z; ++z) cube.start_plane(z, work_.data());
    phases.end_phase(1);
    exchange_segments(cube.layout.planes, cube.layout.modes);
    phases.end_phase(3);
  }
  template <class Do>
  void transform_lines(Do what) {
    for (std::size_t y = 0; y < cube.layout.own_y; ++y)
      for (std::size_t x = 0; x < cube.layout.blocks(); ++x) what(y, x);
  }
  // Sends segment r of one array to rank r and receives its segment into the other; its own one is there already.
  void exchange_segments(std::size_t from, std::size_t to) {
    const Layout& l = cube.layout;
    int blocks = static_cast<int>(l.segment / block), open = 0;
    for (std::size_t distance = 1; distance < size; ++distance) {
      std::size_t source = (me + size - distance) % size, target = (me + distance) % size;
      MPI_Irecv(data.data() + to + source * l.segment, blocks, block_type.type, static_cast<int>(source), 0,
                ranks.comm(), &requests[static_cast<std::size_t>(open++)]);
      MPI_Isend(data.data() + from + target * l.segment, blocks, block_type.type, static_cast<int>(target), 0,
                ranks.comm(), &requests[static_cast<std::size_t>(open++)]);
    }
    complete(open, requests.data());
  }
  // Messages are counted in blocks: there may be more doubles in them than an int counts.
  struct BlockType {
    MPI_Datatype type;
    BlockType() { MPI_Type_contiguous(static_cast<int>(block), MPI_DOUBLE, &type), MPI_Type_commit(&type); }
    ~BlockType() { MPI_Type_free(&type); }
    BlockType(const BlockType&) = delete;
    BlockType& operator=(const BlockType&) = delete;
  } block_type;
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<FT>("ft")}); }
