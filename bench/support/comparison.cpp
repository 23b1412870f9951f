#include "bench/support/comparison.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>

#include "bench/support/rounds.h"
#include "bench/support/statistics.h"

namespace fathom::bench {
namespace {

struct Run {
  Throughput throughput;
  Recorded recorded;
};

Run run_once(Workload& workload, const Profiler& profiler, const std::string& file) {
  const pid_t pid = workload.start();
  Recording recording(profiler, pid, file);
  const auto settled = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_to_settle());
  while (std::chrono::steady_clock::now() < settled) (void)workload.work();
  Run run;
  run.throughput = workload.work();
  run.recorded = recording.stop();
  workload.stop();
  recording.judge(run.recorded);
  std::remove(file.c_str());
  return run;
}

}  // namespace

void compare(Workload& workload, const std::string& folder, const std::vector<Profiler>& profilers) {
  const std::size_t count = profilers.size();
  Figure throughput(count), per_cpu_second(count), megabytes_per_s(count), complete_percent(count),
      cpu_percent(count), rss_megabytes(count);
  run_rounds(rounds(), count, [&](int round, std::size_t i) {
    const Run run = run_once(workload, profilers[i], folder + "/recording");
    throughput.add(round, i, run.throughput.per_second);
    per_cpu_second.add(round, i, run.throughput.per_cpu_second);
    megabytes_per_s.add(round, i, static_cast<double>(run.recorded.file_bytes) / run.recorded.seconds * 1e-6);
    complete_percent.add(round, i, run.recorded.complete_percent);
    cpu_percent.add(round, i, 100 * run.recorded.cpu_seconds / run.recorded.seconds);
    rss_megabytes.add(round, i, static_cast<double>(run.recorded.rss_bytes) * 1e-6);
    std::fprintf(stderr, "round %d: %-28s %10.0f %s, per CPU second %.0f\n", round + 1,
                 profilers[i].name().c_str(), run.throughput.per_second, workload.unit().c_str(),
                 run.throughput.per_cpu_second);
  });

  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {"nothing", number(median(throughput.values(0)), 0) + " " + workload.unit(), "", "", "", "", ""});
  for (std::size_t i = 0; i < count; ++i) {
    const bool nothing = i == 0;
    const auto figure = [&](const Figure& of, int digits) {
      return nothing ? std::string() : number(median(of.values(i)), digits);
    };
    rows.push_back({nothing ? "one run of nothing to the other" : profilers[i].name(),
                    median_and_range(throughput.ratios(i), 3), median_and_range(per_cpu_second.ratios(i), 3),
                    figure(megabytes_per_s, 3), figure(complete_percent, 1), figure(cpu_percent, 1),
                    figure(rss_megabytes, 0)});
  }
  print_table({"profiler", "work per second, ratio to nothing [range]",
               "work per CPU second of the target, ratio [range]", "MB/s written", "complete stacks, %",
               "profiler's CPU, % of a core", "profiler's peak memory, MB"},
              rows);
}

int compare_as_asked(Workload& workload, const std::string& folder, const std::string& question) {
  if (question.empty()) {
    compare(workload, folder, all_profilers());
  } else if (question == "default") {
    compare(workload, folder, parts_of_the_default());
  } else if (question == "heap") {
    compare(workload, folder, {{Kind::kNone, 0}, {Kind::kFathomHeap, 0}, {Kind::kFathomHeapExact, 0}});
  } else if (question == "before") {
    compare(workload, folder, engines_beside_before());
  } else {
    std::fprintf(stderr, "questions: none, \"default\", \"heap\", \"before\"\n");
    return 2;
  }
  return 0;
}

}  // namespace fathom::bench
