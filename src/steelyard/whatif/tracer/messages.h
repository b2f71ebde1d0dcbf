// Messages between two ranks: what is sent and received, and what completes it.
#pragma once
#include "life.h"

namespace steelyard::trace {

// An array that is on the stack where it is short.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t size) : all_(size <= SHORT ? few_ : static_cast<T*>(std::malloc(size * sizeof(T)))) {
    if (!all_) std::abort();
  }
  ~Scratch() {
    if (all_ != few_) std::free(all_);
  }
  Scratch(const Scratch&) = delete;
  T& operator[](std::size_t i) { return all_[i]; }
  T* data() { return all_; }

 private:
  static constexpr std::size_t SHORT = 64;
  T few_[SHORT];
  T* all_;
};

// Returns whether the trace knows the communicator. Only the time of messages to another MPI_COMM_WORLD is recorded.
inline bool foreign(std::uint32_t communicator) { return communicator == ~0u; }

inline void sent(const Call& call, int to, int tag, std::int64_t count, MPI_Datatype type, MPI_Comm c, int code) {
  const std::uint32_t communicator = number_of(c);
  if (code != MPI_SUCCESS || to == MPI_PROC_NULL || foreign(communicator)) return plain(call);
  call.begin(Kind::send, communicator);
  state.stream.folded(to);
  state.stream.folded(tag);
  state.stream.put(static_cast<std::uint64_t>(bytes_of(count, type)));
  state.stream.done();
}

inline void received(const Call& call, const MPI_Status* status, std::uint32_t communicator, int code) {
  if (code != MPI_SUCCESS || status->MPI_SOURCE == MPI_PROC_NULL || foreign(communicator)) return plain(call);
  call.begin(Kind::receive, communicator);
  state.stream.folded(status->MPI_SOURCE);
  state.stream.folded(status->MPI_TAG);
  state.stream.done();
}

inline void record_probe(const Call& call, const MPI_Status* status, MPI_Comm c) {
  const std::uint32_t communicator = number_of(c);
  if (status->MPI_SOURCE == MPI_PROC_NULL || foreign(communicator)) return plain(call);
  call.begin(Kind::probe, communicator);
  state.stream.folded(status->MPI_SOURCE);
  state.stream.folded(status->MPI_TAG);
  state.stream.done();
}

inline void exchanged(const Call& call, int to, int tag, std::int64_t bytes, const MPI_Status* status, MPI_Comm c) {
  const std::uint32_t communicator = number_of(c);
  if (foreign(communicator)) return plain(call);
  call.begin(Kind::exchange, communicator);
  state.stream.folded(partner_of(to));
  state.stream.folded(tag);
  state.stream.put(static_cast<std::uint64_t>(bytes));
  state.stream.folded(partner_of(status->MPI_SOURCE));
  state.stream.folded(status->MPI_SOURCE == MPI_PROC_NULL ? 0 : status->MPI_TAG);
  state.stream.done();
}

// The record of what a request has begun.
inline void begun(const Call& call, Request& request) {
  request.active = true;
  if (request.partner == MPI_PROC_NULL || foreign(request.communicator)) {
    request.what = Request::other;
    return plain(call);
  }
  call.begin(request.what == Request::send ? Kind::isend : Kind::ireceive, request.communicator);
  state.stream.folded(request.what == Request::send ? request.partner : partner_of(request.partner));
  state.stream.folded(tag_of(request.tag));
  if (request.what == Request::send) state.stream.put(static_cast<std::uint64_t>(request.bytes));
  state.stream.put(request.number);
  state.stream.done();
}

