// What does it cost to record every context switch: for a program that does nothing else (ping_pong_target),
// and for one with 300 threads (many_threads_target)? Each recorder starts the program, round after round,
// compared with a run without a recorder.
#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

struct Recorder {
  std::string name;
  std::vector<std::string> prefix;  // placed before the command
};

double trips_per_second(const Recorder& recorder) {
  std::vector<std::string> command = recorder.prefix;
  for (const std::string& word : {std::string(SWITCH_TARGET), fmt::format("{}", seconds_per_run())})
    command.push_back(word);
  return support::answer_of(support::run(command)).at("trips_per_s");
}

void compare(const std::string& folder) {
  const std::string fathom_file = folder + "/x.fathom", perf_file = folder + "/perf.data";
  const std::vector<Recorder> recorders = {
      {"none", {}},
      {"fathom --off-cpu", support::fathom_command({"record", "-q", "--off-cpu", "-o", fathom_file, "--"})},
      {"perf sched_switch, no stacks",
       {"perf", "record", "-q", "-e", "sched:sched_switch", "-o", perf_file, "--"}},
      {"perf sched_switch, frame pointers",
       {"perf", "record", "-q", "-g", "-e", "sched:sched_switch", "-o", perf_file, "--"}},
      {"perf sched_switch, dwarf 8 KB",
       {"perf", "record", "-q", "--call-graph", "dwarf,8192", "-e", "sched:sched_switch", "-o", perf_file,
        "--"}},
      {"perf trace -s", {"perf", "trace", "-s", "-o", folder + "/trace.txt", "--"}},
  };
  Figure trips(recorders.size()), us_per_trip(recorders.size()), megabytes(recorders.size());
  run_rounds(rounds(), recorders.size(), [&](int round, std::size_t i) {
    std::filesystem::remove(fathom_file);
    std::filesystem::remove(perf_file);
    const double per_second = trips_per_second(recorders[i]);
    trips.add(round, i, per_second);
    us_per_trip.add(round, i, 1e6 / per_second);
    std::error_code missing;
    const std::string& file = recorders[i].name.starts_with("fathom") ? fathom_file : perf_file;
    const auto bytes = std::filesystem::file_size(file, missing);
    megabytes.add(round, i, missing ? 0 : static_cast<double>(bytes) * 1e-6);
  });
  fmt::print("{} switches/s without a recorder; one run without to the other {}\n\n",
             number(2 * median(trips.values(0)), 0), median_and_range(trips.ratios(0), 2));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 1; i < recorders.size(); ++i)
    rows.push_back({recorders[i].name, median_and_range(trips.ratios(i), 2),
                    number(median(us_per_trip.differences(i)) / 2, 2),  // two switches per round trip
                    number(median(megabytes.values(i)), 1)});
  print_table({"recorder", "throughput, ratio", "added per switch, us", "file, MB"}, rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  const fathom::support::TempDir folder;
  fathom::bench::compare(folder.path());
  return 0;
}
