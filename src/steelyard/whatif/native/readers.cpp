// Finds out which format a trace has.
#include "readers.h"

#include "formats.h"
#include "text.h"

namespace steelyard::whatif {

bool is_goal(std::string_view begin) {
  Lines lines("", begin);
  return lines.next() && (lines.words()[0] == "num_ranks" || lines.words()[0].starts_with("/*"));
}

namespace {

// Refuses what its begin shows to be no trace, before the rest is read.
void expect_trace(const std::string& path, std::string_view begin) {
  if (const std::string_view what = foreign(begin); !what.empty()) throw Refused(refusal(path, what));
  if (begin.find('\0') != std::string_view::npos) throw Refused(unknown(path));
}

}  // namespace

Builder read(const std::string& path, std::string_view text, double speed) {
  expect_trace(path, text.substr(0, LOOK));
  if (!Lines(path, text).next()) throw Refused("The trace '" + path + "' is empty");
  if (!is_goal(text)) return read_ti(path, text, speed);
  Source source(path, text);
  return read_goal(source);
}

Builder read_file(const std::string& path, double speed, std::optional<Digest::Value>* content) {
  Source source(path);
  const std::string begin = begin_of(path, LOOK);
  expect_trace(path, begin);
  if (is_goal(begin)) {
    Builder found = read_goal(source);
    if (content) *content = source.content();
    return found;
  }
  const std::string text = contents(path);
  if (content && is_ti(begin)) {
    Digest digest;
    digest.add(text);
    *content = digest.value();
  }
  return read(path, text, speed);
}

}  // namespace steelyard::whatif
