// Takes Liballprof's lines apart.
#include "liballprof_calls.h"

#include <algorithm>

namespace steelyard::whatif {
namespace {

// What each call's arguments are, a letter an argument: b buffer, n count, d datatype, r partner, t tag, c
// communicator, o root or level, q address of requests, v counts of all members, x what is not needed. Liballprof
// writes them in the order of MPI's C functions, also for Fortran; of arrays that are named counts or displs all
// numbers follow the address.
struct Known {
  std::string_view name, form;
  Deed deed;
};
constexpr Known FORMS[] = {
    {"Send", "bndrtc", Deed::send},
    {"Bsend", "bndrtc", Deed::send},
    {"Ssend", "bndrtc", Deed::send},
    {"Rsend", "bndrtc", Deed::send},
    {"Isend", "bndrtcq", Deed::send},
    {"Ibsend", "bndrtcq", Deed::send},
    {"Issend", "bndrtcq", Deed::send},
    {"Irsend", "bndrtcq", Deed::send},
    {"Recv", "bndrtcx", Deed::receive},
    {"Irecv", "bndrtcq", Deed::receive},
    {"Sendrecv", "bndrtbndrtcx", Deed::exchange},
    {"Sendrecv_replace", "bndrtrtcx", Deed::exchange},
    {"Wait", "qx", Deed::wait},
    {"Waitall", "nqx", Deed::wait},
    {"Test", "qxx", Deed::test},
    {"Testall", "nqxx", Deed::test},
    {"Request_free", "q", Deed::released},
    {"Barrier", "c", Deed::barrier},
    {"Bcast", "bndoc", Deed::broadcast},
    {"Reduce", "bbndxoc", Deed::reduce},
    {"Allreduce", "bbndxc", Deed::allreduce},
    {"Scan", "bbndxc", Deed::scan},
    {"Exscan", "bbndxc", Deed::scan},
    {"Gather", "bndbndoc", Deed::gather},
    {"Scatter", "bndbndoc", Deed::scatter},
    {"Allgather", "bndbndc", Deed::allgather},
    {"Alltoall", "bndbndc", Deed::alltoall},
    {"Reduce_scatter", "bbvdxc", Deed::reduce_scatter},
    {"Reduce_scatter_block", "bbndxc", Deed::reduce_scatter_block},
    {"Gatherv", "bndbvvdoc", Deed::gather_several},
    {"Scatterv", "bvvdbndoc", Deed::scatter_several},
    {"Allgatherv", "bndbvvdc", Deed::allgather_several},
    {"Alltoallv", "bvvdbvvdc", Deed::alltoall_several},
    {"Pcontrol", "o", Deed::region},
    {"Finalize", "", Deed::finalize},
    {"Abort", "xx", Deed::abort},
};

// What must be known to replay a call, and does not stand in the file.
struct Unknown {
  std::string_view name, reason;
};
constexpr Unknown REFUSED[] = {
    {"Waitany", "the file does not say which request it completed"},
    {"Waitsome", "the file does not say which requests it completed"},
    {"Testany", "the file does not say which request it completed"},
    {"Testsome", "the file does not say which requests it completed"},
    {"Cancel", "the file does not say whether the request was cancelled"},
    {"Alltoallw", "the file does not say of which size the datatypes are"},
};

// Calls that move no data between ranks, or whose time is that of MPI alone.
constexpr std::string_view QUIET[] = {"Init",
                                      "Init_thread",
                                      "Initialized",
                                      "Finalized",
                                      "Wtime",
                                      "Wtick",
                                      "Probe",
                                      "Iprobe",
                                      "Get_count",
                                      "Get_elements",
                                      "Test_cancelled",
                                      "Request_get_status",
                                      "Get_version",
                                      "Get_address",
                                      "Get_processor_name",
                                      "Address",
                                      "Pack",
                                      "Unpack",
                                      "Pack_size",
                                      "Topo_test",
                                      "Dims_create",
                                      "Buffer_attach",
                                      "Buffer_detach",
                                      "Alloc_mem",
                                      "Free_mem",
                                      "Query_thread",
                                      "Is_thread_main",
                                      "Intercomm_create",
                                      "Intercomm_merge",
                                      "Get_library_version",
                                      "Cartdim_get",
                                      "Graphdims_get"};
constexpr std::string_view QUIET_KINDS[] = {"Type_", "Group_",  "Op_",   "Info_", "Errhandler_", "Error_", "Add_error_",
                                            "Attr_", "Keyval_", "Comm_", "Cart_", "Graph_",      "Status_"};

// The call, and its form with a request at the end where it is one that does not wait. MPI_Isend and its like have
// their own lines above.
std::optional<Known> known(std::string_view name, bool& waits) {
  const auto named = [](std::string_view wanted) {
    return std::find_if(std::begin(FORMS), std::end(FORMS), [&](const Known& k) { return k.name == wanted; });
  };
  waits = true;
  if (const auto* found = named(name); found != std::end(FORMS)) return *found;
  if (name.size() < 2 || name[0] != 'I' || name[1] < 'a') return {};
  std::string begun(name.substr(1));
  begun[0] = static_cast<char>(begun[0] - 'a' + 'A');
  const auto* found = named(begun);
  if (found == std::end(FORMS) || found->deed < Deed::barrier || found->deed > Deed::alltoall_several) return {};
  waits = false;
  return *found;
}

bool quiet(std::string_view name) {
  return std::find(std::begin(QUIET), std::end(QUIET), name) != std::end(QUIET) ||
         std::any_of(std::begin(QUIET_KINDS), std::end(QUIET_KINDS), [&](auto kind) { return name.starts_with(kind); });
}

std::vector<std::string_view> parts(std::string_view text, char between) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

// Without a last line that is cut. MPI_Finalize's is whole without its end of line, too.
std::string_view whole_lines(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  const std::string_view last = text.substr(end == std::string_view::npos ? 0 : end + 1);
  if (last.starts_with("MPI_Finalize:") && last.ends_with(":-")) return text;
  return text.substr(0, text.size() - last.size());
}

}  // namespace

Calls::Calls(const std::string& path, std::string_view text) : lines_(path, whole_lines(text)) {}

std::optional<std::int64_t> Calls::moment(std::string_view word) const {
  if (word == "-") return {};
  const std::size_t point = std::min(word.find('.'), word.size());
  const auto micro = lines_.parsed<std::uint64_t>(word.substr(0, point), "time in µs");
  if (micro > 9'000'000'000'000'000) refuse("a time lies between 0 and 285 years");
  std::string digits(word.substr(std::min(point + 1, word.size())).substr(0, 3));
  digits.resize(3, '0');
  return static_cast<std::int64_t>(micro * 1000 + lines_.parsed<std::uint32_t>(digits, "part of a µs"));
}

std::int64_t Calls::datatype(std::string_view word) const {
  const auto found = parts(word, ',');
  if (found.size() != 2 && found.size() != 3)
    refuse("'" + std::string(word.substr(0, 60)) + "' is no datatype: its number and its size are expected");
  const auto size = lines_.parsed<std::int64_t>(found[1], "size of a datatype");
  if (size < 0 || size > MOST_BYTES) refuse("a datatype has 0 to 2^50 bytes");
  return size;
}

Communicator Calls::communicator(std::string_view word) const {
  const auto found = parts(word, ',');
  if (found.size() != 3)
    refuse("'" + std::string(word.substr(0, 60)) +
           "' is no communicator: its number, the own rank and how many ranks it has are expected");
  const Communicator made{lines_.parsed<std::int64_t>(found[1], "rank"),
                          lines_.parsed<std::int64_t>(found[2], "number of ranks")};
  if (made.rank < 0 || made.rank >= made.size) refuse("a communicator without its own rank");
  return made;
}

std::vector<std::int64_t> Calls::list(std::string_view word) const {
  std::vector<std::int64_t> found;
  for (std::string_view each : parts(word, ',')) found.push_back(lines_.parsed<std::int64_t>(each, "count"));
  return found;
}

std::int64_t Calls::bytes(std::int64_t count, std::int64_t size) const {
  if (count < 0 || (size > 0 && count > MOST_BYTES / size)) refuse("a message has 0 to 2^50 bytes");
  return count * size;
}

void Calls::read(Call& call, std::string_view form, bool lists) {
  auto field = fields_.begin() + 2;  // behind the name and the begin
  for (char what : form) {
    const std::string_view word = *field++;
    switch (what) {
      case 'b':
        call.buffers.push_back(lines_.parsed<std::uint64_t>(word, "address"));
        break;
      case 'n':
        call.counts.push_back(lines_.parsed<std::int64_t>(word, "count"));
        break;
      case 'd':
        call.sizes.push_back(datatype(word));
        break;
      case 'r':
        call.partners.push_back(lines_.parsed<std::int64_t>(word, "number of a rank"));
        break;
      case 't':
        call.tags.push_back(lines_.parsed<std::int32_t>(word, "tag"));
        break;
      case 'c':
        call.communicator = communicator(word);
        break;
      case 'o':
        call.whole = lines_.parsed<std::int64_t>(word, "number");
        break;
      case 'q':
        call.request = lines_.parsed<std::uint64_t>(word, "address of a request");
        break;
      case 'v':
        if (lists) call.lists.push_back(list(*field++));
        break;
      default:
        break;
    }
  }
}

bool Calls::next(Call& call) {
  if (!lines_.next()) return false;
  call = {};
  if (lines_.words().size() != 1 || !lines_.words()[0].starts_with("MPI_"))
    refuse("'" + std::string(lines_.words()[0].substr(0, 60)) +
           "' is no call: MPI_Function:begin:arguments:end is expected");
  fields_ = parts(lines_.words()[0], ':');
  call.name = fields_[0];
  const std::string_view name = call.name.substr(4);
  if (fields_.size() < 3) refuse("the line ends before the time at which the call ended");
  call.begin = moment(fields_[1]);
  call.end = moment(fields_.back());
  for (const Unknown& each : REFUSED)
    if (each.name == name) refuse(std::string(call.name) + " cannot be replayed: " + std::string(each.reason));
  bool waits = true;
  const auto found = known(name, waits);
  if (!found) {
    call.deed = name.starts_with("File_") ? Deed::file : Deed::nothing;
    if (call.deed == Deed::nothing && !quiet(name))
      refuse("'" + std::string(call.name.substr(0, 60)) + "' is no call that is known here");
    return true;
  }
  call.deed = found->deed;
  const std::string form = std::string(found->form) + (waits ? "" : "q");
  const auto several = static_cast<std::size_t>(std::count(form.begin(), form.end(), 'v'));
  const std::size_t arguments = fields_.size() - 3;
  if (arguments != form.size() && arguments != form.size() + several)
    refuse(std::string(call.name) + " has " + std::to_string(arguments) + " arguments, and " +
           std::to_string(form.size() + several) + " are expected");
  read(call, form, arguments != form.size());
  return true;
}

}  // namespace steelyard::whatif
