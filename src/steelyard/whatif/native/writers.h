// The formats of traces that are written, for other tools.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string>

#include "timeline.h"

namespace steelyard::whatif {

// A text file. Refused where it cannot be written, at the latest when it is closed.
class Output {
 public:
  explicit Output(std::string path);
  ~Output();
  Output(const Output&) = delete;
  [[gnu::format(printf, 2, 3)]] void write(const char* format, ...);
  void raw(const std::string& bytes) { std::fwrite(bytes.data(), 1, bytes.size(), file_); }
  void close();

 private:
  const std::string path_;
  std::FILE* file_;
};

// SimGrid's time-independent traces: `folder`/trace names a file for each rank. Work counts 1 flop a ns. What several
// receives wait for at once while others stay open becomes one wait after the other; returned is how often.
std::uint64_t write_ti(const Schedule& schedule, const std::string& folder);
// GOAL: computations are whole ns, of which a rank's sum keeps the rest.
void write_goal(const Schedule& schedule, const std::string& path);
// Paraver: trace.prv, trace.pcf and trace.row in that folder.
void write_paraver(const Timeline& timeline, const std::string& folder);
// Perfetto, as JSON of trace events.
void write_perfetto(const Timeline& timeline, const std::string& path);

// A trace of ours as tables: records.csv and ranks.csv in that folder; and the files of ranks from such tables.
void write_table(const std::string& trace, std::uint32_t ranks, const std::string& folder);
void rebuild(const std::string& table, const std::string& folder);

// A number for each message, by which its two ranks know it among those from the one to the other.
std::vector<std::uint32_t> tags_of(const Schedule& schedule);

}  // namespace steelyard::whatif
