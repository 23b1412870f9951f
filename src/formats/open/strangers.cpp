#include "formats/open/strangers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/shell_word.h"
#include "formats/folded/folded.h"

namespace fathom::open {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSource = "open the recording it was made from";
constexpr std::string_view kItself = "fathom record, of the program itself";

constexpr Stranger kChromeTrace{
    "a trace of Chrome's format",
    "fathom report RECORDING --spans {}, which shows its spans; or, of Node.js, the .cpuprofile of node --cpu-prof"};
constexpr Stranger kGprof{"a table of gprof", "perf record -g, and its perf.data"};
constexpr Stranger kPprofText{"a text of pprof's older formats", "pprof -proto {} >OUT.pb.gz, which is read"};
constexpr Stranger kAppleSample{"a text of Apple's sample",
                                "stackcollapse-sample.awk {}, whose output is read"};
constexpr Stranger kPerfReport{"a table of perf report", "open the perf.data it was made from"};
constexpr Stranger kBpftrace{"a map that bpftrace printed",
                             "stackcollapse-bpftrace.pl {}, whose output is read"};
constexpr Stranger kDtrace{"output of DTrace", "stackcollapse.pl {}, whose output is read"};
constexpr Stranger kInstruments{"a call tree of Apple's Instruments",
                                "stackcollapse-instruments.pl {}, whose output is read"};
constexpr Stranger kVtune{"a table of VTune", "stackcollapse-vtune.pl {}, whose output is read"};
constexpr Stranger kBcc{"a text of bcc's profile or offcputime",
                        "the same command with -f, whose output is read"};
constexpr Stranger kEuStack{"a text of eu-stack", "fathom stacks -p PID, or fathom stacks CORE"};
constexpr Stranger kGdb{"a backtrace of gdb", "stackcollapse-gdb.pl {}, whose output is read"};
constexpr Stranger kCProfileDump{"a dump of Python's cProfile", "py-spy record -f raw, whose file is read"};
constexpr Stranger kCProfile{"a table of Python's cProfile", "py-spy record -f raw, whose file is read"};

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
    {"\xff\xfe"sv, {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 {} | fathom report -"}},
    {"\xfe\xff"sv, {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 {} | fathom report -"}},
    {"BZh"sv, {"packed with bzip2", "bzip2 -dk {}, and the file that it writes"}},
    {"\x04\x22\x4d\x18"sv, {"packed with lz4", "lz4 -d {}, and the file that it writes"}},
    {"\x5e\x97\xca\xfd"sv, {"a capture of Sysprof", kItself}},
    {"<profile>\n    <size>"sv, {"a profile of Sysprof", kItself}},
    {"PK\x03\x04"sv, {"a zip archive", "unzip {}, and a file of it"}},
    {"\x7f"
     "ELF"sv,
     {"a program", "fathom record -- {}"}},
    {"FLR\0"sv, {"a recording of Java's flight recorder", "jfrconv --cpu -o collapsed {} OUT.txt"}},
    {"memray"sv, {"a capture of memray", "fathom record --heap, of the program itself"}},
    {"\xfb\xa9"sv, kCProfileDump},
    {"\xfb("sv, kCProfileDump},
    {"{("sv, kCProfileDump},
    {"SQLite format 3"sv, {"an SQLite database", kSource}},
    {"\x89PNG"sv, {"a picture", kSource}},
    {"<?xml"sv, {"a picture or another XML file", kSource}},
    {"<svg"sv, {"a picture", kSource}},
    {"<!DOCTYPE"sv, {"an HTML page", kSource}},
    {"<html"sv, {"an HTML page", kSource}},
};

// Words that occur near the start of one kind of file only. `also`: a second one; "": one is enough.
struct Words {
  std::string_view word, also;
  Stranger stranger;
};
constexpr Words kJsonWords[] = {
    {"\"traceEvents\"", "", kChromeTrace},
    {"\"ph\"", "\"ts\"", kChromeTrace},
    {"\"stringTable\"",
     "\"threads\"",
     {"a raw profile of Gecko", "open it in profiler.firefox.com and save it there: fathom reads that file"}},
    {"\"threads\"",
     "\"pausedRanges\"",
     {"a raw profile of Gecko", "open it in profiler.firefox.com and save it there: fathom reads that file"}},
    // The panel "Performance" of Firefox 56 to 62 wraps one.
    {"\"breakpadId\"",
     "\"libs\"",
     {"a raw profile of Gecko", "open it in profiler.firefox.com and save it there: fathom reads that file"}},
    {"\"gc_samples\"",
     "\"missed_samples\"",
     {"a profile of stackprof", "stackprof --stackcollapse DUMP >OUT.txt, which is read"}},
    {"\"cost_centres\"", "\"tick_interval\"", {"a profile of GHC", kItself}},
    {"\"recording\"", "timeline-record-type-", {"a timeline of Safari", kSource}},
    {"\"stack_traces\"", "", {"a result of fathom or another tool", kSource}},
    {"\"resourceProfiles\"", "", {"a profile of OpenTelemetry", "the pprof file of the same profiler"}},
    {"\"resourceSpans\"",
     "",
     {"a trace of OpenTelemetry", "fathom report RECORDING --spans {}, which shows its spans"}},
    {"\"ct\"", "\"wt\"", {"a profile of XHProf", "xdebug.mode=profile, whose cachegrind.out is read"}},
    {"\"nodes\"", "\"snapshot\"", {"a heap snapshot of V8", "node --heap-prof, whose .heapprofile is read"}},
};
// For text that is not JSON: the beginning of one line, and that of another line.
constexpr Words kLines[] = {
    {"Flat profile:", "", kGprof},
    {"Each sample counts as ", "", kGprof},
    {"Call graph (explanation follows)", "", kGprof},
    {"call graph profile:", "", kGprof},
    {"index  % time    self  children", "", kGprof},
    {"--- contention", "", kPprofText},
    {"--- mutex", "", kPprofText},
    {"--- threadz", "", kPprofText},
    {"--- thread", "", kPprofText},
    {"--- growthz", "", kPprofText},
    {"--- heapz", "", kPprofText},
    {"--- cpuz", "", kPprofText},
    {"--- Memory map", "", kPprofText},
    {"goroutine profile: total ", "", kPprofText},
    {"threadcreate profile: total ", "", kPprofText},
    {"mutex:", "sampling period=", kPprofText},
    {"cycles/second=", "sampling period=", kPprofText},
    {"goroutine ", "\t/", {"a dump of Go's goroutines", "/debug/pprof/profile, whose file is read"}},
    {"Showing nodes accounting for ", "", {"a table that pprof printed", "the .pb.gz that it was made from"}},
    {"Full thread dump", "", {"a thread dump of Java", "asprof -o collapsed, whose file is read"}},
    {"Analysis of sampling ", "", kAppleSample},
    {"Sampling process ", "Call graph:", kAppleSample},
    {"Call graph:", "Binary Images:", kAppleSample},
    {"# To display the perf.data header info", "", kPerfReport},
    {"# Overhead", "", kPerfReport},
    {"# Samples: ", "# Event count", kPerfReport},
    {" Performance counter stats for", "", {"a table of perf stat", "perf record -g, and its perf.data"}},
    {"Attaching ", "@", kBpftrace},
    {"@[", "]: ", kBpftrace},
    {"Sampling at ", "Hit Ctrl-C to end", kBcc},
    {"Tracing off-CPU time (", "", kBcc},
    {"dtrace: ", "", kDtrace},
    {"CPU     ID ", "", kDtrace},
    {"CPU\tID\t", "", kDtrace},
    {"Function\tCPU Time", "", kVtune},
    {"Function Stack\t", "", kVtune},
    {"Weight\tSelf Weight\t", "", kInstruments},
    {"Running Time\tSelf", "", kInstruments},
    {"Bytes Used\tCount\t", "", kInstruments},
    {"Function,CPU Time", "", kVtune},
    {"Function Stack,", "", kVtune},
    {"Profile data file ", "", {"a table of callgrind_annotate", "the callgrind.out that it names"}},
    {"Profiled target:",
     "Events recorded:",
     {"a table of callgrind_annotate", "the callgrind.out that it names"}},
    {"ms_print arguments:", "", {"a text of ms_print", "the massif.out that it was made from"}},
    {"Massif arguments:", "", {"a text of ms_print", "the massif.out that it was made from"}},
    {"reading file ",
     "Debuggee command was:",
     {"a text of heaptrack_print", "the heaptrack.NAME.PID.zst that it was made from"}},
    {"MOST CALLS TO ALLOCATION FUNCTIONS",
     "",
     {"a text of heaptrack_print", "the heaptrack.NAME.PID.zst that it was made from"}},
    {"execve(", ") = 0", {"a trace of strace", "fathom record --off-cpu"}},
    {"TRACE START [",
     "Version: 3",
     {"a trace of Xdebug", "xdebug.mode=profile, whose cachegrind.out is read"}},
    {"samples  %", "symbol name", {"a table of OProfile", "perf record -g, and its perf.data"}},
    {"Total: ", " samples\n", {"a table that pprof printed", "open the profile it was made from"}},
    {"v8-version,", "tick,", {"a log of V8", "node --cpu-prof, whose .cpuprofile is read"}},
    {"TID ", "#0  0x", kEuStack},
    {"[Thread debugging using", "", kGdb},
    {"Thread 1 (", "#0  ", kGdb},
    {"#0  0x", "#1  0x", kGdb},
    {"#0  ", "#1  0x", kGdb},
    {"==", "== HEAP SUMMARY:", {"a log of valgrind's memcheck", "fathom record --heap, fathom leaks"}},
    {"==",
     "Memcheck, a memory error detector",
     {"a log of valgrind's memcheck", "fathom record --heap, fathom leaks"}},
    {"=================================================================",
     "==ERROR: LeakSanitizer",
     {"a report of LeakSanitizer", "fathom record --heap, fathom leaks"}},
    {"% time     seconds  usecs/call", "", {"a table of strace -c", "fathom record --off-cpu"}},
    {"JAVA PROFILE 1.0", "", {"a profile of Java's hprof", "asprof -o collapsed, whose file is read"}},
    {"         ncalls  tottime  percall", "", kCProfile},
    {"   ncalls  tottime  percall", "", kCProfile},
    {" /_//_/// /_",
     "Duration: ",
     {"a text of pyinstrument", "pyinstrument -r speedscope, whose file is read"}},
    {"Traceback (most recent call last)",
     "File \"",
     {"a traceback of Python", "py-spy record -f raw, whose file is read"}},
    {"  File \"", ", line ", {"a traceback of Python", "py-spy record -f raw, whose file is read"}},
    {"# tracer: ", "", {"a trace of ftrace", "perf record -g, and its perf.data"}},
};
constexpr std::size_t kLookedAt = 256 * 1024;

bool has_line_with(std::string_view head, std::string_view beginning) {
  for (std::size_t at = head.find(beginning); at != std::string_view::npos; at = head.find(beginning, at + 1))
    if (at == 0 || head[at - 1] == '\n') return true;
  return false;
}

// Stacks of DTrace have no head: a line for each frame, indented, as MODULE`FUNCTION+0xOFFSET.
bool has_frame_of_dtrace(std::string_view head) {
  const std::size_t tick = head.find('`');
  if (tick == std::string_view::npos) return false;
  const std::size_t before = head.substr(0, tick).rfind('\n');
  const std::string_view line = head.substr(before == std::string_view::npos ? 0 : before + 1);
  const std::string_view frame = line.substr(0, line.find('\n'));
  return frame.starts_with(' ') && frame.find("+0x") != std::string_view::npos;
}

std::optional<Stranger> text_stranger(std::string_view head) {
  for (const Words& words : kLines)
    if (has_line_with(head, words.word) && head.find(words.also) != std::string_view::npos)
      return words.stranger;
  if (has_frame_of_dtrace(head)) return kDtrace;
  return std::nullopt;
}

}  // namespace

std::optional<Stranger> stranger_of(std::string_view content) {
  // "go 1.21 trace", 16 bytes padded with zeros.
  if (content.starts_with("go 1.") && content.substr(0, 16).find(" trace\0"sv) != std::string_view::npos)
    return Stranger{"an execution trace of Go", "/debug/pprof/profile, whose file is read"};
  constexpr std::size_t kTarMagic = 257;
  if (content.size() > kTarMagic && content.substr(kTarMagic).starts_with("ustar"))
    return Stranger{"a tar archive", "tar -xf {}, and a file of it"};
  // ELF, type ET_CORE.
  if (content.starts_with("\x7f"
                          "ELF") &&
      content.size() > 17 && content[16] == 4)
    return Stranger{"a core dump", "fathom stacks {}"};
  for (const Beginning& beginning : kBeginnings)
    if (content.starts_with(beginning.magic)) return beginning.stranger;
  const std::string_view head = content.substr(0, kLookedAt);
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (content[first] != '{' && content[first] != '['))
    return text_stranger(head);
  for (const Words& words : kJsonWords)
    if (head.find(words.word) != std::string_view::npos && head.find(words.also) != std::string_view::npos)
      return words.stranger;
  // Folded stacks have names like "[kernel]"; JSON has a value after the bracket.
  if (content[first] == '[') {
    const std::size_t next = content.find_first_not_of(" \t\r\n", first + 1);
    const bool is_value = next != std::string_view::npos &&
                          (content[next] == '{' || content[next] == '[' || content[next] == '"');
    if (!is_value) return text_stranger(head);
  }
  if (formats::is_folded(head)) return std::nullopt;  // a log line before it
  return Stranger{"JSON of no format that is read", kSource};
}

tl::unexpected<Error> refused(const Stranger& stranger, const std::string& path, const std::string& name) {
  const bool known = stranger.what.find("is read") == std::string_view::npos;
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: this is {}{}", name, stranger.what, known ? ", which is not read" : ""),
              fmt::format(fmt::runtime(stranger.remedy), shell_word(path)));
}

}  // namespace fathom::open
