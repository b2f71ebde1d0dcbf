// Formats of other tools that are not read, by how their files begin, and what a user can do with them.
#pragma once
#include <string>
#include <string_view>

namespace steelyard::whatif {

constexpr std::size_t LOOK = 4096;  // B: so much of a file says which format it has

// All formats that are read, for a sentence that refuses another one.
extern const char* const READABLE;

// What a file is that begins so, as "a trace of Paraver", with what to do after a '|'; "" where that is not known.
std::string_view foreign(std::string_view begin);
// The sentences that refuse it.
std::string refusal(const std::string& path, std::string_view what);
std::string unknown(const std::string& path);

}  // namespace steelyard::whatif
