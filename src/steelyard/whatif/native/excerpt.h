// A part of a trace: the operations of the ranks in some regions, as if all ranks began the part together.
#pragma once
#include <algorithm>

#include "schedule.h"

namespace steelyard::whatif {

struct Excerpt {
  std::uint64_t first = 0, last = 0;  // the regions
  std::uint64_t crossing = 0;         // messages with one end inside and one end outside
};

class ExcerptBuilder {
 public:
  ExcerptBuilder(const Schedule& whole, Excerpt& about)
      : whole_(whole),
        about_(about),
        sent_(whole.source.size(), nowhere),
        taken_(whole.source.size(), nowhere),
        begun_(whole.signals, false),
        number_(whole.source.size(), 0) {}

  Schedule done() {
    each([&](Op op, bool inside, std::size_t) { note_operation(op, inside); });
    if (!any_)
      throw Refused("the trace has no region from " + std::to_string(about_.first) + " to " +
                    std::to_string(about_.last) + ". The greatest region is " + std::to_string(greatest_));
    number_messages();
    out_.ranks = whole_.ranks;
    out_.rank_of = whole_.rank_of;
    out_.sizes = whole_.sizes;
    out_.signals = whole_.signals;
    begins_.clear();
    each([&](Op op, bool inside, std::size_t at) { place_operation(op, inside, at); });
    out_.begins.assign(begins_.begin(), begins_.end());
    return std::move(out_);
  }

 private:
  enum Where : std::uint8_t { nowhere, outside, within };

  // Calls `act` with each operation, whether it is within, and where it stands. What goes on beside the rank's program
  // (a collective that was begun) belongs to where it was begun.
  template <class Act>
  void each(Act act) {
    for (std::size_t stream = 0; stream < whole_.begins.size(); ++stream) {
      const bool first = stream == 0 || whole_.rank_of[stream] != whole_.rank_of[stream - 1];
      bool inside = is_in_region(0);
      begins_.push_back(out_.ops.size());
      for (std::size_t at = whole_.begins[stream];; ++at) {
        const Op op = whole_.ops[at];
        if (op.kind() == Kind::region) inside = is_in_region(op.value());
        if (op.kind() == Kind::await && !first) inside = begun_[signal_index(op)];
        act(op, inside, at);
        if (op.kind() == Kind::end) break;
      }
    }
  }
  bool is_in_region(std::uint64_t region) {
    greatest_ = std::max(greatest_, region);
    return about_.first <= region && region <= about_.last;
  }
  std::size_t signal_index(Op op) const { return op.message() - whole_.source.size(); }

  void note_operation(Op op, bool inside) {
    any_ |= inside;
    const Where where = inside ? within : outside;
    if (op.kind() == Kind::send) sent_[op.message()] = where;
    if (op.kind() == Kind::receive) taken_[op.message()] = where;
    if (op.kind() == Kind::signal) begun_[signal_index(op)] = inside;
  }
  // A message that is sent inside and never received is kept.
  bool is_kept(std::uint32_t m) const { return sent_[m] == within && taken_[m] != outside; }
  void number_messages() {
    for (std::uint32_t m = 0; m < sent_.size(); ++m) {
      about_.crossing += sent_[m] != taken_[m] && taken_[m] != nowhere;
      if (!is_kept(m)) continue;
      number_[m] = static_cast<std::uint32_t>(out_.source.size());
      out_.source.push_back(whole_.source[m]);
      out_.target.push_back(whole_.target[m]);
      out_.unreceived += taken_[m] == nowhere;
    }
  }

  void place_operation(Op op, bool inside, std::size_t at) {
    switch (op.kind()) {
      case Kind::compute:
        if (!inside) return;
        ++out_.computes;
        break;
      case Kind::send:
        if (!is_kept(op.message())) return;
        ++out_.sends;
        out_.bytes += whole_.sizes[op.size()];
        return add(op);
      case Kind::post:  // a receive that was posted before the region is still open when the region begins
        if (is_kept(op.message())) add(op);
        return;
      case Kind::sent:
        if (inside && is_kept(op.message())) add(op);
        return;
      case Kind::receive:
        if (!inside || !is_kept(op.message())) return;
        ++out_.receives;
        return add(op);
      case Kind::receive_all:
        return add_receive_all(op, inside, at);
      case Kind::signal:
      case Kind::await:
        if (!inside || !begun_[signal_index(op)]) return;
        op = Op::of(op.kind(), 0, static_cast<std::uint32_t>(out_.source.size() + signal_index(op)));
        break;
      default:
        break;
    }
    out_.ops.push_back(op);
  }
  void add(Op op) { out_.ops.push_back(Op::of(op.kind(), op.size(), number_[op.message()])); }
  // Keeps the remaining receives of a group that is completed together.
  void add_receive_all(Op op, bool inside, std::size_t at) {
    std::uint64_t left = 0;
    for (std::size_t i = at + 1; inside && i <= at + op.value(); ++i) left += is_kept(whole_.ops[i].message());
    if (left > 1) out_.ops.push_back(Op::of(Kind::receive_all, left));
  }

  const Schedule& whole_;
  Excerpt& about_;
  std::vector<Where> sent_, taken_;  // by message
  std::vector<bool> begun_;          // by signal: whether it is given within
  std::vector<std::uint32_t> number_;
  std::vector<std::uint64_t> begins_;
  std::uint64_t greatest_ = 0;
  bool any_ = false;
  Schedule out_;
};

// Leaves out messages across the border: they cost nothing, and no rank waits for them. Throws if there is no such
// region.
inline Schedule excerpt(const Schedule& whole, Excerpt& about) { return ExcerptBuilder(whole, about).done(); }

}  // namespace steelyard::whatif
