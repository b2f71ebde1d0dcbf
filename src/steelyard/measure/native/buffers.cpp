// Maps memory, asks where it lies, and keeps it for the next case.
#include "buffers.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace steelyard {

MemoryPolicy::MemoryPolicy(Params& p)
    : pages(p.choice("page_size", "default", {"default", "4k", "transparent", "huge"})), memory(read_policy(p)) {}

std::string read_policy(Params& p) {
  std::string policy = p.word("memory_policy", "local");
  if (policy != "local" && policy != "interleave" && policy.rfind("bind:", 0) != 0)
    throw CaseError(join({"parameter memory_policy='", policy, "' must be local, interleave or bind:NODE"}));
  return policy;
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::size_t available_memory() {
  std::size_t available = ~std::size_t{0};
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    unsigned long kilobytes;
    if (std::sscanf(line.c_str(), "MemAvailable: %lu kB", &kilobytes) == 1) available = kilobytes * 1024;
  }
  const char* allowed = std::getenv("STEELYARD_MEMORY");
  return allowed ? std::min<std::size_t>(available, std::strtoull(allowed, nullptr, 10)) : available;
}

namespace {

[[gnu::cold]] void refuse(std::size_t bytes, const MemoryPolicy& policy) {
  std::string why = std::strerror(errno);
  if (policy.pages == "huge")
    throw CaseError(join({"page_size='huge': ", bytes / large_page, " pages of 2 MiB are needed, but the system has ",
                          first_line("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"), " free (", why,
                          "). Reserve them as root: echo ", bytes / large_page,
                          " > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"}));
  throw CaseError(join({"cannot map ", bytes, " bytes of memory: ", why}));
}

// The nodes of main memory, "0,8-9": without those of GPUs and other devices where the one who starts this process has
// told them.
std::string list_main_nodes() {
  const char* told = std::getenv("STEELYARD_NODES");
  return told && *told ? told : first_line("/sys/devices/system/node/has_memory");
}

// Calls `system_call` with the mode, the nodes as a mask, and the bits of this mask, all as mbind(2) and
// set_mempolicy(2) want them: by their numbers no library is needed, and no root.
void set_policy(const std::string& policy, const std::function<long(int, unsigned long*, std::size_t)>& system_call) {
  if (policy == "local") return;
  constexpr int bind = 2, interleave = 3;  // MPOL_BIND, MPOL_INTERLEAVE of <linux/mempolicy.h>
  unsigned long mask[16] = {};
  constexpr std::size_t most = sizeof mask * 8;
  auto add = [&](std::size_t node) {
    if (node < most) mask[node / 64] |= 1ul << (node % 64);
  };
  if (policy == "interleave") {
    std::istringstream ranges(list_main_nodes());
    for (std::string range; std::getline(ranges, range, ',');) {
      std::size_t dash = range.find('-'), low = std::stoul(range),
                  high = dash == std::string::npos ? low : std::stoul(range.substr(dash + 1));
      for (std::size_t n = low; n <= high; ++n) add(n);
    }
  } else {
    std::size_t node = 0;
    std::string name = policy.substr(5);
    if (name.empty() || std::from_chars(name.data(), name.data() + name.size(), node).ptr != name.data() + name.size())
      throw CaseError(join({"parameter memory_policy='", policy, "' must name a node, as in bind:0"}));
    add(node);
  }
  if (system_call(policy == "interleave" ? interleave : bind, mask, most) != 0)
    throw CaseError(join({"memory_policy='", policy, "': the system rejects it (", std::strerror(errno),
                          "). Nodes with memory: ", first_line("/sys/devices/system/node/has_memory")}));
}

std::vector<int> nodes_of(const Mappings::Mapping& m) {
  constexpr std::size_t most = 64;  // pages asked about: enough for shares to a few percent
  std::size_t pages = std::max<std::size_t>(1, m.wanted / small_page), step = std::max<std::size_t>(1, pages / most);
  std::vector<void*> addresses;
  // One page of each stretch, now here, now there (7919 is a prime): every 32nd page of interleaved memory is on one
  // node.
  for (std::size_t i = 0; i * step < pages && i < most; ++i)
    addresses.push_back(m.start + std::min(pages - 1, i * step + i * 7919 % step) * small_page);
  for (auto& a : addresses) a = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(a) / small_page * small_page);
  std::vector<int> status(addresses.size(), -1);
  if (syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, status.data(), 0) != 0) return {};
  return status;
}

}  // namespace

ThreadMemory::ThreadMemory(const std::string& policy) {
  set_policy(policy, [](int mode, unsigned long* nodes, std::size_t most) {
    return syscall(SYS_set_mempolicy, mode, nodes, most);
  });
}

ThreadMemory::~ThreadMemory() {
  syscall(SYS_set_mempolicy, 0, nullptr, 0);  // MPOL_DEFAULT
}

Mappings& Mappings::get() {
  static Mappings all;
  return all;
}

Mappings::Mapping& Mappings::take(std::size_t wanted, const MemoryPolicy& policy, const std::string& toucher) {
  std::string key = join({policy.key(), "/", toucher});
  for (auto& m : all_)
    if (!m.used && m.wanted == wanted && m.key == key) {
      m.used = true;
      return m;
    }
  forget_unused();
  return create(wanted, policy, key);
}

