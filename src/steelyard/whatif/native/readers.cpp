// Finds out which format a trace has.
#include "readers.h"

#include "formats.h"
#include "text.h"

namespace steelyard::whatif {

Builder read(const std::string& path, std::string_view text, double speed) {
  if (const std::string_view what = foreign(text.substr(0, LOOK)); !what.empty()) throw Refused(refusal(path, what));
  Lines lines(path, text);
  if (!lines.next()) throw Refused("The trace '" + path + "' is empty");
  return lines.words()[0] == "num_ranks" ? read_goal(path, text) : read_ti(path, text, speed);
}

}  // namespace steelyard::whatif
