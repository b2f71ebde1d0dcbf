// Jacobi's iteration on a grid without borders, shared by four ranks: each step a rank sends its four edges to its two
// neighbours. Every rank checks its part against the whole grid's iteration by plain loops.
#include <cmath>

#include "rank_kernel.h"

using namespace steelyard;

class Stencil {
 public:
  Stencil(Params& params, Ranks& ranks) : edge_(params.count("edge", 192)), comm_(ranks.comm()), rank_(ranks.rank()) {
    if (ranks.size() != 4) throw CaseError("four ranks are needed");
    grid_.assign((edge_ + 2) * (edge_ + 2), 0), next_ = grid_;
    for (std::size_t y = 1; y <= edge_; ++y)
      for (std::size_t x = 1; x <= edge_; ++x) grid_[at(x, y)] = first(column() * edge_ + x - 1, row() * edge_ + y - 1);
    for (auto* border : {&west_, &east_, &from_west_, &from_east_}) border->resize(edge_);
  }
  void run(std::size_t operations) {
    for (std::size_t step = 0; step < operations; ++step) exchange(), relax();
    steps_ += operations;
  }
  Work work() const { return {}; }
  Check check() {
    std::size_t whole = 2 * edge_;
    std::vector<double> all(whole * whole), after(whole * whole);
    for (std::size_t y = 0; y < whole; ++y)
      for (std::size_t x = 0; x < whole; ++x) all[y * whole + x] = first(x, y);
    for (std::size_t step = 0; step < steps_; ++step, all.swap(after))
      for (std::size_t y = 0; y < whole; ++y)
        for (std::size_t x = 0; x < whole; ++x)
          after[y * whole + x] = 0.25 * (all[y * whole + (x + whole - 1) % whole] + all[y * whole + (x + 1) % whole] +
                                         all[(y + whole - 1) % whole * whole + x] + all[(y + 1) % whole * whole + x]);
    for (std::size_t y = 1; y <= edge_; ++y)
      for (std::size_t x = 1; x <= edge_; ++x)
        if (grid_[at(x, y)] != all[(row() * edge_ + y - 1) * whole + column() * edge_ + x - 1])
          return {false, "a value differs from the iteration by plain loops"};
    return {true, "all values are those of the iteration by plain loops"};
  }
  void corrupt() { grid_[at(1, 1)] += 1; }

 private:
  static double first(std::size_t x, std::size_t y) { return std::sin(0.1 * static_cast<double>(x * y % 97)); }
  std::size_t at(std::size_t x, std::size_t y) const { return y * (edge_ + 2) + x; }
  std::size_t column() const { return static_cast<std::size_t>(rank_ & 1); }
  std::size_t row() const { return static_cast<std::size_t>(rank_ >> 1); }

  void exchange() {
    for (std::size_t y = 0; y < edge_; ++y) west_[y] = grid_[at(1, y + 1)], east_[y] = grid_[at(edge_, y + 1)];
    int beside = rank_ ^ 1, above = rank_ ^ 2, count = static_cast<int>(edge_);
    MPI_Request all[8];
    MPI_Irecv(from_east_.data(), count, MPI_DOUBLE, beside, 0, comm_, &all[0]);
    MPI_Irecv(from_west_.data(), count, MPI_DOUBLE, beside, 1, comm_, &all[1]);
    MPI_Irecv(&grid_[at(1, edge_ + 1)], count, MPI_DOUBLE, above, 2, comm_, &all[2]);
    MPI_Irecv(&grid_[at(1, 0)], count, MPI_DOUBLE, above, 3, comm_, &all[3]);
    MPI_Isend(west_.data(), count, MPI_DOUBLE, beside, 0, comm_, &all[4]);
    MPI_Isend(east_.data(), count, MPI_DOUBLE, beside, 1, comm_, &all[5]);
    MPI_Isend(&grid_[at(1, 1)], count, MPI_DOUBLE, above, 2, comm_, &all[6]);
    MPI_Isend(&grid_[at(1, edge_)], count, MPI_DOUBLE, above, 3, comm_, &all[7]);
    complete(8, all);
    for (std::size_t y = 0; y < edge_; ++y)
      grid_[at(0, y + 1)] = from_west_[y], grid_[at(edge_ + 1, y + 1)] = from_east_[y];
  }
  void relax() {
    for (std::size_t y = 1; y <= edge_; ++y)
      for (std::size_t x = 1; x <= edge_; ++x)
        next_[at(x, y)] =
            0.25 * (grid_[at(x - 1, y)] + grid_[at(x + 1, y)] + grid_[at(x, y - 1)] + grid_[at(x, y + 1)]);
    grid_.swap(next_);
  }

  std::size_t edge_, steps_ = 0;
  MPI_Comm comm_;
  int rank_;
  std::vector<double> grid_, next_, west_, east_, from_west_, from_east_;
};

int main(int argc, char** argv) { return serve_ranks(argc, argv, {rank_kernel<Stencil>("stencil")}); }
