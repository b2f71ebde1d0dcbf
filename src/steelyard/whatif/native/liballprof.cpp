// Makes files of ours of Liballprof's: what the calls say, and what follows from all of a rank's calls together.
#include "liballprof.h"

#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "../tracer/format.h"
#include "liballprof_calls.h"
#include "traced_bytes.h"

namespace steelyard::whatif {
namespace {

using trace::Collective;
using Record = trace::Kind;

// What follows from all ranks' files. Liballprof writes the numbers that an MPI has for nobody, and the address of a
// request and not the request.
struct World {
  std::size_t ranks = 0;
  std::optional<std::int64_t> nobody;  // a negative target: MPI_PROC_NULL, for one can send to nothing else
  std::uint64_t step = 8;              // B from one request of an array to the next
  std::set<std::int64_t> ranks_said;   // in the communicators of all ranks, by all files
  std::size_t sayers = 0;              // files that say one
  bool alike = true;                   // each file always says the same rank there

  // Some tracers write the same rank into every file: a file's rank is then the number in its name.
  bool nameless() const { return sayers > 1 && alike && ranks_said.size() == 1; }
};

// Which call completes each request that a rank begins: by number of the request, and of the call, from 1 on.
using Completions = std::vector<std::uint64_t>;

void look(const RankText& rank, World& world) {
  Calls calls(rank.path, rank.text);
  std::optional<std::int64_t> said;
  for (Call call; calls.next(call);) {
    if (call.communicator.size == static_cast<std::int64_t>(world.ranks)) {
      world.alike = world.alike && (!said || *said == call.communicator.rank);
      world.sayers += !said;
      said = call.communicator.rank;
      world.ranks_said.insert(*said);
    }
    if (call.nonblocking() && *call.request % 8 != 0) world.step = 4;
    const bool sends = call.deed == Deed::send || call.deed == Deed::exchange;
    if (sends && call.partners[0] < 0) world.nobody = call.partners[0];
  }
}

// Acts on what is open at the addresses that a call covers.
template <class Requests, class Act>
void each_covered(const Call& call, std::uint64_t step, Requests& open, Act act) {
  const std::uint64_t first = *call.request;
  const auto count = static_cast<std::uint64_t>(call.counts.empty() ? 1 : std::max<std::int64_t>(call.counts[0], 0));
  for (auto at = open.lower_bound(first); at != open.end();) {
    const std::uint64_t away = at->first - first;
    if (away / step >= count) return;
    const auto next = std::next(at);
    if (away % step == 0) act(at);
    at = next;
  }
}

// A wait completes what is open at its addresses. Whether a test did, the file does not say: the last one did before
// the same address is used for another request, or before MPI_Finalize, where no wait comes between.
Completions completed(const RankText& rank, const World& world) {
  struct Open {
    std::size_t request;
    std::uint64_t tested;
  };
  Completions found;
  std::map<std::uint64_t, Open> open;
  const auto settle = [&](const Open& one) { found[one.request] = one.tested; };
  Calls calls(rank.path, rank.text);
  std::uint64_t number = 0;
  for (Call call; calls.next(call);) {
    ++number;
    if (call.nonblocking()) {
      if (const auto before = open.find(*call.request); before != open.end()) settle(before->second);
      open[*call.request] = {found.size(), 0};
      found.push_back(0);
    } else if (call.deed == Deed::wait || call.deed == Deed::released) {
      each_covered(call, world.step, open, [&](auto at) {
        if (call.deed == Deed::wait) found[at->second.request] = number;
        open.erase(at);
      });
    } else if (call.deed == Deed::test) {
      each_covered(call, world.step, open, [&](auto at) { at->second.tested = number; });
    } else if (call.deed == Deed::finalize) {
      for (const auto& [address, one] : open) settle(one);
    }
  }
  return found;
}

class Translation {
 public:
  Translation(const RankText& rank, std::uint32_t number, const World& world, const Completions& completions)
      : calls_(rank.path, rank.text), rank_(number), world_(world), completions_(completions), host_(host(rank.text)) {}

