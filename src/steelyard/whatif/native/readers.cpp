// Finds out which format a trace has.
#include "readers.h"

#include "formats.h"
#include "text.h"

namespace steelyard::whatif {

bool is_goal(std::string_view begin) {
  Lines lines("", begin);
  return lines.next() && (lines.words()[0] == "num_ranks" || lines.words()[0].starts_with("/*"));
}

Builder read(const std::string& path, std::string_view text, double speed) {
  const std::string_view begin = text.substr(0, LOOK);
  if (const std::string_view what = foreign(begin); !what.empty()) throw Refused(refusal(path, what));
  if (!Lines(path, text).next()) throw Refused("The trace '" + path + "' is empty");
  if (!is_goal(text)) return read_ti(path, text, speed);
  Source source(path, text);
  return read_goal(source);
}

Builder read_file(const std::string& path, double speed, std::optional<Digest::Value>* content) {
  Source source(path);
  const std::string begin = begin_of(path, LOOK);
  if (is_goal(begin) && foreign(begin).empty()) {
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
