// Both passes over a rank's file; a part of recorded.cpp.
#pragma once

// From the beginning of the first rank to the end of the last one, s on rank 0's clock.
struct Span {
  double begin = 1e300, end = -1e300;
};
inline double beginning(const RankFile& file) {
  const trace::Header& h = file.header;
  const double since = static_cast<double>(static_cast<std::int64_t>(h.first_ticks - h.begin_ticks) >> h.shift);
  return static_cast<double>(h.begin_ns) * 1e-9 + file.seconds(since) + static_cast<double>(h.offset_begin) * 1e-9;
}

// Learns what other ranks, and records before it, must know.
class First {
 public:
  First(Shared& shared, RankFile& file, Outcomes& out, Recorded& about)
      : file_(file), handles_(shared, file), shared_(shared), out_(out), about_(about) {}

  void read(Span& span) {
    double ticks = 0, computing = 0, tool = 0, preempted = 0;
    std::uint64_t calls = 0;
    bool finished = false, aborted = false;
    for (Event event; file_.next(event);) {
      act(event, preempted);
      if (file_.torn()) break;
      ticks += static_cast<double>(event.gap + event.duration);
      computing += static_cast<double>(event.gap);
      const bool own = event.kind == Record::preempted || event.kind == Record::tool;
      if (own) tool += static_cast<double>(event.duration);
      calls += !own;
      finished |= event.kind == Record::finalize;
      aborted |= event.kind == Record::abort;
    }
    const std::uint32_t rank = file_.header.rank;
    if (!finished) about_.broken.push_back({rank, calls, aborted ? "it called MPI_Abort" : "its trace ends"});
    about_.calls += calls;
    about_.bytes += file_.size();
    about_.computing = std::max(about_.computing, file_.seconds(computing));
    about_.tool = std::max(about_.tool, file_.seconds(tool));
    about_.preempted = std::max(about_.preempted, preempted);
    const double begin = beginning(file_);
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, begin + file_.seconds(ticks));
  }

 private:
  void act(const Event& event, double& preempted) {
    switch (event.kind) {
      case Record::ireceive: {
        const std::int64_t source = file_.folded(), tag = file_.tag();
        Open& open = open_[file_.number()];
        open = {received_++, NONE};
        if (source == ANY || tag == ANY) {
          open.any = out_.any.size();
          out_.any.push_back({Outcome::unknown, static_cast<std::int32_t>(tag), source});
        }
        break;
      }
      case Record::complete:
        for (const Completed& one : completions(file_)) settle(one);
        break;
      case Record::released:
        open_.erase(file_.number());
        break;
      case Record::isend:
        skip(3), open_.erase(file_.number());
        break;
      case Record::send:
        skip(3);
        break;
      case Record::exchange:
        skip(5);
        break;
      case Record::receive:
      case Record::probe:
        skip(2);
        break;
      case Record::collective:
        skip(3);
        break;
      case Record::icollective:
        skip(3), open_.erase(file_.number());
        break;
      case Record::vectors:
      case Record::ivectors:
        skip(2), skip(file_.count());
        if (event.kind == Record::ivectors) open_.erase(file_.number());
        break;
      case Record::communicator:
        handles_.communicator();
        break;
      case Record::window:
        handles_.window(event.communicator);
        break;
      case Record::fence:
        ++handles_.windows(file_.number()).epoch;
        break;
      case Record::put:
      case Record::get: {
        const auto window = handles_.windows(file_.number());
        const std::int64_t target = file_.folded(), bytes = file_.bytes();
        if (file_.torn()) break;
        const std::uint32_t to = handles_.world(handles_.of(event.communicator), target);
        shared_.transfers[{window.id, window.epoch, to}].push_back(
            {file_.header.rank, bytes, event.kind == Record::get});
        break;
      }
      case Record::polled:
        skip(1);
        break;
      case Record::preempted:
        preempted += static_cast<double>(file_.number()) * 1e-9;
        break;
      default:
        break;
    }
  }
  void skip(std::size_t numbers) {
    for (; numbers > 0 && !file_.torn(); --numbers) file_.number();
  }
  void settle(const Completed& one) {
    const auto found = open_.find(one.request);
    if (found == open_.end()) return;
    if (one.ended == trace::Ended::cancelled) out_.cancelled.insert(found->second.number);
    if (found->second.any != NONE) {
      Outcome& outcome = out_.any[found->second.any];
      outcome.what = one.ended == trace::Ended::received && one.source != NOBODY ? Outcome::known : Outcome::none;
      outcome.source = one.source;
      outcome.tag = one.tag;
    }
    open_.erase(found);  // a persistent one begins anew with its next start
  }

  static constexpr std::size_t NONE = ~std::size_t{0};
  struct Open {
    std::uint64_t number;
    std::size_t any;
  };
  RankFile& file_;
  Handles handles_;
  Shared& shared_;
  Outcomes& out_;
  Recorded& about_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::uint64_t received_ = 0;
};

