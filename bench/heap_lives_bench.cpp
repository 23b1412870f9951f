// What does it cost to keep the lifetime of every heap block, on disk and in time? Ten million blocks of a
// program that runs for a minute: 2,000 call stacks, a few of them hot, sizes by stack, reused addresses,
// most lifetimes short and some long. Bytes per block in the file; time to write them like a recorder; time
// to read the recording without them, as `fathom view` does, and through filters that select many and few.
// FATHOM_LIVES_BLOCKS sets the number of blocks: 314000000 make a recording of 2.6 GB.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <queue>
#include <random>
#include <string>

#include "model/profile.h"
#include "model/store/reader.h"
#include "model/store/writer.h"

namespace {

using namespace fathom;
using namespace fathom::model;

constexpr std::uint64_t kSliceNs = 1'000'000'000, kStepNs = 6000;
constexpr std::uint32_t kSites = 2000;

std::uint64_t number_of_blocks() {
  const char* asked = std::getenv("FATHOM_LIVES_BLOCKS");
  return asked == nullptr ? 10'000'000 : std::strtoull(asked, nullptr, 10);
}

class Load {
 public:
  Load() {
    Builder builder(profile_);
    profile_.processes.emplace_back();
    profile_.threads.resize(4);
    HeapTables& heap = profile_.heap;
    heap.heaps.emplace_back();
    heap.heaps[0].mode = HeapMode::kExact;
    heap.heaps[0].each_block = true;
    for (std::uint32_t i = 0; i < kSites; ++i) {
      const StackId stack = builder.stack({0}, builder.frame({0}, {0x1000 + i * 16}));
      heap.sites.push_back({{0}, stack, {0}, {i % 4}, 1});
      sizes_.push_back(8u << random_() % 10);
      free_.emplace_back();
    }
  }

  void write(const std::string& path) {
    auto writer = store::Writer::create(path, {.overwrite = true});
    for (std::uint64_t i = 0; i < number_of_blocks(); ++i) {
      now_ += 1 + random_() % (2 * kStepNs);
      if (now_ / kSliceNs >= profile_.heap.slices.size()) next_slice();
      allocate();
      while (!ends_.empty() && ends_.top().time_ns <= now_) end();
      if (profile_.heap.blocks.size() >= 1u << 16) save(*writer);
    }
    for (; !ends_.empty(); ends_.pop()) profile_.heap.blocks.push_back(ends_.top().block);
    profile_.heap.heaps[0].end_ns = now_;
    if (!writer->finish(profile_)) throw std::runtime_error("the disk is full");
  }

 private:
  struct End {
    std::uint64_t time_ns;
    HeapBlock block;
    bool operator<(const End& other) const { return time_ns > other.time_ns; }
  };
  void next_slice() {
    const std::uint64_t start = profile_.heap.slices.size() * kSliceNs;
    profile_.heap.slices.push_back({{0}, start, start + kSliceNs, start, 0, 0, 0});
  }
  void allocate() {
    // The program runs through one part of its stacks for a while.
    if (random_() % 50 == 0) part_ = static_cast<std::uint32_t>(random_() % kSites);
    const std::uint32_t site = (part_ + static_cast<std::uint32_t>(random_() % 4)) % kSites;
    HeapBlock block;
    block.site = {site};
    block.size = random_() % 4 == 0 ? random_() % 4096 : sizes_[site];
    if (free_[site].empty()) {
      block.address = next_address_;
      next_address_ += (block.size + 24) / 16 * 16;
    } else {
      block.address = free_[site].back();
      free_[site].pop_back();
    }
    block.allocated_ns = now_;
    block.first_slice = static_cast<std::uint32_t>(profile_.heap.slices.size() - 1);
    const double lifetime = std::exp(std::normal_distribution<>(std::log(50'000.0), 3)(random_));
    ends_.push({now_ + static_cast<std::uint64_t>(std::min(lifetime, 1e14)), block});
  }
  void end() {
    HeapBlock block = ends_.top().block;
    block.lifetime_ns = ends_.top().time_ns - block.allocated_ns;
    block.last_slice = static_cast<std::uint32_t>(profile_.heap.slices.size() - 1);
    block.freed_by = random_() % 10 == 0 ? ThreadId{2} : profile_.heap.sites[block.site.value].thread;
    free_[block.site.value].push_back(block.address);
    profile_.heap.blocks.push_back(block);
    ends_.pop();
  }
  void save(store::Writer& writer) {
    if (!writer.append(profile_)) throw std::runtime_error("the disk is full");
    profile_.heap.blocks.clear();
  }

  Profile profile_;
  std::mt19937_64 random_{7};
  std::vector<std::uint64_t> sizes_;
  std::vector<std::vector<std::uint64_t>> free_;  // addresses, by site
  std::priority_queue<End> ends_;
  std::uint64_t now_ = 0, next_address_ = 0x7f0000000000;
  std::uint32_t part_ = 0;
};

const std::string& recording() {
  static const std::string path = [] {
    const std::string made = std::filesystem::temp_directory_path() / "fathom-lives-bench.fathom";
    Load().write(made);
    return made;
  }();
  return path;
}

void write_lives(benchmark::State& state) {
  const std::string path = std::filesystem::temp_directory_path() / "fathom-lives-written.fathom";
  for (auto _ : state) Load().write(path);
  state.counters["bytes/block"] =
      static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(number_of_blocks());
  std::filesystem::remove(path);
}
BENCHMARK(write_lives)->Unit(benchmark::kMillisecond)->Iterations(1);

void read(benchmark::State& state, const store::ReadOptions& options) {
  const std::string& path = recording();
  for (auto _ : state) {
    auto profile = store::read(path, options);
    if (!profile) state.SkipWithError(profile.error().message.c_str());
    benchmark::DoNotOptimize(profile);
  }
}
void read_without(benchmark::State& state) {
  read(state, {});
}
void read_all(benchmark::State& state) {
  store::ReadOptions options;
  options.blocks.emplace();
  read(state, options);
}
void read_live(benchmark::State& state) {
  store::ReadOptions options;
  options.blocks.emplace().keep = 100;
  options.blocks->if_recorded = true;
  options.packed = true;
  read(state, options);
}
void read_size(benchmark::State& state) {
  store::ReadOptions options;
  options.blocks.emplace().least_size = static_cast<std::uint64_t>(state.range(0));
  read(state, options);
}
void read_large_and_old(benchmark::State& state) {
  store::ReadOptions options;
  options.blocks.emplace().least_size = 4000;
  options.blocks->least_lifetime_ns = 1'000'000'000;
  read(state, options);
}
BENCHMARK(read_without)->Unit(benchmark::kMillisecond);
BENCHMARK(read_all)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_live)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_size)->Arg(1024)->Arg(4096)->Arg(1 << 20)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_large_and_old)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
