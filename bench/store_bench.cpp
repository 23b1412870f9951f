// What does a recording cost on disk and in time? Bytes and nanoseconds per sample, written as the capture
// loop writes (one append per second) and read back completely. The load: 999 Hz on 4 CPUs, 12 threads, a
// call tree of 20,000 stacks, a few hundred of them hot, and timers that are some microseconds late. Waits
// separately: 64 threads that block on locks and files, about 12,500 waits a second.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include "model/profile.h"
#include "model/store/payload.h"
#include "model/store/reader.h"
#include "model/store/writer.h"

namespace {

using namespace fathom;
using model::Profile;

constexpr std::uint64_t kHz = 999, kCpus = 4, kThreads = 12;

// Feeds one second after the other into a profile, as capture does: adds a stack when it first occurs.
class Load {
 public:
  Load() : builder_(profile_) {
    profile_.meta.frequency_hz = kHz;
    profile_.meta.start_ns = kStart;
    profile_.processes.emplace_back();
    profile_.threads.resize(kThreads);
    model::Module module;
    module.kind = model::ModuleKind::kFile;
    module.name = builder_.string("app");
    module_ = builder_.module(module);
    // Depth 5 to 45; each stack extends another one.
    paths_.push_back({});
    while (paths_.size() < 20'000) {
      auto path = paths_[random_() % paths_.size()];
      if (path.size() > 40) path.resize(20);
      for (std::size_t i = 0, end = 1 + random_() % 5; i < end; ++i)
        path.push_back(0x1000 + (random_() % 30'000) * 16);
      paths_.push_back(std::move(path));
    }
  }

  Profile& next_second() {
    profile_.samples.clear();
    for (std::uint64_t beat = 0; beat < kHz; ++beat, ++beats_)
      for (std::uint16_t cpu = 0; cpu < kCpus; ++cpu) {
        if (random_() % 200 == 0) running_[cpu] = random_() % kThreads;
        auto& sample = profile_.samples.emplace_back();
        sample.time_ns =
            kStart + beats_ * 1'001'001 + cpu * 130 + static_cast<std::uint64_t>(lateness_(random_));
        sample.cpu = cpu;
        sample.thread = {static_cast<std::uint32_t>(running_[cpu])};
        sample.stack = popular_stack();
        sample.end = 1;
        profile_.quality.samples++;
        profile_.quality.complete++;
      }
    profile_.meta.end_ns = kStart + beats_ * 1'001'001;
    for (auto& thread : profile_.threads) thread.cpu_ns += random_() % 300'000'000;
    return profile_;
  }

 private:
  model::StackId popular_stack() {
    const double uniform = std::generate_canonical<double, 32>(random_);
    const auto rank = static_cast<std::size_t>(19'999 * std::pow(uniform, 6));
    model::StackId stack;
    for (const std::uint64_t address : paths_[1 + rank]) {
      const auto frame = builder_.frame(module_, {address});
      if (profile_.frames[frame.value].line_count == 0) {
        const std::string name =
            "app::worker::Service<int>::step_" + std::to_string(address % 5000) + "(long)";
        builder_.name_frame(frame, {{name, "src/service.cpp", static_cast<std::uint32_t>(address % 900)}});
      }
      stack = builder_.stack(stack, frame);
    }
    return stack;
  }

  static constexpr std::uint64_t kStart = 5'000'000'000'000;
  std::mt19937_64 random_{1};
  std::exponential_distribution<double> lateness_{1.0 / 3000};  // 3 us
  Profile profile_;
  model::Builder builder_;
  model::ModuleId module_;
  std::vector<std::vector<std::uint64_t>> paths_;
  std::array<std::uint64_t, kCpus> running_{};
  std::uint64_t beats_ = 0;
};

// Waits of a server: each thread runs for about 50 us, waits between 20 us and 50 ms on one of its stacks,
// and queues for some microseconds.
class WaitLoad {
 public:
  WaitLoad() : builder_(profile_) {
    profile_.meta.start_ns = kStart;
    profile_.processes.emplace_back();
    profile_.threads.resize(kWaiters);
    now_.assign(kWaiters, kStart);
    for (std::uint32_t i = 0; i < kStacks; ++i)
      builder_.stack(i % 20 == 0 ? model::StackId{} : model::StackId{i},
                     builder_.frame({0}, {0x1000 + random_() % 1'000'000}));
    for (std::uint64_t i = 0; i < 400; ++i)
      profile_.objects.push_back(
          {model::ObjectKind::kFutex, {}, 0x7f00'0000'0000 + random_() % 4096 * 64, 7});
    for (int i = 0; i < 100; ++i)
      profile_.objects.push_back(
          {model::ObjectKind::kFile, builder_.string("/data/" + std::to_string(i)), 0, 0});
  }

  Profile& next_second() {
    profile_.waits.clear();
    end_ns_ += 1'000'000'000;
    for (std::uint32_t thread = 0; thread < kWaiters; ++thread)
      while (now_[thread] < end_ns_) add_wait(thread);
    std::ranges::sort(profile_.waits, {}, [](const auto& wait) { return store::end_of(wait); });
    profile_.quality.waits += profile_.waits.size();
    profile_.meta.end_ns = end_ns_;
    for (auto& thread : profile_.threads) thread.waited_ns += random_() % 1'000'000'000;
    return profile_;
  }

 private:
  void add_wait(std::uint32_t thread) {
    auto& wait = profile_.waits.emplace_back();
    const bool futex = random_() % 10 < 7;
    const auto stack = static_cast<std::uint32_t>(random_() % 12);
    wait.thread = {thread};
    wait.stack = {1 + (thread * 7 + stack * stack + (futex ? 0 : kStacks / 2)) % kStacks};
    wait.start_ns = now_[thread] + about(50'000);
    wait.waited_ns = 20'000 + about(stack == 0 ? 50e6 : 1e6);
    wait.queued_ns = about(4000);
    now_[thread] = store::end_of(wait);
    wait.state = futex ? model::WaitState::kInterruptible : model::WaitState::kUninterruptible;
    wait.system_call = futex ? 202 : 17;
    wait.object = {
        static_cast<std::uint32_t>(futex ? 1 + (stack * 31 + thread) % 400 : 401 + random_() % 100)};
    wait.argument = futex ? 0x189 : 4096 << random_() % 4;
    if (futex) wait.waker = {static_cast<std::uint32_t>(random_() % kWaiters)};
    if (futex && wait.waited_ns > 1'000'000)
      wait.waker_stack = {static_cast<std::uint32_t>(1 + random_() % 40)};
    wait.end = 1;
  }
  std::uint64_t about(double mean_ns) {
    return static_cast<std::uint64_t>(std::exponential_distribution<double>(1 / mean_ns)(random_));
  }

  static constexpr std::uint64_t kStart = 5'000'000'000'000;
  static constexpr std::uint32_t kWaiters = 64, kStacks = 2000;
  std::mt19937_64 random_{1};
  Profile profile_;
  model::Builder builder_;
  std::vector<std::uint64_t> now_;
  std::uint64_t end_ns_ = kStart;
};

const std::string& path() {
  static const std::string kPath =
      (std::filesystem::temp_directory_path() / ("store_bench." + std::to_string(::getpid()))).string();
  return kPath;
}

void write_seconds(benchmark::State& state) {
  double bytes = 0, samples = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Load load;
    auto writer = store::Writer::create(path(), {.overwrite = true});
    samples = 0;
    for (std::int64_t second = 0; second < state.range(0); ++second) {
      Profile& profile = load.next_second();
      samples += static_cast<double>(profile.samples.size());
      state.ResumeTiming();
      if (!writer->append(profile)) state.SkipWithError("append");
      state.PauseTiming();
      profile.samples.clear();
      if (second + 1 == state.range(0) && !writer->finish(profile)) state.SkipWithError("finish");
    }
    bytes = static_cast<double>(writer->bytes_written());
    state.ResumeTiming();
  }
  state.counters["samples"] = samples;
  state.counters["bytes/sample"] = bytes / samples;
  state.counters["time/sample"] = benchmark::Counter(
      samples, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(write_seconds)->Arg(3)->Arg(60)->Arg(250)->Unit(benchmark::kMillisecond);

void read_seconds(benchmark::State& state) {
  {
    Load load;
    auto writer = store::Writer::create(path(), {.overwrite = true});
    for (std::int64_t second = 0; second < state.range(0); ++second)
      if (!writer->append(load.next_second())) state.SkipWithError("append");
    Profile& profile = load.next_second();
    if (!writer->finish(profile)) state.SkipWithError("finish");
  }
  double samples = 0;
  for (auto _ : state) {
    auto profile = store::read(path());
    if (!profile) {
      state.SkipWithError(profile.error().message.c_str());
      break;
    }
    samples = static_cast<double>(profile->samples.size());
    benchmark::DoNotOptimize(profile->samples.data());
  }
  state.counters["samples"] = samples;
  state.counters["time/sample"] = benchmark::Counter(
      samples, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  std::filesystem::remove(path());
}
BENCHMARK(read_seconds)->Arg(2)->Arg(60)->Arg(250)->Unit(benchmark::kMillisecond);

void write_waits(benchmark::State& state) {
  double bytes = 0, waits = 0;
  for (auto _ : state) {
    state.PauseTiming();
    WaitLoad load;
    auto writer = store::Writer::create(path(), {.overwrite = true});
    waits = 0;
    for (std::int64_t second = 0; second < state.range(0); ++second) {
      Profile& profile = load.next_second();
      waits += static_cast<double>(profile.waits.size());
      state.ResumeTiming();
      if (!writer->append(profile)) state.SkipWithError("append");
      state.PauseTiming();
      profile.waits.clear();
      if (second + 1 == state.range(0) && !writer->finish(profile)) state.SkipWithError("finish");
    }
    bytes = static_cast<double>(writer->bytes_written());
    state.ResumeTiming();
  }
  state.counters["waits"] = waits;
  state.counters["bytes/wait"] = bytes / waits;
  state.counters["time/wait"] =
      benchmark::Counter(waits, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(write_waits)->Arg(3)->Arg(30)->Unit(benchmark::kMillisecond);

// A window of a tenth of the recording, compared with the whole.
void read_waits(benchmark::State& state) {
  {
    WaitLoad load;
    auto writer = store::Writer::create(path(), {.overwrite = true});
    for (int second = 0; second < 30; ++second)
      if (!writer->append(load.next_second())) state.SkipWithError("append");
    if (!writer->finish(load.next_second())) state.SkipWithError("finish");
  }
  store::ReadOptions options;
  if (state.range(0) != 0) {
    options.from_ns = 5'010'000'000'000;
    options.to_ns = 5'013'000'000'000;
  }
  double waits = 0;
  for (auto _ : state) {
    auto profile = store::read(path(), options);
    if (!profile) {
      state.SkipWithError(profile.error().message.c_str());
      break;
    }
    waits = static_cast<double>(profile->waits.size());
    benchmark::DoNotOptimize(profile->waits.data());
  }
  state.counters["waits"] = waits;
  state.counters["time/wait"] =
      benchmark::Counter(waits, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  std::filesystem::remove(path());
}
BENCHMARK(read_waits)->ArgName("window")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
