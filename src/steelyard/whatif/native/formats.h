// Formats of other tools that cannot be read, by the first bytes of their files, with advice for each.
#pragma once
#include <string>
#include <string_view>

namespace steelyard::whatif {

constexpr std::size_t LOOK = 4096;  // B at the begin of a file that decide its format

// All readable formats, for the sentences that refuse another one.
extern const char* const READABLE;

// Returns the format of a file with this begin, such as "a trace of Paraver", and the advice after a '|'; "" if
// unknown.
std::string_view foreign(std::string_view begin);
// The sentences that refuse it.
std::string refusal(const std::string& path, std::string_view what);
std::string unknown(const std::string& path);

}  // namespace steelyard::whatif
