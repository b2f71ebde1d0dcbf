// One-sided communication: rank 0 puts, gets, accumulates and swaps in a window of the last rank, which takes no part.
#include <optional>

#include "windows.h"

using namespace steelyard;

enum class Synchronisation { flush, fence, lock };

// One of the `count` operations between two synchronisations: the origin's buffers, and where in the window it goes.
struct Place {
  const Messages& messages;
  std::uint64_t* counted;  // of compare and swap: the numbers expected and put, one after the other
  std::size_t index, count;
  int target;
  MPI_Aint at;
  MPI_Win window;
};

struct Put {
  static constexpr bool adds = false, one_word = false;
  static void issue_operation(const Place& p) {
    int n = p.messages.length();
    MPI_Put(p.messages.out(p.index), n, MPI_BYTE, p.target, p.at, n, MPI_BYTE, p.window);
  }
};
struct Get {
  static constexpr bool adds = false, one_word = false;
  static void issue_operation(const Place& p) {
    int n = p.messages.length();
    MPI_Get(p.messages.in(p.index), n, MPI_BYTE, p.target, p.at, n, MPI_BYTE, p.window);
  }
};
struct Accumulate {
  static constexpr bool adds = true, one_word = false;
  static void issue_operation(const Place& p) {
    int n = p.messages.length() / 8;
    MPI_Accumulate(p.messages.out(p.index), n, MPI_UINT64_T, p.target, p.at, n, MPI_UINT64_T, MPI_SUM, p.window);
  }
};
// Both atomic operations count: the first word of the window grows by one each time.
struct FetchAndOp {
  static constexpr bool adds = true, one_word = true;
  static void issue_operation(const Place& p) {
    static const std::uint64_t one = 1;
    MPI_Fetch_and_op(&one, p.messages.in(p.index), MPI_UINT64_T, p.target, p.at, MPI_SUM, p.window);
  }
};
struct CompareAndSwap {
  static constexpr bool adds = true, one_word = true;
  static void issue_operation(const Place& p) {
    if (p.index == 0) p.counted[0] = p.counted[p.count];
    p.counted[p.index + 1] = p.counted[p.index] + 1;
    MPI_Compare_and_swap(p.counted + p.index + 1, p.counted + p.index, p.messages.in(p.index), MPI_UINT64_T, p.target,
                         p.at, p.window);
  }
};

template <class Operation>
struct OneSided {
  struct Walk {
    std::size_t count, bytes, stride, places;  // the origin's: the target's memory may be another
    Window::Kind kind;
  };
  int rank, last;  // the last rank is the target; those between sleep
  Synchronisation synchronisation{};
  Walk walk{};
  std::unique_ptr<Group> pair;
  std::optional<Messages> messages;  // at the origin
  std::optional<Window> window;
  std::vector<std::uint64_t> counted;
  std::size_t shift = 0, done = 0;  // shift: of the data in the target's window

  OneSided(Params& p, Ranks& ranks) : rank(ranks.rank()), last(ranks.size() - 1), pair(ranks.among(active())) {
    all_or_none(ranks, [&] { read(p, ranks); });
    if (!active()) return;
    pair->tell(walk);
    open(ranks.same_machine(0, last));
  }
  ~OneSided() {
    if (window && synchronisation == Synchronisation::flush) MPI_Win_unlock_all(window->get());
    if (window && synchronisation == Synchronisation::fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window->get());
  }
  bool active() const { return rank == 0 || rank == last; }

  void run(std::size_t operations) {
    switch (synchronisation) {
      case Synchronisation::flush:
        run_epochs<Synchronisation::flush>(operations);
        break;
      case Synchronisation::fence:
        run_epochs<Synchronisation::fence>(operations);
        break;
      case Synchronisation::lock:
        run_epochs<Synchronisation::lock>(operations);
        break;
    }
    done += operations;
  }
  Work work() const {
    double n = static_cast<double>(walk.count);
    return {{"messages", n}, {"bytes", n * static_cast<double>(walk.bytes)}};
  }

  std::string details() const {
    return window ? json::Object().add("window", json::text(window->kind_of_memory())).str() : "null";
  }

