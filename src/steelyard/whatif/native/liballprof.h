// Liballprof's traces: text, one file a rank, a line a call.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::whatif {

// A file whose first line that is no comment is a call of MPI.
bool is_liballprof(const std::string& path);
// All ranks' files, by rank, of a folder or of one of them: their names differ in their last number. Empty where there
// are none; Refused where they are those of several traces, or one is missing.
std::vector<std::string> liballprof_files(const std::string& path);

// A rank's file: where it is, and what it holds.
struct RankText {
  std::string path;
  std::string_view text;
};
// The same as files of ours (../tracer/format.h), by rank. Ranks begin together, where their MPI_Init ends.
std::vector<std::string> translate(const std::vector<RankText>& ranks);
std::vector<std::string> translate(const std::vector<std::string>& paths);

}  // namespace steelyard::whatif