  std::string read() {
    while (calls_.next(call_)) {
      ++number_;
      if (world_.nameless() && call_.communicator.size == static_cast<std::int64_t>(world_.ranks))
        call_.communicator.rank = rank_;
      clock();
      if (call_.deed != Deed::file) act();
    }
    return header() + out_;
  }

 private:
  using Bytes = std::int64_t;
  struct Open {
    std::size_t request;
    bool receive;
    std::int64_t source, tag;
  };

  static std::string host(std::string_view text) {
    constexpr std::string_view BEFORE = "# hostname: ";
    const std::size_t at = text.substr(0, 4096).find(BEFORE);
    if (at == std::string_view::npos) return "";
    const std::string_view rest = text.substr(at + BEFORE.size());
    return std::string(rest.substr(0, std::min(rest.find_first_of(".\n"), sizeof(trace::Header::host) - 1)));
  }
  std::string header() const {
    trace::Header made{};
    std::memcpy(made.magic, trace::MAGIC, sizeof made.magic);
    made.rank = rank_, made.ranks = static_cast<std::uint32_t>(world_.ranks);
    made.finished = finished_;
    made.end_ticks = made.end_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(last_ - first_, 1));
    std::memcpy(made.host, host_.data(), std::min(host_.size(), sizeof made.host - 1));
    return {reinterpret_cast<const char*>(&made), sizeof made};
  }

  // What passed since the end of the call before, and within this one. Of calls to a file all of it is computing.
  void clock() {
    const std::int64_t end = call_.end ? *call_.end : call_.begin.value_or(last_);
    if (number_ == 1) first_ = last_ = returned_ = call_.begin.value_or(end);
    const std::int64_t begin = call_.begin.value_or(last_);
    if (begin < last_) calls_.refuse("the call begins before the one before it has ended");
    if (end < begin) calls_.refuse("the call ends before it begins");
    if (end - first_ > LONGEST_RUN) calls_.refuse("the trace is longer than 23 days");
    gap_ = begin - returned_;
    duration_ = end - begin;
    last_ = end;
    if (call_.deed == Deed::file) return;
    // Between two tests it may compute, or wait just as well. What is short is waiting.
    const bool tests = call_.deed == Deed::test;
    if (tests && tested_ && gap_ < PATIENCE) duration_ += gap_, gap_ = 0;
    tested_ = tests;
    returned_ = end;
  }

  void begin(Record kind) {
    const std::int64_t size = call_.communicator.size;
    bool alone = false;
    if (size > 0) {
      const auto ranks = static_cast<std::int64_t>(world_.ranks);
      alone = size == 1 && ranks > 1;
      if (size > ranks)
        calls_.refuse("a communicator of " + std::to_string(size) + " ranks, and there are files of " +
                      std::to_string(ranks));
      if (size < ranks && !alone)
        calls_.refuse("a communicator of " + std::to_string(size) + " of the " + std::to_string(ranks) +
                      " ranks: the file does not say which these are");
      if (!alone && call_.communicator.rank != rank_)
        calls_.refuse("a communicator of all ranks in another order: the file does not say in which");
    }
    out_.push_back(static_cast<char>(static_cast<unsigned>(kind) | (alone ? trace::OTHER : 0u)));
    number(gap_), number(duration_);
    if (alone) number(1);
  }
  void number(std::int64_t value) { trace::put(out_, static_cast<std::uint64_t>(value)); }
  void folded(std::int64_t value) { trace::put_folded(out_, value); }
  void nothing() { begin(Record::call); }

  bool nobody(std::int64_t partner) const { return partner < 0 && world_.nobody == partner; }
  std::int64_t partner(std::size_t which) const {
    const std::int64_t found = call_.partners[which];
    if (found >= call_.communicator.size)
      calls_.refuse("rank " + std::to_string(found) + " of a communicator of " +
                    std::to_string(call_.communicator.size));
    return found;
  }
  std::int64_t source(std::size_t which) const {
    const std::int64_t found = partner(which);
    if (found < 0 && !nobody(found))
      calls_.refuse("a receive from rank " + std::to_string(found) +
                    ", which is any rank, or none: the file does not say who sent the message");
    return found;
  }
  std::int64_t tag(std::size_t which, bool received) const {
    const std::int64_t found = call_.tags[which];
    if (found < 0)
      calls_.refuse(received ? "a receive with any tag: the file does not say which one the message had"
                             : "a tag lies between 0 and 2^31 - 1");
    return found;
  }
  Bytes bytes(std::size_t which = 0) const { return calls_.bytes(call_.counts[which], call_.sizes[which]); }

