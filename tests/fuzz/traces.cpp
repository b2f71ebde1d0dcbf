// libFuzzer's target: whatever a trace says, it is read and replayed in both modes, or refused with a sentence.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../../src/steelyard/measure/native/json.cpp"
#include "../../src/steelyard/whatif/native/events.h"
#include "../../src/steelyard/whatif/native/readers.h"

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
    if (Events(prepared, nullptr, scenario).run()[0] < 0 || flow[0] < 0) std::abort();
  } catch (const Refused&) {
  }
  return 0;
}
