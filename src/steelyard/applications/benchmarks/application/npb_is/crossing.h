// Sends keys from every rank to every other rank in blocks. A block is sent when it is full and used when it arrives,
// so it lies in a cache both times.
#pragma once
#include <algorithm>
#include <vector>

#include "keys.h"
#include "ranks.h"

namespace steelyard::npb {

class KeyExchange {
 public:
  // `keys`: the number of keys of a rank, which must fit into some thousand blocks.
  KeyExchange(const Ranks& ranks, std::size_t keys)
      : comm_(ranks.comm()),
        me_(static_cast<std::size_t>(ranks.rank())),
        block_(std::max<std::size_t>(65536, keys / 1024)),  // 256 KiB: the best of 16 KiB to 1 MiB
        lanes_(static_cast<std::size_t>(ranks.size())),
        blocks_(asked * lanes_.size()),
        coming_(blocks_.size(), MPI_REQUEST_NULL),
        come_(blocks_.size()) {}

  // Starts an exchange. The keys for each rank are packed from `packed` on, with `apart` between ranks; keys from other
  // ranks go to `received`. All ranks call it. Returns the number of keys that arrive.
  std::size_t begin(const std::vector<int>& sends, Key* packed, std::size_t apart, Key* received) {
    std::vector<int> receives(lanes_.size());
    MPI_Request request;
    MPI_Ialltoall(sends.data(), 1, MPI_INT, receives.data(), 1, MPI_INT, comm_, &request);
    complete(1, &request);
    Key* const first = received;
    for (std::size_t r = 0; r < lanes_.size(); ++r) {
      lanes_[r] = {packed, packed, received, received + (r == me_ ? 0 : receives[r])};
      packed += static_cast<std::size_t>(sends[r]) + apart;
      received = lanes_[r].last;
    }
    open_ = static_cast<std::size_t>(received - first);
    for (std::size_t i = 0; i < blocks_.size(); ++i) request_block(i % lanes_.size(), i);
    return open_;
  }
  // Returns the place of the next key for a rank.
  Key*& packed(std::size_t rank) { return lanes_[rank].packed; }
  // Sends the full blocks for a rank.
  void send_full(std::size_t to) { send_blocks(to, block_); }
  // Sends the remaining keys. Each rank begins with its next rank, so that not all send to the same one.
  void send_rest() {
    for (std::size_t r = 1; r < lanes_.size(); ++r) send_blocks((me_ + r) % lanes_.size(), 1);
  }
  // Calls use(first, last) for the blocks that have arrived. Returns whether no more blocks will come.
  template <class Use>
  bool use_arrived_blocks(Use use) {
    int some = 0;
    MPI_Testsome(static_cast<int>(coming_.size()), coming_.data(), &some, come_.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < some; ++i) {  // MPI_UNDEFINED, the value without open requests, is negative
      auto at = static_cast<std::size_t>(come_[static_cast<std::size_t>(i)]);
      Block got = blocks_[at];
      request_block(got.lane, at);
      use(got.first, got.first + got.keys);
      open_ -= got.keys;
    }
    return open_ == 0;
  }
  // Receives all remaining blocks, and waits until all blocks are sent.
  template <class Use>
  void finish(Use use) {
    spin_until([&] { return use_arrived_blocks(use); });
    complete(static_cast<int>(going_.size()), going_.data());
    going_.clear();
  }

 private:
  static constexpr std::size_t asked = 4;  // requested blocks from each rank at the same time
  struct Lane {
    Key *sent, *packed;  // ends of the keys that are being sent to the rank, and of the packed keys
    Key *next, *last;    // for keys from the rank: where the next block goes, and where the last block ends
  };
  struct Block {
    std::size_t lane;
    Key* first;
    std::size_t keys;
  };

  void send_blocks(std::size_t to, std::size_t least) {
    Lane& lane = lanes_[to];
    while (static_cast<std::size_t>(lane.packed - lane.sent) >= least) {
      std::size_t keys = std::min(block_, static_cast<std::size_t>(lane.packed - lane.sent));
      going_.emplace_back();
      MPI_Isend(lane.sent, static_cast<int>(keys), MPI_UINT32_T, static_cast<int>(to), 0, comm_, &going_.back());
      lane.sent += keys;
    }
  }
  // Requests the next block from a rank, if there is one, as request `i` of this rank.
  void request_block(std::size_t from, std::size_t i) {
    Lane& lane = lanes_[from];
    blocks_[i] = {from, lane.next, std::min(block_, static_cast<std::size_t>(lane.last - lane.next))};
    if (blocks_[i].keys == 0) return;
    MPI_Irecv(lane.next, static_cast<int>(blocks_[i].keys), MPI_UINT32_T, static_cast<int>(from), 0, comm_,
              &coming_[i]);
    lane.next += blocks_[i].keys;
  }

  MPI_Comm comm_;
  std::size_t me_, block_, open_ = 0;  // open_: keys that have not arrived yet
  std::vector<Lane> lanes_;
  std::vector<Block> blocks_;
  std::vector<MPI_Request> coming_, going_;
  std::vector<int> come_;
};

}  // namespace steelyard::npb