  // The target sends what it sees in its window, by an ordinary message: rank 0 knows what ought to be there.
  Check check() {
    if (!active()) return {true, "took no part"};
    if (done == 0) return {false, "nothing was done"};
    std::size_t place = done % walk.places, length = walk.count * walk.bytes;
    if constexpr (!Operation::adds) {
      if (rank != 0) at_target([&] { std::memset(window->data() + place * walk.stride, 0, put_into() ? length : 0); });
      if (rank == 0) messages->forget();
      pair->barrier();
      run(1);
    }
    pair->barrier();
    if (rank != 0) {
      at_target([&] {
        char* seen = window->data() + place * walk.stride;
        if (corrupt_ && (Operation::adds || put_into())) ++*seen;
        MPI_Send(seen, static_cast<int>(length), MPI_BYTE, 0, 3, pair->comm());
      });
      return {true, "was read"};
    }
    std::vector<char> seen(length);
    MPI_Recv(seen.data(), static_cast<int>(length), MPI_BYTE, 1, 3, pair->comm(), MPI_STATUS_IGNORE);
    return {Operation::adds ? are_sums_right(seen) : is_data_right(seen, place),
            join({length, " bytes of the window were compared after ", done, " operations"})};
  }
  void corrupt() { corrupt_ = true; }  // where the data went, when the check's own operations are done

 private:
  static constexpr int target = 1;  // in the pair
  static constexpr bool put_into() { return std::is_same_v<Operation, Put>; }

