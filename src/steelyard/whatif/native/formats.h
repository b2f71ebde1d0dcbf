// Formats of other tools that cannot be read, by the first bytes of their files, with advice for each.
#pragma once
#include <cstring>
#include <string>
#include <string_view>

namespace steelyard::whatif {

constexpr std::size_t LOOK = 4096;  // B at the begin of a file that decide its format

using namespace std::literals;

constexpr std::size_t TAR = 257;  // offset of the mark of a tar archive

struct Mark {
  std::string_view bytes, what;
  std::size_t at = 0;
};

// A text begins with what stands there after blanks and empty lines; other marks are bytes at one place.
constexpr Mark TEXTS[] = {
    {"#Paraver", "a trace of Paraver (.prv)|Record the program with 'steelyard trace', or with Score-P as OTF2"},
    {"DEFAULT_OPTIONS", "the labels of a trace of Paraver (.pcf)|Record the program with 'steelyard trace'"},
    {"LEVEL ", "the names of the rows of a trace of Paraver (.row)|Record the program with 'steelyard trace'"},
    {"#DIMEMAS", "a trace of Dimemas (.dim)|Record the program with 'steelyard trace'"},
    {"%EventDef", "a trace of Pajé|Let SimGrid write its TI format: smpirun -trace-ti"},
    {"%\tEventDef", "a trace of Pajé|Let SimGrid write its TI format: smpirun -trace-ti"},
    {"MPI_Init",
     "a trace of Liballprof|Record the program with 'steelyard trace', or convert it to GOAL with Schedgen"},
    {"{\"traceEvents\"", "a trace for Chrome or Perfetto (JSON)|Record the program with 'steelyard trace'"},
    {"{", "JSON|Name the trace from which it was made"},
    {"[", "JSON|Name the trace from which it was made"},
    {"/* CTF", "the description of a trace of CTF (LTTng)|Record the program with 'steelyard trace'"},
    {"<", "XML or HTML|Name the trace from which it was made"},
    {"%PDF", "a PDF|Name the trace"},
};
constexpr Mark BYTES[] = {
    {"STLYTRC1", "the file of one rank of 'steelyard trace'|Name its folder"},
    {"\x7f\x10\0\0\0\0\0\0"sv, "a binary GOAL file, as txt2bin makes it|Name the text from which it was made"},
    {"\x26\x09\0\0\0\0\0\0"sv, "a binary GOAL file that a simulation has used up|Name the text from which it was made"},
    {"OTF2", "a part of an OTF2 archive|Name its file traces.otf2, or its folder"},
    {"\1OTF", "a part of an OTF archive|Convert it to OTF2"},
    {"PAR1", "a Parquet file|Name the folder that 'steelyard export --format parquet' made"},
    {"CLOG-", "a trace of MPE (CLOG)|Record the program with 'steelyard trace'"},
    {"SLOG ", "a trace of Jumpshot (SLOG)|Record the program with 'steelyard trace'", 2},
    {"\x1f\x8b", "compressed (gzip)|Unpack it first: gunzip"},
    {"BZh", "compressed (bzip2)|Unpack it first: bunzip2"},
    {"\xfd"
     "7zXZ",
     "compressed (xz)|Unpack it first: unxz"},
    {"\x28\xb5\x2f\xfd", "compressed (zstd)|Unpack it first: unzstd"},
    {"\x04\x22\x4d\x18", "compressed (lz4)|Unpack it first: unlz4"},
    {"PK\3\4", "a zip archive|Unpack it first: unzip"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive|Unpack it first"},
    {"ustar", "a tar archive|Unpack it first: tar -xf", TAR},
    {"\x7f"
     "ELF",
     "a program, or a library|Trace it: steelyard trace -o FOLDER -- mpiexec -n 4 PROGRAM"},
    {"#!", "a script|Trace the program: steelyard trace -o FOLDER -- mpiexec -n 4 PROGRAM"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file|Record the program with 'steelyard trace'"},
    {"SQLite format 3", "a database (SQLite), as Nsight Systems writes it|Record the program with 'steelyard trace'"},
    {"PERFILE2", "a record of perf|Record the program with 'steelyard trace'"},
    {"ARROW1", "an Arrow file|Name the folder that 'steelyard export --format parquet' made"},
    {"\xc1\x1f\xfc\xc1", "a trace of CTF (LTTng)|Record the program with 'steelyard trace'"},
    {"\xd4\xc3\xb2\xa1", "a capture of network packets (pcap)|Record the program with 'steelyard trace'"},
    {"\x0a\x0d\x0d\x0a", "a capture of network packets (pcapng)|Record the program with 'steelyard trace'"},
    {"\xff\xfe", "text in UTF-16|Save it as UTF-8"},
    {"\xfe\xff", "text in UTF-16|Save it as UTF-8"},
    {"\x89PNG", "a picture|Name the trace"},
};

// All readable formats, for the sentences that refuse another one.
constexpr const char* READABLE =
    "Readable traces: folders of 'steelyard trace', their Parquet tables, OTF2, GOAL, and SimGrid's TI";

// Returns the format of a file with this begin, such as "a trace of Paraver", and the advice after a '|'; "" if
// unknown.
inline std::string_view foreign(std::string_view begin) {
  for (const Mark& mark : BYTES)
    if (begin.size() > mark.at && begin.substr(mark.at).starts_with(mark.bytes)) return mark.what;
  for (std::size_t at = 0; (at = begin.find_first_not_of(" \t\r\n", at)) != std::string_view::npos;) {
    begin.remove_prefix(at);
    for (const Mark& mark : TEXTS)
      if (begin.starts_with(mark.bytes)) return mark.what;
    if (begin.front() != '#') break;  // a comment
    at = begin.find('\n');
  }
  // Extrae's list of intermediate files: '/path/TRACE@host.0000001.mpit named'.
  const std::string_view line = begin.substr(0, begin.find('\n'));
  if (line.find(".mpit named") != std::string_view::npos || line.ends_with(".mpit"))
    return "a list of Extrae's intermediate files (.mpits)|Record the program with 'steelyard trace'";
  return "";
}

// The sentences that refuse it.
inline std::string describe_refusal(const std::string& path, std::string_view what) {
  const std::size_t cut = what.find('|');
  return "The file '" + path + "' is " + std::string(what.substr(0, cut)) +
         ", which Steelyard cannot read as a trace. " + std::string(what.substr(cut + 1)) + ". " + READABLE;
}

inline std::string unknown(const std::string& path) {
  return "The file '" + path + "' has an unknown format. " + READABLE;
}

}  // namespace steelyard::whatif