// Makes the rank's program.
class Second {
 public:
  Second(Shared& shared, RankFile& file, const Outcomes& outcomes, Rank& rank, const Span& span)
      : file_(file), handles_(shared, file), shared_(shared), outcomes_(outcomes), rank_(rank) {
    // Who began later than the first has not yet done anything.
    computed_ = static_cast<Time>(std::clamp(beginning(file) - span.begin, 0.0, 2e6) * 1e12);
  }

  // `lengths`, where it is given: of the program after each call.
  void read(std::vector<std::size_t>* lengths) {
    for (Event event; file_.next(event);) {
      act(event);
      if (file_.torn()) break;
      const bool own = event.kind == Record::preempted || event.kind == Record::tool;
      if (lengths && !own) lengths->push_back(rank_.length());
    }
    work();
  }

 private:
  using Bytes = std::int64_t;
  struct Open {
    enum : std::uint8_t { nothing, send, receive, collective } what = nothing;
    std::uint32_t number = 0;  // of the send, the receive, the signal at the end
    std::size_t stream = 0;
  };

  void work() {
    if (computed_ > 0) rank_.compute(computed_);
    computed_ = 0;
  }
  void act(const Event& event) {
    computed_ += file_.time(event.gap);
    switch (event.kind) {
      case Record::send:
      case Record::isend:
        return send(event);
      case Record::receive: {
        const std::int64_t source = file_.folded();
        const std::int32_t tag = file_.tag();
        if (file_.torn()) return;
        work();
        return rank_.receive(post(event, source, tag));
      }
      case Record::ireceive:
        return ireceive(event);
      case Record::exchange:
        return exchange(event);
      case Record::complete:
        return complete();
      case Record::probe:
        file_.folded(), file_.folded();
        return;
      case Record::collective:
      case Record::icollective:
      case Record::vectors:
      case Record::ivectors:
        return together(event);
      case Record::communicator:
        return handles_.communicator();
      case Record::window:
        return handles_.window(event.communicator);
      case Record::put:
      case Record::get:
        return transfer(event);
      case Record::fence:
        return fence(event);
      case Record::released:
        open_.erase(file_.number());
        return;
      case Record::polled:
      case Record::preempted:
        file_.number();
        return;
      default:
        return;
    }
  }

