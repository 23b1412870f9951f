// From a profile in memory to the report: how long a person waits after the file has been read. A million
// samples of a server: 20,000 different stacks of about 40 frames over 32 threads, a tenth of the calls
// inlined.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "analysis/summary/report.h"
#include "model/profile.h"
#include "present/json/json.h"
#include "present/text/text_report.h"

namespace {

using namespace fathom;

model::Profile big_profile(int samples) {
  constexpr int kFunctions = 5'000;
  constexpr int kStacks = 20'000;
  constexpr int kDepth = 40;
  constexpr int kThreads = 32;
  model::Profile profile;
  model::Builder builder(profile);
  std::mt19937_64 random(1);
  model::Module module;
  module.kind = model::ModuleKind::kFile;
  module.name = builder.string("server");
  module.path = builder.string("/usr/bin/server");
  const model::ModuleId server = builder.module(module);
  std::vector<model::FrameId> frames;
  for (int i = 0; i < 4 * kFunctions; ++i) {
    const std::string name =
        "server::module_" + std::to_string(i % 37) + "::function_" + std::to_string(i % kFunctions);
    frames.push_back(builder.frame(server, ElfAddress{0x1000 + static_cast<std::uint64_t>(i) * 16}));
    std::vector<model::Builder::NamedLine> lines{{name, "", 0}};
    if (i % 10 == 0) lines.insert(lines.begin(), {"alloc::vec::Vec<T>::push", "", 0});
    builder.name_frame(frames.back(), lines);
  }
  std::vector<model::StackId> stacks;
  for (int i = 0; i < kStacks; ++i) {
    // Three quarters of a stack are shared by many, the rest is its own.
    model::StackId stack{0};
    std::mt19937_64 shared(static_cast<std::uint64_t>(i % 200));
    for (int depth = 0; depth < kDepth; ++depth) {
      stack = builder.stack(stack, frames[(depth < kDepth * 3 / 4 ? shared() : random()) % frames.size()]);
    }
    stacks.push_back(stack);
  }
  profile.processes.push_back({});
  for (int i = 0; i < kThreads; ++i) {
    model::Thread thread;
    thread.tid = i + 1;
    thread.name = builder.string("worker-" + std::to_string(i % 4));
    profile.threads.push_back(thread);
  }
  for (int i = 0; i < samples; ++i) {
    model::Sample sample;
    sample.time_ns = static_cast<std::uint64_t>(i) * 1'000;
    sample.thread = {static_cast<std::uint32_t>(random() % kThreads)};
    // Few stacks are common, most are rare.
    const double place = std::uniform_real_distribution<double>(0, 1)(random);
    sample.stack = stacks[static_cast<std::size_t>(place * place * place * kStacks)];
    profile.samples.push_back(sample);
  }
  profile.meta.end_ns = static_cast<std::uint64_t>(samples) * 1'000;
  profile.quality.samples = profile.samples.size();
  return profile;
}

void tree_of(benchmark::State& state) {
  const model::Profile profile = big_profile(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(analysis::build_call_tree(profile, {}));
}
BENCHMARK(tree_of)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void text_of(benchmark::State& state) {
  const model::Profile profile = big_profile(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const analysis::Report report = analysis::make_report(profile, {}).value();
    benchmark::DoNotOptimize(present::report_text(report, {.threads = true, .modules = true}));
  }
}
BENCHMARK(text_of)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void json_of(benchmark::State& state) {
  const model::Profile profile = big_profile(static_cast<int>(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(present::to_json(analysis::make_report(profile, {}).value(), 0));
}
BENCHMARK(json_of)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
