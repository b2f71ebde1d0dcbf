// Collective operations as the messages that MPI libraries exchange for them. The size decides the algorithm.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "../tracer/format.h"
#include "schedule.h"

namespace steelyard::whatif {

// The ranks of a communicator, and its part in each message's tag. No member list means all ranks.
struct Group {
  std::uint32_t size = 0, own = 0;  // own: the rank's number in it
  const std::vector<std::uint32_t>* members = nullptr;
  std::uint32_t id = 0;

  std::uint32_t rank(std::uint32_t member) const { return members ? (*members)[member] : member; }
};

constexpr std::uint64_t tag_of(std::uint32_t group, std::int32_t tag) {
  return std::uint64_t{group} << 32 | static_cast<std::uint32_t>(tag);
}

// Sizes at which the algorithms change: B of the message, of all messages, and of the message to each rank.
constexpr std::int64_t SHORT_BROADCAST = 12288, SHORT_REDUCE = 2048, SHORT_GATHER = 81920, MIDDLE_GATHER = 524288,
                       SHORT_ALLTOALL = 256, MIDDLE_ALLTOALL = 32768;
constexpr std::uint32_t FEW = 8;  // members, below which trees pay for any size

inline std::int64_t share_of(std::int64_t bytes, std::uint32_t n) { return (bytes + n - 1) / n; }

// A collective as a trace has it: the bytes of all ranks alike, or a number for each rank.
struct Together {
  trace::Collective what;
  std::uint32_t root = 0;
  bool several = false;
  std::vector<std::int64_t> bytes{};

  // The count of `bytes` that rank `own` of `n` must have; 0 if there is no such collective.
  std::size_t count(std::size_t n, std::uint32_t own) const {
    if (!several) return 1;
    switch (what) {
      case trace::Collective::gather:
      case trace::Collective::scatter:
        return own == root ? n : 1;
      case trace::Collective::allgather:
        return n;
      case trace::Collective::alltoall:
        return 2 * n;
      default:
        return 0;
    }
  }
};

// The part that one rank has in collectives of a group. Sizes and limits after Thakur, Rabenseifner, Gropp,
// Optimization of Collective Communication Operations in MPICH, IJHPCA 2005; MPI libraries of today choose by the same
// kinds of rules.
class Collectives {
 public:
  // `stream`: a processor of the rank. A nonblocking collective has one for itself.
  Collectives(Rank& rank, const Group& group, std::size_t stream = 0)
      : rank_(rank), group_(group), n_(group.size), own_(group.own), tag_(tag_of(group.id, -1)), stream_(stream) {}

  void carry_out(const Together& call) { call.several ? carry_out_varied(call) : carry_out_alike(call); }
  // Dissemination (Hensgen, Finkel, Manber 1988).
  void barrier() {
    for (std::uint64_t step = 1; step < n_; step *= 2)
      exchange(shift(own_, static_cast<std::uint32_t>(step)), 0, shift(own_, n_ - static_cast<std::uint32_t>(step)));
  }

