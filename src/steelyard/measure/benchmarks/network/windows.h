// Windows of memory that other ranks can access (MPI's one-sided communication), with a check of the free memory.
#pragma once
#include <sys/statvfs.h>

#include <exception>

#include "messages.h"

namespace steelyard {

// CaseError where `bytes` for this rank and its like on this machine are not to be had: an MPI would end the program,
// or take more of /dev/shm than there is and die at the first touch.
[[gnu::cold]] inline void need_room(std::size_t bytes, const Ranks& ranks) {
  const std::size_t here = ranks.on_this_machine().size();
  struct statvfs shared;
  std::size_t room = available_memory();
  if (statvfs("/dev/shm", &shared) == 0) room = std::min<std::size_t>(room, shared.f_bavail * shared.f_frsize);
  if (bytes * here > room)
    throw CaseError(join({"windows of ", bytes >> 20, " MiB for each of ", here, " ranks are needed, but ", room >> 20,
                          " MiB are available (of memory and of /dev/shm, which holds the windows of one machine)"}));
}

// Does `job`, which may fail on a single rank, before a step that needs all ranks. If it fails on any rank, all ranks
// give up the case; the harness reports the message of a rank that has one.
template <class Job>
void all_or_none(const Ranks& ranks, Job job) {
  std::string failure;
  bool failed = true;
  try {
    job();
    failed = false;
  } catch (const std::bad_alloc&) {
    failure = "not enough memory for this case";
  } catch (const std::exception& e) {
    failure = e.what();
  }
  if (ranks.world().greatest(failed) > 0) throw CaseError(failure);
}

// Memory that the ranks of `comm` can access; collective. At least a page: MPICH 4.0 with UCX 1.13 returns wrong data
// from smaller windows.
class Window {
 public:
  enum class Kind {
    usual,   // the MPI allocates, and chooses where
    shared,  // in memory that the ranks share: they are on one machine
    own      // in this process's own memory, which no other can map
  };

  Window(MPI_Comm comm, std::size_t bytes, Kind kind) : bytes_(std::max(bytes, small_page)), kind_(kind) {
    auto all = static_cast<MPI_Aint>(bytes_ + line);
    char* base = nullptr;
    int outcome;
    // An MPI may have no windows for a transport, as Open MPI 4 between hosts without its plain TCP: that ends the
    // case, not the program.
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (kind == Kind::own) {
      own_ = std::make_unique_for_overwrite<char[]>(bytes_ + line);
      outcome = MPI_Win_create(base = own_.get(), all, 1, MPI_INFO_NULL, comm, &window_);
    } else {
      auto allocate = kind == Kind::shared ? MPI_Win_allocate_shared : MPI_Win_allocate;
      outcome = allocate(all, 1, MPI_INFO_NULL, comm, &base, &window_);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    if (outcome != MPI_SUCCESS)
      throw CaseError(join(
          {kind_of_memory(),
           " is not supported by this MPI over this transport. With Open MPI between hosts, use --set transport=tcp"}));
    shift_ = (line - reinterpret_cast<std::uintptr_t>(base) % line) % line;
    data_ = base + shift_;
  }
  ~Window() { MPI_Win_free(&window_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  MPI_Win get() const { return window_; }
  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t shift() const { return shift_; }  // bytes from the window's start to data(), which is aligned
  const char* kind_of_memory() const {
    return kind_ == Kind::own      ? "MPI_Win_create"
           : kind_ == Kind::shared ? "MPI_Win_allocate_shared"
                                   : "MPI_Win_allocate";
  }

 private:
  static constexpr std::size_t line = 64;
  std::size_t bytes_, shift_ = 0;
  Kind kind_;
  std::unique_ptr<char[]> own_;
  char* data_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

// Returns whether messages must not go through shared memory (transport "no shared memory", "tcp").
inline bool lacks_shared_memory() {
  const char* carried = std::getenv("OMPI_MCA_btl");
  std::string by = carried ? carried : "sm";
  return by.find("sm") == std::string::npos && by.find("vader") == std::string::npos;
}

// Before MPI starts. Open MPI shares windows on one machine whatever carries its messages, and Open MPI 4 chooses UCX
// for them even where messages must not go by it, and then fails.
inline void keep_windows_to_the_transport() {
  if (lacks_shared_memory()) setenv("OMPI_MCA_osc", "^sm,ucx", 0);
}

// The kind of a window between rank 0 and `other`.
inline Window::Kind kind_of_window([[maybe_unused]] const Ranks& ranks, [[maybe_unused]] int other,
                                   [[maybe_unused]] bool swaps = false) {
#if defined(OMPI_MAJOR_VERSION)
  if (lacks_shared_memory()) return Window::Kind::own;
  // A compare and swap by shared memory ends Open MPI 4's target with a segmentation fault (its issue 11349, mended in
  // 5.0), but not in a window of this kind.
  if (OMPI_MAJOR_VERSION < 5 && swaps && ranks.same_host(0, other)) return Window::Kind::shared;
#endif
  return Window::Kind::usual;
}

}  // namespace steelyard
