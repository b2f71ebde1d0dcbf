// A switch with a delay, a rate and losses between hosts: emulator PID [PID ...], a process of each.
//
// Each host gets a network device `link0`, and what it sends there comes here, a frame of Ethernet at a time. A frame
// occupies the sender's link for its bytes, is on its way for the delay, and occupies the receiver's link; both links
// work at once, as a switch does that passes a frame on while it still comes in. Lines of the input set the conditions:
//
//     delay=NANOSECONDS rate=BITS_PER_SECOND loss=PROBABILITY seed=NUMBER
//
// (0: none), each answered by a line with what passed since the last one; the program ends with its input.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;

constexpr std::size_t longest_frame = 2048;
constexpr int outside_frame = 24;  // B on the wire beside a frame: preamble, checksum, gap
constexpr int ethernet = 14, tcp = 6;
constexpr Nanoseconds soon = 20'000;  // to sleep for less takes longer

[[noreturn]] void fail(const char* what) {
  std::printf("%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

Nanoseconds now() {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1'000'000'000LL + at.tv_nsec;
}

struct Conditions {
  Nanoseconds delay = 0;
  double rate = 0, loss = 0;

  // Of a frame of so many bytes; 0 where the rate is without bound.
  Nanoseconds occupied(std::size_t bytes) const {
    return rate > 0 ? static_cast<Nanoseconds>(8e9 * static_cast<double>(bytes + outside_frame) / rate) : 0;
  }
};

struct Counts {
  std::uint64_t frames = 0, empty = 0, dropped = 0;  // of TCP; empty ones acknowledge and carry nothing
  double late = 0;                                   // ns, of all frames together
  Nanoseconds latest = 0;
};

struct Frame {
  Nanoseconds at;
  std::uint64_t number;  // frames of the same moment keep their order
  std::size_t to;
  bool on_way;  // its first bit reaches the receiver's link; otherwise its last one has passed it
  std::vector<char> bytes;
};

struct Later {
  bool operator()(const std::unique_ptr<Frame>& a, const std::unique_ptr<Frame>& b) const {
    return a->at != b->at ? a->at > b->at : a->number > b->number;
  }
};

// A device in the namespace of a process. The caller's own namespace is left for good.
int device(int pid) {
  std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
  int space = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) fail("the host's namespace cannot be entered");
  close(space);
  int made = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  std::strncpy(request.ifr_name, "link0", IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (made < 0 || ioctl(made, TUNSETIFF, &request) != 0) fail("the device cannot be made");
  return made;
}

class Switch {
 public:
  explicit Switch(std::vector<int> devices)
      : devices_(std::move(devices)),
        sending_(devices_.size()),
        receiving_(devices_.size()),
        address_(devices_.size()) {}

  void set(const Conditions& conditions, std::uint64_t seed) {
    conditions_ = conditions;
    random_.seed(seed);
    counts_ = {};
  }
  const Counts& counts() const { return counts_; }
  // When something is to be done, or -1.
  Nanoseconds next() const { return frames_.empty() ? -1 : frames_.top()->at; }

  void receive(std::size_t from) {
    std::array<char, longest_frame> bytes;
    while (true) {
      ssize_t length = read(devices_[from], bytes.data(), bytes.size());
      if (length < ethernet) return;
      std::memcpy(address_[from].data(), &bytes[6], 6);
      enter(from, {bytes.data(), bytes.data() + length});
    }
  }

  void carry_on() {
    while (!frames_.empty() && frames_.top()->at <= now()) {
      auto frame = std::move(const_cast<std::unique_ptr<Frame>&>(frames_.top()));
      frames_.pop();
      frame->on_way ? occupy(std::move(frame)) : arrive(*frame);
    }
  }

 private:
  void enter(std::size_t from, const std::vector<char>& bytes) {
    Nanoseconds begin = std::max(now(), sending_[from]);
    sending_[from] = begin + conditions_.occupied(bytes.size());
    if (lost(bytes)) return;
    for (std::size_t to = 0; to < devices_.size(); ++to)
      if (to != from && concerns(to, bytes))
        frames_.push(std::make_unique<Frame>(Frame{begin + conditions_.delay, number_++, to, true, bytes}));
  }
  bool lost(const std::vector<char>& bytes) {
    bool counts = static_cast<std::size_t>(ethernet) + 40 <= bytes.size() && bytes[12] == 8 && bytes[13] == 0 &&
                  bytes[ethernet + 9] == tcp;
    if (!counts) return false;
    ++counts_.frames;
    counts_.empty += empty(&bytes[ethernet]);
    bool drop = conditions_.loss > 0 && std::uniform_real_distribution<>()(random_) < conditions_.loss;
    counts_.dropped += drop;
    return drop;
  }
  static bool empty(const char* packet) {
    const auto* at = reinterpret_cast<const unsigned char*>(packet);
    int whole = at[2] << 8 | at[3], ip = (at[0] & 15) * 4;
    return whole == ip + (at[ip + 12] >> 4) * 4;
  }
  bool concerns(std::size_t to, const std::vector<char>& bytes) const {
    bool all = bytes[0] & 1;  // broadcast
    bool known = address_[to] != std::array<char, 6>{};
    return all || !known || std::memcmp(bytes.data(), address_[to].data(), 6) == 0;
  }
  void occupy(std::unique_ptr<Frame> frame) {
    Nanoseconds begin = std::max(frame->at, receiving_[frame->to]);
    receiving_[frame->to] = frame->at = begin + conditions_.occupied(frame->bytes.size());
    frame->on_way = false;
    frame->number = number_++;
    frames_.push(std::move(frame));
  }
  void arrive(const Frame& frame) {
    Nanoseconds late = now() - frame.at;
    counts_.late += static_cast<double>(late);
    counts_.latest = std::max(counts_.latest, late);
    // A full device drops the frame, as a network card does.
    [[maybe_unused]] ssize_t written = write(devices_[frame.to], frame.bytes.data(), frame.bytes.size());
  }

  std::vector<int> devices_;
  std::vector<Nanoseconds> sending_, receiving_;  // until when each host's link is occupied
  std::vector<std::array<char, 6>> address_;
  std::priority_queue<std::unique_ptr<Frame>, std::vector<std::unique_ptr<Frame>>, Later> frames_;
  std::uint64_t number_ = 0;
  Conditions conditions_;
  Counts counts_;
  std::mt19937_64 random_;
};

// The input's next line; false at its end.
bool obey(Switch& hub) {
  char line[256];
  long long delay = 0;
  unsigned long long seed = 0;
  double rate = 0, loss = 0;
  if (!std::fgets(line, sizeof line, stdin)) return false;
  if (std::sscanf(line, "delay=%lld rate=%lf loss=%lf seed=%llu", &delay, &rate, &loss, &seed) != 4) {
    std::printf("no conditions: %s", line);
    std::exit(2);
  }
  const Counts& c = hub.counts();
  std::printf("frames=%llu empty=%llu dropped=%llu late=%.0f latest=%lld\n", static_cast<unsigned long long>(c.frames),
              static_cast<unsigned long long>(c.empty), static_cast<unsigned long long>(c.dropped),
              c.frames ? c.late / static_cast<double>(c.frames) : 0.0, static_cast<long long>(c.latest));
  std::fflush(stdout);
  hub.set({delay, rate, loss}, seed);
  return true;
}

// Asleep until a frame, a line, or the next event: awake it would take a processor from the ranks that share it.
void wait(Switch& hub, std::vector<pollfd>& watched) {
  Nanoseconds next = hub.next(), left = next < 0 ? -1 : next - now();
  timespec limit{0, 0};
  if (left > soon) limit = {left / 1'000'000'000, left % 1'000'000'000};
  ppoll(watched.data(), watched.size(), next < 0 ? nullptr : &limit, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> devices;
  for (int i = 1; i < argc; ++i) devices.push_back(device(std::atoi(argv[i])));
  // Soon after it is due, beside ranks that wait for a message in a loop. With a real-time priority every frame would
  // take a rank off its processor, and four ranks on two of them would take twice as long.
  if (setpriority(PRIO_PROCESS, 0, -20) != 0) fail("the emulator cannot go first");
  prctl(PR_SET_TIMERSLACK, 1UL);
  mlockall(MCL_CURRENT | MCL_FUTURE);
  std::vector<pollfd> watched{{STDIN_FILENO, POLLIN, 0}};
  for (int d : devices) watched.push_back({d, POLLIN, 0});
  Switch hub(devices);
  std::printf("ready\n");
  std::fflush(stdout);
  while (true) {
    wait(hub, watched);
    for (std::size_t i = 1; i < watched.size(); ++i)
      if (watched[i].revents) hub.receive(i - 1);
    hub.carry_on();
    if (watched[0].revents && !obey(hub)) return 0;
  }
}
