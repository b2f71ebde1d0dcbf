// The buffers of a collective operation, and the check of its result: the contents identify the sender and the place.
#pragma once
#include <unistd.h>

#include <map>
#include <optional>

#include "collective.h"

namespace steelyard {

// An operation without its type, so that one kernel serves all operations; the loops are compiled for each one.
struct Operation {
  Shape shape;
  Expected (*arrival)(const CallFrame&);
  void (*now)(CallFrame&, std::size_t);           // runs this number of operations
  void (*later)(CallFrame&, std::size_t);         // the same with the nonblocking form and an immediate wait
  void (*synchronised)(CallFrame&, std::size_t);  // the same with a barrier after each operation
  void (*begin)(const CallFrame&, MPI_Request*);  // starts a nonblocking operation without a wait
};

template <class Of>
Operation operation() {
  return {Of::shape,
          Of::arrival,
          [](CallFrame& f, std::size_t times) {
            for (; times > 0; --times, f.move_root()) Of::call(CallBlocking{}, f);
          },
          [](CallFrame& f, std::size_t times) {
            for (MPI_Request request; times > 0; --times, f.move_root()) {
              Of::call(CallNonblocking{&request}, f);
              MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
          },
          [](CallFrame& f, std::size_t times) {
            for (; times > 0; --times, f.move_root()) {
              Of::call(CallBlocking{}, f);
              MPI_Barrier(f.comm);
            }
          },
          [](const CallFrame& f, MPI_Request* request) { Of::call(CallNonblocking{request}, f); }};
}

inline const Operation& named(const std::vector<Operation>& known, const std::string& name) {
  for (const Operation& one : known)
    if (one.shape.name == name) return one;
  throw CaseError(join({"there is no operation '", name, "'"}));
}

// The buffers of one rank, and the frame that points to them. Blocks of `elements`; 32-bit integers where `words`.
class CollectiveMemory {
 public:
  CallFrame frame;

  CollectiveMemory(Params& p, Ranks& ranks, const Shape& shape, std::size_t elements, bool words)
      : shape_(shape), bytes_(elements * (words ? sizeof(std::uint32_t) : 1)), policy_(p) {
    auto size = static_cast<std::size_t>(ranks.size());
    if (elements * size > std::numeric_limits<int>::max())
      throw CaseError(join({elements, " elements for each of ", size,
                            " ranks are more than MPI's int can count: use smaller messages"}));
    std::size_t outs = shape.out == Blocks::each ? size : 1, ins = shape.in == Blocks::each ? size : 1;
    accelerator::Device* device =
        p.choice("buffers", "host", {"host", "device"}) == "device" ? &device_of(ranks) : nullptr;
    out_.emplace(std::max<std::size_t>(1, outs * bytes_), policy_, ranks, device);
    in_.emplace(std::max<std::size_t>(1, ins * bytes_), policy_, ranks, device);
    Buffer<char>& content = out_->host();
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(pattern_byte(i, ranks.rank()));
    out_->send(0, content.size());
    counts_.assign(size, static_cast<int>(elements));
    for (std::size_t i = 0; i < size; ++i) places_.push_back(static_cast<int>(i * elements));
    frame.out = out_->data(), frame.in = in_->data();
    frame.count = static_cast<int>(elements), frame.rank = ranks.rank(), frame.size = ranks.size();
    frame.type = words ? MPI_UINT32_T : MPI_BYTE, frame.comm = ranks.comm();
    frame.counts = counts_.data(), frame.places = places_.data();
  }

  // Returns the least number of bytes that ranks must send.
  double least_bytes() const {
    double others = frame.size - 1, block = static_cast<double>(bytes_);
    switch (shape_.volume) {
      case Volume::none:
        return 0;
      case Volume::once:
        return others * block;
      case Volume::twice:
        return 2 * others * block;
      default:
        return others * frame.size * block;
    }
  }
  void forget() {
    std::memset(in_->host().data(), 0, in_->host().size());
    in_->send(0, in_->host().size());
  }
  void corrupt() {  // of the first block that has come
    in_->fetch(0, in_->host().size());
    ++in_->host()[bytes_ / 3];
    in_->send(0, in_->host().size());
  }
  // Whether `arrival` lies in the incoming buffer: bytes as they were sent, sums of integers exactly (modulo 2^32).
  // Empty blocks must have changed nothing since `forget`.
  Check compare(const Expected& arrival) {
    in_->fetch(0, in_->host().size());
    for (int i = 0; i < arrival.blocks; ++i) {
      int first = arrival.first < 0 ? i : arrival.first, last = arrival.last < 0 ? i : arrival.last;
      bool right = shape_.adds ? holds<std::uint32_t>(i, arrival.block, first, last)
                               : holds<unsigned char>(i, arrival.block, first, last);
      if (!right) return {false, join({shape_.name, ": block ", i, " is not that of ranks ", first, " to ", last})};
    }
    return {true, join({arrival.blocks, " blocks of ", bytes_, " bytes were compared at rank ", frame.rank})};
  }

 private:
  template <class T>
  bool holds(int block, int at_sender, int first, int last) {
    if (bytes_ == 0) return in_->host()[0] == 0;
    for (std::size_t i = 0; i + sizeof(T) <= bytes_; i += sizeof(T)) {
      T sum = 0, found;
      for (int sender = first; sender <= last; ++sender) {
        unsigned char sent[sizeof(T)];
        for (std::size_t k = 0; k < sizeof(T); ++k)
          sent[k] = pattern_byte(static_cast<std::size_t>(at_sender) * bytes_ + i + k, sender);
        T one;
        std::memcpy(&one, sent, sizeof one);
        sum = static_cast<T>(sum + one);
      }
      std::memcpy(&found, &in_->host()[static_cast<std::size_t>(block) * bytes_ + i], sizeof found);
      if (found != sum) return false;
    }
    return true;
  }

  Shape shape_;
  std::size_t bytes_;
  MemoryPolicy policy_;
  std::optional<MessageMemory> out_, in_;
  std::vector<int> counts_, places_;
};

// Checks by the clock of each machine that `call` kept every rank until the last one, which comes late, had come.
// `corrupt`: changes the times as if every rank had left before it came.
template <class Call>
Check check_barrier(const Ranks& ranks, bool corrupt, Call call) {
  if (ranks.rank() == ranks.size() - 1) usleep(1000);
  double came = seconds_of(CLOCK_MONOTONIC_RAW);
  call();
  double left = corrupt ? came - 1 : seconds_of(CLOCK_MONOTONIC_RAW);
  std::vector<double> all = ranks.world().gather({came, left});
  std::map<int, std::pair<double, double>> machines;  // the last one's coming, the first one's leaving
  for (std::size_t r = 0; 2 * r < all.size(); ++r) {
    auto& [last, first] =
        machines.try_emplace(ranks.place(static_cast<int>(r)).first_of_machine, 0, INFINITY).first->second;
    last = std::max(last, all[2 * r]), first = std::min(first, all[2 * r + 1]);
  }
  for (const auto& [machine, times] : machines)
    if (times.first > times.second) return {false, "a rank left the barrier before another had come"};
  return {true, "no rank left the barrier before the last of its machine had come"};
}

}  // namespace steelyard
