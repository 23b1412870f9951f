#include "open/strangers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace fathom::open {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSource = "the recording that it was made from";

struct Beginning {
  std::string_view magic;
  Stranger stranger;
};
constexpr Beginning kBeginnings[] = {
    {"2ELIFREP"sv,
     {"perf.data of a machine with the other order of bytes", "perf script -F +pid -i {} | fathom report -"}},
    {"PERFFILE"sv, {"perf.data of Linux 2.6", "perf script -F +pid -i {} | fathom report -"}},
    {"\xfd"
     "7zXZ"sv,
     {"packed with xz", "xz -dk {}, and the file that it writes"}},
    {"BZh"sv, {"packed with bzip2", "bzip2 -dk {}, and the file that it writes"}},
    {"\x04\x22\x4d\x18"sv, {"packed with lz4", "lz4 -d {}, and the file that it writes"}},
    {"PK\x03\x04"sv, {"a zip archive", "unzip {}, and a file of it"}},
    {"\x7f"
     "ELF"sv,
     {"a program", "fathom record -- {}"}},
    {"FLR\0"sv, {"a recording of Java's flight recorder", "jfrconv --cpu -o collapsed {} OUT.txt"}},
    {"memray"sv, {"a capture of memray", "fathom record --heap, of the program itself"}},
    {"SQLite format 3"sv, {"an SQLite database", kSource}},
    {"\x89PNG"sv, {"a picture", kSource}},
    {"<?xml"sv, {"a picture or another XML file", kSource}},
    {"<svg"sv, {"a picture", kSource}},
    {"<!DOCTYPE"sv, {"an HTML page", kSource}},
    {"<html"sv, {"an HTML page", kSource}},
};

// A word that only files of one kind have among their first ones.
struct Word {
  std::string_view word;
  Stranger stranger;
};
constexpr Word kJsonWords[] = {
    {"\"traceEvents\"", {"a trace of Chrome's format", "node --cpu-prof, whose .cpuprofile is read"}},

    {"\"stack_traces\"", {"a result of fathom or another tool", kSource}},
};
constexpr std::size_t kLookedAt = 16 * 1024;

}  // namespace

std::optional<Stranger> stranger_of(std::string_view content) {
  for (const Beginning& beginning : kBeginnings)
    if (content.starts_with(beginning.magic)) return beginning.stranger;
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (content[first] != '{' && content[first] != '['))
    return std::nullopt;
  const std::string_view head = content.substr(0, kLookedAt);
  for (const Word& word : kJsonWords)
    if (head.find(word.word) != std::string_view::npos) return word.stranger;
  // Folded stacks have names like "[kernel]", and JSON has a value behind the bracket.
  if (content[first] == '[') return std::nullopt;
  return Stranger{"JSON of no format that is read", kSource};
}

tl::unexpected<Error> refused(const Stranger& stranger, const std::string& path, const std::string& name) {
  const bool known = stranger.what.find("is read") == std::string_view::npos;
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: this is {}{}", name, stranger.what, known ? ", which is not read" : ""),
              fmt::format(fmt::runtime(stranger.remedy), path));
}

}  // namespace fathom::open
