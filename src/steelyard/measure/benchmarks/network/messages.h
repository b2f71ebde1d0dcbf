// Message buffers: one place that is reused, a walk through memory that no cache holds any more, or a device's memory.
#pragma once
#include <optional>

#include "accelerator.h"
#include "rank_kernel.h"

namespace steelyard {

// Returns the content of a rank's outgoing messages at this offset. It identifies the sender and the place.
inline unsigned char pattern_byte(std::size_t offset, int sender) {
  return static_cast<unsigned char>(offset % 251 + static_cast<std::size_t>(sender) * 31 + 1);
}

// Returns this rank's device: the ranks of a host take turns. CaseError: there is none, or MPI cannot send its memory.
accelerator::Device& device_of(const Ranks& ranks);

// Memory that MPI sends from or receives into. That of a device has a copy at the host, which the others write and
// read.
class MessageMemory {
 public:
  // `device` nullptr: of the host.
  MessageMemory(std::size_t bytes, const MemoryPolicy& policy, Ranks& ranks, accelerator::Device* device);
  ~MessageMemory();
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;

  char* data() const { return data_; }
  Buffer<char>& host() { return host_; }
  // The bytes of the copy to the device, and from it. Nothing happens to memory of the host.
  void send(std::size_t first, std::size_t bytes) const;
  void fetch(std::size_t first, std::size_t bytes) const;

 private:
  Buffer<char> host_;
  accelerator::Device* device_;
  char* data_;
};

// `count` messages of `bytes` side by side, at a place that moves on where buffers are fresh.
class Messages {
 public:
  static constexpr std::size_t line = 64, usual = std::size_t{4} << 20;

  // Ranks that take no part need no memory.
  Messages(Params& p, Ranks& ranks, std::size_t bytes, bool active, std::size_t count = 1);

  char* out(std::size_t index = 0) const { return out_->data() + place_ * stride_ + index * bytes_; }
  char* in(std::size_t index = 0) const { return in_->data() + place_ * stride_ + index * bytes_; }
  std::size_t bytes() const { return bytes_; }
  int length() const { return static_cast<int>(bytes_); }
  std::size_t place() const { return place_; }
  std::size_t places() const { return places_; }
  // Advances to the next place, which is the same one if buffers are reused.
  void next() { place_ = place_ + 1 == places_ ? 0 : place_ + 1; }

  void forget() const {
    std::memset(in_->host().data() + place_ * stride_, 0, stride_ - line);
    in_->send(place_ * stride_, stride_ - line);
  }
  // Whether message `index`, since `forget`, is what `sender` has at its own place `place`; an empty one must have
  // changed nothing.
  bool holds(int sender, std::size_t place, std::size_t index = 0) const {
    const std::size_t first = place_ * stride_ + index * bytes_;
    in_->fetch(first, std::max<std::size_t>(1, bytes_));
    char* came = in_->host().data() + first;
    if (corrupt_) ++came[bytes_ / 3];
    if (bytes_ == 0) return *came == 0;
    for (std::size_t i = 0; i < bytes_; ++i)
      if (static_cast<unsigned char>(came[i]) != pattern_byte(place * stride_ + index * bytes_ + i, sender))
        return false;
    return true;
  }
  // A check sends a message of its own, which would repair earlier damage, so the damage is done after its arrival.
  void corrupt() { corrupt_ = true; }

 private:
  void fill(std::size_t length, int rank) const;

  std::size_t bytes_, stride_, places_ = 1, place_ = 0;
  bool fresh_, corrupt_ = false;
  MemoryPolicy policy_;
  mutable std::optional<MessageMemory> out_, in_;
};

}  // namespace steelyard
