// A clock that is set in one process only (LD_PRELOAD): the time of day is ahead by what $CHAOS_CLOCK, a file of 8
// bytes, says.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t second = 1'000'000'000;

// Mapped once: what the test writes into the file counts from then on, for a process that is under way, too.
std::int64_t ahead() {
  static const auto* const shared = [] {
    const char* const name = std::getenv("CHAOS_CLOCK");
    const int file = name ? open(name, O_RDONLY) : -1;
    void* const found = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (found == MAP_FAILED) std::abort();
    return static_cast<const std::atomic<std::int64_t>*>(found);
  }();
  return shared->load();
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* at) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    const std::int64_t set = at->tv_sec * second + at->tv_nsec + ahead();
    *at = {set / second, set % second};
  }
  return result;
}

int gettimeofday(timeval* at, void*) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *at = {now.tv_sec, now.tv_nsec / 1000};
  return result;
}

time_t time(time_t* at) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
}
