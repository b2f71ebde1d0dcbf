// Finds out which format a trace has.
#include "readers.h"

#include <climits>

#include "text.h"

namespace steelyard::whatif {

Builder read(const std::string& path, std::string_view text, double speed) {
  Lines lines(path, text);
  if (!lines.next()) throw Refused("The trace '" + path + "' is empty");
  const std::string_view first = lines.words()[0];
  // A TI trace begins with a rank, or with the name of a rank's file.
  if (first.size() >= PATH_MAX || first.find('\0') != std::string_view::npos)
    throw Refused("The trace '" + path + "' is of no format that is known");
  return first == "num_ranks" ? read_goal(path, text) : read_ti(path, text, speed);
}

}  // namespace steelyard::whatif
