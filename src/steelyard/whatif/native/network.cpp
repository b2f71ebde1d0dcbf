// Says which messages have rendezvous and which class each belongs to.
#include "network.h"

namespace steelyard::whatif {
namespace {

class Preparing {
 public:
  Preparing(const Schedule& schedule, const Structure& structure)
      : schedule_(schedule), out_{&schedule, structure, {}, {}, 0, {}, {}} {
    if (schedule.sizes.size() * CLASSES >> Op::SIZES)
      throw Refused("messages have more than 33 million different sizes");
    for (std::int64_t size : schedule.sizes)
      if (size > structure.eager) number_.resize(schedule.source.size(), NONE);
  }

  Prepared done() {
    out_.ops.reserve(schedule_.ops.size());
    for (std::size_t at = 0, stream = 0; at < schedule_.ops.size(); ++at) {
      if (stream < schedule_.begins.size() && schedule_.begins[stream] == at) {
        out_.begins.push_back(out_.ops.size());
        ++stream;
      }
      add(schedule_.ops[at]);
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t NONE = ~0u;

  void add(Op op) {
    switch (Kind kind = op.kind()) {
      case Kind::send:
      case Kind::sent:
      case Kind::post:
      case Kind::receive: {
        std::uint32_t size = op.size() * CLASSES + between(op.message());
        if (schedule_.sizes[op.size()] > out_.structure.eager) {
          if (kind == Kind::send) kind = Kind::send_rendezvous;
          if (kind == Kind::receive) kind = Kind::receive_rendezvous;
          out_.ops.push_back(Op::of(kind, size, numbered(op.message())));
        } else if (kind == Kind::send || kind == Kind::receive) {
          out_.ops.push_back(Op::of(kind, size, op.message()));
        }
        break;
      }
      default:
        out_.ops.push_back(op);
    }
  }
  std::uint32_t between(std::uint32_t message) const {
    return out_.between(schedule_.source[message], schedule_.target[message]);
  }
  std::uint32_t numbered(std::uint32_t message) {
    if (number_[message] == NONE) {
      number_[message] = out_.rendezvous++;
      out_.source.push_back(schedule_.source[message]);
      out_.target.push_back(schedule_.target[message]);
    }
    return number_[message];
  }

  const Schedule& schedule_;
  Prepared out_;
  std::vector<std::uint32_t> number_;
};

}  // namespace

Prepared prepare(const Schedule& schedule, const Structure& structure) { return Preparing(schedule, structure).done(); }

}  // namespace steelyard::whatif
