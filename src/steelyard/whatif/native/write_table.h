// Traces of ours as tables of numbers, a line a record, and back: what the tool makes a Parquet file of.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstring>

#include "rank_files.h"
#include "traced_bytes.h"
#include "writers.h"

namespace steelyard::whatif {
inline void write_rank(RankFile& file, double since, Output& out) {
  double ticks = 0;
  std::uint64_t number = 0;
  std::vector<std::int64_t> numbers;
  for (Event event; file.next(event); ++number) {
    numbers.clear();
    try {
      numbers_of(event.kind, [&](bool folded) {
        numbers.push_back(folded ? file.folded() : static_cast<std::int64_t>(file.number()));
        if (file.torn()) throw Torn{};
        return numbers.back();
      });
    } catch (const Torn&) {
      return;
    }
    ticks += static_cast<double>(event.gap);
    const double begin = since + file.seconds(ticks);
    ticks += static_cast<double>(event.duration);
    out.write("%u,%llu,%u,%u,%llu,%llu,%.14f,%.14f,", file.header.rank, static_cast<unsigned long long>(number),
              static_cast<unsigned>(event.kind), event.communicator, static_cast<unsigned long long>(event.gap),
              static_cast<unsigned long long>(event.duration), begin,
              file.seconds(static_cast<double>(event.duration)));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      out.write(i == 0 ? "%lld" : " %lld", static_cast<long long>(numbers[i]));
    out.write("\n");
  }
}

using Fields = std::vector<std::uint64_t>;

// Calls `act` with each field of a header but its mark and the host.
template <class Header, class Act>
void each_field(Header& h, Act act) {
  act(h.rank), act(h.ranks), act(h.shift), act(h.finished);
  act(h.begin_ticks), act(h.begin_ns), act(h.end_ticks), act(h.end_ns);
  act(h.offset_begin), act(h.offset_end), act(h.offset_error), act(h.offset_known), act(h.first_ticks);
}

// Returns the whole numbers of a line, and the text behind the first `count` of them.
inline Fields line_of(const std::string& path, std::string_view text, std::size_t count, std::string_view& rest) {
  Fields found;
  const char *at = text.data(), *const last = text.data() + text.size();
  while (found.size() < count) {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(at, last, value);
    if (failed != std::errc{} || end == last || *end != ',')
      throw Refused(path + ": a line does not have the format that Steelyard writes");
    found.push_back(static_cast<std::uint64_t>(value));
    at = end + 1;
  }
  rest = {at, static_cast<std::size_t>(last - at)};
  return found;
}

template <class Act>
void each_line(const std::string& path, Act act) {
  Source source(path);
  for (std::string_view line; source.line(line);)
    if (!line.empty()) act(line);
}

class TableReader {
 public:
  TableReader(const std::string& from, const std::string& to) : path_(from + "/records.csv"), to_(to) {
    each_line(from + "/ranks.csv", [&](std::string_view line) {
      std::string_view host;
      trace::Header made{};
      std::memcpy(made.magic, trace::MAGIC, sizeof made.magic);
      const Fields values = line_of(from + "/ranks.csv", line, 13, host);
      auto value = values.begin();
      each_field(made, [&](auto& field) { field = static_cast<std::remove_reference_t<decltype(field)>>(*value++); });
      std::memcpy(made.host, host.data(), std::min(host.size(), sizeof made.host - 1));
      if (made.rank != files_.size()) throw Refused("the table of ranks lacks rank " + std::to_string(files_.size()));
      files_.emplace_back(reinterpret_cast<const char*>(&made), sizeof made);
    });
  }
  void write() {
    each_line(path_, [&](std::string_view line) { add(line); });
    for (std::size_t rank = 0; rank < files_.size(); ++rank) {
      Output out(to_ + "/rank-" + std::to_string(rank) + ".trace");
      out.raw(files_[rank]);
      out.close();
    }
  }

 private:
  // rank, kind, communicator, gap, duration; then the record's own numbers
  void add(std::string_view line) {
    std::string_view rest;
    const Fields f = line_of(path_, line, 5, rest);
    if (f[0] >= files_.size() || f[1] == 0 || f[1] >= static_cast<std::uint64_t>(Record::last))
      throw Refused(path_ + ": a record has an unknown rank or kind");
    std::string& out = files_[f[0]];
    out.push_back(static_cast<char>(f[1] | (f[2] ? trace::OTHER : 0)));
    trace::put(out, f[3]), trace::put(out, f[4]);
    if (f[2]) trace::put(out, f[2]);
    const char *at = rest.data(), *const last = rest.data() + rest.size();
    numbers_of(static_cast<Record>(f[1]), [&](bool folded) {
      std::int64_t value = 0;
      const auto [end, failed] = std::from_chars(at, last, value);
      if (failed != std::errc{}) throw Refused(path_ + ": a record has too few numbers");
      at = end == last ? end : end + 1;
      folded ? trace::put_folded(out, value) : trace::put(out, static_cast<std::uint64_t>(value));
      return value;
    });
  }

  const std::string path_, to_;
  std::vector<std::string> files_;
};

// A trace of ours as tables: records.csv and ranks.csv in that folder; and the files of ranks from such tables.
inline void write_table(const std::string& trace, std::uint32_t ranks, const std::string& folder) {
  Output records(folder + "/records.csv"), about(folder + "/ranks.csv");
  const RankFiles files(trace);
  double first = 1e300;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) first = std::min(first, beginning(files.of(rank)));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RankFile file = files.of(rank);
    each_field(file.header, [&](auto field) { about.write("%lld,", static_cast<long long>(field)); });
    about.write("%.63s\n", file.header.host);
    const double since = (beginning(file) - first) * 1e-9;
    write_rank(file, since, records);
  }
  records.close();
  about.close();
}

inline void rebuild(const std::string& table, const std::string& folder) { TableReader(table, folder).write(); }

}  // namespace steelyard::whatif
