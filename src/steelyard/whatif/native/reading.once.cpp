// Reads traces of all formats.
#include "reading.h"

#include "early.h"
#include "rank_files.h"
#include "readers.h"
#include "traced_needs.h"
#include "traced_programs.h"

namespace steelyard::whatif {
namespace {

// Finds the last call of the ranks that wait for a message that never came.
void end_early(Builder& out, const std::vector<std::vector<std::size_t>>& lengths, Traced& about) {
  const auto left = out.end_early();
  for (std::uint32_t rank = 0; rank < left.size(); ++rank) {
    if (left[rank] == Builder::WHOLE) continue;
    const auto& ends = lengths[rank];
    const auto call = static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), left[rank]) - ends.begin());
    std::erase_if(about.broken, [&](const Broken& b) { return b.rank == rank; });
    about.broken.push_back({rank, call + 1, "it waits for a message that never came"});
  }
  std::sort(about.broken.begin(), about.broken.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
}

}  // namespace

// Reads each rank's file twice, once for what others must know of it, once for its program.
Schedule read_traced(const std::string& path, Traced& about, Timeline* timeline,
                     std::optional<trace::Collective> iterations, bool without_waits) {
  const RankFiles ranks(path);
  const std::size_t files = ranks.size();
  Shared shared;
  shared.iterations = iterations;
  shared.without_waits = about.without_waits = without_waits;
  std::vector<Outcomes> outcomes(files);
  Span span;
  for (std::uint32_t rank = 0; rank < files; ++rank) {
    RankFile file = ranks.of(rank);
    if (file.header.ranks != files)
      throw Refused("The trace in '" + ranks.path() + "' has files of " + std::to_string(files) +
                    " ranks, but the file of rank " + std::to_string(rank) + " was written by a run with " +
                    std::to_string(file.header.ranks));
    learn(shared, file, outcomes[rank], about, span);
  }
  about.time = std::max(span.end - span.begin, 0.0) * 1e-9;
  Builder out(files);
  std::vector<std::vector<std::size_t>> lengths(about.broken.empty() ? 0 : files);
  for (std::uint32_t rank = 0; rank < files; ++rank) {
    RankFile file = ranks.of(rank);
    Timeline::OfRank* line = timeline ? &timeline->ranks.emplace_back() : nullptr;
    if (line) line->host.assign(file.header.host, strnlen(file.header.host, sizeof file.header.host));
    write_program(shared, file, outcomes[rank], out.rank(rank), span, about.measured,
                  lengths.empty() ? nullptr : &lengths[rank], line);
  }
  for (const Time waiting : about.measured.waiting)
    about.waiting = std::max(about.waiting, static_cast<double>(waiting) * 1e-12);
  if (!about.broken.empty()) end_early(out, lengths, about);
  return out.finish();
}

Schedule read_file(const std::string& path, double speed, std::optional<Digest::Value>* content) {
  Source source(path);
  const std::string begin = begin_of(path, LOOK);
  expect_trace(path, begin);
  if (is_goal(begin)) {
    Builder found = read_goal(source);
    if (content) *content = source.content();
    return found.finish();
  }
  const std::string text = contents(path);
  if (content && is_ti(begin)) {
    Digest digest;
    digest.add(text);
    *content = digest.value();
  }
  return read(path, text, speed).finish();
}

}  // namespace steelyard::whatif
