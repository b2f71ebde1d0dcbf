// APEX-MAP over an array that is spread over all ranks: each rank reads blocks of other ranks with one-sided
// communication, or sends requests and gets answers.
#include <optional>

#include "spread.h"

using namespace steelyard;

// Reads from windows; the owners of the blocks take no part.
class OneSided {
 public:
  OneSided(Params& p, Ranks& ranks, const SpreadVector& of) : all_(ranks.world()), of_(of) {
    all_or_none(ranks, [&] {
      here_.emplace(of.count * of.L, MemoryPolicy(p), ranks.team());
      need_room(8 * of.M, ranks);
    });
    window_.emplace(ranks.comm(), 8 * of.M, kind_of_window(ranks, ranks.size() - 1));
    auto shift = static_cast<MPI_Aint>(window_->shift());
    shifts_.resize(of.ranks);
    MPI_Allgather(&shift, 1, MPI_AINT, shifts_.data(), 1, MPI_AINT, ranks.comm());
    of.fill(data());
    MPI_Win_lock_all(0, window_->get());
    MPI_Win_sync(window_->get());
    all_.barrier();
  }
  ~OneSided() {
    if (window_) MPI_Win_unlock_all(window_->get());
  }

  double* data() const { return reinterpret_cast<double*>(window_->data()); }
  const double* own_data() const { return here_->data(); }
  // Requests the blocks of other ranks. After `arrive` they are in `here`, in the same order.
  std::size_t request_blocks(const Block* blocks) {
    std::size_t fetched = 0;
    int n = static_cast<int>(of_.L);
    for (std::size_t i = 0; i < of_.count; ++i) {
      if (blocks[i].owner == of_.rank) continue;
      auto at = shifts_[blocks[i].owner] + static_cast<MPI_Aint>(8 * of_.L * blocks[i].number);
      MPI_Get(here_->data() + of_.L * fetched++, n, MPI_DOUBLE, static_cast<int>(blocks[i].owner), at, n, MPI_DOUBLE,
              window_->get());
    }
    return fetched;
  }
  void await_blocks() { MPI_Win_flush_all(window_->get()); }
  // All ranks stay in MPI until all have finished, because some MPIs answer only there.
  void finish_samples() { all_.barrier(); }
  std::vector<Block> order_of_sums(const Block* blocks) const {
    std::vector<Block> others;
    std::copy_if(blocks, blocks + of_.count, std::back_inserter(others), [&](Block b) { return b.owner != of_.rank; });
    return others;
  }

 private:
  const Group& all_;
  const SpreadVector& of_;
  std::optional<Buffer<double>> here_;
  std::optional<Window> window_;
  std::vector<MPI_Aint> shifts_;
};

// Each rank sends the other ranks lists of the blocks that it wants, and answers their lists while it waits.
class TwoSided {
 public:
  TwoSided(Params& p, Ranks& ranks, const SpreadVector& of)
      : of_(of), wanted_(of.count), first_(of.ranks + 1), next_(of.ranks) {
    all_or_none(ranks, [&] {
      mine_.emplace(of.M, MemoryPolicy(p), ranks.team());
      here_.emplace(of.count * of.L, MemoryPolicy(p), ranks.team());
      for (int slot = 0; slot < slots; ++slot) lists_[slot].resize(of.count), answers_[slot].resize(of.count * of.L);
    });
    group_ = ranks.among(true);
    std::string content = join({"part ", of.rank, " of ", of.ranks});
    if (!mine_->still_holds(content)) of.fill(mine_->data());
    mine_->promise(content);
    own_.reserve(2 * of.ranks);
    for (int slot = 0; slot < slots; ++slot) post_request_receive(slot);
  }
  ~TwoSided() {
    for (int slot = 0; slot < slots; ++slot) {
      if (listens_[slot]) MPI_Cancel(&open_[slot]);
      MPI_Wait(&open_[slot], MPI_STATUS_IGNORE);
    }
  }
  TwoSided(const TwoSided&) = delete;
  TwoSided& operator=(const TwoSided&) = delete;

