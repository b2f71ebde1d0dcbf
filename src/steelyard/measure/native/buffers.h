// Memory with the page size and policy of a case. The threads that will use it touch it first.
#pragma once
#include <algorithm>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json.h"
#include "params.h"
#include "team.h"

namespace steelyard {

constexpr std::size_t small_page = 4096;
constexpr std::size_t large_page = std::size_t{2} << 20;

// The two parameters that every kernel with memory has.
struct MemoryPolicy {
  std::string pages;   // "default" (as the system is set), "4k", "transparent", "huge" (explicit, 2 MiB)
  std::string memory;  // "local" (first touch), "interleave", "bind:N"
  explicit MemoryPolicy(Params& p);
  std::string key() const { return join({pages, "/", memory}); }
};

// "local" (first touch), "interleave" or "bind:N", as the case says.
std::string read_policy(Params& p);

// While it lives, the memory that this thread touches first comes from the nodes of a policy.
class ThreadMemory {
 public:
  explicit ThreadMemory(const std::string& policy);
  ~ThreadMemory();
  ThreadMemory(const ThreadMemory&) = delete;
  ThreadMemory& operator=(const ThreadMemory&) = delete;
};

// "" if the file cannot be read.
std::string first_line(const std::string& path);

// Bytes that this process may still use: the free memory of the machine, at most $STEELYARD_MEMORY, which Steelyard
// sets to the limit of the control group. The check before an allocation avoids the out-of-memory killer.
std::size_t available_memory();

// The memory mappings, which are reused: touching gigabytes for each case would take longer than the measurement.
class Mappings {
 public:
  struct Mapping {
    char* base;         // as the operating system returned it
    std::size_t bytes;  // of the whole mapping
    char* start;        // where the user's memory begins
    std::size_t wanted;
    std::string key;
    bool used;
    bool touched;              // false: the first touch has not happened yet
    std::string content = {};  // the content that the last user promised; empty: unknown
  };

  static Mappings& get();

  Mapping& take(std::size_t wanted, const MemoryPolicy& policy, const std::string& toucher);
  // Returns the memory nodes and the page sizes in use, as the operating system reports them.
  std::string report() const;
  // Returns whether arrays are in use that are all smaller than those that `report` lists.
  bool only_small() const;
  void forget_unused();

 private:
  Mapping& create(std::size_t wanted, const MemoryPolicy& policy, const std::string& key);
  std::size_t huge_bytes() const;

  std::list<Mapping> all_;
  std::size_t staggers_ = 0;
};

// The threads that first touch the memory, as a part of its key: all threads of a team, or `owner` (otherwise -1).
std::string toucher(const Team& team, int owner);

// `size` elements of T, shared by a team: each worker first touches its own part.
template <class T>
class Buffer {
 public:
  [[gnu::cold]] Buffer(std::size_t size, const MemoryPolicy& policy, Team& team)
      : size_(size), mapping_(&Mappings::get().take(bytes(size), policy, toucher(team, -1))) {
    touch(team, [this](Worker w) { return w.part(size_); });
  }
  // The worker `owner` first touches all elements.
  [[gnu::cold]] Buffer(std::size_t size, const MemoryPolicy& policy, Team& team, std::size_t owner)
      : size_(size), mapping_(&Mappings::get().take(bytes(size), policy, toucher(team, static_cast<int>(owner)))) {
    touch(team, [this, owner](Worker w) {
      return w.index == owner ? std::pair<std::size_t, std::size_t>{0, size_}
                              : std::pair<std::size_t, std::size_t>{0, 0};
    });
  }
  // One array for each of the first `owners` workers. The constructor touches nothing: each worker fills its own array,
  // and all workers do so at the same time.
  static std::vector<Buffer> one_each(std::size_t size, const MemoryPolicy& policy, Team& team, std::size_t owners) {
    std::vector<Buffer> all;
    for (std::size_t owner = 0; owner < owners; ++owner) {
      all.push_back(Buffer(size, &Mappings::get().take(bytes(size), policy, toucher(team, static_cast<int>(owner)))));
      all.back().mapping_->touched = true;
    }
    return all;
  }
  ~Buffer() {
    if (mapping_) mapping_->used = false;
  }
  Buffer(Buffer&& other) noexcept
      : size_(other.size_), mapping_(std::exchange(other.mapping_, nullptr)), left_(std::move(other.left_)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return reinterpret_cast<T*>(mapping_->start); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data()[i]; }
  std::span<T> span() const { return {data(), size_}; }

  // Returns whether an earlier user left this content in the memory. Then it need not be filled again.
  bool still_holds(const std::string& content) const { return left_ == content; }
  // Promises that the content is complete and will not change any more.
  void promise(const std::string& content) { mapping_->content = content; }

  // Sets every element to `value`, on the threads that will use it. Memory with this content is not written again.
  // `constant`: the content will not change, so the next user can rely on it.
  void fill(Team& team, T value, bool constant) {
    std::string content = join({sizeof(T), "x", value});
    if (!still_holds(content))
      team.each([&](Worker w) {
        auto [first, last] = w.part(size_);
        std::fill(data() + first, data() + last, value);
      });
    if (constant) promise(content);
  }

 private:
  Buffer(std::size_t size, Mappings::Mapping* mapping) : size_(size), mapping_(mapping) {}
  static std::size_t bytes(std::size_t size) {
    if (size == 0 || size > (std::size_t{1} << 46) / sizeof(T))
      throw CaseError(
          join({"a buffer of ", size, " elements is not possible: expected 1 or more, and at most 2^46 bytes"}));
    return size * sizeof(T);
  }
  template <class Part>
  void touch(Team& team, Part part) {
    if (mapping_->touched) return;
    team.each([&](Worker w) {
      auto [first, last] = part(w);
      char* from = reinterpret_cast<char*>(data() + first);
      char* to = reinterpret_cast<char*>(data() + last);
      for (char* at = from; at < to; at += small_page) *at = 0;
      if (from < to) to[-1] = 0;
    });
    mapping_->touched = true;
  }

  std::size_t size_;
  Mappings::Mapping* mapping_;
  std::string left_ = std::exchange(mapping_->content, "");  // a user that makes no new promise leaves none
};

}  // namespace steelyard
