// How long a comparison of two large recordings takes and what memory it needs: a million samples each, of 20,000 different
// stacks of 40 frames, beside the tools that draw a difference from folded stacks, in the same run: difffolded.pl with
// flamegraph.pl, or inferno-diff-folded with inferno-flamegraph, as far as they are in PATH; flamegraph.pl alone is given
// the differences as fathom found them, and only draws.
//
// ROUNDS (5); SAMPLES (1,000,000).
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/big_profile.h"
#include "bench/support/statistics.h"
#include "store/writer.h"
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
    const char *diff, *draw;
  };
  constexpr Peer kPeers[] = {{"difffolded.pl", "flamegraph.pl"},
                             {"inferno-diff-folded", "inferno-flamegraph"}};
  const std::size_t own = costs.size();
  std::vector<Peer> found;
  for (const Peer& peer : kPeers) {
    if (!support::find_program(peer.diff) || !support::find_program(peer.draw)) continue;
    found.push_back(peer);
    costs.push_back({fmt::format("{} | {}, of the folded stacks", peer.diff, peer.draw), {}, {}});
  }
  const std::string differences = folder / "differences.folded", peer_svg = folder / "peer.svg";
  const support::Outcome two_columns = support::fathom({"diff", base, fresh, "--folded", "-o", differences});
  if (!two_columns.ok()) throw std::runtime_error(two_columns.describe());
  const bool draws_alone = support::find_program("flamegraph.pl").has_value();
  if (draws_alone) costs.push_back({"flamegraph.pl, of fathom diff --folded", {}, {}});
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
    if (draws_alone)
      costs.back().measure({"sh", "-c", fmt::format("flamegraph.pl {} > {}", differences, peer_svg)});
  }
  std::vector<std::vector<std::string>> rows;
  for (const Cost& cost : costs) rows.push_back(cost.row());
  print_table({"command", "time, s", "peak RSS, MiB"}, rows);
  return 0;
}
