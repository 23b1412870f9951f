// From another tool's file to an answer, compared with that tool on the same file in the same round: heap
// dumps of jemalloc with jeprof, heaptrack's files with heaptrack_print, copied stacks of perf with `perf
// script`. Folded stacks and exports have no peer unless one is installed. The real tools create the files
// here, on third-party programs; a dump of a large binary is made from its own calls.
//
// ROUNDS (5). ONLY (dump, heaptrack, perf, text, exports): one of them. DUMP_PROGRAM: the program for the
// addresses of the dump (cc1plus, or fathom itself).
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapping.h"
#include "bench/support/big_profile.h"
#include "bench/support/large_text.h"
#include "bench/support/statistics.h"
#include "binary/elf/elf_file.h"
#include "model/store/writer.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

constexpr std::chrono::minutes kLimit(5);

struct Cost {
  std::string file, name;
  std::vector<std::string> command;
  std::vector<double> seconds, cpu, mib;

  void measure() {
    const support::Outcome outcome = support::run(command, {.limit = kLimit});
    if (!outcome.ok()) throw std::runtime_error(name + ": " + outcome.describe());
    seconds.push_back(outcome.seconds);
    cpu.push_back(outcome.cpu_seconds);
    mib.push_back(static_cast<double>(outcome.peak_rss_bytes) / 1048576);
  }
  std::vector<std::string> row() const {
    return {file, name, median_and_range(seconds, 2), median_and_range(cpu, 2), median_and_range(mib, 0)};
  }
};

// The return addresses in `program`, as in a heap dump: after five bytes that call a place of the same
// section.
std::vector<std::uint64_t> return_addresses(const elf::ElfFile& file, std::size_t wanted) {
  const elf::Section* text = file.section(".text");
  if (text == nullptr) throw std::runtime_error(file.name() + " has no .text");
  const std::span<const std::byte> code = file.bytes_at(text->address, text->size).value();
  std::vector<std::uint64_t> found;
  for (std::size_t at = 0; at + 5 <= code.size(); ++at) {
    if (code[at] != std::byte{0xe8}) continue;
    std::int32_t distance;
    std::memcpy(&distance, &code[at + 1], sizeof(distance));
    const auto target = static_cast<std::int64_t>(at) + 5 + distance;
    if (target >= 0 && static_cast<std::size_t>(target) < code.size())
      found.push_back(text->address.value + at + 5);
  }
  std::shuffle(found.begin(), found.end(), std::mt19937_64(1));
  if (found.size() > wanted) found.resize(wanted);
  return found;
}

// A dump of 8,000 stacks of 25 frames with 20,000 different addresses of `program`.
void write_dump(const std::string& path, const std::string& program) {
  constexpr std::uint64_t kLoaded = 0x555555554000, kPage = 4096;
  constexpr std::size_t kStacks = 8'000, kDepth = 25;
  const Mapping bytes = Mapping::of_file(program).value();
  const elf::ElfFile file = elf::ElfFile::parse(bytes.bytes(), program).value();
  const std::vector<std::uint64_t> addresses = return_addresses(file, 20'000);
  std::mt19937_64 random(1);
  std::ofstream out(path);
  out << "heap_v2/524288\n  t*: 1: 1 [0: 0]\n";
  for (std::size_t stack = 0; stack < kStacks; ++stack) {
    out << '@';
    for (std::size_t i = 0; i < kDepth; ++i) {
      const std::size_t at = i < 5 ? stack * 5 + i : random() % addresses.size();
      out << fmt::format(" {:#x}", kLoaded + addresses[at % addresses.size()]);
    }
    out << fmt::format("\n  t*: {}: {} [0: 0]\n", 1 + random() % 9, 600'000 + random() % 300'000);
  }
  out << "\nMAPPED_LIBRARIES:\n";
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    const std::uint64_t from = segment.address.value / kPage * kPage;
    const std::uint64_t to = (segment.address.value + segment.file_size + kPage - 1) / kPage * kPage;
    out << fmt::format("{:x}-{:x} {} {:08x} fe:00 99 {}\n", kLoaded + from, kLoaded + to,
                       (segment.flags & PF_X) != 0 ? "r-xp" : "r--p", segment.offset.value / kPage * kPage,
                       program);
  }
}

void make(const std::vector<std::string>& command) {
  const support::Outcome outcome = support::run(command, {.limit = kLimit});
  if (!outcome.ok()) throw std::runtime_error(outcome.describe());
}

std::string to_shell(const std::string& command) {
  return command + " > /dev/null 2> /dev/null";
}

