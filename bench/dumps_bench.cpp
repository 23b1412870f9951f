// From the text of heap dumps to a profile without names: one dump with 20,000 addresses, and a hundred of
// them as a heap over time. Names are measured with the whole program: `fathom report` on a dump of a large
// binary.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "formats/dumps/merge.h"

namespace {

using namespace fathom;

constexpr std::uint64_t kBase = 0x555555000000, kAddresses = 20'000;

std::string dump_text(unsigned number) {
  std::mt19937_64 random(1);
  std::string text = "heap_v2/524288\n  t*: 1: 1 [0: 0]\n";
  for (std::uint64_t stack = 0; stack < kAddresses / 4; ++stack) {
    text += "@";
    for (std::uint64_t i = 0; i < 4; ++i) text += fmt::format(" {:#x}", kBase + 16 * (4 * stack + i));
    for (int i = 0; i < 16; ++i) text += fmt::format(" {:#x}", kBase + 16 * (random() % 400));
    const std::uint64_t objects = 1 + stack % 20 + number / 10;
    const std::string counts = fmt::format("{}: {} [0: 0]\n", objects, 512 * objects);
    text += "\n  t*: " + counts + "  t1: " + counts;
  }
  return text + fmt::format("\nMAPPED_LIBRARIES:\n{:x}-{:x} r-xp 00000000 00:00 1 /nowhere/server\n", kBase,
                            kBase + (1 << 20));
}

dumps::DumpFile file_of(const std::string& text, unsigned number) {
  const std::string name = fmt::format("jeprof.7.{}.i{}.heap", number, number);
  return {name, formats::parse_dump_name(name), 0, formats::read_heap_dump(text, name).value()};
}

void one_dump(benchmark::State& state) {
  const std::string text = dump_text(0);
  for (auto _ : state) {
    std::vector<dumps::DumpFile> files;
    files.push_back(file_of(text, 0));
    benchmark::DoNotOptimize(dumps::merge_dumps(files, {}, {}, {}).value());
  }
}
BENCHMARK(one_dump)->Unit(benchmark::kMillisecond);

void hundred_dumps_over_time(benchmark::State& state) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 100; ++i) texts.push_back(dump_text(i));
  for (auto _ : state) {
    std::vector<dumps::DumpFile> files;
    for (unsigned i = 0; i < 100; ++i) files.push_back(file_of(texts[i], i));
    benchmark::DoNotOptimize(dumps::merge_dumps(files, {dumps::Merge::Kind::kAll, 0}, {}, {}).value());
  }
}
BENCHMARK(hundred_dumps_over_time)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
