// libFuzzer's target: whatever the files of two traced ranks say, they are read and replayed in both modes, or refused
// with a sentence. The first two bytes are the length of rank 0's file; the rest is rank 1's.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "../../src/steelyard/measure/native/json.cpp"
#include "../../src/steelyard/whatif/native/events.h"
#include "../../src/steelyard/whatif/native/excerpt.h"
#include "../../src/steelyard/whatif/native/phases.h"
#include "../../src/steelyard/whatif/native/reading.once.cpp"

using namespace steelyard::whatif;

namespace {

// In memory that looks like files: /dev/shm.
struct Folder {
  std::string path = "/dev/shm/steelyard-fuzz-" + std::to_string(getpid());
  int files[2];
  Folder() {
    std::filesystem::create_directory(path);
    for (int i = 0; i < 2; ++i)
      files[i] = open((path + "/rank-" + std::to_string(i) + ".trace").c_str(), O_RDWR | O_CREAT, 0600);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(int rank, const std::uint8_t* data, std::size_t size) const {
    const auto length = static_cast<ssize_t>(size);
    if (ftruncate(files[rank], 0) != 0 || pwrite(files[rank], data, size, 0) != length) std::abort();
  }
};

// What can be replayed as a whole can be replayed in part: borders make nobody wait for ever.
void replay_part(const Schedule& whole, const Structure& structure, const Scenario& scenario) {
  for (std::uint64_t last : {std::uint64_t{0}, std::uint64_t{3}}) {
    Excerpt about{last, 3};
    Schedule part;
    try {
      part = excerpt(whole, about);
    } catch (const Refused&) {
      continue;  // it has no such region
    }
    try {
      const Prepared prepared = prepare(part, structure);
      Dataflow<1, false>(prepared, nullptr, &scenario).run();
      Events(prepared, nullptr, scenario).run();
    } catch (const Refused&) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  if (size < 2) return 0;
  const std::size_t first = std::min<std::size_t>(data[0] | data[1] << 8, size - 2);
  folder.write(0, data + 2, first);
  folder.write(1, data + 2 + first, size - 2 - first);
  try {
    Traced about;
    const Schedule schedule = read_traced(folder.path, about);
    Structure structure;
    structure.eager = 1000;
    const Prepared prepared = prepare(schedule, structure);
    Scenario scenario;
    scenario.across = scenario.within = {{0, 2'500'000, 1'500'000, 1'000'000, 7, 6000}};
    const auto flow = Dataflow<1, false>(prepared, nullptr, &scenario).run();
    if (Events(prepared, nullptr, scenario).run()[0] < 0 || flow[0] < 0 || said(about).empty()) std::abort();
    replay_part(schedule, structure, scenario);
    if (said(phases(schedule, about.measured, 64)).empty()) std::abort();
  } catch (const Refused&) {
  }
  return 0;
}