  void act() {
    switch (call_.deed) {
      case Deed::send:
        return send();
      case Deed::receive:
        return receive();
      case Deed::exchange:
        return exchange();
      case Deed::wait:
      case Deed::test:
        return complete();
      case Deed::released:
        each_covered(call_, world_.step, open_, [&](auto at) { open_.erase(at); });
        return nothing();
      case Deed::region:
        begin(Record::region);
        return folded(*call_.whole);
      case Deed::finalize:
        finished_ = 1;
        return begin(Record::finalize);
      case Deed::abort:
        finished_ = 2;
        return begin(Record::abort);
      case Deed::nothing:
      case Deed::file:
        return nothing();
      default:
        return together();
    }
  }
  // A request that is begun; none where it is with nobody.
  void open(bool receive, std::int64_t source, std::int64_t tag) {
    open_[*call_.request] = {begun_, receive, source, tag};
    number(static_cast<std::int64_t>(begun_++));
  }
  void open_nothing() {
    open_.erase(*call_.request);
    ++begun_;
    nothing();
  }
  void send() {
    if (partner(0) < 0) return call_.request ? open_nothing() : nothing();
    begin(call_.request ? Record::isend : Record::send);
    folded(partner(0)), folded(tag(0, false)), number(bytes());
    if (call_.request) open(false, 0, 0);
  }
  void receive() {
    if (source(0) < 0) return call_.request ? open_nothing() : nothing();
    begin(call_.request ? Record::ireceive : Record::receive);
    folded(source(0)), folded(tag(0, true));
    if (call_.request) open(true, source(0), tag(0, true));
  }
  void exchange() {
    begin(Record::exchange);
    const bool sends = partner(0) >= 0, receives = source(1) >= 0;
    folded(sends ? partner(0) : trace::NOBODY), folded(sends ? tag(0, false) : 0), number(bytes());
    folded(receives ? source(1) : trace::NOBODY), folded(receives ? tag(1, true) : 0);
  }
  void complete() {
    std::vector<Open> done;
    each_covered(call_, world_.step, open_, [&](auto at) {
      if (completions_[at->second.request] != number_) return;
      done.push_back(at->second);
      open_.erase(at);
    });
    if (done.empty()) return nothing();
    begin(Record::complete);
    number(static_cast<std::int64_t>(done.size()));
    for (const Open& one : done) {
      const auto how = one.receive ? trace::Ended::received : trace::Ended::plain;
      number(static_cast<std::int64_t>(one.request << 2 | static_cast<unsigned>(how)));
      if (one.receive) folded(one.source), folded(one.tag);
    }
  }