 private:
  using Bytes = std::int64_t;
  void carry_out_alike(const Together& call) {
    const Bytes bytes = call.bytes.at(0);
    switch (call.what) {
      case trace::Collective::barrier:
        return barrier();
      case trace::Collective::broadcast:
        return broadcast(call.root, bytes);
      case trace::Collective::reduce:
        return reduce(call.root, bytes);
      case trace::Collective::allreduce:
        return allreduce(bytes);
      case trace::Collective::gather:
        return send_up_tree(call.root, bytes, false);
      case trace::Collective::scatter:
        return send_down_tree(call.root, bytes, false);
      case trace::Collective::allgather:
        return allgather(bytes);
      case trace::Collective::alltoall:
        return alltoall(bytes);
      case trace::Collective::reduce_scatter:
        return reduce_scatter(bytes);
      case trace::Collective::scan:
        return scan(bytes);
      case trace::Collective::last:
        return;
    }
  }
  void carry_out_varied(const Together& call) {
    const auto half = call.bytes.begin() + static_cast<std::ptrdiff_t>(call.bytes.size() / 2);
    switch (call.what) {
      case trace::Collective::gather:
        return own_ == call.root ? gather_all() : send(call.root, call.bytes[0]);
      case trace::Collective::scatter:
        return own_ == call.root ? scatter_all(call.bytes) : receive(call.root);
      case trace::Collective::allgather:
        return allgather(call.bytes);
      case trace::Collective::alltoall:
        return alltoall({call.bytes.begin(), half}, {half, call.bytes.end()});
      default:
        return;
    }
  }
  void broadcast(std::uint32_t root, Bytes bytes) {
    if (bytes < SHORT_BROADCAST || n_ < FEW) return send_down_tree(root, bytes, true);
    const Bytes each = share_of(bytes, n_);
    send_down_tree(root, each, false);
    if (bytes < MIDDLE_GATHER && std::has_single_bit(n_))
      exchange_by_doubling(each, own_, n_, 0);
    else
      send_around_ring(each);
  }
  void reduce(std::uint32_t root, Bytes bytes) {
    if (bytes <= SHORT_REDUCE || n_ < FEW || !std::has_single_bit(n_)) return send_up_tree(root, bytes, true);
    halve_distances(bytes, own_, n_, 0);
    send_up_tree(root, share_of(bytes, n_), false);
  }
  void allreduce(Bytes bytes) {
    std::uint32_t own = own_;
    const std::uint32_t n = fold_to_power_of_two(bytes, own), folded = n_ - n;
    if (own < n) {
      if (bytes <= SHORT_REDUCE || n < 4) {
        for (std::uint32_t bit = 1; bit < n; bit *= 2) {
          const std::uint32_t who = unfold_number(own ^ bit, folded);
          exchange(who, bytes, who);
        }
      } else {
        halve_distances(bytes, own, n, folded);
        exchange_by_doubling(share_of(bytes, n), own, n, folded);
      }
    }
    unfold_from_power_of_two(bytes);
  }
  void allgather(Bytes each) {
    const Bytes whole = each * n_;
    if (whole < MIDDLE_GATHER && std::has_single_bit(n_)) return exchange_by_doubling(each, own_, n_, 0);
    if (whole >= SHORT_GATHER) return send_around_ring(each);
    // Bruck and others, IEEE TPDS 1997: any number of members in ceil(log2 n) steps.
    for (std::uint64_t have = 1; have < n_; have *= 2) {
      const auto step = static_cast<std::uint32_t>(have);
      exchange(shift(own_, n_ - step), each * std::min(step, n_ - step), shift(own_, step));
    }
  }
  void alltoall(Bytes each) {
    if (each <= SHORT_ALLTOALL && n_ >= FEW) {  // Bruck: log2 n steps, each with half of all data
      for (std::uint64_t bit = 1; bit < n_; bit *= 2) {
        Bytes blocks = 0;
        for (std::uint64_t i = bit; i < n_; i += 2 * bit)
          blocks += static_cast<Bytes>(std::min<std::uint64_t>(bit, n_ - i));
        const auto step = static_cast<std::uint32_t>(bit);
        exchange(shift(own_, step), each * blocks, shift(own_, n_ - step));
      }
    } else if (each <= MIDDLE_ALLTOALL) {
      alltoall(std::vector<Bytes>(n_, each), std::vector<Bytes>(n_, each));
    } else {
      for (std::uint32_t i = 1; i < n_; ++i) {
        if (std::has_single_bit(n_))
          exchange(own_ ^ i, each, own_ ^ i);
        else
          exchange(shift(own_, i), each, shift(own_, n_ - i));
      }
    }
  }
  void reduce_scatter(Bytes whole) {
    if (whole < MIDDLE_GATHER && std::has_single_bit(n_)) return halve_distances(whole, own_, n_, 0);
    for (std::uint32_t i = 1; i < n_; ++i) exchange(shift(own_, i), share_of(whole, n_), shift(own_, n_ - i));
  }
  void scan(Bytes bytes) {
    for (std::uint64_t bit = 1; bit < n_; bit *= 2)
      if (const auto partner = own_ ^ static_cast<std::uint32_t>(bit); partner < n_) exchange(partner, bytes, partner);
  }
  // The variant with a number of bytes for each member; the first two numbers are those of the root.
  void gather_all() {
    std::vector<std::uint32_t> posts;
    for (std::uint32_t member = 0; member < n_; ++member)
      if (member != own_) posts.push_back(rank_.post(group_.rank(member), tag_, stream_));
    if (!posts.empty()) rank_.receive_all(posts, stream_);
  }
  void scatter_all(const std::vector<Bytes>& counts) {
    std::vector<std::uint32_t> sent;
    for (std::uint32_t member = 0; member < n_; ++member)
      if (member != own_) sent.push_back(rank_.send(group_.rank(member), tag_, counts[member], stream_));
    for (std::uint32_t number : sent) rank_.sent(number, stream_);
  }
  void allgather(const std::vector<Bytes>& counts) {
    for (std::uint32_t step = 0; step + 1 < n_; ++step)
      exchange(shift(own_, 1), counts[shift(own_, n_ - step)], shift(own_, n_ - 1));
  }
  void alltoall(const std::vector<Bytes>& sent, const std::vector<Bytes>& received) {
    std::vector<std::uint32_t> posts, sends;
    for (std::uint32_t i = 1; i < n_; ++i)
      if (const auto from = shift(own_, n_ - i); received[from] > 0)
        posts.push_back(rank_.post(group_.rank(from), tag_, stream_));
    for (std::uint32_t i = 1; i < n_; ++i)
      if (const auto to = shift(own_, i); sent[to] > 0)
        sends.push_back(rank_.send(group_.rank(to), tag_, sent[to], stream_));
    if (!posts.empty()) rank_.receive_all(posts, stream_);
    for (std::uint32_t number : sends) rank_.sent(number, stream_);
  }
  void send(std::uint32_t to, Bytes bytes) { rank_.sent(rank_.send(group_.rank(to), tag_, bytes, stream_), stream_); }
  void receive(std::uint32_t from) { rank_.receive(rank_.post(group_.rank(from), tag_, stream_), stream_); }
  void exchange(std::uint32_t to, Bytes bytes, std::uint32_t from) {
    const std::uint32_t posted = rank_.post(group_.rank(from), tag_, stream_),
                        sent = rank_.send(group_.rank(to), tag_, bytes, stream_);
    rank_.receive(posted, stream_);
    rank_.sent(sent, stream_);
  }
  std::uint32_t shift(std::uint32_t member, std::uint32_t by) const { return (member + by) % n_; }
  // Returns the member that has this number after the fold to a power of two.
  static std::uint32_t unfold_number(std::uint32_t number, std::uint32_t folded) {
    return number < folded ? 2 * number + 1 : number + folded;
  }
  // A tree in which member `relative` to the root receives from the one without its lowest bit, largest subtree first.
  void send_down_tree(std::uint32_t root, Bytes each, bool whole) {
    const std::uint32_t relative = shift(own_, n_ - root);
    std::uint64_t bit = 1;
    for (; bit < n_; bit *= 2)
      if (relative & bit) {
        receive(shift(root, relative - static_cast<std::uint32_t>(bit)));
        break;
      }
    for (bit /= 2; bit > 0; bit /= 2)
      if (const std::uint64_t child = relative + bit; child < n_)
        send(shift(root, static_cast<std::uint32_t>(child)),
             whole ? each : each * static_cast<Bytes>(std::min<std::uint64_t>(bit, n_ - child)));
  }
  void send_up_tree(std::uint32_t root, Bytes each, bool whole) {
    const std::uint32_t relative = shift(own_, n_ - root);
    for (std::uint64_t bit = 1; bit < n_; bit *= 2) {
      if (relative & bit) {
        const auto below = static_cast<Bytes>(std::min<std::uint64_t>(bit, n_ - relative));
        return send(shift(root, relative - static_cast<std::uint32_t>(bit)), whole ? each : each * below);
      }
      if (relative + bit < n_) receive(shift(root, relative + static_cast<std::uint32_t>(bit)));
    }
  }
  void send_around_ring(Bytes each) {
    for (std::uint32_t step = 1; step < n_; ++step) exchange(shift(own_, 1), each, shift(own_, n_ - 1));
  }
  void exchange_by_doubling(Bytes each, std::uint32_t own, std::uint32_t n, std::uint32_t folded) {
    for (std::uint32_t bit = 1; bit < n; bit *= 2) {
      const std::uint32_t who = unfold_number(own ^ bit, folded);
      exchange(who, each * bit, who);
    }
  }
  void halve_distances(Bytes whole, std::uint32_t own, std::uint32_t n, std::uint32_t folded) {
    for (std::uint32_t bit = n / 2; bit > 0; bit /= 2) {
      const std::uint32_t who = unfold_number(own ^ bit, folded);
      exchange(who, share_of(whole, n) * bit, who);
    }
  }
  // Makes the number of members a power of two: of the first ones, the even give their data to the odd.
  std::uint32_t fold_to_power_of_two(Bytes bytes, std::uint32_t& own) {
    const std::uint32_t n = std::bit_floor(n_), folded = n_ - n;
    if (own_ < 2 * folded) {
      if (own_ % 2 == 0) {
        send(own_ + 1, bytes);
        own = n;  // this rank takes no further part
      } else {
        receive(own_ - 1);
        own = own_ / 2;
      }
    } else {
      own = own_ - folded;
    }
    return n;
  }
  void unfold_from_power_of_two(Bytes bytes) {
    const std::uint32_t folded = n_ - std::bit_floor(n_);
    if (own_ >= 2 * folded) return;
    if (own_ % 2 == 0)
      receive(own_ + 1);
    else
      send(own_ - 1, bytes);
  }

  Rank& rank_;
  const Group& group_;
  const std::uint32_t n_, own_;
  const std::uint64_t tag_;
  const std::size_t stream_;
};

}  // namespace steelyard::whatif
