// The algorithms: trees, rings, recursive doubling and halving, pairwise exchange.
#include "collectives.h"

#include <algorithm>
#include <bit>

namespace steelyard::whatif {
namespace {

// Sizes at which the algorithms change: B of the message, of all messages, and of the message to each rank.
constexpr std::int64_t SHORT_BROADCAST = 12288, SHORT_REDUCE = 2048, SHORT_GATHER = 81920, MIDDLE_GATHER = 524288,
                       SHORT_ALLTOALL = 256, MIDDLE_ALLTOALL = 32768;
constexpr std::uint32_t FEW = 8;  // members, below which trees pay for any size

std::int64_t part(std::int64_t bytes, std::uint32_t n) { return (bytes + n - 1) / n; }

}  // namespace

std::size_t Together::count(std::size_t n, std::uint32_t own) const {
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

void Collectives::carry_out(const Together& call) { call.several ? varied(call) : alike(call); }

void Collectives::alike(const Together& call) {
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
      return up(call.root, bytes, false);
    case trace::Collective::scatter:
      return down(call.root, bytes, false);
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

void Collectives::varied(const Together& call) {
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

void Collectives::send(std::uint32_t to, Bytes bytes) {
  rank_.sent(rank_.send(group_.rank(to), tag_, bytes, stream_), stream_);
}
void Collectives::receive(std::uint32_t from) { rank_.receive(rank_.post(group_.rank(from), tag_, stream_), stream_); }
void Collectives::exchange(std::uint32_t to, Bytes bytes, std::uint32_t from) {
  const std::uint32_t posted = rank_.post(group_.rank(from), tag_, stream_),
                      sent = rank_.send(group_.rank(to), tag_, bytes, stream_);
  rank_.receive(posted, stream_);
  rank_.sent(sent, stream_);
}

// Dissemination (Hensgen, Finkel, Manber 1988).
void Collectives::barrier() {
  for (std::uint64_t step = 1; step < n_; step *= 2)
    exchange(moved(own_, static_cast<std::uint32_t>(step)), 0, moved(own_, n_ - static_cast<std::uint32_t>(step)));
}

void Collectives::broadcast(std::uint32_t root, Bytes bytes) {
  if (bytes < SHORT_BROADCAST || n_ < FEW) return down(root, bytes, true);
  const Bytes each = part(bytes, n_);
  down(root, each, false);
  if (bytes < MIDDLE_GATHER && std::has_single_bit(n_))
    doubling(each, own_, n_, 0);
  else
    ring(each);
}

void Collectives::reduce(std::uint32_t root, Bytes bytes) {
  if (bytes <= SHORT_REDUCE || n_ < FEW || !std::has_single_bit(n_)) return up(root, bytes, true);
  halving(bytes, own_, n_, 0);
  up(root, part(bytes, n_), false);
}

void Collectives::allreduce(Bytes bytes) {
  std::uint32_t own = own_;
  const std::uint32_t n = fold(bytes, own), folded = n_ - n;
  if (own < n) {
    if (bytes <= SHORT_REDUCE || n < 4) {
      for (std::uint32_t bit = 1; bit < n; bit *= 2) {
        const std::uint32_t who = unfolded(own ^ bit, folded);
        exchange(who, bytes, who);
      }
    } else {
      halving(bytes, own, n, folded);
      doubling(part(bytes, n), own, n, folded);
    }
  }
  unfold(bytes);
}

void Collectives::allgather(Bytes each) {
  const Bytes whole = each * n_;
  if (whole < MIDDLE_GATHER && std::has_single_bit(n_)) return doubling(each, own_, n_, 0);
  if (whole >= SHORT_GATHER) return ring(each);
  // Bruck and others, IEEE TPDS 1997: any number of members in ceil(log2 n) steps.
  for (std::uint64_t have = 1; have < n_; have *= 2) {
    const auto step = static_cast<std::uint32_t>(have);
    exchange(moved(own_, n_ - step), each * std::min(step, n_ - step), moved(own_, step));
  }
}

void Collectives::alltoall(Bytes each) {
  if (each <= SHORT_ALLTOALL && n_ >= FEW) {  // Bruck: log2 n steps, each with half of all data
    for (std::uint64_t bit = 1; bit < n_; bit *= 2) {
      Bytes blocks = 0;
      for (std::uint64_t i = bit; i < n_; i += 2 * bit)
        blocks += static_cast<Bytes>(std::min<std::uint64_t>(bit, n_ - i));
      const auto step = static_cast<std::uint32_t>(bit);
      exchange(moved(own_, step), each * blocks, moved(own_, n_ - step));
    }
  } else if (each <= MIDDLE_ALLTOALL) {
    alltoall(std::vector<Bytes>(n_, each), std::vector<Bytes>(n_, each));
  } else {
    for (std::uint32_t i = 1; i < n_; ++i) {
      if (std::has_single_bit(n_))
        exchange(own_ ^ i, each, own_ ^ i);
      else
        exchange(moved(own_, i), each, moved(own_, n_ - i));
    }
  }
}

void Collectives::reduce_scatter(Bytes whole) {
  if (whole < MIDDLE_GATHER && std::has_single_bit(n_)) return halving(whole, own_, n_, 0);
  for (std::uint32_t i = 1; i < n_; ++i) exchange(moved(own_, i), part(whole, n_), moved(own_, n_ - i));
}

void Collectives::scan(Bytes bytes) {
  for (std::uint64_t bit = 1; bit < n_; bit *= 2)
    if (const auto partner = own_ ^ static_cast<std::uint32_t>(bit); partner < n_) exchange(partner, bytes, partner);
}

void Collectives::gather_all() {
  std::vector<std::uint32_t> posts;
  for (std::uint32_t member = 0; member < n_; ++member)
    if (member != own_) posts.push_back(rank_.post(group_.rank(member), tag_, stream_));
  if (!posts.empty()) rank_.receive_all(posts, stream_);
}

void Collectives::scatter_all(const std::vector<Bytes>& counts) {
  std::vector<std::uint32_t> sent;
  for (std::uint32_t member = 0; member < n_; ++member)
    if (member != own_) sent.push_back(rank_.send(group_.rank(member), tag_, counts[member], stream_));
  for (std::uint32_t number : sent) rank_.sent(number, stream_);
}

void Collectives::allgather(const std::vector<Bytes>& counts) {
  for (std::uint32_t step = 0; step + 1 < n_; ++step)
    exchange(moved(own_, 1), counts[moved(own_, n_ - step)], moved(own_, n_ - 1));
}

void Collectives::alltoall(const std::vector<Bytes>& sent, const std::vector<Bytes>& received) {
  std::vector<std::uint32_t> posts, sends;
  for (std::uint32_t i = 1; i < n_; ++i)
    if (const auto from = moved(own_, n_ - i); received[from] > 0)
      posts.push_back(rank_.post(group_.rank(from), tag_, stream_));
  for (std::uint32_t i = 1; i < n_; ++i)
    if (const auto to = moved(own_, i); sent[to] > 0)
      sends.push_back(rank_.send(group_.rank(to), tag_, sent[to], stream_));
  if (!posts.empty()) rank_.receive_all(posts, stream_);
  for (std::uint32_t number : sends) rank_.sent(number, stream_);
}

void Collectives::down(std::uint32_t root, Bytes each, bool whole) {
  const std::uint32_t relative = moved(own_, n_ - root);
  std::uint64_t bit = 1;
  for (; bit < n_; bit *= 2)
    if (relative & bit) {
      receive(moved(root, relative - static_cast<std::uint32_t>(bit)));
      break;
    }
  for (bit /= 2; bit > 0; bit /= 2)
    if (const std::uint64_t child = relative + bit; child < n_)
      send(moved(root, static_cast<std::uint32_t>(child)),
           whole ? each : each * static_cast<Bytes>(std::min<std::uint64_t>(bit, n_ - child)));
}

void Collectives::up(std::uint32_t root, Bytes each, bool whole) {
  const std::uint32_t relative = moved(own_, n_ - root);
  for (std::uint64_t bit = 1; bit < n_; bit *= 2) {
    if (relative & bit) {
      const auto below = static_cast<Bytes>(std::min<std::uint64_t>(bit, n_ - relative));
      return send(moved(root, relative - static_cast<std::uint32_t>(bit)), whole ? each : each * below);
    }
    if (relative + bit < n_) receive(moved(root, relative + static_cast<std::uint32_t>(bit)));
  }
}

void Collectives::ring(Bytes each) {
  for (std::uint32_t step = 1; step < n_; ++step) exchange(moved(own_, 1), each, moved(own_, n_ - 1));
}

void Collectives::doubling(Bytes each, std::uint32_t own, std::uint32_t n, std::uint32_t folded) {
  for (std::uint32_t bit = 1; bit < n; bit *= 2) {
    const std::uint32_t who = unfolded(own ^ bit, folded);
    exchange(who, each * bit, who);
  }
}

void Collectives::halving(Bytes whole, std::uint32_t own, std::uint32_t n, std::uint32_t folded) {
  for (std::uint32_t bit = n / 2; bit > 0; bit /= 2) {
    const std::uint32_t who = unfolded(own ^ bit, folded);
    exchange(who, part(whole, n) * bit, who);
  }
}

// Makes the number of members a power of two: of the first ones, the even give their data to the odd.
std::uint32_t Collectives::fold(Bytes bytes, std::uint32_t& own) {
  const std::uint32_t n = std::bit_floor(n_), folded = n_ - n;
  if (own_ < 2 * folded) {
    if (own_ % 2 == 0) {
      send(own_ + 1, bytes);
      own = n;  // takes no part
    } else {
      receive(own_ - 1);
      own = own_ / 2;
    }
  } else {
    own = own_ - folded;
  }
  return n;
}

void Collectives::unfold(Bytes bytes) {
  const std::uint32_t folded = n_ - std::bit_floor(n_);
  if (own_ >= 2 * folded) return;
  if (own_ % 2 == 0)
    receive(own_ + 1);
  else
    send(own_ - 1, bytes);
}

}  // namespace steelyard::whatif