  // Both numbers of bytes stand in the call, and MPI_IN_PLACE makes one of them mean nothing.
  static bool in_place(std::uint64_t buffer) { return buffer == 1 || buffer == ~std::uint64_t{0}; }
  bool at_root() const { return call_.whole == call_.communicator.rank; }
  std::vector<Bytes> several(std::size_t list, std::size_t type) const {
    if (call_.lists.size() <= list)
      calls_.refuse(std::string(call_.name) + " cannot be replayed: the file has the address of the counts alone");
    if (call_.lists[list].size() != static_cast<std::size_t>(call_.communicator.size))
      calls_.refuse("a count for each of the " + std::to_string(call_.communicator.size) + " ranks is expected");
    std::vector<Bytes> found;
    for (std::int64_t count : call_.lists[list]) found.push_back(calls_.bytes(count, call_.sizes[type]));
    return found;
  }
  void together() {
    if (call_.whole && (*call_.whole < 0 || *call_.whole >= call_.communicator.size))
      calls_.refuse("the root of a collective is none of its ranks");
    switch (call_.deed) {
      case Deed::barrier:
        return alike(Collective::barrier, 0);
      case Deed::broadcast:
        return alike(Collective::broadcast, bytes());
      case Deed::reduce:
        return alike(Collective::reduce, bytes());
      case Deed::allreduce:
        return alike(Collective::allreduce, bytes());
      case Deed::scan:
        return alike(Collective::scan, bytes());
      case Deed::gather:
        return alike(Collective::gather, bytes(at_root() ? 1 : 0));
      case Deed::scatter:
        return alike(Collective::scatter, bytes(at_root() ? 0 : 1));
      case Deed::allgather:
        return alike(Collective::allgather, bytes(1));
      case Deed::alltoall:
        return alike(Collective::alltoall, bytes(1));
      case Deed::reduce_scatter_block:
        return alike(Collective::reduce_scatter, calls_.bytes(call_.communicator.size, bytes()));
      case Deed::reduce_scatter:
        return alike(Collective::reduce_scatter, sum(several(0, 0)));
      case Deed::gather_several:
        return varied(Collective::gather, at_root() ? several(0, 1) : std::vector{bytes(0)});
      case Deed::scatter_several:
        return varied(Collective::scatter,
                      at_root() ? several(0, 0) : std::vector{calls_.bytes(call_.counts[0], call_.sizes[1])});
      case Deed::allgather_several:
        return varied(Collective::allgather, several(0, 1));
      default:
        return alltoall_several();
    }
  }
  void alltoall_several() {
    const std::vector<Bytes> received = several(2, 1);
    std::vector<Bytes> all = in_place(call_.buffers[0]) ? received : several(0, 0);
    all.insert(all.end(), received.begin(), received.end());
    varied(Collective::alltoall, all);
  }
  Bytes sum(const std::vector<Bytes>& all) const {
    Bytes whole = 0;
    for (Bytes each : all) whole = std::min(whole + each, MOST_BYTES);
    return whole;
  }
  void what(Record kind, Collective which) {
    begin(kind);
    number(static_cast<std::int64_t>(which)), number(call_.whole.value_or(0));
  }
  void alike(Collective which, Bytes bytes) {
    what(call_.request ? Record::icollective : Record::collective, which);
    number(bytes);
    if (call_.request) open(false, 0, 0);
  }
  void varied(Collective which, const std::vector<Bytes>& all) {
    what(call_.request ? Record::ivectors : Record::vectors, which);
    number(static_cast<std::int64_t>(all.size()));
    for (Bytes each : all) number(each);
    if (call_.request) open(false, 0, 0);
  }

  static constexpr std::int64_t LONGEST_RUN = 1'900'000'000'000'000;  // ns
  static constexpr std::int64_t PATIENCE = 10'000;                    // ns, as our own tracer's
  Calls calls_;
  Call call_;
  const std::uint32_t rank_;
  const World& world_;
  const Completions& completions_;
  const std::string host_;
  std::string out_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t number_ = 0;
  std::size_t begun_ = 0;
  std::uint32_t finished_ = 0;
  // ns: the first moment, the end of the last call, that of the last one which was no file's; of the call itself
  std::int64_t first_ = 0, last_ = 0, returned_ = 0, gap_ = 0, duration_ = 0;
  bool tested_ = false;
};

}  // namespace

std::vector<std::string> translate(const std::vector<RankText>& ranks) {
  World world;
  world.ranks = ranks.size();
  for (const RankText& rank : ranks) look(rank, world);
  std::vector<std::string> made;
  for (std::uint32_t number = 0; number < ranks.size(); ++number) {
    const Completions completions = completed(ranks[number], world);
    made.push_back(Translation(ranks[number], number, world, completions).read());
  }
  return made;
}

std::vector<std::string> translate(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  std::vector<RankText> ranks;
  texts.reserve(paths.size());  // the views stay where they are
  for (const std::string& path : paths) {
    texts.push_back(contents(path));
    ranks.push_back({path, texts.back()});
  }
  return translate(ranks);
}

}  // namespace steelyard::whatif