  std::uint32_t post(const Event& event, std::int64_t source, std::int32_t tag) {
    const Members& members = handles_.of(event.communicator);
    return rank_.post(handles_.world(members, source), tag_of(members.id, tag));
  }
  void send(const Event& event) {
    const std::int64_t to = file_.folded();
    const std::int32_t tag = file_.tag();
    const Bytes bytes = file_.bytes();
    const std::uint64_t request = event.kind == Record::isend ? file_.number() : 0;
    if (file_.torn()) return;
    const Members& members = handles_.of(event.communicator);
    const std::uint32_t target = handles_.world(members, to);
    work();
    const std::uint32_t number = rank_.send(target, tag_of(members.id, tag), bytes);
    if (event.kind == Record::send)
      rank_.sent(number);
    else
      open_[request] = {Open::send, number};
  }
  void ireceive(const Event& event) {
    std::int64_t source = file_.folded();
    std::int32_t tag = file_.tag();
    const std::uint64_t request = file_.number(), own = received_++;
    if (file_.torn()) return;
    if (source == ANY || tag == ANY) {
      const Outcome& outcome = outcomes_.any[any_++];
      open_[request] = {};
      if (outcome.what != Outcome::known) return;  // it took no message
      source = outcome.source;
      tag = outcome.tag;
    } else if (outcomes_.cancelled.contains(own)) {
      open_[request] = {};
      return;
    }
    work();
    open_[request] = {Open::receive, post(event, source, tag)};
  }
  void exchange(const Event& event) {
    const std::int64_t to = file_.folded();
    const std::int32_t tag = file_.tag();
    const Bytes bytes = file_.bytes();
    const std::int64_t from = file_.folded();
    const std::int32_t with = file_.tag();
    if (file_.torn()) return;
    work();
    const Members& members = handles_.of(event.communicator);
    const std::uint32_t posted = from == NOBODY ? 0 : post(event, from, with);
    if (to != NOBODY) {
      const std::uint32_t number = rank_.send(handles_.world(members, to), tag_of(members.id, tag), bytes);
      if (from != NOBODY) rank_.receive(posted);
      rank_.sent(number);
    } else if (from != NOBODY) {
      rank_.receive(posted);
    }
  }
  // What was received first, in the order in which it arrives; then what was sent.
  void complete() {
    const auto all = completions(file_);
    if (file_.torn()) return;
    work();
    std::vector<std::uint32_t> posts, sends;
    std::vector<Open> collectives;
    for (const Completed& one : all) {
      const auto found = open_.find(one.request);
      if (found == open_.end()) continue;
      const Open open = found->second;
      if (open.what == Open::receive) posts.push_back(open.number);
      if (open.what == Open::send) sends.push_back(open.number);
      if (open.what == Open::collective) collectives.push_back(open);
      open_.erase(found);
    }
    if (!posts.empty()) rank_.receive_all(posts);
    for (std::uint32_t number : sends) rank_.sent(number);
    for (const Open& open : collectives) {
      rank_.await(open.number, 0);
      free_.push_back(open.stream);
    }
  }

