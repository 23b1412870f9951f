// What does tracing the heap add to a pair of malloc and free, compared with heaptrack? The program does
// nothing else, so this is the worst case. All recorders in turn, round after round, and a run without any.
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
  std::vector<std::string> prefix;
  std::string file;
};

struct Shape {
  int threads, depth;
};

void compare(const Shape& shape, const std::vector<Recorder>& recorders) {
  Figure ns(recorders.size()), bytes_per_call(recorders.size());
  run_rounds(rounds(), recorders.size(), [&](int round, std::size_t i) {
    const Recorder& recorder = recorders[i];
    std::vector<std::string> command = recorder.prefix;
    for (const std::string& word : {std::string(MALLOC_STORM), std::to_string(shape.threads),
                                    std::to_string(shape.depth), fmt::format("{}", seconds_per_run())})
      command.push_back(word);
    const support::Outcome outcome = support::run(command);
    // heaptrack prints its own lines around the program's.
    const std::size_t start = outcome.output.find("{\"ns_per_pair\"");
    if (start == std::string::npos) throw std::runtime_error(recorder.name + ": " + outcome.describe());
    support::Outcome answer;
    answer.output = outcome.output.substr(start, outcome.output.find('}', start) + 1 - start);
    const auto figures = support::answer_of(answer);
    ns.add(round, i, figures.at("ns_per_pair"));
    std::error_code missing;
    const auto bytes = recorder.file.empty() ? 0 : std::filesystem::file_size(recorder.file, missing);
    bytes_per_call.add(round, i, missing ? 0 : static_cast<double>(bytes) / figures.at("pairs"));
    if (!recorder.file.empty()) std::filesystem::remove(recorder.file, missing);
  });
  const std::size_t last = recorders.size() - 1;
  const double heaptrack = recorders[last].name.starts_with("heaptrack") ? median(ns.values(last)) : 0;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < recorders.size(); ++i)
    rows.push_back({recorders[i].name, median_and_range(ns.values(i), 1),
                    number(median(ns.differences(i)), 1), number(median(ns.ratios(i)), 2),
                    heaptrack > 0 ? number(heaptrack / median(ns.values(i)), 1) : "-",
                    recorders[i].file.empty() ? "-" : number(median(bytes_per_call.values(i)), 3)});
  fmt::print("{} thread{}, stacks of {} frames\n\n", shape.threads, shape.threads == 1 ? "" : "s",
             shape.depth);
  print_table(
      {"recorder", "ns per pair and thread", "added", "ratio", "heaptrack / this", "bytes per allocation"},
      rows);
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom;
  const support::TempDir folder;
  const std::string file = folder / "x.fathom", raw = folder / "heaptrack";
  std::vector<bench::Recorder> recorders = {
      {"none", {}, ""},
      {"fathom --heap", support::fathom_command({"record", "-q", "--memory", "--heap", "-o", file, "--"}),
       file},
      {"fathom --heap=exact",
       support::fathom_command({"record", "-q", "--memory", "--heap=exact", "-o", file, "--"}), file}};
  if (support::find_program("heaptrack"))
    recorders.push_back({"heaptrack -r", {"heaptrack", "-r", "-o", raw}, raw + ".raw.zst"});
  for (const bench::Shape& shape : {bench::Shape{1, 15}, {1, 60}, {2, 15}, {2, 60}})
    bench::compare(shape, recorders);
  return 0;
}
