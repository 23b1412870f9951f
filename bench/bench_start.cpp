// What does it cost to start and to end a recording? For a program that does nothing: the CPU time of the
// recorder and its child processes, its peak memory, and how long its user waits.
#include <string>
#include <vector>

#include "bench/support/programs.h"
#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using Words = std::vector<std::string>;

struct Recorder {
  std::string name;
  Words prefix;
};

void compare(const std::vector<Recorder>& recorders) {
  Figure cpu_ms(recorders.size()), wall_ms(recorders.size()), megabytes(recorders.size());
  constexpr int kRunsPerRound = 4;  // a round is short
  run_rounds(kRunsPerRound * rounds(), recorders.size(), [&](int round, std::size_t i) {
    Words command = recorders[i].prefix;
    command.emplace_back("true");
    const support::Outcome outcome = run(command);
    cpu_ms.add(round, i, 1000 * outcome.cpu_seconds);
    wall_ms.add(round, i, 1000 * outcome.seconds);
    megabytes.add(round, i, static_cast<double>(outcome.peak_rss_bytes) * 1e-6);
  });
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < recorders.size(); ++i)
    rows.push_back({recorders[i].name, median_and_range(cpu_ms.values(i), 0),
                    median_and_range(wall_ms.values(i), 0), number(median(megabytes.values(i)), 0)});
  print_table({"recorder", "CPU time, ms [range]", "from start to end, ms [range]", "peak memory, MB"}, rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom;
  const support::TempDir folder;
  const std::string file = folder / "x.fathom", perf_file = folder / "perf.data";
  std::vector<bench::Recorder> recorders{{"none", {}}};
  for (const bench::Words& sources : {bench::Words{}, {"--cpu"}, {"--off-cpu"}, {"--memory"}, {"--heap"}}) {
    bench::Words words{"record", "-q"};
    words.insert(words.end(), sources.begin(), sources.end());
    words.insert(words.end(), {"-o", file, "--"});
    recorders.push_back(
        {sources.empty() ? "fathom" : "fathom " + sources[0], support::fathom_command(words)});
  }
  recorders.push_back(
      {"perf dwarf 8 KB",
       {"perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf,8192", "-o", perf_file, "--"}});
  bench::compare(recorders);
  return 0;
}
