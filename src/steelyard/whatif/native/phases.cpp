// Counts the computing phases of a schedule.
#include "phases.h"

#include <algorithm>
#include <cmath>

#include "json.h"

namespace steelyard::whatif {
namespace {

std::size_t bin(Time time) {
  const double place = std::log10(static_cast<double>(time) / NANOSECOND) * Phases::BINS;
  return place > 0 ? static_cast<std::size_t>(place) : 0;
}

// Each phase of each rank. What follows computing without a call between is the same phase.
template <class Act>
void each(const Schedule& schedule, const Measured& measured, Act act) {
  for (std::size_t stream = 0; stream < schedule.begins.size(); ++stream) {
    const std::uint32_t rank = schedule.rank_of[stream];
    const bool first = stream == 0 || schedule.rank_of[stream - 1] != rank;
    Time time = first && rank < measured.starts.size() ? -measured.starts[rank] : 0;
    for (const Op* op = &schedule.ops[schedule.begins[stream]];; ++op) {
      if (op->kind() == Kind::compute) {
        time += static_cast<Time>(op->value());
        continue;
      }
      if (time > 0) act(rank, time);
      time = 0;
      if (op->kind() == Kind::end) break;
    }
  }
}

void find_outliers(const Schedule& schedule, const Measured& measured, std::vector<std::size_t> longest, Phases& out) {
  const auto middle = longest.begin() + static_cast<std::ptrdiff_t>((longest.size() - 1) / 2);
  std::nth_element(longest.begin(), middle, longest.end());
  out.limit = *middle + 1;
  std::uint32_t last = schedule.ranks;
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    if (bin(time) < out.limit) return;
    ++out.outliers;
    out.outlying += static_cast<double>(time);
    out.outlying_ranks += last != rank;
    last = rank;
  });
  for (const Interrupted& one : measured.interrupted) {
    out.waited += static_cast<double>(one.waited);
    out.explained += bin(one.time) >= out.limit && bin(one.time - one.waited) < out.limit;
  }
}

}  // namespace

Phases phases(const Schedule& schedule, const Measured& measured, std::uint32_t most_rows) {
  Phases out;
  out.together = std::max<std::uint32_t>((schedule.ranks + most_rows - 1) / most_rows, 1);
  out.rows.resize((schedule.ranks + out.together - 1) / out.together);
  std::vector<std::size_t> longest(schedule.ranks);
  out.first = ~std::size_t{0};
  std::size_t bins = 0;
  each(schedule, measured, [&](std::uint32_t rank, Time time) {
    const std::size_t at = bin(time);
    auto& row = out.rows[rank / out.together];
    if (row.size() <= at) row.resize(at + 1);
    ++row[at];
    ++out.count;
    out.computing += static_cast<double>(time);
    longest[rank] = std::max(longest[rank], at);
    out.first = std::min(out.first, at);
    bins = std::max(bins, at + 1);
  });
  out.first = std::min(out.first, bins);
  for (auto& row : out.rows) {
    row.resize(bins);
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(out.first));
  }
  if (out.count) find_outliers(schedule, measured, std::move(longest), out);
  return out;
}

std::string said(const Phases& phases) {
  std::string rows;
  for (const auto& row : phases.rows) rows += (rows.empty() ? "" : ",") + json::list(row);
  return json::Object()
      .add("count", phases.count)
      .add("computing", phases.computing)
      .add("waited", phases.waited)
      .add("outliers", phases.outliers)
      .add("explained", phases.explained)
      .add("outlying", phases.outlying)
      .add("outlying_ranks", phases.outlying_ranks)
      .add("bins", Phases::BINS)
      .add("first", phases.first)
      .add("limit", phases.limit)
      .add("together", phases.together)
      .add("rows", "[" + rows + "]")
      .str();
}

}  // namespace steelyard::whatif
