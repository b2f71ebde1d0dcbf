// A collective of a trace becomes messages: the same bytes of all ranks, or a number for each.
#include "traced_file.h"

namespace steelyard::whatif {
namespace {

void alike(Collectives& c, const Together& call) {
  using enum trace::Collective;
  const std::int64_t bytes = call.bytes.at(0);
  switch (call.what) {
    case barrier:
      return c.barrier();
    case broadcast:
      return c.broadcast(call.root, bytes);
    case reduce:
      return c.reduce(call.root, bytes);
    case allreduce:
      return c.allreduce(bytes);
    case gather:
      return c.gather(call.root, bytes);
    case scatter:
      return c.scatter(call.root, bytes);
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

void varied(Collectives& c, const Group& group, const Together& call, const RankFile& file) {
  using enum trace::Collective;
  const trace::Collective what = call.what;
  const std::size_t n = group.size;
  std::vector<std::int64_t> bytes = call.bytes;
  if ((what == gather || what == scatter) && group.own != call.root) {
    if (bytes.size() != 1) file.refuse("a rank other than the root must have one number of bytes");
    const std::int64_t own = bytes[0];
    bytes.assign(n, 0);
    bytes[group.own] = own;
  }
  if (bytes.size() != (what == alltoall ? 2 * n : n)) file.refuse("expected one number of bytes for each rank");
  if (what == gather) return c.gather(call.root, bytes);
  if (what == scatter) return c.scatter(call.root, bytes);
  if (what == allgather) return c.allgather(bytes);
  if (what != alltoall) file.refuse("an unknown collective with one number of bytes for each rank");
  const auto half = bytes.begin() + static_cast<std::ptrdiff_t>(n);
  c.alltoall(std::vector<std::int64_t>(bytes.begin(), half), std::vector<std::int64_t>(half, bytes.end()));
}

}  // namespace

void write_collective(Collectives collectives, const Group& group, const Together& call, const RankFile& file) {
  if (call.several)
    varied(collectives, group, call, file);
  else
    alike(collectives, call);
}

}  // namespace steelyard::whatif
