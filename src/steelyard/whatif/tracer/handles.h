// Numbers for MPI's handles: small ones, so that they take a byte in the trace.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace steelyard::trace {

// A table with open addressing. A handle may stand in it several times: MPIs hand one out for all sends that are done.
template <class Entry>
class Table {
 public:
  void insert(std::uint64_t handle, const Entry& entry) {
    if (2 * ++count_ > size_) grow();
    place(handle, entry);
  }
  Entry* find(std::uint64_t handle) {
    if (!size_) return nullptr;
    for (std::size_t i = slot(handle); cells_[i].used; i = (i + 1) & (size_ - 1))
      if (cells_[i].handle == handle) return &cells_[i].entry;
    return nullptr;
  }
  void erase(Entry* entry) {
    auto* cell = reinterpret_cast<Cell*>(reinterpret_cast<char*>(entry) - offsetof(Cell, entry));
    std::size_t hole = static_cast<std::size_t>(cell - cells_);
    --count_;
    // Removes an entry. The entries behind it move up, so that no search ends too soon.
    for (std::size_t i = (hole + 1) & (size_ - 1); cells_[i].used; i = (i + 1) & (size_ - 1)) {
      const std::size_t home = slot(cells_[i].handle);
      if (((i - home) & (size_ - 1)) >= ((i - hole) & (size_ - 1))) cells_[hole] = cells_[i], hole = i;
    }
    cells_[hole].used = false;
  }

 private:
  struct Cell {
    std::uint64_t handle;
    Entry entry;
    bool used;
  };
  std::size_t slot(std::uint64_t handle) const {
    return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15u) >> 32) & (size_ - 1);
  }
  void place(std::uint64_t handle, const Entry& entry) {
    std::size_t i = slot(handle);
    while (cells_[i].used) i = (i + 1) & (size_ - 1);
    cells_[i] = {handle, entry, true};
  }
  void grow() {
    Cell* before = cells_;
    const std::size_t had = size_;
    size_ = had ? 2 * had : 256;
    cells_ = static_cast<Cell*>(std::calloc(size_, sizeof(Cell)));
    if (!cells_) std::abort();
    for (std::size_t i = 0; i < had; ++i)
      if (before[i].used) place(before[i].handle, before[i].entry);
    std::free(before);
  }
  Cell* cells_ = nullptr;
  std::size_t size_ = 0, count_ = 0;
};

// Hands out the lowest free numbers, from 1 on.
class Numbers {
 public:
  std::uint32_t take() {
    if (free_) return kept_[--free_];
    return next_++;
  }
  void give(std::uint32_t number) {
    if (free_ == room_) {
      room_ = room_ ? 2 * room_ : 256;
      kept_ = static_cast<std::uint32_t*>(std::realloc(kept_, room_ * sizeof *kept_));
      if (!kept_) std::abort();
    }
    kept_[free_++] = number;
  }

 private:
  std::uint32_t* kept_ = nullptr;
  std::size_t free_ = 0, room_ = 0;
  std::uint32_t next_ = 1;
};

template <class Handle>
std::uint64_t bits(Handle handle) {
  static_assert(sizeof handle <= 8);
  std::uint64_t found = 0;
  std::memcpy(&found, &handle, sizeof handle);
  return found;
}

inline std::uint64_t mix_keys(std::uint64_t a, std::uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  return a ^ a >> 29;
}

}  // namespace steelyard::trace
