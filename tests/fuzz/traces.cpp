// libFuzzer's target: whatever a trace says, it is read and replayed in both modes, or refused with a sentence.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../../src/steelyard/native/json.cpp"
#include "../../src/steelyard/whatif/native/activity.cpp"
#include "../../src/steelyard/whatif/native/collectives.cpp"
#include "../../src/steelyard/whatif/native/dataflow.cpp"
#include "../../src/steelyard/whatif/native/events.cpp"
#include "../../src/steelyard/whatif/native/formats.cpp"
#include "../../src/steelyard/whatif/native/goal.cpp"
#include "../../src/steelyard/whatif/native/goal_order.cpp"
#include "../../src/steelyard/whatif/native/network.cpp"
#include "../../src/steelyard/whatif/native/perturbation.cpp"
#include "../../src/steelyard/whatif/native/readers.cpp"
#include "../../src/steelyard/whatif/native/schedule.cpp"
#include "../../src/steelyard/whatif/native/source.cpp"
#include "../../src/steelyard/whatif/native/text.cpp"
#include "../../src/steelyard/whatif/native/ti.cpp"

using namespace steelyard::whatif;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Schedule schedule = read("trace", {reinterpret_cast<const char*>(data), size}, 1e9).finish();
    Structure structure;
    structure.eager = 1000;
    const Prepared prepared = prepare(schedule, structure);
    Scenario scenario;
    scenario.across = scenario.within = {{0, 2'500'000, 1'500'000, 1'000'000, 7, 6000}};
    const auto flow = Dataflow<1, false>(prepared, nullptr, &scenario).run();
    if (Events(prepared, nullptr, scenario).run() < 0 || flow[0] < 0) std::abort();
  } catch (const Refused&) {
  }
  return 0;
}