  double* data() const { return mine_->data(); }
  const double* own_data() const { return here_->data(); }
  std::size_t request_blocks(const Block* blocks) {
    sort(blocks);
    own_.clear();
    int words = static_cast<int>(of_.L);
    for (std::size_t owner = 0; owner < of_.ranks; ++owner) {
      int n = static_cast<int>(first_[owner + 1] - first_[owner]), to = static_cast<int>(owner);
      if (n == 0) continue;
      MPI_Request answer, list;
      MPI_Irecv(here_->data() + of_.L * first_[owner], n * words, MPI_DOUBLE, to, answering, group_->comm(), &answer);
      MPI_Isend(&wanted_[first_[owner]], n, MPI_UINT32_T, to, asking, group_->comm(), &list);
      own_.insert(own_.end(), {answer, list});
    }
    return first_[of_.ranks];
  }
  void await_blocks() {
    int done = 0, n = static_cast<int>(own_.size());
    spin_until([&] {
      answer_requests();
      MPI_Testall(n, own_.data(), &done, MPI_STATUSES_IGNORE);
      return done != 0;
    });
  }
  // Answers lists until all ranks have their blocks.
  void finish_samples() {
    MPI_Request all;
    MPI_Ibarrier(group_->comm(), &all);
    int done = 0;
    spin_until([&] {
      answer_requests();
      MPI_Test(&all, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }
  std::vector<Block> order_of_sums(const Block* blocks) {
    sort(blocks);
    std::vector<Block> others;
    for (std::size_t owner = 0; owner < of_.ranks; ++owner)
      for (std::size_t i = first_[owner]; i < first_[owner + 1]; ++i)
        others.push_back({static_cast<std::uint32_t>(owner), wanted_[i]});
    return others;
  }

 private:
  static constexpr int slots = 4;  // lists that can be answered at the same time
  static constexpr int asking = 1, answering = 2;

  // Sorts the numbers of the blocks of other ranks by owner: those of an owner begin at `first_[owner]`.
  void sort(const Block* blocks) {
    std::fill(first_.begin(), first_.end(), 0);
    for (std::size_t i = 0; i < of_.count; ++i) first_[blocks[i].owner + 1] += blocks[i].owner != of_.rank;
    for (std::size_t owner = 0; owner < of_.ranks; ++owner) first_[owner + 1] += next_[owner] = first_[owner];
    for (std::size_t i = 0; i < of_.count; ++i)
      if (blocks[i].owner != of_.rank) wanted_[next_[blocks[i].owner]++] = blocks[i].number;
  }
  void post_request_receive(int slot) {
    listens_[slot] = true;
    MPI_Irecv(lists_[slot].data(), static_cast<int>(of_.count), MPI_UINT32_T, MPI_ANY_SOURCE, asking, group_->comm(),
              &open_[slot]);
  }
  // Every slot has one open request: it waits for a list, or sends the answer.
  void answer_requests() {
    int slot, done;
    MPI_Status status;
    MPI_Testany(slots, open_, &slot, &done, &status);
    if (!done || slot == MPI_UNDEFINED) return;
    if (!listens_[slot]) return post_request_receive(slot);
    int n;
    MPI_Get_count(&status, MPI_UINT32_T, &n);
    double* to = answers_[slot].data();
    for (int i = 0; i < n; ++i, to += of_.L)
      std::memcpy(to, mine_->data() + of_.L * lists_[slot][static_cast<std::size_t>(i)], 8 * of_.L);
    listens_[slot] = false;
    MPI_Isend(answers_[slot].data(), n * static_cast<int>(of_.L), MPI_DOUBLE, status.MPI_SOURCE, answering,
              group_->comm(), &open_[slot]);
  }

  const SpreadVector& of_;
  std::optional<Buffer<double>> mine_, here_;
  std::unique_ptr<Group> group_;
  std::vector<std::uint32_t> wanted_;
  std::vector<std::size_t> first_, next_;
  std::vector<MPI_Request> own_;
  std::vector<std::uint32_t> lists_[slots];
  std::vector<double> answers_[slots];
  MPI_Request open_[slots];
  bool listens_[slots];
};

// One operation is one buffer of indices: 1024 blocks, or fewer if they are long.
template <class Way>
struct ApexMap : SpreadVector {
  Way way;

  ApexMap(Params& p, Ranks& ranks) : SpreadVector(p, ranks), way(p, ranks, *this) {}
  void prepare(std::size_t operations) { draw(operations); }
  void run(std::size_t operations) {
    double sum = 0, read_places = 0;
    for (std::size_t i = 0, at = 0; i < operations; ++i, at = at + 1 == places.size() ? 0 : at + 1) {
      const Block* these = blocks.data() + at * count;
      std::size_t fetched = way.request_blocks(these);
      for (std::size_t k = 0; k < count; ++k)
        if (these[k].owner == rank) sum += sum_of(way.data() + L * these[k].number, L);
      way.await_blocks();
      sum += sum_of(way.own_data(), fetched * L);
      read_places += places[at];
    }
    way.finish_samples();
    judge(sum, read_places, operations);
  }
  // Reads the blocks once more, and compares every word.
  Check check() {
    if (runs == 0) return verdict(false);
    std::size_t fetched = way.request_blocks(blocks.data());
    way.await_blocks();
    std::vector<Block> order = way.order_of_sums(blocks.data());
    bool right = order.size() == fetched;
    std::vector<double> words(way.own_data(), way.own_data() + fetched * L);
    for (std::size_t i = 0; i < count; ++i)
      if (blocks[i].owner == rank) {
        const double* own = way.data() + L * blocks[i].number;
        words.insert(words.end(), own, own + L), order.push_back(blocks[i]);
      }
    way.finish_samples();
    if (corrupt_) words.front() += 1;
    for (std::size_t i = 0; right && i < words.size(); ++i) right = words[i] == value(place(order[i / L]) + i % L);
    return verdict(right);
  }
  void corrupt() { corrupt_ = true; }  // takes effect when the words have arrived

 private:
  bool corrupt_ = false;
};

int main(int argc, char** argv) {
  keep_windows_to_the_transport();
  return serve_ranks(argc, argv,
                     {rank_kernel<ApexMap<OneSided>>("one_sided"), rank_kernel<ApexMap<TwoSided>>("two_sided")});
}