  void read(Params& p, Ranks& ranks) {
    if (ranks.size() < 2) throw CaseError("ranks='1': one-sided communication needs two ranks");
    std::string by = p.choice("synchronisation", "flush", {"flush", "fence", "lock"});
    synchronisation = by == "flush"   ? Synchronisation::flush
                      : by == "fence" ? Synchronisation::fence
                                      : Synchronisation::lock;
    std::size_t count = p.count("window", 1), bytes = p.count("message_bytes", 8);
    if (count < 1 || bytes < 1 || (Operation::adds && bytes % 8 != 0) || (Operation::one_word && bytes != 8))
      throw CaseError(
          join({"window='", count, "', message_bytes='", bytes,
                "': both must be at least 1. accumulate needs a multiple of 8 bytes, an atomic operation 8 bytes"}));
    messages.emplace(p, ranks, bytes, rank == 0, count);
    if (Operation::adds && messages->places() > 1) throw CaseError("buffers='fresh' can be used only with put and get");
    walk = {count, bytes, (count * bytes + Messages::line - 1) / Messages::line * Messages::line, messages->places(),
            kind_of_window(ranks, last, std::is_same_v<Operation, CompareAndSwap>)};
    counted.assign(count + 1, 0);
    // The target's window goes as far as the origin's buffers, which on another machine may be longer or shorter.
    need_room(active() ? walk.places * walk.stride : 0, ranks);
  }
  void open(bool same_machine) {
    window.emplace(pair->comm(), rank == 0 ? 0 : walk.places * walk.stride, walk.kind);
    shift = static_cast<std::size_t>(pair->greatest(rank == 0 ? 0 : static_cast<double>(window->shift())));
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, pair->rank(), 0, window->get());
    fill(window->data(), window->bytes());
    MPI_Win_unlock(pair->rank(), window->get());
    pair->barrier();
    if (rank == 0 && same_machine) touch();
    pair->barrier();
    if (synchronisation == Synchronisation::flush) MPI_Win_lock_all(0, window->get());
    if (synchronisation == Synchronisation::fence) MPI_Win_fence(MPI_MODE_NOPRECEDE, window->get());
  }
  // Fills with zeros to add to, or with the last rank's pattern, of which one period is written and then copied.
  void fill(char* at, std::size_t bytes) const {
    if (Operation::adds) return static_cast<void>(std::memset(at, 0, bytes));
    constexpr std::size_t period = 251;
    for (std::size_t i = 0; i < std::min(period, bytes); ++i) at[i] = static_cast<char>(pattern_byte(i, last));
    for (std::size_t filled = period; filled < bytes; filled *= 2)
      std::memcpy(at + filled, at, std::min(filled, bytes - filled));
  }
  // The origin may have the window's pages in its own memory: the first access to each must not be timed.
  void touch() const {
    std::vector<char> some(std::min<std::size_t>(walk.places * walk.stride, 1 << 20));
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->get());
    for (std::size_t at = 0; at < walk.places * walk.stride; at += some.size()) {
      int n = static_cast<int>(std::min(some.size(), walk.places * walk.stride - at));
      MPI_Get(some.data(), n, MPI_BYTE, target, static_cast<MPI_Aint>(shift + at), n, MPI_BYTE, window->get());
      MPI_Win_flush(target, window->get());
    }
    MPI_Win_unlock(target, window->get());
  }
  // Does the work of a rank in its own window, between the accesses of the other ranks.
  template <class Job>
  void at_target(Job job) {
    if (synchronisation == Synchronisation::lock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, pair->rank(), 0, window->get());
    if (synchronisation == Synchronisation::flush) MPI_Win_sync(window->get());
    job();
    if (synchronisation == Synchronisation::flush) MPI_Win_sync(window->get());
    if (synchronisation == Synchronisation::lock) MPI_Win_unlock(pair->rank(), window->get());
  }

  template <Synchronisation S>
  void run_epochs(std::size_t operations) {
    if (rank != 0) return wait<S>(operations);
    MPI_Win in = window->get();
    for (std::size_t i = 0; i < operations; ++i, messages->next()) {
      if constexpr (S == Synchronisation::lock) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, in);
      std::size_t at = shift + messages->place() * walk.stride;
      for (std::size_t k = 0; k < walk.count; ++k, at += Operation::one_word ? 0 : walk.bytes)
        Operation::issue_operation({*messages, counted.data(), k, walk.count, target, static_cast<MPI_Aint>(at), in});
      if constexpr (S == Synchronisation::flush) MPI_Win_flush(target, in);
      if constexpr (S == Synchronisation::lock) MPI_Win_unlock(target, in);
      if constexpr (S == Synchronisation::fence) MPI_Win_fence(0, in);
    }
    if constexpr (S != Synchronisation::fence) MPI_Send(nullptr, 0, MPI_BYTE, target, 4, pair->comm());
  }
  // Keeps the target in MPI until the end message: some MPIs carry out one-sided operations only there.
  template <Synchronisation S>
  void wait(std::size_t operations) {
    if constexpr (S == Synchronisation::fence) {
      for (std::size_t i = 0; i < operations; ++i) MPI_Win_fence(0, window->get());
    } else {
      MPI_Request end;
      MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 4, pair->comm(), &end);
      complete(1, &end);
    }
  }

  // Checks the sums of all operations, modulo 2^64 like the words themselves.
  bool are_sums_right(const std::vector<char>& seen) const {
    for (std::size_t i = 0; i < seen.size(); i += 8) {
      std::uint64_t word, each = 0;
      std::memcpy(&word, &seen[i], sizeof word);
      std::memcpy(&each, messages->out() + i, sizeof each);
      if (Operation::one_word) each = i == 0 ? walk.count : 0;
      if (word != each * done) return false;
    }
    return true;
  }
  bool is_data_right(const std::vector<char>& seen, std::size_t place) {
    while (messages->place() != place) messages->next();
    if (put_into()) return std::equal(seen.begin(), seen.end(), messages->out());
    if (corrupt_) ++*messages->in();
    bool right = std::equal(seen.begin(), seen.end(), messages->in());
    for (std::size_t i = 0; i < seen.size(); ++i)
      right = right && static_cast<unsigned char>(seen[i]) == pattern_byte(place * walk.stride + i, last);
    return right;
  }

  bool corrupt_ = false;
};

int main(int argc, char** argv) {
  keep_windows_to_the_transport();
  return serve_ranks(
      argc, argv,
      {rank_kernel<OneSided<Put>>("put"), rank_kernel<OneSided<Get>>("get"),
       rank_kernel<OneSided<Accumulate>>("accumulate"), rank_kernel<OneSided<FetchAndOp>>("fetch_and_op"),
       rank_kernel<OneSided<CompareAndSwap>>("compare_and_swap")});
}