class Readers {
 public:
  // Reads `file` with fathom's `command` and, if it is installed, with the peer's shell command.
  void add(const std::string& file, const std::vector<std::string>& command, const std::string& peer = "") {
    std::string words;
    for (const std::string& word : command)
      words += (words.empty() ? "" : " ") + word.substr(word.rfind('/') + 1);
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"-o", folder_ / "out", "--force"});
    costs_.push_back({file, "fathom " + words, support::fathom_command(arguments), {}, {}, {}});
    if (!peer.empty()) add_peer(file, peer);
  }
  void add_peer(const std::string& file, const std::string& peer) {
    const std::string program = peer.substr(0, peer.find(' '));
    if (support::find_program(program))
      costs_.push_back({file, program, {"sh", "-c", to_shell(peer)}, {}, {}, {}});
  }

  void add_dump() {
    const char* named = std::getenv("DUMP_PROGRAM");
    std::string program = named != nullptr ? named : "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus";
    if (!std::filesystem::exists(program)) program = support::fathom_command({}).front();
    const std::string dump = folder_ / "big.heap";
    write_dump(dump, program);
    add("heap dump of jemalloc, 20,000 addresses", {"report", dump},
        fmt::format("jeprof --text {} {}", program, dump));
  }

  // jq on a text that makes it allocate four million times.
  void add_heaptrack() {
    if (!support::find_program("heaptrack") || !support::find_program("jq")) return;
    const std::string input = folder_ / "input.json", base = folder_ / "heaptrack.jq";
    std::ofstream json(input);
    for (int i = 0; i < 340'000; ++i)
      json << fmt::format("{}{{\"a\":{},\"b\":[\"{}\",\"{}\",\"{}\"],\"c\":{{\"x\":{}}}}}",
                          i == 0 ? '[' : ',', i, i, i, i, 2 * i);
    json << "]\n";
    json.close();
    make({"sh", "-c", to_shell(fmt::format("heaptrack -o {} jq -c '.[]|.a' {}", base, input))});
    for (const char* ending : {".zst", ".gz"})
      if (std::filesystem::exists(base + ending))
        add("heaptrack, 4 million allocations", {"report", base + ending},
            "heaptrack_print " + base + ending);
  }

  void add_perf() {
    if (!support::find_program("perf")) return;
    const std::string data = folder_ / "perf.data";
    make({"sh", "-c",
          to_shell(fmt::format("perf record -e cpu-clock -F 999 --call-graph dwarf,65528 -o {} -- {} 10",
                               data, ONE_THREAD_TARGET))});
    const auto mib = std::filesystem::file_size(data) >> 20;
    add(fmt::format("perf.data with copied stacks, {} MiB", mib), {"flamegraph", data},
        "perf script --no-inline -i " + data);
  }

  void add_exports() {
    const std::string recording = folder_ / "million.fathom";
    Result<store::Writer> writer = store::Writer::create(recording);
    if (!writer || !writer->finish(big_profile({}))) throw std::runtime_error("cannot write " + recording);
    for (const char* format : {"pprof", "firefox", "speedscope", "perfetto"})
      add("a million samples", {"export", recording, "--to", format});
  }

  // STACKS: number of different stacks.
  void add_large_text() {
    const char* asked = std::getenv("STACKS");
    const std::size_t stacks = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 1'000'000;
    const std::string folded = folder_ / "large.folded", script = folder_ / "large.perf.txt";
    write_large_folded(folded, stacks);
    write_large_perf_script(script, stacks);
    const auto file = [&](const std::string& path, const std::string& what) {
      return fmt::format("{} different stacks, {}, {} MiB", stacks, what,
                         std::filesystem::file_size(path) >> 20);
    };
    const std::string as_folded = file(folded, "folded"), as_script = file(script, "perf script");
    add(as_folded, {"report", folded});
    add(as_folded, {"flamegraph", folded}, "flamegraph.pl " + folded);
    add_peer(as_folded, "inferno-flamegraph " + folded);
    for (const char* format : {"pprof", "folded"}) add(as_folded, {"export", folded, "--to", format});
    add(as_script, {"report", script});
    add(as_script, {"export", script, "--to", "folded"}, "inferno-collapse-perf " + script);
    add_peer(as_script, "stackcollapse-perf.pl " + script);
  }

  void measure() {
    for (int round = 0; round < rounds(); ++round)
      for (Cost& cost : costs_) cost.measure();
    std::vector<std::vector<std::string>> rows;
    for (const Cost& cost : costs_) rows.push_back(cost.row());
    print_table({"file", "command", "time, s", "CPU, s", "peak RSS, MiB"}, rows);
  }

 private:
  const support::TempDir folder_;
  std::vector<Cost> costs_;
};

}  // namespace
}  // namespace fathom::bench

int main() {
  fathom::bench::Readers readers;
  const char* only = std::getenv("ONLY");
  const auto is_asked = [&](std::string_view what) { return only == nullptr || what == only; };
  if (is_asked("dump")) readers.add_dump();
  if (is_asked("heaptrack")) readers.add_heaptrack();
  if (is_asked("perf")) readers.add_perf();
  if (is_asked("text")) readers.add_large_text();
  if (is_asked("exports")) readers.add_exports();
  readers.measure();
  return 0;
}