bool Mappings::only_small() const {
  const auto used = [](const Mapping& m) { return m.used; };
  const auto large = [](const Mapping& m) { return m.used && m.wanted >= large_page; };
  return std::ranges::any_of(all_, used) && std::ranges::none_of(all_, large);
}

[[gnu::cold]] std::string Mappings::report() const {
  std::map<int, std::size_t> nodes;
  std::size_t sampled = 0, bytes = 0;
  for (const auto& m : all_) {
    if (!m.used || m.wanted < large_page) continue;
    bytes += m.bytes;
    for (int node : nodes_of(m)) {
      if (node < 0) continue;
      ++nodes[node];
      ++sampled;
    }
  }
  if (bytes == 0) return "null";
  json::Object shares;
  for (auto [node, count] : nodes)
    shares.add(std::to_string(node), json::number(static_cast<double>(count) / static_cast<double>(sampled)));
  return json::Object()
      .add("nodes", shares.str())
      .add("huge", static_cast<double>(huge_bytes()) / static_cast<double>(bytes))
      .add("bytes", bytes)
      .str();
}

void Mappings::forget_unused() {
  all_.remove_if([](const Mapping& m) {
    if (!m.used) munmap(m.base, m.bytes);
    return !m.used;
  });
}

Mappings::Mapping& Mappings::create(std::size_t wanted, const MemoryPolicy& policy, const std::string& key) {
  // Arrays that begin at the same place in their pages collide (4 KiB aliasing, bank conflicts): each begins
  // 17 lines after the last one's place.
  std::size_t stagger = staggers_++ % 16 * 17 * 64;
  std::size_t bytes = (wanted + stagger + large_page - 1) / large_page * large_page;
  if (std::size_t available = available_memory(); bytes > available)
    throw CaseError(join(
        {"not enough memory: ", bytes >> 20, " MiB more are needed, but ", available >> 20, " MiB are available"}));
  bool huge = policy.pages == "huge";
  // Explicit huge pages are reserved at once, so that a lack of them is an error here and not a signal at first
  // touch; 21 is log2 of 2 MiB, as MAP_HUGE_SHIFT wants it.
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB | (21 << 26) : MAP_NORESERVE);
  std::size_t spare = huge ? 0 : large_page;  // so that the start can be put on a large page's border
  void* raw = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (raw == MAP_FAILED) refuse(bytes, policy);
  char* base = static_cast<char*>(raw);
  char* aligned = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(base) + spare) / large_page * large_page);
  if (policy.pages == "4k") madvise(aligned, bytes, MADV_NOHUGEPAGE);
  if (policy.pages == "transparent" && madvise(aligned, bytes, MADV_HUGEPAGE) != 0)
    throw CaseError(join({"page_size='transparent': the system has no transparent huge pages (", std::strerror(errno),
                          "). Use another page_size"}));
  all_.push_back({base, bytes + spare, aligned + stagger, wanted, key, true, false});
  set_policy(policy.memory, [=](int mode, unsigned long* nodes, std::size_t most) {
    return syscall(SYS_mbind, aligned, bytes, mode, nodes, most, 0);
  });
  return all_.back();
}

// Of each mapping in use the AnonHugePages and hugetlb bytes of the area that holds its start, from one look at
// smaps.
std::size_t Mappings::huge_bytes() const {
  std::ifstream smaps("/proc/self/smaps");
  const Mapping* inside = nullptr;
  std::map<const Mapping*, std::size_t> found;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long low, high, kilobytes;
    // A line of an area begins with its addresses, all others with a name in capitals.
    if (!line.empty() && !(line[0] >= 'A' && line[0] <= 'Z') &&
        std::sscanf(line.c_str(), "%lx-%lx ", &low, &high) == 2) {
      inside = nullptr;
      for (const auto& m : all_) {
        std::uintptr_t at = reinterpret_cast<std::uintptr_t>(m.start);
        if (m.used && m.wanted >= large_page && low <= at && at < high) inside = &m;
      }
    } else if (inside && (std::sscanf(line.c_str(), "AnonHugePages: %lu kB", &kilobytes) == 1 ||
                          std::sscanf(line.c_str(), "Private_Hugetlb: %lu kB", &kilobytes) == 1)) {
      found[inside] += kilobytes * 1024;
    }
  }
  std::size_t bytes = 0;
  for (auto [mapping, huge] : found) bytes += std::min(huge, mapping->bytes);
  return bytes;
}

// Returns a key of the processors that first wrote a buffer, since they decide on which memory node its pages lie. Only
// teams with the same key may share the buffer. Memory nodes of a GPU have no processors and never get such pages.
std::string toucher(const Team& team, int owner) {
  static const bool one_node = list_main_nodes().find_first_of(",-") == std::string::npos;
  if (one_node) return "any";
  if (owner >= 0 && !team.cpus().empty()) return join({team.cpus()[static_cast<std::size_t>(owner)], " alone"});
  std::string key = std::to_string(owner);
  for (int cpu : team.cpus()) key += join({",", cpu});
  return join({key, "x", team.cpus().empty() ? team.size() : 0});
}

}  // namespace steelyard
