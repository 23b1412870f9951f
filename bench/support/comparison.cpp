#include "bench/support/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/support/profilers.h"
#include "bench/support/statistics.h"

namespace fathom::bench {
namespace {

struct Figures {
  std::vector<double> throughput, ratio, cpu_ratio, megabytes_per_s, complete_percent, cpu_percent,
      rss_megabytes;
};

}  // namespace

void compare_profilers(Workload& workload, const std::string& folder) {
  const std::vector<Profiler> profilers = all_profilers();
  std::vector<Figures> figures(profilers.size());
  for (int round = 0; round < rounds(); ++round) {
    Throughput bare;
    for (std::size_t i = 0; i < profilers.size(); ++i) {
      const std::string file = fmt::format("{}/{}-{}", folder, round, i);
      const pid_t pid = workload.start();
      Recording recording(profilers[i], pid, file);
      const Throughput throughput = workload.work();
      Recorded recorded = recording.stop();
      workload.stop();
      recording.judge(recorded);
      std::remove(file.c_str());

      if (profilers[i].kind == Kind::kNone) bare = throughput;
      Figures& row = figures[i];
      row.throughput.push_back(throughput.per_second);
      row.ratio.push_back(throughput.per_second / bare.per_second);
      row.cpu_ratio.push_back(throughput.per_cpu_second / bare.per_cpu_second);
      row.megabytes_per_s.push_back(static_cast<double>(recorded.file_bytes) / recorded.seconds * 1e-6);
      row.complete_percent.push_back(recorded.complete_percent);
      row.cpu_percent.push_back(100 * recorded.cpu_seconds / recorded.seconds);
      row.rss_megabytes.push_back(static_cast<double>(recorded.rss_bytes) * 1e-6);
      std::fprintf(stderr, "round %d: %-22s %10.0f %s, ratio %.3f, per CPU second %.3f\n", round + 1,
                   profilers[i].name().c_str(), throughput.per_second, workload.unit().c_str(),
                   row.ratio.back(), row.cpu_ratio.back());
    }
  }

  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < profilers.size(); ++i) {
    const Figures& row = figures[i];
    if (profilers[i].kind == Kind::kNone) {
      rows.push_back({profilers[i].name(), number(median(row.throughput), 0) + " " + workload.unit(), "", "",
                      "", "", ""});
    } else {
      rows.push_back({profilers[i].name(), median_and_range(row.ratio, 3), median_and_range(row.cpu_ratio, 3),
                      number(median(row.megabytes_per_s), 3), number(median(row.complete_percent), 1),
                      number(median(row.cpu_percent), 1), number(median(row.rss_megabytes), 0)});
    }
  }
  print_table({"profiler", "work per second, ratio to nothing [range]",
               "work per CPU second of the target, ratio [range]", "MB/s written", "complete stacks, %",
               "profiler's CPU, % of a core", "profiler's peak memory, MB"},
              rows);
}

namespace {

// The first is nothing. Each run stands against the two runs of nothing beside it.
void compare_with_neighbours(Workload& workload, const std::string& folder,
                             const std::vector<Profiler>& profilers) {
  const int count = std::max(7, rounds());
  std::vector<std::vector<Throughput>> runs(profilers.size());
  const auto run_once = [&](std::size_t i) {
    const std::string file = folder + "/neighbours";
    const pid_t pid = workload.start();
    Recording recording(profilers[i], pid, file);
    const auto settled =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_to_settle());
    while (std::chrono::steady_clock::now() < settled) (void)workload.work();
    runs[i].push_back(workload.work());
    recording.stop();
    workload.stop();
    std::remove(file.c_str());
    std::fprintf(stderr, "%-24s %10.0f %s\n", profilers[i].name().c_str(), runs[i].back().per_second,
                 workload.unit().c_str());
  };
  for (int round = 0; round < count; ++round)
    for (std::size_t i = 0; i < profilers.size(); ++i) run_once(i);
  run_once(0);  // the last neighbour
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 1; i < profilers.size(); ++i) {
    std::vector<double> ratio, cpu_ratio;
    for (std::size_t round = 0; round < runs[i].size(); ++round) {
      const Throughput &before = runs[0][round], &after = runs[0][round + 1];
      ratio.push_back(2 * runs[i][round].per_second / (before.per_second + after.per_second));
      cpu_ratio.push_back(2 * runs[i][round].per_cpu_second / (before.per_cpu_second + after.per_cpu_second));
    }
    rows.push_back({profilers[i].name(), median_and_range(ratio, 3), median_and_range(cpu_ratio, 3)});
  }
  print_table({"profiler", "work per second, ratio to the runs beside it [range]",
               "work per CPU second of the target, ratio [range]"},
              rows);
}

}  // namespace

void compare_waits(Workload& workload, const std::string& folder) {
  compare_with_neighbours(workload, folder,
                          {{Kind::kNone, 0}, {Kind::kFathom, 99}, {Kind::kFathomWaits, 99}});
}

void compare_heap(Workload& workload, const std::string& folder) {
  compare_with_neighbours(workload, folder,
                          {{Kind::kNone, 0}, {Kind::kFathomHeap, 0}, {Kind::kFathomHeapExact, 0}});
}

}  // namespace fathom::bench
