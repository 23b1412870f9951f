// How long does a user wait from "enough" to a picture with names? Both profilers are asked to stop; then
// fathom draws, and perf uses its standard tools: perf script, stackcollapse-perf.pl, flamegraph.pl (found in
// PATH; without them perf script alone, which flatters perf).
#include <fmt/core.h>

#include <chrono>
#include <fstream>
#include <stdexcept>

#include "bench/support/profilers.h"
#include "bench/support/statistics.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

using std::chrono::milliseconds;

struct Waits {
  std::vector<double> stop_s, picture_s, all_s, rss_megabytes, samples;
};

struct Drawn {
  double seconds = 0;
  double rss_megabytes = 0;
};

Drawn draw(const Profiler& profiler, const std::string& file, bool with_scripts) {
  support::Outcome outcome;
  if (profiler.kind == Kind::kFathom) {
    outcome = support::fathom({"flamegraph", file, "-o", file + ".svg"});
  } else {
    const std::string script = "perf script --no-inline -i '" + file + "' 2>/dev/null";
    outcome =
        support::run({"sh", "-c",
                      with_scripts ? script + " | stackcollapse-perf.pl | flamegraph.pl > '" + file + ".svg'"
                                   : script + " > '" + file + ".txt'"});
  }
  if (!outcome.ok()) throw std::runtime_error(profiler.name() + ": " + outcome.describe());
  return {outcome.seconds, static_cast<double>(outcome.peak_rss_bytes) * 1e-6};
}

void compare() {
  const bool with_scripts = support::find_program("stackcollapse-perf.pl").has_value() &&
                            support::find_program("flamegraph.pl").has_value();
  const std::vector<Profiler> profilers{
      {Kind::kFathom, 999}, {Kind::kPerfFramePointers, 999}, {Kind::kPerfDwarf, 999}};
  std::vector<Waits> waits(profilers.size());
  const support::TempDir folder;
  for (int round = 0; round < rounds(); ++round) {
    for (std::size_t i = 0; i < profilers.size(); ++i) {
      const std::string file = fmt::format("{}/{}-{}", folder.path(), round, i);
      const support::Running target({CPU_SHARES, "3600"});
      support::pause_ms(100);
      Recording recording(profilers[i], target.pid(), file);
      support::pause_ms(static_cast<int>(seconds_per_run() * 1000));
      Recorded recorded = recording.stop();
      const Drawn drawn = draw(profilers[i], file, with_scripts);
      recording.judge(recorded);
      waits[i].stop_s.push_back(recorded.stop_seconds);
      waits[i].picture_s.push_back(drawn.seconds);
      waits[i].all_s.push_back(recorded.stop_seconds + drawn.seconds);
      waits[i].rss_megabytes.push_back(drawn.rss_megabytes);
      waits[i].samples.push_back(recorded.samples);
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < profilers.size(); ++i) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < waits[i].all_s.size(); ++round) {
      ratios.push_back(waits[i].all_s[round] / waits[0].all_s[round]);
    }
    rows.push_back({profilers[i].name(), number(median(waits[i].samples), 0),
                    number(median(waits[i].stop_s), 3), number(median(waits[i].picture_s), 3),
                    median_and_range(waits[i].all_s, 3), median_and_range(ratios, 1),
                    number(median(waits[i].rss_megabytes), 0)});
  }
  print_table({"profiler", "samples", "stop, s",
               with_scripts ? "to the picture, s" : "to the picture (perf: to text only), s",
               "together, s [range]", "times fathom's", "peak memory of drawing, MB"},
              rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  fathom::bench::compare();
  return 0;
}
