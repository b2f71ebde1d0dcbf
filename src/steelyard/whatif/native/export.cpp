// Reads a trace, and writes it in another format: export TRACE FLOPS FORMAT PATH. It answers each line of input once.
#include <filesystem>
#include <iostream>

#include "json.h"
#include "rank_files.h"
#include "reading.h"
#include "write_goal.h"
#include "write_paraver.h"
#include "write_perfetto.h"
#include "write_table.h"
#include "write_ti.h"

namespace steelyard::whatif {
namespace {

json::Object write(const std::string& trace, double speed, const std::string& format, const std::string& path) {
  const bool own = is_traced(trace), calls = format != "ti" && format != "goal";
  if (format == "rebuilt") {
    rebuild(trace, path);
    return json::Object();
  }
  if (calls && !own)
    throw Refused(
        "'" + trace +
        "' has no calls of a run. Only traces of steelyard trace and OTF2 archives can be exported in this format");
  Traced about;
  Timeline timeline;
  const bool drawn = format == "prv" || format == "perfetto";
  const Schedule schedule = own ? read_traced(trace, about, drawn ? &timeline : nullptr) : read_file(trace, speed);
  if (format == "ti" || format == "prv") std::filesystem::create_directory(path);
  std::uint64_t apart = 0;
  if (format == "ti") apart = write_ti(schedule, path);
  if (format == "goal") write_goal(schedule, path);
  if (format == "prv") write_paraver(timeline, path);
  if (format == "perfetto") write_perfetto(timeline, path);
  if (format == "table") write_table(trace, schedule.ranks, path);
  return json::Object().add("ranks", schedule.ranks).add("messages", schedule.source.size()).add("apart", apart);
}

std::string describe_failure(const char* why, bool machine = false) {
  return json::Object().add("error", json::text(why)).add("machine", static_cast<int>(machine)).str();
}

std::string answer(char** words) {
  try {
    return write(words[1], std::stod(words[2]), words[3], words[4]).str();
  } catch (const Refused& error) {
    return describe_failure(error.what());
  } catch (const Unwritable& error) {
    return describe_failure(error.what(), true);
  } catch (const std::filesystem::filesystem_error& error) {
    return describe_failure(error.what(), true);
  } catch (const std::bad_alloc&) {
    return describe_failure("the memory of this machine is too small for this trace", true);
  }
}

}  // namespace
}  // namespace steelyard::whatif

int main(int count, char** words) {
  if (count != 5) {
    std::cerr << "usage: export TRACE FLOPS ti|goal|prv|perfetto|table|rebuilt PATH\n";
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) std::cout << steelyard::whatif::answer(words) << std::endl;
  return 0;
}
