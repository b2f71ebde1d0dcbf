// A sparse matrix times a vector: by threads, by a device, or by both.
#include "modes.h"
#include "sparse.h"

using namespace steelyard;

struct Spmv {
  static constexpr std::size_t phases = 1, rows_together = SparseStrips::rows_together, group = 128, streamed = 1024;
  // A work group multiplies the entries of a block of short rows into local memory. Then an equal share of its work
  // items sums each row. A long row is a block of its own (J. Greathouse and M. Daga, SC 2014).
  static constexpr const char* program = R"(
    KERNEL_OF(128, multiply)(GLOBAL double* restrict y, GLOBAL const double* restrict values, GLOBAL const uint* restrict columns,
                  GLOBAL const uint* restrict starts, GLOBAL const double* restrict x,
                  GLOBAL const uint* restrict blocks) {
      local double products[1024], sums[128];
      const uint item = get_local_id(0), block = get_global_id(0) / 128;
      const uint first = blocks[block], rows = blocks[block + 1] - first;
      const uint from = starts[first], to = starts[first + rows];
      uint each = 128;
      while (each * rows > 128) each /= 2;
      const uint row = item / each, lane = item % each;
      double sum = 0;
      if (rows == 1) {
        for (uint k = from + item; k < to; k += 128) sum = fma(values[k], x[columns[k]], sum);
      } else {
        for (uint k = from + item; k < to; k += 128) products[k - from] = values[k] * x[columns[k]];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row < rows)
          for (uint k = starts[first + row] + lane; k < starts[first + row + 1]; k += each) sum += products[k - from];
      }
      sums[item] = sum;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint apart = each / 2; apart > 0; apart /= 2) {
        if (lane < apart) sums[item] += sums[item + apart];
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (lane == 0 && row < rows) y[first + row] = sums[item];
    }
    #ifdef PROCESSOR
    // Each work item multiplies 1024 consecutive rows.
    kernel void multiply_rows(GLOBAL double* restrict y, GLOBAL const double* restrict values,
                              GLOBAL const uint* restrict columns, GLOBAL const uint* restrict starts,
                              GLOBAL const double* restrict x, uint n) {
      const uint first = get_global_id(0) * 1024, last = min(first + 1024, n);
      for (uint row = first; row < last; ++row) {
        uint k = starts[row], to = starts[row + 1];
        double4 four = 0;
        double sum = 0;
        for (; k + 4 <= to; k += 4) {
          double4 at = (double4)(x[columns[k]], x[columns[k + 1]], x[columns[k + 2]], x[columns[k + 3]]);
          four = fma(vload4(0, values + k), at, four);
        }
        for (; k < to; ++k) sum = fma(values[k], x[columns[k]], sum);
        y[row] = sum + ((four.x + four.y) + (four.z + four.w));
      }
    }
    #endif)";
  std::size_t elements;
  MemoryPolicy policy;
  PowerLaw matrix;
  Team& team;
  Buffer<std::uint32_t> starts;
  std::size_t entries;
  SparseStrips strips;
  Buffer<double> x, y;
  std::unique_ptr<Buffer<std::uint32_t>> columns;  // these two only where a device wants compressed rows (CSR)
  std::unique_ptr<Buffer<double>> values;
  std::vector<std::uint32_t> blocks, block_of;  // first rows of the device's blocks; first blocks of `rows_together`
  accelerator::Device* on = nullptr;
  std::vector<std::unique_ptr<accelerator::Buffer>> there;

  Spmv(Params& p, Team& t)
      : elements(p.count("elements", std::size_t{1} << 20)),
        policy(p),
        matrix(elements),
        team(t),
        starts(elements + 1, policy, team),
        entries(lay_out()),
        strips(matrix, starts.data(), elements, policy, team),
        x(elements, policy, team),
        y(elements, policy, team) {
    team.each([&](Worker w) {
      auto [from, to] = w.part(elements);
      for (std::size_t i = from; i < to; ++i) x[i] = shift + second_factor(i);
    });
    spoil_results(team);
  }
  // Where each row begins; the number of all entries.
  std::size_t lay_out() {
    if (elements > std::size_t{1} << 27)
      throw CaseError(join({"parameter elements='", elements,
                            "' must be at most 2^27: entries are "
                            "numbered with 32 bits"}));
    team.each([&](Worker w) {
      auto [first, last] = w.part(elements);
      for (std::size_t row = first; row < last; ++row) starts[row + 1] = static_cast<std::uint32_t>(matrix.length(row));
    });
    starts[0] = 0;
    for (std::size_t row = 0; row < elements; ++row) starts[row + 1] += starts[row];
    return starts[elements];
  }
  void spoil_results(Team& t) {
    spoil(y, t, -1.0);
    if (on) there[0]->write();
  }
  std::size_t count_pieces(std::size_t) const { return elements; }
  std::size_t share_granularity() const { return rows_together; }
  void run_on_threads(Worker w, std::size_t, std::size_t first, std::size_t last) {
    auto [from, to] = strips.part(w, window(first), window(last));
    strips.multiply(y.data(), x.data(), from, to);
  }
  static std::size_t window(std::size_t row) { return (row + rows_together - 1) / rows_together; }
  void open_device(accelerator::Device& device) {
    on = &device;
    device.build(program);
    compress_for_device();
    cut_blocks();
    auto give = [&](auto* data, std::size_t count) {
      there.push_back(std::make_unique<accelerator::Buffer>(device, data, count * sizeof *data));
      there.back()->write();
    };
    give(y.data(), elements), give(values->data(), entries), give(columns->data(), entries);
    give(starts.data(), elements + 1), give(x.data(), elements), give(blocks.data(), blocks.size());
  }
  void compress_for_device() {
    columns = std::make_unique<Buffer<std::uint32_t>>(entries, policy, team);
    values = std::make_unique<Buffer<double>>(entries, policy, team);
    team.each([&](Worker w) {
      auto [first, last] = w.part(elements);
      for (std::size_t row = first; row < last; ++row)
        matrix.each(row, starts[row + 1] - starts[row], [&](std::size_t k, std::size_t column, double value) {
          (*columns)[starts[row] + k] = static_cast<std::uint32_t>(column), (*values)[starts[row] + k] = value;
        });
    });
  }
  void cut_blocks() {
    blocks.clear(), block_of.clear();
    for (std::size_t row = 0, begin = 0; row <= elements; ++row) {
      bool border = row % rows_together == 0 || row == elements;
      auto is_long = [&](std::size_t r) { return starts[r + 1] - starts[r] > group; };
      bool full =
          row < elements && row > begin &&
          (row - begin == group || starts[row + 1] - starts[begin] > streamed || is_long(row) || is_long(row - 1));
      if (row % rows_together == 0) block_of.push_back(static_cast<std::uint32_t>(blocks.size()));
      if (border || full) blocks.push_back(static_cast<std::uint32_t>(row)), begin = row;
    }
    if (elements % rows_together != 0) block_of.push_back(static_cast<std::uint32_t>(blocks.size() - 1));
  }
  void queue(std::size_t, std::size_t first, std::size_t last) {
    if (on->is_processor)
      return on->run("multiply_rows", window(first), window(last), 1, there[0]->handle(), there[1]->handle(),
                     there[2]->handle(), there[3]->handle(), there[4]->handle(), static_cast<std::uint32_t>(elements));
    std::size_t from = block_of[window(first)], to = block_of[window(last)];
    on->run("multiply", from * group, to * group, group, there[0]->handle(), there[1]->handle(), there[2]->handle(),
            there[3]->handle(), there[4]->handle(), there[5]->handle());
  }
  void exchange_results(std::size_t, std::size_t) {}
  void fetch(std::size_t share) { there[0]->read(0, share * sizeof(double)); }
  Work work() const {
    double n = static_cast<double>(elements), all = static_cast<double>(entries);
    return {{"flops", 2 * all}, {"bytes", 12 * all + 18 * n}, {"bytes_moved", 12 * all + 26 * n}, {"entries", all}};
  }
  void corrupt() { y[elements / 3] += 1; }

  // The vector is 2^26 times the ones, and a second one that is different everywhere (below 2^10): of each result the
  // upper part is the row's sum, the lower part (below 2^25) tells whether each entry met its own column. All is exact.
  static constexpr double shift = 0x1p26;
  static double second_factor(std::size_t column) { return static_cast<double>(scatter_index(column) >> 54); }
  Check check() {
    std::size_t sums = 0, seconds = 0, found = 0;
    for (std::size_t row = 0; row < elements; ++row) {
      double ones = 0, other = 0;
      matrix.each(row, matrix.length(row), [&](std::size_t, std::size_t column, double value) {
        ones += value, other += value * second_factor(column), ++found;
      });
      double upper = std::floor(y[row] / shift);
      sums += upper != ones, seconds += y[row] - upper * shift != other;
    }
    return {sums + seconds == 0 && found == entries,
            join({sums, " of ", elements, " row sums are wrong, and ", seconds, " products with the second vector (",
                  entries, " entries)"})};
  }
};

int main() { return serve({kernel<Modes<Spmv>>("spmv")}); }
