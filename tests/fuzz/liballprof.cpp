// libFuzzer's target: whatever Liballprof's files of two ranks say, they are read and replayed in both modes, or
// refused with a sentence. The first two bytes are the length of rank 0's file; the rest is rank 1's.
#include "../../src/steelyard/whatif/native/liballprof.cpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../../src/steelyard/native/json.cpp"
#include "../../src/steelyard/whatif/native/activity.cpp"
#include "../../src/steelyard/whatif/native/collectives.cpp"
#include "../../src/steelyard/whatif/native/dataflow.cpp"
#include "../../src/steelyard/whatif/native/early.cpp"
#include "../../src/steelyard/whatif/native/events.cpp"
#include "../../src/steelyard/whatif/native/formats.cpp"
#include "../../src/steelyard/whatif/native/liballprof_calls.cpp"
#include "../../src/steelyard/whatif/native/liballprof_names.cpp"
#include "../../src/steelyard/whatif/native/network.cpp"
#include "../../src/steelyard/whatif/native/perturbation.cpp"
#include "../../src/steelyard/whatif/native/phases.cpp"
#include "../../src/steelyard/whatif/native/rank_files.cpp"
#include "../../src/steelyard/whatif/native/schedule.cpp"
#include "../../src/steelyard/whatif/native/text.cpp"
#include "../../src/steelyard/whatif/native/traced.cpp"
#include "../../src/steelyard/whatif/native/traced_collectives.cpp"
#include "../../src/steelyard/whatif/native/traced_needs.cpp"
#include "../../src/steelyard/whatif/native/traced_programs.cpp"

using namespace steelyard::whatif;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t first = std::min<std::size_t>(data[0] | data[1] << 8, size - 2);
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  try {
    const RankFiles files("trace", translate({{"0", text.substr(0, first)}, {"1", text.substr(first)}}));
    Traced about;
    const Schedule schedule = read_traced(files, about).finish();
    Structure structure;
    structure.eager = 1000;
    const Prepared prepared = prepare(schedule, structure);
    Scenario scenario;
    scenario.across = scenario.within = {{0, 2'500'000, 1'500'000, 1'000'000, 7, 6000}};
    const auto flow = Dataflow<1, false>(prepared, nullptr, &scenario).run();
    if (Events(prepared, nullptr, scenario).run() < 0 || flow[0] < 0 || said(about).empty()) std::abort();
  } catch (const Refused& refusal) {
    // A refusal of the translated files, by byte, would be a mistake of the translation.
    if (std::string_view(refusal.what()).find(", byte ") != std::string_view::npos) std::abort();
  }
  return 0;
}