inline Request made(Request::What what, int partner, int tag, std::int64_t count, MPI_Datatype type, MPI_Comm c) {
  Request request{};
  request.what = what;
  request.partner = partner;
  request.tag = tag;
  request.bytes = bytes_of(count, type);
  request.communicator = number_of(c);
  request.any = what == Request::receive && (partner == MPI_ANY_SOURCE || tag == MPI_ANY_TAG);
  request.number = state.request_numbers.take();
  return request;
}
// A request that is none of a message: its completion is recorded.
inline Request other(Request::What what) {
  Request request{};
  request.what = what;
  request.active = true;
  request.number = state.request_numbers.take();
  return request;
}
inline void posted(const Call& call, Request request, MPI_Request handle, int code) {
  if (code != MPI_SUCCESS) return plain(call);
  begun(call, request);
  state.requests.insert(word(handle), request);
}
inline void prepared(const Call& call, Request request, MPI_Request handle, int code) {
  plain(call);
  if (code != MPI_SUCCESS) return;
  request.persistent = true;
  state.requests.insert(word(handle), request);
}
inline void started(const Call& call, MPI_Request handle) {
  Request* request = state.requests.find(word(handle));
  if (request) begun(call, *request);
}

// Nonblocking calls that are not messages of the model; their requests are known.
inline void pending(const Call& call, MPI_Request* request) {
  plain(call);
  state.requests.insert(word(*request), other(Request::other));
}

struct Done {
  Request request;
  MPI_Status* status;
};

// Takes a request that is done out of the table; false where it is none of the trace.
inline bool take(std::uint64_t handle, MPI_Status* status, Done& done) {
  Request* request = state.requests.find(handle);
  if (!request || (request->persistent && !request->active)) return false;
  done = {*request, status};
  request->active = false;
  if (!request->persistent) {
    state.requests.erase(request);
    state.request_numbers.give(done.request.number);
  }
  return true;
}

inline void completed(const Call& call, Done* done, std::size_t count) {
  if (count == 0) return plain(call);
  Stream& stream = state.stream;
  call.begin(Kind::complete, 0, 64 + 24 * count);
  stream.put(count);
  for (Done* d = done; d != done + count; ++d) {
    int cancelled = 0;
    if (d->request.cancelled) PMPI_Test_cancelled(d->status, &cancelled);
    const Ended ended = cancelled ? Ended::cancelled : d->request.any ? Ended::received : Ended::plain;
    stream.put(std::uint64_t{d->request.number} << 2 | static_cast<std::uint64_t>(ended));
    if (ended == Ended::received) {
      stream.folded(partner_of(d->status->MPI_SOURCE));
      stream.folded(d->status->MPI_SOURCE == MPI_PROC_NULL ? 0 : d->status->MPI_TAG);
    }
  }
  stream.done();
  for (Done* d = done; d != done + count; ++d)
    if (d->request.what == Request::duplicate) describe(call, *d->request.made, d->request.key, false);
}

inline void note_empty(const Call& call) { state.polls.add(call.from(), call.to(), state.patience); }

// The handles of an array of requests, which MPI sets to null.
class Handles {
 public:
  Handles(int count, const MPI_Request* requests) : all_(static_cast<std::size_t>(count > 0 ? count : 0)) {
    for (int i = 0; i < count; ++i) all_[static_cast<std::size_t>(i)] = word(requests[i]);
  }
  std::uint64_t operator[](std::size_t i) { return all_[i]; }

 private:
  Scratch<std::uint64_t> all_;
};

// The application's statuses, or ones of ours where it wants none.
class Statuses {
 public:
  Statuses(int count, MPI_Status* asked)
      : own_(asked == MPI_STATUSES_IGNORE && count > 0 ? static_cast<std::size_t>(count) : 0),
        used_(asked == MPI_STATUSES_IGNORE ? own_.data() : asked) {}
  MPI_Status* data() { return used_; }

 private:
  Scratch<MPI_Status> own_;
  MPI_Status* const used_;
};

// Completes requests by their handles before the call: those at `indices`, or the first ones if these are null.
inline void completed(const Call& call, Handles& handles, const int* indices, int count, Statuses& statuses) {
  const std::size_t most = count > 0 ? static_cast<std::size_t>(count) : 0;
  Scratch<Done> done(most);
  std::size_t found = 0;
  for (std::size_t i = 0; i < most; ++i)
    if (take(handles[indices ? static_cast<std::size_t>(indices[i]) : i], statuses.data() + i, done[found])) ++found;
  completed(call, done.data(), found);
}

}  // namespace steelyard::trace
