// How long does it take to resolve a profile's addresses? Compared in the same run with addr2line -fCi, which
// gets the same addresses of the same file through a pipe, as perf does.
//
//   symbolize_bench [FILE...]     default: this program itself, which has DWARF and inlined calls
//
// "open": read symbol tables, find DWARF. "first": 1,000 addresses spread over the file, with nothing read
// before. "all": 20,000 more, in 20,000 different functions and places. "cached": a second recording, names
// from disk, including the time to read them. Wall time, the median of five rounds; memory is the growth of
// the anonymous resident set in the first.
#include <elf.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/worker.h"
#include "linux/process/status.h"

namespace {

using namespace fathom;
using namespace fathom::symbolize;

constexpr std::size_t kFirst = 1'000, kAll = 20'000;
constexpr int kRounds = 3;

double milliseconds(const std::function<void()>& work) {
  const auto start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e-6;
}

double milliseconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Reproducible; each function is equally likely, whatever its length.
std::vector<ElfAddress> addresses_in(const elf::ElfFile& file, std::size_t count) {
  std::vector<elf::Symbol> functions;
  for (const auto& symbol : file.symbols(elf::SymbolTable::kSymtab))
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && symbol.size != 0)
      functions.push_back(symbol);
  std::mt19937_64 random(1);
  std::vector<ElfAddress> addresses;
  for (std::size_t i = 0; i < count && !functions.empty(); ++i) {
    const auto& function = functions[random() % functions.size()];
    addresses.push_back({function.address.value + random() % function.size});
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

double addr2line(const std::string& path, const std::vector<ElfAddress>& addresses,
                 const std::string& folder) {
  std::string questions;
  for (const auto address : addresses) questions += fmt::format("0x{:x}\n", address.value);
  if (!write_file(folder + "/addresses", questions)) return 0;
  const std::string command = "addr2line -fCi -e '" + path + "' < " + folder + "/addresses > /dev/null";
  const double before = milliseconds_of_children();
  if (std::system(command.c_str()) != 0) std::fputs("addr2line failed\n", stderr);
  return milliseconds_of_children() - before;
}

double record(const ModuleSource& source, const std::vector<ElfAddress>& addresses, const Options& options) {
  return milliseconds([&] {
    Worker worker(options);
    worker.submit(model::ModuleId{1}, source);
    for (std::uint32_t i = 0; i < addresses.size(); ++i)
      worker.submit(model::ModuleId{1}, model::FrameId{i}, addresses[i]);
    worker.drain();
  });
}

std::uint64_t anonymous_memory() {
  const auto memory = process::read_memory(::getpid());
  return memory ? memory->rss_anon : 0;
}

void measure(const std::string& path, const std::string& folder) {
  const auto file = elf::ModuleFile::open(path);
  if (!file) {
    fmt::print("{}\n", file.error().message);
    return;
  }
  const auto all = addresses_in(file->elf(), kAll), first = addresses_in(file->elf(), kFirst);
  std::vector<double> open, first_ms, all_ms, cold, cached;
  std::uint64_t memory = 0;
  std::size_t named = 0;
  const ModuleSource source{.path = path, .identity = file->elf().identity()};
  for (int round = 0; round < kRounds; ++round) {
    const auto before = anonymous_memory();
    std::unique_ptr<ModuleSymbols> symbols;
    open.push_back(milliseconds([&] { symbols = ModuleSymbols::open(source, Options{}); }));
    first_ms.push_back(milliseconds([&] { symbols->resolve(first); }));
    std::vector<std::vector<Name>> names;
    all_ms.push_back(milliseconds([&] { names = symbols->resolve(all); }));
    if (round == 0) memory = anonymous_memory() - before;
    named = static_cast<std::size_t>(
        std::count_if(names.begin(), names.end(), [](auto& each) { return !each.empty(); }));
    Options options;
    options.cache_directory = folder + "/cache" + std::to_string(round);
    cold.push_back(record(source, all, options));
    cached.push_back(record(source, all, options));
  }
  const double first_peer = addr2line(path, first, folder), all_peer = addr2line(path, all, folder);
  fmt::print("{}\n  {} of {} addresses named; memory {:.1f} MB\n", path, named, all.size(),
             static_cast<double>(memory) / 1e6);
  fmt::print("  {:<22}{:>12}{:>14}{:>8}\n", "", "fathom", "addr2line", "ratio");
  const auto row = [](const char* what, double ours, double peer) {
    fmt::print("  {:<22}{:>9.1f} ms", what, ours);
    if (peer > 0) fmt::print("{:>11.1f} ms{:>8.2f}", peer, ours / peer);
    fmt::print("\n");
  };
  row("open", median(open), 0);
  row("first 1,000", median(open) + median(first_ms), first_peer);
  row("all 20,000", median(all_ms), all_peer);
  row("worker, cold", median(cold), all_peer);
  row("worker, cached", median(cached), all_peer);
}

}  // namespace

int main(int count, char** arguments) {
  std::string folder = std::filesystem::temp_directory_path().string() + "/fathom-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  std::vector<std::string> files(arguments + 1, arguments + count);
  if (files.empty()) files.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  for (const auto& file : files) measure(file, folder);
  std::filesystem::remove_all(folder);
}