  void together(const Event& event) {
    const bool waits = event.kind == Record::collective || event.kind == Record::vectors;
    const std::uint64_t what = file_.number(), root = file_.number();
    std::vector<Bytes> numbers;
    const bool several = event.kind == Record::vectors || event.kind == Record::ivectors;
    const std::size_t count = several ? file_.count() : 1;
    for (std::size_t i = 0; i < count && !file_.torn(); ++i) numbers.push_back(file_.bytes());
    const std::uint64_t request = waits ? 0 : file_.number();
    if (file_.torn()) return;
    const Members& members = handles_.of(event.communicator);
    const std::size_t n = members.all.size();
    if (what >= static_cast<std::uint64_t>(trace::Collective::last)) file_.refuse("a collective that is not known");
    if (root >= n) file_.refuse("the root of a collective is none of its ranks");
    work();
    std::size_t stream = 0;
    if (!waits) {
      stream = free_.empty() ? ++streams_ : free_.back();
      if (!free_.empty()) free_.pop_back();
      rank_.await(rank_.signal(0), stream);
    }
    const Group group{static_cast<std::uint32_t>(n), members.own, &members.all, members.id};
    if (n > 1) {
      Collectives collectives(rank_, group, stream);
      const auto kind = static_cast<trace::Collective>(what);
      several ? vectors(collectives, kind, static_cast<std::uint32_t>(root), group, numbers)
              : whole(collectives, kind, static_cast<std::uint32_t>(root), numbers[0]);
    }
    if (!waits) open_[request] = {Open::collective, rank_.signal(stream), stream};
  }
  void whole(Collectives& c, trace::Collective what, std::uint32_t root, Bytes bytes) {
    using enum trace::Collective;
    switch (what) {
      case barrier:
        return c.barrier();
      case broadcast:
        return c.broadcast(root, bytes);
      case reduce:
        return c.reduce(root, bytes);
      case allreduce:
        return c.allreduce(bytes);
      case gather:
        return c.gather(root, bytes);
      case scatter:
        return c.scatter(root, bytes);
      case allgather:
        return c.allgather(bytes);
      case alltoall:
        return c.alltoall(bytes);
      case reduce_scatter:
        return c.reduce_scatter(bytes);
      case scan:
        return c.scan(bytes);
      case last:
        return;
    }
  }
  void vectors(Collectives& c, trace::Collective what, std::uint32_t root, const Group& group,
               std::vector<Bytes> numbers) {
    using enum trace::Collective;
    const std::size_t n = group.size;
    if ((what == gather || what == scatter) && group.own != root) {
      if (numbers.size() != 1) file_.refuse("a rank that is no root has one number of bytes");
      const Bytes own = numbers[0];
      numbers.assign(n, 0);
      numbers[group.own] = own;
    }
    if (numbers.size() != (what == alltoall ? 2 * n : n)) file_.refuse("a number of bytes for each rank is expected");
    if (what == gather) return c.gather(root, numbers);
    if (what == scatter) return c.scatter(root, numbers);
    if (what == allgather) return c.allgather(numbers);
    if (what != alltoall) file_.refuse("a collective with a number of bytes for each rank that is not known");
    const auto half = numbers.begin() + static_cast<std::ptrdiff_t>(n);
    c.alltoall(std::vector<Bytes>(numbers.begin(), half), std::vector<Bytes>(half, numbers.end()));
  }

  static constexpr std::int32_t PUT = -2, GOT = -3;
  void transfer(const Event& event) {
    const auto window = handles_.windows(file_.number());
    const std::int64_t target = file_.folded(), bytes = file_.bytes();
    if (file_.torn()) return;
    work();
    const std::uint32_t to = handles_.world(handles_.of(event.communicator), target);
    if (to == file_.header.rank) return;
    if (event.kind == Record::put)
      moved_[window.id].sends.push_back(rank_.send(to, tag_of(window.id, PUT), bytes));
    else
      moved_[window.id].posts.push_back(rank_.post(to, tag_of(window.id, GOT)));
  }
  // Each takes what others have put, gives what they want to get, and waits for its own; then all wait for all.
  void fence(const Event& event) {
    auto& window = handles_.windows(file_.number());
    if (file_.torn()) return;
    work();
    const std::uint32_t own = file_.header.rank;
    Moved moved = std::move(moved_[window.id]);
    moved_[window.id] = {};
    const auto found = shared_.transfers.find({window.id, window.epoch++, own});
    if (found != shared_.transfers.end())
      for (const auto& one : found->second) {
        if (one.origin == own) continue;
        if (one.get)
          moved.sends.push_back(rank_.send(one.origin, tag_of(window.id, GOT), one.bytes));
        else
          moved.posts.push_back(rank_.post(one.origin, tag_of(window.id, PUT)));
      }
    if (!moved.posts.empty()) rank_.receive_all(moved.posts);
    for (std::uint32_t number : moved.sends) rank_.sent(number);
    const Members& members = handles_.of(event.communicator);
    const Group group{static_cast<std::uint32_t>(members.all.size()), members.own, &members.all, window.id};
    Collectives(rank_, group).barrier();
  }

  struct Moved {
    std::vector<std::uint32_t> sends, posts;
  };
  RankFile& file_;
  Handles handles_;
  Shared& shared_;
  const Outcomes& outcomes_;
  Rank& rank_;
  Time computed_ = 0;
  std::unordered_map<std::uint64_t, Open> open_;
  std::unordered_map<std::uint32_t, Moved> moved_;
  std::vector<std::size_t> free_;
  std::size_t streams_ = 0, any_ = 0;
  std::uint64_t received_ = 0;
};
