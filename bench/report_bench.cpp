// From a profile in memory to the report: how long a user waits after the file has been read. A million
// samples of a server: 20,000 different stacks of about 40 frames over 32 threads, a tenth of the calls
// inlined.
#include <benchmark/benchmark.h>

#include "analysis/summary/report.h"
#include "bench/support/big_profile.h"
#include "present/json/json.h"
#include "present/text/text_report.h"

namespace {

using namespace fathom;

model::Profile profile_of(const benchmark::State& state) {
  return bench::big_profile({.samples = static_cast<int>(state.range(0))});
}

void tree_of(benchmark::State& state) {
  const model::Profile profile = profile_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(analysis::build_call_tree(profile, {}));
}
BENCHMARK(tree_of)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void text_of(benchmark::State& state) {
  const model::Profile profile = profile_of(state);
  for (auto _ : state) {
    const analysis::Report report = analysis::make_report(profile, {}).value();
    benchmark::DoNotOptimize(present::report_text(report, {.threads = true, .modules = true}));
  }
}
BENCHMARK(text_of)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void json_of(benchmark::State& state) {
  const model::Profile profile = profile_of(state);
  for (auto _ : state)
    benchmark::DoNotOptimize(present::to_json(analysis::make_report(profile, {}).value(), 0));
}
BENCHMARK(json_of)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
