// Messages between two ranks: what is sent and received, and what completes it.
#pragma once
#include "life.h"

namespace steelyard::trace {

// An array that lies on the stack if it is short.
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

inline void note_sent(const Call& call, int to, int tag, std::int64_t count, MPI_Datatype type, MPI_Comm c, int code) {
  const std::uint32_t communicator = number_of(c);
  if (code != MPI_SUCCESS || to == MPI_PROC_NULL || foreign(communicator)) return record_plain(call);
  call.begin(Kind::send, communicator);
  state.stream.put_signed(to);
  state.stream.put_signed(tag);
  state.stream.put(static_cast<std::uint64_t>(bytes_of(count, type)));
  state.stream.end_record();
}

inline void note_received(const Call& call, const MPI_Status* status, std::uint32_t communicator, int code) {
  if (code != MPI_SUCCESS || status->MPI_SOURCE == MPI_PROC_NULL || foreign(communicator)) return record_plain(call);
  call.begin(Kind::receive, communicator);
  state.stream.put_signed(status->MPI_SOURCE);
  state.stream.put_signed(status->MPI_TAG);
  state.stream.end_record();
}

inline void record_probe(const Call& call, const MPI_Status* status, MPI_Comm c) {
  const std::uint32_t communicator = number_of(c);
  if (status->MPI_SOURCE == MPI_PROC_NULL || foreign(communicator)) return record_plain(call);
  call.begin(Kind::probe, communicator);
  state.stream.put_signed(status->MPI_SOURCE);
  state.stream.put_signed(status->MPI_TAG);
  state.stream.end_record();
}

inline void note_exchange(const Call& call, int to, int tag, std::int64_t bytes, const MPI_Status* status, MPI_Comm c) {
  const std::uint32_t communicator = number_of(c);
  if (foreign(communicator)) return record_plain(call);
  call.begin(Kind::exchange, communicator);
  state.stream.put_signed(partner_of(to));
  state.stream.put_signed(tag);
  state.stream.put(static_cast<std::uint64_t>(bytes));
  state.stream.put_signed(partner_of(status->MPI_SOURCE));
  state.stream.put_signed(status->MPI_SOURCE == MPI_PROC_NULL ? 0 : status->MPI_TAG);
  state.stream.end_record();
}

// Records the operation that a request has begun.
inline void record_begun_request(const Call& call, Request& request) {
  request.active = true;
  if (request.partner == MPI_PROC_NULL || foreign(request.communicator)) {
    request.what = Request::other;
    return record_plain(call);
  }
  call.begin(request.what == Request::send ? Kind::isend : Kind::ireceive, request.communicator);
  state.stream.put_signed(request.what == Request::send ? request.partner : partner_of(request.partner));
  state.stream.put_signed(tag_of(request.tag));
  if (request.what == Request::send) state.stream.put(static_cast<std::uint64_t>(request.bytes));
  state.stream.put(request.number);
  state.stream.end_record();
}

inline Request make(Request::What what, int partner, int tag, std::int64_t count, MPI_Datatype type, MPI_Comm c) {
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
// Makes a request that belongs to no message. Only its completion is recorded.
inline Request make_other_request(Request::What what) {
  Request request{};
  request.what = what;
  request.active = true;
  request.number = state.request_numbers.take();
  return request;
}
inline void record_posted_request(const Call& call, Request request, MPI_Request handle, int code) {
  if (code != MPI_SUCCESS) return record_plain(call);
  record_begun_request(call, request);
  state.requests.insert(bits(handle), request);
}
inline void keep_persistent_request(const Call& call, Request request, MPI_Request handle, int code) {
  record_plain(call);
  if (code != MPI_SUCCESS) return;
  request.persistent = true;
  state.requests.insert(bits(handle), request);
}
inline void record_started_request(const Call& call, MPI_Request handle) {
  Request* request = state.requests.find(bits(handle));
  if (request) record_begun_request(call, *request);
}

// Keeps the requests of nonblocking calls that are no messages of the model, so that their completion is known.
inline void keep(const Call& call, MPI_Request* request) {
  record_plain(call);
  state.requests.insert(bits(*request), make_other_request(Request::other));
}

struct Done {
  Request request;
  MPI_Status* status;
};

// Removes a completed request from the table. Returns false if the trace does not know it.
inline bool take_done(std::uint64_t handle, MPI_Status* status, Done& done) {
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

inline void record_completed(const Call& call, Done* done, std::size_t count) {
  if (count == 0) return record_plain(call);
  Stream& stream = state.stream;
  call.begin(Kind::complete, 0, 64 + 24 * count);
  stream.put(count);
  for (Done* d = done; d != done + count; ++d) {
    int cancelled = 0;
    if (d->request.cancelled) PMPI_Test_cancelled(d->status, &cancelled);
    const Ended ended = cancelled ? Ended::cancelled : d->request.any ? Ended::received : Ended::plain;
    stream.put(std::uint64_t{d->request.number} << 2 | static_cast<std::uint64_t>(ended));
    if (ended == Ended::received) {
      stream.put_signed(partner_of(d->status->MPI_SOURCE));
      stream.put_signed(d->status->MPI_SOURCE == MPI_PROC_NULL ? 0 : d->status->MPI_TAG);
    }
  }
  stream.end_record();
  for (Done* d = done; d != done + count; ++d)
    if (d->request.what == Request::duplicate) record_communicator(call, *d->request.made, d->request.key, false);
}

inline void note_empty(const Call& call) { state.polls.add(call.from(), call.to(), state.patience); }

// The handles of an array of requests, which MPI sets to null.
class Handles {
 public:
  Handles(int count, const MPI_Request* requests) : all_(static_cast<std::size_t>(count > 0 ? count : 0)) {
    for (int i = 0; i < count; ++i) all_[static_cast<std::size_t>(i)] = bits(requests[i]);
  }
  std::uint64_t operator[](std::size_t i) { return all_[i]; }

 private:
  Scratch<std::uint64_t> all_;
};

// The statuses of the application, or our own ones if it passes none.
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
inline void record_completed(const Call& call, Handles& handles, const int* indices, int count, Statuses& statuses) {
  const std::size_t most = count > 0 ? static_cast<std::size_t>(count) : 0;
  Scratch<Done> done(most);
  std::size_t found = 0;
  for (std::size_t i = 0; i < most; ++i)
    if (take_done(handles[indices ? static_cast<std::size_t>(indices[i]) : i], statuses.data() + i, done[found]))
      ++found;
  record_completed(call, done.data(), found);
}

}  // namespace steelyard::trace
