// Time and memory of a comparison of two large recordings: a million samples each, of 20,000 different stacks
// of 40 frames, compared in the same run with tools that draw a difference of folded stacks: difffolded.pl
// with flamegraph.pl, or inferno-diff-folded with inferno-flamegraph, if installed; a run of flamegraph.pl
// alone gets fathom's differences, and only draws. Debian has flamegraph.pl in libdevel-nytprof-perl, and no
// package with difffolded.pl: if it is not in PATH, bench/two_columns.pl, which does the same, replaces it
// and is named in the table.
//
// FLAMEGRAPH_PL: path of the script. ROUNDS (5); SAMPLES (1,000,000).
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/big_profile.h"
#include "bench/support/statistics.h"
#include "model/store/writer.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::bench {
namespace {

void write(const std::string& path, bool after) {
  const char* text = std::getenv("SAMPLES");
  BigProfile wanted{.after = after};
  if (text != nullptr) wanted.samples = std::atoi(text);
  const model::Profile profile = big_profile(wanted);
  Result<store::Writer> writer = store::Writer::create(path);
  if (!writer || !writer->finish(profile)) throw std::runtime_error("cannot write " + path);
}

struct Cost {
  std::string name;
  std::vector<double> seconds, mib;
  void measure(const std::vector<std::string>& command) {
    const support::Outcome outcome = support::run(command, {.limit = std::chrono::minutes(3)});
    if (!outcome.ok()) throw std::runtime_error(name + ": " + outcome.describe());
    seconds.push_back(outcome.seconds);
    mib.push_back(static_cast<double>(outcome.peak_rss_bytes) / 1048576);
  }
  std::vector<std::string> row() const {
    return {name, median_and_range(seconds, 2), median_and_range(mib, 0)};
  }
};

void fold(const std::string& from, const std::string& to) {
  const support::Outcome outcome =
      support::fathom({"export", from, "--format", "folded", "-o", to, "--force"});
  if (!outcome.ok()) throw std::runtime_error(outcome.describe());
}

// The command to call it, as a shell word; Debian's package has it outside of PATH.
std::optional<std::string> flamegraph_script() {
  if (support::find_program("flamegraph.pl")) return "flamegraph.pl";
  const char* named = std::getenv("FLAMEGRAPH_PL");
  const std::string path = named != nullptr ? named : "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
  if (!std::filesystem::exists(path)) return std::nullopt;
  return "perl " + path;
}

}  // namespace
}  // namespace fathom::bench

int main() {
  using namespace fathom::bench;
  namespace support = fathom::support;
  const support::TempDir folder;
  const std::string base = folder / "base.fathom", fresh = folder / "new.fathom";
  write(base, false);
  write(fresh, true);
  const std::string base_folded = folder / "base.folded", fresh_folded = folder / "new.folded";
  fold(base, base_folded);
  fold(fresh, fresh_folded);
  std::vector<Cost> costs{{"fathom diff", {}, {}},
                          {"fathom diff --flamegraph", {}, {}},
                          {"fathom diff --flamegraph, of the folded stacks", {}, {}}};
  const std::string svg = folder / "x.svg";
  struct Peer {
    std::string diff, draw, name;
  };
  const auto flamegraph_pl = flamegraph_script();
  const std::size_t own = costs.size();
  std::vector<Peer> found;
  if (flamegraph_pl) {
    const bool has_original = support::find_program("difffolded.pl").has_value();
    found.push_back({has_original ? "difffolded.pl" : "perl " TWO_COLUMNS, *flamegraph_pl,
                     has_original ? "difffolded.pl | flamegraph.pl"
                                  : "two_columns.pl (for difffolded.pl) | flamegraph.pl"});
  }
  if (support::find_program("inferno-diff-folded") && support::find_program("inferno-flamegraph"))
    found.push_back(
        {"inferno-diff-folded", "inferno-flamegraph", "inferno-diff-folded | inferno-flamegraph"});
  for (const Peer& peer : found) costs.push_back({peer.name + ", of the folded stacks", {}, {}});
  const std::string differences = folder / "differences.folded", peer_svg = folder / "peer.svg";
  const support::Outcome two_columns = support::fathom({"diff", base, fresh, "--folded", "-o", differences});
  if (!two_columns.ok()) throw std::runtime_error(two_columns.describe());
  if (flamegraph_pl) costs.push_back({"flamegraph.pl, of fathom diff --folded", {}, {}});
  for (int round = 0; round < rounds(); ++round) {
    costs[0].measure(support::fathom_command({"diff", base, fresh, "-o", folder / "x.txt", "--force"}));
    costs[1].measure(support::fathom_command(
        {"diff", base, fresh, "-o", folder / "x.txt", "--flamegraph", svg, "--force"}));
    costs[2].measure(support::fathom_command(
        {"diff", base_folded, fresh_folded, "-o", folder / "x.txt", "--flamegraph", svg, "--force"}));
    for (std::size_t i = 0; i < found.size(); ++i)
      costs[own + i].measure({"sh", "-c",
                              fmt::format("{} {} {} | {} > {}", found[i].diff, base_folded, fresh_folded,
                                          found[i].draw, peer_svg)});
    if (flamegraph_pl)
      costs.back().measure({"sh", "-c", fmt::format("{} {} > {}", *flamegraph_pl, differences, peer_svg)});
  }
  std::vector<std::vector<std::string>> rows;
  for (const Cost& cost : costs) rows.push_back(cost.row());
  print_table({"command", "time, s", "peak RSS, MiB"}, rows);
  return 0;
}
